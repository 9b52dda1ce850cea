/*
 * plan_search.h: time and memory of training plans on a described machine, and the fastest plans
 * that fit.
 */
#ifndef HPC_TRAIN_PLAN_SEARCH_H
#define HPC_TRAIN_PLAN_SEARCH_H

#include "train/simulate.h"

/* The program of a step before sharding. The owner calls hpc_plan_release. */
typedef struct hpc_plan_step {
    hpc_model_config model;
    hpc_optimizer_config optimizer;
    hpc_parallel parallel;
    hpc_program *serial;
    hpc_step io;
    int64_t offload; /* elements of a bucket of state outside; 0: none */
} hpc_plan_step;
void hpc_plan_release(hpc_plan_step *s);

typedef struct hpc_step_plan {
    hpc_parallel parallel;
    int64_t accumulate; /* microbatches of a step */
    hpc_simulation s;
    hpc_step_memory memory;
    bool placed, fits; /* placed: memory is known */
} hpc_step_plan;

/* Everything is borrowed. */
typedef struct hpc_plan_question {
    const hpc_machine *machine;
    const hpc_model_config *model;
    hpc_device *device;        /* of a machine that is a host; NULL: none */
    int64_t sequences, length; /* of a step of all ranks */
    hpc_parallel parallel;     /* of all plans of a search, apart from the grid; without overlap:
                                  plans with overlap are not tried */
    int ranks;                 /* of a search */
    int64_t top;               /* plans to keep */
    /* Emits the step with `rows` sequences in a microbatch. */
    int (*emit)(hpc_plan_step *out, const hpc_parallel *p, int64_t accumulate, int64_t rows,
                void *user);
    void *user;
} hpc_plan_question;

/* Fills r->s and, with place, r->memory, for r->parallel and r->accumulate. HPC_E_ARG: sequences
 * are not a multiple of accumulate. */
int hpc_plan_simulate(hpc_step_plan *r, const hpc_plan_question *q, bool place);
/* The fastest plans that fit, in order; *n may be 0. The caller frees *out. HPC_E_ARG: no grid of
 * that many ranks divides the sequences and the model. */
int hpc_plan_search(hpc_step_plan **out, int64_t *n, const hpc_plan_question *q);

#endif
