/*
 * gather.c: rows gathered by index, and scattered or added by index. A row of y receives its terms
 * in the order of x's rows: worker 0 first links the rows of x that go to the same row of y; then
 * every worker, for its columns, sums along the links in f32 and rounds once. Rows that are set
 * need no links: each worker sets those of its part of y in order, and the last one stays. So the
 * cost of a token depends on the bytes written, not on the length of the cache.
 */
#include "runtime/device/cpu/kernels/priv.h"

static int past_the_end(const hpc_launch *l, const char *op, int64_t index, int64_t at,
                        int64_t rows)
{
    return hpc_kernel_fault(
        l, &(hpc_fault){.kind = HPC_FAULT_ROW, .at.op = op, .number = {index, at, rows}});
}

/* Lengths that are known here need no call. */
static inline void copy_bytes(char *restrict dst, const char *restrict src, size_t n)
{
    switch (n) {
    case 2: memcpy(dst, src, 2); break;
    case 4: memcpy(dst, src, 4); break;
    case 8: memcpy(dst, src, 8); break;
    default: memcpy(dst, src, n);
    }
}

/* ---- gather --------------------------------------------------------------------------- */

static void gather_row(const hpc_gather_args *a, int64_t to, int64_t from, int64_t cols)
{
    float buffer[CHUNK];

    for (int64_t c = 0; c < cols; c += CHUNK) {
        int64_t n = least(CHUNK, cols - c), at = to * cols + c;
        store(&a->y, at, load(place(buffer, &a->y, at), &a->x, from * cols + c, n), n);
    }
}

/* The same of panels: pieces of a row are put together first. */
static void gather_from_panels(const hpc_gather_args *a, int64_t to, int64_t from, int64_t cols)
{
    float buffer[CHUNK], piece[CHUNK];
    hpc_tensor x = a->x;
    x.data = piece;

    for (int64_t c = 0; c < cols; c += CHUNK) {
        int64_t n = least(CHUNK, cols - c), at = to * cols + c;
        hpc_panel16_row(piece, a->x.data, (hpc_dtype)x.dtype, cols, from, c, n);
        store(&a->y, at, load(place(buffer, &a->y, at), &x, 0, n), n);
    }
}

static int gather_run(const hpc_launch *l, const void *args)
{
    const hpc_gather_args *a = args;
    const int32_t *index = a->index.data;
    int64_t cols = hpc_tensor_cols(&a->x), rows = hpc_tensor_rows(&a->x), lo, hi;
    size_t bytes = (size_t)cols * hpc_dtype_get((hpc_dtype)a->y.dtype)->block_bytes;
    bool same = a->x.dtype == a->y.dtype;
    char *y = a->y.data;
    const char *x = a->x.data;

    hpc_share(&lo, &hi, hpc_tensor_n(&a->index), 1, l->worker, l->workers);
    for (stretch s; (s = live_from(&a->index, lo, hi)).n > 0; lo = s.at + s.n) {
        for (int64_t i = s.at; i < s.at + s.n; i++) {
            int64_t from = hpc_part_row(index[i], a->attr.first, a->attr.rows, rows);
            if (from == HPC_PART_PAST) return past_the_end(l, "gather", index[i], i, rows);
            if (from < 0)
                memset(y + (size_t)i * bytes, 0, bytes);
            else if (same && a->x.pack == HPC_PANEL16)
                hpc_panel16_row(y + (size_t)i * bytes, x, (hpc_dtype)a->x.dtype, cols, from, 0,
                                cols);
            else if (a->x.pack == HPC_PANEL16)
                gather_from_panels(a, i, from, cols);
            else if (same)
                copy_bytes(y + (size_t)i * bytes, x + (size_t)from * bytes, bytes);
            else
                gather_row(a, i, from, cols);
        }
    }
    return 0;
}

int HPC_WIDTH(cpu_gather)(hpc_plan *p, int workers, const hpc_gather_args *a)
{
    hpc_tensor x = a->x;

    (void)workers;
    x.pack = HPC_PLAIN; /* or in panels */
    return accept(p, (hpc_plan){.run = gather_run, .name = "gather_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"x", &x, TAKES_WEIGHT},
                                          {"index", &a->index, TAKES_I32},
                                          {0}});
}

/* ---- scatter -------------------------------------------------------------------------- */

/* In the workspace: for each row of y the last row of x that goes there, or -1; for each such row
 * of x the next one, the last one's being the first. `rc` tells all workers what worker 0 found. */
typedef struct rings {
    int32_t *rc, *last, *next;
} rings;

static rings rings_in(void *workspace, int64_t y_rows)
{
    int32_t *at = workspace;

    return (rings){at, at + 1, at + 1 + y_rows};
}

static int link_rings(const hpc_launch *l, const rings *w, const hpc_scatter_args *a)
{
    const int32_t *index = a->index.data;
    int64_t rows = hpc_tensor_rows(&a->y), from = 0, end = hpc_tensor_n(&a->index);

    for (int64_t r = 0; r < rows; r++) w->last[r] = -1;
    for (stretch s; (s = live_from(&a->index, from, end)).n > 0; from = s.at + s.n) {
        for (int64_t i = s.at; i < s.at + s.n; i++) {
            int64_t to = hpc_part_row(index[i], a->attr.first, a->attr.rows, rows);
            if (to == HPC_PART_PAST) return past_the_end(l, "scatter", index[i], i, rows);
            if (to < 0) continue;
            int32_t *last = w->last + to;
            w->next[i] = *last < 0 ? (int32_t)i : w->next[*last];
            if (*last >= 0) w->next[*last] = (int32_t)i;
            *last = (int32_t)i;
        }
    }
    return 0;
}

/* Rows of y that nothing is added to are zero, where y does not add: most of a vocabulary. Runs of
 * them are cleared at once, for which memset need not read what it overwrites. */
static void clear_others(const hpc_launch *l, const hpc_scatter_args *a, const rings *w)
{
    size_t bytes =
        (size_t)hpc_tensor_cols(&a->y) * hpc_dtype_get((hpc_dtype)a->y.dtype)->block_bytes;
    int64_t r, end;

    hpc_share(&r, &end, hpc_tensor_rows(&a->y), 1, l->worker, l->workers);
    if (a->y.ragged == 0) end = least(end, hpc_tensor_live(&a->y, 0));
    for (int64_t from = r; r <= end; r++) {
        if (r < end && w->last[r] < 0) continue;
        if (r > from)
            memset((char *)a->y.data + (size_t)from * bytes, 0, (size_t)(r - from) * bytes);
        from = r + 1;
    }
}

/* Row r of y, n <= CHUNK columns from c on. */
static void add_row(const hpc_scatter_args *a, const rings *w, int64_t r, int64_t c, int64_t n)
{
    int64_t cols = hpc_tensor_cols(&a->y), at = r * cols + c, last = w->last[r];
    float sum[CHUNK] = {0}, buffer[CHUNK];

    if (a->y.adds) memcpy(sum, load(buffer, &a->y, at, n), (size_t)n * sizeof *sum);
    for (int64_t i = last;;) {
        i = w->next[i];
        const float *x = load(buffer, &a->x, i * cols + c, n);
#pragma omp simd
        for (int64_t k = 0; k < n; k++) sum[k] += x[k];
        if (i == last) break;
    }
    store(&a->y, at, sum, n);
}

/* What of y is a worker's. */
typedef struct part {
    int64_t r, r_end, c, c_end;
} part;

static part part_of(const hpc_launch *l, const hpc_tensor *y)
{
    int64_t cols = hpc_tensor_cols(y);
    bool wide = cols >= (int64_t)SLAB * l->workers; /* else whole rows are shared out */
    part p;

    hpc_share(&p.r, &p.r_end, hpc_tensor_rows(y), 1, wide ? 0 : l->worker, wide ? 1 : l->workers);
    hpc_share(&p.c, &p.c_end, cols, SLAB, wide ? l->worker : 0, wide ? l->workers : 1);
    return p;
}

static int scatter_add_run(const hpc_launch *l, const void *args)
{
    const hpc_scatter_args *a = args;
    rings w = rings_in(l->workspace, hpc_tensor_rows(&a->y));
    part p = part_of(l, &a->y);

    if (l->worker == 0) *w.rc = link_rings(l, &w, a);
    hpc_barrier_wait(l->barrier);
    if (*w.rc < 0)
        return l->worker == 0 ? *w.rc : hpc_fail(HPC_E_ABORTED, "scatter: worker 0 failed first");
    if (!a->y.adds) clear_others(l, a, &w);
    for (int64_t r = p.r; r < p.r_end; r++)
        for (int64_t c = p.c; c < p.c_end && w.last[r] >= 0; c += CHUNK)
            add_row(a, &w, r, c, least(CHUNK, p.c_end - c));
    return 0;
}

/* All workers look, so that none writes before another finds that nothing is to be written. */
static int check_index(const hpc_launch *l, const hpc_scatter_args *a)
{
    const int32_t *index = a->index.data;
    int64_t rows = hpc_tensor_rows(&a->y), from = 0, end = hpc_tensor_n(&a->index);

    for (stretch s; (s = live_from(&a->index, from, end)).n > 0; from = s.at + s.n)
        for (int64_t i = s.at; i < s.at + s.n; i++)
            if (index[i] >= rows) return past_the_end(l, "scatter", index[i], i, rows);
    return 0;
}

static int scatter_set_run(const hpc_launch *l, const void *args)
{
    const hpc_scatter_args *a = args;
    const int32_t *index = a->index.data;
    int64_t cols = hpc_tensor_cols(&a->y), from = 0, end = hpc_tensor_n(&a->index);
    part p = part_of(l, &a->y);
    float buffer[CHUNK];
    int rc = check_index(l, a);

    if (rc < 0) return rc;
    for (stretch s; (s = live_from(&a->index, from, end)).n > 0; from = s.at + s.n)
        for (int64_t i = s.at; i < s.at + s.n; i++) {
            if (index[i] < p.r || index[i] >= p.r_end) continue;
            for (int64_t c = p.c; c < p.c_end; c += CHUNK) {
                int64_t n = least(CHUNK, p.c_end - c), at = index[i] * cols + c;
                store(&a->y, at, load(place(buffer, &a->y, at), &a->x, i * cols + c, n), n);
            }
        }
    return 0;
}

int HPC_WIDTH(cpu_scatter)(hpc_plan *p, int workers, const hpc_scatter_args *a)
{
    int64_t rows = hpc_tensor_rows(&a->y), n = hpc_tensor_n(&a->index);
    bool adds = a->attr.mode == HPC_SCATTER_ADD;

    (void)workers;
    if (n > INT32_MAX)
        return hpc_fail(HPC_E_UNSUPPORTED, "scatter takes at most 2^31 rows, x has %lld",
                        (long long)n);
    return accept(p,
                  (hpc_plan){.run = adds ? scatter_add_run : scatter_set_run,
                             .workspace = adds ? (size_t)(1 + rows + n) * sizeof(int32_t) : 0,
                             .name = "scatter_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"x", &a->x, TAKES_REAL},
                                          {"index", &a->index, TAKES_I32},
                                          {0}});
}
