/*
 * learn_priv.h: what the files of the learner share: how a vector is seen, what scores it, and what
 * a model consists of.
 */
#ifndef HPC_PERF_LEARN_PRIV_H
#define HPC_PERF_LEARN_PRIV_H

#include <math.h>

#include "infer/perf/learn.h"

/* ---- view.c: what the two questions see of a vector ---------------------------------------------
 * Values are taken by sign and logarithm. Then SIZE has them without their sign, which is the same
 * for a change and for its reverse; SIDE has what turns its sign when a change is reversed, and 0
 * for the rest. Behind the features come two sums over all events, by how much they cost as a rule:
 * of code, and of flags. */
typedef enum perf_question { PERF_SIZE, PERF_SIDE, PERF_QUESTIONS } perf_question;
enum { PERF_CODE_SUM = HPC_PERF_FEATURES, PERF_FLAG_SUM, PERF_WIDTH };
typedef struct perf_view {
    double z[PERF_WIDTH];
    double firm; /* what a score of it counts, against that of a small change */
} perf_view;
void perf_view_find(perf_view *out, perf_question q, const hpc_perf_vector *x);
/* What each feature has to do with contributions to a score by each column of a view: the weight of
 * one unit of it is added to `weight`. */
void perf_view_weights(double *weight, perf_question q, const hpc_perf_vector *x,
                       const double *contribution);
double perf_signed_log(double v);
/* What all events of code together cost as a rule, as a signed logarithm. */
double perf_code_cost(const hpc_perf_vector *x);
double perf_view_scaled(int feature, double v); /* its logarithm, of either sign */
/* How far a feature goes, whatever its sign, in the change and in its reverse. */
double perf_view_reach(const hpc_perf_vector *x, int feature);
/* What each column is worth without any example, against the others: not by how much. */
void perf_view_prior(double weight[PERF_WIDTH], perf_question q);
/* Which sign the weight of a column may have: 1, -1; 0: any. More of what costs is not faster, and
 * more that changed is not more surely the same: what few examples say against that is chance. */
void perf_view_signs(signed char sign[PERF_WIDTH], perf_question q);

/* ---- examples as rows: what is not 0 ------------------------------------------------------------
 */
typedef struct perf_rows {
    int64_t n, cells_n;
    int64_t *first; /* n + 1, of cells */
    double *target; /* 0 or 1 */
    int64_t *group; /* 0.. */
    int64_t groups;
    struct perf_cell {
        int column;
        double value;
    } * cell;
    int64_t first_cap, target_cap, group_cap, cell_cap;
} perf_rows; /* zero to begin with */
int perf_rows_add(perf_rows *r, const perf_view *v, double target, double sign, int64_t group);
void perf_rows_release(perf_rows *r);

/* ---- logistic.c -------------------------------------------------------------------------------
 */
typedef struct perf_line { /* a weight for each column */
    double bias, weight[PERF_WIDTH];
} perf_line;
double perf_line_value(const perf_line *l, const perf_view *v);
/* The prior that a fit is drawn to: that of the view, times what it is worth by these rows; and the
 * bias beside it. */
int perf_prior_fit(perf_line *out, const perf_rows *r, perf_question q);
/* What makes the sum of losses + strength / 2 * |weight - prior|^2 least, of weights of the signs
 * of the view. The bias is free for SIZE, and 0 for SIDE. For SIZE each repository has a bias of
 * its own beside it while it is fitted, as they differ in how often anything changes: else a large
 * one in which nothing does would say that no change matters. It begins with what is in `line`. */
int perf_line_fit(perf_line *line, const perf_rows *r, const perf_line *prior, double strength,
                  perf_question q);

/* ---- trees.c ------------------------------------------------------------------------------------
 * Node 0 is the root, 1 and 2 below it, 3 to 6 the leaves; column -1: all are left of it. */
enum { PERF_TREE_NODES = 7, PERF_TREE_CUTS = 3, PERF_TREES_MOST = 120 };
typedef struct perf_tree {
    int column[PERF_TREE_CUTS];
    double cut[PERF_TREE_CUTS]; /* left: below */
    double value[PERF_TREE_NODES];
} perf_tree;
/* Replaces tree[0..n) by trees that each add what is still missing, from `base` on. */
int perf_trees_fit(perf_tree *tree, int n, const perf_rows *r, double base);
double perf_tree_value(const perf_tree *t, const perf_view *v, double sign);
/* Adds what each column does to the value of the tree, but for that of its root. */
void perf_tree_explain(double *contribution, const perf_tree *t, const perf_view *v, double sign,
                       double scale);

/* ---- a model ------------------------------------------------------------------------------------
 */
typedef struct perf_scorer {
    perf_line line;
    double base;  /* of the trees */
    double share; /* of the trees, in the sum; the rest is of the line */
    perf_tree *tree;
    int trees;
} perf_scorer;
double perf_score(const perf_scorer *s, perf_question q, const perf_view *v);
void perf_score_explain(double *contribution, const perf_scorer *s, perf_question q,
                        const perf_view *v);

enum { PERF_FOLDS_LEAST = 2, PERF_FOLDS = 6, PERF_METRIC = 64 };
typedef struct perf_scored { /* an example, by the member that did not see it */
    int fold;
    hpc_perf_verdict label;
    double slower, faster; /* uncalibrated probabilities */
} perf_scored;
struct hpc_perf_model {
    char metric[PERF_METRIC];
    double alarm, miss;
    int64_t examples[3], groups;
    int folds;
    perf_scorer member[PERF_FOLDS][PERF_QUESTIONS]; /* of each fold: the one that did not see it */
    double intercept[PERF_QUESTIONS], slope[PERF_QUESTIONS]; /* calibration of their mean */
    double reach[HPC_PERF_FEATURES];
    double allowance; /* how far beyond its reach a feature may be */
    perf_scored *scored;
    int64_t n;
};
static inline double perf_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* ---- fold.c -------------------------------------------------------------------------------------
 * The fold of each example; *folds of them, over *groups. */
int perf_folds_find(int *fold, int *folds, int64_t *groups, const hpc_perf_example *e, int64_t n);

#endif
