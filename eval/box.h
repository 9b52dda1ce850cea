/*
 * box.h: builds and runs generated code in the sandbox, under limits.
 */
#ifndef HPC_EVAL_BOX_H
#define HPC_EVAL_BOX_H

#include "runtime/proc/proc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_eval_limits {
    double seconds;       /* of one build or run */
    int64_t memory_bytes; /* address space of each process */
    int64_t file_bytes;   /* largest file */
    int64_t space_bytes;  /* of temporary files */
    int processes;        /* and threads */
    size_t output_bytes;  /* kept of each stream */
} hpc_eval_limits;
#define HPC_EVAL_LIMITS_DEFAULTS                                                                   \
    {                                                                                              \
        .seconds = 60, .memory_bytes = (int64_t)8 << 30, .file_bytes = 256 << 20,                  \
        .space_bytes = 256 << 20, .processes = 256, .output_bytes = 64 << 10                       \
    }

typedef struct hpc_eval_box hpc_eval_box; /* a scratch folder, and how commands run there */
/* tmp: a folder for scratch files. HPC_E_UNSUPPORTED: no sandbox can be created, and `is_unsafe` is
 * false; else commands run without one, with limits of time, memory and file size only. */
int hpc_eval_box_open(hpc_eval_box **out, const char *tmp, bool is_unsafe);
void hpc_eval_box_close(hpc_eval_box *b); /* removes the scratch folder; NULL is fine */
const char *hpc_eval_box_folder(const hpc_eval_box *b);

typedef struct hpc_eval_command {
    const char *const *argv;
    const char *folder;   /* working folder, below the scratch folder; writable if `writes` */
    bool writes;          /* false: it reads `folder`, and works in a temporary one */
    const char *readable; /* one more folder; NULL: none */
    const int *stop;
} hpc_eval_command;
int hpc_eval_box_run(hpc_proc_result *out, const hpc_eval_box *b, const hpc_eval_command *c,
                     const hpc_eval_limits *limits);

#ifdef __cplusplus
}
#endif
#endif
