/*
 * head_loss.c: the head's product fused with cross-entropy, forward and backward. Logits exist for
 * a chunk of rows and a block of the vocabulary at a time; backward, for a chunk of rows, replaced
 * by their gradients in place. Workers share the vocabulary, or large products, with barriers in
 * between. Softmax is combined from fixed blocks, so that the bits depend neither on chunks nor on
 * workers.
 */
#include <math.h>
#include <string.h>

#include "runtime/device/cpu/kernels/gemm_coop.h"
#include "runtime/device/cpu/kernels/priv.h"
#include "runtime/device/cpu/kernels/vecmath.h"

enum {
    VOCAB_BLOCK = 256,                /* of partial softmax: part of the bits */
    BLOCKS = GEMM_COLS / VOCAB_BLOCK, /* multiplied at once, backward */
    LOSS_ROWS = 192,                  /* of a chunk, forward */
    GRAD_ROWS = 512, /* of a chunk, backward: at most, since w and dw pass for each, and ... */
    GRAD_ROWS_LEAST = 64,
    GRAD_FLOATS = 32 << 20 /* ... about so many logits */
};

static size_t pad(int64_t floats)
{
    return ((size_t)floats + 15) & ~(size_t)15;
}

/* Which of the words that are here. */
static int64_t word_of(const hpc_tensor *target, int64_t row, const hpc_head_attr *at,
                       int64_t vocab)
{
    return hpc_part_row(((const int32_t *)target->data)[row], at->first, at->rows, vocab);
}

static int check_targets(const hpc_launch *l, const hpc_tensor *target, int64_t rows,
                         const hpc_head_attr *at, int64_t vocab)
{
    const int32_t *t = target->data;

    for (int64_t r = 0; r < rows; r++)
        if (word_of(target, r, at, vocab) == HPC_PART_PAST)
            return hpc_kernel_fault(l,
                                    &(hpc_fault){.kind = HPC_FAULT_TARGET,
                                                 .at.op = "head_loss",
                                                 .number = {r, t[r], at->rows ? at->rows : vocab}});
    return 0;
}

/* x w^T for rows of x and words of w. */
static gemm logits_of(const hpc_tensor *x, const hpc_tensor *w, const hpc_cpu_traits *cpu)
{
    int64_t dim = x->extent[1];

    return (gemm){.a = x->data,
                  .a_ld = dim,
                  .a_type = (hpc_dtype)x->dtype,
                  .b = w->data,
                  .b_ld = dim,
                  .b_type = (hpc_dtype)w->dtype,
                  .b_trans = true,
                  .b_panel = w->pack == HPC_PANEL16,
                  .fixed = true,
                  .k = dim,
                  .cpu = cpu};
}

/* ---- forward ------------------------------------------------------------------------ */

typedef struct loss_scratch {
    float *max, *sum; /* [rows,blocks], shared */
    float *hit;       /* [rows]: the target's logit, shared */
    float *logits;    /* [rows,VOCAB_BLOCK] of this worker */
    float *gemm;
} loss_scratch;

static size_t loss_shared(int64_t rows, int64_t blocks)
{
    return 2 * pad(rows * blocks) + pad(rows);
}

static size_t loss_own(int64_t rows)
{
    return GEMM_SCRATCH + (size_t)(rows * VOCAB_BLOCK);
}

static loss_scratch loss_scratch_at(float *base, int64_t rows, int64_t blocks, int worker)
{
    loss_scratch s = {.max = base};

    s.sum = s.max + pad(rows * blocks);
    s.hit = s.sum + pad(rows * blocks);
    s.gemm = base + loss_shared(rows, blocks) + (size_t)worker * loss_own(rows);
    s.logits = s.gemm + GEMM_SCRATCH;
    return s;
}

/* Logits of a block, within their bound if there is one. */
static void bound(float *x, int64_t n, double cap)
{
    float by = (float)(1 / cap), most = (float)cap;

    if (cap == 0) return;
    for (int64_t j = 0; j < n; j++) x[j] = most * vec_tanh(by * x[j]);
}

/* x becomes exp(x - *max), *max the largest of x; *sum of these. */
static void soften(float *max, float *sum, float *x, int64_t n)
{
    float most = HPC_WIDTH(cpu_max)(x, n);
    float shift = most == -INFINITY ? 0 : most; /* all -inf: a sum of 0, not NaN */

    for (int64_t j = 0; j < n; j++) x[j] = vec_exp_down(x[j] - shift);
    *max = most;
    *sum = HPC_WIDTH(cpu_sum)(x, n);
}

/* log(sum of exp) of a row from its blocks. */
static double lse_of(const float *max, const float *sum, int64_t blocks)
{
    float most = -INFINITY;
    double total = 0;

    for (int64_t b = 0; b < blocks; b++) most = max[b] > most ? max[b] : most;
    float shift = most == -INFINITY ? 0 : most;
    for (int64_t b = 0; b < blocks; b++) total += (double)sum[b] * exp((double)max[b] - shift);
    return shift + log(total);
}

static int run_loss(const hpc_launch *l, const void *args)
{
    const hpc_head_loss_args *a = args;
    int64_t live = hpc_tensor_live(&a->x, 0), vocab = a->w.extent[0];
    int64_t most = least(LOSS_ROWS, a->x.extent[0]), lo, hi;
    int64_t blocks = gemm_parts(vocab, VOCAB_BLOCK);
    loss_scratch s = loss_scratch_at(l->workspace, most, blocks, l->worker);
    gemm g = logits_of(&a->x, &a->w, l->cpu.traits);
    /* Every worker looks at all targets: all fail, or none, and none waits for one that failed. */
    int rc = check_targets(l, &a->target, live, &a->attr, vocab);

    if (rc < 0) return rc;
    for (int64_t row = 0; row < live; row += most) {
        int64_t rows = least(most, live - row);
        hpc_share(&lo, &hi, blocks, 1, l->worker, l->workers);
        for (int64_t b = lo; b < hi; b++) {
            int64_t first = b * VOCAB_BLOCK, words = least(VOCAB_BLOCK, vocab - first);
            HPC_ISA(cpu_gemm)
            (s.logits, VOCAB_BLOCK, &g, (gemm_block){row, rows, first, words}, false, s.gemm);
            for (int64_t r = 0; r < rows; r++) {
                float *x = s.logits + r * VOCAB_BLOCK;
                int64_t at = word_of(&a->target, row + r, &a->attr, vocab) - first;
                bound(x, words, a->attr.cap);
                if (at >= 0 && at < words) s.hit[r] = x[at];
                soften(s.max + r * blocks + b, s.sum + r * blocks + b, x, words);
            }
        }
        hpc_barrier_wait(l->barrier);
        hpc_share(&lo, &hi, rows, 1, l->worker, l->workers);
        for (int64_t r = lo; r < hi; r++) {
            double lse = lse_of(s.max + r * blocks, s.sum + r * blocks, blocks);
            bool here = word_of(&a->target, row + r, &a->attr, vocab) >= 0;
            ((float *)a->lse.data)[row + r] = (float)lse;
            ((float *)a->loss.data)[row + r] = !here          ? 0
                                               : a->attr.part ? s.hit[r]
                                                              : (float)(lse - s.hit[r]);
        }
        hpc_barrier_wait(l->barrier);
    }
    return 0;
}

/* ---- backward ------------------------------------------------------------------------- */

typedef struct grad_scratch {
    float *logits;    /* [rows,vocab], then their gradients, shared */
    float *max, *sum; /* [rows,blocks], shared */
    float *hit;       /* [rows]: the target's logit, shared */
    float *dw;        /* [vocab,dim] sums when dw is bf16, shared; else dw itself */
    float *tile;      /* of this worker, for dx */
    float *gemm;
} grad_scratch;

typedef struct grad_shape {
    int64_t live, vocab, dim, blocks, rows; /* rows: of a chunk */
    hpc_dtype type; /* of the logits' gradients: bf16 only where both factors are, ... */
    int64_t ld;     /* ... at the front of each row then: the elements between rows */
    gemm_tiles dx, dw;
} grad_shape;

static grad_shape grad_shape_of(const hpc_head_loss_grad_args *a, int workers)
{
    grad_shape s = {.vocab = a->w.extent[0], .dim = a->w.extent[1]};
    bool halves = a->x.dtype == HPC_BF16 && a->w.dtype == HPC_BF16;

    s.type = halves ? HPC_BF16 : HPC_F32;
    s.ld = halves ? 2 * s.vocab : s.vocab;
    s.blocks = gemm_parts(s.vocab, VOCAB_BLOCK);
    s.rows = GRAD_FLOATS / (s.vocab > 0 ? s.vocab : 1) / GEMM_CUT * GEMM_CUT;
    if (s.rows > GRAD_ROWS) s.rows = GRAD_ROWS;
    if (s.rows < GRAD_ROWS_LEAST) s.rows = GRAD_ROWS_LEAST;
    s.rows = least(s.rows, a->x.extent[0]);
    gemm dx = {.a_type = s.type, .b_type = (hpc_dtype)a->w.dtype, .fixed = true};
    gemm dw = {.a_type = s.type, .b_type = (hpc_dtype)a->x.dtype, .fixed = true};
    s.dx = HPC_ISA(cpu_gemm_tiles)(&dx, 1, s.rows, s.dim, workers);
    s.dw = HPC_ISA(cpu_gemm_tiles)(&dw, 1, s.vocab, s.dim, workers);
    return s;
}

static size_t grad_shared(const hpc_head_loss_grad_args *a, const grad_shape *s)
{
    bool sums = a->dw.rank >= 0 && a->dw.dtype != HPC_F32;

    return pad(s->rows * s->vocab) + 2 * pad(s->rows * s->blocks) + pad(s->rows) +
           (sums ? pad(s->vocab * s->dim) : 0);
}

static size_t grad_own(const grad_shape *s)
{
    return GEMM_SCRATCH + pad(s->dx.m * s->dx.n);
}

static grad_scratch grad_scratch_at(float *base, const hpc_head_loss_grad_args *a,
                                    const grad_shape *s, int worker)
{
    grad_scratch w = {.logits = base};

    w.max = base + pad(s->rows * s->vocab);
    w.sum = w.max + pad(s->rows * s->blocks);
    w.hit = w.sum + pad(s->rows * s->blocks);
    w.dw = a->dw.dtype == HPC_F32 ? a->dw.data : w.hit + pad(s->rows);
    w.gemm = base + grad_shared(a, s) + (size_t)worker * grad_own(s);
    w.tile = w.gemm + GEMM_SCRATCH;
    return w;
}

typedef struct chunk { /* of rows, for what is done with its logits */
    const hpc_head_loss_grad_args *args;
    const grad_shape *shape;
    const grad_scratch *scratch;
    int64_t row;
} chunk;

/* Post-processes a block of logits: keeps those of the targets and, unless lse is given, replaces
 * all by exp(logit - the largest of their VOCAB_BLOCK), with the partial results that softmax
 * needs. */
static void soften_block(const chunk *c, gemm_block at)
{
    int64_t end = at.j + at.cols;

    for (int64_t r = at.i; r < at.i + at.rows; r++) {
        float *x = c->scratch->logits + r * c->shape->vocab;
        int64_t hit = word_of(&c->args->target, c->row + r, &c->args->attr, c->shape->vocab);
        bound(x + at.j, at.cols, c->args->attr.cap);
        if (hit >= at.j && hit < end) c->scratch->hit[r] = x[hit];
        for (int64_t j = at.j; j < end && !c->args->lse.data; j += VOCAB_BLOCK) {
            int64_t block = r * c->shape->blocks + j / VOCAB_BLOCK;
            soften(c->scratch->max + block, c->scratch->sum + block, x + j,
                   least(VOCAB_BLOCK, end - j));
        }
    }
}

static void soften_strip(const gemm_job *job, gemm_block at, float *x, int64_t ld, float *spare)
{
    (void)x, (void)ld, (void)spare;
    soften_block(job->user, at);
}

/* The logits of a chunk or, where lse is to be found, e to them less the largest of their block,
 * with what softmax needs of each block: this worker's share of the vocabulary. */
static void find_logits(const hpc_launch *l, const hpc_head_loss_grad_args *a, const grad_shape *s,
                        const grad_scratch *w, int64_t row, int64_t rows)
{
    chunk c = {a, s, w, row};
    gemm g = logits_of(&a->x, &a->w, l->cpu.traits);
    int64_t lo, hi;

    g.a = gemm_element(g.a, g.a_type, row * s->dim);
    if (HPC_ISA(cpu_gemm_is_coop)(&g, rows, s->vocab, s->dim, l->workers)) {
        gemm_job job = {.g = g, .m = rows, .n = s->vocab, .c = w->logits, .c_ld = s->vocab};
        job.done = soften_strip, job.user = &c, job.grain = VOCAB_BLOCK;
        HPC_ISA(cpu_gemm_together)(l, &job, l->cpu.worker);
        return;
    }
    hpc_share(&lo, &hi, s->blocks, 1, l->worker, l->workers);
    for (int64_t b = lo; b < hi; b += BLOCKS) {
        int64_t first = b * VOCAB_BLOCK, end = least(least(b + BLOCKS, hi) * VOCAB_BLOCK, s->vocab);
        gemm_block at = {0, rows, first, end - first};
        HPC_ISA(cpu_gemm)(w->logits + first, s->vocab, &g, at, false, w->gemm);
        soften_block(&c, at);
    }
}

/* A row x of what find_logits found becomes (softmax - one at the target) dloss, here or, halved,
 * at its front. max: of its blocks, where x is e to the logits already. */
static void turn_row(const grad_shape *s, float *x, const float *max, int64_t target, double lse,
                     float dloss, double cap)
{
    float e[VOCAB_BLOCK], shift = (float)lse;

    for (int64_t first = 0; first < s->vocab; first += VOCAB_BLOCK) {
        int64_t words = least(VOCAB_BLOCK, s->vocab - first), at = target - first;
        if (max) {
            float by = vec_exp(*max++ - shift) * dloss;
            for (int64_t j = 0; j < words; j++) e[j] = x[first + j] * by;
        } else {
            for (int64_t j = 0; j < words; j++) e[j] = vec_exp_down(x[first + j] - shift) * dloss;
        }
        if (at >= 0 && at < words) e[at] -= dloss;
        for (int64_t j = 0; cap > 0 && j < words; j++) {
            float share = x[first + j] / (float)cap;
            e[j] *= (1 - share) * (1 + share);
        }
        if (target == HPC_PART_NONE) memset(e, 0, (size_t)words * sizeof *e);
        if (s->type == HPC_BF16)
            narrow((uint16_t *)x + first, e, words);
        else
            memcpy(x + first, e, (size_t)words * sizeof *e);
    }
}

static void find_dlogits(const hpc_launch *l, const hpc_head_loss_grad_args *a, const grad_shape *s,
                         const grad_scratch *w, int64_t row, int64_t rows)
{
    int64_t lo, hi;

    hpc_share(&lo, &hi, rows, 1, l->worker, l->workers);
    for (int64_t r = lo; r < hi; r++) {
        float *x = w->logits + r * s->vocab, buffer[1];
        int64_t target = word_of(&a->target, row + r, &a->attr, s->vocab);
        double lse = a->lse.data
                         ? ((const float *)a->lse.data)[row + r]
                         : lse_of(w->max + r * s->blocks, w->sum + r * s->blocks, s->blocks);
        if (a->loss.data)
            ((float *)a->loss.data)[row + r] = target < 0 ? 0 : (float)(lse - w->hit[r]);
        turn_row(s, x, a->lse.data ? NULL : w->max + r * s->blocks, target, lse,
                 *load(buffer, &a->dloss, row + r, 1), a->attr.cap);
    }
}

/* This worker's part of a result [m,n]. */
static gemm_walk walk_of(const hpc_launch *l, gemm_tiles tiles, int64_t m, int64_t n)
{
    gemm_walk w = {.tile = tiles, .m = m, .n = n};

    hpc_share(&w.lo, &w.hi, gemm_cost(tiles, m, n), 1, l->worker, l->workers);
    return w;
}

/* dx = dlogits w, this worker's tiles. */
static void find_dx(const hpc_launch *l, const hpc_head_loss_grad_args *a, const grad_shape *s,
                    const grad_scratch *w, int64_t row, int64_t rows)
{
    gemm g = {.cpu = l->cpu.traits,
              .a = w->logits,
              .a_ld = s->ld,
              .a_type = s->type,
              .b = a->w.data,
              .b_ld = s->dim,
              .b_type = (hpc_dtype)a->w.dtype,
              .fixed = true,
              .k = s->vocab};
    if (a->dx.dtype == HPC_F32 && HPC_ISA(cpu_gemm_is_coop)(&g, rows, s->dim, s->vocab, l->workers))
    {
        gemm_job job = {.g = g, .m = rows, .n = s->dim, .c_ld = s->dim};
        job.c = (float *)a->dx.data + row * s->dim;
        HPC_ISA(cpu_gemm_together)(l, &job, l->cpu.worker);
        return;
    }
    gemm_walk walk = walk_of(l, s->dx, rows, s->dim);
    gemm_block at = {0};

    while (gemm_next(&at, &walk)) {
        HPC_ISA(cpu_gemm)(w->tile, s->dx.n, &g, at, false, w->gemm);
        for (int64_t r = 0; r < at.rows; r++)
            store(&a->dx, (row + at.i + r) * s->dim + at.j, w->tile + r * s->dx.n, at.cols);
    }
}

/* dw += dlogits^T x, this worker's tiles: one chain over all rows, chunk after chunk. */
static void find_dw(const hpc_launch *l, const hpc_head_loss_grad_args *a, const grad_shape *s,
                    const grad_scratch *w, int64_t row, int64_t rows)
{
    gemm g = {.cpu = l->cpu.traits,
              .a = w->logits,
              .a_ld = s->ld,
              .a_type = s->type,
              .a_trans = true,
              .a_rows = s->vocab,
              .b = gemm_element(a->x.data, (hpc_dtype)a->x.dtype, row * s->dim),
              .b_ld = s->dim,
              .b_type = (hpc_dtype)a->x.dtype,
              .fixed = true,
              .k = rows};
    gemm_walk walk = walk_of(l, s->dw, s->vocab, s->dim);
    gemm_block at = {0};
    bool wide = a->dw.dtype != HPC_F32, last = row + rows == s->live;

    if (!wide && HPC_ISA(cpu_gemm_is_coop)(&g, s->vocab, s->dim, rows, l->workers)) {
        gemm_job job = {.g = g, .m = s->vocab, .n = s->dim, .c = w->dw, .c_ld = s->dim};
        job.add = a->dw.adds || row > 0;
        HPC_ISA(cpu_gemm_together)(l, &job, l->cpu.worker);
        return;
    }

    while (gemm_next(&at, &walk)) {
        for (int64_t r = 0; r < at.rows && wide && row == 0 && a->dw.adds; r++) {
            int64_t from = (at.i + r) * s->dim + at.j;
            widen(w->dw + from, element(&a->dw, from), at.cols);
        }
        HPC_ISA(cpu_gemm)
        (w->dw + at.i * s->dim + at.j, s->dim, &g, at, a->dw.adds || row > 0, w->gemm);
        for (int64_t r = 0; r < at.rows && wide && last; r++) {
            int64_t to = (at.i + r) * s->dim + at.j;
            store(&a->dw, to, w->dw + to, at.cols);
        }
    }
}

/* Without a live row nothing is added to dw: it stays, or is all zeros. */
static void clear_dw(const hpc_launch *l, const hpc_tensor *dw)
{
    int64_t lo, hi;

    hpc_share(&lo, &hi, (int64_t)hpc_tensor_bytes(dw), HPC_ALIGN, l->worker, l->workers);
    memset((char *)dw->data + lo, 0, (size_t)(hi - lo));
}

static int run_grad(const hpc_launch *l, const void *args)
{
    const hpc_head_loss_grad_args *a = args;
    grad_shape s = grad_shape_of(a, l->workers);
    grad_scratch w = grad_scratch_at(l->workspace, a, &s, l->worker);
    int rc;

    s.live = hpc_tensor_live(&a->x, 0);
    rc = check_targets(l, &a->target, s.live, &a->attr, s.vocab);
    if (rc < 0) return rc;
    if (s.live == 0 && a->dw.data && !a->dw.adds) clear_dw(l, &a->dw);
    for (int64_t row = 0; row < s.live; row += s.rows) {
        int64_t rows = least(s.rows, s.live - row);
        find_logits(l, a, &s, &w, row, rows);
        hpc_barrier_wait(l->barrier);
        find_dlogits(l, a, &s, &w, row, rows);
        hpc_barrier_wait(l->barrier);
        if (a->dx.data) find_dx(l, a, &s, &w, row, rows);
        if (a->dw.data) find_dw(l, a, &s, &w, row, rows);
        hpc_barrier_wait(l->barrier);
    }
    return 0;
}

/* ---- softmax put together from parts ------------------------------------------------------ */

static int run_soft(const hpc_launch *l, const void *args)
{
    const hpc_soft_args *g = args;
    const float *a = g->a.data, *b = g->b.data;
    const int32_t *target = g->target.data;
    float *y = g->y.data;
    int64_t lo, hi;

    hpc_share(&lo, &hi, hpc_tensor_n(&g->y), 16, l->worker, l->workers);
    for (stretch s; (s = live_from(&g->y, lo, hi)).n > 0; lo = s.at + s.n)
        for (int64_t i = s.at; i < s.at + s.n; i++)
            y[i] = target && target[i] < 0
                       ? 0
                       : (float)hpc_soft(g->attr.kind, (double)a[i], (double)b[i]);
    return 0;
}

int HPC_ISA(cpu_soft)(hpc_plan *p, int workers, const hpc_soft_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = run_soft, .name = "soft_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_F32},
                                          {"a", &a->a, TAKES_F32},
                                          {"b", &a->b, TAKES_F32},
                                          {"target", &a->target, TAKES_I32},
                                          {0}});
}

/* ---- selection ------------------------------------------------------------------------- */

int HPC_ISA(cpu_head_loss)(hpc_plan *p, int workers, const hpc_head_loss_args *a)
{
    hpc_tensor w = a->w;
    bool panel = w.pack == HPC_PANEL16;

    w.pack = HPC_PLAIN;
    const operand_check check[] = {
        {"loss", &a->loss, TAKES_F32},     {"lse", &a->lse, TAKES_F32},
        {"x", &a->x, TAKES_REAL},          {"w", &w, panel ? TAKES_REAL : TAKES_WEIGHT},
        {"target", &a->target, TAKES_I32}, {0}};
    int64_t rows = least(LOSS_ROWS, a->x.extent[0]);
    int64_t blocks = gemm_parts(w.extent[0], VOCAB_BLOCK);
    size_t floats = loss_shared(rows, blocks) + (size_t)workers * loss_own(rows);

    return accept(p,
                  (hpc_plan){.run = run_loss,
                             .workspace = floats * sizeof(float),
                             .name = "head_loss_" HPC_ISA_TEXT},
                  check);
}

/* What each of the three products needs when all workers compute it together. */
static size_t coop_bytes(const hpc_head_loss_grad_args *a, const grad_shape *s, int workers,
                         const hpc_cpu_traits *cpu)
{
    gemm logits = logits_of(&a->x, &a->w, cpu);
    gemm other = {.a_type = s->type, .b_type = s->type, .fixed = true, .cpu = cpu};
    size_t most = HPC_ISA(cpu_gemm_coop_bytes)(&logits, s->vocab, s->dim, workers);
    size_t dx = HPC_ISA(cpu_gemm_coop_bytes)(&other, s->dim, s->vocab, workers);
    size_t dw = HPC_ISA(cpu_gemm_coop_bytes)(&other, s->dim, s->rows, workers);

    if (most < dx) most = dx;
    return most < dw ? dw : most;
}

int HPC_ISA(cpu_head_loss_grad)(hpc_plan *p, int workers, const hpc_head_loss_grad_args *a)
{
    const operand_check check[] = {{"loss", &a->loss, TAKES_F32},
                                   {"dx", &a->dx, TAKES_REAL},
                                   {"dw", &a->dw, TAKES_REAL},
                                   {"dloss", &a->dloss, TAKES_REAL},
                                   {"lse", &a->lse, TAKES_F32},
                                   {"x", &a->x, TAKES_REAL},
                                   {"w", &a->w, TAKES_REAL},
                                   {"target", &a->target, TAKES_I32},
                                   {0}};
    grad_shape s = grad_shape_of(a, workers);
    size_t floats = grad_shared(a, &s) + (size_t)workers * grad_own(&s);
    size_t own = HPC_ISA(cpu_gemm_coop_worker)(p->cpu.traits, s.vocab),
           own_dim = HPC_ISA(cpu_gemm_coop_worker)(p->cpu.traits, s.dim);

    return accept(p,
                  (hpc_plan){.run = run_grad,
                             .workspace = floats * sizeof(float),
                             .cpu.worker_bytes = own > own_dim ? own : own_dim,
                             .cpu.coop_bytes = coop_bytes(a, &s, workers, p->cpu.traits),
                             .name = "head_loss_grad_" HPC_ISA_TEXT},
                  check);
}
