/*
 * pipe.c: the tasks of a step in each schedule, and their time by discrete events.
 */
#include <math.h>
#include <stdlib.h>

#include "train/plan_priv.h"

const char *const hpc_pipe_schedule_names[] = {
    [HPC_PIPE_AUTO] = "auto",       [HPC_PIPE_GPIPE] = "gpipe",
    [HPC_PIPE_1F1B] = "1f1b",       [HPC_PIPE_INTERLEAVED] = "interleaved",
    [HPC_PIPE_ARRIVAL] = "arrival", NULL};
const char *const hpc_pipe_vocab_names[] = {
    [HPC_VOCAB_ENDS] = "ends", [HPC_VOCAB_INTERLACED] = "interlaced", NULL};
const char *const hpc_plan_run_names[] = {
    [HPC_PLAN_FORWARD] = "forward", [HPC_PLAN_BACKWARD] = "backward",
    [HPC_PLAN_EMBED] = "embed",     [HPC_PLAN_HEAD] = "head",
    [HPC_PLAN_TABLE] = "table",     [HPC_PLAN_NORM] = "norm",
    [HPC_PLAN_REFRESH] = "refresh", [HPC_PLAN_UPDATE] = "update",
    [HPC_PLAN_GATHER] = "gather",   NULL};

hpc_pipe hpc_pipe_resolved(const hpc_pipe *q, int ranks)
{
    hpc_pipe r = *q;
    if (r.chunks == 0) r.chunks = r.schedule == HPC_PIPE_INTERLEAVED ? 2 : 1;
    if (r.schedule == HPC_PIPE_AUTO)
        r.schedule = r.chunks > 1 ? HPC_PIPE_INTERLEAVED : HPC_PIPE_1F1B;
    if (r.limit == 0) r.limit = ranks;
    if (ranks == 1) r.vocab = HPC_VOCAB_ENDS;
    return r;
}

/* ---- lists ----------------------------------------------------------------------------------- */

typedef struct lister {
    hpc_plan_list *out;
    const hpc_pipe *q;
    int ranks, rank, microbatches;
} lister;

static void add(lister *w, int run, int chunk, int microbatch)
{
    w->out->task[w->out->task_n++] = (hpc_plan_task){.run = run,
                                                     .chunk = chunk,
                                                     .microbatch = microbatch,
                                                     .after = {-1, -1},
                                                     .rank = run == HPC_PLAN_BACKWARD ? 0 : 1};
}

static void list_gpipe(lister *w)
{
    for (int c = 0; c < w->q->chunks; c++)
        for (int m = 0; m < w->microbatches; m++) add(w, HPC_PLAN_FORWARD, c, m);
    for (int c = w->q->chunks - 1; c >= 0; c--)
        for (int m = 0; m < w->microbatches; m++) add(w, HPC_PLAN_BACKWARD, c, m);
}

/* The k-th forward or backward of a rank: turns of `ranks` microbatches through all chunks. */
static void add_turn(lister *w, int run, int k)
{
    int turn = w->ranks * w->q->chunks, chunk = k / w->ranks % w->q->chunks;
    int microbatch = k / turn * w->ranks + k % w->ranks;
    add(w, run, run == HPC_PLAN_FORWARD ? chunk : w->q->chunks - 1 - chunk, microbatch);
}

/* One chunk is 1F1B. */
static void list_turns(lister *w)
{
    int all = w->microbatches * w->q->chunks, behind = w->ranks - 1 - w->rank;
    int warm = w->q->chunks == 1 ? behind : 2 * behind + (w->q->chunks - 1) * w->ranks;
    if (warm > all) warm = all;
    for (int k = 0; k < warm; k++) add_turn(w, HPC_PLAN_FORWARD, k);
    for (int k = warm; k < all; k++) {
        add_turn(w, HPC_PLAN_FORWARD, k);
        add_turn(w, HPC_PLAN_BACKWARD, k - warm);
    }
    for (int k = all - warm; k < all; k++) add_turn(w, HPC_PLAN_BACKWARD, k);
}

static void list_arrival(lister *w)
{
    for (int m = 0; m < w->microbatches; m++) {
        for (int c = 0; c < w->q->chunks; c++) add(w, HPC_PLAN_FORWARD, c, m);
        for (int c = w->q->chunks - 1; c >= 0; c--) add(w, HPC_PLAN_BACKWARD, c, m);
    }
}

/* ---- shared tasks ---------------------------------------------------------------------------- */

bool hpc_plan_task_is_alone(int run, int rank, int ranks)
{
    if (run == HPC_PLAN_HEAD) return rank != ranks - 1;
    return hpc_plan_run_is_shared(run) && rank != 0;
}

static void add_if(lister *w, int run, int microbatch)
{
    if (microbatch >= 0 && microbatch < w->microbatches) add(w, run, 0, microbatch);
}

/* In a round each rank has one forward and one backward, neither of which waits for others of the
 * round, and then the shared tasks. The last rank's forward, and the head, are of microbatch
 * `round`. */
static void add_forward(lister *w, int round)
{
    add_if(w, HPC_PLAN_FORWARD, round + w->ranks - 1 - w->rank);
}

static void add_backward(lister *w, int round)
{
    add_if(w, HPC_PLAN_BACKWARD, round - w->ranks + w->rank);
}

static void add_gradients(lister *w, int round)
{
    add_if(w, HPC_PLAN_TABLE, round - w->ranks);
    add_if(w, HPC_PLAN_HEAD, round);
}

/* Tables and heads follow each other in one order in both schedules, so a tied table's gradient has
 * the same bits. */
static void list_interlaced(lister *w)
{
    bool first = w->q->schedule == HPC_PIPE_GPIPE; /* all forwards */
    int begin = 1 - w->ranks, end = w->microbatches + w->ranks;
    for (int m = 0; m < (first ? w->microbatches : 1); m++) add(w, HPC_PLAN_EMBED, 0, m);
    for (int r = begin; r < end && first; r++) add_forward(w, r);
    for (int r = begin; r < end; r++) {
        add_backward(w, r);
        if (!first) add_forward(w, r);
        add_gradients(w, r);
        if (!first) add_if(w, HPC_PLAN_EMBED, r + w->ranks);
    }
}

/* ---- slots ----------------------------------------------------------------------------------- */

static bool is_alone(const lister *w, const hpc_plan_task *t)
{
    return hpc_plan_task_is_alone(t->run, w->rank, w->ranks);
}

/* Microbatches start and end in order, so those in flight are consecutive: from the first task of a
 * microbatch to its last. */
static int most_in_flight(const lister *w)
{
    int now = 0, most = 0;
    for (int k = 0; k < w->out->task_n; k++) {
        const hpc_plan_task *t = &w->out->task[k];
        bool first = true, last = true;
        if (is_alone(w, t)) continue;
        for (int n = 0; n < w->out->task_n && (first || last); n++) {
            const hpc_plan_task *o = &w->out->task[n];
            if (o->microbatch != t->microbatch || is_alone(w, o)) continue;
            first = first && n >= k;
            last = last && n <= k;
        }
        now += first;
        if (now > most) most = now;
        now -= last;
    }
    return most;
}

/* A backward comes after that of the microbatch before, so gradients are added in one order. */
static void chain(lister *w)
{
    int arrival = w->q->limit < w->microbatches ? w->q->limit : w->microbatches;
    int held = w->q->schedule == HPC_PIPE_ARRIVAL ? arrival : most_in_flight(w);
    w->out->slots = held + (w->q->vocab == HPC_VOCAB_INTERLACED);
    hpc_assert(held > 0);
    for (int k = 0; k < w->out->task_n; k++) {
        hpc_plan_task *t = &w->out->task[k];
        t->slot = is_alone(w, t) ? held : t->microbatch % held;
        for (int n = 0; n < k; n++) {
            const hpc_plan_task *o = &w->out->task[n];
            if (o->slot == t->slot) t->after[0] = n;
            if (t->run == HPC_PLAN_BACKWARD && o->run == t->run && o->chunk == t->chunk)
                t->after[1] = n;
        }
        t->rank = t->rank * w->microbatches + t->microbatch;
    }
}

int plan_check_pipe(const hpc_pipe *q, int ranks, int64_t microbatches)
{
    if (microbatches > 1 << 16)
        return hpc_fail(HPC_E_ARG, "accumulate=%lld: at most 65536 microbatches",
                        (long long)microbatches);
    if (ranks == 1) return HPC_OK;
    if (microbatches < ranks)
        return hpc_fail(HPC_E_ARG,
                        "pipe=%d: a step needs at least %d microbatches; use "
                        "--accumulate %d",
                        ranks, ranks, ranks);
    if (q->schedule == HPC_PIPE_INTERLEAVED && microbatches % ranks)
        return hpc_fail(HPC_E_ARG,
                        "accumulate=%lld: interleaved runs microbatches in turns of "
                        "pipe=%d; use a multiple of it",
                        (long long)microbatches, ranks);
    if (q->vocab == HPC_VOCAB_INTERLACED && q->schedule != HPC_PIPE_GPIPE &&
        q->schedule != HPC_PIPE_1F1B)
        return hpc_fail(HPC_E_ARG,
                        "pipe-vocab=interlaced: all ranks run its tasks in one order, and %s has "
                        "none; use gpipe or 1f1b",
                        hpc_pipe_schedule_names[q->schedule]);
    if (q->vocab == HPC_VOCAB_INTERLACED && q->chunks > 1)
        return hpc_fail(HPC_E_ARG,
                        "pipe-vocab=interlaced: one stage on each rank, not %d (--pipe-chunks)",
                        q->chunks);
    if (q->schedule == HPC_PIPE_1F1B && q->chunks > 1)
        return hpc_fail(HPC_E_ARG, "1f1b has one stage on each rank, not %d; use interleaved",
                        q->chunks);
    return HPC_OK;
}

int hpc_plan_tasks(hpc_plan_list *out, const hpc_pipe *pipe, int ranks, int rank,
                   int64_t microbatches)
{
    hpc_pipe q = hpc_pipe_resolved(pipe, ranks);
    lister w = {.out = out, .q = &q, .ranks = ranks, .rank = rank};
    *out = (hpc_plan_list){0};
    int rc = plan_check_pipe(&q, ranks, microbatches);
    if (rc < 0) return rc;
    w.microbatches = (int)microbatches;
    size_t chunks = (size_t)q.chunks, shared = HPC_PLAN_TABLE - HPC_PLAN_EMBED + 1;
    size_t n = (2 * chunks + shared) * (size_t)microbatches + HPC_PLAN_RUN_N;
    out->task = hpc_alloc(n, sizeof *out->task);
    if (!out->task) return HPC_E_NOMEM;
    if (q.vocab == HPC_VOCAB_INTERLACED)
        list_interlaced(&w);
    else if (q.schedule == HPC_PIPE_GPIPE)
        list_gpipe(&w);
    else if (q.schedule == HPC_PIPE_ARRIVAL)
        list_arrival(&w);
    else
        list_turns(&w);
    chain(&w);
    out->gradient_n = out->task_n;
    for (int run = HPC_PLAN_NORM; run < HPC_PLAN_RUN_N; run++) {
        add(&w, run, 0, 0);
        out->task[out->task_n - 1].after[0] = out->task_n - 2;
    }
    return HPC_OK;
}

/* ---- time ------------------------------------------------------------------------------------ */

typedef struct clock_of { /* of one rank */
    double *end;          /* by task: when it has ended; INFINITY: not yet */
    double free;          /* when the running task ends */
    int done, flight;
    int open; /* first task that has not ended */
} clock_of;

typedef struct events {
    const hpc_plan_list *list;
    const hpc_plan_times *t;
    clock_of *rank;
    int ranks, chunks;
    hpc_plan_policy policy;
} events;

static double end_of(const events *w, int rank, int run, int chunk, int microbatch)
{
    const hpc_plan_list *l = &w->list[rank];
    for (int k = 0; k < l->gradient_n; k++)
        if (l->task[k].run == run && l->task[k].chunk == chunk &&
            l->task[k].microbatch == microbatch)
            return w->rank[rank].end[k];
    return INFINITY;
}

/* When task k of a rank has all that it needs. */
static double ready_at(const events *w, int rank, int k)
{
    const hpc_plan_task *t = &w->list[rank].task[k];
    int stage = t->chunk * w->ranks + rank, last = w->ranks * w->chunks - 1;
    int from = t->run == HPC_PLAN_FORWARD ? stage - 1 : stage + 1;
    double at = 0;
    for (int a = 0; a < 2; a++)
        if (t->after[a] >= 0) at = fmax(at, w->rank[rank].end[t->after[a]]);
    if (hpc_plan_run_is_shared(t->run)) return at;
    if (from >= 0 && from <= last)
        at = fmax(at, end_of(w, from % w->ranks, t->run, from / w->ranks, t->microbatch) +
                          (from % w->ranks != rank ? w->t->message : 0));
    return at;
}

typedef struct choice {
    int task;
    double at;  /* when it starts */
    bool late;  /* its message arrives in the instant in which the rank chooses: not seen yet */
    double key; /* smallest first */
} choice;

static bool is_before(const choice *a, const choice *b)
{
    if (a->at != b->at) return a->at < b->at;
    if (a->late != b->late) return b->late;
    return a->key < b->key;
}

/* The last stage runs a backward at once after its forward. */
static choice choice_of(const events *w, int rank, int k, double ready)
{
    const hpc_plan_task *t = &w->list[rank].task[k];
    double now = w->rank[rank].free;
    bool backward = t->run == HPC_PLAN_BACKWARD;
    bool own = backward && t->chunk * w->ranks + rank == w->ranks * w->chunks - 1;
    choice c = {.task = k, .at = fmax(ready, now), .late = ready >= now && !own, .key = t->rank};
    if (w->policy == HPC_PLAN_FIFO) c.key = own ? -1 : 2 * ready + !backward * 1e-9;
    return c;
}

/* When all ranks have come to shared task t, and the messages that one of them sends to each other
 * have arrived, one after the other. */
static double shared_start(const events *w, const hpc_plan_task *t)
{
    double at = 0;
    for (int r = 0; r < w->ranks; r++) {
        int k = w->rank[r].open;
        const hpc_plan_task *o = &w->list[r].task[k];
        if (k == w->list[r].gradient_n || o->run != t->run || o->microbatch != t->microbatch)
            return INFINITY;
        at = fmax(at, fmax(ready_at(w, r, k), w->rank[r].free));
    }
    return at + (t->run == HPC_PLAN_EMBED ? 0 : (w->ranks - 1) * w->t->message);
}

/* The task that the rank starts next, and when; -1: it waits for others. */
static int next_task(const events *w, int rank, double *start)
{
    int open = w->rank[rank].open;
    if (hpc_plan_run_is_shared(w->list[rank].task[open].run)) {
        *start = shared_start(w, &w->list[rank].task[open]);
        return isinf(*start) ? -1 : open;
    }
    const hpc_plan_list *l = &w->list[rank];
    choice best = {.task = -1, .at = INFINITY};
    for (int k = open; k < l->gradient_n; k++) {
        if (!isinf(w->rank[rank].end[k])) continue;
        double ready = ready_at(w, rank, k);
        choice c = choice_of(w, rank, k, ready);
        if (!isinf(ready) && is_before(&c, &best)) best = c;
        if (w->policy == HPC_PLAN_IN_ORDER) break;
    }
    *start = best.at;
    return best.task;
}

static void run_task(events *w, hpc_plan_span *out, int rank, int k, double start)
{
    const hpc_plan_task *t = &w->list[rank].task[k];
    int stage = t->chunk * w->ranks + rank;
    bool forward = t->run == HPC_PLAN_FORWARD, shared = hpc_plan_run_is_shared(t->run);
    clock_of *c = &w->rank[rank];
    double seconds = shared ? w->t->shared[t->run - HPC_PLAN_EMBED]
                            : (forward ? w->t->forward : w->t->backward)[stage];
    c->end[k] = c->free = start + seconds;
    out->idle[rank] -= c->end[k] - start;
    c->done++;
    while (c->open < w->list[rank].gradient_n && !isinf(c->end[c->open])) c->open++;
    if (t->chunk == 0 && !shared) c->flight += forward ? 1 : -1;
    if (c->flight > out->in_flight[rank]) out->in_flight[rank] = c->flight;
    if (c->end[k] > out->seconds) out->seconds = c->end[k];
}

/* The earliest start of any rank comes next: nothing that starts later can change it. */
static int advance(events *w, hpc_plan_span *out, bool *more)
{
    int rank = -1, task = -1, open = -1;
    double at = INFINITY;
    for (int r = 0; r < w->ranks; r++) {
        double start;
        if (w->rank[r].done == w->list[r].gradient_n) continue;
        int k = next_task(w, r, &start);
        if (open < 0) open = r;
        if (k >= 0 && start < at) rank = r, task = k, at = start;
    }
    *more = open >= 0;
    if (open < 0) return HPC_OK;
    if (rank < 0)
        return hpc_fail(HPC_E_STATE, "rank %d along pipe waits for ever after %d of its %d tasks",
                        open, w->rank[open].done, w->list[open].gradient_n);
    bool shared = hpc_plan_run_is_shared(w->list[rank].task[task].run);
    for (int r = shared ? 0 : rank; r < (shared ? w->ranks : rank + 1); r++)
        run_task(w, out, r, shared ? w->rank[r].open : task, at);
    return HPC_OK;
}

int hpc_plan_simulate_tasks(hpc_plan_span *out, const hpc_plan_list *list, int ranks, int chunks,
                            hpc_plan_policy policy, const hpc_plan_times *t)
{
    events w = {.list = list, .t = t, .ranks = ranks, .chunks = chunks, .policy = policy};
    bool more = true;
    int rc = HPC_OK;
    *out = (hpc_plan_span){0};
    w.rank = hpc_alloc((size_t)ranks, sizeof *w.rank);
    if (!w.rank) return HPC_E_NOMEM;
    for (int r = 0; r < ranks; r++) {
        w.rank[r].end = hpc_alloc((size_t)list[r].gradient_n + 1, sizeof(double));
        if (!w.rank[r].end) TRY(HPC_E_NOMEM);
        for (int k = 0; k < list[r].gradient_n; k++) w.rank[r].end[k] = INFINITY;
    }
    while (more) TRY(advance(&w, out, &more));
    for (int r = 0; r < ranks; r++) out->idle[r] += out->seconds;
out:
    for (int r = 0; r < ranks; r++) hpc_free(w.rank[r].end);
    hpc_free(w.rank);
    return rc;
}
