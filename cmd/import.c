/*
 * import.c: `hpccoder import`: checks a model directory in Hugging Face format or a GGUF file, and
 * writes it as our own model.
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
        return hpc_fail(HPC_E_ARG, "name one model directory or FILE.gguf to import; see --help");
    return model_copy("import", argv[0], &o->copy,
                      o->packed ? HPC_MODEL_COPY_PACKED : HPC_MODEL_COPY_FOLDER);
}

static const hpc_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(import_options, copy.o.out),
     .argument = "PATH",
     .help = "Folder to write; created, or empty. With --packed: the file, FILE.packed."},
    {.name = "dtype",
     .kind = HPC_CHOICE,
     .offset = offsetof(import_options, copy.o.dtype),
     .argument = "TYPE",
     .choices = hpc_model_copy_dtypes,
     .help = "Type of the numbers to write: f32, bf16 or f16, by default that of config.json. With "
             "--packed: also q8_0, q6_K, q4_0 or q4_K, by default the stored types."},
    {.name = "adapter",
     .kind = HPC_TEXT,
     .offset = offsetof(import_options, copy.o.adapter),
     .argument = "DIR",
     .help = "Merge the LoRA adapters in DIR, in the format of the peft library "
             "(adapter_config.json and adapter_model.safetensors)."},
    {.name = "packed",
     .kind = HPC_FLAG,
     .offset = offsetof(import_options, packed),
     .help = "Write one file that `complete` maps, like `export --to packed`."},
    HPC_CMD_JSON(model_copy_options),
    HPC_CMD_QUIET(model_copy_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_import = {
    .name = "import",
    .summary = "Import a Hugging Face model directory or a GGUF file.",
    .arguments = "DIR|FILE.gguf",
    .description =
        "Reads config.json and model.safetensors (or its parts, listed in their index) and "
        "validates them. The architecture must be known, config.json must not require unsupported "
        "features, and all tensors must exist with the right shape, without additional ones. Then "
        "writes config.json, model.safetensors and generation_config.json, and copies the "
        "tokenizer.\n\n"
        "Families: llama (CodeLlama, DeepSeek-Coder, Seed-Coder, HPC-Coder v2), mistral "
        "(Codestral), qwen2 (Qwen2.5-Coder), qwen3, starcoder2, granite, gemma (CodeGemma), "
        "gemma2, "
        "gemma3_text, phi3 (Phi-4), smollm3, olmo2, mixtral, qwen2_moe, qwen3_moe, olmoe, "
        "gpt_neox (PolyCoder), gpt2; also with a "
        "sequence classification head. Pickled weights are not supported. transformers can load "
        "the "
        "result.\n\n"
        "A GGUF file (name ending in .gguf) of one of the architectures that docs/models.md lists "
        "becomes a directory in the same way. That page also lists the types of its tensors. Its "
        "tokenizer becomes tokenizer.model or tokenizer.json: the file "
        "that it was exported with, or one built from the vocabulary of a file from another "
        "program. A tokenizer_config.json next to it makes transformers and llama.cpp's converter "
        "produce the same ids. Chat templates are written there; name, licence and other metadata "
        "go into the front matter of README.md. README.md and licence files of a directory are "
        "copied.\n\n"
        "--adapter reads r, lora_alpha, use_rslora, rank_pattern, alpha_pattern without regular "
        "expressions, modules_to_save and trainable_token_indices. Other settings that change the "
        "result are rejected. If DIR has an added_tokens.json, the tokens with its ids get its "
        "names in the tokenizer.\n\n"
        "Memory holds one tensor at a time.",
    .examples = "hpccoder import model.gguf --adapter adapter --out merged\n"
                "hpccoder import deepseek-coder-1.3b-base --out model\n"
                "hpccoder import starcoder2-3b --out model --dtype bf16 --json  # for scripts\n"
                "hpccoder import model.gguf --out model --dtype f16\n"
                "hpccoder import model.gguf --out model.packed --packed  # for a fast start",
    .options = options,
    .options_bytes = sizeof(import_options),
    .run = run,
};
