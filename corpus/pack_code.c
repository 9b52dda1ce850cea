/*
 * pack_code.c: the task "code": kept files of a split, one document per file or per window,
 * ordered by repository and dependencies; some with fill-in-the-middle.
 */
#include <string.h>

#include "corpus/pack.h"

enum { FILE_COLUMN, LANGUAGE_COLUMN, REPOSITORY_COLUMN, FIM_COLUMN };

typedef struct code_document {
    int64_t place; /* of its file in the order of files */
    int64_t file;  /* in `files` */
    int32_t window, windows;
} code_document;

typedef struct code_plan {
    pack_files files;
    code_document *document;
} code_plan;

static void release(pack *p)
{
    code_plan *plan = p->plan;
    if (!plan) return;
    pack_files_release(&plan->files);
    hpc_free(plan->document);
    hpc_free(plan);
    p->plan = NULL;
}

/* What a document's draws are keyed by: of the first window, its file's id. */
static int64_t key_of(const code_plan *plan, int64_t i)
{
    const code_document *d = &plan->document[i];
    return plan->files.item[d->file].id | (int64_t)d->window << 40;
}

static int kind_of(const pack *p, int64_t i)
{
    const hpc_pack_options *o = p->options;
    return pack_fim_kind(o->seed, key_of(p->plan, i), o->fim_rate, o->suffix_first);
}

/* Windows of a file: of `window` bytes each, the last of half as many to one and a half. */
static int32_t windows_of(const pack *p, int64_t bytes)
{
    int64_t w = p->options->window, n = w > 0 ? (bytes + w / 2) / w : 1;
    return n < 1 ? 1 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

static int list_documents(pack *p, code_plan *plan, const int64_t *order)
{
    int64_t n = 0;
    for (int64_t k = 0; k < plan->files.n; k++)
        n += windows_of(p, plan->files.item[k].stored_bytes);
    plan->document = hpc_alloc((size_t)n + 1, sizeof *plan->document);
    if (!plan->document) return HPC_E_NOMEM;
    p->documents = 0;
    for (int64_t k = 0; k < plan->files.n; k++) {
        int32_t windows = windows_of(p, plan->files.item[order[k]].stored_bytes);
        for (int32_t w = 0; w < windows; w++)
            plan->document[p->documents++] = (code_document){k, order[k], w, windows};
    }
    return HPC_OK;
}

static int plan(pack *p)
{
    const hpc_pack_options *o = p->options;
    const hpc_corpus_filter filter = {.splits = 1u << o->split};
    const pack_share share = {o->seed, o->from, o->to};
    code_plan *plan = p->plan = hpc_alloc(1, sizeof *plan);
    int64_t *order = NULL;
    int rc = HPC_OK;
    if (!plan) return HPC_E_NOMEM;
    TRY(pack_files_load(&plan->files, p->corpus, &filter, &share));
    order = hpc_alloc((size_t)plan->files.n + 1, sizeof *order);
    if (!order) TRY(HPC_E_NOMEM);
    TRY(pack_order_all(order, &plan->files, p->options->corpus, p->pool, p->options->stop));
    TRY(list_documents(p, plan, order));
    for (int64_t i = 0; i < p->documents; i++) p->fim += kind_of(p, i) != PACK_FIM_NONE;
out:
    hpc_free(order);
    return rc;
}

static int64_t bytes(int64_t *key, const pack *p, int64_t i)
{
    const code_plan *plan = p->plan;
    const code_document *d = &plan->document[i];
    *key = d->file;
    return plan->files.item[d->file].stored_bytes / d->windows;
}

/* Where a window that should begin at byte `at` begins: at a line, if one does soon, and always
 * between characters. */
static size_t boundary(const hpc_buf *text, size_t at, size_t window)
{
    if (at == 0 || at >= text->n) return at < text->n ? at : text->n;
    size_t soon = text->n - at < window / 2 ? text->n - at : window / 2;
    const char *line =
        memchr(text->data + at, '\n', soon - 1); /* short of the end: none is empty */
    if (line) return (size_t)(line - text->data) + 1;
    while (at < text->n && ((unsigned char)text->data[at] & 0xC0) == 0x80) at++;
    return at;
}

typedef struct piece {
    const char *text;
    size_t n;
} piece;

static piece piece_of(const pack *p, const code_document *d, const hpc_buf *text)
{
    size_t window = (size_t)p->options->window;
    size_t from = boundary(text, (size_t)d->window * window, window), to = text->n;
    if (d->window + 1 < d->windows) to = boundary(text, (size_t)(d->window + 1) * window, window);
    return (piece){text->data + from, to - from};
}

static int render_fim(pack_worker *w, const pack *p, const char *repository, const char *path,
                      int64_t key, piece text, bool suffix_first)
{
    size_t lo, hi;
    int rc = HPC_OK;
    pack_fim_cut(&lo, &hi, p->options->seed, key, text.text, text.n);
    if (repository) {
        TRY(hpc_sample_mark(&w->sample, HPC_MARK_REPOSITORY));
        TRY(hpc_sample_text(&w->sample, repository, strlen(repository)));
        TRY(hpc_sample_text(&w->sample, "\n", 1));
    }
    TRY(hpc_render_fim(&w->sample, path, text.text, text.n, lo, hi, suffix_first));
out:
    return rc;
}

static int render(pack_worker *w, double *value, const pack *p, int64_t i)
{
    const code_plan *plan = p->plan;
    const pack_files *f = &plan->files;
    const code_document *d = &plan->document[i];
    int64_t k = d->file;
    const pack_file *file = &f->item[k];
    const char *path = pack_files_path(f, k);
    /* The order keeps repositories together, so the first place of one is its first document. */
    bool first = f->first[file->repository] == d->place && d->window == 0;
    const char *repository = first ? pack_files_repository(f, k) : NULL;
    int kind = kind_of(p, i), rc = HPC_OK;
    TRY(pack_files_read(&w->text, w->corpus, f, k));
    piece text = piece_of(p, d, &w->text);
    if (kind == PACK_FIM_NONE)
        TRY(hpc_render_file(&w->sample, repository, path, text.text, text.n));
    else
        TRY(render_fim(w, p, repository, path, key_of(plan, i), text,
                       kind == PACK_FIM_SUFFIX_FIRST));
    value[FILE_COLUMN] = (double)file->id;
    value[LANGUAGE_COLUMN] = file->language;
    value[REPOSITORY_COLUMN] = file->repository;
    value[FIM_COLUMN] = kind;
out:
    return rc;
}

static void facts(hpc_json_out *w, const pack *p)
{
    const code_plan *plan = p->plan;
    hpc_json_put_int(w, "documents", p->documents);
    hpc_json_put_int(w, "fim", p->fim);
    hpc_json_open(w, "repositories", '[');
    for (int64_t r = 0; r < plan->files.repositories_n; r++)
        hpc_json_put_text(w, NULL, plan->files.names.data + plan->files.name[r]);
    hpc_json_close(w, ']');
    hpc_json_open(w, "languages", '[');
    for (int l = 0; l < HPC_LANGUAGE_N; l++)
        hpc_json_put_text(w, NULL, hpc_language_name((hpc_language)l));
    hpc_json_close(w, ']');
}

const pack_task pack_task_code = {
    .name = "code",
    .column = {[FILE_COLUMN] = {"file", HPC_SHARD_I64},
               [LANGUAGE_COLUMN] = {"language", HPC_SHARD_I32},
               [REPOSITORY_COLUMN] = {"repository", HPC_SHARD_I32},
               [FIM_COLUMN] = {"fim", HPC_SHARD_I32}},
    .columns_n = 4,
    .answer = -1,
    .marks = 1u << HPC_MARK_FILE | 1u << HPC_MARK_REPOSITORY | 1u << HPC_MARK_END,
    .needs_corpus = true,
    .plan = plan,
    .release = release,
    .bytes = bytes,
    .render = render,
    .facts = facts,
};
