/*
 * export.c: `hpccoder export`: a model directory of ours for other programs.
 */
#include "cmd/model_copy.h"

typedef struct export_options {
    model_copy_options copy;
    const char *to;
} export_options;

static int run(void *options, int argc, char **argv)
{
    const export_options *o = options;
    if (argc != 1)
        return hpc_fail(HPC_E_ARG, "name one model directory to export; --help tells more");
    return model_copy("export", argv[0], &o->copy);
}

static const char *const formats[] = {"hf", NULL};

static const hpc_option options[] = {
    MODEL_COPY_OPTIONS,
    {.name = "to",
     .kind = HPC_CHOICE,
     .offset = offsetof(export_options, to),
     .fallback = "hf",
     .argument = "FORMAT",
     .choices = formats,
     .help = "hf: a directory for transformers."},
    {.name = NULL},
};

const hpc_command hpc_cmd_export = {
    .name = "export",
    .summary = "a model directory of ours for other programs",
    .arguments = "DIR",
    .description =
        "Writes the model again in the names, fusions and layout of its family, which "
        "transformers loads unchanged: config.json, model.safetensors (in parts when it is larger "
        "than 5 GiB), generation_config.json and the tokenizer's files.\n\n"
        "One tensor at a time is in memory.",
    .examples = "hpccoder export model --to hf --out model-f16 --dtype f16",
    .options = options,
    .options_bytes = sizeof(export_options),
    .run = run,
};
