/*
 * The log of samples: JSON lines in memory and in a folder, continued after an interruption.
 */
#include <math.h>
#include <string.h>

#include "eval/eval.h"

struct hpc_eval_log {
    hpc_json *settings;
    hpc_json **sample;
    int64_t n, cap;
    hpc_map *index; /* id to number */
    hpc_file_writer *file;
    int lock; /* -1: none */
};

enum { FILE_BYTES_MOST = 1 << 30 };

double hpc_eval_number(const hpc_json *sample, const char *key)
{
    const hpc_json *v = hpc_json_get(hpc_json_get(sample, "number"), key);
    hpc_json_kind kind = hpc_json_kind_of(v);
    double x = NAN;

    if (kind == HPC_JSON_INT || kind == HPC_JSON_REAL) (void)hpc_json_real(&x, v, key);
    return x;
}

/* ---- in memory ------------------------------------------------------------------------------- */

static int keep(hpc_eval_log *l, const char *text, size_t n, const char *source)
{
    hpc_json *root = NULL;
    const char *id;
    int rc;

    TRY(hpc_json_parse(&root, text, n, source));
    TRY(hpc_json_text(&id, hpc_json_get(root, "id"), "id"));
    TRY(hpc_grow(&l->sample, &l->cap, l->n + 1, sizeof(*l->sample)));
    TRY(hpc_map_put(l->index, id, strlen(id), (uint64_t)l->n));
    l->sample[l->n++] = root;
    root = NULL;
out:
    hpc_json_free(root);
    return rc;
}

const hpc_json *hpc_eval_log_find(const hpc_eval_log *l, const char *id)
{
    uint64_t at;
    return hpc_map_get(l->index, id, strlen(id), &at) ? l->sample[at] : NULL;
}

bool hpc_eval_log_has(const hpc_eval_log *l, const char *id)
{
    return hpc_eval_log_find(l, id) != NULL;
}

int64_t hpc_eval_log_n(const hpc_eval_log *l)
{
    return l->n;
}

const hpc_json *hpc_eval_log_at(const hpc_eval_log *l, int64_t i)
{
    return i >= 0 && i < l->n ? l->sample[i] : NULL;
}

const hpc_json *hpc_eval_log_settings(const hpc_eval_log *l)
{
    return l->settings;
}

void hpc_eval_log_close(hpc_eval_log *l)
{
    if (!l) return;
    for (int64_t k = 0; k < l->n; k++) hpc_json_free(l->sample[k]);
    hpc_free(l->sample);
    hpc_json_free(l->settings);
    hpc_map_free(l->index);
    hpc_file_close_writer(l->file);
    hpc_file_unlock(l->lock);
    hpc_free(l);
}

static int create(hpc_eval_log **out)
{
    hpc_eval_log *l = hpc_alloc(1, sizeof(*l));

    if (!l) return HPC_E_NOMEM;
    l->lock = -1;
    l->index = hpc_map_create();
    if (!l->index) {
        hpc_free(l);
        return HPC_E_NOMEM;
    }
    *out = l;
    return HPC_OK;
}

/* ---- in a folder ----------------------------------------------------------------------------- */

/* Reads whole lines. *whole: bytes of the file up to the last line feed. */
static int read_lines(hpc_eval_log *l, const hpc_buf *text, const char *path, size_t *whole)
{
    size_t at = 0;
    int rc = HPC_OK;

    while (at < text->n) {
        const char *line = text->data + at, *end = memchr(line, '\n', text->n - at);
        if (!end) break;
        if (!l->settings)
            TRY(hpc_json_parse(&l->settings, line, (size_t)(end - line), path));
        else
            TRY(keep(l, line, (size_t)(end - line), path));
        at = (size_t)(end - text->data) + 1;
    }
    *whole = at;
out:
    return rc;
}

static void put_value(hpc_buf *out, const hpc_json *v)
{
    hpc_json_out w = {.buf = out};
    hpc_json_put(&w, NULL, v);
}

/* Fails with the first key that differs. */
static int check_settings(const hpc_json *old, const hpc_json *now, const char *path)
{
    for (int64_t k = 0; k < hpc_json_n(now); k++) {
        const hpc_json *value;
        const char *key = hpc_json_key(now, k, &value);
        hpc_buf a = {0}, b = {0};
        put_value(&a, hpc_json_get(old, key));
        put_value(&b, value);
        int rc = a.failed || b.failed ? HPC_E_NOMEM : HPC_OK;
        if (rc == HPC_OK && strcmp(a.data, b.data) != 0)
            rc = hpc_fail(HPC_E_ARG,
                          "%s holds results with %s %s, not %s; repeat these settings, or choose "
                          "another --out",
                          path, key, a.data, b.data);
        hpc_buf_release(&a);
        hpc_buf_release(&b);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

static int path_of(hpc_buf *out, const char *dir, const char *name)
{
    return hpc_buf_printf(out, "%s/%s", dir, name);
}

static int take_lock(hpc_eval_log *l, const char *dir)
{
    hpc_buf path = {0};
    int rc;

    TRY(path_of(&path, dir, "lock"));
    TRY(hpc_file_lock(&l->lock, path.data, false));
    if (l->lock < 0) TRY(hpc_fail(HPC_E_STATE, "%s: another process writes results there", dir));
out:
    hpc_buf_release(&path);
    return rc;
}

static int open_folder(hpc_eval_log *l, const char *dir, const hpc_buf *settings)
{
    hpc_buf path = {0}, text = {0};
    hpc_json *now = NULL;
    size_t whole = 0;
    int rc;

    TRY(hpc_file_mkdir(dir));
    TRY(take_lock(l, dir));
    TRY(path_of(&path, dir, "samples.jsonl"));
    TRY(hpc_json_parse(&now, settings->data, settings->n, "settings"));
    if (hpc_file_exists(path.data)) TRY(hpc_file_read(&text, path.data, FILE_BYTES_MOST));
    TRY(read_lines(l, &text, path.data, &whole));
    if (l->n > 0) TRY(check_settings(l->settings, now, path.data));
    if (l->n == 0) {
        hpc_json_free(l->settings);
        text.n = 0;
        TRY(hpc_buf_add(&text, settings->data, settings->n));
        TRY(hpc_buf_text(&text, "\n"));
        l->settings = now;
        now = NULL;
        TRY(hpc_file_save(path.data, text.data, text.n));
    } else if (whole < text.n) { /* a line that was cut short */
        TRY(hpc_file_save(path.data, text.data, whole));
    }
    TRY(hpc_file_append(&l->file, path.data));
out:
    hpc_json_free(now);
    hpc_buf_release(&path);
    hpc_buf_release(&text);
    return rc;
}

int hpc_eval_log_open(hpc_eval_log **out, const char *dir, const hpc_buf *settings)
{
    hpc_eval_log *l = NULL;
    int rc;

    TRY(create(&l));
    if (dir)
        TRY(open_folder(l, dir, settings));
    else
        TRY(hpc_json_parse(&l->settings, settings->data, settings->n, "settings"));
    *out = l;
    l = NULL;
out:
    hpc_eval_log_close(l);
    return rc;
}

int hpc_eval_log_read(hpc_eval_log **out, const char *dir)
{
    hpc_buf path = {0}, text = {0};
    hpc_eval_log *l = NULL;
    size_t whole;
    int rc;

    TRY(create(&l));
    TRY(path_of(&path, dir, "samples.jsonl"));
    TRY(hpc_file_read(&text, path.data, FILE_BYTES_MOST));
    TRY(read_lines(l, &text, path.data, &whole));
    if (!l->settings) TRY(hpc_fail(HPC_E_FORMAT, "%s has no results", path.data));
    *out = l;
    l = NULL;
out:
    hpc_eval_log_close(l);
    hpc_buf_release(&path);
    hpc_buf_release(&text);
    return rc;
}

int hpc_eval_log_add(hpc_eval_log *l, const hpc_buf *sample)
{
    int rc;

    TRY(keep(l, sample->data, sample->n, "sample"));
    if (l->file) {
        TRY(hpc_file_write(l->file, sample->data, sample->n));
        TRY(hpc_file_write(l->file, "\n", 1));
    }
out:
    return rc;
}
