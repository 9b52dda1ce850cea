/*
 * stage_shared.c: finds the instructions that all ranks of an interlaced pipeline run: those on
 * parts of the vocabulary or on sums over such parts, those between them, and those that prepare
 * their operands without a result that a stage computes in the same segment.
 */
#include "runtime/program/stage_priv.h"

typedef struct finder {
    const hpc_program *p;
    int s;
    const hpc_segment *g;
    bool *seed;           /* by instruction: stage_has_parts */
    bool *after, *before; /* on a path from a seed, or to one */
} finder;

/* Each rank along pipe has its own part. */
static bool has_parts(const hpc_program *p, hpc_value v)
{
    int8_t layout = p->value[v].type.layout[HPC_AXIS_PIPE];
    if (layout > 0 || layout == HPC_LOGARITHM) return true;
    return layout == HPC_PARTIAL && p->value[hpc_value_root(p, v)].kind == HPC_VALUE_TEMP;
}

bool stage_has_parts(const hpc_program *p, const hpc_insn *i)
{
    if (i->op->comm >= 0 && ((const hpc_comm_attr *)i->attr)->axes >> HPC_AXIS_PIPE & 1)
        return true;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0 && has_parts(p, i->operand[k])) return true;
    return false;
}

/* The instruction of this segment that computes operand k, or -1. */
static int64_t maker_of(const finder *f, const hpc_insn *i, int k)
{
    hpc_value v = i->operand[k];
    if (v < 0 || !(hpc_insn_role(f->p, i, k) & HPC_IN)) return -1;
    const hpc_value_info *info = &f->p->value[v];
    return info->kind == HPC_VALUE_TEMP && info->segment == f->s ? info->insn : -1;
}

/* Paths within blocks belong to stages. */
static bool is_between(const hpc_insn *i)
{
    return i->tags.block < 0;
}

static void follow(finder *f)
{
    for (int64_t k = 0; k < f->g->insn_n; k++) {
        const hpc_insn *i = &f->g->insn[k];
        f->seed[k] = f->after[k] = f->before[k] = stage_has_parts(f->p, i);
        for (int a = 0; a < i->op->sig.operand_n && is_between(i); a++) {
            int64_t made = maker_of(f, i, a);
            if (made >= 0 && f->after[made]) f->after[k] = true;
        }
    }
    for (int64_t k = f->g->insn_n - 1; k >= 0; k--)
        for (int a = 0; f->before[k] && a < f->g->insn[k].op->sig.operand_n; a++) {
            int64_t made = maker_of(f, &f->g->insn[k], a);
            if (made >= 0 && is_between(&f->g->insn[made])) f->before[made] = true;
        }
}

/* One that reads a stage's result of this segment comes after the stages. */
static bool is_late(const finder *f, const int *stage, const hpc_insn *i)
{
    for (int a = 0; a < i->op->sig.operand_n; a++) {
        int64_t made = maker_of(f, i, a);
        if (made >= 0 && stage[made] != STAGE_SHARED) return true;
    }
    return false;
}

int stage_find_shared(int *stage, const hpc_program *p, int s)
{
    finder f = {.p = p, .s = s, .g = &p->segment[s]};
    size_t n = (size_t)f.g->insn_n + 1;
    int rc = HPC_OK;
    f.seed = hpc_alloc(n, sizeof *f.seed);
    f.after = hpc_alloc(n, sizeof *f.after);
    f.before = hpc_alloc(n, sizeof *f.before);
    if (!f.seed || !f.after || !f.before) TRY(HPC_E_NOMEM);
    follow(&f);
    for (int64_t k = 0; k < f.g->insn_n; k++) {
        const hpc_insn *i = &f.g->insn[k];
        bool late = is_late(&f, stage, i);
        if (f.before[k] && (f.after[k] || !late))
            stage[k] = late ? STAGE_SHARED_LATE : STAGE_SHARED;
    }
out:
    hpc_free(f.seed);
    hpc_free(f.after);
    hpc_free(f.before);
    return rc;
}
