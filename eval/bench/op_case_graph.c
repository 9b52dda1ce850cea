/*
 * op_case_graph.c: emitters of the op benchmark for graphs of V vertices with D edges each, whose
 * sources are drawn at random, and C columns (or heads).
 */
#include "eval/bench/priv.h"

static hpc_value matrix(hpc_bench_emitter *e, const char *name, int64_t rows)
{
    hpc_bench_fill normal = {.kind = HPC_FILL_NORMAL, .by = 1};
    return hpc_bench_input(e, name, e->job->dtype, normal, 2, (int64_t[]){rows, e->n[2]});
}

static hpc_value starts(hpc_bench_emitter *e)
{
    hpc_bench_fill even = {.kind = HPC_FILL_EVEN, .by = (double)e->n[1]};
    return hpc_bench_input(e, "start", HPC_I32, even, 1, (int64_t[]){e->n[0] + 1});
}

static hpc_graph graph(hpc_bench_emitter *e)
{
    hpc_bench_fill any = {.kind = HPC_FILL_INDEX, .by = (double)e->n[0]};
    hpc_graph g = hpc_graph_of_segments(starts(e));
    g.index = hpc_bench_input(e, "index", HPC_I32, any, 1, (int64_t[]){e->n[0] * e->n[1]});
    return g;
}

void hpc_bench_emit_graph_reduce(hpc_bench_emitter *e)
{
    const hpc_graph_reduce_attr *at = e->attr;
    hpc_graph g = graph(e);
    hpc_graph_reduce(e->p, HPC_NEW, matrix(e, "x", e->n[0]), HPC_NONE, &g,
                     (hpc_graph_kind)at->kind);
}

void hpc_bench_emit_graph_edge(hpc_bench_emitter *e)
{
    const hpc_graph_edge_attr *at = e->attr;
    hpc_graph g = graph(e);
    hpc_value a = matrix(e, "a", e->n[0]), b = matrix(e, "b", e->n[0]);
    if (at->kind == HPC_EDGE_DOT)
        hpc_graph_dot(e->p, a, b, &g, 1);
    else
        hpc_graph_add(e->p, a, b, &g);
}

/* Attention with one head. */
typedef struct attention {
    hpc_graph g;
    hpc_value x, dy, target, source, lse, delta;
} attention;

static attention attention_of(hpc_bench_emitter *e)
{
    hpc_bench_fill normal = {.kind = HPC_FILL_NORMAL, .by = 1};
    hpc_dtype own = e->job->dtype, wide = own == HPC_F64 ? HPC_F64 : HPC_F32;
    const int64_t rows[] = {e->n[0], 1};
    return (attention){.g = graph(e),
                       .x = matrix(e, "x", e->n[0]),
                       .dy = matrix(e, "dy", e->n[0]),
                       .target = hpc_bench_input(e, "target", own, normal, 2, rows),
                       .source = hpc_bench_input(e, "source", own, normal, 2, rows),
                       .lse = hpc_bench_input(e, "lse", wide, normal, 2, rows),
                       .delta = hpc_bench_input(e, "delta", wide, normal, 2, rows)};
}

void hpc_bench_emit_graph_attend(hpc_bench_emitter *e)
{
    const hpc_graph_attend_attr *at = e->attr;
    attention a = attention_of(e);
    hpc_graph_attend(e->p, NULL, a.x, a.target, a.source, &a.g, at->slope);
}

void hpc_bench_emit_graph_attend_target(hpc_bench_emitter *e)
{
    attention a = attention_of(e);
    hpc_value operand[] = {HPC_NEW,  HPC_NEW, a.dy,      a.x,      a.target,
                           a.source, a.lse,   a.g.start, a.g.index};
    hpc_emit(e->p, &hpc_op_graph_attend_target, operand, e->attr);
}

/* The graph serves as its own transpose. */
void hpc_bench_emit_graph_attend_source(hpc_bench_emitter *e)
{
    attention a = attention_of(e);
    hpc_value operand[] = {HPC_NEW,  HPC_NEW, a.x,     a.dy,      a.target,
                           a.source, a.lse,   a.delta, a.g.start, a.g.index};
    hpc_emit(e->p, &hpc_op_graph_attend_source, operand, e->attr);
}

void hpc_bench_emit_graph_softmax(hpc_bench_emitter *e)
{
    hpc_graph_softmax(e->p, matrix(e, "x", e->n[0] * e->n[1]), starts(e), NULL);
}

void hpc_bench_emit_graph_softmax_grad(hpc_bench_emitter *e)
{
    int64_t edges = e->n[0] * e->n[1];
    hpc_value operand[] = {HPC_NEW, matrix(e, "dy", edges), matrix(e, "y", edges), starts(e)};
    hpc_emit(e->p, &hpc_op_graph_softmax_grad, operand, NULL);
}

void hpc_bench_emit_graph_scale(hpc_bench_emitter *e)
{
    const hpc_graph_scale_attr *at = e->attr;
    hpc_graph_scale(e->p, matrix(e, "x", e->n[0]), starts(e), at->power);
}

/* Averages of V rows in one head. */
void hpc_bench_emit_graph_merge(hpc_bench_emitter *e)
{
    hpc_bench_fill normal = {.kind = HPC_FILL_NORMAL, .by = 1};
    hpc_dtype wide = e->job->dtype == HPC_F64 ? HPC_F64 : HPC_F32;
    const int64_t rows[] = {e->n[0], 1}, all[] = {e->n[0], e->n[2]};
    hpc_value y = hpc_bench_state(e, "y", e->job->dtype, normal, 2, all);
    hpc_value lse = hpc_bench_state(e, "lse", wide, normal, 2, rows);
    hpc_graph_merge(e->p, y, lse, matrix(e, "x", e->n[0]),
                    hpc_bench_input(e, "more", wide, normal, 2, rows));
}
