/*
 * fault.c: the wrapped allocators and system calls of fault.h.
 *
 * Names with double underscores belong to the linker: --wrap=f redirects calls of f to __wrap_f
 * and provides the original as __real_f.
 */
#include "tests/support/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/folder.h"

typedef struct counter {
    int64_t calls;
    int64_t left; /* calls until the one that fails; below 1: none */
    bool failed;
} counter;

/* Mutable statics, because a wrapped function has no argument to carry them. */
static counter allocs, ios;
static size_t io_most;

static bool fails(counter *c)
{
    __atomic_add_fetch(&c->calls, 1, __ATOMIC_RELAXED);
    if (__atomic_sub_fetch(&c->left, 1, __ATOMIC_RELAXED) != 0) return false;
    __atomic_store_n(&c->failed, true, __ATOMIC_RELAXED);
    return true;
}

static void arm(counter *c, int64_t n)
{
    __atomic_store_n(&c->failed, false, __ATOMIC_RELAXED);
    __atomic_store_n(&c->left, n, __ATOMIC_RELAXED);
}

static bool alloc_fails(void)
{
    if (!fails(&allocs)) return false;
    errno = ENOMEM;
    return true;
}

static bool io_fails(int error)
{
    if (!fails(&ios)) return false;
    errno = error;
    return true;
}

static size_t at_most(size_t n)
{
    size_t most = __atomic_load_n(&io_most, __ATOMIC_RELAXED);
    return most > 0 && n > most ? most : n;
}

void hpc_test_fail_alloc(int64_t n)
{
    arm(&allocs, n);
}
void hpc_test_fail_io(int64_t n)
{
    arm(&ios, n);
}
bool hpc_test_alloc_failed(void)
{
    return __atomic_load_n(&allocs.failed, __ATOMIC_RELAXED);
}
bool hpc_test_io_failed(void)
{
    return __atomic_load_n(&ios.failed, __ATOMIC_RELAXED);
}
void hpc_test_short_io(size_t most)
{
    __atomic_store_n(&io_most, most, __ATOMIC_RELAXED);
}
int64_t hpc_test_alloc_count(void)
{
    return __atomic_load_n(&allocs.calls, __ATOMIC_RELAXED);
}
int64_t hpc_test_io_count(void)
{
    return __atomic_load_n(&ios.calls, __ATOMIC_RELAXED);
}

void hpc_test_fault_reset(void)
{
    arm(&allocs, 0);
    arm(&ios, 0);
    hpc_test_short_io(0);
    __atomic_store_n(&allocs.calls, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&ios.calls, 0, __ATOMIC_RELAXED);
}

static int64_t each(counter *c, int code, int (*body)(void *user), void *user)
{
    for (int64_t n = 1;; n++) {
        hpc_error_clear();
        arm(c, n);
        int rc = body(user);
        bool failed = __atomic_load_n(&c->failed, __ATOMIC_RELAXED);
        arm(c, 0);
        if (!failed) {
            assert_int_equal(rc, HPC_OK);
            assert_int_equal(hpc_error_get()->code, HPC_OK);
            return n - 1;
        }
        assert_int_equal(rc, code);
        assert_int_equal(hpc_error_get()->code, code);
        assert_true(hpc_error_get()->text[0] != '\0');
        hpc_error_clear();
    }
}

int64_t hpc_test_each_alloc(int (*body)(void *user), void *user)
{
    return each(&allocs, HPC_E_NOMEM, body, user);
}

int64_t hpc_test_each_io(int (*body)(void *user), void *user)
{
    return each(&ios, HPC_E_IO, body, user);
}

/* ---- allocation ---- */

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    return alloc_fails() ? NULL : __real_malloc(bytes);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return alloc_fails() ? NULL : __real_calloc(n, size);
}

void *__real_realloc(void *p, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes)
{
    return alloc_fails() ? NULL : __real_realloc(p, bytes);
}

void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    return alloc_fails() ? NULL : __real_aligned_alloc(align, bytes);
}

int __real_posix_memalign(void **out, size_t align, size_t bytes);
int __wrap_posix_memalign(void **out, size_t align, size_t bytes);
int __wrap_posix_memalign(void **out, size_t align, size_t bytes)
{
    return alloc_fails() ? ENOMEM : __real_posix_memalign(out, align, bytes);
}

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    bool failed = flags & MAP_ANONYMOUS ? alloc_fails() : io_fails(ENODEV);
    return failed ? MAP_FAILED : __real_mmap(at, bytes, protection, flags, fd, offset);
}

int __real_pthread_create(pthread_t *out, const pthread_attr_t *options, void *(*fn)(void *),
                          void *user);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *options, void *(*fn)(void *),
                          void *user);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *options, void *(*fn)(void *),
                          void *user)
{
    return alloc_fails() ? EAGAIN : __real_pthread_create(out, options, fn, user);
}

/* ---- files ---- */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    /* O_TMPFILE shares a bit with O_DIRECTORY, so it is compared whole. */
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    return io_fails(EIO) ? -1 : __real_open(path, flags, mode);
}

ssize_t __real_read(int fd, void *data, size_t bytes);
ssize_t __wrap_read(int fd, void *data, size_t bytes);
ssize_t __wrap_read(int fd, void *data, size_t bytes)
{
    return io_fails(EIO) ? -1 : __real_read(fd, data, at_most(bytes));
}

ssize_t __real_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_write(int fd, const void *data, size_t bytes)
{
    return io_fails(ENOSPC) ? -1 : __real_write(fd, data, at_most(bytes));
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return io_fails(EIO) ? -1 : __real_fsync(fd);
}

int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes)
{
    return io_fails(ENOSPC) ? -1 : __real_ftruncate(fd, bytes);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    return io_fails(EACCES) ? -1 : __real_rename(from, to);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    if (!io_fails(EIO)) return __real_close(fd);
    /* As on Linux: the descriptor is gone even when close reports an error. */
    __real_close(fd);
    errno = EIO;
    return -1;
}

int __real_fstat(int fd, struct stat *out);
int __wrap_fstat(int fd, struct stat *out);
int __wrap_fstat(int fd, struct stat *out)
{
    return io_fails(EIO) ? -1 : __real_fstat(fd, out);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
    return io_fails(EACCES) ? -1 : __real_mkdir(path, mode);
}

int64_t hpc_test_whole_or_none(int (*write)(void *path), int (*read)(void *path), char *path,
                               const char *folder, int others)
{
    int64_t failed = 0;
    for (int64_t n = 1;; n++) {
        hpc_test_fail_io(n);
        int rc = write(path);
        bool hit = hpc_test_io_failed();
        hpc_test_fault_reset();
        failed += rc < 0;
        assert_true(rc == HPC_OK || (hit && rc == HPC_E_IO));
        hpc_error_clear();
        if (hpc_file_exists(path)) assert_int_equal(read(path), HPC_OK);
        assert_int_equal(hpc_test_entries(folder), others + hpc_file_exists(path));
        assert_int_equal(hpc_file_remove(path), HPC_OK);
        if (!hit) return failed;
    }
}
