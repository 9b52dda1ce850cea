/*
 * Teacher-forced likelihood of a text under a model: the inference program with logits at every
 * token, in overlapping windows.
 */
#include <math.h>
#include <string.h>

#include "eval/sets.h"
#include "model/serve.h"

enum { STEP = 64, PAGE = 16, CONTEXT = 1024 };

struct hpc_likelihood {
    hpc_model_config c;
    hpc_weights *weights;
    hpc_serve_emission shape;
    hpc_serve_io io;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    int32_t *input; /* capacity for one operand of the program */
    float *logits;  /* [STEP, vocab] */
    int64_t context;
};

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    const hpc_likelihood *l = user;

    return hpc_serve_choose(l->weights, t, HPC_DTYPE_N);
}

static int open_program(hpc_likelihood *l, const hpc_likelihood_options *o)
{
    const hpc_device_options device = {.backend = o->device, .threads = o->threads};
    int64_t pages = (l->context + PAGE - 1) / PAGE;
    int rc;

    TRY(hpc_device_open(&l->d, &device));
    l->c.dtype = hpc_device_about(l->d).activations;
    l->shape = (hpc_serve_emission){.tokens = STEP,
                                    .sequences = 1,
                                    .outputs = STEP,
                                    .pages = pages,
                                    .page = PAGE,
                                    .sequence_pages = pages,
                                    .cache = HPC_F32,
                                    .dtype = type_of,
                                    .user = l,
                                    .device = l->d};
    l->p = hpc_program_create();
    l->input = hpc_alloc((size_t)(STEP + pages + 2), sizeof(*l->input));
    l->logits = hpc_alloc((size_t)(STEP * l->c.vocab), sizeof(*l->logits));
    if (!l->p || !l->input || !l->logits) TRY(HPC_E_NOMEM);
    TRY(hpc_serve_emit(&l->io, l->p, &l->c, &l->shape));
    TRY(hpc_exec_open(&l->e, l->p, l->d, NULL, NULL));
    TRY(hpc_serve_load(l->e, l->p, l->d, l->weights, &l->c));
out:
    return rc;
}

int hpc_likelihood_open(hpc_likelihood **out, const hpc_model_files *files,
                        const hpc_likelihood_options *o)
{
    hpc_likelihood *l = hpc_alloc(1, sizeof(*l));
    int rc = l ? HPC_OK : HPC_E_NOMEM;

    if (rc < 0) return rc;
    if (hpc_model_files_packed(files))
        TRY(hpc_fail(
            HPC_E_UNSUPPORTED,
            "likelihoods need a model directory or a GGUF file, not a packed file; use the "
            "model that it was made from"));
    l->c = *hpc_model_files_config(files);
    l->context = o->context > 0 ? o->context : CONTEXT;
    if (l->context > l->c.positions) l->context = l->c.positions;
    TRY(hpc_model_files_weights(&l->weights, files));
    TRY(open_program(l, o));
    *out = l;
    l = NULL;
out:
    hpc_likelihood_close(l);
    return rc;
}

void hpc_likelihood_close(hpc_likelihood *l)
{
    if (!l) return;
    hpc_exec_close(l->e);
    hpc_device_close(l->d);
    hpc_program_free(l->p);
    hpc_weights_close(l->weights);
    hpc_free(l->input);
    hpc_free(l->logits);
    hpc_free(l);
}

int64_t hpc_likelihood_context(const hpc_likelihood *l)
{
    return l->context;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int put(hpc_likelihood *l, hpc_value v)
{
    return hpc_exec_write(l->e, 0, v, l->input, hpc_type_bytes(&l->p->value[v].type));
}

/* Writes first, first + 1, ... to an operand. */
static int put_range(hpc_likelihood *l, hpc_value v, int64_t first, int64_t n)
{
    for (int64_t k = 0; k < n; k++) l->input[k] = (int32_t)(first + k);
    return put(l, v);
}

/* Computes tokens [at, at + n) of a window, and the logits of all of them. */
static int step(hpc_likelihood *l, const int32_t *token, int64_t at, int64_t n)
{
    const hpc_serve_io *io = &l->io;
    int rc;

    memcpy(l->input, token, (size_t)n * sizeof(*l->input));
    TRY(put(l, io->tokens));
    TRY(put_range(l, io->pos, at, n));
    TRY(put_range(l, io->slot, at, n));
    TRY(put_range(l, io->tokens_n, n, 1));
    l->input[0] = 0, l->input[1] = (int32_t)n;
    TRY(put(l, io->start));
    TRY(put_range(l, io->start_n, 2, 1));
    TRY(put_range(l, io->len, at + n, 1));
    TRY(put_range(l, io->pages, 0, l->shape.pages));
    TRY(put_range(l, io->output, 0, n));
    TRY(put_range(l, io->output_n, n, 1));
    TRY(hpc_exec_enqueue(l->e, io->decode, 0));
    TRY(hpc_exec_read_rows(l->e, 0, io->logits, l->logits, n));
out:
    return rc;
}

static double bits_of(const float *logits, int64_t vocab, int32_t token)
{
    float most = logits[0];
    double sum = 0;

    for (int64_t k = 1; k < vocab; k++)
        if (logits[k] > most) most = logits[k];
    for (int64_t k = 0; k < vocab; k++) sum += expf(logits[k] - most);
    return (log(sum) + most - logits[token]) / log(2);
}

/* The inputs are `first` and then the text without its last token; input k predicts token k. A
 * window has the inputs [begin, end); tokens before `scored` have their bits. */
static int window(double *bits, hpc_likelihood *l, const int32_t *input, const int32_t *token,
                  int64_t begin, int64_t end, int64_t scored)
{
    int rc = HPC_OK;

    for (int64_t at = begin; at < end; at += STEP) {
        int64_t n = end - at < STEP ? end - at : STEP;
        TRY(step(l, input + at, at - begin, n));
        for (int64_t k = at < scored ? scored : at; k < at + n; k++)
            bits[k] = bits_of(l->logits + (k - at) * l->c.vocab, l->c.vocab, token[k]);
    }
out:
    return rc;
}

int hpc_likelihood_text(double *bits, hpc_likelihood *l, const int32_t *token, int64_t n,
                        int32_t first)
{
    int32_t *input = hpc_alloc((size_t)n + 1, sizeof(*input));
    int64_t begin = 0, half = l->context > 1 ? l->context / 2 : 1;
    int rc = input ? HPC_OK : HPC_E_NOMEM;

    if (rc < 0) return rc;
    input[0] = first;
    for (int64_t k = 0; k < n; k++) {
        if (token[k] < 0 || token[k] >= l->c.vocab)
            TRY(hpc_fail(HPC_E_FORMAT, "token %d is beyond the model's vocabulary of %lld",
                         token[k], (long long)l->c.vocab));
        input[k + 1] = token[k];
    }
    for (int64_t scored = 0; scored < n; begin += half) {
        int64_t end = begin + l->context < n ? begin + l->context : n;
        TRY(window(bits, l, input, token, begin, end, scored));
        scored = end;
    }
out:
    hpc_free(input);
    return rc;
}
