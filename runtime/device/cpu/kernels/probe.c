/*
 * probe.c: the limits of one instruction set: multiply-adds in registers, and memory bandwidth. The
 * number of chains hides the latency of a multiply-add on every unit, and leaves registers for the
 * operands.
 */
#include "runtime/device/cpu/kernels/isa.h"
#include "runtime/device/cpu/kernels/tiles.h"
#include "runtime/device/cpu/probe.h"

#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
enum { WIDTH = 64, CHAINS = 16 };
#elif defined(__AVX2__)
#include <immintrin.h>
enum { WIDTH = 32, CHAINS = 12 };
#elif defined(__x86_64__)
enum { WIDTH = 16, CHAINS = 12 };
#else
enum { WIDTH = 16, CHAINS = 16 };
#endif

typedef float floats __attribute__((vector_size(WIDTH)));
typedef uint64_t words __attribute__((vector_size(WIDTH)));

_Static_assert((CHAINS + 2) * WIDTH <= HPC_PROBE_STATE, "chains and two operands");
_Static_assert(HPC_PROBE_BLOCK % (8 * WIDTH) == 0, "whole steps of the read loop");

/* The state is memory of the caller, so that no compiler can foresee or leave out anything. */
static void f32_run(void *state, int64_t rounds)
{
    floats chain[CHAINS], operand[2];

    memcpy(chain, state, sizeof chain);
    memcpy(operand, (char *)state + sizeof chain, sizeof operand);
    for (; rounds > 0; rounds--)
        for (int k = 0; k < CHAINS; k++) chain[k] = chain[k] * operand[0] + operand[1];
    memcpy(state, chain, sizeof chain);
}

#if defined(__AMX_BF16__) && defined(__AMX_INT8__)
/* One tile of sums, loaded four times, then the operand that is both factors. */
#define TILES_RUN(name, multiply)                                                                  \
    static void name(void *state, int64_t rounds)                                                  \
    {                                                                                              \
        const char *operand = (const char *)state + TILE;                                          \
                                                                                                   \
        tiles_begin();                                                                             \
        _tile_loadd(0, state, 64);                                                                 \
        _tile_loadd(1, state, 64);                                                                 \
        _tile_loadd(2, state, 64);                                                                 \
        _tile_loadd(3, state, 64);                                                                 \
        _tile_loadd(4, operand, 64);                                                               \
        _tile_loadd(5, operand, 64);                                                               \
        for (; rounds > 0; rounds--) {                                                             \
            multiply(0, 4, 5);                                                                     \
            multiply(1, 4, 5);                                                                     \
            multiply(2, 4, 5);                                                                     \
            multiply(3, 4, 5);                                                                     \
        }                                                                                          \
        _tile_stored(0, state, 64);                                                                \
        tiles_end();                                                                               \
    }
enum { TILE = 1024 };
TILES_RUN(bf16_run, _tile_dpbf16ps)
TILES_RUN(i8_run, _tile_dpbuud)
enum { BF16_OPERATIONS = 4 * 16 * 16 * 64, I8_OPERATIONS = 4 * 16 * 16 * 128 };
#else
enum { BF16_OPERATIONS = CHAINS * WIDTH, I8_OPERATIONS = 2 * CHAINS * WIDTH };

#if defined(__AVX512VNNI__)
#define DOT_RUN(name, sum, factor, dot)                                                            \
    static void name(void *state, int64_t rounds)                                                  \
    {                                                                                              \
        sum chain[CHAINS];                                                                         \
        factor operand[2];                                                                         \
                                                                                                   \
        memcpy(chain, state, sizeof chain);                                                        \
        memcpy(operand, (char *)state + sizeof chain, sizeof operand);                             \
        for (; rounds > 0; rounds--)                                                               \
            for (int k = 0; k < CHAINS; k++) chain[k] = dot(chain[k], operand[0], operand[1]);     \
        memcpy(state, chain, sizeof chain);                                                        \
    }
#if defined(__AVX512BF16__)
DOT_RUN(bf16_run, __m512, __m512bh, _mm512_dpbf16_ps)
#else
DOT_RUN(bf16_run, __m512i, __m512i, _mm512_dpwssd_epi32) /* in blocks of integers: gemm.h */
#endif
DOT_RUN(i8_run, __m512i, __m512i, _mm512_dpbusd_epi32)
#elif defined(__AVX2__) && !defined(__AVX512F__)
/* Products of bytes in pairs, these in pairs, and their sum. */
static void i8_run(void *state, int64_t rounds)
{
    __m256i chain[CHAINS], factor, other, ones = _mm256_set1_epi16(1);

    memcpy(chain, state, sizeof chain);
    memcpy(&factor, (char *)state + sizeof chain, sizeof factor);
    other = factor;
    for (; rounds > 0; rounds--)
        for (int k = 0; k < CHAINS; k++) {
            __asm__ volatile("" : "+x"(factor)); /* or it is done once for all */
            __m256i pairs = _mm256_maddubs_epi16(factor, other);
            chain[k] = _mm256_add_epi32(chain[k], _mm256_madd_epi16(pairs, ones));
        }
    memcpy(state, chain, sizeof chain);
}
#endif

#endif

static uint64_t read_all(const void *data, size_t bytes)
{
    const words *p = data, *end = p + bytes / WIDTH;
    words sum[8] = {{0}};
    uint64_t all = 0;

    for (; p < end; p += 8)
        for (int k = 0; k < 8; k++) sum[k] += p[k];
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < WIDTH / 8; i++) all += sum[k][i];
    return all;
}

extern const hpc_cpu_probe HPC_ISA(hpc_cpu_probe);

const hpc_cpu_probe HPC_ISA(hpc_cpu_probe) = {
    .f32 = {f32_run, 2.0 * CHAINS *WIDTH / 4},
#if defined(__AVX512VNNI__)
    .bf16 = {bf16_run, BF16_OPERATIONS},
#endif
#if defined(__AVX512VNNI__) || (defined(__AVX2__) && !defined(__AVX512F__))
    .i8 = {i8_run, I8_OPERATIONS},
#endif
    .read = read_all,
};
