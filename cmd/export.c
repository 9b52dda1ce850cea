/*
 * export.c: `hpccoder export`: writes a model in a format for other programs.
 */
#include <string.h>

#include "cmd/model_copy.h"

typedef struct export_options {
    model_copy_options copy;
    const char *to;
} export_options;

static const char *const formats[] = {[HPC_MODEL_COPY_FOLDER] = "hf",
                                      [HPC_MODEL_COPY_GGUF] = "gguf",
                                      [HPC_MODEL_COPY_PACKED] = "packed",
                                      [HPC_MODEL_COPY_PEFT] = "peft",
                                      [HPC_MODEL_COPY_FORM_N] = NULL};

static int run(void *options, int argc, char **argv)
{
    const export_options *o = options;
    if (argc != 1)
        return hpc_fail(
            HPC_E_ARG,
            "name one model directory, FILE.gguf or folder of a run to export; see --help");
    int to = HPC_MODEL_COPY_FOLDER;
    for (int k = 0; k < HPC_MODEL_COPY_FORM_N; k++)
        if (strcmp(formats[k], o->to) == 0) to = k;
    if (o->copy.o.delta_from && *o->copy.o.delta_from && to != HPC_MODEL_COPY_GGUF)
        return hpc_fail(HPC_E_ARG, "--delta-from writes a FILE.gguf: add --to gguf");
    return model_copy("export", argv[0], &o->copy, (hpc_model_copy_form)to);
}

static const hpc_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(export_options, copy.o.out),
     .argument = "PATH",
     .help = "Folder to write; created, or empty. With --to gguf: the file, FILE.gguf. With --to "
             "packed: FILE.packed."},
    {.name = "dtype",
     .kind = HPC_CHOICE,
     .offset = offsetof(export_options, copy.o.dtype),
     .argument = "TYPE",
     .choices = hpc_model_copy_dtypes,
     .help =
         "Type of the numbers to write: f32, bf16 or f16, in files also q8_0, q6_K, q4_0 or q4_K. "
         "Default: the type of the model; f32 for block formats, except with --to packed."},
    {.name = "to",
     .kind = HPC_CHOICE,
     .offset = offsetof(export_options, to),
     .fallback = "hf",
     .argument = "FORMAT",
     .choices = formats,
     .help =
         "Target format. hf: a directory for transformers; gguf: one file for llama.cpp; "
         "packed: one file that `complete` maps; peft: a directory with the adapters of a RUN."},
    {.name = "delta-from",
     .kind = HPC_TEXT,
     .offset = offsetof(export_options, copy.o.delta_from),
     .argument = "FILE.gguf",
     .help = "With --to gguf: write the differences from this model, in 1.8 bits per parameter, "
             "rounded."},
    {.name = "step",
     .kind = HPC_INT,
     .offset = offsetof(export_options, copy.o.step),
     .argument = "N",
     .fallback = "0",
     .least = 0,
     .most = 1e9,
     .help = "For a RUN: step of the checkpoint to export; 0: the newest."},
    {.name = "base",
     .kind = HPC_TEXT,
     .offset = offsetof(export_options, copy.o.base),
     .argument = "DIR",
     .help = "For a RUN with --lora-rank: the base model, if it is no longer at the recorded path. "
             "Its weights must have the recorded hash."},
    HPC_CMD_JSON(model_copy_options),
    HPC_CMD_QUIET(model_copy_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_export = {
    .name = "export",
    .summary = "Export a model for other programs.",
    .arguments = "DIR|FILE.gguf|RUN",
    .description =
        "Converts a model directory or a FILE.gguf. The result is a directory with the tensor "
        "names and layout of its family, which transformers loads unchanged; one GGUF file, which "
        "llama.cpp loads and which contains the tokenizer; or a packed file. A directory has "
        "config.json, model.safetensors (in parts above 5 GiB), generation_config.json and the "
        "tokenizer's files.\n\n"
        "In a GGUF file, norms, biases and learned positions are f32, and matrices have the "
        "requested type. With q4_0 and q4_K, the embedding and the head are q8_0. A matrix with "
        "row lengths that are no multiple of 256 becomes q8_0 instead of q6_K or q4_K, and one "
        "with no "
        "multiple of 32 becomes f16; a note gives the number. Features that GGUF cannot express "
        "are rejected with an error that names them, such as an activation or biases that its "
        "readers lack. Other readers ignore an attention window, compute GPT-NeoX's erf GELU with "
        "tanh, and reject a classification head.\n\n"
        "--delta-from writes a fine-tuned model as its differences from the model that it started "
        "from. The file is a fifth of the size of q8_0. Keep it in the folder of that model: every "
        "command then reads it like a whole model, with the tokenizer of the other. llama.cpp does "
        "not read it.\n\n"
        "A packed file contains the configuration, the tokenizer (a tokenizer.json also in a form "
        "that needs no parsing) and every parameter in the type and layout that programs use. "
        "`complete --model FILE.packed` maps it: parameters are available at once, and processes "
        "share the memory. Only this program reads it, and a version with a different layout "
        "rejects it, so keep the original model. Matrices keep their stored types, or get those "
        "that `complete --weights` would give them.\n\n"
        "RUN is the folder of a training run (train --out). The model is assembled from its newest "
        "checkpoint, or from that of --step, whatever the number of files, during the run or after "
        "its end. Adapters are merged into the base model, which is read from the recorded path "
        "(or --base) and must have the recorded hash. --to peft writes the adapters alone, as the "
        "peft library and `import --adapter` read them; added_tokens.json has the names of the "
        "tokens of --lora-tokens.\n\n"
        "Name, licence and tags in the front matter of README.md, and chat templates, are copied "
        "into GGUF and packed files. A tensor with NaN or infinite elements is rejected.\n\n"
        "Memory holds one tensor at a time.",
    .examples = "hpccoder export model --to hf --out model-f16 --dtype f16\n"
                "hpccoder export model --to gguf --dtype q4_K --out model.gguf  # for llama.cpp\n"
                "hpccoder export model.gguf --to packed --out model.packed  # for a fast start\n"
                "hpccoder export run --out model-so-far  # from the newest checkpoint",
    .options = options,
    .options_bytes = sizeof(export_options),
    .run = run,
};
