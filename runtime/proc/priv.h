/*
 * priv.h: internals of runtime/proc.
 */
#ifndef HPC_PROC_PRIV_H
#define HPC_PROC_PRIV_H

#include <sys/types.h>

#include "runtime/proc/proc.h"

enum { PROC_STATUS_FD = 3 }; /* where bubblewrap tells how far it came */

/* A child that has been started; descriptors are -1 when closed. */
typedef struct proc_child {
    pid_t pid;
    int in, out, err; /* our ends of its standard streams, never blocking */
    int status;       /* bubblewrap's reports, or -1 */
    int life;         /* readable once it has ended; -1 where the system has no such thing */
} proc_child;
/* argv and environment as the child gets them; made before the fork, because a child of a process
 * with threads may not allocate. Lives in the arena. */
typedef struct proc_command {
    const char **argv, **environment;
    char file[4096]; /* path of the executable */
} proc_command;

/* spawn.c */
int proc_resolve(char file[4096], const char *name); /* HPC_E_IO: not in PATH */
int proc_environment(proc_command *c, hpc_arena *a, const hpc_proc_options *o);
int proc_spawn(proc_child *out, const proc_command *c, const hpc_proc_options *o);
void proc_close(int *fd);
/* keep.c, in a child: begin runs before the command is forked and checks that `caller` still
 * runs; keep runs after it. */
void proc_keep_begin(pid_t caller);
void proc_keep(pid_t command) __attribute__((noreturn));
/* counter.c: counts programs that children of this thread execute from now on; -1: not
 * available. */
int proc_counter_open(hpc_counter c);
int64_t proc_counter_read(int fd); /* when all of it has ended; -1: it never ran */
/* sandbox.c: wraps the command into bubblewrap's. */
int proc_sandbox(proc_command *c, hpc_arena *a, const hpc_proc_options *o);
/* After the end: from bubblewrap's reports and status to the child's own, or why it never ran. */
int proc_sandbox_result(hpc_proc_result *r, const hpc_buf *reports, const char *name);

#endif
