/*
 * Tests of `hpccoder corpus pack` as a user runs it: arguments, results, exit codes, and that it
 * can be killed at any moment.
 */
#include "tests/corpus/sources.h"

#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/command.h"

extern char **environ;

typedef struct bench {
    place *place;
    hpc_test_outcome outcome;
    char program[PATH_MAX], tokenizer[PATH_MAX];
} bench;

/* Runs words in which '@' is the folder of the test. */
static const hpc_test_outcome *command(bench *b, const char *words)
{
    hpc_buf text = {0};
    for (const char *p = words; *p; p++)
        *p == '@' ? hpc_buf_printf(&text, "%s/", b->place->root) : hpc_buf_add(&text, p, 1);
    assert_int_equal(text.failed, 0);
    hpc_test_command(&b->outcome, text.data);
    hpc_buf_release(&text);
    return &b->outcome;
}

static bench *new_bench(place *p)
{
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->place = p;
    hpc_test_built(b->program, "hpccoder");
    snprintf(b->tokenizer, sizeof b->tokenizer, "%s/t.model", p->root);
    return b;
}

/* Three repositories and the corpus "c" of them; the tokenizer is copied to "t.model". */
static void make_corpus(place *p)
{
    bench *b = new_bench(p);
    hpc_buf model = {0};
    assert_int_equal(hpc_file_read(&model, "tests/fixtures/tokenizer/ours.model", 1 << 20), 0);
    assert_int_equal(hpc_file_save(b->tokenizer, model.data, model.n), 0);
    hpc_buf_release(&model);
    for (int k = 0; k < 3; k++) write_repository(p, k, 40 + 30 * k, 1);
    write_text(p, "r0/omp.c",
               "/* SPDX-License-Identifier: MIT */\nvoid f(double *a, int n)\n{\n"
               "#pragma omp parallel for\n    for (int i = 0; i < n; i++) a[i] = i * 2.5 + n;\n}\n",
               141);
    script(p, "cd r0; save more");
    const hpc_test_outcome *o =
        command(b, "corpus harvest @r0 @r1 @r2 --out @c --held-out none --split 0,0 -q");
    if (o->code != 0) fail_msg("%s", o->err);
    free(b);
}

/* Made once, in a place of its own, and copied for each test. */
static place *made;

static int make_once(void **state)
{
    int rc = place_setup((void **)&made);
    (void)state;
    if (rc == 0) make_corpus(made);
    return rc;
}

static int drop_made(void **state)
{
    (void)state;
    return place_teardown((void **)&made);
}

static bench *make_bench(place *p)
{
    char text[192];
    snprintf(text, sizeof text, "cp -r %s/c %s/t.model .", made->root, made->root);
    script(p, text);
    return new_bench(p);
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static void refuses(bench *b, const char *words, const char *says)
{
    const hpc_test_outcome *o = command(b, words);
    if (o->code != 2 && o->code != 3) fail_msg("%s: exit code %d", words, o->code);
    assert_says(o->err, says);
    assert_string_equal(strchr(o->err, '\n'), "\n"); /* one line */
    assert_string_equal(o->out, "");
}

static void test_usage(void **state)
{
    bench *b = make_bench(*state);
    refuses(b, "corpus pack --tokenizer @t.model --out @a", "no corpus is named");
    refuses(b, "corpus pack @c @d --tokenizer @t.model --out @a", "unexpected argument");
    refuses(b, "corpus pack @c --tokenizer @t.model", "--out DIR is missing");
    refuses(b, "corpus pack @c --out @a", "--tokenizer FILE is missing");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --task prose", "--task");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --split some", "--split");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --fim-rate 2", "--fim-rate");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --shard-tokens 0", "--shard-tokens");
    refuses(b, "corpus pack @absent --tokenizer @t.model --out @a -q", "absent");
    refuses(b, "corpus pack @c --tokenizer @absent --out @a -q", "absent");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --task pragma -q", "loops.db");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @p --task perf", "takes --perf");
    refuses(b, "corpus pack --tokenizer @t.model --out @p --task perf -q", "--perf FILE");
    script(b->place, "new r");
    refuses(b, "corpus pack --tokenizer @t.model --out @p --task perf --perf @x.db --repository @r",
            "x.db");
    free(b);
}

static void test_results(void **state)
{
    bench *b = make_bench(*state);
    hpc_json *root = NULL;
    int64_t n = 0;
    const hpc_test_outcome *o =
        command(b, "corpus pack @c --tokenizer @t.model --out @a --split all -q --json");
    if (o->code != 0) fail_msg("%s", o->err);
    assert_string_equal(o->err, "");
    assert_int_equal(hpc_json_parse(&root, o->out, strlen(o->out), "output"), 0);
    assert_int_equal(hpc_json_n(root), 3);
    const hpc_json *train = hpc_json_at(root, 0);
    assert_int_equal(hpc_json_int(&n, hpc_json_get(train, "documents"), ""), 0);
    assert_int_equal(n, 211);
    assert_int_equal(hpc_json_int(&n, hpc_json_get(train, "tokens"), ""), 0);
    assert_true(n > 10000);
    hpc_json_free(root);
    script(b->place, "test -f a/train/index.json; test -f a/test/index.json");
    o = command(b, "corpus pack @c --tokenizer @t.model --out @b --threads 3");
    assert_int_equal(o->code, 0);
    assert_says(o->out, "train                 211");
    assert_says(o->err, "tokens");
    script(b->place, "diff -r a/train b");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @b -q", "holds a data set");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @b -q --resume --fim-rate 0",
            "was begun with other options");
    o = command(b, "corpus pack @c --tokenizer @t.model --out @b -q --resume");
    assert_int_equal(o->code, 0);
    script(b->place, "diff -r a/train b; truncate -s -1 b/00000.shard");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @b -q --resume", "is cut off");
    assert_int_equal(command(b, "corpus loops @c --out @l -q")->code, 0);
    o = command(b, "corpus pack @c --task pragma --loops @l --tokenizer @t.model --out @d -q");
    assert_int_equal(o->code, 0);
    assert_says(o->out, "train                   1");
    free(b);
}

/* ---- being ended ------------------------------------------------------------------------- */

static pid_t start(const bench *b, const char *out, rlim_t file_bytes)
{
    char folder[300], corpus[300];
    char *argv[] = {"hpccoder",           "corpus", "pack", corpus,           "--tokenizer",
                    (char *)b->tokenizer, "--out",  folder, "--shard-tokens", "16000",
                    "--threads",          "2",      "-q",   "--resume",       NULL};
    snprintf(folder, sizeof folder, "%s/%s", b->place->root, out);
    snprintf(corpus, sizeof corpus, "%s/c", b->place->root);
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
    script(b->place, "test $(ls whole/*.shard | wc -l) -gt 8");
    for (int k = 0; killed < rounds || stopped < rounds; k++) {
        assert_true(k < 100 * rounds);
        int signal_sent = killed < rounds ? SIGKILL : SIGTERM;
        pid_t child = start(b, "p", 0);
        int64_t wait = (int64_t)(hpc_random_bits(1, 1, 2, (uint64_t)k) % 1000) * whole / 1000;
        nanosleep(&(struct timespec){wait / 1000000000, wait % 1000000000}, NULL);
        kill(child, signal_sent);
        int code = finish(child);
        killed += code == -SIGKILL;
        /* Before the program has its handler, a signal ends it as any other. */
        stopped += code == 3 || code == -SIGTERM;
        assert_true(code == 0 || code == 3 || code == -SIGKILL || code == -SIGTERM);
        if (code != 0) continue;
        script(b->place, "diff -r whole p; rm -rf p");
    }
    assert_int_equal(finish(start(b, "p", 0)), 0);
    script(b->place, "diff -r whole p");
    free(b);
}

static void test_full_disk(void **state)
{
    bench *b = make_bench(*state);
    make_whole(b);
    const rlim_t limit[] = {100, 2000, 20000};
    for (size_t k = 0; k < sizeof limit / sizeof *limit; k++) {
        assert_int_equal(finish(start(b, "p", limit[k])), 3);
        script(b->place, "! ls -A p | grep -q tmp; for f in p/*.shard; do test ! -e $f || cmp $f "
                         "whole/$(basename $f); done");
    }
    assert_int_equal(finish(start(b, "p", 0)), 0);
    script(b->place, "diff -r whole p");
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
    return cmocka_run_group_tests_name("cmd/corpus_pack", tests, make_once, drop_made);
}
