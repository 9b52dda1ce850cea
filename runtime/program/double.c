/*
 * double.c: conversion of a program to f64, as a reference.
 */
#include "runtime/program/priv.h"

int hpc_to_double(hpc_program *p)
{
    for (int64_t v = 0; v < p->value_n; v++)
        if (hpc_type_real(&p->value[v].type)) p->value[v].type.dtype = HPC_F64;
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
            const hpc_insn *i = &p->segment[s].insn[k];
            if (i->op != &hpc_op_copy) continue;
            hpc_copy_attr *a = i->attr;
            if (hpc_type_real(&p->value[i->operand[0]].type)) a->dtype = HPC_F64;
        }
    return hpc_program_status(p);
}
