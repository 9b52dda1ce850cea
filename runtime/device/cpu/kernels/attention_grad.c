/*
 * attention_grad.c: gradients of attention with identity pages.
 *
 * With p = exp(scale q.k - lse) and delta = sum(dout o): dv = p^T dout, ds = p (dout
 * v^T - delta) scale, dq = ds k, dk = ds^T q. With scores cap t, t = tanh(scale q.k / cap), ds has
 * the factor 1 - t^2.
 *
 * A task is a sequence with the heads that share a key head: it packs second factors
 * once, walks its blocks once and keeps its sums. If these tasks are too few for the
 * workers, or a sequence is long, blocks of keys sum dk and dv over the queries that
 * see them, and blocks of queries sum dq over their keys; p is then computed twice. No
 * two tasks write the same element, no task waits, and both ways sum in the same order.
 */
#include <math.h>
#include <string.h>

#include "runtime/device/cpu/kernels/attend.h"
#include "runtime/device/cpu/kernels/vecmath.h"

/* Rows of a task: at 128 columns, gradients and packed factors take 20 MiB of a worker. */
enum { KEPT = 4096 };

/* Of a block's products: of scores the first factors and, turned, the second ones; of sums the
 * second ones. */
enum { ROWS_Q, ROWS_DOUT, TURNED_K, TURNED_V, PLAIN_K, PLAIN_Q, PLAIN_DOUT, FACTORS };

typedef struct shape {
    int64_t rows, heads, key_heads, group, dim;
    int64_t queries; /* in a task for dq, and in a step of one for dk and dv */
    int64_t kept;    /* rows of a sequence whose gradients a task can keep */
    hpc_dtype type;  /* of p and ds as factors */
    const hpc_cpu_traits *cpu;
} shape;

typedef struct scratch {    /* of one worker */
    float *p, *ds;          /* [ATTEND_ROWS,ATTEND_KEYS] */
    void *p_half, *ds_half; /* the same, of the shape's type: p and ds themselves if it is f32 */
    float *delta;           /* [kept], or of a block's queries */
    float *dq, *dk, *dv;    /* [kept,dim] */
    float *packed[FACTORS]; /* of a whole sequence */
    float *some;            /* [16,dim] */
    float *row, *row2;      /* [dim] */
    float *gemm;
} scratch;

typedef struct block {                 /* queries and keys of one sequence, and a head */
    int64_t row;                       /* of the sequence's first query and key */
    int64_t all;                       /* queries, and keys, of the sequence */
    int64_t query, queries, key, keys; /* first and number, counted within the sequence */
    int64_t head;                      /* of the queries */
} block;

static shape shape_of(const hpc_attention_grad_args *a, int workers, const hpc_cpu_traits *cpu)
{
    shape s = {.rows = a->q.extent[0],
               .heads = a->q.extent[1],
               .key_heads = a->k.extent[1],
               .dim = a->q.extent[2],
               .cpu = cpu};

    s.group = s.heads / s.key_heads;
    s.queries = attend_queries(s.rows, s.heads, 1, GEMM_CUT, workers);
    s.kept = s.rows < KEPT ? s.rows : KEPT;
    if (s.kept < ATTEND_ROWS) s.kept = ATTEND_ROWS;
    s.type = attend_type(&a->q, &a->k, &a->v);
    if (a->dout.dtype != HPC_BF16) s.type = HPC_F32;
    return s;
}

static size_t row_floats(const shape *s)
{
    return ((size_t)s->dim + 15) & ~(size_t)15;
}

static size_t scratch_floats(const shape *s)
{
    size_t kept = ((size_t)s->kept + 15) & ~(size_t)15;

    return GEMM_SCRATCH + 3 * ATTEND_ROWS * ATTEND_KEYS + kept +
           row_floats(s) * ((3 + FACTORS) * kept + GEMM_PANEL + 2);
}

static scratch scratch_at(float *base, const shape *s)
{
    size_t row = row_floats(s), kept = ((size_t)s->kept + 15) & ~(size_t)15;
    scratch w = {.gemm = base};

    w.p = w.gemm + GEMM_SCRATCH;
    w.ds = w.p + ATTEND_ROWS * ATTEND_KEYS;
    w.p_half = s->type == HPC_F32 ? w.p : w.ds + ATTEND_ROWS * ATTEND_KEYS;
    w.ds_half = gemm_element(w.p_half, s->type, ATTEND_ROWS * ATTEND_KEYS);
    w.delta = w.ds + 2 * ATTEND_ROWS * ATTEND_KEYS;
    w.dq = w.delta + kept;
    w.dk = w.dq + row * kept;
    w.dv = w.dk + row * kept;
    for (int f = 0; f < FACTORS; f++) w.packed[f] = w.dv + row * kept * (size_t)(f + 1);
    w.some = w.dv + row * kept * (FACTORS + 1);
    w.row = w.some + row * GEMM_PANEL;
    w.row2 = w.row + row;
    return w;
}

/* ---- operands of a block --------------------------------------------------------- */

/* A block's rows of q or dout [rows,heads,dim], or of k or v [rows,key_heads,dim]; or packed. */
typedef struct rows {
    const void *data;
    int64_t ld;
    hpc_dtype type;
    bool panel;
} rows;

static int64_t query_at(const shape *s, const block *b)
{
    return ((b->row + b->query) * s->heads + b->head) * s->dim;
}

static int64_t key_at(const shape *s, const block *b)
{
    return ((b->row + b->key) * s->key_heads + b->head / s->group) * s->dim;
}

static rows rows_of(const hpc_tensor *t, int64_t at, int64_t ld)
{
    return (rows){gemm_element(t->data, (hpc_dtype)t->dtype, at), ld, (hpc_dtype)t->dtype, false};
}

static rows query_rows(const hpc_tensor *t, const shape *s, const block *b)
{
    return rows_of(t, query_at(s, b), s->heads * s->dim);
}

static rows key_rows(const hpc_tensor *t, const shape *s, const block *b)
{
    return rows_of(t, key_at(s, b), s->key_heads * s->dim);
}

typedef struct factors {
    rows of[FACTORS];
} factors;

static factors as_they_lie(const hpc_attention_grad_args *a, const shape *s, const block *b)
{
    rows q = query_rows(&a->q, s, b), dout = query_rows(&a->dout, s, b);
    rows k = key_rows(&a->k, s, b), v = key_rows(&a->v, s, b);

    return (factors){{q, dout, k, v, k, q, dout}};
}

static factors as_packed(const shape *s, const block *b, const scratch *w)
{
    factors f;

    for (int k = 0; k < FACTORS; k++) {
        bool of_keys = k == TURNED_K || k == TURNED_V || k == PLAIN_K;
        int64_t ld = k < PLAIN_K ? s->dim : b->all, row = k < PLAIN_K ? s->dim : GEMM_PANEL;
        f.of[k] =
            (rows){w->packed[k] + (of_keys ? b->key : b->query) * row, ld, HPC_F32, k >= TURNED_K};
    }
    return f;
}

/* Copies all rows of a sequence: `copy` unchanged, `turned` in panels of rows, and `plain` in
 * panels of columns. Each may be NULL. */
static void pack(float *copy, float *turned, float *plain, const hpc_tensor *t, int64_t at,
                 int64_t ld, int64_t all, int64_t dim, const scratch *w)
{
    for (int64_t r = 0; r < all; r += GEMM_PANEL) {
        int64_t n = least(GEMM_PANEL, all - r);
        float *some = copy ? copy + r * dim : w->some;
        for (int64_t i = 0; i < n; i++) {
            float *row = some + i * dim;
            attend_put(row, HPC_F32, load(row, t, at + (r + i) * ld, dim), dim);
            for (int64_t c = 0; plain && c < dim; c += GEMM_PANEL)
                memcpy(plain + c * all + (r + i) * GEMM_PANEL, row + c,
                       (size_t)least(GEMM_PANEL, dim - c) * sizeof *row);
        }
        if (!turned) continue;
        if (n < GEMM_PANEL)
            memset(turned + r * dim, 0, (size_t)(GEMM_PANEL * dim) * sizeof *turned);
        HPC_ISA(cpu_transpose)(turned + r * dim, GEMM_PANEL, some, dim, n, dim);
    }
}

static void pack_keys(const hpc_attention_grad_args *a, const shape *s, const block *b,
                      const scratch *w)
{
    int64_t at = key_at(s, b), ld = s->key_heads * s->dim;
    float *const *to = w->packed;

    pack(NULL, to[TURNED_K], to[PLAIN_K], &a->k, at, ld, b->all, s->dim, w);
    pack(NULL, to[TURNED_V], NULL, &a->v, at, ld, b->all, s->dim, w);
}

static void pack_queries(const hpc_attention_grad_args *a, const shape *s, const block *b,
                         const scratch *w)
{
    int64_t at = query_at(s, b), ld = s->heads * s->dim;
    float *const *to = w->packed;

    pack(to[ROWS_Q], NULL, to[PLAIN_Q], &a->q, at, ld, b->all, s->dim, w);
    pack(to[ROWS_DOUT], NULL, to[PLAIN_DOUT], &a->dout, at, ld, b->all, s->dim, w);
}

/* scores [queries,keys] = x y^T over dim. */
static void pair_up(float *scores, rows x, rows y, const shape *s, const block *b, float *spare)
{
    gemm g = {.cpu = s->cpu,
              .a = x.data,
              .a_ld = x.ld,
              .a_type = x.type,
              .b = y.data,
              .b_ld = y.ld,
              .b_type = y.type,
              .b_trans = true,
              .b_panel = y.panel,
              .k = s->dim};

    HPC_ISA(cpu_gemm)
    (scores, ATTEND_KEYS, &g, (gemm_block){0, b->queries, 0, b->keys}, false, spare);
}

/* y [keys,dim] += scores^T x [queries,dim]; or y [queries,dim] += scores x [keys,dim]. */
static void gather(float *y, const void *scores, bool over_queries, rows x, const shape *s,
                   const block *b, float *spare)
{
    gemm g = {.cpu = s->cpu,
              .a = scores,
              .a_ld = ATTEND_KEYS,
              .a_type = s->type,
              .a_trans = over_queries,
              .a_rows = ATTEND_KEYS,
              .b = x.data,
              .b_ld = x.ld,
              .b_type = x.type,
              .b_panel = x.panel,
              .k = over_queries ? b->queries : b->keys};

    HPC_ISA(cpu_gemm)
    (y, s->dim, &g, (gemm_block){0, over_queries ? b->keys : b->queries, 0, s->dim}, true, spare);
}

/* ---- p and ds --------------------------------------------------------------------- */

/* Of the block's queries, into delta. */
static void find_delta(float *delta, const hpc_attention_grad_args *a, const shape *s,
                       const block *b, const scratch *w)
{
    for (int64_t r = 0; r < b->queries; r++) {
        int64_t at = query_at(s, b) + r * s->heads * s->dim;
        const float *dout = load(w->row, &a->dout, at, s->dim);
        const float *o = load(w->row2, &a->o, at, s->dim);
        for (int64_t d = 0; d < s->dim; d++) w->row[d] = dout[d] * o[d];
        delta[r] = HPC_WIDTH(cpu_sum)(w->row, s->dim);
    }
}

/* Scores p and dout v^T in ds become p and ds; `in` is what the query sees of the block. */
static void soften_row(float *p, float *ds, attend_span in, int64_t keys, float scale, float norm,
                       float delta)
{
    int64_t lo = least(in.lo, keys), hi = in.hi > lo ? in.hi : lo;

    for (int64_t j = 0; j < lo; j++) p[j] = ds[j] = 0;
#pragma omp simd
    for (int64_t j = lo; j < hi; j++) {
        p[j] = vec_exp_down(scale * p[j] - norm);
        ds[j] = p[j] * (ds[j] - delta) * scale;
    }
    for (int64_t j = hi; j < keys; j++) p[j] = ds[j] = 0;
}

static void soften_capped_row(float *p, float *ds, attend_span in, int64_t keys, float scale,
                              float norm, float delta, float cap)
{
    int64_t lo = least(in.lo, keys), hi = in.hi > lo ? in.hi : lo;
    float by = scale / cap;

    for (int64_t j = 0; j < lo; j++) p[j] = ds[j] = 0;
    for (int64_t j = lo; j < hi; j++) {
        float x = by * p[j];
        p[j] = vec_exp_down(cap * vec_tanh(x) - norm);
        ds[j] = p[j] * (ds[j] - delta) * scale * vec_tanh_slope(x);
    }
    for (int64_t j = hi; j < keys; j++) p[j] = ds[j] = 0;
}

/* w->p and w->ds of the block, as factors. */
static void find_scores(const hpc_attention_grad_args *a, const shape *s, const block *b,
                        const factors *f, const float *deltas, const scratch *w)
{
    const float *lse = (const float *)a->lse.data;
    float scale = (float)a->attr.scale, cap = (float)a->attr.cap;

    pair_up(w->p, f->of[ROWS_Q], f->of[TURNED_K], s, b, w->gemm);
    pair_up(w->ds, f->of[ROWS_DOUT], f->of[TURNED_V], s, b, w->gemm);
    for (int64_t r = 0; r < b->queries; r++) {
        float *p = w->p + r * ATTEND_KEYS, *ds = w->ds + r * ATTEND_KEYS, delta = deltas[r];
        float norm = lse[query_at(s, b) / s->dim + r * s->heads];
        attend_span in =
            attend_within(attend_visible(&a->attr, b->query + r, b->all), b->key, b->keys);
        if (cap > 0)
            soften_capped_row(p, ds, in, b->keys, scale, norm, delta, cap);
        else
            soften_row(p, ds, in, b->keys, scale, norm, delta);
        attend_put(gemm_element(w->p_half, s->type, r * ATTEND_KEYS), s->type, p, b->keys);
        attend_put(gemm_element(w->ds_half, s->type, r * ATTEND_KEYS), s->type, ds, b->keys);
    }
}

/* ---- tasks ------------------------------------------------------------------------ */

static void write_rows(const hpc_tensor *t, const float *x, int64_t at, int64_t ld, int64_t n,
                       int64_t dim)
{
    for (int64_t r = 0; r < n; r++) store(t, at + r * ld, x + r * dim, dim);
}

/* dq of a block of queries of one head. */
static void query_task(const hpc_attention_grad_args *a, const shape *s, block b, const scratch *w)
{
    attend_span top = attend_visible(&a->attr, b.query, b.all);
    attend_span bottom = attend_visible(&a->attr, b.query + b.queries - 1, b.all);

    memset(w->dq, 0, (size_t)(b.queries * s->dim) * sizeof *w->dq);
    find_delta(w->delta, a, s, &b, w);
    for (b.key = top.lo / ATTEND_KEYS * ATTEND_KEYS; b.key < bottom.hi; b.key += ATTEND_KEYS) {
        b.keys = least(ATTEND_KEYS, b.all - b.key);
        factors f = as_they_lie(a, s, &b);
        find_scores(a, s, &b, &f, w->delta, w);
        gather(w->dq, w->ds_half, false, f.of[PLAIN_K], s, &b, w->gemm);
    }
    write_rows(&a->dq, w->dq, query_at(s, &b), s->heads * s->dim, b.queries, s->dim);
}

/* dk and dv of a block of keys: over the group's heads, and over the queries, in order. */
static void key_task(const hpc_attention_grad_args *a, const shape *s, block b, const scratch *w)
{
    int64_t first = a->attr.causal ? b.key : 0, end = b.head + s->group;

    memset(w->dk, 0, (size_t)(b.keys * s->dim) * sizeof *w->dk);
    memset(w->dv, 0, (size_t)(b.keys * s->dim) * sizeof *w->dv);
    for (; b.head < end; b.head++)
        for (b.query = first; b.query < b.all; b.query += s->queries) {
            b.queries = least(s->queries, b.all - b.query);
            if (attend_visible(&a->attr, b.query, b.all).lo >= b.key + b.keys) break;
            factors f = as_they_lie(a, s, &b);
            find_delta(w->delta, a, s, &b, w);
            find_scores(a, s, &b, &f, w->delta, w);
            gather(w->dv, w->p_half, true, f.of[PLAIN_DOUT], s, &b, w->gemm);
            gather(w->dk, w->ds_half, true, f.of[PLAIN_Q], s, &b, w->gemm);
        }
    b.head--;
    write_rows(&a->dk, w->dk, key_at(s, &b), s->key_heads * s->dim, b.keys, s->dim);
    write_rows(&a->dv, w->dv, key_at(s, &b), s->key_heads * s->dim, b.keys, s->dim);
}

/* All gradients of a sequence, for the heads of one key head. */
static void whole_task(const hpc_attention_grad_args *a, const shape *s, block b, const scratch *w)
{
    size_t bytes = (size_t)(b.all * s->dim) * sizeof(float);
    int64_t end = b.head + s->group;
    bool packs = s->type == HPC_F32; /* others are packed otherwise */

    memset(w->dk, 0, bytes);
    memset(w->dv, 0, bytes);
    if (packs) pack_keys(a, s, &b, w);
    for (; b.head < end; b.head++) {
        memset(w->dq, 0, bytes);
        b.query = 0, b.queries = b.all;
        if (packs) pack_queries(a, s, &b, w);
        find_delta(w->delta, a, s, &b, w);
        for (b.key = 0; b.key < b.all; b.key += ATTEND_KEYS) {
            b.keys = least(ATTEND_KEYS, b.all - b.key);
            for (b.query = a->attr.causal ? b.key : 0; b.query < b.all; b.query += ATTEND_ROWS) {
                b.queries = least(ATTEND_ROWS, b.all - b.query);
                if (attend_visible(&a->attr, b.query, b.all).lo >= b.key + b.keys) break;
                factors f = packs ? as_packed(s, &b, w) : as_they_lie(a, s, &b);
                find_scores(a, s, &b, &f, w->delta + b.query, w);
                gather(w->dv + b.key * s->dim, w->p_half, true, f.of[PLAIN_DOUT], s, &b, w->gemm);
                gather(w->dk + b.key * s->dim, w->ds_half, true, f.of[PLAIN_Q], s, &b, w->gemm);
                gather(w->dq + b.query * s->dim, w->ds_half, false, f.of[PLAIN_K], s, &b, w->gemm);
            }
        }
        b.query = 0;
        write_rows(&a->dq, w->dq, query_at(s, &b), s->heads * s->dim, b.all, s->dim);
    }
    b.head--, b.key = 0;
    write_rows(&a->dk, w->dk, key_at(s, &b), s->key_heads * s->dim, b.all, s->dim);
    write_rows(&a->dv, w->dv, key_at(s, &b), s->key_heads * s->dim, b.all, s->dim);
}

static int run(const hpc_launch *l, const void *args)
{
    const hpc_attention_grad_args *a = args;
    shape s = shape_of(a, l->workers, l->cpu.traits);
    scratch w = scratch_at(l->cpu.worker, &s);
    int64_t sequences = hpc_tensor_live(&a->start, 0) - 1, turn = 0;
    const int32_t *start = a->start.data;
    bool plenty = sequences * s.key_heads >= 2 * (int64_t)l->workers;
    int rc = attend_check_start(l, &a->start, sequences, s.rows, "attention_grad");

    for (int64_t i = 0; i < sequences && rc == 0; i++) {
        block b = {.row = start[i], .all = start[i + 1] - start[i]};
        if (plenty && b.all <= s.kept) {
            for (b.head = 0; b.head < s.heads; b.head += s.group, turn++)
                if (turn % l->workers == l->worker) whole_task(a, &s, b, &w);
            continue;
        }
        for (b.key = 0; b.key < b.all; b.key += ATTEND_KEYS)
            for (b.head = 0; b.head < s.heads; b.head += s.group, turn++) {
                b.keys = least(ATTEND_KEYS, b.all - b.key);
                if (turn % l->workers == l->worker) key_task(a, &s, b, &w);
            }
        for (b.query = 0; b.query < b.all; b.query += s.queries)
            for (b.head = 0; b.head < s.heads; b.head++, turn++) {
                b.queries = least(s.queries, b.all - b.query);
                if (turn % l->workers == l->worker) query_task(a, &s, b, &w);
            }
    }
    return rc;
}

int HPC_ISA(cpu_attention_grad)(hpc_plan *p, int workers, const hpc_attention_grad_args *a)
{
    const operand_check check[] = {{"dq", &a->dq, TAKES_REAL},
                                   {"dk", &a->dk, TAKES_REAL},
                                   {"dv", &a->dv, TAKES_REAL},
                                   {"dout", &a->dout, TAKES_REAL},
                                   {"q", &a->q, TAKES_REAL},
                                   {"k", &a->k, TAKES_REAL},
                                   {"v", &a->v, TAKES_REAL},
                                   {"o", &a->o, TAKES_REAL},
                                   {"lse", &a->lse, TAKES_F32},
                                   {"start", &a->start, TAKES_I32},
                                   {0}};
    shape s = shape_of(a, workers, p->cpu.traits);

    return accept(p,
                  (hpc_plan){.run = run,
                             .cpu.worker_bytes = scratch_floats(&s) * sizeof(float),
                             .name = "attention_grad_" HPC_ISA_TEXT},
                  check);
}
