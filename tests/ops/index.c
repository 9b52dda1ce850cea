/*
 * index.c: gather, scatter and route on every backend compared with the reference: negative and
 * repeated indices, tables of all formats, run-time extents.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/ops.h"

static const struct {
    hpc_dtype a, b;
} widths[] = {{HPC_F32, HPC_F32}, {HPC_BF16, HPC_BF16}, {HPC_F32, HPC_BF16}, {HPC_BF16, HPC_F32}};
enum { WIDTHS = sizeof widths / sizeof *widths };

enum { ROWS = 23, COLS = 301, N = 40 };

static void draw_indices(int32_t *index, int n, int rows)
{
    for (int i = 0; i < n; i++) index[i] = i % 6 == 4 ? -1 - i : (i * 37 + 5) % rows;
}

static hpc_value indices(hpc_test_case *c, bool ragged)
{
    static const int32_t count[] = {7, 0, 10, 1};
    int32_t index[N];
    hpc_type t = test_type(HPC_I32, 4, N / 4);
    draw_indices(index, N, ROWS);
    if (ragged) t = hpc_type_ragged(t, 1, hpc_test_indices(c, test_type(HPC_I32, 4), count));
    return hpc_test_indices(c, t, index);
}

static void gathers(void **state)
{
    static const struct {
        hpc_dtype d;
        int64_t cols;
    } table[] = {{HPC_F32, COLS}, {HPC_BF16, COLS}, {HPC_F16, COLS},   {HPC_F32, 1},
                 {HPC_Q8_0, 320}, {HPC_Q4_0, 320},  {HPC_Q4_K, 512},   {HPC_Q5_K, 512},
                 {HPC_Q6_K, 512}, {HPC_Q4_1, 320},  {HPC_Q5_0, 320},   {HPC_Q5_1, 320},
                 {HPC_Q2_K, 512}, {HPC_Q3_K, 512},  {HPC_IQ4_NL, 320}, {HPC_IQ4_XS, 512}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        for (int ragged = 0; ragged < 2; ragged++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "gather from type %d, ragged %d", table[k].d, ragged);
            hpc_value x = hpc_test_input(&c, test_type(table[k].d, ROWS, table[k].cols), 1);
            hpc_test_want(&c, hpc_gather(c.p, x, indices(&c, ragged)), HPC_TEST_EXACT);
            hpc_test_case_check(&c);
        }
}

/* Of panels: rows of whole panels and of the last one, to the same bits as of plain rows. */
static void gathers_from_panels(void **state)
{
    static const struct {
        hpc_dtype d;
        int64_t cols;
    } table[] = {{HPC_F32, COLS}, {HPC_BF16, COLS}, {HPC_F32, 1},      {HPC_F16, 300},
                 {HPC_Q8_0, 320}, {HPC_Q4_0, 320},  {HPC_Q4_K, 512},   {HPC_Q5_K, 512},
                 {HPC_Q6_K, 512}, {HPC_Q4_1, 320},  {HPC_Q5_0, 320},   {HPC_Q5_1, 320},
                 {HPC_Q2_K, 512}, {HPC_Q3_K, 512},  {HPC_IQ4_NL, 320}, {HPC_IQ4_XS, 512}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        for (int ragged = 0; ragged < 2; ragged++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "gather from panels of type %d, ragged %d", table[k].d,
                                ragged);
            hpc_value x = hpc_test_input(&c, test_type(table[k].d, ROWS, table[k].cols), 1);
            hpc_value index = indices(&c, ragged);
            hpc_test_want(&c, hpc_gather(c.p, hpc_pack(c.p, x), index), HPC_TEST_EXACT);
            hpc_test_want(&c, hpc_gather(c.p, x, index), HPC_TEST_EXACT);
            hpc_test_case_check(&c);
        }
}

/* A table of rank 3 is one of rows; a scalar index takes one of them. */
static void gathers_of_other_ranks(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "gather, other ranks");
    hpc_value x = hpc_test_input(&c, test_type(HPC_F32, 3, 5, 8), 1);
    hpc_value one = hpc_test_indices(&c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){13});
    hpc_value some = hpc_test_indices(&c, test_type(HPC_I32, 2, 3, 2), (int32_t[12]){14, 0, -1, 7});
    hpc_test_want(&c, hpc_gather(c.p, x, one), HPC_TEST_EXACT);
    hpc_test_want(&c, hpc_gather(c.p, x, some), HPC_TEST_EXACT);
    hpc_test_case_check(&c);
}

/* Rows of y that get nothing, one and several; added to zeros or to what is there. */
static void scatters_that_add(void **state)
{
    for (int adds = 0; adds < 2; adds++)
        for (int ragged = 0; ragged < 2; ragged++)
            for (int w = 0; w < WIDTHS; w++) {
                hpc_test_case c;
                hpc_test_case_begin(&c, state, "scatter adds %d ragged %d types %d", adds, ragged,
                                    w);
                hpc_value index = indices(&c, ragged), y = HPC_NEW;
                hpc_type t = test_type(widths[w].a, 4, N / 4, COLS), to = c.p->value[index].type;
                if (ragged) t = hpc_type_ragged(t, 1, to.count);
                hpc_value x = hpc_test_input(&c, t, 1);
                if (adds) y = hpc_test_state(&c, test_type(widths[w].b, ROWS, COLS), 1, false);
                y = hpc_scatter(c.p, y, x, index, (hpc_scatter_attr){.rows = ROWS});
                c.terms = N / ROWS + 1;
                hpc_test_want(&c, y, HPC_TEST_SUMMED);
                hpc_test_case_check(&c);
            }
}

/* The last of several wins; rows that nothing goes to stay. */
static void scatters_that_set(void **state)
{
    for (int ragged = 0; ragged < 2; ragged++)
        for (int w = 0; w < WIDTHS; w++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "scatter sets, ragged %d types %d", ragged, w);
            hpc_value index = indices(&c, ragged);
            hpc_type t = test_type(widths[w].a, 4, N / 4, COLS), to = c.p->value[index].type;
            if (ragged) t = hpc_type_ragged(t, 1, to.count);
            hpc_value x = hpc_test_input(&c, t, 1);
            hpc_value y = hpc_test_state(&c, test_type(widths[w].b, 30, COLS), 1, false);
            hpc_scatter(c.p, y, x, index, (hpc_scatter_attr){.mode = HPC_SCATTER_SET});
            hpc_test_want(&c, y, HPC_TEST_EXACT);
            hpc_test_case_check(&c);
        }
}

/* Of 90 rows 23 are here, from the 30th on. */
static void parts_of_tables(void **state)
{
    enum { ALL = 90, FIRST = 30 };
    for (int w = 0; w < WIDTHS; w++) {
        int32_t index[N];
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "parts, types %d", w);
        draw_indices(index, N, ALL);
        hpc_value at = hpc_test_indices(&c, test_type(HPC_I32, N), index);
        hpc_value table = hpc_test_input(&c, test_type(widths[w].a, ROWS, COLS), 1);
        hpc_value operand[] = {HPC_NEW, table, at};
        hpc_emit(c.p, &hpc_op_gather, operand, &(hpc_part_attr){.first = FIRST, .rows = ALL});
        hpc_test_want(&c, operand[0], HPC_TEST_EXACT);
        hpc_value x = hpc_test_input(&c, test_type(widths[w].b, N, COLS), 1);
        hpc_value y = hpc_test_state(&c, test_type(widths[w].a, ROWS, COLS), 1, false);
        hpc_value to[] = {y, x, at, HPC_NONE};
        hpc_emit(c.p, &hpc_op_scatter, to, &(hpc_scatter_attr){.first = FIRST});
        hpc_scatter_attr *attr = c.p->segment[0].insn[c.p->segment[0].insn_n - 1].attr;
        attr->rows = ALL; /* as sharding does */
        c.terms = 2;
        hpc_test_want(&c, y, HPC_TEST_SUMMED);
        hpc_test_case_check(&c);
    }
}

static void routes(void **state)
{
    enum { T = 50, GROUPS = 6, CAP = 20 };
    for (int ragged = 0; ragged < 2; ragged++) {
        int32_t group[T];
        hpc_test_case c;
        hpc_value count;
        for (int t = 0; t < T; t++) group[t] = t % 11 == 7 ? -1 : t * t % 5; /* none for 2, 3, 5 */
        hpc_test_case_begin(&c, state, "route, ragged %d", ragged);
        hpc_type t = test_type(HPC_I32, T);
        if (ragged) {
            hpc_type n = hpc_type_of(HPC_I32, 0, NULL);
            t = hpc_type_ragged(t, 0, hpc_test_indices(&c, n, (int32_t[]){T - 13}));
        }
        hpc_value index = hpc_route(c.p, hpc_test_indices(&c, t, group), GROUPS, CAP, &count);
        hpc_test_want(&c, index, HPC_TEST_EXACT);
        hpc_test_want(&c, count, HPC_TEST_EXACT);
        hpc_test_case_check(&c);
    }
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "index");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers),
        cmocka_unit_test(gathers_from_panels),
        cmocka_unit_test(gathers_of_other_ranks),
        cmocka_unit_test(scatters_that_add),
        cmocka_unit_test(scatters_that_set),
        cmocka_unit_test(parts_of_tables),
        cmocka_unit_test(routes),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/index", tests, open_bench, hpc_test_bench_close);
}
