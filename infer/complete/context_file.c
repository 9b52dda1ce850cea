/*
 * context_file.c: the contents of files, analysed once and cached until they change.
 */
#include <string.h>
#include <strings.h>

#include "infer/complete/context_priv.h"

enum { INCLUDES_MOST = 256, MODULES_MOST = 64, NAME_MOST = 512 };

void context_scratch_release(context_scratch *s)
{
    hpc_tokens_release(&s->tokens);
    hpc_functions_release(&s->functions);
    hpc_free(s->line);
    hpc_free(s->breaks);
    *s = (context_scratch){0};
}

void context_file_release(context_file *f)
{
    hpc_free(f->path);
    hpc_buf_release(&f->text);
    hpc_buf_release(&f->names);
    hpc_free(f->chunk);
    hpc_free(f->name);
    hpc_free(f->include);
    hpc_free(f->module);
    *f = (context_file){0};
}

/* ---- includes ----------------------------------------------------------------------------- */

static bool spells(const context_file *f, const hpc_token *t, const char *word)
{
    size_t n = strlen(word);
    return t->n == n && strncasecmp(f->text.data + t->at, word, n) == 0;
}

/* The next token that counts as code, or t->n. */
static int64_t behind(const hpc_tokens *t, int64_t k)
{
    for (k++; k < t->n && t->item[k].kind == HPC_TOKEN_COMMENT;) k++;
    return k;
}

static int add_include(context_file *f, const char *name, size_t n, context_include_kind kind)
{
    context_include i = {.at = (uint32_t)f->names.n, .kind = kind};
    int rc;
    if (n == 0 || n > NAME_MOST || memchr(name, 0, n) || f->include_n >= INCLUDES_MOST)
        return HPC_OK;
    TRY(hpc_grow(&f->include, &f->include_cap, f->include_n + 1, sizeof *f->include));
    TRY(hpc_buf_add(&f->names, name, n));
    TRY(hpc_buf_add(&f->names, "", 1));
    char *own = f->names.data + i.at;
    for (char *p = own; kind == CONTEXT_MODULE && *p; p++)
        if (*p >= 'A' && *p <= 'Z') *p = (char)(*p + ('a' - 'A'));
    const char *last = context_name_of(own);
    i.key = hpc_token_hash(last, strlen(last));
    f->include[f->include_n++] = i;
out:
    return rc;
}

/* "x.h", <x.h>, 'x.inc' */
static int add_quoted(context_file *f, const hpc_token *t)
{
    const char *text = f->text.data + t->at;
    if (t->kind != HPC_TOKEN_STRING || t->n < 3) return HPC_OK;
    if (text[0] != '"' && text[0] != '<' && text[0] != '\'') return HPC_OK;
    return add_include(f, text + 1, t->n - 2, text[0] == '<' ? CONTEXT_ANGLED : CONTEXT_QUOTED);
}

/* use name; use, intrinsic :: name; use :: name. */
static int add_used(context_file *f, const hpc_tokens *t, int64_t k)
{
    int64_t name = behind(t, k);
    while (name < t->n && t->item[name].kind != HPC_TOKEN_NEWLINE && t->item[name].n != 2 &&
           f->text.data[t->item[name].at] == ',')
        name = behind(t, behind(t, name));
    if (name < t->n && spells(f, &t->item[name], "::")) name = behind(t, name);
    if (name >= t->n || t->item[name].kind != HPC_TOKEN_NAME) return HPC_OK;
    return add_include(f, f->text.data + t->item[name].at, t->item[name].n, CONTEXT_MODULE);
}

/* module name; but not module procedure, module subroutine, module function. */
static int add_module(context_file *f, const hpc_tokens *t, int64_t k)
{
    int64_t name = behind(t, k), end = name < t->n ? behind(t, name) : t->n;
    if (name >= t->n || t->item[name].kind != HPC_TOKEN_NAME) return HPC_OK;
    if (end < t->n && t->item[end].kind != HPC_TOKEN_NEWLINE) return HPC_OK;
    if (f->module_n >= MODULES_MOST) return HPC_OK;
    int rc = hpc_grow(&f->module, &f->module_cap, f->module_n + 1, sizeof *f->module);
    if (rc >= 0) f->module[f->module_n++] = t->item[name].hash;
    return rc;
}

static int find_includes(context_file *f, const hpc_tokens *t)
{
    bool fortran = f->language == HPC_LANGUAGE_FORTRAN;
    int rc = HPC_OK;
    for (int64_t k = 0; k < t->n; k++) {
        const hpc_token *x = &t->item[k];
        int64_t next = k + 1 < t->n ? behind(t, k) : t->n;
        if (next == t->n) break;
        if (x->kind == HPC_TOKEN_SENTINEL && x->n == 1 && f->text.data[x->at] == '#') {
            int64_t name = behind(t, next);
            bool includes =
                spells(f, &t->item[next], "include") || spells(f, &t->item[next], "include_next");
            if (includes && name < t->n) TRY(add_quoted(f, &t->item[name]));
        }
        if (!fortran || x->kind != HPC_TOKEN_NAME || !(x->flags & HPC_TOKEN_FIRST_ON_LINE) ||
            (x->flags & HPC_TOKEN_IN_DIRECTIVE))
            continue;
        if (spells(f, x, "include")) TRY(add_quoted(f, &t->item[next]));
        if (spells(f, x, "use")) TRY(add_used(f, t, k));
        if (spells(f, x, "module")) TRY(add_module(f, t, k));
    }
out:
    return rc;
}

int context_file_look(context_file *f, context_scratch *s, const context_words *w)
{
    int rc;
    f->chunk_n = f->name_n = f->include_n = f->module_n = 0;
    f->names.n = 0;
    if (f->text.n == 0 || f->language == HPC_LANGUAGE_NONE) return HPC_OK;
    TRY(hpc_lex(&s->tokens, f->text.data, f->text.n, f->language, f->fixed));
    TRY(find_includes(f, &s->tokens));
    TRY(hpc_functions_find(&s->functions, &s->tokens, f->text.data, f->language));
    TRY(context_chunks_find(f, s, w));
out:
    return rc;
}

/* ---- files that are kept ------------------------------------------------------------------ */

static int new_file(context_file **out, hpc_context *c, const char *path)
{
    size_t n = strlen(path) + 1;
    context_file *f = hpc_alloc(1, sizeof *f);
    int rc = HPC_E_NOMEM;
    if (!f) return rc;
    f->path = hpc_alloc(n, 1);
    if (!f->path) goto out;
    memcpy(f->path, path, n);
    TRY(hpc_grow(&c->file, &c->file_cap, c->file_n + 1, sizeof *c->file));
    TRY(hpc_map_put(c->files, path, n - 1, (uint64_t)c->file_n));
    c->file[c->file_n++] = f;
    *out = f;
    return HPC_OK;
out:
    context_file_release(f);
    hpc_free(f);
    return rc;
}

/* True if bytes need no conversion, as for nearly all files. */
static bool is_plain(const hpc_buf *b)
{
    uint64_t high = 0;
    size_t k = 0;
    for (; k + sizeof high <= b->n; k += sizeof high) {
        uint64_t eight;
        memcpy(&eight, b->data + k, sizeof eight);
        high |= eight;
    }
    for (; k < b->n; k++) high |= (uint64_t)b->data[k];
    return !(high & UINT64_C(0x8080808080808080)) && !memchr(b->data, '\r', b->n) &&
           !memchr(b->data, '\0', b->n);
}

/* Converts bytes to the file's text; fails if they are not text. */
static int take_text(context_file *f, hpc_buf *bytes)
{
    hpc_spot d = {0};
    if (bytes->n > 0 && is_plain(bytes)) {
        f->language = hpc_language_of(f->path, bytes->data, bytes->n);
        f->fixed = f->language == HPC_LANGUAGE_FORTRAN &&
                   hpc_language_fixed_form(f->path, bytes->data, bytes->n);
        hpc_buf_release(&f->text);
        f->text = *bytes;
        *bytes = (hpc_buf){0};
        return HPC_OK;
    }
    int rc = hpc_spot_open(&d, f->path, bytes->data, bytes->n, (hpc_position){0});
    if (rc < 0) return rc;
    hpc_buf_release(&f->text);
    f->text = d.text;
    d.text = (hpc_buf){0};
    f->language = d.language;
    f->fixed = d.fixed;
    hpc_spot_close(&d);
    return HPC_OK;
}

/* Reads a file; one that is not text or not readable is empty. */
static int fill(context_file *f, hpc_context *c, const char *where)
{
    hpc_buf bytes = {0};
    int rc;
    c->bytes -= f->text.n;
    f->text.n = 0;
    TRY(hpc_file_read(&bytes, where, CONTEXT_FILE_BYTES));
    TRY(take_text(f, &bytes));
    TRY(context_file_look(f, &c->scratch, &c->words));
out:
    if (rc < 0) f->text.n = 0;
    c->bytes += f->text.n;
    hpc_buf_release(&bytes);
    if (rc >= 0 || rc == HPC_E_NOMEM) return rc;
    hpc_error_clear();
    return HPC_OK;
}

int context_file_get(context_file **out, hpc_context *c, const char *path)
{
    char where[PATH_MAX];
    uint64_t at, stamp[2];
    int rc = HPC_OK;
    *out = NULL;
    if (hpc_language_of_path(path) == HPC_LANGUAGE_NONE ||
        !context_reach(where, stamp, c->root, path))
        return rc;
    context_file *f = hpc_map_get(c->files, path, strlen(path), &at) ? c->file[at] : NULL;
    if (!f) TRY(new_file(&f, c, path));
    if (memcmp(f->stamp, stamp, sizeof stamp) != 0) {
        memset(f->stamp, 0, sizeof f->stamp);
        TRY(fill(f, c, where));
        memcpy(f->stamp, stamp, sizeof stamp);
        c->read_n++;
    }
    f->used = c->asked;
    if (f->text.n > 0) *out = f;
out:
    return rc;
}
