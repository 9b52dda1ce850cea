/*
 * op_check.c: the deviation of a case's results from the reference in double: the same program on
 * the same rounded inputs. If the reference would take long, the case is made smaller, except for
 * the extents that its sums run over.
 */
#include <math.h>
#include <string.h>

#include "eval/bench/priv.h"

static const double flops_most = 2e8, bytes_most = 0x1p26;

/* ---- cutting down --------------------------------------------------------------------------- */

static hpc_cost cost_of(const hpc_program *p)
{
    hpc_cost sum = {0, 0};
    for (int s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
            hpc_cost c = hpc_insn_cost(p, &p->segment[s].insn[k]);
            sum.flops += c.flops;
            sum.bytes += c.bytes;
        }
    return sum;
}

/* Halves the largest extent that may shrink, in whole blocks; false if no extent can shrink. */
static bool shrink(hpc_bench_job *job)
{
    int64_t grain = hpc_dtype_get(job->weights)->block, *largest = NULL;
    for (int k = 0; k < job->extent_n; k++) {
        int64_t *e = &job->shape[k];
        if (job->c->shrinks >> k & 1 && *e > grain && (!largest || *e > *largest)) largest = e;
    }
    if (!largest) return false;
    int64_t half = (*largest / 2 + grain - 1) / grain * grain;
    if (half == *largest) return false;
    *largest = half;
    return true;
}

static int emit_small(hpc_bench_program *out, hpc_bench_job *job)
{
    for (;;) {
        int rc = hpc_bench_emit(out, job, 1, false);
        if (rc < 0) return rc;
        hpc_cost c = cost_of(out->p);
        if ((c.flops <= flops_most && c.bytes <= bytes_most) || !shrink(job)) return HPC_OK;
        hpc_bench_close(out);
    }
}

/* ---- the reference -------------------------------------------------------------------------- */

/* n elements as doubles, a chunk of whole blocks at a time; NULL without memory. */
static double *doubles_of(const void *data, hpc_dtype dtype, int64_t n)
{
    enum { CHUNK = 256 };
    const hpc_dtype_info *d = hpc_dtype_get(dtype);
    float narrow[CHUNK];
    double *x = hpc_alloc((size_t)n + 1, sizeof *x);
    if (x && dtype == HPC_F64) memcpy(x, data, (size_t)n * sizeof *x);
    if (!x || dtype == HPC_F64) return x;
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t now = n - at < CHUNK ? n - at : CHUNK;
        hpc_to_f32(narrow, (const uint8_t *)data + (size_t)(at / d->block) * d->block_bytes, dtype,
                   now);
        for (int64_t k = 0; k < now; k++) x[at + k] = narrow[k];
    }
    return x;
}

static int write_rounded(hpc_bench_program *ref, const hpc_program *p, const hpc_bench_fill *f)
{
    const hpc_type *from = &p->value[f->value].type, *to = &ref->p->value[f->value].type;
    void *data = NULL;
    double *wide = NULL;
    int rc;
    TRY(hpc_bench_content(&data, p, f));
    if (to->dtype == HPC_F64) {
        wide =
            doubles_of(data, (hpc_dtype)from->dtype, (int64_t)(hpc_type_bytes(to) / sizeof *wide));
        if (!wide) TRY(HPC_E_NOMEM);
    }
    TRY(hpc_exec_write(ref->exec, 0, f->value, wide ? wide : data, hpc_type_bytes(to)));
out:
    hpc_free(wide);
    hpc_free(data);
    return rc;
}

static int run_reference(hpc_bench_program *ref, const hpc_bench_program *of, hpc_device *d)
{
    int rc = HPC_E_NOMEM;
    ref->p = hpc_program_copy(of->p);
    if (!ref->p) goto out;
    TRY(hpc_to_double(ref->p));
    TRY(hpc_exec_open(&ref->exec, ref->p, d, NULL, NULL));
    for (int64_t k = 0; k < of->e.fill_n; k++) TRY(write_rounded(ref, of->p, &of->e.fill[k]));
    if (ref->p->segment[BENCH_PREPARE].insn_n > 0) TRY(hpc_exec_run(ref->exec, BENCH_PREPARE, 0));
    TRY(hpc_exec_run(ref->exec, BENCH_MEASURED, 0));
out:
    return rc;
}

/* ---- the comparison ------------------------------------------------------------------------- */

/* All elements of a value, padding of packed ones included; *n may be NULL. */
static int read_doubles(double **out, int64_t *n, const hpc_bench_program *b, hpc_value v)
{
    const hpc_type *t = &b->p->value[v].type;
    size_t bytes = hpc_type_bytes(t);
    int64_t elements = (int64_t)(bytes / hpc_dtype_get((hpc_dtype)t->dtype)->block_bytes);
    int rc = HPC_E_NOMEM;
    void *data = hpc_alloc(bytes + 1, 1);
    if (!data) goto out;
    TRY(hpc_exec_read(b->exec, 0, v, data, bytes));
    *out = doubles_of(data, (hpc_dtype)t->dtype, elements);
    if (!*out) TRY(HPC_E_NOMEM);
    if (n) *n = elements;
out:
    hpc_free(data);
    return rc;
}

/* True if element k lies below the run-time extent of a value of type t. */
static bool is_live(const hpc_type *t, const double *count, int64_t k)
{
    int64_t inner = 1;
    if (!count) return true;
    for (int d = t->ragged + 1; d < t->rank; d++) inner *= t->extent[d];
    int64_t row = k / inner;
    return (double)(row % t->extent[t->ragged]) < count[row / t->extent[t->ragged]];
}

typedef struct distance {
    double worst, square, whole; /* sums of squares: of the differences, of the reference */
} distance;

static void add_distance(distance *sum, double x, double wanted)
{
    double off = x == wanted ? 0 : fabs(x - wanted), relative = off / (1 + fabs(wanted));
    if (isnan(off)) off = relative = INFINITY;
    if (relative > sum->worst) sum->worst = relative;
    sum->square += off * off;
    sum->whole += wanted * wanted;
}

static int compare(distance *sum, const hpc_bench_program *b, const hpc_bench_program *ref,
                   hpc_value v)
{
    const hpc_type *t = &b->p->value[v].type;
    double *x = NULL, *wanted = NULL, *count = NULL;
    int64_t n = 0;
    int rc;
    TRY(read_doubles(&x, &n, b, v));
    TRY(read_doubles(&wanted, NULL, ref, v));
    if (t->ragged >= 0) TRY(read_doubles(&count, NULL, ref, t->count));
    for (int64_t k = 0; k < n; k++)
        if (is_live(t, count, k)) add_distance(sum, x[k], wanted[k]);
out:
    hpc_free(x);
    hpc_free(wanted);
    hpc_free(count);
    return rc;
}

int hpc_bench_check(hpc_bench *b, hpc_bench_result *r)
{
    hpc_bench_job job = r->job;
    hpc_bench_program small = {0}, ref = {0};
    distance sum = {0};
    hpc_device *cpu = NULL; /* for the reference, if the device has no f64 */
    int rc;
    if (!hpc_device_kernels(b->device, true)) TRY(hpc_device_open(&cpu, NULL));
    TRY(emit_small(&small, &job));
    TRY(hpc_bench_open(&small, b->device));
    TRY(hpc_exec_run(small.exec, BENCH_MEASURED, 0));
    TRY(run_reference(&ref, &small, cpu ? cpu : b->device));
    const hpc_insn *i = &small.p->segment[BENCH_MEASURED].insn[0];
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0 && i->op->sig.operand[k].flags & HPC_OUT)
            TRY(compare(&sum, &small, &ref, i->operand[k]));
    r->checked = true;
    r->error = sum.worst;
    r->nmse = sum.square == 0 ? 0 : sum.square / sum.whole;
    memcpy(r->checked_shape, job.shape, sizeof job.shape);
out:
    hpc_bench_close(&ref);
    hpc_bench_close(&small);
    hpc_device_close(cpu);
    return rc;
}
