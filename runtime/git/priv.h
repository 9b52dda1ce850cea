/*
 * priv.h: what the files of this folder share: the handle, raw objects, and the
 * set that keeps every tree and every (blob, path) from being seen twice.
 */
#ifndef HPC_GIT_PRIV_H
#define HPC_GIT_PRIV_H

#include <pthread.h>

#include "runtime/git/git.h"
#include "runtime/git/library_priv.h"

/* Messages truncate paths, so that the reason that follows always fits. */
#define SHOWN "%.240s"

enum { GIT_PATH_BYTES = 4096, GIT_FOLDERS = 16 };

struct hpc_git {
    git_library lib;
    git_repository *repository;
    git_odb *odb;              /* packs alone, of all folders */
    char *folder[GIT_FOLDERS]; /* of objects: its own, then those that it borrows from */
    int folders_n;
    bool loose[256];              /* by first byte: a folder of loose objects existed */
    char *path;                   /* as the user gave it */
    struct git_packs *packs;      /* as they were when the first handle was opened */
    const struct git_pack *found; /* the one that had the last object */
    size_t block;                 /* of it that was looked at last */
    struct git_cache *cache;
    struct git_inflater *inflater;
};

typedef struct git_raw { /* an object in memory */
    const uint8_t *data;
    size_t n;
    git_object_t type;
    git_odb_object *packed; /* one of these three owns data; this one is of */
    const git_library *lib;
    struct git_held *held;
    void *loose;
} git_raw;

/* ---- pack.c ---- */
enum { GIT_OLD_STRIDE = 24, GIT_STRIDE = 20 };
typedef struct git_pack { /* whole, as far as its index tells */
    hpc_file_view index, file;
    uint32_t objects;
    const uint8_t *fanout, *ids; /* in the index */
    size_t stride;               /* from one id to the next */
} git_pack;
typedef struct git_packs { /* of all handles of a repository, from all its folders of objects */
    git_pack *item;
    int64_t n, cap;
    int users;      /* by atomic built-ins, as is `touched` */
    size_t touched; /* bytes of maps that were looked at, about */
} git_packs;
/* HPC_E_FORMAT when a pack or its index is truncated or not what the other says: libgit2 would
 * report all objects in it as absent. */
int git_packs_open(git_packs **out, const hpc_git *g);
git_packs *git_packs_share(git_packs *s);
void git_packs_close(git_packs *s);
/* Counts what is mapped, and has the system forget it when it is much. */
void git_packs_touch(git_packs *s, size_t bytes);
/* Sets *out if a pack came from a server that may have left objects out. */
int git_has_promised(bool *out, const char *objects);

/* ---- config.c ---- */
typedef struct git_facts_of_config {
    char name[256];
    bool partial;
} git_facts_of_config;
/* HPC_E_FORMAT when it is damaged, HPC_E_UNSUPPORTED when it tells of a kind of repository that
 * cannot be read. */
int git_read_config(git_facts_of_config *out, const hpc_git *g);

/* ---- name.c ---- */
void git_name_of_url(char out[256], const char *url);

/* ---- store.c ---- */
int git_store_open(hpc_git *g); /* fills odb, folder and loose */
void git_store_close(hpc_git *g);
/* Trees, commits and tags above this are not read: nothing real comes near it. */
enum { GIT_META_BYTES = 64 << 20 };
/* An hpc_git_outcome, or HPC_E_NOMEM. To be released on READ; otherwise there is nothing to
 * release, n is the size if it is known, and why[200] tells the reason. GIT_OBJECT_ANY wants any
 * type. */
int git_get(git_raw *out, hpc_git *g, const hpc_git_id *id, git_object_t want, size_t limit,
            char why[200]);
void git_raw_release(git_raw *raw);
/* READ; CORRUPT when of another type; TOO_LARGE. */
int git_fits(const git_raw *raw, git_object_t want, size_t limit, char why[200]);

/* ---- pack_read.c ---- */
/* As git_get, from the packs of g->packs. HPC_GIT_ABSENT also when anything is not as in nearly all
 * packs: libgit2 decides what becomes of it. CORRUPT when libgit2 must not be asked. */
int git_get_packed(git_raw *out, hpc_git *g, const hpc_git_id *id, git_object_t want, size_t limit,
                   char why[200]);

/* ---- delta.c ---- */
/* What a delta tells of its base and its result, and where what is done begins; false: malformed.
 */
bool git_delta_sizes(size_t *base_n, size_t *n, size_t *at, const uint8_t *delta, size_t delta_n);
/* `delta` without its sizes. All three have GIT_SLACK bytes more. False when it does not fit. */
bool git_delta_apply(uint8_t *out, size_t n, const uint8_t *base, size_t base_n,
                     const uint8_t *delta, size_t delta_n);

/* ---- cache.c: of one handle ---- */
typedef struct git_cache git_cache;
typedef struct git_held { /* an object in the cache; pinned while it is held */
    struct git_held *next, *newer, *older;
    const git_pack *pack;
    uint64_t offset;
    int users; /* by atomic built-ins: it may be released by any thread */
    git_object_t type;
    size_t n;
    uint8_t data[]; /* and GIT_SLACK bytes more */
} git_held;
git_held *git_held_create(git_object_t type, size_t n); /* held once */
void git_held_release(git_held *h);                     /* NULL is fine */
git_cache *git_cache_create(void);
void git_cache_free(git_cache *c);
/* Held once more, or NULL. */
git_held *git_cache_get(git_cache *c, const git_pack *pack, uint64_t offset);
/* Adds an object that is not in the cache; evicts others to stay within `room`. */
void git_cache_put(git_cache *c, git_held *h, const git_pack *pack, uint64_t offset, size_t room);

/* ---- loose.c ---- */
int git_find_loose(hpc_git *g);
int git_get_loose(git_raw *out, const hpc_git *g, const hpc_git_id *id, git_object_t want,
                  size_t limit, char why[200]);

/* ---- inflate.c ---- */
enum { GIT_INFLATED = 0, GIT_INFLATE_FULL = 1, GIT_INFLATE_BROKEN = 2, GIT_SLACK = 320 };
typedef struct git_inflater git_inflater; /* of one thread; may be used again and again */
git_inflater *git_inflater_create(void);
void git_inflater_free(git_inflater *f);
/* *n: capacity of out; on return the number of bytes written. GIT_SLACK more bytes of out may be
 * overwritten. INFLATED: the whole stream, with a correct checksum; FULL: out is too small;
 * BROKEN: truncated or damaged. Bytes after the stream are ignored. */
int git_inflate(uint8_t *out, size_t *n, git_inflater *f, const uint8_t *in, size_t in_n);

/* ---- object.c ---- */
/* "commit"; "" for what is no object of its own. And the way back. */
const char *git_type_name(git_object_t type);
git_object_t git_type_of(const char *name);
typedef struct git_name { /* one entry of a tree */
    const char *name;     /* in the tree's data, NUL-terminated */
    size_t n;
    uint32_t mode;
    const uint8_t *id;
} git_name;
/* 1: an entry, and *at is after it; 0: the end; -1: malformed. */
int git_tree_next(git_name *out, const uint8_t *tree, size_t n, size_t *at);
/* The id after `key` ("tree ") at *at, which moves to the next line; false: another line. */
bool git_header_id(hpc_git_id *out, const char *text, size_t n, size_t *at, const char *key);
/* Follows tags. *type: commit, tree, blob, or GIT_OBJECT_INVALID when it cannot be read. */
int git_peel(hpc_git_id *id, git_object_t *type, hpc_git *g);
/* The commit of HEAD, which may be unreadable itself: READ; ABSENT when HEAD names none; CORRUPT
 * when HEAD or its branch is damaged; HPC_E_NOMEM. */
int git_head(hpc_git_id *out, hpc_git *g, char why[200]);

/* ---- commit.c ---- */
typedef struct git_commit_head {
    hpc_git_id tree, *parent;
    int32_t parents;
    int64_t time;   /* of the committer */
    size_t message; /* where it begins */
} git_commit_head;
/* As git_get; to be released on READ, and nothing to release else. */
int git_read_commit(git_commit_head *out, hpc_git *g, const hpc_git_id *id);
void git_commit_release(git_commit_head *c);

/* ---- diff.c ---- */
/* hpc_git_diff, but TOO_LARGE when more than `most` files differ. *read grows by the bytes of the
 * trees that were looked at. */
int git_compare(hpc_git_changes *out, size_t *read, hpc_git *g, const hpc_git_id *base,
                const hpc_git_id *head, bool (*want)(const char *path, void *user), void *user,
                int64_t most);

/* ---- set.c: 128-bit keys, added by many threads ---- */
typedef struct git_set git_set;
typedef struct git_key {
    uint64_t a, b;
} git_key;
git_set *git_set_create(void);
void git_set_free(git_set *s);
/* 1: was not there; 0: was; HPC_E_NOMEM; HPC_E_UNSUPPORTED above a limit that no real repository
 * reaches (trees nested so that they name more paths than could ever be read). */
int git_set_add(git_set *s, git_key k);

/* ---- walk.c ---- */
enum { GIT_REFUSED = UINT32_MAX };
typedef struct git_found { /* what one worker found */
    hpc_git_entry *entry;  /* `path` is an ordinal of at[] */
    int64_t n, cap;
    hpc_buf paths;
    size_t *at; /* of each path in paths */
    int64_t paths_n, paths_cap;
    int64_t links_n, other_n, commits_n, missing_n;
    hpc_buf first_miss;
} git_found;
void git_found_release(git_found *f);
/* found: one for each worker of the pool, zeroed. HPC_GIT_STOPPED, as hpc_git_list_blobs. */
int git_walk(git_found *found, hpc_git *g, hpc_pool *pool, const hpc_git_list_options *options);

#endif
