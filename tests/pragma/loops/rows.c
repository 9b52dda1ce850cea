/*
 * rows.c: arrays of pointers, and arrays of indices: loops that are parallel under assumptions that
 * no expression tests, and loops like them that are not. Labels: README.md.
 */
#include <stddef.h>

/* ---- compressed rows, each of its own allocation ---- */

typedef struct matrix {
    int rows;
    int *count;
    double **vals;
    int **inds;
    double **diagonal;
} matrix;

void multiply(const matrix *A, const double *x, double *y)
{
    const int n = A->rows;
    // loop multiply.i: if distinct(vals, y) distinct(x, y)
    for (int i = 0; i < n; i++) {
        double sum = 0;
        const double *vals = A->vals[i];
        const int *inds = A->inds[i];
        // loop multiply.j: safe reduction(+:sum)
        for (int j = 0; j < A->count[i]; j++) {
            sum += vals[j] * x[inds[j]];
        }
        y[i] = sum;
    }
}

static void multiply_first(const matrix *A, const double *restrict x, double *y)
{
    const int n = A->rows;
    // loop multiply_first.i: carried +6 +8 the caller below passes a row for y ; violates(vals, y)
    for (int i = 0; i < n; i++) {
        double sum = 0;
        const double *vals = A->vals[i];
        const int *inds = A->inds[i];
        // loop multiply_first.j: safe reduction(+:sum)
        for (int j = 0; j < A->count[i]; j++) {
            sum += vals[j] * x[inds[j]];
        }
        y[i] = sum;
    }
}

void multiply_into_row(matrix *A, const double *x)
{
    multiply_first(A, x, A->vals[0]);
}

void row_by_name(double **a, int n, int m, double *s)
{
    double *first = a[0];
    // loop row_by_name.i: carried +5 +5
    for (int i = 0; i < n; i++) {
        double sum = 0;
        // loop row_by_name.j: safe reduction(+:sum)
        for (int j = 0; j < m; j++) sum += a[i][j];
        first[i] = sum;
    }
    s[0] = first[0];
}

void diagonal(matrix *A, const double *restrict d)
{
    // loop diagonal: if distinct(diagonal, diagonal)
    for (int i = 0; i < A->rows; i++) {
        *A->diagonal[i] = 2 * d[i];
    }
}

void diagonal_shift(matrix *A)
{
    // loop diagonal_shift: carried +2 +2
    for (int i = 1; i < A->rows; i++) {
        *A->diagonal[i] = 0.5 * *A->diagonal[i - 1];
    }
}

void scale_from_diagonal(matrix *A, int m)
{
    // loop scale_from_diagonal.i: if distinct(vals, diagonal)
    for (int i = 0; i < A->rows; i++) {
        // loop scale_from_diagonal.j: if distinct(vals, diagonal)
        for (int j = 0; j < m; j++) {
            A->vals[i][j] = A->vals[i][j] * *A->diagonal[i];
        }
    }
}

/* ---- grids of rows ---- */

void copy_rows(int n, int m, double **a, double **b)
{
    // loop copy_rows.i: if distinct(a, b)
    for (int i = 0; i < n; i++) {
        // loop copy_rows.j: if distinct(a, b)
        for (int j = 0; j < m; j++) {
            a[i][j] = b[i][j];
        }
    }
}

void copy_rows_up(int n, int m, double **a)
{
    // loop copy_rows_up.i: carried +4 +4
    for (int i = 1; i < n; i++) {
        // loop copy_rows_up.j: if distinct(a, a)
        for (int j = 0; j < m; j++) {
            a[i][j] = a[i - 1][j];
        }
    }
}

void cube(int n, double ***u)
{
    // loop cube.k: if distinct(u, u)
    for (int k = 0; k < n; k++) {
        // loop cube.j: if distinct(u, u)
        for (int j = 0; j < n; j++) {
            // loop cube.i: safe
            for (int i = 0; i < n; i++) {
                u[k][j][i] = 2 * u[k][j][i];
            }
        }
    }
}

void cube_sweep(int n, double ***u)
{
    // loop cube_sweep.k: carried +6 +6
    for (int k = 1; k < n; k++) {
        // loop cube_sweep.j: if distinct(u, u)
        for (int j = 0; j < n; j++) {
            // loop cube_sweep.i: if distinct(u, u)
            for (int i = 0; i < n; i++) {
                u[k][j][i] = u[k - 1][j][i];
            }
        }
    }
}

void cube_plane(int n, double ***u)
{
    // loop cube_plane.k: if distinct(u, u)
    for (int k = 0; k < n; k++) {
        // loop cube_plane.j: carried +4 +4
        for (int j = 1; j < n; j++) {
            // loop cube_plane.i: if distinct(u, u)
            for (int i = 0; i < n; i++) {
                u[k][j][i] = u[k][j - 1][i];
            }
        }
    }
}

void rows_exchanged(int n, double **a)
{
    // loop rows_exchanged: carried +2 +3
    for (int i = 1; i < n; i++) {
        a[i] = a[0];
        a[i][0] = a[i - 1][0] + 1;
    }
}

/* ---- objects by pointers ---- */

typedef struct cell {
    double value, flux;
    struct cell *next, *parent;
    double *data;
} cell;

void set_cells(int n, cell **c, const double *x)
{
    // loop set_cells: if distinct(c, x)
    for (int i = 0; i < n; i++) {
        c[i]->value = x[i];
    }
}

void flux_of_cells(int n, cell **c)
{
    // loop flux_of_cells: if distinct(c, c)
    for (int i = 0; i < n; i++) {
        c[i]->flux = 2 * c[i]->value;
    }
}

void cells_of_neighbours(int n, cell **c)
{
    // loop cells_of_neighbours: carried +2 +2 the next cell is another element
    for (int i = 0; i < n; i++) {
        c[i]->value = c[i]->next->value;
    }
}

void sum_in_parents(int n, cell **c)
{
    // loop sum_in_parents: carried +2 +2 cells have a parent in common
    for (int i = 0; i < n; i++) {
        c[i]->parent->value += c[i]->flux;
    }
}

void data_of_neighbours(int n, cell **c)
{
    // loop data_of_neighbours: carried +2 +2
    for (int i = 0; i < n; i++) {
        c[i]->data[0] = c[i]->next->data[0];
    }
}

void chain(int n, cell **c)
{
    // loop chain: carried +2 +2
    for (int i = 1; i < n; i++) {
        c[i]->value = c[i - 1]->value + c[i]->flux;
    }
}

/* ---- arrays of indices ---- */

typedef struct edge {
    int from, to;
} edge;

void permute_in_struct(int n, const edge *e, double *restrict y, const double *restrict x)
{
    // loop permute_in_struct: if injective(to)
    for (int i = 0; i < n; i++) {
        y[e[i].to] = x[i];
    }
}

void permute_and_read(int n, const edge *e, double *restrict y)
{
    // loop permute_and_read: carried +2 +2
    for (int i = 0; i < n; i++) {
        y[e[i].to] = y[e[i].from];
    }
}

void permute_blocks(int n, const int *restrict idx, double *restrict y, const double *restrict x)
{
    // loop permute_blocks.i: if injective(idx)
    for (int i = 0; i < n; i++) {
        // loop permute_blocks.k: safe ; small
        for (int k = 0; k < 3; k++) {
            y[3 * idx[i] + k] = x[3 * i + k];
        }
    }
}

void permute_blocks_over(int n, const int *restrict idx, double *restrict y,
                         const double *restrict x)
{
    // loop permute_blocks_over.i: carried +4 +4 blocks of three at a distance of two
    for (int i = 0; i < n; i++) {
        // loop permute_blocks_over.k: safe ; small
        for (int k = 0; k < 3; k++) {
            y[2 * idx[i] + k] = x[3 * i + k];
        }
    }
}

void edges_add(int n, const edge *e, double *restrict y, const double *restrict x)
{
    // loop edges_add: carried +2 +2 nodes have several edges
    for (int i = 0; i < n; i++) {
        y[e[i].to] += x[i];
    }
}

void ends_of_edges(int n, const int *restrict ends, double *restrict y, const double *restrict x)
{
    // loop ends_of_edges: if injective(ends)
    for (int i = 0; i < n; i++) {
        y[ends[2 * i]] = x[i];
        y[ends[2 * i + 1]] = -x[i];
    }
}

void next_of_index(int n, const int *restrict idx, double *restrict y, const double *restrict x)
{
    // loop next_of_index: carried +3 +2 idx may have neighbours
    for (int i = 0; i < n; i++) {
        y[idx[i]] = x[i];
        y[idx[i] + 1] = -x[i];
    }
}

void index_of_half(int n, const int *restrict idx, double *restrict y, const double *restrict x)
{
    // loop index_of_half: carried +2 +2 two iterations have one index
    for (int i = 0; i < n; i++) {
        y[idx[i / 2]] = x[i];
    }
}

void two_permutations(int n, const int *restrict p, const int *restrict q, double *restrict y,
                      const double *restrict x)
{
    // loop two_permutations: carried +2 +3
    for (int i = 0; i < n; i++) {
        y[p[i]] = x[i];
        y[q[i]] = -x[i];
    }
}

void marked(int n, const int *restrict idx, const int *restrict mark, double *restrict y)
{
    // loop marked: if injective(idx)
    for (int i = 0; i < n; i++) {
        if (mark[i]) y[idx[i]] = 1;
    }
}

void repeated_by_caller(int n, int *restrict idx, double *restrict y, const double *restrict x)
{
    // loop repeated_by_caller.fill: safe
    for (int i = 0; i < n; i++) idx[i] = i % 4;
    // loop repeated_by_caller.use: carried +2 +2 ; violates(idx)
    for (int i = 0; i < n; i++) {
        y[idx[i]] = x[i];
    }
}
