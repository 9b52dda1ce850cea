/*
 * rail.c: the table of hpccoder-nccl.so over NCCL: one communicator for each link.
 *
 * The link decides how calls are grouped and what waits for what.
 */
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/link/nccl/rail.h"

_Static_assert(sizeof(ncclUniqueId) <= HPC_RAIL_ID, "an id fits");

typedef struct rail {
    ncclComm_t comm; /* NULL: aborted */
    int device, rank, size;
} rail;

/* ---- errors ---------------------------------------------------------------- */
static int cuda_says(cudaError_t e, char why[HPC_RAIL_TEXT])
{
    if (e != cudaSuccess) snprintf(why, HPC_RAIL_TEXT, "%s", cudaGetErrorString(e));
    return e != cudaSuccess;
}

static int nccl_says(ncclResult_t e, ncclComm_t comm, char why[HPC_RAIL_TEXT])
{
    if (e == ncclSuccess || e == ncclInProgress) return 0;
    const char *detail = ncclGetLastError(comm);
    snprintf(why, HPC_RAIL_TEXT, "%s%s%.180s", ncclGetErrorString(e), detail && *detail ? ": " : "",
             detail ? detail : "");
    return 1;
}

static int devices(int *n, char why[HPC_RAIL_TEXT])
{
    *n = 0;
    return cuda_says(cudaGetDeviceCount(n), why);
}

/* ---- opening and closing --------------------------------------------------- */
static int make_id(char id[HPC_RAIL_ID], char why[HPC_RAIL_TEXT])
{
    ncclUniqueId u;
    if (nccl_says(ncclGetUniqueId(&u), NULL, why)) return 1;
    memset(id, 0, HPC_RAIL_ID);
    memcpy(id, &u, sizeof u);
    return 0;
}

static void close_rail(void *self)
{
    rail *r = self;
    cudaSetDevice(r->device);
    if (r->comm) ncclCommDestroy(r->comm);
    free(r);
}

static int open_rail(void **self, int device, const char id[HPC_RAIL_ID], int rank, int size,
                     char why[HPC_RAIL_TEXT])
{
    ncclUniqueId u;
    rail *r = calloc(1, sizeof *r);
    if (!r) {
        snprintf(why, HPC_RAIL_TEXT, "out of memory");
        return 1;
    }
    memcpy(&u, id, sizeof u);
    r->device = device;
    r->rank = rank;
    r->size = size;
    if (cuda_says(cudaSetDevice(device), why) ||
        nccl_says(ncclCommInitRank(&r->comm, size, u, rank), NULL, why))
    {
        r->comm = NULL;
        close_rail(r);
        return 1;
    }
    *self = r;
    return 0;
}

static void abort_rail(void *self)
{
    rail *r = self;
    if (r->comm) ncclCommAbort(r->comm);
    r->comm = NULL;
}

/* ---- calls ----------------------------------------------------------------- */
/* What NCCL cannot name moves as bytes. */
static ncclDataType_t type_of(hpc_dtype d, size_t *unit)
{
    *unit = 0;
    switch (d) {
    case HPC_F32: return ncclFloat32;
    case HPC_F64: return ncclFloat64;
    case HPC_F16: return ncclFloat16;
    case HPC_BF16: return ncclBfloat16;
    case HPC_I32: return ncclInt32;
    case HPC_I64: return ncclInt64;
    default: *unit = 1; return ncclUint8;
    }
}

typedef struct plan { /* of one call: how NCCL counts */
    rail *r;
    const hpc_comm *c;
    ncclDataType_t type;
    size_t block, block_n; /* bytes of a block, units of NCCL's in it */
    int64_t elements;      /* in a block */
} plan;

static size_t units(const plan *p, int64_t n)
{
    return (size_t)(n / p->elements) * p->block_n;
}

static ncclResult_t exchange(const plan *p)
{
    const hpc_comm *c = p->c;
    const char *from = c->send;
    char *to = c->recv;
    ncclResult_t e = ncclSuccess;
    for (int s = 0; s < p->r->size && e == ncclSuccess; s++) {
        int64_t out = c->send_n ? c->send_n[s] : c->n, in = c->recv_n ? c->recv_n[s] : c->n;
        if (out > 0) e = ncclSend(from, units(p, out), p->type, s, p->r->comm, c->stream);
        if (in > 0 && e == ncclSuccess)
            e = ncclRecv(to, units(p, in), p->type, s, p->r->comm, c->stream);
        from += (size_t)(out / p->elements) * p->block;
        to += (size_t)(in / p->elements) * p->block;
    }
    return e;
}

static ncclResult_t call(const plan *p)
{
    const hpc_comm *c = p->c;
    size_t n = units(p, c->n);
    ncclComm_t comm = p->r->comm;
    cudaStream_t s = c->stream;
    ncclRedOp_t op = c->reduce == HPC_COMM_MAX ? ncclMax : ncclSum;
    void *root_recv = c->recv ? c->recv : (void *)(uintptr_t)c->send;
    switch (c->kind) {
    case HPC_ALL_REDUCE: return ncclAllReduce(c->send, c->recv, n, p->type, op, comm, s);
    case HPC_REDUCE_SCATTER: return ncclReduceScatter(c->send, c->recv, n, p->type, op, comm, s);
    case HPC_ALL_GATHER: return ncclAllGather(c->send, c->recv, n, p->type, comm, s);
    case HPC_BROADCAST: return ncclBroadcast(c->send, root_recv, n, p->type, c->peer, comm, s);
    case HPC_SEND: return ncclSend(c->send, n, p->type, c->peer, comm, s);
    case HPC_RECV: return ncclRecv(c->recv, n, p->type, c->peer, comm, s);
    default: return exchange(p);
    }
}

static ncclResult_t group(rail *r, const hpc_rail_call *list, int n)
{
    ncclResult_t e = ncclGroupStart(), ended;
    for (int k = 0; k < n && e == ncclSuccess; k++) {
        size_t bytes;
        plan p = {.r = r, .c = &list[k].c, .type = type_of(list[k].c.dtype, &bytes)};
        p.block = list[k].info->block_bytes;
        p.elements = list[k].info->block;
        p.block_n = bytes ? p.block : 1;
        if (list[k].c.n > 0 || list[k].c.send_n) e = call(&p);
    }
    ended = ncclGroupEnd();
    return e == ncclSuccess ? ended : e;
}

static int start(void *self, const hpc_rail_call *list, int n, char why[HPC_RAIL_TEXT])
{
    rail *r = self;
    if (!r->comm) {
        snprintf(why, HPC_RAIL_TEXT, "it was aborted");
        return 1;
    }
    if (cuda_says(cudaSetDevice(r->device), why)) return 1;
    if (nccl_says(group(r, list, n), r->comm, why)) return 1;
    for (int k = 0; k < n; k++)
        if (cuda_says(cudaEventRecord(list[k].mark, list[k].c.stream), why)) return 1;
    return 0;
}

static int make_mark(void *self, void **mark, char why[HPC_RAIL_TEXT])
{
    rail *r = self;
    cudaEvent_t e;
    if (cuda_says(cudaSetDevice(r->device), why)) return 1;
    if (cuda_says(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), why)) return 1;
    *mark = e;
    return 0;
}

static void unmark(void *self, void *mark)
{
    (void)self;
    cudaEventDestroy(mark);
}

/* NCCL reports a broken connection or a dead device only asynchronously; the stream then never
 * finishes. */
static int test(void *self, void *mark, bool *done, char why[HPC_RAIL_TEXT])
{
    rail *r = self;
    ncclResult_t beside = ncclSuccess;
    cudaError_t e = cudaEventQuery(mark);
    *done = e == cudaSuccess;
    if (*done) return 0;
    if (e != cudaErrorNotReady) return cuda_says(e, why);
    if (!r->comm) return 0;
    if (nccl_says(ncclCommGetAsyncError(r->comm, &beside), r->comm, why)) return 1;
    return nccl_says(beside, r->comm, why);
}

/* Registration is for speed: where NCCL does not offer it for this memory, calls stage. */
static int register_memory(void *self, void **handle, void *memory, size_t bytes,
                           char why[HPC_RAIL_TEXT])
{
    *handle = NULL;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
    rail *r = self;
    if (!r->comm) {
        snprintf(why, HPC_RAIL_TEXT, "it was aborted");
        return 1;
    }
    if (cuda_says(cudaSetDevice(r->device), why)) return 1;
    const ncclResult_t e = ncclCommRegister(r->comm, memory, bytes, handle);
    if (e != ncclInvalidUsage && e != ncclInvalidArgument) return nccl_says(e, r->comm, why);
    *handle = NULL;
#else
    (void)self, (void)memory, (void)bytes, (void)why;
#endif
    return 0;
}

static void deregister_memory(void *self, void *handle)
{
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
    const rail *r = self;
    if (r->comm) ncclCommDeregister(r->comm, handle);
#else
    (void)self, (void)handle;
#endif
}

extern __attribute__((visibility("default"))) const hpc_rail hpc_rail_nccl;
const hpc_rail hpc_rail_nccl = {
    .version = HPC_RAIL_VERSION,
    .devices = devices,
    .id = make_id,
    .open = open_rail,
    .mark = make_mark,
    .unmark = unmark,
    .start = start,
    .test = test,
    .register_memory = register_memory,
    .deregister_memory = deregister_memory,
    .abort = abort_rail,
    .close = close_rail,
};
