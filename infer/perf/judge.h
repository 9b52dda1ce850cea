/*
 * judge.h: how good a learner (learn.h) is on commits that it did not learn from, beside what is
 * simpler than it, each figure with its interval.
 *
 * Two ways to leave examples out: every repository in its turn, so that nothing of it was seen; or
 * the last part of each repository's time, so that nothing is told of the past from the future. Or
 * it is learnt from some and judged on others.
 */
#ifndef HPC_PERF_JUDGE_H
#define HPC_PERF_JUDGE_H

#include "infer/perf/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- words of a change, for the simplest that reads text ---------------------------------------
 */
enum { HPC_PERF_BAG_COLUMNS = 8192 };
typedef struct hpc_perf_bag {
    struct hpc_perf_bag_word {
        uint32_t column; /* of its hash */
        float added, removed;
    } * item; /* by column, each once */
    int64_t n, cap;
} hpc_perf_bag; /* zero to begin with; reused by the next call */
/* Replaces out by the code tokens of lines that are added and removed. The change's sources must
 * still be there. */
int hpc_perf_bag_find(hpc_perf_bag *out, const hpc_perf_change *c);
void hpc_perf_bag_release(hpc_perf_bag *b);

/* ---- who is judged
 * ------------------------------------------------------------------------------- All say
 * probabilities of the three labels, learnt from the same examples. MAJORITY: the shares of the
 * labels. DIFF_SIZE: whether anything changes by logistic regression on the logarithm of the lines
 * added and removed; to which side by shares. BAG: both by logistic regression on words, as the
 * learner asks both (how often a word is touched; how often it is added less removed), held back by
 * the strength that folds of the training part like best. */
typedef enum hpc_perf_rival {
    HPC_PERF_LEARNER,
    HPC_PERF_MAJORITY,
    HPC_PERF_DIFF_SIZE,
    HPC_PERF_BAG,
    HPC_PERF_RIVALS
} hpc_perf_rival;
const char *hpc_perf_rival_name(hpc_perf_rival r);

/* ---- by what ------------------------------------------------------------------------------------
 */
typedef enum hpc_perf_figure {
    HPC_PERF_ACCURACY,     /* of the most probable label */
    HPC_PERF_F1_SLOWER,    /* where those are called slower of which, by the probabilities alone,
                            * that makes the expected F1 largest */
    HPC_PERF_AUROC_SLOWER, /* of slower against the rest, by its probability, over pairs of commits
                            * of the same repository: to tell repositories apart is no merit */
    HPC_PERF_AUROC_CHANGED,
    HPC_PERF_CALIBRATION, /* expected error of the probability of the most probable label, in ten
                           * bins of as many commits each; less is better */
    HPC_PERF_COVERAGE,    /* share of verdicts that are not "unknown"; below only of the learner */
    HPC_PERF_SURE,        /* accuracy of those */
    HPC_PERF_FALSE_ALARM, /* share of commits not slower that are called so */
    HPC_PERF_MISSED,      /* share of slower ones that are called the same */
    HPC_PERF_FIGURES
} hpc_perf_figure;
const char *hpc_perf_figure_name(hpc_perf_figure f);
/* NAN: there is nothing of which it could be told. */
typedef struct hpc_perf_interval { /* of 95 %, by percentiles of a bootstrap over commits */
    double value, low, high;
} hpc_perf_interval;

typedef enum hpc_perf_split {
    HPC_PERF_BY_GROUP,
    HPC_PERF_BY_TIME,
    HPC_PERF_APART /* the first are learnt from, the rest is judged */
} hpc_perf_split;
typedef struct hpc_perf_judge_rule {
    hpc_perf_learn_rule learn;
    hpc_perf_split split;
    int64_t learnt; /* with APART: so many of the examples */
    double last;    /* share of each repository's time that BY_TIME leaves out */
    int64_t resamples;
    uint64_t seed; /* of the bootstrap */
} hpc_perf_judge_rule;
#define HPC_PERF_JUDGE_DEFAULTS                                                                    \
    {                                                                                              \
        .learn = HPC_PERF_LEARN_DEFAULTS, .last = 0.3, .resamples = 1000, .seed = 1                \
    }

typedef struct hpc_perf_judgement {
    int64_t n[3];     /* of each label, judged */
    int64_t groups;   /* repositories of which some were */
    int64_t left_out; /* repositories of which none could: the rest was too little to learn from */
    bool has[HPC_PERF_RIVALS];
    hpc_perf_interval figure[HPC_PERF_RIVALS][HPC_PERF_FIGURES];
    /* The learner's less the rival's, over the same commits. */
    hpc_perf_interval ahead[HPC_PERF_RIVALS][HPC_PERF_FIGURES];
} hpc_perf_judgement;
/* bag: one for each example, or NULL: then BAG is not judged. HPC_E_ARG when no part of the
 * examples is enough to learn from. */
int hpc_perf_judge(hpc_perf_judgement *out, const hpc_perf_example *e, const hpc_perf_bag *bag,
                   int64_t n, const hpc_perf_judge_rule *rule);

#ifdef __cplusplus
}
#endif
#endif
