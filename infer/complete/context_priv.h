/*
 * context_priv.h: shared by the files of a context: path resolution (context_path.c), the list of
 * files (context_list.c), their content (context_file.c, context_chunk.c), related files
 * (context_relate.c), and the rank of parts (context_rank.c).
 */
#ifndef HPC_COMPLETE_CONTEXT_PRIV_H
#define HPC_COMPLETE_CONTEXT_PRIV_H

#include <limits.h>

#include "infer/complete/context.h"
#include "runtime/git/git.h"

enum {
    CONTEXT_COMMITS = 200,     /* of the history */
    CONTEXT_COMMIT_FILES = 30, /* commits that change more files are no evidence of relations */
    CONTEXT_FILES = 192,       /* examined for an answer, */
    CONTEXT_BYTES = 8 << 20,   /* and their bytes */
    CONTEXT_FILE_BYTES = 512 << 10,
    CONTEXT_CACHE_BYTES = 32 << 20 /* of texts cached for the next answer */
};

/* ---- keywords, which are not names (context_word.c) ---------------------------------------------
 */
enum { CONTEXT_WORDS = 1024 };
typedef struct context_words { /* hashes of keywords */
    uint32_t slot[CONTEXT_WORDS];
} context_words;
void context_words_init(context_words *w);
bool context_words_has(const context_words *w, uint32_t hash);

/* ---- the content of a file (context_file.c, context_chunk.c) ----------------------------------
 */
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
    uint32_t key; /* hpc_token_hash of the part after the last slash */
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
    int64_t used; /* number of the last request that examined it */
} context_file;
typedef struct context_scratch { /* work space to examine a text */
    hpc_tokens tokens;
    hpc_functions functions;
    uint32_t *line;  /* starts of lines, and the end of the last one */
    uint8_t *breaks; /* 1: a construct begins at this line */
    int64_t line_n, line_cap, breaks_cap;
} context_scratch;
void context_scratch_release(context_scratch *s);
/* Examines f->text, which f owns. */
int context_file_look(context_file *f, context_scratch *s, const context_words *w);
void context_file_release(context_file *f);
/* From s->tokens and s->functions. */
int context_chunks_find(context_file *f, context_scratch *s, const context_words *w);

/* ---- the list of files (context_list.c) --------------------------------------------------- */
typedef struct context_list { /* source files only */
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
/* Fills l->folder with the files on disk in a folder ("" or "a/b/"), in the index or not. */
int context_list_folder(context_list *l, const char *root, const char *folder);
void context_list_release(context_list *l);
/* Hash of the file name up to its first dot, in lower case. */
uint32_t context_stem(const char *path);
/* The first index k of l->path from a stem's chain, or -1; then l->next[k]. */
int32_t context_list_first(const context_list *l, uint32_t stem);
/* The path nearest to `from` that ends in `name` ("y.h", "x/y.h") after a slash; NULL: none. */
const char *context_list_ending(const context_list *l, const char *name, const char *from);

/* ---- paths (context_path.c) --------------------------------------------------------------- */
const char *context_name_of(const char *path); /* after the last slash */
/* Number of folder changes from the folder of one file to that of the other. */
int context_distance(const char *a, const char *b);
/* Joins the folder of `from` and `name` without . and ..; false: it leaves the repository, or is
 * too long. */
bool context_join(char out[PATH_MAX], const char *from, const char *name);
/* The nearest parent folder of a file with a .git (*git), or its own folder, with links resolved;
 * path: the file relative to it. False: no such folder. */
bool context_locate(char root[PATH_MAX], char path[PATH_MAX], bool *git, const char *file);
/* The real path of a file of a repository, and its size and time; false: outside the repository, in
 * .git, not a file, or too large. */
bool context_reach(char out[PATH_MAX], uint64_t stamp[2], const char *root, const char *path);

/* ---- the whole (context.c) ---------------------------------------------------------------- */
struct hpc_context {
    char root[PATH_MAX]; /* "": no folder */
    char name[256];
    hpc_git *git; /* NULL: no repository */
    hpc_git_commits commits;
    context_list list;
    context_words words;
    context_scratch scratch;
    context_file **file; /* examined files */
    int64_t file_n, file_cap;
    hpc_map *files; /* by path */
    size_t bytes;   /* of their texts */
    int64_t asked, read_n;
    hpc_arena *arena; /* for one answer */
    hpc_arena_mark begin;
    char path[PATH_MAX];
};
/* The current content of a file; NULL if it is skipped. */
int context_file_get(context_file **out, hpc_context *c, const char *path);

/* ---- related files (context_relate.c) ----------------------------------------------------- */
typedef struct context_candidate {
    const char *path;
    double unlike; /* product of 1 - weight over its relations */
    context_file *file;
} context_candidate;
typedef struct context_related {
    hpc_context *c;
    const char *path;
    const context_file *own;
    context_candidate *item; /* candidates with a file are examined */
    int64_t n, cap, looked_n;
    int64_t resolved_n; /* includes */
    size_t looked_bytes;
    hpc_map *by_path;
} context_related; /* strings in the context's arena */
int context_relate(context_related *r, hpc_context *c, const char *path, const context_file *own);
void context_related_release(context_related *r);

/* ---- rank of parts (context_rank.c) ------------------------------------------------------- */
int context_rank(hpc_context_parts *out, hpc_context *c, const context_related *r,
                 const hpc_spot *d, const hpc_context_options *o);

#endif
