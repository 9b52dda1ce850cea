/*
 * Findings of a prediction as workflow commands of GitHub, which annotate lines of a pull request.
 */
#include "cmd/predict.h"

enum { MOST = 200 }; /* annotations; GitHub shows far fewer */

/* Escapes as GitHub's runner expects; properties also escape ':' and ','. */
static void put_escaped(hpc_buf *out, const char *text, bool property)
{
    for (const char *s = text; *s; s++) {
        bool escaped =
            *s == '%' || *s == '\r' || *s == '\n' || (property && (*s == ':' || *s == ','));
        hpc_buf_printf(out, escaped ? "%%%02X" : "%c", (unsigned char)*s);
    }
}

static int put_annotation(hpc_buf *out, const predict_finding *f)
{
    hpc_buf text = {0};
    int rc;
    TRY(predict_put_finding(&text, f));
    hpc_buf_text(out, f->result->acknowledged             ? "::notice "
                      : f->result->level == HPC_PERF_FAIL ? "::error "
                                                          : "::warning ");
    if (f->file[0]) {
        hpc_buf_text(out, "file=");
        put_escaped(out, f->file, true);
        if (f->line > 0) hpc_buf_printf(out, ",line=%u", f->line);
        hpc_buf_text(out, ",");
    }
    hpc_buf_text(out, "title=Performance::");
    put_escaped(out, text.data, false);
    hpc_buf_text(out, "\n");
out:
    hpc_buf_release(&text);
    return rc;
}

int predict_put_github(hpc_buf *out, const predict_report *r)
{
    hpc_buf text = {0};
    int rc = HPC_OK;
    for (int64_t k = 0; k < r->findings_n && k < MOST; k++)
        TRY(put_annotation(out, &r->finding[k]));
    hpc_buf_printf(&text, "%s: ", r->range);
    predict_put_verdict(&text, &r->p->range.result);
    TRY(hpc_buf_text(&text, ". "));
    TRY(predict_put_promise(&text, &r->facts));
    hpc_buf_text(out, "::notice title=Performance::");
    put_escaped(out, text.data, false);
    hpc_buf_text(out, "\n");
out:
    hpc_buf_release(&text);
    return rc < 0 ? rc : out->failed;
}
