/*
 * bench_step.c: the command `bench step`.
 */
#include <math.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/model_options.h"
#include "cmd/terminal.h"
#include "eval/bench/bench.h"

typedef struct step_options {
    model_options model;
    int64_t steps, threads;
    double lr;
    const char *isa, *device, *optimizer;
    bool json, demo, split, floor, peer;
} step_options;

static void put_limits(hpc_json_out *w, const hpc_bench_step_result *r)
{
    hpc_json_put_real(w, "limit_gflops", r->limit_rate * 1e-9);
    hpc_json_put_real(w, "read_gbs", r->read * 1e-9);
    hpc_json_put_real(w, "of_limits", r->of_limits);
    if (!r->peer) return;
    hpc_json_put_text(w, "peer", r->peer);
    hpc_json_put_real(w, "peer_gflops", r->peer_rate * 1e-9);
    hpc_json_put_real(w, "of_peer", r->of_peer);
}

static void put_json(hpc_buf *out, const step_options *o, const hpc_bench_step_result *r)
{
    double tokens = (double)(o->model.sequences * o->model.length);
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_int(&w, "step", r->step);
    hpc_json_put_real(&w, "loss", r->loss);
    hpc_json_put_real(&w, "step_ms", r->seconds * 1e3);
    hpc_json_put_real(&w, "tokens_per_s", tokens / r->seconds);
    hpc_json_put_real(&w, "gflops", r->flops / r->seconds * 1e-9);
    if (o->floor) put_limits(&w, r);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_line(hpc_buf *out, const step_options *o, const hpc_bench_step_result *r)
{
    hpc_buf line = {0};
    double tokens = (double)(o->model.sequences * o->model.length);
    hpc_buf_printf(&line, "step %4lld  loss %7.4f  %7.2f ms  %8.0f tokens/s  %6.1f GFLOP/s",
                   (long long)r->step, r->loss, r->seconds * 1e3, tokens / r->seconds,
                   r->flops / r->seconds * 1e-9);
    if (o->floor)
        hpc_buf_printf(&line, "  limits %.0f GFLOP/s, %.1f GB/s", r->limit_rate * 1e-9,
                       r->read * 1e-9);
    if (o->floor && r->peer) hpc_buf_printf(&line, ", %s %.0f", r->peer, r->peer_rate * 1e-9);
    hpc_text_fill_take(out, &line, 2, hpc_cmd_table_columns());
}

static int take_steps(const step_options *o, hpc_bench_step *b, bool *peer)
{
    int rc = HPC_OK;
    int64_t shown = o->steps > 20 ? o->steps / 10 : 1;
    for (int64_t k = 0; k < o->steps; k++) {
        hpc_bench_step_result r;
        hpc_buf out = {0};
        TRY(hpc_bench_step_run(&r, b));
        *peer = r.peer != NULL;
        if (k % shown != 0 && k + 1 != o->steps) continue;
        o->json ? put_json(&out, o, &r) : put_line(&out, o, &r);
        TRY(hpc_cmd_print(&out));
    }
out:
    return rc;
}

/* Medians, since both change from one minute to the next. */
static int put_floor(hpc_bench_step *b, bool peer)
{
    double of_limits, of_peer;
    int64_t n = hpc_bench_step_floor(&of_limits, &of_peer, b);
    hpc_buf out = {0}, line = {0};
    hpc_buf_printf(&line,
                   "\n"
                   "fraction of the lower bound: %.0f %% with arithmetic at the rate of registers",
                   100 * of_limits);
    if (peer)
        hpc_buf_printf(&line, ", %.0f %% at the rate of the faster peer's products", 100 * of_peer);
    hpc_buf_printf(&line, " (medians of %lld steps)\n", (long long)n);
    hpc_text_fill_take(&out, &line, 2, hpc_cmd_table_columns());
    return hpc_cmd_print(&out);
}

/* The time of all steps by phase and op. */
static int put_split(const step_options *o, const hpc_bench_step *b)
{
    static const hpc_column columns[] = {HPC_COLUMN_TEXT("phase"),   HPC_COLUMN_TEXT("op"),
                                         HPC_COLUMN_NUMBER("n"),     HPC_COLUMN_NUMBER("ms a step"),
                                         HPC_COLUMN_NUMBER("share"), HPC_COLUMN_NUMBER("GFLOP/s"),
                                         HPC_COLUMN_NUMBER("GB/s")};
    hpc_table t = {.column = columns, .columns = sizeof columns / sizeof *columns, .keys = 2};
    hpc_profile_row *row = NULL;
    hpc_buf out = {0};
    double all = 0, steps = (double)o->steps;
    int n = 0, rc;
    TRY(hpc_bench_step_profile(&row, &n, b));
    for (int k = 0; k < n; k++) all += row[k].seconds;
    hpc_buf_text(&out, "\n");
    for (int k = 0; k < n; k++) {
        const double seconds = fmax(row[k].seconds, 1e-12);
        hpc_table_cell(&t, "%s", hpc_phase_name(row[k].phase));
        hpc_table_cell(&t, "%s", row[k].op);
        hpc_table_cell(&t, "%lld", (long long)row[k].instructions);
        hpc_table_cell(&t, "%.3f", row[k].seconds / steps * 1e3);
        hpc_table_cell(&t, "%.1f%%", 100 * row[k].seconds / fmax(all, 1e-12));
        hpc_table_cell(&t, "%.1f", row[k].flops * steps / seconds * 1e-9);
        hpc_table_cell(&t, "%.1f", row[k].bytes * steps / seconds * 1e-9);
    }
    hpc_table_print(&out, &t, hpc_cmd_table_columns());
    rc = hpc_cmd_print(&out);
out:
    hpc_free(row);
    return rc;
}

/* Commands that run such steps in alternation with PyTorch and llm.c. */
static int put_peers(const step_options *o, int kind)
{
    const model_options *m = &o->model;
    int threads = hpc_cmd_threads(o->threads);
    hpc_buf out = {0};
    if (!m->tied || m->kv_heads != m->heads || m->dropout > 0 || kind != HPC_OPT_ADAMW) {
        hpc_buf_text(&out, "\n"
                           "no peer runs such steps: peers need --tied, equal --kv-heads and "
                           "--heads, adamw and no dropout\n");
        return hpc_cmd_print(&out);
    }
    hpc_buf_printf(
        &out,
        "\nPyTorch  python3 tests/bench/torch_step.py --hidden %lld --layers %lld --heads "
        "%lld --ffn %lld --vocab %lld --rows %lld --length %lld --dtype %s --threads %d\n",
        (long long)m->hidden, (long long)m->layers, (long long)m->heads, (long long)m->ffn,
        (long long)m->vocab, (long long)m->sequences, (long long)m->length, m->dtype, threads);
    if (m->hidden == 768 && m->layers == 12 && m->ffn == 2048 && m->vocab == 50304 &&
        m->sequences == 4)
        hpc_buf_printf(&out,
                       "llm.c    python3 tests/bench/llmc_step.py --program train_gpt2 --length "
                       "%lld --dtype %s --threads %d\n",
                       (long long)m->length, m->dtype, threads);
    return hpc_cmd_print(&out);
}

static int run(void *options, int argc, char **argv)
{
    const step_options *o = options;
    hpc_bench_step *b = NULL;
    bool peer = false;
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    if (o->demo && !o->json)
        printf("A small transformer of the Llama shape learns from generated HPC loops on your "
               "CPU.\n\n");
    const model_options *m = &o->model;
    hpc_bench_step_options s = {
        .model = {model_config_of(m), m->sequences, m->length},
        .optimizer = o->optimizer,
        .device = {.backend = o->device, .isa = o->isa, .threads = (int)o->threads},
        .steps = o->steps,
        .lr = o->lr,
        .profile = o->split,
        .floor = o->floor};
    TRY(hpc_bench_step_open(&b, &s));
    TRY(take_steps(o, b, &peer));
    if (o->floor && !o->json) TRY(put_floor(b, peer));
    if (o->split && !o->json) TRY(put_split(o, b));
    if (o->peer && !o->json) TRY(put_peers(o, hpc_bench_step_optimizer(b)));
out:
    hpc_bench_step_close(b);
    return rc;
}

static const hpc_option options[] = {
    MODEL_OPTIONS(offsetof(step_options, model)),
    {.name = "steps",
     .kind = HPC_INT,
     .offset = offsetof(step_options, steps),
     .fallback = "60",
     .argument = "N",
     .least = 1,
     .most = 1e9,
     .help = "Steps to run."},
    {.name = "lr",
     .kind = HPC_REAL,
     .offset = offsetof(step_options, lr),
     .fallback = "0.003",
     .argument = "RATE",
     .most = 10,
     .help = "Learning rate."},
    {.name = "optimizer",
     .kind = HPC_CHOICE,
     .offset = offsetof(step_options, optimizer),
     .fallback = "adamw",
     .argument = "NAME",
     .choices = hpc_optimizer_names,
     .help = "Optimizer of the update."},
    HPC_CMD_THREADS(step_options),
    HPC_CMD_DEVICE(step_options, "backend"),
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(step_options, isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports. On CUDA, graphs=off "
             "launches every kernel by itself."},
    HPC_CMD_JSON(step_options),
    {.name = "split",
     .kind = HPC_FLAG,
     .offset = offsetof(step_options, split),
     .help = "Also print the time by phase and op (a refresh counts as if each step had one)."},
    {.name = "floor",
     .kind = HPC_FLAG,
     .offset = offsetof(step_options, floor),
     .help = "Measure the limits of this machine between steps, and print the fraction of the step "
             "that they explain: operations at the rate of registers, and at the rate of the "
             "faster of oneDNN and OpenBLAS for products of this shape, plus the bytes of the "
             "update at memory bandwidth."},
    {.name = "peer",
     .kind = HPC_FLAG,
     .offset = offsetof(step_options, peer),
     .help = "Also print the commands that run such steps in alternation with PyTorch and llm.c."},
    {.name = "demo",
     .kind = HPC_FLAG,
     .offset = offsetof(step_options, demo),
     .help = "Print an introduction first."},
    {.name = NULL},
};

const hpc_command hpc_cmd_bench_step = {
    .name = "bench step",
    .summary = "Benchmark training steps of a small transformer.",
    .arguments = "",
    .description =
        "Runs training steps of a transformer of the Llama shape in f32 on generated text with "
        "bytes as tokens, and reports the loss, the time of a step and the rate. GFLOP/s counts "
        "products and attention, from the op table. --json prints one object per step.",
    .examples = "hpccoder bench step --steps 100  # the small default model\n"
                "hpccoder bench step --floor  # compared with the limits of the machine\n"
                "hpccoder bench step --hidden 256 --layers 4 --ffn 704 --json  # for scripts",
    .options = options,
    .options_bytes = sizeof(step_options),
    .run = run,
};
