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
int asked_metrics(asked *a, const hpc_texts *given); /* "time" if there is none */
int asked_environment(asked *a, const hpc_texts *given);
/* FILE.work beside the database, unless a folder is named. */
int asked_work(history_options *h, asked *a, const char *work);
void asked_say(void *user, const char *line); /* user: an asked; a remark on standard error */
void asked_release(asked *a);                 /* its arena is the caller's */

#endif
