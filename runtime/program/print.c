/*
 * print.c: text form of programs, one line per instruction.
 */
#include <string.h>

#include "runtime/program/priv.h"

hpc_cost hpc_insn_cost(const hpc_program *p, const hpc_insn *i)
{
    hpc_type type[HPC_OPERAND_MAX];
    hpc_cost c = {0, 0};
    if (i->op->view || i->tags.idle) return c;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        type[k] =
            v >= 0 ? p->value[v].type : (hpc_type){.rank = -1, .ragged = -1, .count = HPC_NONE};
        if (v >= 0) c.bytes += (double)hpc_type_bytes(&type[k]);
    }
    return i->op->cost ? i->op->cost(type, i->attr) : c;
}

static void put_value(hpc_buf *out, const hpc_program *p, const hpc_insn *i, int k)
{
    hpc_value v = i->operand[k];
    const hpc_value_info *info = &p->value[v];
    hpc_value root = hpc_value_root(p, v);
    if (info->name)
        hpc_buf_printf(out, "%s", info->name);
    else
        hpc_buf_printf(out, "%%%d", v);
    if (p->value[root].kind == HPC_VALUE_STATE)
        hpc_buf_printf(out, "@%d", i->version[k] + (hpc_insn_role(p, i, k) & HPC_OUT ? 1 : 0));
}

/* "+x" is accumulated; a value that is overwritten has a new version. */
static void put_outputs(hpc_buf *out, const hpc_program *p, const hpc_insn *i)
{
    bool any = false;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        int role = hpc_insn_role(p, i, k);
        if (!(role & HPC_OUT)) continue;
        bool adds = role & HPC_IN && (i->op->sig.operand[k].flags & HPC_ACC) == HPC_ACC;
        hpc_buf_printf(out, "%s%s", any ? ", " : "", adds ? "+" : "");
        put_value(out, p, i, k);
        any = true;
    }
    if (any) hpc_buf_text(out, " = ");
}

static void put_inputs(hpc_buf *out, const hpc_program *p, const hpc_insn *i)
{
    bool any = false;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (hpc_insn_role(p, i, k) != HPC_IN) continue;
        hpc_buf_printf(out, "%s%s=", any ? " " : "", i->op->sig.operand[k].name);
        put_value(out, p, i, k);
        any = true;
    }
}

static void put_field(hpc_buf *out, const hpc_field *f, const void *attr)
{
    const char *at = (const char *)attr + f->offset;
    int64_t n = 0;
    double x = 0;
    switch (f->kind) {
    case HPC_FIELD_BOOL: n = *(const bool *)at; break;
    case HPC_FIELD_INT:
    case HPC_FIELD_NAME: n = *(const int *)at; break;
    case HPC_FIELD_I64: n = *(const int64_t *)at; break;
    case HPC_FIELD_REAL: x = *(const double *)at; break;
    }
    if (n == 0 && x == 0 && !f->real_default) return;
    if (f->kind == HPC_FIELD_REAL)
        hpc_buf_printf(out, " %s=%g", f->name, x);
    else if (f->kind == HPC_FIELD_NAME)
        hpc_buf_printf(out, " %s=%s", f->name, f->names[n]);
    else if (f->kind == HPC_FIELD_BOOL)
        hpc_buf_printf(out, " %s", f->name);
    else
        hpc_buf_printf(out, " %s=%lld", f->name, (long long)n);
}

static void put_types(hpc_buf *out, const hpc_program *p, const hpc_insn *i)
{
    char text[128];
    const char *before = " : ";
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (!(hpc_insn_role(p, i, k) & HPC_OUT)) continue;
        hpc_buf_printf(out, "%s%s", before, hpc_type_text(text, &p->value[i->operand[k]].type));
        before = ", ";
    }
}

static void put_tags(hpc_buf *out, const hpc_program *p, const hpc_insn *i)
{
    static const char *const queue[HPC_QUEUE_N] = {"compute", "comm", "copy"};
    const hpc_tags *t = &i->tags;
    if (t->block >= 0) hpc_buf_printf(out, "  block %d", t->block);
    if (t->group >= 0) hpc_buf_printf(out, "  group %d", t->group);
    if (t->microbatch >= 0) hpc_buf_printf(out, "  microbatch %d", t->microbatch);
    if (t->origin >= 0) hpc_buf_printf(out, "  from #%d", t->origin);
    if (t->idle) hpc_buf_text(out, "  not here");
    if (t->queue != HPC_COMPUTE) hpc_buf_printf(out, "  on %s", queue[t->queue]);
    if (t->guard >= 0 && p->value[t->guard].name)
        hpc_buf_printf(out, "  if %s", p->value[t->guard].name);
    else if (t->guard >= 0)
        hpc_buf_printf(out, "  if %%%d", t->guard);
}

static void put_insn(hpc_buf *out, const hpc_program *p, const hpc_insn *i)
{
    put_outputs(out, p, i);
    hpc_buf_printf(out, "%s(", i->op->sig.name);
    put_inputs(out, p, i);
    hpc_buf_text(out, ")");
    for (const hpc_field *f = i->op->field; f && f->name; f++) put_field(out, f, i->attr);
    put_types(out, p, i);
    put_tags(out, p, i);
}

static void put_named(hpc_buf *out, const hpc_program *p)
{
    static const char *const kind[] = {"input", "state", "temp"};
    char text[128];
    for (int64_t v = 0; v < p->value_n; v++) {
        const hpc_value_info *info = &p->value[v];
        if (!info->name) continue;
        hpc_buf_printf(out, "%s %s : %s%s\n", kind[info->kind], info->name,
                       hpc_type_text(text, &info->type), info->trainable ? "  trainable" : "");
    }
}

int hpc_program_print(hpc_buf *out, const hpc_program *p,
                      int (*note)(hpc_buf *out, void *user, int segment, int64_t insn), void *user)
{
    int rc = HPC_OK;
    put_named(out, p);
    for (int s = 0; s < p->segment_n; s++) {
        hpc_buf_printf(out, "\n%s\n", p->segment[s].name);
        for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
            hpc_buf_printf(out, "%4lld  ", (long long)k);
            put_insn(out, p, &p->segment[s].insn[k]);
            if (note) TRY(note(out, user, s, k));
            hpc_buf_text(out, "\n");
        }
    }
    if (out->failed) rc = HPC_E_NOMEM;
out:
    return rc;
}
