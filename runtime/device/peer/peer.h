/*
 * peer.h: dense products of other libraries as a function table, as baselines for
 * benchmarks.
 *
 * The implementations are shared objects that are loaded at run time, so that nothing
 * else links these libraries. They call no hpccoder function.
 */
#ifndef HPC_PEER_H
#define HPC_PEER_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[m,n] = op(a) op(b), row-major, nothing packed beforehand: a is [m,k], or [k,m] if trans_a; b
 * is [k,n], or [n,k] if trans_b. */
typedef struct hpc_peer_product {
    int64_t m, k, n;
    bool trans_a, trans_b;
    hpc_dtype dtype; /* of a, b and y; of i8, y is i32 */
    int threads;
} hpc_peer_product;

typedef struct hpc_peer {
    const char *name;
    const char *(*version)(void);
    /* Prepares a product. NULL: this peer cannot do it. */
    void *(*open)(const hpc_peer_product *p);
    int (*run)(void *self, void *y, const void *a, const void *b); /* 0 when it went well */
    void (*close)(void *self);
} hpc_peer;

#define HPC_PEER_SYMBOL "hpc_peers"
/* Ends with NULL. */
extern __attribute__((visibility("default"))) const hpc_peer *const hpc_peers[];

#ifdef __cplusplus
}
#endif
#endif
