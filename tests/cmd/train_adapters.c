/*
 * Tests of `hpccoder train --lora-rank` with a base model that checkpoints do not contain: killed
 * and resumed, on other grids, and with a base that was moved, changed or removed.
 */
/* tsan: left out, other tests start the same threads. */
#include <sys/stat.h>

#include "tests/cmd/mpirun.h"

static hpc_test_outcome o;

#define TUNE TINY "--init @base --lora-rank 2 --schedule constant "

static void run_well(void **state, const char *words)
{
    hpc_test_command_in(&o, root_of(state), words);
    if (o.code != 0) print_error("%s: %s", words, o.err);
    assert_int_equal(o.code, 0);
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

static int setup(void **state)
{
    char words[] = TINY "--steps 3 --out @drawn";
    setup_data(state);
    run_well(state, words);
    run_well(state, "export @drawn --out @base");
    return 0;
}

static void move(void **state, const char *from, const char *to)
{
    char a[PATH_MAX], b[PATH_MAX];
    assert_int_equal(rename(hpc_test_path(a, *state, from), hpc_test_path(b, *state, to)), 0);
}

static int64_t bytes_of(void **state, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    assert_int_equal(stat(hpc_test_path(path, *state, name), &st), 0);
    return st.st_size;
}

static void checkpoints_hold_adapters_alone(void **state)
{
    run_well(state, TUNE "--steps 4 --out @small");
    run_well(state, TINY "--init @base --steps 4 --out @all");
    int64_t small = bytes_of(state, "small/checkpoints/step-00000004.safetensors");
    int64_t all = bytes_of(state, "all/checkpoints/step-00000004.safetensors");
    print_message("%lld bytes of adapters, %lld of all parameters\n", (long long)small,
                  (long long)all);
    assert_true(small * 3 < all);
    run_well(state, "export @small --out @small-model");
    same_file(state, "small/model/model.safetensors", "small-model/model.safetensors");
    run_well(state, "export @small --to gguf --out @small.gguf -q");
}

static int64_t newest(void **state, const char *run)
{
    char path[PATH_MAX], name[64];
    int64_t step;
    snprintf(name, sizeof name, "%s/checkpoints", run);
    test_ok(hpc_checkpoint_newest(&step, hpc_test_path(path, *state, name)));
    return step;
}

/* A process that saves after each step is killed `ns` after a checkpoint appears. */
static void kill_while_it_saves(void **state, const char *run, const char *words, long ns)
{
    char text[HPC_TEST_WORDS], *argv[HPC_TEST_ARGS], program[PATH_MAX];
    int64_t before = newest(state, run);
    hpc_test_split(argv, hpc_test_in(text, root_of(state), words));
    hpc_test_built(program, "hpccoder");
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(99);
        execv(program, argv);
        _exit(98);
    }
    for (int k = 0; k < 60000 && newest(state, run) <= before; k++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(ended(child), -1);
    assert_true(newest(state, run) > before);
}

static void killed_and_resumed(void **state, const char *grid, const char *name)
{
    char run[32], words[HPC_TEST_WORDS], a[64], b[64];
    snprintf(run, sizeof run, "%s-killed", name);
    for (int k = 0; k < 3; k++) {
        snprintf(words, sizeof words,
                 TUNE "%s --steps=100000 --save-every=1 --keep=2 --dtype=bf16 --resume --out @%s",
                 grid, run);
        kill_while_it_saves(state, run, words, 700000 * k);
    }
    long long steps = newest(state, run) + 3;
    snprintf(words, sizeof words, TUNE "%s --steps %lld --dtype bf16 --out @%s --resume", grid,
             steps, run);
    run_well(state, words);
    snprintf(words, sizeof words, TUNE "%s --steps %lld --dtype bf16 --out @%s", grid, steps, name);
    run_well(state, words);
    snprintf(a, sizeof a, "%s/model/model.safetensors", run);
    snprintf(b, sizeof b, "%s/model/model.safetensors", name);
    same_file(state, a, b);
    assert_true(last(state, run, 2) == last(state, name, 2));
}

static void killed_and_resumed_gives_the_same_bits(void **state)
{
    killed_and_resumed(state, "", "one");
}

static void killed_and_resumed_on_ranks_gives_the_same_bits(void **state)
{
    killed_and_resumed(state, "--grid=data=2 --zero=1", "two");
}

/* Bits are the same on the same grid only: another one sums in another order. */
static void resumes_on_grids(void **state)
{
    static const char *const grid[] = {"data=2 --zero 1", "data=2 --zero 3", "depth=2",
                                       "data=2,depth=2 --zero 2"};
    char words[HPC_TEST_WORDS];
    run_well(state, TUNE "--steps 8 --out @serial");
    for (size_t k = 0; k < sizeof grid / sizeof *grid; k++) {
        snprintf(words, sizeof words, TUNE "--steps 8 --grid %s --out @w%zu", grid[k], k);
        run_well(state, words);
        snprintf(words, sizeof words, TUNE "--steps 4 --grid %s --out @p%zu", grid[k], k);
        run_well(state, words);
        snprintf(words, sizeof words, "train --steps 8 --grid %s --out @p%zu --resume -q", grid[k],
                 k);
        run_well(state, words);
        char w[48], p[48];
        snprintf(w, sizeof w, "w%zu/model/model.safetensors", k);
        snprintf(p, sizeof p, "p%zu/model/model.safetensors", k);
        same_file(state, w, p);
        p[strcspn(p, "/")] = '\0';
        same_as(state, p, "serial");
    }
    run_well(state, TUNE "--steps 4 --grid data=2 --zero 1 --out @other");
    run_well(state, "train --steps 6 --grid data=2,depth=2 --zero 3 --out @other --resume -q");
    run_well(state, "train --steps 8 --grid data=1 --zero 0 --out @other --resume -q");
    same_as(state, "other", "serial");
    run_well(state, "export @other --out @other-model");
    same_file(state, "other/model/model.safetensors", "other-model/model.safetensors");
}

static double memory_of(void **state, const char *words)
{
    hpc_json *root = NULL;
    double bytes = 0;
    run_well(state, words);
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "stdout"));
    test_ok(hpc_json_real(&bytes, hpc_json_get(root, "parameter_bytes"), "parameter_bytes"));
    hpc_json_free(root);
    return bytes;
}

/* Frozen matrices in the blocks of the file give the bits of their values in f32 or bf16. */
static void a_quantised_base_gives_the_same_bits_in_less_memory(void **state)
{
    static const char *const more[] = {"",
                                       "--dtype bf16 --recompute block",
                                       "--recompute selective",
                                       "--grid data=2 --zero 2",
                                       "--accumulate 2 --grid pipe=2",
                                       "--accumulate 2 --grid pipe=2 --pipe-vocab interlaced"};
    char words[HPC_TEST_WORDS];
    run_well(state, "export @base --to gguf --dtype q8_0 --out @base.gguf -q");
    for (size_t k = 0; k < sizeof more / sizeof *more; k++)
        for (int dense = 0; dense < 2; dense++) {
            snprintf(words, sizeof words,
                     TINY "--init @base.gguf --lora-rank 2 --steps 6 %s %s -o "
                          "@%s%zu",
                     more[k], dense ? "--lora-dense" : "", dense ? "d" : "q", k);
            run_well(state, words);
            if (!dense) continue;
            char a[64], b[64];
            snprintf(a, sizeof a, "d%zu/model/model.safetensors", k);
            snprintf(b, sizeof b, "q%zu/model/model.safetensors", k);
            same_file(state, a, b);
        }
    run_well(state, TINY "--init @base.gguf --lora-rank 2 --steps 3 -o @r");
    run_well(state, "train --steps 6 --out @r --resume -q");
    same_file(state, "r/model/model.safetensors", "q0/model/model.safetensors");
    run_well(state, "export @r --out @r-model");
    same_file(state, "r/model/model.safetensors", "r-model/model.safetensors");
    double blocks = memory_of(state, TINY "--init @base.gguf --lora-rank 2 --dry-run --json");
    double dense =
        memory_of(state, TINY "--init @base.gguf --lora-rank 2 --lora-dense --dry-run --json");
    int64_t matrices = 2 * (2 * 32 * 32 + 2 * 16 * 32 + 3 * 48 * 32);
    assert_true(dense - blocks > (double)matrices * 2.5);
}

static void adapters_pass_through_the_format_of_peft(void **state)
{
    run_well(state, TUNE "--steps 5 --lora-alpha 6 --lora-targets q,v,down --out @tuned");
    run_well(state, "export @tuned --to peft --out @peft -q");
    run_well(state, "import @base --adapter @peft --out @merged -q");
    same_file(state, "tuned/model/model.safetensors", "merged/model.safetensors");
    run_well(state, TINY "--init @base --lora-init @peft --steps 1 --lr 0 --warmup 0 --out @again");
    same_file(state, "tuned/model/model.safetensors", "again/model/model.safetensors");
    run_well(state, TINY "--init @base --lora-init @peft --steps 4 --out @more");
    run_well(state, TINY "--init @base --lora-init @peft --steps 2 --out @part");
    run_well(state, "train --steps 4 --out @part --resume -q");
    same_file(state, "more/model/model.safetensors", "part/model/model.safetensors");
    hpc_test_refuses(&o, root_of(state), "import @base --adapter @peft --packed --out @x.packed -q",
                     "import it to a folder first");
    hpc_test_refuses(&o, root_of(state), "export @base --to peft --out @x -q", "is a model");
    hpc_test_refuses(&o, root_of(state), "export @drawn --to peft --out @x -q", "has no adapters");
    hpc_test_refuses(&o, root_of(state), "train --lora-init @peft --data @data --out @x -q",
                     "--init");
}

/* A command in which each # is the number k. */
static void run_numbered(void **state, const char *words, int k)
{
    char all[HPC_TEST_WORDS];
    snprintf(all, sizeof all, "%s", words);
    for (char *c = all; *c; c++)
        if (*c == '#') *c = (char)('0' + k);
    run_well(state, all);
}

/* Each expert is a module of its own, also next to blocks with an MLP. */
static void adapters_of_experts_pass_through_the_format_of_peft(void **state)
{
#define MIX TINY "--init @mix# --schedule constant "
    for (int k = 1; k <= 2; k++) {
        run_numbered(
            state, TINY "--experts 4 --expert-every # --expert-ffn 24 --steps 2 --out @mixed#", k);
        run_numbered(state, "export @mixed# --out @mix#", k);
        run_numbered(state, MIX "--lora-rank 2 --lora-targets q,gate,up,down --steps 3 --out @mt#",
                     k);
        run_numbered(state, "export @mt# --to peft --out @mix-peft# -q", k);
        run_numbered(state, "import @mix# --adapter @mix-peft# --out @mix-merged# -q", k);
        run_numbered(state, MIX "--lora-init @mix-peft# --steps 1 --lr 0 --warmup 0 --out @ma#", k);
    }
#undef MIX
    same_file(state, "mt1/model/model.safetensors", "mix-merged1/model.safetensors");
    same_file(state, "mt2/model/model.safetensors", "mix-merged2/model.safetensors");
    same_file(state, "mt1/model/model.safetensors", "ma1/model/model.safetensors");
    same_file(state, "mt2/model/model.safetensors", "ma2/model/model.safetensors");
    run_well(state, "export @mt1 --to gguf --dtype f32 --out @mt1.gguf -q");
    run_well(state, "import @mt1.gguf --out @mt-back -q");
    same_file(state, "mt1/model/model.safetensors", "mt-back/model.safetensors");
}

static void a_base_that_moved_is_named_or_rejected(void **state)
{
    run_well(state, TUNE "--steps 4 --out @run");
    run_well(state, TUNE "--steps 6 --out @still");
    move(state, "base", "moved");
    hpc_test_refuses(&o, root_of(state), "train --out @run --steps 6 --resume", "cannot be read");
    hpc_test_says(o.err, "name a copy with --init DIR");
    hpc_test_refuses(&o, root_of(state), "export @run --out @no", "name a copy with --base DIR");
    run_well(state, "export @run --base @moved --out @run-model");
    same_file(state, "run/model/model.safetensors", "run-model/model.safetensors");
    run_well(state, "train --out @run --steps 6 --resume --init @moved");
    hpc_test_says(o.err, "moved from here on");
    same_file(state, "run/model/model.safetensors", "still/model/model.safetensors");
    run_well(state, "export @run --out @run-model-2"); /* the new path is recorded */
    move(state, "moved", "base");
}

static void a_base_that_changed_is_rejected(void **state)
{
    run_well(state, TUNE "--steps 4 --out @before");
    move(state, "base", "kept");
    run_well(state, TINY "--steps 5 --seed 4 --out @drawn-2");
    run_well(state, "export @drawn-2 --out @base");
    hpc_test_refuses(&o, root_of(state), "train --out @before --steps 6 --resume -q",
                     "has changed");
    hpc_test_says(o.err, "the checkpoint expects ");
    hpc_test_says(o.err, "/base ");
    hpc_test_refuses(&o, root_of(state), "train --out @before --steps 6 --resume --grid data=2 -q",
                     "has changed");
    hpc_test_refuses(&o, root_of(state), "export @before --out @no", "has changed");
    hpc_test_refuses(&o, root_of(state), "export @base --base @kept --out @no", "is a model");
    hpc_test_refuses(&o, root_of(state), "export @drawn --base @kept --out @no",
                     "holds all parameters");
    move(state, "base", "changed");
    move(state, "kept", "base");
    run_well(state, "train --out @before --steps 6 --resume -q");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoints_hold_adapters_alone),
        cmocka_unit_test(killed_and_resumed_gives_the_same_bits),
        cmocka_unit_test(killed_and_resumed_on_ranks_gives_the_same_bits),
        cmocka_unit_test(resumes_on_grids),
        cmocka_unit_test(a_quantised_base_gives_the_same_bits_in_less_memory),
        cmocka_unit_test(adapters_pass_through_the_format_of_peft),
        cmocka_unit_test(adapters_of_experts_pass_through_the_format_of_peft),
        cmocka_unit_test(a_base_that_moved_is_named_or_rejected),
        cmocka_unit_test(a_base_that_changed_is_rejected),
    };
    return cmocka_run_group_tests(tests, setup, hpc_test_folder_teardown);
}
