/*
 * cuda.h: the CUDA device and its kernels as C function tables. Two shared objects implement them:
 * hpccoder-cuda.so on the CUDA runtime, and hpccoder-cuda-shim.so, which runs the same kernels on
 * the CPU to test them. Neither calls a function of hpccoder; backend.c and select.c do the rest.
 *
 * Functions return 0, or nonzero with the reason in `why` (HPC_CUDA_TEXT bytes).
 */
#ifndef HPC_CUDA_H
#define HPC_CUDA_H

#include "runtime/device/kernel/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_CUDA_VERSION = 1, HPC_CUDA_TEXT = 256 };

struct hpc_cuda_library;

/* A queue as launchers see it. */
typedef struct hpc_cuda_stream {
    const struct hpc_cuda_library *library;
    void *self;           /* of the library */
    int queue;            /* hpc_queue */
    hpc_origin at;        /* of the launch, noted by kernels that find a fault */
    const int32_t *guard; /* device scalar: kernels do nothing where it is 0; NULL: none */
    char *why;
} hpc_cuda_stream;

/* Enqueues the kernels of an op; args are its arguments of kernel.h. */
typedef int hpc_cuda_launcher(const hpc_cuda_stream *s, const void *args, void *workspace);

typedef struct hpc_cuda_launchers {
    hpc_cuda_launcher *act, *act_grad, *glu, *glu_grad, *binary, *scale, *copy, *fill, *dropout,
        *soft;
    hpc_cuda_launcher *norm, *norm_grad, *rope, *gather, *scatter, *route, *pick, *spread, *reduce;
    hpc_cuda_launcher *sgd, *adamw, *adam, *apply, *below, *combine, *map, *tile, *bundle;
    hpc_cuda_launcher *adam_add, *adam_step;
    hpc_cuda_launcher *matmul, *matmul_mma;
} hpc_cuda_launchers;

typedef struct hpc_cuda_about {
    char architecture[32]; /* "sm_90"; of the shim, its schedule */
    size_t memory_bytes;   /* of the device, or 0 */
} hpc_cuda_about;

typedef struct hpc_cuda_library {
    int version;
    /* device: its number. isa: the shim's schedule; NULL otherwise. */
    int (*open)(void **self, int device, const char *isa, hpc_cuda_about *about, char *why);
    void (*close)(void *self);
    int (*alloc)(void *self, void **out, size_t bytes, char *why);
    void (*release)(void *self, void *p);
    int (*copy)(void *self, int queue, void *dst, const void *src, size_t bytes, hpc_direction way,
                char *why);
    int (*record)(void *self, int queue, int *event, char *why);
    int (*wait)(void *self, int queue, int event, char *why);
    int (*sync)(void *self, int event, char *why);
    int (*elapsed)(void *self, int from, int to, int64_t *ns, char *why);
    int (*fill)(void *self, int queue, void *p, int byte, size_t bytes, char *why);
    int (*host_alloc)(void *self, void **out, size_t bytes, char *why);
    void (*host_release)(void *self, void *p);
    /* Waits for all queues, recycles events and returns the fault that kernels noted. */
    int (*fence)(void *self, hpc_fault *fault, char *why);
    void *(*stream)(void *self, int queue); /* cudaStream_t */
    hpc_cuda_launchers launch;
} hpc_cuda_library;

/* Reductions of n rows or elements go by chunks of this length, so that at most this many chunks
 * are added up in order, by kernels that workspaces of select.c are for. */
enum { HPC_CUDA_CHUNKS = 1024, HPC_CUDA_CHUNK_LEAST = 64 };
static inline int64_t hpc_cuda_chunk(int64_t n)
{
    const int64_t length = (n + HPC_CUDA_CHUNKS - 1) / HPC_CUDA_CHUNKS;
    return length < HPC_CUDA_CHUNK_LEAST ? (int64_t)HPC_CUDA_CHUNK_LEAST : length;
}

#define HPC_CUDA_SYMBOL "hpc_cuda_library_table"

/* plan.run of every op calls this. */
int hpc_cuda_run(const hpc_launch *l, hpc_cuda_launcher *launcher, const void *args);
extern const hpc_kernels hpc_cuda_kernels; /* select.c */

#ifdef __cplusplus
}
#endif
#endif
