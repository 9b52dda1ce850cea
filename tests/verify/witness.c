/*
 * Tests of the witness (infer/verify): its report for each loop in tests/verify/programs equals the
 * comments above the loop, with both compilers; and its report if there is nothing to observe.
 *
 *     // AS DIRECTIVE     watch the loop as if this directive were proposed
 *     // WITNESS TEXT     one line of evidence; @N is the N-th line from the loop's
 *     // CLEAN            it ran, and no two iterations conflict
 *     // CLEAN CLAUSES    it ran, and iterations conflict only in variables of the clauses
 *     // NEVER            the run does not reach it
 *     // GUARDED          iterations conflict only under an atomic or a critical
 *     // UNSAFE           the verdict was better before
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/verify/programs.h"

typedef struct label {
    char as[200], witness[300], clauses[100];
    bool clean, never, guarded, unsafe;
} label;

/* "@2" becomes the number of a line. */
static void resolve(char out[300], const char *text, size_t n, uint32_t line)
{
    size_t k = 0;
    for (size_t i = 0; i < n && k < 280;) {
        if (text[i] != '@') {
            out[k++] = text[i++];
            continue;
        }
        char *end;
        long by = strtol(text + i + 1, &end, 10);
        k += (size_t)snprintf(out + k, 300 - k, "%ld", (long)line + by);
        i = (size_t)(end - text);
    }
    out[k] = '\0';
}

/* What stands on the lines above a loop. */
static label label_of(const program *p, const hpc_pragma_loop *l)
{
    label is = {0};
    const char *text = p->text.data, *begin = text + l->at;
    while (begin > text && begin[-1] != '\n') begin--;
    while (begin > text) {
        const char *end = begin - 1, *at = end;
        while (at > text && at[-1] != '\n') at--;
        begin = at;
        at += strspn(at, " ");
        const size_t mark = strncmp(at, "// ", 3) == 0 ? 3 : strncmp(at, "! ", 2) == 0 ? 2 : 0;
        if (strncmp(at, "!$omp", 5) == 0) continue;
        if (!mark) break;
        at += mark;
        size_t n = (size_t)(end - at);
        if (strncmp(at, "AS ", 3) == 0) snprintf(is.as, sizeof is.as, "%.*s", (int)n - 3, at + 3);
        if (strncmp(at, "WITNESS ", 8) == 0) resolve(is.witness, at + 8, n - 8, l->line);
        if (strncmp(at, "CLEAN ", 6) == 0)
            snprintf(is.clauses, sizeof is.clauses, ", handled by %.*s (", (int)n - 6, at + 6);
        is.clean |= strncmp(at, "CLEAN", 5) == 0;
        is.never |= strncmp(at, "NEVER", 5) == 0;
        is.guarded |= strncmp(at, "GUARDED", 7) == 0;
        is.unsafe |= strncmp(at, "UNSAFE", 6) == 0;
    }
    return is;
}

static int hold_against(const hpc_pragma_loop *l, const label *is, hpc_verdict before)
{
    bool right;
    if (is->never)
        right = evidence_of(l, "witness", "does not reach it") != NULL;
    else if (is->guarded)
        right = evidence_of(l, "witness", "one thread at a time") != NULL;
    else if (is->clean)
        right = evidence_of(l, "witness", is->clauses[0] ? is->clauses : "no two of ") != NULL;
    else
        right = is->witness[0] && evidence_of(l, "witness", is->witness);
    if (is->clean || is->never || is->guarded) right = right && l->verdict == before;
    if (is->unsafe)
        right = right && before >= HPC_VERDICT_CONDITIONAL && l->verdict == HPC_VERDICT_UNSAFE;
    if (right) return 0;
    show_loop(l);
    print_message("    WRONG: it is to be %s%s\n", is->clean ? "CLEAN" : is->witness,
                  is->unsafe ? ", and to become unsafe" : "");
    return 1;
}

static int64_t watch(void **state, const char *folder, const char *path, const char *build)
{
    program p;
    program_open(&p, *state, folder, path);
    int64_t n = p.loops.n;
    hpc_verdict *before = calloc((size_t)n, sizeof *before);
    label *is = calloc((size_t)n, sizeof *is);
    assert_true(before && is);
    for (int64_t k = 0; k < n; k++) {
        is[k] = label_of(&p, &p.loops.item[k]);
        if (is[k].as[0]) {
            p.loops.item[k].pragma = is[k].as;
            p.loops.item[k].verdict = HPC_VERDICT_PARALLEL;
        }
        before[k] = p.loops.item[k].verdict;
    }
    p.options.build = build;
    p.options.run = "./watched";
    OK(hpc_verify_witness(&p.loops, &p.file, &p.options));
    int wrong = 0;
    for (int64_t k = 0; k < n; k++)
        if (!p.loops.item[k].again) wrong += hold_against(&p.loops.item[k], &is[k], before[k]);
    assert_int_equal(wrong, 0);
    free(before);
    free(is);
    program_close(&p);
    return n;
}

static void c_loops(void **state)
{
    NEED_LIBRARY;
    assert_true(watch(state, "tests/verify/programs", "watched.c",
                      "gcc -O3 -fopenmp watched.c far.c -o watched") >= 38);
}

static void cpp_loops(void **state)
{
    NEED_LIBRARY;
    assert_true(watch(state, "tests/verify/programs", "watched.cpp",
                      "g++ -O2 -Werror watched.cpp -o watched") >= 14);
}

static void need(const char *compiler);

static void fortran_loops(void **state)
{
    need("gfortran");
    NEED_FLANG;
    assert_int_equal(watch(state, "tests/verify/programs", "watched.f90",
                           "gfortran -O3 -fopenmp -fcheck=all -std=f2018 watched.f90 -o watched"),
                     23);
}

static void fixed_form_loops(void **state)
{
    need("gfortran");
    NEED_FLANG;
    assert_int_equal(watch(state, "tests/verify/programs", "watched.f",
                           "gfortran -c watched.f && gfortran watched.o -o watched"),
                     7);
}

static void need(const char *compiler)
{
    if (hpc_proc_exists(compiler)) return;
    print_message("SKIP: there is no %s\n", compiler);
    skip();
}

static void cpp_loops_of_clang(void **state)
{
    NEED_LIBRARY;
    need("clang++");
    watch(state, "tests/verify/programs", "watched.cpp",
          "clang++ -O2 -c watched.cpp && clang++ watched.o -o watched");
}

/* A Makefile, warnings that are errors, a static library; calls from another file that alias. */
static void project(void **state)
{
    NEED_LIBRARY;
    assert_int_equal(watch(state, "tests/verify/programs/project", "src/kernels.c", "make"), 3);
}

/* What clang does not instrument is said. */
static void hidden_arrays(void **state)
{
    program p;
    NEED_LIBRARY;
    need("clang");
    program_write(
        &p, *state, "x.c",
        "int main(int c, char **v)\n{\n    double w[9] = {0};\n    (void)v;\n"
        "    for (int i = 1; i < 9; i++) w[i] = w[i - 1] + c;\n    return w[8] > 99;\n}\n");
    p.options.build = "clang x.c -o x";
    p.options.run = "./x";
    OK(hpc_verify_witness(&p.loops, &p.file, &p.options));
    assert_non_null(evidence_of(&p.loops.item[0], "witness", "not recorded with clang"));
    program_close(&p);
}

/* ---- failures: reported, not attributed to loops --------------------------------------------- */

static const char one_loop[] = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                               "static double a[100];\n"
                               "int main(int c, char **v)\n{\n"
                               "    for (int i = 0; i < 100; i++) a[i] = i;\n" /* line 7 */
                               "    if (c > 1 && strcmp(v[1], \"hang\") == 0) for (;;) a[1]++;\n"
                               "    if (c > 1 && strcmp(v[1], \"crash\") == 0) abort();\n"
                               "    for (int k = 0; c > 1 && k < 10000; k++) {\n"
                               "        char *p = malloc(1 << 20);\n"
                               "        if (!p) return 3;\n"
                               "        memset(p, k, 1 << 20);\n"
                               "    }\n"
                               "    printf(\"%g\\n\", a[3]);\n    return 0;\n}\n";

static void expect(void **state, const char *build, const char *run, const char *text)
{
    program p;
    program_write(&p, *state, "x.c", one_loop);
    p.options.build = build;
    p.options.run = run;
    p.options.seconds = strstr(run, "hang") ? 0.3 : PATIENCE;
    p.options.memory_bytes = (size_t)128 << 20;
    OK(hpc_verify_witness(&p.loops, &p.file, &p.options));
    const hpc_pragma_loop *l = &p.loops.item[0];
    if (!evidence_of(l, "witness", text) || l->verdict != HPC_VERDICT_PARALLEL) {
        show_loop(l);
        fail_msg("'%s' is not said", text);
    }
    program_close(&p);
}

static void ends_of_all_kinds(void **state)
{
    NEED_LIBRARY;
    expect(state, "gcc x.c -o x", "./x", "no two of 100 iterations conflict");
    expect(state, "gcc x.c -o x", "./x hang", "the recorded run did not end within");
    expect(state, "gcc x.c -o x", "./x crash", "the recorded run was killed by signal 6");
    expect(state, "gcc x.c -o x && echo cannot build >&2 && exit 7", "./x",
           "the instrumented build exited with status 7: cannot build");
    expect(state, "gcc -DNO_MAIN y.c -o x", "./x", "error: y.c: No such file");
    expect(state, "gcc x.c -o x", "./no-such-program", "status 127");
}

static void memory_has_a_limit(void **state)
{
    NEED_LIBRARY;
    expect(state, "gcc x.c -o x", "./x memory", "no two of 100 iterations conflict");
}

/* Nothing appears in the user's folder, nothing is left in the scratch folder. */
static void leaves_nothing(void **state)
{
    program p;
    hpc_buf after = {0};
    char path[PATH_MAX];
    NEED_LIBRARY;
    program_write(&p, *state, "x.c", one_loop);
    p.options.build = "gcc x.c -o x && touch built";
    p.options.run = "./x && touch ran";
    OK(hpc_verify_witness(&p.loops, &p.file, &p.options));
    assert_int_equal(hpc_test_entries(p.folder), 1);
    assert_int_equal(hpc_test_entries(((hpc_test_folder *)*state)->root), 1);
    snprintf(path, sizeof path, "%.3000s/x.c", p.folder);
    OK(hpc_file_read(&after, path, 1 << 20));
    assert_string_equal(after.data, one_loop);
    hpc_buf_release(&after);
    program_close(&p);
}

/* Existing build results are rebuilt, and an absolute path leads to the copy. */
static void built_before(void **state)
{
    program p;
    char build[2 * PATH_MAX], path[PATH_MAX];
    NEED_LIBRARY;
    program_write(&p, *state, "x.c", one_loop);
    snprintf(path, sizeof path, "%.3000s/Makefile", p.folder);
    static const char makefile[] = "x: x.c\n\tcc x.c -o x\n";
    OK(hpc_file_save(path, makefile, strlen(makefile)));
    snprintf(path, sizeof path, "%.3000s/x", p.folder);
    OK(hpc_file_save(path, "no program", 10));
    snprintf(build, sizeof build, "make -C '%s'",
             p.options.sandbox == HPC_SANDBOX_NONE ? "." : p.folder);
    p.options.build = build;
    p.options.run = "./x";
    OK(hpc_verify_witness(&p.loops, &p.file, &p.options));
    assert_non_null(evidence_of(&p.loops.item[0], "witness", "no two of 100 iterations conflict"));
    program_close(&p);
}

static void refusals(void **state)
{
    program p;
    NEED_LIBRARY;
    program_write(&p, *state, "x.c", one_loop);
    p.options.run = "./x";
    p.options.copy_bytes = 100;
    assert_int_equal(hpc_verify_witness(&p.loops, &p.file, &p.options), HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "at most"));
    hpc_error_clear();
    p.options.path = "../x.c";
    assert_int_equal(hpc_verify_witness(&p.loops, &p.file, &p.options), HPC_E_ARG);
    hpc_error_clear();
    p.options.run = NULL;
    assert_int_equal(hpc_verify_witness(&p.loops, &p.file, &p.options), HPC_E_ARG);
    hpc_error_clear();
    assert_int_equal(hpc_test_entries(((hpc_test_folder *)*state)->root), 1);
    program_close(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(c_loops),        TEST(cpp_loops),         TEST(cpp_loops_of_clang),
        TEST(fortran_loops),  TEST(fixed_form_loops),  TEST(project),
        TEST(hidden_arrays),  TEST(ends_of_all_kinds), TEST(memory_has_a_limit),
        TEST(leaves_nothing), TEST(built_before),      TEST(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
