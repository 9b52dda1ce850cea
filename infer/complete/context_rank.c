/*
 * context_rank.c: ranks the chunks of related files by relevance to a position. A chunk scores for
 * the names that it shares with the text around the position: more for rare names, and twice for
 * names that it defines or declares. Long chunks share more names by chance, so the sum is divided
 * by the square root of the chunk's number of names.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/complete/context_priv.h"
#include "infer/complete/priv.h"

enum {
    LINES_BEFORE = 60, /* around the place, at least */
    LINES_STEP = 16,   /* the first line moves by so many, so that it seldom does */
    LINES_BEHIND = 20,
    NAMES_MOST = 1024, /* of the question */
    SLOTS = 4 * NAMES_MOST,
    PARTS_MOST = 64,
    NAMES_USUAL = 12 /* of a chunk: shorter ones gain little from being short */
};
static const double least_of_best =
    0.1; /* chunks below this fraction of the best score are dropped */

typedef struct wanted { /* a name near the place */
    uint32_t hash;
    uint32_t chunks; /* that have it */
    double rare;
    bool own; /* this file defines it itself */
} wanted;
typedef struct question {
    wanted slot[SLOTS];
    int64_t n, chunks;
} question;
typedef struct scored {
    const context_file *file;
    const context_chunk *chunk;
    double score;
    uint32_t focus; /* the name that counted most, defined ones first */
} scored;

/* ---- the question ------------------------------------------------------------------------- */

static wanted *slot_of(question *q, uint32_t hash)
{
    uint32_t k = hash % SLOTS;
    while (q->slot[k].hash && q->slot[k].hash != hash) k = (k + 1) % SLOTS;
    return &q->slot[k];
}

/* The beginning of a line so many before the one at `at`, on a grid. */
static size_t begin_of(const hpc_spot *d)
{
    int64_t lines = 0, skip;
    for (size_t k = 0; k < d->at; k++) lines += d->text.data[k] == '\n';
    skip = lines > LINES_BEFORE ? (lines - LINES_BEFORE) / LINES_STEP * LINES_STEP : 0;
    size_t at = 0;
    for (; skip > 0; at++) skip -= d->text.data[at] == '\n';
    return at;
}

static size_t end_of(const hpc_spot *d)
{
    size_t at = d->at;
    for (int k = 0; k <= LINES_BEHIND && at < d->text.n; k++) {
        const char *end = memchr(d->text.data + at, '\n', d->text.n - at);
        at = end ? (size_t)(end - d->text.data) + 1 : d->text.n;
    }
    return at;
}

/* The name that is being typed does not count yet. */
static int ask(question *q, hpc_context *c, const hpc_spot *d)
{
    hpc_tokens *t = &c->scratch.tokens;
    size_t from = begin_of(d), to = end_of(d), at = d->at - from;
    int rc = HPC_OK;
    if (to == from) return rc;
    TRY(hpc_lex(t, d->text.data + from, to - from, d->language, d->fixed));
    for (int64_t k = 0; k < t->n && q->n < NAMES_MOST; k++) {
        const hpc_token *x = &t->item[k];
        bool typed = x->at <= at && at <= (size_t)x->at + x->n;
        if (x->kind != HPC_TOKEN_NAME || x->n < 2 || typed || x->hash == 0) continue;
        if (context_words_has(&c->words, x->hash)) continue;
        wanted *w = slot_of(q, x->hash);
        q->n += w->hash == 0;
        w->hash = x->hash;
    }
out:
    return rc;
}

/* What the file defines itself is nowhere else. */
static void mark_own(question *q, const context_file *own)
{
    for (int64_t k = 0; k < own->name_n; k++) {
        wanted *w = slot_of(q, own->name[k].hash);
        if (w->hash && own->name[k].defined) w->own = true;
    }
}

static void count(question *q, const context_related *r)
{
    for (int64_t i = 0; i < r->n; i++) {
        const context_file *f = r->item[i].file;
        if (!f) continue;
        q->chunks += f->chunk_n;
        for (int64_t k = 0; k < f->name_n; k++) slot_of(q, f->name[k].hash)->chunks++;
    }
    for (int64_t k = 0; k < SLOTS; k++)
        if (q->slot[k].chunks > 0)
            q->slot[k].rare = log(1 + (double)q->chunks / (double)q->slot[k].chunks);
}

/* ---- scores ------------------------------------------------------------------------------- */

static void score(scored *out, question *q, double weight)
{
    const context_name *name = out->file->name + out->chunk->name;
    double sum = 0, best = 0;
    for (uint32_t k = 0; k < out->chunk->name_n; k++) {
        const wanted *w = slot_of(q, name[k].hash);
        double value = w->hash ? w->rare * (name[k].defined && !w->own ? 2 : 1) : 0;
        sum += value;
        if (value > best) {
            best = value;
            out->focus = name[k].hash;
        }
    }
    out->score = weight * sum / sqrt(NAMES_USUAL + (double)out->chunk->name_n);
}

static int order_scored(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    int order = strcmp(x->file->path, y->file->path);
    return order != 0 ? order : (x->chunk->at > y->chunk->at) - (x->chunk->at < y->chunk->at);
}

static int score_all(scored **out, int64_t *n, question *q, const context_related *r)
{
    int64_t cap = 0;
    int rc = HPC_OK;
    for (int64_t i = 0; i < r->n; i++) {
        const context_file *f = r->item[i].file;
        for (int64_t k = 0; f && k < f->chunk_n; k++) {
            scored s = {.file = f, .chunk = &f->chunk[k]};
            score(&s, q, 1 - r->item[i].unlike);
            if (s.score <= 0) continue;
            TRY(hpc_grow(out, &cap, *n + 1, sizeof **out));
            (*out)[(*n)++] = s;
        }
    }
    if (*n > 1) qsort(*out, (size_t)*n, sizeof **out, order_scored);
out:
    return rc;
}

/* ---- parts -------------------------------------------------------------------------------- */

static int add_part(hpc_snippet *out, int64_t *line, hpc_context *c, const scored *s,
                    const char *text, size_t n)
{
    const char *path = hpc_arena_text(c->arena, "%s", s->file->path);
    char *copy = hpc_arena_alloc(c->arena, n + 1, 1);
    if (!path || !copy) return HPC_E_NOMEM;
    *line = s->chunk->line;
    for (const char *p = s->file->text.data + s->chunk->at; p < text; p++) *line += *p == '\n';
    memcpy(copy, text, n);
    *out = (hpc_snippet){.path = path, .text = copy, .n = n};
    return HPC_OK;
}

/* Whole lines of a chunk that is too long: from the first one with the name that counted most, if
 * it would be lost otherwise. */
static int cut(const char **text, size_t *n, hpc_context *c, const scored *s, size_t most)
{
    const char *whole = s->file->text.data + s->chunk->at;
    size_t all = s->chunk->n, from = 0;
    hpc_tokens *t = &c->scratch.tokens;
    int rc = HPC_OK;
    *text = whole;
    *n = all;
    if (all <= most) return rc;
    TRY(hpc_lex(t, whole, all, s->file->language, s->file->fixed));
    for (int64_t k = 0; k < t->n; k++)
        if (t->item[k].kind == HPC_TOKEN_NAME && t->item[k].hash == s->focus) {
            size_t line = complete_line_end(whole, all, t->item[k].at) + 1;
            if (line > most) from = complete_line_begin(whole, t->item[k].at);
            break;
        }
    *text = whole + from;
    for (*n = 0; from + *n < all;) {
        size_t end = complete_line_end(whole, all, from + *n) + 1;
        if (end > all) end = all;
        if (end - from > most) break;
        *n = end - from;
    }
out:
    return rc;
}

static bool is_told(const context_chunk *const *told, int64_t n, const context_chunk *c)
{
    for (int64_t k = 0; k < n; k++)
        if (memcmp(&told[k]->hash, &c->hash, sizeof c->hash) == 0) return true;
    return false;
}

static int take(hpc_context_parts *out, hpc_context *c, const scored *all, int64_t n,
                const hpc_context_options *o)
{
    const context_chunk *told[PARTS_MOST] = {NULL};
    size_t used = 0, bytes;
    const char *text;
    int rc = HPC_OK;
    hpc_snippet *snippet = hpc_arena_alloc(c->arena, PARTS_MOST, sizeof *snippet);
    int64_t *line = hpc_arena_alloc(c->arena, PARTS_MOST, sizeof *line);
    if (!snippet || !line) return HPC_E_NOMEM;
    out->n = 0;
    out->snippet = snippet;
    out->line = line;
    for (int64_t k = 0; k < n && out->n < PARTS_MOST; k++) {
        if (all[k].score < least_of_best * all[0].score) break;
        if (is_told(told, out->n, all[k].chunk)) continue;
        TRY(cut(&text, &bytes, c, &all[k], o->part_bytes));
        if (bytes == 0 || used + bytes > o->bytes) continue;
        TRY(add_part(&snippet[out->n], &line[out->n], c, &all[k], text, bytes));
        told[out->n++] = all[k].chunk;
        used += bytes;
    }
out:
    return rc;
}

int context_rank(hpc_context_parts *out, hpc_context *c, const context_related *r,
                 const hpc_spot *d, const hpc_context_options *o)
{
    scored *all = NULL;
    int64_t n = 0;
    int rc = HPC_OK;
    question *q = hpc_alloc(1, sizeof *q);
    TRY(q ? 0 : HPC_E_NOMEM);
    TRY(ask(q, c, d));
    mark_own(q, r->own);
    count(q, r);
    TRY(score_all(&all, &n, q, r));
    TRY(take(out, c, all, n, o));
out:
    hpc_free(all);
    hpc_free(q);
    return rc;
}
