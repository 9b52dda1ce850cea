/*
 * pack_scan.c: finds the names by which files of a repository depend on each other: includes and
 * Fortran modules.
 *
 * It reads single lines and ignores comments and conditions. A wrong or missing name only changes
 * the order of packing.
 */
#include <string.h>

#include "corpus/pack.h"

enum { NAME_MOST = 200, RECORDS_MOST = 4096 };

typedef struct line {
    const char *at, *end;
} line;

static void skip_blanks(line *l)
{
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\t' || *l->at == '\r')) l->at++;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool is_name(char c)
{
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* The word comes next, in any case, and is not the beginning of a longer one. */
static bool take_word(line *l, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(l->end - l->at) < n) return false;
    for (size_t k = 0; k < n; k++)
        if (lower(l->at[k]) != word[k]) return false;
    if (l->at + n < l->end && is_name(l->at[n])) return false;
    l->at += n;
    return true;
}

static bool take(line *l, char c)
{
    skip_blanks(l);
    if (l->at >= l->end || *l->at != c) return false;
    l->at++;
    return true;
}

static int put(hpc_buf *out, char kind, const char *name, size_t n, bool fold)
{
    size_t before = out->n;
    int rc = HPC_OK;
    if (n == 0 || n > NAME_MOST) return HPC_OK;
    TRY(hpc_buf_add(out, &kind, 1));
    TRY(hpc_buf_add(out, name, n));
    for (size_t k = before + 1; k < out->n && fold; k++) out->data[k] = lower(out->data[k]);
    TRY(hpc_buf_add(out, "", 1));
    return 1;
out:
    return rc;
}

/* "x/y.h", 'x.inc' of Fortran, and <x/y.h>: with a folder it may well be of this repository. */
static int quoted(hpc_buf *out, line *l, bool fortran)
{
    skip_blanks(l);
    if (l->at >= l->end) return HPC_OK;
    char open = *l->at++, close = open == '<' ? '>' : open;
    if (open != '"' && open != '<' && !(fortran && open == '\'')) return HPC_OK;
    const char *end = memchr(l->at, close, (size_t)(l->end - l->at));
    if (!end || memchr(l->at, '\0', (size_t)(end - l->at))) return HPC_OK;
    if (open == '<' && !memchr(l->at, '/', (size_t)(end - l->at))) return HPC_OK;
    return put(out, 'i', l->at, (size_t)(end - l->at), false);
}

static int module_name(hpc_buf *out, line *l, char kind)
{
    skip_blanks(l);
    const char *from = l->at;
    while (l->at < l->end && is_name(*l->at)) l->at++;
    return put(out, kind, from, (size_t)(l->at - from), true);
}

/* module NAME; not "module procedure p", "module subroutine s": two words follow there. */
static int module_statement(hpc_buf *out, line *l)
{
    line name = *l;
    skip_blanks(&name);
    while (name.at < name.end && is_name(*name.at)) name.at++;
    skip_blanks(&name);
    if (name.at < name.end && is_name(*name.at)) return HPC_OK;
    return module_name(out, l, 'm');
}

static int fortran_line(hpc_buf *out, line *l)
{
    if (take_word(l, "use")) {
        if (take(l, ',')) { /* use, intrinsic :: m */
            const char *colon = memchr(l->at, ':', (size_t)(l->end - l->at));
            if (!colon) return HPC_OK;
            l->at = colon;
        }
        while (take(l, ':')) {
        }
        return module_name(out, l, 'u');
    }
    if (take_word(l, "module")) return module_statement(out, l);
    if (take_word(l, "submodule") && take(l, '(')) return module_name(out, l, 'u');
    if (take_word(l, "include")) return quoted(out, l, true);
    return HPC_OK;
}

int pack_scan(hpc_buf *out, const char *text, size_t n, hpc_language language)
{
    const char *end = text + n;
    int64_t records = 0;
    int rc = HPC_OK;
    for (line l = {.at = text}; l.at < end && records < RECORDS_MOST; l.at = l.end + 1) {
        const char *newline = memchr(l.at, '\n', (size_t)(end - l.at));
        line inside = {.at = l.at, .end = newline ? newline : end};
        l.end = inside.end;
        skip_blanks(&inside);
        rc = HPC_OK;
        if (take(&inside, '#')) {
            skip_blanks(&inside);
            if (take_word(&inside, "include")) TRY(quoted(out, &inside, false));
        } else if (language == HPC_LANGUAGE_FORTRAN) {
            TRY(fortran_line(out, &inside));
        }
        records += rc;
    }
    rc = HPC_OK;
out:
    return rc;
}
