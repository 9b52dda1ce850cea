/*
 * learn.h: what a change comes to: slower, the same or faster, with a probability, learnt from
 * commits of which it was measured, and told of others by their features (feature.h) alone.
 *
 * It knows nothing of source code, of repositories or of databases: vectors go in and numbers come
 * out. Everything is deterministic: the same examples in the same order make the same model, bit
 * for bit.
 *
 * What is learnt is two questions, by logistic regression and by shallow trees that are boosted,
 * mixed as folds within the training part say: does it change anything at all (from sizes of what
 * changed, whatever the sign), and if so, to which side (from signs). The second is odd: a change
 * that is taken back says the opposite, as it does in truth. Both begin with what is known without
 * any example: more work in loops costs more, -O0 is slow; a weight of the regression never says
 * that more of what costs is faster. How often anything changes is each repository's own matter
 * while weights are fitted.
 *
 * Examples are split into folds: by repository where there are four or more, else every
 * repository's time is cut in five. The model is the mean of those that each leave out one fold.
 * So each example has a score by one that never saw its fold; probabilities are calibrated by
 * these scores, and so is abstention.
 *
 * Abstention is conformal, label by label. "slower" is said only if, among n examples that were
 * not slower, the share (1 + those that score at least as high) / (1 + n) is at most `alarm`;
 * "faster" likewise; "same" only if among those that were slower (1 + those that score at most as
 * high) / (1 + n) is at most `miss`. So of commits that are not slower about a share `alarm` at
 * most is called slower, and of those that are slower about a share `miss` at most is called the
 * same. (Each example is held against the new commit by the model that saw neither: this is
 * cross-conformal. Of folds by chance twice the shares is proven, and a little more for small
 * folds; tests find the shares themselves.) It holds whatever the model is worth: a bad one
 * abstains. What it takes for granted is that a new commit could have stood among the examples as
 * well as any of them (they are exchangeable). That fails where code, machine or metric are of
 * another kind, and where examples were picked. A verdict also has a probability of at least 45 %;
 * anything else is unknown.
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
    hpc_perf_vector x;      /* of the commit */
    hpc_perf_verdict label; /* never UNKNOWN */
    double change;          /* head / base - 1; nothing is learnt from it but its sign, the label */
    int64_t time;           /* of the commit, in seconds */
    int64_t group;          /* repository, 0.. */
} hpc_perf_example;

/* No code differs (no_effect, or all features are 0), nor a file of another kind: then it is the
 * same, nothing is to be learnt from it, and nothing to be asked. */
bool hpc_perf_nothing_differs(const hpc_perf_vector *x);

typedef struct hpc_perf_learn_rule {
    double alarm;       /* of those that are not slower (not faster), how many may be called so */
    double miss;        /* of those that are slower, how many may be called the same */
    const char *metric; /* that the labels are by; kept in the model; NULL: "" */
} hpc_perf_learn_rule;
#define HPC_PERF_LEARN_DEFAULTS                                                                    \
    {                                                                                              \
        .alarm = 0.05, .miss = 0.10                                                                \
    }
enum { /* examples of each label, in which something differs, that it takes */
       HPC_PERF_LEAST_SLOWER = 10,
       HPC_PERF_LEAST_SAME = 20,
       HPC_PERF_LEAST_FASTER = 5
};

typedef struct hpc_perf_model hpc_perf_model; /* constant once it is made: any thread may read it */
/* HPC_E_ARG when there are too few examples; it says how many of each label there are. rule NULL:
 * the defaults. */
int hpc_perf_learn(hpc_perf_model **out, const hpc_perf_example *e, int64_t n,
                   const hpc_perf_learn_rule *rule);
int hpc_perf_model_write(const hpc_perf_model *m, const char *path); /* one JSON file */
int hpc_perf_model_read(hpc_perf_model **out, const char *path); /* untrusted, everything checked */
void hpc_perf_model_free(hpc_perf_model *m);

typedef struct hpc_perf_model_facts {
    int64_t examples[3]; /* slower, same, faster */
    int64_t groups;
    double alarm, miss;
    bool heat;          /* it was told where the cost is (feature.h); else that is passed over */
    bool language;      /* it was told what a language model says, and wants to be (language.h) */
    const char *metric; /* lives as long as the model */
} hpc_perf_model_facts;
void hpc_perf_model_describe(hpc_perf_model_facts *out, const hpc_perf_model *m);

typedef struct hpc_perf_estimate {
    double p[3]; /* slower, same, faster: calibrated, sum 1 */
    /* SLOWER or FASTER, whichever is more probable, if its test passes: it stands out, even where
     * the same is more probable still, as changes are rare. Else SAME if that is the most probable
     * and its test passes, else UNKNOWN. Where nothing differs it is SAME without a test. */
    hpc_perf_verdict verdict;
    bool outside;        /* unlike all that it has seen, so that it abstains */
    int outside_feature; /* the one by which it is most unlike, or -1 */
    /* The shares above: of those not slower that score as high, of those not faster, of those
     * slower that score as low. */
    double alarm_slower, alarm_faster, miss_slower;
    /* What one unit of each feature adds to the logarithm of the odds of slower against faster; for
     * those that say that something changes at all, in the direction that is told. For
     * hpc_perf_reasons_find. 0 where the feature is 0. */
    double weight[HPC_PERF_FEATURES];
} hpc_perf_estimate;
/* Of a commit, or of one function of it. */
void hpc_perf_estimate_find(hpc_perf_estimate *out, const hpc_perf_model *m,
                            const hpc_perf_vector *x);

#ifdef __cplusplus
}
#endif
#endif
