/*
 * Time budgets: tokens of a chunk, and prompts that have to be read within a time limit.
 *
 * The cost of a step is that of decoding plus that of its prompt tokens. Both are moving averages,
 * so that they follow other load on the machine.
 */
#include "infer/serve/scheduler_priv.h"

enum {
    CHUNK_FIRST = 32, /* before anything is measured */
    CHUNK_LEAST = 16, /* shorter ones say little about the rate */
    CHUNK_MOST = 1 << 20,
    WARM_UP = 32, /* tokens before a measurement, */
    SAMPLE = 96   /* and of it */
};
/* Weights of a new measurement. A budget that is exceeded hurts more than one that is not used up.
 */
static const double WHEN_SLOWER = 0.6, WHEN_FASTER = 0.2;

static void average(double *mean, double x)
{
    double weight = x > *mean ? WHEN_SLOWER : WHEN_FASTER;
    *mean = *mean > 0 ? *mean + weight * (x - *mean) : x;
}

void scheduler_measure(hpc_scheduler *s, int64_t ns, int64_t prompt, bool decodes)
{
    scheduler_rate *r = &s->rate;
    if (prompt < CHUNK_LEAST) {
        if (prompt == 0 && decodes) average(&r->step_ns, (double)ns);
        return;
    }
    double own = (double)ns - (decodes ? r->step_ns : 0), least = (double)ns / 10;
    average(&r->token_ns, (own > least ? own : least) / (double)prompt);
}

int64_t scheduler_chunk(const hpc_scheduler *s, bool decodes)
{
    double ms = (double)(decodes ? s->o.chunk_ms : s->o.chunk_alone_ms);
    if (s->rate.token_ns <= 0) return CHUNK_FIRST;
    double n = ms * 1e6 / s->rate.token_ns;
    return n < CHUNK_LEAST ? CHUNK_LEAST : n < CHUNK_MOST ? (int64_t)n : CHUNK_MOST;
}

/* Other clients' prompts share the time. */
static int64_t prompts_in_progress(const hpc_scheduler *s)
{
    int64_t n = 0;
    for (int64_t k = 0; k < s->n; k++) n += s->job[k]->given && s->job[k]->first_ns == 0;
    return n;
}

static bool fits(hpc_scheduler *s, const scheduler_job *j, double tokens)
{
    scheduler_kv_restore(s, j->prompt, j->prompt_n);
    int64_t cached = s->backend.cached(s->engine, j->prompt, j->prompt_n);
    return (double)(j->prompt_n - cached) <= tokens;
}

static int ignore_token(void *user, int32_t token, float logprob)
{
    (void)user, (void)token, (void)logprob;
    return 1;
}

static void ignore_progress(void *user, int64_t done)
{
    (void)user, (void)done;
}

static void note_end(void *user, hpc_finish how, int32_t token)
{
    bool *ended = user;
    (void)how, (void)token;
    *ended = true;
}

/* Computes the first tokens of a prompt, which stay in the cache. An error shows again in the
 * job's own steps. */
static void compute(hpc_scheduler *s, const int32_t *token, int64_t n)
{
    bool busy;
    int64_t id;
    const hpc_request r = {.token = token,
                           .n = n,
                           .most = 1,
                           .sampling = hpc_sampling_greedy(),
                           .token_made = ignore_token,
                           .progress = ignore_progress,
                           .ended = note_end,
                           .user = &s->measured};
    s->measured = false;
    int rc = s->backend.submit(s->engine, &r, &id);
    while (rc >= 0 && !s->measured)
        rc = s->backend.step(s->engine, &(hpc_engine_step_options){.prompt_tokens = n}, &busy);
}

/* The first tokens of all touch memory for the first time: their time does not count. */
static void measure_rate(hpc_scheduler *s, const scheduler_job *j)
{
    if (j->prompt_n < WARM_UP + SAMPLE) return;
    compute(s, j->prompt, WARM_UP);
    int64_t begin = scheduler_now(s);
    int64_t cached = s->backend.cached(s->engine, j->prompt, WARM_UP + SAMPLE);
    compute(s, j->prompt, WARM_UP + SAMPLE);
    int64_t ns = scheduler_now(s) - begin;
    hpc_error_clear();
    pthread_mutex_lock(&s->lock);
    scheduler_measure(s, ns, WARM_UP + SAMPLE - cached, false);
    pthread_mutex_unlock(&s->lock);
}

void scheduler_fit_prompt(hpc_scheduler *s, scheduler_job *j)
{
    double ns = (double)j->o.prompt_ms * 1e6;
    bool limited = j->o.prompt_ms > 0 && j->o.drop_n > 0;
    if (limited && s->rate.token_ns <= 0) measure_rate(s, j);
    pthread_mutex_lock(&s->lock);
    double tokens = ns / s->rate.token_ns / (double)(1 + prompts_in_progress(s));
    pthread_mutex_unlock(&s->lock);
    scheduler_prompt_without(j, 0); /* it may be called again after a part was restored */
    if (!limited || s->rate.token_ns <= 0) {
        scheduler_kv_restore(s, j->prompt, j->prompt_n);
        return;
    }
    for (int64_t k = 0; !fits(s, j, tokens) && !s->restores && k < j->o.drop_n; k++)
        scheduler_prompt_without(j, k + 1);
}
