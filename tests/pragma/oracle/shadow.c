/*
 * shadow.c: shadow memory: the last read and write of each byte, by iteration of one loop. Loops
 * are compiled with -fsanitize=thread and linked with this instead of the sanitizer's library.
 * Prints dependences with code addresses. Not thread-safe.
 */
#include "shadow.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"

enum { CELLS = 1 << 18, NAMES = 128, FOUND = 400, VALUES = 4096, READERS = 4 };
typedef struct place {
    uintptr_t pc, call; /* in a callee: also where the loop calls */
} place;
typedef struct cell {
    uintptr_t at;
    int64_t loop;                   /* the activation that the rest is of */
    int64_t written, read[READERS]; /* of each place, the iteration that read here first */
    place written_at, read_at[READERS];
} cell;
typedef struct named {
    uintptr_t at;
    size_t bytes;
    int kind;
} named;
typedef struct found {
    char kind;
    place from, to;
    int64_t first, second;
} found;

static struct {
    int loop; /* the one that is looked at */
    bool on, holds, atomics;
    int64_t activation, iteration, most, depth, names_n, found_n, values_n;
    uintptr_t call;
    cell cell[CELLS];
    named name[NAMES];
    found found[FOUND];
    long value[VALUES];
} s;

void shadow_start(int loop)
{
    s.loop = loop;
    s.holds = true;
    s.most = 0;
}

void shadow_print(int out)
{
    dprintf(out, "end %lld %d %d\n", (long long)s.most, s.holds, s.atomics);
    for (int64_t i = 0; i < s.found_n; i++)
        dprintf(out, "found %c %zx %zx %zx %zx %lld %lld\n", s.found[i].kind, s.found[i].from.pc,
                s.found[i].to.pc, s.found[i].from.call, s.found[i].to.call,
                (long long)s.found[i].first, (long long)s.found[i].second);
}

/* ---- marks ----------------------------------------------------------------------------------- */

void oracle_begin(int loop)
{
    if (loop != s.loop) return;
    s.activation++;
    s.iteration = -1;
    s.depth = 0;
    s.names_n = s.values_n = 0;
    oracle_name(loop, &errno, sizeof errno, ORACLE_FREE); /* each thread has its own */
    s.on = true;
}

void oracle_iteration(int loop)
{
    if (loop != s.loop) return;
    s.iteration++;
    if (s.iteration + 1 > s.most) s.most = s.iteration + 1;
}

void oracle_end(int loop)
{
    if (loop == s.loop) s.on = false;
}

void oracle_name(int loop, const void *at, size_t bytes, int kind)
{
    if (loop != s.loop || s.names_n == NAMES) return;
    s.name[s.names_n++] = (named){(uintptr_t)at, bytes, kind};
}

void oracle_holds(int loop, int yes)
{
    if (loop == s.loop && !yes) s.holds = false;
}

void oracle_value(int loop, long value)
{
    if (loop != s.loop) return;
    for (int64_t i = 0; i < s.values_n; i++)
        if (s.value[i] == value) s.holds = false;
    if (s.values_n < VALUES) s.value[s.values_n++] = value;
}

/* ---- accesses -------------------------------------------------------------------------------- */

static cell *cell_of(uintptr_t at)
{
    size_t i = (at * 0x9e3779b97f4a7c15u) >> 46;
    while (s.cell[i].loop == s.activation && s.cell[i].at != at) i = (i + 1) % CELLS;
    if (s.cell[i].loop != s.activation)
        s.cell[i] = (cell){.at = at, .loop = s.activation, .written = -1, .read = {-1, -1, -1, -1}};
    return &s.cell[i];
}

/* Later names take precedence: a clause follows the declaration of its variable. */
static int kind_of(uintptr_t at)
{
    for (int64_t i = s.names_n - 1; i >= 0; i--)
        if (at - s.name[i].at < s.name[i].bytes) return s.name[i].kind;
    return shadow_on_stack(at) ? ORACLE_FREE : ORACLE_SHARED;
}

static void note(char kind, place from, place to, int64_t first)
{
    for (int64_t i = 0; i < s.found_n; i++)
        if (s.found[i].kind == kind && memcmp(&s.found[i].from, &from, sizeof from) == 0 &&
            memcmp(&s.found[i].to, &to, sizeof to) == 0)
            return;
    if (s.found_n < FOUND) s.found[s.found_n++] = (found){kind, from, to, first, s.iteration};
}

static void one_byte(uintptr_t at, bool writes, place here)
{
    int kind = kind_of(at);
    if (kind == ORACLE_FREE) return;
    cell *c = cell_of(at);
    int64_t now = s.iteration;
    bool shared = kind == ORACLE_SHARED, other = c->written >= 0 && c->written != now;
    if (!writes && other) note(shared ? 'r' : 'p', c->written_at, here, c->written);
    if (!writes && c->written < 0 && kind == ORACLE_PRIVATE) note('u', here, here, now);
    if (writes && shared) {
        if (other) note('w', c->written_at, here, c->written);
        for (int k = 0; k < READERS; k++)
            if (c->read[k] >= 0 && c->read[k] != now) note('a', c->read_at[k], here, c->read[k]);
    }
    if (writes) {
        c->written = now;
        c->written_at = here;
        return;
    }
    int k = 0;
    while (k < READERS - 1 && c->read[k] >= 0 && memcmp(&c->read_at[k], &here, sizeof here) != 0)
        k++;
    if (c->read[k] >= 0 && memcmp(&c->read_at[k], &here, sizeof here) == 0) return;
    c->read[k] = now;
    c->read_at[k] = here;
}

void shadow_access(const void *at, size_t bytes, bool writes, uintptr_t pc)
{
    if (!s.on || s.iteration < 0) return;
    shadow_check(at, bytes);
    place here = {pc, s.depth > 0 ? s.call : pc};
    for (size_t i = 0; i < bytes; i++) one_byte((uintptr_t)at + i, writes, here);
}

/* ---- what the compiler calls ----------------------------------------------------------------- */

#define PC ((uintptr_t)__builtin_return_address(0) - 1)
#define ACCESSES(n)                                                                                \
    void __tsan_read##n(void *p)                                                                   \
    {                                                                                              \
        shadow_access(p, n, false, PC);                                                            \
    }                                                                                              \
    void __tsan_write##n(void *p)                                                                  \
    {                                                                                              \
        shadow_access(p, n, true, PC);                                                             \
    }                                                                                              \
    void __tsan_unaligned_read##n(void *p)                                                         \
    {                                                                                              \
        shadow_access(p, n, false, PC);                                                            \
    }                                                                                              \
    void __tsan_unaligned_write##n(void *p)                                                        \
    {                                                                                              \
        shadow_access(p, n, true, PC);                                                             \
    }                                                                                              \
    void __tsan_volatile_read##n(void *p)                                                          \
    {                                                                                              \
        shadow_access(p, n, false, PC);                                                            \
    }                                                                                              \
    void __tsan_volatile_write##n(void *p)                                                         \
    {                                                                                              \
        shadow_access(p, n, true, PC);                                                             \
    }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
void __tsan_read_range(void *p, size_t n)
{
    shadow_access(p, n, false, PC);
}
void __tsan_write_range(void *p, size_t n)
{
    shadow_access(p, n, true, PC);
}
void __tsan_vptr_read(void **p)
{
    shadow_access(p, sizeof *p, false, PC);
}
void __tsan_vptr_update(void **p, void *v)
{
    if (*p != v) shadow_access(p, sizeof *p, true, PC);
}
void __tsan_init(void) {}
void __tsan_func_entry(void *pc)
{
    if (s.depth++ == 0) s.call = (uintptr_t)pc - 1;
}
void __tsan_func_exit(void)
{
    if (s.depth > 0) s.depth--;
}

/* Atomic operations are done and not followed: their loops are judged by running them. */
#define ATOMIC_OP(n, t, op)                                                                        \
    t __tsan_atomic##n##_##op(volatile t *p, t v, int m)                                           \
    {                                                                                              \
        (void)m;                                                                                   \
        s.atomics |= s.on;                                                                         \
        return __atomic_##op(p, v, __ATOMIC_SEQ_CST);                                              \
    }
#define ATOMICS(n, t)                                                                              \
    ATOMIC_OP(n, t, fetch_add)                                                                     \
    ATOMIC_OP(n, t, fetch_sub)                                                                     \
    ATOMIC_OP(n, t, fetch_and)                                                                     \
    ATOMIC_OP(n, t, fetch_or)                                                                      \
    ATOMIC_OP(n, t, fetch_xor)                                                                     \
    t __tsan_atomic##n##_exchange(volatile t *p, t v, int m)                                       \
    {                                                                                              \
        (void)m;                                                                                   \
        s.atomics |= s.on;                                                                         \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                        \
    }                                                                                              \
    t __tsan_atomic##n##_load(const volatile t *p, int m)                                          \
    {                                                                                              \
        (void)m;                                                                                   \
        s.atomics |= s.on;                                                                         \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                               \
    }                                                                                              \
    void __tsan_atomic##n##_store(volatile t *p, t v, int m)                                       \
    {                                                                                              \
        (void)m;                                                                                   \
        s.atomics |= s.on;                                                                         \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                  \
    }                                                                                              \
    int __tsan_atomic##n##_compare_exchange_strong(volatile t *p, t *e, t v, int m, int f)         \
    {                                                                                              \
        (void)m, (void)f;                                                                          \
        s.atomics |= s.on;                                                                         \
        return __atomic_compare_exchange_n(p, e, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
    }                                                                                              \
    int __tsan_atomic##n##_compare_exchange_weak(volatile t *p, t *e, t v, int m, int f)           \
    {                                                                                              \
        return __tsan_atomic##n##_compare_exchange_strong(p, e, v, m, f);                          \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int m)
{
    (void)m;
}
void __tsan_atomic_signal_fence(int m)
{
    (void)m;
}

/* ---- library functions that read and write through pointers ---------------------------------- */

double __real_frexp(double x, int *e);
double __wrap_frexp(double x, int *e)
{
    shadow_access(e, sizeof *e, true, PC);
    return __real_frexp(x, e);
}
double __real_modf(double x, double *w);
double __wrap_modf(double x, double *w)
{
    shadow_access(w, sizeof *w, true, PC);
    return __real_modf(x, w);
}
void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    shadow_access(from, n, false, PC);
    shadow_access(to, n, true, PC);
    return __real_memcpy(to, from, n);
}
void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n)
{
    shadow_access(from, n, false, PC);
    shadow_access(to, n, true, PC);
    return __real_memmove(to, from, n);
}
void *__real_memset(void *to, int c, size_t n);
void *__wrap_memset(void *to, int c, size_t n)
{
    shadow_access(to, n, true, PC);
    return __real_memset(to, c, n);
}
