/*
 * Text output of `hpccoder pragma`: for each loop its position and source line, the directive, its
 * assumptions, and a few lines of evidence.
 */
#include <string.h>

#include "cmd/pragma.h"
#include "cmd/terminal.h"

enum { SHOWN = 110 }; /* bytes of a source line */

/* First byte after the parenthesis that closes the loop's head, or the end of the line. */
static size_t head_end(const hpc_buf *text, size_t at, size_t end)
{
    int depth = 0;
    for (size_t k = at; k < end; k++) {
        if (text->data[k] == '(') depth++;
        if (text->data[k] == ')' && --depth == 0) return k + 1;
    }
    while (end > at + 1 && strchr(" \t{\r", text->data[end - 1])) end--;
    return end;
}

static void put_source(hpc_buf *out, const hpc_buf *text, const hpc_pragma_loop *l)
{
    size_t begin = hpc_line_begin(text, l->at), end = hpc_line_end(text, l->at);
    size_t from = l->at, to = head_end(text, l->at, end);
    bool cut = end > begin + SHOWN;
    if (cut && from > begin + SHOWN / 2) begin = from - SHOWN / 2;
    while (begin < from && ((unsigned char)text->data[begin] & 0xc0) == 0x80) begin++;
    if (end > begin + SHOWN) end = begin + SHOWN;
    while (cut && end > begin && ((unsigned char)text->data[end] & 0xc0) == 0x80) end--;
    if (to > end) to = end;
    hpc_buf_printf(out, "%6u | ", l->line);
    for (size_t k = begin; k < end; k++) {
        unsigned char c = (unsigned char)text->data[k];
        hpc_buf_printf(out, "%c", (c < ' ' && c != '\t') || c == 127 ? '?' : c);
    }
    hpc_buf_text(out, cut ? "...\n       | " : "\n       | ");
    for (size_t k = begin; k < to; k++) {
        unsigned char c = (unsigned char)text->data[k];
        if ((c & 0xc0) == 0x80) continue; /* one mark for a character of several bytes */
        hpc_buf_text(out, k >= from ? (k == from ? "^" : "~") : c == '\t' ? "\t" : " ");
    }
    hpc_buf_text(out, "\n");
}

/* ---- evidence: few lines for each loop ------------------------------------------------------ */

enum { EVIDENCE_LINES = 5, NAMES = 4, FEW_PAIRS = 2 };

/* Pairs of accesses that may overlap are one line: the accesses that most pairs have in common. */
typedef struct overlaps {
    const hpc_pragma_loop *loop;
    const char *name[NAMES];
    int64_t n, pairs;
    uint32_t first, last; /* lines */
} overlaps;

static bool is_covered(const overlaps *o, const hpc_evidence *e)
{
    for (int64_t k = 0; k < o->n; k++)
        if (strcmp(o->name[k], e->access[0]) == 0 || strcmp(o->name[k], e->access[1]) == 0)
            return true;
    return false;
}

/* Pairs with this access that no name covers yet. */
static int64_t count_pairs(const overlaps *o, const char *access)
{
    int64_t n = 0;
    for (int64_t k = 0; k < o->loop->evidence_n; k++) {
        const hpc_evidence *e = &o->loop->evidence[k];
        if (!e->access[0] || is_covered(o, e)) continue;
        n += strcmp(e->access[0], access) == 0 || strcmp(e->access[1], access) == 0;
    }
    return n;
}

static bool add_name(overlaps *o)
{
    const char *best = NULL;
    int64_t most = 0;
    for (int64_t k = 0; k < o->loop->evidence_n; k++) {
        const hpc_evidence *e = &o->loop->evidence[k];
        for (int side = 0; e->access[0] && side < 2; side++) {
            int64_t n = count_pairs(o, e->access[side]);
            if (n <= most) continue;
            most = n;
            best = e->access[side];
        }
    }
    if (best) o->name[o->n++] = best;
    return best != NULL;
}

static overlaps find_overlaps(const hpc_pragma_loop *l)
{
    overlaps o = {.loop = l, .first = UINT32_MAX};
    for (int64_t k = 0; k < l->evidence_n; k++) {
        const hpc_evidence *e = &l->evidence[k];
        if (!e->access[0]) continue;
        o.pairs++;
        if (e->line < o.first) o.first = e->line;
        if (e->line > o.last) o.last = e->line;
    }
    if (o.pairs <= FEW_PAIRS) return (overlaps){.loop = l};
    while (o.n < NAMES && add_name(&o)) {
    }
    return o;
}

static void put_overlaps(hpc_buf *out, const overlaps *o)
{
    hpc_buf_printf(out, "    alias: line%s %u", o->first < o->last ? "s" : "", o->first);
    if (o->first < o->last) hpc_buf_printf(out, " to %u", o->last);
    hpc_buf_text(out, ": ");
    for (int64_t k = 0; k < o->n; k++) hpc_buf_printf(out, k > 0 ? ", %s" : "%s", o->name[k]);
    hpc_buf_printf(out, " may overlap other accesses (%lld pairs)\n", (long long)o->pairs);
}

/* Results of --verify are few, and asked for. */
static bool is_of_verify(const hpc_evidence *e)
{
    static const char *const kinds[] = {"compile", "witness", "run", "race", NULL};
    for (const char *const *k = kinds; *k; k++)
        if (strcmp(*k, e->kind) == 0) return true;
    return false;
}

static void put_line(hpc_buf *out, const hpc_evidence *e, const char *kind)
{
    hpc_buf_printf(out, "    %s: ", kind);
    if (e->line) hpc_buf_printf(out, "line %u: ", e->line);
    hpc_buf_printf(out, "%s\n", e->text);
}

/* The evidence of one weight, in its order; *lines: those left. Returns how many did not fit. */
static int64_t put_weight(hpc_buf *out, const overlaps *o, hpc_verdict weight, int *lines)
{
    const hpc_pragma_loop *l = o->loop;
    bool grouped = false;
    int64_t left = 0;
    for (int64_t k = 0; k < l->evidence_n; k++) {
        const hpc_evidence *e = &l->evidence[k];
        bool pair = o->pairs > 0 && e->access[0];
        if (e->alone != weight || strcmp(e->kind, "existing") == 0 || (pair && grouped)) continue;
        if (is_of_verify(e)) {
            put_line(out, e, e->kind);
        } else if (*lines == 0) {
            left += pair ? o->pairs : 1;
        } else if (pair) {
            put_overlaps(out, o);
            --*lines;
        } else {
            put_line(out, e, e->kind);
            --*lines;
        }
        grouped = grouped || pair;
    }
    return left;
}

/* First what decides the verdict. */
static void put_evidence(hpc_buf *out, const hpc_pragma_loop *l)
{
    static const hpc_verdict weights[] = {HPC_VERDICT_UNSAFE, HPC_VERDICT_UNKNOWN,
                                          HPC_VERDICT_CONDITIONAL, HPC_VERDICT_PARALLEL};
    const overlaps o = find_overlaps(l);
    int lines = EVIDENCE_LINES;
    int64_t left = 0;
    for (size_t k = 0; k < sizeof weights / sizeof *weights; k++)
        left += put_weight(out, &o, weights[k], &lines);
    if (left > 0)
        hpc_buf_printf(out, "    and %lld more: --format json lists them\n", (long long)left);
}

static void put_assumptions(hpc_buf *out, const hpc_pragma_loop *l)
{
    const int64_t shown = l->assumptions_n <= EVIDENCE_LINES ? l->assumptions_n : EVIDENCE_LINES;
    for (int64_t k = 0; k < shown; k++) {
        hpc_buf_printf(out, "    assumes: %s", l->assumption[k].text);
        if (l->assumption[k].trusted)
            hpc_buf_text(out, " (confirmed)");
        else if (l->assumption[k].check)
            hpc_buf_printf(out, " [%s]", l->assumption[k].check);
        else
            hpc_buf_text(out, l->assumption[k].code ? " (no test; --at prints code for one)"
                                                    : " (no test)");
        hpc_buf_text(out, "\n");
    }
    if (shown < l->assumptions_n)
        hpc_buf_printf(out, "    assumes %lld more: --format json lists them\n",
                       (long long)(l->assumptions_n - shown));
}

/* Code that tests assumptions, each line with a mark in front. */
static void put_code(hpc_buf *out, const hpc_pragma_loop *l)
{
    for (int64_t k = 0; k < l->assumptions_n; k++) {
        const char *p = l->assumption[k].code;
        if (!p) continue;
        hpc_buf_printf(out, "    code: tests that %s\n", l->assumption[k].text);
        while (*p) {
            const size_t n = strcspn(p, "\n");
            hpc_buf_printf(out, "       | %.*s\n", (int)n, p);
            p += n + (p[n] == '\n');
        }
    }
}

static void put_existing(hpc_buf *out, const hpc_pragma_loop *l)
{
    static const char *const says[] = {
        [HPC_EXISTING_NONE] = "",
        [HPC_EXISTING_RIGHT] = "right",
        [HPC_EXISTING_RACY] = "wrong: iterations depend on each other",
        [HPC_EXISTING_CLAUSE] =
            "wrong: a private, lastprivate or linear clause is missing or wrong",
        [HPC_EXISTING_REDUCTION] = "wrong: a reduction clause is missing or has the wrong operator",
        [HPC_EXISTING_UNPROVEN] = "not proven",
        [HPC_EXISTING_HARMLESS] = "right; part of it has no effect",
        [HPC_EXISTING_REDUNDANT] = "right; part of it is redundant"};
    if (!l->existing) return;
    hpc_buf_printf(out, "    has: %s\n    which is %s\n", l->existing, says[l->existing_is]);
    for (int64_t k = 0; k < l->evidence_n; k++)
        if (strcmp(l->evidence[k].kind, "existing") == 0) put_line(out, &l->evidence[k], "because");
    if (hpc_directive_advice(l)) hpc_buf_printf(out, "    better: %s\n", hpc_directive_advice(l));
}

static void put_loop(hpc_buf *out, const pragma_file *f, int64_t i, bool code)
{
    const hpc_pragma_loop *l = &f->d.loops.item[i];
    static const terminal_style style_of[] = {[HPC_VERDICT_PARALLEL] = STYLE_GOOD,
                                              [HPC_VERDICT_CONDITIONAL] = STYLE_DOUBT,
                                              [HPC_VERDICT_UNKNOWN] = STYLE_NONE,
                                              [HPC_VERDICT_UNSAFE] = STYLE_BAD};
    const hpc_directive_choice *note = &f->d.choice[i];
    hpc_buf_printf(out, "%s:%u: ", f->d.path, l->line);
    terminal_put(out, l->already ? STYLE_GOOD : style_of[l->verdict], hpc_loop_verdict_name(l));
    hpc_buf_text(out, "\n");
    put_source(out, &f->d.text, l);
    put_existing(out, l);
    if (note->directive) hpc_buf_printf(out, "    propose: %s\n", note->directive);
    if (l->likely >= 0)
        hpc_buf_printf(out,
                       "    likely: the model expects experts to annotate %.0f of 100 such loops\n",
                       100 * l->likely);
    if (l->guess) hpc_buf_printf(out, "    guess: %s (not proven)\n", l->guess);
    put_assumptions(out, l);
    if (l->idle && note->directive) hpc_buf_printf(out, "    no threads: %s\n", l->idle);
    if (note->because)
        hpc_buf_printf(out, "    %s: %s\n", note->directive ? "not inserted" : "no directive",
                       note->because);
    put_evidence(out, l);
    if (code) put_code(out, l);
    hpc_buf_text(out, "\n");
}

/* Proposed loops in order of their rank, then the others. */
static int put_ranked(hpc_buf *out, const pragma_file *f, bool code)
{
    int64_t *at = hpc_alloc((size_t)f->d.loops.n + 1, sizeof *at), proposed = 0;
    if (!at) return HPC_E_NOMEM;
    for (int64_t i = 0; i < f->d.loops.n; i++) proposed += f->d.choice[i].rank > 0;
    for (int64_t i = 0, other = proposed; i < f->d.loops.n; i++)
        at[f->d.choice[i].rank > 0 ? f->d.choice[i].rank - 1 : other++] = i;
    for (int64_t k = 0; k < f->d.loops.n; k++) put_loop(out, f, at[k], code);
    hpc_free(at);
    return out->failed;
}

int pragma_put_text(hpc_buf *out, const pragma_file *f, const pragma_options *o)
{
    if ((o->rank || o->model) && !o->check) return put_ranked(out, f, o->at > 0);
    for (int64_t i = 0; i < f->d.loops.n; i++)
        if (!o->check || hpc_directive_is_wrong(&f->d.loops.item[i]))
            put_loop(out, f, i, o->at > 0);
    return out->failed;
}

/* ---- errors of the compiler --------------------------------------------------------------------
 */

const char *pragma_error_advice(const pragma_file *f)
{
    if (strcmp(f->d.missing, "mpi.h") == 0)
        return "give MPI's flags after --, as -- $(mpicc --showme:compile)";
    if (f->d.missing[0]) return "name the header's folder with -p or -- -I";
    if (f->d.language == HPC_LANGUAGE_CUDA || f->d.language == HPC_LANGUAGE_HIP)
        return "only the common functions of CUDA and HIP are declared here: calls of others are "
               "unknown";
    return "give the compiler's flags with -p or after --";
}
