/*
 * walk_tree.c: finds the files in a tree, and their paths. A tree is identified by id and path, and
 * is read only once, because consecutive commits share nearly all trees. Symbolic links and
 * submodules are counted, never followed.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/git/walk.h"

/* Few commits have so many new entries. At this number, all paths of the commit are counted before
 * the walk continues. */
enum { MANY = 1 << 18 };

/* ---- keys: commits, trees at a path, blobs at a path --------------------------- */

git_key git_key_of(const uint8_t id[20], hpc_hash128 path)
{
    git_key k;
    memcpy(&k.a, id, sizeof k.a);
    memcpy(&k.b, id + sizeof k.a, sizeof k.b);
    k.a ^= path.low;
    k.b ^= path.high;
    return k;
}

/* ---- what could not be read ------------------------------------------------------ */

int git_walk_miss(walker *v, const char *what, const hpc_git_id *id, const char *why)
{
    char hex[41], line[512];
    hpc_git_id_text(hex, id);
    snprintf(line, sizeof line, "%s %s: %s", what, hex, why);
    v->f->missing_n++;
    if (v->f->first_miss.n > 0 && strcmp(v->f->first_miss.data, line) <= 0) return HPC_OK;
    v->f->first_miss.n = 0;
    return hpc_buf_text(&v->f->first_miss, line);
}

/* ---- paths of one worker ------------------------------------------------------------ */

static path_slot *find_slot(path_slot *slot, uint64_t slots_n, git_key k)
{
    uint64_t at = k.a & (slots_n - 1);
    while (slot[at].ordinal && (slot[at].key.a != k.a || slot[at].key.b != k.b))
        at = (at + 1) & (slots_n - 1);
    return &slot[at];
}

static int grow_slots(walker *v)
{
    uint64_t n = v->slots_n ? v->slots_n * 2 : 1024;
    path_slot *slot = hpc_alloc(n, sizeof *slot);
    if (!slot) return HPC_E_NOMEM;
    for (uint64_t k = 0; k < v->slots_n; k++)
        if (v->slot[k].ordinal) *find_slot(slot, n, v->slot[k].key) = v->slot[k];
    hpc_free(v->slot);
    v->slot = slot;
    v->slots_n = n;
    return HPC_OK;
}

/* `hash` of v->path is no key of an object at a path: those are mixed with an id. */
static int count_path(walker *v, hpc_hash128 hash)
{
    int rc = git_set_add(v->w->seen, (git_key){hash.low, hash.high});
    if (rc <= 0) return rc;
    int64_t n = __atomic_add_fetch(&v->w->paths_n, 1, __ATOMIC_RELAXED);
    return n > GIT_MOST_PATHS ? git_walk_too_many() : HPC_OK;
}

static int add_path(walker *v, path_slot *s, size_t n, hpc_hash128 hash)
{
    git_found *f = v->f;
    const hpc_git_list_options *o = v->w->options;
    int rc = count_path(v, hash);
    if (rc < 0) return rc;
    if (o->want && !o->want(v->path, o->user)) {
        s->ordinal = GIT_REFUSED;
        return HPC_OK;
    }
    rc = hpc_grow(&f->at, &f->paths_cap, f->paths_n + 1, sizeof *f->at);
    if (rc < 0) return rc;
    size_t at = f->paths.n;
    rc = hpc_buf_add(&f->paths, v->path, n + 1);
    if (rc < 0) return rc;
    f->at[f->paths_n++] = at;
    s->ordinal = (uint32_t)f->paths_n;
    return HPC_OK;
}

/* The ordinal, from 1, of the path in v->path among this worker's; GIT_REFUSED: not wanted. */
static int path_ordinal(uint32_t *out, walker *v, size_t n, hpc_hash128 hash)
{
    git_key key = {hash.low, hash.high};
    if (v->used_n >= v->slots_n / 4 * 3) {
        int rc = grow_slots(v);
        if (rc < 0) return rc;
    }
    path_slot *s = find_slot(v->slot, v->slots_n, key);
    if (!s->ordinal) {
        int rc = add_path(v, s, n, hash);
        if (rc < 0) return rc;
        s->key = key;
        v->used_n++;
    }
    *out = s->ordinal;
    return HPC_OK;
}

/* ---- trees ------------------------------------------------------------------------------ */

static int add_blob(walker *v, const uint8_t id[20], size_t path_n)
{
    hpc_hash128 hash = hpc_hash_wide(v->path, path_n);
    uint32_t ordinal;
    int rc = git_set_add(v->w->seen, git_key_of(id, hash));
    if (rc <= 0) return rc;
    rc = path_ordinal(&ordinal, v, path_n, hash);
    if (rc < 0) return rc;
    git_found *f = v->f;
    if (ordinal == GIT_REFUSED) {
        f->other_n++;
        return HPC_OK;
    }
    rc = hpc_grow(&f->entry, &f->cap, f->n + 1, sizeof *f->entry);
    if (rc < 0) return rc;
    hpc_git_entry *e = &f->entry[f->n++];
    memcpy(e->id.byte, id, sizeof e->id.byte);
    e->path = ordinal - 1;
    e->head = v->head;
    return HPC_OK;
}

static int add_link(walker *v, const uint8_t id[20], size_t path_n)
{
    hpc_hash128 hash = hpc_hash_wide(v->path, path_n);
    int rc = git_set_add(v->w->seen, git_key_of(id, hash));
    if (rc <= 0) return rc;
    v->f->links_n++;
    return count_path(v, hash);
}

/* Begins the tree at v->path[0, path_n), unless it was seen. *depth grows when there is something
 * to walk. */
static int enter(walker *v, int *depth, const uint8_t id[20], size_t path_n)
{
    hpc_git_id tree;
    char why[200];
    hpc_hash128 hash = hpc_hash_wide(v->path, path_n);
    int rc = git_set_add(v->w->seen, git_key_of(id, hash));
    if (rc <= 0) return rc;
    rc = count_path(v, hash);
    if (rc < 0) return rc;
    memcpy(tree.byte, id, sizeof tree.byte);
    if (*depth == GIT_LEVELS) return git_walk_miss(v, "tree", &tree, "is nested too deep");
    level *l = &v->level[*depth];
    rc = git_walk_read(&l->tree, v, &tree, why);
    if (rc < 0) return rc;
    if (rc != HPC_GIT_READ) return git_walk_miss(v, "tree", &tree, why);
    l->id = tree;
    l->at = 0;
    l->path_n = path_n;
    ++*depth;
    return HPC_OK;
}

static int visit(walker *v, int *depth, const git_name *name)
{
    const level *l = &v->level[*depth - 1];
    size_t n = l->path_n + name->n;
    if (n + 1 > GIT_PATH_BYTES)
        return git_walk_miss(v, "tree", &l->id, "contains a path that is too long");
    memcpy(v->path + l->path_n, name->name, name->n + 1);
    switch (name->mode & 0170000) {
    case 0040000: v->path[n] = '/'; return enter(v, depth, name->id, n + 1);
    case 0100000: return add_blob(v, name->id, n);
    default: return add_link(v, name->id, n);
    }
}

int git_walk_tree(walker *v, const hpc_git_id *root)
{
    int depth = 0;
    v->met_n = 0;
    int rc = enter(v, &depth, root->byte, 0);
    while (rc == HPC_OK && depth > 0) {
        level *l = &v->level[depth - 1];
        git_name name;
        int more = git_tree_next(&name, l->tree.data, l->tree.n, &l->at);
        if (git_walk_must_stop(v->w)) {
            rc = HPC_GIT_STOPPED;
            continue;
        }
        if (more > 0) {
            if (++v->met_n == MANY) rc = git_walk_count(v, root);
            if (rc == HPC_OK) rc = visit(v, &depth, &name);
            continue;
        }
        if (more < 0) rc = git_walk_miss(v, "tree", &l->id, "is malformed");
        git_raw_release(&l->tree);
        depth--;
    }
    while (depth > 0) git_raw_release(&v->level[--depth].tree);
    return rc;
}
