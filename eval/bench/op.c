/*
 * op.c: the op benchmark: reads the request, selects the cases and runs them one by one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/bench/priv.h"

enum { EXTENT_MOST = 1 << 24 };

const char *const hpc_bench_dtypes[] = {"f32", "bf16", "f64", "i8", NULL};
const char *const hpc_bench_weight_dtypes[] = {"f32",  "bf16", "f16",    "f64",    "q8_0", "q4_0",
                                               "q4_K", "q5_K", "q6_K",   "q4_1",   "q5_0", "q5_1",
                                               "q2_K", "q3_K", "iq4_nl", "iq4_xs", NULL};

/* The parsed options, apart from names. */
typedef struct request {
    const hpc_bench_op_options *o;
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

/* True if the given shape or attributes make c equal to an earlier case of the table. */
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

/* True if both texts name the same attribute; a text is "NAME=VALUE" or "NAME" up to a blank. */
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

static int run_cases(hpc_bench *b, const request *q, hpc_progress *progress)
{
    int rc = HPC_OK;
    int64_t n = 0, done = 0;
    for (const hpc_bench_case *c = hpc_bench_cases; c->op; c++) n += is_meant(c, q);
    if (n > 1) hpc_progress_start(progress, "measuring", "cases", n);
    for (const hpc_bench_case *c = hpc_bench_cases; c->op; c++) {
        if (!is_meant(c, q)) continue;
        if (n > 1) hpc_progress_update(progress, done, c->op->sig.name);
        TRY(run_case(b, c, q));
        done++;
    }
    if (n > 1) hpc_progress_end(progress, done);
out:
    return rc;
}

static int open_bench(hpc_bench *b)
{
    const hpc_bench_op_options *o = b->o;
    hpc_device_options dev = {.backend = o->device, .isa = o->isa, .threads = (int)o->threads};
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

int hpc_bench_op(hpc_buf *out, const hpc_bench_op_options *o, int width, hpc_progress *progress)
{
    hpc_bench b = {.o = o};
    request q = {.o = o};
    int rc = HPC_OK;
    TRY(check_names(&o->op));
    TRY(read_shape(&q));
    TRY(read_types(&q));
    if (o->attr.n > 0 && o->op.n == 0) TRY(hpc_fail(HPC_E_ARG, "--attr needs --op"));
    TRY(check_each_meant(&q));
    TRY(open_bench(&b));
    TRY(run_cases(&b, &q, progress));
    TRY(hpc_bench_report(out, &b, o->json, width));
out:
    close_bench(&b);
    return rc;
}
