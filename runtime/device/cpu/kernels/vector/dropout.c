/*
 * dropout.c: random dropout by global index, so that recomputation of an element in any partition
 * drops the same ones.
 */
#include "runtime/base/philox.h"
#include "runtime/device/cpu/kernels/priv.h"

typedef struct draw {
    uint64_t seed;
    uint32_t tensor, step;
    int64_t row0, col0, global_cols, cols;
    uint32_t share; /* of 65,536 numbers those that drop */
    float factor;
} draw;

static draw draw_of(const hpc_dropout_args *a)
{
    const hpc_dropout_attr *t = &a->attr;
    uint32_t share = hpc_random_share(t->p);
    int64_t cols = hpc_tensor_cols(&a->x);
    draw d = {.seed = (uint64_t)t->seed,
              .tensor = (uint32_t)t->tensor,
              .step = a->step.data ? *(const uint32_t *)a->step.data : 0,
              .row0 = t->row0 + (a->base.data ? *(const int64_t *)a->base.data : 0),
              .col0 = t->col0,
              .global_cols = t->global_cols > 0 ? t->global_cols : cols,
              .cols = cols,
              .share = share,
              .factor = (float)(65536.0 / (65536 - share))};

    if ((int32_t)d.step < 0) d.share = 0, d.factor = 1;
    return d;
}

/* Random numbers of elements at .. at+n-1: one run if rows are also adjacent in the global
 * index. */
static void draw_chunk(uint16_t *out, const draw *d, int64_t at, int64_t n)
{
    for (int64_t done = 0, part; done < n; done += part) {
        int64_t r = (at + done) / d->cols, c = (at + done) % d->cols;
        uint64_t first = (uint64_t)((d->row0 + r) * d->global_cols + d->col0 + c);
        part = d->global_cols == d->cols ? n - done : least(n - done, d->cols - c);
        const philox_stream stream = {d->seed, d->tensor, d->step};
        philox_fill(out + done, part, sizeof *out, &stream, first, philox_words);
    }
}

static int dropout_run(const hpc_launch *l, const void *args)
{
    const hpc_dropout_args *a = args;
    float x_buffer[CHUNK], y_buffer[CHUNK];
    uint16_t half[CHUNK];
    draw d = draw_of(a);
    int64_t lo, hi;

    share_rows(&lo, &hi, &a->x, l);
    for (stretch s; (s = chunk_from(&a->x, lo, hi)).n > 0; lo = s.at + s.n) {
        const float *x = load(x_buffer, &a->x, s.at, s.n);
        float *y = place(y_buffer, &a->y, s.at);
        draw_chunk(half, &d, s.at, s.n);
#pragma omp simd
        for (int64_t i = 0; i < s.n; i++) {
            float kept = x[i] * d.factor;
            y[i] = half[i] >= d.share ? kept : 0;
        }
        put(&a->y, s.at, y, s.n);
    }
    return 0;
}

int HPC_WIDTH(cpu_dropout)(hpc_plan *p, int workers, const hpc_dropout_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = dropout_run, .name = "dropout_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"x", &a->x, TAKES_REAL},
                                          {"step", &a->step, TAKES_I32},
                                          {"base", &a->base, TAKES_I64},
                                          {0}});
}
