/*
 * sample.c: op table entry of sample: a token from each row of logits, with its log-probability.
 * Nothing may be split, and no gradient passes.
 */
#include "runtime/device/kernel/sample.h"
#include "runtime/program/op/priv.h"

enum { SAMPLE_TOKEN, SAMPLE_LOGPROB, SAMPLE_LOGITS, SAMPLE_HOW, SAMPLE_N };

static int sample_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[SAMPLE_LOGITS];
    int rc;
    TRY(hpc_op_expect(i, type, SAMPLE_LOGITS, HPC_OP_REAL, 2, 2));
    TRY(hpc_op_expect(i, type, SAMPLE_HOW, HPC_OP_LONG, 2, 2));
    if (x->dtype == HPC_BF16 || x->ragged > 0)
        return hpc_misfit(i, type, SAMPLE_LOGITS, -1, "expected rows of whole vocabularies in f32");
    if (x->extent[1] > HPC_SAMPLE_VOCAB)
        return hpc_misfit(i, type, SAMPLE_LOGITS, -1, "a vocabulary has at most %d tokens",
                          (int)HPC_SAMPLE_VOCAB);
    hpc_type how = hpc_op_like(x, HPC_I64);
    how.extent[1] = HPC_SAMPLE_WORDS;
    if (!hpc_type_same_shape(&type[SAMPLE_HOW], &how))
        return hpc_misfit(i, type, SAMPLE_LOGITS, SAMPLE_HOW, "each row needs a record of %d words",
                          (int)HPC_SAMPLE_WORDS);
    TRY(hpc_op_output(i, type, SAMPLE_TOKEN, hpc_op_leading(x, HPC_I32)));
    TRY(hpc_op_output(i, type, SAMPLE_LOGPROB, hpc_op_leading(x, (hpc_dtype)x->dtype)));
out:
    return rc;
}

static int sample_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label(dims, p, i, SAMPLE_TOKEN, "r");
    hpc_op_label(dims, p, i, SAMPLE_LOGPROB, "r");
    hpc_op_label(dims, p, i, SAMPLE_LOGITS, "rv");
    hpc_op_label(dims, p, i, SAMPLE_HOW, "rh");
    return HPC_OK;
}

static int sample_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->sample ? k->sample(plan, workers, args) : hpc_op_missing("sample");
}

const hpc_op hpc_op_sample = {
    .sig = {.name = "sample",
            .operand_n = SAMPLE_N,
            .attr_bytes = sizeof(hpc_no_attr),
            .operand =
                {{"token", HPC_OUT}, {"logprob", HPC_OUT}, {"logits", HPC_IN}, {"how", HPC_IN}}},
    .comm = -1,
    .shape = sample_shape,
    .layout = sample_layout,
    .select = sample_select,
};

hpc_value hpc_sample_tokens(hpc_program *p, hpc_value *logprob, hpc_value logits, hpc_value how)
{
    hpc_value operand[SAMPLE_N] = {HPC_NEW, HPC_NEW, logits, how};
    hpc_value token = hpc_emit(p, &hpc_op_sample, operand, NULL);
    if (logprob) *logprob = token < 0 ? HPC_NONE : operand[SAMPLE_LOGPROB];
    return token;
}
