/*
 * rule.c: the layouts under which an instruction computes its part of the serial one, by the labels
 * of the op table.
 */
#include <ctype.h>
#include <string.h>

#include "runtime/program/priv.h"
#include "runtime/program/prove/priv.h"

bool prove_input(const hpc_program *p, const hpc_insn *i, int k)
{
    int role = hpc_insn_role(p, i, k);
    bool adds = (i->op->sig.operand[k].flags & HPC_ACC) == HPC_ACC;
    return role == HPC_IN || (role == HPC_INOUT && !adds);
}

typedef struct label { /* of dimensions that are split together, in the same way */
    char name;         /* 0: none */
    int8_t way;        /* layout of dimension 0 that is split so */
} label;

static int8_t layout_by(const hpc_dims *dims, int k, label by, int8_t otherwise)
{
    for (int d = 0; by.name && d < HPC_RANK_MAX && dims->label[k][d]; d++)
        if (dims->label[k][d] == by.name) return (int8_t)(by.way + d);
    return otherwise;
}

static int8_t layout_of(const prover *w, const hpc_insn *i, int k, int a)
{
    return w->p->value[i->operand[k]].type.layout[a];
}

/* The label by which inputs are split along the axis. */
static int split_label(label *out, const prover *w, const hpc_insn *i, const hpc_dims *dims, int a)
{
    value_text text;
    *out = (label){0};
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0 || !prove_input(w->p, i, k) || layout_of(w, i, k, a) <= 0) continue;
        if (dims->own >> k & 1) continue;
        int d = hpc_layout_dim(layout_of(w, i, k, a));
        label own = {dims->label[k][d], (int8_t)(layout_of(w, i, k, a) - d)};
        if (!isupper((unsigned char)own.name))
            return hpc_fail(HPC_E_STATE,
                            "operand %s, %s, is split along %s in dimension %d, of which it needs "
                            "all",
                            i->op->sig.operand[k].name, prove_value(text, w, i->operand[k]),
                            hpc_axis_name((hpc_axis)a), d);
        if (out->name && (out->name != own.name || out->way != own.way))
            return hpc_fail(HPC_E_STATE,
                            "operand %s, %s, is split along %s in dimension %d, and another "
                            "operand in one that does not go with it",
                            i->op->sig.operand[k].name, prove_value(text, w, i->operand[k]),
                            hpc_axis_name((hpc_axis)a), d);
        *out = own;
    }
    return HPC_OK;
}

static bool has_label(const prover *w, const hpc_insn *i, const hpc_dims *dims, char name)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0 && prove_input(w->p, i, k) && strchr(dims->label[k], name))
            return true;
    return false;
}

/* That of rows which no input has: of whole inputs each rank makes its own. 0: none. */
static char own_label(const prover *w, const hpc_insn *i, const hpc_dims *dims, int a)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0 || prove_input(w->p, i, k) || layout_of(w, i, k, a) <= 0) continue;
        char own = dims->label[k][hpc_layout_dim(layout_of(w, i, k, a))];
        if (isupper((unsigned char)own) && !has_label(w, i, dims, own)) return own;
    }
    return 0;
}

static int check_split(const prover *w, const hpc_insn *i, const hpc_dims *dims, int a, label by)
{
    value_text text;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0 || !prove_input(w->p, i, k)) continue;
        int8_t want = layout_by(dims, k, by, HPC_REPLICATED), is = layout_of(w, i, k, a);
        bool own = dims->own >> k & 1, rows = by.name == dims->own_rows;
        if (own && (hpc_layout_own(is) || (is == HPC_REPLICATED && !rows))) continue;
        if (!own && is == want) continue;
        return hpc_fail(HPC_E_STATE, "operand %s, %s, is %s along %s, where others are split",
                        i->op->sig.operand[k].name, prove_value(text, w, i->operand[k]),
                        is == HPC_PARTIAL ? "a partial sum that was not reduced" : "whole",
                        hpc_axis_name((hpc_axis)a));
    }
    return HPC_OK;
}

/* Checks that exactly those inputs are partial sums that the op passes on as partial sums. */
static int check_partial(bool *passes, const prover *w, const hpc_insn *i, const hpc_dims *dims,
                         int a)
{
    value_text text;
    unsigned partial = 0;
    int first = -1;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0 || !prove_input(w->p, i, k)) continue;
        if (layout_of(w, i, k, a) >= 0) continue;
        if (first < 0) first = k;
        partial |= layout_of(w, i, k, a) == HPC_PARTIAL ? 1u << k : ~0u; /* logarithms never pass */
    }
    *passes = partial != 0;
    for (size_t s = 0; s < sizeof dims->linear / sizeof *dims->linear; s++)
        if (dims->linear[s] == partial) return HPC_OK;
    if (partial == 0) return HPC_OK;
    return hpc_fail(HPC_E_STATE,
                    "operand %s, %s, is a partial sum along %s and must be reduced first",
                    i->op->sig.operand[first].name, prove_value(text, w, i->operand[first]),
                    hpc_axis_name((hpc_axis)a));
}

/* Instructions without inputs are constants: state may have any layout, and zero is its own sum. */
static int rule_of_constant(int8_t made[HPC_OPERAND_MAX][HPC_AXIS_N], const prover *w,
                            const hpc_insn *i)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        for (int a = 0; a < HPC_AXIS_N && i->operand[k] >= 0; a++) {
            made[k][a] = layout_of(w, i, k, a);
            bool zero = i->op == &hpc_op_fill && ((const hpc_fill_attr *)i->attr)->value == 0;
            if (made[k][a] == HPC_PARTIAL && !zero && prove_extent(w->w, a) > 1)
                return hpc_fail(HPC_E_STATE, "each rank along %s fills a part of one sum",
                                hpc_axis_name((hpc_axis)a));
        }
    return HPC_OK;
}

/* A split that operands must have exactly. */
static int8_t fixed(const hpc_dims *dims, int k, int a)
{
    return dims->as[k] && dims->as[k][a] > 0 ? dims->as[k][a] : HPC_REPLICATED;
}

/* *is: there are such, which the others then go by. */
static int check_fixed(bool *is, const prover *w, const hpc_insn *i, const hpc_dims *dims, int a)
{
    value_text text;
    *is = false;
    for (int k = 0; k < i->op->sig.operand_n; k++) *is = *is || fixed(dims, k, a) > 0;
    for (int k = 0; k < i->op->sig.operand_n && *is; k++) {
        if (i->operand[k] < 0 || !prove_input(w->p, i, k)) continue;
        if (!(dims->own >> k & 1) && layout_of(w, i, k, a) != fixed(dims, k, a))
            return hpc_fail(HPC_E_STATE, "operand %s, %s, is not split along %s as its index is",
                            i->op->sig.operand[k].name, prove_value(text, w, i->operand[k]),
                            hpc_axis_name((hpc_axis)a));
    }
    return HPC_OK;
}

/* HPC_OWN(0) if an input holds numbers about own rows. */
static int8_t own_layout(const prover *w, const hpc_insn *i, const hpc_dims *dims, int a)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0 && prove_input(w->p, i, k) && dims->own >> k & 1 &&
            hpc_layout_own(layout_of(w, i, k, a)))
            return HPC_OWN(0);
    return HPC_REPLICATED;
}

int prove_rule(int8_t made[HPC_OPERAND_MAX][HPC_AXIS_N], const prover *w, const hpc_insn *g,
               const hpc_insn *i)
{
    hpc_dims dims = {0};
    bool inputs = false;
    int rc = HPC_OK;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        inputs = inputs || (i->operand[k] >= 0 && prove_input(w->p, i, k));
    if (!inputs) return rule_of_constant(made, w, i);
    if (g->op->layout) TRY(g->op->layout(w->g, g, &dims));
    TRY(prove_picked(w, g, &dims));
    for (int a = 0; a < HPC_AXIS_N; a++) {
        label by = {0};
        bool passes = false, is_fixed = false;
        if (prove_extent(w->w, a) > 1) TRY(check_fixed(&is_fixed, w, i, &dims, a));
        if (prove_extent(w->w, a) > 1 && !is_fixed) {
            TRY(split_label(&by, w, i, &dims, a));
            if (!by.name) by = (label){own_label(w, i, &dims, a), HPC_SPLIT(0)};
            if (by.name)
                TRY(check_split(w, i, &dims, a, by));
            else
                TRY(check_partial(&passes, w, i, &dims, a));
        }
        int8_t otherwise = by.name || passes ? HPC_PARTIAL : HPC_REPLICATED;
        for (int k = 0; k < i->op->sig.operand_n; k++) {
            int8_t sum = by.name && dims.logarithm >> k & 1 ? HPC_LOGARITHM : otherwise;
            made[k][a] = is_fixed ? fixed(&dims, k, a) : layout_by(&dims, k, by, sum);
            if (dims.own >> k & 1)
                made[k][a] =
                    by.name && by.name == dims.own_rows ? HPC_OWN(0) : own_layout(w, i, &dims, a);
        }
    }
out:
    return rc;
}

int prove_presence(const prover *w, hpc_value state, const int8_t *added)
{
    const int8_t *t = w->p->value[state].type.layout;
    for (int r = 0; r < w->w->n; r++) {
        int c[HPC_AXIS_N];
        bool want = true;
        hpc_grid_coords(c, w->w->shape, w->w->rank[r]);
        for (int a = 0; a < HPC_AXIS_N; a++)
            if (prove_extent(w->w, a) > 1 && added[a] == HPC_REPLICATED && t[a] == HPC_PARTIAL)
                want = want && c[a] == 0;
        if (want == w->here[r]) continue;
        return hpc_fail(HPC_E_STATE, "rank %d %s %s, which %s", w->w->rank[r],
                        want ? "does not add to" : "adds to", w->p->value[state].name,
                        want ? "needs its part" : "another rank has added for it");
    }
    return HPC_OK;
}
