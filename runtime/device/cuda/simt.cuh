/*
 * simt.cuh: what kernels see of a GPU: threads, barriers, shared memory and the instructions of
 * warps. Nothing else uses intrinsics, inline assembly or <<<>>>, so that kernels also compile for
 * the CPU (shim/), where the rules below are checked.
 *
 * A kernel is a struct with the type `args` of its argument, passed by value, the largest number of
 * threads of a block, `threads`, and a static function run(t, args). Blocks have whole warps.
 * All threads of a block reach the same barriers, all lanes of a warp the same collectives:
 * sync_warp, shuffle, load_matrices, multiply. Shared memory is read only where it was written,
 * after a barrier or collective if by another thread. Its size is exact. copy_async's destination
 * is defined after copy_wait of the same thread, and for others after the barrier that follows.
 */
#ifndef HPC_SIMT_H
#define HPC_SIMT_H

#include "runtime/device/cuda/cuda.h"

struct simt_shape {
    int64_t blocks; /* x; at most 2^31 - 1; none: nothing is launched */
    int blocks_y;
    int threads;
    int shared_bytes;
    bool independent; /* uses no barrier, collective or shared memory */
};

enum { SIMT_WARP = 32 };

#if HPC_SIMT_SHIM
#include "runtime/device/cuda/shim/shim.cuh"
#else
#include <cuda_runtime.h>

#define SIMT_UNROLL _Pragma("unroll") /* before a loop: its arrays stay in registers */
#define SIMT_ROLLED _Pragma("unroll 1") /* before a loop with a large body */
#define SIMT_DEVICE __device__ __forceinline__
#define SIMT_BOTH   __host__ __device__ __forceinline__

struct simt_gate {
    const int32_t *guard;
    hpc_fault *fault;
    hpc_origin at;
};

extern __shared__ __align__(16) unsigned char simt_memory[];

template <class T> struct simt_shared {
    T *p;
    SIMT_DEVICE T &operator[](int i) const { return p[i]; }
    SIMT_DEVICE simt_shared<T> from(int i) const { return simt_shared<T>{p + i}; }
};

class simt {
  public:
    SIMT_DEVICE explicit simt(const simt_gate &g) : gate(g) {}
    SIMT_DEVICE int thread() const { return (int)threadIdx.x; }
    SIMT_DEVICE int threads() const { return (int)blockDim.x; }
    SIMT_DEVICE int lane() const { return (int)(threadIdx.x & 31); }
    SIMT_DEVICE int warp() const { return (int)(threadIdx.x >> 5); }
    SIMT_DEVICE int64_t block() const { return (int64_t)blockIdx.x; }
    SIMT_DEVICE int64_t blocks() const { return (int64_t)gridDim.x; }
    SIMT_DEVICE int block_y() const { return (int)blockIdx.y; }

    SIMT_DEVICE void sync() const { __syncthreads(); }
    SIMT_DEVICE void sync_warp() const { __syncwarp(); }
    SIMT_DEVICE float shuffle_xor(float v, int mask) const
    {
        return __shfl_xor_sync(0xffffffffu, v, mask);
    }
    SIMT_DEVICE double shuffle_xor(double v, int mask) const
    {
        return __shfl_xor_sync(0xffffffffu, v, mask);
    }
    SIMT_DEVICE uint64_t shuffle_xor(uint64_t v, int mask) const
    {
        return __shfl_xor_sync(0xffffffffu, v, mask);
    }
    SIMT_DEVICE int shuffle_xor(int v, int mask) const
    {
        return __shfl_xor_sync(0xffffffffu, v, mask);
    }
    /* Bit l: the value of lane l. */
    SIMT_DEVICE uint32_t ballot(bool v) const { return __ballot_sync(0xffffffffu, v); }
    SIMT_DEVICE float shuffle(float v, int lane) const { return __shfl_sync(0xffffffffu, v, lane); }
    SIMT_DEVICE int shuffle(int v, int lane) const { return __shfl_sync(0xffffffffu, v, lane); }

    /* n elements from a byte of shared memory on. */
    template <class T> SIMT_DEVICE simt_shared<T> shared(int byte, int n) const
    {
        (void)n;
        return simt_shared<T>{(T *)(simt_memory + byte)};
    }

    /* Starts to copy 16 bytes to elements i, i+1, ...; both addresses are multiples of 16. */
    template <class T> SIMT_DEVICE void copy_async(simt_shared<T> dst, int i, const void *src) const
    {
        const unsigned to = (unsigned)__cvta_generic_to_shared(dst.p + i);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(src) : "memory");
    }
    SIMT_DEVICE void copy_commit() const { asm volatile("cp.async.commit_group;" ::: "memory"); }
    /* Waits until at most `most` of this thread's groups are unfinished. */
    template <int most> SIMT_DEVICE void copy_wait() const
    {
        asm volatile("cp.async.wait_group %0;" ::"n"(most) : "memory");
    }

    /* Four 8x8 matrices of 16-bit elements. Lane l names row l % 8 of matrix l / 8, which is
     * elements s[i] to s[i + 7]. It gets elements 2 (l % 4) and the next of row l / 4 of each
     * matrix; transposed: of column l / 4. */
    SIMT_DEVICE void load_matrices(uint32_t r[4], simt_shared<uint16_t> s, int i) const
    {
        const unsigned at = (unsigned)__cvta_generic_to_shared(s.p + i);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
    }
    SIMT_DEVICE void load_matrices_transposed(uint32_t r[4], simt_shared<uint16_t> s, int i) const
    {
        const unsigned at = (unsigned)__cvta_generic_to_shared(s.p + i);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
    }
    /* d += a b with a [16,16], b [16,8] of bf16 and d [16,8] of f32, as mma.m16n8k16 has them. */
    SIMT_DEVICE void multiply(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1) const
    {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
    /* d += a b with a [16,16], b [16,8] of signed bytes, as mma.m16n8k16 has them. */
    SIMT_DEVICE void multiply_bytes(int d[4], const uint32_t a[2], uint32_t b) const
    {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                     "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(b));
    }
    /* c + the products of four signed bytes. */
    SIMT_DEVICE int dot4(int a, int b, int c) const { return __dp4a(a, b, c); }
    /* Four of the eight bytes of low and high, each by the four bits of select, from 0 to 7. */
    SIMT_DEVICE uint32_t permute(uint32_t low, uint32_t high, uint32_t select) const
    {
        return __byte_perm(low, high, select);
    }
    /* a b, rounded, where the compiler would fuse an addition with it. */
    SIMT_DEVICE float times(float a, float b) const { return __fmul_rn(a, b); }

    /* Notes a fault (fault.h), unless another one was. */
    SIMT_DEVICE void fail(int kind, int64_t a, int64_t b, int64_t c, int64_t d) const
    {
        if (atomicCAS((int *)&gate.fault->kind, 0, kind) != 0) return;
        gate.fault->at = gate.at;
        gate.fault->number[0] = a;
        gate.fault->number[1] = b;
        gate.fault->number[2] = c;
        gate.fault->number[3] = d;
    }

  private:
    const simt_gate &gate;
};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1)
    simt_entry(const __grid_constant__ typename Kernel::args a, const __grid_constant__ simt_gate g)
{
    if (g.guard && *g.guard == 0) return;
    const simt t(g);
    Kernel::run(t, a);
}

/* driver.cu */
int hpc_cuda_enqueue(const hpc_cuda_stream *s, const void *kernel, simt_shape shape, void **args);
simt_gate hpc_cuda_gate(const hpc_cuda_stream *s);

template <class Kernel>
int simt_launch(const hpc_cuda_stream *s, simt_shape shape, const typename Kernel::args &a)
{
    simt_gate g = hpc_cuda_gate(s);
    void *args[] = {(void *)&a, (void *)&g};
    return hpc_cuda_enqueue(s, (const void *)simt_entry<Kernel>, shape, args);
}
#endif
#endif
