/*
 * import.c: `hpccoder import`: a model directory of the Hugging Face world, or a
 * GGUF file, checked and written as ours.
 */
#include "cmd/model_copy.h"

typedef struct import_options {
    model_copy_options copy;
    bool packed;
} import_options;

static int run(void *options, int argc, char **argv)
{
    const import_options *o = options;
    if (argc != 1)
        return hpc_fail(HPC_E_ARG,
                        "name one model directory or FILE.gguf to import; --help tells more");
    return model_copy("import", argv[0], &o->copy,
                      o->packed ? MODEL_COPY_PACKED : MODEL_COPY_FOLDER);
}

static const hpc_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(import_options, copy.out),
     .argument = "PATH",
     .help = "Folder to write; it is made, or empty. With --packed the file, FILE.packed."},
    {.name = "dtype",
     .kind = HPC_CHOICE,
     .offset = offsetof(import_options, copy.dtype),
     .argument = "TYPE",
     .choices = model_copy_dtypes,
     .help =
         "Type of the numbers written: f32, bf16 or f16, as config.json says if not given; with "
         "--packed q8_0, q4_0 or q4_K too, as they are stored if not given."},
    {.name = "packed",
     .kind = HPC_FLAG,
     .offset = offsetof(import_options, packed),
     .help = "Write one file that `complete` maps, as `export --to packed` does."},
    HPC_CMD_JSON(model_copy_options),
    HPC_CMD_QUIET(model_copy_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_import = {
    .name = "import",
    .summary = "a Hugging Face model directory or a GGUF file, checked and written as ours",
    .arguments = "DIR|FILE.gguf",
    .description =
        "Reads config.json and model.safetensors (or its parts, by their index) and checks all of "
        "it: that the architecture is one that is known and nothing in config.json asks for more, "
        "that every tensor is there, of the right shape, and that there is no other. Then writes "
        "config.json, model.safetensors and generation_config.json, and copies the tokenizer.\n\n"
        "Families: llama (CodeLlama, DeepSeek-Coder, HPC-Coder v2), mistral, qwen2 "
        "(Qwen2.5-Coder), "
        "starcoder2, gpt_neox (PolyCoder), gpt2; also with a head for classifying sequences. "
        "Pickled weights are not read. What is written loads in transformers as well.\n\n"
        "A GGUF file, whose name ends in .gguf, of architecture llama, qwen2, starcoder2, gptneox "
        "or gpt2 becomes a directory in the same way; its numbers may be f32, f16, bf16, q8_0, "
        "q4_0, q4_K, q5_K and q6_K. Its tokenizer becomes the file that it was exported with, or "
        "is "
        "made of the pieces in files of others: tokenizer.model or tokenizer.json. A "
        "tokenizer_config.json beside it makes transformers and llama.cpp's converter give the "
        "same ids. Its chat templates go there as well; name, licence and the like go into the "
        "front "
        "matter of README.md. A directory's README.md and licence files are copied.\n\n"
        "One tensor at a time is in memory.",
    .examples = "hpccoder import deepseek-coder-1.3b-base --out model\n"
                "hpccoder import starcoder2-3b --out model --dtype bf16 --json  # for scripts\n"
                "hpccoder import model.gguf --out model --dtype f16\n"
                "hpccoder import model.gguf --out model.packed --packed  # to start at once",
    .options = options,
    .options_bytes = sizeof(import_options),
    .run = run,
};
