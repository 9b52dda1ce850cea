/*
 * copy.c: copies with conversion of dtype, and fills, both by rows. pack.c makes layouts for
 * products.
 */
#include "runtime/device/cpu/kernels/priv.h"

enum { PLAIN_TYPES = TAKES_REAL | 1 << HPC_F16 | TAKES_I32 | TAKES_I64 };

static size_t bytes_of(const hpc_tensor *t, int64_t n)
{
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)t->dtype);

    return (size_t)(n / info->block) * info->block_bytes;
}

static int copy_run(const hpc_launch *l, const void *args)
{
    const hpc_copy_args *a = args;
    float buffer[CHUNK];
    int64_t lo, hi;

    share_rows(&lo, &hi, &a->x, l);
    if (a->x.dtype == a->y.dtype) { /* bits, whatever they mean */
        for (stretch s; (s = live_from(&a->x, lo, hi)).n > 0; lo = s.at + s.n)
            memcpy(element(&a->y, s.at), element(&a->x, s.at), bytes_of(&a->x, s.n));
        return 0;
    }
    for (stretch s; (s = chunk_from(&a->x, lo, hi)).n > 0; lo = s.at + s.n) {
        const float *x = load(place(buffer, &a->y, s.at), &a->x, s.at, s.n);
        store(&a->y, s.at, x, s.n);
    }
    return 0;
}

int HPC_WIDTH(cpu_copy)(hpc_plan *p, int workers, const hpc_copy_args *a)
{
    unsigned same = 1u << a->x.dtype;
    /* Integers and block formats are copied unchanged; only real types convert to any type. */
    bool real = hpc_dtype_get((hpc_dtype)a->x.dtype)->real;

    (void)workers;
    return accept(p, (hpc_plan){.run = copy_run, .name = "copy_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, real ? PLAIN_TYPES | same : same},
                                          {"x", &a->x, PLAIN_TYPES | TAKES_BLOCKS},
                                          {0}});
}

/* Towards zero, saturating; NaN gives 0. */
static int64_t whole(double v, double low, int64_t bottom, double high, int64_t top)
{
    if (!(v > low)) return v <= low ? bottom : 0;
    return v >= high ? top : (int64_t)v;
}

/* One element, as bytes. */
static void pattern_of(char bytes[8], hpc_dtype dtype, double value)
{
    float real = (float)value;
    int32_t word = (int32_t)whole(value, INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX);
    int64_t wide = whole(value, -0x1p63, INT64_MIN, 0x1p63, INT64_MAX);

    switch (dtype) {
    case HPC_I32: memcpy(bytes, &word, sizeof word); break;
    case HPC_I64: memcpy(bytes, &wide, sizeof wide); break;
    default: hpc_from_f32(bytes, dtype, &real, 1);
    }
}

static int fill_run(const hpc_launch *l, const void *args)
{
    const hpc_fill_args *a = args;
    _Alignas(64) char block[CHUNK * 8];
    size_t size = hpc_dtype_get((hpc_dtype)a->y.dtype)->block_bytes;
    int64_t lo, hi;

    pattern_of(block, (hpc_dtype)a->y.dtype, a->attr.value);
    for (size_t i = size; i < CHUNK * size; i *= 2) memcpy(block + i, block, i);
    share_rows(&lo, &hi, &a->y, l);
    for (stretch s; (s = chunk_from(&a->y, lo, hi)).n > 0; lo = s.at + s.n)
        memcpy(element(&a->y, s.at), block, (size_t)s.n * size);
    return 0;
}

int HPC_WIDTH(cpu_fill)(hpc_plan *p, int workers, const hpc_fill_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = fill_run, .name = "fill_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, PLAIN_TYPES}, {0}});
}
