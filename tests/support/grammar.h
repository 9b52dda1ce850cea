/*
 * grammar.h: assertions about which texts a grammar rule accepts, and grammars of a tokenizer with
 * their context.
 */
#ifndef HPC_TESTS_SUPPORT_GRAMMAR_H
#define HPC_TESTS_SUPPORT_GRAMMAR_H

#include "infer/engine/grammar.h"
#include "infer/engine/text.h"

hpc_grammar_rule hpc_test_rule(hpc_grammar_kind kind);
/* Number of bytes of text accepted after the prefix; *complete: the text may end there. */
size_t hpc_test_taken_n(const hpc_grammar_rule *r, const char *prefix, const char *text,
                        bool *complete);
/* Asserts that the text is accepted and may end. */
void hpc_test_taken(const hpc_grammar_rule *r, const char *prefix, const char *text);
/* Asserts that the rule rejects the text at the last '!', a mark that is removed first. */
void hpc_test_refused(const hpc_grammar_rule *r, const char *prefix, const char *marked);
/* Asserts that the text is accepted; returns true if it may end. */
bool hpc_test_may_end(const hpc_grammar_rule *r, const char *prefix, const char *text);

/* ---- tokens -----------------------------------------------------------------------------------
 */
#define HPC_TEST_PILOT "share/pilot.gguf"

typedef struct hpc_test_grammar {
    hpc_tokenizer *t;
    hpc_vocabulary *v;
    hpc_grammar *g;
    hpc_text *x;
    hpc_buf text; /* text after the prefix */
    int32_t end;  /* end token of the tokenizer, or its last token */
    hpc_grammar_rule rule;
    const char *prefix;
    bool stopped;
    int64_t made; /* number of tokens */
} hpc_test_grammar;

/* Opens a tokenizer file, or that of the pilot model. */
void hpc_test_grammar_begin(hpc_test_grammar *b, const char *path);
void hpc_test_grammar_end(hpc_test_grammar *b);
/* Opens a grammar of an open tokenizer, any number of times, with capacity for 8 masks. The prefix
 * is borrowed. */
void hpc_test_grammar_open(hpc_test_grammar *b, hpc_grammar_rule rule, const char *prefix,
                           bool begins);
void hpc_test_grammar_close(hpc_test_grammar *b);
bool hpc_test_grammar_is_in(const uint32_t *bits, int64_t token);
/* Does the rule alone accept the text so far? */
bool hpc_test_grammar_accepts(const hpc_test_grammar *b, bool *complete);
void hpc_test_grammar_take(hpc_test_grammar *b, int32_t token);
/* Draws one of the allowed tokens. */
int32_t hpc_test_grammar_draw(const hpc_test_grammar *b, const uint32_t *bits, uint32_t key);

#endif
