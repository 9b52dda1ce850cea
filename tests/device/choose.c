/*
 * choose.c: devices by name: one form for all commands, errors that name the remedy,
 * and the list of devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/values.h"

static void a_name_has_an_optional_index(void **state)
{
    static const struct {
        const char *text, *backend;
        int index;
    } good[] = {{"cpu", "cpu", 0}, {"mock", "mock", 0}, {"mock:1", "mock", 1}, {"cpu:0", "cpu", 0}};
    (void)state;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        hpc_device_options o = {.threads = 3};
        test_ok(hpc_device_choose(&o, good[k].text));
        assert_string_equal(o.backend, good[k].backend);
        assert_int_equal(o.index, good[k].index);
        assert_int_equal(o.threads, 3);
    }
}

static void errors_say_what_to_do(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *part;
    } bad[] = {{"gpu", HPC_E_UNSUPPORTED, "unknown device 'gpu'; this build has cpu, mock, cuda"},
               {"", HPC_E_UNSUPPORTED, "unknown device ''"},
               {"mocking", HPC_E_UNSUPPORTED, "unknown device 'mocking'"},
               {"mock:", HPC_E_ARG, "device 'mock:': write a number"},
               {"mock:x", HPC_E_ARG, "as mock:0"},
               {"mock:-1", HPC_E_ARG, "device 'mock:-1'"},
               {"cpu:1", HPC_E_ARG, "there is no device cpu:1; cpu has 1"},
               {"mock:2", HPC_E_ARG, "there is no device mock:2; mock has 2"}};
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        hpc_device *d;
        test_fails(hpc_device_open(&d, &(hpc_device_options){.backend = bad[k].text}), bad[k].code,
                   bad[k].part);
    }
}

/* Each usable device opens under its name; the others say why they do not. */
static void the_list_agrees_with_opening(void **state)
{
    hpc_device_entry all[16];
    int n = hpc_device_list(all, 16);
    (void)state;
    assert_true(n >= 3);
    assert_int_equal(hpc_device_list(all, 2), 2);
    for (int k = 0; k < n; k++) {
        hpc_device *d;
        int rc = hpc_device_open(&d, &(hpc_device_options){.backend = all[k].name});
        assert_int_equal(rc >= 0, all[k].usable);
        if (rc < 0 && !strstr(hpc_error_get()->text, all[k].about))
            fail_msg("%s: %s", all[k].name, hpc_error_get()->text);
        hpc_error_clear();
        hpc_device_close(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_an_optional_index),
        cmocka_unit_test(errors_say_what_to_do),
        cmocka_unit_test(the_list_agrees_with_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
