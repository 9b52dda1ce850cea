/*
 * Test of graphs larger than memory. While a layer runs over a file of chunks, the kernel limits
 * memory to a quarter of the file's size (RLIMIT_DATA: heaps, stacks and other private memory).
 * Resident pages, with those of the file, stay within the same limit. The file has 33 MB, so that
 * the workspace of products, 4 MB with AVX-512, is no large part of the limit; with HPC_TEST_LONG=1
 * it has 142 MB.
 */
/* asan: left out, it changes the memory of the process. */
/* tsan: left out, it changes the memory of the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "model/graph/graph.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

enum { F = 4 };

typedef struct sizes {
    int64_t vertices, edges, parts;
} sizes;

/* A line of /proc/self/status, in bytes. */
static int64_t memory_of(const char *name)
{
    char line[256];
    long long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0) kb = strtoll(line + strlen(name), NULL, 10);
    fclose(f);
    return kb * 1024;
}

/* The peak of resident memory begins again. False if the kernel does not allow it. */
static bool reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f) return false;
    bool written = fputs("5", f) >= 0;
    return fclose(f) == 0 && written;
}

static void save(const char *path, const sizes *s)
{
    hpc_net g;
    hpc_net_chunks c;
    test_ok(hpc_net_make(&g, HPC_NET_POWER_LAW, s->vertices, s->edges, 3, NULL));
    test_ok(hpc_net_chunks_of(&c, &g, s->parts));
    test_ok(hpc_net_chunks_save(&c, path));
    hpc_net_chunks_close(&c);
    hpc_net_release(&g);
}

/* The sum of the results of a layer. */
static double run(const hpc_net_chunks *c, const float *x, float *y)
{
    hpc_device *d;
    hpc_saga_stream *s;
    hpc_saga_options o = {.features = F, .outputs = F, .act = HPC_RELU, .dtype = HPC_F32};
    double sum = 0;
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "cpu", .threads = 1}));
    test_ok(hpc_saga_stream_open(&s, d, &hpc_saga_gcn, &o, c));
    test_ok(hpc_saga_initialise(hpc_saga_stream_exec(s), hpc_saga_stream_program(s), 5));
    test_ok(hpc_saga_stream_run(s, y, x));
    hpc_saga_stream_close(s);
    hpc_device_close(d);
    for (int64_t k = 0; k < c->vertices * F; k++) sum += (double)y[k];
    return sum;
}

/* From now on the process gets at most `more` bytes of memory; returns the limit before. */
static struct rlimit limit_memory(int64_t more)
{
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)(memory_of("VmData:") + more);
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    return before;
}

/* The limit works: the edges of the graph do not fit. */
static bool is_refused(int64_t bytes)
{
    void *all = malloc((size_t)bytes);
    free(all);
    return all == NULL;
}

static void a_graph_of_four_times_the_memory_completes(void **state)
{
    const sizes small = {20000, 8000000, 8}, large = {200000, 32000000, 16};
    const sizes *s = getenv("HPC_TEST_LONG") ? &large : &small;
    char path[PATH_MAX];
    hpc_net_chunks c;
    hpc_test_path(path, *state, "chunks");
    save(path, s);
    float *x = hpc_alloc((size_t)(s->vertices * F), sizeof *x);
    float *y = hpc_alloc((size_t)(s->vertices * F), sizeof *y);
    assert_non_null(x);
    assert_non_null(y);
    hpc_random_fill_normal(x, s->vertices * F, 1, 0, 0, 0);
    malloc_trim(0);
    if (!reset_peak()) {
        print_message("SKIP: the peak of resident memory cannot be reset\n");
        skip();
    }
    int64_t before = memory_of("VmRSS:");
    test_ok(hpc_net_chunks_open(&c, path));
    int64_t bytes = (int64_t)c.file.bytes;
    struct rlimit old = limit_memory(bytes / 4);
    bool refused = is_refused(s->edges * 4);
    double sum = run(&c, x, y);
    assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
    int64_t more = memory_of("VmHWM:") - before;
    hpc_net_chunks_close(&c);
    print_message("graph %lld KiB, limit %lld KiB, resident %lld KiB\n", (long long)bytes >> 10,
                  (long long)bytes >> 12, (long long)more >> 10);
    assert_true(bytes >= s->edges * 4);
    assert_true(refused);
    assert_true(sum > 0);
    assert_true(more * 4 <= bytes);
    hpc_free(x);
    hpc_free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_graph_of_four_times_the_memory_completes,
                                        hpc_test_folder_setup, hpc_test_folder_teardown)};
    return cmocka_run_group_tests_name("graph/memory", tests, NULL, NULL);
}
