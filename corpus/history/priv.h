/*
 * priv.h: declarations shared by the files that measure commits.
 */
#ifndef HPC_HISTORY_PRIV_H
#define HPC_HISTORY_PRIV_H

#include <limits.h>

#include "corpus/history/history.h"
#include "runtime/proc/proc.h"
#include "corpus/history/hot_line.h"

/* ---- facts.c: the machine and the options ---- */
int history_facts(hpc_buf *out, const hpc_history_options *o, hpc_git *g, const char *machine);
/* Restricts this process to CPUs, in the format of taskset. HPC_E_ARG: a bad list. */
int history_bind(const char *cpus);

/* ---- work.c: build folders ---- */
typedef struct history_work {
    const hpc_history_options *o;
    hpc_git *git;
    hpc_arena *arena;
    const char **environment; /* for commands, NULL-terminated */
    const char *root, *built; /* absolute */
    int lock;
} history_work;
/* Removes unfinished builds of a killed process. HPC_E_STATE: another process uses the folder. */
int history_work_open(history_work *w, hpc_git *g, const hpc_history_options *o);
void history_work_close(history_work *w);

typedef enum history_outcome {
    HISTORY_DONE,
    HISTORY_NO_FILES, /* the commit cannot be exported */
    HISTORY_FAILED,
    HISTORY_TIMED_OUT
} history_outcome;
const char *history_outcome_name(history_outcome o); /* "done", "failed", "timed out" */
typedef struct history_build {
    char folder[4096];
    history_outcome outcome;
    char product[33];
    double seconds;
    bool cached; /* from an earlier call */
    hpc_buf log; /* its end */
} history_build;
/* Exports and builds the commit. A failed build is an outcome; a negative code is an internal
 * error.
 */
int history_build_make(history_build *out, history_work *w, const hpc_git_id *commit);
void history_build_release(history_build *b);
int history_work_trim(history_work *w); /* removes old builds down to the limit */
int history_remove(const char *path);   /* recursively; a missing path is fine */
/* Run a program, or a shell command, in a folder. */
int history_start(hpc_proc_result *r, const history_work *w, const char *folder,
                  const char *const *argv, double seconds, int64_t memory_bytes);
int history_command(hpc_proc_result *r, const history_work *w, const char *folder,
                    const char *command, double seconds);
/* Appends the end of the output, and the exit status. */
int history_put_log(hpc_buf *out, const hpc_proc_result *r, size_t most);
/* The reason of a failure as a phrase; "": success. */
void history_failure(char out[128], const hpc_proc_result *r);

/* ---- metric.c: kinds of metrics, and files of cachegrind ---- */
bool history_wants(const hpc_history_options *o, history_kind kind); /* a metric has this kind */
enum { HISTORY_EVENTS = 16 };
typedef struct history_events { /* columns of a file */
    char kind[HISTORY_EVENTS];  /* 'i': instructions; '1', 'L': misses; 0: other */
    int n;
} history_events;
bool history_events_find(history_events *out, const char *text);
/* Adds the numbers of a row, in which trailing ones may be missing; returns how many it has. */
int history_counts_row(history_counts *c, const history_events *e, const char *row);
double history_cost(const history_counts *c);

/* ---- profile.c: line profiles ---- */
typedef struct history_file {
    uint32_t *key; /* of each line */
    uint32_t n;
} history_file;
typedef struct history_line {
    uint32_t key;
    double cost;
} history_line;
typedef struct history_profile {
    char folder[PATH_MAX]; /* without links */
    hpc_map *files;        /* from paths to indices of `file` */
    history_file *file;
    int64_t files_n, files_cap;
    history_line *line;
    int64_t lines_n, lines_cap;
    double all;    /* total cost, including other files and code without lines */
} history_profile; /* zero to begin with */
/* Adds a file that cachegrind wrote for one process. It reads only sources in the folder. */
int history_profile_add(history_profile *p, const char *text, const char *folder);
/* Lines with a cost, sorted by key; the caller frees *out. */
int history_profile_find(hpc_hot_line **out, int64_t *n, history_profile *p);
void history_profile_release(history_profile *p);

/* ---- measure.c: one run ---- */
typedef struct history_run {
    bool took[HPC_HISTORY_METRICS];
    double value[HPC_HISTORY_METRICS];
    history_outcome outcome;
    double seconds;
    hpc_buf log;
    hpc_hot_line *hot; /* line profile by valgrind, sorted by key */
    int64_t hot_n;
} history_run;
bool history_is_counted(const hpc_history_metric *m); /* counted by valgrind */
/* One run for all counted metrics, under valgrind, or for all others, plain. */
int history_measure(history_run *out, const history_work *w, const char *folder, bool counted);
void history_run_release(history_run *r);

#endif
