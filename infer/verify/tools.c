/*
 * tools.c: wrappers with the names of compilers. They add our flags to the user's flags and run the
 * next compiler of that name in PATH. Also holds the source of the witness's runtime, which the
 * user's compiler compiles on demand.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "infer/verify/priv.h"

/* The texts of files, between two symbols each. */
#define TEXT(symbol, file)                                                                         \
    __asm__(".section .rodata\n" #symbol ":\n.incbin \"" file "\"\n" #symbol "_end:\n.byte 0\n"    \
            ".previous\n");                                                                        \
    extern const char symbol[] __attribute__((visibility("hidden")));                              \
    extern const char symbol##_end[] __attribute__((visibility("hidden")))
TEXT(verify_witness_h, "infer/verify/witness/witness.h");
TEXT(verify_priv_h, "infer/verify/witness/priv.h");
TEXT(verify_runtime_c, "infer/verify/witness/runtime.c");
TEXT(verify_hooks_c, "infer/verify/witness/hooks.c");
TEXT(verify_cost_c, "infer/verify/witness/cost.c");
TEXT(verify_fortran_c, "infer/verify/witness/fortran.c");
TEXT(verify_witness_f90, "infer/verify/witness/witness.f90");
TEXT(verify_wrap_sh, "infer/verify/witness/wrap.sh");

static const char *const compilers[] = {"cc",  "gcc",   "clang",    "c99", "c11",
                                        "c++", "g++",   "clang++",  "icx", "icpx",
                                        "nvc", "nvc++", "gfortran", "f95", "f77"};

enum { PATIENCE_SECONDS = 300 }; /* it takes one; a busy machine is no failure */

static int put(scratch *s, const char *name, const char *from, const char *end)
{
    const char *path = hpc_arena_text(s->arena, "%s/%s", s->tools, name);
    if (!path) return HPC_E_NOMEM;
    return hpc_file_save(path, from, (size_t)(end - from));
}

static int put_program(scratch *s, const char *folder, const char *name)
{
    hpc_buf text = {0};
    int rc = 0;
    const char *path = hpc_arena_text(s->arena, "%s/%s/%s", s->tools, folder, name);
    if (!path) return HPC_E_NOMEM;
    hpc_buf_printf(&text, "#!/bin/sh\nname=%s\nmode=%s\ntools='%s'\n", name, folder, s->tools);
    TRY(hpc_buf_add(&text, verify_wrap_sh, (size_t)(verify_wrap_sh_end - verify_wrap_sh)));
    TRY(hpc_file_save(path, text.data, text.n));
    if (chmod(path, 0755) < 0) rc = hpc_fail_os(HPC_E_IO, "cannot make %.300s executable", path);
out:
    hpc_buf_release(&text);
    return rc;
}

int tools_wrap(scratch *s, const char *folder)
{
    char path[64];
    int rc = 0;
    snprintf(path, sizeof path, "%s", folder);
    const char *whole = hpc_arena_text(s->arena, "%s/%s", s->tools, path);
    if (!whole) return HPC_E_NOMEM;
    TRY(hpc_file_mkdir(whole));
    for (size_t k = 0; k < sizeof compilers / sizeof *compilers; k++) {
        bool clangs = strcmp(folder, TOOLS_RACE) == 0;
        if (!clangs && !hpc_proc_exists(compilers[k])) continue;
        TRY(put_program(s, folder, compilers[k]));
    }
out:
    return rc;
}

/* The module of Fortran is compiled where the compiler exists. An archive of nothing and an object
 * of nothing stand where gcc looks for the sanitizer's. */
static const char make_runtime[] =
    "c=$(command -v cc || command -v gcc || command -v clang) || {\n"
    "    echo 'error: there is no C compiler in PATH' >&2; exit 1; }\n"
    "set -- -std=gnu11 -D_GNU_SOURCE -O2 -w -fPIC -I.\n"
    "$c \"$@\" -c infer/verify/witness/runtime.c -o lib/runtime.o &&\n"
    "    $c \"$@\" -c infer/verify/witness/hooks.c -o lib/hooks.o &&\n"
    "    $c \"$@\" -c infer/verify/witness/cost.c -o lib/cost.o &&\n"
    "    $c \"$@\" -c infer/verify/witness/fortran.c -o lib/fortran.o &&\n"
    "    $c \"$@\" -x c -c /dev/null -o lib/libtsan_preinit.o &&\n"
    "    printf '!<arch>\\n' >lib/libtsan.a || exit 1\n"
    "if command -v gfortran >/dev/null; then\n"
    "    gfortran -w -fsyntax-only -Jlib infer/verify/witness/witness.f90\n"
    "fi\n";

int tools_runtime(const char **why, scratch *s)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r = {0};
    int rc = 0;
    const char *lib = hpc_arena_text(s->arena, "%s/lib", s->tools);
    const char *home = hpc_arena_text(s->arena, "%s/infer/verify/witness", s->tools);
    *why = NULL;
    if (!lib || !home) return HPC_E_NOMEM;
    TRY(hpc_file_mkdir(lib));
    TRY(hpc_file_mkdir(home));
    TRY(put(s, "infer/verify/witness/witness.h", verify_witness_h, verify_witness_h_end));
    TRY(put(s, "infer/verify/witness/priv.h", verify_priv_h, verify_priv_h_end));
    TRY(put(s, "infer/verify/witness/runtime.c", verify_runtime_c, verify_runtime_c_end));
    TRY(put(s, "infer/verify/witness/hooks.c", verify_hooks_c, verify_hooks_c_end));
    TRY(put(s, "infer/verify/witness/cost.c", verify_cost_c, verify_cost_c_end));
    TRY(put(s, "infer/verify/witness/fortran.c", verify_fortran_c, verify_fortran_c_end));
    TRY(put(s, "infer/verify/witness/witness.f90", verify_witness_f90, verify_witness_f90_end));
    const char *argv[] = {"sh", "-c", make_runtime, NULL};
    o.argv = argv;
    o.folder = s->tools;
    o.seconds = PATIENCE_SECONDS;
    o.sandbox = s->o->sandbox;
    o.readable = s->o->readable;
    TRY(hpc_proc_run(&r, &o));
    *why = scratch_failure(s, &r, "compiling the runtime of the recorded run");
out:
    hpc_proc_release(&r);
    return rc;
}
