/*
 * Tests of training a graph network: two layers of GCN on a graph of Cora's size, generated with
 * communities and noisy features. The network learns what the features alone do not show, and the
 * number of threads changes no bit.
 *
 * With HPC_GRAPH_CURVES=DIR it also writes graph, features, first parameters and losses there, for
 * this graph and for one of the size of ogbn-arxiv; tests/bench/graph_curve.py repeats them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/graph/graph.h"
#include "tests/support/expect.h"

typedef struct sizes {
    const char *name;
    int vertices, edges, classes, features, hidden, given, steps;
} sizes;
/* As Cora, but for fewer features; 20 vertices of each class are given, as in its usual split. */
static const sizes cora = {"cora", 2708, 5278, 7, 48, 16, 140, 60};
/* As ogbn-arxiv, with as many given vertices as its training part has. */
static const sizes arxiv = {"arxiv", 169343, 1166243, 40, 128, 64, 90941, 30};

typedef struct task {
    const sizes *s;
    hpc_net net;
    float *x;                 /* [vertices][features] */
    int32_t *target, *hidden; /* classes of the given vertices, else -1; of all */
} task;

static uint32_t bits(uint32_t tensor, uint64_t i)
{
    return hpc_random_bits(7, tensor, 0, i);
}

/* Four of five edges stay within a class. */
static void make_edges(int32_t (*edge)[2], const sizes *s)
{
    const uint32_t n = (uint32_t)s->vertices;
    for (int k = 0; k < s->edges; k++) {
        int32_t u = (int32_t)(bits(1, (uint64_t)k) % n), v = (int32_t)(bits(2, (uint64_t)k) % n);
        if (bits(3, (uint64_t)k) % 5) v = v - v % s->classes + u % s->classes;
        edge[k][0] = u;
        edge[k][1] = v < s->vertices ? v : u;
    }
}

static void *numbers(int64_t n)
{
    void *p = hpc_alloc((size_t)n, 4);
    assert_non_null(p);
    return p;
}

/* linked: with the edges between vertices; otherwise with self-loops alone. */
static task make(const sizes *s, bool linked)
{
    int64_t cells = (int64_t)s->vertices * s->features;
    task t = {.s = s, .x = numbers(cells)};
    int32_t(*edge)[2] = numbers(2 * (int64_t)s->edges);
    t.target = numbers(s->vertices);
    t.hidden = numbers(s->vertices);
    make_edges(edge, s);
    hpc_random_fill_normal(t.x, cells, 7, 4, 0, 0);
    for (int v = 0; v < s->vertices; v++) {
        t.hidden[v] = v % s->classes;
        t.target[v] = v < s->given ? v % s->classes : -1;
        for (int c = v % s->classes; c < s->features; c += s->classes)
            t.x[(int64_t)v * s->features + c] += 0.35f;
    }
    test_ok(hpc_net_of_edges(&t.net, s->vertices, (const int32_t(*)[2])edge, linked ? s->edges : 0,
                             &(hpc_net_options){.both = true, .once = true, .loops = true}));
    hpc_free(edge);
    return t;
}

static void release(task *t)
{
    hpc_net_release(&t->net);
    hpc_free(t->x);
    hpc_free(t->target);
    hpc_free(t->hidden);
}

/* ---- the program ------------------------------------------------------------------------------
 */

typedef struct network {
    hpc_program *p;
    hpc_graph graph;
    hpc_value x, target, dloss, loss, logits, lr, step;
} network;

static hpc_value input(hpc_program *p, const char *name, hpc_dtype d, int64_t rows, int64_t cols)
{
    int rank = cols ? 2 : rows ? 1 : 0;
    return hpc_program_input(p, name, hpc_type_of(d, rank, (int64_t[]){rows, cols}));
}

static void emit_inputs(network *n, const hpc_net *g, const sizes *s)
{
    int64_t V = s->vertices;
    n->x = input(n->p, "x", HPC_F32, V, s->features);
    n->target = input(n->p, "target", HPC_I32, V, 0);
    n->dloss = input(n->p, "dloss", HPC_F32, V, 0);
    n->lr = input(n->p, "lr", HPC_F32, 0, 0);
    n->step = input(n->p, "step", HPC_I32, 0, 0);
    n->graph.start = input(n->p, "start", HPC_I32, V + 1, 0);
    n->graph.index = input(n->p, "index", HPC_I32, g->edges, 0);
    n->graph.back_start = input(n->p, "back_start", HPC_I32, V + 1, 0);
    n->graph.back_index = input(n->p, "back_index", HPC_I32, g->edges, 0);
    n->graph.back_edge = input(n->p, "back_edge", HPC_I32, g->edges, 0);
}

/* The second layer's product commutes with its sums, and is the head of the loss. */
static void emit_forward(network *n, const sizes *s)
{
    hpc_saga_options o = {.features = s->features,
                          .outputs = s->hidden,
                          .act = HPC_RELU,
                          .dtype = HPC_F32,
                          .trainable = true};
    hpc_saga_build b = {n->p, {.number = 1, .dtype = HPC_F32, .trainable = true}, HPC_NONE};
    hpc_value h = hpc_saga_emit(n->p, &hpc_saga_gcn, &o, n->x, &n->graph);
    h = hpc_graph_scale(n->p, h, n->graph.start, -0.5);
    h = hpc_graph_reduce(n->p, HPC_NEW, h, HPC_NONE, &n->graph, HPC_GRAPH_SUM);
    h = hpc_graph_scale(n->p, h, n->graph.start, -0.5);
    hpc_value w = hpc_saga_parameter(&b, "weight", s->classes, s->hidden);
    n->loss = hpc_head_loss(n->p, h, w, n->target);
    n->logits = hpc_linear(n->p, h, w, HPC_NONE, HPC_NONE);
    hpc_program_keep(n->p, n->loss);
    hpc_program_keep(n->p, n->logits);
}

static void emit_updates(network *n)
{
    int64_t values = n->p->value_n;
    int rc = hpc_program_segment(n->p, HPC_UPDATE, 0);
    test_ok(rc < 0 ? rc : 0);
    for (hpc_value v = 0; v < values; v++) {
        const hpc_value_info info = n->p->value[v];
        char name[2][64];
        if (info.kind != HPC_VALUE_STATE || !info.trainable) continue;
        snprintf(name[0], sizeof name[0], "m.%s", info.name);
        snprintf(name[1], sizeof name[1], "v.%s", info.name);
        hpc_adamw(n->p, v, hpc_program_state(n->p, name[0], info.type, false),
                  hpc_program_state(n->p, name[1], info.type, false), HPC_NONE, info.grad, n->lr,
                  n->step, HPC_NONE,
                  (hpc_adamw_attr){.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .decay = 5e-3});
    }
}

static void emit(network *n, const hpc_net *g, const sizes *s)
{
    n->p = hpc_program_create();
    test_ok(hpc_program_segment(n->p, HPC_FORWARD, 0));
    emit_inputs(n, g, s);
    emit_forward(n, s);
    int back = hpc_program_segment(n->p, HPC_BACKWARD, 0);
    test_ok(hpc_differentiate(n->p, &(hpc_diff_options){.forward = 0,
                                                        .backward = back,
                                                        .accumulate = -1,
                                                        .anew = true,
                                                        .seed_of = &n->loss,
                                                        .seed = &n->dloss,
                                                        .seed_n = 1}));
    emit_updates(n);
    test_ok(hpc_program_status(n->p));
    test_ok(hpc_program_check(n->p));
}

/* ---- training
 * ------------------------------------------------------------------------------------ */

static void write_all(hpc_exec *e, const network *n, const task *t)
{
    float lr = 0.02f, *dloss = numbers(t->s->vertices);
    size_t vertices = (size_t)t->s->vertices * 4, starts = vertices + 4;
    size_t edges = (size_t)t->net.edges * 4;
    for (int v = 0; v < t->s->vertices; v++) dloss[v] = 1.0f / (float)t->s->given;
    test_ok(hpc_exec_write(e, 0, n->x, t->x, vertices * (size_t)t->s->features));
    test_ok(hpc_exec_write(e, 0, n->target, t->target, vertices));
    test_ok(hpc_exec_write(e, 0, n->dloss, dloss, vertices));
    test_ok(hpc_exec_write(e, 0, n->lr, &lr, sizeof lr));
    test_ok(hpc_exec_write(e, 0, n->graph.start, t->net.start, starts));
    test_ok(hpc_exec_write(e, 0, n->graph.index, t->net.index, edges));
    test_ok(hpc_exec_write(e, 0, n->graph.back_start, t->net.back_start, starts));
    test_ok(hpc_exec_write(e, 0, n->graph.back_index, t->net.back_index, edges));
    test_ok(hpc_exec_write(e, 0, n->graph.back_edge, t->net.back_edge, edges));
    hpc_free(dloss);
}

static double mean_loss(hpc_exec *e, const network *n, const sizes *s)
{
    float *loss = numbers(s->vertices);
    double sum = 0;
    test_ok(hpc_exec_read(e, 0, n->loss, loss, (size_t)s->vertices * 4));
    for (int v = 0; v < s->given; v++) sum += (double)loss[v];
    hpc_free(loss);
    return sum / s->given;
}

static double accuracy(hpc_exec *e, const network *n, const task *t)
{
    const sizes *s = t->s;
    float *logits = numbers((int64_t)s->vertices * s->classes);
    int right = 0;
    test_ok(hpc_exec_read(e, 0, n->logits, logits, (size_t)s->vertices * (size_t)s->classes * 4));
    for (int v = s->given; v < s->vertices; v++) {
        const float *row = logits + (int64_t)v * s->classes;
        int best = 0;
        for (int c = 1; c < s->classes; c++)
            if (row[c] > row[best]) best = c;
        right += best == t->hidden[v];
    }
    hpc_free(logits);
    return (double)right / (s->vertices - s->given);
}

/* ---- files for graph_curve.py: little-endian arrays --------------------------------------------
 */

static void put_file(const char *folder, const char *task_name, const char *name, const void *data,
                     size_t bytes)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s.%s", folder, task_name, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

static void put_task(const char *folder, hpc_exec *e, const network *n, const task *t)
{
    const sizes *s = t->s;
    size_t vertices = (size_t)s->vertices * 4;
    put_file(folder, s->name, "sizes", &s->vertices, 7 * sizeof s->vertices);
    put_file(folder, s->name, "x", t->x, vertices * (size_t)s->features);
    put_file(folder, s->name, "target", t->target, vertices);
    put_file(folder, s->name, "hidden", t->hidden, vertices);
    put_file(folder, s->name, "start", t->net.start, vertices + 4);
    put_file(folder, s->name, "index", t->net.index, (size_t)t->net.edges * 4);
    for (hpc_value v = 0; v < n->p->value_n; v++) {
        const hpc_value_info *info = &n->p->value[v];
        size_t bytes = hpc_type_bytes(&info->type);
        if (info->kind != HPC_VALUE_STATE || !info->trainable) continue;
        void *data = numbers((int64_t)bytes / 4);
        test_ok(hpc_exec_read(e, 0, v, data, bytes));
        put_file(folder, s->name, info->name, data, bytes);
        hpc_free(data);
    }
}

enum { STEPS_MOST = 60 };
typedef struct outcome {
    double loss[STEPS_MOST], accuracy;
} outcome;

/* folder: for files of the task, or NULL. */
static void train(outcome *out, const sizes *s, bool linked, int threads, const char *folder)
{
    task t = make(s, linked);
    network n;
    hpc_device *d;
    hpc_exec *e;
    emit(&n, &t.net, s);
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "cpu", .threads = threads}));
    test_ok(hpc_exec_open(&e, n.p, d, NULL, NULL));
    test_ok(hpc_saga_initialise(e, n.p, 3));
    write_all(e, &n, &t);
    if (folder) put_task(folder, e, &n, &t);
    for (int32_t step = 1; step <= s->steps; step++) {
        test_ok(hpc_exec_write(e, 0, n.step, &step, sizeof step));
        for (int k = 0; k < 3; k++) test_ok(hpc_exec_run(e, k, 0));
        out->loss[step - 1] = mean_loss(e, &n, s);
    }
    out->accuracy = accuracy(e, &n, &t);
    if (folder) put_file(folder, s->name, "loss", out->loss, (size_t)s->steps * sizeof(double));
    if (folder) put_file(folder, s->name, "accuracy", &out->accuracy, sizeof out->accuracy);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(n.p);
    release(&t);
}

static void edges_teach_more_than_features(void **state)
{
    (void)state;
    outcome with, without;
    const char *folder = getenv("HPC_GRAPH_CURVES");
    train(&with, &cora, true, 2, folder);
    train(&without, &cora, false, 2, NULL);
    print_message("accuracy %.3f with edges, %.3f without; loss %.3f to %.3f\n", with.accuracy,
                  without.accuracy, with.loss[0], with.loss[cora.steps - 1]);
    assert_true(with.loss[0] > 1.7 && with.loss[cora.steps - 1] < 1);
    assert_true(with.accuracy > without.accuracy + 0.2);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    outcome one, three;
    train(&one, &cora, true, 1, NULL);
    train(&three, &cora, true, 3, NULL);
    assert_memory_equal(one.loss, three.loss, sizeof one.loss);
    assert_true(one.accuracy == three.accuracy);
}

static void a_graph_of_arxivs_size_is_learned(void **state)
{
    (void)state;
    const char *folder = getenv("HPC_GRAPH_CURVES");
    outcome o;
    if (!folder && !getenv("HPC_TEST_LONG")) {
        print_message("SKIP: set HPC_TEST_LONG=1\n");
        skip();
    }
    train(&o, &arxiv, true, 1, folder);
    print_message("accuracy %.3f, loss %.3f to %.3f\n", o.accuracy, o.loss[0],
                  o.loss[arxiv.steps - 1]);
    assert_true(o.loss[arxiv.steps - 1] < o.loss[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_teach_more_than_features),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_graph_of_arxivs_size_is_learned),
    };
    return cmocka_run_group_tests_name("graph/train", tests, NULL, NULL);
}
