/*
 * byte_level.c: byte-level BPE: added tokens, normalisation, splitting, merging, and decoding.
 *
 * Symbols of a word are ids from the start; the characters that spell bytes in files matter only
 * when a file is read. A run of bytes that is not UTF-8 is a separate word and is not normalised.
 */
#include <string.h>

#include "tokenizer/byte_level.h"

/* ---- spelling ------------------------------------------------------------------------ */

void byte_level_spell(byte_level *b)
{
    unsigned next = 0x100;
    for (int i = 0; i < SPELLING_END; i++) b->byte_of[i] = -1;
    for (unsigned c = 0; c < 256; c++) {
        bool itself = (c > 0x20 && c < 0x7f) || (c > 0xa0 && c != 0xad);
        unsigned point = itself ? c : next++;
        b->byte_of[point] = (int16_t)c;
        b->spelled_n[c] = point < 0x80 ? 1 : 2;
        b->spelled[c][0] = (uint8_t)(point < 0x80 ? point : 0xc0 | point >> 6);
        b->spelled[c][1] = (uint8_t)(0x80 | (point & 0x3f));
    }
}

bool byte_level_unspell(char *out, size_t *out_n, const byte_level *b, const char *piece, size_t n)
{
    *out_n = 0;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        uint32_t point;
        bytes = (size_t)tokenizer_utf8(piece + at, n - at, &point);
        if (bytes == 0 || point >= SPELLING_END || b->byte_of[point] < 0) return false;
        out[(*out_n)++] = (char)b->byte_of[point];
    }
    return true;
}

/* ---- scratch ------------------------------------------------------------------------- */

typedef struct byte_scratch {
    tokenizer_split_work *split;
    hpc_buf keep, points, prefixed, name;
} byte_scratch;

static void scratch_free(void *state)
{
    byte_scratch *w = state;
    if (!w) return;
    tokenizer_split_work_free(w->split);
    hpc_buf_release(&w->keep);
    hpc_buf_release(&w->points);
    hpc_buf_release(&w->prefixed);
    hpc_buf_release(&w->name);
    hpc_free(w);
}

static int scratch_create(void **out, const hpc_tokenizer *t)
{
    const byte_level *b = t->state;
    byte_scratch *w = hpc_alloc(1, sizeof *w);
    *out = NULL;
    if (!w) return HPC_E_NOMEM;
    int rc = tokenizer_split_work_create(&w->split, &b->split);
    if (rc < 0) {
        scratch_free(w);
        return rc;
    }
    *out = w;
    return 0;
}

static void release(hpc_tokenizer *t)
{
    byte_level *b = t->state;
    if (!b) return;
    tokenizer_split_release(&b->split);
    tokenizer_matcher_free(b->raw);
    tokenizer_matcher_free(b->late);
    tokenizer_merges_free(b->merges);
    hpc_free(b);
    t->state = NULL;
}

/* ---- words --------------------------------------------------------------------------- */

typedef struct coder {
    hpc_ids *ids;
    const hpc_tokenizer *t;
    const byte_level *b;
    hpc_tokenizer_scratch *s;
    byte_scratch *w;
    bool specials;
} coder;

/* 1 when the word as a whole is a piece. */
static int find_whole(int32_t *id, const coder *c, const char *word, size_t n)
{
    hpc_buf *name = &c->w->name;
    uint64_t value;
    name->n = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)word[i];
        int rc = hpc_buf_add(name, c->b->spelled[byte], c->b->spelled_n[byte]);
        if (rc < 0) return rc;
    }
    if (!hpc_map_get(c->t->index, name->data, name->n, &value)) return 0;
    if (c->t->piece[value].kind != PIECE_NORMAL) return 0;
    *id = (int32_t)value;
    return 1;
}

static bool is_never_utf8(uint8_t byte)
{
    return byte == 0xc0 || byte == 0xc1 || byte > 0xf4;
}

/* U+FFFD, as far as the vocabulary has pieces for its bytes. */
static void put_replacement(const byte_level *b, hpc_ids *symbols)
{
    static const uint8_t replacement[] = {0xef, 0xbf, 0xbd};
    for (int k = 0; k < 3; k++)
        if (b->byte_id[replacement[k]] >= 0) symbols->id[symbols->n++] = b->byte_id[replacement[k]];
}

/* A byte without a piece becomes the unknown piece. Without an unknown piece it is dropped, as
 * transformers and llama.cpp do; U+FFFD replaces a byte that UTF-8 never has. */
static int put_symbols(const coder *c, const char *word, size_t n)
{
    const byte_level *b = c->b;
    hpc_ids *symbols = &c->s->symbols;
    bool unknown = false;
    symbols->n = 0;
    if ((int64_t)n > symbols->cap / 3) {
        int rc = hpc_grow(&symbols->id, &symbols->cap, (int64_t)n * 3, sizeof *symbols->id);
        if (rc < 0) return rc;
    }
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)word[i];
        int32_t id = b->byte_id[byte];
        bool again = id < 0 && unknown && b->fuse_unknown;
        unknown = id < 0;
        if (id >= 0)
            symbols->id[symbols->n++] = id;
        else if (b->unknown < 0 && is_never_utf8(byte))
            put_replacement(b, symbols);
        else if (b->unknown >= 0 && !again)
            symbols->id[symbols->n++] = b->unknown;
    }
    return 0;
}

static int add_word(void *user, const char *word, size_t n)
{
    const coder *c = user;
    int rc = 0;
    int64_t ids_n;
    int32_t id;
    hpc_ids *symbols = &c->s->symbols;
    if (n == 1 && c->b->byte_id[(uint8_t)word[0]] >= 0) {
        return tokenizer_ids_add(c->ids, c->b->byte_id[(uint8_t)word[0]]);
    }
    const int32_t *known = tokenizer_cache_get(&ids_n, c->s->cache, word, n);
    if (known) return tokenizer_ids_append(c->ids, known, ids_n);
    if (c->b->whole_words) {
        TRY(find_whole(&id, c, word, n));
        if (rc == 1) {
            tokenizer_cache_put(c->s->cache, word, n, &id, 1);
            return tokenizer_ids_add(c->ids, id);
        }
    }
    TRY(put_symbols(c, word, n));
    TRY(tokenizer_merge(symbols->id, &symbols->n, c->b->merges, c->s));
    tokenizer_cache_put(c->s->cache, word, n, symbols->id, symbols->n);
    TRY(tokenizer_ids_append(c->ids, symbols->id, symbols->n));
out:
    return rc;
}

/* ---- added tokens ---------------------------------------------------------------------- */

static bool class_behind(const coder *c, const char *text, size_t n, size_t at, unsigned class,
                         size_t *bytes)
{
    uint32_t point;
    *bytes = at < n ? (size_t)tokenizer_utf8(text + at, n - at, &point) : 0;
    return *bytes > 0 && tokenizer_class(&c->b->unicode, point) & class;
}

static bool class_before(const coder *c, const char *text, size_t at, unsigned class, size_t *bytes)
{
    size_t from = at;
    while (from > 0 && at - from < 4) {
        from--;
        if (((uint8_t)text[from] & 0xc0) != 0x80) break;
    }
    return at > 0 && class_behind(c, text, at, from, class, bytes) && from + *bytes == at;
}

static bool stands_alone(const coder *c, const char *text, size_t n, size_t begin, size_t end)
{
    size_t bytes;
    return !class_before(c, text, begin, UNI_WORD, &bytes) &&
           !class_behind(c, text, n, end, UNI_WORD, &bytes);
}

/* Appends the tokens of m in text, and passes the text between them to `rest`. Tokens that are not
 * enabled still hide tokens that overlap them, as in the library. inner: the text continues earlier
 * text, so no space is added before its first part. */
static int mark(const coder *c, const tokenizer_matcher *m, const char *text, size_t n, bool inner,
                int (*rest)(const coder *c, const char *text, size_t n, bool inner))
{
    int rc = 0;
    size_t done = 0, bytes;
    for (size_t at = tokenizer_matcher_find(m, text, n, 0); at < n;) {
        int32_t k = 0;
        size_t begin = at, end = at + tokenizer_matcher_at(&k, m, text, n, at);
        const byte_added *a = &c->b->added[k];
        at = tokenizer_matcher_find(m, text, n, end);
        if (a->special && !c->specials) continue;
        if (a->single_word && !stands_alone(c, text, n, begin, end)) continue;
        while (a->lstrip && begin > done && class_before(c, text, begin, UNI_SPACE, &bytes)) {
            begin -= bytes;
        }
        while (a->rstrip && class_behind(c, text, n, end, UNI_SPACE, &bytes)) end += bytes;
        if (begin > done) TRY(rest(c, text + done, begin - done, inner && done == 0));
        TRY(tokenizer_ids_add(c->ids, a->id));
        done = end;
    }
    if (done < n) TRY(rest(c, text + done, n - done, inner && done == 0));
out:
    return rc;
}

/* ---- text ------------------------------------------------------------------------------ */

static int add_words(const coder *c, const char *text, size_t n, bool inner)
{
    hpc_buf *p = &c->w->prefixed;
    if (c->b->prefix_space && !inner && text[0] != ' ') {
        p->n = 0;
        int rc = hpc_buf_add(p, " ", 1);
        if (rc == 0) rc = hpc_buf_add(p, text, n);
        if (rc < 0) return rc;
        text = p->data;
        n = p->n;
    }
    return tokenizer_split_run(&c->b->split, c->w->split, text, n, add_word, (void *)c);
}

static int add_valid(const coder *c, const char *text, size_t n, bool inner)
{
    if (c->b->nfc) {
        const char *changed;
        size_t changed_n;
        int rc = tokenizer_nfc_apply(&changed, &changed_n, &c->b->unicode, text, n, &c->w->keep,
                                     &c->w->points);
        if (rc < 0) return rc;
        if (changed) {
            text = changed;
            n = changed_n;
        }
    }
    return mark(c, c->b->late, text, n, inner, add_words);
}

/* Length of the invalid bytes up to the next valid character. */
static size_t invalid(const char *text, size_t n)
{
    uint32_t point;
    size_t at = 0;
    while (at < n && tokenizer_utf8(text + at, n - at, &point) == 0) at++;
    return at;
}

static int add_text(const coder *c, const char *text, size_t n, bool inner)
{
    int rc = 0;
    for (size_t at = 0; at < n;) {
        size_t valid = tokenizer_valid(text + at, n - at);
        if (valid > 0) TRY(add_valid(c, text + at, valid, inner || at > 0));
        at += valid;
        size_t bad = invalid(text + at, n - at);
        if (bad > 0) TRY(add_word((void *)c, text + at, bad));
        at += bad;
    }
out:
    return rc;
}

static int encode_marked(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                         const char *text, size_t n, unsigned flags)
{
    const coder c = {.ids = ids,
                     .t = t,
                     .b = t->state,
                     .s = s,
                     .w = s->state,
                     .specials = flags & HPC_ENCODE_SPECIALS};
    return mark(&c, c.b->raw, text, n, flags & HPC_ENCODE_INNER, add_text);
}

static int encode(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s, const char *text,
                  size_t n, bool first)
{
    return encode_marked(ids, t, s, text, n, first ? 0 : HPC_ENCODE_INNER);
}

static bool printing(char c)
{
    return c > ' ' && c < 0x7f;
}

static bool alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Finds cuts of the kinds in tokenizer_split_cut. NFC never joins ASCII to the text before it, and
 * if b->cut is set no added token contains a line end. */
static bool cut(size_t *at, const hpc_tokenizer *t, const char *text, size_t n, size_t lo)
{
    const byte_level *b = t->state;
    *at = b->cut ? lo : n;
    while (*at < n) {
        const char *line = memchr(text + *at, '\n', n - *at);
        if (!line) return *at = n - 1, false;
        size_t begin = (size_t)(line - text), end = text[begin - 1] == '\r' ? begin - 1 : begin;
        if (end >= lo && alphanumeric(text[end - 1])) return *at = end, true;
        if (begin + 1 == n) return *at = begin, false;
        *at = begin + 1;
        if (printing(text[begin - 1]) && printing(text[begin + 1])) return true;
    }
    return false;
}

/* A space that was put before the text is taken off again. */
static int decode(hpc_buf *out, const hpc_tokenizer *t, int32_t id, bool first)
{
    const byte_level *b = t->state;
    const char *text = b->bytes[id].text;
    size_t n = b->bytes[id].n;
    bool skip = first && b->prefix_space && n > 0 && text[0] == ' ';
    int rc = hpc_buf_add(out, text + skip, n - skip);
    return rc < 0 ? rc : skip;
}

const tokenizer_family byte_level_family = {.kind = "byte-level",
                                            .encode = encode,
                                            .encode_marked = encode_marked,
                                            .cut = cut,
                                            .decode = decode,
                                            .scratch_create = scratch_create,
                                            .scratch_free = scratch_free,
                                            .release = release};
