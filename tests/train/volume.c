/*
 * volume.c: bytes sent in a step, by axis and operation, equal to the closed forms, and each
 * rank's part of a matrix.
 *
 * Given m tokens of width h, R ranks along row and C along col, f32. All sums use a ring: 2
 * (N-1)/N of the summed data; gathers and scatters (N-1)/N.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/train/ranks.h"

/* Elements that a block sums. Products that lead away from the residual stream (q, k, v; gate, up)
 * with n outputs: n m/R over col forward; the gradients of their inputs, together h m/C, over row.
 * Products that lead back (o, down) with k inputs: h m/C over row forward and k m/R over col
 * backward. A norm, over col: a sum of squares forward and that of its gradient backward; with a
 * mean, twice as many. Each repetition of key/value heads counts, and the gradients of their two
 * matrices are summed over row. */
typedef struct volume {
    int64_t col, row;
} volume;

static int64_t tokens_of(const job *j)
{
    return j->o.rows * j->o.length;
}

/* Of the tokens that a rank along row normalises. */
static int64_t moments(const job *j)
{
    int64_t shares = j->o.parallel.sequence ? j->shape.extent[HPC_AXIS_ROW] : 1;
    return (j->o.model.norm == HPC_LAYER ? 4 : 2) * tokens_of(j) / shares;
}

static volume block(const job *j, int r, int c)
{
    const hpc_model_config *o = &j->o.model;
    int64_t m = tokens_of(j), d = hpc_model_config_head_dim(o), width = o->heads * d;
    int64_t kv = o->kv_heads;
    while (kv % r) kv += o->kv_heads;
    int64_t shared = kv > o->kv_heads ? 2 * o->kv_heads * d * o->hidden / c : 0;
    int64_t away = width + 2 * kv * d + (o->gated ? 2 : 1) * o->ffn;
    int64_t back = width + o->ffn;
    return (volume){m * (away + back) / r + 2 * moments(j), 4 * m * o->hidden / c + shared};
}

/* Elements of parameters that row does not split. */
static int64_t whole_along_row(const job *j, int r, int c)
{
    hpc_model_tensor *tensor;
    int64_t n, all = 0, kv = j->o.model.kv_heads;
    test_ok(hpc_model_tensors(&tensor, &n, &j->o.model));
    for (int64_t k = 0; k < n; k++) {
        bool keys = tensor[k].part >= HPC_PART_K && tensor[k].part <= HPC_PART_V_BIAS;
        int64_t own = tensor[k].extent[0] * (tensor[k].rank > 1 ? tensor[k].extent[1] : 1);
        if (tensor[k].row < 0 || (keys && kv % r != 0)) all += own / (tensor[k].col >= 0 ? c : 1);
    }
    hpc_free(tensor);
    return all;
}

/* Sequence parallelism. A row sum is scattered, and gathered where the next product reads it: h m/C
 * each, for the four sums of a block and two outside blocks. That equals the bytes of the sums,
 * except that a product's input is not gathered again for its gradient: forward's is kept. A
 * recomputed block recomputes and gathers the outputs of its norms, and its first sum; with cheap
 * recomputation only those of the norms. Gradients of parameters that row does not split are summed
 * once per step. */
static void sends_by_tokens(const job *j, int r, int c)
{
    int64_t m = tokens_of(j), stream = m * j->o.model.hidden / c, layers = j->o.model.layers;
    int64_t col = layers * block(j, r, c).col + moments(j) + 3 * m;
    int64_t row = 3 * m + whole_along_row(j, r, c);
    const int64_t *on_col = j->along[HPC_AXIS_COL], *on_row = j->along[HPC_AXIS_ROW];
    const int64_t squares = 4, norms = j->o.step.recompute != HPC_RECOMPUTE_NONE ? 2 * layers : 0;
    const int64_t sums = j->o.step.recompute == HPC_RECOMPUTE_BLOCK ? layers : 0;
    assert_int_equal(on_row[HPC_ALL_REDUCE], 2 * (r - 1) * row * 4 / r + squares);
    assert_int_equal(on_row[HPC_ALL_GATHER], (r - 1) * (4 * layers + 2 + norms) * stream * 4 / r);
    assert_int_equal(on_row[HPC_REDUCE_SCATTER],
                     (r - 1) * (4 * layers + 2 + sums) * stream * 4 / r);
    if (c == 1) return;
    assert_int_equal(on_col[HPC_ALL_REDUCE], 2 * (c - 1) * col * 4 / c + squares);
    assert_int_equal(on_col[HPC_ALL_GATHER], 2 * (c - 1) * stream * 4);
    assert_int_equal(on_col[HPC_REDUCE_SCATTER], 2 * (c - 1) * stream * 4);
}

/* Outside blocks. The embedding's rows are assembled from parts of the vocabulary: scattered over
 * col, then summed over row; their gradients are gathered over col. The head's input is gathered
 * over col, and its gradient takes the embedding's way. Statistics, over either axis, are the
 * largest lse, the sum of exponentials and the target's logit of each token. */
static void sends(const job *j, int r, int c)
{
    if (j->o.parallel.sequence) {
        sends_by_tokens(j, r, c);
        return;
    }
    int64_t m = tokens_of(j), h = j->o.model.hidden, layers = j->o.model.layers;
    volume v = block(j, r, c);
    int64_t col = layers * v.col + moments(j) + 3 * m, row = layers * v.row + 2 * m * h / c + 3 * m;
    const int64_t *on_col = j->along[HPC_AXIS_COL], *on_row = j->along[HPC_AXIS_ROW];
    const int64_t squares = 4; /* of all gradients: a ring's first sends one number */
    if (c > 1) {
        assert_int_equal(on_col[HPC_ALL_REDUCE], 2 * (c - 1) * col * 4 / c + squares);
        assert_int_equal(on_col[HPC_ALL_GATHER], 2 * (c - 1) * m * h * 4 / c);
        assert_int_equal(on_col[HPC_REDUCE_SCATTER], 2 * (c - 1) * m * h * 4 / c);
        assert_int_equal(on_col[HPC_ALL_TO_ALL] + on_col[HPC_SEND] + on_col[HPC_BROADCAST], 0);
    }
    if (r > 1) {
        assert_int_equal(on_row[HPC_ALL_REDUCE], 2 * (r - 1) * row * 4 / r + squares);
        assert_int_equal(j->sent - on_row[HPC_ALL_REDUCE], on_col[HPC_ALL_REDUCE] +
                                                               on_col[HPC_ALL_GATHER] +
                                                               on_col[HPC_REDUCE_SCATTER]);
    }
}

static job *one_step(hpc_test_folder *f, bool gpt, const grid *g)
{
    job *j = start(f, HPC_OPT_ADAMW, NULL);
    hpc_model_config *c = &j->o.model;
    c->kv_heads = 4;
    if (gpt) {
        c->ffn = 4 * c->hidden, c->norm = HPC_LAYER, c->position = HPC_LEARNED;
        c->act = HPC_GELU_TANH, c->gated = false;
        c->qkv_bias = c->out_bias = c->mlp_bias = true;
    }
    put_grid(j, g);
    j->steps = 1;
    return j;
}

static const grid planes[] = {{1, 1, 2, 1, 0, false}, {1, 1, 1, 2, 0, false},
                              {1, 1, 2, 2, 0, false}, {1, 1, 4, 1, 0, false},
                              {1, 1, 4, 2, 0, false}, {1, 1, 2, 4, 0, false}};

static void each_line_of_the_forms(void **state)
{
    for (size_t k = 0; k < sizeof planes / sizeof *planes; k++)
        for (int gpt = 0; gpt < 2; gpt++) {
            job *j = one_step(*state, gpt, &planes[k]);
            run_job(j);
            sends(j, planes[k].row, planes[k].col);
            hpc_free(j);
        }
}

static void repeated_keys(void **state)
{
    for (int kv = 1; kv <= 2; kv++) {
        job *j = one_step(*state, false, &(grid){1, 1, 4, 2, 0, false});
        j->o.model.kv_heads = kv;
        run_job(j);
        sends(j, 4, 2);
        hpc_free(j);
    }
}

static void split_by_tokens(void **state)
{
    for (size_t k = 0; k < sizeof planes / sizeof *planes; k++)
        for (int gpt = 0; gpt < 2 && planes[k].row > 1; gpt++) {
            job *j = one_step(*state, gpt, &planes[k]);
            if (!gpt && planes[k].row == 4) j->o.model.kv_heads = 2;
            j->o.parallel.sequence = true;
            if (planes[k].col == 1) j->o.step.recompute = gpt * HPC_RECOMPUTE_BLOCK;
            run_job(j);
            sends(j, planes[k].row, planes[k].col);
            j->o.step.recompute = HPC_RECOMPUTE_SELECTIVE;
            run_job(j);
            sends(j, planes[k].row, planes[k].col);
            hpc_free(j);
        }
}

/* What one block more sends, in elements of m h, but for the moments of its norms; nothing of it
 * moves a block from rank to rank. */
static int64_t of_a_block(hpc_test_folder *f, const grid *g)
{
    int64_t sums[2] = {0};
    job *j = NULL;
    for (int layers = 1; layers <= 2; layers++) {
        hpc_free(j);
        j = one_step(f, true, g);
        j->o.model.layers = layers;
        run_job(j);
        for (int a = HPC_AXIS_ROW; a <= HPC_AXIS_COL; a++)
            for (int k = 0; k < HPC_COMM_KIND_N; k++) {
                int64_t bytes = j->along[a][k];
                sums[0] += k == HPC_ALL_REDUCE ? (2 * layers - 3) * bytes : 0;
                sums[1] += k == HPC_ALL_REDUCE ? 0 : (2 * layers - 3) * bytes;
            }
    }
    assert_int_equal(sums[1], 0);
    int64_t elements = sums[0] / 4 - 2 * (g->col - 1) * 2 * moments(j) / g->col;
    int64_t mh = tokens_of(j) * j->o.model.hidden;
    assert_int_equal(elements % mh, 0);
    hpc_free(j);
    return elements / mh;
}

/* V = (8 m H / G) (3 (C - 1) + (R - 1)), G = R C. */
static void the_published_volume(void **state)
{
    assert_int_equal(of_a_block(*state, &(grid){1, 1, 4, 1, 0, false}), 6);
    assert_int_equal(of_a_block(*state, &(grid){1, 1, 2, 2, 0, false}), 8);
    assert_int_equal(of_a_block(*state, &(grid){1, 1, 4, 2, 0, false}), 6);
    assert_int_equal(of_a_block(*state, &(grid){1, 1, 2, 4, 0, false}), 10);
}

static int holds_its_part(hpc_link *world, void *user)
{
    job *j = user;
    hpc_trainer_options o = j->o;
    hpc_model_tensor *tensor;
    hpc_trainer *t;
    int64_t n;
    test_ok(hpc_grid_open(&o.grid, world, &j->shape));
    test_ok(hpc_trainer_open(&t, &o, true));
    test_ok(hpc_model_tensors(&tensor, &n, &o.model));
    for (int64_t k = 0; k < n; k++) {
        hpc_value v = hpc_program_find(t->p, tensor[k].name);
        size_t here = hpc_type_bytes(&t->p->value[v].type);
        if (tensor[k].role == HPC_ROLE_MATRIX || tensor[k].part == HPC_PART_EMBED)
            assert_int_equal(here * 8, hpc_type_bytes(&t->whole[v]));
    }
    hpc_free(tensor);
    hpc_trainer_close(t);
    hpc_grid_close(o.grid);
    return HPC_OK;
}

/* k n / (R C D) elements of each matrix [k,n]. */
static void matrices_are_held_in_parts(void **state)
{
    for (int gpt = 0; gpt < 2; gpt++) {
        job *j = one_step(*state, gpt, &(grid){1, 2, 2, 2, 0, false});
        test_ok(hpc_threads_run(8, holds_its_part, j));
        hpc_free(j);
    }
}

/* Along depth, of D ranks: each matrix of a block [k,n] is gathered forward and backward, k n/(R C)
 * elements, and its gradient scattered; the table is gathered once; what has one extent is summed.
 * Along data gradients are summed, k n/(R C D). */
static void depth_and_data(void **state)
{
    job *j = one_step(*state, false, &(grid){2, 2, 1, 2, 0, false});
    hpc_model_tensor *tensor;
    int64_t n, matrices = 0, table = 0, vectors = 0;
    test_ok(hpc_model_tensors(&tensor, &n, &j->o.model));
    for (int64_t k = 0; k < n; k++) {
        int64_t all = tensor[k].extent[0] * (tensor[k].rank > 1 ? tensor[k].extent[1] : 1) / 2;
        *(tensor[k].role == HPC_ROLE_MATRIX ? &matrices
          : tensor[k].rank > 1              ? &table
                                            : &vectors) += all;
    }
    run_job(j);
    const int64_t *depth = j->along[HPC_AXIS_DEPTH], *data = j->along[HPC_AXIS_DATA];
    assert_int_equal(depth[HPC_ALL_GATHER], (2 * matrices + 2 * table) * 4 / 2);
    assert_int_equal(depth[HPC_REDUCE_SCATTER], (matrices + 2 * table) * 4 / 2);
    assert_int_equal(depth[HPC_ALL_REDUCE], vectors * 4 + 4);
    assert_int_equal(data[HPC_ALL_REDUCE], ((matrices + table) / 2 + vectors) * 4 + 4);
    assert_int_equal(data[HPC_ALL_GATHER] + data[HPC_REDUCE_SCATTER], 0);
    hpc_free(tensor);
    hpc_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_line_of_the_forms),
                                       cmocka_unit_test(repeated_keys),
                                       cmocka_unit_test(split_by_tokens),
                                       cmocka_unit_test(the_published_volume),
                                       cmocka_unit_test(matrices_are_held_in_parts),
                                       cmocka_unit_test(depth_and_data)};
    return cmocka_run_group_tests_name("train/volume", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
