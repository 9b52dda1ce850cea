/*
 * hpc.c: kernels as codes have them: stencils, products, sparse rows, sorting, particles, random
 * numbers, images. Labels: README.md.
 */
#include <math.h>
#include <stdint.h>

void jacobi(int n, int m, double v[restrict n][m], double u[restrict n][m])
{
    // loop jacobi.i: safe ; collapse(2)
    for (int i = 1; i < n - 1; i++) {
        // loop jacobi.j: safe
        for (int j = 1; j < m - 1; j++) {
            v[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
        }
    }
}

void gauss_seidel(int n, int m, double u[n][m])
{
    // loop gauss_seidel.i: carried +4 +4
    for (int i = 1; i < n - 1; i++) {
        // loop gauss_seidel.j: carried +2 +2
        for (int j = 1; j < m - 1; j++) {
            u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
        }
    }
}

void red_black(int n, int m, int colour, double u[n][m])
{
    // loop red_black.i: safe
    for (int i = 1; i < n - 1; i++) {
        // loop red_black.j: safe
        for (int j = 1 + (i + colour) % 2; j < m - 1; j += 2) {
            u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
        }
    }
}

void red_and_black(int n, int m, double u[n][m])
{
    // loop red_and_black.i: carried +4 +4 a start that does not alternate: columns meet
    for (int i = 1; i < n - 1; i++) {
        // loop red_and_black.j: safe
        for (int j = 1; j < m - 1; j += 2) {
            u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
        }
    }
}

void heat(int n, double *restrict next, const double *restrict now, double k)
{
    // loop heat: safe
    for (int i = 1; i < n - 1; i++) {
        next[i] = now[i] + k * (now[i - 1] - 2.0 * now[i] + now[i + 1]);
    }
}

void advection(int n, double *u, double c)
{
    // loop advection: carried +2 +2
    for (int i = 1; i < n; i++) {
        u[i] -= c * (u[i] - u[i - 1]);
    }
}

void product(int n, double c[restrict n][n], double a[restrict n][n], double b[restrict n][n])
{
    // loop product.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop product.j: safe
        for (int j = 0; j < n; j++) {
            double s = 0.0;
            // loop product.k: safe reduction(+:s)
            for (int k = 0; k < n; k++) {
                s += a[i][k] * b[k][j];
            }
            c[i][j] = s;
        }
    }
}

void product_by_rows(int n, double *restrict c, const double *restrict a, const double *restrict b)
{
    // loop product_by_rows.i: safe
    for (int i = 0; i < n; i++) {
        // loop product_by_rows.k: safe reduction(+:c[i * n:n])
        for (int k = 0; k < n; k++) {
            // loop product_by_rows.j: safe
            for (int j = 0; j < n; j++) {
                c[i * n + j] += a[i * n + k] * b[k * n + j];
            }
        }
    }
}

void product_outer_sum(int n, double *restrict c, const double *restrict a,
                       const double *restrict b)
{
    // loop product_outer_sum.k: safe reduction(+:c[:n * n])
    for (int k = 0; k < n; k++) {
        // loop product_outer_sum.i: safe ; collapse(2)
        for (int i = 0; i < n; i++) {
            // loop product_outer_sum.j: safe
            for (int j = 0; j < n; j++) {
                c[i * n + j] += a[i * n + k] * b[k * n + j];
            }
        }
    }
}

void product_tiled(int n, double *restrict c, const double *restrict a, const double *restrict b)
{
    // loop product_tiled.ii: safe
    for (int ii = 0; ii < n; ii += 8) {
        int end = ii + 8 < n ? ii + 8 : n;
        // loop product_tiled.i: safe
        for (int i = ii; i < end; i++) {
            // loop product_tiled.k: safe reduction(+:c[i * n:n])
            for (int k = 0; k < n; k++) {
                double w = a[i * n + k];
                // loop product_tiled.j: safe
                for (int j = 0; j < n; j++) {
                    c[i * n + j] += w * b[k * n + j];
                }
            }
        }
    }
}

void matrix_vector(int n, int m, double *restrict y, const double *restrict a,
                   const double *restrict x)
{
    // loop matrix_vector.i: safe
    for (int i = 0; i < n; i++) {
        double s = 0.0;
        // loop matrix_vector.j: safe reduction(+:s)
        for (int j = 0; j < m; j++) {
            s += a[i * m + j] * x[j];
        }
        y[i] = s;
    }
}

void triangular_solve(int n, double *restrict x, double a[restrict n][n])
{
    // loop triangular_solve.i: carried +6 +4 x[i] needs all before it
    for (int i = 0; i < n; i++) {
        // loop triangular_solve.j: safe reduction(+:x[i]) ; local
        for (int j = 0; j < i; j++) {
            x[i] -= a[i][j] * x[j];
        }
        x[i] /= a[i][i] + 4.0;
    }
}

void eliminate(int n, int k, double a[n][n])
{
    // loop eliminate.i: safe
    for (int i = k + 1; i < n; i++) {
        double w = a[i][k] / (a[k][k] + 4.0);
        // loop eliminate.j: safe
        for (int j = k; j < n; j++) {
            a[i][j] -= w * a[k][j];
        }
    }
}

void cholesky_column(int n, int k, double a[n][n])
{
    // loop cholesky_column.i: safe
    for (int i = k + 1; i < n; i++) {
        double s = a[i][k];
        // loop cholesky_column.j: safe reduction(+:s)
        for (int j = 0; j < k; j++) {
            s -= a[i][j] * a[k][j];
        }
        a[i][k] = s / (a[k][k] + 4.0);
    }
}

void histogram(int n, int bins, int *restrict bin, const double *restrict a)
{
    // loop histogram: carried +4 +4
    for (int i = 0; i < n; i++) {
        int k = (int)((a[i] + 1.0) * 0.125 * bins);
        if (k < 0) k = 0;
        bin[k]++;
    }
}

void prefix_sum(int n, double *a)
{
    // loop prefix_sum: carried +2 +2
    for (int i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

void prefix_step(int n, int distance, double *restrict b, const double *restrict a)
{
    // loop prefix_step: safe
    for (int i = 0; i < n; i++) {
        b[i] = i >= distance ? a[i] + a[i - distance] : a[i];
    }
}

void bodies(int n, double (*restrict f)[3], double (*restrict x)[3], const double *restrict mass)
{
    // loop bodies.i: safe
    for (int i = 0; i < n; i++) {
        double sum[3] = {0.0, 0.0, 0.0};
        // loop bodies.j: safe reduction(+:sum)
        for (int j = 0; j < n; j++) {
            double d[3], r = 1e-3;
            // loop bodies.d: safe reduction(+:r) ; small
            for (int k = 0; k < 3; k++) {
                d[k] = x[j][k] - x[i][k];
                r += d[k] * d[k];
            }
            double w = mass[j] / (r * sqrt(r));
            // loop bodies.sum: safe ; small
            for (int k = 0; k < 3; k++) {
                sum[k] += w * d[k];
            }
        }
        // loop bodies.out: safe ; small
        for (int k = 0; k < 3; k++) {
            f[i][k] = sum[k];
        }
    }
}

void bodies_by_pairs(int n, double *restrict f, const double *restrict x)
{
    // loop bodies_by_pairs.i: safe reduction(+:f[:n])
    for (int i = 0; i < n; i++) {
        // loop bodies_by_pairs.j: safe reduction(+:f[:n])
        for (int j = i + 1; j < n; j++) {
            double w = x[j] - x[i];
            f[i] += w;
            f[j] -= w;
        }
    }
}

void bodies_moved_at_once(int n, double *x)
{
    // loop bodies_moved_at_once.i: carried +5 +4 a body is moved, and the next sees it
    for (int i = 0; i < n; i++) {
        double s = 0.0;
        // loop bodies_moved_at_once.j: safe reduction(+:s)
        for (int j = 0; j < n; j++) s += x[j] - x[i];
        x[i] += 0.01 * s;
    }
}

void butterflies(int n, int half, double *restrict re, double *restrict im)
{
    // loop butterflies.block: safe
    for (int block = 0; block < n; block += 2 * half) {
        // loop butterflies.k: safe
        for (int k = block; k < block + half; k++) {
            double w = cos(3.14159265358979 * (k - block) / half);
            double x = re[k + half] * w, y = im[k + half] * w;
            re[k + half] = re[k] - x;
            im[k + half] = im[k] - y;
            re[k] += x;
            im[k] += y;
        }
    }
}

void bit_reversal(int bits, double *restrict b, const double *restrict a)
{
    // loop bit_reversal.i: safe
    for (int i = 0; i < 256; i++) {
        int r = 0;
        // loop bit_reversal.k: carried +2 +2
        for (int k = 0; k < 8; k++) {
            r = (r << 1) | ((i >> k) & 1);
        }
        b[r] = a[i] + bits;
    }
}

void odd_even_pass(int n, int odd, double *a)
{
    // loop odd_even_pass: safe
    for (int i = odd; i < n - 1; i += 2) {
        if (a[i] > a[i + 1]) {
            double t = a[i];
            a[i] = a[i + 1];
            a[i + 1] = t;
        }
    }
}

void bubble_pass(int n, double *a)
{
    // loop bubble_pass: carried +5 +2
    for (int i = 0; i < n - 1; i++) {
        if (a[i] > a[i + 1]) {
            double t = a[i];
            a[i] = a[i + 1];
            a[i + 1] = t;
        }
    }
}

void insertion(int n, double *a)
{
    // loop insertion.i: carried +6 +5
    for (int i = 1; i < n; i++) {
        double x = a[i];
        int j = i;
        // loop insertion.j: carried control ; noncanonical
        while (j > 0 && a[j - 1] > x) {
            a[j] = a[j - 1];
            j--;
        }
        a[j] = x;
    }
}

void ranks(int n, int *restrict rank, const double *restrict a)
{
    // loop ranks.i: safe
    for (int i = 0; i < n; i++) {
        int r = 0;
        // loop ranks.j: safe reduction(+:r)
        for (int j = 0; j < n; j++) {
            if (a[j] < a[i] || (a[j] == a[i] && j < i)) r++;
        }
        rank[i] = r;
    }
}

void transpose_blocks(int n, double *restrict b, const double *restrict a)
{
    // loop transpose_blocks.ii: safe ; collapse(2)
    for (int ii = 0; ii < n; ii += 4) {
        // loop transpose_blocks.jj: safe
        for (int jj = 0; jj < n; jj += 4) {
            // loop transpose_blocks.i: safe
            for (int i = ii; i < (ii + 4 < n ? ii + 4 : n); i++) {
                // loop transpose_blocks.j: safe
                for (int j = jj; j < (jj + 4 < n ? jj + 4 : n); j++) {
                    b[j * n + i] = a[i * n + j];
                }
            }
        }
    }
}

double monte_carlo(int n, uint64_t seed)
{
    int hits = 0;
    // loop monte_carlo: carried +4 +2 each number is made of the one before
    for (int i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double x = (double)(seed >> 40) / 16777216.0;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double y = (double)(seed >> 40) / 16777216.0;
        if (x * x + y * y < 1.0) hits++;
    }
    return n > 0 ? 4.0 * hits / n : 0.0;
}

static uint64_t mixed(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 32);
}

double monte_carlo_keyed(int n, uint64_t seed)
{
    int hits = 0;
    // loop monte_carlo_keyed: safe reduction(+:hits)
    for (int i = 0; i < n; i++) {
        double x = (double)(mixed(seed + 2 * (uint64_t)i) >> 40) / 16777216.0;
        double y = (double)(mixed(seed + 2 * (uint64_t)i + 1) >> 40) / 16777216.0;
        if (x * x + y * y < 1.0) hits++;
    }
    return n > 0 ? 4.0 * hits / n : 0.0;
}

double pi(int n)
{
    double s = 0.0, x, h = 1.0 / n;
    // loop pi: safe private(x) reduction(+:s)
    for (int i = 0; i < n; i++) {
        x = (i + 0.5) * h;
        s += 4.0 / (1.0 + x * x);
    }
    return s * h;
}

int words(int n, const char *text)
{
    int count = 0, inside = 0;
    // loop words: carried +4 +3 inside is the state of the scan
    for (int i = 0; i < n; i++) {
        int letter = text[i] > ' ';
        if (letter && !inside) count++;
        inside = letter;
    }
    return count;
}

int words_by_neighbour(int n, const char *text)
{
    int count = 0;
    // loop words_by_neighbour: safe reduction(+:count)
    for (int i = 0; i < n; i++) {
        if (text[i] > ' ' && (i == 0 || text[i - 1] <= ' ')) count++;
    }
    return count;
}

void brighten(int n, unsigned char *pixel, int by)
{
    // loop brighten: safe
    for (int i = 0; i < n; i++) {
        int v = pixel[i] + by;
        pixel[i] = (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

void blur(int n, int m, unsigned char *restrict out, const unsigned char *restrict in)
{
    // loop blur.i: safe ; collapse(2)
    for (int i = 1; i < n - 1; i++) {
        // loop blur.j: safe
        for (int j = 1; j < m - 1; j++) {
            int s = 0;
            // loop blur.di: safe reduction(+:s) ; small, collapse(2)
            for (int di = -1; di <= 1; di++) {
                // loop blur.dj: safe reduction(+:s) ; small
                for (int dj = -1; dj <= 1; dj++) {
                    s += in[(i + di) * m + j + dj];
                }
            }
            out[i * m + j] = (unsigned char)(s / 9);
        }
    }
}

void dither(int n, unsigned char *pixel)
{
    int error = 0;
    // loop dither: carried +4 +2 the error is handed on
    for (int i = 0; i < n; i++) {
        int v = pixel[i] + error;
        pixel[i] = v > 127 ? 255 : 0;
        error = v - pixel[i];
    }
}

void luminance(int n, double *restrict y, double (*restrict rgb)[3])
{
    // loop luminance: safe
    for (int i = 0; i < n; i++) {
        y[i] = 0.299 * rgb[i][0] + 0.587 * rgb[i][1] + 0.114 * rgb[i][2];
    }
}

void stream_to_neighbours(int n, double (*restrict to)[3], double (*restrict from)[3])
{
    // loop stream_to_neighbours: safe
    for (int i = 1; i < n - 1; i++) {
        to[i - 1][0] = from[i][0];
        to[i][1] = from[i][1];
        to[i + 1][2] = from[i][2];
    }
}

void stream_in_place(int n, double (*f)[3])
{
    // loop stream_in_place: carried +3 +3 what moves right is overwritten and moved on
    for (int i = 1; i < n - 1; i++) {
        f[i - 1][0] = f[i][0];
        f[i + 1][2] = f[i][2];
    }
}

void collide(int n, double (*f)[3], double omega)
{
    // loop collide.i: safe
    for (int i = 0; i < n; i++) {
        double rho = f[i][0] + f[i][1] + f[i][2];
        // loop collide.k: safe ; small
        for (int k = 0; k < 3; k++) {
            f[i][k] += omega * (rho / 3.0 - f[i][k]);
        }
    }
}

void tridiagonal(int n, double *restrict x, double *restrict d, const double *restrict a)
{
    // loop tridiagonal.down: carried +4 +2
    for (int i = 1; i < n; i++) {
        double w = a[i] / (4.0 + d[i - 1]);
        x[i] -= w * x[i - 1];
        d[i] -= w;
    }
    // loop tridiagonal.up: carried +2 +2
    for (int i = n - 2; i >= 0; i--) {
        x[i] = (x[i] - x[i + 1]) / (4.0 + d[i]);
    }
}

double residual(int n, double *restrict r, const double *restrict u, const double *restrict f)
{
    double norm = 0.0;
    // loop residual: safe reduction(+:norm)
    for (int i = 1; i < n - 1; i++) {
        r[i] = f[i] - (2.0 * u[i] - u[i - 1] - u[i + 1]);
        norm += r[i] * r[i];
    }
    return sqrt(norm);
}

void restrict_grid(int n, double *restrict coarse, const double *restrict fine)
{
    // loop restrict_grid: safe
    for (int i = 1; i < n; i++) {
        coarse[i] = 0.25 * fine[2 * i - 1] + 0.5 * fine[2 * i] + 0.25 * fine[2 * i + 1];
    }
}

void prolong_grid(int n, double *restrict fine, const double *restrict coarse)
{
    // loop prolong_grid: safe
    for (int i = 0; i < n; i++) {
        fine[2 * i] += coarse[i];
        fine[2 * i + 1] += 0.5 * (coarse[i] + coarse[i + 1]);
    }
}

void prolong_grid_scattered(int n, double *restrict fine, const double *restrict coarse)
{
    // loop prolong_grid_scattered: carried +4 +2 a point between two takes from both
    for (int i = 0; i < n; i++) {
        fine[2 * i] *= 0.5;
        fine[2 * i + 1] += coarse[i];
        fine[2 * i + 2] += 0.5 * coarse[i];
    }
}

void edit_distance(int n, int m, int *restrict d, const char *restrict a, const char *restrict b)
{
    // loop edit_distance.i: carried +7 +5
    for (int i = 1; i < n; i++) {
        // loop edit_distance.j: carried +5 +4
        for (int j = 1; j < m; j++) {
            int best = d[(i - 1) * m + j - 1] + (a[i] != b[j]);
            if (d[(i - 1) * m + j] + 1 < best) best = d[(i - 1) * m + j] + 1;
            if (d[i * m + j - 1] + 1 < best) best = d[i * m + j - 1] + 1;
            d[i * m + j] = best;
        }
    }
}

void mandelbrot(int n, int *restrict steps, const double *restrict cr, const double *restrict ci)
{
    // loop mandelbrot.i: safe
    for (int i = 0; i < n; i++) {
        double x = 0.0, y = 0.0;
        int k;
        // loop mandelbrot.k: carried control
        for (k = 0; k < 50; k++) {
            double t = x * x - y * y + cr[i];
            y = 2.0 * x * y + ci[i];
            x = t;
            if (x * x + y * y > 4.0) break;
        }
        steps[i] = k;
    }
}

void generations(int n, int m, unsigned char *restrict next, const unsigned char *restrict now)
{
    // loop generations.i: safe ; collapse(2)
    for (int i = 1; i < n - 1; i++) {
        // loop generations.j: safe
        for (int j = 1; j < m - 1; j++) {
            const unsigned char *c = &now[i * m + j];
            int around = c[-m - 1] + c[-m] + c[1 - m] + c[-1] + c[1] + c[m - 1] + c[m] + c[m + 1];
            next[i * m + j] = around == 3 || (around == 2 && *c);
        }
    }
}
