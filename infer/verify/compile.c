/*
 * compile.c: whether libclang and the user's compiler take the proposed directives. The compiler
 * gets the file with all of them on its standard input; where it complains, each goes alone.
 */
#include <stdio.h>
#include <string.h>

#include "infer/verify/priv.h"

enum { PARSED_MOST = 200, ALONE_MOST = 32 };

typedef struct state {
    hpc_arena *arena;
    hpc_pragma_loops *l;
    const hpc_verify_file *f;
    const hpc_verify_compiler *c;
    const char *compiler;
    bool *chosen;
} state;

static bool is_candidate(const hpc_pragma_loop *l)
{
    return !l->again && l->verdict >= HPC_VERDICT_CONDITIONAL && l->pragma &&
           directive_of(l) == l->pragma;
}

static int refuse(state *z, int64_t k, const char *who, const char *message)
{
    hpc_pragma_loop *l = &z->l->item[k];
    l->verdict = HPC_VERDICT_UNKNOWN;
    return evidence_add(z->l, l, "compile", l->line, "%s refuses the directive: %s", who, message);
}

/* ---- libclang -----------------------------------------------------------------------------------
 */

static int with_openmp(hpc_check_flags *out, const hpc_check_flags *flags, hpc_arena *a)
{
    int64_t n = flags ? flags->n : 0;
    const char **list = hpc_arena_alloc(a, (size_t)n + 2, sizeof *list);
    if (!list) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++) list[k] = flags->item[k];
    list[n] = "-fopenmp";
    return hpc_check_flags_given(out, list, NULL);
}

static int parse_one(state *z, int64_t k, const hpc_check_flags *flags)
{
    hpc_pragma_loop *l = &z->l->item[k];
    edits drop = {.arena = z->arena}, put = {.arena = z->arena};
    hpc_buf text = {0};
    hpc_check_file *file = NULL;
    hpc_check check;
    int rc = 0;
    TRY(edits_drop_pragmas(&drop, z->f->text, l->at));
    TRY(edits_apply(&text, &drop, z->f->text, z->f->n));
    TRY(edits_direct(&put, z->f->text, l));
    size_t gap = l->at; /* what was taken out stood before it */
    for (int64_t i = 0; i < drop.n; i++) {
        gap -= drop.item[i].drop;
        for (size_t at = drop.item[i].at; at < drop.item[i].at + drop.item[i].drop; at++)
            gap += z->f->text[at] == '\n';
    }
    const hpc_check_source source = {.path = z->c->path,
                                     .text = text.data,
                                     .n = text.n,
                                     .lo = gap,
                                     .hi = gap,
                                     .language = z->f->language,
                                     .flags = flags};
    TRY(hpc_check_file_open(&file, z->c->checker, &source));
    const char *directive = put.n ? put.item[put.n - 1].text : "";
    TRY(hpc_check_text(&check, file, directive, strlen(directive)));
    if (check.verdict == HPC_CHECK_BAD)
        rc = refuse(z, k, "libclang", check.text);
    else
        rc = evidence_add(z->l, l, "compile", 0, "%s%s",
                          check.verdict == HPC_CHECK_GOOD ? "libclang takes the directive"
                                                          : "libclang does not get through it: ",
                          check.verdict == HPC_CHECK_GOOD ? "" : check.text);
out:
    hpc_check_file_close(file);
    edits_release(&drop);
    edits_release(&put);
    hpc_buf_release(&text);
    return rc;
}

static int parse_all(state *z)
{
    hpc_check_flags flags = {0};
    int64_t parsed = 0;
    int rc = 0;
    TRY(with_openmp(&flags, z->c->flags, z->arena));
    for (int64_t k = 0; k < z->l->n; k++) {
        if (!is_candidate(&z->l->item[k]) || parsed++ >= PARSED_MOST) continue;
        rc = parse_one(z, k, &flags);
        if (rc == HPC_E_UNSUPPORTED) {
            const hpc_error *e = hpc_error_get();
            rc = evidence_add(z->l, &z->l->item[k], "compile", 0, "not parsed: %s", e->text);
            hpc_error_clear();
        }
        if (rc < 0) break;
    }
out:
    hpc_check_flags_release(&flags);
    return rc;
}

/* ---- the compiler -------------------------------------------------------------------------------
 */

static const char *folder_of(hpc_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? hpc_arena_text(a, "%.*s", (int)(slash - path), path) : ".";
}

/* The first error of a compiler's messages, without its place; NULL: there is none. */
static const char *first_error(hpc_arena *a, const hpc_buf *said, uint32_t *line)
{
    const char *p = said->data ? strstr(said->data, "error: ") : NULL;
    if (!p) return NULL;
    const char *begin = p;
    while (begin > said->data && begin[-1] != '\n') begin--;
    const char *number = strchr(begin, ':');
    *line = 0;
    if (number && number < p) sscanf(number, ":%u", line);
    p += strlen("error: ");
    return hpc_arena_text(a, "%.*s", (int)strcspn(p, "\n"), p);
}

/* *message: NULL when it compiles. */
static int compile(state *z, const hpc_buf *text, const char **message, uint32_t *line)
{
    bool cpp = z->f->language == HPC_LANGUAGE_CPP;
    int64_t n = z->c->flags ? z->c->flags->n : 0, m = 0;
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r = {0};
    int rc = 0;
    const char **argv = hpc_arena_alloc(z->arena, (size_t)n + 16, sizeof *argv);
    if (!argv) return HPC_E_NOMEM;
    *message = NULL;
    argv[m++] = z->compiler;
    for (int64_t k = 0; k < n; k++) argv[m++] = z->c->flags->item[k];
    /* Clauses are checked behind the syntax: -fsyntax-only would not see default(none). */
    static const char *const last[] = {"-fopenmp", "-w", "-O0", "-S", "-o", "/dev/null", "-x"};
    for (size_t k = 0; k < sizeof last / sizeof *last; k++) argv[m++] = last[k];
    argv[m++] = cpp ? "c++" : "c";
    argv[m++] = "-iquote";
    argv[m++] = folder_of(z->arena, z->c->path);
    argv[m++] = "-";
    o.argv = argv;
    o.input = text->data;
    o.input_bytes = text->n;
    o.seconds = z->c->seconds;
    TRY(hpc_proc_run(&r, &o));
    if (r.timed_out)
        *message = "it does not end in time";
    else if (r.status != 0)
        *message = first_error(z->arena, &r.err, line);
    if (r.status != 0 && !*message)
        *message =
            hpc_arena_text(z->arena, "%.*s", (int)strcspn(r.err.data ? r.err.data : "", "\n"),
                           r.err.data ? r.err.data : "it fails");
    if (r.status != 0 && !*message) rc = HPC_E_NOMEM;
out:
    hpc_proc_release(&r);
    return rc;
}

/* With the directives of the chosen loops. */
static int compile_chosen(state *z, const char **message, uint32_t *line)
{
    edits e = {.arena = z->arena};
    hpc_buf text = {0};
    int rc = 0;
    for (int64_t k = 0; k < z->l->n; k++)
        if (z->chosen[k]) TRY(edits_direct(&e, z->f->text, &z->l->item[k]));
    TRY(edits_apply(&text, &e, z->f->text, z->f->n));
    TRY(compile(z, &text, message, line));
out:
    edits_release(&e);
    hpc_buf_release(&text);
    return rc;
}

static int say_all(state *z, const char *text)
{
    int rc = 0;
    for (int64_t k = 0; k < z->l->n && rc == 0; k++)
        if (z->chosen[k])
            rc = evidence_add(z->l, &z->l->item[k], "compile", 0, "%s %s", z->compiler, text);
    return rc;
}

/* Those that stand where the compiler complains, until it complains no more; what cannot be told
 * apart by lines goes alone. */
static int compile_rest(state *z, const char *message, uint32_t line)
{
    int rc = 0;
    for (int round = 0; round < ALONE_MOST && message; round++) {
        int64_t at = -1, left = 0;
        for (int64_t k = 0; k < z->l->n; k++) {
            left += z->chosen[k];
            if (z->chosen[k] && z->l->item[k].line == line) at = k;
        }
        if (left == 0) return 0;
        if (at < 0) break;
        TRY(refuse(z, at, z->compiler, message));
        z->chosen[at] = false;
        TRY(compile_chosen(z, &message, &line));
    }
    if (!message) return say_all(z, "compiles the directive");
    bool *rest = hpc_arena_alloc(z->arena, (size_t)z->l->n, sizeof *rest);
    if (!rest) return HPC_E_NOMEM;
    memcpy(rest, z->chosen, (size_t)z->l->n * sizeof *rest);
    for (int64_t k = 0; k < z->l->n; k++) {
        if (!rest[k]) continue;
        for (int64_t i = 0; i < z->l->n; i++) z->chosen[i] = i == k;
        TRY(compile_chosen(z, &message, &line));
        TRY(message ? refuse(z, k, z->compiler, message) : say_all(z, "compiles the directive"));
    }
out:
    return rc;
}

static int compile_all(state *z)
{
    const char *message;
    uint32_t line = 0;
    int64_t n = 0;
    int rc = 0;
    for (int64_t k = 0; k < z->l->n; k++) n += z->chosen[k] = is_candidate(&z->l->item[k]);
    if (n == 0) return 0;
    TRY(compile_chosen(z, &message, &line));
    if (!message) return say_all(z, "compiles the directive");
    const char *before = NULL;
    uint32_t ignored;
    const hpc_buf as_it_is = {.data = (char *)(uintptr_t)z->f->text, .n = z->f->n};
    TRY(compile(z, &as_it_is, &before, &ignored));
    if (before) {
        const char *text =
            hpc_arena_text(z->arena, "does not compile the file as it is: %s", before);
        return text ? say_all(z, text) : HPC_E_NOMEM;
    }
    TRY(compile_rest(z, message, line));
out:
    return rc;
}

int hpc_verify_compile(hpc_pragma_loops *l, const hpc_verify_file *f, const hpc_verify_compiler *c)
{
    state z = {.l = l, .f = f, .c = c};
    int rc = 0;
    if (l->n == 0) return 0;
    z.arena = hpc_arena_create(0);
    z.chosen = hpc_alloc((size_t)l->n, sizeof *z.chosen);
    if (!z.arena || !z.chosen) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    z.compiler = c->compiler ? c->compiler : f->language == HPC_LANGUAGE_CPP ? "c++" : "cc";
    bool known = f->language == HPC_LANGUAGE_C || f->language == HPC_LANGUAGE_CPP;
    if (c->checker && known) TRY(parse_all(&z));
    if (known && *z.compiler && (c->compiler || hpc_proc_exists(z.compiler))) TRY(compile_all(&z));
out:
    hpc_free(z.chosen);
    hpc_arena_free(z.arena);
    return rc;
}
