/*
 * grammar_owed.c: required text comes first under every rule: masks equal those from trying every
 * token byte by byte, and the output is the required text followed by text that the rule accepts.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/fault.h"
#include "tests/support/grammar.h"
#include "tests/support/expect.h"

static const char *const files[] = {
    HPC_TEST_PILOT,
    "tests/fixtures/tokenizer/llama.model",
    "tests/fixtures/tokenizer/ours.model",
    "tests/fixtures/byte_level/gpt2.json",
    "tests/fixtures/byte_level/qwen2.json",
    "tests/fixtures/byte_level/deepseek_coder.json",
};
enum { FILES = sizeof files / sizeof *files };

static const struct {
    hpc_grammar_rule rule;
    const char *prefix;
    size_t owed;
} cases[] = {
    {{.kind = HPC_GRAMMAR_ANY}, "i < n; i+", 1},
    {{.kind = HPC_GRAMMAR_ANY}, "i = omp_get_nu", 11},
    {{.kind = HPC_GRAMMAR_ANY}, "x = ", 1},
    {{.kind = HPC_GRAMMAR_ANY}, "x = \"\u00e9t\u00e9", 6},
    {{.kind = HPC_GRAMMAR_BRACKETS, .closers = 0}, "f(a[i])", 2},
    {{.kind = HPC_GRAMMAR_BRACKETS, .closers = -1}, "for (i = 0; i < n; i+", 2},
    {{.kind = HPC_GRAMMAR_DIRECTIVE, .bare = true}, "#pragma omp paral", 6},
    {{.kind = HPC_GRAMMAR_JSON}, "{\"a\": tr", 3},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct owing {
    hpc_test_grammar b;
    const char *owed;
    size_t owed_n, prefix_n;
    hpc_buf text; /* with the required text */
} owing;

static void open_case(owing *x, int c)
{
    const hpc_grammar_options o = {.rule = cases[c].rule,
                                   .prefix = cases[c].prefix,
                                   .prefix_n = strlen(cases[c].prefix),
                                   .owed = cases[c].owed,
                                   .end = &x->b.end,
                                   .end_n = 1,
                                   .masks = 8};
    x->prefix_n = o.prefix_n;
    x->owed_n = o.owed;
    x->owed = o.prefix + o.prefix_n - o.owed;
    x->text.n = 0;
    test_ok(hpc_grammar_create(&x->b.g, x->b.v, &o));
    assert_int_equal(hpc_grammar_owes(x->b.g), o.owed);
}

/* Does the continuation match the rest of the required text, and does the rule accept
 * what follows? */
static bool fits(const owing *x, int c, const char *more, size_t n, bool *complete)
{
    char all[8192];
    size_t m = x->text.n + n, k = m < x->owed_n ? m : x->owed_n;

    assert_true(m < sizeof all);
    memcpy(all, x->text.data ? x->text.data : "", x->text.n);
    memcpy(all + x->text.n, more, n);
    *complete = false;
    if (memcmp(all, x->owed, k) != 0) return false;
    bool taken =
        hpc_grammar_accepts(&cases[c].rule, cases[c].prefix, x->prefix_n, all + k, m - k, complete);
    *complete = *complete && m >= x->owed_n;
    return taken;
}

static void is_as_tried(const owing *x, int c, const uint32_t *bits)
{
    bool complete;

    for (int32_t t = 0; t < hpc_tokenizer_n(x->b.t); t++) {
        size_t n;
        const char *text = hpc_vocabulary_text(x->b.v, t, &n);
        bool may = n > 0 && fits(x, c, text, n, &complete);
        if (t == x->b.end) may = fits(x, c, "", 0, &complete) && complete;
        if (may != hpc_test_grammar_is_in(bits, t))
            print_error("case %d, behind \"%.*s\": token %d, %d\n", c, (int)x->text.n,
                        x->text.data ? x->text.data : "", t, may);
        assert_int_equal(hpc_test_grammar_is_in(bits, t), may);
    }
}

static void masks_are_as_tried(void **state)
{
    enum { WAYS = 6, STEPS = 8 };
    int paid = 0, passed = 0;
    owing x = {0};

    (void)state;
    for (int f = 0; f < FILES; f++) {
        hpc_test_grammar_begin(&x.b, files[f]);
        for (int c = 0; c < CASES * WAYS; c++) {
            open_case(&x, c / WAYS);
            for (int k = 0; k < STEPS; k++) {
                size_t n, owes = hpc_grammar_owes(x.b.g);
                const uint32_t *bits = hpc_grammar_allowed(x.b.g);
                is_as_tried(&x, c / WAYS, bits);
                x.b.made = k;
                int32_t token = hpc_test_grammar_draw(&x.b, bits, (uint32_t)c + 100);
                if (token == x.b.end) break;
                const char *text = hpc_vocabulary_text(x.b.v, token, &n);
                test_ok(hpc_grammar_take(x.b.g, token));
                test_ok(hpc_buf_add(&x.text, text, n));
                assert_int_equal(hpc_grammar_owes(x.b.g), owes > n ? owes - n : 0);
                paid += owes > 0 && n == owes;
                passed += owes > 0 && n > owes;
            }
            hpc_grammar_free(x.b.g);
        }
        hpc_test_grammar_end(&x.b);
    }
    hpc_buf_release(&x.text);
    assert_true(paid > 20 && passed > 20); /* some end with it, some continue after it */
}

static void what_is_owed_binds(void **state)
{
    owing x = {0};

    (void)state;
    hpc_test_grammar_begin(&x.b, HPC_TEST_PILOT);
    const int32_t plus = hpc_tokenizer_find(x.b.t, "+"), inc = hpc_tokenizer_find(x.b.t, "++)");
    const int32_t other = hpc_tokenizer_find(x.b.t, "-");
    assert_true(plus >= 0 && inc >= 0 && other >= 0);
    open_case(&x, 0);
    assert_false(hpc_grammar_may_end(x.b.g));
    assert_false(hpc_grammar_is_over(x.b.g));
    assert_true(hpc_grammar_allowed(x.b.g) == hpc_grammar_allowed(x.b.g));
    assert_true(hpc_test_grammar_is_in(hpc_grammar_allowed(x.b.g), plus));
    assert_true(hpc_test_grammar_is_in(hpc_grammar_allowed(x.b.g), inc));
    test_fails(hpc_grammar_take(x.b.g, other), HPC_E_STATE, "by the text");
    test_fails(hpc_grammar_take(x.b.g, x.b.end), HPC_E_STATE, "is not allowed here");
    assert_int_equal(hpc_grammar_owes(x.b.g), 1);
    test_ok(hpc_grammar_take(x.b.g, inc));
    assert_int_equal(hpc_grammar_owes(x.b.g), 0);
    test_ok(hpc_grammar_take(x.b.g, other));
    test_ok(hpc_grammar_take(x.b.g, x.b.end));
    test_ok(hpc_grammar_restart(x.b.g, "i+", 2)); /* nothing is required again */
    assert_int_equal(hpc_grammar_owes(x.b.g), 0);
    test_ok(hpc_grammar_take(x.b.g, other));
    hpc_grammar_free(x.b.g);
    hpc_test_grammar_end(&x.b);
}

static void what_cannot_be_owed_is_refused(void **state)
{
    char long_prefix[2000];
    hpc_test_grammar b;
    hpc_grammar_options o = {
        .rule = {.kind = HPC_GRAMMAR_ANY}, .prefix = long_prefix, .prefix_n = 4, .owed = 5};

    (void)state;
    memset(long_prefix, 'x', sizeof long_prefix);
    hpc_test_grammar_begin(&b, files[1]);
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "5 pending bytes of 4");
    o.prefix_n = sizeof long_prefix, o.owed = 1025;
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "at most 1024");
    assert_null(b.g);
    hpc_test_grammar_end(&b);
}

/* By looking at every token. */
static bool some_token_goes_on(const hpc_test_grammar *b, const char *text, size_t n)
{
    for (int32_t t = 0; t < hpc_tokenizer_n(b->t); t++) {
        size_t m;
        const char *of = hpc_vocabulary_text(b->v, t, &m);
        if (m > n && memcmp(of, text, n) == 0) return true;
    }
    return false;
}

static void beginnings_are_found(void **state)
{
    static const char text[] = "    for (int i = 0; i < n; i++) sum += omp_get_wtime(); // \u00e9";
    int found = 0, tried = 0;
    hpc_test_grammar b;

    (void)state;
    for (int f = 0; f < FILES; f++) {
        hpc_test_grammar_begin(&b, files[f]);
        for (size_t at = 0; at < sizeof text; at++)
            for (size_t n = 0; n < 6 && at + n < sizeof text; n++, tried++) {
                bool is = hpc_vocabulary_goes_on(b.v, text + at, n);
                assert_int_equal(is, some_token_goes_on(&b, text + at, n));
                found += is;
            }
        hpc_test_grammar_end(&b);
    }
    assert_true(found > tried / 10 && found < tried);
}

static int whole_life(void *user)
{
    const hpc_test_grammar *b = user;
    const hpc_grammar_options o = {
        .rule = {.kind = HPC_GRAMMAR_ANY}, .prefix = "i+", .prefix_n = 2, .owed = 1};
    hpc_grammar *g = NULL;
    int rc = hpc_grammar_create(&g, b->v, &o);
    if (rc >= 0) { /* from here on nothing is allocated */
        int64_t before = hpc_test_alloc_count();
        test_ok(hpc_grammar_take(g, hpc_test_grammar_draw(b, hpc_grammar_allowed(g), 1)));
        assert_int_equal(hpc_test_alloc_count(), before);
    }
    hpc_grammar_free(g);
    return rc;
}

static void memory_may_be_short_anywhere(void **state)
{
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, files[2]);
    assert_true(hpc_test_each_alloc(whole_life, &b) >= 8);
    hpc_test_grammar_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_as_tried),
        cmocka_unit_test(what_is_owed_binds),
        cmocka_unit_test(what_cannot_be_owed_is_refused),
        cmocka_unit_test(beginnings_are_found),
        cmocka_unit_test(memory_may_be_short_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
