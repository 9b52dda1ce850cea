/*
 * shingle.c: signatures, exact similarity, windows and sorting, compared with plain definitions.
 */
/* tsan: left out, starts no thread. */
#include "tests/corpus/edits.h"

#include <math.h>

#include "corpus/shingle.h"
#include "tests/support/fault.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static void sign_text(corpus_signature *out, const char *text)
{
    corpus_code c = {0};
    code_of_text(&c, text, strlen(text));
    corpus_sign(out, &c);
    corpus_code_release(&c);
}

static bool same_signature(const corpus_signature *a, const corpus_signature *b)
{
    return a->shingles == b->shingles && memcmp(a->lane, b->lane, sizeof a->lane) == 0;
}

static void comments_and_space_do_not_matter(void **state)
{
    (void)state;
    corpus_signature a, b, c;
    sign_text(&a, "int f(int n) { return n * 2; } // twice\n");
    sign_text(&b, "/* GPL */\nint f( int n )\n{\n\treturn n*2;\n}\n");
    sign_text(&c, "int f(int n) { return n * 3; }\n");
    assert_true(same_signature(&a, &b));
    assert_int_equal(a.shingles, 9); /* 13 tokens */
    assert_false(same_signature(&a, &c));
    assert_true(corpus_similarity(&a, &b) == 1);
    assert_true(corpus_similarity(&a, &c) < 0.6);
}

/* No tokens, fewer than a shingle has, exactly one, and one again and again. */
static void short_texts(void **state)
{
    (void)state;
    corpus_signature none, comment, one, other, five, many;
    sign_text(&none, "");
    sign_text(&comment, "/* only this */");
    sign_text(&one, "int x;");
    sign_text(&other, "int y;");
    sign_text(&five, "a + b + c");
    sign_text(&many, "x x x x x x x x x x x x x x x x x");
    assert_int_equal(none.shingles, 0);
    assert_true(same_signature(&none, &comment));
    assert_true(corpus_similarity(&none, &comment) == 1);
    assert_true(corpus_similarity(&none, &one) == 0);
    assert_int_equal(one.shingles, 1);
    assert_true(corpus_similarity(&one, &other) == 0);
    assert_true(corpus_similarity(&one, &one) == 1);
    assert_int_equal(five.shingles, 1);
    assert_int_equal(many.shingles, 1);
}

static void similarity_of(double *estimate, double *exact, const corpus_code *a,
                          const corpus_code *b)
{
    corpus_signature x, y;
    corpus_sign(&x, a);
    corpus_sign(&y, b);
    *estimate = corpus_similarity(&x, &y);
    *exact = exact_similarity_of(a, b);
    assert_true(*estimate == corpus_similarity(&y, &x));
}

/* One lane in 128 more or less is the standard deviation of about 0.04 that theory gives. */
static void estimates_are_close(void **state)
{
    (void)state;
    static const int64_t length[] = {20, 60, 200, 600, 2000};
    hpc_buf a = {0}, b = {0};
    corpus_code s = {0}, t = {0};
    double squares = 0, bias = 0;
    int n = 0;
    for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
        for (uint32_t seed = 0; seed < 40; seed++) {
            edit e = {.rename = 0.02 * (seed % 5), .insert = 0.04 * (seed % 3), .comment = 0.1};
            double estimate, exact;
            make_program(&a, 1000 * k + seed, length[k]);
            edit_program(&b, &a, &e, seed);
            code_of(&s, &a);
            code_of(&t, &b);
            similarity_of(&estimate, &exact, &s, &t);
            if (fabs(estimate - exact) > 0.2) fail_msg("%g, estimated as %g", exact, estimate);
            squares += (estimate - exact) * (estimate - exact);
            bias += estimate - exact;
            n++;
        }
    }
    assert_true(sqrt(squares / n) < 0.045);
    assert_true(fabs(bias / n) < 0.01);
    hpc_buf_release(&a);
    hpc_buf_release(&b);
    corpus_code_release(&s);
    corpus_code_release(&t);
}

/* Names one after the other, no two alike. */
static void make_code(corpus_code *c, int64_t n, uint32_t first)
{
    hpc_tokens t = {0};
    assert_int_equal(hpc_grow(&t.item, &t.cap, n, sizeof *t.item), 0);
    t.n = n;
    for (int64_t i = 0; i < n; i++)
        t.item[i] = (hpc_token){.hash = (uint32_t)hpc_mix(first + (uint64_t)i)};
    assert_int_equal(corpus_code_of(c, &t), 0);
    hpc_tokens_release(&t);
}

static void counts_of_shingles(void **state)
{
    (void)state;
    static const int64_t length[] = {5, 6, 100, 4000, 4100, 4101, 5000, 20000, 300000};
    corpus_code c = {0};
    corpus_signature s;
    for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
        make_code(&c, length[k], 7);
        corpus_sign(&s, &c);
        double n = (double)length[k] - 4;
        if (n <= 32) assert_true(s.shingles == n);
        if (fabs(s.shingles - n) > (n < 100000 ? 0.015 : 0.05) * n)
            fail_msg("%g counted as %u", n, s.shingles);
    }
    corpus_code_release(&c);
}

/* Sets of tokens that overlap by a known share. */
static void exact_similarity(void **state)
{
    (void)state;
    corpus_code a = {0}, b = {0};
    make_code(&a, 104, 0);
    make_code(&b, 104, 50); /* 100 shingles each, 50 in common */
    assert_true(exact_similarity_of(&a, &b) == 50.0 / 150);
    b.n = 0;
    assert_true(exact_similarity_of(&a, &b) == 0);
    a.n = 0;
    assert_true(exact_similarity_of(&a, &b) == 1);
    corpus_code_release(&a);
    corpus_code_release(&b);
}

static int code_of_tokens(void *user)
{
    corpus_code c = {0};
    int rc = corpus_code_of(&c, user);
    corpus_code_release(&c);
    return rc;
}

static void out_of_memory(void **state)
{
    (void)state;
    hpc_tokens t = {0};
    hpc_buf text = {0};
    make_program(&text, 1, 3000);
    tokens_of(&t, &text);
    assert_true(hpc_test_each_alloc(code_of_tokens, &t) >= 2);
    hpc_tokens_release(&t);
    hpc_buf_release(&text);
}

/* The definition, from the tokens that are code, one window after the other. */
static uint64_t window_of(const hpc_tokens *t, int64_t last)
{
    uint64_t sum = 0, power = 1;
    for (int n = 0; n < CORPUS_SHINGLE; last--) {
        if (!hpc_token_is_code(&t->item[last])) continue;
        sum += t->item[last].hash * power;
        power *= HPC_ROLL_BASE;
        n++;
    }
    return hpc_mix(sum);
}

/* At every length, to cover groups of eight and the remainder. */
static void shingles_are_windows(void **state)
{
    (void)state;
    enum { N = 60 };
    hpc_tokens t = {0};
    corpus_code c = {0};
    uint64_t made[N];
    assert_int_equal(hpc_grow(&t.item, &t.cap, N, sizeof *t.item), 0);
    for (int64_t i = 0; i < N; i++) t.item[i] = (hpc_token){.hash = (uint32_t)hpc_mix(i % 23)};
    t.item[10].kind = t.item[11].kind = t.item[40].kind = HPC_TOKEN_COMMENT;
    t.item[12].kind = HPC_TOKEN_NEWLINE;
    for (t.n = CORPUS_SHINGLE; t.n <= N; t.n++) {
        assert_int_equal(corpus_code_of(&c, &t), 0);
        int64_t n = c.n - CORPUS_SHINGLE + 1, last = t.n;
        corpus_shingles(made, &c, CORPUS_SHINGLE - 1, n);
        for (int64_t k = n; k-- > 0;) {
            do last--;
            while (!hpc_token_is_code(&t.item[last]));
            assert_true(made[k] == window_of(&t, last));
        }
    }
    corpus_code_release(&c);
    hpc_tokens_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(comments_and_space_do_not_matter, setup),
        cmocka_unit_test_setup(short_texts, setup),
        cmocka_unit_test_setup(estimates_are_close, setup),
        cmocka_unit_test_setup(counts_of_shingles, setup),
        cmocka_unit_test_setup(exact_similarity, setup),
        cmocka_unit_test_setup(out_of_memory, setup),
        cmocka_unit_test_setup(shingles_are_windows, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
