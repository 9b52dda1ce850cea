/*
 * memory.c: zeroed heap memory with checked sizes, and growing arrays.
 *
 * It keeps no pool or cache: memory that a step needs comes from an arena or is placed
 * once by a program.
 */
#include "runtime/base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20, UNTOUCHED = 1 << 20 };

_Static_assert(_Alignof(max_align_t) >= 16, "malloc must align to 16 bytes");

static int no_memory(size_t n, size_t size)
{
    return hpc_fail(HPC_E_NOMEM,
                    "out of memory for %zu items of %zu bytes; ask for less or free some memory", n,
                    size);
}

/* False when n * size does not fit an object. */
static bool product(size_t *bytes, size_t n, size_t size)
{
    return !__builtin_mul_overflow(n, size, bytes) && *bytes <= PTRDIFF_MAX;
}

void *hpc_alloc(size_t n, size_t size)
{
    size_t bytes;
    /* calloc(0) may return NULL, which would look like a failure. */
    void *p = product(&bytes, n, size) ? calloc(bytes > 0 ? bytes : 1, 1) : NULL;
    if (!p) no_memory(n, size);
    return p;
}

/* Whole pages of a large block are given back to the system, from where they come as zeros when
 * they are first touched, if ever: a cache for long texts costs nothing until there is one. */
static void clear(void *p, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)p;
    size_t head = (size_t)((at + page - 1) / page * page - at);
    size_t pages = bytes > head ? (bytes - head) / page * page : 0;
    char *bytes_at = p;
    if (bytes < UNTOUCHED || madvise(bytes_at + head, pages, MADV_DONTNEED) != 0) {
        memset(p, 0, bytes);
        return;
    }
    memset(p, 0, head);
    memset(bytes_at + head + pages, 0, bytes - head - pages);
}

void *hpc_alloc_aligned(size_t n, size_t size, size_t align)
{
    hpc_assert(align > 0 && (align & (align - 1)) == 0);
    if (align < 16) align = 16;
    size_t bytes;
    void *p = NULL;
    if (!product(&bytes, n, size) || posix_memalign(&p, align, bytes > 0 ? bytes : 1) != 0) {
        no_memory(n, size);
        return NULL;
    }
    /* Advice: what comes of it does not matter. Before the first access, or it comes too late. */
    if (align >= HUGE_PAGE && bytes >= HUGE_PAGE) madvise(p, bytes, MADV_HUGEPAGE);
    clear(p, bytes > 0 ? bytes : 1);
    return p;
}

int hpc_grow(void *array_ptr, int64_t *cap, int64_t n, size_t size)
{
    hpc_assert(*cap >= 0 && size > 0);
    if (n <= *cap) return HPC_OK;
    int64_t least = *cap < 8 ? 8 : *cap <= INT64_MAX / 2 ? *cap + *cap / 2 : n;
    int64_t wanted = n > least ? n : least;
    size_t bytes;
    if ((uint64_t)wanted > SIZE_MAX || !product(&bytes, (size_t)wanted, size))
        return no_memory((size_t)n, size);

    /* The caller's pointer has a type unknown here, so it is moved as bytes. */
    char *array;
    memcpy(&array, array_ptr, sizeof array);
    array = realloc(array, bytes);
    if (!array) return no_memory((size_t)wanted, size);
    size_t old = (size_t)*cap * size;
    memset(array + old, 0, bytes - old);
    memcpy(array_ptr, &array, sizeof array);
    *cap = wanted;
    return HPC_OK;
}

void hpc_free(void *p)
{
    free(p);
}
