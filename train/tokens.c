/*
 * tokens.c: opens a run's tokenizer and copies it into the model directory.
 */
#include <stdio.h>
#include <string.h>

#include "model/tokenizer.h"
#include "train/run_priv.h"

struct hpc_run_tokens {
    const char *path;
    hpc_tokenizer *t;
};

static bool has_file(const char *folder, const char *name)
{
    char path[RUN_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return hpc_file_exists(path);
}

bool hpc_run_tokens_there(const char *path)
{
    hpc_gguf *g = NULL;
    hpc_buf file = {0};
    const char *name;
    size_t n = strlen(path);
    if (n < 5 || strcmp(path + n - 5, ".gguf") != 0)
        return has_file(path, "tokenizer.model") || has_file(path, "tokenizer.json");
    bool there = hpc_gguf_open(&g, path) >= 0 && hpc_gguf_tokenizer(&name, &file, g) >= 0;
    hpc_gguf_close(g);
    hpc_buf_release(&file);
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
    TRY(hpc_model_tokenizer(&k->t, path));
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
    hpc_free(k);
}

const hpc_tokenizer *hpc_run_tokens_of(const hpc_run_tokens *k)
{
    return k->t;
}

int run_tokens_copy(const hpc_run_tokens *k, const char *dir)
{
    return hpc_model_tokenizer_copy(dir, k->path);
}

int hpc_run_tokens_find(int32_t *id, const char *path, const char *const *text, int n)
{
    hpc_run_tokens *tokens = NULL;
    int rc;
    TRY(hpc_run_tokens_open(&tokens, path));
    for (int k = 0; k < n; k++) {
        id[k] = hpc_tokenizer_find(hpc_run_tokens_of(tokens), text[k]);
        if (id[k] < 0)
            TRY(hpc_fail(HPC_E_ARG, "%s has no token for %s, which objective=pairs needs", path,
                         text[k]));
    }
out:
    hpc_run_tokens_close(tokens);
    return rc;
}
