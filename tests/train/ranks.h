/*
 * ranks.h: runs a trainer on a grid of thread ranks, for tests that compare it with one rank.
 */
#ifndef HPC_TESTS_TRAIN_RANKS_H
#define HPC_TESTS_TRAIN_RANKS_H

#include "tests/train/data.h"
#include "train/run_priv.h"

enum { STEPS = 4, FEW = 2, NUMBERS = 1 << 16 };

typedef struct job {
    hpc_trainer_options o;
    hpc_grid_shape shape;
    hpc_loader_source source;
    hpc_compare_marks marks;
    char data[PATH_MAX];
    const char *folder; /* to load from and save to */
    int64_t from, steps;
    double loss[STEPS], norm[STEPS], validation;
    double active[STEPS], dropped[STEPS], flops[STEPS];
    double param[NUMBERS];
    int64_t n;
    int64_t sent;                               /* bytes sent by the first rank in its last step */
    int64_t along[HPC_AXIS_N][HPC_COMM_KIND_N]; /* along a single axis */
    double parameter_bytes, optimizer_bytes, gradient_bytes,
        activation_bytes; /* of the first rank */
} job;

static inline int never(void *user)
{
    (void)user;
    return 0;
}

static inline void hear(const char *line, void *user)
{
    (void)line, (void)user;
}

/* The value that the update keeps: for a bf16 parameter its master. */
static inline hpc_value as_kept(const hpc_trainer *t, hpc_value v)
{
    if (t->whole[v].dtype != HPC_BF16) return v;
    v = t->p->value[v].master;
    assert_true(v >= 0 && t->whole[v].dtype == HPC_F32);
    return v;
}

static inline void read_parameters(job *j, hpc_trainer *t)
{
    static double room[NUMBERS];
    const float *narrow = (const float *)(const void *)room;
    hpc_model_tensor *tensor;
    int64_t tensors;
    if (!trainer_leads(t)) {
        test_ok(trainer_attend(t));
        return;
    }
    test_ok(hpc_model_tensors(&tensor, &tensors, &t->o.model));
    j->n = 0;
    for (int64_t i = 0; i < tensors; i++) {
        hpc_value v = hpc_program_find(t->p, tensor[i].name);
        if (v < 0 || !t->p->value[v].trainable) continue;
        int64_t n = 1;
        for (int d = 0; d < t->whole[v].rank; d++) n *= t->whole[v].extent[d];
        assert_true(j->n + n <= NUMBERS);
        v = as_kept(t, v);
        test_ok(trainer_fetch(room, t, v));
        bool wide = t->whole[v].dtype == HPC_F64;
        for (int64_t k = 0; k < n; k++) j->param[j->n++] = wide ? room[k] : (double)narrow[k];
    }
    hpc_free(tensor);
    test_ok(trainer_dismiss(t));
}

/* Adds `by` times the bytes sent along each axis. */
static inline void count_sent(job *j, const hpc_grid *g, int64_t by)
{
    for (int a = 0; g && a < HPC_AXIS_N; a++) {
        hpc_traffic x = hpc_grid_traffic(g, 1u << a);
        bool many = hpc_grid_shape_of(g)->extent[a] > 1;
        for (int k = 0; many && k < HPC_COMM_KIND_N; k++) j->along[a][k] += by * x.bytes[k];
    }
}

static inline int run_rank(hpc_link *world, void *user)
{
    job *j = user;
    hpc_trainer_options o = j->o;
    hpc_loader_options l = {.source = &j->source,
                            .source_n = 1,
                            .objective = o.objective,
                            .marks = j->marks,
                            .classes = o.model.classes,
                            .length = o.length,
                            .documents = o.documents,
                            .seed = o.seed};
    hpc_checkpoint at = {.best = INFINITY};
    hpc_loader *loader;
    hpc_trainer *t;
    hpc_trainer_result r;
    double loss = 0;
    bool first = hpc_link_rank(world) == 0, found;
    o.device.threads = 1;
    if (hpc_link_size(world) > 1 || j->shape.extent[HPC_AXIS_DATA] == 1)
        test_ok(hpc_grid_open(&o.grid, world, &j->shape));
    test_ok(hpc_trainer_open(&t, &o, false));
    test_ok(hpc_loader_open(&loader, &l));
    if (j->from > 0) {
        test_ok(hpc_checkpoint_load(&at, &found, t, j->folder, hear, NULL));
        assert_true(found && at.step == j->from);
        test_ok(hpc_loader_seek(loader, &at.loader));
    }
    for (int64_t s = j->from; s < j->steps; s++) {
        test_ok(hpc_trainer_load(t, loader));
        if (first) memset(j->along, 0, sizeof j->along);
        if (first) count_sent(j, o.grid, -1);
        test_ok(hpc_trainer_step(&r, t, s + 1, 0.01, INFINITY));
        if (!first) continue;
        count_sent(j, o.grid, 1);
        j->loss[s] = r.loss;
        j->norm[s] = r.grad_norm;
        j->active[s] = r.active;
        j->dropped[s] = r.dropped;
        j->flops[s] = r.flops;
        j->sent = r.sent;
    }
    at.step = j->steps;
    at.loader = hpc_loader_tell(loader);
    if (j->folder) test_ok(hpc_checkpoint_save(t, j->folder, &at));
    test_ok(hpc_trainer_validate(&loss, t, loader, o.rows + 1, never, NULL));
    if (first) j->validation = loss;
    read_parameters(j, t);
    if (first) {
        hpc_trainer_plan plan = hpc_trainer_about(t);
        j->parameter_bytes = plan.parameter_bytes;
        j->optimizer_bytes = plan.optimizer_bytes;
        j->gradient_bytes = plan.gradient_bytes;
        j->activation_bytes = plan.activation_bytes;
    }
    hpc_loader_close(loader);
    hpc_trainer_close(t);
    hpc_grid_close(o.grid);
    return HPC_OK;
}

static inline void run_job(job *j)
{
    test_ok(hpc_threads_run(hpc_grid_size(&j->shape), run_rank, j));
}

/* One rank of a job that must fail to open. */
static inline int run_refused(hpc_link *world, void *user)
{
    job *j = user;
    hpc_trainer_options o = j->o;
    hpc_trainer *t;
    test_ok(hpc_grid_open(&o.grid, world, &j->shape));
    int rc = hpc_trainer_open(&t, &o, true);
    hpc_grid_close(o.grid);
    return rc;
}

static inline job *start(hpc_test_folder *f, int kind, const char *column)
{
    job *j = hpc_alloc(1, sizeof *j);
    assert_non_null(j);
    j->o = tiny_trainer(kind);
    j->o.rows = 8;
    j->steps = STEPS;
    hpc_test_path(j->data, f, column ? column : "data");
    if (!hpc_file_exists(j->data)) data_make(j->data, 2000, column, 7, data_tokenizer);
    j->source.path = j->data;
    return j;
}

static inline void same(const job *a, const job *b, double bound)
{
    assert_int_equal(a->n, b->n);
    assert_true(hpc_test_error(a->loss, b->loss, STEPS) < bound);
    assert_true(hpc_test_error(a->norm, b->norm, STEPS) < bound);
    assert_true(fabs(a->validation - b->validation) < bound * fabs(b->validation));
    assert_true(hpc_test_error(a->param, b->param, a->n) < bound);
}

/* Asserts that two jobs gave the same bits. */
static inline void same_bits(const job *a, const job *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->loss, b->loss, sizeof a->loss);
    assert_memory_equal(a->norm, b->norm, sizeof a->norm);
    assert_true(a->validation == b->validation);
    assert_memory_equal(a->param, b->param, (size_t)a->n * sizeof *a->param);
}

typedef struct grid {
    int data, depth, row, col, zero;
    bool keep;
} grid;

static inline void put_grid(job *j, const grid *g)
{
    j->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_DATA] = g->data,
                                           [HPC_AXIS_DEPTH] = g->depth,
                                           [HPC_AXIS_ROW] = g->row,
                                           [HPC_AXIS_COL] = g->col}};
    j->o.parallel.zero = g->zero;
    j->o.parallel.keep_depth = g->keep;
}

/* Runs `serial`, already run on one rank, on a grid, and compares. */
static inline void as_serial(const job *serial, const grid *g, double bound)
{
    job *many = hpc_alloc(1, sizeof *many);
    assert_non_null(many);
    many->o = serial->o;
    many->source = serial->source;
    many->marks = serial->marks;
    many->steps = serial->steps;
    put_grid(many, g);
    run_job(many);
    same(many, serial, bound);
    hpc_free(many);
}

#endif
