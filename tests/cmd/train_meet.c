/*
 * train_meet.c: ranks with different options, data, parameters or programs. Each case gives one
 * line that names the difference, and all ranks end at once.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/cmd/mpirun.h"

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) n++;
    return n;
}

/* The job ends within seconds, with one line of ours that has all of these, up to NULL. */
static void refuses(void **state, const char *words, const char *const *part)
{
    hpc_buf log = {0};
    int64_t start = hpc_clock_ns();
    pid_t job = mpirun_words(state, words, "log");
    assert_int_equal(ended(job), 2);
    assert_true((double)(hpc_clock_ns() - start) * 1e-9 < 20);
    read_log(&log, state, "log");
    for (; *part; part++) hpc_test_says(log.data, *part);
    if (count(log.data, "hpccoder train: ") != 1) fail_msg("not one line: %s", log.data);
    hpc_buf_release(&log);
}
#define REFUSES(words, ...) refuses(state, words, (const char *const[]){__VA_ARGS__, NULL})

static void options_differ(void **state)
{
    if (!can_mpirun()) skip();
    REFUSES("-n 2 $H " TINY "--steps 8 --out @a : -n 1 $H " TINY "--steps 8 --out @a --clip 2",
            "rank 2: clip=2 here, and on rank 0 clip=1: give all ranks the same options");
    REFUSES("-n 1 $H " TINY "--steps 8 --out @a --grid data=2 : -n 1 $H " TINY
            "--steps 8 --out @a --grid row=2",
            "rank 1: grid=row=2 here, and on rank 0 grid=data=2: ");
}

static void data_differ(void **state)
{
    char path[PATH_MAX];
    if (!can_mpirun()) skip();
    /* One folder for each rank, of one name. */
    for (int r = 0; r < 2; r++) {
        char name[32];
        snprintf(name, sizeof name, "node%d", r);
        test_ok(hpc_file_mkdir(hpc_test_path(path, *state, name)));
        snprintf(name, sizeof name, "node%d/data", r);
        data_make(hpc_test_path(path, *state, name), 400, NULL, 7 + (uint32_t)r, data_tokenizer);
    }
#define HERE                                                                                       \
    "train --hidden 32 --layers 2 --heads 4 --ffn 48 --length 24 --rows 8 --threads 1 --lr 0.01 "  \
    "--data data -q --steps 8 --out @b"
    REFUSES("-n 1 --wdir @node0 $H " HERE " : -n 1 --wdir @node1 $H " HERE,
            "rank 1: data=", "and on rank 0 ", "use the same files on all ranks");
}

static void parameters_differ(void **state)
{
    static hpc_test_outcome o;
    const char *root = root_of(state);
    if (!can_mpirun()) skip();
    hpc_test_command_in(&o, root, TINY "--steps 1 --out @first --seed 1");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root, TINY "--steps 1 --out @second --seed 2");
    assert_int_equal(o.code, 0);
#define TUNE TINY "--steps 8 --out @c --init model"
    REFUSES("-n 1 --wdir @first $H " TUNE " : -n 1 --wdir @second $H " TUNE,
            "rank 1: parameters=hash ", "use the same --init");
    REFUSES("-n 2 $H " TINY "--steps 8 --out @c : -n 1 $H " TINY "--steps 8 --out @c",
            "rows (of all ranks, in a microbatch)=8: data and depth split them in 3");
}

static void programs_differ(void **state)
{
    char from[PATH_MAX], library[PATH_MAX], to[PATH_MAX], command[6 * PATH_MAX];
    if (!can_mpirun()) skip();
    hpc_test_built(from, "hpccoder");
    hpc_test_built(library, "hpccoder-mpi.so");
    hpc_test_path(to, *state, "other");
    snprintf(command, sizeof command, "mkdir %s && cp %s %s %s/ && echo >>%s/hpccoder", to, from,
             library, to, to);
    assert_int_equal(system(command), 0);
    REFUSES("-n 1 $H " TINY "--steps 8 --out @d : -n 1 @other/hpccoder " TINY "--steps 8 --out @d",
            "rank 1: program=version ", "start the same program on all nodes");
}

/* An incomplete checkpoint, or one of another model, gives one line. */
static void checkpoints_do_not_fit(void **state)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    hpc_buf names = {0};
    int64_t n;
    if (!can_mpirun()) skip();
    assert_int_equal(ended(mpirun(state, 2, TINY "--steps 4 --out @e --zero 1", "log")), 0);
    hpc_test_path(folder, *state, "e/checkpoints");
    test_ok(hpc_file_list(&names, &n, folder));
    const char *name = names.data;
    while (!strstr(name, "1-of-2")) name += strlen(name) + 1;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_ok(hpc_file_remove(path));
    hpc_buf_release(&names);
    REFUSES("-n 2 $H " TINY "--steps 8 --out @e --zero 1 --resume",
            "all of its 1 checkpoints are damaged",
            "1-of-2.safetensors is missing, one of its 2 shards: restore it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_differ),         cmocka_unit_test(data_differ),
        cmocka_unit_test(parameters_differ),      cmocka_unit_test(programs_differ),
        cmocka_unit_test(checkpoints_do_not_fit),
    };
    return cmocka_run_group_tests_name("cmd/train_meet", tests, setup_data,
                                       hpc_test_folder_teardown);
}
