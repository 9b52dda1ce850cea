/*
 * object.c: parses trees, commits and tags. Unlike libgit2, it reads only the few fields that a
 * walk over a history needs, millions of times. It writes nothing.
 */
#include <string.h>

#include "runtime/git/priv.h"

int git_tree_next(git_name *out, const uint8_t *tree, size_t n, size_t *at)
{
    size_t k = *at;
    if (k >= n) return 0;
    out->mode = 0;
    size_t digits = k;
    for (; k < n && tree[k] >= '0' && tree[k] <= '7' && k - digits < 7; k++)
        out->mode = out->mode * 8 + (uint32_t)(tree[k] - '0');
    if (k == digits || k >= n || tree[k] != ' ') return -1;
    const uint8_t *name = tree + k + 1;
    const uint8_t *end = k + 1 < n ? memchr(name, 0, n - k - 1) : NULL;
    if (!end || end == name || n - (size_t)(end + 1 - tree) < 20) return -1;
    out->name = (const char *)name;
    out->n = (size_t)(end - name);
    if (memchr(name, '/', out->n)) return -1; /* would be another path */
    out->id = end + 1;
    *at = (size_t)(end + 21 - tree);
    return 1;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool git_header_id(hpc_git_id *out, const char *text, size_t n, size_t *at, const char *key)
{
    size_t k = strlen(key);
    if (*at > n || n - *at < k + 41 || memcmp(text + *at, key, k) != 0) return false;
    const char *digit = text + *at + k;
    for (int i = 0; i < 20; i++) {
        int high = hex(digit[2 * i]), low = hex(digit[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out->byte[i] = (uint8_t)(high << 4 | low);
    }
    if (digit[40] != '\n') return false;
    *at += k + 41;
    return true;
}

static const char *const type_names[] = {[GIT_OBJECT_COMMIT] = "commit",
                                         [GIT_OBJECT_TREE] = "tree",
                                         [GIT_OBJECT_BLOB] = "blob",
                                         [GIT_OBJECT_TAG] = "tag"};

const char *git_type_name(git_object_t type)
{
    return type >= GIT_OBJECT_COMMIT && type <= GIT_OBJECT_TAG ? type_names[type] : "";
}

git_object_t git_type_of(const char *name)
{
    for (int k = GIT_OBJECT_COMMIT; k <= GIT_OBJECT_TAG; k++)
        if (strcmp(type_names[k], name) == 0) return (git_object_t)k;
    return GIT_OBJECT_INVALID;
}

int git_peel(hpc_git_id *id, git_object_t *type, hpc_git *g)
{
    char why[200];
    *type = GIT_OBJECT_INVALID;
    for (int depth = 0; depth < 16; depth++) {
        git_raw raw;
        int rc = git_get(&raw, g, id, GIT_OBJECT_ANY, GIT_META_BYTES, why);
        if (rc < 0) return rc;
        git_object_t found = rc == HPC_GIT_READ ? raw.type : GIT_OBJECT_INVALID;
        if (rc == HPC_GIT_TOO_LARGE && raw.type == GIT_OBJECT_BLOB) found = GIT_OBJECT_BLOB;
        size_t at = 0;
        bool tag = found == GIT_OBJECT_TAG;
        if (tag && !git_header_id(id, (const char *)raw.data, raw.n, &at, "object ")) tag = false;
        git_raw_release(&raw);
        if (tag) continue;
        if (found != GIT_OBJECT_TAG) *type = found;
        return 0;
    }
    return 0; /* a chain of tags without an end in sight */
}

int git_head(hpc_git_id *out, hpc_git *g, char why[200])
{
    git_oid oid;
    git_object_t type;
    memset(out, 0, sizeof *out);
    int code = g->lib.reference_name_to_id(&oid, g->repository, "HEAD");
    if (code == GIT_ENOTFOUND) return HPC_GIT_ABSENT; /* a branch without a commit */
    if (code < 0) {
        git_reason(&g->lib, why);
        return git_ran_out(&g->lib) ? hpc_fail(HPC_E_NOMEM, "out of memory while reading HEAD")
                                    : HPC_GIT_CORRUPT;
    }
    memcpy(out->byte, oid.id, sizeof out->byte);
    int rc = git_peel(out, &type, g);
    if (rc < 0) return rc;
    if (type == GIT_OBJECT_INVALID || type == GIT_OBJECT_COMMIT) return HPC_GIT_READ;
    memset(out, 0, sizeof *out); /* no history hangs on a blob */
    return HPC_GIT_ABSENT;
}
