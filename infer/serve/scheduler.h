/*
 * scheduler.h: which generation requests run, in which order, on one engine.
 *
 * A job is a token prompt with sampling options and callbacks. The scheduler owns the engine and
 * one thread that runs it. Decoding comes first; prompts are computed in chunks with a time budget.
 * Clients take turns. Within a document the newest job comes first. Prompts that share a prefix
 * compute it once. A job's tokens do not depend on other jobs.
 *
 * Not here: text, tokenizers, stop strings, protocols and transport. infer/serve/kv_store.h keeps
 * the KV cache on disk.
 *
 * Every function is thread-safe unless its comment says otherwise.
 */
#ifndef HPC_SCHEDULER_H
#define HPC_SCHEDULER_H

#include "infer/engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_scheduler hpc_scheduler;

/* ---- jobs -------------------------------------------------------------------------------- */

enum { HPC_JOB_TOP_MOST = 100 };

typedef struct hpc_job_token {
    int32_t token;
    float logprob;              /* under the model, before sampling options change it */
    const hpc_alternative *top; /* [top_n]: the likeliest tokens, for the call */
    int64_t top_n;
    int64_t slot; /* where the job runs */
} hpc_job_token;

typedef enum hpc_job_finish {
    HPC_JOB_LENGTH,     /* `most` tokens, or the capacity of the model or of the cache */
    HPC_JOB_STOP,       /* a token of `stop` */
    HPC_JOB_CALLER,     /* the token callback returned 1, e.g. after a stop string */
    HPC_JOB_TIME,       /* predict_ms passed */
    HPC_JOB_CANCELLED,  /* hpc_scheduler_cancel, or hpc_scheduler_close */
    HPC_JOB_SUPERSEDED, /* a newer job for the same client and document */
    HPC_JOB_ERROR       /* `error` says why: the model cannot be loaded, a device failed, ... */
} hpc_job_finish;

typedef struct hpc_job_result {
    hpc_job_finish finish;
    int32_t stop_token;     /* of HPC_JOB_STOP, else -1 */
    int64_t prompt_n;       /* tokens of the prompt that was used, without dropped ranges */
    int64_t dropped_n;      /* tokens of dropped ranges */
    int64_t reused_n;       /* tokens of the prompt found in the cache, in memory or on disk */
    int64_t computed_n;     /* tokens of the prompt computed for this job */
    int64_t made_n;         /* new tokens, without the stop token */
    int64_t slot;           /* where it ran, from 0; -1: it never ran */
    int64_t queue_ns;       /* from submission until the engine took the job */
    int64_t prompt_ns;      /* from there until the first token */
    int64_t decode_ns;      /* from the first token until the end */
    const hpc_error *error; /* of HPC_JOB_ERROR, for the call; else NULL */
} hpc_job_result;

typedef struct hpc_job_range { /* tokens [from, to) of the prompt */
    int64_t from, to;
} hpc_job_range;

typedef struct hpc_job {
    uint64_t client;      /* jobs of one client take turns with those of others */
    const char *document; /* copied as a hash; NULL: each job is a document of its own */
    bool supersede;       /* cancels earlier jobs of this client and document, in every state */
    /* Jobs of one group (n answers to one request) do not supersede each other. A greater group is
     * newer, whenever its jobs come. 0: each job is newer than those before it. */
    uint64_t group;
    const int32_t *token; /* [n], copied; n at least 1 */
    int64_t n;
    /* What may be dropped to keep prompt_ms, in this order: ranges do not overlap and leave at
     * least one token. E.g. extra chunks from the least important on, then distant lines of the
     * file. */
    const hpc_job_range *drop; /* copied */
    int64_t drop_n;
    int64_t most;       /* new tokens; 0: compute the prompt only, to warm the cache */
    int64_t prompt_ms;  /* for the tokens of the prompt that are not in the cache, by the
                         * measured rate; what cannot be dropped is computed. 0: no limit */
    int64_t predict_ms; /* after the first token; 0: no limit */
    hpc_sampling sampling;
    uint32_t sample;     /* index of this answer among several for the same prompt */
    const int32_t *stop; /* copied; tokens that end the answer */
    int64_t stop_n;
    const hpc_bias *bias; /* copied; added to logits */
    int64_t bias_n;
    int64_t top_n; /* alternatives that token_made gets, at most HPC_JOB_TOP_MOST */

    /* Callbacks run on the engine thread: they must not block, and may call submit and cancel but
     * not drain and close. Each may be NULL. */
    int (*token_made)(void *user, const hpc_job_token *t); /* 0: continue; 1: end the job */
    /* Tokens of the prompt: first those that are reused, then after each chunk. */
    void (*progress)(void *user, int64_t done, int64_t total);
    /* Exactly once for each accepted job, and last. May come before submit returns. */
    void (*ended)(void *user, int64_t id, const hpc_job_result *r);
    /* Tokens that may come next, as in hpc_request; NULL, or a result of NULL: all. */
    const uint32_t *(*allowed)(void *user);
    void *user;
} hpc_job;

/* *id is positive. HPC_E_STATE: the queue is full or the scheduler drains (HTTP 503;
 * hpc_scheduler_retry_s estimates Retry-After). HPC_E_ARG: invalid tokens, options or lengths.
 * After an error no callback runs. */
int hpc_scheduler_submit(int64_t *id, hpc_scheduler *s, const hpc_job *job);
/* The job ends before the next step. Ids that have ended are ignored. Returns at once: callbacks
 * may still run until `ended` has. */
void hpc_scheduler_cancel(hpc_scheduler *s, int64_t id);
/* All jobs of a client, e.g. when its connection closes. */
void hpc_scheduler_cancel_client(hpc_scheduler *s, uint64_t client);
/* Whole seconds, at least 1, until a full queue is likely to have capacity. */
int hpc_scheduler_retry_s(hpc_scheduler *s);

/* ---- options ------------------------------------------------------------------------------- */

/* The functions of engine.h that the scheduler calls. Tests pass their own. All run on the engine
 * thread. */
typedef struct hpc_scheduler_backend {
    int (*open)(void **e, void *user, int threads);
    void (*close)(void *e);
    int (*submit)(void *e, const hpc_request *r, int64_t *id);
    void (*cancel)(void *e, int64_t id);
    int (*step)(void *e, const hpc_engine_step_options *o, bool *busy);
    /* Tokens at the beginning of a prompt that are in the cache. */
    int64_t (*cached)(const void *e, const int32_t *token, int64_t n);
    int64_t (*now_ns)(void *user);              /* the clock of budgets and limits */
    hpc_engine_counts (*counts)(const void *e); /* of drafts; NULL: none */
    /* NULL: what affinity and the cgroup's quota allow. */
    int (*cores)(void *user);
    /* As in engine.h. May be NULL: there is no KV cache on disk. */
    int (*cache_identity)(hpc_hash128 *out, void *e);
    int (*cache_export)(hpc_buf *out, void *e, const int32_t *token, int64_t n, int64_t from);
    int (*cache_import)(void *e, const int32_t *token, int64_t n, int64_t from, const void *data,
                        size_t bytes);
    int64_t (*cache_text)(int32_t *token, int64_t cap, const void *e, int64_t *at);
    void *user;
} hpc_scheduler_backend;

typedef struct hpc_scheduler_options {
    /* Borrowed until close. `threads` 0: what affinity and the cgroup's quota allow; else at most
     * that many. Both are read again every second under load: when they change, running jobs end
     * first, and the model is opened again for those that wait. With `files`, the scheduler takes
     * the model's shape from there; else it opens the model once to read it. */
    hpc_engine_options engine;
    const hpc_scheduler_backend
        *backend; /* NULL: the engine; else `vocab` and `capacity` are used */
    int64_t vocab, capacity;
    int64_t queue_jobs;     /* that wait; 0: 64 */
    int64_t queue_tokens;   /* of their prompts; 0: 262144 */
    int64_t chunk_ms;       /* of prompt in a step in which others decode; 0: 40 */
    int64_t chunk_alone_ms; /* in other steps; 0: 100 */
    bool low_priority;      /* SCHED_BATCH and nice 10 for the engine's threads */
    int64_t unload_ms;      /* without a job: the model is closed until the next; 0: never */
    int64_t exit_ms; /* without a job: `idle` is called, once until another comes; 0: never */
    void (*idle)(void *user); /* on the engine thread */
    /* Once for each failure: the model cannot be loaded, a device failed, the KV cache cannot be
     * written. On the engine thread; or NULL. */
    void (*failed)(void *user, const hpc_error *e);
    void *user;
    /* The KV cache on disk; NULL: none. */
    const char *kv_folder;
    int64_t kv_bytes;   /* quota; 0: 2 GiB */
    int64_t kv_days;    /* entries that were not used for so long expire; 0: 7 */
    int64_t kv_idle_ms; /* the cache is saved after that time without a job; 0: 5000 */
    int64_t kv_segment; /* tokens of a file, a multiple of 16; 0: 256 */
} hpc_scheduler_options;

/* Starts the engine thread. The model is loaded by the first job, or by hpc_scheduler_load. */
int hpc_scheduler_open(hpc_scheduler **out, const hpc_scheduler_options *o);
/* Loads the model now and waits; the error of a model that cannot be loaded. Not from a callback.
 */
int hpc_scheduler_load(hpc_scheduler *s);
/* Rejects new jobs and waits until all have ended, at most so long. Returns whether they have. */
bool hpc_scheduler_drain(hpc_scheduler *s, int64_t ms);
/* Cancels all jobs, calls their `ended`, saves the KV cache, and frees the scheduler. NULL is fine.
 * No other call may run or follow. */
void hpc_scheduler_close(hpc_scheduler *s);

/* ---- state --------------------------------------------------------------------------------- */

typedef enum hpc_job_state { HPC_JOB_QUEUED, HPC_JOB_PREFILL, HPC_JOB_DECODE } hpc_job_state;

typedef struct hpc_job_view { /* no text and no tokens */
    int64_t id;
    uint64_t client;
    hpc_job_state state;
    int64_t slot;                  /* below the view's `slots`; -1: it waits */
    int64_t prompt_n, prompt_done; /* done: computed or reused */
    int64_t reused_n, made_n, most;
    int64_t age_ns; /* since submission */
} hpc_job_view;

typedef struct hpc_scheduler_view {
    hpc_job_view *job; /* those that run, then those that wait */
    int64_t job_n, running, queued, queued_tokens;
    int64_t slots; /* jobs that may run at once */
    bool loaded, draining;
    int threads;
    /* Totals since open. */
    int64_t accepted, rejected, finished, cancelled, failed; /* cancelled: or superseded */
    int64_t prompt_computed, prompt_reused, made, steps, dropped;
    int64_t steps_running;                        /* jobs that ran, summed over steps */
    int64_t longest;                              /* tokens of the longest prompt with its answer */
    int64_t drafts, draft_tokens, draft_accepted; /* speculative decoding */
    int64_t prompt_ns, decode_ns; /* of steps that computed prompts, and of the other steps */
    double prompt_rate;           /* tokens per second, measured lately; 0: not yet */
    double step_ms;               /* of steps without prompts, measured lately; 0: not yet */
    int64_t kv_files, kv_file_bytes, kv_saved, kv_restored; /* the latter two in tokens */
} hpc_scheduler_view;
int hpc_scheduler_view_take(hpc_scheduler_view *out, hpc_scheduler *s);
void hpc_scheduler_view_release(hpc_scheduler_view *v);

#ifdef __cplusplus
}
#endif
#endif
