/*
 * train.h: the options of `hpccoder train`, shared by the files that serve it.
 */
#ifndef HPC_CMD_TRAIN_H
#define HPC_CMD_TRAIN_H

#include <limits.h>

#include "cmd/grid_options.h"
#include "cmd/prune_options.h"
#include "runtime/base/options.h"
#include "train/run.h"

typedef struct train_options {
    grid_options ranks;
    prune_options pruned;
    hpc_texts data, validation, set;
    const char *out, *tokenizer, *model, *init, *plan;
    const char *objective, *optimizer, *schedule, *graft, *halves, *dtype, *recompute;
    const char *lora_targets, *lora_tokens, *lora_init, *isa, *device, *trace, *prune_after,
        *prune_over;
    int64_t vocab, hidden, layers, heads, kv_heads, ffn, positions, classes, lora_rank;
    int64_t length, rows, accumulate, documents, steps, warmup, seed, threads;
    int64_t block, interval, burst, newton, trace_steps, prune_every;
    int64_t validate_every, validate_batches, save_every, keep;
    double tokens, hours, memory;
    double dropout, rope_theta, lora_alpha, prune_distance;
    double lr, lr_least, lr_factor, lr_decay;
    double beta1, beta2, eps, momentum, decay, average, even, ridge, start, floor, clip, spike;
    const char *offload, *offload_dir;
    int64_t offload_bucket;
    const char *gate, *anneal;
    int64_t experts, top_k, expert_every, expert_ffn, anneal_steps, hard_from;
    double capacity, balance_loss, z_loss, temperature, temperature_least, threshold, diversify;
    bool noisy_weights;
    bool tied, lora_dense, from_sgd, adama, resume, dry_run, json, quiet;
} train_options;

/* One table in four files: each part continues with the next. */
extern const hpc_option hpc_cmd_train_options[], hpc_cmd_train_expert_options[],
    hpc_cmd_train_optimizer_options[], hpc_cmd_train_run_options[];
/* train_experts.c: the experts of a new model, or a comparison with those of the model in `from`;
 * and how a step chooses them. If `from` has one expert or none and more are asked for, its
 * configuration is copied to *single, which the arena owns; else that is NULL. */
int hpc_cmd_train_expert_model(hpc_model_config *c, const hpc_model_config **single,
                               const train_options *o, const char *from, hpc_arena *a);
void hpc_cmd_train_expert_step(hpc_trainer_options *t, const train_options *o, int64_t steps);
/* train_configure.c: a resumed run with adapters takes its base model from the run's checkpoint,
 * which changes o->init; and the configuration of a run. The arena owns what both allocate. */
int hpc_cmd_train_base(train_options *o, hpc_arena *a);
double hpc_cmd_train_default(const char *key); /* of a number */
/* train_adapter.c: the adapters of model c; tokenizer: its path, or NULL. And with --lora-init,
 * sets o->lora_rank. */
int hpc_cmd_train_adapter(hpc_model_config *c, const train_options *o, const char *tokenizer);
int hpc_cmd_train_lora_init(train_options *o);
/* train_plan.c: reads --plan, which the caller frees, and sets the options that it decides; *plan
 * is NULL without one. HPC_E_ARG: options of --offload that contradict it, or have no effect. */
int hpc_cmd_train_plan(hpc_train_plan **plan, train_options *o, hpc_arena *a);
int hpc_cmd_train_configure(hpc_training_options *t, const train_options *o, hpc_arena *a);
/* train_dry.c. The first applies --recompute. The second chooses recomputation that fits --memory
 * for all ranks of a grid; it is collective. */
int hpc_cmd_train_recompute(hpc_trainer_options *t, const train_options *o);
int hpc_cmd_train_fit(hpc_trainer_options *t, const train_options *o);
/* train_record.c: the record of a run; the path of the run that --resume continues, or ""; and a
 * comparison of the options with that record. HPC_E_ARG names a key that must not change; other
 * changes are reported. */
int hpc_cmd_train_record(hpc_buf *out, const train_options *o, const hpc_training_options *t);
void hpc_cmd_train_value(hpc_buf *out, const hpc_option *o, const train_options *from); /* text */
int hpc_cmd_train_under(char path[PATH_MAX], const void *options);
int hpc_cmd_train_compare(const train_options *o, const hpc_training_options *t);
/* train_ranks.c: on the grid that was asked for, each rank calls fn with options of its own; the
 * first has leads set. Processes that mpirun or srun started are ranks; else --grid's ranks are
 * threads of this one. Without either, fn is called once, without a grid. */
typedef int hpc_cmd_train_fn(hpc_training_options *t, const train_options *o, bool leads);
int hpc_cmd_train_ranks(const hpc_training_options *t, const train_options *o,
                        hpc_cmd_train_fn *fn);
/* train_meet.c, collective: HPC_E_ARG, on all ranks, where one runs another program or was asked
 * for something else than the first. */
int hpc_cmd_train_meet(hpc_link *world, const train_options *o);
/* train_dry.c: --prune and what goes with it; HPC_E_ARG names what is wrong. */
int hpc_cmd_train_prune(hpc_prune_config *out, const train_options *o,
                        const hpc_trainer_options *t);
int hpc_cmd_train_dry(hpc_trainer_options *t, const train_options *o);

#endif
