/*
 * Tests of corpus/history/steps.c: steps that were put in are found, where and how large they are,
 * and noise of several kinds makes none. HPC_TEST_LONG=1 simulates more.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/history/costs.h"
#include "tests/support/fault.h"

#include "corpus/history/steps.h"

static const perf_steps_rule usual = PERF_STEPS_DEFAULTS;

static int rounds_of(int quick)
{
    return getenv("HPC_TEST_LONG") ? 20 * quick : quick;
}

static void find(perf_steps *out, const perf_samples *commit, int64_t n)
{
    assert_int_equal(perf_steps_find(out, commit, n, &usual), 0);
}

/* ---- steps that are there -------------------------------------------------------------------- */

enum { LENGTH = 150, STEPS = 3 };

typedef struct truth {
    int at[STEPS];
    double change[STEPS], level[LENGTH];
} truth;

/* Three steps of `size`, up and down, at least 20 commits from each other and from both ends. */
static void make_truth(truth *t, double size, uint64_t seed)
{
    double level = 1;
    int k = 0;
    for (int i = 0; i < STEPS; i++) {
        t->at[i] = 20 + 40 * i + (int)(hpc_random_bits(seed, 1, 0, (uint64_t)i) % 21);
        t->change[i] = hpc_random_bits(seed, 2, 0, (uint64_t)i) % 2 ? size : 1 / (1 + size) - 1;
    }
    for (int i = 0; i <= STEPS; i++) {
        for (; k < (i < STEPS ? t->at[i] : LENGTH); k++) t->level[k] = level;
        if (i < STEPS) level *= 1 + t->change[i];
    }
}

/* The likeliest place for who knows the noise to be normal, the levels before and after, and that
 * there is one step between the middles of these levels. */
static int ideal(const perf_samples *commit, const truth *t, int i)
{
    int lo = i ? (t->at[i - 1] + t->at[i]) / 2 : 1;
    int hi = i < STEPS - 1 ? (t->at[i] + t->at[i + 1]) / 2 : LENGTH - 1, best = lo;
    double a = log(t->level[t->at[i] - 1]), b = log(t->level[t->at[i]]), sum = 0, most = 0;
    for (int k = lo; k < hi; k++) {
        for (int64_t r = 0; r < commit[k].n; r++) /* it is before the step */
            sum += (log(commit[k].value[r]) - (a + b) / 2) * (a - b);
        if (sum > most) {
            most = sum;
            best = k + 1;
        }
    }
    return best;
}

typedef struct tally {
    int64_t there, seen, near, exact, ideal_near, extra, in_range, in_interval, width;
} tally;

static void compare(tally *y, const perf_steps *found, const perf_samples *commit, const truth *t)
{
    int64_t matched = 0;
    for (int i = 0; i < STEPS; i++) {
        const perf_step *best = NULL;
        for (int64_t k = 0; k < found->n; k++)
            if (llabs(found->item[k].at - t->at[i]) <= 10 &&
                (found->item[k].change > 0) == (t->change[i] > 0) &&
                (!best || llabs(found->item[k].at - t->at[i]) < llabs(best->at - t->at[i])))
                best = &found->item[k];
        y->there++;
        y->ideal_near += abs(ideal(commit, t, i) - t->at[i]) <= 1;
        if (!best) continue;
        matched++;
        y->near += llabs(best->at - t->at[i]) <= 1;
        y->exact += best->at == t->at[i];
        y->in_range += best->first <= t->at[i] && t->at[i] <= best->last;
        y->in_interval += best->low <= t->change[i] && t->change[i] <= best->high;
        y->width += best->last - best->first + 1;
        assert_true(best->first <= best->at && best->at <= best->last);
        assert_true(best->low <= best->change && best->change <= best->high);
    }
    y->seen += matched;
    y->extra += found->n - matched;
}

static tally simulate(double size, int runs, shape s, int rounds)
{
    tally y = {0};
    dice d = {.seed = (uint64_t)(10 * runs) + s};
    for (int round = 0; round < rounds; round++) {
        perf_samples commit[LENGTH];
        perf_steps found;
        double *value;
        truth t;
        make_truth(&t, size, (uint64_t)round);
        make_costs(commit, &value, LENGTH, runs, t.level, 0.02, s, &d);
        find(&found, commit, LENGTH);
        compare(&y, &found, commit, &t);
        perf_steps_release(&found);
        free(value);
    }
    return y;
}

static double share(int64_t a, int64_t b)
{
    return b ? (double)a / (double)b : 0;
}

/* With one sample of normal noise, a step is 2.4 standard deviations. An estimator that knows
 * everything except the position cannot beat the ideal. With outliers, the ideal for normal noise
 * is not a bound. */
static void test_steps_are_found(void **state)
{
    (void)state;
    static const struct {
        double size;
        int runs;
        shape s;
        double near; /* at least */
    } cases[] = {
        {0.05, 3, NORMAL, 0.95}, {0.05, 3, STUDENT_4, 0.95}, {0.05, 3, SPIKES, 0.95},
        {0.05, 5, NORMAL, 0.98}, {0.05, 1, NORMAL, 0.88},    {0.05, 1, STUDENT_4, 0.88},
        {0.05, 1, SPIKES, 0.55}, {0.10, 1, NORMAL, 0.98},    {0.02, 3, NORMAL, 0.5},
        {0.02, 10, NORMAL, 0.9},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tally y = simulate(cases[k].size, cases[k].runs, cases[k].s, rounds_of(k ? 150 : 700));
        double extra = 500 * (double)y.extra * STEPS / (double)y.there / LENGTH;
        print_message("%2.0f %% by %2d samples, %-9s: within a commit %.1f %% (ideal %.1f), at it "
                      "%.1f, seen %.1f; range covers %.1f %% by %.1f commits, interval %.1f %%; "
                      "%.2f more in 500 commits\n",
                      100 * cases[k].size, cases[k].runs, shape_name[cases[k].s],
                      100 * share(y.near, y.there), 100 * share(y.ideal_near, y.there),
                      100 * share(y.exact, y.there), 100 * share(y.seen, y.there),
                      100 * share(y.in_range, y.seen), share(y.width, y.seen),
                      100 * share(y.in_interval, y.seen), extra);
        assert_true(share(y.near, y.there) >= cases[k].near);
        assert_true(share(y.in_range, y.seen) >= 0.93);
        assert_true(share(y.in_interval, y.seen) >= 0.91);
        assert_true(extra <= 1);
    }
}

/* How soon a step of 5 % is seen: by the commits that are there of its level. */
static void test_the_end(void **state)
{
    (void)state;
    static const struct {
        int runs;
        double least[3];
    } cases[] = {{1, {0, 0, 0.5}}, {3, {0.4, 0.9, 0.97}}, {5, {0.8, 0.97, 0.98}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int after = 1; after <= 3; after++) {
            dice d = {.seed = c};
            int rounds = rounds_of(100), seen = 0, sure = 0;
            for (int round = 0; round < rounds; round++) {
                perf_samples commit[100];
                perf_steps found;
                double *value, level[100];
                for (int k = 0; k < 100; k++) level[k] = k < 100 - after ? 1 : 1.05;
                make_costs(commit, &value, 100, cases[c].runs, level, 0.02, NORMAL, &d);
                find(&found, commit, 100);
                const perf_step *last = found.n ? &found.item[found.n - 1] : NULL;
                seen += last && last->at >= 98 - after;
                sure += last && last->at >= 98 - after && last->p < 0.001;
                perf_steps_release(&found);
                free(value);
            }
            print_message(
                "by %d samples, %d commits of the new level: seen %.1f %%, with p < 0.001 "
                "%.1f %%\n",
                cases[c].runs, after, 100.0 * seen / rounds, 100.0 * sure / rounds);
            assert_true(seen >= cases[c].least[after - 1] * rounds);
        }
}

/* ---- steps that are not ------------------------------------------------------------------------
 */

typedef enum wave { STILL, RAMP, MEMORY_5, MEMORY_9, WALK, WAVES_N } wave;
static const char *const wave_name[] = {"still", "drifts by 10 %", "correlated by 0.5",
                                        "correlated by 0.9", "walks"};

/* What the machine adds, common to all samples of a commit. */
static void make_wave(double *level, int n, wave w, dice *d)
{
    double x = 0, r = w == MEMORY_5 ? 0.5 : w == MEMORY_9 ? 0.9 : 1;
    for (int k = 0; k < n; k++) {
        if (w == RAMP) x = 0.1 * k / n;
        if (w == MEMORY_5 || w == MEMORY_9) x = r * x + 0.02 * sqrt(1 - r * r) * roll(d);
        if (w == WALK) x += 0.002 * roll(d);
        level[k] = exp(x);
    }
}

static void alarms(double *found, double *drifts, double *waves, wave w, shape s, int runs,
                   int rounds)
{
    enum { N = 500 };
    dice d = {.seed = (uint64_t)(100 * w + runs) + s};
    *found = *drifts = *waves = 0;
    for (int round = 0; round < rounds; round++) {
        perf_samples commit[N];
        perf_steps out;
        double *value, level[N];
        make_wave(level, N, w, &d);
        make_costs(commit, &value, N, runs, level, 0.02, s, &d);
        find(&out, commit, N);
        *found += (double)out.n / rounds;
        *drifts += (double)out.drifts_n / rounds;
        *waves += out.waves / rounds;
        perf_steps_release(&out);
        free(value);
    }
}

/* At most one in 500 commits, also where the noise of neighbours has a correlation of 0.5. A
 * machine that stays slower for ten commits, or permanently, looks like steps of the program: some
 * are found, and the test bounds their number. */
static void test_noise_makes_no_steps(void **state)
{
    (void)state;
    static const double most[WAVES_N] = {1, 1, 1, 5, 6};
    for (wave w = STILL; w < WAVES_N; w++)
        for (shape s = NORMAL; s < (w == STILL ? SHAPES_N : STUDENT_4); s++)
            for (int runs = 1; runs <= 3; runs += 2) {
                double found, drifts, waves;
                alarms(&found, &drifts, &waves, w, s, runs, rounds_of(w == STILL ? 150 : 50));
                print_message("%-17s by %d samples, %-9s: %.2f false steps in 500 commits, %.2f "
                              "levels drift, waves %.2f\n",
                              wave_name[w], runs, shape_name[s], found, drifts, waves);
                assert_true(found <= most[w]);
                if (w == RAMP) assert_true(drifts >= 0.9);
            }
}

/* ---- single series -----------------------------------------------------------------------------
 */

static void is_step(const perf_step *s, int64_t at, int64_t slack, double change, double off)
{
    if (llabs(s->at - at) > slack || fabs(s->change - change) > off)
        fail_msg("a step of %g at %lld, not of %g at %lld", s->change, (long long)s->at, change,
                 (long long)at);
    assert_true(s->first <= at && at <= s->last && s->p < 0.01);
    assert_true(s->low <= s->change && s->change <= s->high);
}

/* Takes out what a run of noise may have made: the rule allows a false step in 2,000 commits. */
static void keep_sure(perf_steps *found)
{
    int64_t n = 0;
    for (int64_t k = 0; k < found->n; k++)
        if (found->item[k].p < 0.01) found->item[n++] = found->item[k];
    assert_true(found->n - n <= 1);
    found->n = n;
}

/* Of a program that got slower by 8 % at 40 and by 4 % at 110, and back by 8 % at 150; at 70 the
 * machine was busy with something else, at 90 one of the samples was. */
static void test_a_history(void **state)
{
    (void)state;
    perf_samples commit[200];
    perf_steps found;
    double *value, level[200];
    dice d = {.seed = 2};
    for (int k = 0; k < 200; k++)
        level[k] = 12.5 * (k >= 40 ? 1.08 : 1) * (k >= 110 ? 1.04 : 1) * (k >= 150 ? 0.926 : 1);
    make_costs(commit, &value, 200, 5, level, 0.015, NORMAL, &d);
    for (int r = 0; r < 5; r++) value[70 * 5 + r] *= 1.2 + 0.1 * r;
    value[90 * 5 + 2] *= 3;
    commit[120].n = 0; /* it did not build */
    commit[149].n = 0;
    find(&found, commit, 200);
    keep_sure(&found);
    assert_int_equal(found.n, 3);
    is_step(&found.item[0], 40, 0, 0.08, 0.015);
    is_step(&found.item[1], 110, 1, 0.04, 0.01);
    is_step(&found.item[2], 150, 0, -0.074, 0.01);
    assert_int_equal(found.item[2].first, 149); /* as likely as 150, which was not measured */
    assert_true(fabs(found.noise - 0.015) < 0.003);
    assert_true(found.drifts_n == 0 && found.waves == 1);
    for (int64_t k = 0; k < found.stretches_n; k++) {
        const perf_stretch *s = &found.stretch[k];
        assert_true(s->first == (k ? found.stretch[k - 1].last + 1 : 0) || s->first == 150);
        if (s->last - s->first >= 20)
            assert_true(s->low[0] < level[s->first] && level[s->first] < s->high[0]);
        assert_true(s->value[0] == s->value[1] && s->high[1] / s->low[1] < 1.02);
    }
    assert_int_equal(found.stretch[found.stretches_n - 1].first, 150);
    assert_int_equal(found.stretch[found.stretches_n - 1].last, 199);
    perf_steps_release(&found);
    free(value);
}

/* What drifts is one stretch from end to end. */
static void test_drifts(void **state)
{
    (void)state;
    perf_samples commit[100];
    perf_steps found;
    double *value, level[100];
    dice d = {.seed = 3};
    for (int k = 0; k < 100; k++) level[k] = 5 * exp(0.002 * k);
    make_costs(commit, &value, 100, 3, level, 0.01, NORMAL, &d);
    find(&found, commit, 100);
    assert_true(found.n == 0 && found.drifts_n == 1);
    assert_int_equal(found.stretches_n, 1);
    for (int end = 0; end < 2; end++) {
        const perf_stretch *s = found.stretch;
        assert_true(s->low[end] < level[end * 99] && level[end * 99] < s->high[end]);
        assert_true(s->high[end] / s->low[end] < 1.02);
    }
    perf_steps_release(&found);
    free(value);
}

/* Without noise, single samples give every level exactly; a level of one commit is not
 * recognized. */
static void test_counted(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 200; seed++) {
        double value[120], level = 1e9, repeat[3];
        perf_samples commit[120];
        perf_steps found;
        int at[40], n = 0, next = 3 + (int)(hpc_random_bits(seed, 1, 0, 0) % 9);
        for (int k = 0; k < 120; k++) {
            if (k == next && k < 117) {
                at[n++] = k;
                level *= hpc_random_bits(seed, 3, 0, (uint64_t)k) % 2 ? 1.02 : 0.95;
                next += 3 + (int)(hpc_random_bits(seed, 2, 0, (uint64_t)k) % 30);
            }
            value[k] = level;
            commit[k] = (perf_samples){&value[k], 1};
        }
        for (int r = 0; r < 3; r++) repeat[r] = value[0];
        commit[0] = (perf_samples){repeat, 3};
        find(&found, commit, 120);
        assert_int_equal(found.n, n);
        for (int i = 0; i < n; i++) {
            double change = value[at[i]] / value[at[i] - 1] - 1;
            is_step(&found.item[i], at[i], 0, change, 1e-9);
            assert_true(found.item[i].first == at[i] && found.item[i].last == at[i]);
        }
        assert_int_equal(found.stretches_n, n + 1);
        for (int64_t i = 0; i <= n; i++)
            assert_true(fabs(found.stretch[i].value[0] / value[found.stretch[i].first] - 1) < 1e-9);
        perf_steps_release(&found);
    }
}

/* Of single samples two that are a little off the new level are left out of it: the step begins
 * with them all the same. 0: it did not build. */
static void test_a_step_with_outliers(void **state)
{
    static const double value[] = {111.4615, 111.4616, 111.4612, 111.4614, 111.4561, 111.4561,
                                   111.6864, 111.6870, 114.1479, 114.1478, 114.1476, 0,
                                   114.1481, 114.1486, 114.1062, 114.0523, 114.0520, 114.0523,
                                   114.1265, 101.9111, 101.8675, 102.0551, 102.0554};
    double twice[] = {111.4615, 111.4616};
    perf_samples commit[23];
    perf_steps found;
    (void)state;
    for (int k = 0; k < 23; k++) commit[k] = (perf_samples){&value[k], value[k] > 0};
    commit[0] = (perf_samples){twice, 2};
    find(&found, commit, 23);
    assert_int_equal(found.n, 2);
    is_step(&found.item[0], 8, 0, 0.0217, 1e-3);
    is_step(&found.item[1], 19, 0, -0.1055, 1e-3);
    assert_int_equal(found.item[1].first, 19);
    assert_int_equal(found.stretch[found.stretches_n - 1].first, 21);
    perf_steps_release(&found);
}

static void test_outliers(void **state)
{
    int any = 0;
    (void)state;
    for (int runs = 1; runs <= 3; runs += 2)
        for (int at = 0; at < 59; at++) {
            perf_samples commit[60];
            perf_steps found;
            double *value;
            dice d = {.seed = 4};
            make_costs(commit, &value, 60, runs, NULL, 0.01, NORMAL, &d);
            for (int r = 0; r < runs; r++) value[at * runs + r] *= 1.5;
            find(&found, commit, 60);
            any += found.n > 0;
            keep_sure(&found);
            assert_int_equal(found.n, 0);
            perf_steps_release(&found);
            free(value);
        }
    assert_true(any <= 2);
}

/* The last commit alone: of three samples it is a step; of one sample noise may have a tail. */
static void test_a_new_level(void **state)
{
    (void)state;
    for (int runs = 1; runs <= 3; runs += 2) {
        perf_samples commit[60];
        perf_steps found;
        double *value;
        dice d = {.seed = 4};
        make_costs(commit, &value, 60, runs, NULL, 0.01, NORMAL, &d);
        for (int r = 0; r < runs; r++) value[59 * runs + r] *= 1.5;
        find(&found, commit, 60);
        assert_int_equal(found.n, 1);
        is_step(&found.item[0], 59, 0, 0.5, 0.03);
        assert_true(runs == 1 ? found.item[0].p > 1e-5 : found.item[0].p < 1e-5);
        for (int r = 0; r < runs; r++) value[59 * runs + r] /= runs == 1 ? 1.46 : 1.48;
        perf_steps_release(&found);
        find(&found, commit, 60);
        assert_int_equal(found.n, 0);
        perf_steps_release(&found);
        free(value);
    }
}

static void test_what_is_not_known(void **state)
{
    (void)state;
    double v[] = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 2, 2};
    perf_samples commit[12];
    perf_steps found;
    for (int n = 0; n <= 8; n++) { /* no repeats, too few neighbours */
        for (int k = 0; k < n; k++) commit[k] = (perf_samples){&v[k], 1};
        find(&found, commit, n);
        assert_true(found.n == 0 && found.noise == 0);
    }
    for (int k = 0; k < 12; k++) commit[k] = (perf_samples){v, 0};
    find(&found, commit, 12); /* nothing was measured */
    assert_true(found.n == 0 && found.noise == 0);
    commit[5] = (perf_samples){v, 12};
    find(&found, commit, 12);
    assert_true(found.n == 0 && found.noise > 0);
    double few[] = {1, 1.01, 0.99, 1, 1.02, 0.99, 2, 2.02, 1.98}; /* but repeats do for three */
    for (int k = 0; k < 3; k++) commit[k] = (perf_samples){few + 3 * k, 3};
    find(&found, commit, 3);
    assert_int_equal(found.n, 1);
    assert_int_equal(found.item[0].at, 2);
    perf_steps_release(&found);
}

static void test_small_steps_are_left_out(void **state)
{
    (void)state;
    perf_samples commit[100];
    perf_steps found;
    double *value, level[100];
    perf_steps_rule rule = PERF_STEPS_DEFAULTS;
    dice d = {.seed = 8};
    for (int k = 0; k < 100; k++) level[k] = (k < 30 ? 1 : 1.02) * (k < 60 ? 1 : 1.2);
    make_costs(commit, &value, 100, 3, level, 0.001, NORMAL, &d);
    for (int most = 0; most < 3; most++) {
        rule.threshold = 0.015 * most;
        assert_int_equal(perf_steps_find(&found, commit, 100, &rule), 0);
        assert_int_equal(found.n, most < 2 ? 2 : 1);
        is_step(&found.item[found.n - 1], 60, 0, 0.2, 0.005);
        perf_steps_release(&found);
    }
    rule.floor = 0.2;
    assert_int_equal(perf_steps_find(&found, commit, 100, &rule), 0);
    assert_true(found.noise == 0.2);
    perf_steps_release(&found);
    free(value);
}

/* Processor time, which a pause does not count to. */
static void test_many_commits(void **state)
{
    (void)state;
    enum { N = 5000 };
    static perf_samples commit[N];
    static double level[N];
    double *value, best = 1e9;
    perf_steps found;
    dice d = {.seed = 12};
    for (int k = 0; k < N; k++) level[k] = k / 250 % 2 ? 1.05 : 1;
    make_costs(commit, &value, N, 3, level, 0.02, NORMAL, &d);
    for (int round = 0; round < 3; round++) {
        clock_t start = clock();
        find(&found, commit, N);
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (seconds < best) best = seconds;
        assert_true(found.n >= 19 && found.n <= 24);
        perf_steps_release(&found);
    }
    print_message("5000 commits: %.0f ms\n", 1000 * best);
    assert_true(best < 1);
    free(value);
}

static int steps_body(void *user)
{
    double v[] = {1, 1, 1, 1, 1, 2, 2, 2};
    perf_samples commit[4];
    perf_steps found;
    (void)user;
    for (int k = 0; k < 4; k++) commit[k] = (perf_samples){v + 2 * k, 2};
    commit[2].n = 1;
    int rc = perf_steps_find(&found, commit, 4, &usual);
    if (rc == 0) assert_int_equal(found.n, 1);
    perf_steps_release(&found);
    return rc;
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(steps_body, NULL) >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_found),
        cmocka_unit_test(test_the_end),
        cmocka_unit_test(test_noise_makes_no_steps),
        cmocka_unit_test(test_a_history),
        cmocka_unit_test(test_drifts),
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_a_step_with_outliers),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_a_new_level),
        cmocka_unit_test(test_what_is_not_known),
        cmocka_unit_test(test_small_steps_are_left_out),
        cmocka_unit_test(test_many_commits),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests_name("history/steps", tests, NULL, NULL);
}
