/*
 * Findings of a prediction as a SARIF 2.1.0 log, within the size limits of its readers. Findings
 * with the lowest probabilities are left out first, and the log states how many.
 */
#include <string.h>

#include "cmd/predict.h"
#include "cmd/sarif.h"

enum { RESERVE = 256 << 10 }; /* space for one result and the end of the log */

static const sarif_rule rules[] = {
    [PREDICT_RANGE] = {"slower-range", "warning",
                       "The range as a whole probably makes the program slower."},
    [PREDICT_COMMIT] = {"slower-commit", "warning", "A commit probably makes the program slower."},
    [PREDICT_FUNCTION] = {"slower-function", "warning", "A changed function probably runs slower."},
};

/* A fingerprint that stays the same when lines move. */
static void put_fingerprint(hpc_json_out *w, const predict_finding *f)
{
    hpc_buf text = {0};
    char hex[41], hash[17];
    hpc_git_id_text(hex, &f->prediction->head);
    hpc_buf_printf(&text, "%s\n%s\n%s\n%s", rules[f->kind].id, f->kind == PREDICT_COMMIT ? hex : "",
                   f->file, f->function);
    if (text.failed < 0) w->buf->failed = text.failed;
    snprintf(hash, sizeof hash, "%016llx",
             (unsigned long long)hpc_hash(text.data ? text.data : "", text.n, 0));
    hpc_json_open(w, "partialFingerprints", '{');
    hpc_json_put_text(w, "hpccoderPerf/v1", hash);
    hpc_json_close(w, '}');
    hpc_buf_release(&text);
}

static void put_location(hpc_json_out *w, const predict_finding *f)
{
    hpc_json_open(w, "locations", '[');
    if (f->file[0]) {
        hpc_json_open(w, NULL, '{');
        hpc_json_open(w, "physicalLocation", '{');
        sarif_put_place(w, f->file);
        hpc_json_open(w, "region", '{');
        hpc_json_put_int(w, "startLine", f->line > 0 ? f->line : 1);
        hpc_json_close(w, '}');
        hpc_json_close(w, '}');
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static void put_suppression(hpc_json_out *w, const hpc_perf_result *s)
{
    if (!s->acknowledged) return;
    hpc_json_open(w, "suppressions", '[');
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "kind", s->by_file ? "external" : "inSource");
    hpc_json_put_text(w, "justification", s->acknowledged);
    hpc_json_close(w, '}');
    hpc_json_close(w, ']');
}

static void put_result(hpc_json_out *w, const predict_finding *f)
{
    hpc_buf text = {0};
    if (predict_put_finding(&text, f) < 0) w->buf->failed = text.failed;
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "ruleId", rules[f->kind].id);
    hpc_json_put_int(w, "ruleIndex", f->kind);
    hpc_json_put_text(w, "level", f->result->level == HPC_PERF_FAIL ? "error" : "warning");
    hpc_json_put_real(w, "rank", 100 * f->result->p[HPC_PERF_SLOWER]);
    sarif_put_message(w, "message", text.data ? text.data : "");
    put_location(w, f);
    put_fingerprint(w, f);
    put_suppression(w, f->result);
    hpc_json_close(w, '}');
    hpc_buf_release(&text);
}

static void put_note(hpc_json_out *w, const char *text)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "level", "note");
    sarif_put_message(w, "message", text);
    hpc_json_close(w, '}');
}

static void put_invocation(hpc_json_out *w, const predict_report *r, int64_t left_out)
{
    char text[128];
    hpc_buf promise = {0};
    if (predict_put_promise(&promise, &r->facts) < 0) w->buf->failed = promise.failed;
    hpc_json_open(w, "invocations", '[');
    hpc_json_open(w, NULL, '{');
    hpc_json_put_bool(w, "executionSuccessful", true);
    hpc_json_open(w, "toolExecutionNotifications", '[');
    put_note(w, promise.data ? promise.data : "");
    for (int64_t k = 0; k < r->p->remarks_n; k++) put_note(w, r->p->remark[k]);
    snprintf(text, sizeof text, "%lld results with the lowest probabilities are omitted",
             (long long)left_out);
    if (left_out > 0) put_note(w, text);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
    hpc_json_close(w, ']');
    hpc_buf_release(&promise);
}

void predict_put_sarif(hpc_json_out *w, const predict_report *r)
{
    int64_t n = 0, most = r->findings_n < PREDICT_SARIF_MOST ? r->findings_n : PREDICT_SARIF_MOST;
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "$schema", SARIF_SCHEMA);
    hpc_json_put_text(w, "version", "2.1.0");
    hpc_json_open(w, "runs", '[');
    hpc_json_open(w, NULL, '{');
    sarif_put_driver(w, "hpccoder perf predict", rules, sizeof rules / sizeof *rules);
    hpc_json_open(w, "results", '[');
    for (; n < most && w->buf->n < PREDICT_SARIF_BYTES - RESERVE; n++)
        put_result(w, &r->finding[n]);
    hpc_json_close(w, ']');
    put_invocation(w, r, r->findings_n - n);
    hpc_json_close(w, '}');
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}
