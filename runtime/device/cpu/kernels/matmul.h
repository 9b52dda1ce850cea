/*
 * matmul.h: shared by the kinds of products: the test for plain results, and the epilogue.
 */
#ifndef HPC_CPU_MATMUL_H
#define HPC_CPU_MATMUL_H

#include "runtime/device/cpu/kernels/isa.h"

/* True if results are the unchanged sums, so that they can be accumulated in place. (A symmetric
 * result is not plain: sums above the diagonal belong to another worker.) */
static inline bool matmul_is_plain(const hpc_matmul_args *a)
{
    bool sums = a->y.dtype == HPC_F32 || a->y.dtype == HPC_I32;

    return sums && !a->y.adds && a->attr.alpha == 1 && !a->bias.data && !a->pre.data &&
           a->attr.act == HPC_ACT_NONE && !a->residual.data && !a->attr.symmetric;
}

/* Finishes part of a row: x holds sums, and on return the values to store from element `at` of
 * y. bias and spare: n floats; bias is zeros if the op has no bias. (matmul.c) */
void HPC_ISA(cpu_matmul_finish)(const hpc_matmul_args *a, int64_t at, float *x, const float *bias,
                                float *spare, int64_t n);

/* Selector for packed block formats. (matmul_bytes.c) */
int HPC_ISA(cpu_matmul_bytes)(hpc_plan *p, int workers, const hpc_matmul_args *a);
/* The same for groups of rows; plain blocks are packed when they are used. */
int HPC_ISA(cpu_grouped_bytes)(hpc_plan *p, int workers, const hpc_grouped_args *g);

#endif
