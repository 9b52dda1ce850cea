/*
 * tokenizer_encode.c: `hpccoder tokenizer encode`: converts text to ids. Text and ids are streamed
 * in parts; only a JSON report, which begins with the number of ids, needs all of them first.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/tokenizer_options.h"

typedef struct encode_options {
    const char *model;
    int64_t threads;
    bool specials, begin, end, pieces, count, json;
} encode_options;

typedef struct encoding {
    const hpc_tokenizer *t;
    struct id_text *text; /* of each id, when ids are printed */
    FILE *stream;         /* of the text, or NULL: */
    hpc_file_view view;   /* all of it, */
    hpc_buf whole;        /* or all of it */
    size_t bytes;         /* that went through */
    int64_t tokens;
    bool keeps; /* the ids: */
    hpc_ids ids;
    size_t skip; /* bytes of what is printed next */
} encoding;

/* ---- the text ------------------------------------------------------------------------------- */

/* A file is mapped; what can be read only once, and has a name, is read now. */
static int open_text(encoding *e, const char *file)
{
    struct stat st;
    if (strcmp(file, "-") == 0) return e->stream = stdin, HPC_OK;
    if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        return hpc_file_open(&e->view, file);
    return hpc_cmd_read(&e->whole, file);
}

static int read_text(size_t *n, char *to, size_t room, void *user)
{
    encoding *e = user;
    const void *text = e->view.data ? (const void *)e->view.data : e->whole.data;
    size_t left = e->view.bytes + e->whole.n - e->bytes;
    if (e->stream) {
        *n = fread(to, 1, room, e->stream);
        if (ferror(e->stream))
            return hpc_fail_os(errno == EBADF ? HPC_E_ARG : HPC_E_IO, "cannot read standard input");
    } else {
        *n = left < room ? left : room;
        if (*n > 0) memcpy(to, (const char *)text + e->bytes, *n);
    }
    e->bytes += *n;
    return HPC_OK;
}

/* ---- the ids ----------------------------------------------------------------------------- */

enum { ID_BYTES = 11, CHUNK_IDS = 512 };

typedef struct id_text {
    char text[ID_BYTES]; /* " 2147483647" */
    uint8_t n;
} id_text;

/* Makes the text printed for each id, with a blank before it. */
static int make_texts(encoding *e)
{
    int64_t n = hpc_tokenizer_n(e->t);
    e->text = hpc_alloc((size_t)n, sizeof *e->text);
    if (!e->text) return HPC_E_NOMEM;
    for (int64_t id = 0; id < n; id++) {
        char digits[ID_BYTES];
        size_t at = sizeof digits;
        for (int64_t left = id; left > 0 || at == sizeof digits; left /= 10)
            digits[--at] = (char)('0' + left % 10);
        digits[--at] = ' ';
        e->text[id].n = (uint8_t)(sizeof digits - at);
        memcpy(e->text[id].text, digits + at, sizeof digits - at);
    }
    return HPC_OK;
}

static int format_ids(hpc_buf *made, const int32_t *id, int64_t n, void *user)
{
    const encoding *e = user;
    char chunk[CHUNK_IDS * ID_BYTES];
    int rc = HPC_OK;
    for (int64_t i = 0; i < n && rc >= 0;) {
        size_t used = 0;
        for (int64_t end = n - i < CHUNK_IDS ? n : i + CHUNK_IDS; i < end; i++) {
            const id_text *t = &e->text[id[i]];
            memcpy(chunk + used, t->text, ID_BYTES); /* later ids overwrite the excess */
            used += t->n;
        }
        rc = hpc_buf_add(made, chunk, used);
    }
    return rc;
}

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
static int format_pieces(hpc_buf *made, const int32_t *id, int64_t n, void *user)
{
    const encoding *e = user;
    for (int64_t i = 0; i < n && !made->failed; i++) {
        hpc_buf_printf(made, "%d\t", (int)id[i]);
        put_piece(made, e->t, id[i]);
        hpc_buf_text(made, "\n");
    }
    return made->failed;
}

static int pass_on(const hpc_ids *ids, const hpc_buf *made, void *user)
{
    encoding *e = user;
    int rc = HPC_OK;
    e->tokens += ids->n;
    if (e->keeps && ids->n > 0) {
        TRY(hpc_grow(&e->ids.id, &e->ids.cap, e->tokens, sizeof *e->ids.id));
        memcpy(e->ids.id + e->ids.n, ids->id, (size_t)ids->n * sizeof *ids->id);
        e->ids.n = e->tokens;
    }
    if (made->n == 0) goto out;
    size_t n = made->n - e->skip;
    if (fwrite(made->data + e->skip, 1, n, stdout) != n)
        TRY(hpc_fail(HPC_E_IO, "cannot write to standard output"));
    e->skip = 0;
out:
    return rc;
}

/* ---- output ------------------------------------------------------------------------------ */

enum { PRINT_BYTES = 1 << 20 };

/* Prints the buffer if it is large, or if `all` is set. */
static int flush(hpc_buf *out, bool all)
{
    if (!all && out->n < PRINT_BYTES && !out->failed) return HPC_OK;
    return hpc_cmd_print(out);
}

static int put_ids(hpc_json_out *w, const encoding *e)
{
    int rc = HPC_OK;
    hpc_json_open(w, "ids", '[');
    for (int64_t i = 0; i < e->ids.n; i++) {
        hpc_json_put_int(w, NULL, e->ids.id[i]);
        TRY(flush(w->buf, false));
    }
    hpc_json_close(w, ']');
out:
    return rc;
}

static int put_pieces(hpc_json_out *w, const encoding *e)
{
    int rc = HPC_OK;
    hpc_buf piece = {0};
    hpc_json_open(w, "pieces", '[');
    for (int64_t i = 0; i < e->ids.n; i++) {
        piece.n = 0;
        put_piece(&piece, e->t, e->ids.id[i]);
        TRY(piece.failed);
        hpc_json_put_text(w, NULL, piece.data);
        TRY(flush(w->buf, false));
    }
    hpc_json_close(w, ']');
out:
    hpc_buf_release(&piece);
    return rc;
}

static int print_json(const encoding *e, const encode_options *o, const char *file)
{
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out};
    int rc = HPC_OK;
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "file", file);
    hpc_json_put_text(&w, "kind", hpc_tokenizer_kind(e->t));
    hpc_json_put_int(&w, "bytes", (int64_t)e->bytes);
    hpc_json_put_int(&w, "tokens", e->tokens);
    if (!o->count) TRY(put_ids(&w, e));
    if (o->pieces) TRY(put_pieces(&w, e));
    hpc_json_close(&w, '}');
    hpc_buf_text(&out, "\n");
    TRY(flush(&out, true));
out:
    hpc_buf_release(&out);
    return rc;
}

static int print_end(const encoding *e, const encode_options *o, const char *file)
{
    hpc_buf out = {0};
    if (o->json) return print_json(e, o, file);
    if (o->count && !o->pieces)
        hpc_buf_printf(&out, "%lld\n", (long long)e->tokens);
    else if (!o->pieces)
        hpc_buf_text(&out, "\n");
    return hpc_cmd_print(&out);
}

static int run(void *options, int argc, char **argv)
{
    const encode_options *o = options;
    unsigned flags = (o->specials ? HPC_ENCODE_SPECIALS : 0) | (o->begin ? HPC_ENCODE_BEGIN : 0) |
                     (o->end ? HPC_ENCODE_END : 0);
    bool pieces = !o->json && o->pieces, ids = !o->json && !o->pieces && !o->count;
    int rc = HPC_OK;
    encoding e = {.keeps = o->json && (o->pieces || !o->count), .skip = ids};
    hpc_tokenizer_stream stream = {.read = read_text, .write = pass_on, .user = &e};
    hpc_tokenizer *t = NULL;
    hpc_pool *pool = NULL;
    TRY(tokenizer_open_for(&t, o->model, argc, "FILE"));
    e.t = t;
    if (ids) TRY(make_texts(&e));
    if (ids || pieces) stream.format = ids ? format_ids : format_pieces;
    TRY(open_text(&e, argv[0]));
    TRY(hpc_pool_create(&pool, hpc_cmd_threads(o->threads)));
    TRY(hpc_tokenizer_encode_stream(t, pool, flags, &stream));
    TRY(print_end(&e, o, argv[0]));
out:
    hpc_free(e.text);
    hpc_free(e.ids.id);
    hpc_file_close(&e.view);
    hpc_buf_release(&e.whole);
    hpc_pool_free(pool);
    hpc_tokenizer_close(t);
    return rc;
}

static const hpc_option options[] = {
    TOKENIZER_MODEL_OPTION(offsetof(encode_options, model)),
    {.name = "specials",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, specials),
     .help =
         "Encode special tokens that are spelled out in the text as their ids instead of as text."},
    {.name = "begin",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, begin),
     .help = "Start with the tokenizer's begin-of-text token."},
    {.name = "end",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, end),
     .help = "Finish with the tokenizer's end-of-text token."},
    {.name = "pieces",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, pieces),
     .help = "Print one line per id, with the token as the tokenizer spells it."},
    {.name = "count",
     .kind = HPC_FLAG,
     .offset = offsetof(encode_options, count),
     .help = "Print only the number of ids."},
    HPC_CMD_THREADS(encode_options),
    HPC_CMD_JSON(encode_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_tokenizer_encode = {
    .name = "tokenizer encode",
    .summary = "Encode a text as token ids.",
    .arguments = "FILE|-",
    .description = "Prints the ids of a file on one line, separated by blanks. They equal the ids "
                   "of the library that the tokenizer belongs to. Bytes that are not UTF-8, and "
                   "U+2581, become byte tokens if the tokenizer has them.",
    .examples = "hpccoder tokenizer encode a.c --model model  # ids\n"
                "hpccoder tokenizer encode a.c --model model --pieces  # ids and their tokens\n"
                "hpccoder tokenizer encode - --model model --count <a.c  # number of ids",
    .options = options,
    .options_bytes = sizeof(encode_options),
    .run = run,
};
