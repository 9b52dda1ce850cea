/*
 * pipe.h: the schedules of a pipeline.
 */
#ifndef HPC_TRAIN_PIPE_H
#define HPC_TRAIN_PIPE_H

#include "runtime/program/run/run.h"
#include "runtime/program/stage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The order in which a stage runs the microbatches of a step. GPIPE: all forwards, then all
 * backwards. 1F1B: a backward after each forward, once rank k has started ranks - k microbatches.
 * INTERLEAVED: the same with several stages on each rank, in turns of as many microbatches as there
 * are ranks. ARRIVAL: whichever message has arrived, backwards first, with at most `limit`
 * microbatches in flight. Backwards of a stage always run in the order of microbatches, so all
 * schedules give the same bits of gradients; their norm is summed by ranks, so its last bits depend
 * on the cut. */
typedef enum hpc_pipe_schedule {
    HPC_PIPE_AUTO, /* 1F1B; INTERLEAVED with more than one chunk */
    HPC_PIPE_GPIPE,
    HPC_PIPE_1F1B,
    HPC_PIPE_INTERLEAVED,
    HPC_PIPE_ARRIVAL
} hpc_pipe_schedule;
/* Where embedding and head are. ENDS: on the first and the last stage. INTERLACED: each rank has a
 * part of the vocabulary of both, and all ranks compute with them for each microbatch, in tasks
 * that are in one order on all ranks; GPIPE and 1F1B have such lists. Backwards then lag by one
 * round for each stage, so that no round waits for a chain of stages: 1F1B has
 * 2 (ranks - k) slots on rank k, and 2 ranks + 1 on the first. Without ranks along pipe both are
 * the same, so a checkpoint resumes there. */
typedef enum hpc_pipe_vocab { HPC_VOCAB_ENDS, HPC_VOCAB_INTERLACED } hpc_pipe_vocab;
typedef struct hpc_train_plan hpc_train_plan;       /* train/plan.h */
extern const char *const hpc_pipe_schedule_names[]; /* "auto", ... by kind, NULL-terminated */
extern const char *const hpc_pipe_vocab_names[];    /* "ends", "interlaced"; NULL-terminated */
typedef struct hpc_pipe {
    int schedule;          /* hpc_pipe_schedule */
    int vocab;             /* hpc_pipe_vocab */
    int chunks;            /* stages of a rank; 0: 1, or 2 with INTERLEAVED */
    int limit;             /* microbatches in flight with ARRIVAL; 0: the number of ranks */
    int first[HPC_STAGES]; /* first block of each stage; [stages - 1] is 0: balanced by cost */
} hpc_pipe;

#ifdef __cplusplus
}
#endif
#endif
