/*
 * affine.c: subscripts that are linear in the loop's counter with known coefficients: none, one and
 * several counters, distances, strides, ranges that meet or just do not. Labels: README.md.
 */

void fill(int n, double *a, double v)
{
    // loop fill: safe
    for (int i = 0; i < n; i++) {
        a[i] = v;
    }
}

void square(int n, double *a)
{
    // loop square: safe
    for (int i = 0; i < n; i++) {
        a[i] = a[i] * a[i];
    }
}

void shift_left(int n, double *a)
{
    // loop shift_left: carried +2 +2 an element is read before its neighbour's iteration writes it
    for (int i = 0; i < n - 1; i++) {
        a[i] = a[i + 1];
    }
}

void shift_right(int n, double *a)
{
    // loop shift_right: carried +2 +2
    for (int i = 1; i < n; i++) {
        a[i] = a[i - 1];
    }
}

void copy_behind(int n, double *a)
{
    // loop copy_behind: safe
    for (int i = 0; i < n; i++) {
        a[i + n] = a[i];
    }
}

void copy_almost_behind(int n, double *a)
{
    // loop copy_almost_behind: carried +2 +2 a[n - 1] is written first and read last
    for (int i = 0; i < n; i++) {
        a[i + n - 1] = a[i];
    }
}

void odd_to_even(int n, double *a)
{
    // loop odd_to_even: safe
    for (int i = 0; i < n; i++) {
        a[2 * i] = a[2 * i + 1];
    }
}

void even_to_even(int n, double *a)
{
    // loop even_to_even: carried +2 +2
    for (int i = 0; i < n; i++) {
        a[2 * i] = a[2 * i + 2];
    }
}

void thirds(int n, double *a)
{
    // loop thirds: safe
    for (int i = 0; i < n; i++) {
        a[3 * i] = a[3 * i + 1] + a[3 * i + 2];
    }
}

void thirds_too_far(int n, double *a)
{
    // loop thirds_too_far: carried +2 +2 a[3 * i + 3] is the next a[3 * i]
    for (int i = 0; i < n; i++) {
        a[3 * i] = a[3 * i + 1] + a[3 * i + 3];
    }
}

void gcd_apart(int n, double *a)
{
    // loop gcd_apart: safe
    for (int i = 0; i < n; i++) {
        a[4 * i + 2] = a[2 * i + 1];
    }
}

void gcd_meets(int n, double *a)
{
    // loop gcd_meets: carried +2 +2
    for (int i = 0; i < n; i++) {
        a[4 * i + 2] = a[2 * i];
    }
}

void gcd_six(int n, double *a)
{
    // loop gcd_six: safe
    for (int i = 0; i < n; i++) {
        a[3 * i] = a[6 * i + 1];
    }
}

void gcd_six_meets(int n, double *a)
{
    // loop gcd_six_meets: carried +2 +2
    for (int i = 0; i < n; i++) {
        a[6 * i + 3] = a[3 * i];
    }
}

void from_first(int n, double *a)
{
    // loop from_first: safe
    for (int i = 1; i < n; i++) {
        a[i] += a[0];
    }
}

void from_first_and_first(int n, double *a)
{
    // loop from_first_and_first: carried +2 +2 iteration 0 changes a[0], which all read
    for (int i = 0; i < n; i++) {
        a[i] += a[0];
    }
}

void from_last(int n, double *a)
{
    // loop from_last: safe
    for (int i = 0; i < n - 1; i++) {
        a[i] -= a[n - 1];
    }
}

void from_last_and_last(int n, double *a)
{
    // loop from_last_and_last: carried +2 +2 all read a[n - 1], which the last one changes
    for (int i = 0; i < n; i++) {
        a[i] -= a[n - 1];
    }
}

void around_five(int n, double *a)
{
    // loop around_five: safe
    for (int i = 0; i < n; i++) {
        if (i != 5) a[i] += a[5];
    }
}

void with_five(int n, double *a)
{
    // loop with_five: carried +2 +2
    for (int i = 0; i < n; i++) {
        if (i != 4) a[i] += a[5];
    }
}

void mirror_half(int n, double *a)
{
    // loop mirror_half: safe
    for (int i = 0; i < n / 2; i++) {
        a[n - 1 - i] = a[i];
    }
}

void mirror_all(int n, double *a)
{
    // loop mirror_all: carried +2 +2
    for (int i = 0; i < n; i++) {
        a[n - 1 - i] = a[i];
    }
}

void reverse(int n, double *a)
{
    // loop reverse: safe
    for (int i = 0; i < n / 2; i++) {
        double t = a[i];
        a[i] = a[n - 1 - i];
        a[n - 1 - i] = t;
    }
}

void reverse_twice(int n, double *a)
{
    // loop reverse_twice: carried +4 +2 both ends exchange each pair
    for (int i = 0; i < n; i++) {
        double t = a[i];
        a[i] = 0.5 * a[n - 1 - i];
        a[n - 1 - i] = t;
    }
}

void four_ahead(int n, double *a)
{
    // loop four_ahead: carried +2 +2 ; safelen(4)
    for (int i = 0; i < n; i++) {
        a[i + 4] = a[i] + 1.0;
    }
}

void pairs(int n, double *a)
{
    // loop pairs: safe
    for (int i = 0; i < n - 1; i += 2) {
        a[i] = a[i + 1];
    }
}

void pairs_meet(int n, double *a)
{
    // loop pairs_meet: carried +2 +2
    for (int i = 0; i < n - 2; i += 2) {
        a[i] = a[i + 2];
    }
}

void odd_from_left(int n, double *a)
{
    // loop odd_from_left: safe
    for (int i = 1; i < n; i += 2) {
        a[i] = 0.5 * (a[i - 1] + a[i + 1]);
    }
}

void all_from_left(int n, double *a)
{
    // loop all_from_left: carried +2 +2
    for (int i = 1; i < n; i++) {
        a[i] = 0.5 * (a[i - 1] + a[i + 1]);
    }
}

void fours(int n, double *a)
{
    // loop fours: safe
    for (int i = 0; i < n; i += 4) {
        a[i] = a[i + 1] + a[i + 2] + a[i + 3];
    }
}

void fours_meet(int n, double *a)
{
    // loop fours_meet: carried +2 +2
    for (int i = 0; i < n; i += 4) {
        a[i] = a[i + 1] + a[i + 2] + a[i + 4];
    }
}

void down(int n, double *a)
{
    // loop down: safe
    for (int i = n - 1; i >= 0; i--) {
        a[i] = 2.0 * a[i] + i;
    }
}

void down_shift(int n, double *a)
{
    // loop down_shift: carried +2 +2 the next iteration overwrites what this one reads
    for (int i = n - 1; i > 0; i--) {
        a[i] = a[i - 1];
    }
}

void down_sum(int n, double *a)
{
    // loop down_sum: carried +2 +2
    for (int i = n - 2; i >= 0; i--) {
        a[i] += a[i + 1];
    }
}

void down_pairs(int n, double *a)
{
    // loop down_pairs: safe
    for (int i = n - 1; i >= 1; i -= 2) {
        a[i] -= a[i - 1];
    }
}

void down_to_zero_unsigned(unsigned n, double *a)
{
    // loop down_to_zero_unsigned: safe
    for (unsigned i = n; i > 0; i--) {
        a[i - 1] *= 3.0;
    }
}

void ten_ahead(double *a)
{
    // loop ten_ahead: safe ; small
    for (int i = 0; i < 10; i++) {
        a[i] = a[i + 10];
    }
}

void ten_ahead_meets(double *a)
{
    // loop ten_ahead_meets: carried +2 +2 iteration 0 reads a[10], iteration 10 writes it
    for (int i = 0; i <= 10; i++) {
        a[i] = a[i + 10];
    }
}

void ranges_apart(double *a)
{
    // loop ranges_apart: safe
    for (int i = 0; i < 1000; i++) {
        a[2 * i] = a[i + 2000];
    }
}

void ranges_meet(double *a)
{
    // loop ranges_meet: carried +2 +2 iteration 0 reads a[1000]; iteration 500 writes it
    for (int i = 0; i < 1000; i++) {
        a[2 * i] = a[i + 1000];
    }
}

void diagonals(int n, int m, double *a)
{
    // loop diagonals.i: carried +4 +4 i + j is the same for many pairs
    for (int i = 0; i < n; i++) {
        // loop diagonals.j: safe
        for (int j = 0; j < m; j++) {
            a[i + j] = 0.5 * a[i + j] + i;
        }
    }
}

void two_each(int n, double *a)
{
    // loop two_each.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop two_each.j: safe ; small
        for (int j = 0; j < 2; j++) {
            a[2 * i + j] = i - j;
        }
    }
}

void three_in_two(int n, double *a)
{
    // loop three_in_two.i: carried +4 +4 the third of a pair is the first of the next
    for (int i = 0; i < n; i++) {
        // loop three_in_two.j: safe ; small
        for (int j = 0; j < 3; j++) {
            a[2 * i + j] = i - j;
        }
    }
}

void tens(int n, double *a)
{
    // loop tens.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop tens.j: safe ; small
        for (int j = 0; j < 10; j++) {
            a[10 * i + j] = i * j;
        }
    }
}

void tens_and_one(int n, double *a)
{
    // loop tens_and_one.i: carried +4 +4
    for (int i = 0; i < n; i++) {
        // loop tens_and_one.j: safe ; small
        for (int j = 0; j <= 10; j++) {
            a[10 * i + j] = i - j;
        }
    }
}

void always_five(int n, double *restrict a, const double *restrict x)
{
    // loop always_five: carried +2 +2 all write a[5]; the last one must win
    for (int i = 0; i < n; i++) {
        a[5] = x[i];
    }
}

void halves(int n, double *restrict a, const double *restrict x)
{
    // loop halves: carried +2 +2 two iterations write each element
    for (int i = 0; i < n; i++) {
        a[i / 2] = x[i];
    }
}

void halves_of_even(int n, double *restrict a, const double *restrict x)
{
    // loop halves_of_even: safe
    for (int i = 0; i < n; i += 2) {
        a[i / 2] = x[i];
    }
}

void modulo(int n, double *restrict a, const double *restrict x)
{
    // loop modulo: carried +2 +2
    for (int i = 0; i < n; i++) {
        a[i % 8] = x[i];
    }
}

void rotate_to(int n, double *restrict a, const double *restrict x)
{
    // loop rotate_to: safe
    for (int i = 0; i < n; i++) {
        a[(i + 1) % n] = x[i];
    }
}

void rotate_in_place(int n, double *a)
{
    // loop rotate_in_place: carried +2 +2
    for (int i = 0; i < n; i++) {
        a[(i + 1) % n] = a[i] + 1.0;
    }
}

void exchange_bits(int n, double *restrict a, const double *restrict x)
{
    // loop exchange_bits: safe
    for (int i = 0; i < n; i++) {
        a[i ^ 1] = x[i];
    }
}

void clear_bits(int n, double *restrict a, const double *restrict x)
{
    // loop clear_bits: carried +2 +2 2 and 3 both write a[2]
    for (int i = 0; i < n; i++) {
        a[i & ~1] = x[i];
    }
}

void doubled(int n, double *restrict a, const double *restrict x)
{
    // loop doubled: safe
    for (int i = 0; i < n; i++) {
        a[i << 1] = x[i];
    }
}

void squares(int n, double *restrict a, const double *restrict x)
{
    // loop squares: safe
    for (int i = 0; i < n; i++) {
        a[i * i] = x[i];
    }
}

void squares_of_both(int n, double *restrict a, const double *restrict x)
{
    // loop squares_of_both: carried +2 +2 i and -i write the same
    for (int i = -n; i <= n; i++) {
        a[i * i] = x[i];
    }
}

void negative(int n, double *a)
{
    // loop negative: safe
    for (int i = 1; i < n; i++) {
        a[-i] = a[i];
    }
}

void negative_both(int n, double *a)
{
    // loop negative_both: carried +2 +2
    for (int i = -n; i < n; i++) {
        a[-i] = a[i] + 1.0;
    }
}

void two_arrays(int n, double *restrict a, double *restrict b)
{
    // loop two_arrays: safe
    for (int i = 0; i < n; i++) {
        a[i] = b[i];
        b[i] = a[i] + 1.0;
    }
}

void two_arrays_next(int n, double *restrict a, double *restrict b)
{
    // loop two_arrays_next: carried +3 +2
    for (int i = 0; i < n; i++) {
        a[i] = b[i];
        b[i + 1] = a[i] + 1.0;
    }
}

void written_then_read(int n, double *restrict a, double *restrict b, const double *restrict x)
{
    // loop written_then_read: safe
    for (int i = 0; i < n; i++) {
        b[i + 1] = x[i];
        a[i] = b[i + 1] * 2.0;
    }
}

void written_then_previous(int n, double *restrict a, double *restrict b, const double *restrict x)
{
    // loop written_then_previous: carried +2 +3
    for (int i = 0; i < n; i++) {
        b[i + 1] = x[i];
        a[i] = b[i] * 2.0;
    }
}

void read_then_cleared(int n, double *restrict c, double *restrict a)
{
    // loop read_then_cleared: carried +2 +3 the next iteration clears what this one reads
    for (int i = 0; i < n; i++) {
        c[i] = a[i + 1];
        a[i] = 0.0;
    }
}

void by_two(int n, double *restrict a, const double *restrict b)
{
    // loop by_two: safe
    for (int i = 0; i < n - 1; i += 2) {
        a[i] = b[i];
        a[i + 1] = -b[i + 1];
    }
}

void by_two_each(int n, double *restrict a, const double *restrict b)
{
    // loop by_two_each: carried +3 +2 the next iteration writes a[i + 1] again
    for (int i = 0; i < n - 1; i++) {
        a[i] = b[i];
        a[i + 1] = -b[i + 1];
    }
}

void upper_half(int n, double *a)
{
    // loop upper_half: safe
    for (int i = 0; i < n / 2; i++) {
        a[i] = a[i + n / 2];
    }
}

void upper_half_and_one(int n, double *a)
{
    // loop upper_half_and_one: carried +2 +2 iteration n / 2 writes what iteration 0 reads
    for (int i = 0; i <= n / 2; i++) {
        a[i] = a[i + n / 2];
    }
}
