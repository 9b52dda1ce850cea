/*
 * `hpccoder complete`: its options, the state of a run, and what prints it.
 */
#ifndef HPC_CMD_COMPLETE_H
#define HPC_CMD_COMPLETE_H

#include <limits.h>

#include "cmd/cmd.h"
#include "infer/complete/context.h"
#include "infer/complete/source.h"
#include "infer/complete/verify.h"
#include "model/files.h"

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

typedef struct completing {
    const complete_options *o;
    const char *file, *name; /* as given, and what says its language */
    hpc_buf bytes;
    hpc_spot spot;
    char model[PATH_MAX];
    hpc_model_files *files;
    bool shows_others; /* parts of other files */
    hpc_completer *completer;
    hpc_context *context;
    hpc_context_parts parts;
    char known[PATH_MAX];
    hpc_passages *passages; /* NULL: there are none to ask */
    hpc_completions made;
    int64_t left_out;         /* answers that repeat what is known */
    const char *const *given; /* flags, NULL-terminated; NULL: none were given */
    hpc_check_flags flags;
    int64_t samples; /* answers at most */
    bool until_good; /* no more of them than until one passes all checks */
    int64_t most;    /* tokens of an answer */
    hpc_checker *compiler;
    hpc_completions_checker *checker; /* NULL: nothing is checked */
    int64_t start_ns, loaded_ns;
    hpc_progress progress; /* of reading the prompt */
    bool reads;            /* it is shown */
    hpc_buf streamed;
    int failed; /* of what is printed on the way */
} completing;

/* ---- complete_print.c ---- */
int complete_print_json(completing *x);
int complete_print_text(completing *x);
void complete_remark(const completing *x);            /* on standard error */
hpc_complete_stop complete_stop_of(const char *name); /* of --stop */
/* Why the best completion would break the file; NULL: it would not. */
const hpc_completion_check *complete_incomplete(const completing *x);

#endif
