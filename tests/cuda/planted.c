/*
 * planted.c: the shim runs right kernels in every schedule, and finds planted bugs: a missing
 * barrier of a block or a warp, a missing wait for a copy, an overrun of shared memory, a lane that
 * skips a barrier or a collective, a wrong swizzle and a transfer without order.
 */
/* tsan: left out, it knows nothing of the shim's stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "runtime/device/cuda/cuda.h"
#include "tests/cuda/planted.h"
#include "tests/support/command.h"
#include "tests/support/expect.h"

enum { SCHEDULES = 3, ALL = PLANTED_TILE * PLANTED_TILE };
static const char *const schedules[SCHEDULES] = {"ascending", "descending", "permuted"};

typedef struct bench {
    hpc_device *d;

    float x[PLANTED_N], y[ALL];
    uint16_t tile[ALL];
} bench;

typedef struct launching {
    planted_args args;
    hpc_cuda_launcher *launcher;
} launching;

static int run_planted(const hpc_launch *l, const void *args)
{
    const launching *g = args;
    return hpc_cuda_run(l, g->launcher, &g->args);
}

static hpc_cuda_launcher *find_launcher(const char *library)
{
    hpc_cuda_launcher *launcher;
    void *object = dlopen(library, RTLD_NOW), *symbol;
    assert_non_null(object);
    symbol = dlsym(object, "hpc_cuda_planted");
    assert_non_null(symbol);
    memcpy(&launcher, &symbol, sizeof launcher);
    return launcher;
}

/* Element k of the tile: 0, 1, 2 or 3, exact in bf16. */
static float tile_of(int k)
{
    return (float)(k * 7 % 11 % 4);
}

static float wanted(planted_kind kind, int k)
{
    float sum = 0;
    switch (kind) {
    case PLANTED_BARRIER: return (float)(PLANTED_N - 1 - k);
    case PLANTED_WARP: return (float)(k ^ 31);
    case PLANTED_COLLECT: return (float)(k / 32 * 32 + (k + 1) % 32);
    case PLANTED_SWIZZLE:
        for (int e = 0; e < PLANTED_TILE; e++)
            sum += tile_of(k / PLANTED_TILE * PLANTED_TILE + e) *
                   tile_of(k % PLANTED_TILE * PLANTED_TILE + e);
        return sum;
    default: return (float)k;
    }
}

static bool is_right(const bench *t, planted_kind kind)
{
    for (int k = 0; k < (kind == PLANTED_SWIZZLE ? ALL : PLANTED_N); k++)
        if (t->y[k] != wanted(kind, k)) return false;
    return true;
}

/* Feeds x, runs the kernel and fetches y; the bug of PLANTED_TRANSFER is a missing join. */
static int run(bench *t, planted_kind kind, bool bug, const char *schedule)
{
    char library[PATH_MAX];
    void *x, *y;
    int event;
    hpc_test_built(library, "tests/cuda/planted.so");
    launching g = {.args = {.kind = kind, .bug = bug}, .launcher = find_launcher(library)};
    test_ok(hpc_device_open(
        &t->d, &(hpc_device_options){.backend = "cuda-shim", .isa = schedule, .library = library}));
    test_ok(hpc_device_alloc(&x, t->d, sizeof t->tile));
    test_ok(hpc_device_alloc(&y, t->d, sizeof t->y));
    const hpc_backend *b = hpc_device_backend(t->d);
    const bool tile = kind == PLANTED_SWIZZLE;
    test_ok(hpc_device_copy(t->d, HPC_COPY, x, tile ? (void *)t->tile : (void *)t->x,
                            tile ? sizeof t->tile : sizeof t->x, HPC_TO_DEVICE));
    if (!(bug && kind == PLANTED_TRANSFER)) {
        test_ok(b->record(t->d, HPC_COPY, &event));
        test_ok(b->wait(t->d, HPC_COMPUTE, event));
    }
    g.args.x = x;
    g.args.y = y;
    test_ok(b->launch(t->d, HPC_COMPUTE, &(hpc_plan){.run = run_planted},
                      &(hpc_signature){.name = "planted"}, &g, NULL, NULL,
                      (hpc_origin){"test", 0, "planted"}));
    test_ok(
        hpc_device_copy(t->d, HPC_COMPUTE, t->y, y, tile ? sizeof t->y : sizeof t->x, HPC_TO_HOST));
    int rc = hpc_device_fence(t->d);
    hpc_device_free(t->d, x);
    hpc_device_free(t->d, y);
    hpc_device_close(t->d);
    return rc;
}

static bench inputs(void)
{
    bench t = {0};
    for (int k = 0; k < PLANTED_N; k++) t.x[k] = (float)k;
    for (int k = 0; k < ALL; k++) {
        float v = tile_of(k);
        hpc_from_f32(&t.tile[k], HPC_BF16, &v, 1);
    }
    return t;
}

static void right_kernels_pass(void **state)
{
    (void)state;
    for (int kind = 0; kind < PLANTED_KINDS; kind++)
        for (int s = 0; s < SCHEDULES; s++) {
            bench t = inputs();
            test_ok(run(&t, (planted_kind)kind, false, schedules[s]));
            if (!is_right(&t, (planted_kind)kind)) fail_msg("kind %d, %s", kind, schedules[s]);
        }
}

/* In every schedule, with this message. */
static void is_reported(planted_kind kind, const char *part)
{
    for (int s = 0; s < SCHEDULES; s++) {
        bench t = inputs();
        test_fails(run(&t, kind, true, schedules[s]), HPC_E_FAULT, part);
    }
}

static void finds_missing_barrier(void **state)
{
    (void)state, is_reported(PLANTED_BARRIER, "reads shared byte");
}

static void finds_missing_barrier_of_a_warp(void **state)
{
    (void)state, is_reported(PLANTED_WARP, "reads shared byte");
}

static void finds_missing_wait_for_a_copy(void **state)
{
    (void)state, is_reported(PLANTED_ASYNC, "before the copy by thread");
}

static void finds_overrun_of_shared_memory(void **state)
{
    (void)state, is_reported(PLANTED_OVERRUN, "element 64 of a shared array of 64");
}

static void finds_lane_that_skips_a_barrier(void **state)
{
    (void)state, is_reported(PLANTED_LANE, "thread 37: has ended and never comes to the sync");
}

static void finds_lane_that_skips_a_collective(void **state)
{
    (void)state,
        is_reported(PLANTED_COLLECT, "thread 37: waits elsewhere and never comes to the shuffle");
}

static void wrong_swizzle_gives_wrong_values(void **state)
{
    (void)state;
    for (int s = 0; s < SCHEDULES; s++) {
        bench t = inputs();
        test_ok(run(&t, PLANTED_SWIZZLE, true, schedules[s]));
        assert_false(is_right(&t, PLANTED_SWIZZLE));
    }
}

/* Queues run in the order of the schedule where no event orders them. */
static void unordered_transfer_gives_wrong_values(void **state)
{
    int wrong = 0;
    (void)state;
    for (int s = 0; s < SCHEDULES; s++) {
        bench t = inputs();
        test_ok(run(&t, PLANTED_TRANSFER, true, schedules[s]));
        wrong += !is_right(&t, PLANTED_TRANSFER);
    }
    assert_true(wrong > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_pass),
        cmocka_unit_test(finds_missing_barrier),
        cmocka_unit_test(finds_missing_barrier_of_a_warp),
        cmocka_unit_test(finds_missing_wait_for_a_copy),
        cmocka_unit_test(finds_overrun_of_shared_memory),
        cmocka_unit_test(finds_lane_that_skips_a_barrier),
        cmocka_unit_test(finds_lane_that_skips_a_collective),
        cmocka_unit_test(wrong_swizzle_gives_wrong_values),
        cmocka_unit_test(unordered_transfer_gives_wrong_values),
    };
    return cmocka_run_group_tests_name("cuda/planted", tests, NULL, NULL);
}
