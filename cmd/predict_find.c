/*
 * Findings of a prediction, and phrases that all output formats share.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/predict.h"

void predict_id(char out[13], const hpc_git_id *id)
{
    char hex[41];
    hpc_git_id_text(hex, id);
    memcpy(out, hex, 12);
    out[12] = '\0';
}

/* ---- findings -------------------------------------------------------------------------------- */

/* Copies the position of the first reason that has one. */
static void place_of(predict_finding *f)
{
    f->file = f->function = "";
    for (int k = 0; k < f->result->why_n; k++) {
        const hpc_perf_reason_text *w = &f->result->why[k];
        if (!w->file[0]) continue;
        f->file = w->file;
        f->function = w->function;
        f->line = w->gone ? 0 : w->line;
        return;
    }
}

static int add(predict_report *r, predict_finding f)
{
    int rc = HPC_OK;
    if (f.result->level == HPC_PERF_NONE) return rc;
    TRY(hpc_grow(&r->finding, &r->findings_cap, r->findings_n + 1, sizeof *r->finding));
    if (f.kind != PREDICT_FUNCTION) place_of(&f);
    r->finding[r->findings_n++] = f;
out:
    return rc;
}

static int first_worst(const void *a, const void *b)
{
    const predict_finding *x = a, *y = b;
    bool known_x = x->result->acknowledged, known_y = y->result->acknowledged;
    double p = x->result->p[HPC_PERF_SLOWER], q = y->result->p[HPC_PERF_SLOWER];
    if (known_x != known_y) return known_x ? 1 : -1;
    if (x->result->level != y->result->level) return x->result->level > y->result->level ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (p != q) return p > q ? -1 : 1;
    if (x->kind == PREDICT_COMMIT)
        return x->prediction < y->prediction ? -1 : x->prediction > y->prediction;
    int order = strcmp(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* A range of one commit is that commit. */
int predict_find(predict_report *r)
{
    const hpc_perf_prediction *p = r->p;
    int rc = HPC_OK;
    if (p->n != 1)
        TRY(add(r, (predict_finding){PREDICT_RANGE, &p->range, &p->range.result, "", "", 0}));
    for (int64_t k = 0; k < p->n; k++)
        TRY(add(r,
                (predict_finding){PREDICT_COMMIT, &p->commit[k], &p->commit[k].result, "", "", 0}));
    for (int64_t k = 0; k < p->range.n; k++) {
        const hpc_perf_function_prediction *f = &p->range.function[k];
        TRY(add(r, (predict_finding){PREDICT_FUNCTION, &p->range, &f->result, f->file, f->name,
                                     f->gone ? 0 : f->line}));
    }
    if (r->findings_n > 1)
        qsort(r->finding, (size_t)r->findings_n, sizeof *r->finding, first_worst);
out:
    return rc;
}

/* ---- words ----------------------------------------------------------------------------------- */

const char *predict_percent(char out[16], double p)
{
    if (isnan(p))
        snprintf(out, 16, "?");
    else if (p < 0.005 || p > 0.995)
        snprintf(out, 16, p < 0.005 ? "<1 %%" : ">99 %%");
    else
        snprintf(out, 16, "%.0f %%", 100 * p);
    return out;
}

int predict_put_verdict(hpc_buf *out, const hpc_perf_result *s)
{
    char text[16];
    const char *name = hpc_perf_verdict_name(s->verdict);
    if (s->verdict == HPC_PERF_UNKNOWN) return hpc_buf_printf(out, "%s (%s)", name, s->because);
    return hpc_buf_printf(out, "%s (%s)", name, predict_percent(text, s->p[s->verdict]));
}

int predict_put_why(hpc_buf *out, const hpc_perf_reason_text *w)
{
    if (w->function[0]) hpc_buf_printf(out, "%s: ", w->function);
    hpc_buf_text(out, w->text);
    if (!w->file[0]) return out->failed;
    if (w->line == 0) return hpc_buf_printf(out, " (%s)", w->file);
    return hpc_buf_printf(out, " (%s:%u%s)", w->file, w->line, w->gone ? " before the change" : "");
}

int predict_put_finding(hpc_buf *out, const predict_finding *f)
{
    const hpc_perf_result *s = f->result;
    char text[16], id[13];
    predict_percent(text, s->p[HPC_PERF_SLOWER]);
    predict_id(id, &f->prediction->head);
    if (f->kind == PREDICT_RANGE) hpc_buf_text(out, "The range as a whole");
    if (f->kind == PREDICT_COMMIT) hpc_buf_printf(out, "Commit %s", id);
    if (f->kind == PREDICT_FUNCTION)
        hpc_buf_printf(out, f->function[0] ? "'%s'" : "Code outside functions", f->function);
    hpc_buf_printf(out,
                   s->verdict == HPC_PERF_SLOWER ? " is probably slower (%s)"
                                                 : " may be slower (%s; not sure)",
                   text);
    for (int k = 0; k < s->why_n; k++) {
        hpc_buf_text(out, k ? "; " : ": ");
        predict_put_why(out, &s->why[k]);
    }
    if (s->acknowledged) hpc_buf_printf(out, ". Acknowledged: %s", s->acknowledged);
    return out->failed;
}

int predict_put_promise(hpc_buf *out, const hpc_perf_model_facts *f)
{
    bool named = f->metric && f->metric[0];
    int64_t n = f->examples[0] + f->examples[1] + f->examples[2];
    return hpc_buf_printf(
        out,
        "At most about %.3g %% of the changes that are not slower are called slower, and at most "
        "about %.3g %% of the slower ones are called the same (twice these rates are proven). This "
        "holds for changes like the %lld in the training data%s%s. Other verdicts are unknown.",
        100 * f->alarm, 100 * f->miss, (long long)n, named ? ", by the metric " : "",
        named ? f->metric : "");
}
