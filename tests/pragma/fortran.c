/*
 * Tests of the analysis on labelled Fortran loops (tests/pragma/fortran): a comment "safe" or
 * "unsafe" stands above each. No unsafe loop is reported as parallel; most safe ones are found.
 */
/* tsan: left out, other tests start the same threads. */
#include <stdio.h>
#include <stdlib.h>

#include "infer/pragma/directives.h"
#include "tests/source/check.h"

#define FOLDER "tests/pragma/fortran"
enum { SAFE_LEAST_PERCENT = 95, UNSAFE_LEAST = 200, LOOPS_LEAST = 400 };

typedef struct counts {
    int64_t safe, unsafe, found, wrong;
} counts;

/* The label in the line above a loop: 's', 'u' or 0. */
static char label_above(const hpc_buf *text, size_t at)
{
    size_t line = hpc_line_begin(text, at), above = line > 0 ? hpc_line_begin(text, line - 1) : 0;
    const char *p = text->data + above;
    if (line == 0) return 0;
    while (*p == ' ' || *p == '!' || *p == 'C') p++;
    return strncmp(p, "safe\n", 5) == 0 ? 's' : strncmp(p, "unsafe\n", 7) == 0 ? 'u' : 0;
}

static void judge(counts *c, const hpc_directive_file *f)
{
    const bool show = getenv("HPC_PRAGMA_SHOW");
    for (int64_t k = 0; k < f->loops.n; k++) {
        const hpc_pragma_loop *l = &f->loops.item[k];
        const char label = label_above(&f->text, l->at);
        const bool found = l->verdict == HPC_VERDICT_PARALLEL;
        c->safe += label == 's';
        c->unsafe += label == 'u';
        c->found += label == 's' && found;
        c->wrong += label == 'u' && found;
        if ((label == 'u' && found) || (show && label == 's' && !found))
            print_message("%s:%u: %s is %s: %s\n", f->path, l->line,
                          label == 's' ? "safe" : "unsafe", hpc_verdict_name(l->verdict),
                          l->evidence_n > 0 ? l->evidence[0].text : "");
    }
}

static void no_unsafe_loop_is_parallel(void **state)
{
    counts c = {0};
    hpc_buf names = {0};
    int64_t n;
    (void)state;
    NEED_FLANG;
    hpc_checker *checker = open_checker(0);
    OK(hpc_file_list(&names, &n, FOLDER));
    const char *name = names.data;
    for (int64_t i = 0; i < n; i++, name += strlen(name) + 1) {
        char path[PATH_MAX];
        if (hpc_language_of_path(name) != HPC_LANGUAGE_FORTRAN) continue;
        snprintf(path, sizeof path, FOLDER "/%s", name);
        hpc_directive_file f = {.path = path};
        OK(hpc_directive_file_read(&f));
        OK(hpc_directives_find(&f, checker, &(hpc_directive_options){0}));
        if (f.untyped || f.errors) fail_msg("%s: %s", path, f.untyped ? f.untyped : f.error);
        judge(&c, &f);
        hpc_directive_file_release(&f);
        hpc_buf_release(&f.text);
    }
    print_message("%lld safe loops, %lld found; %lld unsafe ones, %lld called parallel\n",
                  (long long)c.safe, (long long)c.found, (long long)c.unsafe, (long long)c.wrong);
    assert_int_equal(c.wrong, 0);
    assert_true(c.unsafe >= UNSAFE_LEAST && c.unsafe + c.safe >= LOOPS_LEAST);
    assert_true(100 * c.found >= SAFE_LEAST_PERCENT * c.safe);
    hpc_buf_release(&names);
    hpc_checker_close(checker);
}

/* Its loops are listed with the reason, and a process without that limit judges the next file. */
static void a_time_limit_costs_one_file(void **state)
{
    static const char *const paths[] = {FOLDER "/control2.f90", FOLDER "/affine.f90"};
    char program[PATH_MAX], fortran[PATH_MAX];
    hpc_checker_options o = HPC_CHECKER_DEFAULTS;
    hpc_checker *limited, *patient = open_checker(0);
    (void)state;
    NEED_FLANG;
    o.program = hpc_test_built(program, "hpccoder-clang");
    o.fortran = hpc_test_built(fortran, "hpccoder-flang");
    o.open_seconds = 1e-6;
    OK(hpc_checker_open(&limited, &o));
    for (int k = 0; k < 2; k++) {
        hpc_directive_file f = {.path = paths[k]};
        OK(hpc_directive_file_read(&f));
        OK(hpc_directives_find(&f, k == 0 ? limited : patient, &(hpc_directive_options){0}));
        assert_true(f.loops.n > 0);
        for (int64_t i = 0; k == 0 && i < f.loops.n; i++)
            assert_int_equal(f.loops.item[i].verdict, HPC_VERDICT_UNKNOWN);
        if (k == 0) {
            assert_non_null(f.untyped);
            if (!strstr(f.untyped, "control2.f90 cannot be checked: flang did not finish within"))
                fail_msg("%s", f.untyped);
        } else if (f.untyped) {
            fail_msg("%s", f.untyped);
        }
        hpc_directive_file_release(&f);
        hpc_buf_release(&f.text);
    }
    hpc_checker_close(limited);
    hpc_checker_close(patient);
}

static void fixed_programs_give_the_serial_results(void **state)
{
    char program[PATH_MAX], command[PATH_MAX + 64];
    (void)state;
    NEED_FLANG;
    if (system("gfortran --version >/dev/null 2>&1") != 0) {
        print_message("SKIP: gfortran is not installed\n");
        skip();
    }
    snprintf(command, sizeof command, "sh tests/pragma/fortran_equal.sh '%s'",
             hpc_test_built(program, "hpccoder"));
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_unsafe_loop_is_parallel),
        cmocka_unit_test(a_time_limit_costs_one_file),
        cmocka_unit_test(fixed_programs_give_the_serial_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
