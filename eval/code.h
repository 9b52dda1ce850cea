/*
 * code.h: graph networks over code, compared with other scores of the same samples: area under the
 * curve within repositories, on folds that the network was not trained on.
 */
#ifndef HPC_EVAL_CODE_H
#define HPC_EVAL_CODE_H

#include "infer/code/encoder.h"
#include "runtime/source/check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Samples, a JSON object a line: "group" (the repository), "fold", "label" (0 or 1), "language"
 * (the default is "c++"), and "code" or, for a change, "base" and "head". A sample with "file" and
 * "line" is the loop that begins there: its graph is of the compiler's tree of the file, or, where
 * the compiler finds no loop there, of "code". "score" is another classifier's, of which only the
 * order counts. For each fold from 0 on a network is trained on the samples of all other folds;
 * samples of fold -1 are only trained on. */
typedef enum hpc_eval_code_method {
    HPC_EVAL_CODE_SCORE, /* of the file */
    HPC_EVAL_CODE_GRAPH,
    HPC_EVAL_CODE_BOTH, /* their weighted sum; the weight for a group is chosen on the others */
    HPC_EVAL_CODE_METHODS
} hpc_eval_code_method;
const char *hpc_eval_code_method_name(hpc_eval_code_method m); /* "score", "graph", "both" */

typedef struct hpc_eval_code_value { /* 95 % intervals by a bootstrap over groups */
    double value, low, high;
} hpc_eval_code_value;
typedef struct hpc_eval_code_result {
    int64_t samples, marked, groups; /* tested, with label 1, groups with both labels */
    int64_t trained, cut;            /* used in training; graphs with the most nodes */
    int64_t trees;                   /* graphs of the compiler's trees */
    bool has_score;                  /* every tested sample has one */
    double loss;                     /* of training, mean over folds */
    hpc_eval_code_value auc[HPC_EVAL_CODE_METHODS];
    hpc_eval_code_value ahead[HPC_EVAL_CODE_METHODS]; /* minus that of the score */
} hpc_eval_code_result;
enum { HPC_EVAL_CODE_FOLDS = 64, HPC_EVAL_CODE_RESAMPLES = 2000 };
/* open_checker is called once if a sample has a "file". HPC_E_FORMAT names the line of an invalid
 * sample. HPC_E_ARG: no group has both labels, or all samples outside a tested fold have one
 * label. */
int hpc_eval_code(hpc_eval_code_result *out, const char *path, const hpc_encoder_options *o,
                  int (*open_checker)(hpc_checker **out), hpc_progress *progress);

#ifdef __cplusplus
}
#endif
#endif
