/*
 * backend.c: the CPU as a device: host memory, kernels that the executor calls on the pool, and
 * synchronous copies. It has no queues, so there is nothing to launch, record, wait for or fence.
 */
#include "runtime/device/cpu/priv.h"

enum {
    HUGE_PAGE = 2 << 20, /* aligned so, memory is had in such pages: fewer faults and misses */
    LARGE = 8 * HUGE_PAGE
};

static void cpu_close(hpc_device *d)
{
    hpc_pool_free(d->pool);
    hpc_free(d);
}

static int cpu_open(hpc_device **out, const hpc_device_options *o)
{
    int rc = 0;
    hpc_device *d = hpc_alloc(1, sizeof *d);
    if (!d) TRY(HPC_E_NOMEM);
    d->backend = &hpc_backend_cpu;
    d->reference = &hpc_ref_kernels;
    d->info = (hpc_device_info){.backend = "cpu", .host_memory = true};
    TRY(hpc_cpu_kernels_find(&d->kernels, &d->info.isa, o->isa));
    d->cpu = hpc_cpu_traits_read(d->info.isa);
    d->info.cpu = &d->cpu;
    d->info.threads = hpc_cpu_threads(o->threads);
    TRY(hpc_pool_create(&d->pool, d->info.threads));
    *out = d;
    d = NULL;
out:
    if (d) cpu_close(d);
    return rc;
}

static int cpu_alloc(void **out, hpc_device *d, size_t bytes)
{
    (void)d;
    *out = hpc_alloc_aligned(bytes > 0 ? bytes : 1, 1, bytes >= LARGE ? HUGE_PAGE : HPC_ALIGN);
    return *out ? 0 : HPC_E_NOMEM;
}

static void cpu_release(hpc_device *d, void *p)
{
    (void)d;
    hpc_free(p);
}

static int cpu_copy(hpc_device *d, hpc_queue q, void *dst, const void *src, size_t bytes,
                    hpc_direction way)
{
    (void)d, (void)q, (void)way;
    memcpy(dst, src, bytes);
    return 0;
}

static int cpu_fence(hpc_device *d)
{
    (void)d;
    return 0;
}

static int cpu_fill(hpc_device *d, hpc_queue q, void *p, int byte, size_t bytes)
{
    (void)d, (void)q;
    memset(p, byte, bytes);
    return 0;
}

/* Products read panels, and block formats as integers. */
static hpc_layout cpu_layout(const hpc_device *d, hpc_weight_role role, hpc_dtype t)
{
    (void)d;
    if (role == HPC_WEIGHT_TABLE) return (hpc_layout){.pack = HPC_PLAIN};
    return (hpc_layout){.pack = HPC_PANEL16, .int8 = hpc_dtype_get(t)->quantised};
}

const hpc_backend hpc_backend_cpu = {
    .name = "cpu",
    .host_memory = true,
    .zeroed = true,
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .fence = cpu_fence,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .layout = cpu_layout,
};
