/*
 * `hpccoder complete`: completes code at a position in a file, and prints it or writes it.
 */
#include <string.h>

#include "cmd/compiler.h"
#include "cmd/complete.h"
#include "cmd/terminal.h"

hpc_complete_stop complete_stop_of(const char *name)
{
    if (strcmp(name, "line") == 0) return HPC_STOP_LINE;
    return strcmp(name, "function") == 0 ? HPC_STOP_FUNCTION : HPC_STOP_BLOCK;
}

/* ---- output ------------------------------------------------------------------------------- */

static void print_ready(void *user, const char *text, size_t n)
{
    completing *x = user;
    hpc_buf out = {0};
    complete_end_progress(x);
    hpc_buf_add(&out, text, n);
    int rc = hpc_cmd_print(&out);
    if (x->failed >= 0) x->failed = rc;
    hpc_buf_add(&x->streamed, text, n);
}

/* Keeps the other bytes of the file. A text at the end of a file ends its line. */
static int write_file(completing *x, bool stopped)
{
    const hpc_spot *d = &x->spot;
    hpc_buf all = {0}, text = {0};
    int rc = HPC_OK;
    if (stopped)
        return hpc_fail(HPC_E_ABORTED,
                        "stopped before the completion was finished; %s is unchanged", x->file);
    if (x->made.n == 0 || x->made.item[0].text.n == 0) return HPC_OK;
    TRY(hpc_buf_add(&text, x->made.item[0].text.data, x->made.item[0].text.n));
    if (d->at == d->text.n && text.data[text.n - 1] != '\n') TRY(hpc_buf_text(&text, "\n"));
    TRY(hpc_buf_add(&all, x->bytes.data, d->raw_at));
    TRY(hpc_spot_spell(&all, d, text.data, text.n));
    TRY(hpc_buf_add(&all, x->bytes.data + d->raw_at, x->bytes.n - d->raw_at));
    TRY(hpc_cmd_edit("complete", x->file, &x->bytes, &all, x->o->force));
out:
    hpc_buf_release(&text);
    hpc_buf_release(&all);
    return rc;
}

/* ---- the command ------------------------------------------------------------------------- */

static const double DRAWN = 0.6; /* temperature of several samples */

static hpc_sampling sampling_of(const completing *x)
{
    const complete_options *o = x->o;
    hpc_sampling s = hpc_sampling_greedy();
    s.temperature = o->temperature >= 0                ? o->temperature
                    : x->samples > 1 && !x->until_good ? DRAWN
                                                       : 0;
    s.top_k = o->top_k;
    s.top_p = o->top_p;
    s.min_p = o->min_p;
    s.repeat = o->repeat;
    s.seed = (uint64_t)o->seed;
    return s;
}

/* Sets the rule of that name; false if the name is unknown. */
static bool rule_of(hpc_grammar_rule *rule, const char *name)
{
    *rule = (hpc_grammar_rule)HPC_GRAMMAR_RULE_DEFAULTS;
    rule->bare = true;
    if (strcmp(name, "openmp") == 0) rule->kind = HPC_GRAMMAR_DIRECTIVE;
    if (strcmp(name, "json") == 0) rule->kind = HPC_GRAMMAR_JSON;
    return strcmp(name, "none") != 0;
}

/* The path as a repository has it, without leading "./" and "../". */
static const char *shown_path(const char *name)
{
    while (strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0)
        name = strchr(name, '/') + 1;
    return name[0] == '/' ? strrchr(name, '/') + 1 : name;
}

static int make(completing *x, const int *cancel)
{
    const complete_options *o = x->o;
    hpc_complete_request r = {.spot = &x->spot,
                              .path = x->parts.path ? x->parts.path : shown_path(x->name),
                              .repository = x->parts.repository,
                              .snippet = x->parts.snippet,
                              .snippet_n = x->parts.n,
                              .stop = complete_stop_of(o->stop),
                              .raw = o->raw,
                              .most = x->most,
                              .close = !o->partial,
                              .until_ns =
                                  o->seconds > 0 ? hpc_clock_ns() + (int64_t)(o->seconds * 1e9) : 0,
                              .samples = x->samples,
                              .prompt_tokens = o->prompt_tokens,
                              .prompt_ns = (int64_t)(o->prompt_seconds * 1e9),
                              .sampling = sampling_of(x),
                              .user = x,
                              .cancel = cancel};
    hpc_grammar_rule rule;
    if (rule_of(&rule, o->grammar)) r.rule = &rule;
    bool streams = x->samples == 1 || (x->until_good && terminal_is(stdout));
    if (!o->json && !o->write && streams && !o->no_verbatim) r.ready = print_ready;
    hpc_cmd_progress(&x->progress, o->quiet);
    x->progress.until_ns = r.until_ns;
    if (!o->quiet) r.reading = complete_show_reading;
    if (!o->quiet && !r.ready) r.writing = complete_show_writing;
    const hpc_complete_source_options s = {.checker = x->checker,
                                           .until_good = x->until_good,
                                           .passages = x->passages,
                                           .no_verbatim = o->no_verbatim};
    int rc = hpc_complete_with_sources(&x->made, &x->left_out, x->completer, &r, &s);
    complete_end_progress(x);
    return rc < 0 ? rc : x->failed;
}

static int run(void *options, int argc, char **argv)
{
    completing x = {.o = options, .start_ns = hpc_clock_ns()};
    hpc_cmd_signals *signals = NULL;
    int rc;
    x.given = hpc_cmd_take_flags(&argc, argv);
    if (argc != 1)
        return hpc_fail(HPC_E_ARG, "name one file, or '-' for standard input; see --help");
    x.file = argv[0];
    TRY(complete_open_spot(&x));
    TRY(complete_open_compiler(&x));
    TRY(complete_open_completer(&x));
    TRY(complete_open_checker(&x));
    TRY(complete_find_context(&x));
    TRY(hpc_cmd_signals_start(&signals, "complete",
                              x.o->write ? "the file stays unchanged"
                                         : "printing the text completed so far"));
    TRY(make(&x, hpc_cmd_signals_stop(signals)));
    bool whole = x.o->partial || !complete_incomplete(&x);
    bool stopped = *hpc_cmd_signals_stop(signals) != 0;
    if (x.o->write && (whole || stopped)) TRY(write_file(&x, stopped));
    if (x.o->json) TRY(complete_print_json(&x));
    if (!x.o->json && !x.o->write) TRY(complete_print_text(&x));
    complete_remark(&x);
    rc = whole ? HPC_OK : EXIT_FINDINGS;
out:
    hpc_completions_checker_close(x.checker);
    hpc_checker_close(x.compiler);
    hpc_buf_release(&x.streamed);
    hpc_cmd_signals_end(signals);
    hpc_completions_release(&x.made);
    hpc_passages_close(x.passages);
    hpc_context_close(x.context);
    hpc_completer_close(x.completer);
    hpc_model_files_close(x.files);
    hpc_spot_close(&x.spot);
    hpc_check_flags_release(&x.flags);
    hpc_buf_release(&x.bytes);
    return rc;
}

const hpc_command hpc_cmd_complete = {
    .name = "complete",
    .summary = "Complete code at a position in a file.",
    .arguments = "FILE|- [-- COMPILER FLAGS]",
    .description =
        "Generates code at a position in a file of C, C++, CUDA or Fortran, from the text before "
        "and after it. A completion ends with its line, block or function, does not repeat the "
        "text after it, and keeps the file's indentation and line ends. In fixed-form Fortran it "
        "stays within columns 1 to 72. In the middle of a line, if more than closing brackets "
        "follow the cursor, it ends with the line. Partially typed words and operators are "
        "continued. In files of other languages, blocks end by indentation, and completions are "
        "not checked.\n\n"
        "The first completion is checked. It must end with its block or function closed, contain "
        "statements if the function needs them, balance its brackets, and parse in the file with "
        "libclang. If all headers are found, it must also compile. A fragment that uses standard "
        "names without including "
        "their headers is checked with these headers. OpenMP loops must be free of data races. If "
        "a comment or the signature asks for OpenMP, MPI or CUDA, the code must use it. If a check "
        "fails, --samples auto draws up to seven more completions until one passes, and prints the "
        "best. On a terminal, the first completion is printed while it is generated.\n\n"
        "If the model repeats itself or closes too many brackets, sampling restarts from its last "
        "complete statement. If the model does not end, brackets are closed after its last "
        "statement and `finish` in JSON is \"forced\". Otherwise it is \"stop\", \"length\", "
        "\"repetition\", \"unbalanced\", \"time\" or \"cancelled\". Ctrl-C prints the text "
        "completed so far; with --write it leaves the file unchanged.\n\n"
        "A completion that repeats at least 40 tokens of the training data is attributed to its "
        "repository and licence, if the model has a passage index: on standard error, or as "
        "`source` in JSON. Code found in three or more repositories, or with fewer than three "
        "names, is treated as common.\n\n"
        "The model may be a Hugging Face directory, a GGUF file, or a file from `hpccoder export "
        "--to packed`, which is mapped into memory. The prompt includes the text after the cursor "
        "if the model was trained to fill in the middle. If the model's context has 2,048 tokens "
        "or more, the prompt also includes parts of other files of the git repository that share "
        "names with the text around the cursor. Weights keep their stored type.\n\n"
        "Exit status: 0: done. 1: the best completion is incomplete: its line, block or function "
        "does not end, brackets do not pair, or a block does not parse. 2: bad usage or input. 3: "
        "stopped, or another failure.",
    .examples = "hpccoder complete solver.c --at 120  # at the end of line 120\n"
                "hpccoder complete solver.c --at 120 --stop function --write\n"
                "hpccoder complete - --name kernel.cu --json <kernel.cu  # at the end of the file\n"
                "hpccoder complete solver.c --at 120 --samples 8 -p build  # the best of eight "
                "that compiles\n"
                "hpccoder complete a.f90 --at 12:9 --samples 8 --json --model deepseek-coder.gguf",
    .options = complete_option_table,
    .options_bytes = sizeof(complete_options),
    .flags = true,
    .run = run,
};
