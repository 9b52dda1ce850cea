/*
 * priv.h: what the files of the corpus share and nobody else sees.
 */
#ifndef HPC_CORPUS_PRIV_H
#define HPC_CORPUS_PRIV_H

#include "corpus/corpus.h"

/* ---- filter.c: what makes a file worth nothing, by path and by tokens ---------------- */
/* The part of the path that marks a copy of another project ("third_party", "cJSON.c"), or NULL; a
 * static string. NULL also for the project itself, by the name of the repository ("owner/cJSON").
 */
const char *corpus_vendored(const char *path, const char *repository);
/* NULL, or why in a few words; *reason is GENERATED, MINIFIED or TOO_SHORT. */
const char *corpus_worthless(hpc_reason *reason, const char *path, const char *text, size_t n,
                             const hpc_tokens *t);
bool corpus_is_utf8(const char *text, size_t n); /* no NUL, no overlong, no surrogates */

/* ---- find.c ------------------------------------------------------------------------------ */
/* Where the first `word` in a text begins, or NULL; for words that are rarely there. */
const char *corpus_find(const char *text, size_t n, const char *word);
/* Many such words at once, by their heads: three bytes that each has somewhere. */
enum { CORPUS_HEAD_ROWS = 8 };
typedef struct corpus_heads {
    uint8_t low[3][16], high[3][16]; /* the rows that have a byte of such a half there, as bits */
} corpus_heads;
/* A row is a list of heads with a blank between them; '.' is any byte. What is in one row mixes:
 * half a byte is compared at a time, so that "gho ghr" finds "ghb" as well. */
void corpus_heads_init(corpus_heads *out, const char *const *row, int rows_n);
/* The first place from `from` on where a head may stand, or n. None is missed. */
size_t corpus_heads_next(const corpus_heads *h, const char *text, size_t n, size_t from);
/* The same byte by byte, for machines without such vectors. */
size_t corpus_heads_next_plainly(const corpus_heads *h, const char *text, size_t n, size_t from);

/* ---- secrets.c ------------------------------------------------------------------------ */
/* Replaces keys, tokens, passwords in URLs, private key blocks and e-mail addresses by fixed words,
 * wherever they stand; line numbers stay. *n_masked 0: out is untouched
 * and the text may be used as it is. */
int corpus_mask(hpc_buf *out, int64_t *n_masked, const char *text, size_t n, const hpc_tokens *t);

/* ---- licence.c ------------------------------------------------------------------------ */
/* SPDX expressions as short texts: "MIT", "BSD-3-Clause", "Apache-2.0 WITH LLVM-exception",
 * "MIT OR Apache-2.0"; "" is unknown. */
enum { CORPUS_LICENCE = 64 };
/* From the SPDX tag or the text in the leading comments of a file. */
void corpus_licence_of_file(char out[CORPUS_LICENCE], const char *text, const hpc_tokens *t);
/* From a whole LICENSE or COPYING file. */
void corpus_licence_of_text(char out[CORPUS_LICENCE], const char *text, size_t n);
/* Whether the name (without its folder) is one that holds a licence, best first: lower is better,
 * negative is none. */
int corpus_licence_file_rank(const char *name);
/* Whether the expression is covered: "permissive", "all", or a list of SPDX names. OR needs one
 * side, AND both. An unknown licence only by "all". */
bool corpus_licence_allowed(const char *expression, const char *allowed);
/* HPC_E_ARG, naming the word, when `allowed` has a name that we do not know. */
int corpus_licence_check_list(const char *allowed);

/* ---- shingle.c, near.c: near-duplicates ------------------------------------------------ */
enum { CORPUS_LANES = 128, CORPUS_SHINGLE = 5, CORPUS_HELD_OUT_SHINGLE = 50 };
typedef struct corpus_signature {
    /* One permutation, densified: bit 0 is set in a lane that copies another, the rest is hash. */
    uint16_t lane[CORPUS_LANES];
    uint32_t shingles; /* distinct ones, within one or two in a hundred */
} corpus_signature;
/* The code tokens of a text alone, by their hashes: comments, white space and line ends do not
 * matter to anything here. Before the first lie CORPUS_CODE_BEFORE that are zero and no names. */
typedef struct corpus_code {
    uint32_t *hash;
    uint32_t *name; /* of a name, a number below CORPUS_CODE_NAMES by its hash; else that */
    int64_t n, cap;
} corpus_code; /* zero to begin with; reused by the next call */
enum { CORPUS_CODE_BEFORE = 64, CORPUS_CODE_NAMES = 1024 };
int corpus_code_of(corpus_code *out, const hpc_tokens *t);
void corpus_code_release(corpus_code *c);
void corpus_sign(corpus_signature *out, const corpus_code *c);
double corpus_similarity(const corpus_signature *a, const corpus_signature *b); /* estimate */
/* An index of signatures, filled one after the other in order of precedence. Near is a similarity
 * of 0.72 and more. */
typedef struct corpus_near corpus_near;
int corpus_near_create(corpus_near **out, int64_t expected);
void corpus_near_free(corpus_near *x);
/* *original: the first earlier kept item that this one is a near-duplicate of, or -1: then it is
 * kept. Items that are close, kept or not, get into one component. */
int corpus_near_add(int64_t *original, corpus_near *x, int64_t item, const corpus_signature *s);
/* The least item of the component. */
int64_t corpus_near_component(const corpus_near *x, int64_t item);

/* ---- sketch.c --------------------------------------------------------------------------- */
typedef struct corpus_held_out {
    hpc_reason reason; /* KEPT: not held out */
    double share;
    char detail[128];
} corpus_held_out;
/* By name: `owner/name`, case-insensitive; a fork keeps the last part, which counts only with
 * content. */
bool corpus_sketch_repository(const hpc_sketch *s, const char *name);
bool corpus_sketch_path(const hpc_sketch *s, const char *name, const char *path,
                        const char **pattern);
/* By git id, by hash of the code tokens, by containment. `quick`: a share far below the limit may
 * come out as zero; for the verdict it makes no difference. */
int corpus_sketch_content(corpus_held_out *out, const hpc_sketch *s, const hpc_git_id *id,
                          const corpus_code *c, double limit, bool quick);

/* ---- chunk_write.c, chunk_read.c: texts of up to CORPUS_CHUNK_FILES files of a repository -- */
enum { CORPUS_CHUNK_FILES = 512, CORPUS_TEXT_MOST = 1 << 28 /* bytes of one file */ };
typedef struct corpus_record { /* one file, before anything is compared with others */
    hpc_git_id id;
    hpc_hash128 hash; /* of the content as it was in git; zero when it was not read */
    uint64_t bytes;
    const char *path, *licence, *detail; /* never NULL when read */
    uint32_t stored_bytes, lines, tokens, parallel, masked;
    uint8_t language, fixed, head, reason;
    corpus_signature signature; /* zero unless the text is stored */
} corpus_record;
/* Texts are stored for KEPT records only (at that time: before deduplication). `key` says of what
 * the chunk is made; a chunk of another key is not the one that is looked for. */
typedef struct corpus_chunk_writer corpus_chunk_writer;
int corpus_chunk_create(corpus_chunk_writer **out, const char *path, hpc_hash128 key);
int corpus_chunk_add(corpus_chunk_writer *w, const corpus_record *r, const char *text, size_t n);
int corpus_chunk_commit(corpus_chunk_writer *w); /* whole or not at all; the same bytes */
void corpus_chunk_free(corpus_chunk_writer *w);  /* committed or not */
typedef struct corpus_chunk corpus_chunk;        /* belongs to one thread */
/* Verifies version, sizes and checksums of everything but the texts, which are verified as they
 * are read. */
int corpus_chunk_open(corpus_chunk **out, const char *path);
void corpus_chunk_close(corpus_chunk *c);
int corpus_chunk_verify(const corpus_chunk *c); /* the texts too, without unpacking them */
int64_t corpus_chunk_n(const corpus_chunk *c);
hpc_hash128 corpus_chunk_key(const corpus_chunk *c);
hpc_hash128 corpus_chunk_hash(const corpus_chunk *c);                             /* of all of it */
int corpus_chunk_record(corpus_record *out, const corpus_chunk *c, int64_t slot); /* borrowed */
/* Replaces out; HPC_E_ARG for a slot without text. Keeps one block unpacked. */
int corpus_chunk_text(hpc_buf *out, corpus_chunk *c, int64_t slot);
/* Replaces out: DIR/content/OWNER+NAME, and /00007.chunk behind it unless chunk is negative.
 * HPC_E_FORMAT for a name that is no repository's. */
int corpus_chunk_path(hpc_buf *out, const char *folder, const char *repository, int64_t chunk);

#endif
