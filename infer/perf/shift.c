/*
 * Events that only one version has, or that are at another loop depth in the other.
 *
 * Events are matched by word and depth, unedited ones first; then by word, as moved; then by kind
 * and depth, as renamed.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/perf/feature_priv.h"

typedef struct side {
    const hpc_perf_source *source;
    hpc_perf_event *item;
    bool *taken;
    int64_t n;
} side;
typedef enum likeness { SAME, MOVED, REPLACED, LIKENESSES } likeness;

int perf_word_add(size_t *at, hpc_perf_features *out, const hpc_perf_source *s, uint32_t from,
                  uint32_t n)
{
    enum { MOST = 60 };
    int rc = HPC_OK;
    *at = out->words.n;
    TRY(hpc_buf_add(&out->words, s->text.data + from, n < MOST ? n : MOST));
    TRY(hpc_buf_add(&out->words, "", 1));
    for (char *p = out->words.data + *at; *p; p++)
        if ((unsigned char)*p < ' ') *p = ' '; /* a name that a line end cuts in two */
out:
    return rc;
}

static int compare(const hpc_perf_event *x, const hpc_perf_event *y, likeness l)
{
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (l != REPLACED && x->name != y->name) return x->name < y->name ? -1 : 1;
    if (l != MOVED && x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
    return 0;
}

static int in_full(const void *a, const void *b, void *user)
{
    const hpc_perf_event *x = a, *y = b;
    int order = compare(x, y, *(const likeness *)user);
    if (order) return order;
    if (x->touched != y->touched) return x->touched ? 1 : -1;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return 0;
}

static int copy(side *out, const perf_scan *x)
{
    out->source = x->s;
    out->n = x->events_n;
    out->item = hpc_alloc((size_t)out->n + 1, sizeof *out->item);
    out->taken = hpc_alloc((size_t)out->n + 1, sizeof *out->taken);
    if (!out->item || !out->taken) return HPC_E_NOMEM;
    if (out->n > 0) memcpy(out->item, x->event, (size_t)out->n * sizeof *out->item);
    return HPC_OK;
}

/* Removes matched events. */
static void drop(side *s)
{
    int64_t n = 0;
    for (int64_t k = 0; k < s->n; k++)
        if (!s->taken[k]) s->item[n++] = s->item[k];
    s->n = n;
    memset(s->taken, 0, (size_t)n * sizeof *s->taken);
}

static int put(hpc_perf_features *out, int64_t k, const side *a, const hpc_perf_event *x,
               const side *b, const hpc_perf_event *y)
{
    hpc_assert(x || y);
    hpc_perf_shift s = {.function = k,
                        .base_line = x ? x->line : 0,
                        .head_line = y ? y->line : 0,
                        .base_depth = x ? (int8_t)x->depth : -1,
                        .head_depth = y ? (int8_t)y->depth : -1,
                        .kind = x ? x->kind : y->kind};
    int rc = HPC_OK;
    if (y)
        TRY(perf_word_add(&s.word, out, b->source, y->at, y->n));
    else
        TRY(perf_word_add(&s.word, out, a->source, x->at, x->n));
    TRY(hpc_grow(&out->shift, &out->shifts_cap, out->shifts_n + 1, sizeof *out->shift));
    out->shift[out->shifts_n++] = s;
out:
    return rc;
}

static int match(hpc_perf_features *out, int64_t k, side *a, side *b, likeness l)
{
    int rc = HPC_OK;
    if (a->n > 1) qsort_r(a->item, (size_t)a->n, sizeof *a->item, in_full, &l);
    if (b->n > 1) qsort_r(b->item, (size_t)b->n, sizeof *b->item, in_full, &l);
    for (int64_t i = 0, j = 0; i < a->n && j < b->n;) {
        int order = compare(&a->item[i], &b->item[j], l);
        if (order == 0) a->taken[i] = b->taken[j] = true;
        if (order == 0 && l == MOVED) TRY(put(out, k, a, &a->item[i], b, &b->item[j]));
        i += order <= 0;
        j += order >= 0;
    }
    drop(a);
    drop(b);
out:
    return rc;
}

int perf_shifts_find(hpc_perf_features *out, int64_t k, const perf_scan *base,
                     const perf_scan *head)
{
    side a = {0}, b = {0};
    int rc = HPC_OK;
    if (base) TRY(copy(&a, base));
    if (head) TRY(copy(&b, head));
    for (int l = SAME; base && head && l < LIKENESSES; l++) TRY(match(out, k, &a, &b, (likeness)l));
    for (int64_t i = 0; i < a.n; i++) TRY(put(out, k, &a, &a.item[i], &b, NULL));
    for (int64_t i = 0; i < b.n; i++) TRY(put(out, k, &a, NULL, &b, &b.item[i]));
out:
    hpc_free(a.item);
    hpc_free(a.taken);
    hpc_free(b.item);
    hpc_free(b.taken);
    return rc;
}
