/*
 * byte_level_check.h: invariants of any byte-level tokenizer that opens, for the fuzz targets:
 * encodes a fixed text and decodes it.
 *
 * Ids must be in range, and both directions must succeed. The bytes must be equal unless the file
 * itself changes text: NFC, removed parts, an added space, tokens that strip spaces.
 */
#ifndef HPC_TESTS_FUZZ_BYTE_LEVEL_CHECK_H
#define HPC_TESTS_FUZZ_BYTE_LEVEL_CHECK_H

#include <stdlib.h>
#include <string.h>

#include "tokenizer/byte_level.h"

static const char byte_level_text[] =
    "for (int i = 0; i < 10; i++) {\n\ta[i] += 'x';  // caf\u00e9 \u4e2d\u6587\r\n}\n"
    "<|endoftext|> it's \u00bd \xff\xc0 \U0001f469\u200d\U0001f469  end";

/* Does the tokenizer keep every byte of a text? */
static inline bool byte_level_keeps(const hpc_tokenizer *t, const byte_level *b)
{
    if (b->nfc || b->prefix_space || b->unknown >= 0) return false;
    for (int i = 0; i < b->split.n; i++) {
        if (b->split.step[i].behaviour == SPLIT_REMOVED) return false;
    }
    for (int c = 0; c < 256; c++) {
        if (b->byte_id[c] < 0) return false;
    }
    for (int64_t i = 0; i < b->added_n; i++) { /* a token that spells other bytes is ambiguous */
        const byte_added *a = &b->added[i];
        const byte_text *bytes = &b->bytes[a->id];
        if (a->lstrip || a->rstrip) return false;
        if (bytes->n != t->piece[a->id].n) return false;
        if (memcmp(bytes->text, t->piece[a->id].text, bytes->n) != 0) return false;
    }
    return true;
}

/* Checks and closes t. */
static inline void byte_level_check(hpc_tokenizer *t)
{
    const byte_level *b = t->state;
    const char *text = byte_level_text;
    const size_t n = sizeof byte_level_text - 1;
    hpc_tokenizer_scratch *s = NULL;
    hpc_ids ids = {0};
    hpc_buf back = {0};
    if (hpc_tokenizer_scratch_create(&s, t) == 0 &&
        hpc_tokenizer_encode(&ids, t, s, text, n, HPC_ENCODE_SPECIALS) == 0)
    {
        for (int64_t i = 0; i < ids.n; i++) {
            if (ids.id[i] < 0 || ids.id[i] >= t->n) abort();
        }
        if (hpc_tokenizer_decode(&back, t, ids.id, ids.n, false) < 0) abort();
        if (byte_level_keeps(t, b) && (back.n != n || memcmp(back.data, text, n) != 0)) abort();
    }
    hpc_error_clear();
    hpc_free(ids.id);
    hpc_buf_release(&back);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
}

#endif
