/*
 * compile.c: checks that libclang and the user's compiler accept the proposed directives; for
 * Fortran, gfortran alone. The compiler reads the file with the directives of one nesting depth on
 * its standard input. If it reports an error, it reads each directive alone.
 */
#include <stdio.h>
#include <string.h>

#include "infer/verify/priv.h"

enum { PARSED_MOST = 200, ALONE_MOST = 32 };

typedef struct state {
    hpc_arena *arena;
    hpc_verify_skip *skip;
    hpc_pragma_loops *l;
    const hpc_verify_file *f;
    const hpc_verify_compiler *c;
    const char *compiler;
    fortran_compiler fortran; /* unless modules is NULL */
    bool *chosen;
    bool as_it_is; /* the compiler has accepted the file without directives */
} state;

static bool is_candidate(const hpc_pragma_loop *l)
{
    return !l->again && l->verdict >= HPC_VERDICT_CONDITIONAL && l->pragma &&
           directive_of(l) == l->pragma;
}

static int reject(state *z, int64_t k, const char *who, const char *message)
{
    hpc_pragma_loop *l = &z->l->item[k];
    l->verdict = HPC_VERDICT_UNKNOWN;
    return evidence_add(z->l, l, "compile", l->line, "%s rejects the directive: %s", who, message);
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
    size_t gap = l->at; /* the removed text precedes the loop */
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
        rc = reject(z, k, "libclang", check.text);
    else
        rc = evidence_add(z->l, l, "compile", 0, "%s%s",
                          check.verdict == HPC_CHECK_GOOD ? "libclang accepts the directive"
                                                          : "libclang cannot parse it: ",
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

/* The first error in a compiler's messages, or NULL. *line: its line in the file; 0: the error is
 * elsewhere, and the message begins with the location. */
static const char *first_error(hpc_arena *a, const hpc_buf *said, uint32_t *line)
{
    static const char own[] = "<stdin>:", mark[] = "error: ";
    const char *p = said->data ? strstr(said->data, mark) : NULL;
    *line = 0;
    if (!p) return NULL;
    const char *begin = p, *text = p + sizeof mark - 1;
    while (begin > said->data && begin[-1] != '\n') begin--;
    const int length = (int)strcspn(text, "\n");
    if (strncmp(begin, own, sizeof own - 1) == 0) {
        sscanf(begin + sizeof own - 1, "%u", line);
        return hpc_arena_text(a, "%.*s", length, text);
    }
    const int place = (int)strcspn(begin, " "); /* "x.h:2:3:" */
    return hpc_arena_text(a, "%.*s %.*s", place < p - begin ? place : (int)(p - begin), begin,
                          length, text);
}

/* *message: NULL when it compiles. */
static int compile(state *z, const hpc_buf *text, const char **message, uint32_t *line)
{
    bool cpp = z->f->language == HPC_LANGUAGE_CPP;
    int64_t n = z->c->flags ? z->c->flags->n : 0, m = 0;
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r = {0};
    int rc = 0;
    if (z->fortran.modules) {
        const fortran_text x = {.text = text->data, .n = text->n, .fixed = z->f->fixed_form};
        return fortran_compile(message, line, &z->fortran, &x);
    }
    const char **argv = hpc_arena_alloc(z->arena, (size_t)n + 16, sizeof *argv);
    if (!argv) return HPC_E_NOMEM;
    *message = NULL;
    argv[m++] = z->compiler;
    for (int64_t k = 0; k < n; k++) argv[m++] = z->c->flags->item[k];
    /* Clauses are checked after the syntax: -fsyntax-only would miss default(none). */
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
        *message = "it exceeds the time limit";
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

/* The directive of loop k, without those of loops around it: they might collapse it. */
static int direct_fortran(edits *e, const state *z, int64_t k, bool *dropped)
{
    int rc = 0;
    for (int32_t p = z->l->item[k].outer; p >= 0; p = z->l->item[p].outer) {
        if (!dropped[p]) TRY(edits_drop_fortran(e, z->f, &z->l->item[p]));
        dropped[p] = true;
    }
    rc = edits_direct_fortran(e, z->f, &z->l->item[k]);
out:
    return rc;
}

/* With the directives of the chosen loops. */
static int compile_chosen(state *z, const char **message, uint32_t *line)
{
    edits e = {.arena = z->arena};
    hpc_buf text = {0};
    int rc = 0;
    bool *dropped = hpc_arena_alloc(z->arena, (size_t)z->l->n, sizeof *dropped);
    if (!dropped) return HPC_E_NOMEM;
    for (int64_t k = 0; k < z->l->n; k++)
        if (z->chosen[k])
            TRY(z->fortran.modules ? direct_fortran(&e, z, k, dropped)
                                   : edits_direct(&e, z->f->text, &z->l->item[k]));
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

/* Rejects the directives in whose line the compiler reports an error, until it reports none. Where
 * lines do not tell which directive it is, each is compiled alone. */
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
        TRY(reject(z, at, z->compiler, message));
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
        TRY(message ? reject(z, k, z->compiler, message) : say_all(z, "compiles the directive"));
    }
out:
    return rc;
}

/* True if the compiler accepts the file without directives; if not, the level is skipped. */
static int compile_as_it_is(bool *ok, state *z)
{
    const hpc_buf text = {.data = (char *)(uintptr_t)z->f->text, .n = z->f->n};
    const char *message = NULL;
    uint32_t line = 0;
    int rc = 0;
    *ok = z->as_it_is;
    if (*ok) return 0;
    TRY(compile(z, &text, &message, &line));
    *ok = z->as_it_is = message == NULL;
    if (*ok) return 0;
    z->skip->of_file = true;
    char at[16] = "";
    if (line > 0) snprintf(at, sizeof at, ":%u", line);
    z->skip->why = hpc_arena_text(z->l->arena, "%s%s: %s rejects the unchanged file: %s",
                                  z->c->path, at, z->compiler, message);
    if (!z->skip->why) rc = HPC_E_NOMEM;
out:
    return rc;
}

static int compile_layer(state *z)
{
    const char *message;
    uint32_t line = 0;
    bool ok = true;
    int rc = 0;
    TRY(compile_chosen(z, &message, &line));
    if (!message) return say_all(z, "compiles the directive");
    TRY(compile_as_it_is(&ok, z));
    if (ok) TRY(compile_rest(z, message, line));
out:
    return rc;
}

/* Candidates around a loop: those of one depth can stand in the file together. */
static int depth_of(const hpc_pragma_loops *l, int64_t k)
{
    int depth = 0;
    for (int32_t p = l->item[k].outer; p >= 0; p = l->item[p].outer)
        depth += is_candidate(&l->item[p]);
    return depth;
}

static int compile_all(state *z)
{
    int *depth = hpc_arena_alloc(z->arena, (size_t)z->l->n, sizeof *depth), most = -1, rc = 0;
    if (!depth) return HPC_E_NOMEM;
    for (int64_t k = 0; k < z->l->n; k++) { /* before a rejection changes what is a candidate */
        depth[k] = is_candidate(&z->l->item[k]) ? depth_of(z->l, k) : -1;
        if (depth[k] > most) most = depth[k];
    }
    for (int d = 0; d <= most && !z->skip->why && rc == 0; d++) {
        for (int64_t k = 0; k < z->l->n; k++) z->chosen[k] = depth[k] == d;
        rc = compile_layer(z);
    }
    return rc;
}

static const char *why_no_compiler(const state *z, bool known)
{
    bool cpp = z->f->language == HPC_LANGUAGE_CPP;
    if (!known) return "only C, C++ and Fortran can be compiled";
    if (z->c->compiler || hpc_proc_exists(z->compiler)) return NULL;
    if (z->f->language == HPC_LANGUAGE_FORTRAN)
        return "there is no gfortran in PATH; install it, for example Debian's package gfortran";
    return cpp ? "there is no c++ in PATH; install a C++ compiler, for example Debian's package g++"
               : "there is no cc in PATH; install a C compiler, for example Debian's package gcc";
}

int hpc_verify_compile(hpc_verify_skip *skip, hpc_pragma_loops *l, const hpc_verify_file *f,
                       const hpc_verify_compiler *c)
{
    state z = {.skip = skip, .l = l, .f = f, .c = c};
    int64_t candidates = 0;
    int rc = 0;
    for (int64_t k = 0; k < l->n; k++) candidates += is_candidate(&l->item[k]);
    if (candidates == 0) return 0;
    z.arena = hpc_arena_create(0);
    z.chosen = hpc_alloc((size_t)l->n, sizeof *z.chosen);
    if (!z.arena || !z.chosen) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    const bool fortran = f->language == HPC_LANGUAGE_FORTRAN;
    const bool clang = f->language == HPC_LANGUAGE_C || f->language == HPC_LANGUAGE_CPP;
    z.compiler = c->compiler                       ? c->compiler
                 : fortran                         ? "gfortran"
                 : f->language == HPC_LANGUAGE_CPP ? "c++"
                                                   : "cc";
    if (c->checker && clang) TRY(parse_all(&z));
    if (*z.compiler) skip->why = why_no_compiler(&z, clang || fortran);
    if (!*z.compiler || skip->why) goto out;
    if (fortran) {
        z.fortran = (fortran_compiler){.arena = z.arena,
                                       .compiler = z.compiler,
                                       .folder = folder_of(z.arena, c->path),
                                       .flags = c->flags,
                                       .seconds = c->seconds};
        TRY(fortran_open(&z.fortran, c->scratch));
    }
    TRY(compile_all(&z));
out:
    fortran_close(&z.fortran);
    hpc_free(z.chosen);
    hpc_arena_free(z.arena);
    return rc;
}
