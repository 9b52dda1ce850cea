/*
 * bench_op.c: each op of the table by itself: time, fraction of what the
 * machine allows, error against the reference, and other people's products
 * beside ours. This file reads the options and chooses the cases.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bench_op.h"

enum { EXTENT_MOST = 1 << 24 };

/* What was asked for, beyond names. */
typedef struct request {
    const hpc_bench_options *o;
    int64_t shape[BENCH_EXTENTS];
    int extent_n; /* 0: each case's own */
    bool typed;   /* elements were asked for */
    hpc_dtype dtype, weights;
} request;

/* ---- reading the request -------------------------------------------------------------------- */

static int read_shape(request *q)
{
    const char *text = q->o->shape, *at = text;
    if (!text) return HPC_OK;
    if (q->o->op.n == 0) return hpc_fail(HPC_E_ARG, "--shape needs --op");
    do {
        char *end;
        errno = 0;
        long long n = strtoll(at, &end, 10);
        if (end == at || (*end && *end != ',') || errno || n < 1 || n > EXTENT_MOST)
            return hpc_fail(HPC_E_ARG,
                            "--shape %s: expected integers from 1 to %d, separated by commas", text,
                            EXTENT_MOST);
        if (q->extent_n == BENCH_EXTENTS)
            return hpc_fail(HPC_E_ARG, "--shape %s: no op takes more than %d extents", text,
                            BENCH_EXTENTS);
        q->shape[q->extent_n++] = n;
        at = *end ? end + 1 : NULL;
    } while (at);
    return HPC_OK;
}

static int read_types(request *q)
{
    int rc = HPC_OK;
    q->typed = q->o->dtype || q->o->weights;
    if (q->o->dtype) TRY(hpc_dtype_find(&q->dtype, q->o->dtype));
    q->weights = q->dtype;
    if (q->o->weights) TRY(hpc_dtype_find(&q->weights, q->o->weights));
out:
    return rc;
}

static int check_names(const hpc_texts *names)
{
    for (int64_t k = 0; k < names->n; k++) {
        const hpc_bench_case *c = hpc_bench_cases;
        while (c->op && strcmp(c->op->sig.name, names->item[k]) != 0) c++;
        if (c->op) continue;
        hpc_buf known = {0};
        for (c = hpc_bench_cases; c->op; c++)
            if (c == hpc_bench_cases || c[-1].op != c->op)
                hpc_buf_printf(&known, "%s%s", known.n ? ", " : "", c->op->sig.name);
        int rc = hpc_fail(HPC_E_ARG, "no op '%s' can be measured; these can: %s", names->item[k],
                          known.data ? known.data : "");
        hpc_buf_release(&known);
        return rc;
    }
    return HPC_OK;
}

/* ---- choosing cases ------------------------------------------------------------------------- */

static bool named(const hpc_texts *names, const hpc_op *op)
{
    for (int64_t k = 0; k < names->n; k++)
        if (strcmp(names->item[k], op->sig.name) == 0) return true;
    return names->n == 0;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether the table has, before c, one that a given shape, or given attributes, make the same. */
static bool repeats_earlier(const hpc_bench_case *c, const request *q)
{
    if (q->extent_n == 0 && q->o->attr.n == 0) return false;
    for (const hpc_bench_case *d = hpc_bench_cases; d < c; d++)
        if (d->op == c->op && !d->extra && strcmp(d->extents, c->extents) == 0 &&
            (q->o->attr.n > 0 || same_text(d->attr, c->attr)))
            return true;
    return false;
}

static bool is_meant(const hpc_bench_case *c, const request *q)
{
    if (!named(&q->o->op, c->op)) return false;
    bool sums = c->op == &hpc_op_matmul && !(c->attr && strstr(c->attr, "act="));
    if (q->dtype == HPC_I8 && !sums) return false;
    if (q->extent_n > 0 && q->extent_n != hpc_bench_extent_n(c)) return false;
    if (c->extra && (q->typed || q->extent_n > 0 || q->o->attr.n > 0)) return false;
    if (q->weights != q->dtype && !c->weighs) return false;
    return !repeats_earlier(c, q);
}

/* Whether "NAME=VALUE" and "NAME", which may end at a blank, speak of the same attribute. */
static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "= ");
    return n == strcspn(b, "= ") && memcmp(a, b, n) == 0;
}

static int add_word(char out[BENCH_TEXT], const char *word, size_t n)
{
    size_t used = strlen(out);
    if (used + n + 2 > BENCH_TEXT) return hpc_fail(HPC_E_ARG, "too many attributes");
    if (used > 0) out[used++] = ' ';
    memcpy(out + used, word, n);
    out[used + n] = '\0';
    return HPC_OK;
}

/* The attributes that tell this job from others: the case's, unless asked for otherwise. */
static int describe(hpc_bench_job *j, const hpc_texts *asked)
{
    int rc = HPC_OK;
    for (const char *at = j->c->attr; at && *at;) {
        size_t n = strcspn(at, " ");
        bool replaced = false;
        for (int64_t k = 0; k < asked->n; k++) replaced = replaced || same_name(asked->item[k], at);
        if (!replaced) TRY(add_word(j->attr_text, at, n));
        at += n + strspn(at + n, " ");
    }
    for (int64_t k = 0; k < asked->n; k++)
        TRY(add_word(j->attr_text, asked->item[k], strlen(asked->item[k])));
out:
    return rc;
}

static int make_job(hpc_bench_job *j, const hpc_bench_case *c, const request *q)
{
    int rc = HPC_OK;
    j->c = c;
    j->extent_n = hpc_bench_extent_n(c);
    memcpy(j->shape, q->extent_n > 0 ? q->shape : c->shape, sizeof j->shape);
    j->dtype = q->typed ? q->dtype : c->dtype;
    j->weights = q->typed ? q->weights : c->weights;
    j->packed = c->packed || (q->o->weights && c->weighs);
    hpc_assert(c->op->sig.attr_bytes <= sizeof j->attr);
    if (c->base) memcpy(j->attr, c->base, c->op->sig.attr_bytes);
    TRY(hpc_bench_attr_texts(j->attr, c->op, c->attr));
    for (int64_t k = 0; k < q->o->attr.n; k++)
        TRY(hpc_bench_attr_set(j->attr, c->op, q->o->attr.item[k]));
    TRY(describe(j, &q->o->attr));
out:
    return rc;
}

/* "matmul takes M,K,N or B,M,K,N" */
static int nothing_meant(const char *name, const request *q)
{
    hpc_buf text = {0};
    bool fits = false;
    if (q->dtype == HPC_I8)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s does not support i8; plain products (matmul) do",
                        name);
    for (const hpc_bench_case *c = hpc_bench_cases; c->op; c++) {
        if (strcmp(c->op->sig.name, name) != 0) continue;
        fits = fits || q->extent_n == 0 || q->extent_n == hpc_bench_extent_n(c);
        if (c > hpc_bench_cases && c[-1].op == c->op && strcmp(c[-1].extents, c->extents) == 0)
            continue;
        if (text.data && strstr(text.data, c->extents)) continue;
        hpc_buf_printf(&text, "%s%s", text.n ? " or " : "", c->extents);
    }
    const char *extents = text.data && text.data[0] ? text.data : "no shape";
    int rc = fits ? hpc_fail(HPC_E_UNSUPPORTED,
                             "%s has no weights of their own type; leave out "
                             "--weights",
                             name)
                  : hpc_fail(HPC_E_SHAPE, "--shape %s has %d extents; %s takes %s", q->o->shape,
                             q->extent_n, name, extents);
    hpc_buf_release(&text);
    return rc;
}

static int check_each_meant(const request *q)
{
    for (int64_t k = 0; k < q->o->op.n; k++) {
        const hpc_bench_case *c = hpc_bench_cases;
        while (c->op && (strcmp(c->op->sig.name, q->o->op.item[k]) != 0 || !is_meant(c, q))) c++;
        if (!c->op) return nothing_meant(q->o->op.item[k], q);
    }
    return HPC_OK;
}

/* ---- running them --------------------------------------------------------------------------- */

static int run_case(hpc_bench *b, const hpc_bench_case *c, const request *q)
{
    int rc;
    if (!c->emit) return hpc_bench_nop(b, c);
    TRY(hpc_grow(&b->result, &b->result_cap, b->result_n + 1, sizeof *b->result));
    hpc_bench_result *r = &b->result[b->result_n];
    memset(r, 0, sizeof *r);
    TRY(make_job(&r->job, c, q));
    rc = hpc_bench_check(b, r);
    if (rc >= 0) rc = hpc_bench_measure(b, r);
    if (rc == HPC_E_UNSUPPORTED && q->o->op.n == 0) { /* of everything, measure what there is */
        snprintf(r->skipped, sizeof r->skipped, "%s", hpc_error_get()->text);
        hpc_error_clear();
        rc = HPC_OK;
    }
    if (rc >= 0) b->result_n++;
out:
    return rc;
}

static void write_progress(void *user, const char *text, size_t n)
{
    (void)user;
    fwrite(text, 1, n, stderr);
}

static int run_cases(hpc_bench *b, const request *q)
{
    int rc = HPC_OK;
    int64_t n = 0, done = 0;
    hpc_progress progress = {.write = write_progress, .terminal = isatty(STDERR_FILENO) == 1};
    for (const hpc_bench_case *c = hpc_bench_cases; c->op; c++) n += is_meant(c, q);
    if (n > 1) hpc_progress_start(&progress, "measuring", "cases", n);
    for (const hpc_bench_case *c = hpc_bench_cases; c->op; c++) {
        if (!is_meant(c, q)) continue;
        if (n > 1) hpc_progress_update(&progress, done, c->op->sig.name);
        TRY(run_case(b, c, q));
        done++;
    }
    if (n > 1) hpc_progress_end(&progress, done);
out:
    return rc;
}

static int open_bench(hpc_bench *b)
{
    const hpc_bench_options *o = b->o;
    hpc_device_options dev = {.backend = o->backend, .isa = o->isa, .threads = (int)o->threads};
    double read;
    int rc;
    TRY(hpc_device_open(&b->device, &dev));
    b->about = hpc_device_about(b->device);
    TRY(hpc_probe_open(&b->probe, b->device, o->seconds));
    TRY(hpc_bench_limits(b, &read));
    if (o->peer && b->about.host_memory)
        TRY(hpc_bench_peers_open(&b->peers, b->peer_note, b->about.isa, b->about.threads));
out:
    return rc;
}

static void close_bench(hpc_bench *b)
{
    hpc_bench_peers_close(b->peers);
    hpc_probe_close(b->probe);
    hpc_device_close(b->device);
    hpc_free(b->result);
}

static int run(void *options, int argc, char **argv)
{
    hpc_bench b = {.o = options};
    request q = {.o = options};
    hpc_buf out = {0};
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    TRY(check_names(&q.o->op));
    TRY(read_shape(&q));
    TRY(read_types(&q));
    if (q.o->attr.n > 0 && q.o->op.n == 0) TRY(hpc_fail(HPC_E_ARG, "--attr needs --op"));
    TRY(check_each_meant(&q));
    TRY(open_bench(&b));
    TRY(run_cases(&b, &q));
    TRY(hpc_bench_report(&out, &b, q.o->json));
    TRY(hpc_cmd_print(&out));
out:
    hpc_buf_release(&out);
    close_bench(&b);
    return rc;
}

/* ---- the command ---------------------------------------------------------------------------- */

static const char *const dtypes[] = {"f32", "bf16", "f64", "i8", NULL};
static const char *const weight_dtypes[] = {"f32",  "bf16", "f16",  "f64",  "q8_0",
                                            "q4_0", "q4_K", "q5_K", "q6_K", NULL};

static const hpc_option options[] = {
    {.name = "op",
     .kind = HPC_TEXTS,
     .offset = offsetof(hpc_bench_options, op),
     .argument = "NAME",
     .help = "Op to measure. Default: all."},
    {.name = "shape",
     .kind = HPC_TEXT,
     .offset = offsetof(hpc_bench_options, shape),
     .argument = "N,N,...",
     .help = "Sizes to use instead of the default, in the op's order: M,K,N for matmul."},
    {.name = "attr",
     .kind = HPC_TEXTS,
     .offset = offsetof(hpc_bench_options, attr),
     .argument = "NAME[=VALUE]",
     .help = "Attribute of the op, as printed by `plan show`."},
    {.name = "dtype",
     .kind = HPC_CHOICE,
     .offset = offsetof(hpc_bench_options, dtype),
     .argument = "TYPE",
     .choices = dtypes,
     .help = "Type of activations; f32 by default. i8 is available for plain products only, with "
             "i32 sums."},
    {.name = "weights",
     .kind = HPC_CHOICE,
     .offset = offsetof(hpc_bench_options, weights),
     .argument = "TYPE",
     .choices = weight_dtypes,
     .help = "Type of weights, packed in advance as in inference. Default: that of activations, "
             "not packed."},
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(hpc_bench_options, isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports."},
    {.name = "backend",
     .kind = HPC_TEXT,
     .offset = offsetof(hpc_bench_options, backend),
     .fallback = "cpu",
     .argument = "NAME",
     .help = "Device backend; `hpccoder info` lists them."},
    HPC_CMD_THREADS(hpc_bench_options),
    {.name = "seconds",
     .kind = HPC_REAL,
     .offset = offsetof(hpc_bench_options, seconds),
     .fallback = "0.3",
     .argument = "X",
     .most = 3600,
     .help = "Measuring time for each contestant of each case, after a warm-up."},
    {.name = "cold",
     .kind = HPC_FLAG,
     .offset = offsetof(hpc_bench_options, cold),
     .help = "Give each repetition its own inputs, larger in total than the caches."},
    {.name = "peer",
     .kind = HPC_FLAG,
     .offset = offsetof(hpc_bench_options, peer),
     .fallback = "true",
     .help = "Also measure oneDNN and OpenBLAS, in alternation with our products. \"wrong\" marks "
             "peers whose results exceed the rounding bound."},
    HPC_CMD_JSON(hpc_bench_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_bench_op = {
    .name = "bench op",
    .summary = "Benchmark single ops against hardware limits and other libraries.",
    .arguments = "",
    .description =
        "Emits small programs that repeat one instruction, with the sizes of a training step or a "
        "decoded token of a model with 124 million parameters, and runs them on the device with "
        "warm caches. Without --op, all ops are measured, forward and backward.\n\n"
        "Reports the median and the best time of a call, operations and bytes from the op table, "
        "and the fraction of the limit. The lower bound of the time is the larger of two values: "
        "operations over the measured rate of multiply-adds in registers (or the best kernel's "
        "rate, if higher), and bytes over the measured memory read bandwidth. Both are measured in "
        "the same run with the same instruction set and threads. The fraction is the lower bound "
        "over the time. A fraction above 100 % means that caches supplied data that the bound "
        "takes from memory; --cold prevents that.\n\n"
        "The error is the largest |a - b| / (1 + |b|) and the normalised mean square error of all "
        "outputs, compared with the same program in double precision. Long cases are reduced for "
        "this comparison. For plain f32, bf16 and i8 products, oneDNN and OpenBLAS run the same "
        "product on the same operands with as many threads, in alternation, without packing in "
        "advance. A number above 1 in brackets means that ours is faster.\n\n"
        "With --weights, weights are packed in advance, as in inference. With a block format, rows "
        "of activations are rounded to 8 bits, which causes most of the error.\n\n"
        "The op nop measures the overhead of an instruction that does nothing, and a barrier of "
        "all workers. Their lower bounds are an empty call and the transfer of a cache line.",
    .examples = "hpccoder bench op  # all ops with default sizes\n"
                "hpccoder bench op --op matmul --shape 512,768,3072 --dtype bf16  # one product\n"
                "hpccoder bench op --op matmul --shape 1,4096,4096 --weights q4_K --cold  # as for "
                "one token\n"
                "hpccoder bench op --op norm --attr kind=layer --isa avx2 --threads 1 --json  # "
                "for scripts",
    .options = options,
    .options_bytes = sizeof(hpc_bench_options),
    .run = run,
};
