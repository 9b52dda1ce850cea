/*
 * files.c: see files.h.
 */
#include "model/files.h"

#include <stdio.h>
#include <string.h>

#include "model/priv.h"

struct hpc_model_files {
    model_file file;
    hpc_model_config c;
    char path[]; /* the file's */
};

int model_file_open(model_file *out, const char *path)
{
    *out = (model_file){.path = path};
    if (model_is_gguf(path)) {
        int rc = hpc_gguf_open(&out->gguf, path);
        return rc < 0 ? rc : model_delta_open(out);
    }
    return hpc_is_packed(path) ? hpc_packed_open(&out->packed, path) : HPC_OK;
}

void model_file_close(model_file *f)
{
    hpc_gguf_close(f->gguf);
    hpc_gguf_close(f->delta);
    hpc_packed_close(f->packed);
    *f = (model_file){0};
}

int hpc_model_files_open(hpc_model_files **out, const char *model)
{
    size_t n = strlen(model) + 1;
    hpc_model_files *f = hpc_alloc(1, sizeof *f + n);
    int rc;
    *out = NULL;
    if (!f) return HPC_E_NOMEM;
    memcpy(f->path, model, n);
    TRY(model_file_open(&f->file, f->path));
    TRY(model_file_config(&f->c, &f->file));
    *out = f;
    f = NULL;
out:
    hpc_model_files_close(f);
    return rc;
}

void hpc_model_files_close(hpc_model_files *f)
{
    if (!f) return;
    model_file_close(&f->file);
    hpc_free(f);
}

const hpc_model_config *hpc_model_files_config(const hpc_model_files *f)
{
    return &f->c;
}

const hpc_packed *hpc_model_files_packed(const hpc_model_files *f)
{
    return f->file.packed;
}

int hpc_model_files_tokenizer(hpc_tokenizer **out, const hpc_model_files *f)
{
    return model_file_tokenizer(out, &f->file);
}

int hpc_model_files_weights(hpc_weights **out, const hpc_model_files *f)
{
    return model_file_weights(out, &f->file, &f->c);
}
