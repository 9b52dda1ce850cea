/*
 * tokens.c: a run's tokenizer: compared with the data, and put beside the
 * model.
 */
#include <stdio.h>
#include <string.h>

#include "train/run_priv.h"

static const char MODEL[] = "tokenizer.model", JSON[] = "tokenizer.json";

struct hpc_run_tokens {
    const char *path;
    hpc_tokenizer *t;
    hpc_gguf *gguf; /* where path is one */
};

static bool is_gguf(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".gguf") == 0;
}

static int open_gguf(hpc_run_tokens *k)
{
    const char *name;
    const void *data;
    size_t n;
    int rc;
    TRY(hpc_gguf_open(&k->gguf, k->path));
    TRY(hpc_gguf_tokenizer(&name, &data, &n, k->gguf));
    if (strcmp(name, MODEL) == 0)
        TRY(hpc_tokenizer_open_model(&k->t, data, n, k->path));
    else
        TRY(hpc_tokenizer_open_json(&k->t, data, n, k->path));
out:
    return rc;
}

static bool has_file(const char *folder, const char *name)
{
    char path[RUN_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return hpc_file_exists(path);
}

bool hpc_run_tokens_there(const char *path)
{
    hpc_gguf *g = NULL;
    const char *name;
    const void *data;
    size_t n;
    if (!is_gguf(path)) return has_file(path, MODEL) || has_file(path, JSON);
    bool there = hpc_gguf_open(&g, path) >= 0 && hpc_gguf_tokenizer(&name, &data, &n, g) >= 0;
    hpc_gguf_close(g);
    hpc_error_clear();
    return there;
}

int hpc_run_tokens_open(hpc_run_tokens **out, const char *path)
{
    int rc = HPC_OK;
    *out = NULL;
    hpc_run_tokens *k = hpc_alloc(1, sizeof *k);
    if (!k) return HPC_E_NOMEM;
    k->path = path;
    TRY(is_gguf(path) ? open_gguf(k) : hpc_tokenizer_open(&k->t, path));
    *out = k;
    k = NULL;
out:
    hpc_run_tokens_close(k);
    return rc;
}

void hpc_run_tokens_close(hpc_run_tokens *k)
{
    if (!k) return;
    hpc_tokenizer_close(k->t);
    hpc_gguf_close(k->gguf);
    hpc_free(k);
}

const hpc_tokenizer *hpc_run_tokens_of(const hpc_run_tokens *k)
{
    return k->t;
}

static int copy(const char *from, const char *dir, const char *name)
{
    char to[RUN_PATH + 64];
    hpc_file_view v = {0};
    int rc;
    TRY(hpc_file_open(&v, from));
    snprintf(to, sizeof to, "%s/%s", dir, name);
    TRY(hpc_file_save(to, v.data, v.bytes));
out:
    hpc_file_close(&v);
    return rc;
}

static int copy_folder(const hpc_run_tokens *k, const char *dir)
{
    static const char *const file[] = {MODEL, JSON, "tokenizer_config.json",
                                       "special_tokens_map.json"};
    char from[RUN_PATH + 64];
    int rc = HPC_OK;
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        snprintf(from, sizeof from, "%s/%s", k->path, file[i]);
        if (hpc_file_exists(from)) TRY(copy(from, dir, file[i]));
    }
out:
    return rc;
}

/* Under the name that a model directory has it by. */
int run_tokens_copy(const hpc_run_tokens *k, const char *dir)
{
    char to[RUN_PATH + 64];
    const char *name;
    const void *data;
    size_t n;
    int rc;
    if (has_file(k->path, ".")) return copy_folder(k, dir);
    if (!k->gguf) {
        bool model = strcmp(hpc_tokenizer_kind(k->t), "sentencepiece") == 0;
        return copy(k->path, dir, model ? MODEL : JSON);
    }
    TRY(hpc_gguf_tokenizer(&name, &data, &n, k->gguf));
    snprintf(to, sizeof to, "%s/%s", dir, name);
    TRY(hpc_file_save(to, data, n));
out:
    return rc;
}
