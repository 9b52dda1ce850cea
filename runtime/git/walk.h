/*
 * walk.h: what the parts of a walk share: walk.c, the commits; shallow.c, where they
 * end; walk_tree.c, what their trees hold; walk_read.c, how trees are read and how
 * much they name.
 */
#ifndef HPC_GIT_WALK_H
#define HPC_GIT_WALK_H

#include "runtime/git/priv.h"

enum { GIT_LEVELS = 256 }; /* deeper folders count as unreadable */
/* Files, links and folders of all commits together; no real repository comes near it. */
enum { GIT_MOST_PATHS = 1 << 22 };

typedef struct level {
    git_raw tree;
    hpc_git_id id;
    size_t at, path_n; /* in the tree; of its path, with the slash */
} level;

typedef struct path_slot {
    git_key key;
    uint32_t ordinal; /* from 1; 0: free; GIT_REFUSED */
} path_slot;

typedef struct git_boundary { /* ids of commits, sorted */
    hpc_git_id *id;
    int64_t n;
} git_boundary;

typedef struct walk {
    hpc_git *first; /* worker 0's handle */
    const hpc_git_list_options *options;
    git_found *found;
    git_set *seen;
    git_boundary boundary; /* commits with parents that are absent on purpose */
    int64_t paths_n;       /* distinct, wanted or not; by atomic built-ins */
    hpc_git_id head;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t more;
    hpc_git_id *queue; /* commits: [next, queue_n) wait */
    int64_t next, queue_n, queue_cap;
    int busy;          /* workers that may still add commits */
    bool stop;         /* a worker failed, or the caller requested a stop */
    int64_t commits_n; /* taken by all */
} walk;

enum { GIT_KEPT = 1024 };
typedef struct kept_tree { /* a tree that a worker visited, in the slot of its id */
    hpc_git_id id;
    bool met;
    uint8_t *data; /* NULL: met once, or large */
    size_t n;
} kept_tree;

typedef struct walker {
    walk *w;
    hpc_git *g;
    git_found *f;
    bool head; /* the current commit belongs to HEAD */
    path_slot *slot;
    uint64_t slots_n, used_n;
    int64_t shown; /* commits_n at the last progress */
    int64_t met_n; /* entries visited under the current commit */
    kept_tree kept[GIT_KEPT];
    level level[GIT_LEVELS];
    char path[GIT_PATH_BYTES + 1];
} walker;

/* A key of the set: an object at a path. */
git_key git_key_of(const uint8_t id[20], hpc_hash128 path);
/* Counts what could not be read. Of all messages the least is kept, so that it does not depend on
 * who came first. */
int git_walk_miss(walker *v, const char *what, const hpc_git_id *id, const char *why);
/* Walks all files under a commit's tree that no worker has visited. HPC_OK, HPC_GIT_STOPPED or a
 * negative code, like every function of a walk. */
int git_walk_tree(walker *v, const hpc_git_id *root);
static inline bool git_walk_must_stop(const walk *w)
{
    return w->options->stop && __atomic_load_n(w->options->stop, __ATOMIC_RELAXED);
}

/* ---- shallow.c ---- */
int git_boundary_read(git_boundary *out, const hpc_git *g); /* out->id by hpc_free */
bool git_boundary_has(const git_boundary *b, const hpc_git_id *commit);

/* ---- walk_read.c ---- */
/* git_get of a tree; those that a worker meets again and again are read from memory. */
int git_walk_read(git_raw *out, walker *v, const hpc_git_id *id, char why[200]);
void git_walk_forget(walker *v);
/* HPC_E_UNSUPPORTED when a tree names more than GIT_MOST_PATHS, found without visiting them. */
int git_walk_count(walker *v, const hpc_git_id *root);
int git_walk_too_many(void); /* records that there are more than that */

#endif
