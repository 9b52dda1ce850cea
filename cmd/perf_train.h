/*
 * perf_train.h: what the files of `hpccoder perf train` share: the examples that it gathers, and
 * what it tells of them.
 */
#ifndef HPC_CMD_PERF_TRAIN_H
#define HPC_CMD_PERF_TRAIN_H

#include "cmd/cmd.h"
#include "corpus/corpus.h"
#include "corpus/history/database.h"
#include "infer/perf/example.h"
#include "infer/perf/judge.h"
#include "infer/perf/language.h"

typedef struct train_options {
    hpc_texts db, repo, metric, examples, judge_on, language, heat;
    const char *out;
    double threshold, alarm, miss;
    int64_t seed;
    bool evaluate, json;
} train_options;

typedef struct train_row { /* what a history, or a file of examples, gave */
    const char *path;
    char repository[256];
    int64_t label[3];  /* new examples of each */
    int64_t nothing;   /* of them, those in which nothing differs */
    int64_t undecided; /* pairs of which that is not known */
    int64_t lacking;   /* pairs whose commits or files are not in the repository */
    int64_t again;     /* that were there */
} train_row;
typedef struct train_set {
    hpc_perf_examples all;
    hpc_perf_bag *bag; /* of each */
    bool *has_bag;
    int64_t bags_cap, has_cap;
    train_row *row; /* histories, then files, then files to be judged by */
    int64_t rows;
    int64_t *chosen; /* each commit once; those that are learnt from first */
    int64_t chosen_n, learnt_n;
    bool *heat_used; /* of each --line-profile */
    int64_t given_n; /* of all, those to learn from */
} train_set;         /* zero to begin with */
void train_set_release(train_set *s);

/* perf_train_gather.c */
int train_gather(train_set *s, const train_options *o);
/* Of each commit the example by the first metric that was asked for, or that it has: cost, then
 * instructions, then what is measured. */
int train_choose(train_set *s, const train_options *o);

/* perf_train_language.c: what language models say of the commits of one history */
typedef struct train_language {
    hpc_perf_language *l; /* NULL: none was given for this repository */
    int64_t first;        /* the example behind those that were there before */
    int64_t *commit;      /* of each example from there on, its number in l */
    int64_t n, cap, commits;
} train_language; /* zero to begin with */
int train_language_open(train_language *t, const train_options *o, const char *repository,
                        int64_t first);
int train_language_add(train_language *t, const hpc_perf_change *c); /* the next commit */
int train_language_note(train_language *t); /* an example was made, of the last commit */
int train_language_put(train_language *t, train_set *s); /* into all that were noted */
void train_language_close(train_language *t);

/* perf_train_tell.c: as text, or as members of an object */
void train_tell_set(hpc_buf *out, hpc_json_out *json, const train_set *s);
void train_tell_judgement(hpc_buf *out, hpc_json_out *json, const hpc_perf_judgement *j,
                          hpc_perf_split split);

#endif
