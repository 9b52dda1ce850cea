/*
 * priv.h: shadow memory: the inlined fast path of an access.
 */
#ifndef HPC_WITNESS_PRIV_H
#define HPC_WITNESS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "infer/verify/witness/witness.h"

enum {
    ADDRESS_BITS = 47,
    CHUNK_BITS = 24, /* log2 of the bytes of memory that a chunk of shadow covers */
    CHUNK_CELLS = 1 << (CHUNK_BITS - 3),
    LOOPS_MOST = 4096,
    NAMES_MOST = 256,
    FINDINGS_MOST = 12,   /* of one loop */
    HITS_MOST = 1000000,  /* afterwards the loop is no longer watched */
    POOL_CELLS = 1 << 16, /* split cells are allocated in blocks of this size */
    FAR_MOST = 4096,
    BUCKETS = 128,   /* of equal numbers of iterations: the cost of a loop over its iterations */
    COST_THREADS = 8 /* the threads for which costs are divided */
};
#define SPLIT UINT32_MAX /* as `w`: r and rpc hold the address of the parts, wpc their number */

typedef struct cell {
    uint32_t w, wpc; /* the last iteration that wrote, and its code location */
    uint32_t r, rpc; /* the first iteration that read */
} cell;
typedef struct range {
    uintptr_t at, bytes, element;
    int name, kind;
    uint32_t last;             /* of PRIVATE and IGNORED: the last iteration that accessed it */
    bool written, shared;      /* shared: two iterations accessed it, one of them writing */
    const struct shape *shape; /* of an array of Fortran; NULL */
} range;
typedef struct finding {
    char kind;
    uint32_t pc, pc_before;
} finding;
typedef struct loop_record {
    long long entered, iterations, hits, refused; /* the last: entries during another's watch */
    /* Accesses, in iterations and at most in one; and the accesses of the busiest thread by
     * schedule, summed over entries. */
    long long cost, most, by_static, by_guided, by_dynamic;
    int findings_n;
    bool wanted, done, hidden;
    bool shared[NAMES_MOST]; /* by name: PRIVATE and IGNORED objects that iterations share */
    finding finding[FINDINGS_MOST];
} loop_record;

typedef struct costs { /* of the iterations of one entry, in accesses; zero between entries */
    long long bucket[BUCKETS];
    long long width, n, most; /* iterations of a bucket, in all, and the largest cost of one */
    unsigned long long begun; /* 1 + accesses before the current iteration; 0: none has begun */
} costs;

typedef struct watch { /* the loop that is watched */
    uint32_t now;      /* current iteration; 0: nothing is recorded */
    uint32_t base;     /* number of its first iteration */
    uintptr_t frame;
    uintptr_t apart_at, apart_bytes; /* range that contains all private ranges outside the stack */
    int loop, depth;                 /* depth: of calls below the loop's function */
    long long first, value;          /* of the loop's variable */
    int ranges_n, hit;
    costs costs;
    range range[NAMES_MOST];
} watch;

#define CALLER() ((uintptr_t)__builtin_return_address(0))
#define STACK()  ((uintptr_t)__builtin_frame_address(0))
#define ALWAYS   static inline __attribute__((always_inline))
#define HIDDEN   __attribute__((visibility("hidden")))

extern HIDDEN __thread watch hpc_witness_self;
extern HIDDEN __thread unsigned long long hpc_witness_accesses; /* of the thread so far */
extern HIDDEN cell **hpc_witness_chunks;                        /* by address >> CHUNK_BITS */

/* Records a conflict of two iterations. kind: f(low): reads what another wrote; a(nti): writes what
 * another read; o(utput): writes what another wrote. */
HIDDEN void hpc_witness_found(char kind, uintptr_t at, unsigned bytes, uint32_t before,
                              uint32_t place_before, uint32_t place);
HIDDEN uint32_t hpc_witness_far(uintptr_t pc);
/* An access of any width and alignment. */
HIDDEN void hpc_witness_touch(uintptr_t at, size_t bytes, bool write, uintptr_t pc);
/* The same for an access that is counted already. */
HIDDEN void hpc_witness_judge(uintptr_t at, size_t bytes, bool write, uintptr_t pc);
HIDDEN void hpc_witness_forget(uintptr_t at, size_t bytes);
HIDDEN void hpc_witness_stop(watch *s);

/* ---- cost.c ---- */
/* An iteration begins, and the one before it ends. */
HIDDEN void hpc_witness_cost_next(costs *c);
/* The entry ends: adds it to the loop's costs. */
HIDDEN void hpc_witness_cost_leave(loop_record *l, costs *c);

/* ---- fortran.c ---- */
/* The subscripts of an element, "3,-1"; "-": they are not known. As snprintf. */
HIDDEN int hpc_witness_subscripts(char *out, size_t most, const range *r, uintptr_t at);

/* Code locations in 31 bits: a distance if it is small, otherwise a number. */
ALWAYS uint32_t place_of(uintptr_t pc)
{
    uintptr_t d = pc - (uintptr_t)&hpc_witness_enter + 0x40000000U;
    return __builtin_expect(d < 0x80000000U, 1) ? (uint32_t)d : hpc_witness_far(pc);
}

ALWAYS cell *parts_of(const cell *c)
{
    return (cell *)(((uintptr_t)c->rpc << 32) | c->r);
}

ALWAYS void judge(cell *c, uintptr_t at, unsigned bytes, bool write, bool apart, uint32_t place)
{
    const watch *s = &hpc_witness_self;
    uint32_t now = s->now, base = s->base, w = c->w;
    bool other = w >= base && w != now;
    if (write) {
        if (!apart && __builtin_expect(other, 0))
            hpc_witness_found('o', at, bytes, w, c->wpc, place);
        else if (!apart && __builtin_expect(c->r >= base && c->r != now, 0))
            hpc_witness_found('a', at, bytes, c->r, c->rpc, place);
        c->w = now;
        c->wpc = place;
    } else {
        if (__builtin_expect(other, 0)) hpc_witness_found('f', at, bytes, w, c->wpc, place);
        if (c->r < base) {
            c->r = now;
            c->rpc = place;
        }
    }
}

/* The two common cases: 8 bytes of a whole cell, and 4 bytes of a cell that is split in two. */
ALWAYS void touch(uintptr_t at, unsigned bytes, bool write, uintptr_t pc, uintptr_t stack)
{
    const watch *s = &hpc_witness_self;
    hpc_witness_accesses++;
    if (!s->now) return;
    if ((at & (bytes - 1)) == 0 && at - stack >= s->frame - stack &&
        at - s->apart_at >= s->apart_bytes && !(at >> ADDRESS_BITS))
    {
        cell *chunk = hpc_witness_chunks[at >> CHUNK_BITS];
        if (__builtin_expect(chunk != NULL, 1)) {
            cell *c = chunk + ((at & ((1 << CHUNK_BITS) - 1)) >> 3);
            if (bytes == 8 && c->w != SPLIT) {
                judge(c, at, 8, write, false, place_of(pc));
                return;
            }
            if (bytes == 4 && c->w == SPLIT && c->wpc == 2) {
                judge(parts_of(c) + (at >> 2 & 1), at, 4, write, false, place_of(pc));
                return;
            }
        }
    }
    hpc_witness_judge(at, bytes, write, pc);
}

#endif
