/*
 * threads_world.c: ranks as threads of one process: starting and joining them, sleeping
 * and waking, and propagating the failure of one rank to all.
 *
 * Operations are in threads_collective.c and threads_message.c.
 */
#include "runtime/link/priv.h"

#include <sched.h>

enum { SPINS = 200, YIELDS = 20 };

/* ---- sleeping -------------------------------------------------------------- */
void hpc_seat_wake(seat *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_fetch_add_explicit(&s->epoch, 1, memory_order_release);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static bool moved_on(const seat *s, unsigned seen)
{
    return atomic_load_explicit(&s->epoch, memory_order_acquire) != seen;
}

void hpc_seat_sleep(seat *s, unsigned seen)
{
    for (int i = 0; i < SPINS; i++)
        if (moved_on(s, seen)) return;
    for (int i = 0; i < YIELDS; i++) {
        sched_yield();
        if (moved_on(s, seen)) return;
    }
    pthread_mutex_lock(&s->lock);
    while (!moved_on(s, seen)) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* ---- the world ------------------------------------------------------------- */
static void world_release(threads_world *w)
{
    for (int r = 0; w->seat && r < w->n; r++) {
        pthread_cond_destroy(&w->seat[r].changed);
        pthread_mutex_destroy(&w->seat[r].lock);
    }
    hpc_free(w->seat);
    pthread_mutex_destroy(&w->lock);
}

static int world_init(threads_world *w, int n, hpc_delay_fn *delay, void *user)
{
    *w = (threads_world){.n = n, .delay = delay, .user = user};
    pthread_mutex_init(&w->lock, NULL);
    w->seat = hpc_alloc_aligned((size_t)n, sizeof *w->seat, 64);
    if (!w->seat) return HPC_E_NOMEM;
    for (int r = 0; r < n; r++) {
        pthread_mutex_init(&w->seat[r].lock, NULL);
        pthread_cond_init(&w->seat[r].changed, NULL);
    }
    return 0;
}

bool hpc_world_aborted(const threads_world *w)
{
    return atomic_load_explicit(&w->aborted, memory_order_acquire);
}

void hpc_world_abort(threads_world *w, int rank, const char *why)
{
    pthread_mutex_lock(&w->lock);
    bool first = !hpc_world_aborted(w);
    if (first) {
        hpc_error_note(&w->why, HPC_E_ABORTED, "rank %d failed: %s", rank, why);
        atomic_store_explicit(&w->aborted, true, memory_order_release);
    }
    pthread_mutex_unlock(&w->lock);
    for (int r = 0; first && r < w->n; r++) hpc_seat_wake(&w->seat[r]);
}

/* ---- ranks ----------------------------------------------------------------- */
typedef struct runner { /* one rank */
    threads_world *world;
    int rank;
    threads_link *link;
    int (*fn)(hpc_link *world, void *user);
    void *user;
    pthread_t thread;
    int rc;
    hpc_error error;
} runner;

/* The rank's own record, or words for the lack of one. */
static void note_failure(runner *r)
{
    const hpc_error *e = hpc_error_get();
    if (e->code != HPC_OK)
        r->error = *e;
    else if (r->rc == HPC_E_ABORTED && hpc_world_aborted(r->world))
        r->error = r->world->why;
    else
        hpc_error_note(&r->error, r->rc, "rank %d: %s, without a message", r->rank,
                       hpc_error_name(r->rc));
}

static void *rank_main(void *arg)
{
    runner *r = arg;
    r->rc = r->fn(&r->link->base, r->user);
    if (r->rc >= 0 && r->link->used_n > 0)
        r->rc =
            hpc_fail(HPC_E_STATE, "rank %d ended with %d operations in flight; wait for them first",
                     r->rank, r->link->used_n);
    if (r->rc < 0) {
        note_failure(r);
        hpc_world_abort(r->world, r->rank, r->error.text);
    }
    hpc_threads_close(&r->link->base);
    r->link = NULL;
    hpc_error_clear();
    return NULL;
}

/* The first failure by rank; one that only echoes another's counts if there is no other. */
static int first_failure(const runner *rank, int n)
{
    const runner *found = NULL;
    for (int r = 0; r < n; r++) {
        if (rank[r].rc >= 0) continue;
        if (!found || (found->rc == HPC_E_ABORTED && rank[r].rc != HPC_E_ABORTED)) found = &rank[r];
    }
    if (!found) return 0;
    hpc_error_adopt(&found->error);
    return found->rc;
}

static int runners_init(runner *rank, threads_world *w, int (*fn)(hpc_link *world, void *user),
                        void *user)
{
    int rc = 0;
    group *g = NULL;
    int *member = hpc_alloc((size_t)w->n, sizeof *member);
    if (!member) return HPC_E_NOMEM;
    for (int r = 0; r < w->n; r++) member[r] = r;
    for (int r = 0; r < w->n; r++) {
        rank[r] = (runner){.world = w, .rank = r, .fn = fn, .user = user};
        TRY(hpc_threads_link_create(&rank[r].link));
    }
    TRY(hpc_group_create(&g, w, member, w->n));
    for (int r = 0; r < w->n; r++) hpc_threads_link_enter(rank[r].link, g, r);
out:
    hpc_free(member);
    return rc;
}

/* Ranks whose threads cannot be started fail like any other. */
static void run_all(runner *rank, threads_world *w)
{
    int started = 0;
    for (; started < w->n; started++) {
        runner *r = &rank[started];
        int os = pthread_create(&r->thread, NULL, rank_main, r);
        if (os == 0) continue;
        r->rc = hpc_error_note(&r->error, HPC_E_NOMEM,
                               "cannot start thread %d of %d (errno %d); run fewer ranks",
                               started + 1, w->n, os);
        hpc_world_abort(w, started, r->error.text);
        break;
    }
    for (int r = 0; r < started; r++) pthread_join(rank[r].thread, NULL);
}

int hpc_threads_run_delayed(int n, int (*fn)(hpc_link *world, void *user), void *user,
                            hpc_delay_fn *delay)
{
    int rc = 0;
    threads_world w;
    runner *rank = NULL;
    if (n < 1) return hpc_fail(HPC_E_ARG, "threads: %d ranks; at least 1 is needed", n);
    TRY(world_init(&w, n, delay, user));
    rank = hpc_alloc((size_t)n, sizeof *rank);
    rc = rank ? runners_init(rank, &w, fn, user) : HPC_E_NOMEM;
    if (rc < 0) goto out;
    run_all(rank, &w);
    rc = first_failure(rank, n);
out:
    for (int r = 0; rank && r < n; r++)
        if (rank[r].link) hpc_threads_close(&rank[r].link->base);
    hpc_free(rank);
    world_release(&w);
    return rc;
}

int hpc_threads_run(int n, int (*fn)(hpc_link *world, void *user), void *user)
{
    return hpc_threads_run_delayed(n, fn, user, NULL);
}
