/*
 * ops.c: the bench and execution of ops.h: devices, bounds, comparisons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/launch.h"
#include "tests/support/ops.h"
#include "tests/support/sanitized.h"

/* ---- bounds --------------------------------------------------------------------- */

/* A result may be off by
 *
 *     half a step of its type  +  (steps[bound] + sqrt(terms) + exponent) 2^-24 (|reference| + rms)
 *
 * where rms is that of all results or of those of its row (last extent), if that is more; terms how
 * many products or the like a sum has, and exponent the largest argument of an exp. Kernels compute
 * in f32 whatever the types, so that the second part is the same for all of them, and the first is
 * what storing costs: 2^-8 for bf16, nothing more for f32.
 *
 * ROUNDED: up to four operations, each good to half a step, where what they add may cancel.
 * SUMMED: rounding n partial sums, each a random walk of up to n steps, gives an error with a
 * deviation of sqrt(n / 6) half steps of the rms at most, some 0.6 of that where the products are
 * rounded too; sqrt(n) is four deviations. CURVED: exp and erf are good to 2 steps, their arguments
 * are sums, and quotients of such sums are taken; where x is good to half a step of its own, exp(x)
 * is so to |x| half steps. HALVED: the products that a sum is of have one or two factors that are
 * good to half a step of bf16 only. Their errors are random, and have a deviation of 0.6 half steps
 * of the rms when both are rounded; three half steps are five deviations.
 * CHAINED: as CURVED, a few times over; and each value on the way has been stored: 8 half
 * steps of the coarsest type are what some 64 add up to.
 *
 * Where bf16 by bf16 is multiplied in blocks of integers, `rough` (|reference| + rms) more. Of a
 * block of normals the largest is below 4, a step of its integers 2^-11 then, and the twentieth of
 * factors that are below 2^-4 off by 2^-11 / sqrt(12) in the mean square at most; with both factors
 * of a product, 4.5e-5 of the rms, and 2^-12 is five deviations. */
static const double steps[HPC_TEST_BOUND_N] = {[HPC_TEST_ROUNDED] = 4,
                                               [HPC_TEST_SUMMED] = 4,
                                               [HPC_TEST_CURVED] = 16,
                                               [HPC_TEST_HALVED] = 16,
                                               [HPC_TEST_CHAINED] = 128};

static double half_step(hpc_dtype d)
{
    switch (d) {
    case HPC_BF16: return 0x1p-8;
    case HPC_F16: return 0x1p-11;
    default: return 0;
    }
}

static double allowed(const hpc_test_wanted *w, double correct, double rms, double rough)
{
    double stored = w->half_step * fabs(correct), computed = steps[w->bound];
    if (w->bound == HPC_TEST_HALVED) stored += 3 * half_step(HPC_BF16) * (fabs(correct) + rms);
    if (w->bound == HPC_TEST_CHAINED) stored = 8 * w->half_step * (fabs(correct) + rms);
    if (w->bound != HPC_TEST_ROUNDED) computed += sqrt((double)w->terms) + w->exponent;
    return stored + (computed * 0x1p-24 + rough) * (fabs(correct) + rms);
}

static double rms_of(const hpc_test_wanted *w, int64_t from, int64_t end)
{
    double sum = 0, n = 0;
    for (int64_t i = from; i < end; i++) {
        if (!w->live[i] || !isfinite(w->correct[i])) continue;
        sum += w->correct[i] * w->correct[i];
        n++;
    }
    return n > 0 ? sqrt(sum / n) : 0;
}

/* ---- the bench ------------------------------------------------------------------- */

enum { ISAS_MOST = 8, OPS_MOST = 96, TEAMS = 3, SCHEDULES = 3, SHIMS = 2 * SCHEDULES };
static const int teams[TEAMS] = {1, 2, 7};
/* With our own kernels for products, then with the stub of cuBLASLt. */
static const char *const schedules[SHIMS] = {"ascending",    "descending",    "permuted",
                                             "lt-ascending", "lt-descending", "lt-permuted"};

struct hpc_test_bench {
    const char *file;
    const char *isa[ISAS_MOST];
    int isa_n;
    hpc_device *cpu[ISAS_MOST][TEAMS], *mock, *shim[SHIMS], *gpu; /* NULL: missing */
    int shim_n, lacking; /* cases that the CUDA kernels took, and did not take */
    int cases; /* begun and not freed: after a failure, their executors still hold the devices */
    bool seen[OPS_MOST];
};

/* Which file of tests/ops holds an op's cases; ops that no kernel runs have none. */
static const struct {
    const hpc_op *op;
    const char *file;
} homes[] = {
    {&hpc_op_nop, "point"},
    {&hpc_op_matmul, "product"},
    {&hpc_op_pack, "product"},
    {&hpc_op_norm, "norm"},
    {&hpc_op_norm_grad, "norm"},
    {&hpc_op_rope, "norm"},
    {&hpc_op_attention, "attention"},
    {&hpc_op_attention_grad, "attention"},
    {&hpc_op_act, "act"},
    {&hpc_op_act_grad, "act"},
    {&hpc_op_glu, "act"},
    {&hpc_op_glu_grad, "act"},
    {&hpc_op_head_loss, "loss"},
    {&hpc_op_head_loss_grad, "loss"},
    {&hpc_op_soft, "loss"},
    {&hpc_op_dropout, "point"},
    {&hpc_op_binary, "point"},
    {&hpc_op_scale, "point"},
    {&hpc_op_copy, "point"},
    {&hpc_op_fetch, "point"},
    {&hpc_op_stow, "point"},
    {&hpc_op_fill, "point"},
    {&hpc_op_gather, "index"},
    {&hpc_op_scatter, "index"},
    {&hpc_op_route, "index"},
    {&hpc_op_gate, "expert"},
    {&hpc_op_gate_grad, "expert"},
    {&hpc_op_dispatch, "expert"},
    {&hpc_op_grouped, "expert"},
    {&hpc_op_pick, "pick"},
    {&hpc_op_spread, "pick"},
    {&hpc_op_reduce, "reduce"},
    {&hpc_op_sample, "sample"},
    {&hpc_op_sgd, "update"},
    {&hpc_op_adamw, "update"},
    {&hpc_op_adam, "update"},
    {&hpc_op_adam_add, "update"},
    {&hpc_op_adam_step, "update"},
    {&hpc_op_apply, "update"},
    {&hpc_op_below, "update"},
    {&hpc_op_combine, "matrix"},
    {&hpc_op_map, "matrix"},
    {&hpc_op_tile, "matrix"},
    {&hpc_op_bundle, "matrix"},
    {&hpc_op_eigh, "eigh"},
    {&hpc_op_graph_attend, "graph_attend"},
    {&hpc_op_graph_attend_source, "graph_attend"},
    {&hpc_op_graph_attend_target, "graph_attend"},
    {&hpc_op_graph_edge, "graph"},
    {&hpc_op_graph_merge, "graph"},
    {&hpc_op_graph_reduce, "graph"},
    {&hpc_op_graph_scale, "graph"},
    {&hpc_op_graph_softmax, "graph"},
    {&hpc_op_graph_softmax_grad, "graph"},
};

static bool multiplies(const hpc_test_bench *b)
{
    return strcmp(b->file, "product") == 0 || strcmp(b->file, "loss") == 0;
}

/* CUDA kernels on the CPU. The thread sanitizer knows nothing of the shim's stacks. */
static void open_shims(hpc_test_bench *b)
{
    char library[PATH_MAX];
    hpc_test_built(library, "hpccoder-cuda-shim.so");
    const int shims = HPC_TEST_TSAN ? 0 : multiplies(b) ? SHIMS : SCHEDULES;
    for (int k = 0; k < shims; k++)
        test_ok(hpc_device_open(&b->shim[k], &(hpc_device_options){.backend = "cuda-shim",
                                                                   .isa = schedules[k],
                                                                   .library = library}));
    hpc_test_built(library, "hpccoder-cuda.so");
    if (hpc_device_open(&b->gpu, &(hpc_device_options){.backend = "cuda", .library = library}) < 0)
        hpc_error_clear();
}

int hpc_test_bench_open(void **state, const char *file)
{
    hpc_test_bench *b = hpc_alloc(1, sizeof *b);
    assert_non_null(b);
    b->file = file;
    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        assert_true(b->isa_n < ISAS_MOST);
        b->isa[b->isa_n] = *isa;
        for (int t = 0; t < TEAMS; t++)
            test_ok(hpc_device_open(
                &b->cpu[b->isa_n][t],
                &(hpc_device_options){.backend = "cpu", .isa = *isa, .threads = teams[t]}));
        b->isa_n++;
    }
    test_ok(hpc_device_open(&b->mock, &(hpc_device_options){.backend = "mock"}));
    open_shims(b);
    *state = b;
    return 0;
}

int hpc_test_bench_close(void **state)
{
    hpc_test_bench *b = *state;
    for (int k = 0; k < b->isa_n && !b->cases; k++)
        for (int t = 0; t < TEAMS; t++) hpc_device_close(b->cpu[k][t]);
    if (!b->cases) hpc_device_close(b->mock);
    for (int k = 0; k < SHIMS && !b->cases; k++) hpc_device_close(b->shim[k]);
    if (!b->cases) hpc_device_close(b->gpu);
    hpc_free(b);
    return 0;
}

hpc_device *hpc_test_bench_device(hpc_test_bench *b)
{
    return b->cpu[0][0];
}

void hpc_test_bench_hold(hpc_test_bench *b, int more)
{
    b->cases += more;
}

static const char *home_of(const hpc_op *op)
{
    for (size_t k = 0; k < sizeof homes / sizeof *homes; k++)
        if (homes[k].op == op) return homes[k].file;
    return NULL;
}

/* How many cases of a file the CUDA kernels do not take. It may only fall. */
static const struct {
    const char *file;
    int cases;
} lacks[] = {{"index", 32}, {"point", 12}};

static bool is_lacking_as_listed(const hpc_test_bench *b)
{
    int listed = 0;
    for (size_t k = 0; k < sizeof lacks / sizeof *lacks; k++)
        if (strcmp(lacks[k].file, b->file) == 0) listed = lacks[k].cases;
    if (b->lacking <= listed) return true;
    print_error("CUDA kernels do not take %d of %d cases of tests/ops/%s.c; %d are listed\n",
                b->lacking, b->lacking + b->shim_n, b->file, listed);
    return false;
}

void hpc_test_bench_covers(void **state)
{
    const hpc_test_bench *b = *state;
    bool all = is_lacking_as_listed(b);
    for (int k = 0; hpc_op_table[k]; k++) {
        const hpc_op *op = hpc_op_table[k];
        if (!op->select) continue;
        const char *home = home_of(op);
        if (home && (strcmp(home, b->file) != 0 || b->seen[k])) continue;
        print_error("op %s has no case in tests/ops/%s.c\n", op->sig.name, home ? home : "*");
        all = false;
    }
    assert_true(all);
}

void hpc_test_bench_differentiates(void **state)
{
    const hpc_test_bench *b = *state;
    bool all = true;
    for (int k = 0; hpc_op_table[k]; k++) {
        if (!hpc_op_table[k]->backward || b->seen[k]) continue;
        print_error("the backward rule of %s has no case\n", hpc_op_table[k]->sig.name);
        all = false;
    }
    assert_true(all);
}

void hpc_test_bench_saw(hpc_test_bench *b, const hpc_program *p)
{
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t i = 0; i < p->segment[s].insn_n; i++)
            for (int k = 0; hpc_op_table[k]; k++) {
                assert_true(k < OPS_MOST);
                if (hpc_op_table[k] == p->segment[s].insn[i].op) b->seen[k] = true;
            }
}

/* ---- running --------------------------------------------------------------------------- */

static hpc_exec *start(const hpc_test_case *c, const hpc_program *p, hpc_device *d)
{
    hpc_exec *e;
    int rc = hpc_exec_open(&e, p, d, NULL,
                           &(hpc_exec_options){.poison = 1, .products = HPC_PRODUCTS_MEASURED});
    if (rc < 0) print_error("%s\n", c->name);
    test_ok(rc);
    return e;
}

static void run(hpc_exec *e, const hpc_program *p, const hpc_test_case *c)
{
    hpc_test_give(e, p, c);
    for (int s = 0; s < p->segment_n; s++) {
        int rc = hpc_exec_run(e, s, 0);
        if (rc < 0) print_error("%s\n", c->name);
        test_ok(rc);
    }
}

static hpc_program *in_double(const hpc_test_case *c)
{
    hpc_program *p = hpc_program_copy(c->p);
    assert_non_null(p);
    test_ok(hpc_to_double(p));
    return p;
}

/* Of the value itself; where others come before it, of the coarsest of all. */
static double half_step_of(const hpc_test_case *c, const hpc_test_wanted *w)
{
    double most = half_step((hpc_dtype)c->p->value[w->value].type.dtype);
    for (int64_t v = 0; v < c->p->value_n && w->bound == HPC_TEST_CHAINED; v++)
        most = fmax(most, half_step((hpc_dtype)c->p->value[v].type.dtype));
    return most;
}

void hpc_test_case_solve(hpc_test_case *c)
{
    test_ok(hpc_program_check(c->p));
    hpc_program *p = in_double(c);
    hpc_exec *e = start(c, p, hpc_test_bench_device(c->bench));
    run(e, p, c);
    for (int k = 0; k < c->wanted_n; k++) {
        hpc_test_wanted *w = &c->wanted[k];
        w->correct = hpc_test_fetch(e, p, w->value, &w->n);
        w->live = hpc_test_live(e, p, w->value, w->n);
        w->half_step = half_step_of(c, w);
    }
    hpc_exec_close(e);
    hpc_program_free(p);
}

static bool within(const hpc_test_wanted *w, hpc_dtype d, double x, int64_t i, double rms,
                   double rough)
{
    double correct = w->correct[i], rounded = correct;
    hpc_test_round(&rounded, d, 1);
    if (x == rounded || (isnan(x) && isnan(rounded))) return true;
    return w->bound != HPC_TEST_EXACT && fabs(x - correct) <= allowed(w, correct, rms, rough);
}

/* The first element out of bounds, or -1; *rms is what its bound was made with. */
static int64_t first_misfit(const hpc_test_wanted *w, const hpc_type *t, const double *x,
                            double *rms, double rough)
{
    int64_t cols = t->rank > 0 ? t->extent[t->rank - 1] : 1;
    double all = rms_of(w, 0, w->n);
    for (int64_t r = 0; r * cols < w->n; r++) {
        *rms = fmax(all, rms_of(w, r * cols, (r + 1) * cols));
        for (int64_t i = r * cols; i < (r + 1) * cols; i++)
            if (w->live[i] && !within(w, (hpc_dtype)t->dtype, x[i], i, *rms, rough)) return i;
    }
    return -1;
}

static const hpc_type *type_of(const hpc_test_case *c, hpc_value v)
{
    return &c->p->value[v].type;
}

static double rough_on(const hpc_test_case *c, const hpc_device *d)
{
    return c->fixes && hpc_test_fixes(hpc_device_about(d).isa) ? 0x1p-12 : 0;
}

static void check_bounds(const hpc_test_case *c, const hpc_test_wanted *w, const double *x,
                         double rough, const char *where)
{
    double rms;
    int64_t i = first_misfit(w, type_of(c, w->value), x, &rms, rough);
    if (i < 0) return;
    print_error("%s on %s: element %lld of %%%d is %.9g, the reference %.9g; %.3g is allowed, %.3g "
                "is the error\n",
                c->name, where, (long long)i, w->value, x[i], w->correct[i],
                allowed(w, w->correct[i], rms, rough), fabs(x[i] - w->correct[i]));
    fail();
}

static void check_same_bits(const hpc_test_case *c, const hpc_test_wanted *w, const double *x,
                            const double *y, const char *where)
{
    for (int64_t i = 0; i < w->n; i++) {
        if (!w->live[i] || memcmp(&x[i], &y[i], sizeof *x) == 0) continue;
        print_error("%s on %s: element %lld of %%%d is %.17g, with one thread %.17g\n", c->name,
                    where, (long long)i, w->value, y[i], x[i]);
        fail();
    }
}

static void check_address(hpc_exec *e, const hpc_test_case *c)
{
    if (c->same[0] < 0) return;
    if (hpc_exec_address(e, 0, c->same[0]) == hpc_exec_address(e, 0, c->same[1])) return;
    print_error("%s: %%%d is not in place of %%%d\n", c->name, c->same[0], c->same[1]);
    fail();
}

static void results(double **out, hpc_exec *e, const hpc_program *p, const hpc_test_case *c)
{
    int64_t n;
    run(e, p, c);
    for (int k = 0; k < c->wanted_n; k++) out[k] = hpc_test_fetch(e, p, c->wanted[k].value, &n);
}

static void free_results(double **x, int n)
{
    for (int k = 0; k < n; k++) hpc_free(x[k]);
}

/* Runs p on device d; compares with `one`, if given, and with the reference. */
static void check_device(const hpc_test_case *c, const hpc_program *p, hpc_device *d, double **one,
                         double **out)
{
    hpc_device_info about = hpc_device_about(d);
    char where[64];
    snprintf(where, sizeof where, "%s %s, %d threads%s", about.backend, about.isa, about.threads,
             p == c->p ? "" : ", in f64");
    hpc_exec *e = start(c, p, d);
    if (about.host_memory) check_address(e, c);
    results(out, e, p, c);
    for (int k = 0; k < c->wanted_n; k++) {
        if (p == c->p) check_bounds(c, &c->wanted[k], out[k], rough_on(c, d), where);
        if (one) check_same_bits(c, &c->wanted[k], one[k], out[k], where);
    }
    hpc_exec_close(e);
}

/* The reference's own bits, which depend neither on threads nor on the backend. */
static void check_reference(const hpc_test_case *c)
{
    double *one[HPC_TEST_WANTED_MOST], *x[HPC_TEST_WANTED_MOST];
    hpc_program *p = in_double(c);
    for (int k = 0; k < c->wanted_n; k++) one[k] = c->wanted[k].correct;
    check_device(c, p, c->bench->cpu[0][TEAMS - 1], one, x);
    free_results(x, c->wanted_n);
    check_device(c, p, c->bench->mock, one, x);
    free_results(x, c->wanted_n);
    hpc_program_free(p);
}

static void check_devices(const hpc_test_case *c)
{
    hpc_test_bench *b = c->bench;
    for (int k = 0; k < b->isa_n; k++) {
        double *one[HPC_TEST_WANTED_MOST], *x[HPC_TEST_WANTED_MOST];
        check_device(c, c->p, b->cpu[k][0], NULL, one);
        for (int t = 1; t < TEAMS; t++) {
            check_device(c, c->p, b->cpu[k][t], one, x);
            free_results(x, c->wanted_n);
        }
        if (k == 0) {
            check_device(c, c->p, b->mock, one, x);
            free_results(x, c->wanted_n);
        }
        free_results(one, c->wanted_n);
    }
}

/* Do the CUDA kernels take every operand of the case? */
static bool has_shim(const hpc_test_case *c)
{
    hpc_exec *e;
    if (!c->bench->shim[0]) return false;
    int rc = hpc_exec_open(&e, c->p, c->bench->shim[0], NULL, NULL);
    if (rc == HPC_E_UNSUPPORTED) {
        hpc_error_clear();
        c->bench->lacking++;
        return false;
    }
    test_ok(rc);
    hpc_exec_close(e);
    c->bench->shim_n++;
    return true;
}

/* Could cuBLASLt take a product of the case? Its inputs have one type, and no extents at run time.
 */
static bool is_for_lt(const hpc_test_case *c)
{
    int dtype = -1;
    for (int k = 0; k < c->given_n; k++) {
        const hpc_type *t = type_of(c, c->given[k].value);
        if (t->ragged >= 0 || hpc_dtype_get((hpc_dtype)t->dtype)->quantised) return false;
        if (!hpc_dtype_get((hpc_dtype)t->dtype)->real || t->rank < 2) continue;
        if (dtype >= 0 && dtype != t->dtype) return false;
        dtype = t->dtype;
    }
    return true;
}

/* The same bits in every schedule. With a sanitizer, a case has one schedule, and the next case
 * another one; HPC_TEST_LONG=1: all. */
static void check_shims(const hpc_test_case *c)
{
    double *one[HPC_TEST_WANTED_MOST], *x[HPC_TEST_WANTED_MOST];
    if (!has_shim(c)) return;
    const bool all = !HPC_TEST_ASAN || getenv("HPC_TEST_LONG");
    const int shims = is_for_lt(c) ? SHIMS : SCHEDULES,
              turn = all ? 0 : c->bench->shim_n % SCHEDULES;
    for (int group = 0; group < shims && c->bench->shim[group]; group += SCHEDULES) {
        check_device(c, c->p, c->bench->shim[group + turn], NULL, one);
        for (int k = 1; k < (all ? SCHEDULES : 1); k++) {
            check_device(c, c->p, c->bench->shim[group + k], one, x);
            free_results(x, c->wanted_n);
        }
        free_results(one, c->wanted_n);
    }
    if (!c->bench->gpu) return;
    check_device(c, c->p, c->bench->gpu, NULL, one);
    free_results(one, c->wanted_n);
}

/* ---- whether the bounds are tight -------------------------------------------------------- */

/* Another value for element i, or a byte about where it lies. */
static void change(const hpc_test_case *c, const hpc_test_given *g, int64_t i)
{
    size_t bytes = hpc_type_bytes(type_of(c, g->value));
    if (g->raw)
        g->raw[(size_t)i * bytes / (size_t)g->n] ^= 0x55;
    else
        g->data[i] += fabs(g->data[i]) + 0.25;
}

/* Does a changed element i of g put a result out of bounds? */
static bool noticed(hpc_exec *e, const hpc_test_case *c, const hpc_test_given *g, int64_t i)
{
    double *x[HPC_TEST_WANTED_MOST], keep = g->data[i], rms;
    bool seen = false;
    change(c, g, i);
    results(x, e, c->p, c);
    g->data[i] = keep;
    if (g->raw) change(c, g, i);
    for (int k = 0; k < c->wanted_n; k++)
        seen = seen || first_misfit(&c->wanted[k], type_of(c, c->wanted[k].value), x[k], &rms,
                                    rough_on(c, hpc_test_bench_device(c->bench))) >= 0;
    free_results(x, c->wanted_n);
    return seen;
}

/* Of a few live elements that are tried, one matters. */
static void check_operand(hpc_exec *e, const hpc_test_case *c, const hpc_test_given *g)
{
    enum { TRIES = 8 };
    bool *live = hpc_test_live(e, c->p, g->value, g->n), seen = false;
    for (int64_t at = 0, tried = 0; at < g->n && tried < TRIES && !seen; at++) {
        int64_t i = at * 7919 % g->n;
        if (!live[i]) continue;
        seen = noticed(e, c, g, i);
        tried++;
    }
    hpc_free(live);
    if (!seen) print_error("%s: no result depends on %%%d\n", c->name, g->value);
    assert_true(seen);
}

static void check_sensitivity(const hpc_test_case *c)
{
    hpc_exec *e = start(c, c->p, hpc_test_bench_device(c->bench));
    run(e, c->p, c);
    for (int k = 0; k < c->given_n; k++) {
        const hpc_test_given *g = &c->given[k];
        if (!hpc_dtype_get((hpc_dtype)type_of(c, g->value)->dtype)->real) continue;
        if (!g->constant && g->n > 0) check_operand(e, c, g);
    }
    hpc_exec_close(e);
}

void hpc_test_case_check(hpc_test_case *c)
{
    hpc_test_bench_saw(c->bench, c->p);
    hpc_test_case_solve(c);
    check_reference(c);
    check_devices(c);
    check_shims(c);
    check_sensitivity(c);
    hpc_test_case_free(c);
}
