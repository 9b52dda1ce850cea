/*
 * nfc.c: Unicode normalisation form C (Unicode Standard Annex 15).
 *
 * Text that cannot change is recognised without copying. Otherwise only the text between
 * characters that never change is decomposed and recomposed.
 */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/priv.h"

struct tokenizer_nfc {
    const tokenizer_unicode *unicode;
    uint64_t *compose; /* first << 42 | second << 21 | composed; sorted */
    int compose_n;
};

enum {
    HANGUL = 0xac00,
    HANGUL_N = 11172,
    LEAD = 0x1100,
    LEAD_N = 19,
    VOWEL = 0x1161,
    VOWEL_N = 21,
    TAIL = 0x11a7, /* one before the first */
    TAIL_N = 28
};

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int tokenizer_nfc_create(tokenizer_nfc **out, const tokenizer_unicode *u, hpc_arena *arena)
{
    const uint64_t point = 0x1fffff;
    tokenizer_nfc *f = hpc_arena_alloc(arena, 1, sizeof *f);
    if (!f) return HPC_E_NOMEM;
    f->unicode = u;
    f->compose = hpc_arena_alloc(arena, (size_t)tokenizer_nfc_pairs_n, sizeof *f->compose);
    if (!f->compose) return HPC_E_NOMEM;
    for (int i = 0; i < tokenizer_nfc_pairs_n; i++) {
        uint64_t p = tokenizer_nfc_pairs[i];
        if (!(p & 1)) continue;
        f->compose[f->compose_n++] =
            (p >> 22 & point) << 42 | (p >> 1 & point) << 21 | (p >> 43 & point);
    }
    qsort(f->compose, (size_t)f->compose_n, sizeof *f->compose, compare);
    *out = f;
    return 0;
}

static uint32_t order_of(uint32_t point)
{
    int lo = 0, hi = tokenizer_nfc_orders_n;
    while (hi - lo > 1) { /* the first run begins at 0 */
        int mid = (lo + hi) / 2;
        if (tokenizer_nfc_orders[mid] >> 8 <= point) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return tokenizer_nfc_orders[lo] & 255;
}

/* 0: the two do not compose (no pair composes to U+0000). */
static uint32_t compose(const tokenizer_nfc *f, uint32_t a, uint32_t b)
{
    if (a >= LEAD && a < LEAD + LEAD_N && b >= VOWEL && b < VOWEL + VOWEL_N) {
        return HANGUL + ((a - LEAD) * VOWEL_N + (b - VOWEL)) * TAIL_N;
    }
    if (a >= HANGUL && a < HANGUL + HANGUL_N && (a - HANGUL) % TAIL_N == 0 && b > TAIL &&
        b < TAIL + TAIL_N)
    {
        return a + (b - TAIL);
    }
    const uint64_t key = (uint64_t)a << 42 | (uint64_t)b << 21;
    int lo = 0, hi = f->compose_n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (f->compose[mid] < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == f->compose_n || f->compose[lo] >> 21 != key >> 21) return 0;
    return (uint32_t)(f->compose[lo] & 0x1fffff);
}

/* Points are kept as class << 53 | place << 21 | point, so that sorting by number sorts by class
 * and leaves equals in order. A text has fewer than 2^32 points (checked by the caller). */
static int put(hpc_buf *points, uint32_t point)
{
    uint64_t place = points->n / sizeof place;
    uint64_t entry = (uint64_t)order_of(point) << 53 | place << 21 | point;
    return hpc_buf_add(points, &entry, sizeof entry);
}

/* The canonical decomposition; no chain is longer than four. */
static int decompose(hpc_buf *points, uint32_t point)
{
    if (point >= HANGUL && point < HANGUL + HANGUL_N) {
        uint32_t s = point - HANGUL;
        int rc = put(points, LEAD + s / (VOWEL_N * TAIL_N));
        if (rc == 0) rc = put(points, VOWEL + s % (VOWEL_N * TAIL_N) / TAIL_N);
        if (rc == 0 && s % TAIL_N) rc = put(points, TAIL + s % TAIL_N);
        return rc;
    }
    int lo = 0, hi = tokenizer_nfc_pairs_n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (tokenizer_nfc_pairs[mid] >> 43 < point) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == tokenizer_nfc_pairs_n || tokenizer_nfc_pairs[lo] >> 43 != point) {
        return put(points, point);
    }
    uint32_t second = tokenizer_nfc_pairs[lo] >> 1 & 0x1fffff;
    int rc = decompose(points, tokenizer_nfc_pairs[lo] >> 22 & 0x1fffff);
    return rc == 0 && second ? decompose(points, second) : rc;
}

/* Marks between starters go by class. Runs are short unless somebody means harm. */
static void reorder(uint64_t *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (e[i] >> 53 == 0) continue;
        size_t end = i;
        while (end < n && e[end] >> 53) end++;
        if (end - i > 16) {
            qsort(e + i, end - i, sizeof *e, compare);
        } else {
            for (size_t k = i + 1; k < end; k++) {
                uint64_t x = e[k];
                size_t j = k;
                for (; j > i && e[j - 1] > x; j--) e[j] = e[j - 1];
                e[j] = x;
            }
        }
        i = end - 1;
    }
}

/* In place; returns the new count. */
static size_t recompose(const tokenizer_nfc *f, uint64_t *e, size_t n)
{
    size_t out = 0, starter = n; /* n: none yet */
    uint64_t last = 0;           /* class of the last kept after the starter */
    for (size_t i = 0; i < n; i++) {
        uint64_t order = e[i] >> 53;
        uint32_t point = e[i] & 0x1fffff;
        bool next = starter < n && out == starter + 1; /* nothing between */
        if (starter < n && (next || last < order)) {
            uint32_t whole = compose(f, e[starter] & 0x1fffff, point);
            if (whole) {
                e[starter] = whole;
                continue;
            }
        }
        if (order == 0) starter = out;
        last = order;
        e[out++] = e[i];
    }
    return out;
}

static int add_utf8(hpc_buf *out, uint32_t c)
{
    char b[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6) b[i] = (char)(0x80 | (c & 0x3f));
    b[0] = (char)(lead[n] | c);
    return hpc_buf_add(out, b, n);
}

static int normalise_part(const tokenizer_nfc *f, const char *text, size_t n, hpc_buf *out,
                          hpc_buf *points)
{
    points->n = 0;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        int rc = decompose(points, tokenizer_point(text + at, &bytes));
        if (rc < 0) return rc;
    }
    uint64_t *e = (uint64_t *)(void *)points->data;
    size_t count = points->n / sizeof *e;
    reorder(e, count);
    count = recompose(f, e, count);
    for (size_t i = 0; i < count; i++) {
        int rc = add_utf8(out, e[i] & 0x1fffff);
        if (rc < 0) return rc;
    }
    return 0;
}

/* The first character at or after `at` that may change; *safe is where the last that cannot, and
 * that begins a part, begins. */
static size_t next_slow(const tokenizer_nfc *f, const char *text, size_t n, size_t at, size_t *safe)
{
    *safe = at;
    while (at < n) {
        size_t bytes;
        if ((uint8_t)text[at] < 0x80) {
            *safe = at++;
            continue;
        }
        uint32_t point = tokenizer_point(text + at, &bytes);
        if (tokenizer_class(f->unicode, point) & UNI_NFC) return at;
        *safe = at;
        at += bytes;
    }
    return n;
}

int tokenizer_nfc_apply(const char **out, size_t *out_n, const tokenizer_nfc *nfc, const char *text,
                        size_t n, hpc_buf *keep, hpc_buf *points)
{
    int rc = 0;
    size_t safe, done = 0;
    size_t at = next_slow(nfc, text, n, 0, &safe);
    *out = NULL;
    if (at == n) return 0;
    if (n >= (size_t)1 << 30) { /* every byte gives fewer than four points */
        return hpc_fail(HPC_E_ARG, "text of %zu bytes: at most 1 GiB can be normalised at once", n);
    }
    keep->n = 0;
    while (at < n) {
        size_t end = at, bytes;
        while (end < n &&
               tokenizer_class(nfc->unicode, tokenizer_point(text + end, &bytes)) & UNI_NFC) {
            end += bytes;
        }
        TRY(hpc_buf_add(keep, text + done, safe - done));
        TRY(normalise_part(nfc, text + safe, end - safe, keep, points));
        done = end;
        at = next_slow(nfc, text, n, end, &safe);
    }
    TRY(hpc_buf_add(keep, text + done, n - done));
    *out = keep->data;
    *out_n = keep->n;
out:
    return rc;
}
