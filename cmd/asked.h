/*
 * asked.h: options that all commands that measure commits share.
 */
#ifndef HPC_CMD_ASKED_H
#define HPC_CMD_ASKED_H

#include "cmd/cmd.h"
#include "corpus/history/history.h"

typedef struct asked { /* parsed options; texts live in the arena */
    hpc_arena *arena;
    hpc_history_metric metric[HPC_HISTORY_METRICS];
    int metrics;
    const char **environment;
    const char *command; /* for messages: "perf collect" */
    bool quiet;
} asked;
typedef struct asked_measure { /* how to measure */
    const char *build, *run, *db, *work, *cpus, *machine;
    hpc_texts metric, env;
    int64_t repeat, most, warm_up, together, seed, memory_mib, cache_mib;
    double precision, build_seconds, run_seconds;
    bool again;
} asked_measure;
/* Sets all options of a collection but the repository and the range. Borrows the options. */
int asked_history(hpc_history_options *h, asked *a, const asked_measure *o);
void asked_say(void *user, const char *line); /* user: an asked; prints a note on stderr */
void asked_release(asked *a);                 /* does not free the arena */

/* Rows for an option table whose struct holds an asked_measure at `base`. */
#define ASKED_OPTIONS(base)                                                                        \
    {.name = "build",                                                                              \
     .kind = HPC_TEXT,                                                                             \
     .offset = (base) + offsetof(asked_measure, build),                                            \
     .argument = "CMD",                                                                            \
     .help = "Shell command that builds a commit, run in a folder with its files."},               \
        {.name = "run",                                                                            \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(asked_measure, run),                                          \
         .argument = "CMD",                                                                        \
         .help = "Shell command to measure, run in the same folder."},                             \
        {.name = "metric",                                                                         \
         .letter = 'm',                                                                            \
         .kind = HPC_TEXTS,                                                                        \
         .offset = (base) + offsetof(asked_measure, metric),                                       \
         .argument = "METRIC",                                                                     \
         .help = "Metric to measure: time (default), user, memory, "                               \
                 "instructions[-hardware|-valgrind], cost, NAME=PATTERN or NAME/s=PATTERN."},      \
        {.name = "repeat",                                                                         \
         .letter = 'n',                                                                            \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, repeat),                                       \
         .fallback = "5",                                                                          \
         .argument = "N",                                                                          \
         .least = 1,                                                                               \
         .most = 1000,                                                                             \
         .help = "Minimum number of runs per commit."},                                            \
        {.name = "repeat-most",                                                                    \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, most),                                         \
         .fallback = "20",                                                                         \
         .argument = "N",                                                                          \
         .least = 1,                                                                               \
         .most = 1000,                                                                             \
         .help = "Maximum number of runs per commit, if --precision is not reached before."},      \
        {.name = "precision",                                                                      \
         .kind = HPC_REAL,                                                                         \
         .offset = (base) + offsetof(asked_measure, precision),                                    \
         .fallback = "1",                                                                          \
         .argument = "PERCENT",                                                                    \
         .least = 0.001,                                                                           \
         .most = 100,                                                                              \
         .help = "Half-width of the 95 % confidence interval of the median at which runs stop."},  \
        {.name = "warm-up",                                                                        \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, warm_up),                                      \
         .fallback = "1",                                                                          \
         .argument = "N",                                                                          \
         .most = 100,                                                                              \
         .help = "Warm-up runs of each commit, not measured."},                                    \
        {.name = "interleave",                                                                     \
         .former = "together",                                                                     \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, together),                                     \
         .fallback = "4",                                                                          \
         .argument = "N",                                                                          \
         .least = 2,                                                                               \
         .most = 64,                                                                               \
         .help = "Number of neighbouring commits to measure in alternation."},                     \
        {.name = "seed",                                                                           \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, seed),                                         \
         .fallback = "0",                                                                          \
         .argument = "N",                                                                          \
         .help = "Seed for the order of runs."},                                                   \
        {.name = "build-seconds",                                                                  \
         .kind = HPC_REAL,                                                                         \
         .offset = (base) + offsetof(asked_measure, build_seconds),                                \
         .fallback = "1800",                                                                       \
         .argument = "S",                                                                          \
         .least = 0.1,                                                                             \
         .most = 1e6,                                                                              \
         .help = "Time limit of a build."},                                                        \
        {.name = "run-seconds",                                                                    \
         .kind = HPC_REAL,                                                                         \
         .offset = (base) + offsetof(asked_measure, run_seconds),                                  \
         .fallback = "600",                                                                        \
         .argument = "S",                                                                          \
         .least = 0.1,                                                                             \
         .most = 1e6,                                                                              \
         .help = "Time limit of a run, also under valgrind, which is 20 to 100 times slower."},    \
        {.name = "memory-mib",                                                                     \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, memory_mib),                                   \
         .fallback = "0",                                                                          \
         .argument = "N",                                                                          \
         .most = 1 << 30,                                                                          \
         .help = "Address-space limit for each process of a build or run; 0: no limit."},          \
        {.name = "cpus",                                                                           \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(asked_measure, cpus),                                         \
         .argument = "LIST",                                                                       \
         .help = "CPUs to run commands on, such as 0-3,8."},                                       \
        {.name = "env",                                                                            \
         .kind = HPC_TEXTS,                                                                        \
         .offset = (base) + offsetof(asked_measure, env),                                          \
         .argument = "NAME[=VALUE]",                                                               \
         .help = "Variable to set for commands, in addition to PATH, HOME and LANG=C."},           \
        {.name = "db",                                                                             \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(asked_measure, db),                                           \
         .argument = "FILE",                                                                       \
         .help = "Performance history (SQLite); created if missing."},                             \
        {.name = "machine",                                                                        \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(asked_measure, machine),                                      \
         .argument = "NAME",                                                                       \
         .help = "Name of this machine in the history. Default: the model of its processor."},     \
        {.name = "work",                                                                           \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(asked_measure, work),                                         \
         .argument = "DIR",                                                                        \
         .help = "Folder for builds. Default: FILE.work next to the history."},                    \
        {.name = "cache-mib",                                                                      \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, cache_mib),                                    \
         .fallback = "4096",                                                                       \
         .argument = "N",                                                                          \
         .most = 1 << 30,                                                                          \
         .help = "Size limit for builds kept for later runs."},                                    \
    {                                                                                              \
        .name = "retry", .former = "again", .kind = HPC_FLAG,                                      \
        .offset = (base) + offsetof(asked_measure, again),                                         \
        .help = "Retry commits that failed to build or run before."                                \
    }

#endif
