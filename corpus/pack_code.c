/*
 * pack_code.c: the task "code": the kept files of a split, one document each, repository after
 * repository, dependencies before dependents; some of them filled in the middle.
 */
#include <string.h>

#include "corpus/pack.h"

enum { FILE_COLUMN, LANGUAGE_COLUMN, REPOSITORY_COLUMN, FIM_COLUMN };

typedef struct code_plan {
    pack_files files;
    int64_t *order; /* of documents: a file's place in `files` */
} code_plan;

static void release(pack *p)
{
    code_plan *plan = p->plan;
    if (!plan) return;
    pack_files_release(&plan->files);
    hpc_free(plan->order);
    hpc_free(plan);
    p->plan = NULL;
}

static int kind_of(const pack *p, int64_t id)
{
    const hpc_pack_options *o = p->options;
    return pack_fim_kind(o->seed, id, o->fim_rate, o->suffix_first);
}

static int plan(pack *p)
{
    const hpc_corpus_filter filter = {.splits = 1u << p->options->split};
    code_plan *plan = p->plan = hpc_alloc(1, sizeof *plan);
    int rc = HPC_OK;
    if (!plan) return HPC_E_NOMEM;
    TRY(pack_files_load(&plan->files, p->corpus, &filter));
    p->documents = plan->files.n;
    plan->order = hpc_alloc((size_t)p->documents + 1, sizeof *plan->order);
    if (!plan->order) TRY(HPC_E_NOMEM);
    TRY(pack_order_all(plan->order, &plan->files, p->options->corpus, p->pool, p->options->stop));
    for (int64_t i = 0; i < p->documents; i++)
        p->fim += kind_of(p, plan->files.item[i].id) != PACK_FIM_NONE;
out:
    return rc;
}

static int64_t bytes(int64_t *key, const pack *p, int64_t i)
{
    const code_plan *plan = p->plan;
    *key = plan->order[i];
    return plan->files.item[*key].stored_bytes;
}

static int render_fim(pack_worker *w, const pack *p, const char *repository, const char *path,
                      int64_t id, bool suffix_first)
{
    size_t lo, hi;
    int rc = HPC_OK;
    pack_fim_cut(&lo, &hi, p->options->seed, id, w->text.data, w->text.n);
    if (repository) {
        TRY(hpc_sample_mark(&w->sample, HPC_MARK_REPOSITORY));
        TRY(hpc_sample_text(&w->sample, repository, strlen(repository)));
        TRY(hpc_sample_text(&w->sample, "\n", 1));
    }
    TRY(hpc_render_fim(&w->sample, path, w->text.data, w->text.n, lo, hi, suffix_first));
out:
    return rc;
}

static int render(pack_worker *w, double *value, const pack *p, int64_t i)
{
    const code_plan *plan = p->plan;
    const pack_files *f = &plan->files;
    int64_t k = plan->order[i];
    const pack_file *file = &f->item[k];
    const char *path = pack_files_path(f, k);
    /* The order keeps repositories together, so the first place of one is its first document. */
    const char *repository = f->first[file->repository] == i ? pack_files_repository(f, k) : NULL;
    int kind = kind_of(p, file->id), rc = HPC_OK;
    TRY(pack_files_read(&w->text, w->corpus, f, k));
    if (kind == PACK_FIM_NONE)
        TRY(hpc_render_file(&w->sample, repository, path, w->text.data, w->text.n));
    else
        TRY(render_fim(w, p, repository, path, file->id, kind == PACK_FIM_SUFFIX_FIRST));
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
