/*
 * plan_show.c: `hpccoder plan show`: prints a training step as the program that a rank would run.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/plan.h"
#include "runtime/program/run/run.h"
#include "train/plan.h"
#include "train/prune.h"

typedef struct plan_options {
    model_options model;
    grid_options ranks;
    prune_options pruned;
    const char *device, *isa, *recompute, *optimizer, *shape;
    int64_t rank, threads, recompute_blocks, accumulate, offload_bucket;
    bool json;
} plan_options;

/* Ranks are threads here; each opens its program, one prints. */
typedef struct show {
    const plan_options *o;
    hpc_parallel parallel;
    hpc_model_config model;
    hpc_buf text;
} show;

static hpc_step_options step_of(const plan_options *o)
{
    hpc_step_options s = {
        .model = {.tokens = o->model.sequences * o->model.length, .sequences = o->model.sequences},
        .clip = 1,
        .once = o->accumulate == 1,
        .recompute_blocks = (int)o->recompute_blocks};
    for (int k = 0; hpc_cmd_plan_policies[k]; k++)
        if (strcmp(hpc_cmd_plan_policies[k], o->recompute) == 0) s.recompute = k;
    return s;
}

static void put_plan(hpc_buf *out, const hpc_train_plan *plan)
{
    hpc_json_out w = {.buf = out};
    hpc_plan_put(&w, NULL, plan);
    hpc_buf_text(out, "\n");
}

/* 0: enough for a pipeline to run, and several without one. */
static int64_t microbatches_of(const show *s)
{
    int ranks = s->parallel.grid.extent[HPC_AXIS_PIPE];
    return s->o->accumulate ? s->o->accumulate : 2 * (ranks > 1 ? ranks : 1);
}

static int print_plan(hpc_link *world, void *user)
{
    show *s = user;
    int coord[HPC_AXIS_N], rc = HPC_OK;
    hpc_program *p = NULL;
    hpc_device *d = NULL;
    hpc_grid *grid = NULL;
    hpc_exec *e = NULL;
    hpc_masks *masks = NULL;
    hpc_train_plan *plan = NULL;
    hpc_step io;
    hpc_step_options step;
    hpc_model_config c = s->model;
    hpc_optimizer_config opt = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    hpc_device_options dev = {
        .backend = s->o->device, .isa = s->o->isa, .threads = (int)s->o->threads};
    TRY(hpc_grid_open(&grid, world, &s->parallel.grid));
    hpc_grid_coords(coord, &s->parallel.grid, hpc_link_rank(world));
    p = hpc_program_create();
    if (!p) TRY(HPC_E_NOMEM);
    step = step_of(s->o);
    step.parallel = &s->parallel;
    memcpy(step.coord, coord, sizeof coord);
    TRY(hpc_optimizer_find(&opt.kind, s->o->optimizer));
    hpc_optimizer_usual(&opt);
    TRY(hpc_cmd_plan_prune(&masks, &step, &s->o->pruned, &c, &opt, &s->parallel));
    TRY(hpc_step_emit(&io, p, &c, &opt, &step));
    TRY(hpc_plan_make(&plan, p, &io, &c, &step, microbatches_of(s)));
    plan->offload = s->o->offload_bucket;
    TRY(hpc_step_shard(&io, p, &s->parallel, coord));
    if (plan->offload)
        TRY(hpc_step_offload(&(hpc_offload_options){.bucket = plan->offload}, &io, p));
    if (s->o->json) {
        if (hpc_link_rank(world) == 0) put_plan(&s->text, plan);
        goto out;
    }
    int slots = plan->list[coord[HPC_AXIS_PIPE]].slots;
    TRY(hpc_device_open(&d, &dev));
    TRY(hpc_exec_open(&e, p, d, grid, &(hpc_exec_options){.slots = slots, .dry = true}));
    if (hpc_link_rank(world) == s->o->rank) TRY(hpc_exec_print(&s->text, e));
out:
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_plan_free(plan);
    hpc_masks_free(masks);
    hpc_grid_close(grid);
    hpc_program_free(p);
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    show s = {.o = options};
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    s.parallel = parallel_of(&s.o->ranks);
    TRY(hpc_grid_parse(&s.parallel.grid, s.o->ranks.grid));
    TRY(hpc_cmd_plan_model(&s.model, &(plan_ask){.model = s.o->model, .shape = s.o->shape}));
    TRY(hpc_parallel_check(&s.parallel, &s.model, s.o->model.sequences, s.o->model.length));
    int ranks = hpc_grid_size(&s.parallel.grid);
    s.parallel.overlap = s.parallel.overlap && ranks > 1;
    if (s.o->rank >= ranks)
        TRY(hpc_fail(HPC_E_ARG, "--rank %lld: the grid has %d ranks", (long long)s.o->rank, ranks));
    TRY(hpc_threads_run(ranks, print_plan, &s));
    TRY(hpc_cmd_print(&s.text));
out:
    hpc_buf_release(&s.text);
    return rc;
}

static const hpc_option options[] = {
    MODEL_OPTIONS(offsetof(plan_options, model)),
    GRID_OPTIONS(offsetof(plan_options, ranks), ""),
    PRUNE_OPTIONS(offsetof(plan_options, pruned)),
    {.name = "rank",
     .kind = HPC_INT,
     .offset = offsetof(plan_options, rank),
     .fallback = "0",
     .argument = "N",
     .most = 1e6,
     .help = "Rank to show."},
    {.name = "shape",
     .kind = HPC_TEXT,
     .offset = offsetof(plan_options, shape),
     .argument = "NAME|DIR",
     .help = "Known model instead of the sizes above (gpt-5b to gpt-640b, gpt3-175b, llama-7b), or "
             "a model directory."},
    {.name = "accumulate",
     .kind = HPC_INT,
     .offset = offsetof(plan_options, accumulate),
     .fallback = "0",
     .argument = "N",
     .most = 65536,
     .help = "Microbatches per step; 0: twice the ranks along pipe."},
    HPC_CMD_JSON(plan_options),
    {.name = "optimizer",
     .kind = HPC_CHOICE,
     .offset = offsetof(plan_options, optimizer),
     .fallback = "adamw",
     .argument = "NAME",
     .choices = hpc_optimizer_names,
     .help = "Optimizer of the update and the refresh."},
    {.name = "recompute",
     .kind = HPC_CHOICE,
     .offset = offsetof(plan_options, recompute),
     .fallback = "none",
     .argument = "POLICY",
     .choices = hpc_cmd_plan_policies,
     .help = "Values that the backward pass recomputes instead of storing: all of a block (block), "
             "or only cheap ones (selective)."},
    {.name = "recompute-blocks",
     .kind = HPC_INT,
     .offset = offsetof(plan_options, recompute_blocks),
     .fallback = "0",
     .argument = "N",
     .most = 32767,
     .help = "Recompute only in the first N blocks; 0: in all."},
    PLAN_OFFLOAD(offsetof(plan_options, offload_bucket)),
    HPC_CMD_DEVICE(plan_options, "backend"),
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(plan_options, isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports."},
    HPC_CMD_THREADS(plan_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_plan_show = {
    .name = "plan show",
    .summary = "Show a training step as the program that a rank runs.",
    .arguments = "",
    .description =
        "Emits a transformer of the Llama shape, differentiates it, applies recomputation "
        "(--recompute), shards it over the grid, overlaps communication with computation, selects "
        "kernels, and assigns an address to every value. Prints the result with one line per "
        "instruction: outputs, op and inputs, attributes, types with layouts, block, kernel, "
        "address of the first output, and the barriers before it. backward[1] is the last of "
        "several microbatches and includes the norm.\n\n"
        "The version of a state follows an @. The footer counts instructions and barriers by "
        "segment and bytes by arena, with the largest set of live values as a lower bound. --json "
        "prints the plan as a value, which train --plan reads.",
    .examples = "hpccoder plan show --layers 1  # one block on one rank\n"
                "hpccoder plan show --grid data=2 --rank 1  # the second of two ranks\n"
                "hpccoder plan show --grid pipe=2 --json  # stages and tasks of a pipeline\n"
                "hpccoder plan show --recompute block  # less memory for more operations",
    .options = options,
    .options_bytes = sizeof(plan_options),
    .run = run,
};
