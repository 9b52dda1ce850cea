/*
 * driver.cc: the device of the shim: memory that starts as NaN, queues that run at fences, in the
 * order of the schedule as far as events allow, and the launch of kernels.
 */
#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/cuda/lt.cuh"
#include "runtime/device/cuda/shim/block.cuh"
#include "runtime/device/cuda/shim/lt.cuh"
#include "runtime/device/cuda/table.cuh"

extern "C" const hpc_cuda_library hpc_cuda_library_table;

enum command_kind { LAUNCH, CALL, COPY, FILL, RECORD, WAIT };

struct command {
    command_kind kind;
    /* launch */
    std::vector<unsigned char> args;
    const char *function;
    hpc_shim_entry *entry;
    simt_shape shape;
    const int32_t *guard;
    hpc_origin at;
    /* call of the host, which takes args, too */
    void (*call)(const void *args);
    int64_t ns;
    /* copy */
    void *dst;
    const void *src;
    size_t bytes;
    int byte; /* of a fill */
    int event;
};

struct shim_device;
struct shim_stream {
    shim_device *device;
    int queue;
};

struct shim_device {
    std::vector<command> queue[HPC_QUEUE_N];
    std::vector<bool> reached; /* by event */
    std::vector<int64_t> time; /* by event; kept by a fence */
    int64_t now;               /* the shim's time: 1 ns for each command, except calls */
    shim_stream stream[HPC_QUEUE_N];
    hpc_lt *lt; /* NULL: no stub of cuBLASLt */
    int fails;  /* hpc_cuda_failure of a fence, or 0 */
    int fences; /* left before it */
    shim_block block;
    shim_schedule schedule;
    uint32_t seed;
    hpc_fault fault;
    char why[HPC_CUDA_TEXT];
};

static const char *const schedules[SHIM_SCHEDULES] = {"ascending", "descending", "permuted"};

static int fail(char *why, const char *format, const char *text)
{
    snprintf(why, HPC_CUDA_TEXT, format, text);
    return 1;
}

/* "lt-" before a schedule: with the stub of cuBLASLt. */
static bool has_lt(const char *isa)
{
    return isa && strncmp(isa, "lt-", 3) == 0;
}

static int find_schedule(const char *isa)
{
    int k = 0;
    if (has_lt(isa)) isa += 3;
    const size_t n = isa ? strcspn(isa, ",") : 0;
    while (isa && k < SHIM_SCHEDULES &&
           (strncmp(schedules[k], isa, n) != 0 || schedules[k][n] != '\0'))
        k++;
    return k;
}

/* ",memory=N" or ",lost=N" after a schedule: fence N fails so, and after a loss all others. */
static void plant_failure(shim_device *d, const char *isa)
{
    const char *at = isa ? strchr(isa, ',') : nullptr;
    if (at && sscanf(at, ",memory=%d", &d->fences) == 1) d->fails = HPC_CUDA_NO_MEMORY;
    if (at && sscanf(at, ",lost=%d", &d->fences) == 1) d->fails = HPC_CUDA_LOST;
}

static int shim_describe(hpc_cuda_about *about, int, const char *isa, char *why)
{
    const int k = find_schedule(isa);
    if (k == SHIM_SCHEDULES)
        return fail(why, "no schedule '%s': use ascending, descending or permuted", isa);
    *about = hpc_cuda_about();
    snprintf(about->architecture, sizeof about->architecture, "%s%s", has_lt(isa) ? "lt-" : "",
             schedules[k]);
    snprintf(about->products, sizeof about->products, "%s",
             has_lt(isa) ? "a stub of cuBLASLt" : "own kernels");
    snprintf(about->name, sizeof about->name, "the CPU, as threads of a GPU");
    return 0;
}

static void shim_close(void *self)
{
    shim_device *d = (shim_device *)self;
    for (shim_thread &t : d->block.thread) hpc_shim_fiber_release(&t.fiber);
    hpc_lt_close(d->lt, &hpc_cuda_library_table, self);
    delete d;
}

static int shim_open(void **self, int device, const char *isa, hpc_cuda_about *about, char *why)
{
    if (shim_describe(about, device, isa, why) != 0) return 1;
    shim_device *d = new (std::nothrow) shim_device();
    if (!d) return fail(why, "%s", "out of memory");
    d->schedule = (shim_schedule)find_schedule(isa);
    d->seed = 1;
    plant_failure(d, isa);
    for (int q = 0; q < HPC_QUEUE_N; q++) d->stream[q] = {d, q};
    if (has_lt(isa) && hpc_lt_open(&d->lt, &hpc_shim_lt, &d->stream[HPC_COMPUTE], why) != 0) {
        shim_close(d);
        return 1;
    }
    *self = d;
    return 0;
}

static int shim_alloc(void *, void **out, size_t bytes, char *why)
{
    enum { ALIGN = 256 };
    *out = nullptr;
    if (posix_memalign(out, ALIGN, bytes > 0 ? bytes : 1) != 0) return fail(why, "%s", "no memory");
    memset(*out, 0xff, bytes);
    return 0;
}

static void shim_release(void *, void *p)
{
    free(p);
}

static int push(void *self, int queue, command &&c)
{
    ((shim_device *)self)->queue[queue].push_back(std::move(c));
    return 0;
}

static int shim_copy(void *self, int queue, void *dst, const void *src, size_t bytes, hpc_direction,
                     char *)
{
    command c = {};
    c.kind = COPY;
    c.dst = dst;
    c.src = src;
    c.bytes = bytes;
    return push(self, queue, std::move(c));
}

static int shim_fill(void *self, int queue, void *p, int byte, size_t bytes, char *)
{
    command c = {};
    c.kind = FILL;
    c.dst = p;
    c.byte = byte;
    c.bytes = bytes;
    return push(self, queue, std::move(c));
}

static int mark(void *self, int queue, command_kind kind, int event)
{
    command c = {};
    c.kind = kind;
    c.event = event;
    return push(self, queue, std::move(c));
}

static int shim_record(void *self, int queue, int *event, char *)
{
    shim_device *d = (shim_device *)self;
    *event = (int)d->reached.size();
    d->reached.push_back(false);
    if (d->time.size() < d->reached.size()) d->time.push_back(0);
    return mark(self, queue, RECORD, *event);
}

static int shim_wait(void *self, int queue, int event, char *)
{
    return mark(self, queue, WAIT, event);
}

/* ---- kernels ------------------------------------------------------------------------------- */

/* "... [with Kernel = {anonymous}::norm_rows; ...]": the kernel's name. */
static void name_of(char out[SHIM_NAME], const char *function)
{
    const char *at = strstr(function, "Kernel = ");
    at = at ? at + strlen("Kernel = ") : function;
    if (strncmp(at, "{anonymous}::", 13) == 0) at += 13;
    snprintf(out, SHIM_NAME, "%.*s", (int)strcspn(at, ";]"), at);
}

static bool prepare(shim_device *d, const command &c)
{
    shim_block *b = &d->block;
    const size_t warps = (size_t)(c.shape.threads + SIMT_WARP - 1) / SIMT_WARP;
    while (b->thread.size() < (size_t)c.shape.threads) {
        b->thread.emplace_back();
        if (!hpc_shim_fiber_init(&b->thread.back().fiber)) return false;
    }
    name_of(b->name, c.function);
    b->entry = c.entry;
    b->args = c.args.data();
    b->shape = c.shape;
    b->at = c.at;
    b->fault = &d->fault;
    b->schedule = d->schedule;
    b->seed = d->seed;
    b->why = d->why;
    b->word.resize(warps * 2 * SIMT_WARP * SHIM_WORDS);
    return true;
}

static void run_kernel(shim_device *d, const command &c)
{
    std::vector<int> order;
    if (c.guard && *c.guard == 0) return;
    if (!prepare(d, c)) {
        fail(d->why, "%s", "no memory for stacks");
        return;
    }
    const int blocks = (int)c.shape.blocks * c.shape.blocks_y;
    hpc_shim_order(order, blocks, d->schedule, &d->seed);
    for (int k : order) {
        if (d->why[0]) return;
        hpc_shim_run_block(&d->block, k % (int)c.shape.blocks, k / (int)c.shape.blocks);
    }
    d->seed = d->block.seed;
}

static void execute(shim_device *d, const command &c)
{
    if (c.kind == LAUNCH && !d->why[0]) run_kernel(d, c);
    if (c.kind == COPY) memcpy(c.dst, c.src, c.bytes);
    if (c.kind == FILL) memset(c.dst, c.byte, c.bytes);
    if (c.kind == CALL && !d->why[0]) c.call(c.args.data());
    if (c.kind == RECORD) {
        d->reached[(size_t)c.event] = true;
        d->time[(size_t)c.event] = d->now;
    }
    d->now += c.kind == CALL ? c.ns : 1;
}

/* Each queue in turn goes on to a wait for an event that was not reached. */
static void run_queues(shim_device *d)
{
    size_t at[HPC_QUEUE_N] = {0};
    std::vector<int> order;
    bool any = true;
    while (any) {
        any = false;
        hpc_shim_order(order, HPC_QUEUE_N, d->schedule, &d->seed);
        for (int q : order)
            for (; at[q] < d->queue[q].size(); at[q]++) {
                const command &c = d->queue[q][at[q]];
                if (c.kind == WAIT && !d->reached[(size_t)c.event]) break;
                execute(d, c);
                any = true;
            }
    }
    for (int q = 0; q < HPC_QUEUE_N; q++) {
        if (at[q] < d->queue[q].size() && !d->why[0])
            fail(d->why, "%s", "a queue waits for an event that is never reached");
        d->queue[q].clear();
    }
}

static int shim_sync(void *self, int, char *)
{
    run_queues((shim_device *)self);
    return 0;
}

static int shim_elapsed(void *self, int from, int to, int64_t *ns, char *)
{
    const shim_device *d = (const shim_device *)self;
    *ns = d->time[(size_t)to] - d->time[(size_t)from];
    return 0;
}

static int shim_host_alloc(void *self, void **out, size_t bytes, char *why)
{
    return shim_alloc(self, out, bytes, why);
}

static int shim_fence(void *self, hpc_fault *fault, char *why)
{
    shim_device *d = (shim_device *)self;
    run_queues(d);
    d->reached.clear();
    const bool stays = d->fails == HPC_CUDA_LOST;
    if (d->fails && --d->fences <= 0 && (stays || d->fences == 0)) {
        fail(why, "%s", stays ? "a planted loss" : "a planted lack of memory");
        return d->fails;
    }
    *fault = d->fault;
    d->fault = hpc_fault();
    if (!d->why[0]) return 0;
    snprintf(why, HPC_CUDA_TEXT, "%s", d->why);
    d->why[0] = '\0';
    return 1;
}

static void *stream_of(void *, int)
{
    return nullptr;
}

static int64_t shim_choices(void *self, hpc_cuda_choice *out, int64_t most)
{
    const hpc_lt *lt = hpc_cuda_lt(self);
    return lt ? hpc_lt_choices(lt, out, most) : 0;
}

static int shim_choose(void *self, const hpc_cuda_choice *choice, int64_t n, char *why)
{
    hpc_lt *lt = hpc_cuda_lt(self);
    if (!lt || hpc_lt_choose(lt, choice, n) == 0) return 0;
    return fail(why, "%s", "the record of products is damaged");
}

static int shim_find_products(char *text)
{
    snprintf(text, 64, "a stub of cuBLASLt");
    return hpc_lt_accepts(&hpc_shim_lt) ? 0 : 1;
}

hpc_lt *hpc_cuda_lt(void *self)
{
    return ((shim_device *)self)->lt;
}

int hpc_shim_call(void *stream, void (*run)(const void *args), const void *args, size_t bytes,
                  int64_t ns)
{
    shim_stream *s = (shim_stream *)stream;
    command c = {};
    c.kind = CALL;
    c.args.assign((const unsigned char *)args, (const unsigned char *)args + bytes);
    c.call = run;
    c.ns = ns;
    return push(s->device, s->queue, std::move(c));
}

int hpc_shim_enqueue(const hpc_cuda_stream *s, const char *function, simt_shape shape,
                     hpc_shim_entry *entry, const void *args, size_t bytes)
{
    command c = {};
    if (shape.blocks == 0 || shape.blocks_y == 0 || s->choosing) return 0;
    if (shape.threads <= 0 || shape.threads > 1024 || shape.threads % SIMT_WARP != 0)
        return fail(s->why, "%s: a block needs whole warps, and at most 1024 threads", function);
    c.kind = LAUNCH;
    c.args.assign((const unsigned char *)args, (const unsigned char *)args + bytes);
    c.function = function;
    c.entry = entry;
    c.shape = shape;
    c.guard = s->guard;
    c.at = s->at;
    return push(s->self, s->queue, std::move(c));
}

extern "C" __attribute__((visibility("default"))) const hpc_cuda_library hpc_cuda_library_table = {
    HPC_CUDA_VERSION, shim_describe, shim_open,       shim_close,         shim_alloc,
    shim_release,     shim_copy,     shim_record,     shim_wait,          shim_sync,
    shim_elapsed,     shim_fill,     shim_host_alloc, shim_release,       shim_fence,
    stream_of,        shim_choices,  shim_choose,     shim_find_products, HPC_CUDA_LAUNCHERS};
