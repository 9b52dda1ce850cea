/*
 * run.c: runs all steps of a training run: validation, checkpoints, the guard against gradient
 * spikes, stopping and resuming.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/run_priv.h"

enum { PATH = RUN_PATH, HOPELESS = 50 };
static const double average_keep = 0.98; /* of the gradients' norm */
static const int64_t spike_after = 50;   /* steps before which the average is unreliable */

typedef struct run {
    const hpc_training_options *o;
    hpc_training_result *out;
    hpc_trainer *trainer;
    hpc_loader *data, *validation;
    hpc_metrics *metrics;
    hpc_run_tokens *tokens; /* NULL: none */
    hpc_trainer_plan plan;
    hpc_checkpoint at;
    char checkpoints[PATH];
    int64_t start_ns, saved_step, in_a_row;
    hpc_saving *saving;   /* the saving in progress */
    int64_t saving_step;  /* its step */
    bool prunes;          /* older checkpoints may be removed when it is complete */
    int64_t held_ns;      /* total delay by saving */
    int64_t held_told_ns; /* part of it already in the metrics */
    double before;        /* seconds of training before this process */
    int lock, ranks;
    bool wants_save, traced;
    int64_t steps; /* taken in this process */
    bool leads;    /* first rank, or the only one */
    run_prune prune;
} run;

static int say(const run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int say(const run *r, const char *format, ...)
{
    char line[800];
    va_list args;
    if (!r->leads) return HPC_OK;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    r->o->say(line, r->o->user);
    return HPC_OK;
}

static int path_in(char out[PATH], const run *r, const char *name)
{
    int n = snprintf(out, PATH, "%s/%s", r->o->out, name);
    return n < PATH ? HPC_OK : hpc_fail(HPC_E_ARG, "%s: the path is too long", r->o->out);
}

/* Records that the error occurred on all ranks. */
static int told(run *r, int rc)
{
    if (r->ranks > 1 && rc < 0 && rc != HPC_E_ABORTED) r->out->told = true;
    return rc;
}

/* Agrees on an error: returns the error of the first failing rank on all ranks. */
static int together(run *r, int rc)
{
    if (r->ranks > 1) rc = hpc_link_agree(hpc_grid_world(r->o->trainer.grid), rc);
    return told(r, rc);
}

/* ---- opening -------------------------------------------------------------------------------- */

static int open_loaders(run *r)
{
    const hpc_trainer_options *t = &r->o->trainer;
    hpc_loader_options l = {.source = r->o->data,
                            .source_n = r->o->data_n,
                            .objective = t->objective,
                            .marks = r->o->marks,
                            .classes = t->model.classes,
                            .length = t->length,
                            .documents = t->documents,
                            .seed = t->seed};
    hpc_hash128 hash;
    int rc = HPC_OK;
    if (r->o->tokenizer) {
        TRY(hpc_run_tokens_open(&r->tokens, r->o->tokenizer));
        hash = hpc_tokenizer_hash(hpc_run_tokens_of(r->tokens));
        l.tokenizer = &hash;
    }
    TRY(hpc_loader_open(&r->data, &l));
    if (hpc_loader_vocabulary(r->data) > t->model.vocab)
        TRY(hpc_fail(HPC_E_SHAPE, "the shards have a vocabulary of %lld, the model has vocab=%lld",
                     (long long)hpc_loader_vocabulary(r->data), (long long)t->model.vocab));
    if (r->o->validation_n == 0) goto out;
    hash = hpc_loader_tokenizer(r->data);
    l.source = r->o->validation, l.source_n = r->o->validation_n;
    l.tokenizer = &hash;
    /* A random subset, the same for every run. */
    l.ordered = r->o->validate_batches == 0;
    l.seed = 0;
    TRY(hpc_loader_open(&r->validation, &l));
out:
    return rc;
}

/* Fails early if the folder has a run and --resume is missing. */
static int check_free(const run *r)
{
    int64_t step;
    int rc = hpc_checkpoint_newest(&step, r->checkpoints);
    if (rc < 0 || step < 0 || r->o->resume) return rc;
    return hpc_fail(HPC_E_ARG, "%s has a run at step %lld: use --resume, or another folder",
                    r->o->out, (long long)step);
}

static void say_to(const char *line, void *user)
{
    say(user, "%s", line);
}

/* Draws the run number that identifies its checkpoints. */
static int draw_run(run *r)
{
    double now = hpc_events_time();
    int64_t mixed[3] = {(int64_t)(now * 1e6), hpc_clock_ns(), (int64_t)r->o->trainer.seed};
    int64_t word = (int64_t)(hpc_hash(mixed, sizeof mixed, 0) | 1);
    int rc = trainer_tell(r->trainer, &word);
    r->at.run = (uint64_t)word;
    return rc;
}

static int go_on(run *r)
{
    bool found = false;
    int rc;
    TRY(hpc_checkpoint_load(&r->at, &found, r->trainer, r->checkpoints, say_to, r));
    if (!found) r->at = (hpc_checkpoint){.best = INFINITY};
    if (!found || r->at.run == 0) TRY(draw_run(r));
    if (!found) return HPC_OK;
    r->before = r->at.seconds;
    r->saved_step = r->at.step;
    TRY(hpc_loader_seek(r->data, &r->at.loader));
out:
    return rc;
}

static int set_aside(const run *r, const char *why)
{
    char from[PATH], to[PATH];
    hpc_file_view v = {0};
    int rc;
    TRY(path_in(from, r, "metrics.csv"));
    TRY(path_in(to, r, "metrics.csv.damaged"));
    say(r, "%s: renamed to metrics.csv.damaged, starting a new file", why);
    TRY(hpc_file_open(&v, from));
    TRY(hpc_file_save(to, v.data, v.bytes));
    TRY(hpc_file_remove(from));
out:
    hpc_file_close(&v);
    return rc;
}

/* A metrics.csv that cannot be continued does not stop the run. */
static int open_metrics(run *r)
{
    char why[600];
    int64_t step = r->at.step - r->at.owed;
    int rc = hpc_metrics_open(&r->metrics, r->o->out, step);
    if (rc != HPC_E_FORMAT) return rc;
    snprintf(why, sizeof why, "%s", hpc_error_get()->text);
    hpc_error_clear();
    TRY(set_aside(r, why));
    TRY(hpc_metrics_open(&r->metrics, r->o->out, step));
out:
    return rc;
}

static int check_grid(const run *r)
{
    const hpc_trainer_options *t = &r->o->trainer;
    hpc_parallel q = t->parallel;
    q.grid = *hpc_grid_shape_of(t->grid);
    return hpc_parallel_check(&q, &t->model, t->rows, t->length);
}

/* Two processes that save and remove checkpoints in one folder would corrupt it. */
static int take_lock(run *r)
{
    char path[PATH];
    int rc;
    TRY(path_in(path, r, "lock"));
    TRY(hpc_file_lock(&r->lock, path, false));
    if (r->lock < 0)
        rc = hpc_fail(HPC_E_STATE, "%s: another process trains this run; stop it, or wait for it",
                      r->o->out);
out:
    return rc;
}

/* Opens the trainer, with masks if they are frozen. */
static int open_trainer(run *r)
{
    hpc_trainer_options o = r->o->trainer;
    if (r->prune.frozen) o.masks = r->prune.masks;
    if (r->traced) o.traced = 0;
    hpc_trainer_close(r->trainer);
    r->trainer = NULL; /* the run closes it once, whether or not another opens */
    int rc = run_products_open(&r->trainer, &o, r->o->out, r->leads);
    if (rc >= 0) r->plan = hpc_trainer_about(r->trainer);
    if (rc >= 0 && r->plan.unproven[0]) say(r, "the proof of the grid fails: %s", r->plan.unproven);
    return rc;
}

static int open_files(run *r)
{
    const hpc_trainer_options *t = &r->o->trainer;
    int rc;
    TRY(path_in(r->checkpoints, r, "checkpoints"));
    TRY(check_free(r));
    if (t->grid) TRY(check_grid(r));
    TRY(open_loaders(r));
    if (r->leads) TRY(hpc_file_mkdir(r->o->out));
    if (r->leads) TRY(take_lock(r));
    if (r->leads && r->o->trace) TRY(hpc_file_save(r->o->trace, "", 0)); /* before any step */
out:
    return rc;
}

static int open_run(run *r)
{
    bool many = r->ranks > 1;
    char path[PATH];
    int rc;
    TRY(together(r, open_files(r)));
    if (many) TRY(told(r, run_same_data(r->data, r->validation, r->o->trainer.grid)));
    TRY(together(r, run_prune_open(&r->prune, r->o, r->checkpoints)));
    TRY(open_trainer(r));
    if (many) TRY(told(r, run_same_trainer(r->trainer)));
    TRY(told(r, go_on(r)));
    if (!r->leads) goto out;
    TRY(path_in(path, r, "config.json"));
    if (r->o->config) TRY(hpc_file_save(path, r->o->config, strlen(r->o->config)));
    TRY(open_metrics(r));
out:
    return rc;
}

static void close_run(run *r)
{
    hpc_saving_end(r->saving);
    hpc_metrics_close(r->metrics);
    hpc_trainer_close(r->trainer);
    hpc_loader_close(r->data);
    hpc_loader_close(r->validation);
    hpc_run_tokens_close(r->tokens);
    run_prune_close(&r->prune);
    hpc_file_unlock(r->lock);
}

/* ---- saving --------------------------------------------------------------------------------- */

static double seconds_here(const run *r)
{
    return (double)(hpc_clock_ns() - r->start_ns) * 1e-9;
}

/* Advances the saving in progress, or waits for it. */
static int settle(run *r, bool wait)
{
    int64_t start = hpc_clock_ns();
    bool done = false;
    int rc = HPC_OK;
    if (!r->saving) return HPC_OK;
    TRY(hpc_saving_poll(r->saving, wait, &done));
    if (!done) goto out;
    hpc_saving_end(r->saving);
    r->saving = NULL;
    if (r->leads && r->prunes)
        TRY(hpc_checkpoint_prune(r->checkpoints, r->o->keep, r->saving_step));
out:
    r->held_ns += hpc_clock_ns() - start;
    return rc;
}

/* Starts a saving: state is copied now and written while training continues. */
static int save(run *r)
{
    int64_t start;
    int rc;
    if (r->saved_step == r->at.step) return HPC_OK;
    TRY(settle(r, true));
    start = hpc_clock_ns();
    r->at.loader = hpc_loader_tell(r->data);
    if (r->prune.masks) run_prune_tell(&r->at, &r->prune);
    r->at.seconds = r->before + seconds_here(r);
    TRY(hpc_saving_start(&r->saving, r->trainer, r->checkpoints, &r->at));
    r->saved_step = r->saving_step = r->at.step;
    /* While steps are being skipped, an earlier checkpoint may be the one to resume from. */
    r->prunes = r->in_a_row == 0;
    r->held_ns += hpc_clock_ns() - start;
out:
    return rc;
}

static int export_model(const run *r, const char *name)
{
    char dir[PATH];
    int rc;
    TRY(path_in(dir, r, name));
    TRY(hpc_trainer_export(r->trainer, dir));
    if (r->tokens && r->leads) TRY(run_tokens_copy(r->tokens, dir));
out:
    return rc;
}

/* ---- validation ----------------------------------------------------------------------------- */

static bool asked(const int *flag)
{
    return flag && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

static bool is_late(const run *r)
{
    return r->o->seconds > 0 && seconds_here(r) > r->o->seconds;
}

enum { WORD_STOP = 1, WORD_SAVE = 2 };

/* Combines the requests to all ranks as WORD_* bits; or an error code. */
static int hear(const run *r)
{
    int64_t asks[2] = {asked(r->o->stop) || (r->leads && is_late(r)), asked(r->o->save)};
    if (asks[1]) __atomic_store_n(r->o->save, 0, __ATOMIC_RELAXED);
    int rc = trainer_any(r->trainer, asks, 2);
    return rc < 0 ? rc : (asks[0] ? WORD_STOP : 0) | (asks[1] ? WORD_SAVE : 0);
}

static int enough(void *user)
{
    run *r = user;
    int word = hear(r);
    if (word < 0) return word;
    r->wants_save = r->wants_save || word & WORD_SAVE;
    return word & WORD_STOP;
}

/* Returns 1 if interrupted. */
static int validate(run *r, double *loss)
{
    const hpc_trainer_options *t = &r->o->trainer;
    hpc_loader_state begin = {0};
    int64_t all = hpc_loader_rows(r->validation), n = r->o->validate_batches;
    int rc;
    n = n > 0 && n < all / t->rows ? n * t->rows : all;
    TRY(hpc_loader_seek(r->validation, &begin));
    TRY(hpc_trainer_validate(loss, r->trainer, r->validation, n, enough, r));
    if (!(*loss < r->at.best)) goto out;
    r->at.best = *loss;
    r->at.best_step = r->at.step;
    TRY(export_model(r, "best"));
out:
    return rc;
}

static bool due(const run *r, int64_t every)
{
    return r->at.step == r->o->steps || (every > 0 && r->at.step % every == 0);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static double limit_of(const run *r)
{
    if (r->o->spike == 0 || r->at.step < spike_after || r->at.norm_average == 0) return INFINITY;
    return r->o->spike * r->at.norm_average;
}

/* Fails after HOPELESS skipped steps in a row. */
static int note_skipped(run *r, const hpc_trainer_result *s)
{
    if (!s->skipped) {
        double old = r->at.norm_average;
        r->in_a_row = 0;
        r->at.norm_average =
            old == 0 ? s->grad_norm : average_keep * old + (1 - average_keep) * s->grad_norm;
        return HPC_OK;
    }
    r->out->skipped++;
    r->in_a_row++;
    say(r, "step %lld skipped: the gradient norm is %g, its average %g", (long long)r->at.step,
        s->grad_norm, r->at.norm_average);
    if (r->in_a_row < HOPELESS) return HPC_OK;
    return hpc_fail(HPC_E_STATE,
                    "%d steps in a row were skipped up to step %lld: resume from the checkpoint "
                    "before them (--resume) with a lower learning rate (--lr)",
                    HOPELESS, (long long)r->at.step);
}

static hpc_metrics_row row_of(const run *r, const hpc_trainer_result *s, double lr, int64_t ns)
{
    double seconds = (double)ns * 1e-9, flops = s->flops / seconds;
    return (hpc_metrics_row){
        .value = {[HPC_METRIC_STEP] = (double)r->at.step,
                  [HPC_METRIC_TOKENS] = (double)r->at.tokens,
                  [HPC_METRIC_LOSS] = s->loss,
                  [HPC_METRIC_LR] = lr,
                  [HPC_METRIC_GRAD_NORM] = s->grad_norm,
                  [HPC_METRIC_STEP_MS] = seconds * 1e3,
                  [HPC_METRIC_TOKENS_PER_S] = (double)s->tokens / seconds,
                  [HPC_METRIC_TFLOPS] = flops * 1e-12,
                  [HPC_METRIC_MFU] = flops / (r->o->peak_flops * r->ranks),
                  [HPC_METRIC_COMM_BYTES] = (double)s->sent,
                  [HPC_METRIC_PEAK_BYTES] = (double)hpc_trainer_peak(r->trainer),
                  [HPC_METRIC_SKIPPED] = s->skipped,
                  [HPC_METRIC_SAVE_MS] = (double)(r->held_ns - r->held_told_ns) * 1e-6,
                  [HPC_METRIC_EXPOSED_MS] = s->exposed * 1e3,
                  [HPC_METRIC_EXPERTS] = s->active,
                  [HPC_METRIC_DROPPED] = s->dropped,
                  [HPC_METRIC_FLOPS] = s->flops},
        .absent = {[HPC_METRIC_MFU] = r->o->peak_flops == 0, [HPC_METRIC_VALIDATION_LOSS] = true}};
}

/* Validates if due and writes the row of metrics; if interrupted, the next process does both. */
static int end_step(run *r, const hpc_metrics_row *step)
{
    hpc_metrics_row row = *step;
    double loss = NAN;
    int rc = HPC_OK;
    if (r->validation && due(r, r->o->validate_every)) TRY(validate(r, &loss));
    if (r->at.owed) r->saved_step = -1; /* the saved checkpoint marks the validation as pending */
    r->at.owed = rc > 0;
    r->at.row = row;
    if (r->at.owed) return HPC_OK;
    row.value[HPC_METRIC_VALIDATION_LOSS] = loss;
    row.absent[HPC_METRIC_VALIDATION_LOSS] = isnan(loss);
    if (r->leads) {
        TRY(hpc_metrics_add(r->metrics, &row));
        r->o->row(&row, r->o->user);
    }
    r->out->loss = row.value[HPC_METRIC_LOSS];
    if (!isnan(loss)) r->out->validation = loss;
out:
    return rc;
}

/* Writes the trace once, after the traced steps or at the end. */
static int trace(run *r, bool last)
{
    hpc_buf text = {0};
    int rc = HPC_OK;
    if (!r->o->trace || r->traced || (!last && r->steps < r->o->trainer.traced)) return HPC_OK;
    r->traced = true;
    TRY(hpc_trainer_trace(&text, r->trainer));
    if (r->leads) TRY(hpc_file_save(r->o->trace, text.data, text.n));
out:
    hpc_buf_release(&text);
    return rc;
}

/* A step had no memory on the device: saves the state before it, which is still whole if the update
 * had not begun. Ranks of a grid cannot agree on it any more. Returns rc, the step's error. */
static int save_before(run *r, const hpc_loader_state *data, int rc)
{
    hpc_error why = *hpc_error_get();
    if (rc != HPC_E_NOMEM || r->ranks > 1 || !hpc_trainer_is_whole(r->trainer)) return rc;
    hpc_error_clear();
    int saved = hpc_loader_seek(r->data, data);
    if (saved >= 0) saved = save(r);
    if (saved >= 0) saved = settle(r, true);
    if (saved >= 0)
        say(r, "out of memory at step %lld of %lld: saved, --resume continues; use fewer --rows",
            (long long)r->at.step, (long long)r->o->steps);
    hpc_error_clear();
    hpc_error_adopt(&why);
    return rc;
}

static int take_step(run *r)
{
    hpc_trainer_result s;
    double lr = hpc_lr_at(&r->o->lr, r->at.step + 1, r->o->steps);
    const hpc_loader_state data = hpc_loader_tell(r->data);
    int64_t start = hpc_clock_ns();
    int rc;
    TRY(hpc_trainer_load(r->trainer, r->data));
    rc = hpc_trainer_step(&s, r->trainer, r->at.step + 1, lr, limit_of(r));
    if (rc < 0) return save_before(r, &data, rc);
    int64_t ns = hpc_clock_ns() - start;
    r->at.step++;
    r->steps++;
    r->at.tokens += s.tokens;
    TRY(trace(r, false));
    TRY(note_skipped(r, &s));
    hpc_metrics_row row = row_of(r, &s, lr, ns);
    r->held_told_ns = r->held_ns;
    TRY(end_step(r, &row));
out:
    return rc;
}

static int save_if_due(run *r)
{
    int rc = enough(r); /* checks for a stop request again */
    bool wanted = r->wants_save;
    r->wants_save = false;
    if (rc < 0 || r->at.owed) return rc < 0 ? rc : HPC_OK; /* pending validation: stopping saves */
    return wanted || (due(r, r->o->save_every) && r->in_a_row == 0) ? save(r) : HPC_OK;
}

/* Freezes masks: saves the dense model with its masks, and reopens the trainer from that
 * checkpoint. A run stopped here resumes the same way. */
static int prune_if_due(run *r)
{
    hpc_checkpoint at;
    char line[160];
    int rc;
    TRY(run_prune_draw(&r->prune, line, r->trainer, r->at.step));
    if (line[0]) say(r, "%s", line);
    if (rc != 1) return HPC_OK;
    r->saved_step = -1;
    TRY(save(r));
    TRY(settle(r, true));
    TRY(trace(r, true)); /* the new trainer has no events of these steps */
    TRY(open_trainer(r));
    TRY(hpc_checkpoint_load_step(&at, r->trainer, r->checkpoints, r->at.step));
out:
    return rc;
}

static int take_steps(run *r)
{
    int rc;
    TRY(told(r, hpc_training_steps_left(r->o->out, r->at.step, r->o->steps)));
    while (r->at.step < r->o->steps || r->at.owed) {
        TRY(enough(r));
        if (rc > 0) {
            TRY(save(r));
            TRY(settle(r, true));
            TRY(trace(r, true));
            TRY(hpc_trainer_save_bubbles(r->trainer, r->o->out));
            say(r, "%s at step %lld of %lld: saved, --resume continues",
                !asked(r->o->stop) && is_late(r) ? "out of time" : "stopped", (long long)r->at.step,
                (long long)r->o->steps);
            return HPC_OK;
        }
        if (!r->at.owed) TRY(prune_if_due(r));
        TRY(r->at.owed ? end_step(r, &r->at.row) : take_step(r));
        TRY(settle(r, false));
        TRY(save_if_due(r));
    }
    TRY(save(r));
    TRY(trace(r, true));
    TRY(hpc_trainer_save_bubbles(r->trainer, r->o->out));
    if (run_prune_missed(&r->prune)) say(r, "%s", run_prune_missed(&r->prune));
    TRY(export_model(r, "model"));
    TRY(settle(r, true));
    r->out->finished = true;
out:
    return rc;
}

int hpc_training_run(hpc_training_result *out, const hpc_training_options *o)
{
    run r = {
        .o = o, .out = out, .saved_step = -1, .start_ns = hpc_clock_ns(), .lock = -1, .ranks = 1};
    hpc_grid *grid = o->trainer.grid;
    int rc;
    *out = (hpc_training_result){.loss = NAN, .validation = NAN};
    if (grid) r.ranks = hpc_link_size(hpc_grid_world(grid));
    r.leads = !grid || hpc_link_rank(hpc_grid_world(grid)) == 0;
    TRY(open_run(&r));
    TRY(take_steps(&r));
out:
    out->step = r.at.step;
    out->tokens = r.at.tokens;
    out->best = r.at.best;
    out->best_step = r.at.best_step;
    out->held = (double)r.held_ns * 1e-9;
    close_run(&r);
    return rc;
}
