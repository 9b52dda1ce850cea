/*
 * repository.h: real repositories made by the git program in a temporary folder.
 */
#ifndef HPC_TESTS_GIT_REPOSITORY_H
#define HPC_TESTS_GIT_REPOSITORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/git/git.h"
#include "tests/support/fault.h"

typedef struct place {
    char root[64]; /* scripts start here */
    char path[256];
} place;

/* Independent of user and host; dates are fixed, so ids are. */
#define GIT_SETTING                                                                                \
    "set -e; export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null HOME=\"$PWD\" "        \
    "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a "                       \
    "GIT_COMMITTER_EMAIL=a@example.org GIT_AUTHOR_DATE='1700000000 +0000' "                        \
    "GIT_COMMITTER_DATE='1700000000 +0000' GIT_TERMINAL_PROMPT=0; "                                \
    "unset GIT_DIR GIT_WORK_TREE; "                                                                \
    "new() { git init -q -b main \"$1\"; cd \"$1\"; git config gc.auto 0; }; "                     \
    "save() { git add -A; git commit -q -m \"${1:-m}\"; }; "

static inline int place_setup(void **state)
{
    place *p = calloc(1, sizeof *p);
    snprintf(p->root, sizeof p->root, "/tmp/hpc-git-XXXXXX");
    if (!p || !mkdtemp(p->root)) return -1;
    hpc_error_clear();
    hpc_test_fault_reset();
    *state = p;
    return 0;
}

static inline int place_teardown(void **state)
{
    place *p = *state;
    char command[192];
    hpc_test_fault_reset();
    snprintf(command, sizeof command, "rm -rf '%s'", p->root);
    int rc = system(command);
    free(p);
    return rc;
}

static inline void script(const place *p, const char *text)
{
    hpc_buf command = {0};
    assert_int_equal(
        hpc_buf_printf(&command, "cd '%s' && { " GIT_SETTING "%s\n} >log 2>&1", p->root, text), 0);
    int rc = system(command.data);
    hpc_buf_release(&command);
    if (rc == 0) return;
    hpc_buf log = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/log", p->root);
    hpc_file_read(&log, path, 1 << 20);
    fail_msg("script failed: %s\n%s", text, log.data ? log.data : "");
}

static inline const char *in(place *p, const char *name)
{
    snprintf(p->path, sizeof p->path, "%s/%s", p->root, name);
    return p->path;
}

static inline hpc_git *opened(place *p, const char *name)
{
    hpc_git *g = NULL;
    if (hpc_git_open(&g, in(p, name)) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_non_null(g);
    return g;
}

/* Writes a file without the fsync of hpc_file_save. */
static inline void put(place *p, const char *name, const void *data, size_t n)
{
    FILE *f = fopen(in(p, name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline void assert_refused(int rc, int code, const char *part)
{
    assert_int_equal(rc, code);
    assert_int_equal(hpc_error_get()->code, code);
    if (!strstr(hpc_error_get()->text, part))
        fail_msg("\"%s\" does not say \"%s\"", hpc_error_get()->text, part);
    assert_null(strchr(hpc_error_get()->text, '\n'));
    hpc_error_clear();
}

/* Contents of a file without the final line end. */
static inline char *text_of(place *p, const char *name)
{
    hpc_buf b = {0};
    assert_int_equal(hpc_file_read(&b, in(p, name), 1 << 26), 0);
    if (b.n > 0 && b.data[b.n - 1] == '\n') b.data[b.n - 1] = '\0';
    return b.data;
}

static inline hpc_git_id id_of(const char *hex)
{
    hpc_git_id id;
    for (int k = 0; k < 20; k++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * k, "%2x", &byte), 1);
        id.byte[k] = (uint8_t)byte;
    }
    return id;
}

/* The id from `git rev-parse WHAT`. */
static inline hpc_git_id parsed(place *p, const char *repository, const char *what)
{
    char text[512];
    snprintf(text, sizeof text, "git -C '%s' rev-parse '%s' >id", repository, what);
    script(p, text);
    char *hex = text_of(p, "id");
    hpc_git_id id = id_of(hex);
    hpc_free(hex);
    return id;
}

#endif
