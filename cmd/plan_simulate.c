/*
 * plan_simulate.c: what a step would take on a machine that is described in a
 * file; and which grid would take least.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/plan.h"
#include "train/simulate.h"

typedef struct simulate_options {
    plan_ask ask;
    const char *machine;
    int64_t best, top;
    bool json;
} simulate_options;

typedef struct row { /* a plan and what it comes to */
    hpc_parallel parallel;
    int64_t accumulate;
    hpc_simulation s;
    hpc_step_memory memory;
    bool placed, fits;
} row;

typedef struct study {
    const simulate_options *o;
    hpc_machine machine;
    hpc_model_config model;
    hpc_device *device; /* of a machine that is a host */
    row *row;
    int64_t n, cap;
    int64_t tokens; /* of a step */
} study;

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

/* ---- one plan ------------------------------------------------------------------------------- */

/* --sequences are those of a step, which microbatches of --accumulate share. */
static int simulate(row *r, const study *t, bool place)
{
    const plan_ask *a = &t->o->ask;
    plan_ask ask = *a;
    plan_step s = {.serial = NULL};
    int coord[HPC_AXIS_N] = {0}, rc;
    int64_t rows = a->model.sequences / r->accumulate;
    ask.accumulate = r->accumulate;
    if (a->model.sequences % r->accumulate)
        return hpc_fail(HPC_E_ARG, "--sequences %lld is not a multiple of --accumulate %lld",
                        (long long)a->model.sequences, (long long)r->accumulate);
    TRY(hpc_cmd_plan_emit(&s, &ask, &t->model, &r->parallel, rows));
    if (hpc_grid_size(&r->parallel.grid) > 1)
        TRY(hpc_step_shard(&s.io, s.serial, &s.parallel, coord));
    TRY(hpc_simulate(&r->s, &t->machine, s.serial, &s.io, &r->parallel.grid, coord, r->accumulate));
    if (place) TRY(hpc_step_memory_of(&r->memory, s.serial, &s.io, &t->model, t->device));
    r->placed = place;
    r->fits = place && r->memory.all <= t->machine.memory;
out:
    hpc_cmd_plan_release(&s);
    return rc;
}

/* ---- the search ----------------------------------------------------------------------------- */

static int faster(const void *a, const void *b)
{
    double x = ((const row *)a)->s.step_s, y = ((const row *)b)->s.step_s;
    return (x > y) - (x < y);
}

/* One plan more, unless training cannot use it. */
static int add_plan(study *t, const hpc_parallel *q, int64_t accumulate)
{
    int64_t all = t->o->ask.model.sequences;
    int rc;
    if (all % accumulate != 0) return HPC_OK;
    if (hpc_parallel_check(q, &t->model, all / accumulate, t->o->ask.model.length) < 0) {
        hpc_error_clear();
        return HPC_OK;
    }
    TRY(hpc_grow(&t->row, &t->cap, t->n + 1, sizeof *t->row));
    t->row[t->n] = (row){.parallel = *q, .accumulate = accumulate};
    TRY(simulate(&t->row[t->n], t, false));
    t->n++;
out:
    return rc;
}

static int try_plan(study *t, const int n[4])
{
    hpc_parallel q;
    int rc;
    TRY(hpc_cmd_plan_parallel(&q, &t->o->ask));
    q.grid.extent[HPC_AXIS_DATA] = n[0], q.grid.extent[HPC_AXIS_DEPTH] = n[1];
    q.grid.extent[HPC_AXIS_ROW] = n[2], q.grid.extent[HPC_AXIS_COL] = n[3];
    TRY(add_plan(t, &q, 1));
out:
    return rc;
}

static int try_all(study *t)
{
    int devices = (int)t->o->best, n[4], rc = HPC_OK;
    for (n[2] = 1; n[2] <= devices; n[2]++)
        for (n[3] = 1; devices % n[2] == 0 && n[2] * n[3] <= devices; n[3]++)
            for (n[1] = 1; devices % (n[2] * n[3]) == 0 && n[1] * n[2] * n[3] <= devices; n[1]++) {
                if (devices % (n[1] * n[2] * n[3]) != 0) continue;
                n[0] = devices / (n[1] * n[2] * n[3]);
                TRY(try_plan(t, n));
            }
    if (t->n == 0)
        TRY(hpc_fail(
            HPC_E_ARG,
            "no grid of %d ranks divides both %lld sequences and the heads and widths of the model",
            devices, (long long)t->o->ask.model.sequences));
out:
    return rc;
}

/* What takes less memory than plan k, which does not fit, and no less time: as many microbatches as
 * may make the difference, if any do; and nothing there before it is waited for. */
static int add_smaller(study *t, int64_t k)
{
    hpc_parallel q = t->row[k].parallel;
    const hpc_step_memory *m = &t->row[k].memory;
    int64_t accumulate = t->row[k].accumulate, times = 2;
    double left = t->machine.memory - (m->all - m->activations);
    int rc = HPC_OK;
    if (left <= 0) return rc;
    if (!q.overlap && !t->o->ask.ranks.no_overlap) return rc; /* its twin has been divided */
    while (m->activations / (double)times > left) times *= 2;
    TRY(add_plan(t, &q, times * accumulate));
    q.overlap = false;
    if (!t->o->ask.ranks.no_overlap) TRY(add_plan(t, &q, accumulate));
out:
    return rc;
}

/* The fastest that fit, in order: a plan that does not gives way to smaller ones, so that time and
 * memory of no more are reckoned than that takes. */
static int keep_best(study *t)
{
    int64_t kept = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < t->n && kept < t->o->top; k++) {
        qsort(t->row + k, (size_t)(t->n - k), sizeof *t->row, faster);
        TRY(simulate(&t->row[k], t, true));
        if (t->row[k].fits)
            t->row[kept++] = t->row[k];
        else
            TRY(add_smaller(t, k));
    }
    t->n = kept;
out:
    return rc;
}

/* ---- printing ------------------------------------------------------------------------------- */

static void grid_text(char out[128], const hpc_grid_shape *g)
{
    size_t n = 0;
    out[0] = '\0';
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (g->extent[a] > 1)
            n += (size_t)snprintf(out + n, 128 - n, "%s%s=%d", n ? "," : "",
                                  hpc_axis_name((hpc_axis)a), g->extent[a]);
    if (n == 0) snprintf(out, 128, "one rank");
}

static void axes_text(char out[64], int axes)
{
    size_t n = 0;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (axes >> a & 1)
            n +=
                (size_t)snprintf(out + n, 64 - n, "%s%s", n ? "+" : "", hpc_axis_name((hpc_axis)a));
}

static double rate_of(const study *t)
{
    return t->machine.rate[t->model.dtype == HPC_BF16 ? 2 : t->model.dtype == HPC_F64 ? 0 : 1];
}

/* Of the peak of all devices: by formula (6 operations a parameter and token, and attention's), and
 * with all that the program does. */
static double model_share(const study *t, const row *r)
{
    double flops = hpc_model_config_flops(&t->model, t->o->ask.model.length) * (double)t->tokens;
    return flops / r->s.step_s / rate_of(t) / hpc_grid_size(&r->parallel.grid);
}

static double program_share(const study *t, const row *r)
{
    return r->s.flops / r->s.step_s / rate_of(t);
}

static void put_json_row(hpc_json_out *w, const study *t, const row *r)
{
    char grid[128], axes[64];
    grid_text(grid, &r->parallel.grid);
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "grid", grid);
    hpc_json_put_int(w, "ranks", hpc_grid_size(&r->parallel.grid));
    hpc_json_put_int(w, "zero", r->parallel.zero);
    hpc_json_put_int(w, "accumulate", r->accumulate);
    hpc_json_put_bool(w, "overlap", r->parallel.overlap);
    hpc_json_put_real(w, "step_s", r->s.step_s);
    hpc_json_put_real(w, "refresh_s", r->s.refresh_s);
    hpc_json_put_real(w, "compute_s", r->s.compute_s);
    hpc_json_put_real(w, "communication_s", r->s.communication_s);
    hpc_json_put_real(w, "exposed_s", r->s.exposed_s);
    hpc_json_put_real(w, "least_s", r->s.least_s);
    hpc_json_put_real(w, "tokens_per_s", (double)t->tokens / r->s.step_s);
    hpc_json_put_real(w, "mfu", model_share(t, r));
    hpc_json_put_real(w, "program_share", program_share(t, r));
    hpc_json_put_real(w, "flops", r->s.flops);
    hpc_json_put_real(w, "parameter_bytes", r->memory.parameters);
    hpc_json_put_real(w, "gradient_bytes", r->memory.gradients);
    hpc_json_put_real(w, "optimizer_bytes", r->memory.optimizer);
    hpc_json_put_real(w, "activation_bytes", r->memory.activations);
    hpc_json_put_real(w, "peak_bytes", r->memory.all);
    hpc_json_put_bool(w, "fits", r->fits);
    hpc_json_put_int(w, "sent_bytes", hpc_simulation_sent(&r->s));
    hpc_json_open(w, "axes", '{');
    for (int k = 0; k < HPC_AXES_N; k++) {
        if (r->s.messages[k] == 0) continue;
        axes_text(axes, k);
        hpc_json_open(w, axes, '{');
        hpc_json_put_int(w, "bytes", r->s.sent[k]);
        hpc_json_put_int(w, "messages", r->s.messages[k]);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
}

static void put_json(hpc_buf *out, const study *t)
{
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "machine", t->machine.name);
    hpc_json_put_bool(&w, "predicted", true);
    hpc_json_put_int(&w, "parameters", hpc_model_config_params(&t->model));
    hpc_json_put_int(&w, "tokens_per_step", t->tokens);
    hpc_json_open(&w, "plans", '[');
    for (int64_t k = 0; k < t->n; k++) put_json_row(&w, t, &t->row[k]);
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_one(hpc_buf *out, const study *t, const row *r)
{
    char a[32], b[32], c[32], d[32], axes[64], grid[128];
    const hpc_simulation *s = &r->s;
    double hidden = s->communication_s > 0 ? 1 - s->exposed_s / s->communication_s : 0;
    grid_text(grid, &r->parallel.grid);
    hpc_buf_printf(out, "predicted for %s\n", t->machine.name);
    hpc_buf_printf(out, "plan            %s, --zero %d, %lld microbatches, %.3g parameters\n", grid,
                   r->parallel.zero, (long long)r->accumulate,
                   (double)hpc_model_config_params(&t->model));
    hpc_buf_printf(out,
                   "step            %.4g s, %.4g tokens/s, %.1f %% of peak (%.1f %% including "
                   "recomputation)\n",
                   s->step_s, (double)t->tokens / s->step_s, 100 * model_share(t, r),
                   100 * program_share(t, r));
    if (s->refresh_s > 0) hpc_buf_printf(out, "refresh         %.4g s each\n", s->refresh_s);
    hpc_buf_printf(out, "computation     %.4g s\n", s->compute_s);
    hpc_buf_printf(out,
                   "communication   %.4g s, of which %.4g s are waited for and %.0f %% hidden\n",
                   s->communication_s, s->exposed_s, 100 * hidden);
    hpc_buf_printf(out, "at least        %.4g s, with perfect overlap\n", s->least_s);
    hpc_buf_printf(out, "memory          %s a rank, of %s: ", hpc_cmd_bytes(a, r->memory.all),
                   hpc_cmd_bytes(b, t->machine.memory));
    hpc_buf_printf(out, "parameters %s, gradients %s, ", hpc_cmd_bytes(c, r->memory.parameters),
                   hpc_cmd_bytes(d, r->memory.gradients));
    hpc_buf_printf(out, "optimizer %s, activations %s%s\n", hpc_cmd_bytes(a, r->memory.optimizer),
                   hpc_cmd_bytes(b, r->memory.activations), r->fits ? "" : "; it does not fit");
    for (int k = 0; k < HPC_AXES_N; k++) {
        if (s->messages[k] == 0) continue;
        axes_text(axes, k);
        hpc_buf_printf(out, "sent            %s along %s, in %lld messages\n",
                       hpc_cmd_bytes(a, (double)s->sent[k]), axes, (long long)s->messages[k]);
    }
}

/* What a block's products send of activations does not depend on the machine. */
static void put_plane(hpc_buf *out, const row *r)
{
    int rows = r->parallel.grid.extent[HPC_AXIS_ROW], cols = r->parallel.grid.extent[HPC_AXIS_COL];
    int best_row, best_col;
    rows = rows > 1 ? rows : 1, cols = cols > 1 ? cols : 1;
    if (rows * cols == 1) return;
    hpc_simulate_best_plane(&best_row, &best_col, rows * cols);
    hpc_buf_printf(
        out,
        "plane           row=%d,col=%d sends %.3g m h a block of m rows of width h (GPT, by "
        "the closed form); the least of %d ranks is %.3g, of row=%d,col=%d\n",
        rows, cols, hpc_simulate_volume(rows, cols), rows * cols,
        hpc_simulate_volume(best_row, best_col), best_row, best_col);
}

static void put_list(hpc_buf *out, const study *t)
{
    char grid[128], bytes[32];
    hpc_buf_printf(out, "predicted for %s; the fastest that fit\n", t->machine.name);
    hpc_buf_printf(out, "%-28s %6s %9s %9s %9s %9s %7s %10s\n", "grid", "micro", "step s",
                   "compute", "exposed", "at least", "peak %", "memory");
    for (int64_t k = 0; k < t->n; k++) {
        const row *r = &t->row[k];
        grid_text(grid, &r->parallel.grid);
        hpc_buf_printf(out, "%-28s %6lld %9.4g %9.4g %9.4g %9.4g %7.1f %10s%s\n", grid,
                       (long long)r->accumulate, r->s.step_s, r->s.compute_s, r->s.exposed_s,
                       r->s.least_s, 100 * model_share(t, r), hpc_cmd_bytes(bytes, r->memory.all),
                       r->parallel.overlap || t->o->ask.ranks.no_overlap ? "" : "  --no-overlap");
    }
    if (t->n == 0) hpc_buf_text(out, "no plan fits: use more devices, --recompute or --zero\n");
}

/* ---- the command ---------------------------------------------------------------------------- */

static int run_study(study *t)
{
    const simulate_options *o = t->o;
    int rc;
    if (t->machine.host) TRY(hpc_device_open(&t->device, NULL));
    if (o->best > 0) {
        if (o->ask.ranks.grid[0])
            TRY(hpc_fail(HPC_E_ARG,
                         "--grid and --best exclude each other: --best searches for the grid"));
        TRY(try_all(t));
        TRY(keep_best(t));
        goto out;
    }
    TRY(hpc_cmd_plan_parallel(&t->row[0].parallel, &o->ask));
    t->row[0].accumulate = o->ask.accumulate;
    TRY(simulate(&t->row[0], t, true));
    t->n = 1;
out:
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    study t = {.o = options};
    hpc_buf out = {0};
    int rc;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    TRY(hpc_grow(&t.row, &t.cap, 1, sizeof *t.row));
    t.tokens = t.o->ask.model.sequences * t.o->ask.model.length;
    TRY(find_machine(&t.machine, t.o->machine));
    TRY(hpc_cmd_plan_model(&t.model, &t.o->ask));
    TRY(run_study(&t));
    if (t.o->json)
        put_json(&out, &t);
    else if (t.o->best > 0)
        put_list(&out, &t);
    else {
        put_one(&out, &t, &t.row[0]);
        put_plane(&out, &t.row[0]);
    }
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
        "counts the sequences of a step over all ranks. For a pruned step (--prune), each part of "
        "a matrix is assumed to keep its share.\n\n"
        "Bytes sent by axis, operations and memory are exact counts that match a run. Times are "
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
