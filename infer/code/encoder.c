/*
 * The encoder's program, its training and its scores.
 */
#include "infer/code/encoder.h"

#include <stdio.h>
#include <string.h>

#include "infer/code/priv.h"

typedef struct net {
    hpc_value label, kind, first, target, dloss, rate, step, loss, logits;
    hpc_graph relation[RELATIONS];
} net;
struct hpc_encoder {
    hpc_encoder_options o;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    net net;
    batch *batch;
};

/* ---- the program -------------------------------------------------------------------------------
 */

static hpc_value input(hpc_program *p, const char *name, hpc_dtype d, int64_t n)
{
    return hpc_program_input(p, name, hpc_type_of(d, n > 0, (int64_t[]){n}));
}

static void emit_inputs(hpc_encoder *e)
{
    net *n = &e->net;
    n->label = input(e->p, "label", HPC_I32, BATCH_NODES);
    n->kind = input(e->p, "kind", HPC_I32, BATCH_NODES);
    n->first = input(e->p, "first", HPC_I32, BATCH_GRAPHS + 1);
    n->target = input(e->p, "target", HPC_I32, BATCH_GRAPHS);
    n->dloss = input(e->p, "dloss", HPC_F32, BATCH_GRAPHS);
    n->rate = input(e->p, "rate", HPC_F32, 0);
    n->step = input(e->p, "step", HPC_I32, 0);
    for (int r = 0; r < RELATIONS; r++) {
        static const char *const names[] = {"start", "index", "back_start", "back_index",
                                            "back_edge"};
        hpc_value v[5];
        for (int k = 0; k < 5; k++) {
            char name[32];
            snprintf(name, sizeof name, "%s.%d", names[k], r);
            v[k] = input(e->p, name, HPC_I32, k % 2 == 0 && k < 4 ? BATCH_NODES + 1 : BATCH_EDGES);
        }
        n->relation[r] = (hpc_graph){v[0], v[1], v[2], v[3], v[4]};
    }
}

static void scatter(hpc_saga_ends *out, hpc_saga_build *b, hpc_value x)
{
    (void)b;
    out->row = x;
}

static hpc_value apply_vertex(hpc_saga_build *b, hpc_value mean, hpc_value x)
{
    (void)x;
    hpc_value w = hpc_saga_parameter(b, "relation", b->o.outputs, b->o.features);
    return hpc_linear(b->p, mean, w, HPC_NONE, HPC_NONE);
}

/* The part of a layer for one type of edge. */
static const hpc_saga_layer typed_layer = {
    .name = "typed", .gather = HPC_SAGA_MEAN, .scatter = scatter, .apply_vertex = apply_vertex};

static hpc_saga_build build_of(hpc_encoder *e, int number)
{
    hpc_saga_options o = {.features = e->o.width,
                          .outputs = e->o.width,
                          .dtype = HPC_F32,
                          .number = number,
                          .trainable = true};
    return (hpc_saga_build){.p = e->p, .o = o, .degree = HPC_NONE};
}

static hpc_value dense(hpc_saga_build *b, const char *name, hpc_value x, hpc_value more)
{
    char full[2][32];
    snprintf(full[0], sizeof full[0], "%s.weight", name);
    snprintf(full[1], sizeof full[1], "%s.bias", name);
    hpc_value w = hpc_saga_parameter(b, full[0], b->o.outputs, b->o.features);
    return hpc_linear(b->p, x, w, hpc_saga_parameter(b, full[1], b->o.outputs, 0), more);
}

static hpc_value emit_layer(hpc_encoder *e, int64_t layer, hpc_value x)
{
    int first = (int)layer * (RELATIONS + 1) + 1;
    hpc_saga_build own = build_of(e, first);
    hpc_value sum = HPC_NONE;
    for (int r = 0; r < RELATIONS; r++) {
        hpc_saga_build b = build_of(e, first + 1 + r);
        hpc_value y = hpc_saga_emit(e->p, &typed_layer, &b.o, x, &e->net.relation[r]);
        sum = sum == HPC_NONE ? y : hpc_binary(e->p, HPC_ADD, sum, y);
    }
    return hpc_activate(e->p, dense(&own, "self", x, sum), HPC_RELU);
}

static void emit_forward(hpc_encoder *e)
{
    net *n = &e->net;
    hpc_saga_build b = build_of(e, 0);
    hpc_value labels = hpc_saga_parameter(&b, "labels", e->o.labels, e->o.width);
    hpc_value kinds = hpc_saga_parameter(&b, "kinds", NODE_KINDS, e->o.width);
    hpc_value x = hpc_binary(e->p, HPC_ADD, hpc_gather(e->p, labels, n->label),
                             hpc_gather(e->p, kinds, n->kind));
    for (int64_t k = 0; k < e->o.layers; k++) x = emit_layer(e, k, x);
    hpc_graph all = hpc_graph_of_segments(n->first);
    hpc_value mean = hpc_graph_reduce(e->p, HPC_NEW, x, HPC_NONE, &all, HPC_GRAPH_SUM);
    mean = hpc_graph_scale(e->p, mean, n->first, -1);
    hpc_value most = hpc_graph_reduce(e->p, HPC_NEW, x, HPC_NONE, &all, HPC_GRAPH_MAX);
    hpc_value y = dense(&b, "most", most, dense(&b, "mean", mean, HPC_NONE));
    y = hpc_activate(e->p, y, HPC_RELU);
    hpc_value w = hpc_saga_parameter(&b, "head", 2, e->o.width);
    n->loss = hpc_head_loss(e->p, y, w, n->target);
    n->logits = hpc_linear(e->p, y, w, HPC_NONE, HPC_NONE);
    hpc_program_keep(e->p, n->loss);
    hpc_program_keep(e->p, n->logits);
}

static void emit_updates(hpc_encoder *e)
{
    const hpc_adamw_attr attr = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .decay = e->o.decay};
    int64_t values = e->p->value_n;
    if (hpc_program_segment(e->p, HPC_UPDATE, 0) < 0) return;
    for (hpc_value v = 0; v < values; v++) {
        const hpc_value_info info = e->p->value[v];
        char name[2][64];
        if (info.kind != HPC_VALUE_STATE || !info.trainable) continue;
        snprintf(name[0], sizeof name[0], "m.%s", info.name);
        snprintf(name[1], sizeof name[1], "v.%s", info.name);
        hpc_adamw(e->p, v, hpc_program_state(e->p, name[0], info.type, false),
                  hpc_program_state(e->p, name[1], info.type, false), HPC_NONE, info.grad,
                  e->net.rate, e->net.step, HPC_NONE, attr);
    }
}

static int emit(hpc_encoder *e)
{
    int rc = HPC_OK, back;
    e->p = hpc_program_create();
    if (!e->p) return HPC_E_NOMEM;
    TRY(hpc_program_segment(e->p, HPC_FORWARD, 0));
    emit_inputs(e);
    emit_forward(e);
    back = hpc_program_segment(e->p, HPC_BACKWARD, 0);
    TRY(back);
    TRY(hpc_differentiate(e->p, &(hpc_diff_options){.forward = 0,
                                                    .backward = back,
                                                    .accumulate = -1,
                                                    .anew = true,
                                                    .seed_of = &e->net.loss,
                                                    .seed = &e->net.dloss,
                                                    .seed_n = 1}));
    emit_updates(e);
    TRY(hpc_program_status(e->p));
out:
    return rc < 0 ? rc : HPC_OK;
}

int hpc_encoder_open(hpc_encoder **out, const hpc_encoder_options *o)
{
    const hpc_encoder_options defaults = HPC_ENCODER_DEFAULTS;
    hpc_encoder *e = hpc_alloc(1, sizeof *e);
    int rc = HPC_E_NOMEM;
    if (!e) return rc;
    e->o = o ? *o : defaults;
    if (e->o.width < 1 || e->o.labels < 1 || e->o.layers < 1 || e->o.layers > HPC_ENCODER_LAYERS) {
        rc = hpc_fail(HPC_E_ARG, "encoder: width and labels begin at 1, layers are 1 to %d",
                      HPC_ENCODER_LAYERS);
        goto out;
    }
    e->batch = hpc_alloc(1, sizeof *e->batch);
    if (!e->batch) goto out;
    TRY(emit(e));
    TRY(hpc_device_open(&e->d, &(hpc_device_options){.backend = "cpu", .threads = e->o.threads}));
    TRY(hpc_exec_open(&e->e, e->p, e->d, NULL, NULL));
    TRY(hpc_saga_initialise(e->e, e->p, e->o.seed));
    *out = e;
out:
    if (rc < 0) hpc_encoder_close(e);
    return rc;
}

void hpc_encoder_close(hpc_encoder *e)
{
    if (!e) return;
    hpc_exec_close(e->e);
    hpc_device_close(e->d);
    hpc_program_free(e->p);
    hpc_free(e->batch);
    hpc_free(e);
}

/* ---- running ------------------------------------------------------------------------------------
 */

static int write_relation(hpc_encoder *e, const hpc_graph *g, const relation *r)
{
    int rc = HPC_OK;
    TRY(hpc_exec_write(e->e, 0, g->start, r->start, sizeof r->start));
    TRY(hpc_exec_write(e->e, 0, g->index, r->index, sizeof r->index));
    TRY(hpc_exec_write(e->e, 0, g->back_start, r->back_start, sizeof r->back_start));
    TRY(hpc_exec_write(e->e, 0, g->back_index, r->back_index, sizeof r->back_index));
    TRY(hpc_exec_write(e->e, 0, g->back_edge, r->back_edge, sizeof r->back_edge));
out:
    return rc;
}

static int write_batch(hpc_encoder *e)
{
    const net *n = &e->net;
    batch *b = e->batch;
    float dloss[BATCH_GRAPHS];
    int rc = HPC_OK;
    TRY(batch_finish(b));
    for (int k = 0; k < BATCH_GRAPHS; k++) dloss[k] = 1.0f / (float)b->graphs;
    TRY(hpc_exec_write(e->e, 0, n->label, b->label, sizeof b->label));
    TRY(hpc_exec_write(e->e, 0, n->kind, b->kind, sizeof b->kind));
    TRY(hpc_exec_write(e->e, 0, n->first, b->first, sizeof b->first));
    TRY(hpc_exec_write(e->e, 0, n->target, b->target, sizeof b->target));
    TRY(hpc_exec_write(e->e, 0, n->dloss, dloss, sizeof dloss));
    for (int r = 0; r < RELATIONS; r++) TRY(write_relation(e, &n->relation[r], &b->relation[r]));
out:
    return rc;
}

/* A batch of the samples order[*at] and following; moves *at. order NULL: in the order of s. */
static int fill_batch(hpc_encoder *e, int64_t *at, const hpc_encoder_sample *s,
                      const int64_t *order, int64_t n)
{
    batch_clear(e->batch);
    while (*at < n && batch_add(e->batch, &s[order ? order[*at] : *at], e->o.labels)) ++*at;
    return write_batch(e);
}

static void shuffle(int64_t *order, int64_t n, uint64_t seed, uint32_t epoch)
{
    for (int64_t k = 0; k < n; k++) order[k] = k;
    for (int64_t k = n - 1; k > 0; k--) {
        int64_t other = hpc_random_bits(seed, 1, epoch, (uint64_t)k) % (uint64_t)(k + 1);
        int64_t kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

/* One step on the batch; adds its losses to *sum. done: share of the samples that were trained on.
 */
static int train_step(hpc_encoder *e, double *sum, int32_t step, double done)
{
    float rate = (float)(e->o.rate * (1 - done)), loss[BATCH_GRAPHS];
    int rc = HPC_OK;
    TRY(hpc_exec_write(e->e, 0, e->net.rate, &rate, sizeof rate));
    TRY(hpc_exec_write(e->e, 0, e->net.step, &step, sizeof step));
    for (int s = 0; s < 3; s++) TRY(hpc_exec_run(e->e, s, 0));
    TRY(hpc_exec_read(e->e, 0, e->net.loss, loss, sizeof loss));
    for (int64_t k = 0; k < e->batch->graphs; k++) *sum += (double)loss[k];
out:
    return rc;
}

/* The moments of AdamW begin with 0. */
static int clear_moments(hpc_encoder *e)
{
    int rc = HPC_OK;
    for (hpc_value v = 0; v < e->p->value_n; v++) {
        const hpc_value_info *info = &e->p->value[v];
        bool moment = info->kind == HPC_VALUE_STATE && info->name &&
                      (strncmp(info->name, "m.", 2) == 0 || strncmp(info->name, "v.", 2) == 0);
        if (!moment) continue;
        void *zero = hpc_alloc(hpc_type_bytes(&info->type), 1);
        if (!zero) return HPC_E_NOMEM;
        rc = hpc_exec_write(e->e, 0, v, zero, hpc_type_bytes(&info->type));
        hpc_free(zero);
        TRY(rc);
    }
out:
    return rc;
}

int hpc_encoder_train(double *loss, hpc_encoder *e, const hpc_encoder_sample *s, int64_t n)
{
    int32_t step = 0;
    int rc = HPC_E_NOMEM;
    *loss = 0;
    if (n < 1) return hpc_fail(HPC_E_ARG, "the graph network has no samples to train on");
    int64_t *order = hpc_alloc((size_t)n + 1, sizeof *order);
    if (!order) return rc;
    TRY(hpc_saga_initialise(e->e, e->p, e->o.seed));
    TRY(clear_moments(e));
    for (int64_t epoch = 0; epoch < e->o.epochs; epoch++) {
        shuffle(order, n, e->o.seed, (uint32_t)epoch);
        *loss = 0;
        for (int64_t at = 0; at < n;) {
            double done = ((double)epoch + (double)at / (double)n) / (double)e->o.epochs;
            TRY(fill_batch(e, &at, s, order, n));
            TRY(train_step(e, loss, ++step, done));
        }
        *loss /= (double)n;
    }
out:
    hpc_free(order);
    return rc;
}

int hpc_encoder_score(double *out, hpc_encoder *e, const hpc_encoder_sample *s, int64_t n)
{
    float logits[BATCH_GRAPHS][2];
    int rc = HPC_OK;
    for (int64_t at = 0, begin = 0; at < n; begin = at) {
        TRY(fill_batch(e, &at, s, NULL, n));
        TRY(hpc_exec_run(e->e, 0, 0));
        TRY(hpc_exec_read(e->e, 0, e->net.logits, logits, sizeof logits));
        for (int64_t k = begin; k < at; k++)
            out[k] = (double)logits[k - begin][1] - (double)logits[k - begin][0];
    }
out:
    return rc;
}
