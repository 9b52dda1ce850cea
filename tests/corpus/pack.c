/*
 * Tests of corpus/pack.c, pack_files.c, pack_order_all.c, pack_code.c and pack_pragma.c: a corpus
 * of generated repositories as shards, independent of threads and interruptions; inconsistent
 * options are errors.
 */
#include "tests/corpus/sources.h"

#include "runtime/shard/shard.h"
#include "tests/support/fault.h"
#include "corpus/corpus.h"
#include "corpus/pack.h"

#define OURS "tests/fixtures/tokenizer/ours.model"

static const char solver[] = "/* SPDX-License-Identifier: MIT */\n"
                             "#include \"zz/grid.h\"\n"
                             "void relax(double *a, const double *b, int n)\n{\n"
                             "    #pragma omp parallel for \\\n        schedule(static)\n"
                             "    for (int i = 0; i < n; i++)\n        a[i] = 2 * b[i] + 1;\n"
                             "    for (int i = 1; i < n; i++)\n        a[i] += a[i - 1];\n"
                             "    for (int i = 3; i < n; i++)\n        a[i] *= a[i - 3] * b[i];\n"
                             "    #pragma omp parallel for simd reduction(+ : s)\n"
                             "    for (int j = 0; j < n; j++) s += a[j] * b[j];\n}\n";
static const char grid[] = "/* SPDX-License-Identifier: MIT */\nstruct grid { int nx, ny, nz; "
                           "double h; };\nint cells(const struct grid *g);\n#include "
                           "\"deep/types.h\"\n";
static const char types[] = "/* SPDX-License-Identifier: MIT */\ntypedef unsigned long long cell;\n"
                            "typedef double real; enum { GHOSTS = 2, DIMS = 3 };\n";

/* Three repositories, the first with files that depend on each other, and "c" made of them. */
static void make_corpus(place *p)
{
    hpc_harvest_options h = HPC_HARVEST_DEFAULTS;
    hpc_harvest_result result;
    hpc_repository repository[3];
    char path[3][128], folder[128];
    for (int k = 0; k < 3; k++) write_repository(p, k, 12 + 8 * k, 1);
    write_text(p, "r0/aa/solver.c", solver, sizeof solver - 1);
    write_text(p, "r0/zz/grid.h", grid, sizeof grid - 1);
    write_text(p, "r0/zz/deep/types.h", types, sizeof types - 1);
    script(p, "cd r0; save more");
    for (int k = 0; k < 3; k++) {
        snprintf(path[k], sizeof path[k], "%s/r%d", p->root, k);
        repository[k] = (hpc_repository){path[k], NULL};
    }
    snprintf(folder, sizeof folder, "%s/c", p->root);
    h.repository = repository;
    h.repositories_n = 3;
    h.folder = folder;
    h.validation = h.test = 0;
    if (hpc_corpus_harvest(&result, &h) < 0) fail_msg("%s", hpc_error_get()->text);
    hpc_loops_options l = {.folder = folder, .out = folder, .threads = 1};
    hpc_loops_result loops;
    if (hpc_corpus_loops(&loops, &l) < 0) fail_msg("%s", hpc_error_get()->text);
}

/* Made once, by a place of its own, and copied for each test. */
static place *made;

static int make_once(void **state)
{
    int rc = place_setup((void **)&made);
    (void)state;
    if (rc == 0) make_corpus(made);
    return rc;
}

static int drop_made(void **state)
{
    (void)state;
    return place_teardown((void **)&made);
}

static int corpus_setup(void **state)
{
    char text[160];
    int rc = place_setup(state);
    if (rc < 0) return rc;
    snprintf(text, sizeof text, "cp -r %s/c %s/r2 .", made->root, made->root);
    script(*state, text);
    return 0;
}

typedef struct job {
    hpc_pack_options o;
    hpc_pack_result result;
    char corpus[128], out[128];
    int stop;
} job;

static job make_job(const place *p, const char *out)
{
    job j = {.o = HPC_PACK_DEFAULTS};
    snprintf(j.corpus, sizeof j.corpus, "%s/c", p->root);
    snprintf(j.out, sizeof j.out, "%s/%s", p->root, out);
    j.o.tokenizer = OURS;
    j.o.seed = 5;
    j.o.shard_tokens = 3000;
    return j;
}

/* The paths are bound here, because a job may have been copied. */
static int run(job *j)
{
    j->o.corpus = j->corpus;
    j->o.out = j->out;
    return hpc_corpus_pack(&j->result, &j->o);
}

static void run_well(job *j)
{
    if (run(j) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_true(j->result.complete);
}

static void assert_same(place *p, const char *a, const char *b)
{
    char text[256];
    snprintf(text, sizeof text, "diff -r %s %s", a, b);
    script(p, text);
}

static void refuses(job *j, int code, const char *part)
{
    assert_int_equal(run(j), code);
    if (!strstr(hpc_error_get()->text, part)) fail_msg("%s", hpc_error_get()->text);
    assert_null(strchr(hpc_error_get()->text, '\n'));
    hpc_error_clear();
}

/* ---- task code ------------------------------------------------------------------------- */

typedef struct opened_set {
    hpc_shards *s;
    hpc_tokenizer *t;
    hpc_buf text;
} opened_set;

static opened_set open_set(const job *j)
{
    opened_set o = {0};
    assert_int_equal(hpc_tokenizer_open(&o.t, OURS), 0);
    hpc_hash128 hash = hpc_tokenizer_hash(o.t);
    if (hpc_shards_open(&o.s, j->out, &hash) < 0) fail_msg("%s", hpc_error_get()->text);
    return o;
}

static void close_set(opened_set *o)
{
    hpc_shards_close(o->s);
    hpc_tokenizer_close(o->t);
    hpc_buf_release(&o->text);
}

/* Document i, from token k on, as text. */
static const char *document_text(opened_set *o, int64_t i, int64_t k)
{
    hpc_document d = hpc_shards_document(o->s, i);
    o->text.n = 0;
    for (; k < d.n; k++) {
        int32_t id = hpc_document_token(&d, k);
        assert_int_equal(hpc_tokenizer_decode(&o->text, o->t, &id, 1, false), 0);
    }
    return o->text.n ? o->text.data : "";
}

static double value(const opened_set *o, const char *column, int64_t i)
{
    return hpc_shards_value(o->s, hpc_shards_column(o->s, column), i);
}

/* Every file once, repositories contiguous and named once, the solver after its includes. */
static void test_documents(void **state)
{
    place *p = *state;
    job j = make_job(p, "a");
    int64_t fim = 0, grid_at = -1, types_at = -1, solver_at = -1;
    run_well(&j);
    assert_int_equal(j.result.documents_n, 12 + 20 + 28 + 3);
    assert_true(j.result.shards_n > 3);
    opened_set o = open_set(&j);
    assert_int_equal(hpc_shards_n(o.s), j.result.documents_n);
    assert_int_equal(hpc_shards_tokens_n(o.s), j.result.tokens_n);
    bool seen[100] = {false};
    for (int64_t i = 0; i < hpc_shards_n(o.s); i++) {
        const char *text = document_text(&o, i, 0);
        int64_t file = (int64_t)value(&o, "file", i);
        bool first = i == 0 || value(&o, "repository", i) != value(&o, "repository", i - 1);
        assert_true(file >= 1 && file < 100 && !seen[file]);
        seen[file] = true;
        if (i > 0) assert_true(value(&o, "repository", i) >= value(&o, "repository", i - 1));
        assert_int_equal(strncmp(text, "<repo_name>r", 12) == 0, first);
        assert_non_null(strstr(text, "<file_sep>"));
        assert_string_equal(text + strlen(text) - 4, "</s>");
        int kind = (int)value(&o, "fim", i);
        fim += kind != 0;
        const char *suffix = strstr(text, "<fim_suffix>");
        assert_int_equal(kind != 0, suffix != NULL);
        if (kind) assert_int_equal(strstr(text, "<fim_prefix><fim_suffix>") != NULL, kind == 2);
        if (strstr(text, "zz/grid.h\n")) grid_at = i;
        if (strstr(text, "zz/deep/types.h\n")) types_at = i;
        if (strstr(text, "aa/solver.c\n")) solver_at = i;
        assert_int_equal(value(&o, "language", i), HPC_LANGUAGE_C);
    }
    assert_true(types_at >= 0 && types_at < grid_at && grid_at < solver_at);
    assert_int_equal(fim, j.result.fim_n);
    assert_true(fim > 15 && fim < 48);
    close_set(&o);
}

/* What a document has of its file: between the line of the path and the end. */
static size_t add_body(hpc_buf *out, const char *text)
{
    const char *at = strchr(strstr(text, "<file_sep>"), '\n') + 1;
    size_t n = strlen(at) - strlen("</s>");
    assert_string_equal(at + n, "</s>");
    assert_int_equal(hpc_buf_add(out, at, n), 0);
    return n;
}

/* Windows one after the other are the files, whatever their size. */
static void test_whole_files_and_windows(void **state)
{
    static const int64_t windows[] = {0, 40, 300};
    place *p = *state;
    hpc_buf body[3][100] = {0};
    for (int k = 0; k < 3; k++) {
        job j = make_job(p, k == 0 ? "a" : k == 1 ? "b" : "d");
        j.o.fim_rate = 0;
        j.o.window = windows[k];
        run_well(&j);
        opened_set o = open_set(&j);
        for (int64_t i = 0; i < hpc_shards_n(o.s); i++) {
            size_t n = add_body(&body[k][(int)value(&o, "file", i)], document_text(&o, i, 0));
            assert_true(n > 0 && (k == 0 || n < 2 * (size_t)windows[k]));
        }
        assert_true(k == 0 || hpc_shards_n(o.s) > 100);
        close_set(&o);
    }
    assert_string_equal(body[0][1].data + body[0][1].n - 1, "\n");
    for (int k = 0; k < 3; k++)
        for (int f = 0; f < 100; f++) {
            if (body[0][f].n) assert_string_equal(body[k][f].data, body[0][f].data);
            if (k) hpc_buf_release(&body[k][f]);
        }
    for (int f = 0; f < 100; f++) hpc_buf_release(&body[0][f]);
}

static void test_threads_do_not_matter(void **state)
{
    place *p = *state;
    job a = make_job(p, "a"), b = make_job(p, "b");
    a.o.threads = 1;
    b.o.threads = 5;
    run_well(&a);
    run_well(&b);
    assert_same(p, "a", "b");
    a = make_job(p, "d");
    b = make_job(p, "e");
    a.o.task = b.o.task = "pragma";
    b.o.threads = 3;
    run_well(&a);
    run_well(&b);
    assert_same(p, "d", "e");
}

static void test_seeds_matter(void **state)
{
    place *p = *state;
    job a = make_job(p, "a"), b = make_job(p, "b");
    b.o.seed = 6;
    run_well(&a);
    run_well(&b);
    script(p, "! cmp -s a/00000.shard b/00000.shard");
}

static void test_an_empty_split(void **state)
{
    place *p = *state;
    job j = make_job(p, "a");
    j.o.split = HPC_SPLIT_TEST;
    run_well(&j);
    assert_int_equal(j.result.documents_n, 0);
    assert_int_equal(j.result.shards_n, 0);
    opened_set o = open_set(&j);
    close_set(&o);
}

/* ---- task pragma -------------------------------------------------------------------------- */

static void test_loops(void **state)
{
    place *p = *state;
    job j = make_job(p, "a");
    int64_t annotated = 0, negative = 0;
    const char *const answers[] = {"#pragma omp parallel for</s>",
                                   "#pragma omp parallel for simd reduction(+:s)</s>"};
    j.o.task = "pragma";
    run_well(&j);
    opened_set o = open_set(&j);
    assert_string_equal(hpc_shards_spec(o.s)->task, "pragma");
    for (int64_t i = 0; i < hpc_shards_n(o.s); i++) {
        const char *text = document_text(&o, i, (int64_t)value(&o, "answer", i));
        if (value(&o, "label", i) == 1) {
            assert_true(annotated < 2);
            assert_string_equal(text, answers[annotated++]);
            assert_int_equal(value(&o, "words", i),
                             HPC_OMP_PARALLEL | HPC_OMP_FOR | (annotated == 2 ? HPC_OMP_SIMD : 0));
        } else {
            negative++;
            assert_string_equal(text, "</s>");
            assert_int_equal(value(&o, "words", i), 0);
        }
        assert_non_null(strstr(document_text(&o, i, 0), "<loop>for (int"));
        assert_true(value(&o, "loop", i) > 0);
    }
    assert_int_equal(annotated, 2);
    assert_true(negative <= 2);
    close_set(&o);
    j = make_job(p, "b"); /* all of them, however few there are */
    j.o.task = "pragma";
    j.o.negatives = 1000;
    run_well(&j);
    assert_int_equal(j.result.documents_n, 4);
    j = make_job(p, "d");
    j.o.task = "pragma";
    j.o.negatives = 0;
    run_well(&j);
    assert_int_equal(j.result.documents_n, 2);
}

static void test_loops_of_another_corpus(void **state)
{
    place *p = *state;
    job j = make_job(p, "a");
    char absent[128];
    j.o.task = "pragma";
    snprintf(absent, sizeof absent, "%s/absent", p->root);
    j.o.loops = absent;
    assert_true(run(&j) < 0);
    hpc_error_clear();
    script(p, "mkdir old; mv c/loops.* old; rm -rf c; rm -rf r2/src/part0; cd r2; save less");
    hpc_harvest_options h = HPC_HARVEST_DEFAULTS;
    hpc_harvest_result result;
    char path[128], loops[128];
    snprintf(path, sizeof path, "%s/r2", p->root);
    hpc_repository r = {path, NULL};
    h.repository = &r;
    h.repositories_n = 1;
    h.folder = j.corpus;
    assert_int_equal(hpc_corpus_harvest(&result, &h), 0);
    j = make_job(p, "a");
    j.o.task = "pragma";
    snprintf(loops, sizeof loops, "%s/old", p->root);
    j.o.loops = loops;
    refuses(&j, HPC_E_ARG, "was built from a different corpus");
}

/* ---- stopping and resuming ------------------------------------------------------------------- */

static void stop_at(void *user, const char *text, size_t n)
{
    job *j = user;
    (void)text, (void)n;
    __atomic_store_n(&j->stop, 1, __ATOMIC_RELAXED);
}

static void test_stopping(void **state)
{
    place *p = *state;
    job whole = make_job(p, "a"), j = make_job(p, "b");
    hpc_progress progress = {.write = stop_at, .user = &j};
    run_well(&whole);
    j.o.stop = &j.stop;
    j.stop = 1; /* before anything */
    assert_int_equal(run(&j), 0);
    assert_false(j.result.complete);
    assert_int_equal(j.result.documents_n, 0);
    j.stop = 0;
    j.o.progress = &progress; /* it shows at the end of the first batch, at the latest */
    j.o.resume = true;
    assert_int_equal(run(&j), 0);
    j.stop = 0;
    j.o.progress = NULL;
    run_well(&j);
    assert_same(p, "a", "b");
    run_well(&j); /* of a complete data set */
    assert_same(p, "a", "b");
}

/* Shards are taken away from the end, as after a kill; pragmas likewise. */
static void test_resuming(void **state)
{
    place *p = *state;
    const char *const tasks[] = {"code", "pragma"};
    for (int t = 0; t < 2; t++) {
        script(p, "rm -rf a b");
        job whole = make_job(p, "a"), j = make_job(p, "b");
        whole.o.task = j.o.task = tasks[t];
        whole.o.shard_tokens = j.o.shard_tokens = t ? 300 : 9000;
        whole.o.threads = 2;
        j.o.resume = true;
        run_well(&whole);
        assert_true(whole.result.shards_n >= 2);
        for (int64_t keep = 0; keep <= whole.result.shards_n; keep++) {
            char text[256];
            snprintf(text, sizeof text,
                     "rm -rf b; cp -r a b; rm b/index.json; touch b/.hpc-1-0.tmp; "
                     "ls b/*.shard | tail -n +%lld | xargs -r rm",
                     (long long)keep + 1);
            script(p, text);
            run_well(&j);
            assert_int_equal(j.result.documents_n, whole.result.documents_n);
            assert_same(p, "a", "b");
        }
    }
}

static void test_other_options_are_refused(void **state)
{
    place *p = *state;
    job j = make_job(p, "a");
    run_well(&j);
    refuses(&j, HPC_E_ARG, "contains a data set: resume it, or choose another folder");
    j.o.resume = true;
    j.o.fim_rate = 0.25;
    refuses(&j, HPC_E_ARG, "was written with other options");
    j.o.fim_rate = 0.5;
    j.o.split = HPC_SPLIT_TEST;
    refuses(&j, HPC_E_ARG, "was written with other options");
    j.o.split = HPC_SPLIT_TRAIN;
    j.o.seed = 9;
    refuses(&j, HPC_E_ARG, "has seed 5, not 9");
    j.o.seed = 5;
    j.o.shard_tokens = 10;
    refuses(&j, HPC_E_ARG, "shards of 3000 tokens, not of 10");
    j.o.shard_tokens = 3000;
    j.o.task = "pragma";
    refuses(&j, HPC_E_ARG, "task code, not pragma");
    j.o.task = "code";
    j.o.tokenizer = "tests/fixtures/byte_level/starcoder2.json";
    refuses(&j, HPC_E_ARG, "was packed with tokenizer ");
    j.o.tokenizer = OURS;
    script(p,
           "cp -r a b; rm b/00000.shard b/index.json; cp -r b kept"); /* also when none is kept */
    snprintf(j.out, sizeof j.out, "%s/b", p->root);
    j.o.shard_tokens = 10;
    refuses(&j, HPC_E_ARG, "was written with other options");
    j.o.shard_tokens = 3000;
    script(p, "diff -r b kept; truncate -s -5 b/pack.json");
    refuses(&j, HPC_E_FORMAT, "pack.json is damaged, so the settings");
    script(p, "rm b/pack.json");
    refuses(&j, HPC_E_ARG, "has shards but no pack.json");
}

static void note(const char *line, void *user)
{
    hpc_buf_printf(user, "%s\n", line);
}

/* From the first shard that is damaged on, all is as it was. */
static void test_damaged_shards(void **state)
{
    static const char *const scripts[][2] = {
        {"printf X | dd of=b/00001.shard bs=1 seek=1300 conv=notrunc", "00001.shard: its tokens"},
        {"rm b/00000.shard", "00000.shard is missing"},
        {"rm b/*.shard", "00000.shard is missing"},
        {"echo >b/index.json", "index.json:"},
        {"rm b/index.json", NULL},
    };
    place *p = *state;
    job whole = make_job(p, "a"), j = make_job(p, "b");
    hpc_buf notes = {0};
    run_well(&whole);
    assert_true(whole.result.shards_n > 2);
    script(p, "cp -r a b");
    j.o.resume = true;
    j.o.warn = note;
    j.o.user = &notes;
    for (size_t k = 0; k < sizeof scripts / sizeof *scripts; k++) {
        notes.n = 0;
        script(p, scripts[k][0]);
        run_well(&j);
        assert_same(p, "a", "b");
        assert_int_equal(j.result.documents_n, whole.result.documents_n);
        if (scripts[k][1] && !(notes.n > 0 && strstr(notes.data, scripts[k][1])))
            fail_msg("%s: \"%s\"", scripts[k][0], notes.n ? notes.data : "");
        const char *end = notes.n ? strchr(notes.data, '\n') : NULL;
        assert_int_equal(notes.n, end ? end + 1 - notes.data : 0); /* one line, if any */
        assert_int_equal(notes.n > 0, scripts[k][1] != NULL);
    }
    hpc_buf_release(&notes);
}

static void test_bad_arguments(void **state)
{
    place *p = *state;
    job j = make_job(p, "a");
    j.o.task = "poetry";
    refuses(&j, HPC_E_ARG, "unknown task 'poetry'");
    j = make_job(p, "a");
    j.o.fim_rate = 1.5;
    refuses(&j, HPC_E_ARG, "between 0 and 1");
    j.o.fim_rate = 0.0 / 0.0;
    refuses(&j, HPC_E_ARG, "between 0 and 1");
    j = make_job(p, "a");
    j.o.negatives = -1;
    refuses(&j, HPC_E_ARG, "expected a number");
    j = make_job(p, "a");
    j.o.tokenizer = "tests/fixtures/byte_level/gpt2.json";
    refuses(&j, HPC_E_ARG, "has no token for <fim_prefix>: pack with --fim-rate 0");
    j = make_job(p, "a");
    snprintf(j.corpus, sizeof j.corpus, "%s/absent", p->root);
    assert_true(run(&j) < 0);
    hpc_error_clear();
    j = make_job(p, "a");
    j.o.task = "perf";
    refuses(&j, HPC_E_ARG, "--perf FILE");
    script(p, "! test -e a");
}

/* A chunk that was damaged after the harvest: named, and whole shards stay. */
static void test_a_damaged_corpus(void **state)
{
    place *p = *state;
    job j = make_job(p, "a");
    script(p, "f=c/content/r1/00000.chunk; test -f $f; "
              "printf 'XXXX' | dd of=$f bs=1 seek=2000 conv=notrunc 2>/dev/null");
    assert_int_equal(run(&j), HPC_E_FORMAT);
    hpc_error_clear();
    script(p, "! test -e a/index.json");
}

/* ---- failures ------------------------------------------------------------------------------- */

static void walk(place *p, void (*arm)(int64_t n), bool (*failed)(void), int64_t each)
{
    job whole = make_job(p, "a");
    int64_t failures = 0;
    whole.o.shard_tokens = 30000;
    run_well(&whole);
    for (int64_t n = 1;; n += each) {
        job j = make_job(p, "b");
        j.o.shard_tokens = 30000;
        arm(n);
        int rc = run(&j);
        bool hit = failed();
        hpc_test_fault_reset();
        assert_int_equal(rc < 0, hpc_error_get()->code != 0);
        if (rc < 0) assert_true(hit && hpc_error_get()->text[0]);
        hpc_error_clear();
        if (!hit) break;
        failures += rc < 0;
        j.o.resume = true;
        run_well(&j);
        assert_same(p, "a", "b");
        script(p, "rm -rf b");
    }
    assert_true(failures > 3);
}

static void test_allocations_fail(void **state)
{
    walk(*state, hpc_test_fail_alloc, hpc_test_alloc_failed, getenv("HPC_TEST_LONG") ? 1 : 97);
}

static void test_calls_on_files_fail(void **state)
{
    walk(*state, hpc_test_fail_io, hpc_test_io_failed, getenv("HPC_TEST_LONG") ? 1 : 3);
}

#define WITH_A_CORPUS(test) cmocka_unit_test_setup_teardown(test, corpus_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_A_CORPUS(test_documents),
        WITH_A_CORPUS(test_whole_files_and_windows),
        WITH_A_CORPUS(test_threads_do_not_matter),
        WITH_A_CORPUS(test_seeds_matter),
        WITH_A_CORPUS(test_an_empty_split),
        WITH_A_CORPUS(test_loops),
        WITH_A_CORPUS(test_loops_of_another_corpus),
        WITH_A_CORPUS(test_stopping),
        WITH_A_CORPUS(test_resuming),
        WITH_A_CORPUS(test_other_options_are_refused),
        WITH_A_CORPUS(test_bad_arguments),
        WITH_A_CORPUS(test_damaged_shards),
        WITH_A_CORPUS(test_a_damaged_corpus),
        WITH_A_CORPUS(test_allocations_fail),
        WITH_A_CORPUS(test_calls_on_files_fail),
    };
    return cmocka_run_group_tests_name("corpus/pack", tests, make_once, drop_made);
}
