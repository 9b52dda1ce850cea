/*
 * head.cu: the head's product with cross-entropy, and their gradient: chunks of rows of logits by
 * the products of this library, and a block for each row that finds its loss, or turns its logits
 * into their gradient.
 */
#include "runtime/device/cuda/block.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

enum { THREADS = 256, SHARED = THREADS / SIMT_WARP * (int)sizeof(float) };

/* A chunk's rows. */
struct head_args {
    hpc_tensor loss, lse, dloss, x, target; /* of all rows */
    hpc_tensor grad;                        /* of the chunk's logits; absent: the loss alone */
    float *logit;                           /* of the chunk: products */
    int64_t first, words;                   /* row of the chunk; vocabulary entries here */
    hpc_head_attr attr;
    bool finds_lse;
};

struct head_rows {
    typedef head_args args;
    enum { threads = THREADS };

    static SIMT_DEVICE float capped(const args &h, float x)
    {
        const float cap = (float)h.attr.cap;
        return cap > 0 ? cap * tanhf(x / cap) : x;
    }

    /* Log of the sum of exp of a row; each thread keeps its own maximum. */
    static SIMT_DEVICE float find_lse(const simt &t, const args &h, const float *logit)
    {
        float most = -INFINITY, sum = 0;
        for (int64_t v = t.thread(); v < h.words; v += THREADS) {
            const float x = capped(h, logit[v]);
            if (x > most) {
                sum *= expf(most - x);
                most = x;
            }
            sum += x == -INFINITY ? 0 : expf(x - most);
        }
        const float all = block_most(t, most, 0);
        return all + logf(block_sum(t, sum == 0 ? 0 : sum * expf(most - all), 0));
    }

    static SIMT_DEVICE float loss_of(const args &h, const float *logit, float lse, int64_t word)
    {
        const float hit = word < 0 ? 0 : capped(h, logit[word]);
        if (h.attr.part) return hit;
        return word < 0 ? 0 : lse - hit;
    }

    /* dloss (softmax - [v is the target]) of a row, in place of its logits or beside them. */
    static SIMT_DEVICE void put_grad(const simt &t, const args &h, int64_t row, float lse,
                                     int64_t word)
    {
        const float cap = (float)h.attr.cap;
        const float by = word == HPC_PART_NONE ? 0 : get(h.dloss, h.first + row);
        for (int64_t v = t.thread(); v < h.words; v += THREADS) {
            const float x = capped(h, h.logit[row * h.words + v]);
            const float slope = cap > 0 ? (1 - x / cap) * (1 + x / cap) : 1;
            const float d = by * (expf(x - lse) - (v == word ? 1.0f : 0.0f)) * slope;
            set(h.grad, row * h.words + v, word == HPC_PART_NONE ? 0 : d);
        }
    }

    static SIMT_DEVICE void run(const simt &t, const args &h)
    {
        const int64_t row = t.block(), at = h.first + row;
        const float *logit = h.logit + row * h.words;
        if (live_cols(h.x, at) == 0) return;
        const int64_t target = get_index(h.target, at);
        int64_t word = hpc_part_row(target, h.attr.first, h.attr.rows, h.words);
        if (word == HPC_PART_PAST) {
            if (t.thread() == 0)
                t.fail(HPC_FAULT_TARGET, at, target, h.attr.rows ? h.attr.rows : h.words, 0);
            word = HPC_PART_NONE;
        }
        const float lse = h.finds_lse ? find_lse(t, h, logit) : get(h.lse, at);
        if (t.thread() == 0) {
            if (h.finds_lse && present(h.lse)) set(h.lse, at, lse);
            if (present(h.loss)) set(h.loss, at, loss_of(h, logit, lse, word));
        }
        if (!present(h.grad)) return;
        t.sync(); /* the target's logit was read */
        put_grad(t, h, row, lse, word);
    }
};

/* Live rows of every chunk. */
struct count_args {
    hpc_tensor x;
    int32_t *count;
    int64_t chunk, chunks;
};

struct head_counts {
    typedef count_args args;
    enum { threads = THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &c)
    {
        const int64_t k = t.block() * THREADS + t.thread(), live = live_of(c.x, 0) - k * c.chunk;
        if (k < c.chunks) c.count[k] = (int32_t)(live < 0 ? 0 : live < c.chunk ? live : c.chunk);
    }
};

/* ---- products ---------------------------------------------------------------------------------
 */

const hpc_tensor absent = {nullptr, nullptr, {0}, -1, -1, 0, 0, false, 0};

hpc_tensor matrix(void *data, int dtype, int64_t rows, int64_t cols)
{
    hpc_tensor t = absent;
    t.data = data;
    t.dtype = (uint8_t)dtype;
    t.rank = 2;
    t.extent[0] = rows;
    t.extent[1] = cols;
    return t;
}

struct chunk {
    int64_t first, rows;
    const int32_t *live; /* NULL: all */
};

hpc_tensor rows_of_chunk(const hpc_tensor &x, const chunk &c)
{
    hpc_tensor part = x;
    const int64_t bytes = x.dtype == HPC_F32 ? 4 : 2;
    part.data = (char *)x.data + c.first * x.extent[1] * bytes;
    part.extent[0] = c.rows;
    part.ragged = c.live ? 0 : -1;
    part.count = c.live;
    return part;
}

/* y = op(a) op(b), where `trans` has 1 for a and 2 for b. */
int multiply(const hpc_cuda_stream *s, const hpc_tensor &y, const hpc_tensor &a,
             const hpc_tensor &b, int trans)
{
    hpc_matmul_args g = {y, absent, a, b, absent, absent, {}};
    const hpc_cuda_launchers *l = &s->library->launch;
    g.attr.trans_a = trans & 1;
    g.attr.trans_b = trans & 2;
    g.attr.alpha = 1;
    const bool halves = a.dtype == HPC_BF16 && b.dtype == HPC_BF16;
    return (halves ? l->matmul_mma : l->matmul)(s, &g, nullptr);
}

/* One chunk: the logits, the losses or gradients of its rows, and the products of these. */
int run_chunk(const hpc_cuda_stream *s, const hpc_head_loss_grad_args &g, head_args h,
              const chunk &c)
{
    const hpc_tensor x = rows_of_chunk(g.x, c);
    hpc_tensor logits = matrix(h.logit, HPC_F32, c.rows, h.words), dw = g.dw;
    int rc = multiply(s, logits, x, g.w, 2);
    if (rc != 0) return rc;
    h.first = c.first;
    rc = simt_launch<head_rows>(s, {c.rows, 1, THREADS, SHARED, false}, h);
    if (rc != 0 || !present(h.grad)) return rc;
    const hpc_tensor grad = rows_of_chunk(h.grad, {0, c.rows, c.live});
    if (present(g.dx)) rc = multiply(s, rows_of_chunk(g.dx, c), grad, g.w, 0);
    if (rc != 0 || !present(g.dw)) return rc;
    dw.adds = dw.adds || c.first > 0;
    return multiply(s, dw, grad, x, 1);
}

int run_chunks(const hpc_cuda_stream *s, const hpc_head_loss_grad_args &g, const head_args &h,
               void *workspace, const hpc_cuda_head &frame)
{
    int32_t *live = (int32_t *)((char *)workspace + frame.count_at);
    const int64_t rows = g.x.extent[0];
    int rc = 0;
    if (g.x.ragged == 0)
        rc = simt_launch<head_counts>(s,
                                      {(frame.chunks + THREADS - 1) / THREADS, 1, THREADS, 0, true},
                                      {g.x, live, frame.chunk, frame.chunks});
    for (int64_t k = 0; k < frame.chunks && rc == 0; k++) {
        const int64_t first = k * frame.chunk, left = rows - first;
        rc = run_chunk(
            s, g, h,
            {first, left < frame.chunk ? left : frame.chunk, g.x.ragged == 0 ? live + k : nullptr});
    }
    return rc;
}

} // namespace

int hpc_cuda_head_loss(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const hpc_head_loss_args *a = (const hpc_head_loss_args *)args;
    const int64_t words = a->w.extent[0];
    const hpc_cuda_head frame = hpc_cuda_head_of(a->x.extent[0], words, false);
    const hpc_head_loss_grad_args g = {a->loss, absent, absent,    absent, a->lse,
                                       a->x,    a->w,   a->target, a->attr};
    const head_args h = {a->loss, a->lse, absent,  a->x, a->target, absent, (float *)workspace,
                         0,       words,  a->attr, true};
    return run_chunks(s, g, h, workspace, frame);
}

int hpc_cuda_head_loss_grad(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const hpc_head_loss_grad_args *a = (const hpc_head_loss_grad_args *)args;
    const bool halves = a->x.dtype == HPC_BF16 && a->w.dtype == HPC_BF16;
    const int64_t words = a->w.extent[0];
    const hpc_cuda_head frame = hpc_cuda_head_of(a->x.extent[0], words, halves);
    const hpc_tensor grad =
        matrix((char *)workspace + frame.grad_at, halves ? HPC_BF16 : HPC_F32, frame.chunk, words);
    const head_args h = {a->loss,   a->lse,  a->dloss,           a->x,
                         a->target, grad,    (float *)workspace, 0,
                         words,     a->attr, !present(a->lse)};
    return run_chunks(s, *a, h, workspace, frame);
}
