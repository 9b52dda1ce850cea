/*
 * graphs.h: for tests of graphs of code: edges as text.
 */
#ifndef HPC_TESTS_SOURCE_GRAPHS_H
#define HPC_TESTS_SOURCE_GRAPHS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/source/code_graph.h"
#include "tests/support/expect.h"

/* Edges of one kind as "from>to " with the byte offsets of their nodes, in order of discovery. */
static inline void expect_edges(const hpc_code_graph *g, hpc_code_edge_kind kind,
                                const char *expected)
{
    char got[512] = "";
    size_t n = 0;
    for (int64_t k = 0; k < g->edges_n && n < sizeof got - 32; k++) {
        const hpc_code_edge *e = &g->edge[k];
        assert_true(e->from >= 0 && e->from < g->n && e->to >= 0 && e->to < g->n);
        if (e->kind != kind) continue;
        n += (size_t)snprintf(got + n, sizeof got - n, "%u>%u ", g->node[e->from].at,
                              g->node[e->to].at);
    }
    assert_string_equal(got, expected);
}

/* Every node but the first has one parent, which comes before it. */
static inline void expect_tree(const hpc_code_graph *g)
{
    int64_t parents[HPC_CODE_NODES + 8] = {0};
    for (int64_t k = 0; k < g->edges_n; k++)
        if (g->edge[k].kind == HPC_CODE_SYNTAX) {
            assert_true(g->edge[k].from < g->edge[k].to);
            parents[g->edge[k].to]++;
        }
    assert_int_equal(parents[0], 0);
    for (int64_t k = 1; k < g->n; k++) assert_int_equal(parents[k], 1);
}

#endif
