/*
 * spm_json.c: writes a SentencePiece BPE model as a tokenizer.json, for programs that read only
 * that.
 *
 * Pieces are spelled as they appear in text, with blanks, and nothing is normalised, so a U+2581
 * in text becomes byte pieces there also. Models with a normaliser or a dummy prefix, or without
 * byte pieces, are not supported; our own models need none of these.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/spm.h"

typedef struct ranked {
    float score;
    int32_t id;
} ranked;

static int best_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* As the piece is spelled in the .json: bytes and special tokens as in the .model. */
static const char *spelled(const hpc_tokenizer *t, int64_t id)
{
    const spm_state *m = t->state;
    uint8_t kind = t->piece[id].kind;
    return kind == PIECE_NORMAL || kind == PIECE_USER ? m->symbol[id].text : t->piece[id].text;
}

static void put_added(hpc_json_out *w, const hpc_tokenizer *t)
{
    hpc_json_open(w, "added_tokens", '[');
    for (int64_t id = 0; id < t->n; id++) {
        uint8_t kind = t->piece[id].kind;
        if (kind != PIECE_USER && kind != PIECE_CONTROL) continue;
        hpc_json_open(w, NULL, '{');
        hpc_json_put_int(w, "id", id);
        hpc_json_put_text(w, "content", spelled(t, id));
        hpc_json_put_bool(w, "single_word", false);
        hpc_json_put_bool(w, "lstrip", false);
        hpc_json_put_bool(w, "rstrip", false);
        hpc_json_put_bool(w, "normalized", false);
        hpc_json_put_bool(w, "special", kind != PIECE_USER);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static int32_t part_at(const hpc_map *parts, const char *text, size_t n)
{
    uint64_t id;
    return hpc_map_get(parts, text, n, &id) ? (int32_t)id : -1;
}

static void put_pair(hpc_json_out *w, hpc_buf *part, const char *text, size_t left)
{
    hpc_json_open(w, NULL, '[');
    part->n = 0;
    hpc_buf_add(part, text, left);
    hpc_json_put_text(w, NULL, part->data);
    hpc_json_put_text(w, NULL, text + left);
    hpc_json_close(w, ']');
}

static int put_merges(hpc_json_out *w, const hpc_tokenizer *t)
{
    const spm_state *m = t->state;
    int rc = HPC_OK;
    int64_t n = 0;
    hpc_buf part = {0};
    hpc_map *parts = hpc_map_create();
    ranked *order = hpc_alloc((size_t)t->n, sizeof *order);
    if (!parts || !order) TRY(HPC_E_NOMEM);
    for (int64_t id = 0; id < t->n; id++) {
        if (t->piece[id].kind != PIECE_NORMAL) continue;
        order[n++] = (ranked){t->piece[id].score, (int32_t)id};
        TRY(hpc_map_put(parts, m->symbol[id].text, m->symbol[id].n, (uint64_t)id));
    }
    qsort(order, (size_t)n, sizeof *order, best_first);
    hpc_json_open(w, "merges", '[');
    for (int64_t i = 0; i < n; i++) {
        spm_text p = m->symbol[order[i].id];
        for (uint32_t left = 1; left < p.n; left++)
            if (part_at(parts, p.text, left) >= 0 && part_at(parts, p.text + left, p.n - left) >= 0)
                put_pair(w, &part, p.text, left);
    }
    hpc_json_close(w, ']');
    TRY(part.failed);
out:
    hpc_buf_release(&part);
    hpc_map_free(parts);
    hpc_free(order);
    return rc;
}

static int put_model(hpc_json_out *w, const hpc_tokenizer *t)
{
    int rc = HPC_OK;
    hpc_json_open(w, "model", '{');
    hpc_json_put_text(w, "type", "BPE");
    hpc_json_put_text(w, "unk_token", t->piece[t->special.unknown].text);
    hpc_json_put_bool(w, "fuse_unk", true);
    hpc_json_put_bool(w, "byte_fallback", true);
    hpc_json_put_bool(w, "ignore_merges", false);
    hpc_json_open(w, "vocab", '{');
    for (int64_t id = 0; id < t->n; id++) hpc_json_put_int(w, spelled(t, id), id);
    hpc_json_close(w, '}');
    TRY(put_merges(w, t));
    hpc_json_close(w, '}');
out:
    return rc;
}

static void put_decoder(hpc_json_out *w)
{
    hpc_json_open(w, "decoder", '{');
    hpc_json_put_text(w, "type", "Sequence");
    hpc_json_open(w, "decoders", '[');
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "type", "ByteFallback");
    hpc_json_close(w, '}');
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "type", "Fuse");
    hpc_json_close(w, '}');
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

static int check(const hpc_tokenizer *t)
{
    const spm_state *m = t->state;
    if (t->family != &tokenizer_spm)
        return hpc_fail(HPC_E_UNSUPPORTED, "only a SentencePiece model can be written as a .json");
    if (m->file->dummy_prefix || !m->file->byte_fallback || spm_normalises(m) || m->any_unused)
        return hpc_fail(HPC_E_UNSUPPORTED, "this SentencePiece model changes text before encoding; "
                                           "only one that does not can be written as a .json");
    return HPC_OK;
}

int hpc_tokenizer_write_json(hpc_buf *out, const hpc_tokenizer *t)
{
    int rc = check(t);
    if (rc < 0) return rc;
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "version", "1.0");
    hpc_json_put_text(&w, "truncation", NULL);
    hpc_json_put_text(&w, "padding", NULL);
    put_added(&w, t);
    hpc_json_put_text(&w, "normalizer", NULL);
    hpc_json_put_text(&w, "pre_tokenizer", NULL);
    hpc_json_put_text(&w, "post_processor", NULL);
    put_decoder(&w);
    TRY(put_model(&w, t));
    hpc_json_close(&w, '}');
    TRY(out->failed);
out:
    return rc;
}
