/*
 * sketch.h: shared by the sketch files: file format, windows that count, and the list of names and
 * patterns.
 */
#ifndef HPC_CORPUS_SKETCH_H
#define HPC_CORPUS_SKETCH_H

#include "corpus/shingle.h"
#include "runtime/base/bytes.h"
#include "runtime/base/fuse.h"

/* ---- the file -------------------------------------------------------------------------------- */
/* Little-endian: header; names and patterns as text; git ids (first eight bytes) and hashes of
 * token streams, both sorted; the filter of shingles (SKETCH_BITS per slot); the XXH3-128 of
 * everything before. */
#define SKETCH_MAGIC "HPCSKTCH"
enum {
    SKETCH_VERSION = 3,    /* 1: slots of 16 bits; 2: of 8 */
    SKETCH_BITS = 4,       /* bits per slot: the filter accepts one foreign window in 16 */
    SKETCH_AT_VERSION = 8, /* 32 bits, then 32 zero bits; all later fields have 64 */
    SKETCH_AT_LEXER = 16,  /* corpus_lexer() of the writer */
    SKETCH_AT_COUNTS = 24,
    SKETCH_COUNTS = 8,
    SKETCH_AT_FILTER = SKETCH_AT_COUNTS + 8 * SKETCH_COUNTS, /* seed, log2 of a segment, segments */
    SKETCH_HEADER = SKETCH_AT_FILTER + 24,
    SKETCH_HASH = 16
};
enum {
    SKETCH_LIST_BYTES, /* the list as text, zero-padded to a multiple of eight */
    SKETCH_IDS,
    SKETCH_STREAMS,
    SKETCH_SHINGLES,
    SKETCH_FILES, /* distinct files read; then counts of excluded files by reason */
    SKETCH_FOREIGN,
    SKETCH_UNREAD,
    SKETCH_HISTORY /* 1: includes history */
};

/* A shorter token stream does not identify its source. */
enum { SKETCH_STREAM_LEAST = 15 };

/* ---- passage.c: windows of 50 code tokens that count ----------------------------------------- */
enum { CORPUS_PASSAGE_MOST = 64 };
typedef struct corpus_passage {
    const corpus_code *code;
    int64_t at; /* next token */
    uint64_t sum;
    int64_t distinct;                    /* distinct names in the window */
    int64_t last[CORPUS_CODE_NAMES + 1]; /* last position of each name */
} corpus_passage;
void corpus_passage_start(corpus_passage *p, const corpus_code *c);
/* Gives the hashes of the next windows that count; returns their number, or -1 at the end. */
int corpus_passage_next(uint64_t key[CORPUS_PASSAGE_MOST], corpus_passage *p);
/* Samples two consecutive windows from each of n parts of equal length, at fixed pseudo-random
 * positions. key[2 k] and key[2 k + 1] are the hashes of a pair whose windows both count; returns
 * the number of such pairs. The text must have more than n windows. */
int64_t corpus_passage_sample(uint64_t *key, const corpus_code *c, int64_t n);
uint64_t corpus_passage_stream(const corpus_code *c); /* hash of the whole stream */

/* ---- sketch_read.c: collects hashes from repositories ---------------------------------------- */
typedef struct corpus_keys {
    uint64_t *key;
    int64_t n, cap, sort_at; /* sort_at: size at which duplicates are removed */
} corpus_keys;
int corpus_keys_add(corpus_keys *k, uint64_t key);
int corpus_keys_sort(corpus_keys *k); /* sorts and removes duplicates */

typedef struct corpus_gathered {
    corpus_keys ids, streams, shingles;
    int64_t files_n, foreign_n, unread_n;
} corpus_gathered;
void corpus_gathered_release(corpus_gathered *g);
typedef struct corpus_held_list corpus_held_list;
/* Adds everything that the list holds out in one repository to out[worker] of the pool. */
int corpus_sketch_read(corpus_gathered *out, const corpus_held_list *l, hpc_git *git,
                       const char *name, hpc_pool *pool, bool history);

/* ---- held_list.c: names and patterns that are held out --------------------------------------- */
typedef struct corpus_pattern {
    const char *name, *glob; /* repository; pattern for its paths */
    bool foreign;            /* third-party code in a held-out repository, not held out */
} corpus_pattern;
struct corpus_held_list {
    const char **name;
    corpus_pattern *pattern;
    int64_t names_n, names_cap, patterns_n, patterns_cap;
    hpc_arena *arena; /* owns the strings */
};
int corpus_held_list_read(corpus_held_list *out, const char *path);
void corpus_held_list_release(corpus_held_list *l);
/* Writes the list in the same grammar and order; _parse reads it; `source` for messages. */
int corpus_held_list_text(hpc_buf *out, const corpus_held_list *l);
int corpus_held_list_parse(corpus_held_list *out, const char *text, size_t n, const char *source);
/* Is the repository held out as a whole? */
bool corpus_held_list_has(const corpus_held_list *l, const char *name);
/* The pattern that holds out a path, or NULL. */
const char *corpus_held_list_match(const corpus_held_list *l, const char *name, const char *path);
bool corpus_held_list_foreign(const corpus_held_list *l, const char *name, const char *path);
/* Does a pattern hold out any path of the repository? */
bool corpus_held_list_touches(const corpus_held_list *l, const char *name);

#endif
