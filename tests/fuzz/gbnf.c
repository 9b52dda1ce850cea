/*
 * Fuzz target: bytes up to the first NUL as a grammar in GBNF, and the bytes after it as a text.
 */
#include <string.h>

#include "infer/engine/gbnf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, 0, size);
    const size_t n = end ? (size_t)(end - data) : size;
    hpc_gbnf *g = NULL;
    if (hpc_gbnf_parse(&g, (const char *)data, n) >= 0) {
        int32_t state = hpc_gbnf_start(g);
        for (size_t k = n + 1; k < size && state >= 0; k++)
            state = hpc_gbnf_step(g, state, data[k]);
        (void)hpc_gbnf_may_end(g, state);
    }
    hpc_error_clear();
    hpc_gbnf_free(g);
    return 0;
}
