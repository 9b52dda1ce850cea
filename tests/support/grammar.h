/*
 * grammar.h: what a rule takes of a text, and where it refuses one; grammars of a tokenizer with
 * all that is around them.
 */
#ifndef HPC_TESTS_SUPPORT_GRAMMAR_H
#define HPC_TESTS_SUPPORT_GRAMMAR_H

#include "infer/engine/grammar.h"
#include "infer/engine/text.h"

hpc_grammar_rule hpc_test_rule(hpc_grammar_kind kind);
/* How many bytes of the text are taken behind the prefix, and whether it may end behind them. */
size_t hpc_test_taken_n(const hpc_grammar_rule *r, const char *prefix, const char *text,
                        bool *complete);
/* Asserts that all is taken, and may end there. */
void hpc_test_taken(const hpc_grammar_rule *r, const char *prefix, const char *text);
/* Asserts that it is refused at the last '!', which is none of it. */
void hpc_test_refused(const hpc_grammar_rule *r, const char *prefix, const char *marked);
/* Whether it may end, all of it being taken. */
bool hpc_test_may_end(const hpc_grammar_rule *r, const char *prefix, const char *text);

/* ---- tokens -----------------------------------------------------------------------------------
 */
#define HPC_TEST_PILOT "pilot/pilot.gguf"

typedef struct hpc_test_grammar {
    hpc_tokenizer *t;
    hpc_vocabulary *v;
    hpc_grammar *g;
    hpc_text *x;
    hpc_buf text; /* behind the prefix */
    int32_t end;  /* of the tokenizer; where it has none, its last token */
    hpc_grammar_rule rule;
    const char *prefix;
    bool stopped;
    int64_t made; /* tokens */
} hpc_test_grammar;

/* A file of a tokenizer, or the pilot model. */
void hpc_test_grammar_begin(hpc_test_grammar *b, const char *path);
void hpc_test_grammar_end(hpc_test_grammar *b);
/* Of what has begun, as often as wanted; with room for 8 masks. The prefix is borrowed. */
void hpc_test_grammar_open(hpc_test_grammar *b, hpc_grammar_rule rule, const char *prefix,
                           bool begins);
void hpc_test_grammar_close(hpc_test_grammar *b);
bool hpc_test_grammar_is_in(const uint32_t *bits, int64_t token);
/* The text so far, by the rule alone. */
bool hpc_test_grammar_accepts(const hpc_test_grammar *b, bool *complete);
void hpc_test_grammar_take(hpc_test_grammar *b, int32_t token);
/* One of those allowed. */
int32_t hpc_test_grammar_draw(const hpc_test_grammar *b, const uint32_t *bits, uint32_t key);

#endif
