/*
 * trainer_check.c: checks a trainer's options before anything is opened.
 */
#include "train/run_priv.h"

/* The head that an objective is for. */
static int head_of(int objective)
{
    return objective == HPC_OBJECTIVE_CLASSES ? HPC_HEAD_CLASSES
           : objective == HPC_OBJECTIVE_PAIRS ? HPC_HEAD_PAIRS
                                              : HPC_HEAD_TOKENS;
}

static int check_head(const hpc_trainer_options *o)
{
    int head = o->model.head;
    const char *objective = head == HPC_HEAD_PAIRS ? "pairs" : "classes";
    if (head == head_of(o->objective)) return HPC_OK;
    if (head == HPC_HEAD_TOKENS)
        return hpc_fail(HPC_E_ARG, "objective=%s needs a classification head: set classes=N",
                        o->objective == HPC_OBJECTIVE_PAIRS ? "pairs" : "classes");
    return hpc_fail(HPC_E_ARG, "the head of the model has %lld classes%s: use objective=%s",
                    (long long)o->model.classes, head == HPC_HEAD_PAIRS ? " of pairs" : "",
                    objective);
}

int trainer_check(const hpc_trainer_options *o)
{
    if (o->length < 2 || o->rows < 1 || o->accumulate < 1 || o->documents < 1)
        return hpc_fail(HPC_E_ARG,
                        "length=%lld, rows=%lld, accumulate=%lld, documents=%lld: at least 2, 1, 1 "
                        "and 1 are needed",
                        (long long)o->length, (long long)o->rows, (long long)o->accumulate,
                        (long long)o->documents);
    if (o->model.positions && o->length > o->model.positions)
        return hpc_fail(HPC_E_SHAPE, "length=%lld is more than the model's positions=%lld",
                        (long long)o->length, (long long)o->model.positions);
    return check_head(o);
}
