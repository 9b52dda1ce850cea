/*
 * terminal.c: see terminal.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/command.h"
#include "tests/support/terminal.h"

/* The end of a terminal whose program has ended reads as an error. */
static void read_terminal(char *out, size_t size, int fd)
{
    char block[4096];
    size_t used = 0;
    for (ssize_t n; (n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR);)
        for (ssize_t k = 0; k < n; k++) {
            bool joins = block[k] == '\n' && used > 0 && out[used - 1] == '\r';
            if (joins) out[used - 1] = '\n';
            if (!joins && used + 1 < size) out[used++] = block[k];
        }
    out[used] = '\0';
    close(fd);
}

int hpc_test_terminal(char *out, size_t size, int columns, const char *root, const char *words)
{
    char path[PATH_MAX], all[HPC_TEST_WORDS], *argv[HPC_TEST_ARGS];
    struct winsize w = {.ws_row = 50, .ws_col = (unsigned short)columns};
    int fd, status;
    hpc_test_built(path, "hpccoder");
    hpc_test_split(argv, hpc_test_in(all, root, words));
    pid_t child = forkpty(&fd, NULL, NULL, &w);
    assert_true(child >= 0);
    if (child == 0) {
        execv(path, argv);
        _exit(127);
    }
    read_terminal(out, size, fd);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
