/*
 * graph_attend.c: attention over the edges of a vertex, and its gradients.
 */
#include "runtime/device/ref/graph.h"

/* The terms that weigh the edge from source u to target v in head h. */
typedef struct scored {
    const hpc_tensor *target, *source;
    double slope;
} scored;

static double raw_score(const scored *s, int64_t v, int64_t u, int64_t h)
{
    int64_t heads = hpc_tensor_cols(s->target);
    return hpc_ref_get(s->target, v * heads + h) + hpc_ref_get(s->source, u * heads + h);
}

static double score(const scored *s, int64_t v, int64_t u, int64_t h)
{
    double r = raw_score(s, v, u, h);
    return r > 0 ? r : s->slope * r;
}

/* The part of the gradient of a score that reaches its terms. */
static double slope_at(const scored *s, int64_t v, int64_t u, int64_t h)
{
    return raw_score(s, v, u, h) > 0 ? 1 : s->slope;
}

static double weight(const scored *s, const hpc_tensor *lse, int64_t v, int64_t u, int64_t h)
{
    double of_vertex = hpc_ref_get(lse, v * hpc_tensor_cols(lse) + h);
    return of_vertex == -INFINITY ? 0 : exp(score(s, v, u, h) - of_vertex);
}

/* The product of the rows of both ends over the columns of head h. */
static double dot(const hpc_tensor *dy, int64_t v, const hpc_tensor *x, int64_t u, int64_t h,
                  int64_t heads)
{
    int64_t cols = hpc_tensor_cols(x), width = cols / heads;
    double sum = 0;
    for (int64_t c = h * width; c < (h + 1) * width; c++)
        sum += hpc_ref_get(dy, v * cols + c) * hpc_ref_get(x, u * cols + c);
    return sum;
}

/* ---- graph_attend ------------------------------------------------------------ */

static double lse_of(const hpc_graph_attend_args *g, const scored *s, int64_t v, int64_t h)
{
    span e = edges_of(&g->start, v);
    double most = -INFINITY, sum = 0;
    for (int64_t k = e.lo; k < e.hi; k++)
        most = fmax(most, score(s, v, hpc_ref_index(&g->index, k), h));
    if (most == -INFINITY) return most;
    for (int64_t k = e.lo; k < e.hi; k++)
        sum += exp(score(s, v, hpc_ref_index(&g->index, k), h) - most);
    return most + log(sum);
}

static void attend_vertex(const hpc_graph_attend_args *g, const scored *s, int64_t v)
{
    int64_t heads = hpc_tensor_cols(&g->target), cols = hpc_tensor_cols(&g->x);
    span e = edges_of(&g->start, v);
    for (int64_t h = 0; h < heads; h++) {
        double lse = lse_of(g, s, v, h);
        hpc_ref_set(&g->lse, v * heads + h, lse);
        for (int64_t c = h * (cols / heads); c < (h + 1) * (cols / heads); c++) {
            double y = 0;
            for (int64_t k = e.lo; k < e.hi && lse > -INFINITY; k++) {
                int64_t u = hpc_ref_index(&g->index, k);
                y += exp(score(s, v, u, h) - lse) * hpc_ref_get(&g->x, u * cols + c);
            }
            hpc_ref_set(&g->y, v * cols + c, y);
        }
    }
}

static int attend_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_attend_args *g = args;
    const scored s = {&g->target, &g->source, g->attr.slope};
    int64_t edges = hpc_tensor_n(&g->index), lo, hi;
    int rc;
    TRY(check_start("graph_attend", &g->start, edges));
    TRY(check_index("graph_attend", &g->index, used(&g->start), hpc_tensor_rows(&g->x)));
    share_rows(&lo, &hi, &g->y, l);
    for (int64_t v = lo; v < hi; v++) attend_vertex(g, &s, v);
out:
    return rc;
}

int hpc_ref_graph_attend(hpc_plan *p, int workers, const hpc_graph_attend_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, attend_run, "ref_graph_attend");
}

/* ---- graph_attend_target ----------------------------------------------------- */

static void target_head(const hpc_graph_attend_target_args *g, const scored *s, int64_t v,
                        int64_t h)
{
    int64_t heads = hpc_tensor_cols(&g->target);
    span e = edges_of(&g->start, v);
    double delta = 0, dtarget = 0;
    for (int64_t k = e.lo; k < e.hi; k++) {
        int64_t u = hpc_ref_index(&g->index, k);
        delta += weight(s, &g->lse, v, u, h) * dot(&g->dy, v, &g->x, u, h, heads);
    }
    for (int64_t k = e.lo; k < e.hi; k++) {
        int64_t u = hpc_ref_index(&g->index, k);
        dtarget += weight(s, &g->lse, v, u, h) * slope_at(s, v, u, h) *
                   (dot(&g->dy, v, &g->x, u, h, heads) - delta);
    }
    hpc_ref_set(&g->delta, v * heads + h, delta);
    if (present(&g->dtarget)) hpc_ref_set(&g->dtarget, v * heads + h, dtarget);
}

static int target_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_attend_target_args *g = args;
    const scored s = {&g->target, &g->source, g->attr.slope};
    int64_t edges = hpc_tensor_n(&g->index), lo, hi;
    int rc;
    TRY(check_start("graph_attend_target", &g->start, edges));
    TRY(check_index("graph_attend_target", &g->index, used(&g->start), hpc_tensor_rows(&g->x)));
    share_rows(&lo, &hi, &g->delta, l);
    for (int64_t v = lo; v < hi; v++)
        for (int64_t h = 0; h < hpc_tensor_cols(&g->target); h++) target_head(g, &s, v, h);
out:
    return rc;
}

int hpc_ref_graph_attend_target(hpc_plan *p, int workers, const hpc_graph_attend_target_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, target_run, "ref_graph_attend_target");
}

/* ---- graph_attend_source ----------------------------------------------------- */

static void source_head(const hpc_graph_attend_source_args *g, const scored *s, int64_t u,
                        int64_t h)
{
    int64_t heads = hpc_tensor_cols(&g->source), cols = hpc_tensor_cols(&g->x);
    span e = edges_of(&g->back_start, u);
    double dsource = 0;
    for (int64_t k = e.lo; k < e.hi; k++) {
        int64_t v = hpc_ref_index(&g->back_index, k);
        dsource += weight(s, &g->lse, v, u, h) * slope_at(s, v, u, h) *
                   (dot(&g->dy, v, &g->x, u, h, heads) - hpc_ref_get(&g->delta, v * heads + h));
    }
    if (present(&g->dsource)) hpc_ref_set(&g->dsource, u * heads + h, dsource);
    if (!present(&g->dx)) return;
    for (int64_t c = h * (cols / heads); c < (h + 1) * (cols / heads); c++) {
        double dx = 0;
        for (int64_t k = e.lo; k < e.hi; k++) {
            int64_t v = hpc_ref_index(&g->back_index, k);
            dx += weight(s, &g->lse, v, u, h) * hpc_ref_get(&g->dy, v * cols + c);
        }
        hpc_ref_set(&g->dx, u * cols + c, dx);
    }
}

static int source_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_attend_source_args *g = args;
    const scored s = {&g->target, &g->source, g->attr.slope};
    int64_t edges = hpc_tensor_n(&g->back_index), lo, hi;
    int rc;
    TRY(check_start("graph_attend_source", &g->back_start, edges));
    TRY(check_index("graph_attend_source", &g->back_index, used(&g->back_start),
                    hpc_tensor_rows(&g->dy)));
    share_rows(&lo, &hi, &g->x, l);
    for (int64_t u = lo; u < hi; u++)
        for (int64_t h = 0; h < hpc_tensor_cols(&g->source); h++) source_head(g, &s, u, h);
out:
    return rc;
}

int hpc_ref_graph_attend_source(hpc_plan *p, int workers, const hpc_graph_attend_source_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, source_run, "ref_graph_attend_source");
}
