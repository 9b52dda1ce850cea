/*
 * probe.c: runs the probes on the threads of a device and reads the clock.
 *
 * Every figure is the best of a few short runs: it is a limit, and other load on the machine can
 * only hide it.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device/probe.h"
#include "runtime/device/cpu/probe.h"

enum { RUNS = 3, CALLS = 1 << 20, HANDOFFS = 500, BURSTS = 100, SPINS = 4000 };
static const int64_t run_ns = 4000000;

struct hpc_probe {
    const hpc_cpu_probe *cpu;
    hpc_pool *pool, *own; /* own: when the device's kernels do not run on the host */
    void *memory;
    uint8_t *data; /* in memory, aligned */
    size_t bytes;
};

/* Reads one line of the kernel's facts on a cache of the first CPU; "" if it is missing. */
static void read_fact(char *out, size_t size, int index, const char *name)
{
    char path[96];
    hpc_buf text = {0};
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    out[0] = '\0';
    if (hpc_file_exists(path) && hpc_file_read(&text, path, 1 << 16) >= 0 && text.data)
        snprintf(out, size, "%s", text.data);
    hpc_error_clear();
    hpc_buf_release(&text);
}

/* CPUs in a mask of hexadecimal digits and commas. */
static long count_cpus(const char *mask)
{
    long n = 0;
    for (; *mask; mask++) {
        const char digit[2] = {*mask, '\0'};
        n += __builtin_popcountl(strtoul(digit, NULL, 16));
    }
    return n;
}

/* Not from sysconf, which on some CPUs takes all sockets' caches for each core's. */
size_t hpc_probe_cache_bytes(void)
{
    const size_t guess = (size_t)32 << 20;
    char size[64], mask[4096];
    for (int index = 4; index >= 2; index--) {
        read_fact(size, sizeof size, index, "size"); /* "32768K" */
        read_fact(mask, sizeof mask, index, "shared_cpu_map");
        size_t bytes = strtoul(size, NULL, 10) << 10;
        long sharing = count_cpus(mask), cpus = sysconf(_SC_NPROCESSORS_ONLN);
        if (bytes == 0) continue;
        if (sharing > 0 && cpus > sharing) bytes *= (size_t)((cpus + sharing - 1) / sharing);
        return bytes > guess ? bytes : guess;
    }
    return guess;
}

/* Eight times the cache, so that little of it is still there when reading begins again; at most a
 * gibibyte and an eighth of the memory, and what is read in the time at ten gigabytes a second. */
static size_t data_bytes(double seconds)
{
    size_t bytes = 8 * hpc_probe_cache_bytes(), most = (size_t)1 << 30;
    if (seconds * 10e9 < (double)most) most = ((size_t)1 << 20) + (size_t)(seconds * 10e9);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0 && (size_t)pages / 8 * (size_t)page < most)
        most = (size_t)pages / 8 * (size_t)page;
    if (bytes > most) bytes = most;
    return (bytes + HPC_PROBE_BLOCK - 1) / HPC_PROBE_BLOCK * HPC_PROBE_BLOCK;
}

/* Each worker first touches what it will read, so that it lies near. */
static int touch(int worker, int workers, void *user)
{
    hpc_probe *p = user;
    int64_t lo, hi;
    hpc_share(&lo, &hi, (int64_t)p->bytes, HPC_PROBE_BLOCK, worker, workers);
    memset(p->data + lo, 1, (size_t)(hi - lo));
    return HPC_OK;
}

int hpc_probe_open(hpc_probe **out, hpc_device *d, double seconds)
{
    int rc = HPC_E_NOMEM;
    hpc_device_info about = hpc_device_about(d);
    *out = NULL;
    hpc_probe *p = hpc_alloc(1, sizeof *p);
    if (!p) goto out;
    TRY(hpc_cpu_probe_find(&p->cpu, about.cpu ? about.isa : NULL)); /* NULL: a GPU's */
    p->pool = hpc_device_pool(d);
    if (!p->pool) TRY(hpc_pool_create(&p->own, about.threads));
    if (!p->pool) p->pool = p->own;
    p->bytes = data_bytes(seconds);
    p->memory = hpc_alloc(p->bytes + HPC_ALIGN, 1); /* large: no page of it is touched yet */
    if (!p->memory) TRY(HPC_E_NOMEM);
    p->data = (uint8_t *)p->memory + HPC_ALIGN - (uintptr_t)p->memory % HPC_ALIGN;
    TRY(hpc_pool_run(p->pool, touch, p));
    *out = p;
    p = NULL;
out:
    hpc_probe_close(p);
    return rc;
}

void hpc_probe_close(hpc_probe *p)
{
    if (!p) return;
    hpc_pool_free(p->own);
    hpc_free(p->memory);
    hpc_free(p);
}

/* ---- arithmetic ------------------------------------------------------------------------ */

/* All begin together and stop by the clock; the rates of the workers add up. */
typedef struct arithmetic {
    const hpc_cpu_registers *loop;
    hpc_barrier begin;
    double rate; /* of all workers, by atomic built-ins on its bits */
} arithmetic;

static void add_rate(double *sum, double rate)
{
    double seen, next;
    __atomic_load(sum, &seen, __ATOMIC_RELAXED);
    do next = seen + rate;
    while (
        !__atomic_compare_exchange(sum, &seen, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static int run_arithmetic(int worker, int workers, void *user)
{
    arithmetic *a = user;
    _Alignas(HPC_ALIGN) float state[HPC_PROBE_STATE / sizeof(float)];
    const int64_t step = 20000;
    int64_t rounds = 0, start, spent;
    (void)worker, (void)workers;
    for (size_t k = 0; k < sizeof state / sizeof *state; k++) state[k] = 0.5f;
    hpc_barrier_wait(&a->begin);
    start = hpc_clock_ns();
    do {
        a->loop->run(state, step);
        rounds += step;
        spent = hpc_clock_ns() - start;
    } while (spent < run_ns);
    add_rate(&a->rate, a->loop->operations * (double)rounds / (double)spent * 1e9);
    return HPC_OK;
}

static int measure_arithmetic(double *out, hpc_probe *p, const hpc_cpu_registers *loop)
{
    *out = 0;
    for (int k = 0; loop->run && k < RUNS; k++) {
        arithmetic a = {.loop = loop};
        hpc_barrier_init(&a.begin, hpc_pool_n(p->pool));
        int rc = hpc_pool_run(p->pool, run_arithmetic, &a);
        if (rc < 0) return rc;
        if (a.rate > *out) *out = a.rate;
    }
    return HPC_OK;
}

/* ---- reading ---------------------------------------------------------------------------- */

typedef struct reading {
    const hpc_probe *p;
    hpc_barrier meet;
    int64_t ns;
    uint64_t sum;
} reading;

static int run_reading(int worker, int workers, void *user)
{
    reading *r = user;
    int64_t lo, hi, start;
    hpc_share(&lo, &hi, (int64_t)r->p->bytes, HPC_PROBE_BLOCK, worker, workers);
    hpc_barrier_wait(&r->meet);
    start = hpc_clock_ns();
    __atomic_fetch_add(&r->sum, r->p->cpu->read(r->p->data + lo, (size_t)(hi - lo)),
                       __ATOMIC_RELAXED);
    hpc_barrier_wait(&r->meet);
    if (worker == 0) r->ns = hpc_clock_ns() - start;
    return HPC_OK;
}

static int measure_reading(double *out, hpc_probe *p)
{
    *out = 0;
    for (int k = 0; k < RUNS; k++) {
        reading r = {.p = p};
        hpc_barrier_init(&r.meet, hpc_pool_n(p->pool));
        int rc = hpc_pool_run(p->pool, run_reading, &r);
        if (rc < 0) return rc;
        hpc_assert(r.sum != 0); /* the data has been read */
        double rate = (double)p->bytes / (double)(r.ns > 0 ? r.ns : 1) * 1e9;
        if (rate > *out) *out = rate;
    }
    return HPC_OK;
}

int hpc_probe_limits(hpc_limits *out, hpc_probe *p)
{
    int rc;
    TRY(measure_arithmetic(&out->f32, p, &p->cpu->f32));
    TRY(measure_arithmetic(&out->bf16, p, &p->cpu->bf16));
    TRY(measure_arithmetic(&out->i8, p, &p->cpu->i8));
    TRY(measure_reading(&out->read, p));
out:
    return rc;
}

/* ---- latencies ----------------------------------------------------------------------------- */

typedef struct handoff {
    char before[64];
    int turn;
    char after[64];
    int64_t least_ns; /* of a burst */
} handoff;

/* Spins, but not for ever: both may have to share a core. */
static void await_turn(int *turn, int mine)
{
    for (int spins = 0; __atomic_load_n(turn, __ATOMIC_ACQUIRE) != mine; spins++)
        if (spins >= SPINS) sched_yield();
}

/* Workers 0 and 1 pass a number to and fro, in bursts: the scheduler may need a while until it has
 * each on a core of its own. */
static int run_handoff(int worker, int workers, void *user)
{
    handoff *h = user;
    (void)workers;
    if (worker > 1) return HPC_OK;
    for (int burst = 0, turn = worker; burst < BURSTS; burst++) {
        int64_t start = hpc_clock_ns();
        for (int k = 0; k < HANDOFFS; k += 2, turn += 2) {
            await_turn(&h->turn, turn);
            __atomic_store_n(&h->turn, turn + 1, __ATOMIC_RELEASE);
        }
        int64_t ns = hpc_clock_ns() - start;
        if (worker == 0 && (burst == 0 || ns < h->least_ns)) h->least_ns = ns;
    }
    return HPC_OK;
}

static int nothing(const void *args)
{
    (void)args;
    return HPC_OK;
}

static double measure_call(void)
{
    int (*volatile hidden)(const void *args) = nothing; /* read each time: never inlined */
    int64_t start = hpc_clock_ns();
    for (int k = 0; k < CALLS; k++) hidden(NULL);
    return (double)(hpc_clock_ns() - start) / CALLS;
}

int hpc_probe_latency(double *call_ns, double *handoff_ns, hpc_probe *p)
{
    *call_ns = *handoff_ns = 0;
    for (int k = 0; k < RUNS; k++) {
        double call = measure_call();
        if (k == 0 || call < *call_ns) *call_ns = call;
        if (hpc_pool_n(p->pool) < 2) continue;
        handoff h = {.turn = 0};
        int rc = hpc_pool_run(p->pool, run_handoff, &h);
        if (rc < 0) return rc;
        double each = (double)h.least_ns / HANDOFFS;
        if (k == 0 || each < *handoff_ns) *handoff_ns = each;
    }
    return HPC_OK;
}
