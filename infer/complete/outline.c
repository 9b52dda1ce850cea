/*
 * outline.c: finds the end of a completion in a language without a lexer. Indentation and blank
 * lines delimit blocks. That suits Python, Makefiles and prose, and does no harm where brackets
 * delimit blocks.
 */
#include <string.h>

#include "infer/complete/priv.h"

typedef struct outline {
    hpc_complete_stop kind;
    bool inside;  /* text precedes the cursor on its line, */
    size_t outer; /* which has this indentation */
    bool limited; /* a further line has been read, so that this is known: */
    size_t limit; /* the indentation that lines of the block need */
    bool gap;     /* blank lines since the last line with something on it */
    size_t kept;  /* the end of that line */
} outline;

static void find_limit(outline *x, size_t indent)
{
    x->limited = true;
    if (x->kind == HPC_STOP_FUNCTION)
        x->limit = indent > 0 || (x->inside && x->outer > 0);
    else
        x->limit = x->inside && indent < x->outer ? x->outer : indent;
}

/* A line that closes a bracket, as far left as the one that opened it. */
static bool is_closing(char first)
{
    return first && strchr(")]}", first);
}

static bool goes_on_after(const char *text, size_t end)
{
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t')) end--;
    return end > 0 && strchr(":{,(", text[end - 1]);
}

/* True if the completion is over with this line, which has something on it, or before it. */
static bool ends_at(outline *x, const char *text, size_t first, size_t end, size_t indent)
{
    if (!x->limited) find_limit(x, indent);
    if (indent < x->limit && is_closing(text[first])) {
        x->kept = end;
        return !goes_on_after(text, end);
    }
    if (indent < x->limit || (x->limit == 0 && x->gap && indent == 0)) return true;
    x->kept = end;
    x->gap = false;
    return false;
}

void complete_outline_find(size_t *end, bool *over, hpc_complete_stop kind, const char *text,
                           size_t n, size_t lead, bool last)
{
    outline x = {.kind = kind, .inside = !complete_is_blank(text, lead), .kept = lead};
    x.outer = complete_indent_of(text, n, 0);
    *end = n;
    *over = false;
    for (size_t at = 0, stop; at < n; at = stop + 1) {
        stop = complete_line_end(text, n, at);
        size_t first = complete_blanks(text, stop, at);
        if (at == 0 && x.inside) {
            x.kept = stop;
        } else if (first == stop) {
            x.gap = true;
        } else if (is_closing(text[first]) && stop == n && !last) {
            return; /* what comes decides */
        } else if (ends_at(&x, text, first, stop, complete_indent_of(text, n, at))) {
            *end = x.kept > lead ? x.kept : lead;
            *over = true;
            return;
        }
    }
}
