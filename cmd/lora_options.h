/*
 * lora_options.h: the options of `train` that describe adapters.
 */
#ifndef HPC_CMD_LORA_OPTIONS_H
#define HPC_CMD_LORA_OPTIONS_H

#include "runtime/base/options.h"

/* Rows for the option table of a struct `type` with members lora_rank and so on. */
#define LORA_OPTIONS(type)                                                                         \
    {.name = "lora-rank",                                                                          \
     .kind = HPC_INT,                                                                              \
     .offset = offsetof(type, lora_rank),                                                          \
     .fallback = "0",                                                                              \
     .argument = "N",                                                                              \
     .least = 0,                                                                                   \
     .most = 65536,                                                                                \
     .help = "Rank of the low-rank adapters to train; 0: train all parameters."},                  \
        {.name = "lora-alpha",                                                                     \
         .kind = HPC_REAL,                                                                         \
         .offset = offsetof(type, lora_alpha),                                                     \
         .fallback = "16",                                                                         \
         .argument = "X",                                                                          \
         .least = 0,                                                                               \
         .most = 1e6,                                                                              \
         .help = "Scale of the adapters: their output is multiplied by alpha / rank."},            \
        {.name = "lora-targets",                                                                   \
         .kind = HPC_TEXT,                                                                         \
         .offset = offsetof(type, lora_targets),                                                   \
         .fallback = "q,k,v,o,gate,up,down",                                                       \
         .argument = "LIST",                                                                       \
         .help = "Matrices with adapters: any of q, k, v, o, gate, up and down."},                 \
        {.name = "lora-init",                                                                      \
         .kind = HPC_TEXT,                                                                         \
         .offset = offsetof(type, lora_init),                                                      \
         .argument = "DIR",                                                                        \
         .help = "Start from the adapters in DIR, in the format of the peft library (export --to " \
                 "peft). They set rank, alpha, targets and tokens."},                              \
        {.name = "lora-dense",                                                                     \
         .kind = HPC_FLAG,                                                                         \
         .offset = offsetof(type, lora_dense),                                                     \
         .help = "Keep the frozen matrices in the type of --dtype. Default: in that of the file "  \
                 "if it is smaller, such as q8_0; each use converts them, with the same results "  \
                 "in less memory and more time."},                                                 \
    {                                                                                              \
        .name = "lora-tokens", .kind = HPC_TEXT, .offset = offsetof(type, lora_tokens),            \
        .argument = "LIST",                                                                        \
        .help = "Tokens whose rows of the embedding and of the head are trained with the "         \
                "adapters, such as fill-in-the-middle marks."                                      \
    }

#endif
