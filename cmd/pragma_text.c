/*
 * pragma_text.c: what is found of a file's loops, for people: where, the source with a line under
 * it, what is proposed, what that assumes, and what it rests on.
 */
#include <string.h>

#include "cmd/pragma.h"

enum { SHOWN = 110 }; /* bytes of a source line */

/* Behind the parenthesis that closes the loop's head, if that is on its line; else the line's end.
 */
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
    size_t begin = pragma_line_begin(text, l->at), end = pragma_line_end(text, l->at);
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

/* What is said of the directive that is there, or of the loop. */
static void put_evidence(hpc_buf *out, const hpc_pragma_loop *l, bool existing)
{
    for (int64_t k = 0; k < l->evidence_n; k++) {
        const hpc_evidence *e = &l->evidence[k];
        if ((strcmp(e->kind, "existing") == 0) != existing) continue;
        hpc_buf_printf(out, "    %s: ", existing ? "because" : e->kind);
        if (e->line) hpc_buf_printf(out, "line %u: ", e->line);
        hpc_buf_printf(out, "%s\n", e->text);
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
    put_evidence(out, l, true);
    if (pragma_advice(l)) hpc_buf_printf(out, "    better: %s\n", pragma_advice(l));
}

static void put_loop(hpc_buf *out, const pragma_file *f, int64_t i)
{
    const hpc_pragma_loop *l = &f->loops.item[i];
    const pragma_note *note = &f->note[i];
    hpc_buf_printf(out, "%s:%u: %s\n", f->path, l->line, hpc_verdict_name(l->verdict));
    put_source(out, &f->text, l);
    put_existing(out, l);
    if (note->directive) hpc_buf_printf(out, "    propose: %s\n", note->directive);
    if (l->likely >= 0)
        hpc_buf_printf(out,
                       "    likely: the model expects experts to annotate %.0f of 100 such loops\n",
                       100 * l->likely);
    if (l->guess) hpc_buf_printf(out, "    guess: %s (not proven)\n", l->guess);
    for (int64_t k = 0; k < l->assumptions_n; k++) {
        hpc_buf_printf(out, "    assumes: %s", l->assumption[k].text);
        if (l->assumption[k].check) hpc_buf_printf(out, " [%s]", l->assumption[k].check);
        hpc_buf_text(out, "\n");
    }
    if (l->idle && note->directive) hpc_buf_printf(out, "    no threads: %s\n", l->idle);
    if (note->because)
        hpc_buf_printf(out, "    %s: %s\n", note->directive ? "not inserted" : "no directive",
                       note->because);
    put_evidence(out, l, false);
    hpc_buf_text(out, "\n");
}

/* What is proposed by its rank, and then the rest. */
static int put_ranked(hpc_buf *out, const pragma_file *f)
{
    int64_t *at = hpc_alloc((size_t)f->loops.n + 1, sizeof *at), proposed = 0;
    if (!at) return HPC_E_NOMEM;
    for (int64_t i = 0; i < f->loops.n; i++) proposed += f->note[i].rank > 0;
    for (int64_t i = 0, other = proposed; i < f->loops.n; i++)
        at[f->note[i].rank > 0 ? f->note[i].rank - 1 : other++] = i;
    for (int64_t k = 0; k < f->loops.n; k++) put_loop(out, f, at[k]);
    hpc_free(at);
    return out->failed;
}

int pragma_put_text(hpc_buf *out, const pragma_file *f, const pragma_options *o)
{
    if ((o->rank || o->model) && !o->check) return put_ranked(out, f);
    for (int64_t i = 0; i < f->loops.n; i++)
        if (!o->check || pragma_is_wrong(&f->loops.item[i])) put_loop(out, f, i);
    return out->failed;
}
