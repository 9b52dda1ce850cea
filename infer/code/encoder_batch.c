/*
 * Batches: disjoint graphs, one after the other, and each type of edge as a graph and its
 * transpose.
 */
#include <string.h>

#include "infer/code/priv.h"

void batch_clear(batch *b)
{
    b->graphs = b->nodes = 0;
    memset(b->edges, 0, sizeof b->edges);
    b->first[0] = 0;
}

static bool has_capacity(const batch *b, const hpc_code_graph *g)
{
    int64_t n[HPC_CODE_EDGE_KINDS] = {0};
    if (b->graphs == 0) return true;
    if (b->graphs == BATCH_GRAPHS || b->nodes + g->n > BATCH_NODES) return false;
    for (int64_t k = 0; k < g->edges_n; k++) n[g->edge[k].kind]++;
    for (int k = 0; k < HPC_CODE_EDGE_KINDS; k++)
        if (b->edges[k] + n[k] > BATCH_EDGES) return false;
    return true;
}

static int32_t kind_of(const hpc_code_node *v)
{
    int depth = v->depth < 3 ? v->depth : 3;
    return ((v->kind * 2 + v->side) * 2 + v->changed) * 4 + depth;
}

bool batch_add(batch *b, const hpc_encoder_sample *s, int64_t labels)
{
    const hpc_code_graph *g = s->graph;
    int32_t at = (int32_t)b->nodes;
    if (!has_capacity(b, g)) return false;
    int64_t n = g->n < BATCH_NODES ? g->n : BATCH_NODES;
    for (int64_t k = 0; k < n; k++) {
        b->label[at + k] = (int32_t)(g->node[k].label % (uint32_t)labels);
        b->kind[at + k] = kind_of(&g->node[k]);
    }
    for (int64_t k = 0; k < g->edges_n; k++) {
        const hpc_code_edge *e = &g->edge[k];
        int64_t *used = &b->edges[e->kind];
        if (*used == BATCH_EDGES || e->from >= n || e->to >= n) continue;
        b->edge[e->kind][*used][0] = at + e->from;
        b->edge[e->kind][(*used)++][1] = at + e->to;
    }
    b->nodes += n;
    b->target[b->graphs++] = s->label;
    b->first[b->graphs] = (int32_t)b->nodes;
    return true;
}

static void copy(int32_t *to, const int32_t *from, int64_t n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

static void fill(relation *forward, relation *backward, const hpc_net *g)
{
    copy(forward->start, g->start, BATCH_NODES + 1);
    copy(forward->index, g->index, g->edges);
    copy(forward->back_start, g->back_start, BATCH_NODES + 1);
    copy(forward->back_index, g->back_index, g->edges);
    copy(forward->back_edge, g->back_edge, g->edges);
    copy(backward->start, g->back_start, BATCH_NODES + 1);
    copy(backward->index, g->back_index, g->edges);
    copy(backward->back_start, g->start, BATCH_NODES + 1);
    copy(backward->back_index, g->index, g->edges);
    for (int64_t k = 0; k < g->edges; k++) backward->back_edge[g->back_edge[k]] = (int32_t)k;
}

int batch_finish(batch *b)
{
    int rc = HPC_OK;
    for (int k = 0; k < HPC_CODE_EDGE_KINDS && rc == HPC_OK; k++) {
        hpc_net g = {0};
        rc = hpc_net_of_edges(&g, BATCH_NODES, (const int32_t(*)[2])b->edge[k], b->edges[k],
                              &(hpc_net_options){.both = false});
        if (rc == HPC_OK) fill(&b->relation[2 * k], &b->relation[2 * k + 1], &g);
        hpc_net_release(&g);
    }
    for (int64_t k = b->nodes; k < BATCH_NODES; k++) b->label[k] = b->kind[k] = 0;
    for (int64_t k = b->graphs; k < BATCH_GRAPHS; k++) {
        b->first[k + 1] = (int32_t)b->nodes;
        b->target[k] = -1;
    }
    return rc;
}
