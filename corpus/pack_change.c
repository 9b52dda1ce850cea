/*
 * pack_change.c: finds the functions that a commit changed: compares all functions of each
 * differing file, paired by path and name, then by content, then by name.
 *
 * It compares code tokens, so comments and layout do not count. Code outside functions is ignored:
 * a changed macro or constant is not seen. Secrets are masked in whole files, because they may
 * extend across a function's boundaries.
 */
#include <stdlib.h>
#include <string.h>

#include "corpus/pack_change.h"
#include "corpus/priv.h"
#include "runtime/source/pair.h"

typedef struct found { /* a function of one side */
    change_side side;
    int64_t file; /* index in the diff */
    hpc_known known;
    hpc_reason held_out;
} found;
typedef struct list {
    found *item;
    int64_t n, cap;
} list;
struct change_scratch {
    hpc_git *git;
    const char *name; /* of the repository */
    const hpc_sketch *sketch;
    hpc_reason held_out; /* of the current commits */
    hpc_git_changes diff;
    list base, head;
    hpc_buf text, masked, scratch; /* masked: swapped with text */
    hpc_tokens t;
    corpus_code code;
    hpc_functions f;
};

int change_scratch_create(change_scratch **out, const hpc_git *like, const char *name,
                          const hpc_sketch *sketch)
{
    change_scratch *s = hpc_alloc(1, sizeof *s);
    int rc = HPC_OK;
    *out = NULL;
    if (!s) return HPC_E_NOMEM;
    s->name = name;
    s->sketch = sketch;
    TRY(hpc_git_share(&s->git, like));
    *out = s;
out:
    if (rc < 0) change_scratch_free(s);
    return rc;
}

void change_scratch_free(change_scratch *s)
{
    if (!s) return;
    hpc_git_close(s->git);
    hpc_git_changes_release(&s->diff);
    hpc_free(s->base.item);
    hpc_free(s->head.item);
    hpc_buf_release(&s->text);
    hpc_buf_release(&s->masked);
    hpc_buf_release(&s->scratch);
    hpc_tokens_release(&s->t);
    corpus_code_release(&s->code);
    hpc_functions_release(&s->f);
    hpc_free(s);
}

void changes_release(changes *c)
{
    hpc_free(c->item);
    hpc_buf_release(&c->paths);
    *c = (changes){0};
}

/* ---- the text of a file ----------------------------------------------------------------- */

static int lex(change_scratch *s, const change_side *side)
{
    return hpc_lex(&s->t, s->text.data, s->text.n, (hpc_language)side->language, side->fixed);
}

/* Masks secrets in the text and updates its tokens. 1: there were secrets; 0: none. */
static int mask(change_scratch *s, const change_side *side)
{
    hpc_buf before = s->text;
    int64_t masked = 0;
    int rc = HPC_OK;
    TRY(corpus_mask(&s->masked, &masked, s->text.data, s->text.n, &s->t));
    if (masked == 0) return 0;
    s->text = s->masked;
    s->masked = before;
    TRY(lex(s, side));
    rc = 1;
out:
    return rc;
}

int change_read(hpc_buf *out, change_scratch *s, const change_side *side)
{
    size_t bytes = 0;
    int rc = HPC_OK;
    out->n = 0;
    if (side->n == 0) return rc;
    TRY(hpc_git_read(&s->text, &bytes, s->git, &side->blob, CHANGE_FILE_BYTES));
    bool there = rc == HPC_GIT_READ;
    if (there && side->masked) {
        TRY(lex(s, side));
        TRY(mask(s, side));
    }
    if (!there || (size_t)side->at + side->n > s->text.n) {
        char id[41];
        hpc_git_id_text(id, &side->blob);
        TRY(hpc_fail(HPC_E_FORMAT, "object %s can no longer be read: the repository has changed",
                     id));
    }
    TRY(hpc_buf_add(out, s->text.data + side->at, side->n));
out:
    return rc;
}

/* As strictly as `corpus check`; id is a file's, or NULL. */
static int judge(corpus_held_out *out, change_scratch *s, const hpc_git_id *id, const hpc_tokens *t)
{
    static const hpc_check_options limits = HPC_CHECK_DEFAULTS;
    int rc = HPC_OK;
    *out = (corpus_held_out){.reason = HPC_REASON_KEPT};
    if (!s->sketch) return rc;
    TRY(corpus_code_of(&s->code, t));
    TRY(corpus_sketch_content(out, s->sketch, id, &s->code, limits.share, false));
out:
    return rc;
}

/* ---- the functions of a file ----------------------------------------------------------- */

/* Functions are checked individually: one may be a small part of an allowed file. If the file has
 * nothing in common with held-out content, no function has. */
static int add_function(list *to, change_scratch *s, int64_t k, const found *like, double share)
{
    const hpc_function *f = &s->f.item[k];
    corpus_held_out held = {.reason = HPC_REASON_KEPT};
    found one = *like;
    int rc = HPC_OK;
    one.side.at = f->at;
    one.side.n = f->end - f->at;
    one.known.name = hpc_hash(s->text.data + f->name_at, f->name_n, 0);
    TRY(hpc_function_content(&one.known.content, &s->scratch, &s->t, &s->f, k));
    if (share > 0) {
        int64_t lo = hpc_token_at(&s->t, f->at), hi = hpc_token_at(&s->t, f->end);
        const hpc_tokens part = {.item = s->t.item + lo, .n = hi - lo};
        TRY(judge(&held, s, NULL, &part));
        one.held_out = held.reason;
    }
    TRY(hpc_grow(&to->item, &to->cap, to->n + 1, sizeof *to->item));
    to->item[to->n++] = one;
out:
    return rc;
}

/* 1: its functions are added; 0: it cannot be read, or is held out. */
static int add_file(list *to, change_scratch *s, int64_t file, const hpc_git_id *id)
{
    static const hpc_git_id none;
    const char *path = s->diff.paths.data + s->diff.item[file].path;
    found like = {
        .side = {.blob = *id}, .file = file, .known.path = hpc_hash(path, strlen(path), 0)};
    corpus_held_out held;
    size_t bytes = 0;
    int rc = HPC_OK;
    if (memcmp(id, &none, sizeof none) == 0) return 1;
    TRY(hpc_git_read(&s->text, &bytes, s->git, id, CHANGE_FILE_BYTES));
    if (rc != HPC_GIT_READ) return 0;
    if (s->text.n == 0) return 1;
    hpc_language l = hpc_language_of(path, s->text.data, s->text.n);
    if (l == HPC_LANGUAGE_NONE) return 1;
    like.side.language = (uint8_t)l;
    like.side.fixed =
        l == HPC_LANGUAGE_FORTRAN && hpc_language_fixed_form(path, s->text.data, s->text.n);
    TRY(lex(s, &like.side));
    TRY(judge(&held, s, id, &s->t));
    s->held_out = held.reason;
    if (held.reason != HPC_REASON_KEPT) return 0;
    TRY(mask(s, &like.side));
    like.side.masked = rc == 1;
    TRY(hpc_functions_find(&s->f, &s->t, s->text.data, l));
    for (int64_t k = 0; k < s->f.n; k++) TRY(add_function(to, s, k, &like, held.share));
    return 1;
out:
    return rc;
}

/* ---- pairs -------------------------------------------------------------------------------- */

static int put(changes *out, change_scratch *s, const found *base, const found *head)
{
    hpc_assert(base || head);
    const found *f = head ? head : base;
    const char *path = s->diff.paths.data + s->diff.item[f->file].path;
    change c = {.path = out->paths.n};
    int rc = HPC_OK;
    if (base) c.base = base->side;
    if (head) c.head = head->side;
    if (c.base.n > CHANGE_FUNCTION_BYTES || c.head.n > CHANGE_FUNCTION_BYTES) return rc;
    if (base && base->held_out != HPC_REASON_KEPT) s->held_out = base->held_out;
    if (head && head->held_out != HPC_REASON_KEPT) s->held_out = head->held_out;
    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
    TRY(hpc_buf_add(&out->paths, path, strlen(path) + 1));
    out->item[out->n++] = c;
out:
    return rc;
}

static hpc_known *known_of(const list *from)
{
    hpc_known *all = hpc_alloc((size_t)from->n + 1, sizeof *all);
    for (int64_t k = 0; all && k < from->n; k++) all[k] = from->item[k].known;
    return all;
}

/* Adds pairs that differ, and functions without a partner. */
static int put_all(changes *out, change_scratch *s, const int32_t *partner, bool *taken)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < s->base.n; k++) {
        const found *base = &s->base.item[k];
        const found *head = partner[k] >= 0 ? &s->head.item[partner[k]] : NULL;
        if (head) taken[partner[k]] = true;
        if (!head || head->known.content != base->known.content) TRY(put(out, s, base, head));
    }
    for (int64_t k = 0; k < s->head.n; k++)
        if (!taken[k]) TRY(put(out, s, NULL, &s->head.item[k]));
out:
    return rc;
}

static int match_all(changes *out, change_scratch *s)
{
    hpc_known *a = known_of(&s->base), *b = known_of(&s->head);
    int32_t *partner = hpc_alloc((size_t)s->base.n + 1, sizeof *partner);
    bool *taken = hpc_alloc((size_t)s->head.n + 1, sizeof *taken);
    int rc = a && b && partner && taken ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    for (int64_t k = 0; k < s->base.n; k++) partner[k] = -1;
    TRY(hpc_pairs_find(partner, a, s->base.n, b, s->head.n, HPC_PAIR_SAME, HPC_PAIR_NAMED));
    TRY(put_all(out, s, partner, taken));
out:
    hpc_free(a);
    hpc_free(b);
    hpc_free(partner);
    hpc_free(taken);
    return rc;
}

static int compare_changes(const void *a, const void *b, void *paths)
{
    const change *x = a, *y = b;
    int order = strcmp((const char *)paths + x->path, (const char *)paths + y->path);
    if (order) return order;
    if (x->head.at != y->head.at) return x->head.at < y->head.at ? -1 : 1;
    if (x->base.at != y->base.at) return x->base.at < y->base.at ? -1 : 1;
    return memcmp(&x->base.blob, &y->base.blob, sizeof x->base.blob);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool wanted(const char *path, void *user)
{
    (void)user;
    return hpc_language_of_path(path) != HPC_LANGUAGE_NONE;
}

/* 1: the functions of all files that differ are listed; 0: not so. */
static int list_functions(change_scratch *s, const hpc_git_id *base, const hpc_git_id *head)
{
    int rc = HPC_OK;
    s->base.n = s->head.n = 0;
    rc = hpc_git_diff(&s->diff, s->git, base, head, wanted, NULL, CHANGE_FILES);
    if (rc == HPC_E_UNSUPPORTED) {
        hpc_error_clear(); /* too much changed: no failure */
        return 0;
    }
    TRY(rc);
    if (rc != HPC_GIT_READ) return 0;
    for (int64_t k = 0; k < s->diff.n; k++) {
        const char *path = s->diff.paths.data + s->diff.item[k].path;
        if (s->sketch && corpus_sketch_path(s->sketch, s->name, path, NULL)) {
            s->held_out = HPC_REASON_HELD_OUT_PATH;
            return 0;
        }
        TRY(add_file(&s->base, s, k, &s->diff.item[k].base));
        if (rc == 1) TRY(add_file(&s->head, s, k, &s->diff.item[k].head));
        if (rc == 0) return 0;
    }
    return 1;
out:
    return rc;
}

int change_find(changes *out, change_scratch *s, const hpc_git_id *base, const hpc_git_id *head)
{
    int rc = HPC_OK;
    out->n = 0;
    out->paths.n = 0;
    s->held_out = HPC_REASON_KEPT;
    TRY(list_functions(s, base, head));
    bool listed = rc == 1;
    if (listed) TRY(match_all(out, s));
    out->held_out = s->held_out;
    rc = listed && out->held_out == HPC_REASON_KEPT && out->n <= CHANGE_FUNCTIONS;
    if (rc == 0) out->n = 0;
    if (out->n > 1)
        qsort_r(out->item, (size_t)out->n, sizeof *out->item, compare_changes, out->paths.data);
out:
    return rc;
}
