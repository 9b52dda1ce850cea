/*
 * predict.h: what the commits of a range do to the time that a program takes, told without running
 * anything: by commit, by function, and of the whole range as if it were one commit.
 *
 * It reads a repository and writes nothing. What a commit says of itself (names, paths, messages)
 * is told as it stands there, without control characters.
 */
#ifndef HPC_PERF_PREDICT_H
#define HPC_PERF_PREDICT_H

#include "infer/perf/language.h"
#include "infer/perf/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_perf_level { HPC_PERF_NONE, HPC_PERF_WARN, HPC_PERF_FAIL } hpc_perf_level;
const char *hpc_perf_level_name(hpc_perf_level l); /* "none", "warn", "fail" */

typedef struct hpc_perf_why { /* a reason, in words */
    const char *text;
    const char *file, *function; /* "": of no file, of no function */
    uint32_t line;               /* 0: none */
    bool gone;                   /* the line is of the commit before: it is not there any more */
    double score;                /* above 0: for slower; 0: it speaks for no side */
    bool contrary;               /* by experience it does the opposite of the verdict */
} hpc_perf_why;
enum { HPC_PERF_WHY_MOST = 3 };

typedef struct hpc_perf_said {
    hpc_perf_verdict verdict;
    double p[3];         /* of slower, same, faster; NAN where nothing could be looked at */
    const char *because; /* why the verdict is unknown; NULL: it is not */
    bool outside;        /* it is unlike all that the model has seen: p says little */
    hpc_perf_why why[HPC_PERF_WHY_MOST];
    int why_n;
    hpc_perf_level level;     /* whether acknowledged or not */
    const char *acknowledged; /* the reason that was given; NULL: it is not */
    bool by_file;             /* acknowledged by a file, not by the commit's own words */
} hpc_perf_said;

typedef struct hpc_perf_told_function {
    const char *file, *base_file; /* they differ when it was moved or renamed */
    const char *name;             /* "": what is in no function of the file */
    uint32_t line;
    bool gone; /* the line is of the commit before */
    hpc_perf_said said;
} hpc_perf_told_function;

typedef struct hpc_perf_told { /* a commit against its first parent, or a range as a whole */
    hpc_git_id base, head;     /* base zero: against nothing at all */
    const char *subject;       /* the first line of its message; of a range "" */
    int64_t time;
    int32_t parents;
    hpc_perf_said said;
    hpc_perf_told_function *function; /* those that it changes, in order of file and line */
    int64_t n;
    int64_t
        aside_n; /* files that differ and the program does not contain: they count for nothing */
} hpc_perf_told;

typedef struct hpc_perf_prediction {
    hpc_arena *arena;
    hpc_perf_told range;
    hpc_perf_told *commit; /* none before its parents */
    int64_t n;
    const char **remark; /* what else there is to say, a line each */
    int64_t remarks_n, remarks_cap;
    hpc_perf_level level; /* of what is not acknowledged: the result */
} hpc_perf_prediction;
void hpc_perf_prediction_release(hpc_perf_prediction *p);

typedef struct hpc_perf_predict_options {
    const char *base, *head; /* what git would call them; base NULL: from the beginning */
    bool all;                /* what merges brought too, not first parents alone */
    bool each;               /* the level is that of the commits, not of the range as a whole */
    double warn, fail;       /* from this probability of slower on; above 1: never */
    const char *acks;      /* the text of a file of acknowledgements; NULL: HPC_PERF_ACKS of head */
    const char *acks_name; /* what messages call it */
    /* What it says of changes is heard, too; NULL: nothing is. What was added to it is forgotten.
     */
    hpc_perf_language *language;
    /* Where the cost of a commit is, or of one before it: *hot, borrowed until the next call; NULL
     * if it is not known. NULL: of no commit. */
    int (*heat)(const hpc_hot_line **hot, int64_t *n, void *from, const hpc_git_id *commit,
                int64_t time);
    void *heat_from;
    const hpc_perf_program *program; /* what it contains; NULL: by the names of paths */
    void (*progress)(void *user, int64_t done, int64_t all);
    void *user;
} hpc_perf_predict_options;
#define HPC_PERF_ACKS ".perf-ack"
#define HPC_PERF_PREDICT_DEFAULTS                                                                  \
    {                                                                                              \
        .head = "HEAD", .warn = 0.5, .fail = 2                                                     \
    }

/* The range as a whole is what head brings that base does not have: it is compared with the commit
 * at which they parted. Its level is that of the whole, or of the commits if nothing can be said of
 * the whole or `each` is asked. Warn: the probability of slower is at least `warn`, and the
 * verdict is not unknown. Fail: at least `fail`, likewise. A function is at a level only with what
 * it is part of.
 *
 * Acknowledged, so that the level does not count: a commit that says "Perf-Ack: REASON" in a line
 * of its own behind the first; and what a line of the file names: "ID REASON", the beginning of a
 * commit's id, at least 7 digits, or "PATH REASON" or "PATH:FUNCTION REASON", a file or folder, or
 * a function in it. By functions a whole is acknowledged when all that bring it to its level are;
 * the range also when all commits at a level are.
 *
 * HPC_E_ARG for a language model where the model learnt from none (without one where it did is a
 * remark), for names of no commit, for a history that is cut off (a shallow clone) before the
 * range's beginning, and for two commits that have nothing in common. An empty range is no error:
 * it is the same. */
int hpc_perf_predict(hpc_perf_prediction *out, hpc_git *g, const hpc_perf_model *m,
                     const hpc_perf_predict_options *o);

#ifdef __cplusplus
}
#endif
#endif
