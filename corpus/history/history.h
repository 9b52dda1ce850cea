/*
 * history.h: measures commits of a repository: exports each into its own folder, builds and runs it
 * by the user's commands, and adds the cost of the runs to a performance history (database.h).
 *
 * The repository is only read. Commands run under the account of the user, with limits on time and
 * memory; processes that they leave running are terminated. Every sample is written at once, so
 * that the same call continues after a kill.
 */
#ifndef HPC_HISTORY_H
#define HPC_HISTORY_H

#include "corpus/history/database.h"
#include "runtime/git/git.h"

/* ---- metrics: each is a cost, less is better ------------------------------------------------ */
typedef enum history_kind {
    HISTORY_TIME,         /* "time": seconds of wall clock */
    HISTORY_USER,         /* "user": seconds of CPU time in user mode */
    HISTORY_MEMORY,       /* "memory": peak bytes of the largest process */
    HISTORY_HARDWARE,     /* "instructions-hardware": in user mode, counted by the processor */
    HISTORY_INSTRUCTIONS, /* "instructions-valgrind": deterministic */
    HISTORY_COST,         /* "cost": instructions + 10 * misses of a first-level cache + 100 * of
                           * the last level, in simulated caches, equal on all machines */
    HISTORY_PARSED        /* a number in the output */
} history_kind;
enum { HPC_HISTORY_METRICS = 16 };
typedef struct hpc_history_metric {
    history_kind kind;
    char name[64]; /* of a printed number: the user's name; "1/NAME" for a rate */
    char *pattern; /* the first group is the number: POSIX extended, with \d */
    bool rate;     /* more is better: the cost is the inverse */
} hpc_history_metric;
/* Parses "time", "user", ..., "instructions" (hardware counters if accessible, else valgrind),
 * NAME=PATTERN, or NAME/s=PATTERN for a rate. */
int hpc_history_metric_parse(hpc_history_metric *out, const char *text);
void hpc_history_metric_release(hpc_history_metric *m);
/* Finds the cost in the output: HPC_E_FORMAT if the pattern matches no number above 0. */
int history_parse(double *out, const hpc_history_metric *m, const hpc_buf *printed);
/* Adds the counts of a file that cachegrind wrote. false: it is not such a file. */
typedef struct history_counts {
    double instructions, first, last; /* misses: of the first level, of the last */
} history_counts;
bool history_counts_add(history_counts *c, const char *text);

/* ---- one command ---------------------------------------------------------------------------- */
typedef struct history_limits {
    double build_seconds, run_seconds;
    int64_t memory_bytes; /* of address space per process; 0: no limit */
    int64_t log_bytes;    /* kept from the end of the output */
} history_limits;

typedef struct hpc_history_options {
    const char *repository;
    const char *base, *head;  /* revisions; base NULL: from the root */
    bool all;                 /* commits of merged branches, not only first parents */
    const char *const *paths; /* only commits that change one of these; NULL: all */
    const hpc_git_id *only;   /* only these commits of the range, in any order; NULL: all */
    int64_t only_n;
    const char *build; /* shell command, run in the folder of the commit; NULL: none */
    const char *run;
    const char *product; /* a file that the build produces: builds are equal if it is; NULL: none */
    const hpc_history_metric *metric;
    int metrics;
    int least, most;  /* runs for metrics with noise */
    double precision; /* runs stop at this half-width of the interval of the median, relative */
    int warm_up;      /* runs that are not measured */
    int together;     /* commits that are measured in alternation */
    uint64_t seed;    /* of the order of runs */
    history_limits limits;
    const char *cpus; /* "0-3,8": CPUs for commands; NULL: all */
    const char *const
        *environment;    /* "A=b", in addition to PATH, HOME and LANG=C; NULL-terminated */
    const char *machine; /* its name; NULL: the processor model */
    const char *database;
    const char *work;    /* folder for builds; created if missing */
    int64_t cache_bytes; /* limit for builds that are kept */
    bool again;          /* retry failed commits */
    const int *stop;     /* nonzero: stop; any thread may set it. May be NULL */
    void (*tell)(void *user, const char *line); /* notes, one line each; may be NULL */
    void *user;
} hpc_history_options;
#define HPC_HISTORY_DEFAULTS                                                                       \
    {                                                                                              \
        .least = 5, .most = 20, .precision = 0.01, .warm_up = 1, .together = 4,                    \
        .limits = {.build_seconds = 1800, .run_seconds = 600, .log_bytes = 1 << 16},               \
        .cache_bytes = (int64_t)4 << 30                                                            \
    }

typedef struct hpc_history_result {
    int64_t commits;  /* in the range, and the commit before it */
    int64_t there;    /* already complete before the call */
    int64_t measured; /* completed by the call */
    int64_t same;     /* not run: the product equals that of the parent */
    int64_t unbuilt;  /* the build failed, now or before */
    int64_t unrun;    /* the runs failed */
    int64_t samples;  /* added */
    double build_s, run_s;
    bool stopped;
} hpc_history_result;
/* HPC_E_ARG: bad options (an unknown revision, an empty range). HPC_E_STATE: another process uses
 * the folder. Failed builds and runs are recorded with the end of their output, and the next commit
 * is measured. */
int hpc_history_collect(hpc_history_result *out, const hpc_history_options *o);
/* The default name of this machine: "AMD EPYC 9354, 2 CPUs". */
int history_machine(hpc_buf *out);
/* The perf_way of the series to which a collection with these options adds samples. */
perf_way history_way(const hpc_history_options *o, const char *machine);

#endif
