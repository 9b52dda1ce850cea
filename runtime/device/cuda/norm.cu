/*
 * norm.cu: RMS and layer normalisation over the last extent, a row for each block. The gradients of
 * the weights are sums over fixed chunks of rows, which are added up in order.
 */
#include "runtime/device/cuda/block.h"
#include "runtime/device/cuda/table.h"

namespace {

enum { THREADS = 128, SHARED = THREADS / SIMT_WARP * (int)sizeof(float) };

struct norm_rows {
    typedef hpc_norm_args args;
    enum { threads = THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const int64_t n = cols_of(a.x), row = t.block(), at = row * n;
        if (live_cols(a.x, row) == 0) return;
        float sum = 0, square = 0, mean = 0, rest = 0;
        if (a.attr.kind == HPC_LAYER) {
            for (int64_t c = t.thread(); c < n; c += THREADS) sum += get(a.x, at + c);
            mean = block_sum(t, sum, 0) / (float)n;
            sum = 0; /* a large mean has a rounding error that counts beside the deviations */
            for (int64_t c = t.thread(); c < n; c += THREADS) sum += get(a.x, at + c) - mean;
            rest = block_sum(t, sum, 0) / (float)n;
        }
        for (int64_t c = t.thread(); c < n; c += THREADS) {
            const float e = get(a.x, at + c) - mean - rest;
            square += e * e;
        }
        const float rstd = 1.0f / sqrtf(block_sum(t, square, 0) / (float)n + (float)a.attr.eps);
        if (present(a.stats) && t.thread() == 0) {
            set(a.stats, row * 2, mean + rest);
            set(a.stats, row * 2 + 1, rstd);
        }
        for (int64_t c = t.thread(); c < n; c += THREADS) {
            float v = (get(a.x, at + c) - mean - rest) * rstd;
            if (present(a.w)) v *= get(a.w, c);
            if (present(a.b)) v += get(a.b, c);
            set(a.y, at + c, v);
        }
    }
};

/* dx = rstd (i - mean(i) - normal mean(i normal)), i = dy w; RMS has no mean(i). */
struct grad_rows {
    typedef hpc_norm_grad_args args;
    enum { threads = THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const int64_t n = cols_of(a.x), row = t.block(), at = row * n;
        if (live_cols(a.x, row) == 0) return;
        const float mean = get(a.stats, row * 2), rstd = get(a.stats, row * 2 + 1);
        float along = 0, inner = 0;
        for (int64_t c = t.thread(); c < n; c += THREADS) {
            const float i = get(a.dy, at + c) * (present(a.w) ? get(a.w, c) : 1.0f);
            along += i * (get(a.x, at + c) - mean) * rstd;
            inner += i;
        }
        along = block_sum(t, along, 0) / (float)n;
        inner = block_sum(t, inner, 0) / (float)n;
        if (a.attr.kind == HPC_RMS) inner = 0;
        for (int64_t c = t.thread(); c < n; c += THREADS) {
            const float i = get(a.dy, at + c) * (present(a.w) ? get(a.w, c) : 1.0f);
            put(a.dx, at + c, rstd * (i - inner - (get(a.x, at + c) - mean) * rstd * along));
        }
    }
};

struct weight_args {
    hpc_norm_grad_args a;
    float *part; /* [chunks][2][cols] */
    int64_t chunk;
};

/* Sums of a chunk of rows (y) for a column of each thread. */
struct weight_chunks {
    typedef weight_args args;
    enum { threads = THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &w)
    {
        const hpc_norm_grad_args &a = w.a;
        const int64_t n = cols_of(a.x), c = t.block() * THREADS + t.thread(), rows = rows_of(a.x);
        const int64_t first = t.block_y() * w.chunk;
        const int64_t end = first + w.chunk < rows ? first + w.chunk : rows;
        float dw = 0, db = 0;
        if (c >= n) return;
        for (int64_t r = first; r < end; r++) {
            if (live_cols(a.x, r) == 0) continue;
            const float dy = get(a.dy, r * n + c);
            dw += dy * (get(a.x, r * n + c) - get(a.stats, r * 2)) * get(a.stats, r * 2 + 1);
            db += dy;
        }
        w.part[(int64_t)t.block_y() * 2 * n + c] = dw;
        w.part[((int64_t)t.block_y() * 2 + 1) * n + c] = db;
    }
};

struct weight_sums {
    typedef weight_args args;
    enum { threads = THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &w)
    {
        const int64_t n = cols_of(w.a.x), c = t.block() * THREADS + t.thread();
        const int64_t rows = rows_of(w.a.x), chunks = (rows + w.chunk - 1) / w.chunk;
        float dw = 0, db = 0;
        if (c >= n) return;
        for (int64_t k = 0; k < chunks; k++) {
            dw += w.part[k * 2 * n + c];
            db += w.part[(k * 2 + 1) * n + c];
        }
        if (present(w.a.dw)) put(w.a.dw, c, dw);
        if (present(w.a.db)) put(w.a.db, c, db);
    }
};

} // namespace

int hpc_cuda_norm(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_norm_args *a = (const hpc_norm_args *)args;
    const simt_shape shape = {rows_of(a->x), 1, THREADS, SHARED, false};
    return simt_launch<norm_rows>(s, shape, *a);
}

int hpc_cuda_norm_grad(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const hpc_norm_grad_args *a = (const hpc_norm_grad_args *)args;
    const int64_t rows = rows_of(a->x), chunk = hpc_cuda_chunk(rows);
    const int64_t across = (cols_of(a->x) + THREADS - 1) / THREADS;
    const simt_shape row_shape = {rows, 1, THREADS, SHARED, false};
    const simt_shape chunks = {across, (int)((rows + chunk - 1) / chunk), THREADS, 0, true};
    const simt_shape sums = {across, 1, THREADS, 0, true};
    const weight_args w = {*a, (float *)workspace, chunk};
    int rc = 0;
    if (present(a->dx)) rc = simt_launch<grad_rows>(s, row_shape, *a);
    if (rc != 0 || !(present(a->dw) || present(a->db))) return rc;
    rc = simt_launch<weight_chunks>(s, chunks, w);
    return rc != 0 ? rc : simt_launch<weight_sums>(s, sums, w);
}
