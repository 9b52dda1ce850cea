/*
 * pool.c: a fixed set of workers that all run one function.
 *
 * A run synchronises twice: a ticket starts the workers, and a barrier ends the run.
 * Between runs the workers sleep. There is no task queue and no work stealing: the
 * worker's number alone determines its share.
 */
#include "runtime/base/priv.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

enum { MOST = 4096 }; /* far above any machine; more is a slip */

typedef struct member {
    hpc_pool *pool;
    int number;
    int cpu; /* that it is bound to */
    int rc;  /* of the last run */
    pthread_t thread;
    hpc_error error; /* of the last run, when rc < 0 */
} member;

struct hpc_pool {
    int n, started; /* threads to join are workers 1..started-1 */
    int spins;
    int home;     /* the caller's CPU; -1: no worker is bound */
    bool stop;    /* written before the start ticket moves, like fn and user */
    bool running; /* by atomic built-ins */
    int (*fn)(int worker, int workers, void *user);
    void *user;
    member *members;
    int start; /* a ticket */
    hpc_barrier finish;
};

/* Runs a thread's share; its record starts empty and is left empty. */
static void run_share(member *w)
{
    hpc_pool *p = w->pool;
    w->rc = p->fn(w->number, p->n, p->user);
    if (w->rc < 0) {
        hpc_fail(w->rc, "worker %d failed with code %d without a message", w->number, w->rc);
        w->error = *hpc_error_get();
    }
    hpc_error_clear();
}

static void *work(void *arg)
{
    member *w = arg;
    hpc_pool *p = w->pool;
    for (int seen = 0;; seen = (int)((unsigned)seen + 2)) {
        hpc_ticket_wait(&p->start, seen, p->spins);
        if (p->stop) return NULL;
        run_share(w);
        hpc_barrier_wait(&p->finish);
    }
}

/* Signals from outside belong to the caller's threads; faults of a thread stay its own. */
static void block_signals(sigset_t *before)
{
    sigset_t set;
    sigfillset(&set);
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_SETMASK, &set, before);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Left to themselves, threads that wait for each other all the time are put on one CPU as soon as
 * somebody else needs one, and then stay there. Where there is exactly one CPU for each, workers
 * are bound to those that the caller is not on, and one makes room when the caller moves. */

#if defined(__linux__)
static void bind(hpc_pool *p, int k, int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    p->members[k].cpu = cpu;
    pthread_setaffinity_np(p->members[k].thread, sizeof one, &one);
}

static void spread(hpc_pool *p)
{
    cpu_set_t all;
    int own = sched_getcpu(), k = 1;
    p->home = -1;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) != p->n) return;
    if (own < 0 || own >= CPU_SETSIZE || !CPU_ISSET(own, &all)) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && cpu != own) bind(p, k++, cpu);
    p->home = own;
}

static void follow(hpc_pool *p)
{
    int own = p->home < 0 ? -1 : sched_getcpu();
    if (own == p->home) return;
    for (int k = 1; k < p->n; k++)
        if (p->members[k].cpu == own) {
            bind(p, k, p->home);
            p->home = own;
            return;
        }
}
#else
static void spread(hpc_pool *p)
{
    p->home = -1;
}

static void follow(hpc_pool *p)
{
    (void)p;
}
#endif

static int start_threads(hpc_pool *p)
{
    sigset_t before;
    int os = 0;
    block_signals(&before);
    for (p->started = 1; p->started < p->n; p->started++) {
        member *w = &p->members[p->started];
        os = pthread_create(&w->thread, NULL, work, w);
        if (os != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (os == 0) return HPC_OK;
    return hpc_error_set(__FILE__, __LINE__, HPC_E_NOMEM, os,
                         "cannot start thread %d of %d; use fewer threads", p->started, p->n);
}

int hpc_pool_create(hpc_pool **out, int n)
{
    int rc = HPC_E_NOMEM;
    hpc_pool *p = NULL;
    *out = NULL;
    if (n < 1 || n > MOST)
        return hpc_fail(HPC_E_ARG, "%d threads requested; expected 1 to %d", n, MOST);
    p = hpc_alloc_aligned(1, sizeof *p, 64);
    if (!p) goto out;
    p->n = n;
    p->spins = hpc_ticket_spins(n);
    hpc_barrier_init(&p->finish, n);
    p->members = hpc_alloc((size_t)n, sizeof *p->members);
    if (!p->members) goto out;
    for (int i = 0; i < n; i++) {
        p->members[i].pool = p;
        p->members[i].number = i;
    }
    TRY(start_threads(p));
    spread(p);
    *out = p;
    p = NULL;
out:
    hpc_pool_free(p);
    return rc;
}

void hpc_pool_free(hpc_pool *p)
{
    if (!p) return;
    hpc_assert(!__atomic_load_n(&p->running, __ATOMIC_ACQUIRE));
    p->stop = true;
    hpc_ticket_advance(&p->start, hpc_ticket_read(&p->start));
    for (int i = 1; i < p->started; i++) pthread_join(p->members[i].thread, NULL);
    hpc_free(p->members);
    hpc_free(p);
}

int hpc_pool_n(const hpc_pool *p)
{
    return p->n;
}

int hpc_pool_run(hpc_pool *p, int (*fn)(int worker, int workers, void *user), void *user)
{
    bool running = __atomic_exchange_n(&p->running, true, __ATOMIC_ACQUIRE);
    hpc_assert(!running);
    p->fn = fn;
    p->user = user;
    follow(p);
    hpc_ticket_advance(&p->start, hpc_ticket_read(&p->start));
    int rc = fn(0, p->n, user);
    if (rc < 0) hpc_fail(rc, "worker 0 failed with code %d without a message", rc);
    hpc_barrier_wait(&p->finish);
    for (int i = 1; i < p->n && rc >= 0; i++)
        rc = p->members[i].rc < 0 ? hpc_error_adopt(&p->members[i].error) : 0;
    __atomic_store_n(&p->running, false, __ATOMIC_RELEASE);
    return rc < 0 ? rc : HPC_OK;
}

void hpc_share(int64_t *lo, int64_t *hi, int64_t n, int64_t grain, int worker, int workers)
{
    hpc_assert(n >= 0 && grain >= 1 && worker >= 0 && worker < workers);
    int64_t grains = n / grain + (n % grain != 0);
    /* The first `more` workers take one grain more than the others. */
    int64_t each = grains / workers, more = grains % workers;
    int64_t first = each * worker + (worker < more ? worker : more);
    int64_t last = first + each + (worker < more);
    *lo = first < grains ? first * grain : n;
    *hi = last < grains ? last * grain : n;
}
