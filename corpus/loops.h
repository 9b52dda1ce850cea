/*
 * loops.h: what the files about samples of loops share: one loop with its directive as a record,
 * and loops.db, which packing reads.
 */
#ifndef HPC_CORPUS_LOOPS_H
#define HPC_CORPUS_LOOPS_H

#include "corpus/corpus.h"

typedef enum loops_kind {
    LOOPS_ANNOTATED, /* an OpenMP directive for loops is on it */
    LOOPS_PRESUMED,  /* none, outside parallel regions, in a file that uses OpenMP */
    LOOPS_DISPUTED,  /* a presumed negative that has a directive elsewhere */
    LOOPS_ACC,       /* an OpenACC directive */
    LOOPS_OTHER,     /* any other, `omp parallel` alone included */
    LOOPS_KIND_N
} loops_kind;
const char *loops_kind_name(loops_kind k);

/* Longer or deeper ones are counted and are no samples. */
enum { LOOPS_BYTES_MOST = 1 << 16, LOOPS_DEPTH_MOST = 16, LOOPS_HEADER_MOST = 1024 };

typedef struct loops_record {
    hpc_hash128 hash, directive_hash; /* hpc_loop_hash; of the directive's text */
    int64_t file;                     /* its id in the corpus */
    uint32_t line, end_line, begin, end;
    uint32_t words; /* of all directives on it that `directive` has */
    int32_t depth;
    uint8_t api, kind, language, split;
    /* NUL-terminated; `directive` has one line for each directive, outermost first; `header` is
     * that of its function. Borrowed. */
    const char *repository, *path, *licence, *function, *directive, *header, *text;
} loops_record;

/* ---- loops_text.c ---------------------------------------------------------------------- */
/* Scratch of one worker; zero to begin with. */
typedef struct loops_scratch {
    hpc_tokens t;
    hpc_functions f;
    hpc_loops l;
    hpc_buf directive, words;
} loops_scratch;
void loops_scratch_release(loops_scratch *s);
/* Appends the records of a text to out. `like` has file, repository, path, licence, language and
 * split. counts: loops_n and skipped ones are added. */
int loops_of_text(hpc_buf *out, loops_scratch *s, int64_t *loops_n, const loops_record *like,
                  const char *text, size_t n, bool fixed);
/* The record at *at of what loops_of_text wrote; false at the end. */
bool loops_next(loops_record *r, size_t *at, const char *data, size_t n);
/* Appends a record again, as loops_next reads it. */
int loops_put(hpc_buf *out, const loops_record *r);
/* One line of JSON; without id, file, repository, occurrences and split when id is 0. */
void loops_json(hpc_buf *out, const loops_record *r, int64_t id, int64_t occurrences);

/* ---- loops_tally.c: which loops are known, and from where --------------------------------
 * About 200 bytes for each distinct pair of loop and directive. */
typedef struct loops_tally {
    hpc_map *loops; /* by hash: bits of kinds and the split that takes precedence */
    hpc_map *pairs; /* by hash, directive, kind and split, in the order of their first records:
                     * how often each occurs */
} loops_tally;
int loops_tally_init(loops_tally *t);
void loops_tally_release(loops_tally *t);
/* *fresh: no record had this pair before. */
int loops_tally_add(loops_tally *t, const loops_record *r, bool *fresh);
/* After all have been added: */
loops_kind loops_tally_kind(const loops_tally *t, const loops_record *r);     /* DISPUTED known */
bool loops_tally_straddles(const loops_tally *t, const loops_record *r);      /* another split's */
int64_t loops_tally_occurrences(const loops_tally *t, const loops_record *r); /* in all splits */
void loops_tally_counts(hpc_loops_result *out, const loops_tally *t);

/* ---- loops_store.c: loops.db ---------------------------------------------------------------
 * Table file (id, repository, path, licence) and table loop; `kind`, `language` and `split` have
 * tables with their names, the view `loops` joins all. */
enum { LOOPS_DB_VERSION = 1, LOOPS_DB_APPLICATION = 0x4850434c /* "HPCL" */ };
typedef struct loops_store loops_store;
int loops_store_create(loops_store **out, const char *folder);
int loops_store_meta(loops_store *s, const char *key, const char *value);
int loops_store_add(loops_store *s, const loops_record *r, int64_t id, int64_t occurrences);
int loops_store_commit(loops_store *s); /* whole or not at all */
void loops_store_free(loops_store *s);

/* ---- loops_read.c ---------------------------------------------------------------------------- */
typedef struct loops_db loops_db; /* belongs to one thread */
int loops_db_open(loops_db **out, const char *folder);
void loops_db_close(loops_db *d);
hpc_hash128 loops_db_corpus(const loops_db *d); /* the corpus.db that it was made from */
/* Rows in order of id, and so of file and place. kinds, splits: bits, 0: all. */
int loops_db_select(loops_db *d, unsigned kinds, unsigned splits);
/* 1: a row, without repository, path, licence, header and text; 0: the end. */
int loops_db_next(loops_record *r, int64_t *id, loops_db *d);

#endif
