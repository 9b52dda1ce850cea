/*
 * sample.c: candidate tokens equal those of a definition by sorting, frequencies match
 * probabilities, and the same random number draws the same token.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/engine/sample.h"
#include "tests/support/values.h"

enum { VOCAB = 97, MANY = 20000 };

static hpc_sampler *sampler(int64_t vocab)
{
    hpc_sampler *s;
    test_ok(hpc_sampler_create(&s, vocab));
    return s;
}

static int32_t choose(hpc_sampler *s, const hpc_sampling *how, const hpc_choice *from)
{
    int32_t token = -1;
    test_ok(hpc_sampling_check(how));
    test_ok(hpc_sampler_draw(s, how, from, &token, NULL));
    return token;
}

/* ---- the definition -------------------------------------------------------------------------- */

typedef struct entry {
    double p;
    int token;
} entry;

static int by_probability(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->p != y->p) return x->p < y->p ? 1 : -1;
    return x->token - y->token;
}

static void normalise(entry *e, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += e[k].p;
    for (int k = 0; k < n; k++) e[k].p /= sum;
}

/* Probabilities of all tokens, one step after the other; how many are left. */
static int define(double *p, const hpc_sampling *how, const hpc_choice *from)
{
    entry e[VOCAB];
    int n = 0;

    for (int t = 0; t < VOCAB; t++) {
        double x = (double)from->logits[t];
        bool came = false;
        p[t] = 0;
        if (from->allowed && !(from->allowed[t / 32] >> (t % 32) & 1)) continue;
        for (int64_t k = 0; k < from->past_n; k++)
            if (from->past[k] == t &&
                (how->repeat_last < 0 || k >= from->past_n - how->repeat_last))
                came = true;
        if (came) x = x > 0 ? x / how->repeat : x * how->repeat;
        if (x > -INFINITY) e[n++] = (entry){exp(x / how->temperature), t};
    }
    qsort(e, (size_t)n, sizeof *e, by_probability);
    if (how->top_k > 0 && how->top_k < n) n = (int)how->top_k;
    normalise(e, n);
    double reached = 0, top = e[0].p;
    for (int k = 0; k < n; k++) {
        if (k > 0 && ((how->top_p < 1 && reached >= how->top_p) || e[k].p < how->min_p * top))
            n = k;
        reached += e[k].p;
    }
    normalise(e, n);
    for (int k = 0; k < n; k++) p[e[k].token] = e[k].p;
    return n;
}

/* Pearson's statistic of what is drawn against it: its mean is the number of kinds less one, its
 * variance twice that. Six deviations: once in millions of seeds, and the seed is fixed. */
static void follows(const hpc_sampling *how, const hpc_choice *from)
{
    hpc_sampler *s = sampler(VOCAB);
    double p[VOCAB], off = 0, freedom = -1;
    int count[VOCAB] = {0};
    hpc_choice c = *from;

    define(p, how, from);
    for (int k = 0; k < MANY; k++) {
        c.position = (uint32_t)k;
        count[choose(s, how, &c)]++;
    }
    for (int t = 0; t < VOCAB; t++) {
        double want = p[t] * MANY;
        if (p[t] == 0) assert_int_equal(count[t], 0);
        if (want < 5) continue;
        off += (count[t] - want) * (count[t] - want) / want;
        freedom++;
    }
    assert_true(freedom < 1 || off < freedom + 6 * sqrt(2 * freedom) + 6);
    hpc_sampler_free(s);
}

static void logits_of(float *x, uint32_t seed, double scale)
{
    double d[VOCAB];
    hpc_test_draw(d, VOCAB, seed, scale);
    for (int t = 0; t < VOCAB; t++) x[t] = (float)d[t];
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void what_is_drawn_follows_the_definition(void **state)
{
    static const hpc_sampling cases[] = {
        {.temperature = 1, .top_p = 1, .repeat = 1, .seed = 1},
        {.temperature = 0.5, .top_p = 1, .repeat = 1, .seed = 2},
        {.temperature = 1, .top_k = 5, .top_p = 1, .repeat = 1, .seed = 3},
        {.temperature = 1, .top_p = 0.9, .repeat = 1, .seed = 4},
        {.temperature = 1, .top_p = 1, .min_p = 0.2, .repeat = 1, .seed = 5},
        {.temperature = 2,
         .top_k = 40,
         .top_p = 0.6,
         .min_p = 0.1,
         .repeat = 1.3,
         .seed = 6,
         .repeat_last = -1},
        {.temperature = 1, .top_k = 500, .top_p = 0.01, .repeat = 1, .seed = 7},
        {.temperature = 1, .top_p = 1, .repeat = 0.5, .repeat_last = 2, .seed = 8}};
    static const int32_t past[] = {3, 3, 50, 96, 7};
    uint32_t allowed[(VOCAB + 31) / 32] = {0};
    float x[VOCAB];

    (void)state;
    for (int t = 0; t < VOCAB; t += 3) allowed[t / 32] |= 1u << (t % 32);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        logits_of(x, (uint32_t)k + 1, 3);
        x[11] = x[12] = x[13]; /* equals */
        x[40] = -INFINITY;
        hpc_choice all = {.logits = x, .past = past, .past_n = 5};
        hpc_choice some = all;
        some.allowed = allowed;
        follows(cases + k, &all);
        follows(cases + k, &some);
    }
}

/* The set, on logits of all kinds: every token of it comes up, and no other. */
static void the_set_is_the_definitions(void **state)
{
    hpc_sampler *s = sampler(VOCAB);
    float x[VOCAB];
    double p[VOCAB];

    (void)state;
    for (uint32_t round = 0; round < 200; round++) {
        hpc_sampling how = {.temperature = 0.2 + round % 7,
                            .top_k = round % 5 * 9,
                            .top_p = round % 3 == 0 ? 1 : 0.3 + 0.2 * (round % 4),
                            .min_p = round % 2 ? 0.05 : 0,
                            .repeat = 1,
                            .seed = round};
        logits_of(x, round + 100, 1 + round % 6);
        hpc_choice c = {.logits = x};
        define(p, &how, &c);
        for (uint32_t k = 0; k < 300; k++) {
            c.sample = k % 3, c.position = k;
            assert_true(p[choose(s, &how, &c)] > 0);
        }
    }
    hpc_sampler_free(s);
}

static void the_likeliest(void **state)
{
    hpc_sampler *s = sampler(VOCAB);
    hpc_sampling greedy = hpc_sampling_greedy(), one = greedy;
    float x[VOCAB] = {0};

    (void)state;
    one.temperature = 1, one.top_k = 1;
    x[30] = x[60] = 2;
    hpc_choice c = {.logits = x, .past = (const int32_t[]){30}, .past_n = 1};
    assert_int_equal(choose(s, &greedy, &c), 30);
    assert_int_equal(choose(s, &one, &c), 30);
    greedy.repeat = 1.1;
    assert_int_equal(choose(s, &greedy, &c), 60);
    uint32_t allowed[(VOCAB + 31) / 32] = {1u << 5};
    c.allowed = allowed;
    assert_int_equal(choose(s, &greedy, &c), 5);
    hpc_sampler_free(s);
}

/* Cold enough, drawing is choosing the likeliest; far apart, nothing overflows. */
static void the_ends(void **state)
{
    hpc_sampler *s = sampler(VOCAB);
    float x[VOCAB];

    (void)state;
    for (int t = 0; t < VOCAB; t++) x[t] = t == 17 ? 3e38f : -3e38f;
    hpc_choice c = {.logits = x};
    hpc_sampling how = {.temperature = 1e-30, .top_p = 1, .repeat = 1};
    float logprob = 1;
    int32_t token;
    test_ok(hpc_sampler_draw(s, &how, &c, &token, &logprob));
    assert_int_equal(token, 17);
    assert_true(logprob == 0);
    logits_of(x, 9, 1);
    x[80] = 20;
    assert_int_equal(choose(s, &how, &c), 80);
    for (int t = 0; t < VOCAB; t++) x[t] = 1e30f;
    how.temperature = 100, how.top_p = 0.5;
    assert_true(choose(s, &how, &c) < (VOCAB + 1) / 2 + 1);
    hpc_sampler_free(s);
}

/* An answer's numbers are its own: position and sample decide, not what was asked before. */
static void numbers_are_a_function_of_place(void **state)
{
    hpc_sampler *s = sampler(VOCAB), *other = sampler(VOCAB);
    hpc_sampling how = {.temperature = 1, .top_p = 0.95, .repeat = 1, .seed = 12};
    float x[VOCAB];
    int same = 0;

    (void)state;
    logits_of(x, 2, 1);
    for (uint32_t k = 64; k-- > 0;) {
        hpc_choice c = {.logits = x, .position = k}, d = c;
        d.sample = 1;
        int32_t token = choose(s, &how, &c);
        assert_int_equal(token, choose(other, &how, &c));
        same += token == choose(s, &how, &d);
    }
    assert_in_range(same, 0, 32);
    hpc_sampler_free(s);
    hpc_sampler_free(other);
}

static void logprobs_are_the_models(void **state)
{
    hpc_sampler *s = sampler(VOCAB);
    hpc_sampling how = {.temperature = 3, .top_k = 4, .top_p = 1, .repeat = 2, .repeat_last = -1};
    float x[VOCAB], logprob;
    double sum = 0;
    int32_t token;

    (void)state;
    logits_of(x, 4, 2);
    for (int t = 0; t < VOCAB; t++) sum += exp((double)x[t]);
    hpc_choice c = {.logits = x, .past = (const int32_t[]){1, 2}, .past_n = 2};
    test_ok(hpc_sampler_draw(s, &how, &c, &token, &logprob));
    assert_float_equal(logprob, log(exp((double)x[token]) / sum), 1e-5);
    hpc_sampler_free(s);
}

static void what_cannot_be_is_refused(void **state)
{
    hpc_sampler *s = sampler(VOCAB);
    hpc_sampling good = hpc_sampling_greedy(), bad;
    float x[VOCAB] = {0};
    uint32_t none[(VOCAB + 31) / 32] = {0};
    hpc_choice c = {.logits = x};
    int32_t token;

    (void)state;
    bad = good, bad.temperature = -1;
    test_fails(hpc_sampling_check(&bad), HPC_E_ARG, "temperature -1");
    bad = good, bad.temperature = NAN;
    test_fails(hpc_sampling_check(&bad), HPC_E_ARG, "temperature");
    bad = good, bad.top_k = -2;
    test_fails(hpc_sampling_check(&bad), HPC_E_ARG, "top-k -2");
    bad = good, bad.top_p = 0;
    test_fails(hpc_sampling_check(&bad), HPC_E_ARG, "top-p 0");
    bad = good, bad.min_p = 1.5;
    test_fails(hpc_sampling_check(&bad), HPC_E_ARG, "min-p 1.5");
    bad = good, bad.repeat = 0;
    test_fails(hpc_sampling_check(&bad), HPC_E_ARG, "penalty 0");
    bad = good, bad.repeat_last = -2;
    test_fails(hpc_sampling_check(&bad), HPC_E_ARG, "-2 tokens");
    x[33] = NAN;
    test_fails(hpc_sampler_draw(s, &good, &c, &token, NULL), HPC_E_FORMAT, "token 33 is NaN");
    x[33] = INFINITY;
    test_fails(hpc_sampler_draw(s, &good, &c, &token, NULL), HPC_E_FORMAT, "token 33 is infinity");
    x[33] = 0, c.allowed = none;
    test_fails(hpc_sampler_draw(s, &good, &c, &token, NULL), HPC_E_STATE, "no token is left");
    hpc_sampler *nothing;
    test_fails(hpc_sampler_create(&nothing, 0), HPC_E_ARG, "vocabulary of 0");
    assert_null(nothing);
    hpc_sampler_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_drawn_follows_the_definition),
        cmocka_unit_test(the_set_is_the_definitions),
        cmocka_unit_test(the_likeliest),
        cmocka_unit_test(the_ends),
        cmocka_unit_test(numbers_are_a_function_of_place),
        cmocka_unit_test(logprobs_are_the_models),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
