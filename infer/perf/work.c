/*
 * Estimated run time of the changed files: the cost of each event times the trip counts of its
 * loops, summed along calls.
 *
 * A loop has the trip count that its numbers give, or else PERF_TRIPS. Code in unchanged files is
 * not followed. The estimate compares what `main` reaches in both versions; without `main`, what
 * functions without callers reach. Outside C, changed functions without visible callers, such as
 * operators, are added to `main`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/work.h"

/* In units of about one addition. Events without an entry cost 0. */
static const float cost[HPC_PERF_EVENTS] = {
    [HPC_PERF_LOOP] = 2,       [HPC_PERF_CALL] = 8,          [HPC_PERF_ALLOCATE] = 80,
    [HPC_PERF_FREE] = 40,      [HPC_PERF_COPY] = 40,         [HPC_PERF_BY_VALUE] = 4,
    [HPC_PERF_IO] = 100,       [HPC_PERF_LOCK] = 40,         [HPC_PERF_ATOMIC] = 20,
    [HPC_PERF_MATH] = 20,      [HPC_PERF_INDIRECT] = 10,     [HPC_PERF_INSERT] = 30,
    [HPC_PERF_LOOKUP] = 40,    [HPC_PERF_SCAN] = 60,         [HPC_PERF_SORT] = 2000,
    [HPC_PERF_MESSAGE] = 1000, [HPC_PERF_COLLECTIVE] = 4000, [HPC_PERF_SYNCHRONISE] = 400,
    [HPC_PERF_LAUNCH] = 4000,  [HPC_PERF_DIVIDE] = 10,       [HPC_PERF_ARITHMETIC] = 1,
    [HPC_PERF_LOAD] = 2,       [HPC_PERF_STORE] = 2,         [HPC_PERF_STRIDED] = 6,
    [HPC_PERF_GATHER] = 4,     [HPC_PERF_BRANCH] = 1,        [HPC_PERF_RECURSE] = 8,
    [HPC_PERF_THROW] = 10,     [HPC_PERF_WAIT] = 1000,
};
enum { ENTRY = 4, RECURSION = 6, BRANCHES = 3 }; /* a call; how deep; in how many places at most */

typedef struct node {       /* a function */
    int64_t file, function; /* of the change; of its source */
    uint32_t name;
    int64_t first, n;  /* of `call` */
    double own, again; /* of its events; how often it calls itself */
    double cost;       /* with what it calls; below 0: not known yet */
    bool busy, called, left_out;
} node;
typedef struct callee {
    uint32_t name;
    double times;
} callee;
struct perf_work {
    perf_scan scan;
    perf_number *number;
    int64_t numbers_cap;
    node *node; /* by name when it is sorted */
    callee *call;
    struct root *root; /* of the base: what begins in both */
    uint32_t *name;    /* of all functions, in order */
    int64_t names_n, names_cap;
    int64_t nodes_n, nodes_cap, calls_n, calls_cap, roots_n, roots_cap;
};

int perf_work_create(perf_work **out, const perf_words *words)
{
    perf_work *w = *out = hpc_alloc(1, sizeof *w);
    if (!w) return HPC_E_NOMEM;
    w->scan.words = words;
    return HPC_OK;
}

void perf_work_free(perf_work *w)
{
    if (!w) return;
    perf_scan_release(&w->scan);
    hpc_free(w->number);
    hpc_free(w->node);
    hpc_free(w->call);
    hpc_free(w->root);
    hpc_free(w->name);
    hpc_free(w);
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static int by_number(const void *a, const void *b)
{
    const perf_number *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

/* What the token at i stands for, by itself or by what was found before. */
static bool number_of(double *out, const perf_work *w, int64_t n, const hpc_perf_source *s,
                      int64_t i)
{
    enum { NEAR = 256 };
    const hpc_token *t = &s->t.item[i];
    char text[32] = "";
    if (i >= s->t.n) return false;
    if (t->kind == HPC_TOKEN_NUMBER && t->n < sizeof text) {
        memcpy(text, s->text.data + t->at, t->n);
        *out = strtod(text, NULL);
        return true;
    }
    for (int64_t k = n; t->kind == HPC_TOKEN_NAME && k-- > 0 && k + NEAR > n;)
        if (w->number[k].name == t->hash) {
            *out = w->number[k].value;
            return true;
        }
    return false;
}

static char byte_at(const hpc_perf_source *s, int64_t i)
{
    return i >= 0 && i < s->t.n ? s->text.data[s->t.item[i].at] : 0;
}

/* A number at i, or two with an operator, in parentheses or not. */
static bool expression_at(double *out, const perf_work *w, int64_t n, const hpc_perf_source *s,
                          int64_t i)
{
    double b;
    if (byte_at(s, i) == '(') i++;
    if (!number_of(out, w, n, s, i)) return false;
    if (!number_of(&b, w, n, s, i + 2)) return true;
    if (s->t.item[i + 1].n > 1) return true;
    switch (byte_at(s, i + 1)) {
    case '+': *out += b; break;
    case '-': *out -= b; break;
    case '*': *out *= b; break;
    case '/': *out = b != 0 ? *out / b : *out; break;
    default: break;
    }
    return true;
}

/* The name at i is a constant: `const int n = 4`, `enum { n = 4 }`. */
static bool is_constant(const hpc_perf_source *s, int64_t i)
{
    enum { SEEN = 6 };
    const uint32_t words[] = {hpc_token_hash("const", 5), hpc_token_hash("constexpr", 9)};
    char before = byte_at(s, i - 1), behind = byte_at(s, i + 3);
    if ((before == '{' || before == ',') && (behind == ',' || behind == '}')) return true;
    for (int64_t k = i - 1; k >= 0 && k > i - SEEN; k--) {
        char c = byte_at(s, k);
        if (c == ';' || c == '{' || c == '}' || c == '(' || c == ',') return false;
        if (s->t.item[k].hash == words[0] || s->t.item[k].hash == words[1]) return true;
    }
    return false;
}

/* #define N 100; const int n = 2 * N; enum { N = 100 }. Of a name that has several values none is
 * known. */
static int find_numbers(perf_work *w, const hpc_perf_source *s)
{
    const hpc_token *t = s->t.item;
    const uint32_t define = hpc_token_hash("define", 6), assigned = hpc_token_hash("=", 1);
    int64_t n = 0, kept = 0;
    int rc = HPC_OK;
    for (int64_t i = 1; i + 1 < s->t.n; i++) {
        bool macro = t[i - 1].hash == define, constant = t[i + 1].hash == assigned;
        double value;
        if (t[i].kind != HPC_TOKEN_NAME || !(macro || (constant && is_constant(s, i)))) continue;
        if (!expression_at(&value, w, n, s, macro ? i + 1 : i + 2)) continue;
        TRY(hpc_grow(&w->number, &w->numbers_cap, n + 1, sizeof *w->number));
        w->number[n++] = (perf_number){t[i].hash, value};
    }
    if (n > 1) qsort(w->number, (size_t)n, sizeof *w->number, by_number);
    for (int64_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && w->number[next].name == w->number[i].name;) next++;
        if (next == i + 1) w->number[kept++] = w->number[i];
    }
    w->scan.number = w->number;
    w->scan.numbers_n = kept;
out:
    return rc;
}

/* A container passed by value costs more than a type about which nothing is known. */
static float cost_of_event(const perf_work *w, const hpc_perf_event *e)
{
    enum { CONTAINER = 30 };
    if (e->kind != HPC_PERF_BY_VALUE) return cost[e->kind];
    bool container = perf_word_find(w->scan.words->c, e->name).how & PERF_WORD_TYPE;
    return container ? CONTAINER : cost[e->kind];
}

/* How often the loops around a place go round. */
static double times_at(const perf_scan *x, uint32_t at)
{
    double times = 1;
    for (int64_t k = 0; k < x->regions_n && x->region[k].from <= at; k++)
        if (at < x->region[k].end) times *= (double)x->region[k].trips;
    return fmin(times, 1e30);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool is_function(const perf_work *w, uint32_t name)
{
    return w->names_n > 0 &&
           bsearch(&name, w->name, (size_t)w->names_n, sizeof name, by_value) != NULL;
}

/* The name at i is of a type, before a variable, or handed over. */
static bool is_named(const perf_scan *x, int64_t i)
{
    const hpc_token *t = perf_token(x, i);
    if (t->kind != HPC_TOKEN_NAME || i < 1 || i + 1 >= x->n) return false;
    char before = x->s->text.data[perf_token(x, i - 1)->at];
    const hpc_token *next = perf_token(x, i + 1);
    char behind = x->s->text.data[next->at];
    bool type = next->kind == HPC_TOKEN_NAME || behind == '{';
    bool argument = (before == '(' || before == ',') && (behind == ',' || behind == ')');
    return type || argument;
}

/* Names without a call: types, for their constructors, and functions passed as arguments. */
static int read_names(perf_work *w, const hpc_perf_source *s, int64_t function)
{
    uint32_t body = s->f.item[function].body_at;
    int rc = HPC_OK;
    for (int64_t i = 0; i < w->scan.n; i++) {
        const hpc_token *t = perf_token(&w->scan, i);
        if (t->at <= body || !is_named(&w->scan, i) || !is_function(w, t->hash)) continue;
        TRY(hpc_grow(&w->call, &w->calls_cap, w->calls_n + 1, sizeof *w->call));
        w->call[w->calls_n++] = (callee){t->hash, times_at(&w->scan, t->at)};
    }
out:
    return rc;
}

static int read_function(perf_work *w, const hpc_perf_source *s, int64_t file, int64_t function)
{
    node f = {.file = file, .function = function, .first = w->calls_n, .own = ENTRY, .cost = -1};
    int rc = HPC_OK;
    TRY(perf_scan_run(&w->scan, s, function));
    f.name = perf_function_name(s, function);
    for (int64_t k = 0; k < w->scan.events_n; k++) {
        const hpc_perf_event *e = &w->scan.event[k];
        if (e->kind == HPC_PERF_CALL) {
            TRY(hpc_grow(&w->call, &w->calls_cap, w->calls_n + 1, sizeof *w->call));
            w->call[w->calls_n++] = (callee){e->name, e->times};
        } else if (e->kind == HPC_PERF_RECURSE) {
            f.again += e->times;
        } else {
            f.own += (double)cost_of_event(w, e) * e->times;
        }
    }
    TRY(read_names(w, s, function));
    f.n = w->calls_n - f.first;
    TRY(hpc_grow(&w->node, &w->nodes_cap, w->nodes_n + 1, sizeof *w->node));
    w->node[w->nodes_n++] = f;
out:
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const node *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return (x->function > y->function) - (x->function < y->function);
}

/* The first of that name, or -1. */
static int64_t find(const perf_work *w, uint32_t name)
{
    int64_t lo = 0, hi = w->nodes_n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (w->node[mid].name < name)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < w->nodes_n && w->node[lo].name == name ? lo : -1;
}

static const hpc_perf_source *source_at(const hpc_perf_change *c, int64_t file, bool head)
{
    const hpc_perf_source *s = head ? c->file[file].head : c->file[file].base;
    return s && s->kind == HPC_PERF_SOURCE && s->skip == HPC_PERF_TAKEN ? s : NULL;
}

static int find_names(perf_work *w, const hpc_perf_change *c, bool head)
{
    int rc = HPC_OK;
    w->names_n = 0;
    for (int64_t k = 0; k < c->files_n; k++) {
        const hpc_perf_source *s = source_at(c, k, head);
        if (!s) continue;
        TRY(hpc_grow(&w->name, &w->names_cap, w->names_n + s->f.n, sizeof *w->name));
        for (int64_t i = 0; i < s->f.n; i++) w->name[w->names_n++] = perf_function_name(s, i);
    }
    if (w->names_n > 1) qsort(w->name, (size_t)w->names_n, sizeof *w->name, by_value);
out:
    return rc;
}

int perf_work_read(perf_work *w, const hpc_perf_change *c, bool head)
{
    int rc = HPC_OK;
    w->nodes_n = w->calls_n = 0;
    TRY(find_names(w, c, head));
    for (int64_t k = 0; k < c->files_n; k++) {
        const hpc_perf_source *s = source_at(c, k, head);
        if (!s) continue;
        TRY(find_numbers(w, s));
        for (int64_t i = 0; i < s->f.n; i++) TRY(read_function(w, s, k, i));
    }
    if (w->nodes_n > 1) qsort(w->node, (size_t)w->nodes_n, sizeof *w->node, by_name);
    for (int64_t k = 0; k < w->calls_n; k++)
        for (int64_t i = find(w, w->call[k].name);
             i >= 0 && i < w->nodes_n && w->node[i].name == w->call[k].name; i++)
            w->node[i].called = true;
out:
    return rc;
}

/* ---- adding up --------------------------------------------------------------------------------
 */

static double cost_of(perf_work *w, int64_t i);

/* Cost of the functions of a name: those of the same file, else all; the mean of several. */
static double cost_by_name(perf_work *w, uint32_t name, int64_t file)
{
    int64_t first = find(w, name), n[2] = {0, 0};
    double sum[2] = {0, 0};
    if (first < 0) return cost[HPC_PERF_CALL];
    for (int64_t i = first; i < w->nodes_n && w->node[i].name == name; i++) {
        bool here = w->node[i].file == file;
        sum[here] += cost_of(w, i);
        n[here]++;
    }
    return n[1] > 0 ? sum[1] / (double)n[1] : sum[0] / (double)n[0];
}

static double cost_of(perf_work *w, int64_t i)
{
    node *f = &w->node[i];
    double sum = f->own, runs = 1 + RECURSION * fmin(f->again, BRANCHES);
    if (f->left_out || f->busy) return 0;
    if (f->cost >= 0) return f->cost;
    f->busy = true;
    for (int64_t k = f->first; k < f->first + f->n; k++)
        sum += w->call[k].times * cost_by_name(w, w->call[k].name, f->file);
    f->busy = false;
    return f->cost = sum * runs;
}

static void forget(perf_work *w)
{
    for (int64_t i = 0; i < w->nodes_n; i++) w->node[i].cost = -1;
}

/* ---- what begins ------------------------------------------------------------------------------
 */

/* Functions of that name in that file: overloads, and variants for the preprocessor. */
static int64_t variants(int64_t *first, const perf_work *w, uint32_t name, int64_t file)
{
    int64_t i = find(w, name), n = 0;
    while (i >= 0 && i < w->nodes_n && w->node[i].name == name && w->node[i].file != file) i++;
    *first = i;
    while (i >= 0 && i < w->nodes_n && w->node[i].name == name && w->node[i].file == file) i++, n++;
    return n;
}

/* Function i of w in the other version: same name, same position among equally many variants; -1:
 * absent. */
static int64_t same_in(const perf_work *other, const perf_work *w, int64_t i)
{
    const node *f = &w->node[i];
    int64_t mine, its, n = variants(&mine, w, f->name, f->file);
    return variants(&its, other, f->name, f->file) == n ? its + (i - mine) : -1;
}

typedef struct root { /* what begins, in both versions */
    int64_t base, head;
} root;

static double growth(double base, double head)
{
    return base > 0 && head > 0 ? log(head / base) : 0;
}

static int add_root(perf_work *base, int64_t i, int64_t k)
{
    int rc = hpc_grow(&base->root, &base->roots_cap, base->roots_n + 1, sizeof *base->root);
    if (rc == HPC_OK) base->root[base->roots_n++] = (root){i, k};
    return rc;
}

/* Roots in addition to main: functions without callers in both versions that main does not reach
 * and whose cost differs. In C, a function that is never named does not run. */
static int find_others(perf_work *base, perf_work *head, const hpc_perf_change *c)
{
    int64_t mains = base->roots_n;
    int rc = HPC_OK;
    for (int64_t k = 0; k < mains; k++) {
        cost_of(base, base->root[k].base);
        cost_of(head, base->root[k].head);
    }
    for (int64_t i = 0; i < base->nodes_n; i++) {
        const node *f = &base->node[i];
        bool hidden = c->file[f->file].base->language != HPC_LANGUAGE_C;
        int64_t k = !hidden || f->called || f->cost >= 0 ? -1 : same_in(head, base, i);
        if (k < 0 || head->node[k].called || head->node[k].cost >= 0) continue;
        if (fabs(growth(cost_of(base, i), cost_of(head, k))) < 1e-9) continue;
        TRY(add_root(base, i, k));
    }
out:
    return rc;
}

/* main, if both versions have it; else functions without callers in both. */
static int find_roots(perf_work *base, perf_work *head, const hpc_perf_change *c)
{
    const uint32_t main = hpc_token_hash("main", 4);
    bool mains = false;
    int rc = HPC_OK;
    base->roots_n = 0;
    for (int64_t i = find(base, main); i >= 0 && i < base->nodes_n && !mains; i++) {
        if (base->node[i].name != main) break;
        mains = same_in(head, base, i) >= 0;
    }
    for (int64_t i = 0; i < base->nodes_n; i++) {
        const node *f = &base->node[i];
        int64_t k = same_in(head, base, i);
        if (k < 0 || (mains ? f->name != main : f->called || head->node[k].called)) continue;
        TRY(add_root(base, i, k));
    }
    if (mains) TRY(find_others(base, head, c));
out:
    return rc;
}

/* ---- what a change comes to -------------------------------------------------------------------
 */

static int64_t node_of(const perf_work *w, const hpc_perf_function *f, bool head)
{
    const hpc_perf_side *side = head ? &f->head : &f->base;
    int64_t file = head ? f->file : f->base_file;
    if (!side->source || side->function < 0) return -1;
    uint32_t name = perf_function_name(side->source, side->function);
    for (int64_t i = find(w, name); i >= 0 && i < w->nodes_n && w->node[i].name == name; i++)
        if (w->node[i].file == file && w->node[i].function == side->function) return i;
    return -1;
}

static double signed_percent(double change)
{
    double size = log2(1 + 100 * fabs(change));
    return change < 0 ? -size : size;
}

static void leave_out(perf_work *w, const hpc_perf_change *c, bool head, bool whether)
{
    forget(w);
    for (int64_t k = 0; k < c->n; k++) {
        const hpc_perf_function *f = &c->function[k];
        int64_t i = f->same_code ? -1 : node_of(w, f, head);
        if (i >= 0) w->node[i].left_out = whether;
    }
}

/* How much of what w takes is in functions that differ, and in what they call. */
static double share_of(perf_work *w, const perf_work *base, const hpc_perf_change *c, bool head)
{
    double all = 0, rest = 0;
    for (int pass = 0; pass < 2; pass++) {
        leave_out(w, c, head, pass == 0);
        for (int64_t k = 0; k < base->roots_n; k++)
            *(pass == 0 ? &rest : &all) +=
                cost_of(w, head ? base->root[k].head : base->root[k].base);
    }
    return all > 0 ? 1 - rest / all : 0;
}

int perf_work_compare(double *change, double *share, perf_work *base, perf_work *head,
                      const hpc_perf_change *c)
{
    double sum = 0, part;
    int rc = HPC_OK;
    *change = *share = 0;
    TRY(find_roots(base, head, c));
    part = fmax(share_of(base, base, c, false), share_of(head, base, c, true));
    for (int64_t k = 0; k < base->roots_n; k++)
        sum += growth(cost_of(base, base->root[k].base), cost_of(head, base->root[k].head));
    if (base->roots_n == 0) goto out;
    *change = signed_percent(sum / (double)base->roots_n);
    *share = log2(1 + 1000 * fmax(0, part));
out:
    return rc;
}

double perf_work_change_of(perf_work *base, perf_work *head, const hpc_perf_function *f)
{
    int64_t i = node_of(base, f, false), j = node_of(head, f, true);
    return i >= 0 && j >= 0 ? signed_percent(growth(cost_of(base, i), cost_of(head, j))) : 0;
}
