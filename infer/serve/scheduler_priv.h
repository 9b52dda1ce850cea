/*
 * State of the scheduler: private to infer/serve/scheduler*.c.
 *
 * `lock` guards everything that callers may read or write: the list of jobs, their fields, and the
 * totals. The engine thread owns the rest. It holds the lock for short updates, never in a callback
 * and never in a step.
 */
#ifndef HPC_SCHEDULER_PRIV_H
#define HPC_SCHEDULER_PRIV_H

#include <pthread.h>

#include "infer/serve/cores.h"
#include "infer/serve/kv_store.h"
#include "infer/serve/scheduler.h"

typedef struct scheduler_job {
    hpc_job o; /* its arrays are ours */
    int64_t id;
    hpc_hash128 document;
    hpc_scheduler *s;
    int64_t cost; /* tokens that it counts in the queue */

    bool given;             /* the engine has it */
    hpc_job_finish wish;    /* HPC_JOB_CANCELLED or HPC_JOB_SUPERSEDED, if `unwanted` */
    bool unwanted, stopped; /* stopped: the engine knows that it is not wanted */
    bool late;              /* predict_ms passed */
    int64_t engine_id;
    int64_t slot; /* -1: not given */

    /* When the client and the document were served last; prompt_turn: by a chunk. */
    int64_t client_turn, document_turn, prompt_turn;

    hpc_alternative *top; /* [o.top_n]: of the next token */
    int32_t *prompt;      /* o.token without dropped ranges */
    int64_t prompt_n, dropped_n, reused_n, done_n, made_n;
    int64_t submitted_ns, given_ns, first_ns; /* first: 0 until the first token */
} scheduler_job;

/* Costs of steps, measured: moving averages. */
typedef struct scheduler_rate {
    double token_ns; /* of a prompt token, without the rest of the step; 0: unknown */
    double step_ns;  /* of a step without prompts; 0: unknown */
} scheduler_rate;

struct hpc_scheduler {
    hpc_scheduler_options o;
    hpc_scheduler_backend backend;
    hpc_model_files *files; /* opened here; NULL: the caller's */
    int64_t vocab, capacity, slots;

    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t work;   /* for the engine thread */
    pthread_cond_t change; /* for those who wait for it */
    scheduler_job **job;   /* in order of arrival; those that run and those that wait */
    int64_t n, cap, given_n, waiting_n, waiting_tokens;
    int64_t alive_n; /* jobs of which `ended` has not returned */
    int64_t next_id, turn;
    bool draining, closing, load;
    hpc_scheduler_view total; /* totals and `loaded`; no jobs */

    /* of the engine thread */
    void *engine;              /* NULL: not loaded */
    hpc_engine_counts counted; /* of this engine, in the totals */
    hpc_error load_error;
    int64_t failed_ns;  /* when loading failed; 0: it did not */
    bool choice_failed; /* in this step a request ended with an error of its own */
    bool measured;      /* the request of a measurement has ended */
    scheduler_rate rate;
    int64_t step_prompt; /* tokens of prompts that this step computed */
    int64_t busy_ns;     /* when the last job ended; by hpc_clock_ns */
    int threads;         /* in use */
    int64_t threads_ns;  /* when that was checked */
    bool reopens;        /* with another number, once no job runs */
    bool saved, told_idle;
    hpc_kv_store *store;   /* NULL: none */
    int64_t restore_until; /* by scheduler_now; INT64_MAX: no limit */
    bool restores;         /* it stopped then, and segments are left */
    hpc_buf kv;
};

/* ---- choice (scheduler_choose.c); with the lock ------------------------------------------ */
/* The job that starts next; NULL: none waits. */
scheduler_job *scheduler_choose_waiting(const hpc_scheduler *s);
/* The job whose prompt goes first; NULL: no prompt is incomplete. */
scheduler_job *scheduler_choose_prompt(const hpc_scheduler *s);
void scheduler_note_start(hpc_scheduler *s, const scheduler_job *started);
void scheduler_note_prompt(hpc_scheduler *s, const scheduler_job *read);
/* A new job takes over the turns of its client and document. */
void scheduler_inherit_turns(const hpc_scheduler *s, scheduler_job *j);
bool scheduler_same_document(const scheduler_job *a, const scheduler_job *b);
int64_t scheduler_now(const hpc_scheduler *s);

/* ---- jobs of callers (scheduler.c) --------------------------------------------------------- */
/* Takes a job that waits out of the counts of the queue. With the lock. */
void scheduler_leave_queue(hpc_scheduler *s, const scheduler_job *j);

/* ---- jobs (scheduler_job.c) ---------------------------------------------------------------- */
int scheduler_job_create(scheduler_job **out, hpc_scheduler *s, const hpc_job *o);
void scheduler_job_free(scheduler_job *j);
/* Calls `ended` and frees it. Without the lock; on the engine thread. */
void scheduler_end(hpc_scheduler *s, scheduler_job *j, hpc_job_finish finish, int32_t stop_token,
                   const hpc_error *error);
/* o->token without the first `drops` ranges. */
void scheduler_prompt_without(scheduler_job *j, int64_t drops);
/* The request of a job for the engine. */
hpc_request scheduler_request(scheduler_job *j);

/* ---- budgets (scheduler_budget.c) ---------------------------------------------------------- */
/* Tokens of prompts in the next step; decodes: other jobs decode in it. */
int64_t scheduler_chunk(const hpc_scheduler *s, bool decodes);
void scheduler_measure(hpc_scheduler *s, int64_t ns, int64_t prompt, bool decodes);
/* Drops ranges until what is not cached takes prompt_ms at most. */
void scheduler_fit_prompt(hpc_scheduler *s, scheduler_job *j);

/* ---- the KV cache on disk (scheduler_kv.c) ------------------------------------------------- */
void scheduler_kv_open(hpc_scheduler *s);
/* Imports what the store has of a prompt, until `restore_until`. */
void scheduler_kv_restore(hpc_scheduler *s, const int32_t *token, int64_t n);
/* Saves what is not stored; stops early when a job comes, unless `all`. */
void scheduler_kv_save(hpc_scheduler *s, bool all);

/* ---- the engine thread (scheduler_run.c) --------------------------------------------------- */
void *scheduler_run(void *scheduler);
extern const hpc_scheduler_backend scheduler_engine_backend; /* scheduler_engine.c */

#endif
