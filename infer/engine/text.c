/*
 * text.c: decodes tokens one by one. Each token is decoded after another one, because the first
 * token of a text may lose a blank that belongs to it. Incomplete characters wait in a buffer.
 */
#include "infer/engine/text.h"

#include <string.h>

enum { NORMAL = 1, CONTROL = 3 }; /* kinds of pieces */

struct hpc_text {
    const hpc_tokenizer *t;
    char **stop;
    int64_t stop_n, stop_cap;
    int32_t anchor;  /* token after which the tokens of a text are decoded */
    size_t anchor_n; /* its bytes */
    bool begins, stopped;
    const char *found; /* the stop string; NULL: none */
    hpc_buf pending, pair;
};

/* ---- memory ---------------------------------------------------------------------------------- */

static int add_stop(hpc_text *x, const char *text)
{
    size_t n = strlen(text);

    if (n == 0) return hpc_fail(HPC_E_ARG, "an empty stop string would end every text");
    int rc = hpc_grow(&x->stop, &x->stop_cap, x->stop_n + 1, sizeof *x->stop);
    if (rc < 0) return rc;
    char *copy = hpc_alloc(n + 1, 1);
    if (!copy) return HPC_E_NOMEM;
    memcpy(copy, text, n);
    x->stop[x->stop_n++] = copy;
    return HPC_OK;
}

/* Any token that is text. */
static int find_anchor(hpc_text *x)
{
    float score;

    for (int32_t id = 0; id < hpc_tokenizer_n(x->t); id++) {
        if (hpc_tokenizer_piece_type(&score, x->t, id) != NORMAL) continue;
        x->pair.n = 0;
        int rc = hpc_tokenizer_decode(&x->pair, x->t, &id, 1, true);
        if (rc < 0) return rc;
        x->anchor = id;
        x->anchor_n = x->pair.n;
        if (x->anchor_n > 0) return HPC_OK;
    }
    return hpc_fail(HPC_E_UNSUPPORTED, "a tokenizer without a piece of text");
}

int hpc_text_create(hpc_text **out, const hpc_tokenizer *t, const char *const *stop, bool begins)
{
    hpc_text *x = hpc_alloc(1, sizeof *x);
    int rc;

    *out = NULL;
    if (!x) return HPC_E_NOMEM;
    x->t = t;
    x->begins = begins;
    rc = find_anchor(x);
    for (; stop && *stop && rc >= 0; stop++) rc = add_stop(x, *stop);
    if (rc < 0) {
        hpc_text_free(x);
        return rc;
    }
    *out = x;
    return HPC_OK;
}

void hpc_text_free(hpc_text *x)
{
    if (!x) return;
    for (int64_t k = 0; k < x->stop_n; k++) hpc_free(x->stop[k]);
    hpc_free(x->stop);
    hpc_buf_release(&x->pending);
    hpc_buf_release(&x->pair);
    hpc_free(x);
}

/* ---- tokens -----------------------------------------------------------------------------------
 */

/* The bytes that a token adds to what came before it. */
static int decode(hpc_text *x, int32_t token)
{
    const int32_t behind[] = {x->anchor, token};
    float score;
    int rc;

    if (x->begins) {
        x->begins = hpc_tokenizer_piece_type(&score, x->t, token) == CONTROL;
        return hpc_tokenizer_decode(&x->pending, x->t, &token, 1, true);
    }
    x->pair.n = 0;
    rc = hpc_tokenizer_decode(&x->pair, x->t, behind, 2, true);
    if (rc < 0) return rc;
    hpc_assert(x->pair.n >= x->anchor_n);
    return hpc_buf_add(&x->pending, x->pair.data + x->anchor_n, x->pair.n - x->anchor_n);
}

/* ---- what waits ------------------------------------------------------------------------------ */

/* Offset of the first stop string, or n. If several begin there, the first in the list counts. */
static size_t find_stop(const hpc_text *x, const char **which)
{
    size_t n = x->pending.n, found = n;

    for (int64_t k = 0; k < x->stop_n; k++) {
        size_t length = strlen(x->stop[k]);
        for (size_t at = 0; at + length <= n && at < found; at++)
            if (memcmp(x->pending.data + at, x->stop[k], length) == 0) {
                found = at;
                *which = x->stop[k];
            }
    }
    return found;
}

/* From where on the bytes are the beginning of a stop string. */
static size_t may_stop_at(const hpc_text *x)
{
    size_t n = x->pending.n, from = n;

    for (int64_t k = 0; k < x->stop_n; k++) {
        size_t length = strlen(x->stop[k]), at = n > length - 1 ? n - (length - 1) : 0;
        for (; at < from; at++)
            if (memcmp(x->pending.data + at, x->stop[k], n - at) == 0) from = at;
    }
    return from;
}

/* Bytes that a character has by its first one; 1: none of UTF-8. */
static size_t length_by(uint8_t first)
{
    return first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

/* From where on a character is not complete. */
static size_t incomplete_at(const hpc_text *x)
{
    const uint8_t *text = (const uint8_t *)x->pending.data;
    size_t n = x->pending.n;

    for (size_t back = 1; back <= 3 && back <= n; back++) {
        uint8_t byte = text[n - back];
        if ((byte & 0xc0) == 0x80) continue;
        return byte < 0xf8 && length_by(byte) > back ? n - back : n;
    }
    return n;
}

static int show(hpc_text *x, hpc_buf *ready, size_t n)
{
    int rc = n > 0 ? hpc_buf_add(ready, x->pending.data, n) : HPC_OK;

    if (rc < 0 || n == 0) return rc;
    x->pending.n -= n;
    memmove(x->pending.data, x->pending.data + n, x->pending.n);
    return HPC_OK;
}

int hpc_text_push(hpc_text *x, int32_t token, hpc_buf *ready, bool *stopped)
{
    int rc = HPC_OK;

    *stopped = x->stopped;
    if (x->stopped) return HPC_OK;
    TRY(decode(x, token));
    size_t stop = find_stop(x, &x->found), may = may_stop_at(x), cut = incomplete_at(x);
    x->stopped = *stopped = stop < x->pending.n;
    if (x->stopped) {
        TRY(show(x, ready, stop));
        x->pending.n = 0;
    } else {
        TRY(show(x, ready, may < cut ? may : cut));
    }
out:
    return rc;
}

const char *hpc_text_stop(const hpc_text *x)
{
    return x->found;
}

int hpc_text_end(hpc_text *x, hpc_buf *ready)
{
    return show(x, ready, x->pending.n);
}
