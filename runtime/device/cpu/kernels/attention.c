/*
 * attention.c: variable-length, paged attention with an online softmax over blocks of
 * keys.
 *
 * A task is a run of queries of one sequence with all query heads of one key head, or
 * of several key heads if there are few queries. Rows of scores are independent: masked
 * keys do not change a row's state by a bit, so a query gets the same bits decoded
 * alone as within its prompt. Pages are read in place, never gathered.
 */
#include <math.h>
#include <string.h>

#include "runtime/device/cpu/kernels/attend.h"
#include "runtime/device/cpu/kernels/vecmath.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

typedef struct shape {
    int64_t rows, heads, key_heads, group, dim;
    int64_t queries; /* in a task */
    int64_t most;    /* rows of scores in a task */
    hpc_dtype type;  /* of q and the weights as factors */
    const hpc_cpu_traits *cpu;
} shape;

typedef struct scratch { /* of one worker */
    void *q;             /* [most,dim], of the shape's type */
    float *o;            /* [most,dim] */
    float *scores;       /* [most,ATTEND_KEYS] */
    void *weights;       /* the same, of the shape's type: the scores themselves if it is f32 */
    float *max, *sum;    /* [most] */
    float *together;     /* [ATTEND_KEYS,dim], of several pages, of their type */
    float *gemm;
} scratch;

typedef struct task {
    int64_t sequence, first, n;  /* queries, counted within the sequence */
    int64_t queries, keys;       /* of the whole sequence */
    int64_t row;                 /* of the sequence's first query */
    int64_t key_head, key_heads; /* the first, and how many */
} task;

static shape shape_of(const hpc_attention_args *a, int workers, const hpc_cpu_traits *cpu)
{
    const hpc_tensor *k = &a->k;
    shape s = {.rows = a->q.extent[0],
               .heads = a->q.extent[1],
               .key_heads = k->extent[k->rank - 2],
               .dim = a->q.extent[2],
               .cpu = cpu};

    s.group = s.heads / s.key_heads;
    s.queries = attend_queries(s.rows, s.key_heads, s.group, 1, workers);
    s.most = s.queries * s.group;
    s.type = attend_type(&a->q, k, &a->v);
    return s;
}

static size_t pad(size_t floats)
{
    return (floats + 15) & ~(size_t)15;
}

static size_t scratch_floats(const shape *s)
{
    size_t most = (size_t)s->most, dim = (size_t)s->dim;

    return GEMM_SCRATCH + 2 * pad(most * dim) + 2 * most * ATTEND_KEYS + 2 * pad(most) +
           dim * ATTEND_KEYS;
}

static scratch scratch_at(float *base, const shape *s)
{
    size_t most = (size_t)s->most, dim = (size_t)s->dim;
    scratch w = {.gemm = base};

    w.o = w.gemm + GEMM_SCRATCH;
    w.q = w.o + pad(most * dim);
    w.scores = w.o + 2 * pad(most * dim);
    w.weights = s->type == HPC_F32 ? w.scores : w.scores + most * ATTEND_KEYS;
    w.max = w.scores + 2 * most * ATTEND_KEYS;
    w.sum = w.max + pad(most);
    w.together = w.sum + pad(most);
    return w;
}

/* Where key j lies, as a row of [*,key_heads,dim], and how many follow it there before `end`. */
static int64_t key_run(int64_t *row, const hpc_attention_args *a, const task *t, int64_t j,
                       int64_t end)
{
    if (!a->pages.data) {
        *row = t->row + j;
        return end - j;
    }
    int64_t page = a->k.extent[1], within = j % page;
    const int32_t *table = (const int32_t *)a->pages.data + t->sequence * a->pages.extent[1];
    *row = table[j / page] * page + within;
    return least(page - within, end - j);
}

static int check_pages(const hpc_launch *l, const hpc_attention_args *a, const task *t)
{
    int64_t page = a->k.extent[1], most = a->pages.extent[1];
    const int32_t *table = (const int32_t *)a->pages.data + t->sequence * most;

    if (t->keys < 0 || t->keys > page * most)
        return hpc_kernel_fault(l, &(hpc_fault){.kind = HPC_FAULT_KEYS,
                                                .at.op = "attention",
                                                .number = {t->sequence, t->keys, page * most}});
    for (int64_t p = 0; p * page < t->keys; p++)
        if (table[p] < 0 || table[p] >= a->k.extent[0])
            return hpc_kernel_fault(
                l, &(hpc_fault){.kind = HPC_FAULT_PAGE,
                                .at.op = "attention",
                                .number = {p, t->sequence, table[p], a->k.extent[0]}});
    return 0;
}

/* ---- one task ------------------------------------------------------------------ */

/* Offset of row r of scores: ordered by query, then by head within the group. */
static int64_t element_of(const shape *s, const task *t, int64_t r)
{
    int64_t query = t->row + t->first + r / s->group;

    return (query * s->heads + t->key_head * s->group + r % s->group) * s->dim;
}

static attend_span visible(const hpc_attention_args *a, const shape *s, const task *t, int64_t r)
{
    int64_t position = t->keys - t->queries + t->first + r / s->group;

    return attend_visible(&a->attr, position, t->keys);
}

/* The first row that sees keys of the block at `first`: under a causal mask earlier ones do not. */
static int64_t row_from(const hpc_attention_args *a, const shape *s, const task *t, int64_t first)
{
    int64_t position = t->keys - t->queries + t->first;

    return a->attr.causal && first > position ? (first - position) * s->group : 0;
}

/* True if a task has so few rows from r0 on that none are packed. */
static bool few(const shape *s, const task *t, int64_t r0)
{
    return s->type == HPC_F32 && t->n * s->group - r0 <= ATTEND_FEW;
}

/* Keys or values of a block as one factor: where they lie, or, if that is in several pages, put
 * together: products with as few as a page holds take twice the time. */
static void block_rows(gemm *g, const hpc_tensor *x, const hpc_attention_args *a, const shape *s,
                       const task *t, int64_t first, int64_t keys, const scratch *w)
{
    int64_t row, width = s->key_heads * s->dim, run = key_run(&row, a, t, first, first + keys);
    size_t bytes = hpc_dtype_get((hpc_dtype)x->dtype)->block_bytes * (size_t)s->dim;
    char *to = (char *)w->together;

    g->b_type = (hpc_dtype)x->dtype;
    g->b_ld = width;
    g->b = element(x, row * width + t->key_head * s->dim);
    if (run == keys) return;
    g->b_ld = s->dim;
    g->b = to;
    for (int64_t j = 0; j < keys; j += run) {
        run = key_run(&row, a, t, first + j, first + keys);
        for (int64_t i = 0; i < run; i++, to += bytes)
            memcpy(to, element(x, (row + i) * width + t->key_head * s->dim), bytes);
    }
}

/* Scores of a block's keys for the rows from r0 on. */
static void score_block(const hpc_attention_args *a, const shape *s, const task *t, int64_t r0,
                        int64_t first, int64_t keys, const scratch *w)
{
    int64_t rows = t->n * s->group - r0;
    gemm g = {.cpu = s->cpu,
              .a = gemm_element(w->q, s->type, r0 * s->dim),
              .a_ld = s->dim,
              .k = s->dim,
              .a_type = s->type,
              .b_trans = true};

    block_rows(&g, &a->k, a, s, t, first, keys, w);
    HPC_ISA(cpu_gemm)
    (w->scores + r0 * ATTEND_KEYS, ATTEND_KEYS, &g, (gemm_block){0, rows, 0, keys}, false, w->gemm);
}

static void add_values(const hpc_attention_args *a, const shape *s, const task *t, int64_t r0,
                       int64_t first, int64_t keys, const scratch *w)
{
    int64_t rows = t->n * s->group - r0;
    gemm g = {.cpu = s->cpu,
              .a = gemm_element(w->weights, s->type, r0 * ATTEND_KEYS),
              .a_ld = ATTEND_KEYS,
              .k = keys,
              .a_type = s->type};

    block_rows(&g, &a->v, a, s, t, first, keys, w);
    HPC_ISA(cpu_gemm)
    (w->o + r0 * s->dim, s->dim, &g, (gemm_block){0, rows, 0, s->dim}, true, w->gemm);
}

enum { PARTS = 16 }; /* of a row's maximum and sum: part of the bits */

#if defined(__AVX2__)

/* As below: of two of which one is a NaN the second comes out. */
static inline float largest(const float *x)
{
    __m256 most[2] = {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)};

    for (int j = PARTS; j < ATTEND_KEYS; j += PARTS)
        for (int h = 0; h < 2; h++)
            most[h] = _mm256_max_ps(_mm256_loadu_ps(x + j + 8 * h), most[h]);
    most[0] = _mm256_max_ps(most[1], most[0]);
    __m128 m = _mm_max_ps(_mm256_extractf128_ps(most[0], 1), _mm256_castps256_ps128(most[0]));
    m = _mm_max_ps(_mm_movehl_ps(m, m), m);
    return _mm_cvtss_f32(_mm_max_ss(_mm_movehdup_ps(m), m));
}

#else

static inline float largest(const float *x)
{
    float most[PARTS];

    for (int k = 0; k < PARTS; k++) most[k] = x[k];
    for (int j = PARTS; j < ATTEND_KEYS; j += PARTS)
        for (int k = 0; k < PARTS; k++) most[k] = x[j + k] > most[k] ? x[j + k] : most[k];
    for (int k = 0; k < 8; k++) most[k] = most[k + 8] > most[k] ? most[k + 8] : most[k];
    for (int k = 0; k < 4; k++) most[k] = most[k + 4] > most[k] ? most[k + 4] : most[k];
    for (int k = 0; k < 2; k++) most[k] = most[k + 2] > most[k] ? most[k + 2] : most[k];
    return most[1] > most[0] ? most[1] : most[0];
}

#endif

#if defined(__AVX2__)

/* As below. */
static inline float added(const float *x)
{
    __m256 all = _mm256_add_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

#else

static inline float added(float *x)
{
    for (int k = 0; k < 8; k++) x[k] += x[k + 8];
    for (int k = 0; k < 4; k++) x[k] += x[k + 4];
    for (int k = 0; k < 2; k++) x[k] += x[k + 2];
    return x[0] + x[1];
}

#endif

/* x becomes e to x - shift; their sum. */
static inline float exponentiate(float *x, float shift)
{
    float sum[PARTS] = {0};

    for (int j = 0; j < ATTEND_KEYS; j += PARTS)
        for (int k = 0; k < PARTS; k++) {
            x[j + k] = vec_exp_down(x[j + k] - shift);
            sum[k] += x[j + k];
        }
    return added(sum);
}

/* Scores of a row, of which it sees those `in`; the largest. */
static float scale_row(float *x, attend_span in, float scale, float cap)
{
    float by = cap > 0 ? scale / cap : scale;
    for (int64_t j = 0; j < ATTEND_KEYS; j++) x[j] *= by;
    for (int64_t j = 0; cap > 0 && j < ATTEND_KEYS; j++) x[j] = cap * vec_tanh(x[j]);
    for (int64_t j = 0; j < in.lo; j++) x[j] = -INFINITY;
    for (int64_t j = in.hi; j < ATTEND_KEYS; j++) x[j] = -INFINITY;
    return largest(x);
}

/* Turns a row's scores into weights relative to the running maximum, `here` being the row's largest
 * score. Sums accumulated under an older maximum are scaled down. A NaN propagates into the sum,
 * whatever the maximum does with it. */
static void soften_row(float *x, float here, float *max, float *sum, float *o, int64_t dim)
{
    float most = here <= *max ? *max : here;
    float shift = most == -INFINITY ? 0 : most; /* all scores -inf: weights of 0, not NaN */
    float all = exponentiate(x, shift), shrink = vec_exp_down(*max - shift);
    *sum = *sum * shrink + all;
    *max = most;
    if (shrink == 1) return;
    for (int64_t d = 0; d < dim; d++) o[d] *= shrink;
}

/* Prefetches a row of keys or values: rows are too far apart for the hardware prefetcher. */
static inline void fetch_row(const hpc_attention_args *a, const shape *s, const task *t,
                             const hpc_tensor *x, int64_t key)
{
    int64_t row, bytes = (int64_t)hpc_dtype_get((hpc_dtype)x->dtype)->block_bytes * s->dim;

    if (key >= t->keys) return;
    key_run(&row, a, t, key, t->keys);
    const char *at = element(x, (row * s->key_heads + t->key_head) * s->dim);
    for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(at + b);
}

enum { BESIDE = 4 }; /* rows whose maxima are found at once: none waits for its own */

static void soften(const hpc_attention_args *a, const shape *s, const task *t, int64_t r0,
                   int64_t first, int64_t keys, const scratch *w)
{
    int64_t from = r0;
    int64_t end = t->n * s->group, n;

    for (; r0 < end; r0 += n) {
        float largest_of[BESIDE] = {0};
        bool sees[BESIDE] = {0};
        n = least(BESIDE, end - r0);
        for (int64_t i = 0; i < n; i++) {
            float *x = w->scores + (r0 + i) * ATTEND_KEYS;
            attend_span in = attend_within(visible(a, s, t, r0 + i), first, keys);
            int64_t ahead = r0 + i - from;
            if (ahead < ATTEND_KEYS && !few(s, t, from))
            { /* a value of this block, a key of the next */
                fetch_row(a, s, t, &a->v, first + ahead);
                fetch_row(a, s, t, &a->k, first + ATTEND_KEYS + ahead);
            }
            sees[i] = in.lo < in.hi;
            if (sees[i])
                largest_of[i] = scale_row(x, in, (float)a->attr.scale, (float)a->attr.cap);
            else
                memset(x, 0, ATTEND_KEYS * sizeof *x);
        }
        for (int64_t r = r0; r < r0 + n; r++) {
            float *x = w->scores + r * ATTEND_KEYS;
            if (sees[r - r0])
                soften_row(x, largest_of[r - r0], w->max + r, w->sum + r, w->o + r * s->dim,
                           s->dim);
            attend_put(gemm_element(w->weights, s->type, r * ATTEND_KEYS), s->type, x, ATTEND_KEYS);
        }
    }
}

static void finish(const hpc_attention_args *a, const shape *s, const task *t, const scratch *w)
{
    for (int64_t r = 0; r < t->n * s->group; r++) {
        float *o = w->o + r * s->dim, sum = w->sum[r];
        int64_t at = element_of(s, t, r);
        float by = sum == 0 ? 0 : 1 / sum;
        for (int64_t d = 0; d < s->dim; d++) o[d] *= by;
        store(&a->o, at, o, s->dim);
        ((float *)a->lse.data)[at / s->dim] = sum == 0 ? -INFINITY : w->max[r] + logf(sum);
    }
}

static void begin(const hpc_attention_args *a, const shape *s, const task *t, const scratch *w)
{
    int64_t rows = t->n * s->group;

    for (int64_t r = 0; r < rows; r++) {
        int64_t at = element_of(s, t, r);
        void *q = gemm_element(w->q, s->type, r * s->dim);
        if (s->type == HPC_F32)
            attend_put(q, HPC_F32, load(q, &a->q, at, s->dim), s->dim);
        else
            memcpy(q, element(&a->q, at), (size_t)s->dim * sizeof(uint16_t));
        w->max[r] = -INFINITY;
        w->sum[r] = 0;
    }
    memset(w->o, 0, (size_t)(rows * s->dim) * sizeof *w->o);
}

/* The part of w for the k-th of a task's key heads. */
static scratch of_head(const scratch *w, const shape *s, const task *t, int64_t k)
{
    scratch part = *w;
    int64_t row = k * t->n * s->group;

    part.q = gemm_element(w->q, s->type, row * s->dim);
    part.o += row * s->dim;
    part.scores += row * ATTEND_KEYS;
    part.weights = gemm_element(w->weights, s->type, row * ATTEND_KEYS);
    part.max += row;
    part.sum += row;
    return part;
}

/* Where a block's keys lie, in elements; how many there are. */
static int64_t block_keys(int64_t row[ATTEND_KEYS], const hpc_attention_args *a, const shape *s,
                          const task *t, int64_t first)
{
    int64_t keys = least(ATTEND_KEYS, t->keys - first), at;

    for (int64_t j = 0, run; j < keys; j += run) {
        run = key_run(&at, a, t, first + j, first + keys);
        for (int64_t i = 0; i < run; i++) row[j + i] = (at + i) * s->key_heads * s->dim;
    }
    return keys > 0 ? keys : 0;
}

static attend_cache cache_of(const hpc_tensor *x, const shape *s, const task *t, const int64_t *row)
{
    return (attend_cache){element(x, t->key_head * s->dim), row, (hpc_dtype)x->dtype};
}

static attend_ahead ahead_of(const hpc_tensor *x, const shape *s, const task *t, const int64_t *row,
                             int64_t keys)
{
    int64_t size = (int64_t)hpc_dtype_get((hpc_dtype)x->dtype)->block_bytes;

    return (attend_ahead){cache_of(x, s, t, row), keys, t->key_heads, size, size * s->dim, 0, 0};
}

/* A block of keys for all heads of few rows each: they are done with it sooner than memory gives
 * the next one, which is asked for all the while. next: where that lies. */
static void few_rows(const hpc_attention_args *a, const shape *s, const task *t, int64_t r0,
                     int64_t first, const int64_t *row, const int64_t *next, const scratch *w)
{
    int64_t keys = least(ATTEND_KEYS, t->keys - first), rows = t->n * s->group - r0;
    int64_t after = t->keys - first - keys, later = after > 0 ? least(ATTEND_KEYS, after) : 0;
    attend_ahead k = ahead_of(&a->k, s, t, next, later), v = ahead_of(&a->v, s, t, next, later);
    task one = *t;

    for (int64_t h = 0; h < t->key_heads; h++, one.key_head++) {
        scratch mine = of_head(w, s, t, h);
        const float *q = (const float *)mine.q + r0 * s->dim;
        HPC_WIDTH(cpu_attend_scores)
        (mine.scores + r0 * ATTEND_KEYS, q, rows, s->dim, cache_of(&a->k, s, &one, row), keys, &k);
        soften(a, s, &one, r0, first, keys, &mine);
        const float *by = (const float *)mine.weights + r0 * ATTEND_KEYS;
        HPC_WIDTH(cpu_attend_values)
        (mine.o + r0 * s->dim, s->dim, by, rows, cache_of(&a->v, s, &one, row), keys, &v);
    }
    attend_fetch(&k, later * t->key_heads); /* the remainder */
    attend_fetch(&v, later * t->key_heads);
}

/* Prefetches the whole first block, which no earlier block has prefetched. */
static void ask_for_block(const hpc_attention_args *a, const shape *s, const task *t,
                          const int64_t *row, int64_t keys)
{
    attend_ahead k = ahead_of(&a->k, s, t, row, keys), v = ahead_of(&a->v, s, t, row, keys);

    attend_fetch(&k, keys * t->key_heads);
    attend_fetch(&v, keys * t->key_heads);
}

static void many_rows(const hpc_attention_args *a, const shape *s, const task *t, int64_t r0,
                      int64_t first, const scratch *w)
{
    int64_t keys = least(ATTEND_KEYS, t->keys - first);
    task one = *t;

    for (int64_t h = 0; h < t->key_heads; h++, one.key_head++) {
        scratch mine = of_head(w, s, t, h);
        score_block(a, s, &one, r0, first, keys, &mine);
        soften(a, s, &one, r0, first, keys, &mine);
        add_values(a, s, &one, r0, first, keys, &mine);
    }
}

/* Blocks of keys, and of each the heads: neighbours in memory are read one after the other. */
static void run_task(const hpc_attention_args *a, const shape *s, const task *t, const scratch *w)
{
    attend_span top = visible(a, s, t, 0), bottom = visible(a, s, t, t->n * s->group - 1);
    int64_t rows[2][ATTEND_KEYS], begun = top.lo / ATTEND_KEYS * ATTEND_KEYS;
    task one = *t;

    for (int64_t k = 0; k < t->key_heads; k++, one.key_head++) {
        scratch mine = of_head(w, s, t, k);
        begin(a, s, &one, &mine);
    }
    for (int64_t first = begun; first < bottom.hi; first += ATTEND_KEYS) {
        int64_t r0 = row_from(a, s, t, first), turn = first / ATTEND_KEYS % 2;
        if (!few(s, t, r0)) {
            many_rows(a, s, t, r0, first, w);
            continue;
        }
        int64_t keys = block_keys(rows[turn], a, s, t, first);
        if (first == begun) ask_for_block(a, s, t, rows[turn], keys);
        block_keys(rows[!turn], a, s, t, first + ATTEND_KEYS);
        few_rows(a, s, t, r0, first, rows[turn], rows[!turn], w);
    }
    one.key_head = t->key_head;
    for (int64_t k = 0; k < t->key_heads; k++, one.key_head++) {
        scratch mine = of_head(w, s, t, k);
        finish(a, s, &one, &mine);
    }
}

/* ---- all tasks, dealt out in turn: under a causal mask, later ones are longer ------ */

/* Key heads in a task: several where each has few rows, but of every sequence some for everyone. */
static int64_t heads_at_once(const shape *s, int64_t queries, int workers)
{
    int64_t rows = queries * s->group;

    return rows > ATTEND_FEW ? 1 : least(gemm_parts(s->key_heads, workers), s->most / rows);
}

static int run(const hpc_launch *l, const void *args)
{
    const hpc_attention_args *a = args;
    shape s = shape_of(a, l->workers, l->cpu.traits);
    scratch w = scratch_at(l->cpu.worker, &s);
    int64_t sequences = hpc_tensor_live(&a->start, 0) - 1, turn = 0;
    const int32_t *start = a->start.data;
    int rc = attend_check_start(l, &a->start, sequences, s.rows, "attention");

    for (int64_t i = 0; i < sequences && rc == 0; i++) {
        int64_t queries = start[i + 1] - start[i];
        task t = {.sequence = i, .queries = queries, .keys = queries, .row = start[i]};
        if (a->pages.data) {
            t.keys = ((const int32_t *)a->len.data)[i];
            rc = check_pages(l, a, &t);
        }
        for (t.first = 0; t.first < queries && rc == 0; t.first += s.queries) {
            t.n = least(s.queries, queries - t.first);
            int64_t heads = heads_at_once(&s, t.n, l->workers);
            for (t.key_head = 0; t.key_head < s.key_heads; t.key_head += heads, turn++) {
                t.key_heads = least(heads, s.key_heads - t.key_head);
                if (turn % l->workers == l->worker) run_task(a, &s, &t, &w);
            }
        }
    }
    return rc;
}

int HPC_ISA(cpu_attention)(hpc_plan *p, int workers, const hpc_attention_args *a)
{
    const operand_check check[] = {{"o", &a->o, TAKES_REAL},
                                   {"lse", &a->lse, TAKES_F32},
                                   {"q", &a->q, TAKES_REAL},
                                   {"k", &a->k, TAKES_REAL},
                                   {"v", &a->v, TAKES_REAL},
                                   {"start", &a->start, TAKES_I32},
                                   {"len", &a->len, TAKES_I32},
                                   {"pages", &a->pages, TAKES_I32},
                                   {0}};

    if ((a->pages.rank >= 0) != (a->len.rank >= 0))
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "attention_" HPC_ISA_TEXT " takes len and pages together, or neither");
    shape s = shape_of(a, workers, p->cpu.traits);
    return accept(p,
                  (hpc_plan){.run = run,
                             .cpu.worker_bytes = scratch_floats(&s) * sizeof(float),
                             .name = "attention_" HPC_ISA_TEXT},
                  check);
}
