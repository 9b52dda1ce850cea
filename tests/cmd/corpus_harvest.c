/*
 * Tests of `hpccoder corpus harvest` as a user runs it: arguments, results, exit codes, and that it
 * can be killed at any moment.
 */
#include "tests/corpus/sources.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/command.h"

extern char **environ;

typedef struct bench {
    place *place;
    hpc_test_outcome outcome;
    char program[PATH_MAX];
} bench;

static bench *make_bench(place *p)
{
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->place = p;
    hpc_test_built(b->program, "hpccoder");
    return b;
}

/* Runs `corpus harvest` with words in which '@' is the folder of the test. */
static const hpc_test_outcome *harvest(bench *b, const char *words)
{
    hpc_buf text = {0};
    hpc_buf_text(&text, "corpus harvest ");
    for (const char *p = words; *p; p++)
        *p == '@' ? hpc_buf_printf(&text, "%s/", b->place->root) : hpc_buf_add(&text, p, 1);
    assert_int_equal(text.failed, 0);
    hpc_test_command(&b->outcome, text.data);
    hpc_buf_release(&text);
    return &b->outcome;
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static void test_usage(void **state)
{
    static const struct {
        const char *words, *says;
    } wrong[] = {{"@r0 --held-out none", "--out DIR is missing"},
                 {"--out @c --held-out none", "no repository is named"},
                 {"--out @c --list @absent --held-out none", "absent"},
                 {"@r0 --out @c --split 0.1 --held-out none", "expected two shares"},
                 {"@r0 --out @c --split 0.1,x --held-out none", "expected two shares"},
                 {"@r0 --out @c --split 0.5,0.5 --held-out none", "together at most 0.9"},
                 {"@r0 --out @c --licenses MIT,Nonsense --held-out none", "Nonsense"},
                 {"=@r0 --out @c --held-out none", "expected PATH or NAME=PATH"},
                 {"x/y=@r0 x/y=@r1 --out @c --held-out none", "are both called 'x/y'"},
                 {"@r0 --out @c --held-out @absent.sketch", "absent.sketch"},
                 {"@r0 --out @c --max-bytes 0 --held-out none", "max-bytes"}};
    bench *b = make_bench(*state);
    write_repository(b->place, 0, 5, 1);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const hpc_test_outcome *o = harvest(b, wrong[k].words);
        if (o->code != 2 && o->code != 3) fail_msg("%s: exit code %d", wrong[k].words, o->code);
        assert_says(o->err, wrong[k].says);
        assert_string_equal(strchr(o->err, '\n'), "\n"); /* one line */
        assert_string_equal(o->out, "");
    }
    free(b);
}

static void test_results(void **state)
{
    bench *b = make_bench(*state);
    hpc_json *root = NULL;
    int64_t n = 0;
    bool complete = false;
    write_repository(b->place, 0, 40, 2);
    write_repository(b->place, 1, 30, 1);
    write_text(b->place, "list", "# two\n\n  a/b=r0 \n\tr1\r\n", 23);
    script(b->place, "sed -i \"s,r0,$PWD/r0,; s,r1,$PWD/r1,\" list");
    const hpc_test_outcome *o = harvest(b, "--list @list --out @c --held-out none -q");
    assert_int_equal(o->code, 0);
    assert_says(o->out, "2 repositories, 0 failed; read 70 files");
    assert_says(o->out, "  kept                             70");
    o = harvest(b, "--list @list --out @c --held-out none -q --resume --json");
    assert_int_equal(o->code, 0);
    assert_int_equal(hpc_json_parse(&root, o->out, strlen(o->out), "output"), 0);
    assert_int_equal(hpc_json_bool(&complete, hpc_json_get(root, "complete"), ""), 0);
    assert_true(complete);
    const hpc_json *kept = hpc_json_get(hpc_json_get(root, "reasons"), "kept");
    assert_int_equal(hpc_json_int(&n, hpc_json_get(kept, "files"), ""), 0);
    assert_int_equal(n, 70);
    assert_int_equal(hpc_json_int(&n, hpc_json_get(root, "peak_bytes"), ""), 0);
    assert_true(n > 1 << 20);
    hpc_json_free(root);
    o = harvest(b, "a/b=@r0 @r1 --out @d --held-out none -q -j 3"); /* "r1": of its folder */
    assert_int_equal(o->code, 0);
    script(b->place, "diff -r c d; test -d c/content/a+b; test -d c/content/r1");
    o = harvest(b, "@r0 --out @c --held-out none");
    assert_int_equal(o->code, 2);
    assert_says(o->err, "already holds a corpus; --resume goes on with it");
    o = harvest(b, "@absent @r1 --out @e --held-out none -q");
    assert_int_equal(o->code, 2);
    assert_says(o->err, "absent: ");
    assert_says(o->out, "2 repositories, 1 failed; read 30 files");
    free(b);
}

/* ---- being ended ------------------------------------------------------------------------ */

static pid_t start(const bench *b, const char *out, rlim_t file_bytes)
{
    char folder[300], repository[4][300];
    char *argv[] = {"hpccoder",    "corpus",      "harvest",   repository[0], repository[1],
                    repository[2], repository[3], "--out",     folder,        "--held-out",
                    "none",        "--history",   "--threads", "2",           "-q",
                    "--resume",    "--split",     "0.2,0.2",   NULL};
    snprintf(folder, sizeof folder, "%s/%s", b->place->root, out);
    for (int k = 0; k < 4; k++)
        snprintf(repository[k], sizeof repository[k], "%s/r%d", b->place->root, k);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(99);
    if (file_bytes > 0) {
        struct rlimit limit = {file_bytes, file_bytes};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    execve(b->program, argv, environ);
    _exit(98);
}

/* Exit code, or -signal. */
static int finish(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* The reference, and how long it took in nanoseconds. */
static int64_t make_whole(bench *b)
{
    for (int k = 0; k < 4; k++) write_repository(b->place, k, 60 + 80 * k, 4);
    int64_t start_ns = hpc_clock_ns();
    assert_int_equal(finish(start(b, "whole", 0)), 0);
    return hpc_clock_ns() - start_ns;
}

/* At moments spread over a whole run and a little more; a run that was quicker is begun anew. */
static void test_signals(void **state)
{
    bench *b = make_bench(*state);
    int64_t whole = make_whole(b);
    int rounds = getenv("HPC_TEST_LONG") ? 20 : 3, killed = 0, stopped = 0;
    for (int k = 0; killed < rounds || stopped < rounds; k++) {
        assert_true(k < 100 * rounds);
        int signal_sent = killed < rounds ? SIGKILL : SIGTERM;
        pid_t child = start(b, "c", 0);
        int64_t wait = (int64_t)(hpc_random_bits(1, 1, 1, (uint64_t)k) % 1000) * whole / 1000;
        nanosleep(&(struct timespec){wait / 1000000000, wait % 1000000000}, NULL);
        kill(child, signal_sent);
        int code = finish(child);
        killed += code == -SIGKILL;
        /* Before the program has its handler, a signal ends it as any other. */
        stopped += code == 3 || code == -SIGTERM;
        assert_true(code == 0 || code == 3 || code == -SIGKILL || code == -SIGTERM);
        if (code != 0) continue;
        script(b->place, "diff -r whole c; rm -rf c");
    }
    assert_int_equal(finish(start(b, "c", 0)), 0);
    script(b->place, "diff -r whole c");
    free(b);
}

static void test_full_disk(void **state)
{
    bench *b = make_bench(*state);
    make_whole(b);
    const rlim_t limit[] = {100, 2000, 30000, 200000};
    for (size_t k = 0; k < sizeof limit / sizeof *limit; k++)
        assert_int_equal(finish(start(b, "c", limit[k])), 3);
    assert_int_equal(finish(start(b, "c", 0)), 0);
    script(b->place, "diff -r whole c");
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_usage, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_results, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_signals, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_full_disk, place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
