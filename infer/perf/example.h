/*
 * example.h: training examples with their origin, and their file. A model can be trained from the
 * file without the repositories.
 */
#ifndef HPC_PERF_EXAMPLE_H
#define HPC_PERF_EXAMPLE_H

#include "infer/perf/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_perf_origin {
    size_t repository, metric; /* in `names`; a name, not a path */
    hpc_git_id base, head;     /* commits */
} hpc_perf_origin;
typedef struct hpc_perf_examples {
    hpc_perf_example *item; /* group: the number of its repository, in the order of first mention */
    hpc_perf_origin *from;
    int64_t n, cap, from_cap;
    hpc_buf names;
    size_t *repository; /* in `names`, of each group */
    int64_t groups, groups_cap;
    const char *lacks; /* a feature that a file lacks, set to 0; NULL: none */
    int64_t again_n;   /* duplicates of commit, repository and metric, not added */
    hpc_map *there;
} hpc_perf_examples; /* zero to begin with */
void hpc_perf_examples_release(hpc_perf_examples *x);
/* Adds e with its own group and with features rounded to f32, as in the file. 1: added; 0: a
 * duplicate, counted in again_n. */
int hpc_perf_examples_add(hpc_perf_examples *x, const hpc_perf_example *e, const char *repository,
                          const char *metric, const hpc_git_id *base, const hpc_git_id *head);
static inline const char *hpc_perf_examples_name(const hpc_perf_examples *x, size_t at)
{
    return x->names.data + at;
}

/* CSV with a header: repository, metric, commit, base, time, label, change, and all features. */
int hpc_perf_examples_write(const hpc_perf_examples *x, const char *path);
/* CSV with the probabilities of slower, same and faster of examples chosen[0] .. chosen[n-1] in
 * place of features; examples whose probabilities are NAN are left out. */
int hpc_perf_predictions_write(const hpc_perf_examples *x, const int64_t *chosen,
                               const double (*probability)[3], int64_t n, const char *path);
/* Adds the examples of an untrusted file. HPC_E_FORMAT names the line. Features that an older file
 * lacks are 0, and `lacks` names one. */
int hpc_perf_examples_read(hpc_perf_examples *x, const char *path);
/* The same for a text, which it modifies. path: for messages. */
enum { HPC_PERF_EXAMPLES_MOST = 1 << 30 };
int hpc_perf_examples_parse(hpc_perf_examples *x, hpc_buf *text, const char *path);

#ifdef __cplusplus
}
#endif
#endif
