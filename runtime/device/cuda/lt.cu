/*
 * lt.cu: products by cuBLASLt (lt.cuh). Its matrices are stored by columns, so that y = a b is
 * computed as y^T = b^T a^T: its operand A is our b, its B our a, and its m our n.
 */
#include <new>
#include <stdio.h>
#include <string.h>
#include <vector>

#include "runtime/device/cuda/act.cuh"
#include "runtime/device/cuda/lt.cuh"
#include "runtime/device/cuda/tensor.cuh"

namespace {

enum { ALIGN = 16 }; /* of operands, in bytes */

/* A product as cuBLASLt is asked for it. `shape` is all that the choice of an algorithm sees. */
struct product {
    int64_t m, n, k, batch;
    int type, out; /* of operands; of y */
    bool trans_a, trans_b;
    int64_t a_stride, b_stride, bias_stride;
    const void *a, *b, *c, *bias; /* c: added; NULL: nothing */
    void *y;
    float alpha;
    bool has_bias, adds;
};

struct chosen {
    hpc_cuda_choice as;
    bool taken;    /* false: no algorithm takes it */
    bool recorded; /* or new: opening a program has to choose, or to check it */
};

struct descriptors {
    void *desc, *a, *b, *y;
};

} // namespace

struct hpc_lt {
    const hpc_lt_api *api;
    void *handle, *stream, *workspace;
    std::vector<chosen> all; /* a program has a few dozens of shapes */
};

namespace {

int failed(const hpc_lt *lt, char *why, const char *what, int status)
{
    snprintf(why, HPC_CUDA_TEXT, "cuBLASLt: %s: %s", what, lt->api->status_text(status));
    return 1;
}

/* ---- which products it takes -------------------------------------------------------------- */

int type_of(int dtype)
{
    switch (dtype) {
    case HPC_F32: return LT_F32;
    case HPC_BF16: return LT_BF16;
    case HPC_I8: return LT_I8;
    case HPC_I32: return LT_I32;
    default: return -1;
    }
}

bool is_plain(const hpc_tensor &t)
{
    return t.ragged < 0 && t.pack == HPC_PLAIN;
}

bool takes_types(const hpc_matmul_args &g, int out)
{
    if (g.a.dtype != g.b.dtype) return false;
    switch (g.a.dtype) {
    case HPC_F32: return out == HPC_F32 && !g.attr.halves;
    case HPC_BF16: return out == HPC_F32 || out == HPC_BF16;
    case HPC_I8: return out == HPC_I32;
    default: return false;
    }
}

/* An activation, or a value before it: our kernel finishes what the product stored, in f32, because
 * rounding before an activation would exceed the bound of a product. */
bool is_finished(const hpc_matmul_args &g)
{
    return g.attr.act != HPC_ACT_NONE || present(g.pre);
}

/* Integer products: rows of both operands along k, in units of four bytes, and no epilogue. */
bool takes_bytes(const hpc_matmul_args &g, const product &p)
{
    return !p.trans_a && p.trans_b && p.n % 4 == 0 && p.k % 4 == 0 && p.batch == 1 && !p.has_bias &&
           !is_finished(g);
}

/* Where the product is stored, and what is added to it. */
bool find_output(product &p, const hpc_matmul_args &g)
{
    const bool finished = is_finished(g), pre = present(g.pre);
    const hpc_tensor &out = pre ? g.pre : g.y;
    if (finished && ((!pre && g.y.adds) || out.dtype != HPC_F32)) return false;
    if (!finished && g.y.adds && present(g.residual)) return false;
    if (!finished && present(g.residual) && g.residual.dtype != g.y.dtype) return false;
    if (present(g.bias) && g.bias.dtype != out.dtype) return false;
    p.out = type_of(out.dtype);
    p.y = out.data;
    p.has_bias = present(g.bias);
    p.bias = g.bias.data;
    p.adds = !finished && (g.y.adds || present(g.residual));
    p.c = !p.adds ? nullptr : present(g.residual) ? g.residual.data : g.y.data;
    return takes_types(g, out.dtype);
}

bool is_aligned(const void *p, int64_t stride_bytes)
{
    return (uintptr_t)p % ALIGN == 0 && stride_bytes % ALIGN == 0;
}

bool all_aligned(const product &p)
{
    const int64_t in = p.type == LT_F32 ? 4 : p.type == LT_BF16 ? 2 : 1;
    const int64_t out = p.out == LT_BF16 ? 2 : 4, y_stride = p.batch > 1 ? p.m * p.n : 0;
    return is_aligned(p.a, p.a_stride * in) && is_aligned(p.b, p.b_stride * in) &&
           is_aligned(p.y, y_stride * out) && is_aligned(p.c, 0) &&
           is_aligned(p.bias, p.bias_stride * out);
}

/* The product of g; false: not by cuBLASLt. */
bool product_of(product &p, const hpc_matmul_args &g, bool per_shape)
{
    const hpc_tensor &a = g.a, &b = g.b, &y = g.y;
    p = product();
    if (g.attr.symmetric || g.attr.int8 || !is_plain(a) || !is_plain(b) || y.ragged >= 0)
        return false;
    p.trans_a = g.attr.trans_a;
    p.trans_b = g.attr.trans_b;
    p.alpha = (float)g.attr.alpha;
    p.batch = y.rank == 3 ? y.extent[0] : 1;
    p.m = y.extent[y.rank - 2];
    p.n = y.extent[y.rank - 1];
    p.k = a.extent[a.rank - (p.trans_a ? 2 : 1)];
    p.type = type_of(a.dtype);
    p.a = a.data;
    p.b = b.data;
    if (p.m <= 0 || p.n <= 0 || p.k <= 0 || p.batch <= 0) return false;
    if (!find_output(p, g)) return false;
    p.a_stride = a.rank == 3 ? p.m * p.k : 0;
    p.b_stride = b.rank == 3 ? p.n * p.k : 0;
    p.bias_stride = p.has_bias && g.bias.rank == 2 ? p.n : 0;
    if (p.batch > 1 && !p.trans_a && p.b_stride == 0 && p.bias_stride == 0) { /* one matrix */
        p.m *= p.batch;
        p.a_stride = 0;
        p.batch = 1;
    }
    if (p.type == LT_I8 && !takes_bytes(g, p)) return false;
    return per_shape || !p.trans_a; /* the pitch of a transposed a is m */
}

void shape_of(int64_t shape[HPC_CUDA_SHAPE], const product &p, bool per_shape)
{
    const int64_t form = (p.trans_a ? 1 : 0) | (p.trans_b ? 2 : 0) | (p.has_bias ? 4 : 0) |
                         (p.adds ? 8 : 0) | (p.a_stride ? 16 : 0) | (p.b_stride ? 32 : 0) |
                         (p.bias_stride ? 64 : 0);
    const int64_t all[HPC_CUDA_SHAPE] = {
        per_shape ? p.m : 0, p.n, p.k, per_shape ? p.batch : 0, p.type, p.out, form,
        per_shape ? 1 : 0};
    memcpy(shape, all, sizeof all);
}

/* ---- descriptors -------------------------------------------------------------------------- */

void free_descriptors(const hpc_lt *lt, descriptors &d)
{
    if (d.desc) lt->api->desc_free(d.desc);
    if (d.a) lt->api->layout_free(d.a);
    if (d.b) lt->api->layout_free(d.b);
    if (d.y) lt->api->layout_free(d.y);
    d = descriptors();
}

int make_layout(const hpc_lt *lt, void **out, int type, int64_t rows, int64_t cols, int64_t batch,
                int64_t stride)
{
    const int32_t batches = (int32_t)batch;
    int rc = lt->api->layout_create(out, type, (uint64_t)rows, (uint64_t)cols, rows);
    if (rc != LT_OK || batch == 1) return rc;
    rc = lt->api->layout_set(*out, LT_LAYOUT_BATCHES, &batches, sizeof batches);
    if (rc != LT_OK) return rc;
    return lt->api->layout_set(*out, LT_LAYOUT_STRIDE, &stride, sizeof stride);
}

int set_bias(const hpc_lt *lt, void *desc, const product &p)
{
    const int32_t type = p.out;
    int rc = lt->api->desc_set(desc, LT_DESC_BIAS, &p.bias, sizeof p.bias);
    if (rc == LT_OK) rc = lt->api->desc_set(desc, LT_DESC_BIAS_TYPE, &type, sizeof type);
    if (rc != LT_OK || p.bias_stride == 0) return rc;
    return lt->api->desc_set(desc, LT_DESC_BIAS_STRIDE, &p.bias_stride, sizeof p.bias_stride);
}

int make_descriptors(const hpc_lt *lt, descriptors &d, const product &p)
{
    const bool bytes = p.type == LT_I8;
    const int32_t swap_a = p.trans_b ? 1 : 0, swap_b = p.trans_a ? 1 : 0;
    const int32_t epilogue = p.has_bias ? LT_EPILOGUE_BIAS : LT_EPILOGUE_NONE;
    d = descriptors();
    int rc =
        lt->api->desc_create(&d.desc, bytes ? LT_SUM_I32 : LT_SUM_F32, bytes ? LT_I32 : LT_F32);
    if (rc == LT_OK) rc = lt->api->desc_set(d.desc, LT_DESC_TRANS_A, &swap_a, sizeof swap_a);
    if (rc == LT_OK) rc = lt->api->desc_set(d.desc, LT_DESC_TRANS_B, &swap_b, sizeof swap_b);
    if (rc == LT_OK) rc = lt->api->desc_set(d.desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (rc == LT_OK && p.has_bias) rc = set_bias(lt, d.desc, p);
    if (rc == LT_OK)
        rc = make_layout(lt, &d.a, p.type, p.trans_b ? p.k : p.n, p.trans_b ? p.n : p.k, p.batch,
                         p.b_stride);
    if (rc == LT_OK)
        rc = make_layout(lt, &d.b, p.type, p.trans_a ? p.m : p.k, p.trans_a ? p.k : p.m, p.batch,
                         p.a_stride);
    if (rc == LT_OK) rc = make_layout(lt, &d.y, p.out, p.n, p.m, p.batch, p.m * p.n);
    if (rc != LT_OK) free_descriptors(lt, d);
    return rc;
}

int enqueue(const hpc_lt *lt, const product &p, const descriptors &d, const hpc_cuda_choice &c,
            char *why)
{
    const int32_t one = 1, add = p.adds;
    const float alpha = p.alpha, beta = p.adds ? 1.0f : 0.0f;
    const bool bytes = p.type == LT_I8;
    lt_algorithm algorithm;
    memcpy(algorithm.data, c.algorithm, sizeof algorithm.data);
    const int rc = lt->api->multiply(
        lt->handle, d.desc, bytes ? (const void *)&one : &alpha, p.b, d.a, p.a, d.b,
        bytes ? (const void *)&add : &beta, p.adds ? p.c : p.y, d.y, p.y, d.y, &algorithm,
        c.workspace_bytes ? lt->workspace : nullptr, (size_t)c.workspace_bytes, lt->stream);
    return rc == LT_OK ? 0 : failed(lt, why, "a product", rc);
}

/* ---- choosing ----------------------------------------------------------------------------- */

int set_preferences(const hpc_lt *lt, void *prefer, int type, bool per_shape)
{
    const uint64_t bytes = per_shape ? LT_WORKSPACE : 0;
    const uint32_t reductions = per_shape ? LT_REDUCE_IN_F32 : LT_REDUCE_NONE, align = ALIGN;
    const uint64_t rounds = LT_SUMS_F16 | LT_AS_F16 | LT_AS_TF32 | LT_BY_COMPLEX;
    const uint64_t implementations = ~(rounds | (type == LT_F32 ? LT_AS_BF16 : 0));
    int rc = lt->api->prefer_set(prefer, LT_PREFER_WORKSPACE, &bytes, sizeof bytes);
    if (rc == LT_OK)
        rc = lt->api->prefer_set(prefer, LT_PREFER_REDUCTIONS, &reductions, sizeof reductions);
    if (rc == LT_OK)
        rc = lt->api->prefer_set(prefer, LT_PREFER_IMPLEMENTATIONS, &implementations,
                                 sizeof implementations);
    for (int k = 0; k < 4 && rc == LT_OK; k++)
        rc = lt->api->prefer_set(prefer, LT_PREFER_ALIGN_A + k, &align, sizeof align);
    return rc;
}

/* Lists the algorithms that cuBLASLt proposes, the best first; returns their number. */
int propose(const hpc_lt *lt, const descriptors &d, int type, bool per_shape,
            lt_candidate out[LT_CANDIDATES])
{
    void *prefer = nullptr;
    int n = 0, rc = lt->api->prefer_create(&prefer);
    if (rc == LT_OK) rc = set_preferences(lt, prefer, type, per_shape);
    if (rc == LT_OK)
        rc = lt->api->find(lt->handle, d.desc, d.a, d.b, d.y, d.y, prefer, LT_CANDIDATES, out, &n);
    if (prefer) lt->api->prefer_free(prefer);
    return rc == LT_OK ? n : 0;
}

bool is_whole(const hpc_lt *lt, const lt_candidate &c)
{
    int32_t split = 0;
    uint32_t reduction = 0;
    size_t written;
    if (lt->api->config(&c.algorithm, LT_CONFIG_SPLITK, &split, sizeof split, &written) != LT_OK ||
        lt->api->config(&c.algorithm, LT_CONFIG_REDUCTION, &reduction, sizeof reduction,
                        &written) != LT_OK)
        return false;
    return split <= 1 && reduction == LT_REDUCE_NONE && c.workspace == 0;
}

bool takes(const hpc_lt *lt, const product &p, const uint64_t algorithm[], size_t workspace)
{
    descriptors d;
    lt_candidate found = lt_candidate();
    memcpy(found.algorithm.data, algorithm, sizeof found.algorithm.data);
    const lt_algorithm a = found.algorithm;
    if (make_descriptors(lt, d, p) != LT_OK) return false;
    const int rc = lt->api->check(lt->handle, d.desc, d.a, d.b, d.y, d.y, &a, &found);
    free_descriptors(lt, d);
    return rc == LT_OK && found.state == LT_OK && found.workspace <= workspace;
}

/* Does an algorithm take every number of rows? */
bool takes_all_rows(const hpc_lt *lt, const product &p, const lt_candidate &c)
{
    static const int64_t rows[] = {1, 7, 64, 1000, 65536};
    bool all = true;
    for (int64_t m : rows) {
        product other = p;
        other.m = m;
        other.a_stride = p.a_stride ? m * p.k : 0;
        all = all && takes(lt, other, c.algorithm.data, 0);
    }
    return all;
}

void take(chosen &c, const lt_candidate &from, int64_t ns)
{
    memcpy(c.as.algorithm, from.algorithm.data, sizeof c.as.algorithm);
    c.as.workspace_bytes = (int64_t)from.workspace;
    c.as.ns = ns;
    c.taken = true;
}

/* The same for all m. */
void choose_fixed(const hpc_lt *lt, chosen &c, product p)
{
    lt_candidate list[LT_CANDIDATES];
    descriptors d;
    p.m = LT_ROWS;
    p.batch = p.a_stride || p.b_stride ? 2 : 1;
    p.a_stride = p.a_stride ? p.m * p.k : 0;
    if (make_descriptors(lt, d, p) != LT_OK) return;
    const int n = propose(lt, d, p.type, false, list);
    free_descriptors(lt, d);
    for (int k = 0; k < n && !c.taken; k++)
        if (list[k].state == LT_OK && is_whole(lt, list[k]) && takes_all_rows(lt, p, list[k]))
            take(c, list[k], 0);
}

/* Memory for the operands of a product that is measured. */
struct scratch {
    const hpc_cuda_stream *s;
    void *p[4];
};

bool take_scratch(scratch &m, product &p)
{
    const int64_t in = p.type == LT_F32 ? 4 : p.type == LT_BF16 ? 2 : 1;
    const int64_t out = p.out == LT_BF16 ? 2 : 4;
    const size_t bytes[4] = {(size_t)(p.m * p.k * (p.a_stride ? p.batch : 1) * in),
                             (size_t)(p.n * p.k * (p.b_stride ? p.batch : 1) * in),
                             (size_t)(p.m * p.n * p.batch * out), (size_t)(p.n * p.batch * out)};
    const hpc_cuda_library *l = m.s->library;
    for (int k = 0; k < 4; k++) {
        if (l->alloc(m.s->self, &m.p[k], bytes[k], m.s->why) != 0) return false;
        if (l->fill(m.s->self, m.s->queue, m.p[k], 0, bytes[k], m.s->why) != 0) return false;
    }
    p.a = m.p[0];
    p.b = m.p[1];
    p.y = m.p[2];
    p.c = p.adds ? p.y : nullptr;
    p.bias = p.has_bias ? m.p[3] : nullptr;
    return true;
}

void free_scratch(scratch &m)
{
    for (void *p : m.p)
        if (p) m.s->library->release(m.s->self, p);
}

/* The time of LT_REPEATS products, after one that is not counted; or -1. */
int64_t measure(const hpc_lt *lt, const hpc_cuda_stream *s, const product &p, const descriptors &d,
                const lt_candidate &candidate)
{
    const hpc_cuda_library *l = s->library;
    chosen c = chosen();
    hpc_fault fault;
    int from, to;
    int64_t ns;
    take(c, candidate, 0);
    if (enqueue(lt, p, d, c.as, s->why) != 0) return -1;
    if (l->record(s->self, s->queue, &from, s->why) != 0) return -1;
    for (int k = 0; k < LT_REPEATS; k++)
        if (enqueue(lt, p, d, c.as, s->why) != 0) return -1;
    if (l->record(s->self, s->queue, &to, s->why) != 0) return -1;
    if (l->fence(s->self, &fault, s->why) != 0) return -1;
    return l->elapsed(s->self, from, to, &ns, s->why) == 0 ? ns : -1;
}

/* Takes the fastest. */
void race(const hpc_lt *lt, chosen &c, const hpc_cuda_stream *s, const product &shape,
          const lt_candidate *list, int n)
{
    product p = shape;
    descriptors d;
    scratch m = {s, {nullptr, nullptr, nullptr, nullptr}};
    int64_t best = -1;
    const bool room = take_scratch(m, p) && make_descriptors(lt, d, p) == LT_OK;
    for (int k = 0; k < n && room; k++) {
        const int64_t ns = list[k].state == LT_OK ? measure(lt, s, p, d, list[k]) : -1;
        if (ns < 0 || (best >= 0 && ns >= best)) continue;
        best = ns;
        take(c, list[k], ns / LT_REPEATS);
    }
    if (room) free_descriptors(lt, d);
    free_scratch(m);
}

bool has_workspace(hpc_lt *lt, const hpc_cuda_stream *s)
{
    return lt->workspace || s->library->alloc(s->self, &lt->workspace, LT_WORKSPACE, s->why) == 0;
}

void choose_for_shape(hpc_lt *lt, chosen &c, const hpc_cuda_stream *s, const product &p)
{
    lt_candidate list[LT_CANDIDATES];
    descriptors d;
    if (!has_workspace(lt, s) || make_descriptors(lt, d, p) != LT_OK) return;
    const int n = propose(lt, d, p.type, true, list);
    free_descriptors(lt, d);
    if (s->products == HPC_PRODUCTS_MEASURED) race(lt, c, s, p, list, n);
    for (int k = 0; k < n && !c.taken; k++)
        if (list[k].state == LT_OK) take(c, list[k], 0);
    s->why[0] = '\0';
}

chosen *find(hpc_lt *lt, const int64_t shape[HPC_CUDA_SHAPE])
{
    for (chosen &c : lt->all)
        if (memcmp(c.as.shape, shape, sizeof c.as.shape) == 0) return &c;
    return nullptr;
}

/* A record's choice is used only where cuBLASLt takes it. */
void choose(hpc_lt *lt, chosen &c, const hpc_cuda_stream *s, const product &p)
{
    const bool recorded = c.recorded;
    c.recorded = false;
    if (recorded && c.taken && takes(lt, p, c.as.algorithm, (size_t)c.as.workspace_bytes) &&
        (c.as.workspace_bytes == 0 || has_workspace(lt, s)))
        return;
    c.taken = false;
    choose_for_shape(lt, c, s, p);
}

/* NULL: our own kernels take it. */
const chosen *choice_of(hpc_lt *lt, const hpc_cuda_stream *s, const product &p)
{
    const bool per_shape = s->products != HPC_PRODUCTS_FIXED;
    chosen c = chosen();
    shape_of(c.as.shape, p, per_shape);
    chosen *known = find(lt, c.as.shape);
    if (!known && per_shape && !s->choosing) return nullptr; /* opening chooses, never a launch */
    if (!known && !per_shape) choose_fixed(lt, c, p);
    if (!known) {
        c.recorded = per_shape;
        lt->all.push_back(c);
        known = &lt->all.back();
    }
    if (known->recorded && s->choosing) choose(lt, *known, s, p);
    return known->taken && !known->recorded ? known : nullptr;
}

/* ---- what follows a product ----------------------------------------------------------------- */

struct finish_args {
    hpc_tensor y, x, residual;
    int act;
};

/* y = act(x) + residual. */
struct product_finish {
    typedef finish_args args;
    const args &g;
    SIMT_DEVICE product_finish(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        quad x = load4(g.x, i, n), r = {{0, 0, 0, 0}};
        if (present(g.residual)) r = load4(g.residual, i, n);
        for (int k = 0; k < 4; k++) x.v[k] = act_of(g.act, x.v[k]) + r.v[k];
        put4(g.y, i, n, x);
    }
};

int finish(const hpc_cuda_stream *s, const hpc_matmul_args &g)
{
    const finish_args a = {g.y, present(g.pre) ? g.pre : g.y, g.residual, g.attr.act};
    return launch_point<product_finish>(s, &a);
}

} // namespace

int hpc_lt_open(hpc_lt **out, const hpc_lt_api *api, void *stream, char *why)
{
    hpc_lt *lt = new (std::nothrow) hpc_lt();
    if (!lt) {
        snprintf(why, HPC_CUDA_TEXT, "out of memory");
        return 1;
    }
    lt->api = api;
    lt->stream = stream;
    const int rc = api->open(&lt->handle);
    if (rc != LT_OK) {
        failed(lt, why, "opening", rc);
        delete lt;
        return 1;
    }
    *out = lt;
    return 0;
}

void hpc_lt_close(hpc_lt *lt, const hpc_cuda_library *library, void *self)
{
    if (!lt) return;
    if (lt->workspace) library->release(self, lt->workspace);
    lt->api->close(lt->handle);
    delete lt;
}

bool hpc_lt_multiply(const hpc_cuda_stream *s, const hpc_matmul_args &g, int *rc)
{
    hpc_lt *lt = hpc_cuda_lt(s->self);
    descriptors d;
    product p;
    if (!lt || s->guard || s->queue != HPC_COMPUTE) return false;
    if (!product_of(p, g, s->products != HPC_PRODUCTS_FIXED) || !all_aligned(p)) return false;
    const chosen *c = choice_of(lt, s, p);
    *rc = 0;
    if (!c) return false;
    if (s->choosing) return true;
    const int made = make_descriptors(lt, d, p);
    if (made != LT_OK) {
        *rc = failed(lt, s->why, "describing a product", made);
        return true;
    }
    *rc = enqueue(lt, p, d, c->as, s->why);
    free_descriptors(lt, d);
    if (*rc == 0 && is_finished(g)) *rc = finish(s, g);
    return true;
}

bool hpc_lt_accepts(const hpc_lt_api *api)
{
    hpc_lt lt = hpc_lt();
    product p = product();
    descriptors d;
    void *prefer = nullptr;
    lt.api = api;
    p.m = p.n = p.k = 64;
    p.batch = 2;
    p.a_stride = p.b_stride = 64 * 64;
    p.bias_stride = 64;
    p.type = p.out = LT_BF16;
    p.has_bias = true;
    if (make_descriptors(&lt, d, p) != LT_OK) return false;
    bool all = api->prefer_create(&prefer) == LT_OK;
    all = all && set_preferences(&lt, prefer, p.type, true) == LT_OK;
    if (prefer) api->prefer_free(prefer);
    free_descriptors(&lt, d);
    return all;
}

int64_t hpc_lt_choices(const hpc_lt *lt, hpc_cuda_choice *out, int64_t most)
{
    int64_t n = 0;
    for (const chosen &c : lt->all)
        if (c.taken && !c.recorded && c.as.shape[7] == 1 && n < most) out[n++] = c.as;
    return n;
}

int hpc_lt_choose(hpc_lt *lt, const hpc_cuda_choice *choice, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        chosen c = {choice[k], true, true};
        c.as.shape[7] = 1;
        if (c.as.workspace_bytes < 0 || c.as.workspace_bytes > LT_WORKSPACE) return 1;
        if (!find(lt, c.as.shape)) lt->all.push_back(c);
    }
    return 0;
}
