/*
 * probe.c: the limits of one instruction set: multiply-adds that never leave
 * the registers, and memory that is read as fast as it comes.
 *
 * Chains are as many as it takes to hide the latency of a multiply-add on every
 * unit, and few enough to leave registers for its operands.
 */
#include "runtime/device/cpu/kernels/isa.h"
#include "runtime/device/cpu/probe.h"

#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
enum { WIDTH = 64, CHAINS = 16 };
#elif defined(__AVX2__)
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

#if defined(__AVX512BF16__)
static void bf16_run(void *state, int64_t rounds)
{
    __m512 chain[CHAINS];
    __m512bh operand[2];

    memcpy(chain, state, sizeof chain);
    memcpy(operand, (char *)state + sizeof chain, sizeof operand);
    for (; rounds > 0; rounds--)
        for (int k = 0; k < CHAINS; k++)
            chain[k] = _mm512_dpbf16_ps(chain[k], operand[0], operand[1]);
    memcpy(state, chain, sizeof chain);
}
#endif

#if defined(__AVX512VNNI__)
static void i8_run(void *state, int64_t rounds)
{
    __m512i chain[CHAINS], operand[2];

    memcpy(chain, state, sizeof chain);
    memcpy(operand, (char *)state + sizeof chain, sizeof operand);
    for (; rounds > 0; rounds--)
        for (int k = 0; k < CHAINS; k++)
            chain[k] = _mm512_dpbusd_epi32(chain[k], operand[0], operand[1]);
    memcpy(state, chain, sizeof chain);
}
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
#if defined(__AVX512BF16__)
    .bf16 = {bf16_run, 4.0 * CHAINS *WIDTH / 4},
#endif
#if defined(__AVX512VNNI__)
    .i8 = {i8_run, 8.0 * CHAINS *WIDTH / 4},
#endif
    .read = read_all,
};
