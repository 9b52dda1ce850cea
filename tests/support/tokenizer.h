/*
 * tokenizer.h: fixture tokenizers with added special tokens.
 */
#ifndef HPC_TESTS_SUPPORT_TOKENIZER_H
#define HPC_TESTS_SUPPORT_TOKENIZER_H

#include "tokenizer/tokenizer.h"

/* Opens a fixture of tests/fixtures/byte_level with additional special tokens, NULL-terminated,
 * from id 5000 on, like those of the model that it represents. Fails the test on errors. */
hpc_tokenizer *hpc_test_tokenizer(const char *fixture, const char *const *more);

#endif
