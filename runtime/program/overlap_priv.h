/*
 * overlap_priv.h: internals of hpc_overlap: a segment as a dependency graph.
 */
#ifndef HPC_OVERLAP_PRIV_H
#define HPC_OVERLAP_PRIV_H

#include "runtime/program/priv.h"

typedef enum node_kind {
    NODE_PLAIN, /* computes, or is a view */
    NODE_FLOW,  /* a collective that what flows waits for */
    NODE_AHEAD, /* gathers state that the segment does not write */
    NODE_SINK   /* a collective whose result goes to state, or is read by later segments alone */
} node_kind;

typedef struct node {
    hpc_insn insn;
    int32_t *pred; /* nodes that come before */
    int64_t pred_n, pred_cap;
    int32_t flight;      /* the collective that must have landed before this is read, or -1 */
    int32_t place, turn; /* in the segment as it was; and how many blocks it had come to by then */
    int32_t needed;      /* AHEAD: the turn of what reads it */
    int32_t chain;       /* AHEAD: following collectives until it is read */
    uint8_t kind;
    bool late; /* depends on a SINK */
} node;

typedef struct graph {
    hpc_program *p;
    int segment;
    node *node;
    int64_t n, cap;
} graph;

int graph_before(graph *g, int32_t at, int32_t pred);
/* A new node, plain, that nothing comes before yet; its number, or a code. */
int graph_add(graph *g, const hpc_insn *i, int32_t place, int32_t turn);

/* bucket.c: small sums over ranks that end in state are put together, up to so many bytes. */
int graph_bundle(graph *g, size_t bytes);
/* overlap_order.c: the segment's instructions in their new order. */
int graph_order(graph *g, int ahead);

#endif
