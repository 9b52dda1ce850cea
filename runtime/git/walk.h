/*
 * walk.h: what the two halves of a walk share: walk.c, the commits, and
 * walk_tree.c, what their trees hold.
 */
#ifndef HPC_GIT_WALK_H
#define HPC_GIT_WALK_H

#include "runtime/git/priv.h"

enum { GIT_LEVELS = 256 }; /* deeper folders count as unreadable */

typedef struct level {
    git_raw tree;
    hpc_git_id id;
    size_t at, path_n; /* in the tree; of its path, with the slash */
} level;

typedef struct path_slot {
    git_key key;
    uint32_t ordinal; /* from 1; 0: free; GIT_REFUSED */
} path_slot;

typedef struct walk {
    hpc_git *first; /* worker 0's handle */
    const hpc_git_list_options *options;
    git_found *found;
    git_set *seen;
    int64_t paths_n; /* distinct, wanted or not; by atomic built-ins */
    hpc_git_id head;
    bool has_head;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t more;
    hpc_git_id *queue; /* commits: [next, queue_n) wait */
    int64_t next, queue_n, queue_cap;
    int busy;          /* workers that may still add commits */
    bool stop;         /* somebody failed */
    int64_t commits_n; /* taken by all */
} walk;

typedef struct walker {
    walk *w;
    hpc_git *g;
    git_found *f;
    bool head; /* what is found now is in HEAD */
    path_slot *slot;
    uint64_t slots_n, used_n;
    int64_t shown; /* commits_n at the last progress */
    level level[GIT_LEVELS];
    char path[GIT_PATH_BYTES + 1];
} walker;

/* A key of the set: an object at a path. */
git_key git_key_of(const uint8_t id[20], hpc_hash128 path);
/* Counts what could not be read. Of all messages the least is kept, so that it does not depend on
 * who came first. */
int git_walk_miss(walker *v, const char *what, const hpc_git_id *id, const char *why);
/* All files under a commit's tree that nobody has seen yet. */
int git_walk_tree(walker *v, const hpc_git_id *root);

#endif
