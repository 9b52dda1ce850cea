/*
 * map.c: maps from a rank's elements to those of the serial tensor, as digits with
 * strides.
 *
 * It does not depend on programs. An operation fails if digits cannot express its
 * result exactly.
 */
#include <string.h>

#include "runtime/program/prove/priv.h"

static bool push(map *m, int at, factor f)
{
    if (f.n == 1) return true;
    if (m->n == FACTORS) return false;
    memmove(&m->f[at + 1], &m->f[at], (size_t)(m->n - at) * sizeof *m->f);
    m->f[at] = f;
    m->n++;
    return true;
}

map map_whole(hpc_value root, int32_t version, int64_t elements)
{
    map m = {.root = root, .version = version};
    push(&m, 0, (factor){elements, 1});
    return m;
}

int64_t map_elements(const map *m)
{
    int64_t n = 1;
    for (int k = 0; k < m->n; k++) n *= m->f[k].n;
    return n;
}

int64_t map_at(const map *m, int64_t element)
{
    int64_t at = 0;
    for (int k = m->n - 1; k >= 0; k--) {
        at += element % m->f[k].n * m->f[k].stride;
        element /= m->f[k].n;
    }
    return at;
}

/* The fewest digits. */
static void merge(map *m)
{
    int n = 0;
    for (int k = 0; k < m->n; k++) {
        factor f = m->f[k];
        if (f.n == 1) continue;
        if (n > 0 && m->f[n - 1].stride == f.n * f.stride)
            m->f[n - 1] = (factor){m->f[n - 1].n * f.n, f.stride};
        else
            m->f[n++] = f;
    }
    m->n = n;
}

bool map_equal(const map *a, const map *b)
{
    map x = *a, y = *b;
    merge(&x);
    merge(&y);
    if (x.root != y.root || x.version != y.version || x.n != y.n || x.base != y.base) return false;
    if (x.joins != y.joins || x.along != y.along) return false;
    for (int k = 0; k < x.n; k++)
        if (x.f[k].n != y.f[k].n || x.f[k].stride != y.f[k].stride) return false;
    for (int k = 0; k < HPC_AXIS_N; k++)
        if (x.by[k] != y.by[k] || x.partial[k] != y.partial[k]) return false;
    return true;
}

/* A border of digits with `inner` elements inside it; *at is the first inner digit. */
static bool divide(map *m, int *at, int64_t inner)
{
    int64_t n = 1;
    int k = m->n;
    while (n < inner && k > 0) {
        factor f = m->f[k - 1];
        int64_t part = inner / n;
        if (inner % n != 0) return false;
        if (part % f.n == 0) {
            n *= f.n;
            k--;
            continue;
        }
        if (f.n % part != 0) return false;
        m->f[k - 1].n = part;
        if (!push(m, k - 1, (factor){f.n / part, f.stride * part})) return false;
        n = inner;
    }
    *at = k;
    return n == inner;
}

bool map_rows(map *m, int64_t row, int64_t rows, int64_t row_n)
{
    int inner, outer;
    merge(m);
    int64_t all = map_elements(m) / (row_n > 0 ? row_n : 1);
    if (row_n < 1 || rows < 1 || row < 0 || row + rows > all || !divide(m, &inner, row_n))
        return false;
    m->base += map_at(m, row * row_n);
    if (inner == 1) { /* one digit of rows, of which there may be any number */
        m->f[0].n = rows;
        return true;
    }
    if (rows == all) return row == 0;
    if (row % rows != 0 || !divide(m, &outer, rows * row_n)) return false;
    memmove(m->f, &m->f[outer], (size_t)(m->n - outer) * sizeof *m->f);
    m->n -= outer;
    return true;
}

bool map_trade(map *m, int64_t b, int64_t c, int64_t d)
{
    int at_b, at_c, at_d;
    merge(m);
    map out;
    if (!divide(m, &at_d, d) || !divide(m, &at_c, c * d) || !divide(m, &at_b, b * c * d))
        return false;
    /* Borders that come later lie further out, and move those within by what they add. */
    if (!divide(m, &at_c, c * d) || !divide(m, &at_d, d)) return false;
    out = *m;
    int n = at_b;
    for (int k = at_c; k < at_d; k++) out.f[n++] = m->f[k];
    for (int k = at_b; k < at_c; k++) out.f[n++] = m->f[k];
    *m = out;
    return true;
}

bool map_gather(map *m, int axis, int64_t ranks)
{
    int64_t by = m->by[axis];
    m->by[axis] = 0;
    return push(m, 0, (factor){ranks, by});
}

bool map_scatter(map *m, int axis, int64_t ranks)
{
    int64_t all = map_elements(m);
    int at;
    if (all % ranks != 0 || !divide(m, &at, all / ranks)) return false;
    map outer = *m;
    outer.n = at;
    merge(&outer);
    if (outer.n != 1) return false;
    m->by[axis] = outer.f[0].stride;
    memmove(m->f, &m->f[at], (size_t)(m->n - at) * sizeof *m->f);
    m->n -= at;
    return true;
}

bool map_exchange(map *m, int axis, int64_t ranks)
{
    int64_t by = m->by[axis];
    return map_scatter(m, axis, ranks) && push(m, 0, (factor){ranks, by});
}

/* ---- of a serial value, by a layout -------------------------------------------------------- */

/* Digits of n elements of `whole` that are `stride` apart, before place `at` of out. */
static bool compose(map *out, int at, const map *whole, int64_t n, int64_t stride)
{
    int64_t inside = 1;
    int k = whole->n - 1;
    while (n > 1) {
        while (k >= 0 && stride >= inside * whole->f[k].n) inside *= whole->f[k--].n;
        if (k < 0 || stride % inside != 0) return false;
        int64_t skip = stride / inside, left = whole->f[k].n / skip;
        if (whole->f[k].n % skip != 0) return false;
        int64_t take = n < left ? n : left;
        if (n % take != 0 || left % take != 0) return false;
        if (!push(out, at, (factor){take, whole->f[k].stride * skip})) return false;
        n /= take;
        stride *= take;
    }
    return true;
}

bool map_place(map *out, int *dim, const map *whole, const hpc_type *global, const hpc_type *local,
               const hpc_grid_shape *shape)
{
    int64_t stride[HPC_RANK_MAX] = {0}, parts[HPC_RANK_MAX], at = 1;
    map from = *whole;
    merge(&from);
    *out = (map){.root = whole->root, .version = whole->version, .base = whole->base};
    *dim = -1;
    if (global->rank != local->rank) return false;
    for (int d = global->rank - 1; d >= 0; d--) {
        stride[d] = at;
        parts[d] = 1;
        at *= global->extent[d];
        if (!compose(out, 0, &from, local->extent[d], stride[d])) return false;
    }
    for (int k = 2 * HPC_AXIS_N - 1; k >= 0; k--) { /* the finest parts first */
        int a = hpc_axis_nesting[k % HPC_AXIS_N], d = hpc_layout_dim(local->layout[a]);
        int ranks = shape->extent[a] > 1 ? shape->extent[a] : 1;
        if (ranks > 1 && hpc_layout_own(local->layout[a])) {
            out->partial[a] = HPC_OWN(0);
            continue;
        }
        if (ranks == 1 || hpc_layout_inner(local->layout[a]) != (k >= HPC_AXIS_N)) continue;
        out->partial[a] = local->layout[a] < 0 ? local->layout[a] : 0;
        if (d < 0) continue;
        if (d >= global->rank) return false;
        map one = {0};
        *dim = d;
        if (local->extent[d] * parts[d] * ranks > global->extent[d]) return false;
        *dim = -1;
        if (!compose(&one, 0, &from, ranks, local->extent[d] * parts[d] * stride[d])) return false;
        merge(&one);
        if (one.n != 1) return false;
        out->by[a] = one.f[0].stride;
        parts[d] *= ranks;
    }
    for (int d = 0; d < global->rank; d++)
        if (local->extent[d] * parts[d] != global->extent[d]) {
            *dim = d;
            return false;
        }
    return true;
}
