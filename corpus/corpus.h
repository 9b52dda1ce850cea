/*
 * corpus.h: from git repositories to a corpus, and from a corpus to samples.
 *
 * A corpus is a folder: harvest.json (how it was made), corpus.db (SQLite: where every file came
 * from, its licence, hashes, split, and why it was dropped) and content/ (compressed texts). The
 * same repositories and options give the same bytes, whatever the number of threads and processes
 * and wherever an earlier attempt was killed. Its parts are untrusted when read.
 */
#ifndef HPC_CORPUS_H
#define HPC_CORPUS_H

#include "runtime/git/git.h"
#include "runtime/source/source.h"
#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a file is not used; the order is that of the checks. A row keeps its first reason. */
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
    HPC_REASON_NEAR_DUPLICATE, /* likewise, similar: still a source of loops and of history */
    HPC_REASON_STRADDLES,      /* close to files of another split, which takes precedence */
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
typedef struct hpc_repository { /* one line of the work */
    const char *path;           /* of the repository on this machine */
    const char *name; /* "owner/name"; NULL: from its origin, else from the folder's name */
} hpc_repository;
typedef struct hpc_harvest_options {
    const hpc_repository *repository;
    int64_t repositories_n;
    const char *folder; /* the corpus; made when absent */
    bool history, resume;
    const char *licences; /* "permissive", "all", or SPDX names separated by commas */
    const char *held_out; /* a sketch; NULL: none, which the corpus remembers */
    int threads;
    double validation, test; /* shares of the bytes kept */
    int64_t seed;
    int64_t file_bytes;     /* larger files are dropped */
    hpc_progress *progress; /* NULL: none */
    /* One line about something that was passed over; from the calling thread. NULL: dropped. */
    void (*warn)(const char *line, void *user);
    const int *stop; /* when not NULL and not 0: finish the files under way and return; the
                      * corpus can be resumed */
    void *user;
} hpc_harvest_options;
#define HPC_HARVEST_DEFAULTS                                                                       \
    {                                                                                              \
        .licences = "permissive", .threads = 1, .validation = 0.05, .test = 0.05,                  \
        .file_bytes = 1000000                                                                      \
    }
typedef struct hpc_harvest_result {
    bool complete; /* false: stopped, or other processes still work on some repositories */
    bool stopped;
    int64_t repositories_n, failed_n; /* failed: nothing of HEAD could be listed, or it went away */
    int64_t read_n, read_bytes;       /* files, in this call */
    /* Of the corpus, when it is complete. */
    int64_t files_n, bytes, kept_n, kept_bytes, kept_tokens; /* kept_bytes: as stored */
    int64_t reason_n[HPC_REASON_N], reason_bytes[HPC_REASON_N];
    int64_t split_n[HPC_SPLIT_N], split_bytes[HPC_SPLIT_N]; /* kept */
    int64_t clusters_n; /* groups of repositories with something kept: none is cut in two */
} hpc_harvest_result;
/* Several processes may run it on one folder with the same options: each takes repositories that
 * nobody has, and whoever finds the last one done writes corpus.db.
 *
 * A repository that failed is named by a warning, and resuming tries it again. One of which only
 * some commits and folders cannot be read has not failed: it is harvested without them for good,
 * as it is without files that cannot be read. Whenever its list is made or met again a warning says
 * how many they are; corpus.db keeps it as `missing` of the repository. What a shallow clone leaves
 * out is not missed. */
int hpc_corpus_harvest(hpc_harvest_result *out, const hpc_harvest_options *options);

/* ---- reading ---------------------------------------------------------------------- */
typedef struct hpc_corpus hpc_corpus; /* belongs to one thread; open it once for each */
typedef struct hpc_corpus_file {
    int64_t id; /* 1 and on: by repository name, then path, then git id */
    const char *repository, *path, *licence, *detail; /* borrowed until the next row */
    hpc_git_id git_id;
    int64_t bytes, stored_bytes, lines, tokens; /* as it was; as stored (secrets masked); lexer's */
    hpc_language language;
    bool fixed, head;  /* fixed-form Fortran; in HEAD */
    uint32_t parallel; /* HPC_PARALLEL_ bits */
    hpc_reason reason;
    hpc_split split;
    int64_t original;    /* id of the file that this one duplicates, or 0 */
    int64_t component;   /* id of the first file of its group of near-duplicates */
    int64_t masked;      /* secrets masked in it */
    int64_t chunk, slot; /* where its text is; -1: not stored */
} hpc_corpus_file;
int hpc_corpus_open(hpc_corpus **out, const char *folder);
void hpc_corpus_close(hpc_corpus *c);
hpc_hash128 hpc_corpus_hash(const hpc_corpus *c); /* of corpus.db */
bool hpc_corpus_used_sketch(const hpc_corpus *c, hpc_hash128 *sketch);
typedef struct hpc_corpus_filter {
    unsigned reasons;   /* bits 1 << hpc_reason; 0: kept only */
    unsigned splits;    /* bits 1 << hpc_split; 0: all */
    unsigned languages; /* bits 1 << hpc_language; 0: all */
    int64_t after;      /* only ids above it */
} hpc_corpus_filter;
/* Starts over; rows come in order of id. 1: a row; 0: the end. */
int hpc_corpus_select(hpc_corpus *c, const hpc_corpus_filter *filter);
int hpc_corpus_next(hpc_corpus_file *out, hpc_corpus *c);
/* Replaces out. Texts of neighbouring ids are cheap to read in order. Verified by checksum. */
int hpc_corpus_read(hpc_buf *out, hpc_corpus *c, const hpc_corpus_file *file);

/* ---- held-out content --------------------------------------------------------------- */
typedef struct hpc_sketch hpc_sketch; /* read-only: any number of threads */
typedef struct hpc_sketch_options {
    const char *list;                 /* the file of names and path patterns */
    const hpc_repository *repository; /* local copies of what it names */
    int64_t repositories_n;
    bool history;
    int threads;
    void (*warn)(const char *line, void *user); /* names on the list without a local copy, ... */
    void *user;
} hpc_sketch_options;
int hpc_sketch_make(const char *path, const hpc_sketch_options *options); /* deterministic */
int hpc_sketch_open(hpc_sketch **out, const char *path);
void hpc_sketch_close(hpc_sketch *s);
hpc_hash128 hpc_sketch_hash(const hpc_sketch *s);
typedef struct hpc_sketch_facts {
    int64_t names_n, patterns_n;
    int64_t files_n, foreign_n,
        unread_n; /* distinct texts; left out: other people's, not readable */
    int64_t streams_n, shingles_n, bytes;
    bool history;
} hpc_sketch_facts;
void hpc_sketch_describe(hpc_sketch_facts *out, const hpc_sketch *s);

typedef struct hpc_finding {
    hpc_reason reason;  /* one of HELD_OUT_ */
    const char *where;  /* "repository:path" or a file */
    double share;       /* of its 50-token shingles */
    const char *detail; /* the pattern, the name, ... */
} hpc_finding;
typedef struct hpc_check_options {
    double share; /* fail above this share of a file */
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
    double worst_share; /* among the files that passed */
    char worst[256];    /* which */
} hpc_check_result;
/* What a corpus would train on (kept files and near-duplicates), or single files. Both add to what
 * is in out. */
int hpc_corpus_check(hpc_check_result *out, const char *folder, const hpc_sketch *sketch,
                     const hpc_check_options *options);
int hpc_corpus_check_text(hpc_check_result *out, const char *where, const char *text, size_t n,
                          const hpc_sketch *sketch, const hpc_check_options *options);

/* ---- loops --------------------------------------------------------------------------- */
typedef struct hpc_loops_options {
    const char *folder; /* the corpus */
    const char *out;    /* folder for loops.db (a table) and loops.jsonl */
    int threads;
    hpc_progress *progress;
} hpc_loops_options;
typedef struct hpc_loops_result {
    int64_t files_n, loops_n, distinct_n; /* distinct: by hpc_loop_hash */
    int64_t annotated_n, presumed_n;      /* of the distinct: with an OpenMP directive; presumed
                                           * negative (none, in a file that uses OpenMP) */
    int64_t parallel_for_n;               /* with `parallel for` / `parallel do` */
    int64_t distinct_pairs_n;             /* distinct loops with directive, directive counted */
    int64_t acc_n;                        /* with an OpenACC directive */
} hpc_loops_result;
int hpc_corpus_loops(hpc_loops_result *out, const hpc_loops_options *options);
/* The loops of one text as JSON lines, appended. */
int hpc_corpus_loops_text(hpc_buf *out, hpc_loops_result *counts, const char *path,
                          const char *text, size_t n);

/* ---- passages (runtime/source/passage.h) --------------------------------------------- */
/* Of what is for training; `progress` counts files, each twice. */
int hpc_corpus_passages(int64_t *files_n, const char *out, const char *folder,
                        hpc_progress *progress);

/* ---- packing ------------------------------------------------------------------------- */
typedef struct hpc_pack_options {
    const char *corpus, *out, *tokenizer;
    const char *task;       /* "code", "pragma", "perf" */
    const char *loops;      /* pragma: folder of loops.db; NULL: the corpus itself */
    const char *perf;       /* perf: the performance history */
    const char *repository; /* perf: the repository that it is about */
    const char *held_out;   /* perf: a sketch; NULL: none, which the data set remembers */
    hpc_split split;
    double fim_rate, suffix_first; /* share of the documents; of those, share suffix first */
    int64_t window;   /* "code": documents of about so many bytes, cut at lines; 0: whole files */
    double from, to;  /* "code": only files whose draw lies in [from, to) of [0, 1) */
    double negatives; /* pragma: presumed negatives for each annotated loop */
    int64_t seed, shard_tokens;
    int threads;
    bool resume;
    hpc_progress *progress;
    const int *stop;
    /* One line about what is damaged and made again. NULL: dropped. */
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
    /* perf: commits of the split with their parents; of them, those that changed too much or cannot
     * be read, and those in which something is held out, by the HELD_OUT_ reasons. */
    int64_t pairs_n, broad_n, held_out_n[HPC_REASON_N];
} hpc_pack_result;
int hpc_corpus_pack(hpc_pack_result *out, const hpc_pack_options *options);
/* The split of pair k of n pairs of commits in order of time: the last 10 % are for validation and
 * tests, so that a model never learns from the future of what it predicts. */
hpc_split hpc_corpus_pair_split(int64_t k, int64_t n);

/* ---- counts --------------------------------------------------------------------------- */
typedef enum hpc_stats_key {
    HPC_STATS_LANGUAGE,
    HPC_STATS_PARALLEL, /* a file counts once for each model that it uses; "none" for none */
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
    hpc_stats_row *row[HPC_STATS_N]; /* by bytes, largest first; all but REASON of kept files */
    int64_t rows_n[HPC_STATS_N];
    hpc_arena *arena; /* owns everything above */
} hpc_stats;
int hpc_corpus_stats(hpc_stats *out, const char *folder);
void hpc_stats_release(hpc_stats *s);

#ifdef __cplusplus
}
#endif
#endif
