/*
 * mark.c: finds special tokens of prompts by the names that models give them.
 *
 * It does not read chat templates.
 */
#include "tokenizer/tokenizer.h"

/* Ours, which are StarCoder's; then Qwen's, CodeLlama's, DeepSeek-Coder's, SantaCoder's. */
enum { NAMES = 6 };
static const char *const names[HPC_SPECIAL_N][NAMES] = {
    [HPC_SPECIAL_FIM_PREFIX] = {"<fim_prefix>", "<|fim_prefix|>", "\u2581<PRE>",
                                "<\uff5cfim\u2581begin\uff5c>", "<fim-prefix>"},
    [HPC_SPECIAL_FIM_SUFFIX] = {"<fim_suffix>", "<|fim_suffix|>", "\u2581<SUF>",
                                "<\uff5cfim\u2581hole\uff5c>", "<fim-suffix>"},
    [HPC_SPECIAL_FIM_MIDDLE] = {"<fim_middle>", "<|fim_middle|>", "\u2581<MID>",
                                "<\uff5cfim\u2581end\uff5c>", "<fim-middle>"},
    [HPC_SPECIAL_FIM_PAD] = {"<fim_pad>", "<|fim_pad|>", "<fim-pad>"},
    [HPC_SPECIAL_FIM_END] = {"\u2581<EOT>"},
    [HPC_SPECIAL_FILE] = {"<file_sep>", "<|file_sep|>", "<filename>"},
    [HPC_SPECIAL_REPOSITORY] = {"<repo_name>", "<|repo_name|>", "<reponame>"},
    [HPC_SPECIAL_END] = {"<end>", "<|endoftext|>", "<\uff5cend\u2581of\u2581sentence\uff5c>",
                         "</s>"},
};

const char *hpc_tokenizer_special_name(const hpc_tokenizer *t, hpc_special s, int32_t *id)
{
    for (int k = 0; k < NAMES && names[s][k]; k++) {
        *id = hpc_tokenizer_find(t, names[s][k]);
        if (*id >= 0) return names[s][k];
    }
    *id = s == HPC_SPECIAL_END ? hpc_tokenizer_specials(t).end : -1;
    return *id < 0 ? names[s][0] : "its end token";
}
