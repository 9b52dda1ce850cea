/*
 * Tests of `hpccoder corpus stats`: rows add up, as tables, JSON and pictures; one-line errors.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/corpus/sources.h"

#include "tests/support/command.h"

static hpc_test_outcome *run(place *p, const char *words)
{
    char all[HPC_TEST_WORDS];
    hpc_test_outcome *o = calloc(1, sizeof *o);
    assert_non_null(o);
    snprintf(all, sizeof all, "corpus %s", words);
    hpc_test_command_in(o, p->root, all);
    return o;
}

/* Three C files under MIT, one of them with OpenMP; a Fortran file; one too short. */
static void make_corpus(place *p)
{
    static const char omp[] =
        "// SPDX-License-Identifier: MIT\nvoid f(double *a, int n)\n{\n"
        "#pragma omp parallel for\n    for (int i = 0; i < n; i++) a[i] = i;\n}\n";
    static const char fortran[] = "! SPDX-License-Identifier: BSD-3-Clause\nsubroutine s(a, n)\n"
                                  "integer :: n, i\nreal :: a(n)\ndo i = 1, n\na(i) = 2 * i + n\n"
                                  "end do\nend subroutine\n";
    script(p, "new one");
    write_code(p, "one/a.c", 1, 0);
    write_code(p, "one/b.c", 2, 0);
    write_text(p, "one/omp.c", omp, sizeof omp - 1);
    write_text(p, "one/s.f90", fortran, sizeof fortran - 1);
    write_text(p, "one/short.c", "int x;\n", 7);
    script(p, "cd one; save");
    hpc_test_outcome *o = run(p, "harvest -q --held-out none --out @c own/one=@one");
    if (o->code != 0) fail_msg("%s", o->err);
    free(o);
}

static int64_t number(const hpc_json *root, const char *key, const char *name, const char *what)
{
    const hpc_json *list = hpc_json_get(root, key);
    const char *found = NULL;
    int64_t value = -1;
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const hpc_json *row = hpc_json_at(list, k);
        assert_int_equal(hpc_json_text(&found, hpc_json_get(row, "name"), "name"), 0);
        if (strcmp(found, name) == 0)
            assert_int_equal(hpc_json_int(&value, hpc_json_get(row, what), what), 0);
    }
    return value;
}

static int64_t sum(const hpc_json *root, const char *key)
{
    const hpc_json *list = hpc_json_get(root, key);
    int64_t total = 0, files = 0;
    for (int64_t k = 0; k < hpc_json_n(list); k++, total += files)
        assert_int_equal(hpc_json_int(&files, hpc_json_get(hpc_json_at(list, k), "files"), "files"),
                         0);
    return total;
}

static void counts(void **state)
{
    place *p = *state;
    hpc_json *root = NULL;
    make_corpus(p);
    hpc_test_outcome *o = run(p, "stats --json @c");
    assert_int_equal(o->code, 0);
    assert_string_equal(o->err, "");
    assert_int_equal(hpc_json_parse(&root, o->out, strlen(o->out), "stats"), 0);
    assert_int_equal(number(root, "language", "c", "files"), 3);
    assert_int_equal(number(root, "language", "fortran", "files"), 1);
    assert_int_equal(number(root, "language", "fortran", "lines"), 8);
    assert_int_equal(number(root, "parallel", "openmp", "files"), 1);
    assert_int_equal(number(root, "parallel", "none", "files"), 3);
    assert_int_equal(number(root, "licence", "MIT", "files"), 3);
    assert_int_equal(number(root, "licence", "BSD-3-Clause", "files"), 1);
    assert_int_equal(number(root, "repository", "own/one", "files"), 4);
    assert_int_equal(number(root, "reason", "kept", "files"), 4);
    assert_int_equal(number(root, "reason", "too-short", "files"), 1);
    assert_int_equal(number(root, "reason", "too-short", "bytes"), 7);
    assert_int_equal(sum(root, "reason"), 5);
    assert_int_equal(sum(root, "split"), 4);
    hpc_json_free(root);
    free(o);
    o = run(p, "stats @c");
    assert_int_equal(o->code, 0);
    assert_non_null(strstr(o->out, "too-short"));
    free(o);
    o = run(p, "stats --rows 0 @c");
    assert_int_equal(o->code, 0);
    assert_non_null(strstr(o->out, "kept"));
    assert_null(strstr(o->out, "too-short"));
    free(o);
}

static void draws(void **state)
{
    place *p = *state;
    char path[400];
    hpc_buf page = {0};
    make_corpus(p);
    hpc_test_outcome *o = run(p, "stats --rows 0 --plot @c.html @c");
    if (o->code != 0) fail_msg("%s", o->err);
    free(o);
    snprintf(path, sizeof path, "%s/c.html", p->root);
    assert_int_equal(hpc_file_read(&page, path, 1 << 24), 0);
    assert_non_null(strstr(page.data, "<svg"));
    assert_non_null(strstr(page.data, "own/one"));
    hpc_buf_release(&page);
}

static void refuses(void **state)
{
    static const struct {
        const char *words, *says;
    } cases[] = {{"stats", "name one corpus"},
                 {"stats @none", "none"},
                 {"stats @c --plot @c.jpg", ".png, .svg or .html"}};
    place *p = *state;
    hpc_test_outcome *o = calloc(1, sizeof *o);
    assert_non_null(o);
    make_corpus(p);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char words[HPC_TEST_WORDS];
        snprintf(words, sizeof words, "corpus %s", cases[k].words);
        hpc_test_refuses(o, p->root, words, cases[k].says);
    }
    free(o);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(counts), TEST(draws), TEST(refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
