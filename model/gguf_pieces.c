/*
 * gguf_pieces.c: extracts a tokenizer file from a GGUF: the original file in our models, else a
 * file built from the pieces, scores and merges under tokenizer.ggml.
 *
 * tokenizer/ builds the files.
 */
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

#define KEY(name) "tokenizer.ggml." name
enum { TYPE_NORMAL = 1, TYPE_BYTE = 6, NAME_BYTES = 64 };

static int other_kind(const hpc_gguf *g, const char *key, const char *want)
{
    return hpc_fail(HPC_E_FORMAT, "%s: key %s: expected %s", model_gguf_path(g), key, want);
}

/* ---- special tokens ------------------------------------------------------------------------- */

static int read_id(int32_t *id, const hpc_gguf *g, const char *key)
{
    const hpc_gguf_value *tokens = hpc_gguf_get(g, KEY("tokens"));
    int64_t is, n = tokens && tokens->kind == HPC_GGUF_LIST ? tokens->n : INT32_MAX;
    int rc = HPC_OK;
    TRY(model_gguf_int(&is, g, key, *id));
    if (is >= n)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: key %s: %lld is not one of its %lld tokens",
                     model_gguf_path(g), key, (long long)is, (long long)n));
    *id = is < 0 ? -1 : (int32_t)is;
out:
    return rc;
}

static const hpc_gguf_value *copy_of(const hpc_gguf *g)
{
    const hpc_gguf_value *v = hpc_gguf_get(g, MODEL_GGUF_TOKENIZER_MODEL);
    return v ? v : hpc_gguf_get(g, MODEL_GGUF_TOKENIZER_JSON);
}

int model_gguf_specials(hpc_tokenizer_special *s, const hpc_gguf *g)
{
    char kind[NAME_BYTES];
    int rc = HPC_OK;
    TRY(model_gguf_text(kind, sizeof kind, g, KEY("model")));
    if (!copy_of(g) && strcmp(kind, "llama") == 0) s->add_begin = true;
    TRY(read_id(&s->unknown, g, KEY("unknown_token_id")));
    TRY(read_id(&s->begin, g, KEY("bos_token_id")));
    TRY(read_id(&s->end, g, KEY("eos_token_id")));
    TRY(read_id(&s->pad, g, KEY("padding_token_id")));
    TRY(model_gguf_bool(&s->add_begin, g, KEY("add_bos_token"), s->add_begin));
    TRY(model_gguf_bool(&s->add_end, g, KEY("add_eos_token"), s->add_end));
out:
    return rc;
}

const model_mark_key model_mark_keys[] = {
    {KEY("fim_pre_token_id"), KEY("prefix_token_id"), HPC_SPECIAL_FIM_PREFIX},
    {KEY("fim_suf_token_id"), KEY("suffix_token_id"), HPC_SPECIAL_FIM_SUFFIX},
    {KEY("fim_mid_token_id"), KEY("middle_token_id"), HPC_SPECIAL_FIM_MIDDLE},
    {KEY("fim_pad_token_id"), NULL, HPC_SPECIAL_FIM_PAD},
    {KEY("fim_rep_token_id"), NULL, HPC_SPECIAL_REPOSITORY},
    {KEY("fim_sep_token_id"), NULL, HPC_SPECIAL_FILE},
    {NULL, NULL, HPC_SPECIAL_N},
};

int model_gguf_marks(hpc_tokenizer *t, const hpc_gguf *g)
{
    int rc = HPC_OK;
    for (const model_mark_key *k = model_mark_keys; k->key; k++) {
        int32_t id = -1;
        TRY(read_id(&id, g, k->key));
        if (id < 0 && k->old) TRY(read_id(&id, g, k->old));
        if (hpc_tokenizer_piece(t, id, NULL)) TRY(hpc_tokenizer_set_mark(t, k->special, id));
    }
out:
    return rc;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Gives NULL for an absent list that is not needed. */
static int read_list(const hpc_gguf_value **out, const hpc_gguf *g, const char *key, int item,
                     const char *what, bool needed)
{
    const hpc_gguf_value *v = *out = hpc_gguf_get(g, key);
    if (!v && needed)
        return hpc_fail(HPC_E_FORMAT, "%s: key %s is missing", model_gguf_path(g), key);
    return v && (v->kind != HPC_GGUF_LIST || v->item != item) ? other_kind(g, key, what) : HPC_OK;
}

/* Copies, each ended by NUL where its neighbour's length was. */
static int read_texts(const char *const **out, int64_t *n, const hpc_gguf *g, const char *key,
                      hpc_arena *a)
{
    const hpc_gguf_value *v;
    int rc = HPC_OK;
    TRY(read_list(&v, g, key, HPC_GGUF_TEXT, "a list of texts", true));
    const uint8_t *at = v->data;
    const char **list = hpc_arena_alloc(a, (size_t)v->n + 1, sizeof *list);
    char *to = hpc_arena_alloc(a, v->bytes + 1, 1);
    if (!list || !to) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < v->n; k++) {
        uint64_t bytes;
        memcpy(&bytes, at, sizeof bytes);
        at += sizeof bytes;
        if (memchr(at, 0, (size_t)bytes))
            TRY(hpc_fail(HPC_E_FORMAT, "%s: key %s: item %lld has a NUL", model_gguf_path(g), key,
                         (long long)k));
        list[k] = to;
        memcpy(to, at, (size_t)bytes);
        to += bytes + 1;
        at += bytes;
    }
    *out = list;
    *n = v->n;
out:
    return rc;
}

/* Of numbers of 4 bytes, one for each token. */
static int read_numbers(const uint8_t **out, const hpc_gguf *g, const char *key, int item,
                        const char *what, int64_t n)
{
    const hpc_gguf_value *v;
    int rc = HPC_OK;
    *out = NULL;
    TRY(read_list(&v, g, key, item, what, false));
    if (!v) goto out;
    if (v->n != n)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: key %s has %lld items for %lld tokens", model_gguf_path(g),
                     key, (long long)v->n, (long long)n));
    *out = v->data;
out:
    return rc;
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* For old files without types: recognises byte tokens by their spelling. */
static int guess_type(const char *text, bool bytes)
{
    size_t n = strlen(text);
    return bytes && n == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>' ? TYPE_BYTE
                                                                            : TYPE_NORMAL;
}

static int read_pieces(hpc_tokenizer_pieces *p, const hpc_gguf *g, bool scored, hpc_arena *a)
{
    const char *const *text;
    const uint8_t *type, *score;
    int rc = HPC_OK;
    TRY(read_texts(&text, &p->n, g, KEY("tokens"), a));
    TRY(read_numbers(&type, g, KEY("token_type"), HPC_GGUF_I32, "a list of i32", p->n));
    TRY(read_numbers(&score, g, KEY("scores"), HPC_GGUF_F32, "a list of f32", p->n));
    hpc_tokenizer_given *piece = hpc_arena_alloc(a, (size_t)p->n + 1, sizeof *piece);
    if (!piece) TRY(HPC_E_NOMEM);
    p->piece = piece;
    for (int64_t id = 0; id < p->n; id++) {
        piece[id].text = text[id];
        if (!*text[id]) piece[id].text = hpc_arena_text(a, "[EMPTY_%lld]", (long long)id);
        if (!piece[id].text) TRY(HPC_E_NOMEM);
        piece[id].type = guess_type(text[id], scored);
        if (type) memcpy(&piece[id].type, type + 4 * id, 4);
        if (score) memcpy(&piece[id].score, score + 4 * id, 4);
    }
out:
    return rc;
}

static int make_model(hpc_buf *file, hpc_tokenizer_pieces *p, const hpc_gguf *g, hpc_arena *a)
{
    int rc = HPC_OK;
    TRY(read_pieces(p, g, true, a));
    p->special = (hpc_tokenizer_special){.unknown = p->n > 0 ? 0 : -1,
                                         .begin = p->n > 1 ? 1 : -1,
                                         .end = p->n > 2 ? 2 : -1,
                                         .pad = -1};
    TRY(model_gguf_specials(&p->special, g));
    TRY(model_gguf_bool(&p->special.dummy_prefix, g, KEY("add_space_prefix"), true));
    TRY(hpc_tokenizer_make_model(file, p));
out:
    return rc;
}

static int find_pre(const model_pre **out, const hpc_gguf *g)
{
    char name[NAME_BYTES];
    int rc = model_gguf_text(name, sizeof name, g, KEY("pre"));
    if (rc < 0) return rc;
    *out = model_pre_find(*name ? name : "default");
    if (*out) return HPC_OK;
    return hpc_fail(HPC_E_UNSUPPORTED, "%s: key " KEY("pre") " is %s, which is not supported",
                    model_gguf_path(g), name);
}

static int make_json(hpc_buf *file, hpc_tokenizer_pieces *p, const hpc_gguf *g, hpc_arena *a)
{
    const model_pre *pre;
    int rc = HPC_OK;
    TRY(find_pre(&pre, g));
    TRY(read_pieces(p, g, false, a));
    TRY(read_texts(&p->merge, &p->merges_n, g, KEY("merges"), a));
    p->step = pre->step;
    p->whole_words = pre->whole_words;
    p->special = (hpc_tokenizer_special){
        .unknown = -1, .begin = -1, .end = -1, .pad = -1, .add_begin = pre->begins};
    TRY(model_gguf_specials(&p->special, g));
    TRY(hpc_tokenizer_make_json(file, p));
out:
    return rc;
}

static int make(const char **name, hpc_buf *file, const hpc_gguf *g)
{
    char kind[NAME_BYTES];
    hpc_tokenizer_pieces p = {.name = model_gguf_path(g)};
    int rc = HPC_OK;
    hpc_arena *a = hpc_arena_create(0);
    if (!a) return HPC_E_NOMEM;
    TRY(model_gguf_text(kind, sizeof kind, g, KEY("model")));
    bool scored = strcmp(kind, "llama") == 0;
    *name = scored ? "tokenizer.model" : "tokenizer.json";
    if (scored)
        TRY(make_model(file, &p, g, a));
    else if (strcmp(kind, "gpt2") == 0)
        TRY(make_json(file, &p, g, a));
    else if (!*kind || strcmp(kind, "none") == 0 || strcmp(kind, "no_vocab") == 0)
        TRY(hpc_fail(HPC_E_ARG, "%s: it has no tokenizer", model_gguf_path(g)));
    else
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s: key " KEY("model") " is %s; only llama and gpt2 are supported",
                     model_gguf_path(g), kind));
out:
    hpc_arena_free(a);
    return rc;
}

/* ---- the file ------------------------------------------------------------------------------- */

int hpc_gguf_tokenizer(const char **name, hpc_buf *file, const hpc_gguf *g)
{
    const hpc_gguf_value *copy = copy_of(g);
    if (!copy) return make(name, file, g);
    bool model = strcmp(copy->key, MODEL_GGUF_TOKENIZER_MODEL) == 0;
    if (model && (copy->kind != HPC_GGUF_LIST || copy->item != HPC_GGUF_U8))
        return other_kind(g, copy->key, "a list of bytes");
    if (!model && copy->kind != HPC_GGUF_TEXT) return other_kind(g, copy->key, "a text");
    *name = model ? "tokenizer.model" : "tokenizer.json";
    return hpc_buf_add(file, copy->data, copy->bytes);
}
