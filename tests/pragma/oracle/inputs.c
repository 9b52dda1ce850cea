/*
 * inputs.c: runs a function with random inputs, one process per seed: numbers, buffers that may
 * overlap, memory that is never reused and has unmapped neighbours, and results. A run that leaves
 * its memory or has undefined behaviour ends there and does not count.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle.h"
#include "shadow.h"

enum { BUFFERS = 4000, BLOCKS = 1 << 16, GAP = 512, REFUSED = 97 };
static const size_t arena_bytes = (size_t)1 << 31;
typedef struct buffer {
    char *at;
    const char *kind;
    size_t element;
    long before, after;
    bool alone;
} buffer;

typedef struct records {
    void (*show)(void *);
    void *at;
    size_t element;
    long n;
} records;

static struct {
    char *arena;
    size_t used;
    char *block[BLOCKS];
    int64_t blocks_n;
    pthread_mutex_t lock;
    uint64_t random;
    int mode;
    bool big, is_new, in_global;
    long size[8];
    int64_t sizes_n;
    buffer buffer[BUFFERS];
    int64_t buffers_n;
    records records[BUFFERS];
    int64_t records_n;
    uintptr_t stack;
    FILE *results;
} in = {.lock = PTHREAD_MUTEX_INITIALIZER};

int oracle_on = -1;

/* ---- memory ---------------------------------------------------------------------------------- */

static void *take(size_t n, size_t align)
{
    pthread_mutex_lock(&in.lock);
    if (!in.arena)
        in.arena = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t at = (in.used + GAP + align) & ~(align - 1);
    if (n > arena_bytes / 8 || at + n > arena_bytes || in.blocks_n == BLOCKS) _exit(REFUSED);
    in.used = at + n;
    char *p = in.arena + at;
    memcpy(p - 8, &n, 8);
    in.block[in.blocks_n++] = p;
    pthread_mutex_unlock(&in.lock);
    return p;
}

void *malloc(size_t n)
{
    return take(n, 64);
}
void *aligned_alloc(size_t align, size_t n)
{
    return take(n, align < 64 ? 64 : align);
}
void *memalign(size_t align, size_t n)
{
    return take(n, align < 64 ? 64 : align);
}
void *calloc(size_t k, size_t n)
{
    return take(k * n, 64);
}
void free(void *p)
{
    (void)p;
}
int posix_memalign(void **p, size_t align, size_t n)
{
    *p = take(n, align < 64 ? 64 : align);
    return 0;
}
void *realloc(void *p, size_t n)
{
    size_t had = 0;
    void *q = take(n, 64);
    if (p) memcpy(&had, (char *)p - 8, 8);
    if (p) memcpy(q, p, had < n ? had : n);
    return q;
}

bool shadow_on_stack(uintptr_t at)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return at >= here && at <= in.stack;
}

void shadow_check(const void *at, size_t bytes)
{
    const char *p = at;
    if (p < in.arena || p >= in.arena + arena_bytes) return;
    int64_t lo = 0, hi = in.blocks_n;
    while (hi - lo > 1) {
        int64_t mid = (lo + hi) / 2;
        *(in.block[mid] <= p ? &lo : &hi) = mid;
    }
    size_t n;
    memcpy(&n, in.block[lo] - 8, 8);
    if (p < in.block[lo] || p + bytes > in.block[lo] + n) _exit(REFUSED);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t next(uint64_t below)
{
    in.random += 0x9e3779b97f4a7c15u;
    uint64_t z = in.random;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

long oracle_int(int is_size)
{
    long x = (long)next(is_size ? (in.big ? 24 : 8) : 6);
    if (is_size) {
        x = next(12) ? x + 1 : 0;
        in.size[in.sizes_n++ % 8] = x;
        return x;
    }
    if (next(4) == 0) x -= 4;
    if (next(3) == 0 && in.sizes_n) x = in.size[next((uint64_t)(in.sizes_n < 8 ? in.sizes_n : 8))];
    return x;
}

double oracle_real(void)
{
    return 0.25 * ((double)next(33) - 16.0);
}

/* Integers are often indices: some repeat, some do not, some ascend. */
static long whole(long i, int way, const long *order)
{
    switch (way) {
    case 0: return (long)next(8);
    case 1:
    case 2: return i >= 0 && i < 32 ? order[i] : i;
    case 3: return i < 0 ? 0 : i / 2 + (long)next(2) * (i % 2);
    case 4: return 3;
    case 5: return i;
    case 6: return (long)next(7) - 3;
    default: return (long)next(24);
    }
}

static void put(const char *kind, char *at, double real, long x)
{
    switch (*kind) {
    case 'd': memcpy(at, &real, 8); break;
    case 'f': memcpy(at, &(float){(float)real}, 4); break;
    case 'e': memcpy(at, &(long double){real}, sizeof(long double)); break;
    case 'z': memcpy(at, (double[]){real, 1.0 - real}, 16); break;
    case 'c': memcpy(at, (float[]){(float)real, 1.0f}, 8); break;
    case 'l': memcpy(at, &(int64_t){x}, 8); break;
    case 'i': memcpy(at, &(int32_t){(int32_t)x}, 4); break;
    case 's': memcpy(at, &(int16_t){(int16_t)x}, 2); break;
    case 'B': *at = x & 1; break;
    default: *at = x < 8 ? (char)x : "ab 7-x. "[x & 7]; break;
    }
}

void oracle_fill(const char *kind, void *at, size_t element, long n)
{
    long order[32];
    int way = (int)next(8);
    for (long i = 0; i < 32; i++) {
        long k = (long)next((uint64_t)i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    if (way == 2) /* of a few only, so that small loops see all of it */
        for (long i = 0; i < 32; i++) order[i] = i < 6 ? 5 - i : i;
    for (long i = 0; i < n; i++) {
        double real = oracle_real();
        put(kind, (char *)at + (size_t)i * element, real, whole(i, way, order));
    }
}

/* ---- buffers --------------------------------------------------------------------------------- */

static bool same_kind(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || *a == 'b' || *b == 'b'; /* bytes may be of anything */
}

static void *an_alias(const char *kind)
{
    int64_t n = 0;
    buffer *with[BUFFERS];
    for (int64_t i = 0; i < in.buffers_n; i++)
        if (same_kind(in.buffer[i].kind, kind) && !in.buffer[i].alone) with[n++] = &in.buffer[i];
    if (!n || next(3) == 0) return NULL;
    buffer *b = with[next((uint64_t)n)];
    long by = (long)next(2) * ((long)next(5) - 2);
    if (next(4) == 0 && in.sizes_n) by = in.size[0] * ((long)next(3) - 1);
    if (by < -b->before || by >= b->after) by = 0;
    if (!b->before) in.in_global = true; /* a global array: its ends are not watched */
    return b->at + by * (long)b->element;
}

static void keep(const char *kind, void *at, size_t element, long before, long after, bool alone)
{
    if (in.buffers_n == BUFFERS) _exit(REFUSED);
    in.buffer[in.buffers_n++] = (buffer){at, kind, element, before, after, alone};
}

void *oracle_buffer(const char *kind, size_t element, long before, long after, int alone)
{
    void *alias = in.mode == 1 && !alone ? an_alias(kind) : NULL;
    in.is_new = alias == NULL;
    if (alias) return alias;
    char *p = (char *)take((size_t)(before + after) * element, 64) + (size_t)before * element;
    keep(kind, p, element, before, after, alone);
    if (strchr("dfezclisBb", *kind)) {
        for (long i = -before; i < 0; i++) put(kind, p + i * (long)element, oracle_real(), i);
        oracle_fill(kind, p, element, after);
    }
    return p;
}

int oracle_is_new(void)
{
    return in.is_new;
}

void oracle_adopt(const char *kind, void *at, size_t element, long n)
{
    keep(kind, at, element, 0, n, false);
    oracle_fill(kind, at, element, n);
}

/* ---- results --------------------------------------------------------------------------------- */

void oracle_shown(double x)
{
    if (in.results) fwrite(&x, sizeof x, 1, in.results);
}

static void show_element(const buffer *b, const char *p)
{
    long double e;
    double d[2];
    float f[2];
    int64_t l;
    int32_t i;
    int16_t h;
    switch (*b->kind) {
    case 'd': memcpy(d, p, 8), oracle_shown(d[0]); break;
    case 'z': memcpy(d, p, 16), oracle_shown(d[0]), oracle_shown(d[1]); break;
    case 'f': memcpy(f, p, 4), oracle_shown((double)f[0]); break;
    case 'c': memcpy(f, p, 8), oracle_shown((double)f[0]), oracle_shown((double)f[1]); break;
    case 'e': memcpy(&e, p, sizeof e), oracle_shown((double)e); break;
    case 'l': memcpy(&l, p, 8), oracle_shown((double)l); break;
    case 'i': memcpy(&i, p, 4), oracle_shown((double)i); break;
    case 's': memcpy(&h, p, 2), oracle_shown((double)h); break;
    default: oracle_shown((double)*p); break;
    }
}

void oracle_records(void (*show)(void *), void *at, size_t element, long n)
{
    if (in.records_n == BUFFERS) _exit(REFUSED);
    in.records[in.records_n++] = (records){show, at, element, n};
}

static void show_buffers(void)
{
    for (int64_t i = 0; i < in.records_n; i++)
        for (long k = 0; k < in.records[i].n; k++)
            in.records[i].show((char *)in.records[i].at + (size_t)k * in.records[i].element);
    for (int64_t i = 0; i < in.buffers_n; i++) {
        const buffer *b = &in.buffer[i];
        if (!strchr("dfezclisBb", *b->kind)) continue; /* pointers; records are shown by others */
        for (long k = -b->before; k < b->after; k++) show_element(b, b->at + k * (long)b->element);
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void run(int function, int loop, int mode, uint64_t seed, int out)
{
    alarm(in.results ? 20 : 1);
    in.stack = (uintptr_t)__builtin_frame_address(0);
    in.random = seed * 1000003 + 17;
    in.mode = mode;
    in.big = seed % 4 == 3;
    oracle_globals();
    oracle_on = loop;
    shadow_start(in.results ? -1 : loop);
    oracle_call(function);
    if (in.results) {
        oracle_show_globals();
        show_buffers();
        fflush(in.results);
    } else {
        if (in.in_global) dprintf(out, "global\n");
        shadow_print(out);
    }
    _exit(0);
}

/* "watch FUNCTION SEED FUNCTION SEED ...": calls them one after the other in this process, whose
 * accesses are somebody else's to watch. */
static int watch(int n, char **words)
{
    in.stack = (uintptr_t)__builtin_frame_address(0);
    for (int i = 0; i + 1 < n; i += 2) {
        const uint64_t seed = strtoull(words[i + 1], NULL, 10);
        in.sizes_n = in.buffers_n = in.records_n = 0;
        in.random = seed * 1000003 + 17;
        in.big = seed % 4 == 3;
        oracle_globals();
        oracle_call(atoi(words[i]));
    }
    return 0;
}

/* FUNCTION LOOP MODE SEED...: mode 1 lets pointers overlap. With a folder in $ORACLE_OUT the
 * results go into a file there for each seed, else what was found to standard output. */
int main(int argc, char **argv)
{
    const char *folder = getenv("ORACLE_OUT");
    if (argc > 1 && strcmp(argv[1], "watch") == 0) return watch(argc - 2, argv + 2);
    if (argc < 5) return 2;
    int out = dup(1);
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "r", stdin)) return 2;
    for (int i = 4, late = 0; i < argc && late < 4; i++) {
        dprintf(out, "seed %s\n", argv[i]);
        pid_t child = fork();
        if (child == 0) {
            char path[4096];
            if (folder) {
                snprintf(path, sizeof path, "%s/%s.%s", folder, argv[1], argv[i]);
                in.results = fopen(path, "wb");
            }
            run(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), strtoull(argv[i], NULL, 10), out);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status) dprintf(out, "left %d\n", status);
        late += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    }
    return 0;
}
