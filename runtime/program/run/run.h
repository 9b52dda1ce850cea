/*
 * run.h: programs on devices: the executor, re-entrant with yield points, and
 * schedules.
 *
 * Opening a program selects every kernel, places every value, resolves every
 * address and every wait; running it allocates nothing. On a host-memory device
 * every worker walks the list itself and meets the others only where data
 * require it; on others the caller's thread enqueues. An executor belongs to
 * one thread.
 */
#ifndef HPC_RUN_H
#define HPC_RUN_H

#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_exec hpc_exec;

/* State that lies in memory of somebody else, who keeps it there for the executor's life: it gets
 * none of its own, and is only read. */
typedef struct hpc_lent {
    hpc_value state;
    const void *data; /* aligned to HPC_ALIGN */
    size_t bytes;     /* those of its type */
} hpc_lent;

typedef struct hpc_exec_options {
    int slots;            /* microbatches or requests that may be in flight; 0: 1 */
    int poison;           /* fill arenas with NaN patterns at opening (tests) */
    bool dry;             /* select, place and count, but allocate nothing: it cannot run */
    bool profile;         /* host-memory devices: sum up the time of each instruction */
    int64_t events;       /* room to note when what ran: hpc_exec_events; 0: nothing is noted */
    const hpc_lent *lent; /* [lent_n], read when it is opened; host-memory devices only */
    int64_t lent_n;
} hpc_exec_options;

/* Borrows p and d (and grid; NULL: serial) for its life; with a grid, collective over its world.
 * Errors name the instruction: a missing kernel, an unsupported dtype, a collective over an axis
 * that the grid lacks. Lent state that an instruction writes is HPC_E_ARG, as is writing it later.
 */
int hpc_exec_open(hpc_exec **out, const hpc_program *p, hpc_device *d, hpc_grid *grid,
                  const hpc_exec_options *o);
void hpc_exec_close(hpc_exec *e);
/* What opening p on d, with one slot, would place, for whoever asks on another rank's behalf: no
 * links are needed, nothing is allocated but the answer, from `a`. */
int hpc_exec_place(hpc_placement *out, hpc_arena *a, const hpc_program *p, hpc_device *d);

/* Whole values of the slot (state: slot is ignored, zeros at opening). Reading fences first.
 * bytes must match. Of temporaries only those kept (hpc_program_keep) can be read. */
int hpc_exec_write(hpc_exec *e, int slot, hpc_value v, const void *data, size_t bytes);
int hpc_exec_read(hpc_exec *e, int slot, hpc_value v, void *data, size_t bytes);
/* Device address of a value: for zero-copy on host-memory devices, NULL on others. Of lent state it
 * is what was lent. */
void *hpc_exec_address(hpc_exec *e, int slot, hpc_value v);

/* The message tag of the slot's SEND and RECV instructions: its microbatch. */
void hpc_exec_microbatch(hpc_exec *e, int slot, int microbatch);

/* ---- running ------------------------------------------------------------------ */
/* One segment for one slot, to its end and through the fence. */
int hpc_exec_run(hpc_exec *e, int segment, int slot);

/* The same, re-entrant: step runs until the end (returns HPC_RUN_DONE) or to an instruction
 * whose message has not arrived (HPC_RUN_YIELD: call again, or step another run meanwhile).
 * Runs of different slots may interleave at yields. Errors are negative, as ever. */
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
/* Work as data. IN_ORDER runs the list in its order. ON_ARRIVAL runs tasks that `after` allows
 * and whose messages have arrived, smallest rank first. */
typedef struct hpc_task {
    int segment, slot;
    int microbatch;
    int after[2]; /* indices of tasks that must be done before; -1: none */
    int rank;     /* preference among those ready; equal: list order */
} hpc_task;
typedef enum hpc_schedule_kind { HPC_IN_ORDER, HPC_ON_ARRIVAL } hpc_schedule_kind;
/* `before` (optional) is called when a task starts, to set its slot's inputs. order (optional,
 * task_n ints) receives the order in which tasks finished. On deadlock the error names the stuck
 * task. */
int hpc_schedule_run(hpc_exec *e, hpc_schedule_kind kind, const hpc_task *task, int task_n,
                     int (*before)(hpc_exec *e, const hpc_task *t, void *user), void *user,
                     int *order);

/* ---- for people and tests --------------------------------------------------------- */
typedef struct hpc_exec_stats {
    int64_t instructions; /* of the segment */
    int64_t barriers;     /* host-memory devices; else waits between queues */
    int64_t yields;       /* points where it may yield */
    double flops, bytes;  /* by the op table */
} hpc_exec_stats;
hpc_exec_stats hpc_exec_stats_of(const hpc_exec *e, int segment);
/* Nanoseconds by instruction of the segment, over all its runs, on worker 0, with the waiting in
 * and after it; NULL unless profiling. */
const int64_t *hpc_exec_profile(const hpc_exec *e, int segment);
const hpc_placement *hpc_exec_placement(const hpc_exec *e);

/* ---- what ran when ---------------------------------------------------------------- */
typedef enum hpc_event_kind {
    HPC_EVENT_STEP,     /* as the caller notes it; insn: its number */
    HPC_EVENT_SEGMENT,  /* a run of one, from beginning to end */
    HPC_EVENT_KERNEL,   /* on worker 0 of host-memory devices */
    HPC_EVENT_START,    /* a transfer is started, */
    HPC_EVENT_PROGRESS, /* those in flight are carried forward between kernels, */
    HPC_EVENT_WAIT,     /* one is waited for: the time of these three is exposed; */
    HPC_EVENT_TRANSFER  /* and it was in flight, until that was seen to be over */
} hpc_event_kind;
typedef struct hpc_event {
    int64_t begin, end; /* hpc_clock_ns */
    int32_t segment, insn;
    uint8_t kind;
} hpc_event;
/* All since opening or clearing, until the room was full; by growing `end`. */
int64_t hpc_exec_events(const hpc_event **out, const hpc_exec *e);
void hpc_exec_note_step(hpc_exec *e, int64_t number, int64_t begin);
void hpc_exec_events_clear(hpc_exec *e);
void hpc_exec_events_end(hpc_exec *e); /* nothing is noted from now on */
/* Nanoseconds since opening in which worker 0 started, carried forward or waited for transfers:
 * communication that no computing hides. Counted whether or not events are. */
int64_t hpc_exec_exposed(const hpc_exec *e);
/* Appends the events as those of process `rank` in Chrome's trace format, a comma between any two;
 * times since `zero`. Lanes: steps and segments, computing, and communication by axes, where one
 * begins as the one before it in its lane ends. Bytes of a transfer: what hpc_traffic counts. */
int hpc_exec_trace(hpc_buf *out, const hpc_exec *e, int rank, int64_t zero);
/* The program with kernels, barriers, addresses; footers count instructions, barriers, bytes. */
int hpc_exec_print(hpc_buf *out, const hpc_exec *e);

#ifdef __cplusplus
}
#endif
#endif
