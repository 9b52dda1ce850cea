/*
 * spm_encode.c: SentencePiece BPE: encodes text to the library's ids, and decodes.
 *
 * Text is split where no piece spans two neighbouring characters, so each word is merged
 * separately and can be cached. Two deviations from the library let decoding restore the text: a
 * U+2581 in the text is not a blank, and an invalid byte is not replaced. Both become byte pieces.
 */
#include <string.h>

#include "tokenizer/spm.h"

/* What a scratch has for this family. */
typedef struct encoding {
    hpc_buf copy;         /* text with its dummy prefix, or normalised */
    tokenizer_pair *last; /* models with unused pieces: how each came apart */
} encoding;

static int scratch_create(void **out, const hpc_tokenizer *t)
{
    const spm_state *m = t->state;
    encoding *e = hpc_alloc(1, sizeof *e);
    *out = e;
    if (!e) return HPC_E_NOMEM;
    if (m->any_unused) e->last = hpc_alloc((size_t)m->pieces_n, sizeof *e->last);
    return m->any_unused && !e->last ? HPC_E_NOMEM : HPC_OK;
}

static void scratch_free(void *state)
{
    encoding *e = state;
    hpc_buf_release(&e->copy);
    hpc_free(e->last);
    hpc_free(e);
}

/* ---- symbols --------------------------------------------------------------------------- */

static bool joined(const spm_state *m, char before, char after)
{
    unsigned pair = (unsigned)(unsigned char)before << 8 | (unsigned char)after;
    return m->joined[pair / 64] >> pair % 64 & 1;
}

/* The symbol of the character at text[0..n), and its length. */
static int32_t symbol_at(size_t *length, const spm_state *m, const char *text, size_t n)
{
    uint32_t point;
    uint64_t symbol;
    unsigned char c = (unsigned char)*text;
    *length = 1;
    if (c < 128) return m->ascii[c];
    int bytes = tokenizer_utf8(text, n, &point);
    if (bytes == 0) return -1 - SPM_RAW - c;
    *length = (size_t)bytes;
    if (hpc_map_get(m->character, &point, sizeof point, &symbol)) return (int32_t)symbol;
    return -1 - (int32_t)point;
}

static size_t utf8_of(char out[4], uint32_t point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, point >>= 6) out[i] = (char)(0x80 | (point & 0x3F));
    out[0] = (char)((n == 2 ? 0xC0u : n == 3 ? 0xE0u : 0xF0u) | point);
    return n;
}

/* For a symbol without a piece: one piece per byte, or one unknown piece for a run of these that
 * starts at or after ids->id[from]. A blank without a piece, which every trained model has, is
 * encoded as U+2581, as in the library. */
static int write_bytes(hpc_ids *ids, const spm_state *m, const char *text, size_t n, int64_t from)
{
    if (!m->file->byte_fallback) {
        if (ids->n > from && ids->id[ids->n - 1] == m->byte[0]) return HPC_OK;
        return tokenizer_ids_add(ids, m->byte[0]);
    }
    if (n == 1 && *text == ' ') {
        text = "\xE2\x96\x81";
        n = 3;
    }
    for (size_t i = 0; i < n; i++) {
        int rc = tokenizer_ids_add(ids, m->byte[(unsigned char)text[i]]);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

static int write_symbol(hpc_ids *ids, const spm_state *m, int32_t symbol, int64_t from)
{
    char bytes[4];
    if (symbol >= 0 && symbol < m->pieces_n) return tokenizer_ids_add(ids, symbol);
    if (symbol >= 0) return write_bytes(ids, m, m->symbol[symbol].text, m->symbol[symbol].n, from);
    int32_t frozen = -1 - symbol;
    if (frozen >= SPM_USER) return tokenizer_ids_add(ids, frozen - SPM_USER);
    if (frozen < SPM_RAW) return write_bytes(ids, m, bytes, utf8_of(bytes, (uint32_t)frozen), from);
    bytes[0] = (char)(frozen - SPM_RAW);
    return write_bytes(ids, m, bytes, 1, from);
}

/* ---- words -------------------------------------------------------------------------------- */

static int collect_word(hpc_ids *symbols, const spm_state *m, const char *word, size_t n)
{
    size_t length;
    int rc = hpc_grow(&symbols->id, &symbols->cap, (int64_t)n, sizeof *symbols->id);
    if (rc < 0) return rc;
    symbols->n = 0;
    for (size_t i = 0; i < n; i += length)
        symbols->id[symbols->n++] = symbol_at(&length, m, word + i, n - i);
    return HPC_OK;
}

static int encode_new_word(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                           const char *word, size_t n)
{
    const spm_state *m = t->state;
    int64_t from = ids->n;
    int rc = HPC_OK;
    TRY(collect_word(&s->symbols, m, word, n));
    TRY(tokenizer_merge(s->symbols.id, &s->symbols.n, m->merges, s));
    for (int64_t i = 0; i < s->symbols.n; i++) TRY(write_symbol(ids, m, s->symbols.id[i], from));
    tokenizer_cache_put(s->cache, word, n, ids->id + from, ids->n - from);
out:
    return rc;
}

/* start: where the ids of this text begin. */
static int encode_word(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                       const char *word, size_t n, int64_t start)
{
    const spm_state *m = t->state;
    int64_t known_n = 0, from = ids->n;
    const int32_t *known = tokenizer_cache_get(&known_n, s->cache, word, n);
    int rc =
        known ? tokenizer_ids_append(ids, known, known_n) : encode_new_word(ids, t, s, word, n);
    if (rc < 0 || m->file->byte_fallback) return rc;
    /* A run of unknown symbols may reach over words. */
    int32_t unknown = m->byte[0];
    if (from > start && ids->n > from && ids->id[from] == unknown && ids->id[from - 1] == unknown) {
        ids->n--;
        memmove(ids->id + from, ids->id + from + 1, (size_t)(ids->n - from) * sizeof *ids->id);
    }
    return HPC_OK;
}

static size_t length_at(const char *text, size_t n)
{
    uint32_t point;
    if ((unsigned char)*text < 128) return 1;
    int length = tokenizer_utf8(text, n, &point);
    return length > 0 ? (size_t)length : 1;
}

static int encode_words(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                        const char *text, size_t n)
{
    const spm_state *m = t->state;
    int64_t start = ids->n;
    int rc = HPC_OK;
    int32_t user = -1, next = -1;
    size_t user_n = tokenizer_matcher_at(&user, m->user, text, n, 0);
    for (size_t at = 0; at < n;) {
        if (user_n > 0) {
            TRY(tokenizer_ids_add(ids, user));
            at += user_n;
            user_n = tokenizer_matcher_at(&user, m->user, text, n, at);
            continue;
        }
        size_t end = at;
        do {
            end += length_at(text + end, n - end);
            user_n = tokenizer_matcher_at(&next, m->user, text, n, end);
        } while (end < n && user_n == 0 && joined(m, text[end - 1], text[end]));
        TRY(encode_word(ids, t, s, text + at, end - at, start));
        user = next;
        at = end;
    }
out:
    return rc;
}

/* ---- models with unused pieces -----------------------------------------------------------
 * The library merges through an unused piece and takes it apart again in the end: into the pair
 * that was a candidate for it the last time anywhere in the text. So the text is one word here. */

static int write_used(hpc_ids *ids, const hpc_tokenizer *t, const encoding *e, int32_t symbol,
                      int64_t from)
{
    const spm_state *m = t->state;
    bool unused = symbol >= 0 && symbol < m->pieces_n && t->piece[symbol].kind == PIECE_UNUSED;
    if (!unused || e->last[symbol].left < 0) return write_symbol(ids, m, symbol, from);
    /* Both are shorter than the piece, which has at most 1024 bytes. */
    int rc = write_used(ids, t, e, e->last[symbol].left, from);
    return rc < 0 ? rc : write_used(ids, t, e, e->last[symbol].right, from);
}

static int encode_as_one(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                         const char *text, size_t n)
{
    const spm_state *m = t->state;
    encoding *e = s->state;
    hpc_ids *symbols = &s->symbols;
    int64_t from = ids->n;
    int rc = HPC_OK;
    for (int64_t i = 0; i < m->pieces_n; i++) e->last[i] = (tokenizer_pair){-1, -1};
    TRY(hpc_grow(&symbols->id, &symbols->cap, (int64_t)n, sizeof *symbols->id));
    symbols->n = 0;
    for (size_t at = 0, length; at < n; at += length) {
        int32_t id = -1;
        length = tokenizer_matcher_at(&id, m->user, text, n, at);
        symbols->id[symbols->n++] =
            length > 0 ? -1 - SPM_USER - id : symbol_at(&length, m, text + at, n - at);
    }
    TRY(tokenizer_merge_tracked(symbols->id, &symbols->n, m->merges, s, e->last));
    for (int64_t i = 0; i < symbols->n; i++) TRY(write_used(ids, t, e, symbols->id[i], from));
out:
    return rc;
}

/* ---- the family ------------------------------------------------------------------------- */

static int encode(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s, const char *text,
                  size_t n, bool first)
{
    const spm_state *m = t->state;
    encoding *e = s->state;
    int rc = HPC_OK;
    if (n == 0) return HPC_OK;
    if (spm_normalises(m)) {
        TRY(spm_normalise(&e->copy, m, text, n, first));
    } else if (first && m->file->dummy_prefix) {
        e->copy.n = 0;
        TRY(hpc_buf_add(&e->copy, " ", 1));
        TRY(hpc_buf_add(&e->copy, text, n));
    }
    if (spm_normalises(m) || (first && m->file->dummy_prefix)) {
        text = e->copy.data;
        n = e->copy.n;
    }
    TRY(m->any_unused ? encode_as_one(ids, t, s, text, n) : encode_words(ids, t, s, text, n));
out:
    e->copy.failed = 0;
    return rc;
}

/* Is the character always a piece, whatever its neighbours? */
static bool known(const spm_state *m, char c)
{
    int32_t symbol = (unsigned char)c < 128 ? m->ascii[(unsigned char)c] : -1;
    return symbol >= 0 && symbol < m->pieces_n;
}

static bool cut(size_t *at, const hpc_tokenizer *t, const char *text, size_t n, size_t lo)
{
    const spm_state *m = t->state;
    size_t longest = tokenizer_matcher_longest(m->user), seen = n > longest ? n - longest : 0;
    if (m->any_unused || spm_normalises(m)) seen = lo = n;
    for (*at = lo; *at < seen; ++*at) {
        char before = text[*at - 1], after = text[*at];
        if (((unsigned char)after & 0xC0) == 0x80 || joined(m, before, after)) continue;
        if (!m->file->byte_fallback && !known(m, before)) continue;
        if (!tokenizer_matcher_spans(m->user, text, n, *at)) return true;
    }
    return false;
}

static int decode(hpc_buf *out, const hpc_tokenizer *t, int32_t id, bool first)
{
    const spm_state *m = t->state;
    spm_text p = m->symbol[id];
    uint8_t kind = t->piece[id].kind;
    bool prefixed = m->file->dummy_prefix || m->file->squeeze_blanks;
    bool as_it_is = kind == PIECE_BYTE || kind == PIECE_UNKNOWN;
    bool strip = first && prefixed && !as_it_is && p.n > 0 && p.text[0] == ' ' &&
                 t->piece[id].text[0] != ' ';
    int rc = hpc_buf_add(out, p.text + strip, p.n - strip);
    if (rc < 0) return rc;
    return strip && !m->file->squeeze_blanks;
}

const tokenizer_family tokenizer_spm = {
    .kind = "sentencepiece",
    .encode = encode,
    .cut = cut,
    .find = spm_find,
    .decode = decode,
    .scratch_create = scratch_create,
    .scratch_free = scratch_free,
    .release = spm_release,
};
