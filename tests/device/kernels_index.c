/*
 * kernels_index.c: the CPU kernels that move rows by index: gather, scatter and route.
 */
#include "tests/device/kernels.h"

static int select_gather(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->gather(p, workers, args);
}

static int select_scatter(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->scatter(p, workers, args);
}

static int select_route(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->route(p, workers, args);
}

/* Repeats, gaps, and rows that go nowhere. */
static const int32_t indices[] = {3, 0, 3, -1, 7, 3, 0, 11, -5, 2, 7, 3};
enum { INDEX_N = sizeof indices / sizeof indices[0], ROWS = 12 };
static const int32_t some[] = {7};
static const int32_t each[] = {3, 0, 2};

/* Indices [12] or [3,4], all live or not. */
static hpc_tensor index_of(hpc_test_heap *h, int form)
{
    hpc_tensor t = form & 1 ? ints(h, 2, 3, 4, indices) : ints(h, 1, INDEX_N, 0, indices);

    return form & 2 ? ragged(t, form & 1 ? 1 : 0, form & 1 ? each : some) : t;
}

/* A tensor of a row for each index. */
static hpc_tensor along(hpc_test_heap *h, const hpc_tensor *index, hpc_dtype d, int64_t cols)
{
    hpc_tensor t = index->rank == 2 ? hpc_test_tensor(h, d, 3, 3, 4, cols, 0)
                                    : hpc_test_tensor(h, d, 2, INDEX_N, cols, 0, 0);

    return ragged(t, index->ragged, index->count);
}

/* ---- gather ------------------------------------------------------------------------------- */

static void gather_check(hpc_dtype to, hpc_dtype from, int64_t cols, int form)
{
    hpc_test_heap h = {0};
    hpc_gather_args a = {.index = index_of(&h, form), .x = drawn(&h, from, 2, ROWS, cols, 0, 1, 1)};
    const double *x = hpc_test_tensor_doubles(&h, &a.x);

    a.y = along(&h, &a.index, to, cols);
    double *y = hpc_test_heap_doubles(&h, INDEX_N * cols);
    for (int64_t i = 0; i < INDEX_N * cols; i++) {
        int32_t row = indices[i / cols];
        y[i] = row < 0 ? 0 : x[row * cols + i % cols];
        if (!live_at(&a.y, i)) y[i] = UNTOUCHED;
    }
    check(&(kernel_case){"gather", select_gather, &a, 1, 0, {y}});
    hpc_test_heap_free(&h);
}

static void gathers(void **state)
{
    static const hpc_dtype from[] = {HPC_F32,  HPC_BF16, HPC_F16,  HPC_Q8_0,   HPC_Q4_0,
                                     HPC_Q4_K, HPC_Q5_K, HPC_Q6_K, HPC_Q4_1,   HPC_Q5_0,
                                     HPC_Q5_1, HPC_Q2_K, HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS};

    (void)state;
    for (int form = 0; form < 4; form++) {
        for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
            gather_check(HPC_F32, from[i], 768, form);
            gather_check(HPC_BF16, from[i], 512, form);
        }
        gather_check(HPC_F32, HPC_F32, 1, form);
        gather_check(HPC_BF16, HPC_BF16, 1, form);
        gather_check(HPC_F32, HPC_BF16, 3, form);
        gather_check(HPC_F32, HPC_F32, 2, form);
    }
}

/* ---- scatter ------------------------------------------------------------------------------ */

typedef struct scatter_case {
    hpc_dtype y, x;
    int64_t cols;
    int form, mode;
    bool adds;
} scatter_case;

static void scatter_check(const scatter_case *c)
{
    hpc_test_heap h = {0};
    hpc_scatter_args a = {.index = index_of(&h, c->form), .attr = {.mode = c->mode, .rows = ROWS}};
    bool add = c->mode == HPC_SCATTER_ADD;

    a.x = along(&h, &a.index, c->x, c->cols);
    hpc_test_tensor_draw(&a.x, 1, 1);
    a.y = drawn(&h, c->y, 2, ROWS, c->cols, 0, 2, 1);
    a.y.adds = c->adds;
    const double *x = hpc_test_tensor_doubles(&h, &a.x);
    double *y = hpc_test_tensor_doubles(&h, &a.y);
    for (int64_t i = 0; i < ROWS * c->cols && add && !c->adds; i++) y[i] = 0;
    for (int64_t i = 0; i < INDEX_N * c->cols; i++) {
        int32_t row = indices[i / c->cols];
        double *to = y + row * c->cols + i % c->cols;
        if (row >= 0 && live_at(&a.x, i)) *to = add ? *to + x[i] : x[i];
    }
    check(&(kernel_case){"scatter", select_scatter, &a, 1, 3e-7, {y}});
    hpc_test_heap_free(&h);
}

static void scatters(void **state)
{
    static const int64_t cols[] = {1, 3, 16, 50, 300};

    (void)state;
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 16; k++) {
            scatter_case c = {.y = k & 1 ? HPC_BF16 : HPC_F32,
                              .x = k & 2 ? HPC_BF16 : HPC_F32,
                              .cols = cols[i],
                              .form = k >> 2};
            scatter_check(&c);
            c.adds = true;
            scatter_check(&c);
            c.adds = false, c.mode = HPC_SCATTER_SET;
            scatter_check(&c);
        }
    }
}

/* Sums into bf16 are rounded once: a thousand times 1/256 on top of 1 would stay 1 otherwise. */
static void scatter_rounds_once(void **state)
{
    hpc_test_heap h = {0};
    int32_t *to = hpc_test_heap_alloc(&h, 1000 * sizeof *to);
    double one[1000], want[3] = {0, 1 + 1000.0 / 256, 0};

    (void)state;
    for (int i = 0; i < 1000; i++) to[i] = 1, one[i] = 1.0 / 256;
    hpc_scatter_args a = {.y = hpc_test_tensor(&h, HPC_BF16, 2, 3, 1, 0, 0),
                          .x = hpc_test_tensor(&h, HPC_F32, 2, 1000, 1, 0, 0),
                          .index = ints(&h, 1, 1000, 0, to),
                          .attr = {.mode = HPC_SCATTER_ADD, .rows = 3}};
    hpc_test_tensor_set(&a.x, one);
    hpc_test_tensor_set(&a.y, (const double[]){0, 1, 0});
    a.y.adds = true;
    check(&(kernel_case){"scatter", select_scatter, &a, 1, 0, {want}});
    hpc_test_heap_free(&h);
}

/* ---- route --------------------------------------------------------------------------------- */

static void route_check(int64_t groups, int64_t cap, const int32_t *live)
{
    static const int32_t group[] = {1, 0, 4, -1, 1, 1, 4, 0, -1, 4, 4, 1};
    hpc_test_heap h = {0};
    hpc_route_args a = {.index = hpc_test_tensor(&h, HPC_I32, 2, groups, cap, 0, 0),
                        .count = hpc_test_tensor(&h, HPC_I32, 1, groups, 0, 0, 0),
                        .group = ints(&h, 1, 12, 0, group),
                        .attr = {groups, cap}};
    double *index = hpc_test_heap_doubles(&h, groups * cap);
    double *count = hpc_test_heap_doubles(&h, groups);

    if (live) a.group = ragged(a.group, 0, live);
    for (int64_t e = 0; e < groups; e++) {
        count[e] = 0;
        for (int64_t i = 0; i < cap; i++) index[e * cap + i] = UNTOUCHED;
        for (int t = 0; t < (live ? live[0] : 12); t++)
            if (group[t] == e) index[e * cap + (int64_t)count[e]++] = t;
    }
    check(&(kernel_case){"route", select_route, &a, 2, 0, {index, count}});
    hpc_test_heap_free(&h);
}

static void routes(void **state)
{
    (void)state;
    route_check(5, 4, NULL);
    route_check(9, 12, NULL);
    route_check(5, 4, some);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void failures(void **state)
{
    static const int32_t far[] = {0, -1, 4, 9};
    static const int32_t two[] = {2};
    hpc_test_heap h = {0};
    hpc_tensor table = drawn(&h, HPC_F32, 2, 4, 3, 0, 1, 1);
    hpc_tensor rows = drawn(&h, HPC_F32, 2, 4, 3, 0, 2, 1), index = ints(&h, 1, 4, 0, far);
    hpc_scatter_args s = {.y = rows,
                          .x = table,
                          .index = index,
                          .rows = {.rank = -1},
                          .attr = {.mode = HPC_SCATTER_ADD, .rows = 4}};
    hpc_route_args r = {hpc_test_tensor(&h, HPC_I32, 2, 5, 2, 0, 0),
                        hpc_test_tensor(&h, HPC_I32, 1, 5, 0, 0, 0),
                        index,
                        {5, 2}};
    const hpc_tensor before = hpc_test_twin(&h, &rows);

    (void)state;
    check_fails(select_gather, &(hpc_gather_args){rows, table, index, {0}}, HPC_E_ARG,
                "gather: index 4 at 2 is past the 4 rows");
    memcpy(rows.data, before.data, hpc_tensor_bytes(&rows));
    for (int mode = 0; mode < 2; mode++) {
        s.attr.mode = mode ? HPC_SCATTER_SET : HPC_SCATTER_ADD;
        check_fails(select_scatter, &s, HPC_E_ARG, "scatter: index 4 at 2 is past the 4 rows");
        assert_memory_equal(rows.data, before.data, hpc_tensor_bytes(&rows));
    }
    s.index = ragged(index, 0, two); /* dead indices are not read */
    assert_int_equal(hpc_test_launch(select_scatter, NULL, 2, &s), 0);
    check_fails(select_route, &r, HPC_E_ARG, "route: token 3 goes to group 9 of 5");
    ((int32_t *)index.data)[3] = ((int32_t *)index.data)[0] = 4;
    check_fails(select_route, &r, HPC_E_ARG, "route: group 4 has more than 2 tokens");

    check_fails(select_gather, &(hpc_gather_args){rows, table, table, {0}}, HPC_E_UNSUPPORTED,
                "gather_%s does not take f32[4,3] as its operand index");
    s.x = index;
    check_fails(select_scatter, &s, HPC_E_UNSUPPORTED,
                "scatter_%s does not take i32[4] as its operand x");
    r.group = table;
    check_fails(select_route, &r, HPC_E_UNSUPPORTED,
                "route_%s does not take f32[4,3] as its operand group");
    hpc_test_heap_free(&h);
}

/* Rows that are put are written and no others looked at, however many y has. */
static void puts_cost_what_they_write(void **state)
{
    static const int32_t one[] = {1};
    hpc_test_heap h = {0};
    hpc_device *d = NULL;

    (void)state;
    assert_int_equal(hpc_device_open(&d, &(hpc_device_options){.backend = "cpu"}), 0);
    for (int64_t rows = 4; rows <= 4096; rows *= 32) {
        hpc_scatter_args a = {.y = drawn(&h, HPC_F32, 2, rows, 3, 0, 1, 1),
                              .x = drawn(&h, HPC_F32, 2, 1, 3, 0, 1, 1),
                              .index = ints(&h, 1, 1, 0, one)};
        hpc_plan put = {0}, add = {0};
        a.attr = (hpc_scatter_attr){.mode = HPC_SCATTER_SET, .rows = rows};
        assert_int_equal(select_scatter(&put, hpc_device_kernels(d, false), 2, &a), 0);
        a.attr.mode = HPC_SCATTER_ADD;
        assert_int_equal(select_scatter(&add, hpc_device_kernels(d, false), 2, &a), 0);
        assert_int_equal(put.workspace, 0);
        assert_true(add.workspace > (size_t)rows * sizeof(int32_t));
    }
    hpc_device_close(d);
    hpc_test_heap_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gathers),
                                       cmocka_unit_test(scatters),
                                       cmocka_unit_test(scatter_rounds_once),
                                       cmocka_unit_test(puts_cost_what_they_write),
                                       cmocka_unit_test(routes),
                                       cmocka_unit_test(failures)};

    return cmocka_run_group_tests_name("kernels_index", tests, NULL, NULL);
}
