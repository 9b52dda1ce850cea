/*
 * train_configure.c: converts the options of `train` to the configuration of a training run.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/model_options.h"
#include "cmd/train.h"
#include "runtime/source/source.h"

#define FINE_TUNING 0.1 /* of the rate that suits a model which begins with nothing */

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

/* Tokens at the start and end of a text; our documents end with their mark. */
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

double hpc_cmd_train_default(const char *key)
{
    const hpc_option *at = hpc_cmd_train_options;
    while (strcmp(at->name, key) != 0) at = hpc_option_next(at);
    return strtod(at->fallback, NULL);
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
        if (shape[k].is != shape[k].model &&
            shape[k].is != (int64_t)hpc_cmd_train_default(shape[k].key))
            return hpc_fail(HPC_E_ARG, "%s=%lld, and the model in %s has %lld", shape[k].key,
                            (long long)shape[k].is, from, (long long)shape[k].model);
    return HPC_OK;
}

static int objective_of(const train_options *o)
{
    static const char *const names[] = {"tokens", "answer", "classes", "pairs", NULL};
    return index_of(names, o->objective);
}

/* That of the model which the run begins with, if no other is named. */
static const char *tokenizer_of(const train_options *o)
{
    if (o->tokenizer || !o->init) return o->tokenizer;
    return hpc_run_tokens_there(o->init) ? o->init : NULL;
}

/* The architecture: that of `init`, that of `model`, or Llama's shape by its numbers. */
static int model_of(hpc_trainer_options *t, const train_options *o, int64_t vocab, hpc_arena *a)
{
    hpc_model_config *c = &t->model;
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
    TRY(hpc_cmd_train_expert_model(c, &t->single, o, from, a));
    c->dropout = o->dropout;
    c->dtype = compute_dtype(o->dtype);
    if (o->classes) {
        c->head = objective_of(o) == HPC_OBJECTIVE_PAIRS ? HPC_HEAD_PAIRS : HPC_HEAD_CLASSES;
        c->classes = o->classes;
    }
    TRY(hpc_cmd_train_adapter(c, o, tokenizer_of(o)));
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

/* The marks of a change, as the run's tokenizer has them. */
static int marks_of(hpc_compare_marks *out, const char *path)
{
    const char *text[] = {hpc_mark_text(HPC_MARK_PERF_BASE), hpc_mark_text(HPC_MARK_PERF_HEAD),
                          hpc_mark_text(HPC_MARK_PERF_LABEL)};
    int32_t id[sizeof text / sizeof *text];
    if (!path)
        return hpc_fail(HPC_E_ARG, "objective=pairs needs the tokenizer of the shards, which has "
                                   "the marks of both sides: --tokenizer FILE");
    int rc = hpc_run_tokens_find(id, path, text, (int)(sizeof text / sizeof *text));
    if (rc >= 0) *out = (hpc_compare_marks){.base = id[0], .head = id[1], .label = id[2]};
    return rc;
}

static int check_together(const train_options *o)
{
    int kind = index_of(hpc_optimizer_names, o->optimizer);
    if (o->from_sgd && (kind == HPC_OPT_ADAMW || kind == HPC_OPT_MUON || kind == HPC_OPT_SOAP))
        return hpc_fail(HPC_E_ARG, "from-sgd: %s does not use the step size of sgd", o->optimizer);
    if (o->adama && o->spike > 0)
        return hpc_fail(HPC_E_ARG,
                        "spike=%g: adama adds gradients to the moments before their "
                        "norm is known, and cannot skip a step; use spike=0",
                        o->spike);
    if (o->adama && o->pruned.prune != -1)
        return hpc_fail(HPC_E_ARG, "adama: a pruned model keeps sums of its few gradients; use "
                                   "either prune or adama");
    return HPC_OK;
}

static int64_t warmup_of(const train_options *o, int64_t steps)
{
    enum { USUAL = 100 };
    if (o->warmup >= 0) return o->warmup;
    return steps / 10 < USUAL ? steps / 10 : USUAL;
}

/* A run on top of a base model resumes with that model, wherever it is now. */
int hpc_cmd_train_base(train_options *o, hpc_arena *a)
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

int hpc_cmd_train_configure(hpc_training_options *t, const train_options *o, hpc_arena *a)
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
    r->dense = o->lora_dense;
    r->adapter = o->lora_init;
    r->length = o->length, r->rows = o->rows, r->accumulate = o->accumulate;
    r->documents = o->documents, r->seed = (uint64_t)o->seed;
    r->step.clip = o->clip;
    r->step.adama = o->adama;
    hpc_cmd_train_expert_step(r, o, t->steps);
    r->traced = o->trace ? o->trace_steps : 0;
    r->parallel = parallel_of(&o->ranks);
    r->device =
        (hpc_device_options){.backend = o->device, .isa = o->isa, .threads = (int)o->threads};
    r->offload = (hpc_trainer_offload){.policy = index_of(hpc_offload_names, o->offload),
                                       .bucket = o->offload_bucket,
                                       .folder = o->offload_dir ? o->offload_dir : o->out};
    if (r->objective == HPC_OBJECTIVE_PAIRS) TRY(marks_of(&t->marks, t->tokenizer));
    if (!o->vocab && !o->model && !o->init) TRY(vocabulary_of(&vocab, o, t));
    TRY(model_of(r, o, vocab, a));
    r->step.gradients = index_of(hpc_gradients_names, o->pruned.gradients);
    TRY(hpc_cmd_train_prune(&t->prune, o, r));
    TRY(hpc_cmd_train_recompute(r, o));
out:
    return rc;
}
