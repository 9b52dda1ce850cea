/*
 * grammar.h: the set of tokens that may come next if a text must follow rules.
 *
 * A grammar is an automaton over bytes. It starts at the end of a text and advances with each
 * token. A vocabulary is the tree of the bytes of all tokens; one per tokenizer, shared by grammars
 * and threads. A token is allowed if all its bytes are. It may end within a UTF-8 character.
 *
 * Names and types are not known here: allowed text need not compile.
 */
#ifndef HPC_GRAMMAR_H
#define HPC_GRAMMAR_H

#include "infer/engine/gbnf.h"
#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* n: tokens of the model, which may differ from those of the tokenizer; 0: the same. Control
 * tokens, the unknown token, and tokens of no bytes or more than 1024 bytes are never text. The
 * tokenizer is not kept. */
typedef struct hpc_vocabulary hpc_vocabulary;
int hpc_vocabulary_create(hpc_vocabulary **out, const hpc_tokenizer *t, int64_t n);
void hpc_vocabulary_free(hpc_vocabulary *v);
/* The *n bytes that a token adds to a text; NULL and 0: it is not text. */
const char *hpc_vocabulary_text(const hpc_vocabulary *v, int32_t token, size_t *n);
/* True if a token is longer than this text and begins with it. */
bool hpc_vocabulary_goes_on(const hpc_vocabulary *v, const char *text, size_t n);

typedef enum hpc_grammar_kind {
    /* C, C++ and CUDA: a closing bracket must match the innermost open one. Brackets in strings,
     * characters and comments do not count. Those in a directive balance among themselves and end
     * with it. At most 256 may be open; of the text before, the innermost count. All branches of an
     * #if count. Digraphs are not brackets. A semicolon occurs in the parentheses of a `for`, an
     * `if` or a `switch` and in no other; brackets that the text before left open are exempt once
     * one of them has been closed. The text may end anywhere. */
    HPC_GRAMMAR_BRACKETS,
    /* One OpenMP 5.2 directive of C or C++ and its newline, with the clauses that it accepts, as
     * often and with the arguments that OpenMP allows. The directive begins on or continues the
     * last line of the text before. Expressions must balance; only their names are checked, against
     * the names of the rule. */
    HPC_GRAMMAR_DIRECTIVE,
    /* One value of RFC 8259 with at most 64 levels, and nothing after it. For portability,
     * characters are complete, escaped surrogates come in pairs, \u0000 is excluded, and numbers
     * have at most 18 digits before and after the point and two in the exponent. */
    HPC_GRAMMAR_JSON,
    /* A text of a grammar in llama.cpp's GBNF; see gbnf.h. The text before does not count. */
    HPC_GRAMMAR_GBNF,
    /* Any text; for `owed` alone. */
    HPC_GRAMMAR_ANY,
    HPC_GRAMMAR_KIND_N
} hpc_grammar_kind;

typedef struct hpc_grammar_rule {
    hpc_grammar_kind kind;
    int64_t
        closers;   /* brackets: number of brackets of the text before that may be closed; -1: all */
    bool balanced; /* brackets: the text may end only with as many open brackets as at its start,
                    * and outside strings, comments and directives that it began */
    bool bare;     /* directive: it may end without its newline */
    /* directive: [names_n], the variables that clauses and expressions may name: at least one ASCII
     * identifier, sorted by strcmp, without duplicates; NULL: any. Other identifiers, functions,
     * types and keywords are rejected at the first byte that differs from all names. Only OpenMP's
     * own words may stand before a colon. Free are members after '.' and '->', names of critical
     * regions, and arguments that must only balance (match, when, declare mapper ...). */
    const char *const *names;
    int64_t names_n;
    hpc_gbnf *gbnf; /* GBNF: borrowed, and changed as the grammar is used */
} hpc_grammar_rule;
#define HPC_GRAMMAR_RULE_DEFAULTS                                                                  \
    {                                                                                              \
        .closers = -1                                                                              \
    }

/* True if `text` may follow `prefix`. *complete (may be NULL): it may end there. False for a prefix
 * that breaks the rule. */
bool hpc_grammar_accepts(const hpc_grammar_rule *r, const char *prefix, size_t prefix_n,
                         const char *text, size_t n, bool *complete);

typedef struct hpc_grammar_options {
    hpc_grammar_rule rule;
    const char *prefix; /* the text before; not kept */
    size_t prefix_n;
    size_t owed; /* number of last bytes of the prefix that the first tokens spell again; the token
                  * that completes them may be longer. At most 1024. */
    const int32_t *end; /* [end_n]: tokens that only end the text; copied */
    int64_t end_n;
    bool begins;   /* the first token begins a text for the tokenizer, as in hpc_text_create */
    int64_t masks; /* cached masks of recent states; 0: 64 */
} hpc_grammar_options;

/* One thread at a time. The vocabulary must outlive it; the names of the rule are copied.
 * HPC_E_ARG: the prefix breaks the rule; the message has the place. */
typedef struct hpc_grammar hpc_grammar;
int hpc_grammar_create(hpc_grammar **out, const hpc_vocabulary *v, const hpc_grammar_options *o);
void hpc_grammar_free(hpc_grammar *g);
/* Starts again after another text, with nothing owed; cached masks stay. An error ends it. */
int hpc_grammar_restart(hpc_grammar *g, const char *prefix, size_t n);
/* The set of allowed tokens for hpc_request's `allowed`: bit t % 32 of word t / 32 is token t's.
 * Valid until the next call. Has the end tokens if the text may end. If no token is allowed, no bit
 * is set and the error record has HPC_E_STATE. Allocates nothing. */
const uint32_t *hpc_grammar_allowed(hpc_grammar *g);
/* Advances by a token. HPC_E_STATE: it is not allowed; nothing has changed. */
int hpc_grammar_take(hpc_grammar *g, int32_t token);
bool hpc_grammar_may_end(const hpc_grammar *g);
size_t hpc_grammar_owes(const hpc_grammar *g); /* bytes still to be spelled */
/* The text has ended, or only its end is allowed. */
bool hpc_grammar_is_over(const hpc_grammar *g);

typedef struct hpc_grammar_counts {
    int64_t made, found; /* masks computed, and masks found in the cache */
    int64_t steps;       /* bytes tried by the automaton to compute masks */
} hpc_grammar_counts;
hpc_grammar_counts hpc_grammar_counts_of(const hpc_grammar *g);

#ifdef __cplusplus
}
#endif
#endif
