/*
 * element.c: access to single elements of tensors of any type as doubles, and the test for live
 * elements. product.c reads other layouts than plain.
 */
#include "runtime/device/ref/priv.h"

double hpc_ref_get_any(const hpc_tensor *t, int64_t i)
{
    switch ((hpc_dtype)t->dtype) {
    case HPC_BF16: return hpc_bf16_to_f32(((const uint16_t *)t->data)[i]);
    case HPC_F16: return hpc_f16_to_f32(((const uint16_t *)t->data)[i]);
    case HPC_I32: return ((const int32_t *)t->data)[i];
    case HPC_I64: return (double)((const int64_t *)t->data)[i];
    case HPC_I8: return ((const int8_t *)t->data)[i];
    default: hpc_assert(!"an unquantised dtype");
    }
    return NAN;
}

/* Towards zero, into [least, most]; NaN gives 0. */
static int64_t whole(double v, double low, int64_t bottom, double high, int64_t top)
{
    if (isnan(v)) return 0;
    return v <= low ? bottom : v >= high ? top : (int64_t)v;
}

void hpc_ref_set(const hpc_tensor *t, int64_t i, double v)
{
    switch ((hpc_dtype)t->dtype) {
    case HPC_F64: ((double *)t->data)[i] = v; break;
    case HPC_F32: ((float *)t->data)[i] = (float)v; break;
    case HPC_BF16: ((uint16_t *)t->data)[i] = hpc_bf16_from_f32((float)v); break;
    case HPC_F16: ((uint16_t *)t->data)[i] = hpc_f16_from_f32((float)v); break;
    case HPC_I32:
        ((int32_t *)t->data)[i] = (int32_t)whole(v, -0x1p31, INT32_MIN, 0x1p31 - 1, INT32_MAX);
        break;
    case HPC_I64: ((int64_t *)t->data)[i] = whole(v, -0x1p63, INT64_MIN, 0x1p63, INT64_MAX); break;
    case HPC_I8:
        ((int8_t *)t->data)[i] = (int8_t)whole(v, -0x1p7, INT8_MIN, 0x1p7 - 1, INT8_MAX);
        break;
    default: hpc_assert(!"an unquantised dtype");
    }
}

void hpc_ref_put(const hpc_tensor *t, int64_t i, double v)
{
    hpc_ref_set(t, i, t->adds ? hpc_ref_get(t, i) + v : v);
}

int64_t hpc_ref_index(const hpc_tensor *t, int64_t i)
{
    if (t->dtype == HPC_I32) return ((const int32_t *)t->data)[i];
    hpc_assert(t->dtype == HPC_I64);
    return ((const int64_t *)t->data)[i];
}

void hpc_ref_load(double *dst, const hpc_tensor *t, int64_t i, int64_t step, int64_t n)
{
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)t->dtype);
    if (t->dtype == HPC_F32) { /* most are; the others pay for their type at each element */
        const float *src = (const float *)t->data + i;
        for (int64_t k = 0; k < n; k++) dst[k] = src[k * step];
        return;
    }
    if (t->dtype == HPC_F64) {
        const double *src = (const double *)t->data + i;
        for (int64_t k = 0; k < n; k++) dst[k] = src[k * step];
        return;
    }
    if (!info->quantised) {
        for (int64_t k = 0; k < n; k++) dst[k] = hpc_ref_get(t, i + k * step);
        return;
    }
    float block[REF_CHUNK];
    hpc_assert(step == 1 && i % info->block == 0 && n % info->block == 0);
    const uint8_t *src = (const uint8_t *)t->data + (size_t)(i / info->block) * info->block_bytes;
    for (int64_t k = 0; k < n; k += info->block, src += info->block_bytes) {
        hpc_to_f32(block, src, (hpc_dtype)t->dtype, info->block);
        for (int64_t e = 0; e < info->block; e++) dst[k + e] = block[e];
    }
}

int64_t hpc_ref_live(const hpc_tensor *t, int dim, int64_t lead)
{
    return t->ragged == dim ? hpc_tensor_live(t, lead) : t->extent[dim];
}

int64_t hpc_ref_live_cols(const hpc_tensor *t, int64_t r)
{
    if (t->ragged >= 0 && t->ragged == t->rank - 1) return hpc_tensor_live(t, r);
    return hpc_tensor_row_live(t, r) ? hpc_tensor_cols(t) : 0;
}

bool hpc_ref_element_live(const hpc_tensor *t, int64_t i)
{
    int64_t cols = hpc_tensor_cols(t);
    return i % cols < hpc_ref_live_cols(t, i / cols);
}
