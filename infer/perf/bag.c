/*
 * Bag of words of a change: its tokens, counted without their order.
 */
#include <stdlib.h>

#include "infer/perf/judge.h"

static int add(hpc_perf_bag *b, uint32_t hash, bool head)
{
    int rc = HPC_OK;
    TRY(hpc_grow(&b->item, &b->cap, b->n + 1, sizeof *b->item));
    b->item[b->n++] = (struct hpc_perf_bag_word){
        .column = hash % HPC_PERF_BAG_COLUMNS, .added = head, .removed = !head};
out:
    return rc;
}

/* Tokens of n lines, of a side of a function. */
static int add_lines(hpc_perf_bag *b, const hpc_perf_side *side, uint32_t line, uint32_t n,
                     bool head)
{
    const hpc_perf_source *s = side->source;
    int rc = HPC_OK;
    if (n == 0 || line < 1 || line > s->lines_n) return HPC_OK;
    for (int64_t i = hpc_token_at(&s->t, s->line[line - 1]); i < s->t.n; i++) {
        const hpc_token *t = &s->t.item[i];
        if (t->line >= line + n || t->at >= side->end) break;
        if (hpc_token_is_code(t)) TRY(add(b, t->hash, head));
    }
out:
    return rc;
}

static int by_column(const void *a, const void *b)
{
    const struct hpc_perf_bag_word *x = a, *y = b;
    return (x->column > y->column) - (x->column < y->column);
}

static void merge(hpc_perf_bag *b)
{
    int64_t n = 0;
    if (b->n > 1) qsort(b->item, (size_t)b->n, sizeof *b->item, by_column);
    for (int64_t k = 0; k < b->n; k++) {
        if (n > 0 && b->item[n - 1].column == b->item[k].column) {
            b->item[n - 1].added += b->item[k].added;
            b->item[n - 1].removed += b->item[k].removed;
        } else {
            b->item[n++] = b->item[k];
        }
    }
    b->n = n;
}

int hpc_perf_bag_find(hpc_perf_bag *out, const hpc_perf_change *c)
{
    int rc = HPC_OK;
    out->n = 0;
    for (int64_t k = 0; k < c->n; k++) {
        const hpc_perf_function *f = &c->function[k];
        const hpc_perf_side *a = &f->base, *b = &f->head;
        if (f->state == HPC_PERF_ADDED)
            TRY(add_lines(out, b, b->line, b->end_line + 1 - b->line, true));
        if (f->state == HPC_PERF_DELETED)
            TRY(add_lines(out, a, a->line, a->end_line + 1 - a->line, false));
        for (int64_t i = 0; i < f->edits_n; i++) {
            const hpc_perf_edit *e = &c->edit[f->first + i];
            TRY(add_lines(out, a, e->base_line, e->base_n, false));
            TRY(add_lines(out, b, e->head_line, e->head_n, true));
        }
    }
    merge(out);
out:
    return rc;
}

void hpc_perf_bag_release(hpc_perf_bag *b)
{
    hpc_free(b->item);
    *b = (hpc_perf_bag){0};
}
