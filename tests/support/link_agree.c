/*
 * link_agree.c: agreement on errors, and comparison of values across ranks, for every kind of
 * link.
 */
#include "tests/support/ranks.h"

static int third_and_second_fail(hpc_link *l, void *user)
{
    int rc = HPC_OK;
    (void)user;
    EXPECT(hpc_link_agree(l, HPC_OK) == HPC_OK);
    if (l->rank == 2) rc = hpc_fail(HPC_E_FORMAT, "x.json:3: no number");
    if (l->rank == 1) rc = hpc_fail(HPC_E_SHAPE, "no such head");
    EXPECT_FAILURE(hpc_link_agree(l, rc), HPC_E_SHAPE, "rank 1: no such head");
    /* The link continues: nothing was aborted. */
    EXPECT(meet(l) == HPC_OK);
    if (l->rank == 0) rc = hpc_fail(HPC_E_IO, "first");
    EXPECT_FAILURE(hpc_link_agree(l, l->rank == 0 ? rc : HPC_OK), HPC_E_IO, "first");
    EXPECT_FAILURE(hpc_link_agree(l, l->rank == 3 ? HPC_E_STATE : HPC_OK), HPC_E_STATE, "rank 3: ");
    return meet(l);
}

static int one_differs(hpc_link *l, void *user)
{
    (void)user;
    EXPECT(hpc_link_same(l, "", "") == HPC_OK);
    EXPECT(hpc_link_same(l, "lr=0.1\nrows=8\n", "advice") == HPC_OK);
    EXPECT_FAILURE(
        hpc_link_same(l, l->rank == 2 ? "lr=0.1\nrows=4\n" : "lr=0.1\nrows=8\n", "start all alike"),
        HPC_E_ARG, "rank 2: rows=4 here, and on rank 0 rows=8: start all alike");
    EXPECT_FAILURE(hpc_link_same(l, l->rank == 1 ? "lr=0.1\n" : "lr=0.1\nrows=8\n", "x"), HPC_E_ARG,
                   "rank 1: = here, and on rank 0 rows=8: x");
    EXPECT_FAILURE(hpc_link_same(l, l->rank == 0 ? "lr=0.1\n" : "lr=0.1\nrows=8\n", "x"), HPC_E_ARG,
                   "rank 1: rows=8 here, and on rank 0 =: x");
    return meet(l);
}

const hpc_test_link_case hpc_test_link_agreement[] = {
    {"failures_are_shared", third_and_second_fail, {4}, 5},
    {"differences_are_named", one_differs, {3}, 5},
    {.name = NULL},
};
