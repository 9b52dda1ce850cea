/*
 * sample.cu: a token from each row of logits, with the arithmetic of kernel/sample.h. A block has a
 * row. Cuts go through tokens in order, in rounds: each thread keeps its highest few of those that
 * are left, and what is certain to be complete among all of these is sorted.
 */
#include "runtime/device/cuda/block.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

enum { THREADS = 256, EACH = 4, LIST = THREADS * EACH }; /* candidates of a thread, and of all */
enum { WARPS = THREADS / SIMT_WARP, LIST_AT = WARPS * 8, SHARED = LIST_AT + LIST * 8 };

/* A token and its logit as a number, larger for earlier tokens of the order; 0: none. */
SIMT_DEVICE uint64_t rank_of(float logit, int64_t token)
{
    if (!(logit > -INFINITY)) return 0;
    const uint32_t bits = hpc_f32_bits(logit == 0 ? 0.0f : logit); /* -0 equals 0 */
    const uint32_t high = bits >> 31 ? ~bits : bits | 0x80000000u;
    return (uint64_t)high << 32 | (0xffffffffu - (uint32_t)token);
}

SIMT_DEVICE float logit_of(uint64_t rank)
{
    const uint32_t high = (uint32_t)(rank >> 32);
    return hpc_bits_f32(high >> 31 ? high & 0x7fffffffu : ~high);
}

SIMT_DEVICE int32_t token_of(uint64_t rank)
{
    return (int32_t)(0xffffffffu - (uint32_t)rank);
}

/* The maximum over the block. */
SIMT_DEVICE uint64_t block_top(const simt &t, uint64_t v)
{
    const simt_shared<uint64_t> part = t.shared<uint64_t>(0, WARPS);
    for (int mask = SIMT_WARP / 2; mask > 0; mask /= 2) {
        const uint64_t other = t.shuffle_xor(v, mask);
        v = other > v ? other : v;
    }
    t.sync(); /* readers of the last maximum, and of the list */
    if (t.lane() == 0) part[t.warp()] = v;
    t.sync();
    for (int w = 0; w < WARPS; w++) v = part[w] > v ? (uint64_t)part[w] : v;
    return v;
}

struct sampler {
    const simt &t;
    const float *logit;
    int64_t n;
    const hpc_sample_how &how;
    float top;
    uint64_t bound; /* of the list; 0: there is no list */
    bool is_last;   /* no tokens follow those of the list */

    SIMT_DEVICE double relative(float x) const { return hpc_sample_relative(how.inverse, x, top); }

    SIMT_DEVICE uint64_t sum_of(double inverse) const
    {
        uint64_t sum = 0;
        for (int64_t i = t.thread(); i < n; i += THREADS)
            sum += hpc_sample_weight(hpc_sample_relative(inverse, logit[i], top));
        return block_sum(t, sum, 0);
    }

    /* Descending, by the bitonic network. */
    SIMT_DEVICE void sort(simt_shared<uint64_t> list) const
    {
        for (int size = 2; size <= LIST; size *= 2)
            for (int half = size / 2; half > 0; half /= 2) {
                t.sync();
                for (int p = t.thread(); p < LIST / 2; p += THREADS) {
                    const int i = 2 * p - (p & (half - 1));
                    const uint64_t a = list[i], b = list[i + half];
                    if ((a < b) != ((i & size) == 0)) continue;
                    list[i] = b;
                    list[i + half] = a;
                }
            }
        t.sync();
    }

    /* Lists the first tokens of the order with ranks below `from`: those that follow the lowest
     * candidate of a thread may be incomplete. */
    SIMT_DEVICE void list_below(simt_shared<uint64_t> list, uint64_t from)
    {
        uint64_t mine[EACH] = {0, 0, 0, 0};
        for (int64_t i = t.thread(); i < n; i += THREADS) {
            uint64_t x = rank_of(logit[i], i);
            if (x >= from) continue;
            SIMT_UNROLL
            for (int k = 0; k < EACH; k++) {
                const uint64_t other = mine[k];
                mine[k] = x > other ? x : other;
                x = x > other ? other : x;
            }
        }
        const uint64_t complete = block_top(t, mine[EACH - 1]);
        SIMT_UNROLL
        for (int k = 0; k < EACH; k++)
            list[k * THREADS + t.thread()] = mine[k] >= complete ? mine[k] : 0;
        sort(list);
        bound = from;
        is_last = complete == 0;
    }

    /* All threads go through the list together. */
    SIMT_DEVICE void walk(hpc_sample_walk &w)
    {
        const simt_shared<uint64_t> list = t.shared<uint64_t>(LIST_AT, LIST);
        for (uint64_t from = ~0ull;;) {
            if (bound != from) list_below(list, from);
            for (int k = 0; k < LIST && list[k] != 0; k++) {
                from = list[k];
                if (!hpc_sample_step(&w, relative(logit_of(from)), token_of(from))) return;
            }
            if (is_last) return;
        }
    }

    SIMT_DEVICE int32_t draw_in_order()
    {
        hpc_sample_walk counted = hpc_sample_counted(&how);
        if (how.top_k > 0)
            walk(counted);
        else
            counted.sum = sum_of(how.inverse);
        hpc_sample_walk kept = hpc_sample_kept(&how, n, counted.sum);
        walk(kept);
        hpc_sample_walk drawn = hpc_sample_drawn(&how, &kept);
        walk(drawn);
        return drawn.token;
    }

    /* Each thread has consecutive tokens; the one in which the sum exceeds the limit finds it. */
    SIMT_DEVICE int32_t draw_by_number()
    {
        const simt_shared<uint64_t> part = t.shared<uint64_t>(LIST_AT, THREADS + 1);
        const int64_t length = (n + THREADS - 1) / THREADS, first = t.thread() * length;
        const int64_t end = first + length < n ? first + length : n;
        hpc_sample_walk kept = {};
        uint64_t sum = 0, before = 0, last = 0;
        for (int64_t i = first; i < end; i++) {
            const double z = relative(logit[i]);
            if (z < how.least || logit[i] == -INFINITY) continue;
            sum += hpc_sample_weight(z);
            last = (uint64_t)i + 1;
        }
        kept.sum = block_sum(t, sum, 0);
        last = block_top(t, last);
        part[t.thread()] = sum;
        if (t.thread() == 0) part[THREADS] = last - 1;
        t.sync();
        for (int k = 0; k < t.thread(); k++) before += part[k];
        const hpc_sample_walk drawn = hpc_sample_drawn(&how, &kept);
        if ((double)(before + sum) > drawn.enough && !((double)before > drawn.enough)) {
            int64_t i = first;
            for (; i < end - 1; i++) {
                const double z = relative(logit[i]);
                before += z < how.least ? 0 : hpc_sample_weight(z);
                if ((double)before > drawn.enough) break;
            }
            part[THREADS] = (uint64_t)i;
        }
        t.sync();
        return (int32_t)part[THREADS];
    }

    SIMT_DEVICE int32_t draw()
    {
        return hpc_sample_is_unordered(&how) ? draw_by_number() : draw_in_order();
    }
};

struct sample_rows {
    typedef hpc_sample_args args;
    enum { threads = THREADS };

    /* The rank of the first token; 0 if there is none, or if a logit is NaN or infinity. */
    static SIMT_DEVICE uint64_t find_top(const simt &t, const float *logit, int64_t n)
    {
        uint64_t best = 0;
        for (int64_t i = t.thread(); i < n; i += THREADS) {
            const uint64_t rank = logit[i] < INFINITY ? rank_of(logit[i], i) : ~0ull;
            best = rank > best ? rank : best;
        }
        best = block_top(t, best);
        return best == ~0ull ? 0 : best;
    }

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const int64_t row = t.block(), n = cols_of(a.logits);
        const float *logit = (const float *)a.logits.data + row * n;
        if (live_cols(a.logits, row) == 0) return;
        const hpc_sample_how how = ((const hpc_sample_how *)a.how.data)[row];
        const uint64_t best = find_top(t, logit, n);
        int32_t token = -1;
        float logprob = 0;
        if (best != 0) {
            sampler s = {t, logit, n, how, logit_of(best), 0, false};
            token = hpc_sample_is_greedy(&how) ? token_of(best) : s.draw();
            logprob = hpc_sample_logprob(logit[token], s.top, s.sum_of(1));
        }
        if (t.thread() != 0) return;
        ((int32_t *)a.token.data)[row] = token;
        ((float *)a.logprob.data)[row] = logprob;
    }
};

} // namespace

int hpc_cuda_sample(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_sample_args *a = (const hpc_sample_args *)args;
    const simt_shape shape = {rows_of(a->logits), 1, THREADS, SHARED, false};
    return simt_launch<sample_rows>(s, shape, *a);
}
