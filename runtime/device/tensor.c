/*
 * tensor.c: sizes, ragged extents and the printed form of a tensor. It looks at
 * descriptions and counts only, never at elements.
 */
#include <stdio.h>

#include "runtime/device/priv.h"

static int64_t product(const hpc_tensor *t, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= t->extent[i];
    return n;
}

int64_t hpc_tensor_n(const hpc_tensor *t)
{
    return product(t, 0, t->rank);
}

int64_t hpc_tensor_cols(const hpc_tensor *t)
{
    return t->rank > 0 ? t->extent[t->rank - 1] : 1;
}

int64_t hpc_tensor_rows(const hpc_tensor *t)
{
    return product(t, 0, t->rank - 1);
}

size_t hpc_tensor_bytes(const hpc_tensor *t)
{
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)t->dtype);
    int64_t n = hpc_tensor_n(t);
    if (t->pack == HPC_PANEL16) {
        hpc_assert(t->rank >= 2);
        int64_t rows = t->extent[t->rank - 2];
        n = product(t, 0, t->rank - 2) * ((rows + 15) / 16 * 16) * hpc_tensor_cols(t);
    }
    hpc_assert(n % info->block == 0);
    return (size_t)(n / info->block) * info->block_bytes;
}

int64_t hpc_tensor_live(const hpc_tensor *t, int64_t lead)
{
    if (t->ragged < 0) return t->rank > 0 ? t->extent[0] : 1;
    /* A count is data: one that is out of range must not lead out of the tensor. */
    int64_t most = t->extent[t->ragged], n = t->count[lead];
    return n < 0 ? 0 : n > most ? most : n;
}

bool hpc_tensor_row_live(const hpc_tensor *t, int64_t r)
{
    if (t->ragged < 0 || t->ragged >= t->rank - 1) return true;
    int64_t at = r / product(t, t->ragged + 1, t->rank - 1), extent = t->extent[t->ragged];
    return at % extent < hpc_tensor_live(t, at / extent);
}

const char *hpc_tensor_text(char out[96], const hpc_tensor *t)
{
    const size_t size = 96;
    if (t->rank < 0) {
        snprintf(out, size, "absent");
        return out;
    }
    size_t used = (size_t)snprintf(out, size, "%s[", hpc_dtype_get((hpc_dtype)t->dtype)->name);
    /* Four extents of 19 digits, with what surrounds them, stay below 96. */
    for (int i = 0; i < t->rank && used < size; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s%s%lld", i > 0 ? "," : "",
                                 i == t->ragged ? "<=" : "", (long long)t->extent[i]);
    }
    if (used < size) {
        snprintf(out + used, size - used, "]%s",
                 t->pack == HPC_PANEL16  ? "/panel16"
                 : t->pack == HPC_PLANES ? "/planes"
                                         : "");
    }
    return out;
}
