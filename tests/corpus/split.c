/*
 * Tests of corpus/split.c: over random corpora, no similar files are used in two splits; clusters,
 * fractions, and replacement of removed items.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus/harvest.h"
#include "tests/support/fault.h"

enum { SOURCES_MOST = 400, ITEMS_MOST = 6000 };

typedef struct world {
    corpus_item item[ITEMS_MOST];
    corpus_source source[SOURCES_MOST];
    char name[SOURCES_MOST][16];
    hpc_split split[SOURCES_MOST];
    int32_t cluster[SOURCES_MOST];
    int64_t n;
    corpus_split_options options;
    corpus_split_result result;
} world;

static world *make_world(int64_t sources)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    for (int64_t k = 0; k < sources; k++) {
        snprintf(w->name[k], sizeof w->name[k], "owner/r%03d", (int)k);
        w->source[k].name = w->name[k];
    }
    w->options = (corpus_split_options){
        .validation = 0.1, .test = 0.1, .source = w->source, .sources_n = sources};
    return w;
}

/* original: an item, or -1. */
static int32_t add(world *w, uint32_t source, hpc_reason reason, int32_t original, bool head)
{
    int32_t k = (int32_t)w->n++;
    assert_true(w->n <= ITEMS_MOST);
    w->item[k] = (corpus_item){.original = original,
                               .component = original >= 0 ? w->item[original].component : k,
                               .source = source,
                               .stored_bytes = 1000,
                               .reason = (uint8_t)reason,
                               .head = head};
    return k;
}

static void run(world *w)
{
    assert_int_equal(corpus_split(&w->result, w->split, w->cluster, w->item, w->n, &w->options), 0);
}

static bool is_used(const corpus_item *i)
{
    return i->reason == HPC_REASON_KEPT || i->reason == HPC_REASON_NEAR_DUPLICATE;
}

/* ---- properties -------------------------------------------------------------------- */

/* Items are drawn in order of source; duplicates of any earlier item. Then components are named by
 * their least item, as merge.c has it. */
static world *draw_world(uint32_t seed)
{
    uint64_t at = 0;
#define DRAW(n) (hpc_random_bits(seed, 2, 0, at++) % (uint32_t)(n))
    int64_t sources = 1 + DRAW(40);
    world *w = make_world(sources);
    int64_t items = DRAW(2000), alike = DRAW(100);
    w->options.seed = seed;
    w->options.validation = DRAW(40) * 0.01;
    w->options.test = DRAW(40) * 0.01;
    for (int64_t k = 0; k < items; k++) {
        uint32_t source = (uint32_t)(k * sources / items);
        bool head = w->n > 0 ? w->item[w->n - 1].head && DRAW(10) > 0 : true;
        int32_t original = -1;
        hpc_reason reason = HPC_REASON_KEPT;
        if (w->n > 0 && DRAW(100) < alike) {
            original = (int32_t)DRAW(w->n);
            if (DRAW(3) == 0 && w->item[original].reason != HPC_REASON_DUPLICATE)
                reason = HPC_REASON_DUPLICATE;
            else if (w->item[original].reason == HPC_REASON_KEPT)
                reason = HPC_REASON_NEAR_DUPLICATE;
            else
                original = -1;
            if (original >= 0 && !w->item[original].head) head = false; /* those come later */
        } else if (DRAW(10) == 0) {
            reason = HPC_REASON_VENDORED;
        }
        add(w, source, reason, original, head);
        w->item[w->n - 1].stored_bytes = DRAW(5000);
    }
#undef DRAW
    return w;
}

static void assert_nothing_straddles(const world *w)
{
    int split_of[ITEMS_MOST];
    memset(split_of, -1, sizeof split_of);
    for (int64_t k = 0; k < w->n; k++) {
        const corpus_item *i = &w->item[k];
        assert_int_equal(i->split, w->split[i->source]);
        if (!is_used(i)) continue;
        int *of = &split_of[i->component];
        if (*of >= 0) assert_int_equal(*of, i->split);
        *of = i->split;
    }
}

static void assert_rows_make_sense(const world *w, const world *before)
{
    bool had[ITEMS_MOST] = {false}, has[ITEMS_MOST] = {false};
    for (int64_t k = 0; k < w->n; k++) {
        const corpus_item *i = &w->item[k], *b = &before->item[k];
        if (b->reason == HPC_REASON_KEPT) had[b->component] = true;
        if (i->reason == HPC_REASON_KEPT) has[i->component] = true;
        assert_int_equal(i->component, b->component);
        if (b->reason == HPC_REASON_VENDORED) assert_int_equal(i->reason, b->reason);
        if (i->reason == HPC_REASON_KEPT) assert_int_equal(i->original, -1);
        if (i->reason != HPC_REASON_NEAR_DUPLICATE) continue;
        assert_true(i->original >= 0);
        assert_int_equal(w->item[i->original].reason, HPC_REASON_KEPT);
        assert_int_equal(w->item[i->original].component, i->component);
        assert_int_equal(w->item[i->original].split, i->split);
    }
    for (int64_t k = 0; k < w->n; k++) /* no content is lost altogether */
        assert_int_equal(had[k], has[k]);
}

static void assert_clusters_are_whole(const world *w)
{
    for (int64_t k = 0; k < w->options.sources_n; k++) {
        assert_true(w->cluster[k] <= k);
        assert_int_equal(w->cluster[w->cluster[k]], w->cluster[k]);
        assert_int_equal(w->split[k], w->split[w->cluster[k]]);
    }
}

static void test_random(void **state)
{
    (void)state;
    uint32_t seeds = getenv("HPC_TEST_LONG") ? 20000 : 400, straddled = 0, tested = 0;
    for (uint32_t seed = 0; seed < seeds; seed++) {
        world *w = draw_world(seed), *before = draw_world(seed), *again = draw_world(seed);
        run(w);
        run(again);
        assert_memory_equal(w->item, again->item, sizeof w->item);
        assert_nothing_straddles(w);
        assert_rows_make_sense(w, before);
        assert_clusters_are_whole(w);
        straddled += w->result.straddles_n > 0;
        tested += w->result.bytes[HPC_SPLIT_TEST] > 0;
        free(w);
        free(before);
        free(again);
    }
    assert_true(straddled > seeds / 10); /* else nothing was tested */
    assert_true(tested > seeds / 10);
}

/* ---- clusters ------------------------------------------------------------------------ */

/* Two repositories of `files` each, of which `common` are alike. */
static bool are_together(int files, int common, int others)
{
    world *w = make_world(2 + others);
    for (int k = 0; k < files; k++) add(w, 0, HPC_REASON_KEPT, -1, true);
    for (int k = 0; k < files; k++) {
        bool alike = k < common;
        add(w, 1, alike ? HPC_REASON_NEAR_DUPLICATE : HPC_REASON_KEPT, alike ? k : -1, true);
    }
    for (int k = 0; k < others; k++) add(w, (uint32_t)(2 + k), HPC_REASON_KEPT, -1, true);
    run(w);
    bool together = w->cluster[1] == 0;
    assert_int_equal(w->result.clusters_n, 1 + !together + others);
    free(w);
    return together;
}

static void test_clusters(void **state)
{
    (void)state;
    assert_false(are_together(100, 0, 3));
    assert_false(are_together(20, 2, 3)); /* common helpers */
    assert_true(are_together(20, 3, 3));
    assert_true(are_together(150, 3, 0));
    assert_false(are_together(160, 3, 0)); /* less than 2 % */
    assert_true(are_together(100, 90, 5)); /* a fork */
}

/* Files in all repositories do not connect them, however many there are. */
static void test_boilerplate(void **state)
{
    (void)state;
    world *w = make_world(200);
    for (uint32_t k = 0; k < 200; k++)
        for (int32_t i = 0; i < 12; i++)
            add(w, k, k > 0 && i < 6 ? HPC_REASON_DUPLICATE : HPC_REASON_KEPT,
                k > 0 && i < 6 ? i : -1, true);
    run(w);
    assert_int_equal(w->result.clusters_n, 200);
    free(w);
}

/* ---- shares ---------------------------------------------------------------------------- */

static void test_shares(void **state)
{
    (void)state;
    for (int seed = 0; seed < 20; seed++) {
        world *w = make_world(300);
        w->options.seed = seed;
        w->options.validation = 0.05;
        w->options.test = 0.2;
        for (uint32_t k = 0; k < 300; k++)
            for (uint32_t i = 0; i < 1 + k % 9; i++) add(w, k, HPC_REASON_KEPT, -1, true);
        run(w);
        double all = 1000.0 * (double)w->n;
        assert_true(abs((int)(1000 * (double)w->result.bytes[HPC_SPLIT_TEST] / all) - 200) < 15);
        assert_true(abs((int)(1000 * (double)w->result.bytes[HPC_SPLIT_VALIDATION] / all) - 50) <
                    15);
        free(w);
    }
}

/* A cluster's place does not depend on who else is there, as long as there is room. */
static void test_seed(void **state)
{
    (void)state;
    world *a = make_world(100), *b = make_world(100);
    int differ = 0;
    b->options.seed = 1;
    for (uint32_t k = 0; k < 100; k++) {
        add(a, k, HPC_REASON_KEPT, -1, true);
        add(b, k, HPC_REASON_KEPT, -1, true);
    }
    run(a);
    run(b);
    for (int k = 0; k < 100; k++) differ += a->split[k] != b->split[k];
    assert_true(differ > 10);
    free(a);
    free(b);
}

static void test_few(void **state)
{
    (void)state;
    world *w = make_world(1); /* one repository trains */
    for (int k = 0; k < 50; k++) add(w, 0, HPC_REASON_KEPT, -1, true);
    run(w);
    assert_int_equal(w->split[0], HPC_SPLIT_TRAIN);
    assert_int_equal(w->result.bytes[HPC_SPLIT_TEST], 0);
    free(w);
    w = make_world(3); /* the largest trains; the small ones are taken though they are too large */
    for (int k = 0; k < 50; k++) add(w, 0, HPC_REASON_KEPT, -1, true);
    for (int k = 0; k < 12; k++) add(w, 1, HPC_REASON_KEPT, -1, true);
    for (int k = 0; k < 15; k++) add(w, 2, HPC_REASON_KEPT, -1, true);
    run(w);
    assert_int_equal(w->split[0], HPC_SPLIT_TRAIN);
    assert_int_equal(w->split[1], HPC_SPLIT_TEST);
    assert_int_equal(w->split[2], HPC_SPLIT_VALIDATION);
    free(w);
    w = make_world(1); /* nothing at all */
    run(w);
    assert_int_equal(w->result.clusters_n, 1);
    free(w);
}

/* ---- what straddles ---------------------------------------------------------------------- */

/* Two repositories of which the second, the smaller one, tests. */
static world *two_sides(void)
{
    world *w = make_world(2);
    w->options.validation = 0;
    w->options.test = 0.3;
    for (int k = 0; k < 30; k++) add(w, 0, HPC_REASON_KEPT, -1, true);
    return w;
}

static void test_heirs(void **state)
{
    (void)state;
    world *w = two_sides();
    for (int k = 0; k < 10; k++) add(w, 1, HPC_REASON_KEPT, -1, true);
    int32_t copy = add(w, 1, HPC_REASON_DUPLICATE, 0, true);
    int32_t near = add(w, 1, HPC_REASON_NEAR_DUPLICATE, 0, true);
    int32_t old = add(w, 1, HPC_REASON_NEAR_DUPLICATE, 1, false);
    int32_t young = add(w, 1, HPC_REASON_DUPLICATE, 1, true); /* HEAD goes before history */
    run(w);
    assert_int_equal(w->split[1], HPC_SPLIT_TEST);
    assert_int_equal(w->item[0].reason, HPC_REASON_STRADDLES);
    assert_int_equal(w->item[1].reason, HPC_REASON_STRADDLES);
    assert_int_equal(w->item[copy].reason, HPC_REASON_KEPT);
    assert_int_equal(w->item[near].reason, HPC_REASON_NEAR_DUPLICATE);
    assert_int_equal(w->item[near].original, copy);
    assert_int_equal(w->item[young].reason, HPC_REASON_KEPT);
    assert_int_equal(w->item[old].original, young);
    assert_int_equal(w->result.straddles_n, 2);
    free(w);
}

/* A copy of a near-duplicate whose original stays. */
static void test_copy_of_near(void **state)
{
    (void)state;
    world *w = make_world(3);
    w->options.validation = 0;
    w->options.test = 0.2;
    for (int k = 0; k < 10; k++) add(w, 0, HPC_REASON_KEPT, -1, true);
    for (int k = 0; k < 40; k++) add(w, 1, HPC_REASON_KEPT, -1, true);
    int32_t near = add(w, 1, HPC_REASON_NEAR_DUPLICATE, 0, true);
    for (int k = 0; k < 40; k++) add(w, 2, HPC_REASON_KEPT, -1, true);
    w->item[w->n - 1].source = 0; /* so that 0 tests, and has this copy too */
    int32_t copy = add(w, 0, HPC_REASON_DUPLICATE, near, true);
    run(w);
    assert_int_equal(w->split[0], HPC_SPLIT_TEST);
    assert_int_equal(w->item[0].reason, HPC_REASON_KEPT);
    assert_int_equal(w->item[near].reason, HPC_REASON_STRADDLES);
    assert_int_equal(w->item[copy].reason, HPC_REASON_NEAR_DUPLICATE);
    assert_int_equal(w->item[copy].original, 0);
    free(w);
}

static int split_with_faults(void *user)
{
    const world *w = user;
    world *copy = w ? (world *)(void *)w : NULL;
    return corpus_split(&copy->result, copy->split, copy->cluster, copy->item, copy->n,
                        &copy->options);
}

static void test_faults(void **state)
{
    (void)state;
    world *w = draw_world(3);
    assert_true(hpc_test_each_alloc(split_with_faults, w) > 5);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),      cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_boilerplate), cmocka_unit_test(test_shares),
        cmocka_unit_test(test_seed),        cmocka_unit_test(test_few),
        cmocka_unit_test(test_heirs),       cmocka_unit_test(test_copy_of_near),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
