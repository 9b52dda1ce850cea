/*
 * plot.c: writes a figure to a file: checks it, runs gnuplot, and saves the picture or the page.
 */
#include "runtime/plot/plot.h"

#include <string.h>

#include "runtime/plot/priv.h"
#include "runtime/proc/proc.h"

enum { PICTURE_BYTES = 64 << 20 };

static bool ends(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n > m && strcmp(path + n - m, ending) == 0;
}

int plot_check(const hpc_figure *f)
{
    if (f->n < 1 || f->n > 64) return hpc_fail(HPC_E_ARG, "a figure has 1 to 64 plots");
    for (int64_t k = 0; k < f->n; k++) {
        const hpc_plot *p = &f->plot[k];
        const char *title = p->title ? p->title : "";
        if (p->series_n < 1) return hpc_fail(HPC_E_ARG, "plot '%.80s' has no series", title);
        for (int64_t s = 0; s < p->series_n; s++) {
            const hpc_plot_series *x = &p->series[s];
            if (x->n < 1) return hpc_fail(HPC_E_ARG, "plot '%.80s': a series has no points", title);
            if (p->kind == HPC_PLOT_BARS && x->n != p->series[0].n)
                return hpc_fail(HPC_E_ARG, "plot '%.80s': stacked series differ in length", title);
            if (p->kind != HPC_PLOT_BARS && !x->x)
                return hpc_fail(HPC_E_ARG, "plot '%.80s': a line without x", title);
        }
        if (p->kind == HPC_PLOT_BARS && !p->label)
            return hpc_fail(HPC_E_ARG, "plot '%.80s': bars without labels", title);
    }
    return 0;
}

/* The last line of what gnuplot said, which is the one with the error. */
static int refused(const hpc_proc_result *r)
{
    const char *text = r->err.data ? r->err.data : "", *line = text;
    for (const char *p = text; *p; p++)
        if (*p == '\n' && p[1] && p[1] != '\n') line = p + 1;
    if (r->timed_out) return hpc_fail(HPC_E_IO, "gnuplot did not finish within a minute");
    return hpc_fail(HPC_E_IO, "gnuplot failed (status %d): %.*s", r->status,
                    (int)strcspn(line, "\n"), line);
}

static int draw(hpc_buf *picture, const hpc_figure *f, plot_terminal terminal)
{
    static const char *const argv[] = {"gnuplot", "-d", "-", NULL};
    hpc_proc_result r = {0};
    hpc_buf script = {0};
    int rc = 0;
    if (!hpc_proc_exists("gnuplot")) {
        rc = hpc_fail(HPC_E_UNSUPPORTED, "gnuplot is not installed (Debian package gnuplot-nox)");
        goto out;
    }
    TRY(plot_script(&script, f, terminal));
    hpc_proc_options options = HPC_PROC_DEFAULTS;
    options.argv = argv;
    options.input = script.data;
    options.input_bytes = script.n;
    options.output_bytes = PICTURE_BYTES;
    TRY(hpc_proc_run(&r, &options));
    if (r.status != 0 || r.timed_out || r.cut || r.out.n == 0) {
        rc = refused(&r);
        goto out;
    }
    TRY(hpc_buf_add(picture, r.out.data, r.out.n));
out:
    hpc_proc_release(&r);
    hpc_buf_release(&script);
    return rc;
}

int hpc_plot_save(const char *path, const hpc_figure *f)
{
    hpc_buf picture = {0}, page = {0};
    bool html = ends(path, ".html"), png = ends(path, ".png");
    int rc = 0;
    if (!html && !png && !ends(path, ".svg"))
        return hpc_fail(HPC_E_ARG, "%.300s: a picture's name ends in .png, .svg or .html", path);
    TRY(plot_check(f));
    TRY(draw(&picture, f, png ? PLOT_PNG : PLOT_SVG));
    if (html) TRY(plot_page(&page, f, &picture));
    const hpc_buf *whole = html ? &page : &picture;
    TRY(hpc_file_save(path, whole->data, whole->n));
out:
    hpc_buf_release(&page);
    hpc_buf_release(&picture);
    return rc;
}
