/*
 * context_path.c: paths within a repository, and their targets.
 *
 * Paths from a repository are not trusted: the real location of a file is resolved before the file
 * is read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "infer/complete/context_priv.h"

const char *context_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int depth(const char *path)
{
    int n = 0;
    for (; (path = strchr(path, '/')); path++) n++;
    return n;
}

int context_distance(const char *a, const char *b)
{
    size_t same = 0;
    for (size_t k = 0; a[k] && a[k] == b[k]; k++)
        if (a[k] == '/') same = k + 1;
    return depth(a + same) + depth(b + same);
}

/* Takes the last folder off "a/b/". */
static bool leave(char *out, size_t *n)
{
    if (*n == 0) return false;
    for (--*n; *n > 0 && out[*n - 1] != '/';) --*n;
    return true;
}

bool context_join(char out[PATH_MAX], const char *from, const char *name)
{
    size_t n = (size_t)(context_name_of(from) - from);
    if (n >= PATH_MAX || name[0] == '/') return false;
    memcpy(out, from, n);
    while (*name) {
        size_t part = strcspn(name, "/");
        bool dot = part == 1 && name[0] == '.', up = part == 2 && memcmp(name, "..", 2) == 0;
        if (up && !leave(out, &n)) return false;
        if (part > 0 && !dot && !up) {
            if (n + part + 2 > PATH_MAX) return false;
            memcpy(out + n, name, part);
            n += part;
            if (name[part]) out[n++] = '/';
        }
        name += part + (name[part] == '/');
    }
    out[n] = '\0';
    return n > 0 && out[n - 1] != '/';
}

static bool has_git(const char *folder)
{
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s/.git", strcmp(folder, "/") == 0 ? "" : folder);
    return hpc_file_exists(path);
}

/* From "/a/b" to "/a", from "/a" to "/"; false: there is nothing above. */
static bool go_up(char *folder)
{
    char *slash = strrchr(folder, '/');
    if (!slash || folder[1] == '\0') return false;
    slash[slash == folder] = '\0';
    return true;
}

bool context_locate(char root[PATH_MAX], char path[PATH_MAX], bool *git, const char *file)
{
    char folder[PATH_MAX], whole[PATH_MAX];
    const char *name = context_name_of(file);
    size_t n = (size_t)(name - file);
    if (n >= PATH_MAX || *name == '\0') return false;
    memcpy(folder, file, n);
    snprintf(folder + n, sizeof folder - n, "%s", n == 0 ? "." : "");
    if (!realpath(folder, whole)) return false;
    memcpy(root, whole, strlen(whole) + 1);
    for (*git = has_git(root); !*git && go_up(root);) *git = has_git(root);
    if (!*git) memcpy(root, whole, strlen(whole) + 1);
    const char *inner = whole + strlen(root);
    inner += *inner == '/';
    int length = snprintf(path, PATH_MAX, "%s%s%s", inner, *inner ? "/" : "", name);
    return length > 0 && length < PATH_MAX;
}

/* True if a component of a path is git's own folder. */
static bool is_of_git(const char *path)
{
    for (; *path; path += *path == '/') {
        size_t n = strcspn(path, "/");
        if (n == 4 && strncasecmp(path, ".git", 4) == 0) return true;
        path += n;
    }
    return false;
}

bool context_reach(char out[PATH_MAX], uint64_t stamp[2], const char *root, const char *path)
{
    char whole[2 * PATH_MAX];
    struct stat st;
    size_t n = strlen(root);
    if (n == 1) n = 0; /* "/" */
    snprintf(whole, sizeof whole, "%s/%s", n == 0 ? "" : root, path);
    if (!realpath(whole, out) || strncmp(out, root, n) != 0 || out[n] != '/') return false;
    if (is_of_git(out + n) || stat(out, &st) != 0 || !S_ISREG(st.st_mode)) return false;
    if (st.st_size <= 0 || st.st_size > CONTEXT_FILE_BYTES) return false;
    stamp[0] = (uint64_t)st.st_size;
    stamp[1] = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
    return true;
}
