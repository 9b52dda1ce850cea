/*
 * kernels.h: checks one kernel launch on every instruction set: equal bits with 1, 2 and 7
 * workers, and results near those that the test computed in double.
 */
#ifndef HPC_TESTS_DEVICE_KERNELS_H
#define HPC_TESTS_DEVICE_KERNELS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/launch.h"

enum { OUTPUTS_MOST = 4 };

typedef struct kernel_case {
    const char *what;
    hpc_test_select *select;
    void *args;       /* operands first, outputs before inputs */
    int outputs;      /* compared, and restored before each launch */
    double tolerance; /* relative to 1 + |wanted|, plus rounding for bf16 outputs */
    /* By output and element. HUGE_VAL: infinity; NAN: not compared. NULL: compare bits only. */
    const double *want[OUTPUTS_MOST];
} kernel_case;

/* Marks an element that must keep its initial NaN pattern. */
#define UNTOUCHED (-0x1.5p999)

static inline bool as_wanted(const kernel_case *c, const hpc_tensor *t, double got, double want)
{
    double most = c->tolerance * (1 + fabs(want));

    if (isnan(want)) return true;
    if (want == UNTOUCHED) return isnan(got) || (t->dtype == HPC_I32 && got == -1);
    if (t->dtype == HPC_BF16) most += fabs(want) * 0x1p-8;
    return got == want || fabs(got - want) <= most;
}

static inline void compare(const kernel_case *c, const char *isa, int output, const hpc_tensor *t)
{
    int64_t n = hpc_tensor_n(t);
    double *got = hpc_alloc((size_t)n + 1, sizeof *got);

    hpc_test_tensor_get(got, t);
    for (int64_t i = 0; i < n; i++) {
        if (as_wanted(c, t, got[i], c->want[output][i])) continue;
        print_error("%s on %s: element %lld of output %d is %.9g, wanted %.9g\n", c->what, isa,
                    (long long)i, output, got[i], c->want[output][i]);
        fail();
    }
    hpc_free(got);
}

/* Launches with `workers` on outputs restored to `before`; compares bits with `first`. */
static inline void launch_once(const kernel_case *c, const char *isa, int workers,
                               const hpc_tensor *before, const hpc_tensor *first)
{
    const hpc_tensor *out = c->args;

    for (int k = 0; k < c->outputs; k++)
        if (out[k].data) memcpy(out[k].data, before[k].data, hpc_tensor_bytes(out + k));
    int rc = hpc_test_launch(c->select, isa, workers, c->args);
    if (rc < 0) {
        print_error("%s on %s: %s\n", c->what, isa, hpc_error_get()->text);
        fail();
    }
    for (int k = 0; k < c->outputs; k++) {
        if (!out[k].data) continue;
        if (workers > 1)
            assert_memory_equal(out[k].data, first[k].data, hpc_tensor_bytes(out + k));
        else if (c->want[k])
            compare(c, isa, k, out + k);
    }
}

static inline void check(const kernel_case *c)
{
    static const int workers[] = {1, 2, 7};
    const hpc_tensor *out = c->args;
    hpc_tensor before[OUTPUTS_MOST], first[OUTPUTS_MOST];
    hpc_test_heap h = {0};

    for (int k = 0; k < c->outputs; k++) before[k] = hpc_test_twin(&h, out + k);
    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        for (int i = 0; i < 3; i++) {
            launch_once(c, *isa, workers[i], before, first);
            for (int k = 0; i == 0 && k < c->outputs; k++) first[k] = hpc_test_twin(&h, out + k);
        }
    }
    /* restore for the next case */
    for (int k = 0; k < c->outputs; k++)
        if (out[k].data) memcpy(out[k].data, before[k].data, hpc_tensor_bytes(out + k));
    hpc_test_heap_free(&h);
}

/* The name of a kernel that all sets of one vector width share. */
static inline const char *hpc_test_width(const char *isa)
{
    return strncmp(isa, "avx512", 6) == 0 || strcmp(isa, "amx") == 0 ? "avx512" : isa;
}

/* Asserts that selection or launch fails on every instruction set with this text; %s stands for the
 * set or for its vector width. */
static inline void check_fails(hpc_test_select *select, const void *args, int code,
                               const char *format)
{
    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        const char *gap = strstr(format, "%s");
        const char *names[] = {*isa, hpc_test_width(*isa)};
        char text[2][256];
        for (int k = 0; k < 2; k++)
            snprintf(text[k], sizeof text[k], "%.*s%s%s", (int)(gap ? gap - format : 255), format,
                     gap ? names[k] : "", gap ? gap + 2 : "");
        assert_int_equal(hpc_test_launch(select, *isa, 2, args), code);
        if (strcmp(hpc_error_get()->text, text[1]) != 0)
            assert_string_equal(hpc_error_get()->text, text[0]);
        hpc_error_clear();
    }
}

static inline hpc_tensor drawn(hpc_test_heap *h, hpc_dtype d, int rank, int64_t e0, int64_t e1,
                               int64_t e2, uint32_t seed, double scale)
{
    hpc_tensor t = hpc_test_tensor(h, d, rank, e0, e1, e2, 0);

    hpc_test_tensor_draw(&t, seed, scale);
    return t;
}

static inline hpc_tensor ints(hpc_test_heap *h, int rank, int64_t e0, int64_t e1, const int32_t *x)
{
    hpc_tensor t = hpc_test_tensor(h, HPC_I32, rank, e0, e1, 0, 0);

    memcpy(t.data, x, hpc_tensor_bytes(&t));
    return t;
}

static inline hpc_tensor scalar(hpc_test_heap *h, hpc_dtype d, double x)
{
    hpc_tensor t = hpc_test_tensor(h, d, 0, 0, 0, 0, 0);

    hpc_test_tensor_set(&t, &x);
    return t;
}

static inline hpc_tensor ragged(hpc_tensor t, int dim, const int32_t *count)
{
    t.ragged = (int8_t)dim;
    t.count = count;
    return t;
}

/* Is element i live, by definition? */
static inline bool live_at(const hpc_tensor *t, int64_t i)
{
    int64_t inner = 1;

    if (t->ragged < 0) return true;
    for (int d = t->ragged + 1; d < t->rank; d++) inner *= t->extent[d];
    int64_t at = i / inner;
    return at % t->extent[t->ragged] < t->count[at / t->extent[t->ragged]];
}

#endif
