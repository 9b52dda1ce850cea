/*
 * rope.c: rotary position embedding.
 */
#include "runtime/device/ref/priv.h"

static int rope_run(const hpc_launch *l, const void *args)
{
    const hpc_rope_args *g = args;
    int64_t heads = g->x.extent[1], d = g->x.extent[2], pairs = g->freq.extent[0], lo, hi;
    share_rows(&lo, &hi, &g->x, l);
    for (int64_t r = lo; r < hi; r++) {
        if (!hpc_tensor_row_live(&g->x, r)) continue;
        double pos = (double)hpc_ref_index(&g->pos, r / heads);
        for (int64_t i = 0; i < pairs; i++) {
            double angle = pos * hpc_ref_get(&g->freq, i) * (g->attr.inverse ? -1 : 1);
            double c = cos(angle) * g->attr.scale, s = sin(angle) * g->attr.scale;
            int64_t at = r * d + (g->attr.interleaved ? 2 * i : i);
            int64_t pair = at + (g->attr.interleaved ? 1 : pairs);
            double u = hpc_ref_get(&g->x, at), v = hpc_ref_get(&g->x, pair);
            hpc_ref_set(&g->y, at, u * c - v * s);
            hpc_ref_set(&g->y, pair, u * s + v * c);
        }
        for (int64_t i = 2 * pairs; i < d; i++) {
            hpc_ref_set(&g->y, r * d + i, hpc_ref_get(&g->x, r * d + i));
        }
    }
    return 0;
}

int hpc_ref_rope(hpc_plan *p, int workers, const hpc_rope_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, rope_run, "ref_rope");
}
