/*
 * command.h: running the program as a user would.
 */
#ifndef HPC_TESTS_SUPPORT_COMMAND_H
#define HPC_TESTS_SUPPORT_COMMAND_H

enum { HPC_TEST_OUT = 1 << 18, HPC_TEST_ERR = 1 << 12, HPC_TEST_WORDS = 1024, HPC_TEST_ARGS = 48 };

typedef struct hpc_test_outcome {
    int code; /* exit code; -1: killed */
    char out[HPC_TEST_OUT], err[HPC_TEST_ERR];
} hpc_test_outcome;

/* "build/VARIANT/NAME", beside the folder of the tests. out: PATH_MAX chars. */
const char *hpc_test_built(char *out, const char *name);
/* words: arguments, separated by single blanks. Fails the test if the program cannot be run. */
void hpc_test_command(hpc_test_outcome *o, const char *words);
/* The same with words in which '@' is the folder `root` and a slash. */
void hpc_test_command_in(hpc_test_outcome *o, const char *root, const char *words);
/* It ends with exit code 2 or 3, nothing on stdout and one line on stderr, in which `part` stands.
 */
void hpc_test_refuses(hpc_test_outcome *o, const char *root, const char *words, const char *part);
void hpc_test_says(const char *text, const char *part); /* fails unless the part is in it */

/* What those do with their words: '@' replaced; cut where they lie into an argv. */
char *hpc_test_in(char out[HPC_TEST_WORDS], const char *root, const char *words);
void hpc_test_split(char *argv[HPC_TEST_ARGS], char *words);

#endif
