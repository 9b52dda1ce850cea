/*
 * plan_simulate.h: shared data of the command `plan simulate` and its printing.
 */
#ifndef HPC_CMD_PLAN_SIMULATE_H
#define HPC_CMD_PLAN_SIMULATE_H

#include "cmd/plan.h"
#include "train/plan_search.h"

typedef struct simulate_options {
    plan_ask ask;
    const char *machine;
    int64_t best, top;
    bool json;
} simulate_options;

typedef struct simulate_study {
    const simulate_options *o;
    hpc_machine machine;
    hpc_model_config model;
    hpc_device *device; /* of a machine that is a host */
    hpc_step_plan *row;
    int64_t n;
    int64_t tokens; /* of a step */
} simulate_study;

void hpc_cmd_simulate_put_json(hpc_buf *out, const simulate_study *t);
void hpc_cmd_simulate_put_list(hpc_buf *out, const simulate_study *t); /* a line for each plan */
void hpc_cmd_simulate_put_one(hpc_buf *out, const simulate_study *t, const hpc_step_plan *r);

#endif
