/*
 * pragma_many.c: preparation of `hpccoder pragma` for many files on several workers.
 */
#include <sys/stat.h>

#include "cmd/pragma.h"

int pragma_has_twins(bool *out, char **path, int64_t n)
{
    hpc_map *seen = hpc_map_create();
    uint64_t value;
    int rc = seen ? HPC_OK : HPC_E_NOMEM;
    *out = false;
    for (int64_t k = 0; k < n && rc >= 0; k++) {
        struct stat st;
        if (stat(path[k], &st) < 0) continue;
        const uint64_t key[2] = {st.st_dev, st.st_ino};
        *out |= hpc_map_get(seen, key, sizeof key, &value);
        rc = hpc_map_put(seen, key, sizeof key, 1);
    }
    hpc_map_free(seen);
    return rc;
}
