/*
 * blocks.c: block formats on the CUDA kernels, in planes and in plain rows: products as integers
 * against sums in double, a row's bits for any number of rows, and rows gathered from tables.
 */
/* tsan: left out, it knows nothing of the stacks of the shim. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/device/priv.h"
#include "runtime/program/run/run.h"
#include "tests/support/blocks.h"
#include "tests/support/command.h"
#include "tests/support/expect.h"
#include "tests/support/values.h"

enum { M = 70, SOME = 30, N = 19, K = 512 };

static const hpc_dtype formats[] = {HPC_Q8_0, HPC_Q4_0, HPC_Q4_K, HPC_Q5_K, HPC_Q6_K,   HPC_Q4_1,
                                    HPC_Q5_0, HPC_Q5_1, HPC_Q2_K, HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS};
enum { FORMATS = sizeof formats / sizeof *formats };

/* ---- the program --------------------------------------------------------------------- */

typedef struct fixture {
    hpc_device *d;
    hpc_program *p;
    hpc_exec *e;
    hpc_value count, a, b, y, rows;
    uint8_t plain[N * K * 2], planes[N * K * 2]; /* b */
    float x[M * K];                              /* a */
    float weight[N * K];
} fixture;

static hpc_device *open_shim(void)
{
    char library[PATH_MAX];
    hpc_device *d;
    hpc_test_built(library, "hpccoder-cuda-shim.so");
    test_ok(hpc_device_open(
        &d, &(hpc_device_options){.backend = "cuda-shim", .library = library, .isa = "permuted"}));
    return d;
}

static void draw(fixture *f, hpc_dtype d, uint64_t seed)
{
    double x[K];
    hpc_test_draw_blocks(f->plain, d, N * K / hpc_dtype_get(d)->block, -6, seed);
    hpc_to_f32(f->weight, f->plain, d, N * K);
    for (int i = 0; i < M; i++) {
        hpc_test_draw(x, K, (uint32_t)(i + 1), 1);
        for (int k = 0; k < K; k++) f->x[i * K + k] = (float)x[k];
    }
}

/* y = a b, of up to `most` rows, and a few rows of b. */
static void start(fixture *f, hpc_dtype d, uint8_t pack, int64_t most)
{
    hpc_type rows = hpc_type_of(HPC_F32, 2, (int64_t[]){most, K}),
             b = hpc_type_of(d, 2, (int64_t[]){N, K});
    f->p = hpc_program_create();
    test_ok(hpc_program_segment(f->p, HPC_FORWARD, 0));
    f->count = hpc_program_input(f->p, "count", hpc_type_of(HPC_I32, 0, NULL));
    f->a = hpc_program_input(f->p, "a", hpc_type_ragged(rows, 0, f->count));
    b.pack = pack;
    f->b = hpc_program_state(f->p, "b", b, false);
    f->y = hpc_matmul(f->p, f->a, f->b, (hpc_matmul_attr){.trans_b = true, .int8 = true});
    hpc_value index = hpc_program_input(f->p, "index", hpc_type_of(HPC_I32, 1, (int64_t[]){3}));
    f->rows = hpc_gather(f->p, f->b, index);
    hpc_program_keep(f->p, f->y);
    hpc_program_keep(f->p, f->rows);
    test_ok(hpc_program_status(f->p));
    test_ok(hpc_exec_open(&f->e, f->p, f->d, NULL, NULL));
    const size_t bytes = hpc_type_bytes(&b);
    hpc_planes(f->planes, N, 0, f->plain, d, N, K);
    test_ok(hpc_exec_write(f->e, 0, f->b, pack == HPC_PLANES ? f->planes : f->plain, bytes));
    test_ok(hpc_exec_write(f->e, 0, index, (int32_t[]){N - 1, 0, 7}, 3 * sizeof(int32_t)));
}

static void stop(fixture *f)
{
    hpc_exec_close(f->e);
    hpc_program_free(f->p);
}

/* The last `live` rows of x, of most: their products with b. */
static void multiply(float *y, fixture *f, int most, int live)
{
    float *a = hpc_alloc((size_t)most * K, sizeof *a);
    assert_non_null(a);
    for (int i = 0; i < most * K; i++) a[i] = NAN;
    memcpy(a, f->x + (M - live) * K, (size_t)(live * K) * sizeof *a);
    int32_t count = live;
    test_ok(hpc_exec_write(f->e, 0, f->count, &count, sizeof count));
    test_ok(hpc_exec_write(f->e, 0, f->a, a, (size_t)most * K * sizeof *a));
    test_ok(hpc_exec_run(f->e, 0, 0));
    float *all = hpc_alloc((size_t)most * N, sizeof *all);
    test_ok(hpc_exec_read(f->e, 0, f->y, all, (size_t)most * N * sizeof *all));
    memcpy(y, all, (size_t)(live * N) * sizeof *y);
    hpc_free(all);
    hpc_free(a);
}

/* ---- tests --------------------------------------------------------------------------- */

/* Element k of a row that is rounded to integers of magnitude up to 127. */
static double rounded(const float *x, int k)
{
    float top = 0;
    for (int i = k / 32 * 32; i < k / 32 * 32 + 32; i++) top = fmaxf(top, fabsf(x[i]));
    return (double)(top / 127) * (double)rintf(x[k] * (127 / top));
}

static void check_sums(const fixture *f, const float *y, int rows, hpc_dtype d)
{
    for (int i = M - rows; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0, size = 0;
            for (int k = 0; k < K; k++) {
                double term = rounded(f->x + i * K, k) * (double)f->weight[j * K + k];
                sum += term, size += fabs(term);
            }
            if (fabs((double)y[i * N + j] - sum) > 2e-6 * size)
                fail_msg("%s: element %d,%d is %.9g, expected %.9g", hpc_dtype_get(d)->name, i, j,
                         (double)y[i * N + j], sum);
        }
}

/* Few rows and many are other kernels; the bits of a row are the same. */
static void check_rows(fixture *f, const float *all, int most, int live)
{
    float y[M * N];
    multiply(y, f, most, live);
    assert_memory_equal(y, all + (M - live) * N, (size_t)(live * N) * sizeof *y);
}

static void rows_have_the_same_bits_in_any_number(void **state)
{
    fixture *f = *state;
    float all[M * N];
    for (int k = 0; k < FORMATS; k++) {
        draw(f, formats[k], (uint64_t)k);
        const int most = k < 2 ? M : SOME; /* two tiles of rows, or one */
        start(f, formats[k], HPC_PLANES, most);
        multiply(all + (M - most) * N, f, most, most);
        check_sums(f, all, most, formats[k]);
        check_rows(f, all, most, 9);
        check_rows(f, all, most, 1);
        stop(f);
        start(f, formats[k], k % 2 ? HPC_PLANES : HPC_PLAIN, 8);
        check_rows(f, all, 8, k % 2 ? 8 : 3);
        stop(f);
    }
}

static void rows_are_gathered_from_planes(void **state)
{
    static const int wanted[] = {N - 1, 0, 7};
    fixture *f = *state;
    float y[M * N], rows[3 * K];
    for (int k = 0; k < FORMATS; k++) {
        draw(f, formats[k], (uint64_t)k + 20);
        start(f, formats[k], HPC_PLANES, 8);
        multiply(y, f, 8, 0);
        test_ok(hpc_exec_read(f->e, 0, f->rows, rows, sizeof rows));
        for (int i = 0; i < 3 * K; i++) {
            const float x = f->weight[wanted[i / K] * K + i % K];
            if (fabsf(rows[i] - x) > 1e-5f * fabsf(x) + 1e-6f)
                fail_msg("%s: element %d of row %d is %.9g, expected %.9g",
                         hpc_dtype_get(formats[k])->name, i % K, wanted[i / K], (double)rows[i],
                         (double)x);
        }
        stop(f);
    }
}

static int open_fixture(void **state)
{
    fixture *f = hpc_alloc(1, sizeof *f);
    assert_non_null(f);
    f->d = open_shim();
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    fixture *f = *state;
    hpc_device_close(f->d);
    hpc_free(f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_the_same_bits_in_any_number),
        cmocka_unit_test(rows_are_gathered_from_planes),
    };
    return cmocka_run_group_tests_name("cuda/blocks", tests, open_fixture, close_fixture);
}
