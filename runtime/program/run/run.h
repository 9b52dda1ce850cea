/*
 * run.h: execution of programs on devices: the executor, whose runs can yield, and schedules.
 *
 * Opening a program selects every kernel, places every value, and resolves every address and every
 * wait; running it allocates nothing. On a device with host memory, every worker walks the list of
 * instructions, and workers synchronise only where data require it. On other devices the calling
 * thread enqueues the instructions. An executor belongs to one thread.
 *
 * A failed run or fence aborts the grid's link, so that peers fail instead of waiting.
 */
#ifndef HPC_RUN_H
#define HPC_RUN_H

#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_exec hpc_exec;

/* State in memory of the caller, who keeps it for the life of the executor. It is read in place,
 * and written only if `writable`. */
typedef struct hpc_lent {
    hpc_value state;
    const void *data; /* aligned to HPC_ALIGN; plain values to 32; of hpc_device_host_alloc unless
                         the device has host_memory */
    size_t bytes;     /* must be hpc_type_bytes of its type */
    bool writable;    /* instructions and hpc_exec_write may write it */
} hpc_lent;

typedef struct hpc_exec_options {
    int slots;            /* microbatches or requests that may be in flight; 0: 1 */
    int poison;           /* fill arenas with NaN patterns at opening (tests) */
    bool dry;             /* select, place and count, but allocate no arenas: it cannot run */
    bool profile;         /* accumulate the time of each instruction */
    int64_t events;       /* capacity of the record of events: hpc_exec_events; 0: no record */
    const hpc_lent *lent; /* [lent_n], read at opening; where hpc_exec_lends */
    int64_t lent_n;
    int products; /* hpc_products */
} hpc_exec_options;

/* Can programs on d use state in memory of the caller? */
bool hpc_exec_lends(const hpc_device *d);
/* Borrows p, d and grid (NULL: serial) until it is closed; with a grid, the call is collective over
 * its world. Errors name the instruction: a missing kernel, an unsupported dtype, a collective over
 * an axis that the grid lacks. HPC_E_ARG: an instruction writes lent state; state that is
 * outside was not lent. */
int hpc_exec_open(hpc_exec **out, const hpc_program *p, hpc_device *d, hpc_grid *grid,
                  const hpc_exec_options *o);
void hpc_exec_close(hpc_exec *e);
/* The placement that opening p on d with that many slots would have, for example to plan another
 * rank: it needs no link, and allocates only the result, from `a`. */
int hpc_exec_place(hpc_placement *out, hpc_arena *a, const hpc_program *p, hpc_device *d,
                   int slots);

/* Write and read whole values of the slot; state is common to all slots, and zero at opening. A
 * write copies `data` before it returns and does not fence: runs that start later see it. A read
 * fences once. HPC_E_SHAPE: `bytes` is not the size of the type. HPC_E_ARG: a write to a temporary
 * or to lent state. HPC_E_STATE: a read of a temporary without hpc_program_keep. */
int hpc_exec_write(hpc_exec *e, int slot, hpc_value v, const void *data, size_t bytes);
int hpc_exec_read(hpc_exec *e, int slot, hpc_value v, void *data, size_t bytes);
/* The same of bytes at, at + 1, ..., and of the first rows (by the first extent, plain values). */
int hpc_exec_write_part(hpc_exec *e, int slot, hpc_value v, size_t at, const void *data,
                        size_t bytes);
int hpc_exec_read_rows(hpc_exec *e, int slot, hpc_value v, void *data, int64_t rows);
/* Reads without a fence: `data` is valid after the next one. */
int hpc_exec_fetch(hpc_exec *e, int slot, hpc_value v, void *data, size_t bytes);
int hpc_exec_fetch_rows(hpc_exec *e, int slot, hpc_value v, void *data, int64_t first,
                        int64_t rows);
/* Reads state while later runs compute: begin, then fetch each value through the copy queue, in the
 * order after all runs so far. `data` is valid after the next fence; of hpc_device_host_alloc, it
 * does not hold up the calling thread. Call `end` before a run that writes one of these values: it
 * lets later runs wait for the reads. */
int hpc_exec_snapshot_begin(hpc_exec *e);
int hpc_exec_snapshot_fetch(hpc_exec *e, hpc_value v, void *data, size_t bytes);
int hpc_exec_snapshot_end(hpc_exec *e);
/* Address of a value on a host-memory device, for access without copies; NULL on other devices. For
 * lent state, the lent address. */
void *hpc_exec_address(hpc_exec *e, int slot, hpc_value v);

/* The message tag of the slot's SEND and RECV instructions: its microbatch. */
void hpc_exec_microbatch(hpc_exec *e, int slot, int microbatch);

/* ---- running ------------------------------------------------------------------ */
/* Runs one segment for one slot to its end, then fences. */
int hpc_exec_run(hpc_exec *e, int segment, int slot);

/* The same without the fence. On a host-memory device it has run; on others it is enqueued, and the
 * next fence reports its failure. */
int hpc_exec_enqueue(hpc_exec *e, int segment, int slot);

/* The same in steps. hpc_run_step runs to the end and returns HPC_RUN_DONE, without a fence; or to
 * an instruction whose message has not arrived, and returns HPC_RUN_YIELD: call it again, or step
 * another run meanwhile. Runs of different slots may interleave at yields. */
enum { HPC_RUN_DONE = 0, HPC_RUN_YIELD = 1 };
typedef struct hpc_run {
    hpc_exec *exec;
    int segment, slot;
    int64_t at;
} hpc_run;
int hpc_run_begin(hpc_run *r, hpc_exec *e, int segment, int slot);
int hpc_run_step(hpc_run *r);
int hpc_exec_fence(hpc_exec *e);

/* ---- schedules ------------------------------------------------------------------ */
/* Lists of tasks. The tasks of a slot run in list order. IN_ORDER runs all in list order;
 * ON_ARRIVAL runs a task whose predecessors are done and whose messages have arrived, smallest rank
 * first. Each slot has the receives of its next task posted: before a task's kernels run, the
 * calling thread sleeps until they have landed. So they must not depend on sends of their own
 * segment. */
typedef struct hpc_task {
    int segment, slot;
    int microbatch;
    int after[2]; /* indices of predecessors, or -1 */
    int rank;     /* priority among ready tasks, smallest first; equal ranks: list order */
} hpc_task;
typedef enum hpc_schedule_kind { HPC_IN_ORDER, HPC_ON_ARRIVAL } hpc_schedule_kind;
typedef struct hpc_schedule {
    hpc_schedule_kind kind;
    const hpc_task *task; /* [task_n] */
    int task_n;
    /* ON_ARRIVAL: ranks along these axes start the same collectives in tasks; the first of them
     * decides the order of tasks for all. 0: each rank decides. */
    hpc_axes together;
    /* Optional: called when a task starts, to set its slot's inputs, and when it has ended, before
     * the slot's memory is received into. */
    int (*before)(hpc_exec *e, const hpc_task *t, void *user);
    int (*after)(hpc_exec *e, const hpc_task *t, void *user);
    void *user;
    int *order; /* optional, out: [task_n] the order in which tasks ended */
} hpc_schedule;
/* Ends without a fence: on devices with queues, the next fence reports failures of kernels.
 * HPC_E_STATE names a task that can never start. A message that never arrives is detected only by a
 * link with a time limit. HPC_E_UNSUPPORTED: ON_ARRIVAL over a link that matches messages in the
 * order of their starts (nccl). */
int hpc_schedule_run(hpc_exec *e, const hpc_schedule *s);

/* ---- statistics ------------------------------------------------------------------- */
typedef struct hpc_exec_stats {
    int64_t instructions; /* of the segment */
    int64_t barriers;     /* host-memory devices; on others, waits between queues */
    int64_t yields;       /* points where a run may yield */
    double flops, bytes;  /* from the op table */
} hpc_exec_stats;
hpc_exec_stats hpc_exec_stats_of(const hpc_exec *e, int segment);
/* Nanoseconds of each instruction of the segment over all runs; NULL unless profiling. Host-memory
 * devices: on worker 0, including the waits in and after it. Others: of kernels, up to the last
 * fence. */
const int64_t *hpc_exec_profile(const hpc_exec *e, int segment);
const hpc_placement *hpc_exec_placement(const hpc_exec *e);

/* ---- events ----------------------------------------------------------------------- */
typedef enum hpc_event_kind {
    HPC_EVENT_STEP,     /* recorded by the caller; insn: its number */
    HPC_EVENT_SEGMENT,  /* a run of a segment */
    HPC_EVENT_KERNEL,   /* a kernel, on worker 0 of host-memory devices */
    HPC_EVENT_START,    /* exposed time: starting a transfer, */
    HPC_EVENT_PROGRESS, /* advancing transfers between kernels, */
    HPC_EVENT_WAIT,     /* waiting for a transfer */
    HPC_EVENT_TRANSFER, /* a transfer in flight, until its end was noticed */
    HPC_EVENT_IDLE      /* a schedule had no task to run until the messages of this segment came */
} hpc_event_kind;
typedef struct hpc_event {
    int64_t begin, end; /* hpc_clock_ns */
    int32_t segment, insn;
    uint8_t kind;
} hpc_event;
/* Events since opening or clearing, in order of `end`; those beyond the capacity are lost. */
int64_t hpc_exec_events(const hpc_event **out, const hpc_exec *e);
void hpc_exec_note_step(hpc_exec *e, int64_t number, int64_t begin);
void hpc_exec_events_clear(hpc_exec *e);
void hpc_exec_events_end(hpc_exec *e); /* stops recording */
/* Nanoseconds since opening in which worker 0 started, advanced or waited for transfers: exposed
 * communication. Counted even without a record of events. */
int64_t hpc_exec_exposed(const hpc_exec *e);
/* Nanoseconds since opening in which a schedule had nothing to run until the messages of a segment
 * of this phase came: bubbles. */
int64_t hpc_exec_idle(const hpc_exec *e, hpc_phase phase);
/* Appends the events as process `rank` in Chrome's trace format, separated by commas; times are
 * relative to `zero`. Lanes: steps and segments, computation, and communication by axes, where a
 * transfer begins when its predecessor in the lane ends. Bytes are those that hpc_traffic counts.
 */
int hpc_exec_trace(hpc_buf *out, const hpc_exec *e, int rank, int64_t zero);
/* Prints the program with kernels, barriers and addresses, and per segment the number of
 * instructions, barriers and bytes. */
int hpc_exec_print(hpc_buf *out, const hpc_exec *e);

#ifdef __cplusplus
}
#endif
#endif
