/*
 * git.h: reading local git repositories, through libgit2.
 *
 * It never writes to a repository, fetches or executes anything: no hooks, no filters, no
 * configured programs. A repository is untrusted. A handle belongs to one thread; several handles
 * may read the same repository.
 */
#ifndef HPC_GIT_H
#define HPC_GIT_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_git hpc_git;
typedef struct hpc_git_id {
    uint8_t byte[20];
} hpc_git_id;
void hpc_git_id_text(char out[41], const hpc_git_id *id);

/* Opens a folder with a work tree, its .git, or a bare repository. HPC_E_IO: not a repository.
 * HPC_E_FORMAT: damaged, including a truncated pack or index. HPC_E_UNSUPPORTED: another kind
 * (SHA-256). The owner of the folder and the user's git configuration have no effect. */
int hpc_git_open(hpc_git **out, const char *path);
int hpc_git_share(hpc_git **out, const hpc_git *like); /* another handle, for another thread */
void hpc_git_close(hpc_git *g);

typedef struct hpc_git_facts {
    char name[256];  /* "owner/name" from the origin's address, or "" */
    hpc_git_id head; /* commit; zero if it does not exist */
    bool empty;      /* no commit can be reached */
    bool shallow;    /* history is cut off */
    bool partial;    /* a partial clone: objects may be absent */
    uint64_t refs;   /* hash over all references: changes when any of them moves */
} hpc_git_facts;
int hpc_git_describe(hpc_git_facts *out, hpc_git *g);

/* ---- listing ------------------------------------------------------------------- */
typedef struct hpc_git_entry {
    hpc_git_id id;
    uint32_t path; /* offset in `paths` */
    uint32_t head; /* 1: in the tree of HEAD */
} hpc_git_entry;
typedef struct hpc_git_list {
    hpc_git_entry *entry;
    int64_t n, cap;
    hpc_buf paths;      /* NUL-terminated, one after the other */
    int64_t links_n;    /* symbolic links and submodules: counted, never followed */
    int64_t other_n;    /* files (a blob at a path) that `want` rejected */
    int64_t commits_n;  /* commits walked */
    int64_t missing_n;  /* commits and trees that could not be read (partial, corrupt) */
    hpc_buf first_miss; /* message about the first of them, or empty */
} hpc_git_list;
typedef struct hpc_git_list_options {
    bool history; /* every blob reachable from any reference, not only from HEAD */
    /* Selects paths; called from several threads, must be pure. NULL: all. */
    bool (*want)(const char *path, void *user);
    void (*progress)(int64_t commits_done, void *user); /* from the calling thread; NULL */
    void *user;
    const int *stop; /* nonzero: stop; any thread may set it. May be NULL */
} hpc_git_list_options;
enum { HPC_GIT_STOPPED = 1 };
/* Lists blobs, one entry for each: with its path in HEAD if there is one, else the path that is
 * smallest by bytes. The order is by path, then id, so versions of one file are adjacent, as in
 * packs. The result does not depend on the number of workers.
 *
 * Returns 0, HPC_GIT_STOPPED or a negative code; out is empty unless 0. Commits and trees that
 * cannot be read are counted, and the rest is listed; parents outside a shallow clone do not count.
 * HPC_E_FORMAT: the repository is damaged, not empty: nothing of HEAD's commit can be listed, or if
 * HEAD names none, nothing of the history. HPC_E_UNSUPPORTED: more paths than any real repository
 * has, because a few kilobytes of nested trees can name billions. */
int hpc_git_list_blobs(hpc_git_list *out, hpc_git *g, hpc_pool *pool,
                       const hpc_git_list_options *options);
void hpc_git_list_release(hpc_git_list *l);

/* ---- reading --------------------------------------------------------------------- */
typedef enum hpc_git_outcome {
    HPC_GIT_READ = 0,
    HPC_GIT_TOO_LARGE = 1, /* *bytes is the size; nothing was inflated */
    HPC_GIT_ABSENT = 2,    /* a partial or shallow clone, or a lost pack */
    HPC_GIT_CORRUPT = 3    /* does not inflate, or is not a blob; *out has the reason as text */
} hpc_git_outcome;
/* Replaces out. Returns an outcome, or a negative code if memory runs out. */
int hpc_git_read(hpc_buf *out, size_t *bytes, hpc_git *g, const hpc_git_id *id, size_t limit);
/* Reads one file by its path in the tree of HEAD ("LICENSE"); HPC_GIT_ABSENT: it does not exist. */
int hpc_git_read_path(hpc_buf *out, hpc_git *g, const char *path, size_t limit);
/* Names in a folder of HEAD's tree ("" is the root), NUL-separated; folders end in '/'. */
int hpc_git_list_folder(hpc_buf *out, int64_t *n, hpc_git *g, const char *folder);

/* ---- between two commits ------------------------------------------------------------- */
/* Forty hexadecimal digits; false for anything else. */
bool hpc_git_id_parse(hpc_git_id *out, const char *text);
typedef struct hpc_git_change {
    hpc_git_id base, head; /* blobs; zero: the file does not exist */
    uint32_t path;         /* offset in `paths` */
} hpc_git_change;
typedef struct hpc_git_changes {
    hpc_git_change *item;
    int64_t n, cap;
    hpc_buf paths;     /* NUL-terminated, one after the other */
    int64_t modules_n; /* submodules that differ */
} hpc_git_changes;     /* zero to begin with; reused by the next call */
/* Finds the files that differ between the trees of two commits (zero: an empty tree), in order of
 * path; links and submodules do not count. Returns READ, or ABSENT or CORRUPT with the reason in
 * `paths`; a negative code if memory runs out, or HPC_E_UNSUPPORTED for more than `most` files. */
int hpc_git_diff(hpc_git_changes *out, hpc_git *g, const hpc_git_id *base, const hpc_git_id *head,
                 bool (*want)(const char *path, void *user), void *user, int64_t most);
void hpc_git_changes_release(hpc_git_changes *c);

/* ---- commits by name, and ranges of them ---------------------------------------------- */
/* Resolves a commit name as git does: HEAD or @, a branch, a tag, a remote branch, an id, or a
 * unique prefix of at least four digits. Any of ~N, ^ and ^N may follow. HPC_E_ARG: unknown or
 * ambiguous. */
int hpc_git_resolve(hpc_git_id *out, hpc_git *g, const char *name);
int hpc_git_tree(hpc_git_id *out, hpc_git *g, const hpc_git_id *commit); /* HPC_E_ARG: missing */
int hpc_git_has_commit(hpc_git *g, const char *id); /* id as text. 1, 0; negative: no memory */
/* The commit's message. READ, ABSENT or CORRUPT; a negative code if memory runs out. */
int hpc_git_message(hpc_buf *out, hpc_git *g, const hpc_git_id *id);

typedef struct hpc_git_step {
    hpc_git_id id;
    hpc_git_id
        parent; /* the nearest one by first parents that is in the range or before it; zero: none */
    int64_t time;    /* of the committer, in seconds since 1970 */
    int32_t parents; /* 2 and more: a merge */
    bool cut;        /* the parent is missing in this clone */
} hpc_git_step;
typedef struct hpc_git_range {
    hpc_git_step *item; /* parents before children; otherwise earliest first */
    int64_t n, cap;
} hpc_git_range;
typedef struct hpc_git_range_options {
    bool first_parent; /* follow only the first parents of merges */
    /* Only commits that change such a path against their first parent. NULL: all. */
    bool (*wants)(const char *path, void *user);
    void *user;
} hpc_git_range_options;
/* The commits that head reaches, including itself, and base (NULL: none) does not. HPC_E_ARG if
 * one of the two does not exist. */
int hpc_git_range_find(hpc_git_range *out, hpc_git *g, const hpc_git_id *base,
                       const hpc_git_id *head, const hpc_git_range_options *o);
void hpc_git_range_release(hpc_git_range *r);

typedef struct hpc_git_exported {
    int64_t files, links, modules; /* written; modules: submodules, whose files count as well */
    int64_t missing;               /* submodules without their commit here: empty folders */
    hpc_buf paths;                 /* paths of these, NUL-terminated, one after the other */
} hpc_git_exported;
/* Writes the files of a commit as git would check them out, without filters, into an existing
 * folder that contains none of their names. HPC_E_FORMAT: the tree cannot be read, or git would
 * not write it. Files written before a failure remain. */
int hpc_git_export(hpc_git_exported *out, hpc_git *g, const hpc_git_id *commit, const char *folder);
void hpc_git_exported_release(hpc_git_exported *x);

/* ---- recent changes and the index ---------------------------------------------------- */
typedef struct hpc_git_commit {
    hpc_git_id id;
    int64_t age;           /* 0: HEAD, 1: its first parent, ... */
    int64_t first, path_n; /* of `path` below: files in which it differs from its first parent */
} hpc_git_commit;
typedef struct hpc_git_commits {
    hpc_git_commit *item;
    int64_t n, cap;
    uint32_t *path; /* offsets in `paths` */
    int64_t path_n, path_cap;
    hpc_buf paths;     /* NUL-terminated, one after the other */
    hpc_git_id head;   /* the commit that these results describe; zero: none */
    int64_t walked;    /* commits visited */
    int64_t missing_n; /* of them, those that could not be compared (partial, corrupt, shallow) */
    bool cut;          /* the walk ended before the history, and before `commits` */
} hpc_git_commits;     /* zero to begin with; reused by the next call */
/* Of the newest `commits` commits by first parent, those that change 1 to `files` files, newest
 * first, without the root commit. The walk ends after reading 48 MiB of trees, which bounds its
 * time. If `out` holds the results for the same HEAD, nothing is done.
 *
 * READ; ABSENT if HEAD names no commit; CORRUPT if it is damaged; a negative code if memory runs
 * out. Empty unless READ. */
int hpc_git_recent(hpc_git_commits *out, hpc_git *g, int64_t commits, int64_t files);
void hpc_git_commits_release(hpc_git_commits *c);

typedef struct hpc_git_index {
    hpc_buf paths; /* NUL-terminated, one after the other, in git's order */
    int64_t n;
    int64_t version; /* grows whenever it was read again */
    uint64_t stamp[3];
} hpc_git_index; /* zero to begin with; reused by the next call */
/* Paths of the files in the index: all tracked or added ones, without links and submodules, and
 * without entries that a sparse or split index keeps in other files. If `out` holds earlier
 * results, the file is read only if it has changed.
 *
 * READ; ABSENT without an index; CORRUPT if it is damaged; TOO_LARGE above 256 MiB of paths; a
 * negative code if memory runs out or the file may not be opened. Empty unless READ. */
int hpc_git_read_index(hpc_git_index *out, hpc_git *g);
void hpc_git_index_release(hpc_git_index *i);

#ifdef __cplusplus
}
#endif
#endif
