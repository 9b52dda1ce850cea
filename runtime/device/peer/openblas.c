/*
 * openblas.c: products of f32 by OpenBLAS.
 */
#include "runtime/device/peer/priv.h"

#if HPC_HAVE_OPENBLAS
#include <cblas.h>
#include <stdlib.h>

static const char *version(void)
{
    return openblas_get_config();
}

static void *open_product(const hpc_peer_product *p)
{
    const int64_t most = 1 << 30; /* its extents are int */
    if (p->dtype != HPC_F32 || p->m > most || p->k > most || p->n > most) return NULL;
    hpc_peer_product *self = malloc(sizeof *self);
    if (!self) return NULL;
    *self = *p;
    openblas_set_num_threads(p->threads);
    return self;
}

static int run_product(void *self, void *y, const void *a, const void *b)
{
    const hpc_peer_product *p = self;
    int m = (int)p->m, k = (int)p->k, n = (int)p->n;
    cblas_sgemm(CblasRowMajor, p->trans_a ? CblasTrans : CblasNoTrans,
                p->trans_b ? CblasTrans : CblasNoTrans, m, n, k, 1, a, p->trans_a ? m : k, b,
                p->trans_b ? k : n, 0, y, n);
    return 0;
}

const hpc_peer hpc_peer_openblas = {
    .name = "openblas",
    .version = version,
    .open = open_product,
    .run = run_product,
    .close = free,
};
#endif
