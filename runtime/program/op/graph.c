/*
 * graph.c: op table entries for graphs: reduction over the edges of a vertex with optional gather
 * and weights, and results for each edge from the rows of its ends. graph_norm.c has the softmax
 * over edges and scaling by degree.
 *
 * Only the running kernel can check starts and indices.
 */
#include "runtime/program/op/graph_priv.h"

hpc_graph hpc_graph_of_segments(hpc_value start)
{
    return (hpc_graph){start, HPC_NONE, HPC_NONE, HPC_NONE, HPC_NONE};
}

int hpc_op_expect_start(const hpc_insn *i, const hpc_type *type, int k)
{
    int rc = hpc_op_expect(i, type, k, HPC_OP_INDEX, 1, 1);
    if (rc < 0 || i->operand[k] < 0) return rc;
    if (type[k].ragged >= 0 || type[k].extent[0] < 1)
        return hpc_misfit(i, type, k, -1, "a graph needs a fixed number of starts, 1 or more");
    return HPC_OK;
}

int hpc_op_expect_fixed(const hpc_insn *i, const hpc_type *type, int k, hpc_op_elements e,
                        int least, int most)
{
    int rc = hpc_op_expect(i, type, k, e, least, most);
    if (rc < 0 || i->operand[k] < 0 || type[k].ragged < 0) return rc;
    return hpc_misfit(i, type, k, -1, "extents of graphs are fixed");
}

int hpc_op_expect_rows(const hpc_insn *i, const hpc_type *type, int k, int64_t rows, int like)
{
    if (i->operand[k] < 0 || type[k].extent[0] == rows) return HPC_OK;
    return hpc_misfit(i, type, k, like, "%lld rows are needed", (long long)rows);
}

/* Both or neither transposed arrays have E elements. */
static int expect_back(const hpc_insn *i, const hpc_type *type, int first, int index)
{
    int rc;
    TRY(hpc_op_expect_start(i, type, first));
    for (int k = first + 1; k < first + 3; k++) {
        TRY(hpc_op_expect_fixed(i, type, k, HPC_OP_INDEX, 1, 1));
        TRY(hpc_op_expect_rows(i, type, k, type[index].extent[0], index));
    }
out:
    return rc;
}

static hpc_type matrix(int64_t rows, int64_t cols, hpc_dtype dtype)
{
    return hpc_type_of(dtype, 2, (int64_t[]){rows, cols});
}

/* ---- graph_reduce ---------------------------------------------------------- */

enum {
    REDUCE_Y,
    REDUCE_ARG,
    REDUCE_X,
    REDUCE_W,
    REDUCE_START,
    REDUCE_INDEX,
    REDUCE_EDGE,
    REDUCE_PICK,
    REDUCE_BACK_START,
    REDUCE_BACK_INDEX,
    REDUCE_BACK_EDGE,
    REDUCE_N
};

static const char *const kind_names[] = {[HPC_GRAPH_SUM] = "sum", [HPC_GRAPH_MAX] = "max", NULL};

static const hpc_field reduce_field[] = {
    {"kind", HPC_FIELD_NAME, offsetof(hpc_graph_reduce_attr, kind), kind_names, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int64_t reduce_heads(const hpc_type *w)
{
    return w && w->rank == 2 ? w->extent[1] : 1;
}

static int check_weights(const hpc_insn *i, const hpc_type *type)
{
    if (i->operand[REDUCE_W] < 0) return HPC_OK;
    const hpc_graph_reduce_attr *at = i->attr;
    if (at->kind != HPC_GRAPH_SUM || i->operand[REDUCE_INDEX] < 0)
        return hpc_misfit(i, type, REDUCE_W, -1, "weights need a sum and an index");
    int64_t heads = reduce_heads(&type[REDUCE_W]), cols = hpc_op_cols(&type[REDUCE_X]);
    if (heads < 1 || cols % heads)
        return hpc_misfit(i, type, REDUCE_X, REDUCE_W, "%lld columns do not divide into %lld heads",
                          (long long)cols, (long long)heads);
    return hpc_op_expect_rows(i, type, REDUCE_W, type[REDUCE_INDEX].extent[0], REDUCE_INDEX);
}

/* pick selects terms by edge of rows of x, so it has x's shape. */
static int check_pick(const hpc_insn *i, const hpc_type *type)
{
    const hpc_graph_reduce_attr *at = i->attr;
    if (i->operand[REDUCE_EDGE] >= 0 && i->operand[REDUCE_INDEX] < 0)
        return hpc_misfit(i, type, REDUCE_EDGE, -1, "positions of edges need an index");
    if (i->operand[REDUCE_PICK] < 0) return HPC_OK;
    if (at->kind != HPC_GRAPH_SUM || i->operand[REDUCE_EDGE] < 0)
        return hpc_misfit(i, type, REDUCE_PICK, -1, "picked terms need a sum and edge");
    return hpc_op_alike(i, type, REDUCE_PICK, REDUCE_X);
}

static int reduce_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_graph_reduce_attr *at = i->attr;
    const hpc_type *x = &type[REDUCE_X];
    int rc;
    if (at->kind != HPC_GRAPH_SUM && at->kind != HPC_GRAPH_MAX)
        return hpc_fail(HPC_E_ARG, "kind %d is neither sum nor max", at->kind);
    if ((at->kind == HPC_GRAPH_MAX) == (i->operand[REDUCE_ARG] == HPC_NONE))
        return hpc_fail(HPC_E_ARG, "max needs arg, and sum has none");
    TRY(hpc_op_expect_fixed(i, type, REDUCE_X, HPC_OP_REAL, 2, 2));
    TRY(hpc_op_expect_fixed(i, type, REDUCE_W, HPC_OP_REAL, 1, 2));
    TRY(hpc_op_expect_start(i, type, REDUCE_START));
    TRY(hpc_op_expect_fixed(i, type, REDUCE_INDEX, HPC_OP_INDEX, 1, 1));
    TRY(hpc_op_expect_fixed(i, type, REDUCE_EDGE, HPC_OP_INDEX, 1, 1));
    TRY(hpc_op_expect_fixed(i, type, REDUCE_PICK, HPC_OP_INDEX, 2, 2));
    TRY(check_weights(i, type));
    TRY(check_pick(i, type));
    if (i->operand[REDUCE_EDGE] >= 0) TRY(hpc_op_alike(i, type, REDUCE_EDGE, REDUCE_INDEX));
    if (i->operand[REDUCE_BACK_START] >= 0)
        TRY(expect_back(i, type, REDUCE_BACK_START, REDUCE_INDEX));
    hpc_type y = matrix(type[REDUCE_START].extent[0] - 1, hpc_op_cols(x), (hpc_dtype)x->dtype);
    TRY(hpc_op_output(i, type, REDUCE_Y, y));
    y.dtype = HPC_I32;
    TRY(hpc_op_output(i, type, REDUCE_ARG, y));
out:
    return rc;
}

/* dx by the transposed graph; of a maximum, each element of dy goes to the edge that gave it. */
static int reduce_give_x(hpc_diff *d, const hpc_insn *i, hpc_value dy)
{
    hpc_program *p = hpc_diff_program(d);
    hpc_value x = i->operand[REDUCE_X], arg = i->operand[REDUCE_ARG];
    if (i->operand[REDUCE_INDEX] < 0) {
        hpc_graph_edge_attr at = {.kind = HPC_EDGE_ADD, .edges = p->value[x].type.extent[0]};
        hpc_graph g = hpc_graph_of_segments(i->operand[REDUCE_START]);
        hpc_op_give(d, x, hpc_op_graph_edge_picked(p, dy, HPC_NONE, arg, &g, at));
        return HPC_OK;
    }
    if (i->operand[REDUCE_BACK_START] < 0 || i->operand[REDUCE_EDGE] >= 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes without the transposed graph");
    bool by_edge = arg >= 0 || i->operand[REDUCE_W] >= 0;
    hpc_value operand[REDUCE_N] = {[REDUCE_Y] = hpc_diff_target(d, x),
                                   [REDUCE_ARG] = HPC_NONE,
                                   [REDUCE_X] = dy,
                                   [REDUCE_W] = i->operand[REDUCE_W],
                                   [REDUCE_START] = i->operand[REDUCE_BACK_START],
                                   [REDUCE_INDEX] = i->operand[REDUCE_BACK_INDEX],
                                   [REDUCE_EDGE] =
                                       by_edge ? i->operand[REDUCE_BACK_EDGE] : HPC_NONE,
                                   [REDUCE_PICK] = arg,
                                   [REDUCE_BACK_START] = HPC_NONE,
                                   [REDUCE_BACK_INDEX] = HPC_NONE,
                                   [REDUCE_BACK_EDGE] = HPC_NONE};
    hpc_graph_reduce_attr sum = {.kind = HPC_GRAPH_SUM};
    hpc_op_give(d, x, hpc_emit(p, &hpc_op_graph_reduce, operand, &sum));
    return HPC_OK;
}

static int reduce_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    hpc_value dy = hpc_diff_of(d, i->operand[REDUCE_Y]), w = i->operand[REDUCE_W];
    int rc = HPC_OK;
    if (hpc_diff_wants(d, i->operand[REDUCE_X])) TRY(reduce_give_x(d, i, dy));
    if (w >= 0 && hpc_diff_wants(d, w)) {
        const hpc_type t = p->value[w].type;
        hpc_graph g = {i->operand[REDUCE_START], i->operand[REDUCE_INDEX], HPC_NONE, HPC_NONE,
                       HPC_NONE};
        hpc_value dw = hpc_graph_dot(p, dy, i->operand[REDUCE_X], &g, reduce_heads(&t));
        hpc_op_give(d, w, t.rank == 1 ? hpc_view(p, dw, 1, t.extent) : dw);
    }
out:
    return rc;
}

/* Columns are independent, unless several heads share them out. */
static int reduce_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_type *w = hpc_op_type(p, i, REDUCE_W);
    bool free = reduce_heads(w) == 1;
    const hpc_graph_reduce_attr *at = i->attr;
    hpc_op_label(dims, p, i, REDUCE_Y, free ? "vZ" : "vz");
    hpc_op_label(dims, p, i, REDUCE_ARG, free ? "vZ" : "vz");
    hpc_op_label(dims, p, i, REDUCE_PICK, free ? "uZ" : "uz");
    bool rows = i->operand[REDUCE_INDEX] >= 0;
    hpc_op_label(dims, p, i, REDUCE_X, rows ? free ? "uZ" : "uz" : "eZ");
    hpc_op_label(dims, p, i, REDUCE_W, "eh");
    hpc_op_label(dims, p, i, REDUCE_START, "s");
    hpc_op_label(dims, p, i, REDUCE_BACK_START, "t");
    for (int k = REDUCE_INDEX; k <= REDUCE_EDGE; k++) hpc_op_label(dims, p, i, k, "e");
    for (int k = REDUCE_BACK_INDEX; k <= REDUCE_BACK_EDGE; k++) hpc_op_label(dims, p, i, k, "e");
    if (at->kind == HPC_GRAPH_SUM) {
        dims->linear[0] = 1u << REDUCE_X;
        dims->linear[1] = 1u << REDUCE_W;
    }
    return HPC_OK;
}

/* Rows of x are read once for each edge; the transposed graph is not read. */
static hpc_cost reduce_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    bool rows = type[REDUCE_INDEX].rank >= 0, weighs = type[REDUCE_W].rank >= 0;
    const hpc_type *x = &type[REDUCE_X];
    double edges = (double)(rows ? type[REDUCE_INDEX].extent[0] : x->extent[0]);
    double cols = (double)hpc_op_cols(x);
    hpc_cost c = hpc_op_cost(type, REDUCE_BACK_START, edges * cols * (weighs ? 2 : 1));
    if (rows && x->extent[0] > 0)
        c.bytes += (double)hpc_type_bytes(x) * (edges / (double)x->extent[0] - 1);
    return c;
}

static int reduce_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->graph_reduce ? k->graph_reduce(plan, workers, args) : hpc_op_missing("graph_reduce");
}

const hpc_op hpc_op_graph_reduce = {
    .sig = {.name = "graph_reduce",
            .operand_n = REDUCE_N,
            .attr_bytes = sizeof(hpc_graph_reduce_attr),
            .operand = {{"y", HPC_ACC},
                        {"arg", HPC_ACC | HPC_OPTIONAL},
                        {"x", HPC_IN},
                        {"w", HPC_IN | HPC_OPTIONAL},
                        {"start", HPC_IN},
                        {"index", HPC_IN | HPC_OPTIONAL},
                        {"edge", HPC_IN | HPC_OPTIONAL},
                        {"pick", HPC_IN | HPC_OPTIONAL},
                        {"back_start", HPC_IN | HPC_OPTIONAL},
                        {"back_index", HPC_IN | HPC_OPTIONAL},
                        {"back_edge", HPC_IN | HPC_OPTIONAL}}},
    .field = reduce_field,
    .comm = -1,
    .shape = reduce_shape,
    .backward = reduce_backward,
    .layout = reduce_layout,
    .cost = reduce_cost,
    .select = reduce_select,
};

hpc_value hpc_graph_reduce(hpc_program *p, hpc_value y, hpc_value x, hpc_value w,
                           const hpc_graph *g, hpc_graph_kind kind)
{
    bool max = kind == HPC_GRAPH_MAX;
    hpc_value operand[REDUCE_N] = {y,
                                   max ? HPC_NEW : HPC_NONE,
                                   x,
                                   w,
                                   g->start,
                                   g->index,
                                   HPC_NONE,
                                   HPC_NONE,
                                   g->back_start,
                                   g->back_index,
                                   g->back_edge};
    hpc_graph_reduce_attr attr = {.kind = max ? HPC_GRAPH_MAX : HPC_GRAPH_SUM};
    hpc_value sum = hpc_emit(p, &hpc_op_graph_reduce, operand, &attr);
    return kind == HPC_GRAPH_MEAN ? hpc_graph_scale(p, sum, g->start, -1) : sum;
}

hpc_value hpc_graph_reduce_max(hpc_program *p, hpc_value y, hpc_value arg, hpc_value x,
                               const hpc_graph *g)
{
    hpc_value operand[REDUCE_N] = {y,        arg,      x,        HPC_NONE, g->start, g->index,
                                   HPC_NONE, HPC_NONE, HPC_NONE, HPC_NONE, HPC_NONE};
    hpc_graph_reduce_attr attr = {.kind = HPC_GRAPH_MAX};
    return hpc_emit(p, &hpc_op_graph_reduce, operand, &attr);
}

/* ---- graph_edge ------------------------------------------------------------ */

enum {
    EDGE_Y,
    EDGE_A,
    EDGE_B,
    EDGE_START,
    EDGE_INDEX,
    EDGE_PICK,
    EDGE_BACK_START,
    EDGE_BACK_INDEX,
    EDGE_BACK_EDGE,
    EDGE_N
};

static const char *const edge_names[] = {[HPC_EDGE_ADD] = "add", [HPC_EDGE_DOT] = "dot", NULL};

static const hpc_field edge_field[] = {
    {"kind", HPC_FIELD_NAME, offsetof(hpc_graph_edge_attr, kind), edge_names, true},
    {"heads", HPC_FIELD_I64, offsetof(hpc_graph_edge_attr, heads), NULL, false},
    {"edges", HPC_FIELD_I64, offsetof(hpc_graph_edge_attr, edges), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int check_ends(const hpc_insn *i, const hpc_type *type)
{
    const hpc_graph_edge_attr *at = i->attr;
    bool a = i->operand[EDGE_A] >= 0, b = i->operand[EDGE_B] >= 0;
    const hpc_type *x = &type[a ? EDGE_A : EDGE_B];
    if (at->kind != HPC_EDGE_ADD && at->kind != HPC_EDGE_DOT)
        return hpc_fail(HPC_E_ARG, "kind %d is neither add nor dot", at->kind);
    if ((!a && !b) || (at->kind == HPC_EDGE_DOT && !(a && b)))
        return hpc_fail(HPC_E_ARG, "add needs a or b, and dot both");
    if (b != (i->operand[EDGE_INDEX] >= 0))
        return hpc_fail(HPC_E_ARG, "b and index are given together");
    if (a && b && hpc_op_cols(&type[EDGE_B]) != hpc_op_cols(x))
        return hpc_misfit(i, type, EDGE_A, EDGE_B, "their columns differ");
    if (at->kind == HPC_EDGE_DOT && (at->heads < 1 || hpc_op_cols(x) % at->heads))
        return hpc_misfit(i, type, EDGE_A, -1, "%lld columns do not divide into %lld heads",
                          (long long)hpc_op_cols(x), (long long)at->heads);
    if (i->operand[EDGE_PICK] >= 0 && (at->kind == HPC_EDGE_DOT || b))
        return hpc_misfit(i, type, EDGE_PICK, -1, "picked elements are those of a alone");
    return HPC_OK;
}

static int edge_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_graph_edge_attr *at = i->attr;
    bool a = i->operand[EDGE_A] >= 0, dot = at->kind == HPC_EDGE_DOT;
    int rc;
    TRY(hpc_op_expect_fixed(i, type, EDGE_A, HPC_OP_REAL, 2, 2));
    TRY(hpc_op_expect_fixed(i, type, EDGE_B, HPC_OP_REAL, 2, 2));
    TRY(hpc_op_expect_start(i, type, EDGE_START));
    TRY(hpc_op_expect_fixed(i, type, EDGE_INDEX, HPC_OP_INDEX, 1, 1));
    TRY(hpc_op_expect_fixed(i, type, EDGE_PICK, HPC_OP_INDEX, 2, 2));
    TRY(check_ends(i, type));
    TRY(hpc_op_expect_rows(i, type, EDGE_A, type[EDGE_START].extent[0] - 1, EDGE_START));
    if (i->operand[EDGE_PICK] >= 0) TRY(hpc_op_alike(i, type, EDGE_PICK, EDGE_A));
    if (i->operand[EDGE_BACK_START] >= 0) TRY(expect_back(i, type, EDGE_BACK_START, EDGE_INDEX));
    const hpc_type *x = &type[a ? EDGE_A : EDGE_B];
    int64_t edges = i->operand[EDGE_INDEX] >= 0 ? type[EDGE_INDEX].extent[0] : at->edges;
    TRY(hpc_op_output(i, type, EDGE_Y,
                      matrix(edges, dot ? at->heads : hpc_op_cols(x),
                             dot ? hpc_op_wide(x) : (hpc_dtype)x->dtype)));
out:
    return rc;
}

/* Sums of dy, or of dy times the other end's row, over the edges of a row. */
static int edge_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_graph_edge_attr *at = i->attr;
    const hpc_value *o = i->operand;
    hpc_value dy = hpc_diff_of(d, o[EDGE_Y]);
    bool dot = at->kind == HPC_EDGE_DOT;
    if (o[EDGE_PICK] >= 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes through picked elements");
    if (o[EDGE_A] >= 0 && hpc_diff_wants(d, o[EDGE_A])) {
        hpc_graph g = hpc_graph_of_segments(o[EDGE_START]);
        if (dot) g.index = o[EDGE_INDEX];
        hpc_op_give(d, o[EDGE_A],
                    hpc_graph_reduce(p, HPC_NEW, dot ? o[EDGE_B] : dy, dot ? dy : HPC_NONE, &g,
                                     HPC_GRAPH_SUM));
    }
    if (o[EDGE_B] < 0 || !hpc_diff_wants(d, o[EDGE_B])) return HPC_OK;
    if (o[EDGE_BACK_START] < 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes without the transposed graph");
    hpc_value operand[REDUCE_N] = {HPC_NEW,
                                   HPC_NONE,
                                   dot ? o[EDGE_A] : dy,
                                   dot ? dy : HPC_NONE,
                                   o[EDGE_BACK_START],
                                   dot ? o[EDGE_BACK_INDEX] : o[EDGE_BACK_EDGE],
                                   dot ? o[EDGE_BACK_EDGE] : HPC_NONE,
                                   HPC_NONE,
                                   HPC_NONE,
                                   HPC_NONE,
                                   HPC_NONE};
    hpc_graph_reduce_attr sum = {.kind = HPC_GRAPH_SUM};
    hpc_op_give(d, o[EDGE_B], hpc_emit(p, &hpc_op_graph_reduce, operand, &sum));
    return HPC_OK;
}

static int edge_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_graph_edge_attr *at = i->attr;
    bool dot = at->kind == HPC_EDGE_DOT;
    bool free = !dot || at->heads == 1;
    hpc_op_label(dims, p, i, EDGE_Y, dot ? "eh" : "eZ");
    hpc_op_label(dims, p, i, EDGE_A, free ? "vZ" : "vz");
    hpc_op_label(dims, p, i, EDGE_B, free ? "uZ" : "uz");
    hpc_op_label(dims, p, i, EDGE_PICK, "vZ");
    hpc_op_label(dims, p, i, EDGE_START, "s");
    hpc_op_label(dims, p, i, EDGE_INDEX, "e");
    hpc_op_label(dims, p, i, EDGE_BACK_START, "t");
    for (int k = EDGE_BACK_INDEX; k <= EDGE_BACK_EDGE; k++) hpc_op_label(dims, p, i, k, "e");
    unsigned a = i->operand[EDGE_A] >= 0 ? 1u << EDGE_A : 0;
    unsigned b = i->operand[EDGE_B] >= 0 ? 1u << EDGE_B : 0;
    dims->linear[0] = (uint16_t)(dot ? a : a | b);
    if (dot) dims->linear[1] = (uint16_t)b;
    return HPC_OK;
}

static hpc_cost edge_cost(const hpc_type *type, const void *attr)
{
    const hpc_graph_edge_attr *at = attr;
    const hpc_type *b = &type[EDGE_B], *x = &type[type[EDGE_A].rank >= 0 ? EDGE_A : EDGE_B];
    double edges = (double)type[EDGE_Y].extent[0], cols = (double)hpc_op_cols(x);
    bool both = type[EDGE_A].rank >= 0 && b->rank >= 0;
    double each = at->kind == HPC_EDGE_DOT ? 2 : both ? 1 : 0;
    hpc_cost c = hpc_op_cost(type, EDGE_BACK_START, edges * cols * each);
    if (b->rank >= 0 && b->extent[0] > 0)
        c.bytes += (double)hpc_type_bytes(b) * (edges / (double)b->extent[0] - 1);
    return c;
}

static int edge_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->graph_edge ? k->graph_edge(plan, workers, args) : hpc_op_missing("graph_edge");
}

const hpc_op hpc_op_graph_edge = {
    .sig = {.name = "graph_edge",
            .operand_n = EDGE_N,
            .attr_bytes = sizeof(hpc_graph_edge_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE},
                        {"a", HPC_IN | HPC_OPTIONAL},
                        {"b", HPC_IN | HPC_OPTIONAL},
                        {"start", HPC_IN},
                        {"index", HPC_IN | HPC_OPTIONAL},
                        {"pick", HPC_IN | HPC_OPTIONAL},
                        {"back_start", HPC_IN | HPC_OPTIONAL},
                        {"back_index", HPC_IN | HPC_OPTIONAL},
                        {"back_edge", HPC_IN | HPC_OPTIONAL}}},
    .field = edge_field,
    .comm = -1,
    .shape = edge_shape,
    .backward = edge_backward,
    .layout = edge_layout,
    .cost = edge_cost,
    .select = edge_select,
};

hpc_value hpc_op_graph_edge_picked(hpc_program *p, hpc_value a, hpc_value b, hpc_value pick,
                                   const hpc_graph *g, hpc_graph_edge_attr attr)
{
    bool back = b >= 0;
    hpc_value operand[EDGE_N] = {HPC_NEW,
                                 a,
                                 b,
                                 g->start,
                                 back ? g->index : HPC_NONE,
                                 pick,
                                 back ? g->back_start : HPC_NONE,
                                 back ? g->back_index : HPC_NONE,
                                 back ? g->back_edge : HPC_NONE};
    return hpc_emit(p, &hpc_op_graph_edge, operand, &attr);
}

hpc_value hpc_graph_add(hpc_program *p, hpc_value a, hpc_value b, const hpc_graph *g)
{
    hpc_graph_edge_attr attr = {.kind = HPC_EDGE_ADD};
    if (g->index >= 0) attr.edges = p->value[g->index].type.extent[0];
    return hpc_op_graph_edge_picked(p, a, b, HPC_NONE, g, attr);
}

hpc_value hpc_graph_dot(hpc_program *p, hpc_value a, hpc_value b, const hpc_graph *g, int64_t heads)
{
    hpc_graph_edge_attr attr = {.kind = HPC_EDGE_DOT, .heads = heads};
    return hpc_op_graph_edge_picked(p, a, b, HPC_NONE, g, attr);
}
