/*
 * passage*.c: every run of 40 tokens is found at any position; shorter, uninformative and common
 * ones are not; damaged files are rejected.
 */
/* tsan: left out, starts no thread. */
#include <stdio.h>

#include "tests/source/tokens.h"

#include "runtime/base/mix.h"
#include "runtime/source/passage_priv.h"
#include "tests/support/fault.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

/* Code of a seed: each token by an accident, every fourth a mark of little meaning. */
static hpc_token token_of(uint64_t seed, int64_t i)
{
    static const uint8_t kinds[] = {HPC_TOKEN_NAME, HPC_TOKEN_PUNCT, HPC_TOKEN_NAME,
                                    HPC_TOKEN_NUMBER};
    uint64_t h = hpc_mix(seed << 32 | (uint64_t)i);
    hpc_token t = {.kind = kinds[i & 3], .hash = (uint32_t)h};
    if (t.kind == HPC_TOKEN_PUNCT) t.hash = (uint32_t)(h % 20);
    return t;
}

static void add_code(hpc_tokens *t, uint64_t seed, int64_t first, int64_t n)
{
    assert_int_equal(hpc_grow(&t->item, &t->cap, t->n + n, sizeof *t->item), 0);
    for (int64_t i = first; i < first + n; i++) t->item[t->n++] = token_of(seed, i);
}

static hpc_tokens code(uint64_t seed, int64_t n)
{
    hpc_tokens t = {0};
    add_code(&t, seed, 0, n);
    return t;
}

enum { LENGTH = 1000, TEXTS = 5 };
static const hpc_source owner[TEXTS] = {{"a/one", "MIT"},
                                        {"a/one", "MIT"},
                                        {"b/two", "Apache-2.0 OR MIT"},
                                        {"b/two", "MIT"},
                                        {"c/3", "MIT"}};

/* Text k is code of seed k, and at its end 60 tokens of seed 100 that a/one (1) and b/two (2, 3)
 * have, and 60 of seed 200 that all have. */
static void add_texts(hpc_buf *out)
{
    hpc_passage_maker *m = NULL;
    hpc_tokens t[TEXTS] = {{0}};
    assert_int_equal(hpc_passage_maker_create(&m), 0);
    for (int k = 0; k < TEXTS; k++) {
        add_code(&t[k], (uint64_t)k, 0, LENGTH);
        if (k > 0 && k < 4) add_code(&t[k], 100, 0, 60);
        add_code(&t[k], 200, 0, 60);
        assert_int_equal(hpc_passage_maker_pick(m, &t[k]), 0);
    }
    for (int k = 0; k < TEXTS; k++) {
        assert_int_equal(hpc_passage_maker_learn(m, owner[k].repository, owner[k].licence, &t[k]),
                         0);
        hpc_tokens_release(&t[k]);
    }
    assert_int_equal(hpc_passage_maker_finish(out, m), 0);
    hpc_passage_maker_free(m);
}

static hpc_passages *parsed(const hpc_buf *file)
{
    hpc_passages *p = NULL;
    if (hpc_passages_parse(&p, (const uint8_t *)file->data, file->n, "it") < 0)
        fail_msg("%s", hpc_error_get()->text);
    return p;
}

static hpc_passage_list asked(const hpc_passages *p, const hpc_tokens *t)
{
    hpc_passage_list l = {0};
    assert_int_equal(hpc_passages_find(&l, p, t, 0, t->n), 0);
    return l;
}

/* Excerpts of the texts at every offset, between other code: all of 40 tokens and more are found.
 * For 33 to 36 tokens a foreign window before or after the run must get a value that fits, for 29
 * to 32 two of them; each does in 3 of 128 cases. The means are 47 and 1.6 of 1,000 excerpts.
 * Neighbouring excerpts share windows, so the counts vary more than independent ones. */
static void every_run_is_found(void **state)
{
    (void)state;
    hpc_buf file = {0};
    add_texts(&file);
    hpc_passages *p = parsed(&file);
    hpc_passages_facts f;
    hpc_passages_describe(&f, p);
    assert_int_equal(f.sources_n, 4);
    assert_int_equal(f.bytes, file.n);
    assert_int_equal(f.tokens_n, TEXTS * LENGTH + 3 * 60 + TEXTS * 60);
    assert_in_range(f.windows_n, TEXTS * LENGTH / 4, f.tokens_n / 4);
    for (int n = 25; n <= 45; n++) {
        int found = 0, exact = 0;
        for (int64_t from = 0; from + n <= LENGTH; from++) {
            hpc_tokens t = code(77, 50);
            int k = (int)(from % TEXTS);
            add_code(&t, (uint64_t)k, from, n);
            add_code(&t, 78, 0, 50);
            hpc_passage_list l = asked(p, &t);
            found += l.n > 0;
            if (n >= HPC_PASSAGE_TOKENS) {
                assert_int_equal(l.n, 1);
                const hpc_passage *x = &l.item[0];
                const hpc_source *s = hpc_passages_source(p, x->source[0]);
                assert_int_equal(x->sources_n, 1);
                assert_string_equal(s->repository, owner[k].repository);
                assert_string_equal(s->licence, owner[k].licence);
                assert_in_range(x->first, 42, 53); /* foreign windows that fit */
                assert_in_range(x->last, 50 + n - 3, 50 + n + 8);
                exact += x->first >= 50 && x->last <= 50 + n;
                assert_int_equal(x->tokens, x->last - x->first);
            }
            hpc_passage_list_release(&l);
            hpc_tokens_release(&t);
        }
        /* No foreign window fits at either end: about 900 of 960 here. */
        if (n >= HPC_PASSAGE_TOKENS) assert_in_range(exact, LENGTH / 20 * 17, LENGTH);
        if (n <= 36) assert_in_range(found, 0, LENGTH / 10);
        if (n <= 32) assert_in_range(found, 0, LENGTH / 100);
    }
    hpc_passages_close(p);
    hpc_buf_release(&file);
}

/* What three sources in two repositories have is named by all of them, what three repositories
 * have by none. */
static void who_has_it(void **state)
{
    (void)state;
    hpc_buf file = {0};
    add_texts(&file);
    hpc_passages *p = parsed(&file);
    hpc_tokens t = code(77, 50);
    add_code(&t, 100, 0, 60);
    add_code(&t, 78, 0, 50);
    hpc_passage_list l = asked(p, &t);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.item[0].sources_n, 3);
    for (int k = 0; k < 3; k++) assert_int_equal(l.item[0].source[k], k);
    t.n = 0;
    add_code(&t, 77, 0, 50);
    add_code(&t, 200, 0, 60);
    hpc_passage_list_release(&l);
    l = asked(p, &t);
    assert_int_equal(l.n, 0);
    t.n = 0; /* two, contiguous */
    add_code(&t, 1, 100, 80);
    add_code(&t, 4, 300, 70);
    hpc_passage_list_release(&l);
    l = asked(p, &t);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.item[0].source[0], 0);
    assert_in_range(l.item[0].tokens, 77, 80);
    assert_string_equal(hpc_passages_source(p, l.item[1].source[0])->repository, "c/3");
    assert_in_range(l.item[1].tokens, 67, 70);
    hpc_passage_list_release(&l);
    hpc_tokens_release(&t);
    hpc_passages_close(p);
    hpc_buf_release(&file);
}

/* Two million tokens of other code: nothing. */
static void fresh_code_is_not_named(void **state)
{
    (void)state;
    hpc_buf file = {0};
    add_texts(&file);
    hpc_passages *p = parsed(&file);
    for (uint64_t seed = 1000; seed < 1200; seed++) {
        hpc_tokens t = code(seed, 10000);
        hpc_passage_list l = asked(p, &t);
        assert_int_equal(l.n, 0);
        hpc_passage_list_release(&l);
        hpc_tokens_release(&t);
    }
    hpc_passages_close(p);
    hpc_buf_release(&file);
}

static hpc_buf file_of(const char *text)
{
    hpc_passage_maker *m = NULL;
    hpc_buf out = {0};
    hpc_tokens t = test_lex(text, strlen(text), HPC_LANGUAGE_C, false);
    assert_int_equal(hpc_passage_maker_create(&m), 0);
    assert_int_equal(hpc_passage_maker_pick(m, &t), 0);
    assert_int_equal(hpc_passage_maker_learn(m, "a/b", "MIT", &t), 0);
    assert_int_equal(hpc_passage_maker_finish(&out, m), 0);
    hpc_passage_maker_free(m);
    hpc_tokens_release(&t);
    return out;
}

static int64_t found_in(const hpc_passages *p, const char *text)
{
    hpc_tokens t = test_lex(text, strlen(text), HPC_LANGUAGE_C, false);
    hpc_passage_list l = asked(p, &t);
    int64_t n = l.n;
    hpc_passage_list_release(&l);
    hpc_tokens_release(&t);
    return n;
}

#define LOOP                                                                                       \
    "for (int i = 1; i < rows - 1; i++) {\n    for (int j = 1; j < cols; j++) {\n"                 \
    "        next[i * cols + j] = 0.25 * (grid[i * cols + j - 1] + grid[i * cols + j]);\n    "     \
    "}\n}\n"

/* Layout and comments do not matter; tables, includes and braces are common code. */
static void what_says_nothing(void **state)
{
    (void)state;
    static const char tables[] =
        "{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}, {13, 14, 15}, {16, 17, 18}, {19, 20}}\n"
        "#include <a.h>\n#include <b.h>\n#include <c.h>\n#include <d.h>\n#include <e.h>\n"
        "#include <f.h>\n#include <g.h>\n#include <h.h>\n#include <i.h>\n#include <j.h>\n"
        "#include <k.h>\n#include <l.h>\n#include <m.h>\n#include <n.h>\n#include <o.h>\n"
        "}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}\n";
    hpc_buf loop = file_of("int a;\n" LOOP), table = file_of(tables);
    hpc_passages *p = parsed(&loop), *q = parsed(&table);
    assert_int_equal(found_in(p, LOOP), 1);
    assert_int_equal(found_in(p, "/* x */ " LOOP "// y\n"), 1);
    assert_int_equal(found_in(p, "for(int i=1;i<rows-1;i++){for(int j=1;j<cols;j++){ // z\n"
                                 "next[i*cols+j]=0.25*(grid[i*cols+j-1]+grid[i*cols+j]);}}"),
                     1);
    assert_int_equal(found_in(p, "for (int i = 1; i < rows - 1; i++) f(i);"), 0);
    assert_int_equal(found_in(p, ""), 0);
    assert_int_equal(found_in(q, tables), 0);
    hpc_passages_close(p);
    hpc_passages_close(q);
    hpc_buf_release(&loop);
    hpc_buf_release(&table);
}

/* More sources need wider slots; too many are an error. */
static void many_sources(void **state)
{
    (void)state;
    enum { MANY = HPC_PASSAGE_SOURCES_MOST };
    hpc_passage_maker *m = NULL;
    hpc_buf file = {0};
    char name[32];
    hpc_tokens t[MANY];
    assert_int_equal(hpc_passage_maker_create(&m), 0);
    for (int k = 0; k < MANY; k++) {
        t[k] = code((uint64_t)k, 200);
        assert_int_equal(hpc_passage_maker_pick(m, &t[k]), 0);
    }
    for (int k = 0; k < MANY; k++) {
        snprintf(name, sizeof name, "a/%d", k);
        assert_int_equal(hpc_passage_maker_learn(m, name, "MIT", &t[k]), 0);
    }
    assert_int_equal(hpc_passage_maker_learn(m, "a/more", "MIT", &t[0]), HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "a/more, MIT: more than 256"));
    hpc_error_clear();
    assert_int_equal(hpc_passage_maker_learn(m, "a/\n", "MIT", &t[0]), HPC_E_ARG);
    hpc_error_clear();
    assert_int_equal(hpc_passage_maker_finish(&file, m), 0);
    hpc_passages *p = parsed(&file);
    for (int k = 0; k < MANY; k++) {
        hpc_passage_list l = asked(p, &t[k]);
        assert_int_equal(l.n, 1);
        assert_int_equal(l.item[0].sources_n, 1);
        assert_int_equal(l.item[0].source[0], k);
        assert_in_range(l.item[0].tokens, 197, 200);
        hpc_passage_list_release(&l);
        hpc_tokens_release(&t[k]);
    }
    hpc_passages_close(p);
    hpc_passage_maker_free(m);
    hpc_buf_release(&file);
}

/* A maker that was given nothing makes a file in which nothing is found. */
static void nothing_at_all(void **state)
{
    (void)state;
    hpc_passage_maker *m = NULL;
    hpc_buf file = {0};
    hpc_tokens t = code(1, 100), few = code(1, 16);
    assert_int_equal(hpc_passage_maker_create(&m), 0);
    assert_int_equal(hpc_passage_maker_pick(m, &few), 0);
    assert_int_equal(hpc_passage_maker_learn(m, "a/b", "MIT", &few), 0);
    assert_int_equal(hpc_passage_maker_finish(&file, m), 0);
    hpc_passages *p = parsed(&file);
    hpc_passage_list l = asked(p, &t);
    assert_int_equal(l.n, 0);
    hpc_passage_list_release(&l);
    hpc_passages_close(p);
    hpc_passage_maker_free(m);
    hpc_buf_release(&file);
    hpc_tokens_release(&t);
    hpc_tokens_release(&few);
}

/* ---- what is wrong ------------------------------------------------------------------------- */

static void seal(hpc_buf *file)
{
    size_t body = file->n - PASSAGE_HASH;
    hpc_put_hash((uint8_t *)file->data + body, hpc_hash_wide(file->data, body));
}

static void refuses(const hpc_buf *file, size_t n, const char *says)
{
    hpc_passages *p = NULL;
    assert_true(hpc_passages_parse(&p, (const uint8_t *)file->data, n, "it") < 0);
    assert_null(p);
    if (!strstr(hpc_error_get()->text, says)) fail_msg("%s", hpc_error_get()->text);
    hpc_error_clear();
}

static void damage_is_seen(void **state)
{
    (void)state;
    static const struct {
        int at;
        const char *says;
    } wrong[] = {{0, "not a passage index"},
                 {PASSAGE_AT_VERSION, "version 200"},
                 {PASSAGE_AT_LEXER, "a different lexer"},
                 {PASSAGE_AT_COUNTS + 8 * PASSAGE_TEXT_BYTES, "are inconsistent"},
                 {PASSAGE_AT_COUNTS + 8 * PASSAGE_TEXT_BYTES + 7, "are inconsistent"},
                 {PASSAGE_AT_COUNTS + 8 * PASSAGE_SOURCES_N, "are inconsistent"},
                 {PASSAGE_AT_COUNTS + 8 * PASSAGE_SETS_N, "are inconsistent"},
                 {PASSAGE_AT_COUNTS + 8 * PASSAGE_SETS_N + 7, "are inconsistent"},
                 {PASSAGE_AT_COUNTS + 8 * PASSAGE_BITS, "are inconsistent"},
                 {PASSAGE_AT_MAP + 8, "are inconsistent"},
                 {PASSAGE_AT_MAP + 16, "are inconsistent"},
                 {PASSAGE_AT_MAP + 23, "are inconsistent"}};
    hpc_buf file = {0};
    add_texts(&file);
    uint8_t *d = (uint8_t *)file.data;
    for (size_t n = 0; n < file.n; n += n < 400 ? 1 : 97) refuses(&file, n, "it");
    d[file.n / 2] ^= 1;
    refuses(&file, file.n, "checksum");
    d[file.n / 2] ^= 1;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        uint8_t was = d[wrong[k].at];
        d[wrong[k].at] = 200;
        seal(&file);
        refuses(&file, file.n, wrong[k].says);
        d[wrong[k].at] = was;
    }
    char *tab = memchr(d + PASSAGE_HEADER, '\t', 40);
    *tab = ' ';
    seal(&file);
    refuses(&file, file.n, "are inconsistent");
    *tab = '\t';
    size_t sets = PASSAGE_HEADER + hpc_get64(d + PASSAGE_AT_COUNTS);
    d[sets] = 9;
    seal(&file);
    refuses(&file, file.n, "are inconsistent");
    hpc_buf_release(&file);
    hpc_passages *p;
    assert_int_equal(hpc_passages_open(&p, "build/no.passages"), HPC_E_IO);
    assert_non_null(strstr(hpc_error_get()->text, "no.passages"));
    hpc_error_clear();
}

/* Version 1 has the width of a slot in bytes. */
static void reads_version_1(void **state)
{
    (void)state;
    enum { MANY = 41 }; /* sources enough for slots of 16 bits */
    hpc_passage_maker *m = NULL;
    hpc_buf file = {0};
    char name[32];
    hpc_tokens t[MANY];
    assert_int_equal(hpc_passage_maker_create(&m), 0);
    for (int k = 0; k < MANY; k++) {
        t[k] = code((uint64_t)k, 200);
        assert_int_equal(hpc_passage_maker_pick(m, &t[k]), 0);
    }
    for (int k = 0; k < MANY; k++) {
        snprintf(name, sizeof name, "a/%d", k);
        assert_int_equal(hpc_passage_maker_learn(m, name, "MIT", &t[k]), 0);
    }
    assert_int_equal(hpc_passage_maker_finish(&file, m), 0);
    uint8_t *d = (uint8_t *)file.data, *bits = d + PASSAGE_AT_COUNTS + 8 * PASSAGE_BITS;
    assert_int_equal(hpc_get64(bits), 16);
    hpc_put32(d + PASSAGE_AT_VERSION, 1);
    seal(&file);
    refuses(&file, file.n, "are inconsistent"); /* 16 bytes */
    hpc_put64(bits, 2);
    seal(&file);
    hpc_passages *p = parsed(&file);
    for (int k = 0; k < MANY; k++) {
        hpc_passage_list l = asked(p, &t[k]);
        assert_int_equal(l.n, 1);
        assert_int_equal(l.item[0].source[0], k);
        hpc_passage_list_release(&l);
        hpc_tokens_release(&t[k]);
    }
    hpc_passages_close(p);
    hpc_passage_maker_free(m);
    hpc_buf_release(&file);
}

static int make_and_find(void *user)
{
    hpc_tokens *t = user;
    hpc_passage_maker *m = NULL;
    hpc_passages *p = NULL;
    hpc_passage_list l = {0};
    hpc_buf file = {0};
    int rc;
    TRY(hpc_passage_maker_create(&m));
    TRY(hpc_passage_maker_pick(m, t));
    TRY(hpc_passage_maker_learn(m, "a/b", "MIT", t));
    TRY(hpc_passage_maker_learn(m, "a/c", "MIT", t));
    TRY(hpc_passage_maker_finish(&file, m));
    TRY(hpc_passages_parse(&p, (const uint8_t *)file.data, file.n, "it"));
    TRY(hpc_passages_find(&l, p, t, 0, t->n));
    assert_int_equal(l.n, 1);
    assert_int_equal(l.item[0].sources_n, 2);
out:
    hpc_passage_list_release(&l);
    hpc_passages_close(p);
    hpc_buf_release(&file);
    hpc_passage_maker_free(m);
    return rc;
}

static void out_of_memory(void **state)
{
    (void)state;
    hpc_tokens t = code(3, 300);
    assert_true(hpc_test_each_alloc(make_and_find, &t) > 20);
    hpc_tokens_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_run_is_found, setup),
        cmocka_unit_test_setup(who_has_it, setup),
        cmocka_unit_test_setup(fresh_code_is_not_named, setup),
        cmocka_unit_test_setup(what_says_nothing, setup),
        cmocka_unit_test_setup(many_sources, setup),
        cmocka_unit_test_setup(nothing_at_all, setup),
        cmocka_unit_test_setup(damage_is_seen, setup),
        cmocka_unit_test_setup(reads_version_1, setup),
        cmocka_unit_test_setup(out_of_memory, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
