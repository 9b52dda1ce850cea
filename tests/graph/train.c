/*
 * Tests of training a graph network: two layers of GCN on a graph of Cora's size, generated with
 * communities and noisy features. The network learns what the features alone do not show, and the
 * number of threads changes no bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "model/graph/graph.h"
#include "tests/support/expect.h"

/* As Cora, but for fewer features. 20 vertices of each class are given, as in its usual split. */
enum { V = 2708, EDGES = 5278, CLASSES = 7, F = 48, HIDDEN = 16, GIVEN = 140, STEPS = 60 };

typedef struct task {
    hpc_net net;
    float x[V][F];
    int32_t target[V], hidden[V]; /* classes of the given vertices, else -1; of all */
} task;

static uint32_t bits(uint32_t tensor, uint64_t i)
{
    return hpc_random_bits(7, tensor, 0, i);
}

/* Four of five edges stay within a class. */
static void make_edges(int32_t (*edge)[2])
{
    for (int k = 0; k < EDGES; k++) {
        int32_t u = (int32_t)(bits(1, (uint64_t)k) % V), v = (int32_t)(bits(2, (uint64_t)k) % V);
        if (bits(3, (uint64_t)k) % 5) v = v - v % CLASSES + u % CLASSES;
        edge[k][0] = u;
        edge[k][1] = v < V ? v : u;
    }
}

/* linked: with the edges between vertices; otherwise with self-loops alone. */
static task *make(bool linked)
{
    task *t = hpc_alloc(1, sizeof *t);
    int32_t(*edge)[2] = hpc_alloc(EDGES, sizeof *edge);
    assert_non_null(t);
    assert_non_null(edge);
    make_edges(edge);
    hpc_random_fill_normal(t->x[0], V * F, 7, 4, 0, 0);
    for (int v = 0; v < V; v++) {
        t->hidden[v] = v % CLASSES;
        t->target[v] = v < GIVEN ? v % CLASSES : -1;
        for (int c = v % CLASSES; c < F; c += CLASSES) t->x[v][c] += 0.35f;
    }
    test_ok(hpc_net_of_edges(&t->net, V, (const int32_t(*)[2])edge, linked ? EDGES : 0,
                             &(hpc_net_options){.both = true, .once = true, .loops = true}));
    hpc_free(edge);
    return t;
}

static void release(task *t)
{
    hpc_net_release(&t->net);
    hpc_free(t);
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

static void emit_inputs(network *n, const hpc_net *g)
{
    n->x = input(n->p, "x", HPC_F32, V, F);
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
static void emit_forward(network *n)
{
    hpc_saga_options o = {
        .features = F, .outputs = HIDDEN, .act = HPC_RELU, .dtype = HPC_F32, .trainable = true};
    hpc_saga_build b = {n->p, {.number = 1, .dtype = HPC_F32, .trainable = true}, HPC_NONE};
    hpc_value h = hpc_saga_emit(n->p, &hpc_saga_gcn, &o, n->x, &n->graph);
    h = hpc_graph_scale(n->p, h, n->graph.start, -0.5);
    h = hpc_graph_reduce(n->p, HPC_NEW, h, HPC_NONE, &n->graph, HPC_GRAPH_SUM);
    h = hpc_graph_scale(n->p, h, n->graph.start, -0.5);
    hpc_value w = hpc_saga_parameter(&b, "weight", CLASSES, HIDDEN);
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

static void emit(network *n, const hpc_net *g)
{
    n->p = hpc_program_create();
    test_ok(hpc_program_segment(n->p, HPC_FORWARD, 0));
    emit_inputs(n, g);
    emit_forward(n);
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
    float dloss[V], lr = 0.02f;
    size_t edges = (size_t)t->net.edges * 4, starts = (V + 1) * 4;
    for (int v = 0; v < V; v++) dloss[v] = 1.0f / GIVEN;
    test_ok(hpc_exec_write(e, 0, n->x, t->x, sizeof t->x));
    test_ok(hpc_exec_write(e, 0, n->target, t->target, sizeof t->target));
    test_ok(hpc_exec_write(e, 0, n->dloss, dloss, sizeof dloss));
    test_ok(hpc_exec_write(e, 0, n->lr, &lr, sizeof lr));
    test_ok(hpc_exec_write(e, 0, n->graph.start, t->net.start, starts));
    test_ok(hpc_exec_write(e, 0, n->graph.index, t->net.index, edges));
    test_ok(hpc_exec_write(e, 0, n->graph.back_start, t->net.back_start, starts));
    test_ok(hpc_exec_write(e, 0, n->graph.back_index, t->net.back_index, edges));
    test_ok(hpc_exec_write(e, 0, n->graph.back_edge, t->net.back_edge, edges));
}

static double mean_loss(hpc_exec *e, const network *n)
{
    float loss[V];
    double sum = 0;
    test_ok(hpc_exec_read(e, 0, n->loss, loss, sizeof loss));
    for (int v = 0; v < GIVEN; v++) sum += (double)loss[v];
    return sum / GIVEN;
}

static double accuracy(hpc_exec *e, const network *n, const task *t)
{
    static float logits[V][CLASSES];
    int right = 0;
    test_ok(hpc_exec_read(e, 0, n->logits, logits, sizeof logits));
    for (int v = GIVEN; v < V; v++) {
        int best = 0;
        for (int c = 1; c < CLASSES; c++)
            if (logits[v][c] > logits[v][best]) best = c;
        right += best == t->hidden[v];
    }
    return (double)right / (V - GIVEN);
}

typedef struct outcome {
    double loss[STEPS], accuracy;
} outcome;

static void train(outcome *out, bool linked, int threads)
{
    task *t = make(linked);
    network n;
    hpc_device *d;
    hpc_exec *e;
    emit(&n, &t->net);
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "cpu", .threads = threads}));
    test_ok(hpc_exec_open(&e, n.p, d, NULL, NULL));
    test_ok(hpc_saga_initialise(e, n.p, 3));
    write_all(e, &n, t);
    for (int32_t step = 1; step <= STEPS; step++) {
        test_ok(hpc_exec_write(e, 0, n.step, &step, sizeof step));
        for (int s = 0; s < 3; s++) test_ok(hpc_exec_run(e, s, 0));
        out->loss[step - 1] = mean_loss(e, &n);
    }
    out->accuracy = accuracy(e, &n, t);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(n.p);
    release(t);
}

static void edges_teach_more_than_features(void **state)
{
    (void)state;
    outcome with, without;
    train(&with, true, 2);
    train(&without, false, 2);
    print_message("accuracy %.3f with edges, %.3f without; loss %.3f to %.3f\n", with.accuracy,
                  without.accuracy, with.loss[0], with.loss[STEPS - 1]);
    assert_true(with.loss[0] > 1.7 && with.loss[STEPS - 1] < 1);
    assert_true(with.accuracy > without.accuracy + 0.2);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    outcome one, three;
    train(&one, true, 1);
    train(&three, true, 3);
    assert_memory_equal(one.loss, three.loss, sizeof one.loss);
    assert_true(one.accuracy == three.accuracy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_teach_more_than_features),
        cmocka_unit_test(threads_change_no_bit),
    };
    return cmocka_run_group_tests_name("graph/train", tests, NULL, NULL);
}
