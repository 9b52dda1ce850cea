/*
 * engine.h: one model that goes on with many texts at once.
 *
 * A request is tokens and what is wanted of their continuation. A step computes what
 * is missing of the prompts of those that run, in pieces, and a token more for each whose
 * prompt is there. What begins as another text did is taken from the cache (pages.h); what
 * finds no room waits, first come first served. A request's tokens, and the bits of
 * its logits, do not depend on what else is asked.
 *
 * Tokens only: text is others' business. One thread at a time.
 */
#ifndef HPC_ENGINE_H
#define HPC_ENGINE_H

#include "infer/sample.h"
#include "model/files.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_engine hpc_engine;

typedef struct hpc_engine_options {
    const char *model;         /* a directory, a FILE.gguf or a FILE.packed */
    const char *backend, *isa; /* of the device; NULL: its defaults */
    int threads;               /* 0: one for each core that this process may use */
    hpc_dtype weights;         /* of matrices: HPC_DTYPE_N: as they are stored; where rows are no
                                * whole blocks of it q8_0, or f16. A FILE.packed has
                                * no other */
    hpc_dtype cache;           /* f32 or bf16 */
    int64_t cache_tokens;      /* of all texts together, rounded up to pages; 0: one longest text */
    int64_t batch_tokens;      /* of a step at most; 0: 512 */
    int64_t requests;          /* that run at once; 0: 16 */
    int64_t guess;             /* tokens guessed ahead at most: those that came where most before
                                * is as the last tokens are, three at least, and as many as that
                                * is. They cost rows of a step, and change no answer. */
    /* Of the model, if they are open already, for the engine's life; NULL: it opens them. */
    const hpc_model_files *files;
} hpc_engine_options;

/* HPC_E_UNSUPPORTED: a model that does not go on with texts (one with a head for classes). */
int hpc_engine_open(hpc_engine **out, const hpc_engine_options *o);
void hpc_engine_close(hpc_engine *e); /* ends what runs, and tells nobody */
const hpc_model_config *hpc_engine_config(const hpc_engine *e);

typedef enum hpc_finish {
    HPC_FINISH_LENGTH,    /* as many tokens as were wanted, or as the model takes */
    HPC_FINISH_STOP,      /* a stop token, which token_made does not get */
    HPC_FINISH_CALLER,    /* token_made returned 1 */
    HPC_FINISH_CANCELLED, /* hpc_engine_cancel */
    HPC_FINISH_ERROR      /* nothing could be chosen: hpc_engine_step's error says why */
} hpc_finish;

typedef struct hpc_request {
    const int32_t *token; /* [n], copied; n at least 1 */
    int64_t n, most;      /* most: new tokens */
    hpc_sampling sampling;
    uint32_t sample;     /* which of several answers to the same */
    const int32_t *stop; /* [stop_n]: tokens that end it; the caller's until it has ended */
    int64_t stop_n;
    /* Both are called by hpc_engine_step. A token has been chosen: 0 goes on, 1 ends it. */
    int (*token_made)(void *user, int32_t token, float logprob);
    /* May be NULL. token: the stop token of HPC_FINISH_STOP, else -1. */
    void (*ended)(void *user, hpc_finish how, int32_t token);
    /* May be NULL. Tokens of the prompt in the cache: first those that are reused, then after each
     * step that computed more. Called by hpc_engine_step. */
    void (*progress)(void *user, int64_t done);
    const hpc_bias *bias; /* [bias_n]: the caller's until it has ended */
    int64_t bias_n;
    /* May be NULL. The logits of each token, before token_made gets it. */
    void (*logits)(void *user, const float *logits, int64_t vocab);
    /* Which tokens may come next, as in hpc_choice; NULL, or what gives NULL: all. */
    const uint32_t *(*allowed)(void *user);
    void *user;
} hpc_request;

/* Not from within a callback. HPC_E_ARG: a token that the model does not have, or a text longer
 * than it or the cache takes. */
int hpc_engine_submit(hpc_engine *e, const hpc_request *r, int64_t *id);
/* It ends before the next step, with HPC_FINISH_CANCELLED; not from within a callback. An id that
 * has ended is no error. */
void hpc_engine_cancel(hpc_engine *e, int64_t id);
/* *busy: something runs or waits. After an error of the device nothing goes on; a request for which
 * nothing could be chosen ends alone, and the error is returned when all others have been told. */
int hpc_engine_step(hpc_engine *e, bool *busy);

/* Limits of one step. Zeros: no limits. They change when tokens are computed, not which. */
typedef struct hpc_engine_step_options {
    int64_t prompt_tokens; /* of prompts at most; 0: what batch_tokens leaves */
    int64_t first;         /* the id of the request whose prompt goes first; 0: the oldest */
} hpc_engine_step_options;
int hpc_engine_step_with(hpc_engine *e, const hpc_engine_step_options *o, bool *busy);

/* Tokens at the beginning of a prompt that a request would reuse. */
int64_t hpc_engine_cached(const hpc_engine *e, const int32_t *token, int64_t n);

/* ---- copies of the KV cache (engine_cache.c) ------------------------------------------------- */
/* For engines on devices that share the host's memory; else HPC_E_UNSUPPORTED. Tokens come in whole
 * pages of HPC_ENGINE_PAGE. */
enum { HPC_ENGINE_PAGE = 16 };
/* Distinguishes caches that do not agree bit for bit: model, types, backend and instruction set. */
int hpc_engine_cache_identity(hpc_hash128 *out, hpc_engine *e);
/* Appends what the cache holds of token[from..n-1], which depends on token[0..n-1]. HPC_E_STATE: it
 * is not in the cache. */
int hpc_engine_cache_export(hpc_buf *out, hpc_engine *e, const int32_t *token, int64_t n,
                            int64_t from);
/* The reverse; later requests reuse it. HPC_E_STATE: token[0..from-1] is not in the cache, or
 * running requests hold too much of it. HPC_E_FORMAT: the size does not fit. */
int hpc_engine_cache_import(hpc_engine *e, const int32_t *token, int64_t n, int64_t from,
                            const void *data, size_t bytes);
/* Texts in the cache, as hpc_pages_text. */
int64_t hpc_engine_cache_text(int32_t *token, int64_t cap, const hpc_engine *e, int64_t *at);

typedef struct hpc_engine_counts {
    int64_t steps, computed, reused; /* tokens computed, and tokens of prompts found in the cache */
    int64_t guessed, right;          /* tokens guessed ahead, and those of them that came */
    int64_t running, waiting;
} hpc_engine_counts;
hpc_engine_counts hpc_engine_counts_of(const hpc_engine *e);

typedef struct hpc_engine_facts {
    bool mapped;               /* parameters are read where the file has them */
    const char *backend, *isa; /* of the device */
    int threads;
    size_t bytes; /* of the device's memory that it may use: what is mapped is not */
} hpc_engine_facts;
hpc_engine_facts hpc_engine_facts_of(const hpc_engine *e);

#ifdef __cplusplus
}
#endif
#endif
