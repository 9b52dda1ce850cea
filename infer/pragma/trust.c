/*
 * trust.c: see trust.h.
 */
#include "infer/pragma/trust.h"

#include <string.h>

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
    if (strncmp(file, "./", 2) == 0) file += 2;
    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
    out->item[out->n++] =
        (hpc_trust_entry){.file = file, .function = function, .text = rest, .line = line};
out:
    return rc;
}

int hpc_trust_read(hpc_trust *out, const char *path)
{
    hpc_buf b = {0};
    int64_t line = 0;
    int rc;
    TRY(hpc_file_read(&b, path, FILE_MOST));
    out->arena = hpc_arena_create(0);
    char *text = out->arena ? hpc_arena_text(out->arena, "%s", b.data ? b.data : "") : NULL;
    if (!text) TRY(HPC_E_NOMEM);
    while (text) {
        char *end = strchr(text, '\n');
        if (end) *end = '\0';
        TRY(read_line(out, path, text, ++line));
        text = end ? end + 1 : NULL;
    }
out:
    hpc_buf_release(&b);
    return rc;
}

void hpc_trust_release(hpc_trust *t)
{
    hpc_free(t->item);
    hpc_arena_free(t->arena);
    *t = (hpc_trust){0};
}

/* "src/a.c" names "project/src/a.c", and the reverse. */
static bool is_same_file(const char *entry, const char *path)
{
    size_t n = strlen(entry), m = strlen(path);
    if (n > m) return is_same_file(path, entry);
    return strcmp(path + m - n, entry) == 0 && (n == m || path[m - n - 1] == '/');
}

int64_t hpc_trust_line(const hpc_trust *t, const char *file, const char *function, const char *text)
{
    for (int64_t k = 0; k < t->n; k++) {
        const hpc_trust_entry *e = &t->item[k];
        if (strcmp(e->text, text) == 0 && strcmp(e->function, function) == 0 &&
            is_same_file(e->file, file))
            return e->line;
    }
    return 0;
}

void hpc_trust_judged(hpc_trust *t, const char *file)
{
    for (int64_t k = 0; k < t->n; k++)
        if (is_same_file(t->item[k].file, file)) t->item[k].judged = true;
}

void hpc_trust_used(hpc_trust *t, int64_t line)
{
    for (int64_t k = 0; k < t->n; k++)
        if (t->item[k].line == line) t->item[k].used = true;
}
