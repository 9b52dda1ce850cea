/*
 * fault.c: the messages of faults that kernels find in their data.
 */
#include <stdio.h>

#include "runtime/device/priv.h"

/* Each message takes the fault's numbers in order, after the op. */
static const struct {
    int code;
    const char *text;
} message[HPC_FAULT_KIND_N] = {
    [HPC_FAULT_NONE] = {HPC_E_FAULT, "%s: the record of faults is damaged (%lld)"},
    [HPC_FAULT_ROW] = {HPC_E_ARG, "%s: index %lld at %lld is past the %lld rows"},
    [HPC_FAULT_ELEMENT] = {HPC_E_ARG, "%s: index %lld at %lld is past the %lld elements"},
    [HPC_FAULT_TARGET] = {HPC_E_ARG, "%s: target of row %lld is %lld, of a vocabulary of %lld"},
    [HPC_FAULT_START] = {HPC_E_SHAPE, "%s: sequence %lld has rows %lld to %lld of %lld"},
    [HPC_FAULT_KEYS] = {HPC_E_SHAPE, "%s: sequence %lld has %lld keys, its pages hold %lld"},
    [HPC_FAULT_PAGE] = {HPC_E_SHAPE, "%s: page %lld of sequence %lld is %lld, of %lld"},
    [HPC_FAULT_STEP] = {HPC_E_ARG, "%s: step is %lld, steps count from 1"},
    [HPC_FAULT_GROUP] = {HPC_E_ARG, "%s: token %lld goes to group %lld of %lld"},
    [HPC_FAULT_FULL] = {HPC_E_ARG, "%s: group %lld has more than %lld tokens"},
    [HPC_FAULT_EDGES] = {HPC_E_ARG, "%s: start[%lld] is %lld, after %lld, of %lld edges"},
    [HPC_FAULT_SOURCE] = {HPC_E_ARG, "%s: index %lld at %lld is not one of %lld rows"},
    [HPC_FAULT_EXPERT] = {HPC_E_ARG, "%s: token %lld goes to expert %lld of %lld"},
};

int hpc_fault_fail(const hpc_fault *f)
{
    bool known = f->kind > HPC_FAULT_NONE && f->kind < HPC_FAULT_KIND_N;
    int kind = known ? f->kind : HPC_FAULT_NONE;
    long long n[4] = {known ? f->number[0] : f->kind, f->number[1], f->number[2], f->number[3]};
    char text[256];
    snprintf(text, sizeof text, message[kind].text, f->at.op ? f->at.op : "kernel", n[0], n[1],
             n[2], n[3]);
    return hpc_fail(message[kind].code, "%s", text);
}

int hpc_kernel_fault(const hpc_launch *l, const hpc_fault *f)
{
    int32_t none = HPC_FAULT_NONE;
    hpc_fault *record = l->fault;
    if (!record) return hpc_fault_fail(f);
    if (__atomic_compare_exchange_n(&record->kind, &none, f->kind, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
    {
        record->at = f->at;
        memcpy(record->number, f->number, sizeof record->number);
    }
    return message[f->kind].code;
}
