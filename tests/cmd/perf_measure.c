/*
 * Tests of `hpccoder perf predict --measure`: which commits it measures, which it skips, and the
 * result.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/perf/model.h"

#include "tests/support/command.h"

enum { COMMITS = 21 };

static hpc_test_outcome o; /* of the last command */

/* "go" depends on variable names: q, r and s are slower, invisibly; the loops are slower still.
 * "lame" does not run with s, "none" never. */
#define PROGRAM(more)                                                                              \
    "#!/bin/sh\ncase $(cat step.c) in\n" more "*'k < n'*) t=4.0 ;;\n*'['[qrs]']'*) t=1.5 ;;\n"     \
    "*) t=1.0 ;;\nesac\necho took $t s\n"
#define LAME "*'[s]'*) exit 1 ;;\n"

static void add_commit(history *h, int from, char name)
{
    char text[] = RENAMES;
    for (char *c = text; *c; c++)
        if (*c == 'j') *c = name;
    commit_from(h, from);
    with(h, "step.c", name == 'D' ? DOUBTFUL : name == 'L' ? LOOPS : text);
}

/* c1 to c21: i j i j i, a doubtful change and its reverse, i j i j i, then slower from c14 on
 * invisibly, and loops; c22 and c23 also follow c13. */
static void begin(place *p)
{
    const char *name = "ijijiDijijijiqrsrqrqL";
    history h = {.p = p};
    assert_int_equal(strlen(name), COMMITS);
    for (int k = 0; k < COMMITS; k++) add_commit(&h, k, name[k]);
    add_commit(&h, 13, 's');
    add_commit(&h, 22, 'q');
    history_open(&h, NULL);
    history_close(&h);
    put(p, "go", PROGRAM(""), strlen(PROGRAM("")));
    put(p, "lame", PROGRAM(LAME), strlen(PROGRAM(LAME)));
    put(p, "none", "#!/bin/sh\nexit 1\n", strlen("#!/bin/sh\nexit 1\n"));
    script(p, "chmod +x go lame none");
}

static void run_in(place *p, const char *range, const char *words, int code)
{
    char all[HPC_TEST_WORDS];
    snprintf(
        all, sizeof all,
        "perf predict --model %s/m --repo @r %s --measure --db @h.db -m t=took.(.*).s -n 2 -q %s",
        models()->root, range, words);
    hpc_test_command_in(&o, p->root, all);
    if (o.code != code)
        fail_msg("%s: exit code %d, not %d: %s%s", words, o.code, code, o.out, o.err);
}

static hpc_json *root;

static void parse(void)
{
    hpc_json_free(root);
    root = NULL;
    if (hpc_json_parse(&root, o.out, strlen(o.out), "output") < 0)
        fail_msg("%s", hpc_error_get()->text);
}

static double number(const char *key)
{
    double x = 0;
    const hpc_json *m = hpc_json_get(root, "measured");
    if (hpc_json_real(&x, hpc_json_get(m, key), key) < 0) fail_msg("%s", hpc_error_get()->text);
    return x;
}

/* The k-th change is of that commit, found so. */
static void change_is(place *p, int k, const char *tag, double change, bool bisected)
{
    const hpc_json *list = hpc_json_get(hpc_json_get(root, "measured"), "changes");
    const hpc_json *c = hpc_json_at(list, k);
    const char *commit = "", *verdict = "";
    bool is_bisected = !bisected;
    double is = 0;
    char hex[41];
    hpc_git_id id = parsed(p, "r", tag);
    hpc_git_id_text(hex, &id);
    assert_int_equal(hpc_json_text(&commit, hpc_json_get(c, "commit"), "commit"), 0);
    assert_int_equal(hpc_json_text(&verdict, hpc_json_get(c, "verdict"), "verdict"), 0);
    assert_int_equal(hpc_json_bool(&is_bisected, hpc_json_get(c, "bisected"), "bisected"), 0);
    assert_int_equal(hpc_json_real(&is, hpc_json_get(c, "change"), "change"), 0);
    if (strcmp(commit, hex) != 0)
        fail_msg("change %d is of %s, not of %s: %s", k, commit, tag, o.out);
    assert_string_equal(verdict, change > 0 ? "slower" : "faster");
    assert_true(is > change - 0.01 && is < change + 0.01);
    assert_int_equal(is_bisected, bisected);
}

static int changes_n(void)
{
    return (int)hpc_json_n(hpc_json_get(hpc_json_get(root, "measured"), "changes"));
}

static void test_finds_the_commit(void **state)
{
    place *p = *state;
    begin(p);
    run_in(p, "c1..c21", "--run @go --json", 0);
    parse();
    assert_int_equal((int)number("commits"), COMMITS);
    assert_int_equal((int)(number("measured") + number("left")), COMMITS);
    assert_int_equal((int)number("failed"), 0);
    /* the ends of three stretches, what is doubtful, and the bisection of the last stretch */
    assert_in_range((int)number("measured"), 6, 12);
    assert_int_equal((int)number("undecided"), 0);
    assert_true(number("seconds_saved") > 0);
    assert_int_equal(changes_n(), 2);
    change_is(p, 0, "c14", 0.5, true);
    change_is(p, 1, "c21", 4 / 1.5 - 1, false);
    int measured = (int)number("measured");
    assert_int_equal((int)number("measured_now"), measured);
    /* all of it is in the history now, and a whole collection adds only the rest */
    run_in(p, "c1..c21", "--run @go --json", 0);
    parse();
    assert_int_equal((int)number("measured"), measured);
    assert_int_equal((int)number("measured_now"), 0);
    assert_int_equal(changes_n(), 2);
    char words[HPC_TEST_WORDS], wanted[64];
    snprintf(words, sizeof words,
             "perf collect --repo @r --range c1..c21 --run @go --db @h.db -m t=took.(.*).s -n 2 "
             "-q --json");
    hpc_test_command_in(&o, p->root, words);
    assert_int_equal(o.code, 0);
    snprintf(wanted, sizeof wanted, "\"there\": %d", measured);
    hpc_test_says(o.out, wanted);
}

static void test_text(void **state)
{
    place *p = *state;
    begin(p);
    run_in(p, "c1..c21", "--run @go", 0);
    hpc_test_says(o.out, " of 21 commits measured, ");
    hpc_test_says(o.out, " not run: about ");
    hpc_test_says(o.out, " minutes saved, at ");
    char hex[41], text[128];
    hpc_git_id id = parsed(p, "r", "c14");
    hpc_git_id_text(hex, &id);
    snprintf(text, sizeof text,
             "  slower by 50.0 %% (t): %.12s  m\n      predicted: same; found by bisecting\n", hex);
    hpc_test_says(o.out, text);
    hpc_test_says(o.out, "  m\n      predicted: slower\n");
    hpc_test_says(o.out, "changes inside that compensate each other are missed");
    run_in(p, "c1..c5", "--run @go", 0);
    hpc_test_says(o.out, "2 of 5 commits measured, 3 not run\n");
    hpc_test_says(o.out, "no change between the measured commits");
}

/* Commits that do not run are skipped; if several candidates remain, all are reported. */
static void test_what_does_not_run(void **state)
{
    place *p = *state;
    begin(p);
    run_in(p, "c1..c20", "--run @lame --json", 0);
    parse();
    assert_true(number("failed") >= 1);
    assert_int_equal(changes_n(), 1);
    change_is(p, 0, "c14", 0.5, true);
    run_in(p, "c7..c23", "--run @lame --json", 0);
    parse();
    assert_int_equal(changes_n(), 1);
    change_is(p, 0, "c23", 0.5, true);
    const hpc_json *c = hpc_json_at(hpc_json_get(hpc_json_get(root, "measured"), "changes"), 0);
    int64_t n = 0;
    assert_int_equal(hpc_json_int(&n, hpc_json_get(c, "commits"), "commits"), 0);
    assert_int_equal(n, 2);
    run_in(p, "c1..c5", "--run @none", 2);
    hpc_test_says(o.err, "none of 2 commits could be measured");
}

/* Measurements decide, unless acknowledged. */
static void test_fails(void **state)
{
    place *p = *state;
    char acks[256], hex[2][41];
    begin(p);
    for (int k = 0; k < 2; k++) {
        hpc_git_id id = parsed(p, "r", k ? "c21" : "c14");
        hpc_git_id_text(hex[k], &id);
    }
    run_in(p, "c1..c21", "--run @go", 0);
    run_in(p, "c1..c21", "--run @go --fail-on 0.9", 1);
    run_in(p, "c1..c13", "--run @go --fail-on 0.9", 0);
    run_in(p, "c1..c20", "--run @go --fail-on 0.9", 1);
    snprintf(acks, sizeof acks, "%s known\n", hex[1]);
    put(p, "acks", acks, strlen(acks));
    run_in(p, "c1..c21", "--run @go --fail-on 0.9 --ack @acks", 1);
    snprintf(acks, sizeof acks, "%s known\n%s known too\n", hex[1], hex[0]);
    put(p, "acks", acks, strlen(acks));
    run_in(p, "c1..c21", "--run @go --fail-on 0.9 --ack @acks", 0);
    hpc_test_says(o.out, "acknowledged: known too");
    assert_null(strstr(o.out, "FAIL")); /* predictions fail nothing */
}

static void test_what_is_asked_wrongly(void **state)
{
    static const struct {
        const char *words, *err;
    } cases[] = {{"c20..c21 --measure --db @h.db", "--run CMD is missing"},
                 {"c20..c21 --measure --run x", "--db FILE is missing"},
                 {"c20..c21 --run x", "nothing is built or run without --measure"},
                 {"c20..c21 --memory-mib 10", "nothing is built or run without --measure"},
                 {"c20..c21 --retry", "nothing is built or run without --measure"},
                 {"c20..c21 --measure --run x --db @h.db --all", "follows first parents"},
                 {"c20..c21 --measure --run x --db @h.db --format sarif", "prints text or JSON"},
                 {"c20..c21 --measure --run x --db @h.db -m speed", "unknown metric 'speed'"},
                 {"c20..c21 --measure --run x --db @go", "go"}};
    place *p = *state;
    char all[HPC_TEST_WORDS];
    begin(p);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(all, sizeof all, "perf predict --model %s/m --repo @r %s", models()->root,
                 cases[k].words);
        hpc_test_command_in(&o, p->root, all);
        if (o.code != 2 || !strstr(o.err, cases[k].err))
            fail_msg("%s: %d %s", cases[k].words, o.code, o.err);
    }
    script(p, "[ ! -e h.db ]");
    run_in(p, "c1..c1", "--run @go", 0); /* of no commits nothing is measured */
    script(p, "[ ! -e h.db ]");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(test_finds_the_commit), TEST(test_text),
                                       TEST(test_what_does_not_run), TEST(test_fails),
                                       TEST(test_what_is_asked_wrongly)};
    int failed =
        cmocka_run_group_tests_name("cmd/perf_measure", tests, models_setup, models_teardown);
    hpc_json_free(root);
    return failed;
}
