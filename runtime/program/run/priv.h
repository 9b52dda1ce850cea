/*
 * priv.h: the executor's inside, shared by the files of runtime/program/run.
 *
 * Opening turns each segment into a list of steps. On a host-memory device all
 * workers walk it (walk.c); on others the caller enqueues it (enqueue.c).
 */
#ifndef HPC_RUN_PRIV_H
#define HPC_RUN_PRIV_H

#include "runtime/device/kernel/backend.h"
#include "runtime/program/priv.h"
#include "runtime/program/run/run.h"

typedef enum step_kind {
    STEP_KERNEL,
    STEP_BARRIER, /* host memory: of all workers */
    STEP_JOIN,    /* queues: `queue` waits for the present end of `from` */
    STEP_START,   /* a transfer: worker 0 starts it */
    STEP_WAIT     /* until that transfer is done: a yield point, and a barrier */
} step_kind;

typedef struct step {
    uint8_t kind;
    uint8_t queue, from;
    int32_t insn;
    int32_t transfer;  /* START, WAIT: index into exec->transfer */
    hpc_kernel *run;   /* KERNEL */
    size_t args;       /* KERNEL: offset into a slot's arguments */
    int64_t workspace; /* offset in its arena */
    hpc_value guard;   /* HPC_NONE: always */
} step;

typedef struct transfer_plan { /* one collective instruction; in flight once for each slot */
    int32_t segment, insn;
    hpc_link *link;
    hpc_comm comm; /* without buffers */
    hpc_value send, recv;
    int64_t edge;
    hpc_queue queue; /* that its copies go through */
    bool exchange;   /* exchange.c runs it, and all of it when it starts */
    bool outlives;   /* a SEND of a slot's temporary: may be in flight past the segment's end */
    void *stream;    /* of the queue, where the link issues it: ordered as kernels are. Else NULL */
} transfer_plan;

typedef struct flight { /* a transfer of one slot */
    hpc_handle handle;
    void *send_stage, *recv_stage; /* host copies, where the device's memory is not the host's */
    int64_t since;                 /* hpc_clock_ns, when it was started */
    bool pending;                  /* started, and not yet done and copied to the device */
    bool posted;                   /* a receive that was started before its segment */
} flight;

typedef struct recorded {
    void *graph; /* of the backend; NULL: not yet */
    int64_t run_n;
} recorded;
typedef struct recorded_part { /* steps that a graph replaces */
    int64_t first, end;
    recorded *slot; /* [slots] */
} recorded_part;

typedef struct plan_segment {
    step *step;
    int64_t step_n, step_cap;
    recorded_part *part;
    int64_t part_n, part_cap;
    hpc_plan *plan; /* by instruction */
    int64_t *ns;    /* by instruction; NULL: not profiled */
    hpc_exec_stats stats;
} plan_segment;

enum { STAGE_N = 2, STAGE_PIECES = 4 };
typedef struct stage { /* a ring of pieces (stage.c) */
    void *memory;      /* [STAGE_PIECES * piece_bytes], of hpc_device_host_alloc */
    size_t piece_bytes;
    hpc_queue queue;
    int piece; /* that is filled, `used` bytes so far */
    size_t used;
    int event[STAGE_PIECES]; /* after which a busy piece is free */
    bool busy[STAGE_PIECES];
    int64_t fence_n; /* of the device, when it was last used */
} stage;

typedef struct timing { /* a kernel between two events */
    int from, to, segment;
    int32_t insn;
} timing;

struct hpc_exec {
    const hpc_program *p;
    hpc_device *device;
    hpc_grid *grid;
    hpc_link *self; /* when there is no grid */
    hpc_arena *arena;
    int slots, workers;
    bool host;
    hpc_placement place;
    bool *writable;               /* by value: lent to be written */
    const void **lent;            /* by value, views too: where it was lent; NULL: nothing is */
    uint8_t *memory[HPC_SPACE_N]; /* SLOT: the arenas of all slots, contiguous */
    size_t worker_bytes;          /* for each worker, after two regions of: */
    size_t coop_bytes;
    plan_segment *segment;
    size_t args_bytes; /* for each slot */
    uint8_t *args;     /* slots * args_bytes */
    transfer_plan *transfer;
    int64_t transfer_n;
    flight *flight; /* slots * transfer_n */
    int32_t *air;   /* collectives in flight: slot * transfer_n + transfer, oldest first */
    int32_t air_n;
    void *exchange_room[3]; /* for rows under way in an exchange, of exchange_bytes each */
    size_t exchange_bytes;
    int32_t exchange_counts[HPC_EXPERTS_MOST];
    hpc_link **issuing; /* links of transfers with a stream, each once */
    int issuing_n;
    void **registered; /* [issuing_n * HPC_SPACE_N]: handles of arenas */
    hpc_event *event;
    int64_t event_n, event_cap;
    int64_t exposed_ns, idle_ns[HPC_PHASE_N];
    int *microbatch; /* by slot */
    stage stage[STAGE_N];
    timing *timed; /* since the last fence; NULL: no profile, or one by the clock */
    int64_t timed_n, timed_cap, timed_fence;
    hpc_barrier barrier;
};

/* Device address of a value's memory (views displaced). */
void *hpc_exec_data(const hpc_exec *e, int slot, hpc_value v);
/* The mock's name for what a value's memory holds. */
uint32_t hpc_exec_id(const hpc_exec *e, hpc_value v);
/* The tensor of operand k: extents and type; data only if slot >= 0. */
hpc_tensor hpc_exec_tensor(const hpc_exec *e, int slot, const hpc_insn *i, int k);

/* The direction of a copy to or from v, where memory of the device would have `way`. */
hpc_direction hpc_lent_way(const hpc_exec *e, hpc_value v, hpc_direction way);
/* lend.c: checks the lent memory and fills e->lent. */
int hpc_lent_take(hpc_exec *e, const hpc_lent *lent, int64_t n);
int hpc_lent_check(const hpc_exec *e); /* all state that is outside was lent */

/* steps.c: hazards to barriers, joins and waits. */
int hpc_steps_make(hpc_exec *e, int segment);

/* transfer.c */
int hpc_transfers_open(hpc_exec *e);
/* Waits for all transfers of the slot; ignores their failures. */
void hpc_transfers_end(hpc_exec *e, int slot);
static inline flight *hpc_flight_of(const hpc_exec *e, int slot, int32_t t)
{
    return &e->flight[(int64_t)slot * e->transfer_n + t];
}
int hpc_transfer_start(hpc_exec *e, int slot, int32_t k);
/* Starts the receives of a segment before it runs, into memory that nothing else uses from the end
 * of the slot's previous segment on. Receives in streams and under guards start in their segment.
 */
int hpc_transfers_post(hpc_exec *e, int segment, int slot);
/* *done: the posted receives of the segment have landed. */
int hpc_transfers_landed(hpc_exec *e, int segment, int slot, bool *done);
/* Replaces a start whose guard is 0: does not change the receive buffer. */
int hpc_transfer_skip(hpc_exec *e, int slot, int32_t k);
/* *done: landed. block: wait for it. */
int hpc_transfer_finish(hpc_exec *e, int slot, int32_t k, bool block, bool *done);
/* Sends that outlived their segment. */
int hpc_transfers_settle(hpc_exec *e, int slot, bool block, bool *done);

/* Carries forward all collectives in flight, as some links do only when asked. */
int hpc_transfers_progress(hpc_exec *e);

/* exchange.c: an exchange is checked when the executor opens, which then makes room for the
 * largest.
 */
int hpc_exchange_open(hpc_exec *e, const hpc_insn *i);
int hpc_exchange_room(hpc_exec *e);
int hpc_exchange_run(hpc_exec *e, int slot, const hpc_insn *i);
/* admit.c: the same for the op admit, in the same space. */
int hpc_admit_open(hpc_exec *e, const hpc_insn *i);
int hpc_admit_run(hpc_exec *e, int slot, const hpc_insn *i);

/* trace.c: what began then ends now; START, PROGRESS and WAIT are exposed. Returns now. */
int64_t hpc_event_note(hpc_exec *e, hpc_event_kind kind, int32_t segment, int32_t insn,
                       int64_t begin);

/* Before an event is recorded: what links hold back is issued. */
int hpc_transfers_flush(hpc_exec *e);
/* Arenas that links registered: after they are allocated, and before they are freed. */
int hpc_transfers_register(hpc_exec *e);
void hpc_transfers_deregister(hpc_exec *e);
/* Waits for the transfers in streams, which would make a fence hang if a rank has failed. */
int hpc_transfers_fence(hpc_exec *e);

/* stage.c: copies `data` to device memory that holds v, before runs that are enqueued later. */
int hpc_stage_open(hpc_exec *e);
void hpc_stage_close(hpc_exec *e);
int hpc_stage_put(hpc_exec *e, hpc_value v, void *to, const void *data, size_t bytes);

/* profile.c: begin and end enclose the launch of a kernel; without a profile they do nothing. */
int hpc_profile_open(hpc_exec *e);
int hpc_profile_begin(hpc_exec *e, hpc_queue q);
int hpc_profile_end(hpc_exec *e, hpc_queue q, int segment, int32_t insn);
int hpc_profile_fence(hpc_exec *e); /* hpc_device_fence, and collects the times before it */

/* enqueue.c: `queue` waits for the present end of `from`. */
int hpc_queue_join(hpc_exec *e, hpc_queue queue, hpc_queue from);
/* Enqueues step k, which is a kernel or a join. */
int hpc_enqueue_step(hpc_run *r, int64_t k);

/* graph.c: parts of segments that run as graphs, where the device has them. */
int hpc_graphs_open(hpc_exec *e);
void hpc_graphs_close(hpc_exec *e); /* after a fence */
const recorded_part *hpc_graph_part(const plan_segment *g,
                                    int64_t at); /* NULL: none begins at it */
/* *done: it was enqueued; otherwise the caller enqueues its steps. */
int hpc_graph_run(hpc_run *r, const recorded_part *p, bool *done);

/* Tells all ranks that this one failed, by the recorded error; returns rc. (run.c) */
int hpc_exec_fail(const hpc_exec *e, int rc);

/* From r->at on; block: never yields. */
int hpc_walk(hpc_run *r, bool block);
int hpc_enqueue(hpc_run *r, bool block);

#endif
