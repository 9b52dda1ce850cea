/*
 * matmul_bytes.cu: products with columns in block formats and rows rounded to 8 bits: up to
 * FEW_ROWS rows by dp4a, limited by the loads of columns, and more rows by the matrix instructions
 * of bytes. Which kernel computes depends on the live rows; its bits do not.
 */
#include "runtime/device/cuda/bytes.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

/* ---- rows -------------------------------------------------------------------------------------
 */

/* The factor that maps the largest magnitude to 127. Values that are not finite give a scale that
 * is not. */
SIMT_DEVICE float inverse_of(float top)
{
    const float inverse = 127.0f / top;
    return top > 0 && top < INFINITY && inverse - inverse == 0 ? inverse : 0;
}

/* Eight lanes round a unit, four elements each. */
struct round_rows {
    typedef bytes_args args;
    enum { threads = 256, LANES = UNIT / 4 };

    static SIMT_DEVICE int round_one(float x, float inverse)
    {
        const float v = rintf(x * inverse);
        return v >= -127 ? v <= 127 ? (int)v : 127 : -127;
    }

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const int64_t at = t.block() * (threads / LANES) + t.thread() / LANES;
        const int64_t row = at / a.units, unit = at % a.units, k = a.units * UNIT;
        const int64_t entry = t.block_y() * a.g.a.extent[a.g.a.rank - 2] + row;
        const int s = t.thread() % LANES;
        const bool live = row < a.g.a.extent[a.g.a.rank - 2] && live_cols(a.g.a, entry) > 0;
        quad x = {{0, 0, 0, 0}};
        if (live) x = load4(a.g.a, entry * k + unit * UNIT + s * 4, 4);
        int most = 0, sum = 0;
        for (int e = 0; e < 4; e++) {
            const int size = (int)(hpc_f32_bits(x.v[e]) & 0x7fffffff);
            most = size > most ? size : most;
        }
        for (int mask = LANES / 2; mask > 0; mask /= 2) {
            const int other = t.shuffle_xor(most, mask);
            most = other > most ? other : most;
        }
        const float top = hpc_bits_f32((uint32_t)most), inverse = inverse_of(top);
        uint32_t word = 0;
        for (int e = 0; e < 4; e++) {
            const int q = round_one(x.v[e], inverse);
            word |= (uint32_t)(q & 255) << 8 * e;
            sum += q;
        }
        for (int mask = LANES / 4; mask > 0; mask /= 2) sum += t.shuffle_xor(sum, mask);
        const int second = t.shuffle_xor(sum, LANES / 2);
        if (!live) return;
        *(uint32_t *)(a.q + entry * k + unit * UNIT + s * 4) = word;
        if (s != 0) return;
        a.scale[entry * a.units + unit] = top / 127.0f;
        a.sum[entry * a.units + unit] = (int32_t)((uint32_t)sum & 0xffff) | second * 65536;
    }
};

/* ---- few rows ---------------------------------------------------------------------------------
 */

/* A block computes 16 columns of up to FEW_ROWS rows; warp p part p of k. A warp has four octets of
 * lanes for four columns each. Lane s of an octet has unit s of a step in these columns; the
 * octet's terms change places through shared memory, so that lane s sums up the units of a step
 * for column s % 4 of row s / 4 of a pair of rows. */
enum {
    WARPS = PARTS,
    EACH = 4, /* columns of an octet */
    COLUMNS = 4 * EACH,
    PITCH = UNITS + 1,
    OCTET = UNITS * PITCH, /* conflict-free for writes by unit and reads by value */
    STAGE = 4 * OCTET,
    SUMS_AT = WARPS * STAGE * (int)sizeof(float),
    FEW_SHARED = SUMS_AT + WARPS * FEW_ROWS * COLUMNS * (int)sizeof(float)
};

template <int dtype> struct few_rows {
    typedef bytes_args args;
    enum { threads = WARPS * SIMT_WARP, form = block_format<dtype>::form };

    static SIMT_DEVICE float term(const simt &t, const uint32_t q[UNIT_WORDS], const block_unit &u,
                                  float scale, int32_t sum)
    {
        int d[2] = {0, 0};
        for (int k = 0; k < UNIT_WORDS; k++) d[k / 4] = t.dot4((int)q[k], (int)u.q[k], d[k / 4]);
        return t.times(scale, unit_term<form>(d[0], d[1], u.scale, u.min, u.half, u.half_min, sum));
    }

    /* Terms of a pair of rows, from `row` on, for the columns of an octet. */
    static SIMT_DEVICE void put_terms(const simt &t, const args &a, simt_shared<float> stage,
                                      const block_unit u[EACH], int64_t unit, int64_t row,
                                      int64_t last)
    {
        const int s = t.lane() % UNITS, octet = t.lane() / UNITS;
        for (int r = 0; r < 2; r++) {
            const int64_t entry = row + r < last ? row + r : last, at = entry * a.units + unit;
            uint32_t q[UNIT_WORDS];
            load_16(q, (const uint8_t *)a.q + at * UNIT);
            load_16(q + 4, (const uint8_t *)a.q + at * UNIT + 16);
            for (int c = 0; c < EACH; c++)
                stage[octet * OCTET + (r * EACH + c) * PITCH + s] =
                    term(t, q, u[c], a.scale[at], a.sum[at]);
        }
    }

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const product_view v = product_of(a.g, a.groups, t.block_y());
        const int rows = (int)v.a.rows, s = t.lane() % UNITS, octet = t.lane() / UNITS;
        const int64_t col = t.block() * COLUMNS, first_row = v.y / v.n;
        const int64_t b_row = first_column(a, v);
        const int64_t per_part = part_steps(a.units), begin = t.warp() * per_part;
        const simt_shared<float> stage =
            t.shared<float>(t.warp() * STAGE * (int)sizeof(float), STAGE);
        const simt_shared<float> sums = t.shared<float>(SUMS_AT, WARPS * FEW_ROWS * COLUMNS);
        float sum[FEW_ROWS / 2] = {0, 0, 0, 0};
        if (v.a.rows > FEW_ROWS || v.a.rows == 0) return;
        for (int64_t step = begin; step < begin + per_part && step < steps_of(a.units); step++) {
            const int64_t unit = step * UNITS + s, left = a.units - step * UNITS;
            block_unit u[EACH] = {};
            for (int c = 0; c < EACH; c++)
                if (s < left && col + octet * EACH + c < v.n)
                    load_unit_of<dtype>(t, u[c], a.b, b_row + col + octet * EACH + c, unit);
            SIMT_ROLLED for (int pair = 0; 2 * pair < rows; pair++)
            {
                float own = 0;
                t.sync_warp(); /* readers of the terms before */
                if (s < left)
                    put_terms(t, a, stage, u, unit, first_row + 2 * pair, first_row + rows - 1);
                t.sync_warp();
                for (int p = 0; p < FEW_ROWS / 2; p++) own = p == pair ? sum[p] : own;
                for (int k = 0; k < UNITS; k++)
                    if (k < left) own += stage[octet * OCTET + s * PITCH + k];
                for (int p = 0; p < FEW_ROWS / 2; p++) sum[p] = p == pair ? own : sum[p];
            }
        }
        SIMT_UNROLL for (int pair = 0; pair < FEW_ROWS / 2; pair++)
        {
            const int row = 2 * pair + s / EACH, c = octet * EACH + s % EACH;
            sums[(t.warp() * FEW_ROWS + row) * COLUMNS + c] = sum[pair];
        }
        t.sync();
        const int row = t.thread() / COLUMNS, c = t.thread() % COLUMNS;
        if (row >= rows) return;
        float all = 0;
        for (int p = 0; p * per_part < steps_of(a.units); p++)
            all += sums[(p * FEW_ROWS + row) * COLUMNS + c];
        product_store(a.g, v, row, col + c, all);
    }
};

/* ---- many rows --------------------------------------------------------------------------------
 */

/* A block of four warps computes a tile of y, each warp a quarter, UNITS units of k at a time. */
enum {
    TILE = 64,
    QUARTER = 32,
    ROW_BYTES = UNITS * UNIT,
    B_AT = TILE * ROW_BYTES,
    FACTORS_AT = 2 * B_AT,
    FACTORS = UNITS * TILE, /* of each kind: [unit][row] */
    FACTOR_BYTES = FACTORS * 4,
    MANY_SHARED = FACTORS_AT + 5 * FACTOR_BYTES
};

/* Where 16 bytes, half a unit, of a row lie. Chunks change places, so that eight rows' equal
 * chunks, which a matrix load reads at once, lie in different banks. */
SIMT_DEVICE int chunk_at(int row, int chunk)
{
    return row * ROW_BYTES + (chunk ^ (row & 7)) * 16;
}

struct tile_memory {
    simt_shared<uint16_t> a, b;
    simt_shared<uint32_t> a_words, b_words;
    simt_shared<float> a_scale, scale, min;
    simt_shared<int32_t> a_sum, half; /* half: half, half_min of both halves, a byte each */
};

SIMT_DEVICE tile_memory tile_memory_of(const simt &t)
{
    return {t.shared<uint16_t>(0, TILE * ROW_BYTES / 2),
            t.shared<uint16_t>(B_AT, TILE * ROW_BYTES / 2),
            t.shared<uint32_t>(0, TILE * ROW_BYTES / 4),
            t.shared<uint32_t>(B_AT, TILE * ROW_BYTES / 4),
            t.shared<float>(FACTORS_AT, FACTORS),
            t.shared<float>(FACTORS_AT + FACTOR_BYTES, FACTORS),
            t.shared<float>(FACTORS_AT + 2 * FACTOR_BYTES, FACTORS),
            t.shared<int32_t>(FACTORS_AT + 3 * FACTOR_BYTES, FACTORS),
            t.shared<int32_t>(FACTORS_AT + 4 * FACTOR_BYTES, FACTORS)};
}

template <int form> struct many_rows {
    typedef bytes_args args;
    enum { threads = 128, HAS_MIN = form == FORM_MIN || form == FORM_HALF_MIN };

    static SIMT_DEVICE void load_rows(const simt &t, const args &a, const product_view &v,
                                      const tile_memory &m, int64_t row, int64_t step)
    {
        const int64_t left = a.units - step * UNITS, entry = v.y / v.n + row;
        for (int e = t.thread(); e < TILE * 2 * UNITS; e += threads) {
            const int r = e / (2 * UNITS), chunk = e % (2 * UNITS);
            if (chunk / 2 >= left) continue;
            const int64_t at = ((entry + r) * a.units + step * UNITS) * UNIT + chunk * 16;
            if (row + r < v.a.rows)
                t.copy_async(m.a, chunk_at(r, chunk) / 2, a.q + at);
            else
                for (int k = 0; k < 4; k++) m.a_words[chunk_at(r, chunk) / 4 + k] = 0;
        }
        t.copy_commit();
        for (int e = t.thread(); e < FACTORS; e += threads) {
            const int u = e / TILE, r = e % TILE;
            const bool live = u < left && row + r < v.a.rows;
            const int64_t at = (entry + r) * a.units + step * UNITS + u;
            m.a_scale[e] = live ? a.scale[at] : 0;
            m.a_sum[e] = live ? a.sum[at] : 0;
        }
    }

    static SIMT_DEVICE void load_columns(const simt &t, const args &a, const product_view &v,
                                         const tile_memory &m, int64_t col, int64_t step)
    {
        const int64_t left = a.units - step * UNITS;
        const int64_t b_row = first_column(a, v) + col;
        for (int e = t.thread(); e < FACTORS; e += threads) {
            const int c = e / UNITS, u = e % UNITS;
            block_unit x = {};
            if (u < left && col + c < v.n) load_unit(t, x, a.b, b_row + c, step * UNITS + u);
            for (int k = 0; k < UNIT_WORDS; k++)
                m.b_words[chunk_at(c, 2 * u + k / 4) / 4 + k % 4] = x.q[k];
            m.scale[u * TILE + c] = x.scale;
            m.min[u * TILE + c] = x.min;
            m.half[u * TILE + c] = (x.half[0] & 255) | (x.half[1] & 255) << 8 |
                                   x.half_min[0] << 16 | x.half_min[1] << 24;
        }
    }

    /* A warp's terms of unit u. */
    static SIMT_DEVICE void add_unit(const simt &t, const tile_memory &m, float sum[2][4][4],
                                     int up, int left, int u)
    {
        const int l = t.lane(), row = l % 16, chunk = 2 * u + l / 16;
        uint32_t x[2][4], y[2][4];
        for (int i = 0; i < 2; i++)
            t.load_matrices(x[i], m.a, chunk_at(up + i * 16 + row, chunk) / 2);
        for (int j = 0; j < 2; j++)
            t.load_matrices(y[j], m.b, chunk_at(left + j * 16 + row, chunk) / 2);
        SIMT_UNROLL for (int j = 0; j < 4; j++)
        {
            float scale[2], min[2] = {0, 0};
            int half[2][2] = {{1, 1}, {1, 1}}, half_min[2][2] = {{1, 1}, {1, 1}};
            for (int c = 0; c < 2; c++) {
                const int at = u * TILE + left + j * 8 + l % 4 * 2 + c;
                scale[c] = m.scale[at];
                if (HAS_MIN) min[c] = m.min[at];
                const int32_t bits = form >= FORM_HALF ? (int32_t)m.half[at] : 0;
                for (int h = 0; h < 2; h++) {
                    half[c][h] = (int8_t)(bits >> 8 * h);
                    half_min[c][h] = bits >> (16 + 8 * h) & 255;
                }
            }
            SIMT_UNROLL for (int i = 0; i < 2; i++)
            {
                int d[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
                t.multiply_bytes(d[0], x[i], y[j / 2][j % 2]);
                t.multiply_bytes(d[form >= FORM_HALF], x[i] + 2, y[j / 2][j % 2 + 2]);
                SIMT_UNROLL for (int e = 0; e < 4; e++)
                {
                    const int c = e % 2, at = u * TILE + up + i * 16 + l / 4 + e / 2 * 8;
                    sum[i][j][e] +=
                        t.times(m.a_scale[at],
                                unit_term<form>(d[0][e], d[1][e], scale[c], min[c], half[c],
                                                half_min[c], HAS_MIN ? (int32_t)m.a_sum[at] : 0));
                }
            }
        }
    }

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const product_tile tile = tile_of(t, a.g, a.groups, TILE);
        const product_view &v = tile.v;
        const int64_t row = tile.row, col = tile.col, per_part = part_steps(a.units);
        const int up = t.warp() / 2 * QUARTER, left = t.warp() % 2 * QUARTER, l = t.lane();
        const tile_memory m = tile_memory_of(t);
        float sum[2][4][4] = {{{0}}}, all[2][4][4] = {{{0}}};
        if (row >= v.a.rows || v.a.rows <= FEW_ROWS) return;
        for (int64_t step = 0; step < steps_of(a.units); step++) {
            t.sync(); /* readers of the tiles before */
            load_rows(t, a, v, m, row, step);
            load_columns(t, a, v, m, col, step);
            t.copy_wait<0>();
            t.sync();
            for (int u = 0; u < UNITS; u++)
                if (step * UNITS + u < a.units) add_unit(t, m, sum, up, left, u);
            if ((step + 1) % per_part != 0 && step + 1 != steps_of(a.units)) continue;
            SIMT_UNROLL for (int e = 0; e < 2 * 4 * 4; e++)
            {
                all[e / 16][e / 4 % 4][e % 4] += sum[e / 16][e / 4 % 4][e % 4];
                sum[e / 16][e / 4 % 4][e % 4] = 0;
            }
        }
        SIMT_UNROLL for (int e = 0; e < 2 * 4 * 4; e++)
        {
            const int i = e / 16, j = e / 4 % 4, part = e % 4;
            product_store(a.g, v, row + up + i * 16 + l / 4 + part / 2 * 8,
                          col + left + j * 8 + l % 4 * 2 + part % 2, all[i][j][part]);
        }
    }
};

/* ---- launches ---------------------------------------------------------------------------------
 */

int launch_few(const hpc_cuda_stream *s, const bytes_args &a, simt_shape shape)
{
    switch (a.b.dtype) {
    case HPC_Q8_0: return simt_launch<few_rows<HPC_Q8_0>>(s, shape, a);
    case HPC_Q4_0: return simt_launch<few_rows<HPC_Q4_0>>(s, shape, a);
    case HPC_Q4_K: return simt_launch<few_rows<HPC_Q4_K>>(s, shape, a);
    case HPC_Q5_K: return simt_launch<few_rows<HPC_Q5_K>>(s, shape, a);
    case HPC_Q6_K: return simt_launch<few_rows<HPC_Q6_K>>(s, shape, a);
    case HPC_Q4_1: return simt_launch<few_rows<HPC_Q4_1>>(s, shape, a);
    case HPC_Q5_0: return simt_launch<few_rows<HPC_Q5_0>>(s, shape, a);
    case HPC_Q5_1: return simt_launch<few_rows<HPC_Q5_1>>(s, shape, a);
    case HPC_Q2_K: return simt_launch<few_rows<HPC_Q2_K>>(s, shape, a);
    case HPC_Q3_K: return simt_launch<few_rows<HPC_Q3_K>>(s, shape, a);
    case HPC_IQ4_NL: return simt_launch<few_rows<HPC_IQ4_NL>>(s, shape, a);
    default: return simt_launch<few_rows<HPC_IQ4_XS>>(s, shape, a);
    }
}

int launch_many(const hpc_cuda_stream *s, const bytes_args &a, simt_shape shape)
{
    switch (a.b.dtype) {
    case HPC_Q4_K:
    case HPC_Q5_K:
    case HPC_Q4_1:
    case HPC_Q5_1: return simt_launch<many_rows<FORM_MIN>>(s, shape, a);
    case HPC_Q6_K:
    case HPC_Q3_K: return simt_launch<many_rows<FORM_HALF>>(s, shape, a);
    case HPC_Q2_K: return simt_launch<many_rows<FORM_HALF_MIN>>(s, shape, a);
    default: return simt_launch<many_rows<FORM_PLAIN>>(s, shape, a);
    }
}

/* If the live rows are known on the device alone, both kernels start, and the one that they do not
 * suit ends at once. */
int launch(const hpc_cuda_stream *s, const hpc_matmul_args &g, const product_groups &groups,
           void *workspace)
{
    const int64_t m = g.a.extent[g.a.rank - 2], k = cols_of(g.a), rows = rows_of(g.a);
    const int64_t units = k / UNIT;
    const int batch = g.a.rank == 3 ? (int)g.a.extent[0] : 1;
    int8_t *q = (int8_t *)workspace;
    float *scale = (float *)(q + rows * k);
    const bytes_args a = {
        g, block_view_of(g.b), q, scale, (int32_t *)(scale + rows * units), units, groups};
    const int per_block = round_rows::threads / round_rows::LANES;
    const simt_shape rounding = {(m * units + per_block - 1) / per_block, batch,
                                 round_rows::threads, 0, false};
    const simt_shape few = {(cols_of(g.y) + COLUMNS - 1) / COLUMNS, groups.start ? groups.n : batch,
                            WARPS * SIMT_WARP, FEW_SHARED, false};
    const simt_shape many = tiles_of(g, groups, TILE, many_rows<FORM_PLAIN>::threads, MANY_SHARED);
    int rc = simt_launch<round_rows>(s, rounding, a);
    if (rc == 0 && (m <= FEW_ROWS || g.a.ragged >= 0 || groups.start)) rc = launch_few(s, a, few);
    return rc == 0 && m > FEW_ROWS ? launch_many(s, a, many) : rc;
}

} // namespace

int hpc_cuda_matmul_bytes(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    return launch(s, *(const hpc_matmul_args *)args, product_groups(), workspace);
}

int hpc_cuda_grouped_bytes(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const hpc_grouped_args &g = *(const hpc_grouped_args *)args;
    return launch(s, grouped_product(g), groups_of(g), workspace);
}
