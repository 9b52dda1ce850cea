/*
 * graph.h: arguments of the ops on graphs.
 *
 * Include kernel.h, which has the rules for all kernels.
 *
 * A graph with V destinations and E edges is i32 values. start [V+1]: edges start[v] ..
 * start[v+1]-1 end at vertex v; it begins with 0 and never decreases, and edges from start[V] on
 * belong to no vertex. index [E]: the row of each edge's source. The transposed graph has one
 * segment for each source: back_start [U+1], back_index [E] (destinations) and back_edge [E]
 * (positions of the same edges in `index`). Kernels do not read the transposed graph: backward
 * rules pass it on. A row that does not exist, or a start that decreases, fails. Sums run in the
 * order of edges within blocks of edges and vertices that follow from the graph alone.
 */
#ifndef HPC_KERNEL_GRAPH_H
#define HPC_KERNEL_GRAPH_H

#include "runtime/device/kernel/update.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
/* y[v] = sum or maximum, over the edges k of v, of w[edge[k]] x[index[k]]; y [V,F], x [U,F].
 * index absent: x [E,F] has a row for each edge. edge absent: k itself. w (SUM, with index): [E],
 * or [E,H] with one number for each of H heads of F / H columns. No edges: 0.
 * arg [V,F] i32 (MAX): the first edge[k] that gives the maximum, -1 without edges.
 * pick [U,F] i32 (SUM, with edge): the term of edge[k] counts only where pick[index[k]] is edge[k].
 * y ACC; with MAX together with arg: y and arg then keep what is larger (arg -1: nothing yet). */
typedef enum hpc_graph_kind { HPC_GRAPH_SUM, HPC_GRAPH_MAX, HPC_GRAPH_MEAN } hpc_graph_kind;
typedef struct hpc_graph_reduce_attr { int kind; } hpc_graph_reduce_attr; /* SUM or MAX */
typedef struct hpc_graph_reduce_args {
    hpc_tensor y, arg, x, w, start, index, edge, pick, back_start, back_index, back_edge;
    hpc_graph_reduce_attr attr;
} hpc_graph_reduce_args;

/* A result for each edge k of v, from rows of its ends: a[v] and b[index[k]].
 * ADD: y[k] = a[v] + b[index[k]], one of them optional; pick [V,F] i32 (without b): 0 where pick[v]
 * is not k. y [E,F]. DOT: y[k,h] = a[v] . b[index[k]] over the columns of head h. y [E,heads].
 * Edges that belong to no vertex: 0. edges: E, read without index, which b needs. */
typedef enum hpc_graph_edge_kind { HPC_EDGE_ADD, HPC_EDGE_DOT } hpc_graph_edge_kind;
typedef struct hpc_graph_edge_attr { int kind; int64_t heads, edges; } hpc_graph_edge_attr;
typedef struct hpc_graph_edge_args {
    hpc_tensor y, a, b, start, index, pick, back_start, back_index, back_edge;
    hpc_graph_edge_attr attr;
} hpc_graph_edge_args;

/* y[k,h] = exp(x[k,h] - lse[v,h]), lse[v,h] = log of the sum of exp(x) over the edges of v (-inf
 * without edges). x, y [E,H]; lse [V,H] f32 (f64). Edges that belong to no vertex: 0. */
typedef struct hpc_graph_softmax_args {
    hpc_tensor y, lse, x, start; hpc_no_attr attr;
} hpc_graph_softmax_args;
/* dx[k,h] = y (dy - the sum of y dy over the edges of v). */
typedef struct hpc_graph_softmax_grad_args {
    hpc_tensor dx, dy, y, start; hpc_no_attr attr;
} hpc_graph_softmax_grad_args;
/* Attention over edges, by head h of F / H columns: y[v] = the average of x[index[k]] over the edges
 * k of v, weighted by exp(s - lse[v]). Scores: s = leaky(target[v] + source[index[k]]), where
 * leaky(r) is r, or slope r below 0. lse[v]: the log of the sum of exp(s). No edges: 0, -inf.
 * Nothing is stored for each edge. y [V,F], x [U,F], target [V,H], source [U,H], lse [V,H] f32
 * (f64). */
typedef struct hpc_graph_attend_attr { double slope; } hpc_graph_attend_attr;
typedef struct hpc_graph_attend_args {
    hpc_tensor y, lse, x, target, source, start, index, back_start, back_index;
    hpc_graph_attend_attr attr;
} hpc_graph_attend_args;
/* Its gradients recompute scores. With p the weight of an edge and q = dy[v] . x[index[k]] by head:
 * delta[v] = the sum of p q; dtarget[v] = the sum of p (q - delta[v]) times the slope at the edge.
 * delta [V,H] f32 (f64). */
typedef struct hpc_graph_attend_target_args {
    hpc_tensor dtarget, delta, dy, x, target, source, lse, start, index;
    hpc_graph_attend_attr attr;
} hpc_graph_attend_target_args;
/* By the transposed graph: dsource[u] = the sum of p (q - delta) times the slope, and dx[u] = the
 * sum of p dy, over the edges that u is the source of. */
typedef struct hpc_graph_attend_source_args {
    hpc_tensor dsource, dx, x, dy, target, source, lse, delta, back_start, back_index;
    hpc_graph_attend_attr attr;
} hpc_graph_attend_source_args;
/* y[v] = x[v] degree^power, where degree is start[v+1] - start[v]; 0 for degree 0. INPLACE x. */
typedef struct hpc_graph_scale_attr { double power; } hpc_graph_scale_attr;
typedef struct hpc_graph_scale_args {
    hpc_tensor y, x, start; hpc_graph_scale_attr attr;
} hpc_graph_scale_args;
/* Joins averages over two sets of edges: (y, lse) becomes that of both. y, x [V,F]; lse, more [V,H]
 * f32 (f64), logarithms of the sums of weights, -inf for an empty set. y and lse are INOUT. */
typedef struct hpc_graph_merge_args {
    hpc_tensor y, lse, x, more; hpc_no_attr attr;
} hpc_graph_merge_args;
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
