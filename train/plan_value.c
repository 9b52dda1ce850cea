/*
 * plan_value.c: the plan as an object: made from an emitted step, compared with a model, written
 * and read as JSON.
 */
#include <stdio.h>
#include <string.h>

#include "train/plan.h"

typedef struct number { /* a size of the model */
    const char *key;
    size_t at;
} number;
static const number sizes[] = {
    {"layers", offsetof(hpc_train_plan, layers)},     {"hidden", offsetof(hpc_train_plan, hidden)},
    {"heads", offsetof(hpc_train_plan, heads)},       {"kv_heads", offsetof(hpc_train_plan, kv_heads)},
    {"ffn", offsetof(hpc_train_plan, ffn)},           {"vocab", offsetof(hpc_train_plan, vocab)},
};
enum { SIZE_N = sizeof sizes / sizeof *sizes };

static int64_t *size_of(hpc_train_plan *plan, int k)
{
    return (int64_t *)(void *)((char *)plan + sizes[k].at);
}

static void take_sizes(hpc_train_plan *plan, const hpc_model_config *c)
{
    plan->layers = c->layers, plan->hidden = c->hidden, plan->heads = c->heads;
    plan->kv_heads = c->kv_heads, plan->ffn = c->ffn, plan->vocab = c->vocab;
}

int hpc_plan_check(const hpc_train_plan *plan, const hpc_model_config *c)
{
    hpc_train_plan theirs = *plan, ours = {0};
    take_sizes(&ours, c);
    for (int k = 0; k < SIZE_N; k++)
        if (*size_of(&theirs, k) != *size_of(&ours, k))
            return hpc_fail(HPC_E_SHAPE,
                            "the plan is for a model with %s=%lld, and this one has %lld",
                            sizes[k].key, (long long)*size_of(&theirs, k),
                            (long long)*size_of(&ours, k));
    return HPC_OK;
}

static int ranks_of(const hpc_parallel *q)
{
    return q->grid.extent[HPC_AXIS_PIPE] > 1 ? q->grid.extent[HPC_AXIS_PIPE] : 1;
}

static int create(hpc_train_plan **out)
{
    *out = hpc_alloc(1, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    (*out)->arena = hpc_arena_create(0);
    return (*out)->arena ? HPC_OK : HPC_E_NOMEM;
}

void hpc_plan_free(hpc_train_plan *plan)
{
    if (!plan) return;
    for (int r = 0; plan->list && r < plan->list_n; r++) hpc_free(plan->list[r].task);
    hpc_free(plan->list);
    hpc_free(plan->layout);
    hpc_arena_free(plan->arena);
    hpc_free(plan);
}

/* ---- making ---------------------------------------------------------------------------------- */

static int take_layouts(hpc_train_plan *plan, const hpc_program *p, const hpc_model_config *c)
{
    hpc_model_tensor *tensor = NULL;
    int64_t n = 0;
    int rc = hpc_model_tensors(&tensor, &n, c);
    if (rc < 0) return rc;
    plan->layout = hpc_alloc((size_t)n + 1, sizeof *plan->layout);
    if (!plan->layout) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < n; k++) {
        hpc_value v = hpc_program_find(p, tensor[k].name);
        if (v < 0) continue;
        hpc_plan_layout *l = &plan->layout[plan->layout_n++];
        l->name = hpc_arena_text(plan->arena, "%s", tensor[k].name);
        if (!l->name) TRY(HPC_E_NOMEM);
        memcpy(l->layout, p->value[v].type.layout, sizeof l->layout);
        for (int a = 0; a < HPC_AXIS_N; a++)
            if (plan->parallel.grid.extent[a] <= 1) l->layout[a] = HPC_REPLICATED;
    }
out:
    hpc_free(tensor);
    return rc;
}

static int make_lists(hpc_train_plan *plan)
{
    int ranks = ranks_of(&plan->parallel), rc = HPC_OK;
    plan->list = hpc_alloc((size_t)ranks, sizeof *plan->list);
    if (!plan->list) return HPC_E_NOMEM;
    for (int r = 0; r < ranks; r++) {
        TRY(hpc_plan_tasks(&plan->list[r], &plan->parallel.pipe, ranks, r, plan->microbatches));
        plan->list_n++;
    }
out:
    return rc;
}

int hpc_plan_make(hpc_train_plan **out, const hpc_program *p, const hpc_step *io,
                  const hpc_model_config *c, const hpc_step_options *s, int64_t microbatches)
{
    hpc_train_plan *plan;
    int rc = create(&plan);
    *out = NULL;
    if (rc < 0) goto out;
    take_sizes(plan, c);
    if (s->parallel) plan->parallel = *s->parallel;
    plan->parallel.pipe = hpc_pipe_resolved(&plan->parallel.pipe, ranks_of(&plan->parallel));
    if (io->stage.chunks > 0)
        memcpy(plan->parallel.pipe.first, io->first, sizeof io->first);
    else
        plan->parallel.pipe = (hpc_pipe){.schedule = HPC_PIPE_1F1B, .chunks = 1, .limit = 1};
    plan->recompute = s->recompute;
    plan->recompute_blocks = s->recompute_blocks;
    plan->microbatches = microbatches;
    TRY(take_layouts(plan, p, c));
    TRY(make_lists(plan));
    *out = plan;
    plan = NULL;
out:
    hpc_plan_free(plan);
    return rc;
}
