/*
 * sample.c: training text for a tokenizer: files and corpora one after the other, sampled in
 * blocks of lines if there is more text than asked for.
 */
#include "corpus/sample.h"

#include <math.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 12 };

static bool is_corpus(hpc_buf *name, const char *path)
{
    name->n = 0;
    return hpc_buf_printf(name, "%s/corpus.db", path) == HPC_OK && hpc_file_exists(name->data);
}

static bool is_folder(hpc_buf *name, const char *path)
{
    name->n = 0;
    return hpc_buf_printf(name, "%s/.", path) == HPC_OK && hpc_file_exists(name->data);
}

/* Opens path `at` if it is a corpus. */
static int begin_path(hpc_text_sample *t)
{
    const hpc_corpus_filter train = {.splits = 1u << HPC_SPLIT_TRAIN};
    const char *path = t->path[t->at];
    int rc = HPC_OK;
    if (is_corpus(&t->text, path)) {
        TRY(hpc_corpus_open(&t->corpus, path));
        TRY(hpc_corpus_select(t->corpus, &train));
    } else if (is_folder(&t->text, path)) {
        TRY(hpc_fail(HPC_E_ARG,
                     "%s is a folder but not a corpus; name files, or a corpus from `hpccoder "
                     "corpus harvest`",
                     path));
    }
    TRY(t->text.failed);
out:
    return rc;
}

static void end_path(hpc_text_sample *t)
{
    hpc_corpus_close(t->corpus);
    t->corpus = NULL;
    t->at++;
}

/* The number of blocks to select within the first `position` bytes. */
static double due(const hpc_text_sample *t, int64_t position)
{
    uint64_t seed = (uint64_t)t->seed;
    double begin = (double)(hpc_hash(&seed, sizeof seed, 0) >> 11) * 0x1p-53;
    double share = (double)t->bytes / (double)t->total;
    return floor((double)position / BLOCK_BYTES * share + begin);
}

/* Copies the selected blocks of `file` to `text`. */
static int draw(hpc_text_sample *t)
{
    bool all = t->bytes == 0 || t->total <= t->bytes;
    t->text.n = 0;
    for (size_t at = 0, n; at < t->file.n; at += n) {
        n = t->file.n - at;
        if (!all && n > BLOCK_BYTES) {
            const char *from = t->file.data + at + BLOCK_BYTES;
            const char *end = memchr(from, '\n', t->file.n - at - BLOCK_BYTES);
            if (end) n = (size_t)(end + 1 - t->file.data) - at;
        }
        int64_t next = t->position + (int64_t)n;
        if (all || due(t, next) > due(t, t->position))
            if (hpc_buf_add(&t->text, t->file.data + at, n) < 0) return t->text.failed;
        t->position = next;
    }
    return HPC_OK;
}

/* Reads one file of path `at`, or with `measure` only adds its size: 1, or 0 after the last. */
static int next_file(hpc_text_sample *t, bool measure)
{
    int rc = HPC_OK;
    hpc_corpus_file row;
    hpc_file_view view = {0};
    t->file.n = 0;
    if (t->corpus) {
        TRY(hpc_corpus_next(&row, t->corpus));
        if (rc == 0) return 0;
        if (measure) t->total += row.stored_bytes;
        if (!measure) TRY(hpc_corpus_read(&t->file, t->corpus, &row));
    } else {
        TRY(hpc_file_open(&view, t->path[t->at]));
        if (measure) t->total += (int64_t)view.bytes;
        if (!measure) TRY(hpc_buf_add(&t->file, view.data, view.bytes));
    }
    rc = 1;
out:
    hpc_file_close(&view);
    return rc;
}

int hpc_text_sample_next(const char **text, size_t *n, void *user)
{
    hpc_text_sample *t = user;
    int rc = HPC_OK;
    while (t->at < t->paths_n) {
        if (!t->corpus) TRY(begin_path(t));
        TRY(next_file(t, false));
        if (rc == 0 || !t->corpus) end_path(t);
        TRY(draw(t));
        if (t->text.n == 0) continue;
        *text = t->text.data;
        *n = t->text.n;
        t->used += (int64_t)t->text.n;
        t->used_n++;
        return 1;
    }
    rc = 0;
out:
    return rc;
}

int hpc_text_sample_measure(hpc_text_sample *t)
{
    int rc = HPC_OK;
    while (t->at < t->paths_n) {
        if (!t->corpus) TRY(begin_path(t));
        TRY(next_file(t, true));
        if (rc == 0 || !t->corpus) end_path(t);
    }
    rc = HPC_OK;
    t->at = 0;
out:
    return rc;
}

void hpc_text_sample_release(hpc_text_sample *t)
{
    hpc_corpus_close(t->corpus);
    hpc_buf_release(&t->file);
    hpc_buf_release(&t->text);
    t->corpus = NULL;
}
