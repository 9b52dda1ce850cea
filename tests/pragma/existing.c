/*
 * existing.c: existing directives: wrong ones are reported with their defect; correct ones are
 * not.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/pragma/suite.h"

typedef struct one {
    const char *name;
    hpc_existing is; /* RIGHT: any that calls it not wrong; UNPROVEN: and not RIGHT either */
    const char *text;
} one;

#define F "void g(double *, int);\nvoid f(int n, double *restrict a, const double *restrict b)\n{\n"

#define FOR "for (int i = 0; i < n; i++) "
#define OMP "#pragma omp parallel for "
#define END "\n}\n"

static const one right[] = {
    {"nothing needed", HPC_EXISTING_RIGHT, F OMP "\n" FOR "a[i] = b[i];" END},
    {"schedule, threads", HPC_EXISTING_RIGHT,
     F OMP "schedule(dynamic, 4) num_threads(8) proc_bind(close)\n" FOR "a[i] = b[i];" END},
    {"reduction with minus", HPC_EXISTING_RIGHT,
     F "double s = 0;\n" OMP "reduction(-:s)\n" FOR "s -= b[i];\na[0] = s;" END},
    {"two reductions", HPC_EXISTING_RIGHT,
     F "double s = 0, m = 0;\n" OMP "reduction(+:s) reduction(max:m)\n" FOR
       "{ s += b[i]; if (b[i] > m) m = b[i]; }\na[0] = s + m;" END},
    {"conditional sum", HPC_EXISTING_RIGHT,
     F "int c = 0;\n" OMP "reduction(+:c)\n" FOR "if (b[i] > 0) c++;\na[0] = c;" END},
    {"logical for bitwise", HPC_EXISTING_UNPROVEN,
     F "int c = 0;\n" OMP "reduction(||:c)\n" FOR "c |= b[i] > 0;\na[0] = c;" END},
    {"continued", HPC_EXISTING_RIGHT,
     F "double s = 0;\n#pragma omp parallel \\\n  for \\\n  reduction( + : \\\n  s)\n" FOR
       "s += b[i];\na[0] = s;" END},
    {"operator", HPC_EXISTING_RIGHT,
     F "double s = 0;\n_Pragma(\"omp parallel for reduction(+:s)\")\n" FOR
       "s += b[i];\na[0] = s;" END},
    {"under _OPENMP", HPC_EXISTING_RIGHT,
     F "double s = 0;\n#ifdef _OPENMP\n" OMP "reduction(+:s)\n#endif\n" FOR
       "s += b[i];\na[0] = s;" END},
    {"private scratch", HPC_EXISTING_RIGHT,
     F "double t[4];\n" OMP "private(t)\n" FOR
       "{ for (int k = 0; k < 4; k++) t[k] = b[i] * k;\na[i] = t[0] + t[3]; }" END},
    {"private scratch that is read first in part", HPC_EXISTING_UNPROVEN,
     F "double t[4];\n" OMP "private(t)\n" FOR
       "{ for (int k = 0; k < n; k++) t[k] = b[i] * k;\na[i] = t[0] + t[3]; }" END},
    {"firstprivate scratch", HPC_EXISTING_UNPROVEN,
     F "double t[4] = {0};\n" OMP "firstprivate(t)\n" FOR
       "{ t[1] = b[i]; a[i] = t[0] + t[1]; }" END},
    {"updates by a table that may have no entry twice", HPC_EXISTING_UNPROVEN,
     "double q[100];\nvoid f(int n, const int *at)\n{\n" OMP "\n" FOR
     "q[at[i]] = q[at[i]] * 2;" END},
    {"private, assigned again behind", HPC_EXISTING_RIGHT,
     F "double t;\n" OMP "private(t)\n" FOR "{ t = b[i]; a[i] = t; }\nt = 1; a[0] = t;" END},
    {"private, assigned behind in a branch", HPC_EXISTING_UNPROVEN,
     F "double t = 0;\n" OMP "private(t)\n" FOR
       "{ t = b[i]; a[i] = t; }\nif (n > 3) { t = 1; a[0] = t; }" END},
    {"first time round", HPC_EXISTING_UNPROVEN,
     F "int first = 1;\n" OMP "firstprivate(first)\n" FOR
       "{ if (first) { g(0, n); first = 0; } a[i] = b[i]; }" END},
    {"critical", HPC_EXISTING_UNPROVEN,
     F "double s = 0;\n" OMP "\n" FOR "{\n#pragma omp critical\n s += b[i]; }\na[0] = s;" END},
    {"atomic on an element", HPC_EXISTING_UNPROVEN,
     F OMP "\n" FOR "{\n#pragma omp atomic\n a[(int)b[i]] += 1; }" END},
    {"sum of each thread", HPC_EXISTING_UNPROVEN,
     F "double s = 0;\n#pragma omp parallel\n{ double mine = 0;\n#pragma omp for\n" FOR
       "mine += b[i];\n#pragma omp critical\n s += mine; }\na[0] = s;" END},
    {"reduction of the region", HPC_EXISTING_RIGHT,
     F "double s = 0;\n#pragma omp parallel reduction(+:s)\n{\n#pragma omp for\n" FOR
       "s += b[i];\n}\na[0] = s;" END},
    {"private of the region", HPC_EXISTING_RIGHT,
     F "double t;\n#pragma omp parallel private(t)\n{\n#pragma omp for\n" FOR
       "{ t = b[i]; a[i] = t; }\n}" END},
    {"element of the thread", HPC_EXISTING_UNPROVEN,
     "int omp_get_thread_num(void);\n" F
     "#pragma omp parallel\n{ int me = omp_get_thread_num();\n#pragma omp for\n" FOR
     "a[me] += b[i];\n}" END},
    {"element of the calling thread", HPC_EXISTING_UNPROVEN,
     "int omp_get_thread_num(void);\n" F "#pragma omp parallel for\n" FOR
     "a[omp_get_thread_num()] += b[i];" END},
    {"element of the thread's number", HPC_EXISTING_UNPROVEN,
     "int omp_get_thread_num(void);\n" F "#pragma omp parallel for\n" FOR
     "{ int me = omp_get_thread_num(); a[me] += b[i]; }" END},
    {"array of the thread", HPC_EXISTING_UNPROVEN,
     F "#pragma omp parallel\n{ double t[100];\nt[0] = 0;\n#pragma omp for\n"
       "for (int i = 1; i < n; i++) t[i % 100] = t[i % 100 - 1];\n a[0] = t[0]; }" END},
    {"orphaned", HPC_EXISTING_UNPROVEN,
     F "double t = 0, s = 0;\n#pragma omp for\n" FOR "{ t = b[i]; s += t; }\na[0] = s;" END},
    {"threadprivate", HPC_EXISTING_UNPROVEN,
     "static double t;\n#pragma omp threadprivate(t)\n" F OMP "\n" FOR
     "{ t = b[i]; a[i] = t; }" END},
    {"pointers", HPC_EXISTING_UNPROVEN,
     "void f(int n, double *a, const double *b)\n{\n" OMP "\n" FOR "a[i] = b[i + 1];" END},
    {"an index that may repeat", HPC_EXISTING_UNPROVEN,
     "void f(int n, double *a, const int *k)\n{\n" OMP "\n" FOR "a[k[i]] = i;" END},
    {"ordered", HPC_EXISTING_UNPROVEN,
     F OMP
     "ordered\n for (int i = 1; i < n; i++) {\n#pragma omp ordered\n a[i] += a[i - 1]; }" END},
    {"ordered by depend", HPC_EXISTING_UNPROVEN,
     F OMP "ordered(1)\n for (int i = 1; i < n; i++) {\n#pragma omp ordered depend(sink: i - 1)\n"
           "a[i] += a[i - 1];\n#pragma omp ordered depend(source)\n }" END},
    {"forward with vectors", HPC_EXISTING_UNPROVEN,
     F "#pragma omp simd\n for (int i = 0; i < n - 1; i++) a[i] = a[i + 1];" END},
    {"one thread", HPC_EXISTING_UNPROVEN,
     F OMP "num_threads(1)\n for (int i = 1; i < n; i++) a[i] += a[i - 1];" END},
    {"if", HPC_EXISTING_UNPROVEN,
     F OMP "if(n < 2)\n for (int i = 1; i < n; i++) a[i] += a[i - 1];" END},
    {"clauses by a macro", HPC_EXISTING_UNPROVEN,
     "#define OWN private(t)\n" F "double t;\n" OMP "OWN\n" FOR "{ t = b[i]; a[i] = t; }" END},
    {"names by a macro", HPC_EXISTING_UNPROVEN,
     "#define OWN t, u\n" F "double t, u;\n" OMP "private(OWN)\n" FOR
     "{ t = u = b[i]; a[i] = t + u; }" END},
    {"flag that any may set", HPC_EXISTING_UNPROVEN,
     F "int bad = 0;\n" OMP "\n" FOR "if (b[i] < 0) bad = 1;\na[0] = bad;" END},
    {"found once", HPC_EXISTING_UNPROVEN,
     F "int at = -1, c = 0;\n" OMP "\n" FOR "if (i == 7) { at = i; c++; }\na[0] = at + c;" END},
    {"collapse", HPC_EXISTING_RIGHT,
     F "int i, j;\n" OMP "collapse(2)\n for (i = 0; i < n; i++) for (j = 0; j < n; j++) "
       "a[i * n + j] = 0;" END},
    {"inner counters", HPC_EXISTING_RIGHT,
     F "int i, j, k;\n" OMP "private(j, k)\n for (i = 0; i < n; i++) for (j = 0; j < n; j++) "
       "for (k = 0; k < n; k++) a[i * n + j] += k;" END},
    {"target", HPC_EXISTING_RIGHT,
     F "double s = 0;\n#pragma omp target teams distribute parallel for map(tofrom:s) "
       "reduction(+:s)\n" FOR "s += b[i];\na[0] = s;" END},
    {"taskloop", HPC_EXISTING_RIGHT,
     F "double t = 0;\n#pragma omp taskloop\n" FOR "{ t = b[i]; a[i] = t; }" END},
    {"linear", HPC_EXISTING_RIGHT,
     F "int k = 0;\n" OMP "linear(k:2)\n" FOR "{ a[k] = b[i]; k += 2; }" END},
    {"default(none)", HPC_EXISTING_RIGHT,
     F "double s = 0;\n" OMP "default(none) shared(a, b, n) reduction(+:s)\n" FOR
       "{ a[i] = b[i]; s += b[i]; }\na[0] = s;" END},
    {"lastprivate", HPC_EXISTING_RIGHT,
     F "double t = 0;\n" OMP "lastprivate(t)\n" FOR "{ t = b[i]; a[i] = t; }\na[0] = t;" END},
    {"array section", HPC_EXISTING_RIGHT,
     F OMP "reduction(+:a[0:8])\n" FOR "a[i % 8] += b[i];" END},
    {"minimum with more reads", HPC_EXISTING_UNPROVEN,
     "double fmin(double, double);\n" F "double m = 1;\n" OMP "reduction(min:m)\n" FOR
     "if (m > 0) m = fmin(m, b[i]);\na[0] = m;" END},
    {"a method that uses another object", HPC_EXISTING_UNPROVEN,
     "class tally {\n    int n = 0;\npublic:\n    void add(int k) { if (k > 0) n += k; }\n"
     "    int sum() const { return n; }\n};\n"
     "class coder {\n    int d;\n    void code(const int *x, int *to) const\n    {\n"
     "        tally t;\n        t.add(x[0]);\n        *to = t.sum();\n    }\npublic:\n"
     "    void all(int n, const int *x, int *to) const\n    {\n" OMP "\n"
     "        for (int i = 0; i < n; i++) code(x + i * d, to + i);\n    }\n};\n"
     "void f(const coder &c, int n, int *x) { c.all(n, x, x + n); }\n"},
};

static const one wrong[] = {
    {"more updates by a table than elements", HPC_EXISTING_REDUCTION,
     "int bin[16];\nvoid f(const int *at)\n{\n" OMP
     "\nfor (int i = 0; i < 1000; i++) bin[at[i]]++;" END},
    {"flow", HPC_EXISTING_RACY, F OMP "\nfor (int i = 1; i < n; i++) a[i] = a[i - 1] + b[i];" END},
    {"anti", HPC_EXISTING_RACY, F OMP "\nfor (int i = 0; i < n; i++) a[i] = a[i + 1] + b[i];" END},
    {"output", HPC_EXISTING_RACY,
     F OMP "\nfor (int i = 0; i < n; i++) { a[i] = 1; a[i + 2] = 2; }" END},
    {"far", HPC_EXISTING_RACY, F OMP "\nfor (int i = 8; i < n; i++) a[i] += a[i - 8];" END},
    {"one element", HPC_EXISTING_RACY, F OMP "\nfor (int i = 1; i < n; i++) a[0] = b[i] + i;" END},
    {"two dimensions", HPC_EXISTING_RACY,
     "void f(int n, double a[64][64])\n{\n" OMP
     "\nfor (int i = 1; i < n; i++) for (int j = 0; j < 64; j++) a[i][j] = a[i - 1][j];" END},
    {"in a region", HPC_EXISTING_RACY,
     F "#pragma omp parallel\n{\n#pragma omp for\nfor (int i = 1; i < n; i++) a[i] = a[i - "
       "1];\n}" END},
    {"collapsed", HPC_EXISTING_RACY,
     F OMP "collapse(2)\nfor (int i = 0; i < n; i++) for (int j = 1; j < n; j++) "
           "a[i * n + j] += a[i * n + j - 1];" END},
    {"offloaded", HPC_EXISTING_RACY,
     F "#pragma omp target teams distribute parallel for\n"
       "for (int i = 1; i < n; i++) a[i] = a[i - 1];" END},
    {"carried scalar", HPC_EXISTING_RACY,
     F "double p = 0;\n" OMP "\n" FOR "{ a[i] = b[i] - p; p = b[i]; }" END},
    {"running sum", HPC_EXISTING_RACY,
     F "double s = 0;\n" OMP "reduction(+:s)\n" FOR "{ s += b[i]; a[i] = s; }" END},
    {"running sum, nothing said", HPC_EXISTING_RACY,
     F "double s = 0;\n" OMP "\n" FOR "{ s += b[i]; a[i] = s; }" END},
    {"two operators", HPC_EXISTING_RACY,
     F "double s = 1;\n" OMP "\n" FOR "{ s += b[i]; s *= 2; }\na[0] = s;" END},
    {"temporary", HPC_EXISTING_CLAUSE,
     F "double t;\n" OMP "\n" FOR "{ t = b[i]; a[i] = t * t; }" END},
    {"temporary of the file", HPC_EXISTING_CLAUSE,
     "static double t;\n" F OMP "\n" FOR "{ t = b[i]; a[i] = t * t; }" END},
    {"temporary that is said to be shared", HPC_EXISTING_CLAUSE,
     F "double t;\n" OMP "shared(t)\n" FOR "{ t = b[i]; a[i] = t * t; }" END},
    {"inner counter", HPC_EXISTING_CLAUSE,
     F "int i, j;\n" OMP "\nfor (i = 0; i < n; i++) for (j = 0; j < n; j++) a[i * n + j] = 0;" END},
    {"third counter", HPC_EXISTING_CLAUSE,
     F "int i, j, k;\n" OMP "collapse(2)\nfor (i = 0; i < n; i++) for (j = 0; j < n; j++) "
       "for (k = 0; k < 3; k++) a[i * n + j] += k;" END},
    {"scratch array", HPC_EXISTING_CLAUSE,
     F "double t[4];\n" OMP "\n" FOR
       "{ for (int k = 0; k < 4; k++) t[k] = b[i] * k;\na[i] = t[0] + t[3]; }" END},
    {"private that is read", HPC_EXISTING_CLAUSE,
     F "double w = 3;\n" OMP "private(w)\n" FOR "a[i] = w * b[i];" END},
    {"private pointer", HPC_EXISTING_CLAUSE,
     F "double *q = a;\n" OMP "private(q)\n" FOR "q[i] = b[i];" END},
    {"private that is read behind", HPC_EXISTING_CLAUSE,
     F "double t = 0;\n" OMP "private(t)\n" FOR "{ t = b[i]; a[i] = t; }\na[0] = t;" END},
    {"firstprivate that is read behind", HPC_EXISTING_CLAUSE,
     F "double t = 0;\n" OMP "firstprivate(t)\n" FOR "{ t = b[i]; a[i] = t; }\na[0] = t;" END},
    {"counter that is read behind", HPC_EXISTING_CLAUSE,
     F "int i;\n" OMP "\nfor (i = 0; i < n; i++) a[i] = b[i];\na[0] = i;" END},
    {"stepped", HPC_EXISTING_CLAUSE, F "int k = 0;\n" OMP "\n" FOR "{ a[k] = b[i]; k += 2; }" END},
    {"pointer that steps", HPC_EXISTING_CLAUSE, F OMP "\n" FOR "*a++ = b[i];" END},
    {"sum", HPC_EXISTING_REDUCTION, F "double s = 0;\n" OMP "\n" FOR "s += b[i];\na[0] = s;" END},
    {"conditional count", HPC_EXISTING_REDUCTION,
     F "int c = 0;\n" OMP "\n" FOR "if (b[i] > 0) c++;\na[0] = c;" END},
    {"maximum", HPC_EXISTING_REDUCTION,
     F "double m = 0;\n" OMP "\n" FOR "if (b[i] > m) m = b[i];\na[0] = m;" END},
    {"second of two", HPC_EXISTING_REDUCTION,
     F "double s = 0, q = 0;\n" OMP "reduction(+:s)\n" FOR
       "{ s += b[i]; q += b[i] * b[i]; }\na[0] = s + q;" END},
    {"product as a sum", HPC_EXISTING_REDUCTION,
     F "double s = 1;\n" OMP "reduction(+:s)\n" FOR "s *= b[i];\na[0] = s;" END},
    {"minimum as a maximum", HPC_EXISTING_REDUCTION,
     F "double m = 0;\n" OMP "reduction(max:m)\n" FOR "if (b[i] < m) m = b[i];\na[0] = m;" END},
    {"firstprivate sum", HPC_EXISTING_REDUCTION,
     F "double s = 1;\n" OMP "firstprivate(s)\n" FOR "s += b[i];\na[0] = s;" END},
    {"private sum", HPC_EXISTING_REDUCTION,
     F "double s = 1;\n" OMP "private(s)\n" FOR "s += b[i];\na[0] = s;" END},
    {"sum of the file", HPC_EXISTING_REDUCTION,
     "static double s;\n" F "#pragma omp parallel\n{\n#pragma omp for\n" FOR
     "s += b[i];\n}\na[0] = s;" END},
    {"bins", HPC_EXISTING_REDUCTION, F OMP "\n" FOR "a[i % 8] += b[i];" END},
    {"member", HPC_EXISTING_RACY,
     "struct s { double x; };\nvoid f(int n, struct s *s, const double *restrict b)\n{\n"
     "struct s t = {0};\n" OMP "\n" FOR "t.x += b[i];\ns->x = t.x;" END},
};

static hpc_existing judged(hpc_checker *c, const one *x, hpc_buf *why)
{
    static const hpc_pragma_options options = HPC_PRAGMA_DEFAULTS;
    hpc_tree_source *source;
    hpc_tree tree = {0};
    hpc_pragma_loops loops;
    size_t n = strlen(x->text);
    hpc_existing is = HPC_EXISTING_NONE;
    const bool cpp = strncmp(x->text, "class", 5) == 0;
    const hpc_language l = cpp ? HPC_LANGUAGE_CPP : HPC_LANGUAGE_C;
    OK(hpc_tree_open(
        &source, c,
        &(hpc_tree_file){.path = cpp ? "x.cpp" : "x.c", .text = x->text, .n = n, .language = l}));
    OK(hpc_tree_get(&tree, source));
    if (tree.errors) fail_msg("%s: does not compile", x->name);
    OK(hpc_pragma_find(&loops, &tree, x->text, n, l, &options));
    for (int64_t i = 0; i < loops.n && is == HPC_EXISTING_NONE; i++) {
        is = loops.item[i].existing_is;
        const int64_t last = loops.item[i].evidence_n - 1;
        if (last >= 0) hpc_buf_text(why, loops.item[i].evidence[last].text);
    }
    hpc_pragma_loops_release(&loops);
    hpc_tree_release(&tree);
    hpc_tree_close(source);
    return is;
}

static void right_ones(void **state)
{
    (void)state;
    NEED_LIBRARY;
    int bad = 0;
    hpc_checker *c = open_checker(0);
    for (size_t k = 0; k < sizeof right / sizeof *right; k++) {
        hpc_buf why = {0};
        hpc_existing is = judged(c, &right[k], &why);
        bool fine =
            is == HPC_EXISTING_RIGHT || is == HPC_EXISTING_HARMLESS || is == HPC_EXISTING_REDUNDANT;
        if (fine != (right[k].is == HPC_EXISTING_RIGHT) || (!fine && is != HPC_EXISTING_UNPROVEN)) {
            bad++;
            print_error("%s: %s: %s\n", right[k].name, hpc_existing_name(is), why.data);
        }
        hpc_buf_release(&why);
    }
    hpc_checker_close(c);
    assert_int_equal(bad, 0);
}

static void wrong_ones(void **state)
{
    (void)state;
    NEED_LIBRARY;
    int bad = 0;
    hpc_checker *c = open_checker(0);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        hpc_buf why = {0};
        hpc_existing is = judged(c, &wrong[k], &why);
        if (is != wrong[k].is) {
            bad++;
            print_error("%s: %s: %s\n", wrong[k].name, hpc_existing_name(is), why.data);
        }
        hpc_buf_release(&why);
    }
    hpc_checker_close(c);
    assert_int_equal(bad, 0);
}

static bool is_wrong(hpc_existing e)
{
    return e == HPC_EXISTING_RACY || e == HPC_EXISTING_CLAUSE || e == HPC_EXISTING_REDUCTION;
}

/* Those of the suite, with what its labels say. */
static void labelled_ones(void **state)
{
    suite_file f;
    int64_t wrong_n = 0, found = 0, right_n = 0;
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    suite_open(&f, c, "existing.c");
    for (int64_t i = 0; i < f.labels_n; i++) {
        const char *says = strstr(f.label[i].text, "existing=");
        if (!says) continue;
        says += strlen("existing=");
        bool fine = strncmp(says, "ok", 2) == 0 || strncmp(says, "harmless", 8) == 0 ||
                    strncmp(says, "redundant", 9) == 0;
        for (int64_t k = 0; k < f.loops.n; k++) {
            const hpc_pragma_loop *l = &f.loops.item[k];
            if (l->line != f.label[i].line) continue;
            if (fine == is_wrong(l->existing_is) && fine)
                fail_msg("%s: %s", f.label[i].name_of_loop, l->evidence[l->evidence_n - 1].text);
            if (!fine && !is_wrong(l->existing_is) && l->existing_is != HPC_EXISTING_UNPROVEN)
                fail_msg("%s: %s", f.label[i].name_of_loop, hpc_existing_name(l->existing_is));
            right_n += fine;
            wrong_n += !fine;
            found += !fine && is_wrong(l->existing_is);
        }
    }
    suite_close(&f);
    hpc_checker_close(c);
    print_message("of %lld wrong ones %lld are found; none of %lld right ones is called wrong\n",
                  (long long)wrong_n, (long long)found, (long long)right_n);
    assert_true(right_n >= 20 && wrong_n >= 15 && 4 * found >= 3 * wrong_n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(right_ones), cmocka_unit_test(wrong_ones),
                                       cmocka_unit_test(labelled_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
