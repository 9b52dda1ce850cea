/*
 * json.c: reads a tokenizer.json: the model (vocabulary and merges) and added tokens. json_steps.c
 * reads the steps before and after the model.
 *
 * Only byte-level BPE is supported. Truncation and padding are ignored: they concern batches.
 */
#include <string.h>

#include "tokenizer/byte_level.h"

enum {
    FILE_MOST = 256 << 20,
    TOKEN_MOST = 1024, /* bytes of an added token: looking for one costs its length everywhere */
    GAPS_FREE = 65536  /* ids without a piece, in addition to one per piece */
};

typedef json_reader reader;

static const hpc_json *get(const hpc_json *object, const char *key, hpc_json_kind kind)
{
    const hpc_json *v = object ? hpc_json_get(object, key) : NULL;
    return v && hpc_json_kind_of(v) == kind ? v : NULL;
}

/* ---- pieces --------------------------------------------------------------------------- */

int json_add_piece(reader *r, int32_t id, const char *text, size_t n, uint8_t kind, bool spelled)
{
    hpc_tokenizer *t = r->t;
    size_t bytes = 0;
    char *copy = hpc_arena_alloc(t->arena, 2, n + 1);
    if (!copy) return HPC_E_NOMEM;
    memcpy(copy, text, n);
    if (!spelled || !byte_level_unspell(copy + n + 1, &bytes, r->b, text, n)) {
        memcpy(copy + n + 1, text, n);
        bytes = n;
    }
    t->piece[id] = (tokenizer_piece){.text = copy, .n = (uint32_t)n, .kind = kind};
    r->b->bytes[id].text = copy + n + 1;
    r->b->bytes[id].n = (uint32_t)bytes;
    return hpc_map_put(t->index, copy, n, (uint64_t)id);
}

static int read_id(int64_t *id, const hpc_json *v, const reader *r, const char *list,
                   const char *text)
{
    if (hpc_json_kind_of(v) == HPC_JSON_INT) {
        int rc = hpc_json_int(id, v, "id");
        if (rc < 0) return rc;
        if (*id >= 0 && *id < INT32_MAX) return 0;
    }
    return hpc_fail(HPC_E_FORMAT, "%.200s: %s: \"%.60s\" has no id from 0 to 2147483646", r->name,
                    list, text);
}

static int vocab_most(int64_t *most, const reader *r, const hpc_json *vocab)
{
    for (int64_t i = 0, id = 0; i < hpc_json_n(vocab); i++) {
        const hpc_json *v;
        const char *text = hpc_json_key(vocab, i, &v);
        int rc = read_id(&id, v, r, "model.vocab", text);
        if (rc < 0) return rc;
        if (id > *most) *most = id;
    }
    return 0;
}

static int added_most(int64_t *most, const reader *r, const hpc_json *added)
{
    for (int64_t i = 0, id = 0; i < hpc_json_n(added); i++) {
        const hpc_json *v = hpc_json_get(hpc_json_at(added, i), "id");
        if (!v) return hpc_fail(HPC_E_FORMAT, "%.200s: an added token without id", r->name);
        int rc = read_id(&id, v, r, "added_tokens", "");
        if (rc < 0) return rc;
        if (id > *most) *most = id;
    }
    return 0;
}

/* One more than the greatest id. */
static int count_ids(reader *r, const hpc_json *vocab, const hpc_json *added)
{
    int64_t most = r->given ? json_given_most(r->given) : -1;
    int64_t pieces = hpc_json_n(added) + (r->given ? r->given->pieces_n : hpc_json_n(vocab));
    int rc = 0;
    if (!r->given) TRY(vocab_most(&most, r, vocab));
    TRY(added_most(&most, r, added));
    if (most >= 2 * pieces + GAPS_FREE) {
        return hpc_fail(HPC_E_FORMAT, "%.200s: id %lld, but only %lld tokens", r->name,
                        (long long)most, (long long)pieces);
    }
    r->t->n = most + 1;
out:
    return rc;
}

static int read_vocab(reader *r, const hpc_json *vocab)
{
    for (int64_t i = 0; i < hpc_json_n(vocab); i++) {
        const hpc_json *v;
        const char *text = hpc_json_key(vocab, i, &v);
        int64_t id = 0;
        int rc = hpc_json_int(&id, v, "id");
        if (rc < 0) return rc;
        if (r->t->piece[id].text) {
            return hpc_fail(HPC_E_FORMAT,
                            "%.200s: model.vocab: \"%.60s\" and \"%.60s\" are both %lld", r->name,
                            r->t->piece[id].text, text, (long long)id);
        }
        rc = json_add_piece(r, (int32_t)id, text, strlen(text), PIECE_NORMAL, true);
        if (rc < 0) return rc;
    }
    return 0;
}

/* ---- merges --------------------------------------------------------------------------- */

typedef struct pair_text {
    const char *left, *right;
    size_t left_n, right_n;
} pair_text;

/* "a b", or ["a", "b"] */
static int read_pair(pair_text *m, const reader *r, const hpc_json *v, int64_t i)
{
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) {
        hpc_json_text(&m->left, v, "merge");
        const char *space = strchr(m->left, ' ');
        if (space && !strchr(space + 1, ' ')) {
            m->left_n = (size_t)(space - m->left);
            m->right = space + 1;
            m->right_n = strlen(m->right);
            return 0;
        }
    } else if (hpc_json_kind_of(v) == HPC_JSON_LIST && hpc_json_n(v) == 2 &&
               hpc_json_kind_of(hpc_json_at(v, 0)) == HPC_JSON_TEXT &&
               hpc_json_kind_of(hpc_json_at(v, 1)) == HPC_JSON_TEXT)
    {
        hpc_json_text(&m->left, hpc_json_at(v, 0), "merge");
        hpc_json_text(&m->right, hpc_json_at(v, 1), "merge");
        m->left_n = strlen(m->left);
        m->right_n = strlen(m->right);
        return 0;
    }
    return hpc_fail(HPC_E_FORMAT, "%.200s: model.merges[%lld] is not a pair of tokens", r->name,
                    (long long)i);
}

static int find_piece(int32_t *id, const reader *r, const char *text, size_t n, int64_t i)
{
    uint64_t value;
    if (!hpc_map_get(r->t->index, text, n, &value)) {
        return hpc_fail(HPC_E_FORMAT, "%.200s: model.merges[%lld]: \"%.*s\" is not in model.vocab",
                        r->name, (long long)i, (int)(n < 60 ? n : 60), text);
    }
    *id = (int32_t)value;
    return 0;
}

int json_read_merge(json_merge *out, reader *r, const hpc_json *v, int64_t i)
{
    int rc = 0;
    pair_text m = {0};
    TRY(read_pair(&m, r, v, i));
    TRY(find_piece(&out->left, r, m.left, m.left_n, i));
    TRY(find_piece(&out->right, r, m.right, m.right_n, i));
    r->text.n = 0;
    TRY(hpc_buf_add(&r->text, m.left, m.left_n));
    TRY(hpc_buf_add(&r->text, m.right, m.right_n));
    TRY(find_piece(&out->merged, r, r->text.data ? r->text.data : "", r->text.n, i));
out:
    return rc;
}

int json_add_merge(reader *r, const json_merge *m, int64_t i)
{
    int rc = tokenizer_merges_add(r->b->merges, m->left, m->right, (int32_t)i, m->merged);
    if (rc < 0) return rc;
    if (tokenizer_merges_n(r->b->merges) != i + 1) {
        return hpc_fail(HPC_E_FORMAT, "%.200s: model.merges[%lld]: duplicate pair", r->name,
                        (long long)i);
    }
    r->b->bytes[m->merged].made = true;
    return 0;
}

static int read_merges(reader *r, const hpc_json *merges)
{
    int rc = 0;
    json_merge m;
    TRY(tokenizer_merges_create(&r->b->merges, hpc_json_n(merges)));
    for (int64_t i = 0; i < hpc_json_n(merges); i++) {
        TRY(json_read_merge(&m, r, hpc_json_at(merges, i), i));
        TRY(json_add_merge(r, &m, i));
    }
out:
    return rc;
}

/* ---- added tokens ------------------------------------------------------------------------ */

/* Adds an added token's text, normalised if the file requires it. */
static int add_to_matcher(reader *r, const char *content, bool normalized, int32_t index)
{
    int rc = 0;
    const char *text = NULL;
    size_t n = 0;
    hpc_buf keep = {0}, points = {0};
    if (normalized && r->b->nfc) {
        TRY(tokenizer_nfc_apply(&text, &n, &r->b->unicode, content, strlen(content), &keep,
                                &points));
    }
    if (!text) {
        text = content;
        n = strlen(content);
    }
    TRY(tokenizer_matcher_add(normalized ? r->b->late : r->b->raw, text, n, index));
    if (memchr(text, '\n', n) || memchr(text, '\r', n)) r->b->cut = false;
out:
    hpc_buf_release(&keep);
    hpc_buf_release(&points);
    return rc;
}

static int check_added(const reader *r, const char *content, int64_t id, const char *where)
{
    uint64_t other;
    size_t n = strlen(content);
    if (n == 0 || n > TOKEN_MOST) {
        return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: a token of %zu bytes, at most %d", where, n,
                        TOKEN_MOST);
    }
    bool same = r->t->piece[id].text && strcmp(r->t->piece[id].text, content) == 0;
    if (same && r->t->piece[id].kind == PIECE_NORMAL) return 0;
    if (hpc_map_get(r->t->index, content, n, &other)) {
        return hpc_fail(HPC_E_FORMAT, "%.200s: \"%.60s\" already exists, with id %lld", where,
                        content, (long long)other);
    }
    if (r->t->piece[id].text) {
        return hpc_fail(HPC_E_FORMAT, "%.200s: id %lld already belongs to \"%.60s\"", where,
                        (long long)id, r->t->piece[id].text);
    }
    return 0;
}

static int read_added_token(reader *r, const hpc_json *v, int64_t i, const char *where)
{
    static const char *const keys[] = {"id",     "content",    "single_word", "lstrip",
                                       "rstrip", "normalized", "special",     NULL};
    int rc = 0;
    bool normalized;
    int64_t id = 0;
    const char *content = NULL;
    byte_added *a = &r->b->added[i];
    const hpc_json *text = get(v, "content", HPC_JSON_TEXT);
    TRY(json_known_keys(v, keys, where));
    if (!text) TRY(hpc_fail(HPC_E_FORMAT, "%.200s: no text \"content\"", where));
    TRY(hpc_json_text(&content, text, "content"));
    TRY(hpc_json_int(&id, hpc_json_get(v, "id"), "id"));
    TRY(json_flag(&a->special, v, "special", where));
    TRY(json_flag(&a->single_word, v, "single_word", where));
    TRY(json_flag(&a->lstrip, v, "lstrip", where));
    TRY(json_flag(&a->rstrip, v, "rstrip", where));
    TRY(json_flag(&normalized, v, "normalized", where));
    TRY(check_added(r, content, id, where));
    a->id = (int32_t)id;
    if (a->lstrip || a->rstrip) r->b->cut = false;
    /* A piece that merging also produces still stands for its bytes, as in the library. */
    TRY(json_add_piece(r, a->id, content, strlen(content), a->special ? PIECE_CONTROL : PIECE_USER,
                       r->b->bytes[id].made));
    TRY(add_to_matcher(r, content, normalized, (int32_t)i));
out:
    return rc;
}

static int read_added(reader *r, const hpc_json *added)
{
    int rc = 0;
    int64_t n = added ? hpc_json_n(added) : 0;
    hpc_arena *a = NULL;
    TRY(tokenizer_matcher_create(&r->b->raw));
    TRY(tokenizer_matcher_create(&r->b->late));
    r->b->added = hpc_arena_alloc(r->t->arena, (size_t)n + 1, sizeof *r->b->added);
    a = hpc_arena_create(0);
    if (!r->b->added || !a) TRY(HPC_E_NOMEM);
    r->b->added_n = n;
    for (int64_t i = 0; i < n; i++) {
        hpc_arena_mark mark = hpc_arena_here(a);
        const char *where = hpc_arena_text(a, "%s: added_tokens[%lld]", r->name, (long long)i);
        if (!where) TRY(HPC_E_NOMEM);
        TRY(read_added_token(r, hpc_json_at(added, i), i, where));
        hpc_arena_rewind(a, mark);
    }
out:
    hpc_arena_free(a);
    return rc;
}

/* ---- the model ----------------------------------------------------------------------------- */

/* Absent, null, or an empty text. */
static bool empty(const hpc_json *v)
{
    const char *text = "x";
    if (!v || hpc_json_kind_of(v) == HPC_JSON_NULL) return true;
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) hpc_json_text(&text, v, "text");
    return *text == 0;
}

static int read_options(reader *r, const char *where)
{
    static const char *const keys[] = {"type",
                                       "dropout",
                                       "unk_token",
                                       "continuing_subword_prefix",
                                       "end_of_word_suffix",
                                       "fuse_unk",
                                       "byte_fallback",
                                       "ignore_merges",
                                       "vocab",
                                       "merges",
                                       NULL};
    static const char *const nothing[] = {"dropout", "continuing_subword_prefix",
                                          "end_of_word_suffix", NULL};
    int rc = 0;
    bool fallback = false;
    const char *type = "BPE";
    const hpc_json *v = hpc_json_get(r->model, "type");
    if (v && hpc_json_kind_of(v) == HPC_JSON_TEXT) TRY(hpc_json_text(&type, v, "type"));
    if (strcmp(type, "BPE") != 0) {
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%.200s: a %.60s model is not supported, only BPE", where,
                     type));
    }
    TRY(json_known_keys(r->model, keys, where));
    TRY(json_flag(&fallback, r->model, "byte_fallback", where));
    if (fallback) {
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%.200s.byte_fallback: this is a converted SentencePiece model; use its "
                     "tokenizer.model",
                     where));
    }
    for (const char *const *key = nothing; *key; key++) {
        double zero = 1;
        v = hpc_json_get(r->model, *key);
        bool number =
            v && (hpc_json_kind_of(v) == HPC_JSON_INT || hpc_json_kind_of(v) == HPC_JSON_REAL);
        if (number) TRY(hpc_json_real(&zero, v, *key));
        if (!empty(v) && zero != 0) {
            TRY(hpc_fail(HPC_E_UNSUPPORTED, "%.200s.%s is not supported", where, *key));
        }
    }
    TRY(json_flag(&r->b->fuse_unknown, r->model, "fuse_unk", where));
    TRY(json_flag(&r->b->whole_words, r->model, "ignore_merges", where));
out:
    return rc;
}

/* The id of each byte, -1 where the vocabulary has no piece for it. */
static int find_bytes(reader *r)
{
    byte_level *b = r->b;
    const char *unknown = NULL;
    const hpc_json *v = hpc_json_get(r->model, "unk_token");
    b->unknown = -1;
    if (v && hpc_json_kind_of(v) == HPC_JSON_TEXT && hpc_json_text(&unknown, v, "unk_token") == 0) {
        b->unknown = hpc_tokenizer_find(r->t, unknown);
        if (b->unknown < 0) {
            return hpc_fail(HPC_E_FORMAT,
                            "%.200s: model.unk_token \"%.60s\" is not in the vocabulary", r->name,
                            unknown);
        }
    }
    r->t->special.unknown = b->unknown;
    for (int c = 0; c < 256; c++) {
        uint64_t id;
        bool has = hpc_map_get(r->t->index, b->spelled[c], b->spelled_n[c], &id);
        b->byte_id[c] = has ? (int32_t)id : -1;
        if (has) b->bytes[id].made = true;
    }
    return 0;
}

static int read_model(reader *r, const hpc_json *vocab, const hpc_json *added)
{
    int rc = 0;
    hpc_tokenizer *t = r->t;
    TRY(count_ids(r, vocab, added));
    t->piece = hpc_arena_alloc(t->arena, (size_t)t->n + 1, sizeof *t->piece);
    r->b->bytes = hpc_arena_alloc(t->arena, (size_t)t->n + 1, sizeof *r->b->bytes);
    if (!t->piece || !r->b->bytes) TRY(HPC_E_NOMEM);
    TRY(r->given ? json_given_pieces(r) : read_vocab(r, vocab));
    TRY(find_bytes(r));
    TRY(r->given ? json_given_merges(r) : read_merges(r, hpc_json_get(r->model, "merges")));
out:
    return rc;
}

/* Finds begin and end tokens by their common names: a tokenizer.json names them only if it adds
 * them itself. */
static void guess_specials(hpc_tokenizer *t)
{
    static const char *const begin[] = {"<｜begin▁of▁sentence｜>", "<|begin_of_text|>", "<s>",
                                        "<|endoftext|>", NULL};
    static const char *const end[] = {"<｜end▁of▁sentence｜>", "<|end_of_text|>", "</s>",
                                      "<|endoftext|>", NULL};
    static const char *const pad[] = {"<｜▁pad▁｜>", "<|finetune_right_pad_id|>", "<pad>",
                                      "<|pad|>", NULL};
    const char *const *const names[] = {begin, end, pad};
    int32_t *const ids[] = {&t->special.begin, &t->special.end, &t->special.pad};
    for (int k = 0; k < 3; k++) {
        *ids[k] = -1;
        for (const char *const *name = names[k]; *name && *ids[k] < 0; name++) {
            int32_t id = hpc_tokenizer_find(t, *name);
            if (id >= 0 && t->piece[id].kind == PIECE_CONTROL) *ids[k] = id;
        }
    }
}

static int read_all(reader *r)
{
    static const char *const keys[] = {
        "version",       "truncation", "padding", "added_tokens",   "normalizer",
        "pre_tokenizer", "model",      "decoder", "post_processor", NULL};
    int rc = 0;
    byte_level *b = r->b;
    hpc_buf where = {0};
    if (hpc_json_kind_of(r->root) != HPC_JSON_OBJECT) {
        TRY(hpc_fail(HPC_E_FORMAT, "%.200s: not a tokenizer.json", r->name));
    }
    TRY(json_known_keys(r->root, keys, r->name));
    r->model = get(r->root, "model", HPC_JSON_OBJECT);
    if (!r->model) TRY(hpc_fail(HPC_E_FORMAT, "%.200s: no model", r->name));
    TRY(hpc_buf_printf(&where, "%s: model", r->name));
    TRY(read_options(r, where.data));
    const hpc_json *vocab = get(r->model, "vocab", HPC_JSON_OBJECT);
    if (!r->given && (!vocab || !get(r->model, "merges", HPC_JSON_LIST))) {
        TRY(hpc_fail(HPC_E_FORMAT, "%.200s: model needs vocab and merges", r->name));
    }
    const hpc_json *added = get(r->root, "added_tokens", HPC_JSON_LIST);
    TRY(tokenizer_unicode_init(&b->unicode, r->t->arena));
    b->split.unicode = &b->unicode;
    b->split.known = true;
    byte_level_spell(b);
    TRY(read_model(r, vocab, added));
    b->cut = true;
    /* Steps define how added tokens are normalised; the template names added tokens. */
    TRY(json_read_steps(r->t, b, r->root, r->name));
    TRY(read_added(r, added));
    guess_specials(r->t);
    TRY(json_read_template(r->t, r->root, r->name));
    if (b->prefix_space || !tokenizer_split_cut(&b->split)) b->cut = false;
out:
    hpc_buf_release(&where);
    return rc;
}

int json_open(hpc_tokenizer **out, const void *data, size_t n, const json_given *given,
              hpc_hash128 hash, const char *name)
{
    int rc = 0;
    hpc_json *root = NULL;
    hpc_tokenizer *t = hpc_alloc(1, sizeof *t);
    reader r = {.t = t, .given = given, .name = name};
    *out = NULL;
    if (!t) return HPC_E_NOMEM;
    t->family = &byte_level_family;
    t->arena = hpc_arena_create(1 << 20);
    t->index = hpc_map_create();
    t->state = r.b = hpc_alloc(1, sizeof *r.b);
    t->hash = hash;
    if (!t->arena || !t->index || !r.b) TRY(HPC_E_NOMEM);
    TRY(hpc_json_parse(&root, data, n, name));
    r.root = root;
    TRY(read_all(&r));
    *out = t;
    t = NULL;
out:
    hpc_buf_release(&r.text);
    hpc_json_free(root);
    hpc_tokenizer_close(t);
    return rc;
}

int hpc_tokenizer_open_json(hpc_tokenizer **out, const void *data, size_t n, const char *name)
{
    *out = NULL;
    if (n > FILE_MOST) {
        return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: %zu bytes, at most %d", name, n, FILE_MOST);
    }
    return json_open(out, data, n, NULL, hpc_hash_wide(data, n), name);
}
