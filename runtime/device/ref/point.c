/*
 * point.c: element-wise ops: activations and gates, dropout, binary ops, scaling, copies and fills.
 */
#include "runtime/device/ref/priv.h"

static const double root_2_by_pi = 0.79788456080286535588, gelu_cubic = 0.044715;

double hpc_ref_act(int act, double x)
{
    switch ((hpc_act)act) {
    case HPC_GELU_TANH: return 0.5 * x * (1 + tanh(root_2_by_pi * (x + gelu_cubic * x * x * x)));
    case HPC_GELU_ERF: return 0.5 * x * (1 + erf(x * M_SQRT1_2));
    case HPC_SILU: return x / (1 + exp(-x));
    case HPC_RELU: return x > 0 ? x : 0;
    case HPC_RELU2: return x > 0 ? x * x : 0;
    case HPC_TANH: return tanh(x);
    default: return x;
    }
}

double hpc_ref_act_slope(int act, double x)
{
    double t, s;
    switch ((hpc_act)act) {
    case HPC_GELU_TANH:
        t = tanh(root_2_by_pi * (x + gelu_cubic * x * x * x));
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root_2_by_pi * (1 + 3 * gelu_cubic * x * x);
    case HPC_GELU_ERF: /* the normal distribution, and x times its density */
        return 0.5 * (1 + erf(x * M_SQRT1_2)) + x * exp(-0.5 * x * x) * root_2_by_pi * 0.5;
    case HPC_SILU: s = 1 / (1 + exp(-x)); return s * (1 + x * (1 - s));
    case HPC_RELU: return x > 0 ? 1 : 0;
    case HPC_RELU2: return x > 0 ? 2 * x : 0;
    case HPC_TANH: return 1 / (cosh(x) * cosh(x));
    default: return 1;
    }
}

/* Calls `one` for each live element of `over` that this worker owns. */
static void each(const hpc_launch *l, const hpc_tensor *over, const void *args,
                 void (*one)(const void *args, int64_t row, int64_t col, int64_t i))
{
    int64_t cols = hpc_tensor_cols(over), lo, hi;
    share_rows(&lo, &hi, over, l);
    for (int64_t r = lo; r < hi; r++) {
        int64_t n = hpc_ref_live_cols(over, r);
        for (int64_t c = 0; c < n; c++) one(args, r, c, r * cols + c);
    }
}

/* ---- activations ------------------------------------------------------------- */

static void act_one(const void *args, int64_t r, int64_t c, int64_t i)
{
    const hpc_act_args *g = args;
    (void)r, (void)c;
    hpc_ref_set(&g->y, i, hpc_ref_act(g->attr.act, hpc_ref_get(&g->x, i)));
}

static int act_run(const hpc_launch *l, const void *args)
{
    each(l, &((const hpc_act_args *)args)->y, args, act_one);
    return 0;
}

int hpc_ref_activate(hpc_plan *p, int workers, const hpc_act_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, act_run, "ref_act");
}

static void act_grad_one(const void *args, int64_t r, int64_t c, int64_t i)
{
    const hpc_act_grad_args *g = args;
    (void)r, (void)c;
    double slope = hpc_ref_act_slope(g->attr.act, hpc_ref_get(&g->x, i));
    hpc_ref_set(&g->dx, i, hpc_ref_get(&g->dy, i) * slope);
}

static int act_grad_run(const hpc_launch *l, const void *args)
{
    each(l, &((const hpc_act_grad_args *)args)->dx, args, act_grad_one);
    return 0;
}

int hpc_ref_activate_grad(hpc_plan *p, int workers, const hpc_act_grad_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, act_grad_run, "ref_act_grad");
}

static void glu_one(const void *args, int64_t r, int64_t c, int64_t i)
{
    const hpc_glu_args *g = args;
    (void)r, (void)c;
    double gate = hpc_ref_act(g->attr.act, hpc_ref_get(&g->gate, i));
    hpc_ref_set(&g->y, i, gate * hpc_ref_get(&g->up, i));
}

static int glu_run(const hpc_launch *l, const void *args)
{
    each(l, &((const hpc_glu_args *)args)->y, args, glu_one);
    return 0;
}

int hpc_ref_glu(hpc_plan *p, int workers, const hpc_glu_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, glu_run, "ref_glu");
}

static void glu_grad_one(const void *args, int64_t r, int64_t c, int64_t i)
{
    const hpc_glu_grad_args *g = args;
    (void)r, (void)c;
    double gate = hpc_ref_get(&g->gate, i), up = hpc_ref_get(&g->up, i);
    double dy = hpc_ref_get(&g->dy, i);
    hpc_ref_set(&g->dgate, i, dy * up * hpc_ref_act_slope(g->attr.act, gate));
    hpc_ref_set(&g->dup, i, dy * hpc_ref_act(g->attr.act, gate));
}

static int glu_grad_run(const hpc_launch *l, const void *args)
{
    each(l, &((const hpc_glu_grad_args *)args)->dgate, args, glu_grad_one);
    return 0;
}

int hpc_ref_glu_grad(hpc_plan *p, int workers, const hpc_glu_grad_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, glu_grad_run, "ref_glu_grad");
}

/* ---- dropout ------------------------------------------------------------------- */

static void dropout_one(const void *args, int64_t r, int64_t c, int64_t i)
{
    const hpc_dropout_args *g = args;
    const hpc_dropout_attr *t = &g->attr;
    int64_t base = present(&g->base) ? hpc_ref_index(&g->base, 0) : 0;
    int64_t step = present(&g->step) ? hpc_ref_index(&g->step, 0) : 0;
    int64_t cols = t->global_cols > 0 ? t->global_cols : hpc_tensor_cols(&g->x);
    uint64_t at = (uint64_t)((base + t->row0 + r) * cols + t->col0 + c);
    uint32_t half = hpc_random_half((uint64_t)t->seed, (uint32_t)t->tensor, (uint32_t)step, at);
    uint32_t share = hpc_random_share(t->p);
    double x = hpc_ref_get(&g->x, i), kept = half >= share ? x * 65536 / (65536 - share) : 0;
    hpc_ref_set(&g->y, i, step < 0 ? x : kept);
}

static int dropout_run(const hpc_launch *l, const void *args)
{
    each(l, &((const hpc_dropout_args *)args)->y, args, dropout_one);
    return 0;
}

int hpc_ref_dropout(hpc_plan *p, int workers, const hpc_dropout_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, dropout_run, "ref_dropout");
}

/* ---- sums, products, scaling ----------------------------------------------------- */

static int64_t broadcast(const hpc_tensor *b, const hpc_tensor *a, int64_t r, int64_t c, int64_t i)
{
    int64_t n = hpc_tensor_n(b);
    if (n == hpc_tensor_n(a)) return i;
    if (n == 1) return 0;
    return b->rank >= 2 && hpc_tensor_cols(b) == 1 ? r : c;
}

static void binary_one(const void *args, int64_t r, int64_t c, int64_t i)
{
    const hpc_binary_args *g = args;
    double a = hpc_ref_get(&g->a, i), b = hpc_ref_get(&g->b, broadcast(&g->b, &g->a, r, c, i));
    hpc_binary_kind kind = (hpc_binary_kind)g->attr.kind;
    hpc_ref_set(&g->y, i, kind == HPC_ADD ? a + b : kind == HPC_SUB ? a - b : a * b);
}

static int binary_run(const hpc_launch *l, const void *args)
{
    each(l, &((const hpc_binary_args *)args)->y, args, binary_one);
    return 0;
}

int hpc_ref_binary(hpc_plan *p, int workers, const hpc_binary_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, binary_run, "ref_binary");
}

static void scale_one(const void *args, int64_t r, int64_t c, int64_t i)
{
    const hpc_scale_args *g = args;
    (void)r, (void)c;
    double by = present(&g->by) ? hpc_ref_get(&g->by, 0) : 1;
    hpc_ref_put(&g->y, i, g->attr.alpha * by * hpc_ref_get(&g->x, i));
}

static int scale_run(const hpc_launch *l, const void *args)
{
    each(l, &((const hpc_scale_args *)args)->y, args, scale_one);
    return 0;
}

int hpc_ref_scale(hpc_plan *p, int workers, const hpc_scale_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, scale_run, "ref_scale");
}

/* ---- copies and fills -------------------------------------------------------------- */

static int copy_run(const hpc_launch *l, const void *args)
{
    const hpc_copy_args *g = args;
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)g->x.dtype);
    int64_t cols = hpc_tensor_cols(&g->x), lo, hi;
    size_t bytes = (size_t)(cols / info->block) * info->block_bytes;
    double chunk[REF_CHUNK];
    share_rows(&lo, &hi, &g->x, l);
    for (int64_t r = lo; r < hi; r++) {
        int64_t n = hpc_ref_live_cols(&g->x, r);
        if (n > 0 && g->x.dtype == g->y.dtype)
        { /* bits, NaN payloads and large integers included */
            size_t at = (size_t)r * bytes;
            memcpy((char *)g->y.data + at, (const char *)g->x.data + at, bytes);
            continue;
        }
        for (int64_t c = 0; c < n; c += REF_CHUNK) {
            int64_t now = least(REF_CHUNK, n - c);
            hpc_ref_load(chunk, &g->x, r * cols + c, 1, now);
            for (int64_t e = 0; e < now; e++) hpc_ref_set(&g->y, r * cols + c + e, chunk[e]);
        }
    }
    return 0;
}

int hpc_ref_copy(hpc_plan *p, int workers, const hpc_copy_args *a)
{
    (void)workers;
    if (a->x.dtype != a->y.dtype && hpc_dtype_get((hpc_dtype)a->y.dtype)->quantised) {
        char text[96];
        return hpc_fail(HPC_E_UNSUPPORTED, "copy: cannot quantise to %s; do so on the host",
                        hpc_tensor_text(text, &a->y));
    }
    return ref_plan(p, copy_run, "ref_copy");
}

static void fill_one(const void *args, int64_t r, int64_t c, int64_t i)
{
    const hpc_fill_args *g = args;
    (void)r, (void)c;
    hpc_ref_set(&g->y, i, g->attr.value);
}

static int fill_run(const hpc_launch *l, const void *args)
{
    each(l, &((const hpc_fill_args *)args)->y, args, fill_one);
    return 0;
}

int hpc_ref_fill(hpc_plan *p, int workers, const hpc_fill_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, fill_run, "ref_fill");
}
