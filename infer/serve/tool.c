/*
 * Tools as command lines of hpccoder: arguments are checked, and text that is in no file gets a
 * temporary one.
 */
#include "infer/serve/tool.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/proc/proc.h"

enum { OUTPUT_MOST = 16 << 20, WORDS = 16 };

#define TEXT_ARGUMENTS                                                                             \
    "\"path\":{\"type\":\"string\",\"description\":\"Path of the file.\"},"                        \
    "\"text\":{\"type\":\"string\",\"description\":\"Text to use instead of the file on disk.\"}"

const hpc_tool hpc_tools[] = {
    {"complete", "Complete code",
     "Completes C, C++, CUDA or Fortran code at a position in a file. The result has the text to "
     "insert, the checks that it passed, and the source and licence of copied code.",
     "{\"type\":\"object\",\"properties\":{" TEXT_ARGUMENTS
     ",\"line\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Line of the cursor. Default: "
     "the end of the file.\"},\"column\":{\"type\":\"integer\",\"minimum\":1,\"description\":"
     "\"Column of the cursor in characters. Default: the end of the line.\"},\"max_tokens\":{"
     "\"type\":\"integer\",\"minimum\":1,\"maximum\":4096}},\"required\":[\"path\"],"
     "\"additionalProperties\":false}"},
    {"pragma", "Suggest OpenMP directives",
     "Judges each loop of a C, C++ or CUDA file: parallel, conditional, unsafe or unknown, with a "
     "directive and the evidence.",
     "{\"type\":\"object\",\"properties\":{" TEXT_ARGUMENTS
     ",\"guard\":{\"type\":\"boolean\",\"description\":\"Test the assumptions of conditional loops "
     "in the directive.\"}},\"required\":[\"path\"],\"additionalProperties\":false}"},
    {"perf_predict", "Predict performance changes",
     "Predicts whether commits of a git repository make the program slower or faster, without "
     "running it.",
     "{\"type\":\"object\",\"properties\":{\"repository\":{\"type\":\"string\",\"description\":"
     "\"Folder of the repository.\"},\"range\":{\"type\":\"string\",\"description\":\"Commits as "
     "BASE..HEAD.\"}},\"required\":[\"repository\",\"range\"],\"additionalProperties\":false}"},
    {.name = NULL}};

/* ---- arguments ------------------------------------------------------------------------------ */

typedef struct running {
    const hpc_tool_options *o;
    const hpc_json *given;
    const char *argv[WORDS];
    int n;
    char path[PATH_MAX], at[64], tokens[32], folder[PATH_MAX], file[PATH_MAX];
    const char *text; /* NULL: the file on disk */
} running;

static void word(running *x, const char *text)
{
    hpc_assert(x->n + 1 < WORDS);
    x->argv[x->n++] = text;
}

static int text_of(const char **out, const running *x, const char *key, bool required)
{
    const hpc_json *v = x->given ? hpc_json_get(x->given, key) : NULL;
    *out = required ? "" : NULL;
    if (hpc_json_kind_of(v) == HPC_JSON_NULL && !required) return HPC_OK;
    if (hpc_json_kind_of(v) != HPC_JSON_TEXT)
        return hpc_fail(HPC_E_ARG, "argument \"%s\" %s", key, v ? "must be a text" : "is missing");
    return hpc_json_text(out, v, key);
}

static int number_of(int64_t *out, const running *x, const char *key)
{
    const hpc_json *v = x->given ? hpc_json_get(x->given, key) : NULL;
    *out = 0;
    if (hpc_json_kind_of(v) == HPC_JSON_NULL) return HPC_OK;
    if (hpc_json_kind_of(v) != HPC_JSON_INT || hpc_json_int(out, v, key) < 0 || *out < 1) {
        hpc_error_clear();
        return hpc_fail(HPC_E_ARG, "argument \"%s\" must be a positive integer", key);
    }
    return HPC_OK;
}

/* A path that looks like an option is not one. */
static int read_path(running *x, const char *key, char *out)
{
    const char *path;
    int rc;
    TRY(text_of(&path, x, key, true));
    if (snprintf(out, PATH_MAX, "%s%s", path[0] == '-' ? "./" : "", path) >= PATH_MAX)
        return hpc_fail(HPC_E_ARG, "argument \"%s\" is too long", key);
out:
    return rc;
}

int hpc_tool_check(const hpc_tool *t, const hpc_json *arguments)
{
    hpc_json *schema = NULL;
    const hpc_json *value;
    int rc;
    if (hpc_json_kind_of(arguments) == HPC_JSON_NULL) return HPC_OK;
    if (hpc_json_kind_of(arguments) != HPC_JSON_OBJECT)
        return hpc_fail(HPC_E_ARG, "the arguments must be an object");
    TRY(hpc_json_parse(&schema, t->schema, strlen(t->schema), "schema"));
    const hpc_json *known = hpc_json_get(schema, "properties");
    for (int64_t k = 0; k < hpc_json_n(arguments); k++) {
        const char *name = hpc_json_key(arguments, k, &value);
        if (!hpc_json_get(known, name))
            TRY(hpc_fail(HPC_E_ARG, "unknown argument \"%.40s\"; tools/list names those of %s",
                         name, t->name));
    }
out:
    hpc_json_free(schema);
    return rc;
}

/* ---- command lines -------------------------------------------------------------------------- */

static int make_complete(running *x)
{
    int64_t line, column, tokens;
    int rc;
    TRY(read_path(x, "path", x->path));
    TRY(text_of(&x->text, x, "text", false));
    TRY(number_of(&line, x, "line"));
    TRY(number_of(&column, x, "column"));
    TRY(number_of(&tokens, x, "max_tokens"));
    word(x, "complete");
    word(x, "--json");
    word(x, "--quiet");
    if (x->o->model) word(x, "--model"), word(x, x->o->model);
    if (x->o->device) word(x, "--device"), word(x, x->o->device);
    if (line > 0) {
        int n = snprintf(x->at, sizeof x->at, "%lld", (long long)line);
        if (column > 0) snprintf(x->at + n, sizeof x->at - (size_t)n, ":%lld", (long long)column);
        word(x, "--at");
        word(x, x->at);
    }
    if (tokens > 0) {
        snprintf(x->tokens, sizeof x->tokens, "%lld", (long long)tokens);
        word(x, "--max-tokens");
        word(x, x->tokens);
    }
    if (x->text) word(x, "--name"), word(x, x->path);
    word(x, x->text ? "-" : x->path);
out:
    return rc;
}

/* `pragma` reads files: text gets one with the same name in a folder of its own. */
static int put_text(running *x)
{
    const char *slash = strrchr(x->path, '/'), *name = slash ? slash + 1 : x->path;
    const int n = snprintf(x->folder, sizeof x->folder, "%s/hpccoder-XXXXXX", x->o->scratch);
    if (n >= (int)sizeof x->folder || !mkdtemp(x->folder)) {
        x->folder[0] = '\0';
        return hpc_fail(HPC_E_IO, "cannot create a temporary folder in %s", x->o->scratch);
    }
    if (snprintf(x->file, sizeof x->file, "%s/%s", x->folder, name) >= (int)sizeof x->file)
        return hpc_fail(HPC_E_ARG, "argument \"path\" is too long");
    return hpc_file_save(x->file, x->text, strlen(x->text));
}

static int make_pragma(running *x)
{
    bool guard = false;
    const hpc_json *v = hpc_json_get(x->given, "guard");
    int rc;
    TRY(read_path(x, "path", x->path));
    TRY(text_of(&x->text, x, "text", false));
    if (hpc_json_kind_of(v) != HPC_JSON_NULL) TRY(hpc_json_bool(&guard, v, "guard"));
    if (x->text) TRY(put_text(x));
    word(x, "pragma");
    word(x, "--json");
    word(x, "--quiet");
    if (guard) word(x, "--guard");
    word(x, x->text ? x->file : x->path);
out:
    return rc;
}

static int make_predict(running *x)
{
    const char *range;
    int rc;
    TRY(read_path(x, "repository", x->path));
    TRY(text_of(&range, x, "range", true));
    if (range[0] == '-') return hpc_fail(HPC_E_ARG, "argument \"range\" must be BASE..HEAD");
    word(x, "perf");
    word(x, "predict");
    word(x, "--json");
    word(x, "--quiet");
    word(x, "--repo");
    word(x, x->path);
    word(x, range);
out:
    return rc;
}

static int make(running *x, const char *name)
{
    word(x, x->o->program);
    if (hpc_json_kind_of(x->given) != HPC_JSON_OBJECT)
        return hpc_fail(HPC_E_ARG, "the arguments must be an object");
    if (strcmp(name, "complete") == 0) return make_complete(x);
    if (strcmp(name, "pragma") == 0) return make_pragma(x);
    if (strcmp(name, "perf_predict") == 0) return make_predict(x);
    return hpc_fail(HPC_E_ARG, "there is no tool \"%.40s\"", name);
}

/* ---- running -------------------------------------------------------------------------------- */

/* The result names the file as the caller does, not the temporary one. */
static int add_result(hpc_buf *out, const running *x, const hpc_buf *from)
{
    const char *at = from->data, *end = at + from->n, *next;
    const size_t n = strlen(x->file);
    int rc = HPC_OK;
    while (n > 0 && at < end && (next = memmem(at, (size_t)(end - at), x->file, n))) {
        TRY(hpc_buf_add(out, at, (size_t)(next - at)));
        TRY(hpc_buf_text(out, x->path));
        at = next + n;
    }
    rc = hpc_buf_add(out, at, (size_t)(end - at));
out:
    return rc;
}

/* Exit codes: 0 and 1 print a result. */
static int take(hpc_buf *out, const running *x, hpc_proc_result *r)
{
    int rc;
    if (r->stopped) return hpc_fail(HPC_E_STATE, "the command was ended");
    if (r->timed_out) return hpc_fail(HPC_E_IO, "the command ran too long and was ended");
    if (r->status == 0 || r->status == 1) {
        if (r->cut) return hpc_fail(HPC_E_IO, "the result is too large");
        return add_result(out, x, &r->out);
    }
    TRY(hpc_buf_text(&r->err, ""));
    const char *text = r->err.data ? r->err.data : "";
    return hpc_fail(r->status == 2 ? HPC_E_ARG : HPC_E_IO, "%.*s", (int)strcspn(text, "\n"),
                    *text ? text : "the command failed");
out:
    return rc;
}

int hpc_tool_run(hpc_buf *out, const hpc_tool_options *o, const char *name,
                 const hpc_json *arguments)
{
    running x = {.o = o, .given = arguments};
    hpc_proc_options p = HPC_PROC_DEFAULTS;
    hpc_proc_result r = {0};
    int rc;
    TRY(make(&x, name));
    p.argv = x.argv;
    p.seconds = o->seconds;
    p.stop = o->stop;
    p.output_bytes = OUTPUT_MOST;
    p.kept = true;
    if (x.text && !x.file[0]) p.input = x.text, p.input_bytes = strlen(x.text);
    TRY(hpc_proc_run(&r, &p));
    rc = take(out, &x, &r);
out:
    hpc_proc_release(&r);
    if (x.file[0]) hpc_file_remove(x.file);
    if (x.folder[0]) (void)rmdir(x.folder);
    return rc;
}
