/*
 * Collection of costs: which commits are measured, in what order, and how often.
 *
 * A few neighbours are measured in alternation, in an order that changes from round to round, so
 * that disturbances on the machine affect all of them. The last of them is measured again with the
 * next few, which links their levels.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/priv.h"
#include "corpus/history/label.h"

typedef struct member { /* a commit that is being measured */
    int64_t at;         /* in the range */
    history_build build;
    double value[HPC_HISTORY_METRICS][PERF_RUNS_MOST]; /* of this time */
    int64_t n;                                         /* plain runs whose numbers count */
    int warm, counted;
    bool lost;
    bool again; /* it was whole before */
} member;

typedef struct collection {
    const hpc_history_options *o;
    hpc_history_result *out;
    hpc_git *git;
    hpc_history_db *db;
    hpc_buf machine;
    hpc_git_range range; /* the commit before it comes first, if there is one */
    bool *same;          /* of each: its product is its parent's, so that it is not run */
    history_work work;
    member *member;
    int members;
    int64_t round;
} collection;

static bool stopped(const collection *c)
{
    return c->o->stop && __atomic_load_n(c->o->stop, __ATOMIC_RELAXED);
}

static void tell(const collection *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void tell(const collection *c, const char *format, ...)
{
    char line[512];
    va_list a;
    if (!c->o->tell) return;
    va_start(a, format);
    vsnprintf(line, sizeof line, format, a);
    va_end(a);
    c->o->tell(c->o->user, line);
}

static void tell_why(const collection *c, const char *hex, const char *stage, const hpc_buf *log)
{
    char words[PERF_WORDS];
    perf_last_words(words, log->data ? log->data : "");
    tell(c, "%.12s: the %s: %s", hex, stage, words);
}

static void id_of(char hex[41], const collection *c, int64_t at)
{
    hpc_git_id_text(hex, &c->range.item[at].id);
}

/* ---- what is there -----------------------------------------------------------------------------
 */

static bool wants(const hpc_history_options *o, bool counted)
{
    for (int k = 0; k < o->metrics; k++)
        if (history_is_counted(&o->metric[k]) == counted) return true;
    return false;
}

/* The fewest runs of the commit that any plain metric, or any counted one, has. */
static int count(int64_t *n, const collection *c, int64_t at, bool counted)
{
    char hex[41];
    int rc = HPC_OK;
    id_of(hex, c, at);
    *n = INT64_MAX;
    for (int k = 0; k < c->o->metrics; k++) {
        int64_t has;
        if (history_is_counted(&c->o->metric[k]) != counted) continue;
        perf_way way = history_way(c->o, c->machine.data);
        TRY(hpc_history_db_count(&has, c->db, &way, c->o->metric[k].name, hex));
        if (has < *n) *n = has;
    }
out:
    return rc;
}

static int is_there(bool *out, const collection *c, int64_t at)
{
    int64_t plain, counted;
    int rc;
    TRY(count(&plain, c, at, false));
    TRY(count(&counted, c, at, true));
    *out = plain >= c->o->least && counted >= 1;
out:
    return rc;
}

static perf_attempt attempt_of(const collection *c, const char *stage)
{
    perf_way way = history_way(c->o, c->machine.data);
    bool run = strcmp(stage, "run") == 0;
    return (perf_attempt){.stage = stage,
                          .command = run ? way.command : way.build,
                          .machine = way.machine,
                          .build = run ? way.build : ""};
}

/* 1: it failed before, and is not to be tried again. */
static int failed_before(const collection *c, int64_t at)
{
    static const char *const stages[] = {"build", "run"};
    char hex[41];
    id_of(hex, c, at);
    for (int k = 0; k < 2 && !c->o->again; k++) {
        perf_attempt a = attempt_of(c, stages[k]);
        int rc = hpc_history_db_find_attempt(&a, c->db, hex);
        if (rc < 0) return rc;
        if (rc == 0 || strcmp(a.outcome, history_outcome_name(HISTORY_DONE)) == 0) continue;
        if (k == 0)
            c->out->unbuilt++;
        else
            c->out->unrun++;
        return 1;
    }
    return 0;
}

/* ---- builds ---------------------------------------------------------------------------------- */

static int note(const collection *c, int64_t at, const char *stage, history_outcome outcome,
                double seconds, const char *product, const hpc_buf *log)
{
    perf_attempt a = attempt_of(c, stage);
    char hex[41];
    int rc;
    id_of(hex, c, at);
    a.outcome = history_outcome_name(outcome);
    a.seconds = seconds;
    snprintf(a.product, sizeof a.product, "%s", product);
    a.log = log->data;
    TRY(hpc_history_db_add_attempt(c->db, hex, &a));
    TRY(hpc_history_db_commit(c->db));
out:
    return rc;
}

static int make_build(collection *c, member *m)
{
    const history_build *b = &m->build;
    char hex[41];
    int rc;
    id_of(hex, c, m->at);
    TRY(history_build_make(&m->build, &c->work, &c->range.item[m->at].id));
    c->out->build_s += b->seconds;
    m->lost = b->outcome != HISTORY_DONE;
    if (m->lost && stopped(c)) goto out; /* Ctrl-C reached it as well: it may not be to blame */
    c->out->unbuilt += m->lost;
    if (b->cached)
        tell(c, "%.12s: was built before", hex);
    else if (m->lost)
        tell_why(c, hex, "build", &b->log);
    else
        tell(c, "%.12s: built in %.1f s", hex, b->seconds);
    perf_attempt before = attempt_of(c, "build");
    TRY(hpc_history_db_find_attempt(&before, c->db, hex));
    if (!b->cached || rc == 0)
        TRY(note(c, m->at, "build", b->outcome, b->seconds, b->product, &b->log));
out:
    return rc;
}

static int64_t parent_of(const collection *c, int64_t at)
{
    for (int64_t k = at - 1; k >= 0; k--)
        if (memcmp(&c->range.item[k].id, &c->range.item[at].parent, sizeof(hpc_git_id)) == 0)
            return k;
    return -1;
}

/* 1: it was measured, or is about to be, or need not be. */
static int will_be_known(const collection *c, int64_t at)
{
    int64_t runs, counted;
    int rc;
    for (int k = 0; k < c->members; k++)
        if (c->member[k].at == at) return 1;
    TRY(count(&runs, c, at, false));
    TRY(count(&counted, c, at, true));
    rc = c->same[at] || (runs > 0 && counted > 0);
out:
    return rc;
}

/* 1, and noted: its product is byte for byte its parent's, which is known. "": it has none. */
static int is_parents(collection *c, int64_t at, const char *product)
{
    perf_attempt a = attempt_of(c, "build");
    int64_t parent = parent_of(c, at);
    char hex[41];
    if (!product[0] || parent < 0) return 0;
    id_of(hex, c, parent);
    int rc = hpc_history_db_find_attempt(&a, c->db, hex);
    if (rc <= 0 || strcmp(a.product, product) != 0) return rc < 0 ? rc : 0;
    TRY(will_be_known(c, parent));
    c->same[at] = rc == 1;
    c->out->same += rc == 1;
out:
    return rc;
}

/* 1: it was built before, to its parent's product. */
static int same_before(collection *c, int64_t at)
{
    perf_attempt a = attempt_of(c, "build");
    char hex[41];
    id_of(hex, c, at);
    int rc = hpc_history_db_find_attempt(&a, c->db, hex);
    return rc <= 0 || !c->o->product ? (rc < 0 ? rc : 0) : is_parents(c, at, a.product);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int keep(collection *c, member *m, const history_run *r)
{
    char hex[41];
    perf_way way = history_way(c->o, c->machine.data);
    int rc = HPC_OK;
    id_of(hex, c, m->at);
    for (int k = 0; k < c->o->metrics; k++) {
        if (!r->took[k]) continue;
        TRY(hpc_history_db_add(c->db, &way, c->o->metric[k].name, hex, r->value[k]));
        if (!history_is_counted(&c->o->metric[k])) m->value[k][m->n] = log(r->value[k]);
        c->out->samples++;
    }
    if (r->hot_n > 0) TRY(hpc_history_db_add_profile(c->db, &way, hex, r->hot, r->hot_n));
    TRY(hpc_history_db_commit(c->db));
out:
    return rc;
}

static int run_one(collection *c, member *m, bool counted)
{
    history_run r;
    char hex[41];
    int rc;
    id_of(hex, c, m->at);
    TRY(history_measure(&r, &c->work, m->build.folder, counted));
    c->out->run_s += r.seconds;
    if (r.outcome != HISTORY_DONE && stopped(c)) {
        m->lost = true;
    } else if (r.outcome != HISTORY_DONE) {
        m->lost = true;
        c->out->unrun++;
        tell_why(c, hex, "run", &r.log);
        rc = note(c, m->at, "run", r.outcome, r.seconds, "", &r.log);
    } else if (!counted && m->warm < c->o->warm_up) {
        m->warm++;
    } else {
        rc = keep(c, m, &r);
        if (counted)
            m->counted++;
        else
            m->n++;
    }
    history_run_release(&r);
out:
    return rc;
}

/* The half of the interval of a median in which it lies at 95 %, of logarithms: by the median of
 * distances from it, which one bad run does not move. */
static double half_width(const double *value, int64_t n)
{
    double v[PERF_RUNS_MOST];
    memcpy(v, value, (size_t)n * sizeof *v);
    double middle = perf_median(v, n);
    for (int64_t k = 0; k < n; k++) v[k] = fabs(value[k] - middle);
    return 1.96 * 1.2533 * 1.4826 * perf_median(v, n) / sqrt((double)n);
}

static bool is_enough(const collection *c, const member *m)
{
    if (m->n < c->o->least) return false;
    for (int k = 0; k < c->o->metrics && m->n < c->o->most; k++)
        if (!history_is_counted(&c->o->metric[k]) &&
            half_width(m->value[k], m->n) > c->o->precision)
            return false;
    return true;
}

static int compare_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Random order of the members: low bits hold the member, high bits a random key. */
static void draw_order(uint64_t *turn, collection *c)
{
    for (int k = 0; k < c->members; k++)
        turn[k] = (uint64_t)hpc_random_bits(c->o->seed, 1, (uint32_t)c->round, (uint64_t)k) << 16 |
                  (uint64_t)k;
    qsort(turn, (size_t)c->members, sizeof *turn, compare_order);
    c->round++;
}

/* Runs all members in rounds until each has enough runs, up to `most`. */
static int run_plain(collection *c, uint64_t *turn)
{
    int rc = HPC_OK;
    for (bool more = true; more && !stopped(c);) {
        more = false;
        draw_order(turn, c);
        for (int k = 0; k < c->members; k++)
            more = more || !(c->member[k].lost || is_enough(c, &c->member[k]));
        for (int k = 0; more && k < c->members && !stopped(c); k++) {
            member *m = &c->member[turn[k] & 0xffff];
            if (!m->lost && m->n < c->o->most) TRY(run_one(c, m, false));
        }
    }
out:
    return rc;
}

/* Twice where it is asked whether counts are the same each time: the first of each few. */
static int run_counted(collection *c)
{
    int rc = HPC_OK;
    for (int k = 0; k < c->members; k++) {
        int64_t has;
        TRY(count(&has, c, c->member[k].at, true));
        for (int times = k == 0 ? 2 : 1; has < times && !c->member[k].lost && !stopped(c); has++)
            TRY(run_one(c, &c->member[k], true));
    }
out:
    return rc;
}

/* ---- a few together -------------------------------------------------------------------------- */

static void let_go(collection *c)
{
    for (int k = 0; k < c->members; k++) history_build_release(&c->member[k].build);
    memset(c->member, 0, (size_t)c->o->together * sizeof *c->member);
    c->members = 0;
}

static int add_member(collection *c, int64_t at, bool again)
{
    member *m = &c->member[c->members];
    int rc;
    m->at = at;
    m->again = again;
    TRY(make_build(c, m));
    if (!m->lost && !again) {
        TRY(is_parents(c, at, m->build.product));
        m->lost = rc == 1;
    }
    if (m->lost) {
        history_build_release(&m->build);
        *m = (member){0};
    } else {
        c->members++;
    }
    rc = HPC_OK;
out:
    return rc;
}

static int measure_members(collection *c)
{
    uint64_t *turn = hpc_alloc((size_t)c->o->together, sizeof *turn);
    int rc = HPC_E_NOMEM;
    if (!turn) goto out;
    rc = HPC_OK;
    if (wants(c->o, false)) TRY(run_plain(c, turn));
    if (wants(c->o, true)) TRY(run_counted(c));
    for (int k = 0; k < c->members; k++) {
        bool whole;
        TRY(is_there(&whole, c, c->member[k].at));
        c->out->measured += whole && !c->member[k].again;
    }
out:
    hpc_free(turn);
    return rc;
}

/* Takes the next few commits that lack runs, and the last commit before them; advances *next. */
static int take_few(collection *c, int64_t *next, int64_t *last)
{
    bool fresh = false;
    int rc = HPC_OK;
    while (*next < c->range.n && c->members < c->o->together && !stopped(c)) {
        int64_t at = (*next)++;
        bool there;
        TRY(is_there(&there, c, at));
        c->out->there += there;
        if (!there) TRY(failed_before(c, at));
        if (!there && rc == 0) TRY(same_before(c, at));
        if (there || rc == 1) {
            if (!fresh && there) *last = at;
            continue;
        }
        if (!fresh && *last >= 0 && wants(c->o, false)) TRY(add_member(c, *last, true));
        fresh = true;
        TRY(add_member(c, at, false));
    }
    rc = HPC_OK;
out:
    return rc;
}

static int measure_all(collection *c)
{
    int64_t next = 0, last = -1;
    int rc = HPC_OK;
    while (next < c->range.n && !stopped(c)) {
        TRY(take_few(c, &next, &last));
        if (c->members > 0) TRY(measure_members(c));
        for (int k = 0; k < c->members; k++)
            if (!c->member[k].lost) last = c->member[k].at;
        let_go(c);
        TRY(history_work_trim(&c->work));
        tell(c, "%lld of %lld commits", (long long)next, (long long)c->range.n);
    }
out:
    return rc;
}

/* ---- the range ------------------------------------------------------------------------------- */

static bool lies_under(const char *path, void *user)
{
    for (const char *const *p = user; *p; p++) {
        size_t n = strlen(*p);
        while (n > 0 && (*p)[n - 1] == '/') n--;
        if (strncmp(path, *p, n) == 0 && (n == 0 || path[n] == '\0' || path[n] == '/')) return true;
    }
    return false;
}

static int put_base_first(hpc_git_range *r, const hpc_git_id *base)
{
    int rc = hpc_grow(&r->item, &r->cap, r->n + 1, sizeof *r->item);
    if (rc < 0) return rc;
    memmove(r->item + 1, r->item, (size_t)r->n++ * sizeof *r->item);
    r->item[0] = (hpc_git_step){.id = *base, .time = r->n > 1 ? r->item[1].time : 0, .cut = true};
    return HPC_OK;
}

static int find_range(collection *c)
{
    const hpc_history_options *o = c->o;
    hpc_git_range_options r = {.first_parent = !o->all,
                               .wants = o->paths ? lies_under : NULL,
                               .user = (void *)(uintptr_t)o->paths};
    hpc_git_id base, head;
    int rc;
    TRY(hpc_git_resolve(&head, c->git, o->head));
    if (o->base) TRY(hpc_git_resolve(&base, c->git, o->base));
    TRY(hpc_git_range_find(&c->range, c->git, o->base ? &base : NULL, &head, &r));
    if (c->range.n == 0)
        TRY(hpc_fail(HPC_E_ARG, "%.100s..%.100s has no commits%s", o->base ? o->base : "", o->head,
                     o->paths ? " that change these paths" : ""));
    if (o->base) TRY(put_base_first(&c->range, &base));
    c->out->commits = c->range.n;
out:
    return rc;
}

static int add_commits(collection *c)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < c->range.n; k++) {
        const hpc_git_step *s = &c->range.item[k];
        char id[41], parent[41];
        bool root = s->cut || s->parents == 0;
        hpc_git_id_text(id, &s->id);
        hpc_git_id_text(parent, &s->parent);
        if (k == 0 && c->o->base) /* it may be there already, with its parent */
            TRY(hpc_history_db_add_base(c->db, id, s->time));
        else
            TRY(hpc_history_db_add_commit(c->db, id, root ? NULL : parent, s->time));
    }
    TRY(hpc_history_db_commit(c->db));
out:
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* All are in the history, with their parents; these are measured. */
static void keep_asked(collection *c)
{
    const hpc_history_options *o = c->o;
    int64_t kept = 0;
    for (int64_t k = 0; k < c->range.n; k++) {
        bool asked = !o->only;
        for (int64_t i = 0; i < o->only_n && !asked; i++)
            asked = memcmp(&o->only[i], &c->range.item[k].id, sizeof o->only[i]) == 0;
        if (asked) c->range.item[kept++] = c->range.item[k];
    }
    c->range.n = c->out->commits = kept;
}

static int check(const hpc_history_options *o)
{
    int rc = HPC_OK;
    if (o->metrics < 1 || o->metrics > HPC_HISTORY_METRICS)
        TRY(hpc_fail(HPC_E_ARG, "1 to %d metrics", HPC_HISTORY_METRICS));
    if (o->least < 1 || o->most < o->least || o->most > PERF_RUNS_MOST)
        TRY(hpc_fail(HPC_E_ARG, "runs: expected 1 to %d, with the minimum not above the maximum",
                     PERF_RUNS_MOST));
    if (o->together < 2 || o->together > 64)
        TRY(hpc_fail(HPC_E_ARG, "commits to interleave: expected 2 to 64, not %d", o->together));
    if (wants(o, true) && !hpc_proc_exists("valgrind"))
        TRY(hpc_fail(HPC_E_ARG,
                     "instructions and cost are counted by valgrind, which is not in PATH"));
    if (history_wants(o, HISTORY_HARDWARE) && !hpc_proc_counts(HPC_COUNTER_INSTRUCTIONS))
        TRY(hpc_fail(HPC_E_ARG,
                     "instructions-hardware: the processor's counters are not accessible (a "
                     "virtual machine, or /proc/sys/kernel/perf_event_paranoid above 2): use "
                     "instructions-valgrind"));
    if (o->cpus) TRY(history_bind(o->cpus));
out:
    return rc;
}

/* Fails early if the file is not a history of this repository. */
static int check_database(const char *path, hpc_git *g)
{
    hpc_history_db *d = NULL;
    hpc_file_view v;
    if (!hpc_file_exists(path)) return HPC_OK;
    int rc = hpc_file_open(&v, path);
    if (rc < 0) return rc;
    bool empty = v.bytes == 0;
    hpc_file_close(&v);
    if (!empty) TRY(hpc_history_db_open(&d, path));
    if (!empty) TRY(hpc_history_db_expect(d, g));
out:
    hpc_history_db_close(d);
    return rc;
}

static int begin(collection *c)
{
    hpc_buf facts = {0};
    int rc;
    TRY(c->o->machine ? hpc_buf_text(&c->machine, c->o->machine) : history_machine(&c->machine));
    rc = hpc_git_open(&c->git, c->o->repository);
    if (rc == HPC_E_IO) rc = HPC_E_ARG; /* bad usage */
    TRY(rc);
    TRY(check_database(c->o->database, c->git));
    TRY(find_range(c));
    TRY(history_work_open(&c->work, c->git, c->o));
    TRY(hpc_history_db_create(&c->db, c->o->database));
    TRY(history_facts(&facts, c->o, c->git, c->machine.data));
    TRY(hpc_history_db_add_session(c->db, facts.data));
    TRY(add_commits(c));
    keep_asked(c);
    c->member = hpc_alloc((size_t)c->o->together, sizeof *c->member);
    c->same = hpc_alloc((size_t)c->range.n + 1, sizeof *c->same);
    TRY(c->member && c->same ? HPC_OK : HPC_E_NOMEM);
out:
    hpc_buf_release(&facts);
    return rc;
}

int hpc_history_collect(hpc_history_result *out, const hpc_history_options *o)
{
    collection c = {.o = o, .out = out, .work = {.lock = -1}};
    int rc;
    *out = (hpc_history_result){0};
    TRY(check(o));
    TRY(begin(&c));
    TRY(measure_all(&c));
    out->stopped = stopped(&c);
out:
    if (c.member) let_go(&c);
    hpc_free(c.member);
    hpc_free(c.same);
    hpc_history_db_close(c.db);
    history_work_close(&c.work);
    hpc_git_range_release(&c.range);
    hpc_git_close(c.git);
    hpc_buf_release(&c.machine);
    return rc;
}
