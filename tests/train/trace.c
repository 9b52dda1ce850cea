/*
 * trace.c: traces of a trainer's ranks: one file for all ranks, with events in lanes without
 * overlap and sums equal to those that steps report.
 */
#include <stdlib.h>

#include "tests/train/data.h"
#include "train/run_priv.h"

enum { STEPS = 3, TRACED = 2, RANKS_MAX = 8, LANES = 2 + 64, EVENTS = 1 << 14 };

typedef struct job {
    hpc_trainer_options o;
    hpc_grid_shape shape;
    hpc_loader_source source;
    char data[PATH_MAX];
    hpc_buf text;
    double exposed[RANKS_MAX]; /* seconds, of the traced steps */
    int64_t sent[RANKS_MAX];   /* bytes of those */
} job;

static int run_rank(hpc_link *world, void *user)
{
    job *j = user;
    hpc_trainer_options o = j->o;
    hpc_loader_options l = {.source = &j->source,
                            .source_n = 1,
                            .length = o.length,
                            .documents = o.documents,
                            .seed = o.seed};
    hpc_loader *loader;
    hpc_trainer *t;
    hpc_buf text = {0};
    int rank = hpc_link_rank(world);
    o.device.threads = 1;
    if (hpc_link_size(world) > 1) test_ok(hpc_grid_open(&o.grid, world, &j->shape));
    test_ok(hpc_trainer_open(&t, &o, false));
    test_ok(hpc_loader_open(&loader, &l));
    for (int s = 0; s < STEPS; s++) {
        hpc_trainer_result r;
        test_ok(hpc_trainer_load(t, loader));
        test_ok(hpc_trainer_step(&r, t, s + 1, 0.01, INFINITY));
        if (s < TRACED) j->exposed[rank] += r.exposed;
        if (s < TRACED) j->sent[rank] += r.sent;
        if (s + 1 == TRACED) test_ok(hpc_trainer_trace(&text, t));
    }
    if (rank == 0)
        j->text = text;
    else
        assert_int_equal(text.n, 0);
    hpc_loader_close(loader);
    hpc_trainer_close(t);
    hpc_grid_close(o.grid);
    return HPC_OK;
}

typedef struct span {
    double begin, end;
    int lane; /* of all ranks */
} span;

static int by_begin(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->lane != y->lane) return x->lane - y->lane;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

/* Each event lies within the one in which it begins, or after it. */
static void check_lanes(span *list, int n)
{
    double open[8];
    int depth = 0;
    const double least = 1e-4; /* of a microsecond: what printing loses */
    qsort(list, (size_t)n, sizeof *list, by_begin);
    for (int k = 0; k < n; k++) {
        if (k == 0 || list[k].lane != list[k - 1].lane) depth = 0;
        while (depth > 0 && open[depth - 1] <= list[k].begin + least) depth--;
        if (depth > 0) assert_true(list[k].end <= open[depth - 1] + least);
        assert_true(depth < 8);
        /* Only steps hold segments. */
        if (list[k].lane % LANES > 0) assert_int_equal(depth, 0);
        open[depth++] = list[k].end;
    }
}

static double number(const hpc_json *o, const char *key)
{
    double x;
    test_ok(hpc_json_real(&x, hpc_json_get(o, key), key));
    return x;
}

static const char *text_of(const hpc_json *o, const char *key)
{
    const char *x;
    test_ok(hpc_json_text(&x, hpc_json_get(o, key), key));
    return x;
}

typedef struct sums {
    double exposed[RANKS_MAX], bytes[RANKS_MAX];
    int steps[RANKS_MAX], names, spans;
} sums;

static void add_event(sums *s, span *list, const hpc_json *v)
{
    int rank = (int)number(v, "pid"), lane = (int)number(v, "tid");
    const char *name = text_of(v, "name");
    assert_true(rank >= 0 && rank < RANKS_MAX && lane >= 0 && lane < LANES);
    if (strcmp(text_of(v, "ph"), "M") == 0) {
        s->names++;
        return;
    }
    assert_string_equal(text_of(v, "ph"), "X");
    double begin = number(v, "ts"), length = number(v, "dur");
    assert_true(begin >= 0 && length >= 0 && s->spans < EVENTS);
    list[s->spans++] = (span){begin, begin + length, rank * LANES + lane};
    bool waits = strncmp(name, "start ", 6) == 0 || strncmp(name, "wait ", 5) == 0 ||
                 strncmp(name, "progress ", 9) == 0;
    if (waits) s->exposed[rank] += length * 1e-6;
    if (strncmp(name, "step ", 5) == 0) s->steps[rank]++;
    if (lane < 2) return;
    const hpc_json *args = hpc_json_get(v, "args");
    assert_non_null(args);
    s->bytes[rank] += number(args, "bytes");
    assert_true(number(args, "in_flight_us") + 1e-3 >= length);
    assert_true(strstr("data depth row", text_of(args, "axis")) != NULL);
}

static void check(const job *j, int ranks)
{
    static span list[EVENTS];
    hpc_json *root;
    sums s = {.names = 0};
    test_ok(hpc_json_parse(&root, j->text.data, j->text.n, "trace"));
    const hpc_json *events = hpc_json_get(root, "traceEvents");
    for (int64_t k = 0; k < hpc_json_n(events); k++) add_event(&s, list, hpc_json_at(events, k));
    check_lanes(list, s.spans);
    assert_true(s.names >= 3 * ranks);
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(s.steps[r], TRACED);
        assert_true(fabs(s.exposed[r] - j->exposed[r]) <= 1e-6);
        /* The losses are summed by no instruction. */
        bool shares = j->shape.extent[HPC_AXIS_DATA] * j->shape.extent[HPC_AXIS_DEPTH] > 1;
        if (r == 0) assert_true(s.bytes[r] == (double)(j->sent[r] - (shares ? TRACED * 8 : 0)));
        if (r > 0) assert_true(s.bytes[r] <= (double)j->sent[r] && s.bytes[r] > 0);
    }
    hpc_json_free(root);
}

static void run_grid(void **state, int data, int depth, int row, int zero)
{
    job *j = hpc_alloc(1, sizeof *j);
    assert_non_null(j);
    j->o = tiny_trainer(HPC_OPT_ADAMW);
    j->o.rows = 8;
    j->o.traced = TRACED;
    j->o.parallel.zero = zero;
    hpc_test_path(j->data, *state, "data");
    if (!hpc_file_exists(j->data)) data_make(j->data, 2000, NULL, 7, data_tokenizer);
    j->source.path = j->data;
    j->shape = (hpc_grid_shape){
        .extent = {[HPC_AXIS_DATA] = data, [HPC_AXIS_DEPTH] = depth, [HPC_AXIS_ROW] = row}};
    test_ok(hpc_threads_run(hpc_grid_size(&j->shape), run_rank, j));
    check(j, hpc_grid_size(&j->shape));
    hpc_buf_release(&j->text);
    hpc_free(j);
}

static void one_rank(void **state)
{
    run_grid(state, 1, 1, 1, 0);
}

static void ranks_side_by_side(void **state)
{
    run_grid(state, 2, 1, 1, 1);
    run_grid(state, 1, 1, 2, 0);
    run_grid(state, 2, 2, 1, 3);
    run_grid(state, 2, 2, 2, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_rank),
                                       cmocka_unit_test(ranks_side_by_side)};
    return cmocka_run_group_tests_name("train/trace", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
