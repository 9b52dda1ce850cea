/*
 * The engine thread: ends what is not wanted, starts jobs, and runs steps; without jobs it saves
 * the KV cache, closes the model, and sleeps.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "infer/serve/scheduler_priv.h"

static const int64_t MS = 1000000, SECOND = 1000000000;
enum { NICE = 10, LOAD_AGAIN_S = 30 };

/* ---- the model ------------------------------------------------------------------------------ */

static int allowed_threads(const hpc_scheduler *s)
{
    int cores = s->backend.cores ? s->backend.cores(s->backend.user) : serve_cores();
    int wanted = s->o.engine.threads;
    return wanted > 0 && wanted < cores ? wanted : cores;
}

static void note_loaded(hpc_scheduler *s)
{
    pthread_mutex_lock(&s->lock);
    s->total.loaded = s->engine != NULL;
    if (s->engine) s->load_error = (hpc_error){0};
    s->total.threads = s->threads;
    pthread_mutex_unlock(&s->lock);
}

static void unload(hpc_scheduler *s)
{
    if (s->engine) s->backend.close(s->engine);
    s->engine = NULL;
    note_loaded(s);
}

/* The error is reported once, and the next attempt waits: there is no loop of failures. */
static void load_failed(hpc_scheduler *s)
{
    pthread_mutex_lock(&s->lock);
    s->load_error = *hpc_error_get();
    pthread_mutex_unlock(&s->lock);
    s->failed_ns = hpc_clock_ns();
    s->engine = NULL;
    if (s->o.failed) s->o.failed(s->o.user, &s->load_error);
    hpc_error_clear();
}

static bool load(hpc_scheduler *s)
{
    if (s->engine) return true;
    if (s->failed_ns && hpc_clock_ns() - s->failed_ns < LOAD_AGAIN_S * SECOND) return false;
    s->threads = allowed_threads(s);
    s->threads_ns = scheduler_now(s);
    s->reopens = false;
    if (s->backend.open(&s->engine, s->backend.user, s->threads) < 0) {
        load_failed(s);
        return false;
    }
    s->failed_ns = 0;
    s->counted = (hpc_engine_counts){0};
    s->saved = true;
    s->busy_ns = hpc_clock_ns();
    note_loaded(s);
    scheduler_kv_open(s);
    return true;
}

/* Affinity and quotas change while a job of a batch system runs. The workers of a program are
 * fixed, so the model is opened again when no job runs. */
static void check_threads(hpc_scheduler *s)
{
    int64_t now = scheduler_now(s);
    if (now - s->threads_ns < SECOND) return;
    s->threads_ns = now;
    s->reopens = allowed_threads(s) != s->threads;
}

/* ---- jobs that end without a step ----------------------------------------------------------- */

static scheduler_job *next_unwanted(hpc_scheduler *s)
{
    scheduler_job *found = NULL;
    pthread_mutex_lock(&s->lock);
    for (int64_t k = 0; k < s->n && !found; k++) {
        scheduler_job *j = s->job[k];
        if (!j->unwanted || j->stopped) continue;
        if (!j->given)
            found = j;
        else
            s->backend.cancel(s->engine, j->engine_id);
        j->stopped = true;
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

static void end_unwanted(hpc_scheduler *s)
{
    for (scheduler_job *j = next_unwanted(s); j; j = next_unwanted(s))
        scheduler_end(s, j, j->wish, -1, NULL);
}

static scheduler_job *first_job(hpc_scheduler *s, bool given)
{
    scheduler_job *found = NULL;
    pthread_mutex_lock(&s->lock);
    for (int64_t k = 0; k < s->n && !found; k++)
        if (s->job[k]->given || !given) found = s->job[k];
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* given: those alone that the engine had. */
static void end_all(hpc_scheduler *s, bool given, hpc_job_finish finish, const hpc_error *error)
{
    for (scheduler_job *j = first_job(s, given); j; j = first_job(s, given))
        scheduler_end(s, j, finish, -1, error);
}

/* ---- starting ------------------------------------------------------------------------------- */

static scheduler_job *take_next(hpc_scheduler *s)
{
    int64_t running = 0;
    scheduler_job *j = NULL;
    pthread_mutex_lock(&s->lock);
    for (int64_t k = 0; k < s->n; k++) running += s->job[k]->given && !s->job[k]->stopped;
    if (running < s->slots) j = scheduler_choose_waiting(s);
    if (j) {
        scheduler_note_start(s, j);
        if (j->given_ns == 0) j->given_ns = scheduler_now(s);
    }
    pthread_mutex_unlock(&s->lock);
    return j;
}

/* The first that no other job uses. One that was stopped ends before the next step. */
static int64_t free_slot(const hpc_scheduler *s)
{
    for (int64_t slot = 0;; slot++) {
        bool used = false;
        for (int64_t k = 0; k < s->n && !used; k++)
            used = s->job[k]->given && !s->job[k]->stopped && s->job[k]->slot == slot;
        if (!used) return slot;
    }
}

/* False: it was cancelled meanwhile. */
static bool mark_given(hpc_scheduler *s, scheduler_job *j)
{
    pthread_mutex_lock(&s->lock);
    bool wanted = !j->unwanted;
    if (wanted) {
        scheduler_leave_queue(s, j);
        j->slot = free_slot(s);
        j->done_n = -1; /* until the engine reports reused tokens */
        j->given = true;
        s->given_n++;
    }
    pthread_mutex_unlock(&s->lock);
    return wanted;
}

/* False: the rest of its cache is read from disk after the next step, so that others can decode. */
static bool start(hpc_scheduler *s, scheduler_job *j)
{
    s->restore_until = first_job(s, true) ? scheduler_now(s) + s->o.chunk_ms * MS : INT64_MAX;
    s->restores = false;
    scheduler_fit_prompt(s, j);
    if (s->restores) return false;
    if (!mark_given(s, j)) return true;
    const hpc_request r = scheduler_request(j);
    s->saved = false;
    if (s->backend.submit(s->engine, &r, &j->engine_id) >= 0) return true;
    const hpc_error error = *hpc_error_get();
    hpc_error_clear();
    scheduler_end(s, j, HPC_JOB_ERROR, -1, &error);
    return true;
}

static void start_jobs(hpc_scheduler *s)
{
    bool goes_on = true;
    for (scheduler_job *j = take_next(s); j; j = goes_on ? take_next(s) : NULL) {
        goes_on = start(s, j);
        end_unwanted(s);
    }
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* *decodes: a job decodes in this step. */
static hpc_engine_step_options plan(hpc_scheduler *s, bool *decodes)
{
    hpc_engine_step_options o = {0};
    *decodes = false;
    pthread_mutex_lock(&s->lock);
    for (int64_t k = 0; k < s->n; k++)
        *decodes = *decodes || (s->job[k]->first_ns > 0 && !s->job[k]->unwanted);
    const scheduler_job *first = scheduler_choose_prompt(s);
    if (first) {
        o.first = first->engine_id;
        scheduler_note_prompt(s, first);
    }
    o.prompt_tokens = scheduler_chunk(s, *decodes);
    pthread_mutex_unlock(&s->lock);
    return o;
}

/* With the lock. */
static void count_drafts(hpc_scheduler *s)
{
    if (!s->backend.counts) return;
    const hpc_engine_counts now = s->backend.counts(s->engine);
    s->total.drafts += now.drafts - s->counted.drafts;
    s->total.draft_tokens += now.guessed - s->counted.guessed;
    s->total.draft_accepted += now.right - s->counted.right;
    s->counted = now;
}

static void note_step(hpc_scheduler *s, int64_t ns, bool decodes, int64_t running)
{
    pthread_mutex_lock(&s->lock);
    scheduler_measure(s, ns, s->step_prompt, decodes);
    s->total.steps++;
    s->total.steps_running += running;
    count_drafts(s);
    *(s->step_prompt > 0 ? &s->total.prompt_ns : &s->total.decode_ns) += ns;
    pthread_mutex_unlock(&s->lock);
}

/* The jobs that the engine had end; others start on an engine that is opened again. */
static void device_failed(hpc_scheduler *s)
{
    const hpc_error error = *hpc_error_get();
    hpc_error_clear();
    unload(s);
    if (s->o.failed) s->o.failed(s->o.user, &error);
    end_all(s, true, HPC_JOB_ERROR, &error);
}

static void step(hpc_scheduler *s)
{
    bool decodes, busy;
    const hpc_engine_step_options o = plan(s, &decodes);
    s->step_prompt = 0;
    s->choice_failed = false;
    const int64_t running = s->given_n; /* of this thread alone while jobs are given */
    int64_t begin = scheduler_now(s);
    int rc = s->backend.step(s->engine, &o, &busy);
    if (rc < 0 && !s->choice_failed) {
        device_failed(s);
        return;
    }
    hpc_error_clear();
    note_step(s, scheduler_now(s) - begin, decodes, running);
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void wait_until(hpc_scheduler *s, int64_t ns)
{
    const struct timespec t = {.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
    if (ns == INT64_MAX)
        pthread_cond_wait(&s->work, &s->lock);
    else
        pthread_cond_timedwait(&s->work, &s->lock, &t);
}

/* 0: never. */
static int64_t due(const hpc_scheduler *s, int64_t ms)
{
    return ms > 0 ? s->busy_ns + ms * MS : INT64_MAX;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Saves, unloads and reports, each when it is due; the time of the next one. Without the lock. */
static int64_t do_idle_work(hpc_scheduler *s)
{
    int64_t now = hpc_clock_ns(), next = INT64_MAX, at = due(s, s->o.kv_idle_ms);
    bool saves = s->engine && s->store && !s->saved;
    if (saves && now >= at) scheduler_kv_save(s, false);
    if (saves && now < at) next = at;
    at = due(s, s->o.unload_ms);
    if (s->engine && now >= at) {
        scheduler_kv_save(s, true);
        unload(s);
    } else if (s->engine) {
        next = least(next, at);
    }
    at = due(s, s->o.exit_ms);
    if (s->o.idle && !s->told_idle && now >= at) {
        s->told_idle = true;
        s->o.idle(s->o.user);
    } else if (s->o.idle && !s->told_idle) {
        next = least(next, at);
    }
    return next;
}

/* False: the scheduler closes. */
static bool wait_for_work(hpc_scheduler *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->closing && s->n == 0 && !s->load) {
        pthread_mutex_unlock(&s->lock);
        int64_t next = do_idle_work(s);
        pthread_mutex_lock(&s->lock);
        if (!s->closing && s->n == 0 && !s->load) wait_until(s, next);
    }
    bool goes_on = !s->closing;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

/* ---- the thread ----------------------------------------------------------------------------- */

/* Threads that the engine starts inherit both. */
static void lower_priority(void)
{
    const struct sched_param p = {0};
    (void)!sched_setscheduler(0, SCHED_BATCH, &p);
    (void)!setpriority(PRIO_PROCESS, 0, NICE);
}

static void answer_load(hpc_scheduler *s)
{
    pthread_mutex_lock(&s->lock);
    bool asked = s->load;
    pthread_mutex_unlock(&s->lock);
    if (!asked) return;
    s->failed_ns = 0;
    load(s);
    pthread_mutex_lock(&s->lock);
    s->load = false;
    pthread_cond_broadcast(&s->change);
    pthread_mutex_unlock(&s->lock);
}

static void work(hpc_scheduler *s)
{
    s->told_idle = false;
    answer_load(s);
    end_unwanted(s);
    if (!first_job(s, false)) return;
    if (!load(s)) {
        end_all(s, false, HPC_JOB_ERROR, &s->load_error);
        return;
    }
    check_threads(s);
    if (s->reopens && !first_job(s, true)) {
        scheduler_kv_save(s, true);
        unload(s);
        return;
    }
    if (!s->reopens) start_jobs(s);
    if (first_job(s, true)) step(s);
}

void *scheduler_run(void *scheduler)
{
    hpc_scheduler *s = scheduler;
    if (s->o.low_priority) lower_priority();
    s->busy_ns = hpc_clock_ns();
    while (wait_for_work(s)) work(s);
    scheduler_kv_save(s, true);
    unload(s);
    end_all(s, false, HPC_JOB_CANCELLED, NULL);
    hpc_kv_store_close(s->store);
    hpc_buf_release(&s->kv);
    return NULL;
}
