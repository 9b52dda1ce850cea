/*
 * Fuzz target: any bytes as a shard. If it is valid, reads every document, token and value.
 *
 * Checksums would reject every mutation, so the input is tried unchanged and with corrected
 * checksums.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/shard/priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t read_all(const shard_image *m)
{
    const shard_header *h = &m->header;
    uint64_t sum = 0;
    for (int64_t i = 0; i < h->documents; i++) {
        for (uint64_t k = m->offset[i]; k < m->offset[i + 1]; k++) {
            uint32_t token =
                h->width == 2 ? ((const uint16_t *)m->token)[k] : ((const uint32_t *)m->token)[k];
            if (token >= (uint64_t)h->vocabulary) abort();
            sum += token;
        }
        for (uint32_t c = 0; c < h->columns_n; c++)
            sum += h->column[c].type == HPC_SHARD_I64 ? (uint64_t)((const int64_t *)m->column[c])[i]
                                                      : ((const uint32_t *)m->column[c])[i];
    }
    return sum;
}

static void put_right(uint8_t *data, size_t size)
{
    shard_header h;
    if (size < sizeof h) return;
    memcpy(&h, data, sizeof h);
    memcpy(h.magic, SHARD_MAGIC, sizeof h.magic);
    for (int k = 0; k < SHARD_SECTIONS; k++)
        if (h.section[k].at <= size && h.section[k].bytes <= size - h.section[k].at &&
            h.section[k].bytes > 0)
            h.section[k].hash = shard_hash(data + h.section[k].at, (size_t)h.section[k].bytes);
    h.hash = shard_header_hash(&h);
    memcpy(data, &h, sizeof h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    shard_image image;
    uint8_t *copy = malloc(size ? size : 1); /* aligned, and no byte longer than the input */
    if (!copy) return 0;
    memcpy(copy, data, size);
    for (int round = 0; round < 2; round++) {
        hpc_error_clear();
        uint64_t sum = shard_check(&image, copy, size, "input") >= 0 ? read_all(&image) : 0;
        __asm__ volatile("" : : "r"(sum)); /* so that nothing that is read can be left out */
        put_right(copy, size);
    }
    free(copy);
    return 0;
}
