/*
 * Report on performance histories: loads the series and their change points, and saves a page and
 * plots.
 */
#include "corpus/history/report.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/git/git.h"

enum { SUBJECT = 120, COMMAND = 200 };

/* ---- words ----------------------------------------------------------------------------------- */

const char *perf_report_cost(char out[PERF_REPORT_TEXT], const perf_shown *s, double value)
{
    snprintf(out, PERF_REPORT_TEXT, "%.5g%s%s", value / s->unit, s->unit_name[0] ? " " : "",
             s->unit_name);
    return out;
}

static const char *percent(char out[PERF_REPORT_TEXT], double change)
{
    if (!isfinite(change))
        snprintf(out, PERF_REPORT_TEXT, "%s", change > 0 ? "+inf" : "?");
    else
        snprintf(out, PERF_REPORT_TEXT, fabs(change) < 0.0995 ? "%+.2f" : "%+.1f", 100 * change);
    return out;
}

const char *perf_report_share(char out[PERF_REPORT_TEXT], double change)
{
    percent(out, change);
    return strcat(out, " %");
}

const char *perf_report_range(char out[PERF_REPORT_TEXT], double low, double high)
{
    char a[PERF_REPORT_TEXT], b[PERF_REPORT_TEXT];
    snprintf(out, PERF_REPORT_TEXT, "%.24s to %.24s %%", percent(a, low), percent(b, high));
    return out;
}

const char *perf_report_date(char out[PERF_REPORT_TEXT], int64_t seconds)
{
    time_t t = (time_t)seconds;
    struct tm at;
    out[0] = '\0';
    if (gmtime_r(&t, &at)) strftime(out, PERF_REPORT_TEXT, "%Y-%m-%d", &at);
    return out;
}

const char *perf_report_built(const perf_shown *s)
{
    return s->build[0] ? s->build : "(not recorded)";
}

const perf_commit *perf_report_commit(const perf_shown *s, int64_t at)
{
    return &s->of->curves.line.item[at];
}

void perf_report_labels(int64_t n[HPC_HISTORY_UNDECIDED + 1], const perf_shown *s)
{
    memset(n, 0, (HPC_HISTORY_UNDECIDED + 1) * sizeof *n);
    for (int64_t k = 0; k < s->of->curves.line.n; k++) {
        const perf_point *p = &s->curve->point[k];
        if (p->base >= 0 && (p->same || p->samples.n > 0)) n[p->effect.label]++;
    }
}

/* ---- contents -------------------------------------------------------------------------------- */

static bool has(const char *text, const perf_way *w)
{
    return strstr(w->command, text) || strstr(w->machine, text) || strstr(w->build, text);
}

static bool is_wanted(const perf_series *s, void *user)
{
    const hpc_history_report_options *o = user;
    bool metrics = o->metric.n == 0, series = o->series.n == 0;
    for (int64_t k = 0; k < o->metric.n; k++) metrics |= strcmp(s->metric, o->metric.item[k]) == 0;
    for (int64_t k = 0; k < o->series.n; k++) series |= has(o->series.item[k], &s->way);
    return metrics && series;
}

static int load_history(perf_history *h, const char *path, const hpc_history_report_options *o)
{
    perf_curves_options c = {
        .wants = is_wanted, .user = (void *)(uintptr_t)o, .threshold = o->threshold / 100};
    hpc_history_db *d = NULL;
    int rc;
    h->name = path;
    if (!hpc_file_exists(path))
        TRY(hpc_fail(HPC_E_ARG, "--db %.300s: there is no such performance history", path));
    TRY(hpc_history_db_open(&d, path));
    TRY(perf_curves_load(&h->curves, d, &c));
out:
    hpc_history_db_close(d);
    return rc;
}

/* Leaves subjects of commits that the repository does not have empty. */
static int load_subjects(perf_history *h, hpc_arena *a, hpc_git *g)
{
    const perf_line *l = &h->curves.line;
    hpc_buf message = {0};
    int rc = HPC_OK;
    h->subject = hpc_arena_alloc(a, (size_t)l->n + 1, sizeof *h->subject);
    TRY(h->subject ? HPC_OK : HPC_E_NOMEM);
    for (int64_t k = 0; k < l->n; k++) {
        hpc_git_id id;
        h->subject[k] = "";
        if (!g || !hpc_git_id_parse(&id, l->item[k].id)) continue;
        TRY(hpc_git_message(&message, g, &id));
        if (rc != HPC_GIT_READ || !message.data) continue;
        char *line = message.data + strspn(message.data, " \t\r\n");
        line[strcspn(line, "\n")] = '\0';
        h->subject[k] = hpc_arena_line(a, line, SUBJECT);
        TRY(h->subject[k] ? HPC_OK : HPC_E_NOMEM);
    }
    rc = HPC_OK;
out:
    hpc_buf_release(&message);
    return rc;
}

typedef struct unit {
    double size;
    const char *name;
} unit;

/* The unit in which the cost has 1 to 3 digits before the decimal point. */
static unit unit_of(const char *metric, double cost)
{
    static const unit seconds[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
    static const unit bytes[] = {{1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}};
    static const unit plain[] = {{1, ""}, {1e3, "thousand"}, {1e6, "million"}, {1e9, "billion"}};
    bool time = strcmp(metric, "time") == 0 || strcmp(metric, "user") == 0;
    const unit *u = time ? seconds : strcmp(metric, "memory") == 0 ? bytes : plain;
    int k = 0;
    while (k < 3 && cost >= u[k + 1].size) k++;
    return u[k];
}

static double any_cost(const perf_curve *c, int64_t n)
{
    double most = 0;
    for (int64_t k = 0; k < n; k++)
        if (c->point[k].median > most) most = c->point[k].median;
    return most;
}

static int add_series(hpc_history_report *r, const perf_history *h, const perf_curve *c)
{
    perf_shown *s = &r->item[r->n++];
    unit u = unit_of(c->metric, any_cost(c, h->curves.line.n));
    *s = (perf_shown){.of = h,
                      .curve = c,
                      .number = (int)r->n,
                      .command = hpc_arena_line(r->arena, c->way.command, COMMAND),
                      .metric = hpc_arena_line(r->arena, c->metric, COMMAND),
                      .machine = hpc_arena_line(r->arena, c->way.machine, COMMAND),
                      .build = hpc_arena_line(r->arena, c->way.build, COMMAND),
                      .unit = u.size,
                      .unit_name = u.name};
    return s->command && s->metric && s->machine && s->build ? HPC_OK : HPC_E_NOMEM;
}

static int compare_changes(const void *a, const void *b)
{
    const perf_change *x = a, *y = b;
    double p = fabs(log1p(x->step->change)), q = fabs(log1p(y->step->change));
    if (p != q) return p > q ? -1 : 1;
    if (x->of->number != y->of->number) return x->of->number < y->of->number ? -1 : 1;
    return x->step->at < y->step->at ? -1 : 1;
}

/* Shows the build command of series that differ in nothing else. */
static void mark_different_builds(hpc_history_report *r)
{
    for (int64_t k = 0; k < r->n; k++)
        for (int64_t i = 0; i < k; i++) {
            perf_shown *a = &r->item[i], *b = &r->item[k];
            const perf_way *x = &a->curve->way, *y = &b->curve->way;
            bool alike = strcmp(x->command, y->command) == 0 && strcmp(x->machine, y->machine) == 0;
            if (!alike || strcmp(a->curve->metric, b->curve->metric) != 0) continue;
            if (strcmp(x->build, y->build) != 0) a->builds = b->builds = true;
        }
}

static int gather(hpc_history_report *r)
{
    int64_t series = 0, changes = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < r->histories_n; k++) series += r->history[k].curves.n;
    r->item = hpc_arena_alloc(r->arena, (size_t)series + 1, sizeof *r->item);
    TRY(r->item ? HPC_OK : HPC_E_NOMEM);
    for (int64_t k = 0; k < r->histories_n; k++)
        for (int64_t i = 0; i < r->history[k].curves.n; i++) {
            TRY(add_series(r, &r->history[k], &r->history[k].curves.item[i]));
            changes += r->history[k].curves.item[i].steps.n;
        }
    mark_different_builds(r);
    r->change = hpc_arena_alloc(r->arena, (size_t)changes + 1, sizeof *r->change);
    TRY(r->change ? HPC_OK : HPC_E_NOMEM);
    for (int64_t k = 0; k < r->n; k++)
        for (int64_t i = 0; i < r->item[k].curve->steps.n; i++) {
            const perf_shown *s = &r->item[k];
            perf_change *c = &r->change[r->changes_n++];
            *c = (perf_change){.of = s, .step = &s->curve->steps.item[i]};
            c->suspects =
                perf_curve_suspects(&c->first, &c->last, s->curve, &s->of->curves.line, c->step);
        }
    if (r->changes_n > 1)
        qsort(r->change, (size_t)r->changes_n, sizeof *r->change, compare_changes);
out:
    return rc;
}

/* ---- loading --------------------------------------------------------------------------------- */

static int check(const hpc_history_report *r)
{
    int64_t all = 0;
    for (int64_t k = 0; k < r->histories_n; k++) all += r->history[k].curves.all_n;
    if (r->n > 0 || all == 0) return HPC_OK;
    return hpc_fail(HPC_E_ARG,
                    "none of %lld series has this metric, command, build or machine; leave out "
                    "--metric and --series to show all",
                    (long long)all);
}

int hpc_history_report_load(hpc_history_report *r, const hpc_history_report_options *o)
{
    hpc_git *git = NULL;
    int rc = HPC_OK;
    r->arena = hpc_arena_create(0);
    TRY(r->arena ? HPC_OK : HPC_E_NOMEM);
    r->history = hpc_arena_alloc(r->arena, (size_t)o->db.n, sizeof *r->history);
    TRY(r->history ? HPC_OK : HPC_E_NOMEM);
    if (o->repo) {
        rc = hpc_git_open(&git, o->repo);
        TRY(rc == HPC_E_IO ? HPC_E_ARG : rc);
        r->repository = true;
    }
    for (int64_t k = 0; k < o->db.n; k++) {
        r->histories_n++;
        TRY(load_history(&r->history[k], o->db.item[k], o));
        TRY(load_subjects(&r->history[k], r->arena, git));
    }
    TRY(gather(r));
    TRY(check(r));
out:
    hpc_git_close(git);
    return rc;
}

void hpc_history_report_release(hpc_history_report *r)
{
    for (int64_t k = 0; k < r->histories_n; k++) perf_curves_release(&r->history[k].curves);
    hpc_arena_free(r->arena);
    *r = (hpc_history_report){0};
}
