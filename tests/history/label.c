/*
 * Tests of corpus/history/noise.c, rank.c and label.c: against published numbers, plain
 * definitions, and by simulation: what intervals cover, how many discoveries are false, and how
 * many changes are found. HPC_TEST_LONG=1 simulates more.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/history/costs.h"
#include "tests/support/fault.h"

static bool is_long(void)
{
    return getenv("HPC_TEST_LONG") != NULL;
}

static void near(double x, double want, double share)
{
    if (!(fabs(x - want) <= share * fabs(want))) fail_msg("%.10g instead of %.10g", x, want);
}

/* ---- numbers that are known ------------------------------------------------------------------ */

static void test_student(void **state)
{
    (void)state;
    static const struct {
        double freedom, t, tail, share; /* of tables */
    } known[] = {{2, 9.925, 0.01, 0.25},   {4, 4.604, 0.01, 0.06},        {4, 2.776, 0.05, 0.02},
                 {10, 3.169, 0.01, 0.01},  {10, 4.587, 0.001, 0.03},      {30, 2.750, 0.01, 0.01},
                 {30, 3.646, 0.001, 0.01}, {INFINITY, 2.5758, 0.01, 1e-3}};
    near(perf_normal_limit(0.05), 1.959964, 1e-6);
    near(perf_normal_tail(3.290527), 0.001, 1e-6);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        double z = perf_student_score(known[k].t, known[k].freedom);
        near(perf_normal_tail(z), known[k].tail, known[k].share);
        near(perf_student_limit(z, known[k].freedom), known[k].t, 1e-9);
        if (known[k].freedom < 10) assert_true(perf_normal_tail(z) > known[k].tail);
    }
}

static perf_samples list(double *v, const char *text)
{
    int64_t n = 0;
    for (char *end; *text; text = *end ? end + 1 : end) v[n++] = strtod(text, &end);
    return (perf_samples){v, n};
}

static double rank_test(const char *base, const char *head)
{
    double v[2][64];
    perf_samples b = list(v[0], base), h = list(v[1], head);
    return perf_rank_test(&b, &h);
}

static void test_rank_numbers(void **state)
{
    (void)state;
    near(rank_test("1,2,3", "4,5,6"), 0.1, 1e-12); /* 2 of 20: no lower with 3 against 3 */
    near(rank_test("4,5,6", "1,2,3"), 0.1, 1e-12);
    near(rank_test("1,2,3,4,5", "6,7,8,9,10"), 2.0 / 252, 1e-12);
    near(rank_test("1,2,4", "3,5,6"), 0.2, 1e-12);
    near(rank_test("1,1,1", "2,2,2"), 0.1, 1e-12);
    near(rank_test("1,1,1,1", "1,1,1,1"), 1, 1e-12);
    near(rank_test("1", "2"), 1, 1e-12);
}

/* The definition: of all ways to choose head's samples, how many have ranks as far from the middle;
 * ranks by counting, doubled. */
static double rank_reference(const double *v, int n, int head_n)
{
    int rank[16], all = 0, far = 0, off = 0;
    for (int i = 0; i < n; i++) {
        rank[i] = 1;
        for (int j = 0; j < n; j++) rank[i] += v[j] < v[i] ? 2 : v[j] == v[i] ? 1 : 0;
    }
    for (int i = n - head_n; i < n; i++) off += rank[i];
    off = abs(off - head_n * (n + 1));
    for (int chosen = 0; chosen < 1 << n; chosen++) {
        int sum = 0;
        if (__builtin_popcount((unsigned)chosen) != head_n) continue;
        for (int i = 0; i < n; i++) sum += chosen >> i & 1 ? rank[i] : 0;
        all++;
        far += abs(sum - head_n * (n + 1)) >= off;
    }
    return (double)far / all;
}

static void test_rank_by_definition(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 300; round++) {
        double v[12];
        int n[2], kinds = round % 3 ? 4 : 1000;
        for (int side = 0; side < 2; side++)
            n[side] = 1 + (int)(hpc_random_bits(round, (uint32_t)side, 1, 0) % 6);
        for (int k = 0; k < n[0] + n[1]; k++)
            v[k] = 1 + hpc_random_bits(round, 2, 1, (uint64_t)k) % (uint32_t)kinds;
        perf_samples base = {v, n[0]}, head = {v + n[0], n[1]};
        near(perf_rank_test(&base, &head), rank_reference(v, n[0] + n[1], n[1]), 1e-12);
    }
}

/* Where the approximation takes over, it agrees with the exact one: both of about 12 against 12. */
static void test_rank_of_many(void **state)
{
    (void)state;
    double v[40], p[2];
    for (int shift = 1; shift < 12; shift++) {
        for (int k = 0; k < 26; k++) v[k] = k % 2 ? k + 2 * shift : k + 1;
        double side[2][13];
        for (int k = 0; k < 26; k++) side[k % 2][k / 2] = v[k];
        for (int more = 0; more < 2; more++) {
            perf_samples base = {side[0], 12 + more}, head = {side[1], 12 + more};
            p[more] = perf_rank_test(&base, &head);
        }
        assert_true(fabs(p[0] - p[1]) < 0.1 && p[1] > 0 && p[1] <= 1);
    }
    /* all apart, 13 against 13: z = (84.5 - 0.5) / sqrt(13 * 13 * 27 / 12) */
    for (int k = 0; k < 26; k++) v[k] = k + 1;
    perf_samples base = {v, 13}, head = {v + 13, 13};
    near(perf_rank_test(&base, &head), perf_normal_tail(84 / sqrt(380.25)), 1e-12);
    /* ties: 20 ones and 20 of which half are ones; variance 20 * 20 / 12 * (41 - 27990 / 1560) */
    for (int k = 0; k < 40; k++) v[k] = k < 30 ? 1 : 2;
    base = (perf_samples){v, 20}, head = (perf_samples){v + 20, 20};
    double ties = (30.0 * 30 * 30 - 30 + 10 * 10 * 10 - 10) / (40.0 * 39);
    near(perf_rank_test(&base, &head),
         perf_normal_tail((100 - 0.5) / sqrt(400.0 / 12 * (41 - ties))), 1e-12);
}

static void test_discovery_rates(void **state)
{
    (void)state;
    const double p[] = {0.01, NAN, 0.04, 0.03, 0.005, 0.5};
    double q[6];
    assert_int_equal(perf_discovery_rates(q, p, 6), 0);
    const double want[] = {0.025, NAN, 0.05, 0.05, 0.025, 0.5};
    for (int k = 0; k < 6; k++)
        if (isnan(want[k]))
            assert_true(isnan(q[k]));
        else
            near(q[k], want[k], 1e-12);
    assert_int_equal(perf_discovery_rates(q, p, 0), 0);
}

/* ---- noise -------------------------------------------------------------------------------------
 */

static void test_noise_of_a_series(void **state)
{
    (void)state;
    for (shape s = NORMAL; s < SHAPES_N; s++) {
        perf_samples commit[200];
        double *value, level[200];
        perf_noise noise;
        dice d = {.seed = 3};
        for (int k = 0; k < 200; k++) level[k] = k < 100 ? 1 : k; /* no change enters it */
        make_costs(commit, &value, 200, 5, level, 0.02, s, &d);
        assert_int_equal(perf_noise_measure(&noise, commit, 200), 0);
        print_message("noise of 2 %%, %s: sd %.4f, wide %.4f, tail %.4f\n", shape_name[s], noise.sd,
                      noise.wide, noise.tail);
        near(noise.sd, s == SPIKES ? 0.0275 : 0.02, 0.1);
        near(noise.tail, s == SPIKES ? 0.0375 : 0.016, 0.15);
        free(value);
    }
}

static void test_noise_is_not_made_up(void **state)
{
    (void)state;
    double one[] = {5, 5, 5, 7};
    perf_noise noise;
    const perf_samples single[] = {{one, 1}, {one + 3, 1}, {one, 0}};
    assert_int_equal(perf_noise_measure(&noise, single, 3), 0);
    assert_true(noise.freedom == 0 && noise.sd == 0);
    assert_int_equal(perf_noise_measure(&noise, NULL, 0), 0);
    assert_true(noise.freedom == 0);
    const perf_samples counted[] = {{one, 3}, {one + 3, 1}};
    assert_int_equal(perf_noise_measure(&noise, counted, 2), 0);
    assert_true(noise.freedom > 0 && noise.sd == 0 && noise.tail == 0);
}

/* The degrees of freedom are what the estimate scatters by: sd of it over itself is 1 / sqrt(2 f),
 * to a third, and on average it is not below the truth. */
static void test_freedom(void **state)
{
    (void)state;
    for (int runs = 3; runs <= 10; runs = runs * 2 - 1 - runs / 5) {
        double mean = 0, square = 0;
        perf_noise noise = {0};
        dice d = {.seed = 5};
        for (int round = 0; round < 2000; round++) {
            perf_samples commit[20];
            double *value;
            make_costs(commit, &value, 20, runs, NULL, 0.02, NORMAL, &d);
            assert_int_equal(perf_noise_measure(&noise, commit, 20), 0);
            mean += noise.sd / 0.02 / 2000;
            square += noise.sd * noise.sd / 0.0004 / 2000;
            free(value);
        }
        double scatter = sqrt(square - mean * mean) / mean;
        print_message("20 commits of %d: mean of sd / truth %.3f, worth %.2f of the freedom\n",
                      runs, mean, 1 / (2 * scatter * scatter) / (20.0 * (runs - 1)));
        assert_true(mean > 0.99 && mean < 1.08);
        near(scatter, 1 / sqrt(2 * noise.freedom), 0.33);
    }
}

static void test_levels(void **state)
{
    (void)state;
    const perf_noise noise = {.sd = 0.02, .wide = 0.02, .tail = 0.08, .freedom = INFINITY};
    double quiet[] = {1, 1.01, 1.02}, spike[] = {1, 1.01, 1.2}, wild[] = {1, 1.3, 1.6};
    perf_level l = perf_level_of(&(perf_samples){quiet, 3}, &noise, 0);
    near(l.value, log(1.01), 1e-12);
    near(l.variance, 0.0004 * 1.346 / 3, 1e-12);
    assert_false(l.own);
    near(perf_level_of(&(perf_samples){spike, 3}, &noise, 0).value, log(1.01), 1e-12);
    assert_true(perf_level_of(&(perf_samples){wild, 3}, &noise, 0).own);
    near(perf_level_of(&(perf_samples){wild, 3}, &noise, 0).freedom, 2, 1e-12);
    assert_false(perf_level_of(&(perf_samples){wild, 3}, &noise, 0.3).own);
    near(perf_level_of(&(perf_samples){quiet, 2}, &noise, 0).variance, 0.0004 / 2, 1e-12);
    for (int n = 1; n <= 20; n++) { /* the variance against what levels scatter by */
        double square = 0, *value;
        static perf_samples commit[20000];
        dice d = {.seed = (uint64_t)n};
        make_costs(commit, &value, 20000, n, NULL, 0.02, NORMAL, &d);
        for (int k = 0; k < 20000; k++) {
            double off = perf_level_of(&commit[k], &noise, 0).value;
            square += off * off / 20000;
        }
        near(square, 0.0004 * perf_level_of(&commit[0], &noise, 0).share, n < 8 ? 0.03 : 0.08);
        free(value);
    }
}

/* ---- intervals ---------------------------------------------------------------------------- */

/* A series of 60 pairs of unchanged commits and one 4 % slower: how many of its intervals cover
 * that. */
static void cover(double share[2], int runs, shape s, int rounds)
{
    const perf_rule rule = PERF_RULE_DEFAULTS;
    dice d = {.seed = (uint64_t)(100 * runs) + s};
    int64_t all = 0, covered[2] = {0, 0};
    for (int round = 0; round < rounds; round++) {
        perf_samples commit[60];
        perf_effect effect[59];
        perf_noise noise;
        double *value, level[60];
        for (int k = 0; k < 60; k++) level[k] = k % 2 ? 1.04 : 1;
        make_costs(commit, &value, 60, runs, level, 0.02, s, &d);
        assert_int_equal(perf_noise_measure(&noise, commit, 60), 0);
        assert_int_equal(perf_effects(effect, commit, commit + 1, 59, &noise, &rule), 0);
        for (int k = 0; k < 59; k++, all++) {
            double truth = level[k + 1] / level[k] - 1, low, high;
            assert_true(effect[k].low <= effect[k].change && effect[k].change <= effect[k].high);
            covered[1] += effect[k].low <= truth && truth <= effect[k].high;
            assert_int_equal(perf_bootstrap(&low, &high, &commit[k], &commit[k + 1], &rule), 0);
            assert_true(effect[k].low <= low && high <= effect[k].high);
            covered[0] += low <= truth && truth <= high;
        }
        free(value);
    }
    for (int k = 0; k < 2; k++) share[k] = (double)covered[k] / (double)all;
}

static void test_intervals(void **state)
{
    (void)state;
    for (shape s = NORMAL; s < SHAPES_N; s++)
        for (int runs = 3; runs <= 10; runs += s == NORMAL ? 1 : 7) {
            double share[2];
            cover(share, runs, s, is_long() ? 300 : 8);
            print_message("%2d samples, %-9s: of 95 %% intervals cover %.1f %% by the bootstrap "
                          "alone, %.1f %% widened\n",
                          runs, shape_name[s], 100 * share[0], 100 * share[1]);
            assert_true(share[1] >= 0.94);
            if (runs == 3) assert_true(share[0] < 0.92);
        }
}

static void test_intervals_repeat(void **state)
{
    (void)state;
    double a[] = {1, 1.1, 1.2, 1.3, 1.25}, b[] = {2, 2.1, 2.15, 1.9}, low[3], high[3];
    perf_rule rule = PERF_RULE_DEFAULTS;
    for (int k = 0; k < 3; k++) {
        rule.seed = k == 2 ? 9 : 1;
        assert_int_equal(
            perf_bootstrap(&low[k], &high[k], &(perf_samples){a, 5}, &(perf_samples){b, 4}, &rule),
            0);
    }
    assert_true(low[0] == low[1] && high[0] == high[1]);
    assert_true(low[0] >= 1.9 / 1.3 - 1 - 1e-9 && high[0] <= 2.15 / 1 - 1 + 1e-9);
    assert_true(low[0] < high[0]);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static perf_effect judge(const char *base, const char *head, perf_noise noise)
{
    const perf_rule rule = PERF_RULE_DEFAULTS;
    double v[2][64];
    perf_samples b = list(v[0], base), h = list(v[1], head);
    perf_effect e;
    assert_int_equal(perf_effects(&e, &b, &h, 1, &noise, &rule), 0);
    return e;
}

static void test_labels(void **state)
{
    (void)state;
    const perf_noise counted = {.freedom = 10}, two = {0.02, 0.02, 0.0169, 100}, none = {0};
    const struct {
        const char *base, *head;
        perf_noise noise;
        hpc_history_label label;
        double change;
    } cases[] = {
        /* without noise the threshold decides, and single samples do */
        {"10", "12", counted, HPC_HISTORY_SLOWER, 0.2},
        {"10", "8", counted, HPC_HISTORY_FASTER, -0.2},
        {"10", "10", counted, HPC_HISTORY_SAME, 0},
        {"100", "105", counted, HPC_HISTORY_SAME, 0.05},
        {"100", "105.001", counted, HPC_HISTORY_SLOWER, 0.05001},
        {"10,10", "12,12,12", counted, HPC_HISTORY_SLOWER, 0.2},
        {"10,10,10,10", "10,10,10.001,10", counted, HPC_HISTORY_SAME, 0},
        /* 2 % of noise: three samples show 8 %, but not 1 %; one sample shows nothing */
        {"9.9,10,10.1", "10.7,10.8,10.9", two, HPC_HISTORY_SLOWER, 0.08},
        {"10.7,10.8,10.9", "9.9,10,10.1", two, HPC_HISTORY_FASTER, -0.8 / 10.8},
        {"9.9,10,10.1,10,9.9,10.1,10", "9.9,10,10.1,10.1,10.1,10.3,10.2", two, HPC_HISTORY_SAME,
         0.01},
        {"10", "10.6", two, HPC_HISTORY_UNDECIDED, 0.06},
        {"10", "13", two, HPC_HISTORY_SLOWER, 0.3},
        /* the change is there, but not beyond 5 %: nor is it shown to be within */
        {"9.9,10,10.1,10,10.1", "10.4,10.45,10.5,10.4,10.5", two, HPC_HISTORY_UNDECIDED, 0.045},
        /* one outlier of five is nothing, but of three */
        {"9.9,10,99", "10.7,10.8,10.9", two, HPC_HISTORY_UNDECIDED, 0.08},
        {"9.9,10,10.1,9.95,99", "10.7,10.8,10.9,10.75,10.85", two, HPC_HISTORY_SLOWER, 0.08},
        /* a disturbed commit is judged by its own scatter */
        {"9.9,10,10.1", "10,13,16", two, HPC_HISTORY_UNDECIDED, 0.3},
        /* no noise is known: ranks, for which three samples are too few */
        {"10,10.1,10.2", "20,20.1,20.2", none, HPC_HISTORY_UNDECIDED, 10 / 10.1},
        {"10,10.1,10.2,10.3", "20,20.1,20.2,20.3", none, HPC_HISTORY_SLOWER, 10 / 10.15},
        {"10", "20", none, HPC_HISTORY_UNDECIDED, 1},
        {"10,10.01,10.02", "10,10.01,10.02", none, HPC_HISTORY_SAME, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        perf_effect e = judge(cases[k].base, cases[k].head, cases[k].noise);
        if (e.label != cases[k].label)
            fail_msg("case %zu: %s, %g to %g, p %g", k, hpc_history_label_name(e.label), e.low,
                     e.high, e.p);
        assert_true(fabs(e.change - cases[k].change) < 1e-9);
        assert_true(e.low <= e.change && e.change <= e.high);
        assert_true((e.ranked || cases[k].noise.freedom > 0) && e.q == e.p);
    }
    perf_effect e = judge("10", "20", none);
    assert_true(e.low == -1 && isinf(e.high));
    e = judge("", "20", none);
    assert_true(isnan(e.p) && isnan(e.q) && e.label == HPC_HISTORY_UNDECIDED && isinf(e.high));
    e = judge("1,2,3,4,5,6", "7,8,9,10,11,12", two); /* enough for ranks, and the only pair */
    assert_true(e.ranked);
    near(e.p, 2.0 / 924, 1e-12);
}

/* Of instructions, counted once but for one commit, whose repeats are alike or nearly so: what
 * changed by 5 % and more is found, and nothing else. */
static void test_counted(void **state)
{
    (void)state;
    const perf_rule rule = PERF_RULE_DEFAULTS;
    for (int wobbly = 0; wobbly < 2; wobbly++) {
        double value[300], repeat[12];
        perf_samples commit[300];
        perf_effect effect[299];
        perf_noise noise;
        dice d = {.seed = 11};
        for (int k = 0; k < 300; k++) {
            value[k] = 1e9 * (k >= 100 ? 1.06 : 1) * (k >= 200 ? 0.9 : 1) *
                       (1 + (wobbly ? 1e-6 * roll(&d) : 0));
            commit[k] = (perf_samples){&value[k], 1};
        }
        for (int k = 0; k < 12; k++) repeat[k] = 1e9 * (1 + (wobbly ? 1e-6 * roll(&d) : 0));
        commit[0] = (perf_samples){repeat, 12};
        assert_int_equal(perf_noise_measure(&noise, commit, 300), 0);
        assert_int_equal(perf_effects(effect, commit, commit + 1, 299, &noise, &rule), 0);
        for (int k = 0; k < 299; k++)
            assert_int_equal(effect[k].label, k == 99    ? HPC_HISTORY_SLOWER
                                              : k == 199 ? HPC_HISTORY_FASTER
                                                         : HPC_HISTORY_SAME);
    }
}

/* ---- discoveries --------------------------------------------------------------------------------
 */

typedef struct tally {
    double wrong; /* share of discoveries, averaged over rounds: a round without has 0 */
    double found; /* as a share of the changes */
} tally;

enum { PAIRS = 500, EACH = 10 };

/* Series of 501 commits, of which every tenth changes by `step`, up and down; 0: none does. Of less
 * than three samples have all but each fourth commit one only. */
static tally discover(int runs, shape s, double step, int rounds)
{
    perf_rule rule = PERF_RULE_DEFAULTS;
    tally t = {0};
    dice d = {.seed = (uint64_t)(1000 * runs) + (uint64_t)(100 * step) + s};
    rule.resamples = 1; /* intervals are not looked at */
    rule.threshold = 0.02;
    for (int round = 0; round < rounds; round++) {
        perf_samples commit[PAIRS + 1];
        perf_effect effect[PAIRS];
        perf_noise noise;
        double *value, level[PAIRS + 1];
        int wrong = 0, right = 0;
        for (int k = 0; k <= PAIRS; k++) level[k] = k / EACH % 2 ? 1 + step : 1;
        make_costs(commit, &value, PAIRS + 1, runs, level, 0.02, s, &d);
        for (int k = 0; runs < 3 && k <= PAIRS; k++) commit[k].n = k % 4 ? 1 : runs;
        assert_int_equal(perf_noise_measure(&noise, commit, PAIRS + 1), 0);
        assert_int_equal(perf_effects(effect, commit, commit + 1, PAIRS, &noise, &rule), 0);
        for (int k = 0; k < PAIRS; k++) {
            bool found = effect[k].q <= rule.rate;
            hpc_history_label l = effect[k].label;
            assert_true(found || (l != HPC_HISTORY_SLOWER && l != HPC_HISTORY_FASTER));
            wrong += found && level[k] == level[k + 1];
            right += level[k] != level[k + 1] &&
                     l == (level[k + 1] > level[k] ? HPC_HISTORY_SLOWER : HPC_HISTORY_FASTER);
        }
        t.found += (double)right / (PAIRS / EACH) / rounds;
        if (wrong + right > 0) t.wrong += (double)wrong / (double)(wrong + right) / rounds;
        free(value);
    }
    return t;
}

/* At a rate of 5 %. The shares are means of `rounds` numbers between 0 and 1, and the bounds three
 * standard errors above that rate. */
static void test_discoveries(void **state)
{
    (void)state;
    static const struct {
        int runs;
        double step, least[SHAPES_N];
    } cases[] = {{2, 0.5, {0.9, 0.9, 0.0}},
                 {3, 0.05, {0.15, 0.12, 0.0}},
                 {5, 0.05, {0.7, 0.7, 0.3}},
                 {10, 0.05, {0.95, 0.93, 0.75}}};
    int rounds = is_long() ? 1000 : 30;
    double most = 0.05 + 3 * sqrt(0.05 * 0.95 / rounds);
    for (shape s = NORMAL; s < SHAPES_N; s++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            tally none = discover(cases[k].runs, s, 0, rounds);
            tally some = discover(cases[k].runs, s, cases[k].step, rounds);
            print_message("%2d samples, %-9s: a false discovery in %.1f %% of series without a "
                          "change, %.1f %% of all where 50 of 500 changed by %.0f %%; finds "
                          "%.1f %% of these\n",
                          cases[k].runs, shape_name[s], 100 * none.wrong, 100 * some.wrong,
                          100 * cases[k].step, 100 * some.found);
            fflush(stdout);
            assert_true(none.wrong <= most && some.wrong <= most);
            assert_true(some.found >= cases[k].least[s]);
        }
}

/* ---- failures ----------------------------------------------------------------------------- */

static int label_body(void *user)
{
    double v[] = {1, 1.1, 1.2, 2, 2.1, 2.2}, low, high, q;
    const perf_samples side[] = {{v, 3}, {v + 3, 3}};
    const perf_rule rule = PERF_RULE_DEFAULTS;
    perf_noise noise = {0};
    perf_effect e;
    int rc = HPC_OK;
    (void)user;
    TRY(perf_effects(&e, &side[0], &side[1], 1, &noise, &rule));
    TRY(perf_noise_measure(&noise, side, 2));
    TRY(perf_bootstrap(&low, &high, &side[0], &side[1], &rule));
    TRY(perf_discovery_rates(&q, &e.p, 1));
out:
    return rc;
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(label_body, NULL) >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_rank_numbers),
        cmocka_unit_test(test_rank_by_definition),
        cmocka_unit_test(test_rank_of_many),
        cmocka_unit_test(test_discovery_rates),
        cmocka_unit_test(test_noise_of_a_series),
        cmocka_unit_test(test_noise_is_not_made_up),
        cmocka_unit_test(test_freedom),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_intervals_repeat),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_discoveries),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests_name("history/label", tests, NULL, NULL);
}
