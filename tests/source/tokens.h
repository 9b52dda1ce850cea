/*
 * tokens.h: for tests of runtime/source: tokens as text, and invariants of the tokens of any text.
 */
#ifndef HPC_TESTS_SOURCE_TOKENS_H
#define HPC_TESTS_SOURCE_TOKENS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/source/source.h"

static inline hpc_tokens test_lex(const char *text, size_t n, hpc_language l, bool fixed)
{
    hpc_tokens t = {0};
    if (hpc_lex(&t, text, n, l, fixed) < 0) fail_msg("%s", hpc_error_get()->text);
    return t;
}

/* Per token: marks for flags ('^' first on its line, '@' in a directive, '!' unterminated), a
 * letter for the kind, and the spelling with '~' for a line feed. */
static inline void test_show(hpc_buf *out, const hpc_tokens *t, const char *text)
{
    static const char letters[] = "NISCP/#E;L"; /* by kind */
    for (int64_t i = 0; i < t->n; i++) {
        const hpc_token *k = &t->item[i];
        hpc_buf_printf(out, "%s%s%s%s%c<", i > 0 ? " " : "",
                       k->flags & HPC_TOKEN_FIRST_ON_LINE ? "^" : "",
                       k->flags & HPC_TOKEN_IN_DIRECTIVE ? "@" : "",
                       k->flags & HPC_TOKEN_UNTERMINATED ? "!" : "", letters[k->kind]);
        for (uint32_t b = 0; b < k->n; b++)
            hpc_buf_add(out, text[k->at + b] == '\n' ? "~" : &text[k->at + b], 1);
        hpc_buf_text(out, ">");
    }
}

static inline void test_tokens(const char *text, hpc_language l, bool fixed, const char *expected)
{
    hpc_tokens t = test_lex(text, strlen(text), l, fixed);
    hpc_buf shown = {0};
    assert_int_equal(hpc_buf_text(&shown, ""), 0);
    test_show(&shown, &t, text);
    assert_string_equal(shown.data, expected);
    hpc_buf_release(&shown);
    hpc_tokens_release(&t);
}

/* Asserts that the tokens do not depend on the text's offset, so that no window of the lexer shows.
 * Puts n bytes of `before` ahead of the text for many n. `before` is " ", or starts a comment on a
 * line of its own. */
static inline void test_anywhere(const char *text, hpc_language l, bool fixed, const char *before)
{
    hpc_tokens here = test_lex(text, strlen(text), l, fixed);
    const bool comment = before[0] != ' ';
    char moved[4096];
    for (size_t n = comment ? 3 : 0; n < 140; n++) {
        memset(moved, ' ', n);
        if (comment) memcpy(moved, before, 2);
        if (comment) moved[n - 1] = '\n';
        memcpy(moved + n, text, strlen(text) + 1);
        hpc_tokens there = test_lex(moved, n + strlen(text), l, fixed);
        assert_int_equal(there.n, here.n + comment);
        for (int64_t i = 0; i < here.n; i++) {
            const hpc_token *a = &here.item[i], *b = &there.item[i + comment];
            if (b->at != a->at + n || b->n != a->n || b->line != a->line + comment ||
                b->hash != a->hash || b->kind != a->kind || b->flags != a->flags)
                fail_msg("%.*s differs behind %zu bytes", (int)a->n, text + a->at, n);
        }
        hpc_tokens_release(&there);
    }
    hpc_tokens_release(&here);
}

static inline bool test_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

/* Asserts that gaps between C tokens have only blanks, line feeds, splices and a byte order mark.
 * In Fortran they may have '&' and continuation marks, next to a line feed or after a sentinel. */
static inline void test_gap(const char *text, size_t at, size_t end, size_t n, hpc_language l,
                            bool sentinel)
{
    bool feed = at == 0 || sentinel || memchr(text + at, '\n', end - at);
    if (at == 0 && end >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) at = 3;
    for (size_t i = at; i < end; i++) {
        char c = text[i];
        if (test_is_blank(c) || c == '\n') continue;
        if (l == HPC_LANGUAGE_FORTRAN && (feed || c == '&')) continue;
        size_t k = i + 1;
        while (k < n && test_is_blank(text[k])) k++;
        if (c == '\\' && k < n && text[k] == '\n') continue;
        fail_msg("byte %zu, 0x%02x, is in no token", i, (unsigned)(unsigned char)c);
    }
}

/* Invariants of any text: order, bounds, lines, kinds, directives, and no lost byte. */
static inline void test_whole(const hpc_tokens *t, const char *text, size_t n, hpc_language l)
{
    size_t at = 0;
    uint32_t line = 1;
    bool directive = false;
    for (int64_t i = 0; i < t->n; i++) {
        const hpc_token *k = &t->item[i];
        if (k->at < at || k->at > n || k->n > n - k->at || k->kind > HPC_TOKEN_LABEL)
            fail_msg("token %d is at byte %u, behind byte %zu", (int)i, k->at, at);
        if (k->at > at) test_gap(text, at, k->at, n, l, i > 0 && k[-1].kind == HPC_TOKEN_SENTINEL);
        for (; at < k->at; at++) line += text[at] == '\n';
        if (k->line != line) fail_msg("token %d is on line %u, not on %u", (int)i, line, k->line);
        for (; at < k->at + k->n; at++) line += text[at] == '\n';
        bool empty = k->kind == HPC_TOKEN_END_DIRECTIVE;
        if (k->kind != HPC_TOKEN_NEWLINE && (k->n == 0) != empty)
            fail_msg("token %d has %u bytes", (int)i, k->n);
        if (k->kind == HPC_TOKEN_SENTINEL) {
            assert_false(directive);
            directive = true;
        }
        if (((k->flags & HPC_TOKEN_IN_DIRECTIVE) != 0) != directive)
            fail_msg("token %d has the wrong mark of a directive", (int)i);
        if (empty) directive = false;
    }
    assert_false(directive);
    test_gap(text, at, n, n, l, false);
}

#endif
