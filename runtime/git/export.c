/*
 * export.c: writes the files of a commit into a folder of the caller. Folders are opened by
 * descriptor, and existing entries are neither followed nor overwritten, so that no name in a tree
 * can lead out of the folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/git/priv.h"

enum { FILE_MOST = 1 << 30, LINK_MOST = 4096, DEPTH_MOST = 256, MODULES_DEEP = 8 };

typedef struct export
{
    hpc_git *g;
    hpc_git_exported *out;
    hpc_buf path;    /* from the top, of what is being written */
    hpc_buf modules; /* .gitmodules of this commit */
    int deep;        /* in submodules */
}
export;

static int tree_into(export *e, const hpc_git_id *id, int folder, int depth);
static int commit_into(export *e, const hpc_git_id *commit, int folder);

static int refused(const export *e, const char *why)
{
    return hpc_fail(HPC_E_FORMAT, SHOWN ": %.300s %s", e->g->path, e->path.data, why);
}

static int failed(const export *e)
{
    return hpc_fail_os(HPC_E_IO, "cannot write %.300s", e->path.data);
}

/* As git does on this system. */
static bool may_be_named(const git_name *n)
{
    if (n->n == 1 && n->name[0] == '.') return false;
    if (n->n == 2 && memcmp(n->name, "..", 2) == 0) return false;
    return !(n->n == 4 && strncasecmp(n->name, ".git", 4) == 0);
}

/* A blob that is there. */
static int get(git_raw *raw, export *e, const git_name *n, size_t most)
{
    char why[200] = "";
    hpc_git_id id;
    memcpy(id.byte, n->id, sizeof id.byte);
    int rc = git_get(raw, e->g, &id, GIT_OBJECT_BLOB, most, why);
    if (rc <= 0) return rc;
    return refused(e, rc == HPC_GIT_ABSENT      ? "is not in this clone"
                      : rc == HPC_GIT_TOO_LARGE ? "exceeds the size limit"
                                                : "is damaged");
}

static int write_all(int fd, const uint8_t *data, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t wrote = write(fd, data + at, n - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return -1;
        at += (size_t)wrote;
    }
    return 0;
}

static int put_file(export *e, const git_name *n, int folder)
{
    git_raw raw;
    int rc = get(&raw, e, n, FILE_MOST);
    if (rc < 0) return rc;
    int fd = openat(folder, n->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    n->mode & 0111 ? 0777 : 0666);
    if (fd < 0 || write_all(fd, raw.data, raw.n) < 0) rc = failed(e);
    if (fd >= 0 && close(fd) < 0 && rc == 0) rc = failed(e);
    git_raw_release(&raw);
    e->out->files++;
    return rc;
}

static int put_link(export *e, const git_name *n, int folder)
{
    char target[LINK_MOST + 1];
    git_raw raw;
    int rc = get(&raw, e, n, LINK_MOST);
    if (rc < 0) return rc;
    memcpy(target, raw.data, raw.n);
    target[raw.n] = '\0';
    if (symlinkat(target, folder, n->name) < 0) rc = failed(e);
    git_raw_release(&raw);
    e->out->links++;
    return rc;
}

static int enter(int *out, const export *e, const git_name *n, int folder)
{
    *out = -1;
    if (mkdirat(folder, n->name, 0777) < 0) return failed(e);
    *out = openat(folder, n->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *out < 0 ? failed(e) : HPC_OK;
}

/* ---- submodules ------------------------------------------------------------------------------ */

/* The name under which .gitmodules has this path; "" when it has not. */
static void module_of(char name[256], const char *text, const char *path)
{
    char section[256] = "", value[GIT_PATH_BYTES];
    name[0] = '\0';
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        while (*line == '\n' || *line == ' ' || *line == '\t') line++;
        if (sscanf(line, "[submodule \"%255[^\"\n]\"]", section) == 1) continue;
        if (sscanf(line, "path = %4095[^\n]", value) == 1 && strcmp(value, path) == 0)
            snprintf(name, 256, "%s", section);
    }
}

static int note_missing(export *e)
{
    e->out->missing++;
    return hpc_buf_add(&e->out->paths, e->path.data, strlen(e->path.data) + 1);
}

static bool leads_out(const char *name)
{
    return name[0] == '/' || strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0 ||
           strstr(name, "/../") ||
           (strlen(name) > 2 && strcmp(name + strlen(name) - 3, "/..") == 0);
}

/* Opens the submodule's clone that git keeps within the repository's git directory. NULL: there is
 * no clone, or it lacks the commit. */
static int open_module(hpc_git **out, const export *e, const char *name, const hpc_git_id *commit)
{
    git_commit_head c = {0};
    hpc_buf place = {0};
    int rc = HPC_OK;
    if (!name[0] || leads_out(name) || e->deep == MODULES_DEEP) return rc;
    TRY(hpc_buf_printf(&place, "%smodules/%s", e->g->lib.repository_commondir(e->g->repository),
                       name));
    if (!hpc_file_exists(place.data)) goto out;
    rc = hpc_git_open(out, place.data);
    if (rc >= 0) rc = git_read_commit(&c, *out, commit);
    if (rc == HPC_GIT_READ || rc == HPC_E_NOMEM) goto out;
    hpc_git_close(*out);
    *out = NULL;
    hpc_error_clear();
    rc = HPC_OK;
out:
    git_commit_release(&c);
    hpc_buf_release(&place);
    return rc;
}

static int put_module(export *e, const git_name *n, int folder)
{
    export inner = {.out = e->out, .deep = e->deep + 1};
    hpc_git_id commit;
    char name[256];
    int into = -1, rc;
    memcpy(commit.byte, n->id, sizeof commit.byte);
    TRY(enter(&into, e, n, folder));
    module_of(name, e->modules.data, e->path.data);
    TRY(open_module(&inner.g, e, name, &commit));
    if (!inner.g) {
        TRY(note_missing(e));
        goto out;
    }
    TRY(commit_into(&inner, &commit, into));
    e->out->modules++;
out:
    if (into >= 0) close(into);
    hpc_git_close(inner.g);
    hpc_buf_release(&inner.path);
    hpc_buf_release(&inner.modules);
    return rc;
}

/* ---- trees -------------------------------------------------------------------------------------
 */

static int put_folder(export *e, const git_name *n, int folder, int depth)
{
    hpc_git_id tree;
    int into, rc;
    memcpy(tree.byte, n->id, sizeof tree.byte);
    if (depth == DEPTH_MOST) return refused(e, "is nested too deep");
    TRY(enter(&into, e, n, folder));
    TRY(tree_into(e, &tree, into, depth + 1));
out:
    if (into >= 0) close(into);
    return rc;
}

static int put(export *e, const git_name *n, int folder, int depth)
{
    if (!may_be_named(n)) return refused(e, "is not a valid file name in git");
    switch (n->mode & 0170000) {
    case 0040000: return put_folder(e, n, folder, depth);
    case 0100000: return put_file(e, n, folder);
    case 0120000: return put_link(e, n, folder);
    case 0160000: return put_module(e, n, folder);
    default: return refused(e, "is of an unknown kind");
    }
}

static int tree_into(export *e, const hpc_git_id *id, int folder, int depth)
{
    char why[200] = "";
    size_t at = 0, above = e->path.n;
    git_raw tree;
    git_name n;
    int rc = git_get(&tree, e->g, id, GIT_OBJECT_TREE, GIT_META_BYTES, why);
    if (rc < 0) return rc;
    if (rc > 0) return refused(e, "is a folder that cannot be read");
    while ((rc = git_tree_next(&n, tree.data, tree.n, &at)) > 0) {
        TRY(hpc_buf_printf(&e->path, "%s%.*s", above ? "/" : "", (int)n.n, n.name));
        TRY(put(e, &n, folder, depth));
        e->path.n = above;
        e->path.data[above] = '\0';
    }
    if (rc < 0) rc = refused(e, "is a folder that is malformed");
out:
    git_raw_release(&tree);
    return rc;
}

/* .gitmodules, if the top of the tree has one. */
static int find_modules(export *e, const hpc_git_id *id)
{
    char why[200] = "";
    size_t at = 0;
    git_raw tree, text;
    git_name n;
    int rc = git_get(&tree, e->g, id, GIT_OBJECT_TREE, GIT_META_BYTES, why);
    if (rc != HPC_GIT_READ) return rc < 0 ? rc : HPC_OK;
    while (git_tree_next(&n, tree.data, tree.n, &at) > 0) {
        if (strcmp(n.name, ".gitmodules") != 0 || (n.mode & 0170000) != 0100000) continue;
        TRY(get(&text, e, &n, 1 << 20));
        rc = hpc_buf_add(&e->modules, text.data, text.n);
        git_raw_release(&text);
        TRY(rc);
    }
out:
    git_raw_release(&tree);
    return rc < 0 ? rc : HPC_OK;
}

static int commit_into(export *e, const hpc_git_id *commit, int folder)
{
    git_commit_head c = {0};
    char hex[41];
    int rc;
    TRY(hpc_buf_text(&e->path, ""));
    TRY(git_read_commit(&c, e->g, commit));
    hpc_git_id_text(hex, commit);
    if (rc != HPC_GIT_READ)
        TRY(hpc_fail(HPC_E_ARG, SHOWN ": commit %s is not in this clone", e->g->path, hex));
    TRY(find_modules(e, &c.tree));
    TRY(tree_into(e, &c.tree, folder, 0));
out:
    git_commit_release(&c);
    return rc;
}

int hpc_git_export(hpc_git_exported *out, hpc_git *g, const hpc_git_id *commit, const char *folder)
{
    export e = {.g = g, .out = out};
    int rc, into = -1;
    *out = (hpc_git_exported){0};
    TRY(hpc_buf_text(&out->paths, ""));
    into = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (into < 0) TRY(hpc_fail_os(HPC_E_IO, "cannot open %.300s", folder));
    TRY(commit_into(&e, commit, into));
out:
    if (into >= 0) close(into);
    hpc_buf_release(&e.path);
    hpc_buf_release(&e.modules);
    if (rc < 0) hpc_git_exported_release(out);
    return rc;
}

void hpc_git_exported_release(hpc_git_exported *x)
{
    hpc_buf_release(&x->paths);
    *x = (hpc_git_exported){0};
}
