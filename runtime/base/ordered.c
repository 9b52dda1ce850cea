/*
 * ordered.c: a pool of workers that process items and emit results in order.
 *
 * Workers run ahead of the results by a window of items at most, so that one slow item does not
 * fill the memory with finished ones.
 */
#include "runtime/base/ordered.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { POLL_MS = 100 };

typedef struct queue {
    const hpc_ordered_options *o;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t next, emitted; /* items */
    bool *done;            /* by item */
    bool end;              /* no further item is begun */
    int rc;                /* the first failure */
    hpc_error error;       /* its record */
} queue;

typedef struct member {
    queue *q;
    int number;
    pthread_t thread;
} member;

static bool is_stopped(const queue *q)
{
    return q->o->stop && __atomic_load_n(q->o->stop, __ATOMIC_ACQUIRE);
}

/* Takes the next item, once it is within the window; -1: no item is left. */
static int64_t take(queue *q)
{
    int64_t k = -1;
    pthread_mutex_lock(&q->lock);
    while (!q->end && q->next < q->o->n && q->next >= q->emitted + q->o->window)
        pthread_cond_wait(&q->changed, &q->lock);
    if (!q->end && !is_stopped(q) && q->next < q->o->n) k = q->next++;
    pthread_mutex_unlock(&q->lock);
    return k;
}

static void finish(queue *q, int64_t k, int rc)
{
    pthread_mutex_lock(&q->lock);
    q->done[k] = rc >= 0;
    if (rc < 0 && q->rc >= 0) {
        q->rc = rc;
        q->error = *hpc_error_get();
    }
    q->end |= rc < 0;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    hpc_error_clear();
}

static void *work(void *arg)
{
    member *m = arg;
    queue *q = m->q;
    for (int64_t k = take(q); k >= 0; k = take(q))
        finish(q, k, q->o->work(k, m->number, q->o->user));
    return NULL;
}

static void wait_a_moment(queue *q)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += POLL_MS * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&q->changed, &q->lock, &t);
}

/* False when the item does not come: it was not begun before a stop, or something failed. */
static bool wait_for(queue *q, int64_t k)
{
    pthread_mutex_lock(&q->lock);
    while (!q->done[k] && !(q->end && q->next <= k) && q->rc >= 0) {
        if (is_stopped(q) && !q->end) {
            q->end = true;
            pthread_cond_broadcast(&q->changed);
            continue;
        }
        wait_a_moment(q);
        if (!q->o->look) continue;
        pthread_mutex_unlock(&q->lock);
        q->o->look(k, q->o->user);
        pthread_mutex_lock(&q->lock);
    }
    const bool done = q->done[k] && q->rc >= 0;
    pthread_mutex_unlock(&q->lock);
    return done;
}

static int emit_all(queue *q)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < q->o->n && rc >= 0 && wait_for(q, k); k++) {
        rc = q->o->emit(k, q->o->user);
        pthread_mutex_lock(&q->lock);
        q->emitted += rc >= 0;
        q->end |= rc < 0;
        pthread_cond_broadcast(&q->changed);
        pthread_mutex_unlock(&q->lock);
    }
    return rc;
}

/* Starts at least one worker; fewer than asked for if threads cannot be created. */
static int start(queue *q, member *m, int *started)
{
    for (*started = 0; *started < q->o->workers; ++*started) {
        m[*started] = (member){.q = q, .number = *started};
        errno = pthread_create(&m[*started].thread, NULL, work, &m[*started]);
        if (errno) break;
    }
    return *started > 0 ? HPC_OK : hpc_fail_os(HPC_E_NOMEM, "cannot start a thread for the files");
}

int hpc_ordered_run(int64_t *emitted, const hpc_ordered_options *o)
{
    queue q = {.o = o};
    int rc, started = 0;
    *emitted = 0;
    q.done = hpc_alloc((size_t)o->n, sizeof *q.done);
    member *m = hpc_alloc((size_t)o->workers, sizeof *m);
    pthread_mutex_init(&q.lock, NULL);
    pthread_cond_init(&q.changed, NULL);
    if (!q.done || !m) TRY(HPC_E_NOMEM);
    TRY(start(&q, m, &started));
    rc = emit_all(&q);
    *emitted = q.emitted;
out:
    for (int k = 0; k < started; k++) pthread_join(m[k].thread, NULL);
    if (rc >= 0 && q.rc < 0) rc = hpc_fail(q.rc, "%s", q.error.text);
    pthread_cond_destroy(&q.changed);
    pthread_mutex_destroy(&q.lock);
    hpc_free(m);
    hpc_free(q.done);
    return rc;
}
