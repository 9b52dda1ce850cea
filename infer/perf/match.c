/*
 * Pairs of files and functions before and after a change.
 *
 * Renamed files are paired by content, and functions across all files of the change. A function
 * that moved to another file is neither removed nor added.
 */
#include <string.h>

#include "infer/perf/change_priv.h"

static const hpc_git_id zero;

static bool is_zero(const hpc_git_id *id)
{
    return memcmp(id, &zero, sizeof zero) == 0;
}

static int add_name(size_t *at, hpc_perf_change *c, const char *name, size_t n)
{
    *at = c->names.n;
    int rc = hpc_buf_add(&c->names, name, n);
    return rc < 0 ? rc : hpc_buf_add(&c->names, "", 1);
}

/* The hashes of its code tokens, for a likeness. */
static int like_of(hpc_likeness *out, const hpc_perf_source *s, int64_t function, bool whole,
                   hpc_buf *scratch)
{
    hpc_buf hashes = {0};
    int rc = HPC_OK;
    if (!whole) {
        TRY(hpc_function_code(scratch, &s->t, &s->f, function));
        const int64_t *index = (const int64_t *)(const void *)scratch->data;
        for (size_t i = 0; i < scratch->n / sizeof *index; i++) {
            uint64_t h = s->t.item[index[i]].hash;
            TRY(hpc_buf_add(&hashes, &h, sizeof h));
        }
    } else {
        for (int64_t i = 0; i < s->t.n; i++) {
            uint64_t h = s->t.item[i].hash;
            if (hpc_token_is_code(&s->t.item[i])) TRY(hpc_buf_add(&hashes, &h, sizeof h));
        }
    }
    hpc_likeness_of(out, (const uint64_t *)(const void *)hashes.data,
                    (int64_t)(hashes.n / sizeof(uint64_t)));
out:
    hpc_buf_release(&hashes);
    return rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

enum { RENAMES_MOST = 256 }; /* that are looked for by likeness, on each side */
typedef struct gone {        /* files that are gone, or new */
    hpc_known *known;
    hpc_likeness *like;
    int64_t *item; /* of the diff */
    int64_t n;
} gone;

static int list_gone(gone *g, const hpc_git_changes *d, bool base)
{
    g->known = hpc_alloc((size_t)d->n + 1, sizeof *g->known);
    g->item = hpc_alloc((size_t)d->n + 1, sizeof *g->item);
    if (!g->known || !g->item) return HPC_E_NOMEM;
    for (int64_t k = 0; k < d->n; k++) {
        const hpc_git_id *mine = base ? &d->item[k].base : &d->item[k].head;
        const hpc_git_id *other = base ? &d->item[k].head : &d->item[k].base;
        if (!is_zero(other)) continue;
        g->known[g->n].name = (uint64_t)hpc_perf_kind_of_path(d->paths.data + d->item[k].path);
        g->known[g->n].content = hpc_hash(mine, sizeof *mine, 0);
        g->item[g->n++] = k;
    }
    return HPC_OK;
}

static void release_gone(gone *g)
{
    hpc_free(g->known);
    hpc_free(g->like);
    hpc_free(g->item);
}

/* Of those that have no partner yet; the others have none. */
static int find_likes(gone *g, hpc_perf_reader *r, bool base, const bool *paired)
{
    int64_t n = 0;
    int rc = HPC_OK;
    g->like = hpc_alloc(RENAMES_MOST, sizeof *g->like);
    if (!g->like) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < g->n && n < RENAMES_MOST; k++) {
        const hpc_git_change *c = &r->diff.item[g->item[k]];
        const hpc_perf_source *s;
        if (paired[k]) continue;
        TRY(perf_cache_get(&s, r, base ? &c->base : &c->head, r->diff.paths.data + c->path));
        if (!s || s->skip != HPC_PERF_TAKEN) continue;
        TRY(like_of(&g->like[n], s, 0, true, &r->scratch));
        g->known[k].like = &g->like[n++];
    }
out:
    return rc;
}

/* partner: of each item of the diff that is gone the item that it became, or -1. */
static int find_renames(int64_t *partner, hpc_perf_reader *r)
{
    gone a = {0}, b = {0};
    int32_t *pair = NULL;
    bool *paired = NULL;
    int rc = HPC_OK;
    TRY(list_gone(&a, &r->diff, true));
    TRY(list_gone(&b, &r->diff, false));
    if (a.n == 0 || b.n == 0) goto out;
    pair = hpc_alloc((size_t)a.n, sizeof *pair);
    paired = hpc_alloc((size_t)(a.n + b.n), sizeof *paired);
    if (!pair || !paired) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < a.n; k++) pair[k] = -1;
    TRY(hpc_pairs_find(pair, a.known, a.n, b.known, b.n, HPC_PAIR_MOVED, HPC_PAIR_MOVED));
    for (int64_t k = 0; k < a.n; k++) {
        paired[k] = pair[k] >= 0;
        if (pair[k] >= 0) paired[a.n + pair[k]] = true;
    }
    TRY(find_likes(&a, r, true, paired));
    TRY(find_likes(&b, r, false, paired + a.n));
    TRY(hpc_pairs_find(pair, a.known, a.n, b.known, b.n, HPC_PAIR_ALIKE, HPC_PAIR_ALIKE));
    for (int64_t k = 0; k < a.n; k++)
        if (pair[k] >= 0) partner[a.item[k]] = b.item[pair[k]];
out:
    release_gone(&a);
    release_gone(&b);
    hpc_free(pair);
    hpc_free(paired);
    return rc;
}

static int load(const hpc_perf_source **out, hpc_perf_file *f, hpc_perf_reader *r,
                const hpc_git_id *id, const char *path)
{
    *out = NULL;
    if (is_zero(id)) return HPC_OK;
    int rc = perf_cache_get(out, r, id, path);
    if (rc < 0) return rc;
    hpc_perf_skip skip = *out ? (*out)->skip : HPC_PERF_LARGE;
    if (skip != HPC_PERF_TAKEN && f->skip == HPC_PERF_TAKEN) f->skip = skip;
    return HPC_OK;
}

static int add_file(hpc_perf_change *out, hpc_perf_reader *r, const hpc_git_change *base,
                    const hpc_git_change *head)
{
    const char *paths = r->diff.paths.data;
    hpc_assert(base || head);
    const char *path = paths + (head ? head : base)->path;
    const char *from = paths + (base ? base : head)->path;
    const hpc_git_id *a = base ? &base->base : &zero, *b = head ? &head->head : &zero;
    hpc_perf_file f = {.kind = hpc_perf_kind_of_path(path), .state = HPC_PERF_MODIFIED};
    int rc = HPC_OK;
    if (is_zero(a)) f.state = HPC_PERF_ADDED;
    if (is_zero(b)) f.state = HPC_PERF_DELETED;
    TRY(add_name(&f.path, out, path, strlen(path)));
    f.base_path = f.path;
    if (from != path) TRY(add_name(&f.base_path, out, from, strlen(from)));
    if (memcmp(a, b, sizeof *a) != 0) {
        TRY(load(&f.base, &f, r, a, from));
        TRY(load(&f.head, &f, r, b, path));
    }
    out->skipped_n += f.skip != HPC_PERF_TAKEN;
    TRY(hpc_grow(&out->file, &out->files_cap, out->files_n + 1, sizeof *out->file));
    out->file[out->files_n++] = f;
out:
    return rc;
}

int perf_match_files(hpc_perf_change *out, hpc_perf_reader *r)
{
    const hpc_git_changes *d = &r->diff;
    int64_t *partner = hpc_alloc((size_t)d->n + 1, sizeof *partner);
    int64_t *from = hpc_alloc((size_t)d->n + 1, sizeof *from);
    int rc = partner && from ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    for (int64_t k = 0; k < d->n; k++) partner[k] = from[k] = -1;
    TRY(find_renames(partner, r));
    for (int64_t k = 0; k < d->n; k++)
        if (partner[k] >= 0) from[partner[k]] = k;
    for (int64_t k = 0; k < d->n; k++) {
        const hpc_git_change *c = &d->item[k];
        if (partner[k] >= 0) continue; /* added with its new path */
        if (from[k] >= 0)
            TRY(add_file(out, r, &d->item[from[k]], c));
        else
            TRY(add_file(out, r, is_zero(&c->base) ? NULL : c, is_zero(&c->head) ? NULL : c));
    }
out:
    hpc_free(partner);
    hpc_free(from);
    return rc;
}

/* ---- functions
 * ----------------------------------------------------------------------------------- */

enum { NAME_MOST = 500 };
typedef struct place { /* of a function of one side */
    int64_t file, function;
} place;
typedef struct side {
    place *item;
    hpc_known *known;
    hpc_likeness *like;
    bool *paired;
    int64_t n, cap;
} side;

static const hpc_perf_source *source_of(const hpc_perf_change *c, const place *p, bool base)
{
    const hpc_perf_file *f = &c->file[p->file];
    return base ? f->base : f->head;
}

static const perf_part *part_of(const hpc_perf_change *c, const place *p, bool base)
{
    return perf_part_of(source_of(c, p, base), p->function);
}

static int list_side(side *out, const hpc_perf_change *c, bool base)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < c->files_n; k++) {
        const hpc_perf_file *f = &c->file[k];
        const hpc_perf_source *s = base ? f->base : f->head;
        if (!s || f->skip != HPC_PERF_TAKEN) continue;
        TRY(hpc_grow(&out->item, &out->cap, out->n + s->f.n, sizeof *out->item));
        for (int64_t i = 0; i < s->f.n; i++) out->item[out->n++] = (place){k, i};
    }
    out->known = hpc_alloc((size_t)out->n + 1, sizeof *out->known);
    out->paired = hpc_alloc((size_t)out->n + 1, sizeof *out->paired);
    if (!out->known || !out->paired) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < out->n; k++) {
        const place *p = &out->item[k];
        const hpc_perf_source *s = source_of(c, p, base);
        const hpc_function *f = &s->f.item[p->function];
        out->known[k] = (hpc_known){.path = (uint64_t)p->file,
                                    .name = hpc_hash(s->text.data + f->name_at, f->name_n, 0),
                                    .content = part_of(c, p, base)->content};
    }
out:
    return rc;
}

static void release_side(side *s)
{
    hpc_free(s->item);
    hpc_free(s->known);
    hpc_free(s->like);
    hpc_free(s->paired);
}

/* Only functions that changed need one: few. */
static int like_side(side *s, const hpc_perf_change *c, hpc_perf_reader *r, bool base)
{
    int64_t n = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < s->n; k++) n += !s->paired[k];
    s->like = hpc_alloc((size_t)n + 1, sizeof *s->like);
    if (!s->like) TRY(HPC_E_NOMEM);
    n = 0;
    for (int64_t k = 0; k < s->n; k++) {
        const place *p = &s->item[k];
        if (s->paired[k]) continue;
        TRY(like_of(&s->like[n], source_of(c, p, base), p->function, false, &r->scratch));
        s->known[k].like = &s->like[n++];
    }
out:
    return rc;
}

static void mark_pairs(side *a, side *b, const int32_t *partner)
{
    for (int64_t k = 0; k < a->n; k++) {
        a->paired[k] = partner[k] >= 0;
        if (partner[k] >= 0) b->paired[partner[k]] = true;
    }
}

static hpc_perf_side side_of(const hpc_perf_source *s, int64_t function)
{
    hpc_perf_side out = {.source = s, .function = function};
    if (!s) return out;
    if (function < 0) {
        out.end = (uint32_t)s->text.n;
        out.line = 1;
        out.end_line = s->lines_n;
    } else {
        const hpc_function *f = &s->f.item[function];
        out.at = f->at;
        out.end = f->end;
        out.line = f->line;
        out.end_line = f->end_line;
    }
    return out;
}

/* On one line, however it is spelled. */
static int name_side(size_t *at, hpc_perf_change *out, const hpc_perf_side *s)
{
    if (!s->source || s->function < 0) return add_name(at, out, "", 0);
    const hpc_function *f = &s->source->f.item[s->function];
    const char *name = s->source->text.data + f->name_at;
    int rc = HPC_OK;
    *at = out->names.n;
    for (uint32_t k = 0; k < f->name_n && k < NAME_MOST; k++) {
        bool blank = (unsigned char)name[k] <= ' ';
        if (!blank) TRY(hpc_buf_add(&out->names, name + k, 1));
        if (blank && k > 0 && name[k - 1] == ',') TRY(hpc_buf_add(&out->names, " ", 1));
    }
    TRY(hpc_buf_add(&out->names, "", 1));
out:
    return rc;
}

/* function -1: code outside functions. NULL: absent. */
static int put(hpc_perf_change *out, hpc_perf_reader *r, const place *base, const place *head)
{
    hpc_assert(base || head);
    const hpc_perf_source *a = base ? source_of(out, base, true) : NULL;
    const hpc_perf_source *b = head ? source_of(out, head, false) : NULL;
    hpc_perf_function f = {.file = (head ? head : base)->file,
                           .base_file = (base ? base : head)->file,
                           .state = HPC_PERF_MODIFIED,
                           .base = side_of(a, base ? base->function : -1),
                           .head = side_of(b, head ? head->function : -1)};
    int rc = HPC_OK;
    if (!a) f.state = HPC_PERF_ADDED;
    if (!b) f.state = HPC_PERF_DELETED;
    if (a && b) {
        const perf_part *x = part_of(out, base, true), *y = part_of(out, head, false);
        f.same_code = x->content == y->content;
        if (f.same_code && (x->bytes == y->bytes || base->file != head->file)) return rc;
    }
    TRY(name_side(&f.base_name, out, a ? &f.base : &f.head));
    TRY(name_side(&f.name, out, b ? &f.head : &f.base));
    TRY(perf_line_edits(out, &f, r));
    if (f.same_code && f.edits_n == 0) return rc; /* only what is inside it differs */
    TRY(hpc_grow(&out->function, &out->cap, out->n + 1, sizeof *out->function));
    out->function[out->n++] = f;
out:
    return rc;
}

static int put_outside(hpc_perf_change *out, hpc_perf_reader *r)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < out->files_n; k++) {
        const hpc_perf_file *f = &out->file[k];
        const place p = {k, -1};
        if (f->skip != HPC_PERF_TAKEN || (!f->base && !f->head)) continue;
        TRY(put(out, r, f->base ? &p : NULL, f->head ? &p : NULL));
    }
out:
    return rc;
}

int perf_match_functions(hpc_perf_change *out, hpc_perf_reader *r)
{
    side a = {0}, b = {0};
    int32_t *partner = NULL;
    int rc = HPC_OK;
    TRY(list_side(&a, out, true));
    TRY(list_side(&b, out, false));
    partner = hpc_alloc((size_t)a.n + 1, sizeof *partner);
    if (!partner) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < a.n; k++) partner[k] = -1;
    TRY(hpc_pairs_find(partner, a.known, a.n, b.known, b.n, HPC_PAIR_SAME, HPC_PAIR_SAME));
    mark_pairs(&a, &b, partner);
    TRY(like_side(&a, out, r, true));
    TRY(like_side(&b, out, r, false));
    TRY(hpc_pairs_find(partner, a.known, a.n, b.known, b.n, HPC_PAIR_CHANGED, HPC_PAIR_ALIKE));
    mark_pairs(&a, &b, partner);
    for (int64_t k = 0; k < a.n; k++)
        TRY(put(out, r, &a.item[k], partner[k] >= 0 ? &b.item[partner[k]] : NULL));
    for (int64_t k = 0; k < b.n; k++)
        if (!b.paired[k]) TRY(put(out, r, NULL, &b.item[k]));
    TRY(put_outside(out, r));
out:
    release_side(&a);
    release_side(&b);
    hpc_free(partner);
    return rc;
}
