/*
 * type.c: types of values: construction, sizes and text.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/program/priv.h"
#include "runtime/program/stage.h"

hpc_type hpc_type_of(hpc_dtype dtype, int rank, const int64_t *extent)
{
    hpc_type t = {.dtype = (uint8_t)dtype, .rank = (int8_t)rank, .ragged = -1, .count = HPC_NONE};
    for (int k = 0; k < rank && k < HPC_RANK_MAX; k++) t.extent[k] = extent[k];
    return t;
}

hpc_type hpc_type_ragged(hpc_type t, int dim, hpc_value count)
{
    t.ragged = (int8_t)dim;
    t.count = count;
    return t;
}

int64_t hpc_type_first(const hpc_type *local, int dim, const hpc_grid_shape *shape,
                       const int *coord)
{
    int64_t part = 0;
    for (int k = 0; k < 2 * HPC_AXIS_N; k++) {
        int a = hpc_axis_nesting[k % HPC_AXIS_N];
        if (local->layout[a] == hpc_layout_split(dim, k >= HPC_AXIS_N))
            part = part * (shape->extent[a] > 0 ? shape->extent[a] : 1) + coord[a];
    }
    return part * local->extent[dim];
}

bool hpc_type_real(const hpc_type *t)
{
    return hpc_dtype_get((hpc_dtype)t->dtype)->real;
}

size_t hpc_type_bytes(const hpc_type *t)
{
    hpc_tensor x = {.rank = t->rank, .ragged = t->ragged, .pack = t->pack, .dtype = t->dtype};
    memcpy(x.extent, t->extent, sizeof x.extent);
    return hpc_tensor_bytes(&x);
}

const char *hpc_phase_name(hpc_phase f)
{
    static const char *const name[HPC_PHASE_N] = {
        [HPC_FORWARD] = "forward", [HPC_BACKWARD] = "backward", [HPC_ACCUMULATE] = "accumulate",
        [HPC_UPDATE] = "update",   [HPC_REFRESH] = "refresh",   [HPC_DECODE] = "decode",
    };
    return (unsigned)f < HPC_PHASE_N ? name[f] : "?";
}

/* Appends, silently cut at the end: the caller's array is long enough for any sane type. */
static void append(char *out, size_t size, const char *text)
{
    size_t n = strlen(out);
    if (n + 1 < size) snprintf(out + n, size - n, "%s", text);
}

static void append_layout(char *out, size_t size, const hpc_type *t)
{
    bool open = false;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (t->layout[a] == HPC_REPLICATED) continue;
        append(out, size, open ? "," : "{");
        append(out, size, hpc_axis_name((hpc_axis)a));
        char where[16] = ":partial";
        if (t->layout[a] == HPC_LOGARITHM) snprintf(where, sizeof where, ":logarithm");
        if (hpc_layout_at(t->layout[a]) >= 0)
            snprintf(where, sizeof where, ":at %d", hpc_layout_at(t->layout[a]));
        if (t->layout[a] > 0)
            snprintf(where, sizeof where, ":%d%s", hpc_layout_dim(t->layout[a]),
                     hpc_layout_inner(t->layout[a]) ? " inner"
                     : hpc_layout_own(t->layout[a]) ? " own"
                                                    : "");
        append(out, size, where);
        open = true;
    }
    if (open) append(out, size, "}");
}

const char *hpc_type_text(char out[128], const hpc_type *t)
{
    const size_t size = 128;
    char number[48];
    snprintf(out, size, "%s[", hpc_dtype_get((hpc_dtype)t->dtype)->name);
    for (int k = 0; k < t->rank; k++) {
        if (k == t->ragged)
            snprintf(number, sizeof number, "%s%%%d<=%lld", k ? "," : "", t->count,
                     (long long)t->extent[k]);
        else
            snprintf(number, sizeof number, "%s%lld", k ? "," : "", (long long)t->extent[k]);
        append(out, size, number);
    }
    append(out, size, "]");
    if (t->pack == HPC_PANEL16) append(out, size, "/panel16");
    if (t->pack == HPC_PLANES) append(out, size, "/planes");
    append_layout(out, size, t);
    return out;
}
