/*
 * file_write.c: writing files whole or not at all: a temporary name beside the
 * target, fsync, rename, fsync of the folder; and logs, which grow in place.
 *
 * It does not buffer: callers write in large pieces.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/base/priv.h"

struct hpc_file_writer {
    char path[PATH_MAX];   /* where the data must end up, symbolic links resolved */
    char folder[PATH_MAX]; /* "" when nothing but the root or the working folder is meant */
    char temp[PATH_MAX];
    bool existed, created; /* the target; temp, which is ours to remove */
    mode_t mode;           /* of the target, when it existed */
    int fd;
    int folder_fd;
    size_t bytes; /* written so far */
    int failed;   /* code of the first failure: nothing can be committed */
    bool done;
};

/* Saving through a link replaces what it points to, and never a device or a pipe. */
static int find_target(hpc_file_writer *w, const char *path)
{
    struct stat st;
    if (!realpath(path, w->path)) {
        int rc = hpc_file_copy_path(w->path, path, "save");
        if (rc < 0) return rc;
    }
    if (stat(w->path, &st) == 0) {
        if (!S_ISREG(st.st_mode)) {
            return hpc_fail(HPC_E_ARG, "cannot save " SHOWN ": it is not a regular file", path);
        }
        w->existed = true;
        w->mode = st.st_mode & 07777;
    }
    const char *slash = strrchr(w->path, '/');
    size_t n = slash ? (size_t)(slash - w->path) + 1 : 0;
    memcpy(w->folder, w->path, n);
    w->folder[n] = '\0';
    return 0;
}

/* The name does not depend on the target's, so that it is never too long. O_EXCL
 * makes it ours even when a crashed process with our number left one behind. */
static int create_temp(hpc_file_writer *w, const char *path, mode_t mode)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        int n = snprintf(w->temp, sizeof w->temp, "%s" TEMP_HEAD "%ld-%d" TEMP_TAIL, w->folder,
                         (long)gettid(), attempt);
        errno = ENAMETOOLONG;
        if (n >= (int)sizeof w->temp) break;
        w->fd = hpc_file_open_retry(w->temp, O_WRONLY | O_CREAT | O_EXCL, mode);
        if (w->fd >= 0) {
            w->created = true;
            return 0;
        }
        if (errno != EEXIST) break;
    }
    return hpc_fail_os(HPC_E_IO, "cannot create a temporary file next to " SHOWN, path);
}

int hpc_file_write_all(int fd, const void *data, size_t bytes, const char *path)
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

int hpc_file_sync(int fd)
{
    int rc;
    do rc = fsync(fd);
    while (rc < 0 && errno == EINTR);
    return rc;
}

static int close_temp(hpc_file_writer *w, const char *path)
{
    int rc = close(w->fd);
    w->fd = -1;
    if (rc < 0 && errno != EINTR) return hpc_fail_os(HPC_E_IO, "cannot write " SHOWN, path);
    return 0;
}

/* The folder is opened before the rename: what can fail does so while the old file
 * stands. Only the last fsync can fail afterwards; then the new file is whole, but
 * may not survive a power failure, and the caller hears of it. */
static int replace(hpc_file_writer *w, const char *path)
{
    w->folder_fd = hpc_file_open_retry(w->folder[0] ? w->folder : ".", O_RDONLY | O_DIRECTORY, 0);
    if (w->folder_fd < 0) {
        return hpc_fail_os(HPC_E_IO, "cannot open the folder of " SHOWN, path);
    }
    if (rename(w->temp, w->path) < 0) return hpc_fail_os(HPC_E_IO, "cannot replace " SHOWN, path);
    w->created = false;
    if (hpc_file_sync(w->folder_fd) < 0 && errno != EINVAL) { /* EINVAL: not on this file system */
        return hpc_fail_os(HPC_E_IO, SHOWN " is saved, but its folder cannot be synced", path);
    }
    return 0;
}

static int create(hpc_file_writer *w, const char *path, mode_t mode)
{
    int rc = 0;
    TRY(find_target(w, path));
    TRY(create_temp(w, path, mode));
    if (w->existed && fchmod(w->fd, w->mode) < 0)
        rc = hpc_fail_os(HPC_E_IO, "cannot keep the permissions of " SHOWN, path);
out:
    return rc;
}

static int create_writer(hpc_file_writer **out, const char *path, mode_t mode)
{
    *out = NULL;
    hpc_file_writer *w = hpc_alloc(1, sizeof *w);
    if (!w) return HPC_E_NOMEM;
    w->fd = w->folder_fd = -1;
    int rc = create(w, path, mode);
    if (rc < 0) {
        hpc_file_close_writer(w);
        return rc;
    }
    *out = w;
    return 0;
}

int hpc_file_create(hpc_file_writer **out, const char *path)
{
    return create_writer(out, path, 0666);
}

/* Without a temporary name: what is written stands, in one piece for each call, at the end of what
 * is there. Its folder is not synced: a log may lose its last lines in a power failure. */
int hpc_file_append(hpc_file_writer **out, const char *path)
{
    int rc = 0;
    *out = NULL;
    hpc_file_writer *w = hpc_alloc(1, sizeof *w);
    if (!w) return HPC_E_NOMEM;
    w->fd = w->folder_fd = -1;
    w->done = true; /* there is nothing to commit */
    TRY(find_target(w, path));
    w->fd = hpc_file_open_retry(w->path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (w->fd < 0) {
        rc = hpc_fail_os(HPC_E_IO, "cannot append to " SHOWN, path);
        goto out;
    }
    *out = w;
out:
    if (rc < 0) hpc_file_close_writer(w);
    return rc;
}

int hpc_file_write(hpc_file_writer *w, const void *data, size_t bytes)
{
    if (w->failed) return w->failed;
    int rc = hpc_file_write_all(w->fd, data, bytes, w->path);
    if (rc < 0)
        w->failed = rc;
    else
        w->bytes += bytes;
    return rc;
}

int hpc_file_write_at(hpc_file_writer *w, size_t at, const void *data, size_t bytes)
{
    hpc_assert(at <= w->bytes && bytes <= w->bytes - at);
    if (w->failed) return w->failed;
    int rc = 0;
    if (lseek(w->fd, (off_t)at, SEEK_SET) < 0)
        rc = hpc_fail_os(HPC_E_IO, "cannot write " SHOWN, w->path);
    if (rc == 0) rc = hpc_file_write_all(w->fd, data, bytes, w->path);
    if (rc == 0 && lseek(w->fd, (off_t)w->bytes, SEEK_SET) < 0)
        rc = hpc_fail_os(HPC_E_IO, "cannot write " SHOWN, w->path);
    if (rc < 0) w->failed = rc;
    return rc;
}

int hpc_file_writer_fd(const hpc_file_writer *w)
{
    return w->fd;
}

const char *hpc_file_keep_temp(hpc_file_writer *w)
{
    w->created = false;
    return w->temp;
}

size_t hpc_file_written(const hpc_file_writer *w)
{
    return w->bytes;
}

int hpc_file_commit(hpc_file_writer *w)
{
    int rc = w->failed;
    hpc_assert(!w->done);
    w->done = true;
    TRY(rc);
    if (hpc_file_sync(w->fd) < 0) {
        rc = hpc_fail_os(HPC_E_IO, "cannot write " SHOWN, w->path);
        goto out;
    }
    TRY(close_temp(w, w->path));
    TRY(replace(w, w->path));
out:
    return rc;
}

void hpc_file_close_writer(hpc_file_writer *w)
{
    if (!w) return;
    if (w->fd >= 0) close(w->fd);
    if (w->folder_fd >= 0) close(w->folder_fd);
    if (w->created) unlink(w->temp);
    hpc_free(w);
}

static int save(const char *path, const void *data, size_t bytes, mode_t mode)
{
    hpc_file_writer *w = NULL;
    int rc = 0;
    TRY(create_writer(&w, path, mode));
    TRY(hpc_file_write(w, data, bytes));
    TRY(hpc_file_commit(w));
out:
    hpc_file_close_writer(w);
    return rc;
}

int hpc_file_save(const char *path, const void *data, size_t bytes)
{
    return save(path, data, bytes, 0666);
}

int hpc_file_save_private(const char *path, const void *data, size_t bytes)
{
    return save(path, data, bytes, 0600);
}
