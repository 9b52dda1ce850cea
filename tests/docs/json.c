/*
 * json.c: docs/json*.md lists exactly the keys that commands print on recorded inputs. The check
 * finds a missing key, a wrong type and a key that never occurs.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/shell.h"

static int reference(const char *options)
{
    char program[PATH_MAX];
    hpc_test_need("python3");
    return hpc_test_shell("python3 tests/docs/json_reference.py --program '%s' %s",
                          hpc_test_built(program, "hpccoder"), options);
}

static void pages_list_the_keys_that_commands_print(void **state)
{
    (void)state;
    int rc = reference("");
    if (rc != 0) fail_msg("exit status %d\n%s", rc, hpc_test_shown());
}

/* Edits copies of the pages; each edit of the line makes one fault with this text. */
static void wrong_keys_and_types_are_found(void **state)
{
    const hpc_test_folder *f = *state;
    char options[PATH_MAX];
    int rc = hpc_test_shell("cp docs/json*.md '%s' && cd '%s' && "
                            "sed -i 's/^| `threads` | integer |/| `threads` | string |/; "
                            "s/^| `backends\\[\\]`, /| /; "
                            "s/^| `build/| `absent` | string | |\\n&/' json.md",
                            f->root, f->root);
    if (rc != 0) fail_msg("%s", hpc_test_shown());
    snprintf(options, sizeof options, "--only info '%s'/json*.md", f->root);
    assert_int_equal(reference(options), 1);
    hpc_test_says(hpc_test_shown(), "`threads` of `info` is ");
    hpc_test_says(hpc_test_shown(), "section `info` lacks the key backends[] (\"cpu\")");
    hpc_test_says(hpc_test_shown(), "`absent` of `info` never appears");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_list_the_keys_that_commands_print),
        cmocka_unit_test_setup_teardown(wrong_keys_and_types_are_found, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
