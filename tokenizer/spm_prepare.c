/*
 * spm_prepare.c: derives encoder tables from the pieces of a tokenizer.model: symbols, merges, and
 * byte pairs that some piece spans.
 *
 * The library merges two neighbours if their concatenation is a piece, best score first. Here each
 * way to concatenate a piece from two symbols is a merge; its rank is that of the score among all
 * scores. Equal scores have equal ranks, so the leftmost wins, as in the library.
 */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/spm.h"

static const char blank_mark[] = "\xE2\x96\x81"; /* U+2581 */

typedef struct merging { /* a piece that takes part in merges */
    float score;
    int32_t id;
} merging;

typedef struct building {
    hpc_tokenizer *t;
    spm_state *m;
    const char *name;
    hpc_map *reserved; /* pieces that are not in text; may have the same text as one that is */
    int64_t symbols_cap;
    merging *item;
    int64_t n;
} building;

static bool in_text(const tokenizer_piece *p)
{
    return p->kind == PIECE_NORMAL || p->kind == PIECE_UNUSED || p->kind == PIECE_USER;
}

static bool merges(const tokenizer_piece *p)
{
    return p->kind == PIECE_NORMAL || p->kind == PIECE_UNUSED;
}

/* ---- texts ------------------------------------------------------------------------------ */

/* Into out, which has room for n. */
static size_t unescape(char *out, const char *text, size_t n)
{
    size_t out_n = 0;
    for (size_t i = 0; i < n;) {
        bool blank = n - i >= 3 && memcmp(text + i, blank_mark, 3) == 0;
        out[out_n++] = blank ? ' ' : text[i];
        i += blank ? 3 : 1;
    }
    return out_n;
}

static int text_of(spm_text *out, const tokenizer_piece *p, hpc_arena *a)
{
    *out = (spm_text){p->text, p->n};
    if (!memchr(p->text, blank_mark[0], p->n)) return HPC_OK;
    char *text = hpc_arena_alloc(a, p->n + 1, 1);
    if (!text) return HPC_E_NOMEM;
    *out = (spm_text){text, (uint32_t)unescape(text, p->text, p->n)};
    return HPC_OK;
}

/* A piece with a blank of its own is never found in text, where blanks are escaped; nor is one
 * that is not UTF-8. */
static bool can_match(const tokenizer_piece *p)
{
    return !memchr(p->text, ' ', p->n) && tokenizer_valid(p->text, p->n) == p->n;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* "<0x4F>" */
static int byte_of(int32_t *out, const building *b, const tokenizer_piece *p)
{
    bool framed = p->n == 6 && memcmp(p->text, "<0x", 3) == 0 && p->text[5] == '>';
    int high = framed ? hex_digit(p->text[3]) : -1, low = framed ? hex_digit(p->text[4]) : -1;
    if (high < 0 || low < 0)
        return hpc_fail(HPC_E_FORMAT, "%s: invalid byte token '%.16s'", b->name, p->text);
    *out = high * 16 + low;
    return HPC_OK;
}

/* ---- pieces ----------------------------------------------------------------------------- */

static int there_twice(const building *b, int64_t id)
{
    return hpc_fail(HPC_E_FORMAT, "%s: token %lld, '%.64s', occurs twice", b->name, (long long)id,
                    b->t->piece[id].text);
}

static int add_reserved(building *b, int64_t id)
{
    int rc = HPC_OK;
    const tokenizer_piece *p = &b->t->piece[id];
    spm_text *text = &b->m->symbol[id];
    int32_t byte = 0;
    if (hpc_map_get(b->reserved, p->text, p->n, NULL)) TRY(there_twice(b, id));
    TRY(hpc_map_put(b->reserved, p->text, p->n, (uint64_t)id));
    TRY(hpc_map_put(b->t->index, p->text, p->n, (uint64_t)id));
    *text = (spm_text){p->text, p->n};
    if (p->kind == PIECE_UNKNOWN) {
        if (b->t->special.unknown >= 0)
            TRY(hpc_fail(HPC_E_FORMAT, "%s has two unknown tokens", b->name));
        b->t->special.unknown = (int32_t)id;
        *text = (spm_text){b->m->file->unknown_text, (uint32_t)strlen(b->m->file->unknown_text)};
    } else if (p->kind == PIECE_BYTE) {
        if (!b->m->file->byte_fallback)
            TRY(hpc_fail(HPC_E_FORMAT, "%s has byte tokens but byte_fallback is off", b->name));
        TRY(byte_of(&byte, b, p));
        b->m->byte[byte] = (int32_t)id;
        char *one = hpc_arena_alloc(b->t->arena, 2, 1);
        if (!one) TRY(HPC_E_NOMEM);
        one[0] = (char)byte;
        *text = (spm_text){one, 1};
    }
out:
    return rc;
}

/* A piece that takes part in merges. */
static int add_merging(building *b, int64_t id)
{
    const tokenizer_piece *p = &b->t->piece[id];
    int32_t there;
    int rc = text_of(&b->m->symbol[id], p, b->t->arena);
    if (rc >= 0) rc = spm_parts_add(&there, b->m->parts, (int32_t)id);
    if (rc < 0) return rc;
    if (there != id) return there_twice(b, id);
    b->item[b->n++] = (merging){.score = p->score, .id = (int32_t)id};
    b->m->any_unused = b->m->any_unused || p->kind == PIECE_UNUSED;
    return HPC_OK;
}

/* The others that are in text, or can never match. */
static int add_apart(building *b, int64_t id)
{
    int rc = HPC_OK;
    const tokenizer_piece *p = &b->t->piece[id];
    spm_text *text = &b->m->symbol[id];
    bool matches = can_match(p);
    TRY(text_of(text, p, b->t->arena));
    if (hpc_map_get(b->t->index, p->text, p->n, NULL) ||
        (matches && spm_parts_get(b->m->parts, text->text, text->n) >= 0))
        TRY(there_twice(b, id));
    TRY(hpc_map_put(b->t->index, p->text, p->n, (uint64_t)id));
    if (!matches || p->kind != PIECE_USER) goto out;
    TRY(tokenizer_matcher_add(b->m->user, text->text, text->n, (int32_t)id));
    TRY(tokenizer_matcher_add(b->m->marked, p->text, p->n, (int32_t)id));
out:
    return rc;
}

int32_t spm_find(const hpc_tokenizer *t, const char *piece, size_t n)
{
    const spm_state *m = t->state;
    char text[SPM_PIECE_MOST];
    if (n > sizeof text || memchr(piece, ' ', n)) return -1;
    int32_t symbol = spm_parts_get(m->parts, text, unescape(text, piece, n));
    return symbol < m->pieces_n ? symbol : -1;
}

static int32_t special_of(const building *b, const char *text)
{
    uint64_t id;
    if (!hpc_map_get(b->t->index, text, strlen(text), &id)) return -1;
    return b->t->piece[id].kind == PIECE_CONTROL ? (int32_t)id : -1;
}

static int add_pieces(building *b)
{
    int rc = HPC_OK;
    hpc_tokenizer *t = b->t;
    spm_state *m = b->m;
    for (int i = 0; i < 256; i++) m->byte[i] = -1;
    t->special = (hpc_tokenizer_special){.unknown = -1, .begin = -1, .end = -1, .pad = -1};
    for (int64_t id = 0; id < t->n; id++)
        if (merges(&t->piece[id]) && can_match(&t->piece[id])) TRY(add_merging(b, id));
    for (int64_t id = 0; id < t->n; id++)
        if (in_text(&t->piece[id]) && !m->symbol[id].text) TRY(add_apart(b, id));
    for (int64_t id = 0; id < t->n; id++)
        if (!in_text(&t->piece[id])) TRY(add_reserved(b, id));
    if (t->special.unknown < 0) TRY(hpc_fail(HPC_E_FORMAT, "%s has no unknown token", b->name));
    t->special.dummy_prefix = m->file->dummy_prefix;
    t->special.normalises = m->file->rules_n > 0 || m->file->squeeze_blanks;
    t->special.begin = special_of(b, m->file->begin);
    t->special.end = special_of(b, m->file->end);
    t->special.pad = special_of(b, m->file->pad);
    for (int i = 0; i < 256; i++) {
        if (!m->file->byte_fallback) m->byte[i] = t->special.unknown;
        if (m->byte[i] < 0)
            TRY(hpc_fail(HPC_E_FORMAT, "%s: byte_fallback is on, but byte %d has no token", b->name,
                         i));
    }
out:
    return rc;
}

/* ---- characters ----------------------------------------------------------------------- */

/* Gives the character at text[0..n) a symbol: that of a piece, or one of its own. */
static int add_character(building *b, const char *text, size_t n, uint32_t point)
{
    int rc = HPC_OK;
    spm_state *m = b->m;
    int32_t symbol = (int32_t)m->symbols_n, there;
    TRY(hpc_grow(&m->symbol, &b->symbols_cap, m->symbols_n + 1, sizeof *m->symbol));
    m->symbol[symbol] = (spm_text){text, (uint32_t)n};
    TRY(spm_parts_add(&there, m->parts, symbol));
    if (there == symbol) m->symbols_n++;
    if (point < 128)
        m->ascii[point] = there;
    else
        TRY(hpc_map_put(m->character, &point, sizeof point, (uint64_t)there));
out:
    return rc;
}

static bool has_symbol(const spm_state *m, uint32_t point)
{
    if (point < 128) return m->ascii[point] >= 0;
    return hpc_map_get(m->character, &point, sizeof point, NULL);
}

static int add_characters(building *b)
{
    spm_state *m = b->m;
    for (int32_t c = 0; c < 128; c++) m->ascii[c] = -1 - c;
    for (int64_t k = 0; k < b->n; k++) {
        spm_text p = m->symbol[b->item[k].id];
        for (size_t i = 0, n; i < p.n; i += n) {
            uint32_t point = tokenizer_point(p.text + i, &n);
            int rc = has_symbol(m, point) ? HPC_OK : add_character(b, p.text + i, n, point);
            if (rc < 0) return rc;
        }
    }
    return HPC_OK;
}

/* ---- merges ----------------------------------------------------------------------------- */

static int best_first(const void *a, const void *b)
{
    float x = ((const merging *)a)->score, y = ((const merging *)b)->score;
    return (x < y) - (x > y);
}

/* Trained models have them in order. */
static void sort(building *b)
{
    int64_t i = 1;
    while (i < b->n && b->item[i - 1].score >= b->item[i].score) i++;
    if (i < b->n) qsort(b->item, (size_t)b->n, sizeof *b->item, best_first);
}

static int add_merges_of(building *b, int32_t id, int32_t rank)
{
    spm_state *m = b->m;
    spm_text p = m->symbol[id];
    uint64_t hash[SPM_PIECE_MOST + 1];
    spm_parts_hash(hash, p.text, p.n);
    for (uint32_t i = 1; i < p.n; i++) {
        unsigned before = (unsigned char)p.text[i - 1], after = (unsigned char)p.text[i];
        if ((after & 0xC0) == 0x80) continue;
        m->joined[(before << 8 | after) / 64] |= (uint64_t)1 << after % 64;
        int32_t left = spm_parts_find(m->parts, hash, p.text, 0, i);
        int32_t right = left < 0 ? -1 : spm_parts_find(m->parts, hash, p.text, i, p.n);
        if (right < 0) continue;
        int rc = tokenizer_merges_add(m->merges, left, right, rank, id);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

static int add_merges(building *b)
{
    int rc = HPC_OK;
    int32_t rank = 0;
    sort(b);
    for (int64_t k = 0; k < b->n; k++) {
        rank += k > 0 && b->item[k].score != b->item[k - 1].score;
        TRY(add_merges_of(b, b->item[k].id, rank));
    }
out:
    return rc;
}

/* ---- the whole -------------------------------------------------------------------------- */

int spm_prepare(hpc_tokenizer *t, const spm_file *file, const char *name)
{
    int rc = HPC_OK;
    building b = {.t = t, .name = name};
    spm_state *m = hpc_arena_alloc(t->arena, 1, sizeof *m);
    if (!m) return HPC_E_NOMEM;
    b.m = m;
    m->file = file;
    m->pieces_n = t->n;
    t->state = m;
    t->family = &tokenizer_spm;
    if (t->n > SPM_PIECES_MOST)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s: more than %d tokens", name, SPM_PIECES_MOST));
    b.reserved = hpc_map_create();
    m->character = hpc_map_create();
    if (!b.reserved || !m->character) TRY(HPC_E_NOMEM);
    TRY(hpc_grow(&m->symbol, &b.symbols_cap, t->n, sizeof *m->symbol));
    m->symbols_n = t->n;
    TRY(spm_parts_create(&m->parts, m));
    b.item = hpc_alloc((size_t)t->n, sizeof *b.item);
    if (!b.item) TRY(HPC_E_NOMEM);
    TRY(tokenizer_matcher_create(&m->user));
    TRY(tokenizer_matcher_create(&m->marked));
    TRY(tokenizer_merges_create(&m->merges, t->n * 4));
    TRY(spm_rules_read(&m->rules, file->rules, file->rules_n, name));
    TRY(add_pieces(&b));
    TRY(add_characters(&b));
    TRY(add_merges(&b));
out:
    hpc_map_free(b.reserved);
    hpc_free(b.item);
    return rc;
}

void spm_release(hpc_tokenizer *t)
{
    spm_state *m = t->state;
    if (!m) return;
    hpc_free(m->symbol);
    spm_parts_free(m->parts);
    hpc_map_free(m->character);
    tokenizer_merges_free(m->merges);
    tokenizer_matcher_free(m->user);
    tokenizer_matcher_free(m->marked);
}
