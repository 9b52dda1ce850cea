/*
 * compile_fortran.c: gfortran compiles a text: its arguments, its messages, and the modules of
 * other files. Where it misses a module, it compiles the source that defines the module, in the
 * folder of the file or in a folder of -I, and tries again.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "infer/verify/priv.h"

enum { RUNS_MOST = 200, NESTED_MOST = 32, SOURCE_BYTES_MOST = 16 << 20 };

int fortran_open(fortran_compiler *c, const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/hpc-modules-XXXXXX", folder ? folder : "/tmp");
    if (!mkdtemp(path)) return hpc_fail_os(HPC_E_IO, "cannot create a folder in %.200s", path);
    c->modules = hpc_arena_text(c->arena, "%s", path);
    if (c->modules) return 0;
    rmdir(path);
    return HPC_E_NOMEM;
}

void fortran_close(fortran_compiler *c)
{
    hpc_buf names = {0};
    int64_t n = 0;
    if (!c->modules) return;
    if (hpc_file_list(&names, &n, c->modules) < 0) hpc_error_clear();
    const char *name = names.data;
    for (int64_t i = 0; i < n; i++, name += strlen(name) + 1) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", c->modules, name);
        unlink(path);
    }
    rmdir(c->modules);
    hpc_buf_release(&names);
    c->modules = NULL;
}

/* ---- messages ---- */

/* The location above an error: "FILE:LINE:COLUMN:". False: the text has another form. */
static bool read_location(const char *at, size_t n, size_t *name_n, uint32_t *line)
{
    size_t colons[3], k = 3;
    for (size_t i = n; i > 0 && k > 0; i--)
        if (at[i - 1] == ':') colons[--k] = i - 1;
    if (k > 0 || colons[2] + 1 != n || sscanf(at + colons[0] + 1, "%u", line) != 1) return false;
    *name_n = colons[0];
    return true;
}

/* The first error; NULL: none. *line: its line in the text; 0: it is in another file, and the
 * message begins with the location. */
static const char *first_error(hpc_arena *a, const char *said, uint32_t *line)
{
    static const char *const marks[] = {"Error: ", "Fatal Error: "};
    const char *place = "";
    size_t place_n = 0;
    *line = 0;
    for (const char *at = said; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const size_t n = strcspn(at, "\n");
        size_t name_n;
        uint32_t found;
        if (read_location(at, n, &name_n, &found)) {
            const bool own = name_n == 7 && strncmp(at, "<stdin>", 7) == 0;
            *line = own ? found : 0;
            place = own ? "" : at;
            place_n = own ? 0 : n;
        }
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
            const size_t m = strlen(marks[k]);
            if (strncmp(at, marks[k], m) == 0)
                return hpc_arena_text(a, "%.*s%s%.*s", (int)place_n, place, place_n ? " " : "",
                                      (int)(n - m), at + m);
        }
    }
    return NULL;
}

/* The module that a message misses; false: it is another error. */
static bool missing_module(char out[128], const char *message)
{
    static const char before[] = "Cannot open module file '";
    const char *at = strstr(message, before), *end = at ? strstr(at, ".mod'") : NULL;
    if (!end) return false;
    at += sizeof before - 1;
    snprintf(out, 128, "%.*s", (int)(end - at), at);
    return true;
}

/* ---- sources of modules ---- */

static bool defines(const char *text, const char *module)
{
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += strspn(at, " \t\r\n");
        if (strncasecmp(at, "module", 6) != 0 || !isspace((unsigned char)at[6])) continue;
        at += 6 + strspn(at + 6, " \t");
        const size_t n = strlen(module);
        if (strncasecmp(at, module, n) == 0 && !isalnum((unsigned char)at[n]) && at[n] != '_')
            return true;
    }
    return false;
}

/* The first file of a folder that defines a module; NULL: none. */
static const char *source_in(fortran_compiler *c, const char *folder, const char *module)
{
    const char *found = NULL;
    hpc_buf names = {0};
    int64_t n = 0;
    if (hpc_file_list(&names, &n, folder) < 0) n = 0;
    const char *name = names.data;
    for (int64_t i = 0; i < n && !found; i++, name += strlen(name) + 1) {
        hpc_buf text = {0};
        if (hpc_language_of_path(name) != HPC_LANGUAGE_FORTRAN) continue;
        const char *path = hpc_arena_text(c->arena, "%s/%s", folder, name);
        if (path && hpc_file_read(&text, path, SOURCE_BYTES_MOST) >= 0 && text.data &&
            defines(text.data, module))
            found = path;
        hpc_buf_release(&text);
    }
    hpc_buf_release(&names);
    hpc_error_clear(); /* files that cannot be read define nothing */
    return found;
}

static const char *source_of(fortran_compiler *c, const char *module)
{
    const char *found = source_in(c, c->folder, module);
    for (int64_t k = 0; c->flags && k < c->flags->n && !found; k++)
        if (strncmp(c->flags->item[k], "-I", 2) == 0)
            found = source_in(c, c->flags->item[k] + 2, module);
    return found;
}

/* ---- runs ---- */

/* True if the preprocessor must read the text. */
static bool has_macros(const fortran_compiler *c, const char *text)
{
    for (int64_t k = 0; c->flags && k < c->flags->n; k++)
        if (strncmp(c->flags->item[k], "-D", 2) == 0) return true;
    if (text[0] == '#') return true;
    for (const char *at = text; (at = strstr(at, "\n#")) != NULL; at++)
        if (!isspace((unsigned char)at[2]) || isalpha((unsigned char)at[2 + strspn(at + 2, " \t")]))
            return true;
    return false;
}

/* path: a source; NULL: the text on standard input. */
static int run_once(const char **message, uint32_t *line, fortran_compiler *c, const char *path,
                    const fortran_text *x)
{
    const int64_t flags_n = c->flags ? c->flags->n : 0;
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r = {0};
    int64_t m = 0;
    int rc = 0;
    const char **argv = hpc_arena_alloc(c->arena, (size_t)flags_n + 20, sizeof *argv);
    if (!argv) return HPC_E_NOMEM;
    *message = NULL;
    argv[m++] = c->compiler;
    for (int64_t k = 0; k < flags_n; k++)
        if (strncmp(c->flags->item[k], "-I", 2) == 0 || strncmp(c->flags->item[k], "-D", 2) == 0)
            argv[m++] = c->flags->item[k];
    static const char *const all[] = {"-fopenmp", "-w", "-O0", "-S", "-o", "/dev/null", "-J"};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) argv[m++] = all[k];
    argv[m++] = c->modules;
    argv[m++] = "-I";
    argv[m++] = c->folder;
    if (!path) {
        const bool macros = has_macros(c, x->text);
        argv[m++] = "-x";
        argv[m++] = x->fixed ? macros ? "f77-cpp-input" : "f77" : macros ? "f95-cpp-input" : "f95";
        o.input = x->text;
        o.input_bytes = x->n;
    }
    argv[m++] = path ? path : "-";
    o.argv = argv;
    o.seconds = c->seconds;
    c->runs++;
    TRY(hpc_proc_run(&r, &o));
    const char *said = r.err.data ? r.err.data : "";
    if (r.timed_out)
        *message = "it exceeds the time limit";
    else if (r.status != 0)
        *message = first_error(c->arena, said, line);
    if (r.status != 0 && !*message)
        *message = hpc_arena_text(c->arena, "%.*s", (int)strcspn(said, "\n"), said);
    if (r.status != 0 && !*message) rc = HPC_E_NOMEM;
out:
    hpc_proc_release(&r);
    return rc;
}

static int run_with_modules(const char **message, uint32_t *line, fortran_compiler *c,
                            const char *path, const fortran_text *x, int nested)
{
    char last[128] = "", module[128];
    int rc = 0;
    for (;;) {
        const char *said = NULL;
        TRY(run_once(message, line, c, path, x));
        if (!*message || !missing_module(module, *message) || strcmp(module, last) == 0) break;
        const char *source = source_of(c, module);
        if (!source || nested == NESTED_MOST || c->runs >= RUNS_MOST) break;
        uint32_t at;
        TRY(run_with_modules(&said, &at, c, source, NULL, nested + 1));
        memcpy(last, module, sizeof last); /* it may still be missing */
    }
out:
    return rc;
}

int fortran_compile(const char **message, uint32_t *line, fortran_compiler *c,
                    const fortran_text *x)
{
    return run_with_modules(message, line, c, NULL, x, 0);
}
