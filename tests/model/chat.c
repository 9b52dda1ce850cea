/*
 * Tests of what a model's files state about chats.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "model/chat.h"
#include "model/tokenizer.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

#define PILOT "share/pilot.gguf"

static void put_text(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

/* Settings of the test's folder, with the tokenizer of the model that ships. */
static hpc_json *read_folder(void **state)
{
    char path[PATH_MAX];
    hpc_tokenizer *t;
    hpc_json *out;
    test_ok(hpc_model_tokenizer(&t, PILOT));
    test_ok(hpc_model_chat_read(&out, hpc_test_path(path, *state, "."), t));
    hpc_tokenizer_close(t);
    return out;
}

/* "": absent */
static const char *text_at(const hpc_json *o, const char *key)
{
    const hpc_json *v = hpc_json_get(o, key);
    const char *text = "";
    if (v) test_ok(hpc_json_text(&text, v, key));
    return text;
}

static void reads_one_template_and_special_tokens(void **state)
{
    put_text(state, "tokenizer_config.json",
             "{\"chat_template\":\"one\",\"bos_token\":{\"content\":\"<s>\",\"lstrip\":false},"
             "\"eos_token\":\"</s>\",\"pad_token\":null}");
    put_text(state, "special_tokens_map.json",
             "{\"pad_token\":\"<pad>\",\"unk_token\":{\"content\":\"<?>\"}}");
    hpc_json *o = read_folder(state);
    assert_string_equal(text_at(hpc_json_get(o, "templates"), "default"), "one");
    assert_string_equal(text_at(o, "bos_token"), "<s>");
    assert_string_equal(text_at(o, "eos_token"), "</s>");
    assert_string_equal(text_at(o, "pad_token"), "");
    assert_string_equal(text_at(o, "unk_token"), "<?>");
    hpc_json_free(o);
}

static void reads_named_templates(void **state)
{
    put_text(state, "tokenizer_config.json",
             "{\"chat_template\":[{\"name\":\"default\",\"template\":\"a\"},"
             "{\"name\":\"tool_use\",\"template\":\"b\"}]}");
    hpc_json *o = read_folder(state);
    const hpc_json *list = hpc_json_get(o, "templates");
    assert_int_equal(hpc_json_n(list), 2);
    assert_string_equal(text_at(list, "default"), "a");
    assert_string_equal(text_at(list, "tool_use"), "b");
    hpc_json_free(o);
}

static void prefers_the_template_file(void **state)
{
    put_text(state, "tokenizer_config.json", "{\"chat_template\":\"one\"}");
    put_text(state, "chat_template.jinja", "two\n");
    hpc_json *o = read_folder(state);
    assert_string_equal(text_at(hpc_json_get(o, "templates"), "default"), "two\n");
    hpc_json_free(o);
}

static void reads_the_ends_of_answers(void **state)
{
    int64_t id;
    put_text(state, "generation_config.json", "{\"eos_token_id\":[7,9]}");
    hpc_json *o = read_folder(state);
    assert_int_equal(hpc_json_n(hpc_json_get(o, "end")), 2);
    test_ok(hpc_json_int(&id, hpc_json_at(hpc_json_get(o, "end"), 1), "end"));
    assert_int_equal(id, 9);
    assert_int_equal(hpc_json_n(hpc_json_get(o, "templates")), 0);
    hpc_json_free(o);
    put_text(state, "generation_config.json", "{\"eos_token_id\":7}");
    o = read_folder(state);
    assert_int_equal(hpc_json_n(hpc_json_get(o, "end")), 1);
    hpc_json_free(o);
}

static void takes_tokens_of_a_gguf_from_its_tokenizer(void **state)
{
    hpc_tokenizer *t;
    hpc_json *o;
    (void)state;
    test_ok(hpc_model_tokenizer(&t, PILOT));
    test_ok(hpc_model_chat_read(&o, PILOT, t));
    const int32_t end = hpc_tokenizer_specials(t).end;
    assert_string_equal(text_at(o, "eos_token"), hpc_tokenizer_piece(t, end, NULL));
    assert_int_equal(hpc_json_n(hpc_json_get(o, "templates")), 0);
    hpc_json_free(o);
    hpc_tokenizer_close(t);
}

#define WITH_FOLDER(f)                                                                             \
    cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(reads_one_template_and_special_tokens), WITH_FOLDER(reads_named_templates),
        WITH_FOLDER(prefers_the_template_file), WITH_FOLDER(reads_the_ends_of_answers),
        WITH_FOLDER(takes_tokens_of_a_gguf_from_its_tokenizer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
