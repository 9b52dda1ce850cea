/*
 * folder.c: see folder.h.
 */
#include "tests/support/folder.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "tests/support/fault.h"

int hpc_test_folder_setup(void **state)
{
    const char *base = getenv("TMPDIR");
    hpc_test_folder *f = calloc(1, sizeof *f);
    if (!f) return -1;
    hpc_error_clear();
    hpc_test_fault_reset();
    snprintf(f->root, sizeof f->root, "%s/hpc-test-XXXXXX", base && *base ? base : "/tmp");
    *state = f;
    return mkdtemp(f->root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int hpc_test_folder_teardown(void **state)
{
    hpc_test_folder *f = *state;
    hpc_test_fault_reset();
    int rc = nftw(f->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(f);
    return rc;
}

char *hpc_test_path(char *out, const hpc_test_folder *f, const char *name)
{
    snprintf(out, PATH_MAX, "%s/%s", f->root, name);
    return out;
}

int hpc_test_entries(const char *folder)
{
    int n = -2;
    DIR *d = opendir(folder);
    if (!d) return -1;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}
