/*
 * pieces_json.c: builds a tokenizer.json of byte-level BPE from pieces and merges.
 *
 * Special pieces become added tokens, which are matched in text. Readers number added tokens that
 * are not in the vocabulary after it; to keep their ids, the others are in the vocabulary also.
 * Not all can be: a token spelled like a byte would stand for that byte.
 */
#include <string.h>

#include "tokenizer/pieces.h"

enum { TYPE_UNKNOWN = 2, TYPE_CONTROL = 3, TYPE_USER = 4, TYPE_UNUSED = 5 };

typedef struct making {
    const hpc_tokenizer_pieces *p;
    hpc_map *ids;
    bool *in_vocab;
    hpc_buf text;
} making;

/* ---- what there is --------------------------------------------------------------------- */

static bool is_added(const hpc_tokenizer_given *g)
{
    return g->type == TYPE_UNKNOWN || g->type == TYPE_CONTROL || g->type == TYPE_USER;
}

static int index_pieces(making *m)
{
    const hpc_tokenizer_pieces *p = m->p;
    int rc = HPC_OK;
    for (int64_t id = 0; id < p->n; id++) {
        const char *text = p->piece[id].text;
        uint64_t other;
        if (hpc_map_get(m->ids, text, strlen(text), &other))
            TRY(hpc_fail(HPC_E_FORMAT, "%s: tokens %lld and %lld have the same text", p->name,
                         (long long)other, (long long)id));
        TRY(hpc_map_put(m->ids, text, strlen(text), (uint64_t)id));
        m->in_vocab[id] = !is_added(&p->piece[id]) && p->piece[id].type != TYPE_UNUSED;
    }
    if (p->special.unknown >= 0) m->in_vocab[p->special.unknown] = true;
out:
    return rc;
}

static int find(making *m, int64_t i, const char *what, const char *text, size_t n)
{
    uint64_t id;
    if (!hpc_map_get(m->ids, text, n, &id))
        return hpc_fail(HPC_E_FORMAT, "%s: %s of merge %lld is not a token", m->p->name, what,
                        (long long)i);
    m->in_vocab[id] = true;
    return HPC_OK;
}

static int read_merge(making *m, int64_t i)
{
    const char *text = m->p->merge[i], *blank = strchr(text, ' ');
    int rc = HPC_OK;
    if (!blank || blank == text || strchr(blank + 1, ' '))
        TRY(hpc_fail(HPC_E_FORMAT,
                     "%s: merge %lld is not a pair of tokens with a blank between them", m->p->name,
                     (long long)i));
    m->text.n = 0;
    TRY(hpc_buf_add(&m->text, text, (size_t)(blank - text)));
    TRY(hpc_buf_text(&m->text, blank + 1));
    TRY(find(m, i, "the first part", text, (size_t)(blank - text)));
    TRY(find(m, i, "the second part", blank + 1, strlen(blank + 1)));
    TRY(find(m, i, "the result", m->text.data, m->text.n));
out:
    return rc;
}

static void place_added(making *m)
{
    const hpc_tokenizer_pieces *p = m->p;
    int64_t n = p->n, behind = 0;
    bool gap = false;
    while (n > 0 && p->piece[n - 1].type == TYPE_UNUSED && !m->in_vocab[n - 1]) n--;
    for (int64_t id = 0; id < n; id++) {
        bool added = is_added(&p->piece[id]) && !m->in_vocab[id];
        gap = gap || (!added && !m->in_vocab[id]);
        if (!added) behind = id + 1;
    }
    if (gap) behind = n;
    for (int64_t id = 0; id < behind; id++)
        m->in_vocab[id] = m->in_vocab[id] || is_added(&p->piece[id]);
}

/* ---- parts of the file ------------------------------------------------------------------- */

static void put_flags(hpc_json_out *w, bool special)
{
    hpc_json_put_bool(w, "single_word", false);
    hpc_json_put_bool(w, "lstrip", false);
    hpc_json_put_bool(w, "rstrip", false);
    hpc_json_put_bool(w, "normalized", false);
    hpc_json_put_bool(w, "special", special);
}

static void put_added(hpc_json_out *w, const hpc_tokenizer_pieces *p)
{
    hpc_json_open(w, "added_tokens", '[');
    for (int64_t id = 0; id < p->n; id++) {
        if (!is_added(&p->piece[id])) continue;
        hpc_json_open(w, NULL, '{');
        hpc_json_put_int(w, "id", id);
        hpc_json_put_text(w, "content", p->piece[id].text);
        put_flags(w, p->piece[id].type != TYPE_USER);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static void put_bytes(hpc_json_out *w, bool words)
{
    hpc_json_put_text(w, "type", "ByteLevel");
    hpc_json_put_bool(w, "add_prefix_space", false);
    hpc_json_put_bool(w, "trim_offsets", true);
    hpc_json_put_bool(w, "use_regex", words);
}

static void put_step(hpc_json_out *w, const hpc_tokenizer_step *s)
{
    hpc_json_open(w, NULL, '{');
    if (s->kind == HPC_STEP_SPLIT) {
        hpc_json_put_text(w, "type", "Split");
        hpc_json_open(w, "pattern", '{');
        hpc_json_put_text(w, "Regex", s->regex);
        hpc_json_close(w, '}');
        hpc_json_put_text(w, "behavior", "Isolated");
        hpc_json_put_bool(w, "invert", false);
    } else if (s->kind == HPC_STEP_DIGITS) {
        hpc_json_put_text(w, "type", "Digits");
        hpc_json_put_bool(w, "individual_digits", true);
    } else {
        put_bytes(w, s->kind == HPC_STEP_WORDS);
    }
    hpc_json_close(w, '}');
}

static void put_steps(hpc_json_out *w, const hpc_tokenizer_step *s)
{
    hpc_json_open(w, "pre_tokenizer", '{');
    hpc_json_put_text(w, "type", "Sequence");
    hpc_json_open(w, "pretokenizers", '[');
    for (; s->kind != HPC_STEP_END; s++) put_step(w, s);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

static void put_item(hpc_json_out *w, const char *kind, const char *id, int text)
{
    if (!id) return;
    hpc_json_open(w, NULL, '{');
    hpc_json_open(w, kind, '{');
    hpc_json_put_text(w, "id", id);
    hpc_json_put_int(w, "type_id", text);
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
}

/* So many texts, each between the same two. */
static void put_texts(hpc_json_out *w, const char *key, int n, const char *begin, const char *end)
{
    hpc_json_open(w, key, '[');
    for (int k = 0; k < n; k++) {
        put_item(w, "SpecialToken", begin, k);
        put_item(w, "Sequence", k ? "B" : "A", k);
        put_item(w, "SpecialToken", end, k);
    }
    hpc_json_close(w, ']');
}

static void put_special(hpc_json_out *w, const char *token, int32_t id)
{
    hpc_json_open(w, token, '{');
    hpc_json_put_text(w, "id", token);
    hpc_json_open(w, "ids", '[');
    hpc_json_put_int(w, NULL, id);
    hpc_json_close(w, ']');
    hpc_json_open(w, "tokens", '[');
    hpc_json_put_text(w, NULL, token);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

static void put_template(hpc_json_out *w, const hpc_tokenizer_pieces *p)
{
    const hpc_tokenizer_special *s = &p->special;
    const char *begin = s->add_begin && s->begin >= 0 ? p->piece[s->begin].text : NULL;
    const char *end = s->add_end && s->end >= 0 ? p->piece[s->end].text : NULL;
    if (!begin && !end) {
        hpc_json_put_text(w, "post_processor", NULL);
        return;
    }
    hpc_json_open(w, "post_processor", '{');
    hpc_json_put_text(w, "type", "TemplateProcessing");
    put_texts(w, "single", 1, begin, end);
    put_texts(w, "pair", 2, begin, end);
    hpc_json_open(w, "special_tokens", '{');
    if (begin) put_special(w, begin, s->begin);
    if (end && (!begin || s->end != s->begin)) put_special(w, end, s->end);
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
}

static void put_model(hpc_json_out *w, const making *m)
{
    const hpc_tokenizer_pieces *p = m->p;
    hpc_json_open(w, "model", '{');
    hpc_json_put_text(w, "type", "BPE");
    hpc_json_put_text(w, "dropout", NULL);
    hpc_json_put_text(w, "unk_token",
                      p->special.unknown >= 0 ? p->piece[p->special.unknown].text : NULL);
    hpc_json_put_bool(w, "fuse_unk", false);
    hpc_json_put_bool(w, "byte_fallback", false);
    hpc_json_put_bool(w, "ignore_merges", p->whole_words);
    hpc_json_open(w, "vocab", '{');
    for (int64_t id = 0; id < p->n; id++)
        if (m->in_vocab[id]) hpc_json_put_int(w, p->piece[id].text, id);
    hpc_json_close(w, '}');
    hpc_json_open(w, "merges", '[');
    for (int64_t i = 0; i < p->merges_n; i++) hpc_json_put_text(w, NULL, p->merge[i]);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

static void put_all(hpc_json_out *w, const making *m)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "version", "1.0");
    hpc_json_put_text(w, "truncation", NULL);
    hpc_json_put_text(w, "padding", NULL);
    put_added(w, m->p);
    hpc_json_put_text(w, "normalizer", NULL);
    put_steps(w, m->p->step);
    put_template(w, m->p);
    hpc_json_open(w, "decoder", '{');
    put_bytes(w, true);
    hpc_json_close(w, '}');
    put_model(w, m);
    hpc_json_close(w, '}');
}

int hpc_tokenizer_make_json(hpc_buf *out, const hpc_tokenizer_pieces *p)
{
    making m = {.p = p};
    hpc_json_out w = {.buf = out};
    int rc = HPC_OK;
    TRY(pieces_check(p));
    m.ids = hpc_map_create();
    m.in_vocab = hpc_alloc((size_t)p->n + 1, sizeof *m.in_vocab);
    if (!m.ids || !m.in_vocab) TRY(HPC_E_NOMEM);
    TRY(index_pieces(&m));
    for (int64_t i = 0; i < p->merges_n; i++) TRY(read_merge(&m, i));
    place_added(&m);
    put_all(&w, &m);
    rc = out->failed;
out:
    hpc_map_free(m.ids);
    hpc_free(m.in_vocab);
    hpc_buf_release(&m.text);
    return rc;
}
