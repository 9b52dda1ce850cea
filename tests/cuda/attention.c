/*
 * attention.c: attention over long caches, whose keys several blocks share out: the values of the
 * CPU, and for a row the same bits in a batch of any size, in which one block may have all keys.
 */
/* tsan: left out, it knows nothing of the shim's stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/ops.h"

/* Three parts of 512 keys, the last one not full. */
enum { ROWS = 70, HEADS = 2, DIM = 16, PAGE = 16, PAGES = 70, LONG = 1100, SHORT = 366 };
enum { ROW = HEADS * DIM };

typedef struct batch {
    int32_t start[3], len[2], rows;
} batch;

/* A token of a long text with one of a short text, or with many: then no keys are split. */
static const batch few = {{0, 1, 2}, {LONG, SHORT}, 2}, many = {{0, 1, 67}, {LONG, SHORT}, 67};

static void attend(double *o, hpc_device *d, const batch *b, hpc_dtype type, int64_t window)
{
    int32_t page[2 * PAGES];
    double all[ROWS * ROW];
    hpc_exec *e;
    hpc_program *p = hpc_program_create();
    test_ok(hpc_program_segment(p, HPC_FORWARD, 0));
    hpc_value rows = hpc_program_input(p, "rows", hpc_type_of(HPC_I32, 0, NULL));
    hpc_value start = hpc_program_input(p, "start", test_type(HPC_I32, 3));
    hpc_value len = hpc_program_input(p, "len", test_type(HPC_I32, 2));
    hpc_value pages = hpc_program_input(p, "pages", test_type(HPC_I32, 2, PAGES));
    hpc_value q =
        hpc_program_input(p, "q", hpc_type_ragged(test_type(type, ROWS, HEADS, DIM), 0, rows));
    hpc_value k = hpc_program_input(p, "k", test_type(type, 2 * PAGES, PAGE, 1, DIM));
    hpc_value v = hpc_program_input(p, "v", test_type(type, 2 * PAGES, PAGE, 1, DIM));
    hpc_value y = hpc_attention(p, q, k, v, start, len, pages,
                                (hpc_attention_attr){.causal = true, .window = window});
    hpc_program_keep(p, y);
    test_ok(hpc_program_check(p));
    test_ok(hpc_exec_open(&e, p, d, NULL, &(hpc_exec_options){.poison = 1}));
    for (int i = 0; i < 2 * PAGES; i++) page[i] = i * 37 % (2 * PAGES);
    hpc_test_feed(e, 0, q, 1, 2);
    hpc_test_feed(e, 0, k, 2, 1);
    hpc_test_feed(e, 0, v, 3, 1);
    hpc_test_write_i32(e, 0, start, b->start);
    hpc_test_write_i32(e, 0, len, b->len);
    hpc_test_write_i32(e, 0, pages, page);
    hpc_test_write_scalar(e, 0, rows, b->rows);
    test_ok(hpc_exec_run(e, 0, 0));
    hpc_test_read(e, 0, y, all);
    memcpy(o, all, (size_t)b->rows * ROW * sizeof *o);
    hpc_exec_close(e);
    hpc_program_free(p);
}

static hpc_device *open_shim(const char *schedule)
{
    char library[PATH_MAX];
    hpc_device *d;
    hpc_test_built(library, "hpccoder-cuda-shim.so");
    test_ok(hpc_device_open(
        &d, &(hpc_device_options){.backend = "cuda-shim", .library = library, .isa = schedule}));
    return d;
}

static void compare(hpc_device *cpu, hpc_device *shim, hpc_dtype type, int64_t window)
{
    static double want[ROWS * ROW], one[ROWS * ROW], all[ROWS * ROW];
    const double bound = type == HPC_BF16 ? 0.02 : 1e-5;
    attend(want, cpu, &many, type, window);
    attend(all, shim, &many, type, window);
    attend(one, shim, &few, type, window);
    assert_true(hpc_test_error(all, want, many.rows * ROW) < bound);
    assert_memory_equal(one, all, ROW * sizeof *one); /* the long text's row */
    attend(want, cpu, &few, type, window);
    assert_true(hpc_test_error(one, want, few.rows * ROW) < bound);
}

static void keys_are_split_by_length_alone(void **state)
{
    static const char *const schedules[] = {"ascending", "permuted"};
    hpc_device *cpu;
    (void)state;
    test_ok(hpc_device_open(&cpu, &(hpc_device_options){.threads = 1}));
    for (int s = 0; s < 2; s++) {
        hpc_device *shim = open_shim(schedules[s]);
        compare(cpu, shim, HPC_F32, 0);
        compare(cpu, shim, HPC_BF16, 0);
        compare(cpu, shim, s ? HPC_F32 : HPC_BF16, 600); /* begins in the first part's middle */
        hpc_device_close(shim);
    }
    hpc_device_close(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_are_split_by_length_alone)};
    return cmocka_run_group_tests_name("cuda/attention", tests, NULL, NULL);
}
