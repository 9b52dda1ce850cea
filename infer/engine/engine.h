/*
 * engine.h: generates continuations for many prompts concurrently with one model.
 *
 * A request is a token prompt plus sampling and stop options. A step computes parts of prompts, and
 * one token for each request with a complete prompt. Prefixes that texts share come from the cache
 * (pages.h). Requests that do not fit in the cache wait in order of arrival; a request also waits
 * while another one computes pages of its prefix. The tokens of a request, and the bits of its
 * logits, do not depend on other requests.
 *
 * The engine handles tokens, not text. One thread at a time.
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
    const char *backend, *isa; /* as in hpc_device_options; NULL: its defaults */
    int threads;               /* 0: one for each core that this process may use */
    hpc_dtype weights;         /* type of matrices; HPC_DTYPE_N: the stored types. Rows that are not
                                * whole blocks of it become q8_0 or f16. A FILE.packed keeps its
                                * types */
    hpc_dtype cache;           /* f32 or bf16 */
    int64_t cache_tokens;      /* for all texts, rounded up to pages; 0: one text of full length */
    int64_t batch_tokens;      /* at most in one step; 0: 512 */
    int64_t requests;          /* at most at once; 0: 16 */
    int64_t guess;             /* draft tokens per step at most, over all requests. They repeat the
                                * text after the longest earlier match of the last tokens (the
                                * latest of equal length), at most as many tokens as match. Drafts
                                * take rows of a step and change no result */
    /* The open files of the model, which must outlive the engine; NULL: the engine opens them. */
    const hpc_model_files *files;
    const char *library; /* as in hpc_device_options */
} hpc_engine_options;

/* HPC_E_UNSUPPORTED: the model does not generate text, such as one with a classification head. */
int hpc_engine_open(hpc_engine **out, const hpc_engine_options *o);
void hpc_engine_close(hpc_engine *e); /* ends requests without callbacks */
const hpc_model_config *hpc_engine_config(const hpc_engine *e);

typedef enum hpc_finish {
    HPC_FINISH_LENGTH,    /* the limit of the request or of the model */
    HPC_FINISH_STOP,      /* a stop token, which is not passed to token_made */
    HPC_FINISH_CALLER,    /* token_made returned 1 */
    HPC_FINISH_CANCELLED, /* hpc_engine_cancel */
    HPC_FINISH_ERROR      /* no token could be chosen; hpc_engine_step reports the reason */
} hpc_finish;

typedef struct hpc_request {
    const int32_t *token; /* [n], copied; n at least 1 */
    int64_t n, most;      /* most: new tokens at most; fewer if model or cache allow fewer */
    hpc_sampling sampling;
    uint32_t sample;     /* number of this answer among several to one prompt */
    const int32_t *stop; /* [stop_n]: tokens that end it; must stay valid until it has ended */
    int64_t stop_n;
    /* hpc_engine_step calls both. A token has been chosen; returns 0 to continue, 1 to end. */
    int (*token_made)(void *user, int32_t token, float logprob);
    /* May be NULL. token: the stop token if HPC_FINISH_STOP, else -1. */
    void (*ended)(void *user, hpc_finish how, int32_t token);
    /* May be NULL. Tokens of the prompt in the cache: first those that are reused, then after each
     * step that computed more. Called by hpc_engine_step. */
    void (*progress)(void *user, int64_t done);
    const hpc_bias *bias; /* [bias_n]; must stay valid until it has ended */
    int64_t bias_n;
    /* May be NULL. The logits of each token, before token_made gets it. */
    void (*logits)(void *user, const float *logits, int64_t vocab);
    /* The set of allowed tokens, as in hpc_choice. NULL, or a result of NULL: all. */
    const uint32_t *(*allowed)(void *user);
    void *user;
} hpc_request;

/* Must not be called from a callback. HPC_E_ARG: no prompt token or no new token; a token beyond
 * the vocabulary; a prompt that exceeds the limit of the model or of the cache; a bias or sampling
 * option that is not valid. */
int hpc_engine_submit(hpc_engine *e, const hpc_request *r, int64_t *id);
/* The request ends before the next step, with HPC_FINISH_CANCELLED. Must not be called from a
 * callback. Ids of ended requests are accepted. */
void hpc_engine_cancel(hpc_engine *e, int64_t id);
/* *busy: a request runs or waits. After an error of the device, no request continues. A request
 * without an allowed token ends alone; the error is returned after the callbacks of all others. */
int hpc_engine_step(hpc_engine *e, bool *busy);

/* Limits of one step. Zeros: no limits. They change when tokens are computed, not which. */
typedef struct hpc_engine_step_options {
    int64_t prompt_tokens; /* at most, from prompts; 0: the rest of batch_tokens */
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
    int64_t guessed, right;          /* draft tokens, and accepted ones */
    int64_t drafts;                  /* runs of draft tokens */
    int64_t running, waiting;
} hpc_engine_counts;
hpc_engine_counts hpc_engine_counts_of(const hpc_engine *e);

typedef struct hpc_engine_facts {
    bool mapped;               /* parameters are read from the mapped file */
    const char *backend, *isa; /* of the device */
    int threads;
    size_t bytes;     /* device memory that it may use, without mapped files */
    const char *note; /* matrices held in another type than stored (hpc_weights_note); NULL: none */
    int64_t fences;   /* of the device so far */
    size_t to_host;   /* bytes that the device copied to the host so far */
} hpc_engine_facts;
hpc_engine_facts hpc_engine_facts_of(const hpc_engine *e);

#ifdef __cplusplus
}
#endif
#endif
