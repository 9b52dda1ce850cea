/*
 * prepared.c: a tokenizer.json in a form that opens without parsing: pieces and merges in binary,
 * and the rest of the file.
 *
 * The form is untrusted: it can express only what a tokenizer.json can, and json.c checks it like
 * a file. It is little-endian and unaligned.
 */
#include <string.h>

#include "runtime/base/bytes.h"
#include "tokenizer/byte_level.h"

static const char magic[8] = "HPCTOK1";

enum { /* offsets: the sizes of the parts, in this order */
       AT_HASH = 8,
       AT_REST = 24, /* bytes of the JSON without pieces and merges */
       AT_PIECES = 28,
       AT_MERGES = 32,
       AT_TEXT = 36, /* bytes of all pieces */
       HEAD = 40,
       PIECE = 8, /* id and length, in two lists */
       MERGE = 12
};

/* ---- reading -------------------------------------------------------------------------------- */

static int damaged(const char *name, const char *why)
{
    return hpc_fail(HPC_E_FORMAT, "%.200s: the prepared tokenizer is damaged: %s", name, why);
}

int64_t json_given_most(const json_given *g)
{
    return g->pieces_n > 0 ? (int64_t)hpc_get32(g->id + 4 * (g->pieces_n - 1)) : -1;
}

/* Ids are ascending, so none occurs twice and the last is the largest. */
static int check_ids(const json_given *g, const char *name)
{
    int64_t before = -1;
    for (int64_t i = 0; i < g->pieces_n; i++) {
        int64_t id = hpc_get32(g->id + 4 * i);
        if (id <= before || id >= INT32_MAX) return damaged(name, "token ids do not ascend");
        before = id;
    }
    return HPC_OK;
}

int json_given_pieces(json_reader *r)
{
    const json_given *g = r->given;
    const char *text = g->text;
    size_t left = g->text_n;
    int rc = HPC_OK;
    for (int64_t i = 0; i < g->pieces_n; i++) {
        size_t n = hpc_get32(g->length + 4 * i);
        if (n > left) return damaged(r->name, "its tokens are longer than their text");
        if (memchr(text, '\0', n) || tokenizer_valid(text, n) != n)
            return damaged(r->name, "a token is not UTF-8");
        TRY(json_add_piece(r, (int32_t)hpc_get32(g->id + 4 * i), text, n, PIECE_NORMAL, true));
        if (hpc_map_n(r->t->index) != i + 1) return damaged(r->name, "a token occurs twice");
        text += n;
        left -= n;
    }
    if (left > 0) return damaged(r->name, "its tokens are shorter than their text");
out:
    return rc;
}

static const tokenizer_piece *piece_of(const hpc_tokenizer *t, int32_t id)
{
    return id >= 0 && id < t->n && t->piece[id].text ? &t->piece[id] : NULL;
}

static bool joins(const hpc_tokenizer *t, const json_merge *m)
{
    const tokenizer_piece *a = piece_of(t, m->left), *b = piece_of(t, m->right),
                          *c = piece_of(t, m->merged);
    return a && b && c && c->n == (uint64_t)a->n + b->n && memcmp(c->text, a->text, a->n) == 0 &&
           memcmp(c->text + a->n, b->text, b->n) == 0;
}

int json_given_merges(json_reader *r)
{
    const json_given *g = r->given;
    int rc;
    TRY(tokenizer_merges_create(&r->b->merges, g->merges_n));
    for (int64_t i = 0; i < g->merges_n; i++) {
        const uint8_t *at = g->merge + MERGE * i;
        const json_merge m = {(int32_t)hpc_get32(at), (int32_t)hpc_get32(at + 4),
                              (int32_t)hpc_get32(at + 8)};
        if (!joins(r->t, &m)) return damaged(r->name, "a merge does not match its token");
        TRY(json_add_merge(r, &m, i));
    }
out:
    return rc;
}

int hpc_tokenizer_open_prepared(hpc_tokenizer **out, const void *data, size_t n, const char *name)
{
    const uint8_t *at = data;
    *out = NULL;
    if (n < HEAD || memcmp(at, magic, sizeof magic) != 0)
        return damaged(name, "its header is wrong");
    const uint64_t rest = hpc_get32(at + AT_REST), pieces = hpc_get32(at + AT_PIECES),
                   merges = hpc_get32(at + AT_MERGES), text = hpc_get32(at + AT_TEXT);
    if (n - HEAD != pieces * PIECE + merges * MERGE + rest + text || merges > INT32_MAX)
        return damaged(name, "its parts exceed its size");
    const uint8_t *lists = at + HEAD, *json = lists + pieces * PIECE + merges * MERGE;
    const json_given given = {.id = lists,
                              .length = lists + 4 * pieces,
                              .merge = lists + PIECE * pieces,
                              .text = (const char *)json + rest,
                              .text_n = text,
                              .pieces_n = (int64_t)pieces,
                              .merges_n = (int64_t)merges};
    int rc = check_ids(&given, name);
    if (rc < 0) return rc;
    return json_open(out, json, rest, &given, hpc_get_hash(at + AT_HASH), name);
}

/* ---- writing -------------------------------------------------------------------------------- */

typedef struct preparing {
    const hpc_json *vocab, *merges;
    const char **text; /* of an id; NULL: none in the vocabulary */
    json_reader r;
    hpc_buf ids, lengths, merged, rest, texts;
} preparing;

static void add32(hpc_buf *b, uint32_t x)
{
    uint8_t bytes[4];
    hpc_put32(bytes, x);
    hpc_buf_add(b, bytes, sizeof bytes);
}

static int put_pieces(preparing *p)
{
    int64_t n = p->r.t->n;
    p->text = hpc_alloc((size_t)n + 1, sizeof *p->text);
    if (!p->text) return HPC_E_NOMEM;
    for (int64_t i = 0; i < hpc_json_n(p->vocab); i++) {
        const hpc_json *v;
        const char *text = hpc_json_key(p->vocab, i, &v);
        int64_t id = 0;
        int rc = hpc_json_int(&id, v, "id");
        if (rc < 0) return rc;
        p->text[id] = text;
    }
    for (int64_t id = 0; id < n; id++) {
        if (!p->text[id]) continue;
        size_t bytes = strlen(p->text[id]);
        add32(&p->ids, (uint32_t)id);
        add32(&p->lengths, (uint32_t)bytes);
        hpc_buf_add(&p->texts, p->text[id], bytes);
    }
    return HPC_OK;
}

static int put_merges(preparing *p)
{
    json_merge m;
    for (int64_t i = 0; i < hpc_json_n(p->merges); i++) {
        int rc = json_read_merge(&m, &p->r, hpc_json_at(p->merges, i), i);
        if (rc < 0) return rc;
        add32(&p->merged, (uint32_t)m.left);
        add32(&p->merged, (uint32_t)m.right);
        add32(&p->merged, (uint32_t)m.merged);
    }
    return HPC_OK;
}

/* Writes an object without the skipped keys. */
static void put_without(hpc_json_out *w, const char *key, const hpc_json *v,
                        const char *const *passed, const hpc_json *model)
{
    static const char *const given[] = {"vocab", "merges", NULL};
    hpc_json_open(w, key, '{');
    for (int64_t i = 0; i < hpc_json_n(v); i++) {
        const hpc_json *child = NULL;
        const char *name = hpc_json_key(v, i, &child);
        const char *const *k = passed;
        while (*k && strcmp(*k, name) != 0) k++;
        if (*k) continue;
        if (child == model)
            put_without(w, name, child, given, NULL);
        else
            hpc_json_put(w, name, child);
    }
    hpc_json_close(w, '}');
}

static int put_all(hpc_buf *out, preparing *p, hpc_hash128 hash)
{
    const hpc_buf *part[] = {&p->ids, &p->lengths, &p->merged, &p->rest, &p->texts};
    uint8_t head[HEAD];
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (part[i]->failed) return part[i]->failed;
        if (part[i]->n > UINT32_MAX)
            return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: too large to be prepared", p->r.name);
    }
    memcpy(head, magic, sizeof magic);
    hpc_put_hash(head + AT_HASH, hash);
    hpc_put32(head + AT_REST, (uint32_t)p->rest.n);
    hpc_put32(head + AT_PIECES, (uint32_t)(p->ids.n / 4));
    hpc_put32(head + AT_MERGES, (uint32_t)(p->merged.n / MERGE));
    hpc_put32(head + AT_TEXT, (uint32_t)p->texts.n);
    hpc_buf_add(out, head, sizeof head);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i]->n > 0) hpc_buf_add(out, part[i]->data, part[i]->n);
    return out->failed;
}

/* Opened as a file first, so that all that is asked of one holds. */
int hpc_tokenizer_prepare(hpc_buf *out, const void *json, size_t n, const char *name)
{
    static const char *const unread[] = {"version", "truncation", "padding", NULL};
    preparing p = {.r.name = name};
    hpc_json *root = NULL;
    hpc_json_out w = {.buf = &p.rest};
    int rc;
    TRY(hpc_tokenizer_open_json(&p.r.t, json, n, name));
    TRY(hpc_json_parse(&root, json, n, name));
    const hpc_json *model = hpc_json_get(root, "model");
    p.vocab = hpc_json_get(model, "vocab");
    p.merges = hpc_json_get(model, "merges");
    TRY(put_pieces(&p));
    TRY(put_merges(&p));
    put_without(&w, NULL, root, unread, model);
    TRY(put_all(out, &p, hpc_tokenizer_hash(p.r.t)));
out:
    hpc_json_free(root);
    hpc_tokenizer_close(p.r.t);
    hpc_free((void *)p.text);
    hpc_buf_release(&p.r.text);
    hpc_buf_release(&p.ids);
    hpc_buf_release(&p.lengths);
    hpc_buf_release(&p.merged);
    hpc_buf_release(&p.rest);
    hpc_buf_release(&p.texts);
    return rc;
}
