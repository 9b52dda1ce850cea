/*
 * graphs.c: small graphs for tests, and their transposes.
 */
#include "tests/support/graphs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void transpose(hpc_test_graph *g, int64_t used)
{
    int64_t at = 0;
    for (int64_t u = 0; u < g->sources; u++) {
        g->back_start[u] = (int32_t)at;
        for (int64_t v = 0; v < g->vertices; v++)
            for (int32_t k = g->start[v]; k < g->start[v + 1]; k++) {
                if (g->index[k] != u) continue;
                g->back_index[at] = (int32_t)v;
                g->back_edge[at++] = k;
            }
    }
    g->back_start[g->sources] = (int32_t)at;
    assert_int_equal(at, used);
    for (; at < g->edges; at++) g->back_index[at] = g->back_edge[at] = INT32_MAX;
}

void hpc_test_graph_make(hpc_test_graph *g, int64_t vertices, int64_t sources, int64_t edges,
                         int64_t spare)
{
    int64_t used = edges - spare, each = used / 2 / vertices, at = 0;
    assert_true(vertices > 4 && vertices <= HPC_TEST_VERTICES_MOST);
    assert_true(sources <= HPC_TEST_VERTICES_MOST && edges <= HPC_TEST_EDGES_MOST);
    g->vertices = vertices, g->sources = sources, g->edges = edges;
    for (int64_t v = 0; v < vertices; v++) {
        g->start[v] = (int32_t)at;
        if (v == 3)
            at += used / 2;
        else if (v % 5)
            at += each;
        if (v == vertices - 2) at = used - (v + 1 < vertices && (v + 1) % 5 ? each : 0);
    }
    g->start[vertices] = (int32_t)(at = used);
    for (int64_t k = 0; k < edges; k++)
        g->index[k] = k < used ? (int32_t)((k * 7919 + k / 3) % sources) : INT32_MAX;
    transpose(g, used);
}
