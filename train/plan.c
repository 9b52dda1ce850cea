/*
 * plan.c: assigns the parts of a step to ranks, as layouts of the global program's state and
 * inputs. hpc_shard derives the rest.
 */
#include <string.h>

#include "train/plan.h"
#include "train/update_priv.h"

static int extent_of(const hpc_grid_shape *s, int axis)
{
    return s->extent[axis] > 1 ? s->extent[axis] : 1;
}

/* n is split in parts: the nearest that would be. */
static int check_divides(const char *what, int64_t n, const char *axes, int64_t parts)
{
    int64_t below = n / parts * parts;
    if (n % parts == 0) return HPC_OK;
    return hpc_fail(HPC_E_SHAPE,
                    "%s=%lld: %s split them in %lld; %lld and %lld are the nearest "
                    "that work",
                    what, (long long)n, axes, (long long)parts,
                    (long long)(below > 0 ? below : parts),
                    (long long)(below > 0 ? below + parts : 2 * parts));
}

static int check_experts(const hpc_parallel *q, const hpc_model_config *c)
{
    int row = extent_of(&q->grid, HPC_AXIS_ROW), ranks = extent_of(&q->grid, HPC_AXIS_EXPERT);
    int rc = HPC_OK;
    if (c->experts == 0 && ranks > 1)
        return hpc_fail(HPC_E_ARG, "expert=%d: the model has no experts to divide; use data",
                        ranks);
    if (c->experts == 0) return HPC_OK;
    TRY(check_divides("experts", c->experts, "expert must", ranks));
    TRY(check_divides("expert-ffn", c->expert_ffn > 0 ? c->expert_ffn : c->ffn, "row must", row));
    TRY(check_divides("shared expert's width", c->shared_ffn, "row must", row));
out:
    return rc;
}

static int check_row_and_col(const hpc_parallel *q, const hpc_model_config *c)
{
    int row = extent_of(&q->grid, HPC_AXIS_ROW), col = extent_of(&q->grid, HPC_AXIS_COL);
    int pipe = plan_is_interlaced(q) ? extent_of(&q->grid, HPC_AXIS_PIPE) : 1;
    int rc = HPC_OK;
    TRY(check_divides("heads", c->heads, "row must", row));
    TRY(check_divides("ffn", c->ffn, "row must", row));
    TRY(check_divides("hidden", c->hidden, "col must", col));
    TRY(check_divides("vocab", c->vocab,
                      pipe > 1 ? "row, col and pipe (pipe-vocab=interlaced) must"
                               : "row and col must",
                      (int64_t)row * col * pipe));
    if (c->adapter.rank > 0 && row * col > 1)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s=%d: adapters can only be trained along data and depth",
                     row > 1 ? "row" : "col", row > 1 ? row : col));
out:
    return rc;
}

/* Each rank's share of the tokens is as long. */
static int check_sequence(const hpc_parallel *q, const hpc_model_config *c, int64_t tokens)
{
    int rc = HPC_OK;
    if (c->head != HPC_HEAD_TOKENS)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "sequence: a classification head reads tokens of all ranks"));
    TRY(check_divides(q->halves ? "tokens (of a rank, in half a microbatch)"
                                : "tokens (of a rank, in a microbatch)",
                      tokens, "row must", extent_of(&q->grid, HPC_AXIS_ROW)));
out:
    return rc;
}

static int check_pipe(const hpc_parallel *q, const hpc_model_config *c)
{
    int ranks = extent_of(&q->grid, HPC_AXIS_PIPE);
    hpc_pipe pipe = hpc_pipe_resolved(&q->pipe, ranks);
    int64_t stages = (int64_t)ranks * pipe.chunks;
    if (ranks == 1) return HPC_OK;
    if (stages > c->layers || stages > HPC_STAGES)
        return hpc_fail(HPC_E_SHAPE,
                        "pipe=%d: %d stage%s on each rank, and %lld blocks to divide; use at most "
                        "%lld stages in all",
                        ranks, pipe.chunks, pipe.chunks > 1 ? "s" : "", (long long)c->layers,
                        (long long)(c->layers < HPC_STAGES ? c->layers : HPC_STAGES));
    if (c->adapter.token_n > 0)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "pipe=%d: adapters with trained tokens change a table that the first and "
                        "the last stage read",
                        ranks);
    return HPC_OK;
}

bool plan_is_interlaced(const hpc_parallel *q)
{
    return q->pipe.vocab == HPC_VOCAB_INTERLACED && extent_of(&q->grid, HPC_AXIS_PIPE) > 1;
}

int hpc_parallel_check(const hpc_parallel *q, const hpc_model_config *c, int64_t rows,
                       int64_t length)
{
    int64_t parts = 1;
    int rc;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (HPC_ROW_AXES >> a & 1) parts *= extent_of(&q->grid, a);
    if (q->zero < 0 || q->zero > 3)
        return hpc_fail(HPC_E_ARG, "zero=%d: the stages are 0 to 3", q->zero);
    TRY(check_divides("rows (of all ranks, in a microbatch)", rows,
                      q->halves        ? "data, depth, expert and overdecompose"
                      : c->experts > 0 ? "data, depth and expert"
                                       : "data and depth",
                      parts * (1 + q->halves)));
    if (q->halves && c->head != HPC_HEAD_TOKENS)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "overdecompose: a classification head reads rows of both parts"));
    TRY(check_row_and_col(q, c));
    TRY(check_experts(q, c));
    TRY(check_pipe(q, c));
    if (q->sequence && extent_of(&q->grid, HPC_AXIS_ROW) > 1)
        TRY(check_sequence(q, c, rows / parts / (1 + q->halves) * length));
out:
    return rc;
}

int hpc_parallel_part(int *parts, const hpc_grid_shape *s, const int coord[HPC_AXIS_N])
{
    int part = 0;
    *parts = 1;
    for (int k = 0; k < HPC_AXIS_N; k++) {
        int a = hpc_axis_nesting[k];
        if (!(HPC_ROW_AXES >> a & 1)) continue;
        part = part * extent_of(s, a) + coord[a];
        *parts *= extent_of(s, a);
    }
    return part;
}

void plan_stream(hpc_type *t, hpc_axes split, bool sequence)
{
    if (split >> HPC_AXIS_ROW & 1 && sequence) t->layout[HPC_AXIS_ROW] = HPC_INNER(0);
    if (split >> HPC_AXIS_COL & 1) t->layout[HPC_AXIS_COL] = HPC_SPLIT(1);
}

/* Splits dimension `dim` over the axis; returns what remains of the first extent. */
static int64_t plan_axis(hpc_value_info *v, const hpc_parallel *q, hpc_axis axis, int dim,
                         int64_t left)
{
    int n = extent_of(&q->grid, axis);
    if (n == 1 || dim < 0) return left;
    v->type.layout[axis] = (int8_t)HPC_SPLIT(dim);
    return dim == 0 ? left / n : left;
}

/* The dimension that data splits: the first, or the columns of a matrix with rows that the ranks do
 * not divide. -1: neither divides. left: the first extent of a rank's part along the other axes. */
static int data_dimension(const hpc_value_info *v, const hpc_parallel *q, int64_t left)
{
    int data = extent_of(&q->grid, HPC_AXIS_DATA);
    int64_t cols = v->type.rank == 2 ? v->type.extent[1] : 0;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (v->type.layout[a] == HPC_SPLIT(1)) cols /= extent_of(&q->grid, a);
    if (left % data == 0) return 0;
    return cols > 0 && cols % data == 0 ? 1 : -1;
}

/* Row and col split dimensions by the tensor table; pipe may split the vocabulary; expert splits
 * batches of matrices; depth splits matrices, which are large enough to gather; data splits
 * everything that it divides. In the first extent row is outermost. */
static void plan_parameter(hpc_value_info *v, const hpc_parallel *q, const hpc_model_tensor *t,
                           bool repeated)
{
    int64_t left = v->type.extent[0];
    int batch = t->batch > 0, row = repeated ? -1 : t->row; /* a batch has one more dimension */
    int depth = extent_of(&q->grid, HPC_AXIS_DEPTH);
    left = plan_axis(v, q, HPC_AXIS_ROW, row < 0 ? -1 : row + batch, left);
    left = plan_axis(v, q, HPC_AXIS_COL, t->col < 0 ? -1 : t->col + batch, left);
    left = plan_axis(v, q, HPC_AXIS_EXPERT, batch ? 0 : -1, left);
    bool words = t->adapter == 0 && (t->part == HPC_PART_EMBED || t->part == HPC_PART_HEAD);
    left = plan_axis(v, q, HPC_AXIS_PIPE, words && plan_is_interlaced(q) ? 0 : -1, left);
    if (depth > 1 && v->type.rank > 1 && left % depth == 0) {
        v->type.layout[HPC_AXIS_DEPTH] = HPC_SPLIT(0);
        left /= depth;
    }
    if (v->index >= 0) return; /* its part split by data is picked */
    bool split = v->trainable ? q->zero > 0 : q->zero == 3 && v->type.rank > 1;
    if (split) plan_axis(v, q, HPC_AXIS_DATA, data_dimension(v, q, left), left);
}

hpc_plan_left hpc_plan_whole(const hpc_program *p, const hpc_parallel *q)
{
    hpc_plan_left out = {.n = 0};
    if (q->zero == 0 || extent_of(&q->grid, HPC_AXIS_DATA) == 1) return out;
    for (hpc_value v = 0; v < p->value_n; v++) {
        const hpc_value_info *info = &p->value[v];
        if (!info->trainable || info->index >= 0) continue;
        if (info->type.layout[HPC_AXIS_DATA] != HPC_REPLICATED) continue;
        int64_t n = 1;
        for (int d = 0; d < info->type.rank; d++) n *= info->type.extent[d];
        out.n++;
        out.elements += n;
        if (n <= out.most) continue;
        out.most = n;
        out.name = info->name;
    }
    return out;
}

/* Keys' and values' heads that row does not divide are repeated until it does; their matrices are
 * whole along row. */
int64_t plan_kv_heads(const hpc_parallel *q, const hpc_model_config *c)
{
    int64_t row = extent_of(&q->grid, HPC_AXIS_ROW), n = c->kv_heads;
    if (n % row == 0) return 0;
    while (n % row) n += c->kv_heads;
    return n;
}

void plan_parameters(hpc_program *p, const hpc_parallel *q, const hpc_model_config *c,
                     const hpc_model_tensor *tensor, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        hpc_value v = hpc_program_find(p, tensor[k].name);
        bool keys = tensor[k].part >= HPC_PART_K && tensor[k].part <= HPC_PART_V_BIAS;
        if (v >= 0) plan_parameter(&p->value[v], q, &tensor[k], keys && plan_kv_heads(q, c) > 0);
    }
}

/* A gradient is summed completely on each rank and read like its parameter, or each backward sums
 * it into the rank's part. */
static void plan_gradient(hpc_value_info *g, const hpc_value_info *v, const hpc_parallel *q)
{
    for (int a = 0; a < HPC_AXIS_N; a++) {
        bool rows = HPC_ROW_AXES >> a & 1 || (a == HPC_AXIS_ROW && q->sequence);
        bool whole = v->type.layout[a] == HPC_REPLICATED || (a == HPC_AXIS_DATA && q->zero < 2);
        g->type.layout[a] = rows && whole ? HPC_PARTIAL : v->type.layout[a];
        g->settled[a] = v->type.layout[a];
    }
}

/* The first and the last stage of a pipeline each add to the gradient of a tied table. */
void plan_tied(hpc_program *p, const hpc_parallel *q, hpc_value table)
{
    hpc_value g = table >= 0 && p->value[table].trainable ? p->value[table].grad : HPC_NONE;
    if (g < 0 || extent_of(&q->grid, HPC_AXIS_PIPE) == 1 || plan_is_interlaced(q)) return;
    p->value[g].type.layout[HPC_AXIS_PIPE] = HPC_PARTIAL;
    p->value[g].settled[HPC_AXIS_PIPE] = HPC_REPLICATED;
}

void plan_gradients(hpc_program *p, const hpc_parallel *q)
{
    for (int64_t v = 0; v < p->value_n; v++)
        if (p->value[v].trainable && p->value[v].grad >= 0) {
            plan_gradient(&p->value[p->value[v].grad], &p->value[v], q);
            sparse_gradient(&p->value[p->value[v].grad], q);
        }
}

/* The value in a copy of backward that corresponds to v. */
static hpc_value twin(const hpc_program *p, int backward, int copy, hpc_value v)
{
    int32_t k = p->value[v].insn;
    const hpc_insn *i = &p->segment[backward].insn[k];
    for (int a = 0; a < i->op->sig.operand_n; a++)
        if (i->operand[a] == v) return p->segment[copy].insn[k].operand[a];
    return v;
}

/* Gradients are summed over ranks after the last backward that adds to them. */
int plan_splice(hpc_step *io, hpc_program *p)
{
    int rc;
    if (io->last != io->backward) {
        TRY(hpc_program_append(p, io->last, io->backward));
        io->last_loss = twin(p, io->backward, io->last, io->loss);
        if (io->halves) io->second.last_loss = twin(p, io->backward, io->last, io->second.loss);
    }
    TRY(hpc_program_move(p, io->last, io->norm));
out:
    return rc;
}

static int overlap(hpc_step *io, hpc_program *p, const hpc_parallel *q)
{
    hpc_overlap_options o = {.ahead = q->ahead, .bucket_bytes = q->bucket_bytes};
    int rc = HPC_OK;
    if (io->stage.chunks == 0) TRY(plan_splice(io, p));
    if (io->gather >= 0) TRY(hpc_program_append(p, io->update, io->gather));
    io->gathers = io->gather >= 0;
    TRY(hpc_overlap(p, &o));
out:
    return rc;
}

int hpc_step_shard_whole(hpc_step *io, hpc_program *p, const hpc_parallel *q,
                         const int coord[HPC_AXIS_N], bool cut)
{
    hpc_shard_options o = {.gather = -1, .staged = cut ? 1u << HPC_AXIS_PIPE : 0};
    bool data = q->zero == 1 || q->zero == 2;
    if (data) o.keep |= 1u << HPC_AXIS_DATA;
    if (q->keep_depth && q->zero < 3) o.keep |= 1u << HPC_AXIS_DEPTH;
    int rc = hpc_shard(p, &q->grid, coord, &o);
    io->gather = o.gather;
    return rc;
}

/* Segments have new numbers where a rank has several stages. */
static void move_segments(hpc_step *io, const int *moved)
{
    int *of[] = {&io->norm, &io->refresh, &io->update, &io->gather, &io->model.forward_head};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        if (*of[k] >= 0) *of[k] = moved[*of[k]];
    io->model.forward = io->second.model.forward = io->stage.forward;
    io->second.model.forward_head = io->model.forward_head;
    io->backward = io->last = io->stage.backward;
}

int hpc_step_cut(hpc_step *io, hpc_program *p, int stage, int moved[HPC_STEP_SEGMENTS])
{
    hpc_assert(p->segment_n <= HPC_STEP_SEGMENTS);
    hpc_stage_options *o = &io->stage;
    o->forward = io->model.forward;
    o->backward = io->backward;
    o->rank = stage;
    o->first = io->first;
    o->moved = moved;
    int rc = hpc_stage(p, o);
    o->first = NULL;
    o->moved = NULL;
    if (rc >= 0) move_segments(io, moved);
    return rc;
}

int hpc_step_shard(hpc_step *io, hpc_program *p, const hpc_parallel *q, const int coord[HPC_AXIS_N])
{
    bool cut = io->stage.chunks > 0;
    int moved[HPC_STEP_SEGMENTS], rc;
    TRY(hpc_step_shard_whole(io, p, q, coord, cut));
    if (cut) TRY(hpc_step_cut(io, p, coord[HPC_AXIS_PIPE], moved));
    if (q->overlap) TRY(overlap(io, p, q));
out:
    return rc;
}
