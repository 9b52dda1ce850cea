/*
 * backend.h: the entries of a backend and the beginning of its device.
 *
 * To add a backend, fill one hpc_backend and one hpc_kernels, and list it in device/open.c.
 */
#ifndef HPC_BACKEND_H
#define HPC_BACKEND_H

#include "runtime/device/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Entries from `launch` to `wrote` are NULL when host_memory: then the executor calls kernels on
 * the device's pool itself. Launch copies what it needs of args (its layout is signature's). */
typedef struct hpc_backend {
    const char *name;
    bool host_memory, zeroed; /* zeroed: memory comes as zeros */
    int (*open)(hpc_device **out, const hpc_device_options *o);
    void (*close)(hpc_device *d);
    int (*alloc)(void **out, hpc_device *d, size_t bytes);
    void (*release)(hpc_device *d, void *p);
    /* Waits for all queues. The faults that kernels noted fail it (hpc_fault_fail), with the
     * origin of the launch in front. */
    int (*fence)(hpc_device *d);
    int (*copy)(hpc_device *d, hpc_queue q, void *dst, const void *src, size_t bytes,
                hpc_direction way);
    /* guard: device scalar; the kernel runs where it is not 0. NULL: always. */
    int (*launch)(hpc_device *d, hpc_queue q, const hpc_plan *p, const hpc_signature *s,
                  const void *args, void *workspace, const int32_t *guard, hpc_origin at);
    /* A point in q, to wait for. A fence recycles the numbers of all events. */
    int (*record)(hpc_device *d, hpc_queue q, int *event);
    int (*wait)(hpc_device *d, hpc_queue q, int event); /* q waits for it */
    void *(*stream)(hpc_device *d, hpc_queue q); /* for links that issue transfers in it; or NULL */
    /* From this point of q on, [p, p+bytes) holds the value `id` (written by a copy); or NULL. */
    int (*wrote)(hpc_device *d, hpc_queue q, void *p, size_t bytes, uint32_t id);
    /* The host waits for it. */
    int (*sync)(hpc_device *d, int event);
    /* Time between two events of one queue, both before the last fence and after which no event
     * was recorded. */
    int (*elapsed)(hpc_device *d, int from, int to, int64_t *ns);
    /* Sets every byte. Required unless `zeroed`. */
    int (*fill)(hpc_device *d, hpc_queue q, void *p, int byte, size_t bytes);
    bool poisoned; /* memory comes as NaN patterns */
    /* Pinned host memory, which copies reach without the driver's staging; NULL: ordinary. */
    int (*host_alloc)(void **out, hpc_device *d, size_t bytes);
    void (*host_release)(hpc_device *d, void *p);
    /* NULL: plain rows, and block formats are multiplied as real numbers. */
    hpc_layout (*layout)(const hpc_device *d, hpc_weight_role role, hpc_dtype t);
    /* Its devices, at most `most`, with the reason where one is not usable; returns their number.
     * NULL: one, which is usable. */
    int (*list)(hpc_device_entry *out, int most);
    /* Can `o` be opened? Fails as `open` would, without starting the device. NULL: always. A
     * backend that has it is in a shared object, which o->library may name. */
    int (*check)(const hpc_device_options *o);
    /* Chooses the algorithms of the products of a plan that `multiplies`, before its first launch.
     * args have addresses, which are not accessed. NULL: there is nothing to choose. */
    int (*prepare)(hpc_device *d, const hpc_plan *p, const hpc_signature *s, const void *args,
                   void *workspace);
    /* hpc_device_products and hpc_device_products_set; NULL: products have one algorithm. */
    int (*products)(hpc_buf *out, hpc_device *d);
    int (*products_set)(bool *taken, hpc_device *d, const hpc_json *record);
    size_t (*available)(hpc_device *d); /* as hpc_device_available; NULL: unknown */
    /* Graphs, if info.graphs. From `capture` to `captured`, launches, copies on the device, fills,
     * records and waits are recorded and do not run. No fence, sync, allocation or copy of host
     * memory may come between. A queue other than HPC_COMPUTE first waits for an event of the
     * capture, and HPC_COMPUTE finally waits for its last command. Launches in HPC_COMPUTE after
     * branch(guard) form one branch, up to branch(NULL): replays skip it where the guard is 0, and
     * no launch of the branch writes its guard. */
    int (*capture)(hpc_device *d);
    int (*branch)(hpc_device *d, const int32_t *guard);
    int (*captured)(hpc_device *d, void **graph); /* graph NULL: abandons the capture */
    /* Enqueues all its commands in HPC_COMPUTE, with the same addresses and arguments. */
    int (*replay)(hpc_device *d, void *graph);
    void (*discard)(hpc_device *d, void *graph); /* after a fence */
} hpc_backend;

/* The first member of every backend's device. */
struct hpc_device {
    const hpc_backend *backend;
    const hpc_kernels *kernels;   /* for f32, bf16 and the weight formats */
    const hpc_kernels *reference; /* used if any operand is f64; NULL: none */
    hpc_pool *pool;
    hpc_device_info info;        /* allocations and fences are counted in device/open.c */
    hpc_cpu_traits cpu;          /* info.cpu */
    struct hpc_allocation *live; /* kept by open.c as well; zeroed by the backend's open */
    int64_t live_n, live_cap;
};

#ifdef __cplusplus
}
#endif
#endif
