/*
 * graph_attend.c: op table entries of attention over the edges of a vertex, and of its gradients:
 * terms of targets by the graph, terms and rows of sources by the transposed graph. Neither stores
 * scores of edges.
 */
#include "runtime/program/op/graph_priv.h"

static const hpc_field attend_field[] = {
    {"slope", HPC_FIELD_REAL, offsetof(hpc_graph_attend_attr, slope), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

/* Positions of the operands that the three ops have in common. */
typedef struct shared {
    int x, target, source, start, index;
    bool transposed; /* start and index belong to sources */
} shared;

static int64_t vertices_of(const hpc_type *start)
{
    return start->extent[0] - 1;
}

/* Rows and terms of both ends, and the graph or its transpose. */
static int expect_shared(const hpc_insn *i, const hpc_type *type, const shared *s)
{
    const int ends[] = {s->x, s->target, s->source};
    const int near = s->transposed ? s->source : s->target;
    int rc;
    for (int k = 0; k < 3; k++) TRY(hpc_op_expect_matrix(i, type, ends[k]));
    TRY(hpc_op_expect_start(i, type, s->start));
    TRY(hpc_op_expect_fixed(i, type, s->index, HPC_OP_INDEX, 1, 1));
    TRY(hpc_op_expect_rows(i, type, near, vertices_of(&type[s->start]), s->start));
    TRY(hpc_op_expect_rows(i, type, s->source, type[s->x].extent[0], s->x));
    int64_t heads = hpc_op_cols(&type[s->target]), cols = hpc_op_cols(&type[s->x]);
    if (hpc_op_cols(&type[s->source]) != heads)
        rc = hpc_misfit(i, type, s->target, s->source, "their columns differ");
    else if (heads < 1 || cols % heads)
        rc = hpc_misfit(i, type, s->x, s->target, "%lld columns do not divide into %lld heads",
                        (long long)cols, (long long)heads);
out:
    return rc;
}

/* lse and delta: one number for each target and head. */
static hpc_type per_head(const hpc_type *target)
{
    return hpc_op_like(target, hpc_op_wide(target));
}

static int expect_per_head(const hpc_insn *i, const hpc_type *type, int k, int target)
{
    int rc = hpc_op_expect_matrix(i, type, k);
    return rc < 0 ? rc : hpc_op_alike(i, type, k, target);
}

/* Rows of dy: those of targets, with the columns of x. */
static int expect_dy(const hpc_insn *i, const hpc_type *type, int dy, const shared *s)
{
    int rc;
    TRY(hpc_op_expect_matrix(i, type, dy));
    TRY(hpc_op_expect_rows(i, type, dy, type[s->target].extent[0], s->target));
    if (hpc_op_cols(&type[dy]) != hpc_op_cols(&type[s->x]))
        rc = hpc_misfit(i, type, dy, s->x, "their columns differ");
out:
    return rc;
}

/* A row is read for each edge, multiplied and summed, and so are the terms of its source. */
static hpc_cost edge_cost(const hpc_type *type, int operands, const hpc_type *index,
                          const hpc_type *row, const hpc_type *term, double each)
{
    double edges = (double)index->extent[0], cols = (double)hpc_op_cols(row);
    double heads = (double)hpc_op_cols(term);
    hpc_cost c = hpc_op_cost(type, operands, edges * (each * cols + 6 * heads));
    if (row->extent[0] > 0)
        c.bytes += (double)(hpc_type_bytes(row) + hpc_type_bytes(term)) *
                   (edges / (double)row->extent[0] - 1);
    return c;
}

static void label_all(hpc_dims *dims, const hpc_program *p, const hpc_insn *i,
                      const char *const *label)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) hpc_op_label(dims, p, i, k, label[k]);
}

/* ---- graph_attend ---------------------------------------------------------- */

enum {
    ATTEND_Y,
    ATTEND_LSE,
    ATTEND_X,
    ATTEND_TARGET,
    ATTEND_SOURCE,
    ATTEND_START,
    ATTEND_INDEX,
    ATTEND_BACK_START,
    ATTEND_BACK_INDEX,
    ATTEND_N
};

static const shared attend_shared = {.x = ATTEND_X,
                                     .target = ATTEND_TARGET,
                                     .source = ATTEND_SOURCE,
                                     .start = ATTEND_START,
                                     .index = ATTEND_INDEX};

static int attend_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[ATTEND_X], *target = &type[ATTEND_TARGET];
    int rc;
    TRY(expect_shared(i, type, &attend_shared));
    TRY(hpc_op_expect_start(i, type, ATTEND_BACK_START));
    TRY(hpc_op_expect_fixed(i, type, ATTEND_BACK_INDEX, HPC_OP_INDEX, 1, 1));
    TRY(hpc_op_expect_rows(i, type, ATTEND_BACK_INDEX, type[ATTEND_INDEX].extent[0], ATTEND_INDEX));
    int64_t extent[] = {target->extent[0], hpc_op_cols(x)};
    TRY(hpc_op_output(i, type, ATTEND_Y, hpc_type_of((hpc_dtype)x->dtype, 2, extent)));
    TRY(hpc_op_output(i, type, ATTEND_LSE, per_head(target)));
out:
    return rc;
}

static int attend_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_value *o = i->operand;
    hpc_value dy = hpc_diff_of(d, o[ATTEND_Y]);
    int rc;
    TRY(hpc_op_no_gradient(d, o[ATTEND_LSE], "the lse of attention over edges"));
    bool sources = hpc_diff_wants(d, o[ATTEND_X]) || hpc_diff_wants(d, o[ATTEND_SOURCE]);
    if (sources && o[ATTEND_BACK_START] < 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes without the transposed graph");
    hpc_value by_target[] = {hpc_op_fresh(d, o[ATTEND_TARGET]),
                             HPC_NEW,
                             dy,
                             o[ATTEND_X],
                             o[ATTEND_TARGET],
                             o[ATTEND_SOURCE],
                             o[ATTEND_LSE],
                             o[ATTEND_START],
                             o[ATTEND_INDEX]};
    hpc_emit(p, &hpc_op_graph_attend_target, by_target, i->attr);
    if (by_target[0] >= 0) hpc_op_give(d, o[ATTEND_TARGET], by_target[0]);
    if (!sources) return HPC_OK;
    hpc_value by_source[] = {hpc_op_fresh(d, o[ATTEND_SOURCE]),
                             hpc_op_fresh(d, o[ATTEND_X]),
                             o[ATTEND_X],
                             dy,
                             o[ATTEND_TARGET],
                             o[ATTEND_SOURCE],
                             o[ATTEND_LSE],
                             by_target[1],
                             o[ATTEND_BACK_START],
                             o[ATTEND_BACK_INDEX]};
    hpc_emit(p, &hpc_op_graph_attend_source, by_source, i->attr);
    if (by_source[0] >= 0) hpc_op_give(d, o[ATTEND_SOURCE], by_source[0]);
    if (by_source[1] >= 0) hpc_op_give(d, o[ATTEND_X], by_source[1]);
out:
    return rc;
}

static int attend_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    static const char *const label[] = {"vz", "vh", "uz", "vh", "uh", "s", "e", "t", "e"};
    label_all(dims, p, i, label);
    return HPC_OK;
}

static hpc_cost attend_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return edge_cost(type, ATTEND_BACK_START, &type[ATTEND_INDEX], &type[ATTEND_X],
                     &type[ATTEND_SOURCE], 2);
}

static int attend_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->graph_attend ? k->graph_attend(plan, workers, args) : hpc_op_missing("graph_attend");
}

const hpc_op hpc_op_graph_attend = {
    .sig = {.name = "graph_attend",
            .operand_n = ATTEND_N,
            .attr_bytes = sizeof(hpc_graph_attend_attr),
            .operand = {{"y", HPC_OUT},
                        {"lse", HPC_OUT},
                        {"x", HPC_IN},
                        {"target", HPC_IN},
                        {"source", HPC_IN},
                        {"start", HPC_IN},
                        {"index", HPC_IN},
                        {"back_start", HPC_IN | HPC_OPTIONAL},
                        {"back_index", HPC_IN | HPC_OPTIONAL}}},
    .field = attend_field,
    .comm = -1,
    .shape = attend_shape,
    .backward = attend_backward,
    .layout = attend_layout,
    .cost = attend_cost,
    .select = attend_select,
};

hpc_value hpc_graph_attend(hpc_program *p, hpc_value *lse, hpc_value x, hpc_value target,
                           hpc_value source, const hpc_graph *g, double slope)
{
    hpc_value operand[ATTEND_N] = {
        HPC_NEW, HPC_NEW, x, target, source, g->start, g->index, g->back_start, g->back_index};
    hpc_graph_attend_attr attr = {.slope = slope};
    hpc_value y = hpc_emit(p, &hpc_op_graph_attend, operand, &attr);
    if (lse) *lse = y < 0 ? HPC_NONE : operand[ATTEND_LSE];
    return y;
}

/* ---- graph_attend_target --------------------------------------------------- */

enum { TO_DTARGET, TO_DELTA, TO_DY, TO_X, TO_TARGET, TO_SOURCE, TO_LSE, TO_START, TO_INDEX, TO_N };

static const shared to_shared = {
    .x = TO_X, .target = TO_TARGET, .source = TO_SOURCE, .start = TO_START, .index = TO_INDEX};

static int to_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *target = &type[TO_TARGET];
    int rc;
    TRY(expect_shared(i, type, &to_shared));
    TRY(expect_dy(i, type, TO_DY, &to_shared));
    TRY(expect_per_head(i, type, TO_LSE, TO_TARGET));
    TRY(hpc_op_output(i, type, TO_DTARGET, hpc_op_like(target, (hpc_dtype)target->dtype)));
    TRY(hpc_op_output(i, type, TO_DELTA, per_head(target)));
out:
    return rc;
}

static int to_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    static const char *const label[] = {"vh", "vh", "vz", "uz", "vh", "uh", "vh", "s", "e"};
    label_all(dims, p, i, label);
    return HPC_OK;
}

static hpc_cost to_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return edge_cost(type, TO_N, &type[TO_INDEX], &type[TO_X], &type[TO_SOURCE], 2);
}

static int to_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->graph_attend_target ? k->graph_attend_target(plan, workers, args)
                                  : hpc_op_missing("graph_attend_target");
}

const hpc_op hpc_op_graph_attend_target = {
    .sig = {.name = "graph_attend_target",
            .operand_n = TO_N,
            .attr_bytes = sizeof(hpc_graph_attend_attr),
            .operand = {{"dtarget", HPC_OUT | HPC_OPTIONAL},
                        {"delta", HPC_OUT},
                        {"dy", HPC_IN},
                        {"x", HPC_IN},
                        {"target", HPC_IN},
                        {"source", HPC_IN},
                        {"lse", HPC_IN},
                        {"start", HPC_IN},
                        {"index", HPC_IN}}},
    .field = attend_field,
    .comm = -1,
    .shape = to_shape,
    .layout = to_layout,
    .cost = to_cost,
    .select = to_select,
};

/* ---- graph_attend_source --------------------------------------------------- */

enum {
    FROM_DSOURCE,
    FROM_DX,
    FROM_X,
    FROM_DY,
    FROM_TARGET,
    FROM_SOURCE,
    FROM_LSE,
    FROM_DELTA,
    FROM_BACK_START,
    FROM_BACK_INDEX,
    FROM_N
};

static const shared from_shared = {.x = FROM_X,
                                   .target = FROM_TARGET,
                                   .source = FROM_SOURCE,
                                   .start = FROM_BACK_START,
                                   .index = FROM_BACK_INDEX,
                                   .transposed = true};

static int from_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *source = &type[FROM_SOURCE], *x = &type[FROM_X];
    int rc;
    TRY(expect_shared(i, type, &from_shared));
    TRY(expect_dy(i, type, FROM_DY, &from_shared));
    for (int k = FROM_LSE; k <= FROM_DELTA; k++) TRY(expect_per_head(i, type, k, FROM_TARGET));
    TRY(hpc_op_output(i, type, FROM_DSOURCE, hpc_op_like(source, (hpc_dtype)source->dtype)));
    TRY(hpc_op_output(i, type, FROM_DX, hpc_op_like(x, (hpc_dtype)x->dtype)));
out:
    return rc;
}

static int from_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    static const char *const label[] = {"uh", "uz", "uz", "vz", "vh", "uh", "vh", "vh", "t", "e"};
    label_all(dims, p, i, label);
    return HPC_OK;
}

static hpc_cost from_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return edge_cost(type, FROM_N, &type[FROM_BACK_INDEX], &type[FROM_DY], &type[FROM_TARGET], 4);
}

static int from_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->graph_attend_source ? k->graph_attend_source(plan, workers, args)
                                  : hpc_op_missing("graph_attend_source");
}

const hpc_op hpc_op_graph_attend_source = {
    .sig = {.name = "graph_attend_source",
            .operand_n = FROM_N,
            .attr_bytes = sizeof(hpc_graph_attend_attr),
            .operand = {{"dsource", HPC_OUT | HPC_OPTIONAL},
                        {"dx", HPC_OUT | HPC_OPTIONAL},
                        {"x", HPC_IN},
                        {"dy", HPC_IN},
                        {"target", HPC_IN},
                        {"source", HPC_IN},
                        {"lse", HPC_IN},
                        {"delta", HPC_IN},
                        {"back_start", HPC_IN},
                        {"back_index", HPC_IN}}},
    .field = attend_field,
    .comm = -1,
    .shape = from_shape,
    .layout = from_layout,
    .cost = from_cost,
    .select = from_select,
};
