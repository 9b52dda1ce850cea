/*
 * command.h: runs the program as a user would.
 */
#ifndef HPC_TESTS_SUPPORT_COMMAND_H
#define HPC_TESTS_SUPPORT_COMMAND_H

enum { HPC_TEST_OUT = 1 << 18, HPC_TEST_ERR = 1 << 12, HPC_TEST_WORDS = 1024, HPC_TEST_ARGS = 48 };

typedef struct hpc_test_outcome {
    int code; /* exit code; -1: killed */
    char out[HPC_TEST_OUT], err[HPC_TEST_ERR];
} hpc_test_outcome;

/* Path "build/VARIANT/NAME", next to the folder of the tests. out: PATH_MAX chars. */
const char *hpc_test_built(char *out, const char *name);
/* words: arguments separated by single blanks. Fails the test if the program cannot be run. */
void hpc_test_command(hpc_test_outcome *o, const char *words);
/* Like hpc_test_command; '@' in words becomes `root` and a slash. */
void hpc_test_command_in(hpc_test_outcome *o, const char *root, const char *words);
/* Asserts that the program fails: exit code 2 or 3, no stdout, and one line on stderr that contains
 * `part`. */
void hpc_test_refuses(hpc_test_outcome *o, const char *root, const char *words, const char *part);
void hpc_test_says(const char *text, const char *part); /* asserts that text contains part */
/* The same for a row of a table: several blanks in a row of `text` count as one. */
void hpc_test_says_row(const char *text, const char *part);

/* Helpers of these: replace '@'; split words in place into argv. */
char *hpc_test_in(char out[HPC_TEST_WORDS], const char *root, const char *words);
void hpc_test_split(char *argv[HPC_TEST_ARGS], char *words);

#endif
