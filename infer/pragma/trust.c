/*
 * trust.c: see trust.h.
 */
#include "infer/pragma/trust.h"

#include <string.h>

#include "runtime/base/path.h"

enum { FILE_MOST = 1 << 20 };

/* Cuts "FIELD: rest" off a line; NULL: it has no colon and blank. */
static char *cut_field(char **rest)
{
    char *field = *rest, *colon = strstr(field, ": ");
    if (!colon || colon == field) return NULL;
    *colon = '\0';
    *rest = colon + 2;
    while (**rest == ' ' || **rest == '\t') ++*rest;
    return field;
}

static void trim_end(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1])) text[--n] = '\0';
}

static int read_line(hpc_trust *out, const char *path, char *text, int64_t line)
{
    int rc = HPC_OK;
    while (*text == ' ' || *text == '\t') text++;
    trim_end(text);
    if (*text == '\0' || *text == '#') return HPC_OK;
    char *rest = text, *file = cut_field(&rest), *function = file ? cut_field(&rest) : NULL;
    if (!function || *rest == '\0')
        return hpc_fail(HPC_E_FORMAT, "%s:%lld: expected FILE: FUNCTION: ASSUMPTION", path,
                        (long long)line);
    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
    out->item[out->n++] =
        (hpc_trust_entry){.file = file, .function = function, .text = rest, .line = line};
out:
    return rc;
}

int hpc_trust_read(hpc_trust *out, const char *path)
{
    char **line;
    int64_t n;
    int rc = HPC_E_NOMEM;
    out->arena = hpc_arena_create(0);
    if (!out->arena) goto out;
    TRY(hpc_path_lines(&line, &n, out->arena, path, FILE_MOST));
    for (int64_t k = 0; k < n; k++) TRY(read_line(out, path, line[k], k + 1));
out:
    return rc;
}

void hpc_trust_release(hpc_trust *t)
{
    hpc_free(t->item);
    hpc_arena_free(t->arena);
    *t = (hpc_trust){0};
}

int64_t hpc_trust_line(const hpc_trust *t, const char *file, const char *function, const char *text)
{
    for (int64_t k = 0; k < t->n; k++) {
        const hpc_trust_entry *e = &t->item[k];
        if (strcmp(e->text, text) == 0 && strcmp(e->function, function) == 0 &&
            hpc_path_meets(e->file, file))
            return e->line;
    }
    return 0;
}

void hpc_trust_judged(hpc_trust *t, const char *file)
{
    for (int64_t k = 0; k < t->n; k++)
        if (hpc_path_meets(t->item[k].file, file)) t->item[k].judged = true;
}

void hpc_trust_used(hpc_trust *t, int64_t line)
{
    for (int64_t k = 0; k < t->n; k++)
        if (t->item[k].line == line) t->item[k].used = true;
}
