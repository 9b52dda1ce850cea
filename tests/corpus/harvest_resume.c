/*
 * Tests of resuming a harvest (corpus/harvest.c, work.c): after any interruption, with damaged or
 * missing files and any number of processes, the bytes equal those of an undisturbed harvest.
 */
/* tsan: left out, starts no thread. */
#include "tests/corpus/harvesting.h"

#include <sys/wait.h>
#include <unistd.h>

typedef struct brake { /* a progress that stops the harvest when it was called so often */
    hpc_progress progress;
    work *w;
    int left;
} brake;

static void count_down(void *user, const char *text, size_t n)
{
    brake *b = user;
    (void)text;
    (void)n;
    if (--b->left <= 0) __atomic_store_n(&b->w->stop, 1, __ATOMIC_RELAXED);
}

static void test_stop_and_resume(void **state)
{
    place *p = *state;
    make_repositories(p, 4);
    work *whole = make_work(p, "whole", 4), *w = make_work(p, "c", 4);
    whole->options.history = w->options.history = true;
    run_well(whole);
    int stopped = 0;
    for (int k = 1; k < 40; k++) {
        brake b = {.w = w, .left = k};
        b.progress.write = count_down;
        b.progress.user = &b;
        b.progress.terminal = true; /* so that it shows at once */
        w->options.progress = &b.progress;
        w->options.resume = k > 1;
        w->options.threads = 1 + k % 3;
        w->stop = 0;
        assert_int_equal(run(w), 0);
        assert_int_equal(w->result.stopped, !w->result.complete);
        if (w->result.complete) break;
        stopped++;
    }
    assert_true(stopped > 0);
    assert_true(w->result.complete);
    assert_same(p, "whole", "c");
    w->options.progress = NULL;
    w->stop = 0;
    run_well(w); /* once more: nothing to do */
    assert_int_equal(w->result.read_n, 0);
    assert_int_equal(w->result.kept_n, whole->result.kept_n);
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

/* From two repositories: "whole" to compare with, and "c", complete, to resume. */
static void make_two(work **whole, work **w, place *p)
{
    make_repositories(p, 2);
    *whole = make_work(p, "whole", 2);
    *w = make_work(p, "c", 2);
    run_well(*whole);
    run_well(*w);
    (*w)->options.resume = true;
}

/* The planned files are harvested although the branch has moved. */
static void test_moved(void **state)
{
    place *p = *state;
    work *whole, *w;
    make_two(&whole, &w, p);
    script(p, "rm c/corpus.db c/content/*/00000.chunk");
    write_code(p, "r1/src/new.c", 77, 0);
    script(p, "cd r1; save; git repack -adq");
    run_well(w);
    assert_noted(w, "owner/r1: its branches have moved");
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

/* ---- what is damaged or gone ---------------------------------------------------------------- */

typedef struct damage {
    const char *script; /* in the folder of the test, to the finished corpus "c" */
    const char *says;   /* the one warning; NULL: none */
} damage;

/* A complete corpus is checked completely and repaired. */
static void test_repairs(void **state)
{
    static const damage all[] = {
        {"rm c/content/owner+r0/00000.chunk", NULL},
        {"rm -r c/content/owner+r0/*.chunk c/content/owner+r1/*.chunk", NULL},
        {"printf x >c/content/owner+r0/00000.chunk", "owner/r0: chunk 0 is damaged; rebuilding"},
        {"f=c/content/owner+r0/00000.chunk; head -c -1 $f >x; mv x $f",
         "owner/r0: chunk 0 is damaged; rebuilding"},
        {"f=c/content/owner+r1/00000.chunk; printf '\\377\\0' | " /* in a text */
         "dd of=$f bs=1 seek=200 conv=notrunc",
         "owner/r1: chunk 0 is damaged; rebuilding"},
        {"cp c/content/owner+r0/00000.chunk c/content/owner+r1/00000.chunk", NULL}, /* sound */
        {"rm c/content/owner+r1/plan", NULL},
        {"f=c/content/owner+r1/plan; head -c 60 $f >x; mv x $f",
         "owner/r1: its plan is damaged; rebuilding it"},
        {"rm -r c/content/owner+r1", NULL},
        {"rm c/corpus.db", NULL},
        {": >c/corpus.db", "corpus.db is damaged; rebuilding it from the chunks"},
        {"echo no database >c/corpus.db", "corpus.db is damaged; rebuilding it"},
        {"head -c 30000 c/corpus.db >x; mv x c/corpus.db", "corpus.db is damaged; rebuilding"},
        {"dd if=/dev/zero of=c/corpus.db bs=8192 seek=3 count=1 conv=notrunc",
         "corpus.db is damaged; rebuilding"},
        {"rm -r c/content/owner+r1/00000.chunk; : >c/corpus.db",
         "corpus.db is damaged; rebuilding"},
        {"touch c/corpus.db.new c/harvest.lock c/content/owner+r1++lock", NULL}, /* as if killed */
    };
    place *p = *state;
    work *whole, *w;
    make_two(&whole, &w, p);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        script(p, all[k].script);
        run_well(w);
        int64_t lines = 0;
        for (size_t i = 0; i < w->notes.text.n; i++) lines += w->notes.text.data[i] == '\n';
        if (lines != (all[k].says != NULL)) fail_msg("%s:\n%s", all[k].script, w->notes.text.data);
        if (all[k].says) assert_noted(w, all[k].says);
        assert_int_equal(w->result.failed_n, 0);
        assert_int_equal(w->result.kept_n, whole->result.kept_n);
        assert_same(p, "whole", "c");
    }
    release_work(whole);
    release_work(w);
}

/* A new plan of branches that have moved: the database is of other chunks, and follows. */
static void test_planned_anew(void **state)
{
    place *p = *state;
    work *whole, *w;
    make_two(&whole, &w, p);
    write_code(p, "r1/src/new.c", 77, 0);
    script(p, "cd r1; save; cd ..; rm -r whole c/content/owner+r1/plan");
    run_well(w);
    run_well(whole);
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

/* No repository is needed to see that all is there, nor to make the database from the chunks. */
static void test_without_repositories(void **state)
{
    place *p = *state;
    work *whole, *w;
    make_two(&whole, &w, p);
    script(p, "mkdir away; mv r0 r1 away");
    run_well(w);
    assert_int_equal(w->notes.text.n, 0);
    assert_int_equal(w->result.read_n, 0);
    script(p, ": >c/corpus.db");
    run_well(w);
    assert_same(p, "whole", "c");
    /* A repository that cannot be read is skipped, and its rows stay in the database. */
    script(p, "rm c/content/owner+r1/00000.chunk");
    assert_int_equal(run(w), 0);
    assert_noted(w, "owner/r1: ");
    assert_int_equal(w->result.failed_n, 1);
    script(p, "cmp whole/corpus.db c/corpus.db; mv away/* .");
    run_well(w);
    assert_int_equal(w->result.failed_n, 0);
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

/* What a newer program made is not taken for damaged. */
static void test_newer_database(void **state)
{
    place *p = *state;
    make_repositories(p, 1);
    work *w = make_work(p, "c", 1);
    run_well(w);
    script(p, "printf '\\0\\0\\0\\2' | dd of=c/corpus.db bs=1 seek=60 conv=notrunc; cp -r c d");
    w->options.resume = true;
    assert_refused(run(w), HPC_E_UNSUPPORTED, "format version 2; this program knows version 1");
    script(p, "cmp c/corpus.db d/corpus.db");
    release_work(w);
}

static void test_failed_repository(void **state)
{
    place *p = *state;
    make_repositories(p, 3);
    work *whole = make_work(p, "whole", 3), *w = make_work(p, "c", 3);
    run_well(whole);
    script(p, "mv r1 away");
    assert_int_equal(run(w), 0);
    assert_noted(w, "owner/r1: ");
    assert_true(w->result.complete);
    assert_int_equal(w->result.failed_n, 1);
    assert_true(w->result.kept_n > 0 && w->result.kept_n < whole->result.kept_n);
    script(p, "mv away r1");
    w->options.resume = true;
    run_well(w);
    assert_int_equal(w->result.failed_n, 0);
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

/* A folder is not spoiled by mistyped paths. */
static void test_all_repositories_failed(void **state)
{
    place *p = *state;
    work *w = make_work(p, "c", 1), *three = make_work(p, "c", 3),
         *whole = make_work(p, "whole", 3);
    assert_refused(run(w), HPC_E_ARG, "r0: not a git repository");
    assert_int_equal(w->notes.text.n, 0);
    assert_refused(run(three), HPC_E_ARG, "none of the 3 repositories can be opened; the first: ");
    assert_int_equal(three->notes.text.n, 0);
    script(p, "test ! -e c");
    script(p, "new r0; cd ..; printf garbage >r0/.git/packed-refs"); /* opens, and then fails */
    assert_refused(run(w), HPC_E_ARG, "no repository can be read");
    assert_noted(w, "owner/r0: ");
    script(p, "test -z \"$(find c -type f)\"; rm -r r0");
    make_repositories(p, 3);
    run_well(three);
    run_well(whole);
    assert_same(p, "whole", "c");
    script(p, "rm -r c/content/* c/corpus.db r0 r1 r2; cp -r c d");
    three->options.resume = true;
    assert_refused(run(three), HPC_E_ARG, "no repository can be read");
    script(p, "cmp c/harvest.json whole/harvest.json; test ! -e c/corpus.db");
    release_work(w);
    release_work(three);
    release_work(whole);
}

/* Whatever call fails, what is whole stays, and resuming ends in the same bytes. */
static void test_faults(void **state)
{
    place *p = *state;
    make_repositories(p, 2);
    work *whole = make_work(p, "whole", 2);
    run_well(whole);
    int64_t each = getenv("HPC_TEST_LONG") ? 1 : 17, failures = 0;
    for (int io = 0; io < 2; io++) {
        for (int64_t n = 1;; n += io ? each : 13 * each) {
            work *w = make_work(p, "c", 2);
            io ? hpc_test_fail_io(n) : hpc_test_fail_alloc(n);
            int rc = run(w);
            bool failed = io ? hpc_test_io_failed() : hpc_test_alloc_failed();
            hpc_test_fault_reset();
            assert_true(failed || rc == 0);
            if (rc < 0) assert_int_equal(rc, io ? HPC_E_IO : HPC_E_NOMEM);
            if (rc < 0) assert_int_equal(hpc_error_get()->code, rc);
            hpc_error_clear();
            failures += rc < 0;
            w->options.resume = true;
            run_well(w);
            script(p, "diff -r whole c; rm -rf c");
            release_work(w);
            if (!failed) break;
        }
    }
    assert_true(failures > 5);
    release_work(whole);
}

/* ---- several processes ---------------------------------------------------------------------- */

static void run_three(work *w)
{
    pid_t child[3];
    for (int k = 0; k < 3; k++) {
        child[k] = fork();
        assert_true(child[k] >= 0);
        if (child[k] == 0) _exit(hpc_corpus_harvest(&w->result, &w->options) < 0);
    }
    for (int k = 0; k < 3; k++) {
        int status;
        assert_int_equal(waitpid(child[k], &status, 0), child[k]);
        assert_int_equal(status, 0);
    }
}

static void test_processes(void **state)
{
    place *p = *state;
    make_repositories(p, 6);
    work *whole = make_work(p, "whole", 6), *w = make_work(p, "c", 6);
    run_well(whole);
    w->options.resume = true;
    run_three(w);
    assert_same(p, "whole", "c");
    script(p, "rm c/content/owner+r1/*.chunk; printf x >c/content/owner+r4/00000.chunk;"
              "printf x >c/corpus.db");
    run_three(w);
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_stop_and_resume),
        TEST(test_moved),
        TEST(test_repairs),
        TEST(test_planned_anew),
        TEST(test_without_repositories),
        TEST(test_newer_database),
        TEST(test_failed_repository),
        TEST(test_all_repositories_failed),
        TEST(test_faults),
        TEST(test_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
