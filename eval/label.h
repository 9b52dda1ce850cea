/*
 * label.h: loops with known truth, as comments of their files give it: "// loop NAME: VERDICT
 * [CLAUSES] [; FACT, FACT]". The format is described with the labelled loops, in
 * tests/pragma/loops/README.md.
 */
#ifndef HPC_EVAL_LABEL_H
#define HPC_EVAL_LABEL_H

#include "infer/pragma/pragma.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_eval_truth {
    HPC_TRUTH_SAFE,
    HPC_TRUTH_IF, /* under the assumptions of the label */
    HPC_TRUTH_CARRIED,
    HPC_TRUTH_UNKNOWN
} hpc_eval_truth;
enum { HPC_EVAL_LABEL_NAMES = 16 };
typedef struct hpc_eval_label {
    uint32_t line; /* of the loop */
    hpc_eval_truth truth;
    char name_of_loop[80], text[300], clauses[200];
    char name[HPC_EVAL_LABEL_NAMES][40]; /* of `if distinct(p, q)`, in pairs; of open(f): twice */
    int64_t names_n;
    bool noncanonical, local, small;
    bool injective;                       /* safe only if an index read from memory never repeats */
    char index[HPC_EVAL_LABEL_NAMES][40]; /* the arrays of `if injective(p[q[i]])`: p, q */
    int64_t index_n;                      /* 0: no property of one array suffices */
    char violated[HPC_EVAL_LABEL_NAMES][40]; /* CARRIED: `violates(p, q)`: what an assumption that
                                                does not hold must name */
    int64_t violated_n;
} hpc_eval_label;
typedef struct hpc_eval_labels {
    hpc_eval_label *item;
    int64_t n, cap;
} hpc_eval_labels; /* initially zero; release with hpc_free(item) */

int hpc_eval_labels_read(hpc_eval_labels *out, const char *source, const char *path);
/* An assumption of the loop names what the label says does not hold. */
bool hpc_eval_label_lists_violated(const hpc_pragma_loop *l, const hpc_eval_label *want);
/* The verdict claims more than the label: parallel for a loop that is not, or conditional without
 * an assumption that the loop violates. */
bool hpc_eval_label_is_wrong(const hpc_pragma_loop *l, const hpc_eval_label *want);
/* The analysis should find the loop: it is safe, at least under assumptions that a directive can
 * state. */
bool hpc_eval_label_counts(const hpc_eval_label *want);
/* A directive has the data clauses of a label, and no others. */
bool hpc_eval_clauses_same(const char *pragma, const char *wanted);

#ifdef __cplusplus
}
#endif
#endif
