/*
 * tree.c: syntax trees of files that are open in the libclang process. A file for trees is a file
 * for checks (check_file.c) without a gap, read without OpenMP.
 */
#include "runtime/source/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/source/tree_priv.h"

struct hpc_tree_source {
    hpc_check_file *file;
};

void hpc_tree_release(hpc_tree *t)
{
    hpc_free(t->node);
    hpc_free(t->type);
    hpc_free(t->symbol);
    hpc_free(t->name);
    *t = (hpc_tree){0};
}

int32_t hpc_tree_child(const hpc_tree *t, int32_t i, int k)
{
    int32_t c = hpc_tree_first(t, i);
    while (c && k-- > 0) c = hpc_tree_next(t, c);
    return c;
}

/* ---- errors --------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The first place at or after `at`, or n. */
static int64_t first_from(const uint32_t *place, int64_t n, uint32_t at)
{
    int64_t lo = 0, hi = n;
    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;
        if (place[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* A header that is missing explains what follows. */
static void set_first_error(hpc_tree *t, const check_issues *s)
{
    const check_issue *first = s->n > 0 ? &s->item[0] : NULL;
    for (int64_t k = s->n - 1; k >= 0; k--)
        if (check_is_missing_header(s, &s->item[k])) first = &s->item[k];
    if (!first) return;
    snprintf(t->error, sizeof t->error, "%.*s", (int)first->text_n, s->text.data + first->text_at);
    snprintf(t->error_in, sizeof t->error_in, "%.*s", (int)first->header_n,
             s->text.data + first->header_at);
    t->error_line = first->header_n > 0 ? first->header_line : first->line;
}

/* A token missing at the end of a construct is an error after it. Functions of headers have the
 * flag already, if the compiler finds an error in them. */
static int set_errors(hpc_tree *t, const hpc_check_file *f)
{
    const check_issues *s = &f->empty.issues;
    int64_t n = 0;
    uint32_t *place = hpc_alloc((size_t)s->n + 1, sizeof *place);
    if (!place) return HPC_E_NOMEM;
    for (int64_t k = 0; k < s->n; k++)
        if (s->item[k].line > 0) place[n++] = s->item[k].at;
    qsort(place, (size_t)n, sizeof *place, by_number);
    for (int64_t i = 0; i < t->n && s->n > 0; i++) {
        const int64_t k = first_from(place, n, t->node[i].at);
        const bool own = !(t->node[i].flags & HPC_TREE_ELSEWHERE);
        if (own && k < n && place[k] <= t->node[i].to) t->node[i].flags |= HPC_TREE_ERRORS;
    }
    hpc_free(place);
    t->errors = s->n;
    set_first_error(t, s);
    snprintf(t->missing, sizeof t->missing, "%s", f->base.missing);
    return HPC_OK;
}

/* ---- files ---------------------------------------------------------------------------------- */

bool hpc_tree_knows(hpc_language l)
{
    return hpc_check_knows(l) || l == HPC_LANGUAGE_FORTRAN;
}

int hpc_tree_open(hpc_tree_source **out, hpc_checker *c, const hpc_tree_file *f)
{
    const hpc_check_source source = {
        .path = f->path, .text = f->text, .n = f->n, .language = f->language, .flags = f->flags};
    int rc;
    *out = NULL;
    hpc_tree_source *s = hpc_alloc(1, sizeof *s);
    if (!s) return HPC_E_NOMEM;
    TRY(check_for_language(&c, c, f->language));
    TRY(check_file_create(&s->file, c, &source, true, f->once));
    *out = s;
    s = NULL;
out:
    hpc_tree_close(s);
    return rc;
}

void hpc_tree_close(hpc_tree_source *s)
{
    if (!s) return;
    hpc_check_file_close(s->file);
    hpc_free(s);
}

int hpc_tree_get(hpc_tree *out, hpc_tree_source *s)
{
    hpc_check_file *f = s->file;
    check_reader r;
    int rc;
    TRY(check_open_again(f));
    TRY(check_file_ask(&r, f, CHECK_TREE));
    if (rc > 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%.200s: no syntax tree: %.200s", f->path,
                     rc == 1 ? f->c->process.why : f->message.data));
    TRY(tree_take(out, &r, f->text, f->n));
    TRY(tree_parameters(out));
    TRY(set_errors(out, f));
out:
    if (rc < 0) hpc_tree_release(out);
    return rc;
}

int hpc_tree_again(hpc_tree *out, hpc_tree_source *s, const char *text, size_t n)
{
    int rc;
    TRY(check_file_again(s->file, text, n));
    TRY(hpc_tree_get(out, s));
out:
    if (rc < 0) hpc_tree_release(out);
    return rc;
}

const char *hpc_tree_op_text(char out[4], uint8_t op)
{
    static const char *const names[] = {[HPC_OP_SHIFT_LEFT] = "<<",
                                        [HPC_OP_SHIFT_RIGHT] = ">>",
                                        [HPC_OP_LESS_EQUAL] = "<=",
                                        [HPC_OP_GREATER_EQUAL] = ">=",
                                        [HPC_OP_EQUAL] = "==",
                                        [HPC_OP_NOT_EQUAL] = "!=",
                                        [HPC_OP_AND] = "&&",
                                        [HPC_OP_OR] = "||",
                                        [HPC_OP_PRE_INCREMENT] = "++",
                                        [HPC_OP_PRE_DECREMENT] = "--",
                                        [HPC_OP_POST_INCREMENT] = "++",
                                        [HPC_OP_POST_DECREMENT] = "--"};
    if (op < sizeof names / sizeof *names && names[op]) return names[op];
    out[0] = op >= ' ' ? (char)op : '\0';
    out[1] = '\0';
    return out;
}
