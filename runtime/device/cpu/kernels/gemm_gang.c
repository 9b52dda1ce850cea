/*
 * gemm_gang.c: large products by all workers together.
 *
 * For each part of b there is one meeting: after it the part is packed. Two
 * buffers and two counters of strips take turns by the barrier's generation,
 * which all workers see alike: what is packed before a meeting is read until the
 * next one, and while it is read, those who find no strip left pack the next
 * part, be it of the next product. Nothing has to be cleared or waited for in
 * between. (One worker meets nobody, and always uses the first.)
 */
#include "runtime/device/cpu/kernels/gemm_gang.h"
#include "runtime/device/cpu/kernels/priv.h"

enum {
    LAST_PER_WORKER = 3, /* strips of GANG_LAST rows */
    LEAST_WORK = 1 << 25 /* multiplications: about a millisecond's; of less, meetings are felt */
};

typedef struct claims { /* of strips; by atomic built-ins only */
    int64_t next;
    char pad[HPC_ALIGN - sizeof(int64_t)];
} claims;

/* How c is cut: parts of b, and strips of rows, the last ones low. */
typedef struct cut {
    int64_t k, cols;      /* of a part */
    int64_t high, strips; /* so many of GANG_ROWS, or fewer for the last one; all */
    int64_t low_from;     /* the first row of the low ones */
} cut;

static cut cut_of(const gemm *g, int64_t m, int64_t n, int64_t k, int workers)
{
    int64_t low = gemm_parts(m, GANG_LAST), most = LAST_PER_WORKER * (int64_t)workers;
    int64_t above = low > most ? low - most : 0;

    return (cut){.k = gemm_is_direct(g) ? k : least(GANG_K, k),
                 .cols = least(n, gemm_even_part(n, GANG_COLS, GANG_COLS / 4)),
                 .high = gemm_parts(above * GANG_LAST, GANG_ROWS),
                 .strips = gemm_parts(above * GANG_LAST, GANG_ROWS) + low - above,
                 .low_from = above * GANG_LAST};
}

static void strip_rows(gemm_block *at, const cut *by, int64_t strip, int64_t m)
{
    if (strip < by->high) {
        at->i = strip * GANG_ROWS;
        at->rows = least(GANG_ROWS, by->low_from - at->i);
    } else {
        at->i = by->low_from + (strip - by->high) * GANG_LAST;
        at->rows = least(GANG_LAST, m - at->i);
    }
}

static size_t buffer_floats(const gemm *g, const cut *by)
{
    if (gemm_is_direct(g)) return 0;
    return (size_t)(by->k * gemm_parts(by->cols, GEMM_PANEL) * GEMM_PANEL);
}

bool HPC_ISA(cpu_gemm_gangs)(const gemm *g, int64_t m, int64_t n, int64_t k, int workers)
{
    bool strips = m >= 2 * GANG_ROWS && m >= GANG_ROWS * (int64_t)workers;
    bool large = strips && n >= GANG_COLS / 4 && m * n >= LEAST_WORK / (k > 0 ? k : 1);

    return large && k > 0 && !g->lower && !gemm_takes_pairs(g);
}

size_t HPC_ISA(cpu_gemm_gang_bytes)(const gemm *g, int64_t n, int64_t k)
{
    cut by = cut_of(g, 1, n, k, 1);

    return sizeof(claims) + buffer_floats(g, &by) * sizeof(float);
}

size_t HPC_ISA(cpu_gemm_gang_own)(int64_t n)
{
    cut by = cut_of(&(gemm){0}, 1, n, 1, 1);

    return (size_t)(GEMM_SPARE + (GANG_ROWS + GANG_SPARE) * by.cols) * sizeof(float);
}

/* This worker's strips of c with the part of b that has been packed. */
static void take_strips(const gemm_job *job, const cut *by, const gemm_part *part,
                        const float *packed, claims *next, float *own)
{
    bool first = part->p == 0, last = part->p + part->k == job->g.k;
    float *tile = own + GEMM_SPARE, *spare = tile + GANG_ROWS * by->cols;
    gemm_block at = {.j = part->j, .cols = part->cols};
    int64_t strip;

    while ((strip = __atomic_fetch_add(&next->next, 1, __ATOMIC_RELAXED)) < by->strips) {
        strip_rows(&at, by, strip, job->m);
        float *c = job->c ? job->c + at.i * job->c_ld + at.j : tile;
        int64_t ld = job->c ? job->c_ld : by->cols;
        HPC_ISA(cpu_gemm_rows)(c, ld, &job->g, part, packed, at, job->add || !first, own);
        if (last && job->done) job->done(job, at, c, ld, spare);
    }
}

void HPC_ISA(cpu_gemm_together)(const hpc_launch *l, const gemm_job *job, float *own)
{
    gemm_job all = *job;
    const gemm *g = &all.g;
    cut by = cut_of(g, job->m, job->n, g->k, l->workers);
    gemm_part part;
    int64_t lo, hi;

    all.g.a_rows = job->m;
    for (part.j = 0; part.j < job->n; part.j += by.cols) {
        part.cols = least(by.cols, job->n - part.j);
        for (part.p = 0; part.p < g->k; part.p += by.k) {
            unsigned turn = (unsigned)__atomic_load_n(&l->barrier->generation, __ATOMIC_RELAXED);
            turn = turn >> 1 & 1; /* the same for all until all have met */
            claims *strips = l->gang[turn];
            float *packed = (float *)(strips + 1);
            part.k = least(by.k, g->k - part.p);
            hpc_share(&lo, &hi, part.cols, GEMM_PANEL, l->worker, l->workers);
            if (lo < hi) HPC_ISA(cpu_gemm_pack)(packed, g, &part, lo, hi - lo, own);
            if (l->worker == 0) __atomic_store_n(&strips->next, 0, __ATOMIC_RELAXED);
            hpc_barrier_wait(l->barrier);
            take_strips(&all, &by, &part, packed, strips, own);
        }
    }
}
