/*
 * foreign.h: GGUF files as other converters write them: a tokenizer's keys without its file, any
 * of them replaced, and no tensors.
 */
#ifndef HPC_TESTS_MODEL_FOREIGN_H
#define HPC_TESTS_MODEL_FOREIGN_H

#include <string.h>

#include "tests/model/gguf.h"
#include "tests/support/expect.h"

typedef struct foreign_edit {
    const char *key; /* "" or a key of tokenizer.ggml, without that prefix */
    int kind, item;  /* of the replacement; kind -1: removed */
    int64_t n;
    const void *data;
    size_t bytes;
} foreign_edit;

/* Applies the edit, if any, to an existing key; else appends it. */
static inline void foreign_save(const char *path, const hpc_gguf_value *value, int64_t n,
                                const foreign_edit *e)
{
    hpc_gguf_value list[64], other = {0};
    char key[64];
    int64_t left = 0;
    bool done = !e || !e->key[0];
    snprintf(key, sizeof key, "tokenizer.ggml.%s", done ? "" : e->key);
    if (!done) other = (hpc_gguf_value){key, e->kind, e->item, e->n, e->data, e->bytes};
    for (int64_t k = 0; k < n; k++) {
        bool is = !done && strcmp(value[k].key, key) == 0;
        if (strcmp(value[k].key, MODEL_GGUF_TOKENIZER_MODEL) == 0 ||
            strcmp(value[k].key, MODEL_GGUF_TOKENIZER_JSON) == 0 || (is && e->kind < 0))
            continue;
        list[left++] = is ? other : value[k];
        done |= is;
    }
    if (!done && e->kind >= 0) list[left++] = other;
    test_ok(hpc_gguf_save(path, list, left, NULL, 0, NULL, NULL));
}

/* Writes a tokenizer as such a GGUF; vocab 0: its own number of tokens. */
static inline void foreign_gguf(const char *path, const char *tokenizer, int64_t vocab,
                                const foreign_edit *e)
{
    model_gguf_list l = {.arena = hpc_arena_create(0)};
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    hpc_gguf_options o = {.tokenizer = tokenizer};
    hpc_tokenizer *t;
    assert_non_null(l.arena);
    test_ok(hpc_tokenizer_open(&t, tokenizer));
    c.vocab = vocab ? vocab : hpc_tokenizer_n(t);
    hpc_tokenizer_close(t);
    test_ok(model_gguf_put_tokenizer(&l, &c, &o));
    foreign_save(path, l.value, l.n, e);
    hpc_free(l.value);
    hpc_arena_free(l.arena);
}

/* Appends a list of strings in GGUF's encoding. */
static inline void foreign_texts(hpc_buf *out, const char *const *text, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        uint64_t bytes = strlen(text[k]);
        hpc_buf_add(out, &bytes, sizeof bytes);
        hpc_buf_add(out, text[k], (size_t)bytes);
    }
    test_ok(out->failed);
}

#endif
