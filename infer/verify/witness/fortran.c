/*
 * fortran.c: the procedures of witness.f90. The frame of a loop is found from here, because Fortran
 * cannot name it: its function is compiled with a frame pointer and is inlined nowhere.
 */
#include <stdio.h>

#include "infer/verify/witness/priv.h"

enum { RANKS = 15 };

typedef struct descriptor { /* of Fortran 2018, as far as compilers agree on it */
    const char *base;
    size_t element;
    int version;
    signed char rank;
    char other[3];
    struct {
        ptrdiff_t lower, extent, stride;
    } dim[];
} descriptor;

typedef struct shape {
    int rank;
    long long lower[RANKS];
    ptrdiff_t stride[RANKS]; /* in bytes, ascending */
} shape;
static shape shapes[NAMES_MOST]; /* by range of the loop that is watched */

#if defined(__x86_64__) || defined(__i386__)
#define FRAME() ((void *)((uintptr_t)__builtin_frame_address(1) + 2 * sizeof(void *)))
#else
/* The caller's variables are above its record of the frame: they end below the next record. */
#define FRAME() __builtin_frame_address(2)
#endif

void hpc_witness_enter_fortran(int loop);
void hpc_witness_leave_fortran(int loop);
void hpc_witness_object_fortran(int loop, int name, int kind, const descriptor *x,
                                const long long *lower);

/* True in the function that entered the loop, not in one that it calls. */
static bool is_watched(int loop)
{
    const watch *s = &hpc_witness_self;
    return s->frame && s->loop == loop && s->depth == 0;
}

void hpc_witness_enter_fortran(int loop)
{
    void *frame = FRAME();
    if (is_watched(loop)) hpc_witness_stop(&hpc_witness_self); /* a jump has left it */
    hpc_witness_enter(loop, frame);
}

void hpc_witness_leave_fortran(int loop)
{
    if (is_watched(loop)) hpc_witness_stop(&hpc_witness_self);
}

static void iteration(int loop, long long value)
{
    if (is_watched(loop)) hpc_witness_iteration(loop, (void *)hpc_witness_self.frame, value);
}

#define ITERATION(bytes, type)                                                                     \
    void hpc_witness_iteration_##bytes(int loop, type i);                                          \
    void hpc_witness_iteration_##bytes(int loop, type i)                                           \
    {                                                                                              \
        iteration(loop, i);                                                                        \
    }
ITERATION(1, int8_t)
ITERATION(2, int16_t)
ITERATION(4, int32_t)
ITERATION(8, int64_t)

/* The bytes of memory that an array spans, from *low; 0: its last extent is not known. */
static size_t span(const descriptor *x, uintptr_t *low)
{
    uintptr_t lo = (uintptr_t)x->base, hi = lo + x->element;
    for (int k = 0; k < x->rank; k++) {
        ptrdiff_t reach = (x->dim[k].extent - 1) * x->dim[k].stride;
        if (x->dim[k].extent < 0) return 0;
        if (reach < 0)
            lo -= (uintptr_t)-reach;
        else
            hi += (uintptr_t)reach;
    }
    *low = lo;
    return hi - lo;
}

static bool is_empty(const descriptor *x)
{
    for (int k = 0; k < x->rank; k++)
        if (x->dim[k].extent == 0) return true;
    return x->element == 0;
}

/* Keeps the shape of the range's array; its lower bounds are those of the program. */
static void keep_shape(range *r, shape *to, const descriptor *x, const long long *lower)
{
    to->rank = x->rank;
    for (int k = 0; k < x->rank; k++) {
        to->lower[k] = lower[k];
        to->stride[k] = x->dim[k].stride;
        if (to->stride[k] <= 0 || (k > 0 && to->stride[k] < to->stride[k - 1])) return;
    }
    r->shape = to;
}

void hpc_witness_object_fortran(int loop, int name, int kind, const descriptor *x,
                                const long long *lower)
{
    watch *s = &hpc_witness_self;
    uintptr_t low = 0;
    if (!is_watched(loop) || s->now || !x || !x->base || x->rank > RANKS || is_empty(x)) return;
    const size_t bytes = span(x, &low);
    const int before = s->ranges_n;
    if (bytes)
        hpc_witness_name(name, kind, (const void *)low, bytes, x->rank ? x->element : 0);
    else
        hpc_witness_name(name, HPC_WITNESS_BASE, x->base, 0, x->element);
    if (lower && x->rank > 0 && s->ranges_n > before)
        keep_shape(&s->range[before], &shapes[before], x, lower);
}

int hpc_witness_subscripts(char *out, size_t most, const range *r, uintptr_t at)
{
    const shape *p = r->shape;
    long long k[RANKS];
    uintptr_t rest = at - r->at;
    size_t n = 0;
    if (!p || at < r->at) return snprintf(out, most, "-");
    for (int d = p->rank - 1; d >= 0; d--) {
        k[d] = p->lower[d] + (long long)(rest / (size_t)p->stride[d]);
        rest %= (size_t)p->stride[d];
    }
    for (int d = 0; d < p->rank && n < most; d++)
        n += (size_t)snprintf(out + n, most - n, "%s%lld", d ? "," : "", k[d]);
    return (int)n;
}
