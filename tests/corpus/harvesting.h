/*
 * harvesting.h: harvests generated repositories into a test folder and records the warnings.
 */
#ifndef HPC_TESTS_CORPUS_HARVESTING_H
#define HPC_TESTS_CORPUS_HARVESTING_H

#include "corpus/corpus.h"
#include "tests/corpus/sources.h"

enum { REPOSITORIES = 8 };

typedef struct notes { /* warnings, one per line */
    hpc_buf text;
} notes;

static inline void note(const char *line, void *user)
{
    notes *n = user;
    hpc_buf_printf(&n->text, "%s\n", line);
}

typedef struct work {
    hpc_harvest_options options;
    hpc_harvest_result result;
    hpc_repository repository[REPOSITORIES];
    char path[REPOSITORIES][300], name[REPOSITORIES][32], folder[300];
    notes notes;
    int stop;
} work;

static inline work *make_work(const place *p, const char *folder, int repositories)
{
    work *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->options = (hpc_harvest_options)HPC_HARVEST_DEFAULTS;
    for (int k = 0; k < repositories; k++) {
        snprintf(w->path[k], sizeof w->path[k], "%s/r%d", p->root, k);
        snprintf(w->name[k], sizeof w->name[k], "owner/r%d", k);
        w->repository[k] = (hpc_repository){w->path[k], w->name[k]};
    }
    snprintf(w->folder, sizeof w->folder, "%s/%s", p->root, folder);
    w->options.repository = w->repository;
    w->options.repositories_n = repositories;
    w->options.folder = w->folder;
    w->options.validation = w->options.test = 0.2;
    w->options.warn = note;
    w->options.user = &w->notes;
    w->options.stop = &w->stop;
    return w;
}

static inline int run(work *w)
{
    w->notes.text.n = 0;
    return hpc_corpus_harvest(&w->result, &w->options);
}

static inline void run_well(work *w)
{
    if (run(w) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(hpc_error_get()->code, 0);
    assert_true(w->result.complete);
}

static inline void release_work(work *w)
{
    hpc_buf_release(&w->notes.text);
    free(w);
}

static inline void assert_same(place *p, const char *a, const char *b)
{
    char text[256];
    snprintf(text, sizeof text, "diff -r '%s' '%s'", a, b);
    script(p, text);
}

static inline void make_repositories(place *p, int n)
{
    for (int k = 0; k < n; k++) write_repository(p, k, 20 + 12 * k, 3);
}

static inline void assert_noted(const work *w, const char *part)
{
    if (!w->notes.text.data || !strstr(w->notes.text.data, part))
        fail_msg("\"%s\" does not say \"%s\"", w->notes.text.data ? w->notes.text.data : "", part);
}

#endif
