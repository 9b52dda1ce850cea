/*
 * product.c: the matrix product, alone and for groups of rows, and packing for it.
 */
#include "runtime/device/ref/priv.h"

/* Element (row, col) of the matrix [n,k] that is number `batch` of a PANEL16 tensor. */
static int64_t panel_at(const hpc_tensor *t, int64_t batch, int64_t row, int64_t col)
{
    int64_t n = extent_from_end(t, 2), k = extent_from_end(t, 1);
    int64_t padded = (n + 15) / 16 * 16;
    return (batch * padded + row / 16 * 16) * k + col * 16 + row % 16;
}

/* Elements k0..k0+n-1 along the summed dimension: of row i of op(a), column j of op(b). */
static void load_a(double *dst, const hpc_matmul_args *g, int64_t batch, int64_t i, int64_t k0,
                   int64_t n)
{
    const hpc_tensor *a = &g->a;
    int64_t rows = extent_from_end(a, 2), cols = extent_from_end(a, 1), base = batch * rows * cols;
    if (g->attr.trans_a) {
        hpc_ref_load(dst, a, base + k0 * cols + i, cols, n);
    } else {
        hpc_ref_load(dst, a, base + i * cols + k0, 1, n);
    }
}

/* The same of a block format in panels, from the start of a block: n elements of row `row`. */
static void load_panel_blocks(double *dst, const hpc_tensor *t, int64_t batch, int64_t row,
                              int64_t k0, int64_t n)
{
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)t->dtype);
    int64_t first = panel_at(t, batch, row / 16 * 16, 0) / info->block;
    const uint8_t *panel = (const uint8_t *)t->data + (size_t)first * info->block_bytes;
    uint8_t block[REF_CHUNK];
    float x[REF_CHUNK];

    for (int64_t e = 0; e < n; e++) {
        int64_t within = e % info->block;
        if (within == 0) {
            hpc_quant_from_panel(block, panel, (hpc_dtype)t->dtype, row % 16,
                                 (k0 + e) / info->block);
            hpc_quant_unpack(x, block, (hpc_dtype)t->dtype, info->block);
        }
        dst[e] = x[within];
    }
}

static void load_b(double *dst, const hpc_matmul_args *g, int64_t batch, int64_t j, int64_t k0,
                   int64_t n)
{
    const hpc_tensor *b = &g->b;
    int64_t rows = extent_from_end(b, 2), cols = extent_from_end(b, 1);
    int64_t base = b->rank == 3 ? batch * rows * cols : 0;
    if (b->pack == HPC_PANEL16 && hpc_dtype_get((hpc_dtype)b->dtype)->quantised) {
        load_panel_blocks(dst, b, b->rank == 3 ? batch : 0, j, k0, n);
    } else if (b->pack == HPC_PANEL16) {
        hpc_ref_load(dst, b, panel_at(b, b->rank == 3 ? batch : 0, j, k0), 16, n);
    } else if (g->attr.trans_b) {
        hpc_ref_load(dst, b, base + j * cols + k0, 1, n);
    } else {
        hpc_ref_load(dst, b, base + k0 * cols + j, cols, n);
    }
}

/* n sums of row i of op(a) by the columns j.. of op(b), each from its first term to its last. */
static void dots(double *sum, const hpc_matmul_args *g, int64_t batch, int64_t i, int64_t j,
                 int64_t n, int64_t k)
{
    double left[REF_CHUNK], right[REF_CHUNK];
    for (int64_t e = 0; e < n; e++) sum[e] = 0;
    for (int64_t k0 = 0; k0 < k; k0 += REF_CHUNK) {
        int64_t terms = least(REF_CHUNK, k - k0);
        load_a(left, g, batch, i, k0, terms);
        for (int64_t e = 0; e < n; e++) {
            load_b(right, g, batch, j + e, k0, terms);
            double s = sum[e];
            for (int64_t q = 0; q < terms; q++) s += left[q] * right[q];
            sum[e] = s;
        }
    }
}

/* Number of terms in the sums of a batch entry: the live depth of a and of b. */
static int64_t live_depth(const hpc_matmul_args *g, int64_t batch)
{
    const hpc_tensor *a = &g->a, *b = &g->b;
    int64_t k = g->attr.trans_a ? hpc_ref_live(a, a->rank - 2, batch) : extent_from_end(a, 1);
    if (g->attr.trans_b) return k;
    return least(k, hpc_ref_live(b, b->rank - 2, b->rank == 3 ? batch : 0));
}

/* Element (i,j) of y is stored; for a symmetric product as (j,i), too, which is element `other`. */
static void mirror(const hpc_tensor *y, int64_t at, int64_t other)
{
    if (other != at) hpc_ref_set(y, other, hpc_ref_get(y, at));
}

static int matmul_run(const hpc_launch *l, const void *args)
{
    const hpc_matmul_args *g = args;
    const hpc_tensor *a = &g->a;
    int64_t m = extent_from_end(&g->y, 2), n = extent_from_end(&g->y, 1), lo, hi;
    double sum[REF_CHUNK];
    share_rows(&lo, &hi, &g->y, l);
    for (int64_t r = lo; r < hi; r++) {
        int64_t batch = r / m, i = r % m;
        if (a->rank == 3 && batch >= hpc_ref_live(a, 0, 0)) continue;
        if (!g->attr.trans_a && i >= hpc_ref_live(a, a->rank - 2, batch)) continue;
        int64_t k = live_depth(g, batch), cols = g->attr.symmetric ? i + 1 : n;
        for (int64_t j = 0; j < cols; j++) {
            if (j % REF_CHUNK == 0) dots(sum, g, batch, i, j, least(REF_CHUNK, cols - j), k);
            double v = g->attr.alpha * sum[j % REF_CHUNK];
            if (present(&g->bias))
                v += hpc_ref_get(&g->bias, (g->bias.rank == 2 ? batch * n : 0) + j);
            if (present(&g->pre)) hpc_ref_set(&g->pre, r * n + j, v);
            v = hpc_ref_act(g->attr.act, v);
            if (present(&g->residual)) v += hpc_ref_get(&g->residual, r * n + j);
            hpc_ref_put(&g->y, r * n + j, v);
            if (g->attr.symmetric) mirror(&g->y, r * n + j, (batch * m + j) * n + i);
        }
    }
    return 0;
}

int hpc_ref_matmul(hpc_plan *p, int workers, const hpc_matmul_args *a)
{
    (void)workers;
    bool block = hpc_dtype_get((hpc_dtype)a->b.dtype)->quantised || a->b.pack == HPC_PANEL16;
    if (block && !a->attr.trans_b) {
        char text[96];
        return hpc_fail(HPC_E_UNSUPPORTED, "matmul: b %s must be used transposed",
                        hpc_tensor_text(text, &a->b));
    }
    return ref_plan(p, matmul_run, "ref_matmul");
}

/* ---- groups of rows ------------------------------------------------------------ */

/* The matrices of group e as a product on their own. */
static hpc_matmul_args group_of(const hpc_grouped_args *g, int64_t e)
{
    int64_t first = hpc_ref_index(&g->start, e), n = hpc_ref_index(&g->start, e + 1) - first;
    hpc_matmul_args m = {.y = g->y,
                         .pre = {.rank = -1},
                         .a = g->a,
                         .b = g->b,
                         .bias = {.rank = -1},
                         .residual = {.rank = -1},
                         .attr = {.trans_a = g->attr.sum, .trans_b = g->attr.trans_b, .alpha = 1}};
    hpc_tensor *by_row[] = {&m.a, g->attr.sum ? &m.b : &m.y};
    for (int k = 0; k < 2; k++) {
        size_t bytes = hpc_dtype_get((hpc_dtype)by_row[k]->dtype)->block_bytes;
        by_row[k]->data = (char *)by_row[k]->data + (size_t)(first * by_row[k]->extent[1]) * bytes;
        by_row[k]->extent[0] = n;
        by_row[k]->ragged = -1;
    }
    return m;
}

/* Element (i,j) of group e: element r of y. */
static double group_element(const hpc_grouped_args *g, const hpc_matmul_args *m, int64_t e,
                            int64_t i, int64_t j)
{
    hpc_matmul_args one = *m;
    double sum;
    if (!g->attr.sum) { /* dots() takes entry 0 of a, and the group's of b */
        int64_t n = extent_from_end(&g->b, 2), k = extent_from_end(&g->b, 1);
        const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)g->b.dtype);
        if (g->b.pack == HPC_PANEL16) n = (n + 15) / 16 * 16;
        one.b.data = (char *)one.b.data + (size_t)(e * n * k / info->block) * info->block_bytes;
        one.b.rank = 2;
        one.b.extent[0] = g->b.extent[1];
        one.b.extent[1] = k;
    }
    dots(&sum, &one, 0, i, j, 1, g->attr.sum ? m->a.extent[0] : m->a.extent[1]);
    return sum;
}

static int grouped_run(const hpc_launch *l, const void *args)
{
    const hpc_grouped_args *g = args;
    int64_t groups = g->attr.sum ? g->y.extent[0] : g->b.extent[0];
    int64_t n = extent_from_end(&g->y, 1), row = 0;
    for (int64_t e = 0; e < groups; e++) {
        hpc_matmul_args m = group_of(g, e);
        int64_t rows = g->attr.sum ? g->a.extent[1] : m.a.extent[0], lo, hi;
        hpc_share(&lo, &hi, rows, 1, l->worker, l->workers);
        for (int64_t i = lo; i < hi; i++)
            for (int64_t j = 0; j < n; j++)
                hpc_ref_put(&g->y, (row + i) * n + j, group_element(g, &m, e, i, j));
        row += rows;
    }
    return 0;
}

int hpc_ref_grouped(hpc_plan *p, int workers, const hpc_grouped_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, grouped_run, "ref_grouped");
}

/* ---- packing ------------------------------------------------------------------- */

static int pack_blocks_run(const hpc_launch *l, const void *args)
{
    const hpc_pack_args *g = args;
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)g->x.dtype);
    int64_t n = extent_from_end(&g->x, 2), k = extent_from_end(&g->x, 1), panels = (n + 15) / 16;
    int64_t batches = g->x.rank == 3 ? g->x.extent[0] : 1, lo, hi;
    size_t row = (size_t)(k / info->block) * info->block_bytes;

    hpc_share(&lo, &hi, batches * panels, 1, l->worker, l->workers);
    for (int64_t at = lo; at < hi; at++) {
        int64_t first = at % panels * 16;
        hpc_quant_panel((uint8_t *)g->y.data + (size_t)at * 16 * row,
                        (const uint8_t *)g->x.data + (size_t)(at / panels * n + first) * row,
                        (hpc_dtype)g->x.dtype, least(16, n - first), k);
    }
    return 0;
}

static int pack_run(const hpc_launch *l, const void *args)
{
    const hpc_pack_args *g = args;
    int64_t n = extent_from_end(&g->x, 2), k = extent_from_end(&g->x, 1),
            padded = (n + 15) / 16 * 16;
    int64_t batches = g->x.rank == 3 ? g->x.extent[0] : 1, lo, hi;
    hpc_share(&lo, &hi, batches * padded, 16, l->worker, l->workers);
    for (int64_t r = lo; r < hi; r++) {
        int64_t batch = r / padded, row = r % padded;
        for (int64_t c = 0; c < k; c++) {
            double v = row < n ? hpc_ref_get(&g->x, (batch * n + row) * k + c) : 0;
            hpc_ref_set(&g->y, panel_at(&g->y, batch, row, c), v);
        }
    }
    return 0;
}

int hpc_ref_pack(hpc_plan *p, int workers, const hpc_pack_args *a)
{
    (void)workers;
    bool blocks = hpc_dtype_get((hpc_dtype)a->x.dtype)->quantised;
    return ref_plan(p, blocks ? pack_blocks_run : pack_run, "ref_pack");
}
