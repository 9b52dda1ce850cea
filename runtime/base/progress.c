/*
 * progress.c: progress of a long job, with its rate and the remaining time. On a terminal
 * it redraws one line, elsewhere it prints a line about every ten seconds; it always
 * prints a last line. It writes through the caller's function. One thread only.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/base.h"

#define SECOND INT64_C(1000000000)

enum { LINE_MAX_COLUMNS = 79, BAR = 12 };

static const int64_t redraw_ns = SECOND / 10, line_ns = 10 * SECOND;

/* Three digits and a decimal multiple: "999", "1.00k", "12.3M". */
static void write_count(char *out, size_t size, double n)
{
    static const char *const multiple[] = {"", "k", "M", "G", "T", "P", "E"};
    int k = 0;
    while (fabs(n) >= 999.5 && k < 6) {
        n /= 1000;
        k++;
    }
    int decimals = fabs(n) >= 99.95 ? 0 : fabs(n) >= 9.995 ? 1 : 2;
    if (k == 0 && n == floor(n)) decimals = 0;
    snprintf(out, size, "%.*f%s", decimals, n, multiple[k]);
}

/* The two largest parts: "42s", "3m05s", "2h07m", "4d11h". */
static void write_time(char *out, size_t size, double seconds)
{
    unsigned s = (unsigned)(fmin(fmax(seconds, 0.0), 1e9) + 0.5); /* 30 years are enough */
    if (s < 60) {
        snprintf(out, size, "%us", s);
    } else if (s < 3600) {
        snprintf(out, size, "%um%02us", s / 60, s % 60);
    } else if (s < 86400) {
        snprintf(out, size, "%uh%02um", s / 3600, s / 60 % 60);
    } else {
        snprintf(out, size, "%ud%02uh", s / 86400, s / 3600 % 24);
    }
}

/* A line that is never longer than the terminal is wide; n counts columns. */
typedef struct line {
    char text[LINE_MAX_COLUMNS * 4 + 1];
    size_t bytes;
    int n, most;
} line;

/* A full line would wrap on some terminals. */
static line empty_line(const hpc_progress *p)
{
    bool narrow = p->columns > 1 && p->columns <= LINE_MAX_COLUMNS;
    return (line){.most = narrow ? p->columns - 1 : LINE_MAX_COLUMNS};
}

/* Control characters of labels and notes would break the redrawing. */
static void add(line *l, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        bool starts = (*p & 0xC0) != 0x80;
        if (l->n + starts > l->most || l->bytes + 1 >= sizeof l->text) break;
        l->text[l->bytes++] = *p < ' ' || *p == 0x7F ? ' ' : (char)*p;
        l->n += starts;
    }
    l->text[l->bytes] = '\0';
}

/* Average since the start, without what an earlier run had done; 0 when unknown. */
static double rate_of(const hpc_progress *p, int64_t done, int64_t now)
{
    double seconds = (double)(now - p->start_ns) / (double)SECOND;
    double mine = (double)(done - p->start_done);
    return seconds > 0.0 && mine > 0.0 ? mine / seconds : 0.0;
}

/* Clamped: more done than announced counts as 100 %. */
static double part_of(const hpc_progress *p, int64_t done)
{
    return fmin(fmax((double)done / (double)p->total, 0.0), 1.0);
}

static void add_bar(line *l, const hpc_progress *p, int64_t done)
{
    int full = (int)(part_of(p, done) * BAR);
    char bar[BAR + 4] = " [";
    for (int i = 0; i < BAR; i++) bar[2 + i] = i < full ? '#' : '.';
    bar[BAR + 2] = ']';
    add(l, bar);
}

static void add_done(line *l, const hpc_progress *p, int64_t done)
{
    char text[80], n[24], total[24];
    write_count(n, sizeof n, (double)done);
    write_count(total, sizeof total, (double)p->total);
    if (p->total > 0) {
        int percent = (int)(100.0 * part_of(p, done));
        snprintf(text, sizeof text, " %3d%% %s/%s %s", percent, n, total, p->unit);
    } else {
        snprintf(text, sizeof text, " %s %s", n, p->unit);
    }
    add(l, text);
}

/* Seconds until all is done at this rate, or until the deadline. */
static double left_of(const hpc_progress *p, int64_t done, double rate, int64_t now)
{
    double left = (double)(p->total - done) / rate;
    return p->until_ns ? fmin(left, (double)(p->until_ns - now) / (double)SECOND) : left;
}

static void add_rate(line *l, const hpc_progress *p, int64_t done, double rate, int64_t now)
{
    char text[80], n[24];
    if (rate <= 0.0) return;
    write_count(n, sizeof n, rate);
    snprintf(text, sizeof text, ", %s %s/s", n, p->unit);
    add(l, text);
    if (p->total <= done) return;
    write_time(n, sizeof n, left_of(p, done, rate, now));
    snprintf(text, sizeof text, ", %s left", n);
    add(l, text);
}

static void show(const hpc_progress *p, const line *l, bool last)
{
    char out[sizeof l->text + 8];
    int n = snprintf(out, sizeof out, "%s%s%s", p->terminal ? "\r\x1b[K" : "", l->text,
                     last || !p->terminal ? "\n" : "");
    p->write(p->user, out, (size_t)n);
}

void hpc_progress_start(hpc_progress *p, const char *label, const char *unit, int64_t total)
{
    p->label = label;
    p->unit = unit;
    p->total = total;
    p->start_done = 0;
    p->start_ns = hpc_clock_ns();
    /* A bar appears at once, but lines only for what takes long. */
    p->shown_ns = p->terminal ? p->start_ns - redraw_ns : p->start_ns;
}

void hpc_progress_update(hpc_progress *p, int64_t done, const char *extra)
{
    int64_t now = hpc_clock_ns();
    line l = empty_line(p);
    if (now - p->shown_ns < (p->terminal ? redraw_ns : line_ns)) return;
    p->shown_ns = now;
    add(&l, p->label);
    if (p->terminal && p->total > 0) {
        add_bar(&l, p, done);
    } else {
        add(&l, ":");
    }
    add_done(&l, p, done);
    add_rate(&l, p, done, rate_of(p, done, now), now);
    if (extra && extra[0]) {
        add(&l, ", ");
        add(&l, extra);
    }
    show(p, &l, false);
}

void hpc_progress_end(hpc_progress *p, int64_t done)
{
    int64_t now = hpc_clock_ns();
    char text[80], n[24], spent[24];
    line l = empty_line(p);
    double rate = rate_of(p, done, now);
    write_count(n, sizeof n, (double)done);
    write_time(spent, sizeof spent, (double)(now - p->start_ns) / (double)SECOND);
    add(&l, p->label);
    snprintf(text, sizeof text, ": %s %s in %s", n, p->unit, spent);
    add(&l, text);
    if (rate > 0.0) {
        write_count(n, sizeof n, rate);
        snprintf(text, sizeof text, ", %s %s/s", n, p->unit);
        add(&l, text);
    }
    show(p, &l, true);
}

void hpc_progress_clear(hpc_progress *p)
{
    static const char erase[] = "\r\x1b[K";
    if (p->terminal) p->write(p->user, erase, sizeof erase - 1);
}
