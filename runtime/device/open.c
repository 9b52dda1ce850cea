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

/* Those of users first; the CUDA backends have kernels for a part of the ops only. */
static const hpc_backend *const backends[] = {&hpc_backend_cpu, &hpc_backend_mock,
                                              &hpc_backend_cuda, &hpc_backend_cuda_shim};
enum { BACKEND_N = sizeof backends / sizeof backends[0], LISTED_N = 2 };

const char *const *hpc_device_backends(void)
{
    static const char *const names[] = {"cpu", "mock", NULL};
    _Static_assert(sizeof names / sizeof names[0] == LISTED_N + 1, "one name for each backend");
    return names;
}

static int backend_find(const hpc_backend **out, const char *name)
{
    char known[128] = "";
    size_t used = 0;
    for (int i = 0; i < BACKEND_N; i++) {
        if (strcmp(backends[i]->name, name) == 0) {
            *out = backends[i];
            return 0;
        }
        if (i < LISTED_N && used < sizeof known) {
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                     backends[i]->name);
        }
    }
    return hpc_fail(HPC_E_UNSUPPORTED, "no backend '%s' in this build; it has %s", name, known);
}

int hpc_device_open(hpc_device **out, const hpc_device_options *options)
{
    int rc = 0;
    hpc_device_options o = options ? *options : (hpc_device_options){0};
    const hpc_backend *backend = NULL;
    *out = NULL;
    if (!o.backend) o.backend = "cpu";
    if (o.threads < 0) {
        TRY(hpc_fail(HPC_E_ARG,
                     "a device cannot have %d threads; use 1 or more, or 0 for one "
                     "per CPU",
                     o.threads));
    }
    TRY(backend_find(&backend, o.backend));
    TRY(backend->open(out, &o));
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
    return d->backend->copy(d, q, dst, src, bytes, way);
}

int hpc_device_fence(hpc_device *d)
{
    return d->backend->fence(d);
}
