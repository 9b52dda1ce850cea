/*
 * walk_read.c: counts the paths below trees that occur many times. A tree may be at many paths, and
 * with it everything below: ten entries that all name the next tree make ten thousand million files
 * eleven levels down. The count reads each tree once.
 */
#include <string.h>

#include "runtime/git/walk.h"

enum { KEPT_BYTES = 16 << 10 };

/* ---- reading ------------------------------------------------------------------- */

static kept_tree *place_of(walker *v, const hpc_git_id *id)
{
    return &v->kept[((size_t)id->byte[1] << 8 | id->byte[0]) % GIT_KEPT];
}

static int copy(uint8_t **out, const uint8_t *data, size_t n)
{
    *out = hpc_alloc(n + 1, 1);
    if (!*out) return HPC_E_NOMEM;
    if (n > 0) memcpy(*out, data, n);
    return HPC_OK;
}

/* The second time, which most trees never see. */
static int keep(kept_tree *k, const git_raw *tree)
{
    if (tree->n > KEPT_BYTES) return HPC_OK;
    k->n = tree->n;
    return copy(&k->data, tree->data, tree->n);
}

int git_walk_read(git_raw *out, walker *v, const hpc_git_id *id, char why[200])
{
    kept_tree *k = place_of(v, id);
    bool again = k->met && memcmp(&k->id, id, sizeof *id) == 0;
    if (again && k->data) {
        uint8_t *data;
        int rc = copy(&data, k->data, k->n);
        *out = (git_raw){.data = data, .loose = data, .n = k->n, .type = GIT_OBJECT_TREE};
        return rc < 0 ? rc : HPC_GIT_READ;
    }
    int rc = git_get(out, v->g, id, GIT_OBJECT_TREE, GIT_META_BYTES, why);
    if (rc != HPC_GIT_READ) return rc;
    if (again) {
        rc = keep(k, out);
        if (rc < 0) git_raw_release(out);
        return rc;
    }
    hpc_free(k->data);
    *k = (kept_tree){.id = *id, .met = true};
    return HPC_GIT_READ;
}

void git_walk_forget(walker *v)
{
    for (int k = 0; k < GIT_KEPT; k++) hpc_free(v->kept[k].data);
}

/* ---- counting ------------------------------------------------------------------ */

int git_walk_too_many(void)
{
    return hpc_fail(HPC_E_UNSUPPORTED, "has more than %d paths, which is not supported",
                    GIT_MOST_PATHS);
}

/* *n: number of paths below a tree; its own paths are in `known`. Counting stops above the limit.
 * Unreadable trees add no paths: the walk reports them. */
static int count(int64_t *n, walker *v, hpc_map *known, const hpc_git_id *id, int depth)
{
    char why[200];
    uint64_t there;
    git_name name;
    git_raw tree;
    size_t at = 0;
    *n = 0;
    if (git_walk_must_stop(v->w)) return HPC_GIT_STOPPED;
    if (hpc_map_get(known, id->byte, sizeof id->byte, &there)) {
        *n = (int64_t)there;
        return HPC_OK;
    }
    if (depth == GIT_LEVELS) return HPC_OK;
    int rc = git_get(&tree, v->g, id, GIT_OBJECT_TREE, GIT_META_BYTES, why);
    if (rc != HPC_GIT_READ) return rc < 0 ? rc : HPC_OK;
    while (rc == HPC_OK && *n <= GIT_MOST_PATHS && git_tree_next(&name, tree.data, tree.n, &at) > 0)
    {
        hpc_git_id below;
        int64_t more = 0;
        memcpy(below.byte, name.id, sizeof below.byte);
        if ((name.mode & 0170000) == 0040000) rc = count(&more, v, known, &below, depth + 1);
        *n += 1 + more;
    }
    git_raw_release(&tree);
    return rc == HPC_OK ? hpc_map_put(known, id->byte, sizeof id->byte, (uint64_t)*n) : rc;
}

int git_walk_count(walker *v, const hpc_git_id *root)
{
    int64_t n;
    hpc_map *known = hpc_map_create();
    if (!known) return HPC_E_NOMEM;
    int rc = count(&n, v, known, root, 0);
    hpc_map_free(known);
    return rc == HPC_OK && n > GIT_MOST_PATHS ? git_walk_too_many() : rc;
}
