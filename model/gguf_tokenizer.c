/*
 * gguf_tokenizer.c: a tokenizer as the keys of a GGUF file: its file as it is,
 * so that nothing is lost, and its pieces as llama.cpp has them.
 *
 * What makes ids is the tokenizer room's; here it is only told what there is.
 */
#include <stdio.h>
#include <string.h>

#include "model/priv.h"
#include "tokenizer/tokenizer.h"

enum { FILE_MOST = 256 << 20, TYPE_USER = 4, TYPE_UNUSED = 5, TYPE_BYTE = 6 };

static const char MODEL[] = "tokenizer.model", JSON[] = "tokenizer.json";

typedef struct source {
    const char *path;
    hpc_gguf *gguf; /* the file lies in it, or else */
    hpc_buf file;   /* here */
    const char *name;
    const void *data;
    size_t bytes;
    hpc_tokenizer *t;
} source;

/* ---- the file ------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *tail)
{
    size_t n = strlen(text), k = strlen(tail);
    return n >= k && strcmp(text + n - k, tail) == 0;
}

static bool is_json(const char *name)
{
    return ends_with(name, ".json");
}

static int open_data(source *s, const char *label)
{
    return is_json(s->name) ? hpc_tokenizer_open_json(&s->t, s->data, s->bytes, label)
                            : hpc_tokenizer_open_model(&s->t, s->data, s->bytes, label);
}

static int open_file(source *s, const char *path)
{
    int rc = HPC_OK;
    s->file.n = 0;
    TRY(hpc_file_read(&s->file, path, FILE_MOST));
    s->name = is_json(path) ? JSON : MODEL;
    s->data = s->file.data;
    s->bytes = s->file.n;
    TRY(open_data(s, path));
out:
    return rc;
}

/* As hpc_tokenizer_open does: the .model first, the .json where that is another kind of file. */
static int open_folder(source *s)
{
    hpc_buf model = {0}, json = {0};
    int rc = HPC_OK;
    TRY(hpc_buf_printf(&model, "%s/%s", s->path, MODEL));
    TRY(hpc_buf_printf(&json, "%s/%s", s->path, JSON));
    bool both = hpc_file_exists(model.data) && hpc_file_exists(json.data);
    rc = open_file(s, hpc_file_exists(model.data) ? model.data : json.data);
    if (both && (rc == HPC_E_FORMAT || rc == HPC_E_UNSUPPORTED)) {
        hpc_error_clear();
        TRY(open_file(s, json.data));
    }
out:
    hpc_buf_release(&model);
    hpc_buf_release(&json);
    return rc;
}

static int open_source(source *s)
{
    int rc = HPC_OK;
    if (model_is_gguf(s->path)) {
        TRY(hpc_gguf_open(&s->gguf, s->path));
        TRY(hpc_gguf_tokenizer(&s->name, &s->data, &s->bytes, s->gguf));
        TRY(open_data(s, s->path));
    } else if (is_json(s->path) || ends_with(s->path, ".model")) {
        TRY(open_file(s, s->path));
    } else {
        TRY(open_folder(s));
    }
out:
    return rc;
}

/* ---- pieces --------------------------------------------------------------------------------- */

static void put_token(hpc_buf *out, const char *text, size_t n)
{
    uint64_t bytes = n;
    hpc_buf_add(out, &bytes, sizeof bytes);
    if (n > 0) hpc_buf_add(out, text, n);
}

/* A piece that is looked for in text has blanks there where the model's file has U+2581. */
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

/* As many as the model has rows; those that the tokenizer lacks are unused. */
static int put_pieces(model_gguf_list *l, const source *s, int64_t vocab, bool scores)
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

/* What llama.cpp does otherwise with pieces of SentencePiece than the library and we. */
static void tell_of_pieces(const source *s, const hpc_gguf_options *o)
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
        what = "llama.cpp makes other tokens of some texts: the tokenizer has unused pieces";
    if (hpc_tokenizer_specials(s->t).normalises)
        what = "llama.cpp makes other tokens of some texts: the tokenizer normalises them first";
    if (bytes < 256) what = "llama.cpp fails on some texts: the tokenizer has no pieces for bytes";
    if (what && o->remark) o->remark(what, o->user);
}

/* ---- byte-level ----------------------------------------------------------------------------- */

/* A merge is "left right" there; a tokenizer.json has it so, or as a pair. */
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

static bool flag(const hpc_json *step, const char *key, bool absent)
{
    const hpc_json *v = hpc_json_get(step, key);
    bool is = absent;
    return hpc_json_kind_of(v) == HPC_JSON_BOOL && hpc_json_bool(&is, v, key) >= 0 ? is : absent;
}

static const char *word(const hpc_json *step, const char *key)
{
    const hpc_json *v = hpc_json_get(step, key);
    const char *text = "?";
    return hpc_json_kind_of(v) == HPC_JSON_TEXT && hpc_json_text(&text, v, key) >= 0 ? text : "?";
}

/* A step in one line; what no known pre-tokenizer does has a '?'. */
static void put_step(hpc_buf *out, const hpc_json *step)
{
    const char *type = word(step, "type");
    bool usual = !flag(step, "add_prefix_space", false) && !flag(step, "invert", false);
    if (strcmp(type, "Split") == 0)
        hpc_buf_printf(out, "Split %s%s\n", word(hpc_json_get(step, "pattern"), "Regex"),
                       strcmp(word(step, "behavior"), "Isolated") == 0 && usual ? "" : " ?");
    else if (strcmp(type, "Digits") == 0)
        hpc_buf_printf(out, "Digits%s\n", flag(step, "individual_digits", false) ? "" : " ?");
    else if (strcmp(type, "ByteLevel") == 0)
        hpc_buf_printf(out, "%s%s\n", flag(step, "use_regex", true) ? "Words" : "Bytes",
                       usual ? "" : " ?");
    else
        hpc_buf_text(out, "?\n");
}

#define CASES "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define REST  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* llama.cpp's name for what a tokenizer.json does, or NULL. */
static const char *find_pre(const char *steps)
{
    static const struct {
        const char *steps, *name;
    } known[] = {
        {"Words\n", "gpt-2"},
        {"Digits\nWords\n", "starcoder"},
        {"Split " CASES "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" REST "\nBytes\n",
         "llama-bpe"},
        {"Split " CASES "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|" REST "\nBytes\n", "qwen2"},
        {"Split [\r\n]\nSplit \\s?\\p{L}+\nSplit \\s?\\p{P}+\n"
         "Split [\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+\nDigits\nBytes\n",
         "deepseek-coder"},
        {"Split \\p{N}{1,3}\nSplit [\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+\n"
         "Split [!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?"
         "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+\nBytes\n",
         "deepseek-v3"},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(known[k].steps, steps) == 0) return known[k].name;
    return NULL;
}

static int put_pre(model_gguf_list *l, const hpc_json *pre, const hpc_gguf_options *o)
{
    const hpc_json *steps = hpc_json_get(pre, "pretokenizers");
    hpc_buf text = {0};
    if (!steps) put_step(&text, pre);
    for (int64_t k = 0; k < hpc_json_n(steps); k++) put_step(&text, hpc_json_at(steps, k));
    const char *name = text.failed ? NULL : find_pre(text.data ? text.data : "");
    if (!name && o->remark)
        o->remark("llama.cpp has no name for what tokenizer.json does before merging: it will "
                  "refuse the file, which we read",
                  o->user);
    model_gguf_put_text(l, "tokenizer.ggml.pre", name ? name : "hpccoder");
    int rc = text.failed;
    hpc_buf_release(&text);
    return rc;
}

static int put_byte_level(model_gguf_list *l, const source *s, const hpc_gguf_options *o)
{
    hpc_json *root = NULL;
    int rc = HPC_OK;
    TRY(hpc_json_parse(&root, s->data, s->bytes, s->path));
    TRY(put_pre(l, hpc_json_get(root, "pre_tokenizer"), o));
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

/* Those for filling in the middle, by the names that are in use. */
static void put_fim(model_gguf_list *l, const hpc_tokenizer *t, int64_t vocab)
{
    static const struct {
        const char *key, *names[6];
    } known[] = {
        {"tokenizer.ggml.fim_pre_token_id",
         {"<fim_prefix>", "<|fim_prefix|>", "<｜fim▁begin｜>", "▁<PRE>"}},
        {"tokenizer.ggml.fim_suf_token_id",
         {"<fim_suffix>", "<|fim_suffix|>", "<｜fim▁hole｜>", "▁<SUF>"}},
        {"tokenizer.ggml.fim_mid_token_id",
         {"<fim_middle>", "<|fim_middle|>", "<｜fim▁end｜>", "▁<MID>"}},
        {"tokenizer.ggml.fim_pad_token_id", {"<fim_pad>", "<|fim_pad|>"}},
        {"tokenizer.ggml.fim_rep_token_id", {"<repo_name>", "<|repo_name|>", "<reponame>"}},
        {"tokenizer.ggml.fim_sep_token_id", {"<file_sep>", "<|file_sep|>"}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        int32_t id = -1;
        for (int i = 0; id < 0 && known[k].names[i]; i++)
            id = hpc_tokenizer_find(t, known[k].names[i]);
        if (id < vocab) put_id(l, known[k].key, id, -1);
    }
}

/* Whether a text gets a begin and an end token: what tokenizer_config.json says, or Llama's classes
 * there, before what the tokenizer's own file does. */
static int put_around(model_gguf_list *l, const source *s, const hpc_tokenizer_special *special)
{
    hpc_buf path = {0};
    hpc_json *root = NULL;
    bool begin = special->add_begin, end = special->add_end;
    int rc = HPC_OK;
    TRY(hpc_buf_printf(&path, "%s/tokenizer_config.json", s->path));
    if (hpc_file_exists(path.data)) {
        TRY(hpc_json_read(&root, path.data));
        const char *type = word(root, "tokenizer_class");
        begin = flag(root, "add_bos_token", begin || strstr(type, "Llama"));
        end = flag(root, "add_eos_token", end);
    } else if (s->gguf) {
        TRY(model_gguf_bool(&begin, s->gguf, "tokenizer.ggml.add_bos_token", begin));
        TRY(model_gguf_bool(&end, s->gguf, "tokenizer.ggml.add_eos_token", end));
    }
    model_gguf_put_bool(l, "tokenizer.ggml.add_bos_token", begin);
    model_gguf_put_bool(l, "tokenizer.ggml.add_eos_token", end);
out:
    hpc_json_free(root);
    hpc_buf_release(&path);
    return rc;
}

static void put_specials(model_gguf_list *l, const hpc_model_config *c,
                         const hpc_tokenizer_special *special)
{
    put_id(l, "tokenizer.ggml.bos_token_id", c->begin, special->begin);
    put_id(l, "tokenizer.ggml.eos_token_id", c->end, special->end);
    put_id(l, "tokenizer.ggml.padding_token_id", c->pad, special->pad);
    put_id(l, "tokenizer.ggml.unknown_token_id", special->unknown, -1);
}

static int put_all(model_gguf_list *l, const source *s, const hpc_model_config *c,
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
    TRY(put_around(l, s, &special));
    if (is_json(s->name))
        model_gguf_put(l, MODEL_GGUF_TOKENIZER_JSON, HPC_GGUF_TEXT, s->data, s->bytes);
    else
        model_gguf_put_list(l, MODEL_GGUF_TOKENIZER_MODEL, HPC_GGUF_U8, (int64_t)s->bytes, s->data,
                            s->bytes);
    rc = l->failed;
out:
    return rc;
}

int model_gguf_put_tokenizer(model_gguf_list *l, const hpc_model_config *c,
                             const hpc_gguf_options *o)
{
    static const hpc_tokenizer_special none = {.unknown = -1, .begin = -1, .end = -1, .pad = -1};
    source s = {.path = o->tokenizer};
    int rc = HPC_OK;
    if (!s.path) {
        model_gguf_put_text(l, "tokenizer.ggml.model", "none");
        put_specials(l, c, &none);
        return l->failed;
    }
    TRY(open_source(&s));
    TRY(put_all(l, &s, c, o));
out:
    hpc_tokenizer_close(s.t);
    hpc_gguf_close(s.gguf);
    hpc_buf_release(&s.file);
    return rc;
}
