/*
 * delta.c: a model stored as its differences from another model, in ternary digits.
 *
 * A matrix differs by a product of two vectors, the best of rank 1, because fine-tuning moves most
 * rows of an embedding the same way. A row of the rest is scale * {-1, 0, 1}: a digit is not 0
 * where the rest exceeds 3/4 of the row's mean magnitude, and the scale is the mean magnitude of
 * those elements (Li, Zhang and Liu 2016). That takes 1.8 bits per parameter. Vectors are exact, in
 * f32. The file is a GGUF of general.type "adapter" that names its base, a GGUF file in the same
 * folder, and the hash of that file. Tensors have our names and layout; llama.cpp does not read
 * them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/priv.h"
#include "runtime/base/bytes.h"

/* A matrix is stored as words of 32 bits: the direction, one number per column; then each row: the
 * factor of the direction, the scale, and the digits, five in a byte. */
enum { DIGITS = 20 /* of a word */, ROW_HEAD = 2, HASH_TEXT = 33, STEPS = 8 };
static const char KIND[] = "hpccoder.ternary";

static int64_t row_words(int64_t cols)
{
    return ROW_HEAD + (cols + DIGITS - 1) / DIGITS;
}

static int64_t tensor_words(const hpc_model_tensor *t)
{
    return t->rank == 2 ? t->extent[1] + t->extent[0] * row_words(t->extent[1]) : t->extent[0];
}

static void hash_text(char out[HASH_TEXT], const hpc_gguf *g)
{
    const hpc_file_view *view = model_gguf_view(g);
    hpc_hash128 h = hpc_hash_wide(view->data, view->bytes);
    snprintf(out, HASH_TEXT, "%016llx%016llx", (unsigned long long)h.high,
             (unsigned long long)h.low);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int open_base(model_file *f)
{
    char name[256], kind[32], hash[64], is[HASH_TEXT];
    hpc_buf path = {0};
    int rc = HPC_OK;
    TRY(model_gguf_text(kind, sizeof kind, f->delta, "adapter.type"));
    if (strcmp(kind, KIND) != 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s: adapter.type is '%s'; merge such an adapter into its model before use",
                     f->path, kind));
    TRY(model_gguf_text(name, sizeof name, f->delta, "adapter.base"));
    TRY(model_gguf_text(hash, sizeof hash, f->delta, "adapter.base_hash"));
    if (!*name || strchr(name, '/'))
        TRY(hpc_fail(HPC_E_FORMAT, "%s: adapter.base is '%s', not a file name", f->path, name));
    const char *end = strrchr(f->path, '/');
    TRY(hpc_buf_printf(&path, "%.*s%s", end ? (int)(end + 1 - f->path) : 0, f->path, name));
    if (!hpc_file_exists(path.data))
        TRY(hpc_fail(HPC_E_IO,
                     "%s holds differences from %s, which is not in its folder: put it there",
                     f->path, name));
    TRY(hpc_gguf_open(&f->gguf, path.data));
    if (model_gguf_parts(f->gguf) > 1)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s: differences from a split model are not supported",
                     f->path));
    hash_text(is, f->gguf);
    if (strcmp(is, hash) != 0)
        TRY(hpc_fail(
            HPC_E_FORMAT,
            "%s holds differences from another %s than the one in its folder: put the base "
            "that it was exported with there, or export it again with --delta-from",
            f->path, name));
out:
    hpc_buf_release(&path);
    return rc;
}

int model_delta_open(model_file *f)
{
    char type[32];
    int rc = model_gguf_text(type, sizeof type, f->gguf, "general.type");
    if (rc < 0 || strcmp(type, "adapter") != 0) return rc;
    f->delta = f->gguf;
    f->gguf = NULL;
    return open_base(f);
}

int model_delta_find(const uint8_t **out, const hpc_gguf *g, const hpc_model_tensor *t)
{
    hpc_stored_tensor s;
    int rc = hpc_gguf_find(&s, g, t->name);
    if (rc < 0) return rc;
    if (s.rank != 1 || s.extent[0] != tensor_words(t) ||
        s.dtype != (t->rank == 2 ? HPC_I32 : HPC_F32))
        return hpc_fail(HPC_E_FORMAT, "%s: tensor %s does not fit its base", model_gguf_path(g),
                        t->name);
    *out = s.data;
    return HPC_OK;
}

static float number_at(const uint8_t *at)
{
    uint32_t bits = hpc_get32(at);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The digits of four bytes, five in each. */
static void read_digits(int8_t out[DIGITS], const uint8_t *bytes)
{
    static const int8_t value[3] = {0, 1, -1};
    for (int b = 0; b < 4; b++) {
        uint32_t x = bytes[b];
        for (int k = 0; k < DIGITS / 4; k++, x /= 3) out[DIGITS / 4 * b + k] = value[x % 3];
    }
}

static void add_row(float *out, const uint8_t *row, const uint8_t *direction, int64_t cols)
{
    float factor = number_at(row), scale = number_at(row + 4), v[DIGITS] = {0};
    int8_t digit[DIGITS];
    const uint8_t *digits = row + (size_t)4 * ROW_HEAD;
    for (int64_t c = 0; c < cols; c += DIGITS, digits += 4) {
        int64_t n = cols - c < DIGITS ? cols - c : DIGITS;
        read_digits(digit, digits);
        memcpy(v, direction + 4 * c, (size_t)n * sizeof *v);
        for (int k = 0; k < DIGITS; k++) v[k] = factor * v[k] + scale * (float)digit[k];
        for (int64_t k = 0; k < n; k++) out[c + k] += v[k];
    }
}

void model_delta_add(float *out, const model_source *s, int64_t first, int64_t n)
{
    if (s->vector) {
        for (int64_t i = 0; i < n; i++) out[i] += number_at(s->delta + 4 * (first + i));
        return;
    }
    const uint8_t *rows = s->delta + 4 * (size_t)s->cols;
    size_t bytes = 4 * (size_t)row_words(s->cols);
    for (int64_t r = 0; r < n; r++)
        add_row(out + r * s->cols, rows + (size_t)(first + r) * bytes, s->delta, s->cols);
}

/* ---- writing -------------------------------------------------------------------------------- */

typedef struct saver {
    const hpc_delta_options *o;
    hpc_model_tensor *list;
    hpc_stored_tensor *stored;
    int64_t n;
    hpc_weights *base;
    float *x, *y; /* a tensor of the model and of its base */
    double *sum;
    uint8_t *row; /* as stored, or a direction */
} saver;

static void put_number(uint8_t *at, double x)
{
    float narrow = (float)x;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    hpc_put32(at, bits);
}

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += (double)a[k] * b[k];
    return sum;
}

/* By power iteration from the mean of the rows. sum: scratch of cols. */
static void find_direction(float *v, double *sum, const float *d, int64_t rows, int64_t cols)
{
    for (int64_t k = 0; k < cols; k++) v[k] = 1;
    for (int step = 0; step < STEPS; step++) {
        for (int64_t k = 0; k < cols; k++) sum[k] = 0;
        for (int64_t r = 0; r < rows; r++) {
            double factor = step == 0 ? 1 : dot(d + r * cols, v, cols);
            for (int64_t k = 0; k < cols; k++) sum[k] += factor * d[r * cols + k];
        }
        double norm = 0;
        for (int64_t k = 0; k < cols; k++) norm += sum[k] * sum[k];
        norm = norm > 0 ? sqrt(norm) : 1;
        for (int64_t k = 0; k < cols; k++) v[k] = (float)(sum[k] / norm);
    }
}

static void pack_row(uint8_t *out, float *d, const float *v, int64_t cols)
{
    double factor = dot(d, v, cols), sum = 0, above = 0;
    int64_t above_n = 0;
    for (int64_t k = 0; k < cols; k++) {
        d[k] -= (float)factor * v[k];
        sum += fabsf(d[k]);
    }
    double least = 0.75 * sum / (double)cols;
    for (int64_t k = 0; k < cols; k++) {
        if (fabsf(d[k]) <= least) continue;
        above += fabsf(d[k]);
        above_n++;
    }
    put_number(out, factor);
    put_number(out + 4, above_n > 0 ? above / (double)above_n : 0);
    out += (size_t)4 * ROW_HEAD;
    memset(out, 0, 4 * (size_t)(row_words(cols) - ROW_HEAD));
    for (int64_t k = cols; k-- > 0;) {
        int digit = fabsf(d[k]) <= least ? 0 : d[k] > 0 ? 1 : 2;
        out[k / (DIGITS / 4)] = (uint8_t)(3 * out[k / (DIGITS / 4)] + digit);
    }
}

static int write_tensor(hpc_file_writer *w, int64_t i, void *user)
{
    saver *v = user;
    const hpc_model_tensor *t = &v->list[i];
    int64_t rows = t->extent[0], cols = t->rank == 2 ? t->extent[1] : 1;
    int rc;
    TRY(v->o->read(v->x, t, v->o->user));
    TRY(hpc_weights_read(v->y, v->base, t));
    for (int64_t k = 0; k < rows * cols; k++) v->x[k] -= v->y[k];
    if (t->rank == 1) return hpc_file_write(w, v->x, (size_t)rows * sizeof *v->x);
    float *direction = v->y;
    find_direction(direction, v->sum, v->x, rows, cols);
    for (int64_t k = 0; k < cols; k++) put_number(v->row + 4 * k, direction[k]);
    TRY(hpc_file_write(w, v->row, 4 * (size_t)cols));
    for (int64_t r = 0; r < rows; r++) {
        pack_row(v->row, v->x + r * cols, direction, cols);
        TRY(hpc_file_write(w, v->row, 4 * (size_t)row_words(cols)));
    }
out:
    return rc;
}

static int plan(saver *v, const hpc_model_config *c)
{
    size_t most = 0, wide = 0;
    int rc = HPC_OK;
    if (c->experts > 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "experts=%lld: differences from a base are not supported",
                     (long long)c->experts));
    TRY(hpc_model_tensors(&v->list, &v->n, c));
    v->stored = hpc_alloc((size_t)v->n, sizeof *v->stored);
    if (!v->stored) TRY(HPC_E_NOMEM);
    for (int64_t i = 0; i < v->n; i++) {
        const hpc_model_tensor *t = &v->list[i];
        size_t cols = t->rank == 2 ? (size_t)t->extent[1] : 1;
        v->stored[i] = (hpc_stored_tensor){.name = t->name,
                                           .dtype = t->rank == 2 ? HPC_I32 : HPC_F32,
                                           .rank = 1,
                                           .extent = {tensor_words(t)},
                                           .bytes = 4 * (size_t)tensor_words(t)};
        if ((size_t)t->extent[0] * cols > most) most = (size_t)t->extent[0] * cols;
        if (cols > wide) wide = cols;
    }
    v->x = hpc_alloc(most, sizeof *v->x);
    v->y = hpc_alloc(most, sizeof *v->y);
    v->sum = hpc_alloc(wide, sizeof *v->sum);
    v->row = hpc_alloc(wide + (size_t)row_words((int64_t)wide), 4);
    rc = v->x && v->y && v->sum && v->row ? HPC_OK : HPC_E_NOMEM;
out:
    return rc;
}

static int check_alike(const char *base, const hpc_model_config *c, const hpc_model_config *of_base)
{
    double was, is;
    hpc_model_config alike = *c;
    alike.dtype = of_base->dtype; /* numbers are f32 here */
    alike.init_std = of_base->init_std;
    const char *key = model_config_difference(&was, &is, &alike, of_base);
    if (!key) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "--delta-from %s: its %s is %.9g, that of the model is %.9g", base,
                    key, is, was);
}

static int put_keys(model_gguf_list *l, const model_file *base, const hpc_model_config *c)
{
    char hash[HASH_TEXT];
    const char *slash = strrchr(base->path, '/');
    hash_text(hash, base->gguf);
    model_gguf_put_text(l, "general.architecture", model_gguf_arch_of(c->family)->name);
    model_gguf_put_text(l, "general.type", "adapter");
    model_gguf_put_text(l, "adapter.type", KIND);
    model_gguf_put_text(l, "adapter.base", slash ? slash + 1 : base->path);
    model_gguf_put_text(l, "adapter.base_hash", hash);
    return l->failed;
}

int hpc_delta_save(const char *path, const hpc_model_config *c, const hpc_delta_options *o)
{
    saver v = {.o = o};
    model_gguf_list l = {.arena = hpc_arena_create(0)};
    model_file f = {0};
    hpc_model_config of_base;
    int rc = HPC_OK;
    if (!l.arena) TRY(HPC_E_NOMEM);
    if (c->adapter.rank > 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "--delta-from: export the run without it first, which merges its adapters"));
    TRY(model_file_open(&f, o->base));
    if (!f.gguf || f.delta || model_gguf_parts(f.gguf) > 1)
        TRY(hpc_fail(HPC_E_ARG, "--delta-from %s is not a FILE.gguf with a whole model", o->base));
    TRY(model_file_config(&of_base, &f));
    TRY(check_alike(o->base, c, &of_base));
    TRY(model_file_weights(&v.base, &f, &of_base));
    TRY(plan(&v, &of_base));
    TRY(put_keys(&l, &f, &of_base));
    TRY(hpc_gguf_save(path, l.value, l.n, v.stored, v.n, write_tensor, &v));
out:
    hpc_weights_close(v.base);
    model_file_close(&f);
    hpc_free(v.list);
    hpc_free(v.stored);
    hpc_free(v.x);
    hpc_free(v.y);
    hpc_free(v.sum);
    hpc_free(v.row);
    hpc_free(l.value);
    hpc_arena_free(l.arena);
    return rc;
}
