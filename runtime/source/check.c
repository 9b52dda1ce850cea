/*
 * check.c: the checker, and the verdict on a candidate.
 *
 * libclang runs in another process (check_process.c), which any candidate may crash.
 * The checker then restarts it and opens the file again by repeating the opening
 * message.
 */
#include "runtime/source/check.h"

#include <stdio.h>
#include <string.h>

#include "runtime/source/check_priv.h"

/* ---- the checker ---------------------------------------------------------------------------- */

static int copy_text(char **out, const char *text)
{
    *out = hpc_alloc(strlen(text) + 1, 1);
    if (!*out) return HPC_E_NOMEM;
    memcpy(*out, text, strlen(text) + 1);
    return HPC_OK;
}

static int open_program(hpc_checker **out, const hpc_checker_options *o, bool is_fortran)
{
    const char *program = o->program ? o->program : "./hpccoder-clang";
    int rc;
    *out = NULL;
    hpc_checker *c = hpc_alloc(1, sizeof *c);
    if (!c) return HPC_E_NOMEM;
    c->options = *o;
    c->is_fortran = c->process.is_flang = is_fortran;
    TRY(copy_text(&c->program, program));
    TRY(copy_text(&c->fortran_program, o->fortran ? o->fortran : "./hpccoder-flang"));
    c->options.program = c->program; /* the caller's texts are borrowed for this call only */
    c->options.fortran = c->fortran_program;
    c->missing = hpc_map_create();
    if (!c->missing) TRY(HPC_E_NOMEM);
    TRY(check_restart(c));
    *out = c;
    c = NULL;
out:
    hpc_checker_close(c);
    return rc;
}

int hpc_checker_open(hpc_checker **out, const hpc_checker_options *o)
{
    return open_program(out, o, false);
}

void hpc_checker_close(hpc_checker *c)
{
    if (!c) return;
    hpc_checker_close(c->fortran);
    check_process_stop(&c->process);
    hpc_map_free(c->missing);
    hpc_free(c->program);
    hpc_free(c->fortran_program);
    hpc_free(c->taken);
    hpc_free(c);
}

int check_for_language(hpc_checker **out, hpc_checker *c, hpc_language l)
{
    hpc_checker_options o = c->options;
    int rc = HPC_OK;
    *out = c;
    if (l != HPC_LANGUAGE_FORTRAN || c->is_fortran) return HPC_OK;
    if (!c->fortran) {
        o.program = c->fortran_program;
        TRY(open_program(&c->fortran, &o, true));
    }
    *out = c->fortran;
out:
    return rc;
}

int check_restart(hpc_checker *c)
{
    if (c->process.pid > 0) return HPC_OK;
    c->generation++;
    return check_process_start(&c->process, c->program, c->options.memory_bytes);
}

int check_take_id(uint64_t *id, hpc_checker *c)
{
    int64_t k = 0;
    while (k < c->taken_n && c->taken[k]) k++;
    if (k == CHECK_FILES_MOST)
        return hpc_fail(HPC_E_ARG, "a checker has at most %d files open", CHECK_FILES_MOST);
    int rc = hpc_grow(&c->taken, &c->taken_n, k + 1, 1);
    if (rc < 0) return rc;
    c->taken[k] = 1;
    *id = (uint64_t)k;
    return HPC_OK;
}

void check_return_id(hpc_checker *c, uint64_t id)
{
    c->taken[id] = 0;
}

bool hpc_check_knows(hpc_language l)
{
    return l == HPC_LANGUAGE_C || l == HPC_LANGUAGE_CPP || l == HPC_LANGUAGE_CUDA ||
           l == HPC_LANGUAGE_HIP;
}

/* ---- what is new ---------------------------------------------------------------------------- */

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int compare(hpc_check_file *f)
{
    const check_version now = check_version_of(f, &f->now), empty = check_version_of(f, &f->empty);
    const int64_t n = now.issues->n;
    int rc;
    TRY(hpc_grow(&f->fresh, &f->fresh_cap, n + 1, 1));
    TRY(hpc_grow(&f->used, &f->used_cap, most(empty.issues->n, f->filled.issues.n) + 1, 1));
    memset(f->fresh, 1, (size_t)n);
    check_compare(f->fresh, f->used, &now, &empty, f->base.strict);
    if (f->filled.text.n > 0) {
        const check_version filled = check_version_of(f, &f->filled);
        check_compare(f->fresh, f->used, &now, &filled, f->base.strict);
    }
    for (int64_t k = 0; k < n && !f->base.strict; k++)
        if (check_is_missing_header(now.issues, &now.issues->item[k])) f->fresh[k] = 0;
    for (int64_t k = 0; k < n; k++)
        if (check_lacks_return(f, &now.issues->item[k])) f->fresh[k] = 1;
out:
    return rc;
}

/* An issue that counts: see hpc_check_base. */
static bool counts(const hpc_check_file *f, int64_t k)
{
    const check_issue *i = &f->now.issues.item[k];
    if (!f->fresh[k]) return false;
    return (i->flags & CHECK_PARSE) || f->base.strict || check_is_bug(f, i);
}

static int64_t count(const hpc_check_file *f, bool of_parser)
{
    int64_t n = 0;
    for (int64_t k = 0; k < f->now.issues.n; k++)
        n += f->fresh[k] && ((f->now.issues.item[k].flags & CHECK_PARSE) != 0) == of_parser;
    return n;
}

static bool has_error(const hpc_check_file *f)
{
    for (int64_t k = 0; k < f->now.issues.n; k++)
        if (counts(f, k)) return true;
    return false;
}

/* Errors with the candidate in the gap, after declaring all names that can be declared. Returns as
 * check_look. */
static int find(hpc_check_file *f, const char *text, size_t n)
{
    int rc;
    for (int k = 0; k < 3; k++) {
        TRY(check_open_again(f));
        TRY(check_look(&f->now, f, text, n));
        if (rc == 1) return 1;
        TRY(compare(f));
        TRY(check_include(f, &f->now));
        if (rc == 1) continue;
        if (f->base.strict) break;
        TRY(check_declare(f, &f->now, count(f, true) > 0));
        if (rc == 0) break;
    }
    rc = HPC_OK;
out:
    return rc;
}

/* ---- the verdict ---------------------------------------------------------------------------- */

static bool is_better(const check_issue *i, const check_issue *than)
{
    if (!than) return true;
    if ((i->flags ^ than->flags) & CHECK_PARSE) return (i->flags & CHECK_PARSE) != 0;
    return than->line == 0 && i->line > 0;
}

/* The first that counts: of the parser before others, with a place before those without. */
static void show_first(hpc_check *out, const hpc_check_file *f)
{
    const check_issues *s = &f->now.issues;
    const check_issue *first = NULL;
    for (int64_t k = 0; k < s->n; k++)
        if (counts(f, k) && is_better(&s->item[k], first)) first = &s->item[k];
    if (!first) return;
    out->of_parser = (first->flags & CHECK_PARSE) != 0;
    out->line = first->line;
    out->column = first->column;
    snprintf(out->text, sizeof out->text, "%.*s", (int)first->text_n,
             s->text.data + first->text_at);
}

static void show_bracket(hpc_check *out, const hpc_check_file *f, int64_t token)
{
    const hpc_token *k = &f->tokens.item[token];
    size_t at = k->at;
    while (at > 0 && f->now.text.data[at - 1] != '\n') at--;
    out->parse = 1;
    out->of_parser = true;
    out->line = k->line;
    out->column = (uint32_t)(k->at - at) + 1;
    snprintf(out->text, sizeof out->text, "no bracket matches this '%c'", f->now.text.data[k->at]);
}

/* Where headers are missing: errors that follow from that go, and brackets are counted. */
static int judge_loosely(hpc_check *out, hpc_check_file *f)
{
    const check_version now = check_version_of(f, &f->now);
    int64_t before, after, token;
    int rc;
    TRY(hpc_lex(&f->tokens, f->text, f->n, f->language, false));
    TRY(check_unmatched(&before, &token, &f->tokens, f->text, 0));
    TRY(hpc_lex(&f->tokens, now.text, now.n, f->language, false));
    TRY(check_unmatched(&after, &token, &f->tokens, now.text, f->lo));
    if (after <= before) TRY(check_excuse(f->fresh, &now, &f->tokens, f->known));
    out->parse = count(f, true);
    show_first(out, f);
    if (after > before && out->parse == 0 && token < f->tokens.n) show_bracket(out, f, token);
out:
    return rc;
}

int hpc_check_text(hpc_check *out, hpc_check_file *f, const char *text, size_t n)
{
    int rc;
    *out = (hpc_check){.verdict = HPC_CHECK_GOOD};
    if (n > CHECK_TEXT_MOST)
        TRY(hpc_fail(HPC_E_ARG, "%zu bytes are too many to check, at most %d", n, CHECK_TEXT_MOST));
    TRY(find(f, text, n));
    if (rc == 1) {
        out->verdict = HPC_CHECK_LOST;
        snprintf(out->text, sizeof out->text, "%s", f->c->process.why);
        return HPC_OK;
    }
    if (f->base.strict) {
        out->parse = count(f, true);
        show_first(out, f);
    } else {
        TRY(judge_loosely(out, f));
    }
    out->semantic = count(f, false);
    if (out->parse > 0 || has_error(f)) out->verdict = HPC_CHECK_BAD;
out:
    return rc;
}
