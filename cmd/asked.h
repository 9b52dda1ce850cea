/*
 * asked.h: what commands that measure commits share of their options.
 */
#ifndef HPC_CMD_ASKED_H
#define HPC_CMD_ASKED_H

#include "cmd/cmd.h"
#include "corpus/history/history.h"

typedef struct asked { /* what the options come to; texts lie in the arena */
    hpc_arena *arena;
    history_metric metric[HISTORY_METRICS];
    int metrics;
    const char **environment;
    const char *command; /* that is running, as "perf collect" */
    bool quiet;
} asked;
typedef struct asked_measure { /* how is measured */
    const char *build, *run, *db, *work, *cpus, *machine;
    hpc_texts metric, env;
    int64_t repeat, most, warm_up, together, seed, memory_mib, cache_mib;
    double precision, build_seconds, run_seconds;
    bool again;
} asked_measure;
/* All of a collection but what it is of. The options are borrowed. */
int asked_history(history_options *h, asked *a, const asked_measure *o);
void asked_say(void *user, const char *line); /* user: an asked; a remark on standard error */
void asked_release(asked *a);                 /* its arena is the caller's */

/* Rows for an option table whose struct holds an asked_measure at `base`. */
#define ASKED_OPTIONS(base)                                                                        \
    {.name = "build",                                                                              \
     .kind = HPC_TEXT,                                                                             \
     .offset = (base) + offsetof(asked_measure, build),                                            \
     .argument = "CMD",                                                                            \
     .help = "A command of the shell that builds a commit, in a folder with its files."},          \
        {.name = "run",                                                                            \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(asked_measure, run),                                          \
         .argument = "CMD",                                                                        \
         .help = "What is measured, in the same folder."},                                         \
        {.name = "metric",                                                                         \
         .letter = 'm',                                                                            \
         .kind = HPC_TEXTS,                                                                        \
         .offset = (base) + offsetof(asked_measure, metric),                                       \
         .argument = "METRIC",                                                                     \
         .help =                                                                                   \
             "time (if none is given), user, memory, instructions[-hardware|-valgrind], cost, "    \
             "NAME=PATTERN, NAME/s=PATTERN; may be given several times."},                         \
        {.name = "repeat",                                                                         \
         .letter = 'n',                                                                            \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, repeat),                                       \
         .fallback = "5",                                                                          \
         .argument = "N",                                                                          \
         .least = 1,                                                                               \
         .most = 1000,                                                                             \
         .help = "Runs of each commit, at least."},                                                \
        {.name = "repeat-most",                                                                    \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, most),                                         \
         .fallback = "20",                                                                         \
         .argument = "N",                                                                          \
         .least = 1,                                                                               \
         .most = 1000,                                                                             \
         .help = "And at most, until the median is known to --precision."},                        \
        {.name = "precision",                                                                      \
         .kind = HPC_REAL,                                                                         \
         .offset = (base) + offsetof(asked_measure, precision),                                    \
         .fallback = "1",                                                                          \
         .argument = "PERCENT",                                                                    \
         .least = 0.001,                                                                           \
         .most = 100,                                                                              \
         .help = "Half of the interval in which the median lies at 95 %."},                        \
        {.name = "warm-up",                                                                        \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, warm_up),                                      \
         .fallback = "1",                                                                          \
         .argument = "N",                                                                          \
         .most = 100,                                                                              \
         .help = "Runs of each commit before those that count."},                                  \
        {.name = "together",                                                                       \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, together),                                     \
         .fallback = "4",                                                                          \
         .argument = "N",                                                                          \
         .least = 2,                                                                               \
         .most = 64,                                                                               \
         .help = "Neighbouring commits that are measured by turns."},                              \
        {.name = "seed",                                                                           \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, seed),                                         \
         .fallback = "0",                                                                          \
         .argument = "N",                                                                          \
         .help = "Of the order of turns."},                                                        \
        {.name = "build-seconds",                                                                  \
         .kind = HPC_REAL,                                                                         \
         .offset = (base) + offsetof(asked_measure, build_seconds),                                \
         .fallback = "1800",                                                                       \
         .argument = "S",                                                                          \
         .least = 0.1,                                                                             \
         .most = 1e6,                                                                              \
         .help = "A build that takes longer has failed."},                                         \
        {.name = "run-seconds",                                                                    \
         .kind = HPC_REAL,                                                                         \
         .offset = (base) + offsetof(asked_measure, run_seconds),                                  \
         .fallback = "600",                                                                        \
         .argument = "S",                                                                          \
         .least = 0.1,                                                                             \
         .most = 1e6,                                                                              \
         .help =                                                                                   \
             "A run that takes longer has failed; under valgrind too, which is 20 to 100 times "   \
             "as slow."},                                                                          \
        {.name = "memory-mib",                                                                     \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, memory_mib),                                   \
         .fallback = "0",                                                                          \
         .argument = "N",                                                                          \
         .most = 1 << 30,                                                                          \
         .help = "Address space that each process of a build or run may have; 0: no limit."},      \
        {.name = "cpus",                                                                           \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(asked_measure, cpus),                                         \
         .argument = "LIST",                                                                       \
         .help = "Where commands run, as in 0-3,8."},                                              \
        {.name = "env",                                                                            \
         .kind = HPC_TEXTS,                                                                        \
         .offset = (base) + offsetof(asked_measure, env),                                          \
         .argument = "NAME[=VALUE]",                                                               \
         .help =                                                                                   \
             "A variable that commands get besides PATH, HOME and LANG=C; may be given several "   \
             "times."},                                                                            \
        {.name = "db",                                                                             \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(asked_measure, db),                                           \
         .argument = "FILE",                                                                       \
         .help = "The performance history (SQLite); made when it is not there."},                  \
        {.name = "machine",                                                                        \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(asked_measure, machine),                                      \
         .argument = "NAME",                                                                       \
         .help = "What this machine is called there; its processor's model if not given."},        \
        {.name = "work",                                                                           \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(asked_measure, work),                                         \
         .argument = "DIR",                                                                        \
         .help = "Where commits are built; FILE.work beside the history if not given."},           \
        {.name = "cache-mib",                                                                      \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(asked_measure, cache_mib),                                    \
         .fallback = "4096",                                                                       \
         .argument = "N",                                                                          \
         .most = 1 << 30,                                                                          \
         .help = "Builds that may stay there for the next time."},                                 \
    {                                                                                              \
        .name = "again", .kind = HPC_FLAG, .offset = (base) + offsetof(asked_measure, again),      \
        .help = "Try commits again whose build or run failed before."                              \
    }

#endif
