/*
 * Tests of comparing runs in infer/verify: a correct directive changes nothing, a wrong one is
 * found among correct ones, and other defects are not attributed to directives.
 */
/* tsan: left out, other tests start the same threads. */
#include "infer/verify/priv.h"
#include "tests/verify/programs.h"

/* ---- two texts ------------------------------------------------------------------------------ */

static const char *differ(const char *a, const char *b, const char *again)
{
    static const hpc_verify_options o = HPC_VERIFY_DEFAULTS;
    static char kept[300];
    hpc_buf x = {0}, y = {0}, z = {0};
    scratch s = {.o = &o, .arena = hpc_arena_create(0)};
    unsteady u = {0};
    compared c = {0};
    assert_non_null(s.arena);
    OK(hpc_buf_text(&x, a));
    OK(hpc_buf_text(&y, b));
    OK(hpc_buf_text(&z, again ? again : a));
    OK(unsteady_note(&u, &x, &z, &o));
    const char *text = texts_differ(&s, &c, &x, &y, &u);
    snprintf(kept, sizeof kept, "%s", text ? text : "");
    unsteady_release(&u);
    hpc_buf_release(&x);
    hpc_buf_release(&y);
    hpc_buf_release(&z);
    hpc_arena_free(s.arena);
    return kept;
}

static void numbers_have_a_tolerance(void **state)
{
    (void)state;
    assert_string_equal(differ("sum = 1.2345678901 end", "sum =  1.2345678902\nend", NULL), "");
    assert_string_equal(differ("x=1.5,y=-2e-3", "x=1.5,y=-2.0000000001e-3", NULL), "");
    assert_string_equal(differ("12345678901", "12345678902", NULL), ""); /* a sum, with %.0f */
    assert_string_equal(differ("a 1.25\nb 2.5", "a 1.25\nb 2.6", NULL),
                        "line 2 has '2.6' where the serial run has '2.5'");
    assert_string_equal(differ("n = 1000000", "n = 1000001", NULL),
                        "line 1 has '1000001' where the serial run has '1000000'");
    assert_string_equal(differ("ok", "no", NULL), "line 1 has 'no' where the serial run has 'ok'");
    assert_string_equal(differ("1 2", "1", NULL), "the output ends before '2' on line 1");
    assert_string_equal(differ("1", "1\n2", NULL), "the output is longer: '2' on line 2");
    assert_true(*differ("1e-13", "2e-13", NULL) == '\0'); /* within atol */
    assert_true(*differ("nan", "1", NULL) && *differ("v1", "v2", NULL));
}

static void what_changes_is_left_out(void **state)
{
    (void)state;
    assert_string_equal(differ("t 0.11 e 5.0", "t 0.35 e 5.0", "t 0.12 e 5.0"), "");
    assert_true(*differ("t 0.11 e 5.0", "t 0.35 e 6.0", "t 0.12 e 5.0"));
    assert_string_equal(differ("took 0.11 s, 4 threads", "took 0.35 s, 2 threads", NULL), "");
    assert_string_equal(differ("[3.1 GFLOP/s]", "[0.2 GFLOP/s]", NULL), "");
    assert_string_equal(differ("Nov 29 03:53:21 2026", "Nov 29 03:54:02 2026", NULL), "");
    assert_string_equal(differ("at 9:59:59", "at 9:59:58", NULL), "");
    assert_true(*differ("ratio 1:53", "ratio 1:54", NULL) && *differ("1:2:3:4", "1:2:3:5", NULL));
    assert_true(*differ("time step 5 energy 3.5", "time step 5 energy 4.5", NULL));
    assert_string_equal(differ("a", "b", "c"), ""); /* nothing can be said */
}

/* ---- programs ------------------------------------------------------------------------------- */

#define HEAD                                                                                       \
    "#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n"                                 \
    "static double a[1000], b[1000];\n"                                                            \
    "int main(int c, char **v)\n{\n    double s = 0;\n    (void)v;\n"
#define TAIL "    return 0;\n}\n"
#define FILL "    for (int i = 0; i < 1000; i++) a[i] = c + i % 7 * 0.1;\n"
#define SUM  "    for (int i = 0; i < 1000; i++) s += a[i];\n"
#define COPY "    for (int i = 0; i < 1000; i++) b[i] = 2 * a[i];\n"
#define SHOW "    printf(\"%.15g %g\\n\", s, b[999]);\n"

static void begin(program *p, void **state, const char *text)
{
    program_write(p, *state, "x.c", text);
    p->options.build = "cc x.c -o x";
    p->options.run = "./x";
}

/* The n-th loop has evidence that holds a text, and a verdict. */
static void expect(const program *p, int64_t n, hpc_verdict v, const char *text)
{
    const hpc_pragma_loop *l = &p->loops.item[n];
    assert_true(n < p->loops.n);
    if (l->verdict == v && evidence_of(l, "run", text)) return;
    show_loop(l);
    fail_msg("loop %lld should be %s, with '%s'", (long long)n, hpc_verdict_name(v), text);
}

static void right_directives(void **state)
{
    program p;
    NEED_LIBRARY;
    begin(&p, state, HEAD FILL SUM COPY SHOW TAIL);
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    assert_int_equal(p.loops.n, 3);
    for (int64_t k = 0; k < 3; k++)
        expect(&p, k, HPC_VERDICT_PARALLEL,
               "with 1, 2 and 4 threads the output equals that of the serial run (2 numbers");
    assert_int_equal(hpc_test_entries(p.folder), 1);
    program_close(&p);
}

static void a_program_that_does_not_start_is_not_compared(void **state)
{
    program p;
    NEED_LIBRARY;
    begin(&p, state, HEAD FILL SUM COPY SHOW TAIL);
    p.options.run = "./absent";
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 0, HPC_VERDICT_PARALLEL, "the serial run exited with status 127");
    program_close(&p);
}

static void wrong_among_right(void **state)
{
    program p;
    NEED_LIBRARY;
    begin(&p, state, HEAD FILL SUM COPY SHOW TAIL);
    p.loops.item[1].pragma = "#pragma omp parallel for firstprivate(s)"; /* the sum is lost */
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 0, HPC_VERDICT_PARALLEL, "the output equals that of the serial run");
    expect(&p, 1, HPC_VERDICT_UNSAFE, "line 1 has '0' where the serial run has '");
    expect(&p, 2, HPC_VERDICT_PARALLEL, "the output equals that of the serial run");
    program_close(&p);
}

static void wrong_within_right(void **state)
{
    program p;
    NEED_LIBRARY;
    begin(&p, state,
          HEAD "    for (int i = 0; i < 10; i++) {\n        double t = i;\n"
               "        for (int k = 0; k < 9; k++) t += k;\n        a[i] = t;\n    }\n"
               "    printf(\"%g\\n\", a[9]);\n" TAIL);
    p.loops.item[1].pragma = "#pragma omp parallel for firstprivate(t)";
    p.loops.item[1].verdict = HPC_VERDICT_PARALLEL;
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 0, HPC_VERDICT_PARALLEL, "the output equals that of the serial run");
    expect(&p, 1, HPC_VERDICT_UNSAFE, "line 1 has '9' where the serial run has '45'");
    program_close(&p);
}

static void does_not_compile(void **state)
{
    program p;
    NEED_LIBRARY;
    begin(&p, state, HEAD FILL COPY SHOW TAIL);
    p.loops.item[1].pragma = "#pragma omp parallel for private(nothing_of_that_name)";
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 0, HPC_VERDICT_PARALLEL, "the output equals that of the serial run");
    expect(&p, 1, HPC_VERDICT_UNKNOWN, "nothing_of_that_name");
    program_close(&p);
}

/* A directive that is there is tried without being put there, and not when it is another's turn. */
static void existing_directive(void **state)
{
    program p;
    NEED_LIBRARY;
    begin(&p, state, HEAD FILL "#pragma omp parallel for firstprivate(s)\n" SUM COPY SHOW TAIL);
    p.loops.item[1].existing = "#pragma omp parallel for firstprivate(s)";
    p.loops.item[1].existing_is = HPC_EXISTING_UNPROVEN;
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 1, HPC_VERDICT_UNSAFE, "where the serial run has");
    expect(&p, 2, HPC_VERDICT_PARALLEL, "the output equals that of the serial run");
    program_close(&p);
    begin(&p, state, HEAD FILL "#pragma omp parallel for firstprivate(s)\n" SUM COPY SHOW TAIL);
    p.loops.item[1].existing = "#pragma omp parallel for firstprivate(s)";
    p.loops.item[1].existing_is = HPC_EXISTING_REDUCTION; /* the proposal stands for it */
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 1, HPC_VERDICT_PARALLEL, "the output equals that of the serial run");
    program_close(&p);
}

/* ---- Fortran -------------------------------------------------------------------------------- */

#define FORTRAN_HEAD                                                                               \
    "program x\n  real(8) :: a(1000), b(1000), s\n  integer :: i, k\n  s = 0\n"                    \
    "  do i = 1, 1000\n    a(i) = i\n  end do\n"
#define FORTRAN_TAIL "  print *, s, b(1000), k\nend program\n"

static void begin_fortran(program *p, void **state, const char *text)
{
    program_write(p, *state, "x.f90", text);
    p->options.build = "gfortran x.f90 -o x";
    p->options.run = "./x";
}

static void need_gfortran(void)
{
    NEED_FLANG;
    if (hpc_proc_exists("gfortran")) return;
    print_message("SKIP: there is no gfortran\n");
    skip();
}

/* Directives take effect: one that loses the sum is found. */
static void wrong_among_right_in_fortran(void **state)
{
    static const char text[] = FORTRAN_HEAD "  do i = 1, 1000\n    s = s + a(i)\n  end do\n"
                                            "  do i = 1, 1000\n    b(i) = a(i)\n  end do\n"
                                            "  k = 3\n" FORTRAN_TAIL;
    program p;
    need_gfortran();
    begin_fortran(&p, state, text);
    p.loops.item[1].pragma = "!$omp parallel do firstprivate(s) shared(a) private(i) default(none)";
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 0, HPC_VERDICT_PARALLEL, "the output equals that of the serial run");
    expect(&p, 1, HPC_VERDICT_UNSAFE, "line 1 has ");
    expect(&p, 2, HPC_VERDICT_PARALLEL, "the output equals that of the serial run");
    program_close(&p);
}

/* A wrong directive is replaced, together with the one that ends it. */
static void existing_directive_in_fortran(void **state)
{
    static const char text[] =
        FORTRAN_HEAD "  !$omp parallel do firstprivate(s) &\n  !$omp   private(i)\n"
                     "  do i = 1, 1000\n    s = s + a(i)\n  end do\n\n  !$OMP END PARALLEL DO\n"
                     "  do i = 1, 1000\n    b(i) = a(i)\n  end do\n"
                     "  k = 3\n" FORTRAN_TAIL;
    program p;
    need_gfortran();
    begin_fortran(&p, state, text);
    assert_non_null(p.loops.item[1].existing);
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 1, HPC_VERDICT_PARALLEL, "the better directive on 1, 2 and 4 threads");
    expect(&p, 2, HPC_VERDICT_PARALLEL, "the output equals that of the serial run");
    program_close(&p);
}

static void written_files(void **state)
{
    static const char write_both[] =
        HEAD FILL SUM "    FILE *f = fopen(\"out.txt\", \"w\");\n"
                      "    fprintf(f, \"%g\\n\", s);\n    fclose(f);\n"
                      "    f = fopen(\"out.bin\", \"wb\");\n"
                      "    fwrite(a, sizeof a, 1, f);\n    fclose(f);\n" TAIL;
    program p;
    NEED_LIBRARY;
    begin(&p, state, write_both);
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 1, HPC_VERDICT_PARALLEL, ", 2 files)");
    program_close(&p);
    begin(&p, state, write_both);
    p.loops.item[0].pragma = "#pragma omp parallel for if(1) firstprivate(a)";
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 0, HPC_VERDICT_UNSAFE, "out.");
    program_close(&p);
}

/* ---- unrelated defects ----------------------------------------------------------------------- */

static void changes_by_itself(void **state)
{
    program p;
    NEED_LIBRARY;
    begin(&p, state,
          HEAD FILL SUM SHOW "    struct timespec t;\n    clock_gettime(CLOCK_MONOTONIC, &t);\n"
                             "    printf(\"stamp %ld\\n\", t.tv_nsec);\n" TAIL);
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 1, HPC_VERDICT_PARALLEL, "1 that change between serial runs");
    program_close(&p);
    begin(&p, state,
          HEAD FILL SUM SHOW "    struct timespec t;\n    clock_gettime(CLOCK_MONOTONIC, &t);\n"
                             "    for (long n = t.tv_nsec; n; n /= 2) printf(\"x%c \", 'a' + n % "
                             "26);\n" TAIL);
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 1, HPC_VERDICT_PARALLEL, "changes from run to run");
    program_close(&p);
}

static void one_loop(void **state, const char *more, const char *build, const char *text)
{
    char whole[2000];
    program p;
    snprintf(whole, sizeof whole, "%s%s%s", HEAD FILL, more, SHOW TAIL);
    begin(&p, state, whole);
    p.options.build = build;
    if (strstr(more, "for (;;)")) p.options.seconds = 2;
    p.options.memory_bytes = (size_t)400 << 20;
    OK(hpc_verify_run(&p.loops, &p.file, &p.options));
    expect(&p, 0, HPC_VERDICT_PARALLEL, text);
    program_close(&p);
}

static void ends_of_all_kinds(void **state)
{
    NEED_LIBRARY;
    one_loop(state, "    if (c) abort();\n", "cc x.c -o x",
             "the serial run was killed by signal 6");
    one_loop(state, "    for (;;) b[0]++;\n", "cc x.c -o x", "the serial run did not end within");
    one_loop(state,
             "    char *q = malloc(1 << 29);\n    if (q) for (int i = 0; i < 1 << 29; i++) "
             "q[i] = 1;\n    if (!q) raise(SIGKILL);\n",
             "cc -include signal.h x.c -o x", "the serial run was killed by signal 9");
    one_loop(state, "", "cc x.c -o x -lno_such_library", "the unchanged build exited with status");
    one_loop(state, "#ifdef _OPENMP\n    for (;;) b[0]++;\n#endif\n", "cc x.c -o x",
             "with 1 threads it does not end within");
    one_loop(state, "    return 5;\n", "cc x.c -o x", "without output to compare");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_have_a_tolerance),
        TEST(what_changes_is_left_out),
        TEST(right_directives),
        TEST(wrong_among_right),
        TEST(a_program_that_does_not_start_is_not_compared),
        TEST(wrong_within_right),
        TEST(does_not_compile),
        TEST(existing_directive),
        TEST(written_files),
        TEST(changes_by_itself),
        TEST(ends_of_all_kinds),
        TEST(wrong_among_right_in_fortran),
        TEST(existing_directive_in_fortran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
