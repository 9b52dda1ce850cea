/*
 * ranks.h: for tests of links: runs ranks, checks inside ranks, and values that every dtype holds
 * exactly.
 *
 * cmocka's assertions jump, so they must not be used in the ranks' threads. There a failed check
 * is an ordinary error that fails the run.
 */
#ifndef HPC_TESTS_SUPPORT_RANKS_H
#define HPC_TESTS_SUPPORT_RANKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/link/link.h"
#include "tests/support/fault.h"

#define EXPECT(cond)                                                                               \
    do {                                                                                           \
        if (!(cond))                                                                               \
            return hpc_fail(HPC_E_FAULT, "%s:%d: %s [%s]", __FILE__, __LINE__, #cond,              \
                            hpc_error_get()->text);                                                \
    } while (0)

/* Checks that an operation failed with `code` and a text that contains all parts (up to NULL). */
static inline int expect_failure(int rc, int code, const char *const *part)
{
    hpc_error e = *hpc_error_get();
    hpc_error_clear();
    if (rc != code || e.code != code)
        return hpc_fail(HPC_E_FAULT, "code %d, record %d, expected %d: %s", rc, e.code, code,
                        e.text);
    for (; *part; part++)
        if (!strstr(e.text, *part)) return hpc_fail(HPC_E_FAULT, "no '%s' in: %s", *part, e.text);
    return 0;
}
#define EXPECT_FAILURE(rc, code, ...)                                                              \
    do {                                                                                           \
        const char *const part[] = {__VA_ARGS__, NULL};                                            \
        if (expect_failure((rc), (code), part) < 0)                                                \
            return hpc_error_where("%s:%d", __FILE__, __LINE__);                                   \
    } while (0)

/* A test for every kind of link: runs on each number of ranks, `times` times. */
typedef struct hpc_test_link_case {
    const char *name;
    int (*fn)(hpc_link *l, void *user);
    int sizes[6];
    int times;
} hpc_test_link_case;
extern const hpc_test_link_case hpc_test_link_collectives[], hpc_test_link_messages[],
    hpc_test_link_groups[], hpc_test_link_agreement[];

/* For cmocka's own thread. */
static inline void assert_no_failure(int rc)
{
    if (rc < 0) print_error("%s\n", hpc_error_get()->text);
    assert_int_equal(rc, 0);
}

static inline void run_ranks(int n, int (*fn)(hpc_link *world, void *user), void *user)
{
    hpc_error_clear();
    assert_no_failure(hpc_threads_run(n, fn, user));
}

static inline int start_over(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

/* Runs a case with threads as ranks. */
static inline void run_link_case(void **state)
{
    const hpc_test_link_case *c = *state;
    for (int i = 0; i < 6 && c->sizes[i]; i++)
        for (int k = 0; k < c->times; k++) run_ranks(c->sizes[i], c->fn, NULL);
}

static inline int run_link_cases(const char *group, const hpc_test_link_case *list)
{
    struct CMUnitTest tests[32];
    size_t n = 0;
    for (; list[n].name; n++)
        tests[n] = (struct CMUnitTest){.name = list[n].name,
                                       .test_func = run_link_case,
                                       .setup_func = start_over,
                                       .initial_state = (void *)(uintptr_t)&list[n]};
    return _cmocka_run_group_tests(group, tests, n, NULL, NULL);
}

/* Elements as doubles, for dtypes that can be reduced. */
static inline void put(void *buf, hpc_dtype dtype, int64_t i, double x)
{
    float f = (float)x;
    switch (dtype) {
    case HPC_F32: ((float *)buf)[i] = f; break;
    case HPC_F64: ((double *)buf)[i] = x; break;
    case HPC_I32: ((int32_t *)buf)[i] = (int32_t)x; break;
    case HPC_I64: ((int64_t *)buf)[i] = (int64_t)x; break;
    default: hpc_from_f32((uint16_t *)buf + i, dtype, &f, 1); break;
    }
}

static inline double get(const void *buf, hpc_dtype dtype, int64_t i)
{
    float f;
    switch (dtype) {
    case HPC_F32: return ((const float *)buf)[i];
    case HPC_F64: return ((const double *)buf)[i];
    case HPC_I32: return ((const int32_t *)buf)[i];
    case HPC_I64: return (double)((const int64_t *)buf)[i];
    default: hpc_to_f32(&f, (const uint16_t *)buf + i, dtype, 1); return f;
    }
}

/* Small enough that sums over seven ranks stay exact in bf16. */
static inline double sample(int rank, int64_t i)
{
    return (double)((rank * 3 + i * 5) % 7 - 2);
}

/* ---- operations that several cases start ---- */
static inline hpc_comm send_i32(int peer, int tag, const int32_t *x, int64_t n)
{
    return (hpc_comm){
        .kind = HPC_SEND, .dtype = HPC_I32, .peer = peer, .tag = tag, .n = n, .send = x};
}

static inline hpc_comm recv_i32(int peer, int tag, int32_t *x, int64_t n)
{
    return (hpc_comm){
        .kind = HPC_RECV, .dtype = HPC_I32, .peer = peer, .tag = tag, .n = n, .recv = x};
}

static inline int meet(hpc_link *l)
{
    int32_t one = 1, all = 0;
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I32, .n = 1, .send = &one, .recv = &all};
    return hpc_link_run(l, &c);
}

#endif
