/*
 * lt.cc: a stub of cuBLASLt on the CPU: descriptors that are checked as cuBLASLt checks them, and
 * three algorithms that differ in the order of their sums. The first proposal and the times of all
 * depend on the number of columns, our m, so that a caller that asks with m gets other bits.
 */
#include <new>
#include <string.h>

#include "runtime/device/cuda/lt_api.cuh"
#include "runtime/device/cuda/shim/lt.cuh"
#include "runtime/device/priv.h"

namespace {

enum algorithm_kind { IN_ORDER, BY_FOURS, SPLIT, KINDS }; /* SPLIT: k in halves */

struct desc {
    int sum, scale, trans_a, trans_b, epilogue, bias_type;
    const void *bias;
    int64_t bias_stride;
};

struct layout {
    int type;
    int64_t rows, cols, pitch, stride;
    int32_t batches;
};

struct prefer {
    uint64_t workspace, implementations;
    uint32_t reductions, align[4];
};

struct call {
    desc as;
    layout a, b, d;
    float alpha, beta;
    const void *a_data, *b_data, *c_data;
    void *d_data, *workspace;
    int kind;
};

size_t stub_version(void)
{
    return 130000;
}

const char *stub_status_text(int status)
{
    switch (status) {
    case LT_OK: return "success";
    case LT_NO_MEMORY: return "no memory";
    case LT_INVALID: return "an invalid value";
    default: return "not supported";
    }
}

int stub_open(void **handle)
{
    static const char any = 0;
    *handle = (void *)&any;
    return LT_OK;
}

int stub_close(void *)
{
    return LT_OK;
}

/* ---- descriptors -------------------------------------------------------------------------- */

int stub_desc_create(void **out, int sum, int scale)
{
    desc *d = new (std::nothrow) desc();
    if (!d) return LT_NO_MEMORY;
    d->sum = sum;
    d->scale = scale;
    d->epilogue = LT_EPILOGUE_NONE;
    d->bias_type = -1;
    *out = d;
    return LT_OK;
}

int stub_desc_free(void *d)
{
    delete (desc *)d;
    return LT_OK;
}

int put(void *to, size_t size, const void *value, size_t bytes)
{
    if (bytes != size) return LT_INVALID;
    memcpy(to, value, bytes);
    return LT_OK;
}

int stub_desc_set(void *to, int attribute, const void *value, size_t bytes)
{
    desc *d = (desc *)to;
    switch (attribute) {
    case LT_DESC_TRANS_A: return put(&d->trans_a, sizeof d->trans_a, value, bytes);
    case LT_DESC_TRANS_B: return put(&d->trans_b, sizeof d->trans_b, value, bytes);
    case LT_DESC_EPILOGUE: return put(&d->epilogue, sizeof d->epilogue, value, bytes);
    case LT_DESC_BIAS: return put(&d->bias, sizeof d->bias, value, bytes);
    case LT_DESC_BIAS_TYPE: return put(&d->bias_type, sizeof d->bias_type, value, bytes);
    case LT_DESC_BIAS_STRIDE: return put(&d->bias_stride, sizeof d->bias_stride, value, bytes);
    default: return LT_UNSUPPORTED;
    }
}

int stub_layout_create(void **out, int type, uint64_t rows, uint64_t cols, int64_t pitch)
{
    if (pitch < (int64_t)rows) return LT_INVALID;
    layout *l = new (std::nothrow) layout();
    if (!l) return LT_NO_MEMORY;
    *l = {type, (int64_t)rows, (int64_t)cols, pitch, 0, 1};
    *out = l;
    return LT_OK;
}

int stub_layout_free(void *l)
{
    delete (layout *)l;
    return LT_OK;
}

int stub_layout_set(void *to, int attribute, const void *value, size_t bytes)
{
    layout *l = (layout *)to;
    if (attribute == LT_LAYOUT_BATCHES) return put(&l->batches, sizeof l->batches, value, bytes);
    if (attribute == LT_LAYOUT_STRIDE) return put(&l->stride, sizeof l->stride, value, bytes);
    return LT_UNSUPPORTED;
}

int stub_prefer_create(void **out)
{
    prefer *p = new (std::nothrow) prefer();
    if (!p) return LT_NO_MEMORY;
    *out = p;
    return LT_OK;
}

int stub_prefer_free(void *p)
{
    delete (prefer *)p;
    return LT_OK;
}

int stub_prefer_set(void *to, int attribute, const void *value, size_t bytes)
{
    prefer *p = (prefer *)to;
    const int align = attribute - LT_PREFER_ALIGN_A;
    if (align >= 0 && align < 4) return put(&p->align[align], sizeof *p->align, value, bytes);
    switch (attribute) {
    case LT_PREFER_WORKSPACE: return put(&p->workspace, sizeof p->workspace, value, bytes);
    case LT_PREFER_REDUCTIONS: return put(&p->reductions, sizeof p->reductions, value, bytes);
    case LT_PREFER_IMPLEMENTATIONS:
        return put(&p->implementations, sizeof p->implementations, value, bytes);
    default: return LT_UNSUPPORTED;
    }
}

/* ---- which products it takes -------------------------------------------------------------- */

int64_t depth_of(const desc &as, const layout &a)
{
    return as.trans_a ? a.rows : a.cols;
}

bool has_shapes(const desc &as, const layout &a, const layout &b, const layout &d)
{
    const int64_t m = as.trans_a ? a.cols : a.rows, n = as.trans_b ? b.rows : b.cols;
    const int64_t k = as.trans_b ? b.cols : b.rows;
    return m == d.rows && n == d.cols && k == depth_of(as, a) && a.batches == d.batches &&
           b.batches == d.batches;
}

int check_types(const desc &as, const layout &a, const layout &b, const layout &d)
{
    if (!has_shapes(as, a, b, d)) return LT_INVALID;
    if (as.epilogue == LT_EPILOGUE_BIAS && (!as.bias || as.bias_type != d.type)) return LT_INVALID;
    if (a.type != b.type) return LT_UNSUPPORTED;
    if (a.type == LT_I8) {
        const bool fits = as.trans_a && !as.trans_b && a.pitch % 4 == 0 && b.pitch % 4 == 0;
        const bool sums = as.sum == LT_SUM_I32 && as.scale == LT_I32 && d.type == LT_I32;
        return fits && sums && as.epilogue == LT_EPILOGUE_NONE ? LT_OK : LT_UNSUPPORTED;
    }
    if (as.sum != LT_SUM_F32 || as.scale != LT_F32) return LT_UNSUPPORTED;
    if (a.type == LT_F32) return d.type == LT_F32 ? LT_OK : LT_UNSUPPORTED;
    return a.type == LT_BF16 && (d.type == LT_F32 || d.type == LT_BF16) ? LT_OK : LT_UNSUPPORTED;
}

size_t workspace_of(int kind, const layout &d)
{
    return kind == SPLIT ? (size_t)(d.rows * d.cols * d.batches) * 2 * sizeof(float) : 0;
}

int stub_check(void *, void *as, void *a, void *b, void *, void *d, const lt_algorithm *algorithm,
               lt_candidate *out)
{
    const int rc = check_types(*(desc *)as, *(layout *)a, *(layout *)b, *(layout *)d);
    if (rc != LT_OK) return rc;
    if (algorithm->data[0] == 0 || algorithm->data[0] > KINDS) return LT_INVALID;
    *out = lt_candidate();
    out->algorithm = *algorithm;
    out->workspace = workspace_of((int)algorithm->data[0] - 1, *(layout *)d);
    return LT_OK;
}

/* F32 sums must not be asked for by other means. */
bool may_propose(const prefer &p, const layout &a, const layout &d, int kind)
{
    const uint64_t never = LT_SUMS_F16 | LT_AS_TF32 | (a.type == LT_F32 ? LT_AS_BF16 : 0);
    if (p.implementations & never) return false;
    if (kind != SPLIT) return true;
    return a.type != LT_I8 && p.reductions & LT_REDUCE_IN_F32 &&
           workspace_of(kind, d) <= p.workspace;
}

int stub_find(void *handle, void *as, void *a, void *b, void *c, void *d, void *prefers, int most,
              lt_candidate *out, int *n)
{
    const layout &y = *(layout *)d;
    *n = 0;
    for (int k = 0; k < KINDS && *n < most; k++) {
        lt_algorithm one = lt_algorithm();
        const int kind = (int)((k + y.cols) % KINDS);
        one.data[0] = (uint64_t)kind + 1;
        if (!may_propose(*(prefer *)prefers, *(layout *)a, y, kind)) continue;
        const int rc = stub_check(handle, as, a, b, c, d, &one, &out[*n]);
        if (rc != LT_OK) return rc;
        (*n)++;
    }
    return *n > 0 ? LT_OK : LT_UNSUPPORTED;
}

int stub_config(const lt_algorithm *algorithm, int attribute, void *value, size_t bytes,
                size_t *written)
{
    const bool split = algorithm->data[0] == SPLIT + 1;
    const int32_t parts = split ? 2 : 1;
    const uint32_t reduction = split ? LT_REDUCE_IN_F32 : LT_REDUCE_NONE;
    *written = sizeof parts;
    if (bytes != sizeof parts) return LT_INVALID;
    if (attribute == LT_CONFIG_SPLITK)
        memcpy(value, &parts, sizeof parts);
    else if (attribute == LT_CONFIG_REDUCTION)
        memcpy(value, &reduction, sizeof reduction);
    else
        return LT_UNSUPPORTED;
    return LT_OK;
}

/* ---- products ------------------------------------------------------------------------------ */

float element(const void *data, const layout &l, int64_t batch, int64_t row, int64_t col)
{
    const int64_t i = batch * l.stride + col * l.pitch + row;
    if (l.type == LT_F32) return ((const float *)data)[i];
    return hpc_bf16_to_f32(((const uint16_t *)data)[i]);
}

int byte_at(const void *data, const layout &l, int64_t row, int64_t col)
{
    return ((const int8_t *)data)[col * l.pitch + row];
}

float term(const call &c, int64_t batch, int64_t i, int64_t j, int64_t k)
{
    const float x = element(c.a_data, c.a, batch, c.as.trans_a ? k : i, c.as.trans_a ? i : k);
    const float y = element(c.b_data, c.b, batch, c.as.trans_b ? j : k, c.as.trans_b ? k : j);
    return x * y;
}

float sum_from(const call &c, int64_t batch, int64_t i, int64_t j, int64_t from, int64_t end)
{
    float sum[4] = {0, 0, 0, 0};
    const int parts = c.kind == BY_FOURS ? 4 : 1;
    for (int64_t k = from; k < end; k++) sum[k % parts] += term(c, batch, i, j, k);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

float sum_of(const call &c, int64_t batch, int64_t i, int64_t j)
{
    const int64_t depth = depth_of(c.as, c.a);
    if (c.kind != SPLIT) return sum_from(c, batch, i, j, 0, depth);
    float *part = (float *)c.workspace + ((batch * c.d.cols + j) * c.d.rows + i) * 2;
    part[0] = sum_from(c, batch, i, j, 0, depth / 2);
    part[1] = sum_from(c, batch, i, j, depth / 2, depth);
    return part[0] + part[1];
}

void store(const call &c, int64_t batch, int64_t i, int64_t j, float sum)
{
    const int64_t at = batch * c.d.stride + j * c.d.pitch + i;
    float x = c.alpha * sum;
    if (c.beta != 0) x += c.beta * element(c.c_data, c.d, batch, i, j);
    if (c.as.epilogue == LT_EPILOGUE_BIAS) {
        const layout bias = {c.d.type, c.d.rows, 1, c.d.rows, c.as.bias_stride, 1};
        x += element(c.as.bias, bias, batch, i, 0);
    }
    if (c.d.type == LT_F32)
        ((float *)c.d_data)[at] = x;
    else
        ((uint16_t *)c.d_data)[at] = hpc_bf16_from_f32(x);
}

void store_bytes(const call &c, int64_t i, int64_t j)
{
    int32_t sum = 0, *y = (int32_t *)c.d_data + j * c.d.pitch + i;
    for (int64_t k = 0; k < c.a.rows; k++)
        sum += byte_at(c.a_data, c.a, k, i) * byte_at(c.b_data, c.b, k, j);
    *y = c.beta != 0 ? *y + sum : sum;
}

void run_call(const void *args)
{
    const call &c = *(const call *)args;
    for (int64_t batch = 0; batch < c.d.batches; batch++)
        for (int64_t j = 0; j < c.d.cols; j++)
            for (int64_t i = 0; i < c.d.rows; i++) {
                if (c.a.type == LT_I8)
                    store_bytes(c, i, j);
                else
                    store(c, batch, i, j, sum_of(c, batch, i, j));
            }
}

float factor(const desc &as, const void *p)
{
    return as.scale == LT_I32 ? (float)*(const int32_t *)p : *(const float *)p;
}

int stub_multiply(void *, void *as, const void *alpha, const void *a, void *a_layout, const void *b,
                  void *b_layout, const void *beta, const void *c, void *c_layout, void *d,
                  void *d_layout, const lt_algorithm *algorithm, void *workspace,
                  size_t workspace_bytes, void *stream)
{
    call one = call();
    lt_candidate checked;
    const int rc =
        stub_check(nullptr, as, a_layout, b_layout, c_layout, d_layout, algorithm, &checked);
    if (rc != LT_OK) return rc;
    if (checked.workspace > workspace_bytes || (checked.workspace > 0 && !workspace))
        return LT_INVALID;
    one.as = *(desc *)as;
    one.a = *(layout *)a_layout;
    one.b = *(layout *)b_layout;
    one.d = *(layout *)d_layout;
    one.alpha = factor(one.as, alpha);
    one.beta = factor(one.as, beta);
    one.a_data = a;
    one.b_data = b;
    one.c_data = c;
    one.d_data = d;
    one.workspace = workspace;
    one.kind = (int)algorithm->data[0] - 1;
    const int64_t ns = 1000 * (1 + (one.kind + one.d.cols / 2) % KINDS);
    return hpc_shim_call(stream, run_call, &one, sizeof one, ns) == 0 ? LT_OK : LT_INVALID;
}

} // namespace

const hpc_lt_api hpc_shim_lt = {
    stub_version,       stub_status_text, stub_open,          stub_close,       stub_desc_create,
    stub_desc_free,     stub_desc_set,    stub_layout_create, stub_layout_free, stub_layout_set,
    stub_prefer_create, stub_prefer_free, stub_prefer_set,    stub_find,        stub_check,
    stub_config,        stub_multiply};
