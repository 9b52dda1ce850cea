/*
 * rounds.c: sampling of completions that repeat no training data.
 */
#include "infer/complete/source.h"

enum { ROUNDS = 4 };
static const double LEAST = 0.6; /* temperature after the first round, */
static const double STEP = 0.3;  /* and its increase in each later one */

static int sample(hpc_completions *out, hpc_completer *c, const hpc_complete_request *r,
                  const hpc_complete_source_options *o)
{
    int rc;
    if (o->checker && o->until_good) return hpc_complete_until_good(out, c, r, o->checker);
    TRY(hpc_complete(out, c, r));
    bool cancelled = r->cancel && __atomic_load_n(r->cancel, __ATOMIC_RELAXED);
    if (o->checker && !cancelled) TRY(hpc_completions_check(out, o->checker));
out:
    return rc;
}

int hpc_complete_with_sources(hpc_completions *out, int64_t *left_out, hpc_completer *c,
                              const hpc_complete_request *r, const hpc_complete_source_options *o)
{
    hpc_complete_request q = *r;
    int rc = HPC_OK;
    *left_out = 0;
    for (int k = 0; k < ROUNDS && out->n == 0; k++) {
        if (k > 0 && q.cancel && __atomic_load_n(q.cancel, __ATOMIC_RELAXED)) break;
        hpc_completions_release(out);
        TRY(sample(out, c, &q, o));
        if (o->passages) TRY(hpc_completions_find_sources(out, q.spot, o->passages));
        if (!o->no_verbatim) break;
        *left_out += hpc_completions_leave_out(out);
        q.sampling.seed++;
        double least = LEAST + STEP * k;
        if (q.sampling.temperature < least) q.sampling.temperature = least;
    }
out:
    return rc;
}
