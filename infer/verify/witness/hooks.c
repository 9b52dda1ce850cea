/*
 * hooks.c: entry points of a watched program, in place of those of ThreadSanitizer's library, of
 * the allocator and of the functions that copy memory. Names and signatures are the sanitizer's
 * own. They differ only in a width, so macros make them.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "infer/verify/witness/priv.h"

/* ---- accesses ------------------------------------------------------------------------------- */

#define ACCESS(name, n, write)                                                                     \
    void __tsan_##name##n(uintptr_t at);                                                           \
    void __tsan_##name##n(uintptr_t at)                                                            \
    {                                                                                              \
        touch(at, n, write, CALLER(), STACK());                                                    \
    }
#define SLOW_ACCESS(name, n, write)                                                                \
    void __tsan_##name##n(uintptr_t at);                                                           \
    void __tsan_##name##n(uintptr_t at)                                                            \
    {                                                                                              \
        hpc_witness_touch(at, n, write, CALLER());                                                 \
    }
#define BOTH_ACCESS(name, n)                                                                       \
    void __tsan_##name##n(uintptr_t at);                                                           \
    void __tsan_##name##n(uintptr_t at)                                                            \
    {                                                                                              \
        hpc_witness_touch(at, n, false, CALLER());                                                 \
        hpc_witness_touch(at, n, true, CALLER());                                                  \
    }
#define WIDTHS(of, ...)                                                                            \
    of(__VA_ARGS__, 1) of(__VA_ARGS__, 2) of(__VA_ARGS__, 4) of(__VA_ARGS__, 8) of(__VA_ARGS__, 16)
#define READ(name, n)  SLOW_ACCESS(name, n, false)
#define WRITE(name, n) SLOW_ACCESS(name, n, true)

ACCESS(read, 4, false)
ACCESS(read, 8, false)
ACCESS(write, 4, true)
ACCESS(write, 8, true)
READ(read, 1)
READ(read, 2)
READ(read, 16)
WRITE(write, 1)
WRITE(write, 2)
WRITE(write, 16)
WIDTHS(READ, unaligned_read)
WIDTHS(WRITE, unaligned_write)
WIDTHS(READ, volatile_read)
WIDTHS(WRITE, volatile_write)
WIDTHS(READ, unaligned_volatile_read)
WIDTHS(WRITE, unaligned_volatile_write)
WIDTHS(BOTH_ACCESS, read_write)
WIDTHS(BOTH_ACCESS, unaligned_read_write)

void __tsan_read_range(uintptr_t at, size_t bytes);
void __tsan_read_range(uintptr_t at, size_t bytes)
{
    hpc_witness_touch(at, bytes, false, CALLER());
}

void __tsan_write_range(uintptr_t at, size_t bytes);
void __tsan_write_range(uintptr_t at, size_t bytes)
{
    hpc_witness_touch(at, bytes, true, CALLER());
}

void __tsan_vptr_read(uintptr_t at);
void __tsan_vptr_read(uintptr_t at)
{
    hpc_witness_touch(at, sizeof at, false, CALLER());
}

void __tsan_vptr_update(void **at, void *value);
void __tsan_vptr_update(void **at, void *value)
{
    if (*at != value) hpc_witness_touch((uintptr_t)at, sizeof at, true, CALLER());
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
    (void)caller;
    hpc_witness_self.depth++;
}

/* The loop's own function ends: `return` was in the loop, or an exception. */
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
    if (hpc_witness_self.depth-- == 0 && hpc_witness_self.frame)
        hpc_witness_stop(&hpc_witness_self);
}

void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void);
void __tsan_ignore_thread_end(void) {}

/* Atomic operations are executed as such, and never conflict. */
#define ATOMIC_CHANGE(n, name)                                                                     \
    uint##n##_t __tsan_atomic##n##_##name(volatile uint##n##_t *p, uint##n##_t v, int order);      \
    uint##n##_t __tsan_atomic##n##_##name(volatile uint##n##_t *p, uint##n##_t v, int order)       \
    {                                                                                              \
        (void)order;                                                                               \
        return __atomic_##name(p, v, __ATOMIC_SEQ_CST);                                            \
    }
#define ATOMIC_COMPARE(n, name, weak)                                                              \
    int __tsan_atomic##n##_##name(volatile uint##n##_t *p, uint##n##_t *old, uint##n##_t v,        \
                                  int order, int failed);                                          \
    int __tsan_atomic##n##_##name(volatile uint##n##_t *p, uint##n##_t *old, uint##n##_t v,        \
                                  int order, int failed)                                           \
    {                                                                                              \
        (void)order, (void)failed;                                                                 \
        return __atomic_compare_exchange_n(p, old, v, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
    }
#define ATOMIC(n)                                                                                  \
    uint##n##_t __tsan_atomic##n##_load(const volatile uint##n##_t *p, int order);                 \
    uint##n##_t __tsan_atomic##n##_load(const volatile uint##n##_t *p, int order)                  \
    {                                                                                              \
        (void)order;                                                                               \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                               \
    }                                                                                              \
    void __tsan_atomic##n##_store(volatile uint##n##_t *p, uint##n##_t v, int order);              \
    void __tsan_atomic##n##_store(volatile uint##n##_t *p, uint##n##_t v, int order)               \
    {                                                                                              \
        (void)order;                                                                               \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                  \
    }                                                                                              \
    uint##n##_t __tsan_atomic##n##_exchange(volatile uint##n##_t *p, uint##n##_t v, int order);    \
    uint##n##_t __tsan_atomic##n##_exchange(volatile uint##n##_t *p, uint##n##_t v, int order)     \
    {                                                                                              \
        (void)order;                                                                               \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                        \
    }                                                                                              \
    uint##n##_t __tsan_atomic##n##_compare_exchange_val(volatile uint##n##_t *p, uint##n##_t old,  \
                                                        uint##n##_t v, int order, int failed);     \
    uint##n##_t __tsan_atomic##n##_compare_exchange_val(volatile uint##n##_t *p, uint##n##_t old,  \
                                                        uint##n##_t v, int order, int failed)      \
    {                                                                                              \
        (void)order, (void)failed;                                                                 \
        __atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
        return old;                                                                                \
    }                                                                                              \
    ATOMIC_COMPARE(n, compare_exchange_strong, false)                                              \
    ATOMIC_COMPARE(n, compare_exchange_weak, true)                                                 \
    ATOMIC_CHANGE(n, fetch_add)                                                                    \
    ATOMIC_CHANGE(n, fetch_sub)                                                                    \
    ATOMIC_CHANGE(n, fetch_and)                                                                    \
    ATOMIC_CHANGE(n, fetch_or)                                                                     \
    ATOMIC_CHANGE(n, fetch_xor)                                                                    \
    ATOMIC_CHANGE(n, fetch_nand)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* ---- the library's functions that write to memory; the linker turns calls to these (--wrap) - */

void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    hpc_witness_touch((uintptr_t)from, n, false, CALLER());
    hpc_witness_touch((uintptr_t)to, n, true, CALLER());
    return __real_memcpy(to, from, n);
}

void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n)
{
    hpc_witness_touch((uintptr_t)from, n, false, CALLER());
    hpc_witness_touch((uintptr_t)to, n, true, CALLER());
    return __real_memmove(to, from, n);
}

void *__real_memset(void *to, int byte, size_t n);
void *__wrap_memset(void *to, int byte, size_t n);
void *__wrap_memset(void *to, int byte, size_t n)
{
    hpc_witness_touch((uintptr_t)to, n, true, CALLER());
    return __real_memset(to, byte, n);
}

#define WEAK __attribute__((weak)) /* a program may have an allocator of its own */

/* ---- allocation: glibc's, and what it gives is new ------------------------------------------ */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

static void *given(void *p)
{
    if (p && hpc_witness_self.now) hpc_witness_forget((uintptr_t)p, malloc_usable_size(p));
    return p;
}

WEAK void *malloc(size_t size)
{
    return given(__libc_malloc(size));
}

WEAK void *calloc(size_t nmemb, size_t size)
{
    return given(__libc_calloc(nmemb, size));
}

/* Memory that stays in place keeps its records. */
WEAK void *realloc(void *ptr, size_t size)
{
    uintptr_t before = (uintptr_t)ptr;
    void *after = __libc_realloc(ptr, size);
    return (uintptr_t)after == before ? after : given(after);
}

WEAK void *memalign(size_t alignment, size_t size)
{
    return given(__libc_memalign(alignment, size));
}

WEAK void *aligned_alloc(size_t alignment, size_t size)
{
    return given(__libc_memalign(alignment, size));
}

WEAK int posix_memalign(void **memptr, size_t alignment, size_t size)
{
    void *p = given(__libc_memalign(alignment, size));
    if (!p) return ENOMEM;
    *memptr = p;
    return 0;
}

WEAK void free(void *ptr)
{
    __libc_free(ptr);
}
