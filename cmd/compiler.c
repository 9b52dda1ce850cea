/*
 * compiler.c: shared by commands that use libclang: the checker, and the flags of a file.
 */
#include "cmd/compiler.h"

#include <stdlib.h>
#include <string.h>

int hpc_cmd_open_checker(hpc_checker **out)
{
    const hpc_checker_options usual = HPC_CHECKER_DEFAULTS;
    return hpc_cmd_open_checker_within(out, usual.open_seconds);
}

int hpc_cmd_open_checker_within(hpc_checker **out, double seconds)
{
    hpc_checker_options o = HPC_CHECKER_DEFAULTS;
    char program[PATH_MAX], fortran[PATH_MAX];
    int rc = hpc_cmd_find(program, "hpccoder-clang");
    if (rc < 0) return rc;
    rc = hpc_cmd_find(fortran, "hpccoder-flang");
    if (rc < 0) return rc;
    if (program[0]) o.program = program;
    if (fortran[0]) o.fortran = fortran;
    o.open_seconds = seconds;
    return hpc_checker_open(out, &o);
}

const char *const *hpc_cmd_take_flags(int *argc, char **argv)
{
    for (int k = 0; k < *argc; k++) {
        if (strcmp(argv[k], "--") != 0) continue;
        argv[*argc] = NULL; /* there is room: one word of them all was the program's name */
        *argc = k;
        return (const char *const *)argv + k + 1;
    }
    return NULL;
}
