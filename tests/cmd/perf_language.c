/*
 * Tests of a language model in `hpccoder perf train` and `perf predict`: the repositories that it
 * is used for, its effect, and errors.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/git/repository.h"

#include "corpus/history/database.h"
#include "infer/perf/example.h"
#include "tests/perf/untaught.h"
#include "tests/support/command.h"

enum { COMMITS = 60 };

static hpc_test_outcome o;

/* A repository "r" of a function that changes in each commit, and its history "h.db": of five
 * commits on end one is slower, one is faster. */
static void make_measured(place *p)
{
    static const double cost[] = {130, 130, 130, 100, 100};
    hpc_buf stream = {0};
    hpc_history_db *d = NULL;
    char id[COMMITS][41], what[32];
    for (int k = 0; k < COMMITS; k++) {
        hpc_buf text = {0};
        hpc_buf_printf(&text, "int f(int *a)\n{\n    return a[%d];\n}\n", k);
        hpc_buf_printf(&stream,
                       "commit refs/heads/main\ncommitter a <a@example.org> %d +0000\n"
                       "data 1\nm\nM 100644 inline a.c\ndata %zu\n%s\n",
                       1700000000 + k, text.n, text.data);
        assert_int_equal(stream.failed, 0);
        hpc_buf_release(&text);
    }
    put(p, "in", stream.data, stream.n);
    hpc_buf_release(&stream);
    script(p, "new r; git fast-import --quiet < ../in");
    OK(hpc_history_db_create(&d, in(p, "h.db")));
    for (int k = 0; k < COMMITS; k++) {
        snprintf(what, sizeof what, "main~%d", COMMITS - 1 - k);
        hpc_git_id commit = parsed(p, "r", what);
        hpc_git_id_text(id[k], &commit);
        OK(hpc_history_db_add_commit(d, id[k], k ? id[k - 1] : NULL, 1700000000 + k));
        for (int run = 0; run < 2; run++)
            OK(hpc_history_db_add(d, &(perf_way){"make", "./r", "m"}, "cost", id[k],
                                  cost[k % 5] + 0.001 * run));
    }
    OK(hpc_history_db_commit(d));
    hpc_history_db_close(d);
}

/* How many of the examples that were written have something from the language model. */
static int64_t told(place *p, const char *file)
{
    hpc_perf_examples x = {0};
    int64_t n = 0;
    OK(hpc_perf_examples_read(&x, in(p, file)));
    assert_int_equal(x.n, COMMITS - 1);
    for (int64_t k = 0; k < x.n; k++)
        n += x.item[k].x.value[hpc_perf_feature_named("language_changed")] > 0 &&
             x.item[k].x.value[hpc_perf_feature_named("language_slower")] != 0;
    hpc_perf_examples_release(&x);
    return n;
}

#define TRAIN "perf train --db @h.db --repo @r "

static void trained(place *p, const char *words)
{
    hpc_test_command_in(&o, p->root, words);
    if (o.code != 0) fail_msg("%s: %s", words, o.err);
}

#define PREDICT "perf predict --repo @r main~4..main "

/* A prediction model trained with the language model uses it and changes; without it, the lack is
 * reported. */
static void predicts(place *p)
{
    char deaf[sizeof o.out];
    trained(p, PREDICT "--model @b --json");
    hpc_test_says(o.err,
                  "the model was trained with a language model, but --language is not given");
    snprintf(deaf, sizeof deaf, "%s", o.out);
    trained(p, PREDICT "--model @b --language @model --json");
    assert_string_equal(o.err, "");
    assert_true(strcmp(o.out, deaf) != 0);
    snprintf(deaf, sizeof deaf, "%s", o.out);
    trained(p, PREDICT "--model @b/model.json --language @model --json"); /* once more: the same */
    assert_string_equal(o.out, deaf);
    trained(p, PREDICT "--model @a");
    assert_string_equal(o.err, "");
    hpc_test_refuses(&o, p->root, PREDICT "--model @a --language @model",
                     "the model was trained without a language model");
    hpc_test_refuses(&o, p->root, PREDICT "--model @b --language @none", "none");
}

static void test_language(void **state)
{
    place *p = *state;
    hpc_model_config c = tiny();
    make_measured(p);
    make_model(in(p, "model"), &c);
    trained(p, TRAIN "--out @a");
    assert_int_equal(told(p, "a/examples.csv"), 0);
    trained(p, TRAIN "--out @b --language @model");
    assert_int_equal(told(p, "b/examples.csv"), COMMITS - 1);
    trained(p, TRAIN "--out @c --language r=@model --language s=@none"); /* not for this one */
    script(p, "cmp b/examples.csv c/examples.csv; cmp b/model.json c/model.json");
    trained(p, TRAIN "--out @d --language s=@none");
    script(p, "cmp a/examples.csv d/examples.csv; cmp a/model.json d/model.json");
    trained(p, "perf train --examples @b/examples.csv --out @e"); /* without any model */
    script(p, "cmp b/model.json e/model.json");
    predicts(p);
    hpc_test_refuses(&o, p->root, TRAIN "--out @x --language @none", "none");
    hpc_test_refuses(&o, p->root, TRAIN "--out @x --language share/pilot.gguf",
                     "does not classify changes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_language, place_setup, place_teardown),
    };
    return cmocka_run_group_tests_name("cmd/perf_language", tests, NULL, NULL);
}
