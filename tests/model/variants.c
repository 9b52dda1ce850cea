/*
 * variants.c: families whose fixtures have no weights: logits and gradients equal those of
 * transformers, for the forward program, for the inference program, and for the model that is
 * saved as a directory and as GGUF and read again.
 *
 * The fixtures are made by tests/fixtures/make_variants.py. Weights follow from the names of
 * tensors by the same rule in both programs.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/serve.h"
#include "tests/support/family.h"
#include "tests/support/folder.h"
#include "tests/support/stream.h"

/* Relative to the largest logit, all in f32: up to five blocks of about thirty roundings of 6e-8.
 */
static const double BOUND = 2e-5;

typedef struct variant {
    const char *name;
    bool trains, to_gguf;
} variant;
static const variant variants[] = {
    {"qwen3", true, true},     {"smollm3", true, true},   {"olmo2", true, true},
    {"granite", true, true},   {"phi3", true, true},      {"gemma", true, true},
    {"gemma2", true, true},    {"gemma3", true, true},    {"mixtral", true, true},
    {"qwen2_moe", true, true}, {"qwen3_moe", true, true}, {"qwen3_moe_every", true, false},
    {"olmoe", true, true},
};
enum { VARIANTS = sizeof variants / sizeof *variants, TENSORS = 128, MOST = HPC_TEST_FAMILY_MOST };

/* ---- the weights of a fixture --------------------------------------------------------------- */

typedef struct drawn {
    const variant *v;
    hpc_stored_tensor list[TENSORS];
    char name[TENSORS][96];
    int64_t n;
} drawn;

static int write_drawn(hpc_file_writer *w, int64_t i, void *user)
{
    const drawn *f = user;
    const hpc_stored_tensor *t = &f->list[i];
    float x[MOST];
    int64_t n = (int64_t)(t->bytes / sizeof *x);
    bool one = strstr(t->name, "norm") && strncmp(f->v->name, "gemma", 5) != 0;
    hpc_test_stream s = hpc_test_stream_of(t->name);
    assert_true(n <= MOST);
    for (int64_t k = 0; k < n; k++)
        x[k] = t->rank > 1 ? hpc_test_stream_whole(&s, 16) / 0x1p17f
                           : (float)one + hpc_test_stream_whole(&s, 6) / 64;
    return hpc_file_write(w, x, t->bytes);
}

/* Names and extents, as transformers gave them: lines of a name and numbers. */
static void read_list(drawn *f, const char *text)
{
    for (int used; sscanf(text, "%95s%n", f->name[f->n], &used) == 1; f->n++) {
        hpc_stored_tensor *t = &f->list[f->n];
        assert_true(f->n < TENSORS);
        *t = (hpc_stored_tensor){.name = f->name[f->n], .dtype = HPC_F32, .bytes = sizeof(float)};
        for (text += used; *text == ' '; t->rank++) {
            char *end;
            t->extent[t->rank] = strtol(text, &end, 10);
            t->bytes *= (size_t)t->extent[t->rank];
            text = end;
        }
    }
}

/* Writes the model of a fixture as transformers would; returns its path. */
static const char *make_model(char out[PATH_MAX], const hpc_test_folder *folder, const variant *v)
{
    static drawn f;
    char path[PATH_MAX];
    hpc_file_view config;
    hpc_safetensors *s;
    f = (drawn){.v = v};
    hpc_test_family_path(path, v->name, "/expected.safetensors");
    test_ok(hpc_safetensors_open(&s, path));
    read_list(&f, hpc_safetensors_says(s, "tensors"));
    hpc_safetensors_close(s);
    test_ok(hpc_file_mkdir(hpc_test_path(out, folder, v->name)));
    hpc_test_family_path(path, v->name, "/config.json");
    test_ok(hpc_file_open(&config, path));
    snprintf(path, sizeof path, "%.2000s/config.json", out);
    test_ok(hpc_file_save(path, config.data, config.bytes));
    hpc_file_close(&config);
    snprintf(path, sizeof path, "%.2000s/model.safetensors", out);
    test_ok(hpc_safetensors_save(path, f.list, f.n, NULL, write_drawn, &f));
    return out;
}

/* ---- the forward program -------------------------------------------------------------------- */

static void open_model(hpc_test_model *m, const variant *v, const char *path, hpc_test_steps steps)
{
    double x[MOST], length[8];
    hpc_model_config c;
    test_ok(hpc_model_config_read(&c, path));
    assert_int_equal(c.dtype, HPC_F32);
    int64_t n = hpc_test_family_expected(x, v->name, "tokens");
    hpc_test_model_open(m, &c, n, hpc_test_family_expected(length, v->name, "lengths"), steps);
    hpc_test_family_load(m, path);
    hpc_test_family_feed(m, v->name);
}

static void logits_agree(const variant *v, const char *path, const char *what)
{
    static double all[MOST], want[MOST];
    double row[64];
    hpc_test_model m;
    open_model(&m, v, path, HPC_TEST_LOGITS);
    hpc_test_model_step(&m, 1, 0);
    int64_t vocab = m.c.vocab, rows = hpc_test_family_expected(row, v->name, "rows");
    assert_int_equal(hpc_test_family_expected(want, v->name, "logits"), rows * vocab);
    assert_true(hpc_test_n(m.p, m.io.logits) <= MOST);
    hpc_test_read(m.e, 0, m.io.logits, all);
    for (int64_t k = 0; k < rows; k++) /* rows rise */
        memmove(all + k * vocab, all + (int64_t)row[k] * vocab, (size_t)vocab * sizeof *all);
    double apart = hpc_test_distance(all, want, rows * vocab, 0);
    print_message("%-15s %-10s %.1e\n", v->name, what, apart);
    assert_true(apart <= BOUND);
    hpc_test_model_close(&m);
}

static void logits_are_those_of_transformers(void **state)
{
    char path[PATH_MAX];
    for (int k = 0; k < VARIANTS; k++)
        logits_agree(&variants[k], make_model(path, *state, &variants[k]), "forward");
}

static void gradients_are_those_of_transformers(void **state)
{
    char path[PATH_MAX];
    for (int k = 0; k < VARIANTS; k++) {
        const variant *v = &variants[k];
        double want;
        hpc_test_model m;
        if (!v->trains) continue;
        open_model(&m, v, make_model(path, *state, v), HPC_TEST_GRADIENT);
        double loss = hpc_test_model_step(&m, 1, 0);
        hpc_test_family_expected(&want, v->name, "loss");
        assert_true(fabs(loss - want) <= BOUND);
        hpc_test_family_gradients(&m, v->name, BOUND);
        hpc_test_model_close(&m);
    }
}

/* ---- saved again ---------------------------------------------------------------------------- */

static int read_from(float *out, const hpc_model_tensor *t, void *user)
{
    return hpc_weights_read(out, user, t);
}

static void configurations_agree(const hpc_model_config *a, const char *path)
{
    hpc_model_config b;
    hpc_buf one = {0}, two = {0};
    test_ok(hpc_model_config_read(&b, path));
    b.init_std = a->init_std; /* GGUF has none */
    test_ok(hpc_model_config_write(&one, a));
    test_ok(hpc_model_config_write(&two, &b));
    assert_string_equal(one.data, two.data);
    hpc_buf_release(&one);
    hpc_buf_release(&two);
}

static void models_survive_directories_and_gguf(void **state)
{
    for (int k = 0; k < VARIANTS; k++) {
        const variant *v = &variants[k];
        char from[PATH_MAX], to[PATH_MAX], name[64];
        hpc_model_config c;
        hpc_weights *w;
        test_ok(hpc_model_config_read(&c, make_model(from, *state, v)));
        test_ok(hpc_weights_open(&w, from, &c));
        hpc_weights_save_options o = {.dtype = HPC_F32, .read = read_from, .user = w};
        snprintf(name, sizeof name, "%s-again", v->name);
        test_ok(hpc_weights_save(hpc_test_path(to, *state, name), &c, &o));
        configurations_agree(&c, to);
        logits_agree(v, to, "directory");
        hpc_gguf_options g = {.dtype = HPC_F32, .read = read_from, .user = w};
        snprintf(name, sizeof name, "%s.gguf", v->name);
        if (v->to_gguf) {
            test_ok(hpc_weights_save_gguf(hpc_test_path(to, *state, name), &c, &g));
            configurations_agree(&c, to);
            logits_agree(v, to, "GGUF");
        }
        hpc_weights_close(w);
    }
}

/* ---- the inference program ------------------------------------------------------------------ */

enum { PAGE = 4, PAGES = 16 };

static hpc_dtype as_f32(const hpc_model_tensor *t, const void *user)
{
    (void)t;
    (void)user;
    return HPC_F32;
}

/* Runs tokens [first, first + n) of one document; logits of each. */
static void run_served(hpc_exec *e, const hpc_serve_io *io, const int32_t *token, int first, int n,
                       double *logits)
{
    int32_t pos[64], start[2] = {0, n}, len = first + n, page[PAGES], slot[64], output[64];
    for (int i = 0; i < PAGES; i++) page[i] = (i * 5 + 3) % PAGES;
    for (int i = 0; i < n; i++) {
        pos[i] = first + i;
        slot[i] = page[pos[i] / PAGE] * PAGE + pos[i] % PAGE;
        output[i] = i;
    }
    hpc_test_write_scalar(e, 0, io->tokens_n, n);
    hpc_test_write_scalar(e, 0, io->start_n, 2);
    hpc_test_write_scalar(e, 0, io->output_n, n);
    hpc_test_write_i32(e, 0, io->tokens, token + first);
    hpc_test_write_i32(e, 0, io->pos, pos);
    hpc_test_write_i32(e, 0, io->slot, slot);
    hpc_test_write_i32(e, 0, io->start, start);
    hpc_test_write_i32(e, 0, io->len, &len);
    hpc_test_write_i32(e, 0, io->pages, page);
    hpc_test_write_i32(e, 0, io->output, output);
    test_ok(hpc_exec_run(e, io->decode, 0));
    hpc_test_read(e, 0, io->logits, logits);
}

/* The first document: a prompt of 9 tokens, then single ones. */
static void serve(const variant *v, const char *path)
{
    static double all[64 * 64], want[MOST], token[64];
    double row[64];
    int32_t tokens[64] = {0};
    hpc_serve_emission o = {.tokens = 32,
                            .sequences = 1,
                            .outputs = 32,
                            .pages = PAGES,
                            .page = PAGE,
                            .sequence_pages = PAGES,
                            .cache = HPC_F32,
                            .dtype = as_f32};
    hpc_model_config c;
    hpc_serve_io io;
    hpc_program *p = hpc_program_create();
    hpc_device *d;
    hpc_exec *e;
    hpc_weights *w;
    test_ok(hpc_model_config_read(&c, path));
    test_ok(hpc_serve_emit(&io, p, &c, &o));
    test_ok(hpc_program_check(p));
    test_ok(hpc_device_open(&d, &(hpc_device_options){.threads = 1}));
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    test_ok(hpc_weights_open(&w, path, &c));
    test_ok(hpc_serve_load(e, p, d, w, &c));
    int64_t n = hpc_test_family_expected(token, v->name, "tokens"), vocab = c.vocab, used = 0;
    for (int64_t i = 0; i < n; i++) tokens[i] = (int32_t)token[i];
    run_served(e, &io, tokens, 0, 9, all);
    for (int i = 9; i < 29; i++) {
        double some[32 * 64];
        run_served(e, &io, tokens, i, 1, some);
        memcpy(all + i * vocab, some, (size_t)vocab * sizeof *all);
    }
    hpc_test_family_expected(row, v->name, "rows");
    hpc_test_family_expected(want, v->name, "logits");
    for (; row[used] < 29; used++)
        memmove(all + used * vocab, all + (int64_t)row[used] * vocab, (size_t)vocab * sizeof *all);
    double apart = hpc_test_distance(all, want, used * vocab, 0);
    print_message("%-15s %-10s %.1e\n", v->name, "inference", apart);
    assert_true(used == 5 && apart <= BOUND);
    hpc_weights_close(w);
    hpc_exec_close(e);
    hpc_program_free(p);
    hpc_device_close(d);
}

static void inference_gives_the_same_logits(void **state)
{
    char path[PATH_MAX];
    for (int k = 0; k < VARIANTS; k++) serve(&variants[k], make_model(path, *state, &variants[k]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(logits_are_those_of_transformers, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(gradients_are_those_of_transformers, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(models_survive_directories_and_gguf, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(inference_gives_the_same_logits, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests_name("model/variants", tests, NULL, NULL);
}
