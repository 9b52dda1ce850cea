/*
 * model_copy.c: the part that `import` and `export` share: the call and the report.
 */
#include "cmd/model_copy.h"

static const char *dtype_name(const hpc_model_copy_result *k)
{
    return k->dtype == HPC_DTYPE_N ? "stored" : hpc_dtype_get(k->dtype)->name;
}

static void put_json(hpc_buf *out, const char *path, const hpc_model_copy_result *k)
{
    static const char *const heads[] = {"tokens", "classes", "pairs"};
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "out", path);
    hpc_json_put_text(&w, "family", k->config.family);
    hpc_json_put_text(&w, "head", heads[k->config.head]);
    hpc_json_put_int(&w, "parameters", k->params);
    hpc_json_put_text(&w, "dtype", dtype_name(k));
    hpc_json_put_int(&w, "bytes", (int64_t)k->bytes);
    hpc_json_put_int(&w, "layers", k->config.layers);
    hpc_json_put_int(&w, "hidden", k->config.hidden);
    hpc_json_put_int(&w, "vocabulary", k->config.vocab);
    if (k->tokenizer_n >= 0)
        hpc_json_put_int(&w, "tokenizer_tokens", k->tokenizer_n);
    else
        hpc_json_put_text(&w, "tokenizer_tokens", NULL);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_text(hpc_buf *out, const char *path, const hpc_model_copy_result *k)
{
    char size[32];
    hpc_buf_printf(
        out, "%s: %s, %lld parameters in %s (%s), %lld layers of %lld, a vocabulary of %lld", path,
        k->config.family, (long long)k->params,
        k->dtype == HPC_DTYPE_N ? "the types stored" : dtype_name(k), hpc_cmd_bytes(size, k->bytes),
        (long long)k->config.layers, (long long)k->config.hidden, (long long)k->config.vocab);
    if (k->tokenizer_n >= 0)
        hpc_buf_printf(out, ", a tokenizer of %lld\n", (long long)k->tokenizer_n);
    else
        hpc_buf_text(out, "\n");
}

int model_copy(const char *command, const char *from, const model_copy_options *o,
               hpc_model_copy_form to)
{
    hpc_model_copy_options copy = o->o;
    hpc_model_copy_result r;
    hpc_progress progress;
    hpc_buf out = {0};
    hpc_cmd_progress(&progress, o->quiet);
    copy.quiet = o->quiet;
    copy.label = command;
    copy.progress = &progress;
    copy.warn = hpc_cmd_warn;
    copy.user = (void *)(uintptr_t)command;
    int rc = hpc_model_copy(&r, from, &copy, to);
    if (rc < 0) return rc;
    o->json ? put_json(&out, copy.out, &r) : put_text(&out, copy.out, &r);
    return hpc_cmd_print_report(&out, "the model is in", copy.out);
}
