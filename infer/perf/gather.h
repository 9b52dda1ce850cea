/*
 * gather.h: training examples from performance histories, which give labels, and their
 * repositories, which give features; or from files of examples.
 */
#ifndef HPC_PERF_GATHER_H
#define HPC_PERF_GATHER_H

#include "infer/perf/example.h"
#include "infer/perf/judge.h"
#include "infer/perf/language.h"
#include "runtime/base/options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_perf_named_path {
    const char *name; /* of a repository; NULL: not given */
    const char *path;
} hpc_perf_named_path;
typedef struct hpc_perf_gather_options {
    hpc_texts db;       /* performance histories */
    hpc_texts examples; /* files of examples to train on */
    hpc_texts judge_on; /* files of examples to test on */
    hpc_texts metric;   /* labels to use; none: all */
    const hpc_perf_named_path *repository;
    int64_t repositories_n;
    const hpc_perf_named_path *profile; /* histories with line profiles, each with a name */
    int64_t profiles_n;
    double threshold; /* smallest relative change that counts; 0: by metric */
    bool bags;        /* also bags of tokens, for the baseline of hpc_perf_judge */
    /* Opens the language model for the commits of a repository; *out NULL: none. NULL: no models.
     * Gathering closes it. */
    int (*language)(hpc_perf_language **out, const char *repository, void *user);
    void *user;
} hpc_perf_gather_options;

typedef struct hpc_perf_gather_row { /* examples from one history or file */
    const char *path;
    char repository[256];
    int64_t label[3];  /* new examples, by verdict */
    int64_t nothing;   /* new examples without a change of code */
    int64_t undecided; /* pairs with undecided samples */
    int64_t lacking;   /* pairs with commits or files that the repository lacks */
    int64_t again;     /* duplicates of earlier examples */
} hpc_perf_gather_row;
typedef struct hpc_perf_gathered {
    hpc_perf_examples all;
    hpc_perf_bag *bag; /* by example */
    bool *has_bag;
    int64_t bags_cap, has_cap;
    hpc_perf_gather_row *row; /* histories, then examples to train on, then those to test on */
    int64_t rows;
    int64_t *chosen; /* one example per commit; those to train on come first */
    int64_t chosen_n, learnt_n;
    bool *profile_used; /* by profile of the options */
    int64_t given_n;    /* examples to train on; the rest of `all` is for tests */
} hpc_perf_gathered;    /* zero to begin with */
/* Reads all histories, repositories and files. Borrows texts of the options. The caller releases
 * *s, also after an error. HPC_E_ARG: an input is missing or does not match. */
int hpc_perf_gather(hpc_perf_gathered *s, const hpc_perf_gather_options *o);
/* Chooses one example per commit, by the order of the metrics in the options, or by the default
 * order: cost, instructions, time, user, memory, any other. */
int hpc_perf_gather_choose(hpc_perf_gathered *s, const hpc_perf_gather_options *o);
void hpc_perf_gathered_release(hpc_perf_gathered *s);

#ifdef __cplusplus
}
#endif
#endif
