/*
 * complete.c: `hpccoder complete`: what goes at a place in a file, printed or put in.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/compiler.h"
#include "cmd/complete.h"
#include "infer/complete/context.h"
#include "infer/complete/verify.h"
#include "model/files.h"

enum {
    ROOMY = 2048, /* tokens, of a model that may have seen several files at once */
    SPARE = 64,   /* tokens, of marks and of what is spelled anew */
    ROUNDS = 4    /* in which completions are drawn, if all repeat what is known */
};

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
        rc = hpc_fail(HPC_E_ARG, "--device %s: this build has no such device; it has %s", name,
                      known.data);
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

/* ---- what comes of it -------------------------------------------------------------------- */

static void show_reading(void *user, int64_t done, int64_t total)
{
    completing *x = user;
    if (!x->reads) hpc_progress_start(&x->progress, "reading the prompt", "tokens", total);
    x->reads = true;
    hpc_progress_update(&x->progress, done, NULL);
}

static void end_reading(completing *x)
{
    if (x->reads) hpc_progress_clear(&x->progress);
    x->reads = false;
}

static void print_ready(void *user, const char *text, size_t n)
{
    completing *x = user;
    hpc_buf out = {0};
    end_reading(x);
    hpc_buf_add(&out, text, n);
    int rc = hpc_cmd_print(&out);
    if (x->failed >= 0) x->failed = rc;
    hpc_buf_add(&x->streamed, text, n);
}

static const char *finish_name(hpc_completion_finish f)
{
    static const char *const names[] = {[HPC_COMPLETION_STOP] = "stop",
                                        [HPC_COMPLETION_LENGTH] = "length",
                                        [HPC_COMPLETION_REPETITION] = "repetition",
                                        [HPC_COMPLETION_UNBALANCED] = "unbalanced",
                                        [HPC_COMPLETION_TIME] = "time",
                                        [HPC_COMPLETION_FORCED] = "forced",
                                        [HPC_COMPLETION_CANCELLED] = "cancelled",
                                        [HPC_COMPLETION_ERROR] = "error"};
    return names[f];
}

static void put_completion(hpc_json_out *w, const hpc_completion *c)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "text", c->text.n ? c->text.data : "");
    hpc_json_put_int(w, "tokens", c->tokens);
    hpc_json_put_real(w, "logprob", c->logprob);
    hpc_json_put_text(w, "finish", finish_name(c->finish));
    hpc_json_put_text(w, "stop_token", c->stop_token[0] ? c->stop_token : NULL);
    hpc_json_put_int(w, "samples", c->times);
    hpc_json_put_int(w, "open", c->open);
    hpc_json_put_int(w, "retries", c->retries);
    hpc_json_open(w, "checks", '[');
    for (int64_t k = 0; k < c->check_n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "kind", c->check[k].kind);
        hpc_json_put_bool(w, "ok", c->check[k].ok);
        hpc_json_put_text(w, "text", c->check[k].text);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    complete_put_source(w, c);
    hpc_json_close(w, '}');
}

/* What was found of the file itself. */
static void put_base(hpc_json_out *w, const completing *x)
{
    const hpc_check_base *b = x->checker ? hpc_completions_checker_base(x->checker) : NULL;
    hpc_json_open(w, "file_check", '{');
    hpc_json_put_int(w, "line", b ? b->line : 0);
    hpc_json_put_text(w, "error", b && b->error[0] ? b->error : NULL);
    hpc_json_put_text(w, "headers", b && b->headers[0] ? b->headers : NULL);
    hpc_json_close(w, '}');
}

static int print_json(completing *x)
{
    const hpc_completions *m = &x->made;
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "file", x->name);
    hpc_json_put_text(&w, "language",
                      x->spot.language == HPC_LANGUAGE_NONE ? NULL
                                                            : hpc_language_name(x->spot.language));
    hpc_json_put_int(&w, "line", x->spot.line);
    hpc_json_put_int(&w, "col", x->spot.col);
    hpc_json_put_text(&w, "model", x->model);
    hpc_json_put_text(&w, "passages", x->passages ? x->known : NULL);
    hpc_json_open(&w, "completions", '[');
    for (int64_t k = 0; k < m->n; k++) put_completion(&w, &m->item[k]);
    hpc_json_close(&w, ']');
    hpc_json_put_int(&w, "left_out", x->left_out);
    hpc_json_put_int(&w, "drawn", m->drawn);
    put_base(&w, x);
    hpc_json_open(&w, "timing", '{');
    hpc_json_put_real(&w, "load_ms", (double)(x->loaded_ns - x->start_ns) * 1e-6);
    hpc_json_put_real(&w, "prompt_ms", (double)m->first_token_ns * 1e-6);
    hpc_json_put_real(&w, "first_token_ms",
                      (double)(x->loaded_ns - x->start_ns + m->first_token_ns) * 1e-6);
    hpc_json_put_real(&w, "decode_tokens_per_s", hpc_completions_decode_rate(m));
    hpc_json_put_real(&w, "prompt_tokens_per_s", hpc_completions_prompt_rate(m));
    hpc_json_put_int(&w, "prompt_tokens", m->prompt_tokens);
    hpc_json_put_int(&w, "prompt_tokens_without_limit", m->prompt_wanted);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_buf_text(&out, "\n");
    return hpc_cmd_print(&out);
}

static bool is_streamed(const completing *x, const hpc_buf *text)
{
    return x->streamed.n == text->n &&
           (text->n == 0 || memcmp(x->streamed.data, text->data, text->n) == 0);
}

/* A better completion than the one that was streamed is printed after it. */
static int print_text(completing *x)
{
    const hpc_buf *text = x->made.n > 0 ? &x->made.item[0].text : NULL;
    hpc_buf out = {0};
    if (!text) return HPC_OK;
    if (x->streamed.n > 0 && !is_streamed(x, text)) {
        hpc_buf_text(&out, "\n");
        int rc = hpc_cmd_print(&out);
        if (rc < 0) return rc;
        fprintf(stderr,
                "hpccoder complete: the text above fails its checks; the best of %lld follows\n",
                (long long)x->made.drawn);
        x->streamed.n = out.n = 0;
    }
    if (x->streamed.n == 0) hpc_buf_add(&out, text->data, text->n);
    if (text->n > 0 && !x->o->raw) hpc_buf_text(&out, "\n");
    return hpc_cmd_print(&out);
}

/* The bytes around the place stay what they were. A text at the end of a file ends its line. */
static int write_file(completing *x)
{
    const hpc_spot *d = &x->spot;
    hpc_buf all = {0}, text = {0};
    int rc = HPC_OK;
    if (x->made.n > 0 && x->made.item[0].finish == HPC_COMPLETION_CANCELLED)
        return hpc_fail(HPC_E_ABORTED, "stopped before the completion was whole; %s is unchanged",
                        x->file);
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

static void remark_engine(const hpc_engine *e)
{
    const hpc_engine_facts f = hpc_engine_facts_of(e);
    const hpc_model_config *c = hpc_engine_config(e);
    fprintf(stderr,
            "hpccoder complete: %s of %lld parameters, %s; %s %s, %d thread%s, up to %.1f MiB of "
            "its own\n",
            c->family, (long long)hpc_model_config_params(c), f.mapped ? "mapped" : "loaded",
            f.backend, f.isa, f.threads, f.threads == 1 ? "" : "s", (double)f.bytes / 0x1p20);
}

static void put_rate(hpc_buf *out, const char *before, double rate)
{
    if (isfinite(rate)) hpc_buf_printf(out, "%s%.1f tokens/s", before, rate);
}

static void remark_rates(const completing *x)
{
    const hpc_completions *m = &x->made;
    const double load_ms = (double)(x->loaded_ns - x->start_ns) * 1e-6;
    hpc_buf line = {0};
    hpc_buf_printf(&line, "loaded in %.1f ms; prompt of %lld tokens", load_ms,
                   (long long)m->prompt_tokens);
    put_rate(&line, " at ", hpc_completions_prompt_rate(m));
    hpc_buf_printf(&line, ", first token after %.1f ms; %lld tokens generated",
                   load_ms + (double)m->first_token_ns * 1e-6, (long long)m->made);
    put_rate(&line, " at ", hpc_completions_decode_rate(m));
    if (line.n > 0) hpc_cmd_warn(line.data, "complete");
    hpc_buf_release(&line);
}

/* What the user might take for granted and did not get. */
static void remark_limits(const completing *x)
{
    const hpc_completions *m = &x->made;
    const hpc_completion *c = m->n > 0 ? m->item : NULL;
    bool free_text = !x->o->raw && strcmp(x->o->grammar, "none") == 0;
    if (free_text && x->spot.language == HPC_LANGUAGE_NONE)
        fprintf(stderr,
                "hpccoder complete: %s is not C, C++, CUDA, HIP, OpenCL or Fortran by its name: "
                "blocks end by indentation, and nothing is checked\n",
                x->name);
    if (m->prompt_tokens < m->prompt_wanted)
        fprintf(stderr,
                "hpccoder complete: shortened the prompt from %lld to %lld tokens to read it in "
                "%g s (--prompt-seconds)\n",
                (long long)m->prompt_wanted, (long long)m->prompt_tokens, x->o->prompt_seconds);
    if (x->o->raw && c && c->stop_token[0])
        fprintf(stderr, "hpccoder complete: --raw ended at the model's special token %s\n",
                c->stop_token);
}

/* The check `complete` of the best one. */
static const hpc_completion_check *incomplete(const completing *x)
{
    const hpc_completion *c = x->made.n > 0 ? &x->made.item[0] : NULL;
    for (int64_t k = 0; c && k < c->check_n; k++)
        if (strcmp(c->check[k].kind, "complete") == 0 && !c->check[k].ok) return &c->check[k];
    return NULL;
}

static bool is_incomplete(const completing *x)
{
    return incomplete(x) != NULL;
}

static void remark_base(const completing *x)
{
    const hpc_check_base *b = x->checker ? hpc_completions_checker_base(x->checker) : NULL;
    if (!b || (!b->error[0] && !b->headers[0])) return;
    fprintf(stderr, "hpccoder complete: %s:%u: the file does not compile as it stands: %s%s%s\n",
            x->name, b->line, b->error, b->headers[0] ? "; checked with " : "", b->headers);
}

static void remark_end(const completing *x)
{
    const hpc_completion *c = x->made.n > 0 ? &x->made.item[0] : NULL;
    const hpc_completion_check *k = incomplete(x);
    if (k)
        fprintf(stderr, "hpccoder complete: %s:%lld: the completion is incomplete: %s%s\n", x->name,
                (long long)x->spot.line, k->text,
                x->o->write && !x->o->partial
                    ? "; nothing was written (--partial accepts it, -n N allows more tokens)"
                    : "");
    else if (c && c->finish == HPC_COMPLETION_FORCED)
        fprintf(stderr,
                "hpccoder complete: %s:%lld: the model did not end; its brackets were closed "
                "after the last statement\n",
                x->name, (long long)x->spot.line);
    else if (c && c->finish == HPC_COMPLETION_LENGTH && !x->o->json)
        fprintf(stderr,
                "hpccoder complete: stopped at the limit of %lld tokens; -n N allows more\n",
                (long long)x->most);
}

static void remark(const completing *x)
{
    const hpc_completions *m = &x->made;
    if (!x->o->quiet) remark_limits(x);
    if (!x->o->quiet) remark_base(x);
    if (!x->o->quiet) remark_end(x);
    if (!x->o->quiet) complete_remark_source(x->o->json || m->n == 0 ? NULL : m->item, x->left_out);
    if (!x->o->quiet && (m->n == 0 || m->item[0].text.n == 0))
        fprintf(stderr, "hpccoder complete: %s:%lld:%lld: nothing to add\n", x->name,
                (long long)x->spot.line, (long long)x->spot.col);
    for (int64_t k = 0; x->o->verbose && k < x->parts.n; k++)
        fprintf(stderr, "hpccoder complete: context %s:%lld, %zu bytes\n", x->parts.snippet[k].path,
                (long long)x->parts.line[k], x->parts.snippet[k].n);
    if (x->o->verbose) remark_engine(hpc_completer_engine(x->completer));
    if (x->o->verbose) remark_rates(x);
}

/* ---- checks ------------------------------------------------------------------------------------
 */

/* Whether libclang is asked; must: it is an error if it cannot. */
static bool wants_compiler(const completing *x, bool *must)
{
    const complete_options *o = x->o;
    *must = strcmp(o->check, "compiler") == 0 || o->database || x->given;
    return *must || strcmp(o->check, "auto") == 0;
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
    bool streams = x->samples == 1 || (x->until_good && isatty(STDOUT_FILENO));
    if (!o->json && !o->write && streams && !o->no_verbatim) r.ready = print_ready;
    hpc_cmd_progress(&x->progress, o->quiet);
    if (!o->quiet) r.reading = show_reading;
    int rc = make_rounds(x, &r);
    end_reading(x);
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    completing x = {.o = options, .start_ns = hpc_clock_ns()};
    hpc_cmd_signals *signals = NULL;
    int rc;
    x.given = hpc_cmd_take_flags(&argc, argv);
    if (argc != 1)
        return hpc_fail(HPC_E_ARG, "name one file, or '-' for standard input; --help tells more");
    x.file = argv[0];
    TRY(open_spot(&x));
    TRY(open_compiler(&x));
    TRY(open_completer(&x));
    TRY(open_checker(&x));
    TRY(find_context(&x));
    TRY(hpc_cmd_signals_start(&signals, "complete",
                              x.o->write ? "the file stays unchanged"
                                         : "what has been completed is printed"));
    TRY(make(&x, hpc_cmd_signals_stop(signals)));
    bool whole = x.o->partial || !is_incomplete(&x);
    if (x.o->write && whole) TRY(write_file(&x));
    if (x.o->json) TRY(print_json(&x));
    if (!x.o->json && !x.o->write) TRY(print_text(&x));
    remark(&x);
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
    .summary = "what goes at a place in a source file",
    .arguments = "FILE|- [-- COMPILER FLAGS]",
    .description =
        "Generates code at a position in a file of C, C++, CUDA or Fortran, from the text before "
        "and after it. A completion ends with its line, block or function, does not repeat the "
        "text after it, and has the file's indentation and line ends. In fixed-form Fortran it "
        "keeps to columns 1 to 72. In the middle of a line, with more than closing brackets after "
        "the cursor, it ends with the line. Partially typed words and operators are continued. In "
        "files of other languages blocks end by indentation, and nothing is checked.\n\n"
        "One completion is printed line by line while it is generated. With --samples the most "
        "likely one is printed, and --json lists all of them. Ctrl-C prints what has been "
        "completed so far; with --write it leaves the file unchanged.\n\n"
        "Completions are held against their place: do brackets still pair, and, by libclang, do "
        "they parse there or, with the flags of a compile_commands.json or of the command line and "
        "all headers found, compile? Those that do not sink below those that do, and --json says "
        "what was found. Where headers are missing, what only they could tell is excused.\n\n"
        "A completion that repeats 40 tokens or more of what the model was trained on, those of up "
        "to 20 before it counted, tells whose they are, if the model has a file of passages: on "
        "standard error, or as `source` of --json. Code that stands in three repositories or more, "
        "or has fewer than three names, is nobody's; comments do not count.\n\n"
        "The model may be any that `hpccoder import` reads, as a directory or a GGUF file, or "
        "one that `hpccoder export --to packed` made, which is mapped and not read. It is "
        "shown what follows the place if it has marks for that. If it takes 2,048 tokens or more, "
        "it is shown parts of other files, too: of those that the file includes, that include the "
        "same, changed together with it or lie near by, what shares the most telling names with "
        "the text around the place; nothing outside of its git repository is read. Its weights "
        "stay as they are stored.",
    .examples =
        "hpccoder complete solver.c --at 120  # at the end of line 120\n"
        "hpccoder complete solver.c --at 120 --stop function --write\n"
        "hpccoder complete - --name kernel.cu --json <kernel.cu  # at its end\n"
        "hpccoder complete solver.c --at 120 --samples 8 -p build  # the likeliest that compiles\n"
        "hpccoder complete a.f90 --at 12:9 --samples 8 --json --model deepseek-coder.gguf",
    .options = complete_option_table,
    .options_bytes = sizeof(complete_options),
    .flags = true,
    .run = run,
};
