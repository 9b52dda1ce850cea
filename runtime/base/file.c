/*
 * file.c: the only place that opens files: reading whole, mapping, saving
 * atomically, making folders.
 *
 * It does not stream, does not lock, and gives no meaning to "-": standard input
 * and output belong to the commands. A mapped file must not shrink while it is
 * mapped; the kernel answers that with a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"

/* Paths in messages are cut, so that the reason behind them always fits. */
#define SHOWN "%.300s"

static int open_retry(const char *path, int flags, mode_t mode)
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
static int read_all(hpc_buf *out, int fd, const char *path, size_t limit)
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
    int fd = open_retry(path, O_RDONLY, 0);
    if (fd < 0) {
        rc = hpc_fail_os(HPC_E_IO, "cannot open " SHOWN, path);
        goto out;
    }
    TRY(read_all(out, fd, path, limit));
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
    int fd = open_retry(path, O_RDONLY | O_NONBLOCK, 0); /* a pipe is refused, not waited for */
    if (fd < 0 || fstat(fd, &st) < 0) {
        rc = hpc_fail_os(HPC_E_IO, "cannot open " SHOWN, path);
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        errno = EISDIR;
        rc = S_ISDIR(st.st_mode)
                 ? hpc_fail_os(HPC_E_IO, "cannot map " SHOWN, path)
                 : hpc_fail(HPC_E_IO, "cannot map " SHOWN ": it is not a regular file", path);
        goto out;
    }
    if (st.st_size > 0) { /* an empty file has nothing to map, and mmap refuses it */
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            rc = hpc_fail_os(HPC_E_IO, "cannot map " SHOWN, path);
            goto out;
        }
        *out = (hpc_file_view){.data = p, .bytes = (size_t)st.st_size, .priv = p};
    }
out:
    close_quietly(fd);
    return rc;
}

void hpc_file_close(hpc_file_view *v)
{
    if (v->priv) munmap(v->priv, v->bytes);
    memset(v, 0, sizeof *v);
}

/* ---- saving --------------------------------------------------------------- */

typedef struct save {
    char path[PATH_MAX];   /* where the data must end up, symbolic links resolved */
    char folder[PATH_MAX]; /* "" when nothing but the root or the working folder is meant */
    char temp[PATH_MAX];
    bool existed, created; /* the target; temp, which is ours to remove */
    mode_t mode;           /* of the target, when it existed */
    int fd;
    int folder_fd;
} save;

static int copy_path(char out[PATH_MAX], const char *path, const char *action)
{
    size_t n = strlen(path);
    errno = n == 0 ? ENOENT : ENAMETOOLONG;
    if (n == 0 || n >= PATH_MAX) {
        return hpc_fail_os(HPC_E_IO, "cannot %s '" SHOWN "'", action, path);
    }
    memcpy(out, path, n + 1);
    return 0;
}

/* Saving through a link replaces what it points to, and never a device or a pipe. */
static int find_target(save *s, const char *path)
{
    struct stat st;
    if (!realpath(path, s->path)) {
        int rc = copy_path(s->path, path, "save");
        if (rc < 0) return rc;
    }
    if (stat(s->path, &st) == 0) {
        if (!S_ISREG(st.st_mode)) {
            return hpc_fail(HPC_E_IO, "cannot save " SHOWN ": it is not a regular file", path);
        }
        s->existed = true;
        s->mode = st.st_mode & 07777;
    }
    const char *slash = strrchr(s->path, '/');
    size_t n = slash ? (size_t)(slash - s->path) + 1 : 0;
    memcpy(s->folder, s->path, n);
    s->folder[n] = '\0';
    return 0;
}

/* The name does not depend on the target's, so that it is never too long. O_EXCL
 * makes it ours even when a crashed process with our number left one behind. */
static int create_temp(save *s, const char *path)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        int n = snprintf(s->temp, sizeof s->temp, "%s.hpc-%ld-%d.tmp", s->folder, (long)gettid(),
                         attempt);
        errno = ENAMETOOLONG;
        if (n >= (int)sizeof s->temp) break;
        s->fd = open_retry(s->temp, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (s->fd >= 0) {
            s->created = true;
            return 0;
        }
        if (errno != EEXIST) break;
    }
    return hpc_fail_os(HPC_E_IO, "cannot create a temporary file beside " SHOWN, path);
}

static int write_all(int fd, const void *data, size_t bytes, const char *path)
{
    const char *p = data;
    while (bytes > 0) {
        ssize_t n = write(fd, p, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC; /* what the standard leaves open for a full device */
        if (n <= 0) return hpc_fail_os(HPC_E_IO, "cannot write " SHOWN, path);
        p += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int sync_retry(int fd)
{
    int rc;
    do rc = fsync(fd);
    while (rc < 0 && errno == EINTR);
    return rc;
}

static int close_temp(save *s, const char *path)
{
    int rc = close(s->fd);
    s->fd = -1;
    if (rc < 0 && errno != EINTR) return hpc_fail_os(HPC_E_IO, "cannot write " SHOWN, path);
    return 0;
}

/* The folder is opened before the rename: what can fail does so while the old file
 * stands. Only the last fsync can fail afterwards; then the new file is whole, but
 * may not survive a power failure, and the caller hears of it. */
static int replace(save *s, const char *path)
{
    s->folder_fd = open_retry(s->folder[0] ? s->folder : ".", O_RDONLY | O_DIRECTORY, 0);
    if (s->folder_fd < 0) {
        return hpc_fail_os(HPC_E_IO, "cannot open the folder of " SHOWN, path);
    }
    if (rename(s->temp, s->path) < 0) return hpc_fail_os(HPC_E_IO, "cannot replace " SHOWN, path);
    s->created = false;
    if (sync_retry(s->folder_fd) < 0 && errno != EINVAL) { /* EINVAL: not on this file system */
        return hpc_fail_os(HPC_E_IO, SHOWN " is saved, but its folder cannot be synced", path);
    }
    return 0;
}

int hpc_file_save(const char *path, const void *data, size_t bytes)
{
    save s = {.fd = -1, .folder_fd = -1};
    int rc = 0;
    TRY(find_target(&s, path));
    TRY(create_temp(&s, path));
    if (s.existed && fchmod(s.fd, s.mode) < 0) {
        rc = hpc_fail_os(HPC_E_IO, "cannot keep the permissions of " SHOWN, path);
        goto out;
    }
    TRY(write_all(s.fd, data, bytes, path));
    if (sync_retry(s.fd) < 0) {
        rc = hpc_fail_os(HPC_E_IO, "cannot write " SHOWN, path);
        goto out;
    }
    TRY(close_temp(&s, path));
    TRY(replace(&s, path));
out:
    close_quietly(s.fd);
    close_quietly(s.folder_fd);
    if (s.created) unlink(s.temp);
    return rc;
}

/* ---- folders -------------------------------------------------------------- */

bool hpc_file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* mkdir first and look afterwards, so that two processes may make the same folder. */
static int make_one(const char *path, const char *whole)
{
    struct stat st;
    if (mkdir(path, 0777) == 0) return 0;
    int os = errno;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode)) return 0;
        os = ENOTDIR;
    }
    errno = os;
    return hpc_fail_os(HPC_E_IO, "cannot make the folder " SHOWN, whole);
}

int hpc_file_mkdir(const char *path)
{
    char part[PATH_MAX];
    int rc = copy_path(part, path, "make the folder");
    if (rc < 0) return rc;
    for (char *p = part + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        rc = make_one(part, path);
        if (rc < 0) return rc;
        *p = '/';
    }
    return make_one(part, path);
}
