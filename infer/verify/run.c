/*
 * run.c: compares a program with the same program and the proposed directives, on several threads.
 * All loops of one depth run together first; if the results differ, each runs alone.
 */
#include <stdio.h>
#include <string.h>

#include "infer/verify/priv.h"

enum { FILES_MOST = 32, SERIAL_RUNS = 3, MORE_SERIAL_RUNS = 3, DEPTH_MOST = 4, ALONE_MOST = 32 };
static const int threads[] = {1, 2, 4, 4};

typedef struct written {
    const char *name;
    hpc_buf text;
    bool unsteady;
} written;
typedef struct outcome {
    hpc_proc_result r;
    written file[FILES_MOST];
    int files_n;
} outcome;

typedef enum ending { SAME, DIFFERS, CANNOT_BUILD, CANNOT_TELL } ending;
typedef struct trial {
    ending is;
    const char *text; /* why, unless it is the same */
} trial;

typedef struct state {
    scratch s;
    hpc_pragma_loops *l;
    const hpc_verify_file *f;
    const hpc_verify_options *o;
    outcome serial;
    unsteady u;
    compared c;
    bool *chosen;
} state;

/* ---- runs ----------------------------------------------------------------------------------- */

static void outcome_release(outcome *x)
{
    hpc_proc_release(&x->r);
    for (int k = 0; k < x->files_n; k++) hpc_buf_release(&x->file[k].text);
    x->files_n = 0;
}

static int take_files(outcome *x, scratch *s)
{
    hpc_buf names = {0};
    int rc = 0;
    TRY(scratch_written(&names, s));
    for (size_t at = 0; at < names.n && x->files_n < FILES_MOST; at += strlen(names.data + at) + 1)
    {
        written *w = &x->file[x->files_n];
        *w = (written){.name = hpc_arena_text(s->arena, "%s", names.data + at)};
        if (!w->name) rc = HPC_E_NOMEM;
        if (rc == 0 && scratch_read(&w->text, s, w->name) < 0)
            hpc_error_clear(); /* a pipe, ... */
        else
            x->files_n++;
        TRY(rc);
    }
out:
    hpc_buf_release(&names);
    return rc;
}

/* From the tree as it was built. */
static int take(outcome *x, state *z, const char *wrapper, int n)
{
    char exports[160];
    int rc = 0;
    snprintf(exports, sizeof exports,
             "OMP_NUM_THREADS=%d OMP_DYNAMIC=false OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0", n);
    const scratch_command c = {.text = z->o->run,
                               .wrapper = wrapper,
                               .exports = exports,
                               .seconds = z->o->seconds,
                               .memory_bytes = z->o->memory_bytes};
    *x = (outcome){0};
    TRY(scratch_again(&z->s));
    TRY(scratch_mark(&z->s));
    TRY(scratch_run(&x->r, &z->s, &c));
    TRY(take_files(x, &z->s));
out:
    return rc;
}

static written *file_of(outcome *x, const char *name)
{
    for (int k = 0; k < x->files_n; k++)
        if (strcmp(x->file[k].name, name) == 0) return &x->file[k];
    return NULL;
}

static const char *difference(state *z, outcome *x)
{
    scratch *s = &z->s;
    const hpc_proc_result *a = &z->serial.r, *b = &x->r;
    if (b->signal && b->signal != a->signal)
        return hpc_arena_text(s->arena, "it is killed by signal %d (%s)", b->signal,
                              strsignal(b->signal));
    if (a->status != b->status)
        return hpc_arena_text(s->arena, "its exit status is %d instead of %d", b->status,
                              a->status);
    const char *text = texts_differ(s, &z->c, &a->out, &b->out, &z->u);
    if (text) return text;
    for (int k = 0; k < z->serial.files_n; k++) {
        written *w = &z->serial.file[k], *v = file_of(x, w->name);
        if (w->unsteady) continue;
        if (!v) return hpc_arena_text(s->arena, "it does not write %s", w->name);
        text = files_differ(s, &z->c, &w->text, &v->text);
        if (text) return hpc_arena_text(s->arena, "%s: %s", w->name, text);
    }
    return NULL;
}

/* Differences between serial runs do not count against a loop. */
static int note_unsteady(state *z, outcome *x)
{
    int rc = unsteady_note(&z->u, &z->serial.r.out, &x->r.out, z->o);
    compared ignored = {0};
    for (int k = 0; k < z->serial.files_n; k++) {
        written *w = &z->serial.file[k], *v = file_of(x, w->name);
        if (!v || files_differ(&z->s, &ignored, &w->text, &v->text)) w->unsteady = true;
    }
    return rc;
}

static int more_serial(state *z, int n, const char **failed)
{
    int rc = 0;
    for (int k = 0; k < n && !*failed; k++) {
        outcome x;
        TRY(take(&x, z, NULL, 1));
        if (x.r.timed_out || x.r.signal)
            *failed = scratch_failure(&z->s, &x.r, "the serial run");
        else
            rc = note_unsteady(z, &x);
        outcome_release(&x);
        if (rc < 0) break;
    }
out:
    return rc;
}

/* ---- builds --------------------------------------------------------------------------------- */

static int build(state *z, const char *exports, const char *what, const char **failed)
{
    hpc_proc_result r = {0};
    int rc = 0;
    *failed = NULL;
    if (z->o->build) {
        const scratch_command c = {.text = z->o->build,
                                   .wrapper = TOOLS_OPENMP,
                                   .exports = exports,
                                   .seconds = z->o->seconds * 10,
                                   .memory_bytes = z->o->memory_bytes};
        TRY(scratch_run(&r, &z->s, &c));
        *failed = scratch_failure(&z->s, &r, what);
    }
    if (!*failed) rc = scratch_keep(&z->s);
out:
    hpc_proc_release(&r);
    return rc;
}

static const char UNSTEADY[] = "the output of the serial program changes from run to run";

static int run_serial(state *z, const char **failed)
{
    int rc = 0;
    TRY(scratch_fresh(&z->s));
    TRY(build(z, TOOLS_PLAIN, "the unchanged build", failed));
    if (*failed) return 0;
    TRY(take(&z->serial, z, NULL, 1));
    const bool absent = z->serial.r.status == 126 || z->serial.r.status == 127; /* of the shell */
    if (z->serial.r.timed_out || z->serial.r.signal || absent)
        *failed = scratch_failure(&z->s, &z->serial.r, "the serial run");
    TRY(more_serial(z, SERIAL_RUNS - 1, failed));
    if (!*failed && z->u.all) *failed = UNSTEADY;
out:
    return rc;
}

static int try_threads(trial *t, state *z, int n)
{
    outcome x;
    int rc = take(&x, z, TOOLS_OPENMP, n);
    if (rc < 0) return rc;
    const char *text = x.r.timed_out ? NULL : difference(z, &x);
    if (x.r.timed_out) {
        t->is = CANNOT_TELL;
        t->text = hpc_arena_text(z->s.arena, "with %d threads it does not end within %.0f s", n,
                                 z->o->seconds);
    } else if (text) {
        t->is = DIFFERS;
        t->text = hpc_arena_text(z->s.arena, "with %d thread%s %s", n, n == 1 ? "" : "s", text);
    }
    outcome_release(&x);
    return t->is != SAME && !t->text ? HPC_E_NOMEM : 0;
}

static int try_chosen(trial *t, state *z)
{
    int rc = 0;
    *t = (trial){.is = SAME};
    TRY(scratch_fresh(&z->s));
    TRY(write_directed(&z->s, z->l, z->f, z->chosen));
    TRY(build(z, NULL, "the build with directives", &t->text));
    if (t->text) {
        t->is = CANNOT_BUILD;
        return 0;
    }
    for (size_t k = 0; k < sizeof threads / sizeof *threads && t->is == SAME; k++)
        TRY(try_threads(t, z, threads[k]));
out:
    return rc;
}

/* ---- which loop it is ----------------------------------------------------------------------- */

static int say(state *z, int64_t k, const trial *t)
{
    hpc_pragma_loop *l = &z->l->item[k];
    const long long runs = sizeof threads / sizeof *threads;
    char left_out[160] = "";
    switch (t->is) {
    case SAME:
        if (z->serial.r.out.n == 0 && z->serial.files_n == 0)
            return evidence_add(
                z->l, l, "run", 0,
                "with 1, 2 and 4 threads it ends like the serial run, without output to compare");
        if (z->u.n || z->c.of_time)
            snprintf(left_out, sizeof left_out,
                     "; ignored: %lld that change between serial runs, %lld that measure time",
                     (long long)z->u.n, (long long)z->c.of_time / runs);
        return evidence_add(
            z->l, l, "run", 0,
            "with %s1, 2 and 4 threads the output equals that of the serial run (%lld numbers "
            "within %g, %d files)%s",
            l->existing && directive_of(l) == l->pragma ? "the better directive on " : "",
            (long long)z->c.numbers / runs, z->o->rtol, z->serial.files_n, left_out);
    case DIFFERS: l->verdict = HPC_VERDICT_UNSAFE; break;
    case CANNOT_BUILD: l->verdict = HPC_VERDICT_UNKNOWN; break;
    case CANNOT_TELL: break;
    }
    return evidence_add(z->l, l, "run", l->line, "%s", t->text);
}

/* The loops of a group, each alone. */
static int try_each(state *z, const bool *group, const trial *together)
{
    int64_t tried = 0, guilty = 0;
    int rc = 0;
    for (int64_t k = 0; k < z->l->n; k++) {
        trial t = {.is = CANNOT_TELL, .text = "too many loops differ to test each of them alone"};
        if (!group[k]) continue;
        for (int64_t i = 0; i < z->l->n; i++) z->chosen[i] = i == k;
        z->c = (compared){0};
        if (++tried <= ALONE_MOST) TRY(try_chosen(&t, z));
        guilty += t.is == DIFFERS || t.is == CANNOT_BUILD;
        TRY(say(z, k, &t));
    }
    if (guilty || together->is != DIFFERS) return 0;
    for (int64_t k = 0; k < z->l->n; k++) {
        if (!group[k]) continue;
        z->l->item[k].verdict = HPC_VERDICT_UNKNOWN;
        TRY(evidence_add(z->l, &z->l->item[k], "run", 0,
                         "with all directives of this depth together %s", together->text));
    }
out:
    return rc;
}

static int say_group(state *z, const bool *group, const trial *t)
{
    int rc = 0;
    for (int64_t k = 0; k < z->l->n && rc >= 0; k++)
        if (group[k]) rc = say(z, k, t);
    return rc;
}

static int try_group(state *z, bool *group)
{
    const char *failed = z->u.all ? UNSTEADY : NULL;
    int64_t n = 0;
    trial t;
    int rc = 0;
    for (int64_t k = 0; k < z->l->n; k++) n += z->chosen[k] = group[k];
    if (n == 0) return 0;
    z->c = (compared){0};
    if (!failed) TRY(try_chosen(&t, z));
    if (!failed && t.is == DIFFERS) { /* is it steady? */
        TRY(scratch_fresh(&z->s));
        TRY(build(z, TOOLS_PLAIN, "the unchanged build", &failed));
        if (!failed) TRY(more_serial(z, MORE_SERIAL_RUNS, &failed));
        z->c = (compared){0};
        if (!failed && z->u.all) failed = UNSTEADY;
        if (!failed) TRY(try_chosen(&t, z));
    }
    if (failed) t = (trial){.is = CANNOT_TELL, .text = failed};
    if (failed || t.is == SAME || n == 1) {
        TRY(say_group(z, group, &t));
    } else {
        TRY(try_each(z, group, &t));
    }
out:
    return rc;
}

static int try_all(state *z, bool *group, const int *depth)
{
    int rc = 0;
    for (int d = 0; d < DEPTH_MOST; d++) {
        for (int64_t k = 0; k < z->l->n; k++) group[k] = depth[k] == d;
        TRY(try_group(z, group));
    }
out:
    return rc;
}

int hpc_verify_run(hpc_pragma_loops *l, const hpc_verify_file *f, const hpc_verify_options *o)
{
    state z = {.l = l, .f = f, .o = o};
    const char *failed = NULL;
    bool *group = NULL;
    int *depth = NULL;
    int64_t candidates = 0;
    int rc = 0;
    for (int64_t k = 0; k < l->n; k++) candidates += is_candidate_loop(&l->item[k]);
    if (candidates == 0) return 0;
    TRY(scratch_open(&z.s, o));
    z.chosen = hpc_alloc((size_t)l->n, sizeof *z.chosen);
    group = hpc_alloc((size_t)l->n, sizeof *group);
    depth = hpc_alloc((size_t)l->n, sizeof *depth);
    if (!z.chosen || !group || !depth) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    for (int64_t k = 0; k < l->n; k++)
        depth[k] = is_candidate_loop(&l->item[k]) ? depth_of_loop(l, k) : -1;
    TRY(tools_wrap(&z.s, TOOLS_OPENMP));
    TRY(run_serial(&z, &failed));
    for (int64_t k = 0; failed && k < l->n; k++)
        if (depth[k] >= 0) TRY(evidence_add(l, &l->item[k], "run", 0, "not compared: %s", failed));
    if (!failed) TRY(try_all(&z, group, depth));
out:
    outcome_release(&z.serial);
    unsteady_release(&z.u);
    hpc_free(z.chosen);
    hpc_free(group);
    hpc_free(depth);
    scratch_close(&z.s);
    return rc;
}
