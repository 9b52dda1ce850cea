/*
 * grammar.h: which tokens may come next where a text must follow rules.
 *
 * A grammar is an automaton over bytes that begins at the end of a text and has taken the
 * tokens made since. A vocabulary is the bytes that each token stands for, as a tree: one
 * for a tokenizer, read by any number of grammars and threads. A token is allowed when all its
 * bytes are; it may end within a character of UTF-8.
 *
 * What names and types mean is not known here: what is allowed need not compile.
 */
#ifndef HPC_GRAMMAR_H
#define HPC_GRAMMAR_H

#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* n: of tokens of the model, which may have more or fewer than the tokenizer; 0: as many. Tokens
 * that are control or unknown, stand for no bytes or for more than 1024 are never text. The
 * tokenizer is not kept. */
typedef struct hpc_vocabulary hpc_vocabulary;
int hpc_vocabulary_create(hpc_vocabulary **out, const hpc_tokenizer *t, int64_t n);
void hpc_vocabulary_free(hpc_vocabulary *v);
/* What a token adds to a text, *n bytes; NULL and 0: it is no text. */
const char *hpc_vocabulary_text(const hpc_vocabulary *v, int32_t token, size_t *n);
/* Whether a token begins with this text and is longer. */
bool hpc_vocabulary_goes_on(const hpc_vocabulary *v, const char *text, size_t n);

typedef enum hpc_grammar_kind {
    /* C, C++ and CUDA: a bracket that is closed is the innermost open one of its kind. Those in
     * strings, characters and comments are none; those within a directive are balanced among
     * themselves, and what the directive leaves open ends with it. 256 may be open; of more in the
     * text before, the innermost count. Branches of an #if count as if all were taken. Digraphs
     * are no brackets. A semicolon stands in no parenthesis but that of a `for`, an `if` or a
     * `switch`, and in no square bracket; but of what the text before left open only where it is
     * within that at first. It may end anywhere. */
    HPC_GRAMMAR_BRACKETS,
    /* One OpenMP 5.2 directive of C or C++ and its newline: the clauses of that directive, each as
     * often and with such arguments as it takes. The text before counts from its last line on,
     * which the directive begins or goes on. Expressions are balanced and not looked into, but
     * for the rule's names. */
    HPC_GRAMMAR_DIRECTIVE,
    /* One value of RFC 8259, of 64 levels at most, and nothing behind it. So that all readers take
     * it: characters are whole, escaped surrogates come in pairs, no \u0000, and numbers have at
     * most 18 digits before the point, 18 behind it and two in the exponent. */
    HPC_GRAMMAR_JSON,
    /* Any text, and any end: for what is owed alone. */
    HPC_GRAMMAR_ANY,
    HPC_GRAMMAR_KIND_N
} hpc_grammar_kind;

typedef struct hpc_grammar_rule {
    hpc_grammar_kind kind;
    int64_t closers; /* brackets: of those that the text before left open, so many may be closed;
                      * -1: all */
    bool balanced;   /* brackets: it ends only with as many open as there were before, and neither
                      * within a string, a comment nor a directive that it has begun */
    bool bare;       /* directive: it may end without its newline */
    /* directive: [names_n], the variables that clauses and expressions may name: identifiers of
     * ASCII, sorted by strcmp, none twice, at least one; NULL: any. Other identifiers, functions,
     * types and keywords too, are refused at the letter where they differ from all of these; before
     * a colon are OpenMP's own words alone. Free are members behind '.' and '->', the names of
     * critical regions, and what is but balanced (match, when, declare mapper ...). */
    const char *const *names;
    int64_t names_n;
} hpc_grammar_rule;
#define HPC_GRAMMAR_RULE_DEFAULTS                                                                  \
    {                                                                                              \
        .closers = -1                                                                              \
    }

/* Whether `text` may stand behind `prefix` as far as it goes; *complete: it may end there.
 * *complete may be NULL. A prefix that no rule allows goes on with nothing. */
bool hpc_grammar_accepts(const hpc_grammar_rule *r, const char *prefix, size_t prefix_n,
                         const char *text, size_t n, bool *complete);

typedef struct hpc_grammar_options {
    hpc_grammar_rule rule;
    const char *prefix; /* what it goes on with; not kept */
    size_t prefix_n;
    size_t owed; /* the prefix's last bytes, so many, come once more: tokens first spell them, and
                  * the one that ends them may go on behind them. At most 1024. */
    const int32_t *end; /* [end_n]: tokens that end it, and are nothing else; copied */
    int64_t end_n;
    bool begins;   /* the first token begins a text for the tokenizer, as in hpc_text_create */
    int64_t masks; /* of the states seen last that are kept; 0: 64 */
} hpc_grammar_options;

/* One thread at a time; the vocabulary lives longer, the rule's names are copied. HPC_E_ARG: the
 * prefix breaks the rule, and where. */
typedef struct hpc_grammar hpc_grammar;
int hpc_grammar_create(hpc_grammar **out, const hpc_vocabulary *v, const hpc_grammar_options *o);
void hpc_grammar_free(hpc_grammar *g);
/* Once more behind another text, and nothing owed; masks are kept. After an error it has ended. */
int hpc_grammar_restart(hpc_grammar *g, const char *prefix, size_t n);
/* Bit t % 32 of word t / 32 is token t's: as hpc_request's `allowed` wants it. Until the next call
 * of it. End tokens are in it just when it may end. With nothing to choose from, HPC_E_STATE is on
 * record and no bit is set. Allocates nothing. */
const uint32_t *hpc_grammar_allowed(hpc_grammar *g);
/* A token was made. HPC_E_STATE: it is not allowed, and nothing has changed. */
int hpc_grammar_take(hpc_grammar *g, int32_t token);
bool hpc_grammar_may_end(const hpc_grammar *g);
size_t hpc_grammar_owes(const hpc_grammar *g); /* bytes that have not come yet */
/* It has ended, or nothing but the end may come. */
bool hpc_grammar_is_over(const hpc_grammar *g);

typedef struct hpc_grammar_counts {
    int64_t made, found; /* masks computed, and found among those kept */
    int64_t steps;       /* bytes that the automaton was asked about for those computed */
} hpc_grammar_counts;
hpc_grammar_counts hpc_grammar_counts_of(const hpc_grammar *g);

#ifdef __cplusplus
}
#endif
#endif
