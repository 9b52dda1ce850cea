/*
 * eval.h: options, log and reports that the commands `eval ...` share.
 */
#ifndef HPC_CMD_EVAL_H
#define HPC_CMD_EVAL_H

#include "cmd/cmd.h"
#include "eval/eval.h"

typedef struct eval_common {
    const char *out, *compare, *html;
    int64_t seed;
    bool json, quiet;
} eval_common;

/* Rows for an option table over a struct with an eval_common at `base`. */
#define EVAL_OPTIONS(base)                                                                         \
    {.name = "out",                                                                                \
     .letter = 'o',                                                                                \
     .kind = HPC_TEXT,                                                                             \
     .offset = (base) + offsetof(eval_common, out),                                                \
     .argument = "DIR",                                                                            \
     .help = "Keep each sample in DIR/samples.jsonl. A second run with the same settings "         \
             "continues there, and computes only missing samples."},                               \
        {.name = "compare",                                                                        \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(eval_common, compare),                                        \
         .argument = "DIR",                                                                        \
         .help = "Also compare with the results in DIR, sample by sample: differences with "       \
                 "paired bootstrap intervals."},                                                   \
        {.name = "html",                                                                           \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(eval_common, html),                                           \
         .argument = "FILE",                                                                       \
         .help = "Also write a self-contained HTML page with plots."},                             \
        {.name = "seed",                                                                           \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(eval_common, seed),                                           \
         .fallback = "1",                                                                          \
         .argument = "N",                                                                          \
         .most = 9e15,                                                                             \
         .help = "Seed of all random choices. The same seed gives the same report."},              \
        {.name = "json",                                                                           \
         .kind = HPC_FLAG,                                                                         \
         .offset = (base) + offsetof(eval_common, json),                                           \
         .help = "Print results as JSON."},                                                        \
    {                                                                                              \
        .name = "quiet", .letter = 'q', .kind = HPC_FLAG,                                          \
        .offset = (base) + offsetof(eval_common, quiet),                                           \
        .help = "Print no progress and no notes, only results, warnings and errors."               \
    }

/* Opens the log of --out, or one in memory. Its settings are the arguments and all options that
 * decide samples. */
int hpc_cmd_eval_open(hpc_eval_log **log, const hpc_command *c, const void *options,
                      const eval_common *o, const char *const *argument, int arguments);
/* Prints the report, and writes the page. */
int hpc_cmd_eval_report(const hpc_eval_suite *s, const hpc_eval_log *log, const eval_common *o);

#endif
