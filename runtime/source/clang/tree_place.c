/*
 * tree_place.c: positions in the file, and facts that libclang does not report but the text shows:
 * which parts of a "for" are absent, and the values of integers.
 */
#include <ctype.h>
#include <string.h>

#include "runtime/source/clang/priv.h"

/* ---- places --------------------------------------------------------------------------------- */

bool walk_go_to(walk *w, CXFile file)
{
    size_t n;
    const char *text = clang_getFileContents(w->u->unit, file, &n);
    if (!text || n > UINT32_MAX) return false;
    w->u->file = file;
    w->text = text;
    w->text_n = n;
    w->other = NULL;
    w->first = clang_getLocationForOffset(w->u->unit, file, 0);
    const CXSourceLocation last = clang_getLocationForOffset(w->u->unit, file, (unsigned)n);
    w->numbered = last.int_data - w->first.int_data == n;
    return true;
}

/* Of most places: of the file itself and of no macro. Asking libclang is a fifth of a tree's time.
 */
static bool is_plain(const walk *w, CXSourceLocation l, uint32_t *at)
{
    const unsigned offset = l.int_data - w->first.int_data;
    if (!w->numbered || offset > w->text_n || l.ptr_data[0] != w->first.ptr_data[0] ||
        l.ptr_data[1] != w->first.ptr_data[1])
        return false;
    *at = offset;
    return true;
}

static bool is_own(walk *w, CXFile file)
{
    if (file == w->u->file) return true;
    if (!file || file == w->other) return false;
    if (clang_File_isEqual(file, w->u->file)) return true;
    w->other = file;
    return false;
}

unsigned walk_end_of(const char *text, size_t n)
{
    const char end = n > 0 ? text[n - 1] : '\0';
    if (end != '\n' && end != '\r') return (unsigned)n;
    const char before = n > 1 ? text[n - 2] : '\0';
    return (unsigned)n - (before != end && (before == '\n' || before == '\r') ? 2 : 1);
}

/* True if a place is the end of the unit's own file: anything still open there ends where the
 * including text continues. */
static bool is_at_end(walk *w, CXFile file, unsigned offset)
{
    const hpc_clang_unit *u = w->u;
    return !w->elsewhere && u->outer && file && offset >= u->outer_end &&
           clang_File_isEqual(file, u->outer);
}

bool walk_in_file(walk *w, CXSourceLocation l, uint32_t *at)
{
    CXFile file;
    unsigned offset;
    if (is_plain(w, l, at)) return true;
    clang_getExpansionLocation(l, &file, NULL, NULL, &offset);
    if (is_at_end(w, file, offset)) {
        *at = walk_end_of(w->text, w->text_n);
        return true;
    }
    if (!is_own(w, file) || offset > w->text_n) return false;
    *at = offset;
    return true;
}

/* True if the text that a location expands to at a byte comes from a macro. */
static bool of_macro(walk *w, CXSourceLocation l, uint32_t at)
{
    CXFile file;
    unsigned offset;
    uint32_t plain;
    if (is_plain(w, l, &plain)) return plain != at;
    clang_getSpellingLocation(l, &file, NULL, NULL, &offset);
    if (is_at_end(w, file, offset)) return at != walk_end_of(w->text, w->text_n);
    return offset != at || !is_own(w, file);
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Position after the string or character that begins here; a quote within a number (1'000) begins
 * none. */
static uint32_t behind_quote(const walk *w, uint32_t at)
{
    const char quote = w->text[at++];
    if (quote == '\'' && at > 1 && isdigit((unsigned char)w->text[at - 2])) return at;
    while (at < w->text_n && w->text[at] != quote && w->text[at] != '\n')
        at += w->text[at] == '\\' && at + 1 < w->text_n ? 2 : 1;
    return at < w->text_n ? at + 1 : at;
}

/* Position after a bracket with its contents, a string, or one byte. */
static uint32_t behind(const walk *w, uint32_t at)
{
    int depth = 0;
    do {
        const char c = w->text[at];
        if (c == '(' || c == '[' || c == '{') depth++;
        if (c == ')' || c == ']' || c == '}') depth--;
        at = c == '"' || c == '\'' ? behind_quote(w, at) : at + 1;
        if (depth > 0) at = walk_skip(w, at);
    } while (depth > 0 && at < w->text_n);
    return at;
}

/* Position after the use of a macro with arguments. */
static uint32_t behind_use(const walk *w, uint32_t at)
{
    while (at < w->text_n && is_letter(w->text[at])) at++;
    uint32_t open = walk_skip(w, at);
    return open < w->text_n && w->text[open] == '(' ? behind(w, open) : at;
}

walk_place walk_place_of(walk *w, CXCursor c)
{
    CXSourceRange r = clang_getCursorExtent(c);
    CXSourceLocation start = clang_getRangeStart(r), end = clang_getRangeEnd(r);
    walk_place p = {0};
    if (!walk_in_file(w, start, &p.at)) { /* in what is included here: where we are */
        p.at = p.to = w->n > 0 ? w->node[w->n - 1].at : 0;
        p.macro = true;
        return p;
    }
    p.macro = of_macro(w, start, p.at);
    if (!walk_in_file(w, end, &p.to)) p.to = p.at;
    if (of_macro(w, end, p.to)) { /* an argument is last: it ends where the use does */
        p.macro = true;
        p.to = behind_use(w, p.to);
    }
    if (p.to < p.at) p.to = p.at;
    return p;
}

bool walk_spelled(walk *w, CXCursor c, uint32_t *at)
{
    CXFile file;
    unsigned offset;
    CXSourceLocation start = clang_getRangeStart(clang_getCursorExtent(c));
    if (is_plain(w, start, at)) return *at < w->text_n;
    clang_getSpellingLocation(start, &file, NULL, NULL, &offset);
    *at = offset;
    return is_own(w, file) && offset < w->text_n;
}

/* ---- the text ------------------------------------------------------------------------------- */

static bool begins(const walk *w, uint32_t at, const char *with)
{
    size_t n = strlen(with);
    return w->text_n - at >= n && memcmp(w->text + at, with, n) == 0;
}

uint32_t walk_skip(const walk *w, uint32_t at)
{
    while (at < w->text_n) {
        const char *end, *text = w->text + at;
        const size_t left = w->text_n - at;
        if (isspace((unsigned char)*text)) {
            at++;
        } else if (begins(w, at, "\\\n") || begins(w, at, "\\\r\n")) {
            at += text[1] == '\n' ? 2 : 3;
        } else if (begins(w, at, "//")) {
            end = memchr(text, '\n', left);
            at = end ? (uint32_t)(end - w->text) : (uint32_t)w->text_n;
        } else if (begins(w, at, "/*")) {
            end = left > 2 ? memmem(text + 2, left - 2, "*/", 2) : NULL;
            at = end ? (uint32_t)(end + 2 - w->text) : (uint32_t)w->text_n;
        } else {
            break;
        }
    }
    return at;
}

int walk_for_parts(const walk *w, uint32_t at)
{
    int bits = 0;
    if (!begins(w, at, "for")) return -1;
    at = walk_skip(w, at + 3);
    if (!begins(w, at, "(")) return -1;
    at = walk_skip(w, at + 1);
    for (int part = 0; part < 3;) {
        if (at >= w->text_n) return -1;
        const char c = w->text[at];
        if (c == ')') return part == 2 ? bits : -1;
        if (c == ';') {
            part++;
            at++;
        } else {
            bits |= 1 << part;
            at = behind(w, at);
        }
        at = walk_skip(w, at);
    }
    return -1;
}

bool walk_integer(int64_t *out, const walk *w, uint32_t at)
{
    unsigned base = 10;
    uint64_t value = 0;
    if (at >= w->text_n || !isdigit((unsigned char)w->text[at])) return false;
    if (w->text[at] == '0' && at + 1 < w->text_n) {
        const char c = (char)tolower((unsigned char)w->text[at + 1]);
        base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
        at += base == 8 ? 1 : 2;
    }
    for (; at < w->text_n; at++) {
        const char c = (char)tolower((unsigned char)w->text[at]);
        const unsigned digit = isdigit((unsigned char)c)                  ? (unsigned)(c - '0')
                               : base == 16 && isxdigit((unsigned char)c) ? (unsigned)(c - 'a') + 10
                                                                          : 99;
        if (c == '\'') continue;
        if (digit == 99) break;
        if (digit >= base) return false;
        value = value * base + digit;
    }
    if (at < w->text_n && w->text[at] == '\\') return false; /* a continued line */
    for (; at < w->text_n && is_letter(w->text[at]); at++)
        if (!strchr("uUlLzZ", w->text[at])) return false;
    *out = (int64_t)value;
    return true;
}
