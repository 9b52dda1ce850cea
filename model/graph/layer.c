/*
 * layer.c: layers of graph networks emitted whole, for graphs in memory: Scatter, ApplyEdge, Gather
 * and ApplyVertex, their parameters, and the list of networks.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/graph/graph.h"

const hpc_saga_layer *const hpc_saga_layers[] = {&hpc_saga_gcn, &hpc_saga_sage, &hpc_saga_sage_max,
                                                 &hpc_saga_gat, &hpc_saga_gin,  &hpc_saga_gated,
                                                 NULL};

const hpc_saga_layer *hpc_saga_find(const char *name)
{
    for (const hpc_saga_layer *const *l = hpc_saga_layers; *l; l++)
        if (strcmp((*l)->name, name) == 0) return *l;
    return NULL;
}

hpc_value hpc_saga_parameter(hpc_saga_build *b, const char *name, int64_t rows, int64_t cols)
{
    char full[64];
    snprintf(full, sizeof full, "%d.%s", b->o.number, name);
    hpc_value v = hpc_program_find(b->p, full);
    if (v >= 0) return v;
    hpc_type t = hpc_type_of(b->o.dtype, cols ? 2 : 1, (int64_t[]){rows, cols});
    return hpc_program_state(b->p, full, t, b->o.trainable);
}

/* Averages, sums or maxima of the rows of `ends` over edges, with `edge` as weights or HPC_NONE. */
static hpc_value gather(hpc_saga_build *b, const hpc_saga_layer *l, const hpc_saga_ends *ends,
                        hpc_value edge, const hpc_graph *g)
{
    if (l->gather == HPC_SAGA_ATTEND)
        return hpc_graph_attend(b->p, NULL, ends->row, ends->target, ends->source, g, l->slope);
    hpc_graph_kind kind = l->gather == HPC_SAGA_MAX ? HPC_GRAPH_MAX : HPC_GRAPH_SUM;
    return hpc_graph_reduce(b->p, HPC_NEW, ends->row, edge, g, kind);
}

hpc_value hpc_saga_emit(hpc_program *p, const hpc_saga_layer *l, const hpc_saga_options *o,
                        hpc_value x, const hpc_graph *g)
{
    hpc_saga_build b = {p, *o, g->start};
    hpc_saga_ends ends = {HPC_NONE, HPC_NONE, HPC_NONE};
    hpc_value edge = HPC_NONE;
    int16_t before = p->tags.block;
    if (b.o.heads < 1) b.o.heads = 1;
    p->tags.block = HPC_SAGA_SCATTER;
    l->scatter(&ends, &b, x);
    p->tags.block = HPC_SAGA_EDGE;
    if (l->apply_edge) edge = l->apply_edge(&b, &ends, g);
    if (l->gather == HPC_SAGA_SOFTMAX) edge = hpc_graph_softmax(p, edge, g->start, NULL);
    p->tags.block = HPC_SAGA_GATHER;
    hpc_value sum = gather(&b, l, &ends, edge, g);
    if (l->gather == HPC_SAGA_MEAN) sum = hpc_graph_scale(p, sum, g->start, -1);
    p->tags.block = HPC_SAGA_VERTEX;
    hpc_value y = l->apply_vertex(&b, sum, x);
    p->tags.block = before;
    return y;
}

static int fill(hpc_exec *e, const hpc_program *p, hpc_value v, uint64_t seed)
{
    const hpc_value_info *info = &p->value[v];
    int64_t n = 1;
    for (int d = 0; d < info->type.rank; d++) n *= info->type.extent[d];
    float *x = hpc_alloc((size_t)n + 1, sizeof *x);
    double *wide = hpc_alloc((size_t)n + 1, sizeof *wide);
    int64_t cols = info->type.rank > 0 ? info->type.extent[info->type.rank - 1] : 1;
    int rc = HPC_E_NOMEM;
    if (x && wide) {
        double by = info->type.rank == 2 ? sqrt(3.0 / (double)cols) : 0.1;
        hpc_random_fill_uniform(x, n, seed, (uint32_t)info->name_hash, 0, 0);
        for (int64_t i = 0; i < n; i++) {
            wide[i] = (2 * (double)x[i] - 1) * by;
            x[i] = (float)wide[i];
        }
        hpc_dtype d = (hpc_dtype)info->type.dtype;
        if (d == HPC_BF16) hpc_from_f32(wide, HPC_BF16, x, n);
        rc = hpc_exec_write(e, 0, v, d == HPC_F32 ? (void *)x : (void *)wide,
                            hpc_type_bytes(&info->type));
    }
    hpc_free(x);
    hpc_free(wide);
    return rc;
}

int hpc_saga_initialise(hpc_exec *e, const hpc_program *p, uint64_t seed)
{
    int rc = HPC_OK;
    for (hpc_value v = 0; v < p->value_n && rc == HPC_OK; v++) {
        const hpc_value_info *info = &p->value[v];
        if (info->kind != HPC_VALUE_STATE || !info->name || !strchr(info->name, '.')) continue;
        if (info->name[0] < '0' || info->name[0] > '9') continue;
        rc = fill(e, p, v, seed);
    }
    return rc;
}
