/*
 * grid.c: the process grid: coordinates of ranks, and a link for any set of axes,
 * created when it is first requested.
 *
 * Works on every kind of link, by splitting. It does not choose the shape.
 */
#include "runtime/link/priv.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 1 << HPC_AXIS_N };

static const char *const axis_name[HPC_AXIS_N] = {
    [HPC_AXIS_DATA] = "data", [HPC_AXIS_PIPE] = "pipe", [HPC_AXIS_DEPTH] = "depth",
    [HPC_AXIS_ROW] = "row",   [HPC_AXIS_COL] = "col",   [HPC_AXIS_EXPERT] = "expert",
};

/* Slowest first: neighbours in the world share the axes that talk most. */
static const hpc_axis grid_order[HPC_AXIS_N] = {HPC_AXIS_DATA,  HPC_AXIS_EXPERT, HPC_AXIS_PIPE,
                                                HPC_AXIS_DEPTH, HPC_AXIS_ROW,    HPC_AXIS_COL};

struct hpc_grid {
    hpc_link *world; /* borrowed */
    hpc_link *self;  /* for sets of extent 1 */
    hpc_grid_shape shape;
    int coord[HPC_AXIS_N];
    hpc_link *link[SETS]; /* by set of axes longer than 1; NULL: not asked for yet */
};

const uint8_t hpc_axis_nesting[HPC_AXIS_N] = {HPC_AXIS_ROW,  HPC_AXIS_COL,   HPC_AXIS_EXPERT,
                                              HPC_AXIS_PIPE, HPC_AXIS_DEPTH, HPC_AXIS_DATA};

const char *hpc_axis_name(hpc_axis a)
{
    return (unsigned)a < HPC_AXIS_N ? axis_name[a] : "unknown";
}

static int extent_of(const hpc_grid_shape *s, hpc_axis a)
{
    return s->extent[a] == 0 ? 1 : s->extent[a];
}

/* ---- shapes ---------------------------------------------------------------- */
static int find_axis(hpc_axis *out, const char *name, size_t n)
{
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (strlen(axis_name[a]) != n || memcmp(axis_name[a], name, n) != 0) continue;
        *out = (hpc_axis)a;
        return 0;
    }
    return hpc_fail(HPC_E_ARG, "grid: unknown axis '%.*s'; see --help for the axes",
                    (int)(n < 32 ? n : 32), name);
}

/* 0 unless all of [at, end) is digits; saturates beyond INT_MAX. */
static int64_t parse_number(const char *at, const char *end)
{
    int64_t n = 0;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') return 0;
        if (n <= INT_MAX) n = 10 * n + (*at - '0');
    }
    return n;
}

/* One "axis=number" of n characters. */
static int parse_item(hpc_grid_shape *out, const char *item, size_t n)
{
    hpc_axis a = HPC_AXIS_DATA;
    const char *equals = memchr(item, '=', n);
    int shown = (int)(n < 64 ? n : 64);
    if (!equals)
        return hpc_fail(HPC_E_ARG, "grid: '%.*s' does not have the form axis=number", shown, item);
    int rc = find_axis(&a, item, (size_t)(equals - item));
    if (rc < 0) return rc;
    if (out->extent[a] != 0)
        return hpc_fail(HPC_E_ARG, "grid: axis '%s' is given twice", axis_name[a]);
    int64_t extent = parse_number(equals + 1, item + n);
    if (extent < 1 || extent > INT_MAX)
        return hpc_fail(HPC_E_ARG, "grid: '%.*s': the extent must be a number from 1 to %d", shown,
                        item, INT_MAX);
    out->extent[a] = (int)extent;
    return 0;
}

/* 0 when the product, or an extent, is not a number of ranks. */
static int product(const hpc_grid_shape *s)
{
    int64_t n = 1;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        int extent = extent_of(s, (hpc_axis)a);
        if (extent < 1) return 0;
        n *= extent;
        if (n > INT_MAX) return 0;
    }
    return (int)n;
}

int hpc_grid_parse(hpc_grid_shape *out, const char *text)
{
    hpc_grid_shape s = {{0}};
    int rc = 0;
    for (const char *item = text; *text; item++) { /* no text at all: one rank */
        size_t n = strcspn(item, ",");
        TRY(parse_item(&s, item, n));
        item += n;
        if (*item == '\0') break;
    }
    if (product(&s) == 0)
        rc = hpc_fail(HPC_E_ARG, "grid: '%.64s' has more ranks than can be counted", text);
out:
    for (int a = 0; a < HPC_AXIS_N; a++) s.extent[a] = extent_of(&s, (hpc_axis)a);
    if (rc == 0) *out = s;
    return rc;
}

int hpc_grid_size(const hpc_grid_shape *s)
{
    int n = product(s);
    hpc_assert(n > 0);
    return n;
}

void hpc_grid_coords(int coord[HPC_AXIS_N], const hpc_grid_shape *s, int rank)
{
    for (int i = HPC_AXIS_N - 1; i >= 0; i--) {
        int extent = extent_of(s, grid_order[i]);
        coord[grid_order[i]] = rank % extent;
        rank /= extent;
    }
}

/* Position among the ranks that differ in `axes` alone. */
static int rank_within(const hpc_grid_shape *s, const int *coord, hpc_axes axes)
{
    int rank = 0;
    for (int i = 0; i < HPC_AXIS_N; i++) {
        hpc_axis a = grid_order[i];
        if (axes >> a & 1) rank = rank * extent_of(s, a) + coord[a];
    }
    return rank;
}

int hpc_grid_rank(const hpc_grid_shape *s, const int coord[HPC_AXIS_N])
{
    return rank_within(s, coord, SETS - 1);
}

/* ---- grids ----------------------------------------------------------------- */
static int check_shape(const hpc_link *world, const hpc_grid_shape *s)
{
    int n = product(s);
    if (n == world->size) return 0;
    return hpc_fail(HPC_E_SHAPE,
                    "grid: data=%d,expert=%d,pipe=%d,depth=%d,row=%d,col=%d needs %d ranks, but "
                    "there are %d",
                    s->extent[HPC_AXIS_DATA], s->extent[HPC_AXIS_EXPERT], s->extent[HPC_AXIS_PIPE],
                    s->extent[HPC_AXIS_DEPTH], s->extent[HPC_AXIS_ROW], s->extent[HPC_AXIS_COL], n,
                    world->size);
}

/* A rank with another shape would be split into other groups, and hang far from here. */
static int check_agreement(hpc_link *world, const hpc_grid_shape *s)
{
    int rc = 0;
    int64_t mine[HPC_AXIS_N];
    int64_t *all = hpc_alloc((size_t)world->size, sizeof mine);
    if (!all) return HPC_E_NOMEM;
    for (int a = 0; a < HPC_AXIS_N; a++) mine[a] = s->extent[a];
    TRY(hpc_link_exchange(world, all, mine, HPC_AXIS_N));
    for (int i = 0; i < world->size * HPC_AXIS_N && rc == 0; i++) {
        int r = i / HPC_AXIS_N, a = i % HPC_AXIS_N;
        if (all[i] != all[a])
            rc = hpc_fail(HPC_E_SHAPE, "grid: %s is %lld on rank 0, but %lld on rank %d",
                          axis_name[a], (long long)all[a], (long long)all[i], r);
    }
out:
    hpc_free(all);
    return rc;
}

int hpc_grid_open(hpc_grid **out, hpc_link *world, const hpc_grid_shape *s)
{
    int rc = 0;
    *out = NULL;
    hpc_grid *g = hpc_alloc(1, sizeof *g);
    if (!g) return HPC_E_NOMEM;
    g->world = world;
    for (int a = 0; a < HPC_AXIS_N; a++) g->shape.extent[a] = extent_of(s, (hpc_axis)a);
    TRY(check_agreement(world, &g->shape));
    TRY(check_shape(world, &g->shape));
    TRY(hpc_link_self(&g->self));
    hpc_grid_coords(g->coord, &g->shape, world->rank);
    *out = g;
    g = NULL;
out:
    hpc_grid_close(g);
    return rc;
}

void hpc_grid_close(hpc_grid *g)
{
    if (!g) return;
    for (int i = 0; i < SETS; i++) hpc_link_close(g->link[i]);
    hpc_link_close(g->self);
    hpc_free(g);
}

const hpc_grid_shape *hpc_grid_shape_of(const hpc_grid *g)
{
    return &g->shape;
}

int hpc_grid_coord(const hpc_grid *g, hpc_axis a)
{
    return g->coord[a];
}

hpc_link *hpc_grid_world(hpc_grid *g)
{
    return g->world;
}

/* Of a set, the axes along which there is anyone to talk to. */
static hpc_axes longer_than_one(const hpc_grid *g, hpc_axes axes)
{
    hpc_axes kept = 0;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (axes >> a & 1 && g->shape.extent[a] > 1) kept |= 1u << a;
    return kept;
}

/* "axis data", "axes data,row" */
static void name_link(hpc_link *l, hpc_axes set)
{
    char name[sizeof l->name];
    int n = snprintf(name, sizeof name, set & (set - 1) ? "axes" : "axis");
    char before = ' ';
    for (int a = 0; a < HPC_AXIS_N && n < (int)sizeof name; a++) {
        if (!(set >> a & 1)) continue;
        n += snprintf(name + n, sizeof name - (size_t)n, "%c%s", before, axis_name[a]);
        before = ',';
    }
    hpc_link_name(l, name);
}

int hpc_grid_link(hpc_link **out, hpc_grid *g, hpc_axes axes)
{
    int rc = 0;
    *out = NULL;
    if (axes >= SETS)
        return hpc_fail(HPC_E_ARG, "grid: set 0x%x names axes that do not exist", (unsigned)axes);
    hpc_axes set = longer_than_one(g, axes);
    if (set == 0) {
        *out = g->self;
        return 0;
    }
    if (!g->link[set]) {
        rc = hpc_link_split(&g->link[set], g->world, rank_within(&g->shape, g->coord, ~set),
                            rank_within(&g->shape, g->coord, set));
        if (rc >= 0) name_link(g->link[set], set);
    }
    *out = g->link[set];
    return rc;
}

hpc_traffic hpc_grid_traffic(const hpc_grid *g, hpc_axes axes)
{
    const hpc_link *l = axes < SETS ? g->link[longer_than_one(g, axes)] : NULL;
    return l ? l->traffic : (hpc_traffic){.messages = {0}};
}

void hpc_grid_traffic_clear(hpc_grid *g)
{
    for (int i = 0; i < SETS; i++)
        if (g->link[i]) g->link[i]->traffic = (hpc_traffic){.messages = {0}};
}
