/*
 * Performance hints: what `hpccoder perf predict --file` says about the functions of a saved file,
 * compared with HEAD. The command runs as a child process, which the next save of the file ends.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "infer/serve/lsp_priv.h"
#include "runtime/proc/proc.h"

enum { SECONDS = 60, OUTPUT_MOST = 16 << 20 };

/* Splits the path at the root of its repository; false: it is in none. */
static bool find_repository(char root[PATH_MAX], const char **within, const char *path)
{
    char git[PATH_MAX + 8];
    if (snprintf(root, PATH_MAX, "%s", path) >= PATH_MAX) return false;
    for (char *slash; (slash = strrchr(root, '/'));) {
        *slash = '\0';
        snprintf(git, sizeof git, "%s/.git", root);
        if (!hpc_file_exists(git)) continue;
        *within = path + (slash - root) + 1;
        if (!*root) strcpy(root, "/");
        return true;
    }
    return false;
}

static char *copy(const char *text)
{
    char *to = hpc_alloc(strlen(text) + 1, 1);
    return to ? strcpy(to, text) : NULL;
}

/* ---- the command's result ------------------------------------------------------------------- */

static int64_t line_of(const hpc_json *v)
{
    int64_t line = 0;
    const hpc_json *x = hpc_json_get(v, "line");
    if (hpc_json_kind_of(x) != HPC_JSON_INT || hpc_json_int(&line, x, "line") < 0) return 0;
    return line;
}

static bool is_gone(const hpc_json *v)
{
    bool gone = false;
    const hpc_json *x = hpc_json_get(v, "gone");
    return hpc_json_kind_of(x) == HPC_JSON_BOOL && hpc_json_bool(&gone, x, "gone") >= 0 && gone;
}

/* "probably slower (72 %)", then the reasons; those with a line in this file become related
 * information. */
static int read_hint(lsp_hint *out, const hpc_json *f, const char *file)
{
    const char *verdict = lsp_text(f, "verdict");
    const hpc_json *reasons = hpc_json_get(f, "reasons");
    double p = 0;
    hpc_buf text = {0};
    int rc;
    TRY(hpc_json_real(&p, hpc_json_get(hpc_json_get(f, "probability"), verdict), verdict));
    out->slower = strcmp(verdict, "slower") == 0;
    out->line = line_of(f) - 1;
    hpc_buf_printf(&text, "probably %s than HEAD (%.0f %%)", verdict, 100 * p);
    for (int64_t k = 0; k < hpc_json_n(reasons); k++) {
        const hpc_json *r = hpc_json_at(reasons, k);
        const int64_t line = line_of(r);
        hpc_buf_printf(&text, "%s %s", k ? ";" : ":", lsp_text(r, "text"));
        if (line < 1 || is_gone(r) || strcmp(lsp_text(r, "file"), file) != 0) continue;
        if (out->reasons_n == LSP_REASONS) continue;
        char *own = copy(lsp_text(r, "text"));
        if (own) out->reason[out->reasons_n++] = (lsp_reason){.line = line - 1, .text = own};
    }
    TRY(text.failed);
    out->message = copy(text.data);
    rc = out->message ? HPC_OK : HPC_E_NOMEM;
out:
    hpc_buf_release(&text);
    return rc;
}

static bool has_hint(const hpc_json *f, const char *file)
{
    const char *verdict = lsp_text(f, "verdict");
    if (strcmp(verdict, "slower") != 0 && strcmp(verdict, "faster") != 0) return false;
    return !is_gone(f) && line_of(f) > 0 && strcmp(lsp_text(f, "file"), file) == 0;
}

static int read_hints(lsp_hints *out, const hpc_buf *json, const char *file)
{
    hpc_json *root = NULL;
    int rc;
    TRY(hpc_json_parse(&root, json->data ? json->data : "", json->n, "perf predict"));
    const hpc_json *functions = hpc_json_get(root, "functions");
    for (int64_t k = 0; k < hpc_json_n(functions); k++) {
        const hpc_json *f = hpc_json_at(functions, k);
        if (!has_hint(f, file)) continue;
        TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
        out->item[out->n] = (lsp_hint){0};
        rc = read_hint(&out->item[out->n++], f, file);
        if (rc < 0) goto out;
    }
out:
    hpc_json_free(root);
    return rc < 0 ? rc : HPC_OK;
}

/* ---- running it ----------------------------------------------------------------------------- */

/* *known false: it was cancelled, or the file is in no repository. */
static int predict(lsp_hints *out, bool *known, lsp_server *s, lsp_job *j)
{
    char root[PATH_MAX];
    const char *file;
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r = {0};
    int rc;
    *known = false;
    if (!find_repository(root, &file, j->document.path)) return HPC_OK;
    const char *argv[] = {s->o->program, "perf", "predict", "--json", "--quiet",
                          "--repo",      root,   "--file",  file,     NULL};
    o.argv = argv;
    o.seconds = SECONDS;
    o.output_bytes = OUTPUT_MOST;
    o.stop = &j->cancel;
    o.kept = true;
    TRY(hpc_proc_run(&r, &o));
    if (r.stopped) goto out;
    TRY(hpc_buf_text(&r.err, ""));
    if (r.status != 0)
        TRY(hpc_fail(HPC_E_IO, "no performance hints: %.*s", (int)strcspn(r.err.data, "\n"),
                     r.timed_out ? "the analysis took too long" : r.err.data));
    TRY(read_hints(out, &r.out, file));
    *known = true;
out:
    hpc_proc_release(&r);
    return rc;
}

/* With `publishing`, as the closing of a document. */
static void show(lsp_server *s, const lsp_job *j, lsp_hints *found)
{
    pthread_mutex_lock(&s->publishing);
    const bool cancelled = __atomic_load_n(&j->cancel, __ATOMIC_RELAXED);
    if (lsp_hints_take(s, j->uri, j->number, cancelled ? NULL : found))
        lsp_hints_changed(s, &j->document, &j->settings);
    pthread_mutex_unlock(&s->publishing);
}

void lsp_predict(lsp_server *s, lsp_job *j)
{
    lsp_hints found = {0};
    bool known = false;
    const int64_t token =
        lsp_progress_begin(s, "hpccoder: predicting performance", false, &j->cancel);
    int rc = predict(&found, &known, s, j);
    lsp_progress_end(s, token);
    show(s, j, rc >= 0 && known ? &found : NULL);
    lsp_hints_release(&found);
    if (rc >= 0) return;
    if (!__atomic_load_n(&j->cancel, __ATOMIC_RELAXED))
        lsp_message(s, "window/logMessage", 2, hpc_error_get()->text);
    hpc_error_clear();
}
