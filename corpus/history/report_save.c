/*
 * Folder of a report: its page, and one plot per series.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "corpus/history/report.h"

static int picture_path(char out[PATH_MAX], const char *folder, const perf_shown *s)
{
    int n = snprintf(out, PATH_MAX, "%s/%d-", folder, s->number);
    if (n < 0 || n + 80 > PATH_MAX)
        return hpc_fail(HPC_E_ARG, "--out %.200s...: the path is too long", folder);
    for (const char *p = s->curve->metric; *p && p < s->curve->metric + 64; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || *p == '_';
        out[n++] = plain ? *p : '-';
    }
    strcpy(out + n, ".png");
    return HPC_OK;
}

static int draw_series(const hpc_history_report *r, const perf_shown *s, const char *folder)
{
    enum { WIDTH = 1500, HEIGHT = 560 };
    char path[PATH_MAX];
    hpc_plot plot;
    hpc_arena_mark mark = hpc_arena_here(r->arena);
    int rc;
    TRY(picture_path(path, folder, s));
    TRY(perf_report_plot(&plot, r->arena, s));
    const hpc_figure f = {.plot = &plot, .n = 1, .width = WIDTH, .height = HEIGHT};
    if (plot.series_n > 0) TRY(hpc_plot_save(path, &f));
out:
    hpc_arena_rewind(r->arena, mark);
    return rc;
}

int hpc_history_report_save(bool *plots, const hpc_history_report *r, const char *folder)
{
    char path[PATH_MAX];
    hpc_buf page = {0};
    int rc = HPC_OK;
    *plots = true;
    TRY(hpc_file_mkdir(folder));
    if (snprintf(path, sizeof path, "%s/index.html", folder) >= (int)sizeof path)
        TRY(hpc_fail(HPC_E_ARG, "--out %.200s...: the path is too long", folder));
    TRY(perf_report_page(&page, r));
    TRY(hpc_file_save(path, page.data, page.n));
    for (int64_t k = 0; k < r->n && *plots; k++) {
        rc = draw_series(r, &r->item[k], folder);
        *plots = rc != HPC_E_UNSUPPORTED;
        if (!*plots) hpc_error_clear();
        TRY(*plots ? rc : HPC_OK);
    }
out:
    hpc_buf_release(&page);
    return rc;
}
