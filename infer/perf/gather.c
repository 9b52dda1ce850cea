/*
 * Training examples: labels from performance histories and features from their repositories, or
 * both from files of examples.
 */
#include "infer/perf/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/database.h"
#include "infer/perf/gather_priv.h"

void hpc_perf_gathered_release(hpc_perf_gathered *s)
{
    for (int64_t k = 0; s->bag && k < s->all.n; k++) hpc_perf_bag_release(&s->bag[k]);
    hpc_free(s->bag);
    hpc_free(s->has_bag);
    hpc_free(s->row);
    hpc_free(s->chosen);
    hpc_free(s->profile_used);
    hpc_perf_examples_release(&s->all);
}

typedef struct labelled { /* a pair by one metric */
    hpc_history_pair pair;
    const char *metric;
} labelled;
typedef struct labels {
    labelled *item;
    int64_t n, cap;
    hpc_buf metrics; /* names, NUL-separated */
} labels;

/* ---- repositories --------------------------------------------------------------------------- */

typedef struct source { /* a repository and its readers */
    hpc_git *git;
    char name[256];
    hpc_perf_reader *reader;
    hpc_perf_scanner *scanner;
    hpc_perf_change change;
    hpc_perf_features features;
    gather_language language;
    hpc_history_profiles *profiles; /* NULL: no line profiles */
    hpc_history_db *heat;           /* their history, if it is not the one with the labels */
} source;

static void source_close(source *s)
{
    gather_language_close(&s->language);
    hpc_history_profiles_close(s->profiles);
    hpc_history_db_close(s->heat);
    hpc_perf_reader_free(s->reader);
    hpc_perf_scanner_free(s->scanner);
    hpc_perf_change_release(&s->change);
    hpc_perf_features_release(&s->features);
    hpc_git_close(s->git);
    *s = (source){0};
}

/* The last part of a path without ".git" and slashes. */
static void name_by_path(char out[256], const char *path)
{
    size_t end = strlen(path), from;
    for (;;) {
        while (end > 1 && path[end - 1] == '/') end--;
        for (from = end; from > 0 && path[from - 1] != '/'; from--) continue;
        if (from == 0 || strncmp(path + from, ".git", end - from) != 0) break;
        end = from;
    }
    snprintf(out, 256, "%.*s", (int)(end - from), path + from);
}

static int open_repository(source *s, const char *path, const char *name)
{
    hpc_git_facts facts;
    int rc = HPC_OK;
    rc = hpc_git_open(&s->git, path);
    TRY(rc == HPC_E_IO ? HPC_E_ARG : rc); /* bad usage: no repository */
    TRY(hpc_git_describe(&facts, s->git));
    if (!name || !*name) name = facts.name;
    if (*name)
        snprintf(s->name, sizeof s->name, "%s", name);
    else
        name_by_path(s->name, path);
    TRY(hpc_perf_reader_create(&s->reader, s->git, NULL));
    hpc_perf_reader_set_program(s->reader, NULL); /* as perf predict does */
    TRY(hpc_perf_scanner_create(&s->scanner));
out:
    return rc;
}

static int commits_in(int64_t *n, const source *s, const labels *l)
{
    int rc = HPC_OK;
    *n = 0;
    for (int64_t k = 0; k < l->n; k++) {
        TRY(hpc_git_has_commit(s->git, l->item[k].pair.head));
        if (rc == 1) TRY(hpc_git_has_commit(s->git, l->item[k].pair.base));
        *n += rc;
    }
    rc = HPC_OK;
out:
    return rc;
}

/* Opens the given repository with the most commits of the history. */
static int find_given(source *s, const hpc_perf_gather_options *o, const labels *l)
{
    source one = {0};
    int64_t n, most = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < o->repositories_n; k++) {
        TRY(open_repository(&one, o->repository[k].path, o->repository[k].name));
        TRY(commits_in(&n, &one, l));
        if (n > most) {
            source_close(s);
            *s = one;
            one = (source){0};
            most = n;
        }
        source_close(&one);
    }
out:
    source_close(&one);
    return rc;
}

/* Without one among those given: the path that the history records. */
static int find_repository(source *s, const hpc_perf_gather_options *o, hpc_history_db *db,
                           const labels *l)
{
    hpc_buf path = {0}, name = {0};
    int64_t n;
    int rc = HPC_OK;
    TRY(find_given(s, o, l));
    if (s->git) goto out;
    TRY(hpc_history_db_repository(&path, &name, db));
    if (path.n == 0)
        TRY(hpc_fail(HPC_E_ARG, "%s",
                     o->repositories_n > 0
                         ? "none of the repositories given contains its commits"
                         : "it does not record the path of its repository: name it with --repo"));
    TRY(open_repository(s, path.data, name.data));
    TRY(commits_in(&n, s, l));
    if (n == 0)
        TRY(hpc_fail(HPC_E_ARG,
                     "%.300s contains none of its commits: name its repository with --repo",
                     path.data));
out:
    hpc_buf_release(&path);
    hpc_buf_release(&name);
    return rc;
}

/* ---- examples ------------------------------------------------------------------------------- */

static int grow_bags(hpc_perf_gathered *s)
{
    int rc = HPC_OK;
    TRY(hpc_grow(&s->bag, &s->bags_cap, s->all.n, sizeof *s->bag));
    TRY(hpc_grow(&s->has_bag, &s->has_cap, s->all.n, sizeof *s->has_bag));
out:
    return rc;
}

static void count(hpc_perf_gather_row *row, const hpc_perf_example *e)
{
    row->label[e->label]++;
    row->nothing += hpc_perf_nothing_differs(&e->x);
}

static int find_heat(source *s, const hpc_history_pair *p)
{
    const hpc_hot_line *hot;
    int64_t n;
    int rc = HPC_OK;
    if (!s->profiles) return rc;
    TRY(hpc_history_profiles_find(&hot, &n, s->profiles, p->base, p->time));
    hpc_perf_heat_find(&s->features, &s->change, hot, n);
out:
    return rc;
}

/* 0: the repository lacks its commits or trees. */
static int read_change(source *s, const hpc_history_pair *p)
{
    hpc_git_id base, head;
    int rc = HPC_OK;
    if (!hpc_git_id_parse(&base, p->base) || !hpc_git_id_parse(&head, p->head)) return 0;
    TRY(hpc_perf_change_read(&s->change, s->reader, &base, &head));
    if (rc != HPC_GIT_READ) return 0;
    TRY(hpc_perf_features_find(&s->features, s->scanner, &s->change));
    TRY(find_heat(s, p));
    TRY(gather_language_add(&s->language, &s->change));
    rc = 1;
out:
    return rc;
}

static const hpc_perf_verdict verdict_of[] = {[HPC_HISTORY_SLOWER] = HPC_PERF_SLOWER,
                                              [HPC_HISTORY_SAME] = HPC_PERF_SAME,
                                              [HPC_HISTORY_FASTER] = HPC_PERF_FASTER};

static int add_pair(hpc_perf_gathered *set, hpc_perf_gather_row *row, source *s,
                    const hpc_history_pair *p, const char *metric, bool bags)
{
    hpc_perf_example e = {.x = s->features.commit,
                          .label = verdict_of[p->label],
                          .change = p->change,
                          .time = p->time};
    int rc = HPC_OK;
    TRY(hpc_perf_examples_add(&set->all, &e, s->name, metric, &s->change.base, &s->change.head));
    if (rc == 0) {
        row->again++;
        goto out;
    }
    TRY(grow_bags(set));
    TRY(gather_language_note(&s->language));
    count(row, &e);
    if (!bags) goto out;
    TRY(hpc_perf_bag_find(&set->bag[set->all.n - 1], &s->change));
    set->has_bag[set->all.n - 1] = true;
out:
    return rc;
}

/* ---- one history ---------------------------------------------------------------------------- */

/* "instructions" stands for all counters of instructions. */
static bool is_metric(const char *asked, const char *metric)
{
    bool any = strcmp(asked, "instructions") == 0;
    return any ? strncmp(metric, asked, strlen(asked)) == 0 : strcmp(metric, asked) == 0;
}

static bool is_asked(const hpc_perf_gather_options *o, const char *metric)
{
    for (int64_t k = 0; k < o->metric.n; k++)
        if (is_metric(o->metric.item[k], metric)) return true;
    return o->metric.n == 0;
}

static int by_time(const void *a, const void *b)
{
    const labelled *x = a, *y = b;
    if (x->pair.time != y->pair.time) return x->pair.time < y->pair.time ? -1 : 1;
    int order = strcmp(x->pair.head, y->pair.head);
    if (order == 0) order = strcmp(x->pair.base, y->pair.base);
    return order ? order : strcmp(x->metric, y->metric);
}

static int load_labels(labels *l, hpc_perf_gather_row *row, const hpc_perf_gather_options *o,
                       hpc_history_db *db)
{
    int64_t metrics;
    int rc = HPC_OK;
    TRY(hpc_history_db_metrics(&l->metrics, &metrics, db));
    const char *metric = l->metrics.data;
    for (int64_t k = 0; k < metrics; k++, metric += strlen(metric) + 1) {
        const hpc_history_pairs_rule rule = {&metric, 1, o->threshold};
        hpc_history_pairs p;
        if (!*metric || !is_asked(o, metric)) continue;
        TRY(hpc_history_pairs_load(&p, db, &rule));
        row->undecided += p.undecided_n;
        rc = hpc_grow(&l->item, &l->cap, l->n + p.n, sizeof *l->item);
        for (int64_t i = 0; rc >= 0 && i < p.n; i++)
            l->item[l->n++] = (labelled){p.item[i], metric};
        hpc_history_pairs_release(&p);
        TRY(rc);
    }
    if (l->n > 1) qsort(l->item, (size_t)l->n, sizeof *l->item, by_time);
out:
    return rc;
}

/* Opens the line profiles that the options name for the repository. */
static int open_heat(hpc_perf_gathered *set, source *s, const hpc_perf_gather_options *o)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < o->profiles_n && !s->heat; k++) {
        const char *path = o->profile[k].path;
        if (strcmp(s->name, o->profile[k].name) != 0) continue;
        rc = hpc_history_db_open(&s->heat, path);
        TRY(rc == HPC_E_IO ? HPC_E_ARG : rc);
        TRY(hpc_history_db_expect(s->heat, s->git));
        TRY(hpc_history_profiles_open(&s->profiles, s->heat));
        if (hpc_history_profiles_n(s->profiles) == 0)
            TRY(hpc_fail(
                HPC_E_ARG,
                "%.300s has no line profile: run perf collect -m cost with a build with -g", path));
        set->profile_used[k] = true;
    }
out:
    return rc;
}

static int add_labels(hpc_perf_gathered *set, hpc_perf_gather_row *row, source *s, const labels *l,
                      bool bags)
{
    const hpc_history_pair *last = NULL;
    bool there = false;
    int rc = HPC_OK;
    for (int64_t k = 0; k < l->n; k++) {
        hpc_assert(l->item);
        const hpc_history_pair *p = &l->item[k].pair;
        bool again = last && strcmp(last->head, p->head) == 0 && strcmp(last->base, p->base) == 0;
        if (!again) {
            TRY(read_change(s, p));
            there = rc == 1;
        }
        last = p;
        row->lacking += !there;
        if (there) TRY(add_pair(set, row, s, p, l->item[k].metric, bags));
    }
out:
    return rc;
}

static int add_history(hpc_perf_gathered *set, hpc_perf_gather_row *row,
                       const hpc_perf_gather_options *o)
{
    hpc_history_db *db = NULL;
    labels l = {0};
    source s = {0};
    int rc = HPC_OK;
    rc = hpc_history_db_open(&db, row->path);
    TRY(rc == HPC_E_IO ? HPC_E_ARG : rc);
    TRY(load_labels(&l, row, o, db));
    if (l.n == 0) goto out;
    TRY(find_repository(&s, o, db, &l));
    snprintf(row->repository, sizeof row->repository, "%s", s.name);
    TRY(open_heat(set, &s, o));
    if (!s.profiles) TRY(hpc_history_profiles_open(&s.profiles, db));
    TRY(gather_language_open(&s.language, o, s.name, set->all.n));
    TRY(add_labels(set, row, &s, &l, o->bags));
    TRY(gather_language_put(&s.language, &set->all));
    if (row->lacking == l.n)
        TRY(hpc_fail(HPC_E_ARG,
                     "its repository, %.200s, does not contain the files of any of its commits",
                     s.name));
out:
    if (rc < 0 && db) hpc_error_where("%.200s", row->path);
    source_close(&s);
    hpc_free(l.item);
    hpc_buf_release(&l.metrics);
    hpc_history_db_close(db);
    return rc;
}

/* ---- files of examples
 * ---------------------------------------------------------------------------- */

/* Opens the given repository with that name, if there is one. */
static int find_named(source *s, const hpc_perf_gather_options *o, const char *name)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < o->repositories_n && !s->git; k++) {
        TRY(open_repository(s, o->repository[k].path, o->repository[k].name));
        if (strcmp(s->name, name) != 0) source_close(s);
    }
out:
    return rc;
}

/* Recomputes the features of an example; keeps those of line profiles, unless a profile was given,
 * and scores of a language model. 1: done; 0: the repository lacks its commits. */
static int recompute_features(hpc_perf_example *e, source *s, const hpc_perf_origin *from)
{
    static const char *const kept[] = {
        "language_changed", "language_slower", "heat_known", "cold", "heat",
        "heat_near",        "heat_around",     "heat_cost"};
    hpc_perf_vector before = e->x;
    hpc_history_pair p;
    int rc = 0;
    if (!s->git) return rc;
    hpc_git_id_text(p.base, &from->base);
    hpc_git_id_text(p.head, &from->head);
    p.time = e->time;
    TRY(read_change(s, &p));
    if (rc == 0) goto out;
    e->x = s->features.commit;
    for (size_t k = 0; k < (s->profiles ? 2 : sizeof kept / sizeof *kept); k++) {
        int f = hpc_perf_feature_named(kept[k]);
        e->x.value[f] = before.value[f];
    }
out:
    return rc;
}

/* Adds an example of a file; recomputes its features if its repository is given. */
static int add_example(hpc_perf_gathered *set, hpc_perf_gather_row *row,
                       const hpc_perf_gather_options *o, const hpc_perf_examples *file, int64_t k,
                       source *s)
{
    const hpc_perf_origin *from = &file->from[k];
    const char *metric = hpc_perf_examples_name(file, from->metric);
    const char *name = hpc_perf_examples_name(file, from->repository);
    hpc_perf_example e = file->item[k];
    int rc = HPC_OK, again;
    if (strcmp(row->repository, name) != 0) {
        source_close(s);
        TRY(find_named(s, o, name));
        if (s->git) TRY(open_heat(set, s, o));
    }
    again = recompute_features(&e, s, from);
    TRY(again);
    row->lacking += s->git && again == 0;
    if (file->lacks && again == 0)
        TRY(hpc_fail(
            HPC_E_ARG,
            "%.200s: it lacks %s; recompute it from the repository with --repo %.200s=DIR%s",
            row->path, file->lacks, name, s->git ? "; the one given lacks commits" : ""));
    TRY(hpc_perf_examples_add(&set->all, &e, name, metric, &from->base, &from->head));
    bool added = rc == 1;
    if (added) count(row, &e);
    row->again += !added;
    TRY(grow_bags(set));
    if (added && again == 1 && o->bags) {
        TRY(hpc_perf_bag_find(&set->bag[set->all.n - 1], &s->change));
        set->has_bag[set->all.n - 1] = true;
    }
    snprintf(row->repository, sizeof row->repository, "%s", name);
out:
    return rc;
}

static int add_file(hpc_perf_gathered *set, hpc_perf_gather_row *row,
                    const hpc_perf_gather_options *o)
{
    hpc_perf_examples file = {0};
    hpc_buf text = {0};
    source s = {0};
    int rc = HPC_OK;
    rc = hpc_file_read_text(&text, row->path, HPC_PERF_EXAMPLES_MOST);
    TRY(rc == HPC_E_IO && !hpc_file_exists(row->path) ? HPC_E_ARG : rc);
    TRY(hpc_perf_examples_parse(&file, &text, row->path));
    for (int64_t k = 0; k < file.n; k++) {
        if (!is_asked(o, hpc_perf_examples_name(&file, file.from[k].metric))) continue;
        TRY(add_example(set, row, o, &file, k, &s));
    }
    if (file.groups > 1)
        snprintf(row->repository, sizeof row->repository, "%lld repositories",
                 (long long)file.groups);
out:
    source_close(&s);
    hpc_buf_release(&text);
    hpc_perf_examples_release(&file);
    return rc;
}

int hpc_perf_gather(hpc_perf_gathered *s, const hpc_perf_gather_options *o)
{
    int rc = HPC_OK;
    int64_t given = o->db.n + o->examples.n, all = given + o->judge_on.n;
    s->row = hpc_alloc((size_t)all + 1, sizeof *s->row);
    s->profile_used = hpc_alloc((size_t)o->profiles_n + 1, sizeof *s->profile_used);
    if (!s->row || !s->profile_used) return HPC_E_NOMEM;
    for (int64_t k = 0; k < all; k++) {
        hpc_perf_gather_row *row = &s->row[s->rows++];
        bool history = k < o->db.n;
        row->path = history     ? o->db.item[k]
                    : k < given ? o->examples.item[k - o->db.n]
                                : o->judge_on.item[k - given];
        if (k == given) s->given_n = s->all.n;
        rc = history ? add_history(s, row, o) : add_file(s, row, o);
        TRY(rc);
    }
    if (o->judge_on.n == 0) s->given_n = s->all.n;
out:
    return rc < 0 ? rc : HPC_OK;
}

/* ---- choice ------------------------------------------------------------------ */

/* Position of a metric in the options, or in the default order. */
static int64_t rank_of(const hpc_perf_gather_options *o, const char *metric)
{
    static const char *const usual[] = {
        "cost", "instructions-valgrind", "instructions-hardware", "time", "user", "memory"};
    enum { USUAL = sizeof usual / sizeof *usual };
    for (int64_t k = 0; k < o->metric.n; k++)
        if (is_metric(o->metric.item[k], metric)) return k;
    for (int64_t k = 0; k < USUAL; k++)
        if (strcmp(usual[k], metric) == 0) return k;
    return USUAL;
}

typedef struct candidate {
    const hpc_perf_examples *x;
    int64_t at, rank;
} candidate;

static int by_commit(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    const hpc_perf_examples *all = x->x;
    int64_t g = all->item[x->at].group, h = all->item[y->at].group;
    if (g != h) return g < h ? -1 : 1;
    int order = memcmp(&all->from[x->at].head, &all->from[y->at].head, sizeof(hpc_git_id));
    if (order) return order;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static int in_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int hpc_perf_gather_choose(hpc_perf_gathered *s, const hpc_perf_gather_options *o)
{
    const hpc_perf_examples *x = &s->all;
    candidate *c = hpc_alloc((size_t)x->n + 1, sizeof *c);
    int rc = HPC_OK;
    if (!c) TRY(HPC_E_NOMEM);
    s->chosen = hpc_alloc((size_t)x->n + 1, sizeof *s->chosen);
    if (!s->chosen) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < x->n; k++)
        c[k] = (candidate){x, k, rank_of(o, hpc_perf_examples_name(x, x->from[k].metric))};
    qsort(c, (size_t)x->n, sizeof *c, by_commit);
    for (int64_t k = 0; k < x->n; k++) {
        bool same =
            k > 0 && x->item[c[k].at].group == x->item[c[k - 1].at].group &&
            memcmp(&x->from[c[k].at].head, &x->from[c[k - 1].at].head, sizeof(hpc_git_id)) == 0;
        if (!same) s->chosen[s->chosen_n++] = c[k].at;
    }
    qsort(s->chosen, (size_t)s->chosen_n, sizeof *s->chosen, in_order);
    while (s->learnt_n < s->chosen_n && s->chosen[s->learnt_n] < s->given_n) s->learnt_n++;
out:
    hpc_free(c);
    return rc;
}
