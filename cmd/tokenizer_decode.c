/*
 * tokenizer_decode.c: `hpccoder tokenizer decode`: converts ids to text.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/tokenizer_options.h"

typedef struct decode_options {
    const char *model;
    bool skip_specials;
} decode_options;

/* Numbers between blanks, line ends, commas and the brackets of a list. */
static int read_ids(hpc_ids *out, const hpc_buf *text, const char *file)
{
    const char *at = text->data, *end = at + text->n;
    int rc = HPC_OK;
    for (;;) {
        while (at < end && *at && strchr(" \t\r\n,[]", *at)) at++;
        if (at == end) break;
        int64_t id = 0;
        const char *from = at;
        while (at < end && *at >= '0' && *at <= '9' && id <= INT32_MAX)
            id = 10 * id + (*at++ - '0');
        if (at == from || id > INT32_MAX)
            TRY(hpc_fail(HPC_E_FORMAT,
                         "%s: no id at byte %zu; expected numbers separated by blanks", file,
                         (size_t)(from - text->data)));
        TRY(hpc_grow(&out->id, &out->cap, out->n + 1, sizeof *out->id));
        out->id[out->n++] = (int32_t)id;
    }
out:
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    const decode_options *o = options;
    int rc = HPC_OK;
    hpc_buf text = {0}, out = {0};
    hpc_ids ids = {0};
    hpc_tokenizer *t = NULL;
    TRY(tokenizer_open_for(&t, o->model, argc, "file of ids"));
    TRY(hpc_cmd_read(&text, argv[0]));
    if (text.n > 0) TRY(read_ids(&ids, &text, argv[0]));
    TRY(hpc_tokenizer_decode(&out, t, ids.id, ids.n, o->skip_specials));
    TRY(hpc_cmd_print(&out));
out:
    hpc_free(ids.id);
    hpc_buf_release(&text);
    hpc_buf_release(&out);
    hpc_tokenizer_close(t);
    return rc;
}

static const hpc_option options[] = {
    TOKENIZER_MODEL_OPTION(offsetof(decode_options, model)),
    {.name = "skip-specials",
     .kind = HPC_FLAG,
     .offset = offsetof(decode_options, skip_specials),
     .help = "Omit special tokens."},
    {.name = NULL},
};

const hpc_command hpc_cmd_tokenizer_decode = {
    .name = "tokenizer decode",
    .summary = "Decode token ids to text.",
    .arguments = "IDS|-",
    .description =
        "Reads ids from a file or standard input (numbers separated by blanks, line ends or "
        "commas; a JSON list is accepted) and prints their text without an additional newline.",
    .examples = "hpccoder tokenizer encode a.c --model model | hpccoder tokenizer decode - --model "
                "model  # prints a.c",
    .options = options,
    .options_bytes = sizeof(decode_options),
    .run = run,
};
