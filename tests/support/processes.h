/*
 * processes.h: a test that starts itself again as processes of mpirun.
 */
#ifndef HPC_TESTS_SUPPORT_PROCESSES_H
#define HPC_TESTS_SUPPORT_PROCESSES_H

/* Skips the test, and says why, where there is no MPI to start with. */
void hpc_test_need_mpi(void);
/* This program on so many ranks, with these arguments (as printf); what mpirun ends with. */
__attribute__((format(printf, 2, 3))) int hpc_test_processes(int ranks, const char *arguments, ...);

#endif
