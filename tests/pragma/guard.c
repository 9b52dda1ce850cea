/*
 * guard.c: conditions of if clauses: exact text, with names that are valid at the loop, compiled.
 * A loop that cannot be guarded has none; a loop that the analysis cannot judge has no directive.
 */
/* tsan: left out, other tests start the same threads. */
#include <stdio.h>
#include <stdlib.h>

#include "infer/pragma/pragma.h"
#include "tests/source/check.h"
#include "tests/support/folder.h"

#define RECORD  "typedef struct { int *rep, *gap, *seg; int n; } S;\n"
#define ONE_FOR "for (int i = 0; i < n; i++) "

typedef struct guarded {
    const char *path, *text, *guard;
} guarded;

static const guarded types[] = {
    {"record_behind_void.c",
     RECORD "void f(void *d)\n{\n    S *s = (S *)d;\n"
            "    for (int j = 0; j < s->n; j++) s->rep[j] = s->gap[j];\n}\n",
     "((const char *)(s + 1) <= (const char *)s->rep || "
     "(const char *)(s->rep + s->n) <= (const char *)s) && "
     "((const char *)s->gap == (const char *)s->rep || "
     "(const char *)(s->gap + s->n) <= (const char *)s->rep || "
     "(const char *)(s->rep + s->n) <= (const char *)s->gap)"},
    {"numbers_behind_void.c",
     "void f(void *d, void *e, int n)\n{\n    float *x = d;\n    float *y = e;\n    " ONE_FOR
     "x[i] = y[i];\n}\n",
     "y == x || y + n <= x || x + n <= y"},
    {"cast_in_the_loop.c",
     "void f(void *d, const float *y, int n)\n{\n    " ONE_FOR "((float *)d)[i] = y[i];\n}\n",
     "y == ((float *)d) || y + n <= ((float *)d) || ((float *)d) + n <= y"},
    {"two_types_of_one_pointer.c",
     "void f(void *d, int n)\n{\n    char *c = d;\n    float *x = d;\n    " ONE_FOR
     "c[i] = x[i];\n}\n",
     NULL},
    {"unsigned_distance.c",
     "void f(double *a, unsigned k, unsigned n)\n{\n"
     "    for (unsigned i = 0; i < n; i++) a[i + k] = a[i];\n}\n",
     "k == 0 || k + 1 > n"},
    {"unsigned_and_signed.c",
     "void f(double *a, unsigned ld, int k)\n{\n"
     "    for (unsigned i = 0; i < 9999; i++) a[i + ld] = a[(int)i + k];\n}\n",
     "k == (long long)ld || k > (long long)ld + 9998 || (long long)ld > k + 9998"},
    {"wide_product.c",
     "void f(double *x, double *y, int n, int m)\n{\n"
     "    for (long i = 0; i < (long)n * m; i++) x[i] = y[i];\n}\n",
     "y == x || y + (long long)n*m <= x || x + (long long)n*m <= y"},
    {"narrow_product.c",
     "void f(double *x, double *y, int n, int m)\n{\n"
     "    for (int i = 0; i < n * m; i++) x[i] = y[i];\n}\n",
     "y == x || y + (long long)n*m <= x || x + (long long)n*m <= y"},
    {"narrow_distance.c",
     "void f(double *a, int k, int n)\n{\n    " ONE_FOR "a[i + 3 * k] = a[i];\n}\n",
     "-3*(long long)k == 0 || -3*(long long)k > n - 1 || 3*(long long)k > n - 1"},
};

static const guarded scopes[] = {
    {"hidden.c",
     "void f(double *x, double *y, int n)\n{\n    double *z = y;\n    {\n        int y = n;\n"
     "        for (int i = 0; i < y; i++) x[i] = z[i];\n    }\n}\n",
     NULL},
    {"quotient_has_a_name.c",
     "void f(double *x, double *y, int c, int h)\n{\n    int n = c / h;\n    " ONE_FOR
     "x[i] = y[i];\n}\n",
     "y == x || y + n <= x || x + n <= y"},
    {"private_field.cpp",
     "class M {\n    int n_;\npublic:\n    double *p;\n    int n() const { return n_; }\n};\n"
     "void f(const M &m, double *x)\n{\n    for (int i = 0; i < m.n(); i++) x[i] = m.p[i];\n}\n",
     NULL},
    {"read_where_it_runs.c",
     "typedef struct { double *a; int k; } T;\n"
     "void f(T *t, double *x, int n)\n{\n    " ONE_FOR "x[i] = t->a[i];\n}\n",
     "n > 0 && ((const char *)t->a == (const char *)x || "
     "(const char *)(t->a + n) <= (const char *)x || (const char *)(x + n) <= (const char *)t->a)"},
    {"read_on_a_condition.c",
     "typedef struct { double *a; } T;\n"
     "void f(T *t, double *x, int n)\n{\n    " ONE_FOR "if (t) x[i] = t->a[i];\n}\n",
     NULL},
    {"names_in_a_macro.c",
     "typedef struct { int n; double *a; } T;\nstatic double g[99];\n#define A(i) (t->a[i])\n"
     "#define G(i) g[(i) % 99]\n#define N(t) ((t)->n)\ndouble h(const T *t, double *x)\n{\n"
     "    for (int i = 0; i < N(t); i++) x[i] = A(i);\n    return G(3);\n}\n",
     "(const char *)t->a == (const char *)x || (const char *)(t->a + t->n) <= (const char *)x || "
     "(const char *)(x + t->n) <= (const char *)t->a"},
    {"instances_of_a_template.cpp",
     "template <class T> void f(T *x, const float *y, int n)\n{\n    " ONE_FOR
     "x[i] = (T)y[i];\n}\ntemplate void f(float *, const float *, int);\n"
     "template void f(unsigned short *, const float *, int);\n",
     "(const char *)y == (const char *)x || (const char *)(y + n) <= (const char *)x || "
     "(const char *)(x + n) <= (const char *)y"},
    {"read_by_the_head.c",
     "void f(double *x, const double *y, const int *start, int r)\n{\n"
     "    for (int i = start[r]; i < start[r + 1]; i++) x[i] = y[i];\n}\n",
     "y == x || y + start[r + 1] <= x + start[r] || x + start[r + 1] <= y + start[r]"},
};

static hpc_pragma_loops find(hpc_checker *c, const guarded *g, bool guard)
{
    const hpc_pragma_options o = HPC_PRAGMA_DEFAULTS;
    const hpc_language l = hpc_language_of_path(g->path);
    const size_t n = strlen(g->text);
    hpc_tree_source *source = NULL;
    hpc_pragma_loops loops = {0};
    hpc_tree tree = {0};
    OK(hpc_tree_open(&source, c,
                     &(hpc_tree_file){.path = g->path, .text = g->text, .n = n, .language = l}));
    OK(hpc_tree_get(&tree, source));
    OK(hpc_pragma_find(&loops, &tree, g->text, n, l, &o));
    if (guard) OK(hpc_pragma_guard(&loops));
    hpc_tree_release(&tree);
    hpc_tree_close(source);
    assert_int_equal(loops.n, 1);
    return loops;
}

static void compile(void **state, const guarded *g, const hpc_pragma_loop *l)
{
    char path[PATH_MAX], command[2 * PATH_MAX];
    hpc_buf text = {0};
    hpc_buf_printf(&text, "%.*s\n%s\n%s", (int)l->at, g->text, l->pragma, g->text + l->at);
    OK(hpc_file_save(hpc_test_path(path, *state, g->path), text.data, text.n));
    hpc_buf_release(&text);
    snprintf(command, sizeof command, "gcc -fopenmp -Wall -Wpedantic -Werror -S -o /dev/null '%s'",
             path);
    if (system(command) != 0) fail_msg("%s: %s does not compile", g->path, l->pragma);
}

static void check_guards(void **state, const guarded *cases, size_t n)
{
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    int wrong = 0;
    for (size_t k = 0; k < n; k++) {
        const guarded *g = &cases[k];
        hpc_pragma_loops plain = find(c, g, false), loops = find(c, g, true);
        const hpc_pragma_loop *l = &loops.item[0];
        const char *is = l->guard ? l->guard : "no guard";
        if (strcmp(is, g->guard ? g->guard : "no guard") != 0) {
            print_message("%s: %s, not %s\n", g->path, is, g->guard ? g->guard : "no guard");
            wrong++;
        }
        if (l->guard) {
            char want[2000];
            snprintf(want, sizeof want, "%s if(%s)", plain.item[0].pragma, l->guard);
            assert_string_equal(l->pragma, want);
            compile(state, g, l);
        }
        hpc_pragma_loops_release(&plain);
        hpc_pragma_loops_release(&loops);
    }
    hpc_checker_close(c);
    assert_int_equal(wrong, 0);
}

static void pointers_and_numbers_keep_their_types(void **state)
{
    check_guards(state, types, sizeof types / sizeof *types);
}

static void names_are_valid_at_the_loop(void **state)
{
    check_guards(state, scopes, sizeof scopes / sizeof *scopes);
}

/* A step is for all variables of its clause. */
static void variables_with_steps_have_their_own_clauses(void **state)
{
    static const guarded steps = {
        "steps.c",
        "void f(double *restrict x, const double *restrict y, int n, int m)\n{\n"
        "    int j = 0, k = 0, l = 0, h = 0;\n    " ONE_FOR "{\n"
        "        x[i] = y[j] + y[k] + y[l] + y[h];\n"
        "        j += 2;\n        k += m;\n        l++;\n        h++;\n    }\n}\n",
        NULL};
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_pragma_loops loops = find(c, &steps, false);
    assert_string_equal(loops.item[0].pragma,
                        "#pragma omp parallel for linear(j:2) linear(k:m) linear(l, h)");
    compile(state, &steps, &loops.item[0]);
    hpc_pragma_loops_release(&loops);
    hpc_checker_close(c);
}

/* OpenMP rejects such a loop. */
static void first_value_from_the_variable_itself_gets_no_directive(void **state)
{
    static const guarded down = {
        "down.c",
        "double f(int n, const double *w)\n{\n    double most = w[n - 1];\n"
        "    for (n = n - 2; n >= 0; n--)\n        if (w[n] > most) most = w[n];\n"
        "    return most;\n}\n",
        NULL};
    NEED_LIBRARY;
    (void)state;
    hpc_checker *c = open_checker(0);
    hpc_pragma_loops loops = find(c, &down, false);
    assert_int_equal(loops.item[0].verdict, HPC_VERDICT_UNKNOWN);
    assert_null(loops.item[0].pragma);
    hpc_pragma_loops_release(&loops);
    hpc_checker_close(c);
}

/* OpenMP allows one if clause. */
static void condition_that_is_there_is_kept(void **state)
{
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"#pragma omp parallel for", "#pragma omp parallel for if(x != y)"},
        {"#pragma omp parallel for if(f(n) > 9) private(k)",
         "#pragma omp parallel for private(k) if((f(n) > 9) && (x != y))"},
        {"#pragma omp parallel for simd if(n > 9)",
         "#pragma omp parallel for simd if(parallel: (n > 9) && (x != y)) "
         "if(simd: (n > 9) && (x != y))"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_pragma_loop l = {.pragma = cases[k].before, .guard = "x != y"};
        hpc_pragma_loops loops = {.arena = hpc_arena_create(0), .item = &l, .n = 1};
        assert_non_null(loops.arena);
        OK(hpc_pragma_guard(&loops));
        assert_string_equal(l.pragma, cases[k].after);
        hpc_arena_free(loops.arena);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pointers_and_numbers_keep_their_types),
        TEST(names_are_valid_at_the_loop),
        TEST(variables_with_steps_have_their_own_clauses),
        cmocka_unit_test(first_value_from_the_variable_itself_gets_no_directive),
        cmocka_unit_test(condition_that_is_there_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
