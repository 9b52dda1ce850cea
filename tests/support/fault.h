/*
 * fault.h: makes the Nth allocation or file system call fail, so that every error path can be
 * tested.
 *
 * It uses the linker's --wrap, so it sees calls from our own objects, not those inside shared
 * libraries. Counters are process-wide and thread-safe: with several threads, the Nth call of any
 * of them fails.
 */
#ifndef HPC_TESTS_SUPPORT_FAULT_H
#define HPC_TESTS_SUPPORT_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocations: malloc, calloc, realloc, aligned_alloc, posix_memalign, anonymous mmap and
 * pthread_create. I/O: open, read, write, fsync, ftruncate, rename, close, fstat, mkdir and
 * mmap of a file. n == 1 is the next one, 0 none; exactly one call fails. */
void hpc_test_fail_alloc(int64_t n);
void hpc_test_fail_io(int64_t n);
/* Has the last armed failure occurred? */
bool hpc_test_alloc_failed(void);
bool hpc_test_io_failed(void);
/* Every read and write moves at most this many bytes; 0: no limit. */
void hpc_test_short_io(size_t most);
/* Calls since the last reset, including failed ones. */
int64_t hpc_test_alloc_count(void);
int64_t hpc_test_io_count(void);
/* Disarms everything and zeroes the counts; suitable as a setup function. */
void hpc_test_fault_reset(void);

/* Runs `body` with its 1st, 2nd, ... allocation failing until a run meets no failure, and
 * asserts that each failed run returns HPC_E_NOMEM with a message and that the last returns
 * 0. The body must release what it made either way. Returns the number of failed runs. */
int64_t hpc_test_each_alloc(int (*body)(void *user), void *user);
/* The same for I/O and HPC_E_IO. */
int64_t hpc_test_each_io(int (*body)(void *user), void *user);
/* Writes the file `path` in `folder`, with each I/O call in turn failing. Each time the file must
 * be complete, as checked by `read`, or absent, and `folder` must have no entries other than it and
 * the `others` that existed before. The file is removed at the end. Returns the number of failed
 * runs. */
int64_t hpc_test_whole_or_none(int (*write)(void *path), int (*read)(void *path), char *path,
                               const char *folder, int others);

#endif
