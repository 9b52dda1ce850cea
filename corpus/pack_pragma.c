/*
 * pack_pragma.c: the task "pragma": one document per distinct loop with an OpenMP directive, and
 * the requested number of presumed negatives. The answer is the plain directive, or nothing.
 *
 * `corpus loops` decides which loops are distinct or negative.
 */
#include <inttypes.h>
#include <string.h>

#include "corpus/loops.h"
#include "corpus/pack.h"

enum { LABEL_COLUMN, ANSWER_COLUMN, LOOP_COLUMN, WORDS_COLUMN };
enum { STREAM = 0x4e4547 }; /* of the random numbers that choose negatives */

typedef struct sample {
    int64_t id, file; /* of the loop; its place in `files` */
    size_t directive; /* in `directives`; "" for a negative */
    uint32_t at, words;
    bool annotated;
} sample;
typedef struct pragma_plan {
    pack_files files;
    sample *item;
    int64_t n, cap, annotated_n, presumed_n; /* presumed: before the choice */
    hpc_buf directives;                      /* NUL-terminated */
} pragma_plan;

typedef struct parsed { /* a worker's current file, parsed */
    loops_scratch s;
    int64_t file; /* -1: none */
} parsed;

static void release(pack *p)
{
    pragma_plan *plan = p->plan;
    if (!plan) return;
    pack_files_release(&plan->files);
    hpc_buf_release(&plan->directives);
    hpc_free(plan->item);
    hpc_free(plan);
    p->plan = NULL;
}

/* ---- which loops ----------------------------------------------------------------------- */

static int add_loop(pragma_plan *plan, const loops_record *r, int64_t id, const char *folder)
{
    int64_t file = pack_files_find(&plan->files, r->file);
    int rc = HPC_OK;
    if (file < 0)
        return hpc_fail(HPC_E_FORMAT,
                        "%.200s: loop %" PRId64 " is in file %" PRId64
                        ", which is not in the corpus: run `hpccoder corpus loops` again",
                        folder, id, r->file);
    TRY(hpc_grow(&plan->item, &plan->cap, plan->n + 1, sizeof *plan->item));
    bool annotated = r->kind == LOOPS_ANNOTATED;
    plan->item[plan->n++] = (sample){.id = id,
                                     .file = file,
                                     .directive = plan->directives.n,
                                     .at = r->begin,
                                     .words = annotated ? r->words : 0,
                                     .annotated = annotated};
    if (annotated) TRY(hpc_pragma_plain(&plan->directives, r->directive));
    TRY(hpc_buf_add(&plan->directives, "", 1));
    plan->annotated_n += annotated;
    plan->presumed_n += !annotated;
out:
    return rc;
}

static int load_loops(pragma_plan *plan, const pack *p)
{
    const char *folder = p->options->loops ? p->options->loops : p->options->corpus;
    hpc_hash128 corpus = hpc_corpus_hash(p->corpus);
    loops_db *db = NULL;
    loops_record r;
    int64_t id = 0;
    int rc = HPC_OK;
    TRY(loops_db_open(&db, folder));
    hpc_hash128 of = loops_db_corpus(db);
    if (of.low != corpus.low || of.high != corpus.high)
        TRY(hpc_fail(HPC_E_ARG,
                     "%.200s/loops.db was built from a different corpus than %.200s: run `hpccoder "
                     "corpus loops` again",
                     folder, p->options->corpus));
    TRY(loops_db_select(db, 1u << LOOPS_ANNOTATED | 1u << LOOPS_PRESUMED, 1u << p->options->split));
    for (;;) {
        TRY(loops_db_next(&r, &id, db));
        if (rc == 0) break;
        TRY(add_loop(plan, &r, id, folder));
    }
out:
    loops_db_close(db);
    return rc;
}

/* Each negative stays by a draw of its own, with the chance that gives the share in the mean. */
static void choose_negatives(pragma_plan *plan, const hpc_pack_options *o)
{
    double share =
        plan->presumed_n ? o->negatives * (double)plan->annotated_n / (double)plan->presumed_n : 0;
    int64_t n = 0;
    for (int64_t k = 0; k < plan->n; k++) {
        const sample *s = &plan->item[k];
        uint32_t bits[4];
        hpc_random_block(bits, (uint64_t)o->seed, STREAM, 0, (uint64_t)s->id);
        if (s->annotated || bits[0] < share * 4294967296.0) plan->item[n++] = *s;
    }
    plan->n = n;
}

static int plan(pack *p)
{
    const hpc_corpus_filter all = {.reasons = ~0u, .splits = 1u << p->options->split};
    pragma_plan *plan = p->plan = hpc_alloc(1, sizeof *plan);
    int rc = HPC_OK;
    if (!plan) return HPC_E_NOMEM;
    TRY(pack_files_load(&plan->files, p->corpus, &all, &(pack_share){.to = 1}));
    TRY(load_loops(plan, p));
    choose_negatives(plan, p->options);
    p->documents = plan->n;
out:
    return rc;
}

/* ---- one loop ----------------------------------------------------------------------------- */

static int worker_open(pack_worker *w, pack *p)
{
    parsed *state = w->state = hpc_alloc(1, sizeof *state);
    (void)p;
    if (!state) return HPC_E_NOMEM;
    state->file = -1;
    return HPC_OK;
}

static void worker_close(pack_worker *w)
{
    parsed *state = w->state;
    if (state) loops_scratch_release(&state->s);
    hpc_free(state);
    w->state = NULL;
}

static int64_t bytes(int64_t *key, const pack *p, int64_t i)
{
    const hpc_render_options context = HPC_RENDER_DEFAULTS;
    const pragma_plan *plan = p->plan;
    *key = plan->item[i].file;
    return (int64_t)(context.before + context.after + context.loop);
}

static int parse(pack_worker *w, const pragma_plan *plan, int64_t file)
{
    parsed *state = w->state;
    const pack_file *f = &plan->files.item[file];
    hpc_language language = (hpc_language)f->language;
    loops_scratch *s = &state->s;
    int rc = HPC_OK;
    if (state->file == file) return HPC_OK;
    state->file = -1;
    TRY(pack_files_read(&w->text, w->corpus, &plan->files, file));
    TRY(hpc_lex(&s->t, w->text.data, w->text.n, language, f->fixed));
    TRY(hpc_functions_find(&s->f, &s->t, w->text.data, language));
    TRY(hpc_loops_find(&s->l, &s->t, w->text.data, language, &s->f));
    state->file = file;
out:
    return rc;
}

static int render(pack_worker *w, double *value, const pack *p, int64_t i)
{
    const pragma_plan *plan = p->plan;
    const sample *s = &plan->item[i];
    const parsed *state = w->state;
    const char *path = pack_files_path(&plan->files, s->file);
    int rc = HPC_OK;
    TRY(parse(w, plan, s->file));
    int64_t loop = hpc_loops_at(&state->s.l, s->at);
    if (loop < 0)
        TRY(hpc_fail(HPC_E_FORMAT,
                     "%.300s has no loop at byte %" PRIu32 ", where loops.db has one: run "
                     "`hpccoder corpus loops` again",
                     path, s->at));
    TRY(hpc_render_loop(&w->sample, &state->s.l, loop, &state->s.f, path, w->text.data, w->text.n,
                        plan->directives.data + s->directive, NULL));
    value[LABEL_COLUMN] = s->annotated;
    value[LOOP_COLUMN] = (double)s->id;
    value[WORDS_COLUMN] = s->words;
out:
    return rc;
}

static void facts(hpc_json_out *w, const pack *p)
{
    const pragma_plan *plan = p->plan;
    hpc_json_put_int(w, "documents", p->documents);
    hpc_json_put_int(w, "annotated", plan->annotated_n);
    hpc_json_put_int(w, "presumed_negative", plan->presumed_n);
}

const pack_task pack_task_pragma = {
    .name = "pragma",
    .column = {[LABEL_COLUMN] = {"label", HPC_SHARD_I32},
               [ANSWER_COLUMN] = {"answer", HPC_SHARD_I32},
               [LOOP_COLUMN] = {"loop", HPC_SHARD_I64},
               [WORDS_COLUMN] = {"words", HPC_SHARD_I32}},
    .columns_n = 4,
    .answer = ANSWER_COLUMN,
    .marks = 1u << HPC_MARK_FILE | 1u << HPC_MARK_LOOP | 1u << HPC_MARK_PRAGMA | 1u << HPC_MARK_END,
    .needs_corpus = true,
    .plan = plan,
    .release = release,
    .worker_open = worker_open,
    .worker_close = worker_close,
    .bytes = bytes,
    .render = render,
    .facts = facts,
};
