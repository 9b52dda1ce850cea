/*
 * Tests of infer/perf/language.c with infer/pairs: functions of a commit that a model reads, its
 * input compared with that of training, independence of other commits, and errors.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/perf/history.h"

#include <math.h>
#include <unistd.h>

#include "corpus/pack.h"
#include "infer/engine/coder.h"
#include "infer/pairs/pairs.h"
#include "model/files.h"
#include "runtime/shard/shard.h"
#include "tests/perf/untaught.h"
#include "train/run.h"

enum { FUNCTIONS = 12 };

static const char *inside(const place *p, char path[300], const char *name)
{
    snprintf(path, 300, "%s/%s", p->root, name);
    return path;
}

static hpc_perf_language *opened_with(const place *p, const hpc_perf_language_limits *limits,
                                      int threads)
{
    char dir[300];
    hpc_perf_language *l;
    inside(p, dir, "model");
    if (!hpc_file_exists(dir)) {
        hpc_model_config c = tiny();
        make_model(inside(p, dir, "model"), &c);
    }
    OK(hpc_pairs_open(&l, dir, limits, threads));
    return l;
}

/* ---- a history ------------------------------------------------------------------------------- */

/* Function k of 0..n-1 has so many lines, one more in those whose bit is in `changed`, and as many
 * more again as its number. */
static void file_of(hpc_buf *out, int n, unsigned changed)
{
    out->n = 0;
    for (int k = 0; k < n; k++) {
        hpc_buf_printf(out, "int f%d(int *a, int n)\n{\n", k);
        for (int i = 0; i < 3 + k % 4; i++) hpc_buf_printf(out, "    a[%d] += n * %d;\n", i, k);
        for (int i = 0; i <= k && changed >> k & 1; i++)
            hpc_buf_printf(out, "    a[n] += g(a[%d]);\n", i);
        hpc_buf_text(out, "    return a[0];\n}\n\n");
    }
    assert_int_equal(out->failed, 0);
}

/* Commit k changes these functions of the first. */
static const unsigned changes[] = {0, 0, 1, 6, 0xfff, 8, 0x30};
enum { FIRST = 2, LAST = 6, ALL = 4 };

static void build(history *h, void **state)
{
    hpc_buf text = {0};
    *h = (history){.p = *state};
    for (int k = 1; k <= LAST; k++) {
        file_of(&text, FUNCTIONS, changes[k]);
        commit_from(h, k > 1);
        with_bytes(h, "src/a.c", text.data, text.n);
    }
    hpc_buf_release(&text);
}

static void add(hpc_perf_language *l, history *h, int commit)
{
    look(h, 1, commit);
    OK(hpc_perf_language_add(l, &h->change));
}

static hpc_perf_language_result judged(const hpc_perf_language *l, int64_t i)
{
    hpc_perf_language_result j;
    hpc_perf_language_result_of(&j, l, i);
    return j;
}

static void same_opinions(const hpc_perf_language_result *a, const hpc_perf_language_result *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->known, b->known);
    for (int64_t k = 0; k < a->n; k++) {
        assert_int_equal(a->function[k].function, b->function[k].function);
        assert_int_equal(a->function[k].weight, b->function[k].weight);
        assert_int_equal(a->function[k].tokens, b->function[k].tokens);
        assert_memory_equal(a->function[k].logp, b->function[k].logp, sizeof a->logp);
    }
    assert_memory_equal(a->logp, b->logp, sizeof a->logp);
}

static double sum_of(const double logp[3])
{
    return exp(logp[0]) + exp(logp[1]) + exp(logp[2]);
}

/* ---- as it was taught ------------------------------------------------------------------------ */

static void make_shard(const char *folder, const hpc_ids *ids, int64_t answer, int label,
                       const hpc_tokenizer *t)
{
    hpc_shard_spec spec = {.vocabulary = hpc_tokenizer_n(t),
                           .tokenizer = hpc_tokenizer_hash(t),
                           .task = "perf",
                           .columns_n = 2,
                           .column = {{"label", HPC_SHARD_I32}, {"answer", HPC_SHARD_I32}}};
    hpc_shard_writer *w;
    int64_t done;
    OK(hpc_shard_create(&w, &done, folder, &spec, 1 << 20, false));
    OK(hpc_shard_add(w, ids->id, ids->n, (double[]){label, (double)answer}));
    OK(hpc_shard_finish(w, NULL));
    hpc_shard_discard(w);
}

static int never(void *user)
{
    (void)user;
    return 0;
}

/* What training would have as the loss of such a document. */
static double taught_loss(const place *p, const char *shard, int64_t length,
                          hpc_compare_marks marks)
{
    char dir[300];
    hpc_trainer_options o = {.model = tiny(),
                             .optimizer = HPC_OPTIMIZER_CONFIG_DEFAULTS,
                             .init = inside(p, dir, "model"),
                             .objective = HPC_OBJECTIVE_PAIRS,
                             .length = length,
                             .rows = 1,
                             .documents = 1,
                             .accumulate = 1,
                             .device = {.threads = 1}};
    hpc_loader_source s = {.path = shard};
    hpc_loader_options l = {.source = &s,
                            .source_n = 1,
                            .objective = o.objective,
                            .marks = marks,
                            .classes = 3,
                            .length = length,
                            .documents = 1,
                            .ordered = true};
    hpc_loader *loader;
    hpc_trainer *t;
    double loss;
    OK(hpc_trainer_open(&t, &o, false));
    OK(hpc_loader_open(&loader, &l));
    OK(hpc_trainer_validate(&loss, t, loader, 1, never, NULL));
    hpc_loader_close(loader);
    hpc_trainer_close(t);
    return loss;
}

static void open_coder(hpc_coder *out, hpc_tokenizer **tokenizer, const place *p)
{
    const unsigned marks = 1u << HPC_MARK_FILE | 1u << HPC_MARK_PERF_BASE |
                           1u << HPC_MARK_PERF_HEAD | 1u << HPC_MARK_PERF_LABEL;
    char dir[300];
    hpc_model_files *files;
    OK(hpc_model_files_open(&files, inside(p, dir, "model")));
    OK(hpc_model_files_tokenizer(tokenizer, files));
    OK(hpc_coder_open(out, *tokenizer, marks, dir, "changes", "perf"));
    hpc_model_files_close(files);
}

/* A function of it as corpus pack has it, through the trainer; whole, and cut. */
static void test_as_taught(void **state)
{
    const unsigned needed = 1u << HPC_MARK_FILE | 1u << HPC_MARK_PERF_BASE |
                            1u << HPC_MARK_PERF_HEAD | 1u << HPC_MARK_PERF_LABEL |
                            1u << HPC_MARK_END;
    history h;
    build(&h, state);
    history_open(&h, NULL);
    for (int cut = 0; cut < 2; cut++) {
        hpc_perf_language_limits limits = HPC_PERF_LANGUAGE_LIMITS_DEFAULTS;
        if (cut) limits.length = 100;
        hpc_perf_language *l = opened_with(h.p, &limits, 1);
        add(l, &h, FIRST);
        OK(hpc_perf_language_run(l));
        hpc_perf_language_result j = judged(l, 0);
        const hpc_perf_function *f = &h.change.function[j.function[0].function];
        const char *base = f->base.source->text.data + f->base.at,
                   *head = f->head.source->text.data + f->head.at;
        hpc_tokenizer *tokenizer;
        hpc_coder coder;
        open_coder(&coder, &tokenizer, h.p);
        hpc_compare_marks marks = {coder.mark[HPC_MARK_PERF_BASE], coder.mark[HPC_MARK_PERF_HEAD],
                                   coder.mark[HPC_MARK_PERF_LABEL]};
        assert_true(j.known && j.n == 1 && j.left_out == 0);
        assert_true(fabs(sum_of(j.logp) - 1) < 1e-12);
        for (int label = 0; label < 3; label++) {
            static const char *const names[] = {"slower", "same", "faster"};
            char shard[300], name[32];
            hpc_sample sample = {0};
            hpc_ids ids = {0};
            pack_encoder e;
            int64_t answer;
            OK(pack_encoder_open(&e, tokenizer, needed, "pilot"));
            OK(hpc_render_change(&sample, "src/a.c", base, f->base.end - f->base.at, head,
                                 f->head.end - f->head.at, names[label]));
            OK(pack_encode(&ids, &answer, &e, coder.scratch, &sample));
            snprintf(name, sizeof name, "shard%d%d", cut, label);
            make_shard(inside(h.p, shard, name), &ids, answer, label, tokenizer);
            double loss = taught_loss(h.p, shard, limits.length, marks);
            assert_true(fabs(loss + j.logp[label]) < 1e-5 * (1 + fabs(loss)));
            pack_encoder_release(&e);
            hpc_sample_release(&sample);
            hpc_free(ids.id);
        }
        hpc_coder_close(&coder);
        hpc_tokenizer_close(tokenizer);
        hpc_perf_language_close(l);
    }
    history_close(&h);
}

/* ---- what else is there ---------------------------------------------------------------------- */

/* Alone, with all others, in another order, by more threads. */
static void test_nothing_else_counts(void **state)
{
    history h;
    build(&h, state);
    history_open(&h, NULL);
    hpc_perf_language *all = opened_with(h.p, NULL, 1), *other = opened_with(h.p, NULL, 2);
    for (int k = FIRST; k <= LAST; k++) add(all, &h, k);
    OK(hpc_perf_language_run(all));
    for (int k = LAST; k >= FIRST; k--) add(other, &h, k);
    OK(hpc_perf_language_run(other));
    for (int k = FIRST; k <= LAST; k++) {
        hpc_perf_language_result a = judged(all, k - FIRST), b = judged(other, LAST - k);
        same_opinions(&a, &b);
        assert_true(a.known);
    }
    for (int k = FIRST; k <= LAST; k++) {
        hpc_perf_language_clear(other);
        add(other, &h, k);
        OK(hpc_perf_language_run(other));
        hpc_perf_language_result a = judged(all, k - FIRST), b = judged(other, 0);
        same_opinions(&a, &b);
    }
    hpc_perf_language_close(all);
    hpc_perf_language_close(other);
    history_close(&h);
}

/* The mean by changed lines of logarithms, to the sum of 1. */
static void test_of_a_commit(void **state)
{
    history h;
    build(&h, state);
    history_open(&h, NULL);
    hpc_perf_language *l = opened_with(h.p, NULL, 1);
    add(l, &h, 3); /* f1 by two lines, f2 by three */
    OK(hpc_perf_language_run(l));
    hpc_perf_language_result j = judged(l, 0);
    assert_int_equal(j.n, 2);
    assert_string_equal(name_of(&h, h.change.function[j.function[0].function].name), "f2");
    assert_true(j.function[0].weight == 3 && j.function[1].weight == 2);
    double mean[3], all = 0;
    for (int v = 0; v < 3; v++) {
        mean[v] = exp((3 * j.function[0].logp[v] + 2 * j.function[1].logp[v]) / 5);
        all += mean[v];
    }
    for (int v = 0; v < 3; v++) assert_true(fabs(exp(j.logp[v]) - mean[v] / all) < 1e-12);
    hpc_perf_language_close(l);
    history_close(&h);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_limits(void **state)
{
    history h;
    build(&h, state);
    history_open(&h, NULL);
    hpc_perf_language *l = opened_with(h.p, NULL, 1);
    add(l, &h, ALL);
    OK(hpc_perf_language_run(l));
    hpc_perf_language_result j = judged(l, 0);
    assert_true(j.n == 8 && j.left_out == FUNCTIONS - 8);
    int64_t tokens = 0;
    for (int64_t k = 0; k < j.n; k++) {
        assert_int_equal(j.function[k].weight, FUNCTIONS - k); /* the heaviest */
        tokens += j.function[k].tokens;
    }
    assert_true(tokens <= 2048 && tokens > 1000);
    hpc_perf_language_counts n = hpc_perf_language_counts_of(l);
    assert_true(n.read == 8 && n.left_out == FUNCTIONS - 8 && n.tokens == tokens);
    hpc_perf_language_close(l);
    /* Tokens of a commit, and of a function. */
    hpc_perf_language_limits few = HPC_PERF_LANGUAGE_LIMITS_DEFAULTS;
    few.tokens = 250, few.length = 100;
    l = opened_with(h.p, &few, 1);
    add(l, &h, ALL);
    OK(hpc_perf_language_run(l));
    j = judged(l, 0);
    assert_true(j.known && j.n == 2 && j.left_out == FUNCTIONS - 2); /* less than 64 are left */
    for (int64_t k = 0; k < j.n; k++) assert_in_range(j.function[k].tokens, 98, 100);
    hpc_perf_language_close(l);
    history_close(&h);
}

/* Where a range has too many, the heaviest of all commits are read, whatever their order. */
static void test_range(void **state)
{
    hpc_perf_language_limits few = HPC_PERF_LANGUAGE_LIMITS_DEFAULTS;
    history h;
    build(&h, state);
    history_open(&h, NULL);
    few.functions = 3, few.length = 100, few.range = 400;
    for (int order = 0; order < 2; order++) {
        hpc_perf_language *l = opened_with(h.p, &few, 1);
        add(l, &h, order ? 6 : FIRST);
        add(l, &h, ALL);
        add(l, &h, order ? FIRST : 6); /* f4, f5 by five and six lines */
        OK(hpc_perf_language_run(l));
        hpc_perf_language_result heavy = judged(l, 1), some = judged(l, order ? 0 : 2);
        hpc_perf_language_result light = judged(l, order ? 2 : 0);
        for (int64_t k = 0; k < 3; k++) assert_true(heavy.function[k].tokens > 0);
        assert_true(some.known && some.function[0].tokens > 0 && some.function[1].tokens == 0);
        assert_int_equal(some.left_out, 1);
        for (int v = 0; v < 3; v++)
            assert_true(fabs(some.logp[v] - some.function[0].logp[v]) < 1e-12);
        assert_true(!light.known && light.n == 1 && light.left_out == 1);
        assert_true(hpc_perf_language_counts_of(l).tokens <= 400);
        hpc_perf_language_close(l);
    }
    history_close(&h);
}

static void test_no_functions(void **state)
{
    hpc_buf text = {0};
    history h = {.p = *state};
    file_of(&text, 2, 0);
    commit_from(&h, 0);
    with_bytes(&h, "a.c", text.data, text.n);
    commit_from(&h, 1); /* 2: a comment */
    hpc_buf_text(&text, "/* more */\n");
    with_bytes(&h, "a.c", text.data, text.n);
    commit_from(&h, 1); /* 3: how it is built, a text, what is in no function */
    hpc_buf_text(&text, "static int more;\n");
    with_bytes(&h, "a.c", text.data, text.n);
    with(&h, "Makefile", "all:\n\tcc -O0 a.c\n");
    with(&h, "README", "int f(void) { return 1; }\n");
    commit_from(&h, 1); /* 4: nothing */
    commit_from(&h, 1); /* 5: a function that is new, and a file that is gone */
    without(&h, "a.c");
    with(&h, "b.c", "int new(int n)\n{\n    return n;\n}\n");
    history_open(&h, NULL);
    hpc_perf_language *l = opened_with(h.p, NULL, 1);
    OK(hpc_perf_language_run(l)); /* of nothing at all */
    for (int k = 2; k <= 5; k++) add(l, &h, k);
    OK(hpc_perf_language_run(l));
    for (int k = 0; k < 3; k++) {
        hpc_perf_language_result j = judged(l, k);
        assert_true(!j.known && j.n == 0 && j.left_out == 0);
    }
    hpc_perf_language_result j = judged(l, 3);
    assert_true(j.known && j.n == 3);
    hpc_buf_release(&text);
    hpc_perf_language_close(l);
    history_close(&h);
}

/* A function of thousands of tokens is read around what differs: there it tells, far away not. */
static void test_too_long(void **state)
{
    static const char *const last[] = {"x", "y", "x"}, *const first[] = {"p", "p", "q"};
    hpc_buf text = {0};
    history h = {.p = *state};
    for (int k = 0; k < 6; k++) {
        text.n = 0;
        hpc_buf_printf(&text, "int f(int *a)\n{\n    a[0] = %s;\n", first[k / 2]);
        for (int i = 0; i < 3000; i++) hpc_buf_printf(&text, "    a[%d] = %d;\n", i, i % 7);
        hpc_buf_printf(&text, "    a[1] = %s%s;\n    return 0;\n}\n", last[k / 2],
                       k % 2 ? " + g(a)" : "");
        commit_from(&h, k); /* each odd one is the change of the one before */
        with_bytes(&h, "f.c", text.data, text.n);
    }
    history_open(&h, NULL);
    hpc_perf_language *l = opened_with(h.p, NULL, 1);
    for (int k = 1; k < 6; k += 2) {
        look(&h, k, k + 1);
        OK(hpc_perf_language_add(l, &h.change));
    }
    OK(hpc_perf_language_run(l));
    hpc_perf_language_result one = judged(l, 0), near = judged(l, 1), far = judged(l, 2);
    assert_in_range(one.function[0].tokens, 500, 512);
    assert_memory_equal(one.logp, far.logp, sizeof one.logp);
    assert_true(memcmp(one.logp, near.logp, sizeof one.logp) != 0);
    hpc_buf_release(&text);
    hpc_perf_language_close(l);
    history_close(&h);
}

typedef struct again {
    history *h;
    hpc_perf_language *l;
} again;

static int all_of_it(void *user)
{
    const again *a = user;
    int rc = HPC_OK;
    hpc_perf_language_clear(a->l);
    TRY(hpc_perf_language_add(a->l, &a->h->change));
    TRY(hpc_perf_language_run(a->l));
out:
    return rc;
}

/* What failed is said, and the next time it is as if it had never been. */
static void test_without_memory(void **state)
{
    history h;
    build(&h, state);
    history_open(&h, NULL);
    again a = {&h, opened_with(h.p, NULL, 1)};
    look(&h, 1, ALL);
    hpc_perf_language *other = opened_with(h.p, NULL, 1);
    assert_true(hpc_test_each_alloc(all_of_it, &a) > 5);
    hpc_test_fault_reset();
    OK(all_of_it(&a));
    OK(hpc_perf_language_add(other, &h.change));
    OK(hpc_perf_language_run(other));
    hpc_perf_language_result x = judged(a.l, 0), y = judged(other, 0);
    same_opinions(&x, &y);
    hpc_perf_language_close(a.l);
    hpc_perf_language_close(other);
    history_close(&h);
}

/* ---- models ---------------------------------------------------------------------------------- */

static int read_saved(float *out, const hpc_model_tensor *t, void *user)
{
    return hpc_weights_read(out, user, t);
}

/* The same model as a GGUF. */
static void test_gguf(void **state)
{
    char dir[300], file[300];
    history h;
    hpc_weights *w;
    build(&h, state);
    history_open(&h, NULL);
    hpc_perf_language *a = opened_with(h.p, NULL, 1), *b;
    hpc_model_config c = tiny();
    OK(hpc_weights_open(&w, inside(h.p, dir, "model"), &c));
    hpc_gguf_options o = {.dtype = HPC_F32, .tokenizer = dir, .read = read_saved, .user = w};
    OK(hpc_weights_save_gguf(inside(h.p, file, "model.gguf"), &c, &o));
    hpc_weights_close(w);
    OK(hpc_pairs_open(&b, file, NULL, 1));
    add(a, &h, ALL);
    add(b, &h, ALL);
    OK(hpc_perf_language_run(a));
    OK(hpc_perf_language_run(b));
    hpc_perf_language_result x = judged(a, 0), y = judged(b, 0);
    assert_true(x.known);
    same_opinions(&x, &y);
    hpc_perf_language_close(a);
    hpc_perf_language_close(b);
    history_close(&h);
}

static void refuses(const char *model, int code, const char *says)
{
    hpc_perf_language *l;
    assert_int_equal(hpc_pairs_open(&l, model, NULL, 1), code);
    assert_null(l);
    if (!strstr(hpc_error_get()->text, says)) fail_msg("%s", hpc_error_get()->text);
    hpc_error_clear();
}

static void test_refused(void **state)
{
    const place *p = *state;
    char dir[300], file[400];
    hpc_model_config c = tiny();
    refuses(PILOT, HPC_E_ARG, "does not classify changes");
    c.classes = 2;
    make_model(inside(p, dir, "two"), &c);
    refuses(inside(p, dir, "two"), HPC_E_ARG, "--objective pairs --classes 3");
    c.classes = 3;
    make_model(inside(p, dir, "bare"), &c);
    snprintf(file, sizeof file, "%s/tokenizer.model", inside(p, dir, "bare"));
    assert_int_equal(unlink(file), 0);
    snprintf(file, sizeof file, "%s/tokenizer.json", inside(p, dir, "bare"));
    assert_int_equal(unlink(file), 0); /* the same tokenizer for other programs */
    refuses(dir, HPC_E_ARG, "tokenizer");
    c.head = HPC_HEAD_TOKENS; /* weights without a head for pairs, and a configuration with one */
    make_model(inside(p, dir, "headless"), &c);
    c.head = HPC_HEAD_PAIRS;
    hpc_buf text = {0};
    OK(hpc_model_config_write(&text, &c));
    snprintf(file, sizeof file, "%s/config.json", inside(p, dir, "headless"));
    OK(hpc_file_save(file, text.data, text.n));
    hpc_buf_release(&text);
    refuses(dir, HPC_E_FORMAT, "score.weight is missing");
    refuses(inside(p, dir, "none"), HPC_E_IO, "none");
}

int main(void)
{
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {
        IN_PLACE(test_as_taught),   IN_PLACE(test_nothing_else_counts),
        IN_PLACE(test_of_a_commit), IN_PLACE(test_limits),
        IN_PLACE(test_range),       IN_PLACE(test_no_functions),
        IN_PLACE(test_too_long),    IN_PLACE(test_without_memory),
        IN_PLACE(test_gguf),        IN_PLACE(test_refused),
    };
    return cmocka_run_group_tests_name("perf/language", tests, NULL, NULL);
}
