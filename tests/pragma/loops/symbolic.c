/*
 * symbolic.c: subscripts whose coefficients and offsets are variables: rows of n, leading
 * dimensions, triangles, blocks. Labels: README.md.
 */

void offset_apart(int n, double *a)
{
    // loop offset_apart: safe
    for (int i = 0; i < n; i++) {
        a[i] = a[i + n] + 1.0;
    }
}

void offset_unknown(int n, int k, double *a)
{
    // loop offset_unknown: if range(k >= n || k <= -n || k == 0)
    for (int i = 0; i < n; i++) {
        a[i] = a[i + k] + 1.0;
    }
}

void offset_written(int n, int k, double *restrict a, const double *restrict x)
{
    // loop offset_written: safe
    for (int i = 0; i < n; i++) {
        a[i + k] = x[i];
    }
}

void same_offset(int n, int k, double *a)
{
    // loop same_offset: safe
    for (int i = 0; i < n; i++) {
        a[i + k] = a[i + k] * 2.0;
    }
}

void same_offset_next(int n, int k, double *a)
{
    // loop same_offset_next: carried +2 +2
    for (int i = 0; i < n; i++) {
        a[i + k] = a[i + k + 1] * 2.0;
    }
}

void two_offsets(int n, int p, int q, double *a)
{
    // loop two_offsets: if range(p == q || p - q >= n || q - p >= n)
    for (int i = 0; i < n; i++) {
        a[i + p] = a[i + q] + 1.0;
    }
}

void from_k(int n, int k, double *a)
{
    // loop from_k: if range(k == 0 || (k > 0 ? n <= 2 * k : n <= 0))
    for (int i = k; i < n; i++) {
        a[i] = a[i - k] + 1.0;
    }
}

void from_k_to_2k(int k, double *a)
{
    // loop from_k_to_2k: safe
    for (int i = k; i < 2 * k; i++) {
        a[i] = a[i - k] + 1.0;
    }
}

void from_k_past_2k(int k, double *a)
{
    // loop from_k_past_2k: carried +2 +2 a[2 * k] reads a[k]
    for (int i = k; i <= 2 * k; i++) {
        a[i] = a[i - k] + 1.0;
    }
}

void stride_unknown(int n, int k, double *restrict a, const double *restrict x)
{
    // loop stride_unknown: if range(k != 0)
    for (int i = 0; i < n; i++) {
        a[k * i] = x[i];
    }
}

void stride_guarded(int n, int k, double *restrict a, const double *restrict x)
{
    if (k < 1) return;
    // loop stride_guarded: safe
    for (int i = 0; i < n; i++) {
        a[k * i] = x[i];
    }
}

void column(int rows, int n, int k, double *restrict a, const double *restrict x)
{
    // loop column: if range(n != 0)
    for (int i = 0; i < rows; i++) {
        a[i * n + k] = x[i];
    }
}

void matrix(int rows, int n, double *a)
{
    // loop matrix.i: safe ; collapse(2)
    for (int i = 0; i < rows; i++) {
        // loop matrix.j: safe
        for (int j = 0; j < n; j++) {
            a[i * n + j] = 2.0 * a[i * n + j] + i;
        }
    }
}

void matrix_wide(int rows, int n, double *a)
{
    // loop matrix_wide.i: carried +4 +4 column n of a row is column 0 of the next
    for (int i = 0; i < rows; i++) {
        // loop matrix_wide.j: safe
        for (int j = 0; j <= n; j++) {
            a[i * n + j] = i - j;
        }
    }
}

void leading(int rows, int n, int ld, double *a)
{
    // loop leading.i: if range(ld >= n || ld <= -n)
    for (int i = 0; i < rows; i++) {
        // loop leading.j: safe
        for (int j = 0; j < n; j++) {
            a[i * ld + j] = i - j;
        }
    }
}

void leading_checked(int rows, int n, int ld, double *a)
{
    if (ld < n) return;
    // loop leading_checked.i: safe ; collapse(2)
    for (int i = 0; i < rows; i++) {
        // loop leading_checked.j: safe
        for (int j = 0; j < n; j++) {
            a[i * ld + j] = i - j;
        }
    }
}

void leading_by_column(int rows, int n, int ld, double *a)
{
    // loop leading_by_column.j: if range(ld >= rows || ld <= -rows)
    for (int j = 0; j < n; j++) {
        // loop leading_by_column.i: safe
        for (int i = 0; i < rows; i++) {
            a[i + j * ld] = i - j;
        }
    }
}

void part_of_row(int rows, int n, int k, double *a)
{
    // loop part_of_row.i: if range(k >= 0)
    for (int i = 0; i < rows; i++) {
        // loop part_of_row.j: safe
        for (int j = k; j < n; j++) {
            a[i * n + j] = i - 2 * j;
        }
    }
}

void along_row(int rows, int n, double *a)
{
    // loop along_row.i: safe
    for (int i = 0; i < rows; i++) {
        // loop along_row.j: carried +2 +2
        for (int j = 1; j < n; j++) {
            a[i * n + j] += a[i * n + j - 1];
        }
    }
}

void along_row_and_before(int rows, int n, double *a)
{
    // loop along_row_and_before.i: carried +4 +4 column 0 reads the end of the row before
    for (int i = 1; i < rows; i++) {
        // loop along_row_and_before.j: carried +2 +2
        for (int j = 0; j < n; j++) {
            a[i * n + j] += a[i * n + j - 1];
        }
    }
}

void along_column(int rows, int n, double *a)
{
    // loop along_column.i: carried +4 +4
    for (int i = 1; i < rows; i++) {
        // loop along_column.j: safe
        for (int j = 0; j < n; j++) {
            a[i * n + j] += a[(i - 1) * n + j];
        }
    }
}

void row_below(int rows, int n, double *a)
{
    // loop row_below.i: carried +4 +4 the row below is written by the next iteration
    for (int i = 0; i < rows - 1; i++) {
        // loop row_below.j: safe
        for (int j = 0; j < n; j++) {
            a[i * n + j] = a[i * n + j + n];
        }
    }
}

void row_mirror(int rows, int n, double *a)
{
    // loop row_mirror.i: safe
    for (int i = 0; i < rows; i++) {
        // loop row_mirror.j: carried +2 +2
        for (int j = 0; j < n; j++) {
            a[i * n + j] = a[i * n + n - 1 - j];
        }
    }
}

void row_mirror_half(int rows, int n, double *a)
{
    // loop row_mirror_half.i: safe
    for (int i = 0; i < rows; i++) {
        // loop row_mirror_half.j: safe
        for (int j = 0; j < n / 2; j++) {
            a[i * n + j] = a[i * n + n - 1 - j];
        }
    }
}

void cube(int nx, int ny, int nz, double *a)
{
    // loop cube.i: safe ; collapse(3)
    for (int i = 0; i < nx; i++) {
        // loop cube.j: safe ; collapse(2)
        for (int j = 0; j < ny; j++) {
            // loop cube.k: safe
            for (int k = 0; k < nz; k++) {
                a[(i * ny + j) * nz + k] += i + j - k;
            }
        }
    }
}

void cube_spelled_out(int nx, int ny, int nz, double *a)
{
    // loop cube_spelled_out.i: safe ; collapse(3)
    for (int i = 0; i < nx; i++) {
        // loop cube_spelled_out.j: safe ; collapse(2)
        for (int j = 0; j < ny; j++) {
            // loop cube_spelled_out.k: safe
            for (int k = 0; k < nz; k++) {
                a[i * ny * nz + j * nz + k] += i + j - k;
            }
        }
    }
}

void cube_wrong_extent(int nx, int ny, int nz, double *a)
{
    // loop cube_wrong_extent.i: if range(ny <= nz)
    for (int i = 0; i < nx; i++) {
        // loop cube_wrong_extent.j: if range(nz <= ny)
        for (int j = 0; j < ny; j++) {
            // loop cube_wrong_extent.k: safe
            for (int k = 0; k < nz; k++) {
                a[i * ny * nz + j * ny + k] = i - j - k;
            }
        }
    }
}

void cube_up(int nx, int ny, int nz, double *a)
{
    // loop cube_up.i: safe ; collapse(2)
    for (int i = 0; i < nx; i++) {
        // loop cube_up.j: safe
        for (int j = 0; j < ny; j++) {
            // loop cube_up.k: carried +2 +2
            for (int k = 1; k < nz; k++) {
                a[(i * ny + j) * nz + k] += a[(i * ny + j) * nz + k - 1];
            }
        }
    }
}

void blocks(int count, int size, double *a)
{
    // loop blocks.b: safe
    for (int b = 0; b < count; b++) {
        // loop blocks.i: safe
        for (int i = b * size; i < (b + 1) * size; i++) {
            a[i] += 1.0;
        }
    }
}

void blocks_and_one(int count, int size, double *a)
{
    // loop blocks_and_one.b: carried +4 +4 the end of a block is the start of the next
    for (int b = 0; b < count; b++) {
        // loop blocks_and_one.i: safe
        for (int i = b * size; i <= (b + 1) * size; i++) {
            a[i] = 0.5 * a[i] + b;
        }
    }
}

void blocks_cut(int n, int size, double *a)
{
    // loop blocks_cut.b: safe
    for (int b = 0; b < n; b += size) {
        int end = b + size < n ? b + size : n;
        // loop blocks_cut.i: safe
        for (int i = b; i < end; i++) {
            a[i] = 2.0 * a[i] + b;
        }
    }
}

void blocks_with_halo(int n, int size, double *a)
{
    // loop blocks_with_halo.b: carried +4 +4 a block reads the last element of the one before
    for (int b = size; b < n; b += size) {
        // loop blocks_with_halo.i: safe
        for (int i = b; i < b + size; i++) {
            a[i] = a[b - 1] + i;
        }
    }
}

void fixed_width(int n, int s, double *a)
{
    // loop fixed_width.i: if range(s >= 4)
    for (int i = 0; i < n; i += s) {
        // loop fixed_width.j: safe ; small
        for (int j = 0; j < 4; j++) {
            a[i + j] = 0.5 * a[i + j] + i;
        }
    }
}

void interleaved(int n, int m, double *a)
{
    // loop interleaved.i: safe
    for (int i = 0; i < n; i++) {
        // loop interleaved.j: safe
        for (int j = 0; j < m; j++) {
            a[i + j * n] = i - j;
        }
    }
}

void interleaved_wide(int n, int m, double *a)
{
    // loop interleaved_wide.i: carried +4 +4 i = n, j = 0 is i = 0, j = 1
    for (int i = 0; i <= n; i++) {
        // loop interleaved_wide.j: if range(n >= 1)
        for (int j = 0; j < m; j++) {
            a[i + j * n] = i - j;
        }
    }
}

void cyclic(int n, int parts, double *a)
{
    // loop cyclic.p: safe
    for (int p = 0; p < parts; p++) {
        // loop cyclic.i: safe
        for (int i = p; i < n; i += parts) {
            a[i] = 2.0 * a[i] + p;
        }
    }
}

void cyclic_extra(int n, int parts, double *a)
{
    // loop cyclic_extra.p: carried +4 +4 part 0 and part `parts` have the same elements
    for (int p = 0; p <= parts; p++) {
        // loop cyclic_extra.i: safe
        for (int i = p; i < n; i += parts) {
            a[i] = 2.0 * a[i] + p;
        }
    }
}

void packed_triangle(int n, double *a)
{
    // loop packed_triangle.i: safe
    for (int i = 0; i < n; i++) {
        // loop packed_triangle.j: safe
        for (int j = 0; j <= i; j++) {
            a[i * (i + 1) / 2 + j] = i - 2 * j;
        }
    }
}

void packed_triangle_wrong(int n, double *a)
{
    // loop packed_triangle_wrong.i: carried +4 +4 rows of i elements take i + 1
    for (int i = 1; i < n; i++) {
        // loop packed_triangle_wrong.j: safe
        for (int j = 0; j <= i; j++) {
            a[i * (i - 1) / 2 + j] = i - 2 * j;
        }
    }
}

void symmetric(int n, double *a)
{
    // loop symmetric.i: safe
    for (int i = 0; i < n; i++) {
        // loop symmetric.j: safe
        for (int j = 0; j < i; j++) {
            a[i * n + j] = a[j * n + i];
        }
    }
}

void symmetric_all(int n, double *a)
{
    // loop symmetric_all.i: carried +4 +4 row j is read after or before its own iteration writes it
    for (int i = 0; i < n; i++) {
        // loop symmetric_all.j: safe
        for (int j = 0; j < n; j++) {
            a[i * n + j] = a[j * n + i] + 1.0;
        }
    }
}

void transpose(int n, double *a)
{
    // loop transpose.i: safe
    for (int i = 0; i < n; i++) {
        // loop transpose.j: safe
        for (int j = 0; j < i; j++) {
            double t = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = t;
        }
    }
}

void diagonal(int n, double *a)
{
    // loop diagonal: safe
    for (int i = 0; i < n; i++) {
        a[i * n + i] = 1.0;
    }
}

void anti_diagonal(int n, double *a)
{
    // loop anti_diagonal: safe
    for (int i = 0; i < n; i++) {
        a[i * n + n - 1 - i] = i;
    }
}

void unsigned_doubled(unsigned n, char *restrict a, const char *restrict x)
{
    // loop unsigned_doubled: if range(n <= 2147483648u)
    for (unsigned i = 0; i < n; i++) {
        a[i * 2u] = x[i];
    }
}

void byte_index(int n, double *restrict a, const double *restrict x)
{
    // loop byte_index: if range(n <= 256)
    for (int i = 0; i < n; i++) {
        a[(unsigned char)i] = x[i];
    }
}

void from_low(int lo, int hi, double *a)
{
    // loop from_low: if range(lo == 0 || (lo > 0 ? hi <= 2 * lo : hi <= 0))
    for (int i = lo; i < hi; i++) {
        a[i] = a[i - lo] + 1.0;
    }
}

void panel(int n, int ld, int k, double *restrict c, const double *restrict x)
{
    // loop panel: if range(ld != 0)
    for (int i = 0; i < n; i++) {
        c[i * ld + k] += x[i] * c[i * ld + k];
    }
}

void pivot_row(int n, int k, double *a)
{
    // loop pivot_row.i: if range(k >= 0)
    for (int i = k + 1; i < n; i++) {
        // loop pivot_row.j: if range(k >= 0)
        for (int j = k; j < n; j++) {
            a[i * n + j] -= 0.5 * a[k * n + j];
        }
    }
}

void pivot_row_from_k(int n, int k, double *a)
{
    // loop pivot_row_from_k.i: carried +4 +4 row k is changed by the first iteration
    for (int i = k; i < n; i++) {
        // loop pivot_row_from_k.j: if range(k >= 0)
        for (int j = k; j < n; j++) {
            a[i * n + j] -= 0.5 * a[k * n + j];
        }
    }
}
