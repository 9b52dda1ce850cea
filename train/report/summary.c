/*
 * The summary of a training report, for the terminal and for the page: sentences
 * on all runs, their results, and the settings in which they differ.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/report/report.h"

enum { SENTENCES = 8, NAMED = 8 /* settings in a sentence */ };

typedef struct builder {
    hpc_arena *arena;
    const hpc_report_run *run;
    int64_t n;
    hpc_report_summary *out;
    hpc_texts differences;
    bool skips; /* some run skipped a step */
} builder;

/* ---- words ----------------------------------------------------------------------------------- */

const char *report_duration(char out[REPORT_TEXT], double seconds)
{
    double size = seconds >= 7200 ? 3600 : seconds >= 120 ? 60 : 1;
    snprintf(out, REPORT_TEXT, "%.3g %s", seconds / size,
             size == 3600 ? "h"
             : size == 60 ? "min"
                          : "s");
    if (seconds / size >= 1000)
        snprintf(out, REPORT_TEXT, "%.0f %s", seconds / size, size == 3600 ? "h" : "min");
    return out;
}

static int64_t planned(const hpc_report_run *r)
{
    const hpc_json *v = hpc_json_get(r->config, "steps");
    int64_t steps = 0;
    if (hpc_json_kind_of(v) != HPC_JSON_INT || hpc_json_int(&steps, v, "steps") < 0) return 0;
    return steps;
}

static bool has_finished(const hpc_report_run *r)
{
    int64_t steps = planned(r);
    return !report_has_diverged(r) && steps > 0 &&
           hpc_report_last(r, HPC_METRIC_STEP) >= (double)steps;
}

/* "finished", "diverged at step 2", "step 800 of 2000"; "-": the planned number of steps is
 * unknown. */
static const char *state_of(hpc_arena *a, const hpc_report_run *r)
{
    double step = hpc_report_last(r, HPC_METRIC_STEP);
    if (report_has_diverged(r))
        return hpc_arena_text(a, "diverged at step %.0f",
                              r->t.column[HPC_METRIC_STEP][report_diverged_row(r)]);
    if (has_finished(r)) return "finished";
    return planned(r) > 0 ? hpc_arena_text(a, "step %.0f of %lld", step, (long long)planned(r))
                          : "-";
}

static double best_step(const hpc_report_run *r)
{
    return isnan(r->best) ? (double)NAN : r->t.column[HPC_METRIC_STEP][r->best_row];
}

/* ---- sentences ------------------------------------------------------------------------------- */

static int add_sentence(builder *b, hpc_buf *text)
{
    const char *line = text->failed ? NULL : hpc_arena_text(b->arena, "%s", text->data);
    hpc_assert(b->out->sentence.n < SENTENCES);
    b->out->sentence.item[b->out->sentence.n++] = line;
    text->n = 0;
    return line ? HPC_OK : HPC_E_NOMEM;
}

static void put_part(hpc_buf *out, int *parts, int64_t n, const char *what)
{
    if (n > 0) hpc_buf_printf(out, "%s%lld %s", (*parts)++ ? ", " : "", (long long)n, what);
}

/* "11 runs: 9 finished, 1 diverged, 1 unfinished." */
static int say_states(builder *b, hpc_buf *text)
{
    int64_t finished = 0, diverged = 0, unfinished = 0;
    int parts = 0;
    for (int64_t k = 0; k < b->n; k++) {
        finished += has_finished(&b->run[k]);
        diverged += report_has_diverged(&b->run[k]);
        unfinished += !report_has_diverged(&b->run[k]) && !has_finished(&b->run[k]) &&
                      planned(&b->run[k]) > 0;
    }
    hpc_buf_printf(text, "%lld runs", (long long)b->n);
    if (finished + diverged + unfinished > 0) hpc_buf_text(text, ": ");
    put_part(text, &parts, finished, "finished");
    put_part(text, &parts, diverged, "diverged");
    put_part(text, &parts, unfinished, "unfinished");
    if (parts > 0)
        put_part(text, &parts, b->n - finished - diverged - unfinished,
                 "with an unknown number of steps");
    hpc_buf_text(text, ".");
    return add_sentence(b, text);
}

typedef double (*value_of)(const hpc_report_run *r);

static double loss_of(const hpc_report_run *r)
{
    return report_has_diverged(r) ? (double)NAN : r->loss;
}

static double validation_of(const hpc_report_run *r)
{
    return r->best;
}

/* Skipped steps are faster, so a diverged run is no measure. */
static double speed_of(const hpc_report_run *r)
{
    return report_has_diverged(r) ? (double)NAN : r->tokens_per_s;
}

/* The run with the least value, or the largest; -1: none has one. */
static int64_t best_of(const builder *b, value_of value, bool largest)
{
    int64_t at = -1;
    for (int64_t k = 0; k < b->n; k++) {
        double v = value(&b->run[k]), best = at < 0 ? (double)NAN : value(&b->run[at]);
        if (isfinite(v) && (at < 0 || (largest ? v > best : v < best))) at = k;
    }
    return at;
}

static int say_best(builder *b, hpc_buf *text)
{
    int64_t k = best_of(b, validation_of, false);
    int rc = HPC_OK;
    if (k >= 0) {
        hpc_buf_printf(text, "Lowest validation loss: %.4f (%s, step %.0f).", b->run[k].best,
                       b->run[k].label, best_step(&b->run[k]));
        TRY(add_sentence(b, text));
    }
    k = best_of(b, loss_of, false);
    if (k >= 0) {
        hpc_buf_printf(text, "Lowest training loss at the end: %.4f (%s).", b->run[k].loss,
                       b->run[k].label);
        TRY(add_sentence(b, text));
    }
    k = best_of(b, speed_of, true);
    if (k >= 0) {
        hpc_buf_printf(text, "Highest throughput: %.0f tokens/s (%s).", b->run[k].tokens_per_s,
                       b->run[k].label);
        TRY(add_sentence(b, text));
    }
out:
    return rc;
}

static int say_one(builder *b, hpc_buf *text)
{
    const hpc_report_run *r = &b->run[0];
    char time[REPORT_TEXT];
    const char *state = state_of(b->arena, r);
    double step = hpc_report_last(r, HPC_METRIC_STEP);
    int rc = HPC_OK;
    if (!state) return HPC_E_NOMEM;
    hpc_buf_printf(text, "%s: %s%s%.0f step%s, %.0f tokens, %s.", r->label,
                   strcmp(state, "-") == 0 ? "" : state, strcmp(state, "-") == 0 ? "" : "; ", step,
                   step == 1 ? "" : "s", hpc_report_last(r, HPC_METRIC_TOKENS),
                   report_duration(time, r->seconds[r->t.n - 1]));
    TRY(add_sentence(b, text));
    if (isnan(r->loss))
        hpc_buf_text(text, "No loss at the end");
    else
        hpc_buf_printf(text, "Training loss at the end: %.4f", r->loss);
    if (!isnan(r->best))
        hpc_buf_printf(text, "; lowest validation loss: %.4f at step %.0f", r->best, best_step(r));
    else
        hpc_buf_text(text, "; no validation");
    hpc_buf_text(text, ".");
    TRY(add_sentence(b, text));
    if (isnan(r->tokens_per_s)) goto out;
    hpc_buf_printf(text, "Throughput: %.0f tokens/s.", r->tokens_per_s);
    TRY(add_sentence(b, text));
out:
    return rc;
}

static int say_settings(builder *b, hpc_buf *text)
{
    const char *common;
    int64_t unknown = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < b->n; k++) unknown += !b->run[k].config;
    for (int64_t k = 0; k < b->differences.n && k < NAMED; k++)
        hpc_buf_printf(text, "%s%s", k ? ", " : "The configurations differ in ",
                       b->differences.item[k]);
    if (b->differences.n > NAMED)
        hpc_buf_printf(text, " and %lld more settings", (long long)b->differences.n - NAMED);
    if (b->differences.n == 0 && b->n > 1 && unknown < b->n - 1)
        hpc_buf_text(text, "The configurations are equal");
    if (text->n > 0) {
        hpc_buf_text(text, ".");
        TRY(add_sentence(b, text));
    }
    TRY(report_common(&common, b->run, b->n, b->arena, &b->differences));
    if (common[0]) {
        hpc_buf_printf(text, "%s: %s.", b->n > 1 ? "Common settings" : "Settings", common);
        TRY(add_sentence(b, text));
    }
    if (unknown == 0) goto out;
    if (b->n == 1)
        hpc_buf_text(text, "The settings are unknown: the run has no readable config.json.");
    else if (unknown == b->n)
        hpc_buf_text(text, "The settings are unknown: no run has a readable config.json.");
    else
        hpc_buf_printf(text, "The settings of %lld run%s are unknown (no readable config.json).",
                       (long long)unknown, unknown == 1 ? "" : "s");
    TRY(add_sentence(b, text));
out:
    return rc;
}

static int say_all(builder *b)
{
    hpc_buf text = {0};
    int rc = HPC_OK;
    hpc_buf_text(&text, "");
    b->out->sentence.item = hpc_arena_alloc(b->arena, SENTENCES, sizeof *b->out->sentence.item);
    TRY(b->out->sentence.item ? HPC_OK : HPC_E_NOMEM);
    if (b->n == 1) {
        TRY(say_one(b, &text));
    } else {
        TRY(say_states(b, &text));
        TRY(say_best(b, &text));
    }
    TRY(say_settings(b, &text));
out:
    hpc_buf_release(&text);
    return rc;
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { RUN, STATE, LOSS, VALIDATION, AT, STEPS, TOKENS, TIME, SPEED, SKIPPED, RESULTS };

static const char *number(hpc_arena *a, const char *format, double v)
{
    char text[400];
    snprintf(text, sizeof text, format, v);
    return isnan(v) ? "-" : hpc_arena_text(a, "%.46s", text);
}

static int add_result(builder *b, int64_t row)
{
    const hpc_report_run *r = &b->run[row];
    const char **cell = &b->out->results.cell[row * RESULTS];
    hpc_arena *a = b->arena;
    char time[REPORT_TEXT];
    cell[RUN] = r->label;
    cell[STATE] = state_of(a, r);
    cell[LOSS] = number(a, fabs(r->loss) < 1e5 ? "%.4f" : "%.4g", r->loss);
    cell[VALIDATION] = number(a, fabs(r->best) < 1e5 ? "%.4f" : "%.4g", r->best);
    cell[AT] = number(a, "%.0f", best_step(r));
    cell[STEPS] = number(a, "%.0f", hpc_report_last(r, HPC_METRIC_STEP));
    cell[TOKENS] = number(a, "%.0f", hpc_report_last(r, HPC_METRIC_TOKENS));
    cell[TIME] = hpc_arena_text(a, "%s", report_duration(time, r->seconds[r->t.n - 1]));
    cell[SPEED] = number(a, "%.0f", r->tokens_per_s);
    cell[SKIPPED] = number(a, "%.0f", b->skips ? (double)r->skipped : (double)NAN);
    for (int k = 0; k < RESULTS; k++)
        if (!cell[k]) return HPC_E_NOMEM;
    return HPC_OK;
}

/* Removes columns in which no run has a value, so that the others fit a terminal. */
static void drop_empty(report_table *t)
{
    int64_t kept = 0, columns = t->columns;
    for (int64_t c = 0; c < columns; c++) {
        bool empty = c > 0;
        for (int64_t r = 0; r < t->rows; r++) empty &= strcmp(t->cell[r * columns + c], "-") == 0;
        if (empty) continue;
        t->head[kept] = t->head[c];
        t->number[kept] = t->number[c];
        for (int64_t r = 0; r < t->rows; r++) {
            t->cell[r * columns + kept] = t->cell[r * columns + c];
            t->best[r * columns + kept] = t->best[r * columns + c];
        }
        kept++;
    }
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < kept; c++) {
            t->cell[r * kept + c] = t->cell[r * columns + c];
            t->best[r * kept + c] = t->best[r * columns + c];
        }
    t->columns = kept;
}

static int add_results(builder *b)
{
    static const char *const head[RESULTS] = {[RUN] = "run",        [STATE] = "state",
                                              [LOSS] = "loss",      [VALIDATION] = "validation",
                                              [AT] = "at step",     [STEPS] = "steps",
                                              [TOKENS] = "tokens",  [TIME] = "time",
                                              [SPEED] = "tokens/s", [SKIPPED] = "skipped"};
    static const struct {
        value_of value;
        int column;
        bool largest;
    } best[] = {
        {loss_of, LOSS, false}, {validation_of, VALIDATION, false}, {speed_of, SPEED, true}};
    report_table *t = &b->out->results;
    int rc = HPC_OK;
    TRY(report_table_make(t, b->arena, b->n, RESULTS));
    for (int k = 0; k < RESULTS; k++) {
        t->head[k] = head[k];
        t->number[k] = k > STATE;
    }
    for (int64_t k = 0; k < b->n; k++) TRY(add_result(b, k));
    for (int k = 0; k < 3 && b->n > 1; k++) {
        int64_t row = best_of(b, best[k].value, best[k].largest);
        if (row >= 0) t->best[row * RESULTS + best[k].column] = true;
    }
    drop_empty(t);
out:
    return rc;
}

static int add_differences(builder *b)
{
    report_table *t = &b->out->differences;
    int rc = HPC_OK;
    TRY(report_table_make(t, b->arena, b->n, b->differences.n + 1));
    t->head[0] = "run";
    for (int64_t c = 1; c < t->columns; c++) {
        t->head[c] = hpc_arena_line(b->arena, b->differences.item[c - 1], 40);
        TRY(t->head[c] ? HPC_OK : HPC_E_NOMEM);
    }
    for (int64_t k = 0; k < b->n; k++) {
        t->cell[k * t->columns] = b->run[k].label;
        for (int64_t c = 1; c < t->columns; c++) {
            const char **cell = &t->cell[k * t->columns + c];
            TRY(report_setting(cell, &b->run[k], b->arena, b->differences.item[c - 1]));
            if (!*cell) *cell = "-";
        }
    }
out:
    return rc;
}

int hpc_report_summarise(hpc_report_summary *out, const hpc_report_run *run, int64_t n,
                         hpc_arena *a)
{
    builder b = {.arena = a, .run = run, .n = n, .out = out};
    int rc;
    *out = (hpc_report_summary){0};
    for (int64_t k = 0; k < n; k++) b.skips |= run[k].skipped > 0;
    TRY(report_differences(&b.differences, run, n, a));
    TRY(say_all(&b));
    TRY(add_results(&b));
    TRY(add_differences(&b));
    TRY(report_bubbles(&out->bubbles, run, n, a));
out:
    return rc;
}
