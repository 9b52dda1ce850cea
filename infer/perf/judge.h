/*
 * judge.h: quality of the learner (learn.h) and of simpler baselines on commits outside the
 * training set, with confidence intervals.
 *
 * There are three splits: each repository is left out in turn; the last period of each repository
 * is left out, so that training never sees the future; or the caller gives both sets.
 */
#ifndef HPC_PERF_JUDGE_H
#define HPC_PERF_JUDGE_H

#include "infer/perf/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- bag of words, for a baseline that reads text ----------------------------------------------
 */
enum { HPC_PERF_BAG_COLUMNS = 8192 };
typedef struct hpc_perf_bag {
    struct hpc_perf_bag_word {
        uint32_t column; /* hash of the word */
        float added, removed;
    } * item; /* by column, each once */
    int64_t n, cap;
} hpc_perf_bag; /* zero to begin with; reused by the next call */
/* Replaces out by the code tokens of added and removed lines. The sources of the change must still
 * be valid. */
int hpc_perf_bag_find(hpc_perf_bag *out, const hpc_perf_change *c);
void hpc_perf_bag_release(hpc_perf_bag *b);

/* ---- classifiers --------------------------------------------------------------------------------
 * All are trained on the same examples and predict probabilities of the three labels. MAJORITY: the
 * shares of the labels. DIFF_SIZE: logistic regression on the logarithm of added and removed lines
 * for the question of effect, and shares for the direction. BAG: logistic regression on words for
 * both questions of the learner: how often a word is touched, and how often it is added minus
 * removed. Folds of the training part choose its regularization. */
typedef enum hpc_perf_method {
    HPC_PERF_LEARNER,
    HPC_PERF_MAJORITY,
    HPC_PERF_DIFF_SIZE,
    HPC_PERF_BAG,
    HPC_PERF_METHODS
} hpc_perf_method;
const char *hpc_perf_method_name(hpc_perf_method r);

/* ---- figures of quality
 * -------------------------------------------------------------------------- */
typedef enum hpc_perf_figure {
    HPC_PERF_ACCURACY,     /* of the most probable label */
    HPC_PERF_F1_SLOWER,    /* with the threshold of probability that maximizes the expected F1 */
    HPC_PERF_AUROC_SLOWER, /* slower against the rest, over pairs of commits of one repository:
                            * separating repositories does not count */
    HPC_PERF_AUROC_CHANGED,
    HPC_PERF_CALIBRATION, /* expected error of the probability of the most probable label, in ten
                           * bins with equal numbers of commits; less is better */
    HPC_PERF_COVERAGE,    /* share of verdicts other than "unknown"; this and below: learner only */
    HPC_PERF_SURE,        /* accuracy of these verdicts */
    HPC_PERF_FALSE_ALARM, /* share of commits that are not slower but are called slower */
    HPC_PERF_MISSED,      /* share of slower commits that are called the same */
    HPC_PERF_FIGURES
} hpc_perf_figure;
const char *hpc_perf_figure_name(hpc_perf_figure f);
/* NAN: no commit to compute it from. */
typedef struct hpc_perf_interval { /* 95 %, percentiles of a bootstrap over commits */
    double value, low, high;
} hpc_perf_interval;

typedef enum hpc_perf_split {
    HPC_PERF_BY_GROUP,
    HPC_PERF_BY_TIME,
    HPC_PERF_APART /* the first examples are for training, the rest for tests */
} hpc_perf_split;
typedef struct hpc_perf_judge_rule {
    hpc_perf_learn_rule learn;
    hpc_perf_split split;
    int64_t learnt; /* with APART: number of training examples */
    double last;    /* share of each repository's time that BY_TIME leaves out */
    int64_t resamples;
    uint64_t seed; /* of the bootstrap */
    /* NULL, or [n]: receives the learner's probabilities of tested examples, NAN for others. */
    double (*probability)[3];
} hpc_perf_judge_rule;
#define HPC_PERF_JUDGE_DEFAULTS                                                                    \
    {                                                                                              \
        .learn = HPC_PERF_LEARN_DEFAULTS, .last = 0.3, .resamples = 1000, .seed = 1                \
    }

typedef struct hpc_perf_judgement {
    int64_t n[3];     /* tested examples of each label */
    int64_t groups;   /* repositories with tested examples */
    int64_t left_out; /* repositories without: the rest was too small for training */
    bool has[HPC_PERF_METHODS];
    hpc_perf_interval figure[HPC_PERF_METHODS][HPC_PERF_FIGURES];
    /* Learner minus baseline, over the same commits. */
    hpc_perf_interval ahead[HPC_PERF_METHODS][HPC_PERF_FIGURES];
} hpc_perf_judgement;
/* bag: one per example; NULL: without the baseline BAG. HPC_E_ARG: no split leaves enough examples
 * for training. */
int hpc_perf_judge(hpc_perf_judgement *out, const hpc_perf_example *e, const hpc_perf_bag *bag,
                   int64_t n, const hpc_perf_judge_rule *rule);

#ifdef __cplusplus
}
#endif
#endif
