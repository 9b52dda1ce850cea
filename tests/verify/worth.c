/*
 * Tests of measured worth (infer/verify): shares, trip counts, and the clauses that fit the costs
 * of iterations in a recorded run.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/verify/programs.h"

/* Each loop stands in a function of its own; n is 320. */
static const char loops_of_costs[] =
    "#include <stdlib.h>\n"
    "static double a[320][320], b[320], t[64];\n"
    "static int length[320];\n"
    "static void triangle(int n) {\n"
    "    for (int i = 0; i < n; i++) {\n" /* line 5: cheap iterations, the last ones longest */
    "        double s = 0;\n"
    "        for (int j = 0; j < i; j++) s += a[i][j];\n"
    "        b[i] = s;\n    }\n}\n"
    "static void falling(int n) {\n"
    "    for (int i = 0; i < n; i++) {\n" /* line 12: the first ones longest, expensive */
    "        double s = 0;\n"
    "        for (int j = i; j < n; j++) for (int k = 0; k < 9; k++) s += a[i][j] * t[k];\n"
    "        b[i] = s;\n    }\n}\n"
    "static void even(int n) {\n"
    "    for (int i = 0; i < n; i++) {\n" /* line 19: lengths that differ, but not by place */
    "        double s = 0;\n"
    "        for (int j = 0; j < length[i]; j++) s += a[i][j];\n"
    "        b[i] = s;\n    }\n}\n"
    "static void nest(int n, int m) {\n"
    "    for (int i = 0; i < n; i++)\n" /* line 26 */
    "        for (int j = 0; j < m; j++)\n"
    "            for (int k = 0; k < 3; k++) a[i][j] += k;\n}\n"
    "static void marked(int n) {\n"
    "#pragma omp parallel for\n"
    "    for (int i = 0; i < n; i++) {\n" /* line 32 */
    "        double s = 0;\n"
    "        for (int j = 0; j < i; j++) s += a[i][j];\n"
    "        b[i] = s;\n    }\n}\n"
    "int main(int c, char **v)\n{\n"
    "    int n = c > 1 ? atoi(v[1]) : 0;\n"
    "    for (int i = 0; i < n; i++) length[i] = 20 + i % 5;\n"
    "    triangle(n); falling(n); even(n); nest(n, n); marked(n);\n"
    "    return b[3] > 1e9;\n}\n";

static const hpc_pragma_loop *loop_at(const program *p, uint32_t line)
{
    for (int64_t k = 0; k < p->loops.n; k++)
        if (p->loops.item[k].line == line) return &p->loops.item[k];
    fail_msg("no loop on line %u", line);
    return NULL;
}

static void expect_directive(const program *p, uint32_t line, const char *has, const char *lacks,
                             const char *evidence)
{
    const hpc_pragma_loop *l = loop_at(p, line);
    const bool right = l->pragma && strstr(l->pragma, has) && !strstr(l->pragma, lacks) &&
                       evidence_of(l, "cost", evidence);
    if (right) return;
    show_loop(l);
    fail_msg("line %u: expected %s, no %s, and %s", line, has, lacks, evidence);
}

static void run_costs(program *p, void **state)
{
    program_write(p, *state, "x.c", loops_of_costs);
    p->options.build = "gcc x.c -o x";
    p->options.run = "./x 320";
    OK(hpc_verify_witness(&p->loops, &p->file, &p->options));
}

static void schedules_follow_measured_costs(void **state)
{
    program p;
    NEED_LIBRARY;
    run_costs(&p, state);
    expect_directive(&p, 5, "schedule(guided)", "dynamic", "times with the default");
    expect_directive(&p, 12, "schedule(dynamic)", "guided", "times with the default");
    expect_directive(&p, 19, "parallel for", "schedule", "no schedule: the busiest of 8 threads");
    assert_null(evidence_of(loop_at(&p, 26), "cost", "schedule"));
    program_close(&p);
}

static void enough_outer_iterations_need_no_collapse(void **state)
{
    program p;
    NEED_LIBRARY;
    program_write(&p, *state, "x.c", loops_of_costs);
    assert_non_null(strstr(loop_at(&p, 26)->pragma, " collapse(2)"));
    program_close(&p);
    run_costs(&p, state);
    expect_directive(&p, 26, "parallel for", "collapse",
                     "no collapse: the outer loop alone had 320");
    program_close(&p);
}

static void directives_of_the_user_get_advice_only(void **state)
{
    program p;
    NEED_LIBRARY;
    run_costs(&p, state);
    const hpc_pragma_loop *l = loop_at(&p, 32);
    assert_string_equal(l->existing, "#pragma omp parallel for");
    assert_non_null(evidence_of(l, "cost", "schedule(guided): the busiest of 8 threads"));
    program_close(&p);
}

static void shares_and_trip_counts_are_recorded(void **state)
{
    program p;
    NEED_LIBRARY;
    run_costs(&p, state);
    const hpc_pragma_loop *falling = loop_at(&p, 12), *even = loop_at(&p, 19);
    assert_true(falling->recorded && falling->share > 0.3 && falling->share < 0.9);
    assert_true(even->share > 0 && even->share < 0.1);
    assert_int_equal(falling->entered, 1);
    assert_int_equal(falling->iterations, 320);
    /* An inner loop has at most the share of the loop around it. */
    assert_true(loop_at(&p, 7)->share <= loop_at(&p, 5)->share);
    assert_int_equal(loop_at(&p, 7)->entered, 320);
    assert_int_equal(loop_at(&p, 7)->iterations, 320 * 319 / 2);
    program_close(&p);
}

/* The outer loop is watched until its conflict is found, and then the loops in it are. */
static void a_loop_of_steps_has_at_least_the_share_of_the_loops_in_it(void **state)
{
    static const char text[] = "#include <stdio.h>\n"
                               "static double a[1000];\n"
                               "int main(void)\n{\n"
                               "    for (int t = 0; t < 20; t++)\n"
                               "        for (int i = 0; i < 1000; i++) a[i] = 0.5 * a[i] + t;\n"
                               "    printf(\"%g\\n\", a[7]);\n    return 0;\n}\n";
    program p;
    NEED_LIBRARY;
    program_write(&p, *state, "x.c", text);
    p.options.build = "gcc x.c -o x";
    p.options.run = "./x";
    OK(hpc_verify_witness(&p.loops, &p.file, &p.options));
    const hpc_pragma_loop *outer = loop_at(&p, 5), *inner = loop_at(&p, 6);
    assert_true(outer->recorded && inner->recorded);
    assert_true(outer->share >= inner->share && inner->share > 0.7 && outer->share <= 1);
    assert_int_equal(inner->entered, 20);
    assert_int_equal(inner->iterations, 20000);
    program_close(&p);
}

static void a_line_profile_keeps_its_share(void **state)
{
    program p;
    NEED_LIBRARY;
    program_write(&p, *state, "x.c", loops_of_costs);
    for (int64_t k = 0; k < p.loops.n; k++) p.loops.item[k].share = 0.25;
    p.options.build = "gcc x.c -o x";
    p.options.run = "./x 320";
    OK(hpc_verify_witness(&p.loops, &p.file, &p.options));
    assert_true(loop_at(&p, 12)->share == 0.25 && !loop_at(&p, 12)->recorded);
    program_close(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(schedules_follow_measured_costs),
        TEST(enough_outer_iterations_need_no_collapse),
        TEST(directives_of_the_user_get_advice_only),
        TEST(shares_and_trip_counts_are_recorded),
        TEST(a_loop_of_steps_has_at_least_the_share_of_the_loops_in_it),
        TEST(a_line_profile_keeps_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
