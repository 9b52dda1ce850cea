/*
 * engine.h: inference engine that generates continuations for many prompts concurrently.
 *
 * A request is a token prompt plus sampling and stop options. A step computes parts of the
 * prompts that are not in the cache yet, and the next token of each request with a complete
 * prompt. Requests reuse the pages of a common prefix from the KV cache (pages.h). Requests that
 * do not fit in the cache wait in FIFO order; a request waits longer while another one computes
 * pages of its prefix. Tokens and logits of a request are bit-identical in every batch.
 *
 * The engine does not convert between tokens and text. One thread at a time.
 */
#ifndef HPC_ENGINE_H
#define HPC_ENGINE_H

#include "infer/engine/sample.h"
#include "model/files.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_engine hpc_engine;

typedef struct hpc_engine_options {
    const char *model;         /* a directory, a FILE.gguf or a FILE.packed */
    const char *backend, *isa; /* of the device; NULL: its defaults */
    int threads;               /* 0: one for each core that this process may use */
    hpc_dtype weights;         /* of matrices; HPC_DTYPE_N: the stored type. Matrices with rows
                                * that are not whole blocks of it use q8_0, or f16. A FILE.packed
                                * accepts HPC_DTYPE_N only */
    hpc_dtype cache;           /* f32 or bf16 */
    int64_t cache_tokens;      /* capacity, rounded up to pages; 0: one text of maximal length */
    int64_t batch_tokens;      /* most tokens of a step; 0: 512 */
    int64_t requests;          /* most that run concurrently; 0: 16 */
    int64_t guess;             /* most tokens that a step guesses, over all requests: it copies
                                * those after the latest longest earlier match of the last
                                * tokens, at most as many as match. Guesses take rows of a step
                                * and change no result. 0: none */
    /* Open files of the model, borrowed until hpc_engine_close; NULL: the engine opens `model`. */
    const hpc_model_files *files;
} hpc_engine_options;

/* HPC_E_UNSUPPORTED: the model does not generate text (for example, a classifier). */
int hpc_engine_open(hpc_engine **out, const hpc_engine_options *o);
void hpc_engine_close(hpc_engine *e); /* drops requests without calling `ended` */
const hpc_model_config *hpc_engine_config(const hpc_engine *e);

typedef enum hpc_finish {
    HPC_FINISH_LENGTH,    /* the request's limit, or the model's, is reached */
    HPC_FINISH_STOP,      /* a stop token; token_made is not called for it */
    HPC_FINISH_CALLER,    /* token_made returned 1 */
    HPC_FINISH_CANCELLED, /* hpc_engine_cancel */
    HPC_FINISH_ERROR      /* sampling failed; hpc_engine_step returns the error */
} hpc_finish;

typedef struct hpc_request {
    const int32_t *token; /* [n], copied; n at least 1 */
    int64_t n, most;      /* most: new tokens, at least 1; reduced to what fits */
    hpc_sampling sampling;
    uint32_t sample;     /* index among answers to the same prompt */
    const int32_t *stop; /* [stop_n]: tokens that end it; borrowed until it ends */
    int64_t stop_n;
    /* hpc_engine_step calls it for each new token. Return 0 to continue, 1 to end the request. */
    int (*token_made)(void *user, int32_t token, float logprob);
    /* hpc_engine_step calls it once. May be NULL. token: for HPC_FINISH_STOP, else -1. */
    void (*ended)(void *user, hpc_finish how, int32_t token);
    /* hpc_engine_step calls it with the number of prompt tokens in the cache: first those that
     * it reuses, then after each step that computed more. May be NULL. */
    void (*progress)(void *user, int64_t done);
    /* Returns the mask of allowed next tokens, as in hpc_choice. NULL, or a NULL result: all. */
    const uint32_t *(*allowed)(void *user);
    void *user;
} hpc_request;

/* Not from within a callback. HPC_E_ARG: an empty prompt, a token outside the vocabulary, a prompt
 * longer than the model or the cache allows, or sampling options out of range. */
int hpc_engine_submit(hpc_engine *e, const hpc_request *r, int64_t *id);
/* The next step ends the request with HPC_FINISH_CANCELLED before it computes. Not from within a
 * callback. Ignores an id that has ended. */
void hpc_engine_cancel(hpc_engine *e, int64_t id);
/* *busy: requests run or wait. If the device fails, no request advances. If sampling fails for a
 * request, only that request ends; the step returns the first error after it served the others. */
int hpc_engine_step(hpc_engine *e, bool *busy);

/* Limits of one step; zeros: none. They affect the order of computation, not its results. */
typedef struct hpc_engine_step_options {
    int64_t prompt_tokens; /* most of all prompts; 0: what batch_tokens leaves */
    int64_t first;         /* id of the request with the first prompt; 0: the oldest */
} hpc_engine_step_options;
int hpc_engine_step_with(hpc_engine *e, const hpc_engine_step_options *o, bool *busy);

/* Number of tokens at the start of a prompt that a request would reuse from the cache. */
int64_t hpc_engine_cached(const hpc_engine *e, const int32_t *token, int64_t n);

/* ---- copies of the KV cache (engine_cache.c) ------------------------------------------------- */
/* HPC_E_UNSUPPORTED: the host cannot read the device's memory. `n` and `from` must be multiples of
 * HPC_ENGINE_PAGE, with 0 <= from <= n. */
enum { HPC_ENGINE_PAGE = 16 };
/* Hash of model, types, backend and instruction set: equal for bit-compatible caches. */
int hpc_engine_cache_identity(hpc_hash128 *out, hpc_engine *e);
/* Appends the keys and values of token[from..n-1]. HPC_E_STATE: token[0..n-1] is not in the cache
 * as a whole. */
int hpc_engine_cache_export(hpc_buf *out, hpc_engine *e, const int32_t *token, int64_t n,
                            int64_t from);
/* Puts exported data into the cache for later requests. HPC_E_STATE: token[0..from-1] is not in the
 * cache, or too few pages are free. HPC_E_FORMAT: `bytes` does not match the tokens. */
int hpc_engine_cache_import(hpc_engine *e, const int32_t *token, int64_t n, int64_t from,
                            const void *data, size_t bytes);
/* Iterates over cached texts: see hpc_pages_text. */
int64_t hpc_engine_cache_text(int32_t *token, int64_t cap, const hpc_engine *e, int64_t *at);

typedef struct hpc_engine_counts {
    int64_t steps, computed, reused; /* tokens computed; prompt tokens found in the cache */
    int64_t guessed, right;          /* tokens guessed, and correct guesses */
    int64_t running, waiting;
} hpc_engine_counts;
hpc_engine_counts hpc_engine_counts_of(const hpc_engine *e);

typedef struct hpc_engine_facts {
    bool mapped;               /* the device reads parameters from the mapped file */
    const char *backend, *isa; /* of the device */
    int threads;
    size_t bytes; /* allocated on the device, without mapped parameters */
} hpc_engine_facts;
hpc_engine_facts hpc_engine_facts_of(const hpc_engine *e);

#ifdef __cplusplus
}
#endif
#endif
