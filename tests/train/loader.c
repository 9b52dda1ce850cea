/*
 * loader.c: contents of rows, their order, and resuming the order.
 */
#include <stdlib.h>

#include "tests/train/data.h"

static hpc_loader_options options_of(const hpc_loader_source *s, int64_t n)
{
    return (hpc_loader_options){
        .source = s, .source_n = n, .length = 24, .documents = 6, .seed = 5};
}

typedef struct reading {
    hpc_loader *l;
    hpc_batch *b;
} reading;

static reading open_reading(const hpc_loader_options *o, int64_t rows)
{
    reading r;
    test_ok(hpc_loader_open(&r.l, o));
    test_ok(hpc_batch_create(&r.b, o, rows, 1));
    return r;
}

static void close_reading(reading *r)
{
    hpc_batch_free(r->b);
    hpc_loader_close(r->l);
}

/* All documents of data_make, contiguous, and their starts. */
typedef struct stream {
    int32_t token[20000];
    int64_t begin[600], n, documents;
} stream;

static stream *make_stream(int64_t documents)
{
    stream *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int64_t i = 0; i < documents; i++) {
        s->begin[i] = s->n;
        s->n += data_document(s->token + s->n, i, 7);
    }
    s->documents = documents;
    s->begin[documents] = s->n;
    return s;
}

static bool is_begin(const stream *s, int64_t at)
{
    for (int64_t i = 0; i <= s->documents; i++)
        if (s->begin[i] == at) return true;
    return false;
}

/* Position of a row in the stream; asserts that it is there. */
static int64_t find_row(const stream *s, const int32_t *token, int64_t length)
{
    for (int64_t at = 0; at + length < s->n; at += length)
        if (memcmp(s->token + at, token, (size_t)length * sizeof *token) == 0) return at;
    fail_msg("a row that is not in the data");
    return -1;
}

static void check_row(const stream *s, const hpc_batch *b, int64_t row, int64_t at)
{
    const int64_t length = b->length, base = row * length;
    int32_t pos = 0;
    for (int64_t k = 0; k < length; k++) {
        bool last = is_begin(s, at + k + 1);
        if (is_begin(s, at + k)) pos = 0;
        assert_int_equal(b->targets[base + k], last ? -1 : s->token[at + k + 1]);
        assert_int_equal(b->pos[base + k], pos++);
        bool begins = k == 0 || is_begin(s, at + k), found = false;
        for (int32_t i = 0; i + 1 < b->start_n; i++) found |= b->start[i] == base + k;
        assert_int_equal(found, begins);
    }
    assert_int_equal(b->start[b->start_n - 1], b->rows * length);
}

static void pieces_of_the_stream(void **state)
{
    char path[PATH_MAX];
    hpc_loader_source s = {.path = data_set(path, *state, "a", 200, NULL)};
    hpc_loader_options o = options_of(&s, 1);
    reading r = open_reading(&o, 1);
    stream *all = make_stream(200);
    int64_t rows = hpc_loader_rows(r.l), *order[2];
    assert_int_equal(rows, (all->n - 1) / 24);
    for (int pass = 0; pass < 2; pass++) {
        bool *seen = calloc((size_t)rows, sizeof *seen);
        order[pass] = calloc((size_t)rows, sizeof **order);
        assert_non_null(seen);
        for (int64_t k = 0; k < rows; k++) {
            test_ok(hpc_loader_next(r.b, r.l, r.b->rows));
            int64_t at = find_row(all, r.b->tokens, 24);
            check_row(all, r.b, 0, at);
            assert_false(seen[at / 24]); /* each once */
            seen[at / 24] = true;
            order[pass][k] = at / 24;
        }
        free(seen);
    }
    int64_t same = 0, ascending = 0;
    for (int64_t k = 0; k < rows; k++) {
        same += order[0][k] == order[1][k];
        ascending += k > 0 && order[0][k] == order[0][k - 1] + 1;
    }
    assert_true(same < rows / 10 && ascending < rows / 10);
    free(order[0]);
    free(order[1]);
    free(all);
    close_reading(&r);
}

static void in_order(void **state)
{
    char path[PATH_MAX];
    hpc_loader_source s = {.path = data_set(path, *state, "a", 50, NULL)};
    hpc_loader_options o = options_of(&s, 1);
    o.ordered = true;
    reading r = open_reading(&o, 3);
    stream *all = make_stream(50);
    for (int64_t k = 0; k < 5; k++) {
        test_ok(hpc_loader_next(r.b, r.l, r.b->rows));
        for (int64_t row = 0; row < 3; row++) {
            int64_t at = find_row(all, r.b->tokens + row * 24, 24);
            assert_int_equal(at / 24, (3 * k + row) % hpc_loader_rows(r.l));
        }
    }
    free(all);
    close_reading(&r);
}

/* One more document than there is room for stays in the last one's sequence. */
static void few_documents(void **state)
{
    char path[PATH_MAX];
    hpc_loader_source s = {.path = data_set(path, *state, "a", 200, NULL)};
    hpc_loader_options o = options_of(&s, 1);
    o.documents = 1;
    reading r = open_reading(&o, 4);
    for (int k = 0; k < 20; k++) {
        test_ok(hpc_loader_next(r.b, r.l, r.b->rows));
        assert_int_equal(r.b->start_n, 5);
        for (int64_t i = 0; i < 4 * 24; i++) assert_int_equal(r.b->pos[i], i % 24);
    }
    close_reading(&r);
}

static void goes_on_where_it_was(void **state)
{
    char path[2][PATH_MAX];
    hpc_loader_source s[2] = {{.path = data_set(path[0], *state, "a", 60, NULL), .weight = 1},
                              {.path = data_set(path[1], *state, "b", 90, NULL), .weight = 2}};
    hpc_loader_options o = options_of(s, 2);
    reading r = open_reading(&o, 2);
    static int32_t first[50][48];
    hpc_loader_state at[50];
    for (int k = 0; k < 50; k++) {
        at[k] = hpc_loader_tell(r.l);
        test_ok(hpc_loader_next(r.b, r.l, r.b->rows));
        memcpy(first[k], r.b->tokens, sizeof first[k]);
    }
    for (int k = 49; k >= 0; k -= 7) {
        test_ok(hpc_loader_seek(r.l, &at[k]));
        test_ok(hpc_loader_next(r.b, r.l, r.b->rows));
        assert_memory_equal(first[k], r.b->tokens, sizeof first[k]);
    }
    hpc_loader_state wrong = at[3];
    wrong.taken[0]++;
    test_fails(hpc_loader_seek(r.l, &wrong), HPC_E_FORMAT, "rows given");
    wrong = at[3];
    wrong.taken[2] = 1;
    test_fails(hpc_loader_seek(r.l, &wrong), HPC_E_ARG, "3 data sets, but there are 2");
    close_reading(&r);
}

/* Shares are those of the weights, within four standard deviations of drawing. */
static void blends_by_weight(void **state)
{
    enum { ROWS = 4000 };
    char path[2][PATH_MAX];
    hpc_loader_source s[2] = {{.path = data_set(path[0], *state, "a", 60, NULL), .weight = 1},
                              {.path = data_set(path[1], *state, "b", 60, NULL), .weight = 3}};
    hpc_loader_options o = options_of(s, 2);
    reading r = open_reading(&o, 4);
    for (int k = 0; k < ROWS / 4; k++) test_ok(hpc_loader_next(r.b, r.l, r.b->rows));
    hpc_loader_state at = hpc_loader_tell(r.l);
    assert_int_equal(at.rows, ROWS);
    assert_int_equal(at.taken[0] + at.taken[1], ROWS);
    assert_true(fabs((double)at.taken[0] - ROWS / 4.0) < 4 * sqrt(ROWS * 0.25 * 0.75));
    close_reading(&r);
}

static void answers_alone(void **state)
{
    char path[PATH_MAX];
    hpc_loader_source s = {.path = data_set(path, *state, "a", 30, "answer")};
    hpc_loader_options o = options_of(&s, 1);
    o.objective = HPC_OBJECTIVE_ANSWER;
    o.ordered = true;
    o.documents = 1;
    reading r = open_reading(&o, 3);
    int64_t document = 0;
    for (int k = 0; k < 5; k++) {
        int64_t at = 0;
        test_ok(hpc_loader_next(r.b, r.l, r.b->rows));
        for (int row = 0; row < 3; row++, document++) {
            int32_t token[LONGEST_DOCUMENT];
            int64_t n = data_document(token, document, 7), skip = n > 24 ? n - 24 : 0;
            assert_int_equal(r.b->start[row], at);
            for (int64_t i = skip; i < n; i++, at++) {
                bool counts = i + 1 < n && i + 1 >= n / 2;
                assert_int_equal(r.b->tokens[at], token[i]);
                assert_int_equal(r.b->targets[at], counts ? token[i + 1] : -1);
            }
        }
        assert_int_equal(r.b->tokens_n, at);
        for (; at < 3 * 24; at++) assert_int_equal(r.b->targets[at], -1);
        assert_int_equal(r.b->start[r.b->start_n - 1], 3 * 24);
    }
    close_reading(&r);
}

static void check_labels(void **state, const char *column)
{
    char path[PATH_MAX];
    hpc_loader_source s = {.path = data_set(path, *state, column, 30, column)};
    hpc_loader_options o = options_of(&s, 1);
    o.objective = HPC_OBJECTIVE_CLASSES;
    o.classes = 3;
    o.ordered = true;
    o.documents = 1;
    reading r = open_reading(&o, 4);
    test_ok(hpc_loader_next(r.b, r.l, r.b->rows));
    for (int row = 0; row < 4; row++) {
        int32_t token[LONGEST_DOCUMENT];
        int64_t n = data_document(token, row, 7), last = strstr(column, "answer") ? n / 2 : n;
        assert_int_equal(r.b->classes[row], row % 3);
        assert_int_equal(r.b->tokens[r.b->pooled[row]], token[last - 1]);
        assert_int_equal(r.b->start[row + 1], r.b->pooled[row] + 1);
    }
    for (int64_t k = 4; k < r.b->sequences; k++) assert_int_equal(r.b->pooled[k], -1);
    assert_int_equal(r.b->counted, 4);
    close_reading(&r);
}

/* The answer tells the label, so a row ends before it. */
static void labels(void **state)
{
    check_labels(state, "label");
    check_labels(state, "label answer");
}

/* The last rows of a pass fill a batch in part. */
static void rows_that_are_left(void **state)
{
    char path[2][PATH_MAX];
    hpc_loader_source s[2] = {{.path = data_set(path[0], *state, "a", 50, NULL)},
                              {.path = data_set(path[1], *state, "b", 50, "answer")}};
    for (int objective = HPC_OBJECTIVE_TOKENS; objective <= HPC_OBJECTIVE_ANSWER; objective++) {
        hpc_loader_options o = options_of(&s[objective], 1);
        o.objective = objective;
        o.ordered = true;
        reading whole = open_reading(&o, 2), part = open_reading(&o, 5);
        test_ok(hpc_loader_next(whole.b, whole.l, 2));
        test_ok(hpc_loader_next(part.b, part.l, 2));
        int64_t n = part.b->tokens_n, sequences = 0;
        assert_int_equal(n, whole.b->tokens_n);
        assert_int_equal(part.b->counted, whole.b->counted);
        assert_memory_equal(part.b->tokens, whole.b->tokens, (size_t)n * sizeof(int32_t));
        assert_memory_equal(part.b->targets, whole.b->targets, (size_t)n * sizeof(int32_t));
        for (int64_t k = n; k < 5 * 24; k++) assert_int_equal(part.b->targets[k], -1);
        while (part.b->start[sequences] < n) sequences++;
        for (int64_t k = sequences; k + 1 < part.b->start_n; k++) /* none is longer than a row */
            assert_in_range(part.b->start[k + 1] - part.b->start[k], 1, 24);
        assert_int_equal(part.b->start[part.b->start_n - 1], 5 * 24);
        assert_int_equal(hpc_loader_tell(part.l).rows, 2);
        close_reading(&whole), close_reading(&part);
    }
}

static void refuses(void **state)
{
    char path[3][PATH_MAX];
    hpc_loader *l;
    hpc_hash128 other = {.low = 9, .high = 9};
    data_make(hpc_test_path(path[0], *state, "other"), 20, NULL, 7, other);
    hpc_loader_source s[2] = {{.path = data_set(path[1], *state, "a", 20, NULL)},
                              {.path = path[0]}};
    hpc_loader_options o = options_of(s, 2);
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG, "other");
    o.source_n = 1;
    o.tokenizer = &other;
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG, "tokenizer");
    o.tokenizer = NULL;
    o.objective = HPC_OBJECTIVE_CLASSES;
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG, "no column 'label'");
    o.objective = HPC_OBJECTIVE_TOKENS;
    o.length = 100000;
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG, "do not fill one row of 100000");
    o.source_n = 0;
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG, "0 data sets");
    o.source_n = 1;
    o.length = 24;
    s[0].weight = INFINITY;
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG, "weight inf must be above 0");
    s[0].path = hpc_test_path(path[2], *state, "nothing");
    o = options_of(s, 1);
    test_fails(hpc_loader_open(&l, &o), HPC_E_IO, "nothing");
    hpc_loader_source mixed[2] = {{.path = path[1], .weight = 2}, {.path = path[1]}};
    o = options_of(mixed, 2);
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG, "has a weight and");
    hpc_loader_source labelled = {.path = data_set(path[2], *state, "labels", 20, "label")};
    o = options_of(&labelled, 1);
    o.objective = HPC_OBJECTIVE_CLASSES;
    o.classes = 2;
    test_fails(hpc_loader_open(&l, &o), HPC_E_ARG, "the label of document 2 is 2; with classes=2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)
        IN_FOLDER(pieces_of_the_stream),
        IN_FOLDER(in_order),
        IN_FOLDER(few_documents),
        IN_FOLDER(goes_on_where_it_was),
        IN_FOLDER(blends_by_weight),
        IN_FOLDER(answers_alone),
        IN_FOLDER(labels),
        IN_FOLDER(rows_that_are_left),
        IN_FOLDER(refuses),
    };
    return cmocka_run_group_tests_name("train/loader", tests, NULL, NULL);
}
