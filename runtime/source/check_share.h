/*
 * check_share.h: parses of standard headers that files share, in the process of libclang. Only
 * check_serve.c uses it.
 */
#ifndef HPC_SOURCE_CHECK_SHARE_H
#define HPC_SOURCE_CHECK_SHARE_H

#include <limits.h>

#include "runtime/source/check_priv.h"
#include "runtime/source/clang/clang.h"

enum { CHECK_TEXTS_MOST = 8 };

typedef struct check_shared { /* a set of headers with the flags that they are parsed with */
    uint64_t flags;           /* their hash */
    check_headers set;
    hpc_clang_unit *unit; /* NULL: not open */
    uint64_t used;        /* when */
    bool broken;          /* it cannot be opened, or has errors */
    bool taken;           /* a file uses it */
} check_shared;
typedef struct check_share {
    const hpc_clang *table;
    char path[PATH_MAX]; /* of our text */
    hpc_buf main;        /* our text */
    check_shared *item;
    int64_t n, cap, open_n;
    uint64_t clock;
} check_share;
void check_share_init(check_share *s, const hpc_clang *table, const char *library);

/* Opens a file with a shared unit; texts[0] is the file, texts[1] declares names for it. Returns the
 * number of the unit, or -1: there is none for these headers, and the file is to be opened alone. */
int64_t check_share_open(check_share *s, const check_headers *set, const hpc_clang_text *texts,
                         size_t n, const char *const *flags);
/* Parses another text of the file; false: the unit is closed, or is not one for this file. */
bool check_share_parse(check_share *s, int64_t k, const hpc_clang_text *texts, size_t n);
void check_share_close(check_share *s, int64_t k);
hpc_clang_unit *check_share_unit(const check_share *s, int64_t k);

#endif
