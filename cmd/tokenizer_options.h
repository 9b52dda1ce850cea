/*
 * tokenizer_options.h: what the commands that turn one file into ids, or ids into text, ask for.
 */
#ifndef HPC_CMD_TOKENIZER_OPTIONS_H
#define HPC_CMD_TOKENIZER_OPTIONS_H

#include "model/tokenizer.h"

/* A row for an option table: the const char * at `at`. */
#define TOKENIZER_MODEL_OPTION(at)                                                                 \
    {                                                                                              \
        .name = "model", .letter = 'm', .kind = HPC_TEXT, .offset = (at), .argument = "PATH",      \
        .help = "Tokenizer: a tokenizer.model, a tokenizer.json, a folder with one of them, or a " \
                "FILE.gguf or FILE.packed."                                                        \
    }

/* Opens what --model names, for a command that takes one file; `what` is in it. */
static inline int tokenizer_open_for(hpc_tokenizer **out, const char *model, int argc,
                                     const char *what)
{
    *out = NULL;
    if (argc != 1) return hpc_fail(HPC_E_ARG, "name one %s, or - for standard input", what);
    if (!model)
        return hpc_fail(HPC_E_ARG, "--model is missing: a tokenizer, its folder or a GGUF file");
    return hpc_model_tokenizer(out, model);
}

#endif
