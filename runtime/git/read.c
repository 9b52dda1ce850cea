/*
 * read.c: contents of blobs, and of HEAD's tree by path.
 */
#include <string.h>

#include "runtime/git/priv.h"

static int set_text(hpc_buf *out, const void *data, size_t n)
{
    out->n = 0;
    out->failed = 0;
    return hpc_buf_add(out, data, n);
}

/* The content, or the reason, as git.h promises. */
static int hand_over(hpc_buf *out, git_raw *blob, int outcome, const char *why)
{
    if (outcome < 0) return outcome;
    int rc = outcome == HPC_GIT_READ
                 ? set_text(out, blob->data, blob->n)
                 : set_text(out, why, outcome == HPC_GIT_CORRUPT ? strlen(why) : 0);
    if (outcome == HPC_GIT_READ) git_raw_release(blob);
    return rc < 0 ? rc : outcome;
}

int hpc_git_read(hpc_buf *out, size_t *bytes, hpc_git *g, const hpc_git_id *id, size_t limit)
{
    char why[200] = "";
    git_raw blob;
    int outcome = git_get(&blob, g, id, GIT_OBJECT_BLOB, limit, why);
    *bytes = blob.n;
    return hand_over(out, &blob, outcome, why);
}

/* The tree of HEAD, or HPC_GIT_ABSENT. */
static int root_tree(git_raw *tree, hpc_git *g, char why[200])
{
    hpc_git_id id;
    size_t at = 0;
    git_raw commit;
    int rc = git_head(&id, g, why);
    if (rc != HPC_GIT_READ) return rc;
    rc = git_get(&commit, g, &id, GIT_OBJECT_COMMIT, GIT_META_BYTES, why);
    if (rc != HPC_GIT_READ) return rc;
    bool found = git_header_id(&id, (const char *)commit.data, commit.n, &at, "tree ");
    git_raw_release(&commit);
    return found ? git_get(tree, g, &id, GIT_OBJECT_TREE, GIT_META_BYTES, why) : HPC_GIT_CORRUPT;
}

static int look_up(git_name *out, const git_raw *tree, const char *name, size_t n)
{
    size_t at = 0;
    int rc;
    while ((rc = git_tree_next(out, tree->data, tree->n, &at)) > 0)
        if (out->n == n && memcmp(out->name, name, n) == 0) return HPC_GIT_READ;
    return rc < 0 ? HPC_GIT_CORRUPT : HPC_GIT_ABSENT;
}

/* From a tree to what the first part of a path names in it. */
static int step(git_raw *out, hpc_git *g, const git_raw *tree, const char *name, size_t n,
                git_object_t type, size_t limit, char why[200])
{
    git_name entry;
    hpc_git_id id;
    int rc = look_up(&entry, tree, name, n);
    if (rc != HPC_GIT_READ) return rc;
    uint32_t kind = type == GIT_OBJECT_TREE ? 0040000 : 0100000;
    if ((entry.mode & 0170000) != kind) return HPC_GIT_ABSENT; /* a link, a file for a folder */
    memcpy(id.byte, entry.id, sizeof id.byte);
    return git_get(out, g, &id, type, limit, why);
}

/* The object of a path in HEAD's tree; "" is the root. */
static int at_path(git_raw *out, hpc_git *g, const char *path, git_object_t type, size_t limit,
                   char why[200])
{
    memset(out, 0, sizeof *out);
    int rc = root_tree(out, g, why);
    while (rc == HPC_GIT_READ && *path) {
        git_raw tree = *out;
        const char *name = path;
        size_t n = strcspn(path, "/");
        path += n;
        path += strspn(path, "/");
        bool last = *path == '\0';
        memset(out, 0, sizeof *out);
        rc = step(out, g, &tree, name, n, last ? type : GIT_OBJECT_TREE,
                  last ? limit : GIT_META_BYTES, why);
        git_raw_release(&tree);
    }
    return rc;
}

int hpc_git_read_path(hpc_buf *out, hpc_git *g, const char *path, size_t limit)
{
    git_raw blob;
    char why[200] = "";
    if (*path == '\0') return hand_over(out, NULL, HPC_GIT_ABSENT, why);
    int outcome = at_path(&blob, g, path, GIT_OBJECT_BLOB, limit, why);
    return hand_over(out, &blob, outcome, why);
}

int hpc_git_list_folder(hpc_buf *out, int64_t *n, hpc_git *g, const char *folder)
{
    git_raw tree;
    git_name name;
    char why[200] = "";
    size_t at = 0;
    *n = 0;
    int rc = set_text(out, "", 0);
    if (rc < 0) return rc;
    int outcome = at_path(&tree, g, folder, GIT_OBJECT_TREE, GIT_META_BYTES, why);
    if (outcome != HPC_GIT_READ) return outcome;
    while ((rc = git_tree_next(&name, tree.data, tree.n, &at)) > 0) {
        bool is_folder = (name.mode & 0170000) == 0040000;
        TRY(hpc_buf_printf(out, "%s%s", name.name, is_folder ? "/" : ""));
        TRY(hpc_buf_add(out, "", 1));
        ++*n;
    }
    if (rc < 0) outcome = HPC_GIT_CORRUPT;
    rc = HPC_OK;
out:
    git_raw_release(&tree);
    return rc < 0 ? rc : outcome;
}
