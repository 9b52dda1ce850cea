/*
 * Lines that differ between two versions of a function.
 *
 * Lines of nested functions belong to these. Lines of functions do not belong to the file.
 */
#include <string.h>

#include "infer/perf/change_priv.h"

typedef struct lines {
    uint64_t *hash;
    uint32_t *number; /* from 1 */
    int64_t n, hash_cap, number_cap;
} lines;

static int add_line(lines *l, const hpc_perf_source *s, uint32_t number)
{
    uint32_t at = s->line[number - 1], end = s->line[number];
    int rc = HPC_OK;
    while (end > at && (s->text.data[end - 1] == '\n' || s->text.data[end - 1] == '\r')) end--;
    TRY(hpc_grow(&l->hash, &l->hash_cap, l->n + 1, sizeof *l->hash));
    TRY(hpc_grow(&l->number, &l->number_cap, l->n + 1, sizeof *l->number));
    l->hash[l->n] = hpc_hash(s->text.data + at, end - at, 0);
    l->number[l->n++] = number;
out:
    return rc;
}

static int add_side(lines *l, const hpc_perf_side *side)
{
    const hpc_perf_source *s = side->source;
    int64_t inner = side->function + 1;
    int rc = HPC_OK;
    for (uint32_t k = side->line; k <= side->end_line && k <= s->lines_n; k++) {
        while (inner < s->f.n && s->f.item[inner].end_line < k)
            inner = hpc_function_behind(&s->f, inner);
        bool inside =
            inner < s->f.n && s->f.item[inner].line <= k && s->f.item[inner].at < side->end;
        if (inside)
            k = s->f.item[inner].end_line;
        else
            TRY(add_line(l, s, k));
    }
out:
    return rc;
}

static uint32_t number_at(const lines *l, int64_t i)
{
    if (!l->number || l->n == 0) return 1;
    return i < l->n ? l->number[i] : l->number[l->n - 1] + 1;
}

/* Lines in a row, from i on, of at most n. */
static int64_t row_of(const lines *l, int64_t i, int64_t n)
{
    int64_t k = n > 0 ? 1 : 0;
    hpc_assert(n == 0 || l->number);
    while (k < n && l->number[i + k] == l->number[i] + k) k++;
    return k;
}

/* An edit that reaches over a function inside it is several. */
static int put(hpc_perf_change *c, const lines *a, const lines *b, hpc_edit e)
{
    int rc = HPC_OK;
    while (e.base_n > 0 || e.head_n > 0) {
        int64_t x = row_of(a, e.base_at, e.base_n), y = row_of(b, e.head_at, e.head_n);
        TRY(hpc_grow(&c->edit, &c->edits_cap, c->edits_n + 1, sizeof *c->edit));
        c->edit[c->edits_n++] = (hpc_perf_edit){.base_line = number_at(a, e.base_at),
                                                .base_n = (uint32_t)x,
                                                .head_line = number_at(b, e.head_at),
                                                .head_n = (uint32_t)y};
        e = (hpc_edit){e.base_at + x, e.base_n - x, e.head_at + y, e.head_n - y};
    }
out:
    return rc;
}

int perf_line_edits(hpc_perf_change *out, hpc_perf_function *f, hpc_perf_reader *r)
{
    lines a = {0}, b = {0};
    int rc = HPC_OK;
    f->first = out->edits_n;
    if (f->base.source) TRY(add_side(&a, &f->base));
    if (f->head.source) TRY(add_side(&b, &f->head));
    if (f->state != HPC_PERF_MODIFIED) {
        f->lines_removed = a.n;
        f->lines_added = b.n;
        goto out;
    }
    TRY(hpc_diff(&r->edits, a.hash, a.n, b.hash, b.n));
    for (int64_t k = 0; k < r->edits.n; k++) {
        f->lines_removed += r->edits.item[k].base_n;
        f->lines_added += r->edits.item[k].head_n;
        TRY(put(out, &a, &b, r->edits.item[k]));
    }
    f->edits_n = out->edits_n - f->first;
out:
    hpc_free(a.hash);
    hpc_free(a.number);
    hpc_free(b.hash);
    hpc_free(b.number);
    return rc;
}
