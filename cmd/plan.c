/*
 * plan.c: shared by the `plan` commands: the model, grid and program of a training step that does
 * not run.
 */
#include "cmd/plan.h"

#include <string.h>

#include "cmd/cmd.h"
#include "train/prune.h"

const char *const hpc_cmd_plan_policies[] = {[HPC_RECOMPUTE_NONE] = "none",
                                             [HPC_RECOMPUTE_SELECTIVE] = "selective",
                                             [HPC_RECOMPUTE_BLOCK] = "block",
                                             NULL};

/* GPT: one projection of queries, keys and values of H, H, H, an MLP of 4 H without a gate, layer
 * norms and biases, learned positions. Layers, hidden and heads are those of the scaling tables
 * that were published under these names (GPT-3; AxoNN's weak scaling). */
static const struct shape {
    const char *name;
    int64_t layers, hidden, heads, ffn, vocab;
    bool llama;
} shapes[] = {
    {"gpt-5b", 24, 4096, 32, 16384, 51200, false},
    {"gpt-10b", 32, 5120, 40, 20480, 51200, false},
    {"gpt-20b", 32, 7168, 56, 28672, 51200, false},
    {"gpt-40b", 38, 9216, 72, 36864, 51200, false},
    {"gpt-60b", 56, 9216, 72, 36864, 51200, false},
    {"gpt-80b", 42, 12288, 96, 49152, 51200, false},
    {"gpt-160b", 84, 12288, 96, 49152, 51200, false},
    {"gpt-320b", 96, 16384, 128, 65536, 51200, false},
    {"gpt-640b", 192, 16384, 128, 65536, 51200, false},
    {"gpt3-175b", 96, 12288, 96, 49152, 51200, false},
    {"llama-7b", 32, 4096, 32, 11008, 32000, true},
};

static const struct shape *find_shape(const char *name)
{
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        if (strcmp(shapes[k].name, name) == 0) return &shapes[k];
    return NULL;
}

static void take_shape(hpc_model_config *c, const struct shape *s)
{
    c->layers = s->layers, c->hidden = s->hidden, c->heads = c->kv_heads = s->heads;
    c->ffn = s->ffn, c->vocab = s->vocab;
    if (s->llama) return;
    c->norm = HPC_LAYER, c->position = HPC_LEARNED, c->act = HPC_GELU_TANH;
    c->gated = false, c->tied = true;
    c->qkv_bias = c->out_bias = c->mlp_bias = true;
}

int hpc_cmd_plan_model(hpc_model_config *out, const plan_ask *a)
{
    *out = model_config_of(&a->model);
    if (!a->shape) return HPC_OK;
    const struct shape *s = find_shape(a->shape);
    if (s) {
        take_shape(out, s);
        return HPC_OK;
    }
    int rc = hpc_model_config_read(out, a->shape);
    if (rc < 0) return hpc_error_where("--shape: neither a known shape nor a model directory");
    out->dtype = compute_dtype(a->model.dtype);
    out->dropout = a->model.dropout;
    if (out->positions < a->model.length) out->positions = a->model.length;
    return HPC_OK;
}

int hpc_cmd_plan_parallel(hpc_parallel *out, const plan_ask *a)
{
    *out = parallel_of(&a->ranks);
    return hpc_grid_parse(&out->grid, a->ranks.grid);
}

int hpc_cmd_plan_prune(hpc_masks **masks, hpc_step_options *s, const prune_options *a,
                       const hpc_model_config *c, const hpc_optimizer_config *o,
                       const hpc_parallel *q)
{
    hpc_prune_config prune = {.asked = a->prune != -1, .sparsity = a->prune};
    int rc;
    *masks = NULL;
    while (strcmp(hpc_gradients_names[s->gradients], a->gradients) != 0) s->gradients++;
    TRY(hpc_prune_check(&prune, o, c, q));
    if (prune.asked) TRY(hpc_masks_assume(masks, c, &prune));
    s->masks = *masks;
out:
    return rc;
}

int hpc_cmd_plan_emit(hpc_plan_step *out, const plan_ask *a, const hpc_model_config *c,
                      const hpc_parallel *q, int64_t sequences)
{
    hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    hpc_masks *masks = NULL;
    int rc;
    *out = (hpc_plan_step){.model = *c, .parallel = *q, .offload = a->offload_bucket};
    hpc_step_options s = {.model = {.tokens = sequences * a->model.length, .sequences = sequences},
                          .clip = 1,
                          .once = a->accumulate == 1,
                          .recompute_blocks = (int)a->recompute_blocks,
                          .parallel = hpc_grid_size(&q->grid) > 1 ? &out->parallel : NULL};
    for (int k = 0; hpc_cmd_plan_policies[k]; k++)
        if (strcmp(hpc_cmd_plan_policies[k], a->recompute) == 0) s.recompute = k;
    TRY(hpc_parallel_check(q, c, sequences, a->model.length));
    TRY(hpc_optimizer_find(&o.kind, a->optimizer));
    hpc_optimizer_usual(&o);
    TRY(hpc_cmd_plan_prune(&masks, &s, &a->pruned, c, &o, q));
    out->optimizer = o;
    out->serial = hpc_program_create();
    if (!out->serial) TRY(HPC_E_NOMEM);
    TRY(hpc_step_emit(&out->io, out->serial, c, &o, &s));
out:
    hpc_masks_free(masks);
    if (rc < 0) hpc_plan_release(out);
    return rc;
}
