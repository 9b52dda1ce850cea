/*
 * Tests of corpus/plan*.c and of harvesting repositories that cannot be listed completely:
 * damaged, truncated, or stopped.
 */
#include "tests/corpus/sources.h"

#include <sqlite3.h>

#include "corpus/corpus.h"

enum { REPOSITORIES = 3, FILES = 30 };

typedef struct work {
    hpc_harvest_options options;
    hpc_harvest_result result;
    hpc_repository repository[REPOSITORIES];
    char path[REPOSITORIES][300], name[REPOSITORIES][32], folder[300];
    hpc_buf notes; /* warnings, one a line */
    int stop;
} work;

static void note(const char *line, void *user)
{
    hpc_buf_printf(&((work *)user)->notes, "%s\n", line);
}

static work *make_work(const place *p, const char *folder, bool history)
{
    work *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->options = (hpc_harvest_options)HPC_HARVEST_DEFAULTS;
    for (int k = 0; k < REPOSITORIES; k++) {
        snprintf(w->path[k], sizeof w->path[k], "%s/r%d", p->root, k);
        snprintf(w->name[k], sizeof w->name[k], "owner/r%d", k);
        w->repository[k] = (hpc_repository){w->path[k], w->name[k]};
    }
    snprintf(w->folder, sizeof w->folder, "%s/%s", p->root, folder);
    w->options.repository = w->repository;
    w->options.repositories_n = REPOSITORIES;
    w->options.folder = w->folder;
    w->options.history = history;
    w->options.warn = note;
    w->options.user = w;
    w->options.stop = &w->stop;
    w->options.threads = 2;
    return w;
}

static void release_work(work *w)
{
    hpc_buf_release(&w->notes);
    free(w);
}

static void run(work *w, int64_t failed)
{
    w->notes.n = 0;
    hpc_buf_text(&w->notes, "");
    if (hpc_corpus_harvest(&w->result, &w->options) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(hpc_error_get()->code, 0);
    assert_int_equal(w->result.failed_n, failed);
    w->options.resume = true;
}

/* How many warnings say both. */
static int noted(const work *w, const char *name, const char *part)
{
    int n = 0;
    for (const char *line = w->notes.data; *line; line = strchr(line, '\n') + 1) {
        size_t bytes = strcspn(line, "\n");
        const char *b = strstr(line, part);
        n += strncmp(line, name, strlen(name)) == 0 && b && b < line + bytes;
    }
    return n;
}

static void assert_noted(const work *w, const char *name, const char *part)
{
    if (noted(w, name, part) != 1)
        fail_msg("\"%s\" does not say once \"%s\" of %s", w->notes.data, part, name);
}

/* The repository's row in corpus.db. */
static int stored(place *p, const char *folder, const char *name, const char *column)
{
    char path[320], sql[128];
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    snprintf(path, sizeof path, "%s/%s/corpus.db", p->root, folder);
    snprintf(sql, sizeof sql, "SELECT %s FROM repository WHERE name = '%s'", column, name);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    int value = sqlite3_column_int(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return value;
}

static void make_repositories(place *p, int commits)
{
    for (int k = 0; k < REPOSITORIES; k++) write_repository(p, k, FILES, commits);
}

/* The loose object that $1 names. */
#define GONE                                                                                       \
    "file() { git rev-parse $1 | sed 's,^..,.git/objects/&/,'; }; gone() { rm -f $(file $1); }; "

/* ---- damage ------------------------------------------------------------------------------ */

/* A missing or damaged commit or tree of HEAD fails the repository: skipped, and tried again. */
static void damage_is_no_emptiness(void **state)
{
    place *p = *state;
    make_repositories(p, 2);
    script(p, "cp -r r1 s1; cp -r r2 s2");
    for (int history = 0; history < 2; history++) {
        work *whole = make_work(p, "whole", history), *w = make_work(p, "c", history);
        run(whole, 0);
        assert_int_equal(noted(whole, "owner/", ""), 0);
        script(p, "cd r1; " GONE "gone HEAD; cd ../r2; f=$(file HEAD^{tree}); chmod u+w $f; "
                  "printf garbage >$f");
        run(w, 2);
        assert_true(w->result.complete); /* of the existing objects */
        assert_noted(w, "owner/r1: ", "nothing of HEAD can be read: commit ");
        assert_noted(w, "owner/r2: ", "nothing of HEAD can be read: tree ");
        assert_true(w->result.kept_n > 0 && w->result.kept_n < whole->result.kept_n);
        assert_int_equal(stored(p, "c", "owner/r0", "failed"), 0);
        assert_int_equal(stored(p, "c", "owner/r1", "failed"), 1);
        assert_int_equal(stored(p, "c", "owner/r2", "failed"), 1);
        script(p, "test -e c/content/owner+r0/plan; test ! -e c/content/owner+r1/plan; "
                  "rm -rf r1; cp -r s1 r1");
        run(w, 1);
        assert_noted(w, "owner/r2: ", "nothing of HEAD can be read: tree ");
        script(p, "rm -rf r2; cp -r s2 r2");
        run(w, 0);
        assert_int_equal(noted(w, "owner/", ""), 0);
        script(p, "diff -r whole c; rm -rf whole c");
        release_work(whole);
        release_work(w);
    }
}

/* A folder or an older commit is lost: the rest is harvested, the loss is reported while there is
 * work, and resuming uses the plan. */
static void what_can_be_read_is_harvested(void **state)
{
    place *p = *state;
    make_repositories(p, 2);
    script(p, "cp -r r1 s1; cd r1; " GONE "gone HEAD:src/part1; cd ../r2; gone HEAD~1");
    for (int history = 0; history < 2; history++) {
        work *w = make_work(p, "c", history);
        run(w, 0);
        assert_true(w->result.complete);
        assert_noted(w, "owner/r1: ",
                     "1 of its commits and folders cannot be read; the rest is "
                     "harvested; the first: tree ");
        assert_int_equal(noted(w, "owner/r2: ",
                               "cannot be read; the rest is harvested; the first: "
                               "commit "),
                         history);
        assert_int_equal(stored(p, "c", "owner/r1", "missing"), 1);
        assert_int_equal(stored(p, "c", "owner/r2", "missing"), history);
        assert_int_equal(stored(p, "c", "owner/r1", "failed"), 0);
        if (!history) assert_int_equal(stored(p, "c", "owner/r1", "files"), 20);
        script(p, "cp -r c first; rm c/corpus.db c/content/*/00000.chunk");
        script(p, "mv r1 t1; cp -r s1 r1"); /* whole again: too late */
        run(w, 0);
        assert_noted(w, "owner/r1: ", "1 of its commits and folders cannot be read");
        script(p, "diff -r first c; rm -rf first c r1; mv t1 r1");
        release_work(w);
    }
}

/* ---- absent on purpose --------------------------------------------------------------------- */

static void clones_may_be_partial(void **state)
{
    place *p = *state;
    write_repository(p, 0, FILES, 3);
    script(p, "git -C r0 config uploadpack.allowFilter true; "
              "git clone -q --depth 2 file://$PWD/r0 r1; "
              "git clone -q --filter=tree:0 file://$PWD/r0 r2");
    work *w = make_work(p, "c", true);
    run(w, 0);
    assert_noted(w, "owner/r1: ", "shallow clone, its history is incomplete");
    assert_int_equal(noted(w, "owner/r1: ", "cannot be read"), 0);
    assert_int_equal(stored(p, "c", "owner/r1", "missing"), 0);
    assert_int_equal(stored(p, "c", "owner/r1", "commits"), 2);
    assert_noted(w, "owner/r2: ", "cannot be read (a partial clone); the rest is harvested");
    assert_int_equal(stored(p, "c", "owner/r2", "files"), FILES);
    release_work(w);
    script(p, "rm -rf r2 c; git clone -q --bare --filter=tree:0 file://$PWD/r0 r2");
    w = make_work(p, "c", false); /* nothing of HEAD came along */
    run(w, 1);
    assert_noted(w, "owner/r2: ", "nothing of HEAD can be read: tree ");
    release_work(w);
}

/* ---- stopping ------------------------------------------------------------------------------- */

typedef struct brake {
    hpc_progress progress;
    work *w;
} brake;

static void pull(void *user, const char *text, size_t n)
{
    (void)text;
    (void)n;
    __atomic_store_n(&((brake *)user)->w->stop, 1, __ATOMIC_RELEASE);
}

/* The first sign of progress is a commit of the first repository. */
static void no_plan_of_a_stopped_list(void **state)
{
    place *p = *state;
    make_repositories(p, 2);
    work *whole = make_work(p, "whole", true), *w = make_work(p, "c", true);
    run(whole, 0);
    brake b = {.progress = {.write = pull, .terminal = true}, .w = w};
    b.progress.user = &b;
    w->options.progress = &b.progress;
    run(w, 0);
    assert_true(w->result.stopped && !w->result.complete);
    assert_int_equal(noted(w, "owner/", ""), 0);
    script(p, "test -e c/harvest.json; test -z \"$(find c -name plan)\"");
    w->options.progress = NULL;
    w->stop = 0;
    run(w, 0);
    assert_true(w->result.complete);
    script(p, "diff -r whole c");
    release_work(whole);
    release_work(w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(damage_is_no_emptiness),
        TEST(what_can_be_read_is_harvested),
        TEST(clones_may_be_partial),
        TEST(no_plan_of_a_stopped_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
