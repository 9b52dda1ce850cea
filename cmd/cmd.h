/*
 * cmd.h: the subcommands, and what they share.
 *
 * One file for each subcommand; only here is argv read, is anything printed,
 * and does the process end.
 */
#ifndef HPC_CMD_H
#define HPC_CMD_H

#include <stdio.h>

#include "config.h"
#include "runtime/base/base.h"
#include "runtime/device/device.h"

/* Exit codes of every subcommand; run() may also return a negative code with the error recorded. */
enum { EXIT_DONE = 0, EXIT_FINDINGS = 1, EXIT_BAD_INPUT = 2, EXIT_FAILURE_INTERNAL = 3 };

extern const hpc_command hpc_cmd_info, hpc_cmd_plan_show, hpc_cmd_bench_op, hpc_cmd_bench_step;
extern const hpc_command *const hpc_commands[]; /* ends with NULL */

int hpc_cmd_exit_code(int rc); /* of a negative code */
/* Writes and releases a buffer; HPC_E_IO when stdout is gone. */
int hpc_cmd_print(hpc_buf *text);
/* manual.c: every man page under DIR/man1. */
int hpc_cmd_write_manuals(const char *dir);
/* "12.3 MiB" */
const char *hpc_cmd_bytes(char out[32], double bytes);

#endif
