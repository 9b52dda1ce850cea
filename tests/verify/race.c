/*
 * Tests of infer/verify with ThreadSanitizer: races are reported with their lines; OpenMP
 * synchronisation is not a race.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/verify/programs.h"

static void need_archer(void)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r = {0};
    const char *argv[] = {"clang", "-print-resource-dir", NULL};
    bool there = hpc_proc_exists("clang");
    o.argv = argv;
    if (there) { /* .../lib/clang/14.0.6 */
        char path[PATH_MAX];
        OK(hpc_proc_run(&r, &o));
        const char *folder = r.out.data ? r.out.data : "";
        snprintf(path, sizeof path, "%.*s/../../libarcher.so", (int)strcspn(folder, "\n"), folder);
        there = hpc_file_exists(path);
        hpc_proc_release(&r);
    }
    if (there) return;
    print_message("SKIP: there is no clang with libarcher.so (libomp-dev)\n");
    skip();
}

static const char text[] = "#include <stdio.h>\n"
                           "static double a[20000];\n"
                           "static void put(int i, double x)\n{\n"
                           "    a[i] = x;\n" /* line 5 */
                           "}\n"
                           "int main(void)\n{\n    double s = 0, t = 0;\n"
                           "    for (int i = 0; i < 20000; i++) a[i] = i;\n" /* line 10 */
                           "    for (int i = 0; i < 20000; i++) s += a[i];\n"
                           "    for (int i = 0; i < 20000; i++)\n" /* line 12 */
                           "        put(i, a[(i + 5000) % 20000] + 1);\n"
                           "    for (int i = 0; i < 20000; i++) {\n" /* line 14 */
                           "        t = a[i];\n"
                           "        a[i] = t / 2;\n"
                           "    }\n"
                           "    printf(\"%g %g\\n\", s, a[7]);\n    return 0;\n}\n";

static void races(void **state)
{
    program p;
    hpc_verify_skip skip = {0};
    NEED_LIBRARY;
    need_archer();
    program_write(&p, *state, "x.c", text);
    p.options.build = "gcc -O2 x.c -o x";
    p.options.run = "echo; ./x";
    assert_int_equal(p.loops.n, 4);
    for (int k = 2; k < 4; k++) {
        p.loops.item[k].verdict = HPC_VERDICT_PARALLEL;
        p.loops.item[k].pragma = "#pragma omp parallel for";
    }
    OK(hpc_verify_race(&skip, &p.loops, &p.file, &p.options));
    for (int k = 0; k < 2; k++) {
        const hpc_pragma_loop *l = &p.loops.item[k];
        if (l->verdict != HPC_VERDICT_PARALLEL || !evidence_of(l, "race", "no race on 4 threads"))
            show_loop(l);
        assert_int_equal(l->verdict, HPC_VERDICT_PARALLEL);
        assert_non_null(evidence_of(l, "race", "no race on 4 threads"));
    }
    static const char *const places[2][2] = {{"line 5", "line 13"}, {"line 15", "line 1"}};
    for (int k = 2; k < 4; k++) {
        const hpc_pragma_loop *l = &p.loops.item[k];
        const hpc_evidence *e = evidence_of(l, "race", "without synchronisation");
        if (!e || !strstr(e->text, places[k - 2][0]) || !strstr(e->text, places[k - 2][1]))
            show_loop(l);
        assert_int_equal(l->verdict, HPC_VERDICT_UNSAFE);
        assert_non_null(e);
        assert_non_null(strstr(e->text, places[k - 2][0]));
        assert_non_null(strstr(e->text, places[k - 2][1]));
    }
    assert_non_null(evidence_of(&p.loops.item[2], "race", " a at "));
    assert_int_equal(hpc_test_entries(p.folder), 1);
    program_close(&p);
}

static void expect(void **state, const char *build, const char *run, const char *said)
{
    program p;
    hpc_verify_skip skip = {0};
    program_write(&p, *state, "x.c", text);
    p.options.build = build;
    p.options.run = run;
    if (strstr(run, "sleep")) p.options.seconds = 0.3;
    OK(hpc_verify_race(&skip, &p.loops, &p.file, &p.options));
    const hpc_pragma_loop *l = &p.loops.item[0];
    if (!evidence_of(l, "race", said)) show_loop(l);
    assert_non_null(evidence_of(l, "race", said));
    assert_int_equal(l->verdict, HPC_VERDICT_PARALLEL);
    program_close(&p);
}

static void cannot_be_told(void **state)
{
    NEED_LIBRARY;
    need_archer();
    expect(state, "gcc x.c -o x -lno_such_library", "./x",
           "not run under ThreadSanitizer: the build with clang exited with status");
    expect(state, "/usr/bin/gcc x.c -o x", "./x", "does not use clang's OpenMP");
    expect(state, "gcc x.c -o x", "./x; sleep 60", "does not end within 3 s");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(races), TEST(cannot_be_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
