/*
 * op_nop.c: the cost of an instruction that does nothing, and of a barrier of all workers.
 *
 * Their lower bounds are an empty call and the transfer of a cache line between two threads,
 * measured in the same run.
 */
#include <stdio.h>
#include <string.h>

#include "eval/bench/priv.h"

enum { INSTRUCTIONS = 10000 };

/* A chain leads to and fro between two states: each instruction reads what the last one wrote. */
static int emit_nops(hpc_program *p, bool chain)
{
    hpc_value line[2] = {HPC_NONE, HPC_NONE};
    hpc_program_segment(p, HPC_FORWARD, 0);
    if (chain) {
        line[0] = hpc_program_state(p, "even", hpc_type_of(HPC_F32, 0, NULL), false);
        line[1] = hpc_program_state(p, "odd", hpc_type_of(HPC_F32, 0, NULL), false);
    }
    for (int k = 0; k < INSTRUCTIONS; k++) {
        hpc_value operand[] = {line[k & 1], line[~k & 1]};
        hpc_emit(p, &hpc_op_nop, operand, NULL);
    }
    return hpc_program_status(p);
}

static int run_nops(void *user)
{
    return hpc_exec_run(user, 0, 0);
}

/* *time: of an instruction, whatever comes with it. */
static int measure_nops(hpc_bench_time *time, int64_t *barriers, hpc_bench *b, bool chain)
{
    hpc_exec *exec = NULL;
    int rc = HPC_E_NOMEM;
    hpc_program *p = hpc_program_create();
    if (!p) goto out;
    TRY(emit_nops(p, chain));
    TRY(hpc_exec_open(&exec, p, b->device, NULL, NULL));
    hpc_bench_contestant c = {run_nops, exec};
    TRY(hpc_bench_alternate(time, &c, 1, INSTRUCTIONS, b->o->seconds));
    *barriers = hpc_exec_stats_of(exec, 0).barriers;
out:
    hpc_exec_close(exec);
    hpc_program_free(p);
    return rc;
}

static int add_result(hpc_bench *b, const hpc_bench_case *c, const char *what, hpc_bench_time time,
                      double floor_ns)
{
    int rc = hpc_grow(&b->result, &b->result_cap, b->result_n + 1, sizeof *b->result);
    if (rc < 0) return rc;
    hpc_bench_result *r = &b->result[b->result_n++];
    r->job.c = c;
    snprintf(r->job.attr_text, sizeof r->job.attr_text, "%s", what);
    r->repeats = INSTRUCTIONS;
    r->time = time;
    r->floor_ns = floor_ns;
    return HPC_OK;
}

/* The additional time of the chain, divided by its barriers; barriers > 0. */
static hpc_bench_time barrier_time(hpc_bench_time chain, hpc_bench_time plain, int64_t barriers)
{
    double share = (double)INSTRUCTIONS / (double)barriers;
    chain.median_ns = (chain.median_ns - plain.median_ns) * share;
    chain.least_ns = (chain.least_ns - plain.least_ns) * share;
    return chain;
}

int hpc_bench_nop(hpc_bench *b, const hpc_bench_case *c)
{
    hpc_bench_time plain, chain;
    int64_t none, barriers;
    int rc;
    TRY(hpc_probe_latency(&b->call_ns, &b->handoff_ns, b->probe));
    TRY(measure_nops(&plain, &none, b, false));
    TRY(add_result(b, c, "instruction", plain, b->call_ns));
    TRY(measure_nops(&chain, &barriers, b, true));
    if (barriers > 0 && b->about.threads > 1)
        TRY(add_result(b, c, "barrier", barrier_time(chain, plain, barriers), b->handoff_ns));
out:
    return rc;
}
