/*
 * Line profile of a run, from a file of cachegrind and the line numbers of the compiler (-g).
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/priv.h"

enum { FILE_MOST = 16 << 20, FILES_MOST = 20000 };

/* ---- files -------------------------------------------------------------------------------------
 */

/* The key of each line of a file, 0 for blank ones. */
static int read_keys(history_file *f, const char *path)
{
    hpc_buf text = {0};
    uint32_t *line = NULL;
    int64_t cap = 0, n = 0;
    int rc = hpc_file_read(&text, path, FILE_MOST);
    if (rc < 0 && rc != HPC_E_NOMEM) { /* not there any more, or no file: nothing is known of it */
        hpc_error_clear();
        return HPC_OK;
    }
    TRY(rc);
    for (size_t at = 0; at <= text.n; at++) {
        if (at != 0 && at != text.n && text.data[at - 1] != '\n') continue;
        TRY(hpc_grow(&line, &cap, n + 1, sizeof *line));
        line[n++] = (uint32_t)at;
    }
    if (n < 2) goto out;
    f->key = hpc_alloc((size_t)n, sizeof *f->key);
    if (!f->key) TRY(HPC_E_NOMEM);
    f->n = (uint32_t)n - 1;
    for (uint32_t k = 0; k < f->n; k++) f->key[k] = hpc_line_key(text.data, line, f->n, k + 1);
out:
    hpc_buf_release(&text);
    hpc_free(line);
    return rc;
}

/* The number of a file in the folder; -1: outside. Names may be relative to the folder
 * (-ffile-prefix-map). */
static int file_of(int64_t *out, history_profile *p, const char *name, size_t n)
{
    char path[2 * PATH_MAX];
    size_t folder = strlen(p->folder);
    uint64_t found;
    int rc = HPC_OK;
    *out = -1;
    bool told = n > 0 && name[0] != '/';
    bool inside = n > folder + 1 && memcmp(name, p->folder, folder) == 0 && name[folder] == '/';
    if (n >= PATH_MAX || !(told || inside)) return rc;
    snprintf(path, sizeof path, "%s%s%.*s", told ? p->folder : "", told ? "/" : "", (int)n, name);
    n = strlen(path);
    if (strstr(path, "/../")) return rc;
    if (hpc_map_get(p->files, path, n, &found)) {
        *out = (int64_t)found;
        return rc;
    }
    if (p->files_n >= FILES_MOST) return rc;
    TRY(hpc_grow(&p->file, &p->files_cap, p->files_n + 1, sizeof *p->file));
    p->file[p->files_n] = (history_file){0};
    TRY(read_keys(&p->file[p->files_n++], path));
    *out = p->files_n - 1;
    TRY(hpc_map_put(p->files, path, n, (uint64_t)*out));
out:
    return rc;
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

static int add_line(history_profile *p, int64_t file, unsigned long number, double cost)
{
    const history_file *f = file < 0 ? NULL : &p->file[file];
    int rc = HPC_OK;
    p->all += cost;
    if (!f || number < 1 || number > f->n || f->key[number - 1] == 0) return rc;
    TRY(hpc_grow(&p->line, &p->lines_cap, p->lines_n + 1, sizeof *p->line));
    p->line[p->lines_n++] = (history_line){f->key[number - 1], cost};
out:
    return rc;
}

int history_profile_add(history_profile *p, const char *text, const char *folder)
{
    history_events e;
    int64_t file = -1;
    int rc = HPC_OK;
    if (!p->folder[0] && !realpath(folder, p->folder)) return rc;
    if (!p->files) p->files = hpc_map_create();
    if (!p->files) return HPC_E_NOMEM;
    if (!history_events_find(&e, text)) return rc;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (strncmp(line, "fl=", 3) == 0)
            TRY(file_of(&file, p, line + 3, n - 3));
        else if (*line >= '0' && *line <= '9') { /* "12 100 0 0 ...": of line 12 */
            history_counts c = {0};
            char *end;
            unsigned long number = strtoul(line, &end, 10);
            history_counts_row(&c, &e, end);
            TRY(add_line(p, file, number, history_cost(&c)));
        }
        line += n + (line[n] == '\n');
    }
out:
    return rc;
}

static int by_key(const void *a, const void *b)
{
    const history_line *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->cost > y->cost) - (x->cost < y->cost);
}

int history_profile_find(hpc_hot_line **out, int64_t *n, history_profile *p)
{
    *n = 0;
    *out = hpc_alloc((size_t)p->lines_n + 1, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    if (p->lines_n > 1) qsort(p->line, (size_t)p->lines_n, sizeof *p->line, by_key);
    for (int64_t k = 0, next; k < p->lines_n; k = next) {
        double sum = 0;
        for (next = k; next < p->lines_n && p->line[next].key == p->line[k].key; next++)
            sum += p->line[next].cost;
        if (sum > 0) (*out)[(*n)++] = (hpc_hot_line){p->line[k].key, (float)(sum / p->all)};
    }
    return HPC_OK;
}

void history_profile_release(history_profile *p)
{
    for (int64_t k = 0; k < p->files_n; k++) hpc_free(p->file[k].key);
    hpc_free(p->file);
    hpc_free(p->line);
    hpc_map_free(p->files);
    *p = (history_profile){0};
}
