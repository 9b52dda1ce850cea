/*
 * harvest.h: what the files of the harvest share: settings, plans, the judging of one file, the
 * work on chunks, the merge and the splits.
 */
#ifndef HPC_CORPUS_HARVEST_H
#define HPC_CORPUS_HARVEST_H

#include "corpus/priv.h"

/* One repository of the work; they are sorted by name. */
typedef struct corpus_source {
    const char *path, *name; /* in the arena of the harvest */
    int failed;              /* could not be opened or listed, or went away; by atomic built-ins */
    int64_t files_n;         /* planned */
} corpus_source;

typedef struct corpus_harvest {
    const hpc_harvest_options *options;
    hpc_arena *arena;
    hpc_sketch *sketch; /* NULL: none */
    corpus_source *source;
    int64_t sources_n;
    hpc_pool *pool;
    hpc_buf settings; /* the text of harvest.json */
    bool fresh;       /* which this call has written */
    hpc_harvest_result *result;
    int64_t done_n; /* files, for the progress */
} corpus_harvest;

/* ---- harvest_settings.c ---------------------------------------------------------- */
/* Names, sorted; harvest.json written, or found to say the same. */
int corpus_settings_fix(corpus_harvest *h);
/* One line to options->warn, as printf. */
void corpus_harvest_warn(const corpus_harvest *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool corpus_harvest_stopped(const corpus_harvest *h);
/* What is recorded goes out as a warning that begins with the name, and is cleared. */
void corpus_harvest_warn_error(const corpus_harvest *h, const char *name);
/* Replaces out: the path of a file of the corpus. */
int corpus_harvest_path(hpc_buf *out, const corpus_harvest *h, const char *name);

/* ---- plan.c: what a harvest takes from one repository, fixed before it is read ----- */
typedef struct corpus_plan {
    hpc_git_id head;
    uint64_t refs; /* 0 when only HEAD counts */
    bool empty, shallow, partial;
    int64_t links_n, other_n, commits_n, missing_n;
    hpc_git_entry *entry;
    int64_t n;
    hpc_buf paths;     /* of the entries */
    hpc_map *licences; /* folder ("" or with '/' at the end) to an offset in `expressions` */
    hpc_buf expressions;
    hpc_hash128 hash; /* of all that, when saved or loaded */
} corpus_plan;        /* zero to begin with */
/* From the repository; what was passed over is told. Commits and folders that cannot be read are
 * counted in missing_n, and the plan is that of the rest: it stays as it is, also when they come
 * back. HPC_E_FORMAT when nothing of HEAD can be listed: no plan, so that resuming tries again.
 * HPC_GIT_STOPPED, and no plan, when the harvest is to stop. */
int corpus_plan_make(corpus_plan *out, const corpus_harvest *h, const corpus_source *s, hpc_git *g);
/* Warns when missing_n is not 0; `first` of them, or NULL when it is not known any more. */
void corpus_plan_tell_missing(const corpus_plan *p, const corpus_harvest *h, const char *name,
                              const char *first);
int corpus_plan_save(corpus_plan *p, const char *path);
int corpus_plan_load(corpus_plan *out, const char *path);
void corpus_plan_release(corpus_plan *p);
int corpus_plan_path(hpc_buf *out, const corpus_harvest *h, const corpus_source *s);
int64_t corpus_plan_chunks(const corpus_plan *p);
/* Entries [*lo, *hi) are those of a chunk. */
void corpus_plan_range(int64_t *lo, int64_t *hi, const corpus_plan *p, int64_t chunk);
const char *corpus_plan_entry_path(const corpus_plan *p, int64_t entry);
/* Of the nearest folder that has one, else of the repository; "" is unknown. */
const char *corpus_plan_licence(const corpus_plan *p, const char *path);
/* The nearest licence file around the path was not recognised. */
bool corpus_plan_licence_is_unknown(const corpus_plan *p, const char *path);
/* Of a chunk: of the settings, the repository's name and the plan. */
hpc_hash128 corpus_plan_key(const corpus_plan *p, const corpus_harvest *h, const corpus_source *s,
                            int64_t chunk);

/* ---- plan_licence.c ---------------------------------------------------------------- */
/* Fills p->licences from HEAD: each folder that holds an entry, and those around it. Warns of files
 * that are named like licences and hold none that is known. Also HPC_GIT_STOPPED. */
int corpus_plan_find_licences(corpus_plan *p, const corpus_harvest *h, const char *name,
                              hpc_git *g);

/* ---- judge.c: one file through all filters ------------------------------------------- */
typedef struct corpus_judge { /* scratch of one worker; zero to begin with */
    hpc_buf text, masked;
    hpc_tokens tokens;
    corpus_code code;
    char licence[CORPUS_LICENCE], detail[192];
} corpus_judge;
void corpus_judge_release(corpus_judge *j);
/* 1: a record, borrowed from j and p, and for a KEPT one its text; 0: no source code of ours after
 * all; negative: memory ran out. g may be NULL when nothing of the repository is read. */
int corpus_judge_file(corpus_record *out, const char **text, corpus_judge *j, hpc_git *g,
                      const corpus_harvest *h, const corpus_source *s, const corpus_plan *p,
                      int64_t entry);

/* ---- work.c: the chunks of the repositories that this process has ---------------------- */
/* Takes repositories that nobody has until there are none. Whether all of them are done, or
 * failed, is corpus_work_complete's to say. */
int corpus_work_run(corpus_harvest *h);
/* Chunks that are there are verified; *chunks gets a list of them. */
int corpus_work_complete(bool *out, hpc_buf *chunks, const corpus_harvest *h);

/* ---- merge.c --------------------------------------------------------------------------- */
typedef struct corpus_item { /* one record of all chunks, in order of id: item = id - 1 */
    int32_t original;        /* an item, or -1 */
    int32_t component;       /* the least item of its group */
    uint32_t source;         /* number of the repository */
    uint32_t stored_bytes;
    uint8_t reason, head, split;
} corpus_item;
/* Compares everything with everything and writes corpus.db. */
int corpus_merge(corpus_harvest *h);

/* ---- split.c: pure functions over items -------------------------------------------------- */
typedef struct corpus_split_options {
    double validation, test;
    int64_t seed;
    const corpus_source *source; /* for the names */
    int64_t sources_n;
} corpus_split_options;
typedef struct corpus_split_result {
    int64_t clusters_n, straddles_n;
    int64_t bytes[HPC_SPLIT_N]; /* kept, before those that straddle are taken out */
} corpus_split_result;
/* Assigns each repository's split and cluster (the number of its first repository), each item's
 * split, and takes out items that are close to one of a split of precedence. */
int corpus_split(corpus_split_result *out, hpc_split *split, int32_t *cluster, corpus_item *item,
                 int64_t n, const corpus_split_options *options);

/* ---- store.c: writing corpus.db ------------------------------------------------------------ */
enum { CORPUS_DB_VERSION = 1, CORPUS_DB_APPLICATION = 0x48504343 /* "HPCC" */ };
typedef struct corpus_store corpus_store;
int corpus_store_create(corpus_store **out, const char *folder);
int corpus_store_meta(corpus_store *s, const char *key, const char *value);
typedef struct corpus_store_repository {
    const char *name, *licence;
    const corpus_plan *plan; /* NULL: it failed */
    int64_t first, files_n;  /* ids */
    int64_t chunks_n;
    int32_t cluster;
    hpc_split split;
} corpus_store_repository;
int corpus_store_add_repository(corpus_store *s, int64_t id, const corpus_store_repository *r);
int corpus_store_add_chunk(corpus_store *s, int64_t repository, int64_t chunk, hpc_hash128 hash,
                           int64_t first, int64_t files_n);
int corpus_store_add_file(corpus_store *s, int64_t id, const corpus_record *r, const corpus_item *i,
                          int64_t chunk, int64_t slot);
int corpus_store_commit(corpus_store *s); /* whole or not at all */
void corpus_store_free(corpus_store *s);

/* ---- corpus.c ------------------------------------------------------------------------------ */
/* Counts of a corpus that is there, for the result. */
int corpus_count(hpc_harvest_result *out, const char *folder);
/* One more chunk of those that a corpus is made from: by repository, then by number. */
int corpus_list_chunk(hpc_buf *out, const char *repository, int64_t chunk, hpc_hash128 hash);
/* Reads all of corpus.db, HPC_E_FORMAT when it is damaged. *same: it was made from these chunks;
 * *failed: repositories that could not be read then. */
int corpus_verify(bool *same, int64_t *failed, const char *folder, const hpc_buf *chunks);

#endif
