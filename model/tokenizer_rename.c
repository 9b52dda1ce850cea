/*
 * tokenizer_rename.c: copies a tokenizer and renames special tokens in its JSON files.
 *
 * A name is replaced wherever it is a whole JSON string: in the vocabulary, the added tokens and
 * the post-processor of tokenizer.json, and in the files next to it.
 */
#include <string.h>

#include "model/priv.h"

enum { FILE_MOST = 256 << 20 };

typedef struct renaming {
    hpc_buf from, to; /* as JSON strings, with quotes */
} renaming;

static int check_name(const char *name, size_t n)
{
    bool printable = n > 0;
    for (size_t k = 0; k < n; k++)
        printable =
            printable && name[k] > ' ' && name[k] < 127 && name[k] != '"' && name[k] != '\\';
    if (printable) return HPC_OK;
    return hpc_fail(HPC_E_ARG,
                    "'%.*s': a token's name must be printable ASCII without blanks, "
                    "quotes and backslashes",
                    (int)n, name);
}

/* "OLD=NEW": OLD must be a special token, and NEW unknown. */
static int find_pair(renaming *out, const hpc_tokenizer *t, const char *pair)
{
    const char *equals = strchr(pair, '=');
    hpc_buf old = {0};
    float score;
    int rc = HPC_OK;
    if (!equals) TRY(hpc_fail(HPC_E_ARG, "'%s': expected OLD=NEW", pair));
    TRY(check_name(pair, (size_t)(equals - pair)));
    TRY(check_name(equals + 1, strlen(equals + 1)));
    TRY(hpc_buf_printf(&old, "%.*s", (int)(equals - pair), pair));
    int32_t id = hpc_tokenizer_find(t, old.data);
    if (id < 0 || hpc_tokenizer_piece_type(&score, t, id) == 1)
        TRY(hpc_fail(HPC_E_ARG, "'%s': the tokenizer has no special token %s", pair, old.data));
    if (hpc_tokenizer_find(t, equals + 1) >= 0)
        TRY(hpc_fail(HPC_E_ARG, "'%s': the tokenizer has a token %s already", pair, equals + 1));
    TRY(hpc_buf_printf(&out->from, "\"%s\"", old.data));
    TRY(hpc_buf_printf(&out->to, "\"%s\"", equals + 1));
out:
    hpc_buf_release(&old);
    return rc;
}

static int replace(hpc_buf *out, const hpc_buf *text, const renaming *r)
{
    const char *at = text->data, *end = text->data + text->n, *found;
    int rc = HPC_OK;
    while ((found = memmem(at, (size_t)(end - at), r->from.data, r->from.n))) {
        TRY(hpc_buf_add(out, at, (size_t)(found - at)));
        TRY(hpc_buf_add(out, r->to.data, r->to.n));
        at = found + r->from.n;
    }
    TRY(hpc_buf_add(out, at, (size_t)(end - at)));
out:
    return rc;
}

static int rename_in(const char *path, const renaming *r, int64_t n)
{
    hpc_buf text = {0}, next = {0};
    int rc;
    TRY(hpc_file_read(&text, path, FILE_MOST));
    for (int64_t k = 0; k < n; k++) {
        next.n = 0;
        TRY(replace(&next, &text, &r[k]));
        hpc_buf swapped = text;
        text = next;
        next = swapped;
    }
    TRY(hpc_file_save(path, text.data, text.n));
out:
    hpc_buf_release(&text);
    hpc_buf_release(&next);
    return rc;
}

static int rename_files(const char *dir, const renaming *r, int64_t n)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json",
                                        "special_tokens_map.json", "added_tokens.json"};
    hpc_buf path = {0};
    int rc = HPC_OK;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        path.n = 0;
        TRY(hpc_buf_printf(&path, "%s/%s", dir, names[k]));
        if (hpc_file_exists(path.data)) TRY(rename_in(path.data, r, n));
    }
out:
    hpc_buf_release(&path);
    return rc;
}

int hpc_model_tokenizer_rename(const char *dir, const char *model, const char *const *pairs,
                               int64_t n)
{
    renaming *r = hpc_alloc((size_t)n + 1, sizeof *r);
    model_tokens from = {0};
    hpc_tokenizer *t = NULL;
    int rc = r ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    TRY(model_tokens_open(&from, model));
    if (!model_tokens_are_json(&from))
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s: the tokens of a tokenizer.model cannot be renamed",
                     model));
    for (int64_t k = 0; k < n; k++) TRY(find_pair(&r[k], from.t, pairs[k]));
    TRY(hpc_file_mkdir(dir));
    TRY(hpc_model_tokenizer_copy(dir, model));
    TRY(rename_files(dir, r, n));
    TRY(hpc_model_tokenizer(&t, dir)); /* the result is valid */
out:
    for (int64_t k = 0; r && k < n; k++) {
        hpc_buf_release(&r[k].from);
        hpc_buf_release(&r[k].to);
    }
    model_tokens_release(&from);
    hpc_tokenizer_close(t);
    hpc_free(r);
    return rc;
}
