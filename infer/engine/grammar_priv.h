/*
 * grammar_priv.h: a grammar's inside: what an automaton is (one row for each kind), and the
 * tree of tokens that it is led through.
 */
#ifndef HPC_INFER_GRAMMAR_PRIV_H
#define HPC_INFER_GRAMMAR_PRIV_H

#include "infer/engine/grammar.h"

/* ---- bytes ------------------------------------------------------------------------------------
 * Of a part of the tree it is known which classes of bytes are in it. */
enum {
    BYTE_WORD = 1 << 0,  /* letters, digits and '_' */
    BYTE_BLANK = 1 << 1, /* ' ' */
    BYTE_LINE = 1 << 2,  /* '\n' */
    BYTE_CONTROL = 1 << 3,
    BYTE_OPEN = 1 << 4,  /* ( [ { */
    BYTE_CLOSE = 1 << 5, /* ) ] } */
    BYTE_QUOTE = 1 << 6,
    BYTE_TICK = 1 << 7, /* ' */
    BYTE_BACKSLASH = 1 << 8,
    BYTE_SLASH = 1 << 9,
    BYTE_COMMA = 1 << 10,
    BYTE_COLON = 1 << 11,
    BYTE_STAR = 1 << 12,
    BYTE_OPERATOR = 1 << 13, /* other characters that C has in expressions */
    BYTE_STRANGE = 1 << 14,  /* other ASCII */
    BYTE_HIGH = 1 << 15,     /* no ASCII */
    BYTE_SEMICOLON = 1 << 16,
    BYTE_ANY = (1 << 17) - 1
};
uint32_t grammar_class(uint8_t c);

/* ---- states -----------------------------------------------------------------------------------
 * Plain bytes, all of them zero to begin with: equal states compare equal. */
enum { BRACKETS_MOST = 256, BRACKETS_DELIMITER = 16 };
typedef struct grammar_brackets {
    uint8_t open[BRACKETS_MOST / 4]; /* two bits each, the outermost first */
    uint8_t delimiter[BRACKETS_DELIMITER];
    uint16_t depth, floor, home, outside; /* now; may not be closed; at first; of the directive */
    uint16_t low;                         /* the least since */
    uint8_t mode, word, head, delimiter_n, at;
    uint8_t slash, star, escape, line_start; /* what came just before */
    uint8_t directive, balanced, tolerant;
    uint8_t begun_mode, begun_directive; /* still in what the text before has begun */
} grammar_brackets;

/* Rows [lo, hi) of a sorted table begin with what has come, which is `at` long. */
typedef struct grammar_phrase {
    uint8_t lo, hi, at, gap; /* gap: a blank has come behind it */
} grammar_phrase;
/* The same of a rule's names, while one comes. */
typedef struct grammar_spelling {
    uint16_t lo, hi, at, mode; /* grammar_name.c */
} grammar_spelling;
typedef struct grammar_directive {
    const hpc_grammar_rule *rule; /* whose names are the only ones; NULL: any may come */
    uint64_t open[2];             /* clauses that may still come */
    uint64_t nest; /* brackets within an argument, two bits each, the innermost lowest */
    grammar_spelling spelling;
    grammar_phrase name, word;         /* of the directive or a head; of a clause or a choice */
    uint8_t phase, last, escape, bare; /* of the line: grammar_directive.c */
    uint8_t directive, clause;         /* rows */
    uint8_t met, ifs;                  /* what the directive needs has come; how many `if` */
    uint8_t form, part, head, flags, identifier; /* of an argument: grammar_argument.c */
    uint8_t body, item, nested, quote, solid, slash, colon, questions;
} grammar_directive;

typedef struct grammar_json {
    uint64_t objects; /* bit d: level d is an object, else a list */
    uint16_t unit;    /* of an escape */
    uint8_t mode, depth, digits, key, word, more, lo, hi;
} grammar_json;

enum { STATE_WORDS = 13 };
typedef union grammar_state {
    uint64_t word[STATE_WORDS]; /* all of it */
    grammar_brackets brackets;
    grammar_directive directive;
    grammar_json json;
} grammar_state;
_Static_assert(sizeof(grammar_state) == STATE_WORDS * sizeof(uint64_t), "words hold all states");

/* ---- kinds ------------------------------------------------------------------------------------
 */
typedef struct grammar_kind {
    const char *name;
    /* From zero. Returns how many bytes of the prefix have been taken: n, or where it breaks the
     * rule. */
    size_t (*start)(grammar_state *s, const hpc_grammar_rule *r, const char *prefix, size_t n);
    bool (*step)(grammar_state *s, uint8_t byte); /* after false, s is of no use */
    bool (*may_end)(const grammar_state *s);
    /* Classes of bytes of which any `most` may come, in any order: what holds no others is not
     * looked into. 0 is always right. */
    uint32_t (*any_of)(const grammar_state *s, size_t most);
} grammar_kind;
extern const grammar_kind grammar_brackets_kind, grammar_directive_kind, grammar_json_kind;
/* As `start` does, for kinds that take a prefix as they take text. */
size_t grammar_step_all(grammar_state *s, const grammar_kind *k, const char *text, size_t n);

/* ---- vocabulary -------------------------------------------------------------------------------
 */
typedef struct vocabulary_node {
    uint32_t next;    /* behind all that begins as this does: the nodes between are below it */
    uint32_t first;   /* of `id`: its own tokens, then those below */
    uint32_t classes; /* of its byte and those below */
    uint16_t depth;   /* from 1 */
    uint8_t byte;
} vocabulary_node;
typedef struct vocabulary_piece {
    uint32_t at, n; /* of `bytes`; n 0: no text */
} vocabulary_piece;
struct hpc_vocabulary {
    int64_t n, text_n, node_n;
    size_t longest;
    hpc_buf bytes;
    vocabulary_piece *piece; /* [n] */
    uint8_t *loses;          /* [n]: its blank, where it begins a text */
    bool any_loses;
    int32_t *id;           /* [text_n], in the order of their bytes */
    vocabulary_node *node; /* [node_n + 1], each before those below it */
};

/* The tokens that may come. `states`: [longest + 1], whose first is where they do. Returns how
 * many bytes were asked about. */
typedef struct grammar_walk {
    const hpc_vocabulary *v;
    const grammar_kind *kind;
    grammar_state *state;
    const char *owed; /* [owed_n]: what tokens have to spell before the automaton is asked */
    size_t owed_n;
    uint32_t *any_of; /* [longest + 1] */
    uint32_t *bits;   /* [(n + 31) / 32], to which tokens are added */
    int64_t steps;
} grammar_walk;
void grammar_walk_all(grammar_walk *w);
/* The same at the beginning of a text. */
void grammar_walk_begin(grammar_walk *w);

#endif
