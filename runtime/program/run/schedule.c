/*
 * schedule.c: execution of task lists, in order or as messages arrive.
 *
 * A task starts once its receives have landed, and runs to its end. Where ranks share collectives,
 * the first of them decides the order of tasks and the others follow.
 */
#include "runtime/program/run/priv.h"

typedef struct scheduler {
    hpc_exec *e;
    const hpc_schedule *s;
    int done_n;
    uint8_t *state;   /* by task: IDLE, DONE */
    int *by_rank;     /* tasks, smallest rank first, list order among equals */
    int *prev, *next; /* by task: of the same slot, or -1 */
    hpc_link *group;  /* the ranks that run tasks in one order; NULL: this one decides alone */
    unsigned seen;    /* of hpc_link_pause */
} scheduler;

enum { IDLE, DONE };

static bool may_start(const scheduler *s, int k)
{
    const hpc_task *t = &s->s->task[k];
    if (s->state[k] != IDLE || (s->prev[k] >= 0 && s->state[s->prev[k]] != DONE)) return false;
    for (int a = 0; a < 2; a++)
        if (t->after[a] >= 0 && s->state[t->after[a]] != DONE) return false;
    return true;
}

/* The slot's memory is free for what task k receives. */
static int post(scheduler *s, int k)
{
    if (k < 0) return HPC_OK;
    const hpc_task *t = &s->s->task[k];
    hpc_exec_microbatch(s->e, t->slot, t->microbatch);
    return hpc_transfers_post(s->e, t->segment, t->slot);
}

static void pause_rank(scheduler *s)
{
    hpc_link_pause(s->e->grid ? hpc_grid_world(s->e->grid) : s->e->self, &s->seen);
}

static int run_task(scheduler *s, int k)
{
    const hpc_task *t = &s->s->task[k];
    bool landed;
    int rc = HPC_OK;
    if (s->s->before) TRY(s->s->before(s->e, t, s->s->user));
    int64_t begin = hpc_clock_ns();
    TRY(hpc_transfers_landed(s->e, t->segment, t->slot, &landed));
    bool idle = !landed;
    while (!landed) {
        pause_rank(s);
        TRY(hpc_transfers_landed(s->e, t->segment, t->slot, &landed));
    }
    if (idle) hpc_event_note(s->e, HPC_EVENT_IDLE, t->segment, HPC_NONE, begin);
    TRY(hpc_exec_enqueue(s->e, t->segment, t->slot));
    s->state[k] = DONE;
    if (s->s->order) s->s->order[s->done_n] = k;
    s->done_n++;
    if (s->s->after) TRY(s->s->after(s->e, t, s->s->user));
    TRY(post(s, s->next[k]));
out:
    return rc;
}

static int in_order(scheduler *s)
{
    int rc = HPC_OK;
    for (int k = 0; k < s->s->task_n; k++) {
        if (!may_start(s, k))
            TRY(hpc_fail(HPC_E_STATE, "task %d cannot run: its predecessor is later in the list",
                         k));
        TRY(run_task(s, k));
    }
out:
    return rc;
}

/* ---- as messages arrive ---------------------------------------------------------------------- */

/* *best: the first task that can run now; -1: none. *open: the first that waits for messages. */
static int look(scheduler *s, int *best, int *open)
{
    int rc = HPC_OK;
    *best = *open = -1;
    for (int r = 0; r < s->s->task_n && *best < 0; r++) {
        int k = s->by_rank[r];
        bool landed;
        if (!may_start(s, k)) continue;
        TRY(hpc_transfers_landed(s->e, s->s->task[k].segment, s->s->task[k].slot, &landed));
        if (landed) *best = k;
        if (*open < 0) *open = k;
    }
out:
    return rc;
}

static int choose(scheduler *s, int *task)
{
    int open, rc;
    int64_t begin = hpc_clock_ns();
    bool idle = false;
    TRY(look(s, task, &open));
    for (; *task < 0 && open >= 0; idle = true) {
        pause_rank(s);
        TRY(look(s, task, &open));
    }
    if (idle && *task >= 0)
        hpc_event_note(s->e, HPC_EVENT_IDLE, s->s->task[*task].segment, HPC_NONE, begin);
    if (*task >= 0) goto out;
    int k = 0;
    while (s->state[k] == DONE) k++;
    rc = hpc_fail(HPC_E_STATE, "task %d (segment %s, slot %d) can never start", k,
                  s->e->p->segment[s->s->task[k].segment].name, s->s->task[k].slot);
out:
    return rc;
}

/* The first rank of a group tells the others its choice; their messages come from ranks that follow
 * the same order, so they arrive. */
static int agree(scheduler *s, int *task)
{
    int32_t word;
    int rc = HPC_OK;
    if (!s->group) return choose(s, task);
    bool leads = hpc_link_rank(s->group) == 0;
    if (leads) TRY(choose(s, task));
    int64_t begin = hpc_clock_ns();
    word = *task;
    TRY(hpc_link_run(s->group, &(hpc_comm){.kind = HPC_BROADCAST,
                                           .dtype = HPC_I32,
                                           .n = 1,
                                           .send = leads ? &word : NULL,
                                           .recv = leads ? NULL : &word}));
    *task = word;
    if (word < 0 || word >= s->s->task_n || !may_start(s, word))
        TRY(hpc_fail(HPC_E_STATE, "task %d cannot start here, as it does on the first rank", word));
    if (!leads) hpc_event_note(s->e, HPC_EVENT_IDLE, s->s->task[word].segment, HPC_NONE, begin);
out:
    return rc;
}

static int on_arrival(scheduler *s)
{
    int task = -1, rc = HPC_OK;
    while (s->done_n < s->s->task_n) {
        TRY(agree(s, &task));
        TRY(run_task(s, task));
    }
out:
    return rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int check_tasks(const hpc_exec *e, const hpc_task *task, int n)
{
    for (int k = 0; k < n; k++) {
        if (task[k].segment < 0 || task[k].segment >= e->p->segment_n || task[k].slot < 0 ||
            task[k].slot >= e->slots)
            return hpc_fail(HPC_E_ARG, "task %d: there is no segment %d or no slot %d", k,
                            task[k].segment, task[k].slot);
        for (int a = 0; a < 2; a++)
            if (task[k].after[a] >= n)
                return hpc_fail(HPC_E_ARG, "task %d comes after task %d, which does not exist", k,
                                task[k].after[a]);
    }
    return HPC_OK;
}

static void sort_by_rank(int *out, const hpc_task *task, int n)
{
    for (int k = 0; k < n; k++) {
        int at = k;
        while (at > 0 && task[out[at - 1]].rank > task[k].rank) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = k;
    }
}

static void chain_slots(scheduler *s)
{
    for (int k = 0; k < s->s->task_n; k++) {
        int before = k - 1;
        while (before >= 0 && s->s->task[before].slot != s->s->task[k].slot) before--;
        s->prev[k] = before;
        s->next[k] = -1;
        if (before >= 0) s->next[before] = k;
    }
}

/* A link that issues operations in streams matches messages by their order. */
static int check_links(const hpc_exec *e, const hpc_schedule *s)
{
    for (int32_t k = 0; k < e->transfer_n && s->kind == HPC_ON_ARRIVAL; k++)
        if (e->transfer[k].stream &&
            (e->transfer[k].comm.kind == HPC_SEND || e->transfer[k].comm.kind == HPC_RECV))
            return hpc_fail(HPC_E_UNSUPPORTED,
                            "schedule=arrival: %s matches messages in the order of their starts; "
                            "use gpipe, 1f1b or interleaved",
                            e->transfer[k].link->ops->name);
    return HPC_OK;
}

static int open_group(scheduler *s)
{
    hpc_link *l;
    if (!s->e->grid || s->s->kind != HPC_ON_ARRIVAL || !s->s->together) return HPC_OK;
    int rc = hpc_grid_link(&l, s->e->grid, s->s->together);
    if (rc >= 0 && hpc_link_size(l) > 1) s->group = l;
    return rc;
}

static int post_first(scheduler *s)
{
    int rc = HPC_OK;
    for (int k = 0; k < s->s->task_n; k++)
        if (s->prev[k] < 0) TRY(post(s, k));
out:
    return rc;
}

int hpc_schedule_run(hpc_exec *e, const hpc_schedule *schedule)
{
    int rc = HPC_OK;
    size_t n = (size_t)schedule->task_n + 1;
    scheduler s = {.e = e, .s = schedule};
    TRY(check_tasks(e, schedule->task, schedule->task_n));
    TRY(check_links(e, schedule));
    TRY(open_group(&s));
    s.state = hpc_alloc(n, sizeof *s.state);
    s.by_rank = hpc_alloc(n, sizeof *s.by_rank);
    s.prev = hpc_alloc(n, sizeof *s.prev);
    s.next = hpc_alloc(n, sizeof *s.next);
    if (!s.state || !s.by_rank || !s.prev || !s.next) TRY(HPC_E_NOMEM);
    sort_by_rank(s.by_rank, schedule->task, schedule->task_n);
    chain_slots(&s);
    rc = post_first(&s);
    if (rc >= 0) rc = schedule->kind == HPC_IN_ORDER ? in_order(&s) : on_arrival(&s);
    if (rc < 0) { /* with tasks still to do that others wait for */
        hpc_exec_fail(e, rc);
        for (int slot = 0; slot < e->slots; slot++) hpc_transfers_end(e, slot);
    }
out:
    hpc_free(s.state);
    hpc_free(s.by_rank);
    hpc_free(s.prev);
    hpc_free(s.next);
    return rc;
}
