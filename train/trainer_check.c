/*
 * trainer_check.c: checks a trainer's options before anything is opened.
 */
#include "train/run_priv.h"
#include "train/update_priv.h"

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

static int check_experts(const hpc_trainer_options *o)
{
    const hpc_expert_emission *e = &o->step.model.experts;
    const hpc_model_config *c = &o->model;
    if (c->experts == 0) return HPC_OK;
    if (o->parallel.halves && e->gating == HPC_GATING_SWITCH)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "gate=switch: a capacity counts the tokens of a microbatch, of which "
                        "overdecompose makes two; use one of them");
    if (o->single && c->adapter.rank > 0)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "experts=%lld: experts that start as copies are trained whole; train "
                        "adapters of the result",
                        (long long)c->experts);
    if (o->single && !(o->zeros >= 0 && o->zeros < 1))
        return hpc_fail(HPC_E_ARG, "diversify=%g must be in [0, 1)", o->zeros);
    if (e->gating == HPC_GATING_SWITCH && !(e->capacity > 0))
        return hpc_fail(HPC_E_ARG, "capacity=%g must be above 0", e->capacity);
    if (e->gating == HPC_GATING_ANNEAL) return hpc_anneal_check(&o->anneal);
    return HPC_OK;
}

/* Gradients that are added to the moments at once cannot be gathered, rounded or halved before. */
static int check_adama(const hpc_trainer_options *o)
{
    hpc_parallel q = o->parallel;
    if (o->grid) q.grid = *hpc_grid_shape_of(o->grid);
    if (!o->step.adama) return HPC_OK;
    if (o->optimizer.kind != HPC_OPT_ADAMW)
        return hpc_fail(HPC_E_ARG,
                        "adama: %s has no moments that gradients could be added to; use "
                        "optimizer=adamw",
                        hpc_optimizer_names[o->optimizer.kind]);
    if (o->masks)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "adama: a pruned model keeps sums of its few gradients; train it without "
                        "adama");
    if (o->parallel.halves)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "adama: overdecompose would count each part of a microbatch as a "
                        "microbatch; use one of them");
    if (plan_is_interlaced(&q))
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "adama: with pipe-vocab=interlaced the gradients of embedding and head are "
                        "added at different times; use one of them");
    if (o->step.gradients == HPC_GRADIENTS_BF16)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "adama: ranks sum moments, not gradients=bf16; use gradients=auto");
    return HPC_OK;
}

int trainer_check(const hpc_trainer_options *o)
{
    int rc = check_experts(o);
    if (rc >= 0) rc = check_adama(o);
    if (rc < 0) return rc;
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

int hpc_training_steps_left(const char *out, int64_t step, int64_t steps)
{
    if (step <= steps) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "%s is at step %lld, but steps=%lld: raise steps", out,
                    (long long)step, (long long)steps);
}
