/*
 * plan_check.c: `hpccoder plan check`: proves a step on a grid before any rank starts.
 */
#include "cmd/cmd.h"
#include "cmd/plan.h"
#include "cmd/terminal.h"
#include "train/plan.h"

typedef struct check_options {
    plan_ask ask;
    const char *device, *isa;
    int64_t threads;
    double memory;
    bool json;
} check_options;

/* One thing that is proven, or what is against it. */
typedef struct finding {
    bool ok;
    hpc_error error;
    hpc_proof proof;
} finding;

typedef struct check {
    const check_options *o;
    finding order, stages, layouts, memory;
    int64_t tasks;        /* of all ranks along pipe */
    int64_t shared;       /* of them: those that all these ranks run together */
    hpc_step_memory most; /* of the rank that needs most */
    int rank, ranks, compared;
    hpc_plan_left left; /* what ZeRO leaves whole */
} check;

/* What a proof says against a plan is a result; that there was no memory for it is not. */
static int conclude(finding *f, int rc)
{
    f->ok = rc >= 0;
    if (f->ok) return HPC_OK;
    if (rc != HPC_E_STATE) return rc;
    f->error = *hpc_error_get();
    hpc_error_clear();
    return HPC_OK;
}

static int check_memory(check *c, const hpc_step_ranks *r, const hpc_model_config *model)
{
    const check_options *o = c->o;
    hpc_device_options dev = {.backend = o->device, .isa = o->isa, .threads = (int)o->threads};
    hpc_device *d = NULL;
    char need[32], have[32];
    double cap = o->memory * 0x1p30;
    int rc;
    TRY(hpc_device_open(&d, &dev));
    TRY(hpc_step_memory_most(&c->most, &c->rank, r, model, d));
    rc = cap > 0 && c->most.all > cap
             ? hpc_fail(HPC_E_STATE,
                        "rank %d needs %s, --memory allows %s: use fewer sequences, --recompute, a "
                        "higher --zero, --offload-bucket or more ranks along row or depth",
                        c->rank, hpc_cmd_bytes(need, c->most.all), hpc_cmd_bytes(have, cap))
             : HPC_OK;
    TRY(conclude(&c->memory, rc));
out:
    hpc_device_close(d);
    return rc;
}

/* The stages of a pipeline, and its tasks. */
static int prove_stages(check *c, const hpc_step_ranks *r)
{
    const plan_ask *a = &c->o->ask;
    hpc_train_plan *plan = NULL;
    hpc_model_config model;
    hpc_step_options s = {.parallel = r->q};
    int rc;
    TRY(hpc_step_prove_stages(&c->stages.proof, r));
    TRY(hpc_cmd_plan_model(&model, a));
    TRY(hpc_plan_make(&plan, r->serial, &r->io, &model, &s, a->accumulate));
    TRY(hpc_plan_check_tasks(plan));
    c->tasks = c->shared = 0;
    for (int k = 0; k < plan->list_n; k++) {
        const hpc_plan_list *l = &plan->list[k];
        c->tasks += l->gradient_n;
        for (int n = 0; n < l->gradient_n; n++) c->shared += hpc_plan_run_is_shared(l->task[n].run);
    }
out:
    hpc_plan_free(plan);
    return rc;
}

static int check_step(check *c, const hpc_plan_step *s)
{
    hpc_step_ranks *r = hpc_alloc(1, sizeof *r);
    int rc = HPC_E_NOMEM;
    if (!r) return rc;
    TRY(hpc_step_ranks_init(r, s->serial, &s->io, &s->parallel, 0));
    r->microbatches = c->o->ask.accumulate;
    r->offload = s->offload;
    hpc_prove w = hpc_step_ranks_prove(r);
    c->ranks = hpc_grid_size(&s->parallel.grid);
    c->compared = r->n;
    c->left = hpc_plan_whole(s->serial, &s->parallel);
    TRY(conclude(&c->order, hpc_prove_order(&c->order.proof, &w)));
    TRY(conclude(&c->stages, prove_stages(c, r)));
    TRY(conclude(&c->layouts, hpc_prove_layouts(&c->layouts.proof, &w)));
    TRY(check_memory(c, r, &s->model));
out:
    hpc_step_ranks_release(r);
    hpc_free(r);
    return rc;
}

/* ---- printing ------------------------------------------------------------------------------ */

static void put_finding(hpc_json_out *w, const char *name, const finding *f)
{
    hpc_json_open(w, name, '{');
    hpc_json_put_bool(w, "ok", f->ok);
    hpc_json_put_text(w, "text", f->ok ? NULL : f->error.text);
}

static void put_json(hpc_buf *out, const check *c)
{
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_int(&w, "ranks", c->ranks);
    hpc_json_put_int(&w, "compared", c->compared);
    put_finding(&w, "order", &c->order);
    hpc_json_put_int(&w, "collectives", c->order.proof.collectives);
    hpc_json_close(&w, '}');
    put_finding(&w, "stages", &c->stages);
    hpc_json_put_int(&w, "messages", c->stages.proof.moves);
    hpc_json_put_int(&w, "tasks", c->tasks);
    hpc_json_put_int(&w, "shared", c->shared);
    hpc_json_close(&w, '}');
    put_finding(&w, "layouts", &c->layouts);
    hpc_json_put_int(&w, "instructions", c->layouts.proof.instructions);
    hpc_json_put_int(&w, "moves", c->layouts.proof.moves);
    hpc_json_close(&w, '}');
    put_finding(&w, "memory", &c->memory);
    hpc_json_put_int(&w, "rank", c->rank);
    hpc_json_put_real(&w, "parameter_bytes", c->most.parameters);
    hpc_json_put_real(&w, "gradient_bytes", c->most.gradients);
    hpc_json_put_real(&w, "optimizer_bytes", c->most.optimizer);
    hpc_json_put_real(&w, "activation_bytes", c->most.activations);
    hpc_json_put_real(&w, "peak_bytes", c->most.all);
    hpc_json_put_real(&w, "outside_bytes", c->most.outside);
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "whole", '{');
    hpc_json_put_int(&w, "tensors", c->left.n);
    hpc_json_put_int(&w, "elements", c->left.elements);
    hpc_json_put_text(&w, "largest", c->left.name);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_stages(hpc_table *t, const check *c)
{
    const finding *f = &c->stages;
    hpc_table_cell(t, "stages");
    if (!f->ok)
        hpc_table_cell(t, "%s", f->error.text);
    else if (c->shared > 0)
        hpc_table_cell(t,
                       "hold: %lld messages of a microbatch, each received once; %lld tasks end, "
                       "%lld of them shared, in one order on all ranks along pipe",
                       (long long)f->proof.moves, (long long)c->tasks, (long long)c->shared);
    else
        hpc_table_cell(t, "hold: %lld messages of a microbatch, each received once; %lld tasks end",
                       (long long)f->proof.moves, (long long)c->tasks);
}

static void put_text(hpc_buf *out, const check *c)
{
    static const hpc_column columns[] = {{.title = NULL}, {.fit = HPC_FIT_WRAP, .least = 20}};
    hpc_table t = {.column = columns, .columns = 2};
    char a[32], b[32], d[32], e[32], f[32];
    const finding *o = &c->order, *l = &c->layouts;
    hpc_table_cell(&t, "ranks");
    hpc_table_cell(&t, "%d, of which %d programs were compared", c->ranks, c->compared);
    hpc_table_cell(&t, "order");
    if (o->ok)
        hpc_table_cell(&t, "holds: %lld collectives, on all alike",
                       (long long)o->proof.collectives);
    else
        hpc_table_cell(&t, "%s", o->error.text);
    if (c->stages.proof.moves > 0 || !c->stages.ok) put_stages(&t, c);
    hpc_table_cell(&t, "layouts");
    if (l->ok)
        hpc_table_cell(&t,
                       "hold: each of %lld instructions of one rank's step is done once, with %lld "
                       "moves between",
                       (long long)l->proof.instructions, (long long)l->proof.moves);
    else
        hpc_table_cell(&t, "%s", l->error.text);
    if (!c->memory.ok) {
        hpc_table_cell(&t, "memory");
        hpc_table_cell(&t, "%s", c->memory.error.text);
    }
    hpc_table_cell(&t, "memory");
    hpc_table_cell(&t, "%s on rank %d: parameters %s, gradients %s, optimizer %s, activations %s",
                   hpc_cmd_bytes(a, c->most.all), c->rank, hpc_cmd_bytes(b, c->most.parameters),
                   hpc_cmd_bytes(d, c->most.gradients), hpc_cmd_bytes(e, c->most.optimizer),
                   hpc_cmd_bytes(f, c->most.activations));
    if (c->most.outside > 0) {
        hpc_table_cell(&t, "outside");
        hpc_table_cell(&t, "%s of optimizer state, in buckets of %lld elements",
                       hpc_cmd_bytes(a, c->most.outside), (long long)c->o->ask.offload_bucket);
    }
    if (c->left.n > 0) {
        hpc_table_cell(&t, "whole");
        hpc_table_cell(&t,
                       "%lld tensors of %lld elements, which the ranks along data do not divide; "
                       "the largest is %s",
                       (long long)c->left.n, (long long)c->left.elements, c->left.name);
    }
    hpc_table_print(out, &t, hpc_cmd_table_columns());
}

static int run(void *options, int argc, char **argv)
{
    const check_options *o = options;
    check c = {.o = o};
    hpc_plan_step s = {.serial = NULL};
    hpc_model_config model;
    hpc_parallel q;
    hpc_buf out = {0};
    int rc;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    TRY(hpc_cmd_plan_model(&model, &o->ask));
    TRY(hpc_cmd_plan_parallel(&q, &o->ask));
    TRY(hpc_cmd_plan_emit(&s, &o->ask, &model, &q, o->ask.model.sequences));
    TRY(check_step(&c, &s));
    o->json ? put_json(&out, &c) : put_text(&out, &c);
    TRY(hpc_cmd_print(&out));
    rc = c.order.ok && c.stages.ok && c.layouts.ok && c.memory.ok ? EXIT_DONE : EXIT_FINDINGS;
out:
    hpc_buf_release(&out);
    hpc_plan_release(&s);
    return rc;
}

static const hpc_option options[] = {
    PLAN_OPTIONS(offsetof(check_options, ask)),
    {.name = "memory",
     .kind = HPC_REAL,
     .offset = offsetof(check_options, memory),
     .fallback = "0",
     .argument = "GIB",
     .most = 1e6,
     .help = "Memory limit per rank; 0: no limit."},
    HPC_CMD_DEVICE(check_options, "backend"),
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(check_options, isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports."},
    HPC_CMD_THREADS(check_options),
    HPC_CMD_JSON(check_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_plan_check = {
    .name = "plan check",
    .summary = "Verify a training step on many ranks before it starts.",
    .arguments = "",
    .description =
        "Builds the programs of all ranks of the grid and proves these properties. With more than "
        "64 ranks, it builds those of representative ranks: the first, second and last along each "
        "axis. Order: all ranks start the same collectives, with the same kinds, types and sizes, "
        "over the same axes, in the same order, so that none waits forever. Layouts: each "
        "instruction of the step of one rank is done exactly once on all of its elements. Partial "
        "sums are reduced once before any nonlinear use; replicas agree; parts cover their tensor "
        "once; random numbers depend on the element, not on the rank; and gathered values are "
        "gathered again "
        "after they were written. Stages, with pipe: each stage receives every value that it "
        "reads, "
        "all run the same shared tasks (--pipe-vocab) in one order, "
        "each message is received once, and no rank deadlocks. Memory: the allocations of the "
        "rank that needs most, listed by "
        "purpose, stay below --memory. For a pruned step (--prune), each part of a matrix is "
        "assumed to keep its share, which a real mask need not do.\n\n"
        "The proof reads the finished programs and does not depend on how they were made. It "
        "relies on the rules of the op table; other tests compare these with the results of one "
        "rank. Exit status 1: a property is violated, and the message names the instruction, "
        "tensor and rank.",
    .examples = "hpccoder plan check --grid data=2,depth=2,row=2 --zero 1\n"
                "hpccoder plan check --shape gpt-20b --dtype bf16 --grid data=64,row=8 --zero 1 "
                "--sequences 64 --length 2048 --memory 80",
    .options = options,
    .options_bytes = sizeof(check_options),
    .run = run,
};
