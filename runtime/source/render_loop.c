/*
 * render_loop.c: a loop in its context, as input of a model. The loop's own directives
 * are removed, and every #if that contains nothing else.
 *
 * It works on spans of text, not on tokens, so that an editor's buffer is rendered like
 * a corpus file. The options bound the copied text, except for the text between a loop
 * and its directives.
 */
#include "runtime/source/source.h"

#include <string.h>

/* ---- lines ------------------------------------------------------------------------------ */

static size_t line_begin(const char *text, size_t at, size_t least)
{
    while (at > least && text[at - 1] != '\n') at--;
    return at;
}

/* Position after the line feed, or n. */
static size_t line_end(const char *text, size_t at, size_t n)
{
    const char *p = at < n ? memchr(text + at, '\n', n - at) : NULL;
    return p ? (size_t)(p - text) + 1 : n;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool all_blank(const char *text, size_t lo, size_t hi)
{
    while (lo < hi && (is_blank(text[lo]) || text[lo] == '\n')) lo++;
    return lo == hi;
}

typedef enum line_kind { LINE_OTHER, LINE_EMPTY, LINE_IF, LINE_ELSE, LINE_ENDIF } line_kind;

/* A line that holds nothing, or a comment and nothing else, is empty. */
static line_kind kind_of_line(const char *text, size_t lo, size_t hi)
{
    while (hi > lo && (is_blank(text[hi - 1]) || text[hi - 1] == '\n')) hi--;
    while (lo < hi && is_blank(text[lo])) lo++;
    size_t n = hi - lo;
    if (n == 0) return LINE_EMPTY;
    if (text[lo] == '!' && !(n > 1 && text[lo + 1] == '$')) return LINE_EMPTY;
    if (n >= 2 && text[lo] == '/' && text[lo + 1] == '/') return LINE_EMPTY;
    if (n >= 4 && memcmp(text + lo, "/*", 2) == 0 && memcmp(text + hi - 2, "*/", 2) == 0)
        return LINE_EMPTY;
    if (text[lo] != '#') return LINE_OTHER;
    for (lo++; lo < hi && is_blank(text[lo]);) lo++;
    n = hi - lo;
    if (n >= 2 && memcmp(text + lo, "if", 2) == 0) return LINE_IF;
    if (n >= 5 && memcmp(text + lo, "endif", 5) == 0) return LINE_ENDIF;
    if (n >= 4 && (memcmp(text + lo, "else", 4) == 0 || memcmp(text + lo, "elif", 4) == 0))
        return LINE_ELSE;
    return LINE_OTHER;
}

/* ---- what is left out --------------------------------------------------------------------- */

typedef struct span {
    size_t lo, hi;
} span;

/* A directive with the blanks around it, and its line when nothing else is on it. */
static span wide_span(const char *text, size_t n, const hpc_pragma *p, size_t least)
{
    span s = {p->at, p->end};
    size_t begin = line_begin(text, s.lo, least), end = line_end(text, s.hi, n);
    if (all_blank(text, begin, s.lo) && all_blank(text, s.hi, end)) return (span){begin, end};
    while (s.hi < end && is_blank(text[s.hi])) s.hi++;
    return s;
}

/* Appends text[lo..hi) without the directives [first, last) that pass `is_own`. */
static void copy_without(hpc_buf *out, const hpc_loops *l, int64_t first, int64_t last,
                         int64_t loop, bool closers, const char *text, size_t n, span of)
{
    size_t at = of.lo;
    for (int64_t k = first; k < last; k++) {
        const hpc_pragma *p = &l->pragma[k];
        if (p->at >= of.hi) break;
        if (closers && !(p->closes && p->loop == loop)) continue;
        span s = wide_span(text, n, p, of.lo);
        if (s.hi > of.hi) s.hi = of.hi;
        if (s.lo > at) hpc_buf_add(out, text + at, s.lo - at);
        if (s.hi > at) at = s.hi;
    }
    if (of.hi > at) hpc_buf_add(out, text + at, of.hi - at);
}

/* Removes every #if ... #endif that contains only empty lines. Works in place: the rest moves
 * forward. */
static void drop_empty_groups(hpc_buf *b)
{
    enum { DEPTH = 16 };
    struct {
        size_t out; /* where the line of the #if was written */
        bool empty;
    } open[DEPTH];
    size_t out = 0, n = 0;
    if (!b->data) return;
    for (size_t at = 0, end; at < b->n; at = end) {
        end = line_end(b->data, at, b->n);
        line_kind kind = kind_of_line(b->data, at, end);
        if (kind == LINE_IF && n == DEPTH) n = 0; /* deeper than anybody nests: all is kept */
        if (kind == LINE_IF) {
            open[n].out = out;
            open[n++].empty = true;
        }
        memmove(b->data + out, b->data + at, end - at);
        out += end - at;
        if (kind == LINE_OTHER)
            for (size_t k = 0; k < n; k++) open[k].empty = false;
        if (kind == LINE_ENDIF && n > 0 && open[--n].empty) out = open[n].out;
    }
    b->n = out;
    b->data[out] = '\0';
}

/* From the first own directive, or an #if just before it, to the loop. */
static span gap_of(const hpc_loops *l, const hpc_loop *loop, const char *text, size_t least)
{
    enum { BACK = 8 };
    if (loop->pragmas_n == 0) return (span){loop->at, loop->at};
    size_t lo = line_begin(text, l->pragma[loop->pragma].at, least), at = lo;
    if (l->pragma[loop->pragma].at < least) return (span){loop->at, loop->at};
    for (int k = 0; k < BACK && at > least; k++) {
        size_t begin = line_begin(text, at - 1, least);
        line_kind kind = kind_of_line(text, begin, at);
        if (kind != LINE_IF && kind != LINE_EMPTY && kind != LINE_ELSE) break;
        if (kind == LINE_IF) lo = begin;
        at = begin;
    }
    return (span){lo, loop->at};
}

/* ---- context -------------------------------------------------------------------------------- */

/* The last whole lines of text[lo..hi) that have `most` bytes together; what follows hi is on the
 * last of them. */
static size_t tail_begin(const char *text, size_t lo, size_t hi, size_t most)
{
    if (hi - lo <= most) return lo;
    size_t at = hi - most;
    if (text[at - 1] == '\n') return at;
    size_t end = line_end(text, at, hi);
    return end < hi || text[hi - 1] == '\n' ? end : hi;
}

/* The function's header and what is nearest to the loop, `most` bytes at most. */
static int put_context(hpc_sample *out, const hpc_function *f, const char *text, size_t gap_at,
                       const hpc_buf *gap, size_t most)
{
    size_t lo = f ? f->at : 0;
    int rc = HPC_OK;
    if (lo > gap_at) lo = gap_at;
    if (gap_at - lo <= most && gap->n <= most - (gap_at - lo)) {
        TRY(hpc_sample_text(out, text + lo, gap_at - lo));
        TRY(hpc_sample_text(out, gap->data, gap->n));
        return rc;
    }
    size_t header = f && f->body_at < gap_at ? line_end(text, f->body_at, gap_at) - lo : 0;
    if (header > most / 2) header = 0; /* the lines near the loop tell more */
    TRY(hpc_sample_text(out, text + lo, header));
    most -= header;
    if (gap->n > most) {
        size_t at = tail_begin(gap->data, 0, gap->n, most);
        TRY(hpc_sample_text(out, gap->data + at, gap->n - at));
        return rc;
    }
    size_t at = tail_begin(text, lo + header, gap_at, most - gap->n);
    TRY(hpc_sample_text(out, text + at, gap_at - at));
    TRY(hpc_sample_text(out, gap->data, gap->n));
out:
    return rc;
}

/* ---- after the loop ------------------------------------------------------------------------- */

/* The first directive at or after `at`. */
static int64_t pragma_from(const hpc_loops *l, uint32_t at)
{
    int64_t lo = 0, hi = l->pragma_n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (l->pragma[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Adds whole lines after the loop, `most` bytes at most, within its function. The loop's own "end"
 * directives directly follow it and are not counted. */
static int put_after(hpc_sample *out, const hpc_loops *l, int64_t loop, const hpc_function *f,
                     const char *text, size_t n, size_t most)
{
    enum { CLOSERS = 8 };
    size_t at = l->item[loop].end, hi = f && f->end > at && f->end < n ? f->end : n, closers = at;
    int64_t first = pragma_from(l, l->item[loop].end), last = first;
    hpc_buf b = {0};
    int rc = HPC_OK;
    while (last < l->pragma_n && last - first < CLOSERS && l->pragma[last].closes &&
           l->pragma[last].loop == loop)
        closers = line_end(text, l->pragma[last++].end, n);
    if (closers > hi) hi = closers;
    if (hi - closers > most) {
        size_t end = closers + most;
        while (end > closers && text[end - 1] != '\n') end--;
        hi = end;
    }
    copy_without(&b, l, first, last, loop, true, text, n, (span){at, hi});
    if (b.failed) TRY(b.failed);
    size_t end = b.n;
    if (end > most) {
        for (end = most; end > 0 && b.data[end - 1] != '\n';) end--;
    }
    TRY(hpc_sample_text(out, b.data, end));
out:
    hpc_buf_release(&b);
    return rc;
}

static int put_loop(hpc_sample *out, const hpc_loops *l, int64_t loop, const hpc_functions *f,
                    const char *text, size_t n, const hpc_render_options *options)
{
    const hpc_loop *x = &l->item[loop];
    const hpc_function *fn = x->function >= 0 ? &f->item[x->function] : NULL;
    span gap = gap_of(l, x, text, fn && fn->at <= x->at ? fn->at : 0);
    hpc_buf b = {0};
    int rc = HPC_OK;
    if (x->pragmas_n > 0) {
        copy_without(&b, l, x->pragma, x->pragma + x->pragmas_n, loop, false, text, n, gap);
        if (b.failed) TRY(b.failed);
        drop_empty_groups(&b);
    }
    TRY(put_context(out, fn, text, gap.lo, &b, options->before));
    TRY(hpc_sample_mark(out, HPC_MARK_LOOP));
    if (x->end - x->at > options->loop) {
        size_t end = line_begin(text, x->at + options->loop, x->at);
        TRY(hpc_sample_text(out, text + x->at, end > x->at ? end - x->at : options->loop));
    } else {
        TRY(hpc_sample_text(out, text + x->at, x->end - x->at));
        TRY(put_after(out, l, loop, fn, text, n, options->after));
    }
out:
    hpc_buf_release(&b);
    return rc;
}

int hpc_render_loop(hpc_sample *out, const hpc_loops *l, int64_t loop, const hpc_functions *f,
                    const char *path, const char *text, size_t n, const char *answer,
                    const hpc_render_options *options)
{
    const hpc_render_options defaults = HPC_RENDER_DEFAULTS;
    int rc = HPC_OK;
    hpc_assert(loop >= 0 && loop < l->n && l->item[loop].end <= n);
    if (path) {
        TRY(hpc_sample_mark(out, HPC_MARK_FILE));
        TRY(hpc_sample_text(out, path, strlen(path)));
        TRY(hpc_sample_text(out, "\n", 1));
    }
    TRY(put_loop(out, l, loop, f, text, n, options ? options : &defaults));
    TRY(hpc_sample_mark(out, HPC_MARK_PRAGMA));
    if (!answer) return rc;
    TRY(hpc_sample_text(out, answer, strlen(answer)));
    TRY(hpc_sample_mark(out, HPC_MARK_END));
out:
    return rc;
}
