/*
 * complete.h: the options of `hpccoder complete`, and what it says of sources.
 */
#ifndef HPC_CMD_COMPLETE_H
#define HPC_CMD_COMPLETE_H

#include <limits.h>

#include "cmd/cmd.h"
#include "infer/complete/source.h"

typedef struct complete_options {
    const char *at, *stop, *grammar, *model, *device, *weights, *cache, *name, *check, *database,
        *context, *passages, *samples;
    int64_t max_tokens, top_k, seed, prompt_tokens, guess, threads;
    double seconds, temperature, top_p, min_p, repeat, prompt_seconds;
    bool raw, no_verbatim, partial, write, force, json, verbose, quiet;
} complete_options;

extern const hpc_option complete_option_table[];

/* known: their file's path. Those that were asked for must be there and good; those beside the
 * model need not be: then *out is NULL, and what is wrong with them is a warning. */
int complete_open_passages(hpc_passages **out, char known[PATH_MAX], const complete_options *o,
                           const char *model);
/* As `source`: the longest run; behind it, as its `others`, what else c repeats, and who else has
 * that. */
void complete_put_source(hpc_json_out *w, const hpc_completion *c);
/* On standard error, a line each: of c, which may be NULL, and of what was left out. */
void complete_remark_source(const hpc_completion *c, int64_t left_out);

#endif
