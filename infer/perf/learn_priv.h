/*
 * learn_priv.h: views of feature vectors, the parts that score them, and the contents of a model.
 */
#ifndef HPC_PERF_LEARN_PRIV_H
#define HPC_PERF_LEARN_PRIV_H

#include <math.h>

#include "infer/perf/learn.h"

/* ---- view.c: input of the two questions ---------------------------------------------------------
 * Values become signed logarithms. SIZE has their absolute values, equal for a change and its
 * reverse. SIDE has the values that change sign when a change is reversed, and 0 for the others.
 * Two sums over all events, weighted by typical cost, follow the features: of code, and of flags.
 */
typedef enum perf_question { PERF_SIZE, PERF_SIDE, PERF_QUESTIONS } perf_question;
enum { PERF_CODE_SUM = HPC_PERF_FEATURES, PERF_FLAG_SUM, PERF_WIDTH };
typedef struct perf_view {
    double z[PERF_WIDTH];
    double firm; /* weight of its score, relative to that of a small change */
} perf_view;
void perf_view_find(perf_view *out, perf_question q, const hpc_perf_vector *x);
/* Maps contributions of the columns of a view to features: adds the weight of one unit of each
 * feature to `weight`. */
void perf_view_weights(double *weight, perf_question q, const hpc_perf_vector *x,
                       const double *contribution);
double perf_signed_log(double v);
/* Typical cost of all events of code, as a signed logarithm. */
double perf_code_cost(const hpc_perf_vector *x);
double perf_view_scaled(int feature, double v); /* signed logarithm */
/* Largest absolute value of a feature, in the change and in its reverse. */
double perf_view_reach(const hpc_perf_vector *x, int feature);
/* Relative weights of the columns without any example. */
void perf_view_prior(double weight[PERF_WIDTH], perf_question q);
/* Sign that the weight of a column must have: 1, -1; 0: any. More of a costly event is not faster,
 * and a larger change is not more likely the same; few examples that contradict this are chance. */
void perf_view_signs(signed char sign[PERF_WIDTH], perf_question q);

/* ---- sparse rows of examples --------------------------------------------------------------------
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
/* The prior of a fit: that of the view, scaled by a fit to these rows, and its bias. */
int perf_prior_fit(perf_line *out, const perf_rows *r, perf_question q);
/* Minimizes the sum of losses + strength / 2 * |weight - prior|^2 over weights with the signs of
 * the view, starting from `line`. The bias is free for SIZE and 0 for SIDE. During a fit of SIZE
 * each repository also has its own bias, because rates of effects differ: else a large repository
 * without effects would make all changes look harmless. */
int perf_line_fit(perf_line *line, const perf_rows *r, const perf_line *prior, double strength,
                  perf_question q);

/* ---- trees.c ------------------------------------------------------------------------------------
 * Node 0 is the root, 1 and 2 are its children, 3 to 6 the leaves. column -1: all go left. */
enum { PERF_TREE_NODES = 7, PERF_TREE_CUTS = 3, PERF_TREES_MOST = 120 };
typedef struct perf_tree {
    int column[PERF_TREE_CUTS];
    double cut[PERF_TREE_CUTS]; /* values below go left */
    double value[PERF_TREE_NODES];
} perf_tree;
/* Replaces tree[0..n) by trees that are each fitted to the residual, starting from `base`. */
int perf_trees_fit(perf_tree *tree, int n, const perf_rows *r, double base);
double perf_tree_value(const perf_tree *t, const perf_view *v, double sign);
/* Adds the contribution of each column to the value of the tree, without that of the root. */
void perf_tree_explain(double *contribution, const perf_tree *t, const perf_view *v, double sign,
                       double scale);

/* ---- models
 * --------------------------------------------------------------------------------------- */
typedef struct perf_scorer {
    perf_line line;
    double base;  /* of the trees */
    double share; /* of the trees in the sum; the rest is of the line */
    perf_tree *tree;
    int trees;
} perf_scorer;
double perf_score(const perf_scorer *s, perf_question q, const perf_view *v);

enum { PERF_FOLDS_LEAST = 2, PERF_FOLDS = 6, PERF_METRIC = 64 };
typedef struct perf_scored { /* an example, scored by the member that did not see it */
    int fold;
    hpc_perf_verdict label;
    double slower, faster; /* uncalibrated probabilities */
} perf_scored;
struct hpc_perf_model {
    char metric[PERF_METRIC];
    double alarm, miss;
    int64_t examples[3], groups;
    int folds;
    perf_scorer member[PERF_FOLDS][PERF_QUESTIONS]; /* by fold: the one that did not see it */
    double intercept[PERF_QUESTIONS], slope[PERF_QUESTIONS]; /* calibration of their mean */
    double reach[HPC_PERF_FEATURES];
    double allowance; /* factor by which a feature may exceed its reach */
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
