/*
 * check_share.h: parses of standard headers that files share, in the process of libclang. Only
 * check_serve.c uses it.
 */
#ifndef HPC_SOURCE_CHECK_SHARE_H
#define HPC_SOURCE_CHECK_SHARE_H

#include <limits.h>

#include "runtime/source/check_priv.h"
#include "runtime/source/clang/clang.h"

enum { CHECK_TEXTS_MOST = 32 };

typedef struct check_shared { /* a preamble */
    uint64_t flags;           /* the hash of those that it is parsed with */
    check_headers set;
    hpc_clang_unit *unit; /* NULL: it was closed to make room, or it is broken */
    uint64_t used;        /* when */
    int lost_ms;          /* by files that would have used it */
    bool broken;          /* it cannot be opened, or has errors */
    bool taken;           /* a file uses it */
} check_shared;
typedef struct check_seen { /* what a file includes */
    uint64_t flags;
    check_headers set;
} check_seen;
typedef struct check_share {
    const hpc_clang *table;
    hpc_clang_kept *kept;
    char path[PATH_MAX]; /* of our text */
    hpc_buf main;        /* our text */
    check_shared *item;
    int64_t n, cap, open_n;
    check_seen *seen;
    int64_t seen_n, seen_cap;
    uint64_t clock;
} check_share;
void check_share_init(check_share *s, const hpc_clang *table, const char *program);

/* A file: item[0] is its text, item[1] declares names for it. */
typedef struct check_texts {
    const hpc_clang_text *item;
    size_t n;
    const char *const *flags;
} check_texts;
/* Opens a file that includes a set of headers with a shared preamble, if there is one for it or one
 * is worth its cost; the latter only unless `reopened`. Returns its number, or -1: the file is to
 * be opened alone. */
int64_t check_share_open(check_share *s, const check_headers *set, bool reopened,
                         const check_texts *t);
/* Parses another text of the file; false: the preamble is closed, or is not one for this file. */
bool check_share_parse(check_share *s, int64_t k, const check_texts *t);
void check_share_close(check_share *s, int64_t k);
hpc_clang_unit *check_share_unit(const check_share *s, int64_t k);

#endif
