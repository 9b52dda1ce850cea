/*
 * Tests of infer/perf/program.c: the files of the measured program, by path and by build.
 */
/* tsan: left out, starts no thread. */
#include "tests/perf/history.h"

static void paths_separate_the_program_from_tests_and_documents(void **state)
{
    static const struct {
        const char *path;
        bool contained;
    } cases[] = {
        {"cJSON.c", true},
        {"CMakeLists.txt", true},
        {"data/input.txt", true},
        {"src/latest.c", true},
        {"src/contest/a.c", true},
        {"src/testament.c", true},
        {"src/attest.c", true},
        {"docker/a.c", true},
        {"samplerate/src.c", true},
        {"document/tree.c", true},
        {"tests/misc_tests.c", false},
        {"tests/CMakeLists.txt", false},
        {"tests/input.txt", false},
        {"src/test/x.h", false},
        {"unit-tests/a.c", false},
        {"src/test_data/a.c", false},
        {"Tests/a.cpp", false},
        {"test.c", false},
        {"src/test_reader.cc", false},
        {"src/reader-test.cc", false},
        {"src/reader_unittest.cc", false},
        {"fuzzing/afl.c", false},
        {"examples/dot.c", false},
        {"docs/conf.c", false},
        {".github/x.c", false},
        {"README.md", false},
        {"src/ChangeLog", false},
        {"changes.c", true},         /* a compiler reads it, whatever its name */
        {"tests/bench/run.c", true}, /* benchmarks are what is measured */
        {"test/benchkiss.c", true},
        {"test/benchmark.md", false},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        if (hpc_perf_program_has(NULL, cases[k].path) != cases[k].contained)
            fail_msg("%s: not %d", cases[k].path, cases[k].contained);
}

static void a_build_decides_about_sources_alone(void **state)
{
    const char *const built[] = {"/b/src/a.c", "/b/tests/t.c"}, *const part[] = {"docs/"};
    const hpc_perf_program p = {.part = part, .part_n = 1, .built = built, .built_n = 2};
    (void)state;
    assert_true(hpc_perf_program_has(&p, "src/a.c"));
    assert_true(hpc_perf_program_has(&p, "tests/t.c"));
    assert_true(hpc_perf_program_has(&p, "src/a.h")); /* no command names a header */
    assert_true(hpc_perf_program_has(&p, "docs/x.md"));
    assert_false(hpc_perf_program_has(&p, "src/c.c"));
    assert_false(hpc_perf_program_has(&p, "rc/a.c"));
    assert_false(hpc_perf_program_has(&p, "tests/t.h"));
    assert_false(hpc_perf_program_has(&p, "README.md"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_separate_the_program_from_tests_and_documents),
        cmocka_unit_test(a_build_decides_about_sources_alone),
    };
    return cmocka_run_group_tests_name("perf/program", tests, NULL, NULL);
}
