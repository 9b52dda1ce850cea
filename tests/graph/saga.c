/*
 * Tests of graph networks: layers streamed in chunks, and on ranks in a ring, compared with dense
 * adjacency matrices in double precision; counted rows, edges and steps; gradients of whole
 * networks by central differences.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "model/graph/graph.h"
#include "tests/support/expect.h"
#include "tests/support/ranks.h"
#include "tests/support/values.h"

enum { V = 40, F = 6, EDGES = 260, HEADS = 2 };

/* ---- the dense definition ------------------------------------------------------------------ */

/* A parameter as the layer's initialisation made it, read from an executor. */
typedef struct dense {
    hpc_exec *e;
    const hpc_program *p;
    double a[V][V]; /* a[v][u]: how many edges lead from u to v */
} dense;

static const double *parameter(const dense *d, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "0.%s", name);
    hpc_value v = hpc_program_find(d->p, full);
    if (v < 0) fail_msg("no parameter %s", full);
    return hpc_exec_address(d->e, 0, v);
}

/* y[V][F] += x[V][F] w^T */
static void multiply(double (*y)[F], double (*x)[F], const double *w)
{
    for (int v = 0; v < V; v++)
        for (int o = 0; o < F; o++)
            for (int i = 0; i < F; i++) y[v][o] += x[v][i] * w[o * F + i];
}

static void add_bias(double (*y)[F], const double *b)
{
    for (int v = 0; v < V; v++)
        for (int o = 0; o < F; o++) y[v][o] += b[o];
}

static void relu(double (*y)[F])
{
    for (int v = 0; v < V; v++)
        for (int i = 0; i < F; i++) y[v][i] = fmax(y[v][i], 0);
}

static double degree(const dense *d, int v)
{
    double n = 0;
    for (int u = 0; u < V; u++) n += d->a[v][u];
    return n;
}

/* y = the sum over edges of by[v][u] x[u] */
static void aggregate(double (*y)[F], const dense *d, double (*x)[F], double (*by)[V])
{
    for (int v = 0; v < V; v++)
        for (int u = 0; u < V; u++)
            for (int i = 0; i < F; i++) y[v][i] += d->a[v][u] * (by ? by[v][u] : 1) * x[u][i];
}

static void dense_gcn(double (*y)[F], const dense *d, double (*x)[F])
{
    double h[V][F] = {{0}};
    double by[V][V];
    for (int v = 0; v < V; v++)
        for (int u = 0; u < V; u++) {
            double n = degree(d, v) * degree(d, u);
            by[v][u] = n > 0 ? 1 / sqrt(n) : 0;
        }
    multiply(h, x, parameter(d, "weight"));
    aggregate(y, d, h, by);
    add_bias(y, parameter(d, "bias"));
    relu(y);
}

static void dense_sage(double (*y)[F], const dense *d, double (*x)[F])
{
    double mean[V][F] = {{0}};
    aggregate(mean, d, x, NULL);
    for (int v = 0; v < V; v++)
        for (int i = 0; i < F; i++) mean[v][i] /= fmax(degree(d, v), 1);
    multiply(y, x, parameter(d, "self.weight"));
    multiply(y, mean, parameter(d, "neighbour.weight"));
    add_bias(y, parameter(d, "bias"));
    relu(y);
}

static void dense_sage_max(double (*y)[F], const dense *d, double (*x)[F])
{
    double h[V][F] = {{0}}, most[V][F] = {{0}};
    multiply(h, x, parameter(d, "pool.weight"));
    add_bias(h, parameter(d, "pool.bias"));
    relu(h);
    for (int v = 0; v < V; v++)
        for (int u = 0; u < V; u++)
            for (int i = 0; i < F && d->a[v][u] > 0; i++) most[v][i] = fmax(most[v][i], h[u][i]);
    multiply(y, x, parameter(d, "self.weight"));
    multiply(y, most, parameter(d, "neighbour.weight"));
    add_bias(y, parameter(d, "bias"));
    relu(y);
}

static void dense_gat(double (*y)[F], const dense *d, double (*x)[F])
{
    const double *left = parameter(d, "target"), *right = parameter(d, "source");
    double h[V][F] = {{0}};
    enum { D = F / HEADS };
    multiply(h, x, parameter(d, "weight"));
    for (int v = 0; v < V; v++)
        for (int head = 0; head < HEADS; head++) {
            double sum = 0;
            for (int u = 0; u < V; u++) {
                double s = 0;
                for (int i = head * D; i < (head + 1) * D; i++)
                    s += left[i] * h[v][i] + right[i] * h[u][i];
                double w = d->a[v][u] * exp(s > 0 ? s : 0.2 * s);
                sum += w;
                for (int i = head * D; i < (head + 1) * D; i++) y[v][i] += w * h[u][i];
            }
            for (int i = head * D; i < (head + 1) * D; i++) y[v][i] /= sum > 0 ? sum : 1;
        }
    add_bias(y, parameter(d, "bias"));
    relu(y);
}

static void dense_gin(double (*y)[F], const dense *d, double (*x)[F])
{
    double sum[V][F], h[V][F] = {{0}};
    memcpy(sum, x, sizeof sum);
    aggregate(sum, d, x, NULL);
    multiply(h, sum, parameter(d, "weight"));
    add_bias(h, parameter(d, "bias"));
    relu(h);
    multiply(y, h, parameter(d, "second.weight"));
    add_bias(y, parameter(d, "second.bias"));
    relu(y);
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static void dense_gated(double (*y)[F], const dense *d, double (*x)[F])
{
    double h[V][F] = {{0}}, m[V][F] = {{0}}, r[V][F] = {{0}}, z[V][F] = {{0}};
    double old[V][F] = {{0}}, n[V][F] = {{0}};
    multiply(h, x, parameter(d, "message"));
    aggregate(m, d, h, NULL);
    multiply(r, x, parameter(d, "reset.state"));
    multiply(r, m, parameter(d, "reset.message"));
    multiply(z, x, parameter(d, "keep.state"));
    multiply(z, m, parameter(d, "keep.message"));
    multiply(old, x, parameter(d, "new.state"));
    multiply(n, m, parameter(d, "new.message"));
    for (int v = 0; v < V; v++)
        for (int i = 0; i < F; i++) {
            double fresh = tanh(n[v][i] + logistic(r[v][i]) * old[v][i]);
            double keep = logistic(z[v][i]);
            y[v][i] = (1 - keep) * fresh + keep * x[v][i];
        }
}

/* GAT with scores by edge, as layers have them that are not sums of terms of both ends. */
static hpc_value leaky_scores(hpc_saga_build *b, const hpc_saga_ends *ends, const hpc_graph *g)
{
    hpc_value s = hpc_graph_add(b->p, ends->target, ends->source, g);
    hpc_value up = hpc_scale(b->p, HPC_NEW, hpc_activate(b->p, s, HPC_RELU), HPC_NONE, 0.8);
    return hpc_binary(b->p, HPC_ADD, hpc_scale(b->p, HPC_NEW, s, HPC_NONE, 0.2), up);
}

static hpc_saga_layer gat_by_edge(void)
{
    hpc_saga_layer l = hpc_saga_gat;
    l.gather = HPC_SAGA_SOFTMAX;
    l.apply_edge = leaky_scores;
    return l;
}

static void (*const denses[])(double (*y)[F], const dense *d, double (*x)[F]) = {
    dense_gcn, dense_sage, dense_sage_max, dense_gat, dense_gin, dense_gated};

/* ---- graphs --------------------------------------------------------------------------------- */

/* Vertices 3 and 7 have no edges into them; some edges are repeated; some are self-loops. */
static void make(hpc_net *g)
{
    int32_t edge[EDGES][2];
    for (int k = 0; k < EDGES; k++) {
        edge[k][0] = (k * 13 + k / 7) % V;
        edge[k][1] = k % 3 ? (k * 29 + k / 5) % V : 11;
        if (edge[k][1] == 3 || edge[k][1] == 7) edge[k][1] = edge[k][0] = 12;
    }
    test_ok(hpc_net_of_edges(g, V, (const int32_t(*)[2])edge, EDGES, NULL));
}

static void fill(dense *d, const hpc_net *g)
{
    memset(d->a, 0, sizeof d->a);
    for (int v = 0; v < V; v++)
        for (int32_t k = g->start[v]; k < g->start[v + 1]; k++) d->a[v][g->index[k]]++;
}

static void draw(double (*x)[F])
{
    for (int k = 0; k < V * F; k++) x[k / F][k % F] = sin(k * 1.7) + 0.3 * cos(k * 0.31);
}

static hpc_saga_options options(void)
{
    return (hpc_saga_options){
        .features = F, .outputs = F, .heads = HEADS, .act = HPC_RELU, .dtype = HPC_F64};
}

static void assert_close(const double *y, const double *want, int64_t n, const char *what)
{
    double most = 0;
    for (int64_t k = 0; k < n; k++) most = fmax(most, fabs(want[k]));
    for (int64_t k = 0; k < n; k++)
        if (!(fabs(y[k] - want[k]) <= 1e-12 * most))
            fail_msg("%s: element %d is %.17g, the dense result %.17g", what, (int)k, y[k],
                     want[k]);
}

/* ---- streams ----------------------------------------------------------------------------------
 */

static void stream_once(const hpc_saga_layer *l, int64_t parts, const char *backend,
                        void (*solve)(double (*y)[F], const dense *d, double (*x)[F]))
{
    hpc_net g;
    hpc_net_chunks c;
    hpc_device *d;
    hpc_saga_stream *s;
    double x[V][F], y[V][F], want[V][F] = {{0}};
    hpc_saga_options o = options();
    make(&g);
    draw(x);
    test_ok(hpc_net_chunks_of(&c, &g, parts));
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = backend, .threads = 2}));
    test_ok(hpc_saga_stream_open(&s, d, l, &o, &c));
    test_ok(hpc_saga_initialise(hpc_saga_stream_exec(s), hpc_saga_stream_program(s), 5));
    for (int repeat = 0; repeat < 2; repeat++) test_ok(hpc_saga_stream_run(s, y, x));
    if (solve) {
        dense all = {hpc_saga_stream_exec(s), hpc_saga_stream_program(s), {{0}}};
        fill(&all, &g);
        solve(want, &all, x);
        assert_close(y[0], want[0], V * F, l->name);
    }
    hpc_saga_traffic t = hpc_saga_stream_traffic(s);
    assert_int_equal(t.edges, g.edges);
    assert_int_equal(t.result_rows, V);
    int64_t rows = 0;
    for (int64_t k = 0; k < parts * parts; k++)
        if (c.chunk[k].edges) rows += c.first[k % parts + 1] - c.first[k % parts];
    assert_int_equal(t.source_rows, rows);
    if (parts <= 3) assert_int_equal(t.source_rows, parts * V); /* no chunk is empty */
    hpc_saga_stream_close(s);
    hpc_device_close(d);
    hpc_net_chunks_close(&c);
    hpc_net_release(&g);
}

static void chunks_equal_dense_adjacency(void **state)
{
    static const int64_t parts[] = {1, 2, 3, 7, 40, 53};
    (void)state;
    for (int l = 0; hpc_saga_layers[l]; l++)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            stream_once(hpc_saga_layers[l], parts[k], "cpu", denses[l]);
            if (k == 2) stream_once(hpc_saga_layers[l], parts[k], "mock", NULL);
        }
}

static void scores_by_edge_equal_dense_adjacency(void **state)
{
    (void)state;
    const hpc_saga_layer l = gat_by_edge();
    for (int64_t parts = 1; parts < 8; parts += 3) stream_once(&l, parts, "cpu", dense_gat);
}

/* ---- rings --------------------------------------------------------------------------------------
 */

typedef struct ring_case {
    const hpc_saga_layer *l;
    hpc_net_chunks c;
    double x[V][F], y[V][F];
} ring_case;

static int rank_of_ring(hpc_link *world, void *user)
{
    ring_case *r = user;
    hpc_device *d = NULL;
    hpc_saga_stream *s = NULL;
    hpc_saga_options o = options();
    int64_t first = r->c.first[hpc_link_rank(world)];
    int rc;
    TRY(hpc_device_open(&d, &(hpc_device_options){.backend = "cpu", .threads = 1}));
    TRY(hpc_saga_stream_open(&s, d, r->l, &o, &r->c));
    TRY(hpc_saga_initialise(hpc_saga_stream_exec(s), hpc_saga_stream_program(s), 5));
    TRY(hpc_saga_stream_ring(s, world, r->y[first], r->x[first]));
    EXPECT(hpc_saga_stream_traffic(s).ring_steps == hpc_link_size(world) - 1);
    EXPECT(world->traffic.messages[HPC_SEND] ==
           (hpc_link_size(world) - 1) * (r->l->gather >= HPC_SAGA_SOFTMAX ? 2 : 1));
out:
    hpc_saga_stream_close(s);
    if (d) hpc_device_close(d);
    return rc;
}

static void rings_equal_one_process(void **state)
{
    static const int ranks[] = {1, 2, 3, 5};
    (void)state;
    for (int l = 0; hpc_saga_layers[l]; l++)
        for (int n = 0; n < 4; n++) {
            ring_case r = {.l = hpc_saga_layers[l]};
            double want[V][F];
            hpc_net g;
            hpc_device *d;
            hpc_saga_stream *s;
            hpc_saga_options o = options();
            make(&g);
            draw(r.x);
            test_ok(hpc_net_chunks_of(&r.c, &g, ranks[n]));
            assert_no_failure(hpc_threads_run(ranks[n], rank_of_ring, &r));
            test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "cpu", .threads = 1}));
            test_ok(hpc_saga_stream_open(&s, d, r.l, &o, &r.c));
            test_ok(hpc_saga_initialise(hpc_saga_stream_exec(s), hpc_saga_stream_program(s), 5));
            test_ok(hpc_saga_stream_run(s, want, r.x));
            assert_close(r.y[0], want[0], V * F, r.l->name);
            hpc_saga_stream_close(s);
            hpc_device_close(d);
            hpc_net_chunks_close(&r.c);
            hpc_net_release(&g);
        }
}

/* ---- whole layers in memory
 * ---------------------------------------------------------------------- */

static hpc_graph graph_inputs(hpc_program *p, const hpc_net *g)
{
    hpc_type starts = hpc_type_of(HPC_I32, 1, (int64_t[]){g->vertices + 1});
    hpc_type edges = hpc_type_of(HPC_I32, 1, (int64_t[]){g->edges});
    hpc_graph out = {.start = hpc_program_input(p, "start", starts)};
    out.index = hpc_program_input(p, "index", edges);
    out.back_start = hpc_program_input(p, "back_start", starts);
    out.back_index = hpc_program_input(p, "back_index", edges);
    out.back_edge = hpc_program_input(p, "back_edge", edges);
    return out;
}

static void write_graph(hpc_exec *e, const hpc_graph *v, const hpc_net *g)
{
    size_t starts = (size_t)(g->vertices + 1) * 4, edges = (size_t)g->edges * 4;
    test_ok(hpc_exec_write(e, 0, v->start, g->start, starts));
    test_ok(hpc_exec_write(e, 0, v->index, g->index, edges));
    test_ok(hpc_exec_write(e, 0, v->back_start, g->back_start, starts));
    test_ok(hpc_exec_write(e, 0, v->back_index, g->back_index, edges));
    test_ok(hpc_exec_write(e, 0, v->back_edge, g->back_edge, edges));
}

/* No value has a row for each edge, but for the arrays of the graph and the layer's own scores. */
static void assert_nothing_by_edge(const hpc_program *p, const hpc_saga_layer *l, int64_t edges)
{
    for (hpc_value v = 0; v < p->value_n && !l->apply_edge; v++)
        if (p->value[v].type.rank == 2 && p->value[v].type.extent[0] == edges)
            fail_msg("%s: value %d has a row for each edge", l->name, (int)v);
}

/* Two layers, the sum of the squares of the results, and its gradients by differences. */
static void gradients_of(const hpc_saga_layer *l)
{
    hpc_net g;
    hpc_device *d;
    hpc_exec *e;
    double x[V][F], loss, one = 1;
    hpc_saga_options o = options();
    hpc_program *p = hpc_program_create();
    make(&g);
    draw(x);
    o.trainable = true;
    o.act = HPC_TANH;
    test_ok(hpc_program_segment(p, HPC_FORWARD, 0));
    hpc_graph graph = graph_inputs(p, &g);
    hpc_value input = hpc_program_input(p, "x", hpc_type_of(HPC_F64, 2, (int64_t[]){V, F}));
    hpc_value seed = hpc_program_input(p, "seed", hpc_type_of(HPC_F64, 0, NULL));
    hpc_value h = hpc_saga_emit(p, l, &o, input, &graph);
    o.number = 1;
    h = hpc_saga_emit(p, l, &o, h, &graph);
    hpc_value y = hpc_reduce(p, HPC_NEW, h, HPC_SUMSQ, HPC_OVER_ALL);
    hpc_program_keep(p, y);
    test_ok(hpc_program_status(p));
    int back = hpc_program_segment(p, HPC_BACKWARD, 0);
    test_ok(hpc_differentiate(p, &(hpc_diff_options){.forward = 0,
                                                     .backward = back,
                                                     .accumulate = -1,
                                                     .seed_of = &y,
                                                     .seed = &seed,
                                                     .seed_n = 1}));
    test_ok(hpc_program_check(p));
    assert_nothing_by_edge(p, l, g.edges);
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "cpu", .threads = 1}));
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    test_ok(hpc_saga_initialise(e, p, 9));
    write_graph(e, &graph, &g);
    test_ok(hpc_exec_write(e, 0, input, x, sizeof x));
    test_ok(hpc_exec_write(e, 0, seed, &one, sizeof one));
    for (int s = 0; s < 2; s++) test_ok(hpc_exec_run(e, s, 0));
    int tried = 0;
    for (hpc_value v = 0; v < p->value_n; v++) {
        const hpc_value_info *info = &p->value[v];
        if (info->kind != HPC_VALUE_STATE || !info->trainable) continue;
        double *w = hpc_exec_address(e, 0, v), side[2];
        const double *grad = hpc_exec_address(e, 0, info->grad);
        int at = 1 % (int)(hpc_type_bytes(&info->type) / sizeof *w);
        double keep = w[at], step = 1e-5;
        for (int k = 0; k < 2; k++) {
            w[at] = keep + (k ? step : -step);
            test_ok(hpc_exec_run(e, 0, 0));
            test_ok(hpc_exec_read(e, 0, y, &loss, sizeof loss));
            side[k] = loss;
        }
        w[at] = keep;
        double want = (side[1] - side[0]) / (2 * step);
        if (!(fabs(grad[at] - want) <= 1e-6 * (1 + fabs(want))))
            fail_msg("%s: gradient of %s is %.9g, by differences %.9g", l->name, info->name,
                     grad[at], want);
        tried++;
    }
    assert_true(tried >= 4);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
    hpc_net_release(&g);
}

static void gradients_equal_central_differences(void **state)
{
    (void)state;
    const hpc_saga_layer by_edge = gat_by_edge();
    for (int l = 0; hpc_saga_layers[l]; l++) gradients_of(hpc_saga_layers[l]);
    gradients_of(&by_edge);
}

static void layers_are_found_by_name(void **state)
{
    (void)state;
    for (int l = 0; hpc_saga_layers[l]; l++)
        assert_ptr_equal(hpc_saga_find(hpc_saga_layers[l]->name), hpc_saga_layers[l]);
    assert_null(hpc_saga_find("gnn"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_equal_dense_adjacency),
        cmocka_unit_test(scores_by_edge_equal_dense_adjacency),
        cmocka_unit_test(rings_equal_one_process),
        cmocka_unit_test(gradients_equal_central_differences),
        cmocka_unit_test(layers_are_found_by_name),
    };
    return cmocka_run_group_tests_name("graph/saga", tests, NULL, NULL);
}
