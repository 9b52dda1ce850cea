/*
 * database.h: performance histories: what was measured of which commit, and which changes made a
 * program slower or faster.
 */
#ifndef HPC_HISTORY_DATABASE_H
#define HPC_HISTORY_DATABASE_H

#include "corpus/history/label.h"
#include "runtime/git/git.h"
#include "corpus/history/hot_line.h"

enum { PERF_DB_VERSION = 4, PERF_DB_APPLICATION = 0x48504350 /* "HPCP" */ };
enum { PERF_ID = 41 };      /* a commit's id as text, with its NUL */
enum { PERF_PRODUCT = 33 }; /* a hash of what was built, in hexadecimal digits; "" for none */

/* ---- database.c: one SQLite database
 * -------------------------------------------------------------- Table commits (id, parent, time:
 * seconds since 1970 of the committer), table series (id, command, metric, machine, build: the
 * command that built it), table sample (series, commit_id, run, value, session, at: milliseconds
 * since 1970), table session (id, at, facts: JSON about the machine and what was asked), table
 * attempt (commit_id, stage, command, machine, build: of a run, outcome, seconds, product, log,
 * session, at): the last try of a stage, table profile (commit_id, build, command, lines: keys and
 * shares of lines as hpc_hot_line lies in memory): where the cost was when it was counted. Every
 * metric is a cost: less of it is better. */
typedef struct perf_db perf_db;                      /* belongs to one thread */
int perf_db_create(perf_db **out, const char *path); /* for writing; made when absent */
int perf_db_open(perf_db **out, const char *path);   /* for reading; untrusted */
void perf_db_close(perf_db *d);                      /* what was added and not committed is gone */

/* ---- database_add.c: what is written to it ---- */
int perf_db_add_commit(perf_db *d, const char *id, const char *parent, int64_t time);
/* One whose parent nobody asked for, unless it is there. */
int perf_db_add_base(perf_db *d, const char *id, int64_t time);
/* What is added from now on is of this session. */
int perf_db_add_session(perf_db *d, const char *facts);
typedef struct perf_way { /* how what is measured came about: of each there are series by metric */
    const char *build;    /* the command; "": there was none, or nobody recorded it (version 1) */
    const char *command;  /* that is run */
    const char *machine;
} perf_way;
/* A commit that was added; the next run of its series. value: finite, above 0. */
int perf_db_add(perf_db *d, const perf_way *way, const char *metric, const char *commit,
                double value);
/* Runs of a commit that a series has. */
int perf_db_count(int64_t *n, perf_db *d, const perf_way *way, const char *metric,
                  const char *commit);
/* Exporting, building, running: of a commit that was added. */
typedef struct perf_attempt {
    const char *stage;   /* "export", "build", "run" */
    const char *command; /* of that stage */
    const char *machine;
    const char *build;   /* of a run: by what it was built; else, and for NULL, "" */
    const char *outcome; /* "done", "failed", "timed out", ... */
    double seconds;
    char product[PERF_PRODUCT];
    const char *log; /* the end of what was printed */
} perf_attempt;
/* In the place of the one before of the same stage, command, machine and build. */
int perf_db_add_attempt(perf_db *d, const char *commit, const perf_attempt *a);
/* 1: there was such an attempt: its outcome and product are put in. 0: there was none. The outcome
 * is borrowed until the next call. */
int perf_db_find_attempt(perf_attempt *a, perf_db *d, const char *commit);
/* In the place of the one before. In order of keys. */
int perf_db_add_profile(perf_db *d, const perf_way *way, const char *commit,
                        const hpc_hot_line *hot, int64_t n);
int perf_db_commit(perf_db *d);

/* ---- pairs.c: a commit and what was measured before it -------------------------------------
 * One series: its noise by the repeats of all its commits, and a label for each commit that was
 * measured, against the nearest before it by parents that was (one that did not build lies
 * between), by label.h's rule with the threshold of its metric. What was built to its parent's
 * product counts as measured with the parent's samples; and a commit that was built to the product
 * of the one it is held against is the same as that, by 0, though nothing was run (line.h).
 * All series of a pair: slower, or faster, if some series are and none is the opposite; same if
 * some are decided and all of these are; else undecided, and the pair is left out. The pair's
 * change is that of the series with the largest among those that agree with the label. */
typedef struct perf_pair {
    char base[PERF_ID], head[PERF_ID];
    int64_t time;
    perf_label label;
    double change;
} perf_pair;
typedef struct perf_pairs {
    perf_pair *item; /* by time, then by id */
    int64_t n, cap;
    int64_t undecided_n;
    int64_t series_n; /* that the pairs are of */
} perf_pairs;
typedef struct perf_pairs_rule {
    const char *const *metric; /* only series of these */
    int64_t metrics;           /* 0: of all */
    double threshold;          /* 0: that of the metric */
} perf_pairs_rule;
/* rule NULL: all, by their metrics' thresholds. */
int perf_pairs_load(perf_pairs *out, perf_db *d, const perf_pairs_rule *rule);
void perf_pairs_release(perf_pairs *p);

/* ---- database_facts.c
 * ----------------------------------------------------------------------------- From which change
 * on a metric is slower or faster: 1 % if it is counted, else 5 %. */
double perf_metric_threshold(const char *metric);
int perf_db_metric(hpc_buf *out, perf_db *d, int64_t series); /* "" if there is no such series */
int perf_db_metrics(hpc_buf *names, int64_t *n, perf_db *d);  /* NUL-separated, in order */
/* Where the repository was, and its name; "" for what nobody recorded. */
int perf_db_repository(hpc_buf *path, hpc_buf *name, perf_db *d);
/* HPC_E_ARG: something was measured, and none of its commits is in g, of which the whole history is
 * there: it is of another repository. It says so, with the history's path. */
int perf_db_expect(perf_db *d, hpc_git *g);

/* ---- database_profile.c: in which lines the cost of a commit is
 * -------------------------------------
 */
typedef struct perf_profiles perf_profiles;
/* d is borrowed for as long as it lives. */
int perf_profiles_open(perf_profiles **out, perf_db *d);
void perf_profiles_close(perf_profiles *p);
int64_t perf_profiles_n(const perf_profiles *p); /* commits that have one */
/* Of the commit, or the nearest before it by parents that has one, else of the last one before
 * `time`, else of the first; the mean where several commands were run. Borrowed until the next
 * call; NULL: there is none at all. */
int perf_profiles_find(const hpc_hot_line **hot, int64_t *n, perf_profiles *p, const char *id,
                       int64_t time);

/* For those who read (line.c, pairs.c, curve.c): rows one after the other, 1 or 0 at
 * the end. Borrowed until the next. */
int perf_next_commit(const char **id, const char **parent, int64_t *time, perf_db *d);
typedef struct perf_series {
    int64_t id;
    perf_way way;
    const char *metric;
} perf_series;
int perf_next_series(perf_series *out, perf_db *d); /* by id */
/* What did not end as it should, without its product; by commit. */
int perf_next_failure(const char **commit, perf_attempt *a, perf_db *d);
/* The end of a log in a line: how it ended, and the last that was printed before (by valgrind only
 * if nothing else was). */
enum { PERF_WORDS = 328 };
void perf_last_words(char out[PERF_WORDS], const char *log);
/* What was built of a commit, by whom (a hash of command and machine); by commit. */
int perf_next_product(const char **commit, uint64_t *how, const char **product, perf_db *d);
/* By series, then commit. */
int perf_next_sample(int64_t *series, const char **commit, double *value, perf_db *d);

#endif
