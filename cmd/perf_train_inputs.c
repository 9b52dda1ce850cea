/*
 * Inputs of `hpccoder perf train`: named repositories, line profiles and language models.
 */
#include <string.h>

#include "cmd/perf_train.h"
#include "infer/pairs/pairs.h"

/* The path of the model for the repository, else of the last one without a name. *out NULL: none.
 */
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

static int open_language(hpc_perf_language **out, const char *repository, void *user)
{
    const train_inputs *in = user;
    hpc_perf_language_limits limits = HPC_PERF_LANGUAGE_LIMITS_DEFAULTS;
    const char *model;
    hpc_buf path = {0};
    int rc = HPC_OK;
    limits.range = INT64_MAX; /* all functions of a history that fit into their commits */
    TRY(find_model(&model, &path, in->o, repository));
    if (model) TRY(hpc_pairs_open(out, model, &limits, 0));
out:
    hpc_buf_release(&path);
    return rc;
}

static int parse_names(const hpc_perf_named_path **out, hpc_arena *a, const hpc_texts *given)
{
    hpc_perf_named_path *p = hpc_arena_alloc(a, (size_t)given->n + 1, sizeof *p);
    int rc = p ? HPC_OK : HPC_E_NOMEM;
    *out = p;
    for (int64_t k = 0; rc >= 0 && k < given->n; k++) {
        char *text = hpc_arena_text(a, "%s", given->item[k]);
        rc = text ? hpc_cmd_name_path(&p[k].name, &p[k].path, text) : HPC_E_NOMEM;
    }
    return rc;
}

static int check_profiles(const train_inputs *in)
{
    for (int64_t k = 0; k < in->o->heat.n; k++)
        if (!in->gather.profile[k].name)
            return hpc_fail(
                HPC_E_ARG,
                "--line-profile %.200s: expected NAME=FILE with the name of the repository",
                in->o->heat.item[k]);
    return HPC_OK;
}

static int check(const train_options *o)
{
    if (o->db.n + o->examples.n > 0) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "--db FILE or --examples FILE.csv is missing: the training data");
}

int train_inputs_open(train_inputs *in, const train_options *o)
{
    hpc_perf_gather_options *g = &in->gather;
    int rc;
    TRY(check(o));
    in->o = o;
    in->arena = hpc_arena_create(0);
    TRY(in->arena ? HPC_OK : HPC_E_NOMEM);
    *g = (hpc_perf_gather_options){.db = o->db,
                                   .examples = o->examples,
                                   .judge_on = o->judge_on,
                                   .metric = o->metric,
                                   .repositories_n = o->repo.n,
                                   .profiles_n = o->heat.n,
                                   .threshold = o->threshold / 100,
                                   .bags = o->evaluate,
                                   .language = open_language,
                                   .user = in};
    TRY(parse_names(&g->profile, in->arena, &o->heat));
    TRY(check_profiles(in));
    TRY(parse_names(&g->repository, in->arena, &o->repo));
out:
    return rc;
}

int train_inputs_check_used(const train_inputs *in, const hpc_perf_gathered *s)
{
    for (int64_t k = 0; k < in->o->heat.n; k++) {
        const char *name = in->gather.profile[k].name;
        if (!s->profile_used[k])
            return hpc_fail(HPC_E_ARG,
                            "--line-profile %.200s: no history is about repository %.200s; for "
                            "examples, also name it with --repo %.200s=DIR",
                            in->o->heat.item[k], name, name);
    }
    return HPC_OK;
}

void train_inputs_close(train_inputs *in)
{
    hpc_arena_free(in->arena);
}
