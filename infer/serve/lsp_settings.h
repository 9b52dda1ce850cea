/*
 * Settings of the language server, which clients change at any time. Jobs take a copy.
 */
#ifndef HPC_SERVE_LSP_SETTINGS_H
#define HPC_SERVE_LSP_SETTINGS_H

#include <limits.h>

#include "infer/serve/lsp.h"
#include "runtime/source/source.h"

typedef struct lsp_settings {
    /* by the language of a document; HPC_LANGUAGE_NONE: other languages */
    bool completion[HPC_LANGUAGE_N], pragma[HPC_LANGUAGE_N], perf[HPC_LANGUAGE_N];
    bool guard;
    int64_t threads, tokens; /* of completions */
    double seconds, prompt_seconds;
    char model[PATH_MAX]; /* "": none */
} lsp_settings;

void lsp_settings_init(lsp_settings *out, const hpc_lsp_options *o);
/* The language of a document's languageId; HPC_LANGUAGE_NONE: another one. */
hpc_language lsp_language_of_id(const char *id);

#endif
