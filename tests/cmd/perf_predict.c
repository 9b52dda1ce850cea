/*
 * Tests of `hpccoder perf predict`: formats, exit codes, invalid requests.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/perf/model.h"

#include "cmd/predict.h"
#include "tests/support/command.h"

static hpc_test_outcome o; /* of the last command */

static void run_in(place *p, const char *words, int code)
{
    char all[HPC_TEST_WORDS];
    snprintf(all, sizeof all, "perf predict --model %s/m --repo @r %s", models()->root, words);
    hpc_test_command_in(&o, p->root, all);
    if (o.code != code)
        fail_msg("%s: exit code %d, not %d: %s%s", words, o.code, code, o.out, o.err);
}

static void put_text(place *p, const char *name, const char *text)
{
    put(p, name, text, strlen(text));
}

static void says(const char *part)
{
    hpc_test_says(o.out, part);
}

static void lacks(const char *part)
{
    if (strstr(o.out, part)) fail_msg("'%s' is in %s", part, o.out);
}

/* Commits "first" to "loops", the last with a hostile message; its file, too, has such a name. */
static void begin(place *p)
{
    script(p, "new r; mkdir 'a|b'");
    put_text(p, "r/a|b/st,e:p`<x>.c", PLAIN);
    script(p, "cd r; save first; git tag first");
    put_text(p, "r/a|b/st,e:p`<x>.c", RENAMES);
    script(p, "cd r; save renames; git tag renames");
    put_text(p, "r/a|b/st,e:p`<x>.c", LOOPS);
    script(
        p,
        "cd r; save \"$(printf '@all <img src=x> | [a](http://b) #1 \\r::error::x\\n\\nbody')\"; "
        "git tag loops");
}

/* What of the log or report is at a path such as "runs/0/results/1/ruleId". */
static const hpc_json *at(const hpc_json *v, const char *path)
{
    char step[64];
    while (*path) {
        size_t n = strcspn(path, "/");
        snprintf(step, sizeof step, "%.*s", (int)n, path);
        v = hpc_json_kind_of(v) == HPC_JSON_LIST ? hpc_json_at(v, atoi(step))
                                                 : hpc_json_get(v, step);
        path += n + (path[n] == '/');
    }
    return v;
}

static void text_at(const hpc_json *root, const char *path, const char *wanted)
{
    const char *text = NULL;
    if (hpc_json_text(&text, at(root, path), path) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_string_equal(text, wanted);
}

static double real_at(const hpc_json *root, const char *path)
{
    double x = 0;
    if (hpc_json_real(&x, at(root, path), path) < 0) fail_msg("%s", hpc_error_get()->text);
    return x;
}

static hpc_json *parsed_output(void)
{
    hpc_json *root = NULL;
    if (hpc_json_parse(&root, o.out, strlen(o.out), "output") < 0)
        fail_msg("%s", hpc_error_get()->text);
    return root;
}

/* Lines after the verdict, up to an empty one. */
static int64_t reasons(void)
{
    int64_t n = 0;
    for (const char *p = strchr(o.out, '\n'); p && p[1] == ' '; p = strchr(p + 1, '\n')) n++;
    return n;
}

static void test_text(void **state)
{
    place *p = *state;
    begin(p);
    run_in(p, "first..loops", 0);
    says("first..loops: slower (");
    says("); measure before you merge  WARNING\n  step: ");
    says(" moved into an inner loop, and 1 more (a|b/st,e:p`<x>.c:9)\n");
    says(" added in a loop (a|b/st,e:p`<x>.c:8)\n");
    says(" times the work, by a rough count of operations (a|b/st,e:p`<x>.c)\n");
    assert_in_range(reasons(), 1, 5);
    says("2 commits, of which 1 the same");
    lacks("of the changes that are not slower");
    run_in(p, "first..loops --verbose", 0);
    says("\n  step: read of array 'b' moved into an inner loop");
    says("1 function differs from base to head");
    says("At most about 5 % of the changes that are not slower are called slower");
    says("WARNING");
    says("@all <img src=x> | [a](http://b) #1 ?::error::x");
    says("At most about 5 % of the changes that are not slower are called slower");
    lacks("\r");
    run_in(p, "renames..loops --fail-on 0.5", 1);
    says("FAIL");
    run_in(p, "renames..loops --fail-on 0.5 --ack @none", 2);
    assert_string_equal(o.out, "");
    put_text(p, "acks", "a|b as it must be\nnowhere at all\n");
    run_in(p, "renames..loops --fail-on 0.5 --ack @acks", 0);
    says("FAIL  acknowledged: as it must be");
    hpc_test_says(o.err, "acks:2: ignored, because nothing in the range matches 'nowhere'");
    run_in(p, "renames..loops --fail-on 0.5 --ack @acks -q", 0);
    assert_string_equal(o.err, "");
    run_in(p, "first..renames", 0); /* what differs is no reason for that */
    says("first..renames: same (");
    assert_int_equal(reasons(), 0);
    run_in(p, "loops..loops", 0);
    says("loops..loops: same (>99 %); no need to measure");
    hpc_test_says(o.err, "the range has no commits");
    run_in(p, "loops..renames", 2);
    assert_string_equal(o.out, "");
    hpc_test_says(o.err, "loops..renames has no commits, because renames is an ancestor of loops: "
                         "the range is BASE..HEAD, as in renames..loops\n");
}

/* Slower test code does not count, unless configured as part of the program. */
static void code_that_the_program_does_not_contain_does_not_count(void **state)
{
    place *p = *state;
    script(p, "new r; mkdir -p tests src");
    put_text(p, "r/tests/step.c", PLAIN);
    put_text(p, "r/src/step_test.c", PLAIN);
    put_text(p, "r/src/tool.c", PLAIN);
    script(p, "cd r; save first; git tag first");
    put_text(p, "r/tests/step.c", LOOPS);
    put_text(p, "r/src/step_test.c", LOOPS);
    script(p, "cd r; save loops; git tag loops");
    run_in(p, "first..loops", 0);
    says("first..loops: same (97 %); no need to measure\n");
    says("2 files of tests, documents or examples, or not built, are not counted");
    run_in(p, "first..loops --program tests/", 0);
    says("first..loops: slower (");
    says("(tests/step.c)\n");
    run_in(p, "first..loops --program tests/step", 0);
    says("first..loops: same (97 %)");
    put_text(p, "r/src/tool.c", LOOPS);
    script(p, "cd r; save tool; git tag tool");
    put_text(p, "db", "[{\"directory\": \"/b/src\", \"file\": \"tool.c\"}]");
    run_in(p, "loops..tool -p @db", 0);
    says("loops..tool: slower (");
    put_text(p, "db", "[{\"directory\": \"/b/src\", \"file\": \"other.c\"}]");
    run_in(p, "loops..tool -p @db", 0);
    says("loops..tool: same (97 %)");
    run_in(p, "loops..tool -p @none", 2);
    put_text(p, "db", "[{\"directory\": \"/b/src\"}]");
    run_in(p, "loops..tool -p @db", 2);
    hpc_test_says(o.err, "entry 1 names no file");
}

/* Uncommitted changes give the prediction of the commit that they become. */
static void files_of_the_working_tree_are_judged_like_a_commit(void **state)
{
    place *p = *state;
    char committed[sizeof o.out];
    script(p, "new r; mkdir src");
    put_text(p, "r/src/a.c", PLAIN);
    put_text(p, "r/src/gone.c", PLAIN);
    script(p, "cd r; save first");
    run_in(p, "--file src/a.c", 0);
    says("working tree: same (>99 %); no need to measure\n");
    run_in(p, "--file ./src//./a.c --file src/a.c", 0);
    says("working tree: same (>99 %); no need to measure\n");
    put_text(p, "r/src/a.c", LOOPS);
    run_in(p, "--file src/a.c", 0);
    says("working tree: slower (");
    put_text(p, "r/src/new.c", RENAMES);
    script(p, "cd r; rm src/gone.c");
    run_in(p, "--file src/new.c --file src/gone.c --file src/a.c -v", 0);
    lacks("commits, of which");
    snprintf(committed, sizeof committed, "%s", strchr(o.out, ':'));
    script(p, "cd r; git add -A; save second");
    run_in(p, "HEAD~1.. -v", 0);
    assert_string_equal(strchr(strstr(o.out, ".."), ':'), committed);
}

static void rejects_files_that_do_not_exist_or_a_range_with_them(void **state)
{
    place *p = *state;
    begin(p);
    run_in(p, "--file none.c", 2);
    hpc_test_says(o.err, "none.c: neither in the commit nor in the working tree");
    run_in(p, "--file src/../none.c", 2);
    hpc_test_says(o.err, "--file src/../none.c: expected a path from the root of the repository");
    run_in(p, "--file /none.c", 2);
    hpc_test_says(o.err, "--file /none.c: expected a path from the root of the repository");
    run_in(p, "--file none.c first..loops", 2);
    hpc_test_says(o.err, "--file and a range exclude each other");
    run_in(p, "--file none.c --measure --run x --db d -m cost", 2);
    hpc_test_says(o.err, "--measure and --file exclude each other");
}

static void test_json(void **state)
{
    place *p = *state;
    char hex[41];
    begin(p);
    run_in(p, "first..loops --json", 0);
    hpc_json *root = parsed_output();
    hpc_git_id id = parsed(p, "r", "loops");
    hpc_git_id_text(hex, &id);
    text_at(root, "head", hex);
    text_at(root, "commits/1/commit", hex);
    text_at(root, "verdict", "slower");
    text_at(root, "level", "warn");
    text_at(root, "result", "warn");
    text_at(root, "functions/0/file", "a|b/st,e:p`<x>.c");
    text_at(root, "functions/0/name", "step");
    text_at(root, "functions/0/verdict", "slower");
    assert_int_equal((int)real_at(root, "functions/0/line"), 5);
    assert_true(real_at(root, "probability/slower") > 0.5);
    assert_true(real_at(root, "functions/0/probability/slower") > 0.5);
    double sum = real_at(root, "probability/slower") + real_at(root, "probability/same") +
                 real_at(root, "probability/faster");
    assert_true(sum > 0.999999 && sum < 1.000001);
    text_at(root, "commits/0/verdict", "same");
    text_at(root, "commits/0/subject", "renames");
    assert_true(real_at(root, "reasons/0/score") > 0);
    assert_true(real_at(root, "model/alarm") == 0.05);
    hpc_json_free(root);
    run_in(p, "first..loops --format json", 0);
}

static void test_sarif(void **state)
{
    place *p = *state;
    begin(p);
    script(p, "cd r; echo 'a|b/st,e:p`<x>.c:step so be it' > .perf-ack; save acks");
    run_in(p, "first..HEAD --format sarif --fail-on 0.5", 0);
    hpc_json *root = parsed_output();
    text_at(root, "version", "2.1.0");
    text_at(root, "runs/0/tool/driver/rules/2/id", "slower-function");
    const hpc_json *results = at(root, "runs/0/results");
    assert_int_equal(hpc_json_n(results), 3); /* the whole, the commit, the function */
    for (int k = 0; k < 3; k++) {
        const hpc_json *r = hpc_json_at(results, k);
        text_at(r, "level", "error");
        text_at(r, "suppressions/0/kind", "external");
        text_at(r, "suppressions/0/justification", "so be it");
        text_at(r, "locations/0/physicalLocation/artifactLocation/uri",
                "a%7Cb/st%2Ce%3Ap%60%3Cx%3E.c");
        assert_true(real_at(r, "locations/0/physicalLocation/region/startLine") >= 1);
        assert_int_equal(hpc_json_n(at(r, "partialFingerprints")), 1);
    }
    text_at(hpc_json_at(results, 0), "ruleId", "slower-range");
    text_at(hpc_json_at(results, 1), "ruleId", "slower-commit");
    text_at(hpc_json_at(results, 2), "ruleId", "slower-function");
    hpc_json_free(root);
    run_in(p, "first..renames --format sarif", 0);
    root = parsed_output();
    assert_int_equal(hpc_json_n(at(root, "runs/0/results")), 0);
    hpc_json_free(root);
}

/* The same finding has the same fingerprint wherever it stands in the file. */
static void test_fingerprints(void **state)
{
    place *p = *state;
    char mark[2][64];
    script(p, "new r");
    for (int k = 0; k < 2; k++) {
        put_text(p, "r/s.c", PLAIN);
        if (k) script(p, "cd r; sed -i '1i int other;' s.c");
        script(p, "cd r; save plain");
        put_text(p, "r/s.c", LOOPS);
        if (k) script(p, "cd r; sed -i '1i int other;' s.c");
        script(p, "cd r; save loops");
        run_in(p, "HEAD~1..HEAD --format sarif", 0);
        hpc_json *root = parsed_output();
        const hpc_json *last = at(root, "runs/0/results/1/partialFingerprints"), *value;
        text_at(root, "runs/0/results/1/ruleId", "slower-function");
        assert_string_equal(hpc_json_key(last, 0, &value), "hpccoderPerf/v1");
        const char *text = NULL;
        assert_int_equal(hpc_json_text(&text, value, "mark"), 0);
        snprintf(mark[k], sizeof mark[k], "%s", text);
        hpc_json_free(root);
    }
    assert_string_equal(mark[0], mark[1]);
}

static void test_markdown(void **state)
{
    place *p = *state;
    begin(p);
    run_in(p, "first..loops --format markdown", 0);
    says("### Performance: :warning: it may run slower\n");
    says("| change | slower | reason |");
    says("<details><summary>2 commits</summary>");
    static const char *const hostile[] = {"@all", "<img", "[a]", "http:", " #1", "`", "a|b", "<x>"};
    for (int k = 0; k < 8; k++) lacks(hostile[k]);
    says("<code>&#64;all &#60;img src=x&#62; &#124; &#91;a&#93;(http&#58;//b) &#35;1 ");
    /* every row of the table has three cells */
    for (char *line = strstr(o.out, "\n| "); line; line = strstr(line + 1, "\n| ")) {
        int bars = 0;
        for (char *c = line + 1; *c != '\n'; c++) bars += *c == '|';
        assert_int_equal(bars, 4);
    }
    run_in(p, "first..renames --format markdown", 0);
    says("### Performance: no warning\n");
    lacks("| what |");
}

static void test_github(void **state)
{
    place *p = *state;
    begin(p);
    run_in(p, "renames..loops --format github --fail-on 0.5", 1);
    says("::error file=a|b/st%2Ce%3Ap`<x>.c,line=");
    says(",title=Performance::'step' is probably slower (");
    says("::notice title=Performance::renames..loops: slower (");
    int lines = 0;
    for (char *c = o.out; *c; c++) {
        if (c == o.out || c[-1] == '\n') assert_memory_equal(c, "::", 2);
        lines += *c == '\n';
    }
    assert_int_equal(lines, 3);
    run_in(p, "renames..loops --format github", 0);
    says("::warning file=");
    put_text(p, "acks", "a|b 100% so\n");
    run_in(p, "renames..loops --format github --fail-on 0.5 --ack @acks", 0);
    says("::notice file=");
    says("Acknowledged: 100%25 so\n");
}

/* ---- thousands of findings stay within what others take ---------------------------------------
 */

typedef struct large {
    hpc_perf_prediction x;
    hpc_perf_change_prediction commit;
    predict_report r;
} large;

static void large_init(large *l, int64_t n, const char *path, const char *why)
{
    const hpc_perf_result said = {
        .verdict = HPC_PERF_SLOWER,
        .p = {0.9, 0.1, 0},
        .level = HPC_PERF_WARN,
        .why = {{.text = why, .file = path, .function = "f", .line = 3, .score = 1}},
        .why_n = 1};
    *l = (large){.commit = {.subject = path, .result = said}};
    l->x.range = (hpc_perf_change_prediction){.subject = "", .result = said, .n = n};
    l->x.range.function = calloc((size_t)n, sizeof *l->x.range.function);
    assert_non_null(l->x.range.function);
    for (int64_t k = 0; k < n; k++)
        l->x.range.function[k] = (hpc_perf_function_prediction){
            .file = path, .base_file = path, .name = "f", .result = said};
    l->x.range.function[n - 1].result.p[HPC_PERF_SLOWER] = 0.99; /* the first to be reported */
    l->x.range.function[n - 1].name = "worst";
    l->x.commit = &l->commit;
    l->x.n = 1;
    l->x.level = HPC_PERF_WARN;
    l->r = (predict_report){.p = &l->x, .range = "a..b"};
    assert_int_equal(predict_find(&l->r), 0);
    assert_int_equal(l->r.findings_n, n + 1);
}

static void large_release(large *l)
{
    hpc_free(l->r.finding);
    free(l->x.range.function);
}

static void sarif_has(const large *l, int64_t least, int64_t most, int64_t n)
{
    hpc_buf out = {0};
    hpc_json *root = NULL;
    hpc_json_out w = {.buf = &out};
    char left_out[80];
    predict_put_sarif(&w, &l->r);
    assert_int_equal(out.failed, 0);
    assert_true(out.n <= 10000000);
    assert_int_equal(hpc_json_parse(&root, out.data, out.n, "log"), 0);
    const hpc_json *results = at(root, "runs/0/results");
    assert_in_range(hpc_json_n(results), least, most);
    hpc_test_says(out.data, "'worst' is probably slower (99 %)");
    snprintf(left_out, sizeof left_out, "%lld results with the lowest probabilities are omitted",
             (long long)(n - hpc_json_n(results)));
    hpc_test_says(out.data, left_out);
    hpc_json_free(root);
    hpc_buf_release(&out);
}

static void test_limits(void **state)
{
    (void)state;
    enum { MANY = 30000 };
    char path[4000], why[3000];
    large l;
    memset(path, '|', sizeof path - 1);
    memset(why, '<', sizeof why - 1);
    path[sizeof path - 1] = why[sizeof why - 1] = '\0';
    large_init(&l, MANY, "a.c", "it is so");
    sarif_has(&l, 25000, 25000, MANY + 1);
    large_release(&l);
    large_init(&l, MANY, path, why);
    sarif_has(&l, 400, 4000, MANY + 1);
    hpc_buf out = {0};
    assert_int_equal(predict_put_markdown(&out, &l.r), 0);
    assert_in_range(out.n, 40000, 60000);
    hpc_test_says(out.data, " more\n\n</details>");
    out.n = 0;
    assert_int_equal(predict_put_github(&out, &l.r), 0);
    assert_true(out.n < 4 << 20);
    hpc_buf_release(&out);
    large_release(&l);
}

static void test_what_is_asked_wrongly(void **state)
{
    static const struct {
        const char *words, *err;
    } cases[] = {{"", "name the commits as BASE..HEAD"},
                 {"a..b c", "unexpected argument 'c'"},
                 {"a...b", "two dots, as in origin/main..HEAD"},
                 {"nowhere..HEAD", "nowhere"},
                 {"HEAD~9..HEAD", "is beyond the start of the history"},
                 {"HEAD..HEAD --format html", "--format"},
                 {"HEAD..HEAD --json --format sarif", "exclude each other"},
                 {"HEAD..HEAD --fail-on 3", "--fail-on"},
                 {"HEAD..HEAD --repo @f", "f"},
                 {"HEAD..HEAD --repo @none", "none"},
                 {"HEAD..HEAD --model @r", "model.json"},
                 {"HEAD..HEAD --model @text", "text"},
                 {"HEAD..HEAD --db @none", "there is no such performance history"},
                 {"HEAD..HEAD --db @text", "is not a database"}};
    place *p = *state;
    begin(p);
    put_text(p, "text", "text");
    script(p, "mkdir f");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        run_in(p, cases[k].words, 2);
        hpc_test_says(o.err, cases[k].err);
        assert_string_equal(o.out, "");
        assert_ptr_equal(strchr(o.err, '\n'), o.err + strlen(o.err) - 1);
    }
    script(p, "git clone -q --depth 1 \"file://$PWD/r\" s");
    run_in(p, "--repo @s HEAD", 2);
    hpc_test_says(o.err, "git fetch --unshallow");
}

/* The repository, its index and its work tree stay unchanged. */
static void test_reads_only(void **state)
{
    place *p = *state;
    begin(p);
    script(p,
           "cd r; find . -type f -exec md5sum {} + | sort > ../before; find . | sort >> ../before");
    run_in(p, "first..loops", 0);
    script(p,
           "cd r; find . -type f -exec md5sum {} + | sort > ../after; find . | sort >> ../after; "
           "cmp ../before ../after");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(test_text),
                                       TEST(code_that_the_program_does_not_contain_does_not_count),
                                       TEST(files_of_the_working_tree_are_judged_like_a_commit),
                                       TEST(rejects_files_that_do_not_exist_or_a_range_with_them),
                                       TEST(test_json),
                                       TEST(test_sarif),
                                       TEST(test_fingerprints),
                                       TEST(test_markdown),
                                       TEST(test_github),
                                       TEST(test_limits),
                                       TEST(test_what_is_asked_wrongly),
                                       TEST(test_reads_only)};
    return cmocka_run_group_tests_name("cmd/perf_predict", tests, models_setup, models_teardown);
}
