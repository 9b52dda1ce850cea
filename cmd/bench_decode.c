/*
 * bench_decode.c: tokens a second of a model that answers: a prompt, then one
 * token after the other, with weights drawn at random.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/probe.h"
#include "model/serve.h"
#include "runtime/program/run/run.h"

enum { PAGE = 16, DRAWN = 1 << 18 /* numbers of a matrix; then they repeat */ };

typedef struct decode_options {
    const char *shape, *weights, *cache, *isa, *save;
    int64_t prompt, tokens, turns, threads;
    bool json, peer;
} decode_options;

static const char *const shape_names[] = {"134m", "1.1b", "5m", NULL};
static const char *const weight_names[] = {"f32",  "bf16", "f16",  "q8_0", "q4_0",
                                           "q4_K", "q5_K", "q6_K", NULL};
static const char *const cache_names[] = {"f32", "bf16", NULL};

static hpc_model_config config_of(const decode_options *o)
{
    static const struct {
        int64_t vocab, hidden, layers, heads, kv_heads, ffn;
    } shape[] = {
        {32000, 768, 12, 12, 12, 2048}, {32000, 2048, 22, 32, 4, 5632}, {8192, 256, 4, 4, 4, 768}};
    int k = 0;
    while (shape_names[k + 1] && strcmp(shape_names[k], o->shape) != 0) k++;
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = shape[k].vocab;
    c.hidden = shape[k].hidden;
    c.layers = shape[k].layers;
    c.heads = shape[k].heads;
    c.kv_heads = shape[k].kv_heads;
    c.ffn = shape[k].ffn;
    c.positions = o->prompt + o->tokens;
    return c;
}

/* ---- the model ------------------------------------------------------------------------------ */

typedef struct bench {
    const decode_options *o;
    hpc_model_config c;
    hpc_dtype weights;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_probe *probe;
    hpc_limits limits;
    hpc_serve_io io;
    double matrix_bytes; /* of what a token multiplies with */
    double *prompt_s, *token_s;
} bench;

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    const bench *b = user;
    return hpc_serve_dtype(t, b->weights);
}

static int64_t elements(const hpc_model_tensor *t)
{
    return t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
}

/* Plain bytes of a tensor whose first numbers are drawn and then repeated, in whole rows. */
static int plain_of(void **out, const hpc_model_tensor *t, hpc_dtype d)
{
    const hpc_dtype_info *info = hpc_dtype_get(d);
    int64_t n = elements(t), cols = t->extent[t->rank - 1];
    int64_t some = DRAWN / cols * cols < n ? DRAWN / cols * cols : n;
    size_t bytes = (size_t)(some / info->block) * info->block_bytes;
    size_t all = (size_t)(n / info->block) * info->block_bytes;
    float *x = hpc_alloc((size_t)some, sizeof *x);
    uint8_t *plain = hpc_alloc(all, 1);
    if (x && plain) {
        hpc_model_init(x, t, 0, some, 1);
        hpc_from_f32(plain, d, x, some);
        for (size_t at = bytes; at < all; at += bytes)
            memcpy(plain + at, plain, all - at < bytes ? all - at : bytes);
    }
    hpc_free(x);
    if (!x) hpc_free(plain), plain = NULL;
    *out = plain;
    return plain ? HPC_OK : HPC_E_NOMEM;
}

static int write_tensor(bench *b, const hpc_model_tensor *t)
{
    hpc_value v = hpc_program_find(b->p, t->name);
    const hpc_type *type = &b->p->value[v].type;
    void *plain = NULL, *panels = NULL;
    int rc;
    TRY(plain_of(&plain, t, (hpc_dtype)type->dtype));
    if (type->pack == HPC_PANEL16) {
        panels = hpc_alloc(hpc_type_bytes(type), 1);
        if (!panels) TRY(HPC_E_NOMEM);
        hpc_panel16(panels, plain, (hpc_dtype)type->dtype, t->extent[0], t->extent[1]);
        b->matrix_bytes += (double)hpc_type_bytes(type);
    }
    TRY(hpc_exec_write(b->e, 0, v, panels ? panels : plain, hpc_type_bytes(type)));
out:
    hpc_free(plain);
    hpc_free(panels);
    return rc;
}

static int write_parameters(bench *b)
{
    hpc_model_tensor *all = NULL;
    float freq[256];
    int64_t n = 0;
    int rc;
    TRY(hpc_model_tensors(&all, &n, &b->c));
    for (int64_t k = 0; k < n; k++) TRY(write_tensor(b, &all[k]));
    hpc_rope_frequencies(freq, &b->c);
    TRY(hpc_exec_write(b->e, 0, b->io.freq, freq,
                       (size_t)hpc_rope_frequencies_n(&b->c) * sizeof *freq));
out:
    hpc_free(all);
    return rc;
}

/* All of t, the same numbers. */
static int drawn(float *out, const hpc_model_tensor *t, void *user)
{
    int64_t n = elements(t), cols = t->extent[t->rank - 1];
    int64_t some = DRAWN / cols * cols < n ? DRAWN / cols * cols : n;
    (void)user;
    hpc_model_init(out, t, 0, some, 1);
    for (int64_t at = some; at < n; at += some)
        memcpy(out + at, out, (size_t)(n - at < some ? n - at : some) * sizeof *out);
    return HPC_OK;
}

static int open_bench(bench *b)
{
    const decode_options *o = b->o;
    hpc_device_options device = {.isa = o->isa, .threads = (int)o->threads};
    int64_t pages = (o->prompt + o->tokens + PAGE - 1) / PAGE;
    hpc_serve_emission e = {.tokens = o->prompt,
                            .sequences = 1,
                            .outputs = 1,
                            .pages = pages,
                            .page = PAGE,
                            .sequence_pages = pages,
                            .dtype = type_of,
                            .user = b};
    int rc;
    b->c = config_of(o);
    TRY(hpc_dtype_find(&b->weights, o->weights));
    if (o->save) {
        hpc_gguf_options gguf = {.dtype = b->weights, .name = o->shape, .read = drawn};
        TRY(hpc_weights_save_gguf(o->save, &b->c, &gguf));
    }
    TRY(hpc_dtype_find(&e.cache, o->cache));
    b->p = hpc_program_create();
    if (!b->p) TRY(HPC_E_NOMEM);
    TRY(hpc_serve_emit(&b->io, b->p, &b->c, &e));
    TRY(hpc_device_open(&b->d, &device));
    TRY(hpc_exec_open(&b->e, b->p, b->d, NULL, NULL));
    TRY(write_parameters(b));
    TRY(hpc_probe_open(&b->probe, b->d, 0.2));
    b->prompt_s = hpc_alloc((size_t)o->turns, sizeof *b->prompt_s);
    b->token_s = hpc_alloc((size_t)o->turns, sizeof *b->token_s);
    if (!b->prompt_s || !b->token_s) TRY(HPC_E_NOMEM);
out:
    return rc;
}

static void close_bench(bench *b)
{
    hpc_free(b->prompt_s);
    hpc_free(b->token_s);
    hpc_probe_close(b->probe);
    hpc_exec_close(b->e);
    hpc_device_close(b->d);
    hpc_program_free(b->p);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static int put_all(const bench *b, hpc_value v, int32_t first, int32_t step)
{
    const hpc_type *t = &b->p->value[v].type;
    size_t bytes = hpc_type_bytes(t);
    int32_t *x = hpc_alloc(bytes / sizeof *x, sizeof *x);
    if (!x) return HPC_E_NOMEM;
    for (size_t k = 0; k < bytes / sizeof *x; k++) x[k] = first + (int32_t)k * step;
    int rc = hpc_exec_write(b->e, 0, v, x, bytes);
    hpc_free(x);
    return rc;
}

/* n tokens behind `past` others. */
static int run_tokens(const bench *b, int64_t past, int64_t n)
{
    const hpc_serve_io *io = &b->io;
    int32_t start[2] = {0, (int32_t)n};
    int rc;
    TRY(put_all(b, io->tokens, (int32_t)(past % b->c.vocab), 0));
    TRY(put_all(b, io->pos, (int32_t)past, 1));
    TRY(put_all(b, io->slot, (int32_t)past, 1));
    TRY(put_all(b, io->tokens_n, (int32_t)n, 0));
    TRY(put_all(b, io->start_n, 2, 0));
    TRY(put_all(b, io->len, (int32_t)(past + n), 0));
    TRY(put_all(b, io->pages, 0, 1));
    TRY(put_all(b, io->output, (int32_t)n - 1, 0));
    TRY(put_all(b, io->output_n, 1, 0));
    TRY(hpc_exec_write(b->e, 0, io->start, start, sizeof start));
    TRY(hpc_exec_run(b->e, io->decode, 0));
out:
    return rc;
}

static int take_turn(bench *b, int64_t turn)
{
    const decode_options *o = b->o;
    hpc_limits now;
    int rc;
    TRY(hpc_probe_limits(&now, b->probe));
    b->limits.f32 = fmax(b->limits.f32, now.f32);
    b->limits.bf16 = fmax(b->limits.bf16, now.bf16);
    b->limits.i8 = fmax(b->limits.i8, now.i8);
    b->limits.read = fmax(b->limits.read, now.read);
    int64_t start = hpc_clock_ns();
    TRY(run_tokens(b, 0, o->prompt));
    int64_t middle = hpc_clock_ns();
    for (int64_t k = 0; k < o->tokens; k++) TRY(run_tokens(b, o->prompt + k, 1));
    if (turn < 0) return HPC_OK;
    b->prompt_s[turn] = (double)(middle - start) * 1e-9;
    b->token_s[turn] = (double)(hpc_clock_ns() - middle) * 1e-9;
out:
    return rc;
}

/* ---- what is told --------------------------------------------------------------------------- */

/* Bytes that a token reads at the least: matrices, and the keys and values before it. */
static double token_bytes(const bench *b)
{
    int64_t d = hpc_model_config_head_dim(&b->c), width = b->c.kv_heads * d;
    double before = (double)b->o->prompt + (double)b->o->tokens / 2;
    double size = strcmp(b->o->cache, "f32") == 0 ? 4 : 2;
    return b->matrix_bytes + 2 * size * before * (double)(b->c.layers * width);
}

static double prompt_flops(const bench *b)
{
    int64_t head = b->c.vocab * b->c.hidden, d = hpc_model_config_head_dim(&b->c);
    double n = (double)b->o->prompt;
    double all = (double)(hpc_model_config_params(&b->c) - 2 * head);
    return 2 * n * all + 2 * (double)head + 2 * n * n * (double)(b->c.layers * b->c.heads * d);
}

/* The caches may keep half of what a token reads: the rate of memory is then no limit. */
static bool is_cached(const bench *b)
{
    return token_bytes(b) < 2 * (double)hpc_probe_cache_bytes();
}

static void put_decode(hpc_buf *out, const bench *b, double rate)
{
    double bytes = rate * token_bytes(b);
    hpc_buf_printf(out, "decode of %lld  %9.1f tokens/s  ", (long long)b->o->tokens, rate);
    if (is_cached(b))
        hpc_buf_printf(
            out, "%.1f GB/s, partly from caches of %.0f MiB; memory bandwidth is %.1f GB/s\n",
            bytes * 1e-9, (double)hpc_probe_cache_bytes() / 0x1p20, b->limits.read * 1e-9);
    else
        hpc_buf_printf(out, "%5.1f %% of memory bandwidth (%.1f GB/s)\n",
                       100 * bytes / b->limits.read, b->limits.read * 1e-9);
}

/* The rate of the unit that multiplies such weights. */
static double rate_of(const bench *b)
{
    const hpc_limits *l = &b->limits;
    if (hpc_dtype_get(b->weights)->quantised) return l->i8 > 0 ? l->i8 : l->f32;
    return b->weights == HPC_BF16 ? fmax(l->bf16, l->f32) : l->f32;
}

static int report(bench *b)
{
    const decode_options *o = b->o;
    double prompt = hpc_cmd_median(b->prompt_s, o->turns),
           tokens = hpc_cmd_median(b->token_s, o->turns);
    double floor = prompt_flops(b) / rate_of(b), bytes = token_bytes(b);
    double prompt_rate = (double)o->prompt / prompt, rate = (double)o->tokens / tokens;
    hpc_buf out = {0};
    if (o->json) {
        hpc_json_out w = {.buf = &out};
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "shape", o->shape);
        hpc_json_put_text(&w, "weights", o->weights);
        hpc_json_put_text(&w, "isa", hpc_device_about(b->d).isa);
        hpc_json_put_int(&w, "threads", hpc_device_about(b->d).threads);
        hpc_json_put_int(&w, "parameters", hpc_model_config_params(&b->c));
        hpc_json_put_real(&w, "matrix_bytes", b->matrix_bytes);
        hpc_json_put_real(&w, "prompt_tokens_per_s", prompt_rate);
        hpc_json_put_real(&w, "prompt_fraction", floor / prompt);
        hpc_json_put_real(&w, "decode_tokens_per_s", rate);
        hpc_json_put_real(&w, "decode_gbs", rate * bytes * 1e-9);
        hpc_json_put_real(&w, "decode_fraction", rate * bytes / b->limits.read);
        hpc_json_put_int(&w, "cache_bytes", (int64_t)hpc_probe_cache_bytes());
        hpc_json_put_real(&w, "read_gbs", b->limits.read * 1e-9);
        hpc_json_close(&w, '}');
        hpc_buf_text(&out, "\n");
        return hpc_cmd_print(&out);
    }
    hpc_buf_printf(&out, "%s, %s weights of %.1f MiB, %d threads, %s\n", o->shape, o->weights,
                   b->matrix_bytes / 0x1p20, hpc_device_about(b->d).threads,
                   hpc_device_about(b->d).isa);
    hpc_buf_printf(&out, "prompt of %lld  %9.1f tokens/s  %5.1f %% of the limit (%.0f GOP/s)\n",
                   (long long)o->prompt, prompt_rate, 100 * floor / prompt, rate_of(b) * 1e-9);
    put_decode(&out, b, rate);
    if (o->peer)
        hpc_buf_printf(&out,
                       "peer              python3 tests/bench/llama_decode.py --weights %s --shape "
                       "%s --prompt %lld --tokens %lld --threads %d\n",
                       o->weights, o->shape, (long long)o->prompt, (long long)o->tokens,
                       hpc_device_about(b->d).threads);
    return hpc_cmd_print(&out);
}

static int run(void *options, int argc, char **argv)
{
    bench b = {.o = options};
    int rc;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    TRY(open_bench(&b));
    for (int64_t k = -1; k < b.o->turns; k++) TRY(take_turn(&b, k));
    TRY(report(&b));
out:
    close_bench(&b);
    return rc;
}

static const hpc_option options[] = {
    {.name = "shape",
     .kind = HPC_CHOICE,
     .offset = offsetof(decode_options, shape),
     .fallback = "134m",
     .argument = "NAME",
     .choices = shape_names,
     .help = "Model of the Llama shape: 134m (12 blocks of 768), 1.1b (22 blocks of 2048, 4 key "
             "and value heads), 5m (4 blocks of 256)."},
    {.name = "weights",
     .kind = HPC_CHOICE,
     .offset = offsetof(decode_options, weights),
     .fallback = "q8_0",
     .argument = "TYPE",
     .choices = weight_names,
     .help = "Type of all matrices; with a 4-bit type, embedding and head are q8_0."},
    {.name = "cache",
     .kind = HPC_CHOICE,
     .offset = offsetof(decode_options, cache),
     .fallback = "bf16",
     .argument = "TYPE",
     .choices = cache_names,
     .help = "Type of the key-value cache."},
    {.name = "prompt",
     .kind = HPC_INT,
     .offset = offsetof(decode_options, prompt),
     .fallback = "512",
     .argument = "N",
     .least = 1,
     .most = 1 << 17,
     .help = "Tokens of the prompt, processed at once."},
    {.name = "tokens",
     .kind = HPC_INT,
     .offset = offsetof(decode_options, tokens),
     .fallback = "128",
     .argument = "N",
     .least = 1,
     .most = 1 << 17,
     .help = "Tokens to generate after the prompt, one by one."},
    {.name = "turns",
     .kind = HPC_INT,
     .offset = offsetof(decode_options, turns),
     .fallback = "3",
     .argument = "N",
     .least = 1,
     .most = 1000,
     .help = "Number of measured repetitions after one warm-up; results are medians."},
    HPC_CMD_THREADS(decode_options),
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(decode_options, isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports."},
    {.name = "save",
     .kind = HPC_TEXT,
     .offset = offsetof(decode_options, save),
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
