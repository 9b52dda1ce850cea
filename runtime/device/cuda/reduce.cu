/*
 * reduce.cu: sums, maxima and the test for finite values over rows, columns or everything, in an
 * order that depends on the shape alone.
 */
#include "runtime/device/cuda/table.cuh"
#include "runtime/device/cuda/tensor.cuh"

namespace {

enum { THREADS = 256, SHARED = THREADS * (int)sizeof(double) };

struct reduce_args {
    hpc_reduce_args a;
    double *part; /* of the chunks */
    int64_t chunk, rows, cols;
};

SIMT_DEVICE double initial(int kind)
{
    return kind == HPC_MAX ? -(double)INFINITY : kind == HPC_FINITE;
}

SIMT_DEVICE double fold(int kind, double so_far, double v)
{
    switch (kind) {
    case HPC_SUM:
    case HPC_SUMSQ: return so_far + v;
    case HPC_MAX: return so_far != so_far || v <= so_far ? so_far : v; /* a NaN wins, and stays */
    default: return so_far > 0 && v > 0;
    }
}

/* The contribution of an element. */
SIMT_DEVICE double term(int kind, float v)
{
    if (kind == HPC_SUMSQ) return (double)v * v;
    return kind == HPC_FINITE ? v - v == 0 : (double)v;
}

/* The fold of all threads' values, in the order of a tree; for thread 0. */
SIMT_DEVICE double block_fold(const simt &t, int kind, double v)
{
    const simt_shared<double> all = t.shared<double>(0, THREADS);
    all[t.thread()] = v;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        t.sync();
        if (t.thread() < half)
            all[t.thread()] = fold(kind, all[t.thread()], all[t.thread() + half]);
    }
    return v = t.thread() == 0 ? (double)all[0] : 0;
}

SIMT_DEVICE void finish(const hpc_reduce_args &a, int64_t i, double v)
{
    if (a.attr.kind == HPC_FINITE)
        ((int32_t *)a.y.data)[i] = v > 0;
    else
        set(a.y, i, (float)(a.y.adds ? get(a.y, i) + v : v));
}

/* A row, or a chunk of the elements of all rows, for each block. */
struct spans {
    typedef reduce_args args;
    enum { threads = THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &r)
    {
        const int kind = r.a.attr.kind;
        const bool all = r.a.attr.over == HPC_OVER_ALL;
        const int64_t n = r.rows * r.cols, first = t.block() * (all ? r.chunk : r.cols);
        const int64_t end = all ? (first + r.chunk < n ? first + r.chunk : n) : first + r.cols;
        double v = initial(kind);
        for (int64_t i = first + t.thread(); i < end; i += THREADS)
            if (i % r.cols < live_cols(r.a.x, i / r.cols))
                v = fold(kind, v, term(kind, get(r.a.x, i)));
        v = block_fold(t, kind, v);
        if (t.thread() != 0) return;
        if (all)
            r.part[t.block()] = v;
        else if (live_cols(r.a.x, t.block()) > 0 || r.a.x.ragged == r.a.x.rank - 1)
            finish(r.a, t.block(), v);
    }
};

/* Sums of a chunk of rows (y) for a column of each thread. */
struct columns {
    typedef reduce_args args;
    enum { threads = THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &r)
    {
        const int64_t c = t.block() * THREADS + t.thread(), first = t.block_y() * r.chunk;
        const int64_t end = first + r.chunk < r.rows ? first + r.chunk : r.rows;
        const int kind = r.a.attr.kind;
        double v = initial(kind);
        if (c >= r.cols) return;
        for (int64_t row = first; row < end; row++)
            if (c < live_cols(r.a.x, row))
                v = fold(kind, v, term(kind, get(r.a.x, row * r.cols + c)));
        r.part[t.block_y() * r.cols + c] = v;
    }
};

/* The chunks of a column, or of everything, in order. */
struct chunks {
    typedef reduce_args args;
    enum { threads = THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &r)
    {
        const bool all = r.a.attr.over == HPC_OVER_ALL;
        const int64_t length = all ? r.rows * r.cols : r.rows, cols = all ? 1 : r.cols;
        const int64_t c = t.block() * THREADS + t.thread();
        double v = initial(r.a.attr.kind);
        if (c >= cols) return;
        for (int64_t k = 0; k * r.chunk < length; k++)
            v = fold(r.a.attr.kind, v, r.part[k * cols + c]);
        finish(r.a, c, v);
    }
};

} // namespace

int hpc_cuda_reduce(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const hpc_reduce_args *a = (const hpc_reduce_args *)args;
    const int64_t rows = rows_of(a->x), cols = cols_of(a->x);
    reduce_args r = {*a, (double *)workspace, 0, rows, cols};
    const simt_shape one = {1, 1, THREADS, 0, true};
    int rc = 0;
    if (a->attr.over == HPC_OVER_COLS) {
        const simt_shape shape = {rows, 1, THREADS, SHARED, false};
        return simt_launch<spans>(s, shape, r);
    }
    if (a->attr.over == HPC_OVER_ALL) {
        r.chunk = hpc_cuda_chunk(rows * cols);
        const simt_shape shape = {(rows * cols + r.chunk - 1) / r.chunk, 1, THREADS, SHARED, false};
        rc = simt_launch<spans>(s, shape, r);
        return rc != 0 ? rc : simt_launch<chunks>(s, one, r);
    }
    r.chunk = hpc_cuda_chunk(rows);
    const int64_t across = (cols + THREADS - 1) / THREADS;
    const simt_shape shape = {across, (int)((rows + r.chunk - 1) / r.chunk), THREADS, 0, true};
    const simt_shape sums = {across, 1, THREADS, 0, true};
    rc = simt_launch<columns>(s, shape, r);
    return rc != 0 ? rc : simt_launch<chunks>(s, sums, r);
}
