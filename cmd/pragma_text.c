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

/* ---- evidence ---- */

static void put_line(hpc_buf *out, const char *kind, uint32_t line, const char *text)
{
    hpc_buf_printf(out, "    %s: ", kind);
    if (line) hpc_buf_printf(out, "line %u: ", line);
    hpc_buf_printf(out, "%s\n", text);
}

static void put_evidence(hpc_buf *out, const hpc_pragma_loop *l)
{
    hpc_brief b;
    hpc_pragma_brief(&b, l);
    for (int k = 0; k < b.n; k++) put_line(out, b.item[k].kind, b.item[k].line, b.item[k].text);
    if (b.left > 0)
        hpc_buf_printf(out, "    and %lld more: --format json lists them\n", (long long)b.left);
}

enum { ASSUMPTIONS_SHOWN = 5 };

static void put_assumptions(hpc_buf *out, const hpc_pragma_loop *l)
{
    const int64_t shown =
        l->assumptions_n <= ASSUMPTIONS_SHOWN ? l->assumptions_n : ASSUMPTIONS_SHOWN;
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
        if (strcmp(l->evidence[k].kind, "existing") == 0)
            put_line(out, "because", l->evidence[k].line, l->evidence[k].text);
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
    if (l->share > 0)
        hpc_buf_printf(out, "    %s: %.1f %% of the %s\n", l->recorded ? "work" : "time",
                       100 * l->share,
                       l->recorded ? "accesses in the recorded run" : "line profile");
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
    const bool ranks = o->rank || o->model || o->line_profile || strcmp(o->verify, "run") == 0;
    if (ranks && !o->check) return put_ranked(out, f, o->at > 0);
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
