/*
 * isa.h: names of symbols that are compiled once for each instruction set.
 *
 * Every file in this folder is compiled with the flags of each set and HPC_ISA_NAME as its suffix:
 * HPC_WIDTH(cpu_norm) is cpu_norm_avx2 there. Only symbols that other files use are named so; the
 * rest is static.
 */
#ifndef HPC_CPU_ISA_H
#define HPC_CPU_ISA_H

#include "runtime/device/kernel/kernel.h"

#define HPC_ISA_JOIN2(a, b) a##_##b
#define HPC_ISA_JOIN(a, b)  HPC_ISA_JOIN2(a, b)
#define HPC_ISA(name)       HPC_ISA_JOIN(name, HPC_ISA_NAME)
#define HPC_WIDTH(name)     HPC_ISA_JOIN(name, HPC_WIDTH_NAME)
#define HPC_ISA_TEXT2(a)    #a
#define HPC_ISA_TEXT1(a)    HPC_ISA_TEXT2(a)
#define HPC_ISA_TEXT        HPC_ISA_TEXT1(HPC_ISA_NAME) /* "avx2" */

#endif
