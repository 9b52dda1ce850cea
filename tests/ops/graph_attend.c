/*
 * Tests of attention over edges, and of its gradients, on every backend compared with the
 * reference: vertices without edges and with more than a run or a block, several heads, widths that
 * are not whole vectors, scores of any size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "tests/support/graphs.h"
#include "tests/support/ops.h"

static const struct {
    int64_t vertices, sources, edges, spare;
} sizes[] = {{7, 5, 40, 3}, {500, 300, 3000, 7}};
static const struct {
    int64_t cols, heads;
} shapes[] = {{16, 4}, {128, 4}, {33, 3}, {10, 1}, {24, 24}};
static const hpc_dtype dtypes[] = {HPC_F32, HPC_BF16};
enum { SIZES = sizeof sizes / sizeof *sizes, SHAPES = sizeof shapes / sizeof *shapes };

static hpc_test_graph graph;

static hpc_value array(hpc_test_case *c, const int32_t *data, int64_t n)
{
    return hpc_test_indices(c, test_type(HPC_I32, n), data);
}

typedef struct operands {
    hpc_graph g;
    hpc_value x, target, source;
} operands;

/* Case k of all sizes, shapes and types. Scores have standard deviation `spread`. */
static operands begin(hpc_test_case *c, void **state, const char *name, int k, double spread)
{
    const int size = k % SIZES, shape = k / SIZES % SHAPES, d = k / SIZES / SHAPES;
    const int64_t heads = shapes[shape].heads;
    hpc_test_graph_make(&graph, sizes[size].vertices, sizes[size].sources, sizes[size].edges,
                        sizes[size].spare);
    hpc_test_case_begin(c, state, "%s, graph %d, shape %d, type %d", name, size, shape, d);
    hpc_graph g = {array(c, graph.start, graph.vertices + 1), array(c, graph.index, graph.edges),
                   array(c, graph.back_start, graph.sources + 1),
                   array(c, graph.back_index, graph.edges), HPC_NONE};
    c->terms = graph.edges / 2 + 1;
    return (operands){
        .g = g,
        .x = hpc_test_input(c, test_type(dtypes[d], graph.sources, shapes[shape].cols), 1),
        .target = hpc_test_input(c, test_type(dtypes[d], graph.vertices, heads), spread),
        .source = hpc_test_input(c, test_type(dtypes[!d], graph.sources, heads), spread)};
}
enum { CASES = 2 * SIZES * SHAPES };

static void averages_by_softmax_of_scores(void **state)
{
    static const double spread[] = {1, 20};
    for (int k = 0; k < CASES; k++) {
        hpc_test_case c;
        hpc_value lse;
        operands o = begin(&c, state, "attend", k, spread[k / SIZES % 2]);
        hpc_value y = hpc_graph_attend(c.p, &lse, o.x, o.target, o.source, &o.g, 0.2);
        c.exponent = 24 * spread[k / SIZES % 2];
        hpc_test_want(&c, lse, HPC_TEST_CURVED);
        hpc_test_want(&c, y, HPC_TEST_CURVED);
        hpc_test_case_check(&c);
    }
}

/* The lse comes from the op itself, so that weights are at most 1. */
static void gradients_of_targets(void **state)
{
    const hpc_graph_attend_attr at = {.slope = 0.2};
    for (int k = 0; k < CASES; k++) {
        hpc_test_case c;
        hpc_value lse;
        operands o = begin(&c, state, "attend, targets", k, 1);
        hpc_value y = hpc_graph_attend(c.p, &lse, o.x, o.target, o.source, &o.g, at.slope);
        hpc_value dy = hpc_test_input(&c, c.p->value[y].type, 1);
        hpc_value operand[] = {HPC_NEW,  HPC_NEW, dy,        o.x,      o.target,
                               o.source, lse,     o.g.start, o.g.index};
        hpc_emit(c.p, &hpc_op_graph_attend_target, operand, &at);
        c.exponent = 24;
        for (int r = 0; r < 2; r++) hpc_test_want(&c, operand[r], HPC_TEST_CHAINED);
        hpc_test_case_check(&c);
    }
}

static void gradients_of_sources(void **state)
{
    const hpc_graph_attend_attr at = {.slope = 0.2};
    for (int k = 0; k < CASES; k++) {
        hpc_test_case c;
        hpc_value lse;
        operands o = begin(&c, state, "attend, sources", k, 1);
        hpc_value y = hpc_graph_attend(c.p, &lse, o.x, o.target, o.source, &o.g, at.slope);
        hpc_value dy = hpc_test_input(&c, c.p->value[y].type, 1);
        hpc_value delta = hpc_test_input(&c, c.p->value[lse].type, 1);
        hpc_value operand[] = {HPC_NEW, HPC_NEW,        o.x,           dy, o.target, o.source, lse,
                               delta,   o.g.back_start, o.g.back_index};
        hpc_emit(c.p, &hpc_op_graph_attend_source, operand, &at);
        c.exponent = 24;
        for (int r = 0; r < 2; r++) hpc_test_want(&c, operand[r], HPC_TEST_CHAINED);
        hpc_test_case_check(&c);
    }
}

/* Edges of such scores alone give 0, and no NaN. */
static void scores_of_minus_infinity_have_no_weight(void **state)
{
    hpc_test_case c;
    operands o = begin(&c, state, "attend, infinite", 1, 1);
    hpc_test_given *source = hpc_test_given_of(&c, o.source);
    hpc_test_given *target = hpc_test_given_of(&c, o.target);
    for (int64_t k = 0; k < source->n; k++)
        if (k / 4 % 2) source->data[k] = -INFINITY;
    for (int64_t k = 0; k < target->n; k++)
        if (k / 4 % 3 == 0) target->data[k] = -INFINITY;
    c.exponent = 24;
    hpc_test_want(&c, hpc_graph_attend(c.p, NULL, o.x, o.target, o.source, &o.g, 0.2),
                  HPC_TEST_CURVED);
    hpc_test_case_check(&c);
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "graph_attend");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages_by_softmax_of_scores),
        cmocka_unit_test(gradients_of_targets),
        cmocka_unit_test(gradients_of_sources),
        cmocka_unit_test(scores_of_minus_infinity_have_no_weight),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/graph_attend", tests, open_bench, hpc_test_bench_close);
}
