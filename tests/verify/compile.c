/*
 * Tests of compilation in infer/verify: directives that compilers accept or reject, files that do
 * not compile without them, and missing compilers.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/verify/programs.h"

static const char three_loops[] =
    "#include <math.h>\n"
    "#include \"beside.h\"\n"
    "double f(int n, double *restrict x, const double *restrict y)\n{\n    double s = 0;\n"
    "    for (int i = 0; i < n; i++) x[i] = sqrt(y[i]) * BESIDE;\n" /* line 6 */
    "#pragma omp parallel for\n"
    "    for (int i = 0; i < n; i++)\n" /* line 8 */
    "        s += x[i];\n"
    "    for (int i = 0; i < n; i++) x[i] = s;\n" /* line 10 */
    "    return s;\n}\n";

static hpc_verify_compiler begin(program *p, void **state, const char *text)
{
    hpc_verify_compiler c = HPC_VERIFY_COMPILER_DEFAULTS;
    char path[PATH_MAX];
    hpc_test_path(path, *state, "program");
    OK(hpc_file_mkdir(path));
    hpc_test_path(path, *state, "program/beside.h");
    OK(hpc_file_save(path, "#define BESIDE 2\n", 17));
    program_write(p, *state, "x.c", text);
    snprintf(p->path, sizeof p->path, "%.3000s/x.c", p->folder);
    c.path = p->path;
    c.checker = p->checker;
    c.seconds = PATIENCE;
    return c;
}

static void expect(const program *p, int64_t n, hpc_verdict v, const char *text)
{
    const hpc_pragma_loop *l = &p->loops.item[n];
    assert_true(n < p->loops.n);
    if (l->verdict == v && evidence_of(l, "compile", text)) return;
    show_loop(l);
    fail_msg("loop %lld should be %s, with '%s'", (long long)n, hpc_verdict_name(v), text);
}

static void good_directives_are_accepted(void **state)
{
    program p;
    NEED_LIBRARY;
    hpc_verify_skip skip = {0};
    hpc_verify_compiler c = begin(&p, state, three_loops);
    assert_int_equal(p.loops.n, 3);
    p.loops.item[1].existing = "#pragma omp parallel for"; /* and replaced */
    p.loops.item[1].existing_is = HPC_EXISTING_REDUCTION;
    OK(hpc_verify_compile(&skip, &p.loops, &p.file, &c));
    for (int64_t k = 0; k < 3; k++) {
        expect(&p, k, HPC_VERDICT_PARALLEL, "libclang accepts the directive");
        expect(&p, k, HPC_VERDICT_PARALLEL, "cc compiles the directive");
    }
    program_close(&p);
}

/* Two rejected together, each with its own message. */
static void rejected_directives_have_their_own_messages(void **state)
{
    program p;
    NEED_LIBRARY;
    hpc_verify_skip skip = {0};
    hpc_verify_compiler c = begin(&p, state, three_loops);
    p.loops.item[0].pragma = "#pragma omp parallel for private(missing)";
    p.loops.item[2].pragma = "#pragma omp parallel for default(none) shared(x)";
    c.checker = NULL;
    OK(hpc_verify_compile(&skip, &p.loops, &p.file, &c));
    expect(&p, 0, HPC_VERDICT_UNKNOWN, "cc rejects the directive: ");
    assert_non_null(strstr(evidence_of(&p.loops.item[0], "compile", "")->text, "missing"));
    expect(&p, 1, HPC_VERDICT_PARALLEL, "cc compiles the directive");
    expect(&p, 2, HPC_VERDICT_UNKNOWN, "cc rejects the directive: ");
    program_close(&p);
}

static void libclang_rejects_directives(void **state)
{
    program p;
    NEED_LIBRARY;
    hpc_verify_skip skip = {0};
    hpc_verify_compiler c = begin(&p, state, three_loops);
    p.loops.item[0].pragma = "#pragma omp parallel for private(missing)";
    p.loops.item[2].pragma = "#pragma omp parallel for private(s) reduction(+:s)";
    c.compiler = "";
    OK(hpc_verify_compile(&skip, &p.loops, &p.file, &c));
    expect(&p, 0, HPC_VERDICT_UNKNOWN, "libclang rejects the directive: use of undeclared");
    expect(&p, 1, HPC_VERDICT_PARALLEL, "libclang accepts the directive");
    expect(&p, 2, HPC_VERDICT_UNKNOWN, "libclang rejects the directive: ");
    program_close(&p);
}

static void file_that_does_not_compile_is_skipped(void **state)
{
    program p;
    NEED_LIBRARY;
    hpc_verify_skip skip = {0};
    hpc_verify_compiler c = begin(&p, state,
                                  "#include \"no_such_header.h\"\nvoid f(int n, double *x)\n{\n"
                                  "    for (int i = 0; i < n; i++) x[i] = 0;\n}\n");
    c.checker = NULL;
    p.loops.item[0].verdict = HPC_VERDICT_PARALLEL;
    p.loops.item[0].pragma = "#pragma omp parallel for";
    OK(hpc_verify_compile(&skip, &p.loops, &p.file, &c));
    assert_true(skip.of_file);
    assert_non_null(strstr(skip.why, "x.c:1: cc rejects the unchanged file: no_such_header.h"));
    assert_int_equal(p.loops.item[0].verdict, HPC_VERDICT_PARALLEL);
    assert_null(evidence_of(&p.loops.item[0], "compile", "")); /* not under each loop */
    program_close(&p);
    c = begin(&p, state, three_loops);
    c.compiler = "no-such-compiler-of-hpc";
    assert_int_equal(hpc_verify_compile(&skip, &p.loops, &p.file, &c), HPC_E_IO);
    hpc_error_clear();
    program_close(&p);
}

/* A collapse and a directive within it never stand in the file together. */
static void nested_directives_are_compiled_apart(void **state)
{
    program p;
    NEED_LIBRARY;
    hpc_verify_skip skip = {0};
    hpc_verify_compiler c = begin(&p, state,
                                  "void f(double a[restrict 9][999], int n)\n{\n"
                                  "    for (int i = 0; i < 9; i++)\n"
                                  "        for (int k = 0; k < n; k++) a[i][k] = i;\n}\n");
    c.checker = NULL;
    assert_int_equal(p.loops.n, 2);
    p.loops.item[0].pragma = "#pragma omp parallel for collapse(2)";
    p.loops.item[1].pragma = "#pragma omp parallel for";
    OK(hpc_verify_compile(&skip, &p.loops, &p.file, &c));
    for (int k = 0; k < 2; k++) expect(&p, k, HPC_VERDICT_PARALLEL, "cc compiles the directive");
    program_close(&p);
}

/* The line of an error in a header is not a line of the file. */
static void error_in_a_header_rejects_no_loop_of_that_line(void **state)
{
    program p;
    NEED_LIBRARY;
    hpc_verify_skip skip = {0};
    hpc_verify_compiler c = begin(&p, state, three_loops);
    static const char sixth_line[] = "\n\n\n\n\n#error six\n#define BESIDE 2\n";
    char path[PATH_MAX];
    hpc_test_path(path, *state, "program/beside.h");
    OK(hpc_file_save(path, sixth_line, strlen(sixth_line)));
    c.checker = NULL;
    OK(hpc_verify_compile(&skip, &p.loops, &p.file, &c));
    assert_true(skip.of_file);
    assert_non_null(strstr(skip.why, "beside.h:6"));
    assert_int_equal(p.loops.item[0].verdict, HPC_VERDICT_PARALLEL);
    program_close(&p);
}

/* ---- Fortran ---- */

static const char fortran_loops[] = "subroutine f(n, x, y)\n"
                                    "  use kinds\n  include 'beside.inc'\n"
                                    "  integer :: i, n\n  real(wp) :: s, x(n), y(n)\n  s = 0\n"
                                    "  do i = 1, n\n    x(i) = y(i) * BESIDE\n  end do\n"
                                    "  !$omp parallel do\n"
                                    "  do i = 1, n\n    s = s + x(i)\n  end do\n"
                                    "  do i = 1, n\n    x(i) = s\n  end do\nend subroutine\n";

static bool has_gfortran(void)
{
    if (hpc_proc_exists("gfortran")) return true;
    print_message("SKIP: gfortran is not installed\n");
    return false;
}

/* x.f90 or x.f, with modules in files of other names, one of which uses the other. */
static hpc_verify_compiler begin_fortran(program *p, void **state, const char *name,
                                         const char *text)
{
    static const struct {
        const char *name, *text;
    } beside[] = {
        {"beside.inc", "      integer, parameter :: beside = 2\n"},
        {"a.f90",
         "module kinds\n  use kinds_of_c\n  integer, parameter :: wp = double\nend module\n"},
        {"b.f90", "module kinds_of_c\n  integer, parameter :: double = 8\nend module kinds_of_c\n"},
    };
    hpc_verify_compiler c = HPC_VERIFY_COMPILER_DEFAULTS;
    char path[PATH_MAX];
    for (size_t k = 0; k < sizeof beside / sizeof *beside; k++) {
        char where[64];
        hpc_test_path(path, *state, "program");
        OK(hpc_file_mkdir(path));
        snprintf(where, sizeof where, "program/%s", beside[k].name);
        OK(hpc_file_save(hpc_test_path(path, *state, where), beside[k].text,
                         strlen(beside[k].text)));
    }
    program_write(p, *state, name, text);
    snprintf(p->path, sizeof p->path, "%.3000s/%s", p->folder, name);
    c.path = p->path;
    c.checker = p->checker;
    c.scratch = ((const hpc_test_folder *)*state)->root;
    c.seconds = PATIENCE;
    return c;
}

static int64_t files_in(const char *folder)
{
    hpc_buf names = {0};
    int64_t n;
    OK(hpc_file_list(&names, &n, folder));
    hpc_buf_release(&names);
    return n;
}

static void fortran_is_compiled_with_its_modules(void **state)
{
    program p;
    NEED_FLANG;
    if (!has_gfortran()) skip();
    hpc_verify_skip skip = {0};
    hpc_verify_compiler c = begin_fortran(&p, state, "x.f90", fortran_loops);
    const int64_t files = files_in(c.scratch), sources = files_in(p.folder);
    assert_int_equal(p.loops.n, 3);
    p.loops.item[1].pragma = "!$omp parallel do reduction(+:s)";
    p.loops.item[2].pragma = "!$omp parallel do reduction(+:missing(1))";
    p.loops.item[2].verdict = HPC_VERDICT_PARALLEL;
    OK(hpc_verify_compile(&skip, &p.loops, &p.file, &c));
    if (skip.why) fail_msg("%s", skip.why);
    for (int k = 0; k < 2; k++)
        expect(&p, k, HPC_VERDICT_PARALLEL, "gfortran compiles the directive");
    expect(&p, 2, HPC_VERDICT_UNKNOWN, "gfortran rejects the directive: ");
    assert_int_equal(files_in(c.scratch), files);
    assert_int_equal(files_in(p.folder), sources);
    program_close(&p);
}

static void fortran_in_fixed_form_is_compiled(void **state)
{
    program p;
    NEED_FLANG;
    if (!has_gfortran()) skip();
    hpc_verify_skip skip = {0};
    hpc_verify_compiler c =
        begin_fortran(&p, state, "x.f",
                      "      subroutine f(n, x)\n      real x(n)\n#ifdef WIDE\n      wrong\n"
                      "#endif\n      do 10 i = 1, n\n   10 x(i) = 0\n      end\n"
                      "      subroutine g(n, x)\n      real x(n,n)\n"
                      "c$omp parallel do collapse(2)\n      do i = 1, n\n      do j = 1, n\n"
                      "        x(j,i) = 0\n      end do\n      end do\n"
                      "c$omp end parallel do\n"
                      "c$omp parallel\nc$omp do private(i,\nc$omp& j) collapse(2)\n"
                      "      do i = 1, n\n      do j = 1, n\n        x(j,i) = 0\n      end do\n"
                      "      end do\nc$omp end do\nc$omp do collapse(2)\n"
                      "      do i = 1, n\n      do j = 1, n\n        x(j,i) = 0\n      end do\n"
                      "      end do\nc$omp enddo\nc$omp endparallel\n      end\n");
    assert_int_equal(p.loops.n, 7);
    for (int k = 2; k < 7; k += 2) {
        p.loops.item[k].verdict = HPC_VERDICT_PARALLEL;
        p.loops.item[k].pragma = "!$omp parallel do";
    }
    OK(hpc_verify_compile(&skip, &p.loops, &p.file, &c));
    if (skip.why) fail_msg("%s", skip.why);
    expect(&p, 0, HPC_VERDICT_PARALLEL, "gfortran compiles the directive");
    for (int k = 2; k < 7; k += 2)
        expect(&p, k, HPC_VERDICT_PARALLEL, "gfortran compiles the directive");
    p.loops.item[0].pragma = "!$omp parallel do private(x,x)";
    OK(hpc_verify_compile(&skip, &p.loops, &p.file, &c));
    expect(&p, 0, HPC_VERDICT_UNKNOWN, "gfortran rejects the directive: ");
    program_close(&p);
}

/* A module without a source: nothing is compiled, and no verdict changes. */
static void fortran_without_a_module_is_skipped(void **state)
{
    program p;
    NEED_FLANG;
    if (!has_gfortran()) skip();
    hpc_verify_skip skip = {0};
    hpc_verify_compiler c =
        begin_fortran(&p, state, "x.f90",
                      "subroutine g(n)\n  use nowhere\nend subroutine\n"
                      "subroutine f(n, x)\n  integer :: n, i\n  real :: x(n)\n"
                      "  do i = 1, n\n    x(i) = 0\n  end do\nend subroutine\n");
    assert_int_equal(p.loops.n, 1);
    p.loops.item[0].verdict = HPC_VERDICT_PARALLEL;
    p.loops.item[0].pragma = "!$omp parallel do";
    OK(hpc_verify_compile(&skip, &p.loops, &p.file, &c));
    assert_true(skip.of_file);
    assert_non_null(strstr(skip.why, "x.f90:2: gfortran rejects the unchanged file: Cannot open "
                                     "module file 'nowhere.mod'"));
    assert_int_equal(p.loops.item[0].verdict, HPC_VERDICT_PARALLEL);
    program_close(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(good_directives_are_accepted),
        TEST(rejected_directives_have_their_own_messages),
        TEST(libclang_rejects_directives),
        TEST(file_that_does_not_compile_is_skipped),
        TEST(nested_directives_are_compiled_apart),
        TEST(error_in_a_header_rejects_no_loop_of_that_line),
        TEST(fortran_is_compiled_with_its_modules),
        TEST(fortran_in_fixed_form_is_compiled),
        TEST(fortran_without_a_module_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
