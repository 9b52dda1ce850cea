/*
 * attention.c: variable-length, paged attention and, for identity pages, its gradient.
 *
 * Softmax works row by row; scores are recomputed wherever they are needed.
 */
#include "runtime/device/ref/priv.h"

/* A query row: its sequence, and the keys [lo, hi) of it that the row sees. */
typedef struct span {
    int64_t s;     /* sequence, -1: none */
    int64_t first; /* row of the sequence's first query */
    int64_t lo, hi;
} span;

static span span_of(const hpc_tensor *start, const hpc_tensor *len, const hpc_attention_attr *attr,
                    int64_t t)
{
    int64_t sequences = hpc_ref_live(start, 0, 0) - 1;
    for (int64_t s = 0; s < sequences; s++) {
        int64_t first = hpc_ref_index(start, s), end = hpc_ref_index(start, s + 1);
        if (t < first || t >= end) continue;
        int64_t keys = len ? hpc_ref_index(len, s) : end - first;
        int64_t pos = keys - (end - first) + t - first;
        int64_t hi = attr->causal ? least(keys, pos + 1) : keys;
        int64_t lo = attr->window > 0 && hi > attr->window ? hi - attr->window : 0;
        return (span){s, first, lo, hi};
    }
    return (span){-1, 0, 0, 0};
}

/* Rows of sequences rise, and are rows that are live. */
static int starts_check(const hpc_tensor *start, const hpc_tensor *q)
{
    int64_t sequences = hpc_ref_live(start, 0, 0) - 1, rows = hpc_ref_live(q, 0, 0);
    for (int64_t s = 0; s < sequences; s++) {
        int64_t first = hpc_ref_index(start, s), end = hpc_ref_index(start, s + 1);
        if (first >= 0 && end >= first && end <= rows) continue;
        return hpc_fail(HPC_E_SHAPE, "attention: sequence %lld has rows %lld to %lld of %lld",
                        (long long)s, (long long)first, (long long)end, (long long)rows);
    }
    return 0;
}

/* Element 0 of key j of sequence s, in k and v alike; negative: the page is not there. */
static int64_t key_at(const hpc_attention_args *g, span sp, int64_t j, int64_t head)
{
    int64_t heads = extent_from_end(&g->k, 2), d = extent_from_end(&g->k, 1);
    if (!present(&g->pages)) return ((sp.first + j) * heads + head) * d;
    int64_t page = g->k.extent[1], columns = g->pages.extent[1];
    if (j / page >= columns) return -1;
    int64_t at = hpc_ref_index(&g->pages, sp.s * columns + j / page);
    if (at < 0 || at >= g->k.extent[0]) return -1;
    return ((at * page + j % page) * heads + head) * d;
}

static double dot(const hpc_tensor *a, int64_t i, const hpc_tensor *b, int64_t j, int64_t n)
{
    double sum = 0;
    for (int64_t e = 0; e < n; e++) sum += hpc_ref_get(a, i + e) * hpc_ref_get(b, j + e);
    return sum;
}

/* A score, from a product of a query and a key. */
static double score_of(const hpc_attention_attr *at, double product)
{
    double x = at->scale * product;
    return at->cap > 0 ? at->cap * tanh(x / at->cap) : x;
}

static int pages_check(const hpc_attention_args *g, span sp)
{
    for (int64_t j = sp.lo; j < sp.hi; j++) {
        if (key_at(g, sp, j, 0) >= 0) continue;
        return hpc_fail(
            HPC_E_SHAPE, "attention: sequence %lld has no page for key %lld (%lld pages of %lld)",
            (long long)sp.s, (long long)j, (long long)g->k.extent[0], (long long)g->k.extent[1]);
    }
    return 0;
}

static double row_lse(const hpc_attention_args *g, span sp, int64_t q_at, int64_t head)
{
    int64_t d = g->q.extent[2];
    double most = -INFINITY, sum = 0;
    for (int64_t j = sp.lo; j < sp.hi; j++) {
        most = fmax(most, score_of(&g->attr, dot(&g->q, q_at, &g->k, key_at(g, sp, j, head), d)));
    }
    for (int64_t j = sp.lo; j < sp.hi; j++) {
        sum += exp(score_of(&g->attr, dot(&g->q, q_at, &g->k, key_at(g, sp, j, head), d)) - most);
    }
    return sp.hi > sp.lo ? most + log(sum) : -INFINITY;
}

static int attention_row(const hpc_attention_args *g, int64_t r)
{
    int64_t heads = g->q.extent[1], d = g->q.extent[2];
    int64_t head = r % heads / (heads / extent_from_end(&g->k, 2));
    bool lens = present(&g->pages);
    span sp = span_of(&g->start, lens ? &g->len : NULL, &g->attr, r / heads);
    if (lens && pages_check(g, sp) < 0) return HPC_E_SHAPE;
    double lse = row_lse(g, sp, r * d, head), sum[REF_CHUNK];
    if (present(&g->lse)) hpc_ref_set(&g->lse, r, lse);
    for (int64_t e0 = 0; e0 < d; e0 += REF_CHUNK) {
        int64_t n = least(REF_CHUNK, d - e0);
        for (int64_t e = 0; e < n; e++) sum[e] = 0;
        for (int64_t j = sp.lo; j < sp.hi; j++) {
            int64_t at = key_at(g, sp, j, head);
            double p = exp(score_of(&g->attr, dot(&g->q, r * d, &g->k, at, d)) - lse);
            for (int64_t e = 0; e < n; e++) sum[e] += p * hpc_ref_get(&g->v, at + e0 + e);
        }
        for (int64_t e = 0; e < n; e++) hpc_ref_set(&g->o, r * d + e0 + e, sum[e]);
    }
    return 0;
}

static int attention_run(const hpc_launch *l, const void *args)
{
    const hpc_attention_args *g = args;
    int64_t lo, hi;
    int rc = starts_check(&g->start, &g->q);
    if (rc < 0) return rc;
    share_rows(&lo, &hi, &g->q, l);
    for (int64_t r = lo; r < hi; r++) {
        if (!hpc_tensor_row_live(&g->q, r)) continue;
        rc = attention_row(g, r);
        if (rc < 0) return rc;
    }
    return 0;
}

int hpc_ref_attention(hpc_plan *p, int workers, const hpc_attention_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, attention_run, "ref_attention");
}

/* ---- gradient, rows of q and k being rows of one sequence ------------------------ */

/* For query row i (over heads too) and key row j: p = exp(score - lse) and
 * ds = p (dout.v - dout.o), the gradient that reaches the scaled score, before its bound. */
static void pair(double *p, double *ds, const hpc_attention_grad_args *g, int64_t i, int64_t j)
{
    int64_t d = g->q.extent[2];
    double product = dot(&g->q, i * d, &g->k, j * d, d), score = score_of(&g->attr, product);
    double slope = g->attr.cap > 0 ? cosh(g->attr.scale * product / g->attr.cap) : 1;
    *p = exp(score - hpc_ref_get(&g->lse, i));
    *ds = *p * (dot(&g->dout, i * d, &g->v, j * d, d) - dot(&g->dout, i * d, &g->o, i * d, d));
    *ds /= slope * slope;
}

static void grad_query(const hpc_attention_grad_args *g, int64_t i, int64_t e0, int64_t n)
{
    int64_t heads = g->q.extent[1], kv_heads = g->k.extent[1], d = g->q.extent[2];
    int64_t head = i % heads / (heads / kv_heads);
    span sp = span_of(&g->start, NULL, &g->attr, i / heads);
    double sum[REF_CHUNK] = {0}, p, ds;
    for (int64_t j = sp.lo; j < sp.hi; j++) {
        int64_t row = (sp.first + j) * kv_heads + head;
        pair(&p, &ds, g, i, row);
        for (int64_t e = 0; e < n; e++) sum[e] += ds * hpc_ref_get(&g->k, row * d + e0 + e);
    }
    for (int64_t e = 0; e < n; e++) hpc_ref_put(&g->dq, i * d + e0 + e, g->attr.scale * sum[e]);
}

/* Every query of the sequence, of every head of the group, that sees key row j. */
static void grad_key(const hpc_attention_grad_args *g, int64_t j, int64_t e0, int64_t n)
{
    int64_t heads = g->q.extent[1], kv_heads = g->k.extent[1], d = g->q.extent[2];
    int64_t group = heads / kv_heads, t = j / kv_heads, first_head = j % kv_heads * group;
    int64_t rows = hpc_ref_live(&g->q, 0, 0), s = span_of(&g->start, NULL, &g->attr, t).s;
    double dk[REF_CHUNK] = {0}, dv[REF_CHUNK] = {0}, p, ds;
    for (int64_t other = 0; s >= 0 && other < rows; other++) {
        span sp = span_of(&g->start, NULL, &g->attr, other);
        if (sp.s != s || t - sp.first < sp.lo || t - sp.first >= sp.hi) continue;
        for (int64_t i = other * heads + first_head; i < other * heads + first_head + group; i++) {
            pair(&p, &ds, g, i, j);
            for (int64_t e = 0; e < n; e++) {
                dk[e] += ds * hpc_ref_get(&g->q, i * d + e0 + e);
                dv[e] += p * hpc_ref_get(&g->dout, i * d + e0 + e);
            }
        }
    }
    for (int64_t e = 0; e < n; e++) {
        hpc_ref_put(&g->dk, j * d + e0 + e, g->attr.scale * dk[e]);
        hpc_ref_put(&g->dv, j * d + e0 + e, dv[e]);
    }
}

static void each_chunk(const hpc_launch *l, const hpc_attention_grad_args *g,
                       const hpc_tensor *over,
                       void (*row)(const hpc_attention_grad_args *, int64_t, int64_t, int64_t))
{
    int64_t d = over->extent[2], lo, hi;
    share_rows(&lo, &hi, over, l);
    for (int64_t r = lo; r < hi; r++) {
        if (!hpc_tensor_row_live(over, r)) continue;
        for (int64_t e = 0; e < d; e += REF_CHUNK) row(g, r, e, least(REF_CHUNK, d - e));
    }
}

static int attention_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_attention_grad_args *g = args;
    int rc = starts_check(&g->start, &g->q);
    if (rc < 0) return rc;
    each_chunk(l, g, &g->q, grad_query);
    each_chunk(l, g, &g->k, grad_key);
    return 0;
}

int hpc_ref_attention_grad(hpc_plan *p, int workers, const hpc_attention_grad_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, attention_grad_run, "ref_attention_grad");
}
