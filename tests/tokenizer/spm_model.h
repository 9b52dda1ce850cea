/*
 * spm_model.h: for tests of the SentencePiece family: fixtures, the library as reference, handmade
 * models, and random numbers for texts.
 */
#ifndef HPC_TESTS_TOKENIZER_SPM_MODEL_H
#define HPC_TESTS_TOKENIZER_SPM_MODEL_H

#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/command.h"
#include "tokenizer/sentencepiece/spm.h"
#include "tokenizer/tokenizer.h"

#define SPM_FOLDER "tests/fixtures/tokenizer/"

static inline uint32_t spm_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

#define spm_ok(expr)                                                                               \
    do {                                                                                           \
        if ((expr) < 0) fail_msg("%s: %s", #expr, hpc_error_get()->text);                          \
    } while (0)

static inline void spm_file(hpc_buf *out, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, SPM_FOLDER "%s", name);
    spm_ok(hpc_file_read(out, path, 1 << 24));
}

static inline hpc_tokenizer *spm_fixture(const char *name)
{
    char path[256];
    hpc_tokenizer *t = NULL;
    snprintf(path, sizeof path, SPM_FOLDER "%s.model", name);
    spm_ok(hpc_tokenizer_open(&t, path));
    return t;
}

/* ---- the library ------------------------------------------------------------------------- */

/* NULL if hpccoder-spm.so was not built. */
static inline const hpc_spm *spm_library(void)
{
    char path[PATH_MAX];
    void *handle = dlopen(hpc_test_built(path, "hpccoder-spm.so"), RTLD_NOW | RTLD_LOCAL);
    return handle ? dlsym(handle, HPC_SPM_SYMBOL) : NULL;
}

#define SPM_NEED(library)                                                                          \
    const hpc_spm *library = spm_library();                                                        \
    if (!library) {                                                                                \
        print_message("SKIP: hpccoder-spm.so was not built (libsentencepiece-dev)\n");             \
        skip();                                                                                    \
    }

/* ---- models by hand ------------------------------------------------------------------------ */

static inline void spm_varint(hpc_buf *out, uint64_t x)
{
    for (; x >= 128; x >>= 7) hpc_buf_add(out, &(char){(char)(x | 128)}, 1);
    hpc_buf_add(out, &(char){(char)x}, 1);
}

static inline void spm_number(hpc_buf *out, unsigned field, uint64_t x)
{
    spm_varint(out, field << 3);
    spm_varint(out, x);
}

static inline void spm_bytes(hpc_buf *out, unsigned field, const void *data, size_t n)
{
    spm_varint(out, field << 3 | 2);
    spm_varint(out, n);
    hpc_buf_add(out, data, n);
}

enum { SPM_NORMAL = 1, SPM_UNKNOWN, SPM_CONTROL, SPM_USER, SPM_UNUSED, SPM_BYTE };

static inline void spm_piece_n(hpc_buf *out, const char *text, size_t n, float score, int type)
{
    hpc_buf piece = {0};
    spm_bytes(&piece, 1, text, n);
    spm_varint(&piece, 2 << 3 | 5);
    hpc_buf_add(&piece, &score, sizeof score);
    spm_number(&piece, 3, (uint64_t)type);
    spm_bytes(out, 1, piece.data, piece.n);
    hpc_buf_release(&piece);
}

static inline void spm_piece(hpc_buf *out, const char *text, float score, int type)
{
    spm_piece_n(out, text, strlen(text), score, type);
}

typedef struct spm_spec {
    bool bytes, prefix, squeeze;
    int type; /* 0: BPE */
} spm_spec;

/* Appends trainer spec, normaliser spec and byte pieces. */
static inline void spm_end(hpc_buf *out, spm_spec spec)
{
    hpc_buf part = {0};
    char name[8];
    for (int i = 0; spec.bytes && i < 256; i++) {
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
        spm_piece(out, name, 0, SPM_BYTE);
    }
    spm_number(&part, 3, spec.type ? (uint64_t)spec.type : 2);
    spm_number(&part, 35, spec.bytes);
    spm_bytes(out, 2, part.data, part.n);
    part.n = 0;
    spm_bytes(&part, 1, "identity", 8);
    spm_number(&part, 3, spec.prefix);
    spm_number(&part, 4, spec.squeeze);
    spm_bytes(out, 3, part.data, part.n);
    hpc_buf_release(&part);
    assert_int_equal(out->failed, 0);
}

#endif
