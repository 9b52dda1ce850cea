/*
 * priv.h: what the files of this folder share.
 */
#ifndef HPC_HISTORY_PRIV_H
#define HPC_HISTORY_PRIV_H

#include <limits.h>

#include "corpus/history/history.h"
#include "runtime/proc/proc.h"
#include "corpus/history/hot_line.h"

/* ---- facts.c: the machine, and what was asked ---- */
int history_facts(hpc_buf *out, const history_options *o, hpc_git *g, const char *machine);
/* Where commands may run from now on, as taskset has it: HPC_E_ARG. */
int history_bind(const char *cpus);

/* ---- work.c: folders of what is built ---- */
typedef struct history_work {
    const history_options *o;
    hpc_git *git;
    hpc_arena *arena;
    const char **environment; /* of commands, NULL-terminated */
    const char *root, *built; /* absolute */
    int lock;
} history_work;
/* One that is used by another process is HPC_E_STATE. What a killed one left unfinished is removed.
 */
int history_work_open(history_work *w, hpc_git *g, const history_options *o);
void history_work_close(history_work *w);

typedef enum history_outcome {
    HISTORY_DONE,
    HISTORY_NO_FILES, /* the commit cannot be written out */
    HISTORY_FAILED,
    HISTORY_TIMED_OUT
} history_outcome;
const char *history_outcome_name(history_outcome o); /* "done", "failed", "timed out" */
typedef struct history_build {
    char folder[4096];
    history_outcome outcome;
    char product[33];
    double seconds;
    bool cached; /* it was there */
    hpc_buf log; /* the end of it */
} history_build;
/* The commit's files, built. What went wrong with them is an outcome; a negative code is our own
 * trouble. */
int history_build_make(history_build *out, history_work *w, const hpc_git_id *commit);
void history_build_release(history_build *b);
int history_work_trim(history_work *w); /* to what may stay */
int history_remove(const char *path);   /* with all that is in it; absent is fine */
/* A program in a folder, and a command of the shell. */
int history_start(hpc_proc_result *r, const history_work *w, const char *folder,
                  const char *const *argv, double seconds, int64_t memory_bytes);
int history_command(hpc_proc_result *r, const history_work *w, const char *folder,
                    const char *command, double seconds);
/* The end of what it printed, and how it ended. */
int history_put_log(hpc_buf *out, const hpc_proc_result *r, size_t most);
/* Why it is no success, in words; "" when it is one. */
void history_failure(char out[128], const hpc_proc_result *r);

/* ---- metric.c: what cachegrind wrote ---- */
enum { HISTORY_EVENTS = 16 };
typedef struct history_events { /* its columns */
    char kind[HISTORY_EVENTS];  /* 'i': instructions; '1', 'L': misses; 0: something else */
    int n;
} history_events;
bool history_events_find(history_events *out, const char *text);
/* Adds the numbers of a row, of which the last may be left out; how many there are. */
int history_counts_row(history_counts *c, const history_events *e, const char *row);
double history_cost(const history_counts *c);

/* ---- profile.c: in which lines the cost is ---- */
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
    hpc_map *files;        /* paths, to places in `file` */
    history_file *file;
    int64_t files_n, files_cap;
    history_line *line;
    int64_t lines_n, lines_cap;
    double all;    /* of lines of other files, and of what has no lines, too */
} history_profile; /* zero to begin with */
/* What cachegrind wrote of one process. Only files in the folder are looked into. */
int history_profile_add(history_profile *p, const char *text, const char *folder);
/* The lines that cost anything, in order of keys; the caller's to free. */
int history_profile_find(hpc_hot_line **out, int64_t *n, history_profile *p);
void history_profile_release(history_profile *p);

/* ---- measure.c: one run ---- */
typedef struct history_run {
    bool took[HISTORY_METRICS];
    double value[HISTORY_METRICS];
    history_outcome outcome;
    double seconds;
    hpc_buf log;
    hpc_hot_line *hot; /* where valgrind counted, in order of keys */
    int64_t hot_n;
} history_run;
bool history_is_counted(const history_metric *m); /* by valgrind */
bool history_wants(const history_options *o, history_kind kind);
/* By valgrind, or as it is: all metrics of that kind. */
int history_measure(history_run *out, const history_work *w, const char *folder, bool counted);
void history_run_release(history_run *r);

#endif
