/*
 * run.c: whole runs: every optimizer learns, a resumed run ends with the same bits, steps that
 * cannot be used are skipped and reported, and models are exported and imported.
 */
#include "tests/support/sanitized.h"
#include "tests/train/data.h"
#include "train/update_priv.h"

typedef struct place {
    hpc_test_folder *f;
    char data[PATH_MAX], held[PATH_MAX], out[PATH_MAX];
    hpc_loader_source source, validation;
    hpc_training_options o;
    int stop, save;     /* flags of a run */
    int64_t stop_after; /* rows; 0: never */
    bool stop_when_said;
    int64_t rows, said;
    double first, last, seen; /* losses; tokens of the last row */
    char line[800];
} place;

static void hear(const char *line, void *user)
{
    place *p = user;
    p->said++;
    if (p->stop_when_said) p->stop = 1;
    snprintf(p->line, sizeof p->line, "%s", line);
}

static void see(const hpc_metrics_row *r, void *user)
{
    place *p = user;
    if (p->rows++ == 0) p->first = r->value[HPC_METRIC_LOSS];
    p->last = r->value[HPC_METRIC_LOSS];
    p->seen = r->value[HPC_METRIC_TOKENS];
    if (p->rows == p->stop_after) p->stop = 1;
}

static void name_out(place *p, const char *name)
{
    hpc_test_path(p->out, p->f, name);
    p->o.out = p->out;
    p->rows = p->said = p->stop = 0;
    p->stop_after = 0;
}

static void open_place(place *p, void **state, int kind, const char *column)
{
    *p = (place){.f = *state};
    p->source.path = data_set(p->data, p->f, "data", 2000, column);
    hpc_test_path(p->held, p->f, "held");
    data_make(p->held, 40, column, 8, data_tokenizer);
    p->validation.path = p->held;
    p->o = (hpc_training_options){
        .trainer = tiny_trainer(kind),
        .lr = {.kind = HPC_LR_COSINE, .peak = 0.01, .least = 0.1, .warmup = 5},
        .data = &p->source,
        .data_n = 1,
        .validation = &p->validation,
        .validation_n = 1,
        .steps = 12,
        .save_every = 5,
        .keep = 2,
        .config = "{}\n",
        .row = see,
        .say = hear,
        .stop = &p->stop,
        .save = &p->save,
        .user = p};
    name_out(p, "run");
}

static hpc_training_result train(place *p)
{
    hpc_training_result r;
    test_ok(hpc_training_run(&r, &p->o));
    return r;
}

static uint64_t hash_of_file(const place *p, const char *run, const char *name)
{
    char path[PATH_MAX];
    hpc_buf text = {0};
    snprintf(path, sizeof path, "%s/%s/%s", p->f->root, run, name);
    test_ok(hpc_file_read(&text, path, 1 << 26));
    uint64_t h = hpc_hash(text.data, text.n, 0);
    hpc_buf_release(&text);
    return h;
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* A run of 12 steps, and one that is stopped after 4, 5 and 6 more: the same model. */
static void same_after_stopping(void **state, place *p, const char *name)
{
    char whole[64], part[64];
    (void)state;
    snprintf(whole, sizeof whole, "%s-whole", name);
    snprintf(part, sizeof part, "%s-part", name);
    name_out(p, whole);
    hpc_training_result a = train(p), b;
    assert_true(a.finished && a.step == 12 && p->rows == 12);
    double seen = p->seen;
    name_out(p, part);
    p->o.resume = true;
    for (int k = 0; k < 3; k++) {
        p->stop = 0;
        p->rows = 0;
        p->stop_after = k == 0 ? 4 : k == 1 ? 1 : 0;
        b = train(p);
        assert_int_equal(b.finished, k == 2);
        assert_int_equal(b.step, k == 0 ? 4 : k == 1 ? 5 : 12);
    }
    p->o.resume = false;
    assert_int_equal(a.tokens, b.tokens);
    assert_true(seen == p->seen);
    assert_true(a.validation == b.validation && a.best == b.best && a.loss == b.loss);
    assert_true(hash_of_file(p, whole, "model/model.safetensors") ==
                hash_of_file(p, part, "model/model.safetensors"));
    assert_true(hash_of_file(p, whole, "checkpoints/step-00000012.safetensors") ==
                hash_of_file(p, part, "checkpoints/step-00000012.safetensors"));
}

static void goes_on_to_the_same_bits(void **state)
{
    for (int kind = 0; kind < HPC_OPT_N; kind++) {
        place p;
        char name[32];
        snprintf(name, sizeof name, "k%d", kind);
        open_place(&p, state, kind, NULL);
        same_after_stopping(state, &p, name);
        hpc_test_folder_teardown(state);
        hpc_test_folder_setup(state);
    }
}

static void goes_on_with_all_else(void **state)
{
    place p;
    open_place(&p, state, HPC_OPT_ADAMW, NULL);
    p.o.trainer.model.dtype = HPC_BF16;
    p.o.trainer.model.dropout = 0.1;
    p.o.trainer.accumulate = 3;
    p.o.trainer.step.recompute = HPC_RECOMPUTE_BLOCK;
    p.o.spike = 3;
    same_after_stopping(state, &p, "half");
}

/* ---- learning -------------------------------------------------------------------------------- */

static void skip_many_steps(bool here)
{
    if (!here) return;
    print_message("SKIP: more steps show a sanitizer nothing new\n");
    skip();
}

static void every_optimizer_learns(void **state)
{
    skip_many_steps(HPC_TEST_TSAN || HPC_TEST_ASAN);
    for (int kind = 0; kind < HPC_OPT_N; kind++) {
        place p;
        open_place(&p, state, kind, NULL);
        p.o.steps = 60;
        p.o.lr.peak = kind == HPC_OPT_SGD ? 0.3 : 0.01;
        if (kind == HPC_OPT_JORGE) p.o.lr.peak = 0.003;
        hpc_training_result r = train(&p);
        if (!(p.first > 4.1 && r.validation < 0.93 * log(VOCABULARY)))
            fail_msg("%s: %g to %g, validation %g", hpc_optimizer_names[kind], p.first, p.last,
                     r.validation);
        assert_true(r.best <= r.validation && r.skipped == 0 && p.said == 0);
        hpc_test_folder_teardown(state);
        hpc_test_folder_setup(state);
    }
}

/* A step of three microbatches is a step of one that is three times as large. */
static void check_accumulation(place *p, double dropout)
{
    p->o.steps = 6;
    p->o.trainer.model.dropout = dropout;
    p->o.trainer.rows = 6;
    p->o.trainer.accumulate = 1;
    name_out(p, dropout > 0 ? "dropped" : "plain");
    hpc_training_result a = train(p), b;
    name_out(p, dropout > 0 ? "dropped-micro" : "micro");
    p->o.trainer.rows = 2;
    p->o.trainer.accumulate = 3;
    b = train(p);
    assert_int_equal(a.tokens, b.tokens);
    assert_true(fabs(a.loss - b.loss) < 1e-5 * a.loss);
}

static void accumulates(void **state)
{
    place p;
    open_place(&p, state, HPC_OPT_ADAMW, NULL);
    check_accumulation(&p, 0);
    check_accumulation(&p, 0.2);
}

static void learns_labels(void **state)
{
    skip_many_steps(HPC_TEST_TSAN);
    place p;
    open_place(&p, state, HPC_OPT_ADAMW, "label");
    p.o.trainer.objective = HPC_OBJECTIVE_CLASSES;
    p.o.trainer.model.head = HPC_HEAD_CLASSES;
    p.o.trainer.model.classes = 3;
    p.o.trainer.documents = 1;
    p.o.trainer.rows = 8;
    p.o.trainer.length = 40;
    p.o.steps = 1000;
    hpc_training_result r = train(&p);
    assert_true(fabs(p.first - log(3)) < 0.3);
    assert_true(r.validation < 0.9 * log(3));
}

/* ---- what cannot be learnt from -------------------------------------------------------------- */

static void skips_what_is_not_finite(void **state)
{
    place p;
    hpc_training_result r;
    open_place(&p, state, HPC_OPT_SGD, NULL);
    p.o.lr = (hpc_lr_config){.kind = HPC_LR_CONSTANT, .peak = 1e30};
    p.o.steps = 200;
    test_fails(hpc_training_run(&r, &p.o), HPC_E_STATE, "50 steps in a row were skipped");
    assert_true(r.skipped == 50 && p.said == 50 && r.step < 60);
    assert_non_null(strstr(p.line, "skipped: the gradient norm is"));
}

/* From the 51st step on all are skipped: the checkpoint before them stays. */
static void keeps_what_was_good(void **state)
{
    place p;
    char folder[PATH_MAX];
    hpc_training_result r;
    int64_t step;
    open_place(&p, state, HPC_OPT_SGD, NULL);
    p.o.steps = 200;
    p.o.save_every = 20;
    p.o.keep = 1;
    p.o.spike = 1e-6;
    test_fails(hpc_training_run(&r, &p.o), HPC_E_STATE, "50 steps in a row were skipped");
    assert_int_equal(r.step, 100);
    test_ok(hpc_checkpoint_newest(&step, hpc_test_path(folder, p.f, "run/checkpoints")));
    assert_int_equal(step, 40);
    p.o.resume = true;
    p.o.steps = 30;
    test_fails(hpc_training_run(&r, &p.o), HPC_E_ARG, "is at step 40, but steps=30");
    p.o.steps = 60;
    p.o.spike = 0;
    assert_true(train(&p).finished);
}

static void read_metrics(hpc_metrics_table *t, const place *p, const char *run)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/metrics.csv", p->f->root, run);
    test_ok(hpc_metrics_read(t, path));
}

/* Stopped while a validation is due: the resumed process validates first. */
static void owes_a_validation(void **state)
{
    place p;
    hpc_metrics_table a, b;
    open_place(&p, state, HPC_OPT_ADAMW, NULL);
    p.o.steps = 55;
    p.o.validate_every = 17;
    p.o.spike = 1e-6; /* steps 51 and on are skipped, and said */
    name_out(&p, "whole");
    hpc_training_result whole = train(&p), part;
    name_out(&p, "part");
    p.stop_when_said = true;
    part = train(&p);
    assert_true(!part.finished && part.step == 51 && p.rows == 50);
    p.o.resume = true;
    p.stop = p.stop_when_said = false;
    part = train(&p);
    assert_true(part.finished && part.validation == whole.validation && part.best == whole.best);
    assert_int_equal(part.best_step, whole.best_step);
    read_metrics(&a, &p, "whole");
    read_metrics(&b, &p, "part");
    assert_int_equal(a.n, 55);
    assert_int_equal(b.n, 55);
    for (int64_t k = 0; k < 55; k++) {
        double x = a.column[HPC_METRIC_VALIDATION_LOSS][k];
        double y = b.column[HPC_METRIC_VALIDATION_LOSS][k];
        assert_true(isnan(x) ? isnan(y) : x == y);
        assert_true(a.column[HPC_METRIC_LOSS][k] == b.column[HPC_METRIC_LOSS][k]);
        assert_int_equal(isnan(x), (k + 1) % 17 != 0 && k + 1 != 55);
    }
    hpc_metrics_release(&a), hpc_metrics_release(&b);
}

static void a_damaged_record_is_set_aside(void **state)
{
    place p;
    hpc_metrics_table t;
    char path[PATH_MAX];
    hpc_buf text = {0};
    open_place(&p, state, HPC_OPT_SGD, NULL);
    p.o.steps = 5;
    train(&p);
    test_ok(hpc_file_read(&text, hpc_test_path(path, p.f, "run/metrics.csv"), 1 << 20));
    char *row = strstr(text.data, "\n3,");
    assert_non_null(row);
    row[1] = '\0'; /* as a power failure leaves what was not on the disk yet */
    test_ok(hpc_file_save(path, text.data, text.n));
    p.o.resume = true;
    p.o.steps = 8;
    assert_true(train(&p).finished);
    assert_int_equal(p.said, 1);
    assert_non_null(strstr(p.line, "metrics.csv:4"));
    assert_non_null(strstr(p.line, "renamed to metrics.csv.damaged"));
    read_metrics(&t, &p, "run");
    assert_true(t.n == 3 && t.column[HPC_METRIC_STEP][0] == 6);
    hpc_metrics_release(&t);
    assert_true(hash_of_file(&p, "run", "metrics.csv.damaged") == hpc_hash(text.data, text.n, 0));
    hpc_buf_release(&text);
}

static void one_process_at_a_time(void **state)
{
    place p;
    char path[PATH_MAX];
    hpc_training_result r;
    int lock;
    open_place(&p, state, HPC_OPT_SGD, NULL);
    p.o.steps = 2;
    train(&p);
    test_ok(hpc_file_lock(&lock, hpc_test_path(path, p.f, "run/lock"), false));
    assert_true(lock >= 0);
    p.o.resume = true;
    p.o.steps = 3;
    test_fails(hpc_training_run(&r, &p.o), HPC_E_STATE, "another process trains this run");
    hpc_file_unlock(lock);
    assert_true(train(&p).finished);
}

/* Rates so high that norms jump: skipped steps change nothing, and the run ends. */
static void skips_spikes(void **state)
{
    skip_many_steps(HPC_TEST_TSAN);
    place p;
    open_place(&p, state, HPC_OPT_SGD, NULL);
    p.o.trainer.step.clip = 0;
    p.o.lr = (hpc_lr_config){.kind = HPC_LR_CONSTANT, .peak = 0.5};
    p.o.steps = 120;
    p.o.spike = 1.05;
    hpc_training_result r = train(&p);
    assert_true(r.skipped > 0 && r.skipped == p.said);
    assert_true(isfinite(r.loss) && r.loss < 5);
}

/* The validation loss of a model that has learnt nothing. */
static double validated(place *p, const char *name, double dropout, int64_t batches)
{
    name_out(p, name);
    p->o.trainer.model.dropout = dropout;
    p->o.validate_batches = batches;
    return train(p).validation;
}

/* Nothing is dropped when it is measured, and a part of the rows is drawn from all of them. */
static void validation_is_of_all(void **state)
{
    place p;
    open_place(&p, state, HPC_OPT_ADAMW, NULL);
    p.o.steps = p.o.trainer.rows = 1;
    p.o.lr = (hpc_lr_config){.kind = HPC_LR_CONSTANT, .peak = 0};
    double all = validated(&p, "all", 0, 0), one = validated(&p, "one", 0, 1);
    assert_true(validated(&p, "dropped", 0.5, 0) == all);
    assert_true(validated(&p, "dropped-one", 0.5, 1) == one);
    p.o.trainer.model.dropout = 0;
    p.o.trainer.rows = 7; /* the last batch is not full */
    double sevens = validated(&p, "sevens", 0, 0);
    assert_true(fabs(sevens - all) < 1e-6 * all);
    p.o.trainer.rows = 1;
    /* As many batches as there are: each row is drawn once. */
    double drawn = validated(&p, "drawn", 0, 1000);
    assert_true(fabs(drawn - all) < 1e-6 * all && one != all);
}

/* Products of a segment that round their factors, and all of them. */
static void count_halves(int64_t *rounded, int64_t *all, const hpc_program *p, int segment)
{
    *rounded = *all = 0;
    for (int64_t k = 0; k < p->segment[segment].insn_n; k++) {
        const hpc_insn *i = &p->segment[segment].insn[k];
        if (i->op != &hpc_op_matmul) continue;
        *rounded += ((const hpc_matmul_attr *)i->attr)->halves;
        ++*all;
    }
}

static void rounds_where_asked(void **state)
{
    place p;
    (void)state;
    static const int kinds[] = {HPC_OPT_JORGE, HPC_OPT_JORGE_NEWTON, HPC_OPT_JORGE_MOMENTUM};
    for (int k = 0; k < 9; k++) {
        int halves = k / 3, kind = kinds[k % 3];
        hpc_trainer_options t = tiny_trainer(kind);
        hpc_program *program = hpc_program_create();
        hpc_step io;
        int64_t rounded, all;
        t.optimizer.halves = halves;
        t.step.model = (hpc_model_emission){.tokens = 48, .sequences = 2};
        assert_non_null(program);
        test_ok(hpc_step_emit(&io, program, &t.model, &t.optimizer, &t.step));
        count_halves(&rounded, &all, program, io.update);
        assert_true(all > 0 && rounded == (halves >= HPC_HALVES_UPDATE ? all : 0));
        count_halves(&rounded, &all, program, io.refresh);
        /* Of a side: the gram matrix, and of n steps the last M^2 and X T; of Jorge's series all.
         */
        int64_t n = jorge_newton_steps(&t.optimizer), products = 3;
        if (kind == HPC_OPT_JORGE_NEWTON) products = 5 * n - 3;
        if (kind == HPC_OPT_JORGE_MOMENTUM) products = 4 * n - 2;
        assert_true(all > 0 && rounded * products == (halves == HPC_HALVES_ALL ? 3 * all : 0));
        count_halves(&rounded, &all, program, io.backward);
        assert_true(all > 0 && rounded == 0);
        hpc_program_free(program);
    }
    open_place(&p, state, HPC_OPT_MUON, NULL);
    hpc_training_result plain = train(&p), rounded;
    name_out(&p, "rounded");
    p.o.trainer.optimizer.halves = HPC_HALVES_UPDATE;
    rounded = train(&p);
    assert_true(rounded.loss != plain.loss && fabs(rounded.loss - plain.loss) < 0.01 * plain.loss);
}

static void refuses(void **state)
{
    place p;
    hpc_training_result r;
    open_place(&p, state, HPC_OPT_ADAMW, NULL);
    p.o.steps = 2;
    train(&p);
    test_fails(hpc_training_run(&r, &p.o), HPC_E_ARG, "has a run at step 2: use --resume");
    int64_t hidden = p.o.trainer.model.hidden;
    p.o.trainer.model.hidden *= 2; /* of another shape, it is still a run that is there */
    test_fails(hpc_training_run(&r, &p.o), HPC_E_ARG, "has a run at step 2: use --resume");
    p.o.trainer.model.hidden = hidden;
    name_out(&p, "other");
    p.o.trainer.model.vocab = 50;
    test_fails(hpc_training_run(&r, &p.o), HPC_E_SHAPE, "the shards have a vocabulary of 64");
    p.o.trainer.model.vocab = VOCABULARY;
    p.o.trainer.length = 100;
    test_fails(hpc_training_run(&r, &p.o), HPC_E_SHAPE, "length=100 is more than");
    p.o.trainer.length = 24;
    p.o.trainer.optimizer.beta2 = 1;
    test_fails(hpc_training_run(&r, &p.o), HPC_E_ARG, "beta2=1 must be in [0, 1)");
}

/* ---- models, out and in ---------------------------------------------------------------------- */

static void comes_in_again(void **state)
{
    place p;
    char model[PATH_MAX];
    open_place(&p, state, HPC_OPT_ADAMW, NULL);
    p.o.steps = 30;
    hpc_training_result a = train(&p), b;
    hpc_test_path(model, p.f, "run/model");
    name_out(&p, "again");
    p.o.trainer.init = model;
    p.o.steps = 1;
    p.o.lr = (hpc_lr_config){.kind = HPC_LR_CONSTANT, .peak = 0};
    b = train(&p);
    assert_true(fabs(a.validation - b.validation) < 1e-6);
    assert_true(hash_of_file(&p, "run", "model/model.safetensors") ==
                hash_of_file(&p, "again", "model/model.safetensors"));
}

/* Adapters learn, all else stays; merged into the model they are the same function. */
static void adapters(void **state)
{
    skip_many_steps(HPC_TEST_TSAN);
    place p;
    char model[2][PATH_MAX];
    open_place(&p, state, HPC_OPT_ADAMW, NULL);
    p.o.steps = 5;
    hpc_training_result base = train(&p), tuned, merged;
    hpc_test_path(model[0], p.f, "run/model");
    name_out(&p, "tuned");
    p.o.trainer.init = model[0];
    p.o.trainer.model.adapter =
        (hpc_adapter_config){.rank = 4,
                             .alpha = 8,
                             .targets = 1u << HPC_PART_Q | 1u << HPC_PART_DOWN,
                             .token_n = 2,
                             .token = {1, 5}};
    p.o.steps = 150;
    p.o.lr.peak = 0.03;
    tuned = train(&p);
    assert_true(tuned.validation < base.validation - 0.05);
    hpc_test_path(model[1], p.f, "tuned/model");
    name_out(&p, "merged");
    p.o.trainer.init = model[1];
    p.o.trainer.model.adapter = (hpc_adapter_config){0};
    p.o.steps = 1;
    p.o.lr = (hpc_lr_config){.kind = HPC_LR_CONSTANT, .peak = 0};
    merged = train(&p);
    assert_true(fabs(tuned.validation - merged.validation) < 1e-5);
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(goes_on_to_the_same_bits),
        IN_FOLDER(goes_on_with_all_else),
        IN_FOLDER(every_optimizer_learns),
        IN_FOLDER(accumulates),
        IN_FOLDER(learns_labels),
        IN_FOLDER(skips_what_is_not_finite),
        IN_FOLDER(keeps_what_was_good),
        IN_FOLDER(owes_a_validation),
        IN_FOLDER(a_damaged_record_is_set_aside),
        IN_FOLDER(one_process_at_a_time),
        IN_FOLDER(skips_spikes),
        IN_FOLDER(validation_is_of_all),
        IN_FOLDER(rounds_where_asked),
        IN_FOLDER(refuses),
        IN_FOLDER(comes_in_again),
        IN_FOLDER(adapters),
    };
    return cmocka_run_group_tests_name("train/run", tests, NULL, NULL);
}
