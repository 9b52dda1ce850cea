/*
 * Fuzz target: any bytes as a prepared tokenizer. If it opens, it is used (byte_level_check.h);
 * otherwise there must be a one-line error.
 */
#include "tests/fuzz/byte_level_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hpc_tokenizer *t;
    if (hpc_tokenizer_open_prepared(&t, data, size, "t.packed") == 0) {
        byte_level_check(t);
    } else {
        const char *text = hpc_error_get()->text;
        if (!text[0] || strchr(text, '\n')) abort();
    }
    hpc_error_clear();
    return 0;
}
