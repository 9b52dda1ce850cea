/*
 * Properties of standard output and standard error: terminal, width, colours.
 */
#include "cmd/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is(FILE *stream)
{
    return isatty(fileno(stream)) == 1;
}

bool terminal_moves(FILE *stream)
{
    const char *kind = getenv("TERM");
    return kind && kind[0] && strcmp(kind, "dumb") != 0 && terminal_is(stream);
}

/* ---- width ---------------------------------------------------------------------------------- */

/* 0: unknown. */
static int columns_of(FILE *stream)
{
    const char *given = getenv("COLUMNS");
    struct winsize w;
    int n = given ? atoi(given) : 0;
    if (n <= 0 && terminal_is(stream) && ioctl(fileno(stream), TIOCGWINSZ, &w) == 0) n = w.ws_col;
    return n > 0 ? n : 0;
}

int hpc_cmd_columns(void)
{
    int n = columns_of(stdout);
    if (n == 0) n = 80;
    return n < 20 ? 20 : n > 120 ? 120 : n;
}

int hpc_cmd_table_columns(void)
{
    int n = columns_of(stdout);
    return n > 0 && n < 20 ? 20 : n;
}

int terminal_error_columns(void)
{
    return columns_of(stderr);
}

/* ---- colours -------------------------------------------------------------------------------- */

static bool has_colours(FILE *stream)
{
    const char *no = getenv("NO_COLOR");
    return !(no && no[0]) && terminal_moves(stream);
}

const char *terminal_begin(FILE *stream, terminal_style style)
{
    static const char *const sequence[] = {
        [STYLE_NONE] = "",        [STYLE_GOOD] = "\x1b[32m", [STYLE_DOUBT] = "\x1b[33m",
        [STYLE_BAD] = "\x1b[31m", [STYLE_TITLE] = "\x1b[1m", [STYLE_FAINT] = "\x1b[2m"};
    return has_colours(stream) ? sequence[style] : "";
}

const char *terminal_end(FILE *stream, terminal_style style)
{
    return style != STYLE_NONE && has_colours(stream) ? "\x1b[0m" : "";
}

void terminal_put(hpc_buf *out, terminal_style style, const char *text)
{
    hpc_buf_printf(out, "%s%s%s", terminal_begin(stdout, style), text, terminal_end(stdout, style));
}
