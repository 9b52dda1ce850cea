/*
 * Tests of `hpccoder bench graph`: counted operations and bytes of each phase, memory, and invalid
 * requests. Times are not checked.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/sanitized.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

enum { V = 400, E = 3600, F = 32 }; /* E: 8 edges of a mesh, and a self-loop */

static double number(const hpc_json *object, const char *key)
{
    double x;
    test_ok(hpc_json_real(&x, hpc_json_get(object, key), key));
    return x;
}

static double counted(const hpc_json *layer, const char *phase, const char *key)
{
    return number(hpc_json_get(hpc_json_get(layer, "phases"), phase), key);
}

static hpc_json *run(int vertices, int edges, const char *words)
{
    char all[300];
    hpc_json *root;
    snprintf(all, sizeof all, "bench graph -q --json --rounds 1 --vertices %d --edges %d %s",
             vertices, edges, words);
    hpc_test_command(&o, all);
    if (o.code != 0) fail_msg("%s: %s", all, o.err);
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "output"));
    return root;
}

static void phases_count_operations_and_bytes(void **state)
{
    (void)state;
    hpc_json *root = run(V, E - V, "--model gcn --graph mesh --features 32");
    const hpc_json *layer = hpc_json_at(hpc_json_get(root, "layers"), 0);
    assert_true(number(layer, "edges") == E);
    assert_true(counted(layer, "scatter", "flops") == 2.0 * V * F * F + V * F);
    assert_true(counted(layer, "edge", "flops") == 0);
    assert_true(counted(layer, "gather", "flops") == (double)E * F);
    assert_true(counted(layer, "gather", "bytes") == 4.0 * (V * F + E * F + V + 1 + E));
    assert_true(number(layer, "edge_bytes") == 4.0 * E * F);
    assert_true(number(layer, "ms") > 0 && number(layer, "random_read_gb_s") > 0);
    hpc_json_free(root);
}

/* Sums and attention over edges need no memory by edge, neither for rows nor scores nor for what
 * workers share. Twenty edges for each vertex, as in the large graphs of docs/benchmarks.md. What
 * does not grow with the graph, buffers of products, is subtracted. */
static void layers_need_no_memory_by_edge(void **state)
{
    enum { LAYERS = 3 * 2, SMALL = 6000 };
    static const char words[] =
        "--model gcn --model gat --model gin --graph mesh --features 16 --features 128";
    double extra[2][LAYERS], edge[2][LAYERS];
    (void)state;
    for (int k = 0; k < 2; k++) {
        hpc_json *root = run((k + 1) * SMALL, (k + 1) * SMALL * 20, words);
        const hpc_json *layers = hpc_json_get(root, "layers");
        assert_int_equal(hpc_json_n(layers), LAYERS);
        for (int l = 0; l < LAYERS; l++) {
            extra[k][l] = number(hpc_json_at(layers, l), "extra_bytes");
            edge[k][l] = number(hpc_json_at(layers, l), "edge_bytes");
        }
        hpc_json_free(root);
    }
    for (int l = 0; l < LAYERS; l++) {
        double share = (extra[1][l] - extra[0][l]) / (edge[1][l] - edge[0][l]);
        if (!(share > 0 && share <= 0.1)) fail_msg("layer %d: %.3f of edge features", l, share);
    }
}

static void all_layers_run_by_default(void **state)
{
    (void)state;
    hpc_json *root = run(V, E, "");
    assert_int_equal(hpc_json_n(hpc_json_get(root, "layers")), 2 * 2 * 5);
    hpc_json_free(root);
    hpc_test_command(&o, "bench graph -q --rounds 1 --vertices 50 --edges 100 --dtype bf16");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.out, "gather GB/s"));
}

static void bad_requests_are_named(void **state)
{
    static const char *const bad[][2] = {
        {"--model gnn", "--model gnn: known are gcn"},
        {"--graph tree", "--graph tree: known are power-law and mesh"},
        {"--features 30", "--features 30: not a multiple of 4 heads"},
        {"--features x", "--features x is not a number"},
        {"more", "unexpected argument 'more'"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char all[120];
        snprintf(all, sizeof all, "bench graph %s", bad[k][0]);
        hpc_test_command(&o, all);
        assert_int_equal(o.code, 2);
        if (!strstr(o.err, bad[k][1])) fail_msg("%s", o.err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_count_operations_and_bytes),
        cmocka_unit_test(layers_need_no_memory_by_edge),
        cmocka_unit_test(all_layers_run_by_default),
        cmocka_unit_test(bad_requests_are_named),
    };
    return cmocka_run_group_tests_name("cmd/bench_graph", tests, NULL, NULL);
}
