/*
 * link.h: ranks talking to each other: links, the process grid, and the count
 * of every byte.
 *
 * A link connects the ranks of one group. Operations are started and then
 * tested or waited for; all ranks of a link start the same collectives in the
 * same order (a mismatch is an error that names both). To add a kind of link
 * (mpi, nccl) fill one hpc_link_ops. Buffers are host memory unless the link
 * says otherwise, stay untouched until completion, and never overlap. The links
 * of one rank and their handles belong to one thread, and each test or wait
 * carries forward all collectives that this rank has in flight.
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
/* This rank fails: every rank's pending and later operations fail, naming this rank and `why`. */
void hpc_link_abort(hpc_link *l, const char *why);
/* Collective: HPC_OK when every rank comes with that; else on all of them the code and the text of
 * the first that failed, "rank 2: ..." where it is not rank 0. */
int hpc_link_agree(hpc_link *l, int rc);
/* Collective. Lines "key=value", each with its end: HPC_E_ARG, as above, by the first that is not
 * as on rank 0: the key, both values, and then `advice`. */
int hpc_link_same(hpc_link *l, const char *lines, const char *advice);
/* Collective. Ranks of equal color form a new link, ordered by (key, rank); color < 0: NULL. */
int hpc_link_split(hpc_link **out, hpc_link *l, int color, int key);
void hpc_link_close(hpc_link *l);
/* For messages: "axis data"; at most 31 bytes of it are kept. Not inherited by splits. */
void hpc_link_name(hpc_link *l, const char *name);
/* Of links whose ranks are processes (mpi, nccl): once a wait, or a series of tests, has seen
 * nothing move for so long, this rank aborts with HPC_E_ABORTED and a text that names the
 * operation, the link and the ranks that have not come. Splits inherit it; 0: never.
 * HPC_LINK_TIMEOUT_S unless set. */
#define HPC_LINK_TIMEOUT_S 300.0
void hpc_link_timeout(hpc_link *l, double seconds);
const char *hpc_comm_name(hpc_comm_kind k); /* "all_reduce" */

/* ---- kinds of link --------------------------------------------------------- */
int hpc_link_self(hpc_link **out); /* one rank; everything is a copy, nothing is counted */

/* n ranks as threads of this process: runs fn(rank's world link, user) on n threads and
 * returns the first failure by rank, its record copied; a rank that fails aborts the others. */
int hpc_threads_run(int n, int (*fn)(hpc_link *world, void *user), void *user);

/* For tests: called by the sender before a message becomes visible; returns the polls (tests, or
 * turns of a wait) of its RECV for which to hide it. Ranks are the world's; NULL: no delays. */
typedef int hpc_delay_fn(void *user, int from, int to, int tag);
int hpc_threads_run_delayed(int n, int (*fn)(hpc_link *world, void *user), void *user,
                            hpc_delay_fn *delay);

/* Ranks as processes, started by mpirun or srun. Whether this is one of several, by the
 * environment: */
bool hpc_mpi_launched(void);
/* Collective over all of them; once in a process. `library`: path of hpccoder-mpi.so; NULL: beside
 * the program or in ../lib/hpccoder. HPC_E_UNSUPPORTED, in one line: this build has no MPI, or MPI
 * cannot be called from two threads in turn. Closing the last link ends MPI, and waits until all
 * ranks do so. Up to 2 KiB a rank come with the letters that compare what ranks have started, so
 * ALL_REDUCE of that takes one step and (N-1) n b bytes; longer ones take 2(N-1)/N n b. A thread
 * makes progress while the rank computes, and sleeps when nothing is in flight. Memory of a GPU is
 * staged, because sums are made by the host. */
int hpc_mpi_open(hpc_link **world, const char *library);
/* To be measured beside ours: ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER of f32 by MPI itself,
 * blocking, with nothing else in flight; and its name. */
int hpc_mpi_peer(hpc_link *world, const hpc_comm *c);
const char *hpc_mpi_library(const hpc_link *world);

/* GPUs over NCCL, rank by rank with `host`, which is borrowed and brings them together; buffers are
 * memory of `device`. Collective. HPC_E_UNSUPPORTED, in one line: this build has no NCCL, or there
 * is no CUDA device. Less is promised than by other links: sums run in no fixed order and halves
 * may be rounded more than once; what ranks start is not compared; messages of a pair are matched
 * in the order in which both start them, whatever their tags; maxima need not keep a NaN. */
int hpc_nccl_open(hpc_link **out, hpc_link *host, int device, const char *library);

/* For authors of links. Arguments have been checked by then; h->link is set after a start that
 * succeeds and cleared after the test or wait that ends it: a link keeps its own in h->priv. */
typedef struct hpc_link_ops {
    const char *name;
    bool device_memory; /* takes device pointers as they are (nccl) */
    int (*start)(hpc_link *l, hpc_handle *h, const hpc_comm *c);
    int (*test)(hpc_handle *h, bool *done);
    int (*wait)(hpc_handle *h); /* sleeps rather than burns a core */
    void (*abort)(hpc_link *l, const char *why);
    int (*split)(hpc_link **out, hpc_link *l, int color, int key);
    void (*close)(hpc_link *l);
} hpc_link_ops;

/* What this rank sent to others, as a ring would: AR 2(N-1)/N nb, AG and RS (N-1)/N of the full
 * tensor, A2A what leaves the rank, BROADCAST nb at the root, SEND nb. */
typedef struct hpc_traffic {
    int64_t messages[HPC_COMM_KIND_N]; /* operations; SEND and RECV one each */
    int64_t bytes[HPC_COMM_KIND_N];
} hpc_traffic;

/* What this one adds to that. */
int64_t hpc_link_sends(const hpc_link *l, const hpc_comm *c);

struct hpc_link { /* links embed it first */
    const hpc_link_ops *ops;
    int rank, size;
    char name[32];
    double timeout_s;
    hpc_link *host; /* of the same ranks, for memory of the host; NULL: this one */
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

/* The axes from that whose parts are coarsest, where several split one extent, to the finest. */
extern const uint8_t hpc_axis_nesting[HPC_AXIS_N];

/* Mixed radix, slowest axis first: data, expert, pipe, depth, row, col. So neighbours in the world
 * differ in col, then in row, ... */
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
/* The link over a set of axes, made at first use: collective over the world the first time a set
 * is named, so all ranks must name sets in the same order. The empty set and axes of extent 1 give
 * the self link. */
int hpc_grid_link(hpc_link **out, hpc_grid *g, hpc_axes axes);
/* By axes and operation: of the link made for that set; zeros when there is none. */
hpc_traffic hpc_grid_traffic(const hpc_grid *g, hpc_axes axes);
void hpc_grid_traffic_clear(hpc_grid *g);

#ifdef __cplusplus
}
#endif
#endif
