/*
 * gemm_coop.c: large products, computed cooperatively by all workers.
 *
 * Each part of b has one barrier, after which the part is packed. Every worker has its
 * own rows, the same for all parts and all calls of one shape: workers need not share a
 * last-level cache, and moving rows between such caches takes up to a sixth of the
 * time. With few rows, on cores with a large L2, each worker has its own columns
 * instead: those that it packed.
 *
 * Two buffers and two sets of strip counters alternate by the barrier's generation,
 * which is the same for all workers. Data packed before a barrier are read until the
 * next one. Meanwhile workers that run out of strips pack the next part, possibly of
 * the next product. Nothing has to be cleared or waited for in between. A single worker
 * has no barriers and always uses the first buffer.
 */
#include "runtime/device/cpu/kernels/gemm_coop.h"
#include "runtime/device/cpu/kernels/gemm_tile.h"
#include "runtime/device/cpu/kernels/priv.h"

enum {
    PART_MOST = 1 << 20, /* bytes of b that tiles of many words read again and again: of L2 */
    BYTE_COLS =
        4 * COOP_COLS,   /* of i8: no strip waits in a worker's memory, and of a less is packed */
    LAST_PER_WORKER = 3, /* low strips */
    LEAST_WORK = 1 << 25 /* multiplications: about a millisecond's; of less, meetings are felt */
};

enum {
    /* Of packed b, what a worker's L2 holds where what another core has just written comes slowly:
     * on Intel's servers packing there, and reading it first, takes a twelfth of a product of 768
     * rows. 0: elsewhere. */
    OWN_BYTES = HPC_ISA_INTEL ? 2 << 20 : 0,
    OWN_COLS = 256,   /* at least: every worker packs the rows of a for its own */
    FEW_ROWS = 1024,  /* at most so many pass c again rather than parts deeper than ... */
    FEW_DEPTH = 1024, /* ... this, of which workers keep their columns in L2 */
    /* A matrix of so few rows stays in L2, so it is packed and b's rows are read in place: packing
     * b of 256 x 768 x 4096 takes a tenth of the time. Results are transposed on the way to c. */
    TURN_ROWS = 384,
    TURN_BYTES = 5 << 18,
    TURN_LEAST = 512, /* of k: for less, turning results takes as long */
    TURN_TIMES = 4,   /* as many columns as rows, at least */
    TURN_STRIP = 48   /* columns */
};

typedef struct claims { /* of a worker's strips; by atomic built-ins only */
    int64_t next;
    char pad[HPC_ALIGN - sizeof(int64_t)];
} claims;

static int64_t deepest(const gemm *g)
{
    return gemm_word(g) ? gemm_word(g) * COOP_K : COOP_K;
}

/* True if tiles multiply several units at once. */
static bool by_steps(const gemm *g)
{
    return GEMM_WORD_STEP > 1 && gemm_word(g);
}

/* True if workers may have columns of their own. */
static bool may_own(const gemm *g, int workers)
{
    return OWN_BYTES > 0 && workers > 1 && (!gemm_word(g) || gemm_fixed(g)) && !gemm_is_direct(g);
}

static bool by_columns(const gemm *g, int64_t m, int64_t k, int64_t cols, int workers)
{
    int64_t bytes = gemm_packed_floats(g, k, cols) * (int64_t)sizeof(float);

    return may_own(g, workers) && bytes <= OWN_BYTES * (int64_t)workers &&
           cols >= OWN_COLS * workers && 2 * m <= 3 * cols;
}

/* Of parts; whole: all of k at once. */
static int64_t depth_of(const gemm *g, int64_t m, int64_t k, bool whole, int workers)
{
    bool shallow = !whole && m <= FEW_ROWS && may_own(g, workers);
    bool ahead = !whole && gemm_packs_ahead(g);
    int64_t few = gemm_fixed(g) ? 2 * FEW_DEPTH : FEW_DEPTH;
    int64_t most = shallow ? few : ahead ? AHEAD_K : deepest(g);

    return gemm_is_direct(g) ? k : gemm_even_part(k, most, COOP_BLOCK);
}

static int64_t cols_of(const gemm *g, int64_t n, int64_t k)
{
    enum { LEAST = COOP_COLS / 4 };
    int64_t most = g->a_type == HPC_I8 ? BYTE_COLS : COOP_COLS;

    if (by_steps(g) && k > 0)
        most = least(most, PART_MOST / (depth_of(g, 0, k, true, 1) * 4 / gemm_word(g)));
    return least(n, gemm_even_part(n, most < LEAST ? LEAST : most / LEAST * LEAST, LEAST));
}

typedef struct heights { /* of strips: whole register tiles, the last ones of a worker's lower */
    int64_t high, low;
} heights;

static heights heights_of(const gemm *g)
{
    return by_steps(g) ? (heights){COOP_ROWS, 32} : (heights){48, 12};
}

/* Strip number `strip` of a worker's rows lo .. hi - 1, the last ones low, if there are so many. */
static bool strip_rows(gemm_block *at, heights h, int64_t lo, int64_t hi, int64_t strip)
{
    int64_t low = least(gemm_parts(hi - lo, h.low), LAST_PER_WORKER);
    int64_t above = gemm_parts(hi - lo, h.low) - low;
    int64_t high = gemm_parts(above * h.low, h.high), end = lo + above * h.low;

    if (strip < high) {
        at->i = lo + strip * h.high;
        at->rows = least(h.high, end - at->i);
    } else {
        at->i = end + (strip - high) * h.low;
        at->rows = least(h.low, hi - at->i);
    }
    return at->rows > 0;
}

bool HPC_ISA(cpu_gemm_is_coop)(const gemm *g, int64_t m, int64_t n, int64_t k, int workers)
{
    int64_t high = heights_of(g).high;
    bool strips = m >= 2 * high && m >= high * workers;
    bool large = strips && n >= COOP_COLS / 4 && m * n >= LEAST_WORK / (k > 0 ? k : 1);

    return large && k > 0 && !g->lower;
}

bool HPC_ISA(cpu_gemm_turns)(const gemm_job *job)
{
    const gemm *g = &job->g;
    int64_t m = job->m, k = g->k;
    bool fits = job->c || job->grain <= TURN_STRIP; /* what a worker has for a strip */
    bool plain = (g->b_type == HPC_F32 || g->b_type == HPC_BF16) && !g->b_panel && !g->halves;
    bool rows = m <= TURN_ROWS && m * least(k, FEW_DEPTH) * (int64_t)sizeof(float) <= TURN_BYTES;

    return OWN_BYTES > 0 && fits && plain && g->b_trans && !gemm_word(g) && rows &&
           k >= TURN_LEAST && job->n >= TURN_TIMES * m;
}

/* The factors of c's transpose: of b's rows by a's. */
static gemm turned(const gemm_job *job)
{
    gemm g = job->g;

    g.a = job->g.b, g.a_ld = job->g.b_ld, g.a_type = job->g.b_type, g.a_trans = !job->g.b_trans;
    g.b = job->g.a, g.b_ld = job->g.a_ld, g.b_type = job->g.a_type, g.b_trans = !job->g.a_trans;
    g.a_rows = job->n;
    return g;
}

size_t HPC_ISA(cpu_gemm_coop_bytes)(const gemm *g, int64_t n, int64_t k, int workers)
{
    int64_t floats = gemm_packed_floats(g, least(k, deepest(g)), cols_of(g, n, k));

    return (size_t)workers * sizeof(claims) + (size_t)floats * sizeof(float);
}

size_t HPC_ISA(cpu_gemm_coop_worker)(int64_t n)
{
    int64_t cols = cols_of(&(gemm){0}, n, 1), floats = (COOP_ROWS + COOP_SPARE) * cols;
    int64_t turning = TURN_STRIP * TURN_ROWS + COOP_SPARE * COOP_COLS / 4;

    if (OWN_BYTES > 0 && floats < turning) floats = turning;
    return (size_t)(GEMM_SPARE + floats) * sizeof(float);
}

/* Columns of a part that a worker packs, and keeps if they are to be its own. */
static void share_columns(int64_t *lo, int64_t *hi, const gemm_job *job, int64_t cols, bool own,
                          int worker, int workers)
{
    int64_t grain = !own ? GEMM_PANEL : job->grain > 0 ? job->grain : GEMM_TILE_GRAIN;

    hpc_share(lo, hi, cols, grain, worker, workers);
}

/* Strips of c with the part of b that has been packed: this worker's, then what others have left.
 */
static void take_strips(const hpc_launch *l, const gemm_job *job, int64_t widest,
                        const gemm_part *whole, const float *all, claims *next, float *own)
{
    heights h = heights_of(&job->g);
    bool first = whole->p == 0, last = whole->p + whole->k == job->g.k;
    bool columns = by_columns(&job->g, job->m, whole->k, whole->cols, l->workers);
    float *tile = own + GEMM_SPARE, *spare = tile + COOP_ROWS * widest;
    const float *packed = all;
    gemm_part b = *whole;
    gemm_ahead ahead = {0};

    if (columns) h.low *= 2; /* strips are narrow: their a is packed for less */
    for (int w = 0; w < l->workers; w++) {
        int whose = (l->worker + w) % l->workers;
        int64_t lo = 0, hi = job->m;
        if (columns) {
            int64_t from, to;
            share_columns(&from, &to, job, whole->cols, true, whose, l->workers);
            b.j = whole->j + from, b.cols = to - from;
            packed = all + gemm_packed_floats(&job->g, b.k, from); /* no deeper than a slab */
        } else {
            hpc_share(&lo, &hi, job->m, h.low, whose, l->workers);
        }
        gemm_block at = {.j = b.j, .cols = b.cols};
        while (strip_rows(&at, h, lo, hi,
                          __atomic_fetch_add(&next[whose].next, 1, __ATOMIC_RELAXED))) {
            float *c = job->c ? job->c + at.i * job->c_ld + at.j : tile;
            int64_t ld = job->c ? job->c_ld : widest;
            HPC_ISA(cpu_gemm_rows)(c, ld, &job->g, &b, packed, at, job->add || !first, &ahead, own);
            if (last && job->done) job->done(job, at, c, ld, spare);
        }
    }
}

/* The same of c's transpose: a strip is TURN_STRIP columns of c, or a grain's. */
static void take_columns(const hpc_launch *l, const gemm_job *job, const gemm *g,
                         const gemm_part *b, const float *packed, claims *next, float *own)
{
    int64_t wide = job->grain > 0 ? job->grain : TURN_STRIP, lo, hi;
    float *tile = own + GEMM_SPARE, *spare = tile + TURN_STRIP * TURN_ROWS;

    for (int w = 0; w < l->workers; w++) {
        int whose = (l->worker + w) % l->workers;
        hpc_share(&lo, &hi, job->n, wide, whose, l->workers);
        for (;;) {
            int64_t strip = __atomic_fetch_add(&next[whose].next, 1, __ATOMIC_RELAXED);
            gemm_block at = {.i = lo + strip * wide, .cols = job->m};
            if (at.i >= hi) break;
            at.rows = least(wide, hi - at.i);
            float *c = job->c ? job->c + at.i : tile;
            int64_t ld = job->c ? job->c_ld : wide;
            HPC_ISA(cpu_gemm_turned)(c, ld, g, b, packed, at, job->add || b->p > 0, own);
            gemm_block here = {.rows = job->m, .j = at.i, .cols = at.rows};
            if (b->p + b->k == g->k && job->done) job->done(job, here, c, ld, spare);
        }
    }
}

/* Columns lo .. hi-1 of a part are packed by this worker. When it returns, all are, to
 * `*packed`; its counters of strips. */
static claims *meet(float **packed, const hpc_launch *l, const gemm *g, const gemm_part *part,
                    int64_t lo, int64_t hi, float *own)
{
    unsigned turn = (unsigned)__atomic_load_n(&l->barrier->generation, __ATOMIC_RELAXED);
    claims *strips = l->cpu.coop[turn >> 1 & 1]; /* the same for all until all have met */

    *packed = (float *)(strips + l->workers);
    if (lo < hi) HPC_ISA(cpu_gemm_pack)(*packed, g, part, lo, hi - lo, own);
    __atomic_store_n(&strips[l->worker].next, 0, __ATOMIC_RELAXED);
    hpc_barrier_wait(l->barrier);
    return strips;
}

static void together_turned(const hpc_launch *l, const gemm_job *job, float *own)
{
    gemm g = turned(job);
    gemm_part part = {.cols = job->m};
    int64_t deep = gemm_even_part(g.k, FEW_DEPTH, COOP_BLOCK), lo, hi;
    float *packed;

    hpc_share(&lo, &hi, job->m, GEMM_PANEL, l->worker, l->workers);
    for (part.p = 0; part.p < g.k; part.p += deep) {
        part.k = least(deep, g.k - part.p);
        claims *strips = meet(&packed, l, &g, &part, lo, hi, own);
        take_columns(l, job, &g, &part, packed, strips, own);
    }
}

void HPC_ISA(cpu_gemm_together)(const hpc_launch *l, const gemm_job *job, float *own)
{
    gemm_job all = *job;
    const gemm *g = &all.g;
    int64_t deep = depth_of(g, job->m, g->k, !job->c, l->workers);
    int64_t wide = cols_of(g, job->n, g->k);
    gemm_part part;
    float *packed;
    int64_t lo, hi;

    if (HPC_ISA(cpu_gemm_turns)(job)) {
        together_turned(l, job, own);
        return;
    }
    all.g.a_rows = job->m;
    for (part.j = 0; part.j < job->n; part.j += wide) {
        part.cols = least(wide, job->n - part.j);
        for (part.p = 0; part.p < g->k; part.p += deep) {
            part.k = least(deep, g->k - part.p);
            bool columns = by_columns(g, job->m, part.k, part.cols, l->workers);
            share_columns(&lo, &hi, job, part.cols, columns, l->worker, l->workers);
            claims *strips = meet(&packed, l, g, &part, lo, hi, own);
            take_strips(l, &all, wide, &part, packed, strips, own);
        }
    }
}
