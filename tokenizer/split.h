/*
 * split.h: declarations shared by the hand-written splitters split_words.c and split_runs.c.
 */
#ifndef HPC_TOKENIZER_SPLIT_H
#define HPC_TOKENIZER_SPLIT_H

#include "tokenizer/priv.h"

/* Class bits of the character at text[at], and its length in *bytes. */
static inline unsigned class_at(const split_step *s, const char *text, size_t at, size_t *bytes)
{
    if ((uint8_t)text[at] < 0x80) return *bytes = 1, s->unicode->cell[(uint8_t)text[at]];
    return tokenizer_class(s->unicode, tokenizer_point(text + at, bytes));
}

/* Each is a split_find for one pattern; split_runs.c lists the patterns. */
int split_gpt2(size_t *begin, size_t *end, const split_step *s, const char *text, size_t n,
               size_t at, void *work);
int split_qwen(size_t *begin, size_t *end, const split_step *s, const char *text, size_t n,
               size_t at, void *work);
int split_deepseek(size_t *begin, size_t *end, const split_step *s, const char *text, size_t n,
                   size_t at, void *work);

#endif
