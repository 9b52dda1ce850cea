/*
 * Prediction as a comment on a pull request: verdict, short table, folded details, within the size
 * limit of such comments.
 *
 * Names and messages of commits are untrusted. They are set as code with special characters as
 * entities, so that they cannot link, mention users or change the layout.
 */
#include <string.h>

#include "cmd/predict.h"

enum { ROWS = 10, CELL = 120, TAIL = 2000 };

/* Characters without a meaning in Markdown and HTML. A dot after "www" makes a link. */
static bool is_plain(const char *text, size_t k)
{
    unsigned char c = (unsigned char)text[k];
    if (c >= 0x80 || (c >= '0' && c <= '9')) return true;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    if (c == '.') return k == 0 || (text[k - 1] != 'w' && text[k - 1] != 'W');
    return strchr(" /-()='\",+;", c) != NULL;
}

/* Appends text as code, cut after about CELL bytes. */
static void put_code(hpc_buf *out, const char *text)
{
    size_t n = strlen(text), shown = n < CELL ? n : CELL;
    while (shown < n && ((unsigned char)text[shown] & 0xc0) == 0x80) shown++;
    hpc_buf_text(out, "<code>");
    for (size_t k = 0; k < shown; k++)
        hpc_buf_printf(out, is_plain(text, k) ? "%c" : "&#%u;", (unsigned char)text[k]);
    hpc_buf_text(out, shown < n ? "...</code>" : "</code>");
}

static void put_why(hpc_buf *out, const hpc_perf_reason_text *w)
{
    hpc_buf text = {0};
    predict_put_why(&text, w);
    put_code(out, text.failed < 0 ? w->text : text.data);
    hpc_buf_release(&text);
}

static void put_acknowledged(hpc_buf *out, const hpc_perf_result *s)
{
    if (!s->acknowledged) return;
    hpc_buf_text(out, " (acknowledged: ");
    put_code(out, s->acknowledged);
    hpc_buf_text(out, ")");
}

static void put_head(hpc_buf *out, const predict_report *r)
{
    static const char *const title[] = {
        [HPC_PERF_NONE] = "no warning",
        [HPC_PERF_WARN] = ":warning: it may run slower",
        [HPC_PERF_FAIL] = ":x: it probably runs slower",
    };
    const hpc_perf_result *s = &r->p->range.result;
    char p[3][16];
    for (int k = 0; k < 3; k++) predict_percent(p[k], s->p[k]);
    hpc_buf_printf(out, "### Performance: %s\n\n", title[r->p->level]);
    put_code(out, r->range);
    hpc_buf_printf(out, ": **%s**", hpc_perf_verdict_name(s->verdict));
    hpc_buf_printf(out, " (slower %s, same %s, faster %s)", p[0], p[1], p[2]);
    put_acknowledged(out, s);
    hpc_buf_text(out, ".\n");
    if (s->because) {
        hpc_buf_text(out, "\nReason: ");
        put_code(out, s->because);
        hpc_buf_text(out, "\n");
    }
}

static void put_finding(hpc_buf *out, const predict_finding *f)
{
    char id[13], percent[16];
    predict_id(id, &f->prediction->head);
    predict_percent(percent, f->result->p[HPC_PERF_SLOWER]);
    hpc_buf_text(out, "| ");
    if (f->kind == PREDICT_RANGE) hpc_buf_text(out, "whole range");
    if (f->kind == PREDICT_COMMIT) hpc_buf_printf(out, "%s ", id);
    if (f->kind == PREDICT_COMMIT) put_code(out, f->prediction->subject);
    if (f->kind == PREDICT_FUNCTION) put_code(out, f->function[0] ? f->function : f->file);
    hpc_buf_printf(out, " | %s%s", percent,
                   f->result->verdict == HPC_PERF_UNKNOWN ? ", uncertain" : "");
    put_acknowledged(out, f->result);
    hpc_buf_text(out, " | ");
    if (f->result->why_n > 0) put_why(out, &f->result->why[0]);
    hpc_buf_text(out, " |\n");
}

static void put_table(hpc_buf *out, const predict_report *r)
{
    if (r->findings_n == 0) return;
    hpc_buf_text(out, "\n| change | slower | reason |\n|---|---|---|\n");
    for (int64_t k = 0; k < r->findings_n && k < ROWS; k++) put_finding(out, &r->finding[k]);
    if (r->findings_n > ROWS)
        hpc_buf_printf(out, "\nand %lld more.\n", (long long)(r->findings_n - ROWS));
}

static void put_said(hpc_buf *out, const hpc_perf_result *s)
{
    char percent[16];
    predict_percent(percent, s->p[HPC_PERF_SLOWER]);
    hpc_buf_printf(out, ": %s, slower %s", hpc_perf_verdict_name(s->verdict), percent);
    put_acknowledged(out, s);
    hpc_buf_text(out, "\n");
    for (int k = 0; k < s->why_n; k++) {
        hpc_buf_text(out, "  - ");
        put_why(out, &s->why[k]);
        hpc_buf_text(out, "\n");
    }
}

static void put_commit(hpc_buf *out, const hpc_perf_prediction *p, int64_t k)
{
    char id[13];
    predict_id(id, &p->commit[k].head);
    hpc_buf_printf(out, "- %s ", id);
    put_code(out, p->commit[k].subject);
    put_said(out, &p->commit[k].result);
}

static void put_function(hpc_buf *out, const hpc_perf_prediction *p, int64_t k)
{
    const hpc_perf_function_prediction *f = &p->range.function[k];
    hpc_buf_text(out, "- ");
    put_code(out, f->name[0] ? f->name : "(outside functions)");
    hpc_buf_text(out, " in ");
    put_code(out, f->file);
    put_said(out, &f->result);
}

/* As many as leave room for what follows. */
static int put_folded(hpc_buf *out, const hpc_perf_prediction *p, const char *what, int64_t n,
                      void (*each)(hpc_buf *, const hpc_perf_prediction *, int64_t), size_t room)
{
    hpc_buf item = {0};
    int64_t k = 0;
    int rc = HPC_OK;
    if (n == 0) return rc;
    hpc_buf_printf(out, "\n<details><summary>%lld %s%s</summary>\n\n", (long long)n, what,
                   n == 1 ? "" : "s");
    for (; k < n; k++) {
        item.n = 0;
        each(&item, p, k);
        TRY(item.failed);
        if (out->n + item.n > room) break;
        TRY(hpc_buf_add(out, item.data, item.n));
    }
    if (k < n) hpc_buf_printf(out, "- and %lld more\n", (long long)(n - k));
    TRY(hpc_buf_text(out, "\n</details>\n"));
out:
    hpc_buf_release(&item);
    return rc;
}

int predict_put_markdown(hpc_buf *out, const predict_report *r)
{
    const hpc_perf_prediction *p = r->p;
    size_t room = PREDICT_MARKDOWN_BYTES - 2 * TAIL;
    hpc_buf promise = {0};
    int rc;
    put_head(out, r);
    put_table(out, r);
    TRY(put_folded(out, p, "commit", p->n, put_commit, room / 2));
    TRY(put_folded(out, p, "changed function", p->range.n, put_function, room));
    TRY(predict_put_promise(&promise, &r->facts));
    TRY(hpc_buf_printf(out,
                       "\n"
                       "<sub>Predicted from the text of the change, without running it. %s</sub>\n",
                       promise.data));
out:
    hpc_buf_release(&promise);
    return rc < 0 ? rc : out->failed;
}
