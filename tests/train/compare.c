/*
 * compare.c: training on both sides of changes: contents of batches, learning of a planted rule
 * for either side, export and import, and equal steps on many ranks.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include "tests/support/sanitized.h"
#include "tests/train/changes.h"
#include "tests/train/ranks.h"

static hpc_loader_options options_of(const hpc_loader_source *s, int64_t n)
{
    return (hpc_loader_options){.source = s,
                                .source_n = n,
                                .objective = HPC_OBJECTIVE_PAIRS,
                                .marks = change_marks,
                                .classes = 3,
                                .length = CHANGE_LONGEST,
                                .documents = 1,
                                .seed = 5};
}

/* ---- batches ----------------------------------------------------------------------------- */

static void pair_is(const hpc_batch *b, int64_t row, int64_t pair, int64_t document)
{
    int32_t token[CHANGE_LONGEST], side[CHANGE_LONGEST];
    int64_t answer, n = change_document(token, &answer, document, 7, false);
    int64_t at =
        pair > 0 && row % (b->rows / b->parts) ? b->pooled[2 * pair - 1] + 1 : row * b->length;
    hpc_compare c;
    assert_true(hpc_compare_find(&c, token, n, &change_marks));
    hpc_compare_fit(&c, token, b->length);
    for (int k = 0; k < 2; k++) {
        n = hpc_compare_write(side, &c, token, k);
        bool begins = false;
        for (int32_t i = 0; i + 1 < b->start_n; i++)
            begins = begins || (b->start[i] == at && b->start[i + 1] == at + n);
        assert_true(begins);
        assert_memory_equal(b->tokens + at, side, (size_t)n * sizeof *side);
        for (int64_t i = 0; i < n; i++) assert_int_equal(b->pos[at + i], i);
        at += n;
        assert_int_equal(b->pooled[2 * pair + k], at - 1);
    }
    assert_int_equal(b->classes[pair], token[answer]);
}

/* As many sequences as any part may hold, and pairs by their row, whatever padding there is. */
static void sides_of_each_change(void **state)
{
    char path[PATH_MAX];
    hpc_loader_source s = {.path = hpc_test_path(path, *state, "changes")};
    changes_make(path, 40, 7, 0);
    hpc_loader_options o = options_of(&s, 1);
    o.ordered = true;
    for (int64_t parts = 1; parts <= 4; parts *= 2) {
        for (int length = CHANGE_LONGEST; length > 10; length -= 13) {
            hpc_loader *l;
            hpc_batch *b;
            o.length = length;
            test_ok(hpc_loader_open(&l, &o));
            test_ok(hpc_batch_create(&b, &o, 8, parts));
            assert_int_equal(b->sequences, 16 + 2 * parts);
            for (int64_t rows = 8; rows > 4; rows -= 3) {
                int64_t from = hpc_loader_tell(l).rows;
                test_ok(hpc_loader_next(b, l, rows));
                assert_int_equal(b->counted, rows);
                for (int64_t k = 0; k < rows; k++) pair_is(b, k, k, from + k);
                for (int64_t k = rows; k < b->sequences / 2; k++)
                    assert_true(b->classes[k] == -1 && b->pooled[2 * k] == -1 &&
                                b->pooled[2 * k + 1] == -1);
                for (int64_t k = 0; k < 8 * length; k++) assert_int_equal(b->targets[k], -1);
                assert_true(b->start_n <= b->sequences + 1);
                assert_int_equal(b->start[b->start_n - 1], 8 * length);
            }
            hpc_batch_free(b);
            hpc_loader_close(l);
        }
    }
}

static void no_changes(void **state)
{
    char path[2][PATH_MAX];
    hpc_loader *l;
    hpc_loader_source s = {.path = data_set(path[0], *state, "none", 20, "label")};
    hpc_loader_options o = options_of(&s, 1);
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG,
               "document 0 lacks the marks of a change: objective=pairs needs task perf, this is "
               "task code");
    s.path = hpc_test_path(path[1], *state, "some");
    changes_make(path[1], 20, 7, 0);
    o.classes = 2;
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG, "the label of document 2 is 2; with classes=2");
    s.path = data_set(path[0], *state, "unlabelled", 20, NULL);
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG, "no column 'label'");
}

/* ---- learning ------------------------------------------------------------------------------ */

static hpc_trainer_options comparer(void)
{
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    o.model.head = HPC_HEAD_PAIRS;
    o.model.classes = 3;
    o.model.init_std = 0.1;
    o.objective = HPC_OBJECTIVE_PAIRS;
    o.length = CHANGE_LONGEST;
    o.rows = 16;
    o.device.threads = 1;
    return o;
}

static double loss_of(hpc_trainer *t, const hpc_test_folder *f, const char *name, int how)
{
    char path[PATH_MAX];
    hpc_loader_source s = {.path = hpc_test_path(path, f, name)};
    hpc_loader_options o = options_of(&s, 1);
    hpc_loader *l;
    double loss;
    if (!hpc_file_exists(path)) changes_make(path, 96, 11, how);
    o.ordered = true;
    test_ok(hpc_loader_open(&l, &o));
    test_ok(hpc_trainer_validate(&loss, t, l, 96, never, NULL));
    hpc_loader_close(l);
    return loss;
}

/* Checks new changes, the same with swapped sides, and swapped with the old label: unchanged code
 * is recognised either way, and for others the wrong label is rejected with confidence. */
static void is_learnt(hpc_trainer *t, const hpc_test_folder *f)
{
    assert_true(loss_of(t, f, "held", 0) < 0.3);
    assert_true(loss_of(t, f, "swapped", CHANGES_SWAPPED) < 0.3);
    assert_true(loss_of(t, f, "wrong", CHANGES_SWAPPED | CHANGES_MISLABELLED) > 1.5);
}

static void learns_what_costs(void **state)
{
    if (HPC_TEST_TSAN) skip();
    char path[PATH_MAX], model[PATH_MAX];
    hpc_loader_source s = {.path = hpc_test_path(path, *state, "data")};
    changes_make(path, 3000, 7, 0);
    hpc_loader_options l = options_of(&s, 1);
    hpc_trainer_options o = comparer();
    hpc_trainer_result r;
    hpc_loader *loader;
    hpc_trainer *t;
    hpc_model_config back;
    test_ok(hpc_loader_open(&loader, &l));
    test_ok(hpc_trainer_open(&t, &o, false));
    assert_true(fabs(loss_of(t, *state, "held", 0) - log(3)) < 0.3);
    for (int step = 1; step <= 280; step++) {
        test_ok(hpc_trainer_load(t, loader));
        test_ok(hpc_trainer_step(&r, t, step, step < 220 ? 3e-3 : 1e-3, INFINITY));
        assert_int_equal(r.counted, 16);
    }
    is_learnt(t, *state);
    double before = loss_of(t, *state, "held", 0);
    test_ok(hpc_trainer_export(t, hpc_test_path(model, *state, "model")));
    hpc_trainer_close(t);
    hpc_loader_close(loader);
    test_ok(hpc_model_config_read(&back, model));
    assert_true(back.head == HPC_HEAD_PAIRS && back.classes == 3);
    o.init = model;
    o.model = back;
    o.model.dtype = HPC_F32;
    test_ok(hpc_trainer_open(&t, &o, false));
    assert_true(loss_of(t, *state, "held", 0) == before);
    is_learnt(t, *state);
    hpc_trainer_close(t);
}

static void heads_and_objectives(void **state)
{
    hpc_trainer_options o = comparer();
    hpc_trainer *t;
    (void)state;
    o.model.head = HPC_HEAD_TOKENS;
    test_fails(hpc_trainer_open(&t, &o, true), HPC_E_ARG,
               "objective=pairs needs a classification head");
    o.model.head = HPC_HEAD_CLASSES;
    test_fails(hpc_trainer_open(&t, &o, true), HPC_E_ARG,
               "the head of the model has 3 classes: use objective=classes");
    o.model.head = HPC_HEAD_PAIRS;
    o.objective = HPC_OBJECTIVE_CLASSES;
    test_fails(hpc_trainer_open(&t, &o, true), HPC_E_ARG,
               "the head of the model has 3 classes of pairs: use objective=pairs");
    o.objective = HPC_OBJECTIVE_PAIRS;
    test_ok(hpc_trainer_open(&t, &o, true));
    hpc_trainer_close(t);
}

/* ---- on ranks ------------------------------------------------------------------------------- */

static job *start_job(hpc_test_folder *f)
{
    job *j = start(f, HPC_OPT_ADAMW, NULL);
    hpc_test_path(j->data, f, "pairs");
    if (!hpc_file_exists(j->data)) changes_make(j->data, 500, 7, 0);
    j->o = comparer();
    j->o.rows = 8;
    j->o.accumulate = 2;
    j->o.model.dtype = HPC_F64;
    j->marks = change_marks;
    return j;
}

static void ranks_are_one(void **state)
{
    static const grid grids[] = {{2, 1, 1, 1, 0, false},
                                 {2, 2, 1, 1, 3, false},
                                 {2, 1, 2, 1, 1, false},
                                 {1, 1, 1, 2, 0, false}};
    job *one = start_job(*state);
    run_job(one);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) as_serial(one, &grids[g], 1e-12);
    hpc_free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)
        IN_FOLDER(sides_of_each_change), IN_FOLDER(no_changes),    IN_FOLDER(learns_what_costs),
        IN_FOLDER(heads_and_objectives), IN_FOLDER(ranks_are_one),
    };
    return cmocka_run_group_tests_name("train/compare", tests, NULL, NULL);
}
