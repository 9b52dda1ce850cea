/*
 * Language Server Protocol 3.17 over two file descriptors: inline completions, completions,
 * verdicts on loops as diagnostics, fixes as code actions, hover, and performance hints on save.
 *
 * The server supersedes inline completions: a new request for a document answers the earlier ones
 * with null. A model that cannot be loaded disables completions and nothing else.
 */
#ifndef HPC_SERVE_LSP_H
#define HPC_SERVE_LSP_H

#include "infer/engine/engine.h"
#include "runtime/source/check.h"

typedef struct hpc_lsp_options {
    int in, out;
    const char *version;
    hpc_checker *checker; /* NULL: no diagnostics, and no_checker says why */
    const char *no_checker;
    const char *database;      /* compile_commands.json; NULL: searched for from each file */
    bool completes;            /* offers completions */
    hpc_engine_options engine; /* its model NULL: no model was found, and no_model says why */
    const char *no_model;
    /* Checks completions; another is drawn for one that fails. Not that of the diagnostics, which
     * another thread uses. NULL: no checks. */
    hpc_checker *completion_checker;
    const char *passages; /* passage index of the model; NULL: none */
    int64_t completion_tokens;
    double completion_seconds, prompt_seconds;
    bool guard;               /* as `pragma --guard` */
    bool perf;                /* performance hints on save, unless the client configures it */
    const char *program;      /* path of hpccoder, for performance hints; NULL: none */
    const char *cache_folder; /* of the key-value cache; NULL: it is not kept on disk */
    int slow_ms;              /* for tests: each step of a prompt takes at least as long */
} hpc_lsp_options;

/* Serves until `exit` or the end of input. 0: after `shutdown`; 1: without it, as the protocol
 * wants; negative: the streams failed. */
int hpc_lsp_serve(const hpc_lsp_options *o);

#endif
