/*
 * Tests of predictions for ranges: commits, their baseline, the level, and acknowledged changes.
 */
/* tsan: left out, starts no thread. */
#include "tests/perf/model.h"

#include <math.h>

#include "infer/perf/predict.h"

typedef struct told {
    place *p;
    hpc_git *git;
    hpc_perf_model *model;
    hpc_perf_predict_options o;
    hpc_perf_prediction x;
} told;

static told begin(place *p)
{
    told t = {.p = p, .o = HPC_PERF_PREDICT_DEFAULTS};
    char path[128];
    t.git = opened(p, "r");
    snprintf(path, sizeof path, "%.63s/m/model.json", models()->root);
    if (hpc_perf_model_read(&t.model, path) < 0) fail_msg("%s", hpc_error_get()->text);
    return t;
}

static void predict(told *t, const char *base, const char *head)
{
    t->o.base = base;
    t->o.head = head;
    hpc_perf_prediction_release(&t->x);
    if (hpc_perf_predict(&t->x, t->git, t->model, &t->o) < 0) fail_msg("%s", hpc_error_get()->text);
}

static void refused(told *t, const char *base, const char *head, const char *part)
{
    t->o.base = base;
    t->o.head = head;
    hpc_perf_prediction_release(&t->x);
    assert_refused(hpc_perf_predict(&t->x, t->git, t->model, &t->o), HPC_E_ARG, part);
    assert_null(t->x.arena);
}

static void end(told *t)
{
    hpc_perf_prediction_release(&t->x);
    hpc_perf_model_free(t->model);
    hpc_git_close(t->git);
}

static void write_file(place *p, const char *name, const char *text)
{
    put(p, name, text, strlen(text));
}

/* A commit of step.c, by a name that is a tag. */
static void step(place *p, const char *tag, const char *text, const char *message)
{
    char command[256];
    write_file(p, "message", message);
    write_file(p, "r/step.c", text);
    snprintf(command, sizeof command,
             "cd r; git add -A; git commit -q --allow-empty -F ../message; git tag %s", tag);
    script(p, command);
}

static void begin_repository(place *p)
{
    script(p, "new r");
    step(p, "first", PLAIN, "first\n");
}

static void says(const hpc_perf_result *s, hpc_perf_verdict v, hpc_perf_level l)
{
    if (s->verdict != v || s->level != l)
        fail_msg("%s (%g %g %g, %s) at level %s, not %s at %s", hpc_perf_verdict_name(s->verdict),
                 s->p[0], s->p[1], s->p[2], s->because ? s->because : "",
                 hpc_perf_level_name(s->level), hpc_perf_verdict_name(v), hpc_perf_level_name(l));
}

/* Each kind of edit by itself, and with its reason. */
static void test_verdicts(void **state)
{
    place *p = *state;
    begin_repository(p);
    step(p, "renames", RENAMES, "renames\n");
    step(p, "back", PLAIN, "back\n");
    step(p, "loops", LOOPS, "an outer loop\n\nmore of it\n");
    step(p, "unloops", PLAIN, "gone again\n");
    step(p, "doubtful", DOUBTFUL, "who knows\n");
    told t = begin(p);
    predict(&t, "first", "HEAD");
    assert_int_equal(t.x.n, 5);
    says(&t.x.commit[0].result, HPC_PERF_SAME, HPC_PERF_NONE);
    says(&t.x.commit[2].result, HPC_PERF_SLOWER, HPC_PERF_WARN);
    says(&t.x.commit[3].result, HPC_PERF_FASTER, HPC_PERF_NONE);
    assert_int_equal(t.x.commit[4].result.verdict, HPC_PERF_UNKNOWN);
    assert_non_null(strstr(t.x.commit[4].result.because, "not sure"));
    assert_string_equal(t.x.commit[2].subject, "an outer loop");
    assert_null(t.x.commit[2].result.because);
    for (int64_t k = 0; k < t.x.n; k++) {
        const double *q = t.x.commit[k].result.p;
        assert_true(fabs(q[0] + q[1] + q[2] - 1) < 1e-9);
    }
    const hpc_perf_reason_text *why = &t.x.commit[2].result.why[0];
    assert_true(t.x.commit[2].result.why_n > 0);
    assert_string_equal(why->file, "step.c");
    assert_string_equal(why->function, "step");
    assert_true(why->score > 0);
    assert_int_equal(t.x.commit[2].n, 1);
    says(&t.x.commit[2].function[0].result, HPC_PERF_SLOWER, HPC_PERF_WARN);
    assert_int_equal(t.x.commit[2].function[0].line, 5);
    /* as a whole it is the last alone: what came and went is no change */
    assert_int_equal(t.x.range.result.verdict, HPC_PERF_UNKNOWN);
    assert_int_equal(t.x.range.n, 1);
    predict(&t, "first", "unloops");
    says(&t.x.range.result, HPC_PERF_SAME, HPC_PERF_NONE);
    assert_int_equal(t.x.range.n, 0);
    end(&t);
}

static void test_levels(void **state)
{
    place *p = *state;
    begin_repository(p);
    step(p, "loops", LOOPS, "slower\n");
    step(p, "unloops", PLAIN, "gone again\n");
    step(p, "doubtful", DOUBTFUL, "who knows\n");
    told t = begin(p);
    predict(&t, "first", "loops");
    assert_int_equal(t.x.level, HPC_PERF_WARN); /* nothing fails unless it is asked to */
    t.o.fail = 0.5;
    predict(&t, "first", "loops");
    assert_int_equal(t.x.level, HPC_PERF_FAIL);
    says(&t.x.range.result, HPC_PERF_SLOWER, HPC_PERF_FAIL);
    says(&t.x.range.function[0].result, HPC_PERF_SLOWER, HPC_PERF_FAIL);
    /* the whole decides, or each */
    predict(&t, "first", "unloops");
    assert_int_equal(t.x.level, HPC_PERF_NONE);
    says(&t.x.commit[0].result, HPC_PERF_SLOWER, HPC_PERF_WARN); /* it fails nothing */
    says(&t.x.commit[0].function[0].result, HPC_PERF_SLOWER, HPC_PERF_WARN);
    t.o.each = true;
    predict(&t, "first", "unloops");
    assert_int_equal(t.x.level, HPC_PERF_FAIL);
    says(&t.x.commit[0].result, HPC_PERF_SLOWER, HPC_PERF_FAIL);
    refused(&t, "unloops", "loops",
            "unloops..loops has no commits, because loops is an ancestor of unloops");
    /* unknown changes give no warning; their commits decide */
    t.o.each = false;
    t.o.fail = t.o.warn = 0.01;
    predict(&t, "unloops", "doubtful");
    says(&t.x.range.result, HPC_PERF_UNKNOWN, HPC_PERF_NONE);
    assert_int_equal(t.x.level, HPC_PERF_NONE);
    predict(&t, "first", "doubtful");
    assert_int_equal(t.x.range.result.verdict, HPC_PERF_UNKNOWN);
    assert_int_equal(t.x.level, HPC_PERF_FAIL);
    end(&t);
}

static void test_what_has_no_effect(void **state)
{
    place *p = *state;
    begin_repository(p);
    step(p, "comment", COMMENTED, "a comment\n");
    step(p, "empty", COMMENTED, "nothing at all\n");
    told t = begin(p);
    predict(&t, "first", "comment");
    says(&t.x.range.result, HPC_PERF_SAME, HPC_PERF_NONE);
    assert_true(t.x.range.result.p[HPC_PERF_SAME] == 1);
    assert_non_null(strstr(t.x.range.result.why[0].text, "only comments"));
    predict(&t, "comment", "empty");
    assert_int_equal(t.x.n, 1);
    assert_true(t.x.commit[0].result.p[HPC_PERF_SAME] == 1);
    predict(&t, "HEAD", "HEAD");
    assert_int_equal(t.x.n, 0);
    says(&t.x.range.result, HPC_PERF_SAME, HPC_PERF_NONE);
    assert_int_equal(t.x.level, HPC_PERF_NONE);
    end(&t);
}

/* Loops in a test are loops that the program does not run; those of a benchmark are measured. */
static void tests_and_documents_drive_no_verdict(void **state)
{
    place *p = *state;
    begin_repository(p);
    script(p, "cd r; mkdir -p tests docs bench; cp step.c tests/step_tests.c; cp step.c bench/b.c; "
              "echo x > tests/Makefile; save base; git tag base");
    write_file(p, "r/tests/step_tests.c", LOOPS);
    script(p, "cd r; echo 'CFLAGS = -O0' > tests/Makefile; echo y > docs/x.md; save t; git tag t; "
              "echo z > README.md; save prose; git tag prose");
    write_file(p, "r/bench/b.c", LOOPS);
    script(p, "cd r; save benchmark; git tag benchmark");
    step(p, "loops", LOOPS, "the program alone\n");
    step(p, "back", PLAIN, "back\n");
    write_file(p, "r/tests/step_tests.c", PLAIN);
    step(p, "both", LOOPS, "the program and its test\n");
    told t = begin(p);
    predict(&t, "base", "t");
    says(&t.x.range.result, HPC_PERF_SAME, HPC_PERF_NONE);
    assert_int_equal(t.x.range.aside_n, 3);
    assert_non_null(strstr(t.x.range.result.why[0].text, "only tests, documents, examples"));
    predict(&t, "t", "prose");
    says(&t.x.range.result, HPC_PERF_SAME, HPC_PERF_NONE);
    assert_int_equal(t.x.range.aside_n, 1);
    predict(&t, "prose", "benchmark");
    says(&t.x.range.result, HPC_PERF_SLOWER, HPC_PERF_WARN);
    predict(&t, "benchmark", "loops");
    double alone = t.x.range.result.p[HPC_PERF_SLOWER];
    predict(&t, "back", "both");
    says(&t.x.range.result, HPC_PERF_SLOWER, HPC_PERF_WARN);
    assert_true(t.x.range.result.p[HPC_PERF_SLOWER] == alone);
    assert_string_equal(t.x.range.result.why[0].file, "step.c");
    end(&t);
}

/* Base has advanced, and a merge brings it in: only head's part is predicted. */
static void test_merges(void **state)
{
    place *p = *state;
    begin_repository(p);
    script(p, "cd r; git checkout -q -b work");
    step(p, "mine", VERSION, "mine\n");
    script(
        p,
        "cd r; git checkout -q main; printf 'int other(int n)\\n{\\n    return n;\\n}\\n' > b.c; "
        "save theirs; git tag theirs; echo text > notes; save more; git tag more; "
        "git checkout -q work; git merge -q -m merged theirs; git tag merged");
    told t = begin(p);
    predict(&t, "more", "work");
    assert_int_equal(t.x.n, 2);
    assert_int_equal(t.x.commit[0].parents, 1);
    assert_int_equal(t.x.commit[1].parents, 2);
    assert_string_equal(t.x.commit[1].function[0].name, "other");
    hpc_git_id theirs = parsed(p, "r", "theirs");
    assert_memory_equal(&t.x.range.base, &theirs, sizeof theirs);
    for (int64_t k = 0; k < t.x.range.n; k++)
        assert_string_equal(t.x.range.function[k].file, "step.c");
    assert_string_equal(t.x.range.function[0].name, "version");
    /* by first parents alone what was merged is in the merge; with all it is there by itself */
    predict(&t, "mine", "work");
    assert_int_equal(t.x.n, 1);
    t.o.all = true;
    predict(&t, "mine", "work");
    assert_int_equal(t.x.n, 2);
    assert_string_equal(t.x.commit[0].subject, "theirs");
    end(&t);
}

static void test_beginnings(void **state)
{
    place *p = *state;
    static const hpc_git_id none;
    begin_repository(p);
    step(p, "second", RENAMES, "second\n");
    script(p, "git clone -q --depth 1 \"file://$PWD/r\" s; cd r; git checkout -q --orphan alone; "
              "git rm -rfq .; echo 'int z;' > z.c; save alone");
    told t = begin(p);
    predict(&t, NULL, "second");
    assert_int_equal(t.x.n, 2);
    assert_memory_equal(&t.x.commit[0].base, &none, sizeof none);
    assert_int_equal(t.x.commit[0].n, 2); /* step, and what is in no function */
    assert_memory_equal(&t.x.range.base, &none, sizeof none);
    refused(&t, "second", "alone", "second and alone have no commit in common");
    refused(&t, "second", "nowhere", "nowhere");
    refused(&t, "nowhere", "second", "nowhere");
    refused(&t, "HEAD~5", "second", "is beyond the start of the history");
    hpc_git_close(t.git);
    t.git = opened(p, "s");
    refused(&t, "HEAD~1", "HEAD", "HEAD~1");
    refused(&t, NULL, "HEAD", "is not in this clone");
    predict(&t, "HEAD", "HEAD");
    end(&t);
}

/* Files that are not program text, or are missing. */
static void test_other_files(void **state)
{
    place *p = *state;
    begin_repository(p);
    script(p, "cd r; git mv step.c moved.c; save renamed; git tag renamed; "
              "head -c 3000 /dev/zero > image.c; save binary; git tag binary; "
              "git init -q ../sub; (cd ../sub; echo x > x; save x); "
              "git -c protocol.file.allow=always submodule --quiet add ../sub sub; save module; "
              "git tag module; printf 'CFLAGS = -O3\\n' > Makefile; save build; git tag build; "
              "ln -s moved.c link.c; save link; git tag link");
    told t = begin(p);
    predict(&t, "first", "HEAD");
    assert_int_equal(t.x.n, 5);
    for (int64_t k = 0; k < t.x.n; k++) {
        const hpc_perf_result *s = &t.x.commit[k].result;
        assert_false(isnan(s->p[0]));
        assert_true(s->verdict != HPC_PERF_UNKNOWN || s->because);
    }
    assert_int_equal(t.x.commit[0].n, 0); /* a file was renamed, no function changed */
    assert_true(t.x.commit[2].result.p[HPC_PERF_SAME] < 1); /* a submodule: anything may be in it */
    assert_true(t.x.commit[3].result.p[HPC_PERF_SAME] < 1); /* a build file alone */
    assert_string_equal(t.x.commit[3].function[0].file, "Makefile");
    end(&t);
}

static void many(history *h, int files, const char *what)
{
    char name[32], text[64];
    commit_from(h, h->commits_n);
    for (int k = 0; k < files; k++) {
        snprintf(name, sizeof name, "f%d.c", k);
        snprintf(text, sizeof text, "int f(int n)\n{\n    return n %s %d;\n}\n", what, k);
        with(h, name, text);
    }
}

static void test_many_files(void **state)
{
    place *p = *state;
    history h = {.p = p};
    many(&h, 1000, "+");
    many(&h, 1000, "*");
    many(&h, 1001, "-");
    history_open(&h, NULL);
    told t = begin(p);
    predict(&t, "c1", "c2");
    assert_int_equal(t.x.range.n, 1000);
    predict(&t, "c2", "c3");
    says(&t.x.range.result, HPC_PERF_UNKNOWN, HPC_PERF_NONE);
    assert_non_null(
        strstr(t.x.range.result.because, "more files differ than the limit for analysis"));
    assert_true(isnan(t.x.range.result.p[0]));
    assert_int_equal(t.x.range.n, 0);
    end(&t);
    history_close(&h);
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

static void test_trailers(void **state)
{
    place *p = *state;
    begin_repository(p);
    step(p, "known", LOOPS, "slower\n\nIt has to be.\n\nPerf-Ack: more exact now\n");
    step(p, "away", PLAIN, "away\n");
    step(p, "no-reason", LOOPS, "slower\n\nperf-ack:\n");
    step(p, "away2", PLAIN, "away\n");
    step(p, "subject", LOOPS, "Perf-Ack: this is no place for it\n");
    told t = begin(p);
    t.o.fail = 0.5;
    predict(&t, "first", "known");
    says(&t.x.commit[0].result, HPC_PERF_SLOWER, HPC_PERF_FAIL);
    assert_string_equal(t.x.commit[0].result.acknowledged, "more exact now");
    assert_false(t.x.commit[0].result.by_file);
    assert_string_equal(t.x.range.result.acknowledged, "more exact now");
    assert_int_equal(t.x.level, HPC_PERF_NONE);
    predict(&t, "away", "no-reason");
    assert_int_equal(t.x.level, HPC_PERF_FAIL);
    assert_int_equal(t.x.remarks_n, 1);
    assert_non_null(strstr(t.x.remark[0], "gives no reason"));
    predict(&t, "away2", "subject");
    assert_int_equal(t.x.level, HPC_PERF_FAIL);
    assert_int_equal(t.x.remarks_n, 0);
    /* one that is not acknowledged makes the whole count again */
    predict(&t, "first", "subject");
    assert_null(t.x.range.result.acknowledged);
    assert_int_equal(t.x.level, HPC_PERF_FAIL);
    end(&t);
}

static void with_acks(told *t, const char *text, const char *base, const char *head)
{
    t->o.acks = text;
    t->o.acks_name = "acks";
    predict(t, base, head);
}

static void test_files(void **state)
{
    place *p = *state;
    char line[128], hex[41];
    begin_repository(p);
    step(p, "loops", LOOPS, "slower\n");
    hpc_git_id id = parsed(p, "r", "loops");
    hpc_git_id_text(hex, &id);
    told t = begin(p);
    t.o.fail = 0.5;
    snprintf(line, sizeof line, "# known\n\n  %.9s   it is\tmeant so \r\n", hex);
    with_acks(&t, line, "first", "loops");
    assert_int_equal(t.x.level, HPC_PERF_NONE);
    assert_string_equal(t.x.commit[0].result.acknowledged, "it is?meant so");
    assert_true(t.x.commit[0].result.by_file);
    assert_int_equal(t.x.remarks_n, 0);
    static const char *const match[] = {"step.c why", "step.c:step why", ".perf-ack x\nstep.c why"};
    for (int k = 0; k < 3; k++) {
        with_acks(&t, match[k], "first", "loops");
        assert_int_equal(t.x.level, HPC_PERF_NONE);
        assert_string_equal(t.x.range.result.acknowledged, "why");
        assert_string_equal(t.x.range.function[0].result.acknowledged, "why");
        assert_int_equal(t.x.remarks_n, k == 2);
    }
    static const char *const miss[] = {"step.c",           "step why",    "step.c:steps why",
                                       "other.c:step why", "abcdef0 why", "deadbee:step why"};
    for (int k = 0; k < 6; k++) {
        with_acks(&t, miss[k], "first", "loops");
        assert_int_equal(t.x.level, HPC_PERF_FAIL);
        assert_int_equal(t.x.remarks_n, 1);
        assert_non_null(strstr(t.x.remark[0], "acks:1: "));
    }
    /* too short for an id: a path; a commit of another range is merely old */
    snprintf(line, sizeof line, "%.6s why", hex);
    with_acks(&t, line, "first", "loops");
    assert_int_equal(t.x.level, HPC_PERF_FAIL);
    id = parsed(p, "r", "first");
    hpc_git_id_text(hex, &id);
    snprintf(line, sizeof line, "%s why", hex);
    with_acks(&t, line, "first", "loops");
    assert_int_equal(t.x.level, HPC_PERF_FAIL);
    assert_int_equal(t.x.remarks_n, 0);
    end(&t);
}

/* The file lies in the tree of head, in its root. */
static void test_file_of_head(void **state)
{
    place *p = *state;
    begin_repository(p);
    step(p, "loops", LOOPS, "slower\n");
    script(p, "cd r; mkdir sub; echo 'step.c no' > sub/.perf-ack; save sub; git tag sub; "
              "echo 'step.c:step as agreed' > .perf-ack; save ack; git tag ack");
    told t = begin(p);
    t.o.fail = 0.5;
    predict(&t, "first", "sub");
    assert_int_equal(t.x.level, HPC_PERF_FAIL);
    predict(&t, "first", "ack");
    assert_int_equal(t.x.level, HPC_PERF_NONE);
    assert_string_equal(t.x.range.result.acknowledged, "as agreed");
    t.o.acks = "";
    predict(&t, "first", "ack");
    assert_int_equal(t.x.level, HPC_PERF_FAIL);
    end(&t);
}

/* What a commit calls itself is shown without what a terminal would obey. */
static void test_names_are_cleaned(void **state)
{
    place *p = *state;
    begin_repository(p);
    step(p, "loops", LOOPS,
         "a\x1b[31mb\xc2\x9b"
         "c\xe2\x80\xae"
         "d\xc3\xa4\n\nPerf-Ack: \x1b]0;x\n");
    told t = begin(p);
    predict(&t, "first", "loops");
    assert_string_equal(t.x.commit[0].subject, "a?[31mb?c?d\xc3\xa4");
    assert_string_equal(t.x.commit[0].result.acknowledged, "?]0;x");
    with_acks(&t, "step.c \xff\xed\xa0\x80\xc0\x80\xe2\x82\xac\xf4\x90\x80\x80.\xc3", "first",
              "loops");
    assert_string_equal(t.x.range.function[0].result.acknowledged, "??????\xe2\x82\xac????.?");
    end(&t);
}

static int once(void *user)
{
    told *t = user;
    hpc_perf_prediction_release(&t->x);
    return hpc_perf_predict(&t->x, t->git, t->model, &t->o);
}

static void test_memory(void **state)
{
    place *p = *state;
    begin_repository(p);
    step(p, "loops", LOOPS, "slower\n\nPerf-Ack: yes\n");
    script(p, "cd r; echo 'step.c:step as agreed' > .perf-ack; save ack");
    told t = begin(p);
    t.o.base = "first";
    assert_true(hpc_test_each_alloc(once, &t) > 20);
    end(&t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(test_verdicts),
                                       TEST(test_levels),
                                       TEST(test_what_has_no_effect),
                                       TEST(tests_and_documents_drive_no_verdict),
                                       TEST(test_merges),
                                       TEST(test_beginnings),
                                       TEST(test_other_files),
                                       TEST(test_many_files),
                                       TEST(test_trailers),
                                       TEST(test_files),
                                       TEST(test_file_of_head),
                                       TEST(test_names_are_cleaned),
                                       TEST(test_memory)};
    return cmocka_run_group_tests_name("perf/predict", tests, models_setup, models_teardown);
}
