/*
 * sketch.h: what the files of the sketch share: its format, the windows that count, the filter, the
 * list of names and patterns.
 */
#ifndef HPC_CORPUS_SKETCH_H
#define HPC_CORPUS_SKETCH_H

#include "corpus/shingle.h"
#include "runtime/base/bytes.h"
#include "runtime/base/fuse.h"

/* ---- the file: all numbers little-endian ------------------------------------------
 * Header, then the list of names and patterns as text, git ids (their first eight bytes), hashes of
 * token streams (both sorted), the filter of shingles (SKETCH_BITS a slot), and the XXH3-128 of
 * everything before it. */
#define SKETCH_MAGIC "HPCSKTCH"
enum {
    SKETCH_VERSION = 3,    /* 1: slots of 16 bits; 2: of 8 */
    SKETCH_BITS = 4,       /* of a slot: the filter accepts one foreign window in 16 */
    SKETCH_AT_VERSION = 8, /* 32 bits, then 32 of zero; all others 64 */
    SKETCH_AT_LEXER = 16,  /* corpus_lexer() of whoever made it */
    SKETCH_AT_COUNTS = 24,
    SKETCH_COUNTS = 8,
    SKETCH_AT_FILTER = SKETCH_AT_COUNTS + 8 * SKETCH_COUNTS, /* seed, log2 of a segment, segments */
    SKETCH_HEADER = SKETCH_AT_FILTER + 24,
    SKETCH_HASH = 16
};
enum {
    SKETCH_LIST_BYTES, /* the list as text, padded to a multiple of eight by zeros */
    SKETCH_IDS,
    SKETCH_STREAMS,
    SKETCH_SHINGLES,
    SKETCH_FILES, /* distinct ones that were read; then those that were left out and why */
    SKETCH_FOREIGN,
    SKETCH_UNREAD,
    SKETCH_HISTORY /* 1: of all history */
};

/* A shorter stream of tokens says nothing about where it comes from. */
enum { SKETCH_STREAM_LEAST = 15 };

/* ---- passage.c: the windows of 50 code tokens that count --------------------------- */
enum { CORPUS_PASSAGE_MOST = 64 };
typedef struct corpus_passage {
    const corpus_code *code;
    int64_t at; /* the next token */
    uint64_t sum;
    int64_t distinct;                    /* names in the window */
    int64_t last[CORPUS_CODE_NAMES + 1]; /* where each name was seen last */
} corpus_passage;
void corpus_passage_start(corpus_passage *p, const corpus_code *c);
/* The hashes of the next windows that count; how many there are, or -1 at the end. */
int corpus_passage_next(uint64_t key[CORPUS_PASSAGE_MOST], corpus_passage *p);
/* Two consecutive windows from each of `n` parts of equal length, at fixed pseudo-random positions.
 * key[2 k] and key[2 k + 1] are the hashes of a pair whose windows both count; returns how many
 * such pairs there are. The text must have more than n windows. */
int64_t corpus_passage_sample(uint64_t *key, const corpus_code *c, int64_t n);
uint64_t corpus_passage_stream(const corpus_code *c); /* hash of all of it */

/* ---- sketch_read.c: what is collected from the repositories ---------------------------- */
typedef struct corpus_keys {
    uint64_t *key;
    int64_t n, cap, sort_at; /* sort_at: made distinct when there are so many */
} corpus_keys;
int corpus_keys_add(corpus_keys *k, uint64_t key);
int corpus_keys_sort(corpus_keys *k); /* ascending, distinct */

typedef struct corpus_gathered {
    corpus_keys ids, streams, shingles;
    int64_t files_n, foreign_n, unread_n;
} corpus_gathered;
void corpus_gathered_release(corpus_gathered *g);
typedef struct corpus_held_list corpus_held_list;
/* Everything in one repository that the list holds out, added to out[worker] of the pool. */
int corpus_sketch_read(corpus_gathered *out, const corpus_held_list *l, hpc_git *git,
                       const char *name, hpc_pool *pool, bool history);

/* ---- held_list.c: what is held out, by name ------------------------------------------ */
typedef struct corpus_pattern {
    const char *name, *glob; /* repository, and what its paths are compared with */
    bool foreign;            /* not held out: other people's code inside a held-out repository */
} corpus_pattern;
struct corpus_held_list {
    const char **name;
    corpus_pattern *pattern;
    int64_t names_n, names_cap, patterns_n, patterns_cap;
    hpc_arena *arena; /* owns the strings */
};
int corpus_held_list_read(corpus_held_list *out, const char *path);
void corpus_held_list_release(corpus_held_list *l);
/* As lines of the same grammar, in the same order; and back, `source` for messages. */
int corpus_held_list_text(hpc_buf *out, const corpus_held_list *l);
int corpus_held_list_parse(corpus_held_list *out, const char *text, size_t n, const char *source);
bool corpus_held_list_has(const corpus_held_list *l, const char *name); /* the repository */
/* The pattern that holds a path out, or NULL. */
const char *corpus_held_list_match(const corpus_held_list *l, const char *name, const char *path);
bool corpus_held_list_foreign(const corpus_held_list *l, const char *name, const char *path);
/* Whether any path of the repository is held out by pattern. */
bool corpus_held_list_touches(const corpus_held_list *l, const char *name);

#endif
