/*
 * experts.c: training of mixtures of experts: every gate learns, a run that is resumed while its
 * temperature falls ends with the same bits, and exported models have the experts of the run.
 */
#include "tests/train/data.h"
#include "train/train.h"

enum { STEPS = 12, EXPERTS = 4, HARD = 9 };

typedef struct place {
    hpc_test_folder *f;
    char data[PATH_MAX], out[PATH_MAX];
    hpc_loader_source source;
    hpc_training_options o;
    int stop;
    int64_t stop_after, rows;
    double first, last, active[STEPS + 1], dropped;
} place;

static void see(const hpc_metrics_row *r, void *user)
{
    place *p = user;
    if (p->rows++ == 0) p->first = r->value[HPC_METRIC_LOSS];
    p->last = r->value[HPC_METRIC_LOSS];
    p->active[(int)r->value[HPC_METRIC_STEP]] = r->value[HPC_METRIC_EXPERTS];
    p->dropped += r->value[HPC_METRIC_DROPPED];
    if (p->rows == p->stop_after) p->stop = 1;
}

static void hear(const char *line, void *user)
{
    (void)line;
    (void)user;
}

static void open_place(place *p, void **state, int gating, int kind)
{
    *p = (place){.f = *state};
    p->source.path = data_set(p->data, p->f, "data", 2000, NULL);
    p->o = (hpc_training_options){.trainer = tiny_trainer(kind),
                                  .lr = {.kind = HPC_LR_CONSTANT, .peak = 0.01, .warmup = 3},
                                  .data = &p->source,
                                  .data_n = 1,
                                  .steps = STEPS,
                                  .save_every = 5,
                                  .keep = 2,
                                  .config = "{}\n",
                                  .row = see,
                                  .say = hear,
                                  .stop = &p->stop,
                                  .user = p};
    hpc_model_config *c = &p->o.trainer.model;
    snprintf(c->family, sizeof c->family, "qwen3_moe");
    c->qk_norm = HPC_QK_BY_HEAD;
    c->experts = EXPERTS;
    c->top_k = gating == HPC_GATING_TOPK ? 2 : 1;
    c->normalise = gating == HPC_GATING_TOPK;
    c->expert_every = 2;
    c->expert_ffn = 24;
    p->o.trainer.step.model.experts =
        (hpc_expert_emission){.gating = gating, .capacity = 0.75, .balance = 0.01, .z = 0.001};
    p->o.trainer.anneal =
        (hpc_anneal_config){.from = 1, .to = 0.3, .threshold = 0.001, .steps = STEPS, .hard = HARD};
}

static void name_out(place *p, const char *name)
{
    hpc_test_path(p->out, p->f, name);
    p->o.out = p->out;
    p->rows = p->stop = 0;
    p->stop_after = 0;
}

static hpc_training_result train(place *p)
{
    hpc_training_result r;
    test_ok(hpc_training_run(&r, &p->o));
    return r;
}

static uint64_t hash_of(const place *p, const char *run, const char *name)
{
    char path[PATH_MAX];
    hpc_buf text = {0};
    snprintf(path, sizeof path, "%s/%s/%s", p->f->root, run, name);
    test_ok(hpc_file_read(&text, path, 1 << 26));
    uint64_t h = hpc_hash(text.data, text.n, 0);
    hpc_buf_release(&text);
    return h;
}

static void every_gate_learns(void **state)
{
    static const int kinds[] = {HPC_OPT_ADAMW, HPC_OPT_MUON, HPC_OPT_SGD, HPC_OPT_JORGE_MOMENTUM};
    for (int gating = HPC_GATING_TOPK; gating <= HPC_GATING_ANNEAL; gating++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            place p;
            char name[32], path[PATH_MAX + 8];
            hpc_model_config c;
            snprintf(name, sizeof name, "learns-%d-%d", gating, kinds[k]);
            open_place(&p, state, gating, kinds[k]);
            name_out(&p, name);
            train(&p);
            assert_true(p.last < p.first);
            assert_true((p.dropped > 0) == (gating == HPC_GATING_SWITCH));
            snprintf(path, sizeof path, "%s/model", p.out);
            test_ok(hpc_model_config_read(&c, path));
            assert_int_equal(c.experts, EXPERTS);
            assert_int_equal(c.top_k, p.o.trainer.model.top_k);
            assert_int_equal(c.expert_every, 2);
            hpc_test_folder_teardown(state);
            hpc_test_folder_setup(state);
        }
}

static void experts_become_fewer(void **state)
{
    place p;
    open_place(&p, state, HPC_GATING_ANNEAL, HPC_OPT_ADAMW);
    name_out(&p, "run");
    train(&p);
    assert_true(p.active[1] > 2 && p.active[1] <= EXPERTS);
    assert_true(p.active[HARD - 1] < p.active[1] && p.active[HARD - 1] > 1);
    for (int s = HARD; s <= STEPS; s++) assert_true(fabs(p.active[s] - 1) < 1e-6);
}

/* Stopped while the temperature falls, and in the middle between two checkpoints. */
static void resuming_while_annealing_gives_the_same_bits(void **state)
{
    place p;
    open_place(&p, state, HPC_GATING_ANNEAL, HPC_OPT_ADAMW);
    name_out(&p, "whole");
    train(&p);
    name_out(&p, "part");
    p.o.resume = true;
    for (int k = 0; k < 3; k++) {
        p.stop = 0;
        p.rows = 0;
        p.stop_after = k == 0 ? 4 : k == 1 ? 3 : 0;
        assert_int_equal(train(&p).finished, k == 2);
    }
    assert_true(hash_of(&p, "whole", "model/model.safetensors") ==
                hash_of(&p, "part", "model/model.safetensors"));
    assert_true(hash_of(&p, "whole", "checkpoints/step-00000012.safetensors") ==
                hash_of(&p, "part", "checkpoints/step-00000012.safetensors"));
}

/* ---- schedules and errors -------------------------------------------------------------------- */

static void temperatures_follow_their_schedule(void **state)
{
    hpc_anneal_config c = {.from = 2, .to = 0.5, .threshold = 0.001, .steps = 10, .hard = 8};
    double x[2];
    (void)state;
    hpc_anneal_at(x, &c, 1);
    assert_true(x[0] == 2 && x[1] == 0.001);
    hpc_anneal_at(x, &c, 6);
    assert_true(fabs(x[0] - 1) < 1e-12 && x[1] == 0.001);
    hpc_anneal_at(x, &c, 30);
    assert_true(fabs(x[0] - 0.5) < 1e-12 && x[1] == 1);
    c.linear = true;
    hpc_anneal_at(x, &c, 6);
    assert_true(fabs(x[0] - 1.25) < 1e-12);
    hpc_anneal_at(x, &c, -1); /* validation */
    assert_true(x[0] == 0.5 && x[1] == 1);
}

static void wrong_experts_are_named(void **state)
{
    place p;
    hpc_trainer *t;
    open_place(&p, state, HPC_GATING_TOPK, HPC_OPT_ADAMW);
    hpc_model_config *c = &p.o.trainer.model;
    c->top_k = 5;
    test_fails(hpc_trainer_open(&t, &p.o.trainer, true), HPC_E_ARG,
               "top-k=5 is not between 1 and the 4 experts");
    c->top_k = 2;
    c->expert_every = 9;
    test_fails(hpc_trainer_open(&t, &p.o.trainer, true), HPC_E_ARG, "expert-every=9");
    c->expert_every = 2;
    p.o.trainer.step.model.experts.gating = HPC_GATING_ANNEAL;
    p.o.trainer.anneal.to = 3;
    test_fails(hpc_trainer_open(&t, &p.o.trainer, true), HPC_E_ARG, "temperature-least=3");
}

/* A checkpoint of a model with another number of experts. */
static void other_experts_are_refused(void **state)
{
    place p;
    hpc_training_result r;
    open_place(&p, state, HPC_GATING_TOPK, HPC_OPT_ADAMW);
    name_out(&p, "run");
    p.stop_after = 6;
    train(&p);
    p.o.resume = true;
    p.stop = 0;
    p.o.trainer.model.experts = 8;
    assert_true(hpc_training_run(&r, &p.o) < 0);
    assert_non_null(strstr(hpc_error_get()->text, "mlp.gate.weight is f32"));
    hpc_error_clear();
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_gate_learns),
        TEST(experts_become_fewer),
        TEST(resuming_while_annealing_gives_the_same_bits),
        TEST(temperatures_follow_their_schedule),
        TEST(wrong_experts_are_named),
        TEST(other_experts_are_refused),
    };
    return cmocka_run_group_tests_name("train/experts", tests, NULL, NULL);
}
