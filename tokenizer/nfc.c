/*
 * nfc.c: Unicode normalisation form C.
 *
 * Text that cannot change is recognised without a copy. Otherwise each part between characters that
 * never change is decomposed, ordered and composed again. utf8proc knows the decompositions and the
 * compositions; its ordering takes quadratic time on long runs of marks, so ordering is done here.
 */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "tokenizer/priv.h"

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Appends the canonical decomposition of `point`. A mark that the tokenizers package does not know
 * has no class, even if utf8proc knows a later Unicode. Entries are class << 53 | place << 21 |
 * point: sorting them by value sorts by class and is stable. The caller has checked that the text
 * has fewer than 2^32 points. */
static int decompose(hpc_buf *points, const tokenizer_unicode *u, uint32_t point)
{
    utf8proc_int32_t part[4]; /* no decomposition is longer */
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)point, part, 4,
                                                 UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, NULL);
    bool classed = n > 1 || (tokenizer_class(u, point) & UNI_NFC);
    int rc = 0;
    for (utf8proc_ssize_t k = 0; k < n && rc == 0; k++) {
        uint64_t order = classed ? (uint64_t)utf8proc_get_property(part[k])->combining_class : 0;
        uint64_t place = points->n / sizeof place;
        uint64_t entry = order << 53 | place << 21 | (uint32_t)part[k];
        rc = hpc_buf_add(points, &entry, sizeof entry);
    }
    return rc;
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

static int normalise_part(const tokenizer_unicode *u, const char *text, size_t n, hpc_buf *out,
                          hpc_buf *points)
{
    points->n = 0;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        int rc = decompose(points, u, tokenizer_point(text + at, &bytes));
        if (rc < 0) return rc;
    }
    uint64_t *e = (uint64_t *)(void *)points->data;
    utf8proc_ssize_t count = (utf8proc_ssize_t)(points->n / sizeof *e);
    reorder(e, (size_t)count);
    utf8proc_int32_t *point = (utf8proc_int32_t *)(void *)points->data; /* over the entries */
    for (utf8proc_ssize_t k = 0; k < count; k++) {
        utf8proc_int32_t value = e[k] & 0x1fffff;
        memcpy(point + k, &value, sizeof value);
    }
    count = utf8proc_normalize_utf32(point, count, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    for (utf8proc_ssize_t k = 0; k < count; k++) {
        utf8proc_uint8_t bytes[4];
        int rc = hpc_buf_add(out, bytes, (size_t)utf8proc_encode_char(point[k], bytes));
        if (rc < 0) return rc;
    }
    return 0;
}

/* The first character at or after `at` that may change; *safe is where the last that cannot, and
 * that begins a part, begins. */
static size_t next_slow(const tokenizer_unicode *u, const char *text, size_t n, size_t at,
                        size_t *safe)
{
    *safe = at;
    while (at < n) {
        size_t bytes;
        if ((uint8_t)text[at] < 0x80) {
            *safe = at++;
            continue;
        }
        uint32_t point = tokenizer_point(text + at, &bytes);
        if (tokenizer_class(u, point) & UNI_NFC) return at;
        *safe = at;
        at += bytes;
    }
    return n;
}

int tokenizer_nfc_apply(const char **out, size_t *out_n, const tokenizer_unicode *u,
                        const char *text, size_t n, hpc_buf *keep, hpc_buf *points)
{
    int rc = 0;
    size_t safe, done = 0;
    size_t at = next_slow(u, text, n, 0, &safe);
    *out = NULL;
    if (at == n) return 0;
    if (n >= (size_t)1 << 30) { /* every byte gives fewer than four points */
        return hpc_fail(HPC_E_ARG, "text of %zu bytes: at most 1 GiB can be normalised at once", n);
    }
    keep->n = 0;
    while (at < n) {
        size_t end = at, bytes;
        while (end < n && tokenizer_class(u, tokenizer_point(text + end, &bytes)) & UNI_NFC) {
            end += bytes;
        }
        TRY(hpc_buf_add(keep, text + done, safe - done));
        TRY(normalise_part(u, text + safe, end - safe, keep, points));
        done = end;
        at = next_slow(u, text, n, end, &safe);
    }
    TRY(hpc_buf_add(keep, text + done, n - done));
    *out = keep->data;
    *out_n = keep->n;
out:
    return rc;
}
