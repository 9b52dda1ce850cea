/*
 * nop.c: the instruction that does nothing, to measure the overhead of an instruction.
 */
#include "runtime/device/cpu/kernels/priv.h"

static int nop_run(const hpc_launch *l, const void *args)
{
    (void)l, (void)args;
    return 0;
}

int HPC_WIDTH(cpu_nop)(hpc_plan *p, int workers, const hpc_nop_args *a)
{
    (void)workers, (void)a;
    *p = (hpc_plan){.run = nop_run, .name = "nop_" HPC_ISA_TEXT};
    return 0;
}
