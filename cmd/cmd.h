/*
 * cmd.h: the subcommands, and what they share.
 *
 * One file for each subcommand; only here is argv read, is anything printed,
 * and does the process end.
 */
#ifndef HPC_CMD_H
#define HPC_CMD_H

#include <limits.h>
#include <stdio.h>

#include "config.h"
#include "runtime/base/options.h"
#include "runtime/device/device.h"

/* Exit codes of every subcommand; run() may also return a negative code with the error recorded. */
enum { EXIT_DONE = 0, EXIT_FINDINGS = 1, EXIT_BAD_INPUT = 2, EXIT_FAILURE_INTERNAL = 3 };

extern const hpc_command hpc_cmd_info, hpc_cmd_plan_show, hpc_cmd_bench_op, hpc_cmd_bench_step,
    hpc_cmd_bench_decode, hpc_cmd_bench_optimizer, hpc_cmd_bench_link, hpc_cmd_bench_graph,
    hpc_cmd_report;
extern const hpc_command hpc_cmd_eval_perplexity, hpc_cmd_eval_complete, hpc_cmd_eval_pareval,
    hpc_cmd_eval_perf, hpc_cmd_eval_pragma, hpc_cmd_eval_graph;
extern const hpc_command hpc_cmd_plan_check, hpc_cmd_plan_simulate;
extern const hpc_command hpc_cmd_corpus_harvest, hpc_cmd_corpus_check, hpc_cmd_corpus_sketch,
    hpc_cmd_corpus_loops, hpc_cmd_corpus_pack, hpc_cmd_corpus_passages, hpc_cmd_corpus_stats;
extern const hpc_command hpc_cmd_perf_collect, hpc_cmd_perf_predict, hpc_cmd_perf_report,
    hpc_cmd_perf_train;
extern const hpc_command hpc_cmd_tokenizer_train, hpc_cmd_tokenizer_encode,
    hpc_cmd_tokenizer_decode, hpc_cmd_tokenizer_rename;
extern const hpc_command hpc_cmd_lsp, hpc_cmd_mcp, hpc_cmd_serve;
extern const hpc_command hpc_cmd_complete, hpc_cmd_pragma, hpc_cmd_train, hpc_cmd_import,
    hpc_cmd_export;
extern const hpc_command *const hpc_commands[]; /* ends with NULL */

int hpc_cmd_exit_code(int rc); /* for a negative code */
int hpc_cmd_failed(const char *command,
                   int rc); /* prints the recorded error; returns the exit code */
/* Writes and releases a buffer; HPC_E_IO: stdout is closed. */
int hpc_cmd_print(hpc_buf *text);
/* The same for a final report. If it cannot be written, the error names the result, as in "the
 * corpus is complete in" WHERE. */
int hpc_cmd_print_report(hpc_buf *text, const char *done, const char *where);
/* usage.c */
#define HPC_CMD_CANNOT_WRITE "cannot write to standard output"
int hpc_cmd_usage(FILE *to); /* lists the commands; returns an exit code: bad usage for stderr */
/* Fails with a message that suggests the nearest command; `second`: the next argument, or "". */
int hpc_cmd_unknown(const char *first, const char *second);
/* manual.c: every man page under DIR/man1. */
int hpc_cmd_write_manuals(const char *dir);
/* ---- shared by long-running commands (support.c) ---------------------------------- */
/* Initializes progress on standard error: a bar on a terminal; silent if quiet. */
void hpc_cmd_progress(hpc_progress *out, bool quiet);
void hpc_cmd_warn(const char *line, void *command); /* "hpccoder COMMAND: LINE" on stderr */
/* Ctrl-C, TERM and HUP: the first sets *stop and prints "stopping; THEN", where `then` is a static
 * string with the consequence for the work. A Ctrl-C after that ends the process. Threads made
 * between start and end do not receive these signals: start precedes any that outlives it. */
typedef struct hpc_cmd_signals hpc_cmd_signals;
int hpc_cmd_signals_start(hpc_cmd_signals **out, const char *command, const char *then);
/* quiet: omits the message, because another process prints it or a launcher ends the ranks. */
void hpc_cmd_signals_follow(hpc_cmd_signals *s, bool quiet);
const int *hpc_cmd_signals_stop(const hpc_cmd_signals *s);
int *hpc_cmd_signals_save(hpc_cmd_signals *s); /* USR1 sets it, who saves clears it */
void hpc_cmd_signals_end(hpc_cmd_signals *s);
/* The path of a file that is installed with the program: in its folder, in ../lib/hpccoder or
 * ../share/hpccoder; for a program in build/<variant>/ in share/ of the source tree. "": not found.
 * out: PATH_MAX chars. */
int hpc_cmd_find(char *out, const char *name);
/* The path of the model that `make model` installed in the user's data folder, or "". */
int hpc_cmd_find_installed(char out[PATH_MAX]);
/* The path of the requested model. If none is requested (NULL, ""), that of `name`, which comes
 * with the program; the installed model replaces the pilot. HPC_E_ARG: it does not exist, or is not
 * a model. */
#define HPC_CMD_PILOT "pilot.gguf"
int hpc_cmd_find_model(char out[PATH_MAX], const char *asked, const char *name);
/* The folder for temporary files: $TMPDIR or /tmp. */
const char *hpc_cmd_scratch(void);
/* The path of the passage index of a model: the requested one; without one FILE.passages next to
 * FILE.gguf, or model.passages in DIR, if it exists. "": none, or "none" is requested. */
int hpc_cmd_find_passages(char out[PATH_MAX], const char *asked, const char *model);
int hpc_cmd_threads(int64_t asked); /* 0: one for each CPU that this process may use */
/* The sketch of what is held out: the one asked for, the program's own, whose path goes to `room`,
 * when nothing was asked, and NULL for "none". */
int hpc_cmd_find_sketch(const char **out, char room[PATH_MAX], const char *asked);
/* "PATH" or "NAME=PATH", which is cut in two; a path that is there may contain '='. */
int hpc_cmd_name_path(const char **name, const char **path, char *text);
/* Appends a whole file; "-": standard input. */
/* hpc_file_edit; a warning names what of the file could not be kept. (support.c) */
int hpc_cmd_edit(const char *command, const char *file, const hpc_buf *from, const hpc_buf *to,
                 bool force);
int hpc_cmd_read(hpc_buf *out, const char *file);
/* "12.3 MiB" */
const char *hpc_cmd_bytes(char out[32], double bytes);

/* ---- options that mean the same everywhere ----------------------------------------
 * Rows for an option table over a struct with a member of that name: int64_t threads, const char
 * *device, bool others.
 * What a command does not do, it has no option for. */
#define HPC_CMD_THREADS(options)                                                                   \
    {                                                                                              \
        .name = "threads", .letter = 'j', .kind = HPC_INT, .offset = offsetof(options, threads),   \
        .fallback = "0", .argument = "N", .most = 4096,                                            \
        .help = "Worker threads; 0: one for each CPU that this process may use."                   \
    }
#define HPC_CMD_DEVICE(options, before) /* before: the option's former name, or NULL */            \
    {                                                                                              \
        .name = "device", .former = (before), .kind = HPC_TEXT,                                    \
        .offset = offsetof(options, device), .fallback = "cpu", .argument = "DEVICE",              \
        .help = "Device to run on: cpu, cuda, or cuda:N for one of several GPUs; "                 \
                "`hpccoder info` lists them."                                                      \
    }
#define HPC_CMD_RESUME(options)                                                                    \
    {                                                                                              \
        .name = "resume", .kind = HPC_FLAG, .offset = offsetof(options, resume),                   \
        .help = "Continue from the existing contents of DIR and replace damaged files; start "     \
                "afresh if DIR is empty."                                                          \
    }
#define HPC_CMD_JSON(options)                                                                      \
    {                                                                                              \
        .name = "json", .kind = HPC_FLAG, .offset = offsetof(options, json),                       \
        .help = "Print results as JSON."                                                           \
    }
#define HPC_CMD_QUIET(options)                                                                     \
    {                                                                                              \
        .name = "quiet", .letter = 'q', .kind = HPC_FLAG, .offset = offsetof(options, quiet),      \
        .help = "Print no progress and no notes, only results, warnings and errors."               \
    }

#endif
