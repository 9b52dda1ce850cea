/*
 * Fuzz target: any bytes as a safetensors file. If it opens, finds every tensor by name and reads
 * it.
 */
#include <stdlib.h>
#include <string.h>

#include "model/priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t read_all(const hpc_safetensors *s)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < hpc_safetensors_n(s); i++) {
        hpc_stored_tensor t, same;
        int rc = hpc_safetensors_at(&t, s, i);
        if (rc < 0) continue;
        if (hpc_safetensors_find(&same, s, t.name) < 0 || same.data != t.data) abort();
        int64_t n = 1;
        for (int k = 0; k < t.rank; k++) n *= t.extent[k];
        if ((size_t)n * hpc_dtype_get(t.dtype)->block_bytes != t.bytes) abort();
        for (size_t k = 0; k < t.bytes; k++) sum += ((const uint8_t *)t.data)[k];
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hpc_safetensors *s = NULL;
    uint8_t *copy = malloc(size ? size : 1); /* no byte longer than the input */
    if (!copy) return 0;
    memcpy(copy, data, size);
    hpc_error_clear();
    uint64_t sum = model_safetensors_parse(&s, copy, size, "input") >= 0 ? read_all(s) : 0;
    __asm__ volatile("" : : "r"(sum)); /* so that nothing that is read can be left out */
    hpc_safetensors_close(s);
    free(copy);
    return 0;
}
