/*
 * SARIF 2.1.0 output of `hpccoder pragma`: proposed directives with the edits that insert them, and
 * wrong directives.
 */
#include <string.h>

#include "cmd/pragma.h"
#include "cmd/sarif.h"

typedef enum rule {
    RULE_PARALLEL,
    RULE_CONDITIONAL,
    RULE_RACY,
    RULE_CLAUSE,
    RULE_REDUCTION,
    RULE_ALREADY
} rule;
static const sarif_rule rules[] = {
    [RULE_PARALLEL] = {"parallel", "note", "The loop may run in parallel."},
    [RULE_CONDITIONAL] = {"conditional", "note",
                          "The loop may run in parallel if the assumptions hold."},
    [RULE_RACY] = {"racy", "error", "Iterations of a loop with a directive depend on each other."},
    [RULE_CLAUSE] = {"clause", "error",
                     "A private, lastprivate or linear clause of a directive is missing or wrong."},
    [RULE_REDUCTION] = {"reduction", "error",
                        "A reduction clause of a directive is missing or has the wrong operator."},
    [RULE_ALREADY] = {"already-parallel", "none", "A library runs the iterations in parallel."},
};

/* False: nothing to report. */
static bool rule_of(rule *out, const hpc_pragma_loop *l, const hpc_directive_choice *note)
{
    if (l->already) {
        *out = RULE_ALREADY;
        return true;
    }
    switch (l->existing_is) {
    case HPC_EXISTING_RACY: *out = RULE_RACY; return true;
    case HPC_EXISTING_CLAUSE: *out = RULE_CLAUSE; return true;
    case HPC_EXISTING_REDUCTION: *out = RULE_REDUCTION; return true;
    default: break;
    }
    *out = l->verdict == HPC_VERDICT_PARALLEL ? RULE_PARALLEL : RULE_CONDITIONAL;
    return note->directive != NULL;
}

/* Columns count characters, from 1. */
static int64_t column_of(const hpc_buf *text, size_t at)
{
    int64_t n = 1;
    for (size_t k = hpc_line_begin(text, at); k < at; k++)
        n += ((unsigned char)text->data[k] & 0xc0) != 0x80;
    return n;
}

static void put_locations(hpc_json_out *w, const pragma_file *f, const hpc_pragma_loop *l)
{
    hpc_brief b;
    hpc_json_open(w, "locations", '[');
    hpc_json_open(w, NULL, '{');
    hpc_json_open(w, "physicalLocation", '{');
    sarif_put_place(w, f->d.path);
    hpc_json_open(w, "region", '{');
    hpc_json_put_int(w, "startLine", l->line);
    hpc_json_put_int(w, "startColumn", column_of(&f->d.text, l->at));
    hpc_json_put_int(w, "endLine", l->end_line);
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
    hpc_json_close(w, ']');
    hpc_json_open(w, "relatedLocations", '[');
    hpc_pragma_brief(&b, l);
    for (int k = 0; k < b.n; k++) {
        const hpc_brief_line *e = &b.item[k];
        hpc_json_open(w, NULL, '{');
        hpc_json_open(w, "physicalLocation", '{');
        sarif_put_place(w, f->d.path);
        hpc_json_open(w, "region", '{');
        hpc_json_put_int(w, "startLine", e->line ? e->line : l->line);
        hpc_json_close(w, '}');
        hpc_json_close(w, '}');
        sarif_put_message(w, "message", e->text);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

/* As --fix has it: a line of the text becomes others. */
static void put_fix(hpc_json_out *w, const pragma_file *f, const hpc_directive_edits *c,
                    const hpc_pragma_loop *l, const char *directive)
{
    const hpc_directive_edit *x = NULL;
    for (int64_t k = 0; k < c->n && !x; k++)
        if (c->item[k].at <= l->at && l->at < c->item[k].end) x = &c->item[k];
    if (!x) return;
    char *text = hpc_alloc(x->to_n + 1, 1);
    if (!text) {
        w->buf->failed = HPC_E_NOMEM;
        return;
    }
    memcpy(text, c->text.data + x->to, x->to_n);
    hpc_json_open(w, "fixes", '[');
    hpc_json_open(w, NULL, '{');
    sarif_put_message(w, "description", directive);
    hpc_json_open(w, "artifactChanges", '[');
    hpc_json_open(w, NULL, '{');
    sarif_put_place(w, f->d.path);
    hpc_json_open(w, "replacements", '[');
    hpc_json_open(w, NULL, '{');
    hpc_json_open(w, "deletedRegion", '{');
    hpc_json_put_int(w, "byteOffset", (int64_t)x->at);
    hpc_json_put_int(w, "byteLength", (int64_t)(x->end - x->at));
    hpc_json_close(w, '}');
    sarif_put_message(w, "insertedContent", text);
    hpc_json_close(w, '}');
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
    hpc_json_close(w, ']');
    hpc_free(text);
}

static void put_result(hpc_json_out *w, const pragma_file *f, int64_t i,
                       const hpc_directive_edits *c)
{
    const hpc_pragma_loop *l = &f->d.loops.item[i];
    const hpc_directive_choice *note = &f->d.choice[i];
    hpc_buf text = {0};
    rule r;
    if (!rule_of(&r, l, note)) return;
    hpc_buf_text(&text, rules[r].text);
    if (l->already) hpc_buf_printf(&text, " Function: %s", l->already);
    if (note->directive) hpc_buf_printf(&text, " Proposed: %s", note->directive);
    if (hpc_directive_advice(l)) hpc_buf_printf(&text, " Better: %s", hpc_directive_advice(l));
    for (int64_t k = 0; k < l->assumptions_n; k++)
        hpc_buf_printf(&text, "%s%s", k ? "; " : " Assumed: ", l->assumption[k].text);
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "ruleId", rules[r].id);
    hpc_json_put_int(w, "ruleIndex", r);
    hpc_json_put_text(w, "level", rules[r].level);
    sarif_put_message(w, "message", text.failed < 0 ? rules[r].text : text.data);
    put_locations(w, f, l);
    if (note->put) put_fix(w, f, c, l, note->directive);
    hpc_json_close(w, '}');
    hpc_buf_release(&text);
}

/* Each file that could not be used becomes a notification. */
static void put_invocation(hpc_json_out *w, const pragma_file *f, int64_t n)
{
    bool all = true;
    for (int64_t i = 0; i < n; i++) all &= !f[i].failed;
    hpc_json_open(w, "invocations", '[');
    hpc_json_open(w, NULL, '{');
    hpc_json_put_bool(w, "executionSuccessful", all);
    hpc_json_open(w, "toolExecutionNotifications", '[');
    for (int64_t i = 0; i < n; i++) {
        if (!f[i].failed) continue;
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "level", "error");
        sarif_put_message(w, "message", f[i].failed);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
    hpc_json_close(w, ']');
}

void pragma_put_sarif(hpc_json_out *w, const pragma_file *f, int64_t n)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "$schema", SARIF_SCHEMA);
    hpc_json_put_text(w, "version", "2.1.0");
    hpc_json_open(w, "runs", '[');
    hpc_json_open(w, NULL, '{');
    sarif_put_driver(w, "hpccoder pragma", rules, sizeof rules / sizeof *rules);
    hpc_json_put_text(w, "columnKind", "unicodeCodePoints");
    put_invocation(w, f, n);
    hpc_json_open(w, "results", '[');
    for (int64_t i = 0; i < n; i++) {
        hpc_directive_edits c = {0};
        if (f[i].d.loops.n > 0 && hpc_directive_edits_find(&c, &f[i].d, -1) < 0)
            w->buf->failed = HPC_E_NOMEM;
        for (int64_t k = 0; k < f[i].d.loops.n; k++) put_result(w, &f[i], k, &c);
        hpc_directive_edits_release(&c);
    }
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}
