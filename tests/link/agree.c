/*
 * agree.c: ranks as threads agree; as processes they do so in mpi.c.
 */
#include "tests/support/ranks.h"

int main(void)
{
    return run_link_cases("link/agree", hpc_test_link_agreement);
}
