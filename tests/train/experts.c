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
    double first, last, active[STEPS + 1], flops[STEPS + 1], tokens[STEPS + 1], dropped;
} place;

static void see(const hpc_metrics_row *r, void *user)
{
    place *p = user;
    if (p->rows++ == 0) p->first = r->value[HPC_METRIC_LOSS];
    p->last = r->value[HPC_METRIC_LOSS];
    int step = (int)r->value[HPC_METRIC_STEP];
    p->active[step] = r->value[HPC_METRIC_EXPERTS];
    p->flops[step] = r->value[HPC_METRIC_FLOPS];
    p->tokens[step] = r->value[HPC_METRIC_TOKENS];
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

/* An expert more is six operations for each of its parameters. */
static void flops_follow_the_active_experts(void **state)
{
    place p;
    open_place(&p, state, HPC_GATING_ANNEAL, HPC_OPT_ADAMW);
    name_out(&p, "run");
    train(&p);
    const hpc_model_config *c = &p.o.trainer.model;
    double base = hpc_model_config_flops(c, p.o.trainer.length);
    double one = 6.0 * 3 * (double)(c->hidden * c->expert_ffn);
    assert_true(hpc_model_config_expert_flops(c) == one);
    for (int s = 1; s <= STEPS; s++) {
        double tokens = p.tokens[s] - p.tokens[s - 1];
        double want = tokens * (base + (p.active[s] - 1) * one);
        assert_true(fabs(p.flops[s] / want - 1) < 1e-9);
    }
    assert_true(p.flops[1] / p.tokens[1] > base);
}

/* ---- first values ---------------------------------------------------------------------------- */

typedef struct copies {
    float single[3][2048], all[3][EXPERTS * 2048], router[EXPERTS * 64];
} copies;

static void read_part(float *out, const char *dir, const hpc_model_config *c, const char *name)
{
    hpc_model_tensor *list;
    hpc_weights *w;
    int64_t n, found = 0;
    test_ok(hpc_weights_open(&w, dir, c));
    test_ok(hpc_model_tensors(&list, &n, c));
    for (int64_t k = 0; k < n; k++)
        if (strcmp(list[k].name, name) == 0) {
            test_ok(hpc_weights_read(out, w, &list[k]));
            found++;
        }
    assert_int_equal(found, 1);
    hpc_free(list);
    hpc_weights_close(w);
}

/* Trains a model without experts or with one for two steps; *c: its configuration. */
static void train_single(place *p, void **state, hpc_model_config *c, bool dense, char *dir)
{
    open_place(p, state, HPC_GATING_TOPK, HPC_OPT_ADAMW);
    hpc_model_config *m = &p->o.trainer.model;
    m->experts = m->top_k = 1;
    m->normalise = false;
    if (dense) {
        m->experts = m->top_k = m->expert_every = m->expert_ffn = 0;
        snprintf(m->family, sizeof m->family, "qwen3");
    }
    p->o.steps = 2;
    name_out(p, dense ? "dense" : "one");
    train(p);
    snprintf(dir, PATH_MAX, "%.4000s/model", p->out);
    test_ok(hpc_model_config_read(c, dir));
}

/* Each expert is the MLP with other zeros, a share of about `zeros`. */
static void check_copies(const float *all, const float *single, int64_t n, double zeros)
{
    double together = 0;
    for (int e = 0; e < EXPERTS; e++) {
        int64_t none = 0;
        for (int64_t i = 0; i < n; i++) {
            none += all[e * n + i] == 0;
            together += all[e * n + i] == 0 && all[(e + 1) % EXPERTS * n + i] == 0;
            assert_true(all[e * n + i] == 0 || all[e * n + i] == single[i]);
        }
        assert_true(fabs((double)none / (double)n - zeros) < 0.05);
    }
    assert_true(together / (double)(EXPERTS * n) < zeros * zeros + 0.05);
}

static void experts_start_as_copies_of_one(void **state)
{
    static const char *const tail[] = {"gate_proj.weight", "up_proj.weight", "down_proj.weight"};
    copies *x = hpc_alloc(1, sizeof *x);
    assert_non_null(x);
    for (int dense = 0; dense < 2; dense++) {
        char dir[PATH_MAX], name[96], run[PATH_MAX];
        hpc_model_config single, c;
        place p;
        train_single(&p, state, &single, dense, dir);
        const hpc_upcycle_options up = {
            .experts = EXPERTS, .top_k = 2, .every = 1, .normalise = true};
        test_ok(hpc_model_config_upcycle(&c, &single, &up));
        p.o.trainer.model = c;
        p.o.trainer.single = &single;
        p.o.trainer.zeros = 0.2;
        p.o.trainer.init = dir;
        p.o.lr.peak = 0;
        p.o.steps = 1;
        name_out(&p, dense ? "from-dense" : "from-one");
        train(&p);
        snprintf(run, sizeof run, "%.4000s/model", p.out);
        for (int k = 0; k < 3; k++) {
            const char *of = dense ? "" : "experts.";
            snprintf(name, sizeof name, "model.layers.1.mlp.%s%s", of, tail[k]);
            read_part(x->single[k], dir, &single, name);
            snprintf(name, sizeof name, "model.layers.1.mlp.experts.%s", tail[k]);
            read_part(x->all[k], run, &c, name);
            int64_t width = dense ? single.ffn : single.expert_ffn;
            check_copies(x->all[k], x->single[k], single.hidden * width, 0.2);
        }
        read_part(x->router, run, &c, "model.layers.1.mlp.gate.weight");
        assert_true(x->router[0] != x->router[c.hidden]);
        hpc_test_folder_teardown(state);
        hpc_test_folder_setup(state);
    }
    hpc_free(x);
}

static void wrong_first_models_are_named(void **state)
{
    hpc_model_config one = tiny_trainer(HPC_OPT_ADAMW).model, c;
    hpc_upcycle_options up = {.experts = EXPERTS, .top_k = 2, .every = 1};
    (void)state;
    snprintf(one.family, sizeof one.family, "gemma");
    test_fails(hpc_model_config_upcycle(&c, &one, &up), HPC_E_UNSUPPORTED,
               "no family adds experts to a gemma");
    snprintf(one.family, sizeof one.family, "qwen3_moe");
    one.experts = 2, one.top_k = 1;
    test_fails(hpc_model_config_upcycle(&c, &one, &up), HPC_E_ARG, "has 2 experts already");
}

/* ---- adapters -------------------------------------------------------------------------------- */

static void adapters_of_experts_learn_alone(void **state)
{
    char dir[PATH_MAX], run[PATH_MAX];
    static float a[EXPERTS * 2048], b[EXPERTS * 2048];
    hpc_model_config c;
    place p;
    open_place(&p, state, HPC_GATING_TOPK, HPC_OPT_ADAMW);
    name_out(&p, "base");
    train(&p);
    snprintf(dir, sizeof dir, "%.4000s/model", p.out);
    p.o.trainer.init = dir;
    p.o.trainer.model.adapter =
        (hpc_adapter_config){.rank = 2,
                             .alpha = 4,
                             .targets = 1u << HPC_PART_EXPERT_GATE | 1u << HPC_PART_EXPERT_UP |
                                        1u << HPC_PART_EXPERT_DOWN};
    name_out(&p, "tuned");
    train(&p);
    assert_true(p.last < p.first);
    snprintf(run, sizeof run, "%.4000s/model", p.out);
    test_ok(hpc_model_config_read(&c, run));
    read_part(a, dir, &c, "model.layers.1.self_attn.q_proj.weight");
    read_part(b, run, &c, "model.layers.1.self_attn.q_proj.weight");
    assert_memory_equal(a, b, sizeof(float) * 32 * 32);
    read_part(a, dir, &c, "model.layers.1.mlp.experts.down_proj.weight");
    read_part(b, run, &c, "model.layers.1.mlp.experts.down_proj.weight");
    int64_t n = c.hidden * c.expert_ffn;
    for (int e = 0; e < EXPERTS; e++)
        assert_true(memcmp(a + e * n, b + e * n, (size_t)n * sizeof *a) != 0);
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
        TEST(flops_follow_the_active_experts),
        TEST(experts_start_as_copies_of_one),
        TEST(wrong_first_models_are_named),
        TEST(adapters_of_experts_learn_alone),
        TEST(resuming_while_annealing_gives_the_same_bits),
        TEST(temperatures_follow_their_schedule),
        TEST(wrong_experts_are_named),
        TEST(other_experts_are_refused),
    };
    return cmocka_run_group_tests_name("train/experts", tests, NULL, NULL);
}
