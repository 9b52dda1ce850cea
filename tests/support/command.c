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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/command.h"

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

char *hpc_test_in(char out[HPC_TEST_WORDS], const char *root, const char *words)
{
    size_t n = 0;
    for (; *words; words++) {
        n += (size_t)snprintf(out + n, HPC_TEST_WORDS - n, *words == '@' ? "%s/" : "%.1s",
                              *words == '@' ? root : words);
        assert_true(n < HPC_TEST_WORDS);
    }
    out[n] = '\0';
    return out;
}

void hpc_test_split(char *argv[HPC_TEST_ARGS], char *words)
{
    int argc = 0;
    argv[argc++] = "hpccoder";
    for (char *at = strtok(words, " "); at; at = strtok(NULL, " ")) {
        assert_true(argc + 1 < HPC_TEST_ARGS);
        argv[argc++] = at;
    }
    argv[argc] = NULL;
}

/* What goes to stderr is short, so that reading one pipe after the other does not block. */
void hpc_test_command(hpc_test_outcome *o, const char *words)
{
    char copy[HPC_TEST_WORDS], *argv[HPC_TEST_ARGS];
    int out[2], err[2], status;
    assert_true(snprintf(copy, sizeof copy, "%s", words) < (int)sizeof copy);
    hpc_test_split(argv, copy);
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

void hpc_test_command_in(hpc_test_outcome *o, const char *root, const char *words)
{
    char all[HPC_TEST_WORDS];
    hpc_test_command(o, hpc_test_in(all, root, words));
}

void hpc_test_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not say \"%s\"", text, part);
}

void hpc_test_says_row(const char *text, const char *part)
{
    char *row = calloc(strlen(text) + 1, 1);
    size_t n = 0;
    assert_non_null(row);
    for (const char *p = text; *p; p++)
        if (*p != ' ' || n == 0 || row[n - 1] != ' ') row[n++] = *p;
    bool found = strstr(row, part) != NULL;
    free(row);
    if (!found) fail_msg("\"%s\" has no row \"%s\"", text, part);
}

void hpc_test_refuses(hpc_test_outcome *o, const char *root, const char *words, const char *part)
{
    hpc_test_command_in(o, root, words);
    if (o->code != 2 && o->code != 3) fail_msg("%s: exit code %d", words, o->code);
    hpc_test_says(o->err, part);
    assert_ptr_equal(strchr(o->err, '\n'), o->err + strlen(o->err) - 1);
    assert_string_equal(o->out, "");
}
