/*
 * Tests of tokenizer/nfc.c and unicode.c: NFC by examples and by its laws over all code points,
 * classes of characters, UTF-8 validation.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/fault.h"
#include "tokenizer/priv.h"

typedef struct fixture {
    hpc_arena *arena;
    tokenizer_unicode unicode;
    hpc_buf keep, points;
} fixture;

static int begin(void **state)
{
    fixture *f = hpc_alloc(1, sizeof *f);
    *state = f;
    f->arena = hpc_arena_create(0);
    assert_int_equal(tokenizer_unicode_init(&f->unicode, f->arena), 0);
    return 0;
}

static int end(void **state)
{
    fixture *f = *state;
    hpc_arena_free(f->arena);
    hpc_buf_release(&f->keep);
    hpc_buf_release(&f->points);
    hpc_free(f);
    return 0;
}

/* The text itself where nothing changes. */
static const char *apply(fixture *f, const char *text, size_t n, size_t *out_n)
{
    const char *out;
    assert_int_equal(tokenizer_nfc_apply(&out, out_n, &f->unicode, text, n, &f->keep, &f->points),
                     0);
    if (!out) *out_n = n;
    return out ? out : text;
}

static void test_examples(void **state)
{
    fixture *f = *state;
    static const char *const cases[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"caf\u00e9", "caf\u00e9"},
        {"cafe\u0301s", "caf\u00e9s"},
        {"\u0301e\u0301", "\u0301\u00e9"},
        {"\u212b\u2126\u212a", "\u00c5\u03a9K"}, /* one character for another */
        {"\u0958", "\u0915\u093c"},              /* excluded from composing */
        {"\u0344", "\u0308\u0301"},
        {"q\u0307\u0323", "q\u0323\u0307"}, /* marks in order */
        {"a\u0323\u0307\u0301", "\u1ea1\u0307\u0301"},
        {"a\u0307\u0323", "\u1ea1\u0307"}, /* over a mark in between */
        {"a\u0345\u0301", "\u00e1\u0345"},
        {"\u1112\u1161\u11ab", "\ud55c"}, /* Hangul */
        {"\uac00\u11a8", "\uac01"},
        {"\uac01\u11a8", "\uac01\u11a8"},
        {"\u01d5", "\u01d5"},
        {"U\u0308\u0304x", "\u01d5x"}, /* two steps */
        {"\u0e40\u0e48", "\u0e40\u0e48"},
        {"\uf900", "\u8c48"},
        {"\U0001d15e", "\U0001d157\U0001d165"},
        {"\u09c7\u09be", "\u09cb"}, /* two starters */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n;
        const char *got = apply(f, cases[i][0], strlen(cases[i][0]), &n);
        assert_int_equal(n, strlen(cases[i][1]));
        assert_memory_equal(got, cases[i][1], n);
    }
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) return out[0] = (char)c, 1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return n;
}

/* NFC of NFC is NFC; what has no flag neither changes nor joins what is before it. */
static void test_laws(void **state)
{
    fixture *f = *state;
    for (uint32_t c = 1; c < 0x110000; c++) {
        char text[16] = "e", once[64];
        size_t n, again_n;
        if (c >= 0xd800 && c < 0xe000) continue;
        size_t length = 1 + put_utf8(text + 1, c);
        text[length++] = '\xcc'; /* followed by a grave accent */
        text[length++] = '\x80';
        const char *got = apply(f, text, length, &n);
        assert_true(n <= sizeof once);
        memcpy(once, got, n);
        got = apply(f, once, n, &again_n);
        assert_int_equal(again_n, n);
        assert_memory_equal(got, once, n);
        if (!(tokenizer_class(&f->unicode, c) & UNI_NFC)) assert_int_equal(once[0], 'e');
    }
}

/* The marks between two starters are sorted, and not one by one. */
static void test_a_long_run_of_marks(void **state)
{
    fixture *f = *state;
    enum { MARKS = 300000 };
    char *text = hpc_alloc(MARKS * 2 + 2, 1);
    size_t n;
    text[0] = 'x';
    for (size_t i = 0; i < MARKS; i++) { /* over, under, over, ... */
        text[1 + 2 * i] = '\xcc';
        text[2 + 2 * i] = i % 2 ? '\xa3' : '\x8d';
    }
    const char *got = apply(f, text, MARKS * 2 + 1, &n);
    assert_int_equal(n, MARKS * 2 + 1);
    for (size_t i = 0; i < MARKS; i++) {
        assert_int_equal((uint8_t)got[2 + 2 * i], i < MARKS / 2 ? 0xa3 : 0x8d);
    }
    hpc_free(text);
}

static void test_classes(void **state)
{
    const fixture *f = *state;
    static const struct {
        uint32_t point;
        unsigned class;
    } cases[] = {
        {'a', UNI_LETTER | UNI_WORD},
        {'7', UNI_NUMBER | UNI_WORD | UNI_NEW_NUMBER},
        {'_', UNI_PUNCT | UNI_WORD | UNI_OLD_PUNCT},
        {'+', UNI_SYMBOL | UNI_OLD_PUNCT},
        {'\n', UNI_SPACE},
        {0, 0},
        {0x180e, 0},
        {0x3000, UNI_SPACE},
        {0xb2, UNI_NUMBER | UNI_NEW_NUMBER},
        {0x301, UNI_MARK | UNI_WORD | UNI_NFC},
        {0x200d, UNI_WORD},
        {0x4e2d, UNI_LETTER | UNI_WORD},
        {0xf900, UNI_LETTER | UNI_WORD | UNI_NFC},
        {0x10ffff, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(tokenizer_class(&f->unicode, cases[i].point), cases[i].class);
    }
    for (int i = 0; i < tokenizer_unicode_runs_n; i++) { /* both ends of every run */
        uint32_t first = tokenizer_unicode_runs[i] / UNI_SETS;
        uint32_t next =
            i + 1 < tokenizer_unicode_runs_n ? tokenizer_unicode_runs[i + 1] / UNI_SETS : 0x110000;
        unsigned class = tokenizer_unicode_runs[i] % UNI_SETS;
        assert_int_equal(tokenizer_class(&f->unicode, first), class);
        assert_int_equal(tokenizer_class(&f->unicode, next - 1), class);
    }
}

static void test_valid(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n, valid;
    } cases[] = {{"", 0, 0},
                 {"0123456789abcdef\xff", 17, 16},
                 {"0123456\u00e9z\xc3", 11, 10},
                 {"\xed\xa0\x80", 3, 0},
                 {"\xf4\x8f\xbf\xbf", 4, 4},
                 {"\xf4\x90\x80\x80", 4, 0},
                 {"a\0b", 3, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(tokenizer_valid(cases[i].text, cases[i].n), cases[i].valid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_a_long_run_of_marks),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_valid),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
