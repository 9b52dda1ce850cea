/*
 * tokenizer_encode.c: `hpccoder tokenizer encode`: the ids of a text.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "tokenizer/tokenizer.h"

enum { PRINT_BYTES = 1 << 20 };

typedef struct encode_options {
    const char *model;
    int64_t threads;
    bool specials, begin, end, pieces, count, json;
} encode_options;

/* Prints what is there once it is much, or all of it. */
static int flush(hpc_buf *out, bool all)
{
    if (!all && out->n < PRINT_BYTES && !out->failed) return HPC_OK;
    return hpc_cmd_print(out);
}

/* ---- ids on one line: written by all workers, printed in order ---------------------------- */

enum { ROUND_IDS = 1 << 16, ID_BYTES = 11 }; /* of each worker in a round; "2147483647 " */

static size_t write_id(char *out, int32_t id)
{
    char digits[ID_BYTES];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + id % 10);
        id /= 10;
    } while (id > 0);
    memcpy(out, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

typedef struct writing {
    const int32_t *id;
    int64_t n;     /* of this round */
    char *text;    /* ROUND_IDS * ID_BYTES for each worker */
    size_t *bytes; /* by worker */
} writing;

static int write_share(int worker, int workers, void *user)
{
    const writing *w = user;
    int64_t lo, hi;
    char *start = w->text + (size_t)worker * ROUND_IDS * ID_BYTES, *out = start;
    hpc_share(&lo, &hi, w->n, 1, worker, workers);
    for (int64_t i = lo; i < hi; i++) {
        out += write_id(out, w->id[i]);
        *out++ = ' ';
    }
    w->bytes[worker] = (size_t)(out - start);
    return HPC_OK;
}

static int print_ids(const hpc_ids *ids, hpc_pool *pool)
{
    int rc = HPC_OK, workers = hpc_pool_n(pool);
    writing w = {0};
    hpc_buf end = {0};
    w.text = hpc_alloc((size_t)workers * ROUND_IDS, ID_BYTES);
    w.bytes = hpc_alloc((size_t)workers, sizeof *w.bytes);
    if (!w.text || !w.bytes) TRY(HPC_E_NOMEM);
    for (int64_t at = 0; at < ids->n; at += w.n) {
        w.n = ids->n - at;
        if (w.n > (int64_t)workers * ROUND_IDS) w.n = (int64_t)workers * ROUND_IDS;
        w.id = ids->id + at;
        TRY(hpc_pool_run(pool, write_share, &w));
        /* No blank behind the last. */
        for (int i = workers - 1, last = at + w.n == ids->n; last && i >= 0; i--)
            if (w.bytes[i] > 0) w.bytes[i] -= (size_t)last, last = 0;
        for (int i = 0; i < workers; i++)
            fwrite(w.text + (size_t)i * ROUND_IDS * ID_BYTES, 1, w.bytes[i], stdout);
    }
    TRY(hpc_buf_text(&end, "\n"));
    TRY(ferror(stdout) ? hpc_fail(HPC_E_IO, "cannot write to standard output")
                       : hpc_cmd_print(&end));
out:
    hpc_buf_release(&end);
    hpc_free(w.text);
    hpc_free(w.bytes);
    return rc;
}

/* ---- and otherwise -------------------------------------------------------------------------- */

/* A piece for people: control characters as in C. */
static void put_piece(hpc_buf *out, const hpc_tokenizer *t, int32_t id)
{
    size_t n;
    const char *piece = hpc_tokenizer_piece(t, id, &n);
    for (size_t i = 0; i < n; i++) {
        if (piece[i] == '\n')
            hpc_buf_text(out, "\\n");
        else if (piece[i] == '\t')
            hpc_buf_text(out, "\\t");
        else if (piece[i] == '\r')
            hpc_buf_text(out, "\\r");
        else if ((unsigned char)piece[i] < ' ' || piece[i] == 0x7F)
            hpc_buf_printf(out, "\\x%02x", (unsigned char)piece[i]);
        else
            hpc_buf_add(out, &piece[i], 1);
    }
}

/* A line for each. */
static int print_pieces(const hpc_ids *ids, const hpc_tokenizer *t)
{
    hpc_buf out = {0};
    int rc = HPC_OK;
    for (int64_t i = 0; i < ids->n; i++) {
        TRY(hpc_buf_printf(&out, "%d\t", (int)ids->id[i]));
        put_piece(&out, t, ids->id[i]);
        TRY(hpc_buf_text(&out, "\n"));
        TRY(flush(&out, false));
    }
    if (out.n > 0) TRY(flush(&out, true));
out:
    hpc_buf_release(&out);
    return rc;
}

static int print_json(const hpc_ids *ids, const hpc_tokenizer *t, const encode_options *o,
                      const char *file, size_t bytes)
{
    hpc_buf out = {0}, piece = {0};
    hpc_json_out w = {.buf = &out};
    int rc = HPC_OK;
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "file", file);
    hpc_json_put_text(&w, "kind", hpc_tokenizer_kind(t));
    hpc_json_put_int(&w, "bytes", (int64_t)bytes);
    hpc_json_put_int(&w, "tokens", ids->n);
    if (!o->count) {
        hpc_json_open(&w, "ids", '[');
        for (int64_t i = 0; i < ids->n; i++) {
            hpc_json_put_int(&w, NULL, ids->id[i]);
            TRY(flush(&out, false));
        }
        hpc_json_close(&w, ']');
    }
    if (o->pieces) {
        hpc_json_open(&w, "pieces", '[');
        for (int64_t i = 0; i < ids->n; i++) {
            piece.n = 0;
            put_piece(&piece, t, ids->id[i]);
            TRY(piece.failed);
            hpc_json_put_text(&w, NULL, piece.data);
            TRY(flush(&out, false));
        }
        hpc_json_close(&w, ']');
    }
    hpc_json_close(&w, '}');
    hpc_buf_text(&out, "\n");
    TRY(flush(&out, true));
out:
    hpc_buf_release(&out);
    hpc_buf_release(&piece);
    return rc;
}

static int print(const hpc_ids *ids, const hpc_tokenizer *t, const encode_options *o,
                 hpc_pool *pool, const char *file, size_t bytes)
{
    hpc_buf out = {0};
    if (o->json) return print_json(ids, t, o, file, bytes);
    if (o->pieces) return print_pieces(ids, t);
    if (!o->count) return print_ids(ids, pool);
    int rc = hpc_buf_printf(&out, "%lld\n", (long long)ids->n);
    return rc < 0 ? rc : hpc_cmd_print(&out);
}

static int run(void *options, int argc, char **argv)
{
    const encode_options *o = options;
    int rc = HPC_OK;
    unsigned flags = (o->specials ? HPC_ENCODE_SPECIALS : 0) | (o->begin ? HPC_ENCODE_BEGIN : 0) |
                     (o->end ? HPC_ENCODE_END : 0);
    hpc_buf text = {0};
    hpc_ids ids = {0};
    hpc_tokenizer *t = NULL;
    hpc_pool *pool = NULL;
    if (argc != 1) TRY(hpc_fail(HPC_E_ARG, "name one FILE, or - for standard input"));
    if (!o->model) TRY(hpc_fail(HPC_E_ARG, "--model is needed: a tokenizer or its folder"));
    TRY(hpc_tokenizer_open(&t, o->model));
    TRY(hpc_cmd_read(&text, argv[0]));
    TRY(hpc_pool_create(&pool, hpc_cmd_threads(o->threads)));
    TRY(hpc_tokenizer_encode_all(&ids, t, pool, text.data ? text.data : "", text.n, flags));
    TRY(print(&ids, t, o, pool, argv[0], text.n));
out:
    hpc_free(ids.id);
    hpc_buf_release(&text);
    hpc_pool_free(pool);
    hpc_tokenizer_close(t);
    return rc;
}

static const hpc_option options[] = {
    {.name = "model",
     .letter = 'm',
     .kind = HPC_TEXT,
     .offset = offsetof(encode_options, model),
     .argument = "PATH",
     .help = "A tokenizer.model, a tokenizer.json, or a folder with one of them."},
    {.name = "specials",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, specials),
     .help = "Special tokens spelled in the text become their ids; otherwise they are text."},
    {.name = "begin",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, begin),
     .help = "Begin with the tokenizer's own begin token."},
    {.name = "end",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, end),
     .help = "End with its end token."},
    {.name = "pieces",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, pieces),
     .help = "A line for each id, with the piece as the tokenizer spells it."},
    {.name = "count",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, count),
     .help = "Only how many ids there are."},
    {.name = "threads",
     .kind = HPC_INT,
     .offset = offsetof(encode_options, threads),
     .fallback = "0",
     .argument = "N",
     .most = 4096,
     .help = "Workers; 0: one for each CPU. The ids are the same."},
    {.name = "json",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, json),
     .help = "Report as JSON."},
    {.name = NULL},
};

const hpc_command hpc_cmd_tokenizer_encode = {
    .name = "tokenizer encode",
    .summary = "the ids of a text",
    .arguments = "FILE|-",
    .description =
        "Prints the ids of a whole file on one line, separated by blanks. They are those "
        "of the library that the tokenizer belongs to; bytes that are not UTF-8 go "
        "through byte pieces where the tokenizer has them, and so does a U+2581.",
    .examples = "hpccoder tokenizer encode a.c --model model  # ids\n"
                "hpccoder tokenizer encode a.c --model model --pieces  # and what they stand for\n"
                "hpccoder tokenizer encode - --model model --count <a.c  # how many",
    .options = options,
    .options_bytes = sizeof(encode_options),
    .run = run,
};
