/*
 * Samples of code from a file of JSON objects, and their graphs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/code_priv.h"

void code_set_release(code_set *s)
{
    for (int64_t k = 0; k < s->n; k++) hpc_code_graph_release(&s->item[k].graph);
    hpc_free(s->item);
    hpc_map_free(s->groups);
    hpc_tokens_release(&s->t);
    *s = (code_set){0};
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static int add_text(code_set *s, code_sample *x, const hpc_json *v, const char *key, hpc_language l)
{
    const char *text;
    bool head = strcmp(key, "head") == 0;
    int rc = HPC_OK;
    TRY(hpc_json_text(&text, hpc_json_get(v, key), key));
    TRY(hpc_lex(&s->t, text, strlen(text), l, false));
    TRY((head ? hpc_code_graph_add_head : hpc_code_graph_of)(&x->graph, &s->t, text, 0,
                                                             strlen(text), l));
out:
    return rc;
}

static int group_of(int64_t *out, code_set *s, const char *name)
{
    uint64_t number = (uint64_t)hpc_map_n(s->groups);
    int rc = HPC_OK;
    if (!hpc_map_get(s->groups, name, strlen(name), &number))
        rc = hpc_map_put(s->groups, name, strlen(name), number);
    *out = (int64_t)number;
    return rc;
}

static int read_labels(code_set *s, code_sample *x, const hpc_json *v)
{
    const char *group;
    int rc = HPC_OK;
    TRY(hpc_json_text(&group, hpc_json_get(v, "group"), "group"));
    TRY(group_of(&x->group, s, group));
    TRY(hpc_json_int(&x->fold, hpc_json_get(v, "fold"), "fold"));
    TRY(hpc_json_int(&x->label, hpc_json_get(v, "label"), "label"));
    x->score = NAN;
    const hpc_json *score = hpc_json_get(v, "score");
    if (score && hpc_json_kind_of(score) != HPC_JSON_NULL)
        TRY(hpc_json_real(&x->score, score, "score"));
    if (x->label < 0 || x->label > 1)
        rc = hpc_fail(HPC_E_FORMAT, "label %lld is neither 0 nor 1", (long long)x->label);
    else if (x->fold < -1 || x->fold >= HPC_EVAL_CODE_FOLDS)
        rc = hpc_fail(HPC_E_FORMAT, "fold %lld is not from -1 to %d", (long long)x->fold,
                      HPC_EVAL_CODE_FOLDS - 1);
out:
    return rc;
}

/* ---- loops in files ------------------------------------------------------------------------- */

/* The file of the last sample stays open: samples of one file tend to be neighbours. */
typedef struct opened {
    int (*open_checker)(hpc_checker **out);
    hpc_checker *checker;
    hpc_buf path, text;
    hpc_tree tree; /* without nodes: the compiler has none */
} opened;

static void close_file(opened *f)
{
    hpc_tree_release(&f->tree);
    hpc_buf_release(&f->path);
    hpc_buf_release(&f->text);
}

static int get_tree(opened *f, const hpc_check_flags *flags)
{
    const hpc_tree_file file = {.path = f->path.data,
                                .text = f->text.data,
                                .n = f->text.n,
                                .language = hpc_language_of_path(f->path.data),
                                .flags = flags,
                                .once = true};
    hpc_tree_source *source = NULL;
    int rc;
    hpc_tree_release(&f->tree);
    TRY(hpc_tree_open(&source, f->checker, &file));
    rc = hpc_tree_get(&f->tree, source);
out:
    hpc_tree_close(source);
    return rc;
}

/* A file that the compiler does not read has no tree. */
static int open_file(opened *f, const char *path)
{
    static const hpc_check_flags none = {0};
    hpc_check_flags found = {0};
    int rc = HPC_OK;
    if (f->path.n > 0 && strcmp(f->path.data, path) == 0) return HPC_OK;
    close_file(f);
    if (!f->checker) TRY(f->open_checker(&f->checker));
    TRY(hpc_buf_text(&f->path, path));
    TRY(hpc_file_read_text(&f->text, path, (size_t)16 << 20));
    TRY(hpc_check_flags_search(&found, &none, path, f->text.data));
    rc = get_tree(f, &found);
    if (rc == HPC_E_UNSUPPORTED) {
        hpc_error_clear();
        rc = HPC_OK;
    }
out:
    hpc_check_flags_release(&found);
    return rc;
}

/* The outermost loop that begins on a line, or 0. */
static int32_t loop_at(const hpc_tree *t, int64_t line)
{
    for (int64_t k = 1; k < t->n; k++) {
        const hpc_tree_node *v = &t->node[k];
        bool loops = v->kind == HPC_TREE_FOR || v->kind == HPC_TREE_RANGE ||
                     v->kind == HPC_TREE_WHILE || v->kind == HPC_TREE_DO;
        if (loops && v->line == line && !(v->flags & HPC_TREE_ELSEWHERE)) return (int32_t)k;
    }
    return 0;
}

static int add_loop(opened *f, code_sample *x, const hpc_json *v)
{
    const char *path;
    int64_t line;
    int rc;
    TRY(hpc_json_text(&path, hpc_json_get(v, "file"), "file"));
    TRY(hpc_json_int(&line, hpc_json_get(v, "line"), "line"));
    TRY(open_file(f, path));
    int32_t node = f->tree.n > 0 ? loop_at(&f->tree, line) : 0;
    if (node > 0) {
        x->of_tree = true;
        rc = hpc_code_graph_of_tree(&x->graph, &f->tree, node);
    } else if (!hpc_json_get(v, "code")) {
        rc = hpc_fail(HPC_E_FORMAT,
                      "the compiler finds no loop at %s:%lld, and the sample has no \"code\"", path,
                      (long long)line);
    }
out:
    return rc;
}

static int read_sample(code_set *s, code_sample *x, const hpc_json *v, opened *f)
{
    const hpc_json *name = hpc_json_get(v, "language");
    const char *text;
    hpc_language l = HPC_LANGUAGE_CPP;
    int rc = HPC_OK;
    TRY(read_labels(s, x, v));
    if (name) {
        TRY(hpc_json_text(&text, name, "language"));
        l = hpc_language_named(text);
        if (l == HPC_LANGUAGE_NONE)
            return hpc_fail(HPC_E_FORMAT, "language \"%s\" is unknown", text);
    }
    if (hpc_json_get(v, "file")) TRY(add_loop(f, x, v));
    if (x->of_tree) return HPC_OK;
    if (hpc_json_get(v, "code")) return add_text(s, x, v, "code", l);
    TRY(add_text(s, x, v, "base", l));
    TRY(add_text(s, x, v, "head", l));
out:
    return rc;
}

static int read_line(code_set *s, const char *line, size_t n, const char *path, int64_t number,
                     opened *f)
{
    char where[4200];
    hpc_json *v = NULL;
    int rc = HPC_OK;
    snprintf(where, sizeof where, "%s:%lld", path, (long long)number);
    TRY(hpc_json_parse(&v, line, n, where));
    TRY(hpc_grow(&s->item, &s->cap, s->n + 1, sizeof *s->item));
    s->item[s->n] = (code_sample){0};
    rc = read_sample(s, &s->item[s->n++], v, f);
    if (rc < 0) hpc_error_where("%s", where);
out:
    hpc_json_free(v);
    return rc;
}

int code_set_read(code_set *s, const char *path, int (*open_checker)(hpc_checker **out),
                  hpc_progress *progress)
{
    hpc_buf text = {0};
    opened f = {.open_checker = open_checker};
    int64_t number = 0;
    int rc = HPC_OK;
    s->groups = hpc_map_create();
    if (!s->groups) return HPC_E_NOMEM;
    TRY(hpc_file_read_text(&text, path, (size_t)1 << 30));
    hpc_progress_start(progress, "reading", "bytes", (int64_t)text.n);
    for (size_t at = 0; at < text.n;) {
        const char *end = memchr(text.data + at, '\n', text.n - at);
        size_t n = end ? (size_t)(end - (text.data + at)) : text.n - at;
        number++;
        if (n > 0) TRY(read_line(s, text.data + at, n, path, number, &f));
        at += n + 1;
        hpc_progress_update(progress, (int64_t)at, NULL);
    }
    hpc_progress_clear(progress);
out:
    close_file(&f);
    hpc_checker_close(f.checker);
    hpc_buf_release(&text);
    return rc;
}
