/*
 * Fuzz target: any bytes as a packed model, with a corrected hash of the header so that mutated
 * headers are parsed. If it opens, reads everything: parameters, configuration, and the tokenizer,
 * which is used if it opens. Parameters are lent to a program, or a one-line error results.
 */
#include <stdlib.h>
#include <string.h>

#include "model/packed_priv.h"
#include "tests/fuzz/byte_level_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SMALL = 1 << 22 /* numbers of a model of which a program is made */ };

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    return hpc_packed_dtype(user, t);
}

static void must_say(int rc)
{
    const char *text = hpc_error_get()->text;
    if (rc < 0 && (!text[0] || strchr(text, '\n'))) abort();
    hpc_error_clear();
}

static uint64_t lend(const hpc_packed *k)
{
    const hpc_serve_emission e = {.tokens = 1,
                                  .sequences = 1,
                                  .outputs = 1,
                                  .pages = 1,
                                  .page = 1,
                                  .sequence_pages = 1,
                                  .dtype = type_of,
                                  .user = k};
    hpc_model_config c = *hpc_packed_config(k);
    hpc_program *p = hpc_program_create();
    hpc_lent *list = NULL;
    hpc_serve_io io;
    int64_t n = 0;
    uint64_t sum = 0;
    c.dtype = HPC_F32;
    int rc = p ? hpc_serve_emit(&io, p, &c, &e) : HPC_E_NOMEM;
    if (rc >= 0) rc = hpc_packed_lend(&list, &n, k, p);
    must_say(rc);
    for (int64_t i = 0; i < n; i++) {
        if (list[i].bytes != hpc_type_bytes(&p->value[list[i].state].type)) abort();
        if ((uintptr_t)list[i].data % HPC_ALIGN) abort();
        for (size_t at = 0; at < list[i].bytes; at++) sum += ((const uint8_t *)list[i].data)[at];
    }
    hpc_free(list);
    hpc_program_free(p);
    return sum;
}

static uint64_t use(const hpc_packed *k)
{
    model_packed_tokenizer t;
    uint64_t sum = 0;
    must_say(hpc_packed_verify(k));
    int rc = model_packed_tokenizer_of(&t, k);
    must_say(rc);
    for (size_t i = 0; rc >= 0 && i < t.bytes; i++) sum += ((const uint8_t *)t.data)[i];
    if (rc >= 0 && t.prepared) {
        hpc_tokenizer *opened;
        rc = hpc_tokenizer_open_prepared(&opened, t.prepared, t.prepared_bytes, "input");
        must_say(rc);
        if (rc >= 0) byte_level_check(opened);
    }
    if (hpc_model_config_check(hpc_packed_config(k)) < 0) abort();
    if (hpc_model_config_params(hpc_packed_config(k)) <= SMALL) sum += lend(k);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t hashed = offsetof(model_packed_head, file_bytes);
    model_packed_head h;
    hpc_packed *k = NULL;
    uint8_t *copy = hpc_alloc_aligned(size ? size : 1, 1, HPC_ALIGN); /* no byte longer */
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    if (size >= sizeof h) {
        memcpy(&h, copy, sizeof h);
        if (h.data_at >= sizeof h && h.data_at <= size) {
            h.hash = hpc_hash(copy + hashed, (size_t)h.data_at - hashed, 0);
            memcpy(copy, &h, sizeof h);
        }
    }
    hpc_error_clear();
    int rc = model_packed_parse(&k, copy, size, "input");
    must_say(rc);
    uint64_t sum = rc >= 0 ? use(k) : 0;
    __asm__ volatile("" : : "r"(sum)); /* so that nothing that is read can be left out */
    hpc_packed_close(k);
    hpc_free(copy);
    return 0;
}
