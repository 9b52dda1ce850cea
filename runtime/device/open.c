/*
 * open.c: devices: the registry of backends, opening and closing, and the accounting of memory that
 * all backends share. A backend implements memory and queues.
 */
#include <stdio.h>

#include "runtime/device/priv.h"

typedef struct hpc_allocation {
    void *p;
    size_t bytes;
} hpc_allocation;

/* Listed ones first. The shim is for tests: its name opens it, and no list has it. */
static const hpc_backend *const backends[] = {&hpc_backend_cpu, &hpc_backend_mock,
                                              &hpc_backend_cuda, &hpc_backend_cuda_shim};
enum { BACKEND_N = sizeof backends / sizeof backends[0], LISTED_N = BACKEND_N - 1 };

const char *const *hpc_device_backends(void)
{
    static const char *const names[] = {"cpu", "mock", "cuda", NULL};
    _Static_assert(sizeof names / sizeof names[0] == LISTED_N + 1, "one name for each backend");
    return names;
}

const hpc_backend *hpc_backend_named(const char *text, size_t n)
{
    for (int k = 0; k < BACKEND_N; k++)
        if (strlen(backends[k]->name) == n && strncmp(backends[k]->name, text, n) == 0)
            return backends[k];
    return NULL;
}

static int entries_of(const hpc_backend *b, hpc_device_entry *out, int most)
{
    hpc_assert(b);
    if (b->list || most < 1) return b->list ? b->list(out, most) : 0;
    *out = (hpc_device_entry){.usable = true};
    snprintf(out->name, sizeof out->name, "%s", b->name);
    snprintf(out->about, sizeof out->about, "instruction set %s", hpc_device_isas()[0]);
    return 1;
}

int hpc_device_list(hpc_device_entry *out, int most)
{
    int n = 0;
    for (int k = 0; k < LISTED_N; k++) n += entries_of(backends[k], out + n, most - n);
    return n;
}

/* The error names what a user may write instead. */
static int check_index(const hpc_backend *b, int index)
{
    enum { MOST = 64 };
    hpc_device_entry all[MOST];
    int n = index > 0 && !b->check ? entries_of(b, all, MOST) : index + 1;
    if (index < n) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "there is no device %s:%d; %s has %d", b->name, index, b->name, n);
}

/* Opening makes the checks of hpc_device_choose. */
static int choose(const hpc_backend **out, hpc_device_options *o)
{
    int rc;
    TRY(hpc_device_read(o, o->backend ? o->backend : "cpu"));
    *out = hpc_backend_named(o->backend, strlen(o->backend));
    if (o->library && !(*out)->check)
        TRY(hpc_fail(HPC_E_ARG, "backend '%s' has no library", o->backend));
    TRY(check_index(*out, o->index));
out:
    return rc;
}

int hpc_device_choose(hpc_device_options *out, const char *text)
{
    const hpc_backend *b;
    int rc;
    TRY(hpc_device_read(out, text));
    b = hpc_backend_named(out->backend, strlen(out->backend));
    if (b->check) TRY(b->check(out));
out:
    return rc;
}

int hpc_device_open(hpc_device **out, const hpc_device_options *options)
{
    int rc = 0;
    hpc_device_options o = options ? *options : (hpc_device_options){0};
    *out = NULL;
    const hpc_backend *backend = NULL;
    TRY(choose(&backend, &o));
    if (o.threads < 0) {
        TRY(hpc_fail(HPC_E_ARG,
                     "a device cannot have %d threads; use 1 or more, or 0 for one "
                     "per CPU",
                     o.threads));
    }
    TRY(backend->open(out, &o));
    (*out)->info.index = o.index;
out:
    return rc;
}

void hpc_device_close(hpc_device *d)
{
    if (!d) return;
    hpc_assert(d->live_n == 0); /* whoever allocated from the device frees before it closes */
    hpc_free(d->live);
    d->backend->close(d);
}

hpc_device_info hpc_device_about(const hpc_device *d)
{
    return d->info;
}

const hpc_backend *hpc_device_backend(const hpc_device *d)
{
    return d->backend;
}

const hpc_kernels *hpc_device_kernels(const hpc_device *d, bool f64)
{
    return f64 ? d->reference : d->kernels;
}

hpc_pool *hpc_device_pool(const hpc_device *d)
{
    return d->info.host_memory ? d->pool : NULL;
}

size_t hpc_device_available(hpc_device *d)
{
    return d->backend->available ? d->backend->available(d) : 0;
}

int hpc_device_alloc(void **out, hpc_device *d, size_t bytes)
{
    int rc = 0;
    *out = NULL;
    /* Room for the record first: nothing is left to undo when memory is out. */
    TRY(hpc_grow(&d->live, &d->live_cap, d->live_n + 1, sizeof *d->live));
    TRY(d->backend->alloc(out, d, bytes));
    d->live[d->live_n++] = (hpc_allocation){*out, bytes};
    d->info.alloc_n++;
    d->info.alloc_bytes += bytes;
    if (d->info.alloc_bytes > d->info.peak_bytes) d->info.peak_bytes = d->info.alloc_bytes;
out:
    return rc;
}

void hpc_device_free(hpc_device *d, void *p)
{
    if (!p) return;
    /* Few and large, and the newest mostly goes first: a list will do. */
    int64_t i = d->live_n - 1;
    while (i >= 0 && d->live[i].p != p) i--;
    hpc_assert(i >= 0); /* not this device's, or freed twice */
    d->info.alloc_bytes -= d->live[i].bytes;
    memmove(d->live + i, d->live + i + 1, (size_t)(--d->live_n - i) * sizeof *d->live);
    d->backend->release(d, p);
}

int hpc_device_copy(hpc_device *d, hpc_queue q, void *dst, const void *src, size_t bytes,
                    hpc_direction way)
{
    if (bytes == 0) return 0;
    if (way == HPC_TO_HOST) d->info.to_host_bytes += bytes;
    return d->backend->copy(d, q, dst, src, bytes, way);
}

int hpc_device_host_alloc(void **out, hpc_device *d, size_t bytes)
{
    if (d->backend->host_alloc) return d->backend->host_alloc(out, d, bytes);
    *out = hpc_alloc_aligned(bytes > 0 ? bytes : 1, 1, HPC_ALIGN);
    return *out ? 0 : HPC_E_NOMEM;
}

void hpc_device_host_free(hpc_device *d, void *p)
{
    if (p && d->backend->host_release)
        d->backend->host_release(d, p);
    else
        hpc_free(p);
}

int hpc_device_fill(hpc_device *d, hpc_queue q, void *p, int byte, size_t bytes)
{
    if (bytes == 0) return 0;
    return d->backend->fill(d, q, p, byte, bytes);
}

hpc_layout hpc_device_layout(const hpc_device *d, hpc_weight_role role, hpc_dtype t)
{
    const hpc_backend *b = d ? d->backend : &hpc_backend_cpu;
    return b->layout ? b->layout(d, role, t) : (hpc_layout){.pack = HPC_PLAIN};
}

int hpc_device_products(hpc_buf *out, hpc_device *d)
{
    return d->backend->products ? d->backend->products(out, d) : 0;
}

int hpc_device_products_set(bool *taken, hpc_device *d, const char *text, size_t bytes,
                            const char *source)
{
    hpc_json *root = NULL;
    int rc;
    *taken = false;
    TRY(hpc_json_parse(&root, text, bytes, source));
    if (d->backend->products_set) TRY(d->backend->products_set(taken, d, root));
out:
    hpc_json_free(root);
    return rc < 0 ? hpc_error_where("%s", source) : rc;
}

int hpc_device_fence(hpc_device *d)
{
    d->info.fence_n++;
    return d->backend->fence(d);
}
