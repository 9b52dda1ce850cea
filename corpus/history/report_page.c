/*
 * HTML page of a report on performance histories. The page needs no script, other file or network.
 *
 * Text from commits, logs and commands passes through hpc_arena_line and hpc_plot_escape.
 */
#include <math.h>
#include <string.h>

#include "corpus/history/report.h"
#include "runtime/plot/html.h"

enum { WIDTH = 1160, HEIGHT = 420, ROWS = 500 /* of a table */ };

static const char style[] =
    ":root{--slower:#b34700;--faster:#007a56}\n"
    "@media (prefers-color-scheme:dark){:root{--slower:#ff9a5c;--faster:#4fd8ae}}\n"
    ".slower{color:var(--slower)}.faster{color:var(--faster)}\n";

static void put_id(hpc_buf *out, const perf_shown *s, int64_t at)
{
    const char *id = perf_report_commit(s, at)->id;
    hpc_buf_printf(out, "<code title=\"%s\">%.12s</code>", id, id);
}

static void put_share(hpc_buf *out, double change, double low, double high)
{
    char text[PERF_REPORT_TEXT];
    hpc_html_cell(out, change > 0 ? "n slower" : "n faster", perf_report_share(text, change));
    hpc_html_cell(out, "", perf_report_range(text, low, high));
}

static void put_commit(hpc_buf *out, const perf_shown *s, int64_t at)
{
    char date[PERF_REPORT_TEXT];
    hpc_buf_text(out, "<td>");
    put_id(out, s, at);
    hpc_buf_text(out, "</td>");
    hpc_html_cell(out, "", perf_report_date(date, perf_report_commit(s, at)->time));
}

static void put_subject(hpc_buf *out, const hpc_history_report *r, const perf_shown *s, int64_t at)
{
    if (r->repository) hpc_html_cell(out, "wrap", s->of->subject[at]);
}

/* Smaller probabilities are meaningless: the noise is unknown so far out. */
static void put_chance(hpc_buf *out, double p)
{
    hpc_buf_printf(out, p < 1e-9 ? "<td class=\"n\">&lt; 1e-9</td>" : "<td class=\"n\">%.2g</td>",
                   p);
}

static void open_table(hpc_buf *out, const char *title, const char *columns, bool subjects)
{
    hpc_buf_printf(out, "<h3>%s</h3>\n", title);
    hpc_html_columns(out, columns);
    hpc_buf_text(out, subjects ? "<th>subject</th></tr>\n" : "</tr>\n");
}

static void close_table(hpc_buf *out, int64_t rows)
{
    hpc_buf_text(out, "</table></div>\n");
    if (rows > ROWS)
        hpc_buf_printf(out, "<p class=\"dim\">and %lld more: --json has all of them</p>\n",
                       (long long)rows - ROWS);
}

/* ---- change points --------------------------------------------------------------------------- */

static void put_change(hpc_buf *out, const hpc_history_report *r, const perf_change *c, bool of_all)
{
    hpc_buf_text(out, "<tr>");
    put_share(out, c->step->change, c->step->low, c->step->high);
    if (of_all) {
        hpc_buf_printf(out, "<td><a href=\"#s%d\">", c->of->number);
        hpc_plot_escape(out, c->of->metric);
        hpc_buf_printf(out, " [%d]</a></td>", c->of->number);
    }
    put_commit(out, c->of, c->step->at);
    hpc_buf_text(out, "<td>");
    if (c->suspects == 1) {
        hpc_buf_text(out, "this one");
    } else {
        hpc_buf_printf(out, "one of %lld, from ", (long long)c->suspects);
        put_id(out, c->of, c->first);
        hpc_buf_text(out, " to ");
        put_id(out, c->of, c->last);
    }
    hpc_buf_text(out, "</td>");
    put_chance(out, c->step->p);
    put_subject(out, r, c->of, c->step->at);
    hpc_buf_text(out, "</tr>\n");
}

static void put_changes(hpc_buf *out, const hpc_history_report *r, const perf_shown *of)
{
    int64_t n = 0;
    for (int64_t k = 0; k < r->changes_n; k++) {
        if (of && r->change[k].of != of) continue;
        if (n == 0)
            open_table(out, of ? "Change points" : "Change points, largest first",
                       of ? "#change|interval (95 %)|commit|date|where it may have happened|#p"
                          : "#change|interval (95 %)|series|commit|date|"
                            "where it may have happened|#p",
                       r->repository);
        if (n++ < ROWS) put_change(out, r, &r->change[k], !of);
    }
    if (n > 0)
        close_table(out, n);
    else
        hpc_buf_text(out, "<p>No change points.</p>\n");
}

/* ---- labels and failures --------------------------------------------------------------------- */

static void put_label(hpc_buf *out, const hpc_history_report *r, const perf_shown *s, int64_t k)
{
    char text[PERF_REPORT_TEXT];
    const perf_point *p = &s->curve->point[k];
    hpc_buf_text(out, "<tr>");
    put_share(out, p->effect.change, p->effect.low, p->effect.high);
    hpc_html_cell(out, hpc_history_label_name(p->effect.label),
                  hpc_history_label_name(p->effect.label));
    put_commit(out, s, k);
    hpc_buf_text(out, "<td>");
    put_id(out, s, p->base);
    hpc_buf_text(out, "</td>");
    put_chance(out, p->effect.q);
    hpc_html_cell(out, "n", perf_report_cost(text, s, p->median));
    hpc_buf_printf(out, "<td class=\"n\">%lld</td>", (long long)p->samples.n);
    put_subject(out, r, s, k);
    hpc_buf_text(out, "</tr>\n");
}

static void put_labels(hpc_buf *out, const hpc_history_report *r, const perf_shown *s)
{
    int64_t n = 0;
    for (int64_t k = 0; k < s->of->curves.line.n; k++) {
        hpc_history_label l = s->curve->point[k].effect.label;
        if (l != HPC_HISTORY_SLOWER && l != HPC_HISTORY_FASTER) continue;
        if (n == 0)
            open_table(out, "Commits compared with the previous measured commit",
                       "#change|interval (95 %)|label|commit|date|against|#q|#median|#runs",
                       r->repository);
        if (n++ < ROWS) put_label(out, r, s, k);
    }
    if (n > 0) close_table(out, n);
}

static int put_failures(hpc_buf *out, const hpc_history_report *r, const perf_shown *s)
{
    int64_t n = 0;
    for (int64_t k = 0; k < s->of->curves.line.n; k++) {
        const perf_failure *f = s->curve->point[k].failure;
        if (!f) continue;
        if (n == 0)
            open_table(out, "Failed builds and runs", "commit|date|what|end of the log",
                       r->repository);
        if (n++ >= ROWS) continue;
        const char *stage = hpc_arena_line(r->arena, f->stage, 40);
        const char *outcome = hpc_arena_line(r->arena, f->outcome, 40);
        const char *words = hpc_arena_line(r->arena, f->words, PERF_WORDS);
        if (!stage || !outcome || !words) return HPC_E_NOMEM;
        hpc_buf_text(out, "<tr>");
        put_commit(out, s, k);
        hpc_buf_text(out, "<td>");
        hpc_plot_escape(out, stage);
        hpc_buf_text(out, " ");
        hpc_plot_escape(out, outcome);
        hpc_buf_text(out, "</td>");
        hpc_html_cell(out, "wrap", words);
        put_subject(out, r, s, k);
        hpc_buf_text(out, "</tr>\n");
    }
    if (n > 0) close_table(out, n);
    return HPC_OK;
}

/* ---- a series -------------------------------------------------------------------------------- */

static void put_facts(hpc_buf *out, const perf_shown *s)
{
    const perf_curve *c = s->curve;
    int64_t label[HPC_HISTORY_UNDECIDED + 1];
    hpc_buf_printf(out, "<p>%lld of %lld commits measured", (long long)c->measured_n,
                   (long long)s->of->curves.line.n);
    if (c->same_n) hpc_buf_printf(out, ", %lld with a byte-identical build", (long long)c->same_n);
    if (c->failed_n) hpc_buf_printf(out, ", %lld failed", (long long)c->failed_n);
    if (c->beside_n)
        hpc_buf_printf(out, "; %lld on branches, which have labels but are not drawn",
                       (long long)c->beside_n);
    perf_report_labels(label, s);
    hpc_buf_printf(
        out, ". Compared with the previous commit (changes above %.3g %%):", 100 * c->threshold);
    for (int k = 0; k <= HPC_HISTORY_UNDECIDED; k++)
        hpc_buf_printf(out, "%s %lld %s", k ? "," : "", (long long)label[k],
                       hpc_history_label_name(k));
    hpc_buf_text(out, ".</p>\n<p class=\"dim\">");
    perf_report_noise(out, c);
    hpc_buf_text(out, ".</p>\n");
}

static int put_series(hpc_buf *out, const hpc_history_report *r, const perf_shown *s)
{
    hpc_arena_mark mark = hpc_arena_here(r->arena);
    hpc_plot plot;
    int rc;
    hpc_buf_printf(out, "<h2 id=\"s%d\">[%d] ", s->number, s->number);
    hpc_plot_escape(out, s->metric);
    hpc_buf_text(out, " of <code>");
    hpc_plot_escape(out, s->command);
    hpc_buf_text(out, "</code> on ");
    hpc_plot_escape(out, s->machine);
    if (s->builds) {
        hpc_buf_text(out, ", built by <code>");
        hpc_plot_escape(out, perf_report_built(s));
        hpc_buf_text(out, "</code>");
    }
    hpc_buf_text(out, "</h2>\n");
    if (r->histories_n > 1) {
        hpc_buf_text(out, "<p class=\"dim\">");
        hpc_plot_escape(out, s->of->name);
        hpc_buf_text(out, "</p>\n");
    }
    put_facts(out, s);
    TRY(perf_report_plot(&plot, r->arena, s));
    if (plot.series_n > 0) {
        hpc_buf_text(out, "<div class=\"scroll\">\n");
        TRY(hpc_plot_inline(out, &plot, WIDTH, HEIGHT));
        hpc_buf_text(out, "</div>\n");
    } else {
        hpc_buf_text(out, "<p>Nothing was measured.</p>\n");
    }
    put_changes(out, r, s);
    put_labels(out, r, s);
    TRY(put_failures(out, r, s));
out:
    hpc_arena_rewind(r->arena, mark);
    return rc;
}

int perf_report_page(hpc_buf *out, const hpc_history_report *r)
{
    int rc = HPC_OK;
    hpc_html_open(out, "Measured cost per commit", style);
    hpc_buf_text(out, "<h1>Measured cost per commit</h1>\n"
                      "<p class=\"dim\">Every metric is a cost: +10 % is slower. Point at a plot "
                      "to see the commit. Pale strips mark the intervals of change points.</p>\n");
    if (r->n == 0)
        hpc_buf_text(out, "<p>Nothing was measured.</p>\n");
    else if (r->n > 1)
        put_changes(out, r, NULL);
    for (int64_t k = 0; k < r->n; k++) TRY(put_series(out, r, &r->item[k]));
    TRY(hpc_html_close(out));
out:
    return rc;
}
