/*
 * pack_order.c: orders the files of a repository, dependencies first, so that a model reads
 * definitions before their uses.
 *
 * Nodes are paths; versions of a file stay together. An include refers to the file at that path
 * from the includer's folder, else to the nearest file whose path ends so. The depth-first walk
 * starts at the smallest path and ignores edges that close a cycle.
 */
#include <stdlib.h>
#include <string.h>

#include "corpus/pack.h"

enum { NEAR = 64 }; /* candidates examined on each side of the includer */

typedef struct offer { /* a node offers a name: the last part of its path, or a module */
    uint32_t name, node;
} offer;
typedef struct graph {
    hpc_arena *arena;
    const char *const *path; /* of each node, ascending */
    int64_t n;
    hpc_map *names; /* 'i' and a last part of a path, or 'm' and a module, to a number */
    offer *offer;   /* by name, then node */
    int64_t offers_n, offers_cap;
    int64_t *begin; /* first offer of each name, then offers_n */
    offer *edge;    /* `name` is the dependent node; sorted by it, then by dependency */
    int64_t edges_n, edges_cap;
} graph;

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int compare_offers(const void *a, const void *b)
{
    const offer *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* ---- what is offered --------------------------------------------------------------- */

static int add_offer(graph *g, char kind, const char *name, int64_t node)
{
    char key[4096];
    size_t n = strlen(name);
    uint64_t number = (uint64_t)hpc_map_n(g->names);
    int rc = HPC_OK;
    if (n + 1 > sizeof key) return HPC_OK;
    key[0] = kind;
    memcpy(key + 1, name, n);
    if (!hpc_map_get(g->names, key, n + 1, &number)) TRY(hpc_map_put(g->names, key, n + 1, number));
    TRY(hpc_grow(&g->offer, &g->offers_cap, g->offers_n + 1, sizeof *g->offer));
    g->offer[g->offers_n++] = (offer){.name = (uint32_t)number, .node = (uint32_t)node};
out:
    return rc;
}

static int add_modules(graph *g, const hpc_buf *records, int64_t node)
{
    int rc = HPC_OK;
    for (size_t at = 0; at < records->n; at += strlen(records->data + at) + 1)
        if (records->data[at] == 'm') TRY(add_offer(g, 'm', records->data + at + 1, node));
out:
    return rc;
}

static int sort_offers(graph *g)
{
    int64_t names = hpc_map_n(g->names), k = 0;
    if (g->offers_n > 0) qsort(g->offer, (size_t)g->offers_n, sizeof *g->offer, compare_offers);
    g->begin = hpc_arena_alloc(g->arena, (size_t)names + 1, sizeof *g->begin);
    if (!g->begin) return HPC_E_NOMEM;
    for (int64_t name = 0; name <= names; name++) {
        while (k < g->offers_n && g->offer[k].name < name) k++;
        g->begin[name] = k;
    }
    return HPC_OK;
}

/* ---- what is asked for ------------------------------------------------------------- */

static int64_t find_path(const graph *g, const char *path)
{
    int64_t lo = 0, hi = g->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (strcmp(g->path[mid], path) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < g->n && strcmp(g->path[lo], path) == 0 ? lo : -1;
}

/* folder + name with "." and ".." taken out; false when it is too long or leaves the root. */
static bool join(char out[4096], const char *folder, size_t folder_n, const char *name)
{
    size_t n = folder_n;
    if (folder_n + strlen(name) + 2 > 4096) return false;
    memcpy(out, folder, folder_n); /* ends in '/' or is empty */
    while (*name) {
        size_t part = strcspn(name, "/");
        if (part == 2 && name[0] == '.' && name[1] == '.') {
            if (n == 0) return false;
            for (n--; n > 0 && out[n - 1] != '/';) n--;
        } else if (part > 0 && !(part == 1 && name[0] == '.')) {
            memcpy(out + n, name, part);
            n += part;
            if (name[part]) out[n++] = '/';
        }
        name += part + (name[part] == '/');
    }
    out[n] = '\0';
    return n > 0;
}

static bool ends_so(const char *path, const char *tail)
{
    size_t n = strlen(path), m = strlen(tail);
    if (m > n || strcmp(path + n - m, tail) != 0) return false;
    return m == 0 || m == n || path[n - m - 1] == '/';
}

static size_t common(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n]) n++;
    return n;
}

/* Among the offers of a name whose path ends in `tail`, finds the one that shares the longest
 * prefix with the dependent path. Paths are sorted, so the first match on either side is the best.
 */
static int64_t nearest(const graph *g, uint64_t name, const char *tail, int64_t node)
{
    int64_t lo = g->begin[name], hi = g->begin[name + 1], first = lo, last = hi;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (g->offer[mid].node < node)
            lo = mid + 1;
        else
            hi = mid;
    }
    int64_t before = -1, behind = -1;
    for (int64_t k = lo; before < 0 && k-- > first && lo - k <= NEAR;)
        if (ends_so(g->path[g->offer[k].node], tail)) before = g->offer[k].node;
    for (int64_t k = lo; behind < 0 && k < last && k - lo < NEAR; k++)
        if (g->offer[k].node != node && ends_so(g->path[g->offer[k].node], tail))
            behind = g->offer[k].node;
    if (before < 0 || behind < 0) return before < 0 ? behind : before;
    const char *path = g->path[node];
    return common(g->path[behind], path) > common(g->path[before], path) ? behind : before;
}

static int64_t included(const graph *g, const char *name, int64_t node)
{
    char path[4096], key[4096];
    uint64_t number;
    const char *from = g->path[node], *last = last_part(name);
    size_t n = strlen(last) + 1;
    if (join(path, from, (size_t)(last_part(from) - from), name)) {
        int64_t found = find_path(g, path);
        if (found >= 0) return found;
    }
    while (strncmp(name, "../", 3) == 0 || strncmp(name, "./", 2) == 0)
        name += name[1] == '.' ? 3 : 2;
    if (n > sizeof key) return -1;
    key[0] = 'i';
    memcpy(key + 1, last, n - 1);
    return hpc_map_get(g->names, key, n, &number) ? nearest(g, number, name, node) : -1;
}

static int64_t used(const graph *g, const char *name, int64_t node)
{
    char key[512];
    uint64_t number;
    size_t n = strlen(name) + 1;
    if (n > sizeof key) return -1;
    key[0] = 'm';
    memcpy(key + 1, name, n - 1);
    return hpc_map_get(g->names, key, n, &number) ? nearest(g, number, "", node) : -1;
}

static int add_edges(graph *g, const hpc_buf *records, int64_t node)
{
    int rc = HPC_OK;
    for (size_t at = 0; at < records->n; at += strlen(records->data + at) + 1) {
        const char *name = records->data + at + 1;
        int64_t to = records->data[at] == 'i'   ? included(g, name, node)
                     : records->data[at] == 'u' ? used(g, name, node)
                                                : -1;
        if (to < 0 || to == node) continue;
        TRY(hpc_grow(&g->edge, &g->edges_cap, g->edges_n + 1, sizeof *g->edge));
        g->edge[g->edges_n++] = (offer){.name = (uint32_t)node, .node = (uint32_t)to};
    }
out:
    return rc;
}

/* ---- the walk ---------------------------------------------------------------------- */

typedef struct walk {
    int64_t *next;  /* of each node, the edge to follow next */
    bool *seen;     /* begun */
    int64_t *stack; /* nodes that are begun and not done */
    int64_t *done;  /* nodes in order */
    int64_t n;
} walk;

static void walk_from(walk *w, const graph *g, int64_t root)
{
    int64_t depth = 0;
    if (w->seen[root]) return;
    w->seen[root] = true;
    w->stack[depth++] = root;
    while (depth > 0) {
        int64_t node = w->stack[depth - 1], e = w->next[node];
        if (e < g->edges_n && g->edge[e].name == node) {
            int64_t to = g->edge[e].node;
            w->next[node]++;
            if (w->seen[to]) continue; /* done, or an edge that closes a cycle */
            w->seen[to] = true;
            w->stack[depth++] = to;
        } else {
            w->done[w->n++] = node;
            depth--;
        }
    }
}

static int walk_all(walk *w, graph *g)
{
    int64_t e = 0;
    size_t n = (size_t)g->n;
    w->next = hpc_arena_alloc(g->arena, n, sizeof *w->next);
    w->seen = hpc_arena_alloc(g->arena, n, sizeof *w->seen);
    w->stack = hpc_arena_alloc(g->arena, n, sizeof *w->stack);
    w->done = hpc_arena_alloc(g->arena, n, sizeof *w->done);
    if (!w->next || !w->seen || !w->stack || !w->done) return HPC_E_NOMEM;
    if (g->edges_n > 0) qsort(g->edge, (size_t)g->edges_n, sizeof *g->edge, compare_offers);
    for (int64_t node = 0; node < g->n; node++) {
        while (e < g->edges_n && g->edge[e].name < node) e++;
        w->next[node] = e;
    }
    for (int64_t node = 0; node < g->n; node++) walk_from(w, g, node);
    return HPC_OK;
}

/* ---- one repository ----------------------------------------------------------------- */

static void graph_release(graph *g)
{
    hpc_free(g->offer);
    hpc_free(g->edge);
    hpc_map_free(g->names);
    hpc_arena_free(g->arena);
}

/* Nodes from files: node_of[file], and path and first file of each node. */
static int make_nodes(graph *g, int64_t **first, int64_t n, const char *const *paths)
{
    const char **path = hpc_arena_alloc(g->arena, (size_t)n, sizeof *path);
    *first = hpc_arena_alloc(g->arena, (size_t)n + 1, sizeof **first);
    if (!path || !*first) return HPC_E_NOMEM;
    for (int64_t file = 0; file < n; file++) {
        if (file > 0 && strcmp(paths[file], paths[file - 1]) == 0) continue;
        path[g->n] = paths[file];
        (*first)[g->n++] = file;
    }
    (*first)[g->n] = n;
    g->path = path;
    return HPC_OK;
}

int pack_order(int64_t *order, int64_t n, const char *const *paths, const hpc_buf *records)
{
    graph g = {.names = hpc_map_create(), .arena = hpc_arena_create(0)};
    walk w = {0};
    int64_t *first = NULL, k = 0;
    int rc = g.names && g.arena ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    TRY(make_nodes(&g, &first, n, paths));
    for (int64_t node = 0; node < g.n; node++) {
        TRY(add_offer(&g, 'i', last_part(g.path[node]), node));
        for (int64_t f = first[node]; f < first[node + 1]; f++)
            TRY(add_modules(&g, &records[f], node));
    }
    TRY(sort_offers(&g));
    for (int64_t node = 0; node < g.n; node++)
        for (int64_t f = first[node]; f < first[node + 1]; f++)
            TRY(add_edges(&g, &records[f], node));
    TRY(walk_all(&w, &g));
    for (int64_t i = 0; i < w.n; i++)
        for (int64_t f = first[w.done[i]]; f < first[w.done[i] + 1]; f++) order[k++] = f;
out:
    graph_release(&g);
    return rc;
}
