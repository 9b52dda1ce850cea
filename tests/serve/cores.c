/*
 * Tests of the number of processors that the server uses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>

#include "infer/serve/cores.h"

static void quotas_are_processors(void **state)
{
    (void)state;
    assert_float_equal(serve_quota_of("200000 100000\n"), 2, 1e-9);
    assert_float_equal(serve_quota_of("50000 100000\n"), 0.5, 1e-9);
    assert_float_equal(serve_quota_of("max 100000\n"), 0, 0);
    assert_float_equal(serve_quota_of("-1 100000"), 0, 0);
    assert_float_equal(serve_quota_of(""), 0, 0);
    assert_float_equal(serve_quota_of("100000"), 0, 0);
}

static void affinity_limits_the_cores(void **state)
{
    cpu_set_t all, one;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_in_range(serve_cores(), 1, CPU_COUNT(&all));
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(serve_cores(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quotas_are_processors),
                                       cmocka_unit_test(affinity_limits_the_cores)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
