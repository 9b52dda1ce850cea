/*
 * Tests of corpus/history/: collecting what commits cost, from repositories whose programs are
 * scripts of the shell.
 */
/* tsan: left out, starts no thread. */
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "corpus/history/history.h"
#include "runtime/proc/proc.h"
#include "tests/git/repository.h"

/* ---- collecting ----------------------------------------------------------------------------- */

typedef struct told {
    hpc_buf text;
    int stop, lines, stop_after;
} told;

static void tell(void *user, const char *line)
{
    told *t = user;
    hpc_buf_printf(&t->text, "%s\n", line);
    if (++t->lines == t->stop_after) t->stop = 1;
}

typedef struct bench {
    place *p;
    hpc_history_options o;
    hpc_history_metric metric[2];
    char repository[128], database[128], work[128];
    told told;
    hpc_history_result r;
} bench;

/* The program prints its cost. */
static void set_up(bench *b, place *p)
{
    *b = (bench){.p = p, .o = HPC_HISTORY_DEFAULTS};
    assert_int_equal(hpc_history_metric_parse(&b->metric[0], "printed=cost (\\d+)"), 0);
    snprintf(b->repository, sizeof b->repository, "%s/r", p->root);
    snprintf(b->database, sizeof b->database, "%s/h.db", p->root);
    snprintf(b->work, sizeof b->work, "%s/work", p->root);
    b->o.repository = b->repository;
    b->o.head = "HEAD";
    b->o.build = "cp source program";
    b->o.run = "sh program";
    b->o.metric = b->metric;
    b->o.metrics = 1;
    b->o.least = 2;
    b->o.most = 3;
    b->o.warm_up = 0;
    b->o.machine = "m";
    b->o.database = b->database;
    b->o.work = b->work;
    b->o.tell = tell;
    b->o.user = &b->told;
    b->o.stop = &b->told.stop;
}

static void tear_down(bench *b)
{
    hpc_history_metric_release(&b->metric[0]);
    hpc_history_metric_release(&b->metric[1]);
    hpc_buf_release(&b->told.text);
}

static void collect(bench *b)
{
    b->told.lines = b->told.stop = 0;
    if (hpc_history_collect(&b->r, &b->o) < 0) fail_msg("%s", hpc_error_get()->text);
}

/* Rows of the database, columns separated by '|' and rows by ' '. */
static const char *rows(bench *b, const char *sql)
{
    static hpc_buf out;
    sqlite3 *db;
    sqlite3_stmt *q;
    out.n = 0;
    hpc_buf_text(&out, "");
    assert_int_equal(sqlite3_open(b->database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    while (sqlite3_step(q) == SQLITE_ROW) {
        if (out.n > 0) hpc_buf_text(&out, " ");
        for (int k = 0; k < sqlite3_column_count(q); k++) {
            const unsigned char *text = sqlite3_column_text(q, k);
            hpc_buf_printf(&out, "%s%s", k ? "|" : "", text ? (const char *)text : "-");
        }
    }
    sqlite3_finalize(q);
    sqlite3_close(db);
    return out.data;
}

#define BY_COMMIT                                                                                  \
    "SELECT cast(value AS INTEGER), count(*) FROM sample JOIN commits ON commit_id = commits.id "  \
    "GROUP BY commit_id ORDER BY time"
/* `one COST`: a commit whose program prints it. */
#define LINE                                                                                       \
    "new r; n=0; save() { n=$((n + 1)); export GIT_COMMITTER_DATE=\"$((1700000000 + 60 * n)) "     \
    "+0000\"; git add -A; git commit -q -m m; }; one() { echo \"echo cost $1\" > source; save; "   \
    "}; "

static void commits_are_measured(void **state)
{
    bench b;
    script(*state, LINE "one 10; one 20; one 30; one 40; one 50; one 60");
    set_up(&b, *state);
    collect(&b);
    assert_int_equal(b.r.commits, 6);
    assert_int_equal(b.r.measured, 6);
    assert_int_equal(b.r.unbuilt + b.r.unrun + b.r.there + b.r.same, 0);
    /* The fourth is among the next few again: four more runs of it were not needed, two were. */
    assert_string_equal(rows(&b, BY_COMMIT), "10|2 20|2 30|2 40|4 50|2 60|2");
    assert_string_equal(rows(&b, "SELECT count(*) FROM commits c JOIN commits p "
                                 "ON c.parent = p.id"),
                        "5");
    assert_string_equal(rows(&b, "SELECT DISTINCT command, metric, machine FROM series"),
                        "sh program|printed|m");
    assert_string_equal(rows(&b, "SELECT count(*), min(outcome), max(stage) FROM attempt"),
                        "6|done|build");
    /* Again: nothing is left to do, and nothing is built. */
    collect(&b);
    assert_int_equal(b.r.there, 6);
    assert_int_equal(b.r.samples, 0);
    assert_string_equal(rows(&b, "SELECT count(*) FROM session"), "2");
    assert_string_equal(rows(&b, "SELECT count(*) FROM session WHERE facts LIKE "
                                 "'%\"repository\":\"/%/r\"%'"),
                        "2");
    /* A range begins with what its base costs. */
    b.o.base = "HEAD~2";
    b.o.machine = "other";
    collect(&b);
    assert_int_equal(b.r.commits, 3);
    assert_int_equal(b.r.measured, 3);
    assert_string_equal(rows(&b, "SELECT count(*) FROM commits WHERE parent IS NULL"), "1");
    tear_down(&b);
}

static void what_cannot_be_built_or_run_is_kept(void **state)
{
    bench b;
    script(*state, LINE "one 10; git rm -q source; save; one 30; echo 'exit 7' > source; save; "
                        "echo 'echo no number' > source; save; echo 'kill -11 $$' > source; save; "
                        "one 40");
    set_up(&b, *state);
    collect(&b);
    assert_int_equal(b.r.measured, 3);
    assert_int_equal(b.r.unbuilt, 1);
    assert_int_equal(b.r.unrun, 3);
    assert_string_equal(rows(&b, "SELECT DISTINCT value FROM sample ORDER BY value"),
                        "10.0 30.0 40.0");
    assert_string_equal(
        rows(&b,
             "SELECT stage, outcome, instr(log, 'cannot stat') > 0, instr(log, 'exited with status "
             "7') > 0, instr(log, 'the pattern does not match') > 0, instr(log, 'signal 11') > 0 "
             "FROM attempt JOIN commits ON commit_id = id WHERE outcome <> 'done' ORDER BY time"),
        "build|failed|1|0|0|0 run|failed|0|1|0|0 run|failed|0|0|1|0 run|failed|0|0|0|1");
    collect(&b); /* not tried again, unless asked for */
    assert_int_equal(b.r.samples, 0);
    assert_int_equal(b.r.unbuilt + b.r.unrun, 4);
    b.o.again = true;
    b.o.build = "touch source; cp source program";
    collect(&b);
    assert_int_equal(b.r.unbuilt, 0);
    tear_down(&b);
}

static bool is_gone(const char *pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", atoi(pid));
    for (int k = 0; k < 200; k++) {
        if (access(path, F_OK) != 0) return true;
        usleep(10000);
    }
    return false;
}

/* A build that hangs, one that forks away and ends, and a run that hangs. */
static void what_hangs_or_forks_away_ends(void **state)
{
    bench b;
    script(*state,
           LINE "one 10; echo 'sleep 300' > build; save; one 20; "
                "echo \"setsid sh -c 'echo \\$\\$ > ../../../../away; sleep 300' "
                ">/dev/null 2>&1 & until [ -s ../../../../away ]; do sleep 0.01; done\" > build; "
                "one 30; rm build; "
                "echo 'sleep 300' > source; save; one 40");
    set_up(&b, *state);
    b.o.build = "cp source program; if [ -e build ]; then sh build; fi";
    b.o.limits.build_seconds = b.o.limits.run_seconds = 1.5;
    collect(&b);
    assert_int_equal(b.r.unbuilt, 2);
    assert_int_equal(b.r.unrun, 1);
    assert_int_equal(b.r.measured, 3);
    char *pid = text_of(*state, "away");
    assert_true(is_gone(pid));
    hpc_free(pid);
    assert_string_equal(rows(&b, "SELECT outcome, count(*) FROM attempt WHERE outcome <> 'done' "
                                 "GROUP BY outcome"),
                        "timed out|3");
    tear_down(&b);
}

/* Only what the program is made of decides: documentation does not, nor does a revert. */
static void the_same_product_is_not_run(void **state)
{
    bench b;
    script(*state, LINE "one 10; echo 1 > README; save; echo 2 > README; save; one 20; "
                        "echo 3 > README; save");
    set_up(&b, *state);
    b.o.product = "program";
    collect(&b);
    assert_int_equal(b.r.same, 3);
    assert_int_equal(b.r.measured, 2);
    assert_string_equal(rows(&b, "SELECT count(*), count(DISTINCT product) FROM attempt"), "5|2");
    collect(&b);
    assert_int_equal(b.r.same + b.r.there, 5);
    assert_int_equal(b.r.samples, 0);
    b.o.product = "nothing";
    b.o.machine = "other";
    collect(&b);
    assert_int_equal(b.r.unbuilt, 5);
    assert_string_equal(
        rows(&b,
             "SELECT count(*) FROM attempt WHERE log LIKE '%the build did not produce nothing%'"),
        "5");
    tear_down(&b);
}

/* A series from another build command is separate, and is measured again. */
static void builds_are_told_apart(void **state)
{
    bench b;
    script(*state, LINE "one 10; one 20; echo 'exit 7' > source; save");
    set_up(&b, *state);
    collect(&b);
    assert_int_equal(b.r.measured, 2);
    assert_int_equal(b.r.unrun, 1);
    b.o.build = "sed 's/0/1/; s/exit 7/echo cost 31/' source >program";
    collect(&b);
    assert_int_equal(b.r.measured, 3);
    assert_int_equal(b.r.there + b.r.unrun, 0);
    assert_string_equal(rows(&b, "SELECT build LIKE 'sed%', count(DISTINCT commit_id), max(value) "
                                 "FROM series JOIN sample ON series = series.id GROUP BY build"),
                        "0|2|20.0 1|3|31.0");
    assert_string_equal(rows(&b, "SELECT count(*), count(DISTINCT build) FROM attempt WHERE stage "
                                 "= 'run'"),
                        "1|1");
    collect(&b);
    assert_int_equal(b.r.there, 3);
    b.o.build = "cp source program";
    collect(&b);
    assert_int_equal(b.r.there, 2);
    assert_int_equal(b.r.unrun, 1);
    tear_down(&b);
}

static void merges_and_paths_are_chosen(void **state)
{
    bench b;
    script(*state, LINE "one 10; git checkout -q -b side; one 20; one 30; git checkout -q main; "
                        "echo x > other; save; git merge -q --no-edit side; echo y > other; save; "
                        "git mv source moved; cp moved source; save");
    set_up(&b, *state);
    collect(&b);
    assert_int_equal(b.r.commits, 5);
    b.o.all = true;
    collect(&b);
    assert_int_equal(b.r.commits, 7);
    assert_int_equal(b.r.there, 5);
    const char *paths[] = {"source", NULL};
    b.o.paths = paths;
    collect(&b);
    assert_int_equal(b.r.commits, 4); /* the merge brings it too */
    b.o.all = false;
    collect(&b);
    assert_int_equal(b.r.commits, 2);
    const char *nowhere[] = {"sour", "source/", NULL};
    b.o.paths = nowhere;
    collect(&b);
    assert_int_equal(b.r.commits, 2);
    tear_down(&b);
}

/* Not a byte of it, nor when it was written; index and work tree are dirty. */
static void the_repository_stays_as_it_is(void **state)
{
    bench b;
    script(*state, LINE "one 10; one 20; echo dirty >> source; echo new > new; git add new; "
                        "cd ..; find r -printf '%P %s %T@ %C@\\n' | sort > before");
    set_up(&b, *state);
    collect(&b);
    assert_int_equal(b.r.measured, 2);
    script(*state, "find r -printf '%P %s %T@ %C@\\n' | sort > after; diff before after");
    tear_down(&b);
}

/* Killed amid runs: every sample is there, what was not finished is swept, and the rest follows. */
static void a_kill_loses_nothing(void **state)
{
    bench b;
    int samples = 0;
    script(*state, LINE "for k in 1 2 3 4 5 6 7 8; do one $k; done");
    set_up(&b, *state);
    b.o.run = "sleep 0.05; sh program; echo x >> ../../../../ran";
    b.o.build = "cp source program; sleep 0.1";
    for (int round = 0; round < 6; round++) {
        pid_t child = fork();
        if (child == 0) {
            hpc_history_result r;
            b.o.tell = NULL;
            _exit(hpc_history_collect(&r, &b.o) == 0 ? 0 : 1);
        }
        usleep(300000 + 150000 * (unsigned)round);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        int now = atoi(rows(&b, "SELECT count(*) FROM sample"));
        assert_true(now >= samples);
        samples = now;
        script(*state,
               "for k in $(seq 100); do left=; for p in /proc/[0-9]*; do "
               "if tr '\\0' ' ' 2>/dev/null < $p/cmdline | grep -q '^sh -c sleep 0.05; sh '; "
               "then left=$p; fi; done; [ \"$left\" ] || exit 0; sleep 0.1; done; "
               "echo $left; exit 1");
    }
    assert_true(samples > 0);
    collect(&b);
    assert_int_equal(b.r.measured + b.r.there, 8);
    assert_string_equal(rows(&b, "SELECT min(n) >= 2 FROM (SELECT count(*) AS n FROM sample "
                                 "GROUP BY commit_id)"),
                        "1");
    /* Of every run but those that were cut off there is a sample. */
    script(*state, "for d in work/builds/*; do [ -e $d/built ]; done; wc -l < ran > lines");
    char *lines = text_of(*state, "lines");
    int ran = atoi(lines), kept = atoi(rows(&b, "SELECT count(*) FROM sample"));
    assert_true(ran - kept >= 0 && ran - kept <= 6);
    hpc_free(lines);
    tear_down(&b);
}

static void stopping_is_in_time(void **state)
{
    bench b;
    script(*state, LINE "for k in 1 2 3 4 5 6 7 8; do one $k; done");
    set_up(&b, *state);
    b.told.stop_after = 5;
    collect(&b);
    assert_true(b.r.stopped);
    assert_true(b.r.measured < 8 && b.r.measured > 0);
    b.told.stop_after = 0;
    collect(&b);
    assert_false(b.r.stopped);
    assert_int_equal(b.r.measured + b.r.there, 8);
    tear_down(&b);
}

static bench *interrupted;
static void interrupt(int signal)
{
    (void)signal;
    interrupted->told.stop = 1;
}

/* Ctrl-C also ends a build. It does not count as a failure of the commit, which the next session
 * tries again. */
static void what_ctrl_c_ended_has_not_failed(void **state)
{
    bench b;
    char build[512];
    script(*state, LINE "one 10; one 20");
    set_up(&b, *state);
    interrupted = &b;
    signal(SIGUSR1, interrupt);
    snprintf(build, sizeof build,
             "[ -e %s/second ] || { touch %s/second; kill -USR1 %d; exit 1; }; %s",
             ((place *)*state)->root, ((place *)*state)->root, (int)getpid(), b.o.build);
    b.o.build = build;
    collect(&b);
    assert_true(b.r.stopped);
    assert_int_equal(b.r.unbuilt, 0);
    b.told.stop = 0;
    collect(&b);
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(b.r.measured, 2);
    assert_int_equal(b.r.unbuilt, 0);
    tear_down(&b);
}

static void work_stays_within_its_room(void **state)
{
    char path[300];
    bench b;
    script(*state, LINE "for k in 1 2 3 4 5 6; do seq $k 100000 > large; one $k; done");
    set_up(&b, *state);
    b.o.cache_bytes = 2 << 20;
    collect(&b);
    script(*state,
           "[ $(du -sm work/builds | cut -f1) -le 3 ]; [ $(ls work/builds | wc -l) -ge 1 ]");
    b.o.cache_bytes = 0;
    b.o.machine = "other";
    collect(&b);
    script(*state, "[ $(ls work/builds | wc -l) = 0 ]");
    /* Another process works there. */
    int lock;
    snprintf(path, sizeof path, "%s/lock", b.work);
    assert_int_equal(hpc_file_lock(&lock, path, false), 0);
    assert_refused(hpc_history_collect(&b.r, &b.o), HPC_E_STATE, "another perf collect uses");
    hpc_file_unlock(lock);
    tear_down(&b);
}

static void wrong_requests_are_refused(void **state)
{
    bench b;
    script(*state, LINE "one 10; one 20; cd ..; git clone -q --depth 1 file://\"$PWD\"/r shallow; "
                        "mkdir none");
    set_up(&b, *state);
    b.o.base = "nobody";
    assert_refused(hpc_history_collect(&b.r, &b.o), HPC_E_ARG, "'nobody' names no commit");
    b.o.base = "HEAD";
    assert_refused(hpc_history_collect(&b.r, &b.o), HPC_E_ARG, "HEAD..HEAD has no commits");
    b.o.base = NULL;
    b.o.metrics = 0;
    assert_refused(hpc_history_collect(&b.r, &b.o), HPC_E_ARG, "1 to 16 metrics");
    b.o.metrics = 1;
    b.o.cpus = "0-";
    assert_refused(hpc_history_collect(&b.r, &b.o), HPC_E_ARG, "cpus '0-'");
    b.o.cpus = "1023";
    assert_refused(hpc_history_collect(&b.r, &b.o), HPC_E_ARG, "expected a list of existing CPUs");
    b.o.cpus = NULL;
    b.o.least = 9;
    assert_refused(hpc_history_collect(&b.r, &b.o), HPC_E_ARG, "runs: expected 1");
    b.o.least = 2;
    snprintf(b.repository, sizeof b.repository, "%s/none", ((place *)*state)->root);
    assert_int_equal(hpc_history_collect(&b.r, &b.o), HPC_E_ARG);
    hpc_error_clear();
    assert_false(hpc_file_exists(b.database));
    snprintf(b.repository, sizeof b.repository, "%s/shallow", ((place *)*state)->root);
    collect(&b); /* what there is */
    assert_int_equal(b.r.measured, 1);
    tear_down(&b);
}

/* Keys of the lines of k.c, as the commit has it: the loop's that does all, and one that never
 * runs.
 */
static void assert_profile(bench *b)
{
    static const char text[] = "enum { N = 700 };\nstatic double a[N][N];\n"
                               "void unused(void) { a[0][0] = 1; }\n"
                               "int main(void) {\nfor (int i = 0; i < N; i++) {\n"
                               "for (int j = 0; j < N; j++) a[i][j] += i; }\nreturn 0; }\n";
    const hpc_hot_line *hot;
    uint32_t line[16] = {0}, n = 0;
    hpc_history_profiles *p = NULL;
    hpc_history_db *d = NULL;
    const char *id = rows(b, "SELECT id FROM commits WHERE parent IS NULL");
    int64_t hot_n;
    for (const char *at = text; *at; at++)
        if (*at == '\n') line[++n] = (uint32_t)(at - text) + 1;
    assert_int_equal(hpc_history_db_open(&d, b->database), 0);
    assert_int_equal(hpc_history_profiles_open(&p, d), 0);
    assert_int_equal(hpc_history_profiles_find(&hot, &hot_n, p, id, 0), 0);
    assert_true(hpc_hot_share(hot, hot_n, hpc_line_key(text, line, n, 6)) > 0.7f);
    assert_true(hpc_hot_share(hot, hot_n, hpc_line_key(text, line, n, 5)) > 0);
    assert_true(hpc_hot_share(hot, hot_n, hpc_line_key(text, line, n, 5)) < 0.1f);
    assert_true(hpc_hot_share(hot, hot_n, hpc_line_key(text, line, n, 3)) == 0);
    hpc_history_profiles_close(p);
    hpc_history_db_close(d);
}

/* A real program under valgrind, where there is one: the same count twice, and columns cost more
 * than rows, of which instructions tell nothing. */
static void valgrind_counts(void **state)
{
    bench b;
    if (!hpc_proc_exists("valgrind") || !hpc_proc_exists("cc")) {
        print_message("SKIP valgrind or a compiler is missing\n");
        skip();
    }
    script(*state, LINE "printf 'enum { N = 700 };\\nstatic double a[N][N];\\n"
                        "void unused(void) { a[0][0] = 1; }\\nint main(void) {\\n"
                        "for (int i = 0; i < N; i++) {\\n"
                        "for (int j = 0; j < N; j++) a[i][j] += i; }\\nreturn 0; }\\n' > k.c; "
                        "save; sed -i 's/a.i..j./a[j][i]/' k.c; save");
    set_up(&b, *state);
    hpc_history_metric_release(&b.metric[0]);
    assert_int_equal(hpc_history_metric_parse(&b.metric[0], "cost"), 0);
    assert_int_equal(hpc_history_metric_parse(&b.metric[1], "instructions-valgrind"), 0);
    b.o.metrics = 2;
    b.o.build = "cc -O0 -g k.c -o k";
    b.o.run = "./k && (./k)";
    collect(&b);
    assert_int_equal(b.r.measured, 2);
    assert_string_equal(rows(&b, "SELECT metric, count(*), count(DISTINCT value) FROM sample JOIN "
                                 "series ON series = series.id JOIN commits ON commit_id = "
                                 "commits.id WHERE parent IS NULL GROUP BY metric"),
                        "cost|2|1 instructions-valgrind|2|1");
    /* Two runs of 490,000 columns' elements, of which each misses. */
    assert_string_equal(rows(&b, "SELECT max(value) - min(value) > 2 * 490000 * 10 * 0.8, "
                                 "max(value) - min(value) < 2 * 490000 * 10 * 1.2 FROM sample JOIN "
                                 "series ON series = series.id WHERE metric = 'cost'"),
                        "1|1");
    assert_string_equal(rows(&b, "SELECT max(value) - min(value) < 1000 FROM sample JOIN series ON "
                                 "series = series.id WHERE metric = 'instructions-valgrind'"),
                        "1");
    assert_profile(&b);
    tear_down(&b);
}

/* Or it is said that it cannot, and what can. */
static void the_processor_counts(void **state)
{
    bench b;
    script(*state, LINE "echo 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done' > k; save; "
                        "sed -i s/20000/40000/ k; save");
    set_up(&b, *state);
    hpc_history_metric_release(&b.metric[0]);
    assert_int_equal(hpc_history_metric_parse(&b.metric[0], "instructions-hardware"), 0);
    b.o.metrics = 1;
    b.o.build = "true";
    b.o.run = "sh k";
    if (hpc_proc_counts(HPC_COUNTER_INSTRUCTIONS)) {
        collect(&b);
        assert_string_equal(rows(&b, "SELECT max(value) > 1.5 * min(value), count(DISTINCT "
                                     "metric) FROM sample JOIN series ON series = series.id"),
                            "1|1");
    } else {
        assert_refused(hpc_history_collect(&b.r, &b.o), HPC_E_ARG, "use instructions-valgrind");
        assert_false(hpc_file_exists(b.database));
    }
    tear_down(&b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(the_processor_counts),
                                       TEST(commits_are_measured),
                                       TEST(what_cannot_be_built_or_run_is_kept),
                                       TEST(what_hangs_or_forks_away_ends),
                                       TEST(the_same_product_is_not_run),
                                       TEST(builds_are_told_apart),
                                       TEST(merges_and_paths_are_chosen),
                                       TEST(the_repository_stays_as_it_is),
                                       TEST(a_kill_loses_nothing),
                                       TEST(stopping_is_in_time),
                                       TEST(what_ctrl_c_ended_has_not_failed),
                                       TEST(work_stays_within_its_room),
                                       TEST(wrong_requests_are_refused),
                                       TEST(valgrind_counts)};
    return cmocka_run_group_tests_name("history/collect", tests, NULL, NULL);
}
