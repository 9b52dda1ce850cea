/*
 * grammar_priv.h: internals of a grammar: an automaton (one row for each kind), and the tree of
 * tokens that it traverses.
 */
#ifndef HPC_INFER_GRAMMAR_PRIV_H
#define HPC_INFER_GRAMMAR_PRIV_H

#include "infer/engine/grammar.h"

/* ---- classes of bytes -------------------------------------------------------------------------
 * For each part of the tree, the classes of its bytes are known. */
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
    BYTE_HIGH = 1 << 15,     /* outside ASCII */
    BYTE_SEMICOLON = 1 << 16,
    BYTE_ANY = (1 << 17) - 1
};
uint32_t grammar_class(uint8_t c);

/* ---- states -----------------------------------------------------------------------------------
 * Plain bytes, initially zero: equal states compare equal. */
enum { BRACKETS_MOST = 256, BRACKETS_DELIMITER = 16 };
typedef struct grammar_brackets {
    uint8_t open[BRACKETS_MOST / 4]; /* two bits each, the outermost first */
    uint8_t delimiter[BRACKETS_DELIMITER];
    uint16_t depth, floor, home, outside; /* now; may not close; at first; around it */
    uint16_t low;                         /* the lowest depth since the start */
    uint8_t mode, word, head, delimiter_n, at;
    uint8_t slash, star, escape, line_start; /* the preceding bytes */
    uint8_t directive, balanced, tolerant;
    uint8_t begun_mode, begun_directive; /* still in a construct that began before the cursor */
} grammar_brackets;

/* Rows [lo, hi) of a sorted table begin with the text so far, `at` bytes. */
typedef struct grammar_phrase {
    uint8_t lo, hi, at, gap; /* gap: a blank follows the text */
} grammar_phrase;
/* Likewise for the names of a rule. */
typedef struct grammar_spelling {
    uint16_t lo, hi, at, mode; /* grammar_name.c */
} grammar_spelling;
typedef struct grammar_directive {
    const hpc_grammar_rule *rule; /* if not NULL, only its names are allowed */
    uint64_t open[2];             /* clauses that may still follow */
    uint64_t nest; /* brackets within an argument, two bits each, the innermost lowest */
    grammar_spelling spelling;
    grammar_phrase name, word;         /* of the directive or a head; of a clause or a choice */
    uint8_t phase, last, escape, bare; /* of the line: grammar_directive.c */
    uint8_t directive, clause;         /* rows */
    uint8_t met, ifs;                  /* a needed clause has occurred; number of `if` clauses */
    uint8_t form, part, head, flags, identifier; /* of an argument: grammar_argument.c */
    uint8_t body, item, nested, quote, solid, slash, colon, questions;
} grammar_directive;

typedef struct grammar_json {
    uint64_t objects; /* bit d: level d is an object, else a list */
    uint16_t unit;    /* of an escape */
    uint8_t mode, depth, digits, key, word, more, lo, hi;
} grammar_json;

typedef struct grammar_gbnf {
    hpc_gbnf *g;
    int64_t number;
} grammar_gbnf;

enum { STATE_WORDS = 13 };
typedef union grammar_state {
    uint64_t word[STATE_WORDS]; /* all of it */
    grammar_brackets brackets;
    grammar_directive directive;
    grammar_json json;
    grammar_gbnf gbnf;
} grammar_state;
_Static_assert(sizeof(grammar_state) == STATE_WORDS * sizeof(uint64_t), "words hold all states");

/* ---- kinds ---------------------------------------------------------------------------------- */
typedef struct grammar_kind {
    const char *name;
    /* Starts from a zero state. Returns how many bytes of the prefix were accepted: n, or the
     * offset of the byte that breaks the rule. */
    size_t (*start)(grammar_state *s, const hpc_grammar_rule *r, const char *prefix, size_t n);
    bool (*step)(grammar_state *s, uint8_t byte); /* after false, s must not be used */
    bool (*may_end)(const grammar_state *s);
    /* Classes of bytes that may follow in any order, up to `most` bytes. Subtrees with bytes of
     * these classes only are accepted without a search. 0 is always valid. */
    uint32_t (*any_of)(const grammar_state *s, size_t most);
} grammar_kind;
extern const grammar_kind grammar_brackets_kind, grammar_directive_kind, grammar_json_kind;
/* As `start`, for kinds that treat a prefix like other text. */
size_t grammar_step_all(grammar_state *s, const grammar_kind *k, const char *text, size_t n);

/* ---- vocabulary ----------------------------------------------------------------------------- */
typedef struct vocabulary_node {
    uint32_t next;    /* the node after this one and all its descendants */
    uint32_t first;   /* index in `id`: its own tokens, then those of its descendants */
    uint32_t classes; /* of its byte and of its descendants */
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
    uint8_t *loses;          /* [n]: its leading blank is dropped at the beginning of a text */
    bool any_loses;
    int32_t *id;           /* [text_n], in the order of their bytes */
    vocabulary_node *node; /* [node_n + 1], parents first */
};

/* Computes the allowed tokens. `state`: [longest + 1]; the first is the state where they begin.
 * Counts in `steps` the bytes that were tried. */
typedef struct grammar_walk {
    const hpc_vocabulary *v;
    const grammar_kind *kind;
    grammar_state *state;
    const char *owed; /* [owed_n]: bytes that tokens must spell before the automaton starts */
    size_t owed_n;
    uint32_t *any_of; /* [longest + 1] */
    uint32_t *bits;   /* [(n + 31) / 32]: allowed tokens are added to this set */
    int64_t steps;
} grammar_walk;
void grammar_walk_all(grammar_walk *w);
/* Computes the allowed tokens at the beginning of a text. */
void grammar_walk_begin(grammar_walk *w);

#endif
