/*
 * chain.h: language models with chosen outputs: the next token depends only on the last one.
 */
#ifndef HPC_TESTS_SUPPORT_CHAIN_H
#define HPC_TESTS_SUPPORT_CHAIN_H

enum { HPC_CHAIN_NEXT = 3, HPC_CHAIN_END = -2 };

/* A token with this text: printable ASCII, blanks and line feeds. */
typedef struct hpc_test_phrase {
    const char *text;
    /* Tokens that may follow with equal probability: numbers of phrases, HPC_CHAIN_END, or 0: none.
     * A greedy model takes the phrase with the lowest number. */
    int next[HPC_CHAIN_NEXT];
} hpc_test_phrase;

/* Writes a model directory, or fails the test. Phrases count from 1; phrase 1 follows any other
 * text. The context has 512 tokens. */
void hpc_test_chain(const char *dir, const hpc_test_phrase *phrase, int n);

#endif
