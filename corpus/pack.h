/*
 * pack.h: shared by packing: the files to pack and their order, marks as token ids, and the table
 * of tasks.
 */
#ifndef HPC_CORPUS_PACK_H
#define HPC_CORPUS_PACK_H

#include "corpus/corpus.h"
#include "runtime/shard/shard.h"

/* ---- pack_files.c: the files to pack, all in memory ------------------------------------------ */
typedef struct pack_file {
    int64_t id, chunk, slot;
    size_t path; /* in `paths` */
    int32_t repository;
    uint32_t stored_bytes;
    hpc_git_id git_id;
    uint8_t language;
    bool fixed;
} pack_file;
typedef struct pack_files {
    pack_file *item; /* in order of id, so also of repository and path */
    int64_t n, cap;
    hpc_buf paths;  /* NUL-terminated, contiguous */
    int64_t *first; /* first file of each repository, then n */
    size_t *name;   /* name of each repository, in `names` */
    int64_t first_cap, name_cap, repositories_n;
    hpc_buf names;
} pack_files;
/* A random part of the filtered files: those whose draw lies in [from, to) of [0, 1).
 * Near-duplicates share one draw. */
typedef struct pack_share {
    int64_t seed;
    double from, to;
} pack_share;
int pack_files_load(pack_files *out, hpc_corpus *c, const hpc_corpus_filter *filter,
                    const pack_share *share);
void pack_files_release(pack_files *f);
const char *pack_files_path(const pack_files *f, int64_t i);
const char *pack_files_repository(const pack_files *f, int64_t i);
int64_t pack_files_find(const pack_files *f, int64_t id); /* -1: not found */
int pack_files_read(hpc_buf *out, hpc_corpus *c, const pack_files *f, int64_t i);

/* ---- pack_scan.c: dependencies of a file ----------------------------------------------------- */
/* Appends records of a kind, a name and a NUL: 'i' an included file, 'u' a Fortran module used, 'm'
 * a module defined (modules in lower case). Bounded in number and length. Mentions in comments may
 * be included; they affect only the order of files. */
int pack_scan(hpc_buf *out, const char *text, size_t n, hpc_language l);

/* ---- pack_order.c: order within a repository, dependencies first ----------------------------- */
/* paths: ascending; equal ones are versions of one file. records: from pack_scan, per file. order:
 * a permutation of 0..n-1 that keeps versions of a file together. Cycles start at the smallest
 * path. */
int pack_order(int64_t *order, int64_t n, const char *const *paths, const hpc_buf *records);
/* Orders all files, repository by repository, on all workers of the pool. */
int pack_order_all(int64_t *order, const pack_files *f, const char *corpus, hpc_pool *pool,
                   const int *stop);

/* ---- pack_fim.c: fill-in-the-middle (FIM) ---------------------------------------------------- */
enum { PACK_FIM_NONE, PACK_FIM_PREFIX_FIRST, PACK_FIM_SUFFIX_FIRST };
/* Depends only on seed and id. */
int pack_fim_kind(int64_t seed, int64_t id, double rate, double suffix_first);
/* Draws two cut positions between UTF-8 characters, uniformly, and orders them. */
void pack_fim_cut(size_t *lo, size_t *hi, int64_t seed, int64_t id, const char *text, size_t n);

/* ---- pack_encode.c: encodes samples as token ids --------------------------------------------- */
/* A mark is one token if the tokenizer has a special piece for it, under our name or the model's.
 * Marks of the middle and the end must be special pieces. Other marks that a foreign tokenizer
 * lacks are spelled as text. */
typedef struct pack_encoder {
    const hpc_tokenizer *tokenizer;
    hpc_ids mark[HPC_MARK_N];
    const char *spelling[HPC_MARK_N]; /* as packed; NULL: not needed */
    int32_t begin;                    /* before every document, or -1 */
} pack_encoder;
/* needed: bits 1 << hpc_mark. HPC_E_ARG names a mark that the tokenizer does not have. */
int pack_encoder_open(pack_encoder *out, const hpc_tokenizer *t, unsigned needed, const char *name);
void pack_encoder_release(pack_encoder *e);
/* Appends a sample. *answer: index, relative to the first id appended, after the last PRAGMA or
 * PERF_LABEL mark; -1: no such mark. */
int pack_encode(hpc_ids *ids, int64_t *answer, const pack_encoder *e, hpc_tokenizer_scratch *s,
                const hpc_sample *sample);

/* ---- pack.c: the engine, and the tasks ------------------------------------------------------- */
enum { PACK_COLUMNS = 4 };
typedef struct pack pack;
typedef struct pack_worker { /* state of one thread of the pool */
    hpc_corpus *corpus;      /* NULL for tasks without one */
    hpc_tokenizer_scratch *scratch;
    hpc_sample sample; /* the current document */
    hpc_buf text;
    hpc_ids ids; /* ids of its documents in the batch */
    void *state; /* of the task */
} pack_worker;
typedef struct pack_task {
    const char *name;
    hpc_shard_column column[PACK_COLUMNS];
    int columns_n;
    int answer;     /* column that stores the position of the answer, or -1 */
    unsigned marks; /* marks that documents may need, bits 1 << hpc_mark */
    bool needs_corpus;
    int (*prepare)(pack *p); /* called first: opens shared state for workers; may be NULL */
    /* Adds members to pack.json; may be NULL. */
    int (*asked)(hpc_json_out *out, const pack *p);
    /* Selects the documents: sets p->documents and p->plan. */
    int (*plan)(pack *p);
    void (*release)(pack *p);
    int (*worker_open)(pack_worker *w, pack *p); /* may be NULL */
    void (*worker_close)(pack_worker *w);
    /* Approximate bytes of document i; reading in order of *key is fast. */
    int64_t (*bytes)(int64_t *key, const pack *p, int64_t i);
    /* Renders document i into the empty w->sample, and value[0..columns_n). */
    int (*render)(pack_worker *w, double *value, const pack *p, int64_t i);
    void (*facts)(hpc_json_out *out, const pack *p); /* adds members to an open object */
} pack_task;
struct pack {
    const hpc_pack_options *options;
    hpc_pack_result *result; /* tasks add counts while planning */
    const pack_task *task;
    hpc_tokenizer *tokenizer;
    pack_encoder encoder;
    hpc_corpus *corpus;
    hpc_pool *pool;
    pack_worker *worker; /* one per worker of the pool */
    int64_t documents;
    int64_t fim; /* documents with FIM */
    void *plan;
};
extern const pack_task pack_task_code, pack_task_pragma, pack_task_perf;
bool pack_stopped(const pack *p);
void pack_put_hash(hpc_json_out *w, const char *key, hpc_hash128 h);

#endif
