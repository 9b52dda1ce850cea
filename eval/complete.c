/*
 * Suite of completion: holes in source files, filled by a model or a server and compared with the
 * removed text.
 */
#include "eval/complete.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/hole.h"
#include "eval/priv.h"

static const hpc_eval_metric metrics[] = {
    {.name = "exact", .title = "exact", .sum = "exact", .decimals = 3},
    {.name = "similarity", .title = "similarity", .sum = "similarity", .decimals = 3},
    {.name = "names", .title = "names", .sum = "names", .decimals = 3},
    {.name = "ends", .title = "ends", .sum = "ends", .decimals = 3},
    {.name = "parses", .title = "parses", .sum = "parses", .decimals = 3},
    {.name = "compiles", .title = "compiles", .sum = "compiles", .decimals = 3},
};

const hpc_eval_suite hpc_eval_suite_complete = {
    .name = "complete",
    .title = "Completion of holes in source files",
    .unit = "holes",
    .metric = metrics,
    .metric_n = sizeof metrics / sizeof *metrics,
    .notes =
        "[low, high]: 95 % bootstrap interval over files. exact: equal to the removed text apart "
        "from white space. similarity: 1 - edits / length, with runs of white space as one blank. "
        "names: F1 of the sets of identifiers. ends: it ends with its line, block or function. "
        "parses: no new syntax errors by libclang. compiles: no new errors at all; only files "
        "with all headers count.",
};

typedef struct filling {
    const hpc_eval_complete_options *o;
    hpc_eval_files files;
    hpc_eval_asker *asker;
} filling;

/* ---- comparison with the removed text -------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Runs of white space become `blank` (0: nothing); none at the ends. */
static int squeeze(hpc_buf *out, const char *text, size_t n, char blank)
{
    int rc = HPC_OK;

    for (size_t k = 0; k < n; k++) {
        if (is_blank(text[k])) continue;
        if (blank && out->n > 0 && is_blank(text[k - 1])) TRY(hpc_buf_add(out, &blank, 1));
        TRY(hpc_buf_add(out, &text[k], 1));
    }
    rc = hpc_buf_add(out, "", 0);
out:
    return rc;
}

static int compare_texts(double *exact, double *similarity, const char *a, size_t a_n,
                         const char *b, size_t b_n)
{
    hpc_buf x[2] = {{0}}, y[2] = {{0}};
    int rc;

    TRY(squeeze(&x[0], a, a_n, 0));
    TRY(squeeze(&x[1], b, b_n, 0));
    TRY(squeeze(&y[0], a, a_n, ' '));
    TRY(squeeze(&y[1], b, b_n, ' '));
    *exact = x[0].n == x[1].n && (x[0].n == 0 || memcmp(x[0].data, x[1].data, x[0].n) == 0);
    *similarity = hpc_eval_similarity(y[0].data, y[0].n, y[1].data, y[1].n);
    if (isnan(*similarity)) rc = HPC_E_NOMEM;
out:
    for (int k = 0; k < 2; k++) hpc_buf_release(&x[k]), hpc_buf_release(&y[k]);
    return rc;
}

/* The set of names of a text, as hashes. */
static int put_names(hpc_map *set, const char *text, size_t n, hpc_language l)
{
    hpc_tokens t = {0};
    int rc;

    TRY(hpc_lex(&t, n > 0 ? text : "", n, l, false));
    for (int64_t k = 0; k < t.n; k++)
        if (t.item[k].kind == HPC_TOKEN_NAME)
            TRY(hpc_map_put(set, &t.item[k].hash, sizeof t.item[k].hash, 1));
out:
    hpc_tokens_release(&t);
    return rc;
}

/* 2 * common / (names of a + names of b); 1 if both have none. */
static int compare_names(double *f1, const char *a, size_t a_n, const char *b, size_t b_n,
                         hpc_language l)
{
    hpc_map *x = hpc_map_create(), *y = hpc_map_create();
    int64_t common = 0;
    int rc = x && y ? HPC_OK : HPC_E_NOMEM;

    if (rc < 0) goto out;
    TRY(put_names(x, a, a_n, l));
    TRY(put_names(y, b, b_n, l));
    for (int64_t k = 0; k < hpc_map_n(x); k++) {
        uint64_t value;
        size_t bytes;
        const void *key = hpc_map_at(x, k, &bytes, &value);
        common += hpc_map_get(y, key, bytes, &value);
    }
    int64_t all = hpc_map_n(x) + hpc_map_n(y);
    *f1 = all > 0 ? 2.0 * (double)common / (double)all : 1;
out:
    hpc_map_free(x);
    hpc_map_free(y);
    return rc;
}

/* ---- libclang -------------------------------------------------------------------------------- */

typedef struct verdict {
    bool known, strict, parses, compiles;
} verdict;

static int check(verdict *out, const filling *f, const hpc_eval_hole *h, const hpc_buf *text)
{
    const hpc_eval_file *file = h->file;
    const hpc_check_source source = {.path = file->path,
                                     .text = file->text.data,
                                     .n = file->text.n,
                                     .lo = h->lo,
                                     .hi = h->hi,
                                     .language = file->language,
                                     .flags = f->o->flags};
    hpc_check_file *opened = NULL;
    hpc_check c;
    int rc = HPC_OK;

    *out = (verdict){0};
    if (!f->o->checker || !hpc_check_knows(file->language)) return HPC_OK;
    TRY(hpc_check_file_open(&opened, f->o->checker, &source));
    TRY(hpc_check_text(&c, opened, text->n > 0 ? text->data : "", text->n));
    out->known = c.verdict != HPC_CHECK_LOST;
    out->strict = hpc_check_file_base(opened)->strict;
    out->parses = c.parse == 0;
    out->compiles = c.verdict == HPC_CHECK_GOOD;
out:
    hpc_check_file_close(opened);
    if (rc == HPC_E_UNSUPPORTED) { /* libclang fails on this file */
        hpc_error_clear();
        rc = HPC_OK;
    }
    return rc;
}

/* ---- samples --------------------------------------------------------------------------------- */

static int put_sample(hpc_eval_log *log, const char *id, const hpc_eval_hole *h,
                      const hpc_eval_answer *a, const double number[3], const verdict *v)
{
    hpc_buf line = {0}, removed = {0};
    hpc_json_out w = {.buf = &line};

    hpc_buf_add(&removed, h->file->text.data + h->lo, h->hi - h->lo);
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "id", id);
    hpc_json_put_text(&w, "cluster", h->file->path);
    hpc_eval_put_groups(&w, h->file);
    hpc_json_put_text(&w, "kind", hpc_eval_hole_names[h->kind]);
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "number", '{');
    hpc_json_put_real(&w, "exact", number[0]);
    hpc_json_put_real(&w, "similarity", number[1]);
    hpc_json_put_real(&w, "names", number[2]);
    hpc_json_put_int(&w, "ends", a->ended);
    if (v->known) hpc_json_put_int(&w, "parses", v->parses);
    if (v->known && v->strict) hpc_json_put_int(&w, "compiles", v->compiles);
    hpc_json_close(&w, '}');
    hpc_json_put_int(&w, "line", h->line);
    hpc_json_put_text(&w, "removed", removed.data);
    hpc_json_put_text(&w, "text", a->text.n > 0 ? a->text.data : "");
    hpc_json_close(&w, '}');
    int rc = line.failed || removed.failed ? HPC_E_NOMEM : hpc_eval_log_add(log, &line);
    hpc_buf_release(&line);
    hpc_buf_release(&removed);
    return rc;
}

static int fill(hpc_eval_log *log, filling *f, const char *id, const hpc_eval_hole *h,
                int64_t number)
{
    const hpc_buf *text = &h->file->text;
    const hpc_eval_question q = {.path = h->file->path,
                                 .prefix = text->data,
                                 .prefix_n = h->lo,
                                 .suffix = text->data + h->hi,
                                 .suffix_n = text->n - h->hi,
                                 .stop = h->kind,
                                 .temperature = f->o->temperature,
                                 .seed = f->o->files.seed + (uint64_t)number,
                                 .samples = 1,
                                 .stopped = f->o->stop};
    const char *truth = text->data + h->lo;
    size_t n = h->hi - h->lo;
    hpc_eval_answer a = {0};
    double number_of[3];
    verdict v;
    int rc;

    TRY(hpc_eval_ask(&a, f->asker, &q));
    if (eval_stopped(f->o->stop)) goto out;
    TRY(compare_texts(&number_of[0], &number_of[1], truth, n, a.text.data, a.text.n));
    TRY(compare_names(&number_of[2], truth, n, a.text.data, a.text.n, h->file->language));
    TRY(check(&v, f, h, &a.text));
    TRY(put_sample(log, id, h, &a, number_of, &v));
out:
    hpc_buf_release(&a.text);
    return rc;
}

/* ---- the suite ------------------------------------------------------------------------------- */

/* Leaves out files that are not UTF-8 with line feeds. */
static int keep_plain(hpc_eval_files *f)
{
    int64_t n = 0;

    for (int64_t k = 0; k < f->n; k++) {
        hpc_eval_file *x = &f->item[k];
        hpc_spot spot = {0};
        int rc = hpc_spot_open(&spot, x->path, x->text.data, x->text.n, (hpc_position){0});
        bool plain = rc >= 0 && !spot.latin1 && !spot.crlf && spot.text.n == x->text.n;
        hpc_spot_close(&spot);
        if (rc == HPC_E_NOMEM) return rc;
        if (rc < 0) hpc_error_clear();
        if (plain) {
            hpc_eval_file kept = *x;
            *x = f->item[n];
            f->item[n++] = kept;
        }
    }
    for (int64_t k = n; k < f->n; k++) hpc_buf_release(&f->item[k].text);
    f->n = n;
    return HPC_OK;
}

static int fill_number(hpc_eval_log *log, filling *f, int64_t k, int64_t *found)
{
    hpc_eval_hole h;
    int rc;

    TRY(hpc_eval_hole_draw(&h, &f->files, k, (hpc_complete_stop)(k % 3), f->o->files.seed));
    if (!h.file) return HPC_OK;
    (*found)++;
    hpc_arena *a = hpc_arena_create(0);
    const char *name = a ? hpc_arena_text(a, "%s:%lld %s %lld", h.file->path, (long long)h.line,
                                          hpc_eval_hole_names[h.kind], (long long)k)
                         : NULL;
    rc = name ? HPC_OK : HPC_E_NOMEM;
    if (rc >= 0 && !hpc_eval_log_has(log, name)) rc = fill(log, f, name, &h, k);
    hpc_arena_free(a);
out:
    return rc;
}

int hpc_eval_complete(hpc_eval_log *log, const hpc_eval_complete_options *o)
{
    filling f = {.o = o};
    int64_t found = 0;
    int rc;

    TRY(hpc_eval_files_read(&f.files, &o->files));
    TRY(keep_plain(&f.files));
    if (f.files.n > 0) TRY(hpc_eval_asker_open(&f.asker, &o->asker));
    if (o->progress) hpc_progress_start(o->progress, "filling", "holes", o->holes);
    for (int64_t k = 0; k < o->holes && f.files.n > 0 && !eval_stopped(o->stop); k++) {
        TRY(fill_number(log, &f, k, &found));
        if (o->progress) hpc_progress_update(o->progress, k + 1, NULL);
    }
    if (o->progress) hpc_progress_clear(o->progress);
    if (found == 0 && !eval_stopped(o->stop))
        rc = hpc_fail(HPC_E_ARG, "no function in these files has a line, block or body to remove");
out:
    hpc_eval_asker_close(f.asker);
    hpc_eval_files_release(&f.files);
    return rc;
}
