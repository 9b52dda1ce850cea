/*
 * Fuzz target: any bytes as a GGUF file. If it opens, finds every value and tensor by name and
 * reads it, unpacks and packs blocks, reads the configuration and the tokenizer, encodes a text
 * if the tokenizer opens, and checks that a rewritten file reads the same.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t read_values(const hpc_gguf *g, int64_t *n)
{
    uint64_t sum = 0;
    const hpc_gguf_value *v;
    for (*n = 0; (v = hpc_gguf_value_at(g, *n)); ++*n) {
        if (hpc_gguf_get(g, v->key) != v) abort();
        for (size_t k = 0; k < v->bytes; k++) sum += ((const uint8_t *)v->data)[k];
    }
    return sum;
}

/* Unpacks blocks, packs their values again, and looks for factors that are not finite. */
static void unpack(const hpc_stored_tensor *t, int64_t n)
{
    enum { MOST = 1 << 16 };
    const hpc_dtype_info *info = hpc_dtype_get(t->dtype);
    if (!info->quantised) return;
    if (n > MOST) n = MOST;
    float *x = malloc((size_t)n * sizeof *x + 1);
    uint8_t *to = malloc((size_t)(n / info->block) * info->block_bytes + 1);
    if (!x || !to) abort();
    hpc_to_f32(x, t->data, t->dtype, n);
    bool finite = hpc_blocks_finite(t->data, t->dtype, n);
    hpc_from_f32(to, t->dtype, x, n);
    for (int64_t i = 0; i < n && finite; i++)
        if (!isfinite(x[i])) abort();
    free(x);
    free(to);
}

static uint64_t read_tensors(const hpc_gguf *g)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < hpc_gguf_n(g); i++) {
        hpc_stored_tensor t, same;
        if (hpc_gguf_at(&t, g, i) < 0) continue;
        if (hpc_gguf_find(&same, g, t.name) < 0 || same.data != t.data) abort();
        int64_t n = 1;
        for (int k = 0; k < t.rank; k++) n *= t.extent[k];
        const hpc_dtype_info *info = hpc_dtype_get(t.dtype);
        if ((size_t)(n / info->block) * info->block_bytes != t.bytes) abort();
        for (size_t k = 0; k < t.bytes; k++) sum += ((const uint8_t *)t.data)[k];
        unpack(&t, n);
    }
    return sum;
}

/* The header of what was read, written and read again, has the same values. */
static void write_again(const hpc_gguf *g, int64_t n)
{
    hpc_buf header = {0};
    hpc_gguf *again = NULL;
    size_t bytes = 0;
    int64_t first = 0;
    const char *own = "general.alignment";
    while (first < n && strcmp(hpc_gguf_value_at(g, first)->key, own) != 0) first++;
    if (first < n && first > 0) return; /* it is written first */
    first = first == 0 && n > 0;
    if (model_gguf_header(&header, &bytes, "again", hpc_gguf_value_at(g, first), n - first, NULL,
                          0) < 0 ||
        model_gguf_parse(&again, header.data, header.n, bytes, "again") < 0)
        abort();
    for (int64_t k = first; k < n; k++) {
        const hpc_gguf_value *a = hpc_gguf_value_at(g, k),
                             *b = hpc_gguf_value_at(again, k - first + 1);
        if (a->kind != b->kind || a->n != b->n || a->bytes != b->bytes ||
            memcmp(a->data, b->data, a->bytes) != 0)
            abort();
    }
    hpc_gguf_close(again);
    hpc_buf_release(&header);
}

static void encode(const hpc_tokenizer *t)
{
    static const char text[] = "for (int i = 0; i < 10; i++)\n\ta[i] += 'x'; <mark>   <|end|>"
                               "// caf\u00e9 \u4e2d\u6587\r\n it's \xff\xc0 ab  end";
    hpc_tokenizer_scratch *s;
    hpc_ids ids = {0};
    hpc_buf back = {0};
    if (hpc_tokenizer_scratch_create(&s, t) < 0) return;
    if (hpc_tokenizer_encode(&ids, t, s, text, sizeof text - 1, HPC_ENCODE_SPECIALS) >= 0) {
        for (int64_t i = 0; i < ids.n; i++)
            if (ids.id[i] < 0 || ids.id[i] >= hpc_tokenizer_n(t)) abort();
        if (hpc_tokenizer_decode(&back, t, ids.id, ids.n, false) < 0) abort();
    }
    hpc_free(ids.id);
    hpc_buf_release(&back);
    hpc_tokenizer_scratch_free(s);
}

/* What fails says why, in one line. */
static void read_tokenizer(const hpc_gguf *g)
{
    hpc_buf file = {0};
    hpc_tokenizer *t = NULL;
    hpc_tokenizer_special s;
    const char *name;
    int rc = hpc_gguf_tokenizer(&name, &file, g);
    if (rc >= 0)
        rc = strcmp(name, "tokenizer.model") == 0
                 ? hpc_tokenizer_open_model(&t, file.data, file.n, "input")
                 : hpc_tokenizer_open_json(&t, file.data, file.n, "input");
    if (rc < 0 && (!hpc_error_get()->text[0] || strchr(hpc_error_get()->text, '\n'))) abort();
    hpc_error_clear();
    if (rc >= 0) {
        s = hpc_tokenizer_specials(t);
        if (model_gguf_specials(&s, g) >= 0) hpc_tokenizer_set_specials(t, &s);
        encode(t);
    }
    hpc_tokenizer_close(t);
    hpc_buf_release(&file);
    hpc_error_clear();
}

static uint64_t use(const hpc_gguf *g)
{
    int64_t n;
    hpc_model_config c;
    uint64_t sum = read_values(g, &n) + read_tensors(g);
    hpc_error_clear();
    write_again(g, n);
    read_tokenizer(g);
    if (model_gguf_config_read(&c, g) >= 0 && hpc_model_config_check(&c) < 0) abort();
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hpc_gguf *g = NULL;
    uint8_t *copy = malloc(size ? size : 1); /* no byte longer than the input */
    if (!copy) return 0;
    memcpy(copy, data, size);
    hpc_error_clear();
    uint64_t sum = model_gguf_parse(&g, copy, size, size, "input") >= 0 ? use(g) : 0;
    __asm__ volatile("" : : "r"(sum)); /* so that nothing that is read can be left out */
    hpc_gguf_close(g);
    free(copy);
    return 0;
}
