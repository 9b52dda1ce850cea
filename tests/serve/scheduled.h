/*
 * scheduled.h: a scheduler on a fake engine, and clients that write down what their jobs get. For
 * one test program each.
 */
#ifndef HPC_TEST_SCHEDULED_H
#define HPC_TEST_SCHEDULED_H

#include <pthread.h>
#include <string.h>

#include "tests/support/expect.h"
#include "tests/support/fake_engine.h"

enum { MOST = 64, LONG = 3000 };

typedef struct listener {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ended; /* jobs */
} listener;

typedef struct client {
    listener *l;
    int64_t id, ended_id;
    int32_t prompt[LONG];
    int32_t token[MOST];
    int n, end_after; /* the callback ends it after so many; 0: never */
    int64_t progress;
    int ended, order; /* order: of the ends of all */
    hpc_job_result r;
    char error[128];
} client;

typedef struct world {
    fake_engine f;
    hpc_scheduler_backend backend;
    hpc_scheduler_options o;
    hpc_scheduler *s;
    listener l;
    client c[8];
    int failures, idles;
} world;

static inline int token_made(void *user, const hpc_job_token *t)
{
    client *c = user;
    assert_in_range(c->n, 0, MOST - 1);
    c->token[c->n++] = t->token;
    return c->n == c->end_after;
}

static inline void progress(void *user, int64_t done, int64_t total)
{
    client *c = user;
    assert_in_range(done, 0, total);
    c->progress = done;
}

static inline void ended(void *user, int64_t id, const hpc_job_result *r)
{
    client *c = user;
    pthread_mutex_lock(&c->l->lock);
    c->ended++;
    c->ended_id = id;
    c->r = *r;
    c->r.error = NULL;
    if (r->error) memcpy(c->error, r->error->text, sizeof c->error - 1);
    c->order = ++c->l->ended;
    pthread_cond_broadcast(&c->l->changed);
    pthread_mutex_unlock(&c->l->lock);
}

static inline void await_ends(world *w, int n)
{
    pthread_mutex_lock(&w->l.lock);
    while (w->l.ended < n) pthread_cond_wait(&w->l.changed, &w->l.lock);
    pthread_mutex_unlock(&w->l.lock);
}

static inline void failed(void *user, const hpc_error *e)
{
    world *w = user;
    (void)e;
    __atomic_add_fetch(&w->failures, 1, __ATOMIC_SEQ_CST);
}

static inline void idle(void *user)
{
    world *w = user;
    pthread_mutex_lock(&w->l.lock);
    w->idles++;
    pthread_cond_broadcast(&w->l.changed);
    pthread_mutex_unlock(&w->l.lock);
}

static inline int setup(void **state)
{
    world *w = hpc_alloc(1, sizeof *w);
    fake_init(&w->f);
    w->backend = fake_backend(&w->f);
    w->o = (hpc_scheduler_options){.engine = {.requests = 4, .threads = 1},
                                   .backend = &w->backend,
                                   .vocab = FAKE_VOCAB,
                                   .capacity = FAKE_PROMPT,
                                   .failed = failed,
                                   .user = w};
    pthread_mutex_init(&w->l.lock, NULL);
    pthread_cond_init(&w->l.changed, NULL);
    *state = w;
    return 0;
}

static inline int teardown(void **state)
{
    world *w = *state;
    fake_permit(&w->f, -1);
    hpc_scheduler_close(w->s);
    hpc_free(w);
    hpc_error_clear();
    return 0;
}

static inline void open_scheduler(world *w)
{
    test_ok(hpc_scheduler_open(&w->s, &w->o));
}

/* A job of client `who` with a prompt of n tokens that all are `word`. */
static inline hpc_job job_of(world *w, int k, uint64_t who, int32_t word, int64_t n, int64_t most)
{
    client *c = &w->c[k];
    *c = (client){.l = &w->l};
    for (int64_t i = 0; i < n; i++) c->prompt[i] = word;
    return (hpc_job){.client = who,
                     .token = c->prompt,
                     .n = n,
                     .most = most,
                     .sampling = hpc_sampling_greedy(),
                     .token_made = token_made,
                     .progress = progress,
                     .ended = ended,
                     .user = c};
}

static inline void submit(world *w, int k, const hpc_job *j)
{
    int64_t id;
    test_ok(hpc_scheduler_submit(&id, w->s, j));
    w->c[k].id = id;
}

static inline void put(world *w, int k, uint64_t who, int32_t word, int64_t n, int64_t most)
{
    const hpc_job j = job_of(w, k, who, word, n, most);
    submit(w, k, &j);
}

static inline void assert_answer(const client *c, int32_t word, int n)
{
    assert_int_equal(c->n, n);
    for (int k = 0; k < n; k++) assert_int_equal(c->token[k], fake_token(word, k));
}

static inline hpc_scheduler_view view(world *w)
{
    hpc_scheduler_view v;
    test_ok(hpc_scheduler_view_take(&v, w->s));
    return v;
}

static inline hpc_job_view view_of(world *w, int64_t id)
{
    hpc_scheduler_view v = view(w);
    hpc_job_view found = {0};
    for (int64_t k = 0; k < v.job_n; k++)
        if (v.job[k].id == id) found = v.job[k];
    hpc_scheduler_view_release(&v);
    return found;
}

#endif
