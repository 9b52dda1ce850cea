/*
 * find.c: searches for rare words, compared with byte-wise searches.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/priv.h"

static const char *plainly(const char *text, size_t n, const char *word)
{
    size_t m = strlen(word);
    for (size_t i = 0; i + m <= n; i++)
        if (memcmp(text + i, word, m) == 0) return text + i;
    return NULL;
}

/* Every text length and position, with near misses before and after the word. */
static void every_place(void **state)
{
    (void)state;
    static const char *const words[] = {"a", "ab", "aba", "PRIVATE KEY-----",
                                        "a word of 19 bytes "};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t m = strlen(words[k]);
        for (size_t n = 0; n < 80; n++) {
            char *text = malloc(n > 0 ? n : 1); /* no byte more: the sanitizer sees who reads on */
            assert_non_null(text);
            memset(text, words[k][0] == 'a' ? 'b' : words[k][m - 1], n);
            assert_ptr_equal(corpus_find(text, n, words[k]), plainly(text, n, words[k]));
            for (size_t at = 0; at + m <= n; at++) {
                memset(text, words[k][0], n);
                for (size_t i = 1; i < n; i += 3) text[i] = words[k][m - 1];
                memcpy(text + at, words[k], m);
                assert_ptr_equal(corpus_find(text, n, words[k]), plainly(text, n, words[k]));
            }
            free(text);
        }
    }
}

/* Bytes around the sign bit, few different ones, so that parts of words are everywhere. */
static void random_texts(void **state)
{
    (void)state;
    uint32_t dice = 1;
    char text[300], word[8];
    for (int k = 0; k < 20000; k++) {
        size_t n = (size_t)k % sizeof text, m = 1 + (size_t)k % 6;
        for (size_t i = 0; i < n; i++) {
            dice = dice * 1664525u + 1013904223u;
            text[i] = (char)(0x7e + (dice >> 30));
        }
        for (size_t i = 0; i < m; i++) {
            dice = dice * 1664525u + 1013904223u;
            word[i] = (char)(0x7e + (dice >> 30));
        }
        word[m] = '\0';
        assert_ptr_equal(corpus_find(text, n, word), plainly(text, n, word));
    }
}

/* By the contract: in each of three places, halves of bytes that some head of the row has there. */
static bool may_begin(const char *const *row, int rows_n, const char *text, size_t n)
{
    for (int r = 0; r < rows_n; r++) {
        int fits = 0;
        for (size_t k = 0; k < 3; k++) {
            bool low = false, high = false;
            unsigned c = k < n ? (unsigned char)text[k] : 0;
            for (const char *p = row[r]; k < strlen(p); p += 4) {
                unsigned char head = (unsigned char)p[k];
                low |= head == '.' || (c & 15) == (head & 15);
                high |= head == '.' || c >> 4 == head >> 4;
                if (!p[3]) break;
            }
            fits += low && high;
        }
        if (fits == 3) return true;
    }
    return false;
}

/* From every place on of texts of every length, with and without vectors. */
static void many_words(void **state)
{
    (void)state;
    static const char *const rows[] = {"@..",     "AKI KEY", "zo. \xc3\xa4x", "gho ghp",
                                       "ab- ab_", "xyz",     "0.0",           "ght"};
    static const char few[] = "@AKIEYzo\xc3\xa4xghpt-_\0 0";
    uint32_t dice = 1;
    for (int k = 0; k < 4000; k++) {
        size_t n = (size_t)k % 150;
        int rows_n = 1 + k % CORPUS_HEAD_ROWS;
        char *text = malloc(n > 0 ? n : 1); /* no byte more: the sanitizer sees who reads on */
        corpus_heads h;
        assert_non_null(text);
        for (size_t i = 0; i < n; i++) {
            dice = dice * 1664525u + 1013904223u;
            text[i] = dice >> 29 ? 'q' : few[(dice >> 8) % (sizeof few - 1)];
        }
        corpus_heads_init(&h, rows, rows_n);
        for (size_t from = n + 1, next = n; from-- > 0;) {
            if (may_begin(rows, rows_n, text + from, n - from) && from < n) next = from;
            assert_int_equal(corpus_heads_next(&h, text, n, from), next);
            assert_int_equal(corpus_heads_next_plainly(&h, text, n, from), next);
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place),
        cmocka_unit_test(random_texts),
        cmocka_unit_test(many_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
