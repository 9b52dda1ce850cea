/*
 * backend.c: the backends cuda and cuda-shim, which differ in the shared object that they open
 * (cuda.h).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/priv.h"

typedef struct cuda_device {
    hpc_device base;
    const hpc_cuda_library *library;
    void *self;
    hpc_cuda_about about;
    hpc_barrier alone;
    char why[HPC_CUDA_TEXT];
} cuda_device;

static cuda_device *cuda_of(hpc_device *d)
{
    return (cuda_device *)d;
}

/* Records a failure of the library. */
static int failed(const cuda_device *c, int failure)
{
    const hpc_device_info *info = &c->base.info;
    switch (failure) {
    case HPC_CUDA_NO_MEMORY:
        return hpc_fail(HPC_E_NOMEM,
                        "%s: out of memory: %s; %zu bytes are allocated here, the device has %zu",
                        info->backend, c->why, info->alloc_bytes, c->about.memory_bytes);
    case HPC_CUDA_LOST:
        return hpc_fail(HPC_E_IO, "%s: the device is lost: %s; start again (train: with --resume)",
                        info->backend, c->why);
    default: return hpc_fail(HPC_E_FAULT, "%s: %s", info->backend, c->why);
    }
}

static int outcome(const cuda_device *c, int failure)
{
    return failure == 0 ? HPC_OK : failed(c, failure);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void cuda_close(hpc_device *d)
{
    cuda_device *c = cuda_of(d);
    if (c->self) c->library->close(c->self);
    hpc_free(c);
}

static int find_library(const hpc_cuda_library **out, const char *file, const char *name,
                        const char *package)
{
    void *object = NULL;
    int rc;
    TRY(hpc_library_open(&object, file, name, package));
    *out = dlsym(object, HPC_CUDA_SYMBOL);
    if (!*out || (*out)->version != HPC_CUDA_VERSION)
        rc = hpc_fail(HPC_E_UNSUPPORTED, "%s has another version; rebuild it", name);
out:
    return rc;
}

static int open_backend(hpc_device **out, const hpc_device_options *o, const hpc_backend *backend,
                        const char *name, const char *package)
{
    hpc_cuda_settings s;
    int rc = HPC_OK;
    cuda_device *c = hpc_alloc(1, sizeof *c);
    if (!c) return HPC_E_NOMEM;
    c->base.backend = backend;
    c->base.kernels = &hpc_cuda_kernels;
    c->base.info =
        (hpc_device_info){.backend = backend->name, .threads = 1, .activations = HPC_BF16};
    hpc_barrier_init(&c->alone, 1);
    TRY(find_library(&c->library, o->library, name, package));
    if (hpc_cuda_settings_read(&s, o->isa, backend == &hpc_backend_cuda_shim, c->why) != 0 ||
        c->library->open(&c->self, o->index, &s, &c->about, c->why) != 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s: %s", c->base.info.backend, c->why));
    c->base.info.graphs = s.graphs;
    c->base.info.isa = c->about.architecture;
    c->base.info.memory_bytes = c->about.memory_bytes;
    *out = &c->base;
    c = NULL;
out:
    if (c) cuda_close(&c->base);
    return rc;
}

static int describe(hpc_cuda_about *about, const hpc_device_options *o, const char *name,
                    const char *package)
{
    const hpc_cuda_library *library;
    const bool shim = o->backend && strcmp(o->backend, hpc_backend_cuda_shim.name) == 0;
    hpc_cuda_settings s;
    char why[HPC_CUDA_TEXT] = "";
    int rc;
    TRY(find_library(&library, o->library, name, package));
    if (hpc_cuda_settings_read(&s, o->isa, shim, why) != 0 ||
        library->describe(about, o->index, &s, why) != 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s", why));
out:
    return rc;
}

#define CUDA_OBJECT "hpccoder-cuda.so", "the CUDA toolkit"
#define SHIM_OBJECT "hpccoder-cuda-shim.so", "g++"

static int cuda_open(hpc_device **out, const hpc_device_options *o)
{
    return open_backend(out, o, &hpc_backend_cuda, CUDA_OBJECT);
}

static int shim_open(hpc_device **out, const hpc_device_options *o)
{
    return open_backend(out, o, &hpc_backend_cuda_shim, SHIM_OBJECT);
}

static int cuda_check(const hpc_device_options *o)
{
    hpc_cuda_about about;
    return describe(&about, o, CUDA_OBJECT) < 0 ? hpc_error_where("device cuda:%d", o->index)
                                                : HPC_OK;
}

static int shim_check(const hpc_device_options *o)
{
    hpc_cuda_about about;
    return describe(&about, o, SHIM_OBJECT) < 0 ? hpc_error_where("device cuda-shim") : HPC_OK;
}

static void describe_entry(hpc_device_entry *e, int index, const hpc_cuda_about *about)
{
    *e = (hpc_device_entry){.usable = true};
    snprintf(e->name, sizeof e->name, index ? "cuda:%d" : "cuda", index);
    snprintf(e->about, sizeof e->about, "%s, %s, %.0f GiB, CUDA %d.%d, products: %s", about->name,
             about->architecture, (double)about->memory_bytes / (1 << 30), about->driver / 1000,
             about->driver % 1000 / 10, about->products);
}

/* Ends at the first that is not usable, which is listed only if it is the first of all. */
static int cuda_list(hpc_device_entry *out, int most)
{
    int n = 0;
    for (; n < most; n++) {
        hpc_cuda_about about;
        if (describe(&about, &(hpc_device_options){.index = n}, CUDA_OBJECT) < 0) break;
        describe_entry(&out[n], n, &about);
    }
    if (n == 0 && most > 0) {
        out[n] = (hpc_device_entry){.name = "cuda"};
        snprintf(out[n++].about, sizeof out->about, "%.200s", hpc_error_get()->text);
    }
    hpc_error_clear();
    return n;
}

/* ---- memory and queues --------------------------------------------------------------------------
 */

static size_t cuda_available(hpc_device *d)
{
    cuda_device *c = cuda_of(d);
    size_t bytes = 0;
    return c->library->available(c->self, &bytes, c->why) == 0 ? bytes : 0;
}

static int cuda_alloc(void **out, hpc_device *d, size_t bytes)
{
    const double mib = 0x1p20;
    cuda_device *c = cuda_of(d);
    const int rc = c->library->alloc(c->self, out, bytes, c->why);
    if (rc != HPC_CUDA_NO_MEMORY) return outcome(c, rc);
    const size_t all = c->about.memory_bytes, here = d->info.alloc_bytes,
                 rest = here + cuda_available(d);
    return hpc_fail(HPC_E_NOMEM,
                    "%s: no memory for %.1f MiB: of the device's %.1f MiB, this program holds "
                    "%.1f MiB and others hold %.1f MiB",
                    d->info.backend, (double)bytes / mib, (double)all / mib, (double)here / mib,
                    all > rest ? (double)(all - rest) / mib : 0);
}

static void cuda_release(hpc_device *d, void *p)
{
    cuda_of(d)->library->release(cuda_of(d)->self, p);
}

static int cuda_copy(hpc_device *d, hpc_queue q, void *dst, const void *src, size_t bytes,
                     hpc_direction way)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->copy(c->self, q, dst, src, bytes, way, c->why));
}

static int cuda_record(hpc_device *d, hpc_queue q, int *event)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->record(c->self, q, event, c->why));
}

static int cuda_wait(hpc_device *d, hpc_queue q, int event)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->wait(c->self, q, event, c->why));
}

static int cuda_sync(hpc_device *d, int event)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->sync(c->self, event, c->why));
}

static int cuda_elapsed(hpc_device *d, int from, int to, int64_t *ns)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->elapsed(c->self, from, to, ns, c->why));
}

static int cuda_fill(hpc_device *d, hpc_queue q, void *p, int byte, size_t bytes)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->fill(c->self, q, p, byte, bytes, c->why));
}

static int cuda_host_alloc(void **out, hpc_device *d, size_t bytes)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->host_alloc(c->self, out, bytes, c->why));
}

static void cuda_host_release(hpc_device *d, void *p)
{
    cuda_of(d)->library->host_release(cuda_of(d)->self, p);
}

static void *cuda_stream(hpc_device *d, hpc_queue q)
{
    return cuda_of(d)->library->stream(cuda_of(d)->self, q);
}

/* Kernels read the quants of block formats from planes. */
static hpc_layout cuda_layout(const hpc_device *d, hpc_weight_role role, hpc_dtype t)
{
    (void)d;
    const bool blocks = hpc_dtype_get(t)->quantised;
    return (hpc_layout){.pack = blocks ? HPC_PLANES : HPC_PLAIN,
                        .int8 = blocks && role == HPC_WEIGHT_PRODUCT};
}

/* ---- launches
 * --------------------------------------------------------------------------------------- */

int hpc_cuda_run(const hpc_launch *l, hpc_cuda_launcher *launcher, const void *args)
{
    const hpc_cuda_stream *s = l->stream;
    const int failure = launcher(s, args, l->workspace);
    return failure == 0 ? HPC_OK : failed(s->device, failure);
}

static hpc_cuda_stream stream_of(cuda_device *c, hpc_queue q, const hpc_plan *p)
{
    return (hpc_cuda_stream){.library = c->library,
                             .self = c->self,
                             .queue = q,
                             .why = c->why,
                             .device = c,
                             .products = p->products};
}

static int run_on(hpc_cuda_stream *s, cuda_device *c, const hpc_plan *p, const void *args,
                  void *workspace)
{
    return p->run(&(hpc_launch){.workers = 1,
                                .barrier = &c->alone,
                                .workspace = p->workspace ? workspace : NULL,
                                .stream = s},
                  args);
}

static int cuda_launch(hpc_device *d, hpc_queue q, const hpc_plan *p, const hpc_signature *s,
                       const void *args, void *workspace, const int32_t *guard, hpc_origin at)
{
    hpc_cuda_stream stream = stream_of(cuda_of(d), q, p);
    stream.at = at;
    stream.guard = guard;
    int rc = run_on(&stream, cuda_of(d), p, args, workspace);
    return rc < 0 ? hpc_error_where("%s #%d %s", at.segment, at.insn, s->name) : rc;
}

/* Measuring fences, which recycles events: those before it are over, and it counts. */
static int cuda_prepare(hpc_device *d, const hpc_plan *p, const hpc_signature *s, const void *args,
                        void *workspace)
{
    hpc_cuda_stream stream = stream_of(cuda_of(d), HPC_COMPUTE, p);
    int rc;
    stream.choosing = true;
    TRY(hpc_device_fence(d));
    TRY(run_on(&stream, cuda_of(d), p, args, workspace));
out:
    return rc < 0 ? hpc_error_where("choosing the algorithms of %s", s->name) : rc;
}

/* ---- the record of algorithms ---------------------------------------------------------------- */

enum { CHOICES = 4096 };

static void put_choice(hpc_json_out *w, const hpc_cuda_choice *c)
{
    char text[HPC_CUDA_ALGORITHM * 16 + 1];
    for (int k = 0; k < HPC_CUDA_ALGORITHM; k++)
        snprintf(text + k * 16, 17, "%016llx", (unsigned long long)c->algorithm[k]);
    hpc_json_open(w, NULL, '{');
    hpc_json_open(w, "shape", '[');
    for (int k = 0; k < HPC_CUDA_SHAPE; k++) hpc_json_put_int(w, NULL, c->shape[k]);
    hpc_json_close(w, ']');
    hpc_json_put_text(w, "algorithm", text);
    hpc_json_put_int(w, "workspace_bytes", c->workspace_bytes);
    hpc_json_put_int(w, "ns", c->ns);
    hpc_json_close(w, '}');
}

static int cuda_products(hpc_buf *out, hpc_device *d)
{
    cuda_device *c = cuda_of(d);
    hpc_cuda_choice *list = hpc_alloc(CHOICES, sizeof *list);
    hpc_json_out w = {.buf = out, .indent = 1};
    if (!list) return HPC_E_NOMEM;
    const int64_t n = c->library->choices(c->self, list, CHOICES);
    if (n > 0) {
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "library", c->about.products);
        hpc_json_put_text(&w, "device", c->about.name);
        hpc_json_open(&w, "products", '[');
        for (int64_t k = 0; k < n; k++) put_choice(&w, &list[k]);
        hpc_json_close(&w, ']');
        hpc_json_close(&w, '}');
    }
    hpc_free(list);
    return out->failed;
}

static int read_algorithm(uint64_t out[HPC_CUDA_ALGORITHM], const char *text)
{
    for (int k = 0; k < HPC_CUDA_ALGORITHM; k++) {
        char part[17] = "", *end;
        snprintf(part, sizeof part, "%.16s", strlen(text) >= (size_t)k * 16 ? text + k * 16 : "");
        out[k] = strtoull(part, &end, 16);
        if (end != part + 16)
            return hpc_fail(HPC_E_FORMAT, "algorithm: not 128 hexadecimal digits");
    }
    return HPC_OK;
}

static int read_choice(hpc_cuda_choice *c, const hpc_json *v)
{
    const hpc_json *shape = hpc_json_get(v, "shape");
    const char *algorithm;
    int rc;
    for (int k = 0; k < HPC_CUDA_SHAPE; k++)
        TRY(hpc_json_int(&c->shape[k], hpc_json_at(shape, k), "shape"));
    TRY(hpc_json_text(&algorithm, hpc_json_get(v, "algorithm"), "algorithm"));
    TRY(read_algorithm(c->algorithm, algorithm));
    TRY(hpc_json_int(&c->workspace_bytes, hpc_json_get(v, "workspace_bytes"), "workspace_bytes"));
    TRY(hpc_json_int(&c->ns, hpc_json_get(v, "ns"), "ns"));
out:
    return rc;
}

static int cuda_products_set(bool *taken, hpc_device *d, const hpc_json *record)
{
    cuda_device *c = cuda_of(d);
    const hpc_json *list = hpc_json_get(record, "products");
    const int64_t n = hpc_json_n(list);
    hpc_cuda_choice *choice = hpc_alloc((size_t)n + 1, sizeof *choice);
    const char *library, *device;
    int rc = choice ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    TRY(hpc_json_text(&library, hpc_json_get(record, "library"), "library"));
    TRY(hpc_json_text(&device, hpc_json_get(record, "device"), "device"));
    if (strcmp(library, c->about.products) != 0 || strcmp(device, c->about.name) != 0) goto out;
    for (int64_t k = 0; k < n; k++) TRY(read_choice(&choice[k], hpc_json_at(list, k)));
    if (c->library->choose(c->self, choice, n, c->why) != 0)
        TRY(hpc_fail(HPC_E_FORMAT, "%s", c->why));
    *taken = true;
out:
    hpc_free(choice);
    return rc;
}

/* ---- graphs --------------------------------------------------------------------------------- */

static int cuda_capture(hpc_device *d)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->capture(c->self, c->why));
}

static int cuda_branch(hpc_device *d, const int32_t *guard)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->branch(c->self, guard, c->why));
}

static int cuda_captured(hpc_device *d, void **graph)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->captured(c->self, graph, c->why));
}

static int cuda_replay(hpc_device *d, void *graph)
{
    cuda_device *c = cuda_of(d);
    return outcome(c, c->library->replay(c->self, graph, c->why));
}

static void cuda_discard(hpc_device *d, void *graph)
{
    cuda_of(d)->library->discard(cuda_of(d)->self, graph);
}

static int cuda_fence(hpc_device *d)
{
    cuda_device *c = cuda_of(d);
    hpc_fault fault = {0};
    const int failure = c->library->fence(c->self, &fault, c->why);
    if (failure != 0) return failed(c, failure);
    if (fault.kind == HPC_FAULT_NONE) return HPC_OK;
    hpc_fault_fail(&fault);
    return hpc_error_where("%s #%d", fault.at.segment, fault.at.insn);
}

/* Functions that the card and the shim share. */
#define SHARED_OPS                                                                                 \
    .close = cuda_close, .alloc = cuda_alloc, .release = cuda_release, .fence = cuda_fence,        \
    .copy = cuda_copy, .launch = cuda_launch, .record = cuda_record, .wait = cuda_wait,            \
    .sync = cuda_sync, .elapsed = cuda_elapsed, .fill = cuda_fill, .host_alloc = cuda_host_alloc,  \
    .host_release = cuda_host_release, .layout = cuda_layout, .prepare = cuda_prepare,             \
    .products = cuda_products, .products_set = cuda_products_set, .available = cuda_available,     \
    .capture = cuda_capture, .branch = cuda_branch, .captured = cuda_captured,                     \
    .replay = cuda_replay, .discard = cuda_discard

const hpc_backend hpc_backend_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .stream = cuda_stream,
    .list = cuda_list,
    .check = cuda_check,
    SHARED_OPS,
};

const hpc_backend hpc_backend_cuda_shim = {
    .name = "cuda-shim",
    .poisoned = true,
    .open = shim_open,
    .check = shim_check,
    SHARED_OPS,
};
