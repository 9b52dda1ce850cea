/*
 * database.h: performance histories: one SQLite database with the measured samples of commits, and
 * the labels of pairs of commits.
 */
#ifndef HPC_HISTORY_DATABASE_H
#define HPC_HISTORY_DATABASE_H

#include "corpus/history/label.h"
#include "runtime/git/git.h"
#include "corpus/history/hot_line.h"

enum { PERF_DB_VERSION = 4, PERF_DB_APPLICATION = 0x48504350 /* "HPCP" */ };
enum { HPC_HISTORY_ID = 41 }; /* bytes of a commit's id as text */
enum { PERF_PRODUCT = 33 };   /* bytes of a product hash, hexadecimal; "": none */

/* ---- database.c: one SQLite database ----------------------------------------------------------
 * Tables and their columns.
 *   commits: id, parent, time (of the committer, seconds since 1970).
 *   series: id, command, metric, machine, build (the build command).
 *   sample: series, commit_id, run, value, session, at (milliseconds since 1970).
 *   session: id, at, facts (JSON about the machine and the options).
 *   attempt: commit_id, stage, command, machine, build (of a run), outcome, seconds, product, log,
 *            session, at. Only the last attempt of each stage is kept.
 *   profile: commit_id, build, command, lines (an array of hpc_hot_line, the line profile).
 * Every metric is a cost: less is better. */
typedef struct hpc_history_db hpc_history_db; /* used by one thread */
int hpc_history_db_create(hpc_history_db **out,
                          const char *path); /* for writing; created if missing */
int hpc_history_db_open(hpc_history_db **out, const char *path); /* for reading; untrusted */
void hpc_history_db_close(
    hpc_history_db *d); /* drops additions since the last hpc_history_db_commit */

/* ---- database_add.c: additions ---- */
int hpc_history_db_add_commit(hpc_history_db *d, const char *id, const char *parent, int64_t time);
/* Adds a commit without its parent, unless it exists. */
int hpc_history_db_add_base(hpc_history_db *d, const char *id, int64_t time);
/* Starts a session for all later additions. */
int hpc_history_db_add_session(hpc_history_db *d, const char *facts);
typedef struct perf_way { /* how a series was measured; one series per metric */
    const char *build;    /* the command; "": none, or not recorded (version 1) */
    const char *command;  /* the measured command */
    const char *machine;
} perf_way;
/* Adds the next run of a commit that was added. value: finite, above 0. */
int hpc_history_db_add(hpc_history_db *d, const perf_way *way, const char *metric,
                       const char *commit, double value);
/* Counts the runs of a commit in a series. */
int hpc_history_db_count(int64_t *n, hpc_history_db *d, const perf_way *way, const char *metric,
                         const char *commit);
/* The result of exporting, building or running a commit that was added. */
typedef struct perf_attempt {
    const char *stage;   /* "export", "build", "run" */
    const char *command; /* of that stage */
    const char *machine;
    const char *build;   /* of a run: the build command; NULL: "" */
    const char *outcome; /* "done", "failed", "timed out", ... */
    double seconds;
    char product[PERF_PRODUCT];
    const char *log; /* the end of the output */
} perf_attempt;
/* Replaces the attempt with the same stage, command, machine and build. */
int hpc_history_db_add_attempt(hpc_history_db *d, const char *commit, const perf_attempt *a);
/* 1: found; sets outcome and product of *a, which names stage, command, machine and build. 0: none.
 * The outcome is borrowed until the next call. */
int hpc_history_db_find_attempt(perf_attempt *a, hpc_history_db *d, const char *commit);
/* Replaces the profile of the commit. hot is sorted by key. */
int hpc_history_db_add_profile(hpc_history_db *d, const perf_way *way, const char *commit,
                               const hpc_hot_line *hot, int64_t n);
int hpc_history_db_commit(hpc_history_db *d);

/* ---- pairs.c: commits and their predecessors -----------------------------------------------
 * One series: its noise comes from the repeats of all its commits. Each measured commit is compared
 * with its nearest measured ancestor, which skips commits that do not build, by the rule of label.h
 * with the threshold of the metric. A commit with its parent's product counts as measured with the
 * parent's samples. A commit with the product of its base is the same, with a change of 0, even if
 * nothing was run (line.h).
 *
 * All series of a pair: slower or faster if some series are and none is the opposite; same if some
 * are decided and all of these are; else undecided, and the pair is omitted. The change is the
 * largest one among the series with the label of the pair. */
typedef struct hpc_history_pair {
    char base[HPC_HISTORY_ID], head[HPC_HISTORY_ID];
    int64_t time;
    hpc_history_label label;
    double change;
} hpc_history_pair;
typedef struct hpc_history_pairs {
    hpc_history_pair *item; /* by time, then by id */
    int64_t n, cap;
    int64_t undecided_n;
    int64_t series_n; /* series with pairs */
} hpc_history_pairs;
typedef struct hpc_history_pairs_rule {
    const char *const *metric; /* only series with these metrics */
    int64_t metrics;           /* 0: all */
    double threshold;          /* 0: by metric */
} hpc_history_pairs_rule;
/* rule NULL: all series, with thresholds by metric. */
int hpc_history_pairs_load(hpc_history_pairs *out, hpc_history_db *d,
                           const hpc_history_pairs_rule *rule);
void hpc_history_pairs_release(hpc_history_pairs *p);

/* ---- database_facts.c ---- */
/* Smallest change that is slower or faster: 1 % for counted metrics, else 5 %. */
double perf_metric_threshold(const char *metric);
int hpc_history_db_metric(hpc_buf *out, hpc_history_db *d, int64_t series); /* "": no such series */
int hpc_history_db_metrics(hpc_buf *names, int64_t *n,
                           hpc_history_db *d); /* NUL-separated, sorted */
/* Path and name of the repository; "": not recorded. */
int hpc_history_db_repository(hpc_buf *path, hpc_buf *name, hpc_history_db *d);
/* HPC_E_ARG, with the path of the history: g, which is not shallow, has none of the measured
 * commits, so that the history belongs to another repository. */
int hpc_history_db_expect(hpc_history_db *d, hpc_git *g);

/* ---- database_profile.c: line profiles of commits ---- */
typedef struct hpc_history_profiles hpc_history_profiles;
/* Borrows d until the close. */
int hpc_history_profiles_open(hpc_history_profiles **out, hpc_history_db *d);
void hpc_history_profiles_close(hpc_history_profiles *p);
int64_t hpc_history_profiles_n(const hpc_history_profiles *p); /* commits with a profile */
/* The profile of the commit; else of its nearest ancestor with one; else of the last commit before
 * `time`; else of the first commit. The mean of several commands. Borrowed until the next call.
 * NULL: the history has no profiles. */
int hpc_history_profiles_find(const hpc_hot_line **hot, int64_t *n, hpc_history_profiles *p,
                              const char *id, int64_t time);

/* Iterators for line.c, pairs.c and curve.c: 1: a row; 0: the end. Rows are borrowed until the next
 * call. */
int perf_next_commit(const char **id, const char **parent, int64_t *time, hpc_history_db *d);
typedef struct perf_series {
    int64_t id;
    perf_way way;
    const char *metric;
} perf_series;
int perf_next_series(perf_series *out, hpc_history_db *d); /* by id */
/* Attempts that failed, without product; sorted by commit. */
int perf_next_failure(const char **commit, perf_attempt *a, hpc_history_db *d);
/* The end of a log on one line: the outcome and the last output before it; output of valgrind only
 * if there is no other. */
enum { PERF_WORDS = 328 };
void perf_last_words(char out[PERF_WORDS], const char *log);
/* Products of commits; how: a hash of command and machine; sorted by commit. */
int perf_next_product(const char **commit, uint64_t *how, const char **product, hpc_history_db *d);
/* Sorted by series, then commit. */
int perf_next_sample(int64_t *series, const char **commit, double *value, hpc_history_db *d);

#endif
