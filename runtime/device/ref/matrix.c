/*
 * matrix.c: linear combinations of matrices, element-wise functions, and matrices as blocks.
 */
#include "runtime/device/ref/priv.h"

/* ---- combine ----------------------------------------------------------------- */

/* a s of matrix k. */
static double factor(const hpc_tensor *s, double a, int64_t k)
{
    return present(s) ? a * hpc_ref_get(s, s->rank > 0 ? k : 0) : a;
}

static int combine_run(const hpc_launch *l, const void *args)
{
    const hpc_combine_args *g = args;
    const hpc_combine_attr *t = &g->attr;
    int64_t cols = hpc_tensor_cols(&g->y), lo, hi;
    int64_t rows = g->y.rank > 1 ? extent_from_end(&g->y, 2) : 1;
    share_rows(&lo, &hi, &g->y, l);
    for (int64_t r = lo; r < hi; r++)
        for (int64_t c = 0; c < cols; c++) {
            int64_t k = g->y.rank == 3 ? r / rows : 0, at = r * cols + c;
            int64_t turned = k * rows * cols + c * rows + r % rows;
            double y = t->a0 != 0 && r % rows == c ? factor(&g->s0, t->a0, k) : 0;
            if (present(&g->x1)) y += factor(&g->s1, t->a1, k) * hpc_ref_get(&g->x1, at);
            if (present(&g->x2))
                y += factor(&g->s2, t->a2, k) * hpc_ref_get(&g->x2, t->trans ? turned : at);
            hpc_ref_set(&g->y, at, y);
        }
    return 0;
}

int hpc_ref_combine(hpc_plan *p, int workers, const hpc_combine_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, combine_run, "ref_combine");
}

/* ---- map --------------------------------------------------------------------- */

static double mapped(const hpc_map_attr *t, double x)
{
    if (t->guarded && (x == 0 || !isfinite(x))) return t->other;
    double y = t->alpha * pow(x, t->power) + t->beta;
    if (t->lo == 0 && t->hi == 0) return y;
    return y < t->lo ? t->lo : y > t->hi ? t->hi : y;
}

static int map_run(const hpc_launch *l, const void *args)
{
    const hpc_map_args *g = args;
    int64_t cols = hpc_tensor_cols(&g->x), lo, hi;
    share_rows(&lo, &hi, &g->x, l);
    for (int64_t i = lo * cols; i < hi * cols; i++)
        hpc_ref_set(&g->y, i, mapped(&g->attr, hpc_ref_get(&g->x, i)));
    return 0;
}

int hpc_ref_map(hpc_plan *p, int workers, const hpc_map_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, map_run, "ref_map");
}

/* ---- tile -------------------------------------------------------------------- */

static int tile_run(const hpc_launch *l, const void *args)
{
    const hpc_tile_args *g = args;
    const hpc_tensor *blocks = g->attr.inverse ? &g->x : &g->y;
    const hpc_tensor *whole = g->attr.inverse ? &g->y : &g->x;
    int64_t rows = blocks->extent[1], cols = blocks->extent[2], n = hpc_tensor_cols(whole), lo, hi;
    share_rows(&lo, &hi, blocks, l);
    for (int64_t r = lo; r < hi; r++)
        for (int64_t c = 0; c < cols; c++) {
            int64_t block = r / rows, row = block / (n / cols) * rows + r % rows;
            int64_t in_block = r * cols + c, in_whole = row * n + block % (n / cols) * cols + c;
            if (g->attr.inverse)
                hpc_ref_set(&g->y, in_whole, hpc_ref_get(&g->x, in_block));
            else
                hpc_ref_set(&g->y, in_block, hpc_ref_get(&g->x, in_whole));
        }
    return 0;
}

int hpc_ref_tile(hpc_plan *p, int workers, const hpc_tile_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, tile_run, "ref_tile");
}

/* ---- bundle ------------------------------------------------------------------ */

static int bundle_run(const hpc_launch *l, const void *args)
{
    const hpc_bundle_args *g = args;
    int64_t at = 0;
    for (int64_t part = 0; l->worker == 0 && part < g->attr.parts; part++)
        for (int k = 0; k < HPC_BUNDLE_MAX && present(&g->x[k]); k++) {
            int64_t n = hpc_tensor_n(&g->x[k]) / g->attr.parts;
            for (int64_t e = 0; e < n; e++)
                hpc_ref_set(&g->y, at++, hpc_ref_get(&g->x[k], part * n + e));
        }
    return 0;
}

int hpc_ref_bundle(hpc_plan *p, int workers, const hpc_bundle_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, bundle_run, "ref_bundle");
}
