/*
 * predict.h: predicts the effect of the commits of a range on the run time of a program, without
 * running it: for each commit, for each function, and for the range as a whole.
 *
 * Reads a repository and writes nothing. Names, paths and messages of commits are reported
 * unchanged, without control characters.
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

typedef struct hpc_perf_reason_text { /* a reason in words */
    const char *text;
    const char *file, *function; /* "": none */
    uint32_t line;               /* 0: none */
    bool gone;     /* the line was removed: its number is that of the earlier version */
    double score;  /* above 0: for slower; 0: neutral */
    bool contrary; /* evidence against the verdict */
} hpc_perf_reason_text;
enum { HPC_PERF_WHY_MOST = 3 };

typedef struct hpc_perf_result {
    hpc_perf_verdict verdict;
    double p[3];         /* slower, same, faster; NAN: nothing could be analysed */
    const char *because; /* reason for the verdict unknown; NULL: another verdict */
    bool outside;        /* unlike all training examples, so p is unreliable */
    hpc_perf_reason_text why[HPC_PERF_WHY_MOST];
    int why_n;
    hpc_perf_level level;     /* without regard to acknowledgements */
    const char *acknowledged; /* the reason given; NULL: not acknowledged */
    bool by_file;             /* acknowledged by a file, not by the commit message */
} hpc_perf_result;

typedef struct hpc_perf_function_prediction {
    const char *file, *base_file; /* they differ after a move or rename */
    const char *name;             /* "": code outside functions */
    uint32_t line;
    bool gone; /* the line is that of the earlier version */
    hpc_perf_result result;
} hpc_perf_function_prediction;

typedef struct hpc_perf_change_prediction { /* a commit compared with its first parent, or a range
                                             */
    hpc_git_id base, head;                  /* base zero: no parent */
    const char *subject;                    /* the first line of the message; "" for a range */
    int64_t time;
    int32_t parents;
    hpc_perf_result result;
    hpc_perf_function_prediction *function; /* the changed functions, by file and line */
    int64_t n;
    int64_t aside_n; /* changed files that the program does not contain; they are ignored */
} hpc_perf_change_prediction;

typedef struct hpc_perf_prediction {
    hpc_arena *arena;
    hpc_perf_change_prediction range;
    hpc_perf_change_prediction *commit; /* parents come first */
    int64_t n;
    const char **remark; /* further remarks, one line each */
    int64_t remarks_n, remarks_cap;
    hpc_perf_level level; /* the result: the level without acknowledged commits and functions */
} hpc_perf_prediction;
void hpc_perf_prediction_release(hpc_perf_prediction *p);

typedef struct hpc_perf_predict_options {
    const char *base, *head; /* revisions for git; base NULL: the whole history */
    bool all;                /* also merged commits, not only first parents */
    bool each;               /* the level of the commits, not of the range as a whole */
    double warn, fail;       /* thresholds for the probability of slower; above 1: never */
    /* Files of the working tree; if there are any, base is NULL, and the range compares head with
     * head plus these files. Its `base` is then head's id and its `head` zero. */
    const hpc_perf_text *file;
    int64_t file_n;
    const char *acks;      /* text of a file of acknowledgements; NULL: HPC_PERF_ACKS of head */
    const char *acks_name; /* its name in messages */
    /* A language model as additional input; NULL: none. It is cleared first. */
    hpc_perf_language *language;
    /* Gives the line profile of a commit, or of an earlier one: *hot, valid until the next call;
     * NULL: unknown. May be NULL. */
    int (*heat)(const hpc_hot_line **hot, int64_t *n, void *from, const hpc_git_id *commit,
                int64_t time);
    void *heat_from;
    const hpc_perf_program *program; /* the files of the program; NULL: decided by paths */
    void (*progress)(void *user, int64_t done, int64_t all);
    void *user;
} hpc_perf_predict_options;
#define HPC_PERF_ACKS ".perf-ack"
#define HPC_PERF_PREDICT_DEFAULTS                                                                  \
    {                                                                                              \
        .head = "HEAD", .warn = 0.5, .fail = 2                                                     \
    }

/* The range as a whole compares head with its merge base with `base`. The level is that of the
 * whole. It is that of the commits if the whole is unknown or `each` is set. Warn: the probability
 * of slower is at least `warn` and the verdict is not unknown; fail: the same with `fail`.
 * If nothing that decides fails, the rest is at most a warning. A function has a level only if its
 * commit has.
 *
 * Acknowledged changes do not count. A commit is acknowledged by a line "Perf-Ack: REASON" after
 * the first line of its message. The file has lines "ID REASON" with at least 7 digits of a commit
 * id, and "PATH REASON" or "PATH:FUNCTION REASON" for a file, a folder or a function. A commit or
 * range is also acknowledged if all functions that cause its level are; a range also if all commits
 * are.
 *
 * HPC_E_ARG: a language model is given but the model was trained without one (the reverse is a
 * remark); a revision does not exist; a shallow clone ends before the range begins. Also if the
 * commits have no common ancestor, or head is an ancestor of base. The range BASE..BASE is valid:
 * its verdict is same. */
int hpc_perf_predict(hpc_perf_prediction *out, hpc_git *g, const hpc_perf_model *m,
                     const hpc_perf_predict_options *o);

#ifdef __cplusplus
}
#endif
#endif
