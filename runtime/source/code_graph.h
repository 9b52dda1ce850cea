/*
 * code_graph.h: graphs of a loop or a function, or of a function before and after a change: nodes
 * for statements, brackets and tokens, and typed edges for syntax, order, control, data and calls.
 *
 * Graphs of tokens need no headers, and macros are not expanded. Those of a compiler's tree
 * (tree.h) need both: variables are declarations, and their nodes are labelled by type. Names of
 * variables are not part of a node's label, because they say little about other programs; names of
 * functions, members, types and keywords are. Data edges follow names or declarations, not memory:
 * two names of one array are two variables.
 */
#ifndef HPC_SOURCE_CODE_GRAPH_H
#define HPC_SOURCE_CODE_GRAPH_H

#include "runtime/source/source.h"
#include "runtime/source/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_code_kind {
    HPC_CODE_STATEMENT,
    HPC_CODE_LOOP,   /* for, while, do */
    HPC_CODE_BRANCH, /* if, else, switch, case */
    HPC_CODE_JUMP,   /* return, break, continue, goto, throw */
    HPC_CODE_BLOCK,  /* { of statements */
    HPC_CODE_GROUP,  /* another bracket */
    HPC_CODE_CALL,   /* a name before a ( */
    HPC_CODE_WORD,   /* a keyword, a member */
    HPC_CODE_READ,   /* a variable; of a tree also a field of the object itself */
    HPC_CODE_WRITE,
    HPC_CODE_CONSTANT, /* numbers, strings, characters */
    HPC_CODE_OPERATOR,
    HPC_CODE_KINDS
} hpc_code_kind;

typedef enum hpc_code_edge_kind {
    HPC_CODE_SYNTAX,  /* parent to child */
    HPC_CODE_ORDER,   /* a child to the next one of its statement or group */
    HPC_CODE_CONTROL, /* a statement to one that may run next; of the last one in a loop, the loop
                       */
    HPC_CODE_DATA,    /* the last write of a name to a read or write of it */
    HPC_CODE_CARRIED, /* the same around a loop: from a write to a read above it */
    HPC_CODE_FLOW,    /* calls: a call to the next call of the function; arguments to the call */
    HPC_CODE_SAME,    /* a node before a change to the equal one after it */
    HPC_CODE_EDGE_KINDS
} hpc_code_edge_kind;

typedef struct hpc_code_node {
    uint32_t label;            /* hash of the spelling; of a statement, of its first token */
    uint32_t at;               /* byte offset in its text */
    uint8_t kind, side, depth; /* side 1: after a change; depth: loops around it, at most 255 */
    bool changed;
} hpc_code_node;
typedef struct hpc_code_edge {
    int32_t from, to;
    hpc_code_edge_kind kind;
} hpc_code_edge;
typedef struct hpc_code_graph {
    hpc_code_node *node;
    int64_t n, cap;
    hpc_code_edge *edge; /* in the order of their discovery; none twice in a row */
    int64_t edges_n, edges_cap;
    bool cut;         /* the limit of nodes was reached */
    void *scratch[3]; /* of the walk */
    int64_t scratch_cap[3];
} hpc_code_graph; /* zero to begin with; reused by the next call */
void hpc_code_graph_release(hpc_code_graph *g);

enum { HPC_CODE_NODES = 512 }; /* of one side; the rest of the text is left out */
/* Replaces g by the graph of text[at, end), whose tokens are t. Directives and comments have no
 * nodes. HPC_E_UNSUPPORTED: Fortran. */
int hpc_code_graph_of(hpc_code_graph *g, const hpc_tokens *t, const char *text, size_t at,
                      size_t end, hpc_language l);
/* Replaces g by the graph of a loop, another statement or a FUNCTION of a tree. Only nodes of
 * tokens can have a side 1. Array subscripts are GROUPs, and casts, constructors and members WORDs;
 * parentheses have no nodes. */
int hpc_code_graph_of_tree(hpc_code_graph *g, const hpc_tree *t, int32_t node);
/* Adds the text after a change, with edges between nodes that are the same in both. All others
 * are `changed`. */
int hpc_code_graph_add_head(hpc_code_graph *g, const hpc_tokens *t, const char *text, size_t at,
                            size_t end, hpc_language l);

#ifdef __cplusplus
}
#endif
#endif
