/*
 * lines.c: lines and blanks of a text.
 */
#include "infer/complete/priv.h"

#include <string.h>

size_t complete_line_begin(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n') at--;
    return at;
}

size_t complete_line_end(const char *text, size_t n, size_t at)
{
    const char *end = at < n ? memchr(text + at, '\n', n - at) : NULL;
    return end ? (size_t)(end - text) : n;
}

size_t complete_indent_of(const char *text, size_t n, size_t at)
{
    size_t columns = 0;
    for (size_t k = complete_line_begin(text, at); k < n; k++) {
        if (text[k] == '\t')
            columns += COMPLETE_TAB - columns % COMPLETE_TAB;
        else if (text[k] == ' ')
            columns++;
        else
            break;
    }
    return columns;
}

size_t complete_blanks(const char *text, size_t n, size_t at)
{
    while (at < n && (text[at] == ' ' || text[at] == '\t')) at++;
    return at;
}

bool complete_is_blank(const char *text, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!strchr(" \t\r\n\f\v", text[k]) || text[k] == 0) return false;
    return true;
}
