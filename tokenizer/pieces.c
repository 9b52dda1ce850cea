/*
 * pieces.c: builds a tokenizer.model from pieces and scores: protobuf, written by hand.
 *
 * It does not write normaliser rules or squeezing of blanks.
 */
#include <math.h>
#include <string.h>

#include "tokenizer/pieces.h"
#include "tokenizer/spm.h"

enum { TYPE_UNKNOWN = 2, TYPE_USER = 4, TYPE_UNUSED = 5, TYPE_BYTE = 6, TYPES = 7 };

/* ---- protobuf ------------------------------------------------------------------------ */

static void put_varint(hpc_buf *out, uint64_t x)
{
    uint8_t byte[10];
    size_t n = 0;
    for (; x >= 0x80; x >>= 7) byte[n++] = (uint8_t)(x | 0x80);
    byte[n++] = (uint8_t)x;
    hpc_buf_add(out, byte, n);
}

static void put_int(hpc_buf *out, unsigned field, int64_t x)
{
    put_varint(out, field << 3);
    put_varint(out, (uint64_t)x);
}

static void put_float(hpc_buf *out, unsigned field, float x)
{
    put_varint(out, field << 3 | 5);
    hpc_buf_add(out, &x, sizeof x);
}

static void put_bytes(hpc_buf *out, unsigned field, const void *data, size_t n)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, n);
    if (n > 0) hpc_buf_add(out, data, n);
}

static void put_message(hpc_buf *out, unsigned field, const hpc_buf *m)
{
    if (m->failed) out->failed = m->failed;
    put_bytes(out, field, m->data, m->n);
}

/* ---- pieces -------------------------------------------------------------------------- */

int pieces_check(const hpc_tokenizer_pieces *p)
{
    if (p->n > SPM_PIECES_MOST)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: more than %d tokens", p->name, SPM_PIECES_MOST);
    for (int64_t id = 0; id < p->n; id++) {
        const hpc_tokenizer_given *g = &p->piece[id];
        size_t n = strlen(g->text);
        if (n == 0 || tokenizer_valid(g->text, n) != n)
            return hpc_fail(HPC_E_FORMAT, "%s: token %lld is %s", p->name, (long long)id,
                            n ? "not UTF-8" : "empty");
        if (g->type < 1 || g->type >= TYPES)
            return hpc_fail(HPC_E_FORMAT, "%s: token %lld is of type %d; types go from 1 to 6",
                            p->name, (long long)id, g->type);
    }
    const int32_t special[] = {p->special.unknown, p->special.begin, p->special.end,
                               p->special.pad};
    for (size_t k = 0; k < sizeof special / sizeof *special; k++)
        if (special[k] < -1 || special[k] >= p->n)
            return hpc_fail(HPC_E_FORMAT, "%s: special token %d is not one of the %lld tokens",
                            p->name, (int)special[k], (long long)p->n);
    return HPC_OK;
}

/* Blanks as such files have them; `out` is emptied first. */
static void escaped(hpc_buf *out, const char *text)
{
    out->n = 0;
    for (; *text; text++)
        hpc_buf_add(out, *text == ' ' ? "\xE2\x96\x81" : text, *text == ' ' ? 3 : 1);
}

static int put_piece(hpc_buf *out, hpc_buf *one, hpc_buf *text, const hpc_tokenizer_pieces *p,
                     int64_t id, int type)
{
    const hpc_tokenizer_given *g = &p->piece[id];
    bool user = g->type == TYPE_USER;
    if (user) escaped(text, g->text);
    size_t n = user ? text->n : strlen(g->text);
    if (n > SPM_PIECE_MOST)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: token %lld has %zu bytes, at most %d", p->name,
                        (long long)id, n, SPM_PIECE_MOST);
    if (isnan(g->score))
        return hpc_fail(HPC_E_FORMAT, "%s: the score of token %lld is not a number", p->name,
                        (long long)id);
    one->n = 0;
    put_bytes(one, 1, user ? text->data : g->text, n);
    put_float(one, 2, g->score);
    put_int(one, 3, type);
    if (text->failed) return text->failed;
    put_message(out, 1, one);
    return out->failed;
}

/* Files of others often have the unknown piece as a control piece. */
static int32_t unknown_of(const hpc_tokenizer_pieces *p)
{
    for (int64_t id = 0; id < p->n; id++)
        if (p->piece[id].type == TYPE_UNKNOWN) return (int32_t)id;
    return p->special.unknown;
}

static int put_pieces(hpc_buf *out, bool *bytes, const hpc_tokenizer_pieces *p, int32_t unknown)
{
    hpc_buf one = {0}, text = {0};
    int64_t n = p->n;
    int rc = HPC_OK;
    while (n > unknown + 1 && p->piece[n - 1].type == TYPE_UNUSED) n--;
    for (int64_t id = 0; id < n; id++) {
        int type = id == unknown ? TYPE_UNKNOWN : p->piece[id].type;
        *bytes = *bytes || type == TYPE_BYTE;
        TRY(put_piece(out, &one, &text, p, id, type));
    }
out:
    hpc_buf_release(&one);
    hpc_buf_release(&text);
    return rc;
}

/* ---- the other parts ------------------------------------------------------------------- */

static void put_trainer(hpc_buf *out, const hpc_tokenizer_pieces *p, int32_t unknown, bool bytes)
{
    const int32_t id[] = {unknown, p->special.begin, p->special.end, p->special.pad};
    hpc_buf m = {0};
    put_int(&m, 3, 2); /* BPE */
    put_int(&m, 35, bytes);
    for (unsigned k = 0; k < 4; k++) {
        put_int(&m, 40 + k, id[k]);
        if (id[k] >= 0) put_bytes(&m, 45 + k, p->piece[id[k]].text, strlen(p->piece[id[k]].text));
    }
    put_message(out, 2, &m);
    hpc_buf_release(&m);
}

static void put_normaliser(hpc_buf *out, bool dummy_prefix)
{
    hpc_buf m = {0};
    put_bytes(&m, 1, "identity", 8);
    put_int(&m, 3, dummy_prefix);
    put_int(&m, 4, 0); /* blanks are not squeezed, */
    put_int(&m, 5, 1); /* but escaped */
    put_message(out, 3, &m);
    hpc_buf_release(&m);
}

int hpc_tokenizer_make_model(hpc_buf *out, const hpc_tokenizer_pieces *p)
{
    bool bytes = false;
    int rc = HPC_OK;
    TRY(pieces_check(p));
    int32_t unknown = unknown_of(p);
    if (unknown < 0)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: there is no unknown token (of type %d)", p->name,
                     TYPE_UNKNOWN));
    TRY(put_pieces(out, &bytes, p, unknown));
    put_trainer(out, p, unknown, bytes);
    put_normaliser(out, p->special.dummy_prefix);
    rc = out->failed;
out:
    return rc;
}
