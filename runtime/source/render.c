/*
 * render.c: renders samples (files, fill-in-the-middle and changes) as parts, for training and
 * inference alike. render_loop.c renders loops. The tokenizer turns marks into tokens.
 */
#include "runtime/source/source.h"

#include <string.h>

const char *hpc_mark_text(hpc_mark m)
{
    static const char *const text[HPC_MARK_N] = {
        [HPC_MARK_FIM_PREFIX] = "<fim_prefix>", [HPC_MARK_FIM_SUFFIX] = "<fim_suffix>",
        [HPC_MARK_FIM_MIDDLE] = "<fim_middle>", [HPC_MARK_FILE] = "<file_sep>",
        [HPC_MARK_REPOSITORY] = "<repo_name>",  [HPC_MARK_END] = "<end>",
        [HPC_MARK_PRAGMA] = "<pragma>",         [HPC_MARK_LOOP] = "<loop>",
        [HPC_MARK_PERF_BASE] = "<perf_base>",   [HPC_MARK_PERF_HEAD] = "<perf_head>",
        [HPC_MARK_PERF_LABEL] = "<perf_label>",
    };
    return (unsigned)m < HPC_MARK_N ? text[m] : NULL;
}

/* ---- parts -------------------------------------------------------------------------- */

void hpc_sample_clear(hpc_sample *s)
{
    s->text.n = 0;
    s->text.failed = HPC_OK;
    s->n = 0;
}

void hpc_sample_release(hpc_sample *s)
{
    hpc_buf_release(&s->text);
    hpc_free(s->part);
    *s = (hpc_sample){0};
}

static int add_part(hpc_sample *s, hpc_mark m, size_t n)
{
    int rc = hpc_grow(&s->part, &s->cap, s->n + 1, sizeof *s->part);
    if (rc < 0) return rc;
    s->part[s->n++] = (hpc_sample_part){.mark = m, .at = s->text.n - n, .n = n};
    return HPC_OK;
}

int hpc_sample_mark(hpc_sample *s, hpc_mark m)
{
    hpc_assert(m > HPC_MARK_NONE && m < HPC_MARK_N);
    return add_part(s, m, 0);
}

/* Neighbouring texts are one part, so that tokens do not depend on how a text was put together. */
int hpc_sample_text(hpc_sample *s, const char *text, size_t n)
{
    if (n == 0) return HPC_OK;
    int rc = hpc_buf_add(&s->text, text, n);
    if (rc < 0) return rc;
    hpc_sample_part *last = s->n > 0 ? &s->part[s->n - 1] : NULL;
    if (!last || last->mark != HPC_MARK_NONE) return add_part(s, HPC_MARK_NONE, n);
    last->n += n;
    return HPC_OK;
}

/* ---- files and changes ------------------------------------------------------------------ */

static int marked_line(hpc_sample *s, hpc_mark m, const char *line)
{
    int rc = HPC_OK;
    if (!line) return HPC_OK;
    TRY(hpc_sample_mark(s, m));
    TRY(hpc_sample_text(s, line, strlen(line)));
    TRY(hpc_sample_text(s, "\n", 1));
out:
    return rc;
}

static int marked_text(hpc_sample *s, hpc_mark m, const char *text, size_t n)
{
    int rc = hpc_sample_mark(s, m);
    return rc < 0 ? rc : hpc_sample_text(s, text, n);
}

int hpc_render_file(hpc_sample *out, const char *repository, const char *path, const char *text,
                    size_t n)
{
    int rc = HPC_OK;
    TRY(marked_line(out, HPC_MARK_REPOSITORY, repository));
    TRY(marked_line(out, HPC_MARK_FILE, path));
    TRY(hpc_sample_text(out, text, n));
    TRY(hpc_sample_mark(out, HPC_MARK_END));
out:
    return rc;
}

int hpc_render_fim(hpc_sample *out, const char *path, const char *text, size_t n, size_t lo,
                   size_t hi, bool suffix_first)
{
    int rc = HPC_OK;
    if (lo > hi || hi > n)
        return hpc_fail(HPC_E_ARG, "middle [%zu, %zu) of a text of %zu bytes", lo, hi, n);
    TRY(marked_line(out, HPC_MARK_FILE, path));
    TRY(hpc_sample_mark(out, HPC_MARK_FIM_PREFIX));
    if (!suffix_first) TRY(hpc_sample_text(out, text, lo));
    TRY(marked_text(out, HPC_MARK_FIM_SUFFIX, text + hi, n - hi));
    TRY(hpc_sample_mark(out, HPC_MARK_FIM_MIDDLE));
    if (suffix_first) TRY(hpc_sample_text(out, text, lo));
    TRY(hpc_sample_text(out, text + lo, hi - lo));
    TRY(hpc_sample_mark(out, HPC_MARK_END));
out:
    return rc;
}

int hpc_render_change(hpc_sample *out, const char *path, const char *base, size_t base_n,
                      const char *head, size_t head_n, const char *label)
{
    int rc = HPC_OK;
    TRY(marked_line(out, HPC_MARK_FILE, path));
    TRY(marked_text(out, HPC_MARK_PERF_BASE, base, base_n));
    TRY(marked_text(out, HPC_MARK_PERF_HEAD, head, head_n));
    TRY(hpc_sample_mark(out, HPC_MARK_PERF_LABEL));
    if (!label) return rc;
    TRY(hpc_sample_text(out, label, strlen(label)));
    TRY(hpc_sample_mark(out, HPC_MARK_END));
out:
    return rc;
}
