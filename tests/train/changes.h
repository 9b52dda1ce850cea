/*
 * changes.h: small data sets of changes with a planted rule: the side with one more call is
 * slower.
 */
#ifndef HPC_TESTS_TRAIN_CHANGES_H
#define HPC_TESTS_TRAIN_CHANGES_H

#include "tests/train/data.h"

enum {
    CHANGE_CALL = 56, /* tokens */
    CHANGE_FILE,
    CHANGE_BASE,
    CHANGE_HEAD,
    CHANGE_LABEL,
    CHANGE_END,
    CHANGE_TEXT = 16, /* most tokens of a side */
    CHANGE_LONGEST = 2 * CHANGE_TEXT + 8
};
static const hpc_compare_marks change_marks = {CHANGE_BASE, CHANGE_HEAD, CHANGE_LABEL};

static inline int32_t change_draw(uint32_t seed, int64_t i, uint32_t what, int64_t n)
{
    return (int32_t)(hpc_random_bits(seed, what, 0, (uint64_t)i) % (uint64_t)n);
}

static inline int64_t change_put(int32_t *out, const int32_t *text, int64_t n, int64_t call)
{
    memcpy(out, text, (size_t)n * sizeof *out);
    if (call < 0) return n;
    memmove(out + call + 1, out + call, (size_t)(n - call) * sizeof *out);
    out[call] = CHANGE_CALL;
    return n + 1;
}

/* Document i, packed like the task perf; label 0: slower, 1: same, 2: faster. Returns its length;
 * *answer: position after the last mark. `swapped`: swaps sides and label. */
static inline int64_t change_document(int32_t token[CHANGE_LONGEST], int64_t *answer, int64_t i,
                                      uint32_t seed, bool swapped)
{
    int32_t text[2][CHANGE_TEXT];
    int64_t size = 4 + change_draw(seed, i, 0, 8), n = 0, label = i % 3;
    int64_t call = change_draw(seed, i, 1, size), other = change_draw(seed, i, 2, size);
    for (int side = 0; side < 2; side++)
        for (int64_t k = 0; k < size; k++)
            text[side][k] = change_draw(seed, i, 9 + (uint32_t)k, 50);
    if (label == 1) text[1][other] = change_draw(seed, i, 3, 50);
    if (swapped) label = 2 - label;
    token[n++] = CHANGE_FILE;
    token[n++] = change_draw(seed, i, 4, 50);
    token[n++] = CHANGE_BASE;
    n += change_put(token + n, text[swapped], size, label == 2 ? call : -1);
    token[n++] = CHANGE_HEAD;
    n += change_put(token + n, text[!swapped], size, label == 0 ? call : -1);
    token[n++] = CHANGE_LABEL;
    *answer = n;
    token[n++] = (int32_t)label;
    token[n++] = CHANGE_END;
    return n;
}

enum { CHANGES_SWAPPED = 1, CHANGES_MISLABELLED = 2 };
/* MISLABELLED: swapped sides with the original label. */
static inline void changes_make(const char *folder, int64_t documents, uint32_t seed, int how)
{
    hpc_shard_spec spec = {.vocabulary = VOCABULARY, .tokenizer = data_tokenizer, .task = "perf"};
    hpc_shard_writer *w = NULL;
    int64_t done;
    spec.columns_n = 2;
    spec.column[0].type = spec.column[1].type = HPC_SHARD_I32;
    snprintf(spec.column[0].name, sizeof spec.column->name, "label");
    snprintf(spec.column[1].name, sizeof spec.column->name, "answer");
    test_ok(hpc_shard_create(&w, &done, folder, &spec, 5000, false));
    for (int64_t i = 0; i < documents; i++) {
        int32_t token[CHANGE_LONGEST];
        int64_t answer, n = change_document(token, &answer, i, seed, how & CHANGES_SWAPPED);
        int64_t label = how & CHANGES_MISLABELLED ? i % 3 : token[answer];
        test_ok(hpc_shard_add(w, token, n, (double[]){(double)label, (double)answer}));
    }
    test_ok(hpc_shard_finish(w, NULL));
    hpc_shard_discard(w);
}

#endif
