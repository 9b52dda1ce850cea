/*
 * indirect.c: subscripts that are read from memory: gather, scatter, permutations that are known
 * and those that are not, compressed rows. Labels: README.md.
 */
#include <stddef.h>

void gather(int n, double *restrict y, const double *restrict x, const int *restrict idx)
{
    // loop gather: safe
    for (int i = 0; i < n; i++) {
        y[i] = x[idx[i]];
    }
}

void scatter(int n, double *restrict y, const double *restrict x, const int *restrict idx)
{
    // loop scatter: if injective(idx)
    for (int i = 0; i < n; i++) {
        y[idx[i]] = x[i];
    }
}

void scatter_add(int n, double *restrict y, const double *restrict x, const int *restrict idx)
{
    // loop scatter_add: if injective(idx)
    for (int i = 0; i < n; i++) {
        y[idx[i]] = 0.5 * y[idx[i]] + x[i];
    }
}

void gather_in_place(int n, double *x, const int *restrict idx)
{
    // loop gather_in_place: carried +2 +2 idx may name any other element
    for (int i = 0; i < n; i++) {
        x[i] = x[idx[i]] + 1.0;
    }
}

void gather_scatter_same(int n, double *x, const int *restrict idx)
{
    // loop gather_scatter_same: if injective(idx)
    for (int i = 0; i < n; i++) {
        x[idx[i]] = x[idx[i]] * 2.0 + i;
    }
}

void gather_scatter_next(int n, double *x, const int *restrict idx)
{
    // loop gather_scatter_next: carried +2 +2
    for (int i = 0; i < n - 1; i++) {
        x[idx[i]] = x[idx[i + 1]] * 2.0;
    }
}

void upper_from_lower(int n, double *x, const int *restrict idx)
{
    // loop upper_from_lower: if range(0 <= idx[i] && idx[i] < n)
    for (int i = 0; i < n; i++) {
        x[n + i] = x[idx[i]];
    }
}

void identity_made(int n, double *restrict y, const double *restrict x, int *restrict idx)
{
    // loop identity_made.set: safe
    for (int i = 0; i < n; i++) {
        idx[i] = i;
    }
    // loop identity_made.use: safe
    for (int i = 0; i < n; i++) {
        y[idx[i]] = x[i];
    }
}

void reversal_made(int n, double *restrict y, const double *restrict x, int *restrict idx)
{
    // loop reversal_made.set: safe
    for (int i = 0; i < n; i++) {
        idx[i] = n - 1 - i;
    }
    // loop reversal_made.use: safe
    for (int i = 0; i < n; i++) {
        y[idx[i]] = x[i];
    }
}

void halves_made(int n, double *restrict y, const double *restrict x, int *restrict idx)
{
    // loop halves_made.set: safe
    for (int i = 0; i < n; i++) {
        idx[i] = i / 2;
    }
    // loop halves_made.use: carried +2 +2 every value of idx is there twice ; violates(idx)
    for (int i = 0; i < n; i++) {
        y[idx[i]] = x[i];
    }
}

void identity_changed(int n, int k, double *restrict y, const double *restrict x, int *restrict idx)
{
    // loop identity_changed.set: safe
    for (int i = 0; i < n; i++) {
        idx[i] = i;
    }
    idx[k] = 0;
    // loop identity_changed.use: if injective(idx)
    for (int i = 0; i < n; i++) {
        y[idx[i]] = x[i];
    }
}

static const int order[6] = {3, 1, 4, 0, 5, 2};
static const int again[6] = {3, 1, 4, 1, 5, 2};

void constant_order(double *restrict y, const double *restrict x)
{
    // loop constant_order: safe ; small
    for (int i = 0; i < 6; i++) {
        y[order[i]] = x[i];
    }
}

void constant_again(double *restrict y, const double *restrict x)
{
    // loop constant_again: carried +2 +2 1 is there twice
    for (int i = 0; i < 6; i++) {
        y[again[i]] = x[i];
    }
}

void constant_order_of_rows(int n, double *restrict y, const double *restrict x)
{
    // loop constant_order_of_rows.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop constant_order_of_rows.k: safe ; small
        for (int k = 0; k < 6; k++) {
            y[6 * i + order[k]] = x[6 * i + k];
        }
    }
}

void histogram(int n, int *restrict bin, const unsigned char *restrict a)
{
    int local[256] = {0};
    // loop histogram.count: safe reduction(+:local)
    for (int i = 0; i < n; i++) {
        local[a[i]]++;
    }
    // loop histogram.out: safe
    for (int k = 0; k < 256; k++) {
        bin[k] += local[k];
    }
}

void histogram_first_seen(int n, int *restrict first, const unsigned char *restrict a)
{
    int local[256] = {0};
    // loop histogram_first_seen: carried +3 +2 the count so far is read
    for (int i = 0; i < n; i++) {
        first[i] = local[a[i]] == 0;
        local[a[i]]++;
    }
}

void histogram_open(int n, int *restrict bin, const int *restrict key)
{
    // loop histogram_open: if injective(key)
    for (int i = 0; i < n; i++) {
        bin[key[i]]++;
    }
}

void histogram_coarse(int n, int *restrict bin, const int *restrict key)
{
    // loop histogram_coarse: if injective(key[i] / 4)
    for (int i = 0; i < n; i++) {
        bin[key[i] / 4] = bin[key[i] / 4] * 2 + i;
    }
}

void through_pointer(int n, double *restrict y, const double *restrict x, const int *restrict idx)
{
    double *p;
    // loop through_pointer: if injective(idx) private(p)
    for (int i = 0; i < n; i++) {
        p = y + idx[i];
        *p = x[i];
    }
}

void two_indices(int n, double *restrict y, const int *restrict p, const int *restrict q)
{
    // loop two_indices: carried +2 +2 what one writes through p another may read through q
    for (int i = 0; i < n; i++) {
        y[p[i]] = y[q[i]] + 1.0;
    }
}

void two_arrays(int n, double *restrict y, const double *restrict x, const int *restrict p,
                const int *restrict q)
{
    // loop two_arrays: if injective(p)
    for (int i = 0; i < n; i++) {
        y[p[i]] = x[q[i]] + 1.0;
    }
}

void nested_index(int n, double *restrict y, const double *restrict x, const int *restrict p,
                  const int *restrict q)
{
    // loop nested_index: if injective(p[q[i]])
    for (int i = 0; i < n; i++) {
        y[p[q[i]]] = x[i];
    }
}

void row_of_index(int rows, int m, double *restrict y, const double *restrict x,
                  const int *restrict idx)
{
    // loop row_of_index.i: if injective(idx)
    for (int i = 0; i < rows; i++) {
        // loop row_of_index.j: safe
        for (int j = 0; j < m; j++) {
            y[idx[i] * m + j] = x[i * m + j];
        }
    }
}

void stride_of_index(int n, int k, double *restrict y, const double *restrict x,
                     const int *restrict idx)
{
    // loop stride_of_index: if injective(idx) range(k != 0)
    for (int i = 0; i < n; i++) {
        y[k * idx[i]] = x[i];
    }
}

void index_changes(int n, double *restrict y, const double *restrict x, int *idx)
{
    // loop index_changes: carried +3 +2 a count of free places: each takes what the last one left
    for (int i = 0; i < n; i++) {
        y[idx[0]] = x[i];
        idx[0]++;
    }
}

void compressed_rows(int rows, double *restrict y, const double *restrict value,
                     const double *restrict x, const int *restrict start,
                     const int *restrict column)
{
    // loop compressed_rows.r: safe
    for (int r = 0; r < rows; r++) {
        double s = 0.0;
        // loop compressed_rows.k: safe reduction(+:s)
        for (int k = start[r]; k < start[r + 1]; k++) {
            s += value[k] * x[column[k]];
        }
        y[r] = s;
    }
}

void compressed_rows_scaled(int rows, double *restrict value, const double *restrict d,
                            const int *restrict start)
{
    // loop compressed_rows_scaled.r: if range(start[r] <= start[r + 1])
    for (int r = 0; r < rows; r++) {
        // loop compressed_rows_scaled.k: safe
        for (int k = start[r]; k < start[r + 1]; k++) {
            value[k] = 0.5 * value[k] + d[r];
        }
    }
}

void compressed_columns(int columns, double *restrict y, const double *restrict value,
                        const double *restrict x, const int *restrict start,
                        const int *restrict row)
{
    // loop compressed_columns.c: carried +4 +4 two columns have entries in one row
    for (int c = 0; c < columns; c++) {
        // loop compressed_columns.k: if injective(row)
        for (int k = start[c]; k < start[c + 1]; k++) {
            y[row[k]] += value[k] * x[c];
        }
    }
}

void edges(int n, double *restrict force, const double *restrict w, const int *restrict from,
           const int *restrict to)
{
    // loop edges: carried +2 +3 an edge may begin where another ends
    for (int e = 0; e < n; e++) {
        force[from[e]] += w[e];
        force[to[e]] -= w[e];
    }
}

void index_of_type(int n, double *y, const double *x, const size_t *idx)
{
    // loop index_of_type: if distinct(y, x) injective(idx) ; types
    for (int i = 0; i < n; i++) {
        y[idx[i]] = x[i];
    }
}

void index_may_be_written(int n, int *y, const int *idx)
{
    // loop index_may_be_written: if distinct(y, idx) injective(idx)
    for (int i = 0; i < n; i++) {
        y[idx[i]] = i;
    }
}

void next_in_list(int n, double *restrict y, const int *restrict next)
{
    int k = 0;
    // loop next_in_list: carried +3 +2
    for (int i = 0; i < n; i++) {
        y[k] += i;
        k = next[k];
    }
}

void active_only(int n, double *y, const int *restrict active)
{
    // loop active_only: safe
    for (int i = 0; i < n; i++) {
        if (active[i]) y[i] = 0.5 * y[i] + i;
    }
}

void sorted_unique(int n, double *restrict y, const int *restrict idx)
{
    // loop sorted_unique: if injective(idx)
    for (int i = 1; i < n; i++) {
        y[idx[i]] = idx[i] - 2 * i;
    }
}

void table_lookup(int n, unsigned char *a, const unsigned char *restrict table)
{
    // loop table_lookup: safe
    for (int i = 0; i < n; i++) {
        a[i] = table[a[i]];
    }
}

void table_lookup_itself(int n, unsigned char *a)
{
    // loop table_lookup_itself: carried +2 +2
    for (int i = 0; i < n; i++) {
        a[i] = a[a[i]];
    }
}
