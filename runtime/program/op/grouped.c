/*
 * grouped.c: op table entry of grouped: products whose rows belong to groups, each with a matrix of
 * its own. The gradients of such a product are such products.
 */
#include "runtime/program/op/priv.h"

enum { GROUPED_Y, GROUPED_A, GROUPED_B, GROUPED_START, GROUPED_N };

static const hpc_field grouped_field[] = {
    {"trans_b", HPC_FIELD_BOOL, offsetof(hpc_grouped_attr, trans_b), NULL, false},
    {"sum", HPC_FIELD_BOOL, offsetof(hpc_grouped_attr, sum), NULL, false},
    {"halves", HPC_FIELD_BOOL, offsetof(hpc_grouped_attr, halves), NULL, false},
    {"int8", HPC_FIELD_BOOL, offsetof(hpc_grouped_attr, int8), NULL, false},
    {"owned", HPC_FIELD_BOOL, offsetof(hpc_grouped_attr, owned), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int check_matrices(const hpc_insn *i, const hpc_type *type)
{
    const hpc_grouped_attr *at = i->attr;
    const hpc_type *a = &type[GROUPED_A], *b = &type[GROUPED_B], *start = &type[GROUPED_START];
    bool blocks = hpc_dtype_get((hpc_dtype)b->dtype)->quantised;
    if (b->ragged >= 0) return hpc_misfit(i, type, GROUPED_B, -1, "matrices have fixed extents");
    int64_t starts = b->extent[0] + 1;
    if (at->owned ? starts > start->extent[0] : starts != start->extent[0])
        return hpc_misfit(i, type, GROUPED_B, GROUPED_START, "%lld matrices need %lld starts",
                          (long long)b->extent[0], (long long)starts);
    if (a->extent[1] != b->extent[at->trans_b ? 2 : 1])
        return hpc_misfit(i, type, GROUPED_A, GROUPED_B, "inner extents differ");
    if ((blocks || b->pack != HPC_PLAIN) && !at->trans_b)
        return hpc_misfit(i, type, GROUPED_B, -1,
                          "packed and quantised factors are read by rows: set trans_b");
    if (at->int8 != blocks)
        return hpc_misfit(i, type, GROUPED_B, -1, "int8 takes block formats, and only these");
    return HPC_OK;
}

static int check_sum(const hpc_insn *i, const hpc_type *type)
{
    const hpc_grouped_attr *at = i->attr;
    const hpc_type *a = &type[GROUPED_A], *b = &type[GROUPED_B];
    if (at->trans_b || at->int8)
        return hpc_fail(HPC_E_ARG, "a sum over groups takes neither trans_b nor int8");
    if (a->extent[0] != b->extent[0] || a->ragged != b->ragged ||
        (a->ragged >= 0 && a->count != b->count))
        return hpc_misfit(i, type, GROUPED_A, GROUPED_B, "both must have the same rows");
    return HPC_OK;
}

static int grouped_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_grouped_attr *at = i->attr;
    const hpc_type *a = &type[GROUPED_A], *b = &type[GROUPED_B], *start = &type[GROUPED_START];
    int rank = at->sum ? 2 : 3, rc;
    TRY(hpc_op_expect(i, type, GROUPED_START, HPC_OP_INDEX, 1, 1));
    TRY(hpc_op_expect(i, type, GROUPED_A, HPC_OP_REAL, 2, 2));
    TRY(hpc_op_expect(i, type, GROUPED_B, at->sum ? HPC_OP_REAL : HPC_OP_WEIGHT, rank, rank));
    if (a->ragged > 0)
        return hpc_misfit(i, type, GROUPED_A, -1, "only the number of rows may be run-time");
    if (start->ragged >= 0 || start->extent[0] < 2)
        return hpc_misfit(i, type, GROUPED_START, -1, "expected the starts of at least one group");
    TRY(at->sum ? check_sum(i, type) : check_matrices(i, type));
    hpc_type y = hpc_op_like(a, (hpc_dtype)a->dtype);
    if (at->sum) {
        int64_t extent[] = {start->extent[0] - 1, a->extent[1], b->extent[1]};
        bool fewer = at->owned && i->operand[GROUPED_Y] >= 0;
        if (fewer && type[GROUPED_Y].extent[0] < extent[0]) extent[0] = type[GROUPED_Y].extent[0];
        y = hpc_type_of((hpc_dtype)a->dtype, 3, extent);
    } else {
        y.extent[1] = b->extent[at->trans_b ? 1 : 2];
    }
    TRY(hpc_op_output(i, type, GROUPED_Y, y));
out:
    return rc;
}

/* ---- backward -------------------------------------------------------------- */

static int grouped_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_grouped_attr *at = i->attr;
    hpc_value a = i->operand[GROUPED_A], b = i->operand[GROUPED_B],
              start = i->operand[GROUPED_START];
    hpc_value dy = hpc_diff_of(d, i->operand[GROUPED_Y]);
    if (at->sum) return hpc_fail(HPC_E_UNSUPPORTED, "no gradient of a sum over groups");
    if (hpc_diff_wants(d, a)) {
        hpc_grouped_attr by_a = {.trans_b = !at->trans_b, .halves = at->halves, .owned = at->owned};
        hpc_op_give(d, a, hpc_grouped(p, HPC_NEW, dy, b, start, by_a));
    }
    if (hpc_diff_wants(d, b)) {
        hpc_grouped_attr by_b = {.sum = true, .halves = at->halves, .owned = at->owned};
        hpc_op_give(d, b,
                    hpc_grouped(p, hpc_diff_target(d, b), at->trans_b ? dy : a,
                                at->trans_b ? a : dy, start, by_b));
    }
    return HPC_OK;
}

/* ---- layout, cost, selection ----------------------------------------------- */

/* Rows may be split in any way, if `start` is of those that are here. */
static int grouped_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    static const int8_t rows[HPC_AXIS_N] = {[HPC_AXIS_EXPERT] = HPC_OWN(0)},
                        matrices[HPC_AXIS_N] = {[HPC_AXIS_EXPERT] = HPC_SPLIT(0)};
    const hpc_grouped_attr *at = i->attr;
    hpc_op_label(dims, p, i, GROUPED_Y, at->sum ? "eNK" : "MN");
    hpc_op_label(dims, p, i, GROUPED_A, at->sum ? "MN" : "MK");
    hpc_op_label(dims, p, i, GROUPED_B, at->sum ? "MK" : at->trans_b ? "eNK" : "eKN");
    hpc_op_label(dims, p, i, GROUPED_START, "s");
    dims->own = 1u << GROUPED_START;
    dims->own_rows = 'M';
    for (int k = GROUPED_Y; at->owned && k <= GROUPED_B; k++)
        dims->as[k] = k == (at->sum ? GROUPED_Y : GROUPED_B) ? matrices : rows;
    dims->linear[0] = 1u << GROUPED_A;
    dims->linear[1] = 1u << GROUPED_B;
    return HPC_OK;
}

/* Rows are those of a: how many each group has does not matter. */
static hpc_cost grouped_cost(const hpc_type *type, const void *attr)
{
    const hpc_grouped_attr *at = attr;
    const hpc_type *a = &type[GROUPED_A];
    double other = (double)(at->sum ? type[GROUPED_B].extent[1] : type[GROUPED_Y].extent[1]);
    return hpc_op_cost(type, GROUPED_N, 2.0 * (double)hpc_op_n(a) * other);
}

static int grouped_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->grouped ? k->grouped(plan, workers, args) : hpc_op_missing("grouped");
}

const hpc_op hpc_op_grouped = {
    .sig = {.name = "grouped",
            .operand_n = GROUPED_N,
            .attr_bytes = sizeof(hpc_grouped_attr),
            .operand = {{"y", HPC_ACC}, {"a", HPC_IN}, {"b", HPC_IN}, {"start", HPC_IN}}},
    .field = grouped_field,
    .comm = -1,
    .shape = grouped_shape,
    .backward = grouped_backward,
    .layout = grouped_layout,
    .cost = grouped_cost,
    .select = grouped_select,
};

hpc_value hpc_grouped(hpc_program *p, hpc_value y, hpc_value a, hpc_value b, hpc_value start,
                      hpc_grouped_attr attr)
{
    hpc_value operand[GROUPED_N] = {y, a, b, start};
    return hpc_emit(p, &hpc_op_grouped, operand, &attr);
}
