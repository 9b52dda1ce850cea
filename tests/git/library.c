/*
 * library.c: loading libgit2 by name; one-line errors for a missing or different library.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "config.h"
#include "runtime/git/priv.h"
#include "tests/support/expect.h"

static void all_functions_are_found(void **state)
{
    (void)state;
    git_library l = {0};
    char why[200];
    void *f[sizeof l / sizeof(void *)];
    test_ok(git_library_open(&l, HPC_SONAME_LIBGIT2));
    memcpy(f, &l, sizeof f);
    for (size_t k = 0; k < sizeof f / sizeof *f; k++) assert_non_null(f[k]);
    assert_true(l.libgit2_init() > 0);
    git_repository *r = NULL;
    assert_true(l.repository_open_bare(&r, "tests/nothing") < 0);
    assert_false(git_ran_out(&l));
    assert_non_null(strstr(git_reason(&l, why), "tests/nothing"));
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    git_library l;
    test_fails(git_library_open(&l, "libnowhere.so.7"), HPC_E_UNSUPPORTED,
               "git repositories cannot be read: libnowhere.so.7: ");
    test_fails(git_library_open(&l, "libm.so.6"), HPC_E_UNSUPPORTED, "git_libgit2_init");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_functions_are_found),
        cmocka_unit_test(what_is_missing_is_named),
    };
    return cmocka_run_group_tests_name("git/library", tests, NULL, NULL);
}
