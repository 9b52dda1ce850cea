/*
 * Language models that say what a test wants: the next token depends on the last one alone.
 */
#ifndef HPC_TESTS_SUPPORT_CHAIN_H
#define HPC_TESTS_SUPPORT_CHAIN_H

enum { HPC_CHAIN_NEXT = 3, HPC_CHAIN_END = -2 };

/* A token with this text: printable ASCII, blanks and line feeds. */
typedef struct hpc_test_phrase {
    const char *text;
    /* Tokens that may follow, equally likely: numbers of phrases, HPC_CHAIN_END, or 0 for none; the
     * likeliest of a greedy model is the first phrase of the list. */
    int next[HPC_CHAIN_NEXT];
} hpc_test_phrase;

/* A model directory. Phrases count from 1; phrase 1 follows every other text. Its context takes 512
 * tokens. Fails the test. */
void hpc_test_chain(const char *dir, const hpc_test_phrase *phrase, int n);

#endif
