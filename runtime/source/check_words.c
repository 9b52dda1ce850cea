/*
 * check_words.c: splits a command line into arguments as a POSIX shell does, and removes "." and
 * ".." from paths. Nothing is expanded: `$`, `*`, `;` and `|` are ordinary characters, because no
 * shell runs the command.
 */
#include <string.h>

#include "runtime/source/check_priv.h"

/* ---- words ---------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Takes a quoted part from its opening quote on. Returns the position after its end, or NULL if it
 * has none. */
static const char *take_quoted(char **out, const char *p)
{
    const char quote = *p++;
    for (; *p && *p != quote; p++) {
        if (quote == '"' && *p == '\\' && p[1] && strchr("\"\\$`\n", p[1])) {
            if (*++p == '\n') continue;
        }
        *(*out)++ = *p;
    }
    return *p ? p + 1 : NULL;
}

/* A word from its first byte on, NUL-terminated at *out. */
static const char *take_word(char **out, const char *p)
{
    while (p && *p && !is_blank(*p)) {
        if (*p == '\'' || *p == '"') {
            p = take_quoted(out, p);
        } else if (*p == '\\' && p[1] == '\n') {
            p += 2;
        } else {
            if (*p == '\\' && p[1]) p++;
            *(*out)++ = *p++;
        }
    }
    *(*out)++ = '\0';
    return p;
}

int check_words(const char ***out, int64_t *n, hpc_arena *a, const char *text)
{
    size_t length = strlen(text);
    /* No argument is longer than its source, and each is followed by a blank or the end. */
    char *letters = hpc_arena_alloc(a, length + 1, 1);
    const char **word = hpc_arena_alloc(a, length / 2 + 2, sizeof *word);
    *out = NULL;
    *n = 0;
    if (!letters || !word) return HPC_E_NOMEM;
    for (const char *p = text;;) {
        while (is_blank(*p)) p++;
        if (!*p) break;
        word[(*n)++] = letters;
        const char *next = take_word(&letters, p);
        if (!next) return hpc_fail(HPC_E_FORMAT, "a quote is not closed: %.60s", p);
        p = next;
    }
    *out = word;
    return HPC_OK;
}

/* ---- paths ---------------------------------------------------------------------------------- */

const char *check_path(hpc_arena *a, const char *folder, const char *path)
{
    char *whole =
        *path == '/' ? hpc_arena_text(a, "%s", path) : hpc_arena_text(a, "%s/%s", folder, path);
    if (!whole) return NULL;
    char *end = whole;
    for (const char *p = whole; *p;) {
        while (*p == '/') p++;
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.') {
            while (end > whole && *--end != '/') continue;
        } else if (n > 0 && !(n == 1 && *p == '.')) {
            *end++ = '/';
            memmove(end, p, n);
            end += n;
        }
        p += n;
    }
    if (end == whole) *end++ = '/';
    *end = '\0';
    return whole;
}
