/*
 * Tools for other programs: our own commands, run in a process of their own with a time limit.
 * Their result is what the command prints with --json.
 */
#ifndef HPC_SERVE_TOOL_H
#define HPC_SERVE_TOOL_H

#include "runtime/base/base.h"

typedef struct hpc_tool {
    const char *name, *title, *description;
    const char *schema; /* JSON Schema of the arguments */
} hpc_tool;
extern const hpc_tool hpc_tools[]; /* ends with a name of NULL */

typedef struct hpc_tool_options {
    const char *program; /* path of hpccoder */
    const char *model;   /* of completions; NULL: the default */
    const char *device;  /* of completions; NULL: the default */
    double seconds;      /* limit of a run */
    const int *stop;     /* atomic; not 0: end the run; NULL: never */
    const char *scratch; /* existing folder for temporary files */
} hpc_tool_options;

/* HPC_E_ARG: the arguments are not an object, or the tool does not know one of them. */
int hpc_tool_check(const hpc_tool *t, const hpc_json *arguments);
/* Appends the JSON that the tool prints. HPC_E_ARG: wrong arguments, or the command rejects its
 * input; the message is the command's. */
int hpc_tool_run(hpc_buf *out, const hpc_tool_options *o, const char *name,
                 const hpc_json *arguments);

#endif
