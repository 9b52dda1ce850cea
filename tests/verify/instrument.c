/*
 * Tests of instrumentation in infer/verify: instrumented files compile, with all code on its
 * original lines.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include "infer/verify/priv.h"
#include "tests/verify/programs.h"

static void compile(const char *compiler, const hpc_buf *text, bool cpp, const char *name)
{
    const char *argv[] = {compiler,
                          "-w",
                          "-O1",
                          "-fsanitize=thread",
                          "-include",
                          "infer/verify/witness/witness.h",
                          "-iquote",
                          "tests/pragma/loops",
                          "-S",
                          "-o",
                          "/dev/null",
                          "-x",
                          cpp ? "c++" : "c",
                          cpp ? "-std=c++17" : "-std=gnu17",
                          "-",
                          NULL};
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    if (!hpc_proc_exists(compiler)) return;
    o.argv = argv;
    o.input = text->data;
    o.input_bytes = text->n;
    o.seconds = PATIENCE;
    OK(hpc_proc_run(&r, &o));
    if (r.status != 0) fail_msg("%s does not take %s: %.600s", compiler, name, r.err.data);
    hpc_proc_release(&r);
}

static int64_t lines_in(const char *p, size_t n)
{
    int64_t lines = 0;
    for (size_t k = 0; k < n; k++) lines += p[k] == '\n';
    return lines;
}

static void one_file(const char *name, hpc_test_folder *f, int64_t *loops, int64_t *on)
{
    program p;
    hpc_buf text = {0};
    program_open(&p, f, "tests/pragma/loops", name);
    instrumented w = {.arena = hpc_arena_create(0), .file = &p.file, .loops = &p.loops};
    edits e = {.arena = w.arena};
    assert_non_null(w.arena);
    w.item = hpc_alloc((size_t)p.loops.n + 1, sizeof *w.item);
    for (int64_t k = 0; k < p.loops.n; k++) /* a static member, named without its class */
        if (p.loops.item[k].pragma && strstr(p.loops.item[k].pragma, "(+:made)"))
            p.loops.item[k].pragma = NULL;
    OK(instrument(&e, &w));
    OK(edits_apply(&text, &e, p.text.data, p.text.n));
    assert_int_equal(lines_in(text.data, text.n), lines_in(p.text.data, p.text.n));
    bool cpp = p.file.language == HPC_LANGUAGE_CPP;
    compile(cpp ? "g++" : "gcc", &text, cpp, name);
    compile(cpp ? "clang++" : "clang", &text, cpp, name);
    for (int64_t k = 0; k < p.loops.n; k++) {
        *loops += !p.loops.item[k].again;
        *on += w.item[k].on;
    }
    instrumented_release(&w, p.loops.n);
    edits_release(&e);
    hpc_buf_release(&text);
    hpc_arena_free(w.arena);
    program_close(&p);
}

static void all_loops(void **state)
{
    hpc_buf names = {0};
    int64_t n, loops = 0, on = 0;
    NEED_LIBRARY;
    OK(hpc_file_list(&names, &n, "tests/pragma/loops"));
    const char *name = names.data;
    for (int64_t i = 0; i < n; i++, name += strlen(name) + 1) {
        hpc_language l = hpc_language_of_path(name);
        if (l == HPC_LANGUAGE_C || l == HPC_LANGUAGE_CPP) one_file(name, *state, &loops, &on);
    }
    hpc_buf_release(&names);
    print_message("%lld of %lld loops are instrumented\n", (long long)on, (long long)loops);
    assert_true(loops > 900 && on * 100 >= loops * 97);
}

/* Places that ask for care: what the calls look like there. */
static void shapes(void **state)
{
    static const char text[] =
        "int g;\n"
        "int f(int n, int *a)\n{\n    register int r = 0;\n    int i, j;\n"
        "    if (n) for (i = 0; i < n; i++) for (j = 0; j < 3; j++) a[i] += j;\n"
        "    else while (r < n) r++;\n"
        "    do g++; while (g < 7);\n"
        "    #pragma GCC ivdep\n"
        "    for (i = 0; i < n; i++) if (a[i]) g = i; else a[i] = 1;\n"
        "    for (i = 0; i < n; i++);\n"
        "    return r;\n}\n";
    program p;
    hpc_buf out = {0};
    NEED_LIBRARY;
    program_write(&p, *state, "x.c", text);
    instrumented w = {.arena = hpc_arena_create(0), .file = &p.file, .loops = &p.loops};
    edits e = {.arena = w.arena};
    assert_non_null(w.arena);
    w.item = hpc_alloc((size_t)p.loops.n, sizeof *w.item);
    OK(instrument(&e, &w));
    OK(edits_apply(&out, &e, p.text.data, p.text.n));
    compile("gcc", &out, false, "x.c");
    compile("clang", &out, false, "x.c");
    assert_null(strstr(out.data, "ivdep"));     /* it may only stand before a loop */
    assert_null(strstr(out.data, "SHARED,r)")); /* has no address */
    assert_null(strstr(out.data, "PRIVATE,r)"));
    assert_non_null(
        strstr(out.data, "hpc_witness_iteration(0,HPC_WITNESS_FRAME,(long long)(i));{"));
    instrumented_release(&w, p.loops.n);
    edits_release(&e);
    hpc_buf_release(&out);
    hpc_arena_free(w.arena);
    program_close(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(all_loops), TEST(shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
