/* Nodes of a GBNF grammar, and how the parser makes them: private to infer/engine/gbnf*.c. */
#ifndef HPC_INFER_GBNF_PRIV_H
#define HPC_INFER_GBNF_PRIV_H

#include "infer/engine/gbnf.h"

typedef enum gbnf_kind {
    GBNF_RETURN, /* the end of a rule */
    GBNF_BYTES,  /* one byte of [lo, hi], then `next` */
    GBNF_SPLIT,  /* `next`, or `other`; -1: none */
    GBNF_CALL    /* the rule `other`, then `next` */
} gbnf_kind;

typedef struct gbnf_node {
    gbnf_kind kind;
    int32_t next, other;
    uint8_t lo, hi;
} gbnf_node;

typedef struct gbnf_rule {
    char *name;
    int32_t entry; /* -1: not defined yet */
    int64_t line;  /* where it is first named */
} gbnf_rule;

typedef struct gbnf_nodes {
    gbnf_node *node;
    int64_t n, cap;
    gbnf_rule *rule;
    int64_t rule_n, rule_cap;
    int failed; /* the first error of gbnf_add */
} gbnf_nodes;

/* Node 0 is a RETURN, and rule 0 is `root`. */
int gbnf_nodes_parse(gbnf_nodes *out, const char *text, size_t n);
void gbnf_nodes_release(gbnf_nodes *g);

/* Appends a node; its number. 0 after an error. */
int32_t gbnf_add(gbnf_nodes *g, gbnf_node x);
/* Code points [lo, hi] as UTF-8, then `next`; or `otherwise`, where -1 is nothing. Surrogates are
 * left out. */
int32_t gbnf_add_points(gbnf_nodes *g, uint32_t lo, uint32_t hi, int32_t next, int32_t otherwise);

#endif
