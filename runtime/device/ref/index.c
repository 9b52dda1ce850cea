/*
 * index.c: rows gathered and scattered by index, and tokens sorted into groups.
 */
#include "runtime/device/ref/priv.h"

static int row_check(const char *op, int64_t at, const hpc_tensor *index, int64_t i, int64_t rows)
{
    if (at != HPC_PART_PAST) return 0;
    return hpc_fail(HPC_E_ARG, "%s: index %lld at %lld is past the %lld rows", op,
                    (long long)hpc_ref_index(index, i), (long long)i, (long long)rows);
}

/* Elements c .. c+n-1 of row `row`. */
static void load_row(double *dst, const hpc_tensor *x, int64_t row, int64_t c, int64_t n)
{
    int64_t cols = hpc_tensor_cols(x);
    double plain[REF_CHUNK];
    hpc_tensor t = *x;
    t.data = plain;
    if (x->pack == HPC_PANEL16)
        hpc_panel16_row(plain, x->data, (hpc_dtype)x->dtype, cols, row, c, n);
    hpc_ref_load(dst, x->pack == HPC_PANEL16 ? &t : x, x->pack == HPC_PANEL16 ? 0 : row * cols + c,
                 1, n);
}

static int gather_run(const hpc_launch *l, const void *args)
{
    const hpc_gather_args *g = args;
    int64_t cols = hpc_tensor_cols(&g->x), rows = hpc_tensor_rows(&g->x), lo, hi;
    double chunk[REF_CHUNK] = {0};
    share_rows(&lo, &hi, &g->y, l);
    for (int64_t r = lo; r < hi; r++) {
        if (!hpc_ref_element_live(&g->index, r)) continue;
        int64_t at = hpc_part_row(hpc_ref_index(&g->index, r), g->attr.first, g->attr.rows, rows);
        int rc = row_check("gather", at, &g->index, r, g->attr.rows ? g->attr.rows : rows);
        if (rc < 0) return rc;
        for (int64_t c = 0; c < cols; c += REF_CHUNK) {
            int64_t n = least(REF_CHUNK, cols - c);
            if (at >= 0) load_row(chunk, &g->x, at, c, n);
            for (int64_t e = 0; e < n; e++) {
                hpc_ref_set(&g->y, r * cols + c + e, at >= 0 ? chunk[e] : 0);
            }
        }
    }
    return 0;
}

int hpc_ref_gather(hpc_plan *p, int workers, const hpc_gather_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, gather_run, "ref_gather");
}

static int64_t target_of(const hpc_scatter_args *g, int64_t i)
{
    return hpc_part_row(hpc_ref_index(&g->index, i), g->attr.first, g->attr.rows,
                        hpc_tensor_rows(&g->y));
}

static int indices_check(const hpc_scatter_args *g)
{
    int64_t n = hpc_tensor_n(&g->index), rows = hpc_tensor_rows(&g->y);
    for (int64_t i = 0; i < n; i++) {
        if (!hpc_ref_element_live(&g->index, i)) continue;
        int rc =
            row_check("scatter", target_of(g, i), &g->index, i, g->attr.rows ? g->attr.rows : rows);
        if (rc < 0) return rc;
    }
    return 0;
}

/* What row r of y gets at column c; *any tells whether a row of x goes there at all. */
static double scattered(const hpc_scatter_args *g, int64_t r, int64_t c, bool *any)
{
    int64_t n = hpc_tensor_n(&g->index), cols = hpc_tensor_cols(&g->x);
    double sum = 0;
    *any = false;
    for (int64_t i = 0; i < n; i++) {
        if (!hpc_ref_element_live(&g->index, i) || target_of(g, i) != r) continue;
        double v = hpc_ref_get(&g->x, i * cols + c);
        sum = g->attr.mode == HPC_SCATTER_ADD ? sum + v : v;
        *any = true;
    }
    return sum;
}

static int scatter_run(const hpc_launch *l, const void *args)
{
    const hpc_scatter_args *g = args;
    int64_t cols = hpc_tensor_cols(&g->y), lo, hi;
    int rc = indices_check(g);
    if (rc < 0) return rc;
    share_rows(&lo, &hi, &g->y, l);
    for (int64_t r = lo; r < hi; r++) {
        for (int64_t c = 0; c < cols && hpc_ref_element_live(&g->y, r * cols); c++) {
            bool any;
            double v = scattered(g, r, c, &any);
            if (g->attr.mode == HPC_SCATTER_ADD) {
                hpc_ref_put(&g->y, r * cols + c, v);
            } else if (any) {
                hpc_ref_set(&g->y, r * cols + c, v);
            }
        }
    }
    return 0;
}

int hpc_ref_scatter(hpc_plan *p, int workers, const hpc_scatter_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, scatter_run, "ref_scatter");
}

static int route_group(const hpc_route_args *g, int64_t e)
{
    int64_t tokens = hpc_ref_live(&g->group, 0, 0), n = 0;
    for (int64_t t = 0; t < tokens; t++) {
        if (hpc_ref_index(&g->group, t) != e) continue;
        if (n == g->attr.cap) {
            return hpc_fail(HPC_E_ARG, "route: group %lld has more than %lld tokens", (long long)e,
                            (long long)g->attr.cap);
        }
        hpc_ref_set(&g->index, e * g->attr.cap + n++, (double)t);
    }
    hpc_ref_set(&g->count, e, (double)n);
    return 0;
}

static int route_run(const hpc_launch *l, const void *args)
{
    const hpc_route_args *g = args;
    int64_t tokens = hpc_ref_live(&g->group, 0, 0), lo, hi;
    for (int64_t t = 0; t < tokens; t++) {
        int64_t e = hpc_ref_index(&g->group, t);
        if (e < g->attr.groups) continue;
        return hpc_fail(HPC_E_ARG, "route: token %lld goes to group %lld of %lld", (long long)t,
                        (long long)e, (long long)g->attr.groups);
    }
    hpc_share(&lo, &hi, g->attr.groups, 1, l->worker, l->workers);
    for (int64_t e = lo; e < hi; e++) {
        int rc = route_group(g, e);
        if (rc < 0) return rc;
    }
    return 0;
}

int hpc_ref_route(hpc_plan *p, int workers, const hpc_route_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, route_run, "ref_route");
}
