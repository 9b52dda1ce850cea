/*
 * bench_decode.c: the command `bench decode`.
 */
#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "eval/bench/bench.h"

typedef struct decode_options {
    hpc_bench_decode_options b;
    const char *device;
    int64_t threads;
    bool json, peer;
} decode_options;

static void put_json(hpc_buf *out, const decode_options *o, const hpc_bench_decode_result *r)
{
    double rate = (double)o->b.tokens / r->tokens_s;
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "shape", o->b.shape);
    hpc_json_put_text(&w, "weights", o->b.weights);
    hpc_json_put_text(&w, "isa", r->isa);
    hpc_json_put_int(&w, "threads", r->threads);
    hpc_json_put_int(&w, "parameters", r->parameters);
    hpc_json_put_real(&w, "matrix_bytes", r->matrix_bytes);
    hpc_json_put_real(&w, "prompt_tokens_per_s", (double)o->b.prompt / r->prompt_s);
    hpc_json_put_real(&w, "prompt_fraction", r->prompt_floor_s / r->prompt_s);
    hpc_json_put_real(&w, "decode_tokens_per_s", rate);
    hpc_json_put_real(&w, "decode_gbs", rate * r->token_bytes * 1e-9);
    hpc_json_put_real(&w, "decode_fraction", rate * r->token_bytes / r->read);
    hpc_json_put_int(&w, "cache_bytes", (int64_t)r->cache_bytes);
    hpc_json_put_real(&w, "read_gbs", r->read * 1e-9);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

/* Memory bandwidth is no limit for a model that the caches hold in part. */
static void put_tokens(hpc_table *t, int64_t tokens, const hpc_bench_decode_result *r)
{
    double rate = (double)tokens / r->tokens_s, bytes = rate * r->token_bytes;
    hpc_table_cell(t, "decode of %lld", (long long)tokens);
    hpc_table_cell(t, "%.1f tokens/s", rate);
    if (r->cached)
        hpc_table_cell(t,
                       "%.1f GB/s, partly from caches of %.0f MiB; memory bandwidth is %.1f GB/s",
                       bytes * 1e-9, r->cache_bytes / 0x1p20, r->read * 1e-9);
    else
        hpc_table_cell(t, "%5.1f %% of memory bandwidth (%.1f GB/s)", 100 * bytes / r->read,
                       r->read * 1e-9);
}

static void put_text(hpc_buf *out, const decode_options *o, const hpc_bench_decode_result *r)
{
    static const hpc_column columns[] = {
        {.title = NULL}, {.right = true}, {.fit = HPC_FIT_WRAP, .least = 20}};
    hpc_table t = {.column = columns, .columns = sizeof columns / sizeof *columns};
    hpc_buf_printf(out, "%s, %s weights of %.1f MiB, %d threads, %s\n", o->b.shape, o->b.weights,
                   r->matrix_bytes / 0x1p20, r->threads, r->isa);
    hpc_table_cell(&t, "prompt of %lld", (long long)o->b.prompt);
    hpc_table_cell(&t, "%.1f tokens/s", (double)o->b.prompt / r->prompt_s);
    hpc_table_cell(&t, "%5.1f %% of the limit (%.0f GOP/s)", 100 * r->prompt_floor_s / r->prompt_s,
                   r->limit_rate * 1e-9);
    put_tokens(&t, o->b.tokens, r);
    hpc_table_print(out, &t, hpc_cmd_table_columns());
    if (o->peer)
        hpc_buf_printf(out,
                       "peer: python3 tests/bench/llama_decode.py --weights %s --shape "
                       "%s --prompt %lld --tokens %lld --threads %d\n",
                       o->b.weights, o->b.shape, (long long)o->b.prompt, (long long)o->b.tokens,
                       r->threads);
}

static int run(void *options, int argc, char **argv)
{
    decode_options *o = options;
    hpc_bench_decode_result r;
    hpc_progress progress;
    hpc_buf out = {0};
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    o->b.threads = o->threads;
    o->b.device = o->device;
    hpc_cmd_progress(&progress, false);
    int rc = hpc_bench_decode(&r, &o->b, &progress);
    if (rc < 0) return rc;
    o->json ? put_json(&out, o, &r) : put_text(&out, o, &r);
    return hpc_cmd_print(&out);
}

static const hpc_option options[] = {
    {.name = "shape",
     .kind = HPC_CHOICE,
     .offset = offsetof(decode_options, b.shape),
     .fallback = "134m",
     .argument = "NAME",
     .choices = hpc_bench_shapes,
     .help = "Model of the Llama shape: 134m (12 blocks of 768), 1.1b (22 blocks of 2048, 4 key "
             "and value heads), 5m (4 blocks of 256)."},
    {.name = "weights",
     .kind = HPC_CHOICE,
     .offset = offsetof(decode_options, b.weights),
     .fallback = "q8_0",
     .argument = "TYPE",
     .choices = hpc_bench_decode_weights,
     .help = "Type of all matrices; with a 4-bit type, embedding and head are q8_0."},
    {.name = "cache",
     .kind = HPC_CHOICE,
     .offset = offsetof(decode_options, b.cache),
     .fallback = "bf16",
     .argument = "TYPE",
     .choices = hpc_bench_caches,
     .help = "Type of the key-value cache."},
    {.name = "prompt",
     .kind = HPC_INT,
     .offset = offsetof(decode_options, b.prompt),
     .fallback = "512",
     .argument = "N",
     .least = 1,
     .most = 1 << 17,
     .help = "Tokens of the prompt, processed at once."},
    {.name = "tokens",
     .kind = HPC_INT,
     .offset = offsetof(decode_options, b.tokens),
     .fallback = "128",
     .argument = "N",
     .least = 1,
     .most = 1 << 17,
     .help = "Tokens to generate after the prompt, one by one."},
    {.name = "turns",
     .kind = HPC_INT,
     .offset = offsetof(decode_options, b.turns),
     .fallback = "3",
     .argument = "N",
     .least = 1,
     .most = 1000,
     .help = "Number of measured repetitions after one warm-up; results are medians."},
    HPC_CMD_DEVICE(decode_options, NULL),
    HPC_CMD_THREADS(decode_options),
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(decode_options, b.isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports. On CUDA, graphs=off "
             "launches every kernel by itself."},
    {.name = "save",
     .kind = HPC_TEXT,
     .offset = offsetof(decode_options, b.save),
     .argument = "FILE.gguf",
     .help = "Write the benchmarked model, to benchmark it with another program."},
    {.name = "peer",
     .kind = HPC_FLAG,
     .offset = offsetof(decode_options, peer),
     .help = "Print the command that benchmarks llama.cpp in alternation with this program."},
    HPC_CMD_JSON(decode_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_bench_decode = {
    .name = "bench decode",
    .summary = "Benchmark prompt processing and token generation.",
    .arguments = "",
    .description = "Emits an inference program with random weights in packed form, and runs it on "
                   "a prompt and then on single tokens. Reports tokens per second and the share of "
                   "the hardware limit, which the same run measures. For a prompt, the limit is "
                   "the rate of multiply-adds in registers. For single tokens, it is the memory "
                   "bandwidth for matrices, keys and values. A model smaller than twice the CPU's "
                   "caches is partly read from them; for it, only the rate is reported.",
    .examples = "hpccoder bench decode  # 134 M parameters in q8_0\n"
                "hpccoder bench decode --shape 1.1b --weights q4_K --threads 1\n"
                "hpccoder bench decode --tokens 1 --save 134m.gguf  # for llama-bench",
    .options = options,
    .options_bytes = sizeof(decode_options),
    .run = run,
};
