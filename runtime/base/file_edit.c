/*
 * file_edit.c: replacing the content of a user's file, as editors do.
 *
 * Owner, mode, ACLs, extended attributes and hard links stay. If a new file can carry all of
 * them, it replaces the old one by an atomic rename. Otherwise the old file is overwritten in
 * place, with signals blocked; on failure the old text is restored. Only a crash during that
 * write can leave a fragment; the temporary file in the same folder then holds the new text.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/base/priv.h"

typedef struct target {
    char path[PATH_MAX]; /* symbolic links resolved */
    struct stat st;
} target;

/* The mode counts for root as well, who may write everything. */
static int find_target(target *t, const char *path, bool force)
{
    if (!realpath(path, t->path) || stat(t->path, &t->st) < 0)
        return hpc_fail_os(HPC_E_IO, "cannot change " SHOWN, path);
    if (!S_ISREG(t->st.st_mode))
        return hpc_fail(HPC_E_ARG, "cannot change " SHOWN ": it is not a regular file", path);
    if (force || ((t->st.st_mode & 0222) && access(t->path, W_OK) == 0)) return HPC_OK;
    return hpc_fail(HPC_E_ARG,
                    "cannot change " SHOWN ": it is read-only (mode %04o); --force changes it",
                    path, (unsigned)(t->st.st_mode & 07777));
}

int hpc_file_check_edit(const char *path, bool force)
{
    target t;
    return find_target(&t, path, force);
}

/* ---- attributes --------------------------------------------------------------------------- */

typedef struct names { /* NUL-separated */
    char *text;
    size_t n;
} names;

/* Names of extended attributes, ACLs among them; a file system without them has none. */
static bool list_attributes(names *out, int fd)
{
    ssize_t n = flistxattr(fd, NULL, 0);
    *out = (names){0};
    if (n <= 0) return n == 0 || errno == ENOTSUP;
    out->text = hpc_alloc((size_t)n, 1);
    if (!out->text) return false;
    ssize_t read = flistxattr(fd, out->text, (size_t)n);
    out->n = read < 0 ? 0 : (size_t)read;
    return read >= 0;
}

static bool has_name(const names *list, const char *name)
{
    for (size_t at = 0; at < list->n; at += strlen(list->text + at) + 1)
        if (strcmp(list->text + at, name) == 0) return true;
    return false;
}

static bool copy_attribute(int to, int from, const char *name)
{
    ssize_t n = fgetxattr(from, name, NULL, 0);
    if (n < 0) return false;
    char *value = hpc_alloc((size_t)n + 1, 1);
    if (value) n = fgetxattr(from, name, value, (size_t)n);
    bool copied = value && n >= 0 && fsetxattr(to, name, value, (size_t)n, 0) == 0;
    hpc_free(value);
    return copied;
}

/* A new file may have inherited an ACL from its folder that the old one does not have. */
static bool copy_attributes(int to, int from)
{
    names want, have = {0};
    bool same = list_attributes(&want, from) && list_attributes(&have, to);
    for (size_t at = 0; same && at < have.n; at += strlen(have.text + at) + 1)
        if (!has_name(&want, have.text + at)) same = fremovexattr(to, have.text + at) == 0;
    for (size_t at = 0; same && at < want.n; at += strlen(want.text + at) + 1)
        same = copy_attribute(to, from, want.text + at);
    hpc_free(want.text);
    hpc_free(have.text);
    return same;
}

/* True if the new file is now like the old one; `lost` names what it lacks. The owner comes
 * first: a change of owner clears bits of the mode. */
static bool copy_identity(hpc_buf *lost, int to, int from, const target *t)
{
    size_t before = lost->n;
    if (t->st.st_nlink > 1)
        hpc_buf_printf(lost, "%lu other hard link%s to it; ", (unsigned long)t->st.st_nlink - 1,
                       t->st.st_nlink == 2 ? "" : "s");
    if (fchown(to, t->st.st_uid, t->st.st_gid) < 0) hpc_buf_text(lost, "its owner or group; ");
    if (!copy_attributes(to, from)) hpc_buf_text(lost, "its ACL or extended attributes; ");
    if (fchmod(to, t->st.st_mode & 07777) < 0) hpc_buf_text(lost, "its mode; ");
    return lost->n == before;
}

/* ---- writing in place --------------------------------------------------------------------- */

static int overwrite(int fd, const char *path, const hpc_buf *text)
{
    int rc = 0;
    if (lseek(fd, 0, SEEK_SET) < 0) return hpc_fail_os(HPC_E_IO, "cannot write " SHOWN, path);
    TRY(hpc_file_write_all(fd, text->data, text->n, path));
    if (ftruncate(fd, (off_t)text->n) < 0 || hpc_file_sync(fd) < 0)
        rc = hpc_fail_os(HPC_E_IO, "cannot write " SHOWN, path);
out:
    return rc;
}

static int overwrite_or_restore(hpc_file_writer *w, int fd, const target *t, const hpc_buf *from,
                                const hpc_buf *to)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = overwrite(fd, t->path, to);
    if (rc < 0 && overwrite(fd, t->path, from) < 0)
        hpc_error_where("the file may be incomplete, %s has all of it", hpc_file_keep_temp(w));
    fchmod(fd, t->st.st_mode & 07777); /* writing clears the bits that change the user */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* ---- both --------------------------------------------------------------------------------- */

static int check_unchanged(int fd, const char *path, const hpc_buf *from)
{
    hpc_buf now = {0};
    int rc = hpc_file_read_all(&now, fd, path, SIZE_MAX);
    if (rc >= 0 && (now.n != from->n || (now.n > 0 && memcmp(now.data, from->data, now.n) != 0)))
        rc = hpc_fail(HPC_E_ARG,
                      "cannot change " SHOWN ": another program changed it in the meantime", path);
    hpc_buf_release(&now);
    return rc;
}

/* Where the old file cannot be opened for writing, which takes --force, it is replaced. */
static int put(hpc_buf *lost, hpc_file_writer *w, const target *t, int old, const hpc_buf *from,
               const hpc_buf *to)
{
    int rc, fd = -1;
    size_t before = lost->n;
    TRY(hpc_file_write(w, to->data, to->n));
    if (!copy_identity(lost, hpc_file_writer_fd(w), old, t))
        fd = hpc_file_open_retry(t->path, O_WRONLY, 0);
    if (fd < 0) {
        rc = hpc_file_commit(w);
    } else {
        lost->n = before;
        rc = overwrite_or_restore(w, fd, t, from, to);
    }
out:
    if (fd >= 0) close(fd);
    if (lost->n > before) lost->data[lost->n -= 2] = '\0'; /* the last "; " */
    return rc;
}

int hpc_file_edit(hpc_buf *lost, const char *path, const hpc_buf *from, const hpc_buf *to,
                  bool force)
{
    hpc_file_writer *w = NULL;
    target t;
    int rc, old = -1;
    TRY(find_target(&t, path, force));
    old = hpc_file_open_retry(t.path, O_RDONLY, 0);
    if (old < 0) TRY(hpc_fail_os(HPC_E_IO, "cannot open " SHOWN, path));
    TRY(check_unchanged(old, path, from));
    TRY(hpc_file_create(&w, t.path));
    TRY(put(lost, w, &t, old, from, to));
    rc = lost->failed;
out:
    hpc_file_close_writer(w);
    if (old >= 0) close(old);
    return rc;
}
