/*
 * edits.h: generates programs of any length that resemble real ones, and edits copies of them:
 * names, comments, indentation, lines.
 */
#ifndef HPC_TESTS_CORPUS_EDITS_H
#define HPC_TESTS_CORPUS_EDITS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/shingle.h"

typedef struct dice {
    uint64_t seed, n;
} dice;

static inline uint32_t roll_dice(dice *d, uint32_t sides)
{
    return hpc_random_bits(d->seed, 11, 0, d->n++) % sides;
}

static inline bool chance(dice *d, double share)
{
    return roll_dice(d, 1u << 20) < share * (1u << 20);
}

/* Appends a name; few names are frequent, many are rare. */
static inline void add_name(hpc_buf *b, dice *d)
{
    static const char *const stem[] = {"flux", "rho",  "cell", "node", "mass", "grid",
                                       "temp", "face", "vel",  "wave", "dens", "idx"};
    static const char *const common[] = {"i", "j", "n", "x", "y", "sum", "a", "b"};
    if (chance(d, 0.45))
        hpc_buf_text(b, common[roll_dice(d, 8)]);
    else
        hpc_buf_printf(b, "%s_%u", stem[roll_dice(d, 12)], roll_dice(d, 1 + roll_dice(d, 60)));
}

static inline void add_expression(hpc_buf *b, dice *d, int terms)
{
    static const char *const op[] = {" + ", " - ", " * ", " / "};
    for (int k = 0; k < terms; k++) {
        if (k > 0) hpc_buf_text(b, op[roll_dice(d, 4)]);
        add_name(b, d);
        if (chance(d, 0.4)) {
            hpc_buf_text(b, "[");
            add_name(b, d);
            if (chance(d, 0.3)) hpc_buf_printf(b, " + %u", roll_dice(d, 9));
            hpc_buf_text(b, "]");
        } else if (chance(d, 0.1)) {
            hpc_buf_printf(b, "(%u.%u)", roll_dice(d, 100), roll_dice(d, 100));
        }
    }
}

static inline void add_statement(hpc_buf *b, dice *d, int depth)
{
    hpc_buf_printf(b, "%*s", 4 * depth, "");
    switch (roll_dice(d, 8)) {
    case 0:
        hpc_buf_text(b, "for (int i = 0; i < ");
        add_name(b, d);
        hpc_buf_printf(b, "; i++) {\n%*s", 4 * depth + 4, "");
        add_name(b, d);
        hpc_buf_text(b, "[i] += ");
        add_expression(b, d, 3);
        hpc_buf_printf(b, ";\n%*s}\n", 4 * depth, "");
        break;
    case 1:
        hpc_buf_text(b, "if (");
        add_expression(b, d, 2);
        hpc_buf_text(b, " > 0) return ");
        add_expression(b, d, 1);
        hpc_buf_text(b, ";\n");
        break;
    case 2:
        hpc_buf_text(b, "// the ");
        add_name(b, d);
        hpc_buf_text(b, " of the last step\n");
        break;
    case 3:
        hpc_buf_text(b, "compute_");
        add_name(b, d);
        hpc_buf_text(b, "(");
        add_expression(b, d, 1);
        hpc_buf_text(b, ", ");
        add_expression(b, d, 1);
        hpc_buf_text(b, ");\n");
        break;
    default:
        if (chance(d, 0.3)) hpc_buf_text(b, "double ");
        add_name(b, d);
        hpc_buf_text(b, " = ");
        add_expression(b, d, 1 + (int)roll_dice(d, 3));
        hpc_buf_text(b, ";\n");
    }
}

static inline void tokens_of(hpc_tokens *out, const hpc_buf *text)
{
    assert_int_equal(text->failed, 0);
    assert_int_equal(hpc_lex(out, text->data ? text->data : "", text->n, HPC_LANGUAGE_C, false), 0);
}

static inline void code_of_text(corpus_code *out, const char *text, size_t n)
{
    hpc_tokens t = {0};
    assert_int_equal(hpc_lex(&t, text, n, HPC_LANGUAGE_C, false), 0);
    assert_int_equal(corpus_code_of(out, &t), 0);
    hpc_tokens_release(&t);
}

static inline void code_of(corpus_code *out, const hpc_buf *text)
{
    code_of_text(out, text->data, text->n);
}

static inline int by_hash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The distinct shingles, sorted; a text shorter than a shingle has one. The caller frees. */
static inline uint64_t *shingle_set(int64_t *n, const corpus_code *c)
{
    int64_t first = c->n < CORPUS_SHINGLE ? c->n - 1 : CORPUS_SHINGLE - 1, all = c->n - first;
    uint64_t *set = calloc((size_t)c->n + 1, sizeof *set);
    *n = 0;
    if (c->n == 0) return set;
    corpus_shingles(set, c, first, all);
    qsort(set, (size_t)all, sizeof *set, by_hash);
    for (int64_t i = 0; i < all; i++)
        if (*n == 0 || set[*n - 1] != set[i]) set[(*n)++] = set[i];
    return set;
}

/* Jaccard similarity: size of the intersection relative to the union. */
static inline double exact_similarity_of(const corpus_code *a, const corpus_code *b)
{
    int64_t x_n, y_n, both = 0;
    uint64_t *x = shingle_set(&x_n, a), *y = shingle_set(&y_n, b);
    for (int64_t i = 0; i < x_n; i++)
        both += bsearch(&x[i], y, (size_t)y_n, sizeof *y, by_hash) != NULL;
    free(x);
    free(y);
    return x_n + y_n > 0 ? (double)both / (double)(x_n + y_n - both) : 1;
}

static inline int64_t code_tokens(const hpc_tokens *t)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) n += hpc_token_is_code(&t->item[i]);
    return n;
}

/* Replaces b with a program of about `length` code tokens. */
static inline void make_program(hpc_buf *b, uint64_t seed, int64_t length)
{
    dice d = {seed, 0};
    hpc_tokens t = {0};
    b->n = 0;
    do {
        hpc_buf_printf(b, "static double step_%u(double *a, int n)\n{\n", roll_dice(&d, 10000));
        for (int k = 0; k < 12 && (int64_t)b->n < 4 * length; k++) add_statement(b, &d, 1);
        hpc_buf_text(b, "}\n\n");
        tokens_of(&t, b);
    } while (code_tokens(&t) < length);
    hpc_tokens_release(&t);
}

typedef struct edit {
    double rename, drop, insert, comment; /* fractions of names (rename) and of lines */
    bool reindent, licence;
} edit;

static inline bool is_keyword(const char *s, size_t n)
{
    static const char *const word[] = {"static", "double", "int", "for", "if", "return"};
    for (size_t k = 0; k < sizeof word / sizeof *word; k++)
        if (strlen(word[k]) == n && memcmp(word[k], s, n) == 0) return true;
    return false;
}

/* A name is renamed everywhere or nowhere. */
static inline void add_renamed(hpc_buf *out, const char *line, size_t n, uint64_t seed, double rate)
{
    for (size_t i = 0; i < n;) {
        size_t m = 0;
        while (i + m < n && (isalnum((unsigned char)line[i + m]) || line[i + m] == '_')) m++;
        hpc_buf_add(out, line + i, m > 0 ? m : 1);
        bool named = m > 0 && !isdigit((unsigned char)line[i]) && !is_keyword(line + i, m);
        if (named && (double)(hpc_hash(line + i, m, seed) % 10000) < rate * 10000)
            hpc_buf_text(out, "_new");
        i += m > 0 ? m : 1;
    }
}

/* Replaces out with an edited copy. */
static inline void edit_program(hpc_buf *out, const hpc_buf *from, const edit *e, uint64_t seed)
{
    dice d = {seed, 1 << 20};
    out->n = 0;
    if (e->licence)
        hpc_buf_printf(out, "/* Copyright %u, all rights of course. */\n", (unsigned)seed);
    for (size_t at = 0; at < from->n;) {
        const char *line = from->data + at, *end = memchr(line, '\n', from->n - at);
        size_t n = end ? (size_t)(end - line) : from->n - at;
        at += n + 1;
        if (chance(&d, e->insert)) add_statement(out, &d, 1);
        if (chance(&d, e->comment)) hpc_buf_printf(out, "  /* note %u */", roll_dice(&d, 1000));
        if (chance(&d, e->drop)) continue;
        if (e->reindent) {
            while (n > 0 && *line == ' ') line++, n--;
            hpc_buf_printf(out, "%.*s", (int)roll_dice(&d, 5), "\t\t\t\t\t");
        }
        add_renamed(out, line, n, seed, e->rename);
        hpc_buf_text(out, e->reindent && chance(&d, 0.2) ? " \n\n" : "\n");
    }
}

#endif
