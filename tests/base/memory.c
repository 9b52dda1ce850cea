/*
 * memory.c: zeroed, aligned and overflow-checked allocation, with each allocator failing; and the
 * test support that makes allocations and I/O fail.
 */
/* tsan: left out, starts no thread. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/fault.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static bool zeroed(const void *p, size_t n)
{
    const unsigned char *c = p;
    for (size_t i = 0; i < n; i++)
        if (c[i] != 0) return false;
    return true;
}

static void assert_no_memory(const void *p)
{
    assert_null(p);
    assert_int_equal(hpc_error_get()->code, HPC_E_NOMEM);
    hpc_error_clear();
}

static void alloc_is_zeroed_and_aligned(void **state)
{
    (void)state;
    for (size_t n = 0; n < 300; n += 13) {
        /* Dirty what the next allocation is likely to get. */
        void *dirty = malloc(n * 3 + 1);
        assert_non_null(dirty);
        memset(dirty, 0xa5, n * 3 + 1);
        free(dirty);
        void *p = hpc_alloc(n, 3);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_true(zeroed(p, n * 3));
        hpc_free(p);
    }
    hpc_free(NULL);
}

static void aligned_alloc_keeps_its_alignment(void **state)
{
    (void)state;
    for (size_t align = 1; align <= 65536; align *= 2) {
        void *p = hpc_alloc_aligned(7, 11, align);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % (align < 16 ? 16 : align), 0);
        assert_true(zeroed(p, 77));
        hpc_free(p);
    }
    void *p = hpc_alloc_aligned(0, 8, 64);
    assert_non_null(p);
    hpc_free(p);
}

/* Blocks that were used before, and of all sizes around pages. */
static void large_blocks_are_zeroed(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++)
        for (size_t k = 0; k < 40; k++) {
            size_t bytes = ((size_t)1 << 20) - 5000 + k * 777 + (k % 3) * ((size_t)2 << 20);
            void *p = hpc_alloc_aligned(bytes, 1, k % 2 ? 64 : (size_t)2 << 20);
            assert_non_null(p);
            assert_true(zeroed(p, bytes));
            memset(p, 0xff, bytes);
            hpc_free(p);
        }
}

static size_t resident(void)
{
    hpc_buf text = {0};
    unsigned long size, pages;
    assert_int_equal(hpc_file_read(&text, "/proc/self/statm", 4096), 0);
    assert_int_equal(sscanf(text.data, "%lu %lu", &size, &pages), 2);
    hpc_buf_release(&text);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Untouched memory takes no physical memory, except a sanitizer's. */
static void large_blocks_are_not_touched(void **state)
{
    (void)state;
    const size_t bytes = (size_t)512 << 20;
    size_t before = resident();
    char *p = hpc_alloc_aligned(bytes, 1, (size_t)2 << 20);
    assert_non_null(p);
    p[bytes / 2] = 1;
    assert_true(resident() < before + bytes / 4);
    hpc_free(p);
}

static void overflow_is_out_of_memory(void **state)
{
    (void)state;
    assert_no_memory(hpc_alloc(SIZE_MAX / 2 + 1, 2));
    assert_no_memory(hpc_alloc(SIZE_MAX, SIZE_MAX));
    assert_no_memory(hpc_alloc((size_t)PTRDIFF_MAX + 1, 1));
    assert_no_memory(hpc_alloc_aligned(SIZE_MAX / 4 + 1, 4, 64));
    assert_int_equal(hpc_test_alloc_count(), 0);

    int64_t cap = 0;
    void *array = NULL;
    assert_int_equal(hpc_grow(&array, &cap, INT64_MAX, 16), HPC_E_NOMEM);
    assert_non_null(strstr(hpc_error_get()->text, "9223372036854775807 items of 16 bytes"));
    assert_null(array);
    assert_int_equal(cap, 0);
}

static void grow_keeps_old_and_zeroes_new(void **state)
{
    (void)state;
    int32_t *array = NULL;
    int64_t cap = 0;
    assert_int_equal(hpc_grow(&array, &cap, 0, sizeof *array), 0);
    assert_null(array);
    for (int64_t n = 1; n <= 5000; n++) {
        assert_int_equal(hpc_grow(&array, &cap, n, sizeof *array), 0);
        assert_true(cap >= n);
        assert_int_equal(array[n - 1], 0);
        array[n - 1] = (int32_t)n;
    }
    for (int64_t i = 0; i < 5000; i++) assert_int_equal(array[i], i + 1);
    assert_true(zeroed(array + 5000, (size_t)(cap - 5000) * sizeof *array));
    /* Amortised: the number of moves is logarithmic. */
    assert_in_range(hpc_test_alloc_count(), 1, 20);

    int64_t before = cap;
    assert_int_equal(hpc_grow(&array, &cap, 10, sizeof *array), 0);
    assert_int_equal(cap, before);
    assert_int_equal(hpc_grow(&array, &cap, 100000, sizeof *array), 0);
    assert_int_equal(cap, 100000);
    hpc_free(array);
}

static void every_allocator_fails_in_turn(void **state)
{
    (void)state;
    hpc_test_fail_alloc(1);
    assert_no_memory(hpc_alloc(4, 4));
    hpc_test_fail_alloc(1);
    assert_no_memory(hpc_alloc_aligned(4, 4, 64));

    int64_t cap = 0;
    char *array = NULL;
    assert_int_equal(hpc_grow(&array, &cap, 8, 1), 0);
    memcpy(array, "1234567", 8);
    hpc_test_fail_alloc(1);
    assert_int_equal(hpc_grow(&array, &cap, 9, 1), HPC_E_NOMEM);
    assert_true(hpc_test_alloc_failed());
    assert_int_equal(cap, 8);
    assert_string_equal(array, "1234567");
    hpc_free(array);
}

/* One call of each wrapped allocator; `which` is the one made to fail. */
static void call_allocators(int which)
{
    void *volatile p; /* or the compiler leaves out what is only freed again */
    void *aligned = NULL;
    hpc_test_fail_alloc(which);
    p = malloc(3);
    assert_int_equal(p == NULL, which == 1);
    free(p);
    p = calloc(3, 3);
    assert_int_equal(p == NULL, which == 2);
    void *volatile q = realloc(p, 30);
    assert_int_equal(q == NULL, which == 3);
    free(q ? q : p);
    p = aligned_alloc(64, 64);
    assert_int_equal(p == NULL, which == 4);
    free(p);
    assert_int_equal(posix_memalign(&aligned, 64, 64), which == 5 ? ENOMEM : 0);
    free(aligned);
    p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(p == MAP_FAILED, which == 6);
    if (p != MAP_FAILED) munmap(p, 4096);
}

static void support_fails_the_nth_allocation(void **state)
{
    (void)state;
    for (int which = 0; which <= 7; which++) {
        call_allocators(which);
        assert_int_equal(hpc_test_alloc_failed(), which >= 1 && which <= 6);
    }
    assert_int_equal(hpc_test_alloc_count(), 8 * 6);
    assert_int_equal(hpc_test_io_count(), 0);
}

static int io_twice(void *user)
{
    int *leaked = user, rc = 0;
    int fd = open("/dev/null", O_WRONLY);
    if (fd < 0) return hpc_fail_os(HPC_E_IO, "open");
    if (write(fd, "abc", 3) != 3) rc = hpc_fail_os(HPC_E_IO, "write");
    if (close(fd) < 0) rc = hpc_fail_os(HPC_E_IO, "close");
    *leaked |= fcntl(fd, F_GETFD) >= 0;
    return rc;
}

static void support_fails_the_nth_io(void **state)
{
    (void)state;
    int leaked = 0;
    assert_int_equal(hpc_test_each_io(io_twice, &leaked), 3);
    assert_int_equal(leaked, 0);

    hpc_test_short_io(2);
    int fd = open("/dev/zero", O_RDONLY);
    char data[8];
    assert_int_equal(read(fd, data, sizeof data), 2);
    hpc_test_short_io(0);
    assert_int_equal(read(fd, data, sizeof data), 8);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(alloc_is_zeroed_and_aligned, setup),
        cmocka_unit_test_setup(aligned_alloc_keeps_its_alignment, setup),
        cmocka_unit_test_setup(large_blocks_are_zeroed, setup),
        cmocka_unit_test_setup(large_blocks_are_not_touched, setup),
        cmocka_unit_test_setup(overflow_is_out_of_memory, setup),
        cmocka_unit_test_setup(grow_keeps_old_and_zeroes_new, setup),
        cmocka_unit_test_setup(every_allocator_fails_in_turn, setup),
        cmocka_unit_test_setup(support_fails_the_nth_allocation, setup),
        cmocka_unit_test_setup(support_fails_the_nth_io, setup),
    };
    return cmocka_run_group_tests_name("base/memory", tests, NULL, NULL);
}
