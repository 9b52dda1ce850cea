/*
 * matmul_bytes.c: products with block formats: all workers round the rows once, then each computes
 * whole columns of tiles. A plain matrix is packed panel by panel when it is used, or read without
 * packing if it is multiplied by few rows.
 */
#include <string.h>

#include "runtime/device/cpu/kernels/bytes.h"
#include "runtime/device/cpu/kernels/matmul.h"
#include "runtime/device/cpu/kernels/priv.h"

enum {
    ROWS_MOST = 360 / BYTES_PANELS, /* of a tile: it stays in L1, and what is read of a in L2 */
    TILES_PER_WORKER = 4,
    LINE = 64
};

typedef struct shape {
    int64_t batch, m, n, k, panels;
    hpc_dtype b;
    bool plain;           /* b is not packed */
    const int32_t *start; /* first row of each group of rows; NULL: entries of m rows */
} shape;

/* The first row of entry e, among those of all entries. */
static int64_t row_of(const shape *s, int64_t e)
{
    return s->start ? s->start[e] : e * s->m;
}

static int64_t parts_of(int64_t n, int64_t part)
{
    return (n + part - 1) / part;
}

static shape shape_of(const hpc_matmul_args *a)
{
    const int64_t *extent = a->a.extent + a->a.rank - 2;
    int64_t n = hpc_tensor_cols(&a->y);

    return (shape){.batch = a->a.rank == 3 ? a->a.extent[0] : 1,
                   .m = extent[0],
                   .n = n,
                   .k = extent[1],
                   .panels = parts_of(n, BYTES_COLS),
                   .b = (hpc_dtype)a->b.dtype,
                   .plain = a->b.pack == HPC_PLAIN};
}

/* ---- memory: the rounded rows, then what each worker needs ---------------------------------- */

static size_t whole_lines(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

static size_t integer_bytes(const shape *s)
{
    return whole_lines((size_t)(s->batch * s->m * s->k) * sizeof(int16_t));
}

static size_t unit_bytes(const shape *s)
{
    return whole_lines((size_t)(s->batch * s->m * (s->k / BYTES_UNIT)) * sizeof(float));
}

static size_t tile_bytes(const shape *s)
{
    return (size_t)least(s->m, ROWS_MOST) * BYTES_COLS * BYTES_PANELS * sizeof(float);
}

static size_t panel_bytes(const shape *s)
{
    const hpc_dtype_info *info = hpc_dtype_get(s->b);

    return (size_t)(s->k / info->block) * info->block_bytes * BYTES_COLS;
}

/* Panels of a tile, or terms of columns, where b is plain. */
static size_t plain_bytes(const shape *s)
{
    size_t packed = BYTES_PANELS * panel_bytes(s);
    size_t terms = (size_t)bytes_terms(s->k) * BYTES_COLS * sizeof(float);

    return packed > terms ? packed : terms;
}

static size_t worker_bytes(const shape *s)
{
    return BYTES_SPARE + whole_lines(tile_bytes(s)) + (s->plain ? plain_bytes(s) : 0);
}

/* Those from row `first` of all entries on, which are rounded together. */
static byte_rows rows_at(const shape *s, void *workspace, int64_t first, int64_t live)
{
    char *scale = (char *)workspace + integer_bytes(s), *sum = scale + unit_bytes(s);

    byte_rows rows = HPC_ISA(cpu_bytes_rows)(s->b, live, s->k);
    rows.q = (int16_t *)workspace + first * s->k;
    rows.scale = (float *)scale + first * (s->k / BYTES_UNIT);
    rows.sum = (float *)sum + first * (s->k / BYTES_UNIT);
    return rows;
}

/* ---- running ------------------------------------------------------------------------------- */

static int64_t live_batch(const hpc_matmul_args *a, const shape *s)
{
    return a->a.rank == 3 && a->a.ragged == 0 ? hpc_tensor_live(&a->a, 0) : s->batch;
}

static int64_t live_rows(const hpc_matmul_args *a, const shape *s, int64_t e)
{
    int lead = a->a.rank - 2;

    if (s->start) return s->start[e + 1] - s->start[e];
    return a->a.ragged == lead ? hpc_tensor_live(&a->a, lead ? e : 0) : s->m;
}

/* True if m rows are rounded separately and multiplied by the plain b without packing it. */
static bool are_few(const shape *s, int64_t m)
{
    return s->plain && m <= BYTES_FEW;
}

/* Rows of a tile: as many as there may be while there are tiles enough for every worker, and in
 * each about as many. */
static int64_t tile_rows(const shape *s, int64_t m, int workers)
{
    int64_t parts = parts_of(m, ROWS_MOST), wanted = TILES_PER_WORKER * (int64_t)workers;
    int64_t wide = parts_of(s->panels, BYTES_PANELS);

    if (m == 0 || wide == 0) return BYTES_ROWS;
    if (parts * wide < wanted) parts = parts_of(wanted, wide);
    return parts_of(parts_of(m, parts), BYTES_ROWS) * BYTES_ROWS;
}

typedef struct corner { /* of a tile in y */
    const hpc_matmul_args *args;
    const shape *shape;
    int64_t entry, j;
    bool plain;
} corner;

/* Rows of all panels at once: a call for each is felt. */
static void finish_rows(const corner *to, int64_t i, int64_t rows, int panels, const float *x,
                        int64_t apart)
{
    enum { WIDE = BYTES_PANELS * BYTES_COLS };
    const hpc_matmul_args *a = to->args;
    const shape *s = to->shape;
    float buffer[WIDE] = {0}, spare[WIDE], row[WIDE];
    int64_t at = (row_of(s, to->entry) + i) * s->n + to->j;
    int64_t cols = least((int64_t)panels * BYTES_COLS, s->n - to->j);
    const float *bias = buffer;

    if (a->bias.data)
        bias = load(buffer, &a->bias, (a->bias.rank == 2 ? to->entry * s->n : 0) + to->j, cols);
    for (int64_t r = 0; r < rows; r++, at += s->n, x += BYTES_COLS) {
        for (int p = 0; p < panels; p++)
            memcpy(row + p * BYTES_COLS, x + p * apart, BYTES_COLS * sizeof *x);
        HPC_ISA(cpu_matmul_finish)(a, at, row, bias, spare, cols);
    }
}

static void finish(const byte_job *job, int64_t first, int64_t rows, float *x, int64_t apart)
{
    const corner *to = job->user;
    const shape *s = to->shape;
    int64_t i = job->i + first;

    if (!to->plain || to->j + (int64_t)job->panels * BYTES_COLS > s->n) {
        finish_rows(to, i, rows, job->panels, x, apart);
        return;
    }
    for (int p = 0; p < job->panels; p++, x += apart) {
        float *y = (float *)to->args->y.data + (row_of(s, to->entry) + i) * s->n + to->j;
        y += p * BYTES_COLS;
        for (int64_t r = 0; r < rows; r++)
            memcpy(y + r * s->n, x + r * BYTES_COLS, BYTES_COLS * sizeof *x); /* of known length */
    }
}

static void round_rows(const hpc_matmul_args *a, const shape *s, int64_t first, int64_t n,
                       const hpc_launch *l)
{
    byte_rows rows = rows_at(s, l->workspace, first, n);
    hpc_tensor at = a->a;
    int64_t lo, hi;

    at.data = element(&a->a, first * s->k);
    hpc_share(&lo, &hi, n * (s->k / BYTES_UNIT), 1, l->worker, l->workers);
    HPC_ISA(cpu_bytes_round)(&rows, &at, lo, hi);
}

static void round_entry(const hpc_matmul_args *a, const shape *s, int64_t e, const hpc_launch *l)
{
    int64_t m = live_rows(a, s, e), some = are_few(s, m) ? 1 : m;

    for (int64_t i = 0; i < m; i += some) round_rows(a, s, row_of(s, e) + i, some, l);
}

/* Panels j .. j+n-1 of entry e, whose matrix begins at b; plain rows are packed into `own`. */
static const void *panels_of(const shape *s, const char *b, int64_t j, int n, char *own)
{
    size_t bytes = panel_bytes(s), row = bytes / BYTES_COLS;
    char *to = own + BYTES_SPARE + whole_lines(tile_bytes(s));

    if (!s->plain) return b + (size_t)j * bytes;
    for (int p = 0; p < n; p++) {
        int64_t first = (j + p) * BYTES_COLS;
        hpc_quant_panel(to + (size_t)p * bytes, b + (size_t)first * row, s->b,
                        least(BYTES_COLS, s->n - first), s->k);
    }
    return to;
}

/* The matrix of entry e. */
static const char *matrix_of(const hpc_matmul_args *a, const shape *s, int64_t e)
{
    size_t row = panel_bytes(s) / BYTES_COLS;
    int64_t rows = s->plain ? s->n : s->panels * BYTES_COLS;

    return (const char *)a->b.data + (a->b.rank == 3 ? (size_t)(e * rows) * row : 0);
}

static void run_few(const hpc_matmul_args *a, const shape *s, int64_t e, int64_t m,
                    const hpc_launch *l)
{
    int64_t first = row_of(s, e), lo, hi;
    size_t row = panel_bytes(s) / BYTES_COLS;
    float x[BYTES_COLS] = {0}, *term = (float *)(l->cpu.worker + BYTES_SPARE);

    hpc_share(&lo, &hi, s->panels, 1, l->worker, l->workers);
    for (int64_t j = lo * BYTES_COLS; j < hi * BYTES_COLS; j += BYTES_COLS) {
        const uint8_t *b = (const uint8_t *)matrix_of(a, s, e) + (size_t)j * row;
        int64_t cols = least(BYTES_COLS, s->n - j);
        corner to = {a, s, e, j, false};
        for (int64_t i = 0; i < m; i++) {
            byte_rows rows = rows_at(s, l->workspace, first + i, 1);
            HPC_WIDTH(cpu_bytes_plain)(x, &rows, b, s->b, cols, term);
            finish_rows(&to, i, 1, 1, x, 0);
        }
    }
}

static void run_tiles(const hpc_matmul_args *a, const shape *s, int64_t e, int64_t m,
                      const hpc_launch *l)
{
    int64_t part = tile_rows(s, m, l->workers), parts, lo, hi;
    byte_rows rows = rows_at(s, l->workspace, row_of(s, e), m);
    const char *b = matrix_of(a, s, e);
    const void *panel = NULL;
    int64_t panel_j = -1;
    char *own = l->cpu.worker;
    float *x = (float *)(own + BYTES_SPARE);

    rows.fetch_far = l->cpu.traits->intel;
    parts = parts_of(m, part);
    hpc_share(&lo, &hi, parts * parts_of(s->panels, BYTES_PANELS), 1, l->worker, l->workers);
    for (int64_t at = lo; at < hi; at++) {
        int64_t j = at / parts * BYTES_PANELS, i = at % parts * part, n = least(part, m - i);
        int panels = (int)least(BYTES_PANELS, s->panels - j);
        if (j != panel_j) panel = panels_of(s, b, j, panels, own), panel_j = j;
        corner to = {a, s, e, j * BYTES_COLS, matmul_is_plain(a)};
        byte_job job = {.a = &rows,
                        .i = i,
                        .rows = n,
                        .panel = panel,
                        .panels = panels,
                        .b = s->b,
                        .done = finish,
                        .user = &to};
        if (to.plain && (j + job.panels) * BYTES_COLS <= s->n) {
            job.y = (float *)a->y.data + (row_of(s, e) + i) * s->n + j * BYTES_COLS;
            job.y_ld = s->n;
        }
        HPC_ISA(cpu_bytes)(&job, x, own);
    }
}

static void run_entry(const hpc_matmul_args *a, const shape *s, int64_t e, const hpc_launch *l)
{
    int64_t m = live_rows(a, s, e);

    if (m == 0) return;
    if (are_few(s, m))
        run_few(a, s, e, m, l);
    else
        run_tiles(a, s, e, m, l);
}

static void run_entries(const hpc_matmul_args *a, const shape *s, int64_t batch,
                        const hpc_launch *l)
{
    for (int64_t e = 0; e < batch; e++) round_entry(a, s, e, l);
    hpc_barrier_wait(l->barrier);
    for (int64_t e = 0; e < batch; e++) run_entry(a, s, e, l);
}

static int run(const hpc_launch *l, const void *args)
{
    const hpc_matmul_args *a = args;
    shape s = shape_of(a);

    run_entries(a, &s, live_batch(a, &s), l);
    return 0;
}

/* ---- groups of rows -------------------------------------------------------------- */

static hpc_matmul_args groups_of(const hpc_grouped_args *g)
{
    return (hpc_matmul_args){
        .y = g->y, .a = g->a, .b = g->b, .attr = {.trans_b = true, .int8 = true, .alpha = 1}};
}

static int run_groups(const hpc_launch *l, const void *args)
{
    const hpc_grouped_args *g = args;
    hpc_matmul_args a = groups_of(g);
    shape s = shape_of(&a);

    s.start = g->start.data;
    run_entries(&a, &s, g->b.extent[0], l);
    return 0;
}

int HPC_ISA(cpu_grouped_bytes)(hpc_plan *p, int workers, const hpc_grouped_args *g)
{
    hpc_matmul_args a = groups_of(g);
    hpc_tensor b = g->b;

    (void)workers;
    b.pack = HPC_PLAIN;
    const operand_check check[] = {{"y", &g->y, TAKES_REAL},
                                   {"a", &g->a, TAKES_REAL},
                                   {"b", &b, TAKES_BLOCKS},
                                   {"start", &g->start, TAKES_I32},
                                   {0}};
    if (!g->attr.trans_b || g->attr.sum)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "grouped_bytes_" HPC_ISA_TEXT " takes block formats by rows alone");
    shape s = shape_of(&a);
    return accept(p,
                  (hpc_plan){.run = run_groups,
                             .workspace = integer_bytes(&s) + 2 * unit_bytes(&s),
                             .cpu.worker_bytes = worker_bytes(&s),
                             .name = "grouped_bytes_" HPC_ISA_TEXT},
                  check);
}

int HPC_ISA(cpu_matmul_bytes)(hpc_plan *p, int workers, const hpc_matmul_args *a)
{
    hpc_tensor b = a->b;

    (void)workers;
    b.pack = HPC_PLAIN;
    const operand_check check[] = {{"y", &a->y, TAKES_REAL},
                                   {"pre", &a->pre, TAKES_REAL},
                                   {"a", &a->a, TAKES_REAL},
                                   {"b", &b, TAKES_BLOCKS},
                                   {"bias", &a->bias, TAKES_REAL},
                                   {"residual", &a->residual, TAKES_REAL},
                                   {0}};
    if (a->a.rank < 2 || a->a.rank > 3 || a->a.ragged == a->a.rank - 1 || b.ragged > 0 ||
        (b.ragged == 0 && b.rank < 3) || a->attr.trans_a || a->attr.symmetric || !a->attr.int8)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "matmul_bytes_" HPC_ISA_TEXT " takes plain int8 products alone");
    shape s = shape_of(a);
    size_t bytes = integer_bytes(&s) + 2 * unit_bytes(&s);
    return accept(p,
                  (hpc_plan){.run = run,
                             .workspace = bytes,
                             .cpu.worker_bytes = worker_bytes(&s),
                             .name = "matmul_bytes_" HPC_ISA_TEXT},
                  check);
}
