/*
 * commit.c: parsing a commit object.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

void git_commit_release(git_commit_head *c)
{
    hpc_free(c->parent);
    *c = (git_commit_head){0};
}

/* Seconds in "committer A B <a@b> 1700000000 +0100". */
static int64_t time_of(const char *line, const char *end)
{
    const char *at = end;
    while (at > line && at[-1] != '>') at--;
    return at > line ? strtoll(at, NULL, 10) : 0; /* every object is followed by a NUL */
}

static int parse(git_commit_head *out, const char *text, size_t n)
{
    int64_t cap = 0;
    size_t at = 0;
    hpc_git_id id;
    int rc = HPC_GIT_READ;
    if (!git_header_id(&out->tree, text, n, &at, "tree ")) return HPC_GIT_CORRUPT;
    while (git_header_id(&id, text, n, &at, "parent ")) {
        TRY(hpc_grow(&out->parent, &cap, out->parents + 1, sizeof *out->parent));
        out->parent[out->parents++] = id;
    }
    while (at < n && text[at] != '\n') {
        const char *line = text + at, *end = memchr(line, '\n', n - at);
        if (!end) break;
        if (n - at > 10 && memcmp(line, "committer ", 10) == 0) out->time = time_of(line, end);
        at = (size_t)(end + 1 - text);
    }
    out->message = at < n ? at + 1 : n;
out:
    return rc;
}

int git_read_commit(git_commit_head *out, hpc_git *g, const hpc_git_id *id)
{
    char why[200];
    git_raw raw;
    *out = (git_commit_head){0};
    int rc = git_get(&raw, g, id, GIT_OBJECT_COMMIT, GIT_META_BYTES, why);
    if (rc != HPC_GIT_READ) return rc;
    rc = parse(out, (const char *)raw.data, raw.n);
    git_raw_release(&raw);
    if (rc != HPC_GIT_READ) git_commit_release(out);
    return rc;
}

int hpc_git_tree(hpc_git_id *out, hpc_git *g, const hpc_git_id *commit)
{
    git_commit_head c;
    char hex[41];
    hpc_git_id_text(hex, commit);
    int rc = git_read_commit(&c, g, commit);
    if (rc < 0) return rc;
    if (rc != HPC_GIT_READ)
        return hpc_fail(HPC_E_ARG, SHOWN ": commit %s is not in this clone", g->path, hex);
    *out = c.tree;
    git_commit_release(&c);
    return HPC_OK;
}

int hpc_git_has_commit(hpc_git *g, const char *id)
{
    git_commit_head c;
    hpc_git_id commit;
    if (!hpc_git_id_parse(&commit, id)) return 0;
    int rc = git_read_commit(&c, g, &commit);
    if (rc == HPC_GIT_READ) git_commit_release(&c);
    return rc < 0 ? rc : rc != HPC_GIT_ABSENT;
}

int hpc_git_message(hpc_buf *out, hpc_git *g, const hpc_git_id *id)
{
    char why[200];
    git_commit_head c = {0};
    git_raw raw;
    out->n = 0;
    out->failed = 0;
    int rc = git_get(&raw, g, id, GIT_OBJECT_COMMIT, GIT_META_BYTES, why);
    if (rc != HPC_GIT_READ) return rc;
    rc = parse(&c, (const char *)raw.data, raw.n);
    if (rc == HPC_GIT_READ) {
        rc = hpc_buf_add(out, raw.data + c.message, raw.n - c.message);
        if (rc >= 0) rc = HPC_GIT_READ;
    }
    git_commit_release(&c);
    git_raw_release(&raw);
    return rc;
}
