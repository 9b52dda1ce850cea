/*
 * perf_train_language.c: what language models say of the commits of a history, among the features
 * of examples.
 */
#include <string.h>

#include "cmd/perf_train.h"

/* The one for that repository, else the last that is for any. *out NULL: there is none. */
static int find_model(const char **out, hpc_buf *text, const train_options *o,
                      const char *repository)
{
    int rc = HPC_OK;
    bool own = false;
    *out = NULL;
    for (int64_t k = 0; k < o->language.n && !own; k++) {
        const char *name, *path;
        hpc_buf one = {0};
        rc = hpc_buf_text(&one, o->language.item[k]);
        if (rc >= 0) rc = hpc_cmd_name_path(&name, &path, one.data);
        own = rc >= 0 && name && strcmp(name, repository) == 0;
        if (rc >= 0 && (own || !name)) {
            text->n = 0;
            rc = hpc_buf_text(text, path);
            *out = text->data;
        }
        hpc_buf_release(&one);
        TRY(rc);
    }
out:
    return rc;
}

int train_language_open(train_language *t, const train_options *o, const char *repository,
                        int64_t first)
{
    hpc_perf_language_limits limits = HPC_PERF_LANGUAGE_LIMITS_DEFAULTS;
    const char *model;
    hpc_buf path = {0};
    int rc = HPC_OK;
    limits.range = INT64_MAX; /* of a history all that fits into its commits */
    t->first = first;
    TRY(find_model(&model, &path, o, repository));
    if (model) TRY(hpc_perf_language_open(&t->l, model, &limits, 0));
out:
    hpc_buf_release(&path);
    return rc;
}

int train_language_add(train_language *t, const hpc_perf_change *c)
{
    int rc = HPC_OK;
    if (!t->l) return rc;
    TRY(hpc_perf_language_add(t->l, c));
    t->commits++;
out:
    return rc;
}

int train_language_note(train_language *t)
{
    int rc = HPC_OK;
    if (!t->l) return rc;
    TRY(hpc_grow(&t->commit, &t->cap, t->n + 1, sizeof *t->commit));
    t->commit[t->n++] = t->commits - 1;
out:
    return rc;
}

int train_language_put(train_language *t, train_set *s)
{
    int rc = HPC_OK;
    if (!t->l) return rc;
    hpc_assert(t->first + t->n == s->all.n);
    TRY(hpc_perf_language_run(t->l));
    for (int64_t k = 0; k < t->n; k++) {
        hpc_perf_language_said j;
        hpc_perf_language_judge(&j, t->l, t->commit[k]);
        hpc_perf_language_put(&s->all.item[t->first + k].x, j.known ? j.logp : NULL);
    }
out:
    return rc;
}

void train_language_close(train_language *t)
{
    hpc_perf_language_close(t->l);
    hpc_free(t->commit);
    *t = (train_language){0};
}
