/*
 * plan_priv.h: internals of the plan object, shared by the files that make, check and write it.
 */
#ifndef HPC_TRAIN_PLAN_PRIV_H
#define HPC_TRAIN_PLAN_PRIV_H

#include "train/plan.h"

enum { PLAN_SIZES = 6 }; /* of the model */
const char *plan_size_name(int k);
int64_t *plan_size(hpc_train_plan *plan, int k);
int plan_create(hpc_train_plan **out);
/* HPC_E_ARG: the schedule does not fit its options or the number of microbatches. q: resolved. */
int plan_check_pipe(const hpc_pipe *q, int ranks, int64_t microbatches);

#endif
