/*
 * train_ranks.c: `hpccoder train` on many ranks as a user runs it: threads of one
 * process and processes of mpirun take the steps of one rank; a rank that is
 * killed ends the job, which goes on with fewer.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/command.h"
#include "tests/train/data.h"

static hpc_test_outcome o;

#define TINY                                                                                       \
    "train --hidden 32 --layers 2 --heads 4 --kv-heads 2 --ffn 48 --length 24 --rows 8 "           \
    "--warmup 4 --optimizer adamw --threads 1 --lr 0.01 --data @data -q "

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static int setup(void **state)
{
    char path[PATH_MAX];
    hpc_test_folder_setup(state);
    data_set(path, *state, "data", 400, NULL);
    return 0;
}

/* Column of the last row: 2 is the loss, 4 the norm, 10 bytes sent. */
static double last(void **state, const char *run, int column)
{
    char path[PATH_MAX], name[64];
    hpc_buf text = {0};
    snprintf(name, sizeof name, "%s/metrics.csv", run);
    test_ok(hpc_file_read(&text, hpc_test_path(path, *state, name), 1 << 20));
    test_ok(hpc_buf_add(&text, "", 1));
    char *line = strrchr(text.data, '\n');
    assert_non_null(line);
    *line = '\0';
    line = strrchr(text.data, '\n') + 1;
    for (int k = 0; k < column; k++) line = strchr(line, ',') + 1;
    double x = strtod(line, NULL);
    hpc_buf_release(&text);
    return x;
}

static void same_as(void **state, const char *run, const char *serial)
{
    for (int column = 2; column <= 4; column += 2) {
        double x = last(state, run, column), y = last(state, serial, column);
        assert_true(fabs(x - y) <= 1e-5 * fabs(y));
    }
}

static void serial(void **state)
{
    hpc_test_command_in(&o, root_of(state), TINY "--steps 8 --out @one");
    assert_int_equal(o.code, 0);
    assert_true(last(state, "one", 10) == 0);
}

static void threads_are_ranks(void **state)
{
    hpc_test_command_in(&o, root_of(state), TINY "--steps 4 --out @two --grid data=2 --zero 1");
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
    same_file(state, "one/model/model.safetensors", "one-model/model.safetensors");
    hpc_test_command_in(&o, root,
                        TINY "--steps 2 --init @one/model --lora-rank 2 --dtype bf16 --out @tuned "
                             "--grid data=2 --zero 1");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root, "export @tuned --out @tuned-model");
    assert_int_equal(o.code, 0);
    same_file(state, "tuned/model/model.safetensors", "tuned-model/model.safetensors");
    hpc_test_command_in(&o, root, "export @two --to gguf --out @two.gguf --dtype f16 -q");
    assert_int_equal(o.code, 0);
    hpc_test_refuses(&o, root, "export @two --out @no --step 3", "step-00000003.json");
    hpc_test_refuses(&o, root, "export @two/model --out @no --step 3",
                     "is a model, not the folder");
    hpc_test_refuses(&o, root, "export @two --to packed --out @no.packed", "pack that");
}

static void what_does_not_fit(void **state)
{
    const char *root = root_of(state);
    hpc_test_refuses(&o, root, TINY "--out @no --grid data=3", "6 and 9 are the nearest");
    hpc_test_refuses(&o, root, TINY "--out @no --grid col=2", "col=2: training does not split");
    hpc_test_refuses(&o, root, TINY "--out @no --grid dat=2", "dat");
}

/* ---- processes ------------------------------------------------------------------------------- */

static bool can_mpirun(void)
{
    char path[PATH_MAX];
    if (access(hpc_test_built(path, "hpccoder-mpi.so"), R_OK) == 0 &&
        system("command -v mpirun >/dev/null 2>&1") == 0)
        return true;
    print_message("SKIP: no MPI in this build, or no mpirun\n");
    return false;
}

/* Starts `mpirun -n RANKS hpccoder WORDS`, both outputs to the file; its process. */
static pid_t mpirun(void **state, int ranks, const char *words, const char *log)
{
    char program[PATH_MAX], path[PATH_MAX], text[HPC_TEST_WORDS],
        command[HPC_TEST_WORDS + PATH_MAX];
    hpc_test_in(text, root_of(state), words);
    snprintf(command, sizeof command, "exec mpirun -n %d %s %s >%s 2>&1 </dev/null", ranks,
             hpc_test_built(program, "hpccoder"), text, hpc_test_path(path, *state, log));
    static const char *const set[][2] = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                         {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                         {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                         {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                         {"OMPI_MCA_btl", "self,vader"},
                                         {"ASAN_OPTIONS", "detect_leaks=0"}}; /* MPI's */
    for (size_t k = 0; k < sizeof set / sizeof *set; k++) setenv(set[k][0], set[k][1], 0);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    assert_true(child > 0);
    return child;
}

static int ended(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void processes_are_ranks(void **state)
{
    if (!can_mpirun()) skip();
    assert_int_equal(ended(mpirun(state, 2, TINY "--steps 8 --out @mpi2 --zero 2", "log2")), 0);
    same_as(state, "mpi2", "one");
    assert_int_equal(
        ended(mpirun(state, 4, TINY "--steps 8 --out @mpi4 --grid data=2,depth=2", "log4")), 0);
    same_as(state, "mpi4", "one");
    assert_int_equal(ended(mpirun(state, 2, TINY "--steps 8 --out @mpi3 --grid data=3", "log3")),
                     2);
}

/* For a run that is cut short: its rate does not follow from its steps. */
#define LEVEL "--rows 6 --schedule constant "

/* A rank, by its number in the environment of the program. */
static pid_t rank_of(pid_t parent, int rank)
{
    char command[256];
    pid_t found = 0;
    snprintf(command, sizeof command,
             "for p in $(pgrep -P %d hpccoder); do tr '\\0' '\\n' </proc/$p/environ | "
             "grep -qx OMPI_COMM_WORLD_RANK=%d && echo $p; done",
             (int)parent, rank);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    if (fscanf(f, "%d", &found) != 1) found = 0;
    pclose(f);
    return found;
}

static void a_killed_rank_ends_the_job(void **state)
{
    struct timespec nap = {.tv_nsec = 50000000};
    char path[PATH_MAX];
    if (!can_mpirun()) skip();
    pid_t job =
        mpirun(state, 3, TINY LEVEL "--steps 100000 --save-every 5 --out @killed", "killed.log");
    int64_t step = -1;
    hpc_test_path(path, *state, "killed/checkpoints");
    for (int k = 0; k < 1200 && step < 5; k++) {
        nanosleep(&nap, NULL);
        test_ok(hpc_checkpoint_newest(&step, path)); /* -1 while there is none */
    }
    assert_true(step >= 5);
    pid_t second = rank_of(job, 1);
    assert_true(second > 0);
    assert_int_equal(kill(second, SIGKILL), 0);
    int64_t start = hpc_clock_ns();
    assert_int_not_equal(ended(job), 0);
    assert_true((double)(hpc_clock_ns() - start) * 1e-9 < 10);
    hpc_buf log = {0};
    test_ok(hpc_file_read(&log, hpc_test_path(path, *state, "killed.log"), 1 << 20));
    test_ok(hpc_buf_add(&log, "", 1));
    hpc_test_says(log.data, "rank 1");
    hpc_buf_release(&log);
    /* It goes on, with fewer. */
    hpc_test_path(path, *state, "killed/checkpoints");
    test_ok(hpc_checkpoint_newest(&step, path));
    char words[256];
    snprintf(words, sizeof words, TINY LEVEL "--steps %lld --out @killed --resume",
             (long long)step + 5);
    assert_int_equal(ended(mpirun(state, 2, words, "again.log")), 0);
    snprintf(words, sizeof words, TINY LEVEL "--steps %lld --out @whole", (long long)step + 5);
    hpc_test_command_in(&o, root_of(state), words);
    assert_int_equal(o.code, 0);
    same_as(state, "killed", "whole");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial),
        cmocka_unit_test(threads_are_ranks),
        cmocka_unit_test(a_model_comes_out_of_a_checkpoint),
        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(processes_are_ranks),
        cmocka_unit_test(a_killed_rank_ends_the_job),
    };
    return cmocka_run_group_tests_name("cmd/train_ranks", tests, setup, hpc_test_folder_teardown);
}
