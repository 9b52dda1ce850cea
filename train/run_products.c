/*
 * run_products.c: the algorithms of a run's matrix products, which RUN/products.json records: a
 * resumed run has the same ones, and so the same bits.
 */
#include <stdio.h>

#include "train/run_priv.h"

enum { RECORD_MOST = 16 << 20 };

int run_products_open(hpc_trainer **out, hpc_trainer_options *o, const char *folder, bool leads)
{
    char path[RUN_PATH];
    hpc_buf record = {0}, chosen = {0};
    int rc = HPC_OK;
    *out = NULL;
    if (snprintf(path, sizeof path, "%s/products.json", folder) >= RUN_PATH)
        TRY(hpc_fail(HPC_E_ARG, "%s: the path is too long", folder));
    if (hpc_file_exists(path)) TRY(hpc_file_read(&record, path, RECORD_MOST));
    o->products = &record;
    TRY(hpc_trainer_open(out, o, false));
    if (!leads) goto out;
    TRY(hpc_trainer_products(&chosen, *out));
    if (chosen.n > 0) TRY(hpc_file_save(path, chosen.data, chosen.n));
out:
    o->products = NULL;
    hpc_buf_release(&record);
    hpc_buf_release(&chosen);
    return rc;
}
