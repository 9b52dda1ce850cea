/*
 * plan_simulate_print.c: simulated plans as JSON and as text.
 */
#include "cmd/cmd.h"
#include "cmd/plan_simulate.h"
#include "cmd/terminal.h"

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

static double rate_of(const simulate_study *t)
{
    return t->machine.rate[t->model.dtype == HPC_BF16 ? 2 : t->model.dtype == HPC_F64 ? 0 : 1];
}

/* Share of the peak of all devices: by formula (6 operations a parameter and token, and
 * attention's), and with all that the program does. */
static double model_share(const simulate_study *t, const hpc_step_plan *r)
{
    double flops = hpc_model_config_flops(&t->model, t->o->ask.model.length) * (double)t->tokens;
    return flops / r->s.step_s / rate_of(t) / hpc_grid_size(&r->parallel.grid);
}

static double program_share(const simulate_study *t, const hpc_step_plan *r)
{
    return r->s.flops / r->s.step_s / rate_of(t);
}

static void put_json_row(hpc_json_out *w, const simulate_study *t, const hpc_step_plan *r)
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
    if (r->parallel.grid.extent[HPC_AXIS_PIPE] > 1) hpc_json_put_real(w, "bubble_s", r->s.bubble_s);
    hpc_json_put_real(w, "tokens_per_s", (double)t->tokens / r->s.step_s);
    hpc_json_put_real(w, "mfu", model_share(t, r));
    hpc_json_put_real(w, "program_share", program_share(t, r));
    hpc_json_put_real(w, "flops", r->s.flops);
    hpc_json_put_real(w, "parameter_bytes", r->memory.parameters);
    hpc_json_put_real(w, "gradient_bytes", r->memory.gradients);
    hpc_json_put_real(w, "optimizer_bytes", r->memory.optimizer);
    hpc_json_put_real(w, "activation_bytes", r->memory.activations);
    hpc_json_put_real(w, "peak_bytes", r->memory.all);
    hpc_json_put_real(w, "outside_bytes", r->memory.outside);
    hpc_json_put_real(w, "moved_bytes", r->s.moved_bytes);
    hpc_json_put_real(w, "moved_s", r->s.moved_s);
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

void hpc_cmd_simulate_put_json(hpc_buf *out, const simulate_study *t)
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

static void add_memory(hpc_table *t, const simulate_study *of, const hpc_step_plan *r)
{
    char a[32], b[32], c[32], d[32], e[32], f[32];
    hpc_table_cell(t, "memory");
    hpc_table_cell(t,
                   "%s a rank, of %s: parameters %s, gradients %s, optimizer %s, activations %s%s",
                   hpc_cmd_bytes(a, r->memory.all), hpc_cmd_bytes(b, of->machine.memory),
                   hpc_cmd_bytes(c, r->memory.parameters), hpc_cmd_bytes(d, r->memory.gradients),
                   hpc_cmd_bytes(e, r->memory.optimizer), hpc_cmd_bytes(f, r->memory.activations),
                   r->fits ? "" : "; it does not fit");
    if (r->memory.outside == 0) return;
    hpc_table_cell(t, "outside");
    hpc_table_cell(t, "%s of optimizer state; %s moved a step, in %.4g s",
                   hpc_cmd_bytes(a, r->memory.outside), hpc_cmd_bytes(b, r->s.moved_bytes),
                   r->s.moved_s);
}

static void add_sent(hpc_table *t, const hpc_simulation *s)
{
    char a[32], axes[64];
    for (int k = 0; k < HPC_AXES_N; k++) {
        if (s->messages[k] == 0) continue;
        axes_text(axes, k);
        hpc_table_cell(t, "sent");
        hpc_table_cell(t, "%s along %s, in %lld messages", hpc_cmd_bytes(a, (double)s->sent[k]),
                       axes, (long long)s->messages[k]);
    }
}

/* Activations that the products of a block send: they do not depend on the machine. */
static void add_plane(hpc_table *t, const hpc_step_plan *r)
{
    int rows = r->parallel.grid.extent[HPC_AXIS_ROW], cols = r->parallel.grid.extent[HPC_AXIS_COL];
    int best_row, best_col;
    rows = rows > 1 ? rows : 1, cols = cols > 1 ? cols : 1;
    if (rows * cols == 1) return;
    hpc_simulate_best_plane(&best_row, &best_col, rows * cols);
    hpc_table_cell(t, "plane");
    hpc_table_cell(t,
                   "row=%d,col=%d sends %.3g m h a block of m rows of width h (GPT, by the closed "
                   "form); the least of %d ranks is %.3g, of row=%d,col=%d",
                   rows, cols, hpc_simulate_volume(rows, cols), rows * cols,
                   hpc_simulate_volume(best_row, best_col), best_row, best_col);
}

void hpc_cmd_simulate_put_one(hpc_buf *out, const simulate_study *t, const hpc_step_plan *r)
{
    static const hpc_column columns[] = {{.title = NULL}, {.fit = HPC_FIT_WRAP, .least = 20}};
    hpc_table w = {.column = columns, .columns = 2};
    hpc_buf head = {0};
    char grid[128];
    const hpc_simulation *s = &r->s;
    double hidden = s->communication_s > 0 ? 1 - s->exposed_s / s->communication_s : 0;
    grid_text(grid, &r->parallel.grid);
    hpc_buf_printf(&head, "predicted for %s\n", t->machine.name);
    hpc_text_fill_take(out, &head, 2, hpc_cmd_table_columns());
    hpc_table_cell(&w, "plan");
    hpc_table_cell(&w, "%s, --zero %d, %lld microbatches, %.3g parameters", grid, r->parallel.zero,
                   (long long)r->accumulate, (double)hpc_model_config_params(&t->model));
    hpc_table_cell(&w, "step");
    hpc_table_cell(&w, "%.4g s, %.4g tokens/s, %.1f %% of peak (%.1f %% including recomputation)",
                   s->step_s, (double)t->tokens / s->step_s, 100 * model_share(t, r),
                   100 * program_share(t, r));
    if (s->refresh_s > 0) {
        hpc_table_cell(&w, "refresh");
        hpc_table_cell(&w, "%.4g s each", s->refresh_s);
    }
    hpc_table_cell(&w, "computation");
    hpc_table_cell(&w, "%.4g s", s->compute_s);
    hpc_table_cell(&w, "communication");
    hpc_table_cell(&w, "%.4g s, of which %.4g s are waited for and %.0f %% hidden",
                   s->communication_s, s->exposed_s, 100 * hidden);
    if (r->parallel.grid.extent[HPC_AXIS_PIPE] > 1) {
        hpc_table_cell(&w, "bubble");
        hpc_table_cell(&w, "%.4g s on the rank with the longest, of %.4g s with microbatches",
                       s->bubble_s, s->step_s - s->rest_s);
    }
    hpc_table_cell(&w, "at least");
    hpc_table_cell(&w, "%.4g s, with perfect overlap", s->least_s);
    add_memory(&w, t, r);
    add_sent(&w, s);
    add_plane(&w, r);
    hpc_table_print(out, &w, hpc_cmd_table_columns());
}

void hpc_cmd_simulate_put_list(hpc_buf *out, const simulate_study *t)
{
    static const hpc_column columns[] = {
        HPC_COLUMN_TEXT("grid"),      HPC_COLUMN_NUMBER("micro"),   HPC_COLUMN_NUMBER("step s"),
        HPC_COLUMN_NUMBER("compute"), HPC_COLUMN_NUMBER("exposed"), HPC_COLUMN_NUMBER("at least"),
        HPC_COLUMN_NUMBER("peak %"),  HPC_COLUMN_NUMBER("memory"),  HPC_COLUMN_TEXT("")};
    hpc_table w = {.column = columns, .columns = sizeof columns / sizeof *columns};
    hpc_buf head = {0};
    char grid[128], bytes[32];
    hpc_buf_printf(&head, "predicted for %s; the fastest that fit\n", t->machine.name);
    hpc_text_fill_take(out, &head, 2, hpc_cmd_table_columns());
    for (int64_t k = 0; k < t->n; k++) {
        const hpc_step_plan *r = &t->row[k];
        const bool overlap = r->parallel.overlap || t->o->ask.ranks.no_overlap;
        grid_text(grid, &r->parallel.grid);
        hpc_table_cell(&w, "%s", grid);
        hpc_table_cell(&w, "%lld", (long long)r->accumulate);
        hpc_table_cell(&w, "%.4g", r->s.step_s);
        hpc_table_cell(&w, "%.4g", r->s.compute_s);
        hpc_table_cell(&w, "%.4g", r->s.exposed_s);
        hpc_table_cell(&w, "%.4g", r->s.least_s);
        hpc_table_cell(&w, "%.1f", 100 * model_share(t, r));
        hpc_table_cell(&w, "%s", hpc_cmd_bytes(bytes, r->memory.all));
        hpc_table_cell(&w, "%s", overlap ? "" : "--no-overlap");
    }
    hpc_table_print(out, &w, hpc_cmd_table_columns());
    if (t->n == 0) hpc_buf_text(out, "no plan fits: use more devices, --recompute or --zero\n");
}
