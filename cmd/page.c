/*
 * page.c: HTML pages of reports: frame, style sheet, table cells, and text of others.
 */
#include "cmd/page.h"

#include <string.h>

#include "runtime/plot/plot.h"

/* ---- text of others -------------------------------------------------------------------------- */

/* Decodes a character of UTF-8 and counts its bytes; an invalid byte becomes '?'. */
static uint32_t decode(int *bytes, const unsigned char *p)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 0;
    uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));
    *bytes = 1;
    for (int k = 1; k < n; k++) {
        if ((p[k] & 0xc0) != 0x80) return '?';
        c = c << 6 | (p[k] & 0x3f);
    }
    if (n == 0 || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return '?';
    *bytes = n;
    return c;
}

static bool is_blank(uint32_t c)
{
    return c <= ' ' || (c >= 0x7f && c < 0xa0);
}

/* Marks that change the direction of writing, break lines or have no width. */
static bool is_unseen(uint32_t c)
{
    return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0x061c || c == 0xfeff;
}

const char *hpc_cmd_line(hpc_arena *a, const char *text, size_t most)
{
    const unsigned char *p = (const unsigned char *)text;
    char *out = hpc_arena_alloc(a, most + 8, 1);
    size_t n = 0;
    bool blank = false;
    if (!out) return NULL;
    for (int bytes; *p; p += bytes) {
        uint32_t c = decode(&bytes, p);
        blank = blank || is_blank(c);
        if (is_blank(c) || is_unseen(c)) continue;
        if (n + (size_t)bytes + blank > most) return strcat(out, "...");
        if (blank && n > 0) out[n++] = ' ';
        blank = false;
        if (bytes == 1)
            out[n++] = (char)c;
        else
            for (int k = 0; k < bytes; k++) out[n++] = (char)p[k];
    }
    return out;
}

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

void hpc_cmd_page_open(hpc_buf *out, const char *title, const char *style)
{
    hpc_buf_text(out, head);
    hpc_plot_escape(out, title);
    hpc_buf_printf(out, "</title>\n<style>\n%s%s", common, style);
    hpc_plot_inline_style(out);
    hpc_buf_text(out, "</style>\n</head>\n<body>\n");
}

int hpc_cmd_page_close(hpc_buf *out)
{
    return hpc_buf_text(out, "</body>\n</html>\n");
}

/* ---- tables ---------------------------------------------------------------------------------- */

void hpc_cmd_page_columns(hpc_buf *out, const char *columns)
{
    hpc_buf_text(out, "<div class=\"scroll\"><table>\n<tr>");
    for (const char *p = columns; *p; p += strcspn(p, "|"), p += *p == '|') {
        bool number = *p == '#';
        hpc_buf_printf(out, "<th%s>%.*s</th>", number ? " class=\"n\"" : "",
                       (int)strcspn(p, "|") - number, p + number);
    }
}

void hpc_cmd_page_cell(hpc_buf *out, const char *class, const char *text)
{
    hpc_buf_printf(out, class[0] ? "<td class=\"%s\">" : "<td>", class);
    hpc_plot_escape(out, text);
    hpc_buf_text(out, "</td>");
}
