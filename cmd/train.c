/*
 * train.c: a training run, from a configuration to a model directory.
 *
 * Options are the configuration's keys; what they mean together is checked
 * where it is used, in model/ and train/.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/model_options.h"
#include "runtime/device/probe.h"
#include "cmd/train.h"
#include "runtime/source/source.h"

#define FINE_TUNING 0.1 /* of the rate that suits a model which begins with nothing */

/* ---- from options to what train/ wants ----------------------------------------------------- */

static int index_of(const char *const *names, const char *name)
{
    for (int k = 0; names[k]; k++)
        if (strcmp(names[k], name) == 0) return k;
    return -1;
}

/* "DIR" or "DIR=WEIGHT". */
static int sources_of(hpc_loader_source **out, hpc_arena *a, const hpc_texts *t)
{
    *out = hpc_arena_alloc(a, (size_t)t->n + 1, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    for (int64_t k = 0; k < t->n; k++) {
        char *path = hpc_arena_text(a, "%s", t->item[k]), *end;
        if (!path) return HPC_E_NOMEM;
        char *equals = hpc_file_exists(path) ? NULL : strrchr(path, '=');
        if (equals) {
            (*out)[k].weight = strtod(equals + 1, &end);
            if (end == equals + 1 || *end || !((*out)[k].weight > 0))
                return hpc_fail(HPC_E_ARG, "%s: write DIR=WEIGHT with a weight above 0", path);
            *equals = '\0';
        }
        (*out)[k].path = path;
    }
    return HPC_OK;
}

static hpc_optimizer_config optimizer_of(const train_options *o)
{
    hpc_optimizer_config c = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    c.kind = index_of(hpc_optimizer_names, o->optimizer);
    c.beta2 = o->beta2, c.eps = o->eps;
    c.halves = hpc_round_bf16_find(o->halves, c.kind, compute_dtype(o->dtype));
    c.graft = o->from_sgd || strcmp(o->graft, "sgd") == 0 ? HPC_GRAFT_SGD : HPC_GRAFT_ADAM;
    c.block = o->block, c.burst = o->burst;
    hpc_optimizer_usual(&c);
    if (o->decay >= 0) c.decay = o->decay;
    if (o->beta1 >= 0) c.beta1 = o->beta1;
    if (o->momentum >= 0) c.momentum = o->momentum;
    if (o->interval > 0) c.interval = o->interval;
    if (o->average >= 0) c.average = o->average;
    if (o->even >= 0) c.even = o->even;
    if (o->ridge > 0) c.ridge = o->ridge;
    if (o->newton >= 0) c.newton = o->newton;
    c.start = o->start, c.floor = o->floor;
    if (o->from_sgd) hpc_optimizer_from_sgd(&c);
    return c;
}

/* Adapters are not preconditioned. */
static double rate_of(const train_options *o)
{
    hpc_optimizer_config c = optimizer_of(o);
    if (o->lr >= 0) return o->lr;
    if (o->lora_rank) c.kind = hpc_optimizer_follows_sgd(&c) ? HPC_OPT_SGD : HPC_OPT_ADAMW;
    return hpc_optimizer_usual_rate(&c) * (o->init ? FINE_TUNING : 1);
}

static int adapter_of(hpc_adapter_config *out, const train_options *o)
{
    static const struct {
        const char *name;
        uint32_t parts;
    } part[] = {{"q", 1u << HPC_PART_Q},       {"k", 1u << HPC_PART_K},
                {"v", 1u << HPC_PART_V},       {"o", 1u << HPC_PART_O},
                {"gate", 1u << HPC_PART_GATE}, {"up", 1u << HPC_PART_UP},
                {"down", 1u << HPC_PART_DOWN}};
    const char *at = o->lora_targets;
    *out = (hpc_adapter_config){.rank = o->lora_rank, .alpha = o->lora_alpha};
    while (o->lora_rank && *at) {
        size_t n = strcspn(at, ","), k = 0, all = sizeof part / sizeof *part;
        while (k < all && (strlen(part[k].name) != n || strncmp(part[k].name, at, n) != 0)) k++;
        if (k == all)
            return hpc_fail(HPC_E_ARG,
                            "lora-targets: '%.*s' is not one of q, k, v, o, gate, up, down", (int)n,
                            at);
        out->targets |= part[k].parts;
        at += n + (at[n] == ',');
    }
    return HPC_OK;
}

/* What a text begins and ends with: a document of ours ends with its mark. */
static int end_tokens(hpc_model_config *c, const char *path)
{
    hpc_run_tokens *tokens = NULL;
    int rc;
    TRY(hpc_run_tokens_open(&tokens, path));
    const hpc_tokenizer *t = hpc_run_tokens_of(tokens);
    hpc_tokenizer_special special = hpc_tokenizer_specials(t);
    int32_t mark = hpc_tokenizer_find(t, hpc_mark_text(HPC_MARK_END));
    c->begin = special.begin, c->pad = special.pad;
    c->end = mark >= 0 ? mark : special.end;
out:
    hpc_run_tokens_close(tokens);
    return rc;
}

/* What an option of whole numbers is if it is not given. */
static int64_t usual_number(const char *key)
{
    const hpc_option *at = hpc_cmd_train_options;
    while (strcmp(at->name, key) != 0) at++;
    return strtoll(at->fallback, NULL, 10);
}

/* A number that is not the default says the same as the model. */
static int check_shape(const train_options *o, const hpc_model_config *c, const char *from)
{
    const struct {
        const char *key;
        int64_t is, model;
    } shape[] = {{"vocab", o->vocab, c->vocab},          {"hidden", o->hidden, c->hidden},
                 {"layers", o->layers, c->layers},       {"heads", o->heads, c->heads},
                 {"kv-heads", o->kv_heads, c->kv_heads}, {"ffn", o->ffn, c->ffn}};
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++)
        if (shape[k].is != shape[k].model && shape[k].is != usual_number(shape[k].key))
            return hpc_fail(HPC_E_ARG, "%s=%lld, and the model in %s has %lld", shape[k].key,
                            (long long)shape[k].is, from, (long long)shape[k].model);
    return HPC_OK;
}

static int objective_of(const train_options *o)
{
    static const char *const names[] = {"tokens", "answer", "classes", "pairs", NULL};
    return index_of(names, o->objective);
}

/* The architecture: that of `init`, that of `model`, or Llama's shape by its numbers. */
static int model_of(hpc_model_config *c, const train_options *o, int64_t vocab)
{
    const char *from = o->model ? o->model : o->init;
    int rc = HPC_OK;
    *c = (hpc_model_config)HPC_MODEL_CONFIG_DEFAULTS;
    if (from) {
        TRY(hpc_model_config_read(c, from));
        TRY(check_shape(o, c, from));
    } else {
        c->hidden = o->hidden, c->layers = o->layers, c->heads = o->heads;
        c->kv_heads = o->kv_heads ? o->kv_heads : o->heads;
        c->ffn = o->ffn, c->tied = o->tied, c->rope.theta = o->rope_theta;
        c->positions = o->positions > o->length ? o->positions : o->length;
        c->vocab = o->vocab ? o->vocab : vocab;
        if (o->tokenizer) TRY(end_tokens(c, o->tokenizer));
    }
    c->dropout = o->dropout;
    c->dtype = compute_dtype(o->dtype);
    if (o->classes) {
        c->head = objective_of(o) == HPC_OBJECTIVE_PAIRS ? HPC_HEAD_PAIRS : HPC_HEAD_CLASSES;
        c->classes = o->classes;
    }
    TRY(adapter_of(&c->adapter, o));
    TRY(hpc_model_config_check(c));
out:
    return rc;
}

/* Rows of a step that come to about `tokens`, in microbatches of at most `rows`. */
static int64_t steps_of(const train_options *o)
{
    double step = (double)o->length * (double)o->rows * (double)o->accumulate;
    return o->tokens > 0 ? (int64_t)ceil(o->tokens / step) : o->steps;
}

static int vocabulary_of(int64_t *out, const train_options *o, const hpc_training_options *t)
{
    hpc_loader_options l = {.source = t->data,
                            .source_n = t->data_n,
                            .objective = objective_of(o),
                            .marks = t->marks,
                            .length = o->length,
                            .documents = o->documents};
    hpc_loader *loader;
    int rc = hpc_loader_open(&loader, &l);
    if (rc < 0) return rc;
    *out = hpc_loader_vocabulary(loader);
    hpc_loader_close(loader);
    return HPC_OK;
}

/* That of the model which the run begins with, if no other is named. */
static const char *tokenizer_of(const train_options *o)
{
    if (o->tokenizer || !o->init) return o->tokenizer;
    return hpc_run_tokens_there(o->init) ? o->init : NULL;
}

/* The marks of a change, as the run's tokenizer has them. */
static int marks_of(hpc_compare_marks *out, const char *path)
{
    static const hpc_mark mark[] = {HPC_MARK_PERF_BASE, HPC_MARK_PERF_HEAD, HPC_MARK_PERF_LABEL};
    int32_t id[sizeof mark / sizeof *mark];
    hpc_run_tokens *tokens = NULL;
    int rc = HPC_OK;
    if (!path)
        TRY(hpc_fail(HPC_E_ARG, "objective=pairs needs the tokenizer of the shards, which has the "
                                "marks of both sides: --tokenizer FILE"));
    TRY(hpc_run_tokens_open(&tokens, path));
    for (size_t k = 0; k < sizeof mark / sizeof *mark; k++) {
        id[k] = hpc_tokenizer_find(hpc_run_tokens_of(tokens), hpc_mark_text(mark[k]));
        if (id[k] < 0)
            TRY(hpc_fail(HPC_E_ARG, "%s has no token for %s, which objective=pairs needs", path,
                         hpc_mark_text(mark[k])));
    }
    *out = (hpc_compare_marks){.base = id[0], .head = id[1], .label = id[2]};
out:
    hpc_run_tokens_close(tokens);
    return rc;
}

static int check_together(const train_options *o)
{
    int kind = index_of(hpc_optimizer_names, o->optimizer);
    if (o->from_sgd && (kind == HPC_OPT_ADAMW || kind == HPC_OPT_MUON || kind == HPC_OPT_SOAP))
        return hpc_fail(HPC_E_ARG, "from-sgd: %s does not use the step size of sgd", o->optimizer);
    return HPC_OK;
}

static int64_t warmup_of(const train_options *o, int64_t steps)
{
    enum { USUAL = 100 };
    if (o->warmup >= 0) return o->warmup;
    return steps / 10 < USUAL ? steps / 10 : USUAL;
}

/* A run beside a base model continues with that model, wherever it is now. */
static int find_base(train_options *o, hpc_arena *a)
{
    char folder[PATH_MAX], base[HPC_BASE_PATH];
    int rc = HPC_OK;
    if (!o->resume || !o->out || !o->init || o->lora_rank == 0) return rc;
    if (snprintf(folder, sizeof folder, "%s/checkpoints", o->out) >= (int)sizeof folder)
        return hpc_fail(HPC_E_ARG, "%s: the path is too long", o->out);
    TRY(hpc_checkpoint_base(base, folder, o->init));
    if (base[0] && !(o->init = hpc_arena_text(a, "%s", base))) TRY(HPC_E_NOMEM);
out:
    return rc;
}

static int training_of(hpc_training_options *t, const train_options *o, hpc_arena *a)
{
    hpc_loader_source *data, *validation;
    int64_t vocab = o->vocab;
    int rc;
    TRY(check_together(o));
    TRY(sources_of(&data, a, &o->data));
    TRY(sources_of(&validation, a, &o->validation));
    *t = (hpc_training_options){.out = o->out,
                                .data = data,
                                .validation = validation,
                                .data_n = o->data.n,
                                .validation_n = o->validation.n,
                                .tokenizer = tokenizer_of(o),
                                .steps = steps_of(o),
                                .spike = o->spike,
                                .validate_every = o->validate_every,
                                .validate_batches = o->validate_batches,
                                .save_every = o->save_every,
                                .keep = o->keep,
                                .seconds = o->hours * 3600,
                                .trace = o->trace,
                                .resume = o->resume};
    t->lr = (hpc_lr_config){.kind = index_of(hpc_lr_names, o->schedule),
                            .peak = rate_of(o),
                            .least = o->lr_least,
                            .warmup = warmup_of(o, t->steps),
                            .factor = o->lr_factor,
                            .decay = o->lr_decay};
    hpc_trainer_options *r = &t->trainer;
    r->optimizer = optimizer_of(o);
    r->objective = objective_of(o);
    r->init = o->init;
    r->length = o->length, r->rows = o->rows, r->accumulate = o->accumulate;
    r->documents = o->documents, r->seed = (uint64_t)o->seed;
    r->step.clip = o->clip;
    r->traced = o->trace ? o->trace_steps : 0;
    r->parallel = parallel_of(&o->ranks);
    r->device =
        (hpc_device_options){.backend = o->backend, .isa = o->isa, .threads = (int)o->threads};
    if (r->objective == HPC_OBJECTIVE_PAIRS) TRY(marks_of(&t->marks, t->tokenizer));
    if (!o->vocab && !o->model && !o->init) TRY(vocabulary_of(&vocab, o, t));
    TRY(model_of(&r->model, o, vocab));
    r->step.gradients = index_of(hpc_gradients_names, o->pruned.gradients);
    TRY(hpc_cmd_train_prune(&t->prune, o, r));
    TRY(hpc_cmd_train_recompute(r, o));
out:
    return rc;
}

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
    char text[160], used[32] = "", valid[48] = "";
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
    snprintf(text, sizeof text, "loss %.4f%s  %.0f tokens/s  %.3f TFLOP/s%s", v[HPC_METRIC_LOSS],
             valid, v[HPC_METRIC_TOKENS_PER_S], v[HPC_METRIC_TFLOPS], used);
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

/* A rank that does not lead: it says nothing, not even of a failure that all share. */
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
    hpc_arena *a = hpc_arena_create(0);
    int rc = a ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) return rc;
    if (argc > 1) TRY(hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[1]));
    if (o->data.n == 0 && !(o->dry_run && (o->vocab || o->model || o->init)))
        TRY(hpc_fail(HPC_E_ARG,
                     "--data DIR is missing: a folder of shards from hpccoder corpus pack"));
    if (!o->out && !o->dry_run)
        TRY(hpc_fail(HPC_E_ARG, "--out DIR is missing: the folder for the run"));
    TRY(find_base(o, a));
    TRY(training_of(&t, o, a));
    rc = o->dry_run ? hpc_cmd_train_dry(&t.trainer, o) : train_on_ranks(&t, o);
out:
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
