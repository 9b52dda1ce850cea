/*
 * place.c: placement on random programs: no two live values overlap, and the arena is within 5 %
 * of the largest live set (in the long test, of 8,000 placements, for all but one in a thousand,
 * because the bound cannot always be reached).
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/program/priv.h"
#include "tests/support/fault.h"
#include "tests/support/values.h"

enum { VALUES = 160 };

static uint32_t draw(uint32_t seed, uint32_t at)
{
    return hpc_random_bits(seed, 1, 0, at);
}

/* Sums of earlier values of one width, mostly recent ones, and a few from long ago: as in a
 * network with residuals and saved activations, sizes over three orders of magnitude. */
static hpc_program *random_program(uint32_t seed)
{
    hpc_program *p = hpc_program_create();
    hpc_value of_size[4][VALUES];
    int n[4] = {0};
    uint32_t at = 0;
    for (int k = 0; k < 4; k++) {
        char name[8] = {'x', (char)('0' + k), 0};
        int64_t extent[] = {1 + draw(seed, at++) % 50, (int64_t)16 << (2 * k)};
        of_size[k][n[k]++] = hpc_program_input(p, name, hpc_type_of(HPC_F32, 2, extent));
    }
    hpc_program_segment(p, HPC_FORWARD, 0);
    for (int v = 0; v < VALUES; v++) {
        int k = (int)(draw(seed, at++) % 4), m = n[k];
        int back = draw(seed, at++) % 8 ? (m > 3 ? 3 : m) : m;
        hpc_value a = of_size[k][m - 1 - (int)(draw(seed, at++) % (uint32_t)back)];
        hpc_value b = of_size[k][m - 1];
        of_size[k][n[k]++] =
            draw(seed, at++) % 3 ? hpc_binary(p, HPC_ADD, a, b) : hpc_activate(p, a, HPC_SILU);
        if (v == VALUES / 2) hpc_program_segment(p, HPC_BACKWARD, 0);
    }
    for (int k = 0; k < 4; k++) hpc_program_keep(p, of_size[k][n[k] - 1]);
    return p;
}

static int64_t instructions(const hpc_program *p)
{
    int64_t n = 0;
    for (int64_t s = 0; s < p->segment_n; s++) n += p->segment[s].insn_n;
    return n;
}

static const hpc_insn *insn_at(const hpc_program *p, int64_t at)
{
    int64_t s = 0;
    for (; at >= p->segment[s].insn_n; s++) at -= p->segment[s].insn_n;
    return &p->segment[s].insn[at];
}

enum { OWN = 448, WORKERS = -2 };

/* An interpreter of ownership: each instruction's inputs must still own all their bytes, and none
 * has those that the workers keep for themselves. */
static void check_no_overlap(const hpc_program *p, const hpc_placement *pl, int slots)
{
    size_t bytes = pl->bytes[HPC_SPACE_SLOT] + pl->bytes[HPC_SPACE_LOCAL] + 64;
    int32_t *owner = hpc_alloc(2 * bytes / 64, sizeof *owner);
    memset(owner, 0xff, 2 * bytes / 64 * sizeof *owner);
    for (size_t g = 0; g < OWN / 64; g++)
        owner[(size_t)pl->own / 64 + (slots > 1 ? bytes / 64 : 0) + g] = WORKERS;
    for (int64_t at = -1; at < instructions(p); at++)
        for (int out = 0; out < 2; out++)
            for (int k = 0; k < (at < 0 ? (int)p->value_n : insn_at(p, at)->op->sig.operand_n); k++)
            {
                hpc_value v = at < 0 ? k : insn_at(p, at)->operand[k];
                if (v < 0) continue;
                bool writes = at < 0 ? p->value[v].kind == HPC_VALUE_INPUT
                                     : hpc_insn_role(p, insn_at(p, at), k) == HPC_OUT;
                if (at < 0 && !writes) continue;
                size_t first =
                    (size_t)pl->offset[v] / 64 + (pl->space[v] == HPC_SPACE_LOCAL ? bytes / 64 : 0);
                size_t end = first + (hpc_type_bytes(&p->value[v].type) + 63) / 64;
                for (size_t g = first; g < end; g++) {
                    assert_int_not_equal(owner[g], WORKERS);
                    if (!out && !writes) assert_int_equal(owner[g], v);
                    if (out && writes) owner[g] = v;
                }
            }
    hpc_free(owner);
}

static void tight_and_disjoint(void **state)
{
    (void)state;
    uint32_t seeds = getenv("HPC_TEST_LONG") ? 4000 : 60, loose = 0;
    for (uint32_t seed = 1; seed <= seeds; seed++)
        for (int slots = 1; slots <= 2; slots++) {
            hpc_arena *a = hpc_arena_create(0);
            hpc_program *p = random_program(seed);
            hpc_placement pl;
            test_ok(hpc_program_check(p));
            test_ok(hpc_place(&pl, a, p, NULL, NULL, OWN, slots));
            check_no_overlap(p, &pl, slots);
            for (int s = 0; s < HPC_SPACE_N; s++) {
                assert_true(pl.bytes[s] >= pl.live[s]);
                assert_true((double)pl.bytes[s] <= 1.10 * (double)pl.live[s]);
                loose += (double)pl.bytes[s] > 1.05 * (double)pl.live[s];
            }
            hpc_program_free(p);
            hpc_arena_free(a);
        }
    assert_true(loose <= 2 * seeds / 1000);
}

static int place_once(void *user)
{
    hpc_arena *a = hpc_arena_create(0);
    hpc_placement pl;
    int rc = a ? hpc_place(&pl, a, user, NULL, NULL, 0, 1) : HPC_E_NOMEM;
    hpc_arena_free(a);
    return rc;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    hpc_program *p = random_program(3);
    assert_true(hpc_test_each_alloc(place_once, p) > 5);
    hpc_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tight_and_disjoint),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests_name("program/place", tests, NULL, NULL);
}
