/*
 * pack.c: packs matrices into PANEL16, the layout that products read in place. The type does not
 * change.
 */
#include "runtime/device/cpu/kernels/priv.h"

enum { PANEL = 16 };

/* Rows of k elements become a panel [k][16], with zeros for rows that are not there. */
static inline __attribute__((always_inline)) void
pack_rows(char *restrict dst, const char *restrict src, int64_t rows, int64_t k, const size_t bytes)
{
    if (rows < PANEL) memset(dst, 0, (size_t)(k * PANEL) * bytes);
    for (int64_t p = 0; p < k; p++)
        for (int64_t r = 0; r < rows; r++)
            memcpy(dst + (size_t)(p * PANEL + r) * bytes, src + (size_t)(r * k + p) * bytes, bytes);
}

static int run(const hpc_launch *l, const void *args)
{
    const hpc_pack_args *a = args;
    const hpc_tensor *x = &a->x;
    int64_t n = x->extent[x->rank - 2], k = x->extent[x->rank - 1], lo, hi;
    int64_t panels = (n + PANEL - 1) / PANEL, batch = panels > 0 ? hpc_tensor_rows(x) / n : 0;

    hpc_share(&lo, &hi, batch * panels, 1, l->worker, l->workers);
    for (int64_t i = lo; i < hi; i++) {
        int64_t first = i % panels * PANEL, rows = least(PANEL, n - first);
        const void *src = element(x, (i / panels * n + first) * k);
        void *dst = element(&a->y, i * PANEL * k);
        if (hpc_dtype_get((hpc_dtype)x->dtype)->quantised)
            hpc_quant_panel(dst, src, (hpc_dtype)x->dtype, rows, k);
        else if (x->dtype == HPC_F32)
            pack_rows(dst, src, rows, k, 4);
        else
            pack_rows(dst, src, rows, k, 2);
    }
    return 0;
}

int HPC_WIDTH(cpu_pack)(hpc_plan *p, int workers, const hpc_pack_args *a)
{
    hpc_tensor y = a->y;
    const operand_check check[] = {{"y", &y, 1u << a->x.dtype}, {"x", &a->x, TAKES_WEIGHT}, {0}};

    (void)workers;
    y.pack = y.pack == HPC_PANEL16 ? HPC_PLAIN : HPC_PANEL16;
    return accept(p, (hpc_plan){.run = run, .name = "pack_" HPC_ISA_TEXT}, check);
}
