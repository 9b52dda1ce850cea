/*
 * Complete prediction as JSON.
 */
#include <math.h>
#include <string.h>

#include "cmd/predict.h"

static void put_id(hpc_json_out *w, const char *key, const hpc_git_id *id)
{
    const hpc_git_id none = {0};
    char hex[41];
    hpc_git_id_text(hex, id);
    hpc_json_put_text(w, key, memcmp(id, &none, sizeof none) == 0 ? NULL : hex);
}

static void put_reason(hpc_json_out *w, const hpc_perf_reason_text *y)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "text", y->text);
    hpc_json_put_text(w, "file", y->file[0] ? y->file : NULL);
    hpc_json_put_text(w, "function", y->function[0] ? y->function : NULL);
    if (y->line > 0) hpc_json_put_int(w, "line", y->line);
    hpc_json_put_bool(w, "gone", y->gone);
    hpc_json_put_real(w, "score", y->score);
    hpc_json_close(w, '}');
}

static void put_said(hpc_json_out *w, const hpc_perf_result *s)
{
    hpc_json_put_text(w, "verdict", hpc_perf_verdict_name(s->verdict));
    hpc_json_open(w, "probability", '{');
    for (int k = 0; k < 3; k++)
        hpc_json_put_real(w, hpc_perf_verdict_name((hpc_perf_verdict)k), s->p[k]);
    hpc_json_close(w, '}');
    if (s->because) hpc_json_put_text(w, "because", s->because);
    if (s->outside) hpc_json_put_bool(w, "outside", true);
    hpc_json_put_text(w, "level", hpc_perf_level_name(s->level));
    if (s->acknowledged) {
        hpc_json_open(w, "acknowledged", '{');
        hpc_json_put_text(w, "reason", s->acknowledged);
        hpc_json_put_text(w, "by", s->by_file ? "file" : "commit");
        hpc_json_close(w, '}');
    }
    if (s->why_n == 0) return;
    hpc_json_open(w, "reasons", '[');
    for (int k = 0; k < s->why_n; k++) put_reason(w, &s->why[k]);
    hpc_json_close(w, ']');
}

static void put_functions(hpc_json_out *w, const hpc_perf_change_prediction *t)
{
    hpc_json_open(w, "functions", '[');
    for (int64_t k = 0; k < t->n; k++) {
        const hpc_perf_function_prediction *f = &t->function[k];
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "file", f->file);
        hpc_json_put_text(w, "name", f->name);
        hpc_json_put_int(w, "line", f->line);
        hpc_json_put_bool(w, "gone", f->gone);
        put_said(w, &f->result);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static void put_commit(hpc_json_out *w, const hpc_perf_change_prediction *c)
{
    hpc_json_open(w, NULL, '{');
    put_id(w, "commit", &c->head);
    put_id(w, "base", &c->base);
    hpc_json_put_text(w, "subject", c->subject);
    hpc_json_put_int(w, "time", c->time);
    hpc_json_put_bool(w, "merge", c->parents > 1);
    put_said(w, &c->result);
    put_functions(w, c);
    hpc_json_close(w, '}');
}

static void put_model(hpc_json_out *w, const predict_report *r)
{
    const hpc_perf_model_facts *f = &r->facts;
    hpc_buf promise = {0};
    predict_put_promise(&promise, f);
    hpc_json_open(w, "model", '{');
    hpc_json_put_text(w, "metric", f->metric);
    for (int k = 0; k < 3; k++)
        hpc_json_put_int(w, hpc_perf_verdict_name((hpc_perf_verdict)k), f->examples[k]);
    hpc_json_put_real(w, "alarm", f->alarm);
    hpc_json_put_real(w, "miss", f->miss);
    hpc_json_put_text(w, "promise", promise.failed < 0 ? NULL : promise.data);
    hpc_json_close(w, '}');
    hpc_buf_release(&promise);
}

void predict_put_json(hpc_json_out *w, const predict_report *r)
{
    const hpc_perf_prediction *p = r->p;
    hpc_json_open(w, NULL, '{');
    put_id(w, "base", &p->range.base);
    put_id(w, "head", &p->range.head);
    put_said(w, &p->range.result);
    put_functions(w, &p->range);
    hpc_json_open(w, "commits", '[');
    for (int64_t k = 0; k < p->n; k++) put_commit(w, &p->commit[k]);
    hpc_json_close(w, ']');
    hpc_json_put_text(w, "result", hpc_perf_level_name(p->level));
    hpc_json_put_real(w, "warn_on", r->warn);
    hpc_json_put_real(w, "fail_on", r->fail > 1 ? NAN : r->fail);
    if (r->measured) predict_put_measured_json(w, r->measured, p);
    put_model(w, r);
    hpc_json_open(w, "remarks", '[');
    for (int64_t k = 0; k < p->remarks_n; k++) hpc_json_put_text(w, NULL, p->remark[k]);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}
