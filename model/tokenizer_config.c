/*
 * tokenizer_config.c: writes a tokenizer_config.json with which transformers and llama.cpp's
 * converter produce the tokenizer's ids.
 */
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

enum { TYPE_CONTROL = 3, TYPE_USER = 4 };

static void put_token(hpc_json_out *w, const char *key, const hpc_tokenizer *t, int32_t id)
{
    const char *text = hpc_tokenizer_piece(t, id, NULL);
    if (text) hpc_json_put_text(w, key, text);
}

/* SentencePiece spells blanks as U+2581; added tokens have blanks. */
static int plain_text(hpc_buf *out, const char *piece)
{
    static const char blank[] = "\xE2\x96\x81";
    out->n = 0;
    for (const char *at = piece, *next; *at; at = next) {
        bool is = strncmp(at, blank, sizeof blank - 1) == 0;
        next = at + (is ? sizeof blank - 1 : 1);
        hpc_buf_add(out, is ? " " : at, 1);
    }
    return out->failed;
}

/* Without this list the converter takes user-defined pieces for normal ones. */
static int put_added(hpc_json_out *w, const hpc_tokenizer *t)
{
    hpc_buf text = {0};
    char key[24];
    float score;
    int rc = HPC_OK;
    hpc_json_open(w, "added_tokens_decoder", '{');
    for (int32_t id = 0; id < hpc_tokenizer_n(t); id++) {
        int type = hpc_tokenizer_piece_type(&score, t, id);
        if (type != TYPE_CONTROL && type != TYPE_USER) continue;
        TRY(plain_text(&text, hpc_tokenizer_piece(t, id, NULL)));
        snprintf(key, sizeof key, "%lld", (long long)id);
        hpc_json_open(w, key, '{');
        hpc_json_put_text(w, "content", text.data);
        hpc_json_put_bool(w, "lstrip", false);
        hpc_json_put_bool(w, "normalized", false);
        hpc_json_put_bool(w, "rstrip", false);
        hpc_json_put_bool(w, "single_word", false);
        hpc_json_put_bool(w, "special", type == TYPE_CONTROL);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, '}');
out:
    hpc_buf_release(&text);
    return rc;
}

int hpc_model_tokenizer_config(hpc_buf *out, const hpc_tokenizer *t,
                               const hpc_model_tokenizer_options *o)
{
    const hpc_tokenizer_special s = hpc_tokenizer_specials(t);
    bool pieces = strcmp(hpc_tokenizer_kind(t), "sentencepiece") == 0;
    hpc_json_out w = {.buf = out, .indent = 2};
    int rc = HPC_OK;
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "tokenizer_class",
                      o->json ? "PreTrainedTokenizerFast" : "LlamaTokenizer");
    /* Absent keys mean true to llama.cpp for SentencePiece and false for byte-level ones. For 49152
     * byte-level tokens its converter adds the key itself, and fails on a second one. */
    bool always = o->always || pieces;
    if (always || s.add_begin) hpc_json_put_bool(&w, "add_bos_token", s.add_begin);
    if (always || s.add_end) hpc_json_put_bool(&w, "add_eos_token", s.add_end);
    if (pieces) hpc_json_put_bool(&w, "add_prefix_space", s.dummy_prefix);
    if (!o->json) hpc_json_put_bool(&w, "legacy", false);
    put_token(&w, "bos_token", t, s.begin);
    put_token(&w, "eos_token", t, o->end);
    put_token(&w, "pad_token", t, s.pad);
    put_token(&w, "unk_token", t, s.unknown);
    hpc_json_put_bool(&w, "clean_up_tokenization_spaces", false);
    hpc_json_put_bool(&w, "spaces_between_special_tokens", false);
    if (o->metadata) TRY(model_metadata_put_template(&w, o->metadata));
    if (pieces) TRY(put_added(&w, t));
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
    TRY(out->failed);
out:
    return rc;
}
