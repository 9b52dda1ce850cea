/*
 * train_storm.c: kills a rank of a job repeatedly at random moments. Each time the job ends soon
 * with an error that names the rank, and resumes on the same or another number of ranks, up to the
 * undisturbed result.
 *
 * Two kills of data ranks and one of a stage; with HPC_TEST_LONG=1 (tests/bench/storm.sh) twenty
 * and ten, and all variants.
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

typedef struct storm {
    const char *run, *how; /* folder; options of the grid */
    int often, seldom;     /* kills, with HPC_TEST_LONG and without */
} storm;

/* Killed at moments from its start on, and resumed on the same grid: the same bits. */
static void at_any_moment(void **state, const storm *x)
{
    int times = getenv("HPC_TEST_LONG") ? x->often : x->seldom;
    uint32_t seed = getenv("HPC_TEST_SEED") ? (uint32_t)atoi(getenv("HPC_TEST_SEED")) : 1;
    char words[512], calm[64], a[128], b[128];
    int64_t step = -1;
    if (!can_mpirun()) skip();
    snprintf(calm, sizeof calm, "%s-calm", x->run);
    for (int k = 0; k < times; k++) {
        int rank = (int)(hpc_random_bits(seed, 0, 0, (uint64_t)k) % RANKS);
        int64_t ms = hpc_random_bits(seed, 1, 0, (uint64_t)k) % 1500;
        bool late = k % 2 || times == 1; /* from the first step on, not from the start */
        snprintf(words, sizeof words, STORM "--steps 100000 %s --out @%s --resume", x->how, x->run);
        pid_t job = mpirun(state, RANKS, words, "storm.log");
        for (int n = 0; late && n < 2000 && newest(state, x->run) <= step; n++) sleep_ms(10);
        sleep_ms(late ? ms / 2 : ms);
        double seconds = kill_rank(state, job, rank, "storm.log");
        int64_t now = newest(state, x->run);
        print_message("rank %d, %lld ms behind %s: ended within %.1f s, checkpoint of step %lld\n",
                      rank, (long long)(late ? ms / 2 : ms), late ? "a checkpoint" : "its start",
                      seconds, (long long)now);
        assert_true(seconds < SOON);
        assert_true(now >= step); /* none was lost */
        step = now;
    }
    assert_true(step > 0);
    step += 4;
    snprintf(words, sizeof words, STORM "--steps %lld %s --out @%s --resume", (long long)step,
             x->how, x->run);
    assert_int_equal(ended(mpirun(state, RANKS, words, "storm.log")), 0);
    snprintf(words, sizeof words, STORM "--steps %lld %s --out @%s", (long long)step, x->how, calm);
    assert_int_equal(ended(mpirun(state, RANKS, words, "calm.log")), 0);
    assert_true(furthest(state, x->run, calm, step) == 0);
    snprintf(a, sizeof a, "%s/model/model.safetensors", x->run);
    snprintf(b, sizeof b, "%s/model/model.safetensors", calm);
    same_bits(state, a, b);
}

static void ranks_along_data(void **state)
{
    at_any_moment(state, &(storm){"storm", "--zero 1", 20, 2});
}

static void stages_of_a_pipeline(void **state)
{
    at_any_moment(state, &(storm){"piped",
                                  "--layers 4 --grid pipe=4 --accumulate 4 --rows 2 "
                                  "--pipe-schedule arrival",
                                  10, 1});
}

typedef struct leg {
    int ranks;
    const char *how;
} leg;
enum { TURNS = 4 };

/* Killed once there is a checkpoint more, and resumed on fewer ranks, and on more. Sums of another
 * number of parts are rounded otherwise: the same loss to 1e-5. */
static void on_other_grids(void **state, const char *run, const char *all, const leg *turn)
{
    char words[512], steady[64];
    int64_t step = 0;
    if (!can_mpirun()) skip();
    only_when_long();
    snprintf(steady, sizeof steady, "%s-steady", run);
    for (int k = 0; k < TURNS; k++) {
        snprintf(words, sizeof words, STORM "%s --steps %d --out @%s --resume %s", all,
                 k < 3 ? 100000 : (int)step + 4, run, turn[k].how);
        pid_t job = mpirun(state, turn[k].ranks, words, "elastic.log");
        if (k == 3) {
            assert_int_equal(ended(job), 0);
            break;
        }
        for (int n = 0; n < 1000 && newest(state, run) <= step; n++) sleep_ms(10);
        if (turn[k].ranks > 1) {
            assert_true(kill_rank(state, job, turn[k].ranks - 1, "elastic.log") < SOON);
        } else {
            assert_int_equal(kill(rank_of(job, 0), SIGKILL), 0);
            assert_int_not_equal(ended(job), 0);
        }
        assert_true(newest(state, run) > step);
        step = newest(state, run);
    }
    step += 4;
    snprintf(words, sizeof words, STORM "%s --steps %lld %s --out @%s", all, (long long)step,
             turn[0].how, steady);
    assert_int_equal(ended(mpirun(state, turn[0].ranks, words, "steady.log")), 0);
    double most = furthest(state, run, steady, step);
    print_message("%lld steps: losses within %.1e\n", (long long)step, most);
    assert_true(most <= 1e-5);
}

static void on_other_numbers_of_ranks(void **state)
{
    on_other_grids(
        state, "elastic", "",
        (const leg[TURNS]){
            {4, "--zero 3"}, {2, "--zero 1"}, {1, ""}, {4, "--grid data=2,row=2 --zero 2"}});
}

static void on_other_numbers_of_stages(void **state)
{
    on_other_grids(state, "staged", "--layers 4 --accumulate 4 --rows 2",
                   (const leg[TURNS]){{4, "--grid pipe=4"},
                                      {2, "--grid pipe=2 --pipe-schedule interleaved"},
                                      {1, ""},
                                      {4, "--grid pipe=2,data=2 --pipe-schedule arrival"}});
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
        cmocka_unit_test(ranks_along_data),          cmocka_unit_test(stages_of_a_pipeline),
        cmocka_unit_test(on_other_numbers_of_ranks), cmocka_unit_test(on_other_numbers_of_stages),
        cmocka_unit_test(the_example_goes_on),
    };
    return cmocka_run_group_tests_name("cmd/train_storm", tests, setup_data,
                                       hpc_test_folder_teardown);
}
