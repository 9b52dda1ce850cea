/*
 * train.c: `hpccoder train`: a training run, from a configuration to a model directory.
 *
 * Options are keys of the configuration. model/ and train/ check their combinations.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "runtime/device/probe.h"
#include "cmd/train.h"
#include "train/plan.h"

/* ---- what is shown ------------------------------------------------------------------------- */

typedef struct show {
    const train_options *o;
    hpc_cmd_signals *signals;
    hpc_progress progress;
    int64_t tokens_a_step;
    bool begun;
} show;

static void show_row(const hpc_metrics_row *r, void *user)
{
    show *s = user;
    const double *v = r->value;
    int64_t step = (int64_t)v[HPC_METRIC_STEP];
    char text[240], used[32] = "", valid[48] = "", experts[64] = "";
    bool validated = !r->absent[HPC_METRIC_VALIDATION_LOSS];
    if (!s->begun) {
        s->begun = true;
        hpc_cmd_signals_follow(s->signals, false);
        s->progress.start_done = step - 1;
    }
    if (!r->absent[HPC_METRIC_MFU])
        snprintf(used, sizeof used, " (%.0f %% of peak)", 100 * v[HPC_METRIC_MFU]);
    if (validated)
        snprintf(valid, sizeof valid, "  validation %.4f", v[HPC_METRIC_VALIDATION_LOSS]);
    if (v[HPC_METRIC_EXPERTS] > 0)
        snprintf(experts, sizeof experts, "  %.2f experts", v[HPC_METRIC_EXPERTS]);
    snprintf(text, sizeof text, "loss %.4f%s%s  %.0f tokens/s  %.3f TFLOP/s%s", v[HPC_METRIC_LOSS],
             valid, experts, v[HPC_METRIC_TOKENS_PER_S], v[HPC_METRIC_TFLOPS], used);
    hpc_progress_update(&s->progress, step, text);
    if (validated && !s->o->quiet && !s->progress.terminal)
        fprintf(stderr, "step %lld:%s\n", (long long)step, valid);
}

static void show_line(const char *line, void *user)
{
    (void)user;
    fprintf(stderr, "hpccoder train: %s\n", line);
}

static int put_result(const train_options *o, const hpc_training_result *r, double seconds)
{
    hpc_buf out = {0};
    if (o->json) {
        hpc_json_out w = {.buf = &out};
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "out", o->out);
        hpc_json_put_int(&w, "step", r->step);
        hpc_json_put_int(&w, "tokens", r->tokens);
        hpc_json_put_real(&w, "loss", r->loss);
        hpc_json_put_real(&w, "validation", r->validation);
        hpc_json_put_real(&w, "best", r->best);
        hpc_json_put_int(&w, "best_step", r->best_step);
        hpc_json_put_int(&w, "skipped", r->skipped);
        hpc_json_put_bool(&w, "finished", r->finished);
        hpc_json_put_real(&w, "save_seconds", r->held);
        hpc_json_put_real(&w, "seconds", seconds);
        hpc_json_close(&w, '}');
        hpc_buf_text(&out, "\n");
    } else {
        hpc_buf_printf(&out, "%s: step %lld, %lld tokens", o->out, (long long)r->step,
                       (long long)r->tokens);
        if (!isnan(r->loss)) hpc_buf_printf(&out, ", loss %.4f", r->loss);
        if (!isnan(r->validation)) hpc_buf_printf(&out, ", validation %.4f", r->validation);
        if (isfinite(r->best))
            hpc_buf_printf(&out, ", best %.4f at step %lld", r->best, (long long)r->best_step);
        if (r->skipped) hpc_buf_printf(&out, ", %lld steps skipped", (long long)r->skipped);
        hpc_buf_printf(&out, ", %.0f s\n", seconds);
    }
    return hpc_cmd_print(&out);
}

/* ---- running ------------------------------------------------------------------------------- */

/* What the processor could do with the model's numbers, by a probe of a tenth of a second. */
static int measure_peak(double *flops, const hpc_training_options *t)
{
    hpc_device *d = NULL;
    hpc_probe *probe = NULL;
    hpc_limits limits;
    int rc;
    TRY(hpc_device_open(&d, &t->trainer.device));
    TRY(hpc_probe_open(&probe, d, 0.001));
    TRY(hpc_probe_limits(&limits, probe));
    bool half = t->trainer.model.dtype == HPC_BF16 && limits.bf16 > 0;
    *flops = half ? limits.bf16 : limits.f32;
out:
    hpc_probe_close(probe);
    hpc_device_close(d);
    return rc;
}

/* A rank other than the first: it prints nothing, not even a failure that all ranks share. */
static int follow(hpc_training_options *t, const train_options *o)
{
    hpc_training_result result;
    int rc = hpc_cmd_train_fit(&t->trainer, o);
    if (rc < 0) return rc == HPC_E_ABORTED ? rc : hpc_cmd_exit_code(rc);
    rc = hpc_training_run(&result, t);
    if (rc < 0 && result.told) return hpc_cmd_exit_code(rc);
    return rc < 0 ? rc : EXIT_DONE;
}

/* Mistakes that are dear to notice after the run. */
static void warn_of_options(const train_options *o, const hpc_training_options *t)
{
    if (o->quiet) return;
    if (t->lr.warmup >= t->steps)
        hpc_cmd_warn("the run ends during the warm-up, before the learning rate reaches its peak: "
                     "lower --warmup or raise --steps",
                     "train");
    if (!t->tokenizer)
        hpc_cmd_warn("the model will hold no tokenizer, which complete needs: --tokenizer FILE "
                     "copies one",
                     "train");
}

static int train(hpc_training_options *t, const train_options *o, bool leads)
{
    show s = {.o = o, .signals = t->user};
    hpc_training_result result;
    hpc_buf config = {0};
    int64_t start = hpc_clock_ns();
    int rc;
    if (!leads) return follow(t, o);
    TRY(hpc_cmd_train_fit(&t->trainer, o));
    TRY(hpc_cmd_train_compare(o, t));
    TRY(hpc_cmd_train_record(&config, o, t));
    TRY(measure_peak(&t->peak_flops, t));
    hpc_cmd_progress(&s.progress, o->quiet);
    hpc_progress_start(&s.progress, "train", "steps", t->steps);
    warn_of_options(o, t);
    t->config = config.data;
    t->row = show_row;
    t->say = show_line;
    t->user = &s;
    TRY(hpc_training_run(&result, t));
    hpc_progress_end(&s.progress, result.step);
    TRY(put_result(o, &result, (double)(hpc_clock_ns() - start) * 1e-9));
    rc = EXIT_DONE;
out:
    hpc_buf_release(&config);
    return rc;
}

/* Signals are caught before there are ranks, whose threads would receive them otherwise. */
static int train_on_ranks(hpc_training_options *t, const train_options *o)
{
    hpc_cmd_signals *signals = NULL;
    int rc = hpc_cmd_signals_start(&signals, "train", "saving a checkpoint, --resume continues");
    if (rc < 0) return rc;
    t->stop = hpc_cmd_signals_stop(signals);
    t->save = hpc_cmd_signals_save(signals);
    t->user = signals;
    hpc_cmd_signals_follow(signals, hpc_mpi_launched()); /* until the first takes steps */
    rc = hpc_cmd_train_ranks(t, o, train);
    hpc_cmd_signals_end(signals);
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    train_options *o = options;
    hpc_training_options t;
    hpc_train_plan *plan = NULL;
    hpc_arena *a = hpc_arena_create(0);
    int rc = a ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) return rc;
    if (argc > 1) TRY(hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[1]));
    if (o->data.n == 0 && !(o->dry_run && (o->vocab || o->model || o->init)))
        TRY(hpc_fail(HPC_E_ARG,
                     "--data DIR is missing: a folder of shards from hpccoder corpus pack"));
    if (!o->out && !o->dry_run)
        TRY(hpc_fail(HPC_E_ARG, "--out DIR is missing: the folder for the run"));
    TRY(hpc_device_choose(&(hpc_device_options){0}, o->device)); /* before data are read */
    TRY(hpc_cmd_train_lora_init(o));
    TRY(hpc_cmd_train_base(o, a));
    TRY(hpc_cmd_train_plan(&plan, o, a));
    TRY(hpc_cmd_train_configure(&t, o, a));
    t.trainer.plan = plan;
    rc = o->dry_run ? hpc_cmd_train_dry(&t.trainer, o) : train_on_ranks(&t, o);
out:
    hpc_plan_free(plan);
    hpc_arena_free(a);
    return rc;
}

const hpc_command hpc_cmd_train = {
    .name = "train",
    .summary = "Train or fine-tune a model.",
    .arguments = "[CONFIG.json]",
    .description =
        "Trains a transformer on folders of token shards (from hpccoder corpus pack) and writes a "
        "model directory that transformers and hpccoder can load. The architecture is Llama's with "
        "the sizes of --hidden, --layers and so on, or that of --model, a model directory or "
        "config.json. --init starts from the parameters of a model and trains all of them. With "
        "--lora-rank it trains low-rank adapters instead, which are merged at the end. Checkpoints "
        "of adapters leave out the frozen parameters and record the path of the base model and a "
        "hash of its weights, so keep that model. --resume reads it again and rejects one that has "
        "changed; --init DIR names one that has moved.\n\n"
        "CONFIG.json is an object with the long options below as keys. Options on the command line "
        "override it. --set KEY=VALUE is the same as --KEY VALUE.\n\n"
        "OUT contains config.json, metrics.csv, TensorBoard event files, checkpoints/, model/ (the "
        "last parameters) and best/ (those with the lowest validation loss). After Ctrl-C, TERM, "
        "--hours or a kill, --out OUT --resume continues the run with bit-identical results on the "
        "same machine. Options that are not repeated come from OUT/config.json. Changes to options "
        "such as --steps or --lr are reported; changes to the data or the shape of the model are "
        "rejected. USR1 saves a checkpoint at once. `hpccoder report OUT` draws the run.\n\n"
        "Optimizers: sgd, adamw, muon, shampoo, soap, jorge (as published), jorge-symmetric, "
        "jorge-newton, jorge-momentum. All except sgd and adamw precondition the matrices of the "
        "blocks. Embeddings, head and norms use the grafting optimizer, which also sets the size "
        "of preconditioned steps. A step is skipped and reported if its gradients are not finite "
        "or their norm reaches --spike times its average.\n\n"
        "--prune P keeps a share of 1 - P of the elements of the blocks' matrices, those of "
        "largest magnitude. Embeddings, head, norms and biases are not pruned. The model still "
        "computes with dense matrices. Gradients, master parameters and moments are stored for the "
        "remaining elements only, with one 32-bit index for all of them, and ranks along data "
        "exchange no more than that. With adamw and --dtype bf16 this takes 26 - 24 P bytes per "
        "element instead of 20, which saves memory from P = 0.25. muon, shampoo and the jorge "
        "kinds store momentum and graft in this way, but not preconditioners; a matrix needs its "
        "whole gradient and direction while its update is computed. Pruning cannot be combined "
        "with soap, --zero 2 or --zero 3.\n\n"
        "--dry-run prints parameters, operations, memory by purpose and the estimated time of a "
        "step, and trains nothing.",
    .examples = "hpccoder train --data shards/train --validation shards/validation --out run  # a "
                "small model\n"
                "hpccoder train config.json --set lr=1e-3 --resume  # a configuration with one key "
                "changed\n"
                "hpccoder train --init model --data shards --lora-rank 8 --out tuned  # fine-tune "
                "with adapters",
    .options = hpc_cmd_train_options,
    .options_bytes = sizeof(train_options),
    .run = run,
    .configured = hpc_cmd_train_under,
};
