/*
 * command.h: running the program as a user would.
 */
#ifndef HPC_TESTS_SUPPORT_COMMAND_H
#define HPC_TESTS_SUPPORT_COMMAND_H

enum { HPC_TEST_OUT = 1 << 18, HPC_TEST_ERR = 1 << 12 };

typedef struct hpc_test_outcome {
    int code; /* exit code; -1: killed */
    char out[HPC_TEST_OUT], err[HPC_TEST_ERR];
} hpc_test_outcome;

/* "build/VARIANT/NAME", beside the folder of the tests. out: PATH_MAX chars. */
const char *hpc_test_built(char *out, const char *name);
/* words: arguments, separated by single blanks. Fails the test if the program cannot be run. */
void hpc_test_command(hpc_test_outcome *o, const char *words);

#endif
