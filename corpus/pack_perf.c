/*
 * pack_perf.c: the task "perf": the functions that a commit changed, before and after, with what
 * the change came to: slower, same or faster. One document for each function; those of one commit
 * have one label and one number in `pair`.
 */
#include <inttypes.h>
#include <string.h>

#include "corpus/pack.h"
#include "corpus/pack_change.h"
#include "corpus/perf.h"

enum { LABEL_COLUMN, CHANGE_COLUMN, PAIR_COLUMN };

typedef struct sample {
    int64_t pair, change; /* in `pairs`, and in its changes */
} sample;
typedef struct perf_plan {
    hpc_git *git;
    perf_pairs pairs;
    changes *changed; /* of each pair of the split */
    int64_t lo, hi;   /* the pairs of the split */
    int64_t next;     /* pair; by atomic built-ins */
    int64_t broad_n;  /* pairs left out: too much changed, or not readable; likewise */
    const pack *p;
    sample *item;
    int64_t n, cap;
} perf_plan;

typedef struct sides { /* a worker's */
    change_scratch *scratch;
    hpc_buf text, head;
} sides;

static void release(pack *p)
{
    perf_plan *plan = p->plan;
    if (!plan) return;
    for (int64_t k = 0; plan->changed && k < plan->pairs.n; k++) changes_release(&plan->changed[k]);
    hpc_free(plan->changed);
    hpc_free(plan->item);
    perf_pairs_release(&plan->pairs);
    hpc_git_close(plan->git);
    hpc_free(plan);
    p->plan = NULL;
}

/* ---- which functions --------------------------------------------------------------------- */

/* The history is part of what was asked for: with more of it, the documents are others. */
static int asked(hpc_json_out *w, const pack *p)
{
    hpc_file_view view = {0};
    int rc = HPC_OK;
    TRY(hpc_file_open(&view, p->options->perf));
    pack_put_hash(w, "history",
                  hpc_hash_wide(view.bytes ? view.data : (const void *)"", view.bytes));
out:
    hpc_file_close(&view);
    return rc;
}

static int find_changes(int worker, int workers, void *user)
{
    perf_plan *plan = user;
    sides *mine = plan->p->worker[worker].state;
    int rc = HPC_OK;
    (void)workers;
    for (;;) {
        int64_t k = __atomic_fetch_add(&plan->next, 1, __ATOMIC_RELAXED);
        if (k >= plan->hi || pack_stopped(plan->p)) break;
        hpc_git_id base, head;
        if (!hpc_git_id_parse(&base, plan->pairs.item[k].base) ||
            !hpc_git_id_parse(&head, plan->pairs.item[k].head))
            continue;
        TRY(change_find(&plan->changed[k], mine->scratch, &base, &head));
        if (rc == 1) continue;
        plan->changed[k].n = 0;
        __atomic_fetch_add(&plan->broad_n, 1, __ATOMIC_RELAXED);
    }
    rc = HPC_OK;
out:
    if (rc < 0) __atomic_store_n(&plan->next, plan->hi, __ATOMIC_RELAXED);
    return rc;
}

static int load_pairs(perf_plan *plan, const pack *p)
{
    perf_db *db = NULL;
    int rc = HPC_OK;
    TRY(perf_db_open(&db, p->options->perf));
    TRY(perf_pairs_load(&plan->pairs, db));
    while (plan->lo < plan->pairs.n && perf_split(plan->lo, plan->pairs.n) != p->options->split)
        plan->lo++;
    plan->hi = plan->lo;
    while (plan->hi < plan->pairs.n && perf_split(plan->hi, plan->pairs.n) == p->options->split)
        plan->hi++;
out:
    perf_db_close(db);
    return rc;
}

static int plan(pack *p)
{
    perf_plan *plan = p->plan;
    int rc = HPC_OK;
    TRY(load_pairs(plan, p));
    plan->changed = hpc_alloc((size_t)plan->pairs.n + 1, sizeof *plan->changed);
    if (!plan->changed) TRY(HPC_E_NOMEM);
    plan->next = plan->lo;
    TRY(hpc_pool_run(p->pool, find_changes, plan));
    for (int64_t k = plan->lo; k < plan->hi; k++)
        for (int64_t c = 0; c < plan->changed[k].n; c++) {
            TRY(hpc_grow(&plan->item, &plan->cap, plan->n + 1, sizeof *plan->item));
            plan->item[plan->n++] = (sample){.pair = k, .change = c};
        }
    p->documents = plan->n;
out:
    return rc;
}

/* ---- one function --------------------------------------------------------------------------- */

static int prepare(pack *p)
{
    perf_plan *plan = p->plan = hpc_alloc(1, sizeof *plan);
    int rc = HPC_OK;
    if (!plan) return HPC_E_NOMEM;
    plan->p = p;
    if (!p->options->perf)
        TRY(hpc_fail(HPC_E_ARG, "task perf needs a performance history: --perf FILE"));
    if (!p->options->repository)
        TRY(hpc_fail(HPC_E_ARG, "task perf needs the repository that was measured: --repository "
                                "DIR"));
    TRY(hpc_git_open(&plan->git, p->options->repository));
out:
    return rc;
}

static int worker_open(pack_worker *w, pack *p)
{
    const perf_plan *plan = p->plan;
    sides *mine = w->state = hpc_alloc(1, sizeof *mine);
    return mine ? change_scratch_create(&mine->scratch, plan->git) : HPC_E_NOMEM;
}

static void worker_close(pack_worker *w)
{
    sides *mine = w->state;
    if (!mine) return;
    change_scratch_free(mine->scratch);
    hpc_buf_release(&mine->text);
    hpc_buf_release(&mine->head);
    hpc_free(mine);
    w->state = NULL;
}

static int64_t bytes(int64_t *key, const pack *p, int64_t i)
{
    const perf_plan *plan = p->plan;
    const sample *s = &plan->item[i];
    const change *c = &plan->changed[s->pair].item[s->change];
    *key = i;
    return (int64_t)c->base.n + c->head.n + 64;
}

/* Replaces out by one side's text. */
static int read_side(hpc_buf *out, sides *mine, const change_side *side)
{
    size_t size = 0;
    int rc = HPC_OK;
    out->n = 0;
    if (side->n == 0) return rc;
    TRY(hpc_git_read(&mine->text, &size, change_git(mine->scratch), &side->blob,
                     CHANGE_FILE_BYTES));
    if (rc != HPC_GIT_READ || (size_t)side->at + side->n > mine->text.n) {
        char id[41];
        hpc_git_id_text(id, &side->blob);
        TRY(hpc_fail(HPC_E_FORMAT, "object %s can no longer be read: the repository has changed",
                     id));
    }
    TRY(hpc_buf_add(out, mine->text.data + side->at, side->n));
out:
    return rc;
}

static int render(pack_worker *w, double *value, const pack *p, int64_t i)
{
    const perf_plan *plan = p->plan;
    const sample *s = &plan->item[i];
    const perf_pair *pair = &plan->pairs.item[s->pair];
    const changes *all = &plan->changed[s->pair];
    const change *c = &all->item[s->change];
    sides *mine = w->state;
    int rc = HPC_OK;
    TRY(read_side(&w->text, mine, &c->base));
    TRY(read_side(&mine->head, mine, &c->head));
    TRY(hpc_render_change(&w->sample, all->paths.data + c->path, w->text.data, w->text.n,
                          mine->head.data, mine->head.n, perf_label_name(pair->label)));
    value[LABEL_COLUMN] = pair->label;
    value[CHANGE_COLUMN] = (double)(float)pair->change;
    value[PAIR_COLUMN] = (double)s->pair;
out:
    return rc;
}

static void facts(hpc_json_out *w, const pack *p)
{
    const perf_plan *plan = p->plan;
    int64_t n[PERF_UNDECIDED] = {0};
    for (int64_t k = plan->lo; k < plan->hi; k++) n[plan->pairs.item[k].label]++;
    hpc_json_put_int(w, "documents", p->documents);
    hpc_json_put_int(w, "pairs", plan->hi - plan->lo);
    for (int l = 0; l < PERF_UNDECIDED; l++)
        hpc_json_put_int(w, perf_label_name((perf_label)l), n[l]);
    hpc_json_put_int(w, "undecided_in_all", plan->pairs.undecided_n);
    hpc_json_put_int(w, "too_broad", plan->broad_n);
}

const pack_task pack_task_perf = {
    .name = "perf",
    .column = {[LABEL_COLUMN] = {"label", HPC_SHARD_I32},
               [CHANGE_COLUMN] = {"change", HPC_SHARD_F32},
               [PAIR_COLUMN] = {"pair", HPC_SHARD_I64}},
    .columns_n = 3,
    .answer = -1,
    .marks = 1u << HPC_MARK_FILE | 1u << HPC_MARK_PERF_BASE | 1u << HPC_MARK_PERF_HEAD |
             1u << HPC_MARK_PERF_LABEL | 1u << HPC_MARK_END,
    .prepare = prepare,
    .asked = asked,
    .plan = plan,
    .release = release,
    .worker_open = worker_open,
    .worker_close = worker_close,
    .bytes = bytes,
    .render = render,
    .facts = facts,
};
