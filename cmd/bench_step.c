/*
 * bench_step.c: whole training steps on generated text: loss, time, rate.
 *
 * It is no trainer: bytes are the tokens, nothing is saved.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/model_options.h"
#include "runtime/program/run/run.h"

typedef struct step_options {
    model_options model;
    int64_t steps, threads;
    double lr;
    const char *isa, *backend;
    bool json, demo;
} step_options;

typedef struct trainer {
    const step_options *o;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_training io;
    int64_t tokens;
    int32_t *text, *pos, *start;
    float *real;
} trainer;

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

static void make_text(trainer *t, uint64_t step)
{
    char line[160];
    int used = 0, n = 0;
    uint64_t at = step * 100000;
    for (int64_t k = 0; k <= t->tokens; k++) {
        if (used == n) {
            n = loop_line(line, sizeof line, at++);
            used = 0;
        }
        t->text[k] = (int32_t)((unsigned char)line[used++] % t->o->model.vocab);
    }
}

static int write_parameters(trainer *t)
{
    int rc = HPC_OK;
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        size_t bytes = hpc_type_bytes(&t->p->value[v].type);
        if (!t->p->value[v].trainable) continue;
        float *data = hpc_alloc(bytes ? bytes : 1, 1);
        if (!data) TRY(HPC_E_NOMEM);
        rc = hpc_model_init(data, t->p, v, 1);
        if (rc >= 0) rc = hpc_exec_write(t->e, 0, v, data, bytes);
        hpc_free(data);
        TRY(rc);
    }
out:
    return rc;
}

static int write_constants(trainer *t)
{
    const model_options *m = &t->o->model;
    int64_t d = m->hidden / m->heads;
    int32_t n = (int32_t)m->sequences + 1;
    int rc = HPC_OK;
    for (int64_t k = 0; k < t->tokens; k++) {
        t->pos[k] = (int32_t)(k % m->length);
        t->real[k] = 1.0f / (float)t->tokens;
    }
    for (int32_t s = 0; s < n; s++) t->start[s] = s * (int32_t)m->length;
    TRY(hpc_exec_write(t->e, 0, t->io.pos, t->pos, (size_t)t->tokens * 4));
    TRY(hpc_exec_write(t->e, 0, t->io.weight, t->real, (size_t)t->tokens * 4));
    TRY(hpc_exec_write(t->e, 0, t->io.start_n, &n, sizeof n));
    TRY(hpc_exec_write(t->e, 0, t->io.start, t->start, (size_t)n * 4));
    hpc_rope_frequencies(t->real, d, 10000);
    TRY(hpc_exec_write(t->e, 0, t->io.freq, t->real, (size_t)d / 2 * 4));
    TRY(write_parameters(t));
out:
    return rc;
}

static int open_trainer(trainer *t)
{
    const step_options *o = t->o;
    hpc_model_config c = model_config_of(&o->model);
    hpc_optimizer_config opt = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    hpc_device_options dev = {.backend = o->backend, .isa = o->isa, .threads = (int)o->threads};
    int rc = HPC_OK;
    t->tokens = o->model.sequences * o->model.length;
    size_t n = (size_t)t->tokens + (size_t)c.hidden + 2;
    t->text = hpc_alloc(n, sizeof *t->text);
    t->pos = hpc_alloc(n, sizeof *t->pos);
    t->start = hpc_alloc(n, sizeof *t->start);
    t->real = hpc_alloc(n, sizeof *t->real);
    t->p = hpc_program_create();
    if (!t->text || !t->pos || !t->start || !t->real || !t->p) TRY(HPC_E_NOMEM);
    TRY(hpc_model_emit_training(&t->io, t->p, &c, &opt, t->tokens, o->model.sequences));
    TRY(hpc_device_open(&t->d, &dev));
    TRY(hpc_exec_open(&t->e, t->p, t->d, NULL, NULL));
    TRY(write_constants(t));
out:
    return rc;
}

static void close_trainer(trainer *t)
{
    hpc_exec_close(t->e);
    hpc_device_close(t->d);
    hpc_program_free(t->p);
    hpc_free(t->text);
    hpc_free(t->pos);
    hpc_free(t->start);
    hpc_free(t->real);
}

static int train_step(trainer *t, int64_t step, double *loss)
{
    int rc = HPC_OK;
    float lr = (float)t->o->lr;
    int32_t number = (int32_t)step + 1;
    size_t bytes = (size_t)t->tokens * 4;
    make_text(t, (uint64_t)step);
    TRY(hpc_exec_write(t->e, 0, t->io.tokens, t->text, bytes));
    TRY(hpc_exec_write(t->e, 0, t->io.targets, t->text + 1, bytes));
    TRY(hpc_exec_write(t->e, 0, t->io.lr, &lr, sizeof lr));
    TRY(hpc_exec_write(t->e, 0, t->io.step, &number, sizeof number));
    TRY(hpc_exec_run(t->e, t->io.forward, 0));
    TRY(hpc_exec_run(t->e, t->io.backward, 0));
    TRY(hpc_exec_run(t->e, t->io.update, 0));
    TRY(hpc_exec_read(t->e, 0, t->io.loss, t->real, bytes));
    *loss = 0;
    for (int64_t k = 0; k < t->tokens; k++) *loss += t->real[k] / (double)t->tokens;
out:
    return rc;
}

static int put_step(const trainer *t, int64_t step, double loss, int64_t ns, double flops)
{
    hpc_buf out = {0};
    double seconds = (double)ns * 1e-9;
    if (t->o->json) {
        hpc_json_out w = {.buf = &out};
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_int(&w, "step", step);
        hpc_json_put_real(&w, "loss", loss);
        hpc_json_put_real(&w, "step_ms", seconds * 1e3);
        hpc_json_put_real(&w, "tokens_per_s", (double)t->tokens / seconds);
        hpc_json_put_real(&w, "gflops", flops / seconds * 1e-9);
        hpc_json_close(&w, '}');
        hpc_buf_text(&out, "\n");
    } else {
        hpc_buf_printf(&out, "step %4lld  loss %7.4f  %7.2f ms  %8.0f tokens/s  %6.1f GFLOP/s\n",
                       (long long)step, loss, seconds * 1e3, (double)t->tokens / seconds,
                       flops / seconds * 1e-9);
    }
    return hpc_cmd_print(&out);
}

static int train(trainer *t)
{
    int rc = HPC_OK;
    double flops = 0, loss = 0;
    for (int s = 0; s < t->p->segment_n; s++) flops += hpc_exec_stats_of(t->e, s).flops;
    int64_t shown = t->o->steps > 20 ? t->o->steps / 10 : 1;
    for (int64_t k = 0; k < t->o->steps; k++) {
        int64_t start = hpc_clock_ns();
        TRY(train_step(t, k, &loss));
        if (k % shown == 0 || k + 1 == t->o->steps)
            TRY(put_step(t, k, loss, hpc_clock_ns() - start, flops));
    }
out:
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    trainer t = {.o = options};
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    if (t.o->demo && !t.o->json)
        printf(
            "Completion is not there yet. This is the engine under it: a small transformer of the\n"
            "Llama shape learns, from its own generated text of HPC loops, on your CPU.\n\n");
    TRY(open_trainer(&t));
    TRY(train(&t));
out:
    close_trainer(&t);
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
     .help = "Learning rate of AdamW."},
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
     .help = "Instruction set; the best that this CPU runs if not given."},
    HPC_CMD_JSON(step_options),
    {.name = "demo",
     .kind = HPC_FLAG,
     .offset = offsetof(step_options, demo),
     .help = "Say first what is being shown."},
    {.name = NULL},
};

const hpc_command hpc_cmd_bench_step = {
    .name = "bench step",
    .summary = "time whole training steps of a small transformer",
    .arguments = "",
    .description =
        "Emits, differentiates, places and runs training steps of a transformer of the Llama shape "
        "in f32 on generated text, bytes as tokens, with AdamW, and reports the loss, the time of "
        "a step and the rate. GFLOP/s counts products and attention by the op table. --json prints "
        "an object for each step.",
    .examples = "hpccoder bench step --steps 100  # the small default model\n"
                "hpccoder bench step --hidden 256 --layers 4 --ffn 704 --json  # for scripts",
    .options = options,
    .options_bytes = sizeof(step_options),
    .run = run,
};
