/*
 * corpus.h: builds a corpus from git repositories, checks it, and derives training samples.
 *
 * A corpus is a folder: harvest.json (settings), corpus.db (SQLite: source, licence, hashes, split
 * and reason for exclusion of every file) and content/ (compressed texts). The same repositories
 * and options give the same bytes, independent of threads, processes and earlier interruptions.
 * All parts are untrusted when read.
 */
#ifndef HPC_CORPUS_H
#define HPC_CORPUS_H

#include "runtime/git/git.h"
#include "runtime/source/source.h"
#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reason to exclude a file, in the order of the checks. A row has the first that applies. */
typedef enum hpc_reason {
    HPC_REASON_KEPT,
    HPC_REASON_HELD_OUT_REPOSITORY,
    HPC_REASON_HELD_OUT_PATH,
    HPC_REASON_VENDORED,
    HPC_REASON_TOO_LARGE,
    HPC_REASON_ABSENT,  /* the object is not in the repository */
    HPC_REASON_CORRUPT, /* the object cannot be read */
    HPC_REASON_NOT_UTF8,
    HPC_REASON_TOO_SHORT,
    HPC_REASON_GENERATED,
    HPC_REASON_MINIFIED, /* also tables of numbers */
    HPC_REASON_LICENCE,
    HPC_REASON_HELD_OUT_HASH,
    HPC_REASON_HELD_OUT_SHINGLES,
    HPC_REASON_DUPLICATE,      /* same content as an earlier file, `original` */
    HPC_REASON_NEAR_DUPLICATE, /* similar to an earlier file; still a source of loops and history */
    HPC_REASON_STRADDLES,      /* similar to files of a split with precedence */
    HPC_REASON_N
} hpc_reason;
const char *hpc_reason_name(hpc_reason r); /* "kept", "held-out-repository", ... */
typedef enum hpc_split {
    HPC_SPLIT_TRAIN,
    HPC_SPLIT_VALIDATION,
    HPC_SPLIT_TEST,
    HPC_SPLIT_N
} hpc_split;
const char *hpc_split_name(hpc_split s); /* "train", "validation", "test" */

/* ---- harvest --------------------------------------------------------------------- */
typedef struct hpc_repository { /* one line of the work list */
    const char *path;           /* local path of the repository */
    const char *name;           /* "owner/name"; NULL: from its origin, else from the folder name */
} hpc_repository;
typedef struct hpc_harvest_options {
    const hpc_repository *repository;
    int64_t repositories_n;
    const char *folder; /* the corpus; created if missing */
    bool history, resume;
    const char *licences; /* "permissive", "all", or SPDX names separated by commas */
    const char *held_out; /* a sketch; NULL: no check, which the corpus records */
    int threads;
    double validation, test; /* fractions of the kept bytes */
    int64_t seed;
    int64_t file_bytes;     /* size limit of a file */
    hpc_progress *progress; /* NULL: none */
    /* One line about a skipped item, on the calling thread. NULL: no reports. */
    void (*warn)(const char *line, void *user);
    const int *stop; /* nonzero: finish the files in progress and return; may be NULL */
    void *user;
} hpc_harvest_options;
#define HPC_HARVEST_DEFAULTS                                                                       \
    {                                                                                              \
        .licences = "permissive", .threads = 1, .validation = 0.05, .test = 0.05,                  \
        .file_bytes = 1000000                                                                      \
    }
typedef struct hpc_harvest_result {
    bool complete; /* false: stopped, or other processes still work on repositories */
    bool stopped;
    /* failed: HEAD could not be listed, or the repository disappeared. */
    int64_t repositories_n, failed_n;
    int64_t read_n, read_bytes; /* files read by this call */
    /* Facts of a complete corpus. */
    int64_t files_n, bytes, kept_n, kept_bytes, kept_tokens; /* kept_bytes: as stored */
    int64_t reason_n[HPC_REASON_N], reason_bytes[HPC_REASON_N];
    int64_t split_n[HPC_SPLIT_N], split_bytes[HPC_SPLIT_N]; /* kept */
    int64_t clusters_n; /* groups of repositories with kept files; each is in one split */
} hpc_harvest_result;
/* Harvests into a corpus. Several processes may harvest into one folder with the same options: each
 * claims free repositories, and one of those that find all complete writes corpus.db.
 *
 * A repository that fails is reported by a warning and tried again on resume. Unreadable commits,
 * folders and files do not fail a repository: it is permanently harvested without them. A warning
 * gives their number whenever the plan is made or loaded; corpus.db stores it as `missing`. Commits
 * outside a shallow clone are not counted. */
int hpc_corpus_harvest(hpc_harvest_result *out, const hpc_harvest_options *options);

/* ---- reading ---------------------------------------------------------------------- */
typedef struct hpc_corpus hpc_corpus; /* for one thread; open one per thread */
typedef struct hpc_corpus_file {
    int64_t id; /* from 1, ordered by repository name, path, git id */
    const char *repository, *path, *licence, *detail; /* borrowed until the next row */
    hpc_git_id git_id;
    int64_t bytes, stored_bytes, lines, tokens; /* original; stored, secrets masked; lexer's */
    hpc_language language;
    bool fixed, head;  /* fixed-form Fortran; in HEAD */
    uint32_t parallel; /* HPC_PARALLEL_ bits */
    hpc_reason reason;
    hpc_split split;
    int64_t original;    /* id of the file that this one duplicates, or 0 */
    int64_t component;   /* id of the first file of its group of near-duplicates */
    int64_t masked;      /* number of masked secrets */
    int64_t chunk, slot; /* position of its text; -1: not stored */
} hpc_corpus_file;
int hpc_corpus_open(hpc_corpus **out, const char *folder);
void hpc_corpus_close(hpc_corpus *c);
hpc_hash128 hpc_corpus_hash(const hpc_corpus *c); /* of corpus.db */
bool hpc_corpus_used_sketch(const hpc_corpus *c, hpc_hash128 *sketch);
typedef struct hpc_corpus_filter {
    unsigned reasons;   /* bits 1 << hpc_reason; 0: kept only */
    unsigned splits;    /* bits 1 << hpc_split; 0: all */
    unsigned languages; /* bits 1 << hpc_language; 0: all */
    int64_t after;      /* only larger ids */
} hpc_corpus_filter;
/* Starts a query (filter NULL: kept files); hpc_corpus_next gives rows in order of id: 1: a row; 0:
 * end. */
int hpc_corpus_select(hpc_corpus *c, const hpc_corpus_filter *filter);
int hpc_corpus_next(hpc_corpus_file *out, hpc_corpus *c);
/* Reads a file's text, verified by checksum; replaces out. Reading in order of id is fast. */
int hpc_corpus_read(hpc_buf *out, hpc_corpus *c, const hpc_corpus_file *file);

/* ---- held-out content --------------------------------------------------------------- */
typedef struct hpc_sketch hpc_sketch; /* read-only: any number of threads */
typedef struct hpc_sketch_options {
    const char *list;                 /* file with names and path patterns */
    const hpc_repository *repository; /* local copies of the repositories that it names */
    int64_t repositories_n;
    bool history;
    int threads;
    void (*warn)(const char *line, void *user); /* e.g. names without a local copy */
    void *user;
} hpc_sketch_options;
int hpc_sketch_make(const char *path, const hpc_sketch_options *options); /* deterministic */
int hpc_sketch_open(hpc_sketch **out, const char *path);
void hpc_sketch_close(hpc_sketch *s);
hpc_hash128 hpc_sketch_hash(const hpc_sketch *s);
typedef struct hpc_sketch_facts {
    int64_t names_n, patterns_n;
    int64_t files_n, foreign_n,
        unread_n; /* distinct texts; excluded third-party files; unreadable files */
    int64_t streams_n, shingles_n, bytes;
    bool history;
} hpc_sketch_facts;
void hpc_sketch_describe(hpc_sketch_facts *out, const hpc_sketch *s);

typedef struct hpc_finding {
    hpc_reason reason;  /* one of HELD_OUT_ */
    const char *where;  /* "repository:path" or a file */
    double share;       /* fraction of its 50-token shingles */
    const char *detail; /* the pattern, the name, ... */
} hpc_finding;
typedef struct hpc_check_options {
    double share; /* report a file above this fraction */
    int threads;
    hpc_progress *progress;
    int (*found)(const hpc_finding *finding, void *user);
    void *user;
} hpc_check_options;
#define HPC_CHECK_DEFAULTS                                                                         \
    {                                                                                              \
        .share = 0.05, .threads = 1                                                                \
    }
typedef struct hpc_check_result {
    int64_t files_n, findings_n;
    double worst_share; /* largest fraction among files that passed */
    char worst[256];    /* that file */
} hpc_check_result;
/* Check the training files of a corpus (kept files and near-duplicates), or one text. Both add
 * their counts to *out. */
int hpc_corpus_check(hpc_check_result *out, const char *folder, const hpc_sketch *sketch,
                     const hpc_check_options *options);
int hpc_corpus_check_text(hpc_check_result *out, const char *where, const char *text, size_t n,
                          const hpc_sketch *sketch, const hpc_check_options *options);

/* ---- loops --------------------------------------------------------------------------- */
typedef struct hpc_loops_options {
    const char *folder; /* the corpus */
    const char *out;    /* output folder for loops.db and loops.jsonl */
    int threads;
    hpc_progress *progress;
} hpc_loops_options;
typedef struct hpc_loops_result {
    int64_t files_n, loops_n, distinct_n; /* distinct: by hpc_loop_hash */
    int64_t annotated_n, presumed_n; /* of the distinct loops: with an OpenMP directive; without
                                        one, in a file that uses OpenMP (presumed negative) */
    int64_t parallel_for_n;          /* with `parallel for` / `parallel do` */
    int64_t distinct_pairs_n;        /* distinct pairs of loop and directive */
    int64_t acc_n;                   /* with an OpenACC directive */
} hpc_loops_result;
int hpc_corpus_loops(hpc_loops_result *out, const hpc_loops_options *options);
/* Appends the loops of one text as JSON lines. */
int hpc_corpus_loops_text(hpc_buf *out, hpc_loops_result *counts, const char *path,
                          const char *text, size_t n);

/* ---- passages (runtime/source/passage.h) --------------------------------------------- */
/* Writes a passage index of the training files. `progress` counts each file twice. */
int hpc_corpus_passages(int64_t *files_n, const char *out, const char *folder,
                        hpc_progress *progress);

/* ---- packing ------------------------------------------------------------------------- */
typedef struct hpc_pack_options {
    const char *corpus, *out, *tokenizer;
    const char *task;       /* "code", "pragma", "perf" */
    const char *loops;      /* pragma: folder of loops.db; NULL: the corpus folder */
    const char *perf;       /* perf: the performance history */
    const char *repository; /* perf: its repository */
    const char *held_out;   /* perf: a sketch; NULL: no check, which the data set records */
    hpc_split split;
    double fim_rate, suffix_first; /* fraction of documents with FIM; of those, suffix first */
    int64_t window;   /* "code": size of documents in bytes, cut at lines; 0: whole files */
    double from, to;  /* "code": only files whose random draw lies in [from, to) of [0, 1) */
    double negatives; /* pragma: presumed negatives per annotated loop */
    int64_t seed, shard_tokens;
    int threads;
    bool resume;
    hpc_progress *progress;
    const int *stop;
    /* One line about a damaged shard that is rebuilt. NULL: no reports. */
    void (*warn)(const char *line, void *user);
    void *user;
} hpc_pack_options;
#define HPC_PACK_DEFAULTS                                                                          \
    {                                                                                              \
        .task = "code", .fim_rate = 0.5, .suffix_first = 0.5, .to = 1, .negatives = 1,             \
        .threads = 1                                                                               \
    }
typedef struct hpc_pack_result {
    bool complete;
    int64_t documents_n, tokens_n, bytes, shards_n, fim_n;
    /* perf: commits of the split that have parents; of these, commits that changed too much or are
     * unreadable, and commits with held-out content, by reason. */
    int64_t pairs_n, broad_n, held_out_n[HPC_REASON_N];
} hpc_pack_result;
int hpc_corpus_pack(hpc_pack_result *out, const hpc_pack_options *options);
/* The split of pair k of n pairs of commits in order of time: the last 10 % are for validation and
 * tests, so that a model never learns from the future of what it predicts. */
hpc_split hpc_corpus_pair_split(int64_t k, int64_t n);

/* ---- counts --------------------------------------------------------------------------- */
typedef enum hpc_stats_key {
    HPC_STATS_LANGUAGE,
    HPC_STATS_PARALLEL, /* a file counts once per model that it uses; else "none" */
    HPC_STATS_LICENCE,
    HPC_STATS_REPOSITORY,
    HPC_STATS_REASON,
    HPC_STATS_SPLIT,
    HPC_STATS_N
} hpc_stats_key;
const char *hpc_stats_key_name(hpc_stats_key k); /* "language", ... */
typedef struct hpc_stats_row {
    const char *name;
    int64_t files, bytes, lines, tokens;
} hpc_stats_row;
typedef struct hpc_stats {
    hpc_stats_row total, kept;
    hpc_stats_row *row[HPC_STATS_N]; /* by bytes, largest first; only REASON includes files that are
                                        not kept */
    int64_t rows_n[HPC_STATS_N];
    hpc_arena *arena; /* owns everything above */
} hpc_stats;
int hpc_corpus_stats(hpc_stats *out, const char *folder);
void hpc_stats_release(hpc_stats *s);

#ifdef __cplusplus
}
#endif
#endif
