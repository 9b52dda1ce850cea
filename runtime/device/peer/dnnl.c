/*
 * dnnl.c: products of f32, bf16 and i8 by oneDNN, on plain matrices.
 *
 * The number of threads is that of oneDNN's own runtime.
 */
#include "runtime/device/peer/priv.h"

#if HPC_HAVE_DNNL
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>

enum { Y, A, B, OPERANDS };

typedef struct product {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_memory_t memory[OPERANDS];
} product;

static const char *version(void)
{
    return HPC_VERSION_DNNL;
}

/* ---- what its second and third generations name differently --------------------------------- */

typedef struct layout {
    dnnl_dims_t extent, stride;
} layout;

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t descriptor;

static dnnl_status_t describe(descriptor *out, const layout *l, dnnl_data_type_t type)
{
    return dnnl_memory_desc_create_with_strides(out, 2, l->extent, type, l->stride);
}

static void forget(descriptor *d)
{
    dnnl_memory_desc_destroy(*d);
}

static dnnl_status_t make_memory(dnnl_memory_t *out, const descriptor *d, dnnl_engine_t engine)
{
    return dnnl_memory_create(out, *d, engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t make_plan(dnnl_primitive_desc_t *out, const descriptor *d,
                               dnnl_engine_t engine)
{
    return dnnl_matmul_primitive_desc_create(out, engine, d[A], d[B], NULL, d[Y], NULL);
}
#else
typedef dnnl_memory_desc_t descriptor;

static dnnl_status_t describe(descriptor *out, const layout *l, dnnl_data_type_t type)
{
    return dnnl_memory_desc_init_by_strides(out, 2, l->extent, type, l->stride);
}

static void forget(descriptor *d)
{
    (void)d;
}

static dnnl_status_t make_memory(dnnl_memory_t *out, const descriptor *d, dnnl_engine_t engine)
{
    return dnnl_memory_create(out, d, engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t make_plan(dnnl_primitive_desc_t *out, const descriptor *d,
                               dnnl_engine_t engine)
{
    dnnl_matmul_desc_t m;
    dnnl_status_t s = dnnl_matmul_desc_init(&m, &d[A], &d[B], NULL, &d[Y]);
    return s == dnnl_success ? dnnl_primitive_desc_create(out, &m, NULL, engine, NULL) : s;
}
#endif

/* ---- the product ---------------------------------------------------------------------------- */

static layout layout_of(int64_t rows, int64_t cols, bool transposed)
{
    layout l = {{rows, cols}, {transposed ? 1 : cols, transposed ? rows : 1}};
    return l;
}

static void close_product(void *self)
{
    product *p = self;
    for (int k = 0; k < OPERANDS; k++)
        if (p->memory[k]) dnnl_memory_destroy(p->memory[k]);
    if (p->primitive) dnnl_primitive_destroy(p->primitive);
    if (p->stream) dnnl_stream_destroy(p->stream);
    if (p->engine) dnnl_engine_destroy(p->engine);
    free(p);
}

static dnnl_status_t make_primitive(product *p, const descriptor *d)
{
    dnnl_primitive_desc_t plan = NULL;
    dnnl_status_t s = make_plan(&plan, d, p->engine);
    if (s == dnnl_success) s = dnnl_primitive_create(&p->primitive, plan);
    if (plan) dnnl_primitive_desc_destroy(plan);
    for (int k = 0; k < OPERANDS && s == dnnl_success; k++)
        s = make_memory(&p->memory[k], &d[k], p->engine);
    return s;
}

static dnnl_status_t make_product(product *p, const hpc_peer_product *of)
{
    bool bytes = of->dtype == HPC_I8;
    dnnl_data_type_t type = bytes ? dnnl_s8 : of->dtype == HPC_BF16 ? dnnl_bf16 : dnnl_f32;
    const layout l[OPERANDS] = {
        [Y] = layout_of(of->m, of->n, false),
        [A] = layout_of(of->m, of->k, of->trans_a),
        [B] = layout_of(of->k, of->n, of->trans_b),
    };
    descriptor d[OPERANDS];
    int made = 0;
    dnnl_status_t s = dnnl_engine_create(&p->engine, dnnl_cpu, 0);
    if (s == dnnl_success) s = dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags);
    while (s == dnnl_success && made < OPERANDS) {
        s = describe(&d[made], &l[made], bytes && made == Y ? dnnl_s32 : type);
        if (s == dnnl_success) made++;
    }
    if (s == dnnl_success) s = make_primitive(p, d);
    while (made > 0) forget(&d[--made]);
    return s;
}

static void *open_product(const hpc_peer_product *of)
{
    if (of->dtype != HPC_F32 && of->dtype != HPC_BF16 && of->dtype != HPC_I8) return NULL;
    product *p = calloc(1, sizeof *p);
    if (p && make_product(p, of) != dnnl_success) {
        close_product(p);
        p = NULL;
    }
    return p;
}

static int run_product(void *self, void *y, const void *a, const void *b)
{
    product *p = self;
    void *const data[OPERANDS] = {[Y] = y, [A] = (void *)a, [B] = (void *)b};
    const int slot[OPERANDS] = {[Y] = DNNL_ARG_DST, [A] = DNNL_ARG_SRC, [B] = DNNL_ARG_WEIGHTS};
    dnnl_exec_arg_t args[OPERANDS];
    for (int k = 0; k < OPERANDS; k++) {
        if (dnnl_memory_set_data_handle(p->memory[k], data[k]) != dnnl_success) return -1;
        args[k] = (dnnl_exec_arg_t){slot[k], p->memory[k]};
    }
    dnnl_status_t s = dnnl_primitive_execute(p->primitive, p->stream, OPERANDS, args);
    if (s == dnnl_success) s = dnnl_stream_wait(p->stream);
    return s == dnnl_success ? 0 : -1;
}

const hpc_peer hpc_peer_dnnl = {
    .name = "onednn",
    .version = version,
    .open = open_product,
    .run = run_product,
    .close = close_product,
};
#endif
