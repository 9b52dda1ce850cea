/*
 * clause.c: variables named by a directive's clauses, and clauses that are not understood.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "infer/pragma/clause.h"
#include "tests/support/expect.h"

static clause_list read(hpc_arena *a, const char *text)
{
    clause_list l;
    test_ok(clauses_read(&l, text, a));
    return l;
}

static void names(void **state)
{
    hpc_arena *a = hpc_arena_create(0);
    (void)state;
    clause_list l = read(a, "#pragma omp target teams distribute parallel for simd private(i, j) "
                            "firstprivate(ns::k) lastprivate(conditional: t) linear(val(p): 2) "
                            "reduction(task, max:m) reduction(-:s, a[0:n], this->x) shared(y) "
                            "map(tofrom: y[0:n]) schedule(static, 4) collapse(3)");
    assert_int_equal(l.n, 10);
    assert_false(l.odd || l.ordered || l.has_if || l.nowait || l.none || l.privates);
    assert_int_equal(l.collapse, 3);
    assert_non_null(clause_of(&l, CLAUSE_PRIVATE, "i"));
    assert_non_null(clause_of(&l, CLAUSE_PRIVATE, "j"));
    assert_null(clause_of(&l, CLAUSE_PRIVATE, "k"));
    assert_non_null(clause_of(&l, CLAUSE_FIRST, "k"));
    assert_true(clause_of(&l, CLAUSE_LAST, "t")->conditional);
    assert_non_null(clause_of(&l, CLAUSE_LINEAR, "p"));
    assert_int_equal(clause_of(&l, CLAUSE_REDUCTION, "m")->op, OP_MAX);
    assert_int_equal(clause_of(&l, CLAUSE_REDUCTION, "s")->op, '+');
    assert_false(clause_of(&l, CLAUSE_REDUCTION, "s")->section);
    assert_true(clause_of(&l, CLAUSE_REDUCTION, "a")->section);
    assert_non_null(clause_of(&l, CLAUSE_REDUCTION, "x"));
    assert_non_null(clause_of(&l, CLAUSE_SHARED, "y"));
    assert_null(clause_of(&l, CLAUSE_SHARED, "n"));
    hpc_arena_free(a);
}

static void rest(void **state)
{
    hpc_arena *a = hpc_arena_create(0);
    (void)state;
    clause_list l = read(a, "#pragma omp parallel for");
    assert_true(l.n == 0 && l.collapse == 1 && l.threads == 0 && !l.odd);
    l = read(a, "#pragma omp for nowait ordered(1)");
    assert_true(l.nowait && l.ordered && !l.odd);
    l = read(a, "#pragma omp parallel for if(parallel: n > 4) num_threads(1) default(none)");
    assert_true(l.has_if && l.threads == 1 && l.none && !l.odd);
    l = read(a, "#pragma omp parallel for num_threads(2 * n) default(firstprivate) collapse(N)");
    assert_true(l.threads == -1 && l.collapse == -1 && l.privates);
    static const char *const odd[] = {
        "#pragma omp parallel for OWN",      "#pragma omp parallel for OWN(x)",
        "#pragma omp for reduction(mine:x)", "#pragma omp for reduction(inscan, +:x)",
        "#pragma omp for reduction(x)",      "#pragma omp for private(x + 1)",
        "#pragma omp for private(,)",        "#pragma omp for private(*p)"};
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++)
        if (!read(a, odd[k]).odd) fail_msg("%s", odd[k]);
    static const char *const broken[] = {"",
                                         "#pragma omp for private(",
                                         "#pragma omp for private(x",
                                         "#pragma omp for reduction(+:",
                                         "#pragma omp for reduction(:)",
                                         "#pragma omp for )))(((",
                                         "#pragma omp for linear(",
                                         "#pragma omp for lastprivate(conditional:"};
    for (size_t k = 0; k < sizeof broken / sizeof *broken; k++) read(a, broken[k]);
    hpc_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
