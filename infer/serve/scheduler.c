/*
 * Calls of the scheduler's users: opening, jobs, and views. The engine thread is scheduler_run.c.
 */
#include "infer/serve/scheduler.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "infer/serve/scheduler_priv.h"

enum {
    SLOTS = 16,
    QUEUE_JOBS = 64,
    QUEUE_TOKENS = 1 << 18,
    CHUNK_MS = 40,
    CHUNK_ALONE_MS = 100,
    KV_DAYS = 7,
    KV_IDLE_MS = 5000,
    KV_SEGMENT = 256,
    RETRY_MOST_S = 60
};
static const int64_t KV_BYTES = (int64_t)2 << 30;

int64_t scheduler_now(const hpc_scheduler *s)
{
    return s->backend.now_ns(s->backend.user);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void set(int64_t *option, int64_t value)
{
    if (*option <= 0) *option = value;
}

static void set_defaults(hpc_scheduler_options *o)
{
    set(&o->engine.requests, SLOTS);
    set(&o->queue_jobs, QUEUE_JOBS);
    set(&o->queue_tokens, QUEUE_TOKENS);
    set(&o->chunk_ms, CHUNK_MS);
    set(&o->chunk_alone_ms, CHUNK_ALONE_MS);
    set(&o->kv_bytes, KV_BYTES);
    set(&o->kv_days, KV_DAYS);
    set(&o->kv_idle_ms, KV_IDLE_MS);
    set(&o->kv_segment, KV_SEGMENT);
}

static int read_shape(hpc_scheduler *s)
{
    const hpc_engine_options *o = &s->o.engine;
    if (!o->files) {
        int rc = hpc_model_files_open(&s->files, o->model);
        if (rc < 0) return rc;
    }
    const hpc_model_config *c = hpc_model_files_config(s->files ? s->files : o->files);
    int64_t pages = (o->cache_tokens + HPC_ENGINE_PAGE - 1) / HPC_ENGINE_PAGE;
    s->vocab = c->vocab;
    s->capacity = c->positions;
    if (pages > 0 && pages * HPC_ENGINE_PAGE < s->capacity) s->capacity = pages * HPC_ENGINE_PAGE;
    return HPC_OK;
}

static int set_backend(hpc_scheduler *s)
{
    if (s->o.backend) {
        s->backend = *s->o.backend;
        s->vocab = s->o.vocab;
        s->capacity = s->o.capacity;
        return HPC_OK;
    }
    s->backend = scheduler_engine_backend;
    s->backend.user = s;
    return read_shape(s);
}

static void init_locks(hpc_scheduler *s)
{
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, &a);
    pthread_cond_init(&s->change, &a);
    pthread_condattr_destroy(&a);
}

/* Signals are for the caller's threads. */
static int start_thread(hpc_scheduler *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int os = pthread_create(&s->thread, NULL, scheduler_run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    s->started = os == 0;
    return os == 0 ? HPC_OK
                   : hpc_error_set(__FILE__, __LINE__, HPC_E_NOMEM, os,
                                   "cannot start the thread of the scheduler");
}

int hpc_scheduler_open(hpc_scheduler **out, const hpc_scheduler_options *o)
{
    hpc_scheduler *s = hpc_alloc(1, sizeof *s);
    int rc;
    *out = NULL;
    if (!s) return HPC_E_NOMEM;
    init_locks(s);
    s->o = *o;
    set_defaults(&s->o);
    s->slots = s->o.engine.requests;
    if (s->o.kv_segment % HPC_ENGINE_PAGE)
        TRY(hpc_fail(HPC_E_ARG, "a segment of %lld tokens: use a multiple of %d",
                     (long long)s->o.kv_segment, (int)HPC_ENGINE_PAGE));
    TRY(set_backend(s));
    TRY(start_thread(s));
    *out = s;
    s = NULL;
out:
    hpc_scheduler_close(s);
    return rc;
}

void hpc_scheduler_close(hpc_scheduler *s)
{
    if (!s) return;
    if (s->started) {
        pthread_mutex_lock(&s->lock);
        s->closing = s->draining = true;
        pthread_cond_signal(&s->work);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    }
    hpc_assert(s->n == 0);
    hpc_free(s->job);
    hpc_model_files_close(s->files);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->change);
    hpc_free(s);
}

int hpc_scheduler_load(hpc_scheduler *s)
{
    int rc = HPC_OK;
    pthread_mutex_lock(&s->lock);
    s->load = true;
    pthread_cond_signal(&s->work);
    while (s->load && !s->closing) pthread_cond_wait(&s->change, &s->lock);
    if (s->load_error.code < 0) rc = hpc_error_adopt(&s->load_error);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

bool hpc_scheduler_drain(hpc_scheduler *s, int64_t ms)
{
    int64_t until = hpc_clock_ns() + ms * 1000000;
    const struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    int timeout = 0;
    pthread_mutex_lock(&s->lock);
    s->draining = true;
    while (s->alive_n > 0 && timeout == 0)
        timeout = pthread_cond_timedwait(&s->change, &s->lock, &t);
    bool all = s->alive_n == 0;
    pthread_mutex_unlock(&s->lock);
    return all;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

void scheduler_leave_queue(hpc_scheduler *s, const scheduler_job *j)
{
    s->waiting_n--;
    s->waiting_tokens -= j->cost;
}

static void stop(hpc_scheduler *s, scheduler_job *j, hpc_job_finish wish)
{
    if (j->unwanted) return;
    j->unwanted = true;
    j->wish = wish;
    if (!j->given) scheduler_leave_queue(s, j);
}

/* If both jobs have groups, the greater group is the newer one, whenever its job came. */
static bool supersedes(const scheduler_job *j, const scheduler_job *other)
{
    const bool grouped = j->o.group != 0 && other->o.group != 0;
    if (grouped && j->o.group <= other->o.group) return false;
    return j->o.supersede && j->o.document && scheduler_same_document(j, other);
}

/* What j supersedes makes way for it. */
static int check_queue(hpc_scheduler *s, const scheduler_job *j)
{
    int64_t n = s->waiting_n, tokens = s->waiting_tokens;
    if (s->draining) return hpc_fail(HPC_E_STATE, "the server is shutting down; start it again");
    for (int64_t k = 0; k < s->n; k++) {
        const scheduler_job *x = s->job[k];
        if (x->given || x->unwanted || !supersedes(j, x)) continue;
        n--;
        tokens -= x->cost;
    }
    if (n < s->o.queue_jobs && (n == 0 || tokens + j->cost <= s->o.queue_tokens)) return HPC_OK;
    s->total.rejected++;
    return hpc_fail(HPC_E_STATE,
                    "the queue is full: %lld requests with %lld tokens wait; retry "
                    "later",
                    (long long)n, (long long)tokens);
}

/* With the lock. */
static int add(hpc_scheduler *s, scheduler_job *j)
{
    int rc;
    TRY(check_queue(s, j));
    TRY(hpc_grow(&s->job, &s->cap, s->n + 1, sizeof *s->job));
    j->id = ++s->next_id;
    if (!j->o.document) j->document = (hpc_hash128){.low = (uint64_t)j->id};
    scheduler_inherit_turns(s, j);
    for (int64_t k = 0; k < s->n; k++)
        if (supersedes(j, s->job[k])) stop(s, s->job[k], HPC_JOB_SUPERSEDED);
    s->job[s->n++] = j;
    s->waiting_n++;
    s->waiting_tokens += j->cost;
    s->alive_n++;
    for (int64_t k = 0; k < s->n - 1; k++) /* a late answer of an older request */
        if (j->o.group != 0 && s->job[k]->o.group > j->o.group && supersedes(s->job[k], j))
            stop(s, j, HPC_JOB_SUPERSEDED);
    s->total.accepted++;
out:
    return rc;
}

int hpc_scheduler_submit(int64_t *id, hpc_scheduler *s, const hpc_job *job)
{
    scheduler_job *j;
    int rc = scheduler_job_create(&j, s, job);
    if (rc < 0) return rc;
    pthread_mutex_lock(&s->lock);
    rc = add(s, j);
    if (rc >= 0) *id = j->id; /* before the engine thread can free it */
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    if (rc < 0) scheduler_job_free(j);
    return rc;
}

void hpc_scheduler_cancel(hpc_scheduler *s, int64_t id)
{
    pthread_mutex_lock(&s->lock);
    for (int64_t k = 0; k < s->n; k++)
        if (s->job[k]->id == id) stop(s, s->job[k], HPC_JOB_CANCELLED);
    pthread_mutex_unlock(&s->lock);
}

void hpc_scheduler_cancel_client(hpc_scheduler *s, uint64_t client)
{
    pthread_mutex_lock(&s->lock);
    for (int64_t k = 0; k < s->n; k++)
        if (s->job[k]->o.client == client) stop(s, s->job[k], HPC_JOB_CANCELLED);
    pthread_mutex_unlock(&s->lock);
}

int hpc_scheduler_retry_s(hpc_scheduler *s)
{
    pthread_mutex_lock(&s->lock);
    double seconds = (double)s->waiting_tokens * s->rate.token_ns * 1e-9;
    pthread_mutex_unlock(&s->lock);
    return seconds < 1 ? 1 : seconds > RETRY_MOST_S ? RETRY_MOST_S : (int)seconds;
}

/* ---- views ---------------------------------------------------------------------------------- */

static hpc_job_view view_of(const scheduler_job *j, int64_t now)
{
    hpc_job_state state = !j->given         ? HPC_JOB_QUEUED
                          : j->first_ns > 0 ? HPC_JOB_DECODE
                                            : HPC_JOB_PREFILL;
    return (hpc_job_view){.id = j->id,
                          .client = j->o.client,
                          .state = state,
                          .slot = j->slot,
                          .prompt_n = j->prompt_n,
                          .prompt_done = j->done_n > 0 ? j->done_n : 0,
                          .reused_n = j->reused_n,
                          .made_n = j->made_n,
                          .most = j->o.most,
                          .age_ns = now - j->submitted_ns};
}

/* With the lock. */
static void fill(hpc_scheduler_view *v, const hpc_scheduler *s)
{
    hpc_job_view *job = v->job;
    int64_t now = scheduler_now(s);
    *v = s->total;
    v->job = job;
    for (int given = 1; given >= 0; given--)
        for (int64_t k = 0; k < s->n; k++)
            if (s->job[k]->given == given) v->job[v->job_n++] = view_of(s->job[k], now);
    v->running = s->given_n;
    v->queued = s->waiting_n;
    v->queued_tokens = s->waiting_tokens;
    v->slots = s->slots;
    v->draining = s->draining;
    v->prompt_rate = s->rate.token_ns > 0 ? 1e9 / s->rate.token_ns : 0;
    v->step_ms = s->rate.step_ns * 1e-6;
}

int hpc_scheduler_view_take(hpc_scheduler_view *out, hpc_scheduler *s)
{
    int rc = HPC_OK;
    *out = (hpc_scheduler_view){0};
    pthread_mutex_lock(&s->lock);
    out->job = hpc_alloc((size_t)s->n + 1, sizeof *out->job);
    if (out->job)
        fill(out, s);
    else
        rc = HPC_E_NOMEM;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

void hpc_scheduler_view_release(hpc_scheduler_view *v)
{
    hpc_free(v->job);
    *v = (hpc_scheduler_view){0};
}
