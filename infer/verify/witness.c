/*
 * witness.c: runs a program with instrumented serial loops, and reports for each loop two
 * iterations that conflict, with location and address, or that none do.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "infer/verify/witness_priv.h"

enum { ROUNDS_MOST = 6, BUILDS_MOST = 4, FINDINGS_MOST = 64, LINES_MOST = 3 };

/* ---- the report ----------------------------------------------------------------------------- */

static void read_found(witness_state *z, const char *line)
{
    witness_finding f = {0};
    long long loop;
    int n = 0;
    unsigned bytes;
    if (sscanf(line, "found %lld %c %u %u %lld %u %lld%n", &loop, &f.kind, &bytes, &f.before,
               &f.value_before, &f.now, &f.value, &n) != 7 ||
        loop < 0 || loop >= z->l->n || !z->w.item[loop].on || z->findings_n >= FINDINGS_MOST * 16)
        return;
    f.loop = loop;
    for (const char *p = line + n; f.names_n < NAMES_MOST;) {
        witness_candidate *c = &f.name[f.names_n];
        char subscripts[200];
        if (sscanf(p, " %d %lld %lld %199s%n", &c->name, &c->offset, &c->element, subscripts, &n) !=
            4)
            break;
        p += n;
        c->subscripts = *subscripts == '-' && !subscripts[1]
                            ? NULL
                            : hpc_arena_text(z->s.arena, "%s", subscripts);
        if (c->name >= 0 && c->name < z->w.item[loop].names_n) f.names_n++;
    }
    if (hpc_grow(&z->finding, &z->cap, z->findings_n + 1, sizeof *z->finding) < 0) return;
    z->finding[z->findings_n++] = f;
}

static void read_cost(witness_state *z, const char *line)
{
    long long k;
    witness_passage x = {0};
    if (sscanf(line, "cost %lld %lld %lld %lld %lld %lld", &k, &x.cost, &x.most, &x.by_static,
               &x.by_guided, &x.by_dynamic) != 6 ||
        k < 0 || k >= z->l->n)
        return;
    witness_passage *seen = &z->seen[k];
    seen->cost += x.cost;
    if (x.most > seen->most) seen->most = x.most;
    seen->by_static += x.by_static;
    seen->by_guided += x.by_guided;
    seen->by_dynamic += x.by_dynamic;
}

static void read_line(witness_state *z, const char *line, int *places)
{
    long long k, entered, iterations, hits, refused;
    int hidden;
    unsigned long long pc;
    char module[1024];
    if (strncmp(line, "found ", 6) == 0) {
        int64_t before = z->findings_n;
        read_found(z, line);
        *places = z->findings_n > before ? 0 : 2;
    } else if (sscanf(line, "place %llx %1023[^\n]", &pc, module) == 2 && *places < 2) {
        witness_place *p = &z->finding[z->findings_n - 1].place[(*places)++];
        *p = (witness_place){.pc = pc, .module = hpc_arena_text(z->s.arena, "%s", module)};
    } else if (sscanf(line, "loop %lld %lld %lld %lld %lld %d", &k, &entered, &iterations, &hits,
                      &refused, &hidden) == 6)
    {
        if (k < 0 || k >= z->l->n) return;
        z->seen[k].entered += entered;
        z->seen[k].iterations += iterations;
        z->seen[k].refused += refused;
        z->seen[k].met += entered + refused;
        z->seen[k].hidden |= hidden != 0;
    } else if (strncmp(line, "cost ", 5) == 0) {
        read_cost(z, line);
    } else if (sscanf(line, "accesses %lld", &entered) == 1) {
        if (entered > z->accesses) z->accesses = entered;
    } else if (sscanf(line, "shared %lld %lld", &k, &entered) == 2) {
        if (k >= 0 && k < z->l->n && entered >= 0 && entered < NAMES_MOST)
            z->seen[k].shared[entered] = true;
    } else if (strcmp(line, "end") == 0) {
        z->ended = true;
    } else if (strcmp(line, "memory") == 0 && !z->failed) {
        z->failed = "the recorded run exceeds its memory limit";
    }
}

static int read_report(witness_state *z, const char *path)
{
    hpc_buf b = {0};
    int places = 2, rc = 0;
    z->ended = false;
    if (!hpc_file_exists(path)) return 0;
    TRY(hpc_file_read(&b, path, 64 << 20));
    for (char *p = b.data; p && *p;) {
        size_t n = strcspn(p, "\n");
        bool more = p[n] == '\n';
        p[n] = '\0';
        read_line(z, p, &places);
        p += n + more;
    }
out:
    hpc_buf_release(&b);
    return rc;
}

/* ---- places --------------------------------------------------------------------------------- */

/* A file as we show it: NULL for the one that the loops are in. *of_user: it is in the folder. */
static const char *shown_file(witness_state *z, const char *file, bool *of_user)
{
    size_t n = strlen(z->s.shown);
    *of_user = file[0] != '/' && file[0] != '?';
    if (strncmp(file, z->s.shown, n) == 0 && file[n] == '/') {
        *of_user = true;
        file += n + 1;
    }
    while (strncmp(file, "./", 2) == 0) file += 2;
    if (!*of_user && strrchr(file, '/')) file = strrchr(file, '/') + 1;
    size_t m = strlen(file), p = strlen(z->o->path);
    /* Compilers are called from other folders, with names that are relative to those. */
    if (*of_user && m <= p && strcmp(z->o->path + p - m, file) == 0) return NULL;
    if (*of_user && m > p && strcmp(file + m - p, z->o->path) == 0) return NULL;
    return hpc_arena_text(z->s.arena, "%s", file);
}

/* "0x12ab" begins an address, then come lines "FILE:LINE", from the inlined ones outwards: the
 * first that is the user's own is it. */
static void read_lines(witness_state *z, const char *text, const char *module, uint64_t *last)
{
    bool settled = false, first = true;
    uint64_t pc = *last;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        const char *line = hpc_arena_text(z->s.arena, "%.*s", (int)n, p);
        p += n + (p[n] == '\n');
        if (!line) return;
        if (line[0] == '0' && line[1] == 'x') {
            pc = strtoull(line, NULL, 16);
            settled = false;
            first = true;
            continue;
        }
        const char *colon = strrchr(line, ':');
        uint32_t number = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
        bool of_user = false;
        const char *file =
            hpc_arena_text(z->s.arena, "%.*s", (int)(colon ? colon - line : 0), line);
        const char *shown = file ? shown_file(z, file, &of_user) : NULL;
        if (number == 0 || settled || (!first && !of_user)) continue;
        for (int64_t k = 0; k < 2 * z->findings_n; k++) {
            witness_place *at = &z->finding[k / 2].place[k % 2];
            if (at->pc != pc || !at->module || strcmp(at->module, module) != 0) continue;
            at->line = number;
            at->file = shown;
        }
        settled = of_user;
        first = false;
    }
    *last = pc;
}

static int find_lines_of(witness_state *z, const char *module)
{
    hpc_buf command = {0};
    hpc_proc_result r = {0};
    uint64_t last = 0;
    int rc = 0;
    hpc_buf_printf(&command, "addr2line -a -i -e '%s'", module);
    for (int64_t k = 0; k < 2 * z->findings_n; k++) {
        const witness_place *p = &z->finding[k / 2].place[k % 2];
        if (p->module && strcmp(p->module, module) == 0 && command.n < 100000)
            hpc_buf_printf(&command, " %llx", (unsigned long long)p->pc);
    }
    TRY(command.failed);
    const scratch_command c = {.text = command.data, .seconds = z->o->seconds};
    TRY(scratch_run(&r, &z->s, &c));
    if (r.out.data) read_lines(z, r.out.data, module, &last);
out:
    hpc_proc_release(&r);
    hpc_buf_release(&command);
    return rc;
}

static int find_lines(witness_state *z)
{
    int rc = 0;
    for (int64_t k = 0; k < 2 * z->findings_n; k++) {
        const char *module = z->finding[k / 2].place[k % 2].module;
        bool done = !module || strchr(module, '\'') != NULL;
        for (int64_t j = 0; j < k && !done; j++) {
            const char *other = z->finding[j / 2].place[j % 2].module;
            done = other && strcmp(other, module) == 0;
        }
        if (!done) TRY(find_lines_of(z, module));
    }
out:
    return rc;
}

/* ---- evidence ------------------------------------------------------------------------------- */

static const char *line_text(witness_state *z, const witness_place *p)
{
    if (p->line == 0) return "an unknown line";
    if (p->file) return hpc_arena_text(z->s.arena, "%s:%u", p->file, p->line);
    return hpc_arena_text(z->s.arena, "line %u", p->line);
}

static const char *iteration_text(witness_state *z, const witness_finding *f, bool before)
{
    const char *v = z->w.item[f->loop].variable;
    if (v)
        return hpc_arena_text(z->s.arena, "iteration %s = %lld", v,
                              before ? f->value_before : f->value);
    return hpc_arena_text(z->s.arena, "iteration %u", (before ? f->before : f->now) + 1);
}

static int say_finding(witness_state *z, const witness_finding *f, bool *of_memory)
{
    hpc_pragma_loop *l = &z->l->item[f->loop];
    bool scalar;
    const char *what = witness_object(z, f, &scalar);
    const char *first = f->kind == 'a' ? "reads" : "writes";
    const char *second = f->kind == 'f' ? "reads" : "writes";
    const witness_place *p = f->place[0].file ? &f->place[1] : &f->place[0];
    *of_memory |= !scalar;
    return evidence_add(z->l, l, "witness", p->file ? 0 : p->line, "%s %s %s at %s, %s %s it at %s",
                        iteration_text(z, f, true), first, what ? what : "memory",
                        line_text(z, &f->place[0]), iteration_text(z, f, false), second,
                        line_text(z, &f->place[1]));
}

/* True for a finding at the same two lines as an earlier one. */
static bool is_said(const witness_state *z, int64_t n)
{
    const witness_finding *f = &z->finding[n];
    for (int64_t k = 0; k < n; k++) {
        const witness_finding *g = &z->finding[k];
        if (g->loop == f->loop && g->kind == f->kind && g->place[0].line == f->place[0].line &&
            g->place[1].line == f->place[1].line)
            return true;
    }
    return false;
}

/* True if a reported finding of the loop is about the same object. */
static bool is_of_said(witness_state *z, const witness_finding *f)
{
    const witness_candidate *c = witness_name_of(z, f);
    for (int64_t k = 0; k < z->findings_n; k++) {
        const witness_finding *g = &z->finding[k];
        if (!g->said || g->loop != f->loop) continue;
        const witness_candidate *d = witness_name_of(z, g);
        if (c && d ? c->name == d->name : !c && !d) return true;
    }
    return false;
}

/* Priority of a finding. First come values that pass from one iteration to another: private copies
 * would not help. Then one finding per object, because an array that is rewritten in each iteration
 * conflicts at many lines, and another object may be the important one. */
static int turn_of(witness_state *z, const witness_finding *f)
{
    return f->kind == 'f' ? 0 : is_of_said(z, f) ? 2 : 1;
}

/* Names the variables that iterations share and clauses combine or privatize. */
typedef struct handled {
    const char *names, *clauses; /* "s, t", "reduction(+:s) private(t)"; NULL: nothing */
} handled;

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_word_in(const char *text, size_t n, const char *word)
{
    size_t m = strlen(word);
    for (size_t i = 0; i + m <= n; i++)
        if (strncmp(text + i, word, m) == 0 && (i == 0 || !is_name_byte(text[i - 1])) &&
            (i + m == n || !is_name_byte(text[i + m])))
            return true;
    return false;
}

/* The clause of a directive with the name in its list; otherwise `private`. */
static const char *clause_with(witness_state *z, const char *directive, const char *name)
{
    for (const char *p = directive; p && (p = strchr(p, '(')) != NULL; p++) {
        const char *begin = p;
        size_t n = strcspn(p, ")");
        while (begin > directive && is_name_byte(begin[-1])) begin--;
        if (strncmp(begin, "if(", 3) != 0 && is_word_in(p, n, name))
            return hpc_arena_text(z->s.arena, "%.*s", (int)(p + n + 1 - begin), begin);
    }
    return hpc_arena_text(z->s.arena, "private(%s)", name);
}

static handled find_handled(witness_state *z, int64_t k)
{
    const witness_loop *w = &z->w.item[k];
    handled out = {0};
    for (int64_t i = 0; i < w->names_n && i < NAMES_MOST; i++) {
        const char *name = w->name[i].text, *clause;
        if (!z->seen[k].shared[i] || w->name[i].own) continue;
        clause = clause_with(z, directive_of(&z->l->item[k]), name);
        out.names = out.names ? hpc_arena_text(z->s.arena, "%s, %s", out.names, name) : name;
        if (!clause || (out.clauses && strstr(out.clauses, clause))) continue;
        out.clauses =
            out.clauses ? hpc_arena_text(z->s.arena, "%s %s", out.clauses, clause) : clause;
    }
    return out;
}

/* No value of one iteration gets to another, but for what clauses handle. */
static int say_no_conflict(witness_state *z, int64_t k)
{
    hpc_pragma_loop *l = &z->l->item[k];
    const witness_passage *seen = &z->seen[k];
    const handled h = find_handled(z, k);
    const char *hidden = seen->hidden ? "; arrays on the stack are not recorded with clang" : "";
    const char *then = z->failed ? "; then " : "", *failed = z->failed ? z->failed : "";
    char times[80];
    if (seen->entered < seen->entries)
        snprintf(times, sizeof times, "watched in %lld of %lld entries", seen->entered,
                 seen->entries);
    else
        snprintf(times, sizeof times, "entered %lld time%s", seen->entered,
                 seen->entered == 1 ? "" : "s");
    if (!h.names)
        return evidence_add(z->l, l, "witness", 0, "no two of %lld iterations conflict (%s)%s%s%s",
                            seen->iterations, times, hidden, then, failed);
    return evidence_add(
        z->l, l, "witness", 0, "%lld iterations conflict only in %s, handled by %s (%s)%s%s%s",
        seen->iterations, h.names, h.clauses ? h.clauses : "a clause", times, hidden, then, failed);
}

static int conclude_loop(witness_state *z, int64_t k)
{
    hpc_pragma_loop *l = &z->l->item[k];
    const witness_loop *w = &z->w.item[k];
    const witness_passage *seen = &z->seen[k];
    bool of_memory = false;
    int said = 0, guarded = 0, rc = 0;
    if (l->again) return 0;
    for (int64_t i = 0; i < 3 * z->findings_n && said < LINES_MOST; i++) {
        const int64_t n = i % z->findings_n;
        witness_finding *f = &z->finding[n];
        if (f->loop != k || f->said || is_said(z, n) || turn_of(z, f) != i / z->findings_n)
            continue;
        if (witness_guarded(z, &f->place[0]) && witness_guarded(z, &f->place[1])) {
            guarded++;
            continue;
        }
        TRY(say_finding(z, f, &of_memory));
        f->said = true;
        said++;
    }
    if (said && (l->verdict >= HPC_VERDICT_CONDITIONAL || of_memory))
        l->verdict = HPC_VERDICT_UNSAFE;
    if (said) return 0;
    if (guarded)
        return evidence_add(
            z->l, l, "witness", 0,
            "iterations conflict only where the program admits one thread at a time");
    const char *why = w->why_not ? w->why_not : z->failed;
    if (!w->on) return evidence_add(z->l, l, "witness", 0, "not recorded: %s", why ? why : "?");
    if (seen->iterations > 0) return say_no_conflict(z, k);
    if (z->failed) return evidence_add(z->l, l, "witness", 0, "not recorded: %s", z->failed);
    TRY(evidence_add(z->l, l, "witness", 0, "%s",
                     seen->entered ? "not recorded: it had no iteration in this run"
                                   : "not recorded: this run does not reach it, or the build does "
                                     "not compile it with a compiler from PATH"));
out:
    return rc;
}

/* ---- building and running ------------------------------------------------------------------- */

static int write_instrumented(witness_state *z)
{
    edits e = {.arena = z->s.arena};
    hpc_buf text = {0};
    int rc = 0;
    for (int64_t k = 0; k < z->l->n; k++) z->w.item[k].on = false;
    TRY(instrument(&e, &z->w));
    TRY(edits_apply(&text, &e, z->f->text, z->f->n));
    TRY(scratch_write(&z->s, text.data ? text.data : "", text.n));
out:
    edits_release(&e);
    hpc_buf_release(&text);
    return rc;
}

/* Leaves out the loops that the compiler complains about; how many. */
static int leave_out(witness_state *z, const hpc_buf *said)
{
    const char *name = strrchr(z->o->path, '/');
    int left = 0;
    name = name ? name + 1 : z->o->path;
    for (const char *p = said->data; p && (p = strstr(p, name)) != NULL; p += strlen(name)) {
        unsigned line = 0, column = 0;
        char word[16] = "";
        if (sscanf(p + strlen(name), ":%u:%u: %15s", &line, &column, word) != 3) continue;
        if (strcasecmp(word, "error:") != 0 && strcmp(word, "fatal") != 0 &&
            strcmp(word, "internal") != 0)
            continue;
        int64_t best = -1; /* the innermost around it */
        for (int64_t k = 0; k < z->l->n; k++)
            if (z->w.item[k].on && z->l->item[k].line <= line && line <= z->l->item[k].end_line)
                best = k;
        if (best < 0) continue;
        z->w.item[best].on = false;
        z->w.item[best].why_not = "the compiler rejects the instrumentation";
        left++;
    }
    return left;
}

static int build(witness_state *z)
{
    int rc = 0;
    for (int k = 0; k < BUILDS_MOST; k++) {
        hpc_proc_result r = {0};
        TRY(scratch_fresh(&z->s));
        TRY(write_instrumented(z));
        if (!z->o->build) break;
        const scratch_command c = {.text = z->o->build,
                                   .wrapper = TOOLS_WITNESS,
                                   .seconds = z->o->seconds * 10,
                                   .memory_bytes = z->o->memory_bytes};
        TRY(scratch_run(&r, &z->s, &c));
        z->failed = scratch_failure(&z->s, &r, "the instrumented build");
        bool again = z->failed && !r.timed_out && (leave_out(z, &r.err) > 0 || !z->w.plain);
        if (again && k > 0) z->w.plain = true;
        hpc_proc_release(&r);
        if (!again) break;
    }
    if (!z->failed) rc = scratch_keep(&z->s);
out:
    return rc;
}

/* One run; wanted: numbers of loops, or NULL for all. */
static int run(witness_state *z, const char *wanted)
{
    hpc_proc_result r = {0};
    int rc = 0;
    const char *report = hpc_arena_text(z->s.arena, "%s/.hpc-witness-report", z->s.tree);
    const char *exports =
        hpc_arena_text(z->s.arena,
                       "OMP_NUM_THREADS=1 HPC_WITNESS_REPORT='%s/.hpc-witness-report' "
                       "HPC_WITNESS_LOOPS=%s",
                       z->s.shown, wanted ? wanted : "");
    if (!report || !exports) return HPC_E_NOMEM;
    const scratch_command c = {.text = z->o->run,
                               .wrapper = TOOLS_WITNESS,
                               .exports = exports,
                               .seconds = z->o->seconds * 10,
                               .memory_bytes = z->o->memory_bytes * 6};
    TRY(scratch_run(&r, &z->s, &c));
    const char *failed = scratch_failure(&z->s, &r, "the recorded run");
    TRY(read_report(z, report));
    for (int64_t k = 0; k < z->l->n; k++) {
        witness_passage *seen = &z->seen[k];
        if (seen->met > seen->entries) seen->entries = seen->met;
        seen->met = 0;
    }
    /* A program may return any status, provided that it ran to its end. */
    if (failed && !(z->ended && !r.timed_out && !r.signal) && !z->failed) z->failed = failed;
out:
    hpc_proc_release(&r);
    return rc;
}

/* Loops that ran only within others, which were watched then: by themselves. */
static int run_rounds(witness_state *z)
{
    hpc_buf wanted = {0};
    int rc = 0;
    TRY(run(z, NULL));
    for (int round = 1; round < ROUNDS_MOST && !z->failed; round++) {
        wanted.n = 0;
        for (int64_t k = 0; k < z->l->n; k++)
            if (z->w.item[k].on && z->seen[k].entered == 0 && z->seen[k].refused > 0)
                hpc_buf_printf(&wanted, "%s%lld", wanted.n ? "," : "", (long long)k);
        if (!wanted.n || wanted.failed) break;
        TRY(scratch_again(&z->s));
        TRY(run(z, wanted.data));
    }
out:
    hpc_buf_release(&wanted);
    return rc;
}

int hpc_verify_witness(hpc_pragma_loops *l, const hpc_verify_file *f, const hpc_verify_options *o)
{
    witness_state z = {.l = l, .f = f, .o = o};
    int rc = 0;
    if (l->n == 0) return 0;
    TRY(scratch_open(&z.s, o));
    z.seen = hpc_alloc((size_t)l->n, sizeof *z.seen);
    z.w = (instrumented){.arena = z.s.arena, .file = f, .loops = l};
    z.w.item = hpc_alloc((size_t)l->n, sizeof *z.w.item);
    if (!z.seen || !z.w.item) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    TRY(tools_wrap(&z.s, TOOLS_WITNESS));
    TRY(tools_runtime(&z.failed, &z.s));
    if (!z.failed) TRY(build(&z));
    if (!z.failed) TRY(run_rounds(&z));
    if (z.findings_n) TRY(find_lines(&z));
    for (int64_t k = 0; k < l->n; k++) TRY(conclude_loop(&z, k));
    TRY(witness_worth(&z));
out:
    instrumented_release(&z.w, l->n);
    hpc_free(z.seen);
    hpc_free(z.finding);
    scratch_close(&z.s);
    return rc;
}
