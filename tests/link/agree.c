/*
 * agree.c: agreement of threads as ranks; mpi.c tests processes.
 */
#include "tests/support/ranks.h"

int main(void)
{
    return run_link_cases("link/agree", hpc_test_link_agreement);
}
