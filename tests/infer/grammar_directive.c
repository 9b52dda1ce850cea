/*
 * grammar_directive.c: real OpenMP lines are accepted, wherever the prefix ends; invalid ones are
 * rejected at the error.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "infer/engine/grammar_openmp.h"
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

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const names[] = {"a", "b", "count", "i", "k_2", "n", "sum", "sum_of", "x1"};
enum { NAMES = sizeof names / sizeof *names };

static const char *const named[] = {
    "parallel for private(i) reduction(+:sum) reduction(max : sum_of) schedule(static)",
    "parallel for private( i ,k_2 ) firstprivate(a) lastprivate(conditional: x1) copyin(n)",
    "parallel for default(none) shared(a, b, n) schedule(dynamic, n / 16 + 0x1F)",
    "parallel for reduction(inscan, +: sum) schedule(monotonic, simd: guided, 4u)",
    "parallel num_threads(16) if(n > 1e3 && count->all.n < 1.5e-3)",
    "parallel for simd num_threads(a[n] . most) if(parallel: (n)) if(count --> n)",
    "parallel if(n ? a : b) proc_bind(close) allocate(x1) allocate(align(n): x1)",
    "parallel num_threads(a->b . c->d[0x7fUL].e(n).f-1.)",
    "parallel num_threads(\"m(\"[n] + 'z')",
    "parallel num_threads(.5 + a->* b)",
    "parallel for collapse(2) ordered(1)",
    "parallel for reduction(+ : a[:n], b[i:count]) linear(i:n) linear(val(i): k_2)",
    "target map(to: a[0:n], b[:count - 1]) map(tofrom: sum) map(a->all[0:n], b . m) map(n)",
    "target map(a, *b, (*x1).m[0:n]) depend(in: a[i-1]) depend(iterator(i=0:n), in: a[i])",
    "target map(mapper(n), to: sum) device(ancestor: count) nowait",
    "for simd linear(sum_of: n + 2) aligned(a, b : 64)",
    "target exit data if(target exit data: n) map(from: a)",
    "ordered depend(sink: i-1, k_2) depend(source)",
    "taskloop grainsize(strict: n / 2)",
    "critical(update_list) hint(0)",
    "cancel for if(n)",
    "teams num_teams(2:n)",
    "threadprivate(a, b)",
    "declare reduction(add : struct v : sum(&omp_out)) initializer(omp_priv = {0})",
    "declare variant(n) match(construct={parallel})",
    "depobj(a) update(in)",
    "parallel private(co\\\nunt)",
    "parallel num_threads(a-\\\n>most)",
};

static const char *const misnamed[] = {
    "parallel private(!j)\n",
    "parallel private(c!)\n",
    "parallel private(cou!, a)\n",
    "parallel private(sum_!)\n",
    "parallel private(sum_! , a)\n",
    "parallel private(sum!s)\n",
    "parallel private(sum!2)\n",
    "parallel private(i, a!1)\n",
    "parallel private(i!8)\n",
    "parallel private(a::!z)\n",
    "parallel private(i!nt)\n",
    "parallel num_threads(!omp_get_max_threads())\n",
    "parallel num_threads(su!)\n",
    "parallel num_threads(su! + 1)\n",
    "parallel num_threads(n + !m)\n",
    "parallel num_threads(n.m + !m)\n",
    "parallel num_threads(n->m > !m)\n",
    "parallel num_threads(n - > !m)\n",
    "parallel num_threads(n--> !m)\n",
    "parallel num_threads(1 .!m)\n",
    "parallel num_threads('c'.!m)\n",
    "parallel num_threads(.!m)\n",
    "parallel num_threads(a..!m)\n",
    "parallel num_threads(a.!5)\n",
    "parallel num_threads(a->(!m))\n",
    "parallel num_threads(16!i)\n",
    "parallel num_threads(0x1!g)\n",
    "parallel num_threads((i!nt)n)\n",
    "parallel num_threads(a::b!2)\n",
    "parallel num_threads(s!izeof(n))\n",
    "parallel num_threads(cou!\"\")\n",
    "parallel if(s!imd: n)\n",
    "parallel if(n ? cou! : 1)\n",
    "parallel if(n ? a : cou!)\n",
    "parallel if(n ? a : !m)\n",
    "parallel if(a[!m])\n",
    "parallel if(a[cou!])\n",
    "target exit data if(target !data: n)\n",
    "parallel for if(!task: n)\n",
    "parallel for collapse(!m)\n",
    "parallel for schedule(static, !m)\n",
    "parallel for schedule(static, su!)\n",
    "parallel for reduction(+:!t)\n",
    "parallel for reduction(+:su!)\n",
    "parallel for reduction(!sum:sum)\n",
    "parallel for reduction(max:!:sum)\n",
    "parallel for reduction(+:a[:!m])\n",
    "parallel for linear(val(!m))\n",
    "parallel for linear(i:!m)\n",
    "parallel for linear(i:s!tep(2))\n",
    "parallel for linear(cou!:2)\n",
    "parallel allocate(!omp_pteam_mem_alloc: x1)\n",
    "parallel allocate(n:! x1)\n",
    "target map(to: !m)\n",
    "target map(to!)\n",
    "target map(to: a[0:!m])\n",
    "target map(to: a->m, !m)\n",
    "target map(cou!.m)\n",
    "target map(*!m)\n",
    "target map((*!m)[0:n])\n",
    "target depend(iterator(k!=0:n), in: a[0])\n",
    "ordered depend(sink: i-!j)\n",
    "threadprivate(!m)\n",
};

static void only_what_is_listed_is_named(void **state)
{
    hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_DIRECTIVE);
    char line[300], before[300];

    (void)state;
    r.names = names, r.names_n = NAMES;
    for (size_t k = 0; k < sizeof named / sizeof *named; k++) {
        name_of(line, sizeof line - 1, named[k]);
        memcpy(line + strlen(line), "\n", 2);
        for (size_t n = 0; n < strlen(line); n++) {
            snprintf(before, sizeof before, "int m;\n%.*s", (int)n, line);
            hpc_test_taken(&r, before, line + n);
        }
    }
    for (size_t k = 0; k < sizeof misnamed / sizeof *misnamed; k++) {
        name_of(line, sizeof line, misnamed[k]);
        hpc_test_refused(&r, "", line);
    }
}

/* Whatever comes, byte by byte: something may follow it, or it may end. */
static void names_lead_to_no_dead_end(void **state)
{
    enum { WALKS = 5, BYTES = 100 };
    static const char *const some[] = {"tas", "to_", "x"}; /* not one of them is a word */
    const grammar_kind *kind = &grammar_directive_kind;
    hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_DIRECTIVE);
    char line[BYTES + 1];

    (void)state;
    for (uint32_t k = 0; k < WALKS * (uint32_t)openmp_directive_n; k++) {
        grammar_state s = {0}, next[256];
        r.names = k % 2 ? names : some, r.names_n = k % 2 ? NAMES : 3;
        size_t n = (size_t)snprintf(line, sizeof line, "#pragma omp %s ",
                                    openmp_directives[k / WALKS].text);
        assert_int_equal(kind->start(&s, &r, line, n), n);
        for (int may = 1; may > 0 && n < BYTES; line[n] = 0) {
            uint8_t byte[256];
            may = 0;
            for (int c = 0; c < 256; c++) {
                next[may] = s;
                byte[may] = (uint8_t)c;
                may += kind->step(&next[may], (uint8_t)c);
            }
            if (may == 0 && !kind->may_end(&s)) print_error("%s\n", line);
            assert_true(may > 0 || kind->may_end(&s));
            int pick = may > 0 ? hpc_random_bits(3, 0, k, n) % may : 0;
            s = next[pick];
            line[n++] = (char)byte[pick];
        }
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
        for (int c = 1; c < openmp_clause_n; c++) /* the name identifies it */
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
        cmocka_unit_test(directives_are_known),      cmocka_unit_test(only_what_is_listed_is_named),
        cmocka_unit_test(names_lead_to_no_dead_end), cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(sentinels_are_known),       cmocka_unit_test(tables_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
