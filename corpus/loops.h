/*
 * loops.h: loop samples: the record of a loop with its directive, deduplication, and loops.db.
 */
#ifndef HPC_CORPUS_LOOPS_H
#define HPC_CORPUS_LOOPS_H

#include "corpus/corpus.h"

typedef enum loops_kind {
    LOOPS_ANNOTATED, /* has an OpenMP loop directive */
    LOOPS_PRESUMED,  /* has none, outside parallel regions, in a file that uses OpenMP */
    LOOPS_DISPUTED,  /* a presumed negative that has a directive elsewhere */
    LOOPS_ACC,       /* has an OpenACC directive */
    LOOPS_OTHER,     /* has another directive, `omp parallel` alone included */
    LOOPS_KIND_N
} loops_kind;
const char *loops_kind_name(loops_kind k);

/* Longer or deeper loops are counted but not sampled. */
enum { LOOPS_BYTES_MOST = 1 << 16, LOOPS_DEPTH_MOST = 16, LOOPS_HEADER_MOST = 1024 };

typedef struct loops_record {
    hpc_hash128 hash, directive_hash; /* hpc_loop_hash; hash of the directive's text */
    int64_t file;                     /* id in the corpus */
    uint32_t line, end_line, begin, end;
    uint32_t words; /* words of all directives in `directive` */
    int32_t depth;
    uint8_t api, kind, language, split;
    /* NUL-terminated, borrowed. `directive` has one line per directive, outermost first; `header`
     * is the header of its function. */
    const char *repository, *path, *licence, *function, *directive, *header, *text;
} loops_record;

/* ---- loops_text.c ---------------------------------------------------------------------- */
/* Scratch of one worker; initialise with zeros. */
typedef struct loops_scratch {
    hpc_tokens t;
    hpc_functions f;
    hpc_loops l;
    hpc_buf directive, words;
} loops_scratch;
void loops_scratch_release(loops_scratch *s);
/* Appends the records of a text to out. `like` gives file, repository, path, licence, language and
 * split. Adds the number of loops, skipped ones included, to *loops_n. */
int loops_of_text(hpc_buf *out, loops_scratch *s, int64_t *loops_n, const loops_record *like,
                  const char *text, size_t n, bool fixed);
/* Reads the record at *at in the output of loops_of_text; false at the end. */
bool loops_next(loops_record *r, size_t *at, const char *data, size_t n);
/* Appends a record in the format of loops_next. */
int loops_put(hpc_buf *out, const loops_record *r);
/* Appends one JSON line; for id 0 without id, file, repository, occurrences and split. */
void loops_json(hpc_buf *out, const loops_record *r, int64_t id, int64_t occurrences);

/* ---- loops_tally.c: known loops and their origin --------------------------------------------- */
/* About 200 bytes per distinct pair of loop and directive. */
typedef struct loops_tally {
    hpc_map *loops; /* by hash: bits of kinds, and the split with precedence */
    hpc_map *pairs; /* by hash, directive, kind and split, in order of first records: number of
                       occurrences */
} loops_tally;
int loops_tally_init(loops_tally *t);
void loops_tally_release(loops_tally *t);
/* Adds a record. `fresh` is set to true for the first record of its pair. */
int loops_tally_add(loops_tally *t, const loops_record *r, bool *fresh);
/* Valid after all records have been added: */
loops_kind loops_tally_kind(const loops_tally *t, const loops_record *r);     /* may be DISPUTED */
bool loops_tally_straddles(const loops_tally *t, const loops_record *r);      /* in another split */
int64_t loops_tally_occurrences(const loops_tally *t, const loops_record *r); /* in all splits */
void loops_tally_counts(hpc_loops_result *out, const loops_tally *t);

/* ---- loops_store.c: loops.db ----------------------------------------------------------------- */
/* Tables file (id, repository, path, licence) and loop. Tables kind, language and split have their
 * names; the view `loops` joins all. */
enum { LOOPS_DB_VERSION = 1, LOOPS_DB_APPLICATION = 0x4850434c /* "HPCL" */ };
typedef struct loops_store loops_store;
int loops_store_create(loops_store **out, const char *folder);
int loops_store_meta(loops_store *s, const char *key, const char *value);
int loops_store_add(loops_store *s, const loops_record *r, int64_t id, int64_t occurrences);
int loops_store_commit(loops_store *s); /* atomic */
void loops_store_free(loops_store *s);

/* ---- loops_read.c ---------------------------------------------------------------------------- */
typedef struct loops_db loops_db; /* for one thread */
int loops_db_open(loops_db **out, const char *folder);
void loops_db_close(loops_db *d);
hpc_hash128 loops_db_corpus(const loops_db *d); /* hash of its corpus.db */
/* Selects rows in order of id, file and position. kinds, splits: bits; 0: all. */
int loops_db_select(loops_db *d, unsigned kinds, unsigned splits);
/* Returns 1: a row, without repository, path, licence, header and text; 0: end. */
int loops_db_next(loops_record *r, int64_t *id, loops_db *d);

#endif
