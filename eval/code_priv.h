/*
 * code_priv.h: samples of code between code_read.c, code.c and code_area.c.
 */
#ifndef HPC_EVAL_CODE_PRIV_H
#define HPC_EVAL_CODE_PRIV_H

#include "eval/code.h"

typedef struct code_sample {
    hpc_code_graph graph;
    int64_t group, fold, label;
    double score, graph_score; /* score NAN: none */
    bool of_tree;              /* the graph is of the compiler's tree */
} code_sample;
typedef struct code_set {
    code_sample *item;
    int64_t n, cap;
    hpc_map *groups;
    hpc_tokens t; /* scratch */
} code_set;

/* code_read.c */
int code_set_read(code_set *s, const char *path, int (*open_checker)(hpc_checker **out),
                  hpc_progress *progress);
void code_set_release(code_set *s);

/* code_area.c: in time n log n for n samples. HPC_E_ARG: no group of the tested samples has both
 * labels. */
int code_check_groups(const code_set *s);
int code_areas(hpc_eval_code_result *out, const code_set *s, uint64_t seed);

#endif
