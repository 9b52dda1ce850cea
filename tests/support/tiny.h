/*
 * tiny.h: a language model of random weights in a folder, for tests of what runs models.
 */
#ifndef HPC_TESTS_SUPPORT_TINY_H
#define HPC_TESTS_SUPPORT_TINY_H

#include <stdint.h>

#include "tests/support/folder.h"

enum { HPC_TINY_VOCAB = 48 };

/* Two key heads of four, 64 wide; weights large enough that answers differ. Writes the model's
 * path, of PATH_MAX bytes, and returns it. */
const char *hpc_test_tiny(char *path, const hpc_test_folder *f, int64_t positions);

#endif
