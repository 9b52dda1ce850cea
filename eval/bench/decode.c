/*
 * decode.c: the decode benchmark: a prompt, then single tokens, with random packed weights.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/bench/bench.h"
#include "model/serve.h"
#include "runtime/program/run/run.h"

enum { PAGE = 16, DRAWN = 1 << 18 /* numbers of a matrix; then they repeat */ };

const char *const hpc_bench_shapes[] = {"134m", "1.1b", "5m", NULL};
const char *const hpc_bench_decode_weights[] = {"f32",  "bf16",   "f16",    "q8_0", "q4_0", "q4_K",
                                                "q5_K", "q6_K",   "q4_1",   "q5_0", "q5_1", "q2_K",
                                                "q3_K", "iq4_nl", "iq4_xs", NULL};
const char *const hpc_bench_caches[] = {"f32", "bf16", NULL};

static hpc_model_config config_of(const hpc_bench_decode_options *o)
{
    static const struct {
        int64_t vocab, hidden, layers, heads, kv_heads, ffn;
    } shape[] = {
        {32000, 768, 12, 12, 12, 2048}, {32000, 2048, 22, 32, 4, 5632}, {8192, 256, 4, 4, 4, 768}};
    int k = 0;
    while (hpc_bench_shapes[k + 1] && strcmp(hpc_bench_shapes[k], o->shape) != 0) k++;
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
    const hpc_bench_decode_options *o;
    hpc_model_config c;
    hpc_dtype weights;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_probe *probe;
    hpc_limits limits;
    hpc_serve_io io;
    double matrix_bytes; /* of all packed matrices */
    double *prompt_s, *token_s;
} bench;

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    const bench *b = user;
    return hpc_serve_dtype(t, b->weights);
}

static int64_t elements(const hpc_model_tensor *t)
{
    return hpc_model_tensor_n(t);
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
    if (type->pack != HPC_PLAIN) {
        panels = hpc_alloc(hpc_type_bytes(type), 1);
        if (!panels) TRY(HPC_E_NOMEM);
        const int64_t k = t->extent[t->rank - 1], rows = elements(t) / k;
        if (type->pack == HPC_PLANES)
            hpc_planes(panels, rows, 0, plain, (hpc_dtype)type->dtype, rows, k);
        else
            hpc_panel16(panels, plain, (hpc_dtype)type->dtype, t->extent[0], t->extent[1]);
    }
    if (panels || t->role == HPC_ROLE_MATRIX || t->part == HPC_PART_HEAD)
        b->matrix_bytes += (double)hpc_type_bytes(type);
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
    const hpc_bench_decode_options *o = b->o;
    hpc_device_options device = {.backend = o->device, .isa = o->isa, .threads = (int)o->threads};
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
    TRY(hpc_device_open(&b->d, &device));
    b->c.dtype = hpc_device_about(b->d).activations;
    e.device = b->d;
    b->p = hpc_program_create();
    if (!b->p) TRY(HPC_E_NOMEM);
    TRY(hpc_serve_emit(&b->io, b->p, &b->c, &e));
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

/* n tokens after `past` others. */
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
    const hpc_bench_decode_options *o = b->o;
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

/* ---- limits --------------------------------------------------------------------------------- */

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

/* The rate of the unit that multiplies such weights. */
static double rate_of(const bench *b)
{
    const hpc_limits *l = &b->limits;
    if (hpc_dtype_get(b->weights)->quantised) return l->i8 > 0 ? l->i8 : l->f32;
    return b->weights == HPC_BF16 ? fmax(l->bf16, l->f32) : l->f32;
}

static void summarize(hpc_bench_decode_result *r, bench *b)
{
    hpc_device_info about = hpc_device_about(b->d);
    *r = (hpc_bench_decode_result){.isa = about.isa,
                                   .threads = about.threads,
                                   .parameters = hpc_model_config_params(&b->c),
                                   .matrix_bytes = b->matrix_bytes,
                                   .prompt_s = hpc_bench_median(b->prompt_s, b->o->turns),
                                   .tokens_s = hpc_bench_median(b->token_s, b->o->turns),
                                   .prompt_floor_s = prompt_flops(b) / rate_of(b),
                                   .token_bytes = token_bytes(b),
                                   .limit_rate = rate_of(b),
                                   .read = b->limits.read,
                                   .cache_bytes = (double)hpc_probe_cache_bytes()};
    r->cached = r->token_bytes < 2 * r->cache_bytes;
}

int hpc_bench_decode(hpc_bench_decode_result *out, const hpc_bench_decode_options *o,
                     hpc_progress *progress)
{
    bench b = {.o = o};
    int rc;
    hpc_progress_start(progress, "bench decode", "turns", o->turns + 1);
    hpc_progress_update(progress, 0, "preparing");
    TRY(open_bench(&b));
    for (int64_t k = -1; k < o->turns; k++) {
        TRY(take_turn(&b, k));
        hpc_progress_update(progress, k + 2, NULL);
    }
    summarize(out, &b);
out:
    hpc_progress_clear(progress);
    close_bench(&b);
    return rc;
}
