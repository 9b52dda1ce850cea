/*
 * ask.h: opinions of a language model about the loops of a file.
 *
 * The model has been trained on loops that experts annotated. Its opinions prove nothing and change
 * no verdict. They rank the loops that the analysis accepts, choose a schedule, which changes no
 * result, and suggest a directive where the analysis finds no proof.
 */
#ifndef HPC_PRAGMA_ASK_H
#define HPC_PRAGMA_ASK_H

#include "infer/pragma/pragma.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_pragma_answer { /* to a prompt */
    int64_t prompt;
    const char *text; /* a directive; "": none */
    double logprob;   /* result: natural logarithm of the answer's probability */
} hpc_pragma_answer;

/* A language model. The functions return 0 or a negative code; one thread at a time calls them. */
typedef struct hpc_pragma_model {
    int64_t capacity; /* largest number of prompts, and of answers that are rated at once */
    /* Keeps a loop, rendered without its directive, as prompt `index` < capacity. *fits is true if
     * the loop and an answer fit into the context of the model; else nothing is kept. */
    int (*encode)(void *user, bool *fits, int64_t index, const hpc_sample *loop);
    /* Sets logprob of n answers to kept prompts. *fits: false if an answer is too long; then none
     * has a logprob. */
    int (*rate)(void *user, bool *fits, hpc_pragma_answer *answer, int64_t n);
    /* Appends the likeliest directive that names only variables of the sorted list; nothing if the
     * model does not end its answer. */
    int (*write)(void *user, hpc_buf *directive, int64_t prompt, const char *const *name,
                 int64_t names_n);
    void *user;
} hpc_pragma_model;

/* Sets `likely` of each loop that fits into the context of the model. A parallel or conditional
 * loop also gets a schedule in `pragma`, if it has none and the model prefers one to none. An
 * unknown loop gets `guess`, the likeliest directive over variables that the loop uses. The loops
 * are those of hpc_pragma_find for this tree and text. `path` is part of the prompt. */
int hpc_ask(hpc_pragma_loops *l, const hpc_pragma_model *m, const hpc_tree *t, const char *path,
            const char *text, size_t n, hpc_language language);

#ifdef __cplusplus
}
#endif
#endif
