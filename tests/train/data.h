/*
 * data.h: small data sets of shards, and tiny models that can learn them.
 */
#ifndef HPC_TESTS_TRAIN_DATA_H
#define HPC_TESTS_TRAIN_DATA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/shard/shard.h"
#include "tests/support/folder.h"
#include "tests/support/values.h"
#include "train/run.h"

enum { VOCABULARY = 64, LONGEST_DOCUMENT = 40 };

static const hpc_hash128 data_tokenizer = {.low = 1, .high = 2};

/* Document i: an arithmetic progression with its label as step, and every fifth token random. The
 * second half is the answer. */
static inline int64_t data_document(int32_t token[LONGEST_DOCUMENT], int64_t i, uint32_t seed)
{
    int64_t n = 8 + hpc_random_bits(seed, 0, 0, (uint64_t)i) % (LONGEST_DOCUMENT - 8);
    int64_t first = hpc_random_bits(seed, 1, 0, (uint64_t)i) % VOCABULARY;
    for (int64_t k = 0; k < n; k++) {
        int64_t any = hpc_random_bits(seed, 2, (uint32_t)i, (uint64_t)k);
        token[k] = (int32_t)((k % 5 == 4 ? any : first + k * (1 + i % 3)) % VOCABULARY);
    }
    return n;
}

/* column: "label", "answer", "label answer" or NULL. */
static inline void data_make(const char *folder, int64_t documents, const char *column,
                             uint32_t seed, hpc_hash128 tokenizer)
{
    static const char *const known[] = {"label", "answer"};
    hpc_shard_spec spec = {.vocabulary = VOCABULARY, .tokenizer = tokenizer, .task = "code"};
    hpc_shard_writer *w = NULL;
    int64_t done;
    for (int c = 0; column && c < 2; c++) {
        if (!strstr(column, known[c])) continue;
        spec.column[spec.columns_n].type = HPC_SHARD_I32;
        snprintf(spec.column[spec.columns_n++].name, sizeof spec.column->name, "%s", known[c]);
    }
    test_ok(hpc_shard_create(&w, &done, folder, &spec, 500, false));
    for (int64_t i = 0; i < documents; i++) {
        int32_t token[LONGEST_DOCUMENT];
        int64_t n = data_document(token, i, seed);
        double value[2] = {(double)(i % 3), (double)(n / 2)};
        bool labels = column && strstr(column, "label");
        test_ok(hpc_shard_add(w, token, n, column ? (labels ? value : value + 1) : NULL));
    }
    test_ok(hpc_shard_finish(w, NULL));
    hpc_shard_discard(w);
}

/* Makes a data set in folder NAME of the test. */
static inline char *data_set(char path[PATH_MAX], const hpc_test_folder *f, const char *name,
                             int64_t documents, const char *column)
{
    data_make(hpc_test_path(path, f, name), documents, column, 7, data_tokenizer);
    return path;
}

static inline hpc_trainer_options tiny_trainer(int kind)
{
    hpc_model_config model = HPC_MODEL_CONFIG_DEFAULTS;
    hpc_optimizer_config optimizer = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    model.vocab = VOCABULARY, model.hidden = 32, model.layers = 2, model.heads = 4;
    model.kv_heads = 2, model.ffn = 48, model.positions = 64, model.tied = true;
    optimizer.kind = kind, optimizer.block = 16, optimizer.interval = 3, optimizer.burst = 2;
    return (hpc_trainer_options){.model = model,
                                 .optimizer = optimizer,
                                 .step = {.clip = 1},
                                 .length = 24,
                                 .rows = 4,
                                 .documents = 6,
                                 .accumulate = 1,
                                 .seed = 3,
                                 .device = {.threads = 2}};
}

#endif
