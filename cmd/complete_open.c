/*
 * Preparation of `hpccoder complete`: position, limits, model, context and checks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compiler.h"
#include "cmd/complete.h"

enum {
    ROOMY = 2048, /* tokens, of a model that may have seen several files at once */
    SPARE = 64    /* tokens, for marks and for text that is tokenized again */
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

int complete_open_spot(completing *x)
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

enum { AUTO_SAMPLES = 8, SAMPLES_MOST = 256, AUTO_TOKENS = 1024, RAW_TOKENS = 256 };

/* Limits of tokens and samples, which depend on the model. */
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

/* Number of answers sampled at the same time. */
static int64_t concurrent(const completing *x)
{
    return x->until_good && x->samples > 4 ? 4 : x->samples;
}

/* Capacity of the cache in tokens. It is small if possible, because the engine clears whole large
 * pages. A text has no more tokens than bytes; the texts of other files are not known yet. */
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

int complete_open_completer(completing *x)
{
    const complete_options *o = x->o;
    hpc_engine_options e = {.model = x->model,
                            .backend = o->device,
                            .threads = hpc_cmd_threads(o->threads),
                            .weights = HPC_DTYPE_N,
                            .guess = o->guess};
    int rc;
    TRY(hpc_device_choose(&(hpc_device_options){0}, o->device)); /* before a large file is read */
    TRY(hpc_cmd_find_model(x->model, o->model ? o->model : getenv("HPCCODER_MODEL"),
                           HPC_CMD_PILOT));
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

/* A quarter of the prompt may be parts of other files. Bytes per token are unknown here: the search
 * returns several times what fits, in parts of at most an eighth of the prompt. */
int complete_find_context(completing *x)
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

int complete_open_compiler(completing *x)
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

int complete_open_checker(completing *x)
{
    bool must, wants = wants_compiler(x, &must);
    (void)wants;
    const hpc_completions_verify_options o = {.stop = complete_stop_of(x->o->stop),
                                              .checker = x->compiler,
                                              .path = x->name,
                                              .flags = x->flags.n > 0 ? &x->flags : NULL,
                                              .give_up = must ? NULL : warn_of_compiler};
    if (strcmp(x->o->check, "none") == 0 || x->o->raw) return HPC_OK;
    return hpc_completions_checker_open(&x->checker, &x->spot, &o);
}
