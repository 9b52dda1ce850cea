/*
 * context_priv.h: what the files of a context share: where it looks (context_path.c), which files
 * there are (context_list.c), what they hold (context_file.c, context_chunk.c), which belong to a
 * file (context_relate.c), and what of them tells most (context_rank.c).
 */
#ifndef HPC_COMPLETE_CONTEXT_PRIV_H
#define HPC_COMPLETE_CONTEXT_PRIV_H

#include <limits.h>

#include "infer/complete/context.h"
#include "runtime/git/git.h"

enum {
    CONTEXT_COMMITS = 200,     /* of the history */
    CONTEXT_COMMIT_FILES = 30, /* those that change more say nothing about what belongs together */
    CONTEXT_FILES = 192,       /* looked into for an answer, */
    CONTEXT_BYTES = 8 << 20,   /* and their bytes */
    CONTEXT_FILE_BYTES = 512 << 10,
    CONTEXT_CACHE_BYTES = 32 << 20 /* of texts that are kept for the next answer */
};

/* ---- words that are no names (context_word.c) --------------------------------------------- */
enum { CONTEXT_WORDS = 1024 };
typedef struct context_words { /* hashes of keywords */
    uint32_t slot[CONTEXT_WORDS];
} context_words;
void context_words_init(context_words *w);
bool context_words_has(const context_words *w, uint32_t hash);

/* ---- what a file holds (context_file.c, context_chunk.c) ---------------------------------- */
typedef struct context_name {
    uint32_t hash;
    bool defined; /* or declared */
} context_name;
typedef struct context_chunk { /* whole lines */
    uint32_t at, n, line;      /* of the text; from 1 */
    uint32_t name, name_n;     /* its names: sorted, each once */
    hpc_hash128 hash;          /* of its text */
} context_chunk;
typedef enum context_include_kind {
    CONTEXT_QUOTED,
    CONTEXT_ANGLED,
    CONTEXT_MODULE
} context_include_kind;
typedef struct context_include {
    uint32_t at;  /* in `names`: "x/y.h", or a module's name in lower case */
    uint32_t key; /* of what follows the last slash: hpc_token_hash */
    context_include_kind kind;
} context_include;
typedef struct context_file {
    char *path; /* in the repository */
    uint64_t stamp[2];
    hpc_buf text, names;
    hpc_language language;
    bool fixed;
    context_chunk *chunk;
    int64_t chunk_n, chunk_cap;
    context_name *name;
    int64_t name_n, name_cap;
    context_include *include;
    int64_t include_n, include_cap;
    uint32_t *module; /* hashes of the modules that it defines */
    int64_t module_n, module_cap;
    int64_t used; /* the question for which it was looked at last */
} context_file;
typedef struct context_scratch { /* to look at a text with */
    hpc_tokens tokens;
    hpc_functions functions;
    uint32_t *line;  /* where lines begin, and the end of the last one */
    uint8_t *breaks; /* whether something begins at a line */
    int64_t line_n, line_cap, breaks_cap;
} context_scratch;
void context_scratch_release(context_scratch *s);
/* What f->text holds: its text is f's own. */
int context_file_look(context_file *f, context_scratch *s, const context_words *w);
void context_file_release(context_file *f);
/* Of s->tokens and s->functions. */
int context_chunks_find(context_file *f, context_scratch *s, const context_words *w);

/* ---- which files there are (context_list.c) ----------------------------------------------- */
typedef struct context_list { /* source code alone */
    hpc_git_index index;
    int64_t version;   /* of the index that the table is of */
    const char **path; /* [n]: of the index, in its order */
    uint8_t *language; /* [n]: hpc_language, by the path alone */
    int64_t n, cap, language_cap, next_cap;
    int32_t *head, *next; /* chains of equal stems */
    uint32_t heads;       /* a power of two, or 0 */
    hpc_buf folder;       /* paths of files in one folder that are on disk, NUL-terminated */
    int64_t folder_n;
} context_list;
int context_list_refresh(context_list *l, hpc_git *g);
/* Fills l->folder with what lies on disk in a folder ("" or "a/b/"), whether the index has it or
 * not. */
int context_list_folder(context_list *l, const char *root, const char *folder);
void context_list_release(context_list *l);
/* What a path's file is called up to its first dot, in lower case, as a hash. */
uint32_t context_stem(const char *path);
/* The first index k of l->path from a stem's chain, or -1; then l->next[k]. */
int32_t context_list_first(const context_list *l, uint32_t stem);
/* The path that ends in `name` (of n bytes: "y.h", "x/y.h") at a slash and lies nearest to `from`;
 * NULL: none. */
const char *context_list_ending(const context_list *l, const char *name, const char *from);

/* ---- paths (context_path.c) --------------------------------------------------------------- */
const char *context_name_of(const char *path); /* behind the last slash */
/* Folders that must be left and entered between the folders of two files. */
int context_distance(const char *a, const char *b);
/* The folder of `from` and `name` without . and ..; false: it would lead out, or is too long. */
bool context_join(char out[PATH_MAX], const char *from, const char *name);
/* The folder in which a file lies, without links, to the nearest one upward with a .git (*git), or
 * itself; path[] is the file's in it. False: there is no such folder. */
bool context_locate(char root[PATH_MAX], char path[PATH_MAX], bool *git, const char *file);
/* Where a file of a repository really lies, and its size and time; false: not in the repository, in
 * .git, no file, or too large. */
bool context_reach(char out[PATH_MAX], uint64_t stamp[2], const char *root, const char *path);

/* ---- the whole (context.c) ---------------------------------------------------------------- */
struct hpc_context {
    char root[PATH_MAX]; /* "": nothing is there */
    char name[256];
    hpc_git *git; /* NULL: no repository */
    hpc_git_commits commits;
    context_list list;
    context_words words;
    context_scratch scratch;
    context_file **file; /* what was looked at */
    int64_t file_n, file_cap;
    hpc_map *files; /* by path */
    size_t bytes;   /* of their texts */
    int64_t asked, read_n;
    hpc_arena *arena; /* of one answer */
    hpc_arena_mark begin;
    char path[PATH_MAX];
};
/* What a file holds now; NULL when it is not to be looked at. */
int context_file_get(context_file **out, hpc_context *c, const char *path);

/* ---- which files belong to one (context_relate.c) ----------------------------------------- */
typedef struct context_candidate {
    const char *path;
    double unlike; /* product of 1 - weight over what relates it */
    context_file *file;
} context_candidate;
typedef struct context_related {
    hpc_context *c;
    const char *path;
    const context_file *own;
    context_candidate *item; /* those with a file are looked into */
    int64_t n, cap, looked_n;
    int64_t resolved_n; /* includes */
    size_t looked_bytes;
    hpc_map *by_path;
} context_related; /* strings in the context's arena */
int context_relate(context_related *r, hpc_context *c, const char *path, const context_file *own);
void context_related_release(context_related *r);

/* ---- what tells most (context_rank.c) ----------------------------------------------------- */
int context_rank(hpc_context_parts *out, hpc_context *c, const context_related *r,
                 const hpc_spot *d, const hpc_context_options *o);

#endif
