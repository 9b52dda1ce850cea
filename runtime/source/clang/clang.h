/*
 * clang.h: libclang as a C function table, which the program hpccoder-clang (main.c)
 * serves and tests replace. It calls no hpccoder function.
 *
 * A malicious text can make libclang crash, hang or exhaust memory, and nothing here
 * prevents it: call these functions in a process that may be lost.
 */
#ifndef HPC_SOURCE_CLANG_CLANG_H
#define HPC_SOURCE_CLANG_CLANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/source/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_CLANG_ERROR_BYTES = 400 };

typedef struct hpc_clang_unit hpc_clang_unit; /* one file with the flags that it is parsed with */
typedef struct hpc_clang_kept hpc_clang_kept;

/* The content of a file as libclang sees it; the path need not exist. */
typedef struct hpc_clang_text {
    const char *path;
    const char *text;
    size_t n;
} hpc_clang_text;

/* An error of the compiler, never a warning. Lives for the call that reports it. */
typedef struct hpc_clang_issue {
    bool parse;  /* of the parser, lexer or preprocessor; else of the meaning */
    bool inside; /* in the unit's own file; else in one that it includes, or in none */
    uint32_t line,
        column;         /* from 1, in the unit's own file: of the error, or of what led to it; 0 */
    uint32_t at;        /* byte of that place */
    const char *text;   /* the message, without its place */
    const char *header; /* of an error in a header: its name without folders; "" */
    uint32_t header_line;
} hpc_clang_issue;

/* A tree of the unit's own file, in the order of tree.h; parents follow from the ends, and lines
 * and columns from the places. Lives until the unit's next call. */
typedef struct hpc_clang_node {
    uint8_t kind, op;
    uint16_t flags;
    int32_t end, type, symbol;
    uint32_t at, to;
} hpc_clang_node;
typedef struct hpc_clang_tree {
    const hpc_clang_node *node;
    const int64_t *value;      /* of each NUMBER, in their order */
    const hpc_tree_type *type; /* `to` is of one that comes before */
    const hpc_symbol *symbol;
    const char *name;
    size_t n, values_n, types_n, symbols_n, names_bytes;
    bool cut;
} hpc_clang_tree;

typedef struct hpc_clang {
    /* Opens a file: texts[0] is the file; flags are NULL-terminated and do not name it. `bodies`:
     * parses the bodies of functions in headers. `again`: keeps the parsed headers that the file
     * begins with, which makes later parses faster. *kept is what the units of the process share,
     * NULL before the first one; it is never freed. Returns 0, or -1 with one line in `error`.
     * Writes nothing to disk. */
    int (*open)(hpc_clang_unit **out, hpc_clang_kept **kept, const hpc_clang_text *texts,
                size_t texts_n, const char *const *flags, bool bodies, bool again,
                char error[HPC_CLANG_ERROR_BYTES]);
    /* Parses again with other texts; texts[0] keeps its path. texts[own] becomes the unit's own
     * file: texts[0], or the last file that texts[0] includes. Returns 1 and does nothing if the
     * kept headers contain that file. After a failure the unit can only be closed. */
    int (*parse)(hpc_clang_unit *u, const hpc_clang_text *texts, size_t texts_n, size_t own,
                 char error[HPC_CLANG_ERROR_BYTES]);
    /* Frees the results of the last parse; the kept headers stay. */
    void (*suspend)(hpc_clang_unit *u);
    /* Reports the errors of the last parse in order, until `report` returns false. */
    void (*issues)(const hpc_clang_unit *u,
                   bool (*report)(const hpc_clang_issue *issue, void *user), void *user);
    /* The tree of the last parse. */
    void (*tree)(hpc_clang_tree *out, hpc_clang_unit *u);
    void (*close)(hpc_clang_unit *u); /* NULL is fine */
} hpc_clang;

extern const hpc_clang hpc_clang_table;

#ifdef __cplusplus
}
#endif
#endif
