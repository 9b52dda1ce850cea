/*
 * shell.h: runs shell commands in tests and captures their output.
 */
#ifndef HPC_TESTS_SUPPORT_SHELL_H
#define HPC_TESTS_SUPPORT_SHELL_H

/* Runs a command in the test's folder; returns its exit status, -1: killed by a signal. */
__attribute__((format(printf, 1, 2))) int hpc_test_shell(const char *format, ...);
/* Standard output and error of the last command; valid until the next one. */
const char *hpc_test_shown(void);
/* Skips the test with a message if a program is missing. */
void hpc_test_need(const char *program);

#endif
