/*
 * driver.cc: the device of the shim: memory that starts as NaN, queues that run at fences, in the
 * order of the schedule as far as events allow, recorded graphs, and the launch of kernels.
 */
#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unordered_map>

#include "runtime/device/cuda/driver.cuh"
#include "runtime/device/cuda/lt.cuh"
#include "runtime/device/cuda/shim/block.cuh"
#include "runtime/device/cuda/shim/lt.cuh"
#include "runtime/device/cuda/table.cuh"

extern "C" const hpc_cuda_library hpc_cuda_library_table;

enum command_kind { LAUNCH, CALL, COPY, FILL, RECORD, WAIT, BRANCH, REPLAY };
struct shim_queues;

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
    size_t skip;        /* of a branch: its commands */
    shim_queues *graph; /* of a replay */
};

struct shim_queues {
    std::vector<command> queue[HPC_QUEUE_N];
    std::vector<bool> reached; /* by event */
    size_t branch;             /* of a graph: the place of its open branch, plus 1; 0: none */
};

struct shim_device;
struct shim_stream {
    shim_device *device;
    int queue;
};

struct shim_device {
    shim_queues queues;
    shim_queues *capturing;
    std::unordered_map<void *, size_t> live; /* allocations of the device */
    size_t live_bytes;
    hpc_cuda_settings settings;
    std::vector<int64_t> time; /* by event, outside graphs; kept by a fence */
    int64_t now;               /* the shim's time: 1 ns for each command, except calls */
    shim_stream stream[HPC_QUEUE_N];
    hpc_lt *lt;  /* NULL: no stub of cuBLASLt */
    int fence_n; /* until now */
    shim_block block;
    shim_schedule schedule;
    uint32_t seed;
    hpc_fault fault;
    char why[HPC_CUDA_TEXT];
};

static int fail(char *why, const char *format, const char *text)
{
    snprintf(why, HPC_CUDA_TEXT, format, text);
    return 1;
}

static int shim_describe(hpc_cuda_about *about, int device, const hpc_cuda_settings *s, char *why)
{
    static const char *const schedules[SHIM_SCHEDULES] = {"ascending", "descending", "permuted"};
    static const char name[] = "the CPU, as threads of a GPU";
    const int runtime = 13000;
    if (hpc_cuda_check_driver(s->driver, runtime, why) != 0) return 1;
    if (hpc_cuda_check_number(device, s->devices, why) != 0) return 1;
    if (hpc_cuda_check_architecture(name, s->architecture, why) != 0) return 1;
    *about = hpc_cuda_about();
    snprintf(about->architecture, sizeof about->architecture, "%s%s", s->lt ? "lt-" : "",
             schedules[s->schedule]);
    snprintf(about->products, sizeof about->products, "%s",
             s->lt ? "a stub of cuBLASLt" : "own kernels");
    snprintf(about->name, sizeof about->name, "%s", name);
    about->memory_bytes = s->memory;
    return 0;
}

static void shim_close(void *self)
{
    shim_device *d = (shim_device *)self;
    for (shim_thread &t : d->block.thread) hpc_shim_fiber_release(&t.fiber);
    hpc_lt_close(d->lt, &hpc_cuda_library_table, self);
    delete d;
}

static int shim_open(void **self, int device, const hpc_cuda_settings *s, hpc_cuda_about *about,
                     char *why)
{
    if (shim_describe(about, device, s, why) != 0) return 1;
    shim_device *d = new (std::nothrow) shim_device();
    if (!d) return fail(why, "%s", "out of memory");
    d->settings = *s;
    d->schedule = (shim_schedule)s->schedule;
    d->seed = 1;
    for (int q = 0; q < HPC_QUEUE_N; q++) d->stream[q] = {d, q};
    if (s->lt && hpc_lt_open(&d->lt, &hpc_shim_lt, &d->stream[HPC_COMPUTE], why) != 0) {
        shim_close(d);
        return 1;
    }
    *self = d;
    return 0;
}

/* Without a limit: unknown. */
static int shim_available(void *self, size_t *bytes, char *)
{
    const shim_device *d = (shim_device *)self;
    const size_t used = d->live_bytes + d->settings.others;
    *bytes = d->settings.memory > used ? d->settings.memory - used : 0;
    return 0;
}

static int shim_host_alloc(void *, void **out, size_t bytes, char *why)
{
    enum { ALIGN = 256 };
    *out = nullptr;
    if (posix_memalign(out, ALIGN, bytes > 0 ? bytes : 1) != 0) return fail(why, "%s", "no memory");
    memset(*out, 0xff, bytes);
    return 0;
}

static void shim_host_release(void *, void *p)
{
    free(p);
}

static int shim_alloc(void *self, void **out, size_t bytes, char *why)
{
    shim_device *d = (shim_device *)self;
    size_t available = 0;
    *out = nullptr;
    if (d->capturing) return fail(why, "%s", "an allocation while a graph is captured");
    shim_available(self, &available, why);
    if (d->settings.memory && bytes > available) return HPC_CUDA_NO_MEMORY;
    if (shim_host_alloc(self, out, bytes, why) != 0) return HPC_CUDA_NO_MEMORY;
    d->live[*out] = bytes;
    d->live_bytes += bytes;
    return 0;
}

static void shim_release(void *self, void *p)
{
    shim_device *d = (shim_device *)self;
    d->live_bytes -= d->live[p];
    d->live.erase(p);
    free(p);
}

static shim_queues *queues_of(void *self)
{
    shim_device *d = (shim_device *)self;
    return d->capturing ? d->capturing : &d->queues;
}

static int push(void *self, int queue, command &&c)
{
    queues_of(self)->queue[queue].push_back(std::move(c));
    return 0;
}

static int shim_copy(void *self, int queue, void *dst, const void *src, size_t bytes,
                     hpc_direction way, char *why)
{
    command c = {};
    if (((shim_device *)self)->capturing && way != HPC_ON_DEVICE)
        return fail(why, "%s", "a copy of host memory while a graph is captured");
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
    shim_queues *q = queues_of(self);
    *event = (int)q->reached.size();
    q->reached.push_back(false);
    if (!d->capturing && d->time.size() < q->reached.size()) d->time.push_back(0);
    return mark(self, queue, RECORD, *event);
}

static int shim_wait(void *self, int queue, int event, char *why)
{
    if (event < 0 || (size_t)event >= queues_of(self)->reached.size())
        return fail(why, "%s", "a wait for an event that was not recorded");
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

static void run_queues(shim_device *d, shim_queues *all);

/* Returns how many of the next commands are skipped. */
static size_t execute(shim_device *d, shim_queues *all, const command &c)
{
    if (c.kind == LAUNCH && !d->why[0]) run_kernel(d, c);
    if (c.kind == COPY) memcpy(c.dst, c.src, c.bytes);
    if (c.kind == FILL) memset(c.dst, c.byte, c.bytes);
    if (c.kind == CALL && !d->why[0]) c.call(c.args.data());
    if (c.kind == RECORD) {
        all->reached[(size_t)c.event] = true;
        if (all == &d->queues) d->time[(size_t)c.event] = d->now;
    }
    if (c.kind == REPLAY) {
        c.graph->reached.assign(c.graph->reached.size(), false);
        run_queues(d, c.graph);
    }
    d->now += c.kind == CALL ? c.ns : 1;
    return c.kind == BRANCH && *c.guard == 0 ? c.skip : 0;
}

/* Each queue in turn goes on to a wait for an event that was not reached. */
static void run_queues(shim_device *d, shim_queues *all)
{
    size_t at[HPC_QUEUE_N] = {0};
    std::vector<int> order;
    bool any = true;
    while (any) {
        any = false;
        hpc_shim_order(order, HPC_QUEUE_N, d->schedule, &d->seed);
        for (int q : order)
            for (; at[q] < all->queue[q].size(); at[q]++) {
                const command &c = all->queue[q][at[q]];
                if (c.kind == WAIT && !all->reached[(size_t)c.event]) break;
                at[q] += execute(d, all, c);
                any = true;
            }
    }
    for (int q = 0; q < HPC_QUEUE_N; q++) {
        if (at[q] < all->queue[q].size() && !d->why[0])
            fail(d->why, "%s", "a queue waits for an event that is never reached");
    }
}

/* Events keep their numbers up to a fence, so that those reached before it are waited for. */
static void run_all(shim_device *d)
{
    run_queues(d, &d->queues);
    for (std::vector<command> &q : d->queues.queue) q.clear();
}

static int shim_sync(void *self, int, char *why)
{
    shim_device *d = (shim_device *)self;
    if (d->capturing) return fail(why, "%s", "a sync while a graph is captured");
    run_all(d);
    return 0;
}

static int shim_elapsed(void *self, int from, int to, int64_t *ns, char *)
{
    const shim_device *d = (const shim_device *)self;
    *ns = d->time[(size_t)to] - d->time[(size_t)from];
    return 0;
}

static int shim_fence(void *self, hpc_fault *fault, char *why)
{
    shim_device *d = (shim_device *)self;
    if (d->capturing) return fail(why, "%s", "a fence while a graph is captured");
    run_all(d);
    d->queues.reached.clear();
    d->fence_n++;
    if (d->settings.lost_at && d->fence_n >= d->settings.lost_at) {
        fail(why, "%s", "a planted loss");
        return HPC_CUDA_LOST;
    }
    if (d->fence_n == d->settings.full_at) {
        fail(why, "%s", "a planted lack of memory");
        return HPC_CUDA_NO_MEMORY;
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

/* ---- graphs ------------------------------------------------------------------------------- */

static int shim_capture(void *self, char *why)
{
    shim_device *d = (shim_device *)self;
    if (d->capturing) return fail(why, "%s", "a graph is captured already");
    d->capturing = new (std::nothrow) shim_queues();
    return d->capturing ? 0 : fail(why, "%s", "no memory for a graph");
}

static int shim_branch(void *self, const int32_t *guard, char *why)
{
    shim_queues *g = ((shim_device *)self)->capturing;
    if (!g || (guard != nullptr) == (g->branch > 0))
        return fail(why, "%s", "no place for a branch");
    std::vector<command> &q = g->queue[HPC_COMPUTE];
    if (!guard) {
        q[g->branch - 1].skip = q.size() - g->branch;
        g->branch = 0;
        return 0;
    }
    command c = {};
    c.kind = BRANCH;
    c.guard = guard;
    q.push_back(std::move(c));
    g->branch = q.size();
    return 0;
}

static bool waits_for(const std::vector<command> &queue, int event)
{
    for (const command &c : queue)
        if (c.kind == WAIT && c.event == event) return true;
    return false;
}

/* Work of other queues begins after a wait, and the compute queue waits for its end. */
static bool is_joined(const shim_queues *g)
{
    for (int q = 0; q < HPC_QUEUE_N; q++) {
        const std::vector<command> &list = g->queue[q];
        if (q == HPC_COMPUTE || list.empty()) continue;
        if (list.front().kind != WAIT || list.back().kind != RECORD) return false;
        if (!waits_for(g->queue[HPC_COMPUTE], list.back().event)) return false;
    }
    return true;
}

static int shim_captured(void *self, void **graph, char *why)
{
    shim_device *d = (shim_device *)self;
    shim_queues *g = d->capturing;
    d->capturing = nullptr;
    if (graph && g && !g->branch && is_joined(g)) {
        *graph = g;
        return 0;
    }
    delete g;
    return graph ? fail(why, "%s", "a graph has queues that are not joined, or an open branch") : 0;
}

static int shim_replay(void *self, void *graph, char *)
{
    command c = {};
    c.kind = REPLAY;
    c.graph = (shim_queues *)graph;
    return push(self, HPC_COMPUTE, std::move(c));
}

static void shim_discard(void *, void *graph)
{
    delete (shim_queues *)graph;
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
    HPC_CUDA_VERSION,   shim_describe,     shim_open,    shim_close,  shim_alloc,    shim_release,
    shim_copy,          shim_record,       shim_wait,    shim_sync,   shim_elapsed,  shim_fill,
    shim_host_alloc,    shim_host_release, shim_fence,   stream_of,   shim_choices,  shim_choose,
    shim_find_products, shim_available,    shim_capture, shim_branch, shim_captured, shim_replay,
    shim_discard,       HPC_CUDA_LAUNCHERS};
