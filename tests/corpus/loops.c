/*
 * Tests of corpus/loops*.c: the loops of one text, deduplication, and loops.db and loops.jsonl of
 * a corpus.
 */
#include "tests/corpus/sources.h"

#include "corpus/loops.h"

/* ---- one text -------------------------------------------------------------------------- */

static hpc_json *line_at(const hpc_buf *lines, int64_t number)
{
    const char *p = lines->data;
    hpc_json *v = NULL;
    for (; number > 0; number--) p = strchr(p, '\n') + 1;
    assert_int_equal(hpc_json_parse(&v, p, (size_t)(strchr(p, '\n') - p), "line"), 0);
    return v;
}

static int64_t lines_n(const hpc_buf *lines)
{
    int64_t n = 0;
    for (size_t k = 0; k < lines->n; k++) n += lines->data[k] == '\n';
    return n;
}

static void text_is(const hpc_json *v, const char *key, const char *expected)
{
    const char *text = NULL;
    const hpc_json *at = hpc_json_get(v, key);
    assert_non_null(at);
    if (!expected) assert_int_equal(hpc_json_kind_of(at), HPC_JSON_NULL);
    if (!expected) return;
    assert_int_equal(hpc_json_text(&text, at, key), 0);
    assert_string_equal(text, expected);
}

static int64_t int_of(const hpc_json *v, const char *key)
{
    int64_t x = -1;
    assert_int_equal(hpc_json_int(&x, hpc_json_get(v, key), key), 0);
    return x;
}

static const char sample[] = "#include <omp.h>\n"
                             "double\nsum(int n) {\n"
                             "#pragma omp parallel for\n"
                             "  for (int i = 0; i < n; i++)\n"
                             "    for (int j = 0; j < n; j++) a(\"\\t\");\n"
                             "  for (int i = 0; i < n; i++) b();\n"
                             "#pragma acc loop\n#pragma omp parallel\n"
                             "#pragma omp for\n"
                             "  for (int i = 0; i < n; i++) c();\n"
                             "#pragma omp parallel\n"
                             "  for (int i = 0; i < n; i++) d();\n"
                             "  for (int i = 0; i < n; i++) c();\n}\n";

static void test_text(void **state)
{
    static const char *const kinds[] = {"annotated", "other", "presumed-negative", "annotated",
                                        "acc",       "other", "disputed"};
    (void)state;
    hpc_buf lines = {0};
    hpc_loops_result r = {0};
    assert_int_equal(hpc_corpus_loops_text(&lines, &r, "x/sum.c", sample, strlen(sample)), 0);
    assert_int_equal(lines_n(&lines), 7);
    for (int k = 0; k < 7; k++) {
        hpc_json *v = line_at(&lines, k);
        text_is(v, "kind", kinds[k]);
        text_is(v, "path", "x/sum.c");
        text_is(v, "function", "sum");
        text_is(v, "header", "double sum(int n)");
        assert_null(hpc_json_get(v, "id"));
        assert_null(hpc_json_get(v, "split"));
        hpc_json_free(v);
    }
    hpc_json *v = line_at(&lines, 0);
    assert_int_equal(int_of(v, "line"), 5);
    assert_int_equal(int_of(v, "end_line"), 6);
    assert_int_equal(int_of(v, "begin"), strstr(sample, "for (int") - sample);
    text_is(v, "directive", "#pragma omp parallel for");
    text_is(v, "api", "omp");
    assert_int_equal(hpc_json_n(hpc_json_get(v, "words")), 2);
    text_is(v, "text", "for (int i = 0; i < n; i++)\n    for (int j = 0; j < n; j++) a(\"\\t\");");
    hpc_json_free(v);
    v = line_at(&lines, 2);
    text_is(v, "directive", NULL);
    text_is(v, "api", NULL);
    hpc_json_free(v);
    v = line_at(&lines, 3);
    text_is(v, "directive", "#pragma omp parallel\n#pragma omp for");
    hpc_json_free(v);
    v = line_at(&lines, 5);
    text_is(v, "directive", "#pragma omp parallel");
    hpc_json_free(v);
    /* Six loops, of which two are the same. */
    assert_int_equal(r.files_n, 1);
    assert_int_equal(r.loops_n, 6);
    assert_int_equal(r.distinct_n, 5);
    assert_int_equal(r.annotated_n, 2);
    assert_int_equal(r.parallel_for_n, 2);
    assert_int_equal(r.distinct_pairs_n, 2);
    assert_int_equal(r.presumed_n, 1);
    assert_int_equal(r.acc_n, 1);
    hpc_buf_release(&lines);
}

/* Counts add up, and a text without OpenMP has no negatives. */
static void test_texts(void **state)
{
    (void)state;
    hpc_buf lines = {0};
    hpc_loops_result r = {0};
    const char *serial = "void f(void) { for (;;) x(); }\n",
               *fortran = "do i = 1, 2\nend do\nend\n";
    assert_int_equal(hpc_corpus_loops_text(&lines, &r, "a.c", serial, strlen(serial)), 0);
    assert_int_equal(hpc_corpus_loops_text(&lines, &r, "a.f90", fortran, strlen(fortran)), 0);
    assert_int_equal(hpc_corpus_loops_text(&lines, NULL, "b.c", "", 0), 0);
    assert_int_equal(lines_n(&lines), 2);
    assert_int_equal(r.loops_n, 2);
    assert_int_equal(r.presumed_n, 0);
    hpc_json *v = line_at(&lines, 1);
    text_is(v, "language", "fortran");
    text_is(v, "kind", "other");
    text_is(v, "function", NULL);
    hpc_json_free(v);
    assert_int_equal(hpc_corpus_loops_text(&lines, &r, "README.md", serial, strlen(serial)),
                     HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "README.md: the file name is not one of"));
    hpc_error_clear();
    hpc_buf_release(&lines);
}

/* The first branch of an #if decides; the APIs are distinguished. */
static void test_choices(void **state)
{
    (void)state;
    hpc_buf lines = {0};
    const char *text = "void f(void) {\n#if A\n#pragma acc loop\n#elif B\n#pragma omp for\n#else\n"
                       "#pragma omp simd\n#endif\nfor (;;) x();\n}\n";
    assert_int_equal(hpc_corpus_loops_text(&lines, NULL, "a.c", text, strlen(text)), 0);
    assert_int_equal(lines_n(&lines), 2);
    hpc_json *v = line_at(&lines, 0);
    text_is(v, "directive", "#pragma omp for");
    hpc_json_free(v);
    v = line_at(&lines, 1);
    text_is(v, "directive", "#pragma acc loop");
    hpc_json_free(v);
    hpc_buf_release(&lines);
}

/* Loops that are too long, too deep or without an end are only counted. */
static void test_limits(void **state)
{
    (void)state;
    hpc_buf text = {0}, lines = {0};
    hpc_loops_result r = {0};
    hpc_buf_text(&text, "void f(void) { for (;;) {");
    for (int k = 0; k < LOOPS_BYTES_MOST / 4; k++) hpc_buf_text(&text, "x();");
    hpc_buf_text(&text, "}\n");
    for (int k = 0; k < LOOPS_DEPTH_MOST + 5; k++) hpc_buf_text(&text, "for (;;) ");
    hpc_buf_text(&text, "x();\nfor (;;) {");
    assert_int_equal(hpc_corpus_loops_text(&lines, &r, "a.c", text.data, text.n), 0);
    assert_int_equal(r.loops_n, LOOPS_DEPTH_MOST + 7);
    assert_int_equal(lines_n(&lines), LOOPS_DEPTH_MOST + 1);
    hpc_buf_release(&text);
    hpc_buf_release(&lines);
}

static int extract(void *user)
{
    hpc_buf lines = {0};
    int rc = hpc_corpus_loops_text(&lines, NULL, user, sample, strlen(sample));
    hpc_buf_release(&lines);
    return rc;
}

static void test_text_without_memory(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(extract, (void *)"a.cpp") > 10);
}

/* ---- which are the same -------------------------------------------------------------------- */

static loops_record record(uint64_t hash, const char *directive, loops_kind kind, hpc_split split)
{
    uint32_t words = kind == LOOPS_ANNOTATED ? HPC_OMP_PARALLEL | HPC_OMP_FOR : 0;
    return (loops_record){.hash = {hash, 1},
                          .directive_hash = hpc_hash_wide(directive, strlen(directive)),
                          .words = words,
                          .kind = (uint8_t)kind,
                          .split = (uint8_t)split};
}

static void test_tally(void **state)
{
    (void)state;
    const struct {
        loops_record r;
        bool fresh, straddles;
        loops_kind kind;
        int64_t occurrences;
    } c[] = {
        {record(1, "for", LOOPS_ANNOTATED, HPC_SPLIT_TRAIN), true, false, LOOPS_ANNOTATED, 2},
        {record(1, "for", LOOPS_ANNOTATED, HPC_SPLIT_TRAIN), false, false, LOOPS_ANNOTATED, 2},
        {record(1, "simd", LOOPS_ANNOTATED, HPC_SPLIT_TRAIN), true, false, LOOPS_ANNOTATED, 1},
        {record(1, "", LOOPS_PRESUMED, HPC_SPLIT_TRAIN), true, false, LOOPS_DISPUTED, 1},
        {record(2, "", LOOPS_PRESUMED, HPC_SPLIT_TRAIN), true, true, LOOPS_PRESUMED, 3},
        {record(2, "", LOOPS_PRESUMED, HPC_SPLIT_TEST), true, false, LOOPS_PRESUMED, 3},
        {record(2, "", LOOPS_PRESUMED, HPC_SPLIT_VALIDATION), true, true, LOOPS_PRESUMED, 3},
        {record(3, "", LOOPS_PRESUMED, HPC_SPLIT_VALIDATION), true, false, LOOPS_DISPUTED, 1},
        {record(3, "acc", LOOPS_ACC, HPC_SPLIT_TRAIN), true, true, LOOPS_ACC, 1},
        {record(4, "for", LOOPS_ANNOTATED, HPC_SPLIT_TRAIN), true, true, LOOPS_ANNOTATED, 2},
        {record(4, "for", LOOPS_ANNOTATED, HPC_SPLIT_TEST), true, false, LOOPS_ANNOTATED, 2},
        {record(5, "", LOOPS_OTHER, HPC_SPLIT_TRAIN), true, false, LOOPS_OTHER, 1},
    };
    const int n = (int)(sizeof c / sizeof *c);
    loops_tally t = {0};
    hpc_loops_result r = {0};
    bool fresh;
    assert_int_equal(loops_tally_init(&t), 0);
    for (int k = 0; k < n; k++) {
        assert_int_equal(loops_tally_add(&t, &c[k].r, &fresh), 0);
        assert_int_equal(fresh, c[k].fresh);
    }
    for (int k = 0; k < n; k++) {
        assert_int_equal(loops_tally_straddles(&t, &c[k].r), c[k].straddles);
        assert_int_equal(loops_tally_kind(&t, &c[k].r), c[k].kind);
        assert_int_equal(loops_tally_occurrences(&t, &c[k].r), c[k].occurrences);
    }
    loops_tally_counts(&r, &t);
    assert_int_equal(r.distinct_n, 5);
    assert_int_equal(r.annotated_n, 2);
    assert_int_equal(r.parallel_for_n, 2);
    assert_int_equal(r.distinct_pairs_n, 3);
    assert_int_equal(r.presumed_n, 1);
    assert_int_equal(r.acc_n, 1);
    loops_tally_release(&t);
}

/* ---- a corpus -------------------------------------------------------------------------------- */

/* Files of one repository are in one split, so that what they share does not straddle. */
static void make_corpus(place *p, int repositories)
{
    hpc_harvest_options o = HPC_HARVEST_DEFAULTS;
    hpc_harvest_result result;
    hpc_repository repository[8];
    char path[8][128], name[8][32], folder[128];
    for (int k = 0; k < repositories; k++) {
        char file[64], commit[64];
        write_repository(p, k, 20, 1);
        snprintf(file, sizeof file, "r%d/src/omp.c", k);
        hpc_buf text = {0};
        hpc_buf_text(&text, "/* SPDX-License-Identifier: MIT */\n");
        hpc_buf_text(&text, sample);
        hpc_buf_printf(&text,
                       "void own%d(int n) {\n#pragma omp parallel for\n"
                       "for (int k%d = 0; k%d < n; k%d++) x(k%d, %d);\n}\n",
                       k, k, k, k, k, k);
        add_code(&text, 100 + (uint32_t)k, 0, 3); /* so that the files are not alike */
        write_text(p, file, text.data, text.n);
        hpc_buf_release(&text);
        snprintf(commit, sizeof commit, "cd r%d; save more", k);
        script(p, commit);
        snprintf(path[k], sizeof path[k], "%s/r%d", p->root, k);
        snprintf(name[k], sizeof name[k], "owner/r%d", k);
        repository[k] = (hpc_repository){path[k], name[k]};
    }
    snprintf(folder, sizeof folder, "%s/corpus", p->root);
    o.repository = repository;
    o.repositories_n = repositories;
    o.folder = folder;
    o.validation = o.test = 0.2;
    if (hpc_corpus_harvest(&result, &o) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_true(result.complete);
}

static int loops_to(place *p, const char *folder, int threads, hpc_loops_result *r)
{
    char corpus[128], out[128];
    snprintf(corpus, sizeof corpus, "%s/corpus", p->root);
    snprintf(out, sizeof out, "%s/%s", p->root, folder);
    return hpc_corpus_loops(r,
                            &(hpc_loops_options){.folder = corpus, .out = out, .threads = threads});
}

static void read_lines(hpc_buf *out, place *p, const char *folder)
{
    char path[192];
    snprintf(path, sizeof path, "%s/%s/loops.jsonl", p->root, folder);
    assert_int_equal(hpc_file_read(out, path, 1 << 28), 0);
}

static loops_db *opened_db(place *p, const char *folder)
{
    loops_db *d = NULL;
    if (loops_db_open(&d, in(p, folder)) < 0) fail_msg("%s", hpc_error_get()->text);
    return d;
}

/* Both files have the same rows, ids count from 1, and nothing is in two splits. */
static void test_rows(void **state)
{
    place *p = *state;
    hpc_loops_result r;
    hpc_buf lines = {0};
    loops_record row;
    int64_t id = 0, n = 0, annotated = 0, disputed = 0;
    hpc_map *split = hpc_map_create();
    make_corpus(p, 6);
    if (loops_to(p, "out", 1, &r) < 0) fail_msg("%s", hpc_error_get()->text);
    read_lines(&lines, p, "out");
    loops_db *d = opened_db(p, "out");
    assert_int_equal(loops_db_select(d, 0, 0), 0);
    while (loops_db_next(&row, &id, d) == 1) {
        uint64_t was = row.split;
        hpc_json *v = line_at(&lines, n++);
        assert_int_equal(id, n);
        assert_int_equal(int_of(v, "id"), id);
        assert_int_equal(int_of(v, "file"), row.file);
        assert_int_equal(int_of(v, "line"), row.line);
        assert_int_equal(int_of(v, "begin"), row.begin);
        text_is(v, "kind", loops_kind_name((loops_kind)row.kind));
        text_is(v, "split", hpc_split_name((hpc_split)row.split));
        text_is(v, "directive", *row.directive ? row.directive : NULL);
        if (row.kind == LOOPS_ANNOTATED && strcmp(row.function, "sum") == 0)
            assert_int_equal(int_of(v, "occurrences"), 6);
        hpc_map_get(split, &row.hash, sizeof row.hash, &was);
        assert_int_equal(was, row.split);
        assert_int_equal(hpc_map_put(split, &row.hash, sizeof row.hash, row.split), 0);
        annotated += row.kind == LOOPS_ANNOTATED;
        disputed += row.kind == LOOPS_DISPUTED;
        hpc_json_free(v);
    }
    assert_int_equal(hpc_error_get()->code, 0);
    assert_int_equal(lines_n(&lines), n);
    assert_int_equal(annotated, 2 + 6); /* what all have, and what each has */
    assert_int_equal(disputed, 1);
    assert_int_equal(r.annotated_n, 8);
    assert_int_equal(r.distinct_n, hpc_map_n(split));
    assert_true(r.loops_n > r.distinct_n && r.presumed_n > 6 * 3 * 6);
    hpc_map_free(split);
    loops_db_close(d);
    hpc_buf_release(&lines);
}

static void test_threads(void **state)
{
    place *p = *state;
    hpc_loops_result a, b;
    make_corpus(p, 3);
    assert_int_equal(loops_to(p, "a", 1, &a), 0);
    assert_int_equal(loops_to(p, "b", 3, &b), 0);
    assert_int_equal(loops_to(p, "b", 4, &b), 0); /* again, over what is there */
    assert_memory_equal(&a, &b, sizeof a);
    script(p, "diff -r a b; test $(ls a | wc -l) = 2");
}

/* Selecting by kind and split is what filtering all rows gives. */
static void test_select(void **state)
{
    place *p = *state;
    hpc_loops_result r;
    loops_record row;
    int64_t id, all = 0, parts = 0;
    make_corpus(p, 4);
    assert_int_equal(loops_to(p, "out", 2, &r), 0);
    loops_db *d = opened_db(p, "out");
    assert_int_equal(loops_db_select(d, 0, 0), 0);
    while (loops_db_next(&row, &id, d) == 1) all++;
    for (unsigned kind = 0; kind < LOOPS_KIND_N; kind++) {
        for (unsigned split = 0; split < HPC_SPLIT_N; split++) {
            assert_int_equal(loops_db_select(d, 1u << kind, 1u << split), 0);
            for (; loops_db_next(&row, &id, d) == 1; parts++) {
                assert_int_equal(row.kind, kind);
                assert_int_equal(row.split, split);
            }
        }
    }
    assert_true(all > 50);
    assert_int_equal(parts, all);
    loops_db_close(d);
}

static void fails(int rc, int code, const char *part)
{
    assert_int_equal(rc, code);
    if (!strstr(hpc_error_get()->text, part))
        fail_msg("\"%s\" does not say \"%s\"", hpc_error_get()->text, part);
    hpc_error_clear();
}

static void test_damage(void **state)
{
    place *p = *state;
    hpc_loops_result r;
    loops_db *d = NULL;
    char text[40];
    fails(loops_to(p, "out", 1, &r), HPC_E_IO, "has no complete corpus");
    script(p, "mkdir bad empty");
    fails(loops_db_open(&d, in(p, "empty")), HPC_E_IO, "create it with `hpccoder corpus loops`");
    put(p, "bad/loops.db", "not a database, but long enough to be taken for one......", 57);
    fails(loops_db_open(&d, in(p, "bad")), HPC_E_FORMAT, "loops.db");
    make_corpus(p, 1);
    assert_int_equal(loops_to(p, "out", 1, &r), 0);
    hpc_buf db = {0};
    assert_int_equal(hpc_file_read(&db, in(p, "out/loops.db"), 1 << 28), 0);
    memcpy(text, db.data + 60, 4); /* user_version */
    db.data[63] = 9;
    put(p, "bad/loops.db", db.data, db.n);
    fails(loops_db_open(&d, in(p, "bad")), HPC_E_FORMAT, "version 9");
    memcpy(db.data + 60, text, 4);
    db.data[71] ^= 1; /* application_id */
    put(p, "bad/loops.db", db.data, db.n);
    fails(loops_db_open(&d, in(p, "bad")), HPC_E_FORMAT, "not a table of loops");
    db.data[71] ^= 1;
    /* Any byte may be wrong: rows or an error, never more. */
    for (size_t at = 100; at < db.n; at += db.n / 200 + 1) {
        loops_record row;
        int64_t id;
        db.data[at] ^= 0x41;
        put(p, "bad/loops.db", db.data, db.n);
        if (loops_db_open(&d, in(p, "bad")) == 0) {
            loops_db_select(d, 0, 0);
            while (loops_db_next(&row, &id, d) == 1) assert_true(row.end > row.begin);
            loops_db_close(d);
        }
        hpc_error_clear();
        db.data[at] ^= 0x41;
    }
    hpc_buf_release(&db);
}

/* A damaged chunk gives an error that names the file, and no output files. */
static void test_damaged_corpus(void **state)
{
    place *p = *state;
    hpc_loops_result r;
    make_corpus(p, 1);
    script(p, "f=$(ls corpus/content/*/*.chunk | head -n 1); chmod u+w $f;"
              "printf 'xxxxxxxx' | dd of=$f bs=1 seek=$(($(stat -c %s $f) / 2)) conv=notrunc");
    assert_true(loops_to(p, "out", 1, &r) < 0);
    assert_non_null(strstr(hpc_error_get()->text, "owner/r0: src/"));
    hpc_error_clear();
    script(p, "test -z \"$(ls -A out)\"");
}

typedef struct attempt {
    place *p;
    hpc_loops_result r;
} attempt;

static int try_loops(void *user)
{
    attempt *a = user;
    return loops_to(a->p, "out", 1, &a->r);
}

/* A call that fails, wherever it is: an error, or it did not matter and both files are whole. */
static void test_full_disk(void **state)
{
    attempt a = {.p = *state};
    int64_t refused = 0;
    make_corpus(a.p, 1);
    assert_int_equal(loops_to(a.p, "good", 1, &a.r), 0);
    for (int64_t n = 1;; n++) {
        hpc_test_fail_io(n);
        int rc = try_loops(&a);
        bool failed = hpc_test_io_failed();
        hpc_test_fault_reset();
        if (rc < 0) {
            refused++;
            assert_int_equal(rc, HPC_E_IO);
            assert_int_not_equal(hpc_error_get()->text[0], 0);
            hpc_error_clear();
            script(a.p, "for f in $(ls -A out 2>&1 | grep loops); do cmp out/$f good/$f; done");
        } else {
            script(a.p, "diff -r out good");
        }
        script(a.p, "rm -rf out");
        if (!failed) break;
    }
    assert_true(refused > 5);
}

static void test_no_memory(void **state)
{
    attempt a = {.p = *state};
    make_corpus(a.p, 1);
    assert_true(hpc_test_each_alloc(try_loops, &a) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_text_without_memory),
        cmocka_unit_test(test_tally),
        cmocka_unit_test_setup_teardown(test_rows, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_threads, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_select, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_damage, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_corpus, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_full_disk, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
