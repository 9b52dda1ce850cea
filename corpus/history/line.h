/*
 * line.h: commits of a performance history, parents first, with the products that they were built
 * to.
 */
#ifndef HPC_HISTORY_LINE_H
#define HPC_HISTORY_LINE_H

#include "corpus/history/database.h"

typedef struct perf_product { /* result of a build */
    uint64_t how;             /* command and machine */
    char hash[PERF_PRODUCT];
} perf_product;
typedef struct perf_commit {
    char id[HPC_HISTORY_ID];
    int64_t parent; /* its number; -1: not in the history */
    int64_t time;
    bool main;              /* an ancestor of the latest commit, or that commit; else on a branch */
    int64_t product, built; /* its first product, and their number */
} perf_commit;
/* Parents precede their children. Histories without a common commit follow each other, the one with
 * the earlier root first; otherwise earlier commits come first. Commits in a cycle of parents are
 * left out. */
typedef struct perf_line {
    perf_commit *item;
    int64_t n, cap;
    perf_product *product;
    int64_t products_n, products_cap;
    hpc_map *places; /* from ids to numbers */
} perf_line;
int perf_line_load(perf_line *out, hpc_history_db *d);
void perf_line_release(perf_line *l);
int64_t perf_line_find(const perf_line *l, const char *id); /* its number, or -1 */
/* True if a command on a machine built both to the same bytes, and none to different bytes. */
bool perf_line_same(const perf_line *l, int64_t a, int64_t b);

/* Finds the commit that each commit is compared with, in one series. measured[k]: commit k has
 * samples. source[k] is the commit with the samples for k: k itself, or the nearest ancestor with
 * the same product; -1: none. base[k] is the nearest ancestor of k that has a source; -1: none. */
void perf_line_bases(int64_t *base, int64_t *source, const perf_line *l, const bool *measured);

#endif
