/*
 * Tests of `hpccoder perf train`: a repository where an allocation is added to a loop and removed
 * again, and its history.
 */
/* tsan: left out, other tests start the same threads. */

#include "tests/git/repository.h"

#include "corpus/history/database.h"
#include "tests/support/command.h"

enum { COMMITS = 61, ID = 41 };
static const char PROGRAM[] = "void g(double *);\nvoid f(double *x, int n)\n{\n    int k = %d;\n"
                              "    for (int i = 0; i < n; i++) {\n%s        x[i] += k;\n    }\n}\n";
static const char ALLOCATION[] =
    "        double *t = malloc(n);\n        g(t);\n        free(t);\n";

/* Every second commit changes a number, the others the allocation; @r has them, @ids their names.
 */
static void make_repository(place *p)
{
    hpc_buf b = {0};
    for (int k = 0; k < COMMITS; k++) {
        hpc_buf text = {0};
        hpc_buf_printf(&text, PROGRAM, k / 2, k % 4 == 1 || k % 4 == 2 ? ALLOCATION : "");
        hpc_buf_printf(&b,
                       "commit refs/heads/main\ncommitter a <a@example.org> %d +0000\ndata 1\nm\n"
                       "M 100644 inline src/f.c\ndata %zu\n%s\n",
                       1700000000 + k, text.n, text.data);
        hpc_buf_release(&text);
    }
    assert_int_equal(b.failed, 0);
    put(p, "in", b.data, b.n);
    hpc_buf_release(&b);
    script(p, "new r; git fast-import --quiet < ../in; git rev-list --reverse main > ../ids");
}

static void add_runs(hpc_history_db *d, const char *id, double cost)
{
    assert_int_equal(hpc_history_db_add(d, &(perf_way){"make", "./f", "m"}, "cost", id, cost), 0);
    assert_int_equal(hpc_history_db_add(d, &(perf_way){"make", "./f", "m"}, "cost", id, cost), 0);
    for (int run = 0; run < 2; run++)
        assert_int_equal(hpc_history_db_add(d, &(perf_way){"make", "./f", "m"}, "time", id, 10), 0);
}

/* The allocation costs 20 %, not visible in time. said: the history records r's path. */
static void make_history(place *p, const char *name, bool said)
{
    char path[400];
    char *ids = text_of(p, "ids"), parent[ID] = "", id[ID];
    hpc_history_db *d;
    hpc_buf facts = {0};
    snprintf(path, sizeof path, "%s/%s", p->root, name);
    assert_int_equal(hpc_history_db_create(&d, path), 0);
    if (said) hpc_buf_printf(&facts, "{\"repository\":\"%s/r\"}", p->root);
    if (said) assert_int_equal(hpc_history_db_add_session(d, facts.data), 0);
    for (int k = 0; k < COMMITS; k++) {
        snprintf(id, sizeof id, "%.40s", ids + ID * k);
        assert_int_equal(hpc_history_db_add_commit(d, id, k ? parent : NULL, 1700000000 + k), 0);
        add_runs(d, id, k % 4 == 1 || k % 4 == 2 ? 120 : 100);
        memcpy(parent, id, ID);
    }
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
    hpc_buf_release(&facts);
    hpc_free(ids);
}

static void expect(hpc_test_outcome *o, place *p, const char *words, int code, const char *out,
                   const char *err)
{
    char all[HPC_TEST_WORDS];
    snprintf(all, sizeof all, "perf train %s", words);
    hpc_test_command_in(o, p->root, all);
    if (o->code != code)
        fail_msg("%s: exit code %d, not %d: %s%s", words, o->code, code, o->out, o->err);
    if (out) hpc_test_says_row(o->out, out);
    if (err) hpc_test_says(o->err, err);
}

static void learns_and_learns_again(void **state)
{
    place *p = *state;
    hpc_test_outcome o;
    make_repository(p);
    make_history(p, "h.db", true);
    expect(&o, p, "--db @h.db --metric cost --evaluate --out @m", 0, "\nr 15 30 15 0 0 0\n", "");
    hpc_test_says(o.out, "by cost; calls at most 5 %");
    hpc_test_says(o.out, "leaving out the last part of each repository's history: 4 slower, 9 the "
                         "same, 5 faster, of 1 repository ");
    hpc_test_says_row(o.out, "AUROC of slower 1.000 [ 1.000, 1.000] 0.500");
    hpc_test_says(o.out, "bag of tokens");
    /* The same from the file of examples alone, to the last bit, and no path of ours in it. */
    expect(&o, p, "--examples @m/examples.csv --out @n --evaluate", 0,
           "no bag-of-tokens baseline: ", "");
    script(p, "cmp m/model.json n/model.json; cmp m/examples.csv n/examples.csv; ! grep -q / "
              "m/examples.csv; test $(wc -l < m/examples.csv) = 61");
    /* Probabilities of test examples, here of the same ones under another name. */
    script(p, "sed 's/^r,/s,/' m/examples.csv >s.csv; test ! -e m/evaluated.csv");
    expect(&o, p, "--examples @m/examples.csv --judge-on @s.csv --out @n", 0, "", "");
    script(p, "head -1 n/evaluated.csv | grep -q ',p_slower,p_same,p_faster$'; "
              "test $(grep -c ^s, n/evaluated.csv) = 60; "
              "awk -F, 'NR > 1 { s = $8 + $9 + $10; if (s < 0.999 || s > 1.001) exit 1 }' "
              "n/evaluated.csv");
    /* Packed, and as before there were the last two features: these are found in the repository. */
    script(p, "zstd -q m/examples.csv -o packed; "
              "sed -E 's/(,[^,]*){8}$//' m/examples.csv >old");
    expect(&o, p, "--examples @packed --out @n", 0, "", "");
    script(p, "cmp m/examples.csv n/examples.csv");
    expect(&o, p, "--examples @old --out @n", 2, NULL, "old: it lacks estimate_change");
    expect(&o, p, "--examples @old --repo other=@r --out @n", 2, NULL, "--repo r=DIR");
    expect(&o, p, "--examples @old --repo r=@r --out @n", 0, "", "");
    script(p, "cmp m/model.json n/model.json; cmp m/examples.csv n/examples.csv");
    /* With both, existing examples are not counted twice. */
    expect(&o, p, "--db @h.db -m cost --examples @m/examples.csv --out @b --json", 0,
           "\"there_before\": 60", "");
    hpc_test_says(o.out, "\"commits\": 60");
    script(p, "cmp m/model.json b/model.json");
}

static int by_key(const void *a, const void *b)
{
    const hpc_hot_line *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* "hot.db" knows of the first commit alone that the loop's lines, with the allocation and without,
 * are hot; "cold.db" has that commit and no lines, "other.db" a commit of no repository. */
static void make_heat(place *p)
{
    hpc_hot_line hot[8];
    char path[400], id[ID], *ids = text_of(p, "ids");
    int64_t n = 0;
    snprintf(id, sizeof id, "%.40s", ids);
    for (int with = 0; with < 2; with++) {
        hpc_buf text = {0};
        uint32_t line[16] = {0}, lines = 0;
        hpc_buf_printf(&text, PROGRAM, 0, with ? ALLOCATION : "");
        for (size_t k = 0; k < text.n; k++)
            if (text.data[k] == '\n') line[++lines] = (uint32_t)k + 1;
        for (uint32_t k = 6; k < lines - 1; k++)
            hot[n++] = (hpc_hot_line){hpc_line_key(text.data, line, lines, k), 0.125f};
        hpc_buf_release(&text);
    }
    qsort(hot, (size_t)n, sizeof *hot, by_key);
    for (int k = 0; k < 3; k++) {
        static const char *const names[] = {"cold", "hot", "other"};
        bool with = k == 1;
        hpc_history_db *d;
        snprintf(path, sizeof path, "%s/%s.db", p->root, names[k]);
        if (k == 2) memset(id, '7', sizeof id - 1);
        assert_int_equal(hpc_history_db_create(&d, path), 0);
        assert_int_equal(hpc_history_db_add_commit(d, id, NULL, 1700000000), 0);
        if (with)
            assert_int_equal(
                hpc_history_db_add_profile(d, &(perf_way){"make", "./f", "m"}, id, hot, n), 0);
        if (k == 2)
            assert_int_equal(hpc_history_db_add(d, &(perf_way){"make", "./f", "m"}, "cost", id, 1),
                             0);
        assert_int_equal(hpc_history_db_commit(d), 0);
        hpc_history_db_close(d);
    }
    hpc_free(ids);
}

/* Where the cost is is learnt of a history and of its examples alike, and heard by a prediction. */
static void heat_is_learnt_and_heard(void **state)
{
    static const char count[] = "awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "
                                "\"heat_known\") k = i } NR > 1 && $k == 1' m/examples.csv | wc -l";
    place *p = *state;
    hpc_test_outcome o;
    make_repository(p);
    make_history(p, "h.db", true);
    make_heat(p);
    expect(&o, p, "--db @h.db -m cost --out @without", 0, "", "");
    expect(&o, p, "--db @h.db -m cost --line-profile r=@hot.db --out @m", 0, "", "");
    char all[512];
    snprintf(all, sizeof all, "test $(%s) = 60", count);
    script(p, all);
    expect(&o, p,
           "--examples @without/examples.csv --repo r=@r --line-profile r=@hot.db -m cost "
           "--evaluate --out "
           "@n",
           0, "bag of tokens", ""); /* their text is available */
    script(p, "cmp m/examples.csv n/examples.csv; cmp m/model.json n/model.json");
    expect(&o, p, "--examples @n/examples.csv --repo r=@r -m cost --out @again", 0, "", "");
    script(p, "cmp m/examples.csv again/examples.csv"); /* measurements are unchanged */
    hpc_test_command_in(&o, p->root,
                        "perf predict --repo @r --model @m --db @hot.db main~2.. --json");
    assert_int_equal(o.code, 0);
    assert_string_equal(o.err, "");
    char *heard = strdup(o.out);
    assert_non_null(heard);
    hpc_test_command_in(&o, p->root, "perf predict --repo @r --model @m main~2.. --json");
    assert_string_not_equal(o.out, heard);
    free(heard);
    hpc_test_says(o.err, "no history with one is given (--db)");
    hpc_test_command_in(&o, p->root,
                        "perf predict --repo @r --model @m --db @cold.db main~1..main");
    hpc_test_says(o.err, "the history has no line profile");
    script(p, "new s; echo 'int f;' > f.c; save; echo 'int g;' > f.c; save; cd ..; "
              "git clone -q --depth 1 \"file://$PWD/s\" cut");
    hpc_test_command_in(&o, p->root, "perf predict --repo @s --model @m --db @hot.db HEAD~1..");
    assert_int_equal(o.code, 2);
    hpc_test_says(o.err, "hot.db is the history of another repository: none of its 1 commits");
    hpc_test_command_in(&o, p->root, "perf predict --repo @cut --model @m --db @hot.db HEAD..");
    assert_int_equal(o.code, 0); /* the missing history might have them */
    expect(&o, p, "--db @h.db --line-profile r=@other.db --out @x", 2, NULL,
           "other.db is the history of another repository");
    expect(&o, p, "--db @h.db --line-profile @hot.db --out @x", 2, NULL,
           "with the name of the repository");
    expect(&o, p, "--db @h.db --line-profile s=@hot.db --out @x", 2, NULL,
           "no history is about repository s");
    expect(&o, p, "--db @h.db --line-profile r=@cold.db --out @x", 2, NULL,
           "cold.db has no line profile");
    expect(&o, p, "--db @h.db --line-profile r=@none.db --out @x", 2, NULL,
           "there is no such performance history");
}

static void repositories_are_found(void **state)
{
    place *p = *state;
    hpc_test_outcome o;
    make_repository(p);
    make_history(p, "h.db", false);
    script(p, "new other; echo a > a; save; cd ..; git clone -q --depth 3 file://$PWD/r cut");
    expect(&o, p, "--db @h.db -o @m", 2, NULL,
           "h.db: it does not record the path of its repository");
    expect(&o, p, "--db @h.db -o @m --repo @other", 2, NULL,
           "none of the repositories given contains its commits");
    expect(&o, p, "--db @h.db -o @m --repo @none", 2, NULL, "none");
    expect(&o, p, "--db @h.db -o @m --repo @other --repo mine=@r -m cost", 0, "\nmine ", "");
    script(p, "grep -q '^mine,cost,' m/examples.csv");
    /* A shallow clone has two pairs, too few; the error names what is missing. */
    expect(&o, p, "--db @h.db -o @n --repo @cut -m cost", 2, " 58\n", "too few examples");
    make_history(p, "said.db", true);
    script(p, "mv r moved");
    expect(&o, p, "--db @said.db -o @m", 2, NULL, "said.db: ");
    expect(&o, p, "--db @said.db -o @m --repo @moved", 0, "\nmoved ", "");
    /* Learnt by cost, which comes first; both are kept. */
    script(p, "test $(grep -c '^moved,time,' m/examples.csv) = 60");
    hpc_test_says(o.out, "60 commits used for training");
    hpc_test_says(o.out, "by cost; ");
}

static void wrong_usage_is_said(void **state)
{
    static const struct {
        const char *words, *err;
    } cases[] = {{"--out @m", "--db FILE or --examples FILE.csv is missing"},
                 {"--db @h.db", "--out DIR is missing"},
                 {"--db @h.db --out @m more", "unexpected argument 'more'"},
                 {"--db @none.db --out @m", "there is no such performance history"},
                 {"--db @text --out @m", "file is not a database"},
                 {"--examples @text --out @m", "text:1: "},
                 {"--examples @none --out @m", "none"},
                 {"--db @h.db --out @m -m speed", "0 slower, 0 the same, 0 faster"},
                 {"--db @h.db --out @m -m time", "0 slower, 60 the same, 0 faster"},
                 {"--db @h.db --out @m -m cost --threshold 30", "0 slower, 60 the same"},
                 {"--db @h.db --out @m --alarm 70", "alarm"},
                 {"--db @h.db --out @text/m -m cost", "text"}};
    place *p = *state;
    hpc_test_outcome o;
    make_repository(p);
    make_history(p, "h.db", true);
    script(p, "echo text > text");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        expect(&o, p, cases[k].words, 2, NULL, cases[k].err);
    script(p, "[ ! -e m ]");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(learns_and_learns_again), TEST(repositories_are_found),
                                       TEST(heat_is_learnt_and_heard), TEST(wrong_usage_is_said)};
    return cmocka_run_group_tests_name("cmd/perf_train", tests, NULL, NULL);
}
