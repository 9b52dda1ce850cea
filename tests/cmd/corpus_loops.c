/*
 * Tests of `hpccoder corpus loops`: files as a table and as JSON lines, a corpus, errors and exit
 * codes.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/corpus/sources.h"

#include "tests/support/command.h"

typedef struct bench {
    place *place;
    hpc_test_outcome outcome;
} bench;

/* Runs `corpus loops` with words in which '@' is the folder of the test. */
static const hpc_test_outcome *loops(bench *b, const char *words, int code)
{
    char all[HPC_TEST_WORDS];
    snprintf(all, sizeof all, "corpus loops %s", words);
    hpc_test_command_in(&b->outcome, b->place->root, all);
    if (b->outcome.code != code)
        fail_msg("%s: exit code %d\n%s%s", words, b->outcome.code, b->outcome.out, b->outcome.err);
    return &b->outcome;
}

static const char code[] = "void f(int n)\n{\n#pragma omp parallel\n#pragma omp for\n"
                           "    for (int i = 0; i < n; i++)\n        for (;;)\n            x();\n"
                           "    for (;;) y();\n}\n";

static const struct {
    const char *name, *text;
} others[] = {{"b.f90", "subroutine s\ndo i = 1, 2\nend do\nend\n"},
              {"notes.txt", "for (;;)\n"},
              {"none.c", "int a;\n"}};

static bench *make_bench(void **state)
{
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->place = *state;
    write_text(b->place, "a.c", code, strlen(code));
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        write_text(b->place, others[k].name, others[k].text, strlen(others[k].text));
    return b;
}

static void test_table(void **state)
{
    bench *b = make_bench(state);
    const hpc_test_outcome *o = loops(b, "@a.c @b.f90 @none.c", 0);
    hpc_test_says(o->out, "a.c:5-7 ");
    hpc_test_says_row(o->out, "annotated f #pragma omp parallel | #pragma omp for\n");
    hpc_test_says(o->out, "  other "); /* indented: it is inside */
    hpc_test_says(o->out, "a.c:8-8 ");
    hpc_test_says_row(o->out, "presumed-negative f\n");
    hpc_test_says(o->out, "b.f90:2-3 ");
    hpc_test_says(o->out, "4 loops in 3 files: 1 annotated, 1 presumed negatives\n");
    assert_int_equal(o->err[0], 0);
    o = loops(b, "-q @none.c", 0);
    assert_int_equal(o->out[0], 0);
    free(b);
}

static void test_json_lines(void **state)
{
    bench *b = make_bench(state);
    const hpc_test_outcome *o = loops(b, "--json @a.c @b.f90", 0);
    const char *p = o->out;
    int n = 0;
    for (; *p; p = strchr(p, '\n') + 1, n++) {
        hpc_json *v = NULL;
        const char *path = NULL;
        assert_int_equal(hpc_json_parse(&v, p, (size_t)(strchr(p, '\n') - p), "stdout"), 0);
        assert_int_equal(hpc_json_text(&path, hpc_json_get(v, "path"), "path"), 0);
        hpc_test_says(path, n < 3 ? "a.c" : "b.f90");
        hpc_json_free(v);
    }
    assert_int_equal(n, 4);
    free(b);
}

/* One line per bad file; the others are processed. */
static void test_bad_files(void **state)
{
    bench *b = make_bench(state);
    const hpc_test_outcome *o = loops(b, "@notes.txt @absent.c @a.c", 2);
    hpc_test_says(o->err, "notes.txt: the file name is not one of");
    hpc_test_says(o->err, "absent.c");
    hpc_test_says(strchr(o->err, '\n'), "hpccoder corpus loops: ");
    hpc_test_says(o->out, "a.c:8-8 ");
    free(b);
}

static void test_usage(void **state)
{
    bench *b = make_bench(state);
    hpc_test_says(loops(b, "", 2)->err, "name a corpus");
    hpc_test_says(loops(b, "@absent --out @o", 3)->err, "has no complete corpus");
    hpc_test_says(loops(b, "@a @b --out @o", 2)->err, "unexpected argument");
    hpc_test_says(loops(b, "@a.c --threads x", 2)->err, "threads");
    free(b);
}

static void test_corpus(void **state)
{
    bench *b = make_bench(state);
    hpc_json *v = NULL;
    int64_t n = 0;
    write_repository(b->place, 0, 20, 1);
    hpc_test_command_in(&b->outcome, b->place->root,
                        "corpus harvest @r0 --held-out none -q -j 1 --out @c");
    if (b->outcome.code != 0) fail_msg("%s", b->outcome.err);
    hpc_test_says(loops(b, "@c", 2)->err, "--out DIR is missing");
    const hpc_test_outcome *o = loops(b, "@c --out @l -q --json", 0);
    assert_int_equal(hpc_json_parse(&v, o->out, strlen(o->out), "stdout"), 0);
    assert_int_equal(hpc_json_int(&n, hpc_json_get(v, "loops"), "loops"), 0);
    assert_int_equal(n, 20 * 4 * 6);
    hpc_json_free(v);
    assert_int_equal(o->err[0], 0);
    hpc_test_says(loops(b, "@c --out @l -j 2", 0)->out, "distinct loops");
    script(b->place, "test -s l/loops.db; test -s l/loops.jsonl; test $(ls -A l | wc -l) = 2");
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_table, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_json_lines, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_bad_files, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_usage, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_corpus, place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
