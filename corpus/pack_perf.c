/*
 * pack_perf.c: the task "perf": functions that a commit changed, before and after, with the label
 * slower, same or faster.
 *
 * One document per function; those of a commit have the same label and the same number in `pair`.
 * A commit with any held-out content is omitted, because that content may be the cause of its
 * label.
 */
#include <inttypes.h>
#include <string.h>

#include "corpus/pack.h"
#include "corpus/pack_change.h"
#include "corpus/history/database.h"
#include "corpus/priv.h"

enum { LABEL_COLUMN, ANSWER_COLUMN, CHANGE_COLUMN, PAIR_COLUMN };

typedef struct sample {
    int64_t pair, change; /* in `pairs`, and in its changes */
} sample;
typedef struct perf_plan {
    hpc_git *git;
    hpc_git_facts facts; /* of the repository, for its name */
    hpc_sketch *sketch;  /* NULL: nothing is held out */
    hpc_history_pairs pairs;
    changes *changed; /* of each pair of the split */
    int64_t lo, hi;   /* the pairs of the split */
    int64_t next;     /* pair; by atomic built-ins */
    int64_t broad_n;  /* likewise */
    const pack *p;
    sample *item;
    int64_t n, cap;
} perf_plan;

typedef struct sides { /* a worker's */
    change_scratch *scratch;
    hpc_buf head;
} sides;

static void release(pack *p)
{
    perf_plan *plan = p->plan;
    if (!plan) return;
    for (int64_t k = 0; plan->changed && k < plan->pairs.n; k++) changes_release(&plan->changed[k]);
    hpc_free(plan->changed);
    hpc_free(plan->item);
    hpc_history_pairs_release(&plan->pairs);
    hpc_sketch_close(plan->sketch);
    hpc_git_close(plan->git);
    hpc_free(plan);
    p->plan = NULL;
}

/* ---- which functions --------------------------------------------------------------------- */

/* Options for pack.json include the history, because a longer one gives other documents, and the
 * repository name, which affects held-out paths. */
static int asked(hpc_json_out *w, const pack *p)
{
    const perf_plan *plan = p->plan;
    hpc_file_view view = {0};
    int rc = HPC_OK;
    TRY(hpc_file_open(&view, p->options->perf));
    pack_put_hash(w, "history",
                  hpc_hash_wide(view.bytes ? view.data : (const void *)"", view.bytes));
    hpc_json_put_text(w, "repository", plan->facts.name[0] ? plan->facts.name : NULL);
    if (plan->sketch)
        pack_put_hash(w, "held_out", hpc_sketch_hash(plan->sketch));
    else
        hpc_json_put_text(w, "held_out", NULL);
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
        if (rc == 0 && plan->changed[k].held_out == HPC_REASON_KEPT)
            __atomic_fetch_add(&plan->broad_n, 1, __ATOMIC_RELAXED);
    }
    rc = HPC_OK;
out:
    if (rc < 0) __atomic_store_n(&plan->next, plan->hi, __ATOMIC_RELAXED);
    return rc;
}

hpc_split hpc_corpus_pair_split(int64_t k, int64_t n)
{
    int64_t train = n - n / 10, validation = n - n / 20;
    return k < train ? HPC_SPLIT_TRAIN : k < validation ? HPC_SPLIT_VALIDATION : HPC_SPLIT_TEST;
}

static int load_pairs(perf_plan *plan, const pack *p)
{
    hpc_history_db *db = NULL;
    int rc = HPC_OK;
    TRY(hpc_history_db_open(&db, p->options->perf));
    TRY(hpc_history_pairs_load(&plan->pairs, db, NULL));
    while (plan->lo < plan->pairs.n &&
           hpc_corpus_pair_split(plan->lo, plan->pairs.n) != p->options->split)
        plan->lo++;
    plan->hi = plan->lo;
    while (plan->hi < plan->pairs.n &&
           hpc_corpus_pair_split(plan->hi, plan->pairs.n) == p->options->split)
        plan->hi++;
out:
    hpc_history_db_close(db);
    return rc;
}

static int plan(pack *p)
{
    perf_plan *plan = p->plan;
    hpc_pack_result *result = p->result;
    int rc = HPC_OK;
    TRY(load_pairs(plan, p));
    result->pairs_n = plan->hi - plan->lo;
    if (plan->sketch && corpus_sketch_repository(plan->sketch, plan->facts.name)) {
        result->held_out_n[HPC_REASON_HELD_OUT_REPOSITORY] = result->pairs_n;
        return rc;
    }
    plan->changed = hpc_alloc((size_t)plan->pairs.n + 1, sizeof *plan->changed);
    if (!plan->changed) TRY(HPC_E_NOMEM);
    plan->next = plan->lo;
    TRY(hpc_pool_run(p->pool, find_changes, plan));
    for (int64_t k = plan->lo; k < plan->hi; k++) {
        const changes *all = &plan->changed[k];
        if (all->held_out != HPC_REASON_KEPT) result->held_out_n[all->held_out]++;
        for (int64_t c = 0; c < all->n; c++) {
            TRY(hpc_grow(&plan->item, &plan->cap, plan->n + 1, sizeof *plan->item));
            plan->item[plan->n++] = (sample){.pair = k, .change = c};
        }
    }
    result->broad_n = plan->broad_n;
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
    TRY(hpc_git_describe(&plan->facts, plan->git));
    if (p->options->held_out) TRY(hpc_sketch_open(&plan->sketch, p->options->held_out));
out:
    return rc;
}

static int worker_open(pack_worker *w, pack *p)
{
    const perf_plan *plan = p->plan;
    sides *mine = w->state = hpc_alloc(1, sizeof *mine);
    if (!mine) return HPC_E_NOMEM;
    return change_scratch_create(&mine->scratch, plan->git, plan->facts.name, plan->sketch);
}

static void worker_close(pack_worker *w)
{
    sides *mine = w->state;
    if (!mine) return;
    change_scratch_free(mine->scratch);
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

static int render(pack_worker *w, double *value, const pack *p, int64_t i)
{
    const perf_plan *plan = p->plan;
    const sample *s = &plan->item[i];
    const hpc_history_pair *pair = &plan->pairs.item[s->pair];
    const changes *all = &plan->changed[s->pair];
    const change *c = &all->item[s->change];
    sides *mine = w->state;
    int rc = HPC_OK;
    TRY(change_read(&w->text, mine->scratch, &c->base));
    TRY(change_read(&mine->head, mine->scratch, &c->head));
    TRY(hpc_render_change(&w->sample, all->paths.data + c->path, w->text.data, w->text.n,
                          mine->head.data, mine->head.n, hpc_history_label_name(pair->label)));
    value[LABEL_COLUMN] = pair->label;
    value[CHANGE_COLUMN] = (double)(float)pair->change;
    value[PAIR_COLUMN] = (double)s->pair;
out:
    return rc;
}

static void facts(hpc_json_out *w, const pack *p)
{
    const perf_plan *plan = p->plan;
    int64_t n[HPC_HISTORY_UNDECIDED] = {0};
    for (int64_t k = plan->lo; k < plan->hi; k++) n[plan->pairs.item[k].label]++;
    hpc_json_put_int(w, "documents", p->documents);
    hpc_json_put_int(w, "pairs", plan->hi - plan->lo);
    for (int l = 0; l < HPC_HISTORY_UNDECIDED; l++)
        hpc_json_put_int(w, hpc_history_label_name((hpc_history_label)l), n[l]);
    hpc_json_put_int(w, "undecided_in_all", plan->pairs.undecided_n);
    hpc_json_put_int(w, "too_broad", p->result->broad_n);
    hpc_json_open(w, "held_out_pairs", '{');
    for (int r = 0; r < HPC_REASON_N; r++)
        if (p->result->held_out_n[r] > 0)
            hpc_json_put_int(w, hpc_reason_name((hpc_reason)r), p->result->held_out_n[r]);
    hpc_json_close(w, '}');
}

const pack_task pack_task_perf = {
    .name = "perf",
    .column = {[LABEL_COLUMN] = {"label", HPC_SHARD_I32},
               [ANSWER_COLUMN] = {"answer", HPC_SHARD_I32},
               [CHANGE_COLUMN] = {"change", HPC_SHARD_F32},
               [PAIR_COLUMN] = {"pair", HPC_SHARD_I64}},
    .columns_n = 4,
    .answer = ANSWER_COLUMN,
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
