/*
 * history.h: measuring commits of a repository: each is written to a folder of its own, built and
 * run by the user's commands, and what the runs cost goes to a performance history
 * (corpus/history/database.h).
 *
 * The repository is only read. Commands are the user's own and run as the user, under limits of
 * time and memory, and all that they leave running is ended. Whatever was measured is in the
 * database at once, so that a run that is killed goes on where it was.
 */
#ifndef HPC_HISTORY_H
#define HPC_HISTORY_H

#include "corpus/history/database.h"
#include "runtime/git/git.h"

/* ---- metrics: each a cost, less of it is better ------------------------------------------------
 */
typedef enum history_kind {
    HISTORY_TIME,         /* "time": seconds of wall clock */
    HISTORY_USER,         /* "user": seconds of processors, in user mode */
    HISTORY_MEMORY,       /* "memory": bytes of the largest process */
    HISTORY_HARDWARE,     /* "instructions-hardware": instructions in user mode, by the processor */
    HISTORY_INSTRUCTIONS, /* "instructions-valgrind", counted by that: the same each time */
    HISTORY_COST,         /* "cost": instructions + 10 * misses of a first-level cache + 100 * of
                           * the last level, of caches that are simulated, the same everywhere */
    HISTORY_PARSED        /* a number that is printed */
} history_kind;
enum { HISTORY_METRICS = 16 };
typedef struct history_metric {
    history_kind kind;
    char name[64]; /* of what is printed: as the user calls it; "1/NAME" if more is better */
    char *pattern; /* whose first group is the number: POSIX extended, and \d */
    bool rate;     /* more is better: its inverse is the cost */
} history_metric;
/* "time", "user", ..., or "instructions" for those of the processor where these can be had, else
 * valgrind's, or NAME=PATTERN, or NAME/s=PATTERN for what is better if it is more. */
int history_metric_parse(history_metric *out, const char *text);
void history_metric_release(history_metric *m);
/* The cost in what was printed: HPC_E_FORMAT when nothing matches, or no number above 0 does. */
int history_parse(double *out, const history_metric *m, const hpc_buf *printed);
/* Of a file that cachegrind wrote: adds what it counted. false: it is none. */
typedef struct history_counts {
    double instructions, first, last; /* misses: of the first level, of the last */
} history_counts;
bool history_counts_add(history_counts *c, const char *text);

/* ---- one command -------------------------------------------------------------------------------
 */
typedef struct history_limits {
    double build_seconds, run_seconds;
    int64_t memory_bytes; /* of address space, of each process; 0: none */
    int64_t log_bytes;    /* kept of what a build prints: the end */
} history_limits;

typedef struct history_options {
    const char *repository;
    const char *base, *head;  /* what git would call them; base NULL: from the beginning */
    bool all;                 /* what merges brought too, not first parents alone */
    const char *const *paths; /* only commits that change something under one of these; NULL: all */
    const hpc_git_id *only;   /* of the range these alone, in any order; NULL: all */
    int64_t only_n;
    const char *build; /* a command of the shell, run in the commit's folder; NULL: none */
    const char *run;
    const char *product; /* a file that the build makes, by whose content builds are told to be the
                          * same; NULL: none */
    const history_metric *metric;
    int metrics;
    int least, most;  /* runs for metrics that differ from run to run */
    double precision; /* they stop when the interval of the median is this narrow, as a share */
    int warm_up;      /* runs whose numbers do not count */
    int together;     /* commits that are measured by turns */
    uint64_t seed;    /* of their order */
    history_limits limits;
    const char *cpus;               /* "0-3,8": where commands may run; NULL: anywhere */
    const char *const *environment; /* "A=b", besides PATH, HOME and LANG=C; NULL-terminated */
    const char *machine;            /* a name for it; NULL: the model of its processor */
    const char *database;
    const char *work;    /* a folder for what is built; made when absent */
    int64_t cache_bytes; /* of builds that may stay there */
    bool again;          /* what failed before is tried again */
    const int *stop;     /* when not NULL and not 0: leave off; any thread may set it */
    void (*tell)(void *user, const char *line); /* what happens, a line each; NULL */
    void *user;
} history_options;
#define HISTORY_DEFAULTS                                                                           \
    {                                                                                              \
        .least = 5, .most = 20, .precision = 0.01, .warm_up = 1, .together = 4,                    \
        .limits = {.build_seconds = 1800, .run_seconds = 600, .log_bytes = 1 << 16},               \
        .cache_bytes = (int64_t)4 << 30                                                            \
    }

typedef struct history_result {
    int64_t commits;  /* of the range, and the one before it */
    int64_t there;    /* that had all before */
    int64_t measured; /* that have all now */
    int64_t same;     /* whose product is their parent's, so that they were not run */
    int64_t unbuilt;  /* whose build failed, now or before */
    int64_t unrun;    /* whose runs failed */
    int64_t samples;  /* added */
    double build_s, run_s;
    bool stopped;
} history_result;
/* HPC_E_ARG for what is asked wrongly (a name of no commit, an empty range), HPC_E_STATE while
 * another process works in the folder. Commits whose build or run fails are recorded, with the end
 * of what they printed, and the next one is measured. */
int history_collect(history_result *out, const history_options *o);
/* What a machine is called unless told: "AMD EPYC 9354, 2 CPUs". */
int history_machine(hpc_buf *out);
/* Of which way what is measured there is. */
perf_way history_way(const history_options *o, const char *machine);

#endif
