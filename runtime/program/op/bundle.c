/*
 * bundle.c: op table entry of bundle, which concatenates several values so that one message carries
 * them. Views separate them again. No gradient passes, because bundles carry gradients, and no
 * layout rule is needed, because bundles are created after sharding.
 */
#include "runtime/program/op/priv.h"

enum { BUNDLE_Y, BUNDLE_X };

static const hpc_field bundle_field[] = {
    {"parts", HPC_FIELD_I64, offsetof(hpc_bundle_attr, parts), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int bundle_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_bundle_attr *at = i->attr;
    int64_t n = 0;
    int rc;
    if (at->parts < 1)
        return hpc_fail(HPC_E_ARG, "parts is %lld; it must be at least 1", (long long)at->parts);
    for (int k = BUNDLE_X; k <= HPC_BUNDLE_MAX; k++) {
        TRY(hpc_op_expect(i, type, k, HPC_OP_ANY, 0, HPC_RANK_MAX));
        if (i->operand[k] < 0) continue;
        if (type[k].ragged >= 0)
            return hpc_misfit(i, type, k, -1, "only fixed extents are bundled");
        if (type[k].dtype != type[BUNDLE_X].dtype)
            return hpc_misfit(i, type, k, BUNDLE_X, "they must have elements of one type");
        if (hpc_op_n(&type[k]) % at->parts)
            return hpc_misfit(i, type, k, -1, "its elements are not %lld parts",
                              (long long)at->parts);
        n += hpc_op_n(&type[k]);
    }
    TRY(hpc_op_output(i, type, BUNDLE_Y, hpc_type_of((hpc_dtype)type[BUNDLE_X].dtype, 1, &n)));
out:
    return rc;
}

static int bundle_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->bundle ? k->bundle(plan, workers, args) : hpc_op_missing("bundle");
}

const hpc_op hpc_op_bundle = {
    .sig = {.name = "bundle",
            .operand_n = 1 + HPC_BUNDLE_MAX,
            .attr_bytes = sizeof(hpc_bundle_attr),
            .operand = {{"y", HPC_OUT},
                        {"x0", HPC_IN},
                        {"x1", HPC_IN | HPC_OPTIONAL},
                        {"x2", HPC_IN | HPC_OPTIONAL},
                        {"x3", HPC_IN | HPC_OPTIONAL},
                        {"x4", HPC_IN | HPC_OPTIONAL},
                        {"x5", HPC_IN | HPC_OPTIONAL},
                        {"x6", HPC_IN | HPC_OPTIONAL},
                        {"x7", HPC_IN | HPC_OPTIONAL},
                        {"x8", HPC_IN | HPC_OPTIONAL},
                        {"x9", HPC_IN | HPC_OPTIONAL},
                        {"x10", HPC_IN | HPC_OPTIONAL}}},
    .field = bundle_field,
    .comm = -1,
    .shape = bundle_shape,
    .select = bundle_select,
};

hpc_value hpc_bundle(hpc_program *p, const hpc_value *x, int n, int64_t parts)
{
    hpc_value operand[1 + HPC_BUNDLE_MAX] = {HPC_NEW};
    hpc_bundle_attr attr = {.parts = parts};
    hpc_assert(n >= 1 && n <= HPC_BUNDLE_MAX);
    for (int k = 0; k < HPC_BUNDLE_MAX; k++) operand[BUNDLE_X + k] = k < n ? x[k] : HPC_NONE;
    return hpc_emit(p, &hpc_op_bundle, operand, &attr);
}
