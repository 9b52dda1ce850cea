/*
 * simulate.c: a simulation's counts equal the bytes that ranks send and allocate; its times follow
 * from the machine's parameters.
 */
#include "tests/train/data.h"

#include "runtime/program/op/op.h"
#include "train/plan.h"
#include "train/run_priv.h"
#include "train/simulate.h"

/* Two nodes of four devices, and round numbers. */
static const hpc_machine small = {.name = "small",
                                  .host = true,
                                  .memory = 1e9,
                                  .rate = {1e9, 1e9, 1e9},
                                  .product = {1, 1, 1},
                                  .attention = 1,
                                  .other = 1,
                                  .bandwidth = 1e30,
                                  .stream = 1,
                                  .level_n = 2,
                                  .level = {{"node", 4, 1e9, 0}, {"network", 0, 2e9, 0}}};

/* ---- counts against a run -------------------------------------------------------------------- */

typedef struct job {
    hpc_trainer_options o;
    hpc_grid_shape shape;
    hpc_loader_source source;
    bool uneven; /* ranks have other numbers of rows for experts */
} job;

static void compare_traffic(const hpc_simulation *s, const hpc_grid *g, bool uneven)
{
    for (hpc_axes a = 1; a < HPC_AXES_N; a++) {
        const int *extent = hpc_grid_shape_of(g)->extent;
        bool real = true;
        for (int k = 0; k < HPC_AXIS_N; k++) real = real && (!(a >> k & 1) || extent[k] > 1);
        hpc_traffic t = hpc_grid_traffic(g, a);
        int64_t bytes = 0, messages = 0;
        for (int k = 0; real && k < HPC_COMM_KIND_N; k++) {
            bytes += t.bytes[k];
            if (k != HPC_RECV) messages += t.messages[k]; /* counted where they are sent */
        }
        if (!uneven) assert_int_equal(s->sent[a], bytes);
        assert_int_equal(s->messages[a], messages);
    }
}

static int run_rank(hpc_link *world, void *user)
{
    const job *j = user;
    hpc_trainer_options o = j->o;
    hpc_loader_options l = {.source = &j->source,
                            .source_n = 1,
                            .objective = o.objective,
                            .length = o.length,
                            .documents = o.documents,
                            .seed = o.seed};
    hpc_loader *loader;
    hpc_trainer *t;
    hpc_trainer_result r;
    hpc_simulation s;
    hpc_step_memory m;
    int coord[HPC_AXIS_N];
    o.device.threads = 1;
    test_ok(hpc_grid_open(&o.grid, world, &j->shape));
    hpc_grid_coords(coord, &j->shape, hpc_link_rank(world));
    test_ok(hpc_trainer_open(&t, &o, false));
    test_ok(hpc_loader_open(&loader, &l));
    test_ok(hpc_trainer_load(t, loader));
    hpc_grid_traffic_clear(o.grid);
    test_ok(hpc_trainer_step(&r, t, 1, 0.01, INFINITY));
    test_ok(hpc_simulate(&s, &small, t->p, &t->io, &j->shape, coord, o.accumulate));
    assert_true(r.sent > 0);
    if (!j->uneven) assert_int_equal(hpc_simulation_sent(&s), r.sent);
    compare_traffic(&s, o.grid, j->uneven);
    test_ok(hpc_step_memory_of(&m, t->p, &t->io, &o.model, t->device,
                               t->value->list[trainer_stage(t)].slots));
    hpc_trainer_plan plan = hpc_trainer_about(t);
    assert_true(m.all == (double)hpc_trainer_peak(t));
    assert_true(m.parameters == plan.parameter_bytes && m.gradients == plan.gradient_bytes);
    assert_true(m.optimizer == plan.optimizer_bytes && m.activations == plan.activation_bytes);
    /* An executor counts extents, which could hold the rows of all ranks. */
    assert_true(s.flops <= plan.step_flops * (1 + 1e-9));
    if (o.model.experts == 0) assert_true(s.flops >= plan.step_flops * (1 - 1e-9));
    hpc_loader_close(loader);
    hpc_trainer_close(t);
    hpc_grid_close(o.grid);
    return HPC_OK;
}

static void counts_are_those_of_a_run(void **state)
{
    static const char *const grid[] = {
        "data=2", "data=3",       "depth=2",       "data=2,depth=2",
        "row=2",  "data=2,row=2", "depth=2,row=2", "data=2,depth=2,row=2"};
    job *j = hpc_alloc(1, sizeof *j);
    char path[PATH_MAX];
    assert_non_null(j);
    j->source.path = data_set(path, *state, "data", 500, NULL);
    for (size_t g = 0; g < sizeof grid / sizeof *grid; g++)
        for (int zero = 0; zero <= 3; zero++) {
            j->o = tiny_trainer(HPC_OPT_ADAMW);
            j->o.rows = strchr(grid[g], '3') ? 6 : 8;
            j->o.accumulate = 1 + zero % 2;
            j->o.parallel.zero = zero;
            j->o.parallel.keep_depth = zero == 2;
            j->o.parallel.overlap = (zero + g) % 2;
            j->o.parallel.halves = j->o.parallel.overlap && j->o.rows == 8;
            j->o.parallel.ahead = 1;
            j->o.parallel.bucket_bytes = 16 << 10;
            j->o.model.dtype = zero == 1 ? HPC_BF16 : HPC_F32;
            test_ok(hpc_grid_parse(&j->shape, grid[g]));
            test_ok(hpc_threads_run(hpc_grid_size(&j->shape), run_rank, j));
        }
    hpc_free(j);
}

static void stages_count_as_in_a_run(void **state)
{
    static const char *const grid[] = {"pipe=2", "data=2,pipe=2", "pipe=2,row=2"};
    job *j = hpc_alloc(1, sizeof *j);
    char path[PATH_MAX];
    assert_non_null(j);
    j->source.path = data_set(path, *state, "stages", 500, NULL);
    for (size_t g = 0; g < sizeof grid / sizeof *grid; g++)
        for (int k = 0; k < 4; k++) {
            j->o = tiny_trainer(HPC_OPT_ADAMW);
            j->o.rows = 8;
            j->o.accumulate = 3;
            j->o.model.tied = k % 2;
            j->o.parallel.overlap = true;
            j->o.parallel.zero = k;
            j->o.parallel.pipe.vocab = k / 2;
            test_ok(hpc_grid_parse(&j->shape, grid[g]));
            test_ok(hpc_threads_run(hpc_grid_size(&j->shape), run_rank, j));
        }
    hpc_free(j);
}

/* Every token goes to all experts, so all ranks have as many rows; `few`: to some, and only the
 * messages are known. */
static void compare_mixture(job *j, const char *grid, int kind, bool few)
{
    hpc_model_config *c = &j->o.model;
    j->o = tiny_trainer(HPC_OPT_ADAMW);
    snprintf(c->family, sizeof c->family, "qwen3_moe");
    c->qk_norm = HPC_QK_BY_HEAD;
    c->experts = 4, c->top_k = few ? 2 : 4, c->normalise = true;
    c->expert_ffn = 24, c->expert_every = 1 + kind % 2;
    j->o.rows = 8;
    j->o.accumulate = 1 + kind % 2;
    j->o.step.model.experts = (hpc_expert_emission){.balance = 0.01, .z = 0.001};
    j->o.parallel.sequence = kind == 1;
    j->o.parallel.zero = kind == 2;
    j->o.step.recompute = kind == 1 ? HPC_RECOMPUTE_BLOCK : HPC_RECOMPUTE_NONE;
    if (kind == 2)
        j->o.step.model.experts.gating = HPC_GATING_SWITCH, j->o.step.model.experts.capacity = 1;
    if (few) j->o.step.model.experts.capacity = 0.5;
    j->uneven = few;
    test_ok(hpc_grid_parse(&j->shape, grid));
    test_ok(hpc_threads_run(hpc_grid_size(&j->shape), run_rank, j));
}

static void exchanges_are_those_of_a_run(void **state)
{
    static const char *const grid[] = {"expert=4", "data=2,expert=2", "expert=2,row=2",
                                       "expert=2,depth=2"};
    job *j = hpc_alloc(1, sizeof *j);
    char path[PATH_MAX];
    assert_non_null(j);
    j->source.path = data_set(path, *state, "experts", 500, NULL);
    for (size_t g = 0; g < sizeof grid / sizeof *grid; g++)
        for (int kind = 0; kind < 3; kind++) compare_mixture(j, grid[g], kind, false);
    compare_mixture(j, "data=2,expert=2", 2, true);
    hpc_free(j);
}

/* ---- links ------------------------------------------------------------------------------------
 */

static double seconds(hpc_comm_kind kind, const char *grid, hpc_axis axis, double bytes)
{
    hpc_grid_shape s;
    int coord[HPC_AXIS_N] = {0};
    test_ok(hpc_grid_parse(&s, grid));
    hpc_simulated_link l = hpc_simulate_link(&small, &s, coord, 1u << axis);
    return hpc_simulate_seconds(&small, &l, kind, bytes);
}

static double all_reduce(const char *grid, hpc_axis axis, double bytes)
{
    return seconds(HPC_ALL_REDUCE, grid, axis, bytes);
}

static double all_to_all(const char *grid)
{
    return seconds(HPC_ALL_TO_ALL, grid, HPC_AXIS_EXPERT, 1e9);
}

static void near(double x, double want)
{
    if (fabs(x - want) > 1e-12 * fabs(want)) fail_msg("%.15g, wanted %.15g", x, want);
}

static void collectives_take_what_their_links_take(void **state)
{
    (void)state;
    near(all_reduce("row=4", HPC_AXIS_ROW, 1e9), 2 * 3.0 / 4);   /* within a node */
    near(all_reduce("data=2", HPC_AXIS_DATA, 1e9), 2 * 1.0 / 2); /* the same */
    near(all_reduce("row=1", HPC_AXIS_ROW, 1e9), 0);             /* no other rank */
    /* Four such links share what leads out of a node. */
    near(all_reduce("data=2,row=4", HPC_AXIS_DATA, 1e9), 2 * 1.0 / 2 / (2.0 / 4));
    /* All in one: a ring, as fast as a device's link; or by level, which is slower here. */
    near(all_reduce("data=8", HPC_AXIS_DATA, 1e9), 2 * 7.0 / 8);
    hpc_grid_shape s;
    int coord[HPC_AXIS_N] = {[HPC_AXIS_DATA] = 1, [HPC_AXIS_ROW] = 1};
    test_ok(hpc_grid_parse(&s, "data=3,depth=2,row=2"));
    hpc_simulated_link l =
        hpc_simulate_link(&small, &s, coord, 1u << HPC_AXIS_DATA | 1u << HPC_AXIS_DEPTH);
    assert_int_equal(l.size, 6);
    assert_int_equal(l.rank, 2);
    assert_int_equal(l.across[0], 2);
    assert_int_equal(l.across[1], 3);
}

/* Each rank keeps its own part. Parts for the other node share what leads out of a node. */
static void exchanges_take_what_their_parts_take(void **state)
{
    (void)state;
    near(all_to_all("expert=4"), 3.0 / 4);
    near(all_to_all("expert=8"), 3.0 / 8 + 4 * 4.0 / 8 / 2);
    near(all_to_all("expert=2,row=4"), 1.0 / 2 / (2.0 / 4));
    near(all_to_all("row=4"), 0);
}

/* ---- the clock --------------------------------------------------------------------------------
 */

/* A product of 2 * 1000^3 operations, which takes 2 s, and a sum of 1000^2 numbers of 4 bytes over
 * two ranks, 4 ms; who waits for what depends on order and on what is read. */
static hpc_simulation clocked(bool first, bool reads)
{
    hpc_program *p = hpc_program_create();
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){1000, 1000});
    hpc_value a = hpc_program_input(p, "a", t), b = hpc_program_input(p, "b", t), sum = HPC_NONE;
    hpc_step io = {
        .backward = -1, .last = -1, .gather = -1, .norm = -1, .refresh = -1, .update = -1};
    hpc_simulation s;
    hpc_grid_shape g;
    int coord[HPC_AXIS_N] = {0};
    io.model.forward = hpc_program_segment(p, HPC_FORWARD, 0);
    io.model.forward_head = -1;
    if (first) sum = hpc_all_reduce(p, a, 1u << HPC_AXIS_ROW, HPC_COMM_SUM);
    hpc_linear(p, reads ? sum : a, b, HPC_NONE, HPC_NONE);
    if (!first) hpc_all_reduce(p, a, 1u << HPC_AXIS_ROW, HPC_COMM_SUM);
    test_ok(hpc_program_status(p));
    test_ok(hpc_grid_parse(&g, "row=2"));
    test_ok(hpc_simulate(&s, &small, p, &io, &g, coord, 1));
    hpc_program_free(p);
    near(s.compute_s, 2);
    near(s.communication_s, 0.004);
    near(s.least_s, 2);
    return s;
}

static void what_nobody_waits_for_is_hidden(void **state)
{
    (void)state;
    near(clocked(true, false).step_s, 2);
    near(clocked(true, true).step_s, 2.004);
    near(clocked(true, true).exposed_s, 0.004);
    near(clocked(false, false).exposed_s, 0.004); /* no computation is left to hide it */
    assert_true(clocked(true, false).exposed_s == 0);
}

/* ---- the plane ----------------------------------------------------------------------------------
 */

/* Of a product of k inputs and n outputs, all over h: sums of its outputs forward and of its
 * inputs' gradients backward, elements a rank over m h. */
static double of_product(double k, double n, int row, int col)
{
    double inner = col, outer = row;
    return 2 * (inner - 1) / inner * n / outer + 2 * (outer - 1) / outer * k / inner;
}

static void the_best_planes_are_those_of_the_table(void **state)
{
    (void)state;
    static const struct {
        int ranks, row, col;
        double volume;
    } table[] = {{4, 4, 1, 6}, {8, 4, 2, 6}, {16, 8, 2, 5}, {32, 8, 4, 4}, {64, 16, 4, 3}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        int n = table[k].ranks, row, col;
        double least = INFINITY;
        for (int r = 1; r <= n; r++) {
            if (n % r) continue;
            int c = n / r; /* every other product is transposed: its axes trade places */
            double sum = of_product(1, 3, r, c) + of_product(1, 1, c, r) + of_product(1, 4, r, c) +
                         of_product(4, 1, c, r);
            near(hpc_simulate_volume(r, c), sum);
            least = fmin(least, sum);
        }
        hpc_simulate_best_plane(&row, &col, n);
        assert_int_equal(row, table[k].row);
        assert_int_equal(col, table[k].col);
        near(least, table[k].volume);
        near(hpc_simulate_volume(n, 1), 8.0 * (n - 1) / n); /* Megatron's */
    }
}

/* ---- descriptions -------------------------------------------------------------------------------
 */

static int parse(hpc_machine *m, const char *head, const char *levels)
{
    char text[2048];
    hpc_json *root;
    snprintf(text, sizeof text,
             "{%s, \"name\": \"x\", \"host\": true, \"memory_bytes\": 1e9, "
             "\"operations_per_s\": {\"f64\": 1e9, \"f32\": 1e9, \"bf16\": 1e9}, "
             "\"product_share\": {\"f64\": 1, \"f32\": 1, \"bf16\": 0.5}, "
             "\"attention_share\": 0.5, \"other_share\": 1, \"product_half\": 0, "
             "\"memory_bytes_per_s\": 1e9, "
             "\"stream_share\": 1, \"launch_s\": 0, \"levels\": [%s]}",
             head, levels);
    test_ok(hpc_json_parse(&root, text, strlen(text), "text"));
    int rc = hpc_machine_parse(m, root, "m.json");
    hpc_json_free(root);
    return rc;
}

static void descriptions_are_checked(void **state)
{
    (void)state;
    hpc_machine m;
    static const char ok[] = "\"machine_version\": 1";
    static const char net[] = "{\"name\": \"net\", \"bandwidth\": 1e9, \"latency\": 0}";
    test_ok(parse(&m, ok, net));
    assert_true(m.level_n == 1 && m.product[2] == 0.5 && m.level[0].devices == 0);
    test_fails(parse(&m, "\"machine_version\": 2", net), HPC_E_UNSUPPORTED,
               "m.json: machine_version=2: this program reads 1");
    test_fails(parse(&m, ok, ""), HPC_E_FORMAT, "m.json: levels: expected a list of 1 to 4");
    test_fails(parse(&m, ok, "{\"name\": \"a\", \"bandwidth\": -1, \"latency\": 0}"), HPC_E_FORMAT,
               "levels[0]: bandwidth=-1: expected 1 to 1e+18");
    test_fails(parse(&m, ok,
                     "{\"name\": \"a\", \"bandwidth\": 1, \"latency\": 0, \"devices\": 4}, "
                     "{\"name\": \"b\", \"bandwidth\": 1, \"latency\": 0, \"devices\": 6}, "
                     "{\"name\": \"c\", \"bandwidth\": 1, \"latency\": 0}"),
               HPC_E_FORMAT, "levels[1]: devices=6: expected a multiple of 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_a_run),
        cmocka_unit_test(stages_count_as_in_a_run),
        cmocka_unit_test(exchanges_are_those_of_a_run),
        cmocka_unit_test(exchanges_take_what_their_parts_take),
        cmocka_unit_test(collectives_take_what_their_links_take),
        cmocka_unit_test(what_nobody_waits_for_is_hidden),
        cmocka_unit_test(the_best_planes_are_those_of_the_table),
        cmocka_unit_test(descriptions_are_checked),
    };
    return cmocka_run_group_tests_name("train/simulate", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
