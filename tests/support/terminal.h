/*
 * terminal.h: runs the program on a pseudo-terminal, as a user does.
 */
#ifndef HPC_TESTS_SUPPORT_TERMINAL_H
#define HPC_TESTS_SUPPORT_TERMINAL_H

#include <stddef.h>

/* Standard output and error go to a terminal of that many columns. out: all that it receives, with
 * '\n' for "\r\n"; what exceeds `size` is dropped. '@' in words becomes `root` and a slash. Returns
 * the exit code; -1: killed. */
int hpc_test_terminal(char *out, size_t size, int columns, const char *root, const char *words);

#endif
