/*
 * `hpccoder complete`: completes code at a position in a file, and prints it or writes it.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/compiler.h"
#include "cmd/complete.h"
#include "cmd/terminal.h"
#include "infer/complete/context.h"
#include "infer/complete/verify.h"
#include "model/files.h"

enum {
    ROOMY = 2048, /* tokens, of a model that may have seen several files at once */
    SPARE = 64,   /* tokens, for marks and for text that is tokenized again */
    ROUNDS = 4    /* rounds of sampling, if all completions repeat known code */
};

/* ---- options ------------------------------------------------------------------------------- */

static int read_number(int64_t *out, const char **text, const char *all)
{
    char *end;
    errno = 0;
    long long n = strtoll(*text, &end, 10);
    if (end == *text || errno || n < 1)
        return hpc_fail(HPC_E_ARG, "--at %s: expected LINE or LINE:COLUMN, from 1", all);
    *out = n;
    *text = end;
    return HPC_OK;
}

static int read_place(hpc_position *out, const char *text)
{
    const char *at = text;
    int rc = HPC_OK;
    *out = (hpc_position){0};
    if (!text) return HPC_OK;
    TRY(read_number(&out->line, &at, text));
    if (*at == ':') {
        at++;
        TRY(read_number(&out->col, &at, text));
    }
    if (*at) rc = hpc_fail(HPC_E_ARG, "--at %s: expected LINE or LINE:COLUMN, from 1", text);
out:
    return rc;
}

static int open_spot(completing *x)
{
    hpc_position place;
    int rc;
    x->name = x->o->name ? x->o->name : x->file;
    if (strcmp(x->file, "-") == 0) {
        if (x->o->write) return hpc_fail(HPC_E_ARG, "--write needs a file, not standard input");
        if (!x->o->name)
            return hpc_fail(
                HPC_E_ARG,
                "standard input has no file name: set it with --name FILE.c, .cpp, .cu or .f90");
    }
    if (x->o->force && !x->o->write)
        return hpc_fail(HPC_E_ARG, "--force needs --write: nothing else changes the file");
    TRY(read_place(&place, x->o->at));
    if (x->o->write) TRY(hpc_file_check_edit(x->file, x->o->force));
    TRY(hpc_cmd_read(&x->bytes, x->file));
    TRY(hpc_spot_open(&x->spot, x->name, x->bytes.data, x->bytes.n, place));
out:
    return rc;
}

/* Said of the option, and before the model is looked at. */
static int check_device(const char *name)
{
    hpc_buf known = {0};
    bool is = false;
    for (const char *const *k = hpc_device_backends(); *k; k++) {
        hpc_buf_printf(&known, "%s%s", known.n > 0 ? ", " : "", *k);
        is = is || strcmp(*k, name) == 0;
    }
    int rc = known.failed;
    if (rc >= 0 && !is)
        rc =
            hpc_fail(HPC_E_ARG, "--device %s: unknown device; this build has %s", name, known.data);
    hpc_buf_release(&known);
    return rc;
}

enum { AUTO_SAMPLES = 8, SAMPLES_MOST = 256, AUTO_TOKENS = 1024, RAW_TOKENS = 256 };

/* Once the model is known. */
static int read_effort(completing *x)
{
    const complete_options *o = x->o;
    int64_t positions = hpc_model_files_config(x->files)->positions;
    char *end;
    bool decides = !o->raw && strcmp(o->check, "none") != 0 && strcmp(o->stop, "line") != 0 &&
                   x->spot.language != HPC_LANGUAGE_NONE;
    x->until_good = strcmp(o->samples, "auto") == 0;
    x->samples = x->until_good && decides && !o->no_verbatim ? AUTO_SAMPLES : 1;
    if (!x->until_good) {
        x->samples = strtoll(o->samples, &end, 10);
        if (*end || end == o->samples || x->samples < 1 || x->samples > SAMPLES_MOST)
            return hpc_fail(HPC_E_ARG, "--samples %s: expected auto or a number from 1 to %d",
                            o->samples, SAMPLES_MOST);
    }
    x->most = o->raw ? RAW_TOKENS : AUTO_TOKENS;
    if (x->most > positions / 4) x->most = positions / 4;
    if (o->max_tokens > 0) x->most = o->max_tokens;
    return HPC_OK;
}

/* Answers that are drawn at once. */
static int64_t concurrent(const completing *x)
{
    return x->until_good && x->samples > 4 ? 4 : x->samples;
}

/* Tokens that the cache has room for: memory is had in large pages, and each of them that a token
 * falls into is cleared as a whole. A text has no more tokens than bytes; those of other files are
 * not known yet. */
static int64_t plan_cache(completing *x)
{
    const complete_options *o = x->o;
    int64_t positions = hpc_model_files_config(x->files)->positions, most = o->prompt_tokens;
    int64_t answers = concurrent(x) * (x->most + SPARE);
    int64_t alone = (int64_t)(x->spot.text.n + strlen(x->name)) + SPARE; /* and the marks */
    bool roomy = positions >= ROOMY && most + answers >= ROOMY && strcmp(o->context, "auto") == 0;
    x->shows_others = !o->raw && (roomy || strcmp(o->context, "repository") == 0);
    if (most > positions) most = positions;
    if (most > alone && !x->shows_others) most = alone;
    return most + answers;
}

static int open_completer(completing *x)
{
    const complete_options *o = x->o;
    hpc_engine_options e = {.model = x->model,
                            .backend = o->device,
                            .threads = hpc_cmd_threads(o->threads),
                            .weights = HPC_DTYPE_N,
                            .guess = o->guess};
    int rc;
    TRY(check_device(o->device));
    TRY(hpc_cmd_find_model(x->model, o->model ? o->model : getenv("HPCCODER_MODEL"), "pilot.gguf"));
    TRY(complete_open_passages(&x->passages, x->known, o, x->model));
    if (strcmp(o->weights, "stored") != 0) TRY(hpc_dtype_find(&e.weights, o->weights));
    TRY(hpc_dtype_find(&e.cache, o->cache));
    TRY(hpc_model_files_open(&x->files, x->model));
    TRY(read_effort(x));
    e.files = x->files;
    e.requests = concurrent(x);
    e.cache_tokens = plan_cache(x);
    TRY(hpc_completer_open(&x->completer, &e));
out:
    return rc;
}

/* A quarter of the prompt may be parts of other files. They are asked for in pieces of half of
 * that, and a few times as much as fits: how many tokens a text has is not known here. */
static int find_context(completing *x)
{
    const complete_options *o = x->o;
    int64_t most = hpc_completer_room(x->completer) - x->most;
    if (most > o->prompt_tokens) most = o->prompt_tokens;
    size_t tokens = most > 0 ? (size_t)most / 4 : 0;
    const hpc_context_options c = {.bytes = 12 * tokens, .part_bytes = 3 * tokens / 2};
    int rc = HPC_OK;
    if (x->shows_others) {
        TRY(hpc_context_open(&x->context, x->name));
        TRY(hpc_context_find(&x->parts, x->context, x->name, &x->spot, &c));
    }
    x->loaded_ns = hpc_clock_ns();
out:
    return rc;
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

/* The bytes around the place stay what they were. A text at the end of a file ends its line. */
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

/* ---- checks ------------------------------------------------------------------------------------
 */

/* True if libclang checks the completions; *must: its absence is an error. */
static bool wants_compiler(const completing *x, bool *must)
{
    const complete_options *o = x->o;
    *must = strcmp(o->check, "compiler") == 0 || o->database || x->given;
    bool ranked = strcmp(o->samples, "1") != 0 || o->json || o->write; /* else there is no choice */
    return *must || (ranked && strcmp(o->check, "auto") == 0);
}

static int find_flags(completing *x)
{
    if (x->given) return hpc_check_flags_given(&x->flags, x->given, NULL);
    return x->o->database ? hpc_check_flags_find(&x->flags, x->o->database, x->name) : HPC_OK;
}

static void warn_of_compiler(void *user, const char *message)
{
    (void)user;
    hpc_cmd_warn(message, "complete");
}

/* Before the model is loaded: the process of libclang is a fork of this one. */
static int open_compiler(completing *x)
{
    bool must, wants = wants_compiler(x, &must);
    int rc = HPC_OK;
    TRY(find_flags(x));
    if (strcmp(x->o->check, "none") == 0 || x->o->raw || !wants) return HPC_OK;
    if (!hpc_check_knows(x->spot.language)) return HPC_OK;
    rc = hpc_cmd_open_checker(&x->compiler);
    if (rc == HPC_E_UNSUPPORTED && !must) {
        hpc_error_clear();
        rc = HPC_OK;
    }
out:
    return rc;
}

static hpc_complete_stop stop_of(const char *name)
{
    if (strcmp(name, "line") == 0) return HPC_STOP_LINE;
    return strcmp(name, "function") == 0 ? HPC_STOP_FUNCTION : HPC_STOP_BLOCK;
}

static int open_checker(completing *x)
{
    bool must, wants = wants_compiler(x, &must);
    (void)wants;
    const hpc_completions_verify_options o = {.stop = stop_of(x->o->stop),
                                              .checker = x->compiler,
                                              .path = x->name,
                                              .flags = x->flags.n > 0 ? &x->flags : NULL,
                                              .give_up = must ? NULL : warn_of_compiler};
    if (strcmp(x->o->check, "none") == 0 || x->o->raw) return HPC_OK;
    return hpc_completions_checker_open(&x->checker, &x->spot, &o);
}

/* ---- the command ------------------------------------------------------------------------- */

static const double DRAWN = 0.6;  /* temperature of several samples, */
static const double HOTTER = 0.3; /* and by how much each further round is above that */

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

static int draw(completing *x, const hpc_complete_request *r)
{
    int rc;
    if (x->checker && x->until_good)
        return hpc_complete_until_good(&x->made, x->completer, r, x->checker);
    TRY(hpc_complete(&x->made, x->completer, r));
    bool cancelled = __atomic_load_n(r->cancel, __ATOMIC_RELAXED);
    if (x->checker && !cancelled) TRY(hpc_completions_check(&x->made, x->checker));
out:
    return rc;
}

/* Once, or until there is something that repeats nothing. */
static int make_rounds(completing *x, hpc_complete_request *r)
{
    int rc = HPC_OK;
    for (int k = 0;
         k < ROUNDS && x->made.n == 0 && !(k > 0 && __atomic_load_n(r->cancel, __ATOMIC_RELAXED));
         k++)
    {
        hpc_completions_release(&x->made);
        TRY(draw(x, r));
        TRY(x->failed);
        if (x->passages) TRY(hpc_completions_find_sources(&x->made, r->spot, x->passages));
        if (!x->o->no_verbatim) break;
        x->left_out += hpc_completions_leave_out(&x->made);
        r->sampling.seed++;
        double least = DRAWN + HOTTER * k;
        if (r->sampling.temperature < least) r->sampling.temperature = least;
    }
out:
    return rc;
}

static int make(completing *x, const int *cancel)
{
    const complete_options *o = x->o;
    hpc_complete_request r = {.spot = &x->spot,
                              .path = x->parts.path ? x->parts.path : shown_path(x->name),
                              .repository = x->parts.repository,
                              .snippet = x->parts.snippet,
                              .snippet_n = x->parts.n,
                              .stop = stop_of(o->stop),
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
    if (!o->quiet) r.reading = complete_show_reading;
    if (!o->quiet && !r.ready) r.writing = complete_show_writing;
    int rc = make_rounds(x, &r);
    complete_end_progress(x);
    return rc;
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
    TRY(open_spot(&x));
    TRY(open_compiler(&x));
    TRY(open_completer(&x));
    TRY(open_checker(&x));
    TRY(find_context(&x));
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
        "libclang. If all headers are found and a compile_commands.json or the command line gives "
        "the flags, it must also compile. A fragment that uses standard names without including "
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
