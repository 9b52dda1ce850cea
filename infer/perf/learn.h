/*
 * learn.h: classifies a change as slower, same or faster, with a probability. It learns from
 * measured commits and predicts others from their features (feature.h) alone.
 *
 * It has no knowledge of source code, repositories or databases. It is deterministic: the same
 * examples in the same order give the same model, bit for bit.
 *
 * The learner combines logistic regression and boosted shallow trees, with weights chosen by folds
 * within the training part. They answer two questions. Does the change have an effect (from sizes
 * of changes, without signs)? If so, in which direction (from signs)? The second answer is an odd
 * function: reverting a change gives the opposite, as it does in reality. Both start with prior
 * knowledge: more work in loops costs more, -O0 is slow. Signs of regression weights respect it.
 * The rate of effects is a parameter of each repository while weights are fitted.
 *
 * Examples are split into folds: by repository if there are four or more, else into five periods of
 * each repository. The model is the mean of the models that each leave out one fold. Each example
 * is scored by a model that did not see its fold; these scores calibrate probabilities and
 * abstention.
 *
 * Abstention is conformal, for each label. Let n examples be not slower. "slower" is reported only
 * if (1 + the number of these with at least the same score) / (1 + n) is at most `alarm`; "faster"
 * likewise. "same" is reported only if, among n slower examples, (1 + the number with at most the
 * same score) / (1 + n) is at most `miss`. So about a share `alarm` at most of the commits that are
 * not slower is called slower, and about a share `miss` at most of the slower ones is called same.
 * Each example is compared with the new commit by the model that saw neither (cross-conformal
 * prediction); for random folds twice these shares is proven, and tests find the shares themselves.
 * The bound holds for any model: a bad one abstains. It presupposes that new commits and examples
 * are exchangeable. This fails for other kinds of code, machines or metrics, and for selected
 * examples. A verdict also has a probability of at least 45 %; otherwise it is unknown.
 */
#ifndef HPC_PERF_LEARN_H
#define HPC_PERF_LEARN_H

#include "infer/perf/feature.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_perf_verdict {
    HPC_PERF_SLOWER,
    HPC_PERF_SAME,
    HPC_PERF_FASTER,
    HPC_PERF_UNKNOWN
} hpc_perf_verdict;
const char *hpc_perf_verdict_name(hpc_perf_verdict v); /* "slower", "same", "faster", "unknown" */

typedef struct hpc_perf_example {
    hpc_perf_vector x;      /* features of the commit */
    hpc_perf_verdict label; /* never UNKNOWN */
    double change;          /* head / base - 1; only its sign is learned, as the label */
    int64_t time;           /* of the commit, in seconds */
    int64_t group;          /* number of the repository, from 0 */
} hpc_perf_example;

/* True if neither code (no_effect, or all features are 0) nor another file differs. The verdict is
 * then same, and the example is not used for training. */
bool hpc_perf_nothing_differs(const hpc_perf_vector *x);

typedef struct hpc_perf_learn_rule {
    double alarm;       /* limit of the share of others that are called slower (or faster) */
    double miss;        /* limit of the share of slower ones that are called same */
    const char *metric; /* the metric of the labels, stored in the model; NULL: "" */
} hpc_perf_learn_rule;
#define HPC_PERF_LEARN_DEFAULTS                                                                    \
    {                                                                                              \
        .alarm = 0.05, .miss = 0.10                                                                \
    }
enum { /* minimum of examples with a difference, for each label */
       HPC_PERF_LEAST_SLOWER = 10,
       HPC_PERF_LEAST_SAME = 20,
       HPC_PERF_LEAST_FASTER = 5
};

typedef struct hpc_perf_model hpc_perf_model; /* constant: any thread may read it */
/* HPC_E_ARG: too few examples; the message has their number for each label. rule NULL: defaults. */
int hpc_perf_learn(hpc_perf_model **out, const hpc_perf_example *e, int64_t n,
                   const hpc_perf_learn_rule *rule);
int hpc_perf_model_write(const hpc_perf_model *m, const char *path); /* one JSON file */
int hpc_perf_model_read(hpc_perf_model **out, const char *path);     /* validates untrusted files */
void hpc_perf_model_free(hpc_perf_model *m);

typedef struct hpc_perf_model_facts {
    int64_t examples[3]; /* slower, same, faster */
    int64_t groups;
    double alarm, miss;
    bool heat;          /* trained with line profiles (feature.h); otherwise profiles are ignored */
    bool language;      /* trained with a language model (language.h), and needs one */
    const char *metric; /* valid as long as the model */
} hpc_perf_model_facts;
void hpc_perf_model_describe(hpc_perf_model_facts *out, const hpc_perf_model *m);

typedef struct hpc_perf_estimate {
    double p[3]; /* slower, same, faster: calibrated, sum 1 */
    /* The more probable of SLOWER and FASTER if its test passes, even if SAME is more probable,
     * because effects are rare. Else SAME if it is the most probable and its test passes, else
     * UNKNOWN. SAME without a test if nothing differs. */
    hpc_perf_verdict verdict;
    bool outside;        /* unlike all training examples, so that it abstains */
    int outside_feature; /* the feature that deviates most, or -1 */
    /* The shares that are compared with `alarm` and `miss`. */
    double alarm_slower, alarm_faster, miss_slower;
    /* Change of the log-odds of slower against faster per unit of each feature; for features of the
     * first question, in the direction of the verdict. For hpc_perf_reasons_find. 0 if the feature
     * is 0. */
    double weight[HPC_PERF_FEATURES];
} hpc_perf_estimate;
/* For a commit, or for one of its functions. */
void hpc_perf_estimate_find(hpc_perf_estimate *out, const hpc_perf_model *m,
                            const hpc_perf_vector *x);

#ifdef __cplusplus
}
#endif
#endif
