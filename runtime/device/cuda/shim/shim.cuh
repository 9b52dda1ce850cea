/*
 * shim.cuh: simt.cuh for the CPU. Each thread of a block is a fiber; blocks, warps and lanes run
 * in the order of a schedule. Every access to shared memory is checked against its size, the last
 * writer and readers, and copies in flight. block.cc has the rules, driver.cc the queues.
 */
#ifndef HPC_SHIM_H
#define HPC_SHIM_H

#include <math.h>
#include <string.h>

#include "runtime/device/cuda/cuda.h"

#define SIMT_UNROLL
#define SIMT_ROLLED
#define SIMT_DEVICE inline
#define SIMT_BOTH   inline

struct shim_block;

/* Accesses of the running thread to shared memory: the address, after the checks. */
const void *hpc_shim_read(shim_block *b, int byte, int bytes);
void *hpc_shim_write(shim_block *b, int byte, int bytes);
void hpc_shim_outside(shim_block *b, int index, int n);
void hpc_shim_sync(shim_block *b);
/* Publishes `words` words of this lane and returns those of all lanes: [SIMT_WARP][SHIM_WORDS]. */
enum { SHIM_WORDS = 8 };
const uint32_t (*hpc_shim_exchange(shim_block *b, const char *what, const uint32_t *word,
                                   int words))[SHIM_WORDS];
void hpc_shim_copy(shim_block *b, int byte, const void *src);
void hpc_shim_commit(shim_block *b);
void hpc_shim_wait(shim_block *b, int most);
int hpc_shim_thread(const shim_block *b);
void hpc_shim_fail(shim_block *b, int kind, const int64_t number[4]);

/* An element of shared memory. */
template <class T> class shim_cell {
  public:
    shim_cell(shim_block *block, int byte) : b(block), at(byte) {}
    operator T() const
    {
        T v;
        memcpy(&v, hpc_shim_read(b, at, sizeof(T)), sizeof v);
        return v;
    }
    const shim_cell &operator=(T v) const
    {
        memcpy(hpc_shim_write(b, at, sizeof(T)), &v, sizeof v);
        return *this;
    }
    const shim_cell &operator=(const shim_cell &v) const { return *this = (T)v; }
    const shim_cell &operator+=(T v) const { return *this = (T)((T) * this + v); }

  private:
    shim_block *b;
    int at;
};

template <class T> struct simt_shared {
    shim_block *b;
    int byte, n;
    shim_cell<T> operator[](int i) const
    {
        if (i < 0 || i >= n) hpc_shim_outside(b, i, n);
        return shim_cell<T>(b, byte + i * (int)sizeof(T));
    }
    simt_shared<T> from(int i) const { return {b, byte + i * (int)sizeof(T), n - i}; }
};

class simt {
  public:
    shim_block *b;
    int block_x, row, count, threads_n;
    explicit simt(shim_block *block, int x, int y, int blocks_n, int threads_in_block)
        : b(block), block_x(x), row(y), count(blocks_n), threads_n(threads_in_block)
    {
    }
    int thread() const { return hpc_shim_thread(b); }
    int threads() const { return threads_n; }
    int lane() const { return thread() % SIMT_WARP; }
    int warp() const { return thread() / SIMT_WARP; }
    int64_t block() const { return block_x; }
    int64_t blocks() const { return count; }
    int block_y() const { return row; }
    void sync() const { hpc_shim_sync(b); }
    void sync_warp() const { hpc_shim_exchange(b, "sync_warp", nullptr, 0); }
    template <class T> T shuffle_xor(T v, int mask) const { return shuffle(v, lane() ^ mask); }
    template <class T> T shuffle(T v, int from) const
    {
        uint32_t word[2] = {0, 0};
        memcpy(word, &v, sizeof v);
        const uint32_t(*all)[SHIM_WORDS] = hpc_shim_exchange(b, "shuffle", word, 2);
        memcpy(&v, all[from % SIMT_WARP], sizeof v);
        return v;
    }
    uint32_t ballot(bool v) const
    {
        const uint32_t word = v;
        const uint32_t(*all)[SHIM_WORDS] = hpc_shim_exchange(b, "ballot", &word, 1);
        uint32_t bits = 0;
        for (int l = 0; l < SIMT_WARP; l++) bits |= all[l][0] << l;
        return bits;
    }
    template <class T> simt_shared<T> shared(int byte, int n) const { return {b, byte, n}; }
    template <class T> void copy_async(simt_shared<T> dst, int i, const void *src) const
    {
        if (i < 0 || i + 16 / (int)sizeof(T) > dst.n) hpc_shim_outside(dst.b, i, dst.n);
        hpc_shim_copy(b, dst.byte + i * (int)sizeof(T), src);
    }
    void copy_commit() const { hpc_shim_commit(b); }
    template <int most> void copy_wait() const { hpc_shim_wait(b, most); }
    void load_matrices(uint32_t r[4], simt_shared<uint16_t> s, int i) const
    {
        load(r, s, i, false);
    }
    void load_matrices_transposed(uint32_t r[4], simt_shared<uint16_t> s, int i) const
    {
        load(r, s, i, true);
    }
    void multiply(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1) const;
    void multiply_bytes(int d[4], const uint32_t a[2], uint32_t b) const;
    uint32_t permute(uint32_t low, uint32_t high, uint32_t select) const
    {
        const uint64_t bytes = (uint64_t)high << 32 | low;
        uint32_t out = 0;
        for (int k = 0; k < 4; k++)
            out |= (uint32_t)(bytes >> 8 * (select >> 4 * k & 7) & 255) << 8 * k;
        return out;
    }
    float times(float x, float y) const { return x * y; }
    int dot4(int x, int y, int c) const
    {
        for (int k = 0; k < 4; k++) c += (int8_t)(x >> 8 * k) * (int8_t)(y >> 8 * k);
        return c;
    }
    void fail(int kind, int64_t v0, int64_t v1, int64_t v2, int64_t v3) const
    {
        const int64_t number[4] = {v0, v1, v2, v3};
        hpc_shim_fail(b, kind, number);
    }

  private:
    void load(uint32_t r[4], simt_shared<uint16_t> s, int i, bool transposed) const;
};

/* driver.cc */
typedef void hpc_shim_entry(shim_block *b, const void *args, int x, int y, const simt_shape *shape);
int hpc_shim_enqueue(const hpc_cuda_stream *s, const char *name, simt_shape shape,
                     hpc_shim_entry *entry, const void *args, size_t bytes);

template <class Kernel>
void hpc_shim_run(shim_block *b, const void *args, int x, int y, const simt_shape *shape)
{
    const simt t(b, x, y, (int)shape->blocks, shape->threads);
    Kernel::run(t, *(const typename Kernel::args *)args);
}

template <class Kernel>
int simt_launch(const hpc_cuda_stream *s, simt_shape shape, const typename Kernel::args &a)
{
    return hpc_shim_enqueue(s, __PRETTY_FUNCTION__, shape, hpc_shim_run<Kernel>, &a, sizeof a);
}
#endif
