/*
 * kernels_pick.c: the CPU kernels that pick elements by index and spread them among zeros,
 * compared with plain loops.
 */
#include "tests/device/kernels.h"

static int select_pick(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->pick(p, workers, args);
}

static int select_spread(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->spread(p, workers, args);
}

/* Lists the elements i of n with i * step % 5 < keep, followed by `none`. */
static hpc_tensor list(hpc_test_heap *h, int64_t n, int keep, int none)
{
    int32_t *index = hpc_test_heap_alloc(h, (size_t)(n + none + 1) * sizeof *index);
    int64_t kept = 0;
    for (int32_t i = 0; i < n; i++)
        if (i * 3 % 5 < keep) index[kept++] = i;
    for (int k = 0; k < none; k++) index[kept++] = -1 - k;
    return ints(h, 1, kept, 0, index);
}

static void pick_check(hpc_dtype to, hpc_dtype from, int64_t cols, int keep, bool adds)
{
    hpc_test_heap h = {0};
    hpc_pick_args a = {.index = list(&h, 7 * cols, keep, 2),
                       .x = drawn(&h, from, 2, 7, cols, 0, 1, 1)};
    const double *x = hpc_test_tensor_doubles(&h, &a.x);
    const int32_t *index = a.index.data;

    a.y = drawn(&h, to, 1, a.index.extent[0], 0, 0, 2, 1);
    a.y.adds = adds;
    double *y = hpc_test_tensor_doubles(&h, &a.y);
    for (int64_t i = 0; i < a.index.extent[0]; i++)
        y[i] = (adds ? y[i] : 0) + (index[i] < 0 ? 0 : x[index[i]]);
    check(&(kernel_case){"pick", select_pick, &a, 1, adds ? 3e-7 : 0, {y}});
    hpc_test_heap_free(&h);
}

static void spread_check(hpc_dtype to, hpc_dtype from, int64_t cols, int keep)
{
    hpc_test_heap h = {0};
    hpc_spread_args a = {.index = list(&h, 7 * cols, keep, 3)};
    const int32_t *index = a.index.data;

    a.x = drawn(&h, from, 1, a.index.extent[0], 0, 0, 1, 1);
    a.y = drawn(&h, to, 2, 7, cols, 0, 2, 1);
    const double *x = hpc_test_tensor_doubles(&h, &a.x);
    double *y = hpc_test_heap_doubles(&h, 7 * cols);
    for (int64_t i = 0; i < 7 * cols; i++) y[i] = 0;
    for (int64_t i = 0; i < a.index.extent[0]; i++)
        if (index[i] >= 0) y[index[i]] = x[i];
    check(&(kernel_case){"spread", select_spread, &a, 1, 0, {y}});
    hpc_test_heap_free(&h);
}

static void picks_and_spreads(void **state)
{
    static const int64_t cols[] = {1, 13, 50, 700};
    static const hpc_dtype real[] = {HPC_F32, HPC_BF16};

    (void)state;
    for (int c = 0; c < 4; c++)
        for (int keep = 0; keep <= 5; keep++)
            for (int k = 0; k < 4; k++) {
                pick_check(real[k & 1], real[k >> 1], cols[c], keep, false);
                pick_check(real[k & 1], real[k >> 1], cols[c], keep, true);
                spread_check(real[k & 1], real[k >> 1], cols[c], keep);
            }
}

static void failures(void **state)
{
    static const int32_t far[] = {0, 3, 12, -1};
    hpc_test_heap h = {0};
    hpc_tensor all = drawn(&h, HPC_F32, 2, 4, 3, 0, 1, 1),
               some = drawn(&h, HPC_F32, 1, 4, 0, 0, 1, 1);
    hpc_tensor index = ints(&h, 1, 4, 0, far);

    (void)state;
    check_fails(select_pick, &(hpc_pick_args){some, all, index, {{0}}}, HPC_E_ARG,
                "pick: index 12 at 2 is past the 12 elements");
    check_fails(select_spread, &(hpc_spread_args){all, some, index, {0, 0, {0}}}, HPC_E_ARG,
                "spread: index 12 at 2 is past the 12 elements");
    check_fails(select_pick, &(hpc_pick_args){some, all, some, {{0}}}, HPC_E_UNSUPPORTED,
                "pick_%s does not take f32[4] as its operand index");
    check_fails(select_spread, &(hpc_spread_args){all, index, index, {0, 0, {0}}},
                HPC_E_UNSUPPORTED, "spread_%s does not take i32[4] as its operand x");
    hpc_test_heap_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(picks_and_spreads),
                                       cmocka_unit_test(failures)};

    return cmocka_run_group_tests_name("kernels_pick", tests, NULL, NULL);
}
