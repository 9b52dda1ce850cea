/*
 * ask.c with a scripted model: which questions a model gets, and what becomes of its answers. No
 * transformer takes part.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "infer/pragma/ask.h"
#include "tests/source/check.h"

static const char text[] = "void f(int n, double *restrict y, const double *restrict x)\n{\n"
                           "    for (int i = 0; i < n; i++) y[i] = x[i];\n"
                           "}\n"
                           "void g(int n, double *y)\n{\n"
                           "    for (int i = 0; i < n; i++) unknown(y, i);\n"
                           "}\n"
                           "void h(int n, double *restrict y, const double *restrict x)\n{\n"
                           "    for (int i = 0; i < n; i++) y[i] = 2 * x[i];\n"
                           "}\n";
enum { COPIES, CALLS, SCALES, LOOPS };

typedef struct script {
    int64_t capacity, prompts, longest; /* bytes of a loop that fit */
    int fails;                          /* code of the next rating */
    char names[64];
} script;

static int encode(void *user, bool *fits, int64_t index, const hpc_sample *loop)
{
    script *s = user;
    assert_in_range(index, 0, s->capacity - 1);
    s->prompts++;
    *fits = (int64_t)loop->text.n <= s->longest;
    return HPC_OK;
}

/* One half for no directive; a guided schedule is rated highest. */
static int rate(void *user, bool *fits, hpc_pragma_answer *answer, int64_t n)
{
    script *s = user;
    *fits = true;
    for (int64_t k = 0; k < n; k++)
        answer[k].logprob = !answer[k].text[0]                           ? -0.69314718055994531
                            : strstr(answer[k].text, "schedule(guided)") ? -1
                                                                         : -2;
    return s->fails;
}

static int write_directive(void *user, hpc_buf *directive, int64_t prompt, const char *const *name,
                           int64_t names_n)
{
    script *s = user;
    (void)prompt;
    s->names[0] = '\0';
    for (int64_t k = 0; k < names_n; k++) strcat(s->names, name[k]);
    return hpc_buf_text(directive, "#pragma omp parallel for private(n)");
}

static int ask(hpc_pragma_loops *out, script *s)
{
    const hpc_pragma_options o = HPC_PRAGMA_DEFAULTS;
    const hpc_pragma_model m = {s->capacity, encode, rate, write_directive, s};
    hpc_checker *c = open_checker(0);
    hpc_tree_source *source;
    hpc_tree tree = {0};
    OK(hpc_tree_open(
        &source, c,
        &(hpc_tree_file){
            .path = "f.c", .text = text, .n = strlen(text), .language = HPC_LANGUAGE_C}));
    OK(hpc_tree_get(&tree, source));
    OK(hpc_pragma_find(out, &tree, text, strlen(text), HPC_LANGUAGE_C, &o));
    assert_int_equal(out->n, LOOPS);
    int rc = hpc_ask(out, &m, &tree, "f.c", text, strlen(text), HPC_LANGUAGE_C);
    hpc_tree_release(&tree);
    hpc_tree_close(source);
    hpc_checker_close(c);
    return rc;
}

static void answers_set_rank_schedule_and_guess(void **state)
{
    (void)state;
    NEED_LIBRARY;
    for (int64_t capacity = 1; capacity <= 9; capacity += 4) {
        script s = {.capacity = capacity, .longest = 1 << 20};
        hpc_pragma_loops l;
        OK(ask(&l, &s));
        assert_int_equal(s.prompts, LOOPS);
        for (int k = 0; k < LOOPS; k++) assert_true(fabs(l.item[k].likely - 0.5) < 1e-12);
        assert_non_null(strstr(l.item[COPIES].pragma, " schedule(guided)"));
        assert_non_null(strstr(l.item[SCALES].pragma, " schedule(guided)"));
        assert_null(l.item[COPIES].guess);
        assert_string_equal(l.item[CALLS].guess, "#pragma omp parallel for private(n)");
        assert_string_equal(s.names, "ny");
        assert_int_equal(l.item[CALLS].verdict, HPC_VERDICT_UNKNOWN);
        hpc_pragma_loops_release(&l);
    }
}

static void loops_that_do_not_fit_keep_their_answer(void **state)
{
    (void)state;
    NEED_LIBRARY;
    script s = {.capacity = 8, .longest = 0};
    hpc_pragma_loops l;
    OK(ask(&l, &s));
    for (int k = 0; k < LOOPS; k++) assert_true(l.item[k].likely == -1 && !l.item[k].guess);
    assert_null(strstr(l.item[COPIES].pragma, "schedule"));
    hpc_pragma_loops_release(&l);
}

static void failure_of_the_model_is_returned(void **state)
{
    (void)state;
    NEED_LIBRARY;
    script s = {.capacity = 8, .longest = 1 << 20, .fails = HPC_E_IO};
    hpc_pragma_loops l;
    assert_int_equal(ask(&l, &s), HPC_E_IO);
    hpc_pragma_loops_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_set_rank_schedule_and_guess),
        cmocka_unit_test(loops_that_do_not_fit_keep_their_answer),
        cmocka_unit_test(failure_of_the_model_is_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
