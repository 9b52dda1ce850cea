/*
 * Tests of `hpccoder pragma` on Fortran: directives are written, read and judged in both forms;
 * without flang, loops are listed with the missing packages.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static void write_text(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

static void holds(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    hpc_buf b = {0};
    test_ok(hpc_file_read(&b, hpc_test_path(path, *state, name), 1 << 20));
    assert_string_equal(b.data, text);
    hpc_buf_release(&b);
}

static void run(void **state, int code, const char *words)
{
    hpc_test_command_in(&o, root_of(state), words);
    if (o.code != code) fail_msg("%s: exit code %d: %s", words, o.code, o.err);
}

static bool has_flang(void)
{
    char path[PATH_MAX];
    return hpc_file_exists(hpc_test_built(path, "hpccoder-flang"));
}

static void need_flang(void)
{
    if (has_flang()) return;
    print_message("SKIP: hpccoder-flang was not built (libflang-19-dev, llvm-19-dev)\n");
    skip();
}

/* Without flang the reason names the packages. */
static void names_the_packages_that_are_missing(void **state)
{
    if (has_flang()) {
        print_message("SKIP: hpccoder-flang was built\n");
        skip();
    }
    write_text(state, "a.f90",
               "subroutine f(n, a)\n  integer :: n\n  real :: a(n)\n"
               "  !$omp parallel do\n  do i = 1, n\n    a(i) = 0\n  end do\nend subroutine\n");
    run(state, 0, "pragma @a.f90");
    hpc_test_says(o.out, "a.f90:5: unknown\n     5 |   do i = 1, n\n       |   ^~~~~~~~~~~\n");
    hpc_test_says(o.out, "    has: !$omp parallel do\n    which is not proven\n");
    hpc_test_says(o.out, "install libflang-19-dev and llvm-19-dev and run `make` again\n");
}

/* Directives of Fortran in both forms: written, read, and judged. */
static void writes_and_judges_directives_of_both_forms(void **state)
{
    need_flang();
    write_text(state, "a.f90",
               "subroutine f(a, s)\n  real(8), intent(inout) :: a(1000000), s\n  integer :: i\n"
               "  do i = 1, 1000000\n    s = s + a(i)\n  end do\n"
               "  !$omp parallel do &\n  !$omp private(i)\n"
               "  do i = 2, 1000000\n    a(i) = a(i - 1)\n  end do\nend subroutine\n");
    write_text(state, "b.f",
               "      subroutine f(a)\n      real a(1000000)\n      do 10 i = 1, 1000000\n"
               "   10 a(i) = 0\n      end\n");
    run(state, 1, "pragma --check @a.f90");
    hpc_test_says(o.out, "    has: !$omp parallel do private(i)\n    which is wrong: ");
    run(state, 0, "pragma --fix @a.f90 @b.f");
    holds(state, "a.f90",
          "subroutine f(a, s)\n  real(8), intent(inout) :: a(1000000), s\n  integer :: i\n"
          "  !$omp parallel do reduction(+:s)\n"
          "  do i = 1, 1000000\n    s = s + a(i)\n  end do\n"
          "  !$omp parallel do &\n  !$omp private(i)\n"
          "  do i = 2, 1000000\n    a(i) = a(i - 1)\n  end do\nend subroutine\n");
    holds(state, "b.f",
          "      subroutine f(a)\n      real a(1000000)\n!$omp parallel do\n"
          "      do 10 i = 1, 1000000\n   10 a(i) = 0\n      end\n");
    run(state, 0, "pragma --fix @a.f90 @b.f");
    hpc_test_says(o.out, "0 directives inserted\n");
}

/* Products of trip counts are computed with 64 bits. */
static void clauses_have_integers_of_64_bits(void **state)
{
    static const char text[] =
        "subroutine f(n, m, a)\n  integer, intent(in) :: n, m\n  real(8), intent(out) :: a(n, m)\n"
        "  integer :: i, j\n  do j = 1, m\n    do i = 1, n\n      a(i, j) = 1\n    end do\n"
        "  end do\n  do j = 2, m\n    do i = 1, n\n      a(i, j) = 2\n    end do\n  end do\n"
        "end subroutine\n";
    char words[PATH_MAX + 64];
    need_flang();
    write_text(state, "a.f90", text);
    run(state, 0, "pragma --json @a.f90");
    hpc_test_says(o.out, "\"enough_iterations\": \"int(m, 8)*n > ");
    run(state, 0, "pragma --fix @a.f90");
    hpc_test_says(o.out, "a.f90:5: !$omp parallel do private(i) if(int(m, 8)*n > ");
    hpc_test_says(o.out, "a.f90:10: !$omp parallel do private(i) if(int(m - 1, 8)*n > ");
    if (system("command -v gfortran >/dev/null") != 0) return;
    snprintf(words, sizeof words, "cd '%s' && gfortran -Wall -Werror -fopenmp -c a.f90",
             root_of(state));
    assert_int_equal(system(words), 0);
}

/* The clauses of the region around a loop count up to the directive that ends it. */
static void regions_last_to_their_end(void **state)
{
    static const char loop[] = "  !$omp do\n  do i = 1, n\n    s = s + a(i)\n  end do\n";
    char text[1024];
    need_flang();
    snprintf(text, sizeof text,
             "subroutine f(n, a, s)\n  integer :: i, n\n  real(8) :: a(n), s\n"
             "  !$omp parallel reduction(+:s)\n%s  !$omp end parallel\n"
             "  !$omp parallel\n%s  !$omp end parallel\nend subroutine\n",
             loop, loop);
    write_text(state, "a.f90", text);
    run(state, 1, "pragma --check @a.f90");
    assert_null(strstr(o.out, "a.f90:6: "));
    hpc_test_says(o.out, "a.f90:12: parallel\n");
    hpc_test_says(o.out, "all threads update s at once: a reduction is missing\n");
}

/* Without a region in sight, an argument may be a variable of the thread that calls. */
static void arguments_of_an_orphaned_loop_are_not_accused(void **state)
{
    static const char text[] =
        "subroutine f(n, a, j)\n  integer :: i, j, n\n  real(8) :: a(n)\n  %s\n"
        "  if (n > 9) goto 5\n  !$omp do\n  do i = 1, n\n    j = n - i\n    a(i) = j\n  end do\n"
        "5 continue\nend subroutine\n";
    char whole[1024];
    need_flang();
    snprintf(whole, sizeof whole, text, "");
    write_text(state, "a.f90", whole);
    run(state, 0, "pragma --check @a.f90");
    snprintf(whole, sizeof whole, text, "common /c/ k");
    for (char *p = whole; (p = strstr(p, "j = n")) != NULL;) *p = 'k';
    write_text(state, "a.f90", whole);
    run(state, 1, "pragma --check @a.f90");
    hpc_test_says(o.out, "line 8: all threads assign k");
}

/* Lines after "!$" are not in the tree, and run as soon as directives count. */
static void lines_for_openmp_leave_a_loop_unknown(void **state)
{
    need_flang();
    write_text(state, "a.f90",
               "subroutine f(n, a, k)\n  integer :: i, n, k\n  real(8) :: a(n)\n"
               "  do i = 1, n\n    a(i) = 2 * a(i)\n  !$ k = i\n  end do\nend subroutine\n");
    run(state, 0, "pragma @a.f90");
    hpc_test_says(o.out, "a.f90:4: unknown\n");
    hpc_test_says(o.out, "a line of it is compiled with OpenMP only\n");
}

/* A procedure with an error, a module in another folder, the module mpi, free form in a .F file. */
static void errors_stay_in_their_procedure(void **state)
{
    char path[PATH_MAX];
    need_flang();
    test_ok(mkdir(hpc_test_path(path, *state, "lib"), 0700));
    write_text(state, "lib/kinds.f90",
               "module kinds\n  integer, parameter :: wp = 8\nend module\n");
    write_text(
        state, "a.F",
        "subroutine broken(n, a)\n  use nowhere\n  integer :: n\n  real :: a(n)\n"
        "  do i = 1, n\n    a(i) = unknown(i)%x\n  end do\nend subroutine\n"
        "subroutine fine(n, a, b)\n  use kinds, only: wp\n  use mpi\n  integer :: n, i, ierr\n"
        "  real(wp), intent(inout) :: a(n), &\n    b(n)\n"
        "  do i = 1, n\n    a(i) = b(i)\n  end do\n"
        "  call mpi_allreduce(a, b, n, mpi_double_precision, mpi_sum, mpi_comm_world, ierr)\n"
        "end subroutine\n");
    run(state, 2, "pragma @a.F");
    hpc_test_says(o.err, "a.F:2: Cannot read module file for module 'nowhere'");
    hpc_test_says(o.out, "a.F:5: unknown\n");
    hpc_test_says(o.out, "a.F:15: parallel\n");
}

/* Each folder above a file is searched with all folders in it, up to the root of the tree. */
static void modules_come_from_the_nearest_folder_of_the_tree(void **state)
{
    static const char use[] = "subroutine f(n, a)\n  use work\n  integer :: n, i\n  real :: a(n)\n"
                              "  do i = 1, n\n    a(i) = w\n  end do\nend subroutine\n";
    static const char plain[] = "module work\n  use kinds\n  real(wp) :: w\nend module\n";
    char path[PATH_MAX];
    need_flang();
    test_ok(hpc_file_mkdir(hpc_test_path(path, *state, "tree/modules/mine/src")));
    test_ok(hpc_file_mkdir(hpc_test_path(path, *state, "tree/modules/lib/src/deep")));
    write_text(state, "outside.f90", "module work\n  real :: w\nend module\n");
    write_text(state, "tree/modules/mine/src/a.f90", use);
    write_text(state, "tree/Makefile", "");
    run(state, 2, "pragma @tree/modules/mine/src/a.f90");
    hpc_test_says(o.err, "a.f90:2: Cannot read module file for module 'work'");
    write_text(state, "tree/modules/lib/src/deep/work.f90", plain);
    write_text(state, "tree/modules/lib/src/kinds.f90",
               "module kinds\n  include 'wp.inc'\nend module\n");
    write_text(state, "tree/modules/lib/src/wp.inc", "  integer, parameter :: wp = 4\n");
    run(state, 0, "pragma @tree/modules/mine/src/a.f90");
    hpc_test_says(o.out, "a.f90:5: parallel\n");
    write_text(state, "tree/modules/lib/near.f90",
               "module work\n  real :: w\n  !$omp threadprivate(w)\nend module\n");
    run(state, 0, "pragma @tree/modules/mine/src/a.f90");
    hpc_test_says(o.out, "w is thread-local");
}

/* ---- files of one run ----------------------------------------------------------------------- */

/* Each file could be mistaken if what flang keeps of the others were in its sight. */
static const char *const related[][2] = {
    {"base.f90", "module base\n  real :: factor = 2\ncontains\n  subroutine twice(x)\n"
                 "    real, intent(inout) :: x\n    x = factor * x\n  end subroutine\n"
                 "  subroutine all(n, a)\n    integer :: n, i\n    real :: a(n)\n"
                 "    call report(n)\n    do i = 1, n\n      call twice(a(i))\n    end do\n"
                 "  end subroutine\nend module\n"},
    {"user.f90", "module user\n  use base\ncontains\n  subroutine some(n, a)\n"
                 "    integer :: n, i\n    real :: a(n)\n    do i = 1, n\n"
                 "      call twice(a(i))\n    end do\n    call report(n)\n"
                 "  end subroutine\nend module\n"},
    {"variable.f90", "subroutine f(n, a)\n  real a(n)\n  do i = 1, n\n    report = a(i)\n"
                     "    a(i) = report + 1\n  end do\nend subroutine\n"},
    {"report.f90", "subroutine report(n)\n  integer :: n, i\n  real, save :: a(100)\n"
                   "  do i = 1, 100\n    a(i) = n\n  end do\nend subroutine\n"},
    {"other.f90", "module other\n  integer :: factor = 3\ncontains\n  subroutine twice(x)\n"
                  "    real, intent(inout) :: x\n    x = x + factor\n    factor = factor + 1\n"
                  "  end subroutine\nend module\n"},
    {"last.f90", "subroutine last(n, a)\n  use other\n  integer :: n, i\n  real :: a(n)\n"
                 "  do i = 1, n\n    call twice(a(i))\n  end do\nend subroutine\n"},
    {"wrong.f90", "module wrong\n  use base, only: nothing\nend module\n"},
    {"common.f90", "subroutine c(n)\n  common /x/ a(100)\n  do i = 1, n\n    a(i) = i\n"
                   "  end do\nend subroutine\nsubroutine d(n)\n  common /x/ a(50), b(50)\n"
                   "  do i = 1, n\n    b(i) = a(i)\n  end do\nend subroutine\n"},
    {"again.f90", "subroutine again(n, a)\n  use user\n  integer :: n, i\n  real :: a(n)\n"
                  "  do i = 1, n\n    call twice(a(i))\n  end do\nend subroutine\n"},
};
enum { RELATED = sizeof related / sizeof *related };

static void files_of_one_run_are_judged_as_alone(void **state)
{
    char alone[RELATED][8192], words[512];
    need_flang();
    for (int k = 0; k < RELATED; k++) write_text(state, related[k][0], related[k][1]);
    for (int k = 0; k < RELATED; k++) {
        snprintf(words, sizeof words, "pragma -q --json @%s", related[k][0]);
        run(state, strcmp(related[k][0], "wrong.f90") == 0 ? 2 : 0, words);
        const char *from = strchr(o.out, '{'), *to = strrchr(o.out, '}');
        assert_true(from && to && (size_t)(to - from) + 2 < sizeof alone[k]);
        snprintf(alone[k], (size_t)(to - from) + 2, "%s", from);
    }
    for (int turn = 0; turn < 2; turn++) {
        strcpy(words, "pragma -q -j1 --json");
        for (int k = 0; k < RELATED; k++) {
            const int i = turn ? RELATED - 1 - k : k;
            snprintf(words + strlen(words), sizeof words - strlen(words), " @%s", related[i][0]);
        }
        run(state, 2, words);
        for (int k = 0; k < RELATED; k++)
            if (!strstr(o.out, alone[k]))
                fail_msg("%s differs from: %s\n%s", related[k][0], alone[k], o.out);
    }
}

/* A copy of a file in its folder defines the same modules, and comes first. */
static void a_file_uses_its_own_modules(void **state)
{
    need_flang();
    static const char text[] = "module sizes\n"
                               "  integer :: %s = 4\n"
                               "end module\n"
                               "subroutine s(a, n)\n"
                               "  use sizes\n"
                               "  real :: a(n)\n"
                               "  do i = 1, n\n"
                               "    a(i) = width\n"
                               "  end do\n"
                               "end subroutine\n";
    char own[512], copy[512];
    snprintf(own, sizeof own, text, "width");
    snprintf(copy, sizeof copy, text, "depth");
    write_text(state, "old.f90", copy);
    write_text(state, "own.f90", own);
    run(state, 0, "pragma @own.f90");
    hpc_test_says(o.out, "own.f90:7: parallel\n");
}

/* A search for modules that leaves the file's folder finds no procedures. */
static void procedures_come_from_the_same_folder(void **state)
{
    static const char scale[] = "subroutine scale(x)\n  real :: x\n  x = 2 * x\nend subroutine\n";
    char path[PATH_MAX];
    need_flang();
    test_ok(mkdir(hpc_test_path(path, *state, "mine"), 0700));
    test_ok(mkdir(hpc_test_path(path, *state, "theirs"), 0700));
    write_text(state, "mine/a.f90",
               "subroutine f(n, a)\n  use mpi\n  integer :: n, i\n  real :: a(n)\n"
               "  do i = 1, n\n    call scale(a(i))\n  end do\nend subroutine\n");
    write_text(state, "theirs/scale.f90", scale);
    run(state, 0, "pragma @mine/a.f90");
    hpc_test_says(o.out, "a.f90:5: unknown\n");
    write_text(state, "mine/scale.f90", scale);
    run(state, 0, "pragma @mine/a.f90");
    hpc_test_says(o.out, "a.f90:5: parallel\n");
    for (char name[] = "mine/b.f90"; name[5] < 'e'; name[5]++) { /* any may be linked */
        write_text(state, name,
                   "subroutine scale(x)\n  real :: x\n  real, save :: y\n  y = y + x\n"
                   "  x = y\nend subroutine\n");
        run(state, 0, "pragma @mine/a.f90");
        hpc_test_says(o.out, "a.f90:5: unknown\n");
    }
}

/* Two files define a module; the one with its name counts. Its variables are threadprivate, so a
 * loop that uses them is unknown. */
static void variables_of_modules_may_be_threadprivate(void **state)
{
    static const char use[] = "subroutine f(n, a)\n  use work\n  integer :: n, i\n  real :: a(n)\n"
                              "  do i = 1, n\n    a(i) = w\n  end do\nend subroutine\n";
    need_flang();
    write_text(state, "a.f90", "module work\n  include 'none.h'\n  real :: w\nend module\n");
    write_text(state, "work.f90", "module work\n  real :: w\nend module\n");
    write_text(state, "b.f90", use);
    run(state, 0, "pragma @b.f90");
    hpc_test_says(o.out, "b.f90:5: parallel\n");
    write_text(state, "work.f90",
               "module work\n  real :: w, v\n  !$omp threadprivate(w)\nend module\n");
    run(state, 0, "pragma @b.f90");
    hpc_test_says(o.out, "b.f90:5: unknown\n");
    write_text(state, "c.inc", "      common /c/ w\nc$omp threadprivate(\nc$omp&  /c/)\n");
    write_text(state, "c.f",
               "      subroutine f(n, a)\n      include 'c.inc'\n      real a(n)\n"
               "      do i = 1, n\n        a(i) = w\n      end do\n"
               "      do i = 1, n\n        a(i) = 2 * a(i)\n      end do\n      end\n");
    run(state, 0, "pragma @c.f");
    hpc_test_says(o.out, "c.f:4: unknown\n");
    hpc_test_says(o.out, "c.f:7: parallel\n");
}

/* Pipes, devices and large files among the sources and makefiles of a folder are no texts. */
static void reads_regular_files_of_the_folder_only(void **state)
{
    char path[PATH_MAX];
    need_flang();
    write_text(state, "a.f90",
               "subroutine f(n, a)\n  use work\n  integer :: n, i\n  real :: a(n)\n"
               "  do i = 1, n\n    a(i) = w\n  end do\nend subroutine\n"
               "subroutine g\n#ifdef MISSING\n#endif\n  call\nend subroutine\n");
    write_text(state, "work.f90", "module work\n  real :: w\nend module\n");
    assert_int_equal(mkfifo(hpc_test_path(path, *state, "pipe.f90"), 0600), 0);
    assert_int_equal(mkfifo(hpc_test_path(path, *state, "Makefile.pipe"), 0600), 0);
    write_text(state, "large.f90", "");
    assert_int_equal(truncate(hpc_test_path(path, *state, "large.f90"), (16 << 20) + 1), 0);
    run(state, 2, "pragma @a.f90");
    hpc_test_says(o.out, "a.f90:5: parallel\n");
}

/* A call of a procedure with a body has a reason, with its line if the body is in the file. */
static void reasons_say_why_a_call_is_not_analysed(void **state)
{
    static const char text[] = "module m\n  use far\n  real :: total, scale\ncontains\n"
                               "  subroutine add(x)\n    real :: x\n    total = total + x\n"
                               "  end subroutine\n"
                               "  subroutine tick(x)\n    real :: x\n    integer :: k = 0\n"
                               "    k = k + 1\n    x = k\n  end subroutine\n"
                               "  subroutine show(x)\n    real :: x\n    print *, x\n"
                               "  end subroutine\n"
                               "  subroutine twice(x)\n    real :: x\n    call add(x)\n"
                               "  end subroutine\n"
                               "  subroutine asks(x)\n    real :: x\n    call nobody(x)\n"
                               "  end subroutine\n"
                               "  recursive subroutine deep(x)\n    real :: x\n"
                               "    if (x > 0) call deep(x - 1)\n  end subroutine\n"
                               "  real function scaled(x)\n    real :: x\n"
                               "    scaled = scale * x\n  end function\n"
                               "  subroutine f(n, x, given)\n    integer :: n, i\n"
                               "    real :: x(n), half, y\n    external given\n"
                               "    half(y) = y / 2\n    do i = 1, n\n"
                               "      call add(x(i))\n      call tick(x(i))\n"
                               "      call show(x(i))\n      call twice(x(i))\n"
                               "      call asks(x(i))\n      call deep(x(i))\n"
                               "      scale = i\n      x(i) = scaled(x(i))\n"
                               "      call given(x(i))\n      x(i) = half(x(i))\n"
                               "      call move(x(i))\n      call nobody(x(i))\n"
                               "    end do\n  end subroutine\nend module\n";
    static const char *const reasons[] = {
        "\"add changes a variable that outlives it (line 7)\"",
        "\"tick keeps a saved variable (line 12)\"",
        "\"show reads or writes files (line 17)\"",
        "\"twice changes a variable that outlives it (line 21)\"",
        "\"asks calls nobody, which is not defined in this file (line 25)\"",
        "\"deep is recursive (line 29)\"",
        "\"scaled reads scale, which this procedure assigns\"",
        "\"given is a dummy procedure\"",
        "\"half is a statement function\"",
        "\"move changes a variable that outlives it\"",
        "\"nobody is not defined in this file\"",
    };
    need_flang();
    write_text(state, "a.f90", text);
    write_text(state, "far.f90",
               "module far\n  real :: place\ncontains\n  subroutine move(x)\n    real :: x\n"
               "    place = x\n  end subroutine\nend module\n");
    run(state, 0, "pragma --json @a.f90");
    for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++) hpc_test_says(o.out, reasons[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reasons_say_why_a_call_is_not_analysed,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(reads_regular_files_of_the_folder_only,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(variables_of_modules_may_be_threadprivate,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(files_of_one_run_are_judged_as_alone, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(a_file_uses_its_own_modules, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(procedures_come_from_the_same_folder, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(names_the_packages_that_are_missing, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(writes_and_judges_directives_of_both_forms,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(clauses_have_integers_of_64_bits, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(regions_last_to_their_end, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(arguments_of_an_orphaned_loop_are_not_accused,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(lines_for_openmp_leave_a_loop_unknown,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(modules_come_from_the_nearest_folder_of_the_tree,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(errors_stay_in_their_procedure, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
