/*
 * Choice of the loops that get a directive, with a reason for each other loop.
 *
 * The outermost parallel loop of a nest gets one, and the loops inside it none. A loop that has a
 * directive keeps it.
 */
#include <string.h>
#include <strings.h>

#include "infer/pragma/directives.h"

#define LEAST_CONFIDENCE 0.05 /* of a loop in another one, for --fix */

bool hpc_directive_is_wrong(const hpc_pragma_loop *l)
{
    return l->existing_is == HPC_EXISTING_RACY || l->existing_is == HPC_EXISTING_CLAUSE ||
           l->existing_is == HPC_EXISTING_REDUCTION;
}

/* Advice for "parallel for" only: the evidence names what other kinds of directives lack. */
const char *hpc_directive_advice(const hpc_pragma_loop *l)
{
    static const char plain[] = "#pragma omp parallel for", fortran[] = "!$omp parallel do";
    if (!hpc_directive_is_wrong(l)) return NULL;
    if (!l->pragma) return "remove the directive";
    const bool is_plain = strncmp(l->existing, plain, sizeof plain - 1) == 0 ||
                          strncasecmp(l->existing, fortran, sizeof fortran - 1) == 0;
    return is_plain ? l->pragma : NULL;
}

/* The nearest loop around it that gets a directive; -1. */
static int64_t around(const hpc_directive_file *f, int64_t i)
{
    for (int32_t k = f->loops.item[i].outer; k >= 0; k = f->loops.item[k].outer)
        if (f->choice[k].put) return k;
    return -1;
}

static bool is_confirmed(const hpc_pragma_loop *l)
{
    for (int64_t k = 0; k < l->assumptions_n; k++)
        if (!l->assumption[k].trusted) return false;
    return true;
}

/* With --guard, what is proposed has an if clause already. */
static void choose_conditional(hpc_directive_choice *note, const hpc_pragma_loop *l,
                               const hpc_directive_options *o)
{
    note->put = o->conditional || is_confirmed(l) || (o->guard && l->guard);
    if (note->put) return;
    note->because =
        o->guard ? "--guard cannot test all of its assumptions"
        : l->untested
            ? "it depends on assumptions without a test: --trust confirms them, --conditional "
              "takes them for granted"
            : "it depends on assumptions: --guard tests them, --conditional takes them for granted";
}

static int choose(hpc_directive_file *f, int64_t i, const hpc_directive_options *o)
{
    const hpc_pragma_loop *l = &f->loops.item[i];
    hpc_directive_choice *note = &f->choice[i];
    int64_t outer = around(f, i);
    int rc = HPC_OK;
    if (l->existing) return HPC_OK;
    if (!l->pragma && l->verdict >= HPC_VERDICT_CONDITIONAL) note->because = l->fixed;
    if (!l->pragma) return HPC_OK;
    if (outer >= 0) {
        note->because =
            hpc_arena_text(f->arena, "it runs inside the loop on line %u, which gets a directive",
                           f->loops.item[outer].line);
        if (!note->because) rc = HPC_E_NOMEM;
    } else if (l->inside) {
        note->because = "it runs inside a parallel region already";
    } else if (l->small && !l->vectors) {
        note->because = "it is too small to pay";
    } else if (l->idle && !l->vectors) {
        note->because = l->idle;
    } else {
        note->directive = l->pragma;
        note->put = true;
        if (l->verdict == HPC_VERDICT_CONDITIONAL) choose_conditional(note, l, o);
        if (l->fixed || f->kept) {
            note->put = false;
            note->because = l->fixed ? l->fixed : f->kept;
        }
        if (note->put && l->outer >= 0 && !l->idle && l->confidence < LEAST_CONFIDENCE) {
            note->put = false;
            note->because = "it is nested in a loop, and experts rarely annotate such loops";
        }
    }
    return rc;
}

/* Loops with untested assumptions come last; then the one where experts more often did the same. */
static bool is_ahead(const hpc_pragma_loop *a, const hpc_pragma_loop *b, bool first)
{
    if (a->untested != b->untested) return b->untested;
    if (a->share < b->share || a->share > b->share) return a->share > b->share;
    double by = a->confidence - b->confidence;
    return by > 0 || (by == 0 && first);
}

/* Ranks proposals; equal ones keep their order. */
static void rank(hpc_directive_file *f)
{
    for (int64_t i = 0; i < f->loops.n; i++) {
        if (!f->choice[i].directive) continue;
        f->choice[i].rank = 1;
        for (int64_t k = 0; k < f->loops.n; k++) {
            f->choice[i].rank += f->choice[k].directive && k != i &&
                                 is_ahead(&f->loops.item[k], &f->loops.item[i], k < i);
        }
    }
}

/* ---- files that --fix leaves unchanged ---------------------------------------------------------
 */

/* The line of a "#line 7" or "# 7"; 0. */
static uint32_t generated_at(const hpc_buf *text)
{
    uint32_t line = 1;
    for (size_t i = 0; i < text->n; line++) {
        const char *p = text->data + i, *end = memchr(p, '\n', text->n - i);
        if (!end) end = text->data + text->n;
        i = (size_t)(end - text->data) + 1;
        while (p < end && (*p == ' ' || *p == '\t')) p++;
        if (p == end || *p++ != '#') continue;
        while (p < end && (*p == ' ' || *p == '\t')) p++;
        if (end - p > 4 && memcmp(p, "line", 4) == 0 && (p[4] == ' ' || p[4] == '\t')) return line;
        if (p < end && *p >= '0' && *p <= '9') return line;
    }
    return 0;
}

static bool is_header(const char *path)
{
    static const char *const ends[] = {".h",   ".hh",  ".hpp", ".hxx", ".h++", ".H",
                                       ".cuh", ".ipp", ".tpp", ".inl", ".inc"};
    const char *dot = strrchr(path, '.');
    for (size_t k = 0; dot && k < sizeof ends / sizeof *ends; k++)
        if (strcmp(dot, ends[k]) == 0) return true;
    return false;
}

int hpc_directives_choose(hpc_directive_file *f, const hpc_directive_options *o)
{
    int rc = HPC_OK;
    uint32_t line = generated_at(&f->text);
    f->choice = hpc_arena_alloc(f->arena, (size_t)f->loops.n + 1, sizeof *f->choice);
    if (!f->choice) return HPC_E_NOMEM;
    if (line > 0) {
        f->kept =
            hpc_arena_text(f->arena, "the file is generated from another one (line %u)", line);
        if (!f->kept) return HPC_E_NOMEM;
    } else if (is_header(f->path)) {
        f->kept = "the file is a header, which other files include";
    }
    for (int64_t i = 0; i < f->loops.n; i++) TRY(choose(f, i, o));
    rank(f);
out:
    return rc;
}
