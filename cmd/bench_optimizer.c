/*
 * bench_optimizer.c: the command `bench optimizer`.
 */
#include "cmd/cmd.h"
#include "cmd/model_options.h"
#include "cmd/terminal.h"
#include "eval/bench/bench.h"

typedef struct optimizer_options {
    model_options model;
    hpc_texts optimizer;
    int64_t block, interval, rounds, threads;
    const char *halves;
    const char *isa, *device;
    bool json, quiet;
} optimizer_options;

typedef struct results {
    hpc_bench_optimizer_result *row;
    int n;
    double model_flops;
} results;

static void put_json(hpc_buf *out, const optimizer_options *o, const results *b)
{
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_int(&w, "block", o->block);
    hpc_json_put_int(&w, "tokens", o->model.sequences * o->model.length);
    hpc_json_put_real(&w, "model_flops", b->model_flops);
    hpc_json_open(&w, "optimizers", '[');
    for (int k = 0; k < b->n; k++) {
        const hpc_bench_optimizer_result *r = &b->row[k];
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "name", hpc_optimizer_names[r->kind]);
        hpc_json_put_int(&w, "interval", r->interval);
        hpc_json_put_real(&w, "apply_flops", r->cost.apply);
        hpc_json_put_real(&w, "refresh_flops", r->cost.refresh);
        hpc_json_put_real(&w, "state_bytes", r->cost.state_bytes);
        hpc_json_put_real(&w, "plain_ms", r->plain_ms);
        hpc_json_put_real(&w, "refresh_ms", r->refresh_ms);
        hpc_json_put_real(&w, "step_ms", r->step_ms);
        hpc_json_put_real(&w, "over_adamw", r->of_adamw);
        hpc_json_put_real(&w, "over_adamw_by_formula", r->by_formula);
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_table(hpc_buf *out, const optimizer_options *o, const results *b)
{
    static const hpc_column columns[] = {
        HPC_COLUMN_TEXT("optimizer"),  HPC_COLUMN_NUMBER("apply"),
        HPC_COLUMN_NUMBER("refresh"),  HPC_COLUMN_NUMBER("every"),
        HPC_COLUMN_NUMBER("plain ms"), HPC_COLUMN_NUMBER("refresh ms"),
        HPC_COLUMN_NUMBER("mean ms"),  HPC_COLUMN_NUMBER("of adamw"),
        HPC_COLUMN_NUMBER("formula")};
    hpc_table t = {.column = columns, .columns = sizeof columns / sizeof *columns};
    int64_t tokens = o->model.sequences * o->model.length;
    hpc_buf head = {0};
    hpc_buf_printf(&head, "blocks of %lld, %lld tokens per step, %.3g operations of the model\n\n",
                   (long long)o->block, (long long)tokens, b->model_flops);
    hpc_text_fill_take(out, &head, 2, hpc_cmd_table_columns());
    for (int k = 0; k < b->n; k++) {
        const hpc_bench_optimizer_result *r = &b->row[k];
        hpc_table_cell(&t, "%s", hpc_optimizer_names[r->kind]);
        hpc_table_cell(&t, "%.3g", r->cost.apply);
        hpc_table_cell(&t, "%.3g", r->cost.refresh);
        hpc_table_cell(&t, "%lld", (long long)(r->cost.refresh > 0 ? r->interval : 0));
        hpc_table_cell(&t, "%.1f", r->plain_ms);
        hpc_table_cell(&t, "%.1f", r->refresh_ms);
        hpc_table_cell(&t, "%.1f", r->step_ms);
        hpc_table_cell(&t, "%.3f", r->of_adamw);
        hpc_table_cell(&t, "%.3f", r->by_formula);
    }
    hpc_table_print(out, &t, hpc_cmd_table_columns());
}

static int run(void *options, int argc, char **argv)
{
    const optimizer_options *o = options;
    const model_options *m = &o->model;
    hpc_bench_optimizer_options b = {
        .model = {model_config_of(m), m->sequences, m->length},
        .optimizer = o->optimizer,
        .block = o->block,
        .interval = o->interval,
        .rounds = o->rounds,
        .round_bf16 = o->halves,
        .device = {.backend = o->device, .isa = o->isa, .threads = (int)o->threads}};
    results r = {0};
    hpc_progress progress;
    hpc_buf out = {0};
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    hpc_cmd_progress(&progress, o->quiet);
    int rc = hpc_bench_optimizer(&r.row, &r.n, &r.model_flops, &b, &progress);
    if (rc < 0) return rc;
    o->json ? put_json(&out, o, &r) : put_table(&out, o, &r);
    hpc_free(r.row);
    return hpc_cmd_print(&out);
}

static const hpc_option options[] = {
    {.name = "optimizer",
     .kind = HPC_TEXTS,
     .offset = offsetof(optimizer_options, optimizer),
     .argument = "NAME",
     .help = "Optimizer to measure, as in hpccoder train. Default: all."},
    {.name = "block",
     .kind = HPC_INT,
     .offset = offsetof(optimizer_options, block),
     .fallback = "256",
     .argument = "N",
     .least = 1,
     .most = 65536,
     .help = "Maximum number of rows of a preconditioner."},
    {.name = "round-bf16",
     .former = "halves",
     .kind = HPC_CHOICE,
     .offset = offsetof(optimizer_options, halves),
     .fallback = "auto",
     .choices = hpc_round_bf16_names,
     .help = "Products of the optimizer with operands rounded to bf16; see train."},
    {.name = "interval",
     .kind = HPC_INT,
     .offset = offsetof(optimizer_options, interval),
     .fallback = "0",
     .argument = "N",
     .least = 0,
     .most = 1e9,
     .help = "Steps between refreshes, for the average; 0: the default of the optimizer."},
    {.name = "rounds",
     .kind = HPC_INT,
     .offset = offsetof(optimizer_options, rounds),
     .fallback = "5",
     .argument = "N",
     .least = 1,
     .most = HPC_BENCH_ROUNDS,
     .help = "Measured steps of each kind per optimizer, after one warm-up step."},
    MODEL_OPTIONS(offsetof(optimizer_options, model)),
    HPC_CMD_THREADS(optimizer_options),
    HPC_CMD_DEVICE(optimizer_options, "backend"),
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(optimizer_options, isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports."},
    HPC_CMD_JSON(optimizer_options),
    HPC_CMD_QUIET(optimizer_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_bench_optimizer = {
    .name = "bench optimizer",
    .summary = "Benchmark the cost of optimizers in a training step.",
    .arguments = "",
    .description =
        "Runs training steps of one model with each optimizer on generated text. Reports the "
        "median time of a step without a refresh of preconditioners, of a refresh, and of an "
        "average step at --interval, relative to AdamW in the same run. Also reports the "
        "operations of update and refresh, from formulas, relative to those of the model.",
    .examples = "hpccoder bench optimizer --hidden 256 --layers 6 --heads 8 --kv-heads 8 --ffn 704 "
                "--length 256  # a model with seven million parameters\n"
                "hpccoder bench optimizer --optimizer jorge-newton --optimizer shampoo --json  # "
                "two optimizers",
    .options = options,
    .options_bytes = sizeof(optimizer_options),
    .run = run,
};
