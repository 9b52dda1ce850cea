/*
 * grammar.c: see grammar.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "model/tokenizer.h"
#include "tests/support/grammar.h"
#include "tests/support/expect.h"

hpc_grammar_rule hpc_test_rule(hpc_grammar_kind kind)
{
    hpc_grammar_rule r = HPC_GRAMMAR_RULE_DEFAULTS;
    r.kind = kind;
    return r;
}

/* Number of bytes accepted, and whether the text may end there. */
size_t hpc_test_taken_n(const hpc_grammar_rule *r, const char *prefix, const char *text,
                        bool *complete)
{
    size_t n = 0;

    while (text[n] && hpc_grammar_accepts(r, prefix, strlen(prefix), text, n + 1, NULL)) n++;
    assert_true(hpc_grammar_accepts(r, prefix, strlen(prefix), text, n, complete));
    return n;
}

void hpc_test_taken(const hpc_grammar_rule *r, const char *prefix, const char *text)
{
    bool complete;
    size_t n = hpc_test_taken_n(r, prefix, text, &complete);
    if (n != strlen(text) || !complete)
        print_error("behind \"%s\": \"%s\"\nonly %d bytes\n", prefix, text, (int)n);
    assert_int_equal(n, strlen(text));
    assert_true(complete);
}

/* The text has the mark '!' where it must be rejected. */
void hpc_test_refused(const hpc_grammar_rule *r, const char *prefix, const char *marked)
{
    char text[512];
    const char *mark = strrchr(marked, '!');
    size_t at = (size_t)(mark - marked);
    bool complete;

    assert_non_null(mark);
    snprintf(text, sizeof text, "%.*s%s", (int)at, marked, mark + 1);
    size_t n = hpc_test_taken_n(r, prefix, text, &complete);
    if (n != at) print_error("behind \"%s\": \"%s\"\n%d bytes\n", prefix, text, (int)n);
    assert_int_equal(n, at);
    assert_false(hpc_grammar_accepts(r, prefix, strlen(prefix), text, strlen(text), &complete));
    assert_false(complete);
}

bool hpc_test_may_end(const hpc_grammar_rule *r, const char *prefix, const char *text)
{
    bool complete;
    assert_int_equal(hpc_test_taken_n(r, prefix, text, &complete), strlen(text));
    return complete;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* ---- a grammar with all that is needed around it ------------------------------------------- */

/* The end token, else a text token. */
static int32_t end_of(const hpc_tokenizer *t)
{
    int32_t end = hpc_tokenizer_specials(t).end;
    return end >= 0 ? end : (int32_t)hpc_tokenizer_n(t) - 1;
}

void hpc_test_grammar_begin(hpc_test_grammar *b, const char *path)
{
    *b = (hpc_test_grammar){0};
    test_ok(hpc_model_tokenizer(&b->t, path));
    b->end = end_of(b->t);
    test_ok(hpc_vocabulary_create(&b->v, b->t, 0));
}

void hpc_test_grammar_open(hpc_test_grammar *b, hpc_grammar_rule rule, const char *prefix,
                           bool begins)
{
    hpc_grammar_options o = {.rule = rule,
                             .prefix = prefix,
                             .prefix_n = strlen(prefix),
                             .end = &b->end,
                             .end_n = 1,
                             .begins = begins,
                             .masks = 8};
    b->rule = rule;
    b->prefix = prefix;
    b->text.n = 0;
    b->made = 0;
    b->stopped = false;
    test_ok(hpc_grammar_create(&b->g, b->v, &o));
    test_ok(hpc_text_create(&b->x, b->t, NULL, begins));
}

void hpc_test_grammar_close(hpc_test_grammar *b)
{
    hpc_grammar_free(b->g);
    hpc_text_free(b->x);
}

void hpc_test_grammar_end(hpc_test_grammar *b)
{
    hpc_buf_release(&b->text);
    hpc_vocabulary_free(b->v);
    hpc_tokenizer_close(b->t);
}

bool hpc_test_grammar_is_in(const uint32_t *bits, int64_t token)
{
    return bits[token / 32] >> token % 32 & 1;
}

bool hpc_test_grammar_accepts(const hpc_test_grammar *b, bool *complete)
{
    return hpc_grammar_accepts(&b->rule, b->prefix, strlen(b->prefix), b->text.data, b->text.n,
                               complete);
}

/* A token adds the difference between the texts. */
void hpc_test_grammar_take(hpc_test_grammar *b, int32_t token)
{
    bool stopped;
    test_ok(hpc_grammar_take(b->g, token));
    test_ok(hpc_text_push(b->x, token, &b->text, &stopped));
    test_ok(hpc_text_end(b->x, &b->text));
    b->made++;
}

/* One of those allowed. */
int32_t hpc_test_grammar_draw(const hpc_test_grammar *b, const uint32_t *bits, uint32_t key)
{
    int64_t n = hpc_tokenizer_n(b->t), set = 0, pick;

    for (int64_t t = 0; t < n; t++) set += hpc_test_grammar_is_in(bits, t);
    hpc_assert(set > 0);
    pick = hpc_random_bits(7, 1, key, (uint64_t)b->made) % set;
    for (int64_t t = 0; t < n; t++)
        if (hpc_test_grammar_is_in(bits, t) && pick-- == 0) return (int32_t)t;
    return -1;
}
