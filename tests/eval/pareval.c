/*
 * Tests of the suite ParEval with a checkout of one problem: right, wrong and hostile candidates.
 */
/* tsan: left out, the code has no threads. */
/* asan: left out, builds of candidates take long, and other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "eval/pareval.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

#define PROMPT "/* Double every element of x. */\\nvoid twice(std::vector<double> &x) {"
#define OLD    "// An older text\\nvoid  twice(std::vector<double>& x) {"

static const char prompts[] =
    "[{\"problem_type\":\"transform\",\"language\":\"cpp\",\"name\":\"07_twice\","
    "\"parallelism_model\":\"serial\",\"prompt\":\"" PROMPT "\"},"
    "{\"problem_type\":\"transform\",\"language\":\"cpp\",\"name\":\"07_twice\","
    "\"parallelism_model\":\"omp\",\"prompt\":\"" PROMPT "\"},"
    "{\"problem_type\":\"transform\",\"language\":\"cpp\",\"name\":\"07_twice\","
    "\"parallelism_model\":\"kokkos\",\"prompt\":\"" PROMPT "\"},"
    "{\"problem_type\":\"transform\",\"language\":\"cpp\",\"name\":\"07_twice\","
    "\"parallelism_model\":\"cuda\",\"prompt\":\"" PROMPT "\"}]";

static const char sizes[] = "{\"07_twice\":{\"serial\":\"(1<<10)\",\"omp\":\"(1<<10)\"}}";

static const char driver[] = "#include <cstdio>\n"
                             "int run();\n"
                             "int main(int argc, char **argv)\n"
                             "{\n"
                             "    std::puts(run() ? \"Validation: PASS\" : \"Validation: FAIL\");\n"
                             "    std::puts(\"Time: 0.5\\nBestSequential: 2.0\");\n"
                             "}\n";

/* Its driver includes a header of Kokkos, and checks the option of the run. */
static const char kokkos_driver[] =
    "#include <Kokkos_Core.hpp>\n"
    "#include <cstdio>\n"
    "#include <cstring>\n"
    "int run();\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    bool threads = argc == 2 && !std::strcmp(argv[1], \"--kokkos-num-threads=2\");\n"
    "    std::puts(run() && threads && KOKKOS ? \"Validation: PASS\" : \"Validation: FAIL\");\n"
    "}\n";

static const char cpu[] = "#include <vector>\n"
                          "#define NO_INLINE __attribute__((noinline))\n"
                          "#include \"generated-code.hpp\"\n"
                          "int run()\n"
                          "{\n"
                          "    std::vector<double> x(DRIVER_PROBLEM_SIZE, 3.0);\n"
                          "    twice(x);\n"
                          "    return x[0] == 6 && x.back() == 6;\n"
                          "}\n";

/* Right, wrong, without the brace, and one that does not end. */
#define LOOP    "for (double &e : x) e *= 2;\\n}"
#define OUTPUTS "\"" LOOP "\",\"}\",\"x[0] = 6;\",{\"generated_output\":\"for (;;) x[0]++;\\n}\"}"
#define OMP_OUTPUTS                                                                                \
    "\"#pragma omp parallel for\\nfor (long i = 0; i < (long)x.size(); i++) x[i] *= 2;\\n}\","     \
    "\"" LOOP "\""

static const char outputs[] =
    "[{\"name\":\"41_twice\",\"parallelism_model\":\"serial\",\"prompt\":\"" OLD
    "\",\"outputs\":[" OUTPUTS "]},"
    "{\"name\":\"41_twice\",\"parallelism_model\":\"omp\",\"prompt\":\"" OLD
    "\",\"outputs\":[" OMP_OUTPUTS "]},"
    "{\"name\":\"42_other\",\"parallelism_model\":\"omp\",\"prompt\":\"void f() {\","
    "\"outputs\":[\"}\"]}]";

static void save(const hpc_test_folder *f, const char *name, const char *text)
{
    char path[PATH_MAX], folder[PATH_MAX];
    hpc_test_path(path, f, name);
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    test_ok(hpc_file_mkdir(folder));
    test_ok(hpc_file_save(path, text, strlen(text)));
}

static void make(const hpc_test_folder *f)
{
    save(f, "prompts/generation-prompts.json", prompts);
    save(f, "drivers/problem-sizes.json", sizes);
    save(f, "drivers/cpp/models/serial-driver.cc", driver);
    save(f, "drivers/cpp/models/omp-driver.cc", driver);
    save(f, "drivers/cpp/benchmarks/transform/07_twice/cpu.cc", cpu);
    save(f, "outputs.json", outputs);
}

static void tasks_are_read_and_matched_by_signature(void **state)
{
    const hpc_test_folder *f = *state;
    hpc_pareval_tasks t;
    make(f);
    test_ok(hpc_pareval_read(&t, f->root, "omp,serial", 3));
    assert_int_equal(t.n, 2);
    assert_string_equal(t.item[0].model, "omp");
    assert_string_equal(t.item[0].size, "(1<<7)");
    assert_int_equal(hpc_pareval_match(&t, "void twice(std::vector<double> & x) {\n", "serial"), 1);
    assert_int_equal(hpc_pareval_match(&t, "void twice(std::vector<float> &x) {", "serial"), -1);
    assert_int_equal(hpc_pareval_match(&t, "void twice(std::vector<double> &x) {", "mpi"), -1);
    hpc_pareval_release(&t);
    test_fails(hpc_pareval_read(&t, f->root, "cuda", 0), HPC_E_UNSUPPORTED, "cuda prompts are not");
    hpc_pareval_release(&t);
    test_fails(hpc_pareval_read(&t, f->root, "openmp", 0), HPC_E_ARG, "unknown model");
    hpc_pareval_release(&t);
    test_fails(hpc_pareval_read(&t, "/nonexistent", "omp", 0), HPC_E_IO, "not a checkout");
    hpc_pareval_release(&t);
}

static void is_candidate(const hpc_json *sample, int64_t k, bool built, bool valid,
                         const char *error)
{
    const hpc_json *c = hpc_json_at(hpc_json_get(sample, "candidates"), k);
    bool found;
    const char *text;
    test_ok(hpc_json_bool(&found, hpc_json_get(c, "built"), "built"));
    assert_int_equal(found, built);
    test_ok(hpc_json_bool(&found, hpc_json_get(c, "valid"), "valid"));
    assert_int_equal(found, valid);
    if (!error) return;
    test_ok(hpc_json_text(&text, hpc_json_get(c, "error"), "error"));
    assert_non_null(strstr(text, error));
}

static void right_candidates_pass_and_others_fail(void **state)
{
    const hpc_test_folder *f = *state;
    char given[PATH_MAX];
    const hpc_eval_pareval_options o = {.checkout = f->root,
                                        .models = "serial,omp",
                                        .samples_in = hpc_test_path(given, f, "outputs.json"),
                                        .resources = 2,
                                        .build_seconds = 60,
                                        .run_seconds = 3,
                                        .tmp = "/tmp"};
    hpc_buf settings = {0};
    hpc_eval_log *log;
    int64_t unmatched;
    make(f);
    hpc_buf_text(&settings, "{}");
    test_ok(hpc_eval_log_open(&log, NULL, &settings));
    hpc_buf_release(&settings);
    if (hpc_eval_pareval(log, &unmatched, &o) == HPC_E_UNSUPPORTED) {
        print_message("SKIP: %s\n", hpc_error_get()->text);
        hpc_error_clear();
        hpc_eval_log_close(log);
        skip();
    }
    assert_int_equal(unmatched, 1);
    const hpc_json *serial = hpc_eval_log_find(log, "07_twice serial");
    const hpc_json *omp = hpc_eval_log_find(log, "07_twice omp");
    is_candidate(serial, 0, true, true, NULL);
    is_candidate(serial, 1, true, false, "wrong result");
    is_candidate(serial, 2, false, false, "error");
    is_candidate(serial, 3, true, false, "time limit");
    is_candidate(omp, 0, true, true, NULL);
    is_candidate(omp, 1, true, false, "no OpenMP directive");
    assert_true(hpc_eval_number(serial, "build_1") == 0.75);
    assert_true(hpc_eval_number(serial, "pass_1") == 0.25);
    assert_true(hpc_eval_number(serial, "speedup_1") == 1); /* 4 for one of four */
    assert_true(hpc_eval_number(omp, "pass_1") == 0.5);
    assert_true(hpc_eval_number(omp, "efficiency_1") == 1); /* 4 for one of two, on two threads */
    hpc_eval_log_close(log);
}

/* Judges one output for kokkos, into *out. */
static int judge_kokkos(hpc_eval_log **out, const hpc_test_folder *f)
{
    char given[PATH_MAX];
    const hpc_eval_pareval_options o = {.checkout = f->root,
                                        .models = "kokkos",
                                        .samples_in = hpc_test_path(given, f, "kokkos.json"),
                                        .resources = 2,
                                        .build_seconds = 60,
                                        .run_seconds = 3,
                                        .tmp = "/tmp"};
    hpc_buf settings = {0};
    int64_t unmatched;
    hpc_buf_text(&settings, "{}");
    test_ok(hpc_eval_log_open(out, NULL, &settings));
    hpc_buf_release(&settings);
    return hpc_eval_pareval(*out, &unmatched, &o);
}

static void kokkos_is_read_from_the_checkout(void **state)
{
    const hpc_test_folder *f = *state;
    hpc_eval_log *log;
    make(f);
    save(f, "drivers/cpp/models/kokkos-driver.cc", kokkos_driver);
    save(f, "drivers/cpp/benchmarks/transform/07_twice/kokkos.cc", cpu);
    save(f, "kokkos.json",
         "[{\"name\":\"07_twice\",\"parallelism_model\":\"kokkos\",\"prompt\":\"" OLD
         "\",\"outputs\":[\"" LOOP "\"]}]");
    int rc = judge_kokkos(&log, f);
    hpc_eval_log_close(log);
    assert_int_equal(rc, HPC_E_UNSUPPORTED);
    if (!strstr(hpc_error_get()->text, "Kokkos_Core.hpp")) {
        print_message("SKIP: %s\n", hpc_error_get()->text);
        hpc_error_clear();
        skip();
    }
    hpc_error_clear();
    save(f, "tpl/kokkos/build/include/Kokkos_Core.hpp", "enum { KOKKOS = 1 };\n");
    save(f, "tpl/kokkos/build/lib64/libkokkoscore.a", "!<arch>\n");
    test_ok(judge_kokkos(&log, f));
    is_candidate(hpc_eval_log_find(log, "07_twice kokkos"), 0, true, true, NULL);
    hpc_eval_log_close(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tasks_are_read_and_matched_by_signature,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(right_candidates_pass_and_others_fail,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(kokkos_is_read_from_the_checkout, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
