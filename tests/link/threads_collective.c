/*
 * threads_collective.c: collectives of threads as ranks: the tests for every kind of link
 * (tests/support/link_collective.c).
 */
#include "tests/support/ranks.h"

int main(void)
{
    return run_link_cases("link/threads_collective", hpc_test_link_collectives);
}
