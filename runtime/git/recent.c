/*
 * recent.c: lists what the newest commits changed, by first parent, to find files that change
 * together. A merge counts as one commit with all of its changes.
 */
#include <string.h>

#include "runtime/git/priv.h"

enum { READ_MOST = 48 << 20 }; /* bytes of trees: about 50 ms */

void hpc_git_commits_release(hpc_git_commits *c)
{
    hpc_free(c->item);
    hpc_free(c->path);
    hpc_buf_release(&c->paths);
    *c = (hpc_git_commits){0};
}

static void clear(hpc_git_commits *c)
{
    c->n = c->path_n = c->walked = c->missing_n = 0;
    c->paths.n = 0;
    c->paths.failed = 0;
    c->head = (hpc_git_id){0};
    c->cut = false;
}

/* *first: it has no parent. */
static int parent_of(hpc_git_id *out, bool *first, hpc_git *g, const hpc_git_id *commit)
{
    char why[200];
    git_raw raw;
    size_t at = 0;
    int rc = git_get(&raw, g, commit, GIT_OBJECT_COMMIT, GIT_META_BYTES, why);
    if (rc != HPC_GIT_READ) return rc;
    const char *text = (const char *)raw.data;
    if (!git_header_id(out, text, raw.n, &at, "tree ")) rc = HPC_GIT_CORRUPT;
    *first = !git_header_id(out, text, raw.n, &at, "parent ");
    git_raw_release(&raw);
    return rc;
}

static int add_commit(hpc_git_commits *out, const hpc_git_id *id, const hpc_git_changes *c)
{
    hpc_git_commit commit = {.id = *id, .age = out->walked, .first = out->path_n, .path_n = c->n};
    size_t before = out->paths.n;
    int rc;
    if (c->n == 0 || before + c->paths.n > UINT32_MAX) return HPC_OK;
    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
    TRY(hpc_grow(&out->path, &out->path_cap, out->path_n + c->n, sizeof *out->path));
    TRY(hpc_buf_add(&out->paths, c->paths.data, c->paths.n));
    for (int64_t k = 0; k < c->n; k++)
        out->path[out->path_n++] = (uint32_t)before + c->item[k].path;
    out->item[out->n++] = commit;
out:
    return rc;
}

static int walk(hpc_git_commits *out, hpc_git *g, hpc_git_id at, int64_t commits, int64_t files)
{
    hpc_git_changes changes = {0};
    hpc_git_id parent;
    bool first = false;
    size_t read = 0;
    int rc = HPC_OK;
    for (; out->walked < commits; out->walked++, at = parent) {
        out->cut = read > READ_MOST;
        if (out->cut) break;
        TRY(parent_of(&parent, &first, g, &at));
        out->cut = rc != HPC_GIT_READ;
        if (out->cut || first) break;
        TRY(git_compare(&changes, &read, g, &parent, &at, NULL, NULL, files));
        if (rc == HPC_GIT_READ) TRY(add_commit(out, &at, &changes));
        out->missing_n += rc == HPC_GIT_ABSENT || rc == HPC_GIT_CORRUPT;
    }
    rc = HPC_GIT_READ;
out:
    hpc_git_changes_release(&changes);
    return rc;
}

int hpc_git_recent(hpc_git_commits *out, hpc_git *g, int64_t commits, int64_t files)
{
    char why[200];
    hpc_git_id head;
    int rc = git_head(&head, g, why);
    if (rc == HPC_GIT_READ && memcmp(&head, &out->head, sizeof head) == 0) return rc;
    clear(out);
    if (rc != HPC_GIT_READ) return rc;
    rc = walk(out, g, head, commits, files);
    if (rc < 0)
        clear(out);
    else
        out->head = head;
    return rc;
}
