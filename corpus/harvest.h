/*
 * harvest.h: shared by the harvest: settings, plans, judging of files, work on chunks, merge and
 * splits.
 */
#ifndef HPC_CORPUS_HARVEST_H
#define HPC_CORPUS_HARVEST_H

#include "corpus/priv.h"

/* One repository of the work list, which is sorted by name. */
typedef struct corpus_source {
    const char *path, *name; /* in the harvest's arena */
    int failed;              /* could not be opened or listed, or disappeared; atomic */
    int64_t files_n;         /* planned files */
} corpus_source;

typedef struct corpus_harvest {
    const hpc_harvest_options *options;
    hpc_arena *arena;
    hpc_sketch *sketch; /* NULL: none */
    corpus_source *source;
    int64_t sources_n;
    hpc_pool *pool;
    hpc_buf settings; /* contents of harvest.json */
    bool fresh;       /* this call wrote harvest.json */
    hpc_harvest_result *result;
    int64_t done_n; /* files, for the progress */
} corpus_harvest;

/* ---- harvest_settings.c ---------------------------------------------------------- */
/* Sorts and names the repositories; writes harvest.json, or fails if an existing one differs. */
int corpus_settings_fix(corpus_harvest *h);
/* Formats one line for options->warn. */
void corpus_harvest_warn(const corpus_harvest *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool corpus_harvest_stopped(const corpus_harvest *h);
/* Reports the recorded error as a warning that begins with `name`, and clears it. */
void corpus_harvest_warn_error(const corpus_harvest *h, const char *name);
/* Replaces out with the path of a file of the corpus. */
int corpus_harvest_path(hpc_buf *out, const corpus_harvest *h, const char *name);

/* ---- plan.c: the files to harvest from one repository ---------------------------------------- */
typedef struct corpus_plan {
    hpc_git_id head;
    uint64_t refs; /* 0: only HEAD is harvested */
    bool empty, shallow, partial;
    int64_t links_n, other_n, commits_n, missing_n;
    hpc_git_entry *entry;
    int64_t n;
    hpc_buf paths;     /* paths of the entries */
    hpc_map *licences; /* folder ("" or ending in '/') to an offset in `expressions` */
    hpc_buf expressions;
    hpc_hash128 hash; /* of all members, once saved or loaded */
} corpus_plan;        /* initialise with zeros */
/* Makes the plan of a repository and warns about skipped items. missing_n counts unreadable commits
 * and folders; the plan covers the rest and stays the same if they reappear. HPC_E_FORMAT: HEAD
 * cannot be listed; no plan, so that resuming tries again. HPC_GIT_STOPPED: stop requested; no
 * plan. */
int corpus_plan_make(corpus_plan *out, const corpus_harvest *h, const corpus_source *s, hpc_git *g);
/* Warns if missing_n is not 0. `first`: the first of them; NULL: unknown. */
void corpus_plan_tell_missing(const corpus_plan *p, const corpus_harvest *h, const char *name,
                              const char *first);
int corpus_plan_save(corpus_plan *p, const char *path);
int corpus_plan_load(corpus_plan *out, const char *path);
void corpus_plan_release(corpus_plan *p);
int corpus_plan_path(hpc_buf *out, const corpus_harvest *h, const corpus_source *s);
int64_t corpus_plan_chunks(const corpus_plan *p);
/* Gives a chunk's entries, [*lo, *hi). */
void corpus_plan_range(int64_t *lo, int64_t *hi, const corpus_plan *p, int64_t chunk);
const char *corpus_plan_entry_path(const corpus_plan *p, int64_t entry);
/* Licence from the nearest folder with one, else from the repository; "": unknown. */
const char *corpus_plan_licence(const corpus_plan *p, const char *path);
/* Was the nearest licence file around the path not recognised? */
bool corpus_plan_licence_is_unknown(const corpus_plan *p, const char *path);
/* Key of a chunk, from the settings, the repository's name and the plan. */
hpc_hash128 corpus_plan_key(const corpus_plan *p, const corpus_harvest *h, const corpus_source *s,
                            int64_t chunk);

/* ---- plan_licence.c ---------------------------------------------------------------- */
/* Fills p->licences from HEAD, for each folder that holds an entry and its parents. Warns of files
 * with licence names but unknown contents. May return HPC_GIT_STOPPED. */
int corpus_plan_find_licences(corpus_plan *p, const corpus_harvest *h, const char *name,
                              hpc_git *g);

/* ---- judge.c: one file through all filters ------------------------------------------- */
typedef struct corpus_judge { /* scratch of one worker; initialise with zeros */
    hpc_buf text, masked;
    hpc_tokens tokens;
    corpus_code code;
    char licence[CORPUS_LICENCE], detail[192];
} corpus_judge;
void corpus_judge_release(corpus_judge *j);
/* Judges one file. Returns 1: a record, borrowed from j and p, with its text if KEPT; 0: not source
 * code in a known language; negative: out of memory. g may be NULL if nothing of the repository is
 * read. */
int corpus_judge_file(corpus_record *out, const char **text, corpus_judge *j, hpc_git *g,
                      const corpus_harvest *h, const corpus_source *s, const corpus_plan *p,
                      int64_t entry);

/* ---- work.c: makes the chunks of claimed repositories ---------------------------------------- */
/* Claims and processes free repositories until none is left. corpus_work_complete reports the state
 * of all. */
int corpus_work_run(corpus_harvest *h);
/* *out: are all repositories complete or failed? Verifies existing chunks and lists them in
 * *chunks. */
int corpus_work_complete(bool *out, hpc_buf *chunks, const corpus_harvest *h);

/* ---- merge.c --------------------------------------------------------------------------- */
typedef struct corpus_item { /* one record of all chunks, in order of id: item = id - 1 */
    int32_t original;        /* an item, or -1 */
    int32_t component;       /* smallest item of its group */
    uint32_t source;         /* index of the repository */
    uint32_t stored_bytes;
    uint8_t reason, head, split;
} corpus_item;
/* Finds duplicates over all chunks, assigns splits, and writes corpus.db. */
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
    int64_t bytes[HPC_SPLIT_N]; /* kept bytes, before straddling items are removed */
} corpus_split_result;
/* Assigns each repository's split and cluster (index of its first repository) and each item's
 * split. Excludes items that are similar to an item of a split with precedence. */
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
int corpus_store_commit(corpus_store *s); /* atomic */
void corpus_store_free(corpus_store *s);

/* ---- corpus.c ------------------------------------------------------------------------------ */
/* Counts an existing corpus, for the result. */
int corpus_count(hpc_harvest_result *out, const char *folder);
/* Appends a chunk to the list from which a corpus is made: by repository, then by number. */
int corpus_list_chunk(hpc_buf *out, const char *repository, int64_t chunk, hpc_hash128 hash);
/* Reads all of corpus.db; HPC_E_FORMAT: damaged. *same: it was made from these chunks; *failed:
 * repositories that failed then. */
int corpus_verify(bool *same, int64_t *failed, const char *folder, const hpc_buf *chunks);

#endif
