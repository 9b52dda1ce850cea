/*
 * launch.c: see launch.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/launch.h"
#include "tests/support/sanitized.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

const char *const *hpc_test_isas(void)
{
    static const char *best[2];
    best[0] = hpc_device_isas()[0];
    return HPC_TEST_TSAN ? best : hpc_device_isas();
}

bool hpc_test_fixes(const char *isa)
{
    return strcmp(isa, "avx512vnni") == 0;
}

void hpc_test_fix(double *x, int64_t lines, int64_t n, int64_t ld, bool columns)
{
    enum { BLOCK = 32, BITS = 13 };
    int64_t step = columns ? ld : 1;

    for (int64_t l = 0; l < lines; l++)
        for (int64_t at = 0; at < n; at += BLOCK) {
            double *first = columns ? x + at * ld + l : x + l * ld + at;
            double top = 0x1p-114; /* of smaller ones, what is exact gets no smaller */
            int64_t end = n - at < BLOCK ? n - at : BLOCK;
            int up;
            for (int64_t i = 0; i < end; i++) top = fmax(top, fabs(first[i * step]));
            frexp(top, &up);
            for (int64_t i = 0; i < end; i++)
                first[i * step] = ldexp(nearbyint(ldexp(first[i * step], BITS - up)), up - BITS);
        }
}

void *hpc_test_heap_alloc(hpc_test_heap *h, size_t bytes)
{
    assert_true(h->n < (int)(sizeof h->block / sizeof h->block[0]));
    void *p = hpc_alloc_aligned(bytes > 0 ? bytes : 1, 1, HPC_ALIGN);
    assert_non_null(p);
    h->block[h->n++] = p;
    return p;
}

double *hpc_test_heap_doubles(hpc_test_heap *h, int64_t n)
{
    return hpc_test_heap_alloc(h, (size_t)n * sizeof(double));
}

void hpc_test_heap_free(hpc_test_heap *h)
{
    for (int i = 0; i < h->n; i++) hpc_free(h->block[i]);
    h->n = 0;
}

hpc_tensor hpc_test_tensor(hpc_test_heap *h, hpc_dtype d, int rank, int64_t e0, int64_t e1,
                           int64_t e2, int64_t e3)
{
    hpc_tensor t = {.rank = (int8_t)rank, .ragged = -1, .dtype = (uint8_t)d};
    const int64_t extent[HPC_RANK_MAX] = {e0, e1, e2, e3};

    memcpy(t.extent, extent, sizeof extent);
    t.data = hpc_test_heap_alloc(h, hpc_tensor_bytes(&t));
    memset(t.data, 0xff, hpc_tensor_bytes(&t));
    return t;
}

hpc_tensor hpc_test_absent(void)
{
    return (hpc_tensor){.rank = -1, .ragged = -1};
}

hpc_tensor hpc_test_twin(hpc_test_heap *h, const hpc_tensor *t)
{
    hpc_tensor twin = *t;

    if (!t->data) return twin;
    twin.data = hpc_test_heap_alloc(h, hpc_tensor_bytes(t));
    memcpy(twin.data, t->data, hpc_tensor_bytes(t));
    return twin;
}

void hpc_test_tensor_set(const hpc_tensor *t, const double *x)
{
    int64_t n = hpc_tensor_n(t);
    if (t->dtype == HPC_F64) memcpy(t->data, x, (size_t)n * sizeof *x);
    if (t->dtype == HPC_F64) return;
    float *f = hpc_alloc((size_t)n + 1, sizeof *f);

    for (int64_t i = 0; i < n; i++) f[i] = (float)x[i];
    hpc_from_f32(t->data, (hpc_dtype)t->dtype, f, n);
    hpc_free(f);
}

void hpc_test_tensor_draw(const hpc_tensor *t, uint32_t seed, double scale)
{
    int64_t n = hpc_tensor_n(t);
    float *f = hpc_alloc((size_t)n + 1, sizeof *f);

    hpc_random_fill_normal(f, n, 7, seed, 0, 0);
    for (int64_t i = 0; i < n; i++) f[i] *= (float)scale;
    hpc_from_f32(t->data, (hpc_dtype)t->dtype, f, n);
    hpc_free(f);
}

void hpc_test_tensor_get(double *x, const hpc_tensor *t)
{
    int64_t n = hpc_tensor_n(t);
    if (t->dtype == HPC_F64) memcpy(x, t->data, (size_t)n * sizeof *x);
    if (t->dtype == HPC_F64) return;
    for (int64_t i = 0; i < n && t->dtype == HPC_I32; i++) x[i] = ((const int32_t *)t->data)[i];
    if (t->dtype == HPC_I32) return;
    float *f = hpc_alloc((size_t)n + 1, sizeof *f);

    hpc_to_f32(f, t->data, (hpc_dtype)t->dtype, n);
    for (int64_t i = 0; i < n; i++) x[i] = f[i];
    hpc_free(f);
}

double *hpc_test_tensor_doubles(hpc_test_heap *h, const hpc_tensor *t)
{
    double *x = hpc_test_heap_doubles(h, hpc_tensor_n(t));

    hpc_test_tensor_get(x, t);
    return x;
}

void hpc_test_near(const char *what, const double *x, const double *wanted, const double *scale,
                   double tolerance, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double most = tolerance * (scale ? scale[i] : 1);
        if (fabs(x[i] - wanted[i]) <= most || x[i] == wanted[i]) continue;
        print_error("%s: element %lld is %.9g, wanted %.9g within %.3g\n", what, (long long)i, x[i],
                    wanted[i], most);
        fail();
    }
}

/* ---- a launch ------------------------------------------------------------------------------- */

typedef struct launch {
    hpc_plan plan;
    hpc_barrier barrier;
    void *workspace, *own, *coop[2];
    size_t own_bytes; /* of each worker */
    const void *args;
    void (*met)(void *user); /* if there is one: when all workers but the first wait */
    void *user;
} launch;

/* Worker 0 waits until the others wait. */
static void wait_for_others(launch *l, int workers)
{
    int64_t until = hpc_clock_ns() + 20 * (int64_t)1000000000;

    while (__atomic_load_n(&l->barrier.arrived, __ATOMIC_ACQUIRE) < workers - 1)
        if (hpc_clock_ns() > until) fail_msg("a kernel that says it meets does not");
    l->met(l->user);
}

static int work(int worker, int workers, void *user)
{
    launch *l = user;
    hpc_launch at = {.worker = worker,
                     .workers = workers,
                     .barrier = &l->barrier,
                     .workspace = l->workspace,
                     .cpu = {.worker = (char *)l->own + (size_t)worker * l->own_bytes,
                             .coop = {l->coop[0], l->coop[1]}}};

    if (l->met && worker == 0) wait_for_others(l, workers);
    return l->plan.run(&at, l->args);
}

/* Devices are kept until the program ends: to start threads takes longer than most kernels. */
static struct {
    const char *isa;
    int workers;
    hpc_device *device;
} kept[64];
static int n_kept;

/* Kernel memory is reused: fresh pages for each launch would dominate the time. A kernel's part is
 * at the end of a block; the rest must not be touched. */
typedef enum place { WORKSPACE, OWN, COOP_0, COOP_1, PLACES } place;
static struct {
    char *at;
    size_t bytes;
} block[PLACES];

static void free_block(place p)
{
    if (block[p].at) ASAN_UNPOISON_MEMORY_REGION(block[p].at, block[p].bytes);
    hpc_free(block[p].at);
    block[p].at = NULL;
    block[p].bytes = 0;
}

/* So many bytes, each 0xff. */
static int take(void **at, place p, size_t bytes)
{
    size_t room = (bytes + HPC_ALIGN) / HPC_ALIGN * HPC_ALIGN; /* never 0 */
    int rc;
    if (room > block[p].bytes) {
        free_block(p);
        block[p].at = hpc_alloc_aligned(room, 1, HPC_ALIGN);
        if (!block[p].at) TRY(HPC_E_NOMEM);
        block[p].bytes = room;
    }
    char *from = block[p].at + block[p].bytes - room;
    ASAN_POISON_MEMORY_REGION(block[p].at, block[p].bytes);
    ASAN_UNPOISON_MEMORY_REGION(from, bytes);
    memset(from, 0xff, bytes);
    *at = from;
    rc = HPC_OK;
out:
    return rc;
}

static void close_kept(void)
{
    while (n_kept > 0) hpc_device_close(kept[--n_kept].device);
    for (int p = 0; p < PLACES; p++) free_block((place)p);
}

static bool same_isa(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int device_of(hpc_device **d, const char *isa, int workers)
{
    static bool registered;
    int rc, k = 0;
    while (k < n_kept && !(kept[k].workers == workers && same_isa(kept[k].isa, isa))) k++;
    if (k == n_kept) {
        hpc_device_options options = {.backend = "cpu", .isa = isa, .threads = workers};
        assert_true(n_kept < (int)(sizeof kept / sizeof *kept));
        TRY(hpc_device_open(&kept[k].device, &options));
        kept[k].isa = isa;
        kept[k].workers = workers;
        n_kept++;
        if (!registered) atexit(close_kept);
        registered = true;
    }
    *d = kept[k].device;
    rc = HPC_OK;
out:
    return rc;
}

/* What select says, and what it needs. */
static int prepare(launch *l, hpc_device **d, hpc_test_select *select, const char *isa, int workers)
{
    int rc;

    TRY(device_of(d, isa, workers));
    TRY(select(&l->plan, hpc_device_kernels(*d, false), workers, l->args));
    TRY(take(&l->workspace, WORKSPACE, l->plan.workspace));
    l->own_bytes = (l->plan.cpu.worker_bytes + HPC_ALIGN - 1) / HPC_ALIGN * HPC_ALIGN;
    TRY(take(&l->own, OWN, (size_t)workers * l->own_bytes));
    TRY(take(&l->coop[0], COOP_0, l->plan.cpu.coop_bytes));
    TRY(take(&l->coop[1], COOP_1, l->plan.cpu.coop_bytes));
    hpc_barrier_init(&l->barrier, workers);
    rc = HPC_OK;
out:
    return rc;
}

int hpc_test_launch(hpc_test_select *select, const char *isa, int workers, const void *args)
{
    launch l = {.args = args};
    hpc_device *d;
    int rc = prepare(&l, &d, select, isa, workers);

    return rc < 0 ? rc : hpc_pool_run(hpc_device_pool(d), work, &l);
}

typedef struct hidden {
    const hpc_tensor *operand[8];
    void *content[8];
    int n;
} hidden;

static void show(void *user)
{
    const hidden *x = user;

    for (int i = 0; i < x->n; i++)
        memcpy(x->operand[i]->data, x->content[i], hpc_tensor_bytes(x->operand[i]));
}

bool hpc_test_launch_late(hpc_test_select *select, const char *isa, const void *args,
                          const hpc_tensor *const *operand, int n)
{
    hidden late = {.n = 0};
    launch l = {.args = args, .met = show, .user = &late};
    hpc_device *d;

    assert_int_equal(prepare(&l, &d, select, isa, 2), HPC_OK);
    assert_true(n <= 8);
    for (int i = 0; i < n; i++) {
        if (!(l.plan.cpu.after_barrier >> i & 1) || !operand[i]->data) continue;
        size_t bytes = hpc_tensor_bytes(operand[i]);
        late.operand[late.n] = operand[i];
        late.content[late.n] = hpc_alloc(bytes + 1, 1);
        assert_non_null(late.content[late.n]);
        memcpy(late.content[late.n++], operand[i]->data, bytes);
        memset(operand[i]->data, 0xff, bytes);
    }
    if (late.n == 0) l.met = NULL;
    assert_int_equal(hpc_pool_run(hpc_device_pool(d), work, &l), HPC_OK);
    for (int i = 0; i < late.n; i++) hpc_free(late.content[i]);
    return late.n > 0;
}
