/*
 * lt.cuh: products by cuBLASLt, or by its stub on the CPU: which products it takes, which algorithm
 * each of them has, and the epilogues that cuBLASLt lacks.
 *
 * It takes products of f32, of bf16 (y: bf16 or f32) and of i8 (y: i32), plain and without extents
 * that are known on the device alone, which are launched in the compute queue without a guard.
 * Sums are in f32, without TF32. Our own kernels take the others.
 *
 * Without `per_shape` of the stream, the algorithm depends on n, k, the types and the epilogue, not
 * on m: it is the first that cuBLASLt proposes for LT_ROWS rows, without splitting k and without a
 * workspace, and that takes any m. A row has the same bits for every m. With `per_shape`, each
 * shape has the algorithm that hpc_lt_choose found, or that a record named. It may split k, with
 * partial sums in f32, added in a fixed order.
 */
#ifndef HPC_CUDA_LT_H
#define HPC_CUDA_LT_H

#include "runtime/device/cuda/lt_api.cuh"
#include "runtime/device/cuda/simt.cuh"

enum { LT_ROWS = 256, LT_CANDIDATES = 16, LT_REPEATS = 3 };
enum { LT_WORKSPACE = 32 << 20 }; /* of products per shape, for each device */

struct hpc_lt;

/* stream: the compute queue, as cublasLtMatmul takes it. */
int hpc_lt_open(hpc_lt **out, const hpc_lt_api *api, void *stream, char *why);
void hpc_lt_close(hpc_lt *lt, const hpc_cuda_library *library, void *self);

/* Does it take the product? Then *rc is the result of enqueueing it. While s->choosing, every shape
 * that is new gets its algorithm instead: the fastest of LT_CANDIDATES, or the first one, if times
 * are not to be measured or if there is no memory for operands. */
bool hpc_lt_multiply(const hpc_cuda_stream *s, const hpc_matmul_args &g, int *rc);

/* Makes the descriptors of a product, which needs no device: does the library accept them all? */
bool hpc_lt_accepts(const hpc_lt_api *api);

/* The choices of hpc_lt_multiply while s->choosing; and those of a record, which replace none. */
int64_t hpc_lt_choices(const hpc_lt *lt, hpc_cuda_choice *out, int64_t most);
int hpc_lt_choose(hpc_lt *lt, const hpc_cuda_choice *choice, int64_t n);

/* The products of a device; NULL without cuBLASLt (driver.cu, shim/driver.cc). */
hpc_lt *hpc_cuda_lt(void *self);

#endif
