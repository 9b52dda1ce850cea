/*
 * eval_common.c: the log and the reports of the commands `eval ...`.
 */
#include <string.h>

#include "cmd/eval.h"
#include "cmd/terminal.h"

/* ---- settings -------------------------------------------------------------------------------- */

/* Options without effect on samples. */
static bool is_recorded(const char *name)
{
    static const char *const other[] = {"out",   "compare", "html",   "json",
                                        "quiet", "threads", "device", NULL};
    for (const char *const *k = other; *k; k++)
        if (strcmp(*k, name) == 0) return false;
    return true;
}

static int put_settings(hpc_buf *out, const hpc_command *c, const void *options,
                        const char *const *argument, int arguments)
{
    hpc_buf all = {0};
    hpc_json *root = NULL;
    hpc_json_out w = {.buf = out};
    int rc;
    TRY(hpc_options_record(&all, c, options));
    TRY(hpc_json_parse(&root, all.data, all.n, "options"));
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "command", c->name);
    hpc_json_open(&w, "arguments", '[');
    for (int k = 0; k < arguments; k++) hpc_json_put_text(&w, NULL, argument[k]);
    hpc_json_close(&w, ']');
    for (int64_t k = 0; k < hpc_json_n(root); k++) {
        const hpc_json *value;
        const char *key = hpc_json_key(root, k, &value);
        if (is_recorded(key)) hpc_json_put(&w, key, value);
    }
    hpc_json_close(&w, '}');
    rc = out->failed;
out:
    hpc_json_free(root);
    hpc_buf_release(&all);
    return rc;
}

int hpc_cmd_eval_open(hpc_eval_log **log, const hpc_command *c, const void *options,
                      const eval_common *o, const char *const *argument, int arguments)
{
    hpc_buf settings = {0};
    int rc;
    TRY(put_settings(&settings, c, options, argument, arguments));
    TRY(hpc_eval_log_open(log, o->out, &settings));
out:
    hpc_buf_release(&settings);
    return rc;
}

/* ---- reports --------------------------------------------------------------------------------- */

static int write_page(const char *path, const hpc_eval_report *r)
{
    hpc_buf page = {0};
    int rc;
    TRY(hpc_eval_report_page(&page, r));
    TRY(hpc_file_save(path, page.data, page.n));
out:
    hpc_buf_release(&page);
    return rc;
}

int hpc_cmd_eval_report(const hpc_eval_suite *s, const hpc_eval_log *log, const eval_common *o)
{
    hpc_eval_scores scores = {0};
    hpc_eval_comparison comparison = {0};
    hpc_eval_report r = {.suite = s, .log = log, .scores = &scores, .compared = o->compare};
    hpc_eval_log *other = NULL;
    hpc_buf text = {0};
    int rc;
    TRY(hpc_eval_score(&scores, s, log, (uint64_t)o->seed));
    if (o->compare) {
        TRY(hpc_eval_log_read(&other, o->compare));
        TRY(hpc_eval_compare(&comparison, s, log, other, (uint64_t)o->seed));
        r.comparison = &comparison;
    }
    if (o->html) TRY(write_page(o->html, &r));
    TRY(o->json ? hpc_eval_report_json(&text, &r)
                : hpc_eval_report_text(&text, &r, hpc_cmd_table_columns()));
    TRY(hpc_cmd_print(&text));
out:
    hpc_buf_release(&text);
    hpc_eval_log_close(other);
    hpc_eval_comparison_release(&comparison);
    hpc_eval_scores_release(&scores);
    return rc;
}
