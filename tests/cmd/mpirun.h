/*
 * mpirun.h: runs `hpccoder train` under mpirun, for tests that start, disturb and end ranks.
 */
#ifndef HPC_TESTS_CMD_MPIRUN_H
#define HPC_TESTS_CMD_MPIRUN_H

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/command.h"
#include "tests/train/data.h"

#define TINY                                                                                       \
    "train --hidden 32 --layers 2 --heads 4 --kv-heads 2 --ffn 48 --length 24 --rows 8 "           \
    "--warmup 4 --optimizer adamw --threads 1 --lr 0.01 --data @data -q "

static inline const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static inline int setup_data(void **state)
{
    char path[PATH_MAX];
    hpc_test_folder_setup(state);
    data_set(path, *state, "data", 400, NULL);
    return 0;
}

/* A column of the last row, or of the row of `step`: 2: loss, 4: norm, 10: bytes sent. */
static inline double cell(void **state, const char *run, int64_t step, int column)
{
    char path[PATH_MAX], name[64];
    hpc_buf text = {0};
    double x = NAN;
    snprintf(name, sizeof name, "%s/metrics.csv", run);
    test_ok(hpc_file_read(&text, hpc_test_path(path, *state, name), 1 << 24));
    test_ok(hpc_buf_add(&text, "", 1));
    for (char *line = strchr(text.data, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        char *at = line + 1;
        if (step > 0 && strtoll(at, NULL, 10) != step) continue;
        for (int k = 0; k < column && at; k++) at = strchr(at, ',') + 1;
        x = strtod(at, NULL);
    }
    hpc_buf_release(&text);
    return x;
}

static inline double last(void **state, const char *run, int column)
{
    return cell(state, run, 0, column);
}

static inline void same_as(void **state, const char *run, const char *serial)
{
    for (int column = 2; column <= 4; column += 2) {
        double x = last(state, run, column), y = last(state, serial, column);
        assert_true(fabs(x - y) <= 1e-5 * fabs(y));
    }
}

static inline bool can_mpirun(void)
{
    char path[PATH_MAX];
    if (access(hpc_test_built(path, "hpccoder-mpi.so"), R_OK) == 0 &&
        system("command -v mpirun >/dev/null 2>&1") == 0)
        return true;
    print_message("SKIP: no MPI in this build, or no mpirun\n");
    return false;
}

/* Starts `mpirun WORDS`, where $H is the program, with output to the log file;
 * returns its process. */
static inline pid_t mpirun_words(void **state, const char *words, const char *log)
{
    char program[PATH_MAX], path[PATH_MAX], text[HPC_TEST_WORDS],
        command[HPC_TEST_WORDS + 2 * PATH_MAX];
    hpc_test_in(text, root_of(state), words);
    snprintf(command, sizeof command, "H=%s; exec mpirun %s >%s 2>&1 </dev/null",
             hpc_test_built(program, "hpccoder"), text, hpc_test_path(path, *state, log));
    static const char *const set[][2] = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                         {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                         {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                         {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                         {"OMPI_MCA_btl", "self,vader"},
                                         {"ASAN_OPTIONS", "detect_leaks=0"}}; /* leaks of MPI */
    for (size_t k = 0; k < sizeof set / sizeof *set; k++) setenv(set[k][0], set[k][1], 0);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    assert_true(child > 0);
    return child;
}

static inline pid_t mpirun(void **state, int ranks, const char *words, const char *log)
{
    char all[HPC_TEST_WORDS];
    assert_true(snprintf(all, sizeof all, "-n %d $H %s", ranks, words) < HPC_TEST_WORDS);
    return mpirun_words(state, all, log);
}

static inline int ended(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Process of a rank, found by its environment; 0: not running. */
static inline pid_t rank_of(pid_t parent, int rank)
{
    char command[256];
    pid_t found = 0;
    snprintf(command, sizeof command,
             "for p in $(pgrep -P %d hpccoder); do tr '\\0' '\\n' </proc/$p/environ 2>/dev/null | "
             "grep -qx OMPI_COMM_WORLD_RANK=%d && echo $p; done",
             (int)parent, rank);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    if (fscanf(f, "%d", &found) != 1) found = 0;
    pclose(f);
    return found;
}

static inline void read_log(hpc_buf *out, void **state, const char *log)
{
    char path[PATH_MAX];
    test_ok(hpc_file_read(out, hpc_test_path(path, *state, log), 1 << 20));
    test_ok(hpc_buf_add(out, "", 1));
}

/* For interrupted runs: the learning rate must not depend on the number of steps. */
#define LEVEL "--rows 8 --schedule constant "

#endif
