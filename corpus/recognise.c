/*
 * recognise.c: writes a passage index of training files, by which verbatim completions are
 * recognised.
 */
#include <string.h>

#include "corpus/priv.h"
#include "runtime/source/passage.h"

typedef struct reading {
    hpc_progress *progress;
    hpc_passage_maker *maker;
    hpc_corpus *corpus;
    hpc_buf text;
    hpc_tokens tokens;
    int64_t done;
} reading;

static int read_file(reading *r, const hpc_corpus_file *f, bool again)
{
    int rc;
    TRY(hpc_corpus_read(&r->text, r->corpus, f));
    TRY(hpc_lex(&r->tokens, r->text.data ? r->text.data : "", r->text.n, f->language, f->fixed));
    if (again)
        TRY(hpc_passage_maker_learn(r->maker, f->repository, f->licence, &r->tokens));
    else
        TRY(hpc_passage_maker_pick(r->maker, &r->tokens));
out:
    return rc < 0 ? hpc_error_where("%s:%s", f->repository, f->path) : rc;
}

static int read_all(reading *r, bool again)
{
    const hpc_corpus_filter which = {.splits = 1u << HPC_SPLIT_TRAIN};
    hpc_corpus_file f;
    int rc;
    TRY(hpc_corpus_select(r->corpus, &which));
    for (;;) {
        TRY(hpc_corpus_next(&f, r->corpus));
        if (rc == 0) break;
        TRY(read_file(r, &f, again));
        r->done++;
        if (r->progress) hpc_progress_update(r->progress, r->done, NULL);
    }
out:
    return rc;
}

int hpc_corpus_passages(int64_t *files_n, const char *out, const char *folder,
                        hpc_progress *progress)
{
    reading r = {.progress = progress};
    hpc_buf file = {0};
    int rc;
    TRY(hpc_corpus_open(&r.corpus, folder));
    TRY(hpc_passage_maker_create(&r.maker));
    if (progress) hpc_progress_start(progress, "passages", "files", 0);
    TRY(read_all(&r, false));
    TRY(read_all(&r, true));
    if (progress) hpc_progress_end(progress, r.done);
    if (r.done == 0) TRY(hpc_fail(HPC_E_ARG, "%s has no training files to index", folder));
    TRY(hpc_passage_maker_finish(&file, r.maker));
    TRY(hpc_file_save(out, file.data, file.n));
    *files_n = r.done / 2;
out:
    hpc_buf_release(&file);
    hpc_buf_release(&r.text);
    hpc_tokens_release(&r.tokens);
    hpc_passage_maker_free(r.maker);
    hpc_corpus_close(r.corpus);
    return rc;
}
