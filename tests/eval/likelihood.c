/*
 * Tests of likelihoods: of a model with known probabilities, and of the baselines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "eval/sets.h"
#include "tests/support/chain.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

static void near(double a, double b, double bound)
{
    assert_true(fabs(a - b) < bound);
}

/* "ab" or "cd" with equal probability, each followed by "ef", which is followed by either. */
static const hpc_test_phrase phrases[] = {
    {.text = "ab", .next = {3}}, {.text = "cd", .next = {3}}, {.text = "ef", .next = {1, 2}}};

/* 700 tokens in windows of 64: half of them cost one bit, the others none. */
static void model_windows_cover_a_long_text(void **state)
{
    enum { N = 700 };
    const hpc_likelihood_options o = {.threads = 1, .context = 64};
    char dir[PATH_MAX];
    hpc_model_files *files;
    hpc_tokenizer *t;
    hpc_likelihood *l;
    int32_t token[N];
    double bits[N];
    hpc_test_path(dir, *state, "model");
    hpc_test_chain(dir, phrases, 3);
    test_ok(hpc_model_files_open(&files, dir));
    test_ok(hpc_model_files_tokenizer(&t, files));
    test_ok(hpc_likelihood_open(&l, files, &o));
    for (int k = 0; k < N; k++)
        token[k] = hpc_tokenizer_find(t, k % 2 ? "ef" : k % 3 ? "ab" : "cd");
    test_ok(hpc_likelihood_text(bits, l, token, N, token[1]));
    for (int k = 0; k < N; k++) near(bits[k], k % 2 ? 0 : 1, 0.01);
    hpc_likelihood_close(l);
    hpc_tokenizer_close(t);
    hpc_model_files_close(files);
}

enum { VOCAB = 5 };
static const int32_t first_text[] = {1, 2, 3, 1, 2, 4, 1, 2, 3, 0, 2, 2};
static const int32_t second_text[] = {3, 1, 2, 3, 3, 3, 0};
#define LENGTH(a) ((int64_t)(sizeof(a) / sizeof *(a)))

static double total(const hpc_ngram *g, int32_t a, int32_t b, int32_t c, int32_t d)
{
    const int32_t context[4] = {a, b, c, d};
    double sum = 0;
    for (int32_t k = 0; k < VOCAB; k++) sum += hpc_ngram_probability(g, context, k);
    return sum;
}

static void ngram_probabilities_sum_to_one(void **state)
{
    hpc_ngram *g;
    (void)state;
    test_ok(hpc_ngram_create(&g, VOCAB));
    near(total(g, 0, 0, 0, 0), 1, 1e-12);
    test_ok(hpc_ngram_add(g, first_text, LENGTH(first_text), 0));
    test_ok(hpc_ngram_add(g, second_text, LENGTH(second_text), 0));
    for (int32_t a = 0; a < VOCAB; a++)
        for (int32_t b = 0; b < VOCAB; b++) {
            near(total(g, 1, 2, a, b), 1, 1e-12);
            near(total(g, a, 1, 2, b), 1, 1e-12);
        }
    hpc_ngram_free(g);
}

/* The text 1 2 1 2 over 3 tokens, after token 0. Unigrams count distinct left neighbours: 1 has 0
 * and 2, 2 has 1, so the sum is 3 and there are 2 types. */
static void ngram_follows_kneser_ney_by_hand(void **state)
{
    static const int32_t text[] = {1, 2, 1, 2};
    static const int32_t unknown[4] = {2, 2, 2, 0};
    hpc_ngram *g;
    (void)state;
    test_ok(hpc_ngram_create(&g, 3));
    test_ok(hpc_ngram_add(g, text, 4, 0));
    /* Unigram counts 2 and 1: once 1, twice 1, so d = 1/3. p(1) = (2 - d)/3 + d * 2/3 * 1/3. */
    double d = 1.0 / 3, p1 = (2 - d) / 3 + d * 2 / 3 / 3;
    /* Bigrams 01, 12, 21 count the distinct tokens before them: 01 has 0, 12 has 0 and 2, 21 has 1.
     * After 0 only 1 followed: sum 1, types 1; once 2, twice 1: d = 2/4. */
    double p01 = (1 - 0.5) / 1 + 0.5 * 1 * p1 / 1;
    near(hpc_ngram_probability(g, unknown, 1), p01, 1e-12);
    hpc_ngram_free(g);
}

static void removal_restores_the_ngram_model(void **state)
{
    hpc_ngram *a, *b;
    (void)state;
    test_ok(hpc_ngram_create(&a, VOCAB));
    test_ok(hpc_ngram_create(&b, VOCAB));
    test_ok(hpc_ngram_add(a, first_text, LENGTH(first_text), 0));
    test_ok(hpc_ngram_add(b, second_text, LENGTH(second_text), 0));
    test_ok(hpc_ngram_add(b, first_text, LENGTH(first_text), 0));
    hpc_ngram_remove(b, second_text, LENGTH(second_text), 0);
    double here[LENGTH(second_text)], there[LENGTH(second_text)];
    hpc_ngram_text(here, a, second_text, LENGTH(second_text), 0);
    hpc_ngram_text(there, b, second_text, LENGTH(second_text), 0);
    assert_memory_equal(here, there, sizeof here);
    hpc_ngram_free(a);
    hpc_ngram_free(b);
}

/* Token k of texts that differ only there: the probabilities of all values sum to 1. */
static void copy_probabilities_sum_to_one(void **state)
{
    int32_t text[LENGTH(first_text)];
    double bits[LENGTH(first_text)];
    (void)state;
    memcpy(text, first_text, sizeof text);
    for (int64_t at = 0; at < LENGTH(first_text); at++) {
        double sum = 0;
        for (int32_t k = 0; k < VOCAB; k++) {
            text[at] = k;
            test_ok(hpc_copy_text(bits, text, at + 1, VOCAB, 100));
            sum += exp2(-bits[at]);
        }
        near(sum, 1, 1e-12);
        text[at] = first_text[at];
    }
}

static void copy_learns_repetition(void **state)
{
    int32_t text[300];
    double bits[300], late = 0;
    (void)state;
    for (int k = 0; k < 300; k++) text[k] = k % 10;
    test_ok(hpc_copy_text(bits, text, 300, 1000, 100));
    for (int k = 200; k < 300; k++) late += bits[k];
    assert_true(late / 100 < 0.05);
    test_ok(hpc_copy_text(bits, text, 300, 1000, 5)); /* no repetition so near */
    assert_true(bits[299] > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(model_windows_cover_a_long_text, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test(ngram_probabilities_sum_to_one),
        cmocka_unit_test(ngram_follows_kneser_ney_by_hand),
        cmocka_unit_test(removal_restores_the_ngram_model),
        cmocka_unit_test(copy_probabilities_sum_to_one),
        cmocka_unit_test(copy_learns_repetition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
