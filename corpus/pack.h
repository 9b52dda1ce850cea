/*
 * pack.h: what the files of packing share: the files to pack and their order, marks as token ids,
 * and the tasks behind one table.
 */
#ifndef HPC_CORPUS_PACK_H
#define HPC_CORPUS_PACK_H

#include "corpus/corpus.h"
#include "runtime/shard/shard.h"

/* ---- pack_files.c: the rows of the corpus that are packed, small enough to keep all --------- */
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
    pack_file *item; /* by id, and so by repository and path */
    int64_t n, cap;
    hpc_buf paths;  /* NUL-terminated, one after the other */
    int64_t *first; /* of each repository, and n behind the last */
    size_t *name;   /* of each repository, in `names` */
    int64_t first_cap, name_cap, repositories_n;
    hpc_buf names;
} pack_files;
/* Of the files that the filter lets through those whose draw lies in [from, to) of [0, 1): one for
 * each group of near-duplicates. */
typedef struct pack_share {
    int64_t seed;
    double from, to;
} pack_share;
int pack_files_load(pack_files *out, hpc_corpus *c, const hpc_corpus_filter *filter,
                    const pack_share *share);
void pack_files_release(pack_files *f);
const char *pack_files_path(const pack_files *f, int64_t i);
const char *pack_files_repository(const pack_files *f, int64_t i);
int64_t pack_files_find(const pack_files *f, int64_t id); /* -1: not there */
int pack_files_read(hpc_buf *out, hpc_corpus *c, const pack_files *f, int64_t i);

/* ---- pack_scan.c: what a file asks for, and what it offers ---------------------------------- */
/* Appends records of a kind, a name and a NUL: 'i' a file that it includes, 'u' a Fortran module
 * that it uses, 'm' one that it defines (names of modules in lower case). Bounded in number and
 * length; a mention inside a comment may slip in, which only moves a file. */
int pack_scan(hpc_buf *out, const char *text, size_t n, hpc_language l);

/* ---- pack_order.c: files of a repository, dependencies before dependents --------------------- */
/* paths: of the files, ascending, equal ones are versions of one file; records: pack_scan's of each
 * file. order: a permutation of 0..n-1, versions of a file together. Cycles are entered at the
 * least path. */
int pack_order(int64_t *order, int64_t n, const char *const *paths, const hpc_buf *records);
/* The order of all files, repository after repository, on every worker of the pool. */
int pack_order_all(int64_t *order, const pack_files *f, const char *corpus, hpc_pool *pool,
                   const int *stop);

/* ---- pack_fim.c: which documents are filled in the middle, and where they are cut ----------- */
enum { PACK_FIM_NONE, PACK_FIM_PREFIX_FIRST, PACK_FIM_SUFFIX_FIRST };
/* A function of seed and id alone. */
int pack_fim_kind(int64_t seed, int64_t id, double rate, double suffix_first);
/* Two places between characters of UTF-8 text, each equally likely to be any, in order. */
void pack_fim_cut(size_t *lo, size_t *hi, int64_t seed, int64_t id, const char *text, size_t n);

/* ---- pack_encode.c: samples as token ids -------------------------------------------------------
 * A mark is one id where the tokenizer has a piece for it, of ours or of the model that it comes
 * from. Marks for the middle and for the end cannot be anything else; of the others a tokenizer of
 * somebody else's may have none, and they are spelled as text. */
typedef struct pack_encoder {
    const hpc_tokenizer *tokenizer;
    hpc_ids mark[HPC_MARK_N];
    const char *spelling[HPC_MARK_N]; /* as packed; NULL: not needed */
    int32_t begin;                    /* in front of every document, or -1 */
} pack_encoder;
/* needed: bits 1 << hpc_mark. HPC_E_ARG that names a mark that cannot be had. */
int pack_encoder_open(pack_encoder *out, const hpc_tokenizer *t, unsigned needed, const char *name);
void pack_encoder_release(pack_encoder *e);
/* Appends. *answer: the place, from the first id appended, behind the last PRAGMA or PERF_LABEL
 * mark; -1 if there is none. */
int pack_encode(hpc_ids *ids, int64_t *answer, const pack_encoder *e, hpc_tokenizer_scratch *s,
                const hpc_sample *sample);

/* ---- pack.c: the engine, and the tasks ------------------------------------------------------- */
enum { PACK_COLUMNS = 4 };
typedef struct pack pack;
typedef struct pack_worker { /* what one thread of the pool works with */
    hpc_corpus *corpus;      /* NULL for tasks without one */
    hpc_tokenizer_scratch *scratch;
    hpc_sample sample; /* of the document at hand */
    hpc_buf text;
    hpc_ids ids; /* of all its documents of the batch */
    void *state; /* the task's */
} pack_worker;
typedef struct pack_task {
    const char *name;
    hpc_shard_column column[PACK_COLUMNS];
    int columns_n;
    int answer;     /* the column that takes the place of the answer, or -1 */
    unsigned marks; /* that every document may need, bits 1 << hpc_mark */
    bool needs_corpus;
    int (*prepare)(pack *p); /* before all else: NULL, or what the workers need is opened */
    /* More members of pack.json; NULL: none. */
    int (*asked)(hpc_json_out *out, const pack *p);
    /* Decides what the documents are: sets p->documents and p->plan. */
    int (*plan)(pack *p);
    void (*release)(pack *p);
    int (*worker_open)(pack_worker *w, pack *p); /* NULL: nothing to open */
    void (*worker_close)(pack_worker *w);
    /* About how many bytes document i is, and a key: near keys are read best one after the other */
    int64_t (*bytes)(int64_t *key, const pack *p, int64_t i);
    /* Into w->sample, which is empty, and value[0..columns_n). */
    int (*render)(pack_worker *w, double *value, const pack *p, int64_t i);
    void (*facts)(hpc_json_out *out, const pack *p); /* members of an open object */
} pack_task;
struct pack {
    const hpc_pack_options *options;
    hpc_pack_result *result; /* a task puts its own counts there as it plans */
    const pack_task *task;
    hpc_tokenizer *tokenizer;
    pack_encoder encoder;
    hpc_corpus *corpus;
    hpc_pool *pool;
    pack_worker *worker; /* one for each of the pool */
    int64_t documents;
    int64_t fim; /* of them, filled in the middle */
    void *plan;
};
extern const pack_task pack_task_code, pack_task_pragma, pack_task_perf;
bool pack_stopped(const pack *p);
void pack_put_hash(hpc_json_out *w, const char *key, hpc_hash128 h);

#endif
