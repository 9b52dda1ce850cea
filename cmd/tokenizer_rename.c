/*
 * tokenizer_rename.c: `hpccoder tokenizer rename`: gives special tokens other names.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/tokenizer_options.h"

typedef struct rename_options {
    const char *model, *out;
} rename_options;

static int run(void *options, int argc, char **argv)
{
    const rename_options *o = options;
    hpc_buf out = {0};
    int rc = HPC_OK;
    if (!o->model)
        TRY(hpc_fail(HPC_E_ARG, "--model is missing: a tokenizer, its folder or a GGUF file"));
    if (!o->out) TRY(hpc_fail(HPC_E_ARG, "--out is missing: the folder for the new tokenizer"));
    if (argc < 1) TRY(hpc_fail(HPC_E_ARG, "name tokens to rename: OLD=NEW"));
    TRY(hpc_model_tokenizer_rename(o->out, o->model, (const char *const *)argv, argc));
    TRY(hpc_buf_printf(&out, "%s: %d tokens renamed\n", o->out, argc));
    TRY(hpc_cmd_print(&out));
out:
    hpc_buf_release(&out);
    return rc;
}

static const hpc_option options[] = {
    TOKENIZER_MODEL_OPTION(offsetof(rename_options, model)),
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(rename_options, out),
     .argument = "DIR",
     .help = "Folder for the new tokenizer; created if missing."},
    {.name = NULL},
};

const hpc_command hpc_cmd_tokenizer_rename = {
    .name = "tokenizer rename",
    .summary = "Rename special tokens of a tokenizer.",
    .arguments = "OLD=NEW...",
    .description =
        "Copies a tokenizer and gives special tokens other names; their ids stay. A model without "
        "fill-in-the-middle marks can learn them on tokens that it does not use: rename these, "
        "pack "
        "a corpus with the new tokenizer, and train with --lora-tokens. Only a tokenizer.json can "
        "be changed.",
    .examples =
        "hpccoder tokenizer rename --model base.gguf --out tok '<jupyter_start>=<fim_prefix>' "
        "'<jupyter_text>=<fim_suffix>' '<jupyter_code>=<fim_middle>'  # marks",
    .options = options,
    .options_bytes = sizeof(rename_options),
    .run = run,
};
