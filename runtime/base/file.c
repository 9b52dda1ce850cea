/*
 * file.c: reading whole files and mapping them. Only this file, file_write.c,
 * file_edit.c and file_folder.c open files.
 *
 * "-" has no special meaning: standard input and output belong to the commands. A file
 * must not shrink while it is mapped, because access past its end raises SIGBUS.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/base/priv.h"

int hpc_file_open_retry(const char *path, int flags, mode_t mode)
{
    int fd;
    do fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static void close_quietly(int fd)
{
    if (fd >= 0) close(fd);
}

/* ---- reading -------------------------------------------------------------- */

/* By reading until the end and not by size, which pipes and /proc do not know. */
int hpc_file_read_all(hpc_buf *out, int fd, const char *path, size_t limit)
{
    char chunk[1 << 16];
    size_t total = 0;
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return hpc_fail_os(HPC_E_IO, "cannot read " SHOWN, path);
        if (n == 0) return 0;
        if ((size_t)n > limit - total) {
            return hpc_fail(HPC_E_FORMAT, SHOWN " is larger than the limit of %zu bytes", path,
                            limit);
        }
        int rc = hpc_buf_add(out, chunk, (size_t)n);
        if (rc < 0) return rc;
        total += (size_t)n;
    }
}

int hpc_file_read(hpc_buf *out, const char *path, size_t limit)
{
    size_t before = out->n;
    int rc = 0;
    int fd = hpc_file_open_retry(path, O_RDONLY, 0);
    if (fd < 0) {
        rc = hpc_fail_os(HPC_E_IO, "cannot open " SHOWN, path);
        goto out;
    }
    TRY(hpc_file_read_all(out, fd, path, limit));
out:
    close_quietly(fd);
    if (rc < 0 && out->n > before) {
        out->n = before;
        out->data[before] = '\0';
    }
    return rc;
}

int hpc_file_open(hpc_file_view *out, const char *path)
{
    struct stat st;
    int rc = 0;
    memset(out, 0, sizeof *out);
    int fd = hpc_file_open_retry(path, O_RDONLY | O_NONBLOCK, 0); /* does not block on a pipe */
    if (fd < 0 || fstat(fd, &st) < 0) {
        rc = hpc_fail_os(HPC_E_IO, "cannot open " SHOWN, path);
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        errno = EISDIR;
        rc = S_ISDIR(st.st_mode)
                 ? hpc_fail_os(HPC_E_IO, "cannot map " SHOWN, path)
                 : hpc_fail(HPC_E_ARG, "cannot map " SHOWN ": it is not a regular file", path);
        goto out;
    }
    if (st.st_size > 0) { /* mmap rejects an empty range */
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            rc = hpc_fail_os(HPC_E_IO, "cannot map " SHOWN, path);
            goto out;
        }
        *out = (hpc_file_view){.data = p, .bytes = (size_t)st.st_size, .priv = p};
    }
    out->changed_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
out:
    close_quietly(fd);
    return rc;
}

/* Whole pages: their neighbours may be in use. It is advice, so what comes of it does not matter.
 */
void hpc_file_drop(const hpc_file_view *v, const void *part, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (!v->priv) return;
    size_t at = (size_t)((const uint8_t *)part - v->data);
    hpc_assert(at <= v->bytes && bytes <= v->bytes - at);
    size_t from = (at + page - 1) / page * page, to = (at + bytes) / page * page;
    if (at + bytes == v->bytes) to = v->bytes;
    if (from < to) madvise((char *)v->priv + from, to - from, MADV_DONTNEED);
}

void hpc_file_close(hpc_file_view *v)
{
    if (v->priv) munmap(v->priv, v->bytes);
    memset(v, 0, sizeof *v);
}
