/*
 * complete.c: `hpccoder complete`: what goes at a place in a file, printed or put in.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "infer/complete/complete.h"

typedef struct complete_options {
    const char *at, *stop, *grammar, *model, *device, *weights, *cache, *name;
    int64_t max_tokens, samples, top_k, seed, prompt_tokens, guess, threads;
    double temperature, top_p, min_p, repeat;
    bool write, json, verbose, quiet;
} complete_options;

typedef struct completing {
    const complete_options *o;
    const char *file, *name; /* as given, and what says its language */
    hpc_buf bytes;
    hpc_spot spot;
    char model[PATH_MAX];
    hpc_completer *completer;
    hpc_completions made;
    int64_t start_ns, loaded_ns;
    bool streamed;
    int failed; /* of what is printed on the way */
} completing;

/* ---- what is asked ----------------------------------------------------------------------- */

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
        if (x->o->write)
            return hpc_fail(HPC_E_ARG, "--write needs a file; standard input cannot be written");
        if (!x->o->name)
            return hpc_fail(HPC_E_ARG, "standard input has no name: say what it is with --name "
                                       "FILE.c, .cpp, .cu or .f90");
    }
    TRY(read_place(&place, x->o->at));
    TRY(hpc_cmd_read(&x->bytes, x->file));
    TRY(hpc_spot_open(&x->spot, x->name, x->bytes.data, x->bytes.n, place));
out:
    return rc;
}

/* The model that is named, here or in the environment, or the one that comes with the program. */
static int find_model(completing *x)
{
    const char *named = x->o->model ? x->o->model : getenv("HPCCODER_MODEL");
    if (named && *named) {
        int n = snprintf(x->model, sizeof x->model, "%s", named);
        return n < (int)sizeof x->model ? HPC_OK : hpc_fail(HPC_E_ARG, "--model: too long a path");
    }
    int rc = hpc_cmd_find(x->model, "pilot.gguf");
    if (rc >= 0 && !*x->model)
        rc = hpc_fail(HPC_E_ARG, "pilot.gguf does not lie where this program looks for it: name a "
                                 "model with --model");
    return rc;
}

static int64_t most_of_prompt(const completing *x)
{
    return x->o->prompt_tokens;
}

static int open_completer(completing *x)
{
    const complete_options *o = x->o;
    hpc_engine_options e = {.model = x->model,
                            .backend = o->device,
                            .threads = hpc_cmd_threads(o->threads),
                            .weights = HPC_DTYPE_N,
                            .cache_tokens = most_of_prompt(x) + o->samples * (o->max_tokens + 64),
                            .requests = o->samples,
                            .guess = o->guess};
    int rc;
    TRY(find_model(x));
    if (strcmp(o->weights, "stored") != 0) TRY(hpc_dtype_find(&e.weights, o->weights));
    TRY(hpc_dtype_find(&e.cache, o->cache));
    TRY(hpc_completer_open(&x->completer, &e));
    x->loaded_ns = hpc_clock_ns();
out:
    return rc;
}

/* ---- what comes of it -------------------------------------------------------------------- */

static void print_ready(void *user, const char *text, size_t n)
{
    completing *x = user;
    hpc_buf out = {0};
    hpc_buf_add(&out, text, n);
    int rc = hpc_cmd_print(&out);
    if (x->failed >= 0) x->failed = rc;
    x->streamed = true;
}

static const char *finish_name(hpc_finish f)
{
    static const char *const names[] = {[HPC_FINISH_LENGTH] = "length",
                                        [HPC_FINISH_STOP] = "stop",
                                        [HPC_FINISH_CALLER] = "stop",
                                        [HPC_FINISH_ERROR] = "error"};
    return names[f];
}

static void put_completion(hpc_json_out *w, const hpc_completion *c)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "text", c->text.n ? c->text.data : "");
    hpc_json_put_int(w, "tokens", c->tokens);
    hpc_json_put_real(w, "logprob", c->logprob);
    hpc_json_put_text(w, "finish", finish_name(c->finish));
    hpc_json_put_int(w, "samples", c->times);
    hpc_json_open(w, "checks", '[');
    hpc_json_close(w, ']');
    hpc_json_put_text(w, "source", NULL);
    hpc_json_close(w, '}');
}

static double decode_rate(const hpc_completions *m)
{
    double s = (double)(m->end_ns - m->first_token_ns) * 1e-9;
    return m->made > 1 && s > 0 ? (double)(m->made - 1) / s : 0;
}

static int print_json(completing *x)
{
    const hpc_completions *m = &x->made;
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "file", x->name);
    hpc_json_put_int(&w, "line", x->spot.line);
    hpc_json_put_int(&w, "col", x->spot.col);
    hpc_json_put_text(&w, "model", x->model);
    hpc_json_open(&w, "completions", '[');
    for (int64_t k = 0; k < m->n; k++) put_completion(&w, &m->item[k]);
    hpc_json_close(&w, ']');
    hpc_json_open(&w, "timing", '{');
    hpc_json_put_real(&w, "load_ms", (double)(x->loaded_ns - x->start_ns) * 1e-6);
    hpc_json_put_real(&w, "prompt_ms", (double)m->first_token_ns * 1e-6);
    hpc_json_put_real(&w, "first_token_ms",
                      (double)(x->loaded_ns - x->start_ns + m->first_token_ns) * 1e-6);
    hpc_json_put_real(&w, "decode_tokens_per_s", decode_rate(m));
    hpc_json_put_int(&w, "prompt_tokens", m->prompt_tokens);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_buf_text(&out, "\n");
    return hpc_cmd_print(&out);
}

static int print_text(completing *x)
{
    hpc_buf out = {0};
    if (!x->streamed && x->made.n > 0)
        hpc_buf_add(&out, x->made.item[0].text.data, x->made.item[0].text.n);
    if (x->made.n > 0 && x->made.item[0].text.n > 0) hpc_buf_text(&out, "\n");
    return hpc_cmd_print(&out);
}

/* The bytes around the place stay what they were. A text at the end of a file ends its line. */
static int write_file(completing *x)
{
    const hpc_spot *d = &x->spot;
    hpc_buf all = {0}, text = {0};
    int rc = HPC_OK;
    if (x->made.n == 0 || x->made.item[0].text.n == 0) return HPC_OK;
    TRY(hpc_buf_add(&text, x->made.item[0].text.data, x->made.item[0].text.n));
    if (d->at == d->text.n && text.data[text.n - 1] != '\n') TRY(hpc_buf_text(&text, "\n"));
    TRY(hpc_buf_add(&all, x->bytes.data, d->raw_at));
    TRY(hpc_spot_spell(&all, d, text.data, text.n));
    TRY(hpc_buf_add(&all, x->bytes.data + d->raw_at, x->bytes.n - d->raw_at));
    TRY(hpc_file_save(x->file, all.data, all.n));
out:
    hpc_buf_release(&text);
    hpc_buf_release(&all);
    return rc < 0 ? hpc_error_where("%s", x->file) : rc;
}

static void remark(const completing *x)
{
    const hpc_completions *m = &x->made;
    if (!x->o->quiet && (m->n == 0 || m->item[0].text.n == 0))
        fprintf(stderr, "hpccoder complete: %s:%lld:%lld: nothing to add\n", x->name,
                (long long)x->spot.line, (long long)x->spot.col);
    if (x->o->verbose)
        fprintf(stderr,
                "hpccoder complete: %lld tokens of prompt, %lld made; first after %.1f ms, %.1f of "
                "them loading; then %.1f tokens/s\n",
                (long long)m->prompt_tokens, (long long)m->made,
                (double)(x->loaded_ns - x->start_ns + m->first_token_ns) * 1e-6,
                (double)(x->loaded_ns - x->start_ns) * 1e-6, decode_rate(m));
}

/* ---- the command ------------------------------------------------------------------------- */

static hpc_sampling sampling_of(const complete_options *o)
{
    hpc_sampling s = hpc_sampling_greedy();
    s.temperature = o->temperature >= 0 ? o->temperature : o->samples > 1 ? 0.6 : 0;
    s.top_k = o->top_k;
    s.top_p = o->top_p;
    s.min_p = o->min_p;
    s.repeat = o->repeat;
    s.seed = (uint64_t)o->seed;
    return s;
}

static hpc_complete_stop stop_of(const char *name)
{
    if (strcmp(name, "line") == 0) return HPC_STOP_LINE;
    return strcmp(name, "function") == 0 ? HPC_STOP_FUNCTION : HPC_STOP_BLOCK;
}

/* Whether there is one. */
static bool rule_of(hpc_grammar_rule *rule, const char *name)
{
    *rule = (hpc_grammar_rule)HPC_GRAMMAR_RULE_DEFAULTS;
    rule->bare = true;
    if (strcmp(name, "openmp") == 0) rule->kind = HPC_GRAMMAR_DIRECTIVE;
    if (strcmp(name, "json") == 0) rule->kind = HPC_GRAMMAR_JSON;
    return strcmp(name, "none") != 0;
}

/* A name as it stands in a repository: what leads up to it says nothing. */
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
                              .path = shown_path(x->name),
                              .stop = stop_of(o->stop),
                              .most = o->max_tokens,
                              .samples = o->samples,
                              .prompt_tokens = o->prompt_tokens,
                              .sampling = sampling_of(o),
                              .user = x,
                              .cancel = cancel};
    hpc_grammar_rule rule;
    if (rule_of(&rule, o->grammar)) r.rule = &rule;
    if (!o->json && !o->write && o->samples == 1) r.ready = print_ready;
    int rc = hpc_complete(&x->made, x->completer, &r);
    return rc < 0 ? rc : x->failed;
}

static int run(void *options, int argc, char **argv)
{
    completing x = {.o = options, .start_ns = hpc_clock_ns()};
    hpc_cmd_signals *signals = NULL;
    int rc;
    if (argc != 1)
        return hpc_fail(HPC_E_ARG, "name one file, or '-' for standard input; --help tells more");
    x.file = argv[0];
    TRY(open_spot(&x));
    TRY(open_completer(&x));
    TRY(hpc_cmd_signals_start(&signals, "complete"));
    TRY(make(&x, hpc_cmd_signals_stop(signals)));
    if (x.o->write) TRY(write_file(&x));
    if (x.o->json) TRY(print_json(&x));
    if (!x.o->json && !x.o->write) TRY(print_text(&x));
    remark(&x);
out:
    hpc_cmd_signals_end(signals);
    hpc_completions_release(&x.made);
    hpc_completer_close(x.completer);
    hpc_spot_close(&x.spot);
    hpc_buf_release(&x.bytes);
    return rc;
}

static const char *const stops[] = {"line", "block", "function", NULL};
static const char *const grammars[] = {"none", "brackets", "openmp", "json", NULL};
static const hpc_option options[] = {
    {.name = "at",
     .kind = HPC_TEXT,
     .offset = offsetof(complete_options, at),
     .argument = "LINE[:COL]",
     .help = "The place, both from 1; columns count characters. Without COL the end of the line, "
             "without either the end of the file."},
    {.name = "stop",
     .kind = HPC_CHOICE,
     .offset = offsetof(complete_options, stop),
     .fallback = "block",
     .argument = "WHERE",
     .choices = stops,
     .help = "Where a completion ends: with its line, with the block that it begins or the one "
             "around it, or with the function."},
    {.name = "grammar",
     .kind = HPC_CHOICE,
     .offset = offsetof(complete_options, grammar),
     .fallback = "none",
     .argument = "RULES",
     .choices = grammars,
     .help = "What completions must follow token by token: balanced brackets (C, C++, CUDA), one "
             "OpenMP directive, or JSON; what stands before the place counts."},
    {.name = "max-tokens",
     .letter = 'n',
     .kind = HPC_INT,
     .offset = offsetof(complete_options, max_tokens),
     .fallback = "256",
     .argument = "N",
     .least = 1,
     .most = 65536,
     .help = "Longest completion."},
    {.name = "samples",
     .kind = HPC_INT,
     .offset = offsetof(complete_options, samples),
     .fallback = "1",
     .argument = "N",
     .least = 1,
     .most = 256,
     .help = "Completions to draw; equal ones are told once, the likeliest token by token first."},
    {.name = "temperature",
     .kind = HPC_REAL,
     .offset = offsetof(complete_options, temperature),
     .fallback = "-1",
     .argument = "T",
     .least = -1,
     .most = 100,
     .help = "0: always the likeliest token; -1: 0 for one sample, 0.6 for several."},
    {.name = "top-p",
     .kind = HPC_REAL,
     .offset = offsetof(complete_options, top_p),
     .fallback = "1",
     .argument = "P",
     .most = 1,
     .help = "Draw from the likeliest tokens that together have this probability."},
    {.name = "top-k",
     .kind = HPC_INT,
     .offset = offsetof(complete_options, top_k),
     .fallback = "0",
     .argument = "K",
     .most = 1e9,
     .help = "Draw from so many of the likeliest tokens; 0: from all."},
    {.name = "min-p",
     .kind = HPC_REAL,
     .offset = offsetof(complete_options, min_p),
     .fallback = "0",
     .argument = "P",
     .most = 1,
     .help = "Leave out what is less probable than this part of the likeliest."},
    {.name = "repeat-penalty",
     .kind = HPC_REAL,
     .offset = offsetof(complete_options, repeat),
     .fallback = "1",
     .argument = "X",
     .least = 0.01,
     .most = 100,
     .help = "Divides the logits of tokens that came before; 1: off."},
    {.name = "seed",
     .kind = HPC_INT,
     .offset = offsetof(complete_options, seed),
     .fallback = "0",
     .argument = "N",
     .most = 9e18,
     .help = "The same seed draws the same completions."},
    {.name = "model",
     .letter = 'm',
     .kind = HPC_TEXT,
     .offset = offsetof(complete_options, model),
     .argument = "DIR|FILE.gguf",
     .help = "What completes: $HPCCODER_MODEL if not given, or the model that comes with the "
             "program."},
    {.name = "weights",
     .kind = HPC_TEXT,
     .offset = offsetof(complete_options, weights),
     .fallback = "stored",
     .argument = "TYPE",
     .help = "Type of its matrices in memory: stored (as in the file), f32, bf16, f16, q8_0, q4_0, "
             "q4_K."},
    {.name = "cache",
     .kind = HPC_TEXT,
     .offset = offsetof(complete_options, cache),
     .fallback = "f32",
     .argument = "TYPE",
     .help = "Type of keys and values: f32 or bf16."},
    {.name = "prompt-tokens",
     .kind = HPC_INT,
     .offset = offsetof(complete_options, prompt_tokens),
     .fallback = "4096",
     .argument = "N",
     .least = 16,
     .most = 1 << 24,
     .help = "Most that the model is shown; it may take less."},
    {.name = "guess",
     .kind = HPC_INT,
     .offset = offsetof(complete_options, guess),
     .fallback = "8",
     .argument = "N",
     .most = 64,
     .help = "Tokens guessed ahead where the text repeats itself; it changes no completion."},
    {.name = "name",
     .kind = HPC_TEXT,
     .offset = offsetof(complete_options, name),
     .argument = "FILE",
     .help = "What the file is called: for its language, and shown to the model. Needed with '-'."},
    {.name = "device",
     .kind = HPC_TEXT,
     .offset = offsetof(complete_options, device),
     .fallback = "cpu",
     .argument = "NAME",
     .help = "Device; `hpccoder info` lists them."},
    HPC_CMD_THREADS(complete_options),
    {.name = "write",
     .letter = 'w',
     .kind = HPC_FLAG,
     .offset = offsetof(complete_options, write),
     .help = "Put the best completion into the file, whole or not at all, and print nothing."},
    HPC_CMD_JSON(complete_options),
    {.name = "verbose",
     .letter = 'v',
     .kind = HPC_FLAG,
     .offset = offsetof(complete_options, verbose),
     .help = "Tell on standard error how long what took."},
    HPC_CMD_QUIET(complete_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_complete = {
    .name = "complete",
    .summary = "what goes at a place in a source file",
    .arguments = "FILE|-",
    .description =
        "Prints what a language model puts at a place in a file of C, C++, CUDA or Fortran, from "
        "what stands before and behind it. A completion ends where its line, block or function "
        "does, does not repeat what follows, and has the file's indentation and line ends; in the "
        "middle of a line, with more than closing marks behind it, it ends with the line.\n\n"
        "One completion is printed line by line as it comes. With --samples the likeliest is "
        "printed, and --json has all of them. Ctrl-C keeps what there is.\n\n"
        "The model may be any that `hpccoder import` reads, as a directory or a GGUF file, and is "
        "shown what follows the place if it has marks for that. Its weights stay as they are "
        "stored.",
    .examples = "hpccoder complete solver.c --at 120  # at the end of line 120\n"
                "hpccoder complete solver.c --at 120 --stop function --write\n"
                "hpccoder complete - --name kernel.cu --json <kernel.cu  # at its end\n"
                "hpccoder complete a.f90 --at 12:9 --samples 8 --json --model deepseek-coder.gguf",
    .options = options,
    .options_bytes = sizeof(complete_options),
    .run = run,
};
