/*
 * Tests of `hpccoder import` and `hpccoder export` between directories and GGUF files: output,
 * reports, round trips and errors.
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
#include <sys/wait.h>

#include "model/metadata.h"
#include "model/model.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

#define LLAMA "tests/fixtures/families/llama"

static hpc_test_outcome o;

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

/* ---- the source, which tests change --------------------------------------------------------- */

static void copy(void **state, const char *from, const char *to)
{
    char path[PATH_MAX];
    hpc_file_view v;
    test_ok(hpc_file_open(&v, from));
    test_ok(hpc_file_save(hpc_test_path(path, *state, to), v.data, v.bytes));
    hpc_file_close(&v);
}

static void make_source(void **state)
{
    char path[PATH_MAX];
    test_ok(hpc_file_mkdir(hpc_test_path(path, *state, "src")));
    copy(state, LLAMA "/config.json", "src/config.json");
    copy(state, LLAMA "/model.safetensors", "src/model.safetensors");
}

static void write_text(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

/* A file of the source with one word replaced by another as long. */
static void replace(void **state, const char *name, const char *word, const char *by)
{
    char path[PATH_MAX];
    hpc_buf data = {0};
    assert_int_equal(strlen(word), strlen(by));
    test_ok(hpc_file_read(&data, hpc_test_path(path, *state, name), 1 << 20));
    char *at = memmem(data.data, data.n, word, strlen(word));
    assert_non_null(at);
    memcpy(at, by, strlen(by));
    test_ok(hpc_file_save(path, data.data, data.n));
    hpc_buf_release(&data);
}

/* ---- what works ----------------------------------------------------------------------------- */

static void same_file(void **state, const char *a, const char *b)
{
    char path_a[PATH_MAX], path_b[PATH_MAX];
    hpc_file_view va, vb;
    test_ok(hpc_file_open(&va, hpc_test_path(path_a, *state, a)));
    test_ok(hpc_file_open(&vb, hpc_test_path(path_b, *state, b)));
    assert_int_equal(va.bytes, vb.bytes);
    assert_memory_equal(va.data, vb.data, va.bytes);
    hpc_file_close(&va);
    hpc_file_close(&vb);
}

static void a_directory_is_written_again(void **state)
{
    make_source(state);
    copy(state, "tests/fixtures/byte_level/gpt2.json", "src/tokenizer.json");
    write_text(state, "src/generation_config.json", "{\"eos_token_id\":[2,3]}");
    write_text(state, "src/README.md", "---\nlicense: mit\n---\n# A model\n");
    write_text(state, "src/notes.txt", "no part of the model");
    hpc_test_command_in(&o, root_of(state), "import @src --out @a -q");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "/a: llama, 21472 parameters in f32 (83.9 KiB), 2 layers of 32, a "
                         "vocabulary of 61, a tokenizer of ");
    hpc_test_says(o.err, "tokens, the vocabulary of the model only the first 61"); /* a warning */
    same_file(state, "a/tokenizer.json", "src/tokenizer.json");
    same_file(state, "a/generation_config.json", "src/generation_config.json");
    same_file(state, "a/README.md", "src/README.md");
    char path[PATH_MAX];
    assert_int_equal(hpc_test_entries(hpc_test_path(path, *state, "a")), 5);
    hpc_test_command_in(&o, root_of(state), "export @a --out @b -q");
    assert_int_equal(o.code, 0);
    same_file(state, "a/model.safetensors", "b/model.safetensors");
    same_file(state, "a/config.json", "b/config.json");
}

static void numbers_are_narrowed(void **state)
{
    hpc_json *root;
    hpc_model_config c;
    char path[PATH_MAX];
    const char *text;
    int64_t n;
    hpc_test_command_in(&o, root_of(state), "import " LLAMA " --out @a --dtype bf16 --json");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.err, "hpccoder import: there is no tokenizer next to the model");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "report"));
    test_ok(hpc_json_int(&n, hpc_json_get(root, "parameters"), "parameters"));
    assert_int_equal(n, 21472);
    test_ok(hpc_json_text(&text, hpc_json_get(root, "dtype"), "dtype"));
    assert_string_equal(text, "bf16");
    assert_int_equal(hpc_json_kind_of(hpc_json_get(root, "tokenizer_tokens")), HPC_JSON_NULL);
    hpc_json_free(root);
    test_ok(hpc_model_config_read(&c, hpc_test_path(path, *state, "a")));
    assert_int_equal(c.dtype, HPC_BF16);
    hpc_file_view v;
    test_ok(hpc_file_open(&v, hpc_test_path(path, *state, "a/model.safetensors")));
    assert_true(v.bytes > 2 * 21472 && v.bytes < 2 * 21472 + 4096);
    hpc_file_close(&v);
}

/* ---- one file
 * -----------------------------------------------------------------------------------------------
 */

static size_t bytes_of(void **state, const char *name)
{
    char path[PATH_MAX];
    hpc_file_view v;
    test_ok(hpc_file_open(&v, hpc_test_path(path, *state, name)));
    size_t bytes = v.bytes;
    hpc_file_close(&v);
    return bytes;
}

static int first_values(float *out, const hpc_model_tensor *t, void *user)
{
    (void)user;
    hpc_model_init(out, t, 0, t->extent[0] * (t->rank == 2 ? t->extent[1] : 1), 1);
    return HPC_OK;
}

/* A model with the vocabulary size of its tokenizer. */
static void make_model(void **state)
{
    char path[PATH_MAX];
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    hpc_weights_save_options save = {.dtype = HPC_BF16, .read = first_values};
    c.hidden = 256, c.vocab = 1000, c.begin = 1, c.end = 2, c.layers = 1, c.dtype = HPC_BF16;
    test_ok(hpc_weights_save(hpc_test_path(path, *state, "src"), &c, &save));
    copy(state, "tests/fixtures/tokenizer/ours.model", "src/tokenizer.model");
}

static void a_gguf_file_holds_all_of_it(void **state)
{
    make_model(state);
    hpc_test_command_in(&o, root_of(state), "export @src --to gguf --out @a.gguf -q");
    assert_int_equal(o.code, 0);
    assert_string_equal(o.err, "");
    hpc_test_says(o.out, "/a.gguf: llama, ");
    hpc_test_says(o.out, " parameters in bf16 (");
    hpc_test_says(o.out, "a vocabulary of 1000, a tokenizer of 1000");
    hpc_test_command_in(&o, root_of(state), "import @a.gguf --out @b -q");
    assert_int_equal(o.code, 0);
    same_file(state, "src/model.safetensors", "b/model.safetensors");
    same_file(state, "src/config.json", "b/config.json");
    same_file(state, "src/generation_config.json", "b/generation_config.json");
    same_file(state, "src/tokenizer.model", "b/tokenizer.model");
    hpc_test_command_in(&o, root_of(state), "export @a.gguf --to gguf --out @c.gguf -q");
    assert_int_equal(o.code, 0);
    assert_int_equal(bytes_of(state, "a.gguf"), bytes_of(state, "c.gguf")); /* but for its name */
}

static void blocks_are_a_quarter(void **state)
{
    hpc_json *root;
    const char *text;
    int64_t n;
    make_model(state);
    hpc_test_command_in(&o, root_of(state),
                        "export @src --to gguf --dtype q4_K --out @a.gguf --json");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.err, "hpccoder export: tensors in q8_0 instead of q4_K, because their rows are "
                         "not multiples of 256: 1 (blk.0.ffn_down.weight");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "report"));
    test_ok(hpc_json_text(&text, hpc_json_get(root, "dtype"), "dtype"));
    assert_string_equal(text, "q4_K");
    test_ok(hpc_json_int(&n, hpc_json_get(root, "bytes"), "bytes"));
    assert_int_equal(n, bytes_of(state, "a.gguf"));
    hpc_json_free(root);
    hpc_test_command_in(&o, root_of(state), "export @a.gguf --to gguf --out @wide.gguf");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.err, "hpccoder export: matrices in q8_0 or another block format become f32; "
                         "--dtype selects another type\n");
    hpc_test_command_in(&o, root_of(state), "export @a.gguf --to packed --out @a.packed");
    assert_null(strstr(o.err, "block format"));
    hpc_test_command_in(&o, root_of(state), "export @src --out @same");
    assert_null(strstr(o.err, "block format"));
    hpc_test_command_in(&o, root_of(state), "import @a.gguf --out @b --dtype f16 -q");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "/b: llama, ");
    hpc_test_says(o.out, " parameters in f16 (");
}

static void states(void **state, const char *model, const char *key, const char *want)
{
    char path[PATH_MAX];
    hpc_json *root;
    const char *text;
    test_ok(hpc_model_metadata_read(&root, hpc_test_path(path, *state, model)));
    const hpc_json *v = hpc_json_get(root, key);
    if (hpc_json_kind_of(v) == HPC_JSON_LIST) v = hpc_json_at(v, hpc_json_n(v) - 1);
    test_ok(hpc_json_text(&text, v, key));
    assert_string_equal(text, want);
    hpc_json_free(root);
}

static void metadata_survives_every_format(void **state)
{
    static const char *const models[] = {"src", "a.gguf", "b", "c.gguf", "d.packed", "e"};
    static const char *const steps[] = {
        "export @src --to gguf --out @a.gguf -q", "import @a.gguf --out @b -q",
        "export @b --to gguf --out @c.gguf -q", "export @b --to packed --out @d.packed -q",
        "export @b --out @e -q"};
    make_model(state);
    write_text(state, "src/README.md",
               "---\nlicense: apache-2.0 # of the weights\nlanguage: [en, 'fr']\n"
               "description: |\n  lines\ntags:\n- code\n  - \"a, \\\"b\\\"\"\n"
               "name: \"Tiny: one\"\nname: two\n---\nlicense: none\n");
    write_text(state, "src/chat_template.jinja", "{% for m in messages %}\n{{ m }}{% endfor %}\n");
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        hpc_test_command_in(&o, root_of(state), steps[k]);
        assert_int_equal(o.code, 0);
    }
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        states(state, models[k], "general.license", "apache-2.0");
        states(state, models[k], "general.languages", "fr");
        states(state, models[k], "general.tags", "a, \"b\"");
        states(state, models[k], "general.name", "Tiny: one");
        states(state, models[k], "tokenizer.chat_template",
               "{% for m in messages %}\n{{ m }}{% endfor %}\n");
    }
}

static void named_chat_templates_survive(void **state)
{
    make_model(state);
    write_text(state, "src/tokenizer_config.json",
               "{\"chat_template\":[{\"name\":\"default\",\"template\":\"A\"},"
               "{\"name\":\"tool_use\",\"template\":\"B\"}]}");
    hpc_test_command_in(&o, root_of(state), "export @src --to gguf --out @a.gguf -q");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root_of(state), "import @a.gguf --out @b -q");
    assert_int_equal(o.code, 0);
    states(state, "b", "tokenizer.chat_template", "A");
    states(state, "b", "tokenizer.chat_template.tool_use", "B");
    states(state, "b", "tokenizer.chat_templates", "tool_use");
}

static void a_readme_that_is_not_text_is_no_error(void **state)
{
    make_model(state);
    write_text(state, "src/README.md", "---\nlicense: \xff\n---\n");
    hpc_test_command_in(&o, root_of(state), "export @src --to gguf --out @a.gguf -q");
    assert_int_equal(o.code, 0);
}

/* ---- mistakes ------------------------------------------------------------------------------- */

static void refuse(void **state, const char *words, const char *part)
{
    char path[PATH_MAX];
    hpc_test_refuses(&o, root_of(state), words, part);
    assert_int_equal(o.code, 2);
    hpc_test_path(path, *state, "out");
    if (hpc_file_exists(path)) assert_int_equal(hpc_test_entries(path), 0);
}

static void mistakes_are_named(void **state)
{
    char path[PATH_MAX];
    make_source(state);
    refuse(state, "import", "name one model directory or FILE.gguf to");
    refuse(state, "import @src @src", "name one model directory");
    refuse(state, "import @src", "--out is missing");
    refuse(state, "import @src --out @out --dtype f8", "--dtype");
    refuse(state, "export @src @src --out @out",
           "name one model directory, FILE.gguf or folder of a run to export");
    refuse(state, "export @src --out @out --to onnx", "--to");
    refuse(state, "export @src --to gguf", "--out is missing: the file to write, FILE.gguf");
    refuse(state, "export @src --out @out --to gguf", "/out: the file name must end in .gguf");
    refuse(state, "export @src --out @out --dtype q8_0", "--dtype q8_0: only files support it");
    copy(state, "tests/fixtures/byte_level/gpt2.json", "src/tokenizer.json");
    refuse(state, "export @src --out @out.gguf --to gguf -q",
           "src: 1000 tokens are more than the 61 of the model");
    test_ok(hpc_file_remove(hpc_test_path(path, *state, "src/tokenizer.json")));
    refuse(state, "import @src --out @src", "/src: the folder is not empty (config.json)");
    refuse(state, "import @nowhere --out @out -q", "nowhere/config.json: No such file");
    replace(state, "src/config.json", "LlamaForCausalLM", "PalmaForCausalLM");
    refuse(state, "import @src --out @out -q",
           "src/config.json: architectures: unknown family PalmaForCausalLM; expected one of");
    replace(state, "src/config.json", "PalmaForCausalLM", "LlamaForCausalLM");
    replace(state, "src/config.json", "\"intermediate_size\": 48", "\"intermediate_size\": 49");
    refuse(state, "import @src --out @out -q", "is [48,32], the configuration needs [49,32]");
    replace(state, "src/config.json", "\"intermediate_size\": 49", "\"intermediate_size\": 48");
    replace(state, "src/model.safetensors", "model.layers.1.mlp.up", "model.layers.1.mlp.op");
    refuse(state, "import @src --out @out -q", "model.layers.1.mlp.up_proj.weight is missing");
    test_ok(hpc_file_remove(hpc_test_path(path, *state, "src/model.safetensors")));
    refuse(state, "import @src --out @out -q", "src has no model.safetensors");
    write_text(state, "src/pytorch_model.bin", "x");
    refuse(state, "import @src --out @out -q", "only pickled weights");
}

/* What a fine-tuning would draw is missed before anything is written. */
static void a_head_that_is_not_there_is_named(void **state)
{
    static const char causal[] = "LlamaForCausalLM";
    char path[PATH_MAX];
    hpc_buf text = {0}, other = {0};
    make_source(state);
    test_ok(hpc_file_read(&text, hpc_test_path(path, *state, "src/config.json"), 1 << 20));
    const char *at = strstr(text.data, causal);
    assert_non_null(at);
    hpc_buf_printf(&other, "%.*sLlamaForSequenceClassification%s", (int)(at - text.data), text.data,
                   at + strlen(causal));
    test_ok(hpc_file_save(path, other.data, other.n));
    hpc_buf_release(&text);
    hpc_buf_release(&other);
    refuse(state, "import @src --out @out -q",
           "a classification head, but score.weight is missing");
}

/* The last element of the last tensor, so that all of the file is read. */
static void weights_that_are_not_finite_are_rejected(void **state)
{
    static const float bad[] = {NAN, INFINITY};
    char path[PATH_MAX];
    hpc_buf data = {0};
    make_source(state);
    test_ok(hpc_file_read(&data, hpc_test_path(path, *state, "src/model.safetensors"), 1 << 20));
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const char *part = k == 0 ? " is NaN; the file is damaged" : " is infinite; the file";
        memcpy(data.data + data.n - sizeof bad[k], &bad[k], sizeof bad[k]);
        test_ok(
            hpc_file_save(hpc_test_path(path, *state, "src/model.safetensors"), data.data, data.n));
        refuse(state, "import @src --out @out -q", part);
        refuse(state, "export @src --to gguf --out @out.gguf -q", part);
        refuse(state, "export @src --to packed --out @out.packed -q", part);
    }
    hpc_buf_release(&data);
}

static void damage_is_named(void **state)
{
    char path[PATH_MAX];
    hpc_file_view v;
    make_source(state);
    test_ok(hpc_file_open(&v, LLAMA "/model.safetensors"));
    hpc_test_path(path, *state, "src/model.safetensors");
    const size_t cuts[] = {0, 7, 100, v.bytes / 2, v.bytes - 1};
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        test_ok(hpc_file_save(path, v.data, cuts[k]));
        refuse(state, "import @src --out @out -q", "src/model.safetensors");
    }
    hpc_file_close(&v);
}

static void files_of_others_bring_their_tokenizer(void **state)
{
    char path[PATH_MAX];
    hpc_test_command_in(&o, root_of(state), "import tests/fixtures/gguf/llama.gguf --out @a");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "/a: llama, 76288 parameters in f32 (");
    hpc_test_says(o.out, ", a tokenizer of 7");
    assert_int_equal(hpc_test_entries(hpc_test_path(path, *state, "a")), 5);
    test_ok(hpc_file_save(hpc_test_path(path, *state, "ids"), "5 3 4", 5));
    hpc_test_command_in(&o, root_of(state), "tokenizer decode @ids --model @a");
    assert_string_equal(o.out, "ab"); /* the dummy prefix goes */
    hpc_test_command_in(&o, root_of(state),
                        "tokenizer decode @ids --model tests/fixtures/gguf/llama.gguf");
    assert_string_equal(o.out, "ab");
}

static void a_file_without_a_tokenizer_has_none(void **state)
{
    char path[PATH_MAX];
    make_source(state);
    hpc_test_command_in(&o, root_of(state), "export @src --to gguf --out @a.gguf -q");
    assert_int_equal(o.code, 0);
    hpc_test_command_in(&o, root_of(state), "import @a.gguf --out @a");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.err, "there is no tokenizer in the model's file");
    assert_int_equal(hpc_test_entries(hpc_test_path(path, *state, "a")), 4); /* with its name */
    ;
    refuse(state, "tokenizer decode - --model @a.gguf", "/a.gguf: it has no tokenizer");
}

static void damaged_files_are_named(void **state)
{
    char path[PATH_MAX];
    hpc_file_view v;
    make_source(state);
    hpc_test_command_in(&o, root_of(state), "export @src --to gguf --out @a.gguf -q");
    assert_int_equal(o.code, 0);
    refuse(state, "export @src --to gguf --out @a.gguf", "/a.gguf: the file exists");
    test_ok(hpc_file_open(&v, hpc_test_path(path, *state, "a.gguf")));
    hpc_test_path(path, *state, "cut.gguf");
    const size_t cuts[] = {0, 3, 100, 1000, v.bytes / 2, v.bytes - 64};
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        test_ok(hpc_file_save(path, v.data, cuts[k]));
        refuse(state, "import @cut.gguf --out @out -q", "/cut.gguf: ");
    }
    hpc_file_close(&v);
    refuse(state, "import @nowhere.gguf --out @out -q", "nowhere.gguf: No such file");
}

/* Through a shell that allows files of `blocks` KiB only: as on a disk that is full. */
static int import_within(void **state, int blocks)
{
    char words[4 * PATH_MAX], program[PATH_MAX];
    snprintf(words, sizeof words,
             "bash -c \"ulimit -f %d; exec '%s' import " LLAMA " --out '%s/full' -q >/dev/null "
             "2>'%s/said'\"",
             blocks, hpc_test_built(program, "hpccoder"), root_of(state), root_of(state));
    int rc = system(words);
    return WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

static void a_full_disk_leaves_nothing(void **state)
{
    char path[PATH_MAX];
    hpc_buf said = {0};
    assert_int_equal(import_within(state, 60), 3);
    test_ok(hpc_file_read(&said, hpc_test_path(path, *state, "said"), 4096));
    hpc_test_says(said.data, "cannot write");
    hpc_test_says(said.data, "full/model.safetensors");
    hpc_buf_release(&said);
    assert_int_equal(hpc_test_entries(hpc_test_path(path, *state, "full")), 0);
    assert_int_equal(import_within(state, 200), 0); /* the empty folder is no hindrance */
    assert_int_equal(hpc_test_entries(path), 3);
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_directory_is_written_again),
        IN_FOLDER(numbers_are_narrowed),
        IN_FOLDER(mistakes_are_named),
        IN_FOLDER(a_head_that_is_not_there_is_named),
        IN_FOLDER(weights_that_are_not_finite_are_rejected),
        IN_FOLDER(damage_is_named),
        IN_FOLDER(a_full_disk_leaves_nothing),
        IN_FOLDER(a_gguf_file_holds_all_of_it),
        IN_FOLDER(files_of_others_bring_their_tokenizer),
        IN_FOLDER(a_file_without_a_tokenizer_has_none),
        IN_FOLDER(blocks_are_a_quarter),
        IN_FOLDER(metadata_survives_every_format),
        IN_FOLDER(named_chat_templates_survive),
        IN_FOLDER(a_readme_that_is_not_text_is_no_error),
        IN_FOLDER(damaged_files_are_named),
    };
    return cmocka_run_group_tests_name("cmd/import", tests, NULL, NULL);
}
