/*
 * tokenizer.h: tokenizers for tests: the fixtures, with special tokens added.
 */
#ifndef HPC_TESTS_SUPPORT_TOKENIZER_H
#define HPC_TESTS_SUPPORT_TOKENIZER_H

#include "tokenizer/tokenizer.h"

/* A fixture of tests/fixtures/byte_level with more special tokens, NULL-terminated, from id 5000
 * on, as the model that it stands for has them. Fails the test. */
hpc_tokenizer *hpc_test_tokenizer(const char *fixture, const char *const *more);

#endif
