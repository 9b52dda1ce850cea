/*
 * Tests of the harvest (corpus/harvest*.c, plan*.c, judge.c, work.c, merge.c) on repositories made
 * by the git program: the same bytes however it was done, every reason, and what goes wrong.
 */
#include "tests/corpus/sources.h"

#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include "corpus/priv.h"

enum { REPOSITORIES = 8 };

/* ---- running -------------------------------------------------------------------------- */

typedef struct notes { /* warnings, one a line */
    hpc_buf text;
} notes;

static void note(const char *line, void *user)
{
    notes *n = user;
    hpc_buf_printf(&n->text, "%s\n", line);
}

typedef struct work {
    hpc_harvest_options options;
    hpc_harvest_result result;
    hpc_repository repository[REPOSITORIES];
    char path[REPOSITORIES][300], name[REPOSITORIES][32], folder[300];
    notes notes;
    int stop;
} work;

static work *make_work(const place *p, const char *folder, int repositories)
{
    work *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->options = (hpc_harvest_options)HPC_HARVEST_DEFAULTS;
    for (int k = 0; k < repositories; k++) {
        snprintf(w->path[k], sizeof w->path[k], "%s/r%d", p->root, k);
        snprintf(w->name[k], sizeof w->name[k], "owner/r%d", k);
        w->repository[k] = (hpc_repository){w->path[k], w->name[k]};
    }
    snprintf(w->folder, sizeof w->folder, "%s/%s", p->root, folder);
    w->options.repository = w->repository;
    w->options.repositories_n = repositories;
    w->options.folder = w->folder;
    w->options.validation = w->options.test = 0.2;
    w->options.warn = note;
    w->options.user = &w->notes;
    w->options.stop = &w->stop;
    return w;
}

static int run(work *w)
{
    w->notes.text.n = 0;
    return hpc_corpus_harvest(&w->result, &w->options);
}

static void run_well(work *w)
{
    if (run(w) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(hpc_error_get()->code, 0);
    assert_true(w->result.complete);
}

static void release_work(work *w)
{
    hpc_buf_release(&w->notes.text);
    free(w);
}

static void assert_same(place *p, const char *a, const char *b)
{
    char text[256];
    snprintf(text, sizeof text, "diff -r '%s' '%s'", a, b);
    script(p, text);
}

static void make_repositories(place *p, int n)
{
    for (int k = 0; k < n; k++) write_repository(p, k, 20 + 12 * k, 3);
}

static void assert_noted(const work *w, const char *part)
{
    if (!w->notes.text.data || !strstr(w->notes.text.data, part))
        fail_msg("\"%s\" does not say \"%s\"", w->notes.text.data ? w->notes.text.data : "", part);
}

/* ---- the same bytes ---------------------------------------------------------------------- */

/* Another number of threads, another order, and other copies of the repositories. */
static void test_same_bytes(void **state)
{
    place *p = *state;
    make_repositories(p, 5);
    work *a = make_work(p, "a", 5), *b = make_work(p, "b", 5);
    script(p, "mkdir elsewhere; for k in 0 1 2; do git clone -q --mirror r$k elsewhere/r$k; done;"
              "cp -r r3 r4 elsewhere; git -C elsewhere/r3 repack -adq");
    for (int k = 0; k < 5; k++) {
        snprintf(b->path[k], sizeof b->path[k], "%s/elsewhere/r%d", p->root, k);
        b->repository[k] = (hpc_repository){b->path[4 - k], b->name[4 - k]};
    }
    b->options.threads = 3;
    for (int history = 0; history < 2; history++) {
        a->options.history = b->options.history = history;
        run_well(a);
        run_well(b);
        assert_same(p, "a", "b");
        assert_int_equal(a->result.files_n, b->result.files_n);
        assert_int_equal(a->result.read_n, a->result.files_n);
        assert_true(a->result.kept_n > 100);
        assert_true(a->result.reason_n[HPC_REASON_DUPLICATE] > 0);
        assert_int_equal(a->result.reason_n[HPC_REASON_NEAR_DUPLICATE] > 100, history);
        script(p, "rm -rf a b");
    }
    release_work(a);
    release_work(b);
}

/* Nothing that is used on one side has a near-duplicate on another, by comparing all with all. */
static void test_nothing_straddles(void **state)
{
    place *p = *state;
    make_repositories(p, REPOSITORIES);
    work *w = make_work(p, "c", REPOSITORIES);
    hpc_corpus *c = NULL;
    hpc_corpus_file f;
    hpc_tokens tokens[2] = {{0}, {0}};
    hpc_buf text[2] = {{0}, {0}};
    struct {
        hpc_corpus_file file;
        corpus_signature signature;
    } *all = calloc(2000, sizeof *all);
    int64_t n = 0, sides[HPC_SPLIT_N] = {0};
    w->options.history = true;
    run_well(w);
    assert_true(w->result.reason_n[HPC_REASON_STRADDLES] > 0);
    assert_int_equal(hpc_corpus_open(&c, w->folder), 0);
    unsigned used = 1u << HPC_REASON_KEPT | 1u << HPC_REASON_NEAR_DUPLICATE;
    assert_int_equal(hpc_corpus_select(c, &(hpc_corpus_filter){.reasons = used}), 0);
    while (hpc_corpus_next(&f, c) == 1) {
        assert_true(n < 2000);
        assert_int_equal(hpc_corpus_read(&text[0], c, &f), 0);
        assert_int_equal(hpc_lex(&tokens[0], text[0].data, text[0].n, f.language, f.fixed), 0);
        corpus_sign(&all[n].signature, &tokens[0]);
        all[n++].file = f;
        sides[f.split]++;
    }
    for (int s = 0; s < HPC_SPLIT_N; s++) assert_true(sides[s] > 0);
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < a; b++)
            if (all[a].file.split != all[b].file.split)
                assert_true(corpus_similarity(&all[a].signature, &all[b].signature) < 0.5);
    for (int k = 0; k < 2; k++) {
        hpc_tokens_release(&tokens[k]);
        hpc_buf_release(&text[k]);
    }
    hpc_corpus_close(c);
    free(all);
    release_work(w);
}

/* ---- reasons ------------------------------------------------------------------------------- */

static void write_all_kinds(place *p)
{
    hpc_buf b = {0};
    script(p, "new r0");
    write_code(p, "r0/good.c", 1, 0);
    write_code(p, "r0/third_party/zlib/z.c", 2, 0);
    write_text(p, "r0/short.c", "int x;\n", 7);
    add_code(&b, 3, 0, 4);
    hpc_buf_add(&b, "char *s = \"\xff\xfe\";\n", 17);
    write_text(p, "r0/latin.c", b.data, b.n);
    b.n = 0;
    add_code(&b, 4, 0, 3000);
    write_text(p, "r0/huge.c", b.data, b.n);
    b.n = 0;
    add_code(&b, 5, 0, 4);
    memcpy(b.data, "/* SPDX-License-Identifier: GPL-2.0-only */", 43);
    write_text(p, "r0/gpl.c", b.data, b.n);
    b.n = 0;
    hpc_buf_text(&b, "/* Generated by a tool. DO NOT EDIT. */\n");
    add_code(&b, 6, 0, 4);
    write_text(p, "r0/generated.c", b.data, b.n);
    b.n = 0;
    hpc_buf_text(&b, "/* Written by somebody.real@company.org */\n");
    add_code(&b, 7, 0, 4);
    write_text(p, "r0/secret.c", b.data, b.n);
    hpc_buf_release(&b);
    script(p, "cd r0; ln -s good.c link.c; ln -s . loop; cp good.c copy.c; echo hello >note.txt;"
              "sed 's/v1/u1/' good.c >near.c; save");
}

static void test_reasons(void **state)
{
    static const struct {
        const char *path;
        hpc_reason reason;
    } wanted[] = {
        {"copy.c", HPC_REASON_KEPT}, /* one blob has one path, the least */
        {"generated.c", HPC_REASON_GENERATED}, {"gpl.c", HPC_REASON_LICENCE},
        {"huge.c", HPC_REASON_TOO_LARGE},      {"latin.c", HPC_REASON_NOT_UTF8},
        {"near.c", HPC_REASON_NEAR_DUPLICATE}, {"secret.c", HPC_REASON_KEPT},
        {"short.c", HPC_REASON_TOO_SHORT},     {"third_party/zlib/z.c", HPC_REASON_VENDORED}};
    place *p = *state;
    write_all_kinds(p);
    work *w = make_work(p, "c", 1);
    hpc_corpus *c = NULL;
    hpc_corpus_file f;
    hpc_buf text = {0};
    size_t k = 0;
    run_well(w);
    assert_noted(w, "owner/r0: 1 file is too large; the first: huge.c");
    assert_noted(w, "the test split holds 0.0 %");
    assert_int_equal(hpc_corpus_open(&c, w->folder), 0);
    hpc_corpus_select(c, &(hpc_corpus_filter){.reasons = (1u << HPC_REASON_N) - 1});
    for (; hpc_corpus_next(&f, c) == 1; k++) {
        assert_true(k < sizeof wanted / sizeof *wanted);
        assert_string_equal(f.path, wanted[k].path);
        if (f.reason != wanted[k].reason) fail_msg("%s: %s", f.path, hpc_reason_name(f.reason));
        assert_int_equal(f.head, true);
        assert_int_equal(f.language, HPC_LANGUAGE_C);
        if (f.reason == HPC_REASON_TOO_LARGE) assert_true(f.bytes > 1000000);
        if (f.chunk < 0) continue;
        assert_string_equal(f.licence, "MIT");
        assert_int_equal(hpc_corpus_read(&text, c, &f), 0);
        assert_int_equal(text.n, f.stored_bytes);
        bool secret = strcmp(f.path, "secret.c") == 0;
        assert_int_equal(f.masked, secret);
        assert_true(secret || f.bytes == f.stored_bytes);
        assert_null(strstr(text.data, "somebody.real"));
        int64_t lines = 0;
        for (size_t i = 0; i < text.n; i++) lines += text.data[i] == '\n';
        assert_int_equal(f.lines, lines);
    }
    assert_int_equal(k, sizeof wanted / sizeof *wanted);
    hpc_corpus_close(c);
    hpc_buf_release(&text);
    release_work(w);
}

/* The licence of the nearest folder holds, where a file has none of its own. */
static void test_licences(void **state)
{
    static const char mit[] =
        "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a "
        "copy of this software and associated documentation files (the \"Software\"), to deal in "
        "the Software without restriction, including without limitation the rights to use, copy, "
        "modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and "
        "to permit persons to whom the Software is furnished to do so, subject to the following "
        "conditions:\n\nThe above copyright notice and this permission notice shall be included in "
        "all copies or substantial portions of the Software.\n";
    static const char gpl[] = "SPDX-License-Identifier: GPL-3.0-only\n";
    place *p = *state;
    hpc_buf b = {0};
    script(p, "new r0");
    static const char *const names[] = {"r0/a/x.c", "r0/a/b/y.c", "r0/z.c"};
    for (uint32_t k = 0; k < 3; k++) {
        b.n = 0;
        add_code(&b, k, 0, 4);
        memset(b.data, ' ', 34); /* no tag */
        memcpy(b.data, "/* code */", 10);
        write_text(p, names[k], b.data, b.n);
    }
    write_text(p, "r0/LICENSE", mit, sizeof mit - 1);
    write_text(p, "r0/a/LICENSE", gpl, sizeof gpl - 1);
    write_text(p, "r0/LICENSES/LICENSE", gpl, sizeof gpl - 1);
    script(p, "cd r0; mkdir -p c/LICENSE; cp a/x.c c/LICENSE/w.c; echo 'int k;' >>c/LICENSE/w.c;"
              "save");
    work *w = make_work(p, "c", 1), *all = make_work(p, "all", 1);
    run_well(w);
    assert_int_equal(w->result.reason_n[HPC_REASON_LICENCE], 2); /* a/x.c, a/b/y.c */
    assert_int_equal(w->result.kept_n, 2);
    all->options.licences = "all";
    run_well(all);
    assert_int_equal(all->result.reason_n[HPC_REASON_LICENCE], 0);
    all->options.licences = "MIT,NONSENSE-9";
    all->options.folder = in(p, "other");
    assert_refused(run(all), HPC_E_ARG, "NONSENSE-9");
    hpc_buf_release(&b);
    release_work(w);
    release_work(all);
}

/* By name, by path, and by content under another name. */
static void test_held_out(void **state)
{
    place *p = *state;
    static const char list[] = "owner/r0\npath:owner/r1:src/part0/file1*\nother/held\n";
    char file[300], sketch[300], path[300];
    make_repositories(p, 4);
    write_text(p, "list/held-out", list, sizeof list - 1);
    snprintf(file, sizeof file, "%s/list/held-out", p->root);
    snprintf(sketch, sizeof sketch, "%s/sketch", p->root);
    snprintf(path, sizeof path, "%s/r2", p->root);
    const hpc_repository copy = {.path = path, .name = "other/held"};
    const hpc_sketch_options options = {
        .list = file, .repository = &copy, .repositories_n = 1, .threads = 1};
    assert_int_equal(hpc_sketch_make(sketch, &options), 0);
    work *w = make_work(p, "c", 4);
    hpc_corpus *c = NULL;
    hpc_corpus_file f;
    w->options.held_out = sketch;
    run_well(w);
    assert_int_equal(hpc_corpus_open(&c, w->folder), 0);
    assert_true(hpc_corpus_used_sketch(c, NULL));
    hpc_corpus_select(c, &(hpc_corpus_filter){.reasons = (1u << HPC_REASON_N) - 1});
    int rows[4] = {0};
    while (hpc_corpus_next(&f, c) == 1) {
        int r = f.repository[strlen("owner/r")] - '0';
        bool named = strncmp(f.path, "src/part0/file1", 15) == 0;
        bool content = f.reason == HPC_REASON_HELD_OUT_HASH;
        rows[r]++;
        if (r == 0) assert_int_equal(f.reason, HPC_REASON_HELD_OUT_REPOSITORY);
        if (r == 1) assert_int_equal(f.reason == HPC_REASON_HELD_OUT_PATH, named);
        if (r == 2) assert_true(content || f.reason == HPC_REASON_HELD_OUT_SHINGLES);
        if (r == 3) assert_int_equal(f.reason, HPC_REASON_KEPT);
        assert_int_equal(f.chunk >= 0, f.reason == HPC_REASON_KEPT);
    }
    for (int k = 0; k < 4; k++) assert_int_equal(rows[k], 20 + 12 * k);
    hpc_corpus_close(c);
    release_work(w);
}

/* ---- resuming -------------------------------------------------------------------------------- */

typedef struct brake { /* a progress that stops the harvest when it was called so often */
    hpc_progress progress;
    work *w;
    int left;
} brake;

static void count_down(void *user, const char *text, size_t n)
{
    brake *b = user;
    (void)text;
    (void)n;
    if (--b->left <= 0) __atomic_store_n(&b->w->stop, 1, __ATOMIC_RELAXED);
}

static void test_stop_and_resume(void **state)
{
    place *p = *state;
    make_repositories(p, 4);
    work *whole = make_work(p, "whole", 4), *w = make_work(p, "c", 4);
    whole->options.history = w->options.history = true;
    run_well(whole);
    int stopped = 0;
    for (int k = 1; k < 40; k++) {
        brake b = {.w = w, .left = k};
        b.progress.write = count_down;
        b.progress.user = &b;
        b.progress.terminal = true; /* so that it shows at once */
        w->options.progress = &b.progress;
        w->options.resume = k > 1;
        w->options.threads = 1 + k % 3;
        w->stop = 0;
        assert_int_equal(run(w), 0);
        assert_int_equal(w->result.stopped, !w->result.complete);
        if (w->result.complete) break;
        stopped++;
    }
    assert_true(stopped > 0);
    assert_true(w->result.complete);
    assert_same(p, "whole", "c");
    w->options.progress = NULL;
    run_well(w); /* once more: nothing to do */
    assert_int_equal(w->result.read_n, 0);
    assert_int_equal(w->result.kept_n, whole->result.kept_n);
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

/* What was planned is harvested, although the branch has moved. */
static void test_moved(void **state)
{
    place *p = *state;
    make_repositories(p, 2);
    work *whole = make_work(p, "whole", 2), *w = make_work(p, "c", 2);
    run_well(whole);
    run_well(w);
    script(p, "rm c/corpus.db c/content/*/00000.chunk");
    write_code(p, "r1/src/new.c", 77, 0);
    script(p, "cd r1; save; git repack -adq");
    w->options.resume = true;
    run_well(w);
    assert_noted(w, "owner/r1: its branches have moved");
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

static void test_damaged(void **state)
{
    place *p = *state;
    make_repositories(p, 2);
    work *whole = make_work(p, "whole", 2), *w = make_work(p, "c", 2);
    run_well(whole);
    run_well(w);
    w->options.resume = true;
    script(p, "rm c/corpus.db; printf x >c/content/owner+r0/00000.chunk");
    run_well(w);
    assert_noted(w, "owner/r0: chunk 0 is damaged; it is made again");
    assert_same(p, "whole", "c");
    script(p, "rm c/corpus.db; cp c/content/owner+r0/00000.chunk c/content/owner+r1/00000.chunk");
    run_well(w); /* a sound chunk of another repository */
    assert_same(p, "whole", "c");
    script(p,
           "rm c/corpus.db; head -c 60 c/content/owner+r1/plan >x; mv x c/content/owner+r1/plan");
    run_well(w);
    assert_noted(w, "owner/r1: its plan is damaged; it is made again");
    assert_same(p, "whole", "c");
    script(p, "touch c/corpus.db.new c/harvest.lock c/content/owner+r1++lock");
    run_well(w); /* as if killed behind the last step */
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

static void test_settings(void **state)
{
    place *p = *state;
    make_repositories(p, 2);
    work *w = make_work(p, "c", 2);
    run_well(w);
    assert_refused(run(w), HPC_E_ARG, "already holds a corpus; --resume");
    w->options.resume = true;
    run_well(w);
    w->options.history = true;
    assert_refused(run(w), HPC_E_ARG, "history = false, now it is true");
    w->options.history = false;
    w->options.seed = 3;
    assert_refused(run(w), HPC_E_ARG, "seed = 0, now it is 3");
    w->options.seed = 0;
    w->options.test = 0.25;
    assert_refused(run(w), HPC_E_ARG, "test = 0.2");
    w->options.test = 0.2;
    w->options.repositories_n = 1;
    assert_refused(run(w), HPC_E_ARG, "'owner/r1' was harvested and is not named now");
    w->options.repositories_n = 2;
    w->repository[1].name = "owner/r9";
    assert_refused(run(w), HPC_E_ARG, "'owner/r1' was harvested");
    w->repository[1].name = "owner/r0";
    assert_refused(run(w), HPC_E_ARG, "are both called 'owner/r0'");
    w->repository[1].name = "../r1";
    assert_refused(run(w), HPC_E_FORMAT, "cannot be the name");
    w->repository[1].name = "owner/r1";
    script(p, "sed -i 's/\"version\": 1/\"version\": 2/' c/harvest.json");
    assert_refused(run(w), HPC_E_FORMAT, "format version 2; this program knows version 1");
    w->options.validation = 0.95;
    assert_refused(run(w), HPC_E_ARG, "together at most 0.9");
    release_work(w);
}

/* ---- what goes wrong ---------------------------------------------------------------------------
 */

static void test_failed_repository(void **state)
{
    place *p = *state;
    make_repositories(p, 3);
    work *whole = make_work(p, "whole", 3), *w = make_work(p, "c", 3);
    run_well(whole);
    script(p, "mv r1 away");
    assert_int_equal(run(w), 0);
    assert_noted(w, "owner/r1: ");
    assert_true(w->result.complete);
    assert_int_equal(w->result.failed_n, 1);
    assert_true(w->result.kept_n > 0 && w->result.kept_n < whole->result.kept_n);
    script(p, "mv away r1");
    w->options.resume = true;
    run_well(w);
    assert_int_equal(w->result.failed_n, 0);
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

static void test_empty_and_shallow(void **state)
{
    place *p = *state;
    write_repository(p, 0, 30, 4);
    script(p, "new r1");
    script(p, "git clone -q --depth 1 \"file://$PWD/r0\" r2");
    work *w = make_work(p, "c", 3);
    w->options.history = true;
    run_well(w);
    assert_noted(w, "owner/r1: the repository is empty");
    assert_noted(w, "owner/r2: a shallow clone: its history is cut off");
    assert_int_equal(w->result.failed_n, 0);
    assert_true(w->result.reason_n[HPC_REASON_DUPLICATE] >= 30);
    release_work(w);
}

/* Objects that are lost or damaged are rows like others; the rest is harvested. */
static void test_lost_objects(void **state)
{
    place *p = *state;
    write_repository(p, 0, 30, 1);
    script(p, "cd r0; a=$(git rev-parse HEAD:src/part0/file3.c); rm -f .git/objects/${a%"
              "${a#??}}/${a#??};"
              "b=$(git rev-parse HEAD:src/part0/file5.c); f=.git/objects/${b%${b#??}}/${b#??};"
              "chmod u+w $f; printf garbage >$f");
    work *w = make_work(p, "c", 1);
    w->options.threads = 2;
    run_well(w);
    assert_noted(w, "owner/r0: 1 file is absent; the first: src/part0/file3.c");
    assert_noted(w, "owner/r0: 1 file is damaged; the first: src/part0/file5.c");
    assert_int_equal(w->result.reason_n[HPC_REASON_ABSENT], 1);
    assert_int_equal(w->result.reason_n[HPC_REASON_CORRUPT], 1);
    assert_int_equal(w->result.kept_n, 28);
    release_work(w);
}

/* Whatever call fails, what is whole stays, and resuming ends in the same bytes. */
static void test_faults(void **state)
{
    place *p = *state;
    make_repositories(p, 2);
    work *whole = make_work(p, "whole", 2);
    run_well(whole);
    int64_t each = getenv("HPC_TEST_LONG") ? 1 : 17, failures = 0;
    for (int io = 0; io < 2; io++) {
        for (int64_t n = 1;; n += io ? each : 13 * each) {
            work *w = make_work(p, "c", 2);
            io ? hpc_test_fail_io(n) : hpc_test_fail_alloc(n);
            int rc = run(w);
            bool failed = io ? hpc_test_io_failed() : hpc_test_alloc_failed();
            hpc_test_fault_reset();
            assert_true(failed || rc == 0);
            if (rc < 0) assert_int_equal(rc, io ? HPC_E_IO : HPC_E_NOMEM);
            if (rc < 0) assert_int_equal(hpc_error_get()->code, rc);
            hpc_error_clear();
            failures += rc < 0;
            w->options.resume = true;
            run_well(w);
            script(p, "diff -r whole c; rm -rf c");
            release_work(w);
            if (!failed) break;
        }
    }
    assert_true(failures > 5);
    release_work(whole);
}

/* ---- several processes -------------------------------------------------------------------------
 */

static void test_processes(void **state)
{
    place *p = *state;
    make_repositories(p, 6);
    work *whole = make_work(p, "whole", 6), *w = make_work(p, "c", 6);
    pid_t child[3];
    run_well(whole);
    w->options.resume = true;
    for (int k = 0; k < 3; k++) {
        child[k] = fork();
        assert_true(child[k] >= 0);
        if (child[k] == 0) _exit(hpc_corpus_harvest(&w->result, &w->options) < 0);
    }
    for (int k = 0; k < 3; k++) {
        int status;
        assert_int_equal(waitpid(child[k], &status, 0), child[k]);
        assert_int_equal(status, 0);
    }
    assert_same(p, "whole", "c");
    release_work(whole);
    release_work(w);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_same_bytes),        TEST(test_nothing_straddles),
        TEST(test_reasons),           TEST(test_held_out),
        TEST(test_licences),          TEST(test_moved),
        TEST(test_stop_and_resume),   TEST(test_damaged),
        TEST(test_settings),          TEST(test_faults),
        TEST(test_failed_repository), TEST(test_processes),
        TEST(test_empty_and_shallow), TEST(test_lost_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
