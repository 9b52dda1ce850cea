/*
 * spm_prepare.c: from the pieces of a tokenizer.model to what encoding needs: symbols, merges, and
 * which neighbours no piece joins.
 *
 * The library merges two neighbours when their concatenation is a piece, best score first. Here
 * each way to put a piece together from two symbols is a merge whose rank is that of its score
 * among all scores; equal scores have equal ranks, so the leftmost wins as there.
 */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/spm.h"

static const char blank_mark[] = "\xE2\x96\x81"; /* U+2581 */

typedef struct building {
    hpc_tokenizer *t;
    spm_state *m;
    const char *name;
    spm_parts *symbols; /* what may take part in a merge */
    hpc_map *reserved;  /* pieces that are not in text; may have the same text as one that is */
    int64_t symbols_cap;
    float *score; /* distinct, best first */
    int64_t scores_n;
} building;

static bool in_text(const tokenizer_piece *p)
{
    return p->kind == PIECE_NORMAL || p->kind == PIECE_USER || p->kind == PIECE_UNUSED;
}

static bool merges(const tokenizer_piece *p)
{
    return p->kind == PIECE_NORMAL || p->kind == PIECE_UNUSED;
}

/* ---- texts ------------------------------------------------------------------------------ */

static int unescape(spm_text *out, const tokenizer_piece *p, hpc_arena *a)
{
    char *text = hpc_arena_alloc(a, p->n + 1, 1);
    uint32_t n = 0;
    if (!text) return HPC_E_NOMEM;
    for (uint32_t i = 0; i < p->n;) {
        bool blank = p->n - i >= 3 && memcmp(p->text + i, blank_mark, 3) == 0;
        text[n++] = blank ? ' ' : p->text[i];
        i += blank ? 3 : 1;
    }
    *out = (spm_text){text, n};
    return HPC_OK;
}

/* A piece with a blank of its own is never found in text, where blanks are escaped; nor is one
 * that is not UTF-8. */
static bool can_match(const tokenizer_piece *p)
{
    uint32_t point;
    if (memchr(p->text, ' ', p->n)) return false;
    for (size_t i = 0; i < p->n;) {
        int n = tokenizer_utf8(p->text + i, p->n - i, &point);
        if (n == 0) return false;
        i += (size_t)n;
    }
    return true;
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
        return hpc_fail(HPC_E_FORMAT, "%s: the byte piece '%.16s' is none", b->name, p->text);
    *out = high * 16 + low;
    return HPC_OK;
}

/* ---- pieces ----------------------------------------------------------------------------- */

static int check_once(const building *b, const hpc_map *in, int64_t id)
{
    const tokenizer_piece *p = &b->t->piece[id];
    if (!hpc_map_get(in, p->text, p->n, NULL)) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT, "%s: piece %lld, '%.64s', is there twice", b->name, (long long)id,
                    p->text);
}

static int add_reserved(building *b, int64_t id)
{
    int rc = HPC_OK;
    const tokenizer_piece *p = &b->t->piece[id];
    spm_text *text = &b->m->symbol[id];
    int32_t byte = 0;
    TRY(check_once(b, b->reserved, id));
    TRY(hpc_map_put(b->reserved, p->text, p->n, (uint64_t)id));
    TRY(hpc_map_put(b->t->index, p->text, p->n, (uint64_t)id));
    *text = (spm_text){p->text, p->n};
    if (p->kind == PIECE_UNKNOWN) {
        if (b->t->special.unknown >= 0)
            TRY(hpc_fail(HPC_E_FORMAT, "%s: it has two unknown pieces", b->name));
        b->t->special.unknown = (int32_t)id;
        *text = (spm_text){b->m->file->unknown_text, (uint32_t)strlen(b->m->file->unknown_text)};
    } else if (p->kind == PIECE_BYTE) {
        if (!b->m->file->byte_fallback)
            TRY(hpc_fail(HPC_E_FORMAT, "%s: it has byte pieces but byte_fallback is off", b->name));
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

static int add_in_text(building *b, int64_t id)
{
    int rc = HPC_OK;
    const tokenizer_piece *p = &b->t->piece[id];
    spm_text *text = &b->m->symbol[id];
    TRY(check_once(b, b->t->index, id));
    TRY(hpc_map_put(b->t->index, p->text, p->n, (uint64_t)id));
    TRY(unescape(text, p, b->t->arena));
    if (!can_match(p)) goto out;
    if (p->kind == PIECE_USER) {
        TRY(tokenizer_matcher_add(b->m->user, text->text, text->n, (int32_t)id));
        TRY(tokenizer_matcher_add(b->m->marked, p->text, p->n, (int32_t)id));
    } else {
        TRY(spm_parts_add(b->symbols, (int32_t)id));
        b->m->any_unused = b->m->any_unused || p->kind == PIECE_UNUSED;
    }
out:
    return rc;
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
        if (in_text(&t->piece[id])) TRY(add_in_text(b, id));
    for (int64_t id = 0; id < t->n; id++)
        if (!in_text(&t->piece[id])) TRY(add_reserved(b, id));
    if (t->special.unknown < 0) TRY(hpc_fail(HPC_E_FORMAT, "%s: it has no unknown piece", b->name));
    t->special.begin = special_of(b, m->file->begin);
    t->special.end = special_of(b, m->file->end);
    t->special.pad = special_of(b, m->file->pad);
    for (int i = 0; i < 256; i++) {
        if (!m->file->byte_fallback) m->byte[i] = t->special.unknown;
        if (m->byte[i] < 0)
            TRY(hpc_fail(HPC_E_FORMAT, "%s: byte_fallback is on, but byte %d has no piece", b->name,
                         i));
    }
out:
    return rc;
}

/* ---- characters ----------------------------------------------------------------------- */

/* Gives the character at text[0..n) a symbol. */
static int add_character(building *b, const char *text, size_t n, uint32_t point)
{
    int rc = HPC_OK;
    spm_state *m = b->m;
    uint64_t hash[5];
    if (point < 128 ? m->ascii[point] >= 0 : hpc_map_get(m->character, &point, sizeof point, NULL))
        return HPC_OK;
    spm_parts_hash(hash, text, n);
    int32_t symbol = spm_parts_find(b->symbols, hash, text, 0, n);
    if (symbol < 0) {
        symbol = (int32_t)m->symbols_n;
        TRY(hpc_grow(&m->symbol, &b->symbols_cap, m->symbols_n + 1, sizeof *m->symbol));
        m->symbol[m->symbols_n++] = (spm_text){text, (uint32_t)n};
        TRY(spm_parts_add(b->symbols, symbol));
    }
    if (point < 128)
        m->ascii[point] = symbol;
    else
        TRY(hpc_map_put(m->character, &point, sizeof point, (uint64_t)symbol));
out:
    return rc;
}

/* Whether the piece takes part in merges, as it appears in text. */
static bool mergeable(const building *b, int64_t id)
{
    return merges(&b->t->piece[id]) && can_match(&b->t->piece[id]);
}

static int add_characters(building *b)
{
    spm_state *m = b->m;
    uint32_t point;
    for (int32_t c = 0; c < 128; c++) m->ascii[c] = -1 - c;
    for (int64_t id = 0; id < b->t->n; id++) {
        if (!mergeable(b, id)) continue;
        spm_text p = m->symbol[id];
        for (size_t i = 0; i < p.n;) {
            size_t n = (size_t)tokenizer_utf8(p.text + i, p.n - i, &point);
            int rc = add_character(b, p.text + i, n, point);
            if (rc < 0) return rc;
            i += n;
        }
    }
    return HPC_OK;
}

/* ---- merges ----------------------------------------------------------------------------- */

static int best_first(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static int collect_scores(building *b)
{
    int64_t n = 0, kept = 0;
    b->score = hpc_alloc((size_t)b->t->n, sizeof *b->score);
    if (!b->score) return HPC_E_NOMEM;
    for (int64_t id = 0; id < b->t->n; id++)
        if (merges(&b->t->piece[id])) b->score[n++] = b->t->piece[id].score;
    qsort(b->score, (size_t)n, sizeof *b->score, best_first);
    for (int64_t i = 0; i < n; i++)
        if (kept == 0 || b->score[kept - 1] != b->score[i]) b->score[kept++] = b->score[i];
    b->scores_n = kept;
    return HPC_OK;
}

static int32_t rank_of(const building *b, float score)
{
    const float *at = bsearch(&score, b->score, (size_t)b->scores_n, sizeof *b->score, best_first);
    return (int32_t)(at - b->score);
}

static int add_merges_of(building *b, int64_t id)
{
    spm_state *m = b->m;
    spm_text p = m->symbol[id];
    int32_t rank = rank_of(b, b->t->piece[id].score);
    uint64_t hash[SPM_PIECE_MOST + 1];
    spm_parts_hash(hash, p.text, p.n);
    for (uint32_t i = 1; i < p.n; i++) {
        unsigned before = (unsigned char)p.text[i - 1], after = (unsigned char)p.text[i];
        if ((after & 0xC0) == 0x80) continue;
        m->joined[(before << 8 | after) / 64] |= (uint64_t)1 << after % 64;
        int32_t left = spm_parts_find(b->symbols, hash, p.text, 0, i);
        int32_t right = left < 0 ? -1 : spm_parts_find(b->symbols, hash, p.text, i, p.n);
        if (right < 0) continue;
        int rc = tokenizer_merges_add(m->merges, left, right, rank, (int32_t)id);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

static int add_merges(building *b)
{
    int rc = HPC_OK;
    for (int64_t id = 0; id < b->t->n; id++)
        if (mergeable(b, id)) TRY(add_merges_of(b, id));
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
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s: more than %d pieces", name, SPM_PIECES_MOST));
    b.reserved = hpc_map_create();
    m->character = hpc_map_create();
    if (!b.reserved || !m->character) TRY(HPC_E_NOMEM);
    TRY(hpc_grow(&m->symbol, &b.symbols_cap, t->n, sizeof *m->symbol));
    m->symbols_n = t->n;
    TRY(spm_parts_create(&b.symbols, m));
    TRY(tokenizer_matcher_create(&m->user));
    TRY(tokenizer_matcher_create(&m->marked));
    TRY(tokenizer_merges_create(&m->merges, t->n * 4));
    TRY(spm_rules_read(&m->rules, file->rules, file->rules_n, name));
    TRY(add_pieces(&b));
    TRY(add_characters(&b));
    TRY(collect_scores(&b));
    TRY(add_merges(&b));
out:
    spm_parts_free(b.symbols);
    hpc_map_free(b.reserved);
    hpc_free(b.score);
    return rc;
}

void spm_release(hpc_tokenizer *t)
{
    spm_state *m = t->state;
    if (!m) return;
    hpc_free(m->symbol);
    hpc_map_free(m->character);
    tokenizer_merges_free(m->merges);
    tokenizer_matcher_free(m->user);
    tokenizer_matcher_free(m->marked);
}
