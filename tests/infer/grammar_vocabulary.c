/*
 * grammar_vocabulary.c: a mask equals the result of trying every token byte by byte, an engine
 * with a grammar follows its rule, and a dead end is reported.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "infer/engine/engine.h"
#include "tests/support/fault.h"
#include "tests/support/grammar.h"
#include "tests/support/expect.h"

static const char *const files[] = {
    HPC_TEST_PILOT,
    "tests/fixtures/tokenizer/llama.model",
    "tests/fixtures/tokenizer/ours.model",
    "tests/fixtures/tokenizer/unused.model",
    "tests/fixtures/byte_level/gpt2.json",
    "tests/fixtures/byte_level/qwen2.json",
    "tests/fixtures/byte_level/deepseek_coder.json",
};
enum { FILES = sizeof files / sizeof *files };

/* ---- masks ----------------------------------------------------------------------------------- */

/* Text that each token adds, [0] after a text and [1] at its start; none: not text. */
typedef struct pieces {
    hpc_buf bytes[2];
    size_t *at[2]; /* [n + 1] */
} pieces;

static void read_pieces(pieces *p, const hpc_tokenizer *t)
{
    enum { NORMAL = 1, USER = 4, BYTE = 6 };
    int64_t n = hpc_tokenizer_n(t);
    float score;
    bool stopped;

    *p = (pieces){0};
    for (int begins = 0; begins < 2; begins++) {
        hpc_text *x = NULL;
        p->at[begins] = hpc_alloc((size_t)n + 1, sizeof *p->at[0]);
        for (int32_t id = 0; id < n; id++) {
            int type = hpc_tokenizer_piece_type(&score, t, id);
            if (!x || begins) test_ok(hpc_text_create(&x, t, NULL, begins));
            if (type == NORMAL || type == USER || type == BYTE) {
                test_ok(hpc_text_push(x, id, &p->bytes[begins], &stopped));
                test_ok(hpc_text_end(x, &p->bytes[begins]));
            }
            p->at[begins][id + 1] = p->bytes[begins].n;
            if (begins || id + 1 == n) hpc_text_free(x);
        }
    }
}

static void release_pieces(pieces *p)
{
    for (int begins = 0; begins < 2; begins++) {
        hpc_buf_release(&p->bytes[begins]);
        hpc_free(p->at[begins]);
    }
}

/* May the token follow, judging by the resulting text? A first token that is a blank
 * adds nothing. */
static bool may_come(hpc_test_grammar *b, const pieces *p, int32_t token, bool begins)
{
    bool complete;
    size_t n = b->text.n;
    const size_t *behind = p->at[0], *at = p->at[begins && b->made == 0];

    if (token == b->end) return hpc_test_grammar_accepts(b, &complete) && complete;
    if (behind[token] == behind[token + 1]) return false;
    test_ok(
        hpc_buf_add(&b->text, p->bytes[at != behind].data + at[token], at[token + 1] - at[token]));
    bool taken = hpc_test_grammar_accepts(b, NULL);
    b->text.n = n;
    return taken;
}

#define FIFTY "(((((((((((((((((((((((((((((((((((((((((((((((((("

static const char *const names[] = {"a", "b", "count", "i", "in", "index", "n", "sum", "total"};
#define NAMED .kind = HPC_GRAMMAR_DIRECTIVE, .names = names, .names_n = 9

static const struct {
    hpc_grammar_rule rule;
    const char *prefix;
} cases[] = {
    {{.kind = HPC_GRAMMAR_BRACKETS, .closers = -1}, ""},
    {{.kind = HPC_GRAMMAR_BRACKETS, .closers = 1}, "void f() { for (i = 0; a[i"},
    {{.kind = HPC_GRAMMAR_BRACKETS, .closers = -1, .balanced = true}, "s = R\"x("},
    {{.kind = HPC_GRAMMAR_BRACKETS, .closers = -1}, "/* ("},
    {{.kind = HPC_GRAMMAR_BRACKETS, .closers = -1}, "// ("},
    {{.kind = HPC_GRAMMAR_BRACKETS, .closers = -1}, FIFTY FIFTY FIFTY FIFTY FIFTY "((((("},
    {{.kind = HPC_GRAMMAR_BRACKETS, .closers = -1}, "(\n#define X(a) (\""},
    {{.kind = HPC_GRAMMAR_DIRECTIVE}, ""},
    {{.kind = HPC_GRAMMAR_DIRECTIVE}, "x;\n#pragma omp "},
    {{.kind = HPC_GRAMMAR_DIRECTIVE, .bare = true}, "#pragma omp parallel for red"},
    {{.kind = HPC_GRAMMAR_DIRECTIVE}, "#pragma omp parallel for reduction("},
    {{.kind = HPC_GRAMMAR_DIRECTIVE}, "#pragma omp target map(t"},
    {{.kind = HPC_GRAMMAR_DIRECTIVE, .bare = true}, "#pragma omp parallel if(f(\"a"},
    {{.kind = HPC_GRAMMAR_DIRECTIVE}, "#pragma omp for schedule(s"},
    {{NAMED}, "#pragma omp parallel for "},
    {{NAMED}, "#pragma omp parallel for private(i, "},
    {{NAMED, .bare = true}, "#pragma omp parallel for reduction(+:s"},
    {{NAMED}, "#pragma omp target map(t"},
    {{NAMED}, "#pragma omp parallel if(a[n].ne"},
    {{NAMED}, "#pragma omp for schedule(static, in"},
    {{.kind = HPC_GRAMMAR_JSON}, ""},
    {{.kind = HPC_GRAMMAR_JSON}, "{\"a\": [1, \"b"},
    {{.kind = HPC_GRAMMAR_JSON}, "nul"}, /* ends at once */
};
enum { CASES = sizeof cases / sizeof *cases };

static void is_as_tried(hpc_test_grammar *b, const pieces *p, const uint32_t *bits, bool begins)
{
    for (int32_t t = 0; t < hpc_tokenizer_n(b->t); t++) {
        bool may = may_come(b, p, t, begins);
        if (may != hpc_test_grammar_is_in(bits, t))
            print_error("behind \"%s%.*s\": token %d, %d\n", b->prefix, (int)b->text.n,
                        b->text.data ? b->text.data : "", t, may);
        assert_int_equal(hpc_test_grammar_is_in(bits, t), may);
    }
}

static void masks_are_as_tried(void **state)
{
    enum { STEPS = 6 };
    int compared = 0;
    hpc_test_grammar b;
    pieces p;

    (void)state;
    for (int f = 0; f < FILES; f++) {
        hpc_test_grammar_begin(&b, files[f]);
        read_pieces(&p, b.t);
        for (uint32_t c = 0; c < 2 * CASES; c++) {
            bool begins = c >= CASES;
            hpc_test_grammar_open(&b, cases[c % CASES].rule, cases[c % CASES].prefix, begins);
            for (int k = 0; k < STEPS; k++) {
                const uint32_t *bits = hpc_grammar_allowed(b.g);
                is_as_tried(&b, &p, bits, begins);
                compared++;
                int32_t token = hpc_test_grammar_draw(&b, bits, c + 100);
                if (token == b.end) break;
                hpc_test_grammar_take(&b, token);
            }
            hpc_test_grammar_close(&b);
        }
        release_pieces(&p);
        hpc_test_grammar_end(&b);
    }
    assert_true(compared > 500);
}

/* A model with more tokens than the tokenizer, and one with fewer. */
static void masks_are_as_long_as_the_models(void **state)
{
    hpc_test_grammar b;
    const uint32_t *all, *bits;
    int64_t n;

    (void)state;
    hpc_test_grammar_begin(&b, files[1]);
    n = hpc_tokenizer_n(b.t);
    hpc_test_grammar_open(&b, hpc_test_rule(HPC_GRAMMAR_BRACKETS), "(", false);
    all = hpc_grammar_allowed(b.g);
    for (int more = -1; more < 2; more += 2) {
        hpc_vocabulary *v;
        hpc_grammar *g;
        int64_t size = n + more * 100;
        hpc_grammar_options o = {
            .rule = hpc_test_rule(HPC_GRAMMAR_BRACKETS), .prefix = "(", .prefix_n = 1};
        test_ok(hpc_vocabulary_create(&v, b.t, size));
        test_ok(hpc_grammar_create(&g, v, &o));
        bits = hpc_grammar_allowed(g);
        for (int64_t t = 0; t < size; t++)
            assert_int_equal(hpc_test_grammar_is_in(bits, t),
                             t < n && t != b.end && hpc_test_grammar_is_in(all, t));
        hpc_grammar_free(g);
        hpc_vocabulary_free(v);
    }
    hpc_test_grammar_close(&b);
    hpc_test_grammar_end(&b);
}

/* For rejected tokens only the beginning is examined; for allowed ones not everything. */
static void masks_are_cheap(void **state)
{
    hpc_test_grammar b;
    int64_t bytes = 0;

    (void)state;
    hpc_test_grammar_begin(&b, HPC_TEST_PILOT);
    for (int32_t t = 0; t < hpc_tokenizer_n(b.t); t++) {
        size_t n;
        hpc_tokenizer_piece(b.t, t, &n);
        bytes += (int64_t)n;
    }
    for (int c = 0; c < CASES; c++) {
        hpc_test_grammar_open(&b, cases[c].rule, cases[c].prefix, false);
        assert_true(hpc_grammar_allowed(b.g) == hpc_grammar_allowed(b.g));
        hpc_grammar_counts n = hpc_grammar_counts_of(b.g);
        assert_int_equal(n.made, 1);
        assert_int_equal(n.found, 1);
        if (n.steps > bytes / 5) print_error("case %d: %d of %d\n", c, (int)n.steps, (int)bytes);
        assert_true(n.steps > 0 && n.steps <= bytes / 5);
        /* The same state is found again after others; too many others evict it. */
        test_ok(hpc_grammar_restart(b.g, b.prefix, strlen(b.prefix)));
        hpc_grammar_allowed(b.g);
        assert_int_equal(hpc_grammar_counts_of(b.g).found, 2);
        hpc_test_grammar_close(&b);
    }
    hpc_test_grammar_end(&b);
}

static void masks_seen_last_are_kept(void **state)
{
    static const char *const prefixes[] = {"", "(", "((", "(((", "[", "[[", "[[[", "{", "{{"};
    const hpc_grammar_rule rule = hpc_test_rule(HPC_GRAMMAR_BRACKETS);
    hpc_test_grammar b;
    pieces p;

    (void)state;
    hpc_test_grammar_begin(&b, files[1]);
    read_pieces(&p, b.t);
    hpc_test_grammar_open(&b, rule, "", false); /* it keeps 8 */
    for (int turn = 0; turn < 2; turn++)
        for (int k = 0; k < 8; k++) {
            test_ok(hpc_grammar_restart(b.g, prefixes[k], strlen(prefixes[k])));
            is_as_tried((b.prefix = prefixes[k], &b), &p, hpc_grammar_allowed(b.g), false);
        }
    assert_int_equal(hpc_grammar_counts_of(b.g).made, 8);
    assert_int_equal(hpc_grammar_counts_of(b.g).found, 8);
    for (int k = 8; k >= 0; k--) { /* the ninth takes the place of the first */
        test_ok(hpc_grammar_restart(b.g, prefixes[k], strlen(prefixes[k])));
        is_as_tried((b.prefix = prefixes[k], &b), &p, hpc_grammar_allowed(b.g), false);
    }
    assert_int_equal(hpc_grammar_counts_of(b.g).made, 10);
    hpc_test_grammar_close(&b);
    release_pieces(&p);
    hpc_test_grammar_end(&b);
}

/* ---- the engine ------------------------------------------------------------------------------ */

static const uint32_t *allowed(void *user)
{
    return hpc_grammar_allowed(((hpc_test_grammar *)user)->g);
}

static int made(void *user, int32_t token, float logprob)
{
    hpc_test_grammar *b = user;
    bool complete;
    (void)logprob;
    hpc_test_grammar_take(b, token);
    assert_true(hpc_test_grammar_accepts(b, &complete));
    return 0;
}

static void ended(void *user, hpc_finish how, int32_t token)
{
    hpc_test_grammar *b = user;
    bool complete;
    (void)token;
    assert_true(how == HPC_FINISH_STOP || how == HPC_FINISH_LENGTH);
    b->stopped = how == HPC_FINISH_STOP;
    assert_true(hpc_test_grammar_accepts(b, &complete));
    if (b->stopped) assert_true(complete);
}

/* However unlikely what it draws is: it keeps to the rule. With guesses ahead and without. */
static void engines_keep_to_the_rule(void **state)
{
    hpc_test_grammar b;
    hpc_engine *e;
    int stopped = 0;

    (void)state;
    hpc_test_grammar_begin(&b, HPC_TEST_PILOT);
    for (int guess = 0; guess < 5; guess += 4) {
        test_ok(hpc_engine_open(&e, &(hpc_engine_options){.model = HPC_TEST_PILOT,
                                                          .threads = 2,
                                                          .weights = HPC_DTYPE_N,
                                                          .cache = HPC_F32,
                                                          .cache_tokens = 256,
                                                          .requests = 1,
                                                          .guess = guess}));
        for (uint32_t k = 0; k < CASES; k++) {
            hpc_tokenizer_scratch *s;
            hpc_ids ids = {0};
            int64_t id;
            bool busy = true;
            hpc_test_grammar_open(&b, cases[k % CASES].rule, cases[k % CASES].prefix, false);
            test_ok(hpc_tokenizer_scratch_create(&s, b.t));
            test_ok(hpc_tokenizer_encode(&ids, b.t, s, b.prefix, strlen(b.prefix),
                                         HPC_ENCODE_BEGIN | HPC_ENCODE_INNER));
            if (ids.n == 0) test_ok(hpc_tokenizer_encode(&ids, b.t, s, "\n", 1, HPC_ENCODE_INNER));
            hpc_request r = {.token = ids.id,
                             .n = ids.n,
                             .most = 30,
                             .sample = k,
                             .sampling = {.temperature = 2, .top_p = 1, .repeat = 1, .seed = 5},
                             .stop = &b.end,
                             .stop_n = 1,
                             .token_made = made,
                             .ended = ended,
                             .allowed = allowed,
                             .user = &b};
            test_ok(hpc_engine_submit(e, &r, &id));
            while (busy) test_ok(hpc_engine_step(e, &busy));
            stopped += b.stopped;
            hpc_free(ids.id);
            hpc_tokenizer_scratch_free(s);
            hpc_test_grammar_close(&b);
        }
        hpc_engine_close(e);
    }
    hpc_test_grammar_end(&b);
    assert_true(stopped >= 2);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void ends_are_told(void **state)
{
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, HPC_TEST_PILOT);
    hpc_test_grammar_open(&b, hpc_test_rule(HPC_GRAMMAR_JSON), "[1", false);
    assert_false(hpc_grammar_may_end(b.g));
    test_fails(hpc_grammar_take(b.g, b.end), HPC_E_STATE, "by the JSON value");
    test_fails(hpc_grammar_take(b.g, -1), HPC_E_STATE, "token -1");
    test_fails(hpc_grammar_take(b.g, hpc_tokenizer_specials(b.t).begin), HPC_E_STATE,
               "is not allowed");
    test_fails(hpc_grammar_take(b.g, 1 << 30), HPC_E_STATE, "is not allowed here");
    assert_false(hpc_grammar_is_over(b.g));
    hpc_test_grammar_take(&b, hpc_tokenizer_find(b.t, "]"));
    assert_true(hpc_grammar_may_end(b.g));
    assert_true(hpc_grammar_is_over(b.g)); /* nothing else may come */
    const uint32_t *bits = hpc_grammar_allowed(b.g);
    for (int32_t t = 0; t < hpc_tokenizer_n(b.t); t++)
        assert_int_equal(hpc_test_grammar_is_in(bits, t), t == b.end);
    test_ok(hpc_grammar_take(b.g, b.end));
    assert_false(hpc_grammar_may_end(b.g));
    assert_true(hpc_grammar_is_over(b.g));
    bits = hpc_grammar_allowed(b.g);
    for (int32_t t = 0; t < hpc_tokenizer_n(b.t); t++)
        assert_false(hpc_test_grammar_is_in(bits, t));
    test_fails(hpc_error_get()->code, HPC_E_STATE, "has ended");
    test_ok(hpc_grammar_restart(b.g, "1", 1));
    assert_true(hpc_grammar_may_end(b.g));
    assert_false(hpc_grammar_is_over(b.g)); /* 12 may come of it */
    test_fails(hpc_grammar_restart(b.g, "[1}", 3), HPC_E_ARG,
               "not a JSON value from byte 2: \"}\"");
    assert_true(hpc_grammar_is_over(b.g));
    hpc_test_grammar_close(&b);
    hpc_test_grammar_end(&b);
}

/* Where it may not end, they do not come as text either. */
static void ends_are_no_text(void **state)
{
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, HPC_TEST_PILOT);
    b.end = hpc_tokenizer_find(b.t, "]");
    assert_true(b.end >= 0);
    hpc_test_grammar_open(&b, hpc_test_rule(HPC_GRAMMAR_JSON), "[2", false);
    assert_false(hpc_test_grammar_is_in(hpc_grammar_allowed(b.g), b.end));
    test_fails(hpc_grammar_take(b.g, b.end), HPC_E_STATE, "is not allowed here");
    test_ok(hpc_grammar_restart(b.g, "2", 1));
    assert_true(hpc_test_grammar_is_in(hpc_grammar_allowed(b.g), b.end));
    test_ok(hpc_grammar_take(b.g, b.end));
    assert_true(hpc_grammar_is_over(b.g));
    hpc_test_grammar_close(&b);
    hpc_test_grammar_end(&b);
}

static void nothing_to_choose_from_is_told(void **state)
{
    hpc_grammar_options o = {
        .rule = hpc_test_rule(HPC_GRAMMAR_JSON), .prefix = "{}", .prefix_n = 2};
    hpc_vocabulary *v;
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, HPC_TEST_PILOT);
    test_ok(hpc_grammar_create(&b.g, b.v, &o));
    for (int k = 0; k < 2; k++) { /* made, and found again */
        const uint32_t *bits = hpc_grammar_allowed(b.g);
        for (int32_t t = 0; t < hpc_tokenizer_n(b.t); t++)
            assert_false(hpc_test_grammar_is_in(bits, t));
        test_fails(hpc_error_get()->code, HPC_E_STATE, "JSON value has no end token");
    }
    hpc_grammar_free(b.g);
    /* A vocabulary without a token that can continue. */
    test_ok(hpc_vocabulary_create(&v, b.t, 1));
    o.prefix_n = 1;
    test_ok(hpc_grammar_create(&b.g, v, &o));
    assert_int_equal(hpc_grammar_allowed(b.g)[0], 0);
    test_fails(hpc_error_get()->code, HPC_E_STATE, "cannot end here");
    hpc_grammar_free(b.g);
    hpc_vocabulary_free(v);
    hpc_test_grammar_end(&b);
}

static void what_cannot_be_is_refused(void **state)
{
    hpc_grammar_options o = {.rule = hpc_test_rule(HPC_GRAMMAR_DIRECTIVE),
                             .prefix = "x;\n#pragma omp paralel",
                             .prefix_n = 22};
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, files[1]);
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "not a line of OpenMP from byte 20");
    assert_null(b.g);
    o.prefix_n = 0, o.end = (int32_t[]){1 << 20}, o.end_n = 1;
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "end token 1048576");
    o.end_n = 0, o.masks = -1;
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "-1 masks");
    o.masks = 0, o.rule.closers = -2;
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "-2 brackets");
    hpc_vocabulary *v;
    test_fails(hpc_vocabulary_create(&v, b.t, -1), HPC_E_ARG, "-1 tokens");
    assert_null(v);
    hpc_test_grammar_end(&b);
}

static void names_are_copied_and_checked(void **state)
{
    char first[] = "sum", second[] = "total";
    const char *list[] = {first, second};
    hpc_grammar_options o = {.rule = hpc_test_rule(HPC_GRAMMAR_DIRECTIVE),
                             .prefix = "#pragma omp for private(s",
                             .prefix_n = 25};
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, HPC_TEST_PILOT);
    o.rule.names = list, o.rule.names_n = 2;
    test_ok(hpc_grammar_create(&b.g, b.v, &o));
    memset(first, 'x', 3), memset(second, 'y', 5), list[0] = list[1] = NULL;
    int32_t um = hpc_tokenizer_find(b.t, "um"), x = hpc_tokenizer_find(b.t, "x");
    assert_true(um >= 0 && x >= 0);
    for (int k = 0; k < 2; k++) {
        assert_true(hpc_test_grammar_is_in(hpc_grammar_allowed(b.g), um));
        assert_false(hpc_test_grammar_is_in(hpc_grammar_allowed(b.g), x));
        test_ok(hpc_grammar_restart(b.g, o.prefix, o.prefix_n));
    }
    assert_int_equal(hpc_grammar_counts_of(b.g).made, 1);
    test_fails(hpc_grammar_restart(b.g, "#pragma omp for private(x", 25), HPC_E_ARG, "byte 24");
    hpc_grammar_free(b.g);
    o.rule.names_n = 0;
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "of 0 names");
    list[0] = "b", list[1] = "a", o.rule.names_n = 2;
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "not sorted: \"a\" at 1");
    list[1] = "b";
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "not sorted: \"b\" at 1");
    list[1] = "c.d";
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "name 1 of a grammar is no");
    list[0] = "1b";
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "no identifier: \"1b\"");
    list[0] = "";
    test_fails(hpc_grammar_create(&b.g, b.v, &o), HPC_E_ARG, "no identifier: \"\"");
    assert_null(b.g);
    hpc_test_grammar_end(&b);
}

static int whole_life(void *user)
{
    const hpc_test_grammar *b = user;
    hpc_grammar_options o = {
        .rule = {NAMED}, .prefix = "#pragma omp ", .prefix_n = 12, .end = &b->end, .end_n = 1};
    hpc_vocabulary *v = NULL;
    hpc_grammar *g = NULL;
    int rc = hpc_vocabulary_create(&v, b->t, 0);
    if (rc >= 0) rc = hpc_grammar_create(&g, v, &o);
    if (rc >= 0) { /* from here on nothing is allocated */
        int64_t before = hpc_test_alloc_count();
        for (int k = 0; k < 3; k++) {
            int32_t token = hpc_test_grammar_draw(b, hpc_grammar_allowed(g), (uint32_t)k);
            test_ok(hpc_grammar_take(g, token));
        }
        assert_int_equal(hpc_test_alloc_count(), before);
    }
    hpc_grammar_free(g);
    hpc_vocabulary_free(v);
    return rc;
}

static void memory_may_be_short_anywhere(void **state)
{
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, files[2]);
    assert_true(hpc_test_each_alloc(whole_life, &b) > 15);
    hpc_test_grammar_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_as_tried),
        cmocka_unit_test(masks_are_as_long_as_the_models),
        cmocka_unit_test(masks_are_cheap),
        cmocka_unit_test(masks_seen_last_are_kept),
        cmocka_unit_test(engines_keep_to_the_rule),
        cmocka_unit_test(ends_are_told),
        cmocka_unit_test(ends_are_no_text),
        cmocka_unit_test(nothing_to_choose_from_is_told),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(names_are_copied_and_checked),
        cmocka_unit_test(memory_may_be_short_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
