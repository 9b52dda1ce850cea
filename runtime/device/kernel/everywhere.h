/*
 * everywhere.h: the mark of functions that host code and GPU kernels both call, so that one source
 * gives the same bits on both.
 */
#ifndef HPC_EVERYWHERE_H
#define HPC_EVERYWHERE_H

#if defined(__CUDACC__)
#define HPC_EVERYWHERE __host__ __device__
#else
#define HPC_EVERYWHERE
#endif

#endif
