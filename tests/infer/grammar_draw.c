/*
 * grammar_draw.c: texts sampled from masks follow the rule, and other parsers accept them: those
 * of JSON, pragmas and tokens.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "infer/engine/grammar_openmp.h"
#include "tests/support/grammar.h"
#include "tests/support/loops.h"
#include "tests/support/expect.h"

enum { MOST_TEXT = 4096 };

/* Now and then what closes, or the end, so that there are ends. */
static int32_t draw_an_end(const hpc_test_grammar *b, const uint32_t *bits, uint32_t key)
{
    static const char *const ends[] = {")", "\n", "]", "}", "\"", ":"};
    size_t pick = hpc_random_bits(7, 2, key, (uint64_t)b->made) % 14;
    hpc_buf text = {0};
    int32_t found = -1;

    if (hpc_test_grammar_is_in(bits, b->end)) return b->end;
    for (int32_t t = 0; pick < 6 && found < 0 && t < hpc_tokenizer_n(b->t); t++) {
        if (!hpc_test_grammar_is_in(bits, t)) continue;
        text.n = 0;
        test_ok(hpc_tokenizer_decode(&text, b->t, &t, 1, true));
        if (text.n == 1 && text.data[0] == ends[pick][0]) found = t;
    }
    hpc_buf_release(&text);
    return found >= 0 ? found : hpc_test_grammar_draw(b, bits, key);
}

/* ---- what is drawn --------------------------------------------------------------------------- */

/* Draws tokens from the masks until the end or `most` tokens, checking the text at each step. */
static bool draw_text(hpc_test_grammar *b, uint32_t key, int most)
{
    bool complete = false;

    while (b->made < most) {
        const uint32_t *bits = hpc_grammar_allowed(b->g);
        int32_t token = draw_an_end(b, bits, key);
        if (token == b->end) {
            test_ok(hpc_grammar_take(b->g, token));
            assert_true(hpc_grammar_is_over(b->g));
            assert_true(hpc_test_grammar_accepts(b, &complete));
            assert_true(complete);
            return true;
        }
        hpc_test_grammar_take(b, token);
        assert_true(hpc_test_grammar_accepts(b, &complete));
        assert_int_equal(hpc_grammar_may_end(b->g), complete);
    }
    return false;
}

static void parses(const hpc_test_grammar *b)
{
    hpc_json *v = NULL;
    hpc_buf all = {0};
    test_ok(hpc_buf_text(&all, b->prefix));
    test_ok(hpc_buf_add(&all, b->text.data, b->text.n));
    int rc = hpc_json_parse(&v, all.data, all.n, "drawn");
    if (rc < 0 && strstr(hpc_error_get()->text, "duplicate")) { /* the one thing not promised */
        hpc_error_clear();
    } else {
        test_ok(rc);
        hpc_json_free(v);
    }
    hpc_buf_release(&all);
}

static void drawn_values_parse(void **state)
{
    static const char *const prefixes[] = {"", "[", "{\"a\":", "[[{\"x\":[", "\"", "-1", "[\"\\u"};
    int ended = 0;
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, HPC_TEST_PILOT);
    for (uint32_t k = 0; k < 140; k++) {
        hpc_test_grammar_open(&b, hpc_test_rule(HPC_GRAMMAR_JSON), prefixes[k % 7], k % 2);
        if (draw_text(&b, k, 150)) {
            parses(&b);
            ended++;
        }
        hpc_test_grammar_close(&b);
    }
    hpc_test_grammar_end(&b);
    assert_true(ended > 70);
}

/* Our own parser finds exactly one directive, the whole text. */
static void is_one_directive(const hpc_test_grammar *b)
{
    hpc_test_source s;
    hpc_buf line = {0}, text = {0};
    bool complete;

    test_ok(hpc_buf_text(&line, b->prefix));
    test_ok(hpc_buf_add(&line, b->text.data, b->text.n));
    hpc_test_source_open(&s, "a.cpp", line.data, line.n);
    if (s.l.pragma_n != 1) print_error("%s\n", line.data);
    assert_int_equal(s.l.pragma_n, 1);
    assert_int_equal(s.l.pragma[0].api, HPC_DIRECTIVE_OMP);
    assert_int_equal(s.t.item[s.t.n - 1].kind, HPC_TOKEN_END_DIRECTIVE);
    test_ok(hpc_pragma_text(&text, &s.l, 0, &s.t, line.data, s.language));
    test_ok(hpc_buf_text(&text, "\n"));
    /* As we write it, it is one as well. (Names and operators that a line end cuts, we write as
     * two where our lexer does not join them.) */
    bool taken = hpc_grammar_accepts(&b->rule, "", 0, text.data, text.n, &complete) && complete;
    if (!taken && !strchr(line.data, '\\')) print_error("%s: %s\n", line.data, text.data);
    assert_true(taken || strchr(line.data, '\\'));
    hpc_test_source_close(&s);
    hpc_buf_release(&line);
    hpc_buf_release(&text);
}

static void drawn_lines_are_directives(void **state)
{
    static const char *const prefixes[] = {"",
                                           "#pragma omp ",
                                           "#pragma omp parallel for ",
                                           "#pragma omp target ",
                                           "#pragma omp parallel for red",
                                           "#pragma omp task depend(",
                                           "#pragma omp for schedule("};
    int ended = 0;
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, HPC_TEST_PILOT);
    for (uint32_t k = 0; k < 210; k++) {
        hpc_test_grammar_open(&b, hpc_test_rule(HPC_GRAMMAR_DIRECTIVE), prefixes[k % 7], k % 2);
        if (draw_text(&b, k, 120)) {
            is_one_directive(&b);
            ended++;
        }
        hpc_test_grammar_close(&b);
    }
    hpc_test_grammar_end(&b);
    assert_true(ended > 70);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const names[] = {"a", "b", "count", "i", "k_2", "n_", "sum", "sum_of", "x1"};
enum { NAMES = sizeof names / sizeof *names };

static bool is_in_words(const char *words, const char *name, size_t n)
{
    for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == n && memcmp(at, name, n) == 0) return true;
    return false;
}

static bool is_of_openmp(const char *name, size_t n)
{
    bool is = is_in_words("pragma omp", name, n);

    for (int k = 0; k < openmp_directive_n; k++)
        is |= is_in_words(openmp_directives[k].text, name, n);
    for (int k = 0; k < openmp_clause_n; k++) is |= is_in_words(openmp_clauses[k].text, name, n);
    for (int f = 0; f <= OPENMP_STRICT; f++) {
        const openmp_words *lists[] = {&openmp_forms[f].head, &openmp_forms[f].words,
                                       &openmp_forms[f].tail_words};
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < lists[i]->n; k++)
                is |= is_in_words(lists[i]->word[k].text, name, n);
    }
    return is;
}

/* Number of the names that it uses; asserts that there are no others. Joins continuation lines
 * first. */
static int names_in(const hpc_test_grammar *b)
{
    hpc_tokens t = {0};
    hpc_buf line = {0};
    int named = 0;

    test_ok(hpc_buf_text(&line, b->prefix));
    for (size_t i = 0; i < b->text.n; i++) {
        const char *c = b->text.data + i;
        size_t end = *c == '\\' ? 1 + strspn(c + 1, "\r") : 0;
        if (c[end] != '\n') end = 0;
        if (end == 0) test_ok(hpc_buf_add(&line, c, 1));
        i += end;
    }
    test_ok(hpc_lex(&t, line.data, line.n, HPC_LANGUAGE_C, false));
    for (int64_t k = 0; k < t.n; k++) {
        const char *text = line.data + t.item[k].at;
        size_t n = t.item[k].n;
        bool listed = false, member = k > 0 && t.item[k - 1].kind == HPC_TOKEN_PUNCT &&
                                      (line.data[t.item[k - 1].at] == '.' ||
                                       strncmp(line.data + t.item[k - 1].at, "->", 2) == 0);
        if (t.item[k].kind != HPC_TOKEN_NAME) continue;
        for (int i = 0; i < NAMES; i++)
            listed |= strlen(names[i]) == n && !memcmp(names[i], text, n);
        if (!listed && !member && !is_of_openmp(text, n))
            print_error("%.*s in %s\n", (int)n, text, line.data);
        assert_true(listed || member || is_of_openmp(text, n));
        named += listed;
    }
    hpc_tokens_release(&t);
    hpc_buf_release(&line);
    return named;
}

static void drawn_lines_name_what_is_listed(void **state)
{
    static const char *const prefixes[] = {
        "#pragma omp parallel for ",           "#pragma omp parallel for private(",
        "#pragma omp parallel for reduction(", "#pragma omp task depend(",
        "#pragma omp for schedule(",           "#pragma omp target update to(",
        "#pragma omp parallel num_threads("};
    hpc_grammar_rule rule = hpc_test_rule(HPC_GRAMMAR_DIRECTIVE);
    int ended = 0, named = 0;
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, HPC_TEST_PILOT);
    rule.names = names, rule.names_n = NAMES;
    for (uint32_t k = 0; k < 210; k++) {
        hpc_test_grammar_open(&b, rule, prefixes[k % 7], k % 2);
        if (draw_text(&b, k, 120)) {
            is_one_directive(&b);
            named += names_in(&b);
            ended++;
        }
        hpc_test_grammar_close(&b);
    }
    hpc_test_grammar_end(&b);
    assert_true(ended > 35 && named > 70);
}

/* ---- brackets -------------------------------------------------------------------------------- */

/* Asserts that brackets match by our own lexer, except in directives. */
static void brackets_match(const hpc_test_grammar *b)
{
    hpc_tokens t = {0};
    hpc_buf all = {0};
    char open[MOST_TEXT];
    int depth = 0;

    test_ok(hpc_buf_text(&all, b->prefix));
    test_ok(hpc_buf_add(&all, b->text.data, b->text.n));
    test_ok(hpc_lex(&t, all.data, all.n, HPC_LANGUAGE_CPP, false));
    for (int64_t k = 0; k < t.n; k++) {
        const hpc_token *x = &t.item[k];
        char c = all.data[x->at];
        if (x->kind != HPC_TOKEN_PUNCT || x->n != 1 || x->flags & HPC_TOKEN_IN_DIRECTIVE) continue;
        if (c && strchr("([{", c)) {
            assert_in_range(depth, 0, MOST_TEXT - 1);
            open[depth++] = c;
        } else if (c && strchr(")]}", c)) {
            bool match =
                depth > 0 && strchr(")]}", c) - ")]}" == strchr("([{", open[depth - 1]) - "([{";
            if (!match) print_error("at %d of %s\n", (int)x->at, all.data);
            assert_true(match);
            depth--;
        }
    }
    hpc_tokens_release(&t);
    hpc_buf_release(&all);
}

static void drawn_brackets_match(void **state)
{
    static const char *const prefixes[] = {"", "void f() {", "a[f(\"", "// (\n{", "{\n#define X "};
    hpc_test_grammar b;

    (void)state;
    hpc_test_grammar_begin(&b, HPC_TEST_PILOT);
    for (uint32_t k = 0; k < 100; k++) {
        hpc_test_grammar_open(&b, hpc_test_rule(HPC_GRAMMAR_BRACKETS), prefixes[k % 5], k % 2);
        while (b.made < 60) {
            int32_t token = hpc_test_grammar_draw(&b, hpc_grammar_allowed(b.g), k);
            if (token != b.end) hpc_test_grammar_take(&b, token);
            if (token == b.end) b.made++;
        }
        assert_true(hpc_test_grammar_accepts(&b, NULL));
        brackets_match(&b);
        hpc_test_grammar_close(&b);
    }
    hpc_test_grammar_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_values_parse),
        cmocka_unit_test(drawn_lines_are_directives),
        cmocka_unit_test(drawn_lines_name_what_is_listed),
        cmocka_unit_test(drawn_brackets_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
