/*
 * freeze_paged.c: the program format supports a paged cache: two sequences of different length
 * share the pages of their prefix, and decode to the results of the dense computation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/support/values.h"

enum { HQ = 4, HKV = 2, D = 16, PAGE = 4, PAGES = 8, PER_SEQ = 4, S = 2, SHARED = 8 };
enum { LONGEST = 13, ROW = HKV * D };

/* One token of each sequence: its key and value go to the cache, its query sees all of its own. */
typedef struct decode {
    hpc_program *p;
    hpc_value q, k, v, slot, start, len, pages, kcache, vcache, o;
} decode;

static decode emit(hpc_dtype dtype)
{
    decode c = {.p = hpc_program_create()};
    hpc_program *p = c.p;
    c.q = hpc_program_input(p, "q", hpc_type_of(dtype, 3, (int64_t[]){S, HQ, D}));
    c.k = hpc_program_input(p, "k", hpc_type_of(dtype, 2, (int64_t[]){S, ROW}));
    c.v = hpc_program_input(p, "v", hpc_type_of(dtype, 2, (int64_t[]){S, ROW}));
    c.slot = hpc_program_input(p, "slot", hpc_type_of(HPC_I32, 1, (int64_t[]){S}));
    c.start = hpc_program_input(p, "start", hpc_type_of(HPC_I32, 1, (int64_t[]){S + 1}));
    c.len = hpc_program_input(p, "len", hpc_type_of(HPC_I32, 1, (int64_t[]){S}));
    c.pages = hpc_program_input(p, "pages", hpc_type_of(HPC_I32, 2, (int64_t[]){S, PER_SEQ}));
    hpc_type cache = hpc_type_of(dtype, 2, (int64_t[]){PAGES * PAGE, ROW});
    c.kcache = hpc_program_state(p, "cache.k", cache, false);
    c.vcache = hpc_program_state(p, "cache.v", cache, false);
    hpc_program_segment(p, HPC_DECODE, 0);
    hpc_scatter_attr set = {.mode = HPC_SCATTER_SET};
    hpc_scatter(p, c.kcache, c.k, c.slot, set);
    hpc_scatter(p, c.vcache, c.v, c.slot, set);
    int64_t paged[] = {PAGES, PAGE, HKV, D};
    c.o = hpc_attention(p, c.q, hpc_view(p, c.kcache, 4, paged), hpc_view(p, c.vcache, 4, paged),
                        c.start, c.len, c.pages,
                        (hpc_attention_attr){.scale = 1 / sqrt(D), .causal = true});
    hpc_program_keep(p, c.o);
    test_ok(hpc_program_check(p));
    return c;
}

/* Token t of sequence s; the first SHARED are the same in both. */
static void token(double *x, int s, int t, uint32_t kind, int64_t n)
{
    uint32_t who = t < SHARED ? 0 : (uint32_t)s + 1;
    hpc_test_draw(x, n, 1000 * kind + 100 * who + (uint32_t)t, 1);
}

static void dense(double *o, int s, int len)
{
    double k[LONGEST][ROW], v[LONGEST][ROW], q[HQ * D];
    for (int t = 0; t < len; t++) {
        token(k[t], s, t, 1, ROW);
        token(v[t], s, t, 2, ROW);
    }
    token(q, s, len - 1, 3, HQ * D);
    for (int h = 0; h < HQ; h++) {
        double w[LONGEST], sum = 0;
        int g = h / (HQ / HKV);
        for (int t = 0; t < len; t++) {
            w[t] = 0;
            for (int c = 0; c < D; c++) w[t] += q[h * D + c] * k[t][g * D + c];
            w[t] = exp(w[t] / sqrt(D));
            sum += w[t];
        }
        for (int c = 0; c < D; c++) {
            o[h * D + c] = 0;
            for (int t = 0; t < len; t++) o[h * D + c] += w[t] / sum * v[t][g * D + c];
        }
    }
}

/* Pages 5 and 2 hold the shared prefix; each sequence continues in its own pages. */
static const int32_t page_table[S][PER_SEQ] = {{5, 2, 7, 0}, {5, 2, 1, 3}};

static int32_t row_of(int s, int t)
{
    return page_table[s][t / PAGE] * PAGE + t % PAGE;
}

/* The shared prefix is written once, by sequence 0, whose rows sequence 1 then reads. */
static void step(hpc_exec *e, const decode *c, const int *at, double *o)
{
    double q[S * HQ * D], k[S * ROW], v[S * ROW];
    int32_t slot[S], len[S];
    for (int s = 0; s < S; s++) {
        token(&q[s * HQ * D], s, at[s], 3, HQ * D);
        token(&k[s * ROW], s, at[s], 1, ROW);
        token(&v[s * ROW], s, at[s], 2, ROW);
        len[s] = at[s] + 1;
        slot[s] = s && at[s] < SHARED ? -1 : row_of(s, at[s]);
    }
    hpc_test_write(e, 0, c->q, q);
    hpc_test_write(e, 0, c->k, k);
    hpc_test_write(e, 0, c->v, v);
    hpc_test_write_i32(e, 0, c->slot, slot);
    hpc_test_write_i32(e, 0, c->len, len);
    test_ok(hpc_exec_run(e, 0, 0));
    hpc_test_read(e, 0, c->o, o);
}

static void decodes(const char *backend, int threads, hpc_dtype dtype, double bound)
{
    hpc_device *d;
    hpc_exec *e;
    decode c = emit(dtype);
    const int32_t start[S + 1] = {0, 1, 2};
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = backend, .threads = threads}));
    test_ok(hpc_exec_open(&e, c.p, d, NULL, &(hpc_exec_options){.poison = 1}));
    hpc_test_write_i32(e, 0, c.start, start);
    hpc_test_write_i32(e, 0, c.pages, page_table[0]);
    for (int t = 0; t < LONGEST; t++) { /* sequence 1 is three tokens shorter */
        double o[S * HQ * D], want[HQ * D];
        int at[S] = {t, t < 3 ? 0 : t - 3};
        step(e, &c, at, o);
        for (int s = 0; s < S; s++) {
            dense(want, s, at[s] + 1);
            assert_true(hpc_test_error(&o[s * HQ * D], want, HQ * D) < bound);
        }
    }
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(c.p);
}

static void on_cpu(void **state)
{
    (void)state, decodes("cpu", 2, HPC_F32, 2e-6);
}
static void on_cpu_bf16(void **state)
{
    (void)state, decodes("cpu", 1, HPC_BF16, 3e-2);
}
static void on_mock(void **state)
{
    (void)state, decodes("mock", 1, HPC_F32, 2e-6);
}
static void in_f64(void **state)
{
    (void)state, decodes("cpu", 1, HPC_F64, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_cpu), cmocka_unit_test(on_cpu_bf16),
                                       cmocka_unit_test(on_mock), cmocka_unit_test(in_f64)};
    return cmocka_run_group_tests_name("program/freeze_paged", tests, NULL, NULL);
}
