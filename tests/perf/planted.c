/*
 * Changes of small programs with known effect on run time: the predictions of `hpccoder perf
 * predict`, and with HPC_TEST_LONG=1 their truth, by `hpccoder perf collect`.
 *
 * `planted predict` prints every prediction; `planted measure [KERNEL]` prints the table stored as
 * tests/perf/planted/measured.csv.
 */
/* tsan: left out, starts no thread. */
#include "tests/perf/planted.h"

#include <math.h>

#include "corpus/history/database.h"
#include "tests/support/command.h"

/* ---- measuring ---- */

enum { RUNS_MOST = 64 };

typedef struct measured {
    double base, head; /* medians */
} measured;

static void id_text(char out[HPC_HISTORY_ID], hpc_git *g, const planted *c, const char *name)
{
    char branch[2 * PLANTED_NAME];
    hpc_git_id id;
    snprintf(branch, sizeof branch, "%s/%s", c->kernel, name);
    assert_int_equal(hpc_git_resolve(&id, g, branch), 0);
    hpc_git_id_text(out, &id);
}

static double median_of(const char *path, const char *id)
{
    hpc_history_db *d;
    int64_t series, n = 0;
    const char *commit;
    double value, all[RUNS_MOST];
    assert_int_equal(hpc_history_db_open(&d, path), 0);
    int more;
    while ((more = perf_next_sample(&series, &commit, &value, d)) == 1)
        if (strcmp(commit, id) == 0 && n < RUNS_MOST) all[n++] = value;
    assert_int_equal(more, 0);
    hpc_history_db_close(d);
    assert_true(n > 0);
    return perf_median(all, n);
}

/* By one metric, in a history of its own: builds are shared. */
static measured measure(place *p, hpc_git *g, const planted *c, const char *db, const char *how)
{
    static hpc_test_outcome o;
    char words[512], id[HPC_HISTORY_ID];
    measured m;
    snprintf(words, sizeof words,
             "perf collect --repo @r --range %s/base..%s/%s --build make --run "
             "./bench --work @w "
             "--run-seconds 300 -q --db @%s %s",
             c->kernel, c->kernel, c->name, db, how);
    hpc_test_command_in(&o, p->root, words);
    if (o.code != 0) fail_msg("%s/%s: %s%s", c->kernel, c->name, o.out, o.err);
    id_text(id, g, c, "base");
    m.base = median_of(in(p, db), id);
    id_text(id, g, c, c->name);
    m.head = median_of(in(p, db), id);
    return m;
}

/* The change in percent, and its label as in `perf train`. Timed kernels print the best of many
 * rounds: on a busy machine threads rarely run concurrently. */
static double percent_of(hpc_history_label *label, place *p, hpc_git *g, const planted *c)
{
    measured m = c->by_time
                     ? measure(p, g, c, "time.db", "-m best=best.([0-9.]+) -n 5 --repeat-most 5")
                     : measure(p, g, c, "cost.db", "-m cost -n 1 --repeat-most 1 --warm-up 0");
    double change = 100 * (m.head / m.base - 1), least = c->by_time ? 5 : 1;
    *label = change > least    ? HPC_HISTORY_SLOWER
             : change < -least ? HPC_HISTORY_FASTER
                               : HPC_HISTORY_SAME;
    return change;
}

/* The last number that both print: a change is of the time alone. */
static bool prints_the_same(place *p, hpc_git *g, const planted *c)
{
    measured m =
        measure(p, g, c, "said.db", "-m said=(\\d[0-9.e+-]*) -n 1 --repeat-most 1 --warm-up 0");
    if (m.base != m.head)
        print_message("%s/%s prints %.17g, not %.17g\n", c->kernel, c->name, m.head, m.base);
    return m.base == m.head;
}

/* Rows of measured.csv on stdout, of one kernel or all; how many are not as
 * their file says, by what is counted: times are shown alone. */
static int measure_all(place *p, const char *only)
{
    static planted_set s;
    int wrong = 0;
    planted_open(&s, p);
    hpc_git *g = opened(p, "r");
    printf("kernel,change,kind,label,metric,percent\n");
    for (int k = 0; k < s.n; k++) {
        const planted *c = &s.change[k];
        hpc_history_label found;
        if (only && strcmp(only, c->kernel) != 0) continue;
        bool same = prints_the_same(p, g, c);
        double percent = percent_of(&found, p, g, c);
        printf("%s,%s,%s,%s,%s,%.2f\n", c->kernel, c->name, c->kind,
               hpc_history_label_name(c->label), c->by_time ? "time" : "cost", percent + 0.0);
        fflush(stdout);
        wrong += (found != c->label && !c->by_time) || !same;
        if (found == c->label) continue;
        print_message("%s/%s is %s by %.2f %%, not %s\n", c->kernel, c->name,
                      hpc_history_label_name(found), percent, hpc_history_label_name(c->label));
    }
    hpc_git_close(g);
    planted_release(&s);
    return wrong;
}

/* ---- predicting ---- */

typedef struct tally {
    int n, right, said[HPC_HISTORY_UNDECIDED + 1];
} tally;

static hpc_history_label predicted(place *p, const planted *c)
{
    static hpc_test_outcome o;
    char words[256];
    const char *verdict;
    hpc_json *root;
    snprintf(words, sizeof words, "perf predict --repo @r %s/base..%s/%s --format json", c->kernel,
             c->kernel, c->name);
    hpc_test_command_in(&o, p->root, words);
    if (o.code != 0) fail_msg("%s/%s: exit code %d: %s", c->kernel, c->name, o.code, o.err);
    assert_int_equal(hpc_json_parse(&root, o.out, strlen(o.out), "perf predict"), 0);
    assert_int_equal(hpc_json_text(&verdict, hpc_json_get(root, "verdict"), "verdict"), 0);
    hpc_history_label said = HPC_HISTORY_SLOWER;
    while (said < HPC_HISTORY_UNDECIDED && strcmp(verdict, hpc_history_label_name(said)) != 0)
        said++;
    if (said == HPC_HISTORY_UNDECIDED) assert_string_equal(verdict, "unknown");
    hpc_json_free(root);
    return said;
}

static void count(tally *t, const planted *c, hpc_history_label said)
{
    t->n++;
    t->right += said == c->label;
    t->said[said]++;
}

static void print_tally(const char *name, const tally *t)
{
    printf("%-16s %4d %6d %7d %5d %7d %8d\n", name, t->n, t->right, t->said[HPC_HISTORY_SLOWER],
           t->said[HPC_HISTORY_SAME], t->said[HPC_HISTORY_FASTER], t->said[HPC_HISTORY_UNDECIDED]);
}

/* By kind, in the order of their first change, then by label. */
static void print_tallies(const planted_set *s, const hpc_history_label *said)
{
    printf("%-16s %4s %6s %7s %5s %7s %8s\n", "kind", "n", "right", "slower", "same", "faster",
           "unknown");
    for (int k = 0; k < s->n; k++) {
        tally t = {0};
        bool first = true;
        for (int i = 0; i < s->n; i++) {
            if (strcmp(s->change[i].kind, s->change[k].kind) != 0) continue;
            first = first && i >= k;
            count(&t, &s->change[i], said[i]);
        }
        if (first) print_tally(s->change[k].kind, &t);
    }
    for (int label = HPC_HISTORY_SLOWER; label < HPC_HISTORY_UNDECIDED; label++) {
        tally t = {0};
        for (int i = 0; i < s->n; i++)
            if ((int)s->change[i].label == label) count(&t, &s->change[i], said[i]);
        print_tally(hpc_history_label_name((hpc_history_label)label), &t);
    }
}

static void predict_all(tally *all, tally *harmless, place *p, bool show)
{
    static planted_set s;
    hpc_history_label said[PLANTED_MOST];
    planted_open(&s, p);
    for (int k = 0; k < s.n; k++) {
        const planted *c = &s.change[k];
        said[k] = predicted(p, c);
        count(all, c, said[k]);
        if (c->label == HPC_HISTORY_SAME) count(harmless, c, said[k]);
        if (show)
            printf("%-12s %-14s %-14s %-7s %s\n", c->kernel, c->name, c->kind,
                   hpc_history_label_name(c->label),
                   said[k] == HPC_HISTORY_UNDECIDED ? "unknown" : hpc_history_label_name(said[k]));
    }
    if (show) print_tallies(&s, said);
    printf("%d of %d right (%.1f %%); of %d harmless ones %d called slower (%.1f "
           "%%)\n",
           all->right, all->n, 100.0 * all->right / all->n, harmless->n,
           harmless->said[HPC_HISTORY_SLOWER],
           100.0 * harmless->said[HPC_HISTORY_SLOWER] / harmless->n);
    planted_release(&s);
}

/* ---- tests ---- */

static void the_set_is_what_it_should_be(void **state)
{
    static planted_set s;
    int of[HPC_HISTORY_UNDECIDED] = {0}, by_time = 0;
    planted_open(&s, *state);
    for (int k = 0; k < s.n; k++) {
        of[s.change[k].label]++;
        by_time += s.change[k].by_time;
    }
    assert_in_range(s.n, 60, PLANTED_MOST);
    assert_true(of[HPC_HISTORY_SAME] >= 20 && of[HPC_HISTORY_FASTER] >= 6 &&
                of[HPC_HISTORY_SLOWER] >= 20);
    assert_true(by_time >= 4);
    planted_release(&s);
}

/* What the table says that was measured is what the files say. */
static void the_table_is_of_this_set(void **state)
{
    static planted_set s;
    hpc_buf table = {0};
    planted_open(&s, *state);
    assert_int_equal(hpc_file_read(&table, PLANTED_FOLDER "/measured.csv", 1 << 20), 0);
    hpc_buf_add(&table, "", 1);
    const char *row = strchr(table.data, '\n') + 1;
    for (int k = 0; k < s.n; k++, row = strchr(row, '\n') + 1) {
        const planted *c = &s.change[k];
        char start[256];
        double percent;
        int n = snprintf(start, sizeof start, "%s,%s,%s,%s,%s,", c->kernel, c->name, c->kind,
                         hpc_history_label_name(c->label), c->by_time ? "time" : "cost");
        if (strncmp(row, start, (size_t)n) != 0) fail_msg("not %s but %.80s", start, row);
        assert_int_equal(sscanf(row + n, "%lf", &percent), 1);
        double least = c->by_time ? 5 : 1;
        if (c->label == HPC_HISTORY_SAME) assert_true(fabs(percent) <= least);
        if (c->label != HPC_HISTORY_SAME)
            assert_true((c->label == HPC_HISTORY_SLOWER ? percent : -percent) > least);
    }
    assert_string_equal(row, "");
    hpc_buf_release(&table);
    planted_release(&s);
}

static void what_it_says_is_measured(void **state)
{
    if (!getenv("HPC_TEST_LONG")) {
        print_message("SKIP: half an hour; HPC_TEST_LONG=1 runs it\n");
        skip();
    }
    assert_int_equal(measure_all(*state, NULL), 0);
}

/* The aim is 80 % (`planted predict` fails below that). The shipped model reaches 75 %, and must
 * not fall below three quarters. */
static void most_are_predicted(void **state)
{
    tally all = {0}, harmless = {0};
    predict_all(&all, &harmless, *state, false);
    print_message("%d of %d right\n", all.right, all.n);
    assert_true(4 * all.right >= 3 * all.n);
    assert_true(20 * harmless.said[HPC_HISTORY_SLOWER] <= harmless.n);
}

static int show(int (*what)(place *p, const char *only), const char *only)
{
    void *state;
    int rc = place_setup(&state);
    if (rc == 0) rc = what(state, only) != 0;
    return place_teardown(&state) || rc;
}

static int show_predictions(place *p, const char *only)
{
    (void)only;
    tally all = {0}, harmless = {0};
    predict_all(&all, &harmless, p, true);
    return 10 * all.right < 8 * all.n || 20 * harmless.said[HPC_HISTORY_SLOWER] > harmless.n;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "measure") == 0) return show(measure_all, argv[2]);
    if (argc == 2 && strcmp(argv[1], "predict") == 0) return show(show_predictions, NULL);
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(the_set_is_what_it_should_be),
                                       TEST(the_table_is_of_this_set),
                                       TEST(what_it_says_is_measured), TEST(most_are_predicted)};
    return cmocka_run_group_tests_name("perf/planted", tests, NULL, NULL);
}
