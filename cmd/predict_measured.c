/*
 * Results of `perf predict --measure` as text and JSON: changes with their commits, and time saved.
 */
#include <math.h>

#include "cmd/predict.h"

static void put_culprit(hpc_buf *out, const hpc_perf_measured *m, const hpc_perf_culprit *c,
                        const hpc_perf_prediction *p)
{
    char id[13], before[13];
    const hpc_perf_change_prediction *t = hpc_perf_measured_commit(m, p, c->to);
    predict_id(id, &m->point[c->to]);
    predict_id(before, &m->point[c->from]);
    hpc_buf_printf(out, "  %s by %.1f %% (%s): ", hpc_history_label_name(c->label),
                   100 * fabs(c->change), c->metric);
    if (c->to == c->from + 1)
        hpc_buf_printf(out, "%s  %s\n", id, t->subject);
    else
        hpc_buf_printf(out, "one or more of %lld commits: %s..%s\n", (long long)(c->to - c->from),
                       before, id);
    hpc_buf_printf(out, "      predicted: %s%s\n", hpc_perf_verdict_name(t->result.verdict),
                   c->bisected ? "; found by bisecting" : "");
    if (c->to == c->from + 1 && t->result.acknowledged)
        hpc_buf_printf(out, "      acknowledged: %s\n", t->result.acknowledged);
}

static void put_saved(hpc_buf *out, const hpc_perf_measured *m)
{
    double saved = hpc_perf_seconds_saved(m);
    hpc_buf_printf(out, "%lld of %lld commits measured", (long long)m->measured,
                   (long long)m->points_n);
    if (m->failed > 0) hpc_buf_printf(out, ", %lld do not build or run", (long long)m->failed);
    hpc_buf_printf(out, ", %lld not run", (long long)m->left);
    if (!isnan(saved))
        hpc_buf_printf(out,
                       ": about %.1f minutes saved, at %.1f s for each of the %lld measured now",
                       saved / 60, m->seconds / (double)m->now, (long long)m->now);
    hpc_buf_text(out, "\n");
}

int predict_put_measured(hpc_buf *out, const hpc_perf_measured *m, const hpc_perf_prediction *p)
{
    hpc_buf_text(out, "\n");
    put_saved(out, m);
    for (int64_t k = 0; k < m->n; k++) put_culprit(out, m, &m->item[k], p);
    if (m->n == 0) hpc_buf_text(out, "  no change between the measured commits\n");
    if (m->undecided > 0)
        hpc_buf_printf(out, "  the samples of %lld pairs do not decide\n", (long long)m->undecided);
    return hpc_buf_text(out, "  Stretches predicted to be the same are measured only at both ends: "
                             "changes inside that compensate each other are missed.\n");
}

static void put_id(hpc_json_out *w, const char *key, const hpc_git_id *id)
{
    char hex[41];
    hpc_git_id_text(hex, id);
    hpc_json_put_text(w, key, hex);
}

void predict_put_measured_json(hpc_json_out *w, const hpc_perf_measured *m,
                               const hpc_perf_prediction *p)
{
    hpc_json_open(w, "measured", '{');
    hpc_json_put_int(w, "commits", m->points_n);
    hpc_json_put_int(w, "measured", m->measured);
    hpc_json_put_int(w, "failed", m->failed);
    hpc_json_put_int(w, "left", m->left);
    hpc_json_put_int(w, "undecided", m->undecided);
    hpc_json_put_int(w, "measured_now", m->now);
    hpc_json_put_real(w, "seconds", m->seconds);
    hpc_json_put_real(w, "seconds_saved", hpc_perf_seconds_saved(m));
    hpc_json_put_bool(w, "complete", !m->stopped);
    hpc_json_open(w, "changes", '[');
    for (int64_t k = 0; k < m->n; k++) {
        const hpc_perf_culprit *c = &m->item[k];
        const hpc_perf_change_prediction *t = hpc_perf_measured_commit(m, p, c->to);
        hpc_json_open(w, NULL, '{');
        put_id(w, "commit", &m->point[c->to]);
        put_id(w, "base", &m->point[c->from]);
        hpc_json_put_int(w, "commits", c->to - c->from);
        hpc_json_put_text(w, "subject", t->subject);
        hpc_json_put_text(w, "verdict", hpc_history_label_name(c->label));
        hpc_json_put_real(w, "change", c->change);
        hpc_json_put_text(w, "metric", c->metric);
        hpc_json_put_text(w, "predicted", hpc_perf_verdict_name(t->result.verdict));
        hpc_json_put_bool(w, "bisected", c->bisected);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}
