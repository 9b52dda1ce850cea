/*
 * chain.c: see chain.h. Attention and MLP add nothing, so the head sees the last token only.
 */
#include "tests/support/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "tests/support/expect.h"

enum { BYTES = 256, END = BYTES, FIRST = BYTES + 1, HEAD = 64, SHARP = 8 };

typedef struct chain {
    const hpc_test_phrase *phrase;
    int n;
} chain;

/* ---- the tokenizer: byte-level BPE without merges ------------------------------------------- */

/* As GPT-2 spells bytes: printable ones as themselves, others from U+0100 on. */
static int spelled(int byte)
{
    int extra = 0;
    for (int b = 0; b <= byte; b++) {
        bool is = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        if (b == byte) return is ? b : 0x100 + extra;
        extra += !is;
    }
    return 0;
}

static void put_byte(hpc_buf *out, int byte)
{
    int c = spelled(byte);
    if (c == '"' || c == '\\')
        hpc_buf_printf(out, "\\%c", c);
    else
        hpc_buf_printf(out, c < 0x80 ? "%c" : "\\u%04x", c);
}

static void write_tokenizer(const char *dir, const chain *x)
{
    char path[PATH_MAX];
    hpc_buf out = {0};
    hpc_buf_printf(&out,
                   "{\"version\": \"1.0\", \"added_tokens\": [{\"id\": %d, \"content\": "
                   "\"<|endoftext|>\", \"single_word\": false, \"lstrip\": false, \"rstrip\": "
                   "false, \"normalized\": false, \"special\": true}], \"normalizer\": null, "
                   "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
                   "\"trim_offsets\": true, \"use_regex\": true}, \"decoder\": {\"type\": "
                   "\"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {",
                   END);
    for (int b = 0; b < BYTES; b++) {
        hpc_buf_text(&out, b > 0 ? ", \"" : "\"");
        put_byte(&out, b);
        hpc_buf_printf(&out, "\": %d", b);
    }
    hpc_buf_printf(&out, ", \"<|endoftext|>\": %d", END);
    for (int k = 0; k < x->n; k++) {
        hpc_buf_text(&out, ", \"");
        for (const char *p = x->phrase[k].text; *p; p++) put_byte(&out, (unsigned char)*p);
        hpc_buf_printf(&out, "\": %d", FIRST + k);
    }
    hpc_buf_text(&out, "}, \"merges\": []}}\n");
    test_ok(out.failed);
    snprintf(path, sizeof path, "%s/tokenizer.json", dir);
    test_ok(hpc_file_save(path, out.data, out.n));
    hpc_buf_release(&out);
}

/* ---- the weights: attention and MLP add nothing --------------------------------------------- */

static void put_next(float *head, const chain *x, int64_t hidden, int from, int to)
{
    if (to == 0) return;
    int64_t row = to == HPC_CHAIN_END ? END : FIRST + to - 1;
    head[row * hidden + from] = SHARP;
    (void)x;
}

static void fill_head(float *head, const chain *x, int64_t hidden)
{
    for (int from = 0; from <= END; from++) put_next(head, x, hidden, from, 1);
    for (int k = 0; k < x->n; k++)
        for (int i = 0; i < HPC_CHAIN_NEXT; i++)
            put_next(head, x, hidden, FIRST + k, x->phrase[k].next[i]);
}

static int read_tensor(float *out, const hpc_model_tensor *t, void *user)
{
    int64_t n = t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
    for (int64_t k = 0; k < n; k++) out[k] = t->role == HPC_ROLE_NORM;
    if (t->part == HPC_PART_EMBED)
        for (int64_t k = 0; k < t->extent[0]; k++) out[k * t->extent[1] + k] = 1;
    if (t->part == HPC_PART_HEAD) fill_head(out, user, t->extent[1]);
    return HPC_OK;
}

void hpc_test_chain(const char *dir, const hpc_test_phrase *phrase, int n)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    chain x = {phrase, n};
    c.vocab = FIRST + n;
    c.hidden = (c.vocab + HEAD - 1) / HEAD * HEAD;
    c.layers = 1;
    c.heads = c.kv_heads = c.hidden / HEAD;
    c.ffn = HEAD;
    c.positions = 512;
    c.end = END;
    test_ok(hpc_file_mkdir(dir));
    test_ok(hpc_weights_save(
        dir, &c, &(hpc_weights_save_options){.dtype = HPC_F32, .read = read_tensor, .user = &x}));
    write_tokenizer(dir, &x);
}
