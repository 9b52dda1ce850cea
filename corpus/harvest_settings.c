/*
 * harvest_settings.c: writes harvest.json, the settings that determine a harvest's result, and
 * compares it on later calls.
 *
 * Repositories are identified by name, so a corpus does not reveal local paths.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/harvest.h"

enum { SETTINGS_VERSION = 1, SETTINGS_MOST = 1 << 26 };

void corpus_harvest_warn(const corpus_harvest *h, const char *format, ...)
{
    char line[1024];
    va_list args;
    if (!h->options->warn) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    h->options->warn(line, h->options->user);
}

void corpus_harvest_warn_error(const corpus_harvest *h, const char *name)
{
    corpus_harvest_warn(h, "%s: %s", name, hpc_error_get()->text);
    hpc_error_clear();
}

bool corpus_harvest_stopped(const corpus_harvest *h)
{
    return h->options->stop && __atomic_load_n(h->options->stop, __ATOMIC_ACQUIRE);
}

int corpus_harvest_path(hpc_buf *out, const corpus_harvest *h, const char *name)
{
    out->n = 0;
    return hpc_buf_printf(out, "%s/%s", h->options->folder, name);
}

/* ---- names ------------------------------------------------------------------------ */

/* The last folder of a path, without ".git": "a/b.git/" and "a/b/.git" are "b". */
static char *name_of_path(hpc_arena *a, const char *path)
{
    char whole[PATH_MAX];
    if (realpath(path, whole)) path = whole; /* "." has a name, too */
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n > 5 && strncmp(path + n - 5, "/.git", 5) == 0) n -= 5;
    if (n > 4 && strncmp(path + n - 4, ".git", 4) == 0 && path[n - 5] != '/') n -= 4;
    size_t at = n;
    while (at > 0 && path[at - 1] != '/') at--;
    return hpc_arena_text(a, "%.*s", (int)(n - at), path + at);
}

/* What cannot be opened is named too, and found to have failed when its turn comes. */
static int find_name(corpus_source *s, corpus_harvest *h, const hpc_repository *r)
{
    hpc_git *g = NULL;
    hpc_git_facts facts = {0};
    int rc = HPC_OK;
    s->path = r->path;
    s->name = r->name;
    if (s->name) goto out;
    if (hpc_git_open(&g, r->path) < 0 || hpc_git_describe(&facts, g) < 0) hpc_error_clear();
    s->name = facts.name[0] ? hpc_arena_text(h->arena, "%s", facts.name)
                            : name_of_path(h->arena, r->path);
    if (!s->name) rc = HPC_E_NOMEM;
out:
    hpc_git_close(g);
    return rc;
}

static int compare_sources(const void *a, const void *b)
{
    return strcmp(((const corpus_source *)a)->name, ((const corpus_source *)b)->name);
}

static int find_names(corpus_harvest *h)
{
    const hpc_harvest_options *o = h->options;
    hpc_buf path = {0};
    int rc = HPC_OK;
    if (o->repositories_n < 1) TRY(hpc_fail(HPC_E_ARG, "no repository given"));
    h->sources_n = o->repositories_n;
    h->source = hpc_arena_alloc(h->arena, (size_t)h->sources_n, sizeof *h->source);
    if (!h->source) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < h->sources_n; k++) {
        TRY(find_name(&h->source[k], h, &o->repository[k]));
        if (corpus_chunk_path(&path, o->folder, h->source[k].name, -1) < 0)
            TRY(hpc_error_where("%s", h->source[k].path));
    }
    qsort(h->source, (size_t)h->sources_n, sizeof *h->source, compare_sources);
    for (int64_t k = 1; k < h->sources_n; k++)
        if (strcmp(h->source[k - 1].name, h->source[k].name) == 0)
            TRY(hpc_fail(HPC_E_ARG,
                         "%s and %s have the same name '%s'; rename one of them with NAME=PATH",
                         h->source[k - 1].path, h->source[k].path, h->source[k].name));
out:
    hpc_buf_release(&path);
    return rc;
}

/* ---- harvest.json ------------------------------------------------------------------- */

static int write_settings(corpus_harvest *h)
{
    const hpc_harvest_options *o = h->options;
    char sketch[40] = "";
    hpc_json_out w = {.buf = &h->settings, .indent = 2};
    if (h->sketch) {
        hpc_hash128 x = hpc_sketch_hash(h->sketch);
        snprintf(sketch, sizeof sketch, "%016llx%016llx", (unsigned long long)x.high,
                 (unsigned long long)x.low);
    }
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "format", "hpccoder corpus");
    hpc_json_put_int(&w, "version", SETTINGS_VERSION);
    hpc_json_put_bool(&w, "history", o->history);
    hpc_json_put_text(&w, "licences", o->licences);
    hpc_json_put_text(&w, "held-out", h->sketch ? sketch : "none");
    hpc_json_put_real(&w, "validation", o->validation);
    hpc_json_put_real(&w, "test", o->test);
    hpc_json_put_int(&w, "seed", o->seed);
    hpc_json_put_int(&w, "max-bytes", o->file_bytes);
    hpc_json_open(&w, "repositories", '[');
    for (int64_t k = 0; k < h->sources_n; k++) hpc_json_put_text(&w, NULL, h->source[k].name);
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    return hpc_buf_text(&h->settings, "\n");
}

/* A value as a short text, for comparing and for messages. */
static void show_value(char *out, size_t size, const hpc_json *v)
{
    int64_t i = 0;
    double x = 0;
    bool b = false;
    const char *text = NULL;
    snprintf(out, size, "missing");
    if (!v) return;
    switch (hpc_json_kind_of(v)) {
    case HPC_JSON_INT:
        if (hpc_json_int(&i, v, "") == 0) snprintf(out, size, "%lld", (long long)i);
        break;
    case HPC_JSON_REAL:
        if (hpc_json_real(&x, v, "") == 0) snprintf(out, size, "%.17g", x);
        break;
    case HPC_JSON_BOOL:
        if (hpc_json_bool(&b, v, "") == 0) snprintf(out, size, "%s", b ? "true" : "false");
        break;
    case HPC_JSON_TEXT:
        if (hpc_json_text(&text, v, "") == 0) snprintf(out, size, "%s", text);
        break;
    default: snprintf(out, size, "another value");
    }
}

static int compare_repositories(const char *path, const hpc_json *then, const corpus_harvest *h)
{
    int64_t a = 0, b = 0, n = hpc_json_n(then);
    while (a < n || b < h->sources_n) {
        const char *old = NULL;
        if (a < n && hpc_json_text(&old, hpc_json_at(then, a), "repositories") < 0)
            return hpc_error_where("%s", path);
        int order = a >= n ? 1 : b >= h->sources_n ? -1 : strcmp(old, h->source[b].name);
        if (order != 0)
            return hpc_fail(HPC_E_ARG, "%s: repository '%s' %s; choose another folder for --out",
                            path, order < 0 ? old : h->source[b].name,
                            order < 0 ? "was harvested but is not given now"
                                      : "is given now but was not harvested");
        a++;
        b++;
    }
    return HPC_OK;
}

static int compare_settings(const corpus_harvest *h, const char *path)
{
    hpc_json *then = NULL, *now = NULL;
    const hpc_json *value = NULL;
    int64_t version = 0;
    char was[8192], is[8192];
    int rc = HPC_OK;
    TRY(hpc_json_read(&then, path));
    TRY(hpc_json_parse(&now, h->settings.data, h->settings.n, "settings"));
    if (hpc_json_kind_of(then) != HPC_JSON_OBJECT)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: not the settings of a corpus", path));
    value = hpc_json_get(then, "version");
    if (value) TRY(hpc_json_int(&version, value, "version"));
    if (version > SETTINGS_VERSION)
        TRY(hpc_fail(HPC_E_FORMAT, "%s has format version %lld; this program knows version %d",
                     path, (long long)version, SETTINGS_VERSION));
    for (int64_t k = 0; k < hpc_json_n(now); k++) {
        const char *key = hpc_json_key(now, k, &value);
        if (strcmp(key, "repositories") == 0) continue;
        show_value(is, sizeof is, value);
        show_value(was, sizeof was, hpc_json_get(then, key));
        if (strcmp(is, was) != 0)
            TRY(hpc_fail(HPC_E_ARG,
                         "%s: the corpus was started with %s = %.150s, now it is %.150s; use the "
                         "same value, or another folder for --out",
                         path, key, was, is));
    }
    TRY(compare_repositories(path, hpc_json_get(then, "repositories"), h));
out:
    hpc_json_free(then);
    hpc_json_free(now);
    return rc;
}

/* Under the lock: of several processes that begin at once, one writes. */
static int claim_folder(corpus_harvest *h, const char *path)
{
    hpc_buf old = {0};
    int rc = HPC_OK;
    TRY(hpc_file_sweep(h->options->folder));
    if (!hpc_file_exists(path)) {
        TRY(hpc_file_save(path, h->settings.data, h->settings.n));
        h->fresh = true;
        goto out;
    }
    if (!h->options->resume)
        TRY(hpc_fail(HPC_E_ARG,
                     "%s already contains a corpus; continue it with --resume, or choose another "
                     "folder for --out",
                     h->options->folder));
    TRY(hpc_file_read(&old, path, SETTINGS_MOST));
    if (old.n != h->settings.n || memcmp(old.data, h->settings.data, old.n) != 0)
        TRY(compare_settings(h, path));
out:
    hpc_buf_release(&old);
    return rc;
}

static int check_options(const hpc_harvest_options *o)
{
    int rc = HPC_OK;
    TRY(corpus_licence_check_list(o->licences));
    if (!(o->validation >= 0 && o->test >= 0 && o->validation + o->test <= 0.9))
        TRY(hpc_fail(
            HPC_E_ARG,
            "validation and test cannot have the shares %g and %g: their sum is at most 0.9",
            o->validation, o->test));
    if (o->file_bytes < 1 || o->file_bytes > CORPUS_TEXT_MOST)
        TRY(hpc_fail(HPC_E_ARG, "size limit of files %lld bytes: expected 1 to %d",
                     (long long)o->file_bytes, CORPUS_TEXT_MOST));
out:
    return rc;
}

/* Fails before anything is written if no repository can be opened. If some open, the others are
 * reported when they are read. */
static int check_some_open(const hpc_harvest_options *o)
{
    hpc_git *g = NULL;
    char why[sizeof hpc_error_get()->text];
    for (int64_t k = 0; k < o->repositories_n; k++) {
        int rc = hpc_git_open(&g, o->repository[k].path);
        hpc_git_close(g);
        if (rc == HPC_OK) hpc_error_clear();
        if (rc == HPC_OK || rc == HPC_E_NOMEM) return rc;
    }
    snprintf(why, sizeof why, "%s", hpc_error_get()->text); /* the first failure wins */
    hpc_error_clear();
    if (o->repositories_n == 1) return hpc_fail(HPC_E_ARG, "%s", why);
    return hpc_fail(HPC_E_ARG, "none of the %lld repositories can be opened; the first: %s",
                    (long long)o->repositories_n, why);
}

int corpus_settings_fix(corpus_harvest *h)
{
    hpc_buf path = {0};
    int lock = -1, rc = HPC_OK;
    TRY(check_options(h->options));
    TRY(find_names(h));
    TRY(corpus_harvest_path(&path, h, "harvest.json"));
    if (!hpc_file_exists(path.data)) TRY(check_some_open(h->options));
    TRY(write_settings(h));
    TRY(corpus_harvest_path(&path, h, "content"));
    TRY(hpc_file_mkdir(path.data));
    TRY(corpus_harvest_path(&path, h, "harvest.lock"));
    TRY(hpc_file_lock(&lock, path.data, true));
    TRY(corpus_harvest_path(&path, h, "harvest.json"));
    TRY(claim_folder(h, path.data));
out:
    hpc_file_unlock(lock);
    hpc_buf_release(&path);
    return rc;
}
