/*
 * barrier.c: a barrier for threads that synchronise many times per millisecond.
 *
 * The last thread to arrive resets the count and then advances the generation, so the
 * barrier can be reused at once. It has no errors and no time limit: a thread that
 * fails must still arrive at every barrier.
 */
#include "runtime/base/priv.h"

#include <stddef.h>

_Static_assert(offsetof(hpc_barrier, generation) - offsetof(hpc_barrier, arrived) >= 64,
               "the two counters must never share a cache line");

void hpc_barrier_init(hpc_barrier *b, int n)
{
    hpc_assert(n >= 1);
    *b = (hpc_barrier){.n = n, .spins = hpc_ticket_spins(n)};
}

void hpc_barrier_wait(hpc_barrier *b)
{
    if (b->n == 1) return;
    /* Read before arriving: after it the others may already be in the next round. */
    int seen = hpc_ticket_read(&b->generation);
    if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) < b->n) {
        hpc_ticket_wait(&b->generation, seen, b->spins);
        return;
    }
    __atomic_store_n(&b->arrived, 0, __ATOMIC_RELAXED);
    hpc_ticket_advance(&b->generation, seen);
}
