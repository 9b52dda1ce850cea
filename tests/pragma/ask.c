/*
 * ask.c, ask_names.c, weigh.c, directive_model.c: prompts for loops equal those of training;
 * results of a model for a loop do not depend on other loops and change no verdict; guesses only
 * name variables in scope.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "corpus/pack.h"
#include "infer/complete/directive_model.h"
#include "infer/complete/directive_prompt.h"
#include "infer/engine/grammar.h"
#include "infer/pragma/ask_names.h"
#include "tests/source/check.h"
#include "tests/support/fault.h"

#define OURS  "tests/fixtures/tokenizer/ours.model"
#define MODEL "share/pragma.gguf"

static const char text[] =
    "#include <math.h>\n#include <stdio.h>\n"
    "double work(double x);\n"
    "void relax(int n, int m, double (*restrict a)[m], double (*restrict b)[m])\n{\n"
    "    for (int i = 1; i < n - 1; i++)\n"
    "        for (int j = 1; j < m - 1; j++)\n"
    "            b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);\n"
    "}\n"
    "double total(int n, const double *restrict x)\n{\n"
    "    double s = 0;\n"
    "    for (int i = 0; i < n; i++) s += x[i];\n"
    "    return s;\n"
    "}\n"
    "void all(int n, double *restrict y, const double *restrict x)\n{\n"
    "    for (int i = 0; i < n; i++) y[i] = work(x[i]);\n"
    "}\n"
    "void usage(int n, char **option)\n{\n"
    "    for (int k = 0; k < n; k++) printf(\"  %s\\n\", option[k]);\n"
    "}\n"
    "void until(int *n)\n{\n"
    "    while (*n > 0) *n /= 2;\n"
    "}\n";
enum { STENCIL, INNER, SUM, CALLS, PRINTS, WHILE, LOOPS };

typedef struct judged {
    hpc_tree_source *source;
    hpc_tree tree;
    hpc_pragma_loops loops;
} judged;

static void judge(judged *x, hpc_checker *c, uint32_t line)
{
    hpc_pragma_options o = HPC_PRAGMA_DEFAULTS;
    *x = (judged){0};
    o.line = line;
    OK(hpc_tree_open(
        &x->source, c,
        &(hpc_tree_file){
            .path = "solver.c", .text = text, .n = strlen(text), .language = HPC_LANGUAGE_C}));
    OK(hpc_tree_get(&x->tree, x->source));
    OK(hpc_pragma_find(&x->loops, &x->tree, text, strlen(text), HPC_LANGUAGE_C, &o));
}

static void release(judged *x)
{
    hpc_pragma_loops_release(&x->loops);
    hpc_tree_release(&x->tree);
    hpc_tree_close(x->source);
}

static hpc_directive_model *open_model(int threads)
{
    hpc_directive_model *a;
    OK(hpc_directive_model_open(
        &a, &(hpc_engine_options){
                .model = MODEL, .threads = threads, .weights = HPC_DTYPE_N, .cache = HPC_BF16}));
    return a;
}

static int ask(judged *x, hpc_directive_model *a)
{
    return hpc_ask(&x->loops, hpc_directive_model_interface(a), &x->tree, "solver.c", text,
                   strlen(text), HPC_LANGUAGE_C);
}

/* ---- what is shown ----------------------------------------------------------------------------
 */

static void samples_are_as_taught(void **state)
{
    (void)state;
    hpc_model_files *files;
    hpc_tokenizer *t;
    hpc_tokenizer_scratch *scratch;
    hpc_tokens tokens = {0};
    hpc_functions f = {0};
    hpc_loops l = {0};
    pack_encoder e;
    hpc_coder c;
    const unsigned needed =
        1u << HPC_MARK_FILE | 1u << HPC_MARK_LOOP | 1u << HPC_MARK_PRAGMA | 1u << HPC_MARK_END;
    OK(hpc_model_files_open(&files, MODEL));
    OK(hpc_model_files_tokenizer(&t, files));
    OK(hpc_tokenizer_scratch_create(&scratch, t));
    OK(pack_encoder_open(&e, t, needed, MODEL));
    OK(directive_coder_open(&c, t, MODEL));
    OK(hpc_lex(&tokens, text, strlen(text), HPC_LANGUAGE_C, false));
    OK(hpc_functions_find(&f, &tokens, text, HPC_LANGUAGE_C));
    OK(hpc_loops_find(&l, &tokens, text, HPC_LANGUAGE_C, &f));
    assert_int_equal(l.n, WHILE); /* all but that */
    for (int64_t k = 0; k < l.n; k++)
        for (int named = 0; named < 2; named++) {
            static const char directive[] = "#pragma omp parallel for private(i)";
            const char *path = named ? "src/solver.c" : NULL;
            hpc_sample whole = {0}, asked = {0};
            hpc_ids taught = {0}, shown = {0};
            int64_t answer;
            OK(hpc_render_loop(&whole, &l, k, &f, path, text, strlen(text), directive, NULL));
            OK(hpc_render_loop(&asked, &l, k, &f, path, text, strlen(text), NULL, NULL));
            OK(pack_encode(&taught, &answer, &e, scratch, &whole));
            OK(hpc_coder_encode(&shown, &c, &asked));
            assert_int_equal(shown.n, answer);
            OK(directive_encode_answer(&shown, &c, directive));
            assert_int_equal(shown.n, taught.n);
            assert_memory_equal(shown.id, taught.id, (size_t)taught.n * sizeof *taught.id);
            hpc_sample_release(&whole);
            hpc_sample_release(&asked);
            hpc_free(taught.id);
            hpc_free(shown.id);
        }
    hpc_loops_release(&l);
    hpc_functions_release(&f);
    hpc_tokens_release(&tokens);
    hpc_coder_close(&c);
    pack_encoder_release(&e);
    hpc_tokenizer_scratch_free(scratch);
    hpc_tokenizer_close(t);
    hpc_model_files_close(files);
}

static void models_without_marks(void **state)
{
    (void)state;
    hpc_directive_model *a;
    int rc = hpc_directive_model_open(
        &a, &(hpc_engine_options){.model = "tests/fixtures/families/gpt2", .weights = HPC_DTYPE_N});
    assert_true(rc < 0);
    assert_null(a);
    hpc_error_clear();
}

/* ---- what is said ------------------------------------------------------------------------------
 */

static void what_is_said(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_directive_model *a = open_model(1);
    judged before, x;
    judge(&before, c, 0);
    judge(&x, c, 0);
    assert_int_equal(x.loops.n, LOOPS);
    OK(ask(&x, a));
    for (int k = 0; k < LOOPS; k++) {
        const hpc_pragma_loop *l = &x.loops.item[k], *b = &before.loops.item[k];
        assert_int_equal(l->verdict, b->verdict);
        assert_true(b->likely == -1 && !b->guess);
        assert_true(k == WHILE ? l->likely == -1 : l->likely > 0 && l->likely < 1);
        assert_true(l->confidence > 0 && l->confidence < 1);
        assert_true(!b->pragma == !l->pragma);
        /* After the proven part a schedule may follow, and nothing else. */
        if (b->pragma) {
            size_t n = strlen(b->pragma);
            assert_memory_equal(l->pragma, b->pragma, n);
            assert_true(!l->pragma[n] || strncmp(l->pragma + n, " schedule(", 10) == 0);
        }
        assert_true(!l->guess || l->verdict == HPC_VERDICT_UNKNOWN);
    }
    const hpc_pragma_loop *l = x.loops.item;
    assert_true(l[STENCIL].likely > l[PRINTS].likely);
    assert_true(l[SUM].likely > l[PRINTS].likely);
    assert_int_equal(l[CALLS].verdict, HPC_VERDICT_UNKNOWN);
    assert_non_null(l[CALLS].guess);
    release(&before);
    release(&x);
    hpc_directive_model_close(a);
    hpc_checker_close(c);
}

/* The same bits alone, with others, repeated, and with more threads. */
static void alone_as_together(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_directive_model *a = open_model(1), *two = open_model(2);
    judged all, again, one;
    judge(&all, c, 0);
    judge(&again, c, 0);
    OK(ask(&all, a));
    OK(ask(&again, two));
    for (int k = 0; k < LOOPS; k++) {
        assert_memory_equal(&all.loops.item[k].likely, &again.loops.item[k].likely, sizeof(double));
        judge(&one, c, all.loops.item[k].line);
        OK(ask(&one, a));
        const hpc_pragma_loop *l = &one.loops.item[one.loops.n - 1];
        assert_int_equal(l->line, all.loops.item[k].line);
        assert_memory_equal(&l->likely, &all.loops.item[k].likely, sizeof(double));
        assert_true(!l->guess == !all.loops.item[k].guess);
        if (l->guess) assert_string_equal(l->guess, all.loops.item[k].guess);
        if (l->pragma) assert_string_equal(l->pragma, all.loops.item[k].pragma);
        release(&one);
    }
    release(&all);
    release(&again);
    hpc_directive_model_close(a);
    hpc_directive_model_close(two);
    hpc_checker_close(c);
}

static void names_in_scope(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_directive_model *a = open_model(1);
    judged x;
    ask_names names = {0};
    judge(&x, c, 0);
    OK(ask_names_find(&names, &x.tree, x.loops.item[STENCIL].node));
    static const char *const expected[] = {"a", "b", "m", "n"};
    assert_int_equal(names.n, 4);
    for (int k = 0; k < 4; k++) assert_string_equal(names.item[k], expected[k]);
    ask_names_release(&names);
    OK(ask_names_find(&names, &x.tree, x.loops.item[CALLS].node));
    OK(ask(&x, a));
    const hpc_grammar_rule rule = {.kind = HPC_GRAMMAR_DIRECTIVE,
                                   .closers = -1,
                                   .bare = true,
                                   .names = names.item,
                                   .names_n = names.n};
    bool complete;
    const char *guess = x.loops.item[CALLS].guess;
    assert_true(hpc_grammar_accepts(&rule, "", 0, guess, strlen(guess), &complete));
    assert_true(complete);
    ask_names_release(&names);
    release(&x);
    hpc_directive_model_close(a);
    hpc_checker_close(c);
}

/* Confidence in a directive rises with its probability, and in none falls; without a model there is
 * neither. */
static void confidence_follows(void **state)
{
    (void)state;
    hpc_pragma_loop item[2] = {{.verdict = HPC_VERDICT_PARALLEL, .outer = -1, .end_line = 4},
                               {.verdict = HPC_VERDICT_UNSAFE, .outer = -1, .end_line = 4}};
    hpc_pragma_loops l = {.item = item, .n = 2};
    double before[2] = {0, 1}, plain[2], sum[2];
    for (double p = 0.05; p < 1; p += 0.05) {
        item[0].likely = item[1].likely = p;
        hpc_pragma_weigh(&l);
        assert_true(item[0].confidence > before[0] && item[0].confidence < 1);
        assert_true(item[1].confidence < before[1] && item[1].confidence > 0);
        for (int k = 0; k < 2; k++) before[k] = item[k].confidence;
    }
    item[0].likely = item[1].likely = -1;
    hpc_pragma_weigh(&l);
    for (int k = 0; k < 2; k++) plain[k] = item[k].confidence;
    item[0].small = item[1].small = true; /* experts mark few of those */
    hpc_pragma_weigh(&l);
    for (int k = 0; k < 2; k++) sum[k] = item[k].confidence;
    assert_true(sum[0] < plain[0] && sum[1] > plain[1]);
}

static int ask_user(void *user)
{
    void **x = user;
    return ask(x[0], x[1]);
}

static void failing_allocations(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_directive_model *a = open_model(1);
    judged x;
    judge(&x, c, 13);
    assert_true(hpc_test_each_alloc(ask_user, (void *[]){&x, a}) > 20);
    release(&x);
    hpc_directive_model_close(a);
    hpc_checker_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_as_taught), cmocka_unit_test(models_without_marks),
        cmocka_unit_test(what_is_said),          cmocka_unit_test(alone_as_together),
        cmocka_unit_test(names_in_scope),        cmocka_unit_test(confidence_follows),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
