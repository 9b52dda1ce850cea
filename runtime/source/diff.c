/*
 * diff.c: the shortest edit script between two sequences, by Myers' bidirectional
 * search in linear memory.
 *
 * It finds a point in the middle of a shortest path and then solves both halves. If
 * that takes too long, it splits at the furthest point so far.
 */
#include <string.h>

#include "runtime/source/diff.h"

typedef struct box { /* a part still to be compared */
    int64_t a, a_end, b, b_end;
} box;
typedef struct search {
    const uint64_t *a, *b;
    int64_t cap;           /* limit of differences in the search */
    int64_t *ahead, *back; /* by diagonal: how far the ways from either end come; -1: not there */
    box *stack;
    int64_t n, stack_cap;
    hpc_edits *out;
} search;

/* Ways of up to CAP_LEAST differences are always looked for, longer ones while all of it takes no
 * more than about WORK steps. */
enum { CAP_LEAST = 64, WORK = 1 << 24 };

static int put(search *s, const box *x)
{
    hpc_edits *e = s->out;
    hpc_edit *last = e->n > 0 ? &e->item[e->n - 1] : NULL;
    if (last && last->base_at + last->base_n == x->a && last->head_at + last->head_n == x->b) {
        last->base_n += x->a_end - x->a;
        last->head_n += x->b_end - x->b;
        return HPC_OK;
    }
    int rc = hpc_grow(&e->item, &e->cap, e->n + 1, sizeof *e->item);
    if (rc < 0) return rc;
    e->item[e->n++] = (hpc_edit){x->a, x->a_end - x->a, x->b, x->b_end - x->b};
    return HPC_OK;
}

static void trim(const search *s, box *x)
{
    while (x->a < x->a_end && x->b < x->b_end && s->a[x->a] == s->b[x->b]) x->a++, x->b++;
    while (x->a < x->a_end && x->b < x->b_end && s->a[x->a_end - 1] == s->b[x->b_end - 1])
        x->a_end--, x->b_end--;
}

/* ---- the middle ------------------------------------------------------------------------- */

/* How far diagonal k is reached with one difference more: from its neighbours, which `way` has. */
static int64_t step(const int64_t *way, int64_t k, int64_t a_n, int64_t b_n)
{
    int64_t down = way[k + 1], right = way[k - 1] < 0 ? -1 : way[k - 1] + 1;
    if (down >= 0 && down - k > b_n) down = -1;
    if (right > a_n) right = -1;
    return right > down ? right : down;
}

static int64_t slide_ahead(const search *s, const box *x, int64_t i, int64_t k)
{
    while (x->a + i < x->a_end && x->b + i - k < x->b_end && s->a[x->a + i] == s->b[x->b + i - k])
        i++;
    return i;
}

static int64_t slide_back(const search *s, const box *x, int64_t i, int64_t k)
{
    while (x->a_end - i > x->a && x->b_end - (i - k) > x->b &&
           s->a[x->a_end - i - 1] == s->b[x->b_end - (i - k) - 1])
        i++;
    return i;
}

/* Both ways with d differences. true: they meet, at *i, *j of the box. */
static bool widen(search *s, const box *x, int64_t d, int64_t *i, int64_t *j)
{
    int64_t a_n = x->a_end - x->a, b_n = x->b_end - x->b, delta = a_n - b_n;
    bool odd = delta & 1;
    for (int64_t k = d; k <= d + 1; k++) s->ahead[k] = s->ahead[-k] = s->back[k] = s->back[-k] = -1;
    for (int64_t k = -d; k <= d; k += 2) {
        if (k < -b_n || k > a_n) continue;
        int64_t at = d == 0 ? 0 : step(s->ahead, k, a_n, b_n), other = delta - k;
        s->ahead[k] = at = at < 0 ? -1 : slide_ahead(s, x, at, k);
        if (!odd || at < 0 || other < -(d - 1) || other > d - 1) continue;
        if (s->back[other] < 0 || at + s->back[other] < a_n) continue;
        *i = at;
        *j = at - k;
        return true;
    }
    for (int64_t k = -d; k <= d; k += 2) {
        if (k < -b_n || k > a_n) continue;
        int64_t at = d == 0 ? 0 : step(s->back, k, a_n, b_n), other = delta - k;
        s->back[k] = at = at < 0 ? -1 : slide_back(s, x, at, k);
        if (odd || at < 0 || other < -d || other > d) continue;
        if (s->ahead[other] < 0 || at + s->ahead[other] < a_n) continue;
        *i = a_n - at;
        *j = b_n - (at - k);
        return true;
    }
    return false;
}

/* A point on a shortest path, or far along it. Both ends of the box differ and neither side is
 * empty, so the point is not a corner, and both halves are smaller. */
static void middle(search *s, const box *x, int64_t *i, int64_t *j)
{
    for (int64_t d = 0; d <= s->cap; d++)
        if (widen(s, x, d, i, j)) return;
    int64_t best = -1;
    for (int64_t k = -s->cap; k <= s->cap; k += 2) {
        if (s->ahead[k] < 0 || 2 * s->ahead[k] - k <= best) continue;
        best = 2 * s->ahead[k] - k;
        *i = s->ahead[k];
        *j = s->ahead[k] - k;
    }
}

/* ---- the whole --------------------------------------------------------------------------- */

static int push(search *s, box x)
{
    int rc = hpc_grow(&s->stack, &s->stack_cap, s->n + 1, sizeof *s->stack);
    if (rc < 0) return rc;
    s->stack[s->n++] = x;
    return HPC_OK;
}

static int run(search *s, box x)
{
    int rc = HPC_OK;
    TRY(push(s, x));
    while (s->n > 0) {
        x = s->stack[--s->n];
        trim(s, &x);
        if (x.a == x.a_end && x.b == x.b_end) continue;
        if (x.a == x.a_end || x.b == x.b_end) {
            TRY(put(s, &x));
            continue;
        }
        int64_t i = 0, j = 0;
        middle(s, &x, &i, &j);
        TRY(push(s, (box){x.a + i, x.a_end, x.b + j, x.b_end}));
        TRY(push(s, (box){x.a, x.a + i, x.b, x.b + j}));
    }
out:
    return rc;
}

int hpc_diff(hpc_edits *out, const uint64_t *base, int64_t base_n, const uint64_t *head,
             int64_t head_n)
{
    search s = {.a = base, .b = head, .out = out};
    box x = {0, base_n, 0, head_n};
    int64_t *ways = NULL;
    int rc = HPC_OK;
    out->n = 0;
    trim(&s, &x);
    int64_t left = x.a_end - x.a + x.b_end - x.b;
    if (left == 0) return rc;
    s.cap = WORK / 2 / left;
    if (s.cap < CAP_LEAST) s.cap = CAP_LEAST;
    if (s.cap > (left + 1) / 2) s.cap = (left + 1) / 2;
    int64_t width = 2 * s.cap + 5;
    ways = hpc_alloc((size_t)(2 * width), sizeof *ways);
    if (!ways) TRY(HPC_E_NOMEM);
    s.ahead = ways + s.cap + 2;
    s.back = ways + width + s.cap + 2;
    TRY(run(&s, x));
out:
    hpc_free(ways);
    hpc_free(s.stack);
    return rc;
}

void hpc_edits_release(hpc_edits *e)
{
    hpc_free(e->item);
    *e = (hpc_edits){0};
}
