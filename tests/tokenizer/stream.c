/*
 * stream.c: encoding one long text on many workers: ids of the whole for any number of workers and
 * any way of reading; memory, threads of callbacks, and failures.
 */
#include "tests/tokenizer/spm_model.h"

#include <pthread.h>
#include <unistd.h>

#include "tests/support/fault.h"
#include "tests/support/sanitized.h"
#include "tests/support/expect.h"
#include "tokenizer/priv.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

/* Code with characters of several bytes, special tokens, blanks of all kinds and broken UTF-8. */
static void long_text(hpc_buf *out, size_t bytes)
{
    static const char *const more[] = {
        "<fim_prefix><s>", "        \xFF\xE2\x96   ", "\xC3\xA4_", "<fim_", "x1\r\n", "\n\n\t\t"};
    uint32_t seed = 23;
    hpc_buf code = {0};
    test_ok(hpc_file_read(&code, "runtime/base/json.c", 1 << 20));
    while (out->n < bytes) {
        size_t at = spm_random(&seed) % (code.n - 500);
        test_ok(hpc_buf_add(out, code.data + at, spm_random(&seed) % 500));
        test_ok(hpc_buf_text(out, more[spm_random(&seed) % 6]));
    }
    hpc_buf_release(&code);
}

/* A text delivered in reads, and the resulting ids. */
typedef struct transfer {
    const char *text;
    size_t n, at;
    hpc_ids ids;
    hpc_buf made;
    pthread_t caller;
    int64_t parts;
    size_t ahead; /* most text that was read and not yet written */
    size_t written;
    int64_t fail_read, fail_format, fail_write; /* the Nth from 1; 0: none */
    int wait_for;                               /* reads, before the first part is written */
    int reads, formats, inside;                 /* by atomic built-ins */
} transfer;

static int give(size_t *n, char *to, size_t room, void *user)
{
    transfer *x = user;
    assert_int_equal(__atomic_fetch_add(&x->inside, 1, __ATOMIC_RELAXED), 0);
    *n = x->n - x->at < room ? x->n - x->at : room;
    memcpy(to, x->text + x->at, *n);
    x->at += *n;
    size_t ahead = x->at - __atomic_load_n(&x->written, __ATOMIC_RELAXED);
    if (ahead > x->ahead) x->ahead = ahead;
    __atomic_fetch_sub(&x->inside, 1, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&x->reads, 1, __ATOMIC_RELAXED) == x->fail_read)
        return hpc_fail(HPC_E_IO, "no more text");
    return 0;
}

static int spell(hpc_buf *made, const int32_t *id, int64_t n, void *user)
{
    transfer *x = user;
    assert_int_equal(made->n, 0);
    if (__atomic_add_fetch(&x->formats, 1, __ATOMIC_RELAXED) == x->fail_format)
        return hpc_fail(HPC_E_STATE, "no way to say it");
    for (int64_t i = 0; i < n; i++)
        if (hpc_buf_printf(made, "%d,", (int)id[i]) < 0) return made->failed;
    return 0;
}

/* A part is about 128 KiB of text. */
static int keep(const hpc_ids *ids, const hpc_buf *made, void *user)
{
    transfer *x = user;
    assert_true(pthread_equal(pthread_self(), x->caller));
    if (++x->parts == x->fail_write) return hpc_fail(HPC_E_IO, "nowhere to write");
    while (__atomic_load_n(&x->reads, __ATOMIC_RELAXED) < x->wait_for) usleep(1000);
    if (x->parts == 1 && x->wait_for) usleep(20000); /* time in which no more should come */
    for (int64_t i = 0; i < ids->n; i++) {
        int rc = tokenizer_ids_add(&x->ids, ids->id[i]);
        if (rc < 0) return rc;
    }
    size_t n = x->written + (1 << 17);
    __atomic_store_n(&x->written, n < x->n ? n : x->n, __ATOMIC_RELAXED);
    return made->n > 0 ? hpc_buf_add(&x->made, made->data, made->n) : 0;
}

static int run(transfer *x, const hpc_tokenizer *t, int workers, unsigned flags)
{
    hpc_pool *pool = NULL;
    const hpc_tokenizer_stream s = {.read = give, .format = spell, .write = keep, .user = x};
    int rc;
    x->caller = pthread_self();
    TRY(hpc_pool_create(&pool, workers));
    TRY(hpc_tokenizer_encode_stream(t, pool, flags, &s));
out:
    hpc_pool_free(pool);
    return rc;
}

static void release(transfer *x)
{
    hpc_free(x->ids.id);
    hpc_buf_release(&x->made);
}

/* Against one call with the whole text. */
static void same_as_whole(const hpc_tokenizer *t, const hpc_buf *text, unsigned flags)
{
    static const int workers[] = {1, 2, 7};
    hpc_tokenizer_scratch *s;
    hpc_ids whole = {0};
    hpc_buf spelled = {0};
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    test_ok(hpc_tokenizer_encode(&whole, t, s, text->data, text->n, flags));
    for (int64_t i = 0; i < whole.n; i++) test_ok(hpc_buf_printf(&spelled, "%d,", whole.id[i]));
    for (int k = 0; k < 3; k++) {
        transfer x = {.text = text->data, .n = text->n};
        test_ok(run(&x, t, workers[k], flags));
        assert_int_equal(x.at, text->n);
        assert_int_equal(x.ids.n, whole.n);
        assert_memory_equal(x.ids.id, whole.id, (size_t)whole.n * sizeof *whole.id);
        assert_string_equal(x.made.data, spelled.data);
        release(&x);
    }
    hpc_free(whole.id);
    hpc_buf_release(&spelled);
    hpc_tokenizer_scratch_free(s);
}

static void any_number_of_workers(void **state)
{
    (void)state;
    static const char *const files[] = {"tokenizer/ours.model",  "tokenizer/llama.model",
                                        "tokenizer/nfkc.model",  "tokenizer/unused.model",
                                        "byte_level/qwen2.json", "byte_level/strip.json"};
    hpc_buf text = {0};
    char path[256];
    long_text(&text, 600000);
    for (int k = 0; k < 12; k += HPC_TEST_TSAN ? 11 : 1) {
        unsigned flags = k % 2 ? HPC_ENCODE_SPECIALS | HPC_ENCODE_BEGIN | HPC_ENCODE_END : 0;
        hpc_tokenizer *t;
        snprintf(path, sizeof path, "tests/fixtures/%s", files[k / 2]);
        test_ok(hpc_tokenizer_open(&t, path));
        same_as_whole(t, &text, flags);
        hpc_tokenizer_close(t);
    }
    hpc_buf_release(&text);
}

/* Texts around the length of a part, and none at all. */
static void any_length(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 131071, 131072, 131073, 135168, 135169, 262144, 300000};
    hpc_tokenizer *t = spm_fixture("llama");
    hpc_buf text = {0};
    transfer x = {.text = "", .n = 0};
    long_text(&text, 400000);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        text.n = lengths[k];
        same_as_whole(t, &text, HPC_ENCODE_BEGIN | HPC_ENCODE_END);
    }
    test_ok(run(&x, t, 2, HPC_ENCODE_BEGIN | HPC_ENCODE_END));
    assert_int_equal(x.ids.n, 2);
    assert_int_equal(x.ids.id[0], hpc_tokenizer_specials(t).begin);
    assert_int_equal(x.ids.id[1], hpc_tokenizer_specials(t).end);
    release(&x);
    hpc_buf_release(&text);
    hpc_tokenizer_close(t);
}

/* A text without a cut is one part; one with a single distant cut has two. */
static void cuts_that_are_far(void **state)
{
    (void)state;
    hpc_tokenizer *t;
    hpc_buf text = {0};
    test_ok(hpc_tokenizer_open(&t, "tests/fixtures/byte_level/qwen2.json"));
    while (text.n < 700000) test_ok(hpc_buf_text(&text, "ab;ab "));
    for (int lines = 0; lines < 2; lines++) {
        transfer x = {.text = text.data, .n = text.n};
        test_ok(run(&x, t, 3, 0));
        assert_int_equal(x.parts, 1 + lines);
        release(&x);
        same_as_whole(t, &text, 0);
        text.n = 700000;
        test_ok(hpc_buf_text(&text, "x\ny and what is behind it"));
        while (text.n < 1200000) test_ok(hpc_buf_text(&text, " ;"));
    }
    hpc_buf_release(&text);
    hpc_tokenizer_close(t);
}

/* Neither a special token nor a piece that is looked for is cut where what was read ends in it. */
static void cuts_nothing_that_goes_on(void **state)
{
    (void)state;
    for (size_t k = 0; k < 14; k += HPC_TEST_TSAN ? 7 : 1) {
        hpc_buf m = {0}, text = {0};
        hpc_tokenizer *t;
        spm_piece(&m, "<unk>", 0, SPM_UNKNOWN);
        spm_piece(&m, "aa", -1, SPM_NORMAL);
        spm_piece(&m, "a<", -2, SPM_NORMAL);
        spm_piece(&m, "<mark>", 0, k % 2 ? SPM_CONTROL : SPM_USER);
        spm_end(&m, (spm_spec){.bytes = true});
        test_ok(hpc_tokenizer_open_model(&t, m.data, m.n, "m"));
        while (text.n < 135168 - 7 + k / 2) test_ok(hpc_buf_text(&text, "a"));
        test_ok(hpc_buf_text(&text, "<mark>"));
        for (int i = 0; i < 60000; i++) test_ok(hpc_buf_text(&text, "b;"));
        same_as_whole(t, &text, HPC_ENCODE_SPECIALS);
        hpc_buf_release(&m);
        hpc_buf_release(&text);
        hpc_tokenizer_close(t);
    }
}

/* Whoever writes keeps the others waiting once there are four parts for each worker. */
static void keeps_little_in_memory(void **state)
{
    (void)state;
    hpc_tokenizer *t = spm_fixture("ours");
    hpc_buf text = {0};
    long_text(&text, 4 << 20);
    for (int workers = 1; workers <= 3; workers++) {
        transfer x = {.text = text.data, .n = text.n, .wait_for = workers > 1 ? 4 * workers : 0};
        test_ok(run(&x, t, workers, 0));
        assert_in_range(x.parts, 25, 35);
        assert_in_range(x.ahead, 1 << 17, (size_t)(4 * workers + 1) << 17);
        release(&x);
    }
    hpc_buf_release(&text);
    hpc_tokenizer_close(t);
}

static void a_callback_may_stop_it(void **state)
{
    (void)state;
    hpc_tokenizer *t = spm_fixture("ours");
    hpc_buf text = {0};
    long_text(&text, 3 << 20);
    for (int workers = 1; workers <= 3; workers++) {
        for (int64_t nth = 1; nth < 9; nth += 3) {
            transfer x = {.text = text.data, .n = text.n, .fail_read = nth};
            test_fails(run(&x, t, workers, 0), HPC_E_IO, "no more text");
            assert_true(x.parts < nth);
            release(&x);
            x = (transfer){.text = text.data, .n = text.n, .fail_format = nth};
            test_fails(run(&x, t, workers, 0), HPC_E_STATE, "no way to say it");
            assert_true(x.parts < nth + workers);
            release(&x);
            x = (transfer){.text = text.data, .n = text.n, .fail_write = nth};
            test_fails(run(&x, t, workers, 0), HPC_E_IO, "nowhere to write");
            assert_int_equal(x.parts, nth);
            release(&x);
        }
    }
    transfer x = {.text = text.data, .n = text.n};
    test_fails(run(&x, t, 2, 1u << 20), HPC_E_ARG, "unknown flags");
    assert_int_equal(x.reads, 0);
    hpc_buf_release(&text);
    hpc_tokenizer_close(t);
}

typedef struct failing {
    const hpc_tokenizer *t;
    hpc_buf text;
} failing;

static int encode_on_two(void *user)
{
    const failing *f = user;
    transfer x = {.text = f->text.data, .n = f->text.n};
    int rc = run(&x, f->t, 2, HPC_ENCODE_BEGIN);
    release(&x);
    return rc;
}

static void survives_failures(void **state)
{
    (void)state;
    hpc_tokenizer *t = spm_fixture("llama");
    failing f = {.t = t};
    long_text(&f.text, 300000);
    assert_true(hpc_test_each_alloc(encode_on_two, &f) > 20);
    hpc_buf_release(&f.text);
    hpc_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(any_number_of_workers, setup),
        cmocka_unit_test_setup(any_length, setup),
        cmocka_unit_test_setup(cuts_that_are_far, setup),
        cmocka_unit_test_setup(cuts_nothing_that_goes_on, setup),
        cmocka_unit_test_setup(keeps_little_in_memory, setup),
        cmocka_unit_test_setup(a_callback_may_stop_it, setup),
        cmocka_unit_test_setup(survives_failures, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
