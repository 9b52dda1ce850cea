/*
 * grammar_directive.c: lines of OpenMP as people write them are taken, wherever the text before
 * ends; others are refused where they go wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "infer/grammar_openmp.h"
#include "tests/support/grammar.h"

/* ---- directives ------------------------------------------------------------------------------ */

static const char *const directives[] = {
    "parallel",
    "parallel for",
    "parallel for private(i, j) reduction(+:sum) schedule(static)",
    "parallel for default(none) shared(a, b, n) private(i) schedule(dynamic, 16)",
    "parallel num_threads(omp_get_max_threads() / 2)",
    "parallel for reduction(max : err) reduction(min:low) reduction(&&:ok)",
    "parallel for reduction(inscan, +: s) if(n > 1000)",
    "parallel for reduction(+ : hist[:nbins]) schedule(runtime)",
    "parallel for reduction(-:x) reduction(^:y) reduction(|:z) reduction(||:w)",
    "parallel for reduction(ns::plus : x) lastprivate(conditional: k)",
    "parallel for schedule(monotonic, simd: guided, n/4 + 1), ordered(2)",
    "parallel for collapse(3) proc_bind(close) copyin(state)",
    "parallel for simd if(parallel: n > 1) if(simd: wide)",
    "parallel if(n > 4 ? a : ns::b) default(shared)",
    "parallel allocate(omp_pteam_mem_alloc: x) allocate(ns::z)",
    "parallel allocate(allocator(a), align(8): y)",
    "parallel private(i)shared(j)",
    "parallel private(i),shared(j) ",
    "parallel sections reduction(*:p)",
    "parallel masked taskloop simd",
    "for nowait",
    "for collapse(2) order(concurrent) nowait",
    "for simd linear(i:2) linear(val(x): 2) linear(ref(p))",
    "for linear(x: val, step(2))",
    "simd aligned(a, b : 64) safelen(8) simdlen(4) nontemporal(z)",
    "sections",
    "section",
    "single copyprivate(x) nowait",
    "masked filter(0)",
    "critical",
    "critical (update_list)",
    "critical(name) hint(omp_sync_hint_contended)",
    "atomic",
    "atomic capture",
    "atomic update seq_cst",
    "atomic compare capture fail(relaxed)",
    "barrier",
    "flush",
    "flush(a, b)",
    "flush acq_rel",
    "ordered simd threads",
    "ordered depend(sink: i-1, j) depend(sink: i, j-1)",
    "ordered depend(source)",
    "ordered doacross(source:)",
    "ordered doacross(source: omp_cur_iteration)",
    "task depend(in: a[i-1]) depend(out: a[i]) firstprivate(i) if(n > 100) untied",
    "task depend(iterator(k=0:n), in: a[k]) priority(1) final(depth > 4) mergeable",
    "task affinity(iterator(i=0:4): a[i]) detach(event)",
    "taskloop grainsize(64) nogroup",
    "taskloop simd num_tasks(strict: 64) collapse(2)",
    "taskgroup task_reduction(+: x)",
    "taskwait depend(in: x)",
    "taskyield",
    "teams num_teams(2:n) thread_limit(64)",
    "teams distribute parallel for dist_schedule(static, 4)",
    "target",
    "target map(to: a[0:n], b[:n]) map(tofrom:c[0:n][0:m]) nowait",
    "target map(always, close, tofrom: x) map(mapper(m), to: y)",
    "target map(always to: x) map(a, b) map(to::x) map(to: x)",
    "target map(z.p[0:z.n], *q, this->w, (*r)[0:n]) defaultmap(tofrom:scalar)",
    "target if(target: n>0) device(ancestor: 1) is_device_ptr(p) has_device_addr(q[0])",
    "target teams distribute parallel for simd map(to: a[0:n]) collapse(2) num_teams(120)",
    "target parallel for nowait",
    "target data map(alloc: a[0:n]) use_device_ptr(a)",
    "target enter data map(to: a[0:n]) nowait depend(out: a)",
    "target exit data map(delete: a[:n]) if(target exit data: done)",
    "target update from(u[0:n*m]) to(present: v)",
    "cancel for if(found)",
    "cancellation point taskgroup",
    "scan inclusive(x)",
    "threadprivate(counter, ns::other)",
    "allocate(x, y) allocator(omp_high_bw_mem_alloc) align(64)",
    "declare target",
    "declare target(f, table)",
    "declare target to(f) device_type(nohost)",
    "begin declare target device_type(any)",
    "end declare target",
    "declare simd uniform(a, n) linear(i:1) notinbranch",
    "declare reduction(add : struct v : sum(&omp_out, &omp_in)) initializer(omp_priv = {0, 0})",
    "declare reduction(+ : std::vector<int> : omp_out += omp_in)",
    "declare mapper(struct s v) map(v, v.data[0:v.n])",
    "declare variant(f) match(construct={parallel})",
    "metadirective when(device={arch(\"nvptx\")}: teams loop) default(parallel loop)",
    "requires unified_shared_memory, reverse_offload",
    "error at(execution) severity(fatal) message(\"bad ) \\\" (\")",
    "interop init(targetsync: obj) device(0)",
    "depobj(o) depend(inout: x)",
    "depobj(o) update(in)",
    "dispatch novariants(n<3)",
    "tile sizes(4, 8)",
    "unroll partial",
    "unroll partial(4)",
    "loop bind(thread) collapse(2)",
    "assume holds(n > 0) no_openmp",
    "parallel \\\n  for \\\r\n  private(a, \\\n b) pri\\\nvate(c)",
    "parallel num_threads(sizeof(\"a)\\\nb\") + ')' / *p)",
};

static const char *const no_directives[] = {
    "!\n",
    "para!ell\n",
    "paral!el\n",
    "parallel!for\n",
    "parallel \\\nfor!each\n",
    "parallel\\\n!for\n", /* one word */
    "parallel !bar(x)\n",
    "parallel shared(!+:B)\n",
    "parallel private!\n",
    "parallel private !shared(x)\n",
    "parallel private(!)\n",
    "parallel private(i,!)\n",
    "parallel private(i !j)\n",
    "parallel private(a![0:3])\n",
    "parallel private(!*p)\n",
    "parallel private(!1)\n",
    "parallel private(i!\n",
    "parallel , !, private(i)\n",
    "parallel private(i),!\n",
    "parallel s!chedule(static)\n",
    "parallel default(n!ull)\n",
    "parallel default(!auto)\n",
    "parallel default(none) !default(shared)\n",
    "parallel default(!)\n",
    "parallel num_threads(4) !num_threads(8)\n",
    "parallel num_threads(4!, 5)\n",
    "parallel num_threads(!)\n",
    "parallel num_threads(4 +!)\n",
    "parallel num_threads((4 +!))\n",
    "parallel num_threads((4!])\n",
    "parallel num_threads(!/4)\n",
    "parallel num_threads(4 /!/ 2)\n",
    "parallel num_threads(4 /!* 2)\n",
    "parallel num_threads(!;)\n",
    "parallel num_threads(n ? 4!)\n",
    "parallel num_threads(n :! 4)\n",
    "parallel if(simd:! x)\n",
    "parallel for simd if(task:! n)\n",
    "parallel for simd if(a) if(b) !if(c)\n",
    "parallel for if(a) !if(b)\n",
    "parallel proc_bind(!far)\n",
    "parallel for n!owait\n",
    "parallel for reduction(sum!)\n",
    "parallel for reduction(+!)\n",
    "parallel for reduction(+:!)\n",
    "parallel for reduction(!:x)\n",
    "parallel for reduction(+!, x)\n",
    "parallel for reduction(+!=:x)\n",
    "parallel for reduction(inscan!:x)\n",
    "parallel for schedule(static) s!chedule(dynamic)\n",
    "parallel for schedule(sta!ble)\n",
    "parallel for schedule(auto!, 4)\n",
    "parallel for schedule(static, 4!, 5)\n",
    "parallel for schedule(dynamic!: 4)\n",
    "parallel for schedule(!4)\n",
    "parallel for collapse(2!\n",
    "parallel for collapse(2) co!llapse(3)\n",
    "parallel for private(i) !// loops\n",
    "parallel for !{\n",
    "for n!um_threads(4)\n",
    "for s!hared(x)\n",
    "for nowait !nowait\n",
    "simd no!wait\n",
    "simd s!chedule(static)\n",
    "taskloop grainsize(64) n!um_tasks(4)\n",
    "unroll full !partial\n",
    "atomic read w!rite\n",
    "atomic f!oo\n",
    "barrier !nowait\n",
    "critical (a!, b)\n",
    "cancel!\n",
    "scan!\n",
    "target map(to::!:x)\n",
    "target map(nothing:! x)\n",
    "target map(always:! x)\n",
    "target map(to: x!\n",
    "target map(f!(x))\n",
    "target depend(in:!:x)\n",
    "target parallel !copyin(x)\n",
    "parallel masked taskloop i!n_reduction(+:x)\n",
    "task depend(i! n: x)\n",
    "target depend(!x)\n",
    "target depend(in: !)\n",
    "target enter data device(0)!\n",
    "target enter !map(to: x)\n",
    "distribute parallel for order!ed\n",
    "threadprivate!\n",
    "threadprivate !private(x)\n",
    "requires!\n",
    "ordered depend(source!: x)\n",
    "loop bind(thread!, teams)\n",
    "parallel \\!x\n",
    "parallel\n!parallel\n",
    "parallel\r!parallel\n",
};

static void name_of(char *out, size_t n, const char *marked)
{
    snprintf(out, n, "#pragma omp %s", marked);
}

/* Wherever the text before ends. */
static void directives_are_known(void **state)
{
    hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_DIRECTIVE);
    char line[300], before[300];

    (void)state;
    for (size_t k = 0; k < sizeof directives / sizeof *directives; k++) {
        name_of(line, sizeof line - 1, directives[k]);
        r.bare = true;
        hpc_test_taken(&r, "", line);
        r.bare = false;
        assert_false(hpc_test_may_end(&r, "", line));
        memcpy(line + strlen(line), "\n", 2);
        for (size_t n = 0; n < strlen(line); n++) {
            snprintf(before, sizeof before, "int x;\n%.*s", (int)n, line);
            hpc_test_taken(&r, before, line + n);
        }
    }
    for (size_t k = 0; k < sizeof no_directives / sizeof *no_directives; k++) {
        name_of(line, sizeof line, no_directives[k]);
        hpc_test_refused(&r, "", line);
        r.bare = true;
        hpc_test_refused(&r, "x\n", line);
        r.bare = false;
    }
}

static void nesting_is_bounded(void **state)
{
    const hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_DIRECTIVE);
    char open[40] = "", close[40] = "";

    (void)state;
    memset(open, '(', 33);
    memset(close, ')', 33); /* one is the clause's */
    assert_false(hpc_grammar_accepts(&r, "#pragma omp parallel if(", 24, open, 33, NULL));
    open[32] = 'x';
    assert_true(hpc_grammar_accepts(&r, "#pragma omp parallel if(", 24, open, 33, NULL));
    char line[100];
    snprintf(line, sizeof line, "%s%s\n", open, close);
    hpc_test_taken(&r, "#pragma omp parallel if(", line);
}

static void sentinels_are_known(void **state)
{
    const hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_DIRECTIVE);

    (void)state;
    hpc_test_taken(&r, "", "  #  pragma\tomp   barrier  \n");
    hpc_test_taken(&r, "x;\n\t", "#pragma omp barrier\r\n");
    hpc_test_taken(&r, "x;\n#pragma \\\n", "omp barrier\n");
    hpc_test_taken(&r, "x;\n#pragma omp \\\r\n", "barrier\n");
    hpc_test_refused(&r, "", "!x");
    hpc_test_refused(&r, "", "!\n");
    hpc_test_refused(&r, "", "#pragma o!nce\n");
    hpc_test_refused(&r, "", "#pragma!omp barrier\n");
    hpc_test_refused(&r, "", "#pragma omp!barrier\n");
    hpc_test_refused(&r, "", "#pragma omp!(\n");
    hpc_test_refused(&r, "", "#pragma !acc loop\n");
}

/* Each table is searched as a sorted one, and whatever it holds can be written. */
static void tables_are_sorted(void **state)
{
    const hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_DIRECTIVE);
    uint64_t all[2] = {0};

    (void)state;
    assert_in_range(openmp_clause_n, 100, 128);
    for (int k = 1; k < openmp_clause_n; k++)
        assert_true(strcmp(openmp_clauses[k - 1].text, openmp_clauses[k].text) <= 0);
    for (int k = 0; k < openmp_directive_n; k++) {
        const openmp_directive *d = &openmp_directives[k];
        char line[100];
        uint64_t set[2];
        if (k > 0) assert_true(strcmp(openmp_directives[k - 1].text, d->text) < 0);
        openmp_clauses_of(set, (uint8_t)k);
        for (int c = 1; c < openmp_clause_n; c++) /* which one is meant is clear by the name */
            if (strcmp(openmp_clauses[c - 1].text, openmp_clauses[c].text) == 0)
                assert_false((set[(c - 1) / 64] >> (c - 1) % 64 & 1) &&
                             (set[c / 64] >> c % 64 & 1));
        all[0] |= set[0], all[1] |= set[1];
        snprintf(line, sizeof line, "#pragma omp %s%s", d->text,
                 d->form || d->needs[0] ? "" : "\n");
        bool complete;
        assert_int_equal(hpc_test_taken_n(&r, "", line, &complete), strlen(line));
        if (!d->form && !d->needs[0]) assert_true(complete);
    }
    for (int c = 0; c < openmp_clause_n; c++)
        assert_true(all[c / 64] >> c % 64 & 1); /* someone takes it */
    for (int f = 0; f <= OPENMP_STRICT; f++) {
        const openmp_words *lists[] = {&openmp_forms[f].head, &openmp_forms[f].words,
                                       &openmp_forms[f].tail_words};
        for (int i = 0; i < 3; i++)
            for (int k = 1; k < lists[i]->n; k++)
                assert_true(strcmp(lists[i]->word[k - 1].text, lists[i]->word[k].text) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directives_are_known),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(sentinels_are_known),
        cmocka_unit_test(tables_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
