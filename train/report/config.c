/*
 * Settings of the runs of a training report, from their config.json: which differ,
 * and which of the main ones are common.
 */
#include <string.h>

#include "train/report/report.h"

enum { VALUE = 40 };

static void put_value(hpc_buf *out, const hpc_json *v)
{
    const char *text;
    double real;
    int64_t whole;
    bool flag;
    switch (hpc_json_kind_of(v)) {
    case HPC_JSON_NULL: hpc_buf_text(out, "none"); return;
    case HPC_JSON_BOOL:
        if (hpc_json_bool(&flag, v, "") >= 0) hpc_buf_text(out, flag ? "yes" : "no");
        return;
    case HPC_JSON_INT:
        if (hpc_json_int(&whole, v, "") >= 0) hpc_buf_printf(out, "%lld", (long long)whole);
        return;
    case HPC_JSON_REAL:
        if (hpc_json_real(&real, v, "") >= 0) hpc_buf_printf(out, "%.6g", real);
        return;
    case HPC_JSON_TEXT:
        if (hpc_json_text(&text, v, "") >= 0) hpc_buf_text(out, text[0] ? text : "none");
        return;
    case HPC_JSON_LIST:
        for (int64_t k = 0; k < hpc_json_n(v); k++) {
            if (k > 0) hpc_buf_text(out, ",");
            put_value(out, hpc_json_at(v, k));
        }
        if (hpc_json_n(v) == 0) hpc_buf_text(out, "none");
        return;
    case HPC_JSON_OBJECT: hpc_buf_text(out, "{...}"); return;
    }
}

int report_setting(const char **out, const hpc_report_run *r, hpc_arena *a, const char *key)
{
    const hpc_json *v = hpc_json_get(r->config, key);
    hpc_buf text = {0};
    *out = NULL;
    if (!v) return HPC_OK;
    put_value(&text, v);
    *out = text.failed ? NULL : hpc_arena_line(a, text.data ? text.data : "", VALUE);
    hpc_buf_release(&text);
    return *out ? HPC_OK : HPC_E_NOMEM;
}

/* Settings of paths, output and checkpoints, which do not change how a run trains. */
static bool is_aside(const char *key)
{
    static const char *const aside[] = {"out", "resume",      "json",       "quiet",
                                        "set", "trace-steps", "save-every", "keep"};
    for (size_t k = 0; k < sizeof aside / sizeof *aside; k++)
        if (strcmp(aside[k], key) == 0) return true;
    return false;
}

/* Ignores runs without the key: older versions recorded fewer keys. */
static int differs(bool *out, const hpc_report_run *run, int64_t n, hpc_arena *a, const char *key)
{
    const char *first = NULL, *value;
    int rc = HPC_OK;
    *out = false;
    for (int64_t k = 0; k < n; k++) {
        TRY(report_setting(&value, &run[k], a, key));
        if (value && first && strcmp(value, first) != 0) *out = true;
        if (value) first = value;
    }
out:
    return rc;
}

static bool is_known(const hpc_report_run *run, int64_t before, const char *key)
{
    for (int64_t k = 0; k < before; k++)
        if (hpc_json_get(run[k].config, key)) return true;
    return false;
}

int report_keys(hpc_texts *out, const hpc_report_run *run, int64_t n, hpc_arena *a)
{
    int64_t keys = 0;
    *out = (hpc_texts){0};
    for (int64_t k = 0; k < n; k++) keys += hpc_json_n(run[k].config);
    out->item = hpc_arena_alloc(a, (size_t)keys + 1, sizeof *out->item);
    if (!out->item) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < hpc_json_n(run[k].config); i++) {
            const hpc_json *value;
            const char *key = hpc_json_key(run[k].config, i, &value);
            if (!is_known(run, k, key)) out->item[out->n++] = key;
        }
    return HPC_OK;
}

int report_differences(hpc_texts *out, const hpc_report_run *run, int64_t n, hpc_arena *a)
{
    int64_t differing = 0;
    int rc;
    TRY(report_keys(out, run, n, a));
    for (int64_t k = 0; k < out->n; k++) {
        bool different;
        TRY(differs(&different, run, n, a, out->item[k]));
        if (different && !is_aside(out->item[k])) out->item[differing++] = out->item[k];
    }
    out->n = differing;
out:
    return rc;
}

static bool has_text(const hpc_texts *list, const char *text)
{
    for (int64_t k = 0; k < list->n; k++)
        if (strcmp(list->item[k], text) == 0) return true;
    return false;
}

int report_common(const char **out, const hpc_report_run *run, int64_t n, hpc_arena *a,
                  const hpc_texts *differences)
{
    static const char *const main_ones[] = {"hidden",    "layers", "heads",      "ffn",
                                            "optimizer", "lr",     "warmup",     "steps",
                                            "length",    "rows",   "accumulate", "dtype"};
    hpc_buf text = {0};
    int rc = HPC_OK;
    hpc_buf_text(&text, "");
    for (size_t k = 0; k < sizeof main_ones / sizeof *main_ones; k++) {
        const char *value = NULL;
        for (int64_t i = 0; i < n && !value; i++)
            TRY(report_setting(&value, &run[i], a, main_ones[k]));
        if (!value || has_text(differences, main_ones[k])) continue;
        hpc_buf_printf(&text, "%s%s %s", text.n ? ", " : "", main_ones[k], value);
    }
    *out = text.failed ? NULL : hpc_arena_text(a, "%s", text.data);
    if (!*out) rc = HPC_E_NOMEM;
out:
    hpc_buf_release(&text);
    return rc;
}
