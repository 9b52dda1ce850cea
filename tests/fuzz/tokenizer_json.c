/*
 * Fuzz target: any bytes as a tokenizer.json. If it opens, it is used (byte_level_check.h).
 */
#include "tests/fuzz/byte_level_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hpc_tokenizer *t;
    if (hpc_tokenizer_open_json(&t, data, size, "t.json") == 0) byte_level_check(t);
    hpc_error_clear();
    return 0;
}
