/*
 * checkpoint_base.c: the base model of adapters: the frozen parameters that checkpoints omit, and
 * the hash that verifies them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint_priv.h"

bool trainer_is_base(const hpc_weights *w, const hpc_model_tensor *row)
{
    return w && !row->trainable && hpc_weights_has(w, row);
}

hpc_hash128 trainer_base_hash(const hpc_hash128 *tensor, int64_t n)
{
    return hpc_hash_wide(tensor, (size_t)n * sizeof *tensor);
}

/* ---- in the record ----------------------------------------------------------------------------
 */

bool checkpoint_needs_base(const hpc_trainer *t)
{
    for (hpc_value v = 0; v < t->p->value_n; v++)
        if (trainer_keeps(t, v) && !trainer_stores(t, v)) return true;
    return false;
}

/* Absolute: `export` may run in another folder. */
void checkpoint_base_put(hpc_json_out *w, const hpc_trainer *t)
{
    char hash[CHECKPOINT_HASH], *path;
    if (!checkpoint_needs_base(t)) return;
    path = realpath(t->o.init, NULL);
    checkpoint_hash_text(hash, t->base_hash);
    hpc_json_open(w, "base", '{');
    hpc_json_put_text(w, "path", path ? path : t->o.init);
    hpc_json_put_text(w, "hash", hash);
    hpc_json_close(w, '}');
    free(path);
}

int checkpoint_base_read(checkpoint_base *out, const hpc_json *record)
{
    const hpc_json *base = hpc_json_get(record, "base");
    const char *hash;
    int rc = HPC_OK;
    *out = (checkpoint_base){0};
    if (!base) return rc;
    TRY(hpc_json_text(&hash, hpc_json_get(base, "hash"), "base: hash"));
    TRY(checkpoint_hash_read(&out->hash, hash));
    TRY(hpc_json_text(&out->path, hpc_json_get(base, "path"), "base: path"));
out:
    return rc;
}

/* ---- verifying it -----------------------------------------------------------------------------
 */

int checkpoint_base_compare(const checkpoint_base *b, const char *path, hpc_hash128 found,
                            const char *option)
{
    char want[CHECKPOINT_HASH], is[CHECKPOINT_HASH];
    if (b->hash.low == found.low && b->hash.high == found.high) return HPC_OK;
    checkpoint_hash_text(want, b->hash);
    checkpoint_hash_text(is, found);
    return hpc_fail(HPC_E_ARG,
                    "base model %.300s has changed: its weights have hash %s, the checkpoint "
                    "expects %s; restore it, or name an unchanged copy with %s DIR",
                    path, is, want, option);
}

/* A base that cannot be opened; the reason is the present error. */
static int refuse_missing(const checkpoint_base *b, const char *path, const char *option)
{
    char want[CHECKPOINT_HASH], why[120];
    checkpoint_hash_text(want, b->hash);
    snprintf(why, sizeof why, "%.119s", hpc_error_get()->text);
    hpc_error_clear();
    return hpc_fail(HPC_E_ARG,
                    "base model %.200s cannot be read (%s): the checkpoint expects weights with "
                    "hash %s, found none; restore it, or name a copy with %s DIR",
                    path, why, want, option);
}

static int hash_weights(hpc_hash128 *out, const hpc_weights *w, const hpc_model_config *c)
{
    hpc_model_tensor *tensor = NULL;
    hpc_hash128 *hash = NULL;
    float *data = NULL;
    int64_t n = 0, cap = 0;
    int rc;
    TRY(hpc_model_tensors(&tensor, &n, c));
    hash = hpc_alloc((size_t)n + 1, sizeof *hash);
    if (!hash) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < n; k++) {
        int64_t elements = hpc_model_tensor_n(&tensor[k]);
        if (!trainer_is_base(w, &tensor[k])) continue;
        TRY(hpc_grow(&data, &cap, elements, sizeof *data));
        TRY(hpc_weights_read(data, w, &tensor[k]));
        hash[k] = hpc_hash_wide(data, (size_t)elements * sizeof *data);
    }
    *out = trainer_base_hash(hash, n);
out:
    hpc_free(tensor);
    hpc_free(hash);
    hpc_free(data);
    return rc;
}

int checkpoint_base_open(hpc_weights **out, const checkpoint_base *b, const char *path,
                         const hpc_model_config *c, const char *option)
{
    hpc_hash128 found;
    int rc;
    if (!path) path = b->path;
    rc = hpc_weights_open(out, path, c);
    if (rc == HPC_E_NOMEM) return rc;
    if (rc < 0) return refuse_missing(b, path, option);
    TRY(hash_weights(&found, *out, c));
    TRY(checkpoint_base_compare(b, path, found, option));
out:
    return rc;
}

/* ---- before there is a trainer ----------------------------------------------------------------
 */

static int can_open(const char *path)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    hpc_weights *w = NULL;
    int rc;
    TRY(hpc_model_config_read(&c, path));
    TRY(hpc_weights_open(&w, path, &c));
out:
    hpc_weights_close(w);
    return rc;
}

/* *root: NULL where there is no whole record, which loading reports. */
static int read_newest(hpc_json **root, const char *folder)
{
    hpc_checkpoint c;
    int64_t step;
    int rc;
    *root = NULL;
    TRY(hpc_checkpoint_newest(&step, folder));
    if (step < 0) return HPC_OK;
    rc = checkpoint_record_read(root, &c, folder, step);
    if (rc == HPC_E_NOMEM || rc >= 0) return rc;
    hpc_error_clear();
    hpc_json_free(*root);
    *root = NULL;
    rc = HPC_OK;
out:
    return rc;
}

int hpc_checkpoint_base(char out[HPC_BASE_PATH], const char *folder, const char *init)
{
    hpc_json *root = NULL;
    checkpoint_base b = {0};
    const char *path = init;
    int rc;
    out[0] = '\0';
    TRY(read_newest(&root, folder));
    if (root && checkpoint_base_read(&b, root) < 0) hpc_error_clear(); /* loading reports it */
    if (!b.path) goto out;
    rc = can_open(init);
    if (rc < 0 && !hpc_file_exists(init) && hpc_file_exists(b.path)) {
        hpc_error_clear();
        rc = can_open(path = b.path);
    }
    if (rc < 0 && rc != HPC_E_NOMEM) rc = refuse_missing(&b, path, "--init");
    TRY(rc);
    if (snprintf(out, HPC_BASE_PATH, "%s", path) >= HPC_BASE_PATH)
        TRY(hpc_fail(HPC_E_ARG, "%s: the path is too long", path));
out:
    hpc_json_free(root);
    return rc;
}
