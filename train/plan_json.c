/*
 * plan_json.c: a plan as JSON, and the checks of one that was read: tasks are complete and name
 * their own list.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "train/plan_priv.h"

static const char *const policies[] = {"none", "selective", "block", NULL};

/* ---- writing --------------------------------------------------------------------------------- */

static void put_layouts(hpc_json_out *w, const hpc_train_plan *plan)
{
    hpc_json_open(w, "layouts", '{');
    for (int64_t k = 0; k < plan->layout_n; k++) {
        hpc_json_open(w, plan->layout[k].name, '{');
        for (int a = 0; a < HPC_AXIS_N; a++)
            if (plan->layout[k].layout[a] > 0)
                hpc_json_put_int(w, hpc_axis_name((hpc_axis)a),
                                 hpc_layout_dim(plan->layout[k].layout[a]));
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, '}');
}

static void put_task(hpc_json_out *w, const hpc_plan_task *t)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "run", hpc_plan_run_names[t->run]);
    if (hpc_plan_run_is_gradient(t->run)) {
        hpc_json_put_int(w, "chunk", t->chunk);
        hpc_json_put_int(w, "microbatch", t->microbatch);
        hpc_json_put_int(w, "slot", t->slot);
        hpc_json_put_int(w, "preference", t->rank);
    }
    hpc_json_open(w, "after", '[');
    for (int a = 0; a < 2; a++)
        if (t->after[a] >= 0) hpc_json_put_int(w, NULL, t->after[a]);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

static void put_lists(hpc_json_out *w, const hpc_train_plan *plan)
{
    hpc_json_open(w, "ranks", '[');
    for (int r = 0; r < plan->list_n; r++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_int(w, "slots", plan->list[r].slots);
        hpc_json_open(w, "tasks", '[');
        for (int k = 0; k < plan->list[r].task_n; k++) put_task(w, &plan->list[r].task[k]);
        hpc_json_close(w, ']');
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static void put_passes(hpc_json_out *w, const hpc_train_plan *plan)
{
    const hpc_parallel *q = &plan->parallel;
    hpc_json_open(w, "passes", '{');
    hpc_json_put_int(w, "zero", q->zero);
    hpc_json_put_bool(w, "keep_depth", q->keep_depth);
    hpc_json_put_bool(w, "overlap", q->overlap);
    hpc_json_put_bool(w, "overdecompose", q->halves);
    hpc_json_put_bool(w, "sequence", q->sequence);
    hpc_json_put_int(w, "ahead", q->ahead);
    hpc_json_put_int(w, "bucket_bytes", (int64_t)q->bucket_bytes);
    hpc_json_put_text(w, "recompute", policies[plan->recompute]);
    hpc_json_put_int(w, "recompute_blocks", plan->recompute_blocks);
    if (plan->offload >= 0) hpc_json_put_int(w, "offload_bucket", plan->offload);
    hpc_json_close(w, '}');
}

static void put_pipe(hpc_json_out *w, const hpc_train_plan *plan)
{
    const hpc_pipe *p = &plan->parallel.pipe;
    hpc_json_open(w, "pipe", '{');
    hpc_json_put_text(w, "schedule", hpc_pipe_schedule_names[p->schedule]);
    hpc_json_put_int(w, "chunks", p->chunks);
    hpc_json_put_int(w, "limit", p->limit);
    if (p->vocab != HPC_VOCAB_ENDS) hpc_json_put_text(w, "vocab", hpc_pipe_vocab_names[p->vocab]);
    hpc_json_open(w, "first", '[');
    for (int k = 0; k < plan->list_n * p->chunks; k++) hpc_json_put_int(w, NULL, p->first[k]);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

void hpc_plan_put(hpc_json_out *w, const char *key, const hpc_train_plan *plan)
{
    hpc_train_plan copy = *plan;
    hpc_json_open(w, key, '{');
    hpc_json_put_text(w, "format", "hpccoder-plan");
    bool shared = plan->parallel.pipe.vocab == HPC_VOCAB_INTERLACED;
    hpc_json_put_int(w, "version", shared ? HPC_PLAN_VERSION : 1); /* older programs read 1 */
    hpc_json_open(w, "model", '{');
    for (int k = 0; k < PLAN_SIZES; k++)
        hpc_json_put_int(w, plan_size_name(k), *plan_size(&copy, k));
    hpc_json_close(w, '}');
    hpc_json_open(w, "grid", '{');
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (plan->parallel.grid.extent[a] > 1)
            hpc_json_put_int(w, hpc_axis_name((hpc_axis)a), plan->parallel.grid.extent[a]);
    hpc_json_close(w, '}');
    hpc_json_put_int(w, "microbatches", plan->microbatches);
    put_passes(w, plan);
    put_pipe(w, plan);
    put_layouts(w, plan);
    put_lists(w, plan);
    hpc_json_close(w, '}');
}

/* ---- reading --------------------------------------------------------------------------------- */

static int get_int(int *out, const hpc_json *o, const char *key, int64_t least, int64_t most)
{
    int64_t n = 0;
    int rc = hpc_json_int(&n, hpc_json_get(o, key), key);
    if (rc < 0) return rc;
    if (n < least || n > most)
        return hpc_fail(HPC_E_FORMAT, "%s is %lld; expected %lld to %lld", key, (long long)n,
                        (long long)least, (long long)most);
    *out = (int)n;
    return HPC_OK;
}

static int get_name(int *out, const hpc_json *o, const char *key, const char *const *names)
{
    const char *text;
    int rc = hpc_json_text(&text, hpc_json_get(o, key), key);
    if (rc < 0) return rc;
    for (*out = 0; names[*out]; ++*out)
        if (strcmp(names[*out], text) == 0) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT, "%s: unknown name '%.40s'", key, text);
}

static int get_model(hpc_train_plan *plan, const hpc_json *o)
{
    int rc = HPC_OK;
    for (int k = 0; k < PLAN_SIZES; k++)
        TRY(hpc_json_int(plan_size(plan, k), hpc_json_get(o, plan_size_name(k)),
                         plan_size_name(k)));
out:
    return rc;
}

static int find_axis(int *out, const char *name)
{
    for (*out = 0; *out < HPC_AXIS_N; ++*out)
        if (strcmp(hpc_axis_name((hpc_axis)*out), name) == 0) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT, "unknown axis '%.40s'", name);
}

static int get_grid(hpc_grid_shape *s, const hpc_json *o)
{
    int a, rc = HPC_OK;
    for (int k = 0; k < HPC_AXIS_N; k++) s->extent[k] = 1;
    for (int64_t k = 0; k < hpc_json_n(o); k++) {
        const char *name = hpc_json_key(o, k, NULL);
        TRY(find_axis(&a, name));
        TRY(get_int(&s->extent[a], o, name, 1, 1 << 16));
    }
out:
    return rc;
}

static int get_passes(hpc_train_plan *plan, const hpc_json *o)
{
    hpc_parallel *q = &plan->parallel;
    int64_t bytes;
    int bucket = -1, rc;
    TRY(get_int(&q->zero, o, "zero", 0, 3));
    TRY(hpc_json_bool(&q->keep_depth, hpc_json_get(o, "keep_depth"), "keep_depth"));
    TRY(hpc_json_bool(&q->overlap, hpc_json_get(o, "overlap"), "overlap"));
    TRY(hpc_json_bool(&q->halves, hpc_json_get(o, "overdecompose"), "overdecompose"));
    TRY(hpc_json_bool(&q->sequence, hpc_json_get(o, "sequence"), "sequence"));
    TRY(get_int(&q->ahead, o, "ahead", 0, 1000));
    TRY(hpc_json_int(&bytes, hpc_json_get(o, "bucket_bytes"), "bucket_bytes"));
    if (bytes < 0) TRY(hpc_fail(HPC_E_FORMAT, "bucket_bytes is negative"));
    q->bucket_bytes = (size_t)bytes;
    TRY(get_name(&plan->recompute, o, "recompute", policies));
    TRY(get_int(&plan->recompute_blocks, o, "recompute_blocks", 0, INT_MAX));
    if (hpc_json_get(o, "offload_bucket")) TRY(get_int(&bucket, o, "offload_bucket", 0, INT_MAX));
    plan->offload = bucket;
out:
    return rc;
}

static int get_pipe(hpc_pipe *p, const hpc_json *o, int ranks)
{
    const hpc_json *first = hpc_json_get(o, "first");
    int rc;
    TRY(get_name(&p->schedule, o, "schedule", hpc_pipe_schedule_names));
    TRY(get_int(&p->chunks, o, "chunks", 1, HPC_STAGES));
    TRY(get_int(&p->limit, o, "limit", 1, 1 << 16));
    if (hpc_json_get(o, "vocab")) TRY(get_name(&p->vocab, o, "vocab", hpc_pipe_vocab_names));
    if (hpc_json_n(first) != (int64_t)ranks * p->chunks || hpc_json_n(first) > HPC_STAGES)
        TRY(hpc_fail(HPC_E_FORMAT, "first has %lld stages; expected %d ranks of %d",
                     (long long)hpc_json_n(first), ranks, p->chunks));
    for (int64_t k = 0; k < hpc_json_n(first); k++) {
        int64_t block;
        TRY(hpc_json_int(&block, hpc_json_at(first, k), "first"));
        if (block < 0 || block > INT_MAX)
            TRY(hpc_fail(HPC_E_FORMAT, "first: no block %lld", (long long)block));
        p->first[k] = (int)block;
    }
out:
    return rc;
}

static int get_layouts(hpc_train_plan *plan, const hpc_json *o)
{
    int rc = HPC_OK, a, dim;
    plan->layout = hpc_alloc((size_t)hpc_json_n(o) + 1, sizeof *plan->layout);
    if (!plan->layout) return HPC_E_NOMEM;
    for (int64_t k = 0; k < hpc_json_n(o); k++) {
        const hpc_json *axes;
        hpc_plan_layout *l = &plan->layout[plan->layout_n++];
        l->name = hpc_arena_text(plan->arena, "%s", hpc_json_key(o, k, &axes));
        if (!l->name) TRY(HPC_E_NOMEM);
        for (int64_t n = 0; n < hpc_json_n(axes); n++) {
            const char *axis = hpc_json_key(axes, n, NULL);
            TRY(find_axis(&a, axis));
            TRY(get_int(&dim, axes, axis, 0, HPC_RANK_MAX - 1));
            l->layout[a] = (int8_t)HPC_SPLIT(dim);
        }
    }
out:
    return rc;
}

static int get_task(hpc_plan_list *l, const hpc_train_plan *plan, const hpc_json *o)
{
    hpc_plan_task *t = &l->task[l->task_n];
    const hpc_json *after = hpc_json_get(o, "after");
    int rc;
    *t = (hpc_plan_task){.after = {-1, -1}};
    TRY(get_name(&t->run, o, "run", hpc_plan_run_names));
    if (hpc_plan_run_is_gradient(t->run)) {
        TRY(get_int(&t->chunk, o, "chunk", 0, plan->parallel.pipe.chunks - 1));
        TRY(get_int(&t->microbatch, o, "microbatch", 0, plan->microbatches - 1));
        TRY(get_int(&t->slot, o, "slot", 0, l->slots - 1));
        TRY(get_int(&t->rank, o, "preference", INT_MIN, INT_MAX));
    }
    if (hpc_json_n(after) > 2) TRY(hpc_fail(HPC_E_FORMAT, "after: a task has at most two"));
    for (int64_t k = 0; k < hpc_json_n(after); k++) {
        int64_t n;
        TRY(hpc_json_int(&n, hpc_json_at(after, k), "after"));
        if (n < 0 || n >= l->task_n)
            TRY(hpc_fail(HPC_E_FORMAT, "after: task %d names task %lld, which is not before it",
                         l->task_n, (long long)n));
        t->after[k] = (int)n;
    }
    l->task_n++;
out:
    return rc;
}

static int get_list(hpc_plan_list *l, const hpc_train_plan *plan, const hpc_json *o)
{
    const hpc_json *tasks = hpc_json_get(o, "tasks");
    int rc;
    TRY(get_int(&l->slots, o, "slots", 1, 1 << 16));
    l->task = hpc_alloc((size_t)hpc_json_n(tasks) + 1, sizeof *l->task);
    if (!l->task) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < hpc_json_n(tasks); k++) {
        TRY(get_task(l, plan, hpc_json_at(tasks, k)));
        if (hpc_plan_run_is_gradient(l->task[k].run) && l->gradient_n++ != k)
            TRY(hpc_fail(HPC_E_FORMAT, "task %lld: gradients come first", (long long)k));
    }
out:
    return rc;
}

static int get_lists(hpc_train_plan *plan, const hpc_json *o, int ranks)
{
    int rc = HPC_OK;
    if (hpc_json_n(o) != ranks)
        return hpc_fail(HPC_E_FORMAT, "ranks has %lld lists of tasks for pipe=%d",
                        (long long)hpc_json_n(o), ranks);
    plan->list = hpc_alloc((size_t)ranks, sizeof *plan->list);
    if (!plan->list) return HPC_E_NOMEM;
    plan->list_n = ranks;
    for (int r = 0; r < ranks; r++) {
        rc = get_list(&plan->list[r], plan, hpc_json_at(o, r));
        if (rc < 0) return hpc_error_where("rank %d", r);
    }
    TRY(hpc_plan_check_tasks(plan));
out:
    return rc;
}

int hpc_plan_get(hpc_train_plan **out, const hpc_json *root)
{
    hpc_train_plan *plan = NULL;
    const char *format;
    int64_t version;
    int rc;
    *out = NULL;
    TRY(hpc_json_text(&format, hpc_json_get(root, "format"), "format"));
    if (strcmp(format, "hpccoder-plan") != 0)
        TRY(hpc_fail(HPC_E_FORMAT, "format is '%.40s', not hpccoder-plan", format));
    TRY(hpc_json_int(&version, hpc_json_get(root, "version"), "version"));
    if (version > HPC_PLAN_VERSION)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "version %lld; this program knows up to %d: use a newer one",
                     (long long)version, HPC_PLAN_VERSION));
    TRY(plan_create(&plan));
    TRY(get_model(plan, hpc_json_get(root, "model")));
    TRY(get_grid(&plan->parallel.grid, hpc_json_get(root, "grid")));
    int ranks = plan->parallel.grid.extent[HPC_AXIS_PIPE];
    TRY(hpc_json_int(&plan->microbatches, hpc_json_get(root, "microbatches"), "microbatches"));
    if (plan->microbatches < 1 || plan->microbatches > 1 << 16)
        TRY(hpc_fail(HPC_E_FORMAT, "microbatches is %lld; expected 1 to 65536",
                     (long long)plan->microbatches));
    TRY(get_passes(plan, hpc_json_get(root, "passes")));
    TRY(get_pipe(&plan->parallel.pipe, hpc_json_get(root, "pipe"), ranks));
    TRY(plan_check_pipe(&plan->parallel.pipe, ranks, plan->microbatches));
    TRY(get_layouts(plan, hpc_json_get(root, "layouts")));
    TRY(get_lists(plan, hpc_json_get(root, "ranks"), ranks));
    *out = plan;
    plan = NULL;
out:
    hpc_plan_free(plan);
    return rc;
}

int hpc_plan_read(hpc_train_plan **out, const char *path)
{
    hpc_json *root = NULL;
    int rc;
    *out = NULL;
    TRY(hpc_json_read(&root, path));
    rc = hpc_plan_get(out, root);
    if (rc < 0) hpc_error_where("%s", path);
out:
    hpc_json_free(root);
    return rc;
}
