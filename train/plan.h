/*
 * plan.h: a training plan as a value: grid and passes, layouts of parameters, stages, and the tasks
 * of a step. Trainer, prover, simulator, `plan show` and checkpoints read it.
 */
#ifndef HPC_TRAIN_PLAN_H
#define HPC_TRAIN_PLAN_H

#include "runtime/program/offload.h"
#include "train/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tasks ----------------------------------------------------------------------------- */
typedef enum hpc_plan_run {
    HPC_PLAN_FORWARD,
    HPC_PLAN_BACKWARD,
    HPC_PLAN_EMBED, /* shared tasks of all ranks along pipe, with HPC_VOCAB_INTERLACED */
    HPC_PLAN_HEAD,
    HPC_PLAN_TABLE,
    HPC_PLAN_NORM,    /* here and after: once in a step */
    HPC_PLAN_REFRESH, /* only in steps with a refresh */
    HPC_PLAN_UPDATE,
    HPC_PLAN_GATHER,
    HPC_PLAN_RUN_N
} hpc_plan_run;
extern const char *const hpc_plan_run_names[]; /* by hpc_plan_run, NULL-terminated */
static inline bool hpc_plan_run_is_gradient(int run)
{
    return run < HPC_PLAN_NORM;
}
static inline bool hpc_plan_run_is_shared(int run)
{
    return run >= HPC_PLAN_EMBED && run <= HPC_PLAN_TABLE;
}
typedef struct hpc_plan_task {
    int run;              /* hpc_plan_run: the segment, with: */
    int chunk;            /* FORWARD, BACKWARD: stage of the rank, from 0 */
    int microbatch, slot; /* slot: memory that holds a microbatch in flight */
    int after[2];         /* tasks of the same list, or -1 */
    int rank;             /* preference among tasks that can start: smallest first */
} hpc_plan_task;
typedef struct hpc_plan_list { /* of the ranks at one coordinate of the pipe axis */
    hpc_plan_task *task;       /* gradients first, then norm, refresh, update, gather */
    int task_n, gradient_n;
    int slots;
} hpc_plan_list;

/* The tasks of rank `rank` of `ranks` along pipe; the caller frees out->task. HPC_E_ARG: a schedule
 * that does not fit the number of microbatches. */
int hpc_plan_tasks(hpc_plan_list *out, const hpc_pipe *pipe, int ranks, int rank,
                   int64_t microbatches);
/* A shared task of a rank that has no memory of the microbatch then, and needs none: only the first
 * rank reads the embedding and gives it a gradient, and only the last one reads the head's. Alone
 * tasks have a slot of their own. */
bool hpc_plan_task_is_alone(int run, int rank, int ranks);
/* The schedule and numbers that q's defaults stand for. */
hpc_pipe hpc_pipe_resolved(const hpc_pipe *q, int ranks);

/* Number of times that a step of `microbatches` runs a segment; refresh counts as once. */
int64_t hpc_step_times(const hpc_step *io, int segment, int64_t microbatches);

/* ---- the plan -------------------------------------------------------------------------- */
enum { HPC_PLAN_VERSION = 2 /* 1: without shared tasks */ };
typedef struct hpc_plan_layout {
    const char *name; /* of a parameter */
    int8_t layout[HPC_AXIS_N];
} hpc_plan_layout;
struct hpc_train_plan {
    int64_t layers, hidden, heads, kv_heads, ffn, vocab; /* of its model */
    hpc_parallel parallel; /* with pipe.first and the schedule resolved */
    int recompute, recompute_blocks;
    int64_t microbatches;
    int64_t offload; /* elements of a bucket of state outside (hpc_step_offload); 0: none; -1: a
                        plan of an older version, which does not say */
    hpc_plan_layout *layout; /* [layout_n], in the order of the tensor table */
    int64_t layout_n;
    hpc_plan_list *list; /* [list_n]: by coordinate on the pipe axis */
    int list_n;
    hpc_arena *arena; /* owns names */
};
/* The plan of a step that was emitted as p with these options, before hpc_step_shard. */
int hpc_plan_make(hpc_train_plan **out, const hpc_program *p, const hpc_step *io,
                  const hpc_model_config *c, const hpc_step_options *s, int64_t microbatches);
void hpc_plan_free(hpc_train_plan *plan);
/* Replaces the task lists of a plan that was made from `given` by the given ones. HPC_E_SHAPE: a
 * given layout is not that of the grid and passes. */
int hpc_plan_follow(hpc_train_plan *made, const hpc_train_plan *given);
/* Proves that tasks are complete, keep their slots, add gradients in the order of microbatches, end
 * with norm, refresh, update and gather, and never wait for each other. HPC_E_STATE names task and
 * rank. */
int hpc_plan_check_tasks(const hpc_train_plan *plan);
/* Trainable parameters that ZeRO leaves whole, because the ranks along data divide no dimension:
 * their number, and the elements of all and of the largest. */
typedef struct hpc_plan_left {
    int64_t n, elements, most;
    const char *name; /* of the largest; of the program */
} hpc_plan_left;
hpc_plan_left hpc_plan_whole(const hpc_program *p, const hpc_parallel *q);
/* HPC_E_SHAPE: a plan of another model; the message names the first size that differs. */
int hpc_plan_check(const hpc_train_plan *plan, const hpc_model_config *c);
/* Appends the plan as a JSON object; docs/json-training.md lists its keys. */
void hpc_plan_put(hpc_json_out *w, const char *key, const hpc_train_plan *plan);
/* HPC_E_FORMAT names the key; HPC_E_UNSUPPORTED: a newer version. */
int hpc_plan_read(hpc_train_plan **out, const char *path);
int hpc_plan_get(hpc_train_plan **out, const hpc_json *root);

/* The last pass: keeps moments and masters outside, which element-wise updates then use in buckets
 * of o->bucket elements. HPC_E_ARG: the step has no such state. HPC_E_SHAPE: hpc_offload. */
int hpc_step_offload(hpc_offload_options *o, const hpc_step *io, hpc_program *p);

/* ---- time ------------------------------------------------------------------------------ */
/* Makespan of the gradient tasks of all ranks along pipe, by discrete events. IN_ORDER runs the
 * lists unchanged; PREFERRED whichever task can start, smallest rank first; FIFO whichever could
 * start first. A shared task starts when all ranks have come to it, in order only. A message that
 * arrives in the instant in which a rank chooses is seen the next
 * time. */
typedef enum hpc_plan_policy {
    HPC_PLAN_IN_ORDER,
    HPC_PLAN_PREFERRED,
    HPC_PLAN_FIFO
} hpc_plan_policy;
typedef struct hpc_plan_times {
    const double *forward, *backward; /* [stages]: seconds of a microbatch */
    double message;                   /* seconds between the end of a task and the start of the
                                         task of another rank that reads its result */
    double shared[HPC_PLAN_TABLE - HPC_PLAN_EMBED + 1]; /* of shared tasks, in their order */
} hpc_plan_times;
typedef struct hpc_plan_span {
    double seconds;
    double idle[HPC_STAGES];   /* by rank: seconds without a task */
    int in_flight[HPC_STAGES]; /* by rank: most microbatches between first forward and last
                                  backward */
} hpc_plan_span;
/* HPC_E_STATE: tasks that wait for each other; the message names one. */
int hpc_plan_simulate_tasks(hpc_plan_span *out, const hpc_plan_list *list, int ranks, int chunks,
                            hpc_plan_policy policy, const hpc_plan_times *t);

#ifdef __cplusplus
}
#endif
#endif
