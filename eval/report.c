/*
 * Reports of scores as text and as JSON.
 */
#include <math.h>
#include <string.h>

#include "eval/priv.h"
#include "runtime/base/table.h"

enum { METRICS = 24, PAIRS = 10 };

/* ---- text ------------------------------------------------------------------------------------ */

static void put_cell(hpc_table *t, double value, int decimals)
{
    if (isnan(value))
        hpc_table_cell(t, "-");
    else
        hpc_table_cell(t, "%.*f", decimals, value);
}

/* "0.31 0.29..0.33" */
static void put_interval(hpc_table *t, const hpc_eval_value *v, int decimals)
{
    if (isnan(v->value))
        hpc_table_cell(t, "-");
    else
        hpc_table_cell(t, "%.*f [%.*f, %.*f]", decimals, v->value, decimals, v->low, decimals,
                       v->high);
}

static bool has_values(const hpc_eval_scores *s, int metric)
{
    for (int64_t k = 0; k < s->n; k++)
        if (s->row[k].value[metric].samples > 0) return true;
    return false;
}

static int put_scores(hpc_buf *out, const hpc_eval_report *r, int width)
{
    hpc_column column[METRICS + 2] = {HPC_COLUMN_TEXT("group"), HPC_COLUMN_NUMBER(r->suite->unit)};
    hpc_table t = {.column = column, .columns = 2, .keys = 1};

    for (int k = 0; k < r->suite->metric_n; k++)
        if (has_values(r->scores, k))
            column[t.columns++] = (hpc_column)HPC_COLUMN_NUMBER(r->suite->metric[k].title);
    for (int64_t i = 0; i < r->scores->n; i++) {
        const hpc_eval_row *row = &r->scores->row[i];
        hpc_table_cell(&t, row->key[0] ? "%s %s" : "%s%s", row->key, row->name);
        hpc_table_cell(&t, "%lld", (long long)row->samples);
        for (int k = 0; k < r->suite->metric_n; k++)
            if (has_values(r->scores, k))
                put_interval(&t, &row->value[k], r->suite->metric[k].decimals);
    }
    return hpc_table_print(out, &t, width);
}

static int put_differences(hpc_buf *out, const hpc_eval_report *r, int width)
{
    static const hpc_column column[] = {
        HPC_COLUMN_TEXT("metric"),       HPC_COLUMN_NUMBER("here"),   HPC_COLUMN_NUMBER("there"),
        HPC_COLUMN_NUMBER("difference"), HPC_COLUMN_NUMBER("better"), HPC_COLUMN_NUMBER("worse"),
        HPC_COLUMN_NUMBER("equal")};
    hpc_table t = {.column = column, .columns = sizeof column / sizeof *column, .keys = 1};

    for (int k = 0; k < r->suite->metric_n; k++) {
        const hpc_eval_difference *d = &r->comparison->difference[k];
        const hpc_eval_metric *m = &r->suite->metric[k];
        if (d->value.samples == 0) continue;
        hpc_table_cell(&t, "%s", m->title);
        put_cell(&t, d->here, m->decimals);
        put_cell(&t, d->there, m->decimals);
        put_interval(&t, &d->value, m->decimals);
        hpc_table_cell(&t, "%lld", (long long)d->better);
        hpc_table_cell(&t, "%lld", (long long)d->worse);
        hpc_table_cell(&t, "%lld", (long long)d->equal);
    }
    return hpc_table_print(out, &t, width);
}

static int put_pairs(hpc_buf *out, const hpc_eval_report *r, int width)
{
    const hpc_eval_metric *m = &r->suite->metric[0];
    const hpc_eval_comparison *c = r->comparison;
    const hpc_column column[] = {{.title = "sample", .fit = HPC_FIT_CUT_FRONT, .least = 20},
                                 HPC_COLUMN_NUMBER("here"),
                                 HPC_COLUMN_NUMBER("there")};
    hpc_table t = {.column = column, .columns = 3, .keys = 1};

    hpc_buf_printf(out, "\nLargest differences of %s:\n", m->title);
    for (int64_t k = 0; k < c->n && k < PAIRS && c->pair[k].here != c->pair[k].there; k++) {
        hpc_table_cell(&t, "%s", c->pair[k].id);
        put_cell(&t, c->pair[k].here, m->decimals);
        put_cell(&t, c->pair[k].there, m->decimals);
    }
    return hpc_table_print(out, &t, width);
}

static int put_comparison(hpc_buf *out, const hpc_eval_report *r, int width)
{
    const hpc_eval_comparison *c = r->comparison;
    int rc;

    hpc_buf_printf(out, "\nCompared with %s: %lld common samples", r->compared, (long long)c->n);
    if (c->alone_here + c->alone_there > 0)
        hpc_buf_printf(out, ", %lld only here, %lld only there", (long long)c->alone_here,
                       (long long)c->alone_there);
    hpc_buf_text(out, "\n");
    TRY(put_differences(out, r, width));
    if (c->n > 0 && c->pair[0].here != c->pair[0].there) TRY(put_pairs(out, r, width));
out:
    return rc;
}

static void put_setting(hpc_buf *line, const char *key, const hpc_json *value)
{
    hpc_buf shown = {0};
    hpc_json_out w = {.buf = &shown};
    const char *text;

    if (hpc_json_kind_of(value) == HPC_JSON_TEXT && hpc_json_text(&text, value, key) >= 0)
        hpc_buf_text(&shown, text);
    else
        hpc_json_put(&w, NULL, value);
    if (shown.n > 0 && strcmp(shown.data, "null") != 0)
        hpc_buf_printf(line, "%s%s ", line->n > 0 ? ", " : "", key);
    if (shown.n > 0 && strcmp(shown.data, "null") != 0) hpc_buf_add(line, shown.data, shown.n);
    hpc_buf_release(&shown);
}

/* "eval perplexity pilot.gguf src", then "seed 1, context 1024" */
static void put_settings(hpc_buf *out, const hpc_json *settings, int width)
{
    const hpc_json *arguments = hpc_json_get(settings, "arguments");
    hpc_buf command = {0}, line = {0};
    const char *text;

    for (int64_t k = -1; k < hpc_json_n(arguments); k++) {
        const hpc_json *v = k < 0 ? hpc_json_get(settings, "command") : hpc_json_at(arguments, k);
        if (hpc_json_text(&text, v, "argument") >= 0)
            hpc_buf_printf(&command, k < 0 ? "%s" : " %s", text);
    }
    for (int64_t k = 0; k < hpc_json_n(settings); k++) {
        const hpc_json *value;
        const char *key = hpc_json_key(settings, k, &value);
        if (strcmp(key, "command") != 0 && value != arguments) put_setting(&line, key, value);
    }
    hpc_text_fill_take(out, &command, 2, width);
    hpc_text_fill_take(out, &line, 2, width);
}

int hpc_eval_report_text(hpc_buf *out, const hpc_eval_report *r, int width)
{
    int rc;

    put_settings(out, hpc_eval_log_settings(r->log), width);
    hpc_buf_text(out, "\n");
    TRY(put_scores(out, r, width));
    if (r->suite->notes) hpc_buf_text(out, "\n"), hpc_text_fill(out, r->suite->notes, 0, width);
    if (r->comparison) TRY(put_comparison(out, r, width));
out:
    return rc < 0 ? rc : out->failed;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_value(hpc_json_out *w, const char *key, const hpc_eval_value *v)
{
    hpc_json_open(w, key, '{');
    hpc_json_put_real(w, "value", v->value);
    hpc_json_put_real(w, "low", v->low);
    hpc_json_put_real(w, "high", v->high);
    hpc_json_put_int(w, "samples", v->samples);
    hpc_json_close(w, '}');
}

static void put_row(hpc_json_out *w, const hpc_eval_suite *s, const hpc_eval_row *row)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "group", row->key[0] ? row->key : NULL);
    hpc_json_put_text(w, "name", row->name);
    hpc_json_put_int(w, "samples", row->samples);
    hpc_json_open(w, "metrics", '{');
    for (int k = 0; k < s->metric_n; k++)
        if (row->value[k].samples > 0) put_value(w, s->metric[k].name, &row->value[k]);
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
}

static void put_json_difference(hpc_json_out *w, const hpc_eval_metric *m,
                                const hpc_eval_difference *d)
{
    hpc_json_open(w, m->name, '{');
    hpc_json_put_real(w, "here", d->here);
    hpc_json_put_real(w, "there", d->there);
    put_value(w, "difference", &d->value);
    hpc_json_put_int(w, "better", d->better);
    hpc_json_put_int(w, "worse", d->worse);
    hpc_json_put_int(w, "equal", d->equal);
    hpc_json_close(w, '}');
}

static void put_json_comparison(hpc_json_out *w, const hpc_eval_report *r)
{
    const hpc_eval_comparison *c = r->comparison;

    hpc_json_open(w, "comparison", '{');
    hpc_json_put_text(w, "with", r->compared);
    hpc_json_put_int(w, "only_here", c->alone_here);
    hpc_json_put_int(w, "only_there", c->alone_there);
    hpc_json_open(w, "metrics", '{');
    for (int k = 0; k < r->suite->metric_n; k++)
        if (c->difference[k].value.samples > 0)
            put_json_difference(w, &r->suite->metric[k], &c->difference[k]);
    hpc_json_close(w, '}');
    hpc_json_open(w, "samples", '[');
    for (int64_t k = 0; k < c->n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "id", c->pair[k].id);
        hpc_json_put_real(w, "here", c->pair[k].here);
        hpc_json_put_real(w, "there", c->pair[k].there);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

int hpc_eval_report_json(hpc_buf *out, const hpc_eval_report *r)
{
    hpc_json_out w = {.buf = out};

    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "suite", r->suite->name);
    hpc_json_put(&w, "settings", hpc_eval_log_settings(r->log));
    hpc_json_open(&w, "rows", '[');
    for (int64_t k = 0; k < r->scores->n; k++) put_row(&w, r->suite, &r->scores->row[k]);
    hpc_json_close(&w, ']');
    if (r->comparison) put_json_comparison(&w, r);
    hpc_json_close(&w, '}');
    return hpc_buf_text(out, "\n");
}
