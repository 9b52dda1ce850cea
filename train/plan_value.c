/*
 * plan_value.c: the plan as an object: made from an emitted step, compared with a model, written
 * and read as JSON.
 */
#include <stdio.h>
#include <string.h>

#include "train/plan_priv.h"

typedef struct number { /* a size of the model */
    const char *key;
    size_t at;
} number;
static const number sizes[] = {
    {"layers", offsetof(hpc_train_plan, layers)}, {"hidden", offsetof(hpc_train_plan, hidden)},
    {"heads", offsetof(hpc_train_plan, heads)},   {"kv_heads", offsetof(hpc_train_plan, kv_heads)},
    {"ffn", offsetof(hpc_train_plan, ffn)},       {"vocab", offsetof(hpc_train_plan, vocab)},
};
_Static_assert(sizeof sizes / sizeof *sizes == PLAN_SIZES, "a name for each");

const char *plan_size_name(int k)
{
    return sizes[k].key;
}

int64_t *plan_size(hpc_train_plan *plan, int k)
{
    return (int64_t *)(void *)((char *)plan + sizes[k].at);
}

static void take_sizes(hpc_train_plan *plan, const hpc_model_config *c)
{
    plan->layers = c->layers, plan->hidden = c->hidden, plan->heads = c->heads;
    plan->kv_heads = c->kv_heads, plan->ffn = c->ffn, plan->vocab = c->vocab;
}

int hpc_plan_check(const hpc_train_plan *plan, const hpc_model_config *c)
{
    hpc_train_plan theirs = *plan, ours = {0};
    take_sizes(&ours, c);
    for (int k = 0; k < PLAN_SIZES; k++)
        if (*plan_size(&theirs, k) != *plan_size(&ours, k))
            return hpc_fail(
                HPC_E_SHAPE, "the plan is for a model with %s=%lld, and this one has %lld",
                sizes[k].key, (long long)*plan_size(&theirs, k), (long long)*plan_size(&ours, k));
    return HPC_OK;
}

static int ranks_of(const hpc_parallel *q)
{
    return q->grid.extent[HPC_AXIS_PIPE] > 1 ? q->grid.extent[HPC_AXIS_PIPE] : 1;
}

int plan_create(hpc_train_plan **out)
{
    *out = hpc_alloc(1, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    (*out)->arena = hpc_arena_create(0);
    return (*out)->arena ? HPC_OK : HPC_E_NOMEM;
}

void hpc_plan_free(hpc_train_plan *plan)
{
    if (!plan) return;
    for (int r = 0; plan->list && r < plan->list_n; r++) hpc_free(plan->list[r].task);
    hpc_free(plan->list);
    hpc_free(plan->layout);
    hpc_arena_free(plan->arena);
    hpc_free(plan);
}

/* ---- checks of tasks ------------------------------------------------------------------------- */

typedef struct place {      /* of a microbatch and a chunk: positions in the list; -1 */
    int run[HPC_PLAN_NORM]; /* by hpc_plan_run; shared ones of chunk 0 */
    int first, last;        /* of tasks that are not alone; of chunk 0: in all chunks */
} place;

typedef struct checker {
    const hpc_train_plan *plan;
    const hpc_plan_list *l;
    int rank;
    place *at; /* [microbatches * chunks] */
} checker;

static bool is_interlaced(const hpc_train_plan *plan)
{
    return plan->parallel.pipe.vocab == HPC_VOCAB_INTERLACED;
}

static bool is_alone(const checker *c, const hpc_plan_task *t)
{
    return hpc_plan_task_is_alone(t->run, c->rank, c->plan->list_n);
}

static int find_places(const checker *c)
{
    const hpc_plan_list *l = c->l;
    int chunks = c->plan->parallel.pipe.chunks;
    for (int64_t k = 0; k < c->plan->microbatches * chunks; k++) {
        c->at[k].first = c->at[k].last = -1;
        for (int r = 0; r < HPC_PLAN_NORM; r++) c->at[k].run[r] = -1;
    }
    for (int k = 0; k < l->gradient_n; k++) {
        const hpc_plan_task *t = &l->task[k];
        place *all = &c->at[t->microbatch * chunks];
        int *of = &all[hpc_plan_run_is_shared(t->run) ? 0 : t->chunk].run[t->run];
        if (*of >= 0)
            return hpc_fail(HPC_E_STATE, "tasks %d and %d both run the %s of microbatch %d", *of, k,
                            hpc_plan_run_names[t->run], t->microbatch);
        if (hpc_plan_run_is_shared(t->run) && !is_interlaced(c->plan))
            return hpc_fail(HPC_E_STATE, "task %d runs %s, and pipe-vocab is ends", k,
                            hpc_plan_run_names[t->run]);
        *of = k;
        if (is_alone(c, t)) continue;
        if (all->first < 0) all->first = k;
        all->last = k;
    }
    return HPC_OK;
}

/* A microbatch keeps its slot, and no other is in it between its first and last task. */
static int check_slots(const checker *c)
{
    const hpc_plan_list *l = c->l;
    int chunks = c->plan->parallel.pipe.chunks;
    for (int k = 0; k < l->gradient_n; k++) {
        const hpc_plan_task *t = &l->task[k];
        const place *own = &c->at[t->microbatch * chunks];
        if (is_alone(c, t)) continue;
        for (int n = 0; n < l->gradient_n; n++) {
            const hpc_plan_task *o = &l->task[n];
            bool same = o->microbatch == t->microbatch && !is_alone(c, o);
            if (same && o->slot != t->slot)
                return hpc_fail(HPC_E_STATE,
                                "task %d runs in slot %d, and task %d of the same "
                                "microbatch in slot %d",
                                k, t->slot, n, o->slot);
            if (!same && o->slot == t->slot && n > own->first && n < own->last)
                return hpc_fail(HPC_E_STATE, "task %d uses slot %d, which holds microbatch %d", n,
                                o->slot, t->microbatch);
        }
    }
    return HPC_OK;
}

/* Runs of a microbatch on one rank of which the second reads the first's results. */
static int check_pairs(const checker *c, const place *p)
{
    int last = c->plan->list_n - 1;
    const struct {
        int first, then;
        bool here;
    } pair[] = {{HPC_PLAN_FORWARD, HPC_PLAN_BACKWARD, true},
                {HPC_PLAN_EMBED, HPC_PLAN_FORWARD, c->rank == 0},
                {HPC_PLAN_BACKWARD, HPC_PLAN_TABLE, c->rank == 0},
                {HPC_PLAN_FORWARD, HPC_PLAN_HEAD, c->rank == last},
                {HPC_PLAN_HEAD, HPC_PLAN_BACKWARD, c->rank == last}};
    for (size_t k = 0; k < (is_interlaced(c->plan) ? sizeof pair / sizeof *pair : 1); k++)
        if (pair[k].here && p->run[pair[k].then] < p->run[pair[k].first])
            return hpc_fail(HPC_E_STATE, "task %d runs a %s before its %s, task %d",
                            p->run[pair[k].then], hpc_plan_run_names[pair[k].then],
                            hpc_plan_run_names[pair[k].first], p->run[pair[k].first]);
    return HPC_OK;
}

/* Bits depend on the order of additions to gradients: that of microbatches. */
static int check_order_of(const checker *c, int64_t m, int chunk)
{
    int chunks = c->plan->parallel.pipe.chunks;
    const place *p = &c->at[m * chunks + chunk];
    int runs = is_interlaced(c->plan) && chunk == 0 ? HPC_PLAN_NORM : HPC_PLAN_BACKWARD + 1;
    for (int r = 0; r < runs; r++) {
        bool adds = r == HPC_PLAN_BACKWARD || r == HPC_PLAN_HEAD || r == HPC_PLAN_TABLE;
        if (p->run[r] < 0)
            return hpc_fail(HPC_E_STATE, "no task runs the %s of microbatch %lld, chunk %d",
                            hpc_plan_run_names[r], (long long)m, chunk);
        if (adds && m > 0 && p->run[r] < p[-chunks].run[r])
            return hpc_fail(HPC_E_STATE,
                            "task %d runs a %s before that of the microbatch before, task %d",
                            p->run[r], hpc_plan_run_names[r], p[-chunks].run[r]);
    }
    return check_pairs(c, p);
}

static int check_order(const checker *c)
{
    int rc = HPC_OK;
    for (int64_t m = 0; m < c->plan->microbatches; m++)
        for (int k = 0; k < c->plan->parallel.pipe.chunks; k++) TRY(check_order_of(c, m, k));
out:
    return rc;
}

/* All ranks run the same tasks after the gradients, some of which are collectives of all. */
static int check_end(const hpc_plan_list *l)
{
    for (int k = 0; k < HPC_PLAN_RUN_N - HPC_PLAN_NORM; k++) {
        int at = l->gradient_n + k, run = HPC_PLAN_NORM + k;
        if (at >= l->task_n || l->task[at].run != run)
            return hpc_fail(HPC_E_STATE, "task %d must run %s", at, hpc_plan_run_names[run]);
    }
    if (l->task_n > l->gradient_n + HPC_PLAN_RUN_N - HPC_PLAN_NORM)
        return hpc_fail(HPC_E_STATE, "task %d comes after the last, %s", l->task_n - 1,
                        hpc_plan_run_names[HPC_PLAN_RUN_N - 1]);
    return HPC_OK;
}

static int check_list(const hpc_train_plan *plan, int rank)
{
    size_t n = (size_t)plan->microbatches * (size_t)plan->parallel.pipe.chunks;
    checker c = {.plan = plan, .l = &plan->list[rank], .rank = rank};
    int rc;
    c.at = hpc_alloc(n + 1, sizeof *c.at);
    if (!c.at) return HPC_E_NOMEM;
    TRY(find_places(&c));
    TRY(check_order(&c));
    TRY(check_slots(&c));
    TRY(check_end(c.l));
out:
    hpc_free(c.at);
    return rc;
}

int hpc_plan_check_tasks(const hpc_train_plan *plan)
{
    double one[HPC_STAGES];
    int chunks = plan->parallel.pipe.chunks, rc = HPC_OK;
    hpc_plan_span span;
    for (int k = 0; k < HPC_STAGES; k++) one[k] = 1;
    for (int r = 0; r < plan->list_n; r++) {
        rc = check_list(plan, r);
        if (rc < 0) return hpc_error_where("rank %d along pipe", r);
    }
    hpc_plan_policy policy =
        plan->parallel.pipe.schedule == HPC_PIPE_ARRIVAL ? HPC_PLAN_PREFERRED : HPC_PLAN_IN_ORDER;
    TRY(hpc_plan_simulate_tasks(
        &span, plan->list, plan->list_n, chunks, policy,
        &(hpc_plan_times){.forward = one, .backward = one, .shared = {1, 1, 1}}));
out:
    return rc;
}

/* ---- making ---------------------------------------------------------------------------------- */

static int take_layouts(hpc_train_plan *plan, const hpc_program *p, const hpc_model_config *c)
{
    hpc_model_tensor *tensor = NULL;
    int64_t n = 0;
    int rc = hpc_model_tensors(&tensor, &n, c);
    if (rc < 0) return rc;
    plan->layout = hpc_alloc((size_t)n + 1, sizeof *plan->layout);
    if (!plan->layout) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < n; k++) {
        hpc_value v = hpc_program_find(p, tensor[k].name);
        if (v < 0) continue;
        hpc_plan_layout *l = &plan->layout[plan->layout_n++];
        l->name = hpc_arena_text(plan->arena, "%s", tensor[k].name);
        if (!l->name) TRY(HPC_E_NOMEM);
        memcpy(l->layout, p->value[v].type.layout, sizeof l->layout);
        for (int a = 0; a < HPC_AXIS_N; a++)
            if (plan->parallel.grid.extent[a] <= 1) l->layout[a] = HPC_REPLICATED;
    }
out:
    hpc_free(tensor);
    return rc;
}

static int make_lists(hpc_train_plan *plan)
{
    int ranks = ranks_of(&plan->parallel), rc = HPC_OK;
    plan->list = hpc_alloc((size_t)ranks, sizeof *plan->list);
    if (!plan->list) return HPC_E_NOMEM;
    for (int r = 0; r < ranks; r++) {
        TRY(hpc_plan_tasks(&plan->list[r], &plan->parallel.pipe, ranks, r, plan->microbatches));
        plan->list_n++;
    }
out:
    return rc;
}

int hpc_plan_make(hpc_train_plan **out, const hpc_program *p, const hpc_step *io,
                  const hpc_model_config *c, const hpc_step_options *s, int64_t microbatches)
{
    hpc_train_plan *plan;
    int rc = plan_create(&plan);
    *out = NULL;
    if (rc < 0) goto out;
    take_sizes(plan, c);
    if (s->parallel) plan->parallel = *s->parallel;
    plan->parallel.pipe = hpc_pipe_resolved(&plan->parallel.pipe, ranks_of(&plan->parallel));
    if (io->stage.chunks > 0)
        memcpy(plan->parallel.pipe.first, io->first, sizeof io->first);
    else
        plan->parallel.pipe = (hpc_pipe){.schedule = HPC_PIPE_1F1B, .chunks = 1, .limit = 1};
    plan->recompute = s->recompute;
    plan->recompute_blocks = s->recompute_blocks;
    plan->microbatches = microbatches;
    TRY(take_layouts(plan, p, c));
    TRY(make_lists(plan));
    *out = plan;
    plan = NULL;
out:
    hpc_plan_free(plan);
    return rc;
}

/* ---- a plan that was given --------------------------------------------------------------------
 */

static const hpc_plan_layout *layout_of(const hpc_train_plan *plan, const char *name)
{
    for (int64_t k = 0; k < plan->layout_n; k++)
        if (strcmp(plan->layout[k].name, name) == 0) return &plan->layout[k];
    return NULL;
}

int hpc_plan_follow(hpc_train_plan *made, const hpc_train_plan *given)
{
    if (made->layout_n != given->layout_n)
        return hpc_fail(HPC_E_SHAPE,
                        "the plan is for a model with %lld tensors, and this one has %lld",
                        (long long)given->layout_n, (long long)made->layout_n);
    for (int64_t k = 0; k < made->layout_n; k++) {
        const hpc_plan_layout *l = layout_of(given, made->layout[k].name);
        if (!l || memcmp(l->layout, made->layout[k].layout, sizeof l->layout) != 0)
            return hpc_fail(HPC_E_SHAPE,
                            "the plan's layout of %s is not that of its grid and passes",
                            made->layout[k].name);
    }
    for (int r = 0; r < made->list_n; r++) {
        hpc_plan_list *to = &made->list[r];
        const hpc_plan_list *from = &given->list[r];
        hpc_plan_task *task = hpc_alloc((size_t)from->task_n + 1, sizeof *task);
        if (!task) return HPC_E_NOMEM;
        memcpy(task, from->task, (size_t)from->task_n * sizeof *task);
        hpc_free(to->task);
        *to = *from;
        to->task = task;
    }
    return HPC_OK;
}
