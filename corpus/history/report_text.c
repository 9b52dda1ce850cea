/*
 * Report on performance histories as text tables and as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "corpus/history/report.h"
#include "runtime/base/table.h"

enum { SHORT = 12 }; /* digits of an id */

/* ---- tables ---------------------------------------------------------------------------------- */

void perf_report_noise(hpc_buf *out, const perf_curve *c)
{
    if (c->noise.freedom > 0)
        hpc_buf_printf(out, "runs scatter by %.2g %%", 100 * c->noise.sd);
    else
        hpc_buf_text(out, "no commit was run more than once");
    if (c->steps.noise == 0)
        hpc_buf_text(out, "; too few commits to find change points");
    else
        hpc_buf_printf(out, ", noise level for change points %.2g %%", 100 * c->steps.noise);
    if (c->steps.waves > 1) hpc_buf_text(out, " (slow drift)");
    if (c->steps.drifts_n > 0)
        hpc_buf_printf(out, "; %lld of %lld levels drift", (long long)c->steps.drifts_n,
                       (long long)c->steps.stretches_n);
}

static void put_series(hpc_buf *out, const perf_shown *s, bool histories, int width)
{
    const perf_curve *c = s->curve;
    int64_t label[HPC_HISTORY_UNDECIDED + 1];
    hpc_buf text = {0};
    hpc_buf_printf(&text, "[%d] %s of '%s' on %s", s->number, s->metric, s->command, s->machine);
    if (s->builds) hpc_buf_printf(&text, ", built by '%s'", perf_report_built(s));
    if (histories) hpc_buf_printf(&text, ", %s", s->of->name);
    hpc_buf_printf(&text, "\n    %lld of %lld commits measured", (long long)c->measured_n,
                   (long long)s->of->curves.line.n);
    if (c->same_n)
        hpc_buf_printf(&text, ", %lld with a byte-identical build", (long long)c->same_n);
    if (c->failed_n) hpc_buf_printf(&text, ", %lld failed", (long long)c->failed_n);
    if (c->beside_n)
        hpc_buf_printf(&text, "; %lld on branches, without change points", (long long)c->beside_n);
    hpc_buf_text(&text, "\n    ");
    perf_report_noise(&text, c);
    perf_report_labels(label, s);
    hpc_buf_text(&text, "\n    labels:");
    for (int k = 0; k <= HPC_HISTORY_UNDECIDED; k++)
        hpc_buf_printf(&text, "%s %lld %s", k ? "," : "", (long long)label[k],
                       hpc_history_label_name(k));
    hpc_text_fill_take(out, &text, 6, width);
}

/* Subjects are cut first; a column without text takes no space. */
#define SUBJECT                                                                                    \
    {                                                                                              \
        .title = "", .fit = HPC_FIT_CUT, .least = 10                                               \
    }

/* The number of a series, if there are several. */
static void put_number(hpc_table *t, int number, const hpc_history_report *r)
{
    if (r->n > 1)
        hpc_table_cell(t, "[%d]", number);
    else
        hpc_table_cell(t, "%s", "");
}

static void add_change(hpc_table *t, const perf_change *c, const hpc_history_report *r)
{
    char change[PERF_REPORT_TEXT], range[PERF_REPORT_TEXT];
    hpc_table_cell(t, "%s", perf_report_share(change, c->step->change));
    hpc_table_cell(t, "%s", perf_report_range(range, c->step->low, c->step->high));
    put_number(t, c->of->number, r);
    hpc_table_cell(t, "%.*s", SHORT, perf_report_commit(c->of, c->step->at)->id);
    if (c->suspects == 1)
        hpc_table_cell(t, "this one");
    else
        hpc_table_cell(t, "%lld: %.9s..%.9s", (long long)c->suspects,
                       perf_report_commit(c->of, c->first)->id,
                       perf_report_commit(c->of, c->last)->id);
    hpc_table_cell(t, "%s", r->repository ? c->of->of->subject[c->step->at] : "");
}

static int put_changes(hpc_buf *out, const hpc_history_report *r, int width)
{
    static const hpc_column columns[] = {
        HPC_COLUMN_NUMBER("change"), HPC_COLUMN_TEXT("interval (95 %)"), HPC_COLUMN_TEXT("of"),
        HPC_COLUMN_TEXT("commit"),   HPC_COLUMN_TEXT("where it may be"), SUBJECT};
    hpc_table t = {
        .column = columns, .columns = sizeof columns / sizeof *columns, .keys = 4, .indent = 2};
    hpc_buf_text(out, "\n"
                      "change points, largest first\n");
    for (int64_t k = 0; k < r->changes_n; k++) add_change(&t, &r->change[k], r);
    return hpc_table_print(out, &t, width);
}

static void add_labels(hpc_table *t, const perf_shown *s, const hpc_history_report *r)
{
    char change[PERF_REPORT_TEXT], range[PERF_REPORT_TEXT];
    for (int64_t k = 0; k < s->of->curves.line.n; k++) {
        const perf_point *p = &s->curve->point[k];
        hpc_history_label l = p->effect.label;
        if (l != HPC_HISTORY_SLOWER && l != HPC_HISTORY_FASTER) continue;
        hpc_table_cell(t, "%s", perf_report_share(change, p->effect.change));
        hpc_table_cell(t, "%s", perf_report_range(range, p->effect.low, p->effect.high));
        put_number(t, s->number, r);
        hpc_table_cell(t, "%.*s", SHORT, perf_report_commit(s, k)->id);
        hpc_table_cell(t, "%s", hpc_history_label_name(l));
        hpc_table_cell(t, "%.*s", SHORT, perf_report_commit(s, p->base)->id);
        hpc_table_cell(t, "%s", s->of->subject[k]);
    }
}

static int put_labels(hpc_buf *out, const hpc_history_report *r, int width)
{
    static const hpc_column columns[] = {HPC_COLUMN_NUMBER("change"),
                                         HPC_COLUMN_TEXT("interval (95 %)"),
                                         HPC_COLUMN_TEXT("of"),
                                         HPC_COLUMN_TEXT("commit"),
                                         HPC_COLUMN_TEXT("label"),
                                         HPC_COLUMN_TEXT("against"),
                                         SUBJECT};
    hpc_table t = {
        .column = columns, .columns = sizeof columns / sizeof *columns, .keys = 4, .indent = 2};
    for (int64_t k = 0; k < r->n; k++) add_labels(&t, &r->item[k], r);
    if (t.cells > 0) {
        hpc_buf_text(out, "\n"
                          "commits compared with the previous measured commit\n");
        return hpc_table_print(out, &t, width);
    }
    hpc_text_fill(out, "no commit is slower or faster than the previous measured commit", 2, width);
    return out->failed;
}

int hpc_history_report_text(hpc_buf *out, const hpc_history_report *r, int width)
{
    int rc;
    if (r->n == 0) return hpc_buf_text(out, "nothing was measured\n");
    for (int64_t k = 0; k < r->n; k++) put_series(out, &r->item[k], r->histories_n > 1, width);
    if (r->changes_n == 0)
        TRY(hpc_buf_text(out, "\nno change points\n"));
    else
        TRY(put_changes(out, r, width));
    TRY(put_labels(out, r, width));
out:
    return rc;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_commit_json(hpc_json_out *w, const char *key, const perf_shown *s, int64_t at)
{
    hpc_json_put_text(w, key, at >= 0 ? perf_report_commit(s, at)->id : NULL);
}

static void put_subject_json(hpc_json_out *w, const perf_shown *s, int64_t at)
{
    const char *subject = s->of->subject[at];
    hpc_json_put_text(w, "subject", subject[0] ? subject : NULL);
}

static void put_change_json(hpc_json_out *w, const perf_change *c)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_int(w, "series", c->of->number);
    put_commit_json(w, "commit", c->of, c->step->at);
    put_subject_json(w, c->of, c->step->at);
    hpc_json_put_real(w, "change", c->step->change);
    hpc_json_put_real(w, "low", c->step->low);
    hpc_json_put_real(w, "high", c->step->high);
    hpc_json_put_real(w, "p", c->step->p);
    put_commit_json(w, "first", c->of, c->first);
    put_commit_json(w, "last", c->of, c->last);
    hpc_json_put_int(w, "suspects", c->suspects);
    hpc_json_close(w, '}');
}

static void put_point_json(hpc_json_out *w, const perf_shown *s, int64_t k)
{
    const perf_point *p = &s->curve->point[k];
    hpc_json_open(w, NULL, '{');
    put_commit_json(w, "commit", s, k);
    hpc_json_put_int(w, "runs", p->samples.n);
    hpc_json_put_real(w, "median", p->median);
    hpc_json_put_real(w, "low", p->low);
    hpc_json_put_real(w, "high", p->high);
    if (p->base >= 0 && (p->same || p->samples.n > 0)) {
        put_commit_json(w, "base", s, p->base);
        hpc_json_put_text(w, "label", hpc_history_label_name(p->effect.label));
        hpc_json_put_real(w, "change", p->effect.change);
        hpc_json_put_real(w, "change_low", p->effect.low);
        hpc_json_put_real(w, "change_high", p->effect.high);
        hpc_json_put_real(w, "q", p->effect.q);
        hpc_json_put_bool(w, "same_bytes", p->same);
        put_subject_json(w, s, k);
    }
    hpc_json_close(w, '}');
}

static int put_failure_json(hpc_json_out *w, hpc_arena *a, const perf_shown *s, int64_t k)
{
    const perf_failure *f = s->curve->point[k].failure;
    const char *text[] = {f->stage, f->outcome, f->words};
    static const char *const key[] = {"stage", "outcome", "log"};
    hpc_json_open(w, NULL, '{');
    put_commit_json(w, "commit", s, k);
    for (int i = 0; i < 3; i++) {
        const char *line = hpc_arena_line(a, text[i], PERF_WORDS);
        if (!line) return HPC_E_NOMEM;
        hpc_json_put_text(w, key[i], line);
    }
    hpc_json_close(w, '}');
    return HPC_OK;
}

static int put_series_json(hpc_json_out *w, hpc_arena *a, const perf_shown *s)
{
    const perf_curve *c = s->curve;
    int64_t label[HPC_HISTORY_UNDECIDED + 1];
    int rc = HPC_OK;
    perf_report_labels(label, s);
    hpc_json_open(w, NULL, '{');
    hpc_json_put_int(w, "series", s->number);
    hpc_json_put_text(w, "db", s->of->name);
    hpc_json_put_text(w, "command", s->command);
    hpc_json_put_text(w, "metric", s->metric);
    hpc_json_put_text(w, "machine", s->machine);
    hpc_json_put_text(w, "build", s->build);
    hpc_json_put_int(w, "commits", s->of->curves.line.n);
    hpc_json_put_int(w, "measured", c->measured_n);
    hpc_json_put_int(w, "same_bytes", c->same_n);
    hpc_json_put_int(w, "failed", c->failed_n);
    hpc_json_put_real(w, "threshold", c->threshold);
    hpc_json_put_real(w, "noise", c->noise.freedom > 0 ? c->noise.sd : (double)NAN);
    hpc_json_put_real(w, "noise_of_commits", c->steps.noise > 0 ? c->steps.noise : (double)NAN);
    hpc_json_put_int(w, "change_points", c->steps.n);
    for (int k = 0; k <= HPC_HISTORY_UNDECIDED; k++)
        hpc_json_put_int(w, hpc_history_label_name(k), label[k]);
    hpc_json_open(w, "points", '[');
    for (int64_t k = 0; k < s->of->curves.line.n; k++) put_point_json(w, s, k);
    hpc_json_close(w, ']');
    hpc_json_open(w, "failures", '[');
    for (int64_t k = 0; k < s->of->curves.line.n; k++)
        if (c->point[k].failure) TRY(put_failure_json(w, a, s, k));
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
out:
    return rc;
}

int hpc_history_report_json(hpc_buf *out, const hpc_history_report *r)
{
    hpc_json_out w = {.buf = out, .indent = 1};
    int rc = HPC_OK;
    hpc_json_open(&w, NULL, '{');
    hpc_json_open(&w, "change_points", '[');
    for (int64_t k = 0; k < r->changes_n; k++) put_change_json(&w, &r->change[k]);
    hpc_json_close(&w, ']');
    hpc_json_open(&w, "series", '[');
    for (int64_t k = 0; k < r->n; k++) TRY(put_series_json(&w, r->arena, &r->item[k]));
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
out:
    return rc;
}
