/*
 * engine_model.c: the weights of a model in the inference program, and the runs of that program.
 */
#include "infer/engine/priv.h"

#include <stdio.h>
#include <string.h>

enum { BATCH_TOKENS = 512, REQUESTS = 16 };

/* ---- opening --------------------------------------------------------------------------------- */

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    const engine_model *m = user;

    return m->packed ? hpc_packed_dtype(m->packed, t) : hpc_serve_choose(m->from, t, m->weights);
}

/* Matrices of experts stay in the file if it has them as the device's kernels take them: memory
 * then holds only the experts that are used. */
static bool is_plain(const hpc_model_tensor *t, const void *user)
{
    const engine_model *m = user;

    return m->maps && hpc_serve_mapped(m->from, t, type_of(t, m)) != NULL;
}

static void choose_shape(engine_model *m, const hpc_engine_options *o)
{
    int64_t longest = (m->c.positions + ENGINE_PAGE - 1) / ENGINE_PAGE;
    int64_t pages = (o->cache_tokens + ENGINE_PAGE - 1) / ENGINE_PAGE;

    if (pages < 1) pages = longest;
    m->shape = (hpc_serve_emission){.tokens = o->batch_tokens > 0 ? o->batch_tokens : BATCH_TOKENS,
                                    .sequences = o->requests > 0 ? o->requests : REQUESTS,
                                    .pages = pages,
                                    .page = ENGINE_PAGE,
                                    .sequence_pages = pages < longest ? pages : longest,
                                    .cache = o->cache,
                                    .dtype = type_of,
                                    .plain = m->packed ? NULL : is_plain,
                                    .user = m,
                                    .device = m->d};
    m->shape.outputs = m->shape.sequences * (1 + (o->guess > 0 ? o->guess : 0));
    m->shape.samples = !hpc_device_about(m->d).host_memory && m->c.vocab <= HPC_SAMPLE_VOCAB;
}

static int open_files(engine_model *m, const hpc_engine_options *o)
{
    int rc = HPC_OK;

    m->weights = o->weights;
    if (!o->files) TRY(hpc_model_files_open(&m->own, o->model));
    m->files = o->files ? o->files : m->own;
    m->c = *hpc_model_files_config(m->files);
    m->packed = hpc_model_files_packed(m->files);
    if (!m->packed) TRY(hpc_model_files_weights(&m->from, m->files));
    if (!m->packed && m->weights == HPC_DTYPE_N) TRY(hpc_weights_note(&m->note, m->from));
    if (m->packed && m->weights != HPC_DTYPE_N)
        TRY(hpc_fail(
            HPC_E_ARG,
            "the types of a packed model are fixed; for %s, use the model that it was made from",
            hpc_dtype_get(m->weights)->name));
out:
    return rc;
}

/* Parameters are lent where the device reads the host's memory. */
static int open_packed(engine_model *m)
{
    hpc_lent *list = NULL;
    hpc_exec_options o = {0};
    int64_t n = 0;
    bool host = hpc_device_about(m->d).host_memory;
    int rc;

    TRY(hpc_packed_lend(&list, &n, m->packed, m->p));
    if (host) o.lent = list, o.lent_n = n;
    TRY(hpc_exec_open(&m->e, m->p, m->d, NULL, &o));
    for (int64_t k = 0; k < n && !host; k++)
        TRY(hpc_exec_write(m->e, 0, list[k].state, list[k].data, list[k].bytes));
    TRY(hpc_serve_frequencies(m->e, m->p, &m->c));
out:
    hpc_free(list);
    return rc;
}

/* Packed files have the layouts of the CPU. */
static int check_packed(const engine_model *m)
{
    if (hpc_device_layout(m->d, HPC_WEIGHT_PRODUCT, HPC_F32).pack == HPC_PANEL16) return HPC_OK;
    return hpc_fail(
        HPC_E_UNSUPPORTED,
        "packed files are for the CPU; on device %s, use the model that it was made from",
        hpc_device_about(m->d).backend);
}

static int open_stored(engine_model *m)
{
    hpc_exec_options o = {0};
    hpc_lent *list = NULL;
    int rc = HPC_OK;

    if (m->maps) TRY(hpc_serve_lend(&list, &o.lent_n, m->p, m->from, &m->c));
    o.lent = list;
    m->maps = o.lent_n > 0;
    TRY(hpc_exec_open(&m->e, m->p, m->d, NULL, &o));
    TRY(hpc_serve_load(m->e, m->p, m->d, m->from, &m->c));
out:
    hpc_free(list);
    return rc;
}

int engine_model_open(engine_model *m, const hpc_engine_options *o)
{
    const hpc_device_options device = {
        .backend = o->backend, .isa = o->isa, .threads = o->threads, .library = o->library};
    int rc;

    TRY(open_files(m, o));
    TRY(hpc_device_open(&m->d, &device));
    if (m->packed) TRY(check_packed(m));
    m->c.dtype = hpc_device_about(m->d).activations; /* whatever weights are stored as */
    m->maps = hpc_device_about(m->d).host_memory;
    choose_shape(m, o);
    m->p = hpc_program_create();
    if (!m->p) TRY(HPC_E_NOMEM);
    TRY(hpc_serve_emit(&m->io, m->p, &m->c, &m->shape));
    TRY(m->packed ? open_packed(m) : open_stored(m));
out:
    rc = engine_memory_explain(m, rc);
    if (!m->maps || rc < 0) {
        hpc_weights_close(m->from);
        m->from = NULL;
    }
    if (!m->packed && !m->maps) {
        hpc_model_files_close(m->own);
        m->own = NULL;
    }
    return rc < 0 ? hpc_error_where("%s", o->model) : rc;
}

void engine_model_close(engine_model *m)
{
    hpc_exec_close(m->e);
    hpc_device_close(m->d);
    hpc_program_free(m->p);
    hpc_weights_close(m->from);
    hpc_model_files_close(m->own);
    hpc_buf_release(&m->note);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Creates host memory for the results of the device. */
static int create_results(engine_batch *b, const engine_model *m)
{
    const size_t rows = (size_t)m->shape.outputs, vocab = (size_t)m->c.vocab;
    void *logits = NULL, *drawn = NULL, *logprob = NULL;
    int rc;

    TRY(hpc_device_host_alloc(&logits, m->d, rows * vocab * sizeof *b->logits));
    if (!m->shape.samples) goto out;
    TRY(hpc_device_host_alloc(&drawn, m->d, rows * sizeof *b->drawn));
    TRY(hpc_device_host_alloc(&logprob, m->d, rows * sizeof *b->logprob));
    b->how = hpc_alloc(rows, sizeof *b->how);
    if (!b->how) TRY(HPC_E_NOMEM);
out:
    b->logits = logits;
    b->drawn = drawn;
    b->logprob = logprob;
    return rc;
}

int engine_batch_create(engine_batch *b, const engine_model *m)
{
    const hpc_serve_emission *s = &m->shape;
    size_t tokens = (size_t)s->tokens, sequences = (size_t)s->sequences;

    b->token = hpc_alloc(tokens, sizeof *b->token);
    b->pos = hpc_alloc(tokens, sizeof *b->pos);
    b->slot = hpc_alloc(tokens, sizeof *b->slot);
    b->start = hpc_alloc(sequences + 1, sizeof *b->start);
    b->len = hpc_alloc(sequences, sizeof *b->len);
    b->page = hpc_alloc(sequences * (size_t)s->sequence_pages, sizeof *b->page);
    b->output = hpc_alloc((size_t)s->outputs, sizeof *b->output);
    b->reads = hpc_alloc((size_t)s->outputs, sizeof *b->reads);
    bool all = b->token && b->pos && b->slot && b->start && b->len && b->page && b->output;
    return all && b->reads ? create_results(b, m) : HPC_E_NOMEM;
}

void engine_batch_free(engine_batch *b, const engine_model *m)
{
    void *const all[] = {b->token, b->pos,    b->slot,  b->start, b->len,
                         b->page,  b->output, b->reads, b->how};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) hpc_free(all[k]);
    hpc_device_host_free(m->d, b->logits);
    hpc_device_host_free(m->d, b->drawn);
    hpc_device_host_free(m->d, b->logprob);
}

static int put(engine_model *m, hpc_value v, const void *x)
{
    return hpc_exec_write(m->e, 0, v, x, hpc_type_bytes(&m->p->value[v].type));
}

static int put_count(engine_model *m, hpc_value v, int64_t n)
{
    const int32_t count = (int32_t)n;

    return put(m, v, &count);
}

/* The rows that the host needs, without a fence: runs of them together. */
static int fetch_rows(engine_model *m, engine_batch *b)
{
    const size_t vocab = (size_t)m->c.vocab;
    int rc = HPC_OK;

    for (int64_t first = 0, end; first < b->output_n; first = end) {
        for (end = first + 1; end < b->output_n && b->reads[end] == b->reads[first];) end++;
        if (!b->reads[first]) continue;
        TRY(hpc_exec_fetch_rows(m->e, 0, m->io.logits, b->logits + (size_t)first * vocab, first,
                                end - first));
    }
out:
    return rc;
}

/* From where they are, if the host can look there. One fence otherwise. */
static int take_results(engine_model *m, engine_batch *b)
{
    const void *there = hpc_exec_address(m->e, 0, m->io.logits);
    int rc;

    if (there) {
        memcpy(b->logits, there, (size_t)b->output_n * (size_t)m->c.vocab * sizeof *b->logits);
        return HPC_OK;
    }
    if (b->how) {
        TRY(hpc_exec_fetch_rows(m->e, 0, m->io.drawn, b->drawn, 0, b->output_n));
        TRY(hpc_exec_fetch_rows(m->e, 0, m->io.logprob, b->logprob, 0, b->output_n));
    }
    TRY(fetch_rows(m, b));
    TRY(hpc_exec_fence(m->e));
out:
    return rc;
}

int engine_model_read(engine_model *m, engine_batch *b, int64_t row)
{
    int rc;

    TRY(hpc_exec_fetch_rows(m->e, 0, m->io.logits, b->logits + row * m->c.vocab, row, 1));
    TRY(hpc_exec_fence(m->e));
out:
    return rc;
}

/* One fence: that of reading the results. */
int engine_model_run(engine_model *m, engine_batch *b)
{
    const hpc_serve_io *io = &m->io;
    int rc;

    TRY(put(m, io->tokens, b->token));
    TRY(put(m, io->pos, b->pos));
    TRY(put(m, io->slot, b->slot));
    TRY(put_count(m, io->tokens_n, b->token_n));
    TRY(put(m, io->start, b->start));
    TRY(put_count(m, io->start_n, b->sequence_n + 1));
    TRY(put(m, io->len, b->len));
    TRY(put(m, io->pages, b->page));
    TRY(put(m, io->output, b->output));
    TRY(put_count(m, io->output_n, b->output_n));
    if (b->how) TRY(put(m, io->how, b->how));
    TRY(hpc_exec_enqueue(m->e, io->decode, 0));
    TRY(take_results(m, b));
out:
    return rc;
}
