/*
 * walk.c: the walk over commits, by the workers of a pool.
 *
 * Commits wait in one queue in the order in which they were reached. A worker that
 * takes one adds its parents to the queue and then walks its tree. The results do not
 * depend on which worker finds them; list.c sorts them.
 */
#include <string.h>

#include "runtime/git/walk.h"

/* Reading many small objects is mostly locks of libgit2, which all threads share: a third worker
 * would only wait. */
enum { MOST_WORKERS = 2 };

void git_found_release(git_found *f)
{
    hpc_free(f->entry);
    hpc_free(f->at);
    hpc_buf_release(&f->paths);
    hpc_buf_release(&f->first_miss);
    memset(f, 0, sizeof *f);
}

/* ---- commits ------------------------------------------------------------------------------ */

/* "/" is no path of a file or a folder. */
static git_key key_of_commit(const hpc_git_id *id)
{
    return git_key_of(id->byte, hpc_hash_wide("/", 1));
}

/* Under the lock, or before the workers start. */
static int queue_commit(walk *w, const hpc_git_id *id)
{
    int rc = git_set_add(w->seen, key_of_commit(id));
    if (rc <= 0) return rc;
    if (w->next > 4096 && w->next > w->queue_n / 2) {
        w->queue_n -= w->next;
        memmove(w->queue, w->queue + w->next, (size_t)w->queue_n * sizeof *w->queue);
        w->next = 0;
    }
    rc = hpc_grow(&w->queue, &w->queue_cap, w->queue_n + 1, sizeof *w->queue);
    if (rc < 0) return rc;
    w->queue[w->queue_n++] = *id;
    pthread_cond_signal(&w->more);
    return HPC_OK;
}

static int queue_parents(walk *w, const char *text, size_t n, size_t at)
{
    hpc_git_id parent;
    int rc = HPC_OK;
    pthread_mutex_lock(&w->lock);
    while (rc >= 0 && git_header_id(&parent, text, n, &at, "parent "))
        rc = queue_commit(w, &parent);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

static int walk_commit(walker *v, const hpc_git_id *id, bool parents)
{
    hpc_git_id tree;
    char why[200];
    size_t at = 0;
    git_raw commit;
    if (git_walk_must_stop(v->w)) return HPC_GIT_STOPPED;
    int rc = git_get(&commit, v->g, id, GIT_OBJECT_COMMIT, GIT_META_BYTES, why);
    if (rc < 0) return rc;
    if (rc != HPC_GIT_READ) return git_walk_miss(v, "commit", id, why);
    const char *text = (const char *)commit.data;
    bool good = git_header_id(&tree, text, commit.n, &at, "tree ");
    rc = good ? HPC_OK : git_walk_miss(v, "commit", id, "has no tree");
    parents = parents && good && !git_boundary_has(&v->w->boundary, id);
    if (rc >= 0 && parents) rc = queue_parents(v->w, text, commit.n, at);
    git_raw_release(&commit);
    v->f->commits_n++;
    return rc < 0 || !good ? rc : git_walk_tree(v, &tree);
}

/* The next commit to walk; false if the queue is empty and no worker can add to it. `done`: the
 * caller has finished the previous one. */
static bool take(hpc_git_id *out, int64_t *commits_n, walk *w, bool done)
{
    pthread_mutex_lock(&w->lock);
    w->busy -= done;
    while (!w->stop && w->next == w->queue_n && w->busy > 0) pthread_cond_wait(&w->more, &w->lock);
    bool got = !w->stop && w->next < w->queue_n;
    if (got) {
        *out = w->queue[w->next++];
        *commits_n = w->commits_n++;
        w->busy++;
    } else
        pthread_cond_broadcast(&w->more); /* the others need not wait either */
    pthread_mutex_unlock(&w->lock);
    return got;
}

static void stop_all(walk *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->more);
    pthread_mutex_unlock(&w->lock);
}

static int walk_commits(walker *v, int worker)
{
    walk *w = v->w;
    hpc_git_id id;
    int64_t commits_n = 0;
    int rc = HPC_OK;
    for (bool done = false; take(&id, &commits_n, w, done); done = true) {
        rc = walk_commit(v, &id, true);
        if (rc != HPC_OK) break;
        if (worker != 0 || !w->options->progress || commits_n - v->shown < 64) continue;
        v->shown = commits_n;
        w->options->progress(commits_n, w->options->user);
    }
    return rc;
}

static void free_walker(walker *v)
{
    if (!v) return;
    if (v->g != v->w->first) hpc_git_close(v->g);
    git_walk_forget(v);
    hpc_free(v->slot);
    hpc_free(v);
}

static int create_walker(walker **out, walk *w, int worker)
{
    walker *v = hpc_alloc(1, sizeof *v);
    *out = v;
    if (!v) return HPC_E_NOMEM;
    v->w = w;
    v->f = &w->found[worker];
    v->g = w->first;
    return worker > 0 ? hpc_git_share(&v->g, w->first) : HPC_OK;
}

static int work(int worker, int workers, void *user)
{
    walk *w = user;
    walker *v = NULL;
    int rc;
    (void)workers;
    if (worker >= MOST_WORKERS) return HPC_OK;
    TRY(create_walker(&v, w, worker));
    TRY(walk_commits(v, worker));
out:
    if (rc != HPC_OK) stop_all(w);
    free_walker(v);
    return rc;
}

/* ---- where to begin ------------------------------------------------------------------------ */

/* HEAD's own tree comes before all others, by one worker, so that what it holds is known as such.
 */
static int walk_head(walk *w)
{
    walker *v = NULL;
    int rc;
    TRY(create_walker(&v, w, 0));
    v->head = true;
    TRY(git_set_add(w->seen, key_of_commit(&w->head)));
    TRY(walk_commit(v, &w->head, w->options->history));
out:
    free_walker(v);
    return rc;
}

static int queue_refs(walk *w)
{
    const git_library *l = &w->first->lib;
    git_reference_iterator *it = NULL;
    git_reference *ref = NULL;
    char why[200];
    int rc = HPC_OK;
    if (l->reference_iterator_new(&it, w->first->repository) < 0)
        return hpc_fail(git_ran_out(l) ? HPC_E_NOMEM : HPC_E_FORMAT,
                        "its references cannot be read: %s", git_reason(l, why));
    while (rc >= 0 && !git_walk_must_stop(w) && l->reference_next(&ref, it) == 0) {
        const git_oid *target = l->reference_target(ref);
        git_object_t type = GIT_OBJECT_INVALID;
        hpc_git_id id;
        if (target) {
            memcpy(id.byte, target->id, sizeof id.byte);
            rc = git_peel(&id, &type, w->first);
            /* What cannot be read is reported by the worker that tries to. */
            if (rc >= 0 && (type == GIT_OBJECT_COMMIT || type == GIT_OBJECT_INVALID))
                rc = queue_commit(w, &id);
        }
        l->reference_free(ref);
    }
    l->reference_iterator_free(it);
    return rc;
}

/* A list of nothing is right only when nothing is missing. */
static int check_found(const git_found *found, int workers, const char *of)
{
    const git_found *miss = NULL;
    for (int k = 0; k < workers; k++) {
        const git_found *f = &found[k];
        if (f->n + f->other_n + f->links_n > 0) return HPC_OK;
        if (f->missing_n == 0) continue;
        if (!miss || strcmp(f->first_miss.data, miss->first_miss.data) < 0) miss = f;
    }
    if (!miss) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT,
                    "nothing%s can be read: %.180s; run `git fsck`, or clone it again completely",
                    of, miss->first_miss.data);
}

static int walk_all(walk *w, hpc_pool *pool)
{
    bool history = w->options->history;
    char why[200];
    int rc;
    w->seen = git_set_create();
    TRY(w->seen ? 0 : HPC_E_NOMEM);
    if (history) TRY(git_boundary_read(&w->boundary, w->first));
    TRY(git_head(&w->head, w->first, why));
    if (rc == HPC_GIT_CORRUPT) TRY(hpc_fail(HPC_E_FORMAT, "HEAD cannot be read: %s", why));
    TRY(rc == HPC_GIT_READ ? walk_head(w) : HPC_OK);
    if (rc == HPC_GIT_STOPPED) goto out;
    TRY(check_found(w->found, 1, " of HEAD"));
    if (!history) goto out;
    TRY(queue_refs(w));
    TRY(hpc_pool_run(pool, work, w));
    if (w->stop || git_walk_must_stop(w)) {
        rc = HPC_GIT_STOPPED;
        goto out;
    }
    TRY(check_found(w->found, hpc_pool_n(pool), ""));
out:
    return rc;
}

int git_walk(git_found *found, hpc_git *g, hpc_pool *pool, const hpc_git_list_options *options)
{
    walk w = {.first = g, .options = options, .found = found};
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.more, NULL);
    int rc = walk_all(&w, pool);
    if (rc == HPC_OK && options->progress) options->progress(w.commits_n, options->user);
    git_set_free(w.seen);
    hpc_free(w.boundary.id);
    hpc_free(w.queue);
    pthread_cond_destroy(&w.more);
    pthread_mutex_destroy(&w.lock);
    return rc;
}
