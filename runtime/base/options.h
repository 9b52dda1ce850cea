/*
 * options.h: option tables. One table per command defines parsing, --help, man page,
 * shell completion, configuration files and records.
 */
#ifndef HPC_OPTIONS_H
#define HPC_OPTIONS_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_option_kind {
    HPC_FLAG,
    HPC_INT,
    HPC_REAL,
    HPC_TEXT,
    HPC_CHOICE,
    HPC_TEXTS
} hpc_option_kind;
typedef struct hpc_texts {
    const char **item;
    int64_t n;
} hpc_texts;
typedef struct hpc_option {
    const char *name;              /* long name and JSON key ("max-tokens"); NULL ends a table */
    const struct hpc_option *more; /* in the last row, without a name: the table continues there */
    /* Former name, or NULL: still accepted and still the JSON key of records; not documented. */
    const char *former;
    char letter; /* short form, or 0 */
    hpc_option_kind kind;
    size_t offset;        /* of bool, int64_t, double, const char *, hpc_texts in the struct */
    const char *fallback; /* default as text; NULL: unset (false, 0, NULL) */
    const char *argument; /* "N", "FILE", ... in help; NULL for flags */
    const char *help;     /* one sentence */
    const char *const *choices; /* CHOICE: NULL-terminated */
    double least, most;         /* INT, REAL: inclusive range; both 0: any */
} hpc_option;

/* The option after `o` in a table and the tables that continue it; name NULL: none. No table is
 * empty. */
static inline const hpc_option *hpc_option_next(const hpc_option *o)
{
    o++;
    return !o->name && o->more ? o->more : o;
}

typedef struct hpc_command {
    const char *name;          /* "bench op" */
    const char *summary;       /* for lists of commands and the man page's title */
    const char *arguments;     /* "FILE...", or "" */
    const char *description;   /* paragraphs separated by blank lines */
    const char *examples;      /* lines "COMMAND  # what it does" */
    const hpc_option *options; /* --help is added to every table */
    size_t options_bytes;
    bool flags; /* keeps "--", which precedes another program's options, among the arguments */
    int (*run)(void *options, int argc, char **argv); /* returns an exit code, 0 to 3 */
    /* NULL: the command reads no configuration file. Otherwise the first argument names one, in
     * JSON. Without arguments, this function writes its path, or "" for none. Options on the
     * command line override its keys, and --set KEY=VALUE sets an option. */
    int (*configured)(char path[/* PATH_MAX */], const void *options);
} hpc_command;
/* Sets defaults, then parses argv[1..] and moves the positional arguments to argv[0..*rest-1].
 * Returns 1 if --help is given; *rest is then 0. Texts in `out` are in argv, `a` or the table. */
int hpc_options_parse(void *out, const hpc_command *c, hpc_arena *a, int argc, char **argv,
                      int *rest);
/* Sets options from the keys of a JSON object. An unknown key is an error that names the most
 * similar known one. */
int hpc_options_load(void *out, const hpc_command *c, hpc_arena *a, const hpc_json *object);
/* Lines are shorter than `width` columns, except labels and commands, which are not wrapped. */
int hpc_options_help(hpc_buf *out, const hpc_command *c, const char *program, int width);
int hpc_options_overview(hpc_buf *out, const hpc_command *const *commands, int width);
int hpc_options_man(hpc_buf *out, const hpc_command *c, const char *program, const char *version);
int hpc_options_completion(hpc_buf *out, const hpc_command *const *commands, /* NULL-terminated */
                           const char *program);
int hpc_options_record(hpc_buf *out, const hpc_command *c, const void *options); /* as JSON */
/* Number of edits from `wrote` to `known`: letters inserted, deleted, replaced, or swapped with a
 * neighbour. 1 if `wrote` is the beginning of `known`; -1 if the names differ too much. */
int hpc_options_edits(const char *wrote, const char *known);

#ifdef __cplusplus
}
#endif
#endif
