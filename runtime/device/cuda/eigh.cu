/*
 * eigh.cu: eigenvalues and eigenvectors of batches of symmetric matrices by Jacobi's method in
 * double. A block has a matrix; a round rotates disjoint pairs of rows and columns at once, and the
 * rounds of a sweep meet every pair once, as a tournament does.
 */
#include "runtime/device/cuda/block.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

enum { THREADS = 256, SWEEPS_MOST = 40 };

struct eigh_args {
    hpc_eigh_args g;
    double *work; /* of each matrix: itself, then rows of eigenvectors */
    int n;
};

/* Shared: cosine and sine of each pair, and a sum for each warp. */
SIMT_BOTH int eigh_shared(int n)
{
    return (2 * ((n + 1) / 2) + THREADS / SIMT_WARP) * (int)sizeof(double);
}

struct eigh {
    typedef eigh_args args;
    enum { threads = THREADS };

    struct matrix {
        double *a, *v;
        int n, pairs;
        simt_shared<double> turn; /* cosine, sine */
        int sums_at;
    };

    /* Pair k of a round: of an odd number of players, -1 sits out. */
    static SIMT_DEVICE void pair_of(const matrix &m, int round, int k, int *p, int *q)
    {
        const int players = 2 * m.pairs, others = players - 1;
        const int x = k == 0 ? others : (round + k) % others, y = (round + others - k) % others;
        *p = x < y ? x : y;
        *q = x < y ? y : x;
        if (*q >= m.n) *q = -1;
    }

    static SIMT_DEVICE double largest(const simt &t, const matrix &m, double v)
    {
        for (int mask = SIMT_WARP / 2; mask > 0; mask /= 2) {
            const double other = t.shuffle_xor(v, mask);
            v = other > v || other != other ? other : v;
        }
        const simt_shared<double> part = t.shared<double>(m.sums_at, THREADS / SIMT_WARP);
        t.sync();
        if (t.lane() == 0) part[t.warp()] = v;
        t.sync();
        for (int w = 0; w < THREADS / SIMT_WARP; w++) {
            const double other = part[w];
            v = other > v || other != other ? other : v;
        }
        return v;
    }

    /* The lower triangle, scaled to elements of at most 1; returns the scale, NaN if an element is
     * not finite. */
    static SIMT_DEVICE double read(const simt &t, const matrix &m, const hpc_tensor &x)
    {
        const int64_t n = m.n, base = t.block() * n * n;
        double most = 0;
        for (int64_t i = t.thread(); i < n * n; i += THREADS) {
            const int64_t r = i / n, c = i % n;
            const double v = get(x, base + (c <= r ? i : c * n + r));
            const double size = v - v == 0 ? fabs(v) : (double)NAN;
            most = size > most || size != size ? size : most;
        }
        most = largest(t, m, most);
        const double scale = most == 0 ? 1 : most;
        for (int64_t i = t.thread(); i < n * n; i += THREADS) {
            const int64_t r = i / n, c = i % n;
            m.a[i] = get(x, base + (c <= r ? i : c * n + r)) / scale;
            m.v[i] = r == c;
        }
        t.sync();
        return scale;
    }

    static SIMT_DEVICE bool is_diagonal(const simt &t, const matrix &m)
    {
        const int64_t n = m.n;
        double off = 0, all = 0;
        for (int64_t i = t.thread(); i < n * n; i += THREADS) {
            const double square = m.a[i] * m.a[i];
            all += square;
            off += i % (n + 1) == 0 ? 0 : square;
        }
        off = block_sum(t, off, m.sums_at);
        return off <= 1e-30 * block_sum(t, all, m.sums_at);
    }

    /* The rotations that make a[p][q] of the round's pairs 0. */
    static SIMT_DEVICE void find_turns(const simt &t, const matrix &m, int round)
    {
        const int n = m.n;
        for (int k = t.thread(); k < m.pairs; k += THREADS) {
            int p, q;
            pair_of(m, round, k, &p, &q);
            double c = 1, s = 0;
            const double x = q < 0 ? 0 : m.a[p * n + q];
            if (x != 0) {
                const double ratio = (m.a[q * n + q] - m.a[p * n + p]) / (2 * x);
                const double tangent =
                    (ratio < 0 ? -1.0 : 1.0) / (fabs(ratio) + sqrt(ratio * ratio + 1));
                c = 1 / sqrt(tangent * tangent + 1);
                s = tangent * c;
            }
            m.turn[2 * k] = c;
            m.turn[2 * k + 1] = s;
        }
        t.sync();
    }

    /* Rows (step 1) or columns of x, of all pairs. */
    static SIMT_DEVICE void rotate(const simt &t, const matrix &m, double *x, int round, int step)
    {
        const int n = m.n;
        for (int i = t.thread(); i < m.pairs * n; i += THREADS) {
            int p, q;
            const int k = step == 1 ? i / n : i % m.pairs, e = step == 1 ? i % n : i / m.pairs;
            pair_of(m, round, k, &p, &q);
            if (q < 0) continue;
            double *px = x + (step == 1 ? p * n + e : e * n + p),
                   *qx = x + (step == 1 ? q * n + e : e * n + q);
            const double c = m.turn[2 * k], s = m.turn[2 * k + 1], u = *px, w = *qx;
            *px = c * u - s * w;
            *qx = s * u + c * w;
        }
    }

    static SIMT_DEVICE void diagonalise(const simt &t, const matrix &m)
    {
        for (int sweep = 0; sweep < SWEEPS_MOST; sweep++) {
            if (is_diagonal(t, m)) return;
            for (int round = 0; round < 2 * m.pairs - 1; round++) {
                find_turns(t, m, round);
                rotate(t, m, m.a, round, 1);
                rotate(t, m, m.v, round, 1);
                t.sync();
                rotate(t, m, m.a, round, m.n);
                t.sync();
            }
        }
    }

    /* Row i of the results is that of the i-th smallest eigenvalue; of equal ones, the first. */
    static SIMT_DEVICE void write(const simt &t, const matrix &m, const hpc_eigh_args &g,
                                  double scale)
    {
        const int n = m.n;
        const int64_t base = t.block() * n;
        for (int from = t.thread(); from < n; from += THREADS) {
            const double own = m.a[from * n + from], *v = m.v + from * n;
            int rank = 0, first = 0;
            double most = 0;
            for (int i = 0; i < n; i++) {
                const double other = m.a[i * n + i];
                rank += other < own || (other == own && i < from);
                most = fmax(most, fabs(v[i]));
            }
            while (first < n - 1 && fabs(v[first]) < 0.999 * most) first++;
            const double sign = v[first] < 0 ? -1 : 1;
            set(g.values, base + rank, (float)(own * scale));
            for (int k = 0; k < n; k++) set(g.vectors, (base + rank) * n + k, (float)(sign * v[k]));
        }
    }

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const int n = a.n, pairs = (n + 1) / 2;
        double *own = a.work + t.block() * 2 * n * n;
        const matrix m = {own,
                          own + n * n,
                          n,
                          pairs,
                          t.shared<double>(0, 2 * pairs),
                          2 * pairs * (int)sizeof(double)};
        const double scale = read(t, m, a.g.x);
        if (scale == scale) {
            diagonalise(t, m);
            write(t, m, a.g, scale);
            return;
        }
        for (int i = t.thread(); i < n; i += THREADS) set(a.g.values, t.block() * n + i, NAN);
        for (int i = t.thread(); i < n * n; i += THREADS)
            set(a.g.vectors, t.block() * n * n + i, NAN);
    }
};

} // namespace

int hpc_cuda_eigh(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const hpc_eigh_args &g = *(const hpc_eigh_args *)args;
    const int n = (int)cols_of(g.x);
    const eigh_args a = {g, (double *)workspace, n};
    const simt_shape shape = {n > 0 ? (g.x.rank == 3 ? g.x.extent[0] : 1) : 0, 1, THREADS,
                              eigh_shared(n), false};
    return simt_launch<eigh>(s, shape, a);
}
