/*
 * convert.h: conversions of a value between layouts as moves along one axis each, their costs, and
 * the cheapest sequence of moves. shard_convert.c emits them.
 */
#ifndef HPC_CONVERT_H
#define HPC_CONVERT_H

#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Partial sums and logarithms become whole (all_reduce) or, sums only, split (reduce_scatter).
 * Split values become whole (all_gather) or split along another dimension (all_to_all). Replicated
 * values become split (a slice). */
typedef struct hpc_layout_move {
    int axis;
    int8_t to;
} hpc_layout_move;

/* True if a value of the local type t can make the move: parts of a dimension that axes with finer
 * parts also split cannot change, and the ranks must divide the extent. */
bool hpc_layout_can_move(const hpc_type *t, const hpc_grid_shape *shape, hpc_layout_move m);
/* The local type after a move that is possible. */
hpc_type hpc_layout_moved(const hpc_type *t, const hpc_grid_shape *shape, hpc_layout_move m);

typedef struct hpc_layout_cost {
    int64_t sent; /* bytes that a rank sends */
    int collectives;
    int64_t nested; /* the sent bytes, each times the place of its parts in the nesting: the finer
                       of two gathers comes first, when there is less to send */
} hpc_layout_cost;
hpc_layout_cost hpc_layout_cost_of(const hpc_type *t, const hpc_grid_shape *shape,
                                   hpc_layout_move m);
/* Bytes, and the start of each collective as bytes. Of equal prices the less nested wins. */
int64_t hpc_layout_price(const hpc_layout_cost *c);

enum { HPC_LAYOUT_MOVES = 4 * HPC_AXIS_N };
typedef struct hpc_layout_path {
    hpc_layout_move move[HPC_LAYOUT_MOVES];
    int n;
    hpc_layout_cost cost;
} hpc_layout_path;
typedef struct hpc_layout_question {
    hpc_value value;
    const hpc_type *type; /* its local type */
    const int8_t *want;   /* [HPC_AXIS_N] */
    const hpc_grid_shape *shape;
    /* Earlier moves are free: the value that v became, or HPC_NONE. NULL: no earlier moves. */
    hpc_value (*known)(void *user, hpc_value v, hpc_layout_move m);
    void *user;
} hpc_layout_question;
/* The path with the lowest price (Dijkstra) over all layouts of the axes whose layout changes or
 * is a split. Sums over several axes keep their order, so all paths give the same bits: first
 * those that end split, the coarsest parts first, then the others in the order of axes.
 * HPC_E_UNSUPPORTED: no path; the message names value, layout and axis. */
int hpc_layout_search(hpc_layout_path *out, const hpc_layout_question *q);

#ifdef __cplusplus
}
#endif
#endif
