/*
 * processes.h: a test that runs itself as processes of mpirun.
 */
#ifndef HPC_TESTS_SUPPORT_PROCESSES_H
#define HPC_TESTS_SUPPORT_PROCESSES_H

/* Skips the test with a message if MPI is missing. */
void hpc_test_need_mpi(void);
/* Runs this program on `ranks` ranks with printf-formatted arguments; returns
 * mpirun's exit status. */
__attribute__((format(printf, 2, 3))) int hpc_test_processes(int ranks, const char *arguments, ...);

#endif
