/*
 * logits.c: the inference program on a given sequence of tokens, for llama_agree.py. Writes the
 * logits at each token to stdout as f32, or measures a prompt and single tokens.
 *
 *     logits MODEL TOKENS THREADS            TOKENS: a file of i32
 *     logits MODEL TOKENS THREADS SINGLE     the last SINGLE tokens one at a time; prints tokens/s
 *     logits MODEL TOKENS THREADS SINGLE touched
 *                                            the same; then the bytes of the experts that tokens
 *                                            reached, of the program's own memory and of both, and
 *                                            the most memory that the process had
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/files.h"
#include "model/serve.h"
#include "runtime/program/op/op.h"

enum { STEP = 128, PROMPT_STEP = 512, PAGE = 16 };

typedef struct running {
    hpc_model_files *files;
    hpc_model_config c;
    hpc_weights *w;
    const hpc_packed *packed; /* NULL: w */
    hpc_serve_emission shape;
    hpc_serve_io io;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    int32_t *token, *input; /* input: room for one operand of the program */
    int64_t n;
    float *logits;
    bool timed, touches;
    uint8_t *reached; /* by gate and expert; NULL: not asked for */
    int32_t *chosen;
    double experts, others; /* bytes that are read from the mapped file */
} running;

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    const running *r = user;
    return r->packed ? hpc_packed_dtype(r->packed, t) : hpc_serve_choose(r->w, t, HPC_DTYPE_N);
}

/* Experts are read where they lie in the file, as the engine does. */
static bool is_plain(const hpc_model_tensor *t, const void *user)
{
    const running *r = user;
    return !r->packed && hpc_serve_mapped(r->w, t, type_of(t, r)) != NULL;
}

static int open_program(running *r)
{
    hpc_exec_options o = {0};
    hpc_lent *list = NULL;
    int rc;
    TRY(r->packed ? hpc_packed_lend(&list, &o.lent_n, r->packed, r->p)
                  : hpc_serve_lend(&list, &o.lent_n, r->p, r->w, &r->c));
    o.lent = list;
    for (int64_t k = 0; k < o.lent_n; k++) {
        bool expert = r->p->value[list[k].state].type.rank == 3;
        *(expert ? &r->experts : &r->others) += (double)list[k].bytes;
    }
    TRY(hpc_exec_open(&r->e, r->p, r->d, NULL, &o));
    TRY(r->packed ? hpc_serve_frequencies(r->e, r->p, &r->c)
                  : hpc_serve_load(r->e, r->p, r->d, r->w, &r->c));
out:
    hpc_free(list);
    return rc;
}

static int read_tokens(running *r, const char *path)
{
    hpc_buf file = {0};
    int rc;
    TRY(hpc_file_read(&file, path, SIZE_MAX));
    r->n = (int64_t)(file.n / sizeof *r->token);
    r->token = hpc_alloc((size_t)r->n + 1, sizeof *r->token);
    if (!r->token) TRY(HPC_E_NOMEM);
    memcpy(r->token, file.data, (size_t)r->n * sizeof *r->token);
out:
    hpc_buf_release(&file);
    return rc;
}

/* The k-th gate among several experts: its chosen ones, or HPC_NONE. Its operands are weights and
 * experts first. */
static hpc_value gate_at(const running *r, int64_t k)
{
    const hpc_segment *g = &r->p->segment[r->io.decode];
    for (int64_t i = 0; i < g->insn_n; i++) {
        const hpc_insn *insn = &g->insn[i];
        if (insn->op != &hpc_op_gate || ((const hpc_gate_attr *)insn->attr)->k < r->c.top_k)
            continue;
        if (k-- == 0) return insn->operand[1];
    }
    return HPC_NONE;
}

static int keep_gates(running *r)
{
    int64_t k = 0;
    for (hpc_value v; (v = gate_at(r, k)) >= 0; k++) hpc_program_keep(r->p, v);
    r->reached = hpc_alloc((size_t)(k * r->c.experts + 1), 1);
    r->chosen = hpc_alloc((size_t)(r->shape.tokens * r->c.top_k), sizeof *r->chosen);
    return r->reached && r->chosen ? HPC_OK : HPC_E_NOMEM;
}

static int open_model(running *r, const char *model, int threads)
{
    int64_t pages = (r->n + PAGE - 1) / PAGE, step = r->timed ? PROMPT_STEP : STEP;
    const hpc_device_options device = {.threads = threads};
    int rc;
    TRY(hpc_model_files_open(&r->files, model));
    r->c = *hpc_model_files_config(r->files);
    r->packed = hpc_model_files_packed(r->files);
    if (!r->packed) TRY(hpc_model_files_weights(&r->w, r->files));
    r->c.dtype = HPC_F32;
    r->shape = (hpc_serve_emission){.tokens = step,
                                    .sequences = 1,
                                    .outputs = r->timed ? 1 : step,
                                    .pages = pages,
                                    .page = PAGE,
                                    .sequence_pages = pages,
                                    .cache = r->timed ? HPC_BF16 : HPC_F32,
                                    .dtype = type_of,
                                    .plain = is_plain,
                                    .user = r};
    r->p = hpc_program_create();
    r->input = hpc_alloc((size_t)(step + pages + 2), sizeof *r->input);
    r->logits = hpc_alloc((size_t)(r->shape.outputs * r->c.vocab), sizeof *r->logits);
    if (!r->p || !r->input || !r->logits) TRY(HPC_E_NOMEM);
    TRY(hpc_serve_emit(&r->io, r->p, &r->c, &r->shape));
    if (r->touches) TRY(keep_gates(r));
    TRY(hpc_device_open(&r->d, &device));
    TRY(open_program(r));
out:
    return rc;
}

static int note_gates(running *r, int64_t n)
{
    int rc = HPC_OK;
    for (int64_t k = 0; r->reached && gate_at(r, k) >= 0; k++) {
        hpc_value v = gate_at(r, k);
        TRY(hpc_exec_read(r->e, 0, v, r->chosen, hpc_type_bytes(&r->p->value[v].type)));
        for (int64_t i = 0; i < n * r->c.top_k; i++)
            r->reached[k * r->c.experts + r->chosen[i]] = 1;
    }
out:
    return rc;
}

static int put(running *r, hpc_value v)
{
    return hpc_exec_write(r->e, 0, v, r->input, hpc_type_bytes(&r->p->value[v].type));
}

/* Writes first, first + 1, ... to an operand. */
static int put_range(running *r, hpc_value v, int64_t first, int64_t n)
{
    for (int64_t k = 0; k < n; k++) r->input[k] = (int32_t)(first + k);
    return put(r, v);
}

/* Computes tokens [at, at + n); logits of the last `outputs` of them. */
static int step(running *r, int64_t at, int64_t n, int64_t outputs)
{
    const hpc_serve_io *io = &r->io;
    int rc;
    memcpy(r->input, r->token + at, (size_t)n * sizeof *r->input);
    TRY(put(r, io->tokens));
    TRY(put_range(r, io->pos, at, n));
    TRY(put_range(r, io->slot, at, n));
    TRY(put_range(r, io->tokens_n, n, 1));
    r->input[0] = 0, r->input[1] = (int32_t)n;
    TRY(put(r, io->start));
    TRY(put_range(r, io->start_n, 2, 1));
    TRY(put_range(r, io->len, at + n, 1));
    TRY(put_range(r, io->pages, 0, r->shape.pages));
    TRY(put_range(r, io->output, n - outputs, outputs));
    TRY(put_range(r, io->output_n, outputs, 1));
    TRY(hpc_exec_run(r->e, io->decode, 0));
    TRY(hpc_exec_read(r->e, 0, io->logits, r->logits,
                      hpc_type_bytes(&r->p->value[io->logits].type)));
    TRY(note_gates(r, n));
out:
    return rc;
}

static int write_all(running *r)
{
    int rc = HPC_OK;
    for (int64_t at = 0; at < r->n; at += STEP) {
        int64_t n = r->n - at < STEP ? r->n - at : STEP;
        TRY(step(r, at, n, n));
        fwrite(r->logits, sizeof *r->logits, (size_t)(n * r->c.vocab), stdout);
    }
out:
    return rc;
}

static int measure(running *r, int64_t single)
{
    int64_t prompt = r->n - single;
    int rc = HPC_OK;
    TRY(step(r, 0, prompt < STEP ? prompt : STEP, 1)); /* warms up */
    int64_t start = hpc_clock_ns();
    for (int64_t at = 0; at < prompt; at += PROMPT_STEP)
        TRY(step(r, at, prompt - at < PROMPT_STEP ? prompt - at : PROMPT_STEP, 1));
    int64_t middle = hpc_clock_ns();
    for (int64_t at = prompt; at < r->n; at++) TRY(step(r, at, 1, 1));
    int64_t end = hpc_clock_ns();
    printf("%.2f %.2f\n", (double)prompt * 1e9 / (double)(middle - start),
           (double)single * 1e9 / (double)(end - middle));
out:
    return rc;
}

/* Bytes of a line of /proc/self/status, in KiB there. */
static double status_of(const char *key)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0) sscanf(line + strlen(key), ": %ld", &kib);
    if (f) fclose(f);
    return (double)kib * 1024;
}

static void print_touched(const running *r)
{
    double own = (double)hpc_device_about(r->d).alloc_bytes + r->others;
    int64_t gates = 0, n = 0;
    while (gate_at(r, gates) >= 0) gates++;
    for (int64_t k = 0; k < gates * r->c.experts; k++) n += r->reached[k];
    double reached = r->experts * (double)n / (double)(gates * r->c.experts);
    printf("%.0f %.0f %.0f %.0f\n", reached, own, reached + own, status_of("VmHWM"));
}

int main(int argc, char **argv)
{
    running r = {.timed = argc >= 5, .touches = argc == 6};
    int rc = HPC_E_ARG;
    if (argc < 4 || argc > 6) {
        fprintf(stderr, "logits MODEL TOKENS THREADS [SINGLE [touched]]\n");
        return 2;
    }
    TRY(read_tokens(&r, argv[2]));
    TRY(open_model(&r, argv[1], atoi(argv[3])));
    TRY(r.timed ? measure(&r, atoll(argv[4])) : write_all(&r));
    if (r.touches) print_touched(&r);
out:
    if (rc < 0) fprintf(stderr, "logits: %s\n", hpc_error_get()->text);
    hpc_exec_close(r.e);
    hpc_device_close(r.d);
    hpc_program_free(r.p);
    hpc_weights_close(r.w);
    hpc_model_files_close(r.files);
    hpc_free(r.token);
    hpc_free(r.input);
    hpc_free(r.logits);
    hpc_free(r.reached);
    hpc_free(r.chosen);
    return rc < 0;
}
