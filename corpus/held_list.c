/*
 * held_list.c: the list of content that must never be used for training. Its lines:
 *
 *   owner/name                  a whole repository
 *   path:owner/name:GLOB        paths of a repository that is otherwise allowed
 *   foreign:owner/name:GLOB     paths of a held-out repository that contain third-party code, which
 *                               is not held out: the sketch excludes them
 *   # ...                       a comment
 *
 * Names and paths are compared ignoring case. In GLOB, `*` matches any characters including
 * slashes, `?` exactly one. Content is not considered here.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "corpus/sketch.h"

enum { LIST_MOST = 1 << 20, LINE_MOST = 1000 };

/* ---- reading --------------------------------------------------------------------- */

/* "owner/name", each part of letters, digits and . _ - */
static bool is_name(const char *s, size_t n)
{
    size_t slash = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '/') {
            if (slash > 0 || i == 0 || i + 1 == n) return false;
            slash = i;
        } else if (!isalnum((unsigned char)s[i]) && !strchr("._-+", s[i])) {
            return false;
        }
    }
    return slash > 0;
}

static int add_name(corpus_held_list *l, const char *name, size_t n)
{
    int rc = hpc_grow(&l->name, &l->names_cap, l->names_n + 1, sizeof *l->name);
    if (rc < 0) return rc;
    const char *copy = hpc_arena_text(l->arena, "%.*s", (int)n, name);
    if (!copy) return HPC_E_NOMEM;
    l->name[l->names_n++] = copy;
    return HPC_OK;
}

static int add_pattern(corpus_held_list *l, corpus_pattern p, const char *name, size_t n,
                       const char *glob, size_t glob_n)
{
    int rc = hpc_grow(&l->pattern, &l->patterns_cap, l->patterns_n + 1, sizeof *l->pattern);
    if (rc < 0) return rc;
    p.name = hpc_arena_text(l->arena, "%.*s", (int)n, name);
    p.glob = hpc_arena_text(l->arena, "%.*s", (int)glob_n, glob);
    if (!p.name || !p.glob) return HPC_E_NOMEM;
    l->pattern[l->patterns_n++] = p;
    return HPC_OK;
}

/* 1: taken; 0: not a line of this list. */
static int add_line(corpus_held_list *l, const char *s, size_t n)
{
    corpus_pattern p = {0};
    size_t skip = 0;
    if (n > 5 && memcmp(s, "path:", 5) == 0) skip = 5;
    if (n > 8 && memcmp(s, "foreign:", 8) == 0) skip = 8;
    p.foreign = skip == 8;
    s += skip;
    n -= skip;
    const char *colon = skip ? memchr(s, ':', n) : NULL;
    size_t name_n = colon ? (size_t)(colon - s) : n;
    if (n > LINE_MOST || memchr(s, '\0', n) || !is_name(s, name_n) || (skip && !colon)) return 0;
    int rc = HPC_OK;
    if (!skip)
        rc = add_name(l, s, n);
    else if (name_n + 1 == n)
        return 0;
    else
        rc = add_pattern(l, p, s, name_n, colon + 1, n - name_n - 1);
    return rc < 0 ? rc : 1;
}

int corpus_held_list_parse(corpus_held_list *out, const char *text, size_t n, const char *source)
{
    int rc = HPC_OK;
    *out = (corpus_held_list){.arena = hpc_arena_create(0)};
    if (!out->arena) return HPC_E_NOMEM;
    int64_t line = 1;
    for (size_t at = 0; at < n; line++) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t next = end ? (size_t)(end - text) + 1 : n, stop = end ? next - 1 : n;
        while (at < stop && isspace((unsigned char)text[at])) at++;
        while (stop > at && isspace((unsigned char)text[stop - 1])) stop--;
        if (stop > at && text[at] != '#') {
            TRY(add_line(out, text + at, stop - at));
            if (rc == 0) {
                rc = hpc_fail(HPC_E_FORMAT,
                              "%s:%lld: '%.*s' is neither owner/name, path:owner/name:GLOB nor "
                              "foreign:owner/name:GLOB",
                              source, (long long)line, (int)(stop - at < 80 ? stop - at : 80),
                              text + at);
                goto out;
            }
        }
        at = next;
    }
    rc = HPC_OK;
out:
    if (rc < 0) corpus_held_list_release(out);
    return rc;
}

int corpus_held_list_read(corpus_held_list *out, const char *path)
{
    hpc_buf text = {0};
    *out = (corpus_held_list){0};
    int rc = hpc_file_read(&text, path, LIST_MOST);
    if (rc >= 0) rc = corpus_held_list_parse(out, text.data ? text.data : "", text.n, path);
    hpc_buf_release(&text);
    return rc;
}

void corpus_held_list_release(corpus_held_list *l)
{
    hpc_free(l->name);
    hpc_free(l->pattern);
    hpc_arena_free(l->arena);
    *l = (corpus_held_list){0};
}

int corpus_held_list_text(hpc_buf *out, const corpus_held_list *l)
{
    for (int64_t i = 0; i < l->names_n; i++) hpc_buf_printf(out, "%s\n", l->name[i]);
    for (int64_t i = 0; i < l->patterns_n; i++) {
        const corpus_pattern *p = &l->pattern[i];
        hpc_buf_printf(out, "%s:%s:%s\n", p->foreign ? "foreign" : "path", p->name, p->glob);
    }
    return out->failed;
}

/* ---- asking ---------------------------------------------------------------------- */

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Going back only to the last star is enough, and never more than a product of the lengths. */
static bool matches(const char *glob, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text) {
        if (*glob == '*') {
            star = glob++;
            from = text;
        } else if (*glob && (*glob == '?' || lower(*glob) == lower(*text))) {
            glob++;
            text++;
        } else if (star) {
            glob = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*glob == '*') glob++;
    return *glob == '\0';
}

bool corpus_held_list_has(const corpus_held_list *l, const char *name)
{
    for (int64_t i = 0; i < l->names_n; i++)
        if (strcasecmp(l->name[i], name) == 0) return true;
    return false;
}

static const char *match(const corpus_held_list *l, const char *name, const char *path,
                         bool foreign)
{
    for (int64_t i = 0; i < l->patterns_n; i++) {
        const corpus_pattern *p = &l->pattern[i];
        if (p->foreign == foreign && strcasecmp(p->name, name) == 0 && matches(p->glob, path))
            return p->glob;
    }
    return NULL;
}

const char *corpus_held_list_match(const corpus_held_list *l, const char *name, const char *path)
{
    return match(l, name, path, false);
}

bool corpus_held_list_foreign(const corpus_held_list *l, const char *name, const char *path)
{
    return match(l, name, path, true) != NULL;
}

bool corpus_held_list_touches(const corpus_held_list *l, const char *name)
{
    for (int64_t i = 0; i < l->patterns_n; i++)
        if (!l->pattern[i].foreign && strcasecmp(l->pattern[i].name, name) == 0) return true;
    return false;
}
