/*
 * Tests of `hpccoder perf report`: text, page and pictures.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/git/repository.h"

#include <math.h>

#include "corpus/history/database.h"
#include "tests/support/command.h"
#include "tests/support/picture.h"

enum { COMMITS = 30, STEP = 20 /* the commit that made it slower */, BROKEN = 12, HOSTILE = 5 };

/* Would be an element, a command of a terminal, another direction of writing, an entity. */
#define SUBJECT "<script>alert(1)</script> \\033[31mred \\342\\200\\256evil &amp; \"quoted\""

typedef struct made {
    char id[COMMITS + 1][HPC_HISTORY_ID]; /* of commits 1 to COMMITS */
} made;

static void make_repository(place *p, made *m)
{
    static const hpc_git_range_options all = {.first_parent = true};
    char text[2048];
    hpc_git_range r = {0};
    hpc_git_id head;
    snprintf(
        text, sizeof text,
        "new r; for k in $(seq %d); do s=\"change $k\"; [ $k != %d ] || s=$(printf '" SUBJECT
        "'); [ $k != %d ] || s='slow it down'; printf 'commit refs/heads/main\\ncommitter a "
        "<a@example.org> %%d +0000\\ndata <<END\\n%%s\\n\\nMore.\\nEND\\nM 644 inline f\\ndata "
        "<<END\\n%%s\\nEND\\n' $((1700000000 + 86400 * k)) \"$s\" $k; done | "
        "git fast-import --quiet",
        COMMITS, HOSTILE, STEP);
    script(p, text);
    hpc_git *g = opened(p, "r");
    assert_int_equal(hpc_git_resolve(&head, g, "HEAD"), 0);
    assert_int_equal(hpc_git_range_find(&r, g, NULL, &head, &all), 0);
    assert_int_equal(r.n, COMMITS);
    for (int k = 1; k <= COMMITS; k++) hpc_git_id_text(m->id[k], &r.item[k - 1].id);
    hpc_git_range_release(&r);
    hpc_git_close(g);
}

static void add_runs(hpc_history_db *d, const made *m, int k, const char *metric, double value)
{
    for (int run = 0; run < 5; run++)
        assert_int_equal(hpc_history_db_add(d, &(perf_way){"make", "./bench <a> & 'b'", "box"},
                                            metric, m->id[k],
                                            value * (1 + 1e-3 * ((run * 7 + k * 3) % 5))),
                         0);
}

/* By time, and by instructions if asked: 10 % more from STEP on. BROKEN does not build. */
static void make_history(place *p, const made *m, const char *name, bool counted)
{
    hpc_history_db *d = NULL;
    assert_int_equal(hpc_history_db_create(&d, in(p, name)), 0);
    for (int k = 1; k <= COMMITS; k++) {
        perf_attempt a = {.stage = "build", .command = "make", .machine = "box", .outcome = "done"};
        a.log = "cc f.c\nf.c:1: error: <b>no</b> \033[1msemicolon\n\n"
                "hpccoder: it exited with status 1\n";
        if (k == BROKEN) a.outcome = "failed";
        assert_int_equal(hpc_history_db_add_commit(d, m->id[k], k > 1 ? m->id[k - 1] : NULL,
                                                   1700000000 + 86400LL * k),
                         0);
        assert_int_equal(hpc_history_db_add_attempt(d, m->id[k], &a), 0);
        if (k == BROKEN) continue;
        add_runs(d, m, k, "time", k < STEP ? 0.02 : 0.022);
        if (counted) add_runs(d, m, k, "instructions", k < STEP ? 4e6 : 4.4e6);
    }
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
}

static hpc_test_outcome run(const place *p, const char *words)
{
    hpc_test_outcome o;
    char all[HPC_TEST_WORDS];
    snprintf(all, sizeof all, "perf report %s", words);
    hpc_test_command_in(&o, p->root, all);
    if (o.code != 0) fail_msg("%s: %d: %s", words, o.code, o.err);
    return o;
}

static void read_file(hpc_buf *out, place *p, const char *name)
{
    out->n = 0;
    if (hpc_file_read(out, in(p, name), 1 << 24) < 0) fail_msg("%s", hpc_error_get()->text);
}

static int times(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

/* ---- a planted step -------------------------------------------------------------------------- */

static void steps_are_printed(void **state)
{
    place *p = *state;
    char line[256];
    made m;
    make_repository(p, &m);
    make_history(p, &m, "h.db", false);
    hpc_test_outcome o = run(p, "--db @h.db --repo @r");
    hpc_test_says(o.out, "[1] time of './bench <a> & 'b'' on box\n"
                         "    29 of 30 commits measured, 1 failed\n");
    hpc_test_says(o.out, "labels: 1 slower, 27 same, 0 faster, 0 undecided\n");
    hpc_test_says(o.out, "change points, largest first\n");
    snprintf(line, sizeof line, " %.12s this one slow it down\n", m.id[STEP]);
    hpc_test_says_row(o.out, line);
    snprintf(line, sizeof line, " %.12s slower %.12s slow it down\n", m.id[STEP], m.id[STEP - 1]);
    hpc_test_says_row(o.out, line);
    assert_int_equal(times(o.out, "slow it down"), 2);
    assert_string_equal(o.err, "");
    o = run(p, "--db @h.db");
    assert_int_equal(times(o.out, "slow it down"), 0);
    snprintf(line, sizeof line, " %.12s this one\n", m.id[STEP]);
    hpc_test_says_row(o.out, line);
    o = run(p, "--db @h.db --threshold 20");
    hpc_test_says(o.out, "no change points\n");
    hpc_test_says(o.out, "no commit is slower or faster");
}

static double number(const hpc_json *object, const char *key)
{
    double v = NAN;
    assert_int_equal(hpc_json_real(&v, hpc_json_get(object, key), key), 0);
    return v;
}

static const char *word(const hpc_json *object, const char *key)
{
    const char *text = NULL;
    assert_int_equal(hpc_json_text(&text, hpc_json_get(object, key), key), 0);
    return text;
}

static void steps_are_in_the_json(void **state)
{
    place *p = *state;
    hpc_json *root = NULL;
    made m;
    make_repository(p, &m);
    make_history(p, &m, "h.db", true);
    hpc_test_outcome o = run(p, "--db @h.db --repo @r --json");
    assert_int_equal(hpc_json_parse(&root, o.out, strlen(o.out), "report"), 0);
    const hpc_json *changes = hpc_json_get(root, "change_points"),
                   *all = hpc_json_get(root, "series");
    assert_int_equal(hpc_json_n(changes), 2);
    assert_int_equal(hpc_json_n(all), 2);
    for (int k = 0; k < 2; k++) {
        const hpc_json *c = hpc_json_at(changes, k), *s = hpc_json_at(all, k);
        assert_string_equal(word(c, "commit"), m.id[STEP]);
        assert_string_equal(word(c, "first"), m.id[STEP]);
        assert_string_equal(word(c, "subject"), "slow it down");
        assert_true(fabs(number(c, "change") - 0.1) < 0.002 && number(c, "suspects") == 1);
        assert_true(number(c, "low") < 0.1 && number(c, "high") > 0.1 && number(c, "p") < 1e-6);
        assert_true(number(s, "slower") == 1 && number(s, "faster") == 0);
        assert_true(number(s, "threshold") == (k ? 0.01 : 0.05));
        const hpc_json *points = hpc_json_get(s, "points"), *x = hpc_json_at(points, STEP - 1);
        assert_int_equal(hpc_json_n(points), COMMITS);
        assert_string_equal(word(x, "label"), "slower");
        assert_string_equal(word(x, "base"), m.id[STEP - 1]);
        assert_true(number(x, "runs") == 5 && number(x, "low") < number(x, "high"));
        const hpc_json *failed = hpc_json_get(s, "failures");
        assert_int_equal(hpc_json_n(failed), 1);
        assert_string_equal(word(hpc_json_at(failed, 0), "commit"), m.id[BROKEN]);
        assert_string_equal(word(hpc_json_at(failed, 0), "log"),
                            "hpccoder: it exited with status 1: f.c:1: error: <b>no</b> "
                            "[1msemicolon");
        x = hpc_json_at(points, HOSTILE - 1);
        assert_string_equal(word(x, "subject"),
                            "<script>alert(1)</script> [31mred evil &amp; \"quoted\"");
    }
    hpc_json_free(root);
}

/* ---- the page and the pictures --------------------------------------------------------------- */

static void expect_picture(place *p, const char *name)
{
    hpc_buf png = {0};
    hpc_test_picture x;
    read_file(&png, p, name);
    hpc_test_picture_read(&x, png.data, png.n);
    assert_true(x.width == 1500 && x.height == 560);
    assert_true(hpc_test_picture_count(&x, 0xf3d9c8, 0) > 5000); /* where the step may be */
    assert_true(hpc_test_picture_count(&x, 0xe69f00, 24) > 700); /* levels */
    assert_true(hpc_test_picture_count(&x, 0xd55e00, 8) > 40);   /* a triangle, and the key's */
    assert_true(hpc_test_picture_count(&x, 0x90c1dd, 4) > 100);  /* intervals */
    assert_true(hpc_test_picture_count(&x, 0x0072b2, 24) > 100); /* dots */
    assert_true(hpc_test_picture_count(&x, 0xffffff, 0) > 500000);
    hpc_free(x.rgb);
    hpc_buf_release(&png);
}

static void pages_are_whole(void **state)
{
    place *p = *state;
    char text[256];
    hpc_buf page = {0};
    made m;
    make_repository(p, &m);
    make_history(p, &m, "h.db", true);
    run(p, "--db @h.db --repo @r --out @new/out");
    read_file(&page, p, "new/out/index.html");
    assert_int_equal(times(page.data, "<svg"), 2);
    assert_int_equal(times(page.data, "<h2"), 2);
    snprintf(text, sizeof text, "<code title=\"%s\">%.12s</code></td><td>2023-12-04</td>",
             m.id[STEP], m.id[STEP]);
    hpc_test_says(page.data, text);
    /* All change points, each in its series, and each among the labels of its series. */
    assert_int_equal(times(page.data, "<td class=\"wrap\">slow it down</td>"), 6);
    assert_int_equal(times(page.data, "<td>this one</td>"), 4);
    hpc_test_says(page.data, "<td class=\"wrap\">hpccoder: it exited with status 1: f.c:1: error: "
                             "&lt;b&gt;no&lt;/b&gt; [1msemicolon</td>");
    snprintf(text, sizeof text, "<title>%d: %.12s  2023-12-04\nslow it down\n22.0", STEP,
             m.id[STEP]);
    hpc_test_says(page.data, text);
    snprintf(text, sizeof text, ") against %.12s: slower</title>", m.id[STEP - 1]);
    assert_int_equal(times(page.data, text), 2);
    snprintf(text, sizeof text, "\nchange %d\nthe build failed: hpccoder: it exited", BROKEN);
    assert_int_equal(times(page.data, text), 2);
    /* A mark for each label and failure, a strip for each step. */
    assert_int_equal(times(page.data, "class=\"strip\""), 2);
    assert_int_equal(times(page.data, ">failed</text>"), 2);
    assert_int_equal(times(page.data, ">slower</text>"), 2);
    assert_int_equal(times(page.data, ">faster</text>"), 0);
    expect_picture(p, "new/out/1-time.png");
    expect_picture(p, "new/out/2-instructions.png");
    hpc_buf_release(&page);
}

/* Nothing from outside, no script, and nothing that a commit or a log says is taken for more than
 * text. */
static void pages_take_no_orders(void **state)
{
    static const char *const never[] = {
        "<script", "<b>", "src=", "http:", "https:", "@import", "url(", "\033", "\342\200\256"};
    place *p = *state;
    hpc_buf page = {0};
    made m;
    make_repository(p, &m);
    make_history(p, &m, "h.db", false);
    hpc_test_outcome o = run(p, "--db @h.db --repo @r --out @out");
    read_file(&page, p, "out/index.html");
    hpc_test_says(page.data, "&lt;script&gt;alert(1)&lt;/script&gt; [31mred evil &amp;amp; "
                             "&quot;quoted&quot;");
    hpc_test_says(page.data, "<code>./bench &lt;a&gt; &amp; &#39;b&#39;</code>");
    for (size_t k = 0; k < sizeof never / sizeof *never; k++) {
        const char *from = page.data;
        /* The namespace of SVG is a name, and no address that anything is read from. */
        static const char name[] = "xmlns=\"http://www.w3.org/2000/svg\"";
        while ((from = strstr(from, never[k])) && from - page.data > 7 &&
               strncmp(from - 7, name, sizeof name - 1) == 0)
            from++;
        if (from) fail_msg("%s in %.80s", never[k], from);
    }
    assert_null(strstr(o.out, "\033"));
    hpc_buf_release(&page);
}

/* ---- several, some, none --------------------------------------------------------------------- */

static void series_are_chosen(void **state)
{
    place *p = *state;
    made m;
    make_repository(p, &m);
    make_history(p, &m, "h.db", true);
    make_history(p, &m, "g.db", false);
    hpc_test_outcome o = run(p, "--db @h.db --db @g.db");
    hpc_test_says(o.out, "[2] instructions of ");
    hpc_test_says(o.out, "[3] time of ");
    hpc_test_says(o.out, "/g.db\n");
    o = run(p, "--db @h.db --db @g.db --metric time");
    hpc_test_says(o.out, "[2] time of ");
    assert_int_equal(times(o.out, "instructions"), 0);
    o = run(p, "--db @h.db -m instructions --series bench");
    hpc_test_says(o.out, "[1] instructions of ");
    o = run(p, "--db @h.db --series nobody --series box");
    hpc_test_says(o.out, "[2] instructions of ");
}

/* Series that differ only in their build are labelled with it; otherwise it is in JSON only. */
static void builds_are_told_apart(void **state)
{
    place *p = *state;
    made m;
    hpc_history_db *d = NULL;
    make_repository(p, &m);
    make_history(p, &m, "h.db", false);
    hpc_test_outcome o = run(p, "--db @h.db");
    assert_int_equal(times(o.out, "built by"), 0);
    assert_int_equal(hpc_history_db_create(&d, in(p, "h.db")), 0);
    for (int k = 1; k <= 3; k++)
        assert_int_equal(hpc_history_db_add(d,
                                            &(perf_way){"make <fast>", "./bench <a> & 'b'", "box"},
                                            "time", m.id[k], 3.5),
                         0);
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
    o = run(p, "--db @h.db");
    hpc_test_says(o.out, "[1] time of './bench <a> & 'b'' on box, built by 'make'\n");
    hpc_test_says(o.out, "[2] time of './bench <a> & 'b'' on box, built by 'make <fast>'\n");
    assert_int_equal(hpc_history_db_create(&d, in(p, "h.db")), 0);
    assert_int_equal(
        hpc_history_db_add(d, &(perf_way){"", "./bench <a> & 'b'", "box"}, "time", m.id[1], 3.5),
        0);
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
    o = run(p, "--db @h.db");
    hpc_test_says(o.out, "[3] time of './bench <a> & 'b'' on box, built by '(not recorded)'");
    o = run(p, "--db @h.db --series fast");
    hpc_test_says(o.out, "[1] time of './bench <a> & 'b'' on box\n");
    o = run(p, "--db @h.db --json");
    hpc_test_says(o.out, "\"build\": \"make <fast>\"");
}

/* Measurements of branches are drawn, but do not affect levels. */
static void branches_are_shown(void **state)
{
    place *p = *state;
    hpc_buf page = {0};
    made m;
    hpc_history_db *d = NULL;
    make_repository(p, &m);
    make_history(p, &m, "h.db", false);
    for (int round = 0; round < 2; round++) {
        hpc_test_outcome o = run(p, "--db @h.db --out @r");
        assert_int_equal(times(o.out, "on branches"), round);
        read_file(&page, p, "r/index.html");
        assert_int_equal(times(page.data, "on a branch<"), round);
        page.n = 0;
        assert_int_equal(hpc_history_db_create(&d, in(p, "h.db")), 0);
        for (int k = 1; k <= 2; k++) {
            char id[HPC_HISTORY_ID];
            snprintf(id, sizeof id, "%040d", k);
            assert_int_equal(
                hpc_history_db_add_commit(d, id, m.id[2], 1700000000 + 86400LL * 2 + k), 0);
            assert_int_equal(hpc_history_db_add(d, &(perf_way){"make", "./bench <a> & 'b'", "box"},
                                                "time", id, 0.03),
                             0);
        }
        assert_int_equal(hpc_history_db_commit(d), 0);
        hpc_history_db_close(d);
    }
    hpc_buf_release(&page);
}

static void empty_histories_are_no_failure(void **state)
{
    place *p = *state;
    hpc_buf page = {0};
    hpc_history_db *d = NULL;
    assert_int_equal(hpc_history_db_create(&d, in(p, "h.db")), 0);
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
    hpc_test_outcome o = run(p, "--db @h.db --out @out");
    assert_string_equal(o.out, "nothing was measured\n");
    read_file(&page, p, "out/index.html");
    hpc_test_says(page.data, "<p>Nothing was measured.</p>");
    o = run(p, "--db @h.db --json");
    hpc_test_says(o.out, "\"change_points\": []");
    hpc_buf_release(&page);
}

static void refuses(void **state)
{
    static const struct {
        const char *words, *part;
    } cases[] = {{"", "--db FILE is missing"},
                 {"--db @none.db", "none.db: there is no such performance history"},
                 {"--db @text", "file is not a database"},
                 {"--db @h.db --metric speed", "none of 1 series has this metric"},
                 {"--db @h.db --series nobody", "none of 1 series has this"},
                 {"--db @h.db --repo @none", "none"},
                 {"--db @h.db --threshold -1", "threshold"},
                 {"--db @h.db --out @text", "text"},
                 {"--db @h.db more", "unexpected argument 'more'"}};
    place *p = *state;
    hpc_test_outcome o;
    char words[HPC_TEST_WORDS];
    made m;
    make_repository(p, &m);
    make_history(p, &m, "h.db", false);
    script(p, "echo text > text");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(words, sizeof words, "perf report %s", cases[k].words);
        hpc_test_refuses(&o, p->root, words, cases[k].part);
        assert_int_equal(o.code, 2);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {
        TEST(steps_are_printed),
        TEST(steps_are_in_the_json),
        TEST(pages_are_whole),
        TEST(pages_take_no_orders),
        TEST(series_are_chosen),
        TEST(branches_are_shown),
        TEST(builds_are_told_apart),
        TEST(empty_histories_are_no_failure),
        TEST(refuses),
    };
    return cmocka_run_group_tests_name("cmd/perf_report", tests, NULL, NULL);
}
