/*
 * admit.c: op table entry of admit: the choices of experts that find capacity, where ranks have
 * other tokens each. The executor runs it over a link (run/admit.c).
 */
#include "runtime/program/op/priv.h"

enum { ADMIT_KEPT, ADMIT_DROPPED, ADMIT_LOAD, ADMIT_EXPERT, ADMIT_N };

static const hpc_field admit_field[] = {
    {"axes", HPC_FIELD_I64, offsetof(hpc_admit_attr, comm.axes), NULL, true},
    {"ranks", HPC_FIELD_I64, offsetof(hpc_admit_attr, comm.ranks), NULL, true},
    {"experts", HPC_FIELD_I64, offsetof(hpc_admit_attr, experts), NULL, true},
    {"cap", HPC_FIELD_I64, offsetof(hpc_admit_attr, cap), NULL, true},
    {"tokens", HPC_FIELD_I64, offsetof(hpc_admit_attr, tokens), NULL, false},
    {"first", HPC_FIELD_I64, offsetof(hpc_admit_attr, first), NULL, false},
    {"wide", HPC_FIELD_BOOL, offsetof(hpc_admit_attr, wide), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int admit_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_admit_attr *at = i->attr;
    const hpc_dispatch_attr to = {.experts = at->experts, .cap = at->cap, .wide = at->wide};
    int rc;
    TRY(hpc_op_choices(i, type, ADMIT_DROPPED, &to, 1));
    if (type[ADMIT_EXPERT].ragged >= 0)
        return hpc_misfit(i, type, ADMIT_EXPERT, -1, "the number of tokens must be fixed");
    TRY(hpc_op_output(i, type, ADMIT_KEPT, hpc_op_like(&type[ADMIT_EXPERT], HPC_I32)));
out:
    return rc;
}

static int admit_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label(dims, p, i, ADMIT_KEPT, "Tk");
    hpc_op_label(dims, p, i, ADMIT_LOAD, "e");
    hpc_op_label(dims, p, i, ADMIT_EXPERT, "Tk");
    return HPC_OK;
}

static void admit_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                           const hpc_grid_shape *shape, const int *coord)
{
    hpc_admit_attr *at = i->attr;
    const hpc_type *t = &local[ADMIT_EXPERT];
    at->tokens = global[ADMIT_EXPERT].extent[0];
    at->first = hpc_type_first(t, 0, shape, coord);
    at->comm.axes = 0;
    at->comm.ranks = 1;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (shape->extent[a] < 2 || t->layout[a] <= 0) continue;
        at->comm.axes |= 1 << a;
        at->comm.ranks *= shape->extent[a];
    }
}

const hpc_op hpc_op_admit = {
    .sig = {.name = "admit",
            .operand_n = ADMIT_N,
            .attr_bytes = sizeof(hpc_admit_attr),
            .operand =
                {{"kept", HPC_OUT}, {"dropped", HPC_OUT}, {"load", HPC_OUT}, {"expert", HPC_IN}}},
    .field = admit_field,
    .comm = HPC_ALL_GATHER,
    .exchange = true,
    .shape = admit_shape,
    .layout = admit_layout,
    .localise = admit_localise,
};

hpc_admitted hpc_admit(hpc_program *p, hpc_value expert, hpc_dispatch_attr attr)
{
    hpc_value operand[ADMIT_N] = {HPC_NEW, HPC_NEW, HPC_NEW, expert};
    hpc_admit_attr at = {
        .comm = {.ranks = 1}, .experts = attr.experts, .cap = attr.cap, .wide = attr.wide};
    if (hpc_emit(p, &hpc_op_admit, operand, &at) < 0)
        return (hpc_admitted){HPC_NONE, HPC_NONE, HPC_NONE};
    return (hpc_admitted){.expert = operand[ADMIT_KEPT],
                          .dropped = operand[ADMIT_DROPPED],
                          .load = operand[ADMIT_LOAD]};
}
