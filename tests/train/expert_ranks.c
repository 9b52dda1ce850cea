/*
 * expert_ranks.c: mixtures of experts on a grid of ranks: the steps of one rank, with experts
 * divided along expert and along row; the bytes of exchanges; checkpoints.
 */
#include "tests/train/ranks.h"

enum { EXPERTS = 4, TOP = 2 };

typedef struct mixed {
    int data, expert, depth, row, col, zero;
    bool sequence;
    int recompute, pipe;
} mixed;

static job *mixture(hpc_test_folder *f, int kind, hpc_dtype dtype)
{
    job *j = start(f, kind, NULL);
    hpc_model_config *c = &j->o.model;
    snprintf(c->family, sizeof c->family, "qwen3_moe");
    c->dtype = dtype;
    c->qk_norm = HPC_QK_BY_HEAD;
    c->experts = EXPERTS, c->top_k = TOP, c->normalise = true;
    c->expert_ffn = 24, c->expert_every = 2;
    j->o.step.model.experts = (hpc_expert_emission){.balance = 0.01, .z = 0.001};
    j->steps = FEW;
    return j;
}

static void put(job *j, const mixed *g)
{
    j->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_DATA] = g->data,
                                           [HPC_AXIS_EXPERT] = g->expert,
                                           [HPC_AXIS_PIPE] = g->pipe,
                                           [HPC_AXIS_DEPTH] = g->depth,
                                           [HPC_AXIS_ROW] = g->row,
                                           [HPC_AXIS_COL] = g->col}};
    j->o.parallel.zero = g->zero;
    j->o.parallel.sequence = g->sequence;
    j->o.step.recompute = g->recompute;
}

static void as_one(const job *serial, const mixed *g, double bound)
{
    job *many = hpc_alloc(1, sizeof *many);
    assert_non_null(many);
    many->o = serial->o;
    many->source = serial->source;
    many->steps = serial->steps;
    put(many, g);
    run_job(many);
    same(many, serial, bound);
    for (int s = 0; s < many->steps; s++) {
        assert_true(fabs(many->active[s] - serial->active[s]) < 1e-5);
        assert_true(many->dropped[s] == serial->dropped[s]);
        assert_true(fabs(many->flops[s] / serial->flops[s] - 1) < 1e-5);
    }
    hpc_free(many);
}

static const mixed eight = {.data = 2, .expert = 2, .row = 2, .sequence = true};

static void eight_ranks_train_as_one(void **state)
{
    job *wide = mixture(*state, HPC_OPT_ADAMW, HPC_F64);
    run_job(wide);
    as_one(wide, &eight, 1e-12);
    hpc_free(wide);
    /* Not by Adam, whose first steps are as long where a gradient is rounding alone. */
    job *narrow = mixture(*state, HPC_OPT_SGD, HPC_F32);
    run_job(narrow);
    as_one(narrow, &eight, 1e-5);
    hpc_free(narrow);
}

static void every_axis_beside_expert(void **state)
{
    static const mixed grids[] = {
        {.expert = 2},
        {.expert = 4},
        {.expert = 2, .row = 2},
        {.expert = 2, .col = 2},
        {.expert = 2, .depth = 2},
        {.data = 2, .expert = 2, .zero = 1},
        {.data = 2, .expert = 2, .zero = 3},
        {.data = 2},
        {.row = 2, .sequence = true},
        {.expert = 2, .row = 2, .sequence = true, .recompute = HPC_RECOMPUTE_BLOCK}};
    job *j = mixture(*state, HPC_OPT_ADAMW, HPC_F64);
    run_job(j);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) as_one(j, &grids[g], 1e-12);
    hpc_free(j);
}

/* A capacity counts the tokens of all ranks, first choices before second ones. */
static void a_capacity_drops_the_same_tokens(void **state)
{
    static const mixed grids[] = {
        {.data = 2, .expert = 2}, {.depth = 2, .row = 2, .sequence = true}, {.row = 2}};
    job *j = mixture(*state, HPC_OPT_ADAMW, HPC_F64);
    j->o.step.model.experts.gating = HPC_GATING_SWITCH;
    j->o.step.model.experts.capacity = 0.75;
    run_job(j);
    assert_true(j->dropped[0] > 0 && j->dropped[FEW - 1] > 0);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) as_one(j, &grids[g], 1e-12);
    hpc_free(j);
}

static void stages_add_up_experts_of_all_blocks(void **state)
{
    job *j = mixture(*state, HPC_OPT_ADAMW, HPC_F64);
    j->o.model.expert_every = 1;
    j->o.accumulate = 2;
    j->o.step.model.experts.gating = HPC_GATING_SWITCH;
    j->o.step.model.experts.capacity = 0.75;
    run_job(j);
    assert_true(j->dropped[0] > 0);
    as_one(j, &(mixed){.pipe = 2}, 1e-12);
    as_one(j, &(mixed){.pipe = 2, .expert = 2}, 1e-12);
    hpc_free(j);
}

/* Not SOAP, which is Adam in a basis, where a moment may be rounding alone. */
static void optimizers_divide_experts(void **state)
{
    static const int kinds[] = {HPC_OPT_MUON, HPC_OPT_JORGE_MOMENTUM, HPC_OPT_SHAMPOO};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        job *j = mixture(*state, kinds[k], HPC_F64);
        hpc_optimizer_usual(&j->o.optimizer);
        run_job(j);
        as_one(j, &(mixed){.expert = 2}, 1e-9);
        hpc_free(j);
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

typedef struct count {
    const job *j;
    bool again;                    /* recomputation repeats collectives */
    int64_t bytes, messages, sums; /* of all ranks: all_to_all along expert; all_reduce along row */
} count;

static int count_step(hpc_link *world, void *user)
{
    count *c = user;
    hpc_trainer_options o = c->j->o;
    hpc_loader_options l = {.source = &c->j->source,
                            .source_n = 1,
                            .length = o.length,
                            .documents = o.documents,
                            .seed = o.seed};
    hpc_loader *loader;
    hpc_trainer *t;
    hpc_trainer_result r;
    int64_t sum[3];
    o.device.threads = 1;
    o.step.repeat_joined = c->again;
    test_ok(hpc_grid_open(&o.grid, world, &c->j->shape));
    test_ok(hpc_trainer_open(&t, &o, false));
    test_ok(hpc_loader_open(&loader, &l));
    test_ok(hpc_trainer_load(t, loader));
    hpc_grid_traffic_clear(o.grid);
    test_ok(hpc_trainer_step(&r, t, 1, 0.01, INFINITY));
    hpc_traffic experts = hpc_grid_traffic(o.grid, 1u << HPC_AXIS_EXPERT);
    hpc_traffic rows = hpc_grid_traffic(o.grid, 1u << HPC_AXIS_ROW);
    int64_t mine[] = {experts.bytes[HPC_ALL_TO_ALL], experts.messages[HPC_ALL_TO_ALL],
                      rows.messages[HPC_ALL_REDUCE]};
    test_ok(hpc_link_run(
        world,
        &(hpc_comm){.kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 3, .send = mine, .recv = sum}));
    if (hpc_link_rank(world) == 0) c->bytes = sum[0], c->messages = sum[1], c->sums = sum[2];
    hpc_loader_close(loader);
    hpc_trainer_close(t);
    hpc_grid_close(o.grid);
    return HPC_OK;
}

static count counted(job *j, const mixed *g, bool again)
{
    count c = {.j = j, .again = again};
    put(j, g);
    test_ok(hpc_threads_run(hpc_grid_size(&j->shape), count_step, &c));
    return c;
}

/* Apart from the counts of the plan, which every rank sends. */
static int64_t plan_bytes(const job *j)
{
    int ranks = hpc_grid_size(&j->shape), experts = j->shape.extent[HPC_AXIS_EXPERT];
    return (int64_t)ranks * EXPERTS * (experts - 1) / experts * (int64_t)sizeof(int32_t);
}

static void dropping_duplicates_divides_the_bytes(void **state)
{
    job *j = mixture(*state, HPC_OPT_SGD, HPC_F32);
    count all = counted(j, &(mixed){.data = 2, .expert = 2, .row = 2}, false);
    int64_t plan = plan_bytes(j);
    count once = counted(j, &eight, false);
    assert_true(once.bytes > plan);
    assert_int_equal(all.bytes - plan, 2 * (once.bytes - plan));
    assert_int_equal(all.messages, once.messages);
    /* The rows of a rank go there and back in forward and backward; a plan is one more. */
    assert_int_equal(once.messages, 8 * 5);
    hpc_free(j);
}

/* Recomputation reads what collectives gave: 4 exchanges of rows a block, where it would repeat two
 * of them: two passes instead of three. */
static void recomputation_repeats_no_collective(void **state)
{
    job *j = mixture(*state, HPC_OPT_SGD, HPC_F32);
    mixed g = {.data = 2, .expert = 2, .row = 2};
    count plain = counted(j, &g, false);
    g.recompute = HPC_RECOMPUTE_BLOCK;
    count held = counted(j, &g, false), again = counted(j, &g, true);
    int64_t plan = plan_bytes(j);
    assert_int_equal(held.bytes, plain.bytes);
    assert_int_equal(held.messages, plain.messages);
    assert_int_equal(held.sums, plain.sums);
    assert_int_equal(again.messages, 8 * 7);
    assert_int_equal(2 * (again.bytes - plan), 3 * (held.bytes - plan));
    /* The sums after attention in both blocks, and that of the experts' rows, which the gradient of
     * their weights reads. */
    assert_int_equal(again.sums - held.sums, 8 * 3);
    hpc_free(j);
}

/* ---- memory of the update -------------------------------------------------------------------- */

typedef struct memory {
    double parameters, temporaries, workspace; /* temporaries of an update: bytes of all of them */
} memory;

static memory update_of(const job *j, int64_t width)
{
    hpc_trainer_options o = j->o;
    hpc_trainer *t;
    memory m = {0};
    o.model.expert_ffn = width;
    test_ok(hpc_trainer_open(&t, &o, true));
    const hpc_program *p = t->p;
    const hpc_placement *place = hpc_exec_placement(t->exec);
    for (hpc_value v = 0; v < p->value_n; v++) {
        bool made = p->value[v].kind == HPC_VALUE_TEMP && p->value[v].segment == t->io.update;
        if (made && p->value[v].base < 0) m.temporaries += (double)hpc_type_bytes(&p->value[v].type);
    }
    const hpc_segment *s = &p->segment[t->io.update];
    for (int64_t k = 0; k < s->insn_n; k++) m.workspace += place->workspace[t->io.update][k] > 0;
    m.parameters = (double)hpc_model_config_params(&o.model);
    hpc_trainer_close(t);
    return m;
}

/* The update widens bf16 gradients a chunk of 256 at a time, on the stack of its worker: 4 bytes
 * for each element of a tile, and nothing that grows with the parameters. */
static void updates_need_no_memory_by_parameters(void **state)
{
    static const hpc_dtype types[] = {HPC_F32, HPC_BF16};
    for (int k = 0; k < 2; k++) {
        job *j = mixture(*state, HPC_OPT_ADAMW, types[k]);
        if (types[k] == HPC_BF16) j->o.step.gradients = HPC_GRADIENTS_BF16;
        memory narrow = update_of(j, 24), wide = update_of(j, 1024);
        assert_true(wide.parameters > 5 * narrow.parameters);
        assert_true(wide.temporaries == narrow.temporaries && wide.temporaries <= 64);
        assert_true(wide.workspace == narrow.workspace);
        hpc_free(j);
    }
}

/* ---- checkpoints and errors -------------------------------------------------------------------
 */

static void checkpoints_resume_on_other_grids(void **state)
{
    char folder[PATH_MAX];
    job *j = mixture(*state, HPC_OPT_ADAMW, HPC_F64);
    job *whole = mixture(*state, HPC_OPT_ADAMW, HPC_F64);
    hpc_test_path(folder, *state, "checkpoint");
    put(j, &(mixed){.expert = 2, .row = 2, .sequence = true});
    j->folder = folder;
    j->steps = 1;
    run_job(j);
    run_job(whole);
    put(j, &(mixed){.data = 2, .expert = 2});
    j->from = 1, j->steps = FEW;
    run_job(j);
    assert_int_equal(j->n, whole->n);
    assert_true(hpc_test_error(j->param, whole->param, j->n) < 1e-12);
    hpc_free(j);
    hpc_free(whole);
}

static void refused(job *j, const mixed *g, int code, const char *says)
{
    put(j, g);
    test_fails(hpc_threads_run(hpc_grid_size(&j->shape), run_refused, j), code, says);
}

static void bad_grids_are_named(void **state)
{
    job *j = mixture(*state, HPC_OPT_ADAMW, HPC_F32);
    j->o.rows = 6;
    refused(j, &(mixed){.expert = 3}, HPC_E_SHAPE, "experts=4: expert must split them in 3");
    j->o.rows = 8;
    j->o.step.model.experts.gating = HPC_GATING_SWITCH;
    j->o.step.model.experts.capacity = 1;
    j->o.parallel.halves = true;
    refused(j, &(mixed){.expert = 2}, HPC_E_UNSUPPORTED, "gate=switch");
    j->o.parallel.halves = false;
    j->o.step.model.experts = (hpc_expert_emission){0};
    j->o.model.experts = 0;
    refused(j, &(mixed){.expert = 2}, HPC_E_ARG, "the model has no experts");
    hpc_free(j);
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(eight_ranks_train_as_one),
        TEST(every_axis_beside_expert),
        TEST(a_capacity_drops_the_same_tokens),
        TEST(stages_add_up_experts_of_all_blocks),
        TEST(optimizers_divide_experts),
        TEST(dropping_duplicates_divides_the_bytes),
        TEST(recomputation_repeats_no_collective),
        TEST(updates_need_no_memory_by_parameters),
        TEST(checkpoints_resume_on_other_grids),
        TEST(bad_grids_are_named),
    };
    return cmocka_run_group_tests_name("train/expert_ranks", tests, NULL, NULL);
}
