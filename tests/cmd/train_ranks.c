/*
 * Tests of `hpccoder train` on many ranks: threads of one process and processes of mpirun take the
 * steps of one rank; a killed rank ends the job, which resumes with fewer ranks.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/cmd/mpirun.h"

static hpc_test_outcome o;

static void serial(void **state)
{
    hpc_test_command_in(&o, root_of(state), TINY "--steps 8 --out @one");
    assert_int_equal(o.code, 0);
    assert_true(last(state, "one", 10) == 0);
}

/* One file, which has every rank and the steps that were asked for. */
static void traced(void **state, const char *name, int ranks, int steps)
{
    char path[PATH_MAX];
    hpc_json *root;
    int processes = 0, spans = 0;
    test_ok(hpc_json_read(&root, hpc_test_path(path, *state, name)));
    const hpc_json *events = hpc_json_get(root, "traceEvents");
    for (int64_t k = 0; k < hpc_json_n(events); k++) {
        const char *text;
        test_ok(hpc_json_text(&text, hpc_json_get(hpc_json_at(events, k), "name"), "name"));
        processes += strcmp(text, "process_name") == 0;
        spans += strncmp(text, "step ", 5) == 0;
    }
    assert_int_equal(processes, ranks);
    assert_int_equal(spans, ranks * steps);
    hpc_json_free(root);
}

static void threads_are_ranks(void **state)
{
    hpc_test_command_in(&o, root_of(state),
                        TINY "--steps 4 --out @two --grid data=2 --zero 1 --trace @two.json");
    traced(state, "two.json", 2, 4);
    assert_int_equal(o.code, 0);
    assert_string_equal(o.err, "");
    hpc_test_command_in(&o, root_of(state),
                        TINY "--steps 8 --out @two --grid data=2,depth=2 --zero 3 --resume");
    assert_int_equal(o.code, 0);
    same_as(state, "two", "one");
    assert_true(last(state, "two", 10) > 0);
}

static void same_file(void **state, const char *a, const char *b)
{
    char path[PATH_MAX];
    hpc_file_view x = {0}, y = {0};
    test_ok(hpc_file_open(&x, hpc_test_path(path, *state, a)));
    test_ok(hpc_file_open(&y, hpc_test_path(path, *state, b)));
    assert_int_equal(x.bytes, y.bytes);
    assert_memory_equal(x.data, y.data, x.bytes);
    hpc_file_close(&x);
    hpc_file_close(&y);
}

/* The number before " parameters" in the report of an export. */
static long reported_parameters(void)
{
    const char *at = strstr(o.out, " parameters");
    assert_non_null(at);
    while (at > o.out && at[-1] >= '0' && at[-1] <= '9') at--;
    return strtol(at, NULL, 10);
}

/* Out of many files, or of one, what the run itself made of its parameters at its end. */
static void a_model_comes_out_of_a_checkpoint(void **state)
{
    const char *root = root_of(state);
    hpc_test_command_in(&o, root, "export @two --out @two-model");
    assert_int_equal(o.code, 0);
    same_file(state, "two/model/model.safetensors", "two-model/model.safetensors");
    same_file(state, "two/model/config.json", "two-model/config.json");
    hpc_test_command_in(&o, root, "export @one --out @one-model --step 8");
    assert_int_equal(o.code, 0);
    long parameters = reported_parameters();
    assert_true(parameters > 1000);
    same_file(state, "one/model/model.safetensors", "one-model/model.safetensors");
    hpc_test_command_in(&o, root,
                        TINY "--steps 2 --init @one/model --lora-rank 2 --dtype bf16 --out @tuned "
                             "--grid data=2 --zero 1");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root, "export @tuned --out @tuned-model");
    assert_int_equal(o.code, 0);
    assert_int_equal(reported_parameters(), parameters); /* adapters are merged */
    same_file(state, "tuned/model/model.safetensors", "tuned-model/model.safetensors");
    hpc_test_command_in(&o, root,
                        TINY "--steps 4 --prune 0.8 --prune-after 2 --dtype bf16 --out @thin "
                             "--grid data=2 --zero 1");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root, "export @thin --out @thin-model");
    assert_int_equal(o.code, 0);
    same_file(state, "thin/model/model.safetensors", "thin-model/model.safetensors");
    hpc_test_command_in(&o, root, "export @two --to gguf --out @two.gguf --dtype f16 -q");
    assert_int_equal(o.code, 0);
    hpc_test_refuses(&o, root, "export @two --out @no --step 3",
                     "there is no checkpoint of step 3; available steps: ");
    hpc_test_refuses(&o, root, "export @two/model --out @no --step 3",
                     "is a model, not the folder");
    hpc_test_refuses(&o, root, "export @two --to packed --out @no.packed", "pack the folder");
}

/* In a pipeline of two ranks, the last waits for activations, and the first for gradients. */
static void bubbles_are_named(void **state, const char *name)
{
    static const char *const cause[] = {"gradients of another stage",
                                        "activations of another stage"};
    char path[PATH_MAX];
    hpc_json *root;
    int seen[2] = {0};
    test_ok(hpc_json_read(&root, hpc_test_path(path, *state, name)));
    const hpc_json *events = hpc_json_get(root, "traceEvents");
    for (int64_t k = 0; k < hpc_json_n(events); k++) {
        const hpc_json *event = hpc_json_at(events, k);
        const char *text;
        int64_t rank;
        test_ok(hpc_json_text(&text, hpc_json_get(event, "name"), "name"));
        if (strncmp(text, "bubble ", 7) != 0) continue;
        test_ok(hpc_json_int(&rank, hpc_json_get(event, "pid"), "pid"));
        test_ok(hpc_json_text(&text, hpc_json_get(hpc_json_get(event, "args"), "cause"), "cause"));
        assert_true(rank == 0 || rank == 1);
        seen[rank] += strcmp(text, cause[rank]) == 0;
    }
    assert_true(seen[0] > 0 && seen[1] > 0);
    hpc_json_free(root);
}

/* A vocabulary with parts on all stages, by options and by a plan, resumed and exported. */
static void stages_share_the_vocabulary(void **state)
{
    char path[PATH_MAX];
    hpc_test_command_in(&o, root_of(state),
                        TINY "--steps 4 --accumulate 2 --out @shared --grid pipe=2 "
                             "--pipe-vocab interlaced --trace @shared.json");
    assert_int_equal(o.code, 0);
    traced(state, "shared.json", 2, 4);
    hpc_test_command_in(&o, root_of(state),
                        "plan show --shape @shared/model --length 24 --sequences 8 --grid pipe=2 "
                        "--pipe-schedule gpipe --pipe-vocab interlaced --accumulate 2 --json");
    assert_int_equal(o.code, 0);
    test_ok(hpc_file_save(hpc_test_path(path, *state, "shared-plan.json"), o.out, strlen(o.out)));
    hpc_test_command_in(&o, root_of(state),
                        TINY "--steps 4 --out @shared-planned --plan @shared-plan.json");
    assert_int_equal(o.code, 0);
    same_as(state, "shared", "shared-planned");
    hpc_test_command_in(&o, root_of(state), TINY "--steps 8 --accumulate 2 --out @shared --resume");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root_of(state),
                        TINY "--steps 9 --accumulate 2 --out @shared --resume --grid data=2");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root_of(state), "export @shared --out @shared-model");
    assert_int_equal(o.code, 0);
    hpc_test_refuses(&o, root_of(state),
                     TINY "--out @no --accumulate 2 --grid pipe=2 --pipe-vocab interlaced "
                          "--pipe-schedule arrival",
                     "and arrival has none; use gpipe or 1f1b");
}

/* A pipeline by options, and by the plan that `plan show` prints, resumed without stages. */
static void stages_are_ranks(void **state)
{
    char path[PATH_MAX];
    hpc_test_command_in(&o, root_of(state),
                        TINY "--steps 4 --accumulate 2 --out @piped --grid pipe=2 --pipe-schedule "
                             "arrival --trace @piped.json");
    traced(state, "piped.json", 2, 4);
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root_of(state), "report @piped");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "activations");
    hpc_test_says(o.out, "other communication");
    /* On a busy machine a rank does not wait in every step. */
    hpc_test_command_in(&o, root_of(state),
                        TINY "--steps 60 --accumulate 4 --out @waits --grid pipe=2 --pipe-schedule "
                             "arrival --trace @waits.json");
    assert_int_equal(o.code, 0);
    bubbles_are_named(state, "waits.json");
    hpc_test_command_in(&o, root_of(state),
                        "plan show --shape @piped/model --length 24 --sequences 8 --grid pipe=2 "
                        "--pipe-schedule gpipe --accumulate 2 --json");
    assert_int_equal(o.code, 0);
    test_ok(hpc_file_save(hpc_test_path(path, *state, "plan.json"), o.out, strlen(o.out)));
    hpc_test_command_in(&o, root_of(state), TINY "--steps 8 --out @planned --plan @plan.json");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root_of(state), TINY "--steps 8 --accumulate 2 --out @piped --resume");
    assert_int_equal(o.code, 0);
    same_as(state, "piped", "planned");
    hpc_test_refuses(&o, root_of(state), TINY "--layers 3 --out @no --plan @plan.json",
                     "the plan is for a model with layers=2, and this one has 3");
}

static void what_does_not_fit(void **state)
{
    const char *root = root_of(state);
    hpc_test_refuses(&o, root, TINY "--out @no --grid data=3", "6 and 9 are the nearest");
    hpc_test_refuses(&o, root, TINY "--out @no --grid pipe=2",
                     "pipe=2: a step needs at least 2 microbatches; use --accumulate 2");
    hpc_test_refuses(&o, root, TINY "--out @no --grid pipe=4 --accumulate 4",
                     "2 blocks to divide; use at most 2");
    hpc_test_refuses(&o, root, TINY "--out @no --grid expert=2",
                     "expert=2: the model has no experts to divide; use data");
    hpc_test_refuses(&o, root, TINY "--out @no --grid col=3",
                     "hidden=32: col must split them in 3; 30 and 33 are the nearest");
    hpc_test_refuses(&o, root, TINY "--out @no --grid dat=2", "dat");
    hpc_test_refuses(&o, root, TINY "--out @no --rows 6 --grid data=2 --overdecompose",
                     "data, depth, expert and overdecompose split them in 4; 4 and 8 are");
    hpc_test_refuses(&o, root, TINY "--out @no --grid data=2 --trace @none/there.json",
                     "none/there.json");
}

/* ---- processes ------------------------------------------------------------------------------- */

static void processes_are_ranks(void **state)
{
    if (!can_mpirun()) skip();
    assert_int_equal(ended(mpirun(state, 2,
                                  TINY "--steps 8 --out @mpi2 --zero 2 --trace @mpi2.json "
                                       "--trace-steps 3",
                                  "log2")),
                     0);
    traced(state, "mpi2.json", 2, 3);
    assert_int_equal(
        ended(mpirun(state, 2, TINY "--steps 8 --out @plain2 --zero 2 --no-overlap", "plain2.log")),
        0);
    static const int same[] = {2, 4, 10}; /* loss, norm, bytes */
    for (int k = 0; k < 3; k++)
        assert_true(last(state, "plain2", same[k]) == last(state, "mpi2", same[k]));
    same_as(state, "mpi2", "one");
    assert_int_equal(
        ended(mpirun(state, 4, TINY "--steps 8 --out @mpi4 --grid data=2,row=2 --overdecompose",
                     "log4")),
        0);
    same_as(state, "mpi4", "one");
    assert_int_equal(
        ended(mpirun(state, 4, TINY "--steps 8 --out @plane --grid row=2,col=2 --sequence",
                     "plane.log")),
        0);
    same_as(state, "plane", "one");
    assert_int_equal(ended(mpirun(state, 2, TINY "--steps 8 --out @mpi3 --grid data=3", "log3")),
                     2);
}

/* Dense on them for three steps, and pruned from there on. */
static void processes_prune(void **state)
{
#define PRUNED TINY "--steps 6 --prune 0.8 --prune-after 3 "
    if (!can_mpirun()) skip();
    hpc_test_command_in(&o, root_of(state), PRUNED "--out @pruned");
    assert_int_equal(o.code, 0);
    assert_int_equal(ended(mpirun(state, 2, PRUNED "--out @pruned2 --zero 1", "pruned2.log")), 0);
    same_as(state, "pruned2", "pruned");
    assert_int_equal(
        ended(mpirun(state, 4, PRUNED "--out @pruned4 --grid depth=2,row=2", "pruned4.log")), 0);
    same_as(state, "pruned4", "pruned");
    /* Of the dense step and of the pruned one all was proven. */
    hpc_buf log = {0};
    read_log(&log, state, "pruned4.log");
    assert_null(strstr(log.data, "the proof of the grid fails"));
    hpc_buf_release(&log);
}

/* A model that exceeds one rank's budget fits on two. Below the savings of recomputing single
 * values (which depend on the processor's kernels), blocks are recomputed, which sends more along
 * row and changes no loss. */
static void a_budget_is_that_of_each_rank(void **state)
{
#define DEEP TINY "--layers 12 --rows 16 --steps 3 "
    char words[512];
    hpc_test_command_in(&o, root_of(state), DEEP "--grid row=2 --recompute selective --out @roomy");
    assert_int_equal(o.code, 0);
    double budget = 0.95 * last(state, "roomy", 9);
    snprintf(words, sizeof words, DEEP "--grid row=2 --memory %.9f --out @tight", budget / 0x1p30);
    hpc_test_command_in(&o, root_of(state), words);
    assert_int_equal(o.code, 0);
    same_as(state, "tight", "roomy");
    assert_true(last(state, "tight", 9) <= budget);
    assert_true(last(state, "tight", 10) > last(state, "roomy", 10));
    hpc_test_refuses(&o, root_of(state), DEEP "--grid row=2 --memory 0.0001 --out @none",
                     "a rank needs ");
    if (!can_mpirun()) skip();
    snprintf(words, sizeof words, DEEP "--grid row=2 --memory %.9f --out @tight2", budget / 0x1p30);
    assert_int_equal(ended(mpirun(state, 2, words, "tight2.log")), 0);
    assert_true(last(state, "tight2", 2) == last(state, "tight", 2));
    assert_true(last(state, "tight2", 10) == last(state, "tight", 10));
    assert_int_equal(ended(mpirun(state, 2, DEEP "--memory 0.0001 --out @none", "none.log")), 2);
    hpc_buf log = {0};
    read_log(&log, state, "none.log");
    const char *said = strstr(log.data, "a rank needs ");
    assert_non_null(said);
    assert_null(strstr(said + 1, "a rank needs "));
    hpc_buf_release(&log);
}

static void a_killed_rank_ends_the_job(void **state)
{
    struct timespec nap = {.tv_nsec = 50000000};
    char path[PATH_MAX];
    if (!can_mpirun()) skip();
    pid_t job = mpirun(state, 3, TINY LEVEL "--rows 6 --steps 100000 --save-every 5 --out @killed",
                       "killed.log");
    int64_t step = -1;
    hpc_test_path(path, *state, "killed/checkpoints");
    for (int k = 0; k < 1200 && step < 5; k++) {
        nanosleep(&nap, NULL);
        test_ok(hpc_checkpoint_newest(&step, path)); /* -1: none yet */
    }
    assert_true(step >= 5);
    pid_t second = rank_of(job, 1);
    assert_true(second > 0);
    assert_int_equal(kill(second, SIGKILL), 0);
    int64_t start = hpc_clock_ns();
    assert_int_not_equal(ended(job), 0);
    assert_true((double)(hpc_clock_ns() - start) * 1e-9 < 10);
    hpc_buf log = {0};
    read_log(&log, state, "killed.log");
    hpc_test_says(log.data, "rank 1");
    hpc_buf_release(&log);
    /* It resumes on fewer ranks. */
    hpc_test_path(path, *state, "killed/checkpoints");
    test_ok(hpc_checkpoint_newest(&step, path));
    char words[256];
    snprintf(words, sizeof words, TINY LEVEL "--rows 6 --steps %lld --out @killed --resume",
             (long long)step + 5);
    assert_int_equal(ended(mpirun(state, 2, words, "again.log")), 0);
    snprintf(words, sizeof words, TINY LEVEL "--rows 6 --steps %lld --out @whole",
             (long long)step + 5);
    hpc_test_command_in(&o, root_of(state), words);
    assert_int_equal(o.code, 0);
    same_as(state, "killed", "whole");
}

static int64_t saved(void **state, const char *run)
{
    char path[PATH_MAX], name[64];
    int64_t step;
    snprintf(name, sizeof name, "%s/checkpoints", run);
    test_ok(hpc_checkpoint_newest(&step, hpc_test_path(path, *state, name)));
    return step;
}

/* USR1, which mpirun hands on to all, saves at once; TERM to any one rank ends the run cleanly. */
static void any_rank_hears_signals(void **state)
{
    struct timespec nap = {.tv_nsec = 20000000};
    char path[PATH_MAX];
    int64_t step = -1;
    if (!can_mpirun()) skip();
    pid_t job = mpirun(state, 2, TINY LEVEL "--steps 1000000 --out @heard", "heard.log");
    hpc_test_path(path, *state, "heard/metrics.csv");
    for (int k = 0; k < 1000 && !hpc_file_exists(path); k++) nanosleep(&nap, NULL);
    assert_int_equal(saved(state, "heard"), -1);
    assert_int_equal(kill(job, SIGUSR1), 0);
    for (int k = 0; k < 1000 && (step = saved(state, "heard")) < 0; k++) nanosleep(&nap, NULL);
    assert_true(step >= 0); /* before the first step, even */
    assert_int_equal(kill(rank_of(job, 1), SIGTERM), 0);
    assert_int_equal(ended(job), 0);
    assert_true(saved(state, "heard") > step);
    hpc_buf log = {0};
    read_log(&log, state, "heard.log");
    hpc_test_says(log.data, "saved, --resume continues");
    hpc_buf_release(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial),
        cmocka_unit_test(threads_are_ranks),
        cmocka_unit_test(a_model_comes_out_of_a_checkpoint),
        cmocka_unit_test(stages_are_ranks),
        cmocka_unit_test(stages_share_the_vocabulary),
        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(processes_are_ranks),
        cmocka_unit_test(processes_prune),
        cmocka_unit_test(a_budget_is_that_of_each_rank),
        cmocka_unit_test(a_killed_rank_ends_the_job),
        cmocka_unit_test(any_rank_hears_signals),
    };
    return cmocka_run_group_tests_name("cmd/train_ranks", tests, setup_data,
                                       hpc_test_folder_teardown);
}
