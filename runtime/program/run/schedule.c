/*
 * schedule.c: execution of task lists, in order or as messages arrive.
 *
 * A task that waits for a message stays open while others run.
 */
#include <sched.h>

#include "runtime/program/run/priv.h"

typedef struct scheduler {
    hpc_exec *e;
    const hpc_task *task;
    int n, done_n;
    hpc_run *run;
    uint8_t *state; /* IDLE, OPEN, DONE */
    int *by_rank;   /* tasks, smallest rank first, list order among equals */
    int *order;
    int (*before)(hpc_exec *e, const hpc_task *t, void *user);
    void *user;
} scheduler;

enum { IDLE, OPEN, DONE };

static bool slot_is_busy(const scheduler *s, int slot)
{
    for (int k = 0; k < s->n; k++)
        if (s->state[k] == OPEN && s->task[k].slot == slot) return true;
    return false;
}

static bool may_start(const scheduler *s, int k)
{
    for (int a = 0; a < 2; a++) {
        int after = s->task[k].after[a];
        if (after >= 0 && s->state[after] != DONE) return false;
    }
    return !slot_is_busy(s, s->task[k].slot);
}

static int start(scheduler *s, int k)
{
    const hpc_task *t = &s->task[k];
    int rc = HPC_OK;
    TRY(hpc_run_begin(&s->run[k], s->e, t->segment, t->slot));
    hpc_exec_microbatch(s->e, t->slot, t->microbatch);
    if (s->before) TRY(s->before(s->e, t, s->user));
    s->state[k] = OPEN;
out:
    return rc;
}

static void finish(scheduler *s, int k)
{
    s->state[k] = DONE;
    if (s->order) s->order[s->done_n] = k;
    s->done_n++;
}

static int in_order(scheduler *s)
{
    int rc = HPC_OK;
    for (int k = 0; k < s->n; k++) {
        if (!may_start(s, k))
            TRY(hpc_fail(HPC_E_STATE, "task %d cannot run: its predecessor is later in the list",
                         k));
        TRY(start(s, k));
        TRY(hpc_exec_run(s->e, s->task[k].segment, s->task[k].slot));
        finish(s, k);
    }
out:
    return rc;
}

/* One look at every task; *moved: something started or finished. */
static int sweep(scheduler *s, bool *moved, bool *open)
{
    int rc = HPC_OK;
    *moved = *open = false;
    for (int r = 0; r < s->n && !*moved; r++) {
        int k = s->by_rank[r];
        if (s->state[k] == IDLE && may_start(s, k)) TRY(start(s, k));
        if (s->state[k] != OPEN) continue;
        *open = true;
        TRY(hpc_run_step(&s->run[k]));
        if (rc == HPC_RUN_DONE) {
            finish(s, k);
            *moved = true;
        }
    }
    rc = HPC_OK;
out:
    return rc;
}

static int on_arrival(scheduler *s)
{
    while (s->done_n < s->n) {
        bool moved, open;
        int rc = sweep(s, &moved, &open);
        if (rc < 0) return rc;
        if (!moved && !open) {
            int k = 0;
            while (s->state[k] == DONE) k++;
            return hpc_fail(HPC_E_STATE, "task %d (segment %s, slot %d) can never start", k,
                            s->e->p->segment[s->task[k].segment].name, s->task[k].slot);
        }
        if (!moved) sched_yield();
    }
    return hpc_exec_fence(s->e);
}

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

int hpc_schedule_run(hpc_exec *e, hpc_schedule_kind kind, const hpc_task *task, int task_n,
                     int (*before)(hpc_exec *e, const hpc_task *t, void *user), void *user,
                     int *order)
{
    int rc = HPC_OK;
    size_t n = (size_t)task_n + 1;
    scheduler s = {
        .e = e, .task = task, .n = task_n, .order = order, .before = before, .user = user};
    TRY(check_tasks(e, task, task_n));
    s.run = hpc_alloc(n, sizeof *s.run);
    s.state = hpc_alloc(n, sizeof *s.state);
    s.by_rank = hpc_alloc(n, sizeof *s.by_rank);
    if (!s.run || !s.state || !s.by_rank) TRY(HPC_E_NOMEM);
    sort_by_rank(s.by_rank, task, task_n);
    rc = kind == HPC_IN_ORDER ? in_order(&s) : on_arrival(&s);
    if (rc < 0) hpc_exec_fail(e, rc); /* with tasks still to do that others wait for */
out:
    hpc_free(s.run);
    hpc_free(s.state);
    hpc_free(s.by_rank);
    return rc;
}
