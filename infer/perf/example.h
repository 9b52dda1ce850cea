/*
 * example.h: examples for the learner with where they are from, and the file that keeps them: what
 * a model was made of, without any repository.
 */
#ifndef HPC_PERF_EXAMPLE_H
#define HPC_PERF_EXAMPLE_H

#include "infer/perf/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_perf_origin {
    size_t repository, metric; /* in `names`: a name, never a path */
    hpc_git_id base, head;     /* commits */
} hpc_perf_origin;
typedef struct hpc_perf_examples {
    hpc_perf_example *item; /* group: the number of its repository, in the order of first mention */
    hpc_perf_origin *from;
    int64_t n, cap, from_cap;
    hpc_buf names;
    size_t *repository; /* in `names`, of each group */
    int64_t groups, groups_cap;
    const char *lacks; /* a feature that a file has not: found again, or 0; NULL: it has all */
    int64_t again_n;   /* refused: of a commit, repository and metric that is there */
    hpc_map *there;
} hpc_perf_examples; /* zero to begin with */
void hpc_perf_examples_release(hpc_perf_examples *x);
/* Takes e but for its group, features rounded to f32, as which they are written. 1: added; 0: it is
 * there, and counted in again_n. */
int hpc_perf_examples_add(hpc_perf_examples *x, const hpc_perf_example *e, const char *repository,
                          const char *metric, const hpc_git_id *base, const hpc_git_id *head);
static inline const char *hpc_perf_examples_name(const hpc_perf_examples *x, size_t at)
{
    return x->names.data + at;
}

/* A table with commas, a line of names first: repository, metric, commit, base, time, label,
 * change, and all features. */
int hpc_perf_examples_write(const hpc_perf_examples *x, const char *path);
/* Adds those of a file, which is untrusted. HPC_E_FORMAT: it says which line. One that was written
 * when there were fewer features leaves the others 0, and says so in `lacks`. */
int hpc_perf_examples_read(hpc_perf_examples *x, const char *path);
/* The same of a text, which is cut up; path: for messages. */
enum { HPC_PERF_EXAMPLES_MOST = 1 << 30 };
int hpc_perf_examples_parse(hpc_perf_examples *x, hpc_buf *text, const char *path);

#ifdef __cplusplus
}
#endif
#endif
