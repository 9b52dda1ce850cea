/*
 * check_program.c: the main function of the programs in which a compiler parses untrusted
 * texts. The checker (check_process.c) starts them with a socket as descriptor 3.
 *
 * The argument is the number of bytes that the process may allocate beyond what it has
 * when it starts.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/source/check_priv.h"

enum { SOCKET = 3 };

/* Writes go nowhere, reads fail: a pipe whose other end is closed. */
static bool close_streams(void)
{
    int ends[2];
    if (pipe(ends) < 0) return false;
    close(ends[0]);
    for (int fd = 0; fd < 3; fd++)
        if (dup2(ends[1], fd) < 0) return false;
    return close(ends[1]) == 0;
}

/* Descriptors of the caller that an exec did not close: its locks and connections would live as
 * long as we do. */
static void close_others(void)
{
    if (close_range(SOCKET + 1, ~0u, 0) == 0) return;
    for (int k = SOCKET + 1; k < 4096; k++) close(k); /* kernels before 5.9 */
}

/* Memory that the process has allocated, with what libraries and sanitizers took. */
static bool data_bytes(rlim_t *out)
{
    hpc_buf text = {0};
    unsigned long long pages = 0;
    const bool done = hpc_file_read(&text, "/proc/self/statm", 4096) == HPC_OK &&
                      sscanf(text.data, "%*s %*s %*s %*s %*s %llu", &pages) == 1;
    hpc_buf_release(&text);
    *out = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    return done;
}

static bool limit(int resource, rlim_t value)
{
    struct rlimit l;
    if (getrlimit(resource, &l) < 0) return false;
    if (l.rlim_max != RLIM_INFINITY && value > l.rlim_max) value = l.rlim_max;
    l.rlim_cur = l.rlim_max = value;
    return setrlimit(resource, &l) == 0;
}

static bool confine(rlim_t more)
{
    rlim_t now;
    if (!data_bytes(&now)) return false;
    if (more > RLIM_INFINITY - now) more = RLIM_INFINITY - now;
    return limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_DATA, now + more);
}

int check_program(int argc, char **argv, const struct hpc_clang *table)
{
    static const char usage[] = "only hpccoder can start this program\n";
    if (argc != 2 || fcntl(SOCKET, F_GETFD) < 0)
        return write(STDERR_FILENO, usage, sizeof usage - 1) < 0 ? 3 : 2;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    close_others();
    if (!close_streams() || !confine(strtoull(argv[1], NULL, 10))) return 3;
    check_serve(SOCKET, table, argv[0]);
}
