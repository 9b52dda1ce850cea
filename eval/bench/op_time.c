/*
 * op_time.c: the time of a case with warm caches, in alternation with its peers.
 *
 * The machine's speed drifts, so contestants alternate within one run. Before each turn, the
 * threads of the previous contestant get time to fall asleep.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eval/bench/priv.h"

enum {
    LEAST_REPEATS = 10,
    MOST_REPEATS = 256,
    MOST_COLD = 4096,
    LEAST_SAMPLES = 3,
    MOST_SAMPLES = 1000
};
static const double run_ns = 1e6, long_ns = 5e7; /* of a run: starting must cost little; patience */
static const double outputs_most = 0x1p28, cold_most = 0x1p30; /* bytes */
static const struct timespec pause_time = {.tv_nsec = 10000000};

/* ---- samples --------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double hpc_bench_median(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* ---- turns ---------------------------------------------------------------------------------- */

static hpc_bench_time summary(double *sample, int64_t n, int calls)
{
    double middle = hpc_bench_median(sample, n);
    return (hpc_bench_time){middle / calls, sample[0] / calls, n};
}

/* One turn that counts, after one that does not: it wakes threads and warms caches. */
static int take_turn(double *ns, const hpc_bench_contestant *c, bool alone)
{
    int rc;
    if (!alone) {
        nanosleep(&pause_time, NULL);
        TRY(c->turn(c->user));
    }
    int64_t start = hpc_clock_ns();
    TRY(c->turn(c->user));
    *ns = (double)(hpc_clock_ns() - start);
out:
    return rc;
}

int hpc_bench_alternate(hpc_bench_time *time, const hpc_bench_contestant *c, int n, int calls,
                        double seconds)
{
    int rc = HPC_OK;
    int64_t samples = 0, start;
    double *ns = hpc_alloc((size_t)n * MOST_SAMPLES, sizeof *ns);
    if (!ns) return HPC_E_NOMEM;
    for (int k = 0; k < n; k++) TRY(c[k].turn(c[k].user));
    start = hpc_clock_ns();
    while (samples < MOST_SAMPLES &&
           (samples < LEAST_SAMPLES || (double)(hpc_clock_ns() - start) < seconds * n * 1e9))
    {
        for (int k = 0; k < n; k++) TRY(take_turn(&ns[k * MOST_SAMPLES + samples], &c[k], n == 1));
        samples++;
    }
    for (int k = 0; k < n; k++) time[k] = summary(ns + k * MOST_SAMPLES, samples, calls);
out:
    hpc_free(ns);
    return rc;
}

/* ---- contestants ---------------------------------------------------------------------------- */

static int our_turn(void *user)
{
    hpc_bench_program *prog = user;
    return hpc_exec_run(prog->exec, BENCH_MEASURED, 0);
}

typedef struct rival {
    const hpc_peer *peer;
    void *self;
    hpc_bench_program *prog; /* it works on the operands of this program */
} rival;

enum { PRODUCT_Y = 0, PRODUCT_A = 2, PRODUCT_B = 3 }; /* operands of a product */

static int rival_call(const rival *v, int k)
{
    const hpc_value *operand = v->prog->p->segment[BENCH_MEASURED].insn[k].operand;
    hpc_exec *e = v->prog->exec;
    if (v->peer->run(v->self, hpc_exec_address(e, 0, operand[PRODUCT_Y]),
                     hpc_exec_address(e, 0, operand[PRODUCT_A]),
                     hpc_exec_address(e, 0, operand[PRODUCT_B])) == 0)
        return HPC_OK;
    return hpc_fail(HPC_E_UNSUPPORTED, "the peer %s failed; use --no-peer to run without peers",
                    v->peer->name);
}

static int rival_turn(void *user)
{
    rival *v = user;
    for (int k = 0; k < v->prog->repeats; k++) {
        int rc = rival_call(v, k);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

/* The first result as f32. */
static int read_result(float **out, int64_t *n, hpc_bench_program *prog)
{
    hpc_value v = prog->p->segment[BENCH_MEASURED].insn[0].operand[PRODUCT_Y];
    const hpc_type *t = &prog->p->value[v].type;
    size_t bytes = hpc_type_bytes(t);
    *n = (int64_t)(bytes / hpc_dtype_get((hpc_dtype)t->dtype)->block_bytes);
    *out = hpc_alloc((size_t)*n + 1, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    hpc_to_f32(*out, hpc_exec_address(prog->exec, 0, v), (hpc_dtype)t->dtype, *n);
    return HPC_OK;
}

/* A comparison is worth nothing unless both compute the same: largest |a - b| / (1 + |b|). */
static int rival_distance(double *out, const rival *v)
{
    float *ours = NULL, *theirs = NULL;
    int64_t n = 0;
    int rc;
    *out = 0;
    TRY(our_turn(v->prog));
    TRY(read_result(&ours, &n, v->prog));
    TRY(rival_call(v, 0));
    TRY(read_result(&theirs, &n, v->prog));
    for (int64_t k = 0; k < n; k++) {
        double off = fabs((double)ours[k] - theirs[k]) / (1 + fabs((double)theirs[k]));
        if (!(off <= *out)) *out = isnan(off) ? INFINITY : off;
    }
out:
    hpc_free(ours);
    hpc_free(theirs);
    return rc;
}

static int open_rivals(rival *v, hpc_bench *b, hpc_bench_program *prog)
{
    hpc_peer_product product;
    int n = 0;
    if (!b->peers || !b->about.host_memory ||
        !hpc_bench_product(&product, prog->e.job, b->about.threads))
        return 0;
    for (const hpc_peer *const *p = hpc_bench_peers_list(b->peers); *p && n < BENCH_PEERS; p++) {
        v[n] = (rival){*p, (*p)->open(&product), prog};
        if (v[n].self) n++;
    }
    return n;
}

static int contest(hpc_bench *b, hpc_bench_result *r, hpc_bench_program *prog)
{
    rival v[BENCH_PEERS];
    hpc_bench_contestant c[1 + BENCH_PEERS] = {{our_turn, prog}};
    hpc_bench_time time[1 + BENCH_PEERS];
    int rc, n = open_rivals(v, b, prog);
    for (int k = 0; k < n; k++) c[1 + k] = (hpc_bench_contestant){rival_turn, &v[k]};
    TRY(hpc_bench_alternate(time, c, 1 + n, prog->repeats, b->o->seconds));
    r->time = time[0];
    for (int k = 0; k < n; k++) {
        r->peer[k].name = v[k].peer->name;
        r->peer[k].version = v[k].peer->version();
        r->peer[k].time = time[1 + k];
        TRY(rival_distance(&r->peer[k].distance, &v[k]));
    }
    r->peer_n = n;
out:
    for (int k = 0; k < n; k++) v[k].peer->close(v[k].self);
    return rc;
}

/* ---- a case --------------------------------------------------------------------------------- */

/* Products are measured against the rate of their factors. */
static hpc_bench_rate rate_of(const hpc_bench_job *j)
{
    const hpc_op *op = j->c->op;
    bool product = op == &hpc_op_matmul || op == &hpc_op_attention ||
                   op == &hpc_op_attention_grad || op == &hpc_op_head_loss ||
                   op == &hpc_op_head_loss_grad;
    if (j->dtype == HPC_F64) return HPC_RATE_F64;
    if (!product) return HPC_RATE_F32;
    if (hpc_dtype_get(j->weights)->quantised || j->dtype == HPC_I8) return HPC_RATE_I8;
    return j->dtype == HPC_BF16 && j->weights == HPC_BF16 ? HPC_RATE_BF16 : HPC_RATE_F32;
}

static double output_bytes(const hpc_program *p)
{
    double sum = 0;
    for (int64_t v = 0; v < p->value_n; v++)
        if (p->value[v].kind == HPC_VALUE_TEMP && p->value[v].base < 0)
            sum += (double)hpc_type_bytes(&p->value[v].type);
    return sum;
}

/* So many that a run lasts a while, as far as their outputs fit; cold: that no cache holds all. */
static int repeats_of(const hpc_bench *b, hpc_cost cost, double outputs, double floor_ns)
{
    double n = ceil(run_ns / fmax(floor_ns, 1)), longest = fmax(floor(long_ns / floor_ns), 2);
    n = fmin(fmin(fmax(n, LEAST_REPEATS), MOST_REPEATS), longest);
    n = fmin(n, outputs_most / fmax(outputs, 1));
    if (b->o->cold) {
        double beyond = ceil(4 * (double)hpc_probe_cache_bytes() / fmax(cost.bytes, 1));
        n = fmin(fmax(n, fmin(beyond, MOST_COLD)), cold_most / fmax(cost.bytes, 1));
    }
    return n < 1 ? 1 : (int)n;
}

static int choose_repeats(hpc_bench *b, hpc_bench_result *r)
{
    hpc_bench_program one = {0};
    const char *bound;
    int rc;
    TRY(hpc_bench_emit(&one, &r->job, 1, false));
    r->cost = hpc_insn_cost(one.p, &one.p->segment[BENCH_MEASURED].insn[0]);
    r->rate = rate_of(&r->job);
    r->repeats = repeats_of(b, r->cost, output_bytes(one.p), hpc_bench_floor_ns(b, r, &bound));
out:
    hpc_bench_close(&one);
    return rc;
}

/* What products may be measured against: the probe's rate, or a kernel's that did better. */
static void note_rates(hpc_bench *b)
{
    const hpc_limits *l = &b->limits;
    const double probed[HPC_RATE_N] = {
        [HPC_RATE_F32] = l->f32,
        [HPC_RATE_F64] = l->f32 / 2,
        [HPC_RATE_BF16] = l->bf16 > 0 ? l->bf16 : l->f32,
        [HPC_RATE_I8] = l->i8 > 0 ? l->i8 : l->f32,
    };
    for (int k = 0; k < HPC_RATE_N; k++) b->rate[k] = fmax(b->rate[k], probed[k]);
}

static void note_kernel(hpc_bench *b, const hpc_bench_result *r)
{
    double *rate = &b->rate[r->rate];
    *rate = fmax(*rate, r->cost.flops / r->time.least_ns * 1e9);
    for (int k = 0; k < r->peer_n; k++)
        *rate = fmax(*rate, r->cost.flops / r->peer[k].time.least_ns * 1e9);
}

int hpc_bench_limits(hpc_bench *b, double *read)
{
    hpc_limits now;
    int rc = hpc_probe_limits(&now, b->probe);
    if (rc < 0) return rc;
    b->limits.f32 = fmax(b->limits.f32, now.f32);
    b->limits.bf16 = fmax(b->limits.bf16, now.bf16);
    b->limits.i8 = fmax(b->limits.i8, now.i8);
    b->limits.read = fmax(b->limits.read, now.read);
    *read = now.read;
    note_rates(b);
    return HPC_OK;
}

int hpc_bench_measure(hpc_bench *b, hpc_bench_result *r)
{
    hpc_bench_program prog = {0};
    int rc;
    TRY(hpc_bench_limits(b, &r->read));
    TRY(choose_repeats(b, r));
    TRY(hpc_bench_emit(&prog, &r->job, r->repeats, b->o->cold));
    TRY(hpc_bench_open(&prog, b->device));
    TRY(hpc_bench_kernel(&r->kernel, prog.p, b->device));
    TRY(contest(b, r, &prog));
    note_kernel(b, r);
out:
    hpc_bench_close(&prog);
    return rc;
}

double hpc_bench_floor_ns(const hpc_bench *b, const hpc_bench_result *r, const char **bound)
{
    double compute = r->cost.flops / b->rate[r->rate] * 1e9;
    double memory = r->cost.bytes / r->read * 1e9;
    *bound = r->floor_ns > 0 ? "latency" : compute >= memory ? "compute" : "memory";
    return r->floor_ns > 0 ? r->floor_ns : fmax(compute, memory);
}
