/*
 * Features of a change: sums of events over its functions before and after.
 *
 * Functions that exist in both versions come first. Their calls give the loop depth of functions
 * that were added or removed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/feature_priv.h"
#include "infer/perf/work.h"
#include "runtime/source/diff.h"

typedef struct called { /* a function by a name, from a loop of that depth at most */
    uint32_t name;
    uint8_t depth;
} called;
typedef struct hash_list {
    uint64_t *item;
    int64_t cap;
} hash_list;
struct hpc_perf_scanner {
    perf_words words;
    perf_scan base, head;
    hash_list a, b; /* of code tokens */
    hpc_edits edits;
    called *call[2]; /* of base, of head */
    int64_t calls_n[2], calls_cap[2];
    perf_sums all, one;
    perf_work *work[2];   /* of base, of head */
    double change, share; /* of these */
    const hpc_perf_change *c;
    hpc_perf_features *out;
};

int hpc_perf_scanner_create(hpc_perf_scanner **out)
{
    hpc_perf_scanner *s = hpc_alloc(1, sizeof *s);
    *out = s;
    if (!s) return HPC_E_NOMEM;
    perf_words_init(&s->words);
    s->base.words = s->head.words = &s->words;
    for (int side = 0; side < 2; side++) {
        int rc = perf_work_create(&s->work[side], &s->words);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

void hpc_perf_scanner_free(hpc_perf_scanner *s)
{
    if (!s) return;
    perf_scan_release(&s->base);
    perf_scan_release(&s->head);
    hpc_free(s->a.item);
    hpc_free(s->b.item);
    hpc_edits_release(&s->edits);
    for (int side = 0; side < 2; side++) {
        hpc_free(s->call[side]);
        perf_work_free(s->work[side]);
    }
    hpc_free(s);
}

void hpc_perf_features_release(hpc_perf_features *f)
{
    hpc_free(f->function);
    hpc_free(f->shift);
    hpc_free(f->constant);
    hpc_free(f->touched);
    hpc_buf_release(&f->words);
    *f = (hpc_perf_features){0};
}

/* ---- counting -------------------------------------------------------------------------------- */

static double work_of(int depth)
{
    return (double)((int64_t)1 << 3 * depth); /* each loop runs eight times */
}

static int deeper(int depth, int by)
{
    return depth + by < PERF_DEPTH ? depth + by : PERF_DEPTH;
}

/* side 0: base, 1: head. */
static void count(perf_sums *s, int side, const perf_scan *x)
{
    for (int64_t k = 0; k < x->events_n; k++) {
        const hpc_perf_event *e = &x->event[k];
        s->event[side][PERF_COUNT][e->kind]++;
        s->event[side][PERF_IN_LOOPS][e->kind] += e->depth > 0;
        s->event[side][PERF_INNER][e->kind] += e->inner;
        s->event[side][PERF_WORK][e->kind] += work_of(e->depth);
        double nesting = e->kind == HPC_PERF_LOOP ? e->depth + 1 : 0;
        if (nesting > s->nesting[side]) s->nesting[side] = nesting;
    }
}

/* A change of n tokens in a loop of that depth. */
static void count_changed(perf_sums *s, int depth, int64_t n)
{
    s->tokens += (double)n;
    s->special[PERF_CHANGED_WORK] += (double)n * work_of(depth);
    if (depth > 0) s->special[PERF_CHANGED_INNER] += (double)n;
    if (depth > s->special[PERF_CHANGED_DEPTH]) s->special[PERF_CHANGED_DEPTH] = depth;
}

static void touch(struct hpc_perf_touched *t, const perf_scan *x, int64_t i, int depth, bool gone)
{
    bool better = t->line == 0 || depth > t->depth || (depth == t->depth && t->gone && !gone);
    if (!better) return;
    t->depth = (uint8_t)depth;
    t->line = perf_token(x, i)->line;
    t->gone = gone;
}

/* All of a function, which is new or gone, at `by` loops more. */
static void count_whole(hpc_perf_scanner *s, int64_t k, perf_scan *x, int side, int by)
{
    for (int64_t i = 0; i < x->events_n; i++) {
        x->event[i].depth = (uint8_t)deeper(x->event[i].depth, by);
        x->event[i].touched = true;
    }
    for (int64_t i = 0; i < x->n; i++) {
        int depth = deeper(x->depth[i], by);
        count_changed(&s->one, depth, 1);
        touch(&s->out->touched[k], x, i, depth, side == 0);
    }
    count(&s->one, side, x);
    s->one.special[side == 0 ? PERF_TOKENS_REMOVED : PERF_TOKENS_ADDED] += (double)x->n;
    if (x->n > 0) s->one.effect = PERF_EFFECT_ANY;
}

/* ---- two versions ---------------------------------------------------------------------------- */

static int hashes(hash_list *out, const perf_scan *x)
{
    int rc = hpc_grow(&out->item, &out->cap, x->n, sizeof *out->item);
    for (int64_t i = 0; rc == HPC_OK && i < x->n; i++) out->item[i] = perf_token(x, i)->hash;
    return rc;
}

static double value_of(const perf_scan *x, int64_t i)
{
    const hpc_token *t = perf_token(x, i);
    char text[64];
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->n && n + 1 < sizeof text; k++) {
        char c = x->s->text.data[t->at + k];
        if (c == '\'') continue;                             /* 1'000 */
        text[n++] = x->fortran && (c | 32) == 'd' ? 'e' : c; /* 1.0d0 */
    }
    text[n] = '\0';
    return fabs(strtod(text, NULL));
}

static int add_constant(hpc_perf_scanner *s, int64_t k, int64_t i, int64_t j)
{
    hpc_perf_features *out = s->out;
    const hpc_token *a = perf_token(&s->base, i), *b = perf_token(&s->head, j);
    double from = value_of(&s->base, i), to = value_of(&s->head, j);
    double growth = from > 0 && to > 0 ? log2(to / from) : 0;
    hpc_perf_constant c = {
        .function = k, .base_line = a->line, .head_line = b->line, .depth = s->head.depth[j]};
    int rc = HPC_OK;
    if (from == to) return rc; /* 1 and 1.0 */
    s->one.special[PERF_CONSTANTS]++;
    s->one.special[PERF_CONSTANTS_GROWTH] += fmax(-16, fmin(16, growth));
    TRY(perf_word_add(&c.base, out, s->base.s, a->at, a->n));
    TRY(perf_word_add(&c.head, out, s->head.s, b->at, b->n));
    TRY(hpc_grow(&out->constant, &out->constants_cap, out->constants_n + 1, sizeof *out->constant));
    out->constant[out->constants_n++] = c;
out:
    return rc;
}

static void mark(perf_scan *x, int64_t lo, int64_t hi)
{
    uint32_t from = perf_token(x, lo)->at, to = perf_token(x, hi - 1)->at;
    int64_t a = 0, b = x->events_n;
    while (a < b) { /* they are in order, but for a few */
        int64_t mid = a + (b - a) / 2;
        if (x->event[mid].at < from)
            a = mid + 1;
        else
            b = mid;
    }
    for (; a < x->events_n && x->event[a].at <= to; a++) x->event[a].touched = true;
}

static int count_edit(hpc_perf_scanner *s, int64_t k, const hpc_edit *e)
{
    perf_scan *a = &s->base, *b = &s->head;
    int rc = HPC_OK;
    s->one.special[PERF_TOKENS_REMOVED] += (double)e->base_n;
    s->one.special[PERF_TOKENS_ADDED] += (double)e->head_n;
    for (int64_t i = e->base_at; i < e->base_at + e->base_n; i++) {
        count_changed(&s->one, a->depth[i], 1);
        touch(&s->out->touched[k], a, i, a->depth[i], true);
    }
    for (int64_t i = e->head_at; i < e->head_at + e->head_n; i++) {
        count_changed(&s->one, b->depth[i], 1);
        touch(&s->out->touched[k], b, i, b->depth[i], false);
    }
    if (e->base_n > 0) mark(a, e->base_at, e->base_at + e->base_n);
    if (e->head_n > 0) mark(b, e->head_at, e->head_at + e->head_n);
    for (int64_t i = 0; e->base_n == e->head_n && i < e->base_n; i++)
        if (perf_token(a, e->base_at + i)->kind == HPC_TOKEN_NUMBER &&
            perf_token(b, e->head_at + i)->kind == HPC_TOKEN_NUMBER)
            TRY(add_constant(s, k, e->base_at + i, e->head_at + i));
out:
    return rc;
}

static int note_calls(hpc_perf_scanner *s, int side, const perf_scan *x)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < x->events_n; k++) {
        const hpc_perf_event *e = &x->event[k];
        if (e->kind != HPC_PERF_CALL || e->depth == 0) continue;
        TRY(hpc_grow(&s->call[side], &s->calls_cap[side], s->calls_n[side] + 1, sizeof(called)));
        s->call[side][s->calls_n[side]++] = (called){e->name, e->depth};
    }
out:
    return rc;
}

static int count_both(hpc_perf_scanner *s, int64_t k)
{
    const hpc_perf_function *f = &s->c->function[k];
    int rc = HPC_OK;
    TRY(perf_scan_run(&s->base, f->base.source, f->base.function));
    TRY(perf_scan_run(&s->head, f->head.source, f->head.function));
    s->one.special[PERF_TOKENS_BEFORE] = (double)s->base.n;
    if (f->same_code) goto out;
    TRY(perf_effect_of(&s->one.effect, &s->base, &s->head));
    count(&s->one, 0, &s->base);
    count(&s->one, 1, &s->head);
    TRY(note_calls(s, 0, &s->base));
    TRY(note_calls(s, 1, &s->head));
    TRY(hashes(&s->a, &s->base));
    TRY(hashes(&s->b, &s->head));
    TRY(hpc_diff(&s->edits, s->a.item, s->base.n, s->b.item, s->head.n));
    for (int64_t i = 0; i < s->edits.n; i++) TRY(count_edit(s, k, &s->edits.item[i]));
    if (s->one.effect >= PERF_EFFECT_ORDER) TRY(perf_shifts_find(s->out, k, &s->base, &s->head));
out:
    return rc;
}

/* ---- one version -------------------------------------------------------------------------------
 */

static int by_name(const void *a, const void *b)
{
    const called *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return (int)y->depth - (int)x->depth; /* the deepest first */
}

static int called_in(const hpc_perf_scanner *s, int side, const hpc_perf_side *f)
{
    if (f->function < 0) return 0;
    uint32_t name = perf_function_name(f->source, f->function);
    int64_t lo = 0, hi = s->calls_n[side];
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (s->call[side][mid].name < name)
            lo = mid + 1;
        else
            hi = mid;
    }
    bool there = lo < s->calls_n[side] && s->call[side][lo].name == name;
    return there ? s->call[side][lo].depth : 0;
}

static int count_one(hpc_perf_scanner *s, int64_t k)
{
    const hpc_perf_function *f = &s->c->function[k];
    bool gone = f->state == HPC_PERF_DELETED;
    const hpc_perf_side *mine = gone ? &f->base : &f->head;
    int rc = HPC_OK;
    TRY(perf_scan_run(&s->base, mine->source, mine->function));
    count_whole(s, k, &s->base, gone ? 0 : 1, called_in(s, gone ? 0 : 1, mine));
    if (gone) s->one.special[PERF_TOKENS_BEFORE] = (double)s->base.n;
    TRY(perf_shifts_find(s->out, k, gone ? &s->base : NULL, gone ? NULL : &s->base));
out:
    return rc;
}

/* ---- what is known without reading ----------------------------------------------------------- */

bool perf_is_header(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (dot[1] == 'h' || dot[1] == 'H' || strncmp(dot, ".inc", 4) == 0 ||
                   strncmp(dot, ".cuh", 4) == 0);
}

static void finish_function(hpc_perf_scanner *s, int64_t k)
{
    const hpc_perf_change *c = s->c;
    const hpc_perf_function *f = &c->function[k];
    const char *path = c->names.data + c->file[f->file].path;
    double *special = s->one.special;
    bool function = (f->head.source ? &f->head : &f->base)->function >= 0;
    bool effect = s->one.effect > PERF_EFFECT_NONE;
    special[PERF_LINES_ADDED] = (double)f->lines_added;
    special[PERF_LINES_REMOVED] = (double)f->lines_removed;
    special[PERF_FUNCTIONS_MODIFIED] = function && f->state == HPC_PERF_MODIFIED && effect;
    special[PERF_FUNCTIONS_ADDED] = function && f->state == HPC_PERF_ADDED;
    special[PERF_FUNCTIONS_REMOVED] = function && f->state == HPC_PERF_DELETED;
    special[PERF_FUNCTIONS_RENAMED] =
        function && strcmp(c->names.data + f->name, c->names.data + f->base_name) != 0;
    special[PERF_OUTSIDE] = !function && effect;
    special[PERF_WORK_CHANGE] = perf_work_change_of(s->work[0], s->work[1], f);
    special[PERF_WORK_SHARE] = s->share;
    s->one.headers = perf_is_header(path) ? s->one.tokens : 0;
    perf_sums_vector(&s->out->function[k], &s->one);
    perf_sums_add(&s->all, &s->one);
}

static void finish_commit(hpc_perf_scanner *s)
{
    const hpc_perf_change *c = s->c;
    for (int64_t k = 0; k < c->files_n; k++)
        s->all.special[c->file[k].kind == HPC_PERF_BUILD ? PERF_BUILD_FILES : PERF_FILES]++;
    s->all.special[PERF_OTHER_FILES] = (double)c->other_n;
    s->all.special[PERF_MODULES] = (double)c->modules_n;
    s->all.special[PERF_SKIPPED] = (double)c->skipped_n;
    s->all.special[PERF_WORK_CHANGE] = s->change;
    s->all.special[PERF_WORK_SHARE] = s->share;
    bool unseen = c->modules_n > 0 || c->skipped_n > 0 || c->too_many;
    if (unseen) s->all.effect = PERF_EFFECT_ANY;
    perf_sums_vector(&s->out->commit, &s->all);
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static int by_function(const void *a, const void *b)
{
    const hpc_perf_shift *x = a, *y = b;
    if (x->function != y->function) return x->function < y->function ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    uint32_t line_x = x->head_line ? x->head_line : x->base_line;
    uint32_t line_y = y->head_line ? y->head_line : y->base_line;
    if (line_x != line_y) return line_x < line_y ? -1 : 1;
    return (x->word > y->word) - (x->word < y->word);
}

static int start(hpc_perf_features *out, const hpc_perf_change *c)
{
    int rc = HPC_OK;
    out->n = out->shifts_n = out->constants_n = 0;
    out->words.n = 0;
    out->words.failed = 0;
    TRY(hpc_grow(&out->function, &out->cap, c->n, sizeof *out->function));
    TRY(hpc_grow(&out->touched, &out->touched_cap, c->n, sizeof *out->touched));
    if (c->n > 0) memset(out->touched, 0, (size_t)c->n * sizeof *out->touched);
out:
    return rc;
}

int hpc_perf_features_find(hpc_perf_features *out, hpc_perf_scanner *s, const hpc_perf_change *c)
{
    int rc = HPC_OK;
    s->c = c;
    s->out = out;
    s->calls_n[0] = s->calls_n[1] = 0;
    memset(&s->all, 0, sizeof s->all);
    TRY(start(out, c));
    for (int side = 0; side < 2; side++) TRY(perf_work_read(s->work[side], c, side == 1));
    TRY(perf_work_compare(&s->change, &s->share, s->work[0], s->work[1], c));
    for (int pass = 0; pass < 2; pass++) {
        for (int side = 0; pass == 1 && side < 2; side++)
            if (s->calls_n[side] > 1)
                qsort(s->call[side], (size_t)s->calls_n[side], sizeof(called), by_name);
        for (int64_t k = 0; k < c->n; k++) {
            bool both = c->function[k].state == HPC_PERF_MODIFIED;
            if (both != (pass == 0)) continue;
            memset(&s->one, 0, sizeof s->one);
            TRY(both ? count_both(s, k) : count_one(s, k));
            finish_function(s, k);
        }
    }
    finish_commit(s);
    out->n = c->n;
    if (out->shifts_n > 1)
        qsort(out->shift, (size_t)out->shifts_n, sizeof *out->shift, by_function);
out:
    if (rc < 0) out->n = out->shifts_n = out->constants_n = 0;
    return rc;
}
