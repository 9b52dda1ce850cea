/*
 * anneal.c: the temperature of gates that go from dense to sparse, a function of the step alone.
 */
#include <math.h>

#include "train/train.h"

int hpc_anneal_check(const hpc_anneal_config *c)
{
    if (!(c->from > 0 && c->to > 0 && c->to <= c->from && isfinite(c->from)))
        return hpc_fail(HPC_E_ARG,
                        "temperature=%g, temperature-least=%g: both must be above 0, and the "
                        "second at most the first",
                        c->from, c->to);
    if (!(c->threshold >= 0 && c->threshold < 1))
        return hpc_fail(HPC_E_ARG, "threshold=%g must be in [0, 1)", c->threshold);
    if (c->steps < 0 || c->hard < 0)
        return hpc_fail(HPC_E_ARG, "anneal-steps=%lld, hard-from=%lld: not below 0",
                        (long long)c->steps, (long long)c->hard);
    return HPC_OK;
}

void hpc_anneal_at(double out[2], const hpc_anneal_config *c, int64_t step)
{
    double share = step < 0 || c->steps == 0 ? 1 : (double)(step - 1) / (double)c->steps;
    if (share > 1) share = 1;
    double linear = c->from + (c->to - c->from) * share;
    out[0] = c->linear ? linear : c->from * exp(log(c->to / c->from) * share);
    bool hard = step < 0 || (c->hard > 0 && step >= c->hard);
    out[1] = hard ? 1 : c->threshold;
}
