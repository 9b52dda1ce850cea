/*
 * driver.cu: the device on the CUDA runtime: memory, streams, events, fences and launches.
 */
#include <cuda_runtime.h>
#include <new>
#include <stdio.h>
#include <vector>

#include "runtime/device/cuda/driver.cuh"
#include "runtime/device/cuda/lt.cuh"
#include "runtime/device/cuda/lt_open.cuh"
#include "runtime/device/cuda/simt.cuh"
#include "runtime/device/cuda/table.cuh"

extern "C" const hpc_cuda_library hpc_cuda_library_table;

namespace {

struct device {
    int number;
    cudaStream_t stream[HPC_QUEUE_N];
    std::vector<cudaEvent_t> event; /* used since the last fence, then spare ones */
    int event_n;
    hpc_fault *fault, *host_fault; /* of the device; pinned */
    hpc_lt_api api;
    hpc_lt *lt;          /* NULL: no cuBLASLt */
    cudaStream_t branch; /* captures the body of a branch */
    bool in_branch;
};

cudaStream_t stream_now(const device *d, int queue)
{
    return d->in_branch && queue == HPC_COMPUTE ? d->branch : d->stream[queue];
}

/* After the errors of the last group every call on the device fails. */
hpc_cuda_failure kind_of(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation: return HPC_CUDA_NO_MEMORY;
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoDevice:
    case cudaErrorUnknown: return HPC_CUDA_LOST;
    default: return HPC_CUDA_FAILED;
    }
}

int failed(char *why, const char *what, cudaError_t error)
{
    snprintf(why, HPC_CUDA_TEXT, "%s: %s", what, cudaGetErrorString(error));
    (void)cudaGetLastError();
    return kind_of(error);
}

#define CHECK(call, what)                                                                          \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) return failed(why, what, error_);                               \
    } while (0)

/* No driver, one that is too old, or no device: each by its name. */
int find_device(int number, char *why)
{
    int n = 0, driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (hpc_cuda_check_driver(driver, runtime, why) != 0) return 1;
    CHECK(cudaGetDeviceCount(&n), "looking for GPUs");
    return hpc_cuda_check_number(number, n, why);
}

__global__ void set_condition(cudaGraphConditionalHandle handle, const int32_t *guard);

void close_device(void *self)
{
    device *d = (device *)self;
    hpc_lt_close(d->lt, &hpc_cuda_library_table, self);
    for (cudaStream_t s : d->stream)
        if (s) (void)cudaStreamDestroy(s);
    if (d->branch) (void)cudaStreamDestroy(d->branch);
    for (cudaEvent_t e : d->event) (void)cudaEventDestroy(e);
    (void)cudaFree(d->fault);
    (void)cudaFreeHost(d->host_fault);
    delete d;
}

/* Other kernels have run before they are captured; the one of branches is loaded here, because a
 * capture may not load it. */
int prepare(device *d, char *why)
{
    cudaFuncAttributes loaded;
    CHECK(cudaFuncGetAttributes(&loaded, (const void *)set_condition), "loading a kernel");
    for (cudaStream_t &s : d->stream)
        CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "creating a stream");
    CHECK(cudaStreamCreateWithFlags(&d->branch, cudaStreamNonBlocking), "creating a stream");
    CHECK(cudaMalloc((void **)&d->fault, sizeof *d->fault), "allocating");
    CHECK(cudaMemset(d->fault, 0, sizeof *d->fault), "clearing");
    CHECK(cudaMallocHost((void **)&d->host_fault, sizeof *d->host_fault), "pinning memory");
    return 0;
}

int describe_device(hpc_cuda_about *about, int number, const hpc_cuda_settings *, char *why)
{
    cudaDeviceProp p;
    if (find_device(number, why) != 0) return 1;
    CHECK(cudaGetDeviceProperties(&p, number), "asking for the properties of a GPU");
    if (hpc_cuda_check_architecture(p.name, p.major * 10 + p.minor, why) != 0) return 1;
    snprintf(about->architecture, sizeof about->architecture, "sm_%d%d", p.major, p.minor);
    snprintf(about->name, sizeof about->name, "%s", p.name);
    about->memory_bytes = p.totalGlobalMem;
    (void)cudaDriverGetVersion(&about->driver);
    hpc_lt_api api;
    (void)hpc_lt_load(&api, about->products);
    return 0;
}

/* Without cuBLASLt our own kernels multiply. */
int open_products(device *d, hpc_cuda_about *about, char *why)
{
    if (hpc_lt_load(&d->api, about->products) != 0) return 0;
    return hpc_lt_open(&d->lt, &d->api, d->stream[HPC_COMPUTE], why);
}

int open_device(void **self, int number, const hpc_cuda_settings *s, hpc_cuda_about *about,
                char *why)
{
    if (describe_device(about, number, s, why) != 0) return 1;
    CHECK(cudaSetDevice(number), "choosing a GPU");
    device *d = new (std::nothrow) device();
    if (!d) return failed(why, "opening a GPU", cudaErrorMemoryAllocation);
    d->number = number;
    if (prepare(d, why) != 0 || open_products(d, about, why) != 0) {
        close_device(d);
        return 1;
    }
    *self = d;
    return 0;
}

int alloc_memory(void *, void **out, size_t bytes, char *why)
{
    const cudaError_t error = cudaMalloc(out, bytes > 0 ? bytes : 1);
    if (error == cudaSuccess) return 0;
    return failed(why, "allocating", error);
}

int available_memory(void *, size_t *bytes, char *why)
{
    size_t all;
    CHECK(cudaMemGetInfo(bytes, &all), "asking for the free memory");
    return 0;
}

void release_memory(void *, void *p)
{
    (void)cudaFree(p);
}

int copy_memory(void *self, int queue, void *dst, const void *src, size_t bytes, hpc_direction way,
                char *why)
{
    static const cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                           cudaMemcpyDefault};
    CHECK(cudaMemcpyAsync(dst, src, bytes, kinds[way], stream_now((device *)self, queue)),
          "copying");
    return 0;
}

int record_event(void *self, int queue, int *event, char *why)
{
    device *d = (device *)self;
    if (d->event_n == (int)d->event.size()) {
        cudaEvent_t e;
        CHECK(cudaEventCreate(&e), "creating an event");
        d->event.push_back(e);
    }
    *event = d->event_n++;
    CHECK(cudaEventRecord(d->event[*event], d->stream[queue]), "recording an event");
    return 0;
}

int wait_event(void *self, int queue, int event, char *why)
{
    device *d = (device *)self;
    CHECK(cudaStreamWaitEvent(d->stream[queue], d->event[event], 0), "waiting for an event");
    return 0;
}

int sync_event(void *self, int event, char *why)
{
    CHECK(cudaEventSynchronize(((device *)self)->event[event]), "waiting for an event");
    return 0;
}

int elapsed_time(void *self, int from, int to, int64_t *ns, char *why)
{
    const device *d = (device *)self;
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, d->event[from], d->event[to]), "reading the time of events");
    *ns = (int64_t)((double)ms * 1e6);
    return 0;
}

int fill_memory(void *self, int queue, void *p, int byte, size_t bytes, char *why)
{
    CHECK(cudaMemsetAsync(p, byte, bytes, stream_now((device *)self, queue)), "filling");
    return 0;
}

int alloc_host(void *, void **out, size_t bytes, char *why)
{
    CHECK(cudaMallocHost(out, bytes > 0 ? bytes : 1), "pinning memory");
    return 0;
}

void release_host(void *, void *p)
{
    (void)cudaFreeHost(p);
}

int fence_queues(void *self, hpc_fault *fault, char *why)
{
    device *d = (device *)self;
    d->event_n = 0;
    for (cudaStream_t s : d->stream) CHECK(cudaStreamSynchronize(s), "running kernels");
    CHECK(cudaMemcpy(d->host_fault, d->fault, sizeof *fault, cudaMemcpyDeviceToHost), "copying");
    *fault = *d->host_fault;
    if (fault->kind) CHECK(cudaMemset(d->fault, 0, sizeof *fault), "clearing");
    return 0;
}

void *stream_of(void *self, int queue)
{
    return ((device *)self)->stream[queue];
}

int64_t list_choices(void *self, hpc_cuda_choice *out, int64_t most)
{
    const hpc_lt *lt = hpc_cuda_lt(self);
    return lt ? hpc_lt_choices(lt, out, most) : 0;
}

int take_choices(void *self, const hpc_cuda_choice *choice, int64_t n, char *why)
{
    hpc_lt *lt = hpc_cuda_lt(self);
    if (!lt || hpc_lt_choose(lt, choice, n) == 0) return 0;
    snprintf(why, HPC_CUDA_TEXT, "the record of products is damaged");
    return 1;
}

int find_products(char *text)
{
    hpc_lt_api api;
    if (hpc_lt_load(&api, text) != 0) return 1;
    if (hpc_lt_accepts(&api)) return 0;
    snprintf(text, HPC_LT_TEXT, "cuBLASLt rejects a descriptor");
    return 1;
}

/* ---- graphs ------------------------------------------------------------------------------- */

__global__ void set_condition(cudaGraphConditionalHandle handle, const int32_t *guard)
{
    cudaGraphSetConditional(handle, *guard != 0);
}

int begin_capture(void *self, char *why)
{
    CHECK(cudaStreamBeginCapture(((device *)self)->stream[HPC_COMPUTE],
                                 cudaStreamCaptureModeThreadLocal),
          "beginning a graph");
    return 0;
}

/* The graph that a stream captures into, and the commands that the next one comes after. */
struct capturing {
    cudaGraph_t graph;
    const cudaGraphNode_t *after;
    const cudaGraphEdgeData *edge;
    size_t n;
};

int find_capture(capturing *c, cudaStream_t stream, char *why)
{
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &c->graph, &c->after, &c->edge, &c->n),
          "asking for a graph");
    return 0;
}

/* A kernel that reads the guard, then a conditional node, whose body the branch's stream captures.
 */
int begin_branch(device *d, const int32_t *guard, char *why)
{
    const cudaStream_t stream = d->stream[HPC_COMPUTE];
    cudaGraphConditionalHandle handle;
    cudaGraphNodeParams node = {};
    cudaGraphNode_t added;
    capturing c;
    if (find_capture(&c, stream, why) != 0) return 1;
    CHECK(cudaGraphConditionalHandleCreate(&handle, c.graph, 0, 0), "making a condition");
    void *args[] = {&handle, &guard};
    CHECK(cudaLaunchKernel((const void *)set_condition, dim3(1), dim3(1), args, 0, stream),
          "launching a kernel");
    if (find_capture(&c, stream, why) != 0) return 1;
    node.type = cudaGraphNodeTypeConditional;
    node.conditional.handle = handle;
    node.conditional.type = cudaGraphCondTypeIf;
    node.conditional.size = 1;
    CHECK(cudaGraphAddNode(&added, c.graph, c.after, c.edge, c.n, &node), "adding a branch");
    CHECK(cudaStreamUpdateCaptureDependencies(stream, &added, nullptr, 1,
                                              cudaStreamSetCaptureDependencies),
          "adding a branch");
    CHECK(cudaStreamBeginCaptureToGraph(d->branch, node.conditional.phGraph_out[0], nullptr,
                                        nullptr, 0, cudaStreamCaptureModeThreadLocal),
          "beginning a branch");
    d->in_branch = true;
    return 0;
}

int end_branch(device *d, char *why)
{
    cudaGraph_t body;
    d->in_branch = false;
    CHECK(cudaStreamEndCapture(d->branch, &body), "ending a branch");
    return 0;
}

int set_branch(void *self, const int32_t *guard, char *why)
{
    device *d = (device *)self;
    return guard ? begin_branch(d, guard, why) : end_branch(d, why);
}

int end_capture(void *self, void **out, char *why)
{
    device *d = (device *)self;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    if (d->in_branch && end_branch(d, why) != 0 && out) return 1;
    const cudaError_t ended = cudaStreamEndCapture(d->stream[HPC_COMPUTE], &graph);
    if (out) CHECK(ended, "ending a graph");
    const cudaError_t made = out ? cudaGraphInstantiate(&exec, graph, 0) : cudaSuccess;
    if (graph) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    CHECK(made, "making a graph");
    if (out) *out = exec;
    return 0;
}

int replay_graph(void *self, void *graph, char *why)
{
    CHECK(cudaGraphLaunch((cudaGraphExec_t)graph, ((device *)self)->stream[HPC_COMPUTE]),
          "launching a graph");
    return 0;
}

void discard_graph(void *, void *graph)
{
    (void)cudaGraphExecDestroy((cudaGraphExec_t)graph);
}

} // namespace

hpc_lt *hpc_cuda_lt(void *self)
{
    return ((device *)self)->lt;
}

simt_gate hpc_cuda_gate(const hpc_cuda_stream *s)
{
    return {s->guard, ((device *)s->self)->fault, s->at};
}

int hpc_cuda_enqueue(const hpc_cuda_stream *s, const void *kernel, simt_shape shape, void **args)
{
    char *why = s->why;
    if (shape.blocks == 0 || shape.blocks_y == 0 || s->choosing) return 0;
    const int shared_default = 48 << 10;
    if (shape.shared_bytes > shared_default)
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   shape.shared_bytes),
              "asking for shared memory");
    CHECK(cudaLaunchKernel(kernel, dim3((unsigned)shape.blocks, (unsigned)shape.blocks_y),
                           dim3((unsigned)shape.threads), args, (size_t)shape.shared_bytes,
                           stream_now((device *)s->self, s->queue)),
          "launching a kernel");
    return 0;
}

extern "C" __attribute__((visibility("default"))) const hpc_cuda_library hpc_cuda_library_table = {
    HPC_CUDA_VERSION, describe_device,   open_device,   close_device, alloc_memory, release_memory,
    copy_memory,      record_event,      wait_event,    sync_event,   elapsed_time, fill_memory,
    alloc_host,       release_host,      fence_queues,  stream_of,    list_choices, take_choices,
    find_products,    available_memory,  begin_capture, set_branch,   end_capture,  replay_graph,
    discard_graph,    HPC_CUDA_LAUNCHERS};
