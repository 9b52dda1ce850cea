/*
 * gguf_tokenizer.c: writes a tokenizer into the keys of a GGUF file: the original file unchanged,
 * and its pieces in llama.cpp's form.
 */
#include <stdio.h>
#include <string.h>

#include "model/priv.h"
#include "tokenizer/tokenizer.h"

enum { TYPE_USER = 4, TYPE_UNUSED = 5, TYPE_BYTE = 6 };

/* ---- pieces --------------------------------------------------------------------------------- */

static void put_token(hpc_buf *out, const char *text, size_t n)
{
    uint64_t bytes = n;
    hpc_buf_add(out, &bytes, sizeof bytes);
    if (n > 0) hpc_buf_add(out, text, n);
}

/* User-defined pieces have blanks where the model file has U+2581. */
static void put_user_token(hpc_buf *out, const char *text, size_t n)
{
    hpc_buf plain = {0};
    for (size_t i = 0; i < n;) {
        bool blank = n - i >= 3 && memcmp(text + i, "\xE2\x96\x81", 3) == 0;
        hpc_buf_add(&plain, blank ? " " : text + i, 1);
        i += blank ? 3 : 1;
    }
    put_token(out, plain.data, plain.n);
    if (plain.failed) out->failed = plain.failed;
    hpc_buf_release(&plain);
}

/* Writes one piece per row of the embedding; ids that the tokenizer lacks are unused pieces. */
static int put_pieces(model_gguf_list *l, const model_tokens *s, int64_t vocab, bool scores)
{
    hpc_buf tokens = {0}, types = {0}, weights = {0};
    char pad[32];
    for (int64_t id = 0; id < vocab; id++) {
        size_t n;
        float score;
        const char *text = hpc_tokenizer_piece(s->t, (int32_t)id, &n);
        int32_t type = hpc_tokenizer_piece_type(&score, s->t, (int32_t)id);
        if (!text) {
            n = (size_t)snprintf(pad, sizeof pad, "[PAD%lld]", (long long)id);
            type = TYPE_UNUSED;
            score = -1000;
        }
        if (scores && text && type == TYPE_USER)
            put_user_token(&tokens, text, n);
        else
            put_token(&tokens, text ? text : pad, n);
        hpc_buf_add(&types, &type, sizeof type);
        hpc_buf_add(&weights, &score, sizeof score);
    }
    if (!tokens.failed && !types.failed && !weights.failed) {
        model_gguf_put_list(l, "tokenizer.ggml.tokens", HPC_GGUF_TEXT, vocab, tokens.data,
                            tokens.n);
        model_gguf_put_list(l, "tokenizer.ggml.token_type", HPC_GGUF_I32, vocab, types.data,
                            types.n);
        if (scores)
            model_gguf_put_list(l, "tokenizer.ggml.scores", HPC_GGUF_F32, vocab, weights.data,
                                weights.n);
    } else {
        l->failed = HPC_E_NOMEM;
    }
    hpc_buf_release(&tokens);
    hpc_buf_release(&types);
    hpc_buf_release(&weights);
    return l->failed;
}

/* Reports where llama.cpp encodes SentencePiece pieces differently from the library and from us. */
static void tell_of_pieces(const model_tokens *s, const hpc_gguf_options *o)
{
    int64_t unused = 0, bytes = 0;
    const char *what = NULL;
    float score;
    for (int32_t id = 0; id < hpc_tokenizer_n(s->t); id++) {
        int type = hpc_tokenizer_piece_type(&score, s->t, id);
        unused += type == TYPE_UNUSED;
        bytes += type == TYPE_BYTE;
    }
    if (unused > 0)
        what = "llama.cpp encodes some texts differently: the tokenizer has unused tokens";
    if (hpc_tokenizer_specials(s->t).normalises)
        what = "llama.cpp encodes some texts differently: the tokenizer normalises text first";
    if (bytes < 256) what = "llama.cpp fails on some texts: the tokenizer has no byte tokens";
    if (what && o->remark) o->remark(what, o->user);
}

/* ---- byte-level ----------------------------------------------------------------------------- */

/* GGUF stores a merge as "left right"; a tokenizer.json stores that or a pair. */
static int put_merges(model_gguf_list *l, const hpc_json *list)
{
    hpc_buf all = {0}, one = {0};
    int64_t n = hpc_json_n(list);
    int rc = HPC_OK;
    for (int64_t k = 0; k < n; k++) {
        const hpc_json *merge = hpc_json_at(list, k);
        const char *left, *right = NULL;
        bool pair = hpc_json_kind_of(merge) == HPC_JSON_LIST;
        one.n = 0;
        TRY(hpc_json_text(&left, pair ? hpc_json_at(merge, 0) : merge, "merges"));
        if (pair) TRY(hpc_json_text(&right, hpc_json_at(merge, 1), "merges"));
        TRY(hpc_buf_printf(&one, pair ? "%s %s" : "%s", left, right));
        put_token(&all, one.data, one.n);
    }
    TRY(all.failed);
    model_gguf_put_list(l, "tokenizer.ggml.merges", HPC_GGUF_TEXT, n, all.data, all.n);
out:
    hpc_buf_release(&all);
    hpc_buf_release(&one);
    return rc;
}

static int put_byte_level(model_gguf_list *l, const model_tokens *s, const hpc_gguf_options *o)
{
    hpc_json *root = NULL;
    int rc = HPC_OK;
    TRY(hpc_json_parse(&root, s->file.data, s->file.n, s->path));
    const char *name = model_pre_name(root);
    if (!name && o->remark)
        o->remark("llama.cpp has no equivalent of the pre-tokenizer in tokenizer.json: it will "
                  "reject the file, hpccoder reads it",
                  o->user);
    model_gguf_put_text(l, "tokenizer.ggml.pre", name ? name : "hpccoder");
    TRY(put_merges(l, hpc_json_get(hpc_json_get(root, "model"), "merges")));
out:
    hpc_json_free(root);
    return rc;
}

/* ---- single tokens -------------------------------------------------------------------------- */

static void put_id(model_gguf_list *l, const char *key, int64_t id, int64_t otherwise)
{
    if (id < 0) id = otherwise;
    if (id >= 0) model_gguf_put_int(l, key, id);
}

static void put_fim(model_gguf_list *l, const hpc_tokenizer *t, int64_t vocab)
{
    for (const model_mark_key *k = model_mark_keys; k->key; k++) {
        int32_t id;
        hpc_tokenizer_special_name(t, k->special, &id);
        if (id < vocab) put_id(l, k->key, id, -1);
    }
}

static void put_specials(model_gguf_list *l, const hpc_model_config *c,
                         const hpc_tokenizer_special *special)
{
    put_id(l, "tokenizer.ggml.bos_token_id", c->begin, special->begin);
    put_id(l, "tokenizer.ggml.eos_token_id", c->end, special->end);
    put_id(l, "tokenizer.ggml.padding_token_id", c->pad, special->pad);
    put_id(l, "tokenizer.ggml.unknown_token_id", special->unknown, -1);
}

static int put_all(model_gguf_list *l, const model_tokens *s, const hpc_model_config *c,
                   const hpc_gguf_options *o)
{
    hpc_tokenizer_special special = hpc_tokenizer_specials(s->t);
    bool pieces = strcmp(hpc_tokenizer_kind(s->t), "sentencepiece") == 0;
    int rc = HPC_OK;
    if (hpc_tokenizer_n(s->t) > c->vocab)
        TRY(hpc_fail(HPC_E_ARG, "%s: %lld tokens are more than the %lld of the model", s->path,
                     (long long)hpc_tokenizer_n(s->t), (long long)c->vocab));
    model_gguf_put_text(l, "tokenizer.ggml.model", pieces ? "llama" : "gpt2");
    if (pieces) {
        model_gguf_put_text(l, "tokenizer.ggml.pre", "default");
        model_gguf_put_bool(l, "tokenizer.ggml.add_space_prefix", special.dummy_prefix);
        tell_of_pieces(s, o);
    } else {
        TRY(put_byte_level(l, s, o));
    }
    TRY(put_pieces(l, s, c->vocab, pieces));
    put_specials(l, c, &special);
    put_fim(l, s->t, c->vocab);
    model_gguf_put_bool(l, "tokenizer.ggml.add_bos_token", special.add_begin);
    model_gguf_put_bool(l, "tokenizer.ggml.add_eos_token", special.add_end);
    if (pieces)
        model_gguf_put_list(l, MODEL_GGUF_TOKENIZER_MODEL, HPC_GGUF_U8, (int64_t)s->file.n,
                            s->file.data, s->file.n);
    else
        model_gguf_put(l, MODEL_GGUF_TOKENIZER_JSON, HPC_GGUF_TEXT, s->file.data, s->file.n);
    rc = l->failed;
out:
    return rc;
}

int model_gguf_put_tokenizer(model_gguf_list *l, const hpc_model_config *c,
                             const hpc_gguf_options *o)
{
    static const hpc_tokenizer_special none = {.unknown = -1, .begin = -1, .end = -1, .pad = -1};
    model_tokens s = {0};
    int rc = HPC_OK;
    if (!o->tokenizer) {
        model_gguf_put_text(l, "tokenizer.ggml.model", "none");
        put_specials(l, c, &none);
        return l->failed;
    }
    TRY(model_tokens_open(&s, o->tokenizer));
    TRY(put_all(l, &s, c, o));
out:
    model_tokens_release(&s);
    return rc;
}
