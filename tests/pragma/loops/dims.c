/*
 * dims.c: arrays of several dimensions, of structures and in structures, variable length, pointers
 * to arrays and to pointers, bit-fields, unions. Labels: README.md.
 */

struct point {
    double x, y, z;
};

struct grid {
    int n, m;
    double *u, *v;
};

struct grid_apart {
    int n;
    double *restrict u, *restrict v;
};

struct grid_of_int {
    int n;
    int *u;
};

struct table {
    int n;
    double value[64];
    double total;
};

struct flags {
    unsigned low : 4, high : 4;
};

union word {
    unsigned u;
    float f;
};

struct cell {
    double q[4];
};

static double plane[40][50];
static double volume[20][30][40];

void plane_fill(void)
{
    // loop plane_fill.i: safe ; collapse(2)
    for (int i = 0; i < 40; i++) {
        // loop plane_fill.j: safe
        for (int j = 0; j < 50; j++) {
            plane[i][j] = i - j;
        }
    }
}

void plane_from_above(void)
{
    // loop plane_from_above.i: carried +4 +4
    for (int i = 1; i < 40; i++) {
        // loop plane_from_above.j: safe
        for (int j = 0; j < 50; j++) {
            plane[i][j] += 0.5 * plane[i - 1][j];
        }
    }
}

void plane_from_left(void)
{
    // loop plane_from_left.i: safe
    for (int i = 0; i < 40; i++) {
        // loop plane_from_left.j: carried +2 +2
        for (int j = 1; j < 50; j++) {
            plane[i][j] += 0.5 * plane[i][j - 1];
        }
    }
}

void plane_diagonal(void)
{
    // loop plane_diagonal.i: carried +4 +4
    for (int i = 1; i < 40; i++) {
        // loop plane_diagonal.j: safe
        for (int j = 1; j < 50; j++) {
            plane[i][j] += 0.5 * plane[i - 1][j - 1];
        }
    }
}

void plane_even_from_odd(void)
{
    // loop plane_even_from_odd.i: safe ; collapse(2)
    for (int i = 0; i < 20; i++) {
        // loop plane_even_from_odd.j: safe
        for (int j = 0; j < 50; j++) {
            plane[2 * i][j] = plane[2 * i + 1][j];
        }
    }
}

void plane_halves(void)
{
    // loop plane_halves.i: carried +4 +4 i / 2 is the same for two iterations
    for (int i = 0; i < 40; i++) {
        // loop plane_halves.j: safe
        for (int j = 0; j < 50; j++) {
            plane[i / 2][j] = i + j;
        }
    }
}

void plane_transposed(void)
{
    // loop plane_transposed.i: carried +4 +4
    for (int i = 0; i < 40; i++) {
        // loop plane_transposed.j: safe
        for (int j = 0; j < 40; j++) {
            plane[i][j] = plane[j][i] + 1.0;
        }
    }
}

void plane_symmetric(void)
{
    // loop plane_symmetric.i: safe
    for (int i = 0; i < 40; i++) {
        // loop plane_symmetric.j: safe
        for (int j = 0; j < i; j++) {
            plane[i][j] = plane[j][i];
        }
    }
}

void plane_one_column(void)
{
    // loop plane_one_column: safe
    for (int i = 0; i < 40; i++) {
        plane[i][7] = plane[i][8];
    }
}

void plane_one_row(void)
{
    // loop plane_one_row.i: carried +4 +4 every iteration adds to row 0
    for (int i = 1; i < 40; i++) {
        // loop plane_one_row.j: safe
        for (int j = 0; j < 50; j++) {
            plane[0][j] = 0.5 * plane[0][j] + plane[i][j];
        }
    }
}

void volume_fill(void)
{
    // loop volume_fill.i: safe ; collapse(3)
    for (int i = 0; i < 20; i++) {
        // loop volume_fill.j: safe ; collapse(2)
        for (int j = 0; j < 30; j++) {
            // loop volume_fill.k: safe
            for (int k = 0; k < 40; k++) {
                volume[i][j][k] = i + j - k;
            }
        }
    }
}

void volume_sweep(void)
{
    // loop volume_sweep.k: carried +6 +6
    for (int k = 1; k < 40; k++) {
        // loop volume_sweep.i: safe ; collapse(2)
        for (int i = 0; i < 20; i++) {
            // loop volume_sweep.j: safe
            for (int j = 0; j < 30; j++) {
                volume[i][j][k] += 0.5 * volume[i][j][k - 1];
            }
        }
    }
}

void variable_length(int n, int m, double a[n][m])
{
    // loop variable_length.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop variable_length.j: safe
        for (int j = 0; j < m; j++) {
            a[i][j] = 2.0 * a[i][j] + i;
        }
    }
}

void variable_length_next(int n, int m, double a[n][m])
{
    // loop variable_length_next.i: carried +4 +4
    for (int i = 0; i < n - 1; i++) {
        // loop variable_length_next.j: safe
        for (int j = 0; j < m; j++) {
            a[i][j] = a[i + 1][j];
        }
    }
}

void variable_length_two(int n, int m, double b[restrict n][m], double a[restrict n][m])
{
    // loop variable_length_two.i: safe ; collapse(2)
    for (int i = 1; i < n; i++) {
        // loop variable_length_two.j: safe
        for (int j = 0; j < m; j++) {
            b[i][j] = a[i][j] - a[i - 1][j];
        }
    }
}

void variable_length_open(int n, int m, double b[n][m], double a[n][m])
{
    // loop variable_length_open.i: if distinct(b, a)
    for (int i = 1; i < n; i++) {
        // loop variable_length_open.j: if distinct(b, a)
        for (int j = 0; j < m; j++) {
            b[i][j] = a[i][j] - a[i - 1][j];
        }
    }
}

void pointer_to_rows(int n, int m, double (*a)[m])
{
    // loop pointer_to_rows.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop pointer_to_rows.j: safe
        for (int j = 0; j < m; j++) {
            a[i][j] = 2.0 * a[i][j] + i;
        }
    }
}

void cast_to_rows(int n, int m, double *p)
{
    double(*a)[m] = (double(*)[m])p;
    // loop cast_to_rows.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop cast_to_rows.j: safe
        for (int j = 0; j < m; j++) {
            a[i][j] = i - j;
        }
    }
}

void cast_and_flat(int n, int m, double *p)
{
    double(*a)[m] = (double(*)[m])p;
    // loop cast_and_flat.i: carried +4 +4 p and a are the same memory
    for (int i = 0; i < n; i++) {
        // loop cast_and_flat.j: safe
        for (int j = 0; j < m; j++) {
            a[i][j] = p[j] + 1.0;
        }
    }
}

void rows_by_pointer(int n, int m, double **a)
{
    // loop rows_by_pointer.i: if distinct(a[i], a[k]) ; types
    for (int i = 0; i < n; i++) {
        // loop rows_by_pointer.j: safe ; types
        for (int j = 0; j < m; j++) {
            a[i][j] = 0.5 * a[i][j] + i;
        }
    }
}

void rows_by_pointer_one(int n, int m, double **a)
{
    // loop rows_by_pointer_one.i: carried +4 +4
    for (int i = 1; i < n; i++) {
        // loop rows_by_pointer_one.j: if distinct(a[i], a[i - 1]) ; types
        for (int j = 0; j < m; j++) {
            a[i][j] += a[i - 1][j];
        }
    }
}

void rows_by_pointer_same(int n, int m, double **a)
{
    // loop rows_by_pointer_same.i: carried +4 +4 all iterations write row 0
    for (int i = 0; i < n; i++) {
        // loop rows_by_pointer_same.j: safe ; types
        for (int j = 0; j < m; j++) {
            a[0][j] = 0.5 * a[0][j] + i;
        }
    }
}

void set_rows(int n, int m, double **restrict row, double *p)
{
    // loop set_rows: safe
    for (int i = 0; i < n; i++) {
        row[i] = p + i * m;
    }
}

void fields(int n, struct point *p)
{
    // loop fields: safe
    for (int i = 0; i < n; i++) {
        p[i].x = p[i].y + p[i].z;
    }
}

void fields_of_next(int n, struct point *p)
{
    // loop fields_of_next: safe
    for (int i = 0; i < n - 1; i++) {
        p[i].x = p[i + 1].y;
    }
}

void field_of_next(int n, struct point *p)
{
    // loop field_of_next: carried +2 +2
    for (int i = 0; i < n - 1; i++) {
        p[i].x = p[i + 1].x;
    }
}

void fields_crossed(int n, struct point *p)
{
    // loop fields_crossed: carried +2 +3 the next iteration reads p[i + 1].y after it is set
    for (int i = 0; i < n - 1; i++) {
        p[i + 1].y = p[i].z;
        p[i].x = p[i].y;
    }
}

void whole_points(int n, struct point *restrict q, const struct point *restrict p)
{
    // loop whole_points: safe
    for (int i = 0; i < n; i++) {
        q[i] = p[n - 1 - i];
    }
}

void whole_point_and_field(int n, struct point *p)
{
    // loop whole_point_and_field: carried +2 +2 the whole of p[i] is written, p[i + 1] is read
    for (int i = 0; i < n - 1; i++) {
        p[i] = (struct point){p[i + 1].y, p[i].y, p[i].z};
    }
}

void members(struct grid *g)
{
    // loop members: if distinct(g->u, g->v) ; types
    for (int i = 0; i < g->n; i++) {
        g->u[i] = 2.0 * g->v[i];
    }
}

void member_alone(struct grid *g)
{
    // loop member_alone: safe ; types
    for (int i = 0; i < g->n; i++) {
        g->u[i] = 0.5 * g->u[i] + i;
    }
}

void member_before(struct grid *g)
{
    // loop member_before: carried +2 +2
    for (int i = 1; i < g->n; i++) {
        g->u[i] += 0.5 * g->u[i - 1];
    }
}

void members_restrict(struct grid_apart *g)
{
    // loop members_restrict: safe ; types
    for (int i = 0; i < g->n; i++) {
        g->u[i] = 2.0 * g->v[i];
    }
}

void member_may_be_bound(struct grid_of_int *g)
{
    // loop member_may_be_bound: if distinct(g->u, &g->n) ; types
    for (int i = 0; i < g->n; i++) {
        g->u[i] = 1;
    }
}

void member_bound_copied(struct grid_of_int *g)
{
    int n = g->n, *u = g->u;
    // loop member_bound_copied: safe
    for (int i = 0; i < n; i++) {
        u[i] = 1;
    }
}

void member_counts(struct grid *g, const double *restrict a)
{
    int n = g->n;
    // loop member_counts: safe reduction(+:g->m) ; local
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) g->m++;
    }
}

void array_in_struct(struct table *t)
{
    // loop array_in_struct: safe
    for (int i = 0; i < t->n; i++) {
        t->value[i] = i;
    }
}

void array_in_struct_total(struct table *t)
{
    // loop array_in_struct_total: safe reduction(+:t->total) ; local
    for (int i = 0; i < t->n; i++) {
        t->total += t->value[i];
    }
}

void array_in_struct_by_total(struct table *t)
{
    // loop array_in_struct_by_total: carried +3 +2
    for (int i = 0; i < t->n; i++) {
        t->value[i] -= t->total;
        t->total *= 0.5;
    }
}

void array_of_tables(int n, struct table *t)
{
    // loop array_of_tables.i: safe
    for (int i = 0; i < n; i++) {
        t[i].total = 0.0;
        // loop array_of_tables.j: safe reduction(+:t[i].total) ; local
        for (int j = 0; j < 64; j++) {
            t[i].total += t[i].value[j];
        }
    }
}

void array_of_tables_first(int n, struct table *t)
{
    // loop array_of_tables_first.i: carried +4 +4 all add to the first
    for (int i = 0; i < n; i++) {
        // loop array_of_tables_first.j: safe
        for (int j = 0; j < 64; j++) {
            t[0].value[j] = 0.5 * t[0].value[j] + t[i].value[j];
        }
    }
}

void cells(int n, struct cell *restrict b, const struct cell *restrict a)
{
    // loop cells.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop cells.k: safe ; small
        for (int k = 0; k < 4; k++) {
            b[i].q[k] = a[i].q[3 - k];
        }
    }
}

void cells_in_place(int n, struct cell *a)
{
    // loop cells_in_place.i: safe
    for (int i = 0; i < n; i++) {
        // loop cells_in_place.k: carried +2 +2
        for (int k = 0; k < 4; k++) {
            a[i].q[k] = a[i].q[3 - k] + 1.0;
        }
    }
}

void bit_fields(int n, struct flags *f)
{
    // loop bit_fields: safe
    for (int i = 0; i < n; i++) {
        f[i].low = f[i].high;
    }
}

void bit_field_shared(int n, struct flags *f, const unsigned *restrict a)
{
    // loop bit_field_shared: carried +2 +2
    for (int i = 0; i < n; i++) {
        f->low = (f->low * 3u + a[i]) & 15u;
    }
}

void bits_or(int n, unsigned *restrict w, const int *restrict a)
{
    // loop bits_or: safe reduction(|:w[:(n + 31) / 32])
    for (int i = 0; i < n; i++) {
        if (a[i] > 3) w[i / 32] |= 1u << (i % 32);
    }
}

void bits_set(int n, unsigned *restrict w, const int *restrict a)
{
    // loop bits_set: carried +5 +3 32 iterations write one word, each a bit of it
    for (int i = 0; i < n; i++) {
        if (a[i] > 3) {
            w[i / 32] |= 1u << (i % 32);
        } else {
            w[i / 32] &= ~(1u << (i % 32));
        }
    }
}

void bytes_set(int n, unsigned char *restrict w, const int *restrict a)
{
    // loop bytes_set: safe
    for (int i = 0; i < n; i++) {
        w[i] = a[i] > 3;
    }
}

void words_in_place(int n, union word *w)
{
    // loop words_in_place: safe
    for (int i = 0; i < n; i++) {
        w[i].f = (float)(w[i].u % 64);
    }
}

void words_next(int n, union word *w)
{
    // loop words_next: carried +2 +2 u and f of the next word are the same bytes
    for (int i = 0; i < n - 1; i++) {
        w[i].f = (float)(w[i + 1].u % 64);
    }
}

void local_plane(int n, double *restrict b, const double *restrict a)
{
    double t[4][4];
    // loop local_plane.i: safe private(t)
    for (int i = 0; i < n; i++) {
        // loop local_plane.set: safe ; small
        for (int k = 0; k < 4; k++) {
            // loop local_plane.l: safe ; small
            for (int l = 0; l < 4; l++) {
                t[k][l] = a[i] * (k - l);
            }
        }
        b[i] = t[1][3] + t[3][2];
    }
}

void time_levels(int steps, int n, double u[2][n])
{
    // loop time_levels.t: carried +4 +4 a level is made of the one before
    for (int t = 0; t < steps; t++) {
        // loop time_levels.i: safe
        for (int i = 1; i < n - 1; i++) {
            u[(t + 1) % 2][i] = 0.5 * (u[t % 2][i - 1] + u[t % 2][i + 1]);
        }
    }
}

void one_level(int steps, int n, double u[n])
{
    // loop one_level.t: carried +4 +4
    for (int t = 0; t < steps; t++) {
        // loop one_level.i: carried +2 +2
        for (int i = 1; i < n - 1; i++) {
            u[i] = 0.5 * (u[i - 1] + u[i + 1]);
        }
    }
}
