/*
 * script.c: translates a figure to gnuplot commands. Texts are in single quotes, where gnuplot
 * substitutes nothing, and enhanced mode is off, so "_" and "^" are ordinary characters. Numbers
 * are in data blocks.
 */
#include <math.h>
#include <string.h>

#include "runtime/plot/priv.h"

enum { ROW = 24, FRAME = 96, LEAST = 200, PLOT_WIDTH = 760, LINE_HEIGHT = 380, TITLE = 40 };

/* Distinguishable with colour vision deficiency (Okabe and Ito's palette). */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#d55e00",
                                      "#56b4e9", "#cc79a7", "#999999", "#f0e442"};

enum { COLOURS = sizeof colours / sizeof *colours };

static const char *colour(int64_t k)
{
    return colours[k % COLOURS];
}

/* A quote is written as the typographic one (U+2019): doubled, as gnuplot has it, two in a row or
 * one in front end the text in gnuplot 5.4. */
static void quoted(hpc_buf *out, const char *text)
{
    hpc_buf_text(out, "'");
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == '\'')
            hpc_buf_text(out, "\xe2\x80\x99");
        else if ((unsigned char)*p < ' ' || *p == 127)
            hpc_buf_text(out, " ");
        else
            hpc_buf_add(out, p, 1);
    }
    hpc_buf_text(out, "'");
}

/* ---- sizes ------------------------------------------------------------------ */

static int height_of(const hpc_plot *p)
{
    if (p->kind != HPC_PLOT_BARS) return LINE_HEIGHT;
    int64_t rows = p->series[0].n < 400 ? p->series[0].n : 400;
    int height = (int)rows * ROW + FRAME;
    return height < LEAST ? LEAST : height;
}

typedef struct grid {
    int64_t columns, rows;
    int width, height;
    int row_height[64];
} grid;

static grid lay_out(const hpc_figure *f)
{
    grid g = {.columns = f->columns > 0 ? f->columns : f->n > 1 ? 2 : 1};
    if (g.columns > f->n) g.columns = f->n;
    g.rows = (f->n + g.columns - 1) / g.columns;
    for (int64_t k = 0; k < f->n; k++) {
        int height = height_of(&f->plot[k]);
        if (height > g.row_height[k / g.columns]) g.row_height[k / g.columns] = height;
    }
    for (int64_t r = 0; r < g.rows; r++) g.height += g.row_height[r];
    g.height += f->title ? TITLE : 0;
    g.width = f->width > 0 ? f->width : (int)g.columns * PLOT_WIDTH;
    return g;
}

/* ---- one plot ------------------------------------------------------------------ */

/* "12.3k": of the sum of a row, behind its bar. */
static void short_number(hpc_buf *out, double v)
{
    static const char units[] = " kMGTPE";
    int k = 0;
    while (fabs(v) >= 1000 && k < 6) v /= 1000, k++;
    hpc_buf_printf(out, v == floor(v) || fabs(v) >= 100 ? "%.0f" : "%.3g", v);
    if (k) hpc_buf_add(out, &units[k], 1);
}

/* Rows from the top down: row k lies at y = -k. Columns: from, to, y, in a block for each series;
 * logarithmic lengths begin at 0.5, because nothing begins at 0. */
static void bar_data(hpc_buf *out, const hpc_plot *p, int64_t id)
{
    double least = p->log_x ? 0.5 : 0;
    for (int64_t s = 0; s < p->series_n; s++) {
        hpc_buf_printf(out, "$p%lld_%lld << EOD\n", (long long)id, (long long)s);
        for (int64_t k = 0; k < p->series[s].n; k++) {
            double from = least, length = p->series[s].y[k];
            for (int64_t b = 0; b < s; b++)
                if (isfinite(p->series[b].y[k])) from += p->series[b].y[k];
            if (isfinite(length))
                hpc_buf_printf(out, "%.17g %.17g %lld\n", from, s == 0 ? length : from + length,
                               (long long)-k);
        }
        hpc_buf_text(out, "EOD\n");
    }
}

static void bar_labels(hpc_buf *out, const hpc_plot *p)
{
    double most = 0;
    hpc_buf_text(out, "unset ytics\n");
    for (int64_t k = 0; k < p->series[0].n; k++) {
        double sum = 0;
        for (int64_t s = 0; s < p->series_n; s++)
            if (isfinite(p->series[s].y[k])) sum += p->series[s].y[k];
        if (sum > most) most = sum;
        hpc_buf_printf(out, "set ytics %s(", k ? "add " : "scale 0 ");
        quoted(out, p->label[k]);
        hpc_buf_printf(out, " %lld)\nset label '", (long long)-k);
        short_number(out, sum);
        hpc_buf_printf(out, "' at first %.17g,%lld left offset 0.6,0 tc rgb '#555555'\n",
                       p->log_x && sum < 0.5 ? 0.5 : sum, (long long)-k);
    }
    double right = p->log_x ? (most > 1 ? most * pow(most, 0.12) : 10) : most * 1.12;
    hpc_buf_printf(out, "set xrange [%s:%.17g]\nset yrange [%.1f:0.6]\n", p->log_x ? "0.5" : "0",
                   right > 0 ? right : 1, 0.4 - (double)p->series[0].n);
}

static void draw_bars(hpc_buf *out, const hpc_plot *p, int64_t id)
{
    bar_data(out, p, id);
    bar_labels(out, p);
    hpc_buf_text(out, "set grid xtics back lt 1 lc rgb '#e4e4e4'\nset style fill solid 1 noborder\n"
                      "plot ");
    for (int64_t s = 0; s < p->series_n; s++) {
        hpc_buf_printf(out,
                       "%s$p%lld_%lld using 2:3:1:2:($3-0.36):($3+0.36) with boxxyerror lc "
                       "rgb '%s' ",
                       s ? ", " : "", (long long)id, (long long)s, colour(s));
        hpc_buf_text(out, p->series[s].name ? "title " : "notitle");
        if (p->series[s].name) quoted(out, p->series[s].name);
    }
    hpc_buf_text(out, "\n");
}

static const struct {
    int type;
    double size;
} marks[] = {[HPC_PLOT_MARK_NONE] = {0, 0},    [HPC_PLOT_MARK_DOT] = {7, 0.5},
             [HPC_PLOT_MARK_RING] = {6, 0.5},  [HPC_PLOT_MARK_UP] = {9, 1.3},
             [HPC_PLOT_MARK_DOWN] = {11, 1.3}, [HPC_PLOT_MARK_CROSS] = {2, 0.8}};

/* Faint ones let three quarters of what is behind them through. */
static void put_style(hpc_buf *out, const hpc_plot *p, int64_t s)
{
    static const char *const style[] = {[HPC_PLOT_LINES] = "lines lw 2",
                                        [HPC_PLOT_POINTS] = "points pt 7 ps 0.6",
                                        [HPC_PLOT_STEPS] = "steps lw 2"};
    const hpc_plot_series *x = &p->series[s];
    int64_t k = x->colour > 0 ? x->colour - 1 : s;
    const char *rgb = colour(k);
    /* Where colours begin again, lines are dashed. */
    int dash = 1 + (int)(k / COLOURS);
    if (p->kind == HPC_PLOT_LINES && x->faint)
        hpc_buf_printf(out, "lines lw 1 lc rgb '#c0%s' ", rgb + 1);
    else if (p->kind == HPC_PLOT_LINES && x->apart)
        hpc_buf_printf(out, "points pt %d ps %g lc rgb '%s' ", marks[x->mark].type,
                       marks[x->mark].size, rgb);
    else if (p->kind == HPC_PLOT_LINES && x->mark)
        hpc_buf_printf(out, "linespoints lw %d pt %d ps %g dt %d lc rgb '%s' ", x->thin ? 1 : 2,
                       marks[x->mark].type, marks[x->mark].size, dash, rgb);
    else if (p->kind == HPC_PLOT_LINES && x->thin)
        hpc_buf_printf(out, "lines lw 1 dt %d lc rgb '%s' ", dash, rgb);
    else
        hpc_buf_printf(out, "%s dt %d lc rgb '%s' ", style[p->kind], dash, rgb);
}

/* Columns: x, y, and of series that have them low and high. */
static void line_data(hpc_buf *out, const hpc_plot *p, int64_t id)
{
    for (int64_t s = 0; s < p->series_n; s++) {
        const hpc_plot_series *v = &p->series[s];
        hpc_buf_printf(out, "$p%lld_%lld << EOD\n", (long long)id, (long long)s);
        for (int64_t k = 0; k < v->n; k++) {
            bool reach = v->low && isfinite(v->low[k]) && isfinite(v->high[k]);
            if (!isfinite(v->x[k]) || !isfinite(v->y[k]))
                hpc_buf_text(out, "\n"); /* a gap */
            else if (v->low)
                hpc_buf_printf(out, "%.17g %.17g %.17g %.17g\n", v->x[k], v->y[k],
                               reach ? v->low[k] : v->y[k], reach ? v->high[k] : v->y[k]);
            else
                hpc_buf_printf(out, "%.17g %.17g\n", v->x[k], v->y[k]);
        }
        hpc_buf_text(out, "EOD\n");
    }
}

static void draw_strips(hpc_buf *out, const hpc_plot *p)
{
    for (int64_t k = 0; k < p->strips_n; k++)
        hpc_buf_printf(out,
                       "set object %lld rectangle from first %.17g,graph 0 to first %.17g,graph 1 "
                       "behind fc rgb '#f3d9c8' fs solid noborder\n",
                       (long long)k + 1, p->strip[k].from, p->strip[k].to);
}

/* Pale elements are drawn before all lines. */
static void draw_lines(hpc_buf *out, const hpc_plot *p, int64_t id)
{
    const char *comma = "";
    line_data(out, p, id);
    draw_strips(out, p);
    if (p->y_from != p->y_to)
        hpc_buf_printf(out,
                       "set yrange [%.17g:%.17g]\nset key outside above horizontal right\n"
                       "set autoscale xfix\nset offsets graph 0.01,graph 0.01,0,0\n",
                       p->y_from, p->y_to);
    else
        hpc_buf_text(out, "set autoscale xfixmax\n");
    hpc_buf_text(out, "set rmargin 4\nset grid lt 1 lc rgb '#e4e4e4'\nplot ");
    for (int64_t s = 0; s < p->series_n; s++) {
        const hpc_plot_series *v = &p->series[s];
        const char *rgb = colour(v->colour > 0 ? v->colour - 1 : s) + 1;
        if (!v->low) continue;
        hpc_buf_printf(out, "%s$p%lld_%lld using %s lc rgb '#%s%s' notitle", comma, (long long)id,
                       (long long)s,
                       v->band ? "1:3:4 with filledcurves" : "1:3:(0):($4-$3) with vectors nohead",
                       v->band ? "a0" : "90", rgb);
        comma = ", ";
    }
    for (int64_t s = 0; s < p->series_n; s++, comma = ", ") {
        hpc_buf_printf(out, "%s$p%lld_%lld using 1:2 with ", comma, (long long)id, (long long)s);
        put_style(out, p, s);
        hpc_buf_text(out, p->series[s].name ? "title " : "notitle");
        if (p->series[s].name) quoted(out, p->series[s].name);
    }
    hpc_buf_text(out, "\n");
}

/* True if numbers along an axis are shown as "1.5M". Bars lie along x. */
static bool wide(const hpc_plot *p, bool along_x)
{
    for (int64_t s = 0; s < p->series_n; s++)
        for (int64_t k = 0; k < p->series[s].n; k++) {
            bool by_x = along_x && p->kind != HPC_PLOT_BARS;
            double v = by_x ? p->series[s].x[k] : p->series[s].y[k];
            if (isfinite(v) && fabs(v) >= 1e4) return true;
        }
    return false;
}

static void one_plot(hpc_buf *out, const hpc_plot *p, int64_t id)
{
    hpc_buf_text(out, "set border 3 lc rgb '#888888'\nset tics nomirror out scale 0.6\n"
                      "set key top right opaque noautotitle\nset title ");
    quoted(out, p->title);
    hpc_buf_text(out, "\nset xlabel ");
    quoted(out, p->x_label);
    hpc_buf_text(out, "\nset ylabel ");
    quoted(out, p->y_label);
    hpc_buf_text(out, wide(p, true) ? "\nset format x '%.1s%c'\n" : "\nset format x '%g'\n");
    if (p->kind == HPC_PLOT_BARS)
        hpc_buf_text(out, "set key outside above horizontal right\nset xtics rotate by 0\n");
    if (p->kind != HPC_PLOT_BARS && p->from_zero)
        hpc_buf_text(out, "set key bottom right\nset yrange [0:*]\n");
    if (p->kind != HPC_PLOT_BARS)
        hpc_buf_text(out, wide(p, false) ? "set format y '%.1s%c'\n" : "set format y '%g'\n");
    if (p->log_x) hpc_buf_text(out, "set logscale x\n");
    if (p->log_y) hpc_buf_text(out, "set logscale y\n");
    if (p->kind == HPC_PLOT_BARS)
        draw_bars(out, p, id);
    else
        draw_lines(out, p, id);
}

int plot_script(hpc_buf *out, const hpc_figure *f, plot_terminal terminal)
{
    grid g = lay_out(f);
    int height = f->height > 0 ? f->height : g.height;
    double top = f->title ? (double)(g.height - TITLE) / g.height : 1, used = 0;
    hpc_buf_printf(out,
                   "set encoding utf8\nset terminal %s size %d,%d noenhanced font "
                   "'DejaVu Sans,10' background rgb 'white'\nset multiplot\n",
                   terminal == PLOT_PNG ? "pngcairo" : "svg", g.width, height);
    if (f->title) {
        hpc_buf_printf(out, "set label 1 ");
        quoted(out, f->title);
        hpc_buf_printf(out,
                       " at screen 0.5,%.6f center font 'DejaVu Sans,14'\n"
                       "unset border\nunset tics\nunset key\nset size 1,1\nset origin 0,0\n"
                       "plot [0:1] [0:1] -1\nunset label 1\n",
                       1 - (1 - top) / 2);
    }
    for (int64_t k = 0; k < f->n; k++) {
        int64_t row = k / g.columns, column = k % g.columns;
        double part = (double)g.row_height[row] / g.height;
        if (column == 0) used += part;
        hpc_buf_printf(out, "reset\nset size %.6f,%.6f\nset origin %.6f,%.6f\n",
                       1.0 / (double)g.columns, part, (double)column / (double)g.columns,
                       top - used);
        one_plot(out, &f->plot[k], k);
    }
    return hpc_buf_text(out, "unset multiplot\n");
}
