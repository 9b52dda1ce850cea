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

/* known: receives the path of the index. A requested index must exist and be valid. The one in the
 * folder of the model is optional: without it *out is NULL, and a damaged one causes a warning. */
int complete_open_passages(hpc_passages **out, char known[PATH_MAX], const complete_options *o,
                           const char *model);
/* Writes `source`: the longest run, followed by its `others`: further runs that c repeats, and
 * other repositories that have them. */
void complete_put_source(hpc_json_out *w, const hpc_completion *c);
/* Prints to standard error one line about c, which may be NULL, and one about omitted answers. */
void complete_remark_source(const hpc_completion *c, int64_t left_out);

typedef struct completing {
    const complete_options *o;
    const char *file, *name; /* as given, and the name that determines the language */
    hpc_buf bytes;
    hpc_spot spot;
    char model[PATH_MAX];
    hpc_model_files *files;
    bool shows_others; /* parts of other files */
    hpc_completer *completer;
    hpc_context *context;
    hpc_context_parts parts;
    char known[PATH_MAX];
    hpc_passages *passages; /* NULL: no index */
    hpc_completions made;
    int64_t left_out;         /* omitted answers, which repeat known code */
    const char *const *given; /* flags, NULL-terminated; NULL: none were given */
    hpc_check_flags flags;
    int64_t samples; /* limit of answers */
    bool until_good; /* stop at the first that passes all checks */
    int64_t most;    /* token limit of an answer */
    hpc_checker *compiler;
    hpc_completions_checker *checker; /* NULL: no checks */
    int64_t start_ns, loaded_ns;
    hpc_progress progress; /* label NULL: none is shown */
    hpc_buf streamed;
    int failed; /* error of output during the run */
} completing;

/* ---- complete_open.c ---- */
hpc_complete_stop complete_stop_of(const char *name); /* (complete.c) */
int complete_open_spot(completing *x);
int complete_open_compiler(completing *x); /* before the model: it forks the process of libclang */
int complete_open_completer(completing *x);
int complete_open_checker(completing *x);
int complete_find_context(completing *x);

/* ---- complete_print.c ---- */
int complete_print_json(completing *x);
int complete_print_text(completing *x);
/* Progress of a request; its user is a completing. */
void complete_show_reading(void *user, int64_t done, int64_t total);
void complete_show_writing(void *user, int64_t done, int64_t total);
void complete_end_progress(completing *x);

/* ---- complete_remark.c ---- */
void complete_remark(const completing *x); /* on standard error */
/* Why the best completion would break the file; NULL: it would not. */
const hpc_completion_check *complete_incomplete(const completing *x);

#endif
