/*
 * run_prune.c: decides when a run selects pruning masks and when it freezes them.
 *
 * Early-bird tickets: masks are frozen once masks selected some steps apart agree several times in
 * a row, long before the model is trained.
 */
#include <stdio.h>

#include "train/run_priv.h"

int run_prune_open(run_prune *p, const hpc_training_options *o, const char *checkpoints)
{
    const hpc_trainer_options *t = &o->trainer;
    hpc_checkpoint c;
    int rc;
    *p = (run_prune){.o = &o->prune, .drawn = -1};
    TRY(hpc_prune_check(&o->prune, &t->optimizer, &t->model, &t->parallel));
    if (!o->resume) goto out;
    TRY(hpc_checkpoint_masks(&c, &p->masks, checkpoints, &t->model, t->grid));
    p->agreed = c.agreed;
    p->frozen = c.frozen;
    p->sparsity = c.sparsity;
    if (p->masks && !o->prune.asked)
        TRY(hpc_fail(HPC_E_ARG, "the run in %s is pruned: continue with --prune %g", o->out,
                     c.sparsity));
    if (p->masks && c.sparsity != o->prune.sparsity)
        TRY(hpc_fail(
            HPC_E_ARG,
            "prune=%g, but the run in %s has masks of %g: start a new run in another folder",
            o->prune.sparsity, o->out, c.sparsity));
out:
    return rc;
}

void run_prune_close(run_prune *p)
{
    hpc_masks_free(p->masks);
    p->masks = NULL;
}

void run_prune_tell(hpc_checkpoint *c, const run_prune *p)
{
    c->masks = p->masks;
    c->sparsity = p->o->sparsity;
    c->agreed = p->agreed;
    c->frozen = p->frozen;
}

/* ---- drawing --------------------------------------------------------------------------------- */

typedef struct reading {
    const hpc_trainer *t;
    void *room;
} reading;

/* Reads masters if there are any: they have fewer ties. */
static int read_values(float *out, const hpc_mask *m, void *user)
{
    const reading *r = user;
    hpc_value v = hpc_program_find(r->t->p, m->name);
    if (v < 0) return hpc_fail(HPC_E_STATE, "the program has no %s", m->name);
    if (r->t->p->value[v].master >= 0) v = r->t->p->value[v].master;
    hpc_dtype dtype = (hpc_dtype)r->t->whole[v].dtype;
    if (dtype == HPC_F32) return trainer_gather(out, r->t, v);
    int rc = trainer_gather(r->room, r->t, v);
    if (rc >= 0) hpc_to_f32(out, r->room, dtype, m->n);
    return rc;
}

static int choose(hpc_masks **out, const run_prune *p, const hpc_trainer *t)
{
    reading r = {.t = t};
    hpc_masks *m = NULL;
    int64_t most = 1;
    int rc;
    TRY(hpc_masks_create(&m, &t->o.model));
    for (int64_t k = 0; k < m->mask_n; k++)
        if (m->mask[k].n > most) most = m->mask[k].n;
    r.room = hpc_alloc((size_t)most, sizeof(double));
    if (!r.room) TRY(HPC_E_NOMEM);
    TRY(hpc_masks_choose(m, p->o, read_values, &r));
    *out = m;
    m = NULL;
out:
    hpc_free(r.room);
    hpc_masks_free(m);
    return rc;
}

static bool is_due(const run_prune *p, int64_t step)
{
    if (!p->o->asked || p->frozen || p->drawn == step) return false;
    return p->o->early_bird ? step > 0 && step % p->o->every == 0 : step >= p->o->after;
}

int run_prune_draw(run_prune *p, char say[160], const hpc_trainer *t, int64_t step)
{
    hpc_masks *now = NULL;
    double far = 1;
    say[0] = '\0';
    if (!is_due(p, step)) return 0;
    int rc = choose(&now, p, t);
    if (rc < 0) return rc;
    if (p->masks) far = hpc_masks_distance(p->masks, now);
    bool first = p->masks == NULL;
    hpc_masks_free(p->masks);
    p->masks = now;
    p->drawn = step;
    p->agreed = !first && far <= p->o->distance ? p->agreed + 1 : 0;
    p->frozen = !p->o->early_bird || p->agreed == HPC_PRUNE_STAYS;
    if (p->frozen)
        snprintf(say, 160, "step %lld: pruned, %lld of %lld elements of the matrices remain",
                 (long long)step, (long long)now->kept, (long long)now->n);
    else if (!first)
        snprintf(say, 160, "step %lld: masks %lld steps apart differ by %.3f", (long long)step,
                 (long long)p->o->every, far);
    return p->frozen;
}

const char *run_prune_missed(const run_prune *p)
{
    if (!p->o->asked || p->frozen) return NULL;
    return p->o->early_bird ? "nothing was pruned: the masks did not converge"
                            : "nothing was pruned: the run ends before prune-after";
}
