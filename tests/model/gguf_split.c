/*
 * gguf_split.c: models in several GGUF files: opened by any of them, and messages about parts that
 * are missing, renamed, or of another model.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "model/priv.h"
#include "tests/support/expect.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

enum { PARTS = 3 };

static const float numbers[PARTS][2] = {{1, 2}, {3, 4}, {5, 6}};

typedef struct part {
    int64_t no, n, tensors; /* as its keys have them */
    const char *name;       /* of its tensor */
} part;

static int give(hpc_file_writer *w, int64_t i, void *user)
{
    return hpc_file_write(w, numbers[i + *(int *)user], sizeof numbers[0]);
}

/* Writes the file of number `k`. The first one has the keys of the model. */
static void save(const char *path, int k, part p)
{
    const hpc_stored_tensor t = {p.name, HPC_F32, 1, {2}, NULL, sizeof numbers[0]};
    const hpc_gguf_value values[] = {{"split.no", HPC_GGUF_U16, 0, 0, &p.no, 2},
                                     {"split.count", HPC_GGUF_U16, 0, 0, &p.n, 2},
                                     {"split.tensors.count", HPC_GGUF_I32, 0, 0, &p.tensors, 4},
                                     {"general.architecture", HPC_GGUF_TEXT, 0, 0, "llama", 5}};
    test_ok(hpc_gguf_save(path, values, k == 0 ? 4 : 3, &t, 1, give, &k));
}

static const char *path_of(char path[PATH_MAX], void **state, int k)
{
    char name[64];
    snprintf(name, sizeof name, "m-%05d-of-%05d.gguf", k + 1, PARTS);
    return hpc_test_path(path, *state, name);
}

static void save_all(void **state)
{
    static const char *const names[PARTS] = {"a", "b", "c"};
    char path[PATH_MAX];
    for (int k = 0; k < PARTS; k++)
        save(path_of(path, state, k), k,
             (part){.no = k, .n = PARTS, .tensors = PARTS, .name = names[k]});
}

static void any_part_opens_the_model(void **state)
{
    char path[PATH_MAX], text[16];
    save_all(state);
    for (int k = 0; k < PARTS; k++) {
        hpc_gguf *g;
        hpc_stored_tensor t;
        test_ok(hpc_gguf_open(&g, path_of(path, state, k)));
        assert_int_equal(hpc_gguf_n(g), PARTS);
        assert_int_equal(model_gguf_parts(g), PARTS);
        test_ok(model_gguf_text(text, sizeof text, g, "general.architecture"));
        assert_string_equal(text, "llama");
        for (int i = 0; i < PARTS; i++) {
            test_ok(hpc_gguf_find(&t, g, (const char *[]){"a", "b", "c"}[i]));
            assert_memory_equal(t.data, numbers[i], sizeof numbers[i]);
            const hpc_file_view *v = model_gguf_view_of(g, t.name);
            const uint8_t *first = v->data;
            assert_true((const uint8_t *)t.data > first &&
                        (const uint8_t *)t.data + t.bytes <= first + v->bytes);
        }
        hpc_gguf_close(g);
    }
}

static void fails_to_open(void **state, int k, int code, const char *says)
{
    char path[PATH_MAX];
    hpc_gguf *g;
    test_fails(hpc_gguf_open(&g, path_of(path, state, k)), code, says);
    assert_null(g);
}

static void missing_part_is_named(void **state)
{
    char path[PATH_MAX];
    save_all(state);
    assert_int_equal(remove(path_of(path, state, 1)), 0);
    fails_to_open(state, 0, HPC_E_IO, "m-00002-of-00003.gguf: part 2 of 3 is missing");
    fails_to_open(state, 2, HPC_E_IO, "m-00002-of-00003.gguf: part 2 of 3 is missing");
    save_all(state);
    assert_int_equal(remove(path_of(path, state, 0)), 0);
    fails_to_open(state, 2, HPC_E_IO, "m-00001-of-00003.gguf: part 1 of 3 is missing");
}

static void wrong_parts_are_rejected(void **state)
{
    char path[PATH_MAX];
    hpc_gguf *g;
    save_all(state);
    save(path_of(path, state, 1), 1, (part){.no = 2, .n = PARTS, .tensors = PARTS, .name = "b"});
    fails_to_open(state, 0, HPC_E_FORMAT, "its keys call it part 3 of 3; its name, part 2 of 3");
    save(path_of(path, state, 1), 1, (part){.no = 1, .n = PARTS, .tensors = PARTS, .name = "c"});
    fails_to_open(state, 0, HPC_E_FORMAT, "tensor c is also in another part");
    save_all(state);
    save(path_of(path, state, 0), 0, (part){.no = 0, .n = PARTS, .tensors = 7, .name = "a"});
    fails_to_open(state, 1, HPC_E_FORMAT, "have 3 tensors, split.tensors.count is 7");
    save(path_of(path, state, 0), 0, (part){.no = 3, .n = PARTS, .tensors = PARTS, .name = "a"});
    fails_to_open(state, 0, HPC_E_FORMAT, "part 3 of 3");
    hpc_test_path(path, *state, "other.gguf");
    save(path, 0, (part){.no = 0, .n = PARTS, .tensors = PARTS, .name = "a"});
    test_fails(hpc_gguf_open(&g, path), HPC_E_FORMAT,
               "part 1 of 3 of a split model, so its name must end in -00001-of-00003.gguf");
}

static int open_again(void *user)
{
    hpc_gguf *g;
    int rc = hpc_gguf_open(&g, user);
    hpc_gguf_close(g);
    return rc;
}

static void failures_release_all_parts(void **state)
{
    char path[PATH_MAX];
    save_all(state);
    path_of(path, state, 1);
    assert_true(hpc_test_each_alloc(open_again, path) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_part_opens_the_model), cmocka_unit_test(missing_part_is_named),
        cmocka_unit_test(wrong_parts_are_rejected), cmocka_unit_test(failures_release_all_parts)};
    return cmocka_run_group_tests_name("model/gguf_split", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
