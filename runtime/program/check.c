/*
 * check.c: validates a program: single assignment, definition before use, versions of state in
 * sequence, counts and guards of the right type. It does not repeat shape rules, which emission has
 * applied.
 */
#include "runtime/program/priv.h"

typedef struct checker {
    const hpc_program *p;
    int32_t *version; /* by value: state's version so far */
    bool *defined;    /* by value */
} checker;

static bool available(const checker *c, hpc_value v)
{
    return c->defined[v] || c->p->value[v].kind != HPC_VALUE_TEMP;
}

static int check_count(const checker *c, hpc_value v, const char *what)
{
    if (v < 0 || v >= c->p->value_n) return hpc_fail(HPC_E_STATE, "%s: no value %d", what, v);
    if (c->p->value[v].type.dtype != HPC_I32)
        return hpc_fail(HPC_E_STATE, "%s %%%d is not i32", what, v);
    if (!available(c, v))
        return hpc_fail(HPC_E_STATE, "%s %%%d is used before it is assigned", what, v);
    return HPC_OK;
}

static int check_guard(const checker *c, hpc_value v)
{
    int rc = check_count(c, v, "guard");
    if (rc < 0) return rc;
    const hpc_type *t = &c->p->value[v].type;
    char text[128];
    for (int k = 0; k < t->rank; k++)
        if (t->extent[k] != 1)
            return hpc_fail(HPC_E_STATE, "guard %%%d is %s, not a scalar", v,
                            hpc_type_text(text, t));
    return HPC_OK;
}

static int check_operand(checker *c, const hpc_insn *i, int k)
{
    const hpc_program *p = c->p;
    const char *name = i->op->sig.operand[k].name;
    hpc_value v = i->operand[k];
    if (v < 0) return HPC_OK;
    if (v >= p->value_n) return hpc_fail(HPC_E_STATE, "operand %s: no value %d", name, v);
    int role = hpc_insn_role(p, i, k);
    if (role & HPC_IN && !available(c, v))
        return hpc_fail(HPC_E_STATE, "operand %s: %%%d is used before it is assigned", name, v);
    hpc_value root = hpc_value_root(p, v);
    bool made = v != root && p->value[v].kind == HPC_VALUE_TEMP && !(role & HPC_IN);
    if (made) return HPC_OK; /* a view being made reads nothing */
    if (p->value[root].kind == HPC_VALUE_STATE && i->version[k] != c->version[root])
        return hpc_fail(HPC_E_STATE, "operand %s: reads version %d of %s, which is at %d by now",
                        name, i->version[k], p->value[root].name, c->version[root]);
    return HPC_OK;
}

static int define_outputs(checker *c, const hpc_insn *i)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (!(hpc_insn_role(c->p, i, k) & HPC_OUT)) continue;
        hpc_value v = i->operand[k];
        const hpc_value_info *info = &c->p->value[v];
        if (info->kind == HPC_VALUE_STATE)
            c->version[hpc_value_root(c->p, v)]++;
        else if (info->kind == HPC_VALUE_INPUT || c->defined[v])
            return hpc_fail(HPC_E_STATE, "operand %s: %%%d is assigned twice",
                            i->op->sig.operand[k].name, v);
        c->defined[v] = true;
    }
    return HPC_OK;
}

static int check_insn(checker *c, const hpc_insn *i)
{
    int rc = HPC_OK;
    for (int k = 0; k < i->op->sig.operand_n; k++) TRY(check_operand(c, i, k));
    if (i->tags.guard >= 0) TRY(check_guard(c, i->tags.guard));
    TRY(define_outputs(c, i));
    for (int k = 0; k < i->op->sig.operand_n; k++) /* an op may make a value and its count */
        if (i->operand[k] >= 0 && c->p->value[i->operand[k]].type.ragged >= 0)
            TRY(check_count(c, c->p->value[i->operand[k]].type.count, "count"));
out:
    return rc;
}

int hpc_program_check(const hpc_program *p)
{
    int rc = hpc_program_status(p);
    if (rc < 0) return rc;
    size_t n = (size_t)p->value_n + 1;
    checker c = {.p = p};
    c.version = hpc_alloc(n, sizeof *c.version);
    c.defined = hpc_alloc(n, sizeof *c.defined);
    if (!c.version || !c.defined) TRY(HPC_E_NOMEM);
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
            rc = check_insn(&c, &p->segment[s].insn[k]);
            if (rc < 0) {
                char where[96];
                hpc_error_where("%s", hpc_insn_where(where, p, (int)s, k));
                goto out;
            }
        }
out:
    hpc_free(c.version);
    hpc_free(c.defined);
    return rc;
}
