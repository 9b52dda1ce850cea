/*
 * link.h: communication between ranks: links, the process grid, and traffic counts.
 *
 * A link connects the ranks of one group. Operations are started, then tested or waited
 * for. All ranks of a link start the same collectives in the same order; a mismatch is
 * an error that names both operations. To add a kind of link, fill an hpc_link_ops.
 * Buffers are host memory, or with a stream memory of a device; they must not change until
 * completion and must not overlap. The links of one rank and their handles belong to
 * one thread. Each test or wait makes progress on all collectives that this rank has in
 * flight.
 */
#ifndef HPC_LINK_H
#define HPC_LINK_H

#include "runtime/base/base.h"
#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- operations ----------------------------------------------------------- */
typedef enum hpc_comm_kind {
    HPC_ALL_REDUCE,     /* recv[n] = reduction over ranks of send[n], the same bits on all ranks */
    HPC_ALL_GATHER,     /* recv[size * n] = every rank's send[n], by rank */
    HPC_REDUCE_SCATTER, /* recv[n] = part `rank` of the reduction of send[size * n] */
    HPC_ALL_TO_ALL, /* recv part r = part `rank` of r's send; send, recv [size * n], or by counts */
    HPC_BROADCAST,  /* recv[n] = root's send[n]; others' send, root's recv may be NULL */
    HPC_SEND,       /* send[n] to `peer` under `tag`; may complete only once it is received */
    HPC_RECV,       /* recv[n] from `peer` under `tag`: matched by (peer, tag), not by order */
    HPC_COMM_KIND_N
} hpc_comm_kind;
typedef enum hpc_comm_reduce { HPC_COMM_SUM, HPC_COMM_MAX } hpc_comm_reduce;

typedef struct hpc_comm {
    hpc_comm_kind kind;
    hpc_dtype dtype;
    hpc_comm_reduce reduce; /* summed in rank order 0, 1, ...; bf16 and f16 in f32, rounded once */
    int peer, tag;          /* SEND, RECV; peer is the root for BROADCAST */
    int64_t n;              /* elements, as above */
    const void *send;
    void *recv;
    /* ALL_TO_ALL with variable counts: elements to and from each rank, parts back to back;
     * n is then unused. Both sides must agree, or both fail. */
    const int64_t *send_n, *recv_n;
    /* Set: the buffers are memory of the link's device, and the operation is issued in this stream
     * (hpc_backend's): after what was issued there before, and before what is issued there after
     * hpc_link_flush. For links with device_memory. NULL: the buffers are host memory. */
    void *stream;
} hpc_comm;

typedef struct hpc_link hpc_link;

/* The caller's storage for one operation in flight; zero it before first use. */
typedef struct hpc_handle {
    hpc_link *link; /* NULL when nothing is in flight */
    void *priv;
} hpc_handle;

int hpc_link_rank(const hpc_link *l);
int hpc_link_size(const hpc_link *l);
int hpc_link_start(hpc_link *l, hpc_handle *h, const hpc_comm *c); /* copies *c and its counts */
int hpc_link_test(hpc_handle *h, bool *done);     /* makes progress; never blocks */
int hpc_link_wait(hpc_handle *h);                 /* HPC_E_ABORTED once any rank has called abort */
int hpc_link_run(hpc_link *l, const hpc_comm *c); /* start and wait */
/* Sleeps until an operation of this rank may have ended, or for a short time. *seen: 0 before the
 * first call, which returns at once; test all handles after each call. */
void hpc_link_pause(hpc_link *l, unsigned *seen);
/* Issues all started operations that have a stream: until then messages may wait for others, with
 * which they form a group. */
int hpc_link_flush(hpc_link *l);
/* This rank fails: pending and later operations of every rank fail, with an error that names
 * this rank and `why`. */
void hpc_link_abort(hpc_link *l, const char *why);
/* Collective. HPC_OK if every rank passes HPC_OK. Otherwise all ranks return the code and record
 * the text of the lowest rank that failed; other ranks than 0 are named ("rank 2: ..."). */
int hpc_link_agree(hpc_link *l, int rc);
/* Collective. `lines`: "key=value" lines, each with a newline. If they differ from those of rank
 * 0, all ranks return HPC_E_ARG, with the first differing key, both values and `advice`. */
int hpc_link_same(hpc_link *l, const char *lines, const char *advice);
/* Collective. Ranks of equal color form a new link, ordered by (key, rank); color < 0: NULL. */
int hpc_link_split(hpc_link **out, hpc_link *l, int color, int key);
void hpc_link_close(hpc_link *l);
/* The name for messages, "axis data"; the first 31 bytes are kept. Splits do not inherit it. */
void hpc_link_name(hpc_link *l, const char *name);
/* Time limit of links between processes (mpi, nccl). If a wait or a series of tests sees no
 * progress for that long, this rank aborts with HPC_E_ABORTED; the text names the operation, the
 * link and the missing ranks. Splits inherit it. 0: no limit. Default: HPC_LINK_TIMEOUT_S. */
#define HPC_LINK_TIMEOUT_S 300.0
void hpc_link_timeout(hpc_link *l, double seconds);
const char *hpc_comm_name(hpc_comm_kind k); /* "all_reduce" */

/* ---- kinds of link --------------------------------------------------------- */
int hpc_link_self(hpc_link **out); /* one rank: every operation is a copy; no traffic is counted */

/* Runs n ranks as threads of this process, each with fn(the rank's world link, user). Returns
 * the failure of the lowest rank, with its record. A rank that fails aborts the others. */
int hpc_threads_run(int n, int (*fn)(hpc_link *world, void *user), void *user);

/* For tests. The sender calls it before a message becomes visible; it returns the number of
 * polls (tests, or rounds of a wait) for which the RECV does not see the message. Ranks are
 * those of the world. NULL: no delays. */
typedef int hpc_delay_fn(void *user, int from, int to, int tag);
int hpc_threads_run_delayed(int n, int (*fn)(hpc_link *world, void *user), void *user,
                            hpc_delay_fn *delay);

/* True if mpirun or srun started this process as one of several ranks, according to the
 * environment. */
bool hpc_mpi_launched(void);
/* Opens the world of those ranks. Collective; once in a process. `library`: path of
 * hpccoder-mpi.so; NULL: in the program's folder or in ../lib/hpccoder. HPC_E_UNSUPPORTED, with
 * a one-line text: this build has no MPI, or MPI does not allow calls from two threads. Closing
 * the last link finalizes MPI and waits for all ranks. Payloads of up to 2 KiB per rank travel
 * with the messages that compare the started operations. An ALL_REDUCE of that size takes one
 * step and (N-1) n b bytes; longer ones take 2(N-1)/N n b. A thread makes progress while the
 * rank computes, and sleeps while nothing is in flight. GPU buffers are staged, because the host
 * computes the sums. */
int hpc_mpi_open(hpc_link **world, const char *library);
/* Baselines for benchmarks: MPI's own blocking ALL_REDUCE, ALL_GATHER and REDUCE_SCATTER of f32,
 * with nothing else in flight; and the name of the MPI library. */
int hpc_mpi_peer(hpc_link *world, const hpc_comm *c);
const char *hpc_mpi_library(const hpc_link *world);

/* A link between GPUs over NCCL, with the ranks of `host`. `host` is borrowed; it sets NCCL up
 * and carries host data. Operations with a stream use memory of `device`. Collective.
 * HPC_E_UNSUPPORTED, with a one-line text: this build has no NCCL, or there is no CUDA device. It
 * guarantees less than other links. Sums have no fixed order, 16-bit types may be rounded more than
 * once, and a maximum may lose a NaN. Started operations are not compared. Messages of a pair match
 * in the order of their starts, whatever their tags. */
int hpc_nccl_open(hpc_link **out, hpc_link *host, int device, const char *library);

/* For implementers of links. comm.c has checked the arguments. It sets h->link after a
 * successful start and clears it after the test or wait that ends the operation; the link's own
 * state is in h->priv. */
typedef struct hpc_link_ops {
    const char *name;
    bool device_memory; /* takes operations with a stream (nccl); others go to the link `host` */
    int (*start)(hpc_link *l, hpc_handle *h, const hpc_comm *c);
    int (*test)(hpc_handle *h, bool *done);
    int (*wait)(hpc_handle *h);                 /* sleeps; does not spin */
    int (*flush)(hpc_link *l);                  /* NULL: nothing to do */
    void (*pause)(hpc_link *l, unsigned *seen); /* NULL: gives the CPU to others */
    void (*abort)(hpc_link *l, const char *why);
    int (*split)(hpc_link **out, hpc_link *l, int color, int key);
    void (*close)(hpc_link *l);
    /* Registers device memory that later operations use, until it is deregistered, which comes
     * before it is freed and before the link closes. *handle NULL: the link gains nothing by it.
     * Both NULL: no link of this kind does. */
    int (*register_memory)(hpc_link *l, void **handle, void *memory, size_t bytes);
    void (*deregister_memory)(hpc_link *l, void *handle);
} hpc_link_ops;

/* Data that this rank has sent, by the formulas of ring algorithms: ALL_REDUCE 2(N-1)/N nb,
 * ALL_GATHER and REDUCE_SCATTER (N-1)/N of the full tensor, ALL_TO_ALL the parts for other
 * ranks, BROADCAST nb at the root, SEND nb. */
typedef struct hpc_traffic {
    int64_t messages[HPC_COMM_KIND_N]; /* operations; SEND and RECV one each */
    int64_t bytes[HPC_COMM_KIND_N];
} hpc_traffic;

/* The bytes that this operation adds to the traffic. */
int64_t hpc_link_sends(const hpc_link *l, const hpc_comm *c);

struct hpc_link { /* the first member of every link */
    const hpc_link_ops *ops;
    int rank, size;
    char name[32];
    double timeout_s;
    hpc_link *host; /* link of the same ranks for host memory; NULL: this one */
    hpc_traffic traffic;
};

/* ---- the process grid ------------------------------------------------------ */
typedef enum hpc_axis {
    HPC_AXIS_DATA,
    HPC_AXIS_PIPE,
    HPC_AXIS_DEPTH,
    HPC_AXIS_ROW,
    HPC_AXIS_COL,
    HPC_AXIS_EXPERT,
    HPC_AXIS_N /* the number of axes */
} hpc_axis;
typedef uint32_t hpc_axes;             /* a set: bit 1 << axis */
const char *hpc_axis_name(hpc_axis a); /* "data" */

/* The axes from the one with the coarsest parts to the one with the finest, for an extent that
 * several axes split. */
extern const uint8_t hpc_axis_nesting[HPC_AXIS_N];

/* Mixed radix, slowest axis first: data, expert, pipe, depth, row, col. Adjacent world ranks
 * differ in col, then in row, and so on. */
typedef struct hpc_grid_shape {
    int extent[HPC_AXIS_N]; /* 0 is read as 1 */
} hpc_grid_shape;
/* "data=2,row=4"; an unknown axis or a number below 1 is an error that names it. */
int hpc_grid_parse(hpc_grid_shape *out, const char *text);
int hpc_grid_size(const hpc_grid_shape *s);
void hpc_grid_coords(int coord[HPC_AXIS_N], const hpc_grid_shape *s, int rank);
int hpc_grid_rank(const hpc_grid_shape *s, const int coord[HPC_AXIS_N]);

typedef struct hpc_grid hpc_grid;
/* Collective over world, which it borrows. HPC_E_SHAPE when the product is not the world's size. */
int hpc_grid_open(hpc_grid **out, hpc_link *world, const hpc_grid_shape *s);
void hpc_grid_close(hpc_grid *g);
const hpc_grid_shape *hpc_grid_shape_of(const hpc_grid *g);
int hpc_grid_coord(const hpc_grid *g, hpc_axis a);
hpc_link *hpc_grid_world(hpc_grid *g);
/* The link over a set of axes, created at first use. The first use of a set is collective over
 * the world, so all ranks must request sets in the same order. For the empty set and axes of
 * extent 1 it is the self link. */
int hpc_grid_link(hpc_link **out, hpc_grid *g, hpc_axes axes);
/* Traffic of the link for this set of axes; zeros if that link does not exist. */
hpc_traffic hpc_grid_traffic(const hpc_grid *g, hpc_axes axes);
void hpc_grid_traffic_clear(hpc_grid *g);

#ifdef __cplusplus
}
#endif
#endif
