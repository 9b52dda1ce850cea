/*
 * matmul.c: products with their epilogue, batched and ragged. All workers compute large products
 * cooperatively (gemm_coop.h). For others, every worker computes whole tiles of y from its own
 * packed operands, without barriers. The tiling depends on the number of workers, but no element's
 * bits do: see gemm.h.
 */
#include <string.h>

#include "runtime/device/cpu/kernels/gemm_coop.h"
#include "runtime/device/cpu/kernels/matmul.h"
#include "runtime/device/cpu/kernels/priv.h"

enum { MIRROR = 16 }; /* rows that are turned into columns at a time */

typedef struct shape {
    int64_t batch, m, n, k; /* maxima */
    gemm_tiles tile;
    const hpc_cpu_traits *cpu;
    const int32_t *start; /* first row of each group of rows; NULL: entries of m rows */
} shape;

/* The first row of entry e, among those of all entries. */
static int64_t row_of(const shape *s, int64_t e)
{
    return s->start ? s->start[e] : e * s->m;
}

static shape shape_of(const hpc_matmul_args *a, int workers, const hpc_cpu_traits *cpu)
{
    const int64_t *extent = a->a.extent + a->a.rank - 2;
    shape s = {.batch = a->a.rank == 3 ? a->a.extent[0] : 1,
               .m = extent[a->attr.trans_a ? 1 : 0],
               .n = hpc_tensor_cols(&a->y),
               .k = extent[a->attr.trans_a ? 0 : 1],
               .cpu = cpu};

    gemm factors = {.a_type = (hpc_dtype)a->a.dtype,
                    .b_type = (hpc_dtype)a->b.dtype,
                    .b_panel = a->b.pack == HPC_PANEL16,
                    .halves = a->attr.halves,
                    .fixed = true,
                    .lower = a->attr.symmetric,
                    .cpu = cpu};
    s.tile = HPC_ISA(cpu_gemm_tiles)(&factors, s.batch, s.m, s.n, workers);
    return s;
}

/* The live part of batch entry e. */
static void live_extents(int64_t *m, int64_t *k, const hpc_matmul_args *a, const shape *s,
                         int64_t e)
{
    int lead = a->a.rank - 2;

    *m = s->m;
    *k = s->k;
    if (s->start) {
        *(a->attr.trans_a ? k : m) = s->start[e + 1] - s->start[e];
        return;
    }
    if (a->a.ragged == lead) *(a->attr.trans_a ? k : m) = hpc_tensor_live(&a->a, lead ? e : 0);
    if (!a->attr.trans_b && a->b.ragged == a->b.rank - 2)
        *k = least(*k, hpc_tensor_live(&a->b, a->b.rank == 3 ? e : 0));
}

static gemm product_of(const hpc_matmul_args *a, const shape *s, int64_t e, int64_t live_k)
{
    hpc_dtype a_type = (hpc_dtype)a->a.dtype, b_type = (hpc_dtype)a->b.dtype;
    bool panel = a->b.pack == HPC_PANEL16;
    int64_t b_rows = panel ? gemm_parts(s->n, GEMM_PANEL) * GEMM_PANEL : s->n;
    int64_t b_entry = a->b.rank == 3 ? e : 0;
    int64_t a_at = e * s->m * s->k, b_at = b_entry * b_rows * s->k;

    if (s->start) a_at = row_of(s, e) * (a->attr.trans_a ? s->m : s->k);
    if (s->start && a->attr.trans_a) b_at = row_of(s, e) * s->n;
    return (gemm){.a = gemm_element(a->a.data, a_type, a_at),
                  .b = gemm_element(a->b.data, b_type, b_at),
                  .a_ld = a->attr.trans_a ? s->m : s->k,
                  .b_ld = a->attr.trans_b ? s->k : s->n,
                  .k = live_k,
                  .a_rows = s->start && !a->attr.trans_a ? 0 : s->m,
                  .a_type = a_type,
                  .b_type = b_type,
                  .a_trans = a->attr.trans_a,
                  .b_trans = a->attr.trans_b,
                  .b_panel = panel,
                  .halves = a->attr.halves,
                  .fixed = true,
                  .lower = a->attr.symmetric,
                  .cpu = s->cpu};
}

static void add(float *restrict x, const float *restrict y, int64_t n)
{
    for (int64_t j = 0; j < n; j++) x[j] += y[j];
}

void HPC_ISA(cpu_matmul_finish)(const hpc_matmul_args *a, int64_t at, float *x, const float *bias,
                                float *spare, int64_t n)
{
    float alpha = (float)a->attr.alpha;

    if (alpha != 1 || a->bias.data)
        for (int64_t j = 0; j < n; j++) x[j] = alpha * x[j] + bias[j];
    if (a->pre.data) store(&a->pre, at, x, n);
    if (a->attr.act != HPC_ACT_NONE) HPC_WIDTH(cpu_activate)(x, x, n, a->attr.act);
    if (a->residual.data) add(x, load(spare, &a->residual, at, n), n);
    if (a->y.adds) add(x, load(spare, &a->y, at, n), n);
    store(&a->y, at, x, n);
}

/* Stores rows at.i + i .. of a tile, given in x, as columns also: the part below the diagonal. */
static void mirror_rows(const hpc_matmul_args *a, const shape *s, int64_t e, gemm_block at,
                        int64_t i, int64_t rows, const float *x)
{
    float turned[GEMM_COLS * MIRROR];
    int64_t first = at.i + i, whole = least(at.cols, first - at.j), base = e * s->m * s->n;

    if (whole > 0) {
        HPC_ISA(cpu_transpose)(turned, MIRROR, x, s->tile.n, rows, whole);
        for (int64_t j = 0; j < whole; j++)
            store(&a->y, base + (at.j + j) * s->n + first, turned + j * MIRROR, rows);
    }
    for (int64_t r = 1; r < rows; r++)
        for (int64_t j = whole > 0 ? whole : 0; j < at.cols && at.j + j < first + r; j++)
            store(&a->y, base + (at.j + j) * s->n + first + r, x + r * s->tile.n + j, 1);
}

/* Elements at .. at+n-1 are written soon: rows are too far apart for prefetchers of hardware. */
static void ask_for_row(const hpc_tensor *y, int64_t at, int64_t n)
{
    const char *to = element(y, at), *end = element(y, at + n);

    for (; to < end; to += HPC_ALIGN) __builtin_prefetch(to, 1);
}

/* Row i of entry e, among those of y. */
static int64_t y_row(const hpc_matmul_args *a, const shape *s, int64_t e, int64_t i)
{
    return (a->attr.trans_a ? e * s->m : row_of(s, e)) + i;
}

/* Rows of a block in x become what is stored. zeros, spare: as many floats as it has columns. */
static void finish_rows(const hpc_matmul_args *a, const shape *s, int64_t e, gemm_block at,
                        float *x, int64_t ld, float *zeros, float *spare)
{
    const float *bias = zeros;

    if (a->bias.data)
        bias = load(zeros, &a->bias, (a->bias.rank == 2 ? e * s->n : 0) + at.j, at.cols);
    else
        memset(zeros, 0, (size_t)at.cols * sizeof *zeros);
    /* What begins the last strip of a row is the same for all tiles: a loop's vectors and its tail
     * may round apart. */
    for (int64_t i = 0; i < at.rows; i++) {
        int64_t cols = a->attr.symmetric ? least(at.cols, at.i + i + 1 - at.j) : at.cols;
        if (i + 1 < at.rows) ask_for_row(&a->y, y_row(a, s, e, at.i + i + 1) * s->n + at.j, cols);
        for (int64_t j = 0, part; j < cols; j += part) {
            part = cols - j < GEMM_TILE_GRAIN ? cols - j : (cols - j) & -GEMM_TILE_GRAIN;
            HPC_ISA(cpu_matmul_finish)
            (a, y_row(a, s, e, at.i + i) * s->n + at.j + j, x + i * ld + j, bias + j, spare, part);
        }
    }
}

static void run_tile(const hpc_matmul_args *a, const shape *s, const gemm *g, int64_t e,
                     gemm_block at, float *scratch)
{
    float *tile = scratch + GEMM_SCRATCH, *zeros = tile + s->tile.m * s->tile.n;
    float *spare = zeros + s->tile.n;

    if (matmul_is_plain(a)) {
        float *y = (float *)a->y.data + y_row(a, s, e, at.i) * s->n + at.j;
        HPC_ISA(cpu_gemm)(y, s->n, g, at, false, scratch);
        return;
    }
    HPC_ISA(cpu_gemm)(tile, s->tile.n, g, at, false, scratch);
    finish_rows(a, s, e, at, tile, s->tile.n, zeros, spare);
    for (int64_t i = 0; i < at.rows && a->attr.symmetric; i += MIRROR)
        mirror_rows(a, s, e, at, i, least(MIRROR, at.rows - i), tile + i * s->tile.n);
}

static size_t scratch_floats(const shape *s)
{
    return GEMM_SCRATCH + (size_t)((s->tile.m + 2) * s->tile.n);
}

/* Computes this worker's share of so many entries. */
static void run_entries(const hpc_matmul_args *a, const shape *s, int64_t batch,
                        const hpc_launch *l)
{
    int64_t all = 0, lo, hi, m, k;

    if (s->tile.m == 0) return;
    for (int64_t e = 0; e < batch; e++) {
        live_extents(&m, &k, a, s, e);
        all += gemm_cost(s->tile, m, s->n);
    }
    hpc_share(&lo, &hi, all, 1, l->worker, l->workers);
    for (int64_t e = 0; e < batch && hi > 0; e++) {
        live_extents(&m, &k, a, s, e);
        gemm g = product_of(a, s, e, k);
        gemm_walk walk = {.tile = s->tile, .m = m, .n = s->n, .lo = lo, .hi = hi};
        gemm_block at = {0};
        while (gemm_next(&at, &walk)) run_tile(a, s, &g, e, at, l->cpu.worker);
        lo -= gemm_cost(s->tile, m, s->n);
        hi -= gemm_cost(s->tile, m, s->n);
    }
}

static int run(const hpc_launch *l, const void *args)
{
    const hpc_matmul_args *a = args;
    shape s = shape_of(a, l->workers, l->cpu.traits);
    int64_t batch = a->a.rank == 3 && a->a.ragged == 0 ? hpc_tensor_live(&a->a, 0) : s.batch;

    run_entries(a, &s, batch, l);
    return 0;
}

/* ---- groups of rows -------------------------------------------------------------- */

/* As a batch of products, one for each group. */
static hpc_matmul_args groups_of(const hpc_grouped_args *g)
{
    return (hpc_matmul_args){.y = g->y,
                             .a = g->a,
                             .b = g->b,
                             .attr = {.trans_a = g->attr.sum,
                                      .trans_b = g->attr.trans_b,
                                      .halves = g->attr.halves,
                                      .int8 = g->attr.int8,
                                      .alpha = 1}};
}

static shape shape_of_groups(const hpc_matmul_args *a, const hpc_tensor *start, int workers,
                             const hpc_cpu_traits *cpu)
{
    shape s = shape_of(a, workers, cpu);

    s.batch = a->attr.trans_a ? a->y.extent[0] : a->b.extent[0];
    s.start = start->data;
    return s;
}

static int run_groups(const hpc_launch *l, const void *args)
{
    const hpc_grouped_args *g = args;
    hpc_matmul_args a = groups_of(g);
    shape s = shape_of_groups(&a, &g->start, l->workers, l->cpu.traits);

    run_entries(&a, &s, s.batch, l);
    return 0;
}

/* ---- large ones ------------------------------------------------------------------ */

typedef struct whole { /* what finish_strip needs to know */
    const hpc_matmul_args *args;
    const shape *shape;
    int64_t entry;
} whole;

static void finish_strip(const gemm_job *job, gemm_block at, float *x, int64_t ld, float *spare)
{
    const whole *w = job->user;

    finish_rows(w->args, w->shape, w->entry, at, x, ld, spare, spare + at.cols);
}

/* Sums that continue from one part of k to the next need storage, which only y has. */
static bool holds_sums(const hpc_matmul_args *a)
{
    return (a->y.dtype == HPC_F32 || a->y.dtype == HPC_I32) && !a->y.adds;
}

static bool is_large(const hpc_matmul_args *a, const shape *s, int workers)
{
    gemm g = product_of(a, s, 0, s->k);
    bool ragged = a->a.ragged >= 0 || a->b.ragged >= 0 || a->y.ragged >= 0;
    bool fits = s->k <= COOP_K || holds_sums(a);

    return !ragged && fits && !a->attr.symmetric &&
           HPC_ISA(cpu_gemm_is_coop)(&g, s->m, s->n, s->k, workers);
}

static gemm_job job_of(const hpc_matmul_args *a, const shape *s, int64_t e)
{
    gemm_job job = {.g = product_of(a, s, e, s->k), .m = s->m, .n = s->n, .c_ld = s->n};

    if (holds_sums(a)) job.c = (float *)a->y.data + e * s->m * s->n;
    return job;
}

/* Operands that are touched only when all have met; the factor that is packed is before that, and
 * not looked at again. */
static unsigned late_operands(const gemm_job *job, const shape *s)
{
    enum { A = 1 << 2, B = 1 << 3, OTHERS = 1 << 0 | 1 << 1 | 1 << 4 | 1 << 5 };

    if (s->batch == 0) return 0;
    if (HPC_ISA(cpu_gemm_turns)(job)) return OTHERS | B;
    return gemm_is_direct(&job->g) ? OTHERS | A | B : OTHERS | A;
}

static int run_large(const hpc_launch *l, const void *args)
{
    const hpc_matmul_args *a = args;
    shape s = shape_of(a, l->workers, l->cpu.traits);

    for (int64_t e = 0; e < s.batch; e++) {
        whole w = {a, &s, e};
        gemm_job job = job_of(a, &s, e);
        if (!matmul_is_plain(a)) job.done = finish_strip, job.user = &w;
        HPC_ISA(cpu_gemm_together)(l, &job, l->cpu.worker);
    }
    return 0;
}

static int refuse(const char *why)
{
    return hpc_fail(HPC_E_UNSUPPORTED, "matmul_" HPC_ISA_TEXT " %s", why);
}

/* Sums of i8 are stored unscaled. */
static int check_bytes(const hpc_matmul_args *a)
{
    bool bytes = a->a.dtype == HPC_I8 && a->b.dtype == HPC_I8 && a->y.dtype == HPC_I32;

    if (!bytes || !matmul_is_plain(a)) return refuse("stores products of i8 as i32, and only so");
    return 0;
}

int HPC_ISA(cpu_matmul)(hpc_plan *p, int workers, const hpc_matmul_args *a)
{
    hpc_tensor b = a->b;
    bool bytes = a->a.dtype == HPC_I8;
    bool panel = b.pack == HPC_PANEL16 && a->attr.trans_b;

    if (panel && hpc_dtype_get((hpc_dtype)b.dtype)->quantised)
        return HPC_ISA(cpu_matmul_bytes)(p, workers, a);
    if (panel) b.pack = HPC_PLAIN;
    if (a->attr.int8) return refuse("takes int8 products of block formats in panels only");
    if (bytes && check_bytes(a) < 0) return HPC_E_UNSUPPORTED;
    unsigned takes = bytes              ? TAKES_I8
                     : !a->attr.trans_b ? TAKES_REAL
                     : panel            ? TAKES_REAL | 1 << HPC_F16
                                        : TAKES_WEIGHT;
    const operand_check check[] = {{"y", &a->y, bytes ? TAKES_I32 : TAKES_REAL},
                                   {"pre", &a->pre, TAKES_REAL},
                                   {"a", &a->a, bytes ? TAKES_I8 : TAKES_REAL},
                                   {"b", &b, takes},
                                   {"bias", &a->bias, TAKES_REAL},
                                   {"residual", &a->residual, TAKES_REAL},
                                   {0}};
    if (a->a.rank < 2 || a->a.rank > 3) return refuse("takes an operand a of rank 2 or 3 only");
    if (a->a.ragged == a->a.rank - 1) return refuse("does not take a ragged last extent of a");
    if (b.ragged == b.rank - 1 || (b.ragged == b.rank - 2 && a->attr.trans_b))
        return refuse("does not take an operand b of which n, or a transposed k, is ragged");
    shape s = shape_of(a, workers, p->cpu.traits);
    gemm_job job = job_of(a, &s, 0);
    hpc_plan plan = {.run = run,
                     .cpu.worker_bytes = scratch_floats(&s) * sizeof(float),
                     .name = "matmul_" HPC_ISA_TEXT};
    if (is_large(a, &s, workers)) {
        plan.run = run_large;
        plan.cpu.worker_bytes = HPC_ISA(cpu_gemm_coop_worker)(s.cpu, s.n);
        plan.cpu.coop_bytes = HPC_ISA(cpu_gemm_coop_bytes)(&job.g, s.n, s.k, workers);
        plan.cpu.after_barrier = late_operands(&job, &s);
    }
    return accept(p, plan, check);
}

int HPC_ISA(cpu_grouped)(hpc_plan *p, int workers, const hpc_grouped_args *g)
{
    hpc_matmul_args a = groups_of(g);
    hpc_tensor b = g->b;
    bool panel = b.pack == HPC_PANEL16 && g->attr.trans_b;

    if (g->attr.int8) return HPC_ISA(cpu_grouped_bytes)(p, workers, g);
    if (panel) b.pack = HPC_PLAIN;
    unsigned takes = g->attr.trans_b ? TAKES_REAL | 1 << HPC_F16 : TAKES_REAL;
    const operand_check check[] = {{"y", &g->y, TAKES_REAL},
                                   {"a", &g->a, TAKES_REAL},
                                   {"b", &b, takes},
                                   {"start", &g->start, TAKES_I32},
                                   {0}};
    shape s = shape_of_groups(&a, &g->start, workers, p->cpu.traits);
    return accept(p,
                  (hpc_plan){.run = run_groups,
                             .cpu.worker_bytes = scratch_floats(&s) * sizeof(float),
                             .name = "grouped_" HPC_ISA_TEXT},
                  check);
}
