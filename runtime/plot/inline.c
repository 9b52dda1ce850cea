/*
 * inline.c: line plots as inline SVG of a page, without gnuplot: gnuplot's pictures
 * have fixed colours and no hover texts.
 *
 * Classes c1 to c8 are the palette, `pale` is the background; hpc_plot_inline_style
 * gives the page's CSS rules.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/plot/priv.h"

enum { LEFT = 70, RIGHT = 16, HEAD = 30, BOTTOM = 46, KEY_ROW = 18, SAMPLE = 24 /* of a key */ };
enum {
    TICKS_Y = 8,
    TICKS_X = 10,
    TICKS_MOST = 64,
    TICK_WIDTH = 60 /* of a label below the plot */
};
enum { COLOURS = 8 };
#define LETTER 7.0 /* the width of one, about */

typedef struct axis {
    double from, to; /* shown; of logarithms if log */
    bool log;
    double at, pixels; /* where `from` lies, and what the way to `to` is; less than 0: upwards */
} axis;
typedef struct canvas {
    hpc_buf *out;
    const hpc_plot *p;
    axis x, y;
    int width, height, top; /* of the picture; the upper end of the y axis */
} canvas;

int hpc_plot_escape(hpc_buf *out, const char *text)
{
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == '<')
            hpc_buf_text(out, "&lt;");
        else if (*p == '>')
            hpc_buf_text(out, "&gt;");
        else if (*p == '&')
            hpc_buf_text(out, "&amp;");
        else if (*p == '"')
            hpc_buf_text(out, "&quot;");
        else if (*p == '\'')
            hpc_buf_text(out, "&#39;");
        else
            hpc_buf_add(out, p, 1);
    }
    return out->failed;
}

int hpc_plot_inline_style(hpc_buf *out)
{
    return hpc_buf_text(
        out,
        ".plot{font:12px 'DejaVu Sans',sans-serif;display:block;--grid:#e2e2e2;--strip:#f3d9c8}\n"
        ".plot text{fill:currentColor;stroke:none}\n"
        ".plot .grid{stroke:var(--grid)}.plot .axis{stroke:currentColor;opacity:.6}\n"
        ".plot .strip{fill:var(--strip)}.plot .pale{opacity:.35;stroke-width:1}\n"
        ".plot .c1{color:#0072b2}.plot .c2{color:#c98500}.plot .c3{color:#009e73}\n"
        ".plot .c4{color:#d55e00}.plot .c5{color:#7a5cc9}.plot .c6{color:#cc79a7}\n"
        ".plot .c7{color:#888}.plot .c8{color:#a89b00}\n"
        ".plot .line{fill:none;stroke:currentColor;stroke-linejoin:round}\n"
        ".plot .mark{fill:currentColor;stroke:currentColor}\n"
        ".plot .open{fill:none;stroke:currentColor}.plot .dash{stroke-dasharray:7 4}\n"
        ".plot .hint{fill:#888;fill-opacity:0}.plot .hint:hover{fill-opacity:.3}\n"
        "@media (prefers-color-scheme:dark){.plot{--grid:#3a3a3a;--strip:#54382a}\n"
        ".plot .c1{color:#56b4e9}.plot .c2{color:#f0b040}.plot .c3{color:#2fd0a0}\n"
        ".plot .c4{color:#ff8a3c}.plot .c5{color:#a58bff}.plot .c7{color:#aaa}}\n");
}

/* ---- axes ------------------------------------------------------------------- */

static double place_of(const axis *a, double v)
{
    double t = ((a->log ? log10(v) : v) - a->from) / (a->to - a->from);
    return a->at + a->pixels * (t < 0 ? 0 : t > 1 ? 1 : t);
}

static void widen(axis *a, double v)
{
    if (!isfinite(v) || (a->log && v <= 0)) return;
    double t = a->log ? log10(v) : v;
    if (!(t >= a->from)) a->from = t;
    if (!(t <= a->to)) a->to = t;
}

/* So that it has a length, and what lies at its ends is not cut. */
static void close_axis(axis *a, double share)
{
    if (!isfinite(a->from)) a->from = a->to = 0;
    double room = (a->to - a->from) * share;
    if (a->to == a->from) room = a->log || a->to == 0 ? 0.5 : fabs(a->to) * 0.05;
    a->from -= room;
    a->to += room;
}

static void find_axes(canvas *c)
{
    const hpc_plot *p = c->p;
    c->x = (axis){NAN, NAN, p->log_x, LEFT, c->width - LEFT - RIGHT};
    c->y = (axis){NAN, NAN, p->log_y, c->height - BOTTOM, -(c->height - c->top - BOTTOM)};
    for (int64_t s = 0; s < p->series_n; s++)
        for (int64_t k = 0; k < p->series[s].n; k++) {
            const hpc_plot_series *v = &p->series[s];
            widen(&c->x, v->x[k]);
            widen(&c->y, v->y[k]);
            if (v->low) widen(&c->y, v->low[k]);
            if (v->high) widen(&c->y, v->high[k]);
        }
    if (p->from_zero && !p->log_y) widen(&c->y, 0);
    close_axis(&c->x, 0.01);
    if (p->y_from == p->y_to) {
        close_axis(&c->y, 0.05);
    } else {
        c->y.from = p->log_y ? log10(p->y_from) : p->y_from;
        c->y.to = p->log_y ? log10(p->y_to) : p->y_to;
    }
}

/* 1, 2 or 5 times a power of ten, of which about `most` are in the range. */
static double step_of(double range, int most)
{
    double raw = range / most, ten = pow(10, floor(log10(raw))), times = raw / ten;
    return ten * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

/* Values along the axis. */
static int find_ticks(double *out, const axis *a, int most)
{
    int n = 0;
    if (a->log && a->to - a->from >= 1) {
        static const double times[] = {1, 2, 5};
        int every = a->to - a->from > 3 ? 3 : 1; /* powers of ten alone */
        for (int k = 3 * (int)floor(a->from); n < TICKS_MOST; k++) {
            int power = k >= 0 ? k / 3 : -((2 - k) / 3), which = k - 3 * power;
            hpc_assert(which >= 0 && which < 3);
            double v = times[which] * pow(10, power);
            if (log10(v) > a->to) break;
            if (which % every == 0 && log10(v) >= a->from) out[n++] = v;
        }
        return n;
    }
    double from = a->log ? pow(10, a->from) : a->from, to = a->log ? pow(10, a->to) : a->to;
    double step = step_of(to - from, most);
    for (double k = ceil(from / step); k * step <= to && n < TICKS_MOST; k++) out[n++] = k * step;
    return n;
}

static void put_text(canvas *c, double x, double y, const char *anchor, const char *text)
{
    hpc_buf_printf(c->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    hpc_plot_escape(c->out, text);
    hpc_buf_text(c->out, "</text>\n");
}

static void put_line(canvas *c, const char *class, double x0, double y0, double x1, double y1)
{
    hpc_buf_printf(c->out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                   class, x0, y0, x1, y1);
}

static void put_axes(canvas *c)
{
    double tick[TICKS_MOST], bottom = c->height - BOTTOM, right = c->width - RIGHT;
    int most = (c->width - LEFT - RIGHT) / TICK_WIDTH;
    char text[32];
    int n = find_ticks(tick, &c->y, TICKS_Y);
    for (int k = 0; k < n; k++) {
        double y = place_of(&c->y, tick[k]);
        snprintf(text, sizeof text, "%.6g", fabs(tick[k]) < 1e-12 ? 0 : tick[k]);
        put_line(c, "grid", LEFT, y, right, y);
        put_text(c, LEFT - 6, y + 4, "end", text);
    }
    n = find_ticks(tick, &c->x, most < 1 ? 1 : most < TICKS_X ? most : TICKS_X);
    for (int k = 0; k < n; k++) {
        double x = place_of(&c->x, tick[k]);
        snprintf(text, sizeof text, "%.6g", fabs(tick[k]) < 1e-12 ? 0 : tick[k]);
        put_line(c, "axis", x, bottom, x, bottom + 4);
        /* A label at the right end stays within the picture. */
        double half = LETTER * (double)strlen(text) / 2;
        put_text(c, x + half > c->width ? c->width - half : x, bottom + 17, "middle", text);
    }
    put_line(c, "axis", LEFT, bottom, right, bottom);
    put_line(c, "axis", LEFT, c->top, LEFT, bottom);
    put_text(c, (LEFT + right) / 2, c->height - 8, "middle", c->p->x_label);
    put_text(c, LEFT - 50, 14, "start", c->p->y_label);
}

/* ---- what is drawn ---------------------------------------------------------- */

static bool is_there(const hpc_plot_series *v, int64_t k)
{
    return isfinite(v->x[k]) && isfinite(v->y[k]);
}

static bool has_reach(const hpc_plot_series *v, int64_t k)
{
    return is_there(v, k) && isfinite(v->low[k]) && isfinite(v->high[k]);
}

static void put_mark(canvas *c, hpc_plot_mark mark, double x, double y)
{
    static const char *const shape[] = {
        [HPC_PLOT_MARK_NONE] = "",
        [HPC_PLOT_MARK_DOT] = "m-1.8,0a1.8,1.8 0 1,0 3.6,0a1.8,1.8 0 1,0 -3.6,0z",
        [HPC_PLOT_MARK_RING] = "m-2,0a2,2 0 1,0 4,0a2,2 0 1,0 -4,0z",
        [HPC_PLOT_MARK_UP] = "m0,-6l5.5,9.5h-11z",
        [HPC_PLOT_MARK_DOWN] = "m0,6l5.5,-9.5h-11z",
        [HPC_PLOT_MARK_CROSS] = "m-3.5,-3.5l7,7m0,-7l-7,7"};
    hpc_buf_printf(c->out, "M%.1f,%.1f%s", x, y, shape[mark]);
}

static const char *fill_of(hpc_plot_mark mark)
{
    return mark == HPC_PLOT_MARK_RING || mark == HPC_PLOT_MARK_CROSS ? "open" : "mark";
}

static int colour_of(const hpc_plot *p, int64_t s)
{
    int colour = p->series[s].colour;
    return (int)((colour > 0 ? colour - 1 : s) % COLOURS) + 1;
}

/* Lines are dashed from the ninth on, because their colours repeat. */
static const char *dash_of(const hpc_plot *p, int64_t s)
{
    int colour = p->series[s].colour;
    return (colour > 0 ? colour - 1 : s) >= COLOURS ? " dash" : "";
}

/* From low to high: one path of all lines, or of areas, there and back. */
static void put_pale(canvas *c, int64_t s)
{
    const hpc_plot_series *v = &c->p->series[s];
    hpc_buf_printf(c->out, "<path class=\"c%d pale %s\" d=\"", colour_of(c->p, s),
                   v->band ? "mark" : "line");
    for (int64_t k = 0, end; k < v->n; k = end) {
        for (end = k; end < v->n && has_reach(v, end);) end++;
        if (end == k) {
            end++;
            continue;
        }
        for (int64_t i = k; i < end && !v->band; i++)
            hpc_buf_printf(c->out, "M%.1f,%.1fV%.1f", place_of(&c->x, v->x[i]),
                           place_of(&c->y, v->low[i]), place_of(&c->y, v->high[i]));
        for (int64_t i = k; i < end && v->band; i++)
            hpc_buf_printf(c->out, "%s%.1f,%.1f", i == k ? "M" : "L", place_of(&c->x, v->x[i]),
                           place_of(&c->y, v->low[i]));
        for (int64_t i = end - 1; i >= k && v->band; i--)
            hpc_buf_printf(c->out, "L%.1f,%.1f", place_of(&c->x, v->x[i]),
                           place_of(&c->y, v->high[i]));
        if (v->band) hpc_buf_text(c->out, "Z");
    }
    hpc_buf_text(c->out, "\"/>\n");
}

static void put_joined(canvas *c, int64_t s)
{
    const hpc_plot_series *v = &c->p->series[s];
    bool joined = false;
    hpc_buf_printf(c->out, "<path class=\"c%d line%s%s\" stroke-width=\"%s\" d=\"",
                   colour_of(c->p, s), dash_of(c->p, s), v->faint ? " pale" : "",
                   v->thin ? "1" : "2.2");
    for (int64_t k = 0; k < v->n; k++) {
        bool there = is_there(v, k);
        if (there)
            hpc_buf_printf(c->out, "%s%.1f,%.1f", joined ? "L" : "M", place_of(&c->x, v->x[k]),
                           place_of(&c->y, v->y[k]));
        joined = there;
    }
    hpc_buf_text(c->out, "\"/>\n");
}

static void put_marks(canvas *c, int64_t s)
{
    const hpc_plot_series *v = &c->p->series[s];
    hpc_buf_printf(c->out, "<path class=\"c%d %s\" d=\"", colour_of(c->p, s), fill_of(v->mark));
    for (int64_t k = 0; k < v->n; k++)
        if (is_there(v, k))
            put_mark(c, v->mark, place_of(&c->x, v->x[k]), place_of(&c->y, v->y[k]));
    hpc_buf_text(c->out, "\"/>\n");
}

static void put_series(canvas *c)
{
    const hpc_plot *p = c->p;
    for (int64_t s = 0; s < p->series_n; s++)
        if (p->series[s].low) put_pale(c, s);
    for (int64_t s = 0; s < p->series_n; s++) {
        if (!p->series[s].apart) put_joined(c, s);
        if (p->series[s].mark) put_marks(c, s);
    }
}

/* ---- the key, above the plot ------------------------------------------------ */

static double text_width(const char *text)
{
    double n = 0;
    for (const char *p = text ? text : ""; *p; p++) n += (*p & 0xc0) != 0x80;
    return LETTER * n;
}

static double key_width(const canvas *c)
{
    double sum = 0;
    for (int64_t s = 0; s < c->p->series_n; s++)
        if (c->p->series[s].name) sum += text_width(c->p->series[s].name) + SAMPLE;
    return sum;
}

static void put_key_entry(canvas *c, int64_t s, double x, double y)
{
    const hpc_plot_series *v = &c->p->series[s];
    put_text(c, x + 18, y, "start", v->name);
    hpc_buf_printf(c->out, "<path class=\"c%d %s%s\" stroke-width=\"%d\" d=\"", colour_of(c->p, s),
                   fill_of(v->mark), dash_of(c->p, s), v->mark ? 1 : 2);
    if (v->mark)
        put_mark(c, v->mark, x + 7, y - 4);
    else
        hpc_buf_printf(c->out, "M%.1f,%.1fh14", x, y - 4);
    hpc_buf_text(c->out, "\"/>\n");
}

/* Puts the key next to the y axis's name if it fits there, else into rows below it. Returns how
 * many rows these are. */
static int lay_key(canvas *c, bool draws)
{
    double free = c->width - RIGHT - (LEFT - 50) - text_width(c->p->y_label), sum = key_width(c);
    double x = c->width - RIGHT - sum, end = c->width - RIGHT;
    int row = 0;
    if (sum > free) x = LEFT, row = 1;
    for (int64_t s = 0; s < c->p->series_n; s++) {
        const char *name = c->p->series[s].name;
        double own = name ? text_width(name) + SAMPLE : 0;
        if (!name) continue;
        if (row > 0 && x > LEFT && x + own > end) x = LEFT, row++;
        if (draws) put_key_entry(c, s, x, 14 + KEY_ROW * row);
        x += own;
    }
    return row;
}

/* ---- background and foreground --------------------------------------------- */

static void put_strips(canvas *c)
{
    for (int64_t k = 0; k < c->p->strips_n; k++) {
        double from = place_of(&c->x, c->p->strip[k].from), to = place_of(&c->x, c->p->strip[k].to);
        if (to - from < 1.5) to = from + 1.5;
        hpc_buf_printf(c->out,
                       "<rect class=\"strip\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                       from, c->top, to - from, c->height - c->top - BOTTOM);
    }
}

/* A hint reaches half of the way to its neighbours. */
static void put_hints(canvas *c)
{
    const hpc_plot *p = c->p;
    for (int64_t k = 0; k < p->hints_n; k++) {
        const hpc_plot_hint *h = &p->hint[k];
        double from = k ? (h[-1].x + h->x) / 2 : h->x - 0.5;
        double to = k + 1 < p->hints_n ? (h->x + h[1].x) / 2 : h->x + 0.5;
        if (!h->text) continue;
        from = place_of(&c->x, from);
        hpc_buf_printf(c->out,
                       "<rect class=\"hint\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\">"
                       "<title>",
                       from, c->top, place_of(&c->x, to) - from, c->height - c->top - BOTTOM);
        hpc_plot_escape(c->out, h->text);
        hpc_buf_text(c->out, "</title></rect>\n");
    }
}

int hpc_plot_inline(hpc_buf *out, const hpc_plot *p, int width, int height)
{
    canvas c = {.out = out, .p = p, .width = width, .height = height};
    const hpc_figure f = {.plot = p, .n = 1};
    int rc = p->kind == HPC_PLOT_LINES ? plot_check(&f)
                                       : hpc_fail(HPC_E_ARG, "a plot within a page is of lines");
    if (rc < 0) return rc;
    c.top = HEAD + KEY_ROW * lay_key(&c, false);
    find_axes(&c);
    hpc_buf_printf(out,
                   "<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                   "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
                   width, height, width, height);
    hpc_plot_escape(out, p->title);
    hpc_buf_text(out, "\">\n");
    put_strips(&c);
    put_axes(&c);
    put_series(&c);
    lay_key(&c, true);
    put_hints(&c);
    return hpc_buf_text(out, "</svg>\n");
}
