/*
 * proc.h: child processes under limits, and in a sandbox.
 *
 * Programs are started from an argument list, never through a shell. When hpc_proc_run returns, the
 * child and all processes of its group have ended.
 */
#ifndef HPC_PROC_H
#define HPC_PROC_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_sandbox {
    HPC_SANDBOX_NONE,    /* limits only: for trusted programs, such as gnuplot */
    HPC_SANDBOX_REQUIRED /* bubblewrap: no network, a separate process space, a read-only system,
                            only `folder` and an empty /tmp writable. HPC_E_UNSUPPORTED if it is not
                            available; never a silent fallback */
} hpc_sandbox;

/* Counts user mode of the child and of all processes that it starts. */
typedef enum hpc_counter {
    HPC_COUNTER_NONE,
    HPC_COUNTER_INSTRUCTIONS, /* by the processor */
    HPC_COUNTER_FAULTS        /* of pages, by the kernel */
} hpc_counter;
/* True if the counter is available: many virtual machines and containers have none. */
bool hpc_proc_counts(hpc_counter c);

typedef struct hpc_proc_options {
    const char *const *argv;        /* NULL-terminated; argv[0] is looked up in PATH */
    const char *const *environment; /* "A=b", NULL-terminated; NULL: PATH, HOME and LANG=C only */
    const char *folder;             /* working folder; NULL: ours */
    const char *folder_shown;       /* its path inside the sandbox; NULL: the same */
    const void *input;              /* written to standard input */
    size_t input_bytes;
    double seconds;      /* of wall clock; 0: no limit. Then TERM, and KILL a second later */
    size_t memory_bytes; /* of address space; 0: no limit */
    size_t output_bytes; /* kept of each stream; the rest is discarded */
    int64_t file_bytes;  /* largest file that it may write; 0: no limit */
    int processes;       /* of this user at once; 0: no limit; the kernel exempts root */
    bool unprivileged;   /* if we are root: run as user and group 65534 */
    int64_t space_bytes; /* in the sandbox: of /tmp and of /dev/shm; its root and /dev become
                            read-only; 0: no limit */
    const int *stop;     /* atomic; not 0: end the child as at the time limit; NULL: never */
    bool kept;           /* also kill processes that leave its group, and all if we end */
    hpc_counter counter;
    hpc_sandbox sandbox;
    const char *const *readable; /* more read-only paths inside the sandbox, NULL-terminated */
} hpc_proc_options;
#define HPC_PROC_DEFAULTS                                                                          \
    {                                                                                              \
        .seconds = 60, .output_bytes = 1 << 20                                                     \
    }

typedef struct hpc_proc_result {
    int status;                                /* exit status, or -1 */
    int signal;                                /* signal that ended it, or 0 */
    bool timed_out;                            /* killed at the time limit */
    bool stopped;                              /* ended by `stop` */
    bool cut;                                  /* output was discarded */
    double seconds, cpu_seconds, user_seconds; /* cpu, user: with children that it waited for */
    int64_t peak_bytes;                        /* resident memory of the largest process */
    int64_t counted;                           /* -1: not available */
    hpc_buf out, err;
} hpc_proc_result;
/* Returns 0 if the child ran, however it ended. HPC_E_IO: it could not be started; the message has
 * its name. Safe in a process with threads; never raises SIGPIPE in the calling process. */
int hpc_proc_run(hpc_proc_result *out, const hpc_proc_options *options);
void hpc_proc_release(hpc_proc_result *r);
/* "NAME=..." from the environment, in the arena. If PATH or HOME is not set, a common value. */
const char *hpc_proc_variable(hpc_arena *a, const char *name);
/* True if PATH has a program of that name. */
bool hpc_proc_exists(const char *name);

#ifdef __cplusplus
}
#endif
#endif
