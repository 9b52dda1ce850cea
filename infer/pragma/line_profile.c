/*
 * line_profile.c: see line_profile.h.
 */
#include "infer/pragma/line_profile.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/path.h"

enum { FILE_MOST = 64 << 20 };

/* "heat.c:31": the line; 0: the word is no place. Cuts the line off. */
static uint32_t cut_place(char *word)
{
    char *colon = strrchr(word, ':'), *end;
    if (!colon || colon == word) return 0;
    const unsigned long line = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end != '\0' || line > UINT32_MAX) return 0;
    *colon = '\0';
    return (uint32_t)line;
}

/* A number, perhaps with "%" or "s" after it; negative: the word is no number. */
static double time_of(const char *word)
{
    char *end;
    const double x = strtod(word, &end);
    if (end == word || (*end != '\0' && strcmp(end, "%") != 0 && strcmp(end, "s") != 0)) return -1;
    return x;
}

static int read_line(hpc_line_profile *out, char *text)
{
    hpc_line_time x = {.time = -1};
    char *rest = NULL;
    int rc = HPC_OK;
    for (char *w = strtok_r(text, " \t\r", &rest); w; w = strtok_r(NULL, " \t\r", &rest)) {
        const uint32_t line = x.file ? 0 : cut_place(w);
        if (line > 0) {
            x.file = w;
            x.line = line;
        } else if (x.time < 0) {
            x.time = time_of(w);
        }
    }
    if (!x.file || !(x.time > 0)) return HPC_OK;
    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
    out->item[out->n++] = x;
    out->total += x.time;
out:
    return rc;
}

int hpc_line_profile_read(hpc_line_profile *out, const char *path)
{
    char **line;
    int64_t n;
    int rc = HPC_E_NOMEM;
    out->arena = hpc_arena_create(0);
    if (!out->arena) goto out;
    TRY(hpc_path_lines(&line, &n, out->arena, path, FILE_MOST));
    for (int64_t k = 0; k < n; k++) TRY(read_line(out, line[k]));
    if (out->n == 0)
        rc = hpc_fail(HPC_E_FORMAT, "%s: no line has a place FILE:LINE and a time", path);
out:
    return rc;
}

void hpc_line_profile_release(hpc_line_profile *p)
{
    hpc_free(p->item);
    hpc_arena_free(p->arena);
    *p = (hpc_line_profile){0};
}

void hpc_line_profile_rate(const hpc_line_profile *p, hpc_pragma_loops *l, const char *path)
{
    for (int64_t k = 0; k < p->n; k++) {
        const hpc_line_time *x = &p->item[k];
        if (!hpc_path_meets(x->file, path)) continue;
        for (int64_t i = 0; i < l->n; i++)
            if (l->item[i].line <= x->line && x->line <= l->item[i].end_line)
                l->item[i].share += x->time / p->total;
    }
}
