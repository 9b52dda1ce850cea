/*
 * Tests of runtime/source/pair.c: contents of functions, similarity, and matching.
 */
/* tsan: left out, starts no thread. */
#include "tests/source/tokens.h"

#include "runtime/source/pair.h"
#include "tests/support/fault.h"

static uint64_t content_of(const char *text, hpc_language l, int64_t k)
{
    hpc_tokens t = test_lex(text, strlen(text), l, false);
    hpc_functions f = {0};
    hpc_buf scratch = {0};
    uint64_t hash = 0;
    assert_int_equal(hpc_functions_find(&f, &t, text, l), 0);
    assert_in_range(k + 1, 0, f.n);
    assert_int_equal(hpc_function_content(&hash, &scratch, &t, &f, k), 0);
    hpc_tokens_release(&t);
    hpc_functions_release(&f);
    hpc_buf_release(&scratch);
    return hash;
}

static void content(void **state)
{
    (void)state;
    const hpc_language c = HPC_LANGUAGE_C, fortran = HPC_LANGUAGE_FORTRAN;
    const char *text = "int a;\nint f(int x) { return x; }\nint b;\nint g(void) { return 1; }\n";
    const char *other = "int a; /* */ int f(int x)\n{\n  return x;\n}\nint b;\nint g(void) { "
                        "return 2; }\n";
    assert_true(content_of(text, c, 0) == content_of(other, c, 0));
    assert_true(content_of(text, c, 1) != content_of(other, c, 1));
    assert_true(content_of(text, c, -1) == content_of(other, c, -1));
    assert_true(content_of(text, c, -1) == content_of("int a; int b;", c, -1));
    /* What an inner function does is not the outer one's. */
    const char *outer = "subroutine s\n  x = 1\ncontains\n  subroutine t\n    x = 2\n  end "
                        "subroutine\nend subroutine\n";
    const char *inner = "subroutine s\n  x = 1\ncontains\n  subroutine t\n    x = 3\n  end "
                        "subroutine\nend subroutine\n";
    assert_true(content_of(outer, fortran, 0) == content_of(inner, fortran, 0));
    assert_true(content_of(outer, fortran, 1) != content_of(inner, fortran, 1));
}

static void likeness(void **state)
{
    (void)state;
    enum { N = 2000 };
    uint64_t a[N], b[N];
    hpc_likeness x, y;
    for (int i = 0; i < N; i++) a[i] = b[i] = hpc_random_bits(5, 0, 0, (uint64_t)i) % 500;
    hpc_likeness_of(&x, a, N);
    hpc_likeness_of(&y, b, N);
    assert_true(hpc_likeness_share(&x, &y) == 1);
    for (int i = 0; i < N; i += 100) b[i] = 1000;
    hpc_likeness_of(&y, b, N);
    assert_true(hpc_likeness_share(&x, &y) > 0.75 && hpc_likeness_share(&x, &y) < 1);
    for (int i = 0; i < N; i++) b[i] = hpc_random_bits(6, 0, 0, (uint64_t)i) % 500;
    hpc_likeness_of(&y, b, N);
    assert_true(hpc_likeness_share(&x, &y) < 0.1);
    hpc_likeness_of(&x, NULL, 0);
    hpc_likeness_of(&y, NULL, 0);
    assert_true(hpc_likeness_share(&x, &y) == 1);
}

/* Functions by path, name, content. */
static const hpc_known before[] = {{1, 1, 1, NULL}, {1, 2, 2, NULL}, {1, 3, 3, NULL},
                                   {1, 4, 4, NULL}, {1, 5, 5, NULL}, {1, 2, 6, NULL}};
static const hpc_known after[] = {{2, 3, 3, NULL}, {1, 2, 7, NULL}, {2, 4, 8, NULL},
                                  {1, 1, 1, NULL}, {1, 9, 5, NULL}, {1, 2, 6, NULL}};

static int pair_all(void *user)
{
    int32_t partner[] = {-1, -1, -1, -1, -1, -1};
    (void)user;
    return hpc_pairs_find(partner, before, 6, after, 6, HPC_PAIR_SAME, HPC_PAIR_NAMED);
}

static void steps(void **state)
{
    (void)state;
    int32_t partner[] = {-1, -1, -1, -1, -1, -1};
    const int32_t same[] = {3, -1, -1, -1, -1, 5}, all[] = {3, 1, 0, 2, -1, 5};
    assert_int_equal(hpc_pairs_find(partner, before, 6, after, 6, HPC_PAIR_SAME, HPC_PAIR_SAME), 0);
    assert_memory_equal(partner, same, sizeof same);
    assert_int_equal(hpc_pairs_find(partner, before, 6, after, 6, HPC_PAIR_CHANGED, HPC_PAIR_NAMED),
                     0);
    assert_memory_equal(partner, all, sizeof all);
    assert_int_equal(hpc_pairs_find(partner, before, 6, after, 0, HPC_PAIR_SAME, HPC_PAIR_ALIKE),
                     0);
    assert_true(hpc_test_each_alloc(pair_all, NULL) >= 3);
}

/* Of several of one name, and of none, those go together that are most alike. */
static void alike(void **state)
{
    (void)state;
    hpc_likeness like[4];
    for (int k = 0; k < 4; k++) {
        uint64_t item[100];
        for (int i = 0; i < 100; i++) item[i] = (uint64_t)(k % 2 * 1000 + i + (k > 1 && i == 50));
        hpc_likeness_of(&like[k], item, 100);
    }
    const hpc_known a[] = {{1, 1, 1, &like[0]}, {1, 1, 2, &like[1]}};
    const hpc_known b[] = {{1, 1, 3, &like[3]}, {1, 1, 4, &like[2]}};
    const hpc_known c[] = {{1, 7, 3, &like[3]}, {1, 8, 4, &like[2]}};
    int32_t partner[] = {-1, -1};
    assert_int_equal(hpc_pairs_find(partner, a, 2, b, 2, HPC_PAIR_SAME, HPC_PAIR_NAMED), 0);
    assert_true(partner[0] == 1 && partner[1] == 0);
    partner[0] = partner[1] = -1;
    assert_int_equal(hpc_pairs_find(partner, a, 2, c, 2, HPC_PAIR_SAME, HPC_PAIR_NAMED), 0);
    assert_true(partner[0] == -1 && partner[1] == -1);
    assert_int_equal(hpc_pairs_find(partner, a, 2, c, 2, HPC_PAIR_ALIKE, HPC_PAIR_ALIKE), 0);
    assert_true(partner[0] == 1 && partner[1] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content),
        cmocka_unit_test(likeness),
        cmocka_unit_test(steps),
        cmocka_unit_test(alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
