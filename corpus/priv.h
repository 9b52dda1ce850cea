/*
 * priv.h: internals of the corpus: filters, secrets, licences, near-duplicates, sketch and chunks.
 */
#ifndef HPC_CORPUS_PRIV_H
#define HPC_CORPUS_PRIV_H

#include "corpus/corpus.h"

/* ---- filter.c: excludes files by path and tokens --------------------------------------------- */
/* The part of the path that marks a copy of another project ("third_party", "cJSON.c"), a static
 * string; or NULL. NULL also in the project's own repository ("owner/cJSON"). */
const char *corpus_vendored(const char *path, const char *repository);
/* Reason to exclude a file, in a few words, with *reason GENERATED, MINIFIED or
 * TOO_SHORT; or NULL. */
const char *corpus_worthless(hpc_reason *reason, const char *path, const char *text, size_t n,
                             const hpc_tokens *t);
bool corpus_is_utf8(const char *text, size_t n); /* no NUL, overlong forms or surrogates */

/* ---- find.c ------------------------------------------------------------------------------ */
/* First occurrence of `word`, or NULL; fast for words that rarely occur. */
const char *corpus_find(const char *text, size_t n, const char *word);
/* Searches for many rare words at once by heads, three bytes within each word. */
enum { CORPUS_HEAD_ROWS = 8 };
typedef struct corpus_heads {
    uint8_t low[3][16], high[3][16]; /* by half of a byte: bits of the rows that contain it */
} corpus_heads;
/* A row is a list of heads separated by blanks; '.' matches any byte. Halves of bytes are compared
 * separately, so the heads of a row mix: "gho ghr" also matches "ghb". */
void corpus_heads_init(corpus_heads *out, const char *const *row, int rows_n);
/* First position at or after `from` where a head may match, or n. Misses none. */
size_t corpus_heads_next(const corpus_heads *h, const char *text, size_t n, size_t from);
/* The same, byte by byte, for machines without suitable vectors. */
size_t corpus_heads_next_plainly(const corpus_heads *h, const char *text, size_t n, size_t from);

/* ---- secrets.c ------------------------------------------------------------------------ */
/* Replaces keys, tokens, passwords in URLs, private key blocks and e-mail addresses with fixed
 * words, anywhere in the text; line numbers do not change. *n_masked 0: the text has none, and out
 * is not modified. */
int corpus_mask(hpc_buf *out, int64_t *n_masked, const char *text, size_t n, const hpc_tokens *t);

/* ---- licence.c ------------------------------------------------------------------------ */
/* SPDX expressions as short strings: "MIT", "BSD-3-Clause", "Apache-2.0 WITH LLVM-exception", "MIT
 * OR Apache-2.0"; "": unknown. */
enum { CORPUS_LICENCE = 64 };
/* Licence from the SPDX tag or the text in a file's leading comments. */
void corpus_licence_of_file(char out[CORPUS_LICENCE], const char *text, const hpc_tokens *t);
/* Licence from a complete LICENSE or COPYING file. */
void corpus_licence_of_text(char out[CORPUS_LICENCE], const char *text, size_t n);
/* Rank of a file name (without folder) that holds a licence: lower is better; negative: not a
 * licence file. */
int corpus_licence_file_rank(const char *name);
/* Is the licence expression allowed by "permissive", "all", or a list of SPDX names? OR needs one
 * side, AND both. Only "all" allows an unknown licence. */
bool corpus_licence_allowed(const char *expression, const char *allowed);
/* HPC_E_ARG names an unknown licence name in `allowed`. */
int corpus_licence_check_list(const char *allowed);

/* ---- shingle.c, near.c: near-duplicates ------------------------------------------------ */
enum { CORPUS_LANES = 128, CORPUS_SHINGLE = 5, CORPUS_HELD_OUT_SHINGLE = 50 };
typedef struct corpus_signature {
    /* One-permutation MinHash, densified: bit 0 is set in a lane that copies another; the rest is
     * hash. */
    uint16_t lane[CORPUS_LANES];
    uint32_t shingles; /* number of distinct shingles, within 1 or 2 % */
} corpus_signature;
/* Hashes of the code tokens of a text; comments, white space and line ends are ignored. The
 * CORPUS_CODE_BEFORE entries before the first are zero and not names. */
typedef struct corpus_code {
    uint32_t *hash;
    uint32_t *name; /* of a name, its hash modulo CORPUS_CODE_NAMES; else CORPUS_CODE_NAMES */
    int64_t n, cap;
} corpus_code; /* initialise with zeros; reusable */
enum { CORPUS_CODE_BEFORE = 64, CORPUS_CODE_NAMES = 1024 };
int corpus_code_of(corpus_code *out, const hpc_tokens *t);
void corpus_code_release(corpus_code *c);
void corpus_sign(corpus_signature *out, const corpus_code *c);
double corpus_similarity(const corpus_signature *a, const corpus_signature *b); /* estimate */
/* An index of signatures, filled in order of precedence. Near-duplicates have a similarity of at
 * least 0.72. */
typedef struct corpus_near corpus_near;
int corpus_near_create(corpus_near **out, int64_t expected);
void corpus_near_free(corpus_near *x);
/* Compares an item with the earlier ones. Sets `original` to the first kept item of which this one
 * is a near-duplicate; -1: none, and it is kept. Similar items, kept or not, join one component. */
int corpus_near_add(int64_t *original, corpus_near *x, int64_t item, const corpus_signature *s);
/* Smallest item of the component. */
int64_t corpus_near_component(const corpus_near *x, int64_t item);

/* ---- sketch.c --------------------------------------------------------------------------- */
typedef struct corpus_held_out {
    hpc_reason reason; /* KEPT: not held out */
    double share;
    char detail[128];
} corpus_held_out;
/* By repository name `owner/name`, ignoring case. A fork with the same last part is held out only
 * by its content. */
bool corpus_sketch_repository(const hpc_sketch *s, const char *name);
bool corpus_sketch_path(const hpc_sketch *s, const char *name, const char *path,
                        const char **pattern);
/* By git id, by hash of the code tokens, by fraction of shingles. `quick`: a fraction far below the
 * limit may be reported as 0; the verdict is the same. */
int corpus_sketch_content(corpus_held_out *out, const hpc_sketch *s, const hpc_git_id *id,
                          const corpus_code *c, double limit, bool quick);

/* ---- chunk_write.c, chunk_read.c: texts of up to CORPUS_CHUNK_FILES files -------------------- */
enum { CORPUS_CHUNK_FILES = 512, CORPUS_TEXT_MOST = 1 << 28 /* bytes of one file */ };
typedef struct corpus_record { /* one file, before comparison with others */
    hpc_git_id id;
    hpc_hash128 hash; /* of the content in git; zero: not read */
    uint64_t bytes;
    const char *path, *licence, *detail; /* never NULL when read */
    uint32_t stored_bytes, lines, tokens, parallel, masked;
    uint8_t language, fixed, head, reason;
    corpus_signature signature; /* zero unless the text is stored */
} corpus_record;
/* Stores texts of KEPT records only; deduplication follows later. `key` identifies the inputs of a
 * chunk; a chunk with another key is out of date. */
typedef struct corpus_chunk_writer corpus_chunk_writer;
int corpus_chunk_create(corpus_chunk_writer **out, const char *path, hpc_hash128 key);
int corpus_chunk_add(corpus_chunk_writer *w, const corpus_record *r, const char *text, size_t n);
int corpus_chunk_commit(corpus_chunk_writer *w); /* atomic and deterministic */
void corpus_chunk_free(corpus_chunk_writer *w);  /* committed or not */
typedef struct corpus_chunk corpus_chunk;        /* for one thread */
/* Verifies version, sizes and checksums, except of the texts, which are verified when read. */
int corpus_chunk_open(corpus_chunk **out, const char *path);
void corpus_chunk_close(corpus_chunk *c);
int corpus_chunk_verify(const corpus_chunk *c); /* texts also, without decompressing them */
int64_t corpus_chunk_n(const corpus_chunk *c);
hpc_hash128 corpus_chunk_key(const corpus_chunk *c);
hpc_hash128 corpus_chunk_hash(const corpus_chunk *c); /* of the whole chunk */
int corpus_chunk_record(corpus_record *out, const corpus_chunk *c, int64_t slot); /* borrowed */
/* Replaces out with a text; HPC_E_ARG: no text. Keeps one block decompressed. */
int corpus_chunk_text(hpc_buf *out, corpus_chunk *c, int64_t slot);
/* Replaces out with DIR/content/OWNER+NAME, plus /00007.chunk unless chunk is negative.
 * HPC_E_FORMAT: invalid repository name. */
int corpus_chunk_path(hpc_buf *out, const char *folder, const char *repository, int64_t chunk);

#endif
