/*
 * weights_read.c: reads rows of stored tensors in our layout.
 */
#include <math.h>
#include <string.h>

#include "model/priv.h"

static size_t row_bytes(const model_source *s)
{
    const hpc_dtype_info *info = hpc_dtype_get(s->t.dtype);
    return (size_t)(s->cols / info->block) * info->block_bytes;
}

/* The stored row of our row r. */
static const uint8_t *row_at(const model_source *s, int64_t r)
{
    return (const uint8_t *)s->t.data + (size_t)model_stored_row(&s->s, r) * row_bytes(s);
}

/* Number of our rows from r on that are contiguous in the file, at most n. */
static int64_t run_from(const model_source *s, int64_t r, int64_t n)
{
    int64_t run = s->s.slots == 1 ? s->rows - r : s->s.run - r % s->s.run;
    if (s->s.paired) return 1;
    return n < run ? n : run;
}

/* Other projects' files may have unaligned data. Blocks occur only in GGUF, which is aligned. */
static void to_f32(float *out, const uint8_t *from, hpc_dtype dtype, int64_t n)
{
    enum { PIECE = 1024 };
    uint64_t piece[PIECE];
    size_t bytes = hpc_dtype_get(dtype)->block_bytes;
    if (hpc_dtype_get(dtype)->quantised || (uintptr_t)from % bytes == 0) {
        hpc_to_f32(out, from, dtype, n);
        return;
    }
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t m = n - i < PIECE ? n - i : PIECE;
        memcpy(piece, from + (size_t)i * bytes, (size_t)m * bytes);
        hpc_to_f32(out + i, piece, dtype, m);
    }
}

/* A stored row of a transposed tensor holds one of our columns, and those of tensors
 * fused with it. */
static void read_columns(float *out, const model_source *s, int64_t first, int64_t n)
{
    enum { PIECE = 256 };
    float piece[PIECE];
    size_t bytes = hpc_dtype_get(s->t.dtype)->block_bytes;
    for (int64_t k = 0; k < s->cols; k++)
        for (int64_t r = 0; r < n; r += PIECE) {
            int64_t m = n - r < PIECE ? n - r : PIECE;
            int64_t from = k * s->s.total + s->s.base + first + r;
            to_f32(piece, (const uint8_t *)s->t.data + (size_t)from * bytes, s->t.dtype, m);
            for (int64_t i = 0; i < m; i++) out[(r + i) * s->cols + k] = piece[i];
        }
}

static float scale_at(const hpc_stored_tensor *s, int64_t i)
{
    const hpc_dtype_info *info = hpc_dtype_get(s->dtype);
    float x;
    to_f32(&x, (const uint8_t *)s->data + (size_t)i * info->block_bytes, s->dtype, 1);
    return x;
}

/* Are the scales of the blocks in these rows finite? */
static bool scales_finite(const model_source *s, int64_t first, int64_t n)
{
    bool finite = true;
    for (int64_t r = 0, last = -1; r < n && finite; r++) {
        int64_t row = model_stored_row(&s->s, first + r) / s->scale_block[0];
        for (int64_t c = 0; row != last && c < s->scale.extent[1]; c++)
            finite = finite && isfinite(scale_at(&s->scale, row * s->scale.extent[1] + c));
        last = row;
    }
    return finite;
}

/* Multiplies rows that were read with the scales of their blocks. */
static void multiply(float *out, const model_source *s, int64_t first, int64_t n)
{
    for (int64_t r = 0; r < n; r++) {
        int64_t row = model_stored_row(&s->s, first + r) / s->scale_block[0];
        for (int64_t c = 0; c < s->cols; c += s->scale_block[1]) {
            float by = scale_at(&s->scale, row * s->scale.extent[1] + c / s->scale_block[1]);
            int64_t end = c + s->scale_block[1] < s->cols ? c + s->scale_block[1] : s->cols;
            for (int64_t k = c; k < end; k++) out[r * s->cols + k] *= by;
        }
    }
}

void model_source_read(float *out, const model_source *s, int64_t first, int64_t n)
{
    if (s->s.transposed) read_columns(out, s, first, n);
    for (int64_t r = 0, some; !s->s.transposed && r < n; r += some) {
        some = run_from(s, first + r, n - r);
        to_f32(out + r * s->cols, row_at(s, first + r), s->t.dtype, some * s->cols);
    }
    for (int64_t i = 0; s->s.shift != 0 && i < n * s->cols; i++) out[i] += s->s.shift;
    if (s->scale.data) multiply(out, s, first, n);
    if (s->delta) model_delta_add(out, s, first, n);
}

const void *model_source_rows(const model_source *s, int64_t first, int64_t n)
{
    bool whole = !s->s.transposed && run_from(s, first, n) == n;
    return whole ? row_at(s, first) : NULL;
}

void model_source_copy(void *out, const model_source *s, int64_t first, int64_t n)
{
    size_t row = row_bytes(s);
    hpc_assert(!s->s.transposed);
    for (int64_t r = 0, some; r < n; r += some) {
        some = run_from(s, first + r, n - r);
        memcpy((uint8_t *)out + (size_t)r * row, row_at(s, first + r), (size_t)some * row);
    }
}

int model_source_check(const model_source *s, int64_t first, int64_t n)
{
    bool finite = !s->scale.data || scales_finite(s, first, n);
    bool blocks = !s->s.transposed && hpc_dtype_get(s->t.dtype)->quantised;
    for (int64_t r = 0, some; blocks && r < n && finite; r += some) {
        some = run_from(s, first + r, n - r);
        finite = hpc_blocks_finite(row_at(s, first + r), s->t.dtype, some * s->cols);
    }
    if (finite) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT,
                    "tensor %s: the scale of a block is NaN or infinite: the file is damaged",
                    s->t.name);
}

void model_source_drop(const model_source *s, int64_t first, int64_t n)
{
    const uint8_t *from = s->t.data, *to = from + s->t.bytes;
    int64_t head = s->s.paired ? s->s.paired : 1; /* permuted within a head */
    int64_t last = (first + n + head - 1) / head * head - 1;
    if (n < 1) return;
    if (!s->s.transposed) {
        from = row_at(s, first / head * head);
        to = row_at(s, last < s->rows ? last : s->rows - 1) + row_bytes(s);
    }
    hpc_file_drop(s->view, from, (size_t)(to - from));
}
