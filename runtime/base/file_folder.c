/*
 * file_folder.c: creating and listing folders, removing files, and locks between
 * processes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/base/priv.h"

int hpc_file_copy_path(char *out, const char *path, const char *action)
{
    size_t n = strlen(path);
    errno = n == 0 ? ENOENT : ENAMETOOLONG;
    if (n == 0 || n >= PATH_MAX) {
        return hpc_fail_os(HPC_E_IO, "cannot %s '" SHOWN "'", action, path);
    }
    memcpy(out, path, n + 1);
    return 0;
}

bool hpc_file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* mkdir first and look afterwards, so that two processes may make the same folder. */
static int make_one(const char *path, const char *whole, mode_t mode)
{
    struct stat st;
    if (mkdir(path, mode) == 0) return 0;
    int os = errno;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode)) return 0;
        os = ENOTDIR;
    }
    errno = os;
    return hpc_fail_os(HPC_E_IO, "cannot create the folder " SHOWN, whole);
}

static int make_folders(const char *path, mode_t last)
{
    char part[PATH_MAX];
    int rc = hpc_file_copy_path(part, path, "create the folder");
    if (rc < 0) return rc;
    for (char *p = part + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        rc = p[1] ? make_one(part, path, 0777) : 0;
        if (rc < 0) return rc;
        *p = '/';
    }
    return make_one(part, path, last);
}

int hpc_file_mkdir(const char *path)
{
    return make_folders(path, 0777);
}

int hpc_file_mkdir_private(const char *path)
{
    struct stat st;
    int rc = make_folders(path, 0700);
    if (rc < 0) return rc;
    if (stat(path, &st) < 0) return hpc_fail_os(HPC_E_IO, "cannot open the folder " SHOWN, path);
    if (st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0) return 0;
    return hpc_fail(HPC_E_ARG,
                    "the folder " SHOWN " belongs to another user or others may write to it; "
                    "choose another",
                    path);
}

int hpc_file_touch(const char *path)
{
    if (utimensat(AT_FDCWD, path, NULL, 0) == 0) return 0;
    return hpc_fail_os(HPC_E_IO, "cannot change the time of " SHOWN, path);
}

int hpc_file_remove(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT) return 0;
    return hpc_fail_os(HPC_E_IO, "cannot remove " SHOWN, path);
}

/* ---- what lies in a folder -------------------------------------------------- */

static bool is_temporary(const char *name)
{
    size_t n = strlen(name), tail = strlen(TEMP_TAIL);
    return strncmp(name, TEMP_HEAD, strlen(TEMP_HEAD)) == 0 && n > tail &&
           strcmp(name + n - tail, TEMP_TAIL) == 0;
}

/* 1: *name is the next one; 0: no more; negative: failed. */
static int next_name(const char **name, DIR *dir, const char *folder)
{
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(dir);
        if (!e && errno) return hpc_fail_os(HPC_E_IO, "cannot read the folder " SHOWN, folder);
        if (!e) return 0;
        *name = e->d_name;
        if (strcmp(*name, ".") != 0 && strcmp(*name, "..") != 0) return 1;
    }
}

static DIR *open_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) hpc_fail_os(HPC_E_IO, "cannot read the folder " SHOWN, folder);
    return dir;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* From *n NUL-terminated names in any order to the same, sorted. */
static int sort_names(hpc_buf *out, const hpc_buf *names, int64_t n)
{
    int rc = 0;
    const char **name = hpc_alloc((size_t)n + 1, sizeof *name);
    if (!name) return HPC_E_NOMEM;
    const char *p = names->data;
    for (int64_t k = 0; k < n; k++, p += strlen(p) + 1) name[k] = p;
    qsort(name, (size_t)n, sizeof *name, compare_names);
    for (int64_t k = 0; k < n && rc == 0; k++) rc = hpc_buf_add(out, name[k], strlen(name[k]) + 1);
    hpc_free(name);
    return rc;
}

int hpc_file_list(hpc_buf *out, int64_t *n, const char *folder)
{
    hpc_buf names = {0};
    const char *name = NULL;
    struct stat st;
    size_t before = out->n;
    int rc = 0;
    *n = 0;
    DIR *dir = open_folder(folder);
    if (!dir) return HPC_E_IO;
    for (;;) {
        TRY(next_name(&name, dir, folder));
        if (rc == 0) break;
        if (is_temporary(name)) continue;
        bool is_folder = fstatat(dirfd(dir), name, &st, 0) == 0 && S_ISDIR(st.st_mode);
        TRY(hpc_buf_printf(&names, "%s%s", name, is_folder ? "/" : ""));
        TRY(hpc_buf_add(&names, "", 1));
        ++*n;
    }
    TRY(sort_names(out, &names, *n));
out:
    if (rc < 0) {
        *n = 0;
        out->n = before;
    }
    hpc_buf_release(&names);
    closedir(dir);
    return rc;
}

int hpc_file_sweep(const char *folder)
{
    const char *name = NULL;
    int rc = 0;
    DIR *dir = open_folder(folder);
    if (!dir) return HPC_E_IO;
    for (;;) {
        TRY(next_name(&name, dir, folder));
        if (rc == 0) break;
        if (is_temporary(name) && unlinkat(dirfd(dir), name, 0) < 0 && errno != ENOENT) {
            rc = hpc_fail_os(HPC_E_IO, "cannot remove %s from " SHOWN, name, folder);
            goto out;
        }
    }
out:
    closedir(dir);
    return rc;
}

/* ---- locks ------------------------------------------------------------------ */

/* Its owner may have removed the file before it gave up the lock, and another process may have a
 * lock on a new one. */
static bool is_of_path(int fd, const char *path)
{
    struct stat own, now;
    return fstat(fd, &own) == 0 && stat(path, &now) == 0 && own.st_ino == now.st_ino &&
           own.st_dev == now.st_dev;
}

/* 1: *lock has it; 0: another process does; 2: the file was replaced. */
static int try_lock(int *lock, const char *path, bool wait)
{
    int fd = hpc_file_open_retry(path, O_RDWR | O_CREAT, 0666);
    if (fd < 0) return hpc_fail_os(HPC_E_IO, "cannot open the lock " SHOWN, path);
    int rc;
    do rc = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
    while (rc < 0 && errno == EINTR);
    if (rc == 0 && is_of_path(fd, path)) {
        *lock = fd;
        return 1;
    }
    rc = rc == 0 ? 2 : errno == EWOULDBLOCK ? 0 : hpc_fail_os(HPC_E_IO, "cannot lock " SHOWN, path);
    close(fd);
    return rc;
}

int hpc_file_lock(int *lock, const char *path, bool wait)
{
    int rc;
    *lock = -1;
    do rc = try_lock(lock, path, wait);
    while (rc == 2);
    return rc < 0 ? rc : HPC_OK;
}

void hpc_file_unlock(int lock)
{
    if (lock >= 0) close(lock);
}
