/*
 * line.h: the commits of a performance history in the order in which one came from another,
 * and which of them were built to the same bytes.
 */
#ifndef HPC_HISTORY_LINE_H
#define HPC_HISTORY_LINE_H

#include "corpus/history/database.h"

typedef struct perf_product { /* what a commit was built to */
    uint64_t how;             /* command and machine */
    char hash[PERF_PRODUCT];
} perf_product;
typedef struct perf_commit {
    char id[PERF_ID];
    int64_t parent; /* its place; -1: none that the history has */
    int64_t time;
    bool main;              /* behind the latest commit by parents; else of a branch beside that */
    int64_t product, built; /* its first product, and how many it has */
} perf_commit;
/* None before its parent. Commits that nothing ties together come one history after the other, that
 * with the earlier root first; else the earlier commit first. Commits whose parents go round in
 * circles are left out. */
typedef struct perf_line {
    perf_commit *item;
    int64_t n, cap;
    perf_product *product;
    int64_t products_n, products_cap;
    hpc_map *places; /* of ids */
} perf_line;
int perf_line_load(perf_line *out, perf_db *d);
void perf_line_release(perf_line *l);
int64_t perf_line_find(const perf_line *l, const char *id); /* its place, or -1 */
/* Some command on some machine built both to the same bytes, and none to others. */
bool perf_line_same(const perf_line *l, int64_t a, int64_t b);

/* What each commit is held against, in one series: measured[k] says which commits have samples of
 * it, and both results have a place for each commit. source[k] is the commit whose samples stand
 * for k: its own, or those of the parent that it is the same as, or of that one's, ...; -1: none.
 * base[k] is the nearest before k that has a source; -1: none. */
void perf_line_bases(int64_t *base, int64_t *source, const perf_line *l, const bool *measured);

#endif
