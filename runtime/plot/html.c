/*
 * HTML pages of reports: frame, style sheet and table cells.
 */
#include "runtime/plot/html.h"

#include <string.h>

#include "runtime/plot/plot.h"

/* ---- the frame ------------------------------------------------------------------------------- */

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\">\n<title>";

static const char common[] =
    ":root{color-scheme:light dark;--line:#ddd;--dim:#666}\n"
    "@media (prefers-color-scheme:dark){:root{--line:#444;--dim:#aaa}}\n"
    "body{font:15px/1.45 'DejaVu Sans',sans-serif;margin:2em auto;max-width:1180px;padding:0 1em}\n"
    "h1{font-size:1.6em}h2{font-size:1.2em;margin:2.5em 0 .3em;border-top:1px solid var(--line);"
    "padding-top:1em;overflow-wrap:anywhere}h3{font-size:1em;margin:1.5em 0 .3em}\n"
    "p{margin:.4em 0}.dim{color:var(--dim)}.scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.9em}\n"
    "th,td{padding:.2em .8em .2em 0;border-bottom:1px solid var(--line);text-align:left;"
    "white-space:nowrap;vertical-align:top}\n"
    "td.n,th.n{text-align:right}td.wrap{white-space:normal;min-width:20em;overflow-wrap:anywhere}\n"
    "code{font:.95em 'DejaVu Sans Mono',monospace}\n";

void hpc_html_open(hpc_buf *out, const char *title, const char *style)
{
    hpc_buf_text(out, head);
    hpc_plot_escape(out, title);
    hpc_buf_printf(out, "</title>\n<style>\n%s%s", common, style);
    hpc_plot_inline_style(out);
    hpc_buf_text(out, "</style>\n</head>\n<body>\n");
}

int hpc_html_close(hpc_buf *out)
{
    return hpc_buf_text(out, "</body>\n</html>\n");
}

/* ---- tables ---------------------------------------------------------------------------------- */

void hpc_html_columns(hpc_buf *out, const char *columns)
{
    hpc_buf_text(out, "<div class=\"scroll\"><table>\n<tr>");
    for (const char *p = columns; *p; p += strcspn(p, "|"), p += *p == '|') {
        bool number = *p == '#';
        hpc_buf_printf(out, "<th%s>%.*s</th>", number ? " class=\"n\"" : "",
                       (int)strcspn(p, "|") - number, p + number);
    }
}

void hpc_html_cell(hpc_buf *out, const char *class_name, const char *text)
{
    hpc_buf_printf(out, class_name[0] ? "<td class=\"%s\">" : "<td>", class_name);
    hpc_plot_escape(out, text);
    hpc_buf_text(out, "</td>");
}
