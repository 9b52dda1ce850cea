/*
 * plan_simulate.c: the command `plan simulate`.
 */
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/plan_simulate.h"

/* ---- machines ------------------------------------------------------------------------------- */

/* A file, or the name of one that comes with the program. */
static int find_machine(hpc_machine *out, const char *asked)
{
    char name[64], path[PATH_MAX];
    int rc;
    if (!asked)
        return hpc_fail(
            HPC_E_ARG,
            "--machine is missing: name a file, or a machine that comes with the program "
            "(dgx-h100, a100-selene, a100-perlmutter, mi250x-frontier, cpu-cluster, two-cores)");
    if (access(asked, R_OK) == 0) return hpc_machine_read(out, asked);
    snprintf(name, sizeof name, "machines/%.40s.json", asked);
    TRY(hpc_cmd_find(path, name));
    if (!*path)
        TRY(hpc_fail(HPC_E_ARG,
                     "--machine %s: neither a file nor a machine that comes with the "
                     "program",
                     asked));
    TRY(hpc_machine_read(out, path));
out:
    return rc;
}

/* ---- plans ---------------------------------------------------------------------------------- */

static int emit(hpc_plan_step *out, const hpc_parallel *p, int64_t accumulate, int64_t rows,
                void *user)
{
    const simulate_study *t = user;
    plan_ask ask = t->o->ask;
    ask.accumulate = accumulate;
    return hpc_cmd_plan_emit(out, &ask, &t->model, p, rows);
}

static int run_study(simulate_study *t)
{
    const simulate_options *o = t->o;
    hpc_plan_question q = {.machine = &t->machine,
                           .model = &t->model,
                           .sequences = o->ask.model.sequences,
                           .length = o->ask.model.length,
                           .ranks = (int)o->best,
                           .top = o->top,
                           .emit = emit,
                           .user = t};
    int rc;
    if (t->machine.host) TRY(hpc_device_open(&t->device, NULL));
    q.device = t->device;
    if (o->best > 0 && o->ask.ranks.grid[0])
        TRY(hpc_fail(HPC_E_ARG,
                     "--grid and --best exclude each other: --best searches for the grid"));
    TRY(hpc_cmd_plan_parallel(&q.parallel, &o->ask));
    if (o->best > 0) {
        TRY(hpc_plan_search(&t->row, &t->n, &q));
        goto out;
    }
    t->row = hpc_alloc(1, sizeof *t->row);
    if (!t->row) TRY(HPC_E_NOMEM);
    t->row[0].parallel = q.parallel;
    t->row[0].accumulate = o->ask.accumulate;
    TRY(hpc_plan_simulate(&t->row[0], &q, true));
    t->n = 1;
out:
    return rc;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int run(void *options, int argc, char **argv)
{
    simulate_study t = {.o = options};
    hpc_buf out = {0};
    int rc;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    t.tokens = t.o->ask.model.sequences * t.o->ask.model.length;
    TRY(find_machine(&t.machine, t.o->machine));
    TRY(hpc_cmd_plan_model(&t.model, &t.o->ask));
    TRY(run_study(&t));
    if (t.o->json)
        hpc_cmd_simulate_put_json(&out, &t);
    else if (t.o->best > 0)
        hpc_cmd_simulate_put_list(&out, &t);
    else
        hpc_cmd_simulate_put_one(&out, &t, &t.row[0]);
    TRY(hpc_cmd_print(&out));
    rc = t.n > 0 && t.row[0].fits ? EXIT_DONE : EXIT_FINDINGS;
out:
    hpc_buf_release(&out);
    hpc_device_close(t.device);
    hpc_free(t.row);
    return rc;
}

static const hpc_option options[] = {
    PLAN_OPTIONS(offsetof(simulate_options, ask)),
    {.name = "machine",
     .kind = HPC_TEXT,
     .offset = offsetof(simulate_options, machine),
     .argument = "NAME|FILE",
     .help = "Machine: dgx-h100, a100-selene, a100-perlmutter, mi250x-frontier, cpu-cluster, "
             "two-cores, or a JSON file of the same format."},
    {.name = "best",
     .kind = HPC_INT,
     .offset = offsetof(simulate_options, best),
     .fallback = "0",
     .argument = "N",
     .most = 65536,
     .help = "Try all grids of N ranks with 1, 2, 4, ... microbatches, also without overlap if "
             "that makes a plan fit into memory, and list the fastest plans that fit."},
    {.name = "top",
     .kind = HPC_INT,
     .offset = offsetof(simulate_options, top),
     .fallback = "8",
     .argument = "N",
     .least = 1,
     .most = 1000,
     .help = "Number of plans to list."},
    HPC_CMD_JSON(simulate_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_plan_simulate = {
    .name = "plan simulate",
    .summary = "Estimate the time of a training step on a given machine.",
    .arguments = "",
    .description =
        "Builds the program of the first rank of the grid and simulates it without allocating its "
        "memory. The time of an instruction is the larger of its operations and its bytes at the "
        "rates of the machine. The time of a collective is that of a ring, or of hierarchical "
        "rings, on the links that it crosses; all groups along the same axes use the links at the "
        "same time. Computation waits for a collective when it reads the result. --sequences "
        "counts the sequences of a step over all ranks. Tokens are assumed to spread evenly over "
        "experts; exchanges of their rows take as long as one message after another to each rank, "
        "and computation waits for them. For a pruned step (--prune), each part of "
        "a matrix is assumed to keep its share.\n\n"
        "Bytes sent by axis, operations and memory are exact counts that match a run, except for "
        "rows of experts. Times are "
        "predictions and marked as such. A machine is a JSON file with rates by type, the share of "
        "these rates that matrix products reach, memory size and bandwidth, and links by level. "
        "The machine files that come with the program name their sources. Exit status 1: the plan "
        "does not fit into the memory of the machine.",
    .examples = "hpccoder plan simulate --machine a100-selene --shape gpt-20b --dtype bf16 "
                "--grid data=32,row=8 --zero 1 --sequences 512 --length 2048 --accumulate 4\n"
                "hpccoder plan simulate --machine dgx-h100 --shape gpt-40b --dtype bf16 --best 64 "
                "--zero 1 --sequences 512 --length 2048 --recompute block",
    .options = options,
    .options_bytes = sizeof(simulate_options),
    .run = run,
};
