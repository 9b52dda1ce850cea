/*
 * proc.h: child processes under limits, and in a sandbox.
 *
 * Programs are started from an argument list, never through a shell. A child and
 * all that it started in its group are gone when hpc_proc_run returns.
 */
#ifndef HPC_PROC_H
#define HPC_PROC_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_sandbox {
    HPC_SANDBOX_NONE,    /* limits only: for programs of our own choice, such as gnuplot */
    HPC_SANDBOX_REQUIRED /* bubblewrap: no network, a separate process space, a read-only system,
                            only `folder` and an empty /tmp writable. HPC_E_UNSUPPORTED if it is not
                            available; never a silent fallback */
} hpc_sandbox;

/* Counted over the child and all that it starts, in user mode. */
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
    const char *folder_shown;       /* its path inside the sandbox; NULL: the one it has */
    const void *input;              /* given to its standard input */
    size_t input_bytes;
    double seconds;      /* of wall clock; 0: no limit. Then TERM, and KILL a second later */
    size_t memory_bytes; /* of address space; 0: no limit */
    size_t output_bytes; /* kept of each stream; more output is discarded */
    int64_t file_bytes;  /* largest file that it may write; 0: no limit */
    int processes;       /* of this user at once; 0: no limit; the kernel exempts root */
    const int *stop;     /* atomic; ends it when not 0, as the limit of time does; NULL: never */
    bool kept;           /* what leaves its group ends with it too, and all when we are gone */
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
    int signal;                                /* that ended it, or 0 */
    bool timed_out;                            /* ended by us for its time */
    bool stopped;                              /* ended by `stop` */
    bool cut;                                  /* more output than was kept */
    double seconds, cpu_seconds, user_seconds; /* of processors: of all that it waited for */
    int64_t peak_bytes;                        /* resident, of the largest process */
    int64_t counted;                           /* -1: it could not be */
    hpc_buf out, err;
} hpc_proc_result;
/* 0 when the child ran, however it ended; HPC_E_IO when it could not be started, with its name
 * in the message. Safe in a process with threads. SIGPIPE of ours is never raised. */
int hpc_proc_run(hpc_proc_result *out, const hpc_proc_options *options);
void hpc_proc_release(hpc_proc_result *r);
/* "NAME=..." from our environment, in the arena; for PATH and HOME a usual value if it is not
 * set. */
const char *hpc_proc_variable(hpc_arena *a, const char *name);
/* True if PATH has a program of that name. */
bool hpc_proc_exists(const char *name);

#ifdef __cplusplus
}
#endif
#endif
