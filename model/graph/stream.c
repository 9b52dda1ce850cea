/*
 * stream.c: one layer over a graph in chunks. Work on vertices that edges read is done once for
 * each interval; then the chunks of each interval of destinations stream past its sums.
 * stream_ring.c does the same on ranks.
 *
 * The program has four segments: scatter (an interval's rows), begin (empties the sums), chunk
 * (adds those of one chunk), and end (finishes an interval). Extents are those of the largest
 * interval and chunk; the rest of a smaller one has no edges.
 */
#include "model/graph/stream_priv.h"

#include <math.h>
#include <string.h>

/* ---- the program ------------------------------------------------------------------------- */

static hpc_value input(hpc_program *p, const char *name, hpc_dtype dtype, int64_t rows,
                       int64_t cols)
{
    return hpc_program_input(p, name, hpc_type_of(dtype, cols ? 2 : 1, (int64_t[]){rows, cols}));
}

static hpc_value state_like(hpc_program *p, const char *name, const hpc_type *like, hpc_dtype dtype)
{
    return hpc_program_state(p, name, hpc_type_of(dtype, like->rank, like->extent), false);
}

/* An input for a chunk that takes what `made` has of an interval; HPC_NONE if that is absent. */
static hpc_value passed_on(hpc_program *p, const char *name, hpc_value made)
{
    if (made < 0) return HPC_NONE;
    const hpc_type t = p->value[made].type;
    if (p->value[made].kind == HPC_VALUE_TEMP) hpc_program_keep(p, made);
    return hpc_program_input(p, name, hpc_type_of((hpc_dtype)t.dtype, t.rank, t.extent));
}

static void emit_scatter(hpc_saga_stream *s, hpc_saga_build *b)
{
    s->made = (hpc_saga_ends){HPC_NONE, HPC_NONE, HPC_NONE};
    s->segment[STREAM_SCATTER] = hpc_program_segment(s->p, HPC_FORWARD, 0);
    s->p->tags.block = HPC_SAGA_SCATTER;
    s->layer->scatter(&s->made, b, s->x);
    s->given = (hpc_saga_ends){passed_on(s->p, "rows", s->made.row),
                               passed_on(s->p, "sources", s->made.source),
                               passed_on(s->p, "targets", s->made.target)};
}

static void emit_begin(hpc_saga_stream *s, int64_t heads)
{
    hpc_program *p = s->p;
    const hpc_type *row = &p->value[s->given.row].type;
    hpc_dtype sums = row->dtype == HPC_F64 ? HPC_F64 : HPC_F32;
    hpc_type per_head = hpc_type_of(sums, 2, (int64_t[]){row->extent[0], heads});
    hpc_saga_gather gather = s->layer->gather;
    bool softmax = gather == HPC_SAGA_SOFTMAX || gather == HPC_SAGA_ATTEND;
    bool max = gather == HPC_SAGA_MAX;
    s->sum = state_like(p, "sum", row, sums);
    s->lse = softmax ? state_like(p, "lse", &per_head, sums) : HPC_NONE;
    s->arg = max ? state_like(p, "arg", row, HPC_I32) : HPC_NONE;
    s->segment[STREAM_BEGIN] = hpc_program_segment(p, HPC_FORWARD, 1);
    hpc_fill(p, s->sum, 0);
    if (softmax) hpc_fill(p, s->lse, -INFINITY);
    if (max) hpc_fill(p, s->arg, -1);
}

static void emit_chunk(hpc_saga_stream *s, hpc_saga_build *b)
{
    hpc_program *p = s->p;
    hpc_graph g = hpc_graph_of_segments(s->start);
    hpc_value edge = HPC_NONE, more, mean;
    g.index = s->index;
    s->segment[STREAM_CHUNK] = hpc_program_segment(p, HPC_FORWARD, 2);
    p->tags.block = HPC_SAGA_EDGE;
    if (s->layer->apply_edge) edge = s->layer->apply_edge(b, &s->given, &g);
    if (s->layer->gather == HPC_SAGA_SOFTMAX) edge = hpc_graph_softmax(p, edge, s->start, &more);
    p->tags.block = HPC_SAGA_GATHER;
    switch (s->layer->gather) {
    case HPC_SAGA_MAX: hpc_graph_reduce_max(p, s->sum, s->arg, s->given.row, &g); break;
    case HPC_SAGA_SOFTMAX:
        hpc_graph_merge(p, s->sum, s->lse,
                        hpc_graph_reduce(p, HPC_NEW, s->given.row, edge, &g, HPC_GRAPH_SUM), more);
        break;
    case HPC_SAGA_ATTEND:
        mean = hpc_graph_attend(p, &more, s->given.row, s->given.target, s->given.source, &g,
                                s->layer->slope);
        hpc_graph_merge(p, s->sum, s->lse, mean, more);
        break;
    default: hpc_graph_reduce(p, s->sum, s->given.row, edge, &g, HPC_GRAPH_SUM);
    }
}

static void emit_end(hpc_saga_stream *s, hpc_saga_build *b)
{
    hpc_program *p = s->p;
    hpc_value sum = s->sum;
    s->segment[STREAM_END] = hpc_program_segment(p, HPC_FORWARD, 3);
    p->tags.block = HPC_SAGA_VERTEX;
    if (p->value[sum].type.dtype != b->o.dtype) sum = hpc_copy(p, sum, b->o.dtype);
    if (s->layer->gather == HPC_SAGA_MEAN) sum = hpc_graph_scale(p, sum, s->degree, -1);
    s->y = s->layer->apply_vertex(b, sum, s->x);
    hpc_program_keep(p, s->y);
}

static int emit(hpc_saga_stream *s, const hpc_saga_options *o)
{
    hpc_saga_build b = {.p = s->p, .o = *o};
    const hpc_net_chunks *c = s->chunks;
    if (b.o.heads < 1) b.o.heads = 1;
    s->x = input(s->p, "x", o->dtype, c->rows, o->features);
    s->degree = b.degree = input(s->p, "degree", HPC_I32, c->rows + 1, 0);
    s->start = input(s->p, "start", HPC_I32, c->rows + 1, 0);
    s->index = input(s->p, "index", HPC_I32, c->most_edges + 1, 0);
    emit_scatter(s, &b);
    if (hpc_program_status(s->p) == HPC_OK) {
        emit_begin(s, b.o.heads);
        emit_chunk(s, &b);
        emit_end(s, &b);
    }
    int rc = hpc_program_status(s->p);
    return rc < 0 ? rc : hpc_program_check(s->p);
}

/* ---- data in and out ------------------------------------------------------------------------ */

size_t stream_row_bytes(const hpc_saga_stream *s, hpc_value v)
{
    const hpc_type *t = &s->p->value[v].type;
    return t->extent[0] > 0 ? hpc_type_bytes(t) / (size_t)t->extent[0] : 0;
}

/* Elements of v from the first on; the others keep what they had. */
static int write_value(hpc_saga_stream *s, hpc_value v, const void *data, size_t bytes)
{
    void *at = hpc_exec_address(s->exec, 0, v);
    hpc_assert(data);
    if (at) {
        memcpy(at, data, bytes);
        return HPC_OK;
    }
    memcpy(s->staged, data, bytes);
    return hpc_exec_write(s->exec, 0, v, s->staged, hpc_type_bytes(&s->p->value[v].type));
}

static int read_value(hpc_saga_stream *s, hpc_value v, void *data, size_t bytes)
{
    const void *at = hpc_exec_address(s->exec, 0, v);
    if (!at) {
        int rc = hpc_exec_read(s->exec, 0, v, s->staged, hpc_type_bytes(&s->p->value[v].type));
        if (rc < 0) return rc;
        at = s->staged;
    }
    memcpy(data, at, bytes);
    return HPC_OK;
}

/* Starts of `rows` vertices; those that follow have no edges. */
static int write_starts(hpc_saga_stream *s, hpc_value v, const int32_t *start, int64_t rows)
{
    memcpy(s->starts, start, (size_t)(rows + 1) * sizeof *start);
    for (int64_t k = rows + 1; k <= s->chunks->rows; k++) s->starts[k] = start[rows];
    return write_value(s, v, s->starts, (size_t)(s->chunks->rows + 1) * sizeof *start);
}

/* ---- steps ------------------------------------------------------------------------------------
 */

int stream_scatter(hpc_saga_stream *s, int64_t part, const char *x, const stream_rows *out)
{
    const hpc_net_chunks *c = s->chunks;
    size_t rows = (size_t)(c->first[part + 1] - c->first[part]);
    const hpc_value made[] = {s->made.row, s->made.source, s->made.target};
    int rc;
    TRY(write_starts(s, s->degree, c->degree[part], (int64_t)rows));
    TRY(write_value(s, s->x, x, rows * stream_row_bytes(s, s->x)));
    TRY(hpc_exec_run(s->exec, s->segment[STREAM_SCATTER], 0));
    for (int k = 0; k < STREAM_ENDS; k++)
        if (made[k] >= 0)
            TRY(read_value(s, made[k], out->data[k], rows * stream_row_bytes(s, made[k])));
out:
    return rc;
}

int stream_begin(hpc_saga_stream *s, int64_t rows, const char *targets)
{
    int rc = HPC_OK;
    if (s->given.target >= 0)
        TRY(write_value(s, s->given.target, targets,
                        (size_t)rows * stream_row_bytes(s, s->given.target)));
    TRY(hpc_exec_run(s->exec, s->segment[STREAM_BEGIN], 0));
out:
    return rc;
}

int stream_chunk(hpc_saga_stream *s, int64_t to, int64_t from, const stream_rows *sources)
{
    const hpc_net_chunks *c = s->chunks;
    const hpc_net_chunk *k = &c->chunk[to * c->parts + from];
    size_t rows = (size_t)(c->first[from + 1] - c->first[from]);
    int rc;
    if (k->edges == 0) return HPC_OK;
    TRY(hpc_net_chunk_check(c, to, from));
    TRY(write_starts(s, s->start, k->start, c->first[to + 1] - c->first[to]));
    TRY(write_value(s, s->index, k->index, (size_t)k->edges * sizeof *k->index));
    TRY(write_value(s, s->given.row, sources->data[0], rows * stream_row_bytes(s, s->given.row)));
    if (s->given.source >= 0)
        TRY(write_value(s, s->given.source, sources->data[1],
                        rows * stream_row_bytes(s, s->given.source)));
    TRY(hpc_exec_run(s->exec, s->segment[STREAM_CHUNK], 0));
    s->traffic.source_rows += (int64_t)rows;
    s->traffic.edges += k->edges;
    if (c->file.data)
        hpc_file_drop(&c->file, k->start,
                      (size_t)((const char *)(k->index + k->edges) - (const char *)k->start));
out:
    return rc;
}

int stream_end(hpc_saga_stream *s, int64_t part, char *y, const char *x)
{
    const hpc_net_chunks *c = s->chunks;
    size_t rows = (size_t)(c->first[part + 1] - c->first[part]);
    int rc;
    TRY(write_starts(s, s->degree, c->degree[part], (int64_t)rows));
    TRY(write_value(s, s->x, x, rows * stream_row_bytes(s, s->x)));
    TRY(hpc_exec_run(s->exec, s->segment[STREAM_END], 0));
    TRY(read_value(s, s->y, y, rows * stream_row_bytes(s, s->y)));
    s->traffic.result_rows += (int64_t)rows;
out:
    return rc;
}

/* ---- runs ---------------------------------------------------------------------------------------
 */

int stream_rows_alloc(stream_rows *out, const hpc_saga_stream *s, int64_t rows)
{
    const hpc_value made[] = {s->made.row, s->made.source, s->made.target};
    *out = (stream_rows){{NULL}};
    for (int k = 0; k < STREAM_ENDS; k++) {
        if (made[k] < 0) continue;
        out->data[k] = hpc_alloc((size_t)rows * stream_row_bytes(s, made[k]) + 1, 1);
        if (out->data[k]) continue;
        stream_rows_free(out);
        return hpc_fail(HPC_E_NOMEM, "no memory for %lld rows of a layer", (long long)rows);
    }
    return HPC_OK;
}

void stream_rows_free(stream_rows *r)
{
    for (int k = 0; k < STREAM_ENDS; k++) hpc_free(r->data[k]);
    *r = (stream_rows){{NULL}};
}

/* Those of vertex `first` on. */
static stream_rows rows_from(const stream_rows *all, const hpc_saga_stream *s, int64_t first)
{
    const hpc_value made[] = {s->made.row, s->made.source, s->made.target};
    stream_rows r = *all;
    for (int k = 0; k < STREAM_ENDS; k++)
        if (r.data[k]) r.data[k] += (size_t)first * stream_row_bytes(s, made[k]);
    return r;
}

void stream_count_from_zero(hpc_saga_stream *s)
{
    s->traffic = (hpc_saga_traffic){
        .row_bytes = (int64_t)stream_row_bytes(s, s->given.row),
        .result_bytes = (int64_t)stream_row_bytes(s, s->y),
    };
    if (s->given.source >= 0) s->traffic.row_bytes += (int64_t)stream_row_bytes(s, s->given.source);
}

int hpc_saga_stream_run(hpc_saga_stream *s, void *y, const void *x)
{
    const hpc_net_chunks *c = s->chunks;
    size_t x_bytes = stream_row_bytes(s, s->x), y_bytes = stream_row_bytes(s, s->y);
    bool hoisted = s->made.row != s->x;
    stream_rows all = {{NULL}};
    int rc = HPC_OK;
    stream_count_from_zero(s);
    if (hoisted) TRY(stream_rows_alloc(&all, s, c->vertices));
    for (int64_t p = 0; p < c->parts && hoisted; p++) {
        stream_rows r = rows_from(&all, s, c->first[p]);
        TRY(stream_scatter(s, p, (const char *)x + (size_t)c->first[p] * x_bytes, &r));
    }
    for (int64_t p = 0; p < c->parts; p++) {
        size_t first = (size_t)c->first[p];
        stream_rows to = rows_from(&all, s, c->first[p]);
        TRY(stream_begin(s, c->first[p + 1] - c->first[p], to.data[2]));
        for (int64_t q = 0; q < c->parts; q++) {
            stream_rows from = rows_from(&all, s, c->first[q]);
            if (!hoisted) from.data[0] = (char *)(uintptr_t)x + (size_t)c->first[q] * x_bytes;
            TRY(stream_chunk(s, p, q, &from));
        }
        TRY(stream_end(s, p, (char *)y + first * y_bytes, (const char *)x + first * x_bytes));
    }
out:
    stream_rows_free(&all);
    return rc;
}

/* ---- opening ------------------------------------------------------------------------------------
 */

static int allocate(hpc_saga_stream *s)
{
    size_t most = 0;
    for (hpc_value v = 0; v < s->p->value_n; v++) {
        size_t bytes = hpc_type_bytes(&s->p->value[v].type);
        most = bytes > most ? bytes : most;
    }
    s->staged = hpc_alloc(most + 1, 1);
    s->starts = hpc_alloc((size_t)s->chunks->rows + 2, sizeof *s->starts);
    if (s->staged && s->starts) return HPC_OK;
    return hpc_fail(HPC_E_NOMEM, "no memory to stream chunks of a graph");
}

int hpc_saga_stream_open(hpc_saga_stream **out, hpc_device *d, const hpc_saga_layer *l,
                         const hpc_saga_options *o, const hpc_net_chunks *c)
{
    hpc_saga_stream *s = hpc_alloc(1, sizeof *s);
    int rc;
    *out = NULL;
    if (!s) return HPC_E_NOMEM;
    s->layer = l;
    s->chunks = c;
    s->p = hpc_program_create();
    if (!s->p) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    TRY(emit(s, o));
    TRY(allocate(s));
    TRY(hpc_exec_open(&s->exec, s->p, d, NULL, NULL));
    for (hpc_value v = 0; v < s->p->value_n; v++) /* what padding reads */
        if (s->p->value[v].kind == HPC_VALUE_INPUT)
            TRY(hpc_exec_write(s->exec, 0, v, s->staged, hpc_type_bytes(&s->p->value[v].type)));
out:
    if (rc < 0)
        hpc_saga_stream_close(s);
    else
        *out = s;
    return rc;
}

hpc_exec *hpc_saga_stream_exec(hpc_saga_stream *s)
{
    return s->exec;
}

const hpc_program *hpc_saga_stream_program(const hpc_saga_stream *s)
{
    return s->p;
}

hpc_saga_traffic hpc_saga_stream_traffic(const hpc_saga_stream *s)
{
    return s->traffic;
}

void hpc_saga_stream_close(hpc_saga_stream *s)
{
    if (!s) return;
    if (s->exec) hpc_exec_close(s->exec);
    if (s->p) hpc_program_free(s->p);
    hpc_free(s->staged);
    hpc_free(s->starts);
    hpc_free(s);
}
