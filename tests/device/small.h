/*
 * small.h: tensors over arrays, and kernels run by several workers one after the other, for
 * kernels without a barrier.
 */
#ifndef HPC_TESTS_DEVICE_SMALL_H
#define HPC_TESTS_DEVICE_SMALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "runtime/device/priv.h"

static const hpc_tensor absent = {.rank = -1, .ragged = -1};

/* A tensor; extents end at the first 0; data is borrowed and may be const. */
static inline hpc_tensor over(hpc_dtype dtype, const void *data, int64_t e0, int64_t e1, int64_t e2,
                              int64_t e3)
{
    hpc_tensor t = {.extent = {e0, e1, e2, e3}, .ragged = -1, .dtype = (uint8_t)dtype};
    memcpy(&t.data, &data, sizeof data);
    while (t.rank < HPC_RANK_MAX && t.extent[t.rank] > 0) t.rank++;
    return t;
}

static inline hpc_tensor f64_of(const double *data, int64_t e0, int64_t e1, int64_t e2)
{
    return over(HPC_F64, data, e0, e1, e2, 0);
}

static inline hpc_tensor i32_of(const int32_t *data, int64_t e0, int64_t e1)
{
    return over(HPC_I32, data, e0, e1, 0, 0);
}

static inline hpc_tensor ragged(hpc_tensor t, int dim, const int32_t *count)
{
    t.ragged = (int8_t)dim;
    t.count = count;
    return t;
}

static inline hpc_tensor adding(hpc_tensor t)
{
    t.adds = true;
    return t;
}

/* Runs a plan as `workers` workers; returns the first error and leaves it recorded. */
static inline int run_plan(const hpc_plan *p, const void *args, int workers)
{
    int first = 0;
    hpc_barrier barrier;
    hpc_barrier_init(&barrier, 1);
    void *workspace = p->workspace > 0 ? hpc_alloc(p->workspace, 1) : NULL;
    void *own =
        p->cpu.worker_bytes > 0 ? hpc_alloc_aligned(p->cpu.worker_bytes, 1, HPC_ALIGN) : NULL;
    for (int w = 0; w < workers; w++) {
        hpc_launch l = {.worker = w,
                        .workers = workers,
                        .workspace = workspace,
                        .cpu.worker = own,
                        .barrier = &barrier};
        int rc = p->run(&l, args);
        if (rc < 0 && first == 0) first = rc;
    }
    hpc_free(workspace);
    hpc_free(own);
    return first;
}

/* Selects `op` of the reference for args and runs it with `workers`; sets rc. */
#define RUN_REF(rc, op, args, workers)                                                             \
    do {                                                                                           \
        hpc_plan plan_ = {0};                                                                      \
        rc = hpc_ref_kernels.op(&plan_, (workers), (args));                                        \
        if (rc == 0) rc = run_plan(&plan_, (args), (workers));                                     \
    } while (0)

/* Asserts success; three workers give uneven shares. */
#define REF(op, args)                                                                              \
    do {                                                                                           \
        int rc_;                                                                                   \
        RUN_REF(rc_, op, args, 3);                                                                 \
        assert_int_equal(rc_, 0);                                                                  \
    } while (0)

static inline void assert_error(int rc, int code, const char *text)
{
    assert_int_equal(rc, code);
    assert_string_equal(hpc_error_get()->text, text);
    hpc_error_clear();
}

static inline void assert_near(const double *got, const double *want, int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; i++) {
        if (fabs(got[i] - want[i]) <= tolerance * fmax(1, fabs(want[i]))) continue;
        fail_msg("element %lld is %.17g, not %.17g", (long long)i, got[i], want[i]);
    }
}

#endif
