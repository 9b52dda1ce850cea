/*
 * file_scratch.c: a nameless file as memory that can be written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/priv.h"

int hpc_file_scratch(void **out, const char *folder, size_t bytes)
{
    char path[4096];
    int rc = HPC_OK, fd = -1;
    *out = NULL;
    if (snprintf(path, sizeof path, "%s/.scratch-XXXXXX", folder) >= (int)sizeof path)
        return hpc_fail(HPC_E_ARG, "%.300s: the path is too long", folder);
    fd = mkstemp(path);
    if (fd < 0) return hpc_fail_os(HPC_E_IO, "cannot create a file in %.300s", folder);
    unlink(path);
    errno = posix_fallocate(fd, 0, (off_t)bytes);
    if (errno) TRY(hpc_fail_os(HPC_E_IO, "cannot allocate %zu bytes in %.300s", bytes, folder));
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        TRY(hpc_fail_os(HPC_E_IO, "cannot map %zu bytes in %.300s", bytes, folder));
    *out = p;
out:
    close(fd);
    return rc;
}

void hpc_file_scratch_close(void *data, size_t bytes)
{
    if (data) munmap(data, bytes);
}
