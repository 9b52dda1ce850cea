/*
 * Tests of graphs from lists of edges, their division into chunks, files of chunks, and imports:
 * values, and a defined result or a one-line error for bad input.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "model/graph/graph.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

/* A file in the folder of the test. */
static void file_in(char path[PATH_MAX], void **state)
{
    hpc_test_path(path, *state, "graph");
}

static void assert_ints(const int32_t *x, const int32_t *want, size_t n)
{
    assert_memory_equal(x, want, n * sizeof *x);
}

/* Repeated edges, self-loops and vertices without edges. */
static const int32_t some[][2] = {{0, 1}, {2, 1}, {0, 1}, {1, 1}, {4, 0}, {3, 3}};

static void edges_are_sorted_by_destination(void **state)
{
    (void)state;
    hpc_net g;
    test_ok(hpc_net_of_edges(&g, 5, some, 6, NULL));
    assert_int_equal(g.edges, 6);
    assert_ints(g.start, (int32_t[]){0, 1, 5, 5, 6, 6}, 6);
    assert_ints(g.index, (int32_t[]){4, 0, 0, 1, 2, 3}, 6);
    assert_ints(g.back_start, (int32_t[]){0, 2, 3, 4, 5, 6}, 6);
    assert_ints(g.back_index, (int32_t[]){1, 1, 1, 1, 3, 0}, 6);
    assert_ints(g.back_edge, (int32_t[]){1, 2, 3, 4, 5, 0}, 6);
    hpc_net_release(&g);
}

static void options_merge_reverse_and_loop(void **state)
{
    (void)state;
    hpc_net g;
    test_ok(hpc_net_of_edges(&g, 5, some, 6, &(hpc_net_options){.once = true}));
    assert_ints(g.index, (int32_t[]){4, 0, 1, 2, 3}, 5);
    assert_int_equal(g.edges, 5);
    hpc_net_release(&g);
    test_ok(hpc_net_of_edges(&g, 5, some, 6,
                             &(hpc_net_options){.both = true, .once = true, .loops = true}));
    assert_ints(g.start, (int32_t[]){0, 3, 6, 8, 9, 11}, 6);
    assert_ints(g.index, (int32_t[]){0, 1, 4, 0, 1, 2, 1, 2, 3, 0, 4}, 11);
    hpc_net_release(&g);
    test_ok(hpc_net_of_edges(&g, 3, NULL, 0, NULL)); /* no edges at all */
    assert_int_equal(g.start[3], 0);
    hpc_net_release(&g);
}

static void dangling_edges_are_named(void **state)
{
    (void)state;
    hpc_net g;
    const int32_t bad[][2] = {{0, 1}, {1, 5}};
    test_fails(hpc_net_of_edges(&g, 5, bad, 2, NULL), HPC_E_FORMAT,
               "edge 1: vertex 5 is not one of 5");
    assert_null(g.start);
}

static void synthetic_graphs_follow_the_seed(void **state)
{
    (void)state;
    for (int kind = HPC_NET_POWER_LAW; kind <= HPC_NET_MESH; kind++) {
        hpc_net a, b;
        int64_t most = 0;
        test_ok(hpc_net_make(&a, (hpc_net_kind)kind, 1000, 8000, 3, NULL));
        test_ok(hpc_net_make(&b, (hpc_net_kind)kind, 1000, 8000, 3, NULL));
        assert_int_equal(a.edges, 8000);
        assert_ints(a.index, b.index, 8000);
        for (int v = 0; v < 1000; v++)
            if (a.start[v + 1] - a.start[v] > most) most = a.start[v + 1] - a.start[v];
        if (kind == HPC_NET_MESH) assert_int_equal(most, 8);
        if (kind == HPC_NET_POWER_LAW) assert_true(most > 400);
        hpc_net_release(&a);
        hpc_net_release(&b);
    }
}

/* ---- chunks ------------------------------------------------------------------------------- */

static void assert_covers(const hpc_net_chunks *c, const hpc_net *g)
{
    assert_int_equal(c->vertices, g->vertices);
    assert_int_equal(c->edges, g->edges);
    for (int64_t p = 0; p < c->parts; p++)
        for (int64_t v = c->first[p]; v < c->first[p + 1]; v++) {
            int32_t at = g->start[v];
            int64_t row = v - c->first[p];
            for (int64_t q = 0; q < c->parts; q++) {
                const hpc_net_chunk *k = &c->chunk[p * c->parts + q];
                for (int32_t i = k->start[row]; i < k->start[row + 1]; i++)
                    assert_int_equal(k->index[i] + c->first[q], g->index[at++]);
            }
            assert_int_equal(at, g->start[v + 1]);
            assert_int_equal(c->degree[p][row + 1] - c->degree[p][row],
                             g->start[v + 1] - g->start[v]);
        }
}

/* Where no vertex has a large share of the edges, no interval has much more than another. */
static void intervals_balance_edges(void **state)
{
    static const int64_t parts[] = {1, 2, 5, 16};
    (void)state;
    hpc_net g;
    test_ok(hpc_net_make(&g, HPC_NET_POWER_LAW, 3000, 30000, 1, NULL));
    for (int k = 0; k < 4; k++) {
        hpc_net_chunks c;
        test_ok(hpc_net_chunks_of(&c, &g, parts[k]));
        assert_covers(&c, &g);
        int64_t share = 33000 / parts[k], largest = 0;
        for (int v = 0; v < 3000; v++)
            if (g.start[v + 1] - g.start[v] > largest) largest = g.start[v + 1] - g.start[v];
        for (int64_t p = 0; p < c.parts; p++)
            assert_true(c.first[p + 1] - c.first[p] + g.start[c.first[p + 1]] -
                            g.start[c.first[p]] <=
                        share + largest + 2);
        hpc_net_chunks_close(&c);
    }
    hpc_net_chunks c;
    test_fails(hpc_net_chunks_of(&c, &g, 0), HPC_E_ARG, "parts is 0");
    hpc_net_release(&g);
}

static void write_bytes(const char *path, const void *data, size_t n)
{
    test_ok(hpc_file_save(path, data, n));
}

static void chunk_files_return_the_graph(void **state)
{
    char path[PATH_MAX];
    file_in(path, state);
    hpc_net g;
    hpc_net_chunks c, r;
    test_ok(hpc_net_make(&g, HPC_NET_POWER_LAW, 500, 4000, 2, NULL));
    test_ok(hpc_net_chunks_of(&c, &g, 4));
    test_ok(hpc_net_chunks_save(&c, path));
    test_ok(hpc_net_chunks_open(&r, path));
    assert_covers(&r, &g);
    assert_int_equal(r.rows, c.rows);
    assert_int_equal(r.most_edges, c.most_edges);
    for (int k = 0; k < 16; k++) test_ok(hpc_net_chunk_check(&r, k / 4, k % 4));
    hpc_net_chunks_close(&r);
    hpc_net_chunks_close(&c);
    hpc_net_release(&g);
}

/* Every truncation and every changed byte is noticed, at the latest when its chunk is checked. */
static void damaged_chunk_files_are_refused(void **state)
{
    char path[PATH_MAX];
    file_in(path, state);
    hpc_net g;
    hpc_net_chunks c, r;
    hpc_buf b = {0};
    test_ok(hpc_net_make(&g, HPC_NET_MESH, 30, 120, 2, NULL));
    test_ok(hpc_net_chunks_of(&c, &g, 2));
    test_ok(hpc_net_chunks_save(&c, path));
    test_ok(hpc_file_read(&b, path, 1 << 20));
    uint8_t *data = (uint8_t *)b.data;
    for (size_t n = 0; n < b.n; n += 61) {
        write_bytes(path, data, n);
        assert_int_equal(hpc_net_chunks_open(&r, path), HPC_E_FORMAT);
        hpc_error_clear();
    }
    int noticed = 0, padding = 0;
    for (size_t k = 0; k < b.n; k += 3) {
        data[k] ^= 0x40;
        write_bytes(path, data, b.n);
        int rc = hpc_net_chunks_open(&r, path);
        for (int q = 0; q < 4 && rc == HPC_OK; q++) rc = hpc_net_chunk_check(&r, q / 2, q % 2);
        rc < 0 ? noticed++ : padding++;
        hpc_error_clear();
        hpc_net_chunks_close(&r);
        data[k] ^= 0x40;
    }
    assert_true(noticed > 2 * padding); /* sections are padded to 64 bytes */
    data[8] = 2;
    write_bytes(path, data, b.n);
    test_fails(hpc_net_chunks_open(&r, path), HPC_E_UNSUPPORTED,
               "version 2; this build reads version 1");
    hpc_buf_release(&b);
    hpc_net_chunks_close(&c);
    hpc_net_release(&g);
}

/* ---- imports --------------------------------------------------------------------------------- */

static void text_lists_are_read(void **state)
{
    char path[PATH_MAX];
    file_in(path, state);
    static const struct {
        const char *text, *part;
    } bad[] = {{"0 1\n2\n", ":2: expected two vertex numbers"},
               {"0 x\n", ":1: expected two vertex numbers"},
               {"0 1\n\n1 2 3\n", ":3: expected two vertex numbers"},
               {"0 1\n7 99999999999\n", ":2: expected two vertex numbers"},
               {"0 -1\n", ":1: expected two vertex numbers"}};
    hpc_net g;
    const char *text = "# a comment\n0\t1\r\n 2, 1\n\n3 0";
    write_bytes(path, text, strlen(text));
    test_ok(hpc_net_read_text(&g, path, 0, NULL));
    assert_int_equal(g.vertices, 4);
    assert_ints(g.start, (int32_t[]){0, 1, 3, 3, 3}, 5);
    assert_ints(g.index, (int32_t[]){3, 0, 2}, 3);
    hpc_net_release(&g);
    test_fails(hpc_net_read_text(&g, path, 3, NULL), HPC_E_FORMAT, "vertex 3 is not one of 3");
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        write_bytes(path, bad[k].text, strlen(bad[k].text));
        test_fails(hpc_net_read_text(&g, path, 0, NULL), HPC_E_FORMAT, bad[k].part);
    }
}

static size_t array_file(char *out, const char *header, const void *data, size_t bytes)
{
    size_t n = strlen(header);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)n, out[9] = 0;
    memcpy(out + 10, header, n);
    memcpy(out + 10 + n, data, bytes);
    return 10 + n + bytes;
}

static void arrays_of_numpy_are_read(void **state)
{
    char path[PATH_MAX];
    file_in(path, state);
    static const struct {
        const char *header, *part;
        int code;
    } bad[] = {
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 9), }", "truncated", HPC_E_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", "edges are i4 or i8",
         HPC_E_FORMAT},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), }", "edges are i4 or i8",
         HPC_E_FORMAT},
        {"{'descr': '<i8', 'fortran_order': True, 'shape': (2, 3), }", "Fortran order",
         HPC_E_UNSUPPORTED},
        {"{'descr': '>i8', 'fortran_order': False, 'shape': (2, 3), }", "big-endian",
         HPC_E_UNSUPPORTED},
        {"{'descr': '<i8', 'fortran_order': False, }", "no shape", HPC_E_FORMAT},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 4611686018427387904), }",
         "too large", HPC_E_FORMAT},
    };
    const int64_t edges[6] = {0, 2, 3, 1, 1, 0};
    char file[512];
    hpc_net g;
    const char *good = "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }\n";
    write_bytes(path, file, array_file(file, good, edges, sizeof edges));
    test_ok(hpc_net_read_npy(&g, path, 0, NULL));
    assert_ints(g.index, (int32_t[]){3, 0, 2}, 3);
    hpc_net_release(&g);
    test_fails(hpc_net_read_npy(&g, path, 3, NULL), HPC_E_FORMAT,
               "edge 2: vertex 3 is out of range");
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        write_bytes(path, file, array_file(file, bad[k].header, edges, sizeof edges));
        test_fails(hpc_net_read_npy(&g, path, 0, NULL), bad[k].code, bad[k].part);
    }
    size_t n = array_file(file, good, edges, sizeof edges);
    for (size_t k = 0; k < n; k += 5) {
        write_bytes(path, file, k);
        assert_int_equal(hpc_net_read_npy(&g, path, 0, NULL), HPC_E_FORMAT);
        hpc_error_clear();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_are_sorted_by_destination),
        cmocka_unit_test(options_merge_reverse_and_loop),
        cmocka_unit_test(dangling_edges_are_named),
        cmocka_unit_test(synthetic_graphs_follow_the_seed),
        cmocka_unit_test(intervals_balance_edges),
        cmocka_unit_test_setup_teardown(chunk_files_return_the_graph, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(damaged_chunk_files_are_refused, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(text_lists_are_read, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(arrays_of_numpy_are_read, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests_name("graph/net", tests, NULL, NULL);
}
