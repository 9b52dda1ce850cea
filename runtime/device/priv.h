/*
 * priv.h: what the files of device/ and its backends share: the registered
 * backends, the reference kernels, conversions of single elements and block
 * formats. Nothing here is for rooms above.
 */
#ifndef HPC_DEVICE_PRIV_H
#define HPC_DEVICE_PRIV_H

#include <math.h>
#include <string.h>

#include "runtime/device/kernel/backend.h"
#include "runtime/device/kernel/everywhere.h"

extern const hpc_backend hpc_backend_cpu;                         /* cpu/backend.c */
extern const hpc_backend hpc_backend_mock;                        /* mock/ */
extern const hpc_backend hpc_backend_cuda, hpc_backend_cuda_shim; /* cuda/backend.c */
extern const hpc_kernels hpc_ref_kernels; /* ref/table.c: everything in double */

/* open.c: the backend with a name of n characters, or NULL. */
const hpc_backend *hpc_backend_named(const char *text, size_t n);
/* choose.c: hpc_device_choose without the check of the machine. */
int hpc_device_read(hpc_device_options *out, const char *text);

/* The best table that this CPU runs, or the one named `wanted` (not NULL); *name gets its name. An
 * unknown or unmet name is HPC_E_UNSUPPORTED. */
int hpc_cpu_kernels_find(const hpc_kernels **out, const char **name, const char *wanted);
/* Reads the traits of the CPU that runs the caller, for kernels of this instruction set. `intel` is
 * set for amx only: Intel's blocks were measured with it, and give wrong results with avx2. */
hpc_cpu_traits hpc_cpu_traits_read(const char *isa);
/* Workers for options->threads: itself, or one per CPU of the affinity mask when 0. */
int hpc_cpu_threads(int wanted);

/* Whole blocks of a block format: n is a multiple of its block. */
void hpc_quant_unpack(float *dst, const void *src, hpc_dtype from, int64_t n);
void hpc_quant_pack(void *dst, hpc_dtype to, const float *src, int64_t n);
void hpc_quant_unpack_file(float *dst, const void *block, hpc_dtype from); /* quant_file.c */
extern const int8_t hpc_iq4_levels[16]; /* of iq4_nl and iq4_xs */
void hpc_quant_pack_file(void *block, hpc_dtype to, const float *src);
/* A panel of PANEL16 from n <= 16 plain rows of k elements of a block format, and one of its blocks
 * back: number `block` of the panel's row `row`. */
void hpc_quant_panel(void *panel, const void *rows, hpc_dtype d, int64_t n, int64_t k);
void hpc_quant_from_panel(void *out, const void *panel, hpc_dtype d, int64_t row, int64_t block);

HPC_EVERYWHERE static inline uint32_t hpc_f32_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

HPC_EVERYWHERE static inline float hpc_bits_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Round half to even, into [lo, hi]; NaN gives lo. */
static inline int hpc_nearest(float x, int lo, int hi)
{
    if (!(x > (float)lo)) return lo;
    return x >= (float)hi ? hi : (int)rintf(x);
}

HPC_EVERYWHERE static inline float hpc_bf16_to_f32(uint16_t h)
{
    return hpc_bits_f32((uint32_t)h << 16);
}

HPC_EVERYWHERE static inline uint16_t hpc_bf16_from_f32(float x)
{
    uint32_t u = hpc_f32_bits(x);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40); /* stays a NaN */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

HPC_EVERYWHERE static inline float hpc_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, man = h & 0x3ff;
    if (exp == 0) { /* man * 2^-24, exact */
        return hpc_bits_f32(sign | hpc_f32_bits((float)man * 0x1p-24f));
    }
    if (exp == 31) return hpc_bits_f32(sign | 0x7f800000 | man << 13 | (man ? 0x400000 : 0));
    return hpc_bits_f32(sign | (exp + 112) << 23 | man << 13);
}

HPC_EVERYWHERE static inline uint16_t hpc_f16_from_f32(float x)
{
    uint32_t u = hpc_f32_bits(x), abs = u & 0x7fffffff;
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    if (abs > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (abs >> 13 & 0x3ff));
    if (abs >= 0x47800000) return sign | 0x7c00; /* 2^16 and up */
    if (abs >= 0x38800000) {                     /* normal; may carry into infinity */
        return (uint16_t)(sign | (abs + 0xfff + (abs >> 13 & 1) - 0x38000000) >> 13);
    }
    /* Subnormal: 0.5 has its last bit at 2^-24, so the addition itself rounds. */
    return (uint16_t)(sign | (hpc_f32_bits(hpc_bits_f32(abs) + 0.5f) - 0x3f000000));
}

#endif
