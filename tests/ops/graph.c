/*
 * graph.c: ops on graphs on every backend compared with the reference: vertices without edges and
 * with many, repeated edges, edges of no vertex, weights by head, maxima, softmax over edges.
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
enum { SIZES = sizeof sizes / sizeof *sizes };

static const hpc_dtype dtypes[] = {HPC_F32, HPC_BF16};

static hpc_test_graph graph;

static hpc_value array(hpc_test_case *c, const int32_t *data, int64_t n)
{
    return hpc_test_indices(c, test_type(HPC_I32, n), data);
}

/* The graph of a size, with its transpose. */
static hpc_graph begin(hpc_test_case *c, void **state, int size, const char *name, int a, int b)
{
    hpc_test_graph_make(&graph, sizes[size].vertices, sizes[size].sources, sizes[size].edges,
                        sizes[size].spare);
    hpc_test_case_begin(c, state, "%s %d %d, graph %d", name, a, b, size);
    return (hpc_graph){
        array(c, graph.start, graph.vertices + 1), array(c, graph.index, graph.edges),
        array(c, graph.back_start, graph.sources + 1), array(c, graph.back_index, graph.edges),
        array(c, graph.back_edge, graph.edges)};
}

static void finish(hpc_test_case *c, hpc_value y, hpc_test_bound bound)
{
    c->terms = graph.edges / 2 + 1;
    hpc_test_want(c, y, bound);
    hpc_test_case_check(c);
}

/* Widths of whole vectors, of their parts, and of more than one chunk. */
static void sums_of_gathered_rows(void **state)
{
    static const int64_t cols[] = {1, 16, 37, 128, 300};
    for (int size = 0; size < SIZES; size++)
        for (int d = 0; d < 2; d++)
            for (int w = 0; w < 5; w++) {
                hpc_test_case c;
                hpc_graph g = begin(&c, state, size, "sum", d, (int)cols[w]);
                hpc_value x = hpc_test_input(&c, test_type(dtypes[d], graph.sources, cols[w]), 1);
                finish(&c, hpc_graph_reduce(c.p, HPC_NEW, x, HPC_NONE, &g, HPC_GRAPH_SUM),
                       HPC_TEST_SUMMED);
            }
}

static void sums_added_to_state(void **state)
{
    for (int size = 0; size < SIZES; size++)
        for (int d = 0; d < 2; d++) {
            hpc_test_case c;
            hpc_graph g = begin(&c, state, size, "adds", d, 0);
            hpc_value x = hpc_test_input(&c, test_type(dtypes[d], graph.sources, 33), 1);
            hpc_value y = hpc_test_state(&c, test_type(HPC_F32, graph.vertices, 33), 1, false);
            finish(&c, hpc_graph_reduce(c.p, y, x, HPC_NONE, &g, HPC_GRAPH_SUM), HPC_TEST_SUMMED);
        }
}

static void weighted_sums(void **state)
{
    static const struct {
        int64_t cols, heads; /* heads 0: a vector of weights */
    } shape[] = {{33, 0}, {128, 8}, {24, 3}, {64, 64}};
    for (int size = 0; size < SIZES; size++)
        for (int d = 0; d < 2; d++)
            for (int k = 0; k < 4; k++) {
                hpc_test_case c;
                hpc_graph g = begin(&c, state, size, "weights", d, k);
                hpc_value x =
                    hpc_test_input(&c, test_type(dtypes[d], graph.sources, shape[k].cols), 1);
                hpc_type t = test_type(dtypes[!d], graph.edges, shape[k].heads);
                if (!shape[k].heads) t.rank = 1;
                hpc_value w = hpc_test_input(&c, t, 1);
                finish(&c, hpc_graph_reduce(c.p, HPC_NEW, x, w, &g, HPC_GRAPH_SUM),
                       HPC_TEST_SUMMED);
            }
}

static void segments_without_index(void **state)
{
    for (int size = 0; size < SIZES; size++)
        for (int kind = HPC_GRAPH_SUM; kind <= HPC_GRAPH_MEAN; kind++)
            for (int d = 0; d < 2; d++) {
                hpc_test_case c;
                hpc_graph g = begin(&c, state, size, "segments", kind, d);
                g = hpc_graph_of_segments(g.start);
                hpc_value x = hpc_test_input(&c, test_type(dtypes[d], graph.edges, 19), 1);
                finish(&c, hpc_graph_reduce(c.p, HPC_NEW, x, HPC_NONE, &g, (hpc_graph_kind)kind),
                       kind == HPC_GRAPH_MAX   ? HPC_TEST_EXACT
                       : kind == HPC_GRAPH_SUM ? HPC_TEST_SUMMED
                                               : HPC_TEST_CHAINED);
            }
}

/* Values, edges that have them, and a second maximum into the same state. */
static void maxima_and_their_edges(void **state)
{
    for (int size = 0; size < SIZES; size++)
        for (int d = 0; d < 2; d++) {
            hpc_test_case c;
            hpc_graph g = begin(&c, state, size, "max", d, 0);
            hpc_type rows = test_type(dtypes[d], graph.vertices, 40);
            hpc_value x = hpc_test_input(&c, test_type(dtypes[d], graph.sources, 40), 1);
            hpc_value more = hpc_test_input(&c, test_type(dtypes[d], graph.sources, 40), 1);
            hpc_value y = hpc_test_state(&c, rows, 0, false);
            rows.dtype = HPC_I32;
            hpc_value arg = hpc_program_state(c.p, "arg", rows, false);
            hpc_fill(c.p, arg, -1);
            hpc_graph_reduce_max(c.p, y, arg, x, &g);
            hpc_graph_reduce_max(c.p, y, arg, more, &g);
            hpc_test_want(&c, arg, HPC_TEST_EXACT);
            hpc_test_given_of(&c, y)->constant = true;
            finish(&c, y, HPC_TEST_EXACT);
        }
}

/* As gradients are: by the transposed graph, with weights by edge or picked terms. */
static void sums_by_position_of_edges(void **state)
{
    for (int picked = 0; picked < 2; picked++)
        for (int size = 0; size < SIZES; size++)
            for (int d = 0; d < 2; d++) {
                hpc_test_case c;
                hpc_graph g = begin(&c, state, size, "by edge", picked, d);
                hpc_value x = hpc_test_input(&c, test_type(dtypes[d], graph.vertices, 32), 1);
                hpc_value w = hpc_test_input(&c, test_type(HPC_F32, graph.edges, 2), 1);
                int32_t *pick = hpc_alloc((size_t)graph.vertices * 32, sizeof *pick);
                assert_non_null(pick);
                for (int64_t k = 0; k < graph.vertices * 32; k++) {
                    const int32_t *start = graph.start + k / 32;
                    pick[k] = start[1] > start[0] ? start[0] + k % (start[1] - start[0]) : -1;
                }
                hpc_value operand[] = {
                    HPC_NEW,
                    HPC_NONE,
                    x,
                    w,
                    g.back_start,
                    g.back_index,
                    g.back_edge,
                    picked ? hpc_test_indices(&c, test_type(HPC_I32, graph.vertices, 32), pick)
                           : HPC_NONE,
                    HPC_NONE,
                    HPC_NONE,
                    HPC_NONE};
                hpc_emit(c.p, &hpc_op_graph_reduce, operand, &(hpc_graph_reduce_attr){0});
                hpc_free(pick);
                finish(&c, operand[0], HPC_TEST_SUMMED);
            }
}

static void sums_of_both_ends(void **state)
{
    for (int ends = 1; ends < 4; ends++)
        for (int size = 0; size < SIZES; size++)
            for (int d = 0; d < 2; d++) {
                hpc_test_case c;
                hpc_graph g = begin(&c, state, size, "ends", ends, d);
                hpc_value a = HPC_NONE, b = HPC_NONE;
                if (ends & 1) a = hpc_test_input(&c, test_type(dtypes[d], graph.vertices, 9), 1);
                if (ends & 2) b = hpc_test_input(&c, test_type(dtypes[!d], graph.sources, 9), 1);
                finish(&c, hpc_graph_add(c.p, a, b, &g), HPC_TEST_ROUNDED);
            }
}

static void products_of_ends(void **state)
{
    static const int64_t heads[] = {1, 4};
    for (int k = 0; k < 2; k++)
        for (int size = 0; size < SIZES; size++)
            for (int d = 0; d < 2; d++) {
                hpc_test_case c;
                hpc_graph g = begin(&c, state, size, "dot", k, d);
                hpc_value a = hpc_test_input(&c, test_type(dtypes[d], graph.vertices, 52), 1);
                hpc_value b = hpc_test_input(&c, test_type(dtypes[!d], graph.sources, 52), 1);
                c.terms = 52;
                hpc_test_want(&c, hpc_graph_dot(c.p, a, b, &g, heads[k]), HPC_TEST_SUMMED);
                hpc_test_case_check(&c);
            }
}

/* Elements of a row go to the edges that are named; others get 0. */
static void picked_elements_go_to_edges(void **state)
{
    hpc_test_case c;
    hpc_graph g = begin(&c, state, 0, "picked", 0, 0);
    int32_t pick[7 * 3];
    for (int k = 0; k < 7 * 3; k++) pick[k] = graph.start[k / 3] + k % 3;
    hpc_value a = hpc_test_input(&c, test_type(HPC_F32, 7, 3), 1);
    hpc_value operand[] = {HPC_NEW,  a,        HPC_NONE,
                           g.start,  HPC_NONE, hpc_test_indices(&c, test_type(HPC_I32, 7, 3), pick),
                           HPC_NONE, HPC_NONE, HPC_NONE};
    hpc_emit(c.p, &hpc_op_graph_edge, operand, &(hpc_graph_edge_attr){.edges = graph.edges});
    hpc_test_want(&c, operand[0], HPC_TEST_EXACT);
    hpc_test_case_check(&c);
}

static void softmax_over_edges(void **state)
{
    for (int size = 0; size < SIZES; size++)
        for (int d = 0; d < 2; d++) {
            hpc_test_case c;
            hpc_value lse;
            hpc_graph g = begin(&c, state, size, "softmax", d, 0);
            hpc_value x = hpc_test_input(&c, test_type(dtypes[d], graph.edges, 3), 3);
            hpc_value y = hpc_graph_softmax(c.p, x, g.start, &lse);
            c.exponent = 24;
            hpc_test_want(&c, lse, HPC_TEST_CURVED);
            finish(&c, y, HPC_TEST_CURVED);
        }
}

static void gradients_of_softmax_over_edges(void **state)
{
    for (int size = 0; size < SIZES; size++)
        for (int d = 0; d < 2; d++) {
            hpc_test_case c;
            hpc_graph g = begin(&c, state, size, "softmax gradient", d, 0);
            hpc_value y = hpc_test_input(&c, test_type(dtypes[d], graph.edges, 3), 1);
            hpc_value dy = hpc_test_input(&c, test_type(dtypes[!d], graph.edges, 3), 1);
            hpc_value operand[] = {HPC_NEW, dy, y, g.start};
            hpc_emit(c.p, &hpc_op_graph_softmax_grad, operand, NULL);
            finish(&c, operand[0], HPC_TEST_SUMMED);
        }
}

static void degrees_to_a_power(void **state)
{
    for (int size = 0; size < SIZES; size++)
        for (int d = 0; d < 2; d++) {
            hpc_test_case c;
            hpc_graph g = begin(&c, state, size, "scale", d, 0);
            hpc_value x = hpc_test_input(&c, test_type(dtypes[d], graph.vertices, 21), 1);
            hpc_test_want(&c, hpc_graph_scale(c.p, x, g.start, -0.5), HPC_TEST_ROUNDED);
            hpc_test_case_check(&c);
        }
}

/* Averages of sets of which one or both may be empty. */
static void averages_join(void **state)
{
    enum { V = 6, H = 2 };
    double old[V * H], more[V * H];
    for (int k = 0; k < V * H; k++) {
        old[k] = k % 4 == 1 ? -INFINITY : k * 0.7 - 3;
        more[k] = k % 3 == 1 ? -INFINITY : 2 - k * 0.4;
    }
    for (int d = 0; d < 2; d++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "merge %d", d);
        hpc_value x = hpc_test_input(&c, test_type(dtypes[d], V, 10), 1);
        hpc_value y = hpc_test_state(&c, test_type(dtypes[d], V, 10), 1, false);
        hpc_value lse = hpc_test_state(&c, test_type(HPC_F32, V, H), 1, false);
        hpc_test_given *given = hpc_test_given_of(&c, lse);
        for (int k = 0; k < V * H; k++) given->data[k] = (float)old[k];
        hpc_graph_merge(c.p, y, lse, x, hpc_test_input_of(&c, test_type(HPC_F32, V, H), more));
        c.exponent = 12;
        hpc_test_want(&c, lse, HPC_TEST_CURVED);
        c.exponent = 12;
        hpc_test_want(&c, y, HPC_TEST_CURVED);
        hpc_test_case_check(&c);
    }
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "graph");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_gathered_rows),
        cmocka_unit_test(sums_added_to_state),
        cmocka_unit_test(weighted_sums),
        cmocka_unit_test(segments_without_index),
        cmocka_unit_test(maxima_and_their_edges),
        cmocka_unit_test(sums_by_position_of_edges),
        cmocka_unit_test(sums_of_both_ends),
        cmocka_unit_test(products_of_ends),
        cmocka_unit_test(picked_elements_go_to_edges),
        cmocka_unit_test(softmax_over_edges),
        cmocka_unit_test(gradients_of_softmax_over_edges),
        cmocka_unit_test(degrees_to_a_power),
        cmocka_unit_test(averages_join),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/graph", tests, open_bench, hpc_test_bench_close);
}
