/*
 * Prediction as text: the verdict in one sentence, at most five reasons, and with --verbose all
 * probabilities, commits and functions.
 */
#include <string.h>

#include "cmd/predict.h"
#include "cmd/terminal.h"

enum { FUNCTIONS = 20 };

static void put_whys(hpc_buf *out, const hpc_perf_result *s, const char *indent)
{
    for (int k = 0; k < s->why_n; k++) {
        hpc_buf_text(out, indent);
        predict_put_why(out, &s->why[k]);
        hpc_buf_text(out, "\n");
    }
}

static void put_mark(hpc_buf *out, const hpc_perf_result *s)
{
    if (s->level == HPC_PERF_FAIL) terminal_put(out, STYLE_BAD, "  FAIL");
    if (s->level == HPC_PERF_WARN) terminal_put(out, STYLE_DOUBT, "  WARNING");
    if (s->acknowledged) hpc_buf_printf(out, "  acknowledged: %s", s->acknowledged);
}

/* ---- the summary ---------------------------------------------------------------------------- */

enum { REASONS = 5 };

static void put_verdict(hpc_buf *out, const predict_report *r)
{
    static const char *const advice[] = {"; measure before you merge", "; no need to measure",
                                         "; measure to confirm it",
                                         "; measure if this code is hot"};
    static const terminal_style style_of[] = {[HPC_PERF_SLOWER] = STYLE_BAD,
                                              [HPC_PERF_SAME] = STYLE_NONE,
                                              [HPC_PERF_FASTER] = STYLE_GOOD,
                                              [HPC_PERF_UNKNOWN] = STYLE_DOUBT};
    const hpc_perf_result *s = &r->p->range.result;
    hpc_buf_printf(out, "%s: ", r->range);
    hpc_buf_text(out, terminal_begin(stdout, style_of[s->verdict]));
    predict_put_verdict(out, s);
    hpc_buf_text(out, terminal_end(stdout, style_of[s->verdict]));
    hpc_buf_text(out, advice[s->verdict]);
    put_mark(out, s);
    hpc_buf_text(out, "\n");
}

typedef struct listed {
    const hpc_perf_reason_text *why[REASONS];
    int n;
} listed;

/* One reason for each line. The model may have learned that added arithmetic makes code faster; a
 * reader learns nothing from that. */
static void list_reason(listed *l, const hpc_perf_reason_text *w, bool has_line)
{
    if (w->contrary || (w->line > 0) != has_line || l->n == REASONS) return;
    for (int k = 0; k < l->n; k++) {
        const hpc_perf_reason_text *o = l->why[k];
        bool line = has_line && o->line == w->line && o->gone == w->gone;
        bool text = strcmp(o->text, w->text) == 0 && strcmp(o->function, w->function) == 0;
        if ((line || text) && strcmp(o->file, w->file) == 0) return;
    }
    l->why[l->n++] = w;
}

static void list_reasons(listed *l, const hpc_perf_change_prediction *t, bool has_line)
{
    const hpc_perf_result *s = &t->result;
    for (int k = 0; k < s->why_n; k++) list_reason(l, &s->why[k], has_line);
    for (int64_t f = 0; f < t->n && s->verdict != HPC_PERF_SAME; f++) {
        const hpc_perf_result *own = &t->function[f].result;
        for (int k = 0; k < own->why_n && own->verdict == s->verdict; k++)
            list_reason(l, &own->why[k], has_line);
    }
}

/* Reasons with a line come first, those of the whole before those of functions with the same
 * verdict. What differs is no reason for staying the same, unless nothing that runs differs. */
static void put_reasons(hpc_buf *out, const hpc_perf_change_prediction *t)
{
    const hpc_perf_result *s = &t->result;
    listed l = {0};
    if (s->verdict == HPC_PERF_SAME && s->p[HPC_PERF_SAME] < 1) return;
    list_reasons(&l, t, true);
    list_reasons(&l, t, false);
    for (int k = 0; k < l.n; k++) {
        hpc_buf_text(out, "  ");
        predict_put_why(out, l.why[k]);
        hpc_buf_text(out, "\n");
    }
}

static void put_aside(hpc_buf *out, int64_t n)
{
    if (n == 0) return;
    hpc_buf_printf(out,
                   "  %lld file%s of tests, documents or examples, or not built, %s not counted "
                   "(--program PATH counts them)\n",
                   (long long)n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void put_range(hpc_buf *out, const predict_report *r)
{
    const hpc_perf_result *s = &r->p->range.result;
    char p[3][16];
    for (int k = 0; k < 3; k++) predict_percent(p[k], s->p[k]);
    hpc_buf_printf(out, "\nslower %s, same %s, faster %s\n", p[0], p[1], p[2]);
    put_whys(out, s, "  ");
}

static bool is_quiet(const hpc_perf_result *s)
{
    return s->verdict == HPC_PERF_SAME && s->level == HPC_PERF_NONE && !s->acknowledged;
}

static void put_commits(hpc_buf *out, const predict_report *r)
{
    const hpc_perf_prediction *p = r->p;
    int64_t quiet = 0;
    char id[13], percent[16];
    for (int64_t k = 0; k < p->n; k++) quiet += is_quiet(&p->commit[k].result);
    hpc_buf_printf(out, "\n%lld commit%s, of which %lld the same\n", (long long)p->n,
                   p->n == 1 ? "" : "s", (long long)quiet);
    for (int64_t k = 0; k < p->n; k++) {
        const hpc_perf_change_prediction *c = &p->commit[k];
        if (is_quiet(&c->result)) continue;
        predict_id(id, &c->head);
        predict_percent(percent, c->result.p[HPC_PERF_SLOWER]);
        hpc_buf_printf(out, "  %s  %-7s  P(slower) %s  %s", id,
                       hpc_perf_verdict_name(c->result.verdict), percent, c->subject);
        put_mark(out, &c->result);
        hpc_buf_text(out, "\n");
        if (r->verbose && c->result.because) hpc_buf_printf(out, "      %s\n", c->result.because);
        if (r->verbose) put_whys(out, &c->result, "      ");
    }
}

static bool is_shown(const hpc_perf_function_prediction *f)
{
    const hpc_perf_result *s = &f->result;
    return s->verdict == HPC_PERF_SLOWER || s->verdict == HPC_PERF_FASTER || s->level ||
           s->acknowledged;
}

static void put_functions(hpc_buf *out, const hpc_perf_change_prediction *t)
{
    int64_t shown = 0;
    char percent[16];
    hpc_buf_printf(out, "\n%lld function%s differ%s from base to head\n", (long long)t->n,
                   t->n == 1 ? "" : "s", t->n == 1 ? "s" : "");
    for (int64_t k = 0; k < t->n; k++) {
        const hpc_perf_function_prediction *f = &t->function[k];
        if (!is_shown(f) || shown++ >= FUNCTIONS) continue;
        predict_percent(percent, f->result.p[HPC_PERF_SLOWER]);
        hpc_buf_printf(out, "  %s:%u %s%s  %s P(slower) %s", f->file, f->line,
                       f->name[0] ? f->name : "(outside functions)", f->gone ? " (gone)" : "",
                       hpc_perf_verdict_name(f->result.verdict), percent);
        put_mark(out, &f->result);
        hpc_buf_text(out, "\n");
        put_whys(out, &f->result, "      ");
    }
    if (shown > FUNCTIONS)
        hpc_buf_printf(out, "  and %lld more: --format json lists all\n",
                       (long long)(shown - FUNCTIONS));
}

int predict_put_text(hpc_buf *out, const predict_report *r)
{
    const hpc_perf_prediction *p = r->p;
    put_verdict(out, r);
    put_reasons(out, &p->range);
    put_aside(out, p->range.aside_n);
    if (p->n == 1 && p->commit[0].result.acknowledged)
        hpc_buf_printf(out, "  acknowledged: %s\n", p->commit[0].result.acknowledged);
    if (r->verbose) put_range(out, r);
    if (p->n != 1 && !r->files) put_commits(out, r);
    if (r->verbose) put_functions(out, &p->range);
    if (r->measured) predict_put_measured(out, r->measured, p);
    if (!r->verbose) return out->failed;
    hpc_buf_text(out, "\n");
    predict_put_promise(out, &r->facts);
    hpc_buf_text(out, "\n");
    return out->failed;
}
