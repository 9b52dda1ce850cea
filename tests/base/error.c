/*
 * error.c: the error record: which error is kept, composing and truncating messages, and asserts.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/base.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    return 0;
}

static void first_failure_wins(void **state)
{
    (void)state;
    assert_int_equal(hpc_error_get()->code, HPC_OK);
    int line = __LINE__ + 1;
    assert_int_equal(hpc_fail(HPC_E_SHAPE, "%s: %d rows", "a.bin", 3), HPC_E_SHAPE);
    assert_int_equal(hpc_fail(HPC_E_IO, "later"), HPC_E_IO);
    const hpc_error *e = hpc_error_get();
    assert_int_equal(e->code, HPC_E_SHAPE);
    assert_int_equal(e->line, line);
    assert_int_equal(e->os, 0);
    assert_non_null(strstr(e->file, "tests/base/error.c"));
    assert_string_equal(e->text, "a.bin: 3 rows");
    hpc_error_clear();
    assert_int_equal(e->code, HPC_OK);
    assert_string_equal(e->text, "");
    hpc_fail(HPC_E_IO, "now first");
    assert_string_equal(e->text, "now first");
}

static void system_reason_is_appended(void **state)
{
    (void)state;
    errno = ENOENT;
    assert_int_equal(hpc_fail_os(HPC_E_IO, "cannot open %s", "x"), HPC_E_IO);
    assert_int_equal(hpc_error_get()->os, ENOENT);
    assert_string_equal(hpc_error_get()->text, "cannot open x: No such file or directory");
}

static void messages_are_one_line(void **state)
{
    (void)state;
    hpc_fail(HPC_E_FORMAT, "key \"%s\"", "a\nb\tc\x7f\x1b");
    assert_string_equal(hpc_error_get()->text, "key \"a b c  \"");
}

static void long_messages_end_in_dots(void **state)
{
    (void)state;
    const size_t cap = sizeof hpc_error_get()->text;
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    hpc_fail(HPC_E_ARG, "%s", text);
    assert_int_equal(strlen(hpc_error_get()->text), cap - 1);
    assert_string_equal(hpc_error_get()->text + cap - 5, "x...");

    /* What the system says survives, because it is what the user has to act on. */
    hpc_error_clear();
    errno = ENOSPC;
    hpc_fail_os(HPC_E_IO, "%s", text);
    assert_int_equal(strlen(hpc_error_get()->text), cap - 1);
    assert_non_null(strstr(hpc_error_get()->text, "x...: No space left on device"));

    hpc_error_clear();
    text[cap - 1] = '\0';
    hpc_fail(HPC_E_ARG, "%s", text);
    assert_string_equal(hpc_error_get()->text, text);
}

/* Two-byte characters at every alignment: none is ever cut in half. */
static void characters_are_kept_whole(void **state)
{
    (void)state;
    char text[1000];
    for (int shift = 0; shift < 2; shift++) {
        memset(text, 'a', sizeof text);
        for (size_t i = (size_t)shift; i + 2 < sizeof text; i += 2) memcpy(text + i, "\xc3\xa9", 2);
        text[sizeof text - 1] = '\0';
        hpc_error_clear();
        hpc_fail(HPC_E_ARG, "%s", text);
        const char *dots = strstr(hpc_error_get()->text, "...");
        assert_non_null(dots);
        assert_int_equal((unsigned char)dots[-1], 0xa9);
        assert_true(strlen(hpc_error_get()->text) >= sizeof hpc_error_get()->text - 2);
    }
}

static void where_prepends(void **state)
{
    (void)state;
    assert_int_equal(hpc_error_where("nothing recorded"), HPC_OK);
    assert_string_equal(hpc_error_get()->text, "");
    hpc_fail(HPC_E_SHAPE, "2 is not 3");
    assert_int_equal(hpc_error_where("instruction %d", 7), HPC_E_SHAPE);
    assert_int_equal(hpc_error_where("a.json"), HPC_E_SHAPE);
    assert_string_equal(hpc_error_get()->text, "a.json: instruction 7: 2 is not 3");
    /* The record's own text may be an argument. */
    hpc_error_where("%.3s", hpc_error_get()->text);
    assert_string_equal(hpc_error_get()->text, "a.j: a.json: instruction 7: 2 is not 3");
    for (int i = 0; i < 100; i++) hpc_error_where("0123456789");
    assert_int_equal(strlen(hpc_error_get()->text), sizeof hpc_error_get()->text - 1);
}

static void *fail_elsewhere(void *out)
{
    hpc_fail(HPC_E_UNSUPPORTED, "from a thread");
    *(hpc_error *)out = *hpc_error_get();
    return NULL;
}

static void records_are_per_thread_and_adopted(void **state)
{
    (void)state;
    hpc_error theirs;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &theirs), 0);
    pthread_join(thread, NULL);
    assert_int_equal(hpc_error_get()->code, HPC_OK);

    hpc_error none = {0};
    assert_int_equal(hpc_error_adopt(&none), HPC_OK);
    assert_int_equal(hpc_error_adopt(&theirs), HPC_E_UNSUPPORTED);
    assert_memory_equal(hpc_error_get(), &theirs, sizeof theirs);
    theirs.code = HPC_E_IO;
    assert_int_equal(hpc_error_adopt(&theirs), HPC_E_IO);
    assert_int_equal(hpc_error_get()->code, HPC_E_UNSUPPORTED);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(hpc_error_name(HPC_E_SHAPE), "bad shape");
    for (int code = HPC_E_ABORTED; code <= HPC_OK; code++) {
        assert_string_not_equal(hpc_error_name(code), hpc_error_name(HPC_E_ABORTED - 1));
        for (int other = HPC_E_ABORTED; other < code; other++)
            assert_string_not_equal(hpc_error_name(code), hpc_error_name(other));
    }
}

static int tries(int first, int *later_ran)
{
    int rc;
    TRY(first);
    *later_ran = 1;
    TRY(2);
    rc = 5;
out:
    return rc;
}

static void try_leaves_only_on_failure(void **state)
{
    (void)state;
    int ran = 0;
    assert_int_equal(tries(HPC_E_IO, &ran), HPC_E_IO);
    assert_int_equal(ran, 0);
    assert_int_equal(tries(0, &ran), 5);
    assert_int_equal(ran, 1);
}

static void broken_contract_aborts(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        hpc_assert(1 + 1 == 2);
        hpc_assert(1 + 1 == 3);
        _exit(0);
    }
    close(ends[1]);
    char said[4096];
    size_t n = 0;
    for (ssize_t got; n < sizeof said - 1; n += (size_t)got) {
        got = read(ends[0], said + n, sizeof said - 1 - n);
        if (got <= 0) break;
    }
    said[n] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(said, "tests/base/error.c:"));
    assert_non_null(strstr(said, "broken contract: 1 + 1 == 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(first_failure_wins, setup),
        cmocka_unit_test_setup(system_reason_is_appended, setup),
        cmocka_unit_test_setup(messages_are_one_line, setup),
        cmocka_unit_test_setup(long_messages_end_in_dots, setup),
        cmocka_unit_test_setup(characters_are_kept_whole, setup),
        cmocka_unit_test_setup(where_prepends, setup),
        cmocka_unit_test_setup(records_are_per_thread_and_adopted, setup),
        cmocka_unit_test_setup(names, setup),
        cmocka_unit_test_setup(try_leaves_only_on_failure, setup),
        cmocka_unit_test_setup(broken_contract_aborts, setup),
    };
    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
