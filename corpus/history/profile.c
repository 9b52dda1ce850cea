/*
 * profile.c: in which functions the cost of a run is, by what cachegrind wrote.
 *
 * Functions are those that the program still has: what was inlined belongs to its caller.
 */
#include <stdlib.h>
#include <string.h>

#include "corpus/history/priv.h"

enum { COLUMNS = 16, NAME_BYTES = 200 };

typedef struct columns { /* what one event of each column costs */
    double cost[COLUMNS];
    int n;
} columns;

/* "events: Ir I1mr ILmr Dr D1mr DLmr ..." */
static bool find_columns(columns *out, const char *text)
{
    const char *at = strstr(text, "\nevents: ");
    *out = (columns){.n = 0};
    if (!at) return false;
    at += strlen("\nevents: ");
    while (*at && *at != '\n' && out->n < COLUMNS) {
        size_t n = strcspn(at, " \n");
        if (n == 2 && memcmp(at, "Ir", 2) == 0) out->cost[out->n] = 1;
        if (n == 4 && at[2] == 'm') out->cost[out->n] = history_miss_cost(at[1] == 'L');
        out->n++;
        at += n;
        while (*at == ' ') at++;
    }
    return out->n > 0;
}

/* "12 100 0 0 ...": of line 12; what is missing at the end is 0. */
static double cost_of(const columns *c, const char *line)
{
    double sum = 0;
    char *end;
    strtoul(line, &end, 10);
    for (int k = 0; k < c->n && *end == ' '; k++) sum += c->cost[k] * strtod(end, &end);
    return sum;
}

static int index_of(int64_t *out, history_profile *p, const char *name, size_t n)
{
    uint64_t found;
    int rc = HPC_OK;
    if (!p->names) p->names = hpc_map_create();
    if (!p->names) return HPC_E_NOMEM;
    if (n > NAME_BYTES) n = NAME_BYTES;
    if (hpc_map_get(p->names, name, n, &found)) {
        *out = (int64_t)found;
        return rc;
    }
    *out = hpc_map_n(p->names);
    TRY(hpc_grow(&p->cost, &p->cap, *out + 1, sizeof *p->cost));
    p->cost[*out] = 0;
    TRY(hpc_map_put(p->names, name, n, (uint64_t)*out));
out:
    return rc;
}

int history_profile_add(history_profile *p, const char *text)
{
    columns c;
    int64_t at = -1;
    int rc = HPC_OK;
    if (!find_columns(&c, text)) return rc;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (strncmp(line, "fn=", 3) == 0) {
            TRY(index_of(&at, p, line + 3, n - 3));
        } else if (at >= 0 && *line >= '0' && *line <= '9') {
            double cost = cost_of(&c, line);
            p->cost[at] += cost;
            p->all += cost;
        }
        line += n + (line[n] == '\n');
    }
out:
    return rc;
}

const char *history_profile_at(char name[PERF_FUNCTION], double *share, const history_profile *p,
                               int64_t k)
{
    size_t n;
    uint64_t at;
    const char *text = hpc_map_at(p->names, k, &n, &at);
    memcpy(name, text, n);
    name[n] = '\0';
    *share = p->all > 0 ? p->cost[at] / p->all : 0;
    return name;
}

int64_t history_profile_n(const history_profile *p)
{
    return p->names ? hpc_map_n(p->names) : 0;
}

void history_profile_release(history_profile *p)
{
    hpc_map_free(p->names);
    hpc_free(p->cost);
    *p = (history_profile){0};
}
