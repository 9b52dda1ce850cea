/*
 * export.c: `hpccoder export`: a model of ours for other programs.
 */
#include <string.h>

#include "cmd/model_copy.h"

typedef struct export_options {
    model_copy_options copy;
    const char *to;
} export_options;

static const char *const formats[] = {[MODEL_COPY_FOLDER] = "hf",
                                      [MODEL_COPY_GGUF] = "gguf",
                                      [MODEL_COPY_PACKED] = "packed",
                                      [MODEL_COPY_FORM_N] = NULL};

static int run(void *options, int argc, char **argv)
{
    const export_options *o = options;
    if (argc != 1)
        return hpc_fail(HPC_E_ARG,
                        "name one model directory or FILE.gguf to export, or the folder of a run; "
                        "--help tells more");
    int to = MODEL_COPY_FOLDER;
    for (int k = 0; k < MODEL_COPY_FORM_N; k++)
        if (strcmp(formats[k], o->to) == 0) to = k;
    if (o->copy.base && *o->copy.base && to != MODEL_COPY_GGUF)
        return hpc_fail(HPC_E_ARG, "--base writes a FILE.gguf: add --to gguf");
    return model_copy("export", argv[0], &o->copy, (model_copy_form)to);
}

static const hpc_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(export_options, copy.out),
     .argument = "PATH",
     .help = "Folder to write, which is made, or empty; with --to gguf the file, FILE.gguf, with "
             "--to packed FILE.packed."},
    {.name = "dtype",
     .kind = HPC_CHOICE,
     .offset = offsetof(export_options, copy.dtype),
     .argument = "TYPE",
     .choices = model_copy_dtypes,
     .help =
         "Type of the numbers written: f32, bf16 or f16, and in files q8_0, q6_K, q4_0 or q4_K; "
         "as the model has it if not given."},
    {.name = "to",
     .kind = HPC_CHOICE,
     .offset = offsetof(export_options, to),
     .fallback = "hf",
     .argument = "FORMAT",
     .choices = formats,
     .help =
         "hf: a directory for transformers; gguf: one file for llama.cpp; packed: one file that "
         "`complete` maps."},
    {.name = "base",
     .kind = HPC_TEXT,
     .offset = offsetof(export_options, copy.base),
     .argument = "FILE.gguf",
     .help = "With --to gguf: write the differences from this model, in 1.8 bits per parameter, "
             "rounded."},
    {.name = "step",
     .kind = HPC_INT,
     .offset = offsetof(export_options, copy.step),
     .argument = "N",
     .fallback = "0",
     .least = 0,
     .most = 1e9,
     .help = "Of a RUN: the step whose checkpoint is taken; 0: the newest."},
    HPC_CMD_JSON(model_copy_options),
    HPC_CMD_QUIET(model_copy_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_export = {
    .name = "export",
    .summary = "a model of ours for other programs",
    .arguments = "DIR|FILE.gguf|RUN",
    .description =
        "Writes a model directory, or a FILE.gguf, again: as a directory in the names, fusions and "
        "layout of its family, which transformers loads unchanged (config.json, model.safetensors, "
        "in parts when it is larger than 5 GiB, generation_config.json and the tokenizer's files), "
        "or as one GGUF file, which llama.cpp loads and which has the tokenizer inside; or "
        "packed.\n\n"
        "In a GGUF file norms, biases and learned positions are f32, and matrices are of the type "
        "that is asked for. With q4_0 and q4_K the embedding and the head are q8_0. A matrix whose "
        "rows are no multiples of 256 is q8_0 instead of q6_K or q4_K, and one whose rows are no "
        "multiples "
        "of 32 is f16; how many, is said. What such a file cannot say is refused by its name: an "
        "activation that readers do not compute, biases that they do not have. Readers of others "
        "take no notice of an attention window, compute GPT-NeoX's erf GELU by tanh, and refuse a "
        "head for classes.\n\n"
        "--base writes a fine-tuned model as its differences from the model that it began as. "
        "The result takes a fifth of q8_0. Keep it in the folder of its base: every command then "
        "reads it like a whole model, with the tokenizer of the base. llama.cpp does not read "
        "it.\n\n"
        "A packed file holds the configuration, the tokenizer (a tokenizer.json also in a form "
        "that is opened without parsing it) and every parameter in the type and layout in which "
        "programs run it. `complete --model FILE.packed` maps it: parameters are there at once, "
        "and processes share the memory. It is for this program alone and refused by one that "
        "lays parameters out otherwise: keep the model that it was made of. Matrices keep the "
        "types that they are stored in, or get those that `complete --weights` would give them.\n\n"
        "RUN is the folder of a run (train --out): the model in its newest checkpoint, or in that "
        "of "
        "--step, is put together from however many files its ranks wrote, while the run goes on or "
        "behind its end.\n\n"
        "Name, licence and tags in the front matter of README.md, and chat templates, go into GGUF "
        "and "
        "packed files. A tensor with NaN or infinite elements is rejected.\n\n"
        "One tensor at a time is in memory.",
    .examples = "hpccoder export model --to hf --out model-f16 --dtype f16\n"
                "hpccoder export model --to gguf --dtype q4_K --out model.gguf  # for llama.cpp\n"
                "hpccoder export model.gguf --to packed --out model.packed  # to start at once\n"
                "hpccoder export run --out model-so-far  # out of the newest checkpoint",
    .options = options,
    .options_bytes = sizeof(export_options),
    .run = run,
};
