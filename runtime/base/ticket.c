/*
 * ticket.c: waiting for another thread in three phases: spin for short waits, yield
 * because the other thread may need this CPU, then sleep on a futex.
 *
 * Systems without futexes keep yielding.
 */
#include "runtime/base/priv.h"

#include <limits.h>
#include <sched.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { SPINS = 4000, YIELDS = 64 };

int hpc_ticket_spins(int n)
{
#if defined(__linux__)
    cpu_set_t set;
    /* With more CPUs than the set has room for the call fails, and there are enough. */
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < n) return 0;
#endif
    return n > 1 ? SPINS : 0;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

static bool same(int *ticket, int seen)
{
    return (__atomic_load_n(ticket, __ATOMIC_ACQUIRE) & ~1) == seen;
}

int hpc_ticket_read(int *ticket)
{
    return __atomic_load_n(ticket, __ATOMIC_ACQUIRE) & ~1;
}

/* Returns on a wake, on a signal, or at once when the ticket has moved: the caller looks. */
static void nap(int *ticket, int seen)
{
#if defined(__linux__)
    int awake = seen;
    bool marked = __atomic_compare_exchange_n(ticket, &awake, seen | 1, false, __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED);
    if (marked || awake == (seen | 1))
        syscall(SYS_futex, ticket, FUTEX_WAIT_PRIVATE, seen | 1, NULL, NULL, 0);
#else
    (void)seen;
    (void)ticket;
    sched_yield();
#endif
}

void hpc_ticket_wait(int *ticket, int seen, int spins)
{
    for (int i = 0; i < spins; i++) {
        if (!same(ticket, seen)) return;
        relax();
    }
    for (int i = 0; i < YIELDS; i++) {
        if (!same(ticket, seen)) return;
        sched_yield();
    }
    while (same(ticket, seen)) nap(ticket, seen);
}

void hpc_ticket_advance(int *ticket, int seen)
{
    int next = (int)((unsigned)seen + 2);
    int before = __atomic_exchange_n(ticket, next, __ATOMIC_ACQ_REL);
    hpc_assert((before & ~1) == seen);
#if defined(__linux__)
    if (before & 1) syscall(SYS_futex, ticket, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
#endif
}
