/*
 * history.h: histories for tests of infer/perf, made by git fast-import, and predictions for their
 * commits.
 */
#ifndef HPC_TESTS_PERF_HISTORY_H
#define HPC_TESTS_PERF_HISTORY_H

#include "tests/git/repository.h"

#include "infer/perf/feature.h"

typedef struct history {
    place *p;
    hpc_buf stream;
    int commits_n; /* numbered from 1 */
    hpc_git *git;
    hpc_git_id *id; /* id[k]: id of commit k; id[0]: unused */
    hpc_perf_reader *reader;
    hpc_perf_scanner *scanner;
    hpc_perf_change change;
    hpc_perf_features features;
    hpc_perf_reasons reasons;
} history;

/* Makes a commit with its files after commit `from`; 0: without a parent. */
static inline int commit_from(history *h, int from)
{
    int n = ++h->commits_n;
    hpc_buf_printf(&h->stream,
                   "commit refs/heads/c%d\nmark :%d\n"
                   "committer a <a@example.org> 1700000000 +0000\ndata 1\nm\n",
                   n, n);
    if (from > 0) hpc_buf_printf(&h->stream, "from :%d\n", from);
    return n;
}

static inline void with_bytes(history *h, const char *path, const void *data, size_t n)
{
    hpc_buf_printf(&h->stream, "M 100644 inline %s\ndata %zu\n", path, n);
    hpc_buf_add(&h->stream, data, n);
    hpc_buf_text(&h->stream, "\n");
}

static inline void with(history *h, const char *path, const char *text)
{
    with_bytes(h, path, text, strlen(text));
}

static inline void without(history *h, const char *path)
{
    hpc_buf_printf(&h->stream, "D %s\n", path);
}

static inline void history_open(history *h, const hpc_perf_limits *limits)
{
    assert_int_equal(h->stream.failed, 0);
    put(h->p, "in", h->stream.data, h->stream.n);
    script(h->p, "new r; git fast-import --quiet --export-marks=../marks < ../in");
    char *marks = text_of(h->p, "marks");
    h->id = calloc((size_t)h->commits_n + 1, sizeof *h->id);
    assert_non_null(h->id);
    for (char *line = marks; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        int n = atoi(line + 1);
        assert_in_range(n, 1, h->commits_n);
        h->id[n] = id_of(strchr(line, ' ') + 1);
    }
    hpc_free(marks);
    h->git = opened(h->p, "r");
    assert_int_equal(hpc_perf_reader_create(&h->reader, h->git, limits), 0);
    assert_int_equal(hpc_perf_scanner_create(&h->scanner), 0);
}

static inline void history_close(history *h)
{
    hpc_perf_reader_free(h->reader);
    hpc_perf_scanner_free(h->scanner);
    hpc_perf_change_release(&h->change);
    hpc_perf_features_release(&h->features);
    hpc_perf_reasons_release(&h->reasons);
    hpc_git_close(h->git);
    hpc_buf_release(&h->stream);
    free(h->id);
}

/* Predicts the change from one commit to another. */
static inline void look(history *h, int from, int to)
{
    int rc = hpc_perf_change_read(&h->change, h->reader, &h->id[from], &h->id[to]);
    if (rc != HPC_GIT_READ) fail_msg("%d: %s", rc, hpc_error_get()->text);
    assert_int_equal(hpc_perf_features_find(&h->features, h->scanner, &h->change), 0);
    assert_int_equal(h->features.n, h->change.n);
}

static inline const char *name_of(const history *h, size_t at)
{
    return h->change.names.data + at;
}

static inline double value_of(const hpc_perf_vector *v, const char *feature)
{
    int i = hpc_perf_feature_named(feature);
    if (i < 0) fail_msg("there is no feature %s", feature);
    return v->value[i];
}

/* Index of the function with that name in the change; -1: absent. */
static inline int64_t function_named(const history *h, const char *name)
{
    for (int64_t k = 0; k < h->change.n; k++)
        if (strcmp(name_of(h, h->change.function[k].name), name) == 0) return k;
    return -1;
}

#endif
