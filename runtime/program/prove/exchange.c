/*
 * exchange.c: proves that rows which are exchanged return to their places: that an exchange there
 * and one back, whatever happens to the rows between them, are the identity.
 *
 * Rows that an exchange brings are in its plan's order. Instructions that go row by row keep that
 * order, sums over all rows do not depend on it, and only an exchange back by the same plan ends
 * it.
 */
#include <ctype.h>

#include "runtime/program/priv.h"
#include "runtime/program/prove/priv.h"

typedef struct orders {
    const hpc_program *p;
    hpc_value *plan; /* by value: in whose order its rows are, or HPC_NONE */
} orders;

static hpc_value order_of(const orders *o, hpc_value v)
{
    return v < 0 ? HPC_NONE : o->plan[v];
}

static int check_exchange(const orders *o, const hpc_insn *i)
{
    const hpc_exchange_attr *at = i->attr;
    hpc_value plan = i->operand[2], is = order_of(o, i->operand[1]);
    if (is == (at->back ? plan : HPC_NONE)) {
        o->plan[i->operand[0]] = at->back ? HPC_NONE : plan;
        return HPC_OK;
    }
    if (at->back && is == HPC_NONE)
        return hpc_fail(HPC_E_STATE, "rows %%%d go back, and no exchange has brought them",
                        i->operand[1]);
    return hpc_fail(HPC_E_STATE,
                    at->back ? "rows %%%d go back by plan %%%d, and came by plan %%%d"
                             : "rows %%%d are exchanged by plan %%%d, and not back by plan %%%d",
                    i->operand[1], plan, is);
}

/* The order of the rows that an instruction reads, and the letter of their dimension. */
static int read_order(hpc_value *plan, char *rows, const orders *o, const hpc_insn *i,
                      const hpc_dims *dims)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value is = order_of(o, i->operand[k]);
        if (is == HPC_NONE || !(hpc_insn_role(o->p, i, k) & HPC_IN)) continue;
        if (*plan != HPC_NONE && *plan != is)
            return hpc_fail(HPC_E_STATE, "%s is in the order of plan %%%d, others in that of %%%d",
                            i->op->sig.operand[k].name, is, *plan);
        *plan = is;
        if (dims->own >> k & 1) continue;
        char own = dims->label[k][0];
        if (!isupper((unsigned char)own) || (*rows && *rows != own))
            return hpc_fail(HPC_E_STATE, "%s is in the order of plan %%%d, and not read by rows",
                            i->op->sig.operand[k].name, is);
        *rows = own;
    }
    return HPC_OK;
}

/* All that goes with these rows is in their order, and results that do are now. */
static int keep_order(const orders *o, const hpc_insn *i, const hpc_dims *dims, hpc_value plan,
                      char rows)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        bool goes = dims->own >> k & 1;
        for (int d = 0; v >= 0 && d < o->p->value[v].type.rank; d++)
            goes = goes || (rows && dims->label[k][d] == rows);
        if (v < 0 || !goes) continue;
        if (hpc_insn_role(o->p, i, k) & HPC_IN) {
            if (order_of(o, v) == plan) continue;
            return hpc_fail(HPC_E_STATE, "%s is not in the order of plan %%%d, as others are",
                            i->op->sig.operand[k].name, plan);
        }
        if (o->p->value[v].kind != HPC_VALUE_TEMP)
            return hpc_fail(HPC_E_STATE, "%s keeps rows in the order of plan %%%d",
                            o->p->value[v].name, plan);
        o->plan[v] = plan;
    }
    return HPC_OK;
}

/* A view keeps an order if it keeps the rows. */
static int check_view(const orders *o, const hpc_insn *i)
{
    const hpc_type *y = &o->p->value[i->operand[0]].type, *x = &o->p->value[i->operand[1]].type;
    hpc_value is = order_of(o, i->operand[1]);
    if (is == HPC_NONE) return HPC_OK;
    if (y->rank < 1 || y->extent[0] != x->extent[0])
        return hpc_fail(HPC_E_STATE, "a view of rows in the order of plan %%%d has other rows", is);
    o->plan[i->operand[0]] = is;
    return HPC_OK;
}

static int check_insn(const orders *o, const hpc_insn *i)
{
    hpc_value plan = HPC_NONE;
    hpc_dims dims = {0};
    char rows = 0;
    int rc = HPC_OK;
    if (i->op == &hpc_op_exchange) return check_exchange(o, i);
    if (i->op->view) return check_view(o, i);
    if (i->op == &hpc_op_exchange_plan) {
        o->plan[i->operand[1]] = i->operand[0];
        return HPC_OK;
    }
    if (i->op->layout) TRY(i->op->layout(o->p, i, &dims));
    TRY(read_order(&plan, &rows, o, i, &dims));
    if (plan != HPC_NONE) TRY(keep_order(o, i, &dims, plan, rows));
out:
    return rc;
}

int hpc_prove_exchanges(hpc_proof *out, const hpc_program *p)
{
    orders o = {p, hpc_alloc((size_t)p->value_n + 1, sizeof *o.plan)};
    char where[96];
    int rc = o.plan ? HPC_OK : HPC_E_NOMEM;
    for (hpc_value v = 0; rc >= 0 && v < p->value_n; v++) o.plan[v] = HPC_NONE;
    for (int64_t s = 0; s < p->segment_n && rc >= 0; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n && rc >= 0; k++) {
            const hpc_insn *i = &p->segment[s].insn[k];
            rc = check_insn(&o, i);
            if (rc < 0) hpc_error_where("%s", hpc_insn_where(where, p, (int)s, k));
            out->exchanges += i->op == &hpc_op_exchange;
        }
    hpc_free(o.plan);
    return rc;
}
