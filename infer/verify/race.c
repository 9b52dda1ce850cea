/*
 * race.c: runs the program with its directives under ThreadSanitizer, and assigns the reports to
 * loops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/verify/priv.h"

enum { THREADS = 4, DEPTH_MOST = 4, FRAMES_MOST = 32, SAID_MOST = 3, PROBE_SECONDS = 300 };

typedef struct access {
    const char *what;           /* "reads", "writes" */
    const char *place;          /* "line 5", "far.c:9" */
    uint32_t line[FRAMES_MOST]; /* in the file, from the inside out */
    int lines_n;
} access;
typedef struct report {
    access access[2];
    int accesses_n;
    bool in_access;
    char name[64]; /* of a global; "" */
} report;

typedef struct state {
    scratch s;
    hpc_verify_skip *skip;
    hpc_pragma_loops *l;
    const hpc_verify_file *f;
    const hpc_verify_options *o;
    bool *chosen;
    int *said;
} state;

/* ---- reports ------------------------------------------------------------------------------------
 */

/* The line of our file that a frame is in, or 0. */
static uint32_t own_line(const state *z, const char *frame)
{
    const char *name = strrchr(z->o->path, '/');
    name = name ? name + 1 : z->o->path;
    size_t n = strlen(name);
    for (const char *p = frame; (p = strstr(p, name)) != NULL; p += n) {
        unsigned line = 0;
        if (p == frame || (p[-1] != '/' && p[-1] != ' ')) continue;
        if (sscanf(p + n, ":%u", &line) == 1) return line;
    }
    return 0;
}

/* "FILE:LINE" of a frame in another file, without its folder; NULL: it has none. */
static const char *other_place(state *z, const char *frame)
{
    const char *end = strstr(frame, " (");
    for (const char *p = frame; end && p < end; p++) {
        unsigned line = 0;
        if (*p != ':' || sscanf(p, ":%u", &line) != 1 || line == 0) continue;
        const char *begin = p;
        while (begin > frame && begin[-1] != '/' && begin[-1] != ' ') begin--;
        return hpc_arena_text(z->s.arena, "%.*s:%u", (int)(p - begin), begin, line);
    }
    return NULL;
}

static void read_frame(state *z, report *r, const char *frame)
{
    access *a = &r->access[r->accesses_n - 1];
    uint32_t line = own_line(z, frame);
    if (!a->place)
        a->place = line ? hpc_arena_text(z->s.arena, "line %u", line) : other_place(z, frame);
    if (line && a->lines_n < FRAMES_MOST) a->line[a->lines_n++] = line;
}

static int64_t loop_of(const state *z, const access *a)
{
    for (int i = 0; i < a->lines_n; i++) {
        int64_t best = -1;
        for (int64_t k = 0; k < z->l->n; k++) {
            const hpc_pragma_loop *l = &z->l->item[k];
            if (z->chosen[k] && l->line <= a->line[i] && a->line[i] <= l->end_line) best = k;
        }
        if (best >= 0) return best;
    }
    return -1;
}

static int conclude(state *z, const report *r)
{
    const access *a = &r->access[1], *b = &r->access[0]; /* the earlier one comes second */
    if (r->accesses_n < 2) return 0;
    int64_t k = loop_of(z, a);
    if (k < 0) k = loop_of(z, b);
    if (k < 0) return 0;
    hpc_pragma_loop *l = &z->l->item[k];
    l->verdict = HPC_VERDICT_UNSAFE;
    if (z->said[k]++ >= SAID_MOST) return 0;
    return evidence_add(z->l, l, "race", a->lines_n ? a->line[0] : l->line,
                        "one thread %s %s at %s, another %s it at %s, without synchronisation",
                        a->what, r->name[0] ? r->name : "memory", a->place ? a->place : "?",
                        b->what, b->place ? b->place : "?");
}

static void read_line(state *z, report *r, const char *line)
{
    static const char *const kinds[] = {"  Read of",           "  Write of", "  Previous read of",
                                        "  Previous write of", "  Atomic ",  "  Previous atomic "};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strncmp(line, kinds[k], strlen(kinds[k])) != 0 || r->accesses_n == 2) continue;
        bool reads = strstr(line, "ead of") != NULL;
        r->access[r->accesses_n++] = (access){.what = reads ? "reads" : "writes"};
        r->in_access = true;
        return;
    }
    if (strncmp(line, "    #", 5) == 0 && r->in_access)
        read_frame(z, r, line + 5);
    else if (line[0] == '\0')
        r->in_access = false;
    else
        sscanf(line, "  Location is global '%63[^']'", r->name);
}

static int read_reports(state *z, hpc_buf *said)
{
    report r = {0};
    int rc = 0;
    for (char *p = said->data; p && *p && rc == 0;) {
        size_t n = strcspn(p, "\n");
        bool more = p[n] == '\n';
        p[n] = '\0';
        if (strncmp(p, "WARNING: ThreadSanitizer: data race", 35) == 0)
            r = (report){0};
        else if (strncmp(p, "SUMMARY: ThreadSanitizer", 24) == 0)
            rc = conclude(z, &r);
        else
            read_line(z, &r, p);
        p += n + more;
    }
    return rc;
}

/* ---- runs ---------------------------------------------------------------------------------------
 */

static int say_all(state *z, const char *text)
{
    int rc = 0;
    for (int64_t k = 0; k < z->l->n && rc == 0; k++)
        if (z->chosen[k] && !z->said[k])
            rc = evidence_add(z->l, &z->l->item[k], "race", 0, "%s", text);
    return rc;
}

/* Addresses must lie where the sanitizer of this clang expects them. The command is a file, because
 * it is for a second shell. */
static int run_text(const char **text, state *z, const char *command)
{
    const char *path = hpc_arena_text(z->s.arena, "%s/race/run.sh", z->s.tools);
    *text = hpc_arena_text(z->s.arena,
                           "if setarch -R true 2>/dev/null; then set -- setarch -R; fi\n"
                           "exec \"$@\" sh '%s'",
                           path);
    return path && *text ? hpc_file_save(path, command, strlen(command)) : HPC_E_NOMEM;
}

static int run_exports(const char **out, state *z)
{
    *out =
        hpc_arena_text(z->s.arena,
                       "OMP_NUM_THREADS=%d ARCHER_OPTIONS=verbose=1 OMP_WAIT_POLICY=passive "
                       "TSAN_OPTIONS='ignore_noninstrumented_modules=1 exitcode=0 history_size=4 "
                       "hard_rss_limit_mb=%zu'",
                       THREADS, (z->o->memory_bytes >> 20) * 8);
    return *out ? 0 : HPC_E_NOMEM;
}

static bool has_archer(const hpc_proc_result *r)
{
    static const char greeting[] = "Archer detected OpenMP application with TSan";
    return r->out.data && memmem(r->out.data, r->out.n, greeting, sizeof greeting - 1);
}

static int run_chosen(state *z)
{
    hpc_proc_result r = {0};
    const char *text, *exports;
    int rc = 0;
    TRY(run_text(&text, z, z->o->run));
    TRY(run_exports(&exports, z));
    /* It reserves more of the address space than any limit allows: its memory is limited by itself.
     */
    const scratch_command c = {
        .text = text, .wrapper = TOOLS_RACE, .exports = exports, .seconds = z->o->seconds * 10};
    TRY(scratch_run(&r, &z->s, &c));
    const bool archer = has_archer(&r);
    if (archer) TRY(read_reports(z, &r.err));
    const char *failed = NULL;
    if (!archer)
        failed = "not run under ThreadSanitizer: the program does not use clang's OpenMP, or it "
                 "ends before its first parallel region";
    else if (r.timed_out)
        failed = hpc_arena_text(z->s.arena,
                                "under ThreadSanitizer the program does not end within %.0f s",
                                z->o->seconds * 10);
    else if (r.signal)
        failed = hpc_arena_text(
            z->s.arena, "under ThreadSanitizer the program is killed by signal %d", r.signal);
    rc = say_all(z, failed ? failed
                           : "no race on 4 threads under ThreadSanitizer, in the part of the loop "
                             "that this run executes");
out:
    hpc_proc_release(&r);
    return rc;
}

static int try_chosen(state *z)
{
    hpc_proc_result r = {0};
    const char *failed = NULL;
    int rc = 0;
    TRY(scratch_fresh(&z->s));
    TRY(write_directed(&z->s, z->l, z->f, z->chosen));
    if (z->o->build) {
        const scratch_command c = {.text = z->o->build,
                                   .wrapper = TOOLS_RACE,
                                   .seconds = z->o->seconds * 10,
                                   .memory_bytes = z->o->memory_bytes};
        TRY(scratch_run(&r, &z->s, &c));
        failed = scratch_failure(&z->s, &r, "the build with clang");
    }
    if (failed) {
        failed = hpc_arena_text(z->s.arena, "not run under ThreadSanitizer: %s", failed);
        rc = failed ? say_all(z, failed) : HPC_E_NOMEM;
    } else {
        rc = run_chosen(z);
    }
out:
    hpc_proc_release(&r);
    return rc;
}

static int try_all(state *z, const int *depth)
{
    int rc = 0;
    for (int d = 0; d < DEPTH_MOST; d++) {
        int64_t n = 0;
        for (int64_t k = 0; k < z->l->n; k++) n += z->chosen[k] = depth[k] == d;
        if (n > 0) TRY(try_chosen(z));
    }
out:
    return rc;
}

/* ---- whether this machine can ------------------------------------------------------------------
 */

static const char probe[] = "int main(void)\n{\n    int n = 0;\n"
                            "#pragma omp parallel for reduction(+:n)\n"
                            "    for (int i = 0; i < 9; i++) n += i;\n    return n != 36;\n}\n";
enum { PROBE_BUILD_FAILED = 99 };

static const char *runtime_package(state *z)
{
    const char *argv[] = {"clang", "-dumpversion", NULL};
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r = {0};
    int version = 0;
    o.argv = argv;
    if (hpc_proc_run(&r, &o) < 0) hpc_error_clear();
    if (r.out.data) version = (int)strtol(r.out.data, NULL, 10);
    hpc_proc_release(&r);
    return version > 0 ? hpc_arena_text(z->s.arena, "libclang-rt-%d-dev", version)
                       : "libclang-rt-dev";
}

/* The tool that the probe lacks; NULL: none. */
static const char *missing_part(state *z, const hpc_proc_result *r)
{
    hpc_arena *a = z->l->arena;
    const char *said = r->err.data ? r->err.data : "";
    const char *failed = scratch_failure(&z->s, r, "a test program");
    if (r->status == PROBE_BUILD_FAILED && strstr(said, "_rt.tsan"))
        return hpc_arena_text(a, "clang has no ThreadSanitizer; install Debian's package %s",
                              runtime_package(z));
    if (r->status == PROBE_BUILD_FAILED && strstr(said, "omp"))
        return "clang has no OpenMP; install Debian's package libomp-dev";
    if (failed) return hpc_arena_text(a, "ThreadSanitizer does not work here: %s", failed);
    if (has_archer(r)) return NULL;
    return "Archer (libarcher.so) is missing; install Debian's package libomp-dev";
}

static int find_missing(state *z)
{
    hpc_proc_result r = {0};
    const char *exports, *text;
    int rc = 0;
    if (!hpc_proc_exists("clang")) {
        z->skip->why = "there is no clang in PATH; install Debian's packages clang and libomp-dev";
        return 0;
    }
    TRY(scratch_fresh(&z->s));
    const char *path = hpc_arena_text(z->s.arena, "%s/race/probe.c", z->s.tools);
    if (!path) TRY(HPC_E_NOMEM);
    TRY(hpc_file_save(path, probe, sizeof probe - 1));
    TRY(run_text(&text, z, "exec ./hpc-probe"));
    text = hpc_arena_text(z->s.arena, "clang '%s' -o hpc-probe || exit %d\n%s", path,
                          PROBE_BUILD_FAILED, text);
    TRY(run_exports(&exports, z));
    const scratch_command c = {
        .text = text, .wrapper = TOOLS_RACE, .exports = exports, .seconds = PROBE_SECONDS};
    if (!text) TRY(HPC_E_NOMEM);
    TRY(scratch_run(&r, &z->s, &c));
    z->skip->why = missing_part(z, &r);
out:
    hpc_proc_release(&r);
    return rc;
}

int hpc_verify_race(hpc_verify_skip *skip, hpc_pragma_loops *l, const hpc_verify_file *f,
                    const hpc_verify_options *o)
{
    state z = {.skip = skip, .l = l, .f = f, .o = o};
    int *depth = NULL;
    int64_t candidates = 0;
    int rc = 0;
    for (int64_t k = 0; k < l->n; k++) candidates += is_candidate_loop(&l->item[k]);
    if (candidates == 0) return 0;
    if (f->language == HPC_LANGUAGE_FORTRAN) {
        skip->why = "races are searched with clang, which compiles no Fortran: the witness and the "
                    "compared runs decide";
        return 0;
    }
    TRY(scratch_open(&z.s, o));
    z.chosen = hpc_alloc((size_t)l->n, sizeof *z.chosen);
    z.said = hpc_alloc((size_t)l->n, sizeof *z.said);
    depth = hpc_alloc((size_t)l->n, sizeof *depth);
    if (!z.chosen || !z.said || !depth) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    for (int64_t k = 0; k < l->n; k++)
        depth[k] = is_candidate_loop(&l->item[k]) ? depth_of_loop(l, k) : -1;
    TRY(tools_wrap(&z.s, TOOLS_RACE));
    TRY(find_missing(&z));
    if (!skip->why) TRY(try_all(&z, depth));
out:
    hpc_free(z.chosen);
    hpc_free(z.said);
    hpc_free(depth);
    scratch_close(&z.s);
    return rc;
}
