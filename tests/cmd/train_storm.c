/*
 * train_storm.c: kills a rank of a job repeatedly at random moments. Each time the job ends soon
 * with an error that names the rank, and resumes on the same or another number of ranks, up to the
 * undisturbed result.
 *
 * Two kills; with HPC_TEST_LONG=1 (tests/bench/storm.sh) twenty, and all variants.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/cmd/mpirun.h"

enum { RANKS = 4, SOON = 10 };

#define STORM TINY LEVEL "--save-every 2 --keep 2 "

static void only_when_long(void)
{
    if (getenv("HPC_TEST_LONG")) return;
    print_message("SKIP: HPC_TEST_LONG=1 runs it\n");
    skip();
}

static void sleep_ms(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static int64_t newest(void **state, const char *run)
{
    char path[PATH_MAX], name[64];
    int64_t step;
    snprintf(name, sizeof name, "%s/checkpoints", run);
    test_ok(hpc_checkpoint_newest(&step, hpc_test_path(path, *state, name)));
    return step;
}

/* Processes of the program that work in this test's folder. */
static int left(void **state)
{
    char command[PATH_MAX + 64];
    int n = -1;
    snprintf(command, sizeof command, "pgrep -fc '^[^ ]*hpccoder train .*%s'", root_of(state));
    FILE *f = popen(command, "r");
    assert_non_null(f);
    if (fscanf(f, "%d", &n) != 1) n = -1;
    pclose(f);
    return n;
}

/* Rank `rank` of a job dies: seconds until the job has ended, which it does with an error. */
static double kill_rank(void **state, pid_t job, int rank, const char *log)
{
    char who[32];
    hpc_buf text = {0};
    pid_t p = 0;
    for (int k = 0; k < 1000 && p == 0; k++) {
        p = rank_of(job, rank);
        if (p == 0) sleep_ms(5);
    }
    assert_true(p > 0 && left(state) > 0);
    assert_int_equal(kill(p, SIGKILL), 0);
    int64_t start = hpc_clock_ns();
    assert_int_not_equal(ended(job), 0);
    double seconds = (double)(hpc_clock_ns() - start) * 1e-9;
    read_log(&text, state, log);
    snprintf(who, sizeof who, "rank %d", rank);
    hpc_test_says(text.data, who);
    hpc_buf_release(&text);
    while (left(state) > 0 && (double)(hpc_clock_ns() - start) * 1e-9 < SOON) sleep_ms(20);
    assert_int_equal(left(state), 0);
    return seconds;
}

static void same_bits(void **state, const char *a, const char *b)
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

/* How far apart the losses of two runs are in any of their steps, as a share of them. */
static double furthest(void **state, const char *a, const char *b, int64_t steps)
{
    double most = 0;
    for (int64_t s = 1; s <= steps; s++) {
        double x = cell(state, a, s, 2), y = cell(state, b, s, 2);
        assert_true(isfinite(x) && isfinite(y));
        most = fmax(most, fabs(x - y) / fabs(y));
    }
    return most;
}

/* Killed at moments from its start on, and resumed on the same grid: the same bits. */
static void at_any_moment(void **state)
{
    int times = getenv("HPC_TEST_LONG") ? 20 : 2;
    uint32_t seed = getenv("HPC_TEST_SEED") ? (uint32_t)atoi(getenv("HPC_TEST_SEED")) : 1;
    char words[512];
    int64_t step = -1;
    if (!can_mpirun()) skip();
    for (int k = 0; k < times; k++) {
        int rank = (int)(hpc_random_bits(seed, 0, 0, (uint64_t)k) % RANKS);
        int64_t ms = hpc_random_bits(seed, 1, 0, (uint64_t)k) % 1500;
        pid_t job = mpirun(state, RANKS, STORM "--steps 100000 --zero 1 --out @storm --resume",
                           "storm.log");
        /* Each other time from the first step on, not from the start. */
        for (int n = 0; k % 2 && n < 2000 && newest(state, "storm") <= step; n++) sleep_ms(10);
        sleep_ms(k % 2 ? ms / 2 : ms);
        double seconds = kill_rank(state, job, rank, "storm.log");
        int64_t now = newest(state, "storm");
        print_message("rank %d, %lld ms behind %s: ended within %.1f s, checkpoint of step %lld\n",
                      rank, (long long)(k % 2 ? ms / 2 : ms), k % 2 ? "a checkpoint" : "its start",
                      seconds, (long long)now);
        assert_true(seconds < SOON);
        assert_true(now >= step); /* none was lost */
        step = now;
    }
    assert_true(step > 0);
    step += 4;
    snprintf(words, sizeof words, STORM "--steps %lld --zero 1 --out @storm --resume",
             (long long)step);
    assert_int_equal(ended(mpirun(state, RANKS, words, "storm.log")), 0);
    snprintf(words, sizeof words, STORM "--steps %lld --zero 1 --out @calm", (long long)step);
    assert_int_equal(ended(mpirun(state, RANKS, words, "calm.log")), 0);
    assert_true(furthest(state, "storm", "calm", step) == 0);
    same_bits(state, "storm/model/model.safetensors", "calm/model/model.safetensors");
}

/* Killed once there is a checkpoint more, and resumed on fewer ranks, and on more. Sums of another
 * number of parts are rounded otherwise: the same loss to 1e-5. */
static void on_other_numbers_of_ranks(void **state)
{
    static const int ranks[] = {4, 2, 1, 4};
    static const char *const how[] = {"--zero 3", "--zero 1", "", "--grid data=2,row=2 --zero 2"};
    char words[512];
    int64_t step = 0;
    if (!can_mpirun()) skip();
    only_when_long();
    for (int k = 0; k < 4; k++) {
        snprintf(words, sizeof words, STORM "--steps %d --out @elastic --resume %s",
                 k < 3 ? 100000 : (int)step + 4, how[k]);
        pid_t job = mpirun(state, ranks[k], words, "elastic.log");
        if (k == 3) {
            assert_int_equal(ended(job), 0);
            break;
        }
        for (int n = 0; n < 1000 && newest(state, "elastic") <= step; n++) sleep_ms(10);
        if (ranks[k] > 1) {
            assert_true(kill_rank(state, job, ranks[k] - 1, "elastic.log") < SOON);
        } else {
            assert_int_equal(kill(rank_of(job, 0), SIGKILL), 0);
            assert_int_not_equal(ended(job), 0);
        }
        assert_true(newest(state, "elastic") > step);
        step = newest(state, "elastic");
    }
    step += 4;
    snprintf(words, sizeof words, STORM "--steps %lld --zero 1 --out @steady", (long long)step);
    assert_int_equal(ended(mpirun(state, 4, words, "steady.log")), 0);
    double most = furthest(state, "elastic", "steady", step);
    print_message("%lld steps: losses within %.1e\n", (long long)step, most);
    assert_true(most <= 1e-5);
}

/* examples/train-mpirun.sh starts a job again that lost a rank. */
static void the_example_goes_on(void **state)
{
    char program[PATH_MAX], script[PATH_MAX], hosts[PATH_MAX], command[HPC_TEST_WORDS], *build,
        words[HPC_TEST_WORDS];
    if (!can_mpirun()) skip();
    only_when_long();
    hpc_test_built(program, "hpccoder");
    snprintf(script, sizeof script, "%s", program);
    build = strstr(script, "/build/");
    assert_non_null(build);
    snprintf(build, sizeof script - (size_t)(build - script), "/examples/train-mpirun.sh");
    const char *list = "# one machine\nlocalhost slots=3\n";
    test_ok(hpc_file_save(hpc_test_path(hosts, *state, "hosts"), list, strlen(list)));
    assert_int_equal(ended(mpirun(state, 1, "--version", "log")), 0); /* sets the environment */
    hpc_test_in(
        words, root_of(state),
        "@hosts @data @example --hidden 32 --layers 2 --heads 4 --ffn 48 --length 24 "
        "--threads 1 --lr 0.01 -q --schedule constant --save-every 5 --steps 400 >@log 2>&1");
    assert_true(snprintf(command, sizeof command, "HPCCODER=%.400s exec sh %.400s %s", program,
                         script, words) < HPC_TEST_WORDS);
    pid_t job = fork();
    if (job == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    for (int n = 0; n < 2000 && newest(state, "example") < 5; n++) sleep_ms(5);
    snprintf(command, sizeof command, "pgrep -P %d mpirun", (int)job);
    FILE *f = popen(command, "r");
    int mpi = 0;
    assert_true(f && fscanf(f, "%d", &mpi) == 1);
    pclose(f);
    assert_int_equal(kill(rank_of(mpi, 1), SIGKILL), 0);
    assert_int_equal(ended(job), 0);
    assert_true(last(state, "example", 0) == 400);
    hpc_buf text = {0};
    read_log(&text, state, "log");
    hpc_test_says(text.data, "start 1: 2 ranks"); /* three do not divide eight rows */
    hpc_test_says(text.data, "once more");
    hpc_test_says(text.data, "start 2: 2 ranks");
    hpc_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_any_moment),
        cmocka_unit_test(on_other_numbers_of_ranks),
        cmocka_unit_test(the_example_goes_on),
    };
    return cmocka_run_group_tests_name("cmd/train_storm", tests, setup_data,
                                       hpc_test_folder_teardown);
}
