/*
 * mark.c: finds special tokens of prompts: those that a container named, else by the names that
 * models give them.
 *
 * It does not read chat templates.
 */
#include <string.h>

#include "tokenizer/priv.h"

/* Ours, which are those of StarCoder and Granite; then those of Qwen and CodeGemma, CodeLlama,
 * DeepSeek-Coder, SantaCoder, Seed-Coder, Codestral. */
enum { NAMES = 9 };
static const char *const names[HPC_SPECIAL_N][NAMES] = {
    [HPC_SPECIAL_FIM_PREFIX] = {"<fim_prefix>", "<|fim_prefix|>", "\u2581<PRE>", "<PRE>",
                                "<\uff5cfim\u2581begin\uff5c>", "<fim-prefix>", "<[fim-prefix]>",
                                "[PREFIX]"},
    [HPC_SPECIAL_FIM_SUFFIX] = {"<fim_suffix>", "<|fim_suffix|>", "\u2581<SUF>", "<SUF>",
                                "<\uff5cfim\u2581hole\uff5c>", "<fim-suffix>", "<[fim-suffix]>",
                                "[SUFFIX]"},
    [HPC_SPECIAL_FIM_MIDDLE] = {"<fim_middle>", "<|fim_middle|>", "\u2581<MID>", "<MID>",
                                "<\uff5cfim\u2581end\uff5c>", "<fim-middle>", "<[fim-middle]>"},
    [HPC_SPECIAL_FIM_PAD] = {"<fim_pad>", "<|fim_pad|>", "<fim-pad>"},
    [HPC_SPECIAL_FIM_END] = {"\u2581<EOT>", "<EOT>"},
    [HPC_SPECIAL_FILE] = {"<file_sep>", "<|file_sep|>", "<|file_separator|>", "<filename>"},
    [HPC_SPECIAL_REPOSITORY] = {"<repo_name>", "<|repo_name|>", "<reponame>"},
    [HPC_SPECIAL_END] = {"<end>", "<|endoftext|>", "<\uff5cend\u2581of\u2581sentence\uff5c>",
                         "</s>"},
};

/* Orders by the name of the prefix mark; others have the prefix first. */
static const struct {
    const char *prefix;
    hpc_fim_order order;
} orders[] = {{"<fim_prefix>", HPC_FIM_MIDDLE_LAST},    {"<fim-prefix>", HPC_FIM_MIDDLE_LAST},
              {"\u2581<PRE>", HPC_FIM_MIDDLE_LAST},     {"<PRE>", HPC_FIM_MIDDLE_LAST},
              {"<[fim-prefix]>", HPC_FIM_SUFFIX_FIRST}, {"[PREFIX]", HPC_FIM_SUFFIX_FIRST}};

const char *hpc_tokenizer_special_name(const hpc_tokenizer *t, hpc_special s, int32_t *id)
{
    if (t->mark[s].name) {
        *id = t->mark[s].id;
        return t->mark[s].name;
    }
    for (int k = 0; k < NAMES && names[s][k]; k++) {
        *id = hpc_tokenizer_find(t, names[s][k]);
        if (*id >= 0) return names[s][k];
    }
    *id = s == HPC_SPECIAL_END ? hpc_tokenizer_specials(t).end : -1;
    return *id < 0 ? names[s][0] : "its end token";
}

int hpc_tokenizer_set_mark(hpc_tokenizer *t, hpc_special s, int32_t id)
{
    size_t n;
    const char *text = hpc_tokenizer_piece(t, id, &n);
    if (!text)
        return hpc_fail(HPC_E_ARG, "special token %d is not one of the tokenizer's %lld", (int)id,
                        (long long)t->n);
    t->mark[s].name = hpc_arena_text(t->arena, "%.*s", (int)n, text);
    t->mark[s].id = id;
    return t->mark[s].name ? HPC_OK : HPC_E_NOMEM;
}

hpc_fim_order hpc_tokenizer_fim_order(const hpc_tokenizer *t)
{
    int32_t id[3];
    const char *name = hpc_tokenizer_special_name(t, HPC_SPECIAL_FIM_PREFIX, &id[0]);
    hpc_fim_order order = HPC_FIM_PREFIX_FIRST;
    hpc_tokenizer_special_name(t, HPC_SPECIAL_FIM_SUFFIX, &id[1]);
    hpc_tokenizer_special_name(t, HPC_SPECIAL_FIM_MIDDLE, &id[2]);
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
        if (strcmp(orders[k].prefix, name) == 0) order = orders[k].order;
    bool ends = id[2] >= 0 || order == HPC_FIM_SUFFIX_FIRST; /* Codestral has no mark there */
    return id[0] >= 0 && id[1] >= 0 && ends ? order : HPC_FIM_NONE;
}
