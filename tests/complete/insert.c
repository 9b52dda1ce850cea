/*
 * Property test of infer/complete: a completion that passes the checks `complete` and `brackets`,
 * which --write requires, leaves no bracket open that was closed before, for any model.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "infer/complete/verify.h"
#include "runtime/source/bracket.h"
#include "tests/support/chain.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

enum { POSITIONS = 1000, PHRASES = 16, TOKENS = 40 };

/* Brackets of all kinds, statements, and what hides brackets, in no order. */
static void write_model(const char *dir)
{
    static const char *const text[PHRASES] = {"\n    if (a) {",
                                              "\n    }",
                                              "\n}",
                                              "\n    a = f(b);",
                                              "f((",
                                              "))",
                                              "\n    v[i] = ",
                                              "] = {1, 2};",
                                              "[i",
                                              "\n    // }",
                                              "\n    s = \"{\";",
                                              "\n    for (;;) {",
                                              "\n#if A",
                                              "\n#endif",
                                              "\n    return a;",
                                              "\n    do {"};
    hpc_test_phrase phrase[PHRASES];
    for (uint32_t k = 0; k < PHRASES; k++) {
        uint32_t r[4];
        hpc_random_block(r, 3, 1, 0, k);
        phrase[k] = (hpc_test_phrase){text[k],
                                      {(int)(r[0] % PHRASES) + 1, (int)(r[1] % PHRASES) + 1,
                                       k % 5 == 4 ? HPC_CHAIN_END : (int)(r[2] % PHRASES) + 1}};
    }
    hpc_test_chain(dir, phrase, PHRASES);
}

/* Brackets without a partner. */
static int64_t unmatched(const char *text, size_t n, hpc_language language)
{
    hpc_tokens t = {0};
    hpc_brackets b = {0};
    int64_t count = 0;
    test_ok(hpc_lex(&t, text, n, language, false));
    test_ok(hpc_brackets_find(&b, &t, text, language));
    for (int64_t k = 0; k < b.n; k++) count += b.item[k].partner < 0;
    hpc_tokens_release(&t);
    hpc_brackets_release(&b);
    return count;
}

static bool has_passed(const hpc_completion *c)
{
    return !hpc_completion_has_failed(c, "complete") && !hpc_completion_has_failed(c, "brackets");
}

typedef struct tally {
    int64_t asked, passed, rejected, forced;
} tally;

static void try_position(tally *out, hpc_completer *c, const hpc_buf *file, size_t at, uint32_t k)
{
    hpc_position place = {.line = 1};
    for (size_t i = 0; i < at; i++) place.line += file->data[i] == '\n';
    hpc_spot d;
    test_ok(hpc_spot_open(&d, "a.c", file->data, file->n, place));
    hpc_completions made = {0};
    hpc_completions_checker *v;
    hpc_complete_request r = {.spot = &d,
                              .stop = k % 2 ? HPC_STOP_BLOCK : HPC_STOP_FUNCTION,
                              .most = TOKENS,
                              .close = k % 3 > 0,
                              .samples = 1,
                              .prompt_tokens = 64,
                              .sampling = hpc_sampling_greedy()};
    r.sampling.temperature = 1;
    r.sampling.seed = k;
    test_ok(hpc_completions_checker_open(
        &v, &d, &(hpc_completions_verify_options){.stop = r.stop, .path = "a.c"}));
    test_ok(hpc_complete(&made, c, &r));
    test_ok(hpc_completions_check(&made, v));
    const hpc_completion *best = &made.item[0];
    hpc_buf all = {0};
    hpc_buf_add(&all, d.text.data, d.at);
    hpc_buf_add(&all, best->text.data, best->text.n);
    hpc_buf_add(&all, d.text.data + d.at, d.text.n - d.at);
    test_ok(all.failed);
    out->asked++;
    out->passed += has_passed(best);
    out->rejected += !has_passed(best);
    out->forced += best->finish == HPC_COMPLETION_FORCED;
    if (has_passed(best) &&
        unmatched(all.data, all.n, d.language) > unmatched(d.text.data, d.text.n, d.language))
        fail_msg("line %lld, seed %u: %s", (long long)place.line, k, best->text.data);
    hpc_buf_release(&all);
    hpc_completions_release(&made);
    hpc_completions_checker_close(v);
    hpc_spot_close(&d);
}

static void accepted_completions_leave_brackets_closed(void **state)
{
    static const char *const files[] = {"infer/complete/stop.c", "runtime/base/fuse.c",
                                        "corpus/licence.c", "infer/complete/answer.c"};
    enum { FILES = sizeof files / sizeof *files };
    char dir[PATH_MAX];
    hpc_completer *c;
    hpc_buf file[FILES] = {0};
    tally all = {0};
    write_model(hpc_test_path(dir, *state, "model"));
    for (int k = 0; k < FILES; k++) test_ok(hpc_file_read(&file[k], files[k], 1 << 20));
    test_ok(hpc_completer_open(
        &c, &(hpc_engine_options){
                .model = dir, .threads = 1, .weights = HPC_DTYPE_N, .cache_tokens = 1024}));
    for (uint32_t k = 0; k < POSITIONS; k++) {
        uint32_t r[4];
        hpc_random_block(r, 9, 2, 0, k);
        const hpc_buf *f = &file[k % FILES];
        try_position(&all, c, f, r[0] % f->n, k);
    }
    print_message("%lld positions, %lld accepted (%lld closed by force), %lld rejected\n",
                  (long long)all.asked, (long long)all.passed, (long long)all.forced,
                  (long long)all.rejected);
    assert_true(all.passed > POSITIONS / 4 && all.rejected > POSITIONS / 20 && all.forced > 0);
    hpc_completer_close(c);
    for (int k = 0; k < FILES; k++) hpc_buf_release(&file[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(accepted_completions_leave_brackets_closed,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
