/*
 * One job: its copy of the caller's arrays, the request that the engine gets, and its callbacks.
 */
#include <string.h>

#include "infer/serve/scheduler_priv.h"

/* ---- creation ------------------------------------------------------------------------------- */

static int copy(void *out, const void *from, int64_t n, size_t size)
{
    void *to = hpc_alloc((size_t)(n > 0 ? n : 1), size);
    if (!to) return HPC_E_NOMEM;
    if (n > 0) memcpy(to, from, (size_t)n * size);
    memcpy(out, &to, sizeof to);
    return HPC_OK;
}

static int check_ranges(const hpc_job *o)
{
    int64_t left = o->n;
    for (int64_t k = 0; k < o->drop_n; k++) {
        const hpc_job_range *r = &o->drop[k];
        bool valid = r->from >= 0 && r->from <= r->to && r->to <= o->n;
        for (int64_t i = 0; i < k && valid; i++)
            valid = r->to <= o->drop[i].from || r->from >= o->drop[i].to;
        if (!valid)
            return hpc_fail(HPC_E_ARG,
                            "droppable range %lld, tokens %lld to %lld of %lld, is invalid or "
                            "overlaps another",
                            (long long)k, (long long)r->from, (long long)r->to, (long long)o->n);
        left -= r->to - r->from;
    }
    if (left < 1) return hpc_fail(HPC_E_ARG, "the droppable ranges leave no token of the prompt");
    return HPC_OK;
}

static int check(const hpc_scheduler *s, const hpc_job *o)
{
    if (o->n < 1 || o->most < 0)
        return hpc_fail(HPC_E_ARG, "a job needs at least one prompt token, and no negative limit");
    if (o->n > s->capacity)
        return hpc_fail(HPC_E_ARG, "a prompt of %lld tokens: model and cache allow %lld",
                        (long long)o->n, (long long)s->capacity);
    for (int64_t k = 0; k < o->n; k++)
        if (o->token[k] < 0 || o->token[k] >= s->vocab)
            return hpc_fail(HPC_E_ARG, "token %d: the vocabulary of the model has %lld",
                            o->token[k], (long long)s->vocab);
    if (o->top_n < 0 || o->top_n > HPC_JOB_TOP_MOST)
        return hpc_fail(HPC_E_ARG, "%lld alternatives of a token: expected 0 to %d",
                        (long long)o->top_n, (int)HPC_JOB_TOP_MOST);
    int rc = hpc_bias_check(o->bias, o->bias_n, s->vocab);
    if (rc >= 0) rc = check_ranges(o);
    return rc < 0 ? rc : hpc_sampling_check(&o->sampling);
}

int scheduler_job_create(scheduler_job **out, hpc_scheduler *s, const hpc_job *o)
{
    scheduler_job *j = NULL;
    int rc;
    TRY(check(s, o));
    j = hpc_alloc(1, sizeof *j);
    if (!j) TRY(HPC_E_NOMEM);
    j->o = *o;
    j->o.token = NULL, j->o.drop = NULL, j->o.stop = NULL, j->o.bias = NULL;
    j->s = s;
    j->slot = -1;
    j->cost = j->prompt_n = o->n;
    j->submitted_ns = scheduler_now(s);
    if (o->document) j->document = hpc_hash_wide(o->document, strlen(o->document));
    TRY(copy(&j->o.token, o->token, o->n, sizeof *o->token));
    TRY(copy(&j->prompt, o->token, o->n, sizeof *o->token));
    TRY(copy(&j->o.drop, o->drop, o->drop_n, sizeof *o->drop));
    TRY(copy(&j->o.stop, o->stop, o->stop_n, sizeof *o->stop));
    TRY(copy(&j->o.bias, o->bias, o->bias_n, sizeof *o->bias));
    j->top = hpc_alloc((size_t)o->top_n + 1, sizeof *j->top);
    if (!j->top) TRY(HPC_E_NOMEM);
    *out = j;
    j = NULL;
out:
    scheduler_job_free(j);
    return rc;
}

static void free_const(const void *p)
{
    void *q;
    memcpy(&q, &p, sizeof q);
    hpc_free(q);
}

void scheduler_job_free(scheduler_job *j)
{
    if (!j) return;
    free_const(j->o.token);
    free_const(j->o.drop);
    free_const(j->o.stop);
    free_const(j->o.bias);
    hpc_free(j->top);
    hpc_free(j->prompt);
    hpc_free(j);
}

static bool is_dropped(const scheduler_job *j, int64_t at, int64_t drops)
{
    for (int64_t k = 0; k < drops; k++)
        if (at >= j->o.drop[k].from && at < j->o.drop[k].to) return true;
    return false;
}

void scheduler_prompt_without(scheduler_job *j, int64_t drops)
{
    int64_t n = 0;
    for (int64_t k = 0; k < j->o.n; k++)
        if (!is_dropped(j, k, drops)) j->prompt[n++] = j->o.token[k];
    pthread_mutex_lock(&j->s->lock);
    j->prompt_n = n;
    j->dropped_n = j->o.n - n;
    pthread_mutex_unlock(&j->s->lock);
}

/* ---- callbacks of the engine ---------------------------------------------------------------- */

static int token_made(void *user, int32_t token, float logprob)
{
    scheduler_job *j = user;
    hpc_scheduler *s = j->s;
    int64_t now = scheduler_now(s);
    pthread_mutex_lock(&s->lock);
    if (j->first_ns == 0) j->first_ns = now;
    if (j->o.most > 0) j->made_n++;
    bool unwanted = j->unwanted;
    pthread_mutex_unlock(&s->lock);
    if (unwanted || j->o.most == 0) return 1;
    const hpc_job_token t = {
        .token = token, .logprob = logprob, .top = j->top, .top_n = j->o.top_n, .slot = j->slot};
    if (j->o.token_made && j->o.token_made(j->o.user, &t)) return 1;
    j->late = j->o.predict_ms > 0 && now - j->first_ns >= j->o.predict_ms * 1000000;
    return j->late;
}

static void logits(void *user, const float *row, int64_t vocab)
{
    scheduler_job *j = user;
    if (j->o.top_n > vocab) j->o.top_n = vocab;
    hpc_alternatives(j->top, j->o.top_n, row, vocab);
}

/* The engine's user is the job; the caller's is its own. */
static const uint32_t *allowed(void *user)
{
    const scheduler_job *j = user;
    return j->o.allowed(j->o.user);
}

static void progress(void *user, int64_t done)
{
    scheduler_job *j = user;
    hpc_scheduler *s = j->s;
    pthread_mutex_lock(&s->lock);
    if (j->done_n < 0)
        j->reused_n = done;
    else
        s->step_prompt += done - j->done_n;
    j->done_n = done;
    bool unwanted = j->unwanted;
    pthread_mutex_unlock(&s->lock);
    if (j->o.progress && !unwanted) j->o.progress(j->o.user, done, j->prompt_n);
}

static hpc_job_finish finish_of(const scheduler_job *j, hpc_finish how)
{
    if (j->unwanted) return j->wish;
    if (how == HPC_FINISH_STOP) return HPC_JOB_STOP;
    if (how == HPC_FINISH_ERROR) return HPC_JOB_ERROR;
    if (how == HPC_FINISH_CALLER && j->late) return HPC_JOB_TIME;
    return how == HPC_FINISH_LENGTH || j->o.most == 0 ? HPC_JOB_LENGTH : HPC_JOB_CALLER;
}

static void ended(void *user, hpc_finish how, int32_t token)
{
    scheduler_job *j = user;
    hpc_scheduler *s = j->s;
    pthread_mutex_lock(&s->lock);
    hpc_job_finish finish = finish_of(j, how);
    if (j->first_ns == 0 && how == HPC_FINISH_STOP) j->first_ns = scheduler_now(s);
    pthread_mutex_unlock(&s->lock);
    if (how == HPC_FINISH_ERROR) s->choice_failed = true;
    scheduler_end(s, j, finish, how == HPC_FINISH_STOP ? token : -1,
                  how == HPC_FINISH_ERROR ? hpc_error_get() : NULL);
}

hpc_request scheduler_request(scheduler_job *j)
{
    return (hpc_request){.token = j->prompt,
                         .n = j->prompt_n,
                         .most = j->o.most > 0 ? j->o.most : 1,
                         .sampling = j->o.sampling,
                         .sample = j->o.sample,
                         .stop = j->o.stop,
                         .stop_n = j->o.most > 0 ? j->o.stop_n : 0,
                         .bias = j->o.bias,
                         .bias_n = j->o.bias_n,
                         .logits = j->o.top_n > 0 ? logits : NULL,
                         .token_made = token_made,
                         .ended = ended,
                         .progress = progress,
                         .allowed = j->o.allowed ? allowed : NULL,
                         .user = j};
}

/* ---- the end -------------------------------------------------------------------------------- */

static hpc_job_result result_of(const scheduler_job *j, int64_t now)
{
    int64_t done = j->done_n > 0 ? j->done_n : 0, given = j->given ? j->given_ns : now;
    int64_t first = j->first_ns > 0 ? j->first_ns : now;
    return (hpc_job_result){.stop_token = -1,
                            .slot = j->slot,
                            .prompt_n = j->prompt_n,
                            .dropped_n = j->dropped_n,
                            .reused_n = j->reused_n,
                            .computed_n = done - j->reused_n,
                            .made_n = j->made_n,
                            .queue_ns = given - j->submitted_ns,
                            .prompt_ns = j->given ? first - given : 0,
                            .decode_ns = j->first_ns > 0 ? now - first : 0};
}

static void count(hpc_scheduler *s, const hpc_job_result *r)
{
    int64_t tokens = r->reused_n + r->computed_n + r->made_n;
    if (tokens > s->total.longest) s->total.longest = tokens;
    bool unwanted = r->finish == HPC_JOB_CANCELLED || r->finish == HPC_JOB_SUPERSEDED;
    s->total.cancelled += unwanted;
    s->total.failed += r->finish == HPC_JOB_ERROR;
    s->total.finished += !unwanted && r->finish != HPC_JOB_ERROR;
    s->total.prompt_computed += r->computed_n;
    s->total.prompt_reused += r->reused_n;
    s->total.made += r->made_n;
    s->total.dropped += r->dropped_n;
}

static void remove_from_list(hpc_scheduler *s, const scheduler_job *j)
{
    int64_t n = 0;
    for (int64_t k = 0; k < s->n; k++)
        if (s->job[k] != j) s->job[n++] = s->job[k];
    s->n = n;
    if (j->given)
        s->given_n--;
    else if (!j->unwanted)
        scheduler_leave_queue(s, j);
}

void scheduler_end(hpc_scheduler *s, scheduler_job *j, hpc_job_finish finish, int32_t stop_token,
                   const hpc_error *error)
{
    const hpc_error copy = error ? *error : (hpc_error){0};
    pthread_mutex_lock(&s->lock);
    hpc_job_result r = result_of(j, scheduler_now(s));
    r.finish = finish, r.stop_token = stop_token, r.error = error ? &copy : NULL;
    remove_from_list(s, j);
    count(s, &r);
    pthread_mutex_unlock(&s->lock);
    s->busy_ns = hpc_clock_ns();
    if (j->o.ended) j->o.ended(j->o.user, j->id, &r);
    scheduler_job_free(j);
    pthread_mutex_lock(&s->lock); /* drain and close wait for the callback, too */
    s->alive_n--;
    pthread_cond_broadcast(&s->change);
    pthread_mutex_unlock(&s->lock);
}
