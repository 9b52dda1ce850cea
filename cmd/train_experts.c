/*
 * train_experts.c: the options of `hpccoder train` for mixtures of experts, and what they mean for
 * the model and for a step. train_options_optimizer.c continues the table.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/train.h"
#include "model/upcycle.h"

static const char *const gates[] = {[HPC_GATING_TOPK] = "topk",
                                    [HPC_GATING_SWITCH] = "switch",
                                    [HPC_GATING_ANNEAL] = "dense-to-sparse",
                                    NULL};
static const char *const schedules[] = {"exponential", "linear", NULL};

#define AT(field) offsetof(train_options, field)
const hpc_option hpc_cmd_train_expert_options[] = {
    {.name = "experts",
     .kind = HPC_INT,
     .offset = AT(experts),
     .fallback = "0",
     .argument = "N",
     .most = HPC_EXPERTS_MOST,
     .help = "Experts in place of an MLP; 0: none. A new model is a Qwen3-MoE."},
    {.name = "top-k",
     .kind = HPC_INT,
     .offset = AT(top_k),
     .fallback = "0",
     .argument = "K",
     .most = HPC_EXPERTS_MOST,
     .help = "Experts of a token; 0: 2 with --gate topk, else 1."},
    {.name = "gate",
     .kind = HPC_CHOICE,
     .offset = AT(gate),
     .fallback = "topk",
     .choices = gates,
     .help = "topk: the K most probable experts. switch: the same, up to --capacity. "
             "dense-to-sparse: all experts with a noisy score above --threshold, at a temperature "
             "that falls."},
    {.name = "expert-every",
     .kind = HPC_INT,
     .offset = AT(expert_every),
     .fallback = "1",
     .argument = "N",
     .least = 1,
     .most = 1e4,
     .help = "The last of every N blocks has experts, the others an MLP."},
    {.name = "expert-ffn",
     .kind = HPC_INT,
     .offset = AT(expert_ffn),
     .fallback = "0",
     .argument = "N",
     .most = 1e7,
     .help = "Width of an expert; 0: that of the MLP."},
    {.name = "capacity",
     .kind = HPC_REAL,
     .offset = AT(capacity),
     .fallback = "1.25",
     .argument = "X",
     .most = 1e6,
     .help = "With --gate switch: tokens that an expert takes, as a multiple of the mean. Others "
             "skip it."},
    {.name = "balance-loss",
     .kind = HPC_REAL,
     .offset = AT(balance_loss),
     .fallback = "0.01",
     .argument = "X",
     .most = 1e3,
     .help = "Factor of the auxiliary loss that balances the experts' tokens."},
    {.name = "z-loss",
     .kind = HPC_REAL,
     .offset = AT(z_loss),
     .fallback = "0.001",
     .argument = "X",
     .most = 1e3,
     .help = "Factor of the auxiliary loss that keeps the router's logits small."},
    {.name = "temperature",
     .kind = HPC_REAL,
     .offset = AT(temperature),
     .fallback = "1",
     .argument = "T",
     .most = 1e3,
     .help = "With --gate dense-to-sparse: temperature of the first step."},
    {.name = "temperature-least",
     .kind = HPC_REAL,
     .offset = AT(temperature_least),
     .fallback = "0.5",
     .argument = "T",
     .most = 1e3,
     .help = "Temperature after --anneal-steps."},
    {.name = "anneal",
     .kind = HPC_CHOICE,
     .offset = AT(anneal),
     .fallback = "exponential",
     .choices = schedules,
     .help = "How the temperature falls."},
    {.name = "anneal-steps",
     .kind = HPC_INT,
     .offset = AT(anneal_steps),
     .fallback = "0",
     .argument = "N",
     .most = 1e12,
     .help = "Steps over which the temperature falls; 0: those of the run."},
    {.name = "threshold",
     .kind = HPC_REAL,
     .offset = AT(threshold),
     .fallback = "0.001",
     .argument = "X",
     .most = 1,
     .help = "Score above which an expert gets a token."},
    {.name = "hard-from",
     .kind = HPC_INT,
     .offset = AT(hard_from),
     .fallback = "0",
     .argument = "STEP",
     .most = 1e12,
     .help = "Step from which a token goes to its best expert alone; 0: never."},
    {.name = "noisy-weights",
     .kind = HPC_FLAG,
     .offset = AT(noisy_weights),
     .help = "Weight experts by their noisy scores, not by their probabilities."},
    {.name = "diversify",
     .kind = HPC_REAL,
     .offset = AT(diversify),
     .fallback = "0.1",
     .argument = "P",
     .most = 1,
     .help = "With --init of a model that has one expert or none: each expert starts as a copy of "
             "that MLP in which a share P of elements, other ones for each, is 0."},
    {.more = hpc_cmd_train_optimizer_options},
};

static int index_of(const char *const *names, const char *name)
{
    int k = 0;
    while (names[k] && strcmp(names[k], name) != 0) k++;
    return k;
}

/* A model that is read has experts of its own: numbers that were given must agree. */
static int check_model(const train_options *o, const hpc_model_config *c, const char *from)
{
    const struct {
        const char *key;
        int64_t is, model, usual;
    } all[] = {{"experts", o->experts, c->experts, 0},
               {"top-k", o->top_k, c->top_k, 0},
               {"expert-every", o->expert_every, c->expert_every, 1},
               {"expert-ffn", o->expert_ffn, c->expert_ffn > 0 ? c->expert_ffn : c->ffn, 0}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k].is != all[k].usual && all[k].is != all[k].model)
            return hpc_fail(HPC_E_ARG, "%s=%lld, and the model in %s has %lld", all[k].key,
                            (long long)all[k].is, from, (long long)all[k].model);
    return HPC_OK;
}

/* Experts of a token. */
static int64_t top_k_of(const train_options *o, int gating)
{
    if (o->top_k > 0) return o->top_k;
    return gating == HPC_GATING_TOPK && o->experts > 1 ? 2 : 1;
}

/* The model of --init becomes a mixture. */
static int upcycle(hpc_model_config *c, const hpc_model_config **single, const train_options *o,
                   const char *from, hpc_arena *a)
{
    int gating = index_of(gates, o->gate);
    int64_t top_k = top_k_of(o, gating);
    hpc_model_config *one = hpc_arena_alloc(a, 1, sizeof *one);
    hpc_upcycle_options up = {.experts = o->experts,
                              .top_k = top_k,
                              .every = o->expert_every,
                              .normalise = gating == HPC_GATING_TOPK && top_k > 1};
    if (!one) return HPC_E_NOMEM;
    *one = *c;
    *single = one;
    int rc = hpc_model_config_upcycle(c, one, &up);
    if (rc < 0) return rc;
    hpc_model_config given = *c;
    return check_model(o, &given, from);
}

int hpc_cmd_train_expert_model(hpc_model_config *c, const hpc_model_config **single,
                               const train_options *o, const char *from, hpc_arena *a)
{
    int gating = index_of(gates, o->gate), rc = HPC_OK;
    *single = NULL;
    if (from && o->init && !o->model && c->experts < 2 && o->experts > 1)
        TRY(upcycle(c, single, o, from, a));
    else if (from)
        TRY(check_model(o, c, from));
    else if (o->experts > 0) {
        memcpy(c->family, "qwen3_moe", sizeof "qwen3_moe");
        c->qk_norm = HPC_QK_BY_HEAD;
        c->experts = o->experts;
        c->top_k = top_k_of(o, gating);
        c->expert_every = o->expert_every;
        c->expert_ffn = o->expert_ffn > 0 ? o->expert_ffn : o->ffn;
        c->normalise = gating == HPC_GATING_TOPK && c->top_k > 1;
    }
    if (!*single && !o->resume && o->diversify != hpc_cmd_train_default("diversify"))
        return hpc_fail(HPC_E_ARG,
                        "diversify=%g has no effect: it needs --init with a model of one expert or "
                        "none, and --experts above 1",
                        o->diversify);
    if (c->experts == 0 && gating != HPC_GATING_TOPK)
        return hpc_fail(HPC_E_ARG, "gate=%s needs experts: set experts=N", o->gate);
    if (gating == HPC_GATING_ANNEAL && (c->top_k != 1 || c->normalise))
        return hpc_fail(HPC_E_ARG,
                        "gate=dense-to-sparse ends with one expert for a token, weighted by its "
                        "probability: it needs top-k=1, and a model that does not normalise "
                        "weights");
out:
    return rc;
}

void hpc_cmd_train_expert_step(hpc_trainer_options *t, const train_options *o, int64_t steps)
{
    t->step.model.experts = (hpc_expert_emission){.gating = index_of(gates, o->gate),
                                                  .capacity = o->capacity,
                                                  .balance = o->balance_loss,
                                                  .z = o->z_loss,
                                                  .noisy = o->noisy_weights};
    t->zeros = o->diversify;
    t->anneal = (hpc_anneal_config){.from = o->temperature,
                                    .to = o->temperature_least,
                                    .threshold = o->threshold,
                                    .linear = index_of(schedules, o->anneal) == 1,
                                    .steps = o->anneal_steps > 0 ? o->anneal_steps : steps,
                                    .hard = o->hard_from};
}
