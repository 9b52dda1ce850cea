/*
 * edit.c: the cost of a one-line edit within a context of 2,000 tokens: the page of the edit and
 * the text between it and the cursor; with families that put the suffix first, not the suffix.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "infer/complete/priv.h"
#include "model/tokenizer.h"
#include "tests/complete/at.h"
#include "tests/support/folder.h"
#include "tests/support/model.h"

#define PILOT "share/pilot.gguf"
enum { POSITIONS = 4096, PAGE = 16 };

static int drawn(float *out, const hpc_model_tensor *t, void *user)
{
    (void)user;
    hpc_model_init(out, t, 0, hpc_test_model_tensor_n(t), 5);
    return HPC_OK;
}

/* A small model with the marks and the tokenizer of the one that ships, for longer texts. */
static hpc_completer *opened(void **state)
{
    char path[PATH_MAX];
    hpc_model_config c;
    hpc_completer *out;
    const hpc_gguf_options o = {.dtype = HPC_Q8_0, .tokenizer = PILOT, .read = drawn};
    test_ok(hpc_model_config_read(&c, PILOT));
    c.hidden = 64, c.heads = c.kv_heads = 2, c.head_dim = 0, c.layers = 1, c.ffn = 96;
    c.positions = POSITIONS;
    test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "model.gguf"), &c, &o));
    test_ok(hpc_completer_open(&out, &(hpc_engine_options){.model = path,
                                                           .threads = 2,
                                                           .weights = HPC_DTYPE_N,
                                                           .cache_tokens = POSITIONS,
                                                           .requests = 1}));
    return out;
}

static int64_t tokens_of(const char *text, size_t n)
{
    hpc_tokenizer *t = NULL;
    hpc_tokenizer_scratch *s = NULL;
    hpc_ids ids = {0};
    test_ok(hpc_model_tokenizer(&t, PILOT));
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    test_ok(hpc_tokenizer_encode(&ids, t, s, text, n, HPC_ENCODE_INNER));
    int64_t out = ids.n;
    hpc_free(ids.id);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
    return out;
}

/* Tokens computed of the prompt, which is as long as *prompt then. */
static int64_t cost(hpc_completer *c, const hpc_spot *d, int64_t *prompt)
{
    hpc_completions out;
    const int64_t before = hpc_completer_counts(c).computed;
    const hpc_complete_request r = {.spot = d,
                                    .path = "a.c",
                                    .stop = HPC_STOP_FUNCTION,
                                    .most = 1,
                                    .samples = 1,
                                    .prompt_tokens = POSITIONS - 1,
                                    .sampling = hpc_sampling_greedy()};
    test_ok(hpc_complete(&out, c, &r));
    *prompt = out.prompt_tokens;
    hpc_completions_release(&out);
    return hpc_completer_counts(c).computed - before;
}

static size_t line_at(const hpc_spot *d, int line)
{
    size_t at = 0;
    for (int k = 0; k < line; k++) at = complete_line_end(d->text.data, d->text.n, at) + 1;
    return at;
}

/* 140 lines before and after the cursor: edits a middle line before it, then one after it. */
static void one_line_of_two_thousand_tokens(void **state)
{
    enum { LINES = 140, EDITED = 70 };
    hpc_completer *c = opened(state);
    hpc_buf text = {0};
    int64_t prompt, again;
    for (int k = 0; k < 2 * LINES; k++)
        hpc_buf_printf(&text, "static int a%d(int x);\n%s", k, k == LINES - 1 ? "@\n" : "");
    hpc_spot d = place_in("a.c", text.data);
    int64_t all = cost(c, &d, &prompt);
    assert_int_equal(all, prompt);
    assert_in_range(prompt, 1900, 2600);

    size_t edited = line_at(&d, EDITED);
    d.text.data[edited + 7] = 'I'; /* "static Int" */
    const int64_t between = tokens_of(d.text.data + edited, d.at - edited);
    const int64_t computed = cost(c, &d, &again);
    print_message("%lld of %lld tokens are computed again, %lld stand behind the edit\n",
                  (long long)computed, (long long)again, (long long)between);
    assert_in_range(computed, between - 8, between + PAGE + 8); /* a page's tokens go as one */
    assert_true(computed < prompt / 3);

    assert_in_range(cost(c, &d, &again), 1, PAGE + 8); /* nothing is edited */

    d.text.data[line_at(&d, LINES + 1 + EDITED) + 7] = 'I'; /* what follows is shown first */
    const int64_t behind = cost(c, &d, &again);
    assert_true(behind > computed && behind < prompt);
    hpc_completer_close(c);
    hpc_spot_close(&d);
    hpc_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_line_of_two_thousand_tokens, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests_name("complete/edit", tests, NULL, NULL);
}
