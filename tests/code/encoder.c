/*
 * Tests of infer/code: the encoder learns what only typed edges show, and neither threads nor an
 * earlier training change a bit.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "infer/code/encoder.h"
#include "tests/support/expect.h"

enum { N = 64 };
static const hpc_encoder_options small = {.width = 8,
                                          .layers = 2,
                                          .labels = 64,
                                          .epochs = 40,
                                          .rate = 1e-2,
                                          .decay = 1e-2,
                                          .seed = 3,
                                          .threads = 1};

typedef struct set {
    hpc_code_graph graph[N];
    hpc_encoder_sample sample[N];
} set;

/* Both kinds of loops have the same tokens except for names, which have no label. Only in those
 * with label 1 is a value carried from one iteration to the next. */
static void make(set *s)
{
    static const char *const names[] = {"a", "b", "x", "y", "u", "v", "p", "q"};
    hpc_tokens t = {0};
    for (int k = 0; k < N; k++) {
        const char *to = names[k % 8], *other = names[(k + 1 + k / 8 % 7) % 8];
        char text[256] = "";
        snprintf(text, sizeof text, "for (int i = 1; i < n; i++) { %s[i] = %s[i - 1] * %d; }", to,
                 k % 2 ? to : other, k % 5);
        test_ok(hpc_lex(&t, text, strlen(text), HPC_LANGUAGE_C, false));
        test_ok(hpc_code_graph_of(&s->graph[k], &t, text, 0, strlen(text), HPC_LANGUAGE_C));
        s->sample[k] = (hpc_encoder_sample){&s->graph[k], k % 2};
    }
    hpc_tokens_release(&t);
}

static void release(set *s)
{
    for (int k = 0; k < N; k++) hpc_code_graph_release(&s->graph[k]);
}

static void typed_edges_are_learned(void **state)
{
    (void)state;
    set s = {0};
    hpc_encoder *e;
    double loss, score[N];
    int right = 0;
    make(&s);
    test_ok(hpc_encoder_open(&e, &small));
    test_ok(hpc_encoder_train(&loss, e, s.sample, N / 2));
    test_ok(hpc_encoder_score(score, e, s.sample, N));
    for (int k = N / 2; k < N; k++) right += (score[k] > 0) == k % 2;
    assert_true(loss < 0.1);
    assert_int_equal(right, N / 2);
    hpc_encoder_close(e);
    release(&s);
}

static void threads_and_earlier_trainings_change_no_bit(void **state)
{
    (void)state;
    set s = {0};
    hpc_encoder_options o = small;
    double loss, score[3][N];
    make(&s);
    o.epochs = 2;
    for (int r = 0; r < 2; r++) {
        hpc_encoder *e;
        o.threads = r ? 3 : 1;
        test_ok(hpc_encoder_open(&e, &o));
        for (int k = 0; k <= r; k++) {
            test_ok(hpc_encoder_train(&loss, e, s.sample, N));
            test_ok(hpc_encoder_score(score[r + k], e, s.sample, N));
        }
        hpc_encoder_close(e);
    }
    assert_memory_equal(score[0], score[1], sizeof score[0]);
    assert_memory_equal(score[0], score[2], sizeof score[0]);
    release(&s);
}

static void a_score_does_not_depend_on_its_batch(void **state)
{
    (void)state;
    set s = {0};
    hpc_encoder *e;
    double all[N], one;
    make(&s);
    test_ok(hpc_encoder_open(&e, &small));
    test_ok(hpc_encoder_score(all, e, s.sample, N));
    test_ok(hpc_encoder_score(&one, e, &s.sample[N - 1], 1));
    assert_float_equal(all[N - 1], one, 1e-5);
    hpc_encoder_close(e);
    release(&s);
}

static void impossible_sizes_are_rejected(void **state)
{
    (void)state;
    hpc_encoder_options o = small;
    hpc_encoder *e;
    o.layers = HPC_ENCODER_LAYERS + 1;
    test_fails(hpc_encoder_open(&e, &o), HPC_E_ARG, "layers");
}

static void training_needs_a_sample(void **state)
{
    (void)state;
    hpc_encoder *e;
    double loss = 1;
    test_ok(hpc_encoder_open(&e, &small));
    test_fails(hpc_encoder_train(&loss, e, NULL, 0), HPC_E_ARG, "no samples to train on");
    hpc_encoder_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typed_edges_are_learned),
        cmocka_unit_test(threads_and_earlier_trainings_change_no_bit),
        cmocka_unit_test(a_score_does_not_depend_on_its_batch),
        cmocka_unit_test(impossible_sizes_are_rejected),
        cmocka_unit_test(training_needs_a_sample),
    };
    return cmocka_run_group_tests_name("code/encoder", tests, NULL, NULL);
}
