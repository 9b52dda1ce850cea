/*
 * train_record.c: the record of a run, and the options that may change when it is resumed.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/model_options.h"
#include "cmd/train.h"

/* The options with decisions in place of "auto". */
static train_options decided(const train_options *o, const hpc_training_options *t)
{
    const hpc_optimizer_config *c = &t->trainer.optimizer;
    const hpc_model_config *m = &t->trainer.model;
    train_options plain = *o;
    plain.lr = t->lr.peak;
    plain.warmup = t->lr.warmup;
    plain.beta1 = c->beta1, plain.momentum = c->momentum, plain.decay = c->decay;
    plain.graft = c->graft == HPC_GRAFT_SGD ? "sgd" : "adam";
    plain.from_sgd = false; /* lr, decay and graft are as it made them */
    plain.halves = hpc_round_bf16_names[1 + c->halves];
    plain.interval = c->interval, plain.average = c->average, plain.even = c->even;
    plain.ridge = c->ridge, plain.newton = c->newton;
    plain.vocab = m->vocab, plain.hidden = m->hidden, plain.layers = m->layers;
    plain.heads = m->heads, plain.kv_heads = m->kv_heads, plain.ffn = m->ffn;
    plain.tied = m->tied;
    plain.experts = m->experts, plain.top_k = m->top_k;
    if (m->experts > 0) plain.expert_every = m->expert_every, plain.expert_ffn = m->expert_ffn;
    plain.anneal_steps = t->trainer.anneal.steps;
    plain.steps = t->steps;
    plain.tokens = 0;
    return plain;
}

/* Without what is asked of one process alone. */
int hpc_cmd_train_record(hpc_buf *out, const train_options *o, const hpc_training_options *t)
{
    train_options plain = decided(o, t);
    plain.resume = plain.dry_run = plain.json = plain.quiet = false;
    plain.hours = 0;
    plain.trace = NULL;
    memset(&plain.set, 0, sizeof plain.set);
    return hpc_options_record(out, &hpc_cmd_train, &plain);
}

static int record_path(char path[PATH_MAX], const char *out)
{
    int n = snprintf(path, PATH_MAX, "%s/config.json", out);
    return n < PATH_MAX ? HPC_OK : hpc_fail(HPC_E_ARG, "%s: the path is too long", out);
}

int hpc_cmd_train_under(char path[PATH_MAX], const void *options)
{
    const train_options *o = options;
    path[0] = '\0';
    if (!o->resume || !o->out) return HPC_OK;
    int rc = record_path(path, o->out);
    if (rc >= 0 && !hpc_file_exists(path)) path[0] = '\0';
    return rc;
}

/* ---- resuming ------------------------------------------------------------------------------ */

/* Options that define the run: its position in the data, its parameters and their state. */
static bool is_fixed(const char *name)
{
    static const char *const fixed[] = {
        "data",
        "objective",
        "classes",
        "model",
        "init",
        "vocab",
        "hidden",
        "layers",
        "heads",
        "kv-heads",
        "ffn",
        "positions",
        "tied",
        "rope-theta",
        "lora-rank",
        "length",
        "lora-alpha",
        "lora-targets",
        "lora-tokens",
        "lora-init",
        "rows",
        "accumulate",
        "documents",
        "dtype",
        "optimizer",
        "adama",
        "block",
        "seed",
        "normalize-beta",
        "graft",
        "prune",
        "prune-over",
        "experts",
        "top-k",
        "gate",
        "expert-every",
        "expert-ffn",
        "capacity",
        "balance-loss",
        "z-loss",
        "temperature",
        "temperature-least",
        "anneal",
        "anneal-steps",
        "threshold",
        "hard-from",
        "noisy-weights",
        "diversify",
    };
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++)
        if (strcmp(fixed[k], name) == 0) return true;
    return false;
}

/* A base model may move: its hash is in the checkpoint. */
static bool may_move(const char *name, const train_options *was, const train_options *is)
{
    return strcmp(name, "init") == 0 && was->init && is->lora_rank > 0;
}

/* Where a run lies, and how a process goes about it. */
static bool is_free(const char *name)
{
    static const char *const any[] = {
        "out",        "tokenizer",  "set",         "dry-run",     "threads",       "device",
        "resume",     "json",       "quiet",       "hours",       "grid",          "zero",
        "keep-depth", "trace",      "trace-steps", "no-overlap",  "overdecompose", "ahead",
        "lora-dense", "bucket-kib", "sequence",    "plan",        "pipe-schedule", "pipe-chunks",
        "pipe-limit", "pipe-vocab", "offload",     "offload-dir", "offload-bucket"};
    for (size_t k = 0; k < sizeof any / sizeof *any; k++)
        if (strcmp(any[k], name) == 0) return true;
    return false;
}

void hpc_cmd_train_value(hpc_buf *out, const hpc_option *o, const train_options *from)
{
    const void *field = (const char *)from + o->offset;
    const hpc_texts *list = field;
    const char *text;
    out->n = 0;
    hpc_buf_text(out, "");
    switch (o->kind) {
    case HPC_FLAG: hpc_buf_text(out, *(const bool *)field ? "true" : "false"); return;
    case HPC_INT: hpc_buf_printf(out, "%lld", (long long)*(const int64_t *)field); return;
    case HPC_REAL: hpc_buf_printf(out, "%.10g", *(const double *)field); return;
    case HPC_TEXT:
    case HPC_CHOICE:
        text = *(const char *const *)field;
        hpc_buf_text(out, text ? text : "nothing");
        return;
    case HPC_TEXTS: break;
    }
    for (int64_t k = 0; k < list->n; k++)
        hpc_buf_printf(out, "%s%s", k > 0 ? "," : "", list->item[k]);
}

/* Compares one option of the earlier run with the present one. A difference in a fixed option is an
 * error. With `tell`, differences in other options are reported instead. */
static int compare(const hpc_option *o, const train_options *was, const train_options *is,
                   bool tell)
{
    hpc_buf before = {0}, now = {0};
    int rc = HPC_OK;
    char line[640];
    bool fixed = is_fixed(o->name) && !may_move(o->name, was, is);
    if (is_free(o->name) || fixed == tell) return HPC_OK;
    hpc_cmd_train_value(&before, o, was);
    hpc_cmd_train_value(&now, o, is);
    if (before.failed || now.failed) TRY(HPC_E_NOMEM);
    if (strcmp(before.data, now.data) == 0) goto out;
    if (!tell)
        TRY(hpc_fail(
            HPC_E_ARG,
            "%s=%.200s, but the run in %.200s has %.200s: start a new run in another folder",
            o->name, now.data, is->out, before.data));
    snprintf(line, sizeof line, "%s=%.200s from here on, %.200s before", o->name, now.data,
             before.data);
    if (!is->quiet) hpc_cmd_warn(line, "train");
out:
    hpc_buf_release(&before);
    hpc_buf_release(&now);
    return rc;
}

int hpc_cmd_train_compare(const train_options *o, const hpc_training_options *t)
{
    char path[PATH_MAX], folder[PATH_MAX + 16], name[] = "train", *argv[] = {name, path};
    train_options was, is = decided(o, t);
    hpc_arena *a = NULL;
    int64_t step;
    int rest, rc;
    TRY(hpc_cmd_train_under(path, o));
    if (!path[0]) goto out;
    snprintf(folder, sizeof folder, "%s/checkpoints", o->out);
    TRY(hpc_checkpoint_newest(&step, folder));
    if (step < 0) goto out; /* nothing was done by those yet */
    a = hpc_arena_create(0);
    if (!a) TRY(HPC_E_NOMEM);
    TRY(hpc_options_parse(&was, &hpc_cmd_train, a, 2, argv, &rest));
    TRY(hpc_training_steps_left(o->out, step, t->steps));
    for (int tell = 0; tell < 2; tell++)
        for (const hpc_option *k = hpc_cmd_train.options; k->name; k = hpc_option_next(k))
            TRY(compare(k, &was, &is, tell));
out:
    hpc_arena_free(a);
    return rc;
}
