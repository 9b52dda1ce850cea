/*
 * Build folders of commits, keyed by tree and build command, so that builds are reused.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/priv.h"

enum { PATIENCE_SECONDS = 600 };
#define FINISHED "built" /* a file next to the tree, with its size, that marks a complete build */

const char *history_outcome_name(history_outcome o)
{
    static const char *const name[] = {"done", "no files", "failed", "timed out"};
    return name[o];
}

/* ---- programs of the system -------------------------------------------------------------------
 */

/* Captures output in *out unless NULL. */
static int system_do(hpc_buf *out, const char *const *argv)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    int rc;
    o.argv = argv;
    o.seconds = PATIENCE_SECONDS;
    TRY(hpc_proc_run(&r, &o));
    if (r.status != 0 || r.timed_out)
        rc = hpc_fail(HPC_E_IO, "%s: %.200s", argv[0],
                      r.err.data && r.err.n ? r.err.data : "it failed");
    else if (out)
        rc = hpc_buf_add(out, r.out.data ? r.out.data : "", r.out.n);
    hpc_proc_release(&r);
out:
    return rc;
}

int history_remove(const char *path)
{
    const char *open[] = {"chmod", "-R", "u+w", "--", path, NULL}; /* else nothing in it goes */
    const char *gone[] = {"rm", "-rf", "--", path, NULL};
    if (!hpc_file_exists(path)) return HPC_OK;
    if (system_do(NULL, open) < 0) hpc_error_clear();
    return system_do(NULL, gone);
}

static int64_t bytes_of(const char *path)
{
    const char *argv[] = {"du", "-s", "-B1", "--", path, NULL};
    hpc_buf out = {0};
    int64_t n = 0;
    if (system_do(&out, argv) < 0)
        hpc_error_clear();
    else
        n = strtoll(out.data, NULL, 10);
    hpc_buf_release(&out);
    return n;
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

static int set_environment(history_work *w)
{
    static const char *const fixed[] = {"PATH", "HOME"};
    const char *const *given = w->o->environment;
    int64_t n = 0, at = 0;
    while (given && given[n]) n++;
    w->environment = hpc_arena_alloc(w->arena, (size_t)n + 4, sizeof *w->environment);
    if (!w->environment) return HPC_E_NOMEM;
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) {
        const char *entry = hpc_proc_variable(w->arena, fixed[k]);
        if (!entry) return HPC_E_NOMEM;
        w->environment[at++] = entry;
    }
    w->environment[at++] = "LANG=C";
    for (int64_t k = 0; k < n; k++) w->environment[at++] = given[k];
    return HPC_OK;
}

static const char *path_of(const history_work *w, const char *folder, const char *name)
{
    return hpc_arena_text(w->arena, "%s/%s", folder, name);
}

/* Calls `each` for every build folder, with a flag for complete builds. */
static int for_each(history_work *w,
                    int (*each)(history_work *w, const char *path, bool whole, void *user),
                    void *user)
{
    hpc_arena_mark mark = hpc_arena_here(w->arena);
    hpc_buf names = {0};
    int64_t n = 0;
    int rc;
    TRY(hpc_file_list(&names, &n, w->built));
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) {
        const char *path = path_of(w, w->built, name);
        const char *finished = path ? path_of(w, path, FINISHED) : NULL;
        TRY(finished ? HPC_OK : HPC_E_NOMEM);
        TRY(each(w, path, hpc_file_exists(finished), user));
    }
out:
    hpc_buf_release(&names);
    hpc_arena_rewind(w->arena, mark);
    return rc;
}

static int sweep(history_work *w, const char *path, bool whole, void *user)
{
    (void)w;
    (void)user;
    return whole ? HPC_OK : history_remove(path);
}

int history_work_open(history_work *w, hpc_git *g, const hpc_history_options *o)
{
    char whole[PATH_MAX];
    int rc;
    *w = (history_work){.o = o, .git = g, .lock = -1};
    w->arena = hpc_arena_create(0);
    if (!w->arena) return HPC_E_NOMEM;
    TRY(hpc_file_mkdir(o->work));
    if (!realpath(o->work, whole)) TRY(hpc_fail_os(HPC_E_IO, "cannot open %.200s", o->work));
    w->root = hpc_arena_text(w->arena, "%s", whole);
    w->built = w->root ? path_of(w, w->root, "builds") : NULL;
    const char *lock = w->built ? path_of(w, w->root, "lock") : NULL;
    TRY(lock ? HPC_OK : HPC_E_NOMEM);
    TRY(hpc_file_mkdir(w->built));
    TRY(hpc_file_lock(&w->lock, lock, false));
    if (w->lock < 0)
        TRY(hpc_fail(HPC_E_STATE,
                     "another perf collect uses %.200s: choose another folder with --work",
                     w->root));
    TRY(for_each(w, sweep, NULL));
    TRY(set_environment(w));
out:
    if (rc < 0) history_work_close(w);
    return rc;
}

void history_work_close(history_work *w)
{
    hpc_file_unlock(w->lock);
    hpc_arena_free(w->arena);
    *w = (history_work){.lock = -1};
}

/* ---- room ------------------------------------------------------------------------------------ */

typedef struct stay {
    char path[PATH_MAX];
    int64_t bytes, used_ns;
} stay;
typedef struct stays {
    stay *item;
    int64_t n, cap, bytes;
} stays;

static int add_stay(history_work *w, const char *path, bool whole, void *user)
{
    stays *s = user;
    hpc_file_view v;
    int rc = HPC_OK;
    if (!whole) return rc;
    const char *finished = path_of(w, path, FINISHED);
    TRY(finished ? hpc_file_open(&v, finished) : HPC_E_NOMEM);
    TRY(hpc_grow(&s->item, &s->cap, s->n + 1, sizeof *s->item));
    stay *t = &s->item[s->n++];
    snprintf(t->path, sizeof t->path, "%s", path);
    t->used_ns = v.changed_ns;
    for (size_t k = 0; k < v.bytes && v.data[k] >= '0' && v.data[k] <= '9'; k++)
        t->bytes = 10 * t->bytes + (v.data[k] - '0');
    s->bytes += t->bytes;
    hpc_file_close(&v);
out:
    return rc;
}

static int older(const void *a, const void *b)
{
    const stay *x = a, *y = b;
    return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

int history_work_trim(history_work *w)
{
    stays s = {0};
    int rc;
    TRY(for_each(w, add_stay, &s));
    if (s.n > 1) qsort(s.item, (size_t)s.n, sizeof *s.item, older);
    for (int64_t k = 0; k < s.n && s.bytes > w->o->cache_bytes; k++) {
        TRY(history_remove(s.item[k].path));
        s.bytes -= s.item[k].bytes;
    }
out:
    hpc_free(s.item);
    return rc;
}

/* ---- one build ------------------------------------------------------------------------------- */

int history_start(hpc_proc_result *r, const history_work *w, const char *folder,
                  const char *const *argv, double seconds, int64_t memory_bytes)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    o.argv = argv;
    o.environment = w->environment;
    o.folder = folder;
    o.seconds = seconds;
    o.memory_bytes = (size_t)memory_bytes;
    o.output_bytes = 64 << 20;
    o.kept = true;
    if (history_wants(w->o, HISTORY_HARDWARE)) o.counter = HPC_COUNTER_INSTRUCTIONS;
    return hpc_proc_run(r, &o);
}

int history_command(hpc_proc_result *r, const history_work *w, const char *folder,
                    const char *command, double seconds)
{
    const char *argv[] = {"sh", "-c", command, NULL};
    return history_start(r, w, folder, argv, seconds, w->o->limits.memory_bytes);
}

void history_failure(char out[128], const hpc_proc_result *r)
{
    int signal = r->signal ? r->signal : r->status > 128 && r->status < 192 ? r->status - 128 : 0;
    out[0] = '\0';
    if (r->timed_out)
        snprintf(out, 128, "did not end within %.0f s", r->seconds);
    else if (signal)
        snprintf(out, 128, "was killed by signal %d (%s)", signal, strsignal(signal));
    else if (r->status != 0)
        snprintf(out, 128, "exited with status %d", r->status);
}

int history_put_log(hpc_buf *out, const hpc_proc_result *r, size_t most)
{
    const hpc_buf *streams[] = {&r->out, &r->err};
    char why[128];
    int rc = HPC_OK;
    for (int k = 0; k < 2; k++) {
        size_t n = streams[k]->n, from = n > most / 2 ? n - most / 2 : 0;
        if (n > 0) TRY(hpc_buf_add(out, streams[k]->data + from, n - from));
    }
    history_failure(why, r);
    if (why[0]) TRY(hpc_buf_printf(out, "\nhpccoder: it %s\n", why));
    for (size_t k = 0; k < out->n; k++)
        if (!out->data[k]) out->data[k] = ' ';
out:
    return rc;
}

/* By what it is known: the tree, the command, the environment. */
static void key_of(char out[33], const history_work *w, const hpc_git_id *tree)
{
    const char *build = w->o->build ? w->o->build : "";
    uint64_t seed = hpc_hash(build, strlen(build), 0);
    for (const char *const *e = w->environment; *e; e++) seed = hpc_hash(*e, strlen(*e), seed);
    uint64_t low = hpc_hash(tree->byte, sizeof tree->byte, seed);
    uint64_t high = hpc_hash(tree->byte, sizeof tree->byte, ~seed);
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
}

static int hash_product(history_build *b, const history_work *w)
{
    hpc_file_view v;
    if (!w->o->product) return HPC_OK;
    const char *path = path_of(w, b->folder, w->o->product);
    if (!path) return HPC_E_NOMEM;
    if (!hpc_file_exists(path) || hpc_file_open(&v, path) < 0) {
        hpc_error_clear();
        b->outcome = HISTORY_FAILED;
        return hpc_buf_printf(&b->log, "hpccoder: the build did not produce %s\n", w->o->product);
    }
    hpc_hash128 h = hpc_hash_wide(v.bytes ? v.data : (const uint8_t *)"", v.bytes);
    hpc_file_close(&v);
    snprintf(b->product, sizeof b->product, "%016llx%016llx", (unsigned long long)h.high,
             (unsigned long long)h.low);
    return HPC_OK;
}

static int build(history_build *b, history_work *w)
{
    hpc_proc_result r;
    int rc = HPC_OK;
    if (!w->o->build) return rc;
    TRY(history_command(&r, w, b->folder, w->o->build, w->o->limits.build_seconds));
    b->seconds = r.seconds;
    if (r.timed_out)
        b->outcome = HISTORY_TIMED_OUT;
    else if (r.status != 0)
        b->outcome = HISTORY_FAILED;
    rc = history_put_log(&b->log, &r, (size_t)w->o->limits.log_bytes);
    hpc_proc_release(&r);
out:
    return rc;
}

/* Damage and what git would not write are the commit's trouble; a full disk is ours. */
static int export(history_build *b, history_work *w, const hpc_git_id *commit)
{
    hpc_git_exported x;
    int rc = hpc_git_export(&x, w->git, commit, b->folder);
    if (rc == HPC_E_FORMAT) {
        b->outcome = HISTORY_NO_FILES;
        rc = hpc_buf_printf(&b->log, "hpccoder: %s\n", hpc_error_get()->text);
        hpc_error_clear();
        return rc;
    }
    if (rc < 0) return rc;
    const char *path = x.paths.data;
    for (int64_t k = 0; k < x.missing && rc >= 0; k++, path += strlen(path) + 1)
        rc = hpc_buf_printf(&b->log, "hpccoder: submodule %s is not in this clone\n", path);
    hpc_git_exported_release(&x);
    return rc;
}

static int finish(history_build *b, const char *place, history_work *w)
{
    char bytes[32];
    const char *finished = path_of(w, place, FINISHED);
    if (!finished) return HPC_E_NOMEM;
    if (b->outcome != HISTORY_DONE) return history_remove(place);
    int n = snprintf(bytes, sizeof bytes, "%lld\n", (long long)(b->cached ? 0 : bytes_of(place)));
    if (!b->cached) return hpc_file_save(finished, bytes, (size_t)n);
    hpc_buf old = {0};
    int rc;
    TRY(hpc_file_read(&old, finished, sizeof bytes));
    TRY(hpc_file_save(finished, old.data ? old.data : "0\n", old.data ? old.n : 2)); /* used now */
out:
    hpc_buf_release(&old);
    return rc;
}

int history_build_make(history_build *out, history_work *w, const hpc_git_id *commit)
{
    hpc_arena_mark mark = hpc_arena_here(w->arena);
    hpc_git_id tree;
    char key[33];
    int rc;
    *out = (history_build){.outcome = HISTORY_DONE};
    TRY(hpc_git_tree(&tree, w->git, commit));
    key_of(key, w, &tree);
    const char *place = path_of(w, w->built, key),
               *done = place ? path_of(w, place, FINISHED) : NULL;
    TRY(done ? HPC_OK : HPC_E_NOMEM);
    if (snprintf(out->folder, sizeof out->folder, "%s/tree", place) >= (int)sizeof out->folder)
        TRY(hpc_fail(HPC_E_ARG, "the path of %.200s is too long", w->root));
    out->cached = hpc_file_exists(done);
    if (!out->cached) {
        TRY(history_remove(place));
        TRY(hpc_file_mkdir(out->folder));
        TRY(export(out, w, commit));
        if (out->outcome == HISTORY_DONE) TRY(build(out, w));
    }
    if (out->outcome == HISTORY_DONE) TRY(hash_product(out, w));
    TRY(finish(out, place, w));
out:
    hpc_arena_rewind(w->arena, mark);
    if (rc < 0) history_build_release(out);
    return rc;
}

void history_build_release(history_build *b)
{
    hpc_buf_release(&b->log);
    *b = (history_build){0};
}
