/*
 * random.c: published values of Philox, seeking, splitting over threads, distributions, and the
 * bits of normals, which every build must reproduce.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/base.h"

typedef void (*fill_fn)(float *out, int64_t n, uint64_t seed, uint32_t tensor, uint32_t step,
                        uint64_t first);
static const fill_fn fills[] = {hpc_random_fill_uniform, hpc_random_fill_normal};

/* From the kat_vectors of Random123: counter, key, answer of philox4x32-10. */
static void known_answers(void **state)
{
    (void)state;
    static const uint32_t vector[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        const uint32_t *v = vector[i];
        uint64_t block = (uint64_t)v[1] << 32 | v[0], seed = (uint64_t)v[5] << 32 | v[4];
        uint32_t out[4];
        hpc_random_block(out, seed, v[2], v[3], block);
        assert_memory_equal(out, v + 6, sizeof out);
    }
}

static void elements_are_lanes_of_blocks(void **state)
{
    (void)state;
    const uint64_t starts[] = {0, 1000, ((uint64_t)1 << 34) - 8, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        float uniform[8];
        hpc_random_fill_uniform(uniform, 8, 7, 8, 9, starts[i]);
        for (uint64_t j = 0; j < 8; j++) {
            uint32_t out[4], bits = hpc_random_bits(7, 8, 9, starts[i] + j);
            hpc_random_block(out, 7, 8, 9, (starts[i] + j) / 4);
            assert_int_equal(bits, out[j % 4]);
            assert_true(uniform[j] == hpc_random_uniform(bits));
            assert_int_equal(hpc_random_half(7, 8, 9, (starts[i] + j) / 2),
                             hpc_random_bits(7, 8, 9, (starts[i] + j) / 4) >>
                                     ((starts[i] + j) / 2 % 2 * 16) &
                                 0xffff);
        }
    }
}

static void uniform_is_below_one(void **state)
{
    (void)state;
    assert_true(hpc_random_uniform(0) == 0.0f);
    assert_true(hpc_random_uniform(0xff) == 0.0f);
    assert_true(hpc_random_uniform(0x100) == 0x1p-24f);
    assert_true(hpc_random_uniform(0x80000000) == 0.5f);
    assert_true(hpc_random_uniform(UINT32_MAX) == 1.0f - 0x1p-24f);
}

/* Any piece of a fill, cut anywhere, has the bits of the whole, and nothing else is written. */
static void any_split_gives_the_same_bits(void **state)
{
    (void)state;
    enum { N = 331 };
    const uint64_t base = ((uint64_t)1 << 34) - 101; /* the block number crosses 32 bits */
    float whole[N], part[N + 2];
    for (size_t f = 0; f < 2; f++) {
        fills[f](whole, N, 1, 2, 3, base);
        for (int64_t lo = 0; lo < N; lo += 1 + lo / 16) {
            for (int64_t hi = lo; hi <= N; hi += 1 + hi / 8) {
                for (int64_t i = 0; i < N + 2; i++) part[i] = -77.0f;
                fills[f](part + 1, hi - lo, 1, 2, 3, base + (uint64_t)lo);
                assert_true(part[0] == -77.0f && part[hi - lo + 1] == -77.0f);
                assert_memory_equal(part + 1, whole + lo, (size_t)(hi - lo) * sizeof *part);
            }
        }
    }
}

static void keys_give_other_numbers(void **state)
{
    (void)state;
    const uint64_t keys[][3] = {{1, 2, 3}, {(uint64_t)1 << 32, 2, 3}, {2, 1, 3}, {1, 3, 2}};
    float out[4][64];
    for (int i = 0; i < 4; i++) {
        hpc_random_fill_uniform(out[i], 64, keys[i][0], (uint32_t)keys[i][1], (uint32_t)keys[i][2],
                                0);
        for (int j = 0; j < i; j++) {
            int same = 0;
            for (int k = 0; k < 64; k++) same += out[i][k] == out[j][k];
            assert_int_equal(same, 0);
        }
    }
}

/* FNV-1a over the bits: 64 thousand values in one number. */
static uint64_t digest(const float *x, int64_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        h = (h ^ bits) * 0x100000001b3u;
    }
    return h;
}

static void normals_have_the_same_bits_everywhere(void **state)
{
    (void)state;
    enum { N = 65536 };
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    hpc_random_fill_normal(x, N, 20240229, 5, 6, 0);
    assert_true(digest(x, N) == 0x1f866990c7db7343u);
    free(x);
}

/* Compared with libm: values rounded to float differ by at most one ulp. */
static void normals_are_accurate(void **state)
{
    (void)state;
    enum { N = 200000 };
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    hpc_random_fill_normal(x, N, 11, 22, 33, 0);
    for (uint64_t i = 0; i < N; i += 2) {
        double u = (hpc_random_bits(11, 22, 33, i) + 0.5) * 0x1p-32;
        double v = (hpc_random_bits(11, 22, 33, i + 1) + 0.5) * 0x1p-32;
        double r = sqrt(-2.0 * log(u)), t = 6.283185307179586 * v;
        double limit = 6.1e-8; /* half a unit in the last place, and a little */
        assert_true(fabs(x[i] - r * cos(t)) <= limit * fabs(r * cos(t)) + 1e-14);
        assert_true(fabs(x[i + 1] - r * sin(t)) <= limit * fabs(r * sin(t)) + 1e-14);
    }
    free(x);
}

/* Pearson's statistic of equally likely bins, in standard deviations from its mean. */
static double chi_square(const int64_t *count, int bins, int64_t n)
{
    double expected = (double)n / bins, sum = 0.0;
    for (int i = 0; i < bins; i++) sum += (count[i] - expected) * (count[i] - expected) / expected;
    return (sum - (bins - 1)) / sqrt(2.0 * (bins - 1));
}

/* The first four moments, within four standard errors of the exact ones. */
static void assert_moments(const float *x, int64_t n, const double want[4], const double spread[4])
{
    for (int k = 1; k <= 4; k++) {
        double sum = 0.0;
        for (int64_t i = 0; i < n; i++) sum += pow(x[i], k);
        assert_true(fabs(sum / n - want[k - 1]) < 4.0 * spread[k - 1] / sqrt((double)n));
    }
}

/* Correlation of neighbours at several distances, in standard errors. */
static void assert_uncorrelated(const float *x, int64_t n, double mean, double variance)
{
    for (int64_t lag = 1; lag <= 8; lag++) {
        double sum = 0.0;
        for (int64_t i = 0; i + lag < n; i++) sum += (x[i] - mean) * (x[i + lag] - mean);
        assert_true(fabs(sum / variance / sqrt((double)(n - lag))) < 4.0);
    }
}

enum { SAMPLES = 1 << 19, BINS = 256 };

static void uniforms_are_uniform(void **state)
{
    (void)state;
    int64_t count[BINS] = {0};
    float *x = malloc(SAMPLES * sizeof *x);
    assert_non_null(x);
    hpc_random_fill_uniform(x, SAMPLES, 3, 1, 4, 0);
    for (int64_t i = 0; i < SAMPLES; i++) {
        assert_true(x[i] >= 0.0f && x[i] < 1.0f);
        count[(int)(x[i] * BINS)]++;
    }
    assert_true(fabs(chi_square(count, BINS, SAMPLES)) < 4.0);
    const double want[4] = {1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5};
    double spread[4];
    for (int k = 1; k <= 4; k++) spread[k - 1] = k / ((k + 1.0) * sqrt(2.0 * k + 1.0));
    assert_moments(x, SAMPLES, want, spread);
    assert_uncorrelated(x, SAMPLES, 0.5, 1.0 / 12);
    free(x);
}

static void normals_are_normal(void **state)
{
    (void)state;
    int64_t count[BINS] = {0};
    float *x = malloc(SAMPLES * sizeof *x);
    assert_non_null(x);
    hpc_random_fill_normal(x, SAMPLES, 3, 1, 4, 0);
    for (int64_t i = 0; i < SAMPLES; i++) {
        assert_true(fabsf(x[i]) < 6.8f);
        int bin = (int)(0.5 * erfc(-x[i] / sqrt(2.0)) * BINS);
        count[bin < BINS ? bin : BINS - 1]++;
    }
    assert_true(fabs(chi_square(count, BINS, SAMPLES)) < 4.0);
    /* E x^k and the deviations of x^k: 1, sqrt 2, sqrt 15, sqrt 96. */
    assert_moments(x, SAMPLES, (const double[4]){0, 1, 0, 3},
                   (const double[4]){1.0, sqrt(2.0), sqrt(15.0), sqrt(96.0)});
    assert_uncorrelated(x, SAMPLES, 0.0, 1.0);
    free(x);
}

typedef struct job {
    float *out;
    int64_t n;
    fill_fn fill;
} job;

static int fill_share(int worker, int workers, void *user)
{
    const job *j = user;
    int64_t lo, hi;
    hpc_share(&lo, &hi, j->n, 7, worker, workers);
    j->fill(j->out + lo, hi - lo, 1, 2, 3, (uint64_t)lo);
    return 0;
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    enum { N = 10007 };
    static const int teams[] = {1, 2, 3, 7};
    float *want = malloc(N * sizeof *want), *got = malloc(N * sizeof *got);
    assert_true(want && got);
    for (size_t f = 0; f < 2; f++) {
        fills[f](want, N, 1, 2, 3, 0);
        for (size_t t = 0; t < 4; t++) {
            hpc_pool *pool;
            assert_int_equal(hpc_pool_create(&pool, teams[t]), 0);
            memset(got, 0, N * sizeof *got);
            assert_int_equal(hpc_pool_run(pool, fill_share, &(job){got, N, fills[f]}), 0);
            hpc_pool_free(pool);
            assert_memory_equal(got, want, N * sizeof *got);
        }
    }
    free(want);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(elements_are_lanes_of_blocks),
        cmocka_unit_test(uniform_is_below_one),
        cmocka_unit_test(any_split_gives_the_same_bits),
        cmocka_unit_test(keys_give_other_numbers),
        cmocka_unit_test(normals_have_the_same_bits_everywhere),
        cmocka_unit_test(normals_are_accurate),
        cmocka_unit_test(uniforms_are_uniform),
        cmocka_unit_test(normals_are_normal),
        cmocka_unit_test(threads_do_not_matter),
    };
    return cmocka_run_group_tests_name("base/random", tests, NULL, NULL);
}
