/*
 * compiler.h: what commands that ask libclang share: the checker, and a file's flags.
 */
#ifndef HPC_CMD_COMPILER_H
#define HPC_CMD_COMPILER_H

#include "cmd/cmd.h"
#include "runtime/source/check.h"

/* HPC_E_UNSUPPORTED: hpccoder-clang.so is not there, or cannot be opened. */
int hpc_cmd_open_checker(hpc_checker **out);
/* What is behind "--" is the compiler's: cut off, NULL-terminated; NULL when there is none. */
const char *const *hpc_cmd_take_flags(int *argc, char **argv);

#endif
