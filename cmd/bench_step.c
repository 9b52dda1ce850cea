/*
 * bench_step.c: whole training steps on generated text: loss, time, rate.
 *
 * Bytes are the tokens, nothing is saved.
 */
#include <math.h>
#include <string.h>

#include "cmd/bench_step.h"
#include "cmd/cmd.h"
#include "cmd/model_options.h"

typedef struct step_options {
    model_options model;
    int64_t steps, threads;
    double lr;
    const char *isa, *backend, *optimizer;
    bool json, demo, split, floor, peer;
} step_options;

enum { FLOORS = 64 }; /* steps that the summary is made of: the last ones */

typedef struct bench {
    const step_options *o;
    hpc_optimizer_config optimizer;
    hpc_trainer *trainer;
    hpc_trainer_plan plan;
    double tokens;
    hpc_step_ruler *ruler; /* NULL: nobody asked */
    hpc_step_limits limits;
    double registers[FLOORS], peer[FLOORS]; /* parts of a step that the floors are */
    int64_t floors;
} bench;

/* Line `n` of an endless program of small loops, so that there is something to learn. */
static int loop_line(char *out, size_t size, uint64_t n)
{
    static const char *const body[] = {
        "for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];\n",
        "#pragma omp parallel for reduction(+:s)\nfor (int i = 0; i < n; i++) s += x[i] * y[i];\n",
        "for (int j = 0; j < m; j++) c[i * m + j] += a[i * k + l] * b[l * m + j];\n",
        "MPI_Allreduce(MPI_IN_PLACE, &s, 1, MPI_DOUBLE, MPI_SUM, comm);\n",
    };
    uint32_t pick = hpc_random_bits(7, 0, 0, n);
    return snprintf(out, size, "%s", body[pick % (sizeof body / sizeof *body)]);
}

void hpc_bench_text(hpc_batch *b, int64_t vocab, int64_t step)
{
    char line[160];
    int used = 0, n = 0;
    int64_t tokens = b->rows * b->length;
    uint64_t at = (uint64_t)step * 100000;
    b->start_n = 0;
    for (int64_t k = 0; k <= tokens; k++) {
        if (used == n) {
            n = loop_line(line, sizeof line, at++);
            used = 0;
        }
        int32_t token = (int32_t)((unsigned char)line[used++] % vocab);
        if (k > 0) b->targets[k - 1] = token;
        if (k % b->length == 0) b->start[b->start_n++] = (int32_t)k;
        if (k == tokens) break;
        b->tokens[k] = token;
        b->pos[k] = (int32_t)(k % b->length);
    }
    b->counted = b->tokens_n = tokens;
}

hpc_trainer_options hpc_bench_trainer(const model_options *m, const hpc_optimizer_config *o,
                                      hpc_device_options device)
{
    hpc_trainer_options t = {.model = model_config_of(m),
                             .optimizer = *o,
                             .step = {.clip = 1},
                             .length = m->length,
                             .rows = m->sequences,
                             .documents = 1,
                             .accumulate = 1,
                             .seed = 1,
                             .device = device};
    t.model.positions = m->length;
    return t;
}

static int open_bench(bench *b)
{
    const step_options *o = b->o;
    hpc_device_options device = {.backend = o->backend, .isa = o->isa, .threads = (int)o->threads};
    b->optimizer = (hpc_optimizer_config)HPC_OPTIMIZER_CONFIG_DEFAULTS;
    int rc = hpc_optimizer_find(&b->optimizer.kind, o->optimizer);
    if (rc < 0) return rc;
    hpc_optimizer_usual(&b->optimizer);
    if (o->floor) TRY(hpc_step_ruler_open(&b->ruler, &o->model, &device));
    hpc_trainer_options t = hpc_bench_trainer(&o->model, &b->optimizer, device);
    t.profile = o->split;
    rc = hpc_trainer_open(&b->trainer, &t, false);
    if (rc < 0) return rc;
    b->plan = hpc_trainer_about(b->trainer);
    b->tokens = (double)(o->model.sequences * o->model.length);
out:
    return rc;
}

/* Operations at that rate, and what the update reads and writes: parameters and the optimizer's
 * state both, gradients once read. */
static double floor_of(const bench *b, double flops, double rate)
{
    double bytes = 2 * (b->plan.parameter_bytes + b->plan.optimizer_bytes) + b->plan.gradient_bytes;
    return rate > 0 ? flops / rate + bytes / b->limits.machine.read : 0;
}

/* The rate of the unit that multiplies the model's elements. */
static double register_rate(const bench *b)
{
    const hpc_limits *l = &b->limits.machine;
    return compute_dtype(b->o->model.dtype) == HPC_BF16 && l->bf16 > 0 ? l->bf16 : l->f32;
}

/* A first step touches its memory for the first time: it does not count. */
static void note_floor(bench *b, int64_t step, double flops, double seconds)
{
    int64_t at = b->floors % FLOORS;
    if (step == 0 && b->o->steps > 1) return;
    b->registers[at] = floor_of(b, flops, register_rate(b)) / seconds;
    b->peer[at] = floor_of(b, flops, b->limits.peer_rate) / seconds;
    b->floors++;
}

static void put_limits(hpc_json_out *w, const bench *b, double flops, double seconds)
{
    hpc_json_put_real(w, "limit_gflops", register_rate(b) * 1e-9);
    hpc_json_put_real(w, "read_gbs", b->limits.machine.read * 1e-9);
    hpc_json_put_real(w, "of_limits", floor_of(b, flops, register_rate(b)) / seconds);
    if (!b->limits.peer) return;
    hpc_json_put_text(w, "peer", b->limits.peer);
    hpc_json_put_real(w, "peer_gflops", b->limits.peer_rate * 1e-9);
    hpc_json_put_real(w, "of_peer", floor_of(b, flops, b->limits.peer_rate) / seconds);
}

static int put_step(const bench *b, int64_t step, double loss, int64_t ns, double flops)
{
    hpc_buf out = {0};
    double seconds = (double)ns * 1e-9;
    if (b->o->json) {
        hpc_json_out w = {.buf = &out};
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_int(&w, "step", step);
        hpc_json_put_real(&w, "loss", loss);
        hpc_json_put_real(&w, "step_ms", seconds * 1e3);
        hpc_json_put_real(&w, "tokens_per_s", b->tokens / seconds);
        hpc_json_put_real(&w, "gflops", flops / seconds * 1e-9);
        if (b->ruler) put_limits(&w, b, flops, seconds);
        hpc_json_close(&w, '}');
        hpc_buf_text(&out, "\n");
    } else {
        hpc_buf_printf(&out, "step %4lld  loss %7.4f  %7.2f ms  %8.0f tokens/s  %6.1f GFLOP/s",
                       (long long)step, loss, seconds * 1e3, b->tokens / seconds,
                       flops / seconds * 1e-9);
        if (b->ruler)
            hpc_buf_printf(&out, "  limits %.0f GFLOP/s, %.1f GB/s", register_rate(b) * 1e-9,
                           b->limits.machine.read * 1e-9);
        if (b->ruler && b->limits.peer)
            hpc_buf_printf(&out, ", %s %.0f", b->limits.peer, b->limits.peer_rate * 1e-9);
        hpc_buf_text(&out, "\n");
    }
    return hpc_cmd_print(&out);
}

static int take_steps(bench *b)
{
    int rc = HPC_OK;
    int64_t shown = b->o->steps > 20 ? b->o->steps / 10 : 1;
    for (int64_t k = 0; k < b->o->steps; k++) {
        hpc_trainer_result r;
        int64_t start = hpc_clock_ns();
        hpc_bench_text(hpc_trainer_batches(b->trainer)[0], b->o->model.vocab, k);
        TRY(hpc_trainer_step(&r, b->trainer, k + 1, b->o->lr, INFINITY));
        double flops = b->plan.step_flops;
        int64_t ns = hpc_clock_ns() - start;
        if (hpc_step_refreshes(&b->optimizer, k + 1)) flops += b->plan.refresh_flops;
        if (b->ruler) {
            TRY(hpc_step_ruler_measure(&b->limits, b->ruler));
            note_floor(b, k, flops, (double)ns * 1e-9);
        }
        if (k % shown == 0 || k + 1 == b->o->steps) TRY(put_step(b, k, r.loss, ns, flops));
    }
out:
    return rc;
}

/* Medians, since both change from one minute to the next. */
static int put_floor(bench *b)
{
    int64_t n = b->floors < FLOORS ? b->floors : FLOORS;
    hpc_buf out = {0};
    double registers = 100 * hpc_cmd_median(b->registers, n);
    hpc_buf_printf(&out,
                   "\n"
                   "fraction of the lower bound: %.0f %% with arithmetic at the rate of registers",
                   registers);
    if (b->limits.peer)
        hpc_buf_printf(&out, ", %.0f %% at the rate of the faster peer's products",
                       100 * hpc_cmd_median(b->peer, n));
    hpc_buf_printf(&out, " (medians of %lld steps)\n", (long long)n);
    return hpc_cmd_print(&out);
}

/* Where the time went, by phase and op. */
static int put_split(const bench *b)
{
    hpc_profile_row *row = NULL;
    hpc_buf out = {0};
    double all = 0, steps = (double)b->o->steps;
    int n = 0, rc;
    TRY(hpc_trainer_profile(&row, &n, b->trainer));
    for (int k = 0; k < n; k++) all += row[k].seconds;
    hpc_buf_printf(&out, "\n%-10s  %-16s  %5s  %9s  %6s  %8s  %7s\n", "phase", "op", "n",
                   "ms a step", "share", "GFLOP/s", "GB/s");
    for (int k = 0; k < n; k++)
        hpc_buf_printf(&out, "%-10s  %-16s  %5lld  %9.3f  %5.1f%%  %8.1f  %7.1f\n",
                       hpc_phase_name(row[k].phase), row[k].op, (long long)row[k].instructions,
                       row[k].seconds / steps * 1e3, 100 * row[k].seconds / fmax(all, 1e-12),
                       row[k].flops * steps / fmax(row[k].seconds, 1e-12) * 1e-9,
                       row[k].bytes * steps / fmax(row[k].seconds, 1e-12) * 1e-9);
    rc = hpc_cmd_print(&out);
out:
    hpc_free(row);
    return rc;
}

/* Commands that take such steps and other people's in turns. */
static int put_peers(const bench *b)
{
    const model_options *m = &b->o->model;
    int threads = hpc_cmd_threads(b->o->threads);
    hpc_buf out = {0};
    if (!m->tied || m->kv_heads != m->heads || m->dropout > 0 || b->optimizer.kind != HPC_OPT_ADAMW)
    {
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
    bench b = {.o = options};
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    if (b.o->demo && !b.o->json)
        printf("A small transformer of the Llama shape learns from generated HPC loops on your "
               "CPU.\n\n");
    TRY(open_bench(&b));
    TRY(take_steps(&b));
    if (b.ruler && !b.o->json) TRY(put_floor(&b));
    if (b.o->split && !b.o->json) TRY(put_split(&b));
    if (b.o->peer && !b.o->json) TRY(put_peers(&b));
out:
    hpc_step_ruler_close(b.ruler);
    hpc_trainer_close(b.trainer);
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
    {.name = "backend",
     .kind = HPC_TEXT,
     .offset = offsetof(step_options, backend),
     .fallback = "cpu",
     .argument = "NAME",
     .help = "Device backend; `hpccoder info` lists them."},
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(step_options, isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports."},
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
