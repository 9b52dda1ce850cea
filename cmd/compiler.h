/*
 * compiler.h: what commands that ask libclang share: the checker, and a file's flags.
 */
#ifndef HPC_CMD_COMPILER_H
#define HPC_CMD_COMPILER_H

#include "cmd/cmd.h"
#include "runtime/source/check.h"

/* HPC_E_UNSUPPORTED: hpccoder-clang is missing or cannot start. */
int hpc_cmd_open_checker(hpc_checker **out);
/* The same, which gives up a file that takes longer to read with its headers. */
int hpc_cmd_open_checker_within(hpc_checker **out, double seconds);
/* Removes the compiler flags after "--" from argv and returns them, NULL-terminated; NULL: none. */
const char *const *hpc_cmd_take_flags(int *argc, char **argv);

#endif
