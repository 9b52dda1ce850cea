/*
 * Tests of infer/pragma on loops with known truth (tests/pragma/loops): no loop with a dependence
 * is reported as parallel; a loop is conditional only on the assumptions that make it safe; most
 * safe loops are found.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/pragma/suite.h"

#include "infer/pragma/clause.h"

typedef struct counts {
    int64_t loops, carried, unknown, safe, found, wrong, clauses, clauses_right;
    int64_t violated; /* carried ones that are conditional on an assumption that does not hold */
} counts;

static void print_loop(const char *what, const char *file, const label *want,
                       const hpc_pragma_loop *l)
{
    print_message("%s %s:%u %s: %s, is %s", what, file, want->line, want->name_of_loop, want->text,
                  hpc_verdict_name(l->verdict));
    if (l->pragma) print_message(" [%s]", l->pragma);
    print_message("\n");
    for (int64_t k = 0; k < l->assumptions_n; k++)
        print_message("        if %s (%s)\n", l->assumption[k].text,
                      l->assumption[k].check ? l->assumption[k].check : "no check");
    for (int64_t k = 0; k < l->evidence_n; k++)
        print_message("        %s %u: %s\n", l->evidence[k].kind, l->evidence[k].line,
                      l->evidence[k].text);
}

/* True if a directive loses a value that the label says is used after the loop. */
static bool loses_last(const char *pragma, const label *want)
{
    hpc_arena *a = hpc_arena_create(0);
    clause_list is, as_is;
    bool loses = false;
    OK(clauses_read(&is, pragma, a));
    OK(clauses_read(&as_is, want->clauses, a));
    for (int64_t k = 0; k < as_is.n && !loses; k++) {
        const clause_item *x = &as_is.item[k];
        if (x->kind != CLAUSE_LAST) continue;
        const char *name = hpc_arena_text(a, "%.*s", (int)x->n, x->name);
        loses = clause_of(&is, CLAUSE_PRIVATE, name) != NULL;
    }
    hpc_arena_free(a);
    return loses;
}

static void hold_against(counts *c, const char *file, const label *want, const hpc_pragma_loop *l)
{
    const char *show = getenv("HPC_PRAGMA_SHOW"); /* wrong, missed, clauses or all */
    bool all = show && strcmp(show, "all") == 0;
    bool positive = l->verdict >= HPC_VERDICT_CONDITIONAL;
    bool wrong = hpc_eval_label_is_wrong(l, want) || (l->pragma && loses_last(l->pragma, want));
    bool counted = hpc_eval_label_counts(want);
    c->loops++;
    c->carried += want->truth == HPC_TRUTH_CARRIED;
    c->unknown += want->truth == HPC_TRUTH_UNKNOWN;
    c->safe += counted;
    c->found += counted && positive;
    c->wrong += wrong;
    c->violated += want->truth == HPC_TRUTH_CARRIED && positive && !wrong;
    if (wrong) print_loop("WRONG", file, want, l);
    if (counted && !positive && (all || (show && strcmp(show, "missed") == 0)))
        print_loop("missed", file, want, l);
    if (!counted || !positive || wrong) return;
    bool right = hpc_eval_clauses_same(l->pragma, want->clauses);
    c->clauses++;
    c->clauses_right += right;
    if (!right && (all || (show && strcmp(show, "clauses") == 0)))
        print_loop("clauses", file, want, l);
}

static void one_file(counts *c, hpc_checker *checker, const char *file,
                     const hpc_check_flags *flags)
{
    suite_file f;
    suite_open_with(&f, checker, file, flags);
    for (int64_t i = 0; i < f.labels_n; i++) {
        const hpc_pragma_loop *l = NULL;
        for (int64_t k = 0; k < f.loops.n && !l; k++)
            if (f.loops.item[k].line == f.label[i].line) l = &f.loops.item[k];
        if (!l) fail_msg("%s:%u: no loop is found there", file, f.label[i].line);
        hold_against(c, file, &f.label[i], l);
    }
    if (f.loops.n != f.labels_n)
        fail_msg("%s: %lld loops are found, %lld have labels", file, (long long)f.loops.n,
                 (long long)f.labels_n);
    suite_close(&f);
}

static void one_folder(counts *c, hpc_checker *checker, const char *folder,
                       const hpc_check_flags *flags)
{
    hpc_buf names = {0};
    int64_t n;
    OK(hpc_file_list(&names, &n, folder));
    const char *name = names.data;
    for (int64_t i = 0; i < n; i++, name += strlen(name) + 1)
        if (hpc_language_of_path(name) != HPC_LANGUAGE_NONE) one_file(c, checker, name, flags);
    hpc_buf_release(&names);
}

static void loops_with_known_truth(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const char *const list[] = {"-std=c++20", NULL};
    counts c = {0};
    hpc_check_flags flags = {0};
    hpc_checker *checker = open_checker(0);
    OK(hpc_check_flags_given(&flags, list, NULL));
    one_folder(&c, checker, "tests/pragma/loops", NULL);
    one_folder(&c, checker, "tests/pragma/loops20", &flags);
    hpc_check_flags_release(&flags);
    hpc_checker_close(checker);
    print_message("%lld carried loops are conditional on an assumption that they violate\n",
                  (long long)c.violated);
    print_message("%lld loops: %lld carried, %lld unknown; of %lld safe ones %lld found (%.1f %%); "
                  "clauses as they should be: %lld of %lld\n",
                  (long long)c.loops, (long long)c.carried, (long long)c.unknown, (long long)c.safe,
                  (long long)c.found, 100.0 * (double)c.found / (double)c.safe,
                  (long long)c.clauses_right, (long long)c.clauses);
    assert_true(c.loops >= 300);
    assert_int_equal(c.wrong, 0);
    assert_true((double)c.found >= 0.85 * (double)c.safe);
    assert_true((double)c.clauses_right >= 0.95 * (double)c.clauses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_with_known_truth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
