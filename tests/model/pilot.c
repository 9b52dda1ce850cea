/*
 * pilot.c: the shipped model, share/pilot.gguf: complete, small enough, with its tokenizer. It
 * predicts unseen code, and uses the text after the middle of a function.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/tokenizer.h"
#include "runtime/source/source.h"
#include "tests/support/model.h"

static const char FILE_NAME[] = "share/pilot.gguf";
enum { MOST_BYTES = 10 << 20, MOST_TOKENS = 512 };

/* A passage in parts: prefix, suffix and middle, with marks. */
typedef struct passage {
    const char *path, *before, *middle, *behind;
} passage;
static const passage passages[] = {
    {"src/heat.c",
     "#include <math.h>\n"
     "#include <omp.h>\n"
     "\n"
     "/* One sweep of Jacobi over the inner points; the largest change. */\n"
     "double heat_sweep(double *restrict out, const double *restrict in, int rows, int cols)\n"
     "{\n"
     "    double most = 0.0;\n"
     "#pragma omp parallel for reduction(max : most)\n"
     "    for (int i = 1; i < rows - 1; i++) {\n"
     "        for (int j = 1; ",
     "j < cols - 1; j++) {\n"
     "            double next = 0.25 * (in[(i - 1) * cols + j] + in[(i + 1) * cols + j]",
     " +\n"
     "                                  in[i * cols + j - 1] + in[i * cols + j + 1]);\n"
     "            double change = fabs(next - in[i * cols + j]);\n"
     "            if (change > most) most = change;\n"
     "            out[i * cols + j] = next;\n"
     "        }\n"
     "    }\n"
     "    return most;\n"
     "}\n"},
    {"src/halo.c",
     "#include <mpi.h>\n"
     "\n"
     "static void exchange(double *grid, int rows, int cols, int up, int down, MPI_Comm comm)\n"
     "{\n"
     "    MPI_Request request[4];\n"
     "    MPI_Irecv(grid, cols, MPI_DOUBLE, up, 0, comm, &request[0]);\n"
     "    MPI_Irecv(grid + (rows - 1) * cols, cols, MPI_DOUBLE, down, 1, comm, &request[1]);\n"
     "    MPI_Isend(grid + cols, cols, MPI_DOUBLE, up, 1, comm, ",
     "&request[2]);\n"
     "    MPI_Isend(grid + (rows - 2) * cols, cols, MPI_DOUBLE, down, 0, comm, &request[3]);\n",
     "    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);\n"
     "}\n"},
    {"src/daxpy.cu",
     "#include <cuda_runtime.h>\n"
     "\n"
     "__global__ void daxpy(int n, double a, const double *x, double *y)\n"
     "{\n"
     "    int i = blockIdx.x * ",
     "blockDim.x + threadIdx.x;\n"
     "    if (i < n) ",
     "y[i] += a * x[i];\n"
     "}\n"},
    {"src/dot.c",
     "double dot(const double *a, const double *b, int n)\n"
     "{\n"
     "    double ",
     "total = 0.0;\n",
     "#pragma omp parallel for reduction(+ : total)\n"
     "    for (int i = 0; i < n; i++)\n"
     "        total += a[i] * b[i];\n"
     "    return total;\n"
     "}\n"},
    {"src/main.c",
     "#include <mpi.h>\n"
     "#include <stdio.h>\n"
     "\n"
     "int main(int argc, char **argv)\n"
     "{\n"
     "    int ",
     "me, ranks;\n"
     "    MPI_Init(&argc, &argv);\n",
     "    MPI_Comm_rank(MPI_COMM_WORLD, &me);\n"
     "    MPI_Comm_size(MPI_COMM_WORLD, &ranks);\n"
     "    printf(\"rank %d of %d\\n\", me, ranks);\n"
     "    MPI_Finalize();\n"
     "    return 0;\n"
     "}\n"},
};
enum { PASSAGES = sizeof passages / sizeof *passages };

typedef struct pilot {
    hpc_gguf *file;
    hpc_tokenizer *tokenizer;
    hpc_tokenizer_scratch *scratch;
    hpc_model_config c;
    hpc_weights *weights;
} pilot;

static int begin(void **state)
{
    static pilot p;
    p = (pilot){0};
    test_ok(hpc_gguf_open(&p.file, FILE_NAME));
    test_ok(hpc_model_tokenizer(&p.tokenizer, FILE_NAME));
    test_ok(hpc_tokenizer_scratch_create(&p.scratch, p.tokenizer));
    test_ok(hpc_model_config_read(&p.c, FILE_NAME));
    test_ok(hpc_weights_open(&p.weights, FILE_NAME, &p.c));
    p.c.dtype = HPC_F32;
    *state = &p;
    return 0;
}

static int end(void **state)
{
    pilot *p = *state;
    hpc_weights_close(p->weights);
    hpc_tokenizer_scratch_free(p->scratch);
    hpc_tokenizer_close(p->tokenizer);
    hpc_gguf_close(p->file);
    return 0;
}

static void add_text(hpc_ids *ids, const pilot *p, const char *text, size_t n)
{
    test_ok(hpc_tokenizer_encode(ids, p->tokenizer, p->scratch, text, n, HPC_ENCODE_INNER));
}

static void add_mark(hpc_ids *ids, const pilot *p, hpc_mark m)
{
    const char *text = hpc_mark_text(m);
    int64_t n = ids->n;
    test_ok(hpc_tokenizer_encode(ids, p->tokenizer, p->scratch, text, strlen(text),
                                 HPC_ENCODE_INNER | HPC_ENCODE_SPECIALS));
    assert_int_equal(ids->n, n + 1);
}

/* Bits of tokens lo .. hi-1, each after those before it. */
static double bits_of(const pilot *p, const hpc_ids *ids, int64_t lo, int64_t hi)
{
    hpc_test_model m;
    int32_t length = (int32_t)ids->n;
    double loss[MOST_TOKENS], sum = 0;
    assert_true(0 < lo && lo < hi && hi <= ids->n && ids->n <= MOST_TOKENS);
    hpc_test_model_open(&m, &p->c, ids->n, 1, HPC_TEST_LOSS);
    for (int64_t k = 0; k < m.list_n; k++) {
        int64_t n = hpc_test_model_tensor_n(&m.list[k]);
        float *x = hpc_alloc((size_t)n, sizeof *x);
        double *wide = hpc_alloc((size_t)n, sizeof *wide);
        assert_true(hpc_weights_has(p->weights, &m.list[k]));
        test_ok(hpc_weights_read(x, p->weights, &m.list[k]));
        for (int64_t i = 0; i < n; i++) wide[i] = x[i];
        hpc_test_write(m.e, 0, hpc_program_find(m.p, m.list[k].name), wide);
        hpc_free(x), hpc_free(wide);
    }
    hpc_test_model_feed(&m, ids->id, &length, 1);
    hpc_test_model_step(&m, 1, 0);
    hpc_test_read(m.e, 0, m.io.loss, loss);
    for (int64_t i = lo; i < hi; i++) sum += loss[i - 1]; /* loss of the next token */
    hpc_test_model_close(&m);
    return sum / log(2);
}

static void is_whole(void **state)
{
    const pilot *p = *state;
    hpc_buf whole = {0};
    test_ok(hpc_file_read(&whole, FILE_NAME, MOST_BYTES));
    hpc_buf_release(&whole);
    assert_string_equal(p->c.family, "llama");
    assert_int_equal(hpc_tokenizer_n(p->tokenizer), p->c.vocab);
    for (int m = HPC_MARK_FIM_PREFIX; m <= HPC_MARK_REPOSITORY; m++)
        assert_true(hpc_tokenizer_find(p->tokenizer, hpc_mark_text((hpc_mark)m)) >= 0);
}

/* Bits of `text` after `before` in a file. */
static double bits_behind(const pilot *p, const char *path, const char *before, const char *text)
{
    hpc_ids ids = {0};
    add_mark(&ids, p, HPC_MARK_FILE);
    add_text(&ids, p, path, strlen(path));
    add_text(&ids, p, "\n", 1);
    add_text(&ids, p, before, strlen(before));
    int64_t lo = ids.n;
    add_text(&ids, p, text, strlen(text));
    double bits = bits_of(p, &ids, lo, ids.n);
    hpc_free(ids.id);
    return bits;
}

/* Bits of the middle, between the prefix and the given suffix. */
static double bits_between(const pilot *p, const passage *at, const char *behind)
{
    hpc_sample s = {0};
    hpc_ids ids = {0};
    char all[4096];
    size_t from = strlen(at->before), to = from + strlen(at->middle);
    int n = snprintf(all, sizeof all, "%s%s%s", at->before, at->middle, behind);
    int64_t lo = 0;
    test_ok(hpc_render_fim(&s, at->path, all, (size_t)n, from, to, false));
    for (int64_t k = 0; s.part[k].mark != HPC_MARK_END; k++) {
        lo = ids.n;
        if (s.part[k].mark == HPC_MARK_NONE)
            add_text(&ids, p, s.text.data + s.part[k].at, s.part[k].n);
        else
            add_mark(&ids, p, s.part[k].mark);
    }
    double bits = bits_of(p, &ids, lo, ids.n); /* the middle is last */
    hpc_sample_release(&s), hpc_free(ids.id);
    return bits;
}

static void knows_such_code(void **state)
{
    const pilot *p = *state;
    double bits = 0, bytes = 0;
    for (int i = 0; i < PASSAGES; i++) {
        const passage *at = &passages[i];
        char rest[4096];
        snprintf(rest, sizeof rest, "%s%s%s", at->before, at->middle, at->behind);
        bits += bits_behind(p, at->path, "", rest);
        bytes += (double)strlen(rest);
    }
    print_message("%.3f bits a byte\n", bits / bytes);
    assert_true(bits / bytes <= 0.85);
}

/* What follows is used: with that of another passage the middle costs more. */
static void fills_in_the_middle(void **state)
{
    const pilot *p = *state;
    double right = 0, wrong = 0, none = 0;
    for (int i = 0; i < PASSAGES; i++) {
        const passage *at = &passages[i], *other = &passages[(i + 1) % PASSAGES];
        right += bits_between(p, at, at->behind);
        wrong += bits_between(p, at, other->behind);
        none += bits_behind(p, at->path, at->before, at->middle);
    }
    print_message("%.0f bits of the middles, %.0f with what follows elsewhere, %.0f as files\n",
                  right, wrong, none);
    assert_true(right < 0.95 * wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_whole),
        cmocka_unit_test(knows_such_code),
        cmocka_unit_test(fills_in_the_middle),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
