/*
 * expert.cu: the gate of a mixture of experts and its gradient, a warp for each token, in double as
 * device/gate.c; and slots sorted by expert.
 */
#include "runtime/device/cuda/random.cuh"
#include "runtime/device/cuda/table.cuh"
#include "runtime/device/cuda/tensor.cuh"

namespace {

/* ---- sums and maxima of a warp -----------------------------------------------------------------
 */

SIMT_DEVICE double warp_sum(const simt &t, double v)
{
    for (int mask = SIMT_WARP / 2; mask > 0; mask /= 2) v += t.shuffle_xor(v, mask);
    return v;
}

/* A NaN wins. */
SIMT_DEVICE double warp_most(const simt &t, double v)
{
    for (int mask = SIMT_WARP / 2; mask > 0; mask /= 2) {
        const double other = t.shuffle_xor(v, mask);
        v = other > v || other != other ? other : v;
    }
    return v;
}

/* out = softmax of x, each a number for each expert; returns the logarithm of the sum. */
SIMT_DEVICE double warp_softmax(const simt &t, simt_shared<double> out, simt_shared<double> x,
                                int n)
{
    double most = -INFINITY, sum = 0;
    for (int e = t.lane(); e < n; e += SIMT_WARP) {
        const double v = x[e];
        most = v > most || v != v ? v : most;
    }
    most = warp_most(t, most);
    for (int e = t.lane(); e < n; e += SIMT_WARP) {
        const double y = exp(x[e] - most);
        out[e] = y;
        sum += y;
    }
    sum = warp_sum(t, sum);
    for (int e = t.lane(); e < n; e += SIMT_WARP) out[e] = out[e] / sum;
    t.sync_warp();
    return most + log(sum);
}

/* ---- rows of the gate ------------------------------------------------------------------------
 */

/* Operands that gate and gate_grad share. */
struct gate_inputs {
    hpc_tensor logits, anneal, step, base;
    hpc_gate_attr attr;
};

struct gate_row {
    simt_shared<double> z, p, score;
    double tau, threshold;
    int n;
    int64_t row;
};

enum { GATE_ARRAYS = 5 }; /* of a double for each expert */

SIMT_BOTH int gate_bytes(int64_t experts)
{
    return GATE_ARRAYS * (int)experts * (int)sizeof(double);
}

SIMT_DEVICE simt_shared<double> gate_array(const simt &t, int k, int n)
{
    return t.shared<double>(k * n * (int)sizeof(double), n);
}

/* Loads the logits; p: probabilities. *lse: of the logits. */
SIMT_DEVICE gate_row load_row(const simt &t, const gate_inputs &g, double *lse)
{
    const int n = (int)cols_of(g.logits);
    gate_row r = {
        gate_array(t, 0, n), gate_array(t, 1, n), gate_array(t, 2, n), 0, 0, n, t.block()};
    if (present(g.anneal)) {
        r.tau = get(g.anneal, 0);
        r.threshold = get(g.anneal, 1);
    }
    for (int e = t.lane(); e < n; e += SIMT_WARP) r.z[e] = (double)get(g.logits, r.row * n + e);
    t.sync_warp();
    *lse = warp_softmax(t, r.p, r.z, n);
    if (g.attr.kind == HPC_GATE_SIGMOID)
        for (int e = t.lane(); e < n; e += SIMT_WARP) r.p[e] = 1 / (1 + exp(-r.z[e]));
    t.sync_warp();
    return r;
}

/* score = softmax of the noisy logits. */
SIMT_DEVICE void noisy_scores(const simt &t, const gate_inputs &g, const gate_row &r)
{
    const int64_t base = present(g.base) ? get_index(g.base, 0) : 0;
    const int64_t step = present(g.step) ? get_index(g.step, 0) : 0;
    const uint64_t first = (uint64_t)((base + g.attr.row0 + r.row) * r.n);
    for (int e = t.lane(); e < r.n; e += SIMT_WARP) {
        double noise = 0;
        if ((int32_t)step >= 0) {
            const uint64_t at = first + (uint64_t)e;
            const philox4 four =
                philox(at / 4, (uint32_t)g.attr.tensor, (uint32_t)step, (uint64_t)g.attr.seed);
            const uint32_t k = at % 4, bits = k == 0   ? four.word[0]
                                              : k == 1 ? four.word[1]
                                              : k == 2 ? four.word[2]
                                                       : four.word[3];
            noise = -log(-log(((bits >> 8) + 0.5) * 0x1p-24));
        }
        r.score[e] = (r.z[e] + noise) / r.tau;
    }
    t.sync_warp();
    warp_softmax(t, r.score, r.score, r.n);
}

/* ---- gate ------------------------------------------------------------------------------------
 */

struct gate_args {
    hpc_gate_args g;
    gate_inputs in;
};

struct gate {
    typedef gate_args args;
    enum { threads = SIMT_WARP };

    /* The expert with the best score of those that are not taken (a bit for each of the lane's):
     * of equal ones the first, NaN last. */
    static SIMT_DEVICE int best_of(const simt &t, const gate_row &r, uint32_t taken, double *score)
    {
        int best = -1;
        double most = 0;
        for (int e = t.lane(); e < r.n; e += SIMT_WARP) {
            const double v = r.score[e];
            if (taken >> e / SIMT_WARP & 1) continue;
            if (best >= 0 && !(v > most || (most != most && v == v))) continue;
            best = e;
            most = v;
        }
        for (int mask = SIMT_WARP / 2; mask > 0; mask /= 2) {
            const double v = t.shuffle_xor(most, mask);
            const int e = t.shuffle_xor(best, mask);
            const bool later =
                e < 0 || (v != v ? most == most || e > best : v < most || (v == most && e > best));
            const bool mine = best >= 0 && later;
            best = mine ? best : e;
            most = mine ? most : v;
        }
        *score = most;
        return best;
    }

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const hpc_gate_args &g = a.g;
        const int k = (int)g.attr.k;
        double lse, sum = g.attr.kind == HPC_GATE_SIGMOID ? 1e-20 : 0;
        uint32_t taken = 0;
        if (t.block() >= live_extent(g.logits, 0, 0)) return;
        const gate_row r = load_row(t, a.in, &lse);
        const simt_shared<double> raw = gate_array(t, 3, r.n);
        if (r.tau > 0)
            noisy_scores(t, a.in, r);
        else
            for (int e = t.lane(); e < r.n; e += SIMT_WARP)
                r.score[e] = r.p[e] + (present(g.bias) ? (double)get(g.bias, e) : 0);
        t.sync_warp();
        for (int j = 0; j < k; j++) {
            double best;
            int e = best_of(t, r, taken, &best);
            if (e >= 0 && e % SIMT_WARP == t.lane()) taken |= 1u << e / SIMT_WARP;
            if (r.tau > 0 && j > 0 && !(best > r.threshold)) e = -1;
            const double v = e < 0 ? 0 : g.attr.noisy ? best : (double)r.p[e];
            sum += v;
            if (t.lane() != 0) continue;
            raw[j] = v;
            ((int32_t *)g.expert.data)[r.row * k + j] = e;
        }
        const double by = g.attr.scale / (g.attr.normalise ? sum : 1);
        t.sync_warp();
        for (int j = t.lane(); j < k; j += SIMT_WARP)
            set(g.weight, r.row * k + j, (float)(raw[j] * by));
        for (int e = t.lane(); e < r.n && present(g.prob); e += SIMT_WARP)
            set(g.prob, r.row * r.n + e, (float)(double)r.p[e]);
        if (t.lane() == 0 && present(g.lse)) set(g.lse, r.row, (float)lse);
    }
};

/* ---- gate_grad ---------------------------------------------------------------------------*/

struct gate_grad_args {
    hpc_gate_grad_args g;
    gate_inputs in;
};

struct gate_grad {
    typedef gate_grad_args args;
    enum { threads = SIMT_WARP };

    /* dp += the gradient of the unscaled weights p[expert[j]]. */
    static SIMT_DEVICE void through_weights(const simt &t, const hpc_gate_grad_args &g,
                                            simt_shared<double> dp, simt_shared<double> p,
                                            int64_t row)
    {
        const int k = (int)g.attr.k;
        double sum = g.attr.kind == HPC_GATE_SIGMOID ? 1e-20 : 0, dot = 0;
        for (int j = 0; j < k; j++) {
            const int64_t e = get_index(g.expert, row * k + j);
            const double v = e < 0 ? 0 : (double)p[(int)e];
            sum += v;
            dot += g.attr.scale * (double)get(g.dweight, row * k + j) * v;
        }
        const double by = g.attr.normalise ? sum : 1;
        const double shared = g.attr.normalise ? dot / (by * by) : 0;
        for (int j = t.lane(); j < k; j += SIMT_WARP) {
            const int64_t e = get_index(g.expert, row * k + j);
            if (e >= 0)
                dp[(int)e] += g.attr.scale * (double)get(g.dweight, row * k + j) / by - shared;
        }
        t.sync_warp();
    }

    /* dz += the gradient that passes a softmax with results p, for z divided by tau. */
    static SIMT_DEVICE void through_softmax(const simt &t, simt_shared<double> dz,
                                            simt_shared<double> p, simt_shared<double> dp,
                                            double tau, int n)
    {
        double sum = 0;
        for (int e = t.lane(); e < n; e += SIMT_WARP) sum += p[e] * dp[e];
        sum = warp_sum(t, sum);
        for (int e = t.lane(); e < n; e += SIMT_WARP) dz[e] += p[e] * (dp[e] - sum) / tau;
        t.sync_warp();
    }

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const hpc_gate_grad_args &g = a.g;
        const int n = (int)cols_of(g.logits);
        double lse;
        if (t.block() >= live_extent(g.logits, 0, 0)) return;
        const gate_row r = load_row(t, a.in, &lse);
        const simt_shared<double> dz = gate_array(t, 3, n), dp = gate_array(t, 4, n);
        const bool noisy = r.tau > 0 && g.attr.noisy, weights = present(g.dweight);
        const double dlse = present(g.dlse) ? (double)get(g.dlse, r.row) : 0;
        for (int e = t.lane(); e < n; e += SIMT_WARP) {
            dz[e] = dlse * exp(r.z[e] - lse);
            dp[e] = present(g.dprob) ? (double)get(g.dprob, r.row * n + e) : 0;
        }
        t.sync_warp();
        if (weights && !noisy) through_weights(t, g, dp, r.p, r.row);
        if (g.attr.kind == HPC_GATE_SOFTMAX)
            through_softmax(t, dz, r.p, dp, 1, n);
        else
            for (int e = t.lane(); e < n; e += SIMT_WARP) dz[e] += dp[e] * r.p[e] * (1 - r.p[e]);
        if (weights && noisy) {
            noisy_scores(t, a.in, r);
            for (int e = t.lane(); e < n; e += SIMT_WARP) dp[e] = 0;
            t.sync_warp();
            through_weights(t, g, dp, r.score, r.row);
            through_softmax(t, dz, r.score, dp, r.tau, n);
        }
        for (int e = t.lane(); e < n; e += SIMT_WARP)
            set(g.dlogits, r.row * n + e, (float)(double)dz[e]);
    }
};

/* ---- dispatch --------------------------------------------------------------------------------
 */

enum { THREADS = 256, WARPS = THREADS / SIMT_WARP, SHARED = 2 * WARPS * (int)sizeof(int) };

struct dispatch_args {
    hpc_dispatch_args g;
    int32_t *all; /* slots of each expert, dropped ones too */
};

/* Expert of choice j of token i, in the order of slots: all first choices, then all second ones. */
SIMT_DEVICE int64_t choice(const hpc_dispatch_args &g, int64_t at, int64_t tokens, int64_t *slot)
{
    const int64_t k = cols_of(g.expert);
    *slot = at % tokens * k + at / tokens;
    return get_index(g.expert, *slot);
}

struct dispatch_counts {
    typedef dispatch_args args;
    enum { threads = THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const hpc_dispatch_args &g = a.g;
        const int64_t k = cols_of(g.expert), tokens = live_extent(g.expert, 0, 0);
        int64_t slot;
        int n = 0;
        for (int64_t at = t.thread(); at < tokens * k; at += THREADS) {
            const int64_t e = choice(g, at, tokens, &slot);
            n += e == t.block();
            if (e >= g.attr.experts && t.block() == 0)
                t.fail(HPC_FAULT_EXPERT, slot / k, e, g.attr.experts, 0);
        }
        const simt_shared<int> part = t.shared<int>(0, WARPS);
        for (int mask = SIMT_WARP / 2; mask > 0; mask /= 2) n += t.shuffle_xor(n, mask);
        if (t.lane() == 0) part[t.warp()] = n;
        t.sync();
        if (t.thread() != 0) return;
        int sum = 0;
        for (int w = 0; w < WARPS; w++) sum += part[w];
        a.all[t.block()] = sum;
        set(g.load, t.block(), tokens > 0 ? (float)sum / (float)tokens : 0);
    }
};

/* The rows of expert block(), in order of slots. */
struct dispatch_rows {
    typedef dispatch_args args;
    enum { threads = THREADS };

    static SIMT_DEVICE int64_t kept(const args &a, int64_t e)
    {
        const int64_t n = a.all[e], cap = a.g.attr.cap;
        return cap > 0 && n > cap ? cap : n;
    }

    static SIMT_DEVICE void totals(const args &a)
    {
        int64_t rows = 0, dropped = 0;
        for (int64_t e = 0; e < a.g.attr.experts; e++) {
            ((int32_t *)a.g.start.data)[e] = (int32_t)rows;
            rows += kept(a, e);
            dropped += a.all[e] - kept(a, e);
        }
        ((int32_t *)a.g.start.data)[a.g.attr.experts] = (int32_t)rows;
        ((int32_t *)a.g.rows.data)[0] = (int32_t)rows;
        set(a.g.dropped, 0, (float)dropped);
    }

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const hpc_dispatch_args &g = a.g;
        const int64_t k = cols_of(g.expert), tokens = live_extent(g.expert, 0, 0);
        const simt_shared<uint32_t> words = t.shared<uint32_t>(0, WARPS);
        int64_t first = 0, n = 0;
        for (int64_t e = 0; e < t.block(); e++) first += kept(a, e);
        if (t.block() == 0 && t.thread() == 0) totals(a);
        for (int64_t from = 0; from < tokens * k; from += THREADS) {
            const int64_t at = from + t.thread();
            int64_t slot = 0;
            const bool mine = at < tokens * k && choice(g, at, tokens, &slot) == t.block();
            const uint32_t bits = t.ballot(mine);
            t.sync(); /* readers of the bits before */
            if (t.lane() == 0) words[t.warp()] = bits;
            t.sync();
            int64_t before = 0, all = 0;
            for (int w = 0; w < WARPS; w++) {
                const uint32_t word = words[w];
                const int l = w < t.warp() ? SIMT_WARP : w > t.warp() ? 0 : t.lane();
                for (int b = 0; b < SIMT_WARP; b++) {
                    before += b < l && (word >> b & 1);
                    all += word >> b & 1;
                }
            }
            if (mine && n + before < kept(a, t.block())) {
                const int64_t row = first + n + before;
                ((int32_t *)g.slot.data)[row] = (int32_t)slot;
                ((int32_t *)g.token.data)[row] = (int32_t)(slot / k);
                ((int32_t *)g.group.data)[row] = (int32_t)t.block();
            }
            n += all;
        }
    }
};

} // namespace

int hpc_cuda_gate(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_gate_args &g = *(const hpc_gate_args *)args;
    const gate_args a = {g, {g.logits, g.anneal, g.step, g.base, g.attr}};
    const simt_shape shape = {rows_of(g.logits), 1, SIMT_WARP, gate_bytes(cols_of(g.logits)),
                              false};
    return simt_launch<gate>(s, shape, a);
}

int hpc_cuda_gate_grad(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_gate_grad_args &g = *(const hpc_gate_grad_args *)args;
    const gate_grad_args a = {g, {g.logits, g.anneal, g.step, g.base, g.attr}};
    const simt_shape shape = {rows_of(g.logits), 1, SIMT_WARP, gate_bytes(cols_of(g.logits)),
                              false};
    return simt_launch<gate_grad>(s, shape, a);
}

int hpc_cuda_dispatch(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const dispatch_args a = {*(const hpc_dispatch_args *)args, (int32_t *)workspace};
    const simt_shape shape = {a.g.attr.experts, 1, THREADS, SHARED, false};
    const int rc = simt_launch<dispatch_counts>(s, shape, a);
    return rc != 0 ? rc : simt_launch<dispatch_rows>(s, shape, a);
}
