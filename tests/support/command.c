/*
 * command.c: see command.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/command.h"

enum { ARGS = 48 };
extern char **environ;

const char *hpc_test_built(char *out, const char *name)
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    assert_true(n > 0);
    out[n] = '\0';
    for (int k = 0; k < 3; k++) {
        char *slash = strrchr(out, '/');
        assert_non_null(slash);
        *slash = '\0';
    }
    assert_true(strlen(out) + strlen(name) + 2 < PATH_MAX);
    strcat(strcat(out, "/"), name);
    return out;
}

static void read_text(char *out, size_t size, int fd)
{
    size_t used = 0;
    for (ssize_t n; used + 1 < size && (n = read(fd, out + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    out[used] = '\0';
    close(fd);
}

static pid_t start(char *const *argv, const int *out, const int *err)
{
    char path[PATH_MAX];
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    const int ends[] = {out[0], out[1], err[0], err[1]};
    for (int k = 0; k < 4; k++) posix_spawn_file_actions_addclose(&actions, ends[k]);
    hpc_test_built(path, "hpccoder");
    int rc = posix_spawn(&child, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) fail_msg("%s cannot be run: `make all` builds it", path);
    return child;
}

/* What goes to stderr is short, so that reading one pipe after the other does not block. */
void hpc_test_command(hpc_test_outcome *o, const char *words)
{
    char copy[1024], *argv[ARGS] = {"hpccoder"};
    int argc = 1, out[2], err[2], status;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *at = strtok(copy, " "); at && argc + 1 < ARGS; at = strtok(NULL, " "))
        argv[argc++] = at;
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(err), 0);
    pid_t child = start(argv, out, err);
    close(out[1]);
    close(err[1]);
    read_text(o->out, sizeof o->out, out[0]);
    read_text(o->err, sizeof o->err, err[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    o->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
